/*
 * The adaptive decoder: from the sums themselves to a guess of how long and how
 * alike the nodes' vectors are, then to coefficients for such data.
 *
 * Empirical Bayes: X = s [(1 - w) ((1 - c) I + c 11') + w X*], X* that of the
 * minimax decoder. If data have independent coordinates with covariance X / d,
 * each column of the sums is N(0, (A X A' + N) / d) in units of the radius, so
 * that, but for constants and a factor -d / 2, their log-likelihood is
 *
 *     ln det S + tr S^-1 G,   S = A X A' + N,   G = sums sums' / radius^2.
 *
 * (s, c, w) minimise it: a coarse grid, then a search along the axes. It looks
 * at up to 64 sums. No guarantee: against an adversary it can lose.
 */
#include "receiver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS = PRI_ADAPT, SQUARE = SUMS * SUMS };

/* The sums that are looked at, and A A', (A 1)(A 1)', A X* A', G. */
struct evidence {
    int32_t count;
    int32_t relay[SUMS];
    double noise[SUMS], total[SUMS];
    double *alone, *likely, *gram, *work; /* [count][count] */
};

/* ln s, c and w. */
struct guess {
    double size, common, hard, value;
};

/* Sums that hold something, evenly chosen if they are too many. */
static void choose_sums(const struct pricer_receiver *receiver,
                        const bool *uplink, struct evidence *evidence)
{
    const struct pri_rows *rows = &receiver->rows;
    int64_t all = 0, seen = 0;
    for (int32_t j = 0; j < rows->nodes; j++)
        all += uplink[j] && rows->start[j] < rows->start[j + 1];
    for (int32_t j = 0; j < rows->nodes; j++) {
        if (!uplink[j] || rows->start[j] == rows->start[j + 1])
            continue;
        int64_t kept = all < SUMS ? all : SUMS;
        if (seen * kept / all < (seen + 1) * kept / all)
            evidence->relay[evidence->count++] = j;
        seen++;
    }
}

/* The inner products of row a with every row, by way of a vector over nodes. */
static void relate(struct pricer_receiver *receiver, const bool *link,
                   int32_t a, struct evidence *evidence)
{
    const struct pri_rows *rows = &receiver->rows;
    const struct pri_model *model = &receiver->model;
    const struct pri_held held = {link, receiver->withheld};
    int64_t n = rows->nodes, rank = model->rank, count = evidence->count;
    double *row = receiver->adapted_target, *spread = receiver->adapted_own;
    double *along = receiver->adapted_shared;
    int32_t j = evidence->relay[a];
    memset(row, 0, (size_t)n * sizeof *row);
    memset(along, 0, (size_t)rank * sizeof *along);
    for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
        if (!pri_is_held(rows, &held, j, k))
            continue;
        int64_t i = rows->from[k];
        row[i] += rows->weight[k];
        evidence->noise[a] += rows->noise[k];
        evidence->total[a] += rows->weight[k];
        for (int64_t c = 0; c < rank; c++)
            along[c] += rows->weight[k] * model->shared[i * rank + c];
    }
    for (int64_t i = 0; i < n; i++) {
        spread[i] = model->own[i] * row[i];
        for (int64_t c = 0; c < rank; c++)
            spread[i] += model->shared[i * rank + c] * along[c];
    }
    for (int32_t b = 0; b <= a; b++) {
        int32_t other = evidence->relay[b];
        double alone = 0, likely = 0;
        for (int32_t k = rows->start[other]; k < rows->start[other + 1]; k++)
            if (pri_is_held(rows, &held, other, k)) {
                alone += rows->weight[k] * row[rows->from[k]];
                likely += rows->weight[k] * spread[rows->from[k]];
            }
        evidence->alone[a * count + b] = alone;
        evidence->likely[a * count + b] = likely;
    }
}

static void gather(struct pricer_receiver *receiver, const bool *uplink,
                   const bool *link, const double *sums,
                   struct evidence *evidence)
{
    const struct pri_rows *rows = &receiver->rows;
    int64_t d = receiver->dimension;
    double *work = receiver->work;
    evidence->alone = work;
    evidence->likely = work + SQUARE;
    evidence->gram = work + 2 * SQUARE;
    evidence->work = work + 3 * SQUARE;
    choose_sums(receiver, uplink, evidence);
    for (int32_t a = 0; a < evidence->count; a++) {
        relate(receiver, link, a, evidence);
        const double *one = sums + evidence->relay[a] * d;
        for (int32_t b = 0; b <= a; b++) {
            const double *two = sums + evidence->relay[b] * d;
            double sum = 0, scale = rows->scale[evidence->relay[a]] *
                                    rows->scale[evidence->relay[b]];
            for (int64_t c = 0; c < d; c++)
                sum += one[c] * two[c];
            evidence->gram[a * evidence->count + b] =
                evidence->gram[b * evidence->count + a] =
                    sum / scale / receiver->scale;
        }
    }
}

