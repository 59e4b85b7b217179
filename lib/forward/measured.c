/*
 * From rounds that were run to a plan: who arrived is all that is needed, no
 * link is modelled.
 *
 * Nothing says that measured arrivals are non-negatively correlated: nodes that
 * compete for a channel silence each other. With b_i = pi_i c_i - 1 no data has
 * more than
 *
 *     n^2 W = sum_il |c_i c_l Cov_il + b_i b_l| R_i R_l + sum_i pi_i c_i^2 v_i,
 *
 * by the triangle inequality on the expectation that docs/forwarding.md begins
 * with. Coefficients are fitted to data in one direction, whose error is a
 * convex quadratic; the bound is evaluated on rounds that the fit has not seen.
 */
#include "forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rounds first, first + stride, ... as arrivals. */
static enum pricer_status take_rounds(const int8_t *relays, int32_t nodes,
                                      int64_t rounds, int64_t first,
                                      int64_t stride,
                                      struct pri_arrivals **arrivals)
{
    struct pri_arrivals *made = NULL;
    int64_t count = (rounds - first + stride - 1) / stride;
    enum pricer_status status = pri_arrivals_new(nodes, count, &made);
    if (status != PRICER_OK)
        return status;
    for (int64_t k = 0; k < count; k++)
        for (int32_t i = 0; i < nodes; i++) {
            int level = relays[(first + k * stride) * nodes + i];
            size_t at = (size_t)(i * made->words + k / 64);
            for (int b = 0; b < PRI_LEVEL_BITS && level >= 0; b++)
                if ((level >> b & 1) == 0)
                    made->plane[b][at] &= ~(UINT64_C(1) << (k % 64));
        }
    *arrivals = made;
    return PRICER_OK;
}

/* n^2 W on rounds, its part by noise, and the variance of n^2 times the error
 * of data in one direction from round to round. */
struct error {
    double whole, noise, variance;
};

static double together(const struct pri_moments *of, int32_t i, int32_t l)
{
    int64_t count = 0;
    for (int64_t w = 0; w < of->words; w++)
        count += __builtin_popcountll(of->bits[i * of->words + w] &
                                      of->bits[l * of->words + w]);
    return (double)count / (double)of->patterns;
}

static struct error evaluate(const struct pri_moments *of,
                             const struct pri_senders *from, const double *c,
                             double *share, double *sums)
{
    struct error error = {0, 0, 0};
    double wanted = 0, mean = 0, square = 0;
    for (int32_t i = 0; i < of->nodes; i++) {
        share[i] = from->radius[i] * c[i];
        wanted += from->radius[i];
        error.noise += of->pi[i] * c[i] * c[i] * from->variance[i];
    }
    for (int32_t i = 0; i < of->nodes; i++)
        for (int32_t l = 0; l <= i; l++) {
            double cov = together(of, i, l) - of->pi[i] * of->pi[l];
            double bias = (of->pi[i] * share[i] - from->radius[i]) *
                          (of->pi[l] * share[l] - from->radius[l]);
            error.whole +=
                (l < i ? 2 : 1) * fabs(share[i] * share[l] * cov + bias);
        }
    error.whole += error.noise;
    pri_moments_sums(of, share, sums);
    for (int64_t k = 0; k < of->patterns; k++) {
        double one = (wanted - sums[k]) * (wanted - sums[k]);
        mean += one / (double)of->patterns;
        square += one * one / (double)of->patterns;
    }
    error.variance = fmax(square - mean * mean, 0);
    return error;
}

/* Fitted to one sample, evaluated on another. */
static enum pricer_status fit_and_evaluate(struct pri_arrivals *const half[2],
                                           const struct pri_senders *senders,
                                           int32_t hops, struct error *error)
{
    int32_t n = senders->nodes;
    struct pri_moments *of[2] = {NULL, NULL};
    uint64_t *bits[2] = {pri_alloc(n * half[0]->words, 8),
                         pri_alloc(n * half[1]->words, 8)};
    double *c = pri_alloc(2 * (int64_t)n, sizeof *c), unused, gap;
    double *sums = pri_alloc(64 * half[1]->words, sizeof *sums);
    enum pricer_status status =
        bits[0] && bits[1] && c && sums ? PRICER_OK : PRICER_MEMORY;
    for (int k = 0; k < 2 && status == PRICER_OK; k++)
        status = pri_moments_make(half[k], hops, bits[k], NULL, &of[k]);
    if (status == PRICER_OK)
        status = pri_forward_fit(of[0], senders, 0, c, &unused, &gap);
    if (status == PRICER_OK)
        *error = evaluate(of[1], senders, c, c + n, sums);
    for (int k = 0; k < 2; k++) {
        pri_moments_free(of[k]);
        free(bits[k]);
    }
    free(c);
    free(sums);
    return status;
}

