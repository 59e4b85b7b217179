/*
 * The error of a report: what it is made of, next to the baselines, and whether
 * prediction, simulation and measurement agree.
 */
#include "common/meaning.h"
#include "report.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ split --
 */

enum { ROWS = PRICER_BASELINES + 1, BAR = 32, LEFT = 164, RIGHT = 376 };
enum { PARTS = 3 };

/* An error, and what it is made of where that is known. */
struct split {
    const char *name;
    double whole, part[PARTS];
};

static const char *const colours[PARTS] = {"blue", "green", "violet"};

/* What the parts are, of sums and of forwarding. */
static const char *const part_names[2][PARTS] = {
    {"links that come and go", "noise for privacy", "bias"},
    {"releases missing or scaled down", "noise for privacy",
     "nodes that can never be heard"}};

static struct split split_sums(const char *name,
                               const struct pricer_error *error)
{
    return (struct split){
        name,
        error->mse_worst_case,
        {error->variance, error->piv,
         fmax(0, error->mse_worst_case - error->variance - error->piv)}};
}

/*
 * With x_u the sum of the radii of nodes that can never be heard, no coefficients
 * and no links have an error below (x_u / n)^2: what data of all nodes in one
 * direction leave out. The rest of what is missing is for lack of arrivals.
 */
static struct split split_forward(const struct report *report)
{
    const struct pricer_forward_plan *plan = report->forward;
    double silent = 0;
    for (int32_t i = 0; i < plan->nodes; i++)
        if (plan->node[i].relays < 0 || plan->node[i].relays > plan->hops)
            silent += report->network->node_radius[i] / plan->nodes;
    double unheard = fmin(silent * silent, plan->missing);
    return (struct split){"this plan",
                          plan->mse_worst_case,
                          {plan->missing - unheard, plan->noise, unheard}};
}

/* The plan first, then what it is compared with; returns how many. */
static int list_splits(const struct report *report, struct split list[ROWS])
{
    static const char *const names[PRICER_BASELINES] = {
        "alone, weight 1", "alone, weight 1/p", "alone, best weights",
        "relayed, no noise"};
    const struct pricer_forward_plan *plan = report->forward;
    int count = 1;
    if (plan != NULL) {
        list[0] = split_forward(report);
        list[count++] =
            (struct split){"links that never fail", plan->mse_perfect, {0}};
        list[count++] = (struct split){"no relaying", plan->mse_alone, {0}};
        if (!isnan(report->mse_sum))
            list[count++] =
                (struct split){plan->repeat > 1 ? "weighted sums, one attempt"
                                                : "weighted sums",
                               report->mse_sum,
                               {0}};
        list[count++] = (struct split){"always zero", plan->zero_mse, {0}};
        return count;
    }
    list[0] = split_sums("this plan", &report->error);
    for (int k = 0; k < PRICER_BASELINES; k++)
        if (report->rival[k].known)
            list[count++] = split_sums(names[k], &report->rival[k].error);
    return count;
}

/* One bar; what reaches beyond the scale is cut off and ends in an arrow. */
static void bar(FILE *out, int row, const struct split *error, double most)
{
    double at = LEFT, y = 8 + BAR * row, left = error->whole;
    fprintf(out,
            "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\" "
            "dominant-baseline=\"central\"%s>%s</text>\n",
            LEFT - 10, y + 11, row == 0 ? " style=\"font-weight:600\"" : "",
            error->name);
    for (int k = 0; k <= PARTS; k++) { /* and what is not split */
        double part = k < PARTS ? error->part[k] : left;
        double width = fmin(part / most * (RIGHT - LEFT), RIGHT - at);
        left -= part;
        if (width <= 1e-3)
            continue;
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"22\" "
                "fill=\"var(--%s)\"/>\n",
                at, y, width, k < PARTS ? colours[k] : "grey");
        at += width;
    }
    fprintf(out,
            "<text x=\"%.1f\" y=\"%.0f\" dominant-baseline=\"central\" "
            "class=\"quiet\">%s%.4g</text>\n",
            at + 7, y + 11, error->whole > most ? "→ " : "", error->whole);
}

/* Baselines that cannot be had, and why. */
static void explain_missing(const struct report *report)
{
    static const char *const names[PRICER_BASELINES] = {
        "alone, weight 1", "alone, weight 1/p", "alone, best weights",
        "relayed, no noise"};
    for (int k = 0; k < PRICER_BASELINES && report->forward == NULL; k++)
        if (!report->rival[k].known) {
            fprintf(report->out, " ‘%s’ cannot be had: ", names[k]);
            page_text(report->out, report->rival[k].why.text[0] != '\0'
                                       ? report->rival[k].why.text
                                       : "no such plan");
            fputc('.', report->out);
        }
}