/* ln det S + tr S^-1 G; S is scaled to a unit diagonal for the ridge. */
static double surprise(const struct evidence *evidence,
                       const struct guess *guess)
{
    int64_t n = evidence->count;
    double s = exp(guess->size), c = guess->common, w = guess->hard;
    double *l = evidence->work, *y = evidence->work + SQUARE, value = 0;
    for (int64_t a = 0; a < n; a++) {
        double *row = l + a * n, pivot = 0;
        for (int64_t b = 0; b <= a; b++) {
            double sum =
                s * ((1 - w) * ((1 - c) * evidence->alone[a * n + b] +
                                c * evidence->total[a] * evidence->total[b]) +
                     w * evidence->likely[a * n + b]);
            if (a == b)
                sum = (sum + evidence->noise[a]) * (1 + PRI_RIDGE) + 0x1p-900;
            double whole = sum;
            for (int64_t k = 0; k < b; k++)
                sum -= row[k] * l[b * n + k];
            if (a == b)
                pivot = fmax(sum, 1e-13 * whole);
            else
                row[b] = sum / l[b * n + b];
        }
        row[a] = sqrt(pivot);
        value += 2 * log(row[a]);
    }
    for (int64_t g = 0; g < n;
         g++) { /* column g of L^-1 G L^-T, its diagonal */
        for (int64_t a = 0; a < n; a++) {
            double sum = evidence->gram[a * n + g];
            for (int64_t k = 0; k < a; k++)
                sum -= l[a * n + k] * y[k * n + g];
            y[a * n + g] = sum / l[a * n + a];
        }
    }
    for (int64_t a = 0; a < n; a++) { /* row a of Y L^-T, up to its diagonal */
        double *row = y + a * n;
        for (int64_t b = 0; b <= a; b++) {
            for (int64_t k = 0; k < b; k++)
                row[b] -= row[k] * l[b * n + k];
            row[b] /= l[b * n + b];
        }
        value += row[a];
    }
    return value;
}

static bool try_guess(const struct evidence *evidence, struct guess *best,
                      double size, double common, double hard)
{
    struct guess guess = {fmin(fmax(size, -20), 0), fmin(fmax(common, 0), 1),
                          fmin(fmax(hard, 0), 1), 0};
    guess.value = surprise(evidence, &guess);
    if (!(guess.value < best->value))
        return false;
    *best = guess;
    return true;
}

static struct guess learn(const struct evidence *evidence)
{
    static const double common[] = {0, .3, .7, .95, .999};
    struct guess best = {0, 0, 1, INFINITY};
    for (int size = 0; size <= 5; size++)
        for (int hard = 0; hard <= 2; hard++)
            for (int k = 0; k < 5; k++)
                if (hard < 2 || k == 0)
                    try_guess(evidence, &best, -1.5 * size, common[k],
                              hard / 2.0);
    double step = 1;
    while (step > 1.0 / 64) {
        struct guess from = best;
        double away = (1 - from.common) * step / 2 + 1e-4 * step;
        bool moved = false;
        for (int side = -1; side <= 1; side += 2) {
            moved |= try_guess(evidence, &best, from.size + side * step,
                               from.common, from.hard);
            moved |= try_guess(evidence, &best, from.size,
                               from.common + side * away, from.hard);
            moved |= try_guess(evidence, &best, from.size, from.common,
                               from.hard + side * step / 4);
        }
        if (!moved)
            step /= 2;
    }
    return best;
}

/* The model of such data. */
static struct pri_model imagine(struct pricer_receiver *receiver,
                                const struct guess *guess)
{
    const struct pri_model *model = &receiver->model;
    int64_t n = model->nodes, rank = model->rank;
    double s = exp(guess->size), w = guess->hard, c = guess->common;
    struct pri_model made = *model;
    made.rank = model->rank + 1;
    for (int64_t i = 0; i < n; i++) {
        double *row = receiver->adapted_shared + i * (rank + 1);
        receiver->adapted_own[i] = s * ((1 - w) * (1 - c) + w * model->own[i]);
        row[0] = sqrt(s * (1 - w) * c);
        for (int64_t k = 0; k < rank; k++)
            row[k + 1] = sqrt(s * w) * model->shared[i * rank + k];
    }
    made.own = receiver->adapted_own;
    made.shared = receiver->adapted_shared;
    made.target = receiver->adapted_target;
    made.cap = receiver->wide_cap;
    made.blend = 1;
    pri_model_complete(&made, receiver->adapted_x);
    pri_model_target(&made, receiver->adapted_target);
    return made;
}

void pricer_receiver_adapt(struct pricer_receiver *receiver, const bool *uplink,
                           const bool *link, const double *sums,
                           double *coefficient, struct pricer_decoded *decoded)
{
    struct evidence evidence = {0};
    gather(receiver, uplink, link, sums, &evidence);
    struct guess guess = learn(&evidence);
    if (!isfinite(guess.value)) { /* nothing arrived, or nothing sensible */
        pricer_receiver_decode(receiver, uplink, link, coefficient, decoded);
        return;
    }
    struct pri_model model = imagine(receiver, &guess);
    pri_receiver_solve(receiver, &model, uplink, link, coefficient, decoded);
}
