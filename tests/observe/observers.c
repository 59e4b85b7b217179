/*
 * The observers of a real fleet against their definition: on three nodes every
 * pattern of links is enumerated, what is seen is written down as linear
 * functions of the data and of nine noises, and mu^2 is c' V^-1 c of those. No
 * step of the accounts is used.
 */
#include "tests/observe/worlds.h"

enum { N = 3, NOISES = N * N, ROWS_MOST = 12, PATTERNS = 512 };

/* ------------------------------------------------------------- definition -- */

struct world {
    struct pricer_network *network;
    struct pricer_plan *plan;
    double weight[N][N], noise[N][N], p[N][N], joint[N][N], uplink[N];
};

/* Who looks at node i. */
struct look {
    int node;
    bool member[N], server, reader, listener, shares, radio;
};

struct pattern {
    bool up[N][N], uplink[N];
};

/* Something seen: how much of the data is in it, and of each noise. */
struct row {
    double data, noise[NOISES];
};

static void add_share(const struct world *w, const struct look *look, int from,
                      int to, struct row *row)
{
    if (from == look->node)
        row->data += 2 * w->weight[from][to];
    if (!look->member[from])
        row->noise[from * N + to] += w->noise[from][to];
}

static struct row sum_at(const struct world *w, const struct look *look,
                         const struct pattern *pattern, int at)
{
    struct row row = {0};
    for (int k = 0; k < N; k++)
        if (k == at || pattern->up[k][at])
            add_share(w, look, k, at, &row);
    return row;
}

/* All that is seen of one pattern. */
static int list_rows(const struct world *w, const struct look *look,
                     const struct pattern *pattern, struct row *rows)
{
    int count = 0;
    struct row estimate = {0};
    for (int j = 0; j < N; j++) {
        struct row sum = sum_at(w, look, pattern, j);
        if (look->listener && j == look->node)
            rows[count++] = sum;
        if (look->listener && j != look->node) {
            rows[count] = (struct row){0};
            add_share(w, look, look->node, j, &rows[count++]);
        }
        for (int k = 0; look->shares && look->member[j] && k < N; k++)
            if (k != j && pattern->up[k][j]) {
                rows[count] = (struct row){0};
                add_share(w, look, k, j, &rows[count++]);
            }
        if (!look->shares && look->member[j])
            rows[count++] = sum;
        if (look->server && pattern->uplink[j])
            rows[count++] = sum;
        if (!pattern->uplink[j])
            continue;
        estimate.data += sum.data;
        for (int k = 0; k < NOISES; k++)
            estimate.noise[k] += sum.noise[k];
    }
    if (look->reader)
        rows[count++] = estimate;
    return count;
}

/* c' V^-1 c, one row after the other made orthogonal to those before. */
static double mu_squared(struct row *rows, int count)
{
    double mu = 0;
    for (int a = 0; a < count; a++) {
        double before = 0, after = 0;
        for (int k = 0; k < NOISES; k++)
            before += rows[a].noise[k] * rows[a].noise[k];
        for (int b = 0; b < a; b++) {
            double product = 0, square = 0;
            for (int k = 0; k < NOISES; k++) {
                product += rows[a].noise[k] * rows[b].noise[k];
                square += rows[b].noise[k] * rows[b].noise[k];
            }
            if (square == 0)
                continue;
            for (int k = 0; k < NOISES; k++)
                rows[a].noise[k] -= product / square * rows[b].noise[k];
            rows[a].data -= product / square * rows[b].data;
        }
        for (int k = 0; k < NOISES; k++)
            after += rows[a].noise[k] * rows[a].noise[k];
        if (after <= 1e-20 * before || before == 0) {
            if (fabs(rows[a].data) > 1e-9)
                return INFINITY;
            memset(&rows[a], 0, sizeof rows[a]);
            continue;
        }
        mu += rows[a].data * rows[a].data / after;
    }
    return mu;
}

/* P(one is as it is, two is as it is) of two opposite links. */
static double pair_chance(const struct world *w, int i, int j, bool one,
                          bool two)
{
    double both = w->joint[i][j], p = w->p[i][j], q = w->p[j][i];
    if (one && two)
        return both;
    if (one)
        return p - both;
    return two ? q - both : 1 - p - q + both;
}

static double chance(double p, bool up)
{
    return up ? p : 1 - p;
}

/* The probability of a pattern; in `forced`, what has none: bit j of it is the
 * uplink of j, bit 3 + j the link from the node to j; -1: nothing is. */
