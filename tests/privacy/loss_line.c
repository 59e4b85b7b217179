/*
 * From a generating function to delta: the law behind the privacy curve against
 * its density, and the line against laws whose delta is known.
 */
#include "tests/test.h"
#include "privacy/loss_line.h"

/* d delta_G(eps; sqrt(x)) / dx as loss_line.h has it. */
static double density(double eps, double x)
{
    return exp(eps / 2 - eps * eps / (2 * x) - x / 8) /
           (2 * sqrt(2 * M_PI * x));
}

static double curve(double eps, double x)
{
    struct pri_gaussian g;
    pri_gaussian_at(eps, sqrtl(x), &g);
    return (double)expl(g.log_delta);
}

static void test_density(void **state)
{
    (void)state;
    for (int e = 0; e < 4; e++)
        for (double x = .01; x < 100; x *= 1.7) {
            double eps = (double[]){.1, 1, 3, 20}[e], h = 1e-4 * x;
            double slope = (curve(eps, x + h) - curve(eps, x - h)) / (2 * h);
            if (slope > 1e-200)
                assert_close(slope, density(eps, x),
                             1e-6 * (1 + eps * eps / x * eps * eps / x));
        }
}

/* E e^-sY by the trapezoid rule in ln y, which is next to exact here. */
static void test_phi(void **state)
{
    (void)state;
    for (int e = 0; e < 4; e++)
        for (int k = 0; k < 5; k++) {
            double eps = (double[]){.1, 1, 3, 20}[e];
            double s = (double[]){0, .1, 3, 50, 1000}[k], sum = 0;
            for (double t = -60; t < 12; t += 1. / 128)
                sum += exp(t - s * exp(t)) * density(eps, exp(t)) / 128;
            if (sum > 1e-280)
                assert_close(exp(pri_log_phi(PRI_MEAN, eps, s)), sum, 1e-9);
        }
}

/* ------------------------------------------------------------------ line -- */

enum { ATOMS = 3, NODES = 4000 };

struct small_law {
    double value[ATOMS], mass[ATOMS];
    int rounds;
};

static double brute(const struct small_law *law, int rounds, double x,
                    double eps)
{
    double sum = 0;
    if (rounds == 0)
        return x > 0 ? curve(eps, x) : 0;
    for (int k = 0; k < ATOMS; k++)
        sum += law->mass[k] * brute(law, rounds - 1, x + law->value[k], eps);
    return sum;
}

static double complex transform(const struct small_law *law, double complex s)
{
    double complex sum = 0;
    for (int k = 0; k < ATOMS; k++)
        sum += law->mass[k] * cexp(s * law->value[k]);
    return sum;
}

static void make_line(const struct small_law *law, double sigma, double step,
                      int32_t count, struct pri_line *line)
{
    static double complex value[NODES];
    static long double complex slope[NODES];
    static double error[NODES];
    double most = creal(transform(law, sigma));
    *line = (struct pri_line){.sigma = sigma,
                              .step = step,
                              .count = count,
                              .value = value,
                              .slope = slope,
                              .error = error,
                              .mass = 1,
                              .growth = INFINITY};
    line->log_most = law->rounds * log(most);
    for (int k = 0; k < ATOMS; k++)
        line->most = fmax(line->most, law->rounds * law->value[k]);
    for (int32_t n = 0; n < count; n++) {
        double complex once = transform(law, sigma + step * n * I) / most;
        value[n] = 1;
        for (int k = 0; k < law->rounds; k++)
            value[n] *= once;
        error[n] = 1e-13;
    }
    for (int k = 0; k < PRI_FURTHER; k++) {
        line->further[k] = (1.2 + .4 * k) * sigma;
        line->log_further[k] =
            law->rounds * log(creal(transform(law, line->further[k])));
    }
    pri_line_prepare(line);
}

static struct small_law random_law(int rounds, uint64_t *seed)
{
    struct small_law law = {.rounds = rounds};
    double sum = 0, scale = pow(10, 2 * test_uniform(seed) - 1.5) / rounds;
    for (int k = 0; k < ATOMS; k++) {
        law.value[k] = k == 0 ? 0 : scale * (.2 + test_uniform(seed));
        law.mass[k] = .05 + test_uniform(seed);
        sum += law.mass[k];
    }
    for (int k = 0; k < ATOMS; k++)
        law.mass[k] /= sum;
    return law;
}

/* Both sides around the truth, for fine lines and for lines too coarse or too
 * short; close to it for fine ones. */
