/*
 * The accounts against brute force: on random networks of 3 to 5 nodes, with
 * and without reciprocity, every pattern of links is enumerated and what the
 * observer sees is written down straight from the definition. Both ends of
 * every bracket must be on their side of it.
 */
#include "tests/test.h"
#include "network/network.h"
#include "privacy/bracket.h"

#define NODES_MOST 5

struct world {
    int n;
    double uplink[NODES_MOST];
    double p[NODES_MOST][NODES_MOST], joint[NODES_MOST][NODES_MOST];
    double weight[NODES_MOST][NODES_MOST], noise[NODES_MOST][NODES_MOST];
    struct pricer_network *network;
    struct pricer_plan *plan;
};

/* Who looks, and at whom. */
struct look {
    int node;
    bool member[NODES_MOST], server, radio;
};

static double pick(uint64_t *seed, const double *values, int count)
{
    return values[test_random(seed) % (uint64_t)count];
}

static void make_links(struct world *w, double reciprocity, uint64_t *seed)
{
    static const double chances[] = {.1, .5, .9, 1, 0, .3};
    static const double sizes[] = {.5, 1, 2, .01, 0, .7};
    for (int i = 0; i < w->n; i++)
        for (int j = 0; j < w->n; j++) {
            w->p[i][j] = i == j ? 1 : pick(seed, chances, 6);
            /* Five nodes: some links fewer, or it takes too long. */
            if (w->n == 5 && i != j && (i + j) % 5 > 2)
                w->p[i][j] = i < j ? 0 : w->p[i][j] > .5;
            w->weight[i][j] = .2 + test_uniform(seed);
            w->noise[i][j] = pick(seed, sizes, 6) * (.5 + test_uniform(seed));
            if (w->p[i][j] == 0)
                w->weight[i][j] = w->noise[i][j] = 0;
        }
    for (int i = 0; i < w->n; i++)
        for (int j = 0; j < w->n; j++)
            w->joint[i][j] = pri_joint(reciprocity, w->p[i][j], w->p[j][i]);
}

