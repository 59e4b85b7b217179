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
 * are known to rounding, and where not. */
#define PART_EXACT 1e-11
#define PART 1e-5

/* A bracket that is narrower, relative to eps, needs no further line. */
#define ENOUGH 5e-4
#define NEAR 4e-3

/* Beyond this an eps is not worth more than the first lines. */
#define EPS_MATTERS 1e4

/* How much louder the loudest pattern of a shell is than the quietest. */
#define SHELL 16

/* By how much of eps lines are blurred at first. */
#define BLUR 5e-4

/* Nodes times groups of variances, at most, and nodes where more are many. */
#define STEPS_MOST 4e5
enum { NODES_MANY = 200, NODES_MOST = 20000, LINES = 3, SHELL_LINES = 6 };

/* A guess of eps, better than the bound: with Laplace's approximation of the
 * integral along the line. */
static double guess_eps(const struct pri_sums *model, double delta,
                        struct pri_saddle saddle)
{
    double s = saddle.s, step = .02 * s, kernel = 0;
    double at = pri_sums_guess(model, s), curved = 0;
    for (int k = -1; k <= 1; k++) {
        double here = s + k * step, weight = k == 0 ? -2 : 1;
        curved +=
            weight * (pri_sums_guess(model, here) +
                      pri_log_phi(model->function.kernel, saddle.eps, here));
    }
    curved /= step * step;
    kernel = s * sqrt(2 * M_PI * fmax(curved, 1e-300));
    double guess = pri_chernoff_eps(model->function.kernel, at, s,
                                    delta * fmax(kernel, 1));
    return isfinite(guess) ? fmin(guess, saddle.eps) : saddle.eps;
}

/* A bound on |Z^rounds - unseen^rounds| beyond a place on the line, relative to
 * e^log_most; `rough`: about that. */
static double edge_at(const struct pri_sums *model, const struct pri_line *line,
                      double over, bool rough)
{
    double complex s = line->sigma + over * I;
    double rest = 1, more = 0, log_scale = 0;
    for (int32_t k = 0; k <= model->factors; k++) {
        double part, whole, unseen;
        if (k < model->factors) {
            struct pri_mgf *factor = &model->factor[k];
            log_scale += pri_factor_again(&model->function, factor, line->sigma,
                                          &part, &unseen);
            whole = unseen + part;
            part = (rough ? pri_factor_size : pri_factor_edge)(&model->function,
                                                               factor, s);
        } else if (model->exact != NULL) {
            log_scale +=
                pri_exact_real(model->exact, line->sigma, &part, &unseen);
            whole = unseen + part;
            part = pri_exact_edge(model->exact, s);
        } else {
            break;
        }
        more = (more * (unseen + part) + rest * part) / whole;
        rest *= unseen / whole;
        log_scale += log(whole);
    }
    double rounds = (double)model->rounds;
    double log_edge = pri_log_rounds(rest, more, rounds) + rounds * log_scale -
                      line->log_most;
    return fmin(exp(log_edge) * (1 + 1e-9), 1);
}

/* How many nodes there must be, and the edge that goes with them: by sketches
 * first, which take less time, but what they say counts for nothing. */
static int32_t count_nodes(const struct pri_sums *model, double goal,
                           double eps, int32_t most, struct pri_line *line)
{
    bool mean = line->kernel == PRI_MEAN, rough = model->exact == NULL;
    int32_t count = 4;
    for (; count < most; count += 2 + count / 12) {
        double over = line->step * (count - 1);
        if (!mean)
            line->edge = edge_at(model, line, over, rough);
        if (pri_line_tail(line, eps, count) > goal)
            continue;
        if (mean || !rough)
            return count;
        rough = false;
        line->edge = edge_at(model, line, over, rough);
        if (pri_line_tail(line, eps, count) <= goal)
            return count;
    }
    if (!mean && rough)
        line->edge = edge_at(model, line, line->step * (count - 1), false);
    return count;
}

static int32_t most_nodes(const struct pri_sums *model)
{
    int32_t groups = 1;
    for (int32_t k = 0; k < model->factors; k++)
        groups += model->factor[k].law.count;
    return (int32_t)fmin(STEPS_MOST / groups, NODES_MOST) + NODES_MANY;
}

/* Where the line goes, how far apart its nodes are and how many. False if there
 * would be too many. */
