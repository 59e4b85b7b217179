/*
 * From a link to what its relay learns about whether the node took part.
 *
 * Claim. With probability 1 - p the node's packet does not arrive and there is
 * nothing to tell. Otherwise, given who else took part, the two laws are those
 * of presence.c, with the variance of the others. The divergence is jointly
 * convex, so its average over that variance bounds the divergence for a relay
 * that does not know who took part; each direction is averaged by itself and
 * the worse one counts. The variance is rounded down from above (less noise
 * never helps the node) and up from below.
 */
#include "account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How close the two ends should come: for many sets of others, and for few. */
#define CLOSE 0.004
#define CLOSE_FEW 1e-7

/* A smaller eps need not be known any better. */
#define NEXT_TO_NOTHING 1e-3
enum { FEW = 8, STEPS_MOST = 60, BITS = 11 };

/* How well the curve should be known, at first, and by how much better each
 * time that proves too little: near a step of it, eps depends on it very much.
 */
#define PART 0.02
#define BETTER 0.03
enum { TRIES_MOST = 4 };

void pri_identity_free(struct pri_identity *identity)
{
    pri_bins_free(&identity->bins);
    pri_law_free(&identity->others);
    pri_law_free(&identity->few);
    free(identity->size);
    free(identity->chance);
    free(identity->point);
    *identity = (struct pri_identity){0};
}

static enum pricer_status reserve(struct pri_identity *identity, int32_t count)
{
    if (count <= identity->room)
        return PRICER_OK;
    free(identity->size);
    free(identity->chance);
    identity->room = count;
    identity->size = pri_alloc(count, sizeof(double));
    identity->chance = pri_alloc(count, sizeof(double));
    if (identity->size != NULL && identity->chance != NULL)
        return PRICER_OK;
    identity->room = 0;
    return PRICER_MEMORY;
}

/* A variance, in squared radii: squares of a tiny radius would vanish. */
static double variance_of(const struct pricer_network *network, double noise)
{
    double relative = noise / network->radius;
    return relative * relative;
}

enum pricer_status pri_identity_others(const struct pricer_network *network,
                                       const struct pricer_plan *plan,
                                       int32_t link, enum pri_side side,
                                       double dust,
                                       struct pri_identity *identity)
{
    int32_t at = network->to[link], count = 0;
    double base = 0;
    enum pricer_status status =
        reserve(identity, network->in_start[at + 1] - network->in_start[at]);
    if (status != PRICER_OK)
        return status;
    for (int32_t k = network->in_start[at]; k < network->in_start[at + 1];
         k++) {
        int32_t l = network->in_link[k];
        double size = variance_of(network, plan->noise[l]);
        if (l == link || size == 0)
            continue;
        if (network->p[l] == 1) {
            base += size;
            continue;
        }
        identity->size[count] = size;
        identity->chance[count++] = network->p[l];
    }
    struct pri_shape shape = {.side = side,
                              .kind = PRI_ORDERED,
                              .bits = BITS,
                              .offset = base,
                              .dust = dust};
    status = pri_law_subset(identity->size, identity->chance, count, &shape,
                            &identity->bins, &identity->others);
    for (int32_t k = 0; status == PRICER_OK && k < identity->others.count; k++)
        identity->others.value[k] += base;
    return status;
}

/* ------------------------------------------------------- at one eps ------ */

/* The divergences at one atom. */
static void evaluate(const struct pri_identity *identity,
                     const struct pri_law *law, double eps, enum pri_side side,
                     struct pri_point *point)
{
    /* A smaller variance is less private. */
    double slack = side == PRI_ABOVE ? 1 - 1e-12 : 1 + 1e-12;
    struct pri_presence presence = identity->presence;
    presence.others = law->value[point->atom] * slack;
    pri_presence_delta(&presence, eps, side, &point->absent, &point->present);
}

/* Insert a point after another; the atom is evaluated. */
static bool insert(struct pri_identity *identity, const struct pri_law *law,
                   double eps, enum pri_side side, int32_t after, int32_t atom)
{
    if (identity->points == identity->point_room) {
        int32_t room = 2 * identity->point_room + 64;
        struct pri_point *moved =
            realloc(identity->point, (size_t)room * sizeof *moved);
        if (moved == NULL)
            return false;
        identity->point = moved;
        identity->point_room = room;
    }
    struct pri_point *point = identity->point + after + 1;
    memmove(point + 1, point,
            (size_t)(identity->points - after - 1) * sizeof *point);
    identity->points++;
    *point = (struct pri_point){.atom = atom};
    evaluate(identity, law, eps, side, point);
    return true;
}

