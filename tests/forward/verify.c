/*
 * The check of plans of forwarding: it agrees with lib/release about every
 * release, knows the values that were computed elsewhere, finds every plan of
 * random networks good, and none in which one number is wrong.
 */
#include "tests/test.h"
#include "calibrate/calibrate.h"
#include "forward/forward.h"
#include "release/release.h"

/* A network with random links, some of them in correlated pairs, and budgets. */
static struct pricer_network *make_network(uint64_t *seed, int32_t nodes,
                                           int32_t links, int64_t dimension,
                                           bool alike)
{
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    double uplink[64], one[64], inf[64], eps[64], delta[64], radius[64];
    double p[256], joint[256], far[256], whole[256];
    int32_t from[256], to[256], count = 0;
    for (int32_t i = 0; i < nodes; i++) {
        uplink[i] = i % 3 == 2 ? 0 : .1 + .8 * test_uniform(seed);
        one[i] = 1;
        inf[i] = INFINITY;
        eps[i] = alike ? 4 : .5 * (1 + (int)(test_random(seed) % 8));
        delta[i] = alike ? 1e-5 : 1e-6;
        radius[i] = alike ? 2 : .5 + test_uniform(seed);
    }
    for (int32_t i = 1; i < nodes && count + 2 <= links; i++)
        for (int32_t j = 0; j < i && count + 2 <= links; j++) {
            if (test_uniform(seed) < .3)
                continue;
            double a = .1 + .8 * test_uniform(seed);
            double b = .1 + .8 * test_uniform(seed);
            bool pair = test_uniform(seed) < .5;
            double both = a * b + test_uniform(seed) * (fmin(a, b) - a * b);
            for (int k = 0; k < (pair ? 2 : 1); k++) {
                from[count] = k == 0 ? i : j;
                to[count] = k == 0 ? j : i;
                p[count] = k == 0 ? a : b;
                joint[count] = pair ? both : NAN;
                far[count] = INFINITY;
                whole[count] = 1;
                count++;
            }
        }
    struct pricer_network_arrays arrays = {.dimension = dimension,
                                           .radius = 2,
                                           .node_count = nodes,
                                           .uplink = uplink,
                                           .node_radius = radius,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .link_count = count,
                                           .from = from,
                                           .to = to,
                                           .p = p,
                                           .joint = joint,
                                           .eps = far,
                                           .delta = whole,
                                           .everyone_eps = eps,
                                           .everyone_delta = delta};
    if (pricer_network_build_arrays(&arrays, &network, NULL, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return network;
}

static struct pricer_forward_plan *make_plan(const struct pricer_network *net,
                                             int64_t rounds,
                                             enum pricer_release release)
{
    struct pricer_forward_plan *plan = NULL;
    struct pricer_fault fault = {""};
    if (pricer_forward_plan_make(
            net,
            &(struct pricer_forward_settings){
                .rounds = rounds, .hops = 2, .release = release, .threads = 1},
            &plan, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return plan;
}

static struct pricer_forward_check verify(
    const struct pricer_network *net, int64_t rounds,
    const struct pricer_forward_plan *plan)
{
    struct pricer_forward_check check;
    assert_int_equal(
        pricer_forward_plan_verify(net, rounds, plan, false, &check, NULL),
        PRICER_OK);
    return check;
}

static struct pricer_forward_node node_of(const struct pri_release *release)
{
    return (struct pricer_forward_node){.release =
                                            (enum pricer_release)release->kind,
                                        .threshold = release->t,
                                        .loss = release->e0,
                                        .noise = release->noise,
                                        .variance = release->variance};
}

/* Every number of lib/release again, for dimensions from 1 to 10^6, eps from 0.1
 * to 12 and up to 1000 rounds. */
static void test_releases(void **state)
{
    static const int64_t dimensions[] = {1, 2, 3, 16, 128, 10000, 1000000};
    static const int64_t rounds[] = {1, 1, 2, 5, 40, 1000};
    (void)state;
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 6; k++)
            for (int kind = PRI_RELEASE_SPHERE; kind <= PRI_RELEASE_GAUSSIAN;
                 kind++) {
                struct pri_release release;
                struct pri_release_check found;
                double eps = .1 * pow(120, ((i + 2 * k) % 7) / 6.);
                struct pri_release_wish wish = {(enum pri_release_kind)kind,
                                                dimensions[i],
                                                1,
                                                eps,
                                                1e-6,
                                                rounds[k],
                                                i % 2 ? .3 : 2};
                struct pricer_budget budget = {
                    .eps = eps, .delta = 1e-6, .rounds = rounds[k]};
                if (k == 5 && i == 6)
                    continue; /* some seconds */
                assert_int_equal(pri_release_for_budget(&wish, &release, NULL),
                                 PRICER_OK);
                struct pricer_forward_node node = node_of(&release);
                assert_true(pri_release_recompute(
                    &node, dimensions[i], wish.diameter, &budget, &found));
                assert_true(found.pure || found.delta <= 1e-6);
                assert_close((double)found.variance, release.variance, 1e-10);
                if (kind == PRI_RELEASE_GAUSSIAN) {
                    assert_true(found.delta > 1e-6 * (1 - 1e-5));
                    /* Data that are further apart are not hidden. */
                    assert_true(pri_release_recompute(&node, dimensions[i],
                                                      wish.diameter * 1.01,
                                                      &budget, &found));
                    assert_true(wish.diameter == 2 || found.delta > 1e-6);
                    continue;
                }
                assert_close((double)found.share, release.q, 1e-11);
                assert_close((double)found.m, release.m, 1e-10);
                assert_close((double)found.charge, release.charge, 1e-9);
                struct pri_release_loss loss;
                pri_release_loss(&release, rounds[k], &loss);
                if (!found.pure)
                    assert_close((double)found.delta,
                                 pri_release_delta(&loss, eps), 1e-5);
                /* A little more would not be allowed. */
                node.loss += 0x1p-40 * ceil(1e-6 * node.loss * 0x1p40);
                if (rounds[k] == 1 || node.loss > PRI_RELEASE_E0)
                    continue;
                assert_true(pri_release_recompute(
                    &node, dimensions[i], wish.diameter, &budget, &found));
                assert_true(!found.pure && found.delta > 1e-6);
            }
}

/* The values of the scheme's description. */
static void test_known(void **state)
{
    static const struct {
        int64_t dimension, rounds;
        double t, e0, eps, delta, digits;
    } known[] = {{2, 10, .3, .8, 4, .123935535504, 2e-8},
                 {128, 20, .06, .5, 8, 1.04563252e-6, 2e-8}};
    struct pri_release_check found;
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct pricer_forward_node node = {.release = PRICER_RELEASE_SPHERE,
                                           .threshold = known[k].t,
                                           .loss = floor(known[k].e0 * 0x1p40) *
                                                   0x1p-40};
        assert_true(pri_release_recompute(
            &node, known[k].dimension, 2,
            &(struct pricer_budget){
                .eps = known[k].eps, .delta = 1e-6, .rounds = known[k].rounds},
            &found));
        assert_close((double)found.delta, known[k].delta, known[k].digits);
    }
    struct pricer_forward_node one = {
        .release = PRICER_RELEASE_SPHERE, .threshold = .76159416, .loss = 4};
    assert_true(pri_release_recompute(
        &one, 2, 2, &(struct pricer_budget){.eps = 4, .rounds = 1}, &found));
    assert_true(fabsl(found.m - .76159416L) < 1e-8L);
    assert_true(fabsl(found.share - .11920292L) < 1e-8L);
    assert_close((double)found.variance, .4827078, 2e-7);
    assert_false(found.pure); /* e0 = eps leaves nothing for the charge */
}

/* Plans of all kinds are good; the errors and gaps agree. */
static void test_good(void **state)
{
    static const int64_t rounds[] = {1, 3, 20};
    uint64_t seed = 1;
    (void)state;
    for (int k = 0; k < 18; k++) {
        enum pricer_release kind = (enum pricer_release)(k % 3);
        bool small = k % 2 == 0;
        struct pricer_network *net =
            make_network(&seed, small ? 5 : 30, small ? 8 : 80,
                         k % 4 == 0 ? 1 : 16, k % 5 == 0);
        struct pricer_forward_plan *plan = make_plan(net, rounds[k / 6], kind);
        struct pricer_forward_check check = verify(net, rounds[k / 6], plan);
        if (!check.good)
            fail_msg("case %d: %s", k, check.words);
        assert_int_equal(check.violations, 0);
        assert_true(check.used > .99 && check.used <= 1);
        if (small) {
            assert_int_equal(check.patterns, 0);
            assert_close(check.mse_one_sided, plan->mse_worst_case, 1e-9);
            assert_true(check.gap <= fmax(10 * plan->gap, 1e-9));
        } else {
            assert_true(check.patterns >= 512);
        }
        pricer_forward_plan_free(plan);
        pricer_network_free(net);
    }
}

/* One number wrong, and the plan is not good. */
static void test_wrong(void **state)
{
    uint64_t seed = 3;
    struct pricer_network *net = make_network(&seed, 5, 8, 4, false);
    (void)state;
    for (int kind = PRICER_RELEASE_SPHERE; kind <= PRICER_RELEASE_GAUSSIAN;
         kind++)
        for (int k = 0; k < 9; k++) {
            struct pricer_forward_plan *plan =
                make_plan(net, 3, (enum pricer_release)kind);
            struct pricer_forward_node *node = &plan->node[1];
            assert_true(verify(net, 3, plan).good);
            bool private = false;
            if (k == 0 && kind == PRICER_RELEASE_SPHERE)
                node->loss += 0x1p-20;
            else if (k == 0)
                node->noise *= 1 - 1e-6;
            else if (k == 1 && kind == PRICER_RELEASE_SPHERE)
                node->threshold *= .99; /* more rounds with a loss */
            else if (k == 1)
                node->noise = NAN;
            else if (k == 2)
                node->release = PRICER_RELEASE_BEST;
            else if (k == 3)
                net->everyone_eps[1] *= 1 - 1e-6;
            else if (k == 4)
                net->everyone_delta[1] *= .99;
            else if (k == 5) {
                node->variance *= .999;
                private = true;
            } else if (k == 6) {
                node->coefficient *= 1.01;
                private = true;
            } else if (k == 7) {
                plan->mse_worst_case *= .99;
                private = true;
            } else {
                node->arrival += .001;
                private = true;
            }
            struct pricer_forward_check check = verify(net, 3, plan);
            assert_false(check.good);
            assert_int_equal(check.violations, private ? 0 : 1);
            assert_true(strstr(check.words, "node 1") != NULL ||
                        strstr(check.words, "error") != NULL);
            if (k == 3)
                net->everyone_eps[1] /= 1 - 1e-6;
            if (k == 4)
                net->everyone_delta[1] /= .99;
            pricer_forward_plan_free(plan);
        }
    /* One round more than planned. */
    struct pricer_forward_plan *plan = make_plan(net, 3, PRICER_RELEASE_SPHERE);
    assert_int_equal(verify(net, 4, plan).violations, 5);
    pricer_forward_plan_free(plan);
    pricer_network_free(net);
}

/* A sampled plan that states half of its error. */
static void test_sampled(void **state)
{
    uint64_t seed = 4;
    struct pricer_network *net = make_network(&seed, 30, 80, 2, false);
    struct pricer_forward_plan *plan = make_plan(net, 1, PRICER_RELEASE_BEST);
    struct pricer_forward_check check = verify(net, 1, plan);
    (void)state;
    assert_true(check.good && check.mse_stderr > 0);
    plan->mse_worst_case /= 2;
    assert_false(verify(net, 1, plan).good);
    assert_int_equal(
        pricer_forward_plan_verify(net, 1, plan, true, &check, NULL),
        PRICER_OK);
    assert_true(check.good && isnan(check.mse_one_sided));
    pricer_forward_plan_free(plan);
    pricer_network_free(net);
}

/* Several attempts: the error is that of single patterns again, and a plan that
 * states less, or that was made for more attempts, is refused. */
static void test_attempts(void **state)
{
    uint64_t seed = 9;
    struct pricer_network *net = make_network(&seed, 20, 50, 2, false);
    struct pricer_forward_plan *plan = NULL;
    (void)state;
    assert_int_equal(
        pricer_forward_plan_make(net,
                                 &(struct pricer_forward_settings){
                                     .rounds = 1, .hops = 3, .repeat = 4},
                                 &plan, NULL),
        PRICER_OK);
    struct pricer_forward_check check = verify(net, 1, plan);
    assert_true(check.good && check.patterns == 4096);
    assert_true(fabs(check.mse_one_sided - plan->mse_worst_case) <
                6 * hypot(check.mse_stderr, plan->mse_stderr) +
                    .01 * plan->mse_worst_case);
    plan->repeat = 2;
    assert_false(verify(net, 1, plan).good);
    plan->repeat = 4;
    plan->mse_worst_case *= .8;
    assert_false(verify(net, 1, plan).good);
    pricer_forward_plan_free(plan);
    pricer_network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_releases), cmocka_unit_test(test_known),
        cmocka_unit_test(test_good),     cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_sampled),  cmocka_unit_test(test_attempts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
