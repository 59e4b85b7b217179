/*
 * From a plan to its decoder: the hardest correlations, the coefficients'
 * target and caps, how much of the constant decoder is mixed in, and what all
 * that is worth.
 *
 * X is fitted to one set of patterns (with the probabilities' uncertainty),
 * everything that is claimed is measured on another (with the probabilities as
 * the network has them). The bracket [lower, upper] holds for any X, so nothing
 * depends on how well the fit went.
 */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a fit works with. */
struct fit {
    const struct pricer_network *network;
    struct pricer_decoder_settings ask;
    struct pricer_error error; /* of the constant decoder */
    const struct pricer_plan *plan;
    struct pri_rows rows, truth;
    struct pri_odds odds, disturbed;
    struct pri_patterns train, test;
    struct pri_court court;
    struct pri_model model;
    struct pricer_decoder *decoder;
    double *x;                      /* [nodes][nodes], small */
    double *m, *inverse, *mixed;    /* small */
    double *vectors;                /* large */
    double *exact, *change, *ratio; /* the control, unless too large */
    double scale;                   /* radius^2 */
};

static void fit_free(struct fit *fit)
{
    pri_team_free(fit->court.team);
    pri_rows_free(&fit->rows);
    pri_rows_free(&fit->truth);
    pri_odds_free(&fit->odds);
    pri_odds_free(&fit->disturbed);
    pri_patterns_free(&fit->train);
    pri_patterns_free(&fit->test);
    free(fit->x);
    free(fit->m);
    free(fit->inverse);
    free(fit->mixed);
    free(fit->vectors);
    free(fit->exact);
    free(fit->change);
    free(fit->ratio);
}

/* Patterns to fit X to: fewer, as there are many looks at them. */
static int64_t training_count(int32_t nodes)
{
    if (nodes <= PRI_SMALL)
        return nodes <= 12 ? 32768 : 131072;
    int64_t count = 2000000 / nodes / PRI_ROUNDS * PRI_ROUNDS;
    return count < 256 ? 256 : count > 4096 ? 4096 : count;
}

static enum pricer_status make_room(struct fit *fit)
{
    int64_t n = fit->network->nodes;
    int64_t square = n <= PRI_WHOLE ? n * n : 0, few = n <= PRI_SMALL;
    fit->x = pri_alloc(few * n * n, sizeof(double));
    fit->inverse = pri_alloc(few * n * n, sizeof(double));
    fit->ratio = pri_alloc(n, sizeof(double));
    fit->m = pri_alloc(3 * square, sizeof(double));
    fit->mixed = pri_alloc(square, sizeof(double));
    fit->exact = pri_alloc(square + n, sizeof(double));
    fit->change = pri_alloc(square, sizeof(double));
    if (!few)
        fit->vectors = pri_alloc(2 * n * fit->test.count, sizeof(double));
    return fit->x && fit->inverse && fit->ratio && fit->m && fit->mixed &&
                   fit->exact && fit->change && (few || fit->vectors)
               ? PRICER_OK
               : PRICER_MEMORY;
}

static enum pricer_status draw_patterns(struct fit *fit)
{
    const struct pricer_network *network = fit->network;
    enum pricer_status status =
        pri_odds_new(network, &fit->ask, false, &fit->odds);
    if (status == PRICER_OK)
        status = pri_odds_new(network, &fit->ask, true, &fit->disturbed);
    if (status == PRICER_OK)
        status = pri_patterns_new(
            network, &fit->rows, &fit->disturbed, PRI_SEED(fit->ask.seed, 1),
            training_count(network->nodes), fit->court.team, &fit->train);
    if (status == PRICER_OK)
        status = pri_patterns_new(
            network, &fit->rows, &fit->odds, PRI_SEED(fit->ask.seed, 2),
            pri_pattern_count(network->nodes, fit->ask.patterns),
            fit->court.team, &fit->test);
    return status;
}

/* -------------------------------------------------------------- unbiased -- */

