/*
 * From a plan to how good it is: is it feasible, is it private, how far from
 * optimal.
 *
 * Nothing here is shared with the optimiser. The objective is computed from
 * weights and noise by the definition, the bound from the multipliers, both in
 * long double, and the gap is their plain difference.
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
 * With a budget of node i towards the server, sum_j m_ij <= M_i, and k_i >= 0,
 * the bound loses k_i M_i and a link costs a y^2 + b y^2 / m + k m in phi, with
 * b = 4 R^2 d / (p_j p_ij) and m at most M_i and its own budget. By the tangent
 * of y^2 / m at y = r m this is, for every r >= 0, at least
 *
 *     a y^2 + 2 b r y - max(0, b r^2 - k) most,
 *
 * again a quadratic: any r gives a bound, and the best of a few is taken.
 */
#include "verify.h"
#include "calibrate/calibrate.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* -------------------------------------------------------------- feasible -- */

static void check_numbers(struct pri_audit *audit)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    for (int32_t i = audit->low; i < audit->high; i++)
        if (!pri_is_amount(plan->self_weight[i]) ||
            !pri_is_amount(plan->self_noise[i])) {
            audit->certificate->feasible = false;
            pri_complain(audit, "the weight or noise", i, i,
                         plan->self_weight[i]);
        }
    for (int32_t l = net->out_start[audit->low];
         l < net->out_start[audit->high]; l++)
        if (!pri_is_amount(plan->weight[l]) || !pri_is_amount(plan->noise[l])) {
            audit->certificate->feasible = false;
            pri_complain(audit, "the weight or noise", net->from[l], net->to[l],
                         plan->weight[l]);
        }
}

/* S_i - 1 in units of the network's radius, and how many links it is the sum
 * of. */
static long double row_bias(const struct pri_audit *audit, int32_t i,
                            int *terms)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    long double sum = (long double)net->uplink[i] * plan->self_weight[i] - 1;
    *terms = 1;
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
        if (plan->weight[l] == 0)
            continue;
        sum +=
            (long double)net->uplink[net->to[l]] * net->p[l] * plan->weight[l];
        ++*terms;
    }
    return sum * pri_wanted(audit, i);
}

/* ------------------------------------------------------------- objective -- */

/* Add node j as a relay: what the links into it, and their noise, cost. */
static void add_relay(struct pri_audit *audit, int32_t j)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    long double uplink = net->uplink[j], dimension = net->dimension;
    long double carried = plan->self_weight[j] * pri_wanted(audit, j);
    long double spread = 0;
    long double noise = (long double)plan->self_noise[j] * plan->self_noise[j];
    for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
        int32_t l = net->in_link[k], back = net->partner[l];
        long double p = net->p[l];
        long double weight = plan->weight[l] * pri_wanted(audit, net->from[l]);
        carried += p * weight;
        spread += uplink * p * (1 - p) * weight * weight;
        noise += p * plan->noise[l] * plan->noise[l];
        if (back >= 0)
            spread += uplink * net->uplink[net->from[l]] *
                      (net->joint[l] - p * net->p[back]) * weight *
                      plan->weight[back] * pri_wanted(audit, j);
    }
    spread += uplink * (1 - uplink) * carried * carried;
    audit->objective += audit->square * spread + dimension * uplink * noise;
}

/*
 * The bias term. The weights are doubles, so an expected weight misses 1 by
 * rounding; what the l1 term asks for so small a bias is rounding too.
 */
static void add_bias(struct pri_audit *audit)
{
    enum pricer_bias kind = audit->settings->bias;
    struct pricer_certificate *certificate = audit->certificate;
    long double sum = 0, sizes = 0, squares = 0;
    for (int32_t i = audit->low; i < audit->high; i++) {
        int terms;
        long double bias = row_bias(audit, i, &terms), size = fabsl(bias);
        bool wrong = (kind == PRICER_BIAS_UNBIASED && size > 1e-9L) ||
                     (kind == PRICER_BIAS_WORST_CASE && bias > 1e-9L);
        if (wrong || isnan(bias)) {
            certificate->feasible = false;
            pri_complain(audit, "the bias", i, i, bias);
        }
        certificate->largest_bias =
            fmax(certificate->largest_bias, (double)size);
        if (size <= 0x1p-53L * (4 + 2 * terms))
            size = bias = 0;
        sum += bias;
        sizes += size;
        squares += bias * bias;
    }
    long double sums[] = {audit->objective, sum, sizes, squares};
    pri_verify_sum(audit, sums, 4);
    audit->objective = sums[0];
    sum = sums[1];
    sizes = sums[2];
    squares = sums[3];
    if (kind == PRICER_BIAS_WORST_CASE)
        audit->objective += audit->square * sizes * sizes;
    else
        audit->objective += audit->square * sum * sum;
    if (kind == PRICER_BIAS_L1)
        audit->objective += audit->penalty * sizes;
    if (kind == PRICER_BIAS_L2)
        audit->objective += audit->penalty * squares;
}

