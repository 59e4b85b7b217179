/*
 * One sum against brute force: every pattern of its noises, at real and complex
 * s. Values along a line must be within the errors that go with them, bounds at
 * a real s and beyond a place on the line must hold, for data and for
 * identities in both directions, whatever the width of the groups.
 */
#include "tests/test.h"
#include "privacy/factor.h"

enum { NOISES = 11, NODES = 12, MANY = 600 };

struct scene {
    struct pri_view view;
    struct pri_source source;
    struct pri_packet noise[NOISES];
    double chance[NOISES], absent[NOISES];
    struct pri_mgf factor;
    double hide;
};

static void make_scene(struct pri_function function, double width, bool bare,
                       uint64_t *seed, struct scene *scene)
{
    struct pri_law spare = {0};
    *scene = (struct scene){.hide = 1e-300};
    scene->view = (struct pri_view){.sources = 1,
                                    .noises = NOISES,
                                    .source = &scene->source,
                                    .noise = scene->noise,
                                    .dimension = function.dimension};
    scene->source = (struct pri_source){.signal = test_uniform(seed),
                                        .base = bare ? 0 : test_uniform(seed),
                                        .uplink = .8,
                                        .link = .7,
                                        .end = NOISES};
    if (function.dimension > 0)
        scene->source.own = test_uniform(seed);
    for (int k = 0; k < NOISES; k++) {
        scene->noise[k] = (struct pri_packet){k, .1 + test_uniform(seed),
                                              .1 + .8 * test_uniform(seed), 0};
        scene->chance[k] = scene->noise[k].chance;
        scene->absent[k] = 1 - scene->chance[k];
    }
    if (bare) /* small ones hide nothing, the others do */
        scene->hide = .5;
    scene->factor = (struct pri_mgf){.signal = scene->source.signal,
                                     .own = scene->source.own,
                                     .seen = pri_seen(&scene->source),
                                     .unseen = pri_unseen(&scene->source)};
    assert_int_equal(pri_law_build(&scene->view, 0, scene->chance,
                                   scene->absent, scene->hide, width, INFINITY,
                                   &spare, &scene->factor.law),
                     PRICER_OK);
    pri_law_free(&spare);
}

/* g of one variance of the others, straight from the densities: ln of the integral
 * of p^(1+u) q^-u. */
static long double complex exponent(struct pri_function function,
                                    const struct pri_source *source,
                                    long double v, long double complex s)
{
    long double d = function.dimension, own = source->own;
    long double p = function.direction ? v + own : v;
    long double q = function.direction ? v : v + own;
    /* With precision (1 + s) / p - s / q the square is completed. */
    long double complex precision = (1 + s) / p - s / q;
    if (function.kernel == PRI_MEAN)
        return s * source->signal / v;
    if (d == 0)
        return s * (s + 1) / 2 * source->signal / v;
    return -d / 2 * ((1 + s) * logl(p) - s * logl(q)) -
           d / 2 * clogl(precision) +
           source->signal * s * (1 + s) / (2 * p * q * precision);
}

/* seen E e^g over the patterns with a noise that hides. */
static long double complex brute(const struct scene *scene,
                                 struct pri_function function,
                                 long double complex s, double *hidden)
{
    long double complex sum = 0;
    *hidden = 0;
    for (int set = 0; set < 1 << NOISES; set++) {
        long double mass = 1, v = scene->source.base;
        bool hides = v >= scene->hide;
        for (int k = 0; k < NOISES; k++) {
            bool in = set >> k & 1;
            mass *= in ? scene->chance[k] : scene->absent[k];
            v += in ? scene->noise[k].size : 0;
            hides = hides || (in && scene->noise[k].size >= scene->hide);
        }
        if (!hides)
            continue;
        *hidden += mass;
        sum += mass * cexpl(exponent(function, &scene->source, v, s));
    }
    return scene->factor.seen * sum;
}

