/*
 * Where the interior point begins: shares, slacks and multipliers with equal
 * products, near what the rows would do if each were alone.
 */
#include "interior.h"

/*
 * Shares of a row in proportion to what each link would carry if it and its
 * relay were alone. Where bias is allowed the row is no larger than what its
 * first unit gains, so that hopeless links do not set the scale.
 */
static void start_shares(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct pri_interior *state = context;
    const struct pri_problem *problem = state->problem;
    double most = problem->bias == PRICER_BIAS_WORST_CASE ? 0.9 : 1;
    double first =
        problem->summed ? problem->whole + problem->penalty : INFINITY;
    for (int32_t i = low; i < high; i++) {
        struct pri_arc *self = &problem->self[i];
        double sum = self->share = 1 / (self->cost + problem->crowd[i] + 1);
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            struct pri_arc *arc = &problem->arc[l];
            int32_t to = problem->to[l];
            sum += arc->share = 1 / (arc->cost + problem->crowd[to] + 1);
        }
        if (!(sum > 0))
            continue;
        double row = pri_least(most * problem->wanted[i], first * sum);
        double scale = row / sum;
        self->share *= scale;
        tally->sum[1] += self->share > 0;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            problem->arc[l].share *= scale;
            tally->sum[1] += problem->arc[l].share > 0;
        }
        tally->sum[0] += row;
    }
}

/* Prices that agree with the loads; tallies what the shares cost. */
static void start_prices(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct pri_interior *state = context;
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
 * shares, within the bounds. */
static void start_gains(void *context, int32_t low, int32_t high,
                        struct pri_sweep_sums *tally)
{
    struct pri_interior *state = context;
    const struct pri_problem *problem = state->problem;
    double *dual = state->point->dual;
    for (int32_t i = low; i < high; i++) {
        const struct pri_arc *self = &problem->self[i];
        double row = self->share, links = 0, prices = 0;
        if (row > 0) {
            links = 2 * self->cost * row * row;
            prices = row * dual[2 * (int64_t)i + 1];
        }
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            const struct pri_arc *arc = &problem->arc[l];
            const struct pri_arc *in = &problem->arc[problem->partner[l]];
            if (!(arc->share > 0))
                continue;
            row += arc->share;
            links += arc->share *
                     (2 * arc->cost * arc->share + arc->cross * in->share);
            prices += arc->share * dual[2 * (int64_t)problem->to[l] + 1];
        }
        double gain = row > 0 ? (links + prices) / row : 0;
        if (problem->lower_bound > -INFINITY)
            gain = pri_most(0.9 * problem->lower_bound,
                            pri_least(0.9 * problem->upper_bound, gain));
        else if (problem->upper_bound < INFINITY)
            gain = pri_least(gain, -0.1 * fabs(gain) - 0.1);
        dual[2 * (int64_t)i] = problem->kind[i] & PRI_GAIN_FIXED ? 0 : gain;
        tally->sum[0] += links;
        tally->sum[1] +=
            pri_bounded(problem, i, 0) + pri_bounded(problem, i, 1);
    }
}

/* Share and slack of one link on the central path of its z; no share above 1,
 * whatever its z. */
static void centre(struct pri_arc *arc, double z, double target)
{
    if (!(arc->share > 0))
        return;
    double root = sqrt(z * z + 8 * arc->cost * target);
    double slack = z < 0 ? (root - z) / 2 : 4 * arc->cost * target / (root + z);
    arc->slack = slack >= target ? slack : target;
    arc->share = target / arc->slack;
}

static void start_slacks(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct pri_interior *state = context;
    const struct pri_problem *problem = state->problem;
    const double *dual = state->point->dual;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        const double *here = &dual[2 * (int64_t)i];
        centre(&problem->self[i], here[0] - here[1], state->target);
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
            centre(&problem->arc[l],
                   here[0] - dual[2 * (int64_t)problem->to[l] + 1],
                   state->target);
        for (int k = 0; k < 2; k++)
            if (pri_bounded(problem, i, k)) {
                state->edge[k][i] = k == 0 ? problem->upper_bound - here[0]
                                           : here[0] - problem->lower_bound;
                state->room[k][i] = state->target / state->edge[k][i];
            }
    }
}

void pri_interior_start(struct pri_interior *state)
{
    const struct pri_problem *problem = state->problem;
    struct pri_sweep_sums shares, prices, gains;
    pri_sweep(problem, start_shares, state, &shares);
    pri_halo_shares(problem);
    double sum =
        problem->summed ? 2 * (shares.sum[0] - problem->wanted_sum) : 0;
    state->point->sum = sum;
    pri_sweep(problem, start_prices, state, &prices);
    pri_halo(problem, state->point->dual, 2);
    pri_sweep(problem, start_gains, state, &gains);
    pri_halo(problem, state->point->dual, 2);
    state->count = shares.sum[1] + gains.sum[1];
    double cost = prices.sum[0] + gains.sum[0] + sum * sum / 2;
    state->target = pri_most(PRI_NOTHING, cost) / shares.sum[1];
    state->mean = state->target;
    state->length = 1;
    state->firm = 1e-2;
    pri_sweep_all(problem, start_slacks, state);
}
