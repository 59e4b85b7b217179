/*
 * How many samples of discrete Gaussian noise a core draws a second, for real
 * use and for replay, beside Canonne, Kamath and Steinke's rejection written
 * plainly in 64-bit integers on the same words. And what a node's share of 10^4
 * numbers costs, all in: a key from the kernel, data on the grid, noise.
 *
 * The rival is their Algorithms 1 to 3: a discrete Laplace of scale
 * t = floor(sigma) + 1 from coins of probability exp(-x / y), accepted with
 * probability exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2)); sigma is an integer
 * small enough for 128-bit products.
 */
#include "round/noise.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t below(struct pricer_random *random, uint64_t bound)
{
    uint64_t word;
    do
        word = pricer_random_word(random);
    while (word >= UINT64_MAX / bound * bound);
    return word % bound;
}

/* A coin of probability exp(-num / den), num <= den. */
static bool coin_small(struct pricer_random *random, pri_wide num, pri_wide den)
{
    uint64_t k = 1;
    for (;; k++) {
        pri_wide scale = den * k;
        pri_wide draw = ((pri_wide)pricer_random_word(random) << 64 |
                         pricer_random_word(random)) %
                        scale; /* the rival's modulo bias is its own */
        if (draw >= num)
            return k % 2 == 1;
    }
}

static bool coin(struct pricer_random *random, pri_wide num, pri_wide den)
{
    for (; num > den; num -= den)
        if (!coin_small(random, 1, 1))
            return false;
    return coin_small(random, num, den);
}

static int64_t rival(struct pricer_random *random, uint64_t sigma)
{
    uint64_t t = sigma + 1;
    for (;;) {
        uint64_t u = below(random, t), v = 0;
        if (!coin(random, u, t))
            continue;
        while (coin(random, 1, 1))
            v++;
        int64_t y = (int64_t)(u + t * v);
        bool negative = below(random, 2);
        if (negative && y == 0)
            continue;
        /* (y - sigma^2 / t)^2 / (2 sigma^2) = num / den. */
        int64_t gap = y * (int64_t)t - (int64_t)(sigma * sigma);
        pri_wide num = (pri_wide)((__int128_t)gap * gap);
        pri_wide den = (pri_wide)2 * sigma * sigma * t * t;
        if (coin(random, num, den))
            return negative ? -y : y;
    }
}

static double ours_rate(double sigma, bool secret)
{
    enum { COUNT = 1 << 20 };
    static int64_t values[COUNT];
    struct pricer_random random;
    struct pri_noise noise;
    double best = 1e9;
    pricer_random_replay(&random, 1, PRICER_PURPOSE_NOISE, 0, 0, 0);
    if (secret && pricer_random_secret(&random, NULL) != PRICER_OK)
        return 0;
    if (pri_noise_prepare(sigma, &noise, NULL) != PRICER_OK)
        return 0;
    for (int repeat = 0; repeat < 15; repeat++) {
        double start = now();
        pri_noise_add(&noise, &random, COUNT, values);
        double took = now() - start;
        best = took < best ? took : best;
    }
    return COUNT / best;
}

static double rival_rate(uint64_t sigma)
{
    enum { COUNT = 1 << 15 };
    struct pricer_random random;
    double best = 1e9;
    volatile int64_t sink = 0;
    pricer_random_replay(&random, 1, PRICER_PURPOSE_NOISE, 0, 0, 0);
    for (int repeat = 0; repeat < 10; repeat++) {
        double start = now();
        for (int k = 0; k < COUNT; k++)
            sink += rival(&random, sigma);
        double took = now() - start;
        best = took < best ? took : best;
    }
    return COUNT / best;
}

/* Nanoseconds a number of a share as a node makes one, of data of this length, by turns
 * for many nodes with data of their own; the plan is that of bench/load.py. */
static double share_cost(double length)
{
    enum { NODES = 100, COUNT = 10000 };
    static double data[NODES][COUNT];
    static int64_t message[COUNT];
    const struct pricer_share share = {0, 1, .1};
    const struct pricer_slice slice = {.nodes = NODES,
                                       .dimension = COUNT,
                                       .radius = 1,
                                       .diameter = 2,
                                       .grid = {-46, (INT64_C(1) << 62) / 300},
                                       .parts = 3};
    struct pricer_random random;
    double best = 1e9;
    pricer_random_replay(&random, 2, PRICER_PURPOSE_OTHER, 0, 0, 0);
    for (int k = 0; k < NODES * COUNT; k++) /* uniform, of variance 1 */
        data[k / COUNT][k % COUNT] =
            (double)((int64_t)pricer_random_word(&random) >> 11) * 0x1p-52 *
            sqrt(3. / COUNT) * length;
    for (int repeat = 0; repeat < 15; repeat++) {
        double start = now();
        for (int node = 0; node < NODES; node++)
            if (pricer_random_secret(&random, NULL) != PRICER_OK ||
                pricer_round_share(&slice, &share, data[node], &random, message,
                                   NULL) != PRICER_OK)
                return 0;
        double took = now() - start;
        best = took < best ? took : best;
    }
    pricer_random_wipe(&random);
    return best / NODES / COUNT * 1e9;
}

int main(void)
{
    double plain = rival_rate(10000);
    printf("%-44s %14s %14s %8s\n", "noise, samples a second a core", "ours",
           "plain CKS", "ratio");
    const double sigmas[] = {10000, 0x1p30, 0x1.23456789p45};
    for (int secret = 0; secret < 2; secret++)
        for (int k = 0; k < 3; k++) {
            double rate = ours_rate(sigmas[k], secret);
            printf("sigma %-13.4g %-24s %14.4g %14.4g %8.1f\n", sigmas[k],
                   secret ? "libsodium" : "replay", rate, plain, rate / plain);
        }
    printf("a share of 10^4 numbers, all in: %.2f ns a number, %.2f clipped\n",
           share_cost(.5), share_cost(2));
    return 0;
}
