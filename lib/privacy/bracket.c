/*
 * From a moment generating function to a bracket around eps: where the line
 * should go, its values, and both ends. The place of the line decides only how much
 * its errors are, not whether the ends hold (docs/mathematics.md, The engine).
 */
#include "bracket.h"
#include "exact.h"

#include <float.h>
#include <math.h>

/* Parts of delta that the ends of the line should cost at most: where values
 * are known to rounding, of fine lines, and where they are not. */
#define PART_EXACT 1e-11
#define PART_FINE 1e-13
#define PART 1e-5
#define PART_BLURRED 3e-4

/* Parts of eps: ends that need no further line, or none more; the most of a blur. */
#define ENOUGH 5e-4
#define NEAR 4e-3
#define BLUR_MOST 4.5e-3

/* Nodes where more are many, and where more are too many. */
enum { NODES_MANY = 200, NODES_MOST = 30000, LINES = 3, SHELL_LINES = 8 };

/* A guess of eps, better than the bound: with Laplace's approximation of the
 * integral along the line. */
static double guess_eps(const struct pri_sums *model, double delta,
                        struct pri_saddle saddle)
{
    double s = saddle.s, step = .02 * s;
    double at = pri_sums_log(model, s, true), curved = 0;
    for (int k = -1; k <= 1; k++) {
        double here = s + k * step, weight = k == 0 ? -2 : 1;
        curved +=
            weight * (pri_sums_log(model, here, true) +
                      pri_log_phi(model->function.kernel, saddle.eps, here));
    }
    double times = s / step * sqrt(2 * M_PI * fmax(curved, 0));
    double guess =
        pri_chernoff_eps(model->function.kernel, at, s, delta * fmax(times, 1));
    return isfinite(guess) ? fmin(guess, saddle.eps) : saddle.eps;
}

/* Whether so many nodes are enough; PRI_LOSS: with the edge that goes with them,
 * which counts for nothing if it is rough. */
static bool is_enough(const struct pri_sums *model, double goal, double eps,
                      int32_t count, bool rough, struct pri_line *line)
{
    double complex s = line->sigma + line->step * (count - 1) * I;
    if (line->kernel == PRI_LOSS) {
        double edge = exp(pri_sums_log(model, s, rough) - line->log_most);
        line->edge = fmin(edge * (1 + 1e-9), 1);
    }
    return pri_line_tail(line, eps, count) <= goal;
}

/* How many nodes there must be, unless that would take too long. */
static int32_t count_nodes(const struct pri_sums *model, double goal,
                           double eps, struct pri_line *line)
{
    int32_t count = 4, groups = 1;
    for (int32_t k = 0; k < model->factors; k++)
        groups += model->factor[k].law.count;
    double most =
        fmin(model->steps / groups, model->fine ? 2 * NODES_MOST : NODES_MOST) +
        NODES_MANY;
    if (model->exact != NULL)
        most = fmin(most, model->exact->nodes);
    while (count < most && !is_enough(model, goal, eps, count, true, line))
        count += 2 + count / 12;
    while (!is_enough(model, goal, eps, count, false, line) && count < most)
        count += 2 + count / 12;
    return count;
}

/* Where the line goes, how far apart its nodes are and how many. False if there
 * would be too many. */
static bool choose_line(const struct pri_sums *model, double goal, double eps,
                        double sigma, struct pri_line *line)
{
    static const double times[PRI_FURTHER] = {2, 1.5, 1.25, 3, 4, 1.06};
    double rounds = (double)model->rounds, end = .98 * model->strip;
    line->kernel = model->function.kernel;
    line->sigma = sigma;
    line->most = line->kernel == PRI_MEAN ? rounds * model->most : INFINITY;
    line->log_most = pri_sums_log(model, sigma, false);
    line->step = 2 * M_PI * sigma / log1p(line->mass / goal);
    line->edge = 1;
    line->blur = 0;
    for (int k = 0; k < PRI_FURTHER; k++) {
        line->further[k] = fmin(times[k] * sigma, (sigma + end) / 2);
        line->log_further[k] = INFINITY;
    }
    /* What is beyond is nothing with the first of them, as a rule. */
    for (int k = 0;
         k < PRI_FURTHER && pri_line_beyond(line, eps, line->step) > .01 * goal;
         k++)
        line->log_further[k] = pri_sums_log(model, line->further[k], false);
    for (int k = 0; k < 12; k++)
        if (pri_line_beyond(line, eps, line->step) > goal)
            line->step /= 1.25;
    /* Close to where M ends little is known of what is beyond: keep away. */
    if (sigma > .7 * model->strip && sigma * eps < 100 &&
        pri_line_beyond(line, eps, line->step) > goal)
        return choose_line(model, goal, eps, .95 * sigma, line);
    line->count = count_nodes(model, goal, eps, line);
    return isfinite(line->log_most);
}

