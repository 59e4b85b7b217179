/*
 * The round, from a node's data to the server's estimate, without sockets,
 * clock or randomness of its own.
 *
 * A message is an array of 64-bit integers; 1 stands for the grid step
 * g = 2^exponent. What node i sends to j is
 *
 *     trunc(weight clip(x) / g) + Y,   Y discrete Gaussian,
 *
 * a relay adds up what arrives and its own part, the server adds up what
 * arrives and multiplies by g / n. Sums of integers do not depend on the order
 * and leave nothing to a floating-point attack.
 *
 * Claim. Let M be this message and G = weight clip(x) + N(0, noise^2 I) the
 * mechanism of the plan and the privacy accounts, both as functions of the data
 * with sensitivity weight diameter (2 weight radius where any two data in the
 * ball are neighbours). Whatever (eps, delta) holds for G and all
 * neighbouring data in the ball holds for M with eps + 2 k and delta e^k + t, where
 * k < 10^-500 and t < 10^-800 for any dimension up to 2^63. The same is true
 * of everything computed from several messages: relays' sums, many rounds.
 *
 * Proof. (1) Sensitivity. Rounding towards zero shortens every coordinate, so
 * v = trunc(weight clip(x) / g) has |v| <= weight radius / g, and for two data
 * |v - v'| <= |v| + |v'| <= 2 weight radius / g. pri_place() holds v itself to the
 * bound, in integers, so no rounding in clipping or scaling matters.
 * (2) Noise. Y has variance s^2 >= (noise / g)^2 + 64. Send instead the
 * Gaussian c ~ N(v, (noise / g)^2 I), rounded at random: each coordinate to the
 * integer y with probability proportional to exp(-(y - c)^2 / 128). That is
 * G (on data scaled by 1 / g, with no more than its sensitivity) followed by
 * something that does not look at the data, hence as private as G. Its law is
 *
 *     integral over c of exp(-(c - v)^2 g^2 / (2 noise^2))
 *                        exp(-(y - c)^2 / 128) / D(c)
 *
 * per coordinate, D(c) = sum over integers of exp(-(k - c)^2 / 128), which by
 * Poisson summation is 8 sqrt(2 pi) (1 + r), |r| < 3 exp(-128 pi^2) < 10^-548.
 * With D constant the integral is exactly a discrete Gaussian around v with
 * variance (noise / g)^2 + 64, so the two laws are within a factor e^(+-k),
 * k = 4 dimension 10^-548, of each other: this changes eps and delta as
 * claimed. More noise than that only helps (add the difference in step c).
 * (3) The cut at 2048 standard deviations. 2 weight radius <= 1984 noise is
 * enforced by raising the noise where a plan asks for less (eps above a
 * million), so under either data the cut removes less than
 * dimension exp(-64^2 / 2) 2 < 10^-800 of the probability.
 *
 * (4) A diameter D < 2 radius. Projection onto the ball brings no two points
 * further apart, and rounding towards zero moves the difference of two
 * coordinates by less than 1, so without errors of floating point
 * |v - v'| <= weight D / g + sqrt(dimension). Lengths, products and the factor
 * that clips have relative errors below (2 dimension + 8) 2^-53. On a fine grid
 * pri_place() aims (3 dimension + 32) 2^-53 and two steps inside the ball; where it
 * does not, the steps by which it shrinks add up to at most twice what was too much,
 * and that is these errors and one step of the integer bound: together less than
 * 4 steps and (8 dimension + 64) 2^-53 weight radius / g for each of v and v'.
 * pri_sent_noise() multiplies the noise by what |v - v'| is more than weight D / g, so
 * the ratio of sensitivity to noise is that of G.
 *
 * A share without noise (full trust) is sent bare: rounding is all that happens
 * to it. The grid makes the estimate's error differ from the plan's by rounding
 * (less than one step a coordinate and message) and by 64 steps^2 more noise a
 * message; with grids of about 2^-40 radius neither is visible.
 */
#include "noise.h"

#include <math.h>
#include <stdlib.h>

enum { HONEST = 64 }; /* deviations that no honest message passes */

double pricer_round_noise(const struct pricer_slice *slice,
                          const struct pricer_share *share)
{
    return pri_sent_noise(
        &slice->grid,
        &(struct pri_sender){slice->radius, slice->diameter, slice->dimension},
        share->weight, share->noise);
}

/* Whether a link is used at all. */
static bool is_used(double weight, double noise)
{
    return weight != 0 || noise != 0;
}

/* Room for the slice and its shares. */
static struct pricer_slice *new_slice(int32_t count)
{
    struct pricer_slice *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->shares = pri_alloc(count, sizeof *made->shares);
    if (made->shares == NULL) {
        free(made);
        return NULL;
    }
    return made;
}

