/*
 * Real releases: frequencies, means and variances against the parameters, the
 * number of tries, an enumerated generator of 2^16 seeds, the coin, refusals.
 *
 * Statistics use fixed seeds, so they cannot fail by chance. Had they been drawn
 * afresh: about 150 comparisons at 5 standard errors, each wrong with a
 * probability of 6e-7, one false alarm in some 10,000 runs.
 */
#include "tests/test.h"
#include "release/release.h"

#include <quadmath.h>
#include <sodium.h>

/* A source that can be replayed and counts. */
struct replay {
    uint32_t seed, draws;
    int64_t bytes;
};

static bool draw_replay(void *context, void *bytes, size_t count)
{
    struct replay *replay = context;
    unsigned char key[randombytes_SEEDBYTES] = {0};
    memcpy(key, &replay->seed, 4);
    memcpy(key + 4, &replay->draws, 4);
    replay->draws++;
    replay->bytes += (int64_t)count;
    randombytes_buf_deterministic(bytes, count, key);
    return true;
}

/* Mean and its standard error of numbers that come one by one. */
struct mean {
    double count, sum, square;
};

static void add(struct mean *mean, double x)
{
    mean->count++;
    mean->sum += x;
    mean->square += x * x;
}

/* The variance is a known one, or 0: as measured. */
static void check_mean(const struct mean *mean, double expected,
                       double variance, const char *what, int64_t d, double e0)
{
    double average = mean->sum / mean->count;
    if (variance == 0)
        variance = mean->square / mean->count - average * average;
    double error = sqrt(fmax(variance, 0) / mean->count);
    if (fabs(average - expected) > 5 * error + 1e-9 * fabs(expected))
        fail_msg("d %d, e0 %g: %s is %g, expected %g, standard error %g",
                 (int)d, e0, what, average, expected, error);
}

static double dot(const double *a, const double *b, int64_t d)
{
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += a[k] * b[k];
    return sum;
}

/* Two orthogonal unit vectors. */
static void make_axes(int64_t d, uint64_t *seed, double *first, double *second)
{
    for (int64_t k = 0; k < d; k++) {
        first[k] = test_uniform(seed) - .5;
        second[k] = test_uniform(seed) - .5;
    }
    double length = sqrt(dot(first, first, d));
    for (int64_t k = 0; k < d; k++)
        first[k] /= length;
    double along = dot(first, second, d);
    for (int64_t k = 0; k < d; k++)
        second[k] -= along * first[k];
    length = sqrt(dot(second, second, d));
    for (int64_t k = 0; k < d && d > 1; k++)
        second[k] /= length;
}

/* What is measured of many releases. */
struct tally {
    struct mean inside, along, across, square, tries, bytes, both, both_bytes;
};

/* The tally against the parameters, for an x of this part of the radius. */
static void check_tally(const struct tally *tally, const struct pri_release *r,
                        double length)
{
    int64_t d = r->dimension;
    double all = r->q + (1 - r->q) * exp(-r->e0);
    double side = r->p * (1 - r->p), spread = (1 - all) / (all * all);
    check_mean(&tally->inside, r->p, side, "share in the cap", d, r->e0);
    /* E<V, a>^2 for a unit vector a at an angle to u of this cosine. */
    double scale = r->radius * r->radius / (r->m * r->m), x2 = length * length;
    double flat = scale * (1 - r->t * r->m) / ((double)d + 1);
    check_mean(&tally->along, length * r->radius,
               flat + scale * r->t * r->m * x2 - r->radius * r->radius * x2,
               "mean", d, r->e0);
    if (d > 1)
        check_mean(&tally->across, 0, flat, "mean across", d, r->e0);
    check_mean(&tally->tries, 1 / all, spread, "tries", d, r->e0);
    check_mean(&tally->both, 0, side * spread, "covariance of tries and side",
               d, r->e0);
    double count = tally->inside.count;
    if (count * (1 - r->p) < 30) /* too few to measure a spread */
        return;
    check_mean(&tally->square, pri_release_variance(r, length * r->radius), 0,
               "variance", d, r->e0);
    check_mean(&tally->both_bytes,
               (tally->inside.sum / count - r->p) * tally->bytes.sum / count, 0,
               "covariance of bytes and side", d, r->e0);
}

