/*
 * Where the interior point with server budgets begins: shares in proportion to
 * what each link would carry alone, budgets split evenly, and multipliers whose
 * products with them are equal.
 */
#include "server_interior.h"

/* Even parts of nine tenths of the row's budget; returns how many links. */
static void start_parts(struct pri_server_interior *state, int32_t i)
{
    struct pri_server *server = state->server;
    const struct pri_problem *problem = state->problem;
    double links = problem->self[i].cost < INFINITY, sum = 0;
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
        links += problem->arc[l].cost < INFINITY;
    for (int32_t l = problem->start[i] - 1; l < problem->start[i + 1]; l++) {
        struct pri_split *split =
            l < problem->start[i] ? &server->self[i] : &server->arc[l];
        if (split->noise > 0)
            sum += split->part = pri_least(split->most / 2, 0.9 / links);
    }
    state->spare[i] = 1 - sum;
}

static double start_cost(const struct pri_split *split)
{
    return split->plain + (split->noise > 0 ? split->noise / split->part : 0);
}

/* Full rows. Tallies links (1) and the products that budgets add (2). */
static void start_shares(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct pri_server_interior *state = context;
    const struct pri_server *server = state->server;
    const struct pri_problem *problem = state->problem;
    for (int32_t i = low; i < high; i++) {
        struct pri_arc *self = &problem->self[i];
        if (server->bound[i])
            start_parts(state, i);
        double sum = self->share =
            1 / (start_cost(&server->self[i]) + problem->crowd[i] + 1);
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            double crowd = problem->crowd[problem->to[l]];
            sum += problem->arc[l].share =
                1 / (start_cost(&server->arc[l]) + crowd + 1);
        }
        if (!(sum > 0))
            continue;
        double scale = 1 / sum;
        tally->sum[2] += server->bound[i];
        for (int32_t l = problem->start[i] - 1; l < problem->start[i + 1];
             l++) {
            bool own = l < problem->start[i];
            struct pri_arc *arc = own ? self : &problem->arc[l];
            const struct pri_split *split =
                own ? &server->self[i] : &server->arc[l];
            arc->share *= scale;
            tally->sum[1] += arc->share > 0;
            tally->sum[2] += split->noise > 0;
            tally->sum[2] += split->noise > 0 && split->most < INFINITY;
        }
    }
}

/* Prices that agree with the loads; tallies what the shares cost. */
static void start_prices(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct pri_server_interior *state = context;
    const struct pri_problem *problem = state->problem;
    for (int32_t i = low; i < high; i++) {
        double load = problem->self[i].share, crowd = problem->crowd[i];
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
            load += problem->arc[problem->partner[l]].share;
        double margin = crowd < INFINITY ? 2 * crowd * load : 0;
        state->point->dual[2 * (int64_t)i + 1] = state->point->sum + margin;
        tally->sum[0] += margin * load;
    }
}

/* Gains that agree with what a row costs at the margin, on average over its
 * shares; k that agree with its noise. Tallies the cost. */
static void start_gains(void *context, int32_t low, int32_t high,
                        struct pri_sweep_sums *tally)
{
    struct pri_server_interior *state = context;
    struct pri_server *server = state->server;
    const struct pri_problem *problem = state->problem;
    double *dual = state->point->dual;
    for (int32_t i = low; i < high; i++) {
        double row = 0, links = 0, prices = 0, noise = 0;
        for (int32_t l = problem->start[i] - 1; l < problem->start[i + 1];
             l++) {
            bool own = l < problem->start[i];
            const struct pri_arc *arc =
                own ? &problem->self[i] : &problem->arc[l];
            const struct pri_split *split =
                own ? &server->self[i] : &server->arc[l];
            double share = arc->share, back = 0;
            int64_t to = own ? i : problem->to[l];
            if (!(share > 0))
                continue;
            if (!own)
                back = arc->cross * problem->arc[problem->partner[l]].share;
            row += share;
            links += share * (2 * start_cost(split) * share + back);
            prices += share * dual[2 * to + 1];
            if (split->noise > 0)
                noise += split->noise * share * share / split->part;
        }
        dual[2 * (int64_t)i] = row > 0 ? (links + prices) / row : 0;
        server->multiplier[i] = noise;
        tally->sum[0] += links;
    }
}

/* The share on the central path of its z, for a cost; no share above 1. */
static double central_share(double cost, double z, double target)
{
    double root = sqrt(z * z + 8 * cost * target);
    double slack = z < 0 ? (root - z) / 2 : 4 * cost * target / (root + z);
    return slack >= target ? target / slack : 1;
}

/*
 * The part on the central path of its k: where the derivative of what the link
 * costs, noise, k part and barriers together, changes its sign. Bisection of
 * ln part, until the rest is for the steps to mend.
 */
static void central_part(struct pri_split *split, double z, double k,
                         double target, double *share)
{
    double low = 1e-3 * split->part, high = pri_least(1, split->most);
    for (int trial = 0; trial < 12; trial++) {
        double part = sqrt(low * high);
        double y = central_share(split->plain + split->noise / part, z, target);
        double slope =
            k - split->noise * (y / part) * (y / part) - target / part;
        if (split->most < INFINITY)
            slope += target / (split->most - part);
        *(slope > 0 ? &high : &low) = part;
    }
    split->part = low;
    *share = central_share(split->plain + split->noise / low, z, target);
}

/* The gain of node i within its bounds, and as far from an upper bound of 0 as
 * the bias of its row asks for. */
