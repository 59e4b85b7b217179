/*
 * Identities at a relay, and single links, against ball arithmetic: for every
 * set of others the divergence of the two Gaussians of different variance is a
 * difference of noncentral chi-square tails, Poisson mixtures of incomplete
 * gamma functions, summed in balls with their tails.
 */
#include "ball_chi.h"

#include "network/network.h"

enum { OTHERS_MOST = 5 };

/* One sum, what is in it, and how likely. */
struct sum {
    double dimension, radius, weight, noise, p;
    int others;
    double other[OTHERS_MOST], chance[OTHERS_MOST];
};

/* Several rounds: with others that are certain, one packet of k d numbers. The
 * sum over all sets of others, or over the numbers of rounds. */
static bool add_sets(arb_t sum, const void *about, int64_t rounds, double eps,
                     int direction, slong bits)
{
    const struct sum *at = about;
    struct pair pair;
    arb_t mass, part;
    bool able = true;
    arb_init(pair.m2), arb_init(pair.own), arb_init(pair.v0);
    arb_init(pair.v1), arb_init(mass), arb_init(part);
    arb_zero(sum);
    for (int set = 0; set < 1 << at->others; set++)
        for (int64_t k = 1; k <= rounds; k++) {
            arb_bin_uiui(mass, (ulong)rounds, (ulong)k, bits);
            arb_set_d(part, at->p);
            arb_pow_ui(part, part, (ulong)k, bits);
            arb_mul(mass, mass, part, bits);
            arb_set_d(part, -at->p);
            arb_add_ui(part, part, 1, bits);
            arb_pow_ui(part, part, (ulong)(rounds - k), bits);
            arb_mul(mass, mass, part, bits);
            arb_zero(pair.v0);
            for (int o = 0; o < at->others; o++) {
                bool in = set >> o & 1;
                arb_set_d(part, in ? at->chance[o] : -at->chance[o]);
                arb_add_ui(part, part, !in, bits);
                arb_mul(mass, mass, part, bits);
                set_square(part, in ? at->other[o] : 0, 1, bits);
                arb_add(pair.v0, pair.v0, part, bits);
            }
            if (arb_is_zero(mass))
                continue;
            set_square(pair.m2, at->radius, at->weight, bits);
            arb_mul_ui(pair.m2, pair.m2, (ulong)k, bits);
            set_square(pair.own, at->noise, 1, bits);
            arb_add(pair.v1, pair.v0, pair.own, bits);
            if (arb_is_zero(pair.v0)) {
                arb_one(part);
            } else if (at->noise == 0) {
                arb_div(part, pair.m2, pair.v0, bits);
                gaussian_delta(part, part, eps, bits);
            } else
                able =
                    able && divergence(part, &pair, at->dimension * (double)k,
                                       eps, direction, bits);
            arb_addmul(sum, mass, part, bits);
        }
    arb_clear(pair.m2), arb_clear(pair.own), arb_clear(pair.v0);
    arb_clear(pair.v1), arb_clear(mass), arb_clear(part);
    return able;
}

static void identity_truth(arb_t sum, int64_t rounds, double eps,
                           const void *about)
{
    worse_direction(sum, rounds, eps, add_sets, about);
}

/* Data that comes alone, in one round. */
static void single_truth(arb_t sum, int64_t rounds, double eps,
                         const void *about)
{
    const struct sum *at = about;
    slong bits = BITS_MOST;
    arb_t own;
    arb_init(own);
    assert_true(rounds == 1 && at->others == 0);
    set_square(sum, 2 * at->radius, at->weight, bits);
    set_square(own, at->noise, 1, bits);
    arb_div(sum, sum, own, bits);
    if (at->noise > 0)
        gaussian_delta(sum, sum, eps, bits);
    else
        arb_one(sum);
    arb_set_d(own, at->p);
    arb_mul(sum, sum, own, bits);
    arb_clear(own);
}

