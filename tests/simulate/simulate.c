/*
 * The simulation: the fast engine trial by trial against the definition, the
 * faithful one against a round played by hand, both against the prediction, and
 * the same result for any number of threads and after a stop.
 */
#include "tests/test.h"
#include "simulate/simulate.h"

#define ALARM 4.9

/* A random network with a random plan; some nodes and links unused, certain or
 * without a partner. */
static void make(uint64_t *seed, int32_t n, int64_t dimension, double density,
                 struct pricer_network **network, struct pricer_plan **plan)
{
    struct pricer_node *nodes = pri_alloc(n, sizeof *nodes);
    struct pricer_link *links = pri_alloc((int64_t)n * n, sizeof *links);
    int64_t m = 0;
    for (int32_t i = 0; i < n; i++) {
        double u = test_uniform(seed), p = test_uniform(seed);
        nodes[i] = (struct pricer_node){u < .1   ? 0
                                        : u < .2 ? 1
                                                 : p,
                                        INFINITY, 1, NAN, NAN};
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) {
            double u = test_uniform(seed);
            if (i != j && test_uniform(seed) < density)
                links[m++] = (struct pricer_link){
                    i, j, u < .1 ? 1 : test_uniform(seed), NAN, 1, .1};
        }
    assert_int_equal(
        pricer_network_build(
            &(struct pricer_network_parts){dimension, 2, test_uniform(seed),
                                           nodes, n, links, m, NULL, NULL},
            network, NULL, NULL),
        PRICER_OK);
    assert_int_equal(pricer_plan_new(*network, plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < (*network)->links; l++)
        if (test_uniform(seed) < .8) {
            (*plan)->weight[l] = 4 * test_uniform(seed) / n;
            (*plan)->noise[l] = test_uniform(seed) / n;
        }
    for (int32_t i = 0; i < n; i++)
        if (test_uniform(seed) < .7)
            (*plan)->self_weight[i] = test_uniform(seed);
    free(nodes);
    free(links);
}

static struct pricer_simulation *simulate(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_simulation_settings *settings)
{
    struct pricer_simulation *simulation = NULL;
    struct pricer_fault fault = {""};
    enum pricer_status status =
        pricer_simulation_run(network, &plan, 1, settings, &simulation, &fault);
    if (status != PRICER_OK)
        fail_msg("%s: %s", pricer_status_text(status), fault.text);
    return simulation;
}

/* The squared error of one round by its definition. */
static double brute_force(const struct pricer_network *net,
                          const struct pricer_plan *plan,
                          const struct pri_data *data, uint64_t seed,
                          int64_t round)
{
    int64_t d = net->dimension;
    double *vector = pri_alloc(d, sizeof *vector), variance = 0, square = 0;
    for (int32_t i = 0; i < net->nodes; i++) {
        double weight = 0;
        if (pricer_round_up(seed, round,
                            &(struct pricer_pair){i, PRICER_SERVER,
                                                  net->uplink[i], 0, 0})) {
            weight += plan->self_weight[i];
            variance += plan->self_noise[i] * plan->self_noise[i];
        }
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
            int32_t j = net->to[l], back = net->partner[l];
            if (pricer_round_up(seed, round,
                                &(struct pricer_pair){j, PRICER_SERVER,
                                                      net->uplink[j], 0, 0}) &&
                pricer_round_up(
                    seed, round,
                    &(struct pricer_pair){i, j, net->p[l],
                                          back < 0 ? 0 : net->p[back],
                                          net->joint[l]})) {
                weight += plan->weight[l];
                variance += plan->noise[l] * plan->noise[l];
            }
        }
        for (int64_t c = 0; c < d; c++)
            vector[c] += (weight - 1) * pri_data_row(data, i)[c];
    }
    for (int64_t c = 0; c < d; c++)
        square += vector[c] * vector[c];
    free(vector);
    return (square + (double)d * variance) / net->nodes / net->nodes;
}

/* Tallies of one engine object. */
static struct pri_tally tally_of(const struct pricer_network *net)
{
    struct pri_tally tally = {.uplink = pri_alloc(net->nodes, sizeof(uint32_t)),
                              .link = pri_alloc(net->links, sizeof(uint32_t)),
                              .both = pri_alloc(net->links, sizeof(uint32_t)),
                              .used = pri_alloc(net->links, sizeof(uint32_t))};
    return tally;
}

static void free_tally(struct pri_tally *tally)
{
    free(tally->uplink);
    free(tally->link);
    free(tally->both);
    free(tally->used);
}

