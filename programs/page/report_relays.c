/*
 * Who relays for whom, as a matrix: a row a node whose data it is, a column a
 * relay, a cell as dark as what the server is expected to count of it that way.
 * Of more nodes the relays that bring most: how much, and in a matrix, or for
 * very many nodes in words, for whom.
 */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    CELL = 22,
    EDGE = 60,
    WHOLE = 26, /* nodes that a matrix shows */
    BARS = 20,  /* relays that bars show */
    RIGHT = 350,
    WIDE = 450,
    ROW = 24,
    STRIPES = 120, /* nodes that a matrix of the relays shows */
    STRIPE_ROW = 17,
    NAMES = 8, /* whom a relay serves, in words */
};

static void put_cell(const struct report *report, int32_t from, int32_t to,
                     double share, double most)
{
    double size = CELL - 2;
    if (!(share > 1e-4))
        return;
    fprintf(report->out,
            "<rect x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"%.0f\" "
            "rx=\"2\" fill=\"var(--%s)\" fill-opacity=\"%.2f\"><title>node "
            "%s %s %s: %.3g</title></rect>\n",
            EDGE + CELL * to + 1, EDGE + CELL * from + 1, size, size,
            from == to ? "green" : "blue",
            fmin(1, .15 + .85 * sqrt(share / most)),
            node_label(report->network, from).text,
            from == to ? "itself, node" : "through",
            node_label(report->network, to).text, share);
}

static void draw_matrix(const struct report *report)
{
    const struct pricer_network *net = report->network;
    FILE *out = report->out;
    int side = EDGE + CELL * net->nodes + 8, wide = side < 240 ? 240 : side;
    double most = 1e-9;
    for (int32_t i = 0; i < net->nodes; i++)
        most = fmax(most, report->self_share[i]);
    for (int32_t l = 0; l < net->links; l++)
        most = fmax(most, report->share[l]);
    fprintf(out,
            "<figure>\n<svg class=\"bars\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "style=\"max-width:%dpx\" xmlns=\"http://www.w3.org/2000/svg\" "
            "aria-label=\"Who relays for whom\">\n",
            wide, side, wide * 5 / 4);
    fprintf(out,
            "<text x=\"%d\" y=\"14\" class=\"quiet\">reaches the server through"
            "</text><text class=\"quiet\" transform=\"translate(14 %d) "
            "rotate(-90)\" text-anchor=\"end\">data of</text>\n",
            EDGE, EDGE);
    for (int32_t i = 0; i < net->nodes; i++) {
        double middle = EDGE + CELL * (i + .5);
        fprintf(out,
                "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
                "fill=\"none\" stroke=\"var(--line)\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" "
                "dominant-baseline=\"central\" class=\"quiet\">%" PRId32
                "</text><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" "
                "class=\"quiet\">%" PRId32 "</text>\n",
                EDGE, middle - CELL / 2., CELL * net->nodes, CELL, EDGE - 6,
                middle, i, middle, EDGE - 6, i);
    }
    for (int32_t i = 0; i < net->nodes; i++)
        put_cell(report, i, i, report->self_share[i], most);
    for (int32_t l = 0; l < net->links; l++)
        put_cell(report, net->from[l], net->to[l], report->share[l], most);
    fputs("</svg>\n<figcaption><span class=\"key\" "
          "style=\"background:var(--green)\"></span>its own uplink "
          "<span class=\"key\" style=\"background:var(--blue)\"></span>"
          "through a relay. The stronger the colour, the more the server is "
          "expected to "
          "count; a row adds up to what the node weighs, at most 1."
          "</figcaption>\n</figure>\n",
          out);
}

/* Whose numbers they are, where nodes have names. */
static void list_names(const struct report *report)
{
    const struct pricer_network *net = report->network;
    FILE *out = report->out;
    if (net->name == NULL)
        return;
    fputs("<p class=\"soft\">", out);
    for (int32_t i = 0; i < net->nodes; i++) {
        fprintf(out, "%s%" PRId32 "&#160;", i > 0 ? ", " : "", i);
        page_text(out,
                  net->name[i][0] != '\0' ? net->name[i] : "without a name");
    }
    fputs("</p>\n", out);
}