static double gain_within(const struct pri_server_interior *state, int32_t i)
{
    const struct pri_problem *problem = state->problem;
    double gain = state->point->dual[2 * (int64_t)i];
    double row = problem->self[i].share;
    if (problem->kind[i] & PRI_GAIN_FIXED)
        return 0;
    if (problem->lower_bound > -INFINITY)
        return pri_most(0.9 * problem->lower_bound,
                        pri_least(0.9 * problem->upper_bound, gain));
    if (!(problem->upper_bound < INFINITY))
        return gain;
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
        row += problem->arc[l].share;
    return pri_least(gain,
                     -state->target / pri_most(0.05, problem->wanted[i] - row));
}

/* Shares, parts and slacks on the central path of the multipliers. */
static void start_slacks(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct pri_server_interior *state = context;
    struct pri_server *server = state->server;
    const struct pri_problem *problem = state->problem;
    double *dual = state->point->dual;
    double target = state->target;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        double *here = &dual[2 * (int64_t)i];
        double links = 0;
        here[0] = gain_within(state, i);
        for (int32_t l = problem->start[i] - 1; l < problem->start[i + 1]; l++)
            links += (l < problem->start[i] ? server->self[i].noise
                                            : server->arc[l].noise) > 0;
        server->multiplier[i] += links * target;
        for (int32_t l = problem->start[i] - 1; l < problem->start[i + 1];
             l++) {
            bool own = l < problem->start[i];
            struct pri_arc *arc = own ? &problem->self[i] : &problem->arc[l];
            struct pri_split *split = own ? &server->self[i] : &server->arc[l];
            int64_t to = own ? i : problem->to[l];
            double z = here[0] - dual[2 * to + 1];
            if (!(arc->share > 0))
                continue;
            if (split->noise > 0) {
                central_part(split, z, server->multiplier[i], target,
                             &arc->share);
                split->floor = target / split->part;
                split->roof = split->most < INFINITY
                                  ? target / (split->most - split->part)
                                  : 0;
            } else {
                arc->share = central_share(split->plain, z, target);
            }
            arc->slack = target / arc->share;
        }
        if (server->bound[i])
            state->spare[i] = target / server->multiplier[i];
        for (int k = 0; k < 2; k++)
            if (pri_server_edged(problem, i, k)) {
                state->edge[k][i] = k == 0 ? problem->upper_bound - here[0]
                                           : here[0] - problem->lower_bound;
                state->room[k][i] = target / state->edge[k][i];
            }
    }
}

/*
 * The row that node i will have at a level of minus the sum multiplier, if rows
 * grow in proportion to what they are allowed to cost; its gain is now what its
 * row costs when it is full.
 */
static double row_at(const struct pri_problem *problem, int32_t i, double full,
                     double level)
{
    double penalty = problem->penalty, wanted = problem->wanted[i];
    if (problem->bias == PRICER_BIAS_L2)
        return pri_least(wanted,
                         (level + 2 * penalty * wanted) / (full + 2 * penalty));
    double most = problem->bias == PRICER_BIAS_WORST_CASE ? 0.9 : 1;
    most *= wanted;
    return full > 0 ? pri_least(most, (level + penalty) / full) : most;
}

/* The level at which it is twice the bias that it leaves. */
static double find_level(const struct pri_server_interior *state)
{
    const struct pri_problem *problem = state->problem;
    double low = 0, high = 2 * problem->wanted_sum;
    for (int step = 0; step < 30; step++) {
        double level = (low + high) / 2, bias = 0;
        for (int32_t i = 0; i < problem->nodes; i++) {
            double full = state->point->dual[2 * (int64_t)i];
            bias += problem->kind[i] & PRI_UNREACHED
                        ? problem->wanted[i]
                        : problem->wanted[i] - row_at(problem, i, full, level);
        }
        *(2 * bias > level ? &low : &high) = level;
    }
    return low;
}

/* From full rows to those of a level. */
static void lower_rows(struct pri_server_interior *state, double level)
{
    const struct pri_problem *problem = state->problem;
    for (int32_t i = 0; i < problem->nodes; i++) {
        double full = state->point->dual[2 * (int64_t)i];
        double row = pri_most(1e-3, row_at(problem, i, full, level));
        problem->self[i].share *= row;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
            problem->arc[l].share *= row;
    }
    state->point->sum = -level;
}

void pri_server_start(struct pri_server_interior *state)
{
    const struct pri_problem *problem = state->problem;
    struct pri_sweep_sums shares, prices, gains;
    state->point->sum = 0;
    pri_sweep(problem, start_shares, state, &shares);
    pri_sweep(problem, start_prices, state, &prices);
    pri_sweep(problem, start_gains, state, &gains);
    if (problem->summed) {
        lower_rows(state, find_level(state));
        pri_sweep(problem, start_prices, state, &prices);
        pri_sweep(problem, start_gains, state, &gains);
    }
    state->count = shares.sum[1] + shares.sum[2];
    for (int32_t i = 0; i < problem->nodes; i++)
        state->count +=
            pri_server_edged(problem, i, 0) + pri_server_edged(problem, i, 1);
    double sum = state->point->sum;
    double cost = prices.sum[0] + gains.sum[0] + sum * sum / 2;
    state->target = pri_most(PRI_NOTHING, cost) / state->count;
    state->mean = state->target;
    state->length = 1;
    pri_sweep(problem, start_slacks, state, NULL);
}