static void test_delta(void **state)
{
    (void)state;
    uint64_t seed = 5;
    double narrowest = 1;
    for (int trial = 0; trial < 400; trial++) {
        struct small_law law = random_law(trial % 2 ? 5 : 1, &seed);
        struct pri_line line;
        double mean = 0;
        for (int k = 0; k < ATOMS; k++)
            mean += law.rounds * law.mass[k] * law.value[k];
        double eps = sqrt(mean) * (1 + 3 * test_uniform(&seed));
        double truth = brute(&law, law.rounds, 0, eps);
        double sigma = fmax(2 * eps * eps / (4 * mean * mean), 1 / mean) / 4;
        bool coarse = trial % 3 == 0;
        double nats = coarse ? 3 : 40;
        make_line(&law, sigma, 2 * M_PI * sigma / nats,
                  trial % 3 == 1 ? 40 : NODES, &line);
        double above = pri_line_delta(&line, eps, PRI_ABOVE);
        double below = pri_line_delta(&line, eps, PRI_BELOW);
        assert_true(above >= truth * (1 - 1e-12));
        assert_true(below <= truth * (1 + 1e-12));
        if (trial % 3 == 2)
            assert_true(above - below < 1e-6 * truth);
        if (coarse)
            narrowest = fmin(narrowest, above / truth - 1);
        /* Further away from above, by the shift. */
        line.shift = .1 * mean;
        double moved = 0;
        for (int k = 0; k < ATOMS && law.rounds == 1; k++)
            moved += law.mass[k] * curve(eps, law.value[k] + .1 * mean);
        if (law.rounds == 1)
            assert_true(pri_line_delta(&line, eps, PRI_ABOVE) >=
                        moved * (1 - 1e-12));
    }
    /* A coarse line is off by what wraps around; that must be seen. */
    assert_true(narrowest > 1e-6);
}

/* A rare mu^2 beyond the first a_1 wraps around too: known from the largest
 * mu^2, or bounded by what further lines say. */
static void test_beyond(void **state)
{
    (void)state;
    struct small_law law = {{0, .1, 40}, {.5, .499, .001}, 1};
    struct pri_line line;
    double eps = 2, sigma = .5, truth = brute(&law, 1, 0, eps);
    make_line(&law, sigma, 2 * M_PI / 20, NODES, &line);
    assert_true(pri_line_delta(&line, eps, PRI_BELOW) <= truth);
    assert_true(pri_line_delta(&line, eps, PRI_ABOVE) > 2 * truth);
    make_line(&law, sigma, 2 * M_PI / 60, NODES, &line);
    assert_true(pri_line_beyond(&line, eps, line.step) == 0);
    double below = pri_line_delta(&line, eps, PRI_BELOW);
    assert_true(below <= truth && below > .999 * truth);
    /* What Chernoff says is enough, further out. */
    line.most = 1e6;
    line.step = 2 * M_PI / 100;
    double beyond = pri_line_beyond(&line, eps, line.step);
    assert_true(beyond > 0 && beyond < .01);
}

static void test_eps(void **state)
{
    (void)state;
    uint64_t seed = 8;
    for (int trial = 0; trial < 40; trial++) {
        struct small_law law = random_law(1 + trial % 3, &seed);
        struct pri_line line;
        double mean = 0;
        for (int k = 0; k < ATOMS; k++)
            mean += law.rounds * law.mass[k] * law.value[k];
        double eps = 2 * sqrt(mean), delta = brute(&law, law.rounds, 0, eps);
        double sigma = eps * eps / (2 * mean * mean) / 4;
        make_line(&law, sigma, 2 * M_PI * sigma / 40, NODES, &line);
        double above =
            pri_line_eps(&line, delta, PRI_ABOVE, eps / 2, eps * 2, eps);
        double below =
            pri_line_eps(&line, delta, PRI_BELOW, eps / 2, eps * 2, eps);
        assert_true(below <= eps && eps <= above);
        assert_true(above - below < 1e-6 * eps);
        /* A line that says nothing leaves the ends as they are. */
        line.error[0] = 1e6;
        assert_true(pri_line_eps(&line, delta, PRI_ABOVE, eps / 2, eps * 2,
                                 eps) == eps * 2);
        assert_true(pri_line_eps(&line, delta, PRI_BELOW, eps / 2, eps * 2,
                                 eps) == eps / 2);
    }
}

/* PRI_LOSS of one Gaussian: M = e^(mu^2 u (u + 1) / 2), whose delta is known,
 * also at eps = 0 and far out. */
