/*
 * From one round to many, for identities: composition by the privacy loss.
 *
 * The two laws of a round differ in variance, so rounds do not add up to one
 * Gaussian. What is composed instead are two pairs of discrete laws, one easier
 * and one harder to tell apart than the true pair. A pair is given by its curve
 * c(x) = delta(ln x), which is convex; one that dominates another at every eps
 * dominates it in every composition. From above the curve is the polygon
 * through upper bounds of c at some points ('connect the dots', Doroshenko et
 * al. 2022), or rather the convex hull of them, above which c cannot lie. From
 * below it is the hull of points low enough that every chord lies below c
 * (outline_below()). A polygon is the curve of a pair whose loss takes the
 * values ln x_k only, with the mass x_k (slope after x_k - slope before x_k)
 * under the first law. The points x_k < 1 come from the curve of the opposite
 * direction, as c(x) = 1 - x + x back(1/x).
 *
 * Losses of independent rounds add up, and delta(eps) = E (1 - e^(eps-loss))_+
 * is an expectation of a convex function of e^-loss: sums are grouped as law.h
 * says, to the side. All losses are moved by a constant a round, so that none
 * is negative. A loss that is infinite in some round is so in the sum.
 */
#include "account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fall of that much is told from the errors of the curves. */
#define FALL 0.01

/* The most steps that a try should take. */
#define CLOSE 0.008
#define WORK_MOST 5e8

/* One direction of a dominating or dominated pair. */
struct polygon {
    int32_t count;
    int32_t at[PRI_POINTS + 1]; /* the points that are its corners */
    double height[PRI_POINTS + 1];
};

/* The slope between two points times x at the first of them. */
static double slope_at(const struct pri_curves *curves, const double *height,
                       int32_t here, int32_t there)
{
    double apart = curves->loss[there] - curves->loss[here];
    return (height[there] - height[here]) / expm1(apart);
}

/* Some of the points of a curve, in order, and a height at each. */
struct outline {
    int32_t count, at[PRI_POINTS + 1];
    double height[PRI_POINTS + 1]; /* by point, not by place in the list */
};

/* The corners of the lower convex hull of an outline. */
static void take_hull(const struct pri_curves *curves,
                      const struct outline *outline, struct polygon *polygon)
{
    const double *height = outline->height;
    int32_t count = 0, *at = polygon->at;
    for (int32_t k = 0; k < outline->count; k++) {
        int32_t point = outline->at[k];
        while (count > 1 &&
               slope_at(curves, height, at[count - 1], at[count - 2]) >=
                   slope_at(curves, height, at[count - 1], point))
            count--;
        at[count++] = point;
        polygon->height[point] = height[point];
    }
    polygon->count = count;
}

/* All points, at their upper bounds. */
static void outline_above(const struct pri_curves *curves, int direction,
                          struct outline *outline)
{
    outline->count = curves->last + 1;
    for (int32_t k = 0; k <= curves->last; k++) {
        outline->at[k] = k;
        outline->height[k] = curves->bound[PRI_ABOVE][direction][k];
    }
}

/* Points between which the curve falls by more than its bounds are apart. */
static void pick_points(const struct pri_curves *curves, int direction,
                        struct outline *outline)
{
    const double *low = curves->bound[PRI_BELOW][direction];
    outline->count = 0;
    for (int32_t k = 0; k <= curves->last; k++) {
        int32_t before =
            outline->count > 0 ? outline->at[outline->count - 1] : 0;
        if (k == 0 || k == curves->last || low[k] < (1 - FALL) * low[before])
            outline->at[outline->count++] = k;
    }
}

/* The lines before and after the step from point a to point b, at its ends:
 * through two points before, or two after. */
static void line_before(const struct pri_curves *curves, int direction,
                        const int32_t *at, double *left, double *right)
{
    const double *low = curves->bound[PRI_BELOW][direction];
    const double *high = curves->bound[PRI_ABOVE][direction];
    const double *loss = curves->loss;
    double ratio =
        expm1(loss[at[1]] - loss[at[0]]) / -expm1(loss[at[-1]] - loss[at[0]]);
    *left = low[at[0]];
    *right = low[at[0]] + ratio * (low[at[0]] - high[at[-1]]);
}

