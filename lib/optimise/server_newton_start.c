/*
 * From costs and budgets to multipliers to begin with, in a few passes.
 *
 * As start.c: with prices given, the gain and the root of k of a node solve the
 * two equations of its row, that it adds up to what it should and spends its
 * budget; with these given, each price solves the equation of its relay's load.
 * All are monotone and piecewise linear: Newton's method within a bracket.
 * Pairs count as two links.
 */
#include "server_newton.h"

/* What one node's links answer in all. */
struct sums {
    double share, slope;
    double lean, square; /* of lean slope and lean^2 slope */
    double asked;        /* of lean share, of links that nothing holds */
    double kept;         /* parts of those that their own budgets hold */
    double value;        /* of the function */
    double above;        /* least rise of z with which another link answers */
    double reach;        /* most of roots below which a link answers */
    double wanted;       /* of the row */
};

static inline void add_reply(const struct pri_split *split, double lean,
                             double pull, double firm, double z, double root,
                             struct sums *sums)
{
    struct pri_reply reply = pri_reply_to(split, lean, pull, firm, z, root);
    double below = lean * root - pull - z;
    if (below >= 0 && split->plain < INFINITY)
        sums->above = pri_least(sums->above, below);
    if (lean > 0 && split->plain < INFINITY)
        sums->reach = pri_most(sums->reach, (z + pull) / lean);
    sums->share += reply.share;
    sums->slope += reply.slope;
    if (reply.held) {
        sums->kept += reply.part;
        sums->value += reply.share * (z + pull) / 2;
        return;
    }
    sums->lean += lean * reply.slope;
    sums->square += lean * lean * reply.slope;
    sums->asked += lean * reply.share;
    sums->value -= reply.share * below / 2;
}

static struct sums row_sums(const struct pri_server_newton *state,
                            const double *dual, int32_t i, double gain,
                            double root)
{
    const struct pri_problem *problem = state->problem;
    struct sums sums = {.above = INFINITY, .wanted = problem->wanted[i]};
    add_reply(&state->server->self[i], state->own[i].lean[0],
              state->own[i].pull[0], state->firm,
              gain - dual[3 * (int64_t)i + 1], root, &sums);
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
        int64_t to = problem->to[l];
        add_reply(&state->server->arc[l], state->offer[l].lean[0],
                  state->offer[l].pull[0], state->firm, gain - dual[3 * to + 1],
                  root, &sums);
    }
    return sums;
}

static struct sums load_sums(const struct pri_server_newton *state,
                             const double *dual, int32_t j, double price)
{
    const struct pri_problem *problem = state->problem;
    const double *own = &dual[3 * (int64_t)j];
    struct sums sums = {.above = INFINITY};
    add_reply(&state->server->self[j], state->own[j].lean[0],
              state->own[j].pull[0], state->firm, own[0] - price, own[2],
              &sums);
    for (int32_t l = problem->start[j]; l < problem->start[j + 1]; l++) {
        const double *there = &dual[3 * (int64_t)problem->to[l]];
        add_reply(&state->server->arc[problem->partner[l]],
                  state->offer[l].lean[1], state->offer[l].pull[1], state->firm,
                  there[0] - price, there[2], &sums);
    }
    return sums;
}

/* The next trial of a root of an increasing function within its bracket. */
static double next_trial(double at, double off, double slope, double above,
                         double *low, double *high)
{
    *(off < 0 ? low : high) = at;
    double next = slope > 0 ? at - off / slope : NAN;
    if (!(slope > 0) && off < 0)
        next = at + above + 1e-3 * (1 + fabs(above));
    if (next > *low && next < *high)
        return next;
    if (*low > -INFINITY && *high < INFINITY)
        return (*low + *high) / 2;
    return *low > -INFINITY ? *low + 2 * fabs(*low) + 1
                            : *high - 2 * fabs(*high) - 1;
}

static bool is_narrow(double low, double high)
{
    return high - low < INFINITY && high - low <= 1e-9 * fabs(high);
}

/* The function of one row, prices given. */
static double row_value(const struct pri_server_newton *state,
                        const struct sums *sums, double gain, double root)
{
    return sums->value + (1 - sums->kept) * root * root +
           (state->curvature * gain / 2 - sums->wanted) * gain;
}

