/*
 * Decoding one pattern of a large network: only the sums that arrived, and
 * conjugate gradients on
 *
 *     H = A own A' + (A U)(A U)' + rest,    X = own + U U',
 *
 * which is never formed: a step is two passes over the shares that arrived.
 * The preconditioner is the diagonal of the first and last term with the middle
 * one exactly (Woodbury), and usually leaves four to ten steps.
 *
 * Certificate: with rho = A kappa - H beta and f(beta) the quadratic that the
 * coefficients minimise, f(beta) - min f = rho' H^-1 rho <= rho' rest^-1 rho,
 * since H - rest is positive semidefinite. Where noise is too little for that
 * to end soon, few sums are solved directly, many as far as the digits go.
 */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 200, PATIENCE = 40 };

/* Of base, what stopping early may cost. */
#define TOLERANCE 1e-10

static void *doubles(int64_t count)
{
    return pri_alloc(count, sizeof(double));
}

enum pricer_status pri_large_new(const struct pri_rows *rows,
                                 struct pri_large *large)
{
    int64_t n = rows->nodes, direct = n < PRI_DIRECT ? n : PRI_DIRECT;
    struct pri_large made = {.sums = 0};
    made.relay = pri_alloc(n, sizeof *made.relay);
    made.place = pri_alloc(n, sizeof *made.place);
    made.start = pri_alloc(n + 1, sizeof *made.start);
    made.from = pri_alloc(rows->entries, sizeof *made.from);
    made.weight = doubles(rows->entries);
    double **vectors[] = {
        &made.noise, &made.rest,  &made.beta,    &made.diagonal, &made.residual,
        &made.step,  &made.image, &made.precise, &made.excess,   &made.spread};
    bool complete = true;
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
        complete = (*vectors[k] = doubles(n)) != NULL && complete;
    made.likely = doubles(n * PRI_RANK);
    made.factor = doubles(direct * direct);
    if (!complete || !made.relay || !made.place || !made.start || !made.from ||
        !made.weight || !made.likely || !made.factor) {
        pri_large_free(&made);
        return PRICER_MEMORY;
    }
    *large = made;
    return PRICER_OK;
}

void pri_large_free(struct pri_large *large)
{
    free(large->relay);
    free(large->place);
    free(large->start);
    free(large->from);
    free(large->weight);
    free(large->noise);
    free(large->rest);
    free(large->beta);
    free(large->diagonal);
    free(large->likely);
    free(large->residual);
    free(large->step);
    free(large->image);
    free(large->precise);
    free(large->excess);
    free(large->spread);
    free(large->factor);
    memset(large, 0, sizeof *large);
}

/* --------------------------------------------------------------- loading -- */

/* Start the next sum with nothing in it. */
static void open_sum(struct pri_large *large, int32_t j, int32_t entries)
{
    large->relay[large->sums] = j;
    large->start[large->sums] = entries;
    large->noise[large->sums] = large->rest[large->sums] = 0;
}

static inline void take(struct pri_large *large, const struct pri_rows *rows,
                        int32_t k, int32_t *entries)
{
    large->from[*entries] = rows->from[k];
    large->weight[(*entries)++] = rows->weight[k];
    large->noise[large->sums] += rows->noise[k];
    large->rest[large->sums] += rows->blind ? rows->spread[k] : 0;
}

/* Keep the sum if there is anything in it. */
static void close_sum(struct pri_large *large, int32_t entries)
{
    if (entries > large->start[large->sums])
        large->sums++;
}

void pri_large_load(struct pri_large *large, const struct pri_rows *rows,
                    const uint64_t *uplink, const uint64_t *entry, int t)
{
    int32_t entries = 0;
    int64_t word = t / 64, bit = t % 64;
    large->sums = 0;
    for (int32_t j = 0; j < rows->nodes; j++) {
        if ((uplink[(int64_t)j * PRI_LANES + word] >> bit & 1) == 0)
            continue;
        open_sum(large, j, entries);
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            if (entry[(int64_t)k * PRI_LANES + word] >> bit & 1)
                take(large, rows, k, &entries);
        close_sum(large, entries);
    }
    large->start[large->sums] = entries;
}

