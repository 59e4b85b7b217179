/*
 * Walks of plans of forwarding: against rounds that are played here once more,
 * paths, clipping and counting included; that an estimate comes to the mean and
 * follows it, with a smaller error than rounds by themselves at the same budgets;
 * the same bits for any number of threads; and the privacy of all rounds, which is
 * that of data within the step.
 */
#include "tests/test.h"
#include "network/network.h"
#include "pricer_forward.h"

enum { MOST = 8, D = 3, ROUNDS = 40 };

/* Nodes in a line: each hears its two neighbours with probability .7, and the
 * first `heard` ones reach the server with .8. */
static struct pricer_network *make(int nodes, int heard, double step,
                                   double eps)
{
    double uplink[MOST], inf[2 * MOST], one[2 * MOST], budget[MOST];
    double delta[MOST], p[2 * MOST];
    int32_t from[2 * MOST], to[2 * MOST];
    int links = 0;
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    for (int i = 0; i < nodes; i++) {
        uplink[i] = i < heard ? .8 : 0;
        budget[i] = eps;
        delta[i] = 1e-5;
        for (int j = i - 1; j <= i + 1; j += 2)
            if (j >= 0 && j < nodes) {
                from[links] = i;
                to[links] = j;
                p[links++] = .7;
            }
    }
    for (int k = 0; k < 2 * MOST; k++) {
        inf[k] = INFINITY;
        one[k] = 1;
    }
    struct pricer_network_arrays arrays = {.dimension = D,
                                           .radius = 1,
                                           .node_count = nodes,
                                           .uplink = uplink,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .link_count = links,
                                           .from = from,
                                           .to = to,
                                           .p = p,
                                           .eps = inf,
                                           .delta = one,
                                           .everyone_eps = budget,
                                           .everyone_delta = delta};
    if (pricer_network_build_arrays(&arrays, &network, NULL, &fault) !=
            PRICER_OK ||
        pri_network_relate(network, step, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return network;
}

static struct pricer_forward_plan *plan_of(const struct pricer_network *network,
                                           int64_t rounds, int32_t repeat,
                                           enum pricer_release release)
{
    struct pricer_forward_plan *plan = NULL;
    struct pricer_fault fault = {""};
    if (pricer_forward_plan_make(
            network,
            &(struct pricer_forward_settings){.rounds = rounds,
                                              .hops = 2,
                                              .repeat = repeat,
                                              .release = release,
                                              .seed = 5},
            &plan, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return plan;
}

static struct pricer_walk *play(const struct pricer_network *network,
                                const struct pricer_forward_plan *plan,
                                const struct pricer_matrix *given,
                                int64_t walks, int32_t threads)
{
    const struct pricer_simulation_settings settings = {
        .trials = walks,
        .seed = 3,
        .data = PRICER_DATA_GIVEN,
        .given = given,
        .threads = threads,
    };
    struct pricer_walk *walk = NULL;
    struct pricer_fault fault = {""};
    if (pricer_forward_walk(network, plan, &settings, ROUNDS, &walk, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return walk;
}

/* Nodes within `spread` of a mean of length .7 that turns by `turn` in the whole
 * walk. */
static struct pricer_matrix *moving(int nodes, double spread, double turn)
{
    struct pricer_matrix *matrix = NULL;
    double own[MOST * D];
    uint64_t state = 9;
    assert_int_equal(
        pricer_matrix_new(nodes * ROUNDS, D, PRICER_FLOAT64, &matrix, NULL),
        PRICER_OK);
    for (int k = 0; k < nodes * D; k++)
        own[k] = spread / sqrt(D) * (2 * test_uniform(&state) - 1);
    for (int t = 0; t < ROUNDS; t++)
        for (int i = 0; i < nodes; i++) {
            double *row = (double *)matrix->values + (t * nodes + i) * D;
            memcpy(row, own + i * D, D * sizeof *row);
            row[0] += .7 * cos(turn * t / ROUNDS);
            row[1] += .7 * sin(turn * t / ROUNDS);
        }
    return matrix;
}

/* ------------------------------------------------------------ brute force -- */

static bool is_up(const struct pricer_network *network, int64_t attempt, int i,
                  int j)
{
    double p = j < 0 ? network->uplink[i] : .7;
    /* A link and its opposite are independent. */
    return pricer_round_up(3, attempt,
                           &(struct pricer_pair){i, j < 0 ? PRICER_SERVER : j,
                                                 p, j < 0 ? 0 : p,
                                                 j < 0 ? 0 : p * p});
}

/* Whether a path leads from a node to the server over at most `hops` relays. */
static bool arrives(const struct pricer_network *network, int64_t attempt,
                    int attempts, int i, int hops)
{
    for (; attempts > 0; attempt++, attempts--) {
        if (is_up(network, attempt, i, -1))
            return true;
        for (int j = i - 1; j <= i + 1 && hops > 0; j += 2)
            if (j >= 0 && j < network->nodes && is_up(network, attempt, i, j) &&
                arrives(network, attempt, attempts, j, hops - 1))
                return true;
    }
    return false;
}

static void shorten(double *x, double length)
{
    double square = 0;
    for (int k = 0; k < D; k++)
        square += x[k] * x[k];
    for (int k = 0; k < D && square > length * length; k++)
        x[k] *= length / sqrt(square);
}

/* Round `round` by the definition. Returns how many nodes arrived. */
static int follow(const struct pricer_network *network,
                  const struct pricer_forward_plan *plan, const double *data,
                  int64_t round, double *estimate)
{
    struct pricer_forward_receiver *receiver = NULL;
    double sum[D] = {0};
    int count = 0, attempts = plan->repeat > 1 ? plan->repeat : 1;
    assert_int_equal(
        pricer_forward_receiver_new(network, plan, &receiver, NULL), PRICER_OK);
    for (int i = 0; i < network->nodes; i++) {
        const struct pricer_forward_node *node = &plan->node[i];
        struct pricer_forward_sender *sender = NULL;
        struct pricer_random random;
        unsigned char payload[16 + 4 * D];
        double x[D], y[D];
        if (!arrives(network, round * attempts, attempts, i, plan->hops))
            continue;
        memcpy(x, data + i * D, sizeof x);
        shorten(x, network->reach);
        for (int k = 0; k < D; k++)
            x[k] -= estimate[k];
        shorten(x, network->radius);
        pricer_random_replay(&random, 3, PRICER_PURPOSE_NOISE, round, i,
                             PRICER_SERVER);
        assert_int_equal(
            pricer_forward_sender_new(node, network->radius, D, &sender, NULL),
            PRICER_OK);
        assert_int_equal(
            pricer_forward_release(sender, x, &random, payload, NULL),
            PRICER_OK);
        assert_int_equal(pricer_forward_receiver_decode(
                             receiver, i, payload,
                             pricer_forward_payload(node->release, D), y, NULL),
                         PRICER_OK);
        for (int k = 0; k < D; k++)
            sum[k] += node->coefficient * y[k] / network->nodes;
        pricer_forward_sender_free(sender);
        count++;
    }
    for (int k = 0; k < D; k++)
        estimate[k] += sum[k];
    shorten(estimate, network->reach);
    pricer_forward_receiver_free(receiver);
    return count;
}

/* Both kinds of release, one and two attempts, data that are too long. */
static void test_definition(void **unused)
{
    (void)unused;
    for (int variant = 0; variant < 4; variant++) {
        const int nodes = 4;
        struct pricer_network *network = make(nodes, 1, .2, 20);
        struct pricer_matrix *data = moving(nodes, .6, 3);
        struct pricer_forward_plan *plan = plan_of(
            network, ROUNDS, variant / 2 + 1,
            variant % 2 ? PRICER_RELEASE_GAUSSIAN : PRICER_RELEASE_SPHERE);
        struct pricer_walk *walk = play(network, plan, data, 2, 1);
        double estimate[D] = {0};
        int silent = 0;
        for (int t = 0; t < ROUNDS; t++) {
            const double *row = (double *)data->values + t * nodes * D;
            int count = follow(network, plan, row, t, estimate);
            assert_true(walk->made[t] == (count > 0));
            silent += count == 0;
            for (int k = 0; k < D; k++)
                assert_true(fabs(walk->estimate[t * D + k] - estimate[k]) <
                            1e-12);
            assert_true(walk->bar[t] > 0);
        }
        assert_true(silent > 0 && walk->clipped > 0);
        pricer_walk_free(walk);
        pricer_forward_plan_free(plan);
        pricer_matrix_free(data);
        pricer_network_free(network);
    }
}

/* ------------------------------------------------------------------- gain -- */

/* The mean error of the second half, and its standard error as if rounds were
 * fully correlated, which is more than it is. */
static void late_error(const struct pricer_walk *walk, double *error,
                       double *deviation)
{
    *error = *deviation = 0;
    for (int t = ROUNDS / 2; t < ROUNDS; t++) {
        *error += walk->error[t] / (ROUNDS - ROUNDS / 2);
        *deviation += walk->error_stderr[t] / (ROUNDS - ROUNDS / 2);
    }
}

/*
 * The same budgets over all rounds, a mean that moves: the relative walk must have
 * less than half the error after it has come near, by ten standard errors. With
 * the seed fixed there are no false alarms. All that is left is then below the
 * worst case of the plan, since no node is further than the step from the mean.
 */
static void test_gain(void **unused)
{
    struct pricer_matrix *data = moving(MOST, .05, .3);
    double error[2], deviation[2];
    (void)unused;
    for (int relative = 0; relative < 2; relative++) {
        struct pricer_network *network =
            make(MOST, MOST, relative ? .15 : 0, 40);
        struct pricer_forward_plan *plan =
            plan_of(network, ROUNDS, 1, PRICER_RELEASE_BEST);
        struct pricer_walk *walk = play(network, plan, data, 100, 2);
        struct pricer_walk *alone = play(network, plan, data, 100, 1);
        assert_memory_equal(walk->error, alone->error,
                            ROUNDS * sizeof *walk->error);
        assert_memory_equal(walk->estimate, alone->estimate,
                            ROUNDS * D * sizeof *walk->estimate);
        late_error(walk, &error[relative], &deviation[relative]);
        if (relative) {
            assert_true(walk->error[0] > 4 * error[1] && walk->cut[0] == MOST);
            assert_true(walk->cut[ROUNDS - 1] < 1);
            assert_true(error[1] < plan->mse_worst_case);
        }
        print_message("%s %.4g +- %.2g, worst case %.4g\n",
                      relative ? "relative" : "alone", error[relative],
                      deviation[relative], plan->mse_worst_case);
        pricer_walk_free(walk);
        pricer_walk_free(alone);
        pricer_forward_plan_free(plan);
        pricer_network_free(network);
    }
    assert_true(error[1] + 10 * deviation[1] <
                .5 * (error[0] - 10 * deviation[0]));
    pricer_matrix_free(data);
}

/* Data that stay, links and releases that hardly fail: the walk ends at the mean. */
static void test_mean(void **unused)
{
    struct pricer_network *network = make(MOST, MOST, .3, 500);
    struct pricer_matrix *data = moving(MOST, .1, 0);
    struct pricer_forward_plan *plan =
        plan_of(network, ROUNDS, 8, PRICER_RELEASE_BEST);
    (void)unused;
    struct pricer_walk *walk = play(network, plan, data, 50, 0);
    print_message("at the mean: %.3g +- %.1g\n", walk->error[ROUNDS - 1],
                  walk->error_stderr[ROUNDS - 1]);
    assert_true(walk->error[0] > .1 && walk->error[ROUNDS - 1] < 2e-3);
    pricer_walk_free(walk);
    pricer_forward_plan_free(plan);
    pricer_matrix_free(data);
    pricer_network_free(network);
}

/* ---------------------------------------------------------------- privacy -- */

/* Releases of a walk are those of vectors within the step, and so is their eps
 * over all rounds, which is the budget; over several it is a bound. */
static void test_privacy(void **unused)
{
    struct pricer_network *network = make(4, 4, .2, 3);
    struct pricer_forward_plan *plan =
        plan_of(network, 5, 1, PRICER_RELEASE_SPHERE);
    (void)unused;
    for (int rounds = 1; rounds <= 5; rounds += 4) {
        struct pricer_statement *statements = NULL;
        struct pricer_forward_privacy found;
        assert_int_equal(pricer_forward_privacy_account(
                             network, plan,
                             &(struct pricer_question){.rounds = rounds},
                             &statements, NULL),
                         PRICER_OK);
        assert_int_equal(pricer_forward_privacy_eps(
                             &(struct pricer_forward_releases){
                                 &plan->node[0], .2, D, rounds, 0},
                             1e-5, &found, NULL),
                         PRICER_OK);
        assert_true(statements[0].eps == found.eps && found.eps <= 3);
        assert_true(rounds == 1 || found.eps > 3 * .999);
        assert_true(statements[0].exact == (rounds == 1));
        pricer_statements_free(statements);
    }
    pricer_forward_plan_free(plan);
    pricer_network_free(network);
}

static void test_refusals(void **unused)
{
    struct pricer_network *network = make(4, 4, .2, 3);
    struct pricer_matrix *data = moving(4, .1, 0);
    struct pricer_forward_plan *plan =
        plan_of(network, 1, 1, PRICER_RELEASE_SPHERE);
    struct pricer_walk *walk = NULL;
    struct pricer_fault fault = {""};
    struct pricer_simulation_settings settings = {.data = PRICER_DATA_GIVEN,
                                                  .given = data};
    (void)unused;
    assert_int_equal(
        pricer_forward_walk(network, plan, &settings, 0, &walk, NULL),
        PRICER_VALUE);
    assert_int_equal(
        pricer_forward_walk(network, plan, &settings, 3, &walk, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "160 rows"));
    plan->nodes = 3;
    assert_int_equal(
        pricer_forward_walk(network, plan, &settings, ROUNDS, &walk, &fault),
        PRICER_VALUE);
    assert_null(walk);
    pricer_forward_plan_free(plan);
    pricer_matrix_free(data);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition), cmocka_unit_test(test_gain),
        cmocka_unit_test(test_mean),       cmocka_unit_test(test_privacy),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
