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
 * (lower_points()). A polygon is the curve of a pair whose loss takes the
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

/* Points of a curve: equal steps to the end, and smaller ones near 0, where
 * most of the mass may be. */
enum { POINTS = 320, STEPS = 160 };
#define GROWTH 0.06
#define FIRST 1e-5

/* How finely sums are grouped, at first and at most; and the most steps that a
 * try should take. */
enum { BITS_FIRST = 7, BITS_MOST = 11 };
#define CLOSE 0.008
#define WORK_MOST 2e8

/* The curves of both directions at loss[0] = 0 to loss[last], less the infinite
 * part, bounded from each side. */
struct pri_curves {
    int32_t last;
    double loss[POINTS + 1];
    double bound[2][2][POINTS + 1]; /* [side][direction][point] */
    double infinite[2];
};

/* One direction of a dominating or dominated pair. */
struct polygon {
    int32_t count;
    int32_t at[POINTS + 1]; /* the points that are its corners */
    double height[POINTS + 1];
};

/* The slope between two points times x at the first of them. */
static double slope_at(const struct pri_curves *curves, const double *height,
                       int32_t here, int32_t there)
{
    double apart = curves->loss[there] - curves->loss[here];
    return (height[there] - height[here]) / expm1(apart);
}

/* The corners of the lower convex hull of the points 0 to last. */
static void take_hull(const struct pri_curves *curves, const double *height,
                      int32_t last, struct polygon *polygon)
{
    int32_t count = 0, *at = polygon->at;
    for (int32_t k = 0; k <= last; k++) {
        while (count > 1 &&
               slope_at(curves, height, at[count - 1], at[count - 2]) >=
                   slope_at(curves, height, at[count - 1], k))
            count--;
        at[count++] = k;
    }
    polygon->count = count;
    for (int32_t k = 0; k <= last; k++)
        polygon->height[k] = height[k];
}

/*
 * Heights at the points whose chords lie below the curve. Between two points a
 * convex curve lies above the line through the two points before, and above the
 * one through the two after; so above their mean. Of the heights that two
 * neighbouring lines have at a point the lower one is taken, and all are
 * lowered by the last, so that the curve may end there. Returns the last point.
 */
