/*
 * The price of links against what it claims: the optimum, planned anew with a
 * little better and a little worse link, moves by the price.
 */
#include "tests/sample.h"
#include "base/base.h"

static const double step = 2e-4; /* relative, in p */

static double optimum(const struct pricer_network *net,
                      const struct pricer_settings *settings,
                      const struct pricer_plan *warm, struct pricer_plan **plan)
{
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    struct pricer_plan *made = NULL;
    if (pricer_plan_optimise(net, settings, warm, &made, &info, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    if (plan != NULL)
        *plan = made;
    else
        pricer_plan_free(made);
    return info.objective - info.gap * info.objective / 2;
}

/* Set p of a link and keep the pair as reciprocal as it was. */
static void set_link(struct pricer_network *net, int32_t l, double p,
                     double rho)
{
    int32_t back = net->partner[l];
    net->p[l] = p;
    if (back >= 0) {
        double other = net->p[back], room = fmin(p, other) - p * other;
        net->joint[l] = net->joint[back] = p * other + rho * room;
    }
}

static double rho_of(const struct pricer_network *net, int32_t l)
{
    int32_t back = net->partner[l];
    if (back < 0)
        return 0;
    double p = net->p[l], other = net->p[back];
    double room = fmin(p, other) - p * other;
    return room > 0 ? (net->joint[l] - p * other) / room : 0;
}

/* By central differences; a link as good as its partner has two derivatives,
 * of which the price is the upper one. */
static void check_link(struct pricer_network *net,
                       const struct pricer_settings *settings,
                       const struct pricer_plan *plan, int32_t l, double price,
                       double objective)
{
    double p = net->p[l], rho = rho_of(net, l), value[2];
    double joint = net->joint[l];
    if (p >= 1) {
        assert_true(price == 0);
        return;
    }
    for (int side = 0; side < 2; side++) {
        set_link(net, l, p * (1 + (side == 0 ? -step : step)), rho);
        value[side] = optimum(net, settings, plan, NULL);
    }
    set_link(net, l, p, rho);
    assert_close(net->joint[l], joint, 1e-9);
    double difference = (value[1] - value[0]) / (2 * step * p);
    assert_true(price <= 0);
    if (fabs(difference - price) > 2e-3 * fabs(price) + 4e-7 * objective / p)
        fail_msg("link %d: price %.10g, by differences %.10g", (int)l, price,
                 difference);
}

static void check_uplink(struct pricer_network *net,
                         const struct pricer_settings *settings,
                         const struct pricer_plan *plan, int32_t j,
                         double price, double objective)
{
    double p = net->uplink[j], value[2];
    if (p >= 1) {
        assert_true(price == 0);
        return;
    }
    for (int side = 0; side < 2; side++) {
        net->uplink[j] = p * (1 + (side == 0 ? -step : step));
        value[side] = optimum(net, settings, plan, NULL);
    }
    net->uplink[j] = p;
    double difference = (value[1] - value[0]) / (2 * step * p);
    assert_true(price <= 0);
    if (fabs(difference - price) > 2e-3 * fabs(price) + 4e-7 * objective / p)
        fail_msg("uplink %d: price %.10g, by differences %.10g", (int)j, price,
                 difference);
}

static void check_network(uint64_t *seed, struct pricer_settings settings)
{
    struct pricer_network *net = sample_network(seed, 5, .8, 2, 1);
    struct pricer_plan *plan = NULL;
    double price[SAMPLE_NODES * SAMPLE_NODES], uplink[SAMPLE_NODES];
    for (int32_t i = 0; i < net->nodes; i++)
        net->uplink[i] = fmax(net->uplink[i], .05);
    double objective = optimum(net, &settings, NULL, &plan);
    assert_int_equal(pricer_link_price(net, plan, price, uplink, NULL),
                     PRICER_OK);
    for (int32_t l = 0; l < net->links; l += 3)
        check_link(net, &settings, plan, l, price[l], objective);
    for (int32_t i = 0; i < net->nodes; i++)
        check_uplink(net, &settings, plan, i, uplink[i], objective);
    pricer_plan_free(plan);
    pricer_network_free(net);
}

static void test_envelope(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int trial = 0; trial < 48; trial++)
        check_network(&seed,
                      (struct pricer_settings){.bias = trial % 4,
                                               .lambda = .02,
                                               .rounds = trial / 8 % 2 ? 1 : 5,
                                               .tolerance = 1e-11,
                                               .threads = 1});
}

/* With budgets towards the server, which hold ratios of change to noise. */
static void test_budgets(void **state)
{
    (void)state;
    uint64_t seed = 6;
    for (int trial = 0; trial < 6; trial++) {
        struct pricer_network *net = sample_network(&seed, 5, .8, 2, 1);
        struct pricer_settings settings = {.tolerance = 1e-10, .threads = 1};
        struct pricer_plan *plan = NULL;
        double price[SAMPLE_NODES * SAMPLE_NODES], uplink[SAMPLE_NODES];
        net->server_eps = calloc(5, sizeof(double));
        net->server_delta = calloc(5, sizeof(double));
        for (int32_t i = 0; i < net->nodes; i++) {
            net->server_eps[i] = 4 + i;
            net->server_delta[i] = 1e-3;
            net->uplink[i] = fmax(net->uplink[i], .05);
        }
        double objective = optimum(net, &settings, NULL, &plan);
        assert_int_equal(pricer_link_price(net, plan, price, uplink, NULL),
                         PRICER_OK);
        for (int32_t i = 0; i < net->nodes; i++)
            check_uplink(net, &settings, plan, i, uplink[i], 10 * objective);
        pricer_plan_free(plan);
        pricer_network_free(net);
    }
}

/* One node with full trust and uplink p: the optimum is (1 - p) R^2. */
static void test_lone(void **state)
{
    (void)state;
    struct pricer_node node = {.3, INFINITY, 1e-3, NAN, NAN};
    struct pricer_network *net = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_settings settings = {.tolerance = 1e-11};
    double uplink;
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){4, 3, 0, &node, 1, NULL,
                                                        0, NULL, NULL},
                         &net, NULL, NULL),
                     PRICER_OK);
    optimum(net, &settings, NULL, &plan);
    assert_int_equal(pricer_link_price(net, plan, NULL, &uplink, NULL),
                     PRICER_OK);
    assert_close(uplink, -9, 1e-6);
    pricer_plan_free(plan);
    pricer_network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_lone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
