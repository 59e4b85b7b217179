/*
 * Networks of four nodes with radii and diameters of their own, for the tests of
 * what counts with them.
 */
#ifndef TESTS_RADII_H
#define TESTS_RADII_H

#include "tests/test.h"
#include "pricer.h"

enum { N = 4, LINKS = N * (N - 1) };

/* What a test gives its nodes; radii and diameters may be NULL. */
struct world {
    double radius, diameter;
    const double *radii, *diameters;
    double server_eps; /* 0: none */
};

static const double uplink[N] = {.3, .9, .6, .8};
static const double mixed[N] = {1, .5, .25, .8};
static const double near[N] = {.7, 1, .1, 1.6};

static inline struct pricer_network *make(const struct world *world)
{
    int32_t from[LINKS], to[LINKS];
    double p[LINKS], eps[LINKS], delta[LINKS], ones[N], own[N], budget[N];
    struct pricer_network *network = NULL;
    int count = 0;
    for (int i = 0; i < N; i++) {
        ones[i] = 1e-3;
        own[i] = 4 + i;
        budget[i] = world->server_eps;
        for (int j = 0; j < N; j++)
            if (i != j) {
                from[count] = i;
                to[count] = j;
                p[count] = .4 + .1 * ((i + j) % 5);
                eps[count] = 1 + (i + 2 * j) % 4;
                delta[count++] = 1e-3;
            }
    }
    struct pricer_network_arrays arrays = {.dimension = 6,
                                           .radius = world->radius,
                                           .diameter = world->diameter,
                                           .node_radius = world->radii,
                                           .node_diameter = world->diameters,
                                           .reciprocity = .5,
                                           .node_count = N,
                                           .uplink = uplink,
                                           .self_eps = own,
                                           .self_delta = ones,
                                           .link_count = LINKS,
                                           .from = from,
                                           .to = to,
                                           .p = p,
                                           .eps = eps,
                                           .delta = delta};
    if (world->server_eps > 0) {
        arrays.server_eps = budget;
        arrays.server_delta = ones;
    }
    assert_int_equal(pricer_network_build_arrays(&arrays, &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

/* A plan whose weights and noises are nothing special. */
static inline struct pricer_plan *some_plan(
    const struct pricer_network *network)
{
    struct pricer_plan *plan = NULL;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int l = 0; l < LINKS; l++) {
        plan->weight[l] = .1 + .03 * (l % 5);
        plan->noise[l] = .2 + .05 * (l % 7);
    }
    for (int i = 0; i < N; i++) {
        plan->self_weight[i] = .2 + .1 * i;
        plan->self_noise[i] = .3 + .1 * i;
    }
    return plan;
}

/* The states of the links and uplinks with their probabilities: uplinks, then
 * pairs of opposite links, four states each. */
enum { PAIRS = LINKS / 2, PATTERNS = (1 << N) << (2 * PAIRS) };

static inline double pattern(const struct pricer_network *net, int32_t k,
                             bool up[N], bool link[LINKS])
{
    double chance = 1;
    for (int j = 0; j < N; j++, k >>= 1) {
        up[j] = k & 1;
        chance *= up[j] ? net->uplink[j] : 1 - net->uplink[j];
    }
    for (int l = 0; l < LINKS; l++) {
        int back = net->partner[l];
        if (back < l)
            continue;
        link[l] = k & 1;
        link[back] = k >> 1 & 1;
        k >>= 2;
        double both = net->joint[l];
        double one = net->p[l] - both, other = net->p[back] - both;
        chance *= link[l] && link[back] ? both
                  : link[l]             ? one
                  : link[back]          ? other
                                        : 1 - both - one - other;
    }
    return chance;
}

/* All statements of an observer. */
static inline struct pricer_statement *ask(const struct pricer_network *network,
                                           const struct pricer_plan *plan,
                                           enum pricer_observer observer,
                                           enum pricer_protect protect,
                                           int64_t *count)
{
    struct pricer_statement *all = NULL;
    const struct pricer_question question = {
        .observer = observer, .protect = protect, .rounds = 2};
    assert_int_equal(
        pricer_privacy_account(network, plan, &question, &all, count, NULL),
        PRICER_OK);
    return all;
}

/* Two networks and plans that every observer learns the same from. */
static inline void same_accounts(const struct pricer_network *one,
                                 const struct pricer_plan *plan,
                                 const struct pricer_network *two,
                                 const struct pricer_plan *other,
                                 double tolerance)
{
    for (int k = 0; k < 6; k++) {
        static const enum pricer_observer observers[] = {
            PRICER_OBSERVER_LINK,     PRICER_OBSERVER_RELAY,
            PRICER_OBSERVER_SERVER,   PRICER_OBSERVER_READER,
            PRICER_OBSERVER_LISTENER, PRICER_OBSERVER_RELAY};
        enum pricer_observer observer = observers[k];
        enum pricer_protect protect =
            k == 5 ? PRICER_PROTECT_IDENTITY : PRICER_PROTECT_DATA;
        int64_t count = 0, again = 0;
        struct pricer_statement *a = ask(one, plan, observer, protect, &count);
        struct pricer_statement *b = ask(two, other, observer, protect, &again);
        assert_int_equal(count, again);
        for (int64_t s = 0; s < count; s++) {
            if (isinf(a[s].eps))
                assert_true(isinf(b[s].eps));
            else if (a[s].eps > 0)
                assert_close(a[s].eps, b[s].eps, tolerance);
        }
        pricer_statements_free(a);
        pricer_statements_free(b);
    }
}

#endif
