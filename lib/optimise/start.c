/*
 * From costs to multipliers to begin with, in a few passes.
 *
 * With prices given, each gain solves an equation of one variable: its row
 * adds up to what it should. With gains given, each price does: its relay's
 * load. Both are convex and piecewise linear, and Newton's method from the
 * right side never passes the root. Alternating them is coordinate descent;
 * two rounds, and gains once more, come close enough for Newton on all of
 * them. Pairs count as two links.
 */
#include "newton.h"

struct beginning {
    const struct pri_system *system;
    const struct pri_problem *problem;
    const uint8_t *kind;
    double lower, upper; /* bounds of the gains */
    double *dual;
    double sum;   /* the sum multiplier */
    double level; /* of the bias, as it is tried */
};

/*
 * The row is convex and increasing in the gain, and its line with every link
 * in use lies below it, so Newton from the root of that line comes down to the
 * root of the row. A free own link takes up the rest where the gain reaches
 * the price.
 */
double pri_start_row(const struct pri_system *system, const uint8_t *kind,
                     const double *dual, int32_t i)
{
    const struct pri_problem *problem = system->problem;
    bool free = kind[i] & PRI_OWN_FREE;
    double price = dual[2 * (int64_t)i + 1], gain = INFINITY;
    double self = free ? 0 : problem->self[i].ease;
    double curvature = system->curvature[i];
    for (int trial = 0; trial < 20; trial++) {
        double sum = gain > price ? self : 0, cost = sum * price;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            double there = dual[2 * (int64_t)problem->to[l] + 1];
            double w = gain > there ? problem->thin[l].ease : 0;
            sum += w;
            cost += w * there;
        }
        double next =
            sum + curvature > 0 ? (1 + cost) / (sum + curvature) : gain;
        if (!(next < gain))
            break;
        gain = next;
    }
    return free ? pri_least(gain, price) : gain;
}

/* The price at which relay j's load is what it should be, gains given: the
 * mirror image, from the left. */
static double start_price(const struct beginning *state, int32_t j)
{
    const struct pri_problem *problem = state->problem;
    double gain = state->dual[2 * (int64_t)j], price = -INFINITY;
    bool free = state->kind[j] & PRI_OWN_FREE;
    double self = free ? 0 : problem->self[j].ease;
    double ease = state->system->ease[j];
    for (int trial = 0; trial < 20; trial++) {
        double sum = gain > price ? self : 0, bid = sum * gain;
        for (int32_t l = problem->start[j]; l < problem->start[j + 1]; l++) {
            double there = state->dual[2 * (int64_t)problem->to[l]];
            double w =
                there > price ? problem->thin[problem->partner[l]].ease : 0;
            sum += w;
            bid += w * there;
        }
        double next = (bid + ease * state->sum) / (sum + ease);
        if (!(next > price))
            break;
        price = next;
    }
    return free ? pri_most(price, gain) : price;
}

/* Gains read only prices and prices only gains, so the order of the nodes
 * does not matter. */
static void start_rows(void *context, int32_t low, int32_t high,
                       struct pri_sweep_sums *tally)
{
    struct beginning *state = context;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        if (state->kind[i] & (PRI_UNREACHED | PRI_GAIN_FIXED))
            continue;
        double gain = pri_start_row(state->system, state->kind, state->dual, i);
        state->dual[2 * (int64_t)i] =
            pri_most(state->lower, pri_least(state->upper, gain));
    }
}

static void start_prices(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct beginning *state = context;
    (void)tally;
    for (int32_t i = low; i < high; i++)
        if (!(state->kind[i] & (PRI_PRICE_TIED | PRI_PRICE_FIXED)))
            state->dual[2 * (int64_t)i + 1] = start_price(state, i);
}

static void sweep_rows(struct beginning *state)
{
    pri_sweep(state->problem, start_rows, state, NULL);
    pri_halo(state->problem, state->dual, 2);
}

