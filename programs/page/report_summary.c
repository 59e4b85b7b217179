/*
 * The head of a report: its numbers, and what they say to three questions: is it
 * accurate enough, is it private enough, what would make it better.
 */
#include "common/meaning.h"
#include "common/unheard.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>

static void fact(FILE *out, double value, const char *words)
{
    fputs("<li><b>", out);
    page_number(out, value);
    fprintf(out, "</b><span>%s</span></li>\n", words);
}

/* The worst case with the decoder that the server would use. */
static double error_of(const struct report *report)
{
    double error = report->error.mse_worst_case;
    return report->decoder == NULL ? error
                                   : fmin(error, report->decoder->upper);
}

static void answer_accuracy(const struct report *report)
{
    double centre = meaning_centre(report->network), error = error_of(report);
    const char *zero = meaning_zero(report->network);
    bool poor = error >= MEANING_SOMEWHAT * centre;
    fprintf(report->out,
            "<dt>Accurate enough?</dt>\n<dd%s>Verdict: %s than %s, which needs "
            "no data: at worst %.3g %% of its error. The estimate",
            poor ? " class=\"warn\"" : "", meaning_verdict(error / centre),
            zero, 100 * error / centre);
    fprintf(report->out,
            " has a root mean squared error of at most %.3g, %.3g %% of R, "
            "whatever the data; %s has %.3g.%s",
            sqrt(error), 100 * sqrt(error / centre), zero, sqrt(centre),
            poor ? " <code>pricer plan</code> says what helps most." : "");
    fputs("</dd>\n", report->out);
}

/* One observer: the most that is stored, or else the largest budget in use. */
static void put_eps(const struct report *report, const char *whom, double eps,
                    bool *first)
{
    if (!(eps > 0))
        return;
    fprintf(report->out, "%s %s: %s (ε&#160;=&#160;",
            *first ? "Towards" : "; towards", whom, meaning_eps(eps));
    page_number(report->out, eps);
    fputc(')', report->out);
    *first = false;
}

/* One release a round goes to all: one eps a node. */
static void answer_everyone(const struct report *report)
{
    const struct pricer_network *net = report->network;
    double eps = 0, delta = 0;
    long long rounds = report->settings.rounds;
    bool first = true;
    char near[MEANING_NEAR_ROOM];
    for (int32_t i = 0; i < net->nodes; i++) {
        eps = fmax(eps, net->everyone_eps[i]);
        delta = fmax(delta, net->everyone_delta[i]);
    }
    meaning_near(net, near);
    fputs("<dt>Private enough?</dt>\n<dd>", report->out);
    put_eps(report, "everyone together", eps, &first);
    fprintf(report->out,
            " of the worst node, over the plan’s %lld round%s. Whoever has to "
            "tell which of two data a node holds, both equally likely before, "
            "is right in at most %.4g %% of the cases. %s%sWho takes part, "
            "when and over which path is not hidden.</dd>\n",
            rounds, rounds == 1 ? "" : "s", 100 * meaning_bet(eps, delta), near,
            near[0] != '\0' ? " " : "");
}

static void answer_privacy(const struct report *report)
{
    const struct pricer_network *net = report->network;
    double link = 0, server = 0, own = 0;
    bool first = true, counted = false;
    for (int32_t l = 0; l < net->links; l++)
        if (report->plan->weight[l] > 0)
            link = fmax(link, !isnan(report->eps[0][net->from[l]])
                                  ? report->eps[0][net->from[l]]
                                  : net->eps[l]);
    for (int32_t i = 0; i < net->nodes; i++) {
        server = fmax(server, !isnan(report->eps[2][i]) ? report->eps[2][i]
                              : net->server_eps != NULL ? net->server_eps[i]
                                                        : 0);
        counted = counted || !isnan(report->eps[2][i]);
        if (report->plan->self_weight[i] > 0)
            own = fmax(own, net->self_eps[i]);
    }
    fputs("<dt>Private enough?</dt>\n<dd>", report->out);
    put_eps(report, "a neighbour", link, &first);
    put_eps(report, "the server", server, &first);
    if (!(server > 0))
        put_eps(report, "the server, by a node’s own part alone", own, &first);
    long long rounds = report->settings.rounds;
    if (server > 0)
        fputs(", of the worst node each.", report->out);
    if (counted)
        fputs(" Where this counts the noise of others: " MEANING_OTHERS ".",
              report->out);
    if (!(server > 0))
        fprintf(report->out,
                ". What the server learns over all paths in the plan’s %lld "
                "round%s is not accounted for yet: <code>pricer privacy</code> "
                "tells.",
                rounds, rounds == 1 ? "" : "s");
    fputs("</dd>\n", report->out);
}

