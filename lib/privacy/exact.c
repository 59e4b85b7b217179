/*
 * From a view whose links are coupled to its moment generating function along a
 * line, all couplings at once: exact.h.
 *
 * How long this takes depends on how many sums there are and how strongly they
 * are coupled. What the sum over couplings leaves out and rounding are bounded,
 * at every node by itself.
 */
#include "exact.h"
#include "coupling.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Part of delta that all couplings that are left out should cost at most. */
#define REST_PART 2e-4

/* Where all rounds together have more than this part of uncertainty even at the
 * real s, it is not worth it. */
#define HOPELESS 0.1

/* All cases that are left out and charged are less than this part of all. */
#define NEGLIGIBLE 1e-6

/* No exponent is larger than this. */
#define EXPONENT_MOST 300

enum { TABLE_MOST = 1 << 19, UNCERTAIN_MOST = 14 };

struct pri_exact {
    struct pri_function function;
    double hide, unseen, strip;
    double budget, work;     /* for a line, and left of it */
    struct pri_view view;    /* the sums that pairs are about */
    struct pri_coupling all; /* of it, for bounds */
    int32_t count;           /* sums that may be seen or not, */
    int32_t *uncertain;      /* [count] which */
    bool *known;             /* [sources] cases say whether it is seen */
    int32_t *place;          /* [noises + sources] in the view of a case */
    double *given;           /* [2 noises] chance and absence in a case */
    struct pri_view one;     /* of a case */
    struct pri_coupling part;
};

void pri_exact_free(struct pri_exact *exact)
{
    if (exact == NULL)
        return;
    pri_view_free(&exact->view);
    pri_view_free(&exact->one);
    pri_coupling_free(&exact->all);
    pri_coupling_free(&exact->part);
    free(exact->uncertain);
    free(exact->known);
    free(exact->place);
    free(exact->given);
    free(exact);
}

static bool reserve_view(struct pri_view *view, const struct pri_view *like)
{
    view->source = pri_alloc(like->sources, sizeof *view->source);
    view->noise = pri_alloc(like->noises, sizeof *view->noise);
    view->pair = pri_alloc(like->pairs, sizeof *view->pair);
    view->dimension = like->dimension;
    return view->source && view->noise && view->pair;
}

/* Take over one source with its noises; place[] says where things go. */
static void copy_source(const struct pri_view *from, int32_t index,
                        int32_t *place, struct pri_view *to)
{
    struct pri_source source = from->source[index];
    int32_t begin = source.begin, end = source.end;
    source.begin = to->noises;
    for (int32_t k = begin; k < end; k++) {
        place[k] = to->noises;
        to->noise[to->noises++] = from->noise[k];
    }
    source.end = to->noises;
    place[from->noises + index] = to->sources;
    to->source[to->sources++] = source;
}

static void copy_pair(const struct pri_view *from, int32_t index,
                      const int32_t *place, struct pri_view *to)
{
    struct pri_coupled pair = from->pair[index];
    pair.first = pair.gate ? -1 : place[pair.first];
    pair.second = place[pair.second];
    pair.source = place[from->noises + pair.source];
    pair.other = place[from->noises + pair.other];
    to->pair[to->pairs++] = pair;
}

/* The sums that pairs are about, and which of them cases are about. */
static void copy_coupled(const struct pri_view *view, bool *apart,
                         struct pri_exact *exact)
{
    for (int32_t k = 0; k < view->sources; k++)
        apart[k] = true;
    for (int32_t k = 0; k < view->pairs; k++)
        apart[view->pair[k].source] = apart[view->pair[k].other] = false;
    for (int32_t k = 0; k < view->sources; k++)
        if (!apart[k])
            copy_source(view, k, exact->place, &exact->view);
    for (int32_t k = 0; k < view->pairs; k++)
        copy_pair(view, k, exact->place, &exact->view);
    const struct pri_view *here = &exact->view;
    exact->unseen = 1;
    for (int32_t k = 0; k < here->pairs; k++) {
        exact->known[here->pair[k].source] = true;
        if (!here->pair[k].gate)
            exact->known[here->pair[k].other] = true;
    }
    for (int32_t k = 0; k < here->sources; k++) {
        double unseen = pri_unseen(&here->source[k]);
        exact->unseen *= unseen;
        if (exact->known[k] && unseen > 0)
            exact->uncertain[exact->count++] = k;
    }
}

