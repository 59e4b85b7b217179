/*
 * From the quadratic model of one Newton step to its solution.
 *
 * The system couples the worth of a node with the prices of its relays, a
 * weighted graph Laplacian on 2 nodes + 1 unknowns with something positive on
 * the diagonal. Conjugate gradients solve it without forming it: one pass over
 * the neighbour lists a step. The preconditioner inverts the 2 x 2 blocks
 * (worth, price) of the nodes, which hold the own links however steep they are,
 * and the arrow that joins all prices to the sum multiplier. Small networks are
 * solved by a dense Cholesky factorisation instead, which takes any scaling.
 */
#include "optimise.h"

#include <stdlib.h>
#include <string.h>

bool pri_system_new(const struct pri_problem *problem,
                    struct pri_system *system)
{
    int64_t nodes = problem->nodes;
    *system = (struct pri_system){.problem = problem};
    system->own = pri_alloc(nodes, sizeof(double));
    system->bend = pri_alloc(nodes, sizeof(double));
    system->ease = pri_alloc(nodes, sizeof(double));
    system->block = pri_alloc(3 * nodes, sizeof(double));
    system->arrow = pri_alloc(2 * nodes, sizeof(double));
    system->residual = pri_alloc(2 * nodes, sizeof(double));
    system->direction = pri_alloc(2 * nodes, sizeof(double));
    system->product = pri_alloc(2 * nodes, sizeof(double));
    if (!system->own || !system->bend || !system->ease || !system->block ||
        !system->arrow || !system->residual || !system->direction ||
        !system->product)
        return false;
    if (nodes <= PRI_DENSE_NODES) {
        system->exact = pri_alloc(3 * (int64_t)problem->arcs, sizeof(double));
        system->dense =
            pri_alloc((2 * nodes + 1) * (2 * nodes + 2), sizeof(long double));
        if (!system->dense || !system->exact)
            return false;
    }
    for (int32_t i = 0; i < nodes; i++) {
        double crowd = problem->crowd[i];
        bool loose = crowd > 0 && crowd < INFINITY;
        system->ease[i] = loose ? 1 / (2 * crowd) : 0;
    }
    return true;
}

void pri_system_free(struct pri_system *system)
{
    free(system->own);
    free(system->bend);
    free(system->ease);
    free(system->block);
    free(system->arrow);
    free(system->residual);
    free(system->direction);
    free(system->product);
    free(system->exact);
    free(system->dense);
}

/* ---------------------------------------------------------------- product --
 */

/* product = matrix times direction; tallies their dot product and the parts
 * that belong to the sum multiplier. */
static void multiply(void *context, int32_t low, int32_t high,
                     struct pri_tally *tally)
{
    struct pri_system *system = context;
    const struct pri_problem *problem = system->problem;
    const double *direction = system->direction;
    const struct pri_entry *entry = problem->entry;
    double sum = system->direction_sum, dot = 0, part = 0;
    for (int32_t i = low; i < high; i++) {
        double worth = direction[2 * i], price = direction[2 * i + 1];
        double own = system->own[i] * (worth - price), leave = own, carry = own;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            const double *other = &direction[2 * (int64_t)entry[l].to];
            double out = worth - other[1], in = other[0] - price;
            leave += (double)entry[l].out * out + (double)entry[l].both * in;
            carry += (double)entry[l].both * out + (double)entry[l].in * in;
        }
        double lean = system->ease[i] * (price - sum);
        uint8_t kind = problem->kind[i];
        leave = kind & PRI_WORTH_FIXED ? 0 : leave + system->bend[i] * worth;
        carry = kind & PRI_PRICE_FIXED ? 0 : lean - carry;
        part -= lean;
        if (kind & PRI_PRICE_TIED) {
            part += carry;
            carry = 0;
        }
        system->product[2 * i] = leave;
        system->product[2 * i + 1] = carry;
        dot += leave * worth + carry * price;
    }
    tally->sum[0] += dot;
    tally->sum[1] += part;
}

/* --------------------------------------------------------- preconditioner --
 */

/*
 * Invert the diagonal block of one node, [a, -o; -o, c], with a and c both
 * containing the answer of the own link, which may exceed all else by far: the
 * determinant is formed without it. `left` receives what remains of the price's
 * diagonal, without its ease, when the worth is eliminated.
 */