/* ----------------------------------------------------------------- bound -- */

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
    long double k;            /* of the node's server budget; 0: none */
    long double plain, noise; /* a and b, of cost = a + b / own limit */
    long double most;         /* the most that m may be */
    long double share;        /* y of the plan */
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

/* m that a noise slope of node i stands for, in the unit of its row: the same
 * for all its links and its budget. */
static long double ratio_limit(const struct pri_audit *audit, int32_t i,
                               double slope)
{
    long double ratio =
        slope > 0 ? 2 * pri_wanted(audit, i) / (long double)slope : INFINITY;
    return ratio * ratio * audit->square;
}

/* k_i, 0 where there is no budget or no multiplier of use. */
static long double budget_multiplier(const struct pri_audit *audit, int32_t i)
{
    const double *given = audit->plan->server_multiplier;
    if (audit->server_slope[i] == 0 || given == NULL || !(given[i] > 0) ||
        isinf(given[i]))
        return 0;
    return given[i];
}

static struct side link_side(const struct pri_audit *audit, int32_t i,
                             int32_t j, double p, double slope, double weight)
{
    const struct pricer_network *net = audit->network;
    long double arrive = (long double)net->uplink[j] * p;
    long double wanted = pri_wanted(audit, i), steep = slope / wanted;
    long double noise = steep * steep * net->dimension;
    struct side side = {.z = gain_of(audit, i) - price_of(audit, j),
                        .cost = (audit->square * (1 - (long double)p) + noise) /
                                arrive,
                        .cap = share_cap(audit, j),
                        .k = budget_multiplier(audit, i),
                        .share = arrive * weight * wanted};
    if (side.k > 0) {
        side.plain = audit->square * (1 - (long double)p) / arrive;
        side.noise = 4 * audit->square * net->dimension / arrive;
        side.most = fminl(ratio_limit(audit, i, slope),
                          ratio_limit(audit, i, audit->server_slope[i]));
    }
    return side;
}

/*
 * The quadratic below what a link with a server budget costs: with r for a link
 * whose own limit is loose, or, for one that it holds, with the r at which the
 * share would answer to z, less what the opposite link takes of it. Returns
 * what the quadratic is too small by.
 */
static long double tilt(struct side *side, bool held, long double taken)
{
    if (!(side->k > 0))
        return 0;
    long double r = sqrtl(side->k / side->noise);
    if (held) {
        long double cost = side->plain * side->most + side->noise;
        r = fmaxl(r, (side->z - taken) / (2 * cost));
    }
    side->z -= 2 * side->noise * r;
    side->cost = side->plain;
    return held ? fmaxl(0, side->noise * r * r - side->k) * side->most : 0;
}

/* phi of a pair, some of whose links have server budgets: the least of the
 * bounds that the choices of r give. */
