/*
 * Identities at the server against ball arithmetic.
 *
 * Node 0 sends to the relays 1 and 2 and has a sum of its own; each sum is
 * hidden by one packet, its own by node 1, that of 1 by 2 and that of 2 by 1,
 * so that opposite links are coupled in both ways. All sums have one ratio of
 * the node's noise to that of the packet, exactly: K of them, in units of the
 * packet's noise, are one sum of K d numbers with the squares of the shifts
 * added up, whose divergence is that of ball_chi.h. A sum without its packet
 * is bare.
 */
#include "ball_chi.h"

#include "network/network.h"

enum { SUMS = 3, SETS = 1 << SUMS };

struct fleet {
    double dimension, radius, noise, hider;
    double uplink[SUMS], weight[SUMS], scale[SUMS];
    double p[SUMS][SUMS], joint[SUMS][SUMS];
    arb_t mass[SETS + 1], m2[SETS + 1]; /* by the sums seen; the last is bare */
};

static int priced; /* statements with an eps */

static void set_cell(arb_t mass, double p, double q, double joint, int state)
{
    arb_t x;
    arb_init(x);
    arb_set_d(mass, state == 0 ? 1 : state == 1 ? p : state == 2 ? q : joint);
    arb_set_d(x, state == 0 ? p : state < 3 ? joint : 0);
    arb_sub(mass, mass, x, BITS_MOST);
    arb_set_d(x, state == 0 ? q : 0);
    arb_sub(mass, mass, x, BITS_MOST);
    arb_set_d(x, state == 0 ? joint : 0);
    arb_add(mass, mass, x, BITS_MOST);
    arb_clear(x);
}

/* All patterns: three uplinks, the link to 2, the two pairs. */
static void list_patterns(struct fleet *at)
{
    arb_t mass, x;
    arb_init(mass), arb_init(x);
    for (int k = 0; k <= SETS; k++)
        arb_zero(at->mass[k]), arb_zero(at->m2[k]);
    for (int k = 0; k < SETS; k++)
        for (int j = 0; j < SUMS; j++) {
            set_square(x, at->radius, k >> j & 1 ? at->weight[j] : 0,
                       BITS_MOST);
            set_square(mass, at->hider, at->scale[j], BITS_MOST);
            arb_div(x, x, mass, BITS_MOST);
            arb_add(at->m2[k], at->m2[k], x, BITS_MOST);
        }
    for (int state = 0; state < 256; state++) {
        int gate = state >> 4 & 3, pair = state >> 6;
        bool arrives[] = {true, gate & 1, state >> 3 & 1};
        bool hidden[] = {gate >> 1, pair >> 1, pair & 1};
        int set = 0;
        set_cell(mass, at->p[0][1], at->p[1][0], at->joint[0][1], gate);
        set_cell(x, at->p[1][2], at->p[2][1], at->joint[1][2], pair);
        arb_mul(mass, mass, x, BITS_MOST);
        set_cell(x, at->p[0][2], 0, 0, arrives[2]);
        arb_mul(mass, mass, x, BITS_MOST);
        for (int j = 0; j < SUMS; j++) {
            set_cell(x, at->uplink[j], 0, 0, state >> j & 1);
            arb_mul(mass, mass, x, BITS_MOST);
            if (state >> j & 1 && arrives[j] && set < SETS)
                set = hidden[j] ? set | 1 << j : SETS;
        }
        arb_add(at->mass[set], at->mass[set], mass, BITS_MOST);
    }
    arb_clear(mass), arb_clear(x);
}

/* What so many rounds more show, after some with `sums` sums and m2. */
static bool add_rounds(arb_t sum, const struct fleet *at, int64_t rounds,
                       const arb_t mass, const arb_t m2, int sums, double eps,
                       int direction, slong bits)
{
    struct pair pair;
    arb_t part, more;
    bool able = true;
    arb_init(part), arb_init(more);
    for (int k = 0; k < SETS && rounds > 0; k++) {
        arb_mul(part, mass, at->mass[k], bits);
        arb_add(more, m2, at->m2[k], bits);
        if (!arb_is_zero(part))
            able = add_rounds(sum, at, rounds - 1, part, more,
                              sums + __builtin_popcount((unsigned)k), eps,
                              direction, bits) &&
                   able;
    }
    if (rounds > 0) { /* bare, whatever follows */
        arb_addmul(sum, mass, at->mass[SETS], bits);
    } else if (sums > 0) {
        arb_init(pair.m2), arb_init(pair.own);
        arb_init(pair.v0), arb_init(pair.v1);
        arb_set(pair.m2, m2);
        set_square(pair.own, at->noise, 1, bits);
        set_square(pair.v1, at->hider, 1, bits);
        arb_div(pair.own, pair.own, pair.v1, bits);
        arb_one(pair.v0);
        arb_add(pair.v1, pair.v0, pair.own, bits);
        if (at->noise == 0)
            gaussian_delta(part, m2, eps, bits);
        else
            able = divergence(part, &pair, at->dimension * sums, eps, direction,
                              bits);
        arb_addmul(sum, mass, part, bits);
        arb_clear(pair.m2), arb_clear(pair.own);
        arb_clear(pair.v0), arb_clear(pair.v1);
    }
    arb_clear(part), arb_clear(more);
    return able;
}

static bool add_all(arb_t sum, const void *about, int64_t rounds, double eps,
                    int direction, slong bits)
{
    arb_t one, zero;
    arb_init(one), arb_init(zero);
    arb_one(one);
    arb_zero(sum);
    bool able =
        add_rounds(sum, about, rounds, one, zero, 0, eps, direction, bits);
    arb_clear(one), arb_clear(zero);
    return able;
}