static double pattern_chance(const struct world *w, const struct look *look,
                             const struct pattern *pattern, int forced)
{
    int i = look->node;
    double product = 1;
    for (int j = 0; j < N; j++) {
        bool bit = forced >> j & 1;
        bool carrier = w->weight[i][j] > 0 || !look->reader || look->member[j];
        if (forced >= 0 && carrier && !look->listener)
            product *= bit == pattern->uplink[j];
        else
            product *= chance(w->uplink[j], pattern->uplink[j]);
        for (int k = 0; k < j; k++) {
            int other = j == i ? k : j;
            if (forced < 0 || (j != i && k != i)) {
                product *=
                    pair_chance(w, j, k, pattern->up[j][k], pattern->up[k][j]);
                continue;
            }
            bit = forced >> (3 + other) & 1;
            product *= bit == pattern->up[i][other];
            product *= chance(w->p[other][i], pattern->up[other][i]);
        }
    }
    return product;
}

static struct pattern pattern_of(int number)
{
    struct pattern pattern = {0};
    int bit = 3;
    for (int j = 0; j < N; j++) {
        pattern.uplink[j] = number >> j & 1;
        for (int k = 0; k < j; k++) {
            pattern.up[j][k] = number >> bit++ & 1;
            pattern.up[k][j] = number >> bit++ & 1;
        }
    }
    return pattern;
}

static double delta_of(double eps, double mu_2)
{
    if (mu_2 == 0)
        return 0;
    if (isinf(mu_2))
        return 1;
    long double mu = sqrtl(mu_2), r = eps / mu;
    return (double)(.5L *
                    (erfcl((r - mu / 2) / sqrtl(2)) -
                     expl((long double)eps) * erfcl((r + mu / 2) / sqrtl(2))));
}

/* The eps of a law with at most PATTERNS atoms over so many rounds. */
static double eps_of(const double *mass, const double *mu_2, int count,
                     int rounds, double delta)
{
    double low = 0, high = 400;
    for (int step = 0; step < 50; step++) {
        double eps = (low + high) / 2, sum = 0;
        for (int a = 0; a < count; a++)
            for (int b = 0; b < (rounds == 2 ? count : 1); b++)
                sum += mass[a] * (rounds == 2 ? mass[b] : 1) *
                       delta_of(eps, mu_2[a] + (rounds == 2 ? mu_2[b] : 0));
        *(sum > delta ? &low : &high) = eps;
    }
    return high > 399 ? INFINITY : high;
}

/* By definition; without credit the worst of what is forced. */
static double true_eps(const struct world *w, const struct look *look,
                       int rounds, double delta)
{
    double worst = 0;
    int first = look->radio ? (look->reader ? 0 : 63) : -1;
    int last = look->radio ? 63 : -1;
    for (int forced = first; forced <= last; forced++) {
        double mass[PATTERNS], mu_2[PATTERNS];
        int count = 0;
        bool heard = true;
        for (int j = 0; j < N && look->radio; j++)
            heard &= !look->member[j] || (forced >> (3 + j) & 1);
        if (!heard)
            continue;
        for (int k = 0; k < PATTERNS; k++) {
            struct pattern pattern = pattern_of(k);
            struct row rows[ROWS_MOST];
            double p = pattern_chance(w, look, &pattern, forced);
            if (p == 0)
                continue;
            double mu = mu_squared(rows, list_rows(w, look, &pattern, rows));
            int same = 0;
            while (same < count && mu_2[same] != mu)
                same++;
            if (same == count) {
                mass[count] = 0;
                mu_2[count++] = mu;
            }
            mass[same] += p;
        }
        worst = fmax(worst, eps_of(mass, mu_2, count, rounds, delta));
    }
    return worst;
}

/* ----------------------------------------------------------------- worlds -- */

static void make_world(uint64_t *seed, struct world *w)
{
    *w = (struct world){0};
    w->network = build(N, seed, test_random(seed) % 3 * .5);
    w->plan = random_plan(w->network, seed);
    for (int32_t l = 0; l < w->network->links; l++) {
        int i = w->network->from[l], j = w->network->to[l];
        w->weight[i][j] = w->plan->weight[l];
        w->noise[i][j] = w->plan->noise[l];
        w->p[i][j] = w->network->p[l];
        w->joint[i][j] = w->network->joint[l];
    }
    for (int i = 0; i < N; i++) {
        w->weight[i][i] = w->plan->self_weight[i];
        w->noise[i][i] = w->plan->self_noise[i];
        w->uplink[i] = w->network->uplink[i];
    }
}

static void free_world(struct world *w)
{
    pricer_plan_free(w->plan);
    pricer_network_free(w->network);
}

/* -------------------------------------------------------------- the tests -- */

