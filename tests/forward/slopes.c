/*
 * Slopes of the worst case: against differences of exact plans, drawn ones
 * against enumerated ones, the same on any number of threads.
 */
#include "tests/sample.h"
#include "forward/forward.h"

#define NODES 5

struct setting {
    double radius[SAMPLE_NODES], variance[SAMPLE_NODES];
    int32_t hops, attempts;
};

static struct pri_slopes *slopes_of(const struct pricer_network *net,
                                    const struct setting *at, int32_t threads)
{
    struct pri_slopes *slopes = NULL;
    assert_int_equal(
        pri_forward_slopes(
            net, &(struct pri_senders){net->nodes, at->radius, at->variance},
            &(struct pri_forward_settings){.hops = at->hops,
                                           .attempts = at->attempts,
                                           .seed = 5,
                                           .threads = threads},
            &slopes),
        PRICER_OK);
    return slopes;
}

static double least(const struct pricer_network *net, const struct setting *at,
                    int32_t hops)
{
    struct pri_forward_plan *plan = NULL;
    assert_int_equal(
        pri_forward_plan(
            net, &(struct pri_senders){net->nodes, at->radius, at->variance},
            &(struct pri_forward_settings){.hops = hops,
                                           .attempts = at->attempts},
            &plan, NULL),
        PRICER_OK);
    double mse = plan->mse;
    assert_true(plan->mse_stderr == 0);
    pri_forward_plan_free(plan);
    return mse;
}

/* W if a share of the failures of link l, or of the uplink of node i, are
 * repaired. */
static double repaired(struct pricer_network *net, const struct setting *at,
                       int32_t i, int32_t l, double share)
{
    double *p = l >= 0 ? &net->p[l] : &net->uplink[i], kept = *p, mse;
    int32_t back = l >= 0 ? net->partner[l] : -1;
    double joint = back >= 0 ? net->joint[l] : 0;
    *p += share * (1 - kept);
    if (back >= 0)
        net->joint[l] = net->joint[back] =
            joint + share * (net->p[back] - joint);
    mse = least(net, at, at->hops);
    *p = kept;
    if (back >= 0)
        net->joint[l] = net->joint[back] = joint;
    return mse;
}

/* d W / d p by differences, one-sided since joint may be at its end. */
static double difference(struct pricer_network *net, const struct setting *at,
                         int32_t i, int32_t l)
{
    double h = 1e-3, p = l >= 0 ? net->p[l] : net->uplink[i];
    double now = least(net, at, at->hops);
    return (4 * repaired(net, at, i, l, h) - repaired(net, at, i, l, 2 * h) -
            3 * now) /
           (2 * h * (1 - p));
}

static void test_differences(void **state)
{
    (void)state;
    uint64_t seed = 21;
    int compared = 0, unheard = 0;
    for (int trial = 0; trial < 30; trial++) {
        struct pricer_network *net = sample_network(&seed, NODES, .35, 2, 1);
        struct setting at = {.hops = trial % 4};
        struct pri_forward_plan *plan = NULL;
        for (int i = 0; i < NODES; i++) {
            at.radius[i] = .5 + .5 * test_uniform(&seed);
            at.variance[i] = .1 + 2 * test_uniform(&seed);
        }
        struct pri_slopes *found = slopes_of(net, &at, 1);
        pri_forward_plan(
            net, &(struct pri_senders){NODES, at.radius, at.variance},
            &(struct pri_forward_settings){.hops = at.hops}, &plan, NULL);
        assert_int_equal(found->patterns, 0);
        assert_close(found->mse, plan->mse, 1e-9);
        double hop = least(net, &at, at.hops + 1) - plan->mse;
        assert_true(fabs(found->hop - hop) < 1e-9);
        for (int32_t k = 0; k < NODES + net->links; k++) {
            int32_t l = k - NODES;
            double *slope = l < 0 ? found->uplink[k] : found->link[l];
            if ((l < 0 ? net->uplink[k] : net->p[l]) >= 1) {
                assert_true(slope[0] == 0);
                continue;
            }
            double truth = difference(net, &at, k, l);
            if (plan->heard == NODES) {
                assert_true(fabs(slope[0] - truth) < 2e-6);
                compared++;
            } else {
                assert_true(truth <= slope[0] + 2e-6);
                unheard++;
            }
        }
        /* By the variance of a release. */
        for (int i = 0; i < NODES; i++) {
            double h = 1e-5, now = plan->mse, kept = at.variance[i];
            at.variance[i] += h;
            assert_true(fabs((least(net, &at, at.hops) - now) / h -
                             found->noise[i]) < 1e-4);
            at.variance[i] = kept;
        }
        pri_forward_plan_free(plan);
        pri_slopes_free(found);
        pricer_network_free(net);
    }
    assert_true(compared > 100 && unheard > 20);
}

