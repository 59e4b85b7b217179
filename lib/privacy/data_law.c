/*
 * From a view to the law of mu^2 it shows, bounded from one side in the order
 * of law.h, in one round and in many.
 *
 * Correlated links (cases.c). A noise in one sum may be up together
 * with a noise in another, or with the link that brings the data: opposite
 * directions of one pair of nodes. The pairs that matter most are conditioned on
 * case by case: for both values of the first link, the second has its
 * conditional probability and is independent of all else, so this is exact.
 * What is left is decoupled to the safe side by changing the probability of the
 * second link, as pri_decoupled() explains.
 */
#include "account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beyond this mu^2 nothing is private; no sum of such values overflows. */
#define LARGE 1e200

void pri_scratch_free(struct pri_scratch *scratch)
{
    pri_bins_free(&scratch->bins);
    pri_bins_free(&scratch->mix);
    pri_law_free(&scratch->noise);
    pri_law_free(&scratch->rest);
    for (int32_t k = 0; k < scratch->terms; k++)
        pri_law_free(&scratch->term[k]);
    free(scratch->term);
    free(scratch->cases);
    pri_rounds_free(&scratch->rounds);
    free(scratch->size);
    free(scratch->chance);
    free(scratch->draw);
    free(scratch->partner);
    free(scratch->effect);
    free(scratch->tilt);
    free(scratch->shift);
    free(scratch->gate);
    free(scratch->gated);
    free(scratch->link);
    free(scratch->seen);
    free(scratch->base);
    free(scratch->paired);
    free(scratch->place);
    pri_law_free(&scratch->once);
    pri_law_free(&scratch->law);
    *scratch = (struct pri_scratch){0};
}

static bool reserve_noises(struct pri_scratch *scratch, int32_t count)
{
    if (count <= scratch->room)
        return true;
    free(scratch->size);
    free(scratch->chance);
    free(scratch->draw);
    free(scratch->partner);
    free(scratch->effect);
    free(scratch->tilt);
    free(scratch->shift);
    scratch->partner = pri_alloc(count, sizeof(int32_t));
    scratch->effect = pri_alloc(count, sizeof(double));
    scratch->tilt = pri_alloc(count, sizeof(double));
    scratch->shift = pri_alloc(count, sizeof(double));
    scratch->size = pri_alloc(count, sizeof(double));
    scratch->chance = pri_alloc(count, sizeof(double));
    scratch->draw = pri_alloc(count, sizeof(double));
    bool all = scratch->size && scratch->chance && scratch->draw &&
               scratch->partner && scratch->effect && scratch->tilt &&
               scratch->shift;
    scratch->room = all ? count : 0;
    return all;
}

static bool reserve_sources(struct pri_scratch *scratch, int32_t count)
{
    if (count <= scratch->terms)
        return true;
    for (int32_t k = 0; k < scratch->terms; k++)
        pri_law_free(&scratch->term[k]);
    free(scratch->term);
    free(scratch->link);
    free(scratch->seen);
    free(scratch->base);
    free(scratch->paired);
    free(scratch->place);
    free(scratch->gate);
    free(scratch->gated);
    scratch->gate = pri_alloc(count, sizeof(int32_t));
    scratch->gated = pri_alloc(count, sizeof(double));
    scratch->term = pri_alloc(count, sizeof *scratch->term);
    scratch->link = pri_alloc(count, sizeof(double));
    scratch->seen = pri_alloc(count, sizeof(double));
    scratch->base = pri_alloc(count, sizeof(double));
    scratch->paired = pri_alloc(count, sizeof(bool));
    scratch->place = pri_alloc(count, sizeof(int32_t));
    bool all = scratch->term && scratch->link && scratch->seen &&
               scratch->base && scratch->paired && scratch->place &&
               scratch->gate && scratch->gated;
    scratch->terms = scratch->term == NULL ? 0 : count;
    return all;
}

enum pricer_status pri_scratch_reserve(struct pri_scratch *scratch,
                                       const struct pri_view *view)
{
    if (scratch->cases == NULL)
        scratch->cases = pri_alloc(PRI_CASES_MOST, sizeof *scratch->cases);
    bool all = scratch->cases != NULL && reserve_noises(scratch, view->noises);
    return all && reserve_sources(scratch, view->sources) ? PRICER_OK
                                                          : PRICER_MEMORY;
}

