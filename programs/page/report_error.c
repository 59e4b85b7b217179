/*
 * The error of a report: what it is made of, next to the baselines, and whether
 * prediction, simulation and measurement agree.
 */
#include "report.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ split --
 */

enum { ROWS = PRICER_BASELINES + 1, BAR = 32, LEFT = 164, RIGHT = 376 };

/* The three parts of a worst-case error. */
static void split(const struct pricer_error *error, double *parts)
{
    parts[0] = error->variance;
    parts[1] = error->piv;
    parts[2] = fmax(0, error->mse_worst_case - error->variance - error->piv);
}

static const char *const colours[] = {"blue", "green", "violet"};

/* One bar; what reaches beyond the scale is cut off and ends in an arrow. */
static void bar(FILE *out, int row, const char *name,
                const struct pricer_error *error, double most)
{
    double parts[3], at = LEFT, y = 8 + BAR * row;
    split(error, parts);
    fprintf(out,
            "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\" "
            "dominant-baseline=\"central\"%s>%s</text>\n",
            LEFT - 10, y + 11, row == 0 ? " style=\"font-weight:600\"" : "",
            name);
    for (int k = 0; k < 3; k++) {
        double width = fmin(parts[k] / most * (RIGHT - LEFT), RIGHT - at);
        if (width <= 0)
            continue;
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"22\" "
                "fill=\"var(--%s)\"/>\n",
                at, y, width, colours[k]);
        at += width;
    }
    fprintf(out,
            "<text x=\"%.1f\" y=\"%.0f\" dominant-baseline=\"central\" "
            "class=\"quiet\">%s%.4g</text>\n",
            at + 7, y + 11, error->mse_worst_case > most ? "→ " : "",
            error->mse_worst_case);
}

static void draw_bars(const struct report *report)
{
    static const char *const names[PRICER_BASELINES] = {
        "alone, weight 1", "alone, weight 1/p", "alone, best weights",
        "relayed, no noise"};
    FILE *out = report->out;
    double most = report->error.mse_worst_case;
    int rows = 1;
    for (int k = 0; k < PRICER_BASELINES; k++)
        rows += report->rival[k].known;
    for (int k = 0; k < PRICER_BASELINES; k++)
        if (report->rival[k].known)
            most = fmax(most, report->rival[k].error.mse_worst_case);
    most = fmin(most, 6 * report->error.mse_worst_case);
    fprintf(out,
            "<figure>\n<svg class=\"bars\" viewBox=\"0 0 450 %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"Error of the "
            "plan and of the baselines\">\n",
            BAR * rows + 12);
    bar(out, 0, "this plan", &report->error, most);
    for (int k = 0, row = 1; k < PRICER_BASELINES; k++)
        if (report->rival[k].known)
            bar(out, row++, names[k], &report->rival[k].error, most);
    fputs("</svg>\n<figcaption><span class=\"key\" "
          "style=\"background:var(--blue)\"></span>links that come and go "
          "<span class=\"key\" style=\"background:var(--green)\"></span>noise "
          "for privacy <span class=\"key\" "
          "style=\"background:var(--violet)\"></span>bias. Mean squared error "
          "at worst, whatever the data.",
          out);
    for (int k = 0; k < PRICER_BASELINES; k++)
        if (!report->rival[k].known) {
            fprintf(out, " ‘%s’ cannot be had: ", names[k]);
            page_text(out, report->rival[k].why.text[0] != '\0'
                               ? report->rival[k].why.text
                               : "no such plan");
            fputc('.', out);
        }
    fputs("</figcaption>\n</figure>\n", out);
}

static void row(FILE *out, const char *words, double value)
{
    fprintf(out, "<tr><td>%s</td><td>", words);
    page_number(out, value);
    fputs("</td></tr>\n", out);
}

void report_error(const struct report *report)
{
    FILE *out = report->out;
    double parts[3];
    if (report->plan == NULL)
        return;
    page_section(report, "error", "The error, and where it comes from", NULL);
    draw_bars(report);
    split(&report->error, parts);
    fputs("<div class=\"wide\"><table>\n<tr><th>part</th><th>mean squared "
          "error</th></tr>\n",
          out);
    row(out, "links that come and go", parts[0]);
    row(out, "noise for privacy", parts[1]);
    row(out, "bias, at worst", parts[2]);
    fputs("<tr class=\"own\"><td>together, at worst</td><td>", out);
    page_number(out, report->error.mse_worst_case);
    fputs("</td></tr>\n", out);
    row(out, "the paper’s figure (no bound where biases differ in sign)",
        report->error.mse_paper);
    row(out, "sum of |bias| over the nodes", report->error.bias_l1);
    fputs("</table></div>\n</section>\n", out);
}

/* -------------------------------------------------------------- agreement --
 */

static void cell(FILE *out, double value)
{
    fputs("<td>", out);
    page_number(out, value);
    fputs("</td>", out);
}

