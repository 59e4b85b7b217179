/*
 * From shares and multipliers to a feasible plan with a proof of how good it
 * is.
 *
 * Weak duality: any multipliers bound the optimum from below, any feasible
 * shares from above. The difference of the two is added up term by term, each
 * term a square or a product of two numbers that vanish together, so that a
 * relative gap of 1e-12 can be told from rounding.
 *
 * One refinement makes the bound robust. A link without cost (full trust, never
 * down) has the conjugate INFINITY as soon as its gain exceeds its price by a
 * rounding error. But no optimal share is larger than the cap below, so the
 * bound may maximise over [0, cap] instead, and an error of 1e-16 costs
 * 1e-16 cap.
 */
#include "problem.h"

#include <stdlib.h>

bool pri_certifier_new(const struct pri_problem *problem,
                       struct pri_certifier *certifier)
{
    double nodes = problem->whole;
    *certifier = (struct pri_certifier){.problem = problem};
    certifier->scale = pri_alloc(problem->nodes, sizeof(double));
    certifier->cap = pri_alloc(problem->nodes, sizeof(double));
    certifier->best = INFINITY;
    if (problem->summed)
        certifier->best = nodes * nodes + problem->penalty * nodes;
    return certifier->scale != NULL && certifier->cap != NULL;
}

void pri_certifier_free(struct pri_certifier *certifier)
{
    free(certifier->scale);
    free(certifier->cap);
}

/* ------------------------------------------------------- feasible shares -- */

/*
 * The factor that makes row i feasible. With the l1 and worst-case terms a row
 * that falls a little short is feasible, but dear: its part of the distance is
 * L |b| + v b, linear in the bias. Where stretching it to S_i = wanted, which costs
 * about b^2 times the row's own curvature, is cheaper, do that. With the l2
 * term every row is feasible, but L (b + v / (2 L))^2 of the distance is dear
 * where L is large: go where that and the cost of stretching are least
 * together.
 */
static double row_scale(const struct pri_problem *problem, int32_t i,
                        double gain, double row, double row_cost)
{
    double wanted = problem->wanted[i];
    double bias = row - wanted, penalty = problem->penalty;
    double loss = penalty * fabs(bias) + gain * bias;
    double cost = 1 + row_cost / (wanted * wanted);
    bool near = fabs(bias) < 0.5 * wanted && loss > bias * bias * cost;
    switch (problem->bias) {
    case PRICER_BIAS_UNBIASED:
        return wanted / row;
    case PRICER_BIAS_WORST_CASE:
        return row > wanted || near ? wanted / row : 1;
    case PRICER_BIAS_L1:
        return near ? wanted / row : 1;
    case PRICER_BIAS_L2:
        if (penalty > 0) {
            double off = bias + gain / (2 * penalty);
            double stretch = -off * penalty / (penalty + 1 + row_cost) / row;
            return fabs(stretch) < 0.5 ? 1 + stretch : 1;
        }
        break;
    }
    return 1;
}

/*
 * No optimal share is larger than this: its row is bounded by the bias term,
 * and the sum of all by (sum S - wanted)^2, each of them at most the value of
 * any feasible plan; no node wants more than 1. (And its relay's sum by crowd T^2.)
 */
static double row_cap(const struct pri_certifier *certifier)
{
    const struct pri_problem *problem = certifier->problem;
    double best = certifier->best, penalty = problem->penalty;
    double all = problem->whole + sqrt(best);
    if (problem->bias == PRICER_BIAS_L1)
        return penalty > 0 ? pri_least(all, 1 + best / penalty) : all;
    if (problem->bias == PRICER_BIAS_L2)
        return penalty > 0 ? pri_least(all, 1 + sqrt(best / penalty)) : all;
    return 1;
}

/* The multipliers as the bound wants them. */
static void clip(const struct pri_problem *problem, int32_t i, double sum,
                 double dual[2])
{
    uint8_t kind = problem->kind[i];
    dual[0] = pri_most(problem->lower_bound,
                       pri_least(problem->upper_bound, dual[0]));
    if (kind & PRI_UNREACHED)
        dual[0] = pri_unreached_gain(problem, i);
    else if (kind & PRI_GAIN_FIXED)
        dual[0] = 0;
    if (kind & PRI_PRICE_TIED)
        dual[1] = sum;
}

