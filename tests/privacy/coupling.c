/*
 * Coupled links against brute force: on random views of 3 to 5 relays every
 * state of every link is enumerated, and so is what it shows. Sums over
 * couplings must be within the bounds that go with them, whatever the depth,
 * and the brackets of the account on their side of the truth.
 */
#include "tests/test.h"
#include "privacy/bracket.h"
#include "privacy/coupling.h"
#include "privacy/exact.h"

enum { RELAYS_MOST = 5, NOISES_MOST = 40, PAIRS_MOST = 20 };

static const struct pri_function data = {PRI_MEAN, 0, 0};

/* A view with room of its own. */
struct scene {
    struct pri_view view;
    struct pri_source source[RELAYS_MOST + 1];
    struct pri_packet noise[NOISES_MOST];
    struct pri_coupled pair[PAIRS_MOST];
};

/* P(both up), between independent and as much as there can be. */
static double random_joint(double p, double q, uint64_t *seed)
{
    double most = fmin(p, q), part = test_uniform(seed);
    return part > .5 ? most : p * q + 2 * part * (most - p * q);
}

static int32_t add_noise(struct scene *scene, int32_t from, uint64_t *seed)
{
    struct pri_view *view = &scene->view;
    assert_true(view->noises < NOISES_MOST);
    view->noise[view->noises] = (struct pri_packet){
        from, .2 + 2 * test_uniform(seed), .05 + .9 * test_uniform(seed), 0};
    return view->noises++;
}

static void add_pair(struct scene *scene, struct pri_coupled pair,
                     double chance, uint64_t *seed)
{
    struct pri_view *view = &scene->view;
    pair.joint = random_joint(chance, view->noise[pair.second].chance, seed);
    assert_true(view->pairs < PAIRS_MOST);
    view->pair[view->pairs++] = pair;
}

/* Relays that hear each other, some pairs missing; an own sum if `own`. */
static void make_scene(int32_t relays, bool own, uint64_t *seed,
                       struct scene *scene)
{
    int32_t at[RELAYS_MOST][RELAYS_MOST];
    double scale = pow(10, 2 * test_uniform(seed) - 1.5);
    *scene = (struct scene){{0}, {{0}}, {{0}}, {{0}}};
    scene->view = (struct pri_view){
        .source = scene->source, .noise = scene->noise, .pair = scene->pair};
    for (int32_t j = 0; j < relays + own; j++) {
        struct pri_source *source = &scene->source[scene->view.sources++];
        *source = (struct pri_source){
            .node = j,
            .signal = scale * (.3 + test_uniform(seed)),
            .base = .3 + test_uniform(seed),
            .uplink = .3 + .7 * test_uniform(seed),
            .link = j == relays ? 1 : .2 + .8 * test_uniform(seed),
            .begin = scene->view.noises};
        if (test_uniform(seed) < .2)
            source->uplink = 1;
        for (int32_t k = 0; k < relays; k++)
            if (k != j) {
                int32_t noise = add_noise(scene, k, seed);
                if (j < relays)
                    at[k][j] = noise;
                else if (k < 4 && test_uniform(seed) < .8)
                    add_pair(scene,
                             (struct pri_coupled){.gate = true,
                                                  .source = k,
                                                  .other = j,
                                                  .first = -1,
                                                  .second = noise},
                             scene->source[k].link, seed);
            }
        if (j == 1)
            add_noise(scene, 100, seed);
        source->end = scene->view.noises;
    }
    for (int32_t j = 0; j < relays; j++)
        for (int32_t k = 0; k < j; k++)
            if (test_uniform(seed) < .85)
                add_pair(scene,
                         (struct pri_coupled){.source = j,
                                              .other = k,
                                              .first = at[k][j],
                                              .second = at[j][k]},
                         scene->noise[at[k][j]].chance, seed);
}

/* ----------------------------------------------------------- brute force -- */

/* What is done with every state of the links: `noise` and `link` are how likely
 * each is up, 0 or 1 once it is settled. */
struct brute {
    const struct pri_view *view;
    double noise[NOISES_MOST], link[RELAYS_MOST + 1];
    double complex s, sum; /* of e^(s mu^2) */
    double eps, delta;     /* or of delta_G, if eps > 0 */
};

