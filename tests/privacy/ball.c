/*
 * The accounts against ball arithmetic: on small networks, at ordinary sizes
 * and at the extremes, every pattern of links is enumerated and the expected
 * hockey-stick divergence at the eps that is claimed is enclosed in a ball,
 * whatever its size. A claim is false where the whole ball is above delta; a
 * lower end is false where the whole ball is below. Nothing here shares a line
 * with the library but the network and the plan.
 */
#include "ball.h"

#include "network/network.h"

enum { MOST = 5, LAW_MOST = 1024, PRECISION = 1600, TERMS = 3000 };

/* Patterns with one mu^2, or as good as bare. */
struct cell {
    arb_t mass, mu2;
    bool bare;
};

struct law {
    int count;
    struct cell cell[LAW_MOST];
};

/* Who looks, and at whom. */
struct look {
    int node;
    bool member[MOST], server, radio;
};

struct world {
    int n;
    double radius, uplink[MOST];
    double p[MOST][MOST], joint[MOST][MOST];
    double weight[MOST][MOST], noise[MOST][MOST];
    struct pricer_network *network;
    struct pricer_plan *plan;
};

static struct law law;

/* ----------------------------------------------------------------- balls -- */

/* What many rounds cost given how often each cell occurs. */
static void add_rounds(int at, int64_t left, const arb_t mass, const arb_t mu2,
                       double eps, slong bits, arb_t sum)
{
    const struct cell *cell = &law.cell[at];
    arb_t part, more;
    arb_init(part);
    arb_init(more);
    for (int64_t k = at + 1 < law.count ? 0 : left; k <= left; k++) {
        arb_pow_ui(part, cell->mass, (ulong)k, bits);
        arb_mul(part, part, mass, bits);
        arb_bin_uiui(more, (ulong)left, (ulong)k, bits);
        arb_mul(part, part, more, bits);
        arb_set(more, mu2);
        if (!cell->bare)
            arb_addmul_ui(more, cell->mu2, (ulong)k, PRECISION);
        else if (k > 0)
            arb_pos_inf(more);
        if (at + 1 < law.count) {
            add_rounds(at + 1, left - k, part, more, eps, bits, sum);
        } else if (!arb_is_finite(more)) {
            arb_add(sum, sum, part, bits);
        } else if (!arb_is_zero(more)) {
            arb_t one;
            arb_init(one);
            gaussian_delta(one, more, eps, bits);
            arb_addmul(sum, one, part, bits);
            arb_clear(one);
        }
    }
    arb_clear(part);
    arb_clear(more);
}

/* Two cells and many rounds: those numbers of the second that are likely; what
 * is left is between 0 and all that is left of the mass. */
static void add_window(int64_t rounds, double eps, slong bits, arb_t sum)
{
    const struct cell *a = &law.cell[0], *b = &law.cell[1];
    double p = arf_get_d(arb_midref(b->mass), ARF_RND_NEAR);
    double wide = 9 * sqrt((double)rounds * p * (1 - p)) + 80;
    int64_t first = (int64_t)fmax((double)rounds * p - wide, 0);
    int64_t last = (int64_t)fmin((double)rounds * p + wide, (double)rounds);
    arb_t term, one, rest;
    arb_init(term);
    arb_init(one);
    arb_init(rest);
    arb_one(rest);
    arb_bin_uiui(term, (ulong)rounds, (ulong)first, bits);
    arb_pow_ui(one, b->mass, (ulong)first, bits);
    arb_mul(term, term, one, bits);
    arb_pow_ui(one, a->mass, (ulong)(rounds - first), bits);
    arb_mul(term, term, one, bits);
    for (int64_t k = first; k <= last; k++) {
        arb_sub(rest, rest, term, bits);
        arb_mul_ui(one, a->mu2, (ulong)(rounds - k), PRECISION);
        arb_addmul_ui(one, b->mu2, (ulong)k, PRECISION);
        if ((b->bare && k > 0) || (a->bare && k < rounds)) {
            arb_add(sum, sum, term, bits);
        } else if (!arb_is_zero(one)) {
            gaussian_delta(one, one, eps, bits);
            arb_addmul(sum, one, term, bits);
        }
        arb_mul_ui(term, term, (ulong)(rounds - k), bits);
        arb_div_ui(term, term, (ulong)(k + 1), bits);
        arb_mul(term, term, b->mass, bits);
        arb_div(term, term, a->mass, bits);
    }
    arb_zero(one);
    arb_union(rest, rest, one, bits);
    arb_add(sum, sum, rest, bits);
    arb_clear(term);
    arb_clear(one);
    arb_clear(rest);
}