static bool choose_line(const struct pri_sums *model, double goal, double eps,
                        double sigma, struct pri_line *line)
{
    static const double times[PRI_FURTHER] = {2, 1.5, 1.25, 3, 4};
    double rounds = (double)model->rounds;
    bool mean = model->function.kernel == PRI_MEAN;
    line->kernel = model->function.kernel;
    line->sigma = sigma;
    line->most = mean ? rounds * model->most : INFINITY;
    line->log_most = pri_sums_log(model, sigma);
    line->step = 2 * M_PI * sigma / log1p(line->mass / goal);
    line->edge = 1;
    line->blur = 0;
    for (int k = 0; k < PRI_FURTHER; k++) {
        line->further[k] = times[k] * sigma;
        line->log_further[k] = INFINITY;
    }
    /* What is beyond is nothing with the first of them, as a rule. */
    for (int k = 0;
         k < PRI_FURTHER && pri_line_beyond(line, eps, line->step) > .01 * goal;
         k++)
        line->log_further[k] = pri_sums_log(model, line->further[k]);
    for (int k = 0; k < 12; k++)
        if (pri_line_beyond(line, eps, line->step) > goal)
            line->step /= 1.25;
    line->count = count_nodes(model, goal, eps, most_nodes(model), line);
    return isfinite(line->log_most);
}

/* Blur a line that would be too long, so that it need not be: by as little as
 * brings it to an end. */
static bool blur_line(const struct pri_sums *model, double goal, double eps,
                      struct pri_line *line)
{
    double scale = line->kernel == PRI_MEAN ? 2 * eps : eps;
    bool able = true;
    for (double part = BLUR; part < 16 * BLUR && able; part *= 2) {
        line->shift = 0;
        able = choose_line(model, goal, eps, line->sigma, line);
        line->blur = part * scale / PRI_BLURS;
        line->shift = part * scale * (1 + 1e-9);
        line->count = count_nodes(model, goal, eps, most_nodes(model), line);
        if (pri_line_tail(line, eps, line->count) <= goal)
            break;
    }
    return able;
}

/* Whether another kernel can be tried: that of data, all sums independent. */
static bool has_kernels(const struct pri_sums *model)
{
    return model->function.dimension == 0 && model->exact == NULL;
}

/* The line of a shell, at the s that is best for a guess of eps. Data has two
 * kernels: where PRI_MEAN would need many nodes, PRI_LOSS may need fewer. */