void pri_large_load_bytes(struct pri_large *large, const struct pri_rows *rows,
                          const bool *uplink, const struct pri_held *held)
{
    int32_t entries = 0;
    large->sums = 0;
    for (int32_t j = 0; j < rows->nodes; j++) {
        if (!uplink[j])
            continue;
        open_sum(large, j, entries);
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            if (pri_is_held(rows, held, j, k))
                take(large, rows, k, &entries);
        close_sum(large, entries);
    }
    large->start[large->sums] = entries;
}

/* ------------------------------------------------------------ the system -- */

/* The diagonal, A U and A kappa (into residual). */
static void prepare(struct pri_large *large, const struct pri_rows *rows,
                    const struct pri_model *model)
{
    int32_t rank = model->rank;
    for (int32_t i = 0; rows->pairs > 0 && i < rows->nodes; i++)
        large->place[i] = -1;
    for (int32_t j = 0; j < large->sums; j++) {
        double *likely = large->likely + (int64_t)j * rank, own = 0, side = 0;
        for (int32_t c = 0; c < rank; c++)
            likely[c] = 0;
        for (int32_t k = large->start[j]; k < large->start[j + 1]; k++) {
            int32_t i = large->from[k];
            double weight = large->weight[k];
            own += weight * weight * model->own[i];
            side += weight * model->target[i];
            for (int32_t c = 0; c < rank; c++)
                likely[c] += weight * model->shared[(int64_t)i * rank + c];
        }
        double rest = large->noise[j] + large->rest[j] * model->diagonal;
        double all = own + rest;
        for (int32_t c = 0; c < rank; c++)
            all += likely[c] * likely[c];
        rest += PRI_RIDGE * all + 0x1p-900;
        large->rest[j] = rest;
        large->diagonal[j] = own + rest;
        large->residual[j] = side;
        large->beta[j] = 0;
        large->place[large->relay[j]] = j;
    }
}

/* The Cholesky factor of I + (A U)' diagonal^-1 A U, 1 / pivot on it. */
static void prepare_core(struct pri_large *large, int32_t rank)
{
    double *core = large->core;
    for (int32_t a = 0; a < rank; a++)
        for (int32_t b = 0; b <= a; b++) {
            double sum = a == b;
            for (int32_t j = 0; j < large->sums; j++) {
                const double *likely = large->likely + (int64_t)j * rank;
                sum += likely[a] * likely[b] / large->diagonal[j];
            }
            for (int32_t c = 0; c < b; c++)
                sum -= core[a * PRI_RANK + c] * core[b * PRI_RANK + c];
            core[a * PRI_RANK + b] =
                a == b ? 1 / sqrt(fmax(sum, 1)) : sum * core[b * PRI_RANK + b];
        }
}

/* image <- H step. */
static void multiply(struct pri_large *large, const struct pri_rows *rows,
                     const struct pri_model *model)
{
    int32_t rank = model->rank;
    double along[PRI_RANK] = {0};
    memset(large->spread, 0, (size_t)rows->nodes * sizeof *large->spread);
    for (int32_t j = 0; j < large->sums; j++) {
        double step = large->step[j];
        for (int32_t k = large->start[j]; k < large->start[j + 1]; k++)
            large->spread[large->from[k]] += step * large->weight[k];
        for (int32_t c = 0; c < rank; c++)
            along[c] += step * large->likely[(int64_t)j * rank + c];
    }
    for (int32_t j = 0; j < large->sums; j++) {
        double sum = large->rest[j] * large->step[j];
        for (int32_t k = large->start[j]; k < large->start[j + 1]; k++) {
            int32_t i = large->from[k];
            sum += large->weight[k] * (model->own[i] * large->spread[i]);
        }
        for (int32_t c = 0; c < rank; c++)
            sum += along[c] * large->likely[(int64_t)j * rank + c];
        large->image[j] = sum;
    }
    for (int32_t k = 0; k < rows->pairs; k++) {
        int32_t low = rows->low[k], high = rows->high[k];
        int32_t a = large->place[low], b = large->place[high];
        if (a < 0 || b < 0)
            continue;
        double x = 0;
        for (int32_t c = 0; c < rank; c++)
            x += model->shared[(int64_t)low * rank + c] *
                 model->shared[(int64_t)high * rank + c];
        large->image[a] += rows->together[k] * x * large->step[b];
        large->image[b] += rows->together[k] * x * large->step[a];
    }
}