/* Stored or not, the same bits; and each trial as by definition. */
static void check_trials(const struct pricer_network *net,
                         const struct pricer_plan *plan, enum pricer_data kind)
{
    const struct pricer_simulation_settings settings = {.data = kind,
                                                        .seed = 5};
    struct pri_data data;
    struct pri_factor factor = {0};
    assert_int_equal(pri_data_make(net, &settings, &data, NULL), PRICER_OK);
    assert_int_equal(pri_factor_make(&data, 1, &factor), PRICER_OK);
    struct pri_job job = {.network = net,
                          .plans = &plan,
                          .count = 1,
                          .seed = 9,
                          .data = &data,
                          .factor = &factor};
    double errors[2][PRI_ROUNDS];
    struct pri_tally tally[2];
    int64_t first = 7 * PRI_ROUNDS;
    int count = 300;
    for (int stored = 0; stored < 2; stored++) {
        struct pri_fast *fast = NULL;
        tally[stored] = tally_of(net);
        assert_int_equal(pri_fast_new(&job, stored, &fast), PRICER_OK);
        assert_int_equal(
            pri_fast_play(fast, first, count, &tally[stored], errors[stored]),
            PRICER_OK);
        pri_fast_free(fast);
    }
    assert_memory_equal(errors[0], errors[1], (size_t)count * sizeof(double));
    assert_memory_equal(tally[0].both, tally[1].both,
                        (size_t)net->links * sizeof(uint32_t));
    assert_memory_equal(tally[0].used, tally[1].used,
                        (size_t)net->links * sizeof(uint32_t));
    for (int t = 0; t < count; t += 13)
        assert_close(errors[0][t], brute_force(net, plan, &data, 9, first + t),
                     1e-11);
    free_tally(&tally[0]);
    free_tally(&tally[1]);
    pri_factor_free(&factor);
    pri_data_free(&data);
}

