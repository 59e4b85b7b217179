/*
 * Charts of a report: the errors of a simulation as a histogram, the rounds that
 * were run over time, the error against trust, and every node's eps against its
 * budget.
 */
#include "chart.h"
#include "common/meaning.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { WIDTH = 540, HEIGHT = 230, LEFT = 20, BASE = 190, TALL = 160 };

/* --------------------------------------------------------------- errors -- */

/* Where an error stands: the scale is logarithmic, as the bins are. */
static double error_at(double error, double low, double high)
{
    return LEFT + log(error / low) / log(high / low) * (WIDTH - 2 * LEFT);
}

static void error_bar(FILE *out, const struct report_rows *rows, int32_t k,
                      const double ends[2], double tallest, double total)
{
    double low = fmax(rows->column[0][k], ends[0]);
    double from = error_at(low, ends[0], ends[1]);
    double to = error_at(rows->column[1][k], ends[0], ends[1]);
    /* As high as trials an octave, so that areas are trials. */
    double high = rows->column[2][k] / log2(rows->column[1][k] / low);
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "fill=\"var(--blue)\"><title>%.3g to %.3g: %.3g %% of the "
            "trials</title></rect>\n",
            from, BASE - TALL * high / tallest, fmax(to - from - 1, .5),
            TALL * high / tallest, low, rows->column[1][k],
            100 * rows->column[2][k] / total);
}

void report_histogram(const struct report *report)
{
    const struct report_rows *rows = &report->bins;
    FILE *out = report->out;
    double ends[2] = {INFINITY, 0}, total = 0, tallest = 0;
    for (int32_t k = 0; k < rows->count; k++) {
        if (rows->column[0][k] > 0)
            ends[0] = fmin(ends[0], rows->column[0][k]);
        ends[1] = fmax(ends[1], rows->column[1][k]);
        total += rows->column[2][k];
    }
    if (rows->count < 2 || !(ends[1] > ends[0]) || !isfinite(ends[1]))
        return;
    for (int32_t k = 0; k < rows->count; k++)
        if (rows->column[0][k] > 0)
            tallest = fmax(tallest,
                           rows->column[2][k] /
                               log2(rows->column[1][k] / rows->column[0][k]));
    if (!(tallest > 0) || !isfinite(tallest))
        return;
    const char *what = report->simulation->engine == PRICER_ENGINE_FAST
                           ? "expected errors given the links"
                           : "squared errors";
    fprintf(out,
            "<figure>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"Histogram of "
            "the %s, of the simulated rounds\">\n",
            WIDTH, HEIGHT, what);
    for (int32_t k = 0; k < rows->count; k++)
        if (rows->column[0][k] > 0)
            error_bar(out, rows, k, ends, tallest, total);
    fprintf(out,
            "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" "
            "stroke=\"var(--soft)\"/>\n",
            LEFT, BASE, WIDTH - LEFT, BASE);
    for (int k = 0; k <= 4; k++)
        fprintf(out,
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\" "
                "class=\"quiet\">%.2g</text>\n",
                LEFT + k * (WIDTH - 2. * LEFT) / 4, BASE + 18,
                k == 0   ? "start"
                : k == 4 ? "end"
                         : "middle",
                ends[0] * pow(ends[1] / ends[0], k / 4.));
    fprintf(
        out,
        "</svg>\n<figcaption>How the %s of the simulated rounds are spread, "
        "on a logarithmic scale: an area is a share of the "
        "rounds.</figcaption>\n</figure>\n",
        what);
}

/* --------------------------------------------------------------- rounds -- */

/* Neighbouring rounds are averaged until there are at most this many points. */
enum { POINTS = 100 };

static int thin(const struct report_rows *rows, int column, double *x,
                double *y)
{
    int32_t joined = (rows->count + POINTS - 1) / POINTS;
    int count = 0;
    for (int32_t k = 0; k < rows->count; k += joined) {
        double sum = 0, first = rows->column[0][k];
        int32_t known = 0;
        for (int32_t j = k; j < k + joined && j < rows->count; j++)
            if (isfinite(rows->column[column][j])) {
                sum += rows->column[column][j];
                known++;
            }
        x[count] = first;
        y[count++] = known > 0 ? sum / known : NAN;
    }
    return count;
}

static void rounds_chart(const struct report *report, struct chart *chart,
                         const int columns[2], const char *const names[2])
{
    double x[2][POINTS + 1], y[2][POINTS + 1];
    for (int s = 0; s < 2 && names[s] != NULL; s++) {
        int count = thin(&report->played_rounds, columns[s], x[s], y[s]);
        bool any = false;
        for (int k = 0; k < count; k++)
            any |= isfinite(y[s][k]);
        if (any)
            chart->line[chart->lines++] =
                (struct chart_line){names[s], x[s], y[s], count};
    }
    if (chart->lines == 0)
        return;
    fputs("<figure>\n", report->out);
    chart_draw(report->out, chart);
    fputs("</figure>\n", report->out);
}

