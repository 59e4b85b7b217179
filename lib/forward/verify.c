/*
 * From a finished plan to whether it is what it says it is: every node keeps its
 * budget, coefficients and variances agree with the releases, and the error is not
 * larger than stated.
 *
 * Releases are recomputed by verify_release.c, once for each that differs. The
 * error is counted by the definition, in one pass over patterns of links: who
 * arrives is found by a search of one pattern, node by node. Over all patterns W,
 * the probabilities of arrival and the duality gap must agree with the plan; over
 * sampled ones the error of data in one direction, which is at most W, must not be
 * above it by 6 standard errors. Rounds of several attempts are sampled.
 */
#include "forward.h"
#include "pricer_forward.h"
#include "random/random.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Steps of searches: all patterns at most, or what samples may take. */
#define ALL_STEPS (INT64_C(1) << 26)
#define SAMPLE_STEPS (INT64_C(1) << 26)
enum { SAMPLE_MIN = 512, SAMPLE_MAX = 4096, SAMPLE_SEED = 2718281 };

#define CLOSE 1e-9 /* what numbers that are computed twice may differ by */

struct verify {
    const struct pricer_network *network;
    const struct pricer_forward_plan *plan;
    int64_t rounds;
    struct pricer_forward_check check;
};

static void __attribute__((format(printf, 2, 3)))
complain(struct verify *verify, const char *words, ...)
{
    va_list list;
    verify->check.good = false;
    if (verify->check.words[0] != '\0')
        return;
    va_start(list, words);
    vsnprintf(verify->check.words, sizeof verify->check.words, words, list);
    va_end(list);
}

/* -------------------------------------------------------------- releases -- */

/* A node's release and budget, for a radius of 1. */
struct held {
    struct pricer_forward_node release;
    double eps, delta;
    double diameter; /* in radii */
    int32_t node;
};

static int compare_held(const void *left, const void *right)
{
    const struct held *a = left, *b = right;
    const double x[] = {(double)a->release.release,
                        a->release.threshold,
                        a->release.loss,
                        a->release.noise,
                        a->eps,
                        a->delta,
                        a->diameter};
    const double y[] = {(double)b->release.release,
                        b->release.threshold,
                        b->release.loss,
                        b->release.noise,
                        b->eps,
                        b->delta,
                        b->diameter};
    for (size_t k = 0; k < sizeof x / sizeof *x; k++)
        if (x[k] != y[k])
            return x[k] < y[k] ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static bool is_same(const struct held *a, const struct held *b)
{
    return a->release.release == b->release.release &&
           a->release.threshold == b->release.threshold &&
           a->release.loss == b->release.loss &&
           a->release.noise == b->release.noise && a->eps == b->eps &&
           a->delta == b->delta && a->diameter == b->diameter;
}

/* Recompute one release; false if it cannot be one. */
static bool check_release(struct verify *verify, const struct held *held,
                          struct pri_release_check *found)
{
    if (!pri_release_recompute(
            &held->release, verify->network->dimension, held->diameter,
            &(struct pricer_budget){.eps = held->eps,
                                    .delta = held->delta,
                                    .rounds = verify->rounds},
            found))
        return false;
    double used = found->pure
                      ? (double)((held->release.loss + found->charge) *
                                 (long double)verify->rounds / held->eps)
                      : (double)(found->delta / held->delta);
    verify->check.used = fmax(verify->check.used, used);
    return true;
}

/* One node against the numbers of its release. */
static void check_node(struct verify *verify, const struct held *held,
                       const struct pri_release_check *found, bool known)
{
    int32_t i = held->node;
    const struct pricer_forward_node *node = &verify->plan->node[i];
    double radius = verify->network->node_radius[i];
    if (!known) {
        verify->check.violations++;
        complain(verify, "node %d has no release that can be checked", (int)i);
        return;
    }
    if (!found->pure && !(found->delta <= held->delta)) {
        verify->check.violations++;
        complain(verify,
                 "node %d: at eps = %.9g delta is %.9Lg over %lld rounds, and "
                 "its budget is %.9g",
                 (int)i, held->eps, found->delta, (long long)verify->rounds,
                 held->delta);
    }
    long double variance = found->variance * radius * radius;
    if (!(fabsl(node->variance - variance) <= CLOSE * variance))
        complain(verify, "node %d: the variance is %.12Lg, not %.12g", (int)i,
                 variance, node->variance);
}

static enum pricer_status check_releases(struct verify *verify)
{
    const struct pricer_network *net = verify->network;
    struct held *held = pri_alloc(net->nodes, sizeof *held);
    struct pri_release_check found = {0};
    bool known = false;
    if (held == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < net->nodes; i++) {
        held[i] = (struct held){verify->plan->node[i], net->everyone_eps[i],
                                net->everyone_delta[i],
                                net->node_diameter[i] / net->node_radius[i], i};
        held[i].release.noise /= net->node_radius[i];
    }
    qsort(held, (size_t)net->nodes, sizeof *held, compare_held);
    for (int32_t k = 0; k < net->nodes; k++) {
        if (k == 0 || !is_same(&held[k], &held[k - 1]))
            known = check_release(verify, &held[k], &found);
        check_node(verify, &held[k], &found, known);
    }
    free(held);
    return PRICER_OK;
}

/* -------------------------------------------------------------- arrivals -- */

/* What is found in patterns of links. */
struct count {
    struct verify *verify;
    bool *link, *uplink; /* [links] and [nodes], up or not */
    int32_t *level;  /* [nodes] relays that are needed; -1: does not arrive */
    double *arrived; /* [nodes] probability, or how often */
    double *slope;   /* [nodes] E a_i (sum - wanted), for the gradient */
    double wanted;   /* sum of the radii */
    double weight;   /* of all patterns together */
    double whole, square;
};

static void forget(struct count *count)
{
    for (int32_t i = 0; i < count->verify->network->nodes; i++)
        count->level[i] = -1;
}

/* Who arrives of those who hold a release when an attempt begins: from the server,
 * at most `hops` relays. What arrives from the attempt after it, which `level` has,
 * arrives from this one too. */
static void search(struct count *count)
{
    const struct pricer_network *net = count->verify->network;
    int32_t *level = count->level;
    for (int32_t i = 0; i < net->nodes; i++)
        if (count->uplink[i])
            level[i] = 0;
    for (int32_t h = 0; h < count->verify->plan->hops; h++)
        for (int32_t j = 0; j < net->nodes; j++) {
            if (level[j] != h)
                continue;
            for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
                int32_t l = net->in_link[k], i = net->from[l];
                if (count->link[l] && (level[i] < 0 || level[i] > h + 1))
                    level[i] = h + 1;
            }
        }
}

