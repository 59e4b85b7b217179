/*
 * The paper's trust sweep: one node with a good uplink, everyone trusting the
 * neighbours up to k hops away on a ring; error and noise against k.
 *
 * The paper prints curves, not numbers, and does not say its lambda; 0.1 is the
 * middle one of its table.
 */
#include "reproduce.h"

#include <math.h>

static const char scenario[] =
    "# The paper's trust sweep; vary trust.ring.hops and network.p.\n"
    "dimension: 128\n"
    "radius: 1\n"
    "network:\n"
    "  generator: erdos-renyi\n"
    "  nodes: 10\n"
    "  uplink: 0.1\n"
    "  good: {count: 1, uplink: 0.9}\n"
    "  p: 0.9\n"
    "  reciprocity: 1\n"
    "trust:\n"
    "  eps: 1\n"
    "  delta: 1e-3\n"
    "  self: {eps: 1000}\n"
    "  ring: {hops: 0, eps: 1000}\n";

static const char plot[] =
    "set multiplot layout 1,2 title 'More trust, less error and less noise "
    "(one good node of ten)'\n"
    "set xlabel 'trusted hops k'\n"
    "set logscale y\n"
    "set format y '%g'\n"
    "set xrange [-0.2:5.2]\n"
    "set ylabel 'MSE'\n"
    "set key bottom left reverse Left samplen 1.5\n"
    "set yrange [0.01:1]\n"
    "plot 'trust.csv' using ($1==0.9?$2:1/0):3 every ::1 with linespoints pt 7 "
    "lc rgb blue title \"paper's settings, p_c 0.9\", '' using "
    "($1==0.1?$2:1/0):3 every ::1 with linespoints pt 6 lc rgb blue dt 2 title "
    "'p_c 0.1', '' using ($1==0.9?$2:1/0):6 every ::1 with linespoints pt 7 lc "
    "rgb green title 'worst-case plan, p_c 0.9', '' using ($1==0.1?$2:1/0):6 "
    "every ::1 with linespoints pt 6 lc rgb green dt 2 title 'p_c 0.1'\n"
    "set ylabel 'variance from noise'\n"
    "unset key\n"
    "set yrange [0.0001:0.01]\n"
    "plot 'trust.csv' using ($1==0.9?$2:1/0):4 every ::1 with linespoints pt 7 "
    "lc rgb blue, '' using ($1==0.1?$2:1/0):4 every ::1 with linespoints pt 6 "
    "lc rgb blue dt 2, '' using ($1==0.9?$2:1/0):7 every ::1 with linespoints "
    "pt 7 lc rgb green, '' using ($1==0.1?$2:1/0):7 every ::1 with linespoints "
    "pt 6 lc rgb green dt 2\n"
    "unset multiplot\n";

static const char weights_plot[] =
    "set title 'Mean weight of links, by trust in their receiver (one good "
    "node of ten)'\n"
    "set xlabel 'trusted hops k'\n"
    "set ylabel 'mean weight {/Symbol a}'\n"
    "set logscale y\n"
    "set format y '%g'\n"
    "set xrange [-0.2:5.2]\n"
    "set key center right\n"
    "of(c, p) = column(1)==p ? column(c) : 1/0\n"
    "plot 'trust.csv' using 2:(of(9,0.9)) every ::1 with linespoints pt 7 lc "
    "rgb blue title \"trusted, paper's settings, p_c 0.9\", '' using "
    "2:(of(10,0.9)) every ::1 with linespoints pt 6 lc rgb blue dt 2 title "
    "'not trusted', '' using 2:(of(9,0.1)) every ::1 with linespoints pt 7 lc "
    "rgb orange title 'trusted, p_c 0.1', '' using 2:(of(10,0.1)) every ::1 "
    "with linespoints pt 6 lc rgb orange dt 2 title 'not trusted', '' using "
    "2:(of(11,0.9)) every ::1 with linespoints pt 7 lc rgb green title "
    "'trusted, worst-case plan, p_c 0.9', '' using 2:(of(12,0.9)) every ::1 "
    "with linespoints pt 6 lc rgb green dt 2 title 'not trusted'\n";