void report_rounds(const struct report *report)
{
    if (report->played_rounds.count < 2)
        return;
    struct chart arrivals = {.title = "What arrived, over the rounds",
                             .x_name = "round",
                             .y_name = "how many",
                             .levels = 1,
                             .level = {{"all nodes", report->network->nodes}}};
    struct chart errors = {
        .title = "Error of the rounds",
        .x_name = "round",
        .y_name = "squared error",
        .levels = 1,
        .level = {{report->forward != NULL ? "worst case of the plan"
                                           : "worst case of the plan, 1/n",
                   report->error.mse_worst_case}}};
    const char *const counted[] = {
        "nodes in the estimate", /* of forwarding, releases that arrived */
        report->forward != NULL ? NULL : "sums that arrived"};
    static const char *const judged[] = {"measured error",
                                         "the server’s error bar"};
    rounds_chart(report, &arrivals, (const int[]){2, 1}, counted);
    rounds_chart(report, &errors, (const int[]){4, 5}, judged);
}

/* ---------------------------------------------------------------- curve -- */

void report_curve(const struct report *report)
{
    const struct report_rows *rows = &report->curve;
    double centre = meaning_centre(report->network);
    enum { KINDS = 3, MOST = 64 };
    static const char *const names[KINDS] = {"every budget", "towards links",
                                             "towards the server"};
    double share[KINDS][MOST];
    if (!report_planned(report) || rows->count < 2)
        return;
    int count = rows->count < MOST ? rows->count : MOST;
    struct chart chart = {.title = "The least error against trust",
                          .x_name = "budgets times (1: as they are)",
                          .y_name = "least error at worst, share of R²",
                          .log_x = true,
                          .log_y = report->forward != NULL,
                          .levels = 1,
                          .level = {{meaning_zero(report->network), 1}}};
    for (int kind = 0; kind < KINDS; kind++) {
        bool known = true;
        for (int k = 0; k < count; k++) {
            share[kind][k] = rows->column[1 + kind][k] / centre;
            known = known && isfinite(share[kind][k]);
        }
        if (known)
            chart.line[chart.lines++] = (struct chart_line){
                names[kind], rows->column[0], share[kind], count};
    }
    page_section(
        report, "curve", "What more trust would save",
        report->forward != NULL
            ? "The error of the best plan if every ε were n times "
              "what it is, with the same hops."
            : "The error of the best plan if every ε, or those towards "
              "links or the server alone, were so many times what it "
              "is; <code>pricer advise</code> says more.");
    fputs("<figure>\n", report->out);
    chart_draw(report->out, &chart);
    fputs("</figure>\n</section>\n", report->out);
}

/* -------------------------------------------------------------- budgets -- */

enum { EPS_ROWS = 20, EPS_BAR = 13, EPS_RIGHT = 380, EPS_WIDTH = 450 };

/* From eps to the drawing, and which observers are in it: each has a bar. */
struct eps_scale {
    double low, high;
    bool shown[3];
    int bars, left;
};

static const char *const eps_colours[] = {"blue", "orange", "green"};

static int eps_row(const struct eps_scale *scale)
{
    return EPS_BAR * scale->bars + 9;
}

static double along(const struct eps_scale *scale, double eps)
{
    double at = log(eps / scale->low) / log(scale->high / scale->low);
    return scale->left + fmin(fmax(at, 0), 1) * (EPS_RIGHT - scale->left);
}

static double worst_of(const struct report *report, int32_t i)
{
    double worst = NAN;
    for (int k = 0; k < 3; k++)
        worst = fmax(worst, report->eps[k][i]);
    return worst;
}

static int by_worst(const void *one, const void *two, void *context)
{
    const struct report *report = context;
    int32_t a = *(const int32_t *)one, b = *(const int32_t *)two;
    double x = worst_of(report, a), y = worst_of(report, b);
    x = isnan(x) ? -1 : x;
    y = isnan(y) ? -1 : y;
    for (int k = 2; k > 0 && x == y; k--) { /* by the server, then by relays */
        x = isnan(report->eps[k][a]) ? -1 : report->eps[k][a];
        y = isnan(report->eps[k][b]) ? -1 : report->eps[k][b];
    }
    return x < y ? 1 : x > y ? -1 : (a > b) - (a < b);
}

/* What a node may show: the largest budget of the links it uses, or the one
 * towards the server; NAN where nothing bounds it. */
