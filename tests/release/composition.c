/*
 * Several rounds of a release: known values, all sequences of signs one by one,
 * repeated convolution, and that eps is the inverse of delta.
 */
#include "tests/test.h"
#include "release/release.h"

static struct pri_release_loss make(int64_t dimension, double t, double e0,
                                    int64_t rounds)
{
    struct pri_cap cap;
    pri_cap_at(dimension + 1, t, &cap);
    long double e = expl(-(long double)e0);
    long double p = cap.share / (cap.share + (1 - cap.share) * e);
    return (struct pri_release_loss){p, p * e, e0, 0, rounds};
}

static void test_known(void **state)
{
    struct pri_release_loss loss = make(2, .3, .8, 10);
    (void)state;
    assert_true(fabs(pri_release_delta(&loss, 4) - .123935535504) < .501e-12);
    loss = make(128, .06, .5, 20);
    assert_true(fabs(pri_release_delta(&loss, 8) - 1.04563252e-6) < .501e-14);
}

/* The sum over all 3^left sequences. */
static long double enumerate(const struct pri_release_loss *loss, int64_t left,
                             long double mass, long double other, double eps)
{
    long double stay = 1 - loss->up - loss->down;
    if (left == 0)
        return fmaxl(0, mass - expl(eps) * other);
    return enumerate(loss, left - 1, mass * loss->up, other * loss->down, eps) +
           enumerate(loss, left - 1, mass * loss->down, other * loss->up, eps) +
           enumerate(loss, left - 1, mass * stay, other * stay, eps);
}

static void test_brute_force(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int k = 0; k < 300; k++) {
        int64_t rounds = 1 + (int64_t)(test_random(&seed) % 9);
        double e0 = 3 * test_uniform(&seed) + .01;
        struct pri_release_loss loss =
            make(1 + k % 7, .9 * test_uniform(&seed) + .01, e0, rounds);
        double eps = (double)rounds * e0 * test_uniform(&seed);
        double claim = pri_release_delta(&loss, eps);
        long double truth = enumerate(&loss, rounds, 1, 1, eps);
        assert_true(claim >= truth * (1 - 1e-15L) - 1e-17L);
        assert_true(claim <= truth * (1 + 0x1p-40L) + 1e-16L);
    }
}

/* Hundreds of rounds by adding one after the other. */
static void test_convolution(void **state)
{
    enum { MOST = 400 };
    static long double law[2][2 * MOST + 3];
    struct pri_release_loss loss = make(16, .1, .25, MOST);
    long double stay = 1 - loss.up - loss.down;
    (void)state;
    law[0][MOST + 1] = 1;
    for (int r = 0; r < MOST; r++)
        for (int n = 1; n <= 2 * MOST + 1; n++)
            law[(r + 1) % 2][n] = law[r % 2][n - 1] * loss.up +
                                  law[r % 2][n] * stay +
                                  law[r % 2][n + 1] * loss.down;
    for (double eps = 0; eps < 60; eps += 1.7) {
        long double sum = 0;
        for (int n = 0; n <= MOST; n++)
            if (n * .25 > eps)
                sum += law[MOST % 2][MOST + 1 + n] * -expm1l(eps - n * .25L);
        double claim = pri_release_delta(&loss, eps);
        assert_true(claim >= sum * (1 - 1e-14L));
        assert_true(claim <= sum * (1 + 1e-12L) + 1e-290L);
    }
}

static void test_many(void **state)
{
    (void)state;
    for (int64_t rounds = 1; rounds <= 100000; rounds *= 10) {
        double e0 = 1 / sqrt((double)rounds);
        struct pri_release_loss loss = make(128, .05, e0, rounds);
        double last = 1;
        for (double eps = 0; eps < 8; eps += .25) {
            double delta = pri_release_delta(&loss, eps);
            assert_true(delta >= 0 && delta <= last);
            last = delta;
        }
        double eps = pri_release_eps(&loss, 1e-6);
        assert_true(pri_release_delta(&loss, eps) <= 1e-6);
        assert_true(pri_release_delta(&loss, eps * (1 - 1e-9)) > 1e-6);
    }
}

/* The charge counts in every round; 0 rounds' worth of eps is all of it. */
static void test_charge(void **state)
{
    struct pri_release release;
    struct pri_release_loss loss, bare;
    (void)state;
    assert_int_equal(pri_release_sphere(2, 1, .3, .75, &release, NULL),
                     PRICER_OK);
    pri_release_loss(&release, 10, &loss);
    bare = make(2, .3, .75, 10);
    assert_true(loss.up > bare.up && loss.down < bare.down);
    assert_close((double)loss.up, (double)bare.up, 1e-10);
    assert_close((double)loss.up, release.p, 1e-10);
    assert_true(pri_release_delta(&loss, 4) > pri_release_delta(&bare, 4));
    loss.charge = .1;
    assert_true(pri_release_delta(&loss, 4) >=
                pri_release_delta(&bare, 3) * (1 - 1e-9));
    assert_true(pri_release_delta(&loss, .9) == 1);
    assert_true(pri_release_delta(&bare, 7.6) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),       cmocka_unit_test(test_brute_force),
        cmocka_unit_test(test_convolution), cmocka_unit_test(test_many),
        cmocka_unit_test(test_charge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
