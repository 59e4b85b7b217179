/*
 * The noise: its table in exact arithmetic, its two decisions against each
 * other, and its law by chi-square, moments and tails, each with a false-alarm
 * rate of about 1e-6 (and a fixed seed, so an alarm is an error).
 */
#include "tests/test.h"
#include "round/noise.h"
#include "round/noise_table.h"

/* 4.9 deviations, two-sided, are 1e-6. */
#define ALARM 4.9

static struct pricer_random stream(uint64_t seed)
{
    struct pricer_random random;
    pricer_random_replay(&random, seed, PRICER_PURPOSE_NOISE, 0, 1, 2);
    return random;
}

/* exp(-(size / sigma)^2 / 2) to 64 bits, with sigma an integer. */
static uint64_t top_bits(uint64_t size, uint64_t sigma, int count)
{
    uint32_t words[64];
    pri_noise_exponential(1, 1, size, sigma, 0, count, words);
    return (uint64_t)words[0] << 32 | words[1];
}

/* Digits of e^(-1/2), e^(-2) and e^(-8) in hexadecimal, and any number of
 * words begins the same. */
static void test_exponential(void **state)
{
    (void)state;
    const uint64_t half = 0x9b4597e37cb04ff3, two = 0x22a555477f03973f,
                   eight = 0x0015fc21041027ac;
    for (int count = 2; count <= 64; count *= 2) {
        assert_in_range(top_bits(1000, 1000, count) - (half - 2), 0, 3);
        assert_in_range(top_bits(2000, 1000, count) - (two - 2), 0, 3);
        assert_in_range(top_bits(4000, 1000, count) - (eight - 2), 0, 3);
    }
    uint32_t few[64], many[64];
    uint64_t seed = 3;
    for (int trial = 0; trial < 50; trial++) {
        uint64_t sigma = 1000 + test_random(&seed) % 1000000;
        uint64_t size = test_random(&seed) % (20 * sigma);
        pri_noise_exponential(1, 1, size, sigma, 0, 16, few);
        pri_noise_exponential(1, 1, size, sigma, 0, 32, many);
        assert_memory_equal(few, many, 15 * sizeof *few);
    }
}

/* W_k = ceil(C exp(-k^2 / 512)), so that no T exceeds 1; with the reduced
 * fraction, floor(C e^.. 2^-64 2^64) read from 256 bits. */
static void test_table(void **state)
{
    (void)state;
    uint64_t sum = PRI_NOISE_SCALE;
    assert_true(pri_noise_start[0] == 0 && pri_noise_start[1] == sum);
    for (uint32_t k = 1; k <= PRI_NOISE_LISTED; k++) {
        uint32_t words[8];
        pri_noise_exponential(1, 1, k, 16, 0, 8, words);
        pri_wide product = 0;
        for (int i = 7; i >= 0; i--)
            product = (product >> 32) + (pri_wide)words[i] * PRI_NOISE_SCALE;
        uint64_t weight = (uint64_t)(product >> 32) + 1;
        assert_true(pri_noise_weight(k) == weight);
        if (k < PRI_NOISE_LISTED) {
            sum += weight;
            assert_true(pri_noise_start[k + 1] == sum);
        }
    }
    assert_true(pri_noise_weight(PRI_NOISE_LISTED) == 1);
    assert_true(sum < UINT64_MAX - PRI_NOISE_STRIPS);
    for (uint64_t b = 0; b < 256; b++) {
        uint8_t k = pri_noise_guide[b];
        assert_true(pri_noise_start[k] <= b << 56);
        assert_true(k == PRI_NOISE_LISTED || b << 56 < pri_noise_start[k + 1]);
    }
}