/*
 * The step of gain and root of a row towards the minimum of its function, by
 * Newton's method; the root follows a gain that its bound stops. Returns how fast the function
 * falls along it.
 */
static double row_step(const struct pri_server_newton *state,
                       const struct sums *sums, const double here[3],
                       bool budget, double step[2])
{
    double slope = sums->share + state->curvature * here[0] - sums->wanted;
    double left = 1 - sums->kept, slope_root = 2 * here[2] * left - sums->asked;
    double a = sums->slope + state->curvature, b = -sums->lean;
    double c = sums->square + 2 * pri_most(0.01, left);
    bool stays = (here[0] >= state->upper && slope < 0) ||
                 (here[0] <= state->lower && slope > 0);
    step[0] = step[1] = 0;
    if (!budget) {
        step[0] = stays || !(a > 0) ? 0 : -slope / a;
        return -slope * step[0];
    }
    double det = a - b * (b / c);
    if (!stays && det > 1e-14 * a)
        step[0] = -(slope - b * (slope_root / c)) / det;
    step[0] = pri_most(state->lower - here[0],
                       pri_least(state->upper - here[0], step[0]));
    step[1] = -(slope_root + b * step[0]) / c;
    return -slope * step[0] - slope_root * step[1];
}

/* Nothing answers: up to where something does, or, at the bound, the root down.
 * False if nothing ever will. */
static bool wake_row(const struct pri_server_newton *state,
                     const struct sums *sums, bool budget, double here[3])
{
    double up = here[0] + sums->above + 1e-3 * (1 + sums->above);
    if (sums->above < INFINITY && up < state->upper) {
        here[0] = up;
        return true;
    }
    if (!budget || !(sums->reach > 0) || !(here[2] > 0.99 * sums->reach))
        return false;
    here[2] = 0.99 * sums->reach;
    return true;
}

void pri_server_newton_row(const struct pri_server_newton *state,
                           const double *dual, int32_t i, double here[3])
{
    bool budget = state->server->bound[i];
    double step[2];
    struct sums sums = row_sums(state, dual, i, here[0], here[2]);
    for (int trial = 0; trial < 40; trial++) {
        if (!(sums.slope > 0)) {
            if (!wake_row(state, &sums, budget, here))
                break;
            sums = row_sums(state, dual, i, here[0], here[2]);
            continue;
        }
        double value = row_value(state, &sums, here[0], here[2]);
        double fall = row_step(state, &sums, here, budget, step), length = 1;
        if (!(fall > 1e-7 * (fabs(value) + 1e-30)))
            break;
        for (int half = 0; half < 20; half++, length /= 2.5) {
            double gain = here[0] + length * step[0];
            double root = pri_most(here[2] + length * step[1], here[2] / 10);
            gain = pri_most(state->lower, pri_least(state->upper, gain));
            sums = row_sums(state, dual, i, gain, root);
            if (row_value(state, &sums, gain, root) >
                    value - 1e-4 * length * fall &&
                half < 19)
                continue;
            here[0] = gain;
            here[2] = root;
            break;
        }
    }
}

static void start_rows(void *context, int32_t low, int32_t high,
                       struct pri_sweep_sums *tally)
{
    struct pri_server_newton *state = context;
    (void)tally;
    for (int32_t i = low; i < high; i++)
        if (!(state->problem->kind[i] & (PRI_UNREACHED | PRI_GAIN_FIXED)))
            pri_server_newton_row(state, state->next.dual, i,
                                  &state->next.dual[3 * (int64_t)i]);
}

static void start_prices(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct pri_server_newton *state = context;
    double *dual = state->next.dual;
    (void)tally;
    for (int32_t j = low; j < high; j++) {
        double least = -INFINITY, most = INFINITY;
        double price = dual[3 * (int64_t)j + 1];
        double ease = state->system.ease[j];
        if (state->problem->kind[j] & (PRI_PRICE_TIED | PRI_PRICE_FIXED))
            continue;
        for (int trial = 0; trial < 40; trial++) {
            struct sums sums = load_sums(state, dual, j, price);
            double rise = ease * (price - state->next.sum);
            double off = rise - sums.share;
            if (fabs(off) < 1e-3 * (fabs(rise) + sums.share) ||
                is_narrow(least, most))
                break;
            price = next_trial(price, off, sums.slope + ease, 0, &least, &most);
        }
        dual[3 * (int64_t)j + 1] = price;
    }
}