/* The truth is in extended precision: what rounds is charged, too. */
static void check(struct pri_function function, int trial, double width,
                  bool bare, uint64_t *seed, double *worst)
{
    struct scene scene;
    make_scene(function, width, bare, seed, &scene);
    double strip = pri_factor_most(&function, &scene.factor), hidden;
    /* Close to where an identity's integral ends, all cancels. */
    double near = trial < 8 ? .7 : .99;
    double s = fmin(2 * test_uniform(seed) + .1, near * strip), step = .6 * s;
    double complex value[NODES];
    double error[NODES], shown, unseen;
    double offset =
        pri_factor_real(&function, &scene.factor, s, &shown, &unseen);
    long double scale = expl(-offset);
    long double complex truth = scale * brute(&scene, function, s, &hidden);
    assert_true(unseen * PRI_SLACK >= scale * scene.factor.unseen);
    assert_true(shown >= creall(truth));
    assert_true(width > .01 || shown <= creall(truth) * 1.1);
    assert_true(fabs(scene.factor.law.bare - (1 - hidden)) < 1e-12);
    struct pri_function loss = {PRI_LOSS, function.direction,
                                function.dimension};
    double left = creal(brute(&scene, loss, -.5, &hidden));
    double at_left, edge, rest;
    pri_factor_real(&loss, &scene.factor, -.5, &at_left, &rest);
    assert_true(at_left >= left * (1 - 1e-12) && rest >= scene.factor.unseen);
    assert_true(width > .01 || at_left <= left * 1.1);
    pri_factor_along(&function, &scene.factor, false, s, step, NODES, value,
                     error);
    for (int n = 0; n < NODES; n++) {
        truth = scale *
                brute(&scene, function, s + (long double)step * n * I, &hidden);
        double off = cabsl(value[n] - truth);
        if (!(off <= error[n]))
            fail_msg("kernel %d direction %d d %g width %g node %d: off by %g, "
                     "bound %g",
                     function.kernel, function.direction, function.dimension,
                     width, n, off, error[n]);
        if (error[n] > 1e-9 * shown && error[n] < shown)
            *worst = fmax(*worst, off / error[n]);
        if (function.kernel == PRI_LOSS && n > 0) {
            pri_factor_real(&function, &scene.factor, s + step * (n - .5) * I,
                            &edge, &rest);
            assert_true(cabsl(truth) <= edge * (1 + 1e-12));
        }
    }
    pri_law_free(&scene.factor.law);
}

static void test_values(void **state)
{
    (void)state;
    uint64_t seed = 3;
    double worst = 0;
    static const struct pri_function functions[] = {
        {PRI_MEAN, 0, 0}, {PRI_LOSS, 0, 0}, {PRI_LOSS, 0, 1},  {PRI_LOSS, 1, 1},
        {PRI_LOSS, 0, 9}, {PRI_LOSS, 1, 9}, {PRI_LOSS, 1, 200}};
    for (int f = 0; f < 7; f++)
        for (int trial = 0; trial < 16; trial++)
            check(functions[f], trial, (double[]){0, 1e-3, .03, .2}[trial % 4],
                  trial % 3 == 2, &seed, &worst);
    print_message("at most %.2g of the bound\n", worst);
    assert_true(worst > .01);
}

/* Hundreds of noises of one size: a binomial law, every value a group by itself,
 * so that errors are those of rounding. */