/* Sources one by one: seen or not. */
static void each_seen(struct brute *brute, int32_t source, double mass,
                      double mu2)
{
    const struct pri_view *view = brute->view;
    if (mass == 0)
        return;
    if (source == view->sources) {
        if (brute->eps > 0 && mu2 > 0)
            brute->delta += mass * pricer_gaussian_delta(brute->eps, sqrt(mu2));
        else if (!(brute->eps > 0))
            brute->sum += mass * cexp(brute->s * mu2);
        return;
    }
    const struct pri_source *one = &view->source[source];
    double seen = one->uplink * brute->link[source], variance = one->base;
    for (int32_t k = one->begin; k < one->end; k++)
        variance += brute->noise[k] * view->noise[k].size;
    each_seen(brute, source + 1, mass * (1 - seen), mu2);
    each_seen(brute, source + 1, mass * seen, mu2 + one->signal / variance);
}

/* Noises without a pair. */
static void each_noise(struct brute *brute, int32_t noise, double mass)
{
    for (; noise < brute->view->noises; noise++)
        if (brute->noise[noise] != 0 && brute->noise[noise] != 1) {
            double chance = brute->noise[noise];
            for (int up = 0; up < 2; up++) {
                brute->noise[noise] = up;
                each_noise(brute, noise + 1, mass * (up ? chance : 1 - chance));
            }
            brute->noise[noise] = chance;
            return;
        }
    each_seen(brute, 0, mass, 0);
}

static void each_pair(struct brute *brute, int32_t index, double mass)
{
    const struct pri_view *view = brute->view;
    if (mass == 0)
        return;
    if (index == view->pairs) {
        each_noise(brute, 0, mass);
        return;
    }
    const struct pri_coupled *pair = &view->pair[index];
    double *first =
        pair->gate ? &brute->link[pair->source] : &brute->noise[pair->first];
    double *second = &brute->noise[pair->second];
    double p = *first, q = *second;
    for (int state = 0; state < 4; state++) {
        double chance = state == 3   ? pair->joint
                        : state == 2 ? q - pair->joint
                        : state == 1 ? p - pair->joint
                                     : 1 - p - q + pair->joint;
        *first = state & 1;
        *second = state >> 1;
        each_pair(brute, index + 1, mass * (chance < 1e-16 ? 0 : chance));
    }
    *first = p;
    *second = q;
}

static void enumerate(const struct pri_view *view, struct brute *brute)
{
    brute->view = view;
    brute->sum = 0;
    brute->delta = 0;
    for (int32_t k = 0; k < view->noises; k++)
        brute->noise[k] = view->noise[k].chance;
    for (int32_t k = 0; k < view->sources; k++)
        brute->link[k] = view->source[k].link;
    each_pair(brute, 0, 1);
}

/* ----------------------------------------------------------------- tests -- */

/* Every depth within its bound, and the deepest next to exact. */
static void check_sums(struct pri_coupling *coupling, double complex truth,
                       double *worst)
{
    double rest[PRI_DEPTH_MOST + 1];
    double complex sum;
    double unit = exp(coupling->log_scale);
    double bound = pri_coupling_parts(coupling);
    pri_coupling_rest(coupling, rest);
    double rounding = pri_coupling_rounding(coupling);
    assert_true(cabs(truth) <= exp(bound) * (1 + 1e-12));
    for (int32_t depth = 0; depth <= PRI_DEPTH_MOST; depth++) {
        assert_int_equal(pri_coupling_sum(coupling, depth, &sum), PRICER_OK);
        double off = cabs(truth / unit - sum);
        /* Brute force has a rounding of its own. */
        if (!(off <= rest[depth] + rounding + 1e-12))
            fail_msg("depth %d is off by %g, bound %g and %g", depth, off,
                     rest[depth], rounding);
        if (rest[depth] > 1e-9)
            *worst = fmax(*worst, off / rest[depth]);
        if (depth == PRI_DEPTH_MOST)
            assert_true(rest[depth] + rounding < 1e-6);
    }
}

static void test_sums(void **state)
{
    (void)state;
    uint64_t seed = 3;
    double worst = 0;
    for (int trial = 0; trial < 40; trial++) {
        struct scene scene;
        struct pri_coupling coupling;
        struct brute brute = {.eps = 0};
        bool able;
        int32_t relays = trial == 0 ? 5 : 3 + trial % 2;
        make_scene(relays, relays == 3, &seed, &scene);
        assert_int_equal(pri_coupling_build(&scene.view, &data, 1e-300, 1e5,
                                            &coupling, &able),
                         PRICER_OK);
        assert_true(able);
        double s = 3 * test_uniform(&seed) / coupling.highest;
        pri_coupling_begin(&coupling, s);
        pri_coupling_balance(&coupling);
        pri_coupling_aim(&coupling, .7 * s);
        for (int turn = 0; turn < 3; turn++) {
            brute.s = s + turn * .7 * s * I;
            enumerate(&scene.view, &brute);
            check_sums(&coupling, brute.sum, &worst);
            pri_coupling_advance(&coupling);
        }
        pri_coupling_free(&coupling);
    }
    /* The bound is not met by chance: it is within reach. */
    print_message("at most %.2g of the bound\n", worst);
    assert_true(worst > .1);
}

