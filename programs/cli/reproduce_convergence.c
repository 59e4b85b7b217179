/*
 * The paper's convergence figure: objective, error and bias against the number
 * of steps, for the steps the paper tried and for Adam as its authors ran it,
 * beside the optimum that the exact method proves.
 */
#include "reproduce.h"
#include "reproduce_descent.h"

#include <math.h>
#include <stdlib.h>

static const char scenario[] =
    "# The ten-node network of the paper's convergence figure.\n"
    "dimension: 128\n"
    "radius: 1\n"
    "network:\n"
    "  generator: erdos-renyi\n"
    "  nodes: 10\n"
    "  uplink: [0.1, 0.1, 0.8, 0.1, 0.1, 0.9, 0.1, 0.1, 0.9, 0.1]\n"
    "  p: 0.9\n"
    "  reciprocity: 1\n"
    "trust:\n"
    "  eps: 1\n"
    "  delta: 1e-3\n"
    "  self: {eps: 1000}\n"
    "  ring: {hops: 1, eps: 1000}\n";

enum { STARTS = 4, ITERATIONS = 30000, ADAM_STEPS = 1500, POINTS = 120 };
static const double lambdas[] = {0, 0.1, 0.5};
static const double steps[] = {0.001, 0.01, 0.1};
enum {
    LAMBDAS = sizeof lambdas / sizeof *lambdas,
    STEPS = sizeof steps / sizeof *steps,
    RUNS = LAMBDAS * STEPS * 2,
};

/* One curve: means over the starts at iterations spaced evenly in their
 * logarithm. */
struct curve {
    struct descent descent;
    struct pricer_settings settings;
    struct pricer_fault *fault;
    int64_t iteration[POINTS];
    int32_t count;
    double objective[POINTS], mse[POINTS], bias[POINTS];
};

static void space(struct curve *curve, int64_t last)
{
    curve->count = 0;
    for (int k = 0; k < POINTS; k++) {
        int64_t place = llround(pow((double)last, (double)k / (POINTS - 1)));
        if (curve->count == 0 || place > curve->iteration[curve->count - 1])
            curve->iteration[curve->count++] = place;
    }
}

static enum pricer_status record(void *context, int32_t k,
                                 const struct pricer_plan *plan)
{
    struct curve *curve = context;
    struct pricer_error error;
    enum pricer_status status = pricer_plan_evaluate(
        curve->descent.network, &curve->settings, plan, &error, curve->fault);
    if (status != PRICER_OK)
        return status;
    curve->objective[k] += error.objective / STARTS;
    curve->mse[k] += error.mse_paper / STARTS;
    curve->bias[k] += error.bias_l1 / STARTS;
    return PRICER_OK;
}

static enum pricer_status trace(struct curve *curve)
{
    enum pricer_status status = PRICER_OK;
    space(curve, curve->descent.adam ? ADAM_STEPS : ITERATIONS);
    curve->descent.visits = curve->iteration;
    curve->descent.visit_count = curve->count;
    curve->descent.visit = record;
    curve->descent.context = curve;
    for (int32_t s = 0; s < STARTS && status == PRICER_OK; s++) {
        curve->descent.start = s;
        status = descent_run(&curve->descent, curve->fault);
    }
    return status;
}

static void write_curve(FILE *csv, const struct curve *curve,
                        const struct pricer_error *optimum)
{
    for (int32_t k = 0; k < curve->count; k++)
        fprintf(csv, "%s,%g,%g,%lld,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n",
                curve->descent.adam ? "adam" : "descent", curve->descent.step,
                curve->descent.lambda, (long long)curve->iteration[k],
                curve->objective[k], curve->mse[k], curve->bias[k],
                optimum->objective, optimum->mse_paper, optimum->bias_l1);
}

static enum pricer_status optimise(struct reproduction *work,
                                   const struct pricer_network *network,
                                   const struct pricer_settings *settings,
                                   struct pricer_error *error)
{
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    enum pricer_status status = pricer_plan_optimise(
        network, settings, NULL, &plan, &info, &work->fault);
    if (status == PRICER_OK)
        status =
            pricer_plan_evaluate(network, settings, plan, error, &work->fault);
    pricer_plan_free(plan);
    return status;
}

/* Where a way of descending ends for each step, and the optimum. */
static void end_row(struct reproduction *work, bool adam, double lambda,
                    const struct curve *ends, const struct pricer_error *best)
{
    struct reproduce_row row = {.part = "convergence"};
    char note[160];
    snprintf(row.what, sizeof row.what, "%s; objective; lambda %g",
             adam ? "Adam, 1500 steps" : "descent, 30000 steps", lambda);
    snprintf(row.paper, sizeof row.paper, adam ? "-" : "converges; step 0.01");
    for (int s = 0, at = 0; s < STEPS; s++)
        at += snprintf(row.settings + at, sizeof row.settings - (size_t)at,
                       s == 0 ? "%.4f" : " %.4f",
                       ends[s].objective[ends[s].count - 1]);
    snprintf(row.best, sizeof row.best, "%.5f", best->objective);
    int32_t last = ends[1].count - 1;
    snprintf(note, sizeof note,
             "steps 0.001 0.01 0.1, mean of 4 starts; at 0.01 MSE %.4f bias "
             "%.4f, optimum %.4f and %.4f",
             ends[1].mse[last], ends[1].bias[last], best->mse_paper,
             best->bias_l1);
    row.note = note;
    reproduce_row(work, &row);
}

