/*
 * The exact planner on the paper's ten nodes, for plan_paper.py: prints p_c,
 * lambda, seconds to a certified 1e-8, the objective, and where the paper's
 * descent ends after the iterations given as the first argument, by our own
 * implementation of it.
 */
#include "dense.h"
#include "plan/plan.h"
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct pricer_network *ten_nodes(double p_c)
{
    static const double p[] = {.1, .1, .8, .1, .1, .9, .1, .1, .9, .1};
    struct pricer_node nodes[10];
    struct pricer_link links[90];
    int64_t count = 0;
    for (int32_t i = 0; i < 10; i++) {
        nodes[i] = (struct pricer_node){p[i], 1000, 1e-3, NAN, NAN};
        for (int32_t j = 0; j < 10; j++) {
            int32_t apart = (i - j + 10) % 10;
            if (i != j)
                links[count++] = (struct pricer_link){
                    i, j, p_c, NAN, apart == 1 || apart == 9 ? 1000 : 1, 1e-3};
        }
    }
    struct pricer_network *net = NULL;
    if (pricer_network_build(&(struct pricer_network_parts){128, 1, 1, nodes,
                                                            10, links, count,
                                                            NULL, NULL},
                             &net, NULL, NULL) != PRICER_OK)
        exit(1);
    return net;
}

/* Seconds of the best of 100 solves on one core, noise slopes included. */
static double time_exact(const struct pricer_network *net, double lambda,
                         struct pricer_solve_info *info)
{
    struct pricer_settings settings = {.bias = PRICER_BIAS_L1,
                                       .lambda = lambda,
                                       .calibration =
                                           PRICER_CALIBRATION_CLASSIC,
                                       .threads = 1};
    double best = INFINITY;
    for (int run = 0; run < 100; run++) {
        struct pricer_plan *plan = NULL;
        double start = bench_now();
        if (pricer_plan_optimise(net, &settings, NULL, &plan, info, NULL) !=
                PRICER_OK ||
            info->gap > 1e-8)
            exit(1);
        best = fmin(best, bench_now() - start);
        pricer_plan_free(plan);
    }
    return best;
}

static double descend(const struct pricer_network *net, double lambda,
                      int64_t iterations)
{
    struct pricer_settings settings = {.bias = PRICER_BIAS_L1,
                                       .lambda = lambda,
                                       .calibration =
                                           PRICER_CALIBRATION_CLASSIC};
    struct pricer_gradient options = {.iterations = iterations};
    struct pricer_plan *plan = NULL;
    struct pricer_error error;
    if (pricer_plan_descend(net, &settings, &options, &plan, NULL) !=
            PRICER_OK ||
        pricer_plan_evaluate(net, &settings, plan, &error, NULL) != PRICER_OK)
        exit(1);
    pricer_plan_free(plan);
    return error.objective;
}

int main(int argc, char **argv)
{
    static const double p_c[] = {.1, .5}, lambda[] = {.1, .5};
    int64_t iterations = argc > 1 ? atoll(argv[1]) : 100000;
    for (int k = 0; k < 4; k++) {
        struct pricer_network *net = ten_nodes(p_c[k / 2]);
        struct pricer_solve_info info;
        double seconds = time_exact(net, lambda[k % 2], &info);
        printf("%g,%g,%.17g,%.17g,%.17g\n", p_c[k / 2], lambda[k % 2], seconds,
               info.objective, descend(net, lambda[k % 2], iterations));
        pricer_network_free(net);
    }
    return 0;
}
