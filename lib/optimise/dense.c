/*
 * The same systems as system.c by a dense Cholesky factorisation, for
 * small networks: in long double, so that links whose costs differ by fifteen
 * orders of magnitude may meet in one node.
 */
#include "system.h"

#include <string.h>

bool pri_system_densify(struct pri_system *system)
{
    const struct pri_problem *problem = system->problem;
    int64_t size = 2 * (int64_t)problem->nodes + 1;
    system->exact = pri_alloc(3 * (int64_t)problem->arcs, sizeof(double));
    system->dense = pri_alloc(size * (size + 1), sizeof(long double));
    return system->exact != NULL && system->dense != NULL;
}

/* Where an unknown stands in the dense matrix, or -1. */
static int32_t gain_place(const struct pri_system *system, int32_t i)
{
    return system->kind[i] & PRI_GAIN_FIXED ? -1 : 2 * i;
}

static int32_t price_place(const struct pri_system *system, int32_t i)
{
    const struct pri_problem *problem = system->problem;
    if (system->kind[i] & PRI_PRICE_FIXED)
        return -1;
    if (system->kind[i] & PRI_PRICE_TIED)
        return system->cg.summed ? 2 * problem->nodes : -1;
    return system->kind[i] & PRI_PRICE_OWN ? 2 * i : 2 * i + 1;
}

static void add(const struct pri_system *system, int32_t row, int32_t column,
                double value)
{
    int64_t size = 2 * (int64_t)system->problem->nodes + 1;
    if (row >= 0 && column >= 0)
        system->dense[row * size + column] += value;
}

/* The rows that belong to node i. */
static void add_rows(const struct pri_system *system, int32_t i)
{
    const struct pri_problem *problem = system->problem;
    int32_t gain = gain_place(system, i), price = price_place(system, i);
    int32_t sum = system->cg.summed ? 2 * problem->nodes : -1;
    double own = system->own[i], ease = system->ease[i];
    add(system, gain, gain, own + system->curvature[i]);
    add(system, gain, price, -own);
    add(system, price, gain, -own);
    add(system, price, price, own + ease);
    add(system, price, sum, -ease);
    add(system, sum, price, -ease);
    add(system, sum, sum, ease);
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
        int32_t to = problem->to[l];
        int32_t gain_to = gain_place(system, to);
        int32_t price_to = price_place(system, to);
        const double *exact = &system->exact[3 * (int64_t)l];
        add(system, gain, gain, exact[0]);
        add(system, gain, price_to, -exact[0]);
        add(system, gain, gain_to, exact[1]);
        add(system, gain, price, -exact[1]);
        add(system, price, gain, -exact[1]);
        add(system, price, price_to, exact[1]);
        add(system, price, gain_to, -exact[2]);
        add(system, price, price, exact[2]);
    }
}

/* Cholesky in place, lower triangle, with inverses on the diagonal. A pivot
 * lost to rounding leaves its unknown at zero. */
void pri_cholesky(long double *matrix, int64_t size)
{
    for (int64_t j = 0; j < size; j++) {
        long double *row = &matrix[j * size], pivot = row[j];
        for (int64_t k = 0; k < j; k++)
            pivot -= row[k] * row[k];
        bool lost = !(pivot > 1e-18L * row[j]);
        long double inverse = lost ? 0 : 1 / sqrtl(pivot);
        row[j] = inverse;
        for (int64_t i = j + 1; i < size; i++) {
            long double *lower = &matrix[i * size], value = lower[j];
            for (int64_t k = 0; k < j; k++)
                value -= lower[k] * row[k];
            lower[j] = value * inverse;
        }
    }
}

void pri_cholesky_solve(const long double *matrix, int64_t size, long double *x)
{
    for (int64_t i = 0; i < size; i++) {
        for (int64_t k = 0; k < i; k++)
            x[i] -= matrix[i * size + k] * x[k];
        x[i] *= matrix[i * size + i];
    }
    for (int64_t i = size - 1; i >= 0; i--) {
        x[i] *= matrix[i * size + i];
        for (int64_t k = 0; k < i; k++)
            x[k] -= matrix[i * size + k] * x[i];
    }
}

void pri_dense_prepare(struct pri_system *system)
{
    int32_t nodes = system->problem->nodes;
    int64_t size = 2 * (int64_t)nodes + 1;
    memset(system->dense, 0, (size_t)(size * size) * sizeof *system->dense);
    for (int32_t i = 0; i < nodes; i++)
        add_rows(system, i);
    if (system->cg.summed)
        system->dense[size * size - 1] += 0.5;
    pri_cholesky(system->dense, size);
}

void pri_dense_solve(struct pri_system *system, const double *right,
                     double right_sum, struct pri_point *solution)
{
    const struct pri_problem *problem = system->problem;
    int64_t size = 2 * (int64_t)problem->nodes + 1;
    const long double *matrix = system->dense;
    long double *x = system->dense + size * size;
    for (int64_t i = 0; i < size - 1; i++)
        x[i] = right[i];
    x[size - 1] = system->cg.summed ? right_sum : 0;
    pri_cholesky_solve(matrix, size, x);
    solution->sum = (double)x[size - 1];
    for (int32_t i = 0; i < problem->nodes; i++) {
        double *dual = &solution->dual[2 * (int64_t)i];
        dual[0] = (double)x[2 * i];
        dual[1] = (double)x[2 * i + 1];
        if (system->kind[i] & PRI_PRICE_TIED)
            dual[1] = solution->sum;
        else if (system->kind[i] & PRI_PRICE_OWN)
            dual[1] = dual[0];
    }
}
