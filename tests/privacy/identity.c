/*
 * Identities: the chi-square tails against closed forms and 80-digit values,
 * the divergences against numerical integration, the account against brute
 * force, and composition against cases that are known exactly and against
 * rounds as they are drawn.
 */
#include "tests/test.h"
#include "calibrate/presence.h"
#include "privacy/bracket.h"
#include "reference_chi.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* For one degree of freedom X = (Z + sqrt(lambda))^2. */
static void test_one_degree(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int k = 0; k < 2000; k++) {
        double lambda = pow(10, -3 + 6 * test_uniform(&seed));
        double root = sqrt(lambda) + 6 * (test_uniform(&seed) - .5);
        double x = root * root;
        if (root <= 0)
            continue;
        double upper = (erfc((root - sqrt(lambda)) * M_SQRT1_2) +
                        erfc((root + sqrt(lambda)) * M_SQRT1_2)) /
                       2;
        assert_close((double)expl(pri_chi_upper(1, lambda, x)), upper, 1e-9);
        if (upper < .9)
            assert_close((double)expl(pri_chi_lower(1, lambda, x)), 1 - upper,
                         1e-9);
    }
}

/* Even degrees, central: a finite sum. */
static void test_central(void **state)
{
    (void)state;
    for (int half = 1; half < 400; half += 7)
        for (double x = .1; x < 2000; x *= 1.7) {
            long double term = expl(-(long double)x / 2), sum = term;
            for (int k = 1; k < half; k++)
                sum += term *= (long double)x / 2 / k;
            if (sum > 1e-4000L)
                assert_true(fabsl(pri_chi_upper(2 * half, 0, x) - logl(sum)) <
                            1e-11L);
        }
}

/* Within the error that is stated, against 60-digit arithmetic. */
static void test_reference(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(reference_chi); k++) {
        const long double *c = reference_chi[k];
        long double lower = pri_chi_lower(c[0], c[1], c[2]);
        long double upper = pri_chi_upper(c[0], c[1], c[2]);
        if (!(fabsl(lower - c[3]) < PRI_CHI_ERROR) ||
            !(fabsl(upper - c[4]) < PRI_CHI_ERROR))
            fail_msg("d %Lg lambda %Lg x %Lg: %.17Lg %.17Lg not %.17Lg %.17Lg",
                     c[0], c[1], c[2], lower, upper, c[3], c[4]);
    }
}

/* The eps at which one direction meets 1e-3. */
static double meet(struct pri_presence presence, bool absent)
{
    double low = 0, high = 50, one, two;
    while (high - low > 1e-9) {
        double middle = (low + high) / 2;
        pri_presence_delta(&presence, middle, PRI_ABOVE, &one, &two);
        *((absent ? one : two) <= 1e-3 ? &high : &low) = middle;
    }
    return high;
}

/* Nine nodes of noise 1, weight 0.1: the node removed against present, and
 * present against removed, which is worse and what an account claims. */
static void test_published(void **state)
{
    (void)state;
    static const double cases[][3] = {{1, .058, .3960978},
                                      {16, .582, 1.1664725},
                                      {128, 2.487, 3.4160714},
                                      {576, 6.873, 8.3589254}};
    for (int k = 0; k < COUNT(cases); k++) {
        struct pri_presence presence = {cases[k][0], .1, 1, 8};
        assert_true(fabs(meet(presence, true) - cases[k][1]) < 6e-4);
        assert_close(meet(presence, false), cases[k][2], 1e-6);
    }
    struct pri_presence presence = {128, .1, 1, 8};
    double absent, present;
    pri_presence_delta(&presence, .126, PRI_BELOW, &absent, &present);
    assert_true(fabs(absent - .32) < .005);
}

/*
 * Straight integration over the part of z along m and the length u of the rest,
 * whose square is chi-square with d - 1 degrees.
 */
