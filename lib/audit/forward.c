/*
 * From releases that are forwarded, and the code that makes them, to what an
 * attack shows: an eps that cannot be undercut, and whether the law is the one that
 * the plan states.
 *
 * The hypotheses are the data 2 R e and -2 R e, e the first axis, which clipping
 * makes R e and -R e, or D e / 2 and -D e / 2 for a Gaussian whose guarantee is for
 * data no further apart than D. By docs/release.md no other pair that the
 * guarantee is about is told apart better. The
 * log-likelihood ratio of a round of a sphere is +e0 in the cap of the first, -e0 in
 * that of the other, else 0; of a Gaussian it is the product with e, over the
 * variance. Neither is taken for granted: count.c only needs a number that tends to
 * be larger under the first hypothesis.
 *
 * Tests of the law, for a sphere. The number of n releases in a cap is binomial
 * with the stated probability p, or p e^-e0 for the opposite cap. The number with a
 * positive coordinate k other than the first is binomial with probability 1/2, the
 * lifted one included, and so is that with a positive first coordinate among those
 * in neither cap, since the law is symmetric about the data. Each test
 * rejects outside the Clopper-Pearson interval of its share of the alarm. Seeds of
 * 128 bits agree by chance with probability n^2 2^-129.
 */
#include "audit.h"
#include "forward/forward.h"
#include "pricer_audit.h"
#include "release/release.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A default audit takes about so many microseconds. */
#define DEFAULT_WORK 2e6
enum { DEFAULT_LEAST = 2000, DEFAULT_MOST = 100000, AXES_MOST = 64 };

struct run {
    const struct pricer_audit_settings *settings;
    const struct pricer_forward_node *node;
    struct pri_release release; /* of a sphere */
    bool kernel;
    int64_t dimension, rounds, count; /* count: pairs of trials */
    double radius, diameter;          /* diameter: of the data of a Gaussian */
    struct pricer_forward_sender *sender;
    struct pri_expander *expander;
    double *data, *direction; /* [dimension] and [dimension + 1] */
    unsigned char *payload;
    struct pri_trial *trials;               /* [2 count] */
    unsigned char (*seeds)[PRI_SEED_BYTES]; /* [2 count rounds] of a sphere */
    int64_t drawn;
    int32_t axes;
    int64_t positive[AXES_MOST]; /* releases with this coordinate above 0 */
    int64_t own, opposite, middle, middle_positive;
};

static void free_run(struct run *run)
{
    pricer_forward_sender_free(run->sender);
    pri_expander_free(run->expander);
    free(run->data);
    free(run->direction);
    free(run->payload);
    free(run->trials);
    free(run->seeds);
}

/* Microseconds of a release, about. */
static double release_cost(const struct run *run)
{
    double k = (double)run->dimension + 1;
    if (run->node->release == PRICER_RELEASE_GAUSSIAN)
        return 1 + .05 * k;
    double all = run->release.q + (1 - run->release.q) * exp(-run->release.e0);
    return 2 + (.25 + .004 * k) * (1 / all + 1);
}

static enum pricer_status prepare(struct run *run, struct pricer_fault *fault)
{
    int64_t d = run->dimension, trials = run->settings->trials;
    enum pricer_status status = pricer_forward_sender_new(
        run->node, run->radius, d, &run->sender, fault);
    if (status == PRICER_OK && run->node->release == PRICER_RELEASE_SPHERE)
        status = pri_release_sphere(d, run->radius, run->node->threshold,
                                    run->node->loss, &run->release, fault);
    if (status != PRICER_OK)
        return status;
    double affordable =
        DEFAULT_WORK / (2 * (double)run->rounds * release_cost(run));
    run->count = trials > 0 ? trials
                            : (int64_t)fmin(fmax(affordable, DEFAULT_LEAST),
                                            DEFAULT_MOST);
    int64_t all = 2 * run->count * run->rounds;
    run->axes = d + 1 < AXES_MOST ? (int32_t)d + 1 : AXES_MOST;
    run->data = pri_alloc(d, sizeof *run->data);
    run->direction = pri_alloc(d + 1, sizeof *run->direction);
    run->payload =
        malloc((size_t)pricer_forward_payload(run->node->release, d));
    run->trials = pri_alloc(2 * run->count, sizeof *run->trials);
    bool room = run->data && run->direction && run->payload && run->trials &&
                pri_expander_new(&run->expander) == PRICER_OK;
    if (run->node->release == PRICER_RELEASE_SPHERE) {
        run->seeds = pri_alloc(all, sizeof *run->seeds);
        room = room && run->seeds != NULL;
    }
    return room ? PRICER_OK : pri_fault(fault, PRICER_MEMORY, "out of memory");
}

