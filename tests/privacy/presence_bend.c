/*
 * How the divergences of presence.c bend with the others' variance: the bounds
 * over an interval against differences of the divergences themselves, and the
 * rise against differences by eps.
 */
#include "tests/test.h"
#include "privacy/presence.h"

/* A divergence at one variance and eps, or its rise; in the middle. */
static double value_of(struct pri_presence p, double others, double eps,
                       int way, bool rise)
{
    struct pri_reach reach[2];
    p.others = others;
    pri_presence_at(&p, eps, reach);
    return rise ? (reach[way].rise_high + reach[way].rise_low) / 2
                : (reach[way].high + reach[way].low) / 2;
}

/* G = -d delta / dv by the difference of the 4th order. */
static double fall_of(struct pri_presence p, double v, double step, double eps,
                      int way)
{
    double near = value_of(p, v - step, eps, way, false) -
                  value_of(p, v + step, eps, way, false);
    double far = value_of(p, v - 2 * step, eps, way, false) -
                 value_of(p, v + 2 * step, eps, way, false);
    return (8 * near - far) / (12 * step);
}

/* D and K at one place by differences, against the bounds of an interval around
 * it and those of the place itself. */
static void check_place(struct pri_presence p, double eps, int way,
                        double *widest)
{
    double v = p.others, part = p.own / (v + p.own);
    double mu2 = p.shift * p.shift / v;
    double spread = sqrt(mu2 * (1 - part) + p.dimension * part * part);
    double far = 4 + eps / spread; /* in deviations, or more */
    double scale = v / (sqrt(p.dimension + mu2) + far * far);
    double step = .02 * scale, apart = .05 * scale, turn = .03 * spread / far;
    if (way == 0 && p.own > 0) { /* absent, there is a largest loss */
        double room = p.dimension * log1p(p.own / v) +
                      p.shift * p.shift / p.own - 2 * eps;
        if (!(room > 0))
            return;
        turn = fmin(turn, .01 * room);
        step = fmin(step, .003 * v * room);
        apart = fmin(apart, .01 * v * room);
    }
    double here = fall_of(p, v, step, eps, way);
    double tail = value_of(p, v, eps, way, true);
    if (!(here * step > 2e-6 * (tail + value_of(p, v, eps, way, false))) ||
        tail < 1e-290 || eps < 2 * turn || !(step > 1e-4 * scale) ||
        !(turn > 1e-4 * spread))
        return; /* differences would be noise */
    double after = fall_of(p, v + apart, step, eps, way);
    double before = fall_of(p, v - apart, step, eps, way);
    double by_v = log(after / before) / (2 * apart);
    double by_eps = log(fall_of(p, v, step, eps + turn, way) /
                        fall_of(p, v, step, eps - turn, way)) /
                    (2 * turn);
    struct pri_bend around[2], at[2];
    struct pri_presence left = p;
    left.others = v - 2 * apart;
    pri_presence_bend(&left, v + 2 * apart, eps, around);
    pri_presence_bend(&p, v, eps, at);
    if (isinf(at[way].high))
        return;
    double error = .02 / scale + 5e-3 * fabs(by_v);
    double turn_error = 5e-3 * (fabs(by_eps) + 1 / turn);
    if (by_v < at[way].low - error || by_v > at[way].high + error ||
        by_eps < at[way].turn_low - turn_error ||
        by_eps > at[way].turn_high + turn_error)
        fail_msg("way %d d %g m %g s %g v %g eps %g: D %g not in [%g, %g] or "
                 "K %g not in [%g, %g]",
                 way, p.dimension, p.shift, p.own, v, eps, by_v, at[way].low,
                 at[way].high, by_eps, at[way].turn_low, at[way].turn_high);
    assert_true(around[way].low <= at[way].low);
    assert_true(around[way].high >= at[way].high);
    assert_true(around[way].turn_low <= at[way].turn_low);
    assert_true(around[way].turn_high >= at[way].turn_high);
    *widest = fmax(*widest, (at[way].high - at[way].low) * scale);
}

static void test_bend(void **state)
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
                        for (int way = 0; way < 2; way++, places++)
                            check_place(
                                (struct pri_presence){sizes[k], m, owns[s], v},
                                eps, way, &widest);
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
        struct pri_bend whole[2], at[2];
        pri_presence_bend(&p, p.others * far, eps, whole);
        p.others *= pow(far, test_uniform(&seed));
        pri_presence_bend(&p, p.others, eps, at);
        for (int way = 0; way < 2; way++) {
            double room = 1e-9 * (fabs(at[way].low) + fabs(at[way].turn_low));
            if (isinf(whole[way].low))
                continue;
            assert_true(whole[way].low <= at[way].low + room);
            assert_true(whole[way].high >= at[way].high - room);
            assert_true(whole[way].turn_low <= at[way].turn_low + room);
            assert_true(whole[way].turn_high >= at[way].turn_high - room);
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
            for (int way = 0; way < 2; way++) {
                double h = 1e-3, v = cases[k].others;
                double slope = (value_of(cases[k], v, eps - h, way, false) -
                                value_of(cases[k], v, eps + h, way, false)) /
                               (2 * h);
                struct pri_reach reach[2];
                pri_presence_at(&cases[k], eps, reach);
                assert_true(reach[way].rise_low <= slope + 1e-4 * slope + 1e-8);
                assert_true(reach[way].rise_high >=
                            slope - 1e-4 * slope - 1e-8);
                assert_true(reach[way].rise_high - reach[way].rise_low <=
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
                        struct pri_bend bend[2];
                        pri_presence_bend(&p, p.others * 1.5, eps, bend);
                        for (int way = 0; way < 2; way++) {
                            assert_true(bend[way].low <= bend[way].high);
                            assert_true(bend[way].turn_low <=
                                        bend[way].turn_high);
                        }
                    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bend),
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_rise),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