static double budget_of(const struct report *report, int32_t i, int observer)
{
    const struct pricer_network *net = report->network;
    double most = NAN;
    if (observer == PRICER_OBSERVER_SERVER && net->server_eps != NULL)
        most = net->server_eps[i];
    for (int32_t l = net->out_start[i];
         observer == PRICER_OBSERVER_LINK && l < net->out_start[i + 1]; l++)
        if (report->plan->weight[l] > 0)
            most = fmax(most, net->eps[l]);
    return isfinite(most) ? most : NAN;
}

static void eps_bars(const struct report *report, int32_t i, int32_t row,
                     const struct eps_scale *scale)
{
    FILE *out = report->out;
    double top = eps_row(scale) * row + 6;
    int bar = 0;
    fprintf(out,
            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" "
            "dominant-baseline=\"central\">",
            scale->left - 8, top + .5 * EPS_BAR * scale->bars - 1);
    page_node(out, report->network, i);
    fputs("</text>\n", out);
    for (int k = 0; k < 3; k++) {
        double eps = report->eps[k][i], y = top + EPS_BAR * bar;
        bar += scale->shown[k];
        if (!(eps > 0))
            continue;
        double end = along(scale, eps), budget = budget_of(report, i, k);
        double mark = along(scale, budget);
        if (!isnan(budget))
            fprintf(out,
                    "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                    "y2=\"%.1f\" stroke=\"var(--ink)\" "
                    "stroke-width=\"2\"/>\n",
                    mark, y - 1, mark, y + EPS_BAR - 1);
        fprintf(out,
                "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
                "fill=\"var(--%s)\"/><text x=\"%d\" y=\"%.1f\" "
                "style=\"font-size:11.5px\" text-anchor=\"end\" "
                "dominant-baseline=\"central\" class=\"quiet\">",
                scale->left, y, fmax(end - scale->left, 1), EPS_BAR - 2,
                eps_colours[k], EPS_WIDTH - 6, y + .5 * EPS_BAR - .5);
        page_number(out, eps);
        fputs("</text>\n", out);
    }
}

static void draw_eps(const struct report *report, const int32_t *order,
                     int32_t rows)
{
    FILE *out = report->out;
    static const char *const names[] = {"ε towards a link", "a relay",
                                        "the server"};
    struct eps_scale scale = {.low = INFINITY,
                              .left = page_node_room(report->network)};
    for (int32_t r = 0; r < rows; r++)
        for (int k = 0; k < 3; k++) {
            double eps = report->eps[k][order[r]];
            scale.shown[k] |= eps > 0;
            if (eps > 0 && isfinite(eps)) {
                scale.low = fmin(scale.low, eps);
                scale.high = fmax(scale.high, eps);
            }
            scale.high =
                fmax(scale.high, budget_of(report, order[r], k)); /* or NAN */
        }
    if (!(scale.high > 0))
        return;
    scale.low = fmin(scale.low / 2, scale.high / 10);
    scale.bars = scale.shown[0] + scale.shown[1] + scale.shown[2];
    fprintf(out,
            "<figure>\n<svg class=\"bars\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"What observers "
            "learn of each node\">\n",
            EPS_WIDTH, eps_row(&scale) * rows + 6);
    for (int32_t r = 0; r < rows; r++)
        eps_bars(report, order[r], r, &scale);
    fputs("</svg>\n<figcaption>", out);
    for (int k = 0; k < 3; k++)
        if (scale.shown[k])
            fprintf(out,
                    "<span class=\"key\" style=\"background:var(--%s)\">"
                    "</span>%s ",
                    eps_colours[k], names[k]);
    long long rounds = report->settings.rounds;
    fprintf(out,
            "(the worst of each over the plan’s %lld round%s, on a "
            "logarithmic scale)",
            rounds, rounds == 1 ? "" : "s");
    fputs("; upright lines are budgets: the largest of a node’s links, and "
          "towards the server where there is one. Up to 1 is strong, to 3 "
          "moderate, to 10 weak, beyond practically none.</figcaption>\n"
          "</figure>\n",
          out);
}

void report_budgets(const struct report *report)
{
    int32_t nodes = report->network->nodes, known = 0;
    if (report->plan == NULL || report->eps[0] == NULL)
        return;
    int32_t *order = calloc((size_t)nodes, sizeof *order);
    for (int32_t i = 0; order != NULL && i < nodes; i++)
        order[i] = i;
    if (order != NULL) {
        qsort_r(order, (size_t)nodes, sizeof *order, by_worst, (void *)report);
        while (known < nodes && !isnan(worst_of(report, order[known])))
            known++;
        int32_t rows = known < EPS_ROWS ? known : EPS_ROWS;
        if (rows > 0)
            draw_eps(report, order, rows);
        if (known > rows)
            fprintf(report->out,
                    "<p class=\"soft\">The %" PRId32 " of %" PRId32
                    " nodes of whom most is learnt.</p>\n",
                    rows, known);
    }
    free(order);
}
