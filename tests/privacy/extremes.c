/*
 * True at the extremes: each statement here was false, refused or crashed once.
 * What is compared with is brute force in long double, or the same mechanism at
 * ordinary sizes.
 */
#include "tests/clique.h"
#include "privacy/bracket.h"

static struct pricer_network *clique(int32_t n, double p, double joint,
                                     double radius, int64_t dimension)
{
    return clique_network(
        (struct clique){n, 1, p, 0, joint, radius, dimension});
}

static struct pricer_network *triangle(double p, double joint, double radius,
                                       int64_t dimension)
{
    return clique(3, p, joint, radius, dimension);
}

static struct pricer_statement ask(const struct pricer_network *network,
                                   const struct pricer_plan *plan,
                                   struct pricer_question question)
{
    question.threads = 1;
    return ask_first(network, plan, question);
}

/*
 * The server, node 0, all links but for one noise next to certain: with
 * p = 1 - 2^-53 and P(both up) at its largest or its least, the probability
 * that a pair is down is 2^-53 or next to nothing. All states by hand.
 */
static double brute(const struct pricer_plan *plan, double p, double joint,
                    double eps)
{
    long double cell[2][2] = {
        {1 - 2 * (long double)p + joint, (long double)p - joint},
        {(long double)p - joint, joint}};
    long double sum = 0;
    double move = 2 * plan->weight[0], v = plan->noise[0] * plan->noise[0];
    double own = plan->self_noise[0] * plan->self_noise[0];
    for (int state = 0; state < 64; state++) {
        /* Bits: 01, 10, 02, 20, 12, 21. */
        bool up[6];
        for (int k = 0; k < 6; k++)
            up[k] = state >> k & 1;
        long double mass =
            cell[up[0]][up[1]] * cell[up[2]][up[3]] * cell[up[4]][up[5]];
        double mu2 = 0;
        mu2 += move * move / (own + (up[1] + up[3]) * v);
        mu2 += up[0] ? move * move / (own + v + up[5] * v) : 0;
        mu2 += up[2] ? move * move / (own + v + up[4] * v) : 0;
        sum += mass * pricer_gaussian_delta(eps, sqrt(mu2));
    }
    return (double)sum;
}

static void test_pairs(void **state)
{
    (void)state;
    static const double chances[] = {1 - 0x1p-53, 1 - 0x1p-40, .5, 1e-9};
    for (int c = 0; c < 4; c++)
        for (int j = 0; j < 4; j++) {
            double p = chances[c], least = fmax(p * p, 2 * p - 1);
            double joint = j == 0   ? p
                           : j == 1 ? nextafter(p, 0)
                           : j == 2 ? fmax(least, nextafter(p * p, 1))
                                    : least;
            struct pricer_network *network = triangle(p, joint, 1, 3);
            struct pricer_plan *plan = clique_plan(network, .5, 1, .1);
            for (double delta = 1e-3; delta > 1e-40; delta *= 1e-6) {
                struct pricer_statement s = ask(
                    network, plan,
                    (struct pricer_question){.observer = PRICER_OBSERVER_SERVER,
                                             .delta = delta});
                double high = brute(plan, p, joint, s.eps);
                double low = brute(plan, p, joint, s.eps_lower);
                if (!(high <= delta * (1 + 1e-9)) ||
                    !(s.eps_lower == 0 || low >= delta * (1 - 1e-9)))
                    fail_msg("p 1-%g joint p-%g delta %g: [%g, %g] has [%g, "
                             "%g]",
                             1 - p, p - joint, delta, s.eps_lower, s.eps, low,
                             high);
            }
            pricer_plan_free(plan);
            pricer_network_free(network);
        }
}

/* The unit of weights and noises does not matter, whatever their squares. */
static void test_units(void **state)
{
    (void)state;
    static const double units[] = {1e-170, 1e-100, 1e100, 1e155};
    static const int32_t member = 1;
    for (int kind = 0; kind < 6; kind++)
        for (int u = 0; u < 4; u++) {
            struct pricer_statement s[2];
            struct pricer_question question = {
                .observer = kind == 0   ? PRICER_OBSERVER_LINK
                            : kind <= 2 ? PRICER_OBSERVER_RELAY
                            : kind <= 4 ? PRICER_OBSERVER_SERVER
                                        : PRICER_OBSERVER_COALITION,
                .protect = kind == 2 || kind == 4 ? PRICER_PROTECT_IDENTITY
                                                  : PRICER_PROTECT_DATA,
                .members = &member,
                .member_count = 1,
                .with_server = true,
                .delta = 1e-5};
            for (int k = 0; k < 2; k++) {
                double unit = k == 0 ? 1 : units[u];
                struct pricer_network *network = triangle(.7, .6, 1, 20);
                struct pricer_plan *plan =
                    clique_plan(network, unit, .3 * unit, .2 * unit);
                s[k] = ask(network, plan, question);
                pricer_plan_free(plan);
                pricer_network_free(network);
            }
            if (isinf(s[0].eps))
                assert_true(isinf(s[1].eps));
            else
                assert_close(s[1].eps, s[0].eps, 1e-3);
        }
}

/* T rounds of mu are one of sqrt(T) mu, up to 10^9 of them and the least delta;
 * an upper end is never below its own lower end. */
