/*
 * What a report says of 'scheme: forward' alone: who arrives, the error by hops,
 * one budget a node towards everyone, how sure the numbers are, and every node in a
 * table.
 */
#include "chart.h"
#include "common/meaning.h"
#include "hops.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    WHOLE = 26,   /* nodes of which all have a bar, */
    BARS = 12,    /* and of how many among more */
    POINTS = 200, /* of the curve over more nodes */
    LISTED = 20,  /* nodes that are listed at once, */
    MOST = 500,   /* and behind a click */
    RIGHT = 330,
    WIDE = 450,
    ROW = 24,
};

/* --------------------------------------------------------------- arrivals -- */

static int by_arrival(const void *one, const void *two, void *context)
{
    const struct report *report = context;
    int32_t a = *(const int32_t *)one, b = *(const int32_t *)two;
    double x = report->forward->node[a].arrival;
    double y = report->forward->node[b].arrival;
    return x < y ? -1 : x > y ? 1 : (a > b) - (a < b);
}

/* Nodes by how likely they arrive, the least likely first; NULL: no memory. */
static int32_t *order_nodes(const struct report *report)
{
    size_t nodes = (size_t)report->network->nodes;
    int32_t *order = calloc(nodes, sizeof *order);
    for (int32_t i = 0; order != NULL && i < report->network->nodes; i++)
        order[i] = i;
    if (order != NULL)
        qsort_r(order, nodes, sizeof *order, by_arrival, (void *)report);
    return order;
}

static void draw_bars(const struct report *report, const int32_t *order,
                      int32_t count)
{
    const struct pricer_forward_plan *plan = report->forward;
    FILE *out = report->out;
    int left = page_node_room(report->network);
    fprintf(out,
            "<figure>\n<svg class=\"bars\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"How likely "
            "nodes’ releases arrive\">\n",
            WIDE, ROW * count + 8);
    for (int32_t k = 0; k < count; k++) {
        int32_t i = order[k];
        double wide = (RIGHT - left) * plan->node[i].arrival;
        fprintf(out,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" "
                "dominant-baseline=\"central\">",
                left - 8, ROW * k + 14);
        page_node(out, report->network, i);
        fprintf(out,
                "</text><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"16\" "
                "fill=\"var(--line)\"/><rect x=\"%d\" y=\"%d\" width=\"%.1f\" "
                "height=\"16\" fill=\"var(--%s)\"/><text x=\"%d\" y=\"%d\" "
                "dominant-baseline=\"central\" class=\"quiet\">",
                left, ROW * k + 6, RIGHT - left, left, ROW * k + 6, wide,
                hops_colour(hops_class(report, i)), RIGHT + 6, ROW * k + 14);
        if (hops_class(report, i) == HOPS_NEVER)
            fputs("never heard", out);
        else
            fprintf(out, "%.3g, × %.3g", plan->node[i].arrival,
                    plan->node[i].coefficient);
        fputs("</text>\n", out);
    }
    fputs("</svg>\n<figcaption>", out);
    hops_key(report);
    fputs(" The probability that a release arrives over any path, and what the "
          "server multiplies it with.</figcaption>\n</figure>\n",
          out);
}

/* All nodes, the least likely first, as one curve. */
static void draw_curve(const struct report *report, const int32_t *order)
{
    int32_t nodes = report->network->nodes;
    int count = nodes < POINTS ? (int)nodes : POINTS;
    double x[POINTS], y[POINTS];
    for (int k = 0; k < count; k++) {
        int32_t rank = (int32_t)((int64_t)k * (nodes - 1) / (count - 1));
        x[k] = rank + 1;
        y[k] = report->forward->node[order[rank]].arrival;
    }
    struct chart chart = {.title = "How likely nodes’ releases arrive",
                          .x_name = "nodes, the least likely first",
                          .y_name = "probability that it arrives",
                          .lines = 1,
                          .line = {{"a node", x, y, count}}};
    fputs("<figure>\n", report->out);
    chart_draw(report->out, &chart);
    fputs("</figure>\n", report->out);
}

void report_arrivals(const struct report *report)
{
    int32_t nodes = report->network->nodes;
    bool whole = nodes <= WHOLE;
    if (report->forward == NULL)
        return;
    int32_t *order = order_nodes(report);
    page_section(report, "arrivals", "Who arrives", NULL);
    if (order != NULL && !whole)
        draw_curve(report, order);
    if (order != NULL)
        draw_bars(report, order, whole ? nodes : BARS);
    if (!whole)
        fprintf(report->out,
                "<p class=\"soft\">The %d of %" PRId32
                " nodes that arrive least often.</p>\n",
                BARS, nodes);
    free(order);
    fputs("</section>\n", report->out);
}