/* A random candidate of a strip, or false. */
static bool candidate_of(const struct pri_noise *noise, uint32_t strip,
                         uint64_t *seed, struct pri_candidate *candidate)
{
    int step = noise->fraction + 4;
    uint64_t mask = (UINT64_C(1) << step) - 1;
    pri_wide edge = (pri_wide)noise->sigma * strip;
    uint64_t pad = -(uint64_t)edge & mask;
    uint64_t place = test_random(seed) % noise->width;
    candidate->strip = strip;
    candidate->inside = pad + (place << step);
    candidate->size = (uint64_t)((edge + pad) >> step) + place;
    return candidate->inside < noise->sigma;
}

/* Where the glance is sure the exact decision agrees, also for coins that are
 * next to the threshold, where the glance's bound is tested hardest. */
static void test_glance_agrees(void **state)
{
    (void)state;
    uint64_t seed = 11;
    struct pricer_random random = stream(11);
    int unsure = 0, tries = 0;
    while (tries < 3000) {
        double sigma =
            ldexp(1 + test_uniform(&seed), (int)(test_random(&seed) % 50));
        struct pri_noise noise;
        assert_int_equal(pri_noise_prepare(sigma, &noise, NULL), PRICER_OK);
        assert_true(pri_noise_sigma(&noise) == sigma);
        struct pri_candidate candidate;
        uint32_t strip = (uint32_t)(test_random(&seed) % 80);
        if (!candidate_of(&noise, strip, &seed, &candidate))
            continue;
        uint32_t words[2];
        pri_noise_exponential(PRI_NOISE_SCALE, pri_noise_weight(strip),
                              candidate.size + (candidate.size == 0),
                              noise.sigma, noise.fraction, 2, words);
        uint64_t coin = (uint64_t)words[0] << 32 | words[1];
        uint64_t off = test_random(&seed) >> (24 + test_random(&seed) % 40);
        coin = test_random(&seed) & 1 ? coin + off : coin - off;
        enum pri_verdict verdict = pri_noise_glance(&noise, &candidate, coin);
        bool truth = pri_noise_decide(&noise, &candidate, coin, &random);
        if (verdict != PRI_UNSURE)
            assert_true(truth == (verdict == PRI_ACCEPT));
        unsure += verdict == PRI_UNSURE;
        tries++;
    }
    assert_in_range(unsure, 100, 2900);
}

/* Exact cell probabilities for a moderate sigma, summed outwards. */
static double mass(double sigma, int64_t low, int64_t high)
{
    double sum = 0;
    for (int64_t y = low; y < high; y++)
        sum += exp(-0.5 * ((double)y / sigma) * ((double)y / sigma));
    return sum;
}

/* Chi-square with cells of at least 20 expected, normalised by Wilson and
 * Hilferty: a standard normal number. */
static double chi_square(const int64_t *count, const double *expected,
                         int cells)
{
    double sum = 0, e = 0;
    int64_t c = 0;
    int degrees = -1;
    for (int k = 0; k < cells; k++) {
        e += expected[k];
        c += count[k];
        if (e < 20 && k + 1 < cells)
            continue;
        if (e > 0)
            sum += ((double)c - e) * ((double)c - e) / e;
        degrees += e > 0;
        e = 0;
        c = 0;
    }
    double f = 2.0 / (9.0 * degrees);
    return (cbrt(sum / degrees) - (1 - f)) / sqrt(f);
}

/* One sigma: cells of equal width out to 8 deviations. */
static void check_law(double sigma, int64_t samples, uint64_t seed)
{
    enum { CELLS = 161 };
    struct pri_noise noise;
    struct pricer_random random = stream(seed);
    assert_int_equal(pri_noise_prepare(sigma, &noise, NULL), PRICER_OK);
    int64_t width = (int64_t)ceil(sigma / 10), reach = width * CELLS / 2;
    int64_t count[CELLS] = {0};
    double expected[CELLS], total = mass(sigma, -40 * width * 10, 400 * width);
    for (int k = 0; k < CELLS; k++)
        expected[k] = (double)samples / total *
                      mass(sigma, k * width - reach, (k + 1) * width - reach);
    for (int64_t s = 0; s < samples; s++) {
        int64_t y = 0;
        pri_noise_add(&noise, &random, 1, &y);
        int64_t cell = (y + reach) >= 0 ? (y + reach) / width : -1;
        if (cell >= 0 && cell < CELLS)
            count[cell]++;
    }
    double z = chi_square(count, expected, CELLS);
    if (!(z < ALARM && z > -6))
        fail_msg("sigma %g: chi-square is %g deviations off", sigma, z);
}

