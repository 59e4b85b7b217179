/*
 * From a plan to what it is worth: is it feasible, is it private, how far from
 * optimal.
 *
 * Nothing here is shared with the optimiser. The objective is computed from
 * weights and noise by the definition, the bound from the multipliers, both in
 * long double, and the gap is their plain difference.
 *
 * The bound, times nodes^2: for any v (within the bias term's bounds), u and t,
 *
 *     sum b(v_i) - sum phi(v_i - u_j - t) - sum u_j^2 / (4 h_j)
 *                - t^2 / (4 R^2) - nodes t,
 *
 * phi(z) = max over 0 <= y <= cap of z y - q y^2 for a link; a pair of opposite
 * links is maximised together, with - c y y' between them. The cap is a
 * bound on the expected weight that any optimal plan can put on a link: see
 * share_cap().
 */
#include "calibrate/calibrate.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

struct audit {
    const struct pricer_network *network;
    const struct pricer_settings *settings;
    const struct pricer_plan *plan;
    struct pricer_certificate *certificate;
    int threads;
    double *slope, *self_slope;
    long double square;           /* radius^2 */
    long double penalty;          /* L = nodes^2 lambda */
    long double objective, bound; /* times nodes^2 */
    long double cap;
};

static void complain(struct audit *audit, const char *what, int32_t from,
                     int32_t to, long double value)
{
    struct pricer_certificate *certificate = audit->certificate;
    if (certificate->words[0] == '\0')
        snprintf(certificate->words, sizeof certificate->words,
                 "%s of %d,%d is %.9Lg", what, (int)from, (int)to, value);
}

/* -------------------------------------------------------------- feasible -- */

static void check_numbers(struct audit *audit)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    for (int32_t i = 0; i < net->nodes; i++)
        if (!pri_is_amount(plan->self_weight[i]) ||
            !pri_is_amount(plan->self_noise[i])) {
            audit->certificate->feasible = false;
            complain(audit, "the weight or noise", i, i, plan->self_weight[i]);
        }
    for (int32_t l = 0; l < net->links; l++)
        if (!pri_is_amount(plan->weight[l]) || !pri_is_amount(plan->noise[l])) {
            audit->certificate->feasible = false;
            complain(audit, "the weight or noise", net->from[l], net->to[l],
                     plan->weight[l]);
        }
}

/* S_i - 1, and how many links it is the sum of. */
static long double row_bias(const struct audit *audit, int32_t i, int *terms)
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
    return sum;
}

/* --------------------------------------------------------------- private -- */

/* Whether what the noise leaves of a weight is within the budget. */
static bool within_budget(const struct audit *audit, double weight,
                          double noise, double eps, double delta, double p,
                          struct pri_rounds *law)
{
    if (weight == 0 || isinf(eps) || delta >= 1)
        return true;
    if (!(noise > 0) || !(weight > 0))
        return false;
    const struct pricer_budget budget = {
        .eps = eps, .delta = delta, .rounds = audit->settings->rounds, .p = p};
    return pri_budget_holds(
        &budget, 2 * (long double)audit->network->radius * weight / noise, law);
}

/* With how much probability a packet of the link counts: surely, unless losses
 * have credit. */
static double counted(const struct audit *audit, int64_t l)
{
    return audit->settings->credit == PRICER_CREDIT_LOSSES
               ? audit->network->p[l]
               : 1;
}

/* Count the links whose noise is below their budget's, and name the first. A
 * node's own part counts in every round, heard by the server or not. */
static void check_noise(struct audit *audit)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    int64_t open = 0, first = INT64_MAX, nodes = net->nodes;
#pragma omp parallel num_threads(audit->threads) reduction(+ : open)           \
    reduction(min : first)
    {
        struct pri_rounds law = {0};
#pragma omp for schedule(dynamic, 4096)
        for (int64_t k = 0; k < nodes + net->links; k++) {
            int64_t l = k - nodes;
            bool good =
                l < 0 ? within_budget(audit, plan->self_weight[k],
                                      plan->self_noise[k], net->self_eps[k],
                                      net->self_delta[k], 1, &law)
                      : within_budget(audit, plan->weight[l], plan->noise[l],
                                      net->eps[l], net->delta[l],
                                      counted(audit, l), &law);
            open += !good;
            first = good || first < k ? first : k;
        }
        pri_rounds_free(&law);
    }
    audit->certificate->open_links = open;
    if (first < nodes)
        complain(audit, "too small for its budget, the noise", (int32_t)first,
                 (int32_t)first, plan->self_noise[first]);
    else if (open > 0)
        complain(audit, "too small for its budget, the noise",
                 net->from[first - nodes], net->to[first - nodes],
                 plan->noise[first - nodes]);
}