static void simulated_row(FILE *out, const struct pricer_strategy *found,
                          bool predicted)
{
    double apart = found->mse - found->predicted;
    fputs(strcmp(found->name, "plan") == 0 ? "<tr class=\"own\"><td>"
                                           : "<tr><td>",
          out);
    page_text(out, found->name);
    fputs("</td>", out);
    if (predicted)
        cell(out, found->predicted);
    cell(out, found->mse);
    cell(out, found->mse_stderr);
    if (predicted)
        cell(out, found->mse_stderr > 0 ? apart / found->mse_stderr : NAN);
    cell(out, found->worst_case);
    fputs("</tr>\n", out);
}

static void simulated(FILE *out, const struct pricer_simulation_record *found)
{
    bool predicted = false; /* minimax has no closed form */
    for (int32_t k = 0; k < found->count; k++)
        predicted |= !isnan(found->strategies[k].predicted);
    fprintf(out,
            "<div class=\"wide\"><table>\n<tr><th>simulated, %lld "
            "trials</th>%s<th>played</th><th>±</th>%s<th>at worst</th></tr>\n",
            (long long)found->trials, predicted ? "<th>predicted</th>" : "",
            predicted ? "<th>apart, in ±</th>" : "");
    for (int32_t k = 0; k < found->count; k++)
        simulated_row(out, &found->strategies[k], predicted);
    fputs("</table></div>\n", out);
    if (found->clipped > 0)
        fprintf(
            out,
            "<p class=\"warn\">%lld vectors were longer than the radius and "
            "were clipped: these errors are against the mean of the clipped "
            "vectors; <code>pricer simulate</code> prints the error against "
            "the mean of the data as given, too.</p>\n",
            (long long)found->clipped);
}

static void measured(FILE *out, const struct pricer_rounds_summary *found)
{
    fprintf(out, "<p>%lld rounds were run by real nodes; ",
            (long long)found->rounds);
    fputs("on average ", out);
    page_number(out, found->arrived);
    fputs(" sums reached the server", out);
    if (found->measured > 0) {
        fputs(". Mean squared error measured: <b>", out);
        page_number(out, found->mse);
        fputs("</b> ± ", out);
        page_number(out, found->mse_stderr);
    }
    if (!isnan(found->bar)) {
        fputs(". Mean of the server’s error bars: ", out);
        page_number(out, found->bar);
    }
    fputs(".</p>\n", out);
}

/* The most rounds in which any part may have been sent: all that were run but
 * those in which it was withheld as a budget was spent. */
static int64_t most_releases(const struct report *report)
{
    const struct pricer_network *net = report->network;
    const struct pricer_plan *plan = report->plan;
    int64_t run = report->rounds.rounds, most = 0;
    for (int32_t l = 0; l < net->links; l++)
        if (plan->weight[l] > 0 && run - report->spent[l] > most)
            most = run - report->spent[l];
    for (int32_t i = 0; i < net->nodes; i++)
        if (plan->self_weight[i] > 0 &&
            run - report->spent[net->links + i] > most)
            most = run - report->spent[net->links + i];
    return most;
}

/* How far the budgets reach. */
static void covered(const struct report *report)
{
    FILE *out = report->out;
    long long budget = report->settings.rounds, run = report->rounds.rounds;
    long long most = most_releases(report);
    budget = budget > 1 ? budget : 1;
    fprintf(out, "<p%s>The budgets are for %lld round%s: ",
            most > budget ? " class=\"warn\"" : "", budget,
            budget == 1 ? "" : "s");
    if (most > budget)
        fprintf(out,
                "over more, of the same data, more is learnt, and a node may "
                "have sent in %lld; its ledger tells.",
                most);
    else if (run > budget)
        fprintf(out,
                "of the %lld that were run no part was sent in more, as nodes "
                "withheld the rest.",
                run);
    else
        fprintf(out, "%lld are left with this plan.", budget - run);
    if (report->other_rounds > 0)
        fprintf(out,
                " The %lld round%s with other plans %s not counted here, but "
                "in the nodes’ ledgers.",
                (long long)report->other_rounds,
                report->other_rounds == 1 ? "" : "s",
                report->other_rounds == 1 ? "is" : "are");
    fputs("</p>\n", out);
}

void report_agreement(const struct report *report)
{
    if (report->plan == NULL)
        return;
    page_section(report, "agreement", "Predicted, simulated, measured", NULL);
    if (report->simulation != NULL && report->simulation->count > 0) {
        simulated(report->out, report->simulation);
        report_histogram(report);
    } else
        page_missing(report, "Nothing was simulated yet.", "pricer simulate");
    if (report->rounds.rounds > 0) {
        measured(report->out, &report->rounds);
        covered(report);
        report_rounds(report);
        report_spent(report);
    } else
        page_missing(report, "No round was run yet.", "pricer demo");
    fputs("</section>\n", report->out);
}
