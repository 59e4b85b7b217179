/*
 * The error of a plan against three independent computations: the triple
 * loops of the definition over full matrices, finite differences, and the
 * enumeration of every pattern of links of three nodes.
 */
#include "tests/sample.h"
#include "plan/plan.h"

/* The network and plan as full matrices, p_ii = 1. */
struct dense {
    int32_t n;
    double p[SAMPLE_NODES];
    double link[SAMPLE_NODES][SAMPLE_NODES];
    double both[SAMPLE_NODES][SAMPLE_NODES];
    double weight[SAMPLE_NODES][SAMPLE_NODES];
    double noise[SAMPLE_NODES][SAMPLE_NODES];
};

static void fill_dense(const struct pricer_network *net,
                       const struct pricer_plan *plan, struct dense *m)
{
    memset(m, 0, sizeof *m);
    m->n = net->nodes;
    for (int32_t i = 0; i < net->nodes; i++) {
        m->p[i] = net->uplink[i];
        m->link[i][i] = m->both[i][i] = 1;
        m->weight[i][i] = plan->self_weight[i];
        m->noise[i][i] = plan->self_noise[i];
    }
    for (int32_t l = 0; l < net->links; l++) {
        int32_t i = net->from[l], j = net->to[l];
        m->link[i][j] = net->p[l];
        m->both[i][j] = net->joint[l];
        m->weight[i][j] = plan->weight[l];
        m->noise[i][j] = plan->noise[l];
    }
}

/* V as the paper writes it. */
static double dense_variance(const struct dense *m)
{
    double sum = 0;
    for (int32_t i = 0; i < m->n; i++)
        for (int32_t j = 0; j < m->n; j++) {
            sum += m->p[j] * m->link[i][j] * (1 - m->link[i][j]) *
                   m->weight[i][j] * m->weight[i][j];
            for (int32_t l = 0; l < m->n; l++)
                sum += m->p[j] * (1 - m->p[j]) * m->link[i][j] * m->link[l][j] *
                       m->weight[i][j] * m->weight[l][j];
            if (i != j)
                sum += m->p[i] * m->p[j] *
                       (m->both[i][j] - m->link[i][j] * m->link[j][i]) *
                       m->weight[i][j] * m->weight[j][i];
        }
    return sum;
}

static double dense_bias(const struct dense *m, int32_t i)
{
    double sum = -1;
    for (int32_t j = 0; j < m->n; j++)
        sum += m->p[j] * m->link[i][j] * m->weight[i][j];
    return sum;
}

static void check_definition(const struct pricer_network *net,
                             const struct pricer_plan *plan)
{
    struct dense m;
    fill_dense(net, plan, &m);
    double n = m.n, scale = net->radius * net->radius / (n * n);
    double sum = 0, absolute = 0, square = 0, noise = 0;
    for (int32_t i = 0; i < m.n; i++) {
        double bias = dense_bias(&m, i);
        sum += bias;
        absolute += fabs(bias);
        square += bias * bias;
        for (int32_t j = 0; j < m.n; j++)
            noise += m.p[j] * m.link[i][j] * m.noise[i][j] * m.noise[i][j];
    }
    double variance = scale * dense_variance(&m);
    double piv = (double)net->dimension / (n * n) * noise;
    double paper = variance + scale * sum * sum + piv;
    double worst = variance + scale * absolute * absolute + piv;
    double objective[] = {worst, worst, paper + .3 * absolute,
                          paper + .3 * square};
    for (int bias = 0; bias < 4; bias++) {
        struct pricer_settings settings = {.bias = bias, .lambda = .3};
        struct pricer_error error;
        assert_int_equal(
            pricer_plan_evaluate(net, &settings, plan, &error, NULL),
            PRICER_OK);
        assert_close(error.variance, variance, 1e-12);
        assert_close(error.piv, piv, 1e-12);
        assert_close(error.tiv, variance + scale * sum * sum, 1e-12);
        assert_close(error.mse_paper, paper, 1e-12);
        assert_close(error.mse_worst_case, worst, 1e-12);
        assert_close(error.bias_l1, absolute, 1e-12);
        assert_close(error.objective, objective[bias], 1e-12);
    }
}

static void test_definition(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int trial = 0; trial < 500; trial++) {
        int32_t n = 1 + (int32_t)(test_random(&seed) % SAMPLE_NODES);
        struct pricer_network *net =
            sample_network(&seed, n, test_uniform(&seed), 1 + trial % 7,
                           trial % 3 == 0 ? 1 : 2.5);
        struct pricer_plan *plan = sample_plan(&seed, net);
        check_definition(net, plan);
        pricer_plan_free(plan);
        pricer_network_free(net);
    }
}

static double objective_of(const struct pricer_network *net,
                           const struct pricer_settings *settings,
                           const struct pricer_plan *plan)
{
    struct pricer_error error;
    assert_int_equal(pricer_plan_evaluate(net, settings, plan, &error, NULL),
                     PRICER_OK);
    return error.objective;
}