/* ------------------------------------------------------------------- hops -- */

void forward_hops(const struct report *report)
{
    const struct report_rows *rows = &report->by_hops;
    const struct pricer_forward_plan *plan = report->forward;
    double share[PRICER_HOPS_MAX + 2];
    if (plan == NULL || rows->count < 2)
        return;
    int count =
        rows->count < PRICER_HOPS_MAX + 2 ? rows->count : PRICER_HOPS_MAX + 2;
    for (int k = 0; k < count; k++)
        share[k] = rows->column[1][k] / plan->zero_mse;
    struct chart chart = {.title = "The error by hops",
                          .x_name = "hops: relays that a release may pass",
                          .y_name = "error at worst, share of R²",
                          .log_y = true,
                          .lines = 1,
                          .line = {{"forward", rows->column[0], share, count}},
                          .levels = 1,
                          .level = {{"links that never fail",
                                     plan->mse_perfect / plan->zero_mse}}};
    if (!isnan(report->mse_sum))
        chart.level[chart.levels++] = (struct chart_level){
            plan->repeat > 1 ? "weighted sums, one attempt" : "weighted sums",
            report->mse_sum / plan->zero_mse};
    page_section(report, "hops", "What relays are good for",
                 "The error with coefficients chosen for each number of hops.");
    fputs("<figure>\n", report->out);
    chart_draw(report->out, &chart);
    fputs("</figure>\n</section>\n", report->out);
}

/* ---------------------------------------------------------------- privacy -- */

enum { KINDS = 12 };

/* Nodes with the same budget and kind of release. */
struct kind {
    double eps, delta;
    enum pricer_release release;
    int64_t nodes;
    double loss;     /* of a sphere's round, at most */
    double variance; /* at most, in squares of the radius */
};

static int file_node(const struct report *report, int32_t i,
                     struct kind kinds[KINDS], int count)
{
    const struct pricer_network *net = report->network;
    const struct pricer_forward_node *node = &report->forward->node[i];
    double radius = net->node_radius[i];
    int k = 0;
    while (k < count && (kinds[k].eps != net->everyone_eps[i] ||
                         kinds[k].delta != net->everyone_delta[i] ||
                         kinds[k].release != node->release))
        k++;
    if (k == KINDS)
        return count;
    if (k == count)
        kinds[count++] = (struct kind){.eps = net->everyone_eps[i],
                                       .delta = net->everyone_delta[i],
                                       .release = node->release};
    kinds[k].nodes++;
    kinds[k].loss = fmax(kinds[k].loss, node->loss);
    kinds[k].variance =
        fmax(kinds[k].variance, node->variance / (radius * radius));
    return count;
}

void forward_privacy(const struct report *report)
{
    FILE *out = report->out;
    struct kind kinds[KINDS];
    int count = 0;
    long long rounds = report->settings.rounds, listed = 0;
    for (int32_t i = 0; i < report->network->nodes; i++)
        count = file_node(report, i, kinds, count);
    fprintf(out,
            "<div class=\"wide\"><table>\n<tr><th>ε towards everyone, %lld "
            "round%s</th><th>δ</th><th>nodes</th><th>release</th><th>ε of one "
            "round</th><th>variance / R²</th><th>right, at most</th></tr>\n",
            rounds, rounds == 1 ? "" : "s");
    for (int k = 0; k < count; k++) {
        bool sphere = kinds[k].release == PRICER_RELEASE_SPHERE;
        fputs("<tr><td>", out);
        page_number(out, kinds[k].eps);
        fprintf(out, " <small>%s</small></td><td>", meaning_eps(kinds[k].eps));
        page_number(out, kinds[k].delta);
        fprintf(out, "</td><td>%" PRId64 "</td><td>%s</td><td>", kinds[k].nodes,
                pricer_word(PRICER_WORDS_RELEASE, kinds[k].release));
        page_number(out, sphere ? kinds[k].loss : NAN);
        fputs("</td><td>", out);
        page_number(out, kinds[k].variance);
        fprintf(out, "</td><td>%.4g %%</td></tr>\n",
                100 * meaning_bet(kinds[k].eps, kinds[k].delta));
        listed += kinds[k].nodes;
    }
    fputs("</table></div>\n", out);
    char near[MEANING_NEAR_ROOM];
    if (meaning_near(report->network, near)[0] != '\0')
        fprintf(out, "<p class=\"soft\">%s</p>\n", near);
    if (listed < report->network->nodes)
        fprintf(out,
                "<p class=\"soft\">%lld other nodes have budgets of their "
                "own.</p>\n",
                report->network->nodes - listed);
    fputs("<p class=\"soft\">Right: how often someone is, at most, who has to "
          "tell which of two data a node holds, both equally likely before. "
          "Who takes part, when and over which path is not hidden.</p>\n",
          out);
}