/* precise <- the preconditioner's answer to the residual; returns their inner
 * product. */
static double precondition(struct pri_large *large, int32_t rank)
{
    const double *core = large->core;
    double along[PRI_RANK] = {0}, product = 0;
    for (int32_t j = 0; j < large->sums; j++) {
        large->precise[j] = large->residual[j] / large->diagonal[j];
        for (int32_t c = 0; c < rank; c++)
            along[c] +=
                large->likely[(int64_t)j * rank + c] * large->precise[j];
    }
    for (int32_t a = 0; a < rank; a++) {
        for (int32_t c = 0; c < a; c++)
            along[a] -= core[a * PRI_RANK + c] * along[c];
        along[a] *= core[a * PRI_RANK + a];
    }
    for (int32_t a = rank - 1; a >= 0; a--) {
        for (int32_t c = a + 1; c < rank; c++)
            along[a] -= core[c * PRI_RANK + a] * along[c];
        along[a] *= core[a * PRI_RANK + a];
    }
    for (int32_t j = 0; j < large->sums; j++) {
        double sum = 0;
        for (int32_t c = 0; c < rank; c++)
            sum += large->likely[(int64_t)j * rank + c] * along[c];
        large->precise[j] -= sum / large->diagonal[j];
        product += large->precise[j] * large->residual[j];
    }
    return product;
}

/* rho' rest^-1 rho; where pairs go together only the noise is certain. */
static double slack_of(const struct pri_large *large, bool pairs)
{
    double sum = 0;
    for (int32_t j = 0; j < large->sums; j++) {
        double sure = large->rest[j];
        if (pairs)
            sure = fmax(large->noise[j], PRI_RIDGE * large->diagonal[j]);
        sum += large->residual[j] * large->residual[j] / sure;
    }
    return sum;
}

/* Whether the certificate holds in the end. */
static bool iterate(struct pri_large *large, const struct pri_rows *rows,
                    const struct pri_model *model)
{
    int32_t limit = large->sums <= PRI_DIRECT ? PATIENCE : MOST_STEPS;
    double product = precondition(large, model->rank), first = product;
    memcpy(large->step, large->precise,
           (size_t)large->sums * sizeof *large->step);
    large->slack = slack_of(large, rows->pairs > 0);
    while (large->slack > TOLERANCE * model->base && large->steps < limit) {
        multiply(large, rows, model);
        double curve = 0;
        for (int32_t j = 0; j < large->sums; j++)
            curve += large->step[j] * large->image[j];
        if (!(curve > 0) || !(product > 1e-28 * first))
            break;
        double length = product / curve;
        for (int32_t j = 0; j < large->sums; j++) {
            large->beta[j] += length * large->step[j];
            large->residual[j] -= length * large->image[j];
        }
        double next = precondition(large, model->rank);
        for (int32_t j = 0; j < large->sums; j++)
            large->step[j] =
                large->precise[j] + next / product * large->step[j];
        product = next;
        large->slack = slack_of(large, rows->pairs > 0);
        large->steps++;
    }
    return large->slack <= TOLERANCE * model->base;
}

/* ---------------------------------------------------------------- direct -- */

/* The lower triangle of H, scaled by `size`, one column of it at a time. */
static void assemble(struct pri_large *large, const struct pri_rows *rows,
                     const struct pri_model *model, const double *size)
{
    int32_t n = large->sums;
    memset(large->step, 0, (size_t)n * sizeof *large->step);
    for (int32_t j = 0; j < n; j++) {
        large->step[j] = 1;
        multiply(large, rows, model);
        large->step[j] = 0;
        for (int32_t i = j; i < n; i++)
            large->factor[(int64_t)i * n + j] =
                large->image[i] * size[i] * size[j];
    }
}

