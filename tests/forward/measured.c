/*
 * Plans from rounds that were run: coefficients are those of the same rounds as
 * a model, the bound is the one of the definition and holds for data of every
 * sign, also where nodes exclude each other.
 */
#include "tests/test.h"
#include "forward/forward.h"

#define NODES 5
#define ROUNDS 400

struct sample {
    double radius[NODES], variance[NODES];
    int8_t relays[ROUNDS * NODES];
};

/* Nodes 0 and 1 share a channel, one of them at a time; node 2 arrives with 0,
 * over one relay more; 3 alone; 4 over two relays or not at all. */
static struct sample draw(uint64_t seed)
{
    struct sample made;
    for (int i = 0; i < NODES; i++) {
        made.radius[i] = .6 + .1 * i;
        made.variance[i] = .3;
    }
    for (int t = 0; t < ROUNDS; t++) {
        int8_t *at = made.relays + t * NODES;
        bool first = test_uniform(&seed) < .5;
        at[0] = first ? 0 : -1;
        at[1] = first ? -1 : 0;
        at[2] = first && test_uniform(&seed) < .9 ? 1 : -1;
        at[3] = test_uniform(&seed) < .7 ? 0 : -1;
        at[4] = test_uniform(&seed) < .4 ? 2 : -1;
    }
    return made;
}

static struct pri_forward_plan *plan_of(const struct sample *from,
                                        int64_t rounds, int32_t hops)
{
    struct pri_forward_plan *plan = NULL;
    assert_int_equal(
        pri_forward_plan_measured(
            &(struct pri_senders){NODES, from->radius, from->variance},
            from->relays, rounds, hops, &plan),
        PRICER_OK);
    return plan;
}

/* The largest error over data of either sign in some rounds, by definition: n^2
 * W without noise. */
static double worst(const struct sample *from, int first, int stride,
                    const double *c, double *bound)
{
    double most = 0, mean[NODES] = {0}, both[NODES][NODES] = {{0}};
    int count = 0;
    for (int t = first; t < ROUNDS; t += stride, count++)
        for (int i = 0; i < NODES; i++)
            for (int l = 0; l < NODES; l++)
                both[i][l] += from->relays[t * NODES + i] >= 0 &&
                              from->relays[t * NODES + l] >= 0;
    *bound = 0;
    for (int i = 0; i < NODES; i++)
        mean[i] = both[i][i] / count;
    for (int i = 0; i < NODES; i++)
        for (int l = 0; l < NODES; l++)
            *bound +=
                from->radius[i] * from->radius[l] *
                fabs(c[i] * c[l] * (both[i][l] / count - mean[i] * mean[l]) +
                     (mean[i] * c[i] - 1) * (mean[l] * c[l] - 1));
    for (unsigned signs = 0; signs < 1u << NODES; signs++) {
        double error = 0;
        for (int t = first; t < ROUNDS; t += stride) {
            double sum = 0;
            for (int i = 0; i < NODES; i++)
                sum += (signs >> i & 1 ? -1 : 1) * from->radius[i] *
                       ((from->relays[t * NODES + i] >= 0 ? c[i] : 0) - 1);
            error += sum * sum / count;
        }
        most = fmax(most, error);
    }
    return most;
}

/* Every other round as rounds of their own. */
static struct sample half_of(const struct sample *from, int first)
{
    struct sample half = *from;
    for (int t = 0; t < ROUNDS / 2; t++)
        memcpy(half.relays + t * NODES, from->relays + (2 * t + first) * NODES,
               NODES);
    return half;
}

static void test_bound(void **state)
{
    (void)state;
    struct sample from = draw(7);
    struct pri_forward_plan *plan = plan_of(&from, ROUNDS, 2);
    double whole = 0;
    for (int side = 0; side < 2; side++) {
        struct sample half = half_of(&from, side);
        struct pri_forward_plan *fitted = plan_of(&half, ROUNDS / 2, 2);
        double bound, noise = 0;
        double most = worst(&from, 1 - side, 2, fitted->coefficient, &bound);
        assert_true(most <= bound * (1 + 1e-12));
        assert_true(bound > .02 * NODES * NODES);
        struct sample other = half_of(&from, 1 - side);
        for (int i = 0; i < NODES; i++)
            for (int t = 0; t < ROUNDS / 2; t++)
                noise += (other.relays[t * NODES + i] >= 0) *
                         fitted->coefficient[i] * fitted->coefficient[i] * .3 /
                         (ROUNDS / 2);
        whole += (bound + noise) / 2;
        pri_forward_plan_free(fitted);
    }
    assert_close(plan->mse, whole / (NODES * NODES), 1e-9);
    assert_close(plan->missing + plan->noise, plan->mse, 1e-12);
    assert_int_equal(plan->patterns, ROUNDS);
    assert_int_equal(plan->heard, NODES);
    assert_int_equal(plan->distance[2], 1);
    assert_int_equal(plan->distance[4], 2);
    assert_true(plan->mse_alone > plan->mse && plan->mse > plan->mse_perfect);
    for (int i = 0; i < NODES; i++)
        assert_true(plan->coefficient[i] > 0 &&
                    plan->coefficient[i] * plan->arrival[i] <= 1 + 1e-12);
    pri_forward_plan_free(plan);
    /* Fewer relays: node 4 is not heard. */
    plan = plan_of(&from, ROUNDS, 1);
    assert_int_equal(plan->heard, NODES - 1);
    assert_true(plan->coefficient[4] == 0 && plan->arrival[4] == 0);
    pri_forward_plan_free(plan);
}

/* Rounds in which nobody or everybody arrives. */
static void test_extremes(void **state)
{
    (void)state;
    struct sample from = draw(3);
    memset(from.relays, -1, sizeof from.relays);
    struct pri_forward_plan *plan = plan_of(&from, ROUNDS, 2);
    assert_int_equal(plan->heard, 0);
    assert_close(plan->mse, .8 * .8, 1e-12);
    pri_forward_plan_free(plan);
    memset(from.relays, 0, sizeof from.relays);
    plan = plan_of(&from, 2, 0);
    assert_close(plan->mse, plan->mse_perfect, 1e-9);
    assert_true(plan->mse_stderr == 0);
    pri_forward_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
