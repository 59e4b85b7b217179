/*
 * From the quadratic model of one Newton step to its solution.
 *
 * The system couples the gain of a node with the prices of its relays, a
 * weighted graph Laplacian on 2 nodes + 1 unknowns with something positive on
 * the diagonal. Conjugate gradients solve it, preconditioned by the 2 x 2
 * blocks (gain, price) of the nodes.
 */
#include "system.h"

#include <stdlib.h>
#include <string.h>

bool pri_system_new(const struct pri_problem *problem,
                    struct pri_system *system)
{
    int64_t nodes = problem->nodes;
    *system = (struct pri_system){.problem = problem};
    system->kind = pri_alloc(nodes, sizeof(uint8_t));
    /* In small pages: a block fills about half of its part. */
    system->entry = calloc((size_t)problem->arcs + 1, sizeof *system->entry);
    system->until = pri_alloc(nodes, sizeof(int32_t));
    system->own = pri_alloc(nodes, sizeof(double));
    system->curvature = pri_alloc(nodes, sizeof(double));
    system->ease = pri_alloc(nodes, sizeof(double));
    system->block = pri_alloc(3 * nodes, sizeof(double));
    system->arrow = pri_alloc(2 * nodes, sizeof(double));
    if (!system->kind || !system->entry || !system->until || !system->own ||
        !system->curvature || !system->ease || !system->block ||
        !system->arrow || !pri_conjugate_new(problem, 2, &system->cg))
        return false;
    memcpy(system->kind, problem->kind, (size_t)nodes);
    for (int32_t i = 0; i < nodes; i++) {
        double crowd = problem->crowd[i];
        bool loose = crowd > 0 && crowd < INFINITY;
        system->ease[i] = loose ? 1 / (2 * crowd) : 0;
    }
    return nodes > PRI_FEW_NODES || problem->part != NULL ||
           pri_system_densify(system);
}

void pri_system_free(struct pri_system *system)
{
    free(system->kind);
    free(system->entry);
    free(system->until);
    free(system->own);
    free(system->curvature);
    free(system->ease);
    free(system->block);
    free(system->arrow);
    free(system->exact);
    free(system->dense);
    pri_conjugate_free(&system->cg);
    *system = (struct pri_system){.problem = system->problem, .cg = system->cg};
}

/* --------------------------------------------------------------- product -- */

/* What the pairs answer to the direction: leaving shares into product[2 i],
 * carried ones into product[2 i + 1]. */
static void multiply_pairs(struct pri_system *system, int32_t low, int32_t high)
{
    const struct pri_entry *entry = system->entry;
    const double *direction = system->cg.direction;
    double *product = system->cg.product;
    const pri_two sign = {1, -1};
    int32_t l = system->problem->start[low];
    memset(&product[2 * (int64_t)low], 0,
           2 * (size_t)(high - low) * sizeof(double));
    for (int32_t i = low; i < high; i++) {
        const pri_two here = sign * pri_load(&direction[2 * (int64_t)i]);
        pri_two sums = {0, 0};
        for (; l < system->until[i]; l++) {
            int64_t to = entry[l].to;
            pri_two own = {(double)entry[l].out, (double)entry[l].in};
            pri_two there = sign * pri_load(&direction[2 * to]);
            pri_two z = here + pri_swap(there);
            pri_two answer = own * z + (double)entry[l].both * pri_swap(z);
            sums += answer;
            if (to >= low && to < high)
                pri_store(&product[2 * to],
                          pri_load(&product[2 * to]) + pri_swap(answer));
        }
        double *mine = &product[2 * (int64_t)i];
        pri_store(mine, pri_load(mine) + sums);
    }
}

/* product = matrix times direction; tallies their dot product (0) and the parts
 * that belong to the sum multiplier (1). */
static void multiply(void *context, int32_t low, int32_t high,
                     struct pri_sweep_sums *tally)
{
    struct pri_system *system = context;
    double sum = system->cg.direction_sum, dot = 0, part = 0;
    multiply_pairs(system, low, high);
    for (int32_t i = low; i < high; i++) {
        const double *direction = &system->cg.direction[2 * (int64_t)i];
        double *product = &system->cg.product[2 * (int64_t)i];
        double own = system->own[i] * (direction[0] - direction[1]);
        double lean = system->ease[i] * (direction[1] - sum);
        double leave = product[0] + own + system->curvature[i] * direction[0];
        double carry = lean - product[1] - own;
        uint8_t kind = system->kind[i];
        part -= lean;
        if (kind != 0) {
            leave = kind & PRI_GAIN_FIXED ? 0 : leave;
            carry = kind & PRI_PRICE_FIXED ? 0 : carry;
            part += kind & PRI_PRICE_TIED ? carry : 0;
            leave += kind & PRI_PRICE_OWN ? carry : 0;
            carry = kind & (PRI_PRICE_TIED | PRI_PRICE_OWN) ? 0 : carry;
        }
        product[0] = leave;
        product[1] = carry;
        dot += leave * direction[0] + carry * direction[1];
    }
    tally->sum[0] += dot;
    tally->sum[1] += part;
}

/* -------------------------------------------------------- preconditioner -- */

/*
 * Invert the diagonal block of one node, [a, -o; -o, c], with a and c both
 * containing the answer of the own link, which may exceed all else by far: the
 * determinant is formed without it. Returns what remains of the price's
 * diagonal, without its ease, when the gain is eliminated.
 */
