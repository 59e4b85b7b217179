/*
 * From a link to the law of the others' variance, and from there to the average
 * divergences at one eps, between bounds.
 *
 * The law is bounded by two: for one from above variances are rounded down
 * (less noise never helps the node), for one from below up.
 *
 * Between two variances a < b at which delta is known it is bounded by how it
 * curves (presence_curvature.c). If k1 <= D = d ln G / dv <= k2 in between, where
 * G = -d delta / dv, then delta is a convex function of e^(k2 v) and a concave
 * one of e^(k1 v), so that
 *
 *     delta_v <= delta_b + (delta_a - delta_b) theta(v; k2),  >= with k1,
 *     theta(v; k) = (e^(k b) - e^(k v)) / (e^(k b) - e^(k a)).
 *
 * With t = (v - a)/(b - a), z = k (b - a) and g = 1 - theta, which is 0 at 0, 1
 * at 1 and has g'' = z^2 e^(z t) / (e^z - 1), theta - (1 - t) = g''(some t)
 * t (1 - t)/2: at most z^2/(1 - e^-z) and at least z^2/(e^z - 1) times
 * t (1 - t)/2. So an average needs the mass of the atoms in between and their
 * sums of 1 - t and of t (1 - t) only, and errs by the third order of b - a.
 *
 * The rise has d rise / dv = G K with K1 <= K <= K2, hence rise_v - rise_a lies
 * between K1 and K2 times delta_a - delta_v, and the same from b.
 */
#include "account.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How finely the laws of the others' variance are grouped. */
enum { BITS = 11 };

/* Room for the rounding of values and sums. */
#define ROOM 1e-12

void pri_identity_free(struct pri_identity *identity)
{
    pri_bins_free(&identity->bins);
    pri_law_free(&identity->others[PRI_BELOW]);
    pri_law_free(&identity->others[PRI_ABOVE]);
    pri_losses_free(identity->losses);
    free(identity->size);
    free(identity->chance);
    free(identity->node);
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

/* One of the two laws; the sizes and chances are in place. */
static enum pricer_status others_to(struct pri_identity *identity,
                                    int32_t count, double base, double dust,
                                    enum pri_side side)
{
    struct pri_law *law = &identity->others[side];
    struct pri_shape shape = {.side = side,
                              .kind = PRI_ORDERED,
                              .bits = BITS,
                              .offset = base,
                              .dust = dust};
    enum pricer_status status = pri_law_subset(
        identity->size, identity->chance, count, &shape, &identity->bins, law);
    if (status != PRICER_OK)
        return status;
    double slack = side == PRI_ABOVE ? 1 - ROOM : 1 + ROOM;
    for (int32_t k = 0; k < law->count; k++)
        law->value[k] = (law->value[k] + base) * slack;
    bool silent = law->count > 0 && law->value[0] == 0;
    double mass = silent ? identity->p * law->mass[0] : 0;
    identity->silent[side] =
        side == PRI_ABOVE ? fmin(mass * (1 + ROOM), 1) : mass * (1 - ROOM);
    return PRICER_OK;
}

enum pricer_status pri_identity_others(const struct pricer_network *network,
                                       const struct pricer_plan *plan,
                                       int32_t link, double dust,
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
    identity->nodes = 0;
    for (int side = 0; side < 2 && status == PRICER_OK; side++)
        status = others_to(identity, count, base, dust, side);
    return status;
}

/* ----------------------------------------------------------------- nodes -- */

/* The first atom of a law that is not below a value. */
static int32_t first_from(const struct pri_law *law, double value)
{
    int32_t low = 0, high = law->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        *(law->value[middle] < value ? &low : &high) =
            law->value[middle] < value ? middle + 1 : middle;
    }
    return low;
}

/* What the laws have from a node to the next; from the last on, all is at it.
 */
static void fill(struct pri_identity *identity, int32_t k)
{
    struct pri_knot *node = &identity->node[k];
    bool last = k + 1 == identity->nodes;
    for (int side = 0; side < 2; side++) {
        const struct pri_law *law = &identity->others[side];
        int32_t end = last ? law->count : node[1].first[side];
        double apart = last ? 1 : node[1].value - node->value;
        node->mass[side] = node->near[side] = node->within[side] = 0;
        for (int32_t a = node->first[side]; a < end; a++) {
            double far = last ? 0 : (law->value[a] - node->value) / apart;
            double near = last ? 1 : (node[1].value - law->value[a]) / apart;
            node->mass[side] += law->mass[a];
            node->near[side] += law->mass[a] * near;
            node->within[side] += law->mass[a] * near * far;
        }
    }
}

