/*
 * From a network and its releases to a plan: the number of hops, the
 * coefficients, and the worst case W with its standard error.
 *
 * Small networks are exact: all patterns are enumerated. Otherwise the
 * coefficients are fitted to one sample of rounds and W is measured on another,
 * so that the fit's luck does not count.
 *
 * W is the worst case over all data if no node is counted more than once on
 * average, pi_i c_i <= 1: then all biases have one sign, arrivals are
 * non-negatively correlated (Harris), and data in one direction are the worst.
 * The fit keeps pi_i c_i <= 1 on its own sample. What the other sample says
 * against that is added: with b_i = pi_i c_i - 1 no data has more than
 *
 *     n^2 W = Var(sum R_i a_i c_i) + (sum R_i |b_i|)^2 + sum pi_i c_i^2 v_i.
 */
#include "forward.h"
#include "network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Patterns that are enumerated, times nodes; draws of links in a sample; and the
 * bounds of a sample. A draw takes about a nanosecond. */
#define ENUMERATED (INT64_C(1) << 24)
#define DRAWS (INT64_C(1) << 29)
enum { PATTERNS_MIN = 256, FIT_MAX = 1 << 17, FRESH_MAX = 1 << 20 };

/* A number of patterns within bounds, in whole groups where it is more than
 * one. */
static int64_t clamp_patterns(int64_t count, int64_t max)
{
    count = count > max ? max : count < PATTERNS_MIN ? PATTERNS_MIN : count;
    return count >= 512 ? count / 512 * 512 : PATTERNS_MIN;
}

struct planning {
    const struct pricer_network *network;
    const struct pri_senders *senders;
    const struct pri_forward_settings *settings;
    struct pri_forward_plan *plan;
    struct pri_arrivals *arrivals; /* of the fit */
    uint64_t *bits;
    struct pri_team *team;
    bool exact; /* the objective of the fit is W */
};

static int32_t attempts_of(const struct pri_forward_settings *settings)
{
    return settings->attempts > 0 ? settings->attempts : 1;
}

/* As many as the draws allow, and the work of moments or of their products. */
static int64_t fit_patterns(const struct pricer_network *net, int32_t attempts)
{
    int64_t nodes = net->nodes;
    int64_t count = DRAWS / ((nodes + net->links) * attempts);
    int64_t work = nodes <= PRI_DENSE_MAX ? (INT64_C(1) << 34) / (nodes * nodes)
                                          : (INT64_C(1) << 25) / nodes;
    return clamp_patterns(work < count ? work : count, FIT_MAX);
}

/* The sample of the fit, up to as many hops as may be asked about. */
static enum pricer_status sample(struct planning *work)
{
    const struct pricer_network *net = work->network;
    const struct pri_forward_settings *ask = work->settings;
    int32_t hops = ask->hops >= 0 ? ask->hops : PRI_HOPS_ENOUGH;
    int32_t attempts = attempts_of(ask);
    work->exact =
        pri_arrivals_count(net, attempts, ENUMERATED / net->nodes) > 0;
    enum pricer_status status =
        work->exact
            ? pri_arrivals_enumerate(net, hops, attempts, &work->arrivals)
            : pri_arrivals_draw(net,
                                &(struct pri_arrivals_settings){
                                    .seed = ask->seed,
                                    .first = PRI_PLANNING_GROUP,
                                    .patterns = fit_patterns(net, attempts),
                                    .hops = hops,
                                    .attempts = attempts,
                                    .threads = ask->threads,
                                    .watch = ask->watch},
                                &work->arrivals);
    if (status != PRICER_OK)
        return status;
    work->bits = pri_alloc(net->nodes * work->arrivals->words, 8);
    return work->bits == NULL ? PRICER_MEMORY : PRICER_OK;
}

