/*
 * The exact planner next to Ipopt (interior point, MUMPS) on dense random
 * networks, both to 1e-8, one core.
 *
 * Ipopt gets the formulation that suits it best: sums as variables, a constant
 * sparse Hessian with 2 x 2 blocks, linear constraints declared as such, a
 * feasible start, and Mehrotra's algorithm, made for convex quadratic
 * programs. Its time is that of the solve alone. The first argument is the
 * largest n, 100 if there is none; 200 takes minutes.
 */
#include "dense.h"
#include "ours.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <IpStdCInterface.h>

static Bool value_at(Index n, Number *x, Bool fresh, Number *value,
                     UserDataPtr data)
{
    (void)n;
    (void)fresh;
    *value = program_value(data, x);
    return TRUE;
}

static Bool slope_at(Index n, Number *x, Bool fresh, Number *slope,
                     UserDataPtr data)
{
    const struct program *program = data;
    (void)fresh;
    for (Index k = 0; k < n; k++)
        slope[k] = 2 * program->square[k] * x[k] + program->linear[k];
    for (int k = 0; k < program->crosses; k++) {
        int a = program->cross_a[k], b = program->cross_b[k];
        slope[a] += program->cross[k] * x[b];
        slope[b] += program->cross[k] * x[a];
    }
    return TRUE;
}

static Bool rows_at(Index n, Number *x, Bool fresh, Index m, Number *rows,
                    UserDataPtr data)
{
    const struct program *program = data;
    (void)n;
    (void)fresh;
    memset(rows, 0, (size_t)m * sizeof *rows);
    for (int k = 0; k < program->entries; k++)
        rows[program->row[k]] += program->value[k] * x[program->column[k]];
    return TRUE;
}

static Bool jacobian_at(Index n, Number *x, Bool fresh, Index m, Index entries,
                        Index *row, Index *column, Number *value,
                        UserDataPtr data)
{
    const struct program *program = data;
    (void)n;
    (void)x;
    (void)fresh;
    (void)m;
    for (Index k = 0; k < entries; k++) {
        if (value != NULL) {
            value[k] = program->value[k];
        } else {
            row[k] = program->row[k];
            column[k] = program->column[k];
        }
    }
    return TRUE;
}

/* The lower triangle: the diagonal, then the crosses. */
static Bool hessian_at(Index n, Number *x, Bool fresh, Number factor, Index m,
                       Number *multiplier, Bool fresh_multiplier, Index entries,
                       Index *row, Index *column, Number *value,
                       UserDataPtr data)
{
    const struct program *program = data;
    (void)x;
    (void)fresh;
    (void)m;
    (void)multiplier;
    (void)fresh_multiplier;
    for (Index k = 0; k < entries; k++) {
        bool square = k < n;
        int c = square ? 0 : k - n;
        if (value != NULL) {
            value[k] =
                factor * (square ? 2 * program->square[k] : program->cross[c]);
        } else {
            row[k] = square ? k : program->cross_b[c];
            column[k] = square ? k : program->cross_a[c];
        }
    }
    return TRUE;
}

static IpoptProblem prepare(struct program *program)
{
    int n = program->variables;
    double *upper = malloc((size_t)n * sizeof *upper);
    double *lower = malloc((size_t)n * sizeof *lower);
    double *row_lower = malloc((size_t)program->rows * sizeof *row_lower);
    if (!upper || !lower || !row_lower)
        exit(1);
    for (int k = 0; k < n; k++) {
        upper[k] = 2e19;
        lower[k] = fmax(program->lower[k], -2e19);
    }
    for (int k = 0; k < program->rows; k++)
        row_lower[k] = fmax(program->row_lower[k], -2e19);
    IpoptProblem problem = CreateIpoptProblem(
        n, lower, upper, program->rows, row_lower, program->row_upper,
        program->entries, n + program->crosses, 0, value_at, rows_at, slope_at,
        jacobian_at, hessian_at);
    free(lower);
    free(upper);
    free(row_lower);
    AddIpoptIntOption(problem, "print_level", 0);
    AddIpoptStrOption(problem, "sb", "yes");
    AddIpoptNumOption(problem, "tol", 1e-8);
    AddIpoptStrOption(problem, "nlp_scaling_method", "none");
    AddIpoptNumOption(problem, "bound_relax_factor", 0);
    AddIpoptStrOption(problem, "mehrotra_algorithm", "yes");
    AddIpoptStrOption(problem, "hessian_constant", "yes");
    AddIpoptStrOption(problem, "jac_c_constant", "yes");
    AddIpoptStrOption(problem, "jac_d_constant", "yes");
    return problem;
}

/* Seconds of the best of `runs` solves; *objective in the planner's units. */
static double time_ipopt(const struct dense *dense, struct bench_case which,
                         int runs, double *objective)
{
    struct program program = program_make(dense, which);
    double best = INFINITY, n = dense->network->nodes, value = NAN;
    double *x = malloc((size_t)program.variables * sizeof *x);
    if (x == NULL)
        exit(1);
    for (int run = 0; run < runs; run++) {
        IpoptProblem problem = prepare(&program);
        memcpy(x, program.start, (size_t)program.variables * sizeof *x);
        double start = bench_now();
        enum ApplicationReturnStatus status =
            IpoptSolve(problem, x, NULL, &value, NULL, NULL, NULL, &program);
        best = fmin(best, bench_now() - start);
        FreeIpoptProblem(problem);
        if (status != Solve_Succeeded && status != Solved_To_Acceptable_Level)
            fprintf(stderr, "Ipopt: n = %g, %s: status %d\n", n, which.name,
                    (int)status);
    }
    *objective = value / (n * n);
    free(x);
    program_free(&program);
    return best;
}

int main(int argc, char **argv)
{
    static const int32_t sizes[] = {10, 50, 100, 200};
    int largest = argc > 1 ? atoi(argv[1]) : 100;
    ours_heading("Ipopt");
    for (int k = 0; k < 4 && sizes[k] <= largest; k++) {
        struct dense dense = dense_make(sizes[k]);
        for (int c = 0; c < BENCH_CASES; c++) {
            struct bench_case which = bench_case_at(c, sizes[k]);
            double ours_value, rival_value;
            double ours = ours_time(&dense, which, &ours_value);
            double rival =
                time_ipopt(&dense, which, sizes[k] < 200 ? 3 : 1, &rival_value);
            ours_row(sizes[k], which, ours, rival, ours_value, rival_value);
        }
        dense_free(&dense);
    }
    return 0;
}