static void evaluate(const struct pri_identity *identity, double eps,
                     struct pri_knot *node)
{
    struct pri_presence presence = identity->presence;
    presence.others = node->value;
    pri_presence_at(&presence, eps, node->direction);
}

/* The curvature of delta from a node to the next. */
static void curvature(const struct pri_identity *identity, double eps,
                      struct pri_knot *node)
{
    struct pri_presence presence = identity->presence;
    presence.others = node->value;
    pri_presence_curvature(&presence, node[1].value, eps, node->curvature);
}

/* Insert a node after another. */
static bool insert(struct pri_identity *identity, int32_t after, double value,
                   double eps)
{
    if (identity->nodes == identity->node_room) {
        int32_t room = 2 * identity->node_room + 64;
        struct pri_knot *moved =
            realloc(identity->node, (size_t)room * sizeof *moved);
        if (moved == NULL)
            return false;
        identity->node = moved;
        identity->node_room = room;
    }
    struct pri_knot *node = identity->node + after + 1;
    memmove(node + 1, node,
            (size_t)(identity->nodes - after - 1) * sizeof *node);
    identity->nodes++;
    *node = (struct pri_knot){.value = value};
    for (int side = 0; side < 2; side++)
        node->first[side] = first_from(&identity->others[side], value);
    evaluate(identity, eps, node);
    for (int32_t k = after; k <= after + 1; k++) {
        if (k >= 0)
            fill(identity, k);
        if (k >= 0 && k + 1 < identity->nodes)
            curvature(identity, eps, &identity->node[k]);
    }
    return true;
}

/* The least and the largest positive variance, with delta known. */
static bool begin(struct pri_identity *identity, double eps)
{
    double least = INFINITY, most = 0;
    for (int side = 0; side < 2; side++) {
        const struct pri_law *law = &identity->others[side];
        double first = pri_law_least(law), last = pri_law_most(law);
        least = first > 0 ? fmin(least, first) : least;
        most = fmax(most, last);
    }
    return !(most > 0) || (insert(identity, -1, least, eps) &&
                           (most == least || insert(identity, 0, most, eps)));
}

/* The atom strictly between a node and the next that is nearest to their
 * geometric middle; 0 if there is none. */
static double middle_of(const struct pri_identity *identity, int32_t k)
{
    const struct pri_knot *node = &identity->node[k];
    double middle = sqrt(node[0].value) * sqrt(node[1].value);
    double best = 0, nearest = INFINITY;
    for (int side = 0; side < 2; side++) {
        const struct pri_law *law = &identity->others[side];
        int32_t at = first_from(law, middle);
        for (int32_t a = at - 1; a <= at; a++) {
            double value = a >= 0 && a < law->count ? law->value[a] : 0;
            double away = fabs(value - middle);
            if (value > node[0].value && value < node[1].value &&
                away < nearest) {
                best = value;
                nearest = away;
            }
        }
    }
    return best;
}

/* --------------------------------------------------------------- average -- */

/* Bounds of theta on average, times the mass: of the atoms of one law. */
struct share {
    double mass, high, low;
};

static struct share share_of(const struct pri_knot *node, int direction,
                             enum pri_side side)
{
    double apart = node[1].value - node[0].value, within = node->within[side];
    double near = node->near[side], mass = node->mass[side];
    double over = node->curvature[direction].high * apart;
    double under = node->curvature[direction].low * apart;
    double peak = over == 0 ? 0 : over * over / -expm1(-over);
    double foot = under == 0 ? 0 : under * under / expm1(under);
    struct share share = {mass, mass, 0};
    if (!(within > 0))
        peak = foot = 0;
    double room = ROOM * (near + within * (fabs(peak) + fabs(foot)));
    share.high = fmin(fmax(near + within / 2 * peak + room, 0), mass);
    share.low = fmax(fmin(near + within / 2 * foot - room, mass), 0);
    return share;
}

/* The rise on average, between bounds: from the node on, and from the next
 * back. The share is that of the law from below. */