static void test_chi_square(void **state)
{
    (void)state;
    const double sigmas[] = {.03, .3,  .5,   .77,   1,      1.5,   2.5,
                             4,   7.1, 15.9, 16.01, 33.333, 100.7, 1023.9};
    for (size_t k = 0; k < sizeof sigmas / sizeof *sigmas; k++)
        check_law(sigmas[k], sigmas[k] < 16 ? 100000 : 400000, 100 + k);
}

/* Many samples at once, as messages have them, and the last block not full: cells
 * of a quarter of a strip out to 5 deviations by the Gaussian's own function, which
 * for such sigmas is the discrete law's to many digits; the lowest bits, which
 * are those of the place, evenly; both signs alike. */
static void check_many(double sigma, uint64_t seed)
{
    enum { SPLIT = 64, CELLS = 10 * SPLIT, MESSAGE = 1000, MESSAGES = 3000 };
    static int64_t values[MESSAGE];
    struct pri_noise noise;
    struct pricer_random random = stream(seed);
    assert_int_equal(pri_noise_prepare(sigma, &noise, NULL), PRICER_OK);
    int64_t count[CELLS] = {0}, low[16] = {0}, negative = 0;
    double expected[CELLS], evenly[16], n = (double)MESSAGE * MESSAGES;
    for (int k = 0; k < CELLS; k++)
        expected[k] = n / 2 *
                      (erfc((k - CELLS / 2.) / SPLIT / sqrt(2)) -
                       erfc((k + 1 - CELLS / 2.) / SPLIT / sqrt(2)));
    for (int k = 0; k < 16; k++)
        evenly[k] = n / 16;
    for (int m = 0; m < MESSAGES; m++) {
        memset(values, 0, sizeof values);
        pri_noise_add(&noise, &random, MESSAGE, values);
        for (int k = 0; k < MESSAGE; k++) {
            double cell = floor((double)values[k] / sigma * SPLIT) + CELLS / 2.;
            if (cell >= 0 && cell < CELLS)
                count[(int)cell]++;
            low[values[k] & 15]++;
            negative += values[k] < 0;
        }
    }
    double z = chi_square(count, expected, CELLS);
    if (!(z < ALARM && z > -6))
        fail_msg("sigma %g, many: chi-square is %g deviations off", sigma, z);
    assert_true(chi_square(low, evenly, 16) < ALARM);
    assert_true(fabs((double)negative - n / 2) < ALARM * sqrt(n / 4));
}

static void test_many(void **state)
{
    (void)state;
    const double sigmas[] = {0x1.2p24, 0x1.999p24, 0x1.8p33, 0x1.ffffp49};
    for (size_t k = 0; k < sizeof sigmas / sizeof *sigmas; k++)
        check_many(sigmas[k], 300 + k);
}

/* Mean, variance, fourth moment and tails of large sigmas, where the discrete
 * law is the Gaussian's to many digits. */
