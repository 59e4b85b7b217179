/*
 * From a view to the law of mu^2 it shows, bounded from one side, in one round
 * and in many.
 *
 * Correlated links. A noise in one sum may be up together with a noise in
 * another, or with the link that brings the data: opposite directions of one
 * pair of nodes. The pairs that matter most are split: for both values of the
 * first link, the second has its conditional probability and is independent of
 * all else, so this is exact. What is left is decoupled to the safe side: more
 * noise never raises mu^2, and whatever the first link does, the second noise
 * is present at least with the probability it has when the first is down (the
 * joint probability is never below that of independence), at most with that
 * when it is up. Taken as independent with the former it gives an upper bound,
 * with the latter a lower one.
 */
#include "account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of more sources are not worth listing. */
#define LISTED_SOURCES_MOST 6

void pri_scratch_free(struct pri_scratch *scratch)
{
    pri_grid_free(&scratch->grid);
    pri_grid_free(&scratch->noise_grid);
    pri_law_free(&scratch->noise);
    pri_law_free(&scratch->rest);
    for (int32_t k = 0; k < scratch->terms; k++)
        pri_law_free(&scratch->term[k]);
    free(scratch->term);
    free(scratch->atom);
    pri_rounds_free(&scratch->rounds);
    free(scratch->list);
    free(scratch->size);
    free(scratch->chance);
    free(scratch->draw);
    free(scratch->link);
    free(scratch->touched);
    free(scratch->place);
    pri_law_free(&scratch->once);
    pri_law_free(&scratch->law);
    *scratch = (struct pri_scratch){0};
}

/* Room for the sources and noises of a view. */
enum pricer_status pri_scratch_reserve(struct pri_scratch *scratch,
                                       const struct pri_view *view)
{
    if (view->noises > scratch->room) {
        free(scratch->size);
        free(scratch->chance);
        free(scratch->draw);
        scratch->room = view->noises;
        scratch->size = pri_alloc(view->noises, sizeof(double));
        scratch->chance = pri_alloc(view->noises, sizeof(double));
        scratch->draw = pri_alloc(view->noises, sizeof(double));
    }
    if (view->sources > scratch->terms) {
        for (int32_t k = 0; k < scratch->terms; k++)
            pri_law_free(&scratch->term[k]);
        free(scratch->term);
        free(scratch->list);
        free(scratch->link);
        free(scratch->touched);
        free(scratch->place);
        scratch->terms = view->sources;
        scratch->term = pri_alloc(view->sources, sizeof *scratch->term);
        scratch->list = pri_alloc(view->sources, sizeof *scratch->list);
        scratch->link = pri_alloc(view->sources, sizeof(double));
        scratch->touched = pri_alloc(view->sources, sizeof(bool));
        scratch->place = pri_alloc(view->sources, sizeof(int32_t));
    }
    bool all = (view->noises == 0 ||
                (scratch->size && scratch->chance && scratch->draw)) &&
               (view->sources == 0 ||
                (scratch->term && scratch->list && scratch->link &&
                 scratch->touched && scratch->place));
    if (!all) {
        scratch->room = 0;
        scratch->terms = scratch->term == NULL ? 0 : scratch->terms;
        return PRICER_MEMORY;
    }
    return PRICER_OK;
}

static bool is_split(const struct pri_attempt *attempt, int32_t pair)
{
    return pair < attempt->splits;
}

/* P(second up) given the first. */
static double conditional(const struct pri_view *view,
                          const struct pri_pair *pair, bool up)
{
    double first = pair->gate ? view->source[pair->first].link
                              : view->noise[pair->first].chance;
    double second = view->noise[pair->second].chance;
    double given =
        up ? pair->joint / first : (second - pair->joint) / (1 - first);
    return fmin(fmax(given, 0), 1);
}

double pri_leaf_set(const struct pri_attempt *attempt, uint32_t leaf,
                    struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    double weight = 1;
    for (int32_t k = 0; k < view->noises; k++)
        scratch->chance[k] = view->noise[k].chance;
    for (int32_t k = 0; k < view->sources; k++)
        scratch->link[k] = view->source[k].link;
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_pair *pair = &view->pair[k];
        bool up = attempt->pairs == PRI_BELOW;
        if (is_split(attempt, k)) {
            double *first = pair->gate ? &scratch->link[pair->first]
                                       : &scratch->chance[pair->first];
            up = leaf >> k & 1;
            weight *= up ? *first : 1 - *first;
            *first = up;
        }
        scratch->chance[pair->second] = conditional(view, pair, up);
    }
    return weight;
}

/*
 * The noises of a source as a leaf has them, into scratch->size and draw. Those
 * that are certain, or too small to matter beside what is always there, go into
 * the base (the latter only if more noise is the safe side). Returns the base.
 */
