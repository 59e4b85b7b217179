/*
 * From the quadratic model of one step with server budgets to its solution.
 *
 * As system.c, with a third unknown a node. Conjugate gradients with the
 * 3 x 3 blocks of the nodes, the arrow that joins prices to the sum multiplier
 * and the direction in which gains, prices and sum move together; or, for small
 * networks, Cholesky factors in long double.
 */
#include "server.h"
#include "system.h"

#include <stdlib.h>

bool pri_server_system_new(const struct pri_server *server, bool dense,
                           struct pri_server_system *system)
{
    const struct pri_problem *problem = server->problem;
    int64_t nodes = problem->nodes, size = 3 * nodes + 1;
    *system = (struct pri_server_system){.server = server, .dense = dense};
    if (dense) {
        system->exact = pri_alloc(5 * (int64_t)problem->arcs, sizeof(double));
        system->matrix = pri_alloc(size * (size + 1), sizeof(long double));
    } else {
        system->entry = pri_alloc(problem->arcs, sizeof *system->entry);
    }
    system->least = 1e-5;
    system->kind = pri_alloc(nodes, sizeof(uint8_t));
    system->until = pri_alloc(nodes, sizeof(int32_t));
    system->own = pri_alloc(nodes, sizeof(double));
    system->own_lean = pri_alloc(nodes, sizeof(double));
    system->curvature = pri_alloc(nodes, sizeof(double));
    system->ease = pri_alloc(nodes, sizeof(double));
    system->spread = pri_alloc(nodes, sizeof(double));
    system->block = pri_alloc(6 * nodes, sizeof(double));
    system->arrow = pri_alloc(3 * nodes, sizeof(double));
    if (!(dense ? system->exact && system->matrix : system->entry != NULL) ||
        !system->kind || !system->until || !system->own || !system->own_lean ||
        !system->curvature || !system->ease || !system->spread ||
        !system->block || !system->arrow ||
        !pri_conjugate_new(problem, 3, &system->cg))
        return false;
    for (int32_t i = 0; i < nodes; i++) {
        double crowd = problem->crowd[i];
        bool loose = crowd > 0 && crowd < INFINITY;
        system->ease[i] = loose ? 1 / (2 * crowd) : 0;
        system->kind[i] = problem->kind[i];
        if (!server->bound[i])
            system->kind[i] |= PRI_NO_BUDGET;
    }
    return true;
}

void pri_server_system_free(struct pri_server_system *system)
{
    free(system->exact);
    free(system->matrix);
    free(system->entry);
    free(system->kind);
    free(system->until);
    free(system->own);
    free(system->own_lean);
    free(system->curvature);
    free(system->ease);
    free(system->spread);
    free(system->block);
    free(system->arrow);
    pri_conjugate_free(&system->cg);
}

/* Which of gain, price and k of node i are unknowns. */
static void unknowns(const struct pri_server_system *system, int32_t i,
                     bool moves[3])
{
    uint8_t kind = system->kind[i];
    moves[0] = !(kind & PRI_GAIN_FIXED);
    moves[1] = !(kind & (PRI_PRICE_FIXED | PRI_PRICE_TIED));
    moves[2] = !(kind & PRI_NO_BUDGET);
}

/* ----------------------------------------------------------------- dense -- */

/* A linear form: its unknowns (-1: none) and coefficients. */
struct form {
    int32_t place[3];
    double value[3];
};

/* z of a link from i to j. */
static struct form form_of(const struct pri_server_system *system, int32_t i,
                           int32_t j, double lean)
{
    const struct pri_server *server = system->server;
    const struct pri_problem *problem = server->problem;
    bool here[3], there[3];
    unknowns(system, i, here);
    unknowns(system, j, there);
    int32_t price = there[1] ? 3 * j + 1 : -1;
    if (system->kind[j] & PRI_PRICE_TIED && system->cg.summed)
        price = 3 * problem->nodes;
    return (struct form){
        {here[0] ? 3 * i : -1, price, here[2] ? 3 * i + 2 : -1},
        {1, -1, -lean}};
}

