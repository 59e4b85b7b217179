/*
 * Sums whose patterns differ by orders of magnitude, over several rounds: every
 * statement against the mean over all patterns of all rounds, in long double.
 */
#include "tests/test.h"
#include "pricer.h"

enum { DRAWN_MOST = 3, OTHERS_MOST = 7, STATES = 1 << DRAWN_MOST };

/* Node 1 and others send to node 0. */
struct star {
    int others;
    double p, weight, noise, chance[OTHERS_MOST], other[OTHERS_MOST];
    enum pricer_protect protect;
};

/* What a round may show, the probability of each, and of nothing. */
struct law {
    int count;
    long double mass[STATES], nothing;
    double mu2[STATES];
};

static struct star draw_star(uint64_t *seed)
{
    static const double chances[] = {1e-6, .003, .1, .5, .9, .9999, 1};
    struct star star = {.others = 1 + (int)(test_random(seed) % DRAWN_MOST),
                        .p = chances[1 + test_random(seed) % 6],
                        .weight = 1};
    star.noise = pow(10, 6 * test_uniform(seed) - 3);
    for (int k = 0; k < star.others; k++) {
        star.chance[k] = chances[test_random(seed) % 6];
        star.other[k] = star.noise * pow(10, 6 * test_uniform(seed) - 1);
    }
    return star;
}

static struct law law_of(const struct star *star)
{
    struct law law = {.count = 1 << star->others, .nothing = 1 - star->p};
    for (int set = 0; set < law.count; set++) {
        double variance = star->noise * star->noise;
        law.mass[set] = star->p;
        for (int k = 0; k < star->others; k++) {
            bool in = set >> k & 1;
            law.mass[set] *= in ? star->chance[k] : 1.L - star->chance[k];
            variance += in ? star->other[k] * star->other[k] : 0;
        }
        law.mu2[set] = 4 * star->weight * star->weight / variance;
    }
    return law;
}

/* E delta_G(eps; mu) over the rounds that are left, mu2 so far. */
static long double brute(const struct law *law, int rounds, double mu2,
                         double eps)
{
    if (rounds == 0)
        return mu2 > 0 ? pricer_gaussian_delta(eps, sqrt(mu2)) : 0;
    long double sum = law->nothing * brute(law, rounds - 1, mu2, eps);
    for (int k = 0; k < law->count; k++)
        sum += law->mass[k] * brute(law, rounds - 1, mu2 + law->mu2[k], eps);
    return sum;
}

static struct pricer_statement ask(const struct star *star, int64_t rounds,
                                   double delta)
{
    struct pricer_node nodes[OTHERS_MOST + 2];
    struct pricer_link links[OTHERS_MOST + 1];
    struct pricer_network *network = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_statement *all = NULL, first;
    int64_t count = 0;
    for (int i = 0; i < star->others + 2; i++)
        nodes[i] = (struct pricer_node){.5, 1, 1e-3, NAN, NAN};
    for (int i = 0; i <= star->others; i++)
        links[i] = (struct pricer_link){
            i + 1, 0, i == 0 ? star->p : star->chance[i - 1], NAN, 1, 1e-3};
    struct pricer_network_parts parts = {
        3, 1, 0, nodes, star->others + 2, links, star->others + 1, NULL, NULL};
    assert_int_equal(pricer_network_build(&parts, &network, NULL, NULL),
                     PRICER_OK);
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < network->links; l++) {
        int i = network->from[l];
        plan->weight[l] = i == 1 ? star->weight : 0;
        plan->noise[l] = i == 1 ? star->noise : star->other[i - 2];
    }
    struct pricer_question question = {.observer = PRICER_OBSERVER_RELAY,
                                       .protect = star->protect,
                                       .eavesdropper = PRICER_RECEIVER,
                                       .delta = delta,
                                       .rounds = rounds,
                                       .threads = 1};
    assert_int_equal(
        pricer_privacy_account(network, plan, &question, &all, &count, NULL),
        PRICER_OK);
    first = all[0];
    for (int64_t k = 0; k < count; k++)
        if (all[k].node == 1)
            first = all[k];
    pricer_statements_free(all);
    pricer_plan_free(plan);
    pricer_network_free(network);
    return first;
}