enum { HOPS = 6 };

/* Mean weights of links whose receiver is trusted, and of the others; NAN where
 * there are none. */
struct weights {
    double trusted, others;
};

/* Errors and weights at the paper's settings, of our plan with the same noise,
 * and of our plan with noise that holds. */
struct sweep {
    struct pricer_error paper, own, analytic;
    struct weights paper_weights, own_weights, analytic_weights;
};

static struct weights weigh(const struct pricer_network *network,
                            const struct pricer_plan *plan)
{
    double sum[2] = {0}, count[2] = {0};
    for (int32_t l = 0; l < network->links; l++) {
        int trusted = network->eps[l] > 1;
        sum[trusted] += plan->weight[l];
        count[trusted]++;
    }
    return (struct weights){count[1] > 0 ? sum[1] / count[1] : NAN,
                            count[0] > 0 ? sum[0] / count[0] : NAN};
}

static enum pricer_status solve(struct reproduction *work,
                                const struct pricer_network *network,
                                const struct pricer_settings *settings,
                                struct pricer_error *error,
                                struct weights *weights)
{
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    enum pricer_status status = pricer_plan_optimise(
        network, settings, NULL, &plan, &info, &work->fault);
    if (status == PRICER_OK)
        status =
            pricer_plan_evaluate(network, settings, plan, error, &work->fault);
    if (status == PRICER_OK)
        *weights = weigh(network, plan);
    pricer_plan_free(plan);
    return status;
}

static enum pricer_status sweep_one(struct reproduction *work, double p,
                                    int hops, struct sweep *sweep)
{
    char first[32], second[32];
    const char *overrides[] = {first, second, NULL};
    struct pricer_network *network = NULL;
    struct pricer_settings paper = {.bias = PRICER_BIAS_L1,
                                    .lambda = 0.1,
                                    .calibration = PRICER_CALIBRATION_CLASSIC};
    struct pricer_settings own = {.calibration = PRICER_CALIBRATION_CLASSIC};
    struct pricer_settings analytic = {0};
    snprintf(first, sizeof first, "network.p=%g", p);
    snprintf(second, sizeof second, "trust.ring.hops=%d", hops);
    enum pricer_status status =
        reproduce_network(work, "trust.yaml", overrides, &network);
    if (status == PRICER_OK)
        status =
            solve(work, network, &paper, &sweep->paper, &sweep->paper_weights);
    if (status == PRICER_OK)
        status = solve(work, network, &own, &sweep->own, &sweep->own_weights);
    if (status == PRICER_OK)
        status = solve(work, network, &analytic, &sweep->analytic,
                       &sweep->analytic_weights);
    pricer_network_free(network);
    return status;
}

static double error_of(const struct sweep *sweep, bool own, bool noise)
{
    const struct pricer_error *error = own ? &sweep->own : &sweep->paper;
    return noise ? error->piv : error->mse_worst_case;
}

/* "falls with every hop", or at which hops it does not; `own` is our plan's,
 * `noise` the variance from noise instead of the error. */
static void say_where(const struct sweep *sweeps, bool own, bool noise,
                      char *words, size_t room)
{
    int first = 0, last = 0;
    for (int k = 1; k < HOPS; k++) {
        if (error_of(&sweeps[k], own, noise) <=
            error_of(&sweeps[k - 1], own, noise) * (1 + 1e-9))
            continue;
        first = first == 0 ? k : first;
        last = k;
    }
    if (first == 0)
        snprintf(words, room, "falls with every hop");
    else if (first == last)
        snprintf(words, room, "rises at k = %d", first);
    else
        snprintf(words, room, "rises between k = %d and %d", first - 1, last);
}

/* What the links to trusted and to other nodes weigh, one trusted hop. */
static void weight_row(struct reproduction *work, double p,
                       const struct sweep *one)
{
    struct reproduce_row row = {.part = "trust",
                                .paper = "small without trust",
                                .note = "mean over the links of each kind"};
    snprintf(row.what, sizeof row.what,
             "weight, trusted and not; k 1; p_c %.1f", p);
    snprintf(row.settings, sizeof row.settings, "%.3f and %.1e",
             one->paper_weights.trusted, one->paper_weights.others);
    snprintf(row.best, sizeof row.best, "%.3f and %.1e",
             one->own_weights.trusted, one->own_weights.others);
    reproduce_row(work, &row);
}

