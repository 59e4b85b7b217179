/*
 * What coefficients do to a small network on average: four patterns at a time,
 * in chunks that threads share and that are added up in order.
 */
#include "rows.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 32 }; /* of four patterns, in a chunk */

/* What a chunk adds up, in this order: value, square, heard, M, K, cap. */
struct totals {
    int64_t m, inverse, cap, size;
};

static struct totals plan_totals(int64_t n,
                                 const struct pri_judgement *judgement)
{
    struct totals totals = {.m = 5};
    totals.inverse = totals.m + (judgement->m != NULL ? 3 * n * n : 0);
    totals.cap = totals.inverse + (judgement->inverse != NULL ? n * n : 0);
    totals.size = totals.cap + (judgement->cap != NULL ? n : 0);
    return totals;
}

/* One thread's room. */
struct worker {
    struct pri_small small;
    pri_four *sum;      /* [size] */
    pri_four *constant; /* [nodes] r of the constant decoder */
    pri_four *flat;     /* [nodes] its coefficients */
    pri_four *side;     /* [nodes] */
};

static void *fours(int64_t count)
{
    return aligned_alloc(64, ((size_t)count / 2 + 1) * 64);
}

static void worker_free(struct worker *worker)
{
    pri_small_free(&worker->small);
    free(worker->sum);
    free(worker->constant);
    free(worker->flat);
    free(worker->side);
}

static bool worker_new(const struct pri_rows *rows, int64_t size,
                       struct worker *worker)
{
    memset(worker, 0, sizeof *worker);
    if (pri_small_new(rows, &worker->small) != PRICER_OK)
        return false;
    worker->sum = fours(size);
    worker->constant = fours(rows->nodes);
    worker->flat = fours(rows->nodes);
    worker->side = fours(rows->nodes);
    return worker->sum && worker->constant && worker->flat && worker->side;
}

PRI_INLINE pri_four fill(double x)
{
    return (pri_four){x, x, x, x};
}

/* The constant decoder's coefficients, r and noise. */
PRI_CLONES
static void constant(struct worker *worker, const struct pri_rows *rows,
                     pri_four *noise)
{
    struct pri_small *small = &worker->small;
    pri_four heard = fill(0);
    for (int32_t i = 0; i < rows->nodes; i++)
        worker->constant[i] = fill(-rows->part[i] / rows->nodes);
    for (int32_t j = 0; j < rows->nodes; j++) {
        pri_four flat = small->up[j] * fill(rows->scale[j] / rows->nodes);
        worker->flat[j] = flat;
        heard += flat * flat * small->noise[j];
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            worker->constant[rows->from[k]] += flat * small->entry[k];
    }
    *noise = heard;
}

/* m += chance (a b' + b a') / 2, the lower triangle. */
PRI_CLONES
static void add_square(int32_t n, const pri_four *chance, const pri_four *a,
                       const pri_four *b, pri_four *m)
{
    for (int32_t i = 0; i < n; i++) {
        pri_four left = *chance * a[i], right = *chance * b[i];
        if (a == b)
            for (int32_t l = 0; l <= i; l++)
                m[(int64_t)i * n + l] += left * a[l];
        else
            for (int32_t l = 0; l <= i; l++)
                m[(int64_t)i * n + l] +=
                    fill(.5) * (left * b[l] + right * a[l]);
    }
}

/* What blind coefficients leave to chance, which is exact given the uplinks. */
static void add_chance(const struct pri_rows *rows, const struct worker *worker,
                       pri_four chance, const pri_four *a, const pri_four *b,
                       pri_four *m)
{
    int32_t n = rows->nodes;
    const struct pri_small *small = &worker->small;
    for (int32_t j = 0; j < n; j++)
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            m[(int64_t)rows->from[k] * (n + 1)] +=
                chance * a[j] * b[j] * small->up[j] * fill(rows->spread[k]);
    for (int32_t k = 0; k < rows->pairs; k++) {
        int32_t low = rows->low[k], high = rows->high[k];
        m[(int64_t)high * n + low] += chance * fill(.5 * rows->together[k]) *
                                      (a[low] * b[high] + b[low] * a[high]);
    }
}

/* K += chance A' H^-1 A, column by column. */
static void add_inverse(const struct pri_rows *rows, struct worker *worker,
                        pri_four chance, pri_four *inverse)
{
    struct pri_small *small = &worker->small;
    int32_t n = rows->nodes;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = 0; j < n; j++)
            worker->side[j] = fill(0);
        for (int32_t j = 0; j < n; j++)
            for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
                if (rows->from[k] == i)
                    worker->side[j] += small->entry[k];
        pri_small_again(small, worker->side);
        for (int32_t j = 0; j < n; j++)
            for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
                inverse[(int64_t)i * n + rows->from[k]] +=
                    chance * worker->side[j] * small->entry[k];
    }
}

/* M of one pair of decoders. */
static void add_squares(const struct pri_court *court, struct worker *worker,
                        pri_four chance, int k, pri_four *m)
{
    const struct pri_rows *rows = court->rows;
    const struct pri_small *small = &worker->small;
    int64_t n = rows->nodes;
    const pri_four *r[] = {worker->constant, small->excess};
    const pri_four *beta[] = {worker->flat, small->beta};
    add_square((int32_t)n, &chance, r[k / 2], r[(k + 1) / 2], m + k * n * n);
    if (rows->blind)
        add_chance(rows, worker, chance, beta[k / 2], beta[(k + 1) / 2],
                   m + k * n * n);
}

