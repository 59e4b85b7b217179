/*
 * How the divergences of presence.c bend with the others' variance: the bounds
 * over an interval against differences of the divergences themselves, and the
 * rise against differences by eps.
 */
#include "tests/test.h"
#include "privacy/presence.h"

/* A divergence at one variance and eps, or its rise; in the middle. */
static double value_of(struct pri_presence p, double others, double eps,
                       int direction, bool rise)
{
    struct pri_reach reach[2];
    p.others = others;
    pri_presence_at(&p, eps, reach);
    return rise ? (reach[direction].rise_high + reach[direction].rise_low) / 2
                : (reach[direction].high + reach[direction].low) / 2;
}

/* G = -d delta / dv by the difference of the 4th order. */
static double fall_of(struct pri_presence p, double v, double step, double eps,
                      int direction)
{
    double near = value_of(p, v - step, eps, direction, false) -
                  value_of(p, v + step, eps, direction, false);
    double far = value_of(p, v - 2 * step, eps, direction, false) -
                 value_of(p, v + 2 * step, eps, direction, false);
    return (8 * near - far) / (12 * step);
}

/* D and K at one place by differences, against the bounds of an interval around
 * it and those of the place itself. */
static void check_place(struct pri_presence p, double eps, int direction,
                        double *widest)
{
    double v = p.others, part = p.own / (v + p.own);
    double mu2 = p.shift * p.shift / v;
    double spread = sqrt(mu2 * (1 - part) + p.dimension * part * part);
    double far = 4 + eps / spread; /* in deviations, or more */
    double scale = v / (sqrt(p.dimension + mu2) + far * far);
    double step = .02 * scale, apart = .05 * scale, shift = .03 * spread / far;
    if (direction == 0 && p.own > 0) { /* absent, there is a largest loss */
        double room = p.dimension * log1p(p.own / v) +
                      p.shift * p.shift / p.own - 2 * eps;
        if (!(room > 0))
            return;
        shift = fmin(shift, .01 * room);
        step = fmin(step, .003 * v * room);
        apart = fmin(apart, .01 * v * room);
    }
    double here = fall_of(p, v, step, eps, direction);
    double tail = value_of(p, v, eps, direction, true);
    if (!(here * step >
          2e-6 * (tail + value_of(p, v, eps, direction, false))) ||
        tail < 1e-290 || eps < 2 * shift || !(step > 1e-4 * scale) ||
        !(shift > 1e-4 * spread))
        return; /* differences would be noise */
    double after = fall_of(p, v + apart, step, eps, direction);
    double before = fall_of(p, v - apart, step, eps, direction);
    double by_v = log(after / before) / (2 * apart);
    double by_eps = log(fall_of(p, v, step, eps + shift, direction) /
                        fall_of(p, v, step, eps - shift, direction)) /
                    (2 * shift);
    struct pri_curvature around[2], at[2];
    struct pri_presence left = p;
    left.others = v - 2 * apart;
    pri_presence_curvature(&left, v + 2 * apart, eps, around);
    pri_presence_curvature(&p, v, eps, at);
    if (isinf(at[direction].high))
        return;
    double error = .02 / scale + 5e-3 * fabs(by_v);
    double by_eps_error = 5e-3 * (fabs(by_eps) + 1 / shift);
    if (by_v < at[direction].low - error || by_v > at[direction].high + error ||
        by_eps < at[direction].by_eps_low - by_eps_error ||
        by_eps > at[direction].by_eps_high + by_eps_error)
        fail_msg(
            "direction %d d %g m %g s %g v %g eps %g: D %g not in [%g, %g] or "
            "K %g not in [%g, %g]",
            direction, p.dimension, p.shift, p.own, v, eps, by_v,
            at[direction].low, at[direction].high, by_eps,
            at[direction].by_eps_low, at[direction].by_eps_high);
    assert_true(around[direction].low <= at[direction].low);
    assert_true(around[direction].high >= at[direction].high);
    assert_true(around[direction].by_eps_low <= at[direction].by_eps_low);
    assert_true(around[direction].by_eps_high >= at[direction].by_eps_high);
    *widest = fmax(*widest, (at[direction].high - at[direction].low) * scale);
}

