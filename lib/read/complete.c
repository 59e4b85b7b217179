/*
 * The keys of a scenario against each other: those that its network or its
 * scheme does not have are refused, those that are missing are named, and the
 * others get their defaults.
 */
#include "keys.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- scheme -- */

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* Keys of scheme: forward. */
static bool belongs_to_forward(const char *name)
{
    static const char *const names[] = {"hops",      "release", "repeat",
                                        "reference", "step",    NULL};
    return begins(name, "trust.everyone.") || is_one_of(name, names);
}

/* Keys of scheme: sum. */
static bool belongs_to_sum(const char *name)
{
    return (begins(name, "trust.") && !belongs_to_forward(name)) ||
           begins(name, "objective.");
}

enum pricer_status pri_scenario_check_scheme(
    const struct pricer_scenario *scenario, enum pricer_scheme scheme,
    struct pricer_fault *fault)
{
    bool forward = scheme == PRICER_SCHEME_FORWARD;
    for (int k = 0; k < PRI_SCENARIO_KEYS; k++) {
        const char *name = pri_key_at(k)->name;
        if (scenario->line[k] == 0)
            continue;
        if (!forward && belongs_to_forward(name))
            return pri_scenario_fault(
                scenario, name, fault,
                "%s belongs to 'scheme: forward', and the scheme is sum", name);
        if (forward && begins(name, "trust.") && belongs_to_sum(name))
            return pri_scenario_fault(
                scenario, name, fault,
                "%s belongs to 'scheme: sum': with forward a node has one "
                "budget, trust.everyone",
                name);
        if (forward && belongs_to_sum(name))
            return pri_scenario_fault(
                scenario, name, fault,
                "%s belongs to 'scheme: sum', and the scheme is forward", name);
    }
    return PRICER_OK;
}

/* ----------------------------------------------------------- consistency -- */

/* Keys that the network does not use are mistakes: say so, do not ignore. */
static enum pricer_status check_use(const struct pricer_scenario *scenario,
                                    struct pricer_fault *fault)
{
    static const char *const names[] = {"erdos-renyi", "ring", "mmwave",
                                        "geometric", "files"};
    for (int k = 0; k < PRI_SCENARIO_KEYS; k++)
        if (scenario->line[k] != 0 && pri_key_at(k)->generators != 0 &&
            !(pri_key_at(k)->generators & (1u << scenario->generator)))
            return pri_scenario_fault(scenario, pri_key_at(k)->name, fault,
                                      "%s has no meaning for a network from %s",
                                      pri_key_at(k)->name,
                                      names[scenario->generator]);
    return PRICER_OK;
}

static enum pricer_status miss(const struct pricer_scenario *scenario,
                               const char *key, struct pricer_fault *fault)
{
    return pri_scenario_fault(scenario, "", fault, "the key %s is missing",
                              key);
}

/* What must be there, given what is. */
static enum pricer_status check_given(const struct pricer_scenario *scenario,
                                      struct pricer_fault *fault)
{
    int source = scenario->generator;
    if (scenario->dimension < 0)
        return miss(scenario, "dimension", fault);
    if (source == PRI_GENERATOR_FILES && scenario->nodes_file == NULL)
        return miss(scenario, "network.files.nodes", fault);
    if (source == PRI_GENERATOR_FILES && scenario->links_file == NULL)
        return miss(scenario, "network.files.links", fault);
    if (source == PRI_GENERATOR_MMWAVE &&
        (scenario->positions.count > 0) == (scenario->preset >= 0))
        return pri_scenario_fault(
            scenario, "network.generator", fault,
            "mmwave wants network.positions or network.preset, one of them");
    bool sized = source == PRI_GENERATOR_ERDOS_RENYI ||
                 source == PRI_GENERATOR_RING ||
                 source == PRI_GENERATOR_GEOMETRIC;
    if (sized && scenario->nodes < 0)
        return miss(scenario, "network.nodes", fault);
    if ((source == PRI_GENERATOR_ERDOS_RENYI || source == PRI_GENERATOR_RING) &&
        isnan(scenario->p))
        return miss(scenario, "network.p", fault);
    if (source != PRI_GENERATOR_FILES &&
        scenario->scheme == PRICER_SCHEME_SUM && isnan(scenario->eps))
        return miss(scenario, "trust.eps", fault);
    if (source != PRI_GENERATOR_FILES &&
        scenario->scheme == PRICER_SCHEME_FORWARD &&
        isnan(scenario->everyone_eps))
        return miss(scenario, "trust.everyone.eps", fault);
    if (!isnan(scenario->probable_eps) && isnan(scenario->probable_above))
        return miss(scenario, "trust.probable.above", fault);
    if (scenario->ring_hops > 0 && isnan(scenario->ring_eps))
        return miss(scenario, "trust.ring.eps", fault);
    bool penalised =
        scenario->bias == PRICER_BIAS_L1 || scenario->bias == PRICER_BIAS_L2;
    if (penalised && isnan(scenario->lambda))
        return miss(scenario, "objective.lambda", fault);
    return PRICER_OK;
}

static double either(double given, double otherwise)
{
    return isnan(given) ? otherwise : given;
}