static long double tilted_peak(const struct side *a, const struct side *b,
                               long double cross)
{
    long double least = INFINITY;
    if (!(a->k > 0 || b->k > 0))
        return pair_peak(a, b, cross);
    for (int choice = 0; choice < 4; choice++) {
        struct side one = *a, two = *b;
        long double extra = tilt(&one, choice & 1, cross * b->share) +
                            tilt(&two, choice & 2, cross * a->share);
        least = fminl(least, pair_peak(&one, &two, cross) + extra);
    }
    return least;
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
        a = link_side(audit, i, j, net->p[l], audit->slope[l],
                      audit->plan->weight[l]);
    if (back >= 0 && net->uplink[i] > 0 && net->p[back] > 0)
        b = link_side(audit, j, i, net->p[back], audit->slope[back],
                      audit->plan->weight[back]);
    if (back >= 0) {
        long double both = (long double)net->p[l] * net->p[back];
        if (both > 0) /* a part's network has links with p = 0 */
            cross = 2 * audit->square * fmaxl(0, net->joint[l] - both) / both;
    }
    return tilted_peak(&a, &b, cross);
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
    if (audit->server_slope[i] > 0)
        value -= budget_multiplier(audit, i) *
                 ratio_limit(audit, i, audit->server_slope[i]);
    if (uplink > 0) {
        struct side none = {.cost = 1};
        struct side own = link_side(audit, i, i, 1, audit->self_slope[i],
                                    plan->self_weight[i]);
        long double y = peak(own.z, own.cost, own.cap);
        value -= own.k > 0 ? tilted_peak(&own, &none, 0)
                           : (own.z - own.cost * y) * y;
    }
    if (uplink > 0 && uplink < 1 && isfinite(plan->relay_multiplier[i])) {
        long double crowd = audit->square * (1 - uplink) / uplink;
        long double u = plan->relay_multiplier[i];
        value -= u * u / (4 * crowd);
    }
    return value;
}

/* Lowered by what the rounding of so many terms can add up to. */
static void find_bound(struct pri_audit *audit)
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

/* ---------------------------------------------------------------- verify -- */

/* Ghosts are there for the sums, but judged by their owners: before their
 * links have weights. */
static void judge(struct pri_audit *audit, void (*meet_ghosts)(void *context),
                  void *context)
{
    check_numbers(audit);
    if (meet_ghosts != NULL) {
        pri_check_noise(audit);
        meet_ghosts(context);
    }
    for (int32_t j = audit->low; j < audit->high; j++)
        add_relay(audit, j);
    add_bias(audit);
    if (meet_ghosts == NULL)
        pri_check_noise(audit);
    pri_check_server(audit);
    find_bound(audit);
    pri_verify_conclude(audit);
}

enum pricer_status pri_verify_run(struct pri_audit *audit,
                                  void (*meet_ghosts)(void *context),
                                  void *context,
                                  struct pricer_certificate *certificate,
                                  struct pricer_fault *fault)
{
    const struct pricer_network *network = audit->network;
    const struct pricer_settings *settings = audit->settings;
    struct pricer_certificate found = {.feasible = true};
    long double nodes = audit->nodes;
    audit->certificate = &found;
    audit->threads = pri_threads(settings->threads, network->links);
    audit->square = (long double)network->radius * network->radius;
    for (int32_t i = audit->low; i < audit->high; i++)
        audit->wanted += pri_wanted(audit, i);
    pri_verify_sum(audit, &audit->wanted, 1);
    audit->penalty = nodes * nodes * settings->lambda;
    audit->slope = pri_alloc(network->links, sizeof(double));
    audit->self_slope = pri_alloc(network->nodes, sizeof(double));
    enum pricer_status status = PRICER_MEMORY;
    audit->server_slope = pri_alloc(network->nodes, sizeof(double));
    if (audit->slope != NULL && audit->self_slope != NULL &&
        audit->server_slope != NULL)
        status = pri_noise_slopes(network, settings, audit->slope,
                                  audit->self_slope, fault);
    if (status == PRICER_OK)
        status =
            pri_server_slopes(network, settings, audit->server_slope, fault);
    if (status == PRICER_OK) {
        judge(audit, meet_ghosts, context);
        *certificate = found;
    }
    free(audit->slope);
    free(audit->self_slope);
    free(audit->server_slope);
    return status;
}

enum pricer_status pricer_plan_verify(const struct pricer_network *network,
                                      const struct pricer_settings *settings,
                                      const struct pricer_plan *plan,
                                      struct pricer_certificate *certificate,
                                      struct pricer_fault *fault)
{
    struct pri_audit audit = {.network = network,
                              .settings = settings,
                              .plan = plan,
                              .high = network->nodes,
                              .nodes = network->nodes,
                              .links = network->links};
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan has %d nodes and %d links, the network %d "
                         "and %d",
                         (int)plan->nodes, (int)plan->links,
                         (int)network->nodes, (int)network->links);
    return pri_verify_run(&audit, NULL, NULL, certificate, fault);
}
