/*
 * From a network to what its plan is held against: perfect links, full trust,
 * and the network after each change that an operator could make.
 */
#include "yardsticks.h"
#include "common/meaning.h"
#include "common/unheard.h"
#include "variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A change is by this factor, of eps, dimension and nodes. */
enum { FACTOR = 4 };

/* The least worst case, or NAN. */
static double least(const struct pricer_network *network,
                    const struct pricer_settings *asked)
{
    struct pricer_settings settings = *asked;
    struct pricer_solve_info info;
    struct pricer_error error;
    settings.bias = PRICER_BIAS_WORST_CASE;
    settings.lambda = 0;
    settings.tolerance = 1e-6; /* four digits are shown */
    settings.iterations = 0;
    if (variant_plan(network, &settings, NULL, NULL, &info, &error) !=
            PRICER_OK ||
        info.outcome == PRICER_OUTCOME_STOPPED)
        return NAN;
    return error.mse_worst_case;
}

static double least_alone(const struct pricer_network *network,
                          const struct pricer_settings *asked)
{
    struct pricer_settings settings = *asked;
    struct pricer_error error = {.mse_worst_case = NAN};
    struct pricer_plan *plan = NULL;
    settings.bias = PRICER_BIAS_WORST_CASE;
    settings.lambda = 0;
    settings.tolerance = 1e-6;
    if (pricer_plan_baseline(network, &settings, PRICER_BASELINE_BEST, &plan,
                             NULL) == PRICER_OK)
        pricer_plan_evaluate(network, &settings, plan, &error, NULL);
    pricer_plan_free(plan);
    return error.mse_worst_case;
}

static void never_fail(struct variant *variant)
{
    for (int32_t i = 0; i < variant->network.nodes; i++)
        variant->uplink[i] = 1;
    for (int32_t l = 0; l < variant->network.links; l++) {
        variant->p[l] = 1;
        variant->joint[l] = variant->network.partner[l] >= 0;
    }
}

void yardsticks_find(const struct pricer_network *network,
                     const struct pricer_settings *settings,
                     struct yardsticks *found)
{
    struct variant variant;
    found->steady = found->trusted = NAN;
    found->remedies = 0;
    found->alone = least_alone(network, settings);
    if (network->links > YARDSTICK_LINKS ||
        variant_make(network, &variant) != PRICER_OK)
        return;
    never_fail(&variant);
    found->steady = least(&variant.network, settings);
    variant_reset(&variant, network);
    variant_scale_links(&variant, INFINITY);
    variant_scale_server(&variant, INFINITY);
    found->trusted = least(&variant.network, settings);
    variant_free(&variant);
}

/* ------------------------------------------------------------- remedies -- */

/* FACTOR copies of a network beside each other, none linked to another: no
 * better than as many nodes that are. */
struct copies {
    double *nodes, *links; /* blocks of `count` numbers */
    int32_t *ends;
    struct pricer_network_arrays arrays;
};

static double *repeat(double *at, const double *from, int32_t count)
{
    for (int32_t k = 0; k < FACTOR * count; k++)
        at[k] = from[k % count];
    return at;
}

static void lay_out(const struct pricer_network *net, struct copies *made)
{
    struct pricer_network_arrays *to = &made->arrays;
    size_t nodes = FACTOR * (size_t)net->nodes;
    size_t links = FACTOR * (size_t)net->links;
    *to = (struct pricer_network_arrays){.dimension = net->dimension,
                                         .radius = net->radius,
                                         .node_count = (int64_t)nodes,
                                         .link_count = (int64_t)links};
    to->uplink = repeat(made->nodes, net->uplink, net->nodes);
    to->self_eps = repeat(made->nodes + nodes, net->self_eps, net->nodes);
    to->self_delta =
        repeat(made->nodes + 2 * nodes, net->self_delta, net->nodes);
    if (net->server_eps != NULL) {
        to->server_eps =
            repeat(made->nodes + 3 * nodes, net->server_eps, net->nodes);
        to->server_delta =
            repeat(made->nodes + 4 * nodes, net->server_delta, net->nodes);
    }
    to->node_radius =
        repeat(made->nodes + 5 * nodes, net->node_radius, net->nodes);
    to->node_diameter =
        repeat(made->nodes + 6 * nodes, net->node_diameter, net->nodes);
    to->p = repeat(made->links, net->p, net->links);
    to->eps = repeat(made->links + links, net->eps, net->links);
    to->delta = repeat(made->links + 2 * links, net->delta, net->links);
    double *joint = repeat(made->links + 3 * links, net->joint, net->links);
    for (size_t k = 0; k < links; k++) {
        size_t l = k % (size_t)net->links;
        int32_t shift = (int32_t)(k / (size_t)net->links) * net->nodes;
        made->ends[k] = net->from[l] + shift;
        made->ends[links + k] = net->to[l] + shift;
        joint[k] = net->partner[l] >= 0 ? joint[k] : NAN;
    }
    to->joint = joint;
    to->from = made->ends;
    to->to = made->ends + links;
}