/* Everything about `releases` releases of an x of this length, radius 2.5. */
static void check_law(int64_t d, double e0, double length, int releases,
                      uint32_t name)
{
    struct pri_release r;
    struct pri_sampler *sampler = NULL;
    struct pri_expander *expander = NULL;
    struct replay replay = {name, 0, 0};
    struct pri_entropy source = {draw_replay, &replay};
    struct pri_release_wish wish = {PRI_RELEASE_SPHERE, d, 2.5, e0, 0, 1, 0};
    uint64_t seed = name;
    struct tally tally = {0};
    double *x = pri_alloc(4 * d, sizeof *x), *axis = x + d, *other = x + 2 * d,
           *y = x + 3 * d;
    assert_int_equal(pri_release_for_budget(&wish, &r, NULL), PRICER_OK);
    assert_int_equal(pri_sampler_new(&r, &sampler, NULL), PRICER_OK);
    assert_int_equal(pri_expander_new(&expander), PRICER_OK);
    make_axes(d, &seed, axis, other);
    for (int64_t k = 0; k < d; k++)
        x[k] = axis[k] * length * r.radius;
    assert_int_equal(pri_sampler_set(sampler, x, NULL), PRICER_OK);
    double expected = 1 / (r.q + (1 - r.q) * exp(-r.e0));
    for (int n = 0; n < releases; n++) {
        unsigned char code[PRI_SEED_BYTES];
        int64_t count = 0, before = replay.bytes;
        bool in = false;
        assert_int_equal(pri_sampler_draw(sampler, &source, code, &count, NULL),
                         PRICER_OK);
        assert_int_equal(pri_sampler_inside(sampler, code, &in), PRICER_OK);
        assert_int_equal(pri_release_decode(&r, expander, code, y), PRICER_OK);
        double used = (double)(replay.bytes - before);
        add(&tally.inside, in);
        add(&tally.along, dot(y, axis, d));
        add(&tally.across, dot(y, other, d));
        add(&tally.square, dot(y, y, d) - 2 * dot(x, y, d) + dot(x, x, d));
        add(&tally.tries, (double)count);
        add(&tally.bytes, used);
        add(&tally.both, (in - r.p) * ((double)count - expected));
        add(&tally.both_bytes, (in - r.p) * used);
    }
    check_tally(&tally, &r, length);
    free(x);
    pri_sampler_free(sampler);
    pri_expander_free(expander);
}

