/*
 * From a view whose links are coupled to its moment generating function along a
 * line, all couplings at once: exact.h.
 *
 * How long this takes depends on how many sums there are and how strongly they
 * are coupled. What the sum over couplings leaves out and rounding are bounded,
 * at every node by itself.
 */
#include "exact.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* What all couplings that are left out should cost at most, in parts of the first
 * term of a line, and in goals of the line. */
#define REST_PART 2e-4
#define REST_GOALS 20

/* Where all rounds together have more than this part of uncertainty even at the
 * real s, it is not worth it. */
#define HOPELESS 0.1

/* No exponent is larger than this. */
#define EXPONENT_MOST 300

enum { TABLE_MOST = 1 << 19, NODES_LEAST = 16, DEPTHS = PRI_DEPTH_MOST + 1 };

void pri_exact_free(struct pri_exact *exact)
{
    if (exact != NULL)
        pri_coupling_free(&exact->coupling);
    free(exact);
}

/* The sums that pairs are about, with the noises where they are; `some` has
 * room for all. */
static void keep_coupled(const struct pri_view *view, bool *apart,
                         int32_t *place, struct pri_view *some)
{
    for (int32_t k = 0; k < view->sources; k++)
        apart[k] = true;
    for (int32_t k = 0; k < view->pairs; k++)
        apart[view->pair[k].source] = apart[view->pair[k].other] = false;
    for (int32_t k = 0; k < view->sources; k++) {
        place[k] = some->sources;
        if (!apart[k])
            some->source[some->sources++] = view->source[k];
    }
    for (int32_t k = 0; k < view->pairs; k++) {
        some->pair[k] = view->pair[k];
        some->pair[k].source = place[view->pair[k].source];
        some->pair[k].other = place[view->pair[k].other];
    }
}

/* What the tables of one node cost, in steps of about a nanosecond. */
static double table_cost(const struct pri_coupling *coupling)
{
    double entry = coupling->function.kernel == PRI_LOSS ? 100 : 8;
    return (double)coupling->table * entry +
           (double)coupling->vertices * (coupling->vertices * 64 + 200);
}

/* What is known of all sums. */
static void set_range(const struct pri_view *some, double work,
                      struct pri_exact *exact)
{
    const struct pri_function *function = &exact->coupling.function;
    exact->budget = work;
    exact->nodes = work / (2.2 * table_cost(&exact->coupling));
    exact->unseen = 1;
    exact->strip = INFINITY;
    for (int32_t k = 0; k < some->sources; k++)
        exact->unseen *= pri_unseen(&some->source[k]);
    /* With against without: where the generating function is finite. */
    for (int32_t v = 0; v < some->sources && function->direction > 0; v++) {
        const struct pri_vertex *vertex = &exact->coupling.vertex[v];
        for (uint32_t x = 0; x < (uint32_t)1 << vertex->bits; x++)
            if (vertex->height[x] > 0 && vertex->own > 0)
                exact->strip =
                    fmin(exact->strip, vertex->height[x] / vertex->own);
    }
}

enum pricer_status pri_exact_build(const struct pri_view *view,
                                   const struct pri_function *function,
                                   double hide, double work, bool *apart,
                                   struct pri_exact **result)
{
    struct pri_exact *exact = pri_alloc(1, sizeof *exact);
    int32_t *place = pri_alloc(view->sources, sizeof *place);
    struct pri_view some = {.noises = view->noises,
                            .pairs = view->pairs,
                            .noise = view->noise,
                            .dimension = view->dimension};
    some.source = pri_alloc(view->sources, sizeof *some.source);
    some.pair = pri_alloc(view->pairs, sizeof *some.pair);
    enum pricer_status status = PRICER_MEMORY;
    bool able = false;
    if (exact && place && some.source && some.pair) {
        keep_coupled(view, apart, place, &some);
        status = pri_coupling_build(&some, function, hide, TABLE_MOST,
                                    &exact->coupling, &able);
    }
    if (able)
        set_range(&some, work, exact);
    *result = able && exact->nodes >= NODES_LEAST ? exact : NULL;
    if (*result == NULL)
        pri_exact_free(exact);
    free(place);
    free(some.source);
    free(some.pair);
    return status;
}

double pri_exact_real(struct pri_exact *exact, double complex s, double *shown,
                      double *unseen)
{
    struct pri_coupling *coupling = &exact->coupling;
    double log_bound = INFINITY, real = creal(s);
    double place = creal(pri_mean_place(&coupling->function, real));
    if (place * coupling->highest < EXPONENT_MOST && real < exact->strip) {
        pri_coupling_begin(coupling, real);
        pri_coupling_balance(coupling);
        log_bound = pri_coupling_parts(coupling) + 1e-9;
    }
    if (!isfinite(log_bound)) {
        *shown = INFINITY;
        *unseen = 0;
        return 0;
    }
    *unseen = exact->unseen * exp(-log_bound);
    *shown = fmax(1 - *unseen, 0) + DBL_EPSILON;
    if (cimag(s) != 0) { /* entries of e^g fall in size along the line */
        pri_coupling_sizes(coupling, s);
        pri_coupling_balance(coupling);
        double size = pri_coupling_parts(coupling) - log_bound +
                      4 * DBL_EPSILON * coupling->units * coupling->vertices;
        *shown = fmax(exp(size) * (1 + 1e-9) - *unseen, 0);
    }
    return log_bound;
}

