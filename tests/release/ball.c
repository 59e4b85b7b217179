/*
 * Caps and compositions in ball arithmetic: every claimed error bound holds, and
 * every claimed delta is above the true one and close to it.
 */
#include "tests/test.h"
#include "release/release.h"

#include <arb.h>
#include <arb_hypgeom.h>

enum { BITS = 400 };

static void set_long(arb_t x, long double value)
{
    arb_t low;
    int exponent;
    long double part = frexpl(value, &exponent);
    double high = (double)part;
    arb_init(low);
    arb_set_d(x, high);
    arb_set_d(low, (double)(part - high));
    arb_add(x, x, low, BITS);
    arb_mul_2exp_si(x, x, exponent);
    arb_clear(low);
}

/* Whether |claim / truth - 1| <= error, and the ball is small enough to say. */
static void check_relative(long double claim, const arb_t truth,
                           long double error)
{
    arb_t x, bound;
    arb_init(x);
    arb_init(bound);
    set_long(x, claim);
    arb_div(x, x, truth, BITS);
    arb_sub_ui(x, x, 1, BITS);
    arb_abs(x, x);
    set_long(bound, error);
    if (!arb_le(x, bound)) {
        arb_printn(truth, 25, 0);
        fail_msg(": claimed %.20Lg, error %Lg", claim, error);
    }
    arb_clear(x);
    arb_clear(bound);
}

static void check_cap(int64_t k, double t)
{
    struct pri_cap cap;
    arb_t a, half, x, q, g;
    arb_init(a);
    arb_init(half);
    arb_init(x);
    arb_init(q);
    arb_init(g);
    pri_cap_at(k, t, &cap);
    arb_set_si(a, k - 1);
    arb_mul_2exp_si(a, a, -1);
    arb_set_d(half, .5);
    arb_set_d(x, t);
    arb_mul(x, x, x, BITS);
    arb_sub_ui(x, x, 1, BITS);
    arb_neg(x, x);
    arb_hypgeom_beta_lower(q, a, half, x, 1, BITS);
    arb_mul_2exp_si(q, q, -1);
    arb_pow(g, x, a, BITS); /* (1 - t^2)^a Gamma(a + 1/2) / ... */
    arb_rgamma(x, a, BITS);
    arb_mul(g, g, x, BITS);
    arb_add(x, a, half, BITS);
    arb_gamma(x, x, BITS);
    arb_mul(g, g, x, BITS);
    arb_const_sqrt_pi(x, BITS);
    arb_div(g, g, x, BITS);
    arb_div(g, g, a, BITS);
    arb_mul_2exp_si(g, g, -1);
    arb_div(g, g, q, BITS);
    assert_true(cap.error < 1e-12L);
    if (cap.share > 1e-4000L)
        check_relative(cap.share, q, cap.error);
    check_relative(cap.mean, g, cap.error);
    arb_log(q, q, BITS);
    check_relative(cap.log_share, q, cap.error + 1e-18L);
    arb_clear(a);
    arb_clear(half);
    arb_clear(x);
    arb_clear(q);
    arb_clear(g);
}

static void test_caps(void **state)
{
    static const int64_t sizes[] = {2, 3, 4, 5, 17, 129, 1001, 10001, 1000001};
    static const double heights[] = {1e-3, .01, .1, .5, 1,  2,  2.9,
                                     3,    3.1, 4,  6,  12, 100};
    static const double places[] = {1e-9, .05, .3,       .5,         .7,
                                    .71,  .9,  1 - 1e-6, 1 - 0x1p-29};
    uint64_t seed = 1;
    (void)state;
    for (int i = 0; i < 9; i++) {
        for (int j = 0; j < 13; j++) {
            double t = heights[j] / sqrt((double)sizes[i]);
            if (t < 1)
                check_cap(sizes[i], t);
        }
        for (int j = 0; j < 9; j++)
            if (sizes[i] < 20000 || places[j] < .1)
                check_cap(sizes[i], places[j]);
    }
    for (int k = 0; k < 100; k++)
        check_cap(2 + (int64_t)(test_random(&seed) % 300),
                  test_uniform(&seed) * .999 + 1e-9);
}

/* delta of the trinomial law, term by term. */
static void trinomial(arb_t delta, const struct pri_release_loss *loss,
                      double eps)
{
    int64_t rounds = loss->rounds;
    arb_t up, down, stay, term, part, x;
    arb_init(up);
    arb_init(down);
    arb_init(stay);
    arb_init(term);
    arb_init(part);
    arb_init(x);
    set_long(up, loss->up);
    set_long(down, loss->down);
    arb_add(stay, up, down, BITS);
    arb_sub_ui(stay, stay, 1, BITS);
    arb_neg(stay, stay);
    arb_zero(delta);
    for (int64_t n = 0; n <= rounds; n++) {
        arb_set_d(x, loss->e0);
        arb_mul_si(x, x, n, BITS);
        arb_set_d(part, eps);
        arb_sub(x, part, x, BITS);
        if (!arb_is_negative(x))
            continue;
        arb_expm1(x, x, BITS);
        arb_neg(x, x);
        for (int64_t i = 0; 2 * i + n <= rounds; i++) {
            arb_bin_uiui(term, (ulong)rounds, (ulong)(2 * i + n), BITS);
            arb_bin_uiui(part, (ulong)(2 * i + n), (ulong)i, BITS);
            arb_mul(term, term, part, BITS);
            arb_pow_ui(part, up, (ulong)(i + n), BITS);
            arb_mul(term, term, part, BITS);
            arb_pow_ui(part, down, (ulong)i, BITS);
            arb_mul(term, term, part, BITS);
            arb_pow_ui(part, stay, (ulong)(rounds - 2 * i - n), BITS);
            arb_mul(term, term, part, BITS);
            arb_addmul(delta, term, x, BITS);
        }
    }
    arb_clear(up);
    arb_clear(down);
    arb_clear(stay);
    arb_clear(term);
    arb_clear(part);
    arb_clear(x);
}

static void test_compositions(void **state)
{
    static const int64_t sizes[] = {1, 2, 5, 20, 100, 300};
    uint64_t seed = 2;
    arb_t truth, claim;
    (void)state;
    arb_init(truth);
    arb_init(claim);
    for (int k = 0; k < 60; k++) {
        int64_t rounds = sizes[k % 6];
        double e0 = 12 * pow(10, -3 * test_uniform(&seed));
        double p = .02 + .9 * test_uniform(&seed);
        double down = p * exp(-e0);
        if (p + down > 1)
            continue;
        double eps = (double)rounds * e0 * test_uniform(&seed);
        struct pri_release_loss loss = {p, down, e0, 0, rounds};
        double delta = pri_release_delta(&loss, eps);
        trinomial(truth, &loss, eps);
        arb_set_d(claim, delta);
        assert_true(arb_ge(claim, truth));
        arb_mul_ui(truth, truth, 1000000001, BITS);
        arb_div_ui(truth, truth, 1000000000, BITS);
        arb_set_d(claim, delta - 1e-16);
        if (!arb_le(claim, truth))
            fail_msg("%.17g is too far above at eps %g", delta, eps);
    }
    arb_clear(truth);
    arb_clear(claim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_compositions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