static void server_truth(arb_t sum, int64_t rounds, double eps,
                         const void *about)
{
    worse_direction(sum, rounds, eps, add_all, about);
}

/* The plan; the joint probabilities are the network's. */
static struct pricer_plan *plan_of(struct fleet *at,
                                   const struct pricer_network *network)
{
    struct pricer_plan *plan = NULL;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < network->links; l++) {
        int i = network->from[l], j = network->to[l];
        plan->weight[l] = i == 0 ? at->weight[j] : 0;
        plan->noise[l] = (i == 0 ? at->noise : at->hider) * at->scale[j];
        at->joint[i][j] = network->joint[l];
    }
    plan->self_weight[0] = at->weight[0];
    plan->self_noise[0] = at->noise * at->scale[0];
    return plan;
}

static void check_fleet(struct fleet *at, double reciprocity, int64_t rounds,
                        double delta)
{
    static const int ends[][2] = {{0, 1}, {1, 0}, {0, 2}, {1, 2}, {2, 1}};
    struct pricer_node nodes[SUMS];
    struct pricer_link links[5];
    struct pricer_network *network = NULL;
    struct pricer_statement claim;
    for (int i = 0; i < SUMS; i++)
        nodes[i] = (struct pricer_node){at->uplink[i], INFINITY, 1, NAN, NAN};
    for (int k = 0; k < 5; k++)
        links[k] = (struct pricer_link){
            ends[k][0], ends[k][1], at->p[ends[k][0]][ends[k][1]],
            NAN,        1,          1e-3};
    struct pricer_network_parts parts = {(int64_t)at->dimension,
                                         at->radius,
                                         reciprocity,
                                         nodes,
                                         SUMS,
                                         links,
                                         5,
                                         NULL,
                                         NULL};
    if (pricer_network_build(&parts, &network, NULL, NULL) != PRICER_OK) {
        refused++;
        return;
    }
    struct pricer_plan *plan = plan_of(at, network);
    struct pricer_question question = {.observer = PRICER_OBSERVER_SERVER,
                                       .protect = PRICER_PROTECT_IDENTITY,
                                       .eavesdropper = PRICER_RECEIVER,
                                       .delta = delta,
                                       .rounds = rounds};
    list_patterns(at);
    assert_int_equal(
        pri_privacy_one(network, plan, &question, 0, -1, &claim, NULL),
        PRICER_OK);
    priced += isfinite(claim.eps) && claim.eps > 0;
    if (!holds(&claim, rounds, server_truth, at))
        printf("\n  FALSE: d %g noise %.17g hider %.17g rounds %lld delta %g "
               "[%.17g, %.17g]\n",
               at->dimension, at->noise, at->hider, (long long)rounds, delta,
               claim.eps_lower, claim.eps);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static uint64_t first_fleet = 1;
static int fleets = 24;

static void test_server(void **state)
{
    (void)state;
    static const double dimensions[] = {1, 2, 3, 4, 7, 64};
    static const double chances[] = {.1, .5, .9, 1, .3, .7, .99};
    static const double wild[] = {1e-9, 1 - 0x1p-53, 1, 1e-30, .5, 1 - 1e-9};
    static const double deltas[] = {.3,   .1,    1e-2,  1e-3,  1e-5,
                                    1e-9, 1e-20, 1e-60, 1e-290};
    static const double times[] = {1, 1, 1, 1, 1, 2}, parts[] = {0, .01, .3};
    static const double mutual[] = {0, .5, 1};
    struct fleet at;
    for (int k = 0; k <= SETS; k++)
        arb_init(at.mass[k]), arb_init(at.m2[k]);
    for (int k = 0; k < fleets; k++) {
        uint64_t seed = first_fleet + (uint64_t)k;
        bool far = k % 4 == 0, odd = k % 3 == 0;
        int64_t rounds = (int64_t)PICK(&seed, times);
        double delta = PICK(&seed, deltas);
        at.dimension = PICK(&seed, dimensions);
        at.radius = far ? 0x1p-200 : 1;
        at.hider = 1 + test_uniform(&seed);
        double size = at.hider * pow(10, test_uniform(&seed) - .5);
        at.noise = k % 8 == 5 ? 0 : size; /* it only moves the mean */
        for (int i = 0; i < SUMS; i++) {
            int step = (int)(test_random(&seed) % 5) - 2;
            at.uplink[i] = odd ? PICK(&seed, wild) : PICK(&seed, chances);
            at.scale[i] = ldexp(1, far ? 150 * step : step);
            at.weight[i] = size * at.scale[i] / at.radius *
                           pow(10, 1.5 * test_uniform(&seed) - 1.5);
            /* Packets that hide are rarely missing, or delta is none. */
            for (int j = 0; j < SUMS; j++)
                at.p[i][j] = i > 0 && k % 5 ? 1 - delta * PICK(&seed, parts)
                             : odd          ? PICK(&seed, wild)
                                            : PICK(&seed, chances);
        }
        check_fleet(&at, PICK(&seed, mutual), rounds, delta);
    }
    for (int k = 0; k <= SETS; k++)
        arb_clear(at.mass[k]), arb_clear(at.m2[k]);
    print_message("server: %d statements, %d with an eps, %d at delta within "
                  "the ball\n",
                  checked, priced, undecided);
    assert_int_equal(wrong + refused, 0);
    assert_true(priced > fleets / 4 && undecided < fleets / 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_server)};
    if (argc > 2) {
        first_fleet = strtoull(argv[1], NULL, 10);
        fleets = atoi(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