/* Identity with against without: where the generating function is finite. */
static double strip_of(const struct pri_coupling *coupling)
{
    double strip = INFINITY;
    if (coupling->function.dimension == 0 || coupling->function.direction == 0)
        return INFINITY;
    for (int32_t v = 0; v < coupling->vertices; v++) {
        const struct pri_vertex *vertex = &coupling->vertex[v];
        for (uint32_t x = 0; x < (uint32_t)1 << vertex->bits; x++)
            if (vertex->height[x] > 0 && vertex->own > 0)
                strip = fmin(strip, vertex->height[x] / vertex->own);
    }
    return strip;
}

enum pricer_status pri_exact_build(const struct pri_view *view,
                                   const struct pri_function *function,
                                   double hide, double work, bool *apart,
                                   struct pri_exact **result)
{
    struct pri_exact *exact = pri_alloc(1, sizeof *exact);
    enum pricer_status status = PRICER_MEMORY;
    bool able = false;
    *result = NULL;
    if (exact == NULL)
        return PRICER_MEMORY;
    exact->function = *function;
    exact->hide = hide;
    exact->budget = work;
    exact->uncertain = pri_alloc(view->sources, sizeof *exact->uncertain);
    exact->known = pri_alloc(view->sources, sizeof *exact->known);
    exact->place =
        pri_alloc((int64_t)view->noises + view->sources, sizeof *exact->place);
    exact->given = pri_alloc(2 * (int64_t)view->noises, sizeof(double));
    if (exact->uncertain && exact->known && exact->place && exact->given &&
        reserve_view(&exact->view, view) && reserve_view(&exact->one, view)) {
        copy_coupled(view, apart, exact);
        status = PRICER_OK;
        if (exact->count <= UNCERTAIN_MOST)
            status = pri_coupling_build(&exact->view, function, hide,
                                        TABLE_MOST, &exact->all, &able);
    }
    if (able && status == PRICER_OK) {
        exact->strip = strip_of(&exact->all);
        *result = exact;
    } else {
        pri_exact_free(exact);
    }
    return status;
}

void pri_exact_range(const struct pri_exact *exact, double *most,
                     double *highest, double *strip)
{
    *most = exact->all.most * (1 + 1e-9);
    *highest = exact->all.highest;
    *strip = exact->strip;
}

/* ----------------------------------------------------------------- cases -- */

uint64_t pri_exact_cases(const struct pri_exact *exact)
{
    return (uint64_t)1 << exact->count;
}

/* The second noise of a gate, given whether its sum is seen: if it is, the link
 * was up; if not, it was up or down with the probabilities that are left. */
static void set_gate(const struct pri_view *view,
                     const struct pri_coupled *pair, bool seen, double *given)
{
    const struct pri_source *source = &view->source[pair->source];
    double cell[2][2], sum[2] = {0, 0};
    pri_pair_cells(view, pair, cell);
    for (int up = 0; up < 2; up++) {
        double row = cell[up][0] + cell[up][1];
        double weight = seen ? up
                        : up ? source->link * (1 - source->uplink)
                             : 1 - source->link;
        for (int x = 0; x < 2 && weight > 0 && row > 0; x++)
            sum[x] += weight * (cell[up][x] / row);
    }
    given[0] = sum[1] / (sum[0] + sum[1]);
    given[1] = sum[0] / (sum[0] + sum[1]);
}

/* One source that is seen, or may be, with the noises that are not certain. */
static void add_source(struct pri_exact *exact, int32_t index)
{
    const struct pri_view *view = &exact->view;
    struct pri_view *one = &exact->one;
    struct pri_source source = view->source[index];
    int32_t begin = source.begin, end = source.end;
    if (exact->known[index])
        source.uplink = source.link = 1;
    source.begin = one->noises;
    for (int32_t k = begin; k < end; k++) {
        struct pri_packet noise = view->noise[k];
        noise.chance = exact->given[2 * k];
        noise.absent = exact->given[2 * k + 1];
        if (noise.absent == 0)
            source.base += noise.size;
        if (noise.chance == 0 || noise.absent == 0)
            continue;
        exact->place[k] = one->noises;
        one->noise[one->noises++] = noise;
    }
    source.end = one->noises;
    exact->place[view->noises + index] = one->sources;
    one->source[one->sources++] = source;
}