/* No points yet; the masses up to each atom, in ->few. */
enum pricer_status pri_identity_begin(struct pri_identity *identity)
{
    const struct pri_law *law = &identity->others;
    struct pri_law *sum = &identity->few;
    identity->points = 0;
    enum pricer_status status = pri_law_reserve(sum, law->count + 1);
    if (status != PRICER_OK)
        return status;
    double all = 0;
    for (int32_t k = 0; k < law->count; k++) {
        sum->mass[k] = all; /* of the atoms before k */
        all += law->mass[k];
    }
    sum->mass[law->count] = all;
    sum->count = law->count + 1;
    return PRICER_OK;
}

/*
 * p times the average divergences, bounded from both sides, by what is known at
 * the points: divergences fall with the variance, so the atoms from one point
 * up to the next cost no more than the one and no less than the other. Returns
 * the point after which most is open, or -1.
 */
static int32_t bound(const struct pri_identity *identity, double *high,
                     double *low)
{
    const struct pri_point *point = identity->point;
    const double *mass = identity->few.mass;
    double most[2] = {0, 0}, least[2] = {0, 0}, widest = 0;
    int32_t open = -1;
    for (int32_t k = 0; k < identity->points; k++) {
        int32_t atom = point[k].atom;
        bool last = k + 1 == identity->points;
        int32_t end = last ? atom + 1 : point[k + 1].atom;
        double own = mass[atom + 1] - mass[atom];
        double between = fmax(mass[end] - mass[atom + 1], 0);
        double absent = last ? 0 : point[k + 1].absent;
        double present = last ? 0 : point[k + 1].present;
        most[0] += own * point[k].absent + between * point[k].absent;
        most[1] += own * point[k].present + between * point[k].present;
        least[0] += own * point[k].absent + between * absent;
        least[1] += own * point[k].present + between * present;
        double here = between * fmax(point[k].absent - absent,
                                     point[k].present - present);
        if (here > widest && end > atom + 1) {
            widest = here;
            open = k;
        }
    }
    for (int direction = 0; direction < 2; direction++) {
        high[direction] = fmin(most[direction] * identity->p, 1);
        low[direction] = least[direction] * identity->p;
    }
    return open;
}

/*
 * The two average divergences at one eps between bounds, until they are within
 * `part` of each other or on one side of `goal` (NAN: there is none). For the
 * side ABOVE `high` holds, for BELOW `low`.
 */
static enum pricer_status average(struct pri_identity *identity,
                                  const struct pri_law *law, double eps,
                                  enum pri_side side, double part, double goal,
                                  double *high, double *low)
{
    int32_t last = law->count - 1;
    for (int32_t k = 0; k < identity->points; k++)
        evaluate(identity, law, eps, side, &identity->point[k]);
    if (identity->points == 0 &&
        (!insert(identity, law, eps, side, -1, 0) ||
         (last > 0 && !insert(identity, law, eps, side, 0, last))))
        return PRICER_MEMORY;
    for (;;) {
        int32_t open = bound(identity, high, low);
        double worse = fmax(high[0], high[1]), better = fmax(low[0], low[1]);
        if (open < 0 || worse <= goal || better > goal ||
            (high[0] - low[0] <= part * high[0] &&
             high[1] - low[1] <= part * high[1]))
            return PRICER_OK;
        int32_t from = identity->point[open].atom;
        int32_t to = identity->point[open + 1].atom;
        if (!insert(identity, law, eps, side, open, from + (to - from) / 2))
            return PRICER_MEMORY;
    }
}

enum pricer_status pri_identity_deltas(struct pri_identity *identity,
                                       const struct pri_law *law, double eps,
                                       enum pri_side side, double part,
                                       double *absent, double *present)
{
    double high[2], low[2];
    enum pricer_status status =
        average(identity, law, eps, side, part, NAN, high, low);
    if (status != PRICER_OK)
        return status;
    bool above = side == PRI_ABOVE;
    double slack = above ? 1 + 1e-12 : 1 - 1e-12;
    *absent = fmin((above ? high : low)[0] * slack, 1);
    *present = fmin((above ? high : low)[1] * slack, 1);
    return PRICER_OK;
}

/* ----------------------------------------------------- eps of one round -- */

/* An eps between bounds, with what the curve was there. */
struct search {
    double low, high, at_low, at_high;
};

/* Where to look next: where the logarithm of the curve would meet delta if it
 * were straight, every third time the middle; further and further off while
 * one end is not known. */
static double next_eps(const struct search *search, double delta, int step)
{
    if (isinf(search->high))
        return 4 * search->low;
    if (search->low == 0)
        return search->high * fmax(1 - .005 * pow(4, step), 1. / 16);
    double top = log(search->at_low / delta);
    double bottom = log(delta / fmax(search->at_high, 1e-320));
    double t = top / (top + bottom);
    t = step % 3 == 0 || !(t > 0) ? .5 : fmin(fmax(t, .02), .98);
    return search->low * pow(search->high / search->low, t);
}