static void test_loss(void **state)
{
    (void)state;
    static double complex value[NODES];
    static long double complex slope[NODES];
    static double error[NODES];
    for (int m = 0; m < 5; m++)
        for (int e = 0; e < 5; e++) {
            double mu = (double[]){.01, .3, 1, 4, 30}[m];
            double eps = (double[]){0, .1, 1, 3, 6}[e] * mu + mu * mu / 2;
            double c = fmax(eps / (mu * mu) - .5, 1 / mu);
            double log_m = mu * mu * c * (c + 1) / 2;
            struct pri_line line = {.kernel = PRI_LOSS,
                                    .sigma = c,
                                    .step = 2 * M_PI * c / 50,
                                    .count = NODES,
                                    .value = value,
                                    .slope = slope,
                                    .error = error,
                                    .log_most = log_m,
                                    .mass = 1,
                                    .most = INFINITY,
                                    .growth = INFINITY};
            double over = line.step * (NODES - 1);
            line.edge = exp(-mu * mu * over * over / 2);
            for (int32_t n = 0; n < NODES; n++) {
                double complex u = c + line.step * n * I;
                value[n] = cexp(mu * mu * u * (u + 1) / 2 - log_m);
                error[n] = 1e-14;
            }
            for (int k = 0; k < PRI_FURTHER; k++) {
                double t = line.further[k] = (1.2 + .4 * k) * c;
                line.log_further[k] = mu * mu * t * (t + 1) / 2;
            }
            pri_line_prepare(&line);
            double above = pri_line_delta(&line, eps, PRI_ABOVE);
            double below = pri_line_delta(&line, eps, PRI_BELOW);
            assert_true(above >= pri_gaussian_below(eps, mu));
            assert_true(below <= pri_gaussian_above(eps, mu));
            assert_true(above - below < 1e-6 * above);
        }
}

/* One Gaussian of mu^2 = 2e8: delta goes from nothing to all within 0.1 % of
 * eps, and a line of some dozen nodes knows only what is near. An end is found
 * all the same from a guess that is no further off than guesses are. */
static void test_steep(void **state)
{
    (void)state;
    enum { FEW = 40 };
    static double complex value[FEW];
    static long double complex slope[FEW];
    static double error[FEW];
    double x = 2e8, eps = x / 2 + 4.2 * sqrt(x), sigma = 4.2 / sqrt(x) / 2;
    struct pri_line line = {.sigma = sigma,
                            .step = 2 * M_PI * sigma / 25,
                            .count = FEW,
                            .value = value,
                            .slope = slope,
                            .error = error,
                            .log_most = sigma * x,
                            .mass = 1,
                            .most = x * (1 + 1e-9),
                            .growth = INFINITY};
    for (int32_t n = 0; n < FEW; n++) {
        value[n] = cexp(line.step * n * x * I);
        error[n] = 1e-8;
    }
    for (int k = 0; k < PRI_FURTHER; k++) {
        line.further[k] = (1.2 + .4 * k) * sigma;
        line.log_further[k] = line.further[k] * x;
    }
    pri_line_prepare(&line);
    double delta = curve(eps, x);
    for (int k = -1; k < 2; k++) {
        double guess = eps * (1 + 1e-6 * k);
        double above = pri_line_eps(&line, delta, PRI_ABOVE, 0, 2 * eps, guess);
        double below = pri_line_eps(&line, delta, PRI_BELOW, 0, 2 * eps, guess);
        assert_true(below <= eps && eps <= above);
        assert_true(above - below < 1e-5 * eps);
    }
}

/* Three atoms far apart: delta is a step, on which a plain line of so few nodes
 * says nothing, and a blurred one all but the part it is blurred by; whatever
 * its step, it is on the safe side. */