double pri_exact_case(struct pri_exact *exact, uint64_t number,
                      const struct pri_view **result)
{
    const struct pri_view *view = &exact->view;
    struct pri_view *one = &exact->one;
    bool seen[PRI_CUT_MOST];
    double weight = 1;
    for (int32_t k = 0; k < view->sources; k++)
        seen[k] = true;
    for (int32_t k = 0; k < exact->count; k++) {
        const struct pri_source *source = &view->source[exact->uncertain[k]];
        bool yes = number >> k & 1;
        seen[exact->uncertain[k]] = yes;
        weight *= yes ? pri_seen(source) : pri_unseen(source);
    }
    for (int32_t k = 0; k < view->noises; k++) {
        exact->given[2 * k] = view->noise[k].chance;
        exact->given[2 * k + 1] = pri_absent(&view->noise[k]);
    }
    for (int32_t k = 0; k < view->pairs; k++)
        if (view->pair[k].gate)
            set_gate(view, &view->pair[k], seen[view->pair[k].source],
                     exact->given + 2 * (int64_t)view->pair[k].second);
    one->sources = one->noises = one->pairs = 0;
    for (int32_t k = 0; k < view->noises + view->sources; k++)
        exact->place[k] = -1;
    for (int32_t k = 0; k < view->sources; k++)
        if (seen[k])
            add_source(exact, k);
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        if (!pair->gate && exact->place[pair->first] >= 0 &&
            exact->place[pair->second] >= 0)
            copy_pair(view, k, exact->place, one);
    }
    *result = one;
    return weight;
}

/* ---------------------------------------------------------------- bounds -- */

double pri_exact_real(struct pri_exact *exact, double s, double *shown,
                      double *unseen)
{
    double log_bound = INFINITY;
    double place = creal(pri_mean_place(&exact->function, s));
    if (place * exact->all.highest < EXPONENT_MOST && s < exact->strip) {
        pri_coupling_begin(&exact->all, s);
        pri_coupling_balance(&exact->all);
        log_bound = pri_coupling_parts(&exact->all) + 1e-9;
    }
    if (!isfinite(log_bound)) {
        *shown = INFINITY;
        *unseen = 0;
        return 0;
    }
    *unseen = exact->unseen * exp(-log_bound);
    *shown = fmax(1 - *unseen, 0) + DBL_EPSILON;
    return log_bound;
}

/* Entries of e^g fall in size along the line, case by case; what is only the
 * second of gates may be unseen in all. */
double pri_exact_edge(struct pri_exact *exact, double complex s)
{
    double shown, unseen, sum = 0;
    double log_unit = pri_exact_real(exact, creal(s), &shown, &unseen);
    for (uint64_t k = 0; k < pri_exact_cases(exact); k++) {
        const struct pri_view *one;
        bool able = false;
        double weight = pri_exact_case(exact, k, &one), log_bound = INFINITY;
        double none = weight;
        for (int32_t x = 0; x < one->sources; x++)
            none *= pri_unseen(&one->source[x]);
        if (weight == 0)
            continue;
        if (pri_coupling_build(one, &exact->function, exact->hide, TABLE_MOST,
                               &exact->part, &able) == PRICER_OK &&
            able) {
            pri_coupling_sizes(&exact->part, s);
            pri_coupling_balance(&exact->part);
            log_bound =
                pri_coupling_parts(&exact->part) +
                4 * DBL_EPSILON * exact->part.units * exact->part.vertices;
        }
        pri_coupling_free(&exact->part);
        sum += weight * exp(log_bound - log_unit) * (1 + 1e-9) -
               none * exp(-log_unit);
    }
    return fmax(sum, 0);
}

/* ------------------------------------------------------------------ line -- */

/* What the tables of one node cost, in steps of about a nanosecond. */
static double table_cost(const struct pri_coupling *coupling)
{
    double entry = coupling->function.kernel == PRI_LOSS ? 100 : 8;
    return (double)coupling->table * entry +
           (double)coupling->vertices * (coupling->vertices * 64 + 200);
}

/* How much a node weighs in the sum over the line, as a logarithm. */
static double log_weight(const struct pri_line *line, double eps, int32_t n)
{
    double complex s = line->sigma + line->step * n * I;
    double complex root = csqrt(1 + 8 * s);
    if (line->kernel == PRI_LOSS)
        return -log(cabs(s * (1 + s)));
    return -eps / 2 * creal(root) - log(cabs(root * s));
}

/* The least depth at which the rest is small enough, or the most that can be
 * afforded. */
static int32_t choose_depth(struct pri_coupling *coupling, const double *rest,
                            double enough, double afford)
{
    int32_t depth = 0;
    while (depth < PRI_DEPTH_MOST && rest[depth] > enough &&
           pri_coupling_cost(coupling, depth + 1) < afford)
        depth++;
    return depth;
}