/* ----------------------------------------------------------------- bars -- */

static double relayed(const struct report *report, int32_t j)
{
    return report->load[j] - report->self_share[j];
}

static int by_relayed(const void *one, const void *two, void *context)
{
    const struct report *report = context;
    int32_t a = *(const int32_t *)one, b = *(const int32_t *)two;
    double x = relayed(report, a), y = relayed(report, b);
    return x < y ? 1 : x > y ? -1 : (a > b) - (a < b);
}

static int32_t served(const struct report *report, int32_t j)
{
    const struct pricer_network *net = report->network;
    int32_t count = 0;
    for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++)
        count += report->share[net->in_link[k]] > 1e-4;
    return count;
}

static void draw_bars(const struct report *report, const int32_t *order,
                      int32_t count)
{
    FILE *out = report->out;
    int left = page_node_room(report->network);
    double most = 1e-9;
    for (int32_t k = 0; k < count; k++)
        most = fmax(most, report->load[order[k]]);
    fprintf(out,
            "<figure>\n<svg class=\"bars\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"The relays that "
            "bring most\">\n",
            WIDE, ROW * count + 8);
    for (int32_t k = 0; k < count; k++) {
        int32_t j = order[k];
        double scale = (RIGHT - left) / most;
        double own = report->self_share[j] * scale;
        double others = relayed(report, j) * scale;
        fprintf(out,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" "
                "dominant-baseline=\"central\">",
                left - 8, ROW * k + 14);
        page_node(out, report->network, j);
        fprintf(out,
                "</text><rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"16\" "
                "fill=\"var(--green)\"/><rect x=\"%.1f\" y=\"%d\" "
                "width=\"%.1f\" height=\"16\" fill=\"var(--blue)\"/>"
                "<text x=\"%.1f\" y=\"%d\" dominant-baseline=\"central\" "
                "class=\"quiet\">%.3g of %" PRId32 "</text>\n",
                left, ROW * k + 6, fmax(own, 0), left + own, ROW * k + 6,
                fmax(others, 0), left + own + others + 6, ROW * k + 14,
                relayed(report, j), served(report, j));
    }
    fputs("</svg>\n<figcaption><span class=\"key\" "
          "style=\"background:var(--green)\"></span>its own data "
          "<span class=\"key\" style=\"background:var(--blue)\"></span>"
          "others’ data, by what the server is expected to count of it and of "
          "how many nodes.</figcaption>\n</figure>\n",
          out);
}

static void stripe(const struct report *report, int32_t from, int32_t to,
                   double share, int left, int y)
{
    double wide = (double)(WIDE - left - 4) / report->network->nodes;
    if (!(share > 1e-4))
        return;
    fprintf(report->out,
            "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" "
            "fill=\"var(--%s)\" fill-opacity=\"%.2f\"><title>node %s through "
            "%s: %.3g</title></rect>\n",
            left + wide * from, y + 1, fmax(wide - .8, .8), STRIPE_ROW - 3,
            from == to ? "green" : "blue", fmin(1, .2 + .8 * sqrt(share)),
            node_label(report->network, from).text,
            node_label(report->network, to).text, share);
}

