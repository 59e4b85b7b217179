/*
 * The paper's Erdos-Renyi networks: the closed form against the optimiser, and
 * the error with and without collaboration as most nodes lose the server. What
 * a relay learns is in reproduce_leakage.c.
 */
#include "reproduce.h"

#include <math.h>

static const char scenario[] =
    "# m of n nodes reach the server with probability q, the others with\n"
    "# network.uplink; every pair is linked alike.\n"
    "dimension: 128\n"
    "radius: 1\n"
    "network:\n"
    "  generator: erdos-renyi\n"
    "  nodes: 20\n"
    "  uplink: 0\n"
    "  good: {count: 5, uplink: 0.8}\n"
    "  p: 0.6\n"
    "  reciprocity: 0\n"
    "trust:\n"
    "  eps: 1\n"
    "  delta: 1e-3\n";

/* The numbers of that scenario, for the formulas. */
static const double link_p = 0.6, uplink_q = 0.8, delta_ = 1e-3;
enum { NODES = 20, REACHING = 5, DIMENSION = 128 };

/* Noise per weight of the paper's formula, eps 1, radius 1. */
static double slope(void)
{
    return 2 * sqrt(2 * log(1.25 / delta_));
}

/* ----------------------------------------------------------- closed form -- */

static enum pricer_status closed_form(double lambda,
                                      struct pricer_closed_form *solution)
{
    struct pricer_erdos_renyi family = {.nodes = NODES,
                                        .reaching = REACHING,
                                        .link = link_p,
                                        .uplink = uplink_q,
                                        .dimension = DIMENSION,
                                        .radius = 1,
                                        .slope = slope(),
                                        .lambda = lambda};
    return pricer_erdos_renyi_solve(&family, solution, NULL);
}

static enum pricer_status compare(struct reproduction *work,
                                  const struct pricer_network *network,
                                  double lambda, FILE *csv, double *most)
{
    struct pricer_settings settings = {
        .bias = isinf(lambda) ? PRICER_BIAS_UNBIASED : PRICER_BIAS_L2,
        .lambda = isinf(lambda) ? 0 : lambda,
        .tolerance = 1e-10,
        .calibration = PRICER_CALIBRATION_CLASSIC};
    struct pricer_closed_form form;
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_error error;
    enum pricer_status status = closed_form(lambda, &form);
    if (status == PRICER_OK)
        status = pricer_plan_optimise(network, &settings, NULL, &plan, &info,
                                      &work->fault);
    if (status == PRICER_OK)
        status = pricer_plan_evaluate(network, &settings, plan, &error,
                                      &work->fault);
    pricer_plan_free(plan);
    if (status != PRICER_OK)
        return status;
    double objective = isinf(lambda) ? form.mse : form.objective;
    *most = fmax(*most, fabs(error.objective / objective - 1));
    fprintf(csv, "%.17g,%.17g,%.17g,%.17g,%.17g\n", lambda, objective,
            error.objective, form.weight, form.self_weight);
    return PRICER_OK;
}

static enum pricer_status closed_forms(struct reproduction *work)
{
    static const double lambdas[] = {0.001, 0.01, 0.1, 0.5, 1, 10, INFINITY};
    const int count = sizeof lambdas / sizeof *lambdas;
    struct pricer_network *network = NULL;
    struct reproduce_row row = {.part = "erdos-renyi",
                                .what = "closed form and optimiser; most apart",
                                .paper = "closed form",
                                .note = "relative; lambda from 0.001 to inf"};
    FILE *csv = NULL;
    double most = 0;
    enum pricer_status status =
        reproduce_network(work, "erdos-renyi.yaml", NULL, &network);
    if (status == PRICER_OK)
        status = reproduce_open(work, "erdos-renyi.csv", &csv);
    if (status != PRICER_OK)
        goto done;
    fputs("lambda,closed_form,optimiser,weight,self_weight\n", csv);
    for (int k = 0; k < count && status == PRICER_OK; k++)
        status = compare(work, network, lambdas[k], csv, &most);
    status = reproduce_close(work, "erdos-renyi.csv", csv, status);
    snprintf(row.settings, sizeof row.settings, "%.1e", most);
    if (status == PRICER_OK)
        reproduce_row(work, &row);
done:
    pricer_network_free(network);
    return status;
}

/* --------------------------------------------------------- collaboration -- */

