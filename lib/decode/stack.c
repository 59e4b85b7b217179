/*
 * From the sums of several attempts, which hold the same payloads, to their
 * coefficients and the error bar.
 *
 * H = A X A' + V over all sums (t, j) that arrived, V_(tj),(t'j) = sum over the
 * shares that are in both of their noise: a payload has one noise, whichever
 * sums hold it. As in one attempt, beta = H^-1 A X q. Dense Cholesky, scaled
 * to a unit diagonal, with the same ridge; O(sums^3 / 3 + sums^2 nodes).
 */
#include "stack.h"
#include "network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pricer_stack_free(struct pricer_stack *stack)
{
    if (stack == NULL)
        return;
    pri_rows_free(&stack->rows);
    free(stack->own);
    free(stack->shared);
    free(stack->target);
    free(stack->cap);
    free(stack->x);
    free(stack->relay);
    free(stack->attempt);
    free(stack->came);
    free(stack->up);
    free(stack->withheld);
    free(stack->a);
    free(stack->image);
    free(stack->v);
    free(stack->factor);
    free(stack->size);
    free(stack->beta);
    free(stack->excess);
    free(stack);
}

static bool make_room(struct pricer_stack *stack)
{
    int64_t n = stack->rows.nodes, most = n * stack->attempts;
    stack->own = pri_alloc(n, sizeof(double));
    stack->shared = pri_alloc(n * n, sizeof(double));
    stack->target = pri_alloc(n, sizeof(double));
    stack->cap = pri_alloc(n, sizeof(double));
    stack->x = pri_alloc(n * n, sizeof(double));
    stack->relay = pri_alloc(most, sizeof *stack->relay);
    stack->attempt = pri_alloc(most, sizeof *stack->attempt);
    stack->came = pri_alloc((int64_t)stack->attempts * stack->rows.entries, 1);
    stack->up = pri_alloc(most, sizeof *stack->up);
    stack->withheld = pri_alloc(most, sizeof *stack->withheld);
    stack->a = pri_alloc(most * n, sizeof(double));
    stack->image = pri_alloc(most * n, sizeof(double));
    stack->v = pri_alloc(most * most, sizeof(double));
    stack->factor = pri_alloc(most * most, sizeof(double));
    stack->size = pri_alloc(most, sizeof(double));
    stack->beta = pri_alloc(most, sizeof(double));
    stack->excess = pri_alloc(n, sizeof(double));
    return stack->own && stack->shared && stack->target && stack->cap &&
           stack->x && stack->relay && stack->attempt && stack->came &&
           stack->up && stack->withheld && stack->a && stack->image &&
           stack->v && stack->factor && stack->size && stack->beta &&
           stack->excess;
}

enum pricer_status pri_stack_new(const struct pricer_network *network,
                                 const struct pricer_plan *plan,
                                 int32_t attempts, struct pricer_stack **stack,
                                 struct pricer_fault *fault)
{
    int64_t sums = (int64_t)attempts * network->nodes;
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    if (attempts < 1 || attempts > PRI_ATTEMPTS || network->nodes > PRI_SMALL ||
        sums > PRI_STACK_SUMS)
        return pri_fault(fault, PRICER_VALUE,
                         "%d attempts of %d nodes are too many to be decoded "
                         "together: up to %d nodes, %d attempts and %d sums",
                         (int)attempts, (int)network->nodes, PRI_SMALL,
                         PRI_ATTEMPTS, PRI_STACK_SUMS);
    struct pricer_stack *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->attempts = attempts;
    made->links = network->links;
    made->dimension = network->dimension;
    made->scale = network->radius * network->radius;
    enum pricer_status status = pri_rows_new(network, plan, false, &made->rows);
    if (status == PRICER_OK && !make_room(made))
        status = PRICER_MEMORY;
    if (status != PRICER_OK) {
        pricer_stack_free(made);
        return status;
    }
    *stack = made;
    return PRICER_OK;
}

/* ----------------------------------------------------------------- solve -- */