static enum pricer_status run_lambda(struct reproduction *work,
                                     const struct pricer_network *network,
                                     int which, struct curve *curves, FILE *csv)
{
    struct pricer_settings settings = {.bias = PRICER_BIAS_L1,
                                       .lambda = lambdas[which],
                                       .calibration =
                                           PRICER_CALIBRATION_CLASSIC};
    struct pricer_error best;
    enum pricer_status status = optimise(work, network, &settings, &best);
    for (int adam = 0; adam < 2 && status == PRICER_OK; adam++) {
        for (int s = 0; s < STEPS && status == PRICER_OK; s++) {
            curves[s] = (struct curve){.settings = settings,
                                       .fault = &work->fault,
                                       .descent = {.network = network,
                                                   .lambda = lambdas[which],
                                                   .adam = adam == 1,
                                                   .step = steps[s]}};
            status = trace(&curves[s]);
            if (status == PRICER_OK)
                write_curve(csv, &curves[s], &best);
            if (status == PRICER_OK)
                status = reproduce_tick(
                    work, ((which * 2. + adam) * STEPS + s + 1) / RUNS);
        }
        if (status == PRICER_OK)
            end_row(work, adam == 1, lambdas[which], curves, &best);
    }
    return status;
}

static const char plot[] =
    "set multiplot layout 2,2 title 'Objective, error and bias against steps "
    "(p_c = 0.9, mean of 4 starts)'\n"
    "set logscale xy\nset format x '10^{%T}'\nset format y '%g'\n"
    "set xlabel 'steps'\nset xrange [1:30000]\n"
    "set key top right samplen 1.5\n"
    "colour(l) = l eq '0' ? blue : l eq '0.1' ? orange : violet\n"
    "of(c, m, s, l) = strcol(1) eq m && column(2)==s && column(3)==l ? "
    "column(c) : 1/0\n"
    "lambdas = '0 0.1 0.5'\n"
    "set ylabel 'objective'\n"
    "set yrange [0.03:*]\n"
    "set title 'descent, step 0.01; dashed: optimum'\n"
    "plot for [l in lambdas] 'convergence.csv' using "
    "4:(of(5,'descent',0.01,l+0)) with lines lw 2 lc rgb colour(l) title "
    "'{/Symbol l} = '.l, for [l in lambdas] '' using "
    "4:(of(8,'descent',0.01,l+0)) with lines dt 2 lc rgb colour(l) notitle\n"
    "set ylabel 'MSE (full), bias (dotted)'\n"
    "set yrange [0.001:*]\n"
    "set title 'the same: MSE and total bias'\n"
    "plot for [l in lambdas] 'convergence.csv' using "
    "4:(of(6,'descent',0.01,l+0)) with lines lw 2 lc rgb colour(l) notitle, "
    "for [l in lambdas] '' using 4:(of(7,'descent',0.01,l+0)) with lines dt 3 "
    "lw 2 lc rgb colour(l) notitle\n"
    "set ylabel 'objective'\n"
    "set key bottom left reverse Left samplen 1.5\n"
    "set yrange [0.001:*]\n"
    "set title '{/Symbol l} = 0.5: descent, steps tried'\n"
    "tone(s) = s eq '0.001' ? green : s eq '0.01' ? violet : orange\n"
    "plot for [s in '0.001 0.01 0.1'] 'convergence.csv' using "
    "4:(of(5,'descent',s+0,0.5)) with lines lw 2 lc rgb tone(s) title 'step "
    "'.s, '' using 4:(of(8,'descent',0.01,0.5)) with lines dt 2 lc rgb grey "
    "title 'optimum'\n"
    "set title '{/Symbol l} = 0.5: Adam, 1,500 steps'\n"
    "plot for [s in '0.001 0.01 0.1'] 'convergence.csv' using "
    "4:(of(5,'adam',s+0,0.5)) with lines lw 2 lc rgb tone(s) title 'step '.s, "
    "'' using 4:(of(8,'descent',0.01,0.5)) with lines dt 2 lc rgb grey title "
    "'optimum'\n"
    "unset multiplot\n";

enum pricer_status reproduce_convergence(struct reproduction *work)
{
    struct pricer_network *network = NULL;
    struct curve *curves = calloc(STEPS, sizeof *curves);
    FILE *csv = NULL;
    enum pricer_status status = curves == NULL ? PRICER_MEMORY : PRICER_OK;
    if (status == PRICER_OK)
        status = reproduce_write(work, "convergence.yaml", scenario);
    if (status == PRICER_OK)
        status = reproduce_network(work, "convergence.yaml", NULL, &network);
    if (status == PRICER_OK)
        status = reproduce_open(work, "convergence.csv", &csv);
    if (status != PRICER_OK)
        goto done;
    fputs("method,step,lambda,iteration,objective,mse,bias,optimum,"
          "optimum_mse,optimum_bias\n",
          csv);
    for (int k = 0; k < LAMBDAS && status == PRICER_OK; k++)
        status = run_lambda(work, network, k, curves, csv);
    status = reproduce_close(work, "convergence.csv", csv, status);
    if (status == PRICER_OK)
        status = reproduce_plot(work, "convergence", plot);
done:
    pricer_network_free(network);
    free(curves);
    return status;
}