static double integrate(const struct pri_presence *p, double eps, bool absent)
{
    double v0 = p->others, v1 = v0 + p->own, d = p->dimension;
    double v = absent ? v0 : v1, mean = absent ? 0 : p->shift, sum = 0;
    double dz = .02, du = .02, a = (d - 1) / 2;
    double scale = lgamma(a) + a * log(2);
    for (double z = -9 + dz / 2; z < 9; z += dz)
        for (double u = du / 2; u < sqrt(d) + 9; u += du) {
            double w = u * u, x = mean + z * sqrt(v), rest = w * v;
            double loss = d / 2 * log(v1 / v0) - (x * x + rest) / (2 * v0) +
                          ((x - p->shift) * (x - p->shift) + rest) / (2 * v1);
            loss = absent ? loss : -loss;
            if (loss > eps)
                sum += exp(-z * z / 2 + (a - 1) * log(w) - w / 2 - scale) * 2 *
                       u / sqrt(2 * M_PI) * -expm1(eps - loss);
        }
    return sum * dz * du;
}

static void test_integral(void **state)
{
    (void)state;
    static const struct pri_presence cases[] = {
        {4, 1, .5, 1}, {9, .3, 1, 2}, {16, 2, 3, 1}, {5, 1, .01, 1}};
    for (int k = 0; k < COUNT(cases); k++)
        for (double eps = 0; eps < 2; eps += .7) {
            double absent[2], present[2];
            for (int side = 0; side < 2; side++)
                pri_presence_delta(&cases[k], eps, side, &absent[side],
                                   &present[side]);
            assert_true(absent[0] <= absent[1] && present[0] <= present[1]);
            assert_true(absent[1] - absent[0] < 1e-9);
            assert_true(fabs(absent[0] - integrate(&cases[k], eps, true)) <
                        2e-5);
            assert_true(fabs(present[0] - integrate(&cases[k], eps, false)) <
                        2e-5);
        }
}

/* Never outside [0, 1], ordered, and falling with eps and with the others'
 * noise, over all sizes. */
static void test_extremes(void **state)
{
    (void)state;
    int points = 0;
    for (double d = 1; d < 2e6; d *= 37)
        for (int a = -12; a <= 12; a += 6)
            for (int s = -12; s <= 12; s += 6)
                for (int v = -12; v <= 12; v += 6) {
                    struct pri_presence p = {d, pow(10, a), pow(10, s),
                                             pow(10, v)};
                    double before[] = {2, 2};
                    for (double eps = 0; eps < 3e4; eps = 9 * eps + .01) {
                        double one[2], two[2];
                        for (int side = 0; side < 2; side++)
                            pri_presence_delta(&p, eps, side, &one[side],
                                               &two[side]);
                        points++;
                        assert_true(one[0] >= 0 && one[0] <= one[1]);
                        assert_true(two[0] >= 0 && two[0] <= two[1]);
                        assert_true(one[1] <= 1 && two[1] <= 1);
                        assert_true(one[0] <= before[0] && two[0] <= before[1]);
                        before[0] = one[1];
                        before[1] = two[1];
                    }
                }
    print_message("extremes: %d points of (d, weight, noise, others, eps)\n",
                  points);
}

/* A node far louder than the others: sums whose weights and gamma functions
 * leave the range of numbers, each in its direction. The loss is about
 * |z|^2 / 2 others, |z|^2 about shift^2 + dimension own. */
static void test_loud(void **state)
{
    (void)state;
    for (double others = 1e-5; others < 1; others *= 1.7) {
        struct pri_presence p = {128, 132.4, 1, others};
        double loss = (p.shift * p.shift + 128) / (2 * others), absent, present;
        pri_presence_delta(&p, .9 * loss, PRI_BELOW, &absent, &present);
        assert_true(present > .999);
        pri_presence_delta(&p, 1.1 * loss, PRI_ABOVE, &absent, &present);
        assert_true(present < .001);
    }
}