static void scale_rows(void *context, int32_t low, int32_t high,
                       struct pri_sweep_sums *tally)
{
    struct pri_certifier *certifier = context;
    const struct pri_problem *problem = certifier->problem;
    double widest = row_cap(certifier), best = certifier->best;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        const struct pri_arc *self = &problem->self[i];
        double *dual = &certifier->point->dual[2 * (int64_t)i];
        double row = self->share, cost = 0, scale = 1;
        if (row > 0)
            cost = (self->cost + problem->crowd[i]) * row * row;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            double share = pri_arc_share(problem, l);
            row += share;
            if (share > 0)
                cost += (pri_arc_cost(problem, l) +
                         problem->crowd[problem->to[l]]) *
                        share * share;
        }
        clip(problem, i, certifier->point->sum, dual);
        if (row > 0)
            scale = row_scale(problem, i, dual[0], row, cost);
        else if (problem->bias == PRICER_BIAS_UNBIASED)
            scale = NAN;
        certifier->scale[i] = scale;
        certifier->cap[i] = pri_least(widest, sqrt(best / problem->crowd[i]));
    }
}

/* ------------------------------------------------------------ link terms -- */

/* The y in [0, cap] that maximises z y - cost y^2. */
static double respond(double cost, double z, double cap)
{
    if (!(z > 0))
        return 0;
    return z >= 2 * cost * cap ? cap : z / (2 * cost);
}

/*
 * The same for a pair: argmax of z1 y1 + z2 y2 - q1 y1^2 - q2 y2^2 - c y1 y2
 * over 0 <= y <= cap. Where no y is plainly 0, it is the stationary point, if
 * there is one inside, or else the best of what lies on the four edges. (For
 * 4 q1 q2 = c^2 there is none, and rounding hides that y = 0 will do.)
 */
static void respond_pair(const double cost[2], double cross, const double z[2],
                         const double cap[2], double y[2])
{
    double alone[2];
    for (int k = 0; k < 2; k++) {
        alone[k] = respond(cost[k], z[k], cap[k]);
        if (!(z[1 - k] - cross * alone[k] > 0)) {
            y[k] = alone[k];
            y[1 - k] = 0;
            return;
        }
    }
    double det = 4 * cost[0] * cost[1] - cross * cross;
    if (det > 0) {
        y[0] = (2 * cost[1] * z[0] - cross * z[1]) / det;
        y[1] = (2 * cost[0] * z[1] - cross * z[0]) / det;
        if (y[0] >= 0 && y[1] >= 0 && y[0] <= cap[0] && y[1] <= cap[1])
            return;
    }
    double most = -INFINITY;
    for (int edge = 0; edge < 4; edge++) {
        int k = edge % 2;
        double a = edge < 2 ? cap[k] : alone[k];
        double b = respond(cost[1 - k], z[1 - k] - cross * a, cap[1 - k]);
        double value = (z[k] - cost[k] * a) * a +
                       (z[1 - k] - cost[1 - k] * b - cross * a) * b;
        if (value > most) {
            most = value;
            y[k] = a;
            y[1 - k] = b;
        }
    }
}

/* Value of one link and its part of the distance; 0 where there is no link. */
static void add_link(double cost, double share, double z, double cap,
                     struct pri_sweep_sums *tally)
{
    if (cost == INFINITY)
        return;
    double best = respond(cost, z, cap), off = share - best;
    tally->sum[0] += cost * share * share;
    tally->sum[1] += cost * off * off + (2 * cost * best - z) * off;
}

static void add_pair(const double cost[2], double cross, const double share[2],
                     const double z[2], const double cap[2],
                     struct pri_sweep_sums *tally)
{
    double best[2];
    if (cross == 0) {
        add_link(cost[0], share[0], z[0], cap[0], tally);
        add_link(cost[1], share[1], z[1], cap[1], tally);
        return;
    }
    respond_pair(cost, cross, z, cap, best);
    double off[2] = {share[0] - best[0], share[1] - best[1]};
    double value = cross * share[0] * share[1];
    double form = cross * off[0] * off[1];
    double slack = 0;
    for (int k = 0; k < 2; k++) {
        value += cost[k] * share[k] * share[k];
        form += cost[k] * off[k] * off[k];
        slack += (2 * cost[k] * best[k] + cross * best[1 - k] - z[k]) * off[k];
    }
    tally->sum[0] += value;
    tally->sum[1] += pri_most(0, form) + slack;
}

/* ------------------------------------------------------------ node terms -- */