static void line_after(const struct pri_curves *curves, int direction,
                       const int32_t *at, double *left, double *right)
{
    const double *low = curves->bound[PRI_BELOW][direction];
    const double *high = curves->bound[PRI_ABOVE][direction];
    const double *loss = curves->loss;
    double ratio =
        -expm1(loss[at[0]] - loss[at[1]]) / expm1(loss[at[2]] - loss[at[1]]);
    *left = low[at[1]] * (1 + ratio) - ratio * high[at[2]];
    *right = low[at[1]];
}

/* The best line that lies below the curve on the step from at[0] on: it falls,
 * so the height at the end will do; or the mean of the lines before and after.
 */
static void best_line(const struct pri_curves *curves, int direction,
                      const struct outline *outline, int32_t k, double *left,
                      double *right)
{
    const int32_t *at = outline->at + k;
    double before[2], after[2];
    bool has_before = k > 0, has_after = k + 2 < outline->count;
    *left = *right = curves->bound[PRI_BELOW][direction][at[1]];
    if (has_before)
        line_before(curves, direction, at, &before[0], &before[1]);
    if (has_after)
        line_after(curves, direction, at, &after[0], &after[1]);
    if (!has_before && !has_after)
        return;
    double one = !has_after    ? before[0]
                 : !has_before ? after[0]
                               : (before[0] + after[0]) / 2;
    double two = !has_after    ? before[1]
                 : !has_before ? after[1]
                               : (before[1] + after[1]) / 2;
    if (two > 0 && one + two > *left + *right) {
        *left = one;
        *right = two;
    }
}

/*
 * Points whose chords lie below the curve. Between two points a convex curve
 * lies above the line through the two points before, and above the one through
 * the two after; so above their mean. Of the heights that two neighbouring
 * lines have at a point the lower one is taken, and all are lowered by the
 * last, so that the curve may end there.
 */
static void outline_below(const struct pri_curves *curves, int direction,
                          struct outline *outline)
{
    double before = INFINITY, left, right;
    pick_points(curves, direction, outline);
    const int32_t *at = outline->at;
    for (int32_t k = 0; k + 1 < outline->count; k++, before = right) {
        best_line(curves, direction, outline, k, &left, &right);
        outline->height[at[k]] = fmin(left, before);
    }
    int32_t last = outline->count - 1;
    double end = isinf(before) ? 0 : before;
    outline->height[at[last]] = end;
    for (int32_t k = 0; k <= last; k++)
        outline->height[at[k]] = fmax(outline->height[at[k]] - end, 0);
}

/* What the polygons leave of a mass of 1 for no loss at all; a few units in the
 * last place less than nothing is rounding. */
static double left_over(const struct pri_curves *curves,
                        const struct polygon polygon[2])
{
    double left =
        1 - curves->infinite[PRI_BELOW] - polygon[0].height[0] + 1e-15;
    for (int way = 0; way < 2; way++)
        if (polygon[way].count > 1)
            left +=
                slope_at(curves, polygon[way].height, 0, polygon[way].at[1]);
    return left;
}

/* Leave out the first corner after 0 of the longer polygon, which raises it.
 * False if there is none. */
static bool drop_corner(struct polygon polygon[2])
{
    struct polygon *longer = &polygon[polygon[1].count > polygon[0].count];
    if (longer->count < 3)
        return false;
    longer->count--;
    memmove(longer->at + 1, longer->at + 2,
            (size_t)(longer->count - 1) * sizeof *longer->at);
    return true;
}