/* A and V of the sums that hold something. */
static void collect(struct pricer_stack *stack)
{
    const struct pri_rows *rows = &stack->rows;
    int64_t n = rows->nodes;
    stack->sums = 0;
    for (int32_t t = 0; t < stack->attempts; t++)
        for (int32_t j = 0; j < n; j++) {
            const bool *came = stack->came + (int64_t)t * rows->entries;
            double *to = stack->a + stack->sums * n;
            bool holds = false;
            if (!stack->up[t * n + j])
                continue;
            memset(to, 0, (size_t)n * sizeof *to);
            for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
                if (came[k]) {
                    to[rows->from[k]] += rows->weight[k];
                    holds = true;
                }
            if (!holds)
                continue;
            stack->relay[stack->sums] = j;
            stack->attempt[stack->sums++] = t;
        }
    int64_t sums = stack->sums;
    for (int64_t a = 0; a < sums; a++)
        for (int64_t b = 0; b <= a; b++) {
            double shared = 0;
            int32_t j = stack->relay[a];
            const bool *one =
                stack->came + (int64_t)stack->attempt[a] * rows->entries;
            const bool *two =
                stack->came + (int64_t)stack->attempt[b] * rows->entries;
            for (int32_t k = rows->start[j];
                 stack->relay[b] == j && k < rows->start[j + 1]; k++)
                shared += one[k] && two[k] ? rows->noise[k] : 0;
            stack->v[a * sums + b] = shared;
        }
}

/* The lower triangle of H, and A kappa into beta. */
static void assemble(struct pricer_stack *stack, const struct pri_model *model)
{
    int64_t n = stack->rows.nodes, sums = stack->sums;
    for (int64_t a = 0; a < sums; a++) {
        const double *row = stack->a + a * n;
        double *image = stack->image + a * n, side = 0;
        memset(image, 0, (size_t)n * sizeof *image);
        for (int64_t i = 0; i < n; i++) {
            side += row[i] * model->target[i];
            if (row[i] != 0)
                for (int64_t l = 0; l < n; l++)
                    image[l] += row[i] * model->x[i * n + l];
        }
        stack->beta[a] = side;
        for (int64_t b = 0; b <= a; b++) {
            const double *other = stack->a + b * n;
            double sum = stack->v[a * sums + b];
            for (int64_t l = 0; l < n; l++)
                sum += image[l] * other[l];
            stack->factor[a * sums + b] = sum;
        }
        double own = stack->factor[a * sums + a];
        stack->size[a] = own > 0x1p-900 ? 1 / sqrt(own) : 0;
    }
}

/* Factor the scaled H and solve for beta in place. */
static void factor_and_solve(struct pricer_stack *stack)
{
    int64_t sums = stack->sums;
    double *h = stack->factor, *beta = stack->beta;
    const double *size = stack->size;
    for (int64_t a = 0; a < sums; a++) {
        double pivot = 1 + PRI_RIDGE, *row = h + a * sums;
        for (int64_t b = 0; b < a; b++) {
            double sum = row[b] * size[a] * size[b];
            for (int64_t k = 0; k < b; k++)
                sum -= row[k] * h[b * sums + k];
            row[b] = sum * h[b * sums + b];
            pivot -= row[b] * row[b];
        }
        row[a] = 1 / sqrt(fmax(pivot, 1e-13));
    }
    for (int64_t a = 0; a < sums; a++) {
        double sum = beta[a] * size[a];
        for (int64_t k = 0; k < a; k++)
            sum -= h[a * sums + k] * beta[k];
        beta[a] = sum * h[a * sums + a];
    }
    for (int64_t a = sums - 1; a >= 0; a--) {
        double sum = beta[a];
        for (int64_t k = a + 1; k < sums; k++)
            sum -= h[k * sums + a] * beta[k];
        beta[a] = sum * h[a * sums + a];
    }
    for (int64_t a = 0; a < sums; a++)
        beta[a] *= size[a];
}

/* r, noise and bar of what is in beta. */
static void evaluate(struct pricer_stack *stack, const struct pri_model *model)
{
    int64_t n = stack->rows.nodes, sums = stack->sums;
    double bar = 0, heard = 0;
    for (int64_t i = 0; i < n; i++)
        stack->excess[i] = -1.0 / (double)n;
    for (int64_t a = 0; a < sums; a++) {
        for (int64_t i = 0; i < n; i++)
            stack->excess[i] += stack->beta[a] * stack->a[a * n + i];
        for (int64_t b = 0; b <= a; b++)
            heard += (a == b ? 1 : 2) * stack->beta[a] * stack->beta[b] *
                     stack->v[a * sums + b];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < n; l++)
            bar += stack->excess[i] * model->x[i * n + l] * stack->excess[l];
    stack->heard = fmax(heard, 0);
    stack->bar = bar + stack->heard;
}

void pri_stack_solve(struct pricer_stack *stack, const struct pri_model *model)
{
    collect(stack);
    assemble(stack, model);
    factor_and_solve(stack);
    for (int32_t a = 0; a < stack->sums; a++) {
        int32_t j = stack->relay[a];
        double scale = stack->rows.scale[j];
        if (model->cap != NULL)
            stack->beta[a] = fmax(fmin(stack->beta[a], model->cap[j] * scale),
                                  -model->cap[j] * scale);
        if (model->blend == 0)
            stack->beta[a] = scale / stack->rows.nodes / stack->attempts;
    }
    evaluate(stack, model);
}

