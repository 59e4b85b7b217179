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

#define CLOSE 0.008
enum { TRIES_MOST = 5 };

void pri_identity_free(struct pri_identity *identity)
{
    pri_grid_free(&identity->grid);
    pri_law_free(&identity->others);
    pri_law_free(&identity->few);
    free(identity->size);
    free(identity->chance);
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

/* The law of the others' variance at the relay of a link, in ->others. */
static enum pricer_status others_law(const struct pricer_network *network,
                                     const struct pricer_plan *plan,
                                     int32_t link, enum pri_side side,
                                     int32_t cells, double ignore,
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
    status = pri_law_subset(identity->size, identity->chance, count, base, side,
                            cells, ignore, &identity->grid, &identity->others);
    for (int32_t k = 0; status == PRICER_OK && k < identity->others.count; k++)
        identity->others.value[k] += base;
    return status;
}

void pri_identity_deltas(const struct pri_identity *identity,
                         const struct pri_law *law, double eps,
                         enum pri_side side, double *absent, double *present)
{
    /* A smaller variance is less private: the law's sides are swapped. */
    double slack = side == PRI_ABOVE ? 1 - 1e-12 : 1 + 1e-12;
    double first = 0, second = 0, one, two;
    struct pri_presence presence = identity->presence;
    for (int32_t k = 0; k < law->count; k++) {
        presence.others = law->value[k] * slack;
        pri_presence_delta(&presence, eps, side, &one, &two);
        first += law->mass[k] * one;
        second += law->mass[k] * two;
        /* More noise is more private: what is left adds less than this. */
        if (one <= 1e-10 * first && two <= 1e-10 * second) {
            first += side == PRI_ABOVE ? one : 0;
            second += side == PRI_ABOVE ? two : 0;
            break;
        }
    }
    slack = identity->p * (side == PRI_ABOVE ? 1 + 1e-12 : 1 - 1e-12);
    *absent = fmin(first * slack, 1);
    *present = fmin(second * slack, 1);
}

static double mixed_delta(const struct pri_identity *identity,
                          const struct pri_law *law, double eps,
                          enum pri_side side)
{
    double absent, present;
    pri_identity_deltas(identity, law, eps, side, &absent, &present);
    return fmax(absent, present);
}

/*
 * The eps at which a falling curve meets delta, by false position in the
 * logarithm of delta with every third step in the middle; to the side.
 */
static double solve(const struct pri_identity *identity,
                    const struct pri_law *law, double delta, enum pri_side side,
                    double guess)
{
    double low = 0, at_low = mixed_delta(identity, law, 0, side);
    bool silent = law->count > 0 && law->value[0] == 0;
    if (at_low <= delta)
        return 0;
    if (silent && identity->p * law->mass[0] * (1 - 1e-12) >= delta)
        return INFINITY;
    double high = guess > 0 ? guess : 1, at_high;
    while ((at_high = mixed_delta(identity, law, high, side)) > delta) {
        low = high;
        at_low = at_high;
        high *= 4;
        if (high > 1e18)
            return INFINITY;
    }
    for (int step = 1; step < 200 && high - low > 1e-7 * high; step++) {
        double t = log(at_low / delta) / log(at_low / fmax(at_high, 1e-320));
        t = step % 3 == 0 ? .5 : fmin(fmax(t, .02), .98);
        double middle = low + t * (high - low);
        double now = mixed_delta(identity, law, middle, side);
        if (now > delta) {
            low = middle;
            at_low = now;
        } else {
            high = middle;
            at_high = now;
        }
    }
    return side == PRI_ABOVE ? high : low;
}

/*
 * Join atoms of the others' variance, as long as that changes delta little at
 * this eps, judged by the divergence at the atoms of a coarse law, between
 * which its logarithm is taken as straight. A guess of the cost, but the law
 * that comes out is to the side whatever it was.
 */
static void join(const struct pri_identity *identity, double eps, double budget,
                 enum pri_side side, const struct pri_law *law,
                 struct pri_law *few)
{
    struct pri_presence presence = identity->presence;
    few->count = 0;
    for (int32_t k = 0; k < law->count;) {
        double first = law->value[k], mass = law->mass[k], value = first;
        double start, now, one, two;
        presence.others = first;
        pri_presence_delta(&presence, eps, PRI_ABOVE, &one, &two);
        start = fmax(one, two);
        presence.others = first * 1.01;
        pri_presence_delta(&presence, eps, PRI_ABOVE, &one, &two);
        now = fmax(one, two);
        double fall = first > 0 && start > now ? log(start / now) * 100 : 1e300;
        for (k++; k < law->count; k++) {
            double gone = 1 - exp(-fall * (law->value[k] / first - 1));
            if ((mass + law->mass[k]) * start * gone > budget)
                break;
            mass += law->mass[k];
            /* From above the smallest variance of the group, else the largest.
             */
            value = side == PRI_ABOVE ? first : law->value[k];
        }
        pri_law_add(few, value, mass);
    }
}

static enum pricer_status one_side(struct pri_identity *identity, double delta,
                                   enum pri_side side, double fine,
                                   double *guess, double *eps)
{
    struct pri_law *law = &identity->others, *few = &identity->few;
    enum pri_side law_side = side == PRI_ABOVE ? PRI_BELOW : PRI_ABOVE;
    enum pricer_status status = pri_law_reserve(few, law->count);
    if (status != PRICER_OK)
        return status;
    if (*guess == 0 && law->count > 24) {
        memcpy(few->value, law->value, (size_t)law->count * sizeof(double));
        memcpy(few->mass, law->mass, (size_t)law->count * sizeof(double));
        few->count = law->count;
        pri_law_thin(0, 1.1, law_side, few);
        *guess = solve(identity, few, delta, side, 0);
    }
    bool join_first = law->count > 24 && isfinite(*guess) && *guess > 0;
    if (join_first)
        join(identity, *guess, fine * delta, side, law, few);
    *eps = solve(identity, join_first ? few : law, delta, side,
                 isfinite(*guess) ? *guess * 1.01 : 0);
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

static enum pricer_status one_round(const struct pricer_network *network,
                                    const struct pricer_plan *plan,
                                    int32_t link, double delta,
                                    struct pri_identity *identity,
                                    struct pri_bracket *found)
{
    int32_t cells = 1024;
    double guess = 0, fine = 1e-4;
    *found = (struct pri_bracket){INFINITY, 0, 1};
    for (int try = 0; try < TRIES_MOST; try++, cells *= 2, fine /= 4) {
        double eps = INFINITY, lower = 0;
        enum pricer_status status = others_law(network, plan, link, PRI_BELOW,
                                               cells, 1e-5 * delta, identity);
        if (status != PRICER_OK)
            return status;
        found->floor = fmin(found->floor, silent_mass(identity));
        status = one_side(identity, delta, PRI_ABOVE, fine, &guess, &eps);
        if (status == PRICER_OK)
            status = others_law(network, plan, link, PRI_ABOVE, cells,
                                1e-5 * delta, identity);
        if (status == PRICER_OK)
            status = one_side(identity, pri_delta_for(delta, PRI_BELOW),
                              PRI_BELOW, fine, &guess, &lower);
        if (status != PRICER_OK)
            return status;
        found->eps = fmin(found->eps, eps);
        found->eps_lower = fmax(found->eps_lower, lower);
        if (found->eps - found->eps_lower <= CLOSE * found->eps ||
            found->eps_lower == found->eps)
            break;
    }
    return PRICER_OK;
}

/*
 * Several rounds: the law of the others joined to a few dozen atoms, composed.
 * *found holds one round, whose lower end stays valid: more rounds never tell
 * less.
 */
static enum pricer_status many_rounds(const struct pricer_network *network,
                                      const struct pricer_plan *plan,
                                      int32_t link, double delta,
                                      int64_t rounds,
                                      struct pri_identity *identity,
                                      struct pri_bracket *found)
{
    double scale = found->eps, whole = (double)rounds;
    found->floor = -expm1(whole * log1p(-fmin(found->floor, 1)));
    if (isinf(scale) || scale == 0) {
        found->eps = isinf(scale) ? INFINITY : found->eps;
        scale = 1e-3;
    }
    enum pricer_status status = others_law(network, plan, link, PRI_BELOW, 4096,
                                           1e-5 * delta / whole, identity);
    if (status == PRICER_OK)
        status = pri_law_reserve(&identity->few, identity->others.count);
    if (status != PRICER_OK)
        return status;
    join(identity, scale, 1e-4 * delta, PRI_ABOVE, &identity->others,
         &identity->few);
    return pri_identity_compose(identity, &identity->few, delta, rounds, scale,
                                &found->eps);
}

enum pricer_status pri_identity_account(
    const struct pricer_network *network, const struct pricer_plan *plan,
    int32_t link, enum pricer_eavesdropper eavesdropper, double delta,
    int64_t rounds, struct pri_identity *identity, struct pri_bracket *bracket)
{
    identity->p = eavesdropper == PRICER_RADIO ? 1 : network->p[link];
    identity->presence = (struct pri_presence){
        .dimension = (double)network->dimension,
        .shift = plan->weight[link],
        .own = variance_of(network, plan->noise[link]),
    };
    struct pri_bracket found;
    enum pricer_status status =
        one_round(network, plan, link, delta, identity, &found);
    if (status == PRICER_OK && rounds > 1)
        status =
            many_rounds(network, plan, link, delta, rounds, identity, &found);
    if (status == PRICER_OK)
        *bracket = found;
    return status;
}
