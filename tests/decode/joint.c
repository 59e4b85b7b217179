/*
 * Plans that are made for their decoder: the slope against differences over all
 * patterns, budgets kept, never worse than the ordinary plan, never below the
 * bound of every plan.
 */
#include "tests/sample.h"
#include "decode/rows.h"

/* --------------------------------------------------------------- descent -- */

enum { SIZE = 6 };

/* sum of a_v (x_v - c_v)^2 with an a that spans six decades. */
static enum pricer_status bowl(void *context, const double *at, double *value,
                               double *slope)
{
    const double *centre = context;
    *value = 1;
    for (int v = 0; v < SIZE; v++) {
        double a = pow(10, v), off = at[v] - centre[v];
        *value += a * off * off;
        slope[v] = 2 * a * off;
    }
    return PRICER_OK;
}

static void test_descent_keeps_within(void **state)
{
    (void)state;
    double centre[SIZE] = {1, -2, 3, -.5, 0, 2}, at[SIZE], value, least = 1;
    struct pri_smooth smooth = {bowl, centre, SIZE, 1e-15, 2000};
    for (int v = 0; v < SIZE; v++) {
        at[v] = 1.5;
        least += pow(10, v) * fmin(centre[v], 0) * fmin(centre[v], 0);
    }
    assert_int_equal(pri_descend_within(&smooth, at, &value), PRICER_OK);
    for (int v = 0; v < SIZE; v++)
        assert_true(at[v] >= 0 && fabs(at[v] - fmax(centre[v], 0)) < 1e-3);
    assert_close(value, least, 1e-9);
}

/* ----------------------------------------------------------------- slope -- */

/* g of a plan at one X over all patterns, and the sums over its entries. */
static double g_at(const struct pricer_network *network,
                   const struct pricer_plan *plan, double likeness,
                   double *entry)
{
    double own[SAMPLE_NODES], shared[SAMPLE_NODES], target[SAMPLE_NODES];
    double x[SAMPLE_NODES * SAMPLE_NODES];
    struct pri_rows rows = {0};
    struct pri_odds odds = {0};
    struct pri_patterns patterns = {0};
    struct pricer_decoder_settings ask = {0};
    struct pri_court court = {.rows = &rows, .patterns = &patterns};
    struct pri_model model = {.nodes = network->nodes,
                              .rank = 1,
                              .own = own,
                              .shared = shared,
                              .target = target,
                              .blend = 1};
    struct pri_judgement judgement = {.entry = entry};
    for (int32_t i = 0; i < network->nodes; i++) {
        own[i] = 1 - likeness;
        shared[i] = sqrt(likeness) * (i % 2 == 0 ? 1 : -1);
    }
    assert_int_equal(pri_rows_new(network, plan, false, &rows), PRICER_OK);
    for (int32_t k = 0; k < rows.entries; k++) { /* the same scale for all */
        int32_t j = 0;
        while (rows.start[j + 1] <= k)
            j++;
        rows.weight[k] *= rows.scale[j];
        rows.noise[k] *= rows.scale[j] * rows.scale[j];
    }
    for (int32_t j = 0; j < network->nodes; j++)
        rows.scale[j] = 1;
    assert_int_equal(pri_odds_new(network, &ask, false, &odds), PRICER_OK);
    assert_int_equal(
        pri_patterns_new(network, &rows, &odds, 1, 1, NULL, &patterns),
        PRICER_OK);
    assert_true(patterns.exact);
    pri_model_complete(&model, x);
    pri_model_target(&model, target);
    assert_int_equal(pri_judge(&court, &model, &judgement), PRICER_OK);
    pri_rows_free(&rows);
    pri_odds_free(&odds);
    pri_patterns_free(&patterns);
    return judgement.value;
}