static void test_curvature(void **state)
{
    (void)state;
    static const double sizes[] = {1, 2, 3, 10, 100, 1000};
    static const double owns[] = {0, 1e-3, .03, .3, 1, 10};
    double widest = 0;
    int places = 0;
    for (int k = 0; k < 6; k++)
        for (int s = 0; s < 6; s++)
            for (double m = 1e-2; m < 20; m *= 6)
                for (double v = .3; v < 5; v *= 5)
                    for (double eps = .05; eps < 300; eps *= 3.7)
                        for (int direction = 0; direction < 2;
                             direction++, places++)
                            check_place(
                                (struct pri_presence){sizes[k], m, owns[s], v},
                                eps, direction, &widest);
    for (double v = .3; v < 5; v *= 2)
        check_place((struct pri_presence){40, 0, .2, v}, .7, 1, &widest);
    print_message("%d places, widest %g\n", places, widest);
    assert_true(widest < .5);
}

/* The bounds of an interval hold all those inside it, also where the ratio of
 * Bessel functions turns back. */
static void test_inside(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int trial = 0; trial < 20000; trial++) {
        struct pri_presence p = {1 + trial % 4, 3 * test_uniform(&seed),
                                 pow(10, 3 * test_uniform(&seed) - 2),
                                 pow(10, 2 * test_uniform(&seed) - 1)};
        double eps = 3 * test_uniform(&seed), far = 1 + test_uniform(&seed);
        struct pri_curvature whole[2], at[2];
        pri_presence_curvature(&p, p.others * far, eps, whole);
        p.others *= pow(far, test_uniform(&seed));
        pri_presence_curvature(&p, p.others, eps, at);
        for (int direction = 0; direction < 2; direction++) {
            double room = 1e-9 * (fabs(at[direction].low) +
                                  fabs(at[direction].by_eps_low));
            if (isinf(whole[direction].low))
                continue;
            assert_true(whole[direction].low <= at[direction].low + room);
            assert_true(whole[direction].high >= at[direction].high - room);
            assert_true(whole[direction].by_eps_low <=
                        at[direction].by_eps_low + room);
            assert_true(whole[direction].by_eps_high >=
                        at[direction].by_eps_high - room);
        }
    }
}

/* The rise is the derivative by eps. */
static void test_rise(void **state)
{
    (void)state;
    static const struct pri_presence cases[] = {
        {4, 1, .5, 1}, {100, .3, 1, 20}, {16, 2, 3, 1},  {5, 1, .01, 1},
        {7, .8, 0, 1}, {30, 0, .4, 1},   {9, 1, 1e-9, 1}};
    for (int k = 0; k < 7; k++)
        for (double eps = .2; eps < 2; eps += .3)
            for (int direction = 0; direction < 2; direction++) {
                double h = 1e-3, v = cases[k].others;
                double slope =
                    (value_of(cases[k], v, eps - h, direction, false) -
                     value_of(cases[k], v, eps + h, direction, false)) /
                    (2 * h);
                struct pri_reach reach[2];
                pri_presence_at(&cases[k], eps, reach);
                assert_true(reach[direction].rise_low <=
                            slope + 1e-4 * slope + 1e-8);
                assert_true(reach[direction].rise_high >=
                            slope - 1e-4 * slope - 1e-8);
                assert_true(reach[direction].rise_high -
                                reach[direction].rise_low <=
                            (k == 6 ? .2 * slope + .01 : 1e-9));
            }
}

/* Nothing is claimed that is not finite, and no bound is not a number. */
static void test_extremes(void **state)
{
    (void)state;
    for (double d = 1; d < 2e6; d *= 37)
        for (int a = -180; a <= 12; a += 12)
            for (int s = -12; s <= 12; s += 6)
                for (int v = -12; v <= 12; v += 6)
                    for (double eps = 0; eps < 1e19; eps = 90 * eps + 1e-12) {
                        struct pri_presence p = {d, pow(10, a), pow(10, s),
                                                 pow(10, v)};
                        struct pri_curvature curvature[2];
                        pri_presence_curvature(&p, p.others * 1.5, eps,
                                               curvature);
                        for (int direction = 0; direction < 2; direction++) {
                            assert_true(curvature[direction].low <=
                                        curvature[direction].high);
                            assert_true(curvature[direction].by_eps_low <=
                                        curvature[direction].by_eps_high);
                        }
                    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curvature),
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_rise),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