static double draw_noises(const struct pri_attempt *attempt,
                          const struct pri_source *source,
                          struct pri_scratch *scratch, int32_t *count)
{
    const struct pri_noise *noise = attempt->view->noise;
    double base = source->base;
    for (int32_t k = source->begin; k < source->end; k++)
        base += scratch->chance[k] == 1 ? noise[k].size : 0;
    double little = 1e-5 * base / (source->end - source->begin + 1);
    double more = 0;
    *count = 0;
    for (int32_t k = source->begin; k < source->end; k++) {
        double chance = scratch->chance[k];
        if (chance == 0 || chance == 1)
            continue;
        if (noise[k].size <= little) {
            more += noise[k].size;
            continue;
        }
        scratch->size[*count] = noise[k].size;
        scratch->draw[(*count)++] = chance;
    }
    return attempt->side == PRI_BELOW ? base + more : base;
}

/*
 * The law of mu^2 through one source: 0 if it is not seen, else signal over the
 * variance. More noise is less mu^2, so the noise is rounded the other way.
 */
enum pricer_status pri_term_law(const struct pri_attempt *attempt,
                                int32_t index, struct pri_scratch *scratch)
{
    const struct pri_source *source = &attempt->view->source[index];
    struct pri_law *term = &scratch->term[index], *noise = &scratch->noise;
    double seen = source->uplink * scratch->link[index];
    int32_t count;
    double base = draw_noises(attempt, source, scratch, &count);
    enum pricer_status status = pri_law_subset(
        scratch->size, scratch->draw, count, base,
        attempt->side == PRI_ABOVE ? PRI_BELOW : PRI_ABOVE,
        attempt->noise_cells, attempt->ignore, &scratch->noise_grid, noise);
    if (status == PRICER_OK)
        status = pri_law_reserve(term, noise->count + 1);
    if (status != PRICER_OK)
        return status;
    term->count = 0;
    pri_law_add(term, 0, 1 - seen);
    for (int32_t k = noise->count - 1; k >= 0; k--) {
        double variance = base + noise->value[k];
        pri_law_add(term, variance == 0 ? INFINITY : source->signal / variance,
                    seen * noise->mass[k]);
    }
    return PRICER_OK;
}

static int32_t source_of_noise(const struct pri_view *view, int32_t noise)
{
    int32_t at = 0;
    while (view->source[at].end <= noise)
        at++;
    return at;
}

/* Mark the sources that differ from leaf to leaf. */
static void mark_touched(const struct pri_attempt *attempt,
                         struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    for (int32_t k = 0; k < view->sources; k++)
        scratch->touched[k] = false;
    for (int32_t k = 0; k < attempt->splits; k++) {
        const struct pri_pair *pair = &view->pair[k];
        int32_t first =
            pair->gate ? pair->first : source_of_noise(view, pair->first);
        scratch->touched[first] = true;
        scratch->touched[source_of_noise(view, pair->second)] = true;
    }
}

/* The terms that no leaf changes, and their sum if that saves work. */
static enum pricer_status rest_law(const struct pri_attempt *attempt,
                                   struct pri_scratch *scratch, int32_t *listed)
{
    int32_t count = 0;
    enum pricer_status status = PRICER_OK;
    pri_leaf_set(attempt, 0, scratch);
    for (int32_t k = 0; k < attempt->view->sources && status == PRICER_OK; k++)
        if (!scratch->touched[k]) {
            status = pri_term_law(attempt, k, scratch);
            scratch->list[count++] = &scratch->term[k];
        }
    *listed = count;
    if (status != PRICER_OK || attempt->splits == 0 || count < 2)
        return status;
    status =
        pri_law_sum_begin(attempt->low, attempt->top, attempt->view->sources,
                          attempt->cells, &scratch->grid);
    if (status != PRICER_OK)
        return status;
    pri_law_sum_add(scratch->list, count, attempt->side, 1, &scratch->grid);
    status = pri_law_sum_end(attempt->side, &scratch->grid, &scratch->rest);
    scratch->list[0] = &scratch->rest;
    *listed = 1;
    return status;
}

static int by_value(const void *one, const void *two)
{
    const struct pri_atom *a = one, *b = two;
    return a->value < b->value ? -1 : a->value > b->value;
}

/*
 * Add every sum of one atom from each term of a leaf, from atom `begin` on.
 * Returns where they end, or -1 if there are too many.
 */
static int32_t list_leaf(const struct pri_attempt *attempt, double weight,
                         int32_t begin, struct pri_scratch *scratch)
{
    struct pri_atom *atom = scratch->atom;
    int32_t end = begin + 1;
    if (end > PRI_ATOMS_MOST)
        return -1;
    atom[begin] = (struct pri_atom){0, weight};
    for (int32_t k = 0; k < attempt->view->sources; k++) {
        const struct pri_law *term = &scratch->term[k];
        int32_t many = end - begin;
        if ((int64_t)many * term->count > PRI_ATOMS_MOST - begin)
            return -1;
        for (int32_t t = term->count - 1; t >= 0; t--)
            for (int32_t a = 0; a < many; a++)
                atom[begin + t * many + a] =
                    (struct pri_atom){atom[begin + a].value + term->value[t],
                                      atom[begin + a].mass * term->mass[t]};
        end = begin + many * term->count;
    }
    return end;
}