static void invert_block(double own, double out, double both, double in,
                         double ease, uint8_t kind, double inverse[3],
                         double *left)
{
    double a = own + out, o = own + both, c = own + in;
    double ratio = a > 0 && !(kind & PRI_WORTH_FIXED) ? o / a : 0;
    double rest = c;
    inverse[0] = inverse[1] = inverse[2] = 0;
    if (!(kind & PRI_WORTH_FIXED) && a > 0) {
        rest = fmax(0, in + (own * (out - 2 * both) - both * both) / a);
        inverse[0] = 1 / a;
    }
    *left = rest;
    if (kind & (PRI_PRICE_TIED | PRI_PRICE_FIXED) || !(rest + ease > 0))
        return;
    inverse[2] = 1 / (rest + ease);
    inverse[1] = ratio * inverse[2];
    inverse[0] += ratio * inverse[1];
}

static void prepare_blocks(void *context, int32_t low, int32_t high,
                           struct pri_tally *tally)
{
    struct pri_system *system = context;
    const struct pri_problem *problem = system->problem;
    for (int32_t i = low; i < high; i++) {
        double *block = &system->block[3 * (int64_t)i];
        double *arrow = &system->arrow[2 * (int64_t)i], left;
        double own = system->own[i], ease = system->ease[i];
        double out = block[0] + system->bend[i], both = block[1];
        uint8_t kind = problem->kind[i];
        invert_block(own, out, both, block[2], ease, kind, block, &left);
        if (kind & PRI_PRICE_TIED) {
            arrow[0] = -(own + both) * block[0];
            arrow[1] = 0;
            tally->sum[0] += left;
        } else {
            arrow[0] = -ease * block[1];
            arrow[1] = -ease * block[2];
            tally->sum[0] += ease * (left * block[2]);
        }
    }
}

/* ------------------------------------------------------------------ dense --
 */

/* Where an unknown stands in the dense matrix, or -1. */
static int32_t worth_place(const struct pri_problem *problem, int32_t i)
{
    return problem->kind[i] & PRI_WORTH_FIXED ? -1 : 2 * i;
}

static int32_t price_place(const struct pri_problem *problem, int32_t i)
{
    if (problem->kind[i] & PRI_PRICE_FIXED)
        return -1;
    if (problem->kind[i] & PRI_PRICE_TIED)
        return problem->summed ? 2 * problem->nodes : -1;
    return 2 * i + 1;
}

static void add_dense(const struct pri_system *system, int32_t row,
                      int32_t column, double value)
{
    int64_t size = 2 * (int64_t)system->problem->nodes + 1;
    if (row >= 0 && column >= 0)
        system->dense[row * size + column] += value;
}

/* The rows that belong to node i, as in multiply(). */
static void add_rows(const struct pri_system *system, int32_t i)
{
    const struct pri_problem *problem = system->problem;
    int32_t worth = worth_place(problem, i), price = price_place(problem, i);
    int32_t sum = problem->summed ? 2 * problem->nodes : -1;
    double own = system->own[i], ease = system->ease[i];
    add_dense(system, worth, worth, own + system->bend[i]);
    add_dense(system, worth, price, -own);
    add_dense(system, price, worth, -own);
    add_dense(system, price, price, own + ease);
    add_dense(system, price, sum, -ease);
    add_dense(system, sum, price, -ease);
    add_dense(system, sum, sum, ease);
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
        int32_t to = problem->entry[l].to;
        int32_t worth_to = worth_place(problem, to);
        int32_t price_to = price_place(problem, to);
        const double *exact = &system->exact[3 * (int64_t)l];
        add_dense(system, worth, worth, exact[0]);
        add_dense(system, worth, price_to, -exact[0]);
        add_dense(system, worth, worth_to, exact[1]);
        add_dense(system, worth, price, -exact[1]);
        add_dense(system, price, worth, -exact[1]);
        add_dense(system, price, price_to, exact[1]);
        add_dense(system, price, worth_to, -exact[2]);
        add_dense(system, price, price, exact[2]);
    }
}

/* Cholesky in place, lower triangle. A pivot lost to rounding leaves its
 * unknown at zero. */
static void factor(long double *matrix, int64_t size)
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

static void prepare_dense(struct pri_system *system)
{
    int32_t nodes = system->problem->nodes;
    int64_t size = 2 * (int64_t)nodes + 1;
    memset(system->dense, 0, (size_t)(size * size) * sizeof(long double));
    for (int32_t i = 0; i < nodes; i++)
        add_rows(system, i);
    if (system->problem->summed)
        system->dense[size * size - 1] += 0.5;
    factor(system->dense, size);
}

static void solve_dense(struct pri_system *system, const double *right,
                        double right_sum, double *solution,
                        double *solution_sum)
{
    const struct pri_problem *problem = system->problem;
    int64_t size = 2 * (int64_t)problem->nodes + 1;
    const long double *matrix = system->dense;
    long double *x = system->dense + size * size;
    for (int64_t i = 0; i < size - 1; i++)
        x[i] = right[i];
    x[size - 1] = problem->summed ? right_sum : 0;
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
    for (int64_t i = 0; i < size - 1; i++)
        solution[i] = (double)x[i];
    *solution_sum = (double)x[size - 1];
    for (int32_t i = 0; i < problem->nodes; i++)
        if (problem->kind[i] & PRI_PRICE_TIED)
            solution[2 * i + 1] = *solution_sum;
}