/* The root of a row that goes by its cheapest link alone. */
static double first_root(const struct pri_server_newton *state, int32_t i)
{
    const struct pri_problem *problem = state->problem;
    double least = state->own[i].lean[0] > 0 ? state->own[i].lean[0] : INFINITY;
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
        if (state->offer[l].lean[0] > 0)
            least = pri_least(least, state->offer[l].lean[0]);
    return least < INFINITY ? least / 2 : 1;
}

/* Prices are read by rows and rows by prices only, so that the order of the
 * nodes does not matter. */
void pri_server_newton_start(struct pri_server_newton *state)
{
    const struct pri_problem *problem = state->problem;
    state->next.sum = 0;
    for (int32_t i = 0; i < problem->nodes; i++) {
        double *dual = &state->next.dual[3 * (int64_t)i];
        dual[0] = 0;
        dual[1] = 0;
        dual[2] = state->server->bound[i] ? first_root(state, i) : 0;
    }
    for (int round = 0; round < 2; round++) {
        pri_sweep(problem, start_rows, state, NULL);
        pri_sweep(problem, start_prices, state, NULL);
    }
    pri_sweep(problem, start_rows, state, NULL);
}

void pri_server_newton_rows(struct pri_server_newton *state)
{
    pri_sweep(state->problem, start_rows, state, NULL);
}

void pri_server_newton_relax(struct pri_server_newton *state)
{
    pri_sweep(state->problem, start_prices, state, NULL);
    pri_sweep(state->problem, start_rows, state, NULL);
}

/* The row of a node at a level of minus the sum multiplier, if rows grow in
 * proportion to what they are allowed to cost; `full` is its gain when it is
 * full. */
static double row_at(const struct pri_problem *problem, int32_t i, double full,
                     double level)
{
    double penalty = problem->penalty, wanted = problem->wanted[i];
    if (problem->bias == PRICER_BIAS_L2)
        return pri_least(wanted,
                         (level + 2 * penalty * wanted) / (full + 2 * penalty));
    return full > 0 ? pri_least(wanted, (level + penalty) / full) : wanted;
}

/* The level at which it is twice the bias that it leaves. */
static double find_level(const struct pri_server_newton *state)
{
    const struct pri_problem *problem = state->problem;
    double low = 0, high = 2 * problem->wanted_sum;
    for (int step = 0; step < 30; step++) {
        double level = (low + high) / 2, bias = 0;
        for (int32_t i = 0; i < problem->nodes; i++) {
            double full = state->next.dual[3 * (int64_t)i];
            bias += problem->kind[i] & PRI_UNREACHED
                        ? problem->wanted[i]
                        : problem->wanted[i] - row_at(problem, i, full, level);
        }
        *(2 * bias > level ? &low : &high) = level;
    }
    return low;
}

void pri_server_newton_level(struct pri_server_newton *state)
{
    const struct pri_problem *problem = state->problem;
    double level = problem->summed ? find_level(state) : 0;
    state->next.sum = -level;
    for (int32_t i = 0; i < problem->nodes; i++) {
        double *dual = &state->next.dual[3 * (int64_t)i], full = dual[0];
        double row = problem->summed ? row_at(problem, i, full, level)
                                     : problem->wanted[i];
        dual[0] = pri_most(problem->lower_bound,
                           pri_least(problem->upper_bound, full - level));
        dual[1] = row * dual[1] - level;
        dual[2] *= row;
        if (problem->kind[i] & PRI_UNREACHED)
            dual[0] = pri_unreached_gain(problem, i);
        else if (problem->kind[i] & PRI_GAIN_FIXED)
            dual[0] = 0;
        if (problem->kind[i] & PRI_PRICE_TIED)
            dual[1] = -level;
    }
}