static void add_pattern(struct count *count, double weight)
{
    const struct pricer_network *net = count->verify->network;
    const struct pricer_forward_node *node = count->verify->plan->node;
    double off = -count->wanted, noise = 0;
    for (int32_t i = 0; i < net->nodes; i++) {
        if (count->level[i] < 0)
            continue;
        off += net->node_radius[i] * node[i].coefficient;
        noise += node[i].coefficient * node[i].coefficient * node[i].variance;
    }
    for (int32_t i = 0; i < net->nodes; i++) {
        count->arrived[i] += count->level[i] < 0 ? 0 : weight;
        count->slope[i] += count->level[i] < 0 ? 0 : weight * off;
    }
    double error = off * off + noise;
    count->weight += weight;
    count->whole += weight * error;
    count->square += weight * error * error;
}

/* Whether a link is the one of its pair that states of both are set with. */
static bool is_leader(const struct pricer_network *net, int32_t l)
{
    return net->partner[l] < 0 || net->partner[l] > l;
}

/* States of link l and, if there is one, its partner: up and up, up, partner up,
 * neither. */
static void pair_law(const struct pricer_network *net, int32_t l, double law[4])
{
    double p = net->p[l], other = 0, both = 0;
    if (net->partner[l] >= 0) {
        other = net->p[net->partner[l]];
        both = net->joint[l];
    }
    law[0] = both;
    law[1] = p - both;
    law[2] = other - both;
    law[3] = 1 - p - other + both;
}

static void set_pair(struct count *count, int32_t l, int state)
{
    int32_t back = count->verify->network->partner[l];
    count->link[l] = state < 2;
    if (back >= 0)
        count->link[back] = state % 2 == 0;
}

/* How many patterns have a probability above 0; at most `limit`. */
static int64_t count_patterns(const struct pricer_network *net, int64_t limit)
{
    int64_t patterns = 1;
    for (int32_t i = 0; i < net->nodes && patterns <= limit; i++)
        patterns *= net->uplink[i] > 0 && net->uplink[i] < 1 ? 2 : 1;
    for (int32_t l = 0; l < net->links && patterns <= limit; l++) {
        double law[4];
        int states = 0;
        if (!is_leader(net, l))
            continue;
        pair_law(net, l, law);
        for (int s = 0; s < 4; s++)
            states += law[s] > 0;
        patterns *= states;
    }
    return patterns;
}