static double largest_budget(const struct pricer_network *net)
{
    double largest = 0;
    for (int32_t l = 0; l < net->links && net->everyone_eps == NULL; l++)
        largest = fmax(largest, net->eps[l]);
    for (int32_t i = 0; i < net->nodes; i++) {
        if (net->everyone_eps != NULL)
            largest = fmax(largest, net->everyone_eps[i]);
        else
            largest = fmax(largest, net->self_eps[i]);
        if (net->server_eps != NULL)
            largest = fmax(largest, net->server_eps[i]);
    }
    return largest;
}

static void answer_better(const struct report *report)
{
    const struct report_rows *curve = &report->curve;
    double centre = meaning_centre(report->network), twice = NAN;
    for (int32_t k = 0; k < curve->count; k++)
        if (curve->column[0][k] == 2)
            twice = curve->column[1][k];
    fputs("<dt>What would make it better?</dt>\n<dd>", report->out);
    double largest = largest_budget(report->network);
    if (!isnan(twice) && 2 * largest <= MEANING_WEAK)
        fprintf(report->out,
                "Twice every ε (privacy then: %s): %.3g %% of R² in place of "
                "%.3g %%%s.",
                meaning_eps(2 * largest), 100 * twice / centre,
                100 * report->error.objective / centre,
                report->forward == NULL ? ", before the decoder" : "");
    if (report->forward != NULL)
        fprintf(report->out,
                " Of the error %.3g %% is noise, which more ε lowers, and %.3g "
                "%% data that do not arrive or are scaled down against the "
                "noise, which better links%s lower.",
                100 * report->forward->noise / report->error.objective,
                100 * report->forward->missing / report->error.objective,
                report->forward->hops < PRICER_HOPS_MAX ? " and more hops"
                                                        : "");
    if (report->forward != NULL && report->hop_saves > 0)
        fprintf(report->out, " One more hop: %.3g %% less error.",
                100 * report->hop_saves / report->error.objective);
    report_worth(report);
    if (report->forward == NULL)
        fputs(" <code>pricer advise</code> says where another uplink helps "
              "most.",
              report->out);
    fputs("</dd>\n", report->out);
}

/* What the numbers are worth, and what their unit is. */
static void print_meaning(const struct report *report)
{
    double centre = meaning_centre(report->network);
    fputs("<dl>\n", report->out);
    answer_accuracy(report);
    if (report->forward != NULL)
        answer_everyone(report);
    else
        answer_privacy(report);
    answer_better(report);
    fputs("</dl>\n", report->out);
    fprintf(report->out,
            "<p class=\"soft\">Errors are expected squared distances of the "
            "estimate from the mean, in squared units of the data; R = %g%s, "
            "and %s has R².</p>\n",
            sqrt(centre),
            sqrt(centre) < report->network->radius
                ? ", the mean of the nodes’ radii"
            : report->network->reach > 0
                ? ", the step: changes are clipped to it"
                : ": vectors are clipped to this length",
            meaning_zero(report->network));
    char relative[MEANING_REFERENCE_ROOM];
    if (meaning_reference(report->network, error_of(report), relative)[0] !=
        '\0')
        fprintf(report->out, "<p>%s</p>\n", relative);
}