static void sweep_prices(struct beginning *state)
{
    pri_sweep(state->problem, start_prices, state, NULL);
    pri_halo(state->problem, state->dual, 2);
}

/*
 * The bias that a level of minus the sum multiplier leaves, if rows grow in
 * proportion to what they are allowed to cost; the gain of a node is now what
 * its row costs when it is full.
 */
static void add_bias(void *context, int32_t low, int32_t high,
                     struct pri_sweep_sums *tally)
{
    const struct beginning *state = context;
    const struct pri_problem *problem = state->problem;
    double penalty = problem->penalty, level = state->level, bias = 0;
    bool soft = problem->bias == PRICER_BIAS_L2;
    for (int32_t i = low; i < high; i++) {
        double full = state->dual[2 * (int64_t)i], wanted = problem->wanted[i];
        double most = level + (soft ? 2 * penalty * wanted : penalty);
        double row = most / (soft ? full + 2 * penalty : full);
        if (state->kind[i] & PRI_UNREACHED)
            bias += wanted;
        else if (soft)
            bias += wanted - row;
        else
            bias += row < wanted ? wanted - row : 0;
    }
    tally->sum[0] += bias;
}

static double bias_at(struct beginning *state, double level)
{
    struct pri_sweep_sums total;
    state->level = level;
    pri_sweep(state->problem, add_bias, state, &total);
    return total.sum[0];
}

/* Shift everything to the level, within the bounds. */
static void lower(struct beginning *state, double level)
{
    const struct pri_problem *problem = state->problem;
    for (int32_t i = 0; i < problem->nodes; i++) {
        double *dual = &state->dual[2 * (int64_t)i];
        dual[0] = pri_most(problem->lower_bound,
                           pri_least(problem->upper_bound, dual[0] - level));
        dual[1] -= level;
        if (state->kind[i] & PRI_UNREACHED)
            dual[0] = pri_unreached_gain(problem, i);
        else if (state->kind[i] & PRI_GAIN_FIXED)
            dual[0] = 0;
        if (state->kind[i] & PRI_OWN_FREE)
            dual[1] = pri_most(dual[0], dual[1]);
    }
}

void pri_start(const struct pri_system *system, const uint8_t *kind,
               struct pri_point *point)
{
    const struct pri_problem *problem = system->problem;
    struct beginning state = {system,   problem,     kind, -INFINITY,
                              INFINITY, point->dual, 0,    0};
    point->sum = 0;
    for (int32_t i = 0; i < problem->nodes; i++) {
        point->dual[2 * (int64_t)i] = 0;
        point->dual[2 * (int64_t)i + 1] =
            kind[i] & PRI_OWN_FREE ? problem->crowd[i] : 0;
    }
    for (int round = 0; round < 2; round++) {
        sweep_rows(&state);
        sweep_prices(&state);
    }
    sweep_rows(&state);
}

void pri_start_level(const struct pri_system *system, const uint8_t *kind,
                     struct pri_point *point)
{
    const struct pri_problem *problem = system->problem;
    struct beginning state = {system,
                              problem,
                              kind,
                              problem->lower_bound,
                              problem->upper_bound,
                              point->dual,
                              point->sum,
                              0};
    double low = 0, high = 2 * problem->wanted_sum;
    for (int step = 0; step < 30 && problem->summed; step++) {
        double level = (low + high) / 2;
        *(2 * bias_at(&state, level) > level ? &low : &high) = level;
    }
    point->sum = problem->summed ? -low : 0;
    lower(&state, -point->sum);
}

void pri_start_relax(const struct pri_system *system, const uint8_t *kind,
                     double lower, double upper, struct pri_point *point)
{
    const struct pri_problem *problem = system->problem;
    struct beginning state = {system, problem,     kind,       lower,
                              upper,  point->dual, point->sum, 0};
    sweep_prices(&state);
    sweep_rows(&state);
}