static void test_many(void **state)
{
    (void)state;
    static const struct pri_function functions[] = {
        {PRI_MEAN, 0, 0}, {PRI_LOSS, 0, 0}, {PRI_LOSS, 0, 9}, {PRI_LOSS, 1, 9}};
    static struct pri_packet noise[MANY];
    static double chance[MANY], absent[MANY];
    struct pri_source source = {
        .signal = 3, .base = 2, .own = .6, .uplink = 1, .link = 1, .end = MANY};
    struct pri_view view = {.sources = 1,
                            .noises = MANY,
                            .source = &source,
                            .noise = noise,
                            .dimension = 1};
    struct pri_law spare = {0};
    for (int k = 0; k < MANY; k++) {
        noise[k] = (struct pri_packet){k, .3, chance[k] = .0078125, 0};
        absent[k] = 1 - chance[k];
    }
    struct pri_mgf factor = {.signal = 3, .own = .6, .seen = 1};
    assert_int_equal(pri_law_build(&view, 0, chance, absent, 1e-300, 0,
                                   INFINITY, &spare, &factor.law),
                     PRICER_OK);
    double worst = 0;
    for (int f = 0; f < 4; f++) {
        double complex value[NODES];
        double error[NODES], s = 1.9, step = .5, shown, unseen;
        long double scale =
            expl(-pri_factor_real(&functions[f], &factor, s, &shown, &unseen));
        pri_factor_along(&functions[f], &factor, false, s, step, NODES, value,
                         error);
        for (int n = 0; n < NODES; n++) {
            long double mass = powl(absent[0], MANY);
            long double complex sum = 0;
            for (int k = 0; k <= MANY; k++) {
                sum +=
                    mass *
                    cexpl(exponent(functions[f], &source,
                                   source.base + k * (long double)noise[0].size,
                                   s + (long double)step * n * I));
                mass *=
                    (long double)(MANY - k) / (k + 1) * chance[0] / absent[0];
            }
            double off = cabsl(value[n] - scale * sum);
            worst = fmax(worst, off / error[n]);
            assert_true(off <= error[n] && error[n] < 1e-9 * shown);
        }
    }
    print_message("at most %.2g of the bound\n", worst);
    pri_law_free(&spare);
    pri_law_free(&factor.law);
}

/* Angles of thousands of turns along a line: a variance that is off by a unit in
 * the last place shows. */
static void test_turns(void **state)
{
    (void)state;
    uint64_t seed = 7;
    const struct pri_function function = {PRI_MEAN, 0, 0};
    enum { FAR = 40 };
    double worst = 0;
    for (int trial = 0; trial < 200; trial++) {
        struct scene scene;
        make_scene(function, 0, false, &seed, &scene);
        double s = test_uniform(&seed), step = 3000 * test_uniform(&seed);
        double complex value[FAR];
        double error[FAR], hidden, shown, unseen;
        assert_true(
            pri_factor_real(&function, &scene.factor, s, &shown, &unseen) == 0);
        pri_factor_along(&function, &scene.factor, false, s, step, FAR, value,
                         error);
        for (int n = 0; n < FAR; n += 3) {
            long double complex truth =
                brute(&scene, function, s + (long double)step * n * I, &hidden);
            double off = cabsl(value[n] - truth);
            worst = fmax(worst, off / error[n]);
            assert_true(off <= error[n] && error[n] < 1e-8 * shown);
        }
        pri_law_free(&scene.factor.law);
    }
    print_message("at most %.2g of the bound\n", worst);
    assert_true(worst > .01);
}

/* Four cells of a pair to full precision, next to their bounds. */
static void test_cells(void **state)
{
    (void)state;
    double cell[2][2], p = .1, q = 1 - 0x1p-53, tiny = 0x1p-60;
    assert_true(pri_cells(p, q, p, cell) > 0);
    assert_true(cell[1][0] == 0 && cell[0][0] == 1 - q);
    assert_close(cell[0][1], .9 - 0x1p-53, 1e-15);
    pri_cells(p, q, nextafter(p, 0), cell);
    assert_true(cell[1][0] == p - nextafter(p, 0));
    assert_close(cell[0][0], 1 - q - (p - nextafter(p, 0)), 1e-15);
    pri_cells(tiny, .5, tiny / 2, cell);
    assert_true(cell[1][0] == tiny / 2 && cell[1][1] == tiny / 2);
    assert_true(pri_cells(.3, .4, .3 * .4, cell) != 0);
    assert_true(fabs(pri_cells(.5, .25, .125, cell)) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