/* The worse of the two directions, rounded to the side. */
static double worse_of(const double *high, const double *low,
                       enum pri_side side)
{
    return side == PRI_ABOVE ? fmax(high[0], high[1]) * (1 + 1e-12)
                             : fmax(low[0], low[1]) * (1 - 1e-12);
}

/* What there is to say without a search: nothing to tell, or no eps at all. */
static bool is_plain(const struct pri_identity *identity, double now,
                     double delta, enum pri_side side, double *eps)
{
    const struct pri_law *law = &identity->others;
    double silent = law->value[0] == 0 ? identity->p * law->mass[0] : 0;
    *eps = 0;
    if (now <= delta)
        return true;
    *eps = INFINITY;
    return silent * (side == PRI_ABOVE ? 1 : 1 - 1e-12) >= delta;
}

/*
 * One end of the bracket from a law to that side, starting from a guess. For
 * the side ABOVE the upper end of the search is proved, for BELOW the lower,
 * and `most` is known to hold.
 */
static enum pricer_status solve(struct pri_identity *identity, double delta,
                                enum pri_side side, double part, double most,
                                double *eps)
{
    const struct pri_law *law = &identity->others;
    bool few = law->count <= FEW;
    double close = few ? CLOSE_FEW : CLOSE / 2, high[2], low[2];
    part = few ? 0 : part;
    enum pricer_status status = pri_identity_begin(identity);
    if (status == PRICER_OK)
        status = average(identity, law, 0, side, part, delta, high, low);
    if (status != PRICER_OK)
        return status;
    double now = worse_of(high, low, side);
    if (is_plain(identity, now, delta, side, eps))
        return PRICER_OK;
    struct search search = {0, INFINITY, now, 0};
    double at = isinf(most) ? 1 : most;
    if (side == PRI_BELOW && isfinite(most)) {
        search.high = most;
        search.at_high = delta * .99;
        at = most * (1 - close * .9);
    }
    for (int step = 1; step < STEPS_MOST && at < 1e18 && at > 1e-12; step++) {
        status = average(identity, law, at, side, part, delta, high, low);
        if (status != PRICER_OK)
            return status;
        now = worse_of(high, low, side);
        *(now > delta ? &search.low : &search.high) = at;
        *(now > delta ? &search.at_low : &search.at_high) =
            sqrt(fmax(high[0], high[1]) * fmax(low[0], low[1]));
        if (isfinite(search.high) &&
            search.high - search.low <= close * search.high)
            break;
        at = next_eps(&search, delta, step);
    }
    *eps = side == PRI_ABOVE ? search.high : search.low;
    return PRICER_OK;
}

/* The mass at which the others add no noise at all. */
static double silent_mass(const struct pri_identity *identity)
{
    const struct pri_law *law = &identity->others;
    bool silent = law->count > 0 && law->value[0] == 0;
    bool anything = identity->presence.own > 0 || identity->presence.shift > 0;
    return silent && anything ? law->mass[0] * identity->p : 0;
}

/* One end of the bracket, at least as well as it is known already. */
static enum pricer_status one_end(const struct pricer_network *network,
                                  const struct pricer_plan *plan, int32_t link,
                                  double delta, enum pri_side side, double part,
                                  struct pri_identity *identity,
                                  struct pri_bracket *found)
{
    bool above = side == PRI_ABOVE;
    double eps = 0;
    enum pricer_status status =
        pri_identity_others(network, plan, link, side, 1e-9 * delta, identity);
    if (status == PRICER_OK && above)
        found->floor = silent_mass(identity);
    if (status == PRICER_OK)
        status = solve(identity, pri_delta_for(delta, side), side, part,
                       found->eps, &eps);
    if (status == PRICER_OK && above)
        found->eps = fmin(found->eps, eps);
    else if (status == PRICER_OK)
        found->eps_lower = fmax(found->eps_lower, eps);
    return status;
}

bool pri_identity_close(const struct pri_bracket *found)
{
    if (found->eps == found->eps_lower || found->eps < NEXT_TO_NOTHING)
        return true;
    return isfinite(found->eps) &&
           found->eps - found->eps_lower <= 2 * CLOSE * found->eps;
}

enum pricer_status pri_identity_once(const struct pricer_network *network,
                                     const struct pricer_plan *plan,
                                     int32_t link, double delta,
                                     struct pri_identity *identity,
                                     struct pri_bracket *found)
{
    double part = PART;
    *found = (struct pri_bracket){INFINITY, 0, 0};
    for (int try = 0; try < TRIES_MOST; try++, part *= BETTER) {
        enum pricer_status status = one_end(network, plan, link, delta,
                                            PRI_ABOVE, part, identity, found);
        if (status == PRICER_OK && found->eps > 0)
            status = one_end(network, plan, link, delta, PRI_BELOW, part,
                             identity, found);
        if (status != PRICER_OK)
            return status;
        if (pri_identity_close(found))
            break;
    }
    return PRICER_OK;
}
