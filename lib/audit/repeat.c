/*
 * Rounds that send the same payloads in several attempts, attacked: a relay's
 * sums of all attempts are weighed together.
 */
#include "attack.h"

#include <math.h>

enum { ATTEMPTS_MOST = 64 };

/* The sums of one relay that the observer has of a round, one an attempt. */
struct sum_stack {
    int32_t sums;
    struct moment when[ATTEMPTS_MOST];
    bool held[ATTEMPTS_MOST]; /* the attacked node's payload is in it */
    double seen[ATTEMPTS_MOST];
    double covariance[ATTEMPTS_MOST * ATTEMPTS_MOST]; /* by the plan */
    double weight[ATTEMPTS_MOST];
};

/* A payload of this variance is in the sums of `held`, with one noise. */
static void add_variance(struct sum_stack *stack, double variance,
                         const bool *held)
{
    for (int32_t a = 0; a < stack->sums; a++)
        for (int32_t b = 0; b < stack->sums && held[a]; b++)
            if (held[b])
                stack->covariance[a * stack->sums + b] += variance;
}

/* What the plan has in the sums, by payloads, as pri_attack_sum() puts it there. */
static void find_covariance(const struct pri_attack *attack,
                            const struct observation *observation,
                            struct sum_stack *stack)
{
    const struct pricer_network *net = attack->network;
    int32_t at = observation->relay, node = attack->node;
    bool held[ATTEMPTS_MOST];
    for (int32_t k = 0; k < stack->sums * stack->sums; k++)
        stack->covariance[k] = 0;
    add_variance(stack, pri_attack_variance(attack, observation->noise),
                 stack->held);
    for (int32_t a = 0; a < stack->sums; a++)
        held[a] = true;
    if (at != node && !observation->direct)
        add_variance(stack,
                     pri_attack_variance(attack, attack->plan->self_noise[at]),
                     held);
    for (int32_t k = net->in_start[at];
         k < net->in_start[at + 1] && !attack->one_link; k++) {
        int32_t l = net->in_link[k], from = net->from[l];
        if (from == node || attack->member[from])
            continue;
        for (int32_t a = 0; a < stack->sums; a++)
            held[a] = pri_attack_is_up(attack, stack->when[a], l, from);
        add_variance(stack, pri_attack_variance(attack, attack->plan->noise[l]),
                     held);
    }
}

/*
 * weight <- (C + ridge)^-1 held, by Cholesky in place. The ridge is far below
 * any noise: sums that are the same twice share their weight, so that an
 * observer who gets a payload twice takes the mean, which is no better than one
 * of them if and only if they are the same.
 */
static void solve(struct sum_stack *stack, double ridge)
{
    int32_t n = stack->sums;
    double *c = stack->covariance, *x = stack->weight;
    for (int32_t a = 0; a < n; a++) {
        double sum = stack->held[a];
        for (int32_t b = 0; b <= a; b++) {
            double entry = c[a * n + b] + (a == b ? ridge : 0);
            for (int32_t k = 0; k < b; k++)
                entry -= c[a * n + k] * c[b * n + k];
            c[a * n + b] =
                a == b ? sqrt(fmax(entry, ridge)) : entry / c[b * n + b];
        }
        for (int32_t k = 0; k < a; k++)
            sum -= c[a * n + k] * x[k];
        x[a] = sum / c[a * n + a];
    }
    for (int32_t a = n - 1; a >= 0; a--) {
        for (int32_t k = a + 1; k < n; k++)
            x[a] -= c[k * n + a] * x[k];
        x[a] /= c[a * n + a];
    }
}

/* Add the log-likelihood ratio of the stack: the two means are half a diameter
 * times the weight to either side, in the sums that hold the payload. */
static void weigh_stack(const struct pri_attack *attack,
                        const struct observation *observation,
                        struct sum_stack *stack, struct pri_trial *result)
{
    double trace = 0, along = 0, square = 0, seen = 0;
    for (int32_t a = 0; a < stack->sums; a++) {
        trace += stack->covariance[a * (stack->sums + 1)];
        seen += stack->held[a] ? stack->seen[a] : 0;
    }
    if (trace == 0) {
        result->ratio += seen == 0 ? 0 : seen > 0 ? INFINITY : -INFINITY;
        result->mu = INFINITY;
        return;
    }
    solve(stack, 1e-9 * trace);
    for (int32_t a = 0; a < stack->sums; a++) {
        along += stack->weight[a] * stack->seen[a];
        square += stack->held[a] ? stack->weight[a] : 0;
    }
    double half = observation->weight * attack->span;
    result->ratio += 2 * half * along;
    result->mu += 4 * half * half * fmax(square, 0);
}

/*
 * One round of several attempts. A relay adds what reached it, so the server has
 * sums with and without the node's payload, whose differences tell more than
 * each; who hears everything has every sum of the server, and every message of a
 * link.
 */
enum pricer_status pri_attack_attempts(struct pri_attack *attack, int64_t round,
                                       bool other, struct pri_trial *result,
                                       struct pricer_fault *fault)
{
    const double *data = other ? attack->other : attack->first;
    struct sum_stack stack;
    for (int32_t k = 0; k < attack->observations; k++) {
        const struct observation *observation = &attack->observation[k];
        bool any = false;
        stack.sums = 0;
        for (int64_t t = 0; t < attack->attempts; t++) {
            struct moment when = {round, t};
            double others;
            bool held =
                observation->link < 0 || (attack->one_link && attack->radio) ||
                pri_attack_is_up(attack, when, observation->link, attack->node);
            bool seen = observation->direct || attack->radio ||
                        pri_attack_is_up(attack, when, -1, observation->relay);
            if (!seen || (attack->one_link && !held))
                continue;
            enum pricer_status status = pri_attack_sum(
                attack, when, observation, held ? data : NULL, &others, fault);
            if (status != PRICER_OK)
                return status;
            stack.when[stack.sums] = when;
            stack.held[stack.sums] = held;
            stack.seen[stack.sums++] =
                pri_attack_seen(attack, attack->dimension - 1);
            any = any || held;
        }
        if (!any)
            continue;
        find_covariance(attack, observation, &stack);
        weigh_stack(attack, observation, &stack, result);
    }
    return PRICER_OK;
}