/* The mean over both halves, each fitted to the other. */
static enum pricer_status cross(struct pri_arrivals *const half[2],
                                const struct pri_senders *senders, int32_t hops,
                                struct error *error)
{
    struct pri_arrivals *const swapped[2] = {half[1], half[0]};
    struct error one, other;
    enum pricer_status status = fit_and_evaluate(half, senders, hops, &one);
    if (status == PRICER_OK)
        status = fit_and_evaluate(swapped, senders, hops, &other);
    if (status == PRICER_OK)
        *error = (struct error){(one.whole + other.whole) / 2,
                                (one.noise + other.noise) / 2,
                                (one.variance + other.variance) / 2};
    return status;
}

/* Coefficients and arrivals from all rounds. */
static enum pricer_status fit_all(const struct pri_arrivals *all,
                                  const struct pri_senders *senders,
                                  int32_t hops, struct pri_forward_plan *plan)
{
    struct pri_moments *of = NULL;
    uint64_t *bits = pri_alloc(all->nodes * all->words, 8);
    double unused;
    enum pricer_status status =
        bits != NULL ? pri_moments_make(all, hops, bits, NULL, &of)
                     : PRICER_MEMORY;
    if (status == PRICER_OK)
        status = pri_forward_fit(of, senders, 0, plan->coefficient, &unused,
                                 &plan->gap);
    if (status == PRICER_OK)
        memcpy(plan->arrival, of->pi, (size_t)plan->nodes * sizeof(double));
    pri_moments_free(of);
    free(bits);
    return status;
}

/* The fewest relays that a node's release took; -1: it never arrived. */
static void find_relays(const int8_t *relays, int64_t rounds,
                        struct pri_forward_plan *plan)
{
    for (int32_t i = 0; i < plan->nodes; i++) {
        plan->distance[i] = -1;
        for (int64_t t = 0; t < rounds; t++) {
            int took = relays[t * plan->nodes + i];
            if (took >= 0 &&
                (plan->distance[i] < 0 || took < plan->distance[i]))
                plan->distance[i] = took;
        }
        plan->heard +=
            plan->distance[i] >= 0 && plan->distance[i] <= plan->hops;
    }
}

enum pricer_status pri_forward_plan_measured(const struct pri_senders *senders,
                                             const int8_t *relays,
                                             int64_t rounds, int32_t hops,
                                             struct pri_forward_plan **plan)
{
    double n = senders->nodes, perfect = 0;
    struct pri_arrivals *part[3] = {NULL, NULL, NULL}; /* halves, all */
    struct pri_forward_plan *made = NULL;
    struct error error = {0}, alone = {0};
    enum pricer_status status = pri_forward_plan_new(senders->nodes, &made);
    for (int k = 0; k < 3 && status == PRICER_OK; k++)
        status = take_rounds(relays, senders->nodes, rounds, k == 2 ? 0 : k,
                             k == 2 ? 1 : 2, &part[k]);
    if (status == PRICER_OK)
        status = fit_all(part[2], senders, hops, made);
    if (status == PRICER_OK)
        status = cross(part, senders, hops, &error);
    if (status == PRICER_OK)
        status = cross(part, senders, 0, &alone);
    if (status == PRICER_OK)
        status = pri_forward_perfect(senders, &perfect);
    if (status == PRICER_OK) {
        made->hops = hops;
        find_relays(relays, rounds, made);
        made->mse = error.whole / (n * n);
        made->mse_stderr = sqrt(error.variance / (double)rounds) / (n * n);
        made->noise = error.noise / (n * n);
        made->missing = made->mse - made->noise;
        made->mse_alone = alone.whole / (n * n);
        made->mse_perfect = perfect / (n * n);
        made->patterns = rounds;
        *plan = made;
    } else {
        pri_forward_plan_free(made);
    }
    for (int k = 0; k < 3; k++)
        pri_arrivals_free(part[k]);
    return status;
}