void pri_stack_flat(const struct pricer_stack *stack, double *excess,
                    double *heard, double *fresh)
{
    int64_t n = stack->rows.nodes, sums = stack->sums;
    double one = 1.0 / (double)n / stack->attempts;
    *heard = *fresh = 0;
    for (int64_t i = 0; i < n; i++)
        excess[i] = -1.0 / (double)n;
    for (int64_t a = 0; a < sums; a++) {
        double flat = one * stack->rows.scale[stack->relay[a]];
        for (int64_t i = 0; i < n; i++)
            excess[i] += flat * stack->a[a * n + i];
        *fresh += flat * flat * stack->v[a * sums + a] * stack->attempts;
        for (int64_t b = 0; b <= a; b++)
            *heard += (a == b ? 1 : 2) * flat * one *
                      stack->rows.scale[stack->relay[b]] *
                      stack->v[a * sums + b];
    }
}

/* ---------------------------------------------------------------- public -- */

enum pricer_status pricer_stack_new(const struct pricer_network *network,
                                    const struct pricer_plan *plan,
                                    const struct pricer_decoder *decoder,
                                    int32_t attempts,
                                    struct pricer_stack **stack,
                                    struct pricer_fault *fault)
{
    struct pricer_stack *made = NULL;
    int64_t n = network->nodes;
    if (pri_network_alike(network, "the decoder of repeated rounds", false,
                          fault) != PRICER_OK)
        return PRICER_VALUE;
    if (decoder->nodes != n || decoder->rank != n || decoder->blind ||
        decoder->attempts != attempts)
        return pri_fault(fault, PRICER_VALUE,
                         "the decoder is not one of this network's stacks");
    if (!pri_decoder_is_sound(decoder))
        return pri_fault(fault, PRICER_VALUE,
                         "the decoder has numbers outside their range");
    enum pricer_status status =
        pri_stack_new(network, plan, attempts, &made, fault);
    if (status != PRICER_OK)
        return status;
    memcpy(made->own, decoder->own, (size_t)n * sizeof(double));
    memcpy(made->shared, decoder->shared, (size_t)(n * n) * sizeof(double));
    memcpy(made->target, decoder->target, (size_t)n * sizeof(double));
    memcpy(made->cap, decoder->cap, (size_t)n * sizeof(double));
    made->model = (struct pri_model){.nodes = network->nodes,
                                     .rank = network->nodes,
                                     .own = made->own,
                                     .shared = made->shared,
                                     .target = made->target,
                                     .cap = made->cap,
                                     .blend = decoder->blend};
    pri_model_complete(&made->model, made->x);
    *stack = made;
    return PRICER_OK;
}

void pricer_stack_withhold(struct pricer_stack *stack, const bool *withheld)
{
    int64_t all = (int64_t)stack->rows.nodes * stack->attempts;
    for (int64_t k = 0; k < all; k++)
        stack->withheld[k] = withheld != NULL && withheld[k];
}

void pricer_stack_decode(struct pricer_stack *stack, const bool *uplink,
                         const bool *link, double *coefficient,
                         struct pricer_decoded *decoded)
{
    const struct pri_rows *rows = &stack->rows;
    int64_t n = rows->nodes, all = n * stack->attempts;
    memcpy(stack->up, uplink, (size_t)all * sizeof *uplink);
    for (int64_t t = 0; t < stack->attempts; t++)
        for (int32_t k = 0; k < rows->entries; k++)
            stack->came[t * rows->entries + k] =
                rows->link[k] < 0 ? !stack->withheld[t * n + rows->from[k]]
                                  : link[t * stack->links + rows->link[k]];
    pri_stack_solve(stack, &stack->model);
    memset(coefficient, 0, (size_t)all * sizeof *coefficient);
    for (int32_t a = 0; a < stack->sums; a++) {
        int32_t j = stack->relay[a];
        coefficient[stack->attempt[a] * n + j] =
            stack->beta[a] / rows->scale[j];
    }
    *decoded = (struct pricer_decoded){.sums = stack->sums,
                                       .is_estimate = stack->sums > 0,
                                       .bar = stack->scale * stack->bar};
}

const double *pri_stack_excess(const struct pricer_stack *stack)
{
    return stack->excess;
}

double pri_stack_heard(const struct pricer_stack *stack)
{
    return stack->scale * stack->heard;
}

void pri_stack_equal(const struct pricer_stack *stack, double *excess,
                     double *heard, double *fresh)
{
    pri_stack_flat(stack, excess, heard, fresh);
    *heard *= stack->scale;
    *fresh *= stack->scale;
}