/* ------------------------------------------------------------------ solve --
 */

void pri_system_prepare(struct pri_system *system)
{
    struct pri_tally total;
    if (system->dense != NULL) {
        prepare_dense(system);
        return;
    }
    pri_sweep(system->problem, prepare_blocks, system, &total);
    system->schur = 0.5 + total.sum[0];
}

/* r -= alpha A p, x += alpha p; tallies r.P^-1 r without the sum's part, and
 * what the sum's part needs. */
static void advance(void *context, int32_t low, int32_t high,
                    struct pri_tally *tally)
{
    struct pri_system *system = context;
    double *residual = system->residual, *solution = system->solution;
    double alpha = system->alpha, dot = 0, cross = 0;
    for (int32_t i = low; i < high; i++) {
        const double *block = &system->block[3 * (int64_t)i];
        for (int64_t k = 2 * (int64_t)i; k < 2 * (int64_t)i + 2; k++) {
            solution[k] += alpha * system->direction[k];
            residual[k] -= alpha * system->product[k];
        }
        double *r = &residual[2 * (int64_t)i];
        const double *arrow = &system->arrow[2 * (int64_t)i];
        dot += r[0] * (block[0] * r[0] + block[1] * r[1]) +
               r[1] * (block[1] * r[0] + block[2] * r[1]);
        cross += arrow[0] * r[0] + arrow[1] * r[1];
    }
    tally->sum[0] += dot;
    tally->sum[1] += cross;
}

/* p = P^-1 r + beta p. */
static void turn(void *context, int32_t low, int32_t high,
                 struct pri_tally *tally)
{
    struct pri_system *system = context;
    const uint8_t *kind = system->problem->kind;
    double beta = system->beta, shift = system->shift;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        const double *block = &system->block[3 * (int64_t)i];
        const double *arrow = &system->arrow[2 * (int64_t)i];
        const double *r = &system->residual[2 * (int64_t)i];
        double *p = &system->direction[2 * (int64_t)i];
        p[0] =
            block[0] * r[0] + block[1] * r[1] - arrow[0] * shift + beta * p[0];
        p[1] =
            block[1] * r[0] + block[2] * r[1] - arrow[1] * shift + beta * p[1];
        if (kind[i] & PRI_PRICE_TIED)
            p[1] = system->direction_sum;
    }
}

/* The sum's part of P^-1 r; returns r.P^-1 r. */
static double precondition(struct pri_system *system,
                           const struct pri_tally *total)
{
    system->shift = 0;
    if (!system->problem->summed)
        return total->sum[0];
    system->shift = (system->residual_sum - total->sum[1]) / system->schur;
    return total->sum[0] + system->shift * system->shift * system->schur;
}

bool pri_system_solve(struct pri_system *system, const double *right,
                      double right_sum, double relative, int32_t most,
                      double *solution, double *solution_sum)
{
    const struct pri_problem *problem = system->problem;
    size_t bytes = 2 * (size_t)problem->nodes * sizeof(double);
    if (system->dense != NULL) {
        solve_dense(system, right, right_sum, solution, solution_sum);
        return true;
    }
    struct pri_tally total;
    double sum = 0, size, first;
    memcpy(system->residual, right, bytes);
    memset(solution, 0, bytes);
    memset(system->direction, 0, bytes);
    system->residual_sum = problem->summed ? right_sum : 0;
    system->solution = solution;
    system->alpha = 0;
    system->beta = 0;
    system->direction_sum = 0;
    pri_sweep(problem, advance, system, &total);
    first = size = precondition(system, &total);
    for (int32_t step = 0; step < most && size > 0; step++) {
        system->direction_sum =
            system->shift + system->beta * system->direction_sum;
        pri_sweep(problem, turn, system, NULL);
        pri_sweep(problem, multiply, system, &total);
        double own = 0.5 * system->direction_sum + total.sum[1];
        double curve = total.sum[0];
        if (problem->summed) {
            system->product_sum = own;
            curve += own * system->direction_sum;
        }
        if (!(curve > 0))
            break;
        system->alpha = size / curve;
        sum += system->alpha * system->direction_sum;
        system->residual_sum -= system->alpha * system->product_sum;
        pri_sweep(problem, advance, system, &total);
        double next = precondition(system, &total);
        system->steps++;
        system->beta = next / size;
        size = next;
        if (!(size > relative * relative * first))
            break;
    }
    *solution_sum = sum;
    return isfinite(size);
}
