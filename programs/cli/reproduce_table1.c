/*
 * The paper's ten nodes: its table of bias and error, and the convergence of
 * its gradient descent towards what the exact method proves to be the optimum.
 */
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>

static const char scenario[] =
    "# The ten-node network of the paper's Table I and convergence figure.\n"
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

/* ----------------------------------------------------------- convergence -- */

enum { STARTS = 4, ITERATIONS = 100000, POINTS = 160 };
static const double lambdas[] = {0, 0.01, 0.1, 0.5};
enum { LAMBDAS = sizeof lambdas / sizeof *lambdas };

/* Objectives at iterations spaced evenly in their logarithm. */
struct trace {
    int64_t iteration[POINTS];
    double objective[POINTS][STARTS];
    int count;
};

static void space_trace(struct trace *trace)
{
    trace->count = 0;
    for (int k = 0; k < POINTS; k++) {
        double place = pow(ITERATIONS, (double)k / (POINTS - 1));
        int64_t iteration = (int64_t)floor(place + 0.5);
        if (trace->count == 0 || iteration > trace->iteration[trace->count - 1])
            trace->iteration[trace->count++] = iteration;
    }
}

static int compare(const void *key, const void *element)
{
    int64_t a = *(const int64_t *)key, b = *(const int64_t *)element;
    return (a > b) - (a < b);
}

static void record(void *context, int32_t start, int64_t iteration,
                   double objective)
{
    struct trace *trace = context;
    int64_t *found = bsearch(&iteration, trace->iteration, (size_t)trace->count,
                             sizeof iteration, compare);
    if (found != NULL)
        trace->objective[found - trace->iteration][start] = objective;
}

static const char convergence_plot[] =
    "set title 'Projected gradient descent, step 0.01, mean of 4 starts "
    "(p_c = 0.9)'\n"
    "set logscale xy\n"
    "set xlabel 'iteration'\n"
    "set ylabel 'objective'\n"
    "set yrange [0.03:*]\nset xrange [1:100000]\nset format x '10^{%T}'\n"
    "l(k) = sprintf('{/Symbol l} = %g', k)\n"
    "plot for [k=0:3] 'convergence.csv' using 2:($1==word('0 0.01 0.1 0.5',"
    "k+1)+0?$3:1/0) every ::1 with lines lw 2 lc rgb word(blue.' '.green.' '"
    ".orange.' '.violet,k+1) title l(word('0 0.01 0.1 0.5',k+1)+0), for "
    "[k=0:3] '' using 2:($1==word('0 0.01 0.1 0.5',k+1)+0?$6:1/0) every ::1 "
    "with lines dt 2 lw 1 lc rgb word(blue.' '.green.' '.orange.' '.violet,"
    "k+1) title (k==3?'exact optimum':'')\n";

static void write_trace(FILE *csv, double lambda, const struct trace *trace,
                        double optimum)
{
    for (int k = 0; k < trace->count; k++) {
        double mean = 0, least = INFINITY, most = -INFINITY;
        for (int s = 0; s < STARTS; s++) {
            mean += trace->objective[k][s] / STARTS;
            least = fmin(least, trace->objective[k][s]);
            most = fmax(most, trace->objective[k][s]);
        }
        fprintf(csv, "%.17g,%lld,%.17g,%.17g,%.17g,%.17g\n", lambda,
                (long long)trace->iteration[k], mean, least, most, optimum);
    }
}

static enum pricer_status descend(struct reproduction *work,
                                  const struct pricer_network *network,
                                  double lambda, struct trace *trace, FILE *csv)
{
    struct pricer_settings settings = {.bias = PRICER_BIAS_L1,
                                       .lambda = lambda,
                                       .calibration =
                                           PRICER_CALIBRATION_CLASSIC};
    struct pricer_gradient options = {.iterations = ITERATIONS,
                                      .starts = STARTS,
                                      .seed = 1,
                                      .trace = record,
                                      .context = trace};
    struct pricer_plan *plan = NULL;
    struct pricer_error error;
    struct judged optimum;
    enum pricer_status status =
        pricer_plan_descend(network, &settings, &options, &plan, &work->fault);
    if (status == PRICER_OK)
        status = pricer_plan_evaluate(network, &settings, plan, &error,
                                      &work->fault);
    if (status == PRICER_OK)
        status = judge(work, network, &settings, &optimum);
    pricer_plan_free(plan);
    if (status != PRICER_OK)
        return status;
    write_trace(csv, lambda, trace, optimum.error.objective);
    struct reproduce_row row = {
        .part = "convergence",
        .paper = "converges",
        .note = "descent of 100000 iterations, best of 4; exact optimum"};
    snprintf(row.what, sizeof row.what, "objective; p_c 0.9 lambda %g", lambda);
    snprintf(row.settings, sizeof row.settings, "%.5f", error.objective);
    snprintf(row.best, sizeof row.best, "%.5f", optimum.error.objective);
    reproduce_row(work, &row);
    return PRICER_OK;
}

enum pricer_status reproduce_convergence(struct reproduction *work)
{
    static const char *const overrides[] = {"network.p=0.9", NULL};
    struct pricer_network *network = NULL;
    struct trace *trace = calloc(1, sizeof *trace);
    FILE *csv = NULL;
    enum pricer_status status = trace == NULL ? PRICER_MEMORY : PRICER_OK;
    if (status == PRICER_OK)
        status = reproduce_write(work, "table1.yaml", scenario);
    if (status == PRICER_OK)
        status = reproduce_network(work, "table1.yaml", overrides, &network);
    if (status == PRICER_OK)
        status = reproduce_open(work, "convergence.csv", &csv);
    if (status != PRICER_OK)
        goto done;
    fputs("lambda,iteration,objective,least,most,optimum\n", csv);
    space_trace(trace);
    for (int k = 0; k < LAMBDAS && status == PRICER_OK; k++) {
        status = descend(work, network, lambdas[k], trace, csv);
        if (status == PRICER_OK)
            status = reproduce_tick(work, (k + 1.) / LAMBDAS);
    }
    status = reproduce_close(work, "convergence.csv", csv, status);
    if (status == PRICER_OK)
        status = reproduce_plot(work, "convergence", convergence_plot);
done:
    pricer_network_free(network);
    free(trace);
    return status;
}
