/*
 * The paper's ten nodes: its table of bias and error beside what the exact
 * method proves to be the optimum, and its true worst case.
 */
#include "reproduce.h"

static const char scenario[] =
    "# The ten-node network of the paper's Table I.\n"
    "dimension: 128\n"
    "radius: 1\n"
    "network:\n"
    "  generator: erdos-renyi\n"
    "  nodes: 10\n"
    "  uplink: [0.1, 0.1, 0.8, 0.1, 0.1, 0.9, 0.1, 0.1, 0.9, 0.1]\n"
    "  p: 0.5\n"
    "  reciprocity: 1\n"
    "trust:\n"
    "  eps: 1\n"
    "  delta: 1e-3\n"
    "  self: {eps: 1000}\n"
    "  ring: {hops: 1, eps: 1000}\n";

/* A plan, its error, and what other code than the planner's finds. */
struct judged {
    struct pricer_error error;
    struct pricer_certificate certificate;
};

static enum pricer_status judge(struct reproduction *work,
                                const struct pricer_network *network,
                                const struct pricer_settings *settings,
                                struct judged *judged)
{
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    enum pricer_status status = pricer_plan_optimise(
        network, settings, NULL, &plan, &info, &work->fault);
    if (status == PRICER_OK)
        status = pricer_plan_evaluate(network, settings, plan, &judged->error,
                                      &work->fault);
    if (status == PRICER_OK)
        status = pricer_plan_verify(network, settings, plan,
                                    &judged->certificate, &work->fault);
    pricer_plan_free(plan);
    return status;
}

/* ---------------------------------------------------------------- table1 -- */

/* The cells of the table as printed. */
static const struct cell {
    double p, lambda, bias, mse;
} cells[] = {{0.1, 0, 12.799, 0.0449},   {0.1, 0.1, 0.4125, 0.3422},
             {0.1, 0.5, 0.0025, 0.4039}, {0.5, 0, 12.122, 0.0448},
             {0.5, 0.1, 0.0082, 0.1493}, {0.5, 0.5, 0.0020, 0.1538}};

static const char table1_plot[] =
    "set title 'Bias and error, ten nodes: what is claimed and what holds'\n"
    "set style data histograms\n"
    "set style histogram clustered gap 1\n"
    "set style fill solid 0.9 noborder\n"
    "set logscale y\n"
    "set yrange [0.02:4]\n"
    "set ylabel 'squared error'\n"
    "set key top left maxrows 2\n"
    "set bmargin 3.5\n"
    "plot 'table1.csv' using 5:xtic(sprintf(\"p_c = %.1f\\n{/Symbol l} = "
    "%.1f\","
    " column(1), column(2))) every ::1 title \"paper's objective\" lc rgb "
    "grey, '' using 8 every ::1 title 'exact optimum' lc rgb blue, '' using 11 "
    "every ::1 title 'its true worst case' lc rgb orange, '' using 12 every "
    "::1 title 'worst case of our plan' lc rgb green\n";

static void table1_row(struct reproduction *work, const struct cell *cell,
                       const struct judged *ours, double worst_case)
{
    double paper = cell->mse + cell->lambda * cell->bias;
    struct reproduce_row row = {.part = "table1"};
    snprintf(row.what, sizeof row.what, "objective; p_c %.1f lambda %.1f",
             cell->p, cell->lambda);
    snprintf(row.paper, sizeof row.paper, "%.4f", paper);
    snprintf(row.settings, sizeof row.settings, "%.4f", ours->error.objective);
    row.note = ours->error.objective > paper     ? "ABOVE THE PAPER'S"
               : !(ours->certificate.gap < 1e-6) ? "not certified"
                                                 : "certified optimal to 1e-6";
    reproduce_row(work, &row);
    snprintf(row.what, sizeof row.what, "true worst case; p_c %.1f lambda %.1f",
             cell->p, cell->lambda);
    snprintf(row.paper, sizeof row.paper, "%.4f", cell->mse);
    snprintf(row.settings, sizeof row.settings, "%.4f",
             ours->error.mse_worst_case);
    snprintf(row.best, sizeof row.best, "%.4f", worst_case);
    row.note = ours->error.mse_worst_case > 1.01 * ours->error.mse_paper
                   ? "the paper's MSE is no bound: biases of both signs"
                   : "";
    reproduce_row(work, &row);
}

static enum pricer_status table1_cell(struct reproduction *work,
                                      const struct cell *cell, FILE *csv)
{
    struct pricer_network *network = NULL;
    struct judged ours, own, exact;
    char p[32];
    const char *overrides[] = {p, NULL};
    struct pricer_settings settings = {.bias = PRICER_BIAS_L1,
                                       .lambda = cell->lambda,
                                       .calibration =
                                           PRICER_CALIBRATION_CLASSIC};
    struct pricer_settings worst = {.calibration = PRICER_CALIBRATION_CLASSIC};
    struct pricer_settings best = {0};
    snprintf(p, sizeof p, "network.p=%g", cell->p);
    enum pricer_status status =
        reproduce_network(work, "table1.yaml", overrides, &network);
    if (status == PRICER_OK)
        status = judge(work, network, &settings, &ours);
    if (status == PRICER_OK)
        status = judge(work, network, &worst, &own);
    if (status == PRICER_OK)
        status = judge(work, network, &best, &exact);
    pricer_network_free(network);
    if (status != PRICER_OK)
        return status;
    fprintf(csv,
            "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.3g,%.17g,"
            "%.17g,%.17g\n",
            cell->p, cell->lambda, cell->bias, cell->mse,
            cell->mse + cell->lambda * cell->bias, ours.error.bias_l1,
            ours.error.mse_paper, ours.error.objective, ours.certificate.bound,
            ours.certificate.gap, ours.error.mse_worst_case,
            own.error.mse_worst_case, exact.error.mse_worst_case);
    table1_row(work, cell, &ours, own.error.mse_worst_case);
    return PRICER_OK;
}

enum pricer_status reproduce_table1(struct reproduction *work)
{
    FILE *csv = NULL;
    enum pricer_status status = reproduce_write(work, "table1.yaml", scenario);
    if (status == PRICER_OK)
        status = reproduce_open(work, "table1.csv", &csv);
    if (status != PRICER_OK)
        return status;
    fputs("p_c,lambda,paper_bias,paper_mse,paper_objective,bias,mse,objective,"
          "bound,gap,worst_case,own_worst_case,own_worst_case_analytic\n",
          csv);
    const int count = sizeof cells / sizeof *cells;
    for (int k = 0; k < count && status == PRICER_OK; k++) {
        status = table1_cell(work, &cells[k], csv);
        if (status == PRICER_OK)
            status = reproduce_tick(work, (k + 1.) / count);
    }
    status = reproduce_close(work, "table1.csv", csv, status);
    return status != PRICER_OK ? status
                               : reproduce_plot(work, "table1", table1_plot);
}