static int32_t lower_points(const struct pri_curves *curves, int direction,
                            double *height)
{
    const double *low = curves->bound[PRI_BELOW][direction];
    const double *high = curves->bound[PRI_ABOVE][direction];
    const double *loss = curves->loss;
    double from_left = INFINITY;
    int32_t last = 0;
    for (int32_t k = 0; k <= curves->last; k++) {
        double left = INFINITY, right = INFINITY;
        if (k + 2 <= curves->last) {
            double ratio = -expm1(loss[k] - loss[k + 1]) /
                           expm1(loss[k + 2] - loss[k + 1]);
            left = low[k + 1] * (1 + ratio) - ratio * high[k + 2];
            right = low[k + 1];
        }
        if (k > 0 && k < curves->last) {
            double ratio =
                expm1(loss[k + 1] - loss[k]) / -expm1(loss[k - 1] - loss[k]);
            double end = low[k] + ratio * (low[k] - high[k - 1]);
            left = isinf(left) ? low[k] : (left + low[k]) / 2;
            right = isinf(right) ? end : (right + end) / 2;
        }
        height[k] = fmin(left, from_left);
        from_left = right;
        if (!(height[k] > 0))
            break;
        last = k;
    }
    double end = height[last];
    for (int32_t k = 0; k <= last; k++)
        height[k] -= end;
    return last;
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

/*
 * The two polygons of a side, which meet at x = 1. They must leave room for the
 * mass that has no loss; the true curves do. Where their bounds do not, they
 * are moved further to their side.
 */
static void take_polygons(const struct pri_curves *curves, enum pri_side side,
                          struct polygon polygon[2])
{
    double height[2][POINTS + 1];
    int32_t last[2] = {curves->last, curves->last};
    for (int way = 0; way < 2; way++) {
        if (side == PRI_BELOW)
            last[way] = lower_points(curves, way, height[way]);
        for (int32_t k = 0; k <= curves->last && side == PRI_ABOVE; k++)
            height[way][k] = curves->bound[PRI_ABOVE][way][k];
    }
    double start = side == PRI_ABOVE ? fmax(height[0][0], height[1][0])
                                     : fmin(height[0][0], height[1][0]);
    for (int try = 0; try < 40; try++) {
        height[0][0] = height[1][0] = start;
        for (int way = 0; way < 2; way++)
            for (int32_t k = 1; k <= last[way] && side == PRI_BELOW; k++)
                height[way][k] = fmin(height[way][k], height[way][k - 1]);
        for (int way = 0; way < 2; way++)
            take_hull(curves, height[way], last[way], &polygon[way]);
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

/*
 * The law of the loss of one round in one direction, moved by the largest loss.
 * What the corners leave of the mass of 1 has no loss. False if they leave
 * less than nothing, which rounding can do.
 */
static bool loss_law(const struct pri_curves *curves,
                     const struct polygon polygon[2], enum pri_side side,
                     int direction, struct pri_law *law)
{
    const struct polygon *ahead = &polygon[direction];
    const struct polygon *back = &polygon[!direction];
    double shift = curves->loss[curves->last], sum = 0;
    double infinite = curves->infinite[PRI_BELOW];
    if (side == PRI_ABOVE)
        infinite += ahead->height[ahead->at[ahead->count - 1]];
    law->count = 0;
    for (int32_t k = back->count - 1; k > 0; k--) {
        double loss = curves->loss[back->at[k]];
        double mass = corner_mass(curves, back, k) * exp(-loss);
        pri_law_add(law, shift - loss, mass);
        sum += mass;
    }
    int32_t middle = law->count;
    pri_law_add(law, shift, 1);
    for (int32_t k = 1; k < ahead->count; k++) {
        double mass = corner_mass(curves, ahead, k);
        pri_law_add(law, shift + curves->loss[ahead->at[k]], mass);
        sum += mass;
    }
    double left = 1 - sum - infinite;
    law->mass[middle] = fmax(left, 1e-300);
    pri_law_add(law, INFINITY, infinite);
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

static double loss_eps(const struct pri_law *law, double moved, double delta,
                       enum pri_side side)
{
    double low = 0, high = 2 * moved;
    if (loss_delta(law, moved, 0, side) <= delta)
        return 0;
    if (loss_delta(law, moved, high, side) > delta)
        return INFINITY;
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
                                  int32_t bits, struct pri_identity *identity,
                                  double *eps)
{
    struct polygon polygon[2];
    double moved = (double)rounds * curves->loss[curves->last], worst = 0;
    struct pri_shape shape = {
        .side = side, .kind = PRI_LOSS, .bits = bits, .tail = 1e-6 * delta};
    struct pri_law *once = &identity->others, *law = &identity->few;
    enum pricer_status status = pri_law_reserve(once, 2 * POINTS + 3);
    take_polygons(curves, side, polygon);
    for (int way = 0; way < 2 && status == PRICER_OK; way++) {
        if (!loss_law(curves, polygon, side, way, once)) {
            worst = side == PRI_ABOVE ? INFINITY : worst;
            continue;
        }
        status = pri_law_repeat(once, rounds, &shape, &identity->bins, law);
        if (status == PRICER_OK)
            worst = fmax(worst, loss_eps(law, moved, delta, side));
    }
    *eps = worst;
    return status;
}

/* Where the curves end: next to nothing is left of them there. */
static enum pricer_status find_end(struct pri_identity *identity,
                                   const struct pri_law *law, double small,
                                   double *end)
{
    double absent, present;
    enum pricer_status status = PRICER_OK;
    bool beyond = false, before = false;
    for (int step = 0; step < 200 && !(beyond && before); step++) {
        status = pri_identity_deltas(identity, law, *end, PRI_ABOVE, .5,
                                     &absent, &present);
        if (status != PRICER_OK)
            return status;
        bool over = fmax(absent, present) <= small;
        beyond = beyond || over;
        before = before || !over;
        if (beyond && before)
            *end *= over ? 1 : 2;
        else
            *end *= over ? .5 : 2;
    }
    return status;
}

static void place_points(double end, struct pri_curves *curves)
{
    double at = 0;
    curves->last = 0;
    curves->loss[0] = 0;
    while (at < end && curves->last < POINTS) {
        at += fmin(GROWTH * at + FIRST * end, end / STEPS);
        curves->loss[++curves->last] = at;
    }
}

/* The curves at all points, from one side. */
static enum pricer_status sample(struct pri_identity *identity,
                                 enum pri_side side, struct pri_curves *curves)
{
    enum pricer_status status = pri_identity_begin(identity);
    double *absent = curves->bound[side][0], *present = curves->bound[side][1];
    /* From above, what is taken off here is added again as infinite. */
    double less = curves->infinite[!side];
    for (int32_t k = 0; k <= curves->last && status == PRICER_OK; k++) {
        status =
            pri_identity_deltas(identity, &identity->others, curves->loss[k],
                                side, 5e-4, &absent[k], &present[k]);
        absent[k] = fmax(absent[k] - less, 0);
        present[k] = fmax(present[k] - less, 0);
    }
    return status;
}

enum pricer_status pri_identity_curves(struct pri_identity *identity,
                                       enum pri_side side, double delta,
                                       int64_t rounds, double scale,
                                       struct pri_curves *curves)
{
    const struct pri_law *law = &identity->others;
    double end = scale > 0 && isfinite(scale) ? scale : 1e-3;
    double silent = law->value[0] == 0 ? identity->p * law->mass[0] : 0;
    enum pricer_status status = pri_identity_begin(identity);
    if (side == PRI_ABOVE) {
        curves->infinite[PRI_ABOVE] = silent * (1 + 1e-12);
        curves->infinite[PRI_BELOW] = silent * (1 - 1e-12);
        double small = 1e-6 * delta / (double)rounds;
        if (status == PRICER_OK)
            status = find_end(identity, law,
                              small + curves->infinite[PRI_ABOVE] * (1 + 1e-9),
                              &end);
        place_points(end, curves);
    }
    return status == PRICER_OK ? sample(identity, side, curves) : status;
}

enum pricer_status pri_curves_new(struct pri_curves **curves)
{
    *curves = pri_alloc(1, sizeof **curves);
    return *curves == NULL ? PRICER_MEMORY : PRICER_OK;
}

enum pricer_status pri_identity_compose(const struct pri_curves *curves,
                                        double delta, int64_t rounds,
                                        struct pri_identity *identity,
                                        struct pri_bracket *bracket)
{
    enum pricer_status status = PRICER_OK;
    for (int32_t bits = BITS_FIRST; bits <= BITS_MOST; bits++) {
        double eps = INFINITY, lower = 0;
        identity->bins.work = 0;
        status =
            one_end(curves, delta, rounds, PRI_ABOVE, bits, identity, &eps);
        if (status == PRICER_OK)
            status = one_end(curves, pri_delta_for(delta, PRI_BELOW), rounds,
                             PRI_BELOW, bits, identity, &lower);
        if (status != PRICER_OK)
            break;
        bracket->eps = fmin(bracket->eps, eps);
        bracket->eps_lower = fmax(bracket->eps_lower, lower);
        if (bracket->eps == bracket->eps_lower ||
            bracket->eps - bracket->eps_lower <= CLOSE * bracket->eps ||
            4 * identity->bins.work > WORK_MOST)
            break;
    }
    return status;
}