static double invert_block(double own, const double sums[3], double ease,
                           uint8_t kind, double inverse[3])
{
    double a = own + sums[0], o = own + sums[1], rest = own + sums[2];
    bool moves = !(kind & PRI_GAIN_FIXED) && a > 0;
    if (moves)
        rest = pri_most(
            0,
            sums[2] + (own * (sums[0] - 2 * sums[1]) - sums[1] * sums[1]) / a);
    inverse[0] = moves ? 1 / a : 0;
    inverse[1] = inverse[2] = 0;
    if (kind & (PRI_PRICE_TIED | PRI_PRICE_FIXED) || !(rest + ease > 0))
        return rest;
    double ratio = moves ? o / a : 0;
    inverse[2] = 1 / (rest + ease);
    inverse[1] = ratio * inverse[2];
    inverse[0] += ratio * inverse[1];
    return rest;
}

static void prepare_blocks(void *context, int32_t low, int32_t high,
                           struct pri_sweep_sums *tally)
{
    struct pri_system *system = context;
    for (int32_t i = low; i < high; i++) {
        double *block = &system->block[3 * (int64_t)i];
        double *arrow = &system->arrow[2 * (int64_t)i];
        double own = system->own[i], ease = system->ease[i];
        double sums[3] = {block[0] + system->curvature[i], block[1], block[2]};
        uint8_t kind = system->kind[i];
        arrow[1] = 0;
        if (kind & PRI_PRICE_OWN) {
            /* one unknown: what the two have between them drops out */
            double joined = sums[0] - 2 * sums[1] + sums[2];
            block[0] = joined + ease > 0 ? 1 / (joined + ease) : 0;
            block[1] = block[2] = 0;
            arrow[0] = -ease * block[0];
            tally->sum[0] += ease * (joined * block[0]);
            continue;
        }
        double rest = invert_block(own, sums, ease, kind, block);
        if (kind & PRI_PRICE_TIED) {
            arrow[0] = -(own + sums[1]) * block[0];
            tally->sum[0] += rest;
        } else {
            arrow[0] = -ease * block[1];
            arrow[1] = -ease * block[2];
            tally->sum[0] += ease * (rest * block[2]);
        }
    }
}

/* ----------------------------------------------------------------- solve -- */

/* r -= alpha A p, x += alpha p; tallies r.P^-1 r without the sum's part (0),
 * and what the sum's part (1) and the common direction (2) need. */
static void advance(void *context, int32_t low, int32_t high,
                    struct pri_sweep_sums *tally)
{
    struct pri_system *system = context;
    double *residual = system->cg.residual, *solution = system->cg.solution;
    double alpha = system->cg.alpha, dot = 0, cross = 0, all = 0;
    for (int64_t i = low; i < high; i++) {
        const double *block = &system->block[3 * i];
        const double *arrow = &system->arrow[2 * i];
        solution[2 * i] += alpha * system->cg.direction[2 * i];
        solution[2 * i + 1] += alpha * system->cg.direction[2 * i + 1];
        double gain = residual[2 * i] - alpha * system->cg.product[2 * i];
        double price =
            residual[2 * i + 1] - alpha * system->cg.product[2 * i + 1];
        residual[2 * i] = gain;
        residual[2 * i + 1] = price;
        dot += gain * (block[0] * gain + block[1] * price) +
               price * (block[1] * gain + block[2] * price);
        cross += arrow[0] * gain + arrow[1] * price;
        all += gain + price;
    }
    tally->sum[0] += dot;
    tally->sum[1] += cross;
    tally->sum[2] += all;
}

/* p = P^-1 r + beta p. */
static void next_direction(void *context, int32_t low, int32_t high,
                           struct pri_sweep_sums *tally)
{
    struct pri_system *system = context;
    double beta = system->cg.beta, shift = system->cg.shift,
           lift = system->cg.lift;
    (void)tally;
    for (int64_t i = low; i < high; i++) {
        const double *block = &system->block[3 * i];
        const double *arrow = &system->arrow[2 * i];
        const double *r = &system->cg.residual[2 * i];
        double *p = &system->cg.direction[2 * i];
        uint8_t kind = system->kind[i];
        double gain = block[0] * r[0] + block[1] * r[1] - arrow[0] * shift;
        double price = block[1] * r[0] + block[2] * r[1] - arrow[1] * shift;
        p[0] = gain + lift + beta * p[0];
        p[1] = price + lift + beta * p[1];
        if (kind == 0)
            continue;
        if (kind & PRI_GAIN_FIXED)
            p[0] = 0;
        if (kind & PRI_PRICE_TIED)
            p[1] = system->cg.direction_sum;
        else if (kind & PRI_PRICE_OWN)
            p[1] = p[0];
        else if (kind & PRI_PRICE_FIXED)
            p[1] = 0;
    }
}

static const struct pri_passes PASSES = {prepare_blocks, multiply, advance,
                                         next_direction};

void pri_system_prepare(struct pri_system *system)
{
    if (system->dense != NULL)
        pri_dense_prepare(system);
    else
        pri_conjugate_prepare(&system->cg, &PASSES, system);
}

bool pri_system_solve(struct pri_system *system, const double *right,
                      double right_sum, double relative, int32_t most,
                      struct pri_point *solution)
{
    if (system->dense == NULL)
        return pri_conjugate_solve(&system->cg, system, right, right_sum,
                                   relative, most, solution->dual,
                                   &solution->sum);
    pri_dense_solve(system, right, right_sum, solution);
    return true;
}
