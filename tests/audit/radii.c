/*
 * What is learnt of nodes with radii and diameters of their own: accounts against
 * the sum over all patterns of links, what is sent against the noise that pays for
 * it, and attacks.
 */
#include "tests/radii.h"
#include "pricer_audit.h"
#include "pricer_decode.h"
#include "pricer_kmeans.h"
#include "pricer_power.h"

/*
 * What links, relays and the server learn: the ratio of every pattern by the
 * formula, averaged over all patterns, at the eps of the account. It may not be
 * above delta, and at a hundredth less eps it may not be below.
 */
static void check_statement(const struct pricer_network *net,
                            const struct pricer_plan *plan,
                            const struct pricer_statement *s)
{
    double below = s->eps * .98, at = 0, before = 0;
    int i = s->node;
    for (int32_t k = 0; k < PATTERNS; k++) {
        bool up[N], link[LINKS];
        double chance = pattern(net, k, up, link), square = 0;
        for (int j = 0; j < N; j++) {
            int own = i == j ? -1 : pricer_network_find(net, i, j);
            bool relay = s->observer == PRICER_OBSERVER_RELAY;
            if (relay ? j != s->at : !up[j])
                continue;
            if (own >= 0 && !link[own])
                continue;
            double weight = own < 0 ? plan->self_weight[j] : plan->weight[own];
            double noise =
                relay ? 0 : plan->self_noise[j] * plan->self_noise[j];
            for (int l = 0; l < LINKS; l++)
                if (net->to[l] == j && link[l])
                    noise += plan->noise[l] * plan->noise[l];
            square += pow(near[i] * weight, 2) / noise;
        }
        at += chance * pricer_gaussian_delta(s->eps, sqrt(square));
        before += chance * pricer_gaussian_delta(below, sqrt(square));
    }
    assert_true(at <= s->delta * (1 + 1e-9));
    assert_true(before >= s->delta);
}

static void test_accounts(void **state)
{
    (void)state;
    static const double radii[N] = {1, .5, .25, .8};
    struct pricer_network *net =
        make(&(struct world){.radius = 1, .radii = radii, .diameters = near});
    struct pricer_plan *plan = some_plan(net);
    struct pricer_statement *all = NULL;
    for (int k = 0; k < 2; k++) {
        const struct pricer_question question = {
            .observer = k == 0 ? PRICER_OBSERVER_RELAY : PRICER_OBSERVER_SERVER,
            .delta = 1e-3};
        int64_t count = 0;
        assert_int_equal(
            pricer_privacy_account(net, plan, &question, &all, &count, NULL),
            PRICER_OK);
        for (int64_t s = 0; s < count; s += k == 0 ? 5 : 1)
            check_statement(net, plan, &all[s]);
        pricer_statements_free(all);
    }
    const struct pricer_question links = {.delta = 1e-3,
                                          .eavesdropper = PRICER_RADIO};
    int64_t count = 0;
    assert_int_equal(
        pricer_privacy_account(net, plan, &links, &all, &count, NULL),
        PRICER_OK);
    for (int64_t l = 0; l < count; l++) {
        double mu = near[all[l].node] * plan->weight[l] / plan->noise[l];
        assert_true(pricer_gaussian_delta(all[l].eps, mu) <= 1e-3 * (1 + 1e-9));
        assert_true(pricer_gaussian_delta(all[l].eps * .999, mu) > 1e-3);
    }
    pricer_statements_free(all);
    pricer_plan_free(plan);
    pricer_network_free(net);
}

/* A node of radius r and weight a is one of radius 1 and weight r a, for who
 * asks whether it took part; by the path without radii. */
static void test_identity(void **state)
{
    (void)state;
    struct pricer_network *a =
        make(&(struct world){.radius = 1, .radii = mixed});
    struct pricer_network *b = make(&(struct world){.radius = 1});
    struct pricer_plan *one = some_plan(a), *two = some_plan(b);
    for (int l = 0; l < LINKS; l++)
        two->weight[l] *= mixed[a->from[l]];
    for (int i = 0; i < N; i++)
        two->self_weight[i] *= mixed[i];
    same_accounts(a, one, b, two, 1e-6);
    pricer_plan_free(one);
    pricer_plan_free(two);
    pricer_network_free(a);
    pricer_network_free(b);
}

/*
 * What a round sends: data at the ends of the diameter, in every direction, are
 * no further apart on the grid than the noise pays for, also where a weight is
 * so small that the grid shows; and a vector is clipped to its node's radius.
 */
