/*
 * The robustness battery: random networks of 1 to 12 and of 25 to 55 nodes,
 * with every parameter pushed to its extremes now and then, each planned with
 * all four bias terms and checked by pricer_plan_verify().
 *
 *     robustness [NETWORKS [SEED]]
 *
 * NETWORKS small ones, 10,000 if not given, and a twentieth of that larger
 * ones.
 *
 * Every plan must be certified to 1e-6, or refused for the right reason: an
 * unbiased plan where a node reaches the server by no path. Prints the counts,
 * the worst gap and the first failures; exits 1 if there is any.
 */
#include "hard_networks.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *bias_name[] = {"worst-case", "unbiased", "l1", "l2"};

struct count {
    long planned, refused, failed, exact;
    double worst;
    int32_t most_iterations;
    double slowest;
};

static void complain(struct count *count, uint64_t seed, enum pricer_bias bias,
                     const char *what, double gap)
{
    if (count->failed++ < 20)
        printf("network %llu, %s: %s, gap %.3g\n", (unsigned long long)seed,
               bias_name[bias], what, gap);
}

static void try_one(const struct hard_network *hard, uint64_t seed,
                    enum pricer_bias bias, struct count *count)
{
    struct pricer_settings settings = hard->settings;
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_certificate certificate;
    struct pricer_fault fault = {""};
    settings.bias = bias;
    enum pricer_status status = pricer_plan_optimise(
        hard->network, &settings, NULL, &plan, &info, &fault);
    if (status != PRICER_OK) {
        bool right = status == PRICER_INFEASIBLE &&
                     bias == PRICER_BIAS_UNBIASED && hard->unreached > 0;
        if (right)
            count->refused++;
        else
            complain(count, seed, bias, fault.text, INFINITY);
        return;
    }
    status = pricer_plan_verify(hard->network, &settings, plan, &certificate,
                                &fault);
    pricer_plan_free(plan);
    if (status != PRICER_OK)
        complain(count, seed, bias, fault.text, INFINITY);
    else if (bias == PRICER_BIAS_UNBIASED && hard->unreached > 0)
        complain(count, seed, bias, "should have been refused", info.gap);
    else if (!certificate.feasible)
        complain(count, seed, bias, certificate.words, certificate.gap);
    else if (certificate.open_links + certificate.open_budgets > 0 &&
             settings.calibration == PRICER_CALIBRATION_ANALYTIC)
        complain(count, seed, bias, certificate.words, certificate.gap);
    else if (!(certificate.gap <= 1e-6))
        complain(count, seed, bias, "not certified", certificate.gap);
    else
        count->planned++;
    count->exact += certificate.gap <= 1e-8 * (1 + 1e-6);
    count->worst = fmax(count->worst, certificate.gap);
    if (info.iterations > count->most_iterations)
        count->most_iterations = info.iterations;
    count->slowest = fmax(count->slowest, info.seconds);
}

/* Plan `networks` networks; returns how many plans are wrong. */
static long battery(long networks, uint64_t first, int32_t least, int32_t most)
{
    struct count count[4] = {{0}};
    long failed = 0;
    for (long k = 0; k < networks; k++) {
        uint64_t seed = first + (uint64_t)k;
        struct hard_network hard = hard_network_new(seed, least, most);
        for (int bias = 0; bias < 4; bias++)
            try_one(&hard, seed, (enum pricer_bias)bias, &count[bias]);
        pricer_network_free(hard.network);
    }
    printf("%ld networks of %d to %d nodes\n", networks, (int)least, (int)most);
    printf("%-12s%10s%10s%10s%10s%12s%12s%12s\n", "bias term", "certified",
           "to 1e-8", "refused", "failed", "worst gap", "iterations",
           "slowest ms");
    for (int bias = 0; bias < 4; bias++) {
        const struct count *c = &count[bias];
        printf("%-12s%10ld%10ld%10ld%10ld%12.2e%12d%12.2f\n", bias_name[bias],
               c->planned, c->exact, c->refused, c->failed, c->worst,
               (int)c->most_iterations, 1e3 * c->slowest);
        failed += c->failed;
    }
    return failed;
}

int main(int argc, char **argv)
{
    long networks = argc > 1 ? atol(argv[1]) : 10000;
    uint64_t first = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    long failed = battery(networks, first, 1, 12);
    failed += battery((networks + 19) / 20, first, 25, 55);
    return failed > 0;
}
