/*
 * What coefficients do to a large network on average: pattern after pattern, in
 * chunks that threads share and that are added up in order.
 */
#include "rows.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS = 32 };

/* What a chunk adds up: value, square, heard, chance, M U, M_ii, cap. */
struct totals {
    int64_t product, diagonal, cap, size;
};

static struct totals plan_totals(int64_t n, int64_t rank,
                                 const struct pri_judgement *judgement)
{
    struct totals totals = {.product = 6};
    totals.diagonal =
        totals.product + (judgement->product != NULL ? n * rank : 0);
    totals.cap = totals.diagonal + (judgement->diagonal != NULL ? n : 0);
    totals.size = totals.cap + (judgement->cap != NULL ? n : 0);
    return totals;
}

/* M U and the diagonal of M: r r' and, blind, what is left to chance. */
static void add_slope(const struct pri_court *court,
                      const struct pri_model *model,
                      const struct pri_large *large, double chance,
                      double *product, double *diagonal)
{
    const struct pri_rows *rows = court->rows;
    int32_t n = rows->nodes, rank = model->rank;
    double along[PRI_RANK] = {0};
    for (int32_t i = 0; i < n; i++)
        for (int32_t c = 0; c < rank; c++)
            along[c] += large->excess[i] * model->shared[(int64_t)i * rank + c];
    for (int32_t i = 0; i < n; i++) {
        double excess = chance * large->excess[i];
        diagonal[i] += excess * large->excess[i];
        for (int32_t c = 0; c < rank; c++)
            product[(int64_t)i * rank + c] += excess * along[c];
    }
    for (int32_t s = 0; rows->blind && s < large->sums; s++) {
        int32_t j = large->relay[s];
        double square = chance * large->beta[s] * large->beta[s];
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
            int64_t i = rows->from[k];
            diagonal[i] += square * rows->spread[k];
            for (int32_t c = 0; c < rank; c++)
                product[i * rank + c] +=
                    square * rows->spread[k] * model->shared[i * rank + c];
        }
    }
    for (int32_t k = 0; k < rows->pairs; k++) {
        int64_t low = rows->low[k], high = rows->high[k];
        int32_t a = large->place[low], b = large->place[high];
        if (a < 0 || b < 0)
            continue;
        double both =
            chance * rows->together[k] * large->beta[a] * large->beta[b];
        for (int32_t c = 0; c < rank; c++) {
            product[low * rank + c] += both * model->shared[high * rank + c];
            product[high * rank + c] += both * model->shared[low * rank + c];
        }
    }
}

/* r and noise of the constant decoder, and the noise between the two. */
static void constant(const struct pri_rows *rows, const struct pri_large *large,
                     double *heard, double *vector)
{
    for (int32_t i = 0; vector != NULL && i < rows->nodes; i++)
        vector[i] = -rows->part[i] / rows->nodes;
    for (int32_t s = 0; s < large->sums; s++) {
        double flat = rows->scale[large->relay[s]] / rows->nodes;
        heard[0] += flat * flat * large->noise[s];
        heard[1] += flat * large->beta[s] * large->noise[s];
        if (vector == NULL)
            continue;
        for (int32_t k = large->start[s]; k < large->start[s + 1]; k++)
            vector[large->from[k]] += flat * large->weight[k];
    }
}

/* The most that what blind coefficients leave to chance adds to tr M X. */
static double chance_of(const struct pri_rows *rows,
                        const struct pri_large *large)
{
    double sum = 0;
    for (int32_t s = 0; rows->blind && s < large->sums; s++) {
        int32_t j = large->relay[s];
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            sum += large->beta[s] * large->beta[s] * rows->spread[k];
    }
    for (int32_t k = 0; k < rows->pairs; k++) {
        int32_t a = large->place[rows->low[k]];
        int32_t b = large->place[rows->high[k]];
        if (a >= 0 && b >= 0)
            sum +=
                2 * fabs(rows->together[k] * large->beta[a] * large->beta[b]);
    }
    return sum;
}

