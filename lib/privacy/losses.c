/*
 * From privacy losses of one round to those of many, on lattices: losses.h.
 *
 * Below, with p and q the masses of a point under both laws, what is kept of q
 * is q e^(its label), which has the size of p and multiplies as p does, since
 * labels add up. The loss of a point is its label + ln(p / that).
 */
#include "losses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 64 };

/* Beyond such steps the mean of e^-loss is that of the lower end alone. */
#define COARSE 30

/* Masses on a lattice, from `first` to `last`; none if that is before. */
struct lattice {
    int32_t first, last;
    double *p, *q; /* by label, from -2 reach - 2 to 2 reach + 2 */
};

/* A law, or sums on their way into one. */
struct levels {
    struct lattice at[LEVELS];
    double infinite;
};

struct pri_losses {
    enum pri_side side;
    int32_t reach, room;
    double step, slack; /* of masses: their rounding */
    struct levels power, sum, spare;
    struct lattice coarse[2], product, pending;
    double *mass, *loss; /* the points of one law, one after another */
    double *memory;
};

void pri_losses_free(struct pri_losses *losses)
{
    if (losses != NULL)
        free(losses->memory);
    free(losses);
}

/* Where the arrays of all lattices lie. */
static void lay_out(struct pri_losses *losses)
{
    int32_t span = 4 * losses->room + 5, middle = 2 * losses->room + 2;
    double *next = losses->memory;
    struct levels *laws[] = {&losses->power, &losses->sum, &losses->spare};
    struct lattice *single[] = {&losses->coarse[0], &losses->coarse[1],
                                &losses->product, &losses->pending};
    for (int k = 0; k < 3 * LEVELS + 4; k++) {
        struct lattice *lattice = k < 3 * LEVELS
                                      ? &laws[k / LEVELS]->at[k % LEVELS]
                                      : single[k - 3 * LEVELS];
        lattice->p = next + middle;
        lattice->q = next + span + middle;
        next += 2 * (size_t)span;
    }
    losses->mass = next;
    losses->loss = next + LEVELS * (size_t)span;
}

static void empty(struct lattice *lattice)
{
    if (lattice->first <= lattice->last) {
        size_t size = (size_t)(lattice->last - lattice->first + 1);
        memset(lattice->p + lattice->first, 0, size * sizeof(double));
        memset(lattice->q + lattice->first, 0, size * sizeof(double));
    }
    lattice->first = 1;
    lattice->last = 0;
}

static void empty_all(struct levels *law)
{
    for (int j = 0; j < LEVELS; j++)
        empty(&law->at[j]);
    law->infinite = 0;
}

enum pricer_status pri_losses_begin(enum pri_side side, int32_t reach,
                                    double step, struct pri_losses **losses)
{
    struct pri_losses *own = *losses;
    if (own == NULL)
        own = *losses = pri_alloc(1, sizeof *own);
    if (own == NULL)
        return PRICER_MEMORY;
    if (reach > own->room) {
        free(own->memory);
        *own = (struct pri_losses){.room = reach};
        own->memory = pri_alloc((4 * LEVELS + 4) * 2 * (4 * (int64_t)reach + 5),
                                sizeof(double));
        own->room = own->memory == NULL ? 0 : reach;
        if (own->memory == NULL)
            return PRICER_MEMORY;
        lay_out(own);
        for (int k = 0; k < 2; k++)
            empty(&own->coarse[k]);
    }
    empty_all(&own->power);
    empty_all(&own->sum);
    own->side = side;
    own->reach = reach;
    own->step = step;
    return PRICER_OK;
}

/* Add to one point of a lattice. */
static void add(struct lattice *lattice, int32_t k, double p, double q)
{
    if (!(p > 0))
        return;
    bool none = lattice->first > lattice->last;
    lattice->p[k] += p;
    lattice->q[k] += q;
    lattice->first = none || k < lattice->first ? k : lattice->first;
    lattice->last = none || k > lattice->last ? k : lattice->last;
}

void pri_losses_put(struct pri_losses *losses, double loss, double mass)
{
    double step = losses->step;
    bool above = losses->side == PRI_ABOVE;
    int level = 0;
    while (fabs(loss) > (losses->reach - 1) * step && level < LEVELS - 1) {
        step *= 2;
        level++;
    }
    struct lattice *lattice = &losses->power.at[level];
    if (fabs(loss) > (losses->reach - 1) * step) { /* off the last lattice */
        if (loss > 0 && (above || isinf(loss)))
            losses->power.infinite += mass;
        else if (above || loss > 0)
            add(lattice, loss > 0 ? losses->reach : -losses->reach, mass, mass);
        return;
    }
    double low = floor(loss / step), rest = loss - low * step;
    int32_t k = (int32_t)low;
    if (above) {
        double up = fmin(fmax(expm1(-rest) / expm1(-step), 0), 1) * mass;
        add(lattice, k, mass - up, 0);
        add(lattice, k + 1, up, 0);
    } else if (step > COARSE) {
        add(lattice, k, mass, mass);
    } else {
        bool up = rest > step / 2;
        add(lattice, k + up, mass, mass * exp((up ? step : 0) - rest));
    }
}

