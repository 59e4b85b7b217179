/*
 * From the multipliers of a plan to a bound below every plan's objective.
 *
 * The bound, times nodes^2: for any v (within the bias term's bounds), u and t,
 *
 *     sum b(v_i) - sum phi(v_i - u_j - t) - sum u_j^2 / (4 h_j)
 *                - t^2 / (4 R^2) - t sum R_i / R,
 *
 * phi(z) = max over 0 <= y <= cap of z y - q y^2 for a link; a pair of opposite
 * links is maximised together, with - c y y' between them. The cap is a
 * bound on the expected weight that any optimal plan can put on a link: see
 * share_cap().
 *
 * Slopes hold the budgets towards the server, each divided evenly among the
 * links of its node: the bound is of plans that divide them so.
 */
#include "verify.h"

#include <float.h>
#include <math.h>

/*
 * The most that an optimal plan can put on a link into relay j: each term of
 * the objective is at most the objective of any plan, this one for example. The
 * row is bounded by the bias term, T_j by h_j T_j^2, the sum of all by
 * R^2 (sum - wanted)^2, and no node wants more than 1.
 */
static long double share_cap(const struct pri_audit *audit, int32_t j)
{
    long double uplink = audit->network->uplink[j];
    long double crowd = audit->square * (1 - uplink) / uplink;
    return crowd > 0 ? fminl(audit->cap, sqrtl(audit->objective / crowd))
                     : audit->cap;
}

static void set_cap(struct pri_audit *audit)
{
    long double objective = audit->objective, penalty = audit->penalty;
    audit->cap = audit->nodes + sqrtl(objective / audit->square);
    switch (audit->settings->bias) {
    case PRICER_BIAS_UNBIASED:
    case PRICER_BIAS_WORST_CASE:
        audit->cap = 1;
        break;
    case PRICER_BIAS_L1:
        if (penalty > 0)
            audit->cap = fminl(audit->cap, 1 + objective / penalty);
        break;
    case PRICER_BIAS_L2:
        if (penalty > 0)
            audit->cap = fminl(audit->cap, 1 + sqrtl(objective / penalty));
        break;
    }
}

/* One side of a pair, or a link alone. */
struct side {
    long double z, cost, cap;
};

/* Where z y - q y^2 is largest on [0, cap]. */
static long double peak(long double z, long double cost, long double cap)
{
    if (z <= 0)
        return 0;
    return 2 * cost * cap <= z ? cap : z / (2 * cost);
}

static long double pair_value(const struct side *a, const struct side *b,
                              long double cross, long double y, long double w)
{
    return (a->z - a->cost * y) * y + (b->z - b->cost * w) * w - cross * y * w;
}

/* phi of a pair: a concave function is largest inside the box or on one of its
 * four edges. */
static long double pair_peak(const struct side *a, const struct side *b,
                             long double cross)
{
    long double most = 0, ends[2][2] = {{0, a->cap}, {0, b->cap}};
    for (int k = 0; k < 2; k++) {
        long double y = ends[0][k], w = ends[1][k];
        long double along_b = peak(b->z - cross * y, b->cost, b->cap);
        long double along_a = peak(a->z - cross * w, a->cost, a->cap);
        most = fmaxl(most, pair_value(a, b, cross, y, along_b));
        most = fmaxl(most, pair_value(a, b, cross, along_a, w));
    }
    long double det = 4 * a->cost * b->cost - cross * cross;
    if (det > 0) {
        long double y = (2 * b->cost * a->z - cross * b->z) / det;
        long double w = (2 * a->cost * b->z - cross * a->z) / det;
        if (y >= 0 && y <= a->cap && w >= 0 && w <= b->cap)
            most = fmaxl(most, pair_value(a, b, cross, y, w));
    }
    return most;
}

static long double gain_of(const struct pri_audit *audit, int32_t i)
{
    long double gain = audit->plan->row_multiplier[i];
    long double penalty = audit->penalty;
    if (!isfinite(gain))
        gain = 0;
    if (audit->settings->bias == PRICER_BIAS_WORST_CASE)
        return fminl(gain, 0);
    if (audit->settings->bias == PRICER_BIAS_L1)
        return fmaxl(-penalty, fminl(penalty, gain));
    if (audit->settings->bias == PRICER_BIAS_L2 && penalty == 0)
        return 0;
    return gain;
}