static const char collaboration_plot[] =
    "set title 'With and without collaboration: 5 of 20 nodes reach the "
    "server'\n"
    "set logscale xy\n"
    "set xlabel \"uplink probability of the other nodes, q'\"\n"
    "set ylabel 'MSE'\n"
    "set yrange [0.01:*]\n"
    "set format x '10^{%T}'\n"
    "set format y '%g'\n"
    "plot 'collaboration.csv' using 1:2 every ::1 with lines lw 2 lc rgb "
    "orange "
    "title 'without, unbiased', '' using 1:3 every ::1 with lines lw 2 dt 2 lc "
    "rgb grey title \"with, paper's formula\", '' using 1:4 every ::1 with "
    "lines "
    "lw 2 lc rgb blue title 'with, unbiased', '' using 1:5 every ::1 with "
    "lines "
    "lw 2 lc rgb green title 'with, worst-case plan'\n";

static enum pricer_status solve(struct reproduction *work,
                                const struct pricer_network *network,
                                enum pricer_bias bias, double *mse)
{
    struct pricer_settings settings = {
        .bias = bias, .calibration = PRICER_CALIBRATION_CLASSIC};
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_error error;
    enum pricer_status status = pricer_plan_optimise(
        network, &settings, NULL, &plan, &info, &work->fault);
    if (status == PRICER_OK)
        status = pricer_plan_evaluate(network, &settings, plan, &error,
                                      &work->fault);
    pricer_plan_free(plan);
    if (status == PRICER_OK)
        *mse = error.mse_worst_case;
    return status;
}

/* One q': without collaboration and unbiased, the paper's formula as printed,
 * the unbiased optimum and the worst-case optimum. */
static enum pricer_status collaborate(struct reproduction *work, double q,
                                      double *mse)
{
    const double n = NODES, m = REACHING, s = slope();
    struct pricer_network *network = NULL;
    char text[48];
    const char *overrides[] = {text, NULL};
    snprintf(text, sizeof text, "network.uplink=%.17g", q);
    mse[0] = (m / uplink_q + (n - m) / q - n) / (n * n);
    mse[1] = (n - m) / (n * n * link_p * uplink_q) *
                 ((1 - link_p) / m + s * s * DIMENSION) +
             (1 - uplink_q) / (m * uplink_q);
    enum pricer_status status =
        reproduce_network(work, "erdos-renyi.yaml", overrides, &network);
    if (status == PRICER_OK)
        status = solve(work, network, PRICER_BIAS_UNBIASED, &mse[2]);
    if (status == PRICER_OK)
        status = solve(work, network, PRICER_BIAS_WORST_CASE, &mse[3]);
    pricer_network_free(network);
    return status;
}

static enum pricer_status collaboration(struct reproduction *work)
{
    struct reproduce_row row = {.part = "erdos-renyi",
                                .what = "MSE as q' falls to 1e-6",
                                .note = "without collaboration: see the next"};
    FILE *csv = NULL;
    double mse[4] = {0};
    enum pricer_status status = reproduce_open(work, "collaboration.csv", &csv);
    if (status != PRICER_OK)
        return status;
    fputs("uplink,without,paper_formula,with_unbiased,with_worst_case\n", csv);
    for (int k = 0; k <= 24 && status == PRICER_OK; k++) {
        double q = pow(10, -k / 4.);
        status = collaborate(work, q, mse);
        fprintf(csv, "%.17g,%.17g,%.17g,%.17g,%.17g\n", q, mse[0], mse[1],
                mse[2], mse[3]);
        if (status == PRICER_OK)
            status = reproduce_tick(work, (k + 1) / 25.);
    }
    status = reproduce_close(work, "collaboration.csv", csv, status);
    if (status != PRICER_OK)
        return status;
    snprintf(row.paper, sizeof row.paper, "%.4g", mse[1]);
    snprintf(row.settings, sizeof row.settings, "%.4g", mse[2]);
    snprintf(row.best, sizeof row.best, "%.4g", mse[3]);
    row.note = "the paper's formula lacks a 1/m before its noise";
    reproduce_row(work, &row);
    row = (struct reproduce_row){.part = "erdos-renyi",
                                 .what = "the same without collaboration",
                                 .paper = "grows without bound"};
    snprintf(row.settings, sizeof row.settings, "%.4g", mse[0]);
    reproduce_row(work, &row);
    return reproduce_plot(work, "collaboration", collaboration_plot);
}

enum pricer_status reproduce_erdos_renyi(struct reproduction *work)
{
    enum pricer_status status =
        reproduce_write(work, "erdos-renyi.yaml", scenario);
    if (status == PRICER_OK)
        status = closed_forms(work);
    if (status == PRICER_OK)
        status = collaboration(work);
    if (status == PRICER_OK)
        status = reproduce_leakage(work);
    return status;
}
