/*
 * From a function of a block of nodes to a pass over all of them, on all
 * threads, with sums that do not depend on how many there are.
 */
#include "problem.h"

struct sweep {
    const struct pri_problem *problem;
    void (*part)(void *context, int32_t low, int32_t high,
                 struct pri_sweep_sums *tally);
    void *context;
    struct pri_sweep_sums parts[PRI_BLOCKS];
};

static void sweep_block(void *context, int32_t b)
{
    struct sweep *sweep = context;
    const int32_t *block = sweep->problem->block;
    sweep->parts[b] = (struct pri_sweep_sums){.least = INFINITY};
    sweep->part(sweep->context, block[b], block[b + 1], &sweep->parts[b]);
}

void pri_sweep(const struct pri_problem *problem,
               void (*part)(void *context, int32_t low, int32_t high,
                            struct pri_sweep_sums *tally),
               void *context, struct pri_sweep_sums *total)
{
    struct sweep sweep = {.problem = problem, .part = part, .context = context};
    const struct pri_sweep_sums *parts = sweep.parts;
    int32_t blocks = problem->blocks;
    pri_team_run(problem->team, blocks, sweep_block, &sweep);
    if (total == NULL)
        return;
    *total = parts[0];
    for (int32_t b = 1; b < blocks; b++) {
        for (int k = 0; k < 5; k++)
            total->sum[k] += parts[b].sum[k];
        total->least = pri_least(total->least, parts[b].least);
    }
}

void pri_sweep_cut(struct pri_problem *problem)
{
    int64_t work = (int64_t)problem->arcs + problem->nodes;
    int64_t blocks = work / 32768;
    blocks = blocks < 2 ? 1 : blocks > PRI_BLOCKS ? PRI_BLOCKS : blocks & ~1;
    problem->blocks = (int32_t)blocks;
    int32_t i = 0;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t target = work / blocks * b;
        while (i < problem->nodes && (int64_t)problem->start[i] + i < target)
            i++;
        problem->block[b] = i;
    }
    problem->block[blocks] = problem->nodes;
}