static void fill_defaults(struct pricer_scenario *scenario)
{
    scenario->release = scenario->release < 0 ? 0 : scenario->release;
    if (scenario->scheme == PRICER_SCHEME_FORWARD)
        scenario->eps = INFINITY; /* links have no budgets of their own */
    scenario->everyone_delta = either(scenario->everyone_delta, 1e-5);
    scenario->radius = either(scenario->radius, 1);
    scenario->diameter = either(scenario->diameter, 0);
    scenario->reference = scenario->reference < 0 ? 0 : scenario->reference;
    scenario->step = either(scenario->step, 0);
    scenario->rounds = scenario->rounds < 0 ? 1 : scenario->rounds;
    scenario->seed = scenario->seed < 0 ? 1 : scenario->seed;
    scenario->hops = scenario->hops < 0 ? 1 : scenario->hops;
    scenario->repeat = scenario->repeat < 0 ? 1 : scenario->repeat;
    scenario->reciprocity = either(scenario->reciprocity, 1);
    scenario->delta = either(scenario->delta, 1e-5);
    scenario->self_eps = either(scenario->self_eps, INFINITY);
    scenario->self_delta = either(scenario->self_delta, scenario->delta);
    scenario->server_eps = either(scenario->server_eps, INFINITY);
    scenario->server_delta = either(scenario->server_delta, scenario->delta);
    scenario->ring_delta = either(scenario->ring_delta, scenario->delta);
    scenario->probable_eps = either(scenario->probable_eps, INFINITY);
    scenario->probable_delta =
        either(scenario->probable_delta, scenario->delta);
    scenario->density = either(scenario->density, 110);
    bool wide = scenario->generator == PRI_GENERATOR_GEOMETRIC;
    scenario->cutoff = either(scenario->cutoff, wide ? 0.01 : 0);
    scenario->good_fraction = either(scenario->good_fraction, wide ? 0.05 : 0);
    scenario->good_uplink = either(scenario->good_uplink, 0.9);
    scenario->good_count = scenario->good_count < 0 ? 0 : scenario->good_count;
    scenario->bias = scenario->bias < 0 ? 0 : scenario->bias;
    scenario->calibration =
        scenario->calibration < 0 ? 0 : scenario->calibration;
}

/* Rounds relative to the last estimate, and what does not go with them. */
static enum pricer_status check_reference(
    const struct pricer_scenario *scenario, struct pricer_fault *fault)
{
    if (scenario->reference == 0 && scenario->step > 0)
        return pri_scenario_fault(
            scenario, "step", fault,
            "step is how far a change may go with 'reference: last', which is "
            "not there");
    if (scenario->reference == 0)
        return PRICER_OK;
    if (scenario->step == 0)
        return pri_scenario_fault(
            scenario, "reference", fault,
            "reference is last and the key step, how far a change from the "
            "last estimate may go, is missing");
    if (scenario->step > scenario->radius)
        return pri_scenario_fault(scenario, "step", fault,
                                  "step = %.12g is above %.12g, the radius: "
                                  "leave reference out",
                                  scenario->step, scenario->radius);
    if (scenario->diameter > 0 && scenario->diameter < 2 * scenario->step)
        return pri_scenario_fault(
            scenario, "diameter", fault,
            "diameter = %.12g is below %.12g, twice the step: with 'reference: "
            "last' what a link shows is hidden by noise for two steps, no less",
            scenario->diameter, 2 * scenario->step);
    return PRICER_OK;
}

/* The scheme where no key names it. A file of nodes may still have budgets
 * towards everyone: then it is not known yet. */
static void choose_scheme(struct pricer_scenario *scenario)
{
    if (scenario->scheme >= 0)
        return;
    if (!isnan(scenario->everyone_eps) || !isnan(scenario->everyone_delta))
        scenario->scheme = PRICER_SCHEME_FORWARD;
    else if (scenario->generator != PRI_GENERATOR_FILES)
        scenario->scheme = PRICER_SCHEME_SUM;
}

enum pricer_status pri_scenario_complete(struct pricer_scenario *scenario,
                                         struct pricer_fault *fault)
{
    bool files = scenario->nodes_file != NULL || scenario->links_file != NULL;
    if (files && scenario->generator >= 0)
        return pri_scenario_fault(
            scenario, "network.generator", fault,
            "network has a generator and files: it can have one of them");
    if (files)
        scenario->generator = PRI_GENERATOR_FILES;
    if (scenario->generator < 0)
        return miss(scenario, "network.generator (or network.files)", fault);
    enum pricer_status status = check_use(scenario, fault);
    choose_scheme(scenario);
    if (status == PRICER_OK && scenario->scheme >= 0)
        status = pri_scenario_check_scheme(
            scenario, (enum pricer_scheme)scenario->scheme, fault);
    if (status == PRICER_OK)
        status = check_given(scenario, fault);
    if (status == PRICER_OK)
        fill_defaults(scenario);
    if (status == PRICER_OK && scenario->everyone_delta >= 1)
        return pri_scenario_fault(scenario, "trust.everyone.delta", fault,
                                  "trust.everyone.delta = %.12g is not below 1",
                                  scenario->everyone_delta);
    if (status == PRICER_OK && scenario->diameter > 2 * scenario->radius)
        return pri_scenario_fault(
            scenario, "diameter", fault,
            "diameter = %.12g is above %.12g, twice the radius: no two vectors "
            "are so far apart",
            scenario->diameter, 2 * scenario->radius);
    return status == PRICER_OK ? check_reference(scenario, fault) : status;
}