/* A star: everyone sends to node 0. */
static struct pricer_network *star(int64_t dimension, int32_t leaves, double p)
{
    struct pricer_node nodes[16];
    struct pricer_link links[16];
    struct pricer_network *network = NULL;
    for (int32_t i = 0; i <= leaves; i++)
        nodes[i] = (struct pricer_node){.5, INFINITY, 1, NAN, NAN};
    for (int32_t i = 0; i < leaves; i++)
        links[i] = (struct pricer_link){i + 1, 0, p, NAN, 1, 1e-3};
    assert_int_equal(
        pricer_network_build(
            &(struct pricer_network_parts){dimension, 1, 0, nodes, leaves + 1,
                                           links, leaves, NULL, NULL},
            &network, NULL, NULL),
        PRICER_OK);
    return network;
}

/* What the relay learns about whether the first leaf took part. */
struct question {
    struct pri_scratch scratch;
    struct pri_view view;
};

static void free_question(struct question *question)
{
    pri_scratch_free(&question->scratch);
    pri_view_free(&question->view);
}

static enum pricer_status ask(const struct pricer_network *network,
                              const struct pricer_plan *plan, double delta,
                              int64_t rounds, struct question *question,
                              struct pri_bracket *bracket)
{
    const bool member[16] = {true};
    assert_int_equal(pri_view_identity(network, plan, network->from[0], member,
                                       false, PRICER_RECEIVER, NULL,
                                       &question->view),
                     PRICER_OK);
    return pri_view_account(&question->view, delta, rounds, 0,
                            &question->scratch, bracket);
}

/* Every set of others, by hand. */
static double brute(int64_t dimension, const struct pricer_plan *plan,
                    int leaves, double p, double eps)
{
    double absent = 0, present = 0;
    for (int set = 0; set < 1 << (leaves - 1); set++) {
        struct pri_presence presence = {(double)dimension, plan->weight[0],
                                        plan->noise[0] * plan->noise[0], 0};
        double mass = p, one, two;
        for (int k = 1; k < leaves; k++) {
            bool in = set >> (k - 1) & 1;
            mass *= in ? p : 1 - p;
            presence.others += in ? plan->noise[k] * plan->noise[k] : 0;
        }
        pri_presence_delta(&presence, eps, PRI_ABOVE, &one, &two);
        absent += mass * one;
        present += mass * two;
    }
    return fmax(absent, present);
}