static void print_unheard(const struct report *report)
{
    char text[UNHEARD_ROOM];
    if (report->network->everyone_eps != NULL)
        unheard_within(report->network, report->forward, text);
    else
        unheard_text(report->network, text);
    if (text[0] == '\0')
        return;
    fputs("<p class=\"warn\">", report->out);
    page_text(report->out, text);
    fputs("</p>\n", report->out);
}

/* What the plan's error is next to. */
static void compare_facts(const struct report *report)
{
    FILE *out = report->out;
    const struct pricer_forward_plan *plan = report->forward;
    double own = report->error.mse_worst_case, best = INFINITY;
    for (int k = 0; k < PRICER_BASELINE_COLREL && plan == NULL; k++)
        if (report->rival[k].known)
            best = fmin(best, report->rival[k].error.mse_worst_case);
    if (plan != NULL)
        best = plan->mse_alone;
    if (isfinite(best))
        fact(out, best / own,
             plan != NULL ? "times less than without relaying"
                          : "times less than without collaboration");
    if (plan == NULL) {
        fact(out, report->certificate.gap,
             "certified distance from the optimum, relative");
        return;
    }
    double arrival = 0;
    for (int32_t i = 0; i < plan->nodes; i++)
        arrival += plan->node[i].arrival / plan->nodes;
    fact(out, own / plan->mse_perfect,
         "times the error over links that never fail");
    fact(out, 100 * arrival, "% of the releases arrive");
}

/* Budgets that are not kept. */
static void print_open(const struct report *report)
{
    FILE *out = report->out;
    if (report->certificate.open_links > 0)
        fprintf(out,
                "<p class=\"warn\">%" PRId64 " links spend more than their "
                "(ε, δ)%s.</p>\n",
                report->certificate.open_links,
                report->settings.calibration == PRICER_CALIBRATION_CLASSIC
                    ? ": the classic noise is proved for ε up to 1 only"
                    : ": their noise is too small");
    if (report->certificate.open_budgets > 0)
        fprintf(out,
                "<p class=\"warn\">%" PRId64 " nodes show the server more than "
                "their budget allows.</p>\n",
                report->certificate.open_budgets);
}

void report_summary(const struct report *report)
{
    FILE *out = report->out;
    char share[96];
    print_unheard(report);
    if (!report_planned(report)) {
        page_missing(report, "The study has no plan yet.", "pricer plan");
        return;
    }
    fputs("<ul class=\"facts\">\n", out);
    fact(out, report->error.mse_worst_case,
         "mean squared error at worst, whatever the data");
    snprintf(share, sizeof share, "its root, in radii; it is %s of R²",
             meaning_share(report->error.mse_worst_case /
                           meaning_centre(report->network))
                 .text);
    fact(out,
         sqrt(report->error.mse_worst_case / meaning_centre(report->network)),
         share);
    compare_facts(report);
    fputs("</ul>\n", out);
    print_meaning(report);
    print_open(report);
    long long rounds = report->settings.rounds;
    fprintf(out, "<p class=\"soft\">Plan %" PRId64, report->record.id);
    if (report->record.name[0] != '\0')
        fprintf(out, ", %s", report->record.name);
    fprintf(out, ": budgets are for %lld round%s", rounds,
            rounds == 1 ? "" : "s");
    if (report->forward != NULL)
        fprintf(out,
                ", releases pass at most %d relay%s. A node sends %.3g kB a "
                "round on average if every link is up",
                (int)report->forward->hops,
                report->forward->hops == 1 ? "" : "s",
                report->forward->bytes / 1000);
    else
        fputs(", every packet counted as heard", out);
    if (report->record.network.origin == PRICER_ORIGIN_MEASURED)
        fprintf(out,
                "; links as measured over %" PRId64 " rounds, %" PRId64
                " to %" PRId64,
                report->record.network.rounds, report->record.network.first,
                report->record.network.last);
    fputs(".</p>\n", out);
}