/* A row a relay, a column a node whose data it may carry. */
static void draw_stripes(const struct report *report, const int32_t *order,
                         int32_t count)
{
    const struct pricer_network *net = report->network;
    FILE *out = report->out;
    int left = page_node_room(net);
    double wide = (double)(WIDE - left - 4) / net->nodes;
    int every = net->nodes > 60 ? 20 : 10, top = 26;
    fprintf(out,
            "<figure>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"Who relays for "
            "whom\">\n",
            WIDE, top + STRIPE_ROW * count + 6);
    for (int32_t i = 0; i < net->nodes; i += every)
        fprintf(out,
                "<text x=\"%.1f\" y=\"16\" text-anchor=\"middle\" "
                "class=\"quiet\">%" PRId32 "</text>"
                "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" "
                "stroke=\"var(--line)\"/>\n",
                left + wide * (i + .5), i, left + wide * i, left + wide * i,
                top - 4, top + STRIPE_ROW * count);
    for (int32_t k = 0; k < count; k++) {
        int32_t j = order[k];
        int y = top + STRIPE_ROW * k;
        fprintf(out,
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" "
                "dominant-baseline=\"central\">",
                left - 8, y + STRIPE_ROW / 2.);
        page_node(out, net, j);
        fprintf(out,
                "</text><line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" "
                "stroke=\"var(--line)\"/>\n",
                left, WIDE - 4, y + STRIPE_ROW - 1, y + STRIPE_ROW - 1);
        stripe(report, j, j, report->self_share[j], left, y);
        for (int32_t n = net->in_start[j]; n < net->in_start[j + 1]; n++)
            stripe(report, net->from[net->in_link[n]], j,
                   report->share[net->in_link[n]], left, y);
    }
    fputs("</svg>\n<figcaption>A column a node, a row a relay: "
          "<span class=\"key\" style=\"background:var(--blue)\"></span>"
          "carries its data, the stronger the colour the more, "
          "<span class=\"key\" style=\"background:var(--green)\"></span>"
          "its own.</figcaption>\n</figure>\n",
          out);
}

/* Whether a relay carries more of link a than of link b; of equal ones the first
 * comes first. */
static bool carries_more(const struct report *report, int32_t a, int32_t b)
{
    double x = report->share[a], y = report->share[b];
    return x > y || (x == y && a < b);
}

/* The link to relay j that carries most after the link `last`, or -1. */
static int32_t next_served(const struct report *report, int32_t j, int32_t last)
{
    const struct pricer_network *net = report->network;
    int32_t best = -1;
    for (int32_t n = net->in_start[j]; n < net->in_start[j + 1]; n++) {
        int32_t l = net->in_link[n];
        if (report->share[l] > 1e-4 &&
            (last < 0 || carries_more(report, last, l)) &&
            (best < 0 || carries_more(report, l, best)))
            best = l;
    }
    return best;
}

/* Whom the relays serve, those of whom most is carried first. */
static void list_served(const struct report *report, const int32_t *order,
                        int32_t count)
{
    const struct pricer_network *net = report->network;
    FILE *out = report->out;
    fputs("<details><summary>For whom</summary>\n<div class=\"wide\"><table>\n"
          "<tr><th>relay</th><th>for nodes</th></tr>\n",
          out);
    for (int32_t k = 0; k < count; k++) {
        int32_t j = order[k], shown = 0, last = -1;
        fprintf(out, "<tr><td>%s</td><td class=\"words\">",
                node_label(net, j).text);
        for (; shown < NAMES; shown++) {
            last = next_served(report, j, last);
            if (last < 0)
                break;
            fprintf(out, "%s%s", shown > 0 ? ", " : "",
                    node_label(net, net->from[last]).text);
        }
        if (served(report, j) > shown)
            fprintf(out, " and %" PRId32 " more", served(report, j) - shown);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div></details>\n", out);
}

void report_relays(const struct report *report)
{
    const struct pricer_network *net = report->network;
    if (report->plan == NULL)
        return;
    page_section(report, "relays", "Who relays for whom", NULL);
    if (net->nodes <= WHOLE) {
        draw_matrix(report);
        list_names(report);
    } else {
        int32_t *order = calloc((size_t)net->nodes, sizeof *order);
        for (int32_t i = 0; order != NULL && i < net->nodes; i++)
            order[i] = i;
        if (order != NULL) {
            qsort_r(order, (size_t)net->nodes, sizeof *order, by_relayed,
                    (void *)report);
            draw_bars(report, order, net->nodes < BARS ? net->nodes : BARS);
            if (net->nodes <= STRIPES)
                draw_stripes(report, order, BARS);
            list_served(report, order, BARS);
            fprintf(report->out,
                    "<p class=\"soft\">The %d of %" PRId32
                    " nodes that relay most.</p>\n",
                    BARS, net->nodes);
        }
        free(order);
    }
    fputs("</section>\n", report->out);
}