static void add_rise(const struct pri_knot *node, int direction,
                     struct share share, struct pri_reach *sum)
{
    struct pri_reach a = node[0].direction[direction],
                     b = node[1].direction[direction];
    const struct pri_curvature *curvature = &node->curvature[direction];
    double mass = share.mass, k1 = curvature->by_eps_low,
           k2 = curvature->by_eps_high;
    if (isinf(k1) || isinf(k2)) {
        double most = curvature->falls ? fmin(a.high + a.rise_high, 1) : 1;
        sum->rise_high += mass * most;
        return;
    }
    double gap = fmax(a.high - b.low, 0), least = fmax(a.low - b.high, 0);
    double lost = gap * (mass - share.low),
           lost_least = least * (mass - share.high);
    double left = gap * share.high, left_least = least * share.low;
    double high = fmin(mass * a.rise_high + fmax(k2 * lost, k2 * lost_least),
                       mass * b.rise_high - fmin(k1 * left, k1 * left_least));
    double low = fmax(mass * a.rise_low + fmin(k1 * lost, k1 * lost_least),
                      mass * b.rise_low - fmax(k2 * left, k2 * left_least));
    double room = ROOM * mass * (a.rise_high + b.rise_high) +
                  ROOM * (fabs(k1) + fabs(k2)) * gap * mass;
    sum->rise_high += fmin(high + room, mass);
    sum->rise_low += fmax(low - room, 0);
}

/* The atoms from a node up to the next; returns what another node could add. */
static double add_interval(const struct pri_knot *node, bool last,
                           int direction, struct pri_reach *sum)
{
    struct pri_reach a = node->direction[direction],
                     b = last ? a : node[1].direction[direction];
    struct share above = {node->mass[PRI_ABOVE], node->mass[PRI_ABOVE], 0};
    struct share below = {node->mass[PRI_BELOW], node->mass[PRI_BELOW],
                          node->mass[PRI_BELOW]};
    if (last) {
        sum->rise_high += below.mass * a.rise_high;
        sum->rise_low += below.mass * a.rise_low;
    } else {
        above = share_of(node, direction, PRI_ABOVE);
        below = share_of(node, direction, PRI_BELOW);
        add_rise(node, direction, below, sum);
    }
    double high = a.high * above.high + b.high * (above.mass - above.high);
    double low = a.low * below.low + b.low * (below.mass - below.low);
    sum->high += high;
    sum->low += low;
    return last ? 0
                : (above.high - above.low + below.high - below.low) *
                      fmax(a.high - b.low, 0);
}

/* The averages over all atoms by what is known at the nodes. Returns the node
 * after which most is open, relative to a sum that is not known well enough; -1
 * if both are. */
static int32_t bound(const struct pri_identity *identity,
                     const struct pri_aim *aim, struct pri_reach direction[2])
{
    double p = identity->p;
    int32_t open = -1;
    double widest = 0;
    for (int k = 0; k < 2; k++) {
        int32_t widest_at = -1;
        double most = 0, sum = 0;
        direction[k] = (struct pri_reach){0};
        for (int32_t n = 0; n < identity->nodes; n++) {
            bool last = n + 1 == identity->nodes;
            double here =
                add_interval(&identity->node[n], last, k, &direction[k]);
            sum += here;
            if (here > most && middle_of(identity, n) > 0) {
                most = here;
                widest_at = n;
            }
        }
        direction[k].high = fmin(direction[k].high * p * (1 + ROOM), 1);
        direction[k].rise_high = /* never 0: it may be multiplied by e^eps */
            fmin(fmax(direction[k].rise_high * p * (1 + ROOM), DBL_TRUE_MIN),
                 1);
        direction[k].low *= p * (1 - ROOM);
        direction[k].rise_low *= p * (1 - ROOM);
        double enough = aim->part * fmax(direction[k].high, aim->small);
        if (p * sum > enough && p * most > widest * direction[k].high) {
            widest = p * most / direction[k].high;
            open = widest_at;
        }
    }
    return open;
}

enum pricer_status pri_identity_average(struct pri_identity *identity,
                                        double eps, const struct pri_aim *aim,
                                        struct pri_reach direction[2])
{
    for (int32_t k = 0; k < identity->nodes; k++)
        evaluate(identity, eps, &identity->node[k]);
    for (int32_t k = 0; k + 1 < identity->nodes; k++)
        curvature(identity, eps, &identity->node[k]);
    if (identity->nodes == 0 && !begin(identity, eps))
        return PRICER_MEMORY;
    for (;;) {
        int32_t open = bound(identity, aim, direction);
        if (open < 0 ||
            fmax(direction[0].high, direction[1].high) <= aim->goal ||
            fmax(direction[0].low, direction[1].low) > aim->goal)
            return PRICER_OK;
        if (!insert(identity, open, middle_of(identity, open), eps))
            return PRICER_MEMORY;
    }
}
