/*
 * The privacy of a report: what links keep and what every observer can learn; the
 * certificate; and how to get the page again.
 */
#include "report.h"
#include "common/meaning.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- privacy --
 */

enum { KINDS = 12 };

/* Links with the same (eps, delta) that carry something. */
struct kind {
    double eps, delta;
    int64_t links;
    double ratio; /* the worst of change to noise in one packet */
};

static int file_kind(struct kind *kinds, int count, double eps, double delta,
                     double weight, double noise, double diameter)
{
    int k = 0;
    if (weight <= 0)
        return count;
    while (k < count && (kinds[k].eps != eps || kinds[k].delta != delta))
        k++;
    if (k == KINDS)
        return count;
    if (k == count)
        kinds[count++] = (struct kind){.eps = eps, .delta = delta};
    kinds[k].links++;
    kinds[k].ratio = fmax(kinds[k].ratio, diameter * weight / noise);
    return count;
}

/* What one packet of the worst link of each kind tells, by the exact law of
 * the Gaussian mechanism. */
static void kinds_table(const struct report *report)
{
    const struct pricer_network *net = report->network;
    const struct pricer_plan *plan = report->plan;
    struct kind kinds[KINDS];
    int count = 0;
    FILE *out = report->out;
    for (int32_t i = 0; i < net->nodes; i++)
        count = file_kind(kinds, count, net->self_eps[i], net->self_delta[i],
                          plan->self_weight[i], plan->self_noise[i],
                          net->node_diameter[i]);
    for (int32_t l = 0; l < net->links; l++)
        count =
            file_kind(kinds, count, net->eps[l], net->delta[l], plan->weight[l],
                      plan->noise[l], net->node_diameter[net->from[l]]);
    char near[MEANING_NEAR_ROOM];
    if (meaning_near(net, near)[0] != '\0')
        fprintf(out, "<p class=\"soft\">%s</p>\n", near);
    fputs("<div class=\"wide\"><table>\n<tr><th>links trusted with ε</th>"
          "<th>δ</th><th>that carry data</th><th>noise, of the "
          "largest change</th><th>δ of one packet at that ε</th></tr>\n",
          out);
    for (int k = 0; k < count; k++) {
        double delta =
            isinf(kinds[k].eps)
                ? 0
                : pricer_gaussian_delta(kinds[k].eps, kinds[k].ratio);
        fputs("<tr><td>", out);
        page_number(out, kinds[k].eps);
        fputs("</td><td>", out);
        page_number(out, kinds[k].delta);
        fprintf(out, "</td><td>%" PRId64 "</td><td>", kinds[k].links);
        page_number(out, 1 / kinds[k].ratio);
        fputs("</td><td>", out);
        page_number(out, delta);
        fputs(delta > kinds[k].delta * (1 + 1e-9) ? " ⚠</td></tr>\n"
                                                  : "</td></tr>\n",
              out);
    }
    fputs("</table></div>\n", out);
}

/* The squared ratio of all that a node sends in a round, to whomever. */
static double all_ratios(const struct report *report, int32_t node)
{
    const struct pricer_network *net = report->network;
    const struct pricer_plan *plan = report->plan;
    double move = net->node_diameter[node], sum = 0;
    if (plan->self_weight[node] > 0)
        sum += pow(move * plan->self_weight[node] / plan->self_noise[node], 2);
    for (int32_t l = net->out_start[node]; l < net->out_start[node + 1]; l++)
        if (plan->weight[l] > 0)
            sum += pow(move * plan->weight[l] / plan->noise[l], 2);
    return sum;
}

/* Budgets towards the server, by what was asked for: the worst node of each,
 * over all rounds, whatever links are up and whatever the others do. */