static void test_rounds(void **state)
{
    (void)state;
    uint64_t seed = 11;
    struct pricer_network *net =
        make(&(struct world){.radius = 1, .radii = mixed, .diameters = near});
    struct pricer_plan *plan = some_plan(net);
    struct pricer_grid grid;
    plan->weight[0] = 1e-14;
    assert_int_equal(pricer_grid_choose(net, plan, &grid, NULL), PRICER_OK);
    double raised = 1;
    for (int trial = 0; trial < 2000; trial++) {
        int i = trial % N;
        struct pricer_slice *slice = NULL;
        struct pricer_random random;
        double x[6], y[6], length = 0, move = 0, far = 0;
        int64_t here[6], there[6];
        assert_int_equal(pricer_slice_build(net, plan, &grid, i, &slice, NULL),
                         PRICER_OK);
        assert_true(slice->radius == mixed[i] && slice->diameter == near[i]);
        struct pricer_share share = slice->shares[trial / N % slice->count];
        double noise = pricer_round_noise(slice, &share);
        raised = fmax(raised, noise / share.noise);
        share.noise = 0;
        for (int k = 0; k < 6; k++) {
            x[k] = test_uniform(&seed) - .5;
            y[k] = test_uniform(&seed) - .5;
            length += x[k] * x[k];
            move += y[k] * y[k];
        }
        double size = mixed[i] * 1.3 * test_uniform(&seed) / sqrt(length);
        for (int k = 0; k < 6; k++) {
            x[k] *= size;
            y[k] = x[k] + y[k] / sqrt(move) * near[i] * (1 - 1e-15);
        }
        pricer_random_replay(&random, 1, PRICER_PURPOSE_NOISE, 0, 0, 0);
        assert_int_equal(
            pricer_round_share(slice, &share, x, &random, here, NULL),
            PRICER_OK);
        assert_int_equal(
            pricer_round_share(slice, &share, y, &random, there, NULL),
            PRICER_OK);
        length = 0;
        for (int k = 0; k < 6; k++) {
            far += pow((double)(here[k] - there[k]), 2);
            length += pow((double)here[k], 2);
        }
        double step = ldexp(1, grid.exponent);
        double planned = slice->shares[trial / N % slice->count].noise;
        assert_true(sqrt(far) * step * planned <=
                    share.weight * near[i] * noise * (1 + 1e-9));
        assert_true(sqrt(length) * step <=
                    share.weight * mixed[i] * (1 + 1e-9));
        pricer_slice_free(slice);
    }
    assert_true(raised > 1.0001);
    pricer_plan_free(plan);
    pricer_network_free(net);
}

static struct pricer_audit attack(const struct pricer_network *net,
                                  const struct pricer_plan *plan, int32_t node,
                                  enum pricer_observer observer)
{
    struct pricer_audit audit;
    const struct pricer_audit_settings settings = {
        .question = {.observer = observer, .delta = 1e-3},
        .node = node,
        .at = observer == PRICER_OBSERVER_SERVER ? -1 : (node + 1) % N,
        .trials = 12000,
        .seed = 3};
    struct pricer_fault fault = {""};
    if (pricer_audit_run(net, plan, &settings, &audit, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return audit;
}

/*
 * Attacks on the code that sends: no claim about a network of such nodes is
 * contradicted (each truly wrong verdict with a probability of 1e-6), the
 * attacks come near what is claimed, and the plan of small diameters is
 * contradicted by data that are further apart.
 */
static void test_attacks(void **state)
{
    (void)state;
    struct pricer_network *net =
        make(&(struct world){.radius = 1, .radii = mixed, .diameters = near});
    struct pricer_network *wide = make(&(struct world){.radius = 1});
    struct pricer_plan *plan = some_plan(net);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            struct pricer_audit audit =
                attack(net, plan, i, (enum pricer_observer)k);
            assert_false(pricer_audit_contradicts(&audit, audit.statement.eps));
            if (i != 2) /* of which next to nothing is claimed */
                assert_true(audit.eps_fitted > .5 * audit.statement.eps);
        }
    struct pricer_audit claim = attack(net, plan, 2, PRICER_OBSERVER_LINK);
    struct pricer_audit truth = attack(wide, plan, 2, PRICER_OBSERVER_LINK);
    assert_true(pricer_audit_contradicts(&truth, claim.statement.eps));
    pricer_plan_free(plan);
    pricer_network_free(net);
    pricer_network_free(wide);
}

/* What cannot count with radii says so. */
static void test_refusals(void **state)
{
    (void)state;
    struct pricer_network *net =
        make(&(struct world){.radius = 1, .radii = mixed});
    struct pricer_plan *plan = some_plan(net);
    struct pricer_fault fault = {""};
    pricer_network_free(net);
    net = make(&(struct world){.radius = 1, .diameter = 1.5});
    double values[2 * N * 6] = {0};
    const struct pricer_matrix rows = {2 * N, 6, PRICER_FLOAT64, values};
    const struct pricer_kmeans_result means = {0};
    const struct pricer_power_result vectors = {0};
    assert_int_equal(
        pricer_kmeans_run(&rows, net, plan,
                          &(struct pricer_kmeans_settings){.clusters = 2},
                          &means, &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text,
                        "K-means cannot count with a diameter: node 0 has 1.5, "
                        "less than twice the radius");
    assert_int_equal(
        pricer_power_run(&rows, net, plan,
                         &(struct pricer_power_settings){.components = 1},
                         &vectors, &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text,
                        "power iteration cannot count with a diameter: node 0 "
                        "has 1.5, less than twice the radius");
    pricer_plan_free(plan);
    pricer_network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accounts), cmocka_unit_test(test_identity),
        cmocka_unit_test(test_rounds),   cmocka_unit_test(test_attacks),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