/* The account of one look; *tight: it should be the definition itself. */
static struct pricer_statement account(const struct world *w,
                                       const struct look *look, int rounds,
                                       double delta, bool *tight)
{
    int32_t members[N], count = 0;
    for (int32_t j = 0; j < N; j++)
        if (look->member[j])
            members[count++] = j;
    *tight = !look->reader;
    return ask(
        w->network, w->plan,
        (struct pricer_question){
            .observer = look->listener ? PRICER_OBSERVER_LISTENER
                        : count > 0    ? PRICER_OBSERVER_COALITION
                        : look->reader ? PRICER_OBSERVER_READER
                                       : PRICER_OBSERVER_SERVER,
            .eavesdropper =
                look->radio && !look->listener ? PRICER_RADIO : PRICER_RECEIVER,
            .delta = delta,
            .rounds = rounds,
            .members = members,
            .member_count = count,
            .with_server = look->server,
            .with_reader = look->reader,
            .relays = look->shares ? PRICER_RELAYS_SHARES : PRICER_RELAYS_SUMS},
        look->node);
}

static void compare(const struct world *w, const struct look *look, int rounds)
{
    static const double deltas[] = {.1, 1e-2, 1e-4};
    for (int k = 0; k < (rounds == 2 ? 1 : 3); k++) {
        bool tight;
        struct pricer_statement s = account(w, look, rounds, deltas[k], &tight);
        double eps = true_eps(w, look, rounds, deltas[k]);
        if (!(s.eps >= eps * (1 - 1e-7) - 1e-9) ||
            (tight && isfinite(eps) && !(s.eps <= eps * 1.02 + 1e-3)))
            fail_msg("node %d, members %d%d%d, server %d, reader %d, listener "
                     "%d, shares %d, radio %d, rounds %d, delta %g: account "
                     "%.9g, definition %.9g",
                     look->node, look->member[0], look->member[1],
                     look->member[2], look->server, look->reader,
                     look->listener, look->shares, look->radio, rounds,
                     deltas[k], s.eps, eps);
    }
}

static void test_definition(void **state)
{
    (void)state;
    uint64_t seed = 15;
    for (int trial = 0; trial < 60; trial++) {
        struct world w;
        make_world(&seed, &w);
        for (int kind = 0; kind < 24; kind++) {
            struct look look = {.node = trial % N};
            look.radio = kind & 1;
            look.shares = kind & 2;
            look.server = kind / 4 == 1 || kind / 4 == 4;
            look.reader = kind / 4 == 0 || kind / 4 == 3;
            look.listener = kind / 4 == 5;
            look.member[(trial + 1) % N] = kind / 4 >= 2 && !look.listener;
            /* Nobody to see shares, or no losses to a listener. */
            bool idle = (kind / 4 <= 1 || look.listener) && look.shares;
            if (!idle && !(look.listener && !look.radio))
                compare(&w, &look, trial % 4 == 0 ? 2 : 1);
        }
        free_world(&w);
    }
}

/* Where rounding brings neighbouring data further apart the sender's own noise is
 * raised as much, that of others in the same sum is not. Messages of a thousand
 * steps of the grid, all links always up: one Gaussian in closed form. */
static void test_coarse_grid(void **state)
{
    (void)state;
    const double delta = 1e-3, diameter = .5, d = 10000;
    const struct pricer_node nodes[] = {
        {1, 1, 1e-3, NAN, NAN}, {1, 1, 1e-3, NAN, NAN}, {1, 1, 1e-3, NAN, NAN}};
    const struct pricer_link links[] = {{0, 2, 1, NAN, 1, 1e-3},
                                        {1, 2, 1, NAN, 1, 1e-3}};
    struct pricer_network *network = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_grid grid;
    assert_int_equal(
        pricer_network_build(&(struct pricer_network_parts){.dimension = 10000,
                                                            .radius = 1,
                                                            .nodes = nodes,
                                                            .node_count = 3,
                                                            .links = links,
                                                            .link_count = 2},
                             &network, NULL, NULL),
        PRICER_OK);
    for (int i = 0; i < 3; i++)
        network->node_diameter[i] = diameter;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    plan->self_weight[2] = plan->self_noise[2] = 1;
    assert_int_equal(pricer_grid_choose(network, plan, &grid, NULL), PRICER_OK);
    double step = ldexp(1, grid.exponent), weight = 1000 * step / diameter;
    plan->weight[0] = plan->weight[1] = weight;
    plan->noise[0] = 300 * step;
    plan->noise[1] = 1000 * step;
    double raise =
        1 +
        ((sqrt(d) + 8) * step / weight + (16 * d + 128) * 0x1p-53) / diameter;
    assert_true(raise > 1.1 && raise < 1.12);
    double zeta = raise * raise * 9e4 + 1e6; /* in steps */
    double mu = raise * 1000 / sqrt(zeta);
    struct pricer_statement s =
        ask(network, plan,
            (struct pricer_question){.observer = PRICER_OBSERVER_RELAY,
                                     .eavesdropper = PRICER_RADIO,
                                     .delta = delta},
            0);
    assert_true(pricer_gaussian_delta(s.eps, mu) <= delta);
    assert_true(pricer_gaussian_delta(s.eps * .999, mu) > delta);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_coarse_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