/* Solve a y = b in place by elimination; false if a is singular. */
static bool eliminate(int64_t n, double *a, double *b)
{
    for (int64_t c = 0; c < n; c++) {
        int64_t best = c;
        for (int64_t i = c; i < n; i++)
            if (fabs(a[i * n + c]) > fabs(a[best * n + c]))
                best = i;
        if (!(fabs(a[best * n + c]) > 1e-12 * fabs(a[0]) + 0x1p-900))
            return false;
        for (int64_t k = 0; k < n; k++) {
            double kept = a[c * n + k];
            a[c * n + k] = a[best * n + k];
            a[best * n + k] = kept;
        }
        double kept = b[c];
        b[c] = b[best];
        b[best] = kept;
        for (int64_t i = c + 1; i < n; i++) {
            double ratio = a[i * n + c] / a[c * n + c];
            for (int64_t k = c; k < n; k++)
                a[i * n + k] -= ratio * a[c * n + k];
            b[i] -= ratio * b[c];
        }
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < n; k++)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    return true;
}

/* kappa of K kappa = q, K = E A' H^-1 A, which is unbiased. False if there is
 * none. */
static bool aim(struct fit *fit, double *target)
{
    int64_t n = fit->network->nodes;
    memcpy(fit->mixed, fit->inverse, (size_t)(n * n) * sizeof *fit->mixed);
    for (int64_t i = 0; i < n; i++)
        target[i] = fit->rows.part[i] / (double)n;
    return eliminate(n, fit->mixed, target);
}

/* ---------------------------------------------------------------- errors -- */

/* M of the mixture t of both decoders. */
static void mix(const struct fit *fit, double t)
{
    int64_t n = fit->network->nodes;
    double part[] = {(1 - t) * (1 - t), 2 * t * (1 - t), t * t};
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < n; l++) {
            double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += part[k] * fit->m[(k * n + i) * n + l];
            sum -= fit->change[i * n + l] * (1 - t + t * fit->ratio[i]) *
                   (1 - t + t * fit->ratio[l]);
            fit->mixed[i * n + l] = sum;
        }
}

static double noise_of(const double *heard, double t)
{
    return (1 - t) * (1 - t) * heard[0] + 2 * t * (1 - t) * heard[1] +
           t * t * heard[2];
}

/* Between two steps that take a while: whether to go on. The climb reports
 * anything up to 1, what follows is the rest. */
static enum pricer_status go_on(const struct fit *fit)
{
    return pri_tick(fit->ask.watch, 0.99) ? PRICER_OK : PRICER_STOPPED;
}

/* The worst case of the mixture t, from below and above. */
static enum pricer_status bound_at(const struct fit *fit,
                                   const struct pri_judgement *judgement,
                                   double t, double *reached, double *upper)
{
    enum pricer_status status = go_on(fit);
    if (status != PRICER_OK)
        return status;
    double noise = noise_of(judgement->heard, t);
    if (fit->network->nodes <= PRI_WHOLE) {
        mix(fit, t);
        status = pri_bound(fit->network->nodes, fit->mixed, reached, upper);
    } else {
        int64_t skip = fit->test.count * fit->network->nodes;
        status = pri_bound_vectors(
            fit->network->nodes, (int32_t)fit->test.count, fit->vectors + skip,
            fit->court.team, reached, upper);
    }
    *reached = fit->scale * (*reached + noise);
    *upper = fit->scale * (*upper + noise + judgement->chance);
    return status;
}

/*
 * The mixture with the least upper bound, which is convex in t: golden section.
 * On a large network only the decoder itself is looked at.
 */
static enum pricer_status choose_blend(struct fit *fit,
                                       const struct pri_judgement *judgement)
{
    struct pricer_decoder *decoder = fit->decoder;
    double low = 0, high = 1, ratio = (sqrt(5) - 1) / 2;
    double best = 1, reached = 0, upper = 0;
    enum pricer_status status =
        bound_at(fit, judgement, 1, &decoder->reached, &decoder->upper);
    if (fit->network->nodes > PRI_WHOLE ||
        (fit->rows.blind && fit->network->nodes > PRI_SMALL))
        low = 1;
    int steps = fit->network->nodes <= PRI_SMALL ? 12 : 6;
    for (int k = 0; k < steps && low < 1 && status == PRICER_OK; k++) {
        double left = high - ratio * (high - low), there, here;
        double right = low + ratio * (high - low);
        status = bound_at(fit, judgement, left, &reached, &there);
        if (status == PRICER_OK)
            status = bound_at(fit, judgement, right, &reached, &here);
        if (status != PRICER_OK)
            return status;
        if (there < here)
            high = right;
        else
            low = left;
        best = there < here ? left : right;
    }
    if (status == PRICER_OK && best < 1)
        status = bound_at(fit, judgement, best, &reached, &upper);
    if (status == PRICER_OK && best < 1 &&
        upper < decoder->upper * (1 - 1e-6)) {
        decoder->blend = best;
        decoder->reached = reached;
        decoder->upper = upper;
    }
    return status;
}