static void test_rounds(void **state)
{
    (void)state;
    for (double delta = .1; delta >= 1e-290; delta *= delta > 1e-5 ? .1 : 1e-95)
        for (int64_t rounds = 1; rounds <= 1000000000; rounds *= 1000) {
            struct pricer_network *network = triangle(1, 1, 1, 3);
            struct pricer_plan *plan = clique_plan(network, 1e-3, 1, 1);
            struct pricer_question question = {.delta = delta,
                                               .rounds = rounds};
            struct pricer_statement many = ask(network, plan, question);
            for (int32_t l = 0; l < network->links; l++)
                plan->noise[l] = 1 / sqrt((double)rounds);
            question.rounds = 1;
            struct pricer_statement once = ask(network, plan, question);
            assert_true(many.eps >= many.eps_lower &&
                        once.eps >= many.eps_lower);
            assert_true(many.eps >= once.eps_lower * (1 - 1e-9));
            assert_close(many.eps, once.eps, 1e-3);
            pricer_plan_free(plan);
            pricer_network_free(network);
        }
}

/* What an account cannot tell from nothing is refused in words. */
static void test_refused(void **state)
{
    (void)state;
    struct pricer_network *network = triangle(.5, .3, 1, 3);
    struct pricer_plan *plan = clique_plan(network, 1, 1, 1);
    struct pricer_statement *all = NULL;
    struct pricer_fault fault = {""};
    int64_t count = 0;
    for (int own = 0; own < 2; own++) {
        struct pricer_question question = {.delta = own ? 0 : 1e-295};
        network->delta[0] = own ? 1e-300 : 1e-3;
        assert_int_equal(pricer_privacy_account(network, plan, &question, &all,
                                                &count, &fault),
                         PRICER_VALUE);
        assert_non_null(strstr(fault.text, "delta"));
    }
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* The floor of a few nodes is exact; where a bound of it is all there is, the
 * statement says so. The node's own noise and the relays' are none, so a sum is
 * bare if no other packet arrives: P(its own sum is bare) is at least that. */
static void test_floor(void **state)
{
    (void)state;
    for (int32_t n = 3; n <= 8; n += 5) {
        struct pricer_network *network = clique(n, .5, .4, 1, 3);
        struct pricer_plan *plan = clique_plan(network, 1, 1, 0);
        for (int32_t l = 0; l < network->links; l++)
            plan->noise[l] = network->from[l] == 0 ? 0 : 1;
        struct pricer_statement s =
            ask(network, plan,
                (struct pricer_question){.observer = PRICER_OBSERVER_SERVER,
                                         .eavesdropper = PRICER_RECEIVER,
                                         .delta = 1e-5});
        assert_true(s.floor_bound == (n == 8));
        assert_true(isinf(s.eps) && s.floor >= pow(.5, n - 1));
        if (n == 3) {
            /* No packet reaches node 0, or a sum that shows it is bare. */
            double bare = 0;
            double cell[2][2] = {{.4, .1}, {.1, .4}};
            for (int k = 0; k < 64; k++) {
                bool up[6];
                for (int b = 0; b < 6; b++)
                    up[b] = k >> b & 1;
                bool some = (!up[1] && !up[3]) || (up[0] && !up[5]) ||
                            (up[2] && !up[4]);
                bare += some * cell[up[0]][up[1]] * cell[up[2]][up[3]] *
                        cell[up[4]][up[5]];
            }
            assert_close(s.floor, bare, 1e-9);
        }
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

/* A loud sum whose noises are small beside its base: at an eps of a million
 * variances within a thousandth of each other are not alike. */
static void test_loud(void **state)
{
    (void)state;
    enum { NOISES = 20 };
    uint64_t seed = 3;
    struct pri_scratch scratch = {0};
    struct pri_packet noise[NOISES];
    for (int trial = 0; trial < 8; trial++) {
        for (int k = 0; k < NOISES; k++)
            noise[k] = (struct pri_packet){
                k, 1e-7 * pow(10, -1 - 3 * test_uniform(&seed)),
                .1 + .8 * test_uniform(&seed), 0};
        struct pri_source source[] = {
            {0, 1, 1e-7, .05, .9, 0, NOISES / 2, 0},
            {1, 1, 2e-7, .05, .8, NOISES / 2, NOISES, 0}};
        struct pri_view view = {
            .sources = 2, .noises = NOISES, .source = source, .noise = noise};
        struct pri_bracket found = {0};
        assert_int_equal(
            pri_view_account(&view, 1e-5, 1, 1e8, &scratch, &found), PRICER_OK);
        assert_true(found.eps > 1e6 && pri_within(&found, .001));
    }
    pri_scratch_free(&scratch);
}

/* What is always there is one number, however many it is made of: right within a
 * unit in the last place, which is what accounts count on. */
static void test_crowd(void **state)
{
    (void)state;
    enum { CROWD = 200 };
    uint64_t seed = 11;
    struct pricer_network *network = clique(CROWD, 1, NAN, .7, 1);
    struct pricer_plan *plan = clique_plan(network, .3, 1, 1);
    struct pri_view view = {0};
    for (int32_t l = 0; l < network->links; l++)
        plan->noise[l] = pow(10, -2 * test_uniform(&seed));
    assert_int_equal(pri_view_build(network, plan, 0, NULL, true,
                                    PRICER_RECEIVER, NULL, &view),
                     PRICER_OK);
    assert_int_equal(view.sources, CROWD);
    for (int32_t k = 0; k < view.sources; k++) {
        const struct pri_source *source = &view.source[k];
        long double truth = 1;
        int32_t at = source->node;
        for (int32_t x = network->in_start[at]; x < network->in_start[at + 1];
             x++)
            truth += powl(plan->noise[network->in_link[x]], 2);
        long double move =
            (long double)plan->weight[0] * network->node_diameter[0];
        long double ratio = source->base / source->signal * move * move / truth;
        assert_true(fabsl(ratio - 1) <= DBL_EPSILON);
    }
    pri_view_free(&view);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),  cmocka_unit_test(test_units),
        cmocka_unit_test(test_rounds), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_floor),  cmocka_unit_test(test_loud),
        cmocka_unit_test(test_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