/* The constant decoder, and all three pairs. */
static void add_both(const struct pri_court *court, struct worker *worker,
                     pri_four chance, pri_four *m)
{
    const struct pri_small *small = &worker->small;
    int64_t n = court->rows->nodes;
    pri_four *sum = worker->sum;
    pri_four heard;
    constant(worker, court->rows, &heard);
    sum[2] += chance * heard;
    for (int64_t i = 0; i < n; i++)
        sum[3] += chance * worker->flat[i] * small->beta[i] * small->noise[i];
    for (int k = 0; k < 3; k++)
        add_squares(court, worker, chance, k, m);
}

static void add_batch(const struct pri_court *court, struct worker *worker,
                      const struct totals *totals, pri_four chance,
                      const struct pri_judgement *wanted)
{
    const struct pri_rows *rows = court->rows;
    struct pri_small *small = &worker->small;
    int64_t n = rows->nodes;
    pri_four *sum = worker->sum, *m = sum + totals->m;
    sum[0] += chance * *small->bar;
    sum[1] += chance * *small->bar * *small->bar;
    sum[4] += chance * *small->heard;
    if (wanted->m != NULL && wanted->last)
        add_squares(court, worker, chance, 2, m);
    else if (wanted->m != NULL)
        add_both(court, worker, chance, m);
    if (wanted->inverse != NULL)
        add_inverse(rows, worker, chance, sum + totals->inverse);
    for (int64_t j = 0; wanted->cap != NULL && j < n; j++)
        for (int e = 0; e < 4; e++)
            if (chance[e] > 0)
                sum[totals->cap + j][0] =
                    fmax(sum[totals->cap + j][0],
                         fabs(small->beta[j][e]) / rows->scale[j]);
}

/* The chunk's part of everything, its four lanes added up in order. */
static void judge_chunk(const struct pri_court *court,
                        const struct pri_model *model, struct worker *worker,
                        const struct pri_judgement *wanted, int64_t chunk,
                        double *totals_out)
{
    const struct pri_patterns *patterns = court->patterns;
    struct totals totals = plan_totals(court->rows->nodes, wanted);
    int64_t group = chunk * BATCHES * 4 / PRI_ROUNDS;
    const uint64_t *uplink =
        patterns->uplink + group * patterns->nodes * PRI_LANES;
    const uint64_t *entry =
        patterns->entry + group * patterns->entries * PRI_LANES;
    memset(worker->sum, 0, (size_t)totals.size * sizeof *worker->sum);
    for (int b = 0; b < BATCHES; b++) {
        int64_t first = (chunk * BATCHES + b) * 4;
        int m = (int)(first % PRI_ROUNDS / 4);
        pri_four chance;
        if (first >= patterns->count)
            break;
        memcpy(&chance, patterns->chance + first, sizeof chance);
        if (court->payload != NULL)
            pri_small_load_payload(&worker->small, court->unit, court->payload,
                                   entry, m);
        else
            pri_small_load(&worker->small, court->rows, uplink, entry, m);
        pri_small_solve(&worker->small, court->rows, model);
        pri_small_value(&worker->small, court->rows, model);
        add_batch(court, worker, &totals, chance, wanted);
    }
    for (int64_t k = 0; k < totals.size; k++) {
        double sum = 0;
        for (int e = 0; e < 4; e++)
            sum += worker->sum[k][e];
        totals_out[k] = sum;
    }
}

static void hand_out(int64_t n, int64_t chunks, const struct totals *totals,
                     double *all, struct pri_judgement *judgement)
{
    for (int64_t chunk = 1; chunk < chunks; chunk++)
        for (int64_t k = 0; k < totals->size; k++) {
            double part = all[chunk * totals->size + k];
            all[k] = k < totals->cap ? all[k] + part : fmax(all[k], part);
        }
    judgement->value = all[0];
    judgement->square = all[1];
    memcpy(judgement->heard, all + 2, 3 * sizeof *all);
    for (int64_t k = 0; judgement->m != NULL && k < 3; k++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l <= i; l++)
                judgement->m[(k * n + i) * n + l] =
                    judgement->m[(k * n + l) * n + i] =
                        all[totals->m + (k * n + i) * n + l];
    if (judgement->inverse != NULL)
        memcpy(judgement->inverse, all + totals->inverse,
               (size_t)(n * n) * sizeof *all);
    if (judgement->cap != NULL)
        memcpy(judgement->cap, all + totals->cap, (size_t)n * sizeof *all);
}

/* All chunks, on all threads, each with a worker of its own. */
struct small_job {
    const struct pri_court *court;
    const struct pri_model *model;
    struct pri_judgement *judgement;
    int64_t size;
    double *all;
    atomic_bool failed;
};

static void judge_chunks(void *context, int64_t low, int64_t high)
{
    struct small_job *job = context;
    struct worker worker;
    bool ready = worker_new(job->court->rows, job->size, &worker);
    if (!ready)
        job->failed = true;
    for (int64_t chunk = low; ready && chunk < high; chunk++)
        judge_chunk(job->court, job->model, &worker, job->judgement, chunk,
                    job->all + chunk * job->size);
    worker_free(&worker);
}

enum pricer_status pri_judge_small(const struct pri_court *court,
                                   const struct pri_model *model,
                                   struct pri_judgement *judgement)
{
    int64_t n = court->rows->nodes, batch = BATCHES * 4;
    int64_t chunks = (court->patterns->count + batch - 1) / batch;
    struct totals totals = plan_totals(n, judgement);
    double *all = pri_alloc(chunks * totals.size, sizeof *all);
    struct small_job job = {court, model, judgement, totals.size, all, false};
    if (all == NULL)
        return PRICER_MEMORY;
    pri_team_share(court->team, chunks, judge_chunks, &job);
    if (!job.failed)
        hand_out(n, chunks, &totals, all, judgement);
    free(all);
    return job.failed ? PRICER_MEMORY : PRICER_OK;
}