static void check_moments(double sigma, bool secret, int64_t samples)
{
    enum { MESSAGE = 100 };
    int64_t values[MESSAGE];
    struct pri_noise noise;
    struct pricer_random random = stream((uint64_t)sigma);
    if (secret)
        assert_int_equal(pricer_random_secret(&random, NULL), PRICER_OK);
    assert_int_equal(pri_noise_prepare(sigma, &noise, NULL), PRICER_OK);
    double sum[5] = {0}, n = (double)samples, low[6] = {0};
    for (int64_t s = 0; s < samples; s++) {
        if (s % MESSAGE == 0) {
            memset(values, 0, sizeof values);
            pri_noise_add(&noise, &random, MESSAGE, values);
        }
        double x = (double)values[s % MESSAGE] / sigma, power = 1;
        for (int k = 1; k < 5; k++)
            sum[k] += power *= x;
        for (int k = 1; k < 6; k++)
            low[k] += fabs(x) > k;
    }
    assert_true(fabs(sum[1] / n) < ALARM / sqrt(n));
    assert_true(fabs(sum[2] / n - 1) < ALARM * sqrt(2 / n));
    assert_true(fabs(sum[3] / n) < ALARM * sqrt(15 / n));
    assert_true(fabs(sum[4] / n - 3) < 1.2 * ALARM * sqrt(96 / n));
    for (int k = 1; k < 5; k++) {
        double p = erfc(k / sqrt(2));
        assert_true(fabs(low[k] - n * p) < ALARM * sqrt(n * p) + 2);
    }
    assert_true(low[5] < 12); /* 1.1 expected of two million */
}

static void test_moments(void **state)
{
    (void)state;
    check_moments(1e4 + 1 / 3., false, 2000000);
    check_moments(0x1.23456789abcdep33, false, 2000000);
    check_moments(0x1p50, false, 1000000);
    check_moments(12345678.9, true, 2000000);
}

/* The strips beyond the glance, which take a billion samples to meet: accept
 * them by the exact decision as often as T says. */
static void test_far_strips(void **state)
{
    (void)state;
    struct pricer_random random = stream(5);
    struct pri_noise noise;
    uint64_t seed = 5;
    assert_int_equal(pri_noise_prepare(1e6, &noise, NULL), PRICER_OK);
    double expected = 0, accepted = 0;
    for (int trial = 0; trial < 4000; trial++) {
        uint32_t strip = 80 + (uint32_t)trial % 70;
        struct pri_candidate candidate;
        if (!candidate_of(&noise, strip, &seed, &candidate))
            continue;
        double x = (double)candidate.size / 1e6;
        double t = (double)PRI_NOISE_SCALE / (double)pri_noise_weight(strip) *
                   exp(-x * x / 2);
        assert_true(t < 1 + 1e-12);
        assert_int_equal(pri_noise_glance(&noise, &candidate, 0), PRI_UNSURE);
        expected += t;
        accepted += pri_noise_decide(&noise, &candidate,
                                     pricer_random_word(&random), &random);
    }
    assert_true(fabs(accepted - expected) < ALARM * sqrt(expected / 4));
    struct pri_candidate last = {PRI_NOISE_STRIPS - 1, 0, 2047999999};
    assert_false(pri_noise_decide(&noise, &last, 0, &random));
}

static void test_refuses(void **state)
{
    (void)state;
    struct pri_noise noise = {.width = 77};
    struct pricer_fault fault;
    const double wrong[] = {-1, NAN, INFINITY, 0x1.1p50, -INFINITY};
    for (int k = 0; k < 5; k++)
        assert_int_equal(pri_noise_prepare(wrong[k], &noise, &fault),
                         PRICER_VALUE);
    assert_int_equal(noise.width, 77);
    assert_int_equal(pri_noise_prepare(0, &noise, &fault), PRICER_OK);
    struct pricer_random random = stream(1);
    int64_t value = 5;
    pri_noise_add(&noise, &random, 1, &value);
    assert_int_equal(value, 5);
    assert_int_equal(pri_noise_prepare(1e-30, &noise, &fault), PRICER_OK);
    pri_noise_add(&noise, &random, 1, &value);
    assert_int_equal(value, 5);
    assert_true(pri_noise_sigma(&noise) >= 1e-30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exponential),   cmocka_unit_test(test_table),
        cmocka_unit_test(test_glance_agrees), cmocka_unit_test(test_chi_square),
        cmocka_unit_test(test_moments),       cmocka_unit_test(test_far_strips),
        cmocka_unit_test(test_refuses),       cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
