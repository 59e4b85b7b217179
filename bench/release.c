/*
 * How long a seed takes to expand, and a release next to the expansions that it
 * needs on average, with and without the time that the kernel takes for random
 * bytes.
 *
 *     bench_release expand COUNT    nanoseconds of one expansion, for release.py
 *     bench_release                 releases
 */
#include "release/release.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds of one expansion: the best of many runs. */
static double expand(int64_t count)
{
    struct pri_expander *expander = NULL;
    double *direction = calloc((size_t)count, sizeof *direction), best = 1;
    unsigned char seed[PRI_SEED_BYTES] = {0};
    int repeats = (int)(200000 / count) + 1;
    if (direction == NULL || pri_expander_new(&expander) != PRICER_OK)
        return NAN;
    for (int turn = 0; turn < 100; turn++) {
        double start = now();
        for (int k = 0; k < repeats; k++) {
            memcpy(seed, &k, sizeof k);
            pri_expand(expander, seed, count, direction);
        }
        best = fmin(best, (now() - start) / repeats);
    }
    pri_expander_free(expander);
    free(direction);
    return best;
}

/* Calls of the kernel for random bytes, all of one size. */
struct calls {
    int64_t count;
    size_t size;
};

static bool draw_counted(void *context, void *bytes, size_t size)
{
    struct calls *calls = context;
    calls->count++;
    calls->size = size;
    return pri_entropy_kernel.draw(NULL, bytes, size);
}

/* Seconds that the kernel takes for the same calls. */
static double draw_again(const struct calls *calls)
{
    unsigned char bytes[4096];
    double start = now();
    for (int64_t k = 0; k < calls->count && calls->size <= sizeof bytes; k++)
        pri_entropy_kernel.draw(NULL, bytes, calls->size);
    return now() - start;
}

/* Seconds of a try of real releases: time over tries; and the part of them that
 * the kernel takes for random bytes. */
static double release(int64_t dimension, double eps, double *tries,
                      double *kernel)
{
    struct pri_release_wish wish = {
        PRI_RELEASE_SPHERE, dimension, 1, eps, 0, 1};
    struct pri_release r;
    struct pri_sampler *sampler = NULL;
    double *x = calloc((size_t)dimension, sizeof *x), best = 1;
    if (x == NULL || pri_release_for_budget(&wish, &r, NULL) != PRICER_OK ||
        pri_sampler_new(&r, &sampler, NULL) != PRICER_OK)
        return NAN;
    x[0] = .7;
    pri_sampler_set(sampler, x, NULL);
    *tries = 1 / (r.q + (1 - r.q) * exp(-r.e0));
    *kernel = 1;
    int repeats = (int)(1e6 / ((double)dimension + 100) / *tries) + 1;
    for (int turn = 0; turn < 50; turn++) {
        unsigned char seed[PRI_SEED_BYTES];
        struct calls calls = {0, 0};
        struct pri_entropy source = {draw_counted, &calls};
        int64_t count, all = 0;
        double start = now();
        for (int k = 0; k < repeats; k++) {
            pri_sampler_draw(sampler, &source, seed, &count, NULL);
            all += count;
        }
        best = fmin(best, (now() - start) / (double)all);
        *kernel = fmin(*kernel, draw_again(&calls) / (double)all);
    }
    pri_sampler_free(sampler);
    free(x);
    return best;
}

int main(int argc, char **argv)
{
    static const struct {
        int64_t dimension;
        double eps;
    } cases[] = {{2, 4}, {128, 1}, {128, 4}, {128, 8}, {10000, 1}, {10000, 4}};
    if (argc == 3 && strcmp(argv[1], "expand") == 0) {
        printf("%.1f\n", expand(atoll(argv[2])) * 1e9);
        return 0;
    }
    printf("%10s %5s %10s %10s %13s %10s %6s %12s\n", "dimension", "eps",
           "tries", "ns a try", "ns expanding", "ns kernel", "ratio",
           "less kernel");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        double tries = 0, kernel = 0,
               each =
                   release(cases[k].dimension, cases[k].eps, &tries, &kernel);
        double alone = expand(cases[k].dimension + 1);
        printf("%10lld %5g %10.1f %10.0f %13.0f %10.0f %6.2f %12.2f\n",
               (long long)cases[k].dimension, cases[k].eps, tries, each * 1e9,
               alone * 1e9, kernel * 1e9, each / alone,
               (each - kernel) / alone);
    }
    return 0;
}