static void test_patterns(void **state)
{
    (void)state;
    /* No products of the chances, where the curve is flat. */
    static const double deltas[] = {.07, 1.3e-3, 1.7e-5, 2.3e-10};
    uint64_t seed = 7;
    int wide = 0, all = 0;
    for (int k = 0; k < 400; k++) {
        struct star star = draw_star(&seed);
        struct law law = law_of(&star);
        int rounds = 1 + (int)(test_random(&seed) % 3);
        double delta = deltas[test_random(&seed) % 4];
        struct pricer_statement s = ask(&star, rounds, delta);
        long double high = brute(&law, rounds, 0, s.eps);
        long double low = brute(&law, rounds, 0, s.eps_lower);
        if (!(high <= delta * (1 + 1e-9)) ||
            !(s.eps_lower == 0 || low >= delta * (1 - 1e-9)))
            fail_msg("star %d, T %d, delta %g: [%.10g, %.10g] has [%Lg, %Lg]",
                     k, rounds, delta, s.eps_lower, s.eps, low, high);
        all++;
        wide += s.eps < 1e4 && s.eps - s.eps_lower > .01 * s.eps + 1e-3;
    }
    if (wide > 0)
        fail_msg("%d of %d are wide", wide, all);
}

/* Two kinds of rounds, many of them: a binomial law of each. */
static void test_rounds(void **state)
{
    (void)state;
    static const double chances[] = {1e-6, .01, .5, .99};
    enum { T = 60 };
    for (int c = 0; c < 4; c++)
        for (int kind = 0; kind < 3; kind++) {
            double loud = pow(10, kind), delta = 1e-5;
            struct star star = {1, .9, 1, 100 / loud, {chances[c]}, {200}, 0};
            struct pricer_statement s = ask(&star, T, delta);
            struct law law = law_of(&star);
            long double sum[2] = {0, 0}, end[2] = {s.eps_lower, s.eps};
            for (int a = 0; a <= T; a++)
                for (int b = 0; a + b <= T; b++) {
                    long double log_mass =
                        lgammal(T + 1) - lgammal(a + 1) - lgammal(b + 1) -
                        lgammal(T - a - b + 1) + a * logl(law.mass[0]) +
                        b * logl(law.mass[1]) + (T - a - b) * logl(law.nothing);
                    double mu = sqrt(a * law.mu2[0] + b * law.mu2[1]);
                    for (int side = 0; side < 2 && mu > 0; side++)
                        sum[side] +=
                            expl(log_mass) *
                            pricer_gaussian_delta((double)end[side], mu);
                }
            assert_true(sum[1] <= delta * (1 + 1e-9));
            assert_true(s.eps_lower == 0 || sum[0] >= delta * (1 - 1e-9));
            assert_true(s.eps - s.eps_lower <= .002 * s.eps);
        }
}

/* An identity in three dimensions among others from next to nothing to as loud as
 * the node, with patterns that are next to impossible: one line for all of them
 * proves an eps that is three times as large. */
static void test_identity(void **state)
{
    (void)state;
    struct star star = {7,
                        .0117,
                        .0476,
                        1,
                        {.7, 1 - 1e-9, .5, .7, .3, .9013, 1 - 1e-9},
                        {.6204, .1035, .6781, .0731, .0902, .0627, .0837},
                        PRICER_PROTECT_IDENTITY};
    for (int64_t rounds = 10; rounds <= 1000; rounds *= 100) {
        struct pricer_statement s = ask(&star, rounds, 1e-10);
        assert_true(s.eps_lower >= .99 * s.eps);
    }
}

/* What is not seen with more than delta, over all rounds, costs no eps. */
static void test_rare(void **state)
{
    (void)state;
    struct star star = {1, 1e-6, 1, 1e-3, {.5}, {1}, 0};
    assert_true(ask(&star, 9, 1e-5).eps == 0);
    assert_true(ask(&star, 1000, 1e-5).eps > 1e5);
    star.noise = 0;
    assert_true(ask(&star, 9, 1e-5).eps == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_rare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
