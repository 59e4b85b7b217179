/*
 * What several rounds of a node's release cost: against the values that were
 * computed elsewhere, sums over all sequences of losses, the budgets that releases
 * are made for, and the curve of the Gaussian.
 */
#include "tests/test.h"
#include "pricer.h"
#include "pricer_forward.h"
#include "release/release.h"

static struct pricer_forward_node sphere(double t, double e0)
{
    return (struct pricer_forward_node){
        .release = PRICER_RELEASE_SPHERE, .threshold = t, .loss = e0};
}

static struct pricer_forward_privacy ask(const struct pricer_forward_node *node,
                                         int64_t dimension, int64_t rounds,
                                         double delta)
{
    struct pricer_forward_privacy found;
    struct pricer_fault fault = {""};
    if (pricer_forward_privacy_eps(
            &(struct pricer_forward_releases){node, 1, dimension, rounds, 0},
            delta, &found, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    assert_true(found.delta == delta && found.eps_lower <= found.eps);
    return found;
}

static double ask_delta(const struct pricer_forward_node *node,
                        int64_t dimension, int64_t rounds, double eps)
{
    double delta = -1;
    assert_int_equal(
        pricer_forward_privacy_delta(
            &(struct pricer_forward_releases){node, 1, dimension, rounds, 0},
            eps, &delta, NULL),
        PRICER_OK);
    return delta;
}

/* The values of the scheme's description, both ways. */
static void test_known(void **state)
{
    static const struct {
        double t, e0;
        int64_t dimension, rounds;
        double eps, delta, digits;
    } known[] = {{.3, .8, 2, 10, 4, .123935535504, 1e-12},
                 {.06, .5, 128, 20, 8, 1.04563252e-6, 1e-14}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        double e0 = floor(known[k].e0 * 0x1p40) * 0x1p-40;
        struct pricer_forward_node node = sphere(known[k].t, e0);
        double delta =
            ask_delta(&node, known[k].dimension, known[k].rounds, known[k].eps);
        /* e0 on its grid is less by 1e-12, and the charge counts. */
        assert_close(delta, known[k].delta, 2e-8);
        struct pricer_forward_privacy found =
            ask(&node, known[k].dimension, known[k].rounds, delta);
        assert_close(found.eps, known[k].eps, 1e-12);
        assert_close(found.eps_lower, known[k].eps, 1e-8);
    }
}

/* P(first) - e^eps P(other) summed over all sequences of signs. */
static long double enumerate(long double up, long double e0, int64_t left,
                             long double mass, long double other, double eps)
{
    long double down = up * expl(-e0), stay = 1 - up - down;
    if (left == 0)
        return fmaxl(0, mass - expl(eps) * other);
    return enumerate(up, e0, left - 1, mass * up, other * down, eps) +
           enumerate(up, e0, left - 1, mass * down, other * up, eps) +
           enumerate(up, e0, left - 1, mass * stay, other * stay, eps);
}

/* At eps_lower more than delta is lost for sure, at eps not. On the plane k = 2
 * the share of a cap is acos(t) / pi. */
static void test_both_ends(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int k = 0; k < 100; k++) {
        double t = .02 + .9 * test_uniform(&seed);
        double e0 = floor(0x1p40 * (.05 + 3 * test_uniform(&seed))) * 0x1p-40;
        int64_t rounds = 1 + k % 8;
        double delta = pow(10, -6 * test_uniform(&seed));
        struct pricer_forward_node node = sphere(t, e0);
        struct pricer_forward_privacy found = ask(&node, 1, rounds, delta);
        long double q = acosl(t) / M_PIl, e = expl(-(long double)e0);
        long double up = q / (q + (1 - q) * e);
        assert_true(enumerate(up, e0, rounds, 1, 1, found.eps) <= delta);
        assert_true(found.eps_lower == 0 ||
                    enumerate(up, e0, rounds, 1, 1, found.eps_lower) >= delta);
        assert_true(found.eps - found.eps_lower <= 1e-8 * found.eps + 1e-9);
    }
    /* delta = 0: every round may lose all of e0. */
    struct pricer_forward_node node = sphere(.4, 1.5);
    struct pricer_forward_privacy pure = ask(&node, 3, 7, 0);
    assert_true(pure.eps >= 7 * 1.5 && pure.eps <= 7 * 1.5 * (1 + 1e-8));
    assert_close(pure.eps_lower, 7 * 1.5, 1e-8);
    assert_true(ask_delta(&node, 3, 7, pure.eps) == 0);
}

/* A release made for a budget costs the budget, and hardly less. */
static void test_budgets(void **state)
{
    static const int64_t rounds[] = {1, 2, 5, 30, 300};
    (void)state;
    for (int kind = PRI_RELEASE_SPHERE; kind <= PRI_RELEASE_GAUSSIAN; kind++)
        for (int k = 0; k < 5; k++) {
            struct pri_release_wish wish = {
                (enum pri_release_kind)kind, 16, 1, 4, 1e-5, rounds[k], 0};
            struct pri_release release;
            assert_int_equal(pri_release_for_budget(&wish, &release, NULL),
                             PRICER_OK);
            struct pricer_forward_node node = {.release =
                                                   (enum pricer_release)kind,
                                               .threshold = release.t,
                                               .loss = release.e0,
                                               .noise = release.noise};
            struct pricer_forward_privacy found =
                ask(&node, 16, rounds[k], 1e-5);
            assert_true(found.eps <= 4);
            assert_true(ask_delta(&node, 16, rounds[k], 4) <= 1e-5);
            /* One round of a sphere ignores delta, and gains a little by it. */
            assert_true(found.eps_lower >=
                        4 * (rounds[k] == 1 ? .999 : 1 - 1e-7));
        }
}

static void test_gaussian(void **state)
{
    struct pricer_forward_node node = {.release = PRICER_RELEASE_GAUSSIAN,
                                       .noise = 5};
    (void)state;
    for (double eps = .1; eps < 5; eps *= 2) {
        double delta = pricer_gaussian_delta(eps, 2. / 5 * sqrt(9));
        assert_close(ask_delta(&node, 4, 9, eps), delta, 1e-12);
        assert_close(ask(&node, 4, 9, delta).eps, eps, 1e-12);
        assert_close(ask(&node, 4, 9, delta).eps_lower, eps, 1e-12);
    }
    assert_true(isinf(ask(&node, 4, 9, 0).eps));
}

/* Neighbours that differ by D: the Gaussian's curve is that of D / noise, a little
 * above it for the rounding of the payload; a sphere's stays where it is. */
static void test_diameter(void **state)
{
    struct pricer_forward_node node = {.release = PRICER_RELEASE_GAUSSIAN,
                                       .noise = .5};
    struct pricer_forward_node cap = sphere(.3, 1);
    struct pricer_forward_privacy found, whole = ask(&cap, 4, 9, 1e-5);
    (void)state;
    for (double diameter = .01; diameter < 2; diameter *= 2) {
        double eps = 2 * diameter;
        double delta = pricer_gaussian_delta(eps, diameter / .5 * sqrt(9));
        struct pricer_forward_releases of = {&node, 1, 4, 9, diameter};
        assert_int_equal(pricer_forward_privacy_eps(&of, delta, &found, NULL),
                         PRICER_OK);
        assert_true(found.eps_lower <= eps * (1 + 1e-12));
        assert_true(found.eps > eps && found.eps < eps * (1 + 1e-3));
        assert_true(found.eps_lower > eps * (1 - 1e-9));
        of.node = &cap;
        assert_int_equal(pricer_forward_privacy_eps(&of, 1e-5, &found, NULL),
                         PRICER_OK);
        assert_true(found.eps == whole.eps &&
                    found.eps_lower == whole.eps_lower);
    }
    assert_int_equal(pricer_forward_privacy_eps(
                         &(struct pricer_forward_releases){&node, 1, 4, 9, 2.5},
                         1e-5, &found, NULL),
                     PRICER_VALUE);
}

static void test_refusals(void **state)
{
    struct pricer_forward_privacy found = {.eps = -1};
    struct pricer_forward_node good = sphere(.3, 1),
                               bad[] = {sphere(.3, 13),
                                        sphere(1.5, 1),
                                        sphere(.3, .1),
                                        {.release = PRICER_RELEASE_GAUSSIAN},
                                        {.release = PRICER_RELEASE_BEST}};
    struct pricer_fault fault = {""};
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        fault.text[0] = '\0';
        assert_int_equal(
            pricer_forward_privacy_eps(
                &(struct pricer_forward_releases){&bad[k], 1, 2, 1, 0}, 1e-5,
                &found, &fault),
            PRICER_VALUE);
        assert_true(fault.text[0] != '\0');
    }
    assert_int_equal(pricer_forward_privacy_eps(
                         &(struct pricer_forward_releases){&good, 1, 2, 0, 0},
                         1e-5, &found, &fault),
                     PRICER_VALUE);
    assert_int_equal(pricer_forward_privacy_eps(
                         &(struct pricer_forward_releases){&good, 1, 2, 1, 0},
                         1.5, &found, &fault),
                     PRICER_VALUE);
    assert_int_equal(pricer_forward_privacy_eps(
                         &(struct pricer_forward_releases){&good, NAN, 2, 1, 0},
                         .5, &found, &fault),
                     PRICER_VALUE);
    assert_true(found.eps == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),    cmocka_unit_test(test_both_ends),
        cmocka_unit_test(test_budgets),  cmocka_unit_test(test_gaussian),
        cmocka_unit_test(test_diameter), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