enum pricer_status pricer_slice_build(const struct pricer_network *network,
                                      const struct pricer_plan *plan,
                                      const struct pricer_grid *grid,
                                      int32_t node, struct pricer_slice **slice,
                                      struct pricer_fault *fault)
{
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    if (node < 0 || node >= network->nodes)
        return pri_fault(fault, PRICER_VALUE, "there is no node %d", (int)node);
    int32_t first = network->out_start[node];
    int32_t end = network->out_start[node + 1];
    struct pricer_slice *made = new_slice(end - first + 1);
    if (made == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    made->node = node;
    made->nodes = network->nodes;
    made->dimension = network->dimension;
    made->radius = network->node_radius[node];
    made->diameter = network->node_diameter[node];
    made->reach = network->reach;
    made->grid = *grid;
    made->parts = 1;
    for (int32_t k = network->in_start[node]; k < network->in_start[node + 1];
         k++) {
        int32_t l = network->in_link[k];
        made->parts += is_used(plan->weight[l], plan->noise[l]);
    }
    struct pricer_share own = {node, plan->self_weight[node],
                               plan->self_noise[node]};
    bool placed = !is_used(own.weight, own.noise);
    for (int32_t l = first; l < end; l++) {
        if (!placed && network->to[l] > node) {
            made->shares[made->count++] = own;
            placed = true;
        }
        if (is_used(plan->weight[l], plan->noise[l]))
            made->shares[made->count++] = (struct pricer_share){
                network->to[l], plan->weight[l], plan->noise[l]};
    }
    if (!placed)
        made->shares[made->count++] = own;
    *slice = made;
    return PRICER_OK;
}

void pricer_slice_free(struct pricer_slice *slice)
{
    if (slice == NULL)
        return;
    free(slice->shares);
    free(slice);
}

void pri_round_noise(struct pricer_random *random, uint64_t seed, int64_t round,
                     int32_t from, int32_t to)
{
    pricer_random_replay(random, seed, PRICER_PURPOSE_NOISE, round, from, to);
}

const struct pricer_share *pri_slice_find(const struct pricer_slice *slice,
                                          int32_t to)
{
    int32_t low = 0, high = slice->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (slice->shares[middle].to < to)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < slice->count && slice->shares[low].to == to;
    return found ? &slice->shares[low] : NULL;
}

/* The noise of a share on its grid: its variance plus the smoothing, rounded
 * up. */
static enum pricer_status prepare_noise(const struct pricer_slice *slice,
                                        const struct pricer_share *share,
                                        struct pri_noise *noise,
                                        struct pricer_fault *fault)
{
    double sigma =
        ldexp(pricer_round_noise(slice, share), -slice->grid.exponent);
    if (share->noise > 0)
        sigma = sqrt(sigma * sigma + PRI_GRID_SMOOTHING) * (1 + 0x1p-50);
    return pri_noise_prepare(sigma, noise, fault);
}

/* Refuse a share whose message could break the grid's limit. */
static enum pricer_status check_fit(const struct pricer_slice *slice,
                                    const struct pricer_share *share,
                                    struct pricer_fault *fault)
{
    enum pricer_status status =
        pri_share_check(share->weight, share->noise, fault);
    if (status != PRICER_OK)
        return status;
    const struct pricer_grid *grid = &slice->grid;
    if (!(slice->radius > 0) || isinf(slice->radius) || slice->dimension < 1)
        return pri_fault(fault, PRICER_VALUE,
                         "radius = %g and dimension = %lld are not both "
                         "positive",
                         slice->radius, (long long)slice->dimension);
    if (grid->exponent < -PRI_GRID_EXPONENTS ||
        grid->exponent > PRI_GRID_EXPONENTS || grid->limit <= PRI_GRID_SLACK ||
        grid->limit > INT64_C(1) << PRI_GRID_BITS)
        return pri_fault(fault, PRICER_VALUE,
                         "a grid of 2^%d with the limit %lld is not usable",
                         (int)grid->exponent, (long long)grid->limit);
    double size = pri_share_reach(
        share->weight, pricer_round_noise(slice, share), slice->radius);
    if (!(ldexp(size, -grid->exponent) <=
          (double)(grid->limit - PRI_GRID_SLACK)))
        return pri_fault(fault, PRICER_VALUE,
                         "weight %g and noise %g do not fit the grid 2^%d",
                         share->weight, share->noise, (int)grid->exponent);
    return PRICER_OK;
}

enum pricer_status pricer_round_share(const struct pricer_slice *slice,
                                      const struct pricer_share *share,
                                      const double *data,
                                      struct pricer_random *random,
                                      int64_t *message,
                                      struct pricer_fault *fault)
{
    struct pri_noise noise;
    enum pricer_status status = check_fit(slice, share, fault);
    if (status == PRICER_OK)
        status = prepare_noise(slice, share, &noise, fault);
    if (status == PRICER_OK &&
        !pri_place(data, slice->dimension, slice->radius,
                   ldexp(share->weight, -slice->grid.exponent), message))
        status =
            pri_fault(fault, PRICER_VALUE,
                      "the data of node %d holds a value that is not finite",
                      (int)slice->node);
    if (status == PRICER_OK)
        pri_noise_add(&noise, random, slice->dimension, message);
    return status;
}

/* The variance of a message's noise, in steps of the grid. */
static double find_variance(const struct pricer_grid *grid, double radius,
                            const struct pricer_share *share)
{
    if (!(share->noise > 0))
        return 0;
    double least =
        fmax(share->noise, 2 * share->weight * radius / PRI_GRID_STEEPEST);
    double steps = ldexp(least, -grid->exponent);
    return steps * steps + PRI_GRID_SMOOTHING;
}

int64_t pricer_round_limit(const struct pricer_grid *grid, double radius,
                           const struct pricer_share *share)
{
    if (!is_used(share->weight, share->noise))
        return 0;
    double deviation = sqrt(find_variance(grid, radius, share));
    double most = ldexp(share->weight * radius, -grid->exponent) +
                  HONEST * deviation * (1 + 0x1p-40) + 2;
    return most < (double)grid->limit ? (int64_t)ceil(most) : grid->limit;
}

/*
 * Proof. A message is a vector no longer than weight times radius, plus Y of
 * independent discrete Gaussians. Such a Y_k has E e^{tY_k} <= e^{v t^2 / 2}
 * with its parameter v (Canonne, Kamath, Steinke 2020), and so has a sum of
 * them with the sum of the parameters. With Z standard normal, for 2 l v < 1,
 *
 *     E e^{l Y_k^2} = E_Z E e^{sqrt(2 l) Z Y_k} <= (1 - 2 l v)^{-1/2},
 *
 * what a normal number has. So Laurent and Massart's bound for chi-square holds:
 *
 *     P(|Y|^2 > v (d + 2 sqrt(d t) + 2 t)) <= e^{-t},
 *
 * with t = 21: e^{-21} < 7.6e-10. The triangle's inequality adds the rest.
 */
double pricer_round_length(const struct pricer_grid *grid, double radius,
                           int64_t dimension, const struct pricer_share *shares,
                           int32_t count)
{
    const double t = 21, d = (double)dimension;
    double reach = 0, variance = 0;
    for (int32_t k = 0; k < count; k++) {
        reach += ldexp(shares[k].weight * radius, -grid->exponent);
        variance += find_variance(grid, radius, &shares[k]);
    }
    double length = reach + sqrt(variance * (d + 2 * sqrt(d * t) + 2 * t));
    return length * (1 + ((double)count + 8) * 0x1p-50);
}

/* Whether every value is at most `most` in size and can be added: one look at
 * all, without a branch. */
PRI_CLONES
static bool can_add(int64_t most, const int64_t *message, int64_t count,
                    const int64_t *sum)
{
    int64_t bad = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t total = (int64_t)((uint64_t)sum[k] + (uint64_t)message[k]);
        bad |= (sum[k] ^ total) & (message[k] ^ total); /* negative: overflow */
        bad |= message[k] > most || message[k] < -most ? -1 : 0;
    }
    return bad >= 0;
}