/* u_j + t. */
static long double price_of(const struct pri_audit *audit, int32_t j)
{
    const struct pricer_plan *plan = audit->plan;
    long double sum = audit->settings->bias == PRICER_BIAS_UNBIASED
                          ? 0
                          : plan->sum_multiplier;
    if (audit->network->uplink[j] >= 1 || !isfinite(plan->relay_multiplier[j]))
        return sum;
    return sum + plan->relay_multiplier[j];
}

static struct side link_side(const struct pri_audit *audit, int32_t i,
                             int32_t j, double p, double slope)
{
    const struct pricer_network *net = audit->network;
    long double arrive = (long double)net->uplink[j] * p;
    long double wanted = pri_wanted(audit, i), steep = slope / wanted;
    long double noise = steep * steep * net->dimension;
    return (struct side){
        .z = gain_of(audit, i) - price_of(audit, j),
        .cost = (audit->square * (1 - (long double)p) + noise) / arrive,
        .cap = share_cap(audit, j)};
}

/* phi of one link, or of the pair it leads; nothing where it follows. */
static long double link_peak(const struct pri_audit *audit, int32_t l)
{
    const struct pricer_network *net = audit->network;
    int32_t i = net->from[l], j = net->to[l], back = net->partner[l];
    struct side none = {.cost = 1}, a = none, b = none;
    long double cross = 0;
    if (back >= 0 && j < i)
        return 0;
    if (net->uplink[j] > 0 && net->p[l] > 0)
        a = link_side(audit, i, j, net->p[l], audit->slope[l]);
    if (back >= 0 && net->uplink[i] > 0 && net->p[back] > 0)
        b = link_side(audit, j, i, net->p[back], audit->slope[back]);
    if (back >= 0) {
        long double both = (long double)net->p[l] * net->p[back];
        if (both > 0) /* a part's network has links with p = 0 */
            cross = 2 * audit->square * fmaxl(0, net->joint[l] - both) / both;
    }
    return pair_peak(&a, &b, cross);
}

/* The node's part of the bound. */
static long double node_bound(const struct pri_audit *audit, int32_t i)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    long double gain = gain_of(audit, i), wanted = pri_wanted(audit, i);
    long double value = gain * wanted;
    long double uplink = net->uplink[i], penalty = audit->penalty;
    if (audit->settings->bias == PRICER_BIAS_L2)
        value = penalty > 0 ? value - gain * gain / (4 * penalty) : 0;
    if (uplink > 0) {
        struct side own = link_side(audit, i, i, 1, audit->self_slope[i]);
        long double y = peak(own.z, own.cost, own.cap);
        value -= (own.z - own.cost * y) * y;
    }
    if (uplink > 0 && uplink < 1 && isfinite(plan->relay_multiplier[i])) {
        long double crowd = audit->square * (1 - uplink) / uplink;
        long double u = plan->relay_multiplier[i];
        value -= u * u / (4 * crowd);
    }
    return value;
}

void pri_verify_bound(struct pri_audit *audit)
{
    const struct pricer_network *net = audit->network;
    long double bound = 0, size = 0, sum = audit->plan->sum_multiplier;
    set_cap(audit);
    for (int32_t i = audit->low; i < audit->high; i++) {
        long double part = node_bound(audit, i);
        bound += part;
        size += fabsl(part);
    }
    for (int32_t l = net->out_start[audit->low];
         l < net->out_start[audit->high]; l++) {
        long double part = link_peak(audit, l);
        bound -= part;
        size += fabsl(part);
    }
    long double sums[] = {bound, size};
    pri_verify_sum(audit, sums, 2);
    bound = sums[0];
    size = sums[1];
    if (audit->settings->bias != PRICER_BIAS_UNBIASED) {
        bound -= sum * sum / (4 * audit->square) + audit->wanted * sum;
        size += sum * sum / (4 * audit->square) + audit->wanted * fabsl(sum);
    }
    long double terms = (long double)audit->nodes + audit->links;
    audit->bound =
        bound - (terms + 64) * LDBL_EPSILON * (size + audit->objective);
}
