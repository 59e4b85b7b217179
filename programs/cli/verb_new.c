/*
 * pricer new: from a scenario to a study.
 */
#include "common/options.h"
#include "common/unheard.h"
#include "verbs.h"

static const struct usage usage = {
    "new", "STUDY SCENARIO.yaml",
    "Make a study: read the scenario, make or read its network, store both in\n"
    "one SQLite file. Nothing is created if anything is wrong.",
    "pricer new ten.pricer examples/paper.yaml"};

/* How many nodes have an uplink that is never up. */
static int32_t count_silent(const struct pricer_network *network)
{
    int32_t count = 0;
    for (int32_t i = 0; i < network->nodes; i++)
        count += network->uplink[i] == 0;
    return count;
}

/* Rows with p = 0: often a measurement that is missing. */
static void report_zeros(const struct pricer_network *network)
{
    int32_t silent = count_silent(network);
    if (network->left_out > 0)
        printf("p = 0: %d of %lld links given, left out as they are never up\n",
               (int)network->left_out,
               (long long)network->links + network->left_out);
    if (silent > 0)
        printf("p = 0: %d of %d uplinks; these nodes are heard through relays "
               "at most\n",
               (int)silent, (int)network->nodes);
}

static void report(const char *path, const struct pricer_network *network,
                   bool as_json)
{
    struct json json = {.out = stdout};
    bool forward = network->everyone_eps != NULL;
    if (!as_json) {
        bool relative = network->reach > 0;
        printf("%s: %d nodes, %d links, dimension %lld, radius %g", path,
               (int)network->nodes, (int)network->links,
               (long long)network->dimension,
               relative ? network->reach : network->radius);
        if (relative)
            printf(", rounds relative to the last estimate with step %g",
                   network->radius);
        puts(forward ? ", scheme forward" : "");
        report_zeros(network);
        if (!forward) /* 'pricer plan' knows how far releases go */
            unheard_print(stdout, network, NULL);
        return;
    }
    json_open(&json, NULL, '{');
    json_text(&json, "study", path);
    json_text(&json, "scheme", pricer_word(PRICER_WORDS_SCHEME, forward));
    json_count(&json, "nodes", network->nodes);
    json_count(&json, "links", network->links);
    json_count(&json, "links_left_out", network->left_out);
    json_count(&json, "uplinks_at_zero", count_silent(network));
    json_count(&json, "dimension", network->dimension);
    json_number(&json, "radius",
                network->reach > 0 ? network->reach : network->radius);
    if (network->reach > 0)
        json_number(&json, "step", network->radius);
    if (!forward)
        unheard_json(&json, network);
    json_close(&json, '}');
}

int verb_new(int argc, char **argv)
{
    bool as_json = false, force = false;
    struct option_list sets = {0};
    const struct option options[] = {
        {"set", OPTION_LIST, &sets, "KEY=VALUE",
         "override a key of the scenario; may be given again"},
        {"force", OPTION_FLAG, &force, NULL, "replace the study if it exists"},
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[2];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;

    struct pricer_fault fault = {""};
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    struct progress progress;
    progress_start(&progress, "new");
    enum pricer_status status = pricer_scenario_read(
        operands[1], sets.items, sets.count, &scenario, &fault);
    if (status == PRICER_OK)
        status = pricer_scenario_network(scenario, &progress.watch, &network,
                                         &fault);
    if (status == PRICER_OK && unheard_count(network) == network->nodes) {
        snprintf(fault.text, sizeof fault.text,
                 "%.300s: no node can be heard: the uplink of every node has "
                 "p = 0",
                 operands[1]);
        status = PRICER_VALUE;
    }
    if (status == PRICER_OK)
        status = pricer_study_create(operands[0], force, scenario, network,
                                     &progress.watch, &fault);
    progress_end(&progress);
    if (status == PRICER_OK)
        report(operands[0], network, as_json);
    pricer_network_free(network);
    pricer_scenario_free(scenario);
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}