/* Add scale a b^T to the matrix. */
static void add_forms(struct pri_server_system *system, const struct form *a,
                      const struct form *b, double scale)
{
    int64_t size = 3 * (int64_t)system->server->problem->nodes + 1;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            if (a->place[r] >= 0 && b->place[c] >= 0)
                system->matrix[a->place[r] * size + b->place[c]] +=
                    (long double)scale * a->value[r] * b->value[c];
}

static void add_diagonal(struct pri_server_system *system, int32_t i)
{
    const struct pri_problem *problem = system->server->problem;
    struct form own = form_of(system, i, i, system->own_lean[i]);
    struct form gain = {{own.place[0], -1, -1}, {1, 0, 0}};
    struct form k = {{own.place[2], -1, -1}, {1, 0, 0}};
    struct form lean = {{own.place[1], -1, -1}, {1, -1, 0}};
    if (system->cg.summed)
        lean.place[1] = 3 * problem->nodes;
    add_forms(system, &own, &own, system->own[i]);
    add_forms(system, &gain, &gain, system->curvature[i]);
    add_forms(system, &k, &k, system->spread[i]);
    add_forms(system, &lean, &lean, system->ease[i]);
}

static void prepare_dense(struct pri_server_system *system)
{
    const struct pri_problem *problem = system->server->problem;
    int64_t size = 3 * (int64_t)problem->nodes + 1;
    memset(system->matrix, 0, (size_t)(size * size) * sizeof *system->matrix);
    for (int32_t i = 0; i < problem->nodes; i++) {
        add_diagonal(system, i);
        for (int32_t l = problem->upper[i]; l < problem->start[i + 1]; l++) {
            const double *exact = &system->exact[5 * (int64_t)l];
            int32_t to = problem->to[l];
            struct form out = form_of(system, i, to, exact[3]);
            struct form in = form_of(system, to, i, exact[4]);
            add_forms(system, &out, &out, exact[0]);
            add_forms(system, &out, &in, exact[1]);
            add_forms(system, &in, &out, exact[1]);
            add_forms(system, &in, &in, exact[2]);
        }
    }
    if (system->cg.summed)
        system->matrix[size * size - 1] += 0.5L;
    pri_cholesky(system->matrix, size);
}

static void solve_dense(struct pri_server_system *system, const double *right,
                        double right_sum, double *solution, double *sum)
{
    const struct pri_problem *problem = system->server->problem;
    int64_t size = 3 * (int64_t)problem->nodes + 1;
    long double *x = system->matrix + size * size;
    for (int64_t i = 0; i < size - 1; i++)
        x[i] = right[i];
    x[size - 1] = system->cg.summed ? right_sum : 0;
    pri_cholesky_solve(system->matrix, size, x);
    *sum = (double)x[size - 1];
    for (int64_t i = 0; i < size - 1; i++)
        solution[i] = (double)x[i];
    for (int32_t i = 0; i < problem->nodes; i++)
        if (system->kind[i] & PRI_PRICE_TIED)
            solution[3 * (int64_t)i + 1] = *sum;
}

/* --------------------------------------------------------------- product -- */

/* What shares and parts answer to the direction, without the own links. */
static void multiply_pairs(struct pri_server_system *system, int32_t low,
                           int32_t high)
{
    const struct pri_server_entry *entry = system->entry;
    const double *direction = system->cg.direction;
    double *product = system->cg.product;
    int32_t l = system->server->problem->start[low];
    memset(&product[3 * (int64_t)low], 0,
           3 * (size_t)(high - low) * sizeof(double));
    for (int32_t i = low; i < high; i++) {
        const double *here = &direction[3 * (int64_t)i];
        double *mine = &product[3 * (int64_t)i], sums[3] = {0, 0, 0};
        for (; l < system->until[i]; l++) {
            const struct pri_server_entry *e = &entry[l];
            int64_t to = e->to;
            const double *there = &direction[3 * to];
            double z_out = here[0] - there[1] - (double)e->lean_out * here[2];
            double z_in = there[0] - here[1] - (double)e->lean_in * there[2];
            double out = (double)e->out * z_out + (double)e->both * z_in;
            double in = (double)e->both * z_out + (double)e->in * z_in;
            sums[0] += out;
            sums[1] -= in;
            sums[2] -= (double)e->lean_out * out;
            if (to >= low && to < high) {
                double *other = &product[3 * to];
                other[0] += in;
                other[1] -= out;
                other[2] -= (double)e->lean_in * in;
            }
        }
        for (int k = 0; k < 3; k++)
            mine[k] += sums[k];
    }
}