static void server_table(const struct report *report)
{
    const struct pricer_network *net = report->network;
    struct kind kinds[KINDS];
    int count = 0;
    FILE *out = report->out;
    double rounds = fmax((double)report->settings.rounds, 1);
    for (int32_t i = 0; net->server_eps != NULL && i < net->nodes; i++)
        if (!isinf(net->server_eps[i]))
            count = file_kind(kinds, count, net->server_eps[i],
                              net->server_delta[i],
                              sqrt(rounds * all_ratios(report, i)), 1, 1);
    if (count == 0)
        return;
    fputs("<div class=\"wide\"><table>\n<tr><th>budget towards the server, "
          "ε</th><th>δ</th><th>nodes that send</th><th>δ of all rounds at "
          "that ε, the worst</th></tr>\n",
          out);
    for (int k = 0; k < count; k++) {
        double delta = pricer_gaussian_delta(kinds[k].eps, kinds[k].ratio);
        fputs("<tr><td>", out);
        page_number(out, kinds[k].eps);
        fputs("</td><td>", out);
        page_number(out, kinds[k].delta);
        fprintf(out, "</td><td>%" PRId64 "</td><td>", kinds[k].links);
        page_number(out, delta);
        fputs(delta > kinds[k].delta * (1 + 1e-9) ? " ⚠</td></tr>\n"
                                                  : "</td></tr>\n",
              out);
    }
    fputs("</table></div>\n<p class=\"soft\">By the nodes’ own noise alone, "
          "whatever links are up.</p>\n",
          out);
}

static void observer_row(FILE *out, const struct pricer_privacy_summary *found)
{
    const double numbers[] = {found->delta, found->eps_least, found->eps_mean,
                              found->eps_most};
    fputs("<tr><td>", out);
    page_text(out, pricer_word(PRICER_WORDS_OBSERVER, found->observer));
    if (found->coalition != NULL) {
        fputc(' ', out);
        page_text(out, found->coalition);
    }
    fprintf(out, "<small>%s, %lld statement%s, %lld round%s, %s</small>",
            pricer_word(PRICER_WORDS_PROTECT, found->protect),
            (long long)found->statements, found->statements == 1 ? "" : "s",
            (long long)found->rounds, found->rounds == 1 ? "" : "s",
            pricer_word(PRICER_WORDS_EAVESDROPPER, found->eavesdropper));
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        fputs("</td><td>", out);
        page_number(out, numbers[k]);
    }
    fprintf(out, "</td><td>%s</td></tr>\n", meaning_eps(found->eps_most));
}

/* What pricer privacy has stored, the latest answer to each question. */
static void observers_table(const struct report *report)
{
    FILE *out = report->out;
    fputs("<div class=\"wide\"><table>\n<tr><th>observer</th><th>δ</th>"
          "<th>least ε</th><th>mean</th><th>most</th><th>in words</th></tr>\n",
          out);
    for (int32_t k = 0; k < report->privacy_count; k++)
        observer_row(out, &report->privacy[k]);
    fputs(report->forward != NULL
              ? "</table></div>\n<p class=\"soft\">As <code>pricer "
                "privacy</code> found from the releases alone; nothing is "
                "assumed of links, relays, the server or other nodes.</p>\n"
              : "</table></div>\n<p class=\"soft\">Radio: a packet lost on the "
                "way counts as heard; receiver: it was heard by nobody. "
                "Relays, the server, readers and coalitions: " MEANING_OTHERS
                ".</p>\n",
          out);
}

void report_privacy(const struct report *report)
{
    if (report->forward != NULL) {
        page_section(report, "privacy", "Privacy",
                     "A node makes one release a round, and everyone sees the "
                     "same: however many copies someone collects, and from "
                     "however many relays, they learn no more.");
        forward_privacy(report);
        if (report->privacy_count > 0)
            observers_table(report);
        fputs("</section>\n", report->out);
    }
    if (report->plan == NULL)
        return;
    page_section(report, "privacy", "Privacy",
                 "What the receiver of a packet can tell about its sender’s "
                 "data, by the exact law of the Gaussian mechanism.");
    kinds_table(report);
    server_table(report);
    report_budgets(report);
    if (report->privacy_count > 0)
        observers_table(report);
    else
        page_missing(report, "What relays and the server learn is not there.",
                     "pricer privacy");
    fputs("</section>\n", report->out);
}

