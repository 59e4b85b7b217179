/*
 * From the name of a strategy to its plan.
 */
#include "strategy.h"

#include <string.h>

static const char *const names[STRATEGIES] = {"naive", "unbiased", "best",
                                              "colrel", "gradient"};

const char *strategy_name(int strategy)
{
    return names[strategy];
}

bool strategy_choose(const char *verb, const struct option_list *list,
                     bool *wanted)
{
    for (int k = 0; k < list->count; k++) {
        int found = 0;
        while (found < STRATEGIES && strcmp(list->items[k], names[found]) != 0)
            found++;
        if (found == STRATEGIES) {
            fprintf(stderr,
                    "pricer %s: there is no strategy '%s'; --help lists "
                    "them\n",
                    verb, list->items[k]);
            return false;
        }
        wanted[found] = true;
    }
    return true;
}

enum pricer_status strategy_plan(int strategy,
                                 const struct pricer_network *network,
                                 const struct pricer_settings *settings,
                                 struct pricer_plan **plan,
                                 struct pricer_fault *fault)
{
    const struct pricer_gradient gradient = {.trace_every = INT64_MAX};
    return strategy < PRICER_BASELINES
               ? pricer_plan_baseline(network, settings,
                                      (enum pricer_baseline)strategy, plan,
                                      fault)
               : pricer_plan_descend(network, settings, &gradient, plan, fault);
}