/* All patterns: uplinks first, then pairs of links from number `l` on. */
static void enumerate(struct count *count, int32_t i, int32_t l, double weight)
{
    const struct pricer_network *net = count->verify->network;
    while (i == net->nodes && l < net->links && !is_leader(net, l))
        l++;
    if (i < net->nodes) {
        double up = net->uplink[i];
        count->uplink[i] = true;
        if (up > 0)
            enumerate(count, i + 1, l, weight * up);
        count->uplink[i] = false;
        if (up < 1)
            enumerate(count, i + 1, l, weight * (1 - up));
    } else if (l < net->links) {
        double law[4];
        pair_law(net, l, law);
        for (int state = 0; state < 4; state++) {
            if (!(law[state] > 0))
                continue;
            set_pair(count, l, state);
            enumerate(count, i, l + 1, weight * law[state]);
        }
    } else {
        forget(count);
        search(count);
        add_pattern(count, weight);
    }
}

static double uniform(struct pricer_random *random)
{
    return (double)(pricer_random_word(random) >> 11) * 0x1p-53;
}

static void draw_pattern(struct count *count, int64_t number)
{
    const struct pricer_network *net = count->verify->network;
    struct pricer_random random;
    pricer_random_replay(&random, SAMPLE_SEED, PRICER_PURPOSE_LINKS, number, 0,
                         0);
    for (int32_t i = 0; i < net->nodes; i++)
        count->uplink[i] = uniform(&random) < net->uplink[i];
    for (int32_t l = 0; l < net->links; l++) {
        double law[4], x;
        int state = 0;
        if (!is_leader(net, l))
            continue;
        pair_law(net, l, law);
        for (x = uniform(&random); state < 3 && x >= law[state]; state++)
            x -= law[state];
        set_pair(count, l, state);
    }
}

/* ----------------------------------------------------------------- error -- */

/*
 * The most that other coefficients could take off the error. In z = R c, with 0 <=
 * z <= R / pi, n^2 W is a quadratic whose gradient is 2 E a_i (sum - wanted) +
 * 2 pi v z / R^2, and its second derivatives are at least those of the noise alone,
 * 2 pi v / R^2 and no mixed ones: E[a a'] has no negative eigenvalue. So it nowhere
 * falls below a separate parabola for each node, whose minimum is known.
 */
static double find_gap(const struct count *count)
{
    const struct pricer_network *net = count->verify->network;
    double fall = 0;
    for (int32_t i = 0; i < net->nodes; i++) {
        const struct pricer_forward_node *node = &count->verify->plan->node[i];
        double pi = count->arrived[i], r = net->node_radius[i];
        double z = r * node->coefficient;
        double bend = 2 * pi * node->variance / (r * r);
        double slope = 2 * count->slope[i] + bend * z;
        if (!(pi > 0))
            continue;
        double step = slope > 0 ? fmin(z, slope / bend)
                                : -fmin(r / pi - z, -slope / bend);
        fall += step * (slope - bend * step / 2);
    }
    return fall / count->whole;
}

static void check_all(struct count *count)
{
    struct verify *verify = count->verify;
    const struct pricer_forward_plan *plan = verify->plan;
    double n = plan->nodes, error = count->whole / (n * n);
    verify->check.mse_one_sided = error;
    verify->check.gap = fmax(find_gap(count), 0);
    verify->check.patterns = 0;
    for (int32_t i = 0; i < plan->nodes; i++) {
        double pi = count->arrived[i], c = plan->node[i].coefficient;
        if (plan->patterns == 0 && !(fabs(pi - plan->node[i].arrival) <= CLOSE))
            complain(verify, "node %d arrives with probability %.9g, not %.9g",
                     (int)i, pi, plan->node[i].arrival);
        if (plan->patterns == 0 && !(c * pi <= 1 + CLOSE))
            complain(verify, "node %d has the coefficient %.9g above 1 / %.9g",
                     (int)i, c, pi);
    }
    double slack = plan->patterns == 0 ? CLOSE * error : 6 * plan->mse_stderr;
    if (!(error <= plan->mse_worst_case + slack))
        complain(verify, "the error is %.9g, not %.9g", error,
                 plan->mse_worst_case);
    if (plan->patterns == 0 && !(error >= plan->mse_worst_case - slack))
        complain(verify, "the error is %.9g, not %.9g", error,
                 plan->mse_worst_case);
    if (plan->patterns == 0 &&
        !(verify->check.gap <= fmax(1e-6, 10 * plan->gap)))
        complain(verify,
                 "other coefficients may lower the error by %.3g of it, "
                 "not %.3g",
                 verify->check.gap, plan->gap);
}