/* ------------------------------------------------------------------ line -- */

/* How much a node weighs in the sum over the line, as a logarithm. */
static double log_weight(const struct pri_line *line, double eps, int32_t n)
{
    double complex s = line->sigma + line->step * n * I;
    double complex root = csqrt(1 + 8 * s);
    if (line->kernel == PRI_LOSS)
        return -log(cabs(s * (1 + s)));
    return -eps / 2 * creal(root) - log(cabs(root * s));
}

/* Go to the next node of a line, at first to its real s. */
static void go_to(struct pri_coupling *coupling, const struct pri_line *line,
                  int32_t n)
{
    if (n > 0) {
        pri_coupling_advance(coupling);
    } else {
        pri_coupling_begin(coupling, line->sigma);
        pri_coupling_balance(coupling);
        pri_coupling_aim(coupling, line->step);
    }
    pri_coupling_parts(coupling);
}

/* How deep to sum at every node, for the least error that the budget allows, or
 * all that is asked for: a step deeper must take so much off the error of the
 * line for what it costs, a price that falls. But sums no dearer than the
 * tables are free. What each depth leaves out comes weighted in `rest`. */
static void plan_depths(struct pri_coupling *coupling, double budget,
                        double free, double enough, int32_t count,
                        const double *rest, int32_t *depth)
{
    double cost[DEPTHS], left = INFINITY, spent = 0, price = 1;
    for (int32_t d = 0; d < DEPTHS; d++)
        cost[d] = pri_coupling_cost(coupling, d);
    for (int k = 0;
         k < 400 && (left > enough || spent < free || spent > budget); k++) {
        bool last = spent > budget; /* the price before was the one */
        left = spent = 0;
        price *= last ? 1 / .7 / .7 : 1;
        for (int32_t n = 0; n < count; n++) {
            const double *at = rest + (int64_t)n * DEPTHS;
            int32_t d = 0;
            while (d < PRI_DEPTH_MOST &&
                   at[d] - at[d + 1] > price * (cost[d + 1] - cost[d]))
                d++;
            depth[n] = d;
            left += at[d];
            spent += cost[d];
        }
        if (last)
            break;
        price *= .7;
    }
}

/* What all depths leave out at every node, as parts of the line's sum. */
static void look_ahead(struct pri_coupling *coupling,
                       const struct pri_line *line, double eps, double *rest)
{
    for (int32_t n = 0; n < line->count; n++, rest += DEPTHS) {
        double weight =
            exp(log_weight(line, eps, n) - log_weight(line, eps, 0));
        go_to(coupling, line, n);
        pri_coupling_rest(coupling, rest);
        for (int32_t d = 0; d < DEPTHS; d++)
            rest[d] *= weight;
    }
}

/* Z at all nodes, each to its depth. */
static enum pricer_status sum_along(struct pri_coupling *coupling,
                                    const struct pri_line *line,
                                    double log_unit, const int32_t *depth,
                                    double complex *value, double *error)
{
    enum pricer_status status = PRICER_OK;
    double rest[DEPTHS];
    for (int32_t n = 0; n < line->count && status == PRICER_OK; n++) {
        double complex sum = 0;
        go_to(coupling, line, n);
        double unit = exp((double)(coupling->log_scale - log_unit));
        pri_coupling_rest(coupling, rest);
        status = pri_coupling_sum(coupling, depth[n], &sum);
        value[n] = unit * sum;
        error[n] = unit * (rest[depth[n]] + pri_coupling_rounding(coupling) +
                           32 * DBL_EPSILON * cabs(sum));
    }
    return status;
}

enum pricer_status pri_exact_along(struct pri_exact *exact,
                                   const struct pri_line *line, double eps,
                                   int64_t rounds, double complex *value,
                                   double *error)
{
    struct pri_coupling *coupling = &exact->coupling;
    int32_t count = line->count;
    double shown, unseen, tables = 2 * count * table_cost(coupling);
    double off = 4 * DBL_EPSILON * (coupling->vertices + 4); /* of unseen */
    double log_unit = pri_exact_real(exact, line->sigma, &shown, &unseen);
    double *rest = pri_alloc((int64_t)count * DEPTHS, sizeof *rest);
    int32_t *depth = pri_alloc(count, sizeof *depth);
    enum pricer_status status =
        rest == NULL || depth == NULL ? PRICER_MEMORY : PRICER_OK;
    bool able = isfinite(shown) && tables < exact->budget;
    double first =
        line->step / (2 * M_PI * line->sigma) *
        exp(line->log_most + pri_log_phi(line->kernel, eps, line->sigma));
    double enough = fmin(REST_PART, REST_GOALS * line->goal / first);
    if (able && status == PRICER_OK) {
        look_ahead(coupling, line, eps, rest);
        plan_depths(coupling, exact->budget, tables, enough / (double)rounds,
                    count, rest, depth);
        able = (double)rounds * rest[depth[0]] < HOPELESS;
    }
    if (able && status == PRICER_OK)
        status = sum_along(coupling, line, log_unit, depth, value, error);
    for (int32_t n = 0; n < count; n++) {
        value[n] = able ? value[n] - unseen : 0;
        error[n] = able ? error[n] + off * unseen : 1;
    }
    free(rest);
    free(depth);
    return status;
}