/* Along a line, the sums that pairs are about are within their errors. */
static void test_line(void **state)
{
    (void)state;
    enum { NODES = 4 };
    uint64_t seed = 7;
    for (int trial = 0; trial < 30; trial++) {
        struct scene scene;
        struct pri_exact *exact = NULL;
        struct brute brute = {.eps = 0};
        double complex value[NODES];
        double error[NODES], shown, unseen;
        bool apart[RELAYS_MOST + 1];
        int32_t relays = 3 + trial % 2;
        make_scene(relays, relays == 3 || trial % 4 == 1, &seed, &scene);
        struct pri_line line = {.kernel = PRI_MEAN,
                                .sigma = .1 + test_uniform(&seed),
                                .step = test_uniform(&seed),
                                .count = NODES};
        assert_int_equal(
            pri_exact_build(&scene.view, &data, 1e-300, 1e9, apart, &exact),
            PRICER_OK);
        assert_non_null(exact);
        for (int32_t k = 0; k < scene.view.sources; k++)
            if (apart[k]) /* a factor of its own */
                scene.source[k].uplink = 0;
        double unit = exp(-pri_exact_real(exact, line.sigma, &shown, &unseen));
        assert_int_equal(
            pri_exact_along(exact, &line, 1, 1 + trial, value, error),
            PRICER_OK);
        for (int32_t n = 0; n < NODES; n++) {
            brute.s = line.sigma + n * line.step * I;
            enumerate(&scene.view, &brute);
            double off = cabs(value[n] + unseen - unit * brute.sum);
            assert_true(off <= error[n] + 1e-12);
            assert_true(error[n] < 1e-3);
        }
        assert_true(cabs(value[0]) <= shown * (1 + 1e-12));
        pri_exact_free(exact);
    }
}

static double delta_at(const struct pri_view *view, double eps)
{
    static struct brute brute;
    brute.eps = eps;
    enumerate(view, &brute);
    return brute.delta;
}

/* A bracket around the truth, and narrow if there is time for it. */
static void test_account(void **state)
{
    (void)state;
    uint64_t seed = 9;
    struct pri_scratch scratch = {0};
    double widest = 0;
    for (int trial = 0; trial < 30; trial++) {
        struct scene scene;
        int32_t relays = 3 + trial % 2;
        make_scene(relays, relays == 3, &seed, &scene);
        struct pri_view view = scene.view;
        double mean = 0;
        for (int32_t k = 0; k < view.sources; k++)
            mean += view.source[k].signal / view.source[k].base;
        double eps = sqrt(mean) * (1 + 2 * test_uniform(&seed));
        double delta = delta_at(&view, eps);
        struct pri_bracket found;
        for (int k = 0; k < 5; k++) {
            double work = (double[]){1e5, 2e5, 4e5, 1e6, 3e9}[k];
            assert_int_equal(
                pri_view_account(&view, delta, 1, work, &scratch, &found),
                PRICER_OK);
            assert_true(found.eps >= eps * (1 - 1e-9));
            assert_true(found.eps_lower <= eps * (1 + 1e-9));
        }
        widest = fmax(widest, (found.eps - found.eps_lower) / eps);
    }
    print_message("widest %.2g\n", widest);
    assert_true(widest < 1e-3);
    pri_scratch_free(&scratch);
}

/* Pairs decoupled, without their exact sum: further apart, but on both sides of
 * the truth. */
static void test_decoupled(void **state)
{
    (void)state;
    uint64_t seed = 12;
    struct pri_scratch scratch = {0};
    double widest = 0;
    for (int trial = 0; trial < 20; trial++) {
        struct scene scene;
        make_scene(3 + trial % 2, trial % 2 == 0, &seed, &scene);
        struct pri_view view = scene.view;
        double eps = .5 + 3 * test_uniform(&seed);
        double delta = delta_at(&view, eps);
        struct pri_bracket found;
        assert_int_equal(pri_view_account(&view, delta, 1, 1, &scratch, &found),
                         PRICER_OK);
        assert_true(found.eps >= eps * (1 - 1e-9));
        assert_true(found.eps_lower <= eps * (1 + 1e-9));
        widest = fmax(widest, (found.eps - found.eps_lower) / eps);
    }
    print_message("widest %.2g\n", widest);
    assert_true(widest > 1e-3 && widest < .6);
    pri_scratch_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_account),
        cmocka_unit_test(test_decoupled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