/* How many releases are affordable: tries cost 0.2 us, 27 us for d = 10^4. */
static void test_law(void **state)
{
    static const struct {
        int64_t d;
        double e0;
        int releases;
    } cases[] = {
        {1, .1, 20000},   {1, 1, 20000},    {1, 4, 20000},   {1, 12, 20000},
        {2, .1, 20000},   {2, 1, 20000},    {2, 4, 20000},   {2, 12, 6000},
        {16, .1, 20000},  {16, 1, 20000},   {16, 4, 10000},  {16, 12, 800},
        {128, .1, 10000}, {128, 1, 10000},  {128, 4, 3000},  {128, 8, 2000},
        {128, 12, 200},   {10000, .1, 500}, {10000, 1, 500}, {10000, 4, 200},
        {10000, 8, 60},   {10000, 12, 6},
    };
    (void)state;
    for (uint32_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        check_law(cases[k].d, cases[k].e0, (const double[]){1, 0, .6}[k % 3],
                  cases[k].releases, k);
}

/* The first try is the wanted one; every later one is accepted. */
struct model {
    uint64_t coin;
    uint16_t seed;
    bool used;
};

static bool draw_model(void *context, void *bytes, size_t count)
{
    struct model *model = context;
    memset(bytes, 0, count);
    if (!model->used)
        memcpy(bytes, &model->coin, 8);
    memcpy((char *)bytes + 8, &model->seed, 2);
    model->used = true;
    return true;
}

/*
 * A generator of 2^16 seeds and 8 coins, all pairs through the sampler. With
 * coins at i/8, at least exp(-e0) of them say yes, so that
 *
 *     P(seed | x) / P(seed | x') <= e^e0 A(x') / A(x),
 *
 * A the share of pairs that are accepted, as counted.
 */
static void test_model(void **state)
{
    enum { SEEDS = 1 << 16, COINS = 8, INPUTS = 4 };
    static const double inputs[INPUTS][2] = {
        {.6, .8}, {-.6, -.8}, {.1, .2}, {0, 1}};
    static unsigned char accepted[INPUTS][SEEDS];
    double share[INPUTS];
    struct pri_release r;
    struct pri_sampler *sampler = NULL;
    (void)state;
    assert_int_equal(pri_release_sphere(2, 1, .4, 1.390625, &r, NULL),
                     PRICER_OK);
    assert_int_equal(pri_sampler_new(&r, &sampler, NULL), PRICER_OK);
    double coins = ceil(COINS * exp(-r.e0));
    for (int i = 0; i < INPUTS; i++) {
        int64_t total = 0, inside = 0;
        assert_int_equal(pri_sampler_set(sampler, inputs[i], NULL), PRICER_OK);
        for (int k = 0; k < SEEDS * COINS; k++) {
            struct model model = {(uint64_t)(k % COINS) << 61,
                                  (uint16_t)(k / COINS), false};
            struct pri_entropy source = {draw_model, &model};
            unsigned char code[PRI_SEED_BYTES];
            int64_t tries = 0;
            assert_int_equal(
                pri_sampler_draw(sampler, &source, code, &tries, NULL),
                PRICER_OK);
            accepted[i][k / COINS] += tries == 1;
            total += tries == 1;
        }
        for (int s = 0; s < SEEDS; s++) {
            assert_true(accepted[i][s] == COINS || accepted[i][s] == coins);
            inside += accepted[i][s] == COINS;
        }
        share[i] = (double)total / (SEEDS * COINS);
        assert_true(fabs((double)inside / SEEDS - r.q) <
                    5 * sqrt(r.q * (1 - r.q) / SEEDS));
    }
    for (int i = 0; i < INPUTS; i++)
        for (int j = 0; j < INPUTS; j++) {
            double most = 0, bound = exp(r.e0) * share[j] / share[i];
            for (int s = 0; s < SEEDS; s++) {
                double p = accepted[i][s] / share[i];
                most = fmax(most, p / (accepted[j][s] / share[j]));
            }
            assert_true(most <= bound * (1 + 1e-12));
            assert_true(i == j || most > .9 * bound);
        }
    pri_sampler_free(sampler);
}

/* The threshold of the coin is at least 2^64 exp(-e0), never two units more, and
 * below 2^64. */
static void test_coin(void **state)
{
    uint64_t seed = 9;
    (void)state;
    for (int k = 0; k < 2000; k++) {
        double e0 = k == 0 ? 12 : k == 1 ? 0x1p-40 : 0;
        if (e0 == 0)
            e0 = floor(12 * test_uniform(&seed) * 0x1p40 + 1) * 0x1p-40;
        uint64_t threshold = 0;
        assert_int_equal(pri_coin_threshold(e0, &threshold), PRICER_OK);
        __float128 over = threshold - expq(-(__float128)e0) * 0x1p64;
        assert_true(over >= 0 && over < 2);
    }
}

static bool draw_nothing(void *context, void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return false;
}

static bool draw_stuck(void *context, void *bytes, size_t count)
{
    (void)context;
    memset(bytes, 0xff, count); /* no coin, and one seed for ever */
    return true;
}

static void test_refusals(void **state)
{
    struct pri_release r;
    struct pri_sampler *sampler = NULL;
    struct pri_entropy broken = {draw_nothing, NULL},
                       stuck = {draw_stuck, NULL};
    unsigned char code[PRI_SEED_BYTES];
    struct pricer_fault fault = {""};
    bool in = false;
    (void)state;
    assert_int_equal(pri_release_sphere(2, 1, .4, 1.25, &r, NULL), PRICER_OK);
    assert_int_equal(pri_sampler_new(&r, &sampler, NULL), PRICER_OK);
    assert_int_equal(
        pri_sampler_draw(sampler, &pri_entropy_kernel, code, NULL, &fault),
        PRICER_VALUE); /* no data yet */
    static const double bad[][2] = {{NAN, 0}, {0, INFINITY}, {-INFINITY, 1}};
    for (int k = 0; k < 3; k++)
        assert_int_equal(pri_sampler_set(sampler, bad[k], &fault),
                         PRICER_VALUE);
    /* Long vectors are clipped, short ones lose nothing that counts. */
    static const double odd[][2] = {
        {1e308, 1e308}, {0, 0}, {0x1p-1074, -0x1p-1060}, {1, 0x1p-1074}};
    for (int k = 0; k < 4; k++) {
        assert_int_equal(pri_sampler_set(sampler, odd[k], NULL), PRICER_OK);
        assert_int_equal(
            pri_sampler_draw(sampler, &pri_entropy_kernel, code, NULL, NULL),
            PRICER_OK);
    }
    assert_int_equal(pri_sampler_draw(sampler, &broken, code, NULL, &fault),
                     PRICER_FILE);
    memset(code, 0xff, sizeof code);
    double away[2] = {1, 0};
    pri_sampler_set(sampler, away, NULL);
    pri_sampler_inside(sampler, code, &in);
    away[0] = in ? -1 : 1;
    pri_sampler_set(sampler, away, NULL);
    assert_int_equal(pri_sampler_draw(sampler, &stuck, code, NULL, &fault),
                     PRICER_FILE);
    pri_sampler_free(sampler);
    r.kind = PRI_RELEASE_GAUSSIAN;
    assert_int_equal(pri_sampler_new(&r, &sampler, NULL), PRICER_VALUE);
}

/* The kernel's bytes: two releases of the same data differ. */
static void test_kernel(void **state)
{
    struct pri_release_wish wish = {PRI_RELEASE_SPHERE, 3, 1, 2, 0, 1, 0};
    struct pri_release r;
    struct pri_sampler *sampler = NULL;
    unsigned char a[PRI_SEED_BYTES], b[PRI_SEED_BYTES];
    const double x[3] = {.1, .2, .3};
    (void)state;
    assert_int_equal(pri_release_for_budget(&wish, &r, NULL), PRICER_OK);
    assert_int_equal(pri_sampler_new(&r, &sampler, NULL), PRICER_OK);
    assert_int_equal(pri_sampler_set(sampler, x, NULL), PRICER_OK);
    pri_sampler_draw(sampler, &pri_entropy_kernel, a, NULL, NULL);
    pri_sampler_draw(sampler, &pri_entropy_kernel, b, NULL, NULL);
    assert_memory_not_equal(a, b, sizeof a);
    pri_sampler_free(sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law),    cmocka_unit_test(test_model),
        cmocka_unit_test(test_coin),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