/* ---------------------------------------------------------------- trials -- */

/* The coordinate that tests look at: all, or the first ones and the last. */
static int64_t axis_of(const struct run *run, int32_t k)
{
    return k + 1 < run->axes ? k : run->dimension;
}

/* One release of a sphere: where its direction is. */
static enum pricer_status look_sphere(struct run *run, double sign,
                                      struct pri_trial *trial)
{
    double t = run->node->threshold, *v = run->direction;
    enum pricer_status status =
        pri_expand(run->expander, run->payload, run->dimension + 1, v);
    if (status != PRICER_OK)
        return status;
    memcpy(run->seeds[run->drawn], run->payload, PRI_SEED_BYTES);
    int side = (v[0] > t) - (v[0] < -t);
    trial->ratio += side * run->node->loss;
    trial->mu = NAN;
    run->own += side * sign > 0;
    run->opposite += side * sign < 0;
    run->middle += side == 0;
    run->middle_positive += side == 0 && v[0] * sign > 0;
    for (int32_t k = 1; k < run->axes; k++)
        run->positive[k] += v[axis_of(run, k)] > 0;
    return PRICER_OK;
}

/* One release of a Gaussian: integers of a grid that only differ by a factor
 * from the value, so that the receiver's side is used. */
static enum pricer_status look_gaussian(struct run *run,
                                        struct pricer_forward_receiver *server,
                                        struct pri_trial *trial)
{
    double noise = run->node->noise;
    enum pricer_status status = pricer_forward_receiver_decode(
        server, 0, run->payload,
        pricer_forward_payload(run->node->release, run->dimension),
        run->direction, NULL);
    if (status != PRICER_OK) /* once in 10^9: nothing is seen */
        run->direction[0] = 0;
    trial->ratio += run->diameter * run->direction[0] / (noise * noise);
    trial->mu = run->diameter * sqrt((double)run->rounds) / noise;
    return PRICER_OK;
}

static enum pricer_status play(struct run *run, int64_t trial, bool other,
                               struct pricer_forward_receiver *server,
                               struct pricer_fault *fault)
{
    struct pri_trial *result = &run->trials[2 * trial + other];
    double sign = other ? -1 : 1;
    struct pricer_random random;
    enum pricer_status status = PRICER_OK;
    bool near = run->node->release == PRICER_RELEASE_GAUSSIAN &&
                run->diameter < 2 * run->radius;
    run->data[0] = sign * (near ? run->diameter / 2 : 2 * run->radius);
    for (int64_t r = 0; r < run->rounds && status == PRICER_OK; r++) {
        pricer_random_replay(&random, run->settings->seed, PRICER_PURPOSE_NOISE,
                             (2 * trial + other) * run->rounds + r,
                             run->settings->node, PRICER_SERVER);
        status = pricer_forward_release(run->sender, run->data,
                                        run->kernel ? NULL : &random,
                                        run->payload, fault);
        if (status != PRICER_OK)
            break;
        status = run->node->release == PRICER_RELEASE_SPHERE
                     ? look_sphere(run, sign, result)
                     : look_gaussian(run, server, result);
        run->drawn++;
    }
    return status;
}

/* ----------------------------------------------------------------- tests -- */

/* Whether `hits` of `trials` contradict a probability. */
static bool is_off(int64_t hits, int64_t trials, double p, double error)
{
    if (trials == 0)
        return false;
    return p < pri_hits_lower(hits, trials, error / 2) ||
           p > pri_hits_upper(hits, trials, error / 2);
}