static void check_sample(struct count *count)
{
    struct verify *verify = count->verify;
    double n2 = (double)verify->plan->nodes * verify->plan->nodes;
    double mean = count->whole / count->weight;
    double spread = count->square / count->weight - mean * mean;
    double stderr_ = sqrt(fmax(spread, 0) / (count->weight - 1));
    verify->check.mse_one_sided = mean / n2;
    verify->check.mse_stderr = stderr_ / n2;
    verify->check.patterns = (int64_t)count->weight;
    double slack =
        6 * hypot(verify->check.mse_stderr, verify->plan->mse_stderr);
    if (!(verify->check.mse_one_sided <=
          verify->plan->mse_worst_case * (1 + CLOSE) + slack))
        complain(verify, "the error is %.6g +- %.2g on other rounds, not %.6g",
                 verify->check.mse_one_sided, verify->check.mse_stderr,
                 verify->plan->mse_worst_case);
}

/* Count the error again, as far as that is affordable. */
static enum pricer_status check_error(struct verify *verify)
{
    const struct pricer_network *net = verify->network;
    int64_t size = (int64_t)net->nodes + net->links;
    int64_t attempts = verify->plan->repeat > 1 ? verify->plan->repeat : 1;
    int64_t all = attempts > 1 ? INT64_MAX : count_patterns(net, ALL_STEPS);
    int64_t some = SAMPLE_STEPS / (size * attempts);
    some = some > SAMPLE_MAX ? SAMPLE_MAX : some;
    struct count count = {.verify = verify};
    if (all > ALL_STEPS / size && some < SAMPLE_MIN)
        return PRICER_OK;
    count.link = pri_alloc(net->links, sizeof *count.link);
    count.uplink = pri_alloc(net->nodes, sizeof *count.uplink);
    count.level = pri_alloc(net->nodes, sizeof *count.level);
    count.arrived = pri_alloc(net->nodes, sizeof *count.arrived);
    count.slope = pri_alloc(net->nodes, sizeof *count.slope);
    bool room = count.link && count.uplink && count.level && count.arrived &&
                count.slope;
    for (int32_t i = 0; i < net->nodes; i++)
        count.wanted += net->node_radius[i];
    if (room && all <= ALL_STEPS / size) {
        enumerate(&count, 0, 0, 1);
        check_all(&count);
    } else if (room) {
        for (int64_t k = 0; k < some; k++) {
            forget(&count);
            for (int64_t a = 0; a < attempts; a++) {
                draw_pattern(&count, k * attempts + a);
                search(&count);
            }
            add_pattern(&count, 1);
        }
        check_sample(&count);
    }
    free(count.link);
    free(count.uplink);
    free(count.level);
    free(count.arrived);
    free(count.slope);
    return room ? PRICER_OK : PRICER_MEMORY;
}

static void check_numbers(struct verify *verify)
{
    for (int32_t i = 0; i < verify->plan->nodes; i++) {
        const struct pricer_forward_node *node = &verify->plan->node[i];
        if (!pri_is_amount(node->coefficient) ||
            !pri_is_amount(node->variance) ||
            !(node->arrival >= 0 && node->arrival <= 1))
            complain(verify, "node %d: coefficient %g, variance %g, arrival %g",
                     (int)i, node->coefficient, node->variance, node->arrival);
    }
}

enum pricer_status pricer_forward_plan_verify(
    const struct pricer_network *network, int64_t rounds,
    const struct pricer_forward_plan *plan, bool releases_only,
    struct pricer_forward_check *check, struct pricer_fault *fault)
{
    struct verify verify = {
        .network = network,
        .plan = plan,
        .rounds = rounds > 0 ? rounds : 1,
        .check = {
            .good = true, .mse_one_sided = NAN, .mse_stderr = 0, .gap = NAN}};
    if (network->everyone_eps == NULL || plan->nodes != network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    check_numbers(&verify);
    enum pricer_status status = check_releases(&verify);
    if (status == PRICER_OK && !releases_only)
        status = check_error(&verify);
    if (status != PRICER_OK)
        return pri_fault(fault, status, "%s", pricer_status_text(status));
    *check = verify.check;
    return PRICER_OK;
}