/* A star: everyone sends to node 0, node 1 is the one in question. */
static void check_sum(const struct sum *at, int64_t rounds, double delta,
                      enum pricer_observer observer,
                      enum pricer_protect protect)
{
    struct pricer_node nodes[OTHERS_MOST + 2];
    struct pricer_link links[OTHERS_MOST + 1];
    struct pricer_network *network = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_statement claim;
    for (int32_t i = 0; i < at->others + 2; i++)
        nodes[i] = (struct pricer_node){.5, INFINITY, 1, NAN, NAN};
    for (int32_t i = 0; i <= at->others; i++)
        links[i] = (struct pricer_link){
            i + 1, 0, i == 0 ? at->p : at->chance[i - 1], NAN, 1, 1e-3};
    struct pricer_network_parts parts = {
        (int64_t)at->dimension, at->radius, 0,   nodes, at->others + 2, links,
        at->others + 1,         NULL,       NULL};
    if (pricer_network_build(&parts, &network, NULL, NULL) != PRICER_OK) {
        refused++;
        return;
    }
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < network->links; l++) {
        int i = network->from[l];
        plan->weight[l] = at->weight;
        plan->noise[l] = i == 1 ? at->noise : at->other[i - 2];
    }
    struct pricer_question question = {.observer = observer,
                                       .protect = protect,
                                       .eavesdropper = PRICER_RECEIVER,
                                       .delta = delta,
                                       .rounds = rounds};
    if (pri_privacy_one(network, plan, &question, 1, 0, &claim, NULL) !=
        PRICER_OK)
        refused++;
    else if (!holds(&claim, rounds,
                    protect == PRICER_PROTECT_DATA ? single_truth
                                                   : identity_truth,
                    at)) {
        printf("\n  FALSE: d %g radius %g weight %.17g noise %.17g p %.17g "
               "rounds %lld delta %g [%.17g, %.17g]\n",
               at->dimension, at->radius, at->weight, at->noise, at->p,
               (long long)rounds, delta, claim.eps_lower, claim.eps);
        for (int k = 0; k < at->others; k++)
            printf("    other %.17g chance %.17g\n", at->other[k],
                   at->chance[k]);
    }
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static uint64_t first_sum = 1;
static int sums = 100;

static void test_identity(void **state)
{
    (void)state;
    static const double dimensions[] = {1, 2, 3, 4, 5, 128, 2000};
    static const double chances[] = {.1, .5, .9, 1, .3, 1e-9, 1 - 0x1p-53};
    static const double deltas[] = {.3,   .1,    1e-2,  1e-3,  1e-5,
                                    1e-9, 1e-20, 1e-60, 1e-290};
    static const double times[] = {1, 1, 1, 2, 3, 10};
    for (int k = 0; k < sums; k++) {
        uint64_t seed = first_sum + (uint64_t)k;
        double wide = k % 3 == 0 ? 2.5 : .5, far = k % 5 == 0 ? 120 : 0;
        double scale = pow(10, far * (2 * test_uniform(&seed) - 1));
        struct sum at = {
            PICK(&seed, dimensions), 1 / scale, 0, 0, 1, 1, {0}, {0}};
        int64_t rounds = (int64_t)PICK(&seed, times);
        at.others = 1 + (int)(test_random(&seed) % 3);
        at.p = PICK(&seed, chances);
        at.noise = scale * pow(10, wide * (test_uniform(&seed) - .7));
        at.weight =
            at.noise * scale * pow(10, wide * (test_uniform(&seed) - .5));
        for (int o = 0; o < at.others; o++) {
            at.other[o] = scale * pow(10, wide * (test_uniform(&seed) - .5));
            at.chance[o] = rounds > 1 ? 1 : PICK(&seed, chances);
        }
        check_sum(&at, rounds, PICK(&seed, deltas), PRICER_OBSERVER_RELAY,
                  PRICER_PROTECT_IDENTITY);
    }
    print_message("identity: %d statements, %d at delta within the ball, %d "
                  "refused\n",
                  checked, undecided, refused);
    assert_int_equal(wrong, 0);
}

/* Radius times weight, or what that is in units of the noise, is out of the
 * range of doubles. */
static void test_range(void **state)
{
    (void)state;
    static const double cases[][3] = {
        {1, 1, 1e-152},           {1e10, 1, 1e-160},
        {1, 1, 1e-149},           {1e-200, 1e-124, 5e-324},
        {1e-160, 3e-163, 1e-322}, {1e200, 1e200, 1e250},
        {1e200, 1e108, 1e308},    {1e-200, 1e-200, 0},
        {1e-200, 1e-120, 0},      {1e200, 1e-100, 1e250},
        {1, 1e-300, 1e300},       {1e150, 1e158, 3e307}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        for (int relay = 0; relay < 2; relay++) {
            struct sum at = {3,  cases[k][0], cases[k][1], cases[k][2],
                             .5, 0,           {0},         {0}};
            check_sum(&at, 1, 1e-3,
                      relay ? PRICER_OBSERVER_RELAY : PRICER_OBSERVER_LINK,
                      PRICER_PROTECT_DATA);
        }
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_identity),
    };
    if (argc > 2) {
        first_sum = strtoull(argv[1], NULL, 10);
        sums = atoi(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