/* product = matrix times direction; tallies their dot product (0) and the parts
 * that belong to the sum multiplier (1). */
static void multiply(void *context, int32_t low, int32_t high,
                     struct pri_sweep_sums *tally)
{
    struct pri_server_system *system = context;
    double sum = system->cg.direction_sum, dot = 0, part = 0;
    multiply_pairs(system, low, high);
    for (int32_t i = low; i < high; i++) {
        const double *d = &system->cg.direction[3 * (int64_t)i];
        double *product = &system->cg.product[3 * (int64_t)i];
        double lean = system->own_lean[i];
        double own = system->own[i] * (d[0] - d[1] - lean * d[2]);
        double rise = system->ease[i] * (d[1] - sum);
        bool moves[3];
        unknowns(system, i, moves);
        product[0] += own + system->curvature[i] * d[0];
        product[1] += rise - own;
        product[2] += system->spread[i] * d[2] - lean * own;
        part -= rise;
        if (system->kind[i] & PRI_PRICE_TIED)
            part += product[1];
        for (int k = 0; k < 3; k++) {
            product[k] = moves[k] ? product[k] : 0;
            dot += product[k] * d[k];
        }
    }
    tally->sum[0] += dot;
    tally->sum[1] += part;
}

/* -------------------------------------------------------- preconditioner -- */

/* Invert a symmetric 3 x 3 matrix in place; unknowns that do not move, or whose
 * pivot is lost to rounding, get zeros. */
static void invert(long double m[3][3], const bool moves[3])
{
    long double factor[3][3] = {{0}}, inverse[3][3] = {{0}};
    for (int j = 0; j < 3; j++) {
        long double pivot = m[j][j];
        for (int k = 0; k < j; k++)
            pivot -= factor[j][k] * factor[j][k];
        bool lost = !moves[j] || !(pivot > 1e-17L * m[j][j]);
        long double scale = lost ? 0 : 1 / sqrtl(pivot);
        for (int i = j + 1; i < 3 && !lost; i++) {
            long double value = m[i][j];
            for (int k = 0; k < j; k++)
                value -= factor[i][k] * factor[j][k];
            factor[i][j] = moves[i] ? value * scale : 0;
        }
        /* row j of the inverse of the factor */
        for (int c = 0; c <= j; c++) {
            long double value = c == j;
            for (int k = c; k < j; k++)
                value -= factor[j][k] * inverse[k][c];
            inverse[j][c] = value * scale;
        }
    }
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            m[r][c] = 0;
            for (int k = 0; k < 3; k++)
                m[r][c] += inverse[k][r] * inverse[k][c];
        }
}

