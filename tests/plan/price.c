/*
 * The price of trust against what it claims: the optimum, planned anew with a
 * little more and a little less trust in one link, moves by the price.
 */
#include "tests/sample.h"
#include "base/base.h"

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

/*
 * Central difference of the optimum in ln eps. Each optimum is known to the
 * tolerance 1e-11; over twice the step that is 2e-8 of the objective. Second
 * order costs about step^2 of the price.
 */
static void check_price(const struct pricer_network *net,
                        const struct pricer_settings *settings,
                        const struct pricer_plan *plan, int32_t from,
                        int32_t to, double price, double objective)
{
    double step = 1e-3, value[2];
    int32_t link = pricer_network_find(net, from, to);
    double here = from == to ? net->self_eps[from] : net->eps[link];
    for (int side = 0; side < 2; side++) {
        double eps = here * exp(side == 0 ? -step : step);
        struct pricer_trust trust = {from, to, eps};
        struct pricer_network *changed = NULL;
        assert_int_equal(pricer_network_retrust(net, &trust, 1, &changed, NULL),
                         PRICER_OK);
        value[side] = optimum(changed, settings, plan, NULL);
        pricer_network_free(changed);
    }
    double difference = (value[1] - value[0]) / (2 * step);
    assert_true(price <= 0);
    if (fabs(difference - price) > 1e-4 * fabs(price) + 4e-8 * objective)
        fail_msg("%d,%d: price %.10g, by differences %.10g", (int)from, (int)to,
                 price, difference);
}

static void check_network(uint64_t *seed, struct pricer_settings settings)
{
    struct pricer_network *net = sample_network(seed, 5, .8, 2, 1);
    struct pricer_plan *plan = NULL;
    double *price = calloc((size_t)net->links + 1, sizeof *price);
    double *self_price = calloc((size_t)net->nodes, sizeof *self_price);
    for (int32_t i = 0; i < net->nodes; i++)
        net->uplink[i] = fmax(net->uplink[i], .05);
    double objective = optimum(net, &settings, NULL, &plan);
    assert_int_equal(
        pricer_trust_price(net, &settings, plan, price, self_price, NULL),
        PRICER_OK);
    for (int32_t l = 0; l < net->links; l += 3)
        check_price(net, &settings, plan, net->from[l], net->to[l], price[l],
                    objective);
    for (int32_t i = 0; i < net->nodes; i += 2)
        check_price(net, &settings, plan, i, i, self_price[i], objective);
    free(price);
    free(self_price);
    pricer_plan_free(plan);
    pricer_network_free(net);
}

static void test_envelope(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int trial = 0; trial < 48; trial++)
        check_network(&seed,
                      (struct pricer_settings){.bias = trial % 4,
                                               .lambda = .02,
                                               .calibration = trial / 4 % 2,
                                               .rounds = trial / 8 % 2 ? 1 : 5,
                                               .tolerance = 1e-11,
                                               .threads = 1});
}

/* The classic slope is proportional to 1 / eps: the price is minus twice the
 * noise of the link. Full trust has no price. */
static void test_classic(void **state)
{
    (void)state;
    uint64_t seed = 2;
    struct pricer_network *net = sample_network(&seed, 6, .8, 7, 2);
    struct pricer_plan *plan = sample_plan(&seed, net);
    struct pricer_settings settings = {.calibration =
                                           PRICER_CALIBRATION_CLASSIC};
    double price[SAMPLE_NODES * SAMPLE_NODES], self_price[SAMPLE_NODES];
    assert_int_equal(
        pricer_trust_price(net, &settings, plan, price, self_price, NULL),
        PRICER_OK);
    for (int32_t l = 0; l < net->links; l++) {
        double noise = 7. / 36 * net->uplink[net->to[l]] * net->p[l] *
                       plan->noise[l] * plan->noise[l];
        if (isinf(net->eps[l]))
            assert_true(price[l] == 0);
        else
            assert_close(price[l], -2 * noise, 1e-9);
    }
    pricer_plan_free(plan);
    pricer_network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_classic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