/* Onto a lattice of twice the step. Below, whatever share goes up will do. */
static void coarsen(const struct lattice *from, double step, enum pri_side side,
                    struct lattice *to)
{
    bool merge = side == PRI_BELOW && step > COARSE;
    double shrink = exp(-step), grow = merge ? 0 : 1 / shrink;
    double up = merge ? 0 : 1 / (1 + shrink);
    for (int32_t k = from->first; k <= from->last; k++) {
        double p = from->p[k], q = from->q[k];
        int32_t low = (k - (k & 1)) / 2;
        if ((k & 1) == 0) {
            add(to, low, p, q);
            continue;
        }
        double down = q * shrink * (1 - up);
        if (merge)
            down = fmax(p, down); /* no more loss than the label says */
        add(to, low, p * (1 - up), down);
        if (!merge)
            add(to, low + 1, p * up, side == PRI_BELOW ? q * up * grow : 0);
    }
}

/* All sums of a point of each, `times` over. */
static void convolve(const struct lattice *one, const struct lattice *two,
                     double times, bool both, struct lattice *out)
{
    if (one->first > one->last || two->first > two->last)
        return;
    int32_t first = one->first + two->first, last = one->last + two->last;
    bool none = out->first > out->last;
    int32_t count = two->last - two->first + 1;
    out->first = none || first < out->first ? first : out->first;
    out->last = none || last > out->last ? last : out->last;
    for (int32_t a = one->first; a <= one->last; a++) {
        double p = one->p[a] * times, q = one->q[a] * times;
        const double *restrict from = two->p + two->first;
        double *restrict to = out->p + a + two->first;
        if (p == 0)
            continue;
        for (int32_t b = 0; b < count; b++)
            to[b] += p * from[b];
        from = two->q + two->first;
        to = out->q + a + two->first;
        for (int32_t b = 0; both && b < count; b++)
            to[b] += q * from[b];
    }
}

/* Below: the label next to the loss that a point has come to, so that q never
 * leaves the range of numbers; *q goes along. */
static int32_t relabel(int32_t k, double p, double step, double *q)
{
    if (step > COARSE ||
        (*q < p * exp(1.5 * step) && *q > p * exp(-1.5 * step)))
        return k;
    double moved = rint(log(p / *q) / step);
    if (!(fabs(moved) < 1e3)) /* nothing that counts gets there */
        return k;
    *q *= exp(moved * step);
    return k + (int32_t)moved;
}

/* What of a product is within reach stays; the rest goes on, as far as there
 * are levels. */
static void settle(struct pri_losses *losses, int level, double step,
                   struct levels *out)
{
    struct lattice *product = &losses->product, *beyond = &losses->pending;
    int32_t reach = losses->reach, limit = 2 * reach + 1;
    bool above = losses->side == PRI_ABOVE, top = level + 1 == LEVELS;
    for (int32_t k = product->first; k <= product->last; k++) {
        double p = product->p[k], q = product->q[k];
        if (!(p > 0))
            continue;
        int32_t to = above ? k : relabel(k, p, step, &q);
        if (to < -limit || to > limit) {
            to = k;
            q = product->q[k];
        }
        if (to >= -reach && to <= reach)
            add(&out->at[level], to, p, q);
        else if (!top)
            add(beyond, to, p, q);
        else if (above && k > 0)
            out->infinite += p;
        else if (above)
            add(&out->at[level], -reach, p, 0);
    }
    if (!top)
        coarsen(beyond, step, losses->side, &out->at[level + 1]);
    empty(beyond);
    empty(product);
}

/* Give up masses at either end: above they become infinite or come nearer,
 * below they are left out. */
static void cut(struct levels *law, double tail, enum pri_side side)
{
    double high = 0, low = 0;
    for (int j = LEVELS - 1; j >= 0; j--) {
        struct lattice *at = &law->at[j];
        while (at->last > 0 && at->last >= at->first &&
               high + at->p[at->last] <= tail) {
            high += at->p[at->last];
            law->infinite += side == PRI_ABOVE ? at->p[at->last] : 0;
            at->p[at->last] = at->q[at->last] = 0;
            at->last--;
        }
        double carried = 0;
        while (at->first < 0 && at->first <= at->last &&
               low + at->p[at->first] <= tail) {
            low += at->p[at->first];
            carried += at->p[at->first];
            at->p[at->first] = at->q[at->first] = 0;
            at->first++;
        }
        if (side == PRI_ABOVE && carried > 0)
            add(at, at->first <= at->last ? at->first : 0, carried, 0);
        if (at->first > at->last)
            empty(at);
    }
}

