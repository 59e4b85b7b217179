/*
 * Identities on a coarse grid: one noise of the plan is so large that the grid adds
 * far more to another than the plan gave it. What is claimed must hold for messages
 * as they are sent; the planned variances alone would not.
 */
#include "tests/test.h"
#include "privacy/bracket.h"
#include "account/account.h"

enum { DIMENSION = 4000, TRIALS = 600 };

/* Nodes 1 and 2 send to relay 0, always with success. */
static struct pricer_network *pair_of_leaves(void)
{
    struct pricer_node nodes[3];
    struct pricer_link links[2];
    struct pricer_network *network = NULL;
    for (int i = 0; i < 3; i++)
        nodes[i] = (struct pricer_node){.5, INFINITY, 1, NAN, NAN};
    for (int i = 0; i < 2; i++)
        links[i] = (struct pricer_link){i + 1, 0, 1, NAN, 1, 1e-3};
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             DIMENSION, 1, 0, nodes, 3, links, 2, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

/* The messages of nodes 1 to `last`, added; its square. */
static double draw(struct pricer_slice *const *slices, int first,
                   const double *data, struct pricer_random *random)
{
    static int64_t sum[DIMENSION], message[DIMENSION];
    double square = 0;
    memset(sum, 0, sizeof sum);
    for (int i = first; i <= 2; i++) {
        assert_int_equal(pricer_round_share(slices[i], &slices[i]->shares[0],
                                            data, random, message, NULL),
                         PRICER_OK);
        for (int k = 0; k < DIMENSION; k++)
            sum[k] += message[k];
    }
    for (int k = 0; k < DIMENSION; k++)
        square += (double)sum[k] * (double)sum[k];
    return square;
}

/* How often a sum with and without node 1 is longer than a threshold: what any
 * statement has to allow. Off by more than 5 standard errors in less than one of
 * 10^6 tests. */
static void test_sent(void **state)
{
    (void)state;
    const double delta = .1;
    struct pricer_network *network = pair_of_leaves();
    struct pricer_plan *plan = NULL;
    struct pricer_slice *slices[3] = {0};
    struct pricer_grid grid;
    static double data[DIMENSION];
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    plan->self_noise[0] = 1;
    assert_int_equal(pricer_grid_choose(network, plan, &grid, NULL), PRICER_OK);
    double step = ldexp(1, grid.exponent);
    for (int l = 0; l < 2; l++) {
        plan->weight[l] = .001 * step;
        plan->noise[l] = l == 0 ? .01 * step : 30 * step;
    }
    for (int i = 1; i <= 2; i++)
        assert_int_equal(
            pricer_slice_build(network, plan, &grid, i, &slices[i], NULL),
            PRICER_OK);
    struct pricer_random random;
    pricer_random_replay(&random, 17, PRICER_PURPOSE_OTHER, 0, 0, 0);
    double middle = DIMENSION * (30 * 30 + 64 + 32.), with = 0, without = 0;
    for (int k = 0; k < TRIALS; k++) {
        with += draw(slices, 1, data, &random) > middle;
        without += draw(slices, 2, data, &random) > middle;
    }
    with /= TRIALS;
    without /= TRIALS;

    struct pricer_question question = {.observer = PRICER_OBSERVER_RELAY,
                                       .protect = PRICER_PROTECT_IDENTITY,
                                       .delta = delta};
    struct pricer_statement found;
    assert_int_equal(
        pri_privacy_one(network, plan, &question, 1, 0, &found, NULL),
        PRICER_OK);
    double slack = 5 * sqrt(.25 / TRIALS) * (1 + exp(found.eps));
    assert_true(with - exp(found.eps) * without <= delta + slack);
    /* Not by claiming nothing: the loss has the mean 5.1 and the deviation 3.2. */
    assert_true(found.eps < 5.1 + 2 * 3.2);
    /* The planned variances say next to nothing can be told. */
    struct pri_view view = {0};
    struct pri_scratch scratch = {0};
    struct pri_bracket planned;
    const bool member[3] = {true};
    assert_int_equal(pri_view_identity(network, plan, 1, member, false,
                                       PRICER_RECEIVER, NULL, &view),
                     PRICER_OK);
    assert_int_equal(pri_view_account(&view, delta, 1, 0, &scratch, &planned),
                     PRICER_OK);
    assert_true(with - exp(planned.eps) * without >
                delta + 5 * sqrt(.25 / TRIALS) * (1 + exp(planned.eps)));
    pri_view_free(&view);
    pri_scratch_free(&scratch);
    for (int i = 1; i <= 2; i++)
        pricer_slice_free(slices[i]);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
