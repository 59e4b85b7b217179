/*
 * From the result of a simulation to tables, JSON and warnings.
 */
#include "print_simulation.h"
#include "common/binomial.h"

#include <math.h>

/* Standard errors by which trials and prediction differ; 0 if both are the same
 * or nothing can be said. */
static double distance(const struct pricer_outcome *outcome)
{
    double gap = outcome->mse - outcome->predicted;
    if (isnan(outcome->predicted))
        return 0;
    if (fabs(gap) <= 1e-9 * fabs(outcome->predicted) ||
        !(outcome->mse_stderr > 0))
        return 0;
    return gap / outcome->mse_stderr;
}

/* The count that lies furthest from its probability, and the lowest level at which
 * any count is found to be off. */
struct furthest {
    int64_t tried, index;
    double p, frequency, deviations, level;
};

/* Within so many deviations no count is off at a level that would be named. */
enum { SCREEN = 4 };

static void consider(struct furthest *most, int64_t index, double p,
                     int64_t count, int64_t trials)
{
    double n = (double)trials, frequency = (double)count / n;
    double deviation = sqrt(p * (1 - p) / n);
    double off = deviation > 0           ? fabs(frequency - p) / deviation
                 : count == (p > .5) * n ? 0
                                         : INFINITY;
    double level = most->tried++ == 0 ? 1 : most->level;
    if (off > SCREEN) /* deviations mislead where p is small: exact tails */
        level = fmin(level, binomial_level(trials, count, p));
    if (most->tried == 1 || off > most->deviations)
        *most = (struct furthest){most->tried, index, p, frequency, off, level};
    most->level = level;
}

static struct furthest furthest_uplink(const struct simulation_report *report)
{
    const struct pricer_simulation *simulation = report->simulation;
    struct furthest most = {0};
    for (int32_t i = 0; i < simulation->nodes; i++)
        consider(&most, i, report->network->uplink[i], simulation->uplink[i],
                 simulation->trials);
    return most;
}

static struct furthest furthest_link(const struct simulation_report *report)
{
    const struct pricer_simulation *simulation = report->simulation;
    struct furthest most = {0};
    for (int32_t l = 0; l < simulation->links; l++)
        consider(&most, l, report->network->p[l], simulation->link[l],
                 simulation->trials);
    return most;
}

static struct furthest furthest_pair(const struct simulation_report *report)
{
    const struct pricer_simulation *simulation = report->simulation;
    struct furthest most = {0};
    for (int32_t l = 0; l < simulation->links; l++)
        if (report->network->partner[l] > l)
            consider(&most, l, report->network->joint[l], simulation->both[l],
                     simulation->trials);
    return most;
}

/* ------------------------------------------------------------------ JSON -- */

static void json_furthest(struct json *json, const char *key,
                          struct furthest most, bool link)
{
    json_open(json, key, '{');
    json_count(json, "count", most.tried);
    if (most.tried > 0) {
        json_count(json, link ? "furthest_link" : "furthest_node", most.index);
        json_number(json, "p", most.p);
        json_number(json, "frequency", most.frequency);
        json_number(json, "deviations", most.deviations);
    }
    json_close(json, '}');
}

static void json_outcome(struct json *json,
                         const struct pricer_outcome *outcome)
{
    json_number(json, "mse", outcome->mse);
    json_number(json, "mse_stderr", outcome->mse_stderr);
    json_number(json, "predicted", outcome->predicted);
    json_number(json, "worst_case", outcome->worst_case);
}