static int by_bytes(const void *left, const void *right)
{
    return memcmp(left, right, PRI_SEED_BYTES);
}

static int64_t count_repeated(struct run *run)
{
    int64_t repeated = 0;
    qsort(run->seeds, (size_t)run->drawn, sizeof *run->seeds, by_bytes);
    for (int64_t k = 1; k < run->drawn; k++)
        repeated += by_bytes(run->seeds[k - 1], run->seeds[k]) == 0;
    return repeated;
}

static void test_law(struct run *run, double alarm,
                     struct pricer_forward_audit *found)
{
    double p = run->release.p, rest = p * exp(-run->release.e0);
    double each = alarm / (run->axes + 2);
    int64_t n = run->drawn, repeated = count_repeated(run);
    size_t room = sizeof found->law;
    found->own = run->own;
    found->opposite = run->opposite;
    found->own_stated = p;
    found->opposite_stated = rest;
    for (int32_t k = 1; k < run->axes; k++)
        if (is_off(run->positive[k], n, .5, each))
            snprintf(found->law, room,
                     "coordinate %lld is positive in %.4g %% of the releases, "
                     "and it should be as often negative",
                     (long long)axis_of(run, k),
                     100. * (double)run->positive[k] / (double)n);
    if (is_off(run->middle_positive, run->middle, .5, each))
        snprintf(found->law, room,
                 "of the directions in neither cap %.4g %% are on the side of "
                 "the data, and half of them should be",
                 100. * (double)run->middle_positive / (double)run->middle);
    if (is_off(run->opposite, n, rest, each))
        snprintf(found->law, room,
                 "%.4g %% of the releases are in the cap opposite to the data, "
                 "and the plan says %.4g %%",
                 100. * (double)run->opposite / (double)n, 100 * rest);
    if (is_off(run->own, n, p, each))
        snprintf(found->law, room,
                 "%.4g %% of the releases are in the cap of the data, and the "
                 "plan says %.4g %%",
                 100. * (double)run->own / (double)n, 100 * p);
    if (repeated > 0)
        snprintf(found->law, room, "%lld of %lld seeds have come before",
                 (long long)repeated, (long long)n);
}

static enum pricer_status conclude(struct run *run,
                                   struct pricer_forward_audit *found)
{
    const struct pricer_audit_settings *settings = run->settings;
    double confidence = settings->confidence > 0 ? settings->confidence : .95;
    double alarm = settings->alarm > 0 ? settings->alarm : 1e-6;
    double delta = found->audit.statement.delta;
    struct pri_counted counted, sure;
    enum pricer_status status =
        pri_count_eps(run->trials, run->count, delta, 1 - confidence, &counted);
    if (status == PRICER_OK)
        status =
            pri_count_eps(run->trials, run->count, delta, alarm / 4, &sure);
    if (status == PRICER_OK)
        status = pri_fit_eps(run->trials, run->count, delta, 1 - confidence,
                             &found->audit.eps_fitted);
    if (status == PRICER_OK)
        status = pri_fit_eps(run->trials, run->count, delta, alarm / 4,
                             &found->audit.sure_fitted);
    if (status != PRICER_OK)
        return status;
    found->releases = run->drawn;
    found->audit.trials = run->count;
    found->audit.judged = counted.judged;
    found->audit.hits = counted.hits;
    found->audit.other_hits = counted.other_hits;
    found->audit.eps_counted = counted.eps;
    found->audit.sure_counted = sure.eps;
    if (run->node->release == PRICER_RELEASE_SPHERE)
        test_law(run, alarm / 2, found);
    return PRICER_OK;
}

/* ------------------------------------------------------------------- run -- */