/* Compositions of so many rounds into the cells of the law. */
static double compositions(int64_t rounds)
{
    double count = 1;
    for (int k = 1; k < law.count; k++)
        count *= (double)(rounds + k) / k;
    return count;
}

/* The truth about data at one eps. */
static void true_delta(arb_t sum, int64_t rounds, double eps)
{
    arb_t mass, mu2;
    arb_init(mass);
    arb_init(mu2);
    for (slong bits = 192; bits <= PRECISION; bits *= 2) {
        arb_zero(sum);
        arb_one(mass);
        if (compositions(rounds) > TERMS)
            add_window(rounds, eps, bits, sum);
        else
            add_rounds(0, rounds, mass, mu2, eps, bits, sum);
        if (arb_rel_accuracy_bits(sum) > 50)
            break;
    }
    arb_clear(mass);
    arb_clear(mu2);
}

static void data_truth(arb_t sum, int64_t rounds, double eps, const void *about)
{
    (void)about;
    true_delta(sum, rounds, eps);
}

/* -------------------------------------------------------------- patterns -- */

/* mu^2 of one pattern, from the definition of what is seen; false if bare. */
static bool pattern_mu2(const struct world *w, const struct look *look,
                        const bool *up, bool link[][MOST], arb_t sum)
{
    arb_t signal, variance, x;
    bool hidden = true;
    arb_init(signal);
    arb_init(variance);
    arb_init(x);
    arb_zero(sum);
    for (int j = 0; j < w->n && hidden; j++) {
        int i = look->node;
        bool carried = j == i || link[i][j] || (look->radio && w->p[i][j] > 0);
        bool seen = look->member[j] || (look->server && (up[j] || look->radio));
        if (!carried || !seen || w->weight[i][j] == 0)
            continue;
        arb_set_d(signal, w->weight[i][j]);
        arb_set_d(x, w->radius);
        arb_mul(signal, signal, x, PRECISION);
        arb_mul_2exp_si(signal, signal, 1);
        arb_zero(variance);
        for (int k = 0; k < w->n; k++) {
            bool known = look->member[k];
            bool there = k == j || k == i || link[k][j];
            arb_set_d(x, w->noise[k][j]);
            if (!known && there)
                arb_addmul(variance, x, x, PRECISION);
        }
        hidden = !arb_is_zero(variance);
        arb_mul(signal, signal, signal, PRECISION);
        arb_div(signal, signal, variance, PRECISION);
        arb_add(sum, sum, signal, PRECISION);
    }
    arb_clear(signal);
    arb_clear(variance);
    arb_clear(x);
    return hidden;
}

static void note(const arb_t mass, const arb_t mu2, bool bare)
{
    int k = 0;
    while (k < law.count && !(law.cell[k].bare == bare &&
                              (bare || arb_overlaps(law.cell[k].mu2, mu2))))
        k++;
    if (k == LAW_MOST)
        fail_msg("too many patterns");
    if (k == law.count) {
        arb_zero(law.cell[k].mass);
        arb_set(law.cell[k].mu2, mu2);
        law.cell[k].bare = bare;
        law.count++;
    }
    arb_add(law.cell[k].mass, law.cell[k].mass, mass, PRECISION);
}

/* Whether a link matters to the observer. */
static bool matters(const struct world *w, const struct look *look, unsigned i,
                    unsigned j)
{
    return (look->member[j] || look->server) && !look->member[i] &&
           w->p[i][j] > 0 && w->weight[look->node][j] > 0 &&
           (look->node == (int)j || w->p[look->node][j] > 0) &&
           ((int)i == look->node || w->noise[i][j] > 0);
}

/* How likely a pair of links, or the one that matters, is in a state. */
static void pair_mass(const struct world *w, unsigned i, unsigned j, bool one,
                      bool two, int state, arb_t mass)
{
    arb_t p, q, both;
    arb_init(p);
    arb_init(q);
    arb_init(both);
    arb_set_d(p, one ? w->p[i][j] : 0);
    arb_set_d(q, two ? w->p[j][i] : 0);
    arb_set_d(both, one && two ? w->joint[i][j] : 0);
    arb_sub(p, p, both, PRECISION);
    arb_sub(q, q, both, PRECISION);
    if (state == 3)
        arb_set(mass, both);
    else if (state > 0)
        arb_set(mass, state == 1 ? p : q);
    else {
        arb_one(mass);
        arb_sub(mass, mass, p, PRECISION);
        arb_sub(mass, mass, q, PRECISION);
        arb_sub(mass, mass, both, PRECISION);
    }
    if (arb_is_negative(mass))
        arb_zero(mass);
    arb_clear(p);
    arb_clear(q);
    arb_clear(both);
}