/* The derivative by every weight, noise in proportion, is the envelope's. */
static void check_slope(uint64_t seed)
{
    struct pricer_network *network = sample_network(&seed, 3, 1, 5, .7);
    struct pricer_plan *plan = NULL;
    double entry[2 * SAMPLE_NODES * SAMPLE_NODES], spare[sizeof entry / 8];
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    double unit = 5 / .7 / .7, ratio[SAMPLE_NODES], *weight = plan->weight;
    for (int32_t i = 0; i < network->nodes; i++) {
        plan->self_weight[i] = .2 + test_uniform(&seed);
        plan->self_noise[i] = .3 * plan->self_weight[i];
    }
    for (int32_t l = 0; l < network->links; l++) {
        ratio[l] = .1 + test_uniform(&seed);
        weight[l] = .2 + test_uniform(&seed);
        plan->noise[l] = ratio[l] * weight[l];
    }
    (void)g_at(network, plan, .4, entry);
    struct pri_rows rows = {0};
    assert_int_equal(pri_rows_new(network, plan, false, &rows), PRICER_OK);
    for (int32_t k = 0; k < rows.entries; k++) {
        int32_t l = rows.link[k];
        if (l < 0)
            continue;
        double kept = weight[l], step = 1e-4, value[2];
        for (int side = 0; side < 2; side++) {
            weight[l] = kept + (side == 0 ? -step : step);
            plan->noise[l] = ratio[l] * weight[l];
            value[side] = g_at(network, plan, .4, spare);
        }
        weight[l] = kept;
        plan->noise[l] = ratio[l] * kept;
        double slope = 2 * (entry[k] + entry[rows.entries + k] * unit *
                                           ratio[l] * ratio[l] * kept);
        assert_true(fabs(slope - (value[1] - value[0]) / (2 * step)) < 1e-6);
    }
    pri_rows_free(&rows);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static void test_slope(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        check_slope(seed);
}

/* ----------------------------------------------------------------- plans -- */

struct pair {
    struct pricer_plan *ordinary, *plan;
    struct pricer_decoder *decoder;
};

static struct pair join(const struct pricer_network *network, int32_t threads)
{
    struct pricer_settings settings = {0};
    struct pricer_decoder_settings ask = {.threads = threads};
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    struct pair pair = {0};
    assert_int_equal(pricer_plan_optimise(network, &settings, NULL,
                                          &pair.ordinary, &info, &fault),
                     PRICER_OK);
    struct pricer_joint joint = {NULL, NULL};
    if (pricer_decoder_joint(network, &settings, pair.ordinary, &ask, &joint,
                             &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    pair.plan = joint.plan;
    pair.decoder = joint.decoder;
    return pair;
}

static void pair_free(struct pair *pair)
{
    pricer_plan_free(pair->ordinary);
    pricer_plan_free(pair->plan);
    pricer_decoder_free(pair->decoder);
}

/* All patterns are summed, so that nothing is up to sampling. Returns whether
 * a better plan was found. */
static bool check_plan(const struct pricer_network *network)
{
    struct pair pair = join(network, 1);
    struct pricer_settings settings = {0};
    struct pricer_decoder_settings ask = {0};
    struct pricer_decoder *usual = NULL;
    struct pricer_estimate genie;
    struct pricer_certificate found;
    bool better = pair.plan != NULL;
    assert_int_equal(
        pricer_decoder_fit(network, pair.ordinary, &ask, &usual, NULL),
        PRICER_OK);
    assert_int_equal(
        pricer_decoder_genie(network, &settings, &ask, &genie, NULL),
        PRICER_OK);
    assert_true(pair.decoder->exact && genie.error == 0);
    assert_true(pair.decoder->upper <= usual->upper);
    assert_true(pair.decoder->upper >= genie.value * (1 - 1e-9));
    assert_int_equal(pricer_plan_verify(network, &settings,
                                        better ? pair.plan : pair.ordinary,
                                        &found, NULL),
                     PRICER_OK);
    assert_int_equal(found.open_links, 0);
    assert_int_equal(found.open_budgets, 0);
    pricer_decoder_free(usual);
    pair_free(&pair);
    return better;
}

static void test_never_worse(void **state)
{
    (void)state;
    int better = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t stream = seed;
        struct pricer_network *network =
            sample_network(&stream, 3, 1, 8, .5 + test_uniform(&stream));
        better += check_plan(network);
        pricer_network_free(network);
    }
    assert_true(better >= 6);
}

/* Three nodes whose shares would tell the server too much if each link spent
 * what it may. */
static void test_server_budgets(void **state)
{
    (void)state;
    struct pricer_node nodes[3];
    struct pricer_link links[6];
    double eps[] = {20, 50, INFINITY}, delta[] = {1e-3, 1e-3, 1e-3};
    int64_t count = 0;
    for (int32_t i = 0; i < 3; i++) {
        nodes[i] = (struct pricer_node){.3 + .2 * i, 40, 1e-3, NAN, NAN};
        for (int32_t j = 0; j < 3; j++)
            if (i != j)
                links[count++] =
                    (struct pricer_link){i, j, .7, NAN, 100 + i, 1e-3};
    }
    struct pricer_network *network = NULL;
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             4, 1, .5, nodes, 3, links, count, eps, delta},
                         &network, NULL, NULL),
                     PRICER_OK);
    assert_true(check_plan(network));
    pricer_network_free(network);
}

static void test_any_number_of_threads(void **state)
{
    (void)state;
    uint64_t stream = 5;
    struct pricer_network *network = sample_network(&stream, 3, 1, 8, 1);
    struct pair one = join(network, 1), three = join(network, 3);
    assert_true((one.plan == NULL) == (three.plan == NULL));
    assert_true(one.decoder->upper == three.decoder->upper);
    if (one.plan != NULL)
        assert_memory_equal(one.plan->weight, three.plan->weight,
                            (size_t)network->links * sizeof(double));
    pair_free(&one);
    pair_free(&three);
    pricer_network_free(network);
}

static void test_refusals(void **state)
{
    (void)state;
    uint64_t stream = 1;
    struct pricer_network *network = sample_network(&stream, 3, 1, 8, 1);
    struct pricer_plan *plan = sample_plan(&stream, network);
    struct pricer_joint joint = {NULL, NULL};
    struct pricer_settings settings = {.bias = PRICER_BIAS_UNBIASED};
    struct pricer_decoder_settings ask = {.horizon = 4};
    struct pricer_fault fault;
    assert_int_equal(
        pricer_decoder_joint(network, &settings, plan, &ask, &joint, &fault),
        PRICER_VALUE);
    settings.bias = PRICER_BIAS_WORST_CASE;
    assert_int_equal(
        pricer_decoder_joint(network, &settings, plan, &ask, &joint, &fault),
        PRICER_VALUE);
    assert_true(joint.plan == NULL && joint.decoder == NULL);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descent_keeps_within),
        cmocka_unit_test(test_slope),
        cmocka_unit_test(test_never_worse),
        cmocka_unit_test(test_server_budgets),
        cmocka_unit_test(test_any_number_of_threads),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