/* Fit within `hops`; the plan gets coefficients, arrivals and gap. */
static enum pricer_status fit(struct planning *work, int32_t hops,
                              double tolerance, double *objective)
{
    struct pri_moments *moments = NULL;
    struct pri_forward_plan *plan = work->plan;
    enum pricer_status status = pri_moments_make(
        work->arrivals, hops, work->bits, work->team, &moments);
    if (status != PRICER_OK)
        return status;
    status = pri_forward_fit(moments, work->senders, tolerance,
                             plan->coefficient, objective, &plan->gap);
    memcpy(plan->arrival, moments->pi, (size_t)plan->nodes * sizeof(double));
    plan->hops = hops;
    pri_moments_free(moments);
    return status;
}

void pri_forward_uplinks(const struct pricer_network *network, int32_t attempts,
                         double *arrival)
{
    for (int32_t i = 0; i < network->nodes; i++)
        arrival[i] = attempts > 1
                         ? -expm1(attempts * log1p(-network->uplink[i]))
                         : network->uplink[i];
}

/* Without relays: exact for networks of any size. */
static void fit_alone(struct planning *work, double *objective)
{
    struct pri_forward_plan *plan = work->plan;
    pri_forward_uplinks(work->network, attempts_of(work->settings),
                        plan->arrival);
    pri_forward_fit_alone(work->senders, plan->arrival, plan->coefficient,
                          objective, &plan->gap);
    plan->hops = 0;
}

#define CHOICE 1e-4 /* errors are compared to 1 % */

/* W falls with every hop: the fewest hops within 1 % of the most, by halving,
 * or those that were asked for. */
static enum pricer_status choose_hops(struct planning *work, double *objective)
{
    double n2 = (double)work->plan->nodes * work->plan->nodes, alone, best;
    int32_t low = 0, high = work->settings->hops;
    enum pricer_status status = PRICER_OK;
    fit_alone(work, &alone);
    work->plan->mse_alone = alone / n2;
    if (high < 0) {
        high = PRI_HOPS_ENOUGH;
        status = fit(work, high, CHOICE, &best);
        if (alone <= 1.01 * best)
            high = 0;
        while (status == PRICER_OK && high - low > 1) {
            int32_t middle = (low + high) / 2;
            status = fit(work, middle, CHOICE, objective);
            if (*objective <= 1.01 * best)
                high = middle;
            else
                low = middle;
        }
    }
    if (status == PRICER_OK && high > 0)
        return fit(work, high, 0, objective);
    fit_alone(work, objective);
    work->exact = true;
    return status;
}

/* ----------------------------------------------------------------- error -- */

/* Sums over fresh rounds. */
struct tally {
    double count, noise;
    double whole, whole_square; /* n^2 times the error, and its square */
    double *arrived;            /* [nodes] how often */
    double *weight, *variance;  /* [nodes] R c and c^2 v */
};

static void add_round(struct tally *tally, double wanted, double total,
                      double noise)
{
    double error = (total - wanted) * (total - wanted) + noise;
    tally->count++;
    tally->noise += noise;
    tally->whole += error;
    tally->whole_square += error * error;
}

static enum pricer_status tally_chunk(struct planning *work, int64_t first,
                                      int64_t patterns, double wanted,
                                      struct tally *tally)
{
    const struct pri_forward_settings *ask = work->settings;
    struct pri_arrivals *fresh = NULL;
    struct pri_moments of = {.nodes = work->plan->nodes, .team = work->team};
    double *total = NULL, *noise = NULL;
    enum pricer_status status = pri_arrivals_draw(
        work->network,
        &(struct pri_arrivals_settings){.seed = ask->seed,
                                        .first = first,
                                        .patterns = patterns,
                                        .hops = work->plan->hops,
                                        .attempts = ask->attempts,
                                        .threads = ask->threads},
        &fresh);
    if (status != PRICER_OK)
        return status;
    uint64_t *bits = pri_alloc(fresh->nodes * fresh->words, 8);
    total = pri_alloc(64 * fresh->words, sizeof(double));
    noise = pri_alloc(64 * fresh->words, sizeof(double));
    if (bits && total && noise) {
        pri_arrivals_within(fresh, work->plan->hops, bits);
        of.bits = bits;
        of.words = fresh->words;
        pri_moments_sums(&of, tally->weight, total);
        pri_moments_sums(&of, tally->variance, noise);
        for (int64_t k = 0; k < patterns; k++)
            add_round(tally, wanted, total[k], noise[k]);
        for (int64_t i = 0; i < of.nodes; i++)
            for (int64_t k = 0; k < fresh->words; k++)
                tally->arrived[i] +=
                    __builtin_popcountll(bits[i * fresh->words + k]);
    } else {
        status = PRICER_MEMORY;
    }
    free(bits);
    free(total);
    free(noise);
    pri_arrivals_free(fresh);
    return status;
}