static void judge_pattern(const struct pri_court *court,
                          const struct pri_model *model,
                          struct pri_large *large,
                          const struct pri_judgement *wanted, int64_t t,
                          double *sum)
{
    const struct pri_patterns *patterns = court->patterns;
    const struct pri_rows *rows = court->rows;
    struct totals totals = plan_totals(rows->nodes, model->rank, wanted);
    int64_t n = rows->nodes, group = t / PRI_ROUNDS;
    const uint64_t *uplink =
        patterns->uplink + group * patterns->nodes * PRI_LANES;
    const uint64_t *entry =
        patterns->entry + group * patterns->entries * PRI_LANES;
    double chance = patterns->chance[t], heard[2] = {0, 0};
    if (court->payload != NULL)
        pri_large_load_payload(large, court->unit, court->payload, entry,
                               (int)(t % PRI_ROUNDS));
    else
        pri_large_load(large, rows, uplink, entry, (int)(t % PRI_ROUNDS));
    pri_large_solve(large, rows, model);
    pri_large_value(large, rows, model);
    double *vectors = wanted->vectors;
    constant(rows, large, heard, vectors == NULL ? NULL : vectors + t * n);
    if (vectors != NULL)
        memcpy(vectors + (patterns->count + t) * n, large->excess,
               (size_t)n * sizeof *vectors);
    sum[0] += chance * large->bar;
    sum[1] += chance * large->bar * large->bar;
    sum[2] += chance * heard[0];
    sum[3] += chance * heard[1];
    sum[4] += chance * large->heard;
    sum[5] += chance * chance_of(rows, large);
    if (wanted->product != NULL)
        add_slope(court, model, large, chance, sum + totals.product,
                  sum + totals.diagonal);
    for (int32_t s = 0; wanted->cap != NULL && s < large->sums; s++) {
        int32_t j = large->relay[s];
        double size = fabs(large->beta[s]) / rows->scale[j];
        sum[totals.cap + j] = fmax(sum[totals.cap + j], size);
    }
}

static void copy(double *to, const double *from, int64_t count)
{
    if (to != NULL)
        memcpy(to, from, (size_t)count * sizeof *to);
}

static void hand_out(int64_t n, int64_t rank, const struct totals *totals,
                     double *all, struct pri_judgement *judgement)
{
    for (int64_t chunk = 1; chunk < CHUNKS; chunk++)
        for (int64_t k = 0; k < totals->size; k++) {
            double part = all[chunk * totals->size + k];
            all[k] = k < totals->cap ? all[k] + part : fmax(all[k], part);
        }
    judgement->value = all[0];
    judgement->square = all[1];
    memcpy(judgement->heard, all + 2, 3 * sizeof *all);
    judgement->chance = all[5];
    copy(judgement->product, all + totals->product, n * rank);
    copy(judgement->diagonal, all + totals->diagonal, n);
    copy(judgement->cap, all + totals->cap, n);
}

/* All chunks, on all threads, each with room of its own. */
struct large_job {
    const struct pri_court *court;
    const struct pri_model *model;
    struct pri_judgement *judgement;
    int64_t size;
    double *all;
    atomic_bool failed;
};

static void judge_chunks(void *context, int64_t low, int64_t high)
{
    struct large_job *job = context;
    struct pri_large large = {0};
    int64_t count = job->court->patterns->count;
    bool ready = pri_large_new(job->court->rows, &large) == PRICER_OK;
    if (!ready)
        job->failed = true;
    for (int64_t chunk = low; ready && chunk < high; chunk++)
        for (int64_t t = count * chunk / CHUNKS;
             t < count * (chunk + 1) / CHUNKS; t++)
            judge_pattern(job->court, job->model, &large, job->judgement, t,
                          job->all + chunk * job->size);
    pri_large_free(&large);
}

enum pricer_status pri_judge_large(const struct pri_court *court,
                                   const struct pri_model *model,
                                   struct pri_judgement *judgement)
{
    int64_t n = court->rows->nodes;
    struct totals totals = plan_totals(n, model->rank, judgement);
    double *all = pri_alloc(CHUNKS * totals.size, sizeof *all);
    struct large_job job = {court, model, judgement, totals.size, all, false};
    if (all == NULL)
        return PRICER_MEMORY;
    pri_team_share(court->team, CHUNKS, judge_chunks, &job);
    if (!job.failed)
        hand_out(n, model->rank, &totals, all, judgement);
    free(all);
    return job.failed ? PRICER_MEMORY : PRICER_OK;
}