/* Away from kinks the objective is quadratic, so that central differences are
 * exact but for rounding. */
static void check_slope(const struct pricer_network *net,
                        const struct pricer_settings *settings,
                        const struct pricer_plan *plan, double *entry,
                        double slope)
{
    double here = *entry, step = 1e-5;
    *entry = here + step;
    double above = objective_of(net, settings, plan);
    *entry = here - step;
    double below = objective_of(net, settings, plan);
    *entry = here;
    double rounding = 1e-15 * above / step;
    if (fabs((above - below) / (2 * step) - slope) > 1e-8 + 10 * rounding)
        fail_msg("slope %.17g, by differences %.17g", slope,
                 (above - below) / (2 * step));
}

static void check_gradient(const struct pricer_network *net,
                           const struct pricer_settings *settings,
                           struct pricer_plan *plan)
{
    struct pricer_plan *slopes = NULL;
    assert_int_equal(pricer_plan_new(net, &slopes, NULL), PRICER_OK);
    struct pri_gradient gradient = {slopes->weight, slopes->noise,
                                    slopes->self_weight, slopes->self_noise};
    struct pricer_error error;
    pri_objective_gradient(net, settings, plan, slopes->row_multiplier, &error,
                           &gradient);
    assert_close(error.objective, objective_of(net, settings, plan), 1e-14);
    for (int32_t i = 0; i < net->nodes; i++) {
        check_slope(net, settings, plan, &plan->self_weight[i],
                    gradient.self_weight[i]);
        check_slope(net, settings, plan, &plan->self_noise[i],
                    gradient.self_noise[i]);
    }
    for (int32_t l = 0; l < net->links; l++) {
        check_slope(net, settings, plan, &plan->weight[l], gradient.weight[l]);
        check_slope(net, settings, plan, &plan->noise[l], gradient.noise[l]);
    }
    pricer_plan_free(slopes);
}

static void test_gradient(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int trial = 0; trial < 100; trial++) {
        struct pricer_network *net =
            sample_network(&seed, 1 + trial % 6, .8, 3, 1.5);
        struct pricer_plan *plan = sample_plan(&seed, net);
        struct pricer_settings settings = {.bias = trial % 4, .lambda = .2};
        check_gradient(net, &settings, plan);
        pricer_plan_free(plan);
        pricer_network_free(net);
    }
}

/* ----------------------------------------------------------- enumeration -- */

#define TRIO 3
#define WIDTH 4 /* coordinates */

/*
 * One pattern of three nodes in 9 bits: three uplinks, then for the pairs
 * (0,1), (0,2), (1,2) whether each direction is up.
 */
struct pattern {
    double probability;
    bool uplink[TRIO];
    bool link[TRIO][TRIO];
};

/* The four probabilities of a pair come from the two margins and E. */
static double pair_probability(const struct dense *m, int i, int j, bool there,
                               bool back)
{
    double both = m->both[i][j], one = m->link[i][j], other = m->link[j][i];
    if (m->link[i][j] == 0 || m->link[j][i] == 0)
        both = 0;
    if (there)
        return back ? both : one - both;
    return back ? other - both : 1 - one - other + both;
}