/* Both outlines begin at `start`, and never rise. */
static void begin_at(double start, enum pri_side side,
                     struct outline outline[2])
{
    for (int way = 0; way < 2; way++) {
        const int32_t *at = outline[way].at;
        double *height = outline[way].height;
        height[0] = start;
        for (int32_t k = 1; k < outline[way].count && side == PRI_BELOW; k++)
            height[at[k]] = fmin(height[at[k]], height[at[k - 1]]);
    }
}

/*
 * The two polygons of a side, which meet at x = 1. They must leave room for the
 * mass that has no loss; the true curves do. Where their bounds do not, they
 * are moved further to their side.
 */
static void take_polygons(const struct pri_curves *curves, enum pri_side side,
                          struct polygon polygon[2])
{
    struct outline outline[2];
    for (int way = 0; way < 2; way++)
        (side == PRI_ABOVE ? outline_above : outline_below)(curves, way,
                                                            &outline[way]);
    double first = outline[0].height[0], second = outline[1].height[0];
    double start =
        side == PRI_ABOVE ? fmax(first, second) : fmin(first, second);
    for (int try = 0; try < 40; try++) {
        begin_at(start, side, outline);
        for (int way = 0; way < 2; way++)
            take_hull(curves, &outline[way], &polygon[way]);
        while (side == PRI_ABOVE && left_over(curves, polygon) < 0 &&
               drop_corner(polygon))
            ;
        if (side == PRI_ABOVE || left_over(curves, polygon) >= 0)
            break;
        start *= 1 - 1e-5 * pow(1.5, try);
    }
}

/* The mass of a corner under the first law of its direction. */
static double corner_mass(const struct pri_curves *curves,
                          const struct polygon *polygon, int32_t k)
{
    const int32_t *at = polygon->at;
    double before = slope_at(curves, polygon->height, at[k], at[k - 1]);
    double after = k + 1 == polygon->count
                       ? 0
                       : slope_at(curves, polygon->height, at[k], at[k + 1]);
    return fmax(after - before, 0);
}

/* Where losses are told apart: from -back to ahead. */
struct window {
    double back, ahead;
};

/*
 * The law of the loss of one round in one direction, moved by window->back.
 * What the corners leave of the mass of 1 has no loss. A loss further back is
 * raised (above) or left out (below), as its mass is next to nothing; one
 * further ahead becomes infinite, or comes back. False if the corners leave
 * less than nothing.
 */
static bool loss_law(const struct pri_curves *curves,
                     const struct polygon polygon[2], enum pri_side side,
                     int direction, const struct window *window,
                     struct pri_law *law)
{
    const struct polygon *ahead = &polygon[direction];
    const struct polygon *back = &polygon[!direction];
    double sum = 0, far = 0, infinite = curves->infinite[PRI_BELOW];
    if (side == PRI_ABOVE)
        infinite += ahead->height[ahead->at[ahead->count - 1]];
    law->count = 0;
    for (int32_t k = back->count - 1; k > 0; k--) {
        double loss = curves->loss[back->at[k]];
        double mass = corner_mass(curves, back, k) * exp(-loss);
        bool near = loss < window->back;
        if (near)
            pri_law_add(law, window->back - loss, mass + far);
        far = near ? 0 : far + (side == PRI_ABOVE ? mass : 0);
        sum += mass;
    }
    int32_t middle = law->count;
    pri_law_add(law, window->back, 1);
    double beyond = 0;
    for (int32_t k = 1; k < ahead->count; k++) {
        double loss = curves->loss[ahead->at[k]];
        double mass = corner_mass(curves, ahead, k);
        if (loss < window->ahead)
            pri_law_add(law, window->back + loss, mass);
        else
            beyond += mass;
        sum += mass;
    }
    double left = 1 - sum - infinite;
    law->mass[middle] = fmax(left, 1e-300) + far;
    if (side == PRI_BELOW)
        pri_law_add(law, window->back + window->ahead, beyond);
    pri_law_add(law, INFINITY, infinite + (side == PRI_ABOVE ? beyond : 0));
    return left >= -1e-15;
}