/* ------------------------------------------------------------- objective -- */

/* Add node j as a relay: what the links into it, and their noise, cost. */
static void add_relay(struct audit *audit, int32_t j)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    long double uplink = net->uplink[j], dimension = net->dimension;
    long double carried = plan->self_weight[j], spread = 0;
    long double noise = (long double)plan->self_noise[j] * plan->self_noise[j];
    for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
        int32_t l = net->in_link[k], back = net->partner[l];
        long double p = net->p[l], weight = plan->weight[l];
        carried += p * weight;
        spread += uplink * p * (1 - p) * weight * weight;
        noise += p * plan->noise[l] * plan->noise[l];
        if (back >= 0)
            spread += uplink * net->uplink[net->from[l]] *
                      (net->joint[l] - p * net->p[back]) * weight *
                      plan->weight[back];
    }
    spread += uplink * (1 - uplink) * carried * carried;
    audit->objective += audit->square * spread + dimension * uplink * noise;
}

/*
 * The bias term. The weights are doubles, so an expected weight misses 1 by
 * rounding; what the l1 term asks for so small a bias is rounding too.
 */
static void add_bias(struct audit *audit)
{
    const struct pricer_network *net = audit->network;
    enum pricer_bias kind = audit->settings->bias;
    struct pricer_certificate *certificate = audit->certificate;
    long double sum = 0, sizes = 0, squares = 0;
    for (int32_t i = 0; i < net->nodes; i++) {
        int terms;
        long double bias = row_bias(audit, i, &terms), size = fabsl(bias);
        bool wrong = (kind == PRICER_BIAS_UNBIASED && size > 1e-9L) ||
                     (kind == PRICER_BIAS_WORST_CASE && bias > 1e-9L);
        if (wrong || isnan(bias)) {
            certificate->feasible = false;
            complain(audit, "the bias", i, i, bias);
        }
        certificate->largest_bias =
            fmax(certificate->largest_bias, (double)size);
        if (size <= 0x1p-53L * (4 + 2 * terms))
            size = bias = 0;
        sum += bias;
        sizes += size;
        squares += bias * bias;
    }
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
 * R^2 (sum - nodes)^2.
 */
static long double share_cap(const struct audit *audit, int32_t j)
{
    long double uplink = audit->network->uplink[j];
    long double crowd = audit->square * (1 - uplink) / uplink;
    return crowd > 0 ? fminl(audit->cap, sqrtl(audit->objective / crowd))
                     : audit->cap;
}

static void set_cap(struct audit *audit)
{
    long double objective = audit->objective, penalty = audit->penalty;
    audit->cap = audit->network->nodes + sqrtl(objective / audit->square);
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

static long double worth_of(const struct audit *audit, int32_t i)
{
    long double worth = audit->plan->row_multiplier[i];
    long double penalty = audit->penalty;
    if (!isfinite(worth))
        worth = 0;
    if (audit->settings->bias == PRICER_BIAS_WORST_CASE)
        return fminl(worth, 0);
    if (audit->settings->bias == PRICER_BIAS_L1)
        return fmaxl(-penalty, fminl(penalty, worth));
    if (audit->settings->bias == PRICER_BIAS_L2 && penalty == 0)
        return 0;
    return worth;
}

/* u_j + t. */
static long double price_of(const struct audit *audit, int32_t j)
{
    const struct pricer_plan *plan = audit->plan;
    long double sum = audit->settings->bias == PRICER_BIAS_UNBIASED
                          ? 0
                          : plan->sum_multiplier;
    if (audit->network->uplink[j] >= 1 || !isfinite(plan->relay_multiplier[j]))
        return sum;
    return sum + plan->relay_multiplier[j];
}

static struct side link_side(const struct audit *audit, int32_t i, int32_t j,
                             double p, double slope)
{
    const struct pricer_network *net = audit->network;
    long double arrive = (long double)net->uplink[j] * p;
    long double noise = (long double)slope * slope * net->dimension;
    return (struct side){worth_of(audit, i) - price_of(audit, j),
                         (audit->square * (1 - (long double)p) + noise) /
                             arrive,
                         share_cap(audit, j)};
}

/* phi of one link, or of the pair it leads; nothing where it follows. */
static long double link_peak(const struct audit *audit, int32_t l)
{
    const struct pricer_network *net = audit->network;
    int32_t i = net->from[l], j = net->to[l], back = net->partner[l];
    struct side none = {0, 1, 0}, a = none, b = none;
    long double cross = 0;
    if (back >= 0 && j < i)
        return 0;
    if (net->uplink[j] > 0)
        a = link_side(audit, i, j, net->p[l], audit->slope[l]);
    if (back >= 0 && net->uplink[i] > 0)
        b = link_side(audit, j, i, net->p[back], audit->slope[back]);
    if (back >= 0) {
        long double both = (long double)net->p[l] * net->p[back];
        cross = 2 * audit->square * fmaxl(0, net->joint[l] - both) / both;
    }
    return pair_peak(&a, &b, cross);
}

/* The node's part of the bound. */
static long double node_bound(const struct audit *audit, int32_t i)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    long double worth = worth_of(audit, i), value = worth;
    long double uplink = net->uplink[i], penalty = audit->penalty;
    if (audit->settings->bias == PRICER_BIAS_L2)
        value = penalty > 0 ? worth - worth * worth / (4 * penalty) : 0;
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

/* Lowered by what the rounding of so many terms can add up to. */
static void find_bound(struct audit *audit)
{
    const struct pricer_network *net = audit->network;
    long double bound = 0, size = 0, sum = audit->plan->sum_multiplier;
    set_cap(audit);
    for (int32_t i = 0; i < net->nodes; i++) {
        long double part = node_bound(audit, i);
        bound += part;
        size += fabsl(part);
    }
    for (int32_t l = 0; l < net->links; l++) {
        long double part = link_peak(audit, l);
        bound -= part;
        size += fabsl(part);
    }
    if (audit->settings->bias != PRICER_BIAS_UNBIASED) {
        bound -= sum * sum / (4 * audit->square) + net->nodes * sum;
        size += sum * sum / (4 * audit->square) + net->nodes * fabsl(sum);
    }
    long double terms = (long double)net->nodes + net->links;
    audit->bound =
        bound - (terms + 64) * LDBL_EPSILON * (size + audit->objective);
}

/* ---------------------------------------------------------------- verify -- */

static void conclude(struct audit *audit)
{
    struct pricer_certificate *certificate = audit->certificate;
    long double nodes = audit->network->nodes, unit = nodes * nodes;
    long double least = 1e-7L * audit->square * nodes;
    long double gap =
        (audit->objective - audit->bound) / fmaxl(audit->objective, least);
    certificate->objective = (double)(audit->objective / unit);
    certificate->bound = (double)(audit->bound / unit);
    certificate->gap = isnan(gap) ? INFINITY : (double)fmaxl(0, gap);
    if (!certificate->feasible)
        certificate->gap = INFINITY;
}

enum pricer_status pricer_plan_verify(const struct pricer_network *network,
                                      const struct pricer_settings *settings,
                                      const struct pricer_plan *plan,
                                      struct pricer_certificate *certificate,
                                      struct pricer_fault *fault)
{
    struct pricer_certificate found = {.feasible = true};
    struct audit audit = {.network = network,
                          .settings = settings,
                          .plan = plan,
                          .certificate = &found};
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan has %d nodes and %d links, the network %d "
                         "and %d",
                         (int)plan->nodes, (int)plan->links,
                         (int)network->nodes, (int)network->links);
    long double nodes = network->nodes;
    audit.threads = pri_threads(settings->threads, network->links);
    audit.square = (long double)network->radius * network->radius;
    audit.penalty = nodes * nodes * settings->lambda;
    audit.slope = pri_alloc(network->links, sizeof(double));
    audit.self_slope = pri_alloc(network->nodes, sizeof(double));
    enum pricer_status status = PRICER_MEMORY;
    if (audit.slope != NULL && audit.self_slope != NULL)
        status = pri_noise_slopes(network, settings, audit.slope,
                                  audit.self_slope, fault);
    if (status == PRICER_OK) {
        check_numbers(&audit);
        for (int32_t j = 0; j < network->nodes; j++)
            add_relay(&audit, j);
        add_bias(&audit);
        check_noise(&audit);
        find_bound(&audit);
        conclude(&audit);
        *certificate = found;
    }
    free(audit.slope);
    free(audit.self_slope);
    return status;
}