static struct pattern pattern_of(const struct dense *m, unsigned bits)
{
    struct pattern pattern = {.probability = 1};
    static const int pair[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (int i = 0; i < TRIO; i++) {
        pattern.uplink[i] = bits >> i & 1;
        pattern.link[i][i] = true;
        pattern.probability *= pattern.uplink[i] ? m->p[i] : 1 - m->p[i];
    }
    for (int k = 0; k < 3; k++) {
        int i = pair[k][0], j = pair[k][1];
        pattern.link[i][j] = bits >> (3 + 2 * k) & 1;
        pattern.link[j][i] = bits >> (4 + 2 * k) & 1;
        pattern.probability *=
            pair_probability(m, i, j, pattern.link[i][j], pattern.link[j][i]);
    }
    return pattern;
}

/* E |n estimate - sum x|^2 given one pattern, the noise integrated out. */
static double pattern_square(const struct dense *m, const struct pattern *up,
                             const double *data)
{
    double error[WIDTH] = {0}, noise = 0, square = 0;
    for (int i = 0; i < TRIO; i++) {
        double weight = -1;
        for (int j = 0; j < TRIO; j++)
            if (up->uplink[j] && up->link[i][j]) {
                weight += m->weight[i][j];
                noise += m->noise[i][j] * m->noise[i][j];
            }
        for (int k = 0; k < WIDTH; k++)
            error[k] += weight * data[i * WIDTH + k];
    }
    for (int k = 0; k < WIDTH; k++)
        square += error[k] * error[k];
    return square + WIDTH * noise;
}

static double enumerate(const struct dense *m, const double *data)
{
    double mse = 0, total = 0;
    for (unsigned bits = 0; bits < 512; bits++) {
        struct pattern pattern = pattern_of(m, bits);
        total += pattern.probability;
        mse += pattern.probability * pattern_square(m, &pattern, data);
    }
    assert_close(total, 1, 1e-12);
    return mse / (TRIO * TRIO);
}

/* The exact error of random data, never above the worst case. */
static void check_mse(const struct pricer_network *net,
                      const struct pricer_plan *plan, const double *data,
                      const struct pricer_error *error)
{
    struct dense m;
    fill_dense(net, plan, &m);
    double mse = 0, expected = enumerate(&m, data);
    assert_int_equal(pri_plan_mse(net, plan, data, &mse, NULL), PRICER_OK);
    assert_close(mse, expected, 1e-12);
    assert_true(mse <= error->mse_worst_case * (1 + 1e-12));
}

static void test_enumeration(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct pricer_settings settings = {0};
    for (int trial = 0; trial < 300; trial++) {
        struct pricer_network *net = sample_network(&seed, TRIO, .85, WIDTH, 2);
        struct pricer_plan *plan = sample_plan(&seed, net);
        struct pricer_error error;
        assert_int_equal(
            pricer_plan_evaluate(net, &settings, plan, &error, NULL),
            PRICER_OK);
        double data[TRIO * WIDTH];
        for (int k = 0; k < TRIO * WIDTH; k++) /* length at most 2 */
            data[k] = 2 * test_uniform(&seed) - 1;
        check_mse(net, plan, data, &error);
        for (unsigned signs = 0; signs < 8; signs++) {
            memset(data, 0, sizeof data);
            for (int i = 0; i < TRIO; i++)
                data[i * WIDTH] = signs >> i & 1 ? 2 : -2;
            check_mse(net, plan, data, &error);
        }
        pricer_plan_free(plan);
        pricer_network_free(net);
    }
}

/* With all weights too small, equal data attain the worst case; the paper's
 * value then agrees, and it is exceeded when biases differ in sign. */
static void test_worst_case_attained(void **state)
{
    (void)state;
    uint64_t seed = 4;
    struct pricer_settings settings = {0};
    struct pricer_network *net = sample_network(&seed, TRIO, 1, WIDTH, 2);
    struct pricer_plan *plan = sample_plan(&seed, net);
    for (int32_t i = 0; i < TRIO; i++)
        plan->self_weight[i] *= .1;
    for (int32_t l = 0; l < net->links; l++)
        plan->weight[l] *= .1;
    double data[TRIO * WIDTH] = {0}, mse = 0;
    for (int i = 0; i < TRIO; i++)
        data[i * WIDTH] = 2;
    struct pricer_error error;
    assert_int_equal(pricer_plan_evaluate(net, &settings, plan, &error, NULL),
                     PRICER_OK);
    assert_int_equal(pri_plan_mse(net, plan, data, &mse, NULL), PRICER_OK);
    assert_close(mse, error.mse_worst_case, 1e-12);
    assert_close(mse, error.mse_paper, 1e-12);
    pricer_plan_free(plan);
    pricer_network_free(net);
}

static void test_paper_is_no_bound(void **state)
{
    (void)state;
    struct pricer_node nodes[] = {{1, INFINITY, 1, NAN, NAN},
                                  {1, INFINITY, 1, NAN, NAN}};
    struct pricer_network *net = NULL;
    struct pricer_plan *plan = NULL, *other = NULL;
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){1, 1, 1, nodes, 2, NULL,
                                                        0, NULL, NULL},
                         &net, NULL, NULL),
                     PRICER_OK);
    assert_int_equal(pricer_plan_new(net, &plan, NULL), PRICER_OK);
    plan->self_weight[0] = 2; /* and 0 for the other: biases 1 and -1 */
    double data[] = {1, -1}, mse = 0;
    struct pricer_error error;
    struct pricer_settings settings = {0};
    assert_int_equal(pricer_plan_evaluate(net, &settings, plan, &error, NULL),
                     PRICER_OK);
    assert_int_equal(pri_plan_mse(net, plan, data, &mse, NULL), PRICER_OK);
    assert_true(error.mse_paper == 0 && mse == 1 && error.mse_worst_case == 1);
    uint64_t seed = 5;
    struct pricer_network *bigger = sample_network(&seed, 3, 1, 1, 1);
    assert_int_equal(pricer_plan_new(bigger, &other, NULL), PRICER_OK);
    assert_int_equal(pri_plan_mse(net, other, data, &mse, NULL), PRICER_VALUE);
    assert_int_equal(pricer_plan_evaluate(net, &settings, other, &error, NULL),
                     PRICER_VALUE);
    pricer_plan_free(other);
    pricer_plan_free(plan);
    pricer_network_free(bigger);
    pricer_network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_enumeration),
        cmocka_unit_test(test_worst_case_attained),
        cmocka_unit_test(test_paper_is_no_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