/* The constant decoder, which needs no sampling. */
static void fall_back(struct pricer_decoder *decoder)
{
    decoder->blend = 0;
    decoder->reached = decoder->upper = decoder->constant;
    decoder->upper_stderr = 0;
}

static double standard_error(const struct fit *fit,
                             const struct pri_judgement *judgement)
{
    double spread = judgement->square - judgement->value * judgement->value;
    if (fit->test.exact)
        return 0;
    return fit->scale * sqrt(fmax(spread, 0) / (double)fit->test.count);
}

/* tr M X and noise for the decoder's own X, which is the least there is. */
static double least_error(const struct fit *fit,
                          const struct pri_judgement *judgement)
{
    int64_t n = fit->network->nodes;
    double sum = 0;
    if (n > PRI_SMALL)
        return fit->scale * judgement->value;
    mix(fit, 1);
    for (int64_t k = 0; k < n * n; k++)
        sum += fit->mixed[k] * fit->x[k];
    return fit->scale * (sum + noise_of(judgement->heard, 1));
}

/* Fill in M and its control. Patterns that are all there are need none. */
static enum pricer_status judge_once(struct fit *fit,
                                     struct pri_judgement *judgement)
{
    int64_t n = fit->network->nodes;
    enum pricer_status status = go_on(fit);
    if (status == PRICER_OK)
        status = pri_judge(&fit->court, &fit->model, judgement);
    if (status != PRICER_OK || n > PRI_WHOLE)
        return status;
    if (n > PRI_SMALL)
        pri_squares(n, fit->test.count, fit->vectors, fit->court.team, fit->m);
    pri_control(n, fit->exact, fit->m, fit->ratio, fit->change);
    if (fit->test.exact)
        memset(fit->change, 0, (size_t)(n * n) * sizeof *fit->change);
    double *heard = judgement->heard, first = heard[0];
    double off = first - fit->error.piv / fit->scale;
    double along = first > 0 ? heard[1] / first : 0;
    heard[0] -= off;
    heard[1] -= along * off;
    heard[2] -= along * along * off;
    return PRICER_OK;
}

/* Judge on fresh patterns: first without caps, for `lower`, then as it is. */
static enum pricer_status judge(struct fit *fit)
{
    struct pricer_decoder *decoder = fit->decoder;
    bool small = fit->network->nodes <= PRI_SMALL;
    struct pri_judgement judgement = {.m = small ? fit->m : NULL};
    if (fit->network->nodes <= PRI_WHOLE)
        pri_constant(fit->network, &fit->truth, &fit->odds, fit->plan->weight,
                     fit->exact);
    fit->court.patterns = &fit->test;
    fit->model.cap = NULL;
    fit->model.blend = 1;
    enum pricer_status status =
        small ? judge_once(fit, &judgement)
              : pri_judge(&fit->court, &fit->model, &judgement);
    if (status != PRICER_OK)
        return status;
    decoder->lower = fmin(least_error(fit, &judgement), decoder->constant);
    decoder->lower_stderr = standard_error(fit, &judgement);
    decoder->patterns = fit->test.count;
    decoder->exact = fit->test.exact;
    fit->model.cap = decoder->cap;
    judgement.vectors = fit->vectors;
    status = judge_once(fit, &judgement);
    decoder->upper_stderr = standard_error(fit, &judgement);
    if (status == PRICER_OK)
        status = choose_blend(fit, &judgement);
    if (status == PRICER_OK &&
        !(decoder->upper + 3 * decoder->upper_stderr < decoder->constant))
        fall_back(decoder);
    return status;
}

/* The coefficients' target and, from the patterns of the fit, their caps: the
 * most that an honest relay is given, or today's 1/n if that is more. */
static enum pricer_status set_target(struct fit *fit, bool *found)
{
    struct pricer_decoder *decoder = fit->decoder;
    struct pri_judgement judgement = {.cap = decoder->cap};
    enum pricer_status status = PRICER_OK;
    pri_model_complete(&fit->model, fit->x);
    pri_model_target(&fit->model, decoder->target);
    *found = true;
    if (fit->ask.unbiased) {
        struct pri_judgement inverse = {.inverse = fit->inverse};
        fit->court.patterns = &fit->test;
        status = pri_judge(&fit->court, &fit->model, &inverse);
        if (status == PRICER_OK)
            *found = aim(fit, decoder->target);
    }
    fit->court.patterns = &fit->train;
    if (status == PRICER_OK && *found)
        status = pri_judge(&fit->court, &fit->model, &judgement);
    for (int32_t j = 0; j < decoder->nodes; j++)
        decoder->cap[j] = fmax(decoder->cap[j], 1.0 / decoder->nodes);
    return status;
}