static void test_fast_by_definition(void **state)
{
    (void)state;
    uint64_t seed = 3;
    const int32_t sizes[] = {1, 2, 3, 5, 8, 9, 10, 17, 40, 150};
    const int64_t dimensions[] = {1, 3, 7, 64, 200};
    for (int k = 0; k < 40; k++) {
        struct pricer_network *network;
        struct pricer_plan *plan;
        make(&seed, sizes[k % 10], dimensions[k % 5],
             k % 3 == 0 ? 1 : test_uniform(&seed), &network, &plan);
        check_trials(network, plan,
                     k % 2 ? PRICER_DATA_RANDOM : PRICER_DATA_WORST_CASE);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

static void assert_same(const struct pricer_simulation *a,
                        const struct pricer_simulation *b)
{
    assert_int_equal(a->trials, b->trials);
    assert_memory_equal(a->outcomes, b->outcomes, sizeof *a->outcomes);
    assert_memory_equal(a->uplink, b->uplink,
                        (size_t)a->nodes * sizeof *a->uplink);
    assert_memory_equal(a->link, b->link, (size_t)a->links * sizeof *a->link);
    assert_memory_equal(a->both, b->both, (size_t)a->links * sizeof *a->both);
}

/* Says stop when asked for the `left`-th time. */
static bool stop_after(void *context, double done)
{
    (void)done;
    int *left = context;
    return (*left)-- > 0;
}

static void test_threads_and_stops(void **state)
{
    (void)state;
    uint64_t seed = 4;
    struct pricer_network *network;
    struct pricer_plan *plan;
    make(&seed, 60, 30, .9, &network, &plan);
    for (int engine = 0; engine < 2; engine++) {
        struct pricer_simulation_settings settings = {
            .engine = (enum pricer_engine)engine,
            .trials = engine ? 100 : 30000,
            .seed = 1,
            .data = PRICER_DATA_RANDOM,
            .threads = 1};
        struct pricer_simulation *one = simulate(network, plan, &settings);
        assert_int_equal(one->trials, settings.trials);
        for (settings.threads = 2; settings.threads < 5; settings.threads++) {
            struct pricer_simulation *more = simulate(network, plan, &settings);
            assert_same(one, more);
            pricer_simulation_free(more);
        }
        int left = 100;
        struct pricer_watch watch = {stop_after, &left};
        settings.watch = &watch;
        settings.threads = 1;
        settings.trials *= 20;
        struct pricer_simulation *cut = simulate(network, plan, &settings);
        assert_true(cut->trials > 0 && cut->trials < settings.trials);
        settings.watch = NULL;
        settings.trials = cut->trials;
        settings.threads = 2;
        struct pricer_simulation *fewer = simulate(network, plan, &settings);
        assert_same(cut, fewer);
        left = 0;
        settings.watch = &watch;
        struct pricer_simulation *none = NULL;
        const struct pricer_plan *plans[] = {plan};
        assert_int_equal(
            pricer_simulation_run(network, plans, 1, &settings, &none, NULL),
            PRICER_STOPPED);
        assert_null(none);
        pricer_simulation_free(one);
        pricer_simulation_free(cut);
        pricer_simulation_free(fewer);
    }
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* Both engines draw the same links, and agree with the prediction. */
static void test_prediction(void **state)
{
    (void)state;
    uint64_t seed = 8;
    for (int k = 0; k < 6; k++) {
        struct pricer_network *network;
        struct pricer_plan *plan;
        make(&seed, 6 + k, 1 + 7 * k, .8, &network, &plan);
        struct pricer_matrix *given = NULL;
        assert_int_equal(pricer_matrix_new(network->nodes, network->dimension,
                                           PRICER_FLOAT64, &given, NULL),
                         PRICER_OK);
        double *values = given->values;
        for (int64_t c = 0; c < given->rows * given->columns; c++)
            values[c] = 3 * test_uniform(&seed) - 1;
        for (int data = 0; data < 3; data++) {
            struct pricer_simulation_settings settings = {
                .trials = 4000,
                .seed = (uint64_t)k,
                .data = (enum pricer_data)data,
                .given = given};
            struct pricer_simulation *fast = simulate(network, plan, &settings);
            settings.engine = PRICER_ENGINE_FAITHFUL;
            struct pricer_simulation *all = simulate(network, plan, &settings);
            assert_memory_equal(fast->link, all->link,
                                (size_t)fast->links * sizeof *fast->link);
            assert_memory_equal(fast->both, all->both,
                                (size_t)fast->links * sizeof *fast->both);
            const struct pricer_outcome *a = fast->outcomes, *b = all->outcomes;
            assert_true(a->predicted == b->predicted);
            assert_true(a->predicted <= a->worst_case * (1 + 1e-12));
            assert_true(fabs(a->mse - a->predicted) < ALARM * a->mse_stderr);
            assert_true(fabs(b->mse - b->predicted) < ALARM * b->mse_stderr);
            double root = sqrt(b->mse / 4000);
            assert_true(fabs(a->bias - a->bias_predicted) < 6 * root);
            assert_true(fabs(b->bias - a->bias) < 6 * root);
            pricer_simulation_free(fast);
            pricer_simulation_free(all);
        }
        pricer_matrix_free(given);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

/* One round with the public functions, as a fleet would play it. */
static double by_hand(const struct pricer_network *net,
                      const struct pricer_plan *plan, const double *data,
                      uint64_t seed)
{
    int64_t d = net->dimension, message[8], relay[8], sum[8] = {0};
    struct pricer_grid grid;
    assert_int_equal(pricer_grid_choose(net, plan, &grid, NULL), PRICER_OK);
    for (int32_t j = net->nodes - 1; j >= 0; j--) {
        memset(relay, 0, sizeof relay);
        int32_t parts = 1;
        for (int32_t i = 0; i < net->nodes; i++) {
            struct pricer_slice *slice;
            pricer_slice_build(net, plan, &grid, i, &slice, NULL);
            const struct pricer_share *share = pri_slice_find(slice, j);
            int32_t l = pricer_network_find(net, i, j);
            int32_t back = l < 0 ? -1 : net->partner[l];
            bool up =
                i == j ||
                (l >= 0 && pricer_round_up(seed, 0,
                                           &(struct pricer_pair){
                                               i, j, net->p[l],
                                               back < 0 ? 0 : net->p[back],
                                               net->joint[l]}));
            if (share != NULL && up) {
                struct pricer_random random;
                pricer_random_replay(&random, seed, PRICER_PURPOSE_NOISE, 0, i,
                                     j);
                assert_int_equal(pricer_round_share(slice, share, data + i * d,
                                                    &random, message, NULL),
                                 PRICER_OK);
                assert_int_equal(
                    pricer_round_add(&grid, 1, message, d, relay, NULL),
                    PRICER_OK);
            }
            parts = i == j ? slice->parts : parts;
            pricer_slice_free(slice);
        }
        if (pricer_round_up(
                seed, 0,
                &(struct pricer_pair){j, PRICER_SERVER, net->uplink[j], 0, 0}))
            assert_int_equal(pricer_round_add(&grid, parts + net->nodes, relay,
                                              d, sum, NULL),
                             PRICER_OK);
    }
    double estimate[8], square = 0;
    pricer_round_estimate(&grid, net->nodes, sum, d, estimate);
    for (int64_t c = 0; c < d; c++) {
        double mean = 0;
        for (int32_t i = 0; i < net->nodes; i++)
            mean += data[i * d + c];
        mean /= net->nodes;
        square += (estimate[c] - mean) * (estimate[c] - mean);
    }
    return square;
}

static void test_faithful_by_hand(void **state)
{
    (void)state;
    uint64_t seed = 6;
    for (int k = 0; k < 20; k++) {
        struct pricer_network *network;
        struct pricer_plan *plan;
        make(&seed, 5, 8, .8, &network, &plan);
        struct pri_data data;
        struct pricer_simulation_settings settings = {
            .engine = PRICER_ENGINE_FAITHFUL,
            .trials = 1,
            .seed = (uint64_t)k,
            .data = PRICER_DATA_RANDOM};
        assert_int_equal(pri_data_make(network, &settings, &data, NULL),
                         PRICER_OK);
        struct pricer_simulation *one = simulate(network, plan, &settings);
        assert_true(one->outcomes->mse ==
                    by_hand(network, plan, data.values, (uint64_t)k));
        assert_true(isnan(one->outcomes->mse_stderr));
        pricer_simulation_free(one);
        pri_data_free(&data);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

/* A plan in company gives what it gives alone; differences are paired. */
static void test_strategies(void **state)
{
    (void)state;
    uint64_t seed = 12;
    struct pricer_network *network;
    struct pricer_plan *plans[3];
    make(&seed, 12, 20, .9, &network, &plans[0]);
    for (int k = 1; k < 3; k++)
        assert_int_equal(pricer_plan_new(network, &plans[k], NULL), PRICER_OK);
    for (int32_t i = 0; i < 12; i++)
        plans[1]->self_weight[i] = 1;
    struct pricer_simulation_settings settings = {.trials = 5000, .seed = 3};
    struct pricer_simulation *all = NULL;
    const struct pricer_plan *borrowed[] = {plans[0], plans[1], plans[2]};
    assert_int_equal(
        pricer_simulation_run(network, borrowed, 3, &settings, &all, NULL),
        PRICER_OK);
    for (int k = 0; k < 3; k++) {
        struct pricer_simulation *one = simulate(network, plans[k], &settings);
        const struct pricer_outcome *a = &all->outcomes[k], *b = one->outcomes;
        assert_true(a->mse == b->mse && a->mse_stderr == b->mse_stderr);
        assert_memory_equal(a->bins, b->bins, sizeof a->bins);
        assert_true(fabs(a->difference - (a->mse - all->outcomes[0].mse)) <
                    1e-12);
        double apart = hypot(a->mse_stderr, all->outcomes[0].mse_stderr);
        assert_true(a->difference_stderr <= 1.5 * apart);
        int64_t sum = 0;
        for (int bin = 0; bin < PRICER_BINS; bin++)
            sum += a->bins[bin];
        assert_int_equal(sum, 5000);
        pricer_simulation_free(one);
    }
    /* Nothing sent: the estimate is 0, the error |mean|^2 = radius^2. */
    assert_close(all->outcomes[2].mse, 4, 1e-12);
    assert_true(all->outcomes[0].difference_stderr == 0);
    pricer_simulation_free(all);
    for (int k = 0; k < 3; k++)
        pricer_plan_free(plans[k]);
    pricer_network_free(network);
}

static void test_refuses(void **state)
{
    (void)state;
    uint64_t seed = 1;
    struct pricer_network *network, *other;
    struct pricer_plan *plan, *wrong;
    make(&seed, 4, 3, .9, &network, &plan);
    make(&seed, 5, 3, .9, &other, &wrong);
    struct pricer_simulation *none = NULL;
    struct pricer_fault fault;
    const struct pricer_plan *plans[] = {wrong};
    struct pricer_simulation_settings settings = {.trials = 10};
    assert_int_equal(
        pricer_simulation_run(network, plans, 1, &settings, &none, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "for 5 nodes"));
    plans[0] = plan;
    struct pricer_matrix *given = NULL;
    pricer_matrix_new(4, 2, PRICER_FLOAT32, &given, NULL);
    settings.data = PRICER_DATA_GIVEN;
    assert_int_equal(
        pricer_simulation_run(network, plans, 1, &settings, &none, &fault),
        PRICER_VALUE);
    settings.given = given;
    assert_int_equal(
        pricer_simulation_run(network, plans, 1, &settings, &none, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "4 x 2"));
    pricer_matrix_free(given);
    pricer_matrix_new(4, 3, PRICER_FLOAT32, &given, NULL);
    ((float *)given->values)[4] = 5;
    settings.given = given;
    assert_int_equal(
        pricer_simulation_run(network, plans, 1, &settings, &none, &fault),
        PRICER_OK);
    assert_int_equal(none->clipped, 1);
    pricer_simulation_free(none);
    none = NULL;
    plan->weight[0] = NAN;
    assert_int_equal(
        pricer_simulation_run(network, plans, 1, &settings, &none, &fault),
        PRICER_VALUE);
    assert_null(none);
    pricer_matrix_free(given);
    pricer_plan_free(plan);
    pricer_plan_free(wrong);
    pricer_network_free(network);
    pricer_network_free(other);
    pricer_simulation_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_by_definition),
        cmocka_unit_test(test_threads_and_stops),
        cmocka_unit_test(test_prediction),
        cmocka_unit_test(test_faithful_by_hand),
        cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
