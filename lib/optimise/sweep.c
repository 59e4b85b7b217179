/*
 * From a function of a block of nodes to a pass over all of them, on all
 * threads, with sums that do not depend on how many there are.
 */
#include "problem.h"

#include <string.h>

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

/*
 * The tallies of all blocks, wherever they were made: the sums over them are
 * the same numbers in the same order on every rank, and on one. Returns how
 * many there are.
 */
static int32_t share_sums(const struct pri_part *part,
                          struct pri_sweep_sums parts[PRI_BLOCKS])
{
    const struct pricer_crew *crew = part->crew;
    if (crew == NULL)
        return part->blocks;
    int64_t first = part->bounds[crew->rank];
    int64_t count = part->bounds[crew->rank + 1] - first;
    memmove(&parts[first], parts, (size_t)count * sizeof *parts);
    crew->gather(crew->context, parts, sizeof *parts, part->bounds);
    return part->blocks;
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
    if (problem->part != NULL)
        blocks = share_sums(problem->part, sweep.parts);
    *total = parts[0];
    for (int32_t b = 1; b < blocks; b++) {
        for (int k = 0; k < 5; k++)
            total->sum[k] += parts[b].sum[k];
        total->least = pri_least(total->least, parts[b].least);
    }
}

void pri_sweep_all(const struct pri_problem *problem,
                   void (*part)(void *context, int32_t low, int32_t high,
                                struct pri_sweep_sums *tally),
                   void *context)
{
    const struct pri_part *mine = problem->part;
    struct pri_sweep_sums none = {.least = INFINITY};
    pri_sweep(problem, part, context, NULL);
    if (mine == NULL)
        return;
    part(context, 0, mine->low, &none);
    part(context, mine->high, problem->nodes, &none);
}

void pri_halo_shares(const struct pri_problem *problem)
{
    if (problem->part == NULL)
        return;
    if (problem->arc != NULL)
        pri_part_links(problem->part, &problem->arc->share,
                       sizeof *problem->arc / sizeof(double));
    else
        pri_part_links(problem->part, &problem->thin->share,
                       sizeof *problem->thin / sizeof(double));
}

/* A rank sweeps over the blocks that are its own. */
static void take_blocks(struct pri_problem *problem)
{
    const struct pri_part *part = problem->part;
    int32_t rank = part->crew == NULL ? 0 : part->crew->rank;
    int64_t first = part->bounds[rank], last = part->bounds[rank + 1];
    problem->blocks = (int32_t)(last - first);
    for (int64_t b = first; b <= last; b++)
        problem->block[b - first] =
            part->low + part->block[b] - part->block[first];
}

void pri_sweep_cut(struct pri_problem *problem)
{
    int64_t work = (int64_t)problem->arcs + problem->nodes;
    int64_t blocks = pri_block_count(work);
    int32_t i = 0;
    if (problem->part != NULL) {
        take_blocks(problem);
        return;
    }
    problem->blocks = (int32_t)blocks;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t target = work / blocks * b;
        while (i < problem->nodes && (int64_t)problem->start[i] + i < target)
            i++;
        problem->block[b] = i;
    }
    problem->block[blocks] = problem->nodes;
}