/* The bias term of node i: its value and its part of the distance. */
static void add_bias(const struct pri_problem *problem, double gain,
                     double bias, struct pri_sweep_sums *tally)
{
    double penalty = problem->penalty;
    tally->sum[2] += bias;
    switch (problem->bias) {
    case PRICER_BIAS_UNBIASED:
        break;
    case PRICER_BIAS_WORST_CASE:
        tally->sum[1] += gain * bias;
        break;
    case PRICER_BIAS_L1:
        tally->sum[0] += penalty * fabs(bias);
        tally->sum[1] += penalty * fabs(bias) + gain * bias;
        break;
    case PRICER_BIAS_L2:
        tally->sum[0] += penalty * bias * bias;
        if (penalty > 0) {
            double off = bias + gain / (2 * penalty);
            tally->sum[1] += penalty * off * off;
        }
        break;
    }
}

/* The terms of the pairs that node i is the lower end of. Returns what relay i
 * carries for others. */
static double add_arcs(const struct pri_certifier *certifier, int32_t i,
                       double *row, struct pri_sweep_sums *tally)
{
    const struct pri_problem *problem = certifier->problem;
    const double *dual = certifier->point->dual, *scale = certifier->scale;
    const double *here = &dual[2 * (int64_t)i];
    double load = 0;
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
        int32_t to = problem->to[l], back = problem->partner[l];
        double out = pri_arc_share(problem, l);
        double share[2] = {scale[i] * out,
                           scale[to] * pri_arc_share(problem, back)};
        *row += out;
        load += share[1];
        if (to < i)
            continue;
        const double *there = &dual[2 * (int64_t)to];
        double cost[2] = {pri_arc_cost(problem, l),
                          pri_arc_cost(problem, back)};
        double z[2] = {here[0] - there[1], there[0] - here[1]};
        double cap[2] = {certifier->cap[to], certifier->cap[i]};
        add_pair(cost, pri_arc_cross(problem, l), share, z, cap, tally);
    }
    return load;
}

static void add_terms(void *context, int32_t low, int32_t high,
                      struct pri_sweep_sums *tally)
{
    struct pri_certifier *certifier = context;
    const struct pri_problem *problem = certifier->problem;
    const double *scale = certifier->scale;
    for (int32_t i = low; i < high; i++) {
        const double *dual = &certifier->point->dual[2 * (int64_t)i];
        double crowd = problem->crowd[i], row = problem->self[i].share;
        double own = scale[i] * row;
        add_link(problem->self[i].cost, own, dual[0] - dual[1],
                 certifier->cap[i], tally);
        double load = own + add_arcs(certifier, i, &row, tally);
        if (crowd > 0 && crowd < INFINITY) {
            double off = load - (dual[1] - certifier->point->sum) / (2 * crowd);
            tally->sum[0] += crowd * load * load;
            tally->sum[1] += crowd * off * off;
        }
        double bias = scale[i] == 1 ? row - problem->wanted[i] : 0;
        if (problem->bias == PRICER_BIAS_L2)
            bias = scale[i] * row - problem->wanted[i];
        add_bias(problem, dual[0], bias, tally);
    }
}

static void conclude(struct pri_certifier *certifier,
                     const struct pri_sweep_sums *total,
                     struct pri_proof *proof)
{
    const struct pri_problem *problem = certifier->problem;
    double off = total->sum[2] - certifier->point->sum / 2;
    proof->primal = total->sum[0];
    proof->distance = total->sum[1];
    if (problem->summed) {
        proof->primal += total->sum[2] * total->sum[2];
        proof->distance += off * off;
    }
    certifier->best = pri_least(certifier->best, proof->primal);
    double least = PRI_NOTHING * problem->whole;
    /* It cannot be negative but by rounding, and so much it may be off. */
    proof->gap = fabs(proof->distance) / pri_most(proof->primal, least);
    if (isnan(proof->distance) || !(proof->primal < INFINITY))
        proof->gap = INFINITY;
}

void pri_certify(struct pri_certifier *certifier, struct pri_point *point,
                 struct pri_proof *proof)
{
    const struct pri_problem *problem = certifier->problem;
    struct pri_sweep_sums total;
    certifier->point = point;
    if (!problem->summed)
        point->sum = 0;
    pri_sweep(problem, scale_rows, certifier, NULL);
    pri_halo(problem, point->dual, 2);
    pri_halo(problem, certifier->scale, 1);
    pri_halo(problem, certifier->cap, 1);
    pri_sweep(problem, add_terms, certifier, &total);
    conclude(certifier, &total, proof);
}