static void solve_directly(struct pri_large *large, const struct pri_rows *rows,
                           const struct pri_model *model)
{
    int32_t n = large->sums;
    double *size = large->precise, *h = large->factor, *y = large->beta;
    for (int32_t j = 0; j < n; j++) {
        double all = large->diagonal[j];
        for (int32_t c = 0; c < model->rank; c++)
            all += large->likely[(int64_t)j * model->rank + c] *
                   large->likely[(int64_t)j * model->rank + c];
        size[j] = 1 / sqrt(all);
    }
    assemble(large, rows, model, size);
    for (int32_t j = 0; j < n; j++) {
        double *row = h + (int64_t)j * n, pivot = row[j], side = 0;
        for (int32_t k = large->start[j]; k < large->start[j + 1]; k++)
            side += large->weight[k] * model->target[large->from[k]];
        side *= size[j];
        for (int32_t i = 0; i < j; i++) {
            const double *other = h + (int64_t)i * n;
            double sum = row[i];
            for (int32_t k = 0; k < i; k++)
                sum -= row[k] * other[k];
            row[i] = sum * other[i];
            pivot -= row[i] * row[i];
            side -= row[i] * y[i];
        }
        row[j] = 1 / sqrt(fmax(pivot, 1e-13));
        y[j] = side * row[j];
    }
    for (int32_t j = n - 1; j >= 0; j--) {
        for (int32_t k = j + 1; k < n; k++)
            y[j] -= h[(int64_t)k * n + j] * y[k];
        y[j] *= h[(int64_t)j * n + j];
    }
    for (int32_t j = 0; j < n; j++)
        y[j] *= size[j];
    large->slack = 0;
    large->steps = 0;
}

static void temper(struct pri_large *large, const struct pri_rows *rows,
                   const struct pri_model *model)
{
    for (int32_t j = 0; j < large->sums; j++) {
        double scale = rows->scale[large->relay[j]], beta = large->beta[j];
        if (model->cap != NULL) {
            double cap = model->cap[large->relay[j]] * scale;
            beta = beta > cap ? cap : beta < -cap ? -cap : beta;
        }
        if (model->blend != 1)
            beta = model->blend * beta +
                   (1 - model->blend) * (scale / rows->nodes);
        large->beta[j] = beta;
    }
}

void pri_large_solve(struct pri_large *large, const struct pri_rows *rows,
                     const struct pri_model *model)
{
    large->steps = 0;
    large->slack = 0;
    prepare(large, rows, model);
    if (model->blend != 0) {
        prepare_core(large, model->rank);
        if (!iterate(large, rows, model) && large->sums <= PRI_DIRECT)
            solve_directly(large, rows, model);
    }
    temper(large, rows, model);
}

void pri_large_value(struct pri_large *large, const struct pri_rows *rows,
                     const struct pri_model *model)
{
    int32_t n = rows->nodes, rank = model->rank;
    double along[PRI_RANK] = {0}, bar = 0, heard = 0;
    for (int32_t i = 0; i < n; i++)
        large->excess[i] = -rows->part[i] / n;
    for (int32_t j = 0; j < large->sums; j++) {
        double beta = large->beta[j];
        heard += beta * beta * large->noise[j];
        if (rows->blind)
            bar += beta * beta * (large->rest[j] - large->noise[j]);
        for (int32_t k = large->start[j]; k < large->start[j + 1]; k++)
            large->excess[large->from[k]] += beta * large->weight[k];
    }
    for (int32_t i = 0; i < n; i++) {
        double excess = large->excess[i];
        bar += model->own[i] * excess * excess;
        for (int32_t c = 0; c < rank; c++)
            along[c] += excess * model->shared[(int64_t)i * rank + c];
    }
    for (int32_t c = 0; c < rank; c++)
        bar += along[c] * along[c];
    for (int32_t k = 0; k < rows->pairs; k++) {
        int32_t low = rows->low[k], high = rows->high[k];
        int32_t a = large->place[low], b = large->place[high];
        double x = 0;
        for (int32_t c = 0; c < rank; c++)
            x += model->shared[(int64_t)low * rank + c] *
                 model->shared[(int64_t)high * rank + c];
        if (a >= 0 && b >= 0)
            bar += 2 * rows->together[k] * x * large->beta[a] * large->beta[b];
    }
    large->heard = heard;
    large->bar = bar + heard;
}