/* ------------------------------------------------------------ certificate -- */

static void row(FILE *out, const char *words, const char *format, double value)
{
    fprintf(out, "<tr><td>%s</td><td>", words);
    fprintf(out, format, value);
    fputs("</td></tr>\n", out);
}

void forward_certificate(const struct report *report)
{
    const struct pricer_forward_plan *plan = report->forward;
    FILE *out = report->out;
    page_section(report, "certificate", "How sure these numbers are", NULL);
    fputs("<div class=\"wide\"><table>\n<tr><th>what</th><th>value</th></tr>\n",
          out);
    row(out, "error at worst", "%.6g", plan->mse_worst_case);
    if (plan->patterns > 0) {
        row(out, "its standard error", "%.2g", plan->mse_stderr);
        row(out, "rounds that were drawn for it", "%.0f",
            (double)plan->patterns);
    } else {
        fputs("<tr><td>patterns of links</td><td>all of them: the error is "
              "exact</td></tr>\n",
              out);
    }
    row(out, "no coefficients are better by more than, relative", "%.2e",
        plan->gap);
    row(out, "nodes that can be heard", "%.0f", plan->heard);
    fprintf(out,
            "<tr><td>asked for</td><td>release %s, %d hop%s</td></tr>\n"
            "</table></div>\n<p class=\"soft\">",
            pricer_word(PRICER_WORDS_RELEASE, report->release), (int)plan->hops,
            plan->hops == 1 ? "" : "s");
    fputs(plan->patterns > 0
              ? "The coefficients are fitted to rounds that are drawn, and the "
                "error is measured on others."
              : "Every pattern of links counts with its probability.",
          out);
    fputs("</p>\n</section>\n", out);
}

/* ------------------------------------------------------------------ nodes -- */

static void node_row(const struct report *report, int32_t i)
{
    const struct pricer_network *net = report->network;
    const struct pricer_forward_node *node = &report->forward->node[i];
    FILE *out = report->out;
    bool heard = hops_class(report, i) != HOPS_NEVER;
    fputs("<tr><td>", out);
    page_text(out, node_label(net, i).text);
    if (heard)
        fprintf(out, "</td><td>%d</td><td>", (int)report->path_relays[i]);
    else
        fputs("</td><td>never</td><td>", out);
    page_number(out, node->arrival);
    if (report->rounds.rounds > 0) {
        fputs("<small>", out);
        page_number(out,
                    (double)report->came[i] / (double)report->rounds.rounds);
        fputs("</small>", out);
    }
    fputs("</td><td>", out);
    page_number(out, node->coefficient);
    fprintf(out, "</td><td>%s</td><td>",
            pricer_word(PRICER_WORDS_RELEASE, node->release));
    page_number(out, node->variance);
    fputs("</td><td>", out);
    page_number(out, net->everyone_eps[i]);
    fputs("</td></tr>\n", out);
}

static void table_nodes(const struct report *report, const int32_t *order,
                        int32_t count)
{
    fputs("<div class=\"wide\"><table>\n<tr><th>node</th><th>relays</th>"
          "<th>arrives</th><th>counts</th><th>release</th><th>variance</th>"
          "<th>ε</th></tr>\n",
          report->out);
    for (int32_t k = 0; k < count; k++)
        node_row(report, order[k]);
    fputs("</table></div>\n", report->out);
}

void report_nodes(const struct report *report)
{
    int32_t nodes = report->network->nodes;
    int32_t rows = nodes < MOST ? nodes : MOST;
    if (report->forward == NULL)
        return;
    int32_t *order = order_nodes(report);
    page_section(report, "nodes", "The nodes",
                 "Relays on the most likely path, the probability that a "
                 "release arrives over any, what the server multiplies it "
                 "with, its variance "
                 "in squared units of the data, and the node’s ε towards "
                 "everyone; those that arrive least often first.");
    if (order != NULL && rows > LISTED) {
        fprintf(report->out,
                "<details><summary>%" PRId32 " of %" PRId32
                " nodes</summary>\n",
                rows, nodes);
        table_nodes(report, order, rows);
        fputs("</details>\n", report->out);
    } else if (order != NULL) {
        table_nodes(report, order, rows);
    }
    if (report->rounds.rounds > 0)
        fprintf(report->out,
                "<p class=\"soft\">In small figures: in what share of the %lld "
                "rounds that were run it arrived.</p>\n",
                (long long)report->rounds.rounds);
    if (rows < nodes)
        fputs("<p class=\"soft\"><code>pricer export</code> writes all of "
              "them.</p>\n",
              report->out);
    free(order);
    fputs("</section>\n", report->out);
}