/* Sort the atoms into a law; equal ones are joined. */
static enum pricer_status sort_atoms(struct pri_atom *atom, int32_t count,
                                     struct pri_law *law)
{
    enum pricer_status status = pri_law_reserve(law, count);
    if (status != PRICER_OK)
        return status;
    qsort(atom, (size_t)count, sizeof *atom, by_value);
    law->count = 0;
    for (int32_t k = 0; k < count; k++) {
        int32_t last = law->count - 1;
        if (last >= 0 && law->value[last] == atom[k].value)
            law->mass[last] += atom[k].mass;
        else
            pri_law_add(law, atom[k].value, atom[k].mass);
    }
    return PRICER_OK;
}

/*
 * The law of one round as the list of all its sums, in scratch->once: no
 * rounding at all. *done is false if there are too many.
 */
static enum pricer_status listed_law(const struct pri_attempt *attempt,
                                     struct pri_scratch *scratch, bool *done)
{
    int32_t count = 0;
    *done = false;
    if (scratch->atom == NULL)
        scratch->atom = pri_alloc(PRI_ATOMS_MOST, sizeof *scratch->atom);
    if (scratch->atom == NULL)
        return PRICER_MEMORY;
    for (uint32_t leaf = 0; leaf >> attempt->splits == 0; leaf++) {
        double weight = pri_leaf_set(attempt, leaf, scratch);
        if (weight == 0)
            continue;
        for (int32_t k = 0; k < attempt->view->sources; k++) {
            enum pricer_status status = pri_term_law(attempt, k, scratch);
            if (status != PRICER_OK)
                return status;
        }
        count = list_leaf(attempt, weight, count, scratch);
        if (count < 0)
            return PRICER_OK;
    }
    *done = true;
    return sort_atoms(scratch->atom, count, &scratch->once);
}

/* A single source needs no sum. */
static enum pricer_status only_law(const struct pri_attempt *attempt,
                                   struct pri_scratch *scratch)
{
    pri_leaf_set(attempt, 0, scratch);
    enum pricer_status status = pri_term_law(attempt, 0, scratch);
    if (status != PRICER_OK)
        return status;
    struct pri_law swap = scratch->once;
    scratch->once = scratch->term[0];
    scratch->term[0] = swap;
    return PRICER_OK;
}

/* The law of mu^2 in one round, over all leaves, in scratch->once. */
static enum pricer_status once_law(const struct pri_attempt *attempt,
                                   struct pri_scratch *scratch)
{
    int32_t listed, sources = attempt->view->sources;
    bool done = false;
    if (sources == 1)
        return only_law(attempt, scratch);
    enum pricer_status status = PRICER_OK;
    if (sources <= LISTED_SOURCES_MOST)
        status = listed_law(attempt, scratch, &done);
    if (status != PRICER_OK || done)
        return status;
    mark_touched(attempt, scratch);
    status = rest_law(attempt, scratch, &listed);
    if (status == PRICER_OK)
        status = pri_law_sum_begin(attempt->low, attempt->top,
                                   attempt->view->sources, attempt->cells,
                                   &scratch->grid);
    for (uint32_t leaf = 0; leaf >> attempt->splits == 0; leaf++) {
        double weight = pri_leaf_set(attempt, leaf, scratch);
        int32_t count = listed;
        for (int32_t k = 0; k < sources && status == PRICER_OK; k++)
            if (scratch->touched[k] && weight > 0) {
                status = pri_term_law(attempt, k, scratch);
                scratch->list[count++] = &scratch->term[k];
            }
        if (status != PRICER_OK)
            return status;
        if (weight > 0)
            pri_law_sum_add(scratch->list, count, attempt->side, weight,
                            &scratch->grid);
    }
    return pri_law_sum_end(attempt->side, &scratch->grid, &scratch->once);
}

enum pricer_status pri_view_law(const struct pri_attempt *attempt,
                                int64_t rounds, struct pri_scratch *scratch)
{
    struct pri_law *law = &scratch->law;
    struct pri_attempt once = *attempt;
    once.low /= (double)rounds;
    enum pricer_status status = once_law(&once, scratch);
    if (status != PRICER_OK)
        return status;
    if (rounds == 1) {
        struct pri_law swap = *law;
        *law = scratch->once;
        scratch->once = swap;
    } else {
        status =
            pri_law_repeat(&scratch->once, rounds, attempt->side, attempt->low,
                           attempt->top, attempt->cells, &scratch->grid, law);
    }
    if (status == PRICER_OK && law->count > 300)
        pri_law_thin(attempt->low, 1 + .6 / attempt->cells, attempt->side, law);
    double more = attempt->side == PRI_ABOVE ? attempt->little : 0;
    for (int32_t k = 0; k < law->count; k++)
        law->value[k] += more * (double)rounds;
    return status;
}