/* ------------------------------------------------------------ certificate --
 */

void report_certificate(const struct report *report)
{
    const struct pricer_certificate *found = &report->certificate;
    FILE *out = report->out;
    if (report->forward != NULL)
        forward_certificate(report);
    if (report->plan == NULL)
        return;
    page_section(
        report, "certificate", "The certificate",
        "Found again from the plan and its multipliers alone, by other "
        "code than the planner’s.");
    fputs("<div class=\"wide\"><table>\n<tr><th>what</th><th>value</th></tr>\n",
          out);
    fprintf(out,
            "<tr><td>objective of this plan</td><td>%.10g</td></tr>\n"
            "<tr><td>no plan has less than</td><td>%.10g</td></tr>\n"
            "<tr><td>relative gap</td><td>%.2e</td></tr>\n"
            "<tr><td>weights feasible</td><td>%s</td></tr>\n"
            "<tr><td>links that spend more than their (ε, δ)</td>"
            "<td>%" PRId64 "</td></tr>\n",
            found->objective, found->bound, found->gap,
            found->feasible ? "yes" : "no", found->open_links);
    if (report->network->server_eps != NULL)
        fprintf(out,
                "<tr><td>nodes that show the server more than their budget"
                "</td><td>%" PRId64 "</td></tr>\n",
                found->open_budgets);
    fprintf(out,
            "<tr><td>asked for</td><td>%s%s, %s noise, %s method</td></tr>\n",
            pricer_word(PRICER_WORDS_BIAS, report->settings.bias),
            report->settings.bias >= PRICER_BIAS_L1 ? " with λ" : "",
            pricer_word(PRICER_WORDS_CALIBRATION, report->settings.calibration),
            pricer_word(PRICER_WORDS_METHOD, report->record.method));
    if (report->settings.bias >= PRICER_BIAS_L1)
        fprintf(out, "<tr><td>λ</td><td>%g</td></tr>\n",
                report->settings.lambda);
    fputs("</table></div>\n", out);
    if (found->words[0] != '\0') {
        fputs("<p class=\"warn\">", out);
        page_text(out, found->words);
        fputs("</p>\n", out);
    }
    fputs("</section>\n", out);
}

/* ----------------------------------------------------------------- recipe --
 */

void report_recipe(const struct report *report)
{
    FILE *out = report->out;
    bool measured = report_planned(report) &&
                    report->record.network.origin == PRICER_ORIGIN_MEASURED;
    page_section(report, "recipe", "How to get this page again",
                 measured ? "The scenario is in the study, but not how its "
                            "links were measured: keep the study."
                          : "The scenario is in the study; nothing else is "
                            "needed.");
    fputs("<pre><code>pricer show --scenario ", out);
    page_text(out, report->path);
    fputs(" &gt; scenario.yaml\npricer new again.pricer scenario.yaml\n", out);
    if (report->plan != NULL) {
        fprintf(out, "pricer plan again.pricer --bias %s",
                pricer_word(PRICER_WORDS_BIAS, report->settings.bias));
        if (report->settings.bias >= PRICER_BIAS_L1)
            fprintf(out, " --lambda %.17g", report->settings.lambda);
        fprintf(out, " --calibration %s\n",
                pricer_word(PRICER_WORDS_CALIBRATION,
                            report->settings.calibration));
    }
    if (report->forward != NULL)
        fputs("pricer plan again.pricer\n", out);
    fputs("pricer report again.pricer -o report.html</code></pre>\n", out);
    fputs("<details><summary>The scenario</summary>\n<pre><code>", out);
    page_text(out, report->scenario);
    fputs("</code></pre>\n</details>\n", out);
    fputs("</section>\n", out);
}