static void prepare_blocks(void *context, int32_t low, int32_t high,
                           struct pri_sweep_sums *tally)
{
    struct pri_server_system *system = context;
    for (int32_t i = low; i < high; i++) {
        double *b = &system->block[6 * (int64_t)i];
        double *arrow = &system->arrow[3 * (int64_t)i];
        long double own = system->own[i], lean = system->own_lean[i];
        long double ease = system->ease[i];
        bool tied = system->kind[i] & PRI_PRICE_TIED, moves[3];
        unknowns(system, i, moves);
        long double m[3][3] = {
            {b[0] + own + system->curvature[i], b[1] - own, b[2] - lean * own},
            {b[1] - own, b[3] + own + ease, b[4] + lean * own},
            {b[2] - lean * own, b[4] + lean * own,
             b[5] + lean * lean * own + system->spread[i]}};
        long double column[3] = {0, -ease, 0}, rest = ease;
        if (tied) {
            column[0] = m[0][1];
            column[1] = 0;
            column[2] = m[2][1];
            rest = m[1][1];
        }
        invert(m, moves);
        for (int r = 0; r < 3; r++) {
            long double value = 0;
            for (int c = 0; c < 3; c++)
                value += m[r][c] * column[c];
            arrow[r] = (double)value;
            rest -= value * column[r];
        }
        b[0] = (double)m[0][0];
        b[1] = (double)m[0][1];
        b[2] = (double)m[0][2];
        b[3] = (double)m[1][1];
        b[4] = (double)m[1][2];
        b[5] = (double)m[2][2];
        tally->sum[0] += pri_most(0, (double)rest);
    }
}

static void apply_block(const double b[6], const double r[3], double out[3])
{
    out[0] = b[0] * r[0] + b[1] * r[1] + b[2] * r[2];
    out[1] = b[1] * r[0] + b[3] * r[1] + b[4] * r[2];
    out[2] = b[2] * r[0] + b[4] * r[1] + b[5] * r[2];
}

/* ----------------------------------------------------------------- solve -- */

/* r -= alpha A p, x += alpha p; tallies r.P^-1 r without the sum's part (0),
 * and what the sum's part (1) and the common direction (2) need. */
static void advance(void *context, int32_t low, int32_t high,
                    struct pri_sweep_sums *tally)
{
    struct pri_server_system *system = context;
    double alpha = system->cg.alpha, dot = 0, cross = 0, all = 0;
    for (int64_t i = low; i < high; i++) {
        const double *arrow = &system->arrow[3 * i];
        double *r = &system->cg.residual[3 * i], solved[3];
        for (int k = 0; k < 3; k++) {
            system->cg.solution[3 * i + k] +=
                alpha * system->cg.direction[3 * i + k];
            r[k] -= alpha * system->cg.product[3 * i + k];
        }
        apply_block(&system->block[6 * i], r, solved);
        for (int k = 0; k < 3; k++) {
            dot += r[k] * solved[k];
            cross += arrow[k] * r[k];
        }
        all += r[0] + r[1];
    }
    tally->sum[0] += dot;
    tally->sum[1] += cross;
    tally->sum[2] += all;
}

/* p = P^-1 r + beta p. */
static void next_direction(void *context, int32_t low, int32_t high,
                           struct pri_sweep_sums *tally)
{
    struct pri_server_system *system = context;
    (void)tally;
    for (int64_t i = low; i < high; i++) {
        const double *arrow = &system->arrow[3 * i];
        double *p = &system->cg.direction[3 * i], solved[3];
        bool moves[3];
        apply_block(&system->block[6 * i], &system->cg.residual[3 * i], solved);
        unknowns(system, (int32_t)i, moves);
        for (int k = 0; k < 3; k++) {
            double step = solved[k] - arrow[k] * system->cg.shift +
                          (k < 2 ? system->cg.lift : 0);
            p[k] = moves[k] ? step + system->cg.beta * p[k] : 0;
        }
        if (system->kind[i] & PRI_PRICE_TIED)
            p[1] = system->cg.direction_sum;
    }
}

static const struct pri_passes PASSES = {prepare_blocks, multiply, advance,
                                         next_direction};

void pri_server_prepare(struct pri_server_system *system)
{
    if (system->dense)
        prepare_dense(system);
    else
        pri_conjugate_prepare(&system->cg, &PASSES, system);
}

bool pri_server_solve(struct pri_server_system *system, const double *right,
                      double right_sum, double relative, int32_t most,
                      double *solution, double *solution_sum)
{
    if (!system->dense)
        return pri_conjugate_solve(&system->cg, system, right, right_sum,
                                   relative, most, solution, solution_sum);
    solve_dense(system, right, right_sum, solution, solution_sum);
    return true;
}