static int top_of(const struct levels *law)
{
    int top = LEVELS - 1;
    while (top > 0 && law->at[top].first > law->at[top].last)
        top--;
    return top;
}

/* *one = the law of the sum of both; they may be the same. */
static void plus(struct pri_losses *losses, struct levels *one,
                 const struct levels *two, double tail)
{
    struct levels *out = &losses->spare;
    struct lattice *coarse = losses->coarse;
    bool same = one == two, both = losses->side == PRI_BELOW;
    int top = top_of(one) > top_of(two) ? top_of(one) : top_of(two);
    double step = losses->step;
    empty_all(out);
    out->infinite =
        one->infinite + (1 - fmin(one->infinite, 1)) * two->infinite;
    for (int j = 0; j <= top; j++, step *= 2) {
        convolve(&one->at[j], &two->at[j], 1, both, &losses->product);
        convolve(&one->at[j], &coarse[1], same ? 2 : 1, both, &losses->product);
        if (!same)
            convolve(&two->at[j], &coarse[0], 1, both, &losses->product);
        settle(losses, j, step, out);
        for (int k = same; k < 2; k++) {
            const struct levels *law = k == 0 ? one : two;
            coarsen(&coarse[k], step, losses->side, &losses->pending);
            coarsen(&law->at[j], step, losses->side, &losses->pending);
            struct lattice swap = coarse[k];
            coarse[k] = losses->pending;
            losses->pending = swap;
            empty(&losses->pending);
        }
    }
    for (int k = 0; k < 2; k++)
        empty(&coarse[k]);
    cut(out, tail, losses->side);
    struct levels swap = *one;
    *one = *out;
    *out = swap;
}

void pri_losses_repeat(struct pri_losses *losses, int64_t times, double tail)
{
    double whole = (double)times, rounds = 1, done = 0;
    losses->slack = 1e-9 + 1e-12 * whole;
    for (int64_t left = times; left > 0; left /= 2, rounds *= 2) {
        if (left % 2 == 1 && done > 0) {
            plus(losses, &losses->sum, &losses->power,
                 tail * (done + rounds) / whole / 8);
        } else if (left % 2 == 1) {
            for (int j = 0; j < LEVELS; j++) {
                const struct lattice *from = &losses->power.at[j];
                for (int32_t k = from->first; k <= from->last; k++)
                    add(&losses->sum.at[j], k, from->p[k], from->q[k]);
            }
            losses->sum.infinite = losses->power.infinite;
        }
        done += left % 2 == 1 ? rounds : 0;
        if (left > 1)
            plus(losses, &losses->power, &losses->power,
                 tail * fmin(2 * rounds / whole, 1) / 8);
    }
}

/* E (1 - e^(eps - loss))_+ over the list of points, with room for the rounding
 * of masses. */
static double cost(const struct pri_losses *losses, int32_t count, double eps)
{
    double sum = losses->sum.infinite;
    for (int32_t k = 0; k < count; k++)
        if (losses->loss[k] > eps)
            sum += losses->mass[k] * -expm1(eps - losses->loss[k]);
    return sum *
           (losses->side == PRI_ABOVE ? 1 + losses->slack : 1 - losses->slack);
}

/* List the points of the sum that have a positive loss. */
static int32_t list_points(struct pri_losses *losses)
{
    int32_t count = 0;
    double step = losses->step;
    for (int j = 0; j < LEVELS; j++, step *= 2) {
        const struct lattice *at = &losses->sum.at[j];
        for (int32_t k = at->first; k <= at->last; k++) {
            double p = at->p[k], label = k * step, loss;
            double room = 1e-12 * fabs(label) + 1e-9 * losses->step;
            if (losses->side == PRI_ABOVE)
                loss = label + room;
            else /* what q lost to underflow is less than this */
                loss = label - room + log(p / (at->q[k] + 1e-290));
            if (!(loss > 0) || !(p > 1e-250))
                continue;
            losses->mass[count] = p;
            losses->loss[count++] = loss;
        }
    }
    return count;
}

double pri_losses_eps(struct pri_losses *losses, double delta)
{
    int32_t count = list_points(losses);
    double low = 0, high = 0;
    for (int32_t k = 0; k < count; k++)
        high = fmax(high, losses->loss[k]);
    if (cost(losses, count, 0) <= delta)
        return 0;
    if (cost(losses, count, high) > delta)
        return INFINITY;
    while (high - low > 1e-6 * high) {
        double middle = (low + high) / 2;
        *(cost(losses, count, middle) > delta ? &low : &high) = middle;
    }
    return losses->side == PRI_ABOVE ? high : low;
}
