/*
 * From passes over a system to its solution, by conjugate gradients.
 *
 * The system is never formed: one pass over the neighbour lists a step. The
 * preconditioner inverts the blocks of the nodes, which hold the own links
 * however steep they are, and the arrow that joins all prices to the sum
 * multiplier; and it solves for the one direction that these two are blind to,
 * all gains and prices and the sum moving together.
 */
#include "conjugate.h"

#include <stdlib.h>
#include <string.h>

bool pri_conjugate_new(const struct pri_problem *problem, int width,
                       struct pri_conjugate *cg)
{
    int64_t size = width * (int64_t)problem->nodes;
    *cg = (struct pri_conjugate){
        .problem = problem, .width = width, .summed = problem->summed};
    cg->residual = pri_alloc(size, sizeof(double));
    cg->direction = pri_alloc(size, sizeof(double));
    cg->product = pri_alloc(size, sizeof(double));
    return cg->residual && cg->direction && cg->product;
}

void pri_conjugate_free(struct pri_conjugate *cg)
{
    free(cg->residual);
    free(cg->direction);
    free(cg->product);
    *cg = (struct pri_conjugate){.steps = cg->steps};
}

/* The sum's part of P^-1 r; returns r.P^-1 r. */
static double precondition(struct pri_conjugate *cg,
                           const struct pri_sweep_sums *total)
{
    cg->shift = cg->lift = 0;
    if (!cg->summed)
        return total->sum[0];
    double all = total->sum[2] + cg->residual_sum;
    cg->shift = (cg->residual_sum - total->sum[1]) / cg->schur;
    cg->lift = all / cg->common;
    return total->sum[0] + cg->shift * cg->shift * cg->schur + cg->lift * all;
}

/* A p, and p.A p. */
static double apply(struct pri_conjugate *cg, void *context)
{
    struct pri_sweep_sums total;
    pri_halo(cg->problem, cg->direction, cg->width);
    pri_sweep(cg->problem, cg->passes->multiply, context, &total);
    if (!cg->summed)
        return total.sum[0];
    cg->product_sum = 0.5 * cg->direction_sum + total.sum[1];
    return total.sum[0] + cg->product_sum * cg->direction_sum;
}

static size_t bytes_of(const struct pri_conjugate *cg)
{
    return (size_t)cg->width * (size_t)cg->problem->nodes * sizeof(double);
}

/* Nothing is solved yet. */
static void begin(struct pri_conjugate *cg)
{
    size_t bytes = bytes_of(cg);
    memset(cg->direction, 0, bytes);
    memset(cg->product, 0, bytes);
    cg->residual_sum = cg->direction_sum = cg->product_sum = 0;
    cg->alpha = cg->beta = cg->shift = cg->lift = 0;
}

void pri_conjugate_prepare(struct pri_conjugate *cg,
                           const struct pri_passes *passes, void *context)
{
    struct pri_sweep_sums total;
    cg->passes = passes;
    pri_sweep(cg->problem, cg->passes->prepare, context, &total);
    cg->schur = 0.5 + total.sum[0];
    if (!cg->summed)
        return;
    begin(cg);
    memset(cg->residual, 0, bytes_of(cg));
    cg->lift = cg->direction_sum = 1;
    pri_sweep(cg->problem, cg->passes->turn, context, NULL);
    cg->common = apply(cg, context);
}

bool pri_conjugate_solve(struct pri_conjugate *cg, void *context,
                         const double *right, double right_sum, double relative,
                         int32_t most, double *solution, double *sum)
{
    struct pri_sweep_sums total;
    begin(cg);
    memcpy(cg->residual, right, bytes_of(cg));
    cg->residual_sum = cg->summed ? right_sum : 0;
    memset(solution, 0, bytes_of(cg));
    cg->solution = solution;
    *sum = 0;
    pri_sweep(cg->problem, cg->passes->advance, context, &total);
    double size = precondition(cg, &total);
    double enough = relative * relative * size;
    for (int32_t step = 0; step < most && size > enough; step++) {
        cg->direction_sum =
            cg->summed ? cg->shift + cg->lift + cg->beta * cg->direction_sum
                       : 0;
        pri_sweep(cg->problem, cg->passes->turn, context, NULL);
        double curve = apply(cg, context);
        if (!(curve > 0))
            break;
        cg->alpha = size / curve;
        *sum += cg->alpha * cg->direction_sum;
        cg->residual_sum -= cg->alpha * cg->product_sum;
        pri_sweep(cg->problem, cg->passes->advance, context, &total);
        double next = precondition(cg, &total);
        cg->beta = next / size;
        size = next;
        cg->steps++;
    }
    return isfinite(size);
}