/* What biases of both signs can add to n^2 W. */
static double mixed_signs(const struct planning *work, const double *arrival)
{
    double plain = 0, either = 0;
    for (int32_t i = 0; i < work->plan->nodes; i++) {
        double bias = work->senders->radius[i] *
                      (arrival[i] * work->plan->coefficient[i] - 1);
        plain += bias;
        either += fabs(bias);
    }
    return either * either - plain * plain;
}

/* W on fresh rounds, a part at a time. */
static enum pricer_status measure(struct planning *work)
{
    struct pri_forward_plan *plan = work->plan;
    int64_t size = ((int64_t)work->network->nodes + work->network->links) *
                   attempts_of(work->settings);
    int64_t all = clamp_patterns(DRAWS / size, FRESH_MAX);
    int64_t part = clamp_patterns((INT64_C(1) << 26) / plan->nodes, all);
    double wanted = 0, n2 = (double)plan->nodes * plan->nodes;
    struct tally tally = {.arrived = pri_alloc(plan->nodes, sizeof(double)),
                          .weight = pri_alloc(plan->nodes, sizeof(double)),
                          .variance = pri_alloc(plan->nodes, sizeof(double))};
    enum pricer_status status = tally.arrived && tally.weight && tally.variance
                                    ? PRICER_OK
                                    : PRICER_MEMORY;
    for (int32_t i = 0; i < plan->nodes && status == PRICER_OK; i++) {
        double c = plan->coefficient[i], r = work->senders->radius[i];
        tally.weight[i] = r * c;
        tally.variance[i] = c * c * work->senders->variance[i];
        wanted += r;
    }
    int64_t group = PRI_PLANNING_GROUP + (work->arrivals->patterns + 511) / 512;
    for (int64_t done = 0; done < all && status == PRICER_OK; done += part) {
        int64_t some = all - done < part ? all - done : part;
        status = tally_chunk(work, group + done / 512, some, wanted, &tally);
    }
    if (status == PRICER_OK) {
        double mean = tally.whole / tally.count;
        double variance = tally.whole_square / tally.count - mean * mean;
        for (int32_t i = 0; i < plan->nodes; i++)
            plan->arrival[i] = tally.arrived[i] / tally.count;
        plan->mse = (mean + mixed_signs(work, plan->arrival)) / n2;
        plan->mse_stderr = sqrt(fmax(variance, 0) / (tally.count - 1)) / n2;
        plan->noise = tally.noise / tally.count / n2;
        plan->patterns = all;
    }
    free(tally.arrived);
    free(tally.weight);
    free(tally.variance);
    return status;
}

/* The same where the fit had all patterns: its objective is W. */
static void measure_exactly(struct planning *work, double objective)
{
    struct pri_forward_plan *plan = work->plan;
    double n2 = (double)plan->nodes * plan->nodes;
    plan->mse = objective / n2;
    for (int32_t i = 0; i < plan->nodes; i++)
        plan->noise += plan->arrival[i] * plan->coefficient[i] *
                       plan->coefficient[i] * work->senders->variance[i] / n2;
}

/* ------------------------------------------------------------------ plan -- */