/* ----------------------------------------------------------------- terms -- */

/*
 * The noises of a source as a case has them, into scratch->size and draw. Those
 * that are certain, or too small to matter beside what is always there, go into
 * the base (the latter only if more noise is the safe side). Returns the base.
 */
static double draw_noises(const struct pri_attempt *attempt,
                          const struct pri_source *source,
                          struct pri_scratch *scratch, int32_t *count)
{
    const struct pri_packet *noise = attempt->view->noise;
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

static double signal_over(double signal, double variance, enum pri_side side)
{
    double ratio = variance == 0 ? INFINITY : signal / variance;
    if (ratio > LARGE)
        return side == PRI_ABOVE || variance == 0 ? INFINITY : LARGE;
    return ratio;
}

/* The shape of sums over what is seen in one round. */
static struct pri_shape shape_of(const struct pri_attempt *attempt)
{
    double rounds = (double)attempt->rounds;
    return (struct pri_shape){.side = attempt->side,
                              .bits = attempt->bits,
                              .offset = attempt->low / rounds,
                              .tail = attempt->tail / rounds /
                                      (4 * attempt->view->sources + 4)};
}

/*
 * The law of mu^2 through one source, in scratch->term: 0 if it is not seen,
 * else signal over the variance.
 */
static enum pricer_status term_law(const struct pri_attempt *attempt,
                                   int32_t index, struct pri_scratch *scratch)
{
    const struct pri_source *source = &attempt->view->source[index];
    struct pri_law *term = &scratch->term[index], *noise = &scratch->noise;
    double seen = scratch->seen[index];
    int32_t count;
    double base = draw_noises(attempt, source, scratch, &count);
    struct pri_shape sum = shape_of(attempt), shape = sum;
    shape.kind = PRI_VARIANCE;
    shape.offset = base;
    shape.signal = source->signal;
    shape.tail = 0;
    enum pricer_status status =
        pri_law_subset(scratch->size, scratch->draw, seen > 0 ? count : 0,
                       &shape, &scratch->bins, noise);
    if (status == PRICER_OK)
        status = pri_law_reserve(term, noise->count + 1);
    if (status != PRICER_OK)
        return status;
    term->count = 0;
    pri_law_add(term, 0, 1 - seen);
    for (int32_t k = noise->count - 1; k >= 0; k--)
        pri_law_add(
            term,
            signal_over(source->signal, base + noise->value[k], attempt->side),
            seen * noise->mass[k]);
    if (term->count <= 64 || attempt->view->sources == 1)
        return PRICER_OK;
    return pri_law_group(&sum, &scratch->bins, term);
}

/* Mark the sources that pairs are about; put all in order, small ones first. */
static void mark_paired(const struct pri_attempt *attempt,
                        struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    for (int32_t k = 0; k < view->sources; k++) {
        const struct pri_source *source = &view->source[k];
        double most = source->signal / source->base;
        int32_t at = k;
        scratch->paired[k] = false;
        for (; at > 0; at--) {
            source = &view->source[scratch->place[at - 1]];
            if (!(source->signal / source->base > most))
                break;
            scratch->place[at] = scratch->place[at - 1];
        }
        scratch->place[at] = k;
    }
    for (int32_t k = 0; k < view->pairs; k++) {
        scratch->paired[view->pair[k].source] = true;
        scratch->paired[view->pair[k].other] = true;
    }
}

/* Add the terms of the sources with or without pairs to *sum. */
static enum pricer_status add_terms(const struct pri_attempt *attempt,
                                    bool paired, struct pri_scratch *scratch,
                                    struct pri_law *sum)
{
    struct pri_shape shape = shape_of(attempt);
    enum pricer_status status = PRICER_OK;
    for (int32_t k = 0; k < attempt->view->sources && status == PRICER_OK;
         k++) {
        int32_t at = scratch->place[k];
        if (scratch->paired[at] != paired)
            continue;
        status = term_law(attempt, at, scratch);
        if (status == PRICER_OK)
            status =
                pri_law_plus(&scratch->term[at], &shape, &scratch->bins, sum);
    }
    return status;
}

/* ------------------------------------------------------------------ laws -- */

/* What a law costs at the eps of the attempt: for many rounds its mean. */
static double contribution_of(const struct pri_attempt *attempt,
                              const struct pri_law *law)
{
    double sum = 0, slope;
    if (attempt->rounds == 1)
        return pri_law_delta(law, attempt->eps, INFINITY, attempt->side,
                             &slope);
    for (int32_t k = 0; k < law->count; k++)
        if (!isinf(law->value[k]))
            sum += law->mass[k] * law->value[k];
    return sum;
}

/* One case, added to the mixture. */
static enum pricer_status add_case(const struct pri_attempt *attempt,
                                   struct pri_case *one,
                                   struct pri_scratch *scratch)
{
    double weight = pri_case_set(attempt, one, scratch);
    struct pri_law *sum = &scratch->once;
    one->contribution[attempt->pairs] = 0;
    if (weight == 0)
        return PRICER_OK;
    enum pricer_status status = pri_law_copy(&scratch->rest, sum);
    if (status == PRICER_OK)
        status = add_terms(attempt, true, scratch, sum);
    if (status != PRICER_OK)
        return status;
    if (scratch->case_count > 1)
        one->contribution[attempt->pairs] =
            weight * contribution_of(attempt, sum);
    pri_bins_add(sum, weight, &scratch->mix);
    return PRICER_OK;
}

/* The most that mu^2 can be in one round, unless it is infinite. */
static double most_of(const struct pri_view *view)
{
    double sum = 0;
    for (int32_t k = 0; k < view->sources; k++) {
        const struct pri_source *source = &view->source[k];
        double least = source->base > 0 ? source->base : INFINITY;
        for (int32_t x = source->begin; source->base == 0 && x < source->end;
             x++)
            least = fmin(least, view->noise[x].size);
        sum += fmin(source->signal / least, LARGE);
    }
    return sum * (1 + 1e-9);
}

/* The law of mu^2 in one round, over all cases, in scratch->once. */
static enum pricer_status once_law(const struct pri_attempt *attempt,
                                   struct pri_scratch *scratch)
{
    struct pri_law *rest = &scratch->rest;
    struct pri_shape shape = shape_of(attempt);
    enum pricer_status status = pri_law_reserve(rest, 1);
    if (status != PRICER_OK)
        return status;
    mark_paired(attempt, scratch);
    rest->count = 0;
    pri_law_add(rest, 0, 1);
    pri_case_set(attempt, &(struct pri_case){0}, scratch);
    status = add_terms(attempt, false, scratch, rest);
    if (status != PRICER_OK || attempt->view->pairs == 0)
        return status == PRICER_OK ? pri_law_copy(rest, &scratch->once)
                                   : status;
    if (status == PRICER_OK)
        status =
            pri_bins_begin(&shape, 0, most_of(attempt->view), &scratch->mix);
    for (int32_t k = 0; k < scratch->case_count && status == PRICER_OK; k++)
        status = add_case(attempt, &scratch->cases[k], scratch);
    return status == PRICER_OK ? pri_bins_end(&scratch->mix, &scratch->once)
                               : status;
}

/* A single source needs no sum. */
static enum pricer_status only_law(const struct pri_attempt *attempt,
                                   struct pri_scratch *scratch)
{
    pri_case_set(attempt, &(struct pri_case){0}, scratch);
    enum pricer_status status = term_law(attempt, 0, scratch);
    return status == PRICER_OK ? pri_law_copy(&scratch->term[0], &scratch->once)
                               : status;
}

enum pricer_status pri_view_law(const struct pri_attempt *attempt,
                                struct pri_scratch *scratch)
{
    struct pri_law *law = &scratch->law;
    enum pricer_status status = attempt->view->sources == 1
                                    ? only_law(attempt, scratch)
                                    : once_law(attempt, scratch);
    if (status != PRICER_OK)
        return status;
    if (attempt->rounds == 1) {
        struct pri_law swap = *law;
        *law = scratch->once;
        scratch->once = swap;
    } else {
        struct pri_shape shape = {.side = attempt->side,
                                  .bits = attempt->bits,
                                  .offset = attempt->low,
                                  .tail = attempt->tail / 4};
        status = pri_law_repeat(&scratch->once, attempt->rounds, &shape,
                                &scratch->bins, law);
    }
    double more = attempt->side == PRI_ABOVE ? attempt->little : 0;
    for (int32_t k = 0; k < law->count; k++)
        law->value[k] += more * (double)attempt->rounds;
    return status;
}