static enum pricer_status check(const struct pricer_network *network,
                                const struct pricer_forward_plan *plan,
                                const struct pricer_audit_settings *settings,
                                struct pricer_fault *fault)
{
    int64_t trials = settings->trials;
    if (network->everyone_eps == NULL || plan->nodes != network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    if (settings->node < 0 || settings->node >= plan->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "there is no node %d: the nodes are 0 to %d",
                         (int)settings->node, (int)plan->nodes - 1);
    if (trials != 0 && (trials < PRICER_AUDIT_TRIALS_LEAST ||
                        trials > PRICER_AUDIT_TRIALS_MOST))
        return pri_fault(fault, PRICER_VALUE,
                         "trials = %lld is not between %d and %d",
                         (long long)trials, PRICER_AUDIT_TRIALS_LEAST,
                         PRICER_AUDIT_TRIALS_MOST);
    if (!(settings->confidence >= 0 && settings->confidence < 1))
        return pri_fault(fault, PRICER_VALUE,
                         "confidence = %g is not between 0 and 1",
                         settings->confidence);
    return PRICER_OK;
}

/* What the plan claims of the node, at the delta and over the rounds asked for. */
static enum pricer_status find_claims(
    const struct pricer_network *network,
    const struct pricer_audit_settings *settings, const struct run *run,
    struct pricer_audit *audit, struct pricer_fault *fault)
{
    int32_t i = settings->node;
    int64_t planned = settings->budget_rounds > 0 ? settings->budget_rounds : 1;
    double delta = settings->question.delta > 0 ? settings->question.delta
                                                : network->everyone_delta[i];
    struct pricer_forward_privacy claim;
    enum pricer_status status = pricer_forward_privacy_eps(
        &(struct pricer_forward_releases){
            run->node, run->radius, run->dimension, run->rounds, run->diameter},
        delta, &claim, fault);
    if (status != PRICER_OK)
        return status;
    bool budgeted =
        delta >= network->everyone_delta[i] && run->rounds <= planned;
    *audit = (struct pricer_audit){
        .statement = {.observer = PRICER_OBSERVER_EVERYONE,
                      .node = i,
                      .at = -1,
                      .exact = true,
                      .delta = delta,
                      .eps = claim.eps,
                      .eps_lower = claim.eps_lower},
        .budget = budgeted ? network->everyone_eps[i] : NAN};
    return PRICER_OK;
}

static enum pricer_status play_all(struct run *run, double radius,
                                   struct pricer_fault *fault)
{
    struct pricer_forward_receiver *server = NULL;
    struct pricer_forward_node node = *run->node;
    struct pricer_network one = {
        .dimension = run->dimension, .nodes = 1, .node_radius = &radius};
    enum pricer_status status = pricer_forward_receiver_new(
        &one, &(struct pricer_forward_plan){.nodes = 1, .node = &node}, &server,
        fault);
    for (int64_t k = 0; k < 2 * run->count && status == PRICER_OK; k++) {
        status = play(run, k / 2, k % 2 == 1, server, fault);
        if (status == PRICER_OK &&
            !pri_tick(run->settings->question.watch,
                      (double)(k + 1) / (2 * (double)run->count)))
            status = pri_fault(fault, PRICER_STOPPED, "stopped");
    }
    pricer_forward_receiver_free(server);
    return status;
}

enum pricer_status pricer_audit_forward(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_audit_settings *settings, bool kernel,
    struct pricer_forward_audit *audit, struct pricer_fault *fault)
{
    struct pricer_forward_audit found = {.law = ""};
    struct run run = {.settings = settings, .kernel = kernel};
    enum pricer_status status = check(network, plan, settings, fault);
    if (status != PRICER_OK)
        return status;
    run.node = &plan->node[settings->node];
    run.dimension = network->dimension;
    run.radius = network->node_radius[settings->node];
    run.diameter = network->node_diameter[settings->node];
    run.rounds = settings->question.rounds > 0 ? settings->question.rounds : 1;
    status = find_claims(network, settings, &run, &found.audit, fault);
    if (status == PRICER_OK)
        status = prepare(&run, fault);
    if (status == PRICER_OK)
        status = play_all(&run, run.radius, fault);
    if (status == PRICER_OK)
        status = conclude(&run, &found);
    if (status == PRICER_OK)
        *audit = found;
    free_run(&run);
    return status;
}