static void make_world(struct world *w, int n, double reciprocity,
                       uint64_t *seed)
{
    static const double chances[] = {.1, .5, .9, 1, .2};
    struct pricer_node nodes[NODES_MOST];
    struct pricer_link links[NODES_MOST * NODES_MOST];
    int64_t count = 0;
    w->n = n;
    make_links(w, reciprocity, seed);
    for (int i = 0; i < n; i++) {
        w->uplink[i] = pick(seed, chances, 5);
        nodes[i] = (struct pricer_node){w->uplink[i], 1, .1, NAN, NAN};
        for (int j = 0; j < n; j++)
            if (i != j)
                links[count++] =
                    (struct pricer_link){i, j, w->p[i][j], NAN, 1, .1};
    }
    assert_int_equal(
        pricer_network_build(&(struct pricer_network_parts){3, 1.5, reciprocity,
                                                            nodes, n, links,
                                                            count, NULL, NULL},
                             &w->network, NULL, NULL),
        PRICER_OK);
    assert_int_equal(pricer_plan_new(w->network, &w->plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < w->network->links; l++) {
        int i = w->network->from[l], j = w->network->to[l];
        w->plan->weight[l] = w->weight[i][j];
        w->plan->noise[l] = w->noise[i][j];
    }
    for (int i = 0; i < n; i++) {
        w->plan->self_weight[i] = w->weight[i][i];
        w->plan->self_noise[i] = w->noise[i][i];
    }
}

static void free_world(struct world *w)
{
    pricer_network_free(w->network);
    pricer_plan_free(w->plan);
}

/* mu^2 of one pattern, from the definition of what is seen. */
static double pattern_mu2(const struct world *w, const struct look *look,
                          const bool *up, bool link[][NODES_MOST])
{
    double sum = 0;
    for (int j = 0; j < w->n; j++) {
        bool relay = look->member[j];
        bool carried = j == look->node || link[look->node][j] ||
                       (look->radio && w->p[look->node][j] > 0);
        bool seen = relay || (look->server && (up[j] || look->radio));
        if (j == look->node && !look->server)
            seen = false;
        double signal = 2 * 1.5 * w->weight[look->node][j], variance = 0;
        if (!carried || !seen || signal == 0)
            continue;
        for (int k = 0; k < w->n; k++) {
            bool known = look->member[k] || (relay && k == j);
            bool there = k == j || k == look->node || link[k][j];
            if (!known && there)
                variance += w->noise[k][j] * w->noise[k][j];
        }
        if (variance == 0)
            return INFINITY;
        sum += signal * signal / variance;
    }
    return sum;
}

/* A list of (probability, mu^2), equal ones joined. */
struct listing {
    int count;
    double mass[4096], mu2[4096];
};

static void note(struct listing *list, double mass, double mu2)
{
    for (int k = 0; k < list->count; k++)
        if (list->mu2[k] == mu2 ||
            fabs(list->mu2[k] - mu2) < 1e-13 * fabs(mu2)) {
            list->mass[k] += mass;
            return;
        }
    assert_true(list->count < 4096);
    list->mass[list->count] = mass;
    list->mu2[list->count++] = mu2;
}

/* Every pattern: uplinks, then each pair of nodes in its four states. */
static void enumerate(const struct world *w, const struct look *look, int at,
                      double mass, bool *up, bool link[][NODES_MOST],
                      struct listing *list)
{
    int pairs = w->n * w->n;
    if (mass == 0)
        return;
    if (at == w->n + pairs) {
        note(list, mass, pattern_mu2(w, look, up, link));
        return;
    }
    if (at < w->n) {
        for (int state = 0; state < 2; state++) {
            up[at] = state;
            enumerate(w, look, at + 1,
                      mass * (state ? w->uplink[at] : 1 - w->uplink[at]), up,
                      link, list);
        }
        return;
    }
    int i = (at - w->n) / w->n, j = (at - w->n) % w->n;
    if (i >= j) {
        enumerate(w, look, at + 1, mass, up, link, list);
        return;
    }
    double both = w->joint[i][j], one = w->p[i][j] - both;
    double two = w->p[j][i] - both, none = 1 - both - one - two;
    double chance[] = {none < 1e-15 ? 0 : none, one < 1e-15 ? 0 : one,
                       two < 1e-15 ? 0 : two, both};
    for (int state = 0; state < 4; state++) {
        link[i][j] = state & 1;
        link[j][i] = state >> 1;
        enumerate(w, look, at + 1, mass * chance[state], up, link, list);
    }
}

/* E delta over all patterns of so many rounds, after some with this mu^2. */
static double brute_delta(const struct listing *list, int rounds, double mu2,
                          double eps)
{
    double sum = 0;
    if (rounds == 0)
        return pricer_gaussian_delta(eps, sqrt(mu2));
    for (int a = 0; a < list->count; a++)
        sum += list->mass[a] *
               brute_delta(list, rounds - 1, mu2 + list->mu2[a], eps);
    return sum;
}

static double widest;
static int looks;

static void check_look(const struct world *w, const struct look *look,
                       int rounds, double delta, struct pri_scratch *scratch)
{
    static struct listing list;
    bool up[NODES_MOST] = {0}, link[NODES_MOST][NODES_MOST] = {{0}};
    struct pri_view view = {0};
    struct pri_bracket bracket;
    list.count = 0;
    enumerate(w, look, 0, 1, up, link, &list);
    if (pow(list.count, rounds) > 1e5)
        return;
    assert_int_equal(
        pri_view_build(
            w->network, w->plan, look->node, look->member, look->server,
            look->radio ? PRICER_RADIO : PRICER_RECEIVER, NULL, &view),
        PRICER_OK);
    assert_int_equal(
        pri_view_account(&view, delta, rounds, 3e8, scratch, &bracket),
        PRICER_OK);
    pri_view_free(&view);
    looks++;
    double upper =
        isinf(bracket.eps) ? 0 : brute_delta(&list, rounds, 0, bracket.eps);
    double lower = brute_delta(
        &list, rounds, 0, isinf(bracket.eps_lower) ? 1e300 : bracket.eps_lower);
    double bare = brute_delta(&list, rounds, 0, 1e300);
    if (!(upper <= delta * (1 + 1e-9)) ||
        (bracket.eps_lower > 0 && !(lower >= delta * (1 - 1e-9))) ||
        (isinf(bracket.eps) && bare < delta * .999) ||
        fabs(bracket.floor - bare) > 1e-9 * bare + 1e-15 ||
        bracket.eps_lower > bracket.eps)
        fail_msg("n %d node %d radio %d server %d rounds %d delta %g: [%.12g, "
                 "%.12g] floor %g has "
                 "delta [%.12g, %.12g], bare %g",
                 w->n, look->node, look->radio, look->server, rounds, delta,
                 bracket.eps_lower, bracket.eps, bracket.floor, upper, lower,
                 bare);
    /* A power of ten may be a product of the probabilities, and the curve flat
     * there: then rounding alone decides, against us, and the bracket is wide.
     */
    double power = log10(delta);
    if (isfinite(bracket.eps) && bracket.eps > 1e-3 &&
        fabs(power - round(power)) > 1e-9)
        widest = fmax(widest, 1 - bracket.eps_lower / bracket.eps);
}

static void check_world(int n, double reciprocity, int rounds, uint64_t *seed,
                        struct pri_scratch *scratch)
{
    static const double deltas[] = {.1,      .0973, 1e-2,   1.037e-2, 1e-3,
                                    1.07e-3, 1e-5,  1.1e-5, 1e-9,     1.3e-9};
    struct world w;
    make_world(&w, n, reciprocity, seed);
    for (int node = 0; node < n; node++)
        for (int kind = 0; kind < 5; kind++) {
            struct look look = {.node = node};
            int other = (node + 1) % n, third = (node + 2) % n;
            look.server = kind == 0 || kind >= 3;
            look.member[other] = kind == 1 || kind == 2 || kind == 3;
            look.member[third] = kind == 2;
            look.radio = kind == 4 || (kind == 1 && node % 2);
            check_look(&w, &look, rounds, pick(seed, deltas, 10), scratch);
        }
    free_world(&w);
}

static void test_brute_force(void **state)
{
    (void)state;
    uint64_t seed = 11;
    struct pri_scratch scratch = {0};
    for (int trial = 0; trial < 240; trial++)
        check_world(3 + trial % 2, (double[]){0, .5, 1}[trial / 2 % 3], 1,
                    &seed, &scratch);
    for (int trial = 0; trial < 80; trial++)
        check_world(3, (double[]){0, .5, 1}[trial % 3], 2 + trial / 40, &seed,
                    &scratch);
    for (int trial = 0; trial < 8; trial++)
        check_world(5, 1 - trial % 2 * .5, 1, &seed, &scratch);
    print_message("%d brackets\n", looks);
    print_message("widest bracket %.2g of eps\n", widest);
    assert_true(widest <= .01);
    pri_scratch_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brute_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