static bool place_plain(struct pri_sums *model, double goal, double guess,
                        double s, struct pri_line *line)
{
    double log_bound = INFINITY, slack = 4e-9 * (double)model->rounds;
    line->shift = 0;
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
    if (!has_kernels(model) || model->function.kernel == PRI_LOSS ||
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
    if (!able || line->count == 0 || model->exact != NULL ||
        pri_line_tail(line, guess, line->count) <= goal)
        return able;
    model->function.kernel = line->kernel;
    able = blur_line(model, fmax(part, PART) * delta, guess, line);
    model->function.kernel = kernel;
    return able;
}

/* Where shells end, the loudest first; none is empty. Returns how many there
 * are. */
static int32_t cut_shells(struct pri_sums *model, double *cut)
{
    double most, least;
    int32_t shells = 0;
    pri_sums_loudness(model, &most, &least);
    cut[0] = INFINITY;
    double next = most / SHELL;
    for (; next > least && shells < PRI_SHELLS - 1; next /= SHELL) {
        pri_sums_shell(model, cut[shells], next);
        if (model->seen > 0)
            cut[++shells] = next;
    }
    cut[++shells] = 0;
    return shells;
}

/* The lines of all shells for a guess of eps, with their values. */
static enum pricer_status draw(struct pri_sums *model, double delta,
                               double part, double guess, double s,
                               const double *cut, int32_t shells, bool placed,
                               struct pri_scratch *scratch, bool *able)
{
    enum pri_kernel kernel = model->function.kernel;
    enum pricer_status status = PRICER_OK;
    *able = !placed || shells > 1 || *able;
    for (int32_t k = 0; k < shells && status == PRICER_OK && *able; k++) {
        struct pri_line *line = &scratch->line[k];
        if (shells > 1)
            pri_sums_shell(model, cut[k], cut[k + 1]);
        if (shells > 1 || !placed)
            *able = place_line(model, part, delta / shells, guess, s, line);
        line->next = k + 1 < shells ? line + 1 : NULL;
        line->growth = model->growth;
        line->loose = expm1((double)model->rounds * model->loose) * (1 + 1e-9);
        for (int side = 0; side < 2; side++)
            line->more[side] = model->more[side];
        model->function.kernel = line->kernel;
        if (*able)
            status = pri_sums_walk(model, guess, scratch, line);
        model->function.kernel = kernel;
        if (*able && status == PRICER_OK)
            pri_line_prepare(line);
    }
    return status;
}

/* A guess of eps for shells: that of the shell that needs the largest. */
static double guess_shells(struct pri_sums *model, double delta,
                           const double *cut, int32_t shells)
{
    double most = 0;
    for (int32_t k = 0; k < shells; k++) {
        pri_sums_shell(model, cut[k], cut[k + 1]);
        struct pri_saddle saddle = pri_sums_saddle(model, delta);
        if (saddle.eps > most && isfinite(saddle.eps))
            most = fmax(most, guess_eps(model, delta, saddle));
    }
    return most;
}

/* Lines for a guess of eps; shells if one line would have many nodes. */
static enum pricer_status draw_all(struct pri_sums *model, double delta,
                                   double part, double *guess, double s,
                                   double *cut, bool apart, int32_t *shells,
                                   struct pri_scratch *scratch, bool *able)
{
    bool placed = *shells == 1;
    if (placed) {
        *able = place_line(model, part, delta, *guess, s, scratch->line);
        bool many = apart || !*able || scratch->line->count > NODES_MANY;
        if (many && model->exact == NULL) {
            *shells = cut_shells(model, cut);
            if (*shells > 1)
                *guess = guess_shells(model, delta, cut, *shells);
            s = 0;
        }
    }
    return draw(model, delta, *shells > 1 ? fmax(part, PART) : part, *guess, s,
                cut, *shells, placed, scratch, able);
}

/* What was spent on one guess. */
static int64_t nodes_of(const struct pri_line *line)
{
    int64_t nodes = 0;
    for (; line != NULL; line = line->next)
        nodes += line->count;
    return nodes;
}

enum pricer_status pri_sums_bracket(struct pri_sums *model, double delta,
                                    struct pri_saddle saddle, int sides,
                                    struct pri_scratch *scratch,
                                    struct pri_bracket *found)
{
    double left = delta - model->more[PRI_ABOVE], cut[PRI_SHELLS + 1];
    bool sharp = model->exact_laws && model->exact == NULL &&
                 model->function.dimension == 0;
    double part = sharp ? PART_EXACT : PART, s = saddle.s;
    double guess = guess_eps(model, left, saddle);
    enum pricer_status status = PRICER_OK;
    int32_t shells = 1;
    bool both =
        sides == (1 << PRI_BELOW | 1 << PRI_ABOVE) && saddle.eps < EPS_MATTERS;
    bool able = true, apart = false; /* shells whatever one line would take */
    for (int try = 0; try < (shells > 1 ? SHELL_LINES : LINES); try++) {
        status = draw_all(model, left, part, &guess, s, cut, apart, &shells,
                          scratch, &able);
        if (status != PRICER_OK || !able)
            break;
        double high = fmin(saddle.eps, found->eps), low = found->eps_lower;
        double eps = high;
        if (sides >> PRI_ABOVE & 1)
            eps = pri_line_eps(scratch->line, delta, PRI_ABOVE, 0, high, guess);
        if (sides >> PRI_BELOW & 1)
            low = pri_line_eps(scratch->line, pri_delta_for(delta, PRI_BELOW),
                               PRI_BELOW, low, fmin(eps, found->eps),
                               eps * (1 - 1e-9));
        /* A model that proves the lower end only says nothing of the upper. */
        if (sides >> PRI_ABOVE & 1)
            found->eps = fmin(found->eps, eps);
        found->eps_lower = fmax(found->eps_lower, low);
        double next = sides >> PRI_ABOVE & 1 ? eps : low;
        bool stuck = fabs(next - guess) < .003 * guess;
        /* Shells that count by Chernoff alone hold eps up: look lower. */
        bool lower = shells > 1 && both && found->eps_lower < next / 2;
        bool done =
            stuck && !lower && (apart || !both || pri_within(found, NEAR));
        if (isinf(found->eps) || pri_within(found, ENOUGH) || done ||
            (try + 1 >= LINES && nodes_of(scratch->line) > 10 * NODES_MANY))
            break;
        apart = apart || stuck;
        guess = lower ? fmax(next / 16, found->eps_lower) : next;
        s = 0;
    }
    if (shells > 1)
        pri_sums_shell(model, INFINITY, 0);
    return status;
}