static void test_account(void **state)
{
    (void)state;
    uint64_t seed = 8;
    struct question question = {0};
    for (int trial = 0; trial < 12; trial++) {
        double p = .5 + .4 * test_uniform(&seed);
        int leaves = trial % 2 ? 8 : 14;
        int64_t dimension = trial < 8 ? 8 : 2; /* a line, and the formula */
        struct pricer_network *network = star(dimension, leaves, p);
        struct pricer_plan *plan = NULL;
        struct pri_bracket bracket;
        assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
        for (int k = 0; k < leaves; k++) {
            plan->weight[k] = test_uniform(&seed);
            plan->noise[k] = .5 + test_uniform(&seed);
        }
        double delta = trial % 3 ? 1e-2 : .05;
        assert_int_equal(ask(network, plan, delta, 1, &question, &bracket),
                         PRICER_OK);
        assert_close(bracket.floor, p * pow(1 - p, leaves - 1), 1e-9);
        assert_true(brute(dimension, plan, leaves, p, bracket.eps) <=
                    delta * (1 + 1e-9));
        assert_true(bracket.eps == 0 ||
                    brute(dimension, plan, leaves, p, bracket.eps_lower) >=
                        delta * (1 - 1e-9));
        assert_true(bracket.eps_lower >= .99 * bracket.eps);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
    free_question(&question);
}

/* Without noise of its own the node only moves the mean: rounds are then one
 * Gaussian, whose account is exact. */
static void test_rounds(void **state)
{
    (void)state;
    struct question question = {0};
    struct pri_scratch scratch = {0};
    struct pricer_network *network = star(8, 2, 1);
    struct pricer_plan *plan = NULL;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    plan->weight[0] = .4;
    plan->noise[1] = 1;
    for (int64_t rounds = 2; rounds < 400; rounds *= 4)
        for (int power = 2; power < 9; power += 3) {
            double delta = pow(10, -power);
            struct pri_bracket exact, composed;
            assert_int_equal(
                pri_link_account(.4, 1, delta, rounds, &scratch, &exact),
                PRICER_OK);
            assert_int_equal(
                ask(network, plan, delta, rounds, &question, &composed),
                PRICER_OK);
            assert_true(composed.eps >= exact.eps_lower);
            assert_true(composed.eps <= exact.eps * 1.01);
            assert_true(composed.eps_lower <= exact.eps);
            assert_true(composed.eps_lower >= .99 * composed.eps);
        }
    pricer_plan_free(plan);
    pricer_network_free(network);
    free_question(&question);
    pri_scratch_free(&scratch);
}

/* The worse delta of all rounds: K packets of d numbers are one of K d, with
 * sqrt(K) times the shift. */
static double exact_rounds(struct pri_presence presence, double p,
                           int64_t rounds, double eps, enum pri_side side)
{
    struct pri_rounds law = {0};
    double sums[2] = {0, 0};
    assert_int_equal(pri_rounds_law(rounds, p, 1e-30L, &law), PRICER_OK);
    for (int64_t k = law.first; k <= law.last; k++) {
        struct pri_presence all = presence;
        double one = 0, two = 0, mass = (double)law.weight[k - law.first];
        all.dimension *= (double)k;
        all.shift *= sqrt((double)k);
        if (k > 0)
            pri_presence_delta(&all, eps, side, &one, &two);
        sums[0] += mass * one;
        sums[1] += mass * two;
    }
    pri_rounds_free(&law);
    return fmax(sums[0], sums[1]);
}

/* With noise of its own, and packets that may be lost. */
static void test_noisy_rounds(void **state)
{
    (void)state;
    struct question question = {0};
    static const int64_t rounds[] = {2, 3, 40};
    uint64_t seed = 4;
    for (int trial = 0; trial < 12; trial++) {
        double p = trial % 2 ? 1 : .3, delta = trial % 4 < 2 ? 1e-2 : 1e-6;
        struct pricer_network *network = star(8, 2, 1);
        struct pricer_plan *plan = NULL;
        struct pri_bracket bracket;
        int64_t times = rounds[trial / 4];
        assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
        network->p[0] = p;
        plan->weight[0] = .1 + test_uniform(&seed);
        plan->noise[0] = .1 + .5 * test_uniform(&seed);
        plan->noise[1] = 1;
        struct pri_presence presence = {8, plan->weight[0],
                                        plan->noise[0] * plan->noise[0], 1};
        assert_int_equal(ask(network, plan, delta, times, &question, &bracket),
                         PRICER_OK);
        assert_true(exact_rounds(presence, p, times, bracket.eps, PRI_BELOW) <=
                    delta);
        assert_true(exact_rounds(presence, p, times, bracket.eps_lower,
                                 PRI_ABOVE) >= delta);
        assert_true(bracket.eps_lower >= .99 * bracket.eps);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
    free_question(&question);
}

/* A node far louder than the others: losses so large that e^loss is none of the
 * computer's numbers. */
static void test_loud_rounds(void **state)
{
    (void)state;
    struct question question = {0};
    for (double others = 1e-3; others < .2; others *= 6) {
        struct pricer_network *network = star(8, 2, 1);
        network->dimension = 3000;
        struct pricer_plan *plan = NULL;
        struct pri_bracket bracket;
        assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
        network->p[0] = .7;
        plan->weight[0] = .7;
        plan->noise[0] = .5;
        plan->noise[1] = others;
        struct pri_presence presence = {3000, .7, .25, others * others};
        assert_int_equal(ask(network, plan, 1e-3, 4, &question, &bracket),
                         PRICER_OK);
        assert_true(exact_rounds(presence, .7, 4, bracket.eps, PRI_BELOW) <=
                    1e-3);
        assert_true(exact_rounds(presence, .7, 4, bracket.eps_lower,
                                 PRI_ABOVE) >= 1e-3);
        assert_true(bracket.eps_lower >= .98 * bracket.eps);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
    free_question(&question);
}

/* A normal number, by the polar method. */
static double draw_normal(uint64_t *seed)
{
    for (;;) {
        double x = 2 * test_uniform(seed) - 1, y = 2 * test_uniform(seed) - 1;
        double r = x * x + y * y;
        if (r > 0 && r < 1)
            return x * sqrt(-2 * log(r) / r);
    }
}

/* The loss of all rounds as it happens, when the node took part or did not. */
static double draw_loss(const struct pricer_plan *plan, int leaves, double p,
                        int64_t rounds, bool present, uint64_t *seed)
{
    double own = plan->noise[0] * plan->noise[0], loss = 0;
    for (int64_t t = 0; t < rounds; t++) {
        double others = 0, square = 0, moved = 0;
        for (int k = 1; k < leaves; k++)
            if (test_uniform(seed) < p)
                others += plan->noise[k] * plan->noise[k];
        if (test_uniform(seed) >= p)
            continue; /* its packet was lost, or would have been */
        double spread = sqrt(others + (present ? own : 0));
        for (int k = 0; k < 8; k++) {
            double shift = k == 0 ? plan->weight[0] : 0;
            double x = spread * draw_normal(seed) + (present ? shift : 0);
            square += x * x;
            moved += (x - shift) * (x - shift);
        }
        if (others == 0)
            return INFINITY;
        double more =
            square / others - moved / (others + own) - 8 * log1p(own / others);
        loss += (present ? more : -more) / 2;
    }
    return loss;
}

/* Rounds in which the others come and go: the delta of eps by simulation, which
 * is within 5 deviations of the truth but for 3 in 10^7. */
static void test_drawn_rounds(void **state)
{
    (void)state;
    enum { DRAWS = 100000, LEAVES = 5, ROUNDS = 6 };
    static const double delta = .02, p = .85;
    struct question question = {0};
    uint64_t seed = 12;
    for (int trial = 0; trial < 4; trial++) {
        struct pricer_network *network = star(8, LEAVES, p);
        struct pricer_plan *plan = NULL;
        struct pri_bracket bracket;
        double above[2] = {0, 0}, below[2] = {0, 0};
        assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
        for (int k = 0; k < LEAVES; k++) {
            plan->weight[k] = .2 + test_uniform(&seed);
            plan->noise[k] = pow(10, .5 * trial * (test_uniform(&seed) - .5));
        }
        assert_int_equal(ask(network, plan, delta, ROUNDS, &question, &bracket),
                         PRICER_OK);
        assert_true(isfinite(bracket.eps));
        assert_true(bracket.eps_lower >= .98 * bracket.eps);
        for (int way = 0; way < 2; way++)
            for (int k = 0; k < DRAWS; k++) {
                double loss =
                    draw_loss(plan, LEAVES, p, ROUNDS, way == 1, &seed);
                above[way] += fmax(-expm1(bracket.eps - loss), 0);
                below[way] += fmax(-expm1(bracket.eps_lower - loss), 0);
            }
        double error = 5 * sqrt(delta / DRAWS);
        assert_true(fmax(above[0], above[1]) / DRAWS <= delta + error);
        assert_true(fmax(below[0], below[1]) / DRAWS >= delta - error);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
    free_question(&question);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_degree),  cmocka_unit_test(test_central),
        cmocka_unit_test(test_reference),   cmocka_unit_test(test_published),
        cmocka_unit_test(test_integral),    cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_account),     cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_loud),        cmocka_unit_test(test_noisy_rounds),
        cmocka_unit_test(test_loud_rounds), cmocka_unit_test(test_drawn_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