static void test_blur(void **state)
{
    (void)state;
    enum { FEW = 3000 };
    static double complex value[FEW];
    static long double complex slope[FEW];
    static double error[FEW];
    static const double mass[] = {.3, 1e-3, 2e-6};
    double eps = 1e9, delta = 1e-5;
    for (int trial = 0; trial < 12; trial++) {
        double part = trial % 2 ? .02 : 0, wide = trial < 6 ? 1 : 3;
        double sigma = (3 + trial) / eps, most = 0;
        struct pri_line line = {.sigma = sigma,
                                .step = wide * 2 * M_PI * sigma / 25,
                                .count = FEW,
                                .value = value,
                                .slope = slope,
                                .error = error,
                                .mass = 1,
                                .most = INFINITY,
                                .blur = part * 2 * eps,
                                .shape = 12,
                                .shift = part * 2 * eps,
                                .growth = INFINITY};
        for (int k = 0; k < 3; k++)
            most += mass[k] * exp(sigma * (k + 1) * eps);
        line.log_most = log(most);
        for (int32_t n = 0; n < FEW; n++) {
            value[n] = 0;
            for (int k = 0; k < 3; k++)
                value[n] += mass[k] / most *
                            cexp((sigma + line.step * n * I) * (k + 1) * eps);
            error[n] = 1e-11;
        }
        for (int k = 0; k < PRI_FURTHER; k++) {
            double t = line.further[k] = (1.2 + .4 * k) * sigma, sum = 0;
            for (int j = 0; j < 3; j++)
                sum += mass[j] * exp(t * (j + 1) * eps);
            line.log_further[k] = log(sum);
        }
        pri_line_prepare(&line);
        for (double at = .3; at < 1.7; at += .013) {
            double truth = 0;
            for (int k = 0; k < 3; k++)
                truth += mass[k] * curve(at * eps, (k + 1) * eps);
            assert_true(pri_line_delta(&line, at * eps, PRI_ABOVE) >= truth);
            assert_true(pri_line_delta(&line, at * eps, PRI_BELOW) <= truth);
        }
        /* The second atom, of more than delta, is passed at its half. */
        double above =
            pri_line_eps(&line, delta, PRI_ABOVE, 0, 2 * eps, 1.001 * eps);
        double below =
            pri_line_eps(&line, delta, PRI_BELOW, 0, 2 * eps, .999 * eps);
        assert_true(below <= 1.0001 * eps && above >= .9999 * eps);
        if (part > 0 && wide == 1)
            assert_true(above - below < 1.5 * part * eps);
        else if (part == 0)
            assert_true(above - below > .01 * eps);
    }
}

/* Two large terms that cancel and thousands between them that are lost if they
 * are added up in double precision, one by one: at eps = 0 terms are the values
 * themselves, and what they add up to is known. */
static void test_adding_up(void **state)
{
    (void)state;
    static double complex value[NODES];
    static long double complex slope[NODES];
    static double error[NODES];
    for (int sign = -1; sign < 2; sign += 2) {
        struct pri_line line = {.kernel = PRI_LOSS,
                                .sigma = 1,
                                .step = 2 * M_PI / 60,
                                .count = NODES,
                                .value = value,
                                .slope = slope,
                                .error = error,
                                .mass = 1,
                                .growth = INFINITY};
        double small = .9 * 0x1p-54;
        for (int32_t n = 0; n < NODES; n++) {
            value[n] = sign * small;
            slope[n] = 1 + line.step * n * I;
        }
        value[0] = .5;
        value[NODES - 1] = sign * small * NODES - .5;
        double truth =
            creal(value[NODES - 1]) + .5 + sign * (NODES - 2) * small;
        assert_true(pri_line_delta(&line, 0, PRI_ABOVE) >= truth);
        value[0] += .25; /* so that it is more than 0 */
        assert_true(pri_line_delta(&line, 0, PRI_BELOW) <= truth + .25);
    }
}

/* One term whose exponent is the small difference of large numbers and whose
 * angle is many turns: it is known to what its own rounding costs. */
static void test_rounding(void **state)
{
    (void)state;
    uint64_t seed = 5;
    double complex value[2] = {0, .6 + .8 * I};
    long double complex slope[2];
    double error[2] = {0, 0};
    for (int trial = 0; trial < 20000; trial++) {
        struct pri_line line = {.kernel = PRI_LOSS,
                                .sigma = 60,
                                .step = 2 * M_PI,
                                .count = 2,
                                .value = value,
                                .slope = slope,
                                .error = error,
                                .mass = 1,
                                .growth = INFINITY};
        line.log_most = pow(10, 5 * test_uniform(&seed));
        double eps = pow(10, 4 + 4 * test_uniform(&seed));
        double re = -3 * test_uniform(&seed);
        double im = pow(10, 5 * test_uniform(&seed));
        slope[0] = slope[1] = (line.log_most - (long double)re + im * I) / eps;
        long double x = line.log_most - eps * creall(slope[1]);
        long double y = -eps * cimagl(slope[1]);
        long double truth =
            expl(x) * (creal(value[1]) * cosl(y) - cimag(value[1]) * sinl(y));
        double above = pri_line_delta(&line, eps, PRI_ABOVE);
        double below = pri_line_delta(&line, eps, PRI_BELOW);
        if (truth < 1e-3)
            continue;
        assert_true(above >= truth && below <= truth);
        double units = 12 + im + line.log_most / 8;
        assert_true(above - below < 4 * DBL_EPSILON * units + 2e-14);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_density),   cmocka_unit_test(test_phi),
        cmocka_unit_test(test_delta),     cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_eps),       cmocka_unit_test(test_loss),
        cmocka_unit_test(test_steep),     cmocka_unit_test(test_blur),
        cmocka_unit_test(test_adding_up), cmocka_unit_test(test_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