/* Blur a line that would be too long, so that it need not be: by as little as
 * brings it to an end. */
static bool blur_line(const struct pri_sums *model, double goal, double eps,
                      struct pri_line *line)
{
    double scale = line->kernel == PRI_MEAN ? 2 * eps : eps;
    bool able = choose_line(model, goal, eps, line->sigma, line);
    double shape = line->log_most - log(goal) + 1 +
                   pri_log_phi(line->kernel, eps, line->sigma);
    for (double part = model->blur; part < BLUR_MOST && able; part *= 1.2) {
        line->blur = part * scale;
        line->shift = part * scale * (1 + 1e-9);
        line->shape = fmin(fmax(shape, 8), 32);
        line->count = count_nodes(model, goal, eps, line);
        /* A window that the line does not reach the end of does nothing. */
        double end = line->step * line->count * line->shift / 2;
        if (!(pri_line_tail(line, eps, line->count) <= goal))
            line->shape = fmin(line->shape, fmax(.9 * end, 4));
        if (pri_line_tail(line, eps, line->count) <= goal)
            break;
    }
    return able;
}

/* The line of a shell, at the s that is best for a guess of eps. Data has two
 * kernels: where PRI_MEAN would need many nodes, PRI_LOSS may need fewer. */
static bool place_plain(struct pri_sums *model, double goal, double guess,
                        double s, struct pri_line *line)
{
    double log_bound = INFINITY, slack = 4e-9 * (double)model->rounds;
    line->shift = 0;
    line->goal = goal;
    pri_sums_mass(model, &line->mass, &line->left);
    line->least = fmax(line->mass * (1 - slack * (model->factors + 1)), 0);
    if (line->mass <= goal || line->left * exp(guess) <= goal) {
        line->kernel = model->function.kernel;
        line->count = 0;
        line->sigma = line->log_most = 0;
        return true;
    }
    if (s == 0)
        s = pri_sums_place(model, guess, &log_bound);
    bool able = choose_line(model, goal, guess, s, line);
    if (log_bound < log(goal))
        line->count = 0;
    if (model->exact != NULL || model->function.kernel == PRI_LOSS ||
        (able && line->count <= NODES_MANY))
        return able;
    int32_t before = able ? line->count : INT32_MAX;
    model->function.kernel = PRI_LOSS;
    double other = pri_sums_place(model, guess, &log_bound);
    bool better = isfinite(log_bound) &&
                  choose_line(model, goal, guess, other, line) &&
                  line->count < before;
    model->function.kernel = PRI_MEAN;
    return better || choose_line(model, goal, guess, s, line);
}

static bool place_line(struct pri_sums *model, double part, double delta,
                       double guess, double s, struct pri_line *line)
{
    double goal = part * delta;
    enum pri_kernel kernel = model->function.kernel;
    bool able = place_plain(model, goal, guess, s, line);
    bool tiring = line->kernel == PRI_LOSS && line->count > 10 * NODES_MANY;
    if (!able || line->count == 0 ||
        (!tiring && pri_line_tail(line, guess, line->count) <= goal))
        return able;
    if (part < PART)
        return place_line(model, PART, delta, guess, s, line);
    model->function.kernel = line->kernel;
    able = blur_line(model, goal = PART_BLURRED * delta, guess, line);
    model->cut_short = model->cut_short ||
                       line->shift > guess * model->blur * 2.5 ||
                       !(pri_line_tail(line, guess, line->count) <= goal);
    model->function.kernel = kernel;
    return able;
}

/* The search for one bracket. */
struct hunt {
    struct pri_sums *model;
    struct pri_line *line; /* [shells] */
    double delta, part;
    double guess, s; /* of eps, and where the line goes, or 0 */
    double cut[PRI_SHELLS + 1];
    int32_t shells, nodes;
    bool apart; /* shells whatever one line would take */
};

static void go_to_shell(const struct hunt *hunt, int32_t shell)
{
    if (hunt->shells > 1)
        pri_sums_shell(hunt->model, hunt->cut[shell], hunt->cut[shell + 1]);
}

/* The places of all lines for the guess. */
static bool place_lines(const struct hunt *hunt)
{
    bool coarse = hunt->shells > 1 && !hunt->model->fine;
    double part = coarse ? fmax(hunt->part, PART) : hunt->part;
    bool able = true;
    for (int32_t k = 0; k < hunt->shells && able; k++) {
        go_to_shell(hunt, k);
        able = place_line(hunt->model, part, hunt->delta / hunt->shells,
                          hunt->guess, hunt->s, &hunt->line[k]);
    }
    return able;
}