static double with_more_nodes(const struct pricer_network *network,
                              const struct pricer_settings *settings)
{
    size_t nodes = FACTOR * (size_t)network->nodes;
    size_t links = FACTOR * (size_t)network->links;
    struct copies made = {calloc(7 * nodes + 1, sizeof(double)),
                          calloc(4 * links + 1, sizeof(double)),
                          calloc(2 * links + 1, sizeof(int32_t)),
                          {0}};
    struct pricer_network *larger = NULL;
    double found = NAN;
    if (made.nodes == NULL || made.links == NULL || made.ends == NULL)
        goto done;
    lay_out(network, &made);
    if (pricer_network_build_arrays(&made.arrays, &larger, NULL, NULL) ==
        PRICER_OK)
        found = least(larger, settings);
done:
    pricer_network_free(larger);
    free(made.nodes);
    free(made.links);
    free(made.ends);
    return found;
}

/* One of the changes, if it can be planned and helps. */
struct trial {
    const struct pricer_network *network;
    const struct pricer_settings *settings;
    struct yardsticks *found;
    double now;     /* the least worst case without a change */
    double largest; /* eps, of all budgets */
    struct variant variant;
};

void yardsticks_add(struct yardsticks *found, double now, const char *words,
                    const char *privacy, double worst_case)
{
    int at = found->remedies;
    if (!(worst_case < .9999 * now) || at == REMEDIES)
        return;
    found->remedies++;
    for (; at > 0 && found->remedy[at - 1].worst_case > worst_case; at--)
        found->remedy[at] = found->remedy[at - 1];
    struct remedy *made = &found->remedy[at];
    made->worst_case = worst_case;
    snprintf(made->words, sizeof made->words, "%s", words);
    snprintf(made->privacy, sizeof made->privacy, "%s", privacy);
}

static void add(struct trial *trial, const char *words, const char *privacy,
                double worst_case)
{
    char same[64];
    snprintf(same, sizeof same, "%s, as now", meaning_eps(trial->largest));
    yardsticks_add(trial->found, trial->now, words,
                   privacy != NULL ? privacy : same, worst_case);
}

static double largest_of(double largest, const double *eps, int32_t count)
{
    for (int32_t k = 0; k < count && eps != NULL; k++)
        largest = fmax(largest, eps[k]);
    return largest;
}

/* FACTOR times every eps, but none beyond MEANING_WEAK; *raised is the largest
 * that grew. */
static void raise_eps(double *eps, int32_t count, double *raised)
{
    for (int32_t k = 0; k < count && eps != NULL; k++)
        if (eps[k] < MEANING_WEAK) {
            eps[k] = fmin(FACTOR * eps[k], MEANING_WEAK);
            *raised = fmax(*raised, eps[k]);
        }
}

static void try_eps(struct trial *trial)
{
    struct variant *variant = &trial->variant;
    const struct pricer_network *network = trial->network;
    double raised = 0;
    char privacy[64];
    raise_eps(variant->eps, network->links, &raised);
    raise_eps(variant->self_eps, network->nodes, &raised);
    raise_eps(variant->server_eps, network->nodes, &raised);
    bool all = FACTOR * trial->largest <= MEANING_WEAK;
    snprintf(privacy, sizeof privacy, "%s%s", meaning_eps(raised),
             all ? "" : " where raised");
    if (raised > 0)
        add(trial,
            all ? "4 times the eps of every budget"
                : "4 times every eps below 10, to 10 at most",
            privacy, least(&variant->network, trial->settings));
    variant_reset(variant, network);
}