/* E (1 - e^(eps - loss))_+, with room for the rounding of masses and sums. */
static double loss_delta(const struct pri_law *law, double moved, double eps,
                         enum pri_side side)
{
    double sum = 0, slack = side == PRI_ABOVE ? 1e-12 : -1e-12;
    for (int32_t k = law->count - 1; k >= 0; k--) {
        double loss = law->value[k] * (1 + slack) - moved;
        if (loss <= eps)
            break;
        sum += law->mass[k] * (isinf(loss) ? 1 : -expm1(eps - loss));
    }
    return sum * (1 + 1e3 * slack);
}

static double loss_eps(const struct pri_law *law, double moved, double most,
                       double delta, enum pri_side side)
{
    double low = 0, high = most;
    if (loss_delta(law, moved, 0, side) <= delta)
        return 0;
    if (pri_law_infinite(law) > delta)
        return INFINITY;
    if (loss_delta(law, moved, high, side) > delta)
        return side == PRI_ABOVE ? INFINITY : high;
    while (high - low > 1e-9 * high) {
        double middle = (low + high) / 2;
        *(loss_delta(law, moved, middle, side) <= delta ? &high : &low) =
            middle;
    }
    return side == PRI_ABOVE ? high : low;
}

/* One end of the bracket: the worse direction of all rounds. */
static enum pricer_status one_end(const struct pri_curves *curves, double delta,
                                  int64_t rounds, enum pri_side side,
                                  int32_t bits, const struct window *window,
                                  struct pri_identity *identity, double *eps)
{
    struct polygon polygon[2];
    double moved = (double)rounds * window->back, worst = 0;
    struct pri_shape shape = {.side = side,
                              .kind = PRI_LOSS,
                              .bits = bits,
                              .tail = 1e-6 * delta,
                              .moved = window->back,
                              .cap = window->ahead};
    struct pri_law *once = &identity->others, *law = &identity->few;
    enum pricer_status status = pri_law_reserve(once, 2 * PRI_POINTS + 4);
    take_polygons(curves, side, polygon);
    for (int way = 0; way < 2 && status == PRICER_OK; way++) {
        if (!loss_law(curves, polygon, side, way, window, once)) {
            worst = side == PRI_ABOVE ? INFINITY : worst;
            continue;
        }
        status = pri_law_repeat(once, rounds, &shape, &identity->bins, law);
        if (status == PRICER_OK)
            worst =
                fmax(worst, loss_eps(law, moved, window->ahead, delta, side));
    }
    *eps = worst;
    return status;
}

enum pricer_status pri_identity_compose(const struct pri_curves *curves,
                                        double delta, int64_t rounds,
                                        struct pri_identity *identity,
                                        struct pri_bracket *bracket)
{
    enum pricer_status status = PRICER_OK;
    /* Losses further back than this have next to no mass. */
    double nothing = log(1e7 * (double)rounds / delta) + 1;
    double end = curves->loss[curves->last];
    struct window window = {fmin(nothing, end), (double)rounds * end};
    for (int32_t bits = curves->bits - 1; bits <= curves->bits; bits++) {
        double eps = INFINITY, lower = 0;
        identity->bins.work = 0;
        status = one_end(curves, delta, rounds, PRI_ABOVE, bits, &window,
                         identity, &eps);
        if (status == PRICER_OK)
            status = one_end(curves, pri_delta_for(delta, PRI_BELOW), rounds,
                             PRI_BELOW, bits, &window, identity, &lower);
        if (status != PRICER_OK)
            break;
        bracket->eps = fmin(bracket->eps, eps);
        bracket->eps_lower = fmax(bracket->eps_lower, lower);
        /* So far beyond eps it does not matter how far. */
        window.ahead = fmin(window.ahead, bracket->eps + nothing);
        double apart = bracket->eps - bracket->eps_lower;
        if (bracket->eps == bracket->eps_lower ||
            (isfinite(apart) && apart <= CLOSE * bracket->eps) ||
            4 * identity->bins.work > WORK_MOST)
            break;
    }
    return status;
}
