/*
 * From what the ranks of a crew find of a plan, each of its part, to what is so
 * of the whole.
 */
#include "verify.h"

#include <math.h>
#include <string.h>

/* `count` values of every rank, one rank after the other; returns how many
 * ranks there are. */
static int32_t collect(const struct pri_audit *audit, const long double *values,
                       int count, long double *all)
{
    const struct pricer_crew *crew =
        audit->part != NULL ? audit->part->crew : NULL;
    int64_t bounds[PRI_BLOCKS + 1];
    int32_t rank = crew != NULL ? crew->rank : 0;
    size_t size = (size_t)count * sizeof *values;
    for (int32_t r = 0; r <= PRI_BLOCKS; r++)
        bounds[r] = r;
    memcpy(all + (int64_t)rank * count, values, size);
    if (crew == NULL)
        return 1;
    crew->gather(crew->context, all, size, bounds);
    return crew->ranks;
}

void pri_verify_sum(const struct pri_audit *audit, long double *values,
                    int count)
{
    long double all[4 * PRI_BLOCKS] = {0};
    int32_t ranks = collect(audit, values, count, all);
    memcpy(values, all, (size_t)count * sizeof *values);
    for (int32_t r = 1; r < ranks; r++)
        for (int k = 0; k < count; k++)
            values[k] += all[r * count + k];
}

/* The words are those of the first rank that has any. */
static void join(struct pri_audit *audit)
{
    struct pricer_certificate *found = audit->certificate;
    long double all[4 * PRI_BLOCKS] = {0};
    long double mine[] = {found->feasible, (long double)found->open_links,
                          found->largest_bias, found->words[0] != '\0'};
    int32_t ranks = collect(audit, mine, 4, all), speaker = -1;
    if (ranks == 1)
        return;
    found->open_links = 0;
    for (int32_t r = 0; r < ranks; r++) {
        const long double *theirs = all + (int64_t)r * 4;
        found->feasible = found->feasible && theirs[0] != 0;
        found->open_links += (int64_t)theirs[1];
        found->largest_bias = fmax(found->largest_bias, (double)theirs[2]);
        if (speaker < 0 && theirs[3] != 0)
            speaker = r;
    }
    const struct pricer_crew *crew = audit->part->crew;
    if (speaker >= 0)
        crew->spread(crew->context, speaker, found->words, sizeof found->words);
}

void pri_verify_conclude(struct pri_audit *audit)
{
    struct pricer_certificate *certificate = audit->certificate;
    long double nodes = audit->nodes, unit = nodes * nodes;
    long double least = 1e-7L * audit->square * nodes;
    join(audit);
    long double gap =
        (audit->objective - audit->bound) / fmaxl(audit->objective, least);
    certificate->objective = (double)(audit->objective / unit);
    certificate->bound = (double)(audit->bound / unit);
    certificate->gap = isnan(gap) ? INFINITY : (double)fmaxl(0, gap);
    if (!certificate->feasible)
        certificate->gap = INFINITY;
}