/* What the nodes of a line are for. */
struct walk {
    const struct pri_line *line;
    double eps, rounds, log_unit;
    double complex *value;
    double *error;
};

/* One case at one node, added to what the others have. */
static enum pricer_status add_node(struct pri_exact *exact,
                                   const struct walk *walk, int32_t n,
                                   double weight, double alike)
{
    struct pri_coupling *coupling = &exact->part;
    int32_t count = walk->line->count;
    double afford = exact->budget / count / alike / 3;
    double enough = REST_PART / count / walk->rounds *
                    exp(log_weight(walk->line, walk->eps, 0) -
                        log_weight(walk->line, walk->eps, n));
    double rest[PRI_DEPTH_MOST + 1];
    double complex sum;
    pri_coupling_parts(coupling);
    pri_coupling_rest(coupling, rest);
    int32_t depth = choose_depth(
        coupling, rest, enough / (alike * (exact->count + 1) * weight), afford);
    double error = rest[depth] + pri_coupling_rounding(coupling);
    exact->work -= table_cost(coupling) + pri_coupling_cost(coupling, depth);
    enum pricer_status status = pri_coupling_sum(coupling, depth, &sum);
    if (status != PRICER_OK)
        return status;
    walk->value[n] += weight * sum;
    walk->error[n] +=
        weight * (error + 8 * DBL_EPSILON * (exact->count + 4) * cabs(sum));
    return PRICER_OK;
}

/* One case at all nodes. */
static enum pricer_status add_case(struct pri_exact *exact,
                                   const struct walk *walk, double weight,
                                   double alike)
{
    struct pri_coupling *coupling = &exact->part;
    const struct pri_line *line = walk->line;
    enum pricer_status status = PRICER_OK;
    pri_coupling_begin(coupling, line->sigma);
    pri_coupling_balance(coupling);
    double all = weight * exp(pri_coupling_parts(coupling) - walk->log_unit);
    if (all * walk->rounds < ldexp(NEGLIGIBLE, -exact->count)) {
        for (int32_t n = 0; n < line->count; n++)
            walk->error[n] += all;
        return PRICER_OK;
    }
    weight *= exp(coupling->log_scale - walk->log_unit);
    pri_coupling_aim(coupling, line->step);
    for (int32_t n = 0; n < line->count && status == PRICER_OK; n++) {
        if (n > 0)
            pri_coupling_advance(coupling);
        status = add_node(exact, walk, n, weight, alike);
    }
    return status;
}

/* All cases, the largest first. *able is false where they turn out to be too
 * much. */
static enum pricer_status add_cases(struct pri_exact *exact,
                                    const struct walk *walk, bool *able)
{
    enum pricer_status status = PRICER_OK;
    for (uint64_t k = pri_exact_cases(exact);
         k > 0 && *able && status == PRICER_OK; k--) {
        const struct pri_view *one;
        double weight = pri_exact_case(exact, k - 1, &one);
        if (weight == 0)
            continue;
        status = pri_coupling_build(one, &exact->function, exact->hide,
                                    TABLE_MOST, &exact->part, able);
        double alike = 1; /* cases with as many sums */
        for (int32_t j = 0; j < __builtin_popcountll(k - 1); j++)
            alike = alike * (exact->count - j) / (j + 1);
        if (*able && status == PRICER_OK)
            status = add_case(exact, walk, weight, alike);
        pri_coupling_free(&exact->part);
        *able = *able && exact->work > -exact->budget &&
                walk->rounds * walk->error[0] < HOPELESS;
    }
    return status;
}

enum pricer_status pri_exact_along(struct pri_exact *exact,
                                   const struct pri_line *line, double eps,
                                   int64_t rounds, double complex *value,
                                   double *error)
{
    double shown, unseen;
    double log_unit = pri_exact_real(exact, line->sigma, &shown, &unseen);
    struct walk walk = {line, eps, (double)rounds, log_unit, value, error};
    double tables = ldexp(table_cost(&exact->all), exact->count) / 4;
    bool able = isfinite(shown) && line->count * tables < exact->budget;
    enum pricer_status status = PRICER_OK;
    for (int32_t n = 0; n < line->count; n++)
        value[n] = error[n] = 0;
    exact->work = exact->budget;
    if (able)
        status = add_cases(exact, &walk, &able);
    for (int32_t n = 0; n < line->count; n++) {
        value[n] = able ? value[n] - unseen : 0;
        error[n] = able ? error[n] + 16 * DBL_EPSILON * unseen : 1;
    }
    return status;
}