static void try_rounds(struct trial *trial)
{
    struct pricer_settings fewer = *trial->settings;
    char words[80];
    fewer.rounds = (fewer.rounds + FACTOR - 1) / FACTOR;
    if (trial->settings->rounds <= 1)
        return;
    snprintf(words, sizeof words, "%lld round%s in place of %lld",
             (long long)fewer.rounds, fewer.rounds == 1 ? "" : "s",
             (long long)trial->settings->rounds);
    add(trial, words, NULL, least(trial->network, &fewer));
}

static void try_diameter(struct trial *trial)
{
    struct pricer_network *network = &trial->variant.network;
    double *given = network->node_diameter, most = 0;
    double *halves = calloc((size_t)network->nodes, sizeof *halves);
    char words[80], privacy[64];
    for (int32_t i = 0; halves != NULL && i < network->nodes; i++) {
        halves[i] = given[i] / 2;
        most = fmax(most, halves[i]);
    }
    if (halves != NULL) {
        network->node_diameter = halves;
        snprintf(words, sizeof words,
                 "diameter: %g, if a node's data differ by no more", most);
        snprintf(privacy, sizeof privacy, "%s, of such data",
                 meaning_eps(trial->largest));
        add(trial, words, privacy, least(network, trial->settings));
        network->node_diameter = given;
    }
    free(halves);
}

static void try_dimension(struct trial *trial)
{
    struct pricer_network *network = &trial->variant.network;
    char words[80];
    int64_t now = network->dimension;
    network->dimension = (now + FACTOR - 1) / FACTOR;
    snprintf(words, sizeof words, "%lld dimension%s in place of %lld",
             (long long)network->dimension, network->dimension == 1 ? "" : "s",
             (long long)now);
    if (now > 1)
        add(trial, words, NULL, least(network, trial->settings));
    network->dimension = now;
}

static void try_uplinks(struct trial *trial)
{
    struct variant *variant = &trial->variant;
    for (int32_t i = 0; i < trial->network->nodes; i++)
        variant->uplink[i] = (1 + trial->network->uplink[i]) / 2;
    add(trial, "every uplink failing half as often", NULL,
        least(&variant->network, trial->settings));
    variant_reset(variant, trial->network);
}

void yardsticks_remedies(const struct pricer_network *network,
                         const struct pricer_settings *settings,
                         struct yardsticks *found)
{
    struct trial trial = {
        .network = network, .settings = settings, .found = found};
    found->remedies = 0;
    if (network->links > YARDSTICK_LINKS ||
        variant_make(network, &trial.variant) != PRICER_OK)
        return;
    trial.largest = largest_of(0, network->eps, network->links);
    trial.largest =
        largest_of(trial.largest, network->self_eps, network->nodes);
    trial.largest =
        largest_of(trial.largest, network->server_eps, network->nodes);
    trial.now = INFINITY; /* the plan at hand is of another kind */
    double best = least(network, settings);
    if (settings->bias != PRICER_BIAS_WORST_CASE)
        add(&trial, "--bias worst-case", NULL, best);
    trial.now = best;
    try_eps(&trial);
    try_rounds(&trial);
    try_diameter(&trial);
    try_dimension(&trial);
    try_uplinks(&trial);
    if (network->links <= YARDSTICK_LINKS / FACTOR)
        add(&trial, "4 times as many nodes, in groups like this one", NULL,
            with_more_nodes(network, settings));
    variant_free(&trial.variant);
}

/* ----------------------------------------------------------- bottleneck -- */

double yardsticks_unheard(const struct pricer_network *network)
{
    double all = 0, unheard = 0;
    for (int32_t i = 0; i < network->nodes; i++) {
        all += network->node_radius[i];
        unheard += unheard_is(network, i) ? network->node_radius[i] : 0;
    }
    return unheard / all * (unheard / all) * meaning_centre(network);
}

enum bottleneck yardsticks_bottleneck(const struct pricer_network *network,
                                      const struct yardsticks *found,
                                      double error)
{
    if (yardsticks_unheard(network) > error / 2)
        return BOTTLENECK_UNHEARD;
    if (isnan(found->steady) || isnan(found->trusted))
        return BOTTLENECK_UNKNOWN;
    return found->trusted < found->steady ? BOTTLENECK_NOISE : BOTTLENECK_LINKS;
}
