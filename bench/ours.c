/*
 * The planner's side of the benchmarks against generic solvers.
 */
#include "ours.h"
#include "optimise/optimise.h"
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 20 };

double ours_time(const struct dense *dense, struct bench_case which,
                 double *objective)
{
    struct pricer_settings settings = {.bias = which.bias,
                                       .lambda = which.lambda,
                                       .tolerance = 1e-8,
                                       .threads = 1};
    double best = INFINITY;
    for (int run = 0; run < RUNS; run++) {
        struct pricer_plan *plan = NULL;
        struct pricer_solve_info info;
        struct pricer_fault fault = {""};
        double start = bench_now();
        enum pricer_status status =
            pri_optimise(dense->network, &settings, dense->slope,
                         dense->self_slope, NULL, &plan, &info, &fault);
        best = fmin(best, bench_now() - start);
        if (status != PRICER_OK) {
            fprintf(stderr, "bench: %s\n", fault.text);
            exit(1);
        }
        if (info.gap > 1e-8 && run == 0)
            fprintf(stderr, "bench: n = %d, %s: the gap is only %.1e\n",
                    (int)dense->network->nodes, which.name, info.gap);
        *objective = info.objective;
        pricer_plan_free(plan);
    }
    return best;
}

void ours_heading(const char *rival)
{
    char title[64];
    snprintf(title, sizeof title, "%s, ms", rival);
    printf("%5s %-12s %12s %12s %12s %9s\n", "n", "bias", "pricer, ms", title,
           "difference", "ratio");
}

void ours_row(int32_t n, struct bench_case which, double ours, double rival,
              double ours_value, double rival_value)
{
    printf("%5d %-12s %12.4f %12.3f %12.1e %9.0f\n", (int)n, which.name,
           1e3 * ours, 1e3 * rival, (rival_value - ours_value) / ours_value,
           rival / ours);
    fflush(stdout);
}
