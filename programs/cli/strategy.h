/*
 * The plans that a plan is played against, by the names of --strategy.
 */
#ifndef PROGRAM_STRATEGY_H
#define PROGRAM_STRATEGY_H

#include "common/options.h"
#include "common/program.h"

/* The baselines in their order, then the paper's planner. */
enum { STRATEGIES = PRICER_BASELINES + 1 };
#define STRATEGY_WORDS "naive|unbiased|best|colrel|gradient"

const char *strategy_name(int strategy);

/* Mark those of the list in `wanted` [STRATEGIES]; false, after the verb has
 * said so, if one does not exist. */
bool strategy_choose(const char *verb, const struct option_list *list,
                     bool *wanted);

/* Plan by a strategy, with what the plan it is played against was asked for. */
enum pricer_status strategy_plan(int strategy,
                                 const struct pricer_network *network,
                                 const struct pricer_settings *settings,
                                 struct pricer_plan **plan,
                                 struct pricer_fault *fault);

#endif