static void sweep_rows(struct reproduction *work, double p,
                       const struct sweep *sweeps)
{
    const struct sweep *none = &sweeps[0], *all = &sweeps[HOPS - 1];
    struct reproduce_row row = {.part = "trust", .paper = "falls with k"};
    char paper[48], own[48], note[160];
    say_where(sweeps, false, false, paper, sizeof paper);
    say_where(sweeps, true, false, own, sizeof own);
    snprintf(row.what, sizeof row.what, "worst-case MSE k 0 to 5; p_c %.1f", p);
    snprintf(row.settings, sizeof row.settings, "%.4f to %.4f",
             none->paper.mse_worst_case, all->paper.mse_worst_case);
    snprintf(row.best, sizeof row.best, "%.4f to %.4f",
             none->own.mse_worst_case, all->own.mse_worst_case);
    snprintf(note, sizeof note, "paper's settings: %s; ours: %s", paper, own);
    row.note = note;
    reproduce_row(work, &row);
    snprintf(row.what, sizeof row.what, "noise variance k 0 to 5; p_c %.1f", p);
    snprintf(row.settings, sizeof row.settings, "%.4f to %.4f", none->paper.piv,
             all->paper.piv);
    snprintf(row.best, sizeof row.best, "%.4f to %.4f", none->own.piv,
             all->own.piv);
    say_where(sweeps, false, true, paper, sizeof paper);
    say_where(sweeps, true, true, own, sizeof own);
    snprintf(note, sizeof note, "paper's settings: %s; ours: %s", paper, own);
    reproduce_row(work, &row);
    weight_row(work, p, &sweeps[1]);
}

static void write_line(FILE *csv, double p, int hops, const struct sweep *one)
{
    fprintf(csv,
            "%.17g,%d,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,"
            "%.17g\n",
            p, hops, one->paper.mse_worst_case, one->paper.piv,
            one->paper.bias_l1, one->own.mse_worst_case, one->own.piv,
            one->analytic.mse_worst_case, one->paper_weights.trusted,
            one->paper_weights.others, one->own_weights.trusted,
            one->own_weights.others);
}

static enum pricer_status sweep_all(struct reproduction *work, FILE *csv)
{
    static const double probabilities[] = {0.9, 0.1};
    struct sweep sweeps[HOPS];
    enum pricer_status status = PRICER_OK;
    for (int c = 0; c < 2 && status == PRICER_OK; c++) {
        for (int k = 0; k < HOPS && status == PRICER_OK; k++) {
            struct sweep *one = &sweeps[k];
            status = sweep_one(work, probabilities[c], k, one);
            if (status == PRICER_OK)
                write_line(csv, probabilities[c], k, one);
            if (status == PRICER_OK)
                status = reproduce_tick(work, (c * HOPS + k + 1.) / (2 * HOPS));
        }
        if (status == PRICER_OK)
            sweep_rows(work, probabilities[c], sweeps);
    }
    return status;
}

enum pricer_status reproduce_trust(struct reproduction *work)
{
    FILE *csv = NULL;
    enum pricer_status status = reproduce_write(work, "trust.yaml", scenario);
    if (status == PRICER_OK)
        status = reproduce_open(work, "trust.csv", &csv);
    if (status != PRICER_OK)
        return status;
    fputs("p_c,hops,mse,piv,bias,own_mse,own_piv,own_mse_analytic,"
          "weight_trusted,weight_others,own_weight_trusted,own_weight_others\n",
          csv);
    status = sweep_all(work, csv);
    status = reproduce_close(work, "trust.csv", csv, status);
    if (status == PRICER_OK)
        status = reproduce_plot(work, "trust", plot);
    if (status == PRICER_OK)
        status = reproduce_plot(work, "weights", weights_plot);
    return status;
}