static void json_strategy(struct json *json, const char *name,
                          const struct pricer_outcome *outcome)
{
    json_open(json, NULL, '{');
    json_text(json, "strategy", name);
    json_outcome(json, outcome);
    json_number(json, "mse_given", outcome->mse_given);
    json_number(json, "bar", outcome->bar);
    json_number(json, "bias", outcome->bias);
    json_number(json, "bias_predicted", outcome->bias_predicted);
    json_number(json, "difference", outcome->difference);
    json_number(json, "difference_stderr", outcome->difference_stderr);
    json_open(json, "histogram", '[');
    for (int bin = 0; bin < PRICER_BINS; bin++) {
        if (outcome->bins[bin] == 0)
            continue;
        json_open(json, NULL, '{');
        json_number(json, "low", pricer_outcome_edge(outcome, bin));
        json_number(json, "high", pricer_outcome_edge(outcome, bin + 1));
        json_count(json, "trials", outcome->bins[bin]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

void simulation_print_json(const struct simulation_report *report)
{
    const struct pricer_simulation *simulation = report->simulation;
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_count(&json, "trials", simulation->trials);
    json_outcome(&json, &simulation->outcomes[0]);
    json_number(&json, "seconds", report->seconds);
    if (report->forward != NULL) {
        json_text(&json, "scheme",
                  pricer_word(PRICER_WORDS_SCHEME, PRICER_SCHEME_FORWARD));
        json_count(&json, "hops", report->forward->hops);
        json_count(&json, "repeat", report->forward->repeat);
    } else {
        json_text(&json, "decoder",
                  pricer_word(PRICER_WORDS_DECODE, simulation->decode));
    }
    json_number(&json, "bar", simulation->outcomes[0].bar);
    json_count(&json, "plan", report->plan);
    json_text(&json, "engine",
              pricer_word(PRICER_WORDS_ENGINE, simulation->engine));
    json_text(&json, "data", pricer_word(PRICER_WORDS_DATA, simulation->data));
    json_count(&json, "seed", (int64_t)simulation->seed);
    json_count(&json, "clipped", simulation->clipped);
    json_number(&json, "mse_given", simulation->outcomes[0].mse_given);
    json_open(&json, "deliveries", '{');
    json_furthest(&json, "uplinks", furthest_uplink(report), false);
    json_furthest(&json, "links", furthest_link(report), true);
    json_furthest(&json, "pairs", furthest_pair(report), true);
    json_close(&json, '}');
    json_open(&json, "strategies", '[');
    for (int32_t k = 0; k < simulation->plans; k++)
        json_strategy(&json, report->names[k], &simulation->outcomes[k]);
    json_close(&json, ']');
    json_close(&json, '}');
}

/* ---------------------------------------------------------------- tables -- */

/* A number, or a dash where it is not known. */
static void cell(struct table *table, const char *format, double value)
{
    char text[64] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, format, value);
    table_cell(table, "%s", text);
}

/* What a decoder says of its own rounds. */
static void print_bar(const struct simulation_report *report)
{
    const struct pricer_simulation *simulation = report->simulation;
    const struct pricer_outcome *outcome = &simulation->outcomes[0];
    if (report->forward != NULL) {
        int hops = report->forward->hops;
        if (report->forward->repeat > 1)
            printf("%d attempts a round; deliveries are those of the first\n",
                   (int)report->forward->repeat);
        printf("scheme forward, %d hop%s: mean error bar %.6g, %.3g times the "
               "measured error\n",
               hops, hops == 1 ? "" : "s", outcome->bar,
               outcome->bar / fmax(outcome->mse, 1e-300));
        return;
    }
    if (simulation->decode == PRICER_DECODE_CONSTANT) {
        puts("constant decoder: every sum counts 1/n");
        return;
    }
    printf("%s decoder%s: mean error bar %.6g, %.3g times the measured "
           "error\n",
           pricer_word(PRICER_WORDS_DECODE, simulation->decode),
           simulation->decode == PRICER_DECODE_ADAPTIVE ? " (no guarantee)"
                                                        : "",
           outcome->bar, outcome->bar / fmax(outcome->mse, 1e-300));
}

static void print_strategies(const struct simulation_report *report)
{
    static const char *const headings[] = {
        "strategy",   "error", "+-",       "predicted",    "off by",
        "worst case", "bias",  "expected", "against plan", "+-"};
    struct table *table = table_new(10, headings);
    for (int32_t k = 0; k < report->simulation->plans; k++) {
        const struct pricer_outcome *outcome = &report->simulation->outcomes[k];
        table_cell(table, "%s", report->names[k]);
        table_cell(table, "%.5g", outcome->mse);
        table_cell(table, "%.2g", outcome->mse_stderr);
        cell(table, "%.5g", outcome->predicted);
        cell(table, "%.1f",
             isnan(outcome->predicted) ? NAN : distance(outcome));
        cell(table, "%.5g", outcome->worst_case);
        table_cell(table, "%.4g", outcome->bias);
        cell(table, "%.4g", outcome->bias_predicted);
        if (k == 0) {
            table_cell(table, " ");
            table_cell(table, " ");
        } else {
            table_cell(table, "%.4g", outcome->difference);
            table_cell(table, "%.2g", outcome->difference_stderr);
        }
    }
    table_print(table, stdout);
}

static void print_furthest(struct table *table, const char *kind,
                           const char *name, struct furthest most)
{
    if (most.tried == 0)
        return;
    table_cell(table, "%s", kind);
    table_cell(table, "%lld", (long long)most.tried);
    table_cell(table, "%s", name);
    table_cell(table, "%.6g", most.p);
    table_cell(table, "%.6g", most.frequency);
    table_cell(table, "%.2f", most.deviations);
}

static void print_deliveries(const struct simulation_report *report)
{
    static const char *const headings[] = {
        "deliveries", "count", "furthest", "p", "frequency", "deviations"};
    const struct pricer_network *network = report->network;
    struct furthest uplink = furthest_uplink(report);
    struct furthest link = furthest_link(report), pair = furthest_pair(report);
    struct table *table = table_new(6, headings);
    char name[2 * sizeof(struct node_label) + 8];
    snprintf(name, sizeof name, "%s",
             node_label(network, (int32_t)uplink.index).text);
    print_furthest(table, "uplinks", name, uplink);
    if (link.tried > 0)
        snprintf(name, sizeof name, "%s to %s",
                 node_label(network, network->from[link.index]).text,
                 node_label(network, network->to[link.index]).text);
    print_furthest(table, "links", name, link);
    if (pair.tried > 0)
        snprintf(name, sizeof name, "%s, %s",
                 node_label(network, network->from[pair.index]).text,
                 node_label(network, network->to[pair.index]).text);
    print_furthest(table, "pairs up together", name, pair);
    table_print(table, stdout);
}

/* The first plan's histogram, bins joined until it fits a screen. */
static void print_histogram(const struct simulation_report *report)
{
    enum { ROWS = 20, WIDTH = 40 };
    const struct pricer_outcome *outcome = &report->simulation->outcomes[0];
    int first = 0, last = PRICER_BINS - 1, joined = 1;
    while (first < last && outcome->bins[first] == 0)
        first++;
    while (last > first && outcome->bins[last] == 0)
        last--;
    while ((last - first) / joined >= ROWS)
        joined *= 2;
    first -= first % joined;
    int64_t row[PRICER_BINS] = {0}, most = 1;
    for (int bin = first; bin <= last; bin++)
        row[(bin - first) / joined] += outcome->bins[bin];
    for (int k = 0; k <= (last - first) / joined; k++)
        most = row[k] > most ? row[k] : most;
    puts(report->simulation->engine == PRICER_ENGINE_FAST
             ? "histogram of the expected error given the links (the noise is "
               "integrated out)"
             : "histogram of the squared error");
    printf("%22s %9s\n", "error", "trials");
    for (int k = 0; k <= (last - first) / joined; k++) {
        int low = first + k * joined, high = low + joined;
        int bar = (int)(WIDTH * (double)row[k] / (double)most + .5);
        printf("%10.4g to %8.4g %7.3f %% %.*s\n",
               pricer_outcome_edge(outcome, low),
               pricer_outcome_edge(outcome, high),
               100 * (double)row[k] / (double)report->simulation->trials, bar,
               "########################################");
    }
}

/* The mean of clipped vectors is not that of the data. */
static void print_clipped(const struct simulation_report *report)
{
    const struct pricer_simulation *simulation = report->simulation;
    if (simulation->clipped == 0)
        return;
    printf(
        "\nCLIPPED: %lld of %d vectors are longer than the radius. Against the "
        "mean of the data as given\nthe error is %.5g, against that of the "
        "clipped vectors %.5g.\n\n",
        (long long)simulation->clipped, (int)simulation->nodes,
        simulation->outcomes[0].mse_given, simulation->outcomes[0].mse);
}

void simulation_print(const struct simulation_report *report)
{
    const struct pricer_simulation *simulation = report->simulation;
    printf("plan %lld: %lld trials, %s data, %s engine, seed %lld, %.3g s\n",
           (long long)report->plan, (long long)simulation->trials,
           pricer_word(PRICER_WORDS_DATA, simulation->data),
           pricer_word(PRICER_WORDS_ENGINE, simulation->engine),
           (long long)simulation->seed, report->seconds);
    print_clipped(report);
    printf(
        "error: squared distance of the estimate from the mean%s, in squared "
        "units of the data\n",
        simulation->clipped > 0 ? " of the clipped vectors" : "");
    print_bar(report);
    putchar('\n');
    print_strategies(report);
    putchar('\n');
    print_deliveries(report);
    putchar('\n');
    print_histogram(report);
}

/* -------------------------------------------------------------- warnings -- */

static void warn_furthest(const char *kind, struct furthest most)
{
    double chance = (double)most.tried * most.level;
    if (most.tried > 0 && chance < 1e-6)
        program_warn("%s %lld was up in %.6g of the trials, p = %.6g: %.1f "
                     "deviations",
                     kind, (long long)most.index, most.frequency, most.p,
                     most.deviations);
}

void simulation_warn(const struct simulation_report *report)
{
    for (int32_t k = 0; k < report->simulation->plans; k++) {
        const struct pricer_outcome *outcome = &report->simulation->outcomes[k];
        double over = outcome->mse - outcome->worst_case;
        double sampled =
            report->forward != NULL ? report->forward->mse_stderr : 0;
        if (isnan(outcome->predicted) &&
            over > 5 * hypot(outcome->mse_stderr, sampled))
            program_warn("%s: the error %.6g is above the %s worst case %.6g",
                         report->names[k], outcome->mse,
                         report->forward != NULL ? "plan's" : "decoder's",
                         outcome->worst_case);
        if (fabs(distance(outcome)) > 5)
            program_warn("%s: the error %.6g differs from the prediction %.6g "
                         "by %.1f standard errors",
                         report->names[k], outcome->mse, outcome->predicted,
                         fabs(distance(outcome)));
    }
    warn_furthest("uplink", furthest_uplink(report));
    warn_furthest("link", furthest_link(report));
    warn_furthest("the pair of link", furthest_pair(report));
}