enum pricer_status pricer_round_add(const struct pricer_grid *grid,
                                    int32_t parts, const int64_t *message,
                                    int64_t count, int64_t *sum,
                                    struct pricer_fault *fault)
{
    int64_t most;
    if (parts < 1 || __builtin_mul_overflow(grid->limit, parts, &most))
        most = INT64_MAX;
    bool good = can_add(most, message, count, sum);
    for (int64_t k = 0; k < count && !good; k++) {
        int64_t total;
        if (message[k] > most || message[k] < -most ||
            __builtin_add_overflow(sum[k], message[k], &total))
            return pri_fault(fault, PRICER_VALUE,
                             "value %lld of a message is %lld: no sum of %d "
                             "messages can be that",
                             (long long)k, (long long)message[k], (int)parts);
    }
    for (int64_t k = 0; k < count; k++)
        sum[k] += message[k];
    return PRICER_OK;
}

void pricer_round_estimate(const struct pricer_grid *grid, int32_t nodes,
                           const int64_t *sum, int64_t count, double *estimate)
{
    for (int64_t k = 0; k < count; k++)
        estimate[k] = ldexp((double)sum[k], grid->exponent) / nodes;
}

void pricer_round_combine(const struct pricer_grid *grid, double coefficient,
                          const int64_t *sum, int64_t count, double *estimate)
{
    for (int64_t k = 0; k < count; k++)
        estimate[k] += coefficient * ldexp((double)sum[k], grid->exponent);
}