/* One pattern, in which everybody arrives. */
enum pricer_status pri_forward_perfect(const struct pri_senders *senders,
                                       double *objective)
{
    int32_t n = senders->nodes;
    double one[64] = {1}, gap;
    struct pri_moments of = {
        .nodes = n, .patterns = 1, .words = 1, .weight = one};
    double *unused = pri_alloc(n, sizeof(double));
    uint64_t *bits = pri_alloc(n, 8);
    of.pi = pri_alloc(n, sizeof(double));
    of.sums = pri_alloc(64, sizeof(double));
    enum pricer_status status = PRICER_MEMORY;
    if (unused && bits && of.pi && of.sums) {
        for (int32_t i = 0; i < n; i++) {
            of.pi[i] = 1;
            bits[i] = 1;
        }
        of.bits = bits;
        status = pri_forward_fit(&of, senders, 0, unused, objective, &gap);
    }
    free(unused);
    free(bits);
    free(of.pi);
    free(of.sums);
    return status;
}

enum pricer_status pri_forward_plan_new(int32_t nodes,
                                        struct pri_forward_plan **plan)
{
    struct pri_forward_plan *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->nodes = nodes;
    made->coefficient = pri_alloc(nodes, sizeof(double));
    made->arrival = pri_alloc(nodes, sizeof(double));
    made->distance = pri_alloc(nodes, sizeof(int32_t));
    *plan = made;
    return made->coefficient && made->arrival && made->distance ? PRICER_OK
                                                                : PRICER_MEMORY;
}

void pri_forward_plan_free(struct pri_forward_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->coefficient);
    free(plan->arrival);
    free(plan->distance);
    free(plan);
}

static enum pricer_status check(const struct pricer_network *network,
                                const struct pri_senders *senders,
                                const struct pri_forward_settings *settings,
                                struct pricer_fault *fault)
{
    if (settings->hops < -1 || settings->hops > PRI_HOPS_MAX)
        return pri_fault(fault, PRICER_VALUE, "hops = %d is not within 0 to %d",
                         settings->hops, PRI_HOPS_MAX);
    for (int32_t i = 0; i < network->nodes; i++)
        if (!pri_is_amount(senders->variance[i]) || !(senders->radius[i] > 0))
            return pri_fault(fault, PRICER_VALUE,
                             "node %d has no release: radius %g, variance %g",
                             i, senders->radius[i], senders->variance[i]);
    return PRICER_OK;
}

enum pricer_status pri_forward_plan(const struct pricer_network *network,
                                    const struct pri_senders *senders,
                                    const struct pri_forward_settings *settings,
                                    struct pri_forward_plan **plan,
                                    struct pricer_fault *fault)
{
    struct planning work = {
        .network = network, .senders = senders, .settings = settings};
    double objective = 0, perfect = 0, n = network->nodes;
    enum pricer_status status = check(network, senders, settings, fault);
    if (status != PRICER_OK)
        return status;
    work.team = pri_team_new(pri_threads(
        settings->threads, (int64_t)network->links + network->nodes));
    status = pri_forward_plan_new(network->nodes, &work.plan);
    if (status == PRICER_OK && settings->hops != 0)
        status = sample(&work);
    if (status == PRICER_OK)
        status = choose_hops(&work, &objective);
    if (status == PRICER_OK)
        status = pri_forward_distance(network, work.plan->distance);
    if (status == PRICER_OK)
        status = pri_forward_perfect(senders, &perfect);
    if (status == PRICER_OK && work.exact)
        measure_exactly(&work, objective);
    else if (status == PRICER_OK)
        status = measure(&work);
    if (status == PRICER_OK) {
        work.plan->mse_perfect = perfect / (n * n);
        work.plan->missing = work.plan->mse - work.plan->noise;
        for (int32_t i = 0; i < network->nodes; i++)
            work.plan->heard += work.plan->distance[i] >= 0 &&
                                work.plan->distance[i] <= work.plan->hops;
        *plan = work.plan;
    } else {
        pri_forward_plan_free(work.plan);
    }
    free(work.bits);
    pri_arrivals_free(work.arrivals);
    pri_team_free(work.team);
    return status;
}