/* Every pattern: uplinks, then each pair of nodes in its states. */
static void enumerate(const struct world *w, const struct look *look, int at,
                      const arb_t mass, bool *up, bool link[][MOST])
{
    arb_t part;
    if (arb_is_zero(mass))
        return;
    arb_init(part);
    if (at == w->n + w->n * w->n) {
        bool hidden = pattern_mu2(w, look, up, link, part);
        note(mass, part, !hidden);
    } else if (at < w->n) {
        bool counts = look->server && !look->radio;
        for (int state = !counts; state < 2; state++) {
            up[at] = state;
            arb_set_d(part, state ? w->uplink[at] : -w->uplink[at]);
            if (!state)
                arb_add_ui(part, part, 1, PRECISION);
            if (!counts)
                arb_one(part);
            arb_mul(part, part, mass, PRECISION);
            enumerate(w, look, at + 1, part, up, link);
        }
    } else {
        unsigned i = (unsigned)(at - w->n) / (unsigned)w->n;
        unsigned j = (unsigned)(at - w->n) % (unsigned)w->n;
        bool one = i < j && matters(w, look, i, j);
        bool two = i < j && matters(w, look, j, i);
        for (int state = 0; state < (one || two ? 4 : 1); state++) {
            if (i < j) {
                link[i][j] = state & 1;
                link[j][i] = state >> 1;
            }
            arb_one(part);
            if (one || two)
                pair_mass(w, i, j, one, two, state, part);
            arb_mul(part, part, mass, PRECISION);
            enumerate(w, look, at + 1, part, up, link);
        }
    }
    arb_clear(part);
}

/* ---------------------------------------------------------------- worlds -- */

static const double chances[] = {.1, .5, .9, 1, 0, .3, 1, 1, .99};
static const double wild_chances[] = {1e-9, 1 - 0x1p-53, 1e-300, 0x1p-53, 1,
                                      .5,   1 - 1e-9,    1,      0};
static const double sizes[] = {.5, 1, 2, .01, 0, .7};
static const double deltas[] = {.3,     .1,    .0973, 1e-2,   1.037e-2,
                                1e-3,   1e-5,  1e-9,  1e-16,  1e-20,
                                1.3e-9, 1e-60, 1e-6,  1e-150, 1e-290};

/* A joint probability next to a bound. */
static double near_bound(double p, double q, uint64_t *seed)
{
    double least = fmax(p + q - 1, 0), most = fmin(p, q);
    double joint = test_random(seed) % 2 ? least : most;
    int steps = (int)(test_random(seed) % 3);
    for (int k = 0; k < steps; k++)
        joint = nextafter(joint, joint == most ? 0 : 1);
    return fmin(fmax(joint, least), most);
}

static void make_numbers(struct world *w, bool wild, uint64_t *seed)
{
    double far = wild ? 12 * test_uniform(seed) : 0;
    double a = wild ? 290 * test_uniform(seed) - 150 : 0;
    double b = wild ? 60 * test_uniform(seed) - 30 : 0;
    /* The product of radius and weight may be out of range. */
    if (wild && test_random(seed) % 3 == 0)
        b = fmin(fmax(620 * test_uniform(seed) - 310, a - 300), a + 300);
    w->radius = wild ? pow(10, a) : 1.5;
    for (int i = 0; i < w->n; i++) {
        w->uplink[i] = wild ? PICK(seed, wild_chances) : PICK(seed, chances);
        for (int j = 0; j < w->n; j++) {
            w->p[i][j] = i == j ? 1
                         : wild ? PICK(seed, wild_chances)
                                : PICK(seed, chances);
            if (w->n > 3 && test_random(seed) % 3)
                w->p[i][j] = i == j || test_random(seed) % 2;
            double weight = .2 + test_uniform(seed);
            double noise = PICK(seed, sizes) * (.5 + test_uniform(seed));
            noise *= pow(10, far * (2 * test_uniform(seed) - 1));
            w->weight[i][j] =
                test_random(seed) % 9 ? weight * pow(10, b - a) : 0;
            w->noise[i][j] = fmin(noise * pow(10, fmin(b, 300)), 1e307);
            if (w->p[i][j] == 0)
                w->weight[i][j] = w->noise[i][j] = 0;
        }
    }
}