/* Nodes in a ring, one with a good uplink: few enough patterns for a plan to
 * enumerate and too many for slopes. */
#define RING 7
static struct pricer_network *ring(void)
{
    struct pricer_node nodes[RING];
    struct pricer_link links[2 * RING];
    struct pricer_network *network = NULL;
    for (int i = 0; i < RING; i++) {
        int next = (i + 1) % RING;
        nodes[i] = (struct pricer_node){i == 0 ? .9 : .1, 1, 1e-5, NAN, NAN};
        links[2 * i] = (struct pricer_link){i, next, .7, NAN, 1, 1e-5};
        links[2 * i + 1] = (struct pricer_link){next, i, .6, NAN, 1, 1e-5};
    }
    assert_int_equal(
        pricer_network_build(
            &(struct pricer_network_parts){2, 1, .5, nodes, RING, links,
                                           2 * RING, NULL, NULL},
            &network, NULL, NULL),
        PRICER_OK);
    return network;
}

/* Drawn slopes are within 6 of their standard errors of the exact ones: false
 * alarms are below 1e-8 for the four of them. */
static void test_drawn(void **state)
{
    (void)state;
    static const int32_t node[] = {1, 4, -1, -1}, link[] = {-1, -1, 2, 4};
    struct setting at = {.hops = 2};
    for (int i = 0; i < RING; i++) {
        at.radius[i] = 1;
        at.variance[i] = .5;
    }
    struct pricer_network *net = ring();
    struct pri_slopes *one = slopes_of(net, &at, 1);
    struct pri_slopes *three = slopes_of(net, &at, 3);
    assert_true(one->patterns > 0);
    assert_memory_equal(one->uplink, three->uplink, RING * sizeof *one->uplink);
    assert_memory_equal(one->link, three->link,
                        (size_t)net->links * sizeof *one->link);
    for (int k = 0; k < 4; k++) {
        double *slope = link[k] < 0 ? one->uplink[node[k]] : one->link[link[k]];
        double truth = difference(net, &at, node[k], link[k]);
        assert_true(truth < 0 && slope[1] > 0 && slope[1] < .2 * -slope[0]);
        assert_true(fabs(slope[0] - truth) < 6 * slope[1]);
    }
    pri_slopes_free(one);
    pri_slopes_free(three);
    pricer_network_free(net);
}

/* Several attempts: drawn slopes against differences of exact plans, within 6 of
 * their standard errors: a false alarm once in 10^6 for the 200 of them. */
static void test_attempts(void **state)
{
    enum { FEW = 3 };
    uint64_t seed = 77;
    int compared = 0;
    double largest = 0;
    (void)state;
    for (int trial = 0; trial < 24; trial++) {
        struct pricer_network *net = sample_network(&seed, FEW, .5, 2, 1);
        struct setting at = {.hops = trial % 3, .attempts = 2};
        int32_t distance[FEW], heard = 0;
        for (int i = 0; i < FEW; i++) {
            at.radius[i] = .5 + .5 * test_uniform(&seed);
            at.variance[i] = .1 + 2 * test_uniform(&seed);
        }
        assert_int_equal(pri_forward_distance(net, distance), PRICER_OK);
        for (int i = 0; i < FEW; i++)
            heard += distance[i] >= 0 && distance[i] <= at.hops;
        struct pri_slopes *found = slopes_of(net, &at, 1);
        struct pri_slopes *again = slopes_of(net, &at, 3);
        assert_true(found->patterns > 30000);
        assert_memory_equal(found->uplink, again->uplink,
                            FEW * sizeof *found->uplink);
        for (int32_t k = 0; k < FEW + net->links && heard == FEW; k++) {
            int32_t l = k - FEW;
            double *slope = l < 0 ? found->uplink[k] : found->link[l];
            if ((l < 0 ? net->uplink[k] : net->p[l]) >= 1)
                continue;
            double truth = difference(net, &at, k, l);
            assert_true(fabs(slope[0] - truth) < 6 * slope[1] + 2e-6);
            assert_true(slope[1] < .02);
            largest = fmax(largest, -truth);
            compared++;
        }
        pri_slopes_free(found);
        pri_slopes_free(again);
        pricer_network_free(net);
    }
    assert_true(compared > 60 && largest > .2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_drawn),
        cmocka_unit_test(test_attempts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