/* A guess of eps for shells: that of the shell that needs the largest. */
static double guess_shells(const struct hunt *hunt)
{
    double most = 0;
    for (int32_t k = 0; k < hunt->shells; k++) {
        go_to_shell(hunt, k);
        struct pri_saddle saddle = pri_sums_saddle(hunt->model, hunt->delta);
        if (saddle.eps > most && isfinite(saddle.eps))
            most = fmax(most, guess_eps(hunt->model, hunt->delta, saddle));
    }
    return most;
}

/* Lines for the guess, with their values; shells if one line would have many
 * nodes. */
static enum pricer_status draw(struct hunt *hunt, struct pri_scratch *scratch,
                               bool *able)
{
    struct pri_sums *model = hunt->model;
    const enum pri_kernel kernel = model->function.kernel;
    enum pricer_status status = PRICER_OK;
    hunt->nodes = 0;
    *able = place_lines(hunt);
    int32_t many = model->fine ? 10 * NODES_MANY : NODES_MANY;
    if (hunt->shells == 1 && model->exact == NULL &&
        (hunt->apart || !*able || hunt->line->count > many)) {
        hunt->shells = pri_sums_cut(model, hunt->cut);
        hunt->s = 0;
        if (hunt->shells > 1) {
            hunt->guess = guess_shells(hunt);
            *able = place_lines(hunt);
        }
    }
    for (int32_t k = 0; k < hunt->shells && status == PRICER_OK && *able; k++) {
        struct pri_line *line = &hunt->line[k];
        go_to_shell(hunt, k);
        hunt->nodes += line->count;
        line->next = k + 1 < hunt->shells ? line + 1 : NULL;
        line->growth = model->growth;
        line->loose = expm1((double)model->rounds * model->loose) * (1 + 1e-9);
        for (int side = 0; side < 2; side++)
            line->more[side] = model->more[side];
        model->function.kernel = line->kernel;
        status = pri_sums_walk(model, hunt->guess, scratch, line);
        model->function.kernel = kernel;
        if (status == PRICER_OK)
            pri_line_prepare(line);
    }
    return status;
}

enum pricer_status pri_sums_bracket(struct pri_sums *model, double delta,
                                    struct pri_saddle saddle, int sides,
                                    struct pri_scratch *scratch,
                                    struct pri_bracket *found)
{
    bool above = sides >> PRI_ABOVE & 1, below = sides >> PRI_BELOW & 1;
    bool able, both = above && below && (model->fine || saddle.eps < PRI_LARGE);
    bool coupled = model->exact != NULL, exact = model->exact_laws && !coupled;
    double sharp = model->fine ? PART_FINE : exact ? PART_EXACT : PART;
    struct hunt hunt = {.model = model,
                        .line = scratch->line,
                        .delta = delta - model->more[PRI_ABOVE],
                        .part = model->function.dimension > 0 ? PART : sharp,
                        .s = coupled && both ? 0 : saddle.s,
                        .shells = 1};
    enum pricer_status status = PRICER_OK;
    hunt.guess = guess_eps(model, hunt.delta, saddle);
    for (int try = 0; try < (hunt.shells > 1 ? SHELL_LINES : LINES); try++) {
        status = draw(&hunt, scratch, &able);
        if (status != PRICER_OK || !able)
            break;
        /* A model that proves the lower end only says nothing of the upper. */
        double eps = fmin(saddle.eps, found->eps);
        if (above)
            eps = found->eps =
                pri_line_eps(hunt.line, delta, PRI_ABOVE, 0, eps, hunt.guess);
        if (below)
            found->eps_lower = pri_line_eps(
                hunt.line, pri_delta_for(delta, PRI_BELOW), PRI_BELOW,
                found->eps_lower, eps, eps * (1 - 1e-9));
        double next = above ? eps : found->eps_lower;
        bool stuck = fabs(next - hunt.guess) < .003 * hunt.guess;
        /* Shells that count by Chernoff alone hold eps up: look lower. */
        bool lower = hunt.shells > 1 && both && found->eps_lower < .98 * next;
        bool done = stuck && !lower &&
                    (hunt.apart || !both || coupled || pri_within(found, NEAR));
        if (isinf(found->eps) || pri_within(found, ENOUGH) || done ||
            (try + 1 >= LINES && hunt.nodes > 10 * NODES_MANY && !model->fine))
            break;
        hunt.apart = hunt.apart || stuck;
        hunt.guess =
            lower ? fmax(next / 16, try % 2 ? 0 : found->eps_lower) : next;
        hunt.s = 0;
    }
    if (hunt.shells > 1)
        pri_sums_shell(model, INFINITY, 0);
    return status;
}