static enum pricer_status run(struct fit *fit)
{
    struct pricer_decoder *decoder = fit->decoder;
    bool found = true;
    if (fit->ask.unbiased && fit->network->nodes > PRI_SMALL) {
        decoder->lower = 0;
        fall_back(decoder);
        return PRICER_OK;
    }
    enum pricer_status status = draw_patterns(fit);
    if (status == PRICER_OK)
        status = make_room(fit);
    fit->court.patterns = &fit->train;
    bool whole = fit->network->nodes <= PRI_WHOLE;
    if (status == PRICER_OK && whole)
        pri_constant(fit->network, &fit->truth, &fit->disturbed,
                     fit->plan->weight, fit->exact);
    else if (status == PRICER_OK)
        pri_variances(&fit->truth, &fit->disturbed, fit->exact);
    if (status == PRICER_OK)
        status = pri_fit(&fit->court, decoder->rank, fit->exact, fit->ask.watch,
                         decoder->own, decoder->shared);
    if (status == PRICER_OK)
        status = go_on(fit);
    if (status == PRICER_OK)
        status = set_target(fit, &found);
    if (status == PRICER_OK && found)
        status = judge(fit);
    else if (status == PRICER_OK)
        fall_back(decoder);
    return status;
}

/* ---------------------------------------------------------------- public -- */

static enum pricer_status check(const struct pricer_network *network,
                                const struct pricer_plan *plan, struct fit *fit,
                                struct pricer_fault *fault)
{
    struct pricer_settings settings = {0};
    enum pricer_status status =
        pricer_plan_evaluate(network, &settings, plan, &fit->error, NULL);
    if (status != PRICER_OK)
        return pri_fault(fault, status, "the plan is not for this network");
    if (!isfinite(fit->error.mse_worst_case))
        return pri_fault(fault, PRICER_VALUE,
                         "the plan's worst case is not a number");
    if (fit->ask.unbiased && fit->error.bias_l1 > 1e-6 * (double)network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "an unbiased decoder is for unbiased plans: the "
                         "constant decoder of this one keeps its bias");
    int32_t most = network->nodes <= PRI_SMALL ? network->nodes : PRI_RANK - 1;
    if (fit->ask.rank < 1 || fit->ask.rank > most)
        return pri_fault(fault, PRICER_VALUE, "rank %d is not one of 1 to %d",
                         (int)fit->ask.rank, (int)most);
    return PRICER_OK;
}

enum pricer_status pricer_decoder_fit(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_decoder_settings *settings,
    struct pricer_decoder **decoder, struct pricer_fault *fault)
{
    struct fit fit = {.network = network, .plan = plan, .ask = *settings};
    if (fit.ask.rank == 0)
        fit.ask.rank = network->nodes <= PRI_SMALL ? network->nodes : 1;
    enum pricer_status status = check(network, plan, &fit, fault);
    if (status == PRICER_OK)
        status = pricer_decoder_new(network->nodes, fit.ask.rank, &fit.decoder,
                                    fault);
    if (status == PRICER_OK)
        status = pri_rows_new(network, plan, fit.ask.blind, &fit.rows);
    if (status == PRICER_OK)
        status = pri_rows_new(network, plan, false, &fit.truth);
    if (status == PRICER_OK) {
        struct pricer_decoder *made = fit.decoder;
        fit.scale = network->radius * network->radius;
        fit.court.rows = &fit.rows;
        fit.court.team = pri_team_new(
            pri_threads(fit.ask.threads, (int64_t)network->nodes * 1500));
        fit.model = (struct pri_model){.nodes = network->nodes,
                                       .rank = fit.ask.rank,
                                       .own = made->own,
                                       .shared = made->shared,
                                       .target = made->target,
                                       .part = fit.rows.part,
                                       .blend = 1};
        made->blind = fit.ask.blind;
        made->unbiased = fit.ask.unbiased;
        made->constant = fit.error.mse_worst_case;
        status = run(&fit);
    }
    if (status == PRICER_OK)
        *decoder = fit.decoder;
    else
        pricer_decoder_free(fit.decoder);
    fit_free(&fit);
    return status;
}