static void draw_bars(const struct report *report, const struct split *list,
                      int rows)
{
    FILE *out = report->out;
    double most = list[0].whole;
    for (int k = 0; k < rows; k++)
        most = fmax(most, list[k].whole);
    most = fmin(most, 6 * list[0].whole);
    fprintf(out,
            "<figure>\n<svg class=\"bars\" viewBox=\"0 0 450 %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"Error of the "
            "plan and of the baselines\">\n",
            BAR * rows + 12);
    for (int k = 0; k < rows; k++)
        bar(out, k, &list[k], most);
    fputs("</svg>\n<figcaption>", out);
    for (int k = 0; k < PARTS; k++)
        fprintf(out,
                "<span class=\"key\" style=\"background:var(--%s)\"></span>"
                "%s%s",
                colours[k], part_names[report->forward != NULL][k],
                k + 1 < PARTS ? " " : "");
    fputs(". Mean squared error at worst, whatever the data.", out);
    explain_missing(report);
    fputs("</figcaption>\n</figure>\n", out);
}

/* With 'scheme: forward' an error is also given as a share of R^2. */
static void row(const struct report *report, const char *words, double value,
                bool own)
{
    fprintf(report->out, "<tr%s><td>%s</td><td>", own ? " class=\"own\"" : "",
            words);
    page_number(report->out, value);
    if (report->forward != NULL)
        fprintf(report->out, "</td><td>%s",
                meaning_share(value / report->forward->zero_mse).text);
    fputs("</td></tr>\n", report->out);
}

/* The parts in numbers; of forwarding also what it is compared with. */
static void list_parts(const struct report *report, const struct split *list,
                       int rows)
{
    FILE *out = report->out;
    bool forward = report->forward != NULL;
    static const int order[2][PARTS] = {{0, 1, 2}, {2, 0, 1}};
    fprintf(out,
            "<div class=\"wide\"><table>\n<tr><th>part</th><th>mean squared "
            "error</th>%s</tr>\n",
            forward ? "<th>of R²</th>" : "");
    for (int k = 0; k < PARTS; k++) {
        int part = order[forward][k];
        char words[80];
        snprintf(words, sizeof words, "%s%s", part_names[forward][part],
                 !forward && part == 2 ? ", at worst" : "");
        row(report, words, list[0].part[part], false);
    }
    row(report, "together, at worst", list[0].whole, true);
    if (!forward) {
        row(report, "the paper’s figure (no bound where biases differ in sign)",
            report->error.mse_paper, false);
        row(report, "sum of |bias| over the nodes", report->error.bias_l1,
            false);
    }
    for (int k = 1; k < rows && forward; k++)
        row(report, list[k].name, list[k].whole, false);
    fputs("</table></div>\n", out);
}

void report_error(const struct report *report)
{
    struct split list[ROWS];
    if (!report_planned(report))
        return;
    page_section(report, "error", "The error, and where it comes from", NULL);
    int rows = list_splits(report, list);
    draw_bars(report, list, rows);
    list_parts(report, list, rows);
    if (report->forward != NULL)
        fputs("<p class=\"soft\">Nodes that can never be heard: the error that "
              "is left if all others always arrive, without noise. The other "
              "rows have the same budgets: links that never fail and no "
              "relaying with the same releases, weighted sums (scheme: sum) "
              "with the budget divided evenly among a node’s links.</p>\n",
              report->out);
    fputs("</section>\n", report->out);
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

static void measured(FILE *out, const struct pricer_rounds_summary *found,
                     bool forward)
{
    fprintf(out, "<p>%lld rounds were run by real nodes; ",
            (long long)found->rounds);
    fputs("on average ", out);
    page_number(out, found->arrived);
    fprintf(out, " %s reached the server", forward ? "releases" : "sums");
    if (found->measured > 0) {
        fputs(". Mean squared error measured: <b>", out);
        page_number(out, found->mse);
        fputs("</b> ± ", out);
        page_number(out, found->mse_stderr);
    }
    if (!isnan(found->bar)) {
        fputs(". Mean of the server’s error bars: ", out);
        page_number(out, found->bar);
        if (forward)
            fputs("; over many rounds this is above the worst case of the "
                  "plan, as a bar allows for data that oppose those who "
                  "arrived in its round",
                  out);
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
    if (plan == NULL)
        return run;
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
    if (!report_planned(report))
        return;
    page_section(report, "agreement", "Predicted, simulated, measured", NULL);
    if (report->simulation != NULL && report->simulation->count > 0) {
        simulated(report->out, report->simulation);
        report_histogram(report);
    } else
        page_missing(report, "Nothing was simulated yet.", "pricer simulate");
    if (report->rounds.rounds > 0) {
        measured(report->out, &report->rounds, report->forward != NULL);
        covered(report);
        report_rounds(report);
        report_spent(report);
    } else
        page_missing(report, "No round was run yet.", "pricer demo");
    fputs("</section>\n", report->out);
}