/* False where the network is refused. */
static bool make_world(struct world *w, int n, bool wild, uint64_t *seed)
{
    static const double mutual[] = {0, .5, 1};
    struct pricer_node nodes[MOST];
    struct pricer_link links[MOST * MOST];
    int64_t count = 0;
    double reciprocity = PICK(seed, mutual);
    bool near = test_random(seed) % 3 == 0;
    w->n = n;
    make_numbers(w, wild, seed);
    for (int i = 0; i < n; i++) {
        nodes[i] = (struct pricer_node){w->uplink[i], 1, .1, NAN, NAN};
        for (int j = i + 1; j < n; j++) {
            double joint =
                near ? near_bound(w->p[i][j], w->p[j][i], seed) : NAN;
            links[count++] =
                (struct pricer_link){i, j, w->p[i][j], joint, 1, .1};
            links[count++] =
                (struct pricer_link){j, i, w->p[j][i], joint, 1, .1};
        }
    }
    struct pricer_network_parts parts = {
        3, w->radius, reciprocity, nodes, n, links, count, NULL, NULL};
    if (pricer_network_build(&parts, &w->network, NULL, NULL) != PRICER_OK)
        return false;
    assert_int_equal(pricer_plan_new(w->network, &w->plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < w->network->links; l++) {
        int i = w->network->from[l], j = w->network->to[l];
        w->plan->weight[l] = w->weight[i][j];
        w->plan->noise[l] = w->noise[i][j];
        w->joint[i][j] = w->network->joint[l];
        assert_true(w->p[i][j] == w->network->p[l]);
    }
    for (int i = 0; i < n; i++) {
        w->plan->self_weight[i] = w->weight[i][i];
        w->plan->self_noise[i] = w->noise[i][i];
    }
    return true;
}

static void check_look(const struct world *w, const struct look *look,
                       uint64_t *seed, uint64_t name)
{
    static const double times[] = {1, 1, 2, 3, 10, 1000, 1e6};
    bool up[MOST] = {0}, link[MOST][MOST] = {{0}};
    int32_t members[MOST], count = 0;
    int64_t rounds = (int64_t)PICK(seed, times);
    double delta = PICK(seed, deltas);
    struct pricer_statement claim;
    arb_t one;
    arb_init(one);
    arb_one(one);
    law.count = 0;
    enumerate(w, look, 0, one, up, link);
    arb_clear(one);
    if (compositions(rounds) > TERMS && law.count != 2)
        rounds = 1;
    if (compositions(rounds) > TERMS)
        delta = fmax(delta, 1e-9);
    for (int32_t k = 0; k < w->n; k++)
        if (look->member[k])
            members[count++] = k;
    struct pricer_question question = {
        .observer = PRICER_OBSERVER_COALITION,
        .protect = PRICER_PROTECT_DATA,
        .eavesdropper = look->radio ? PRICER_RADIO : PRICER_RECEIVER,
        .delta = delta,
        .rounds = rounds,
        .members = members,
        .member_count = count,
        .with_server = look->server,
    };
    if (pri_privacy_one(w->network, w->plan, &question, look->node, -1, &claim,
                        NULL) != PRICER_OK) {
        refused++;
        return;
    }
    if (!holds(&claim, rounds, data_truth, NULL))
        printf("\n  FALSE: world %llu n %d node %d radio %d server %d rounds "
               "%lld delta %g: [%.17g, %.17g], %d cells\n",
               (unsigned long long)name, w->n, look->node, look->radio,
               look->server, (long long)rounds, delta, claim.eps_lower,
               claim.eps, law.count);
}

static void check_world(int n, bool wild, uint64_t name)
{
    uint64_t seed = name;
    struct world w;
    if (!make_world(&w, n, wild, &seed)) {
        refused++;
        return;
    }
    for (int node = 0; node < n; node++)
        for (int kind = 0; kind < 5; kind++) {
            struct look look = {.node = node};
            int other = (node + 1) % n, third = (node + 2) % n;
            look.server = kind == 0 || kind >= 3;
            look.member[other] = kind == 1 || kind == 2 || kind == 3;
            if (kind == 2 && third != node)
                look.member[third] = true;
            look.radio = kind == 4 || (kind == 1 && node % 2);
            check_look(&w, &look, &seed, name);
        }
    pricer_network_free(w.network);
    pricer_plan_free(w.plan);
}

static uint64_t first_world = 1;
static int worlds = 40;

static void test_data(void **state)
{
    (void)state;
    for (int k = 0; k < LAW_MOST; k++) {
        arb_init(law.cell[k].mass);
        arb_init(law.cell[k].mu2);
    }
    for (int k = 0; k < worlds; k++)
        check_world(2 + k % 4, k / 4 % 2, first_world + (uint64_t)k);
    print_message("data: %d statements, %d at delta within the ball, %d "
                  "refused\n",
                  checked, undecided, refused);
    assert_int_equal(wrong, 0);
    for (int k = 0; k < LAW_MOST; k++) {
        arb_clear(law.cell[k].mass);
        arb_clear(law.cell[k].mu2);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data),
    };
    if (argc > 2) {
        first_world = strtoull(argv[1], NULL, 10);
        worlds = atoi(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
