/*
 * Whether a node took part, as the server sees it: relays add up. Rounds are
 * drawn as they happen, with opposite links up together.
 */
#include "tests/test.h"
#include "privacy/bracket.h"

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

/* What one direction of a round at the server shows of node 0: the sums of all
 * nodes, each up or not, opposite links up together with `joint`. */
static double draw_server(const struct pricer_network *network,
                          const struct pricer_plan *plan, double joint,
                          bool present, uint64_t *seed)
{
    bool up[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double sigma[3][3], weight[3], loss = 0, d = (double)network->dimension;
    double p = network->p[0];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++) {
            double x = test_uniform(seed);
            up[i][j] = x < p;
            up[j][i] = x < joint || (x >= p && x < 2 * p - joint);
        }
    for (int i = 0; i < 3; i++)
        sigma[i][i] = plan->self_noise[i];
    weight[0] = plan->self_weight[0];
    for (int32_t l = 0; l < network->links; l++) {
        sigma[network->from[l]][network->to[l]] = plan->noise[l];
        if (network->from[l] == 0)
            weight[network->to[l]] = plan->weight[l];
    }
    for (int j = 1; j < 3; j++) { /* its own sum has nothing of it */
        double v0 = 0, own = sigma[0][j] * sigma[0][j], square = 0, moved = 0;
        if (test_uniform(seed) >= network->uplink[j] || !up[0][j])
            continue;
        for (int k = 1; k < 3; k++)
            v0 += up[k][j] ? sigma[k][j] * sigma[k][j] : 0;
        if (v0 == 0)
            return INFINITY;
        for (int k = 0; k < network->dimension; k++) {
            double shift = k == 0 ? weight[j] : 0;
            double x = sqrt(v0 + (present ? own : 0)) * draw_normal(seed) +
                       (present ? shift : 0);
            square += x * x;
            moved += (x - shift) * (x - shift);
        }
        double more = square / v0 - moved / (v0 + own) - d * log1p(own / v0);
        loss += (present ? more : -more) / 2;
    }
    return loss;
}

/* At the server relays add up: one round and several by simulation, which is
 * within 5 deviations of the truth but for 3 in 10^7. */
static void test_server(void **state)
{
    (void)state;
    enum { DRAWS = 60000 };
    static const double delta = .05, p = .7, joint = .6;
    struct pri_scratch scratch = {0};
    uint64_t seed = 21;
    for (int trial = 0; trial < 4; trial++) {
        int rounds = trial < 2 ? 1 : 3;
        struct pricer_node nodes[3];
        struct pricer_link links[6];
        struct pricer_network *network = NULL;
        struct pricer_plan *plan = NULL;
        struct pri_view view = {0};
        struct pri_bracket bracket;
        int count = 0;
        for (int32_t i = 0; i < 3; i++) {
            nodes[i] = (struct pricer_node){.6, 1, 1e-3, NAN, NAN};
            for (int32_t j = 0; j < 3; j++)
                if (i != j)
                    links[count++] =
                        (struct pricer_link){i, j, p, joint, 1, 1e-3};
        }
        assert_int_equal(pricer_network_build(
                             &(struct pricer_network_parts){
                                 6, 1, 0, nodes, 3, links, 6, NULL, NULL},
                             &network, NULL, NULL),
                         PRICER_OK);
        assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
        for (int k = 0; k < 6; k++) {
            plan->weight[k] = .2 + .3 * test_uniform(&seed);
            plan->noise[k] = .5 + test_uniform(&seed);
        }
        for (int k = 0; k < 3; k++) {
            plan->self_weight[k] = k == 0 ? 0 : .3;
            plan->self_noise[k] = k == 0 ? 0 : .8 + test_uniform(&seed);
        }
        assert_int_equal(pri_view_identity(network, plan, 0, NULL, true,
                                           PRICER_RECEIVER, NULL, &view),
                         PRICER_OK);
        assert_true(view.sources == 2 && view.pairs == 1);
        assert_int_equal(
            pri_view_account(&view, delta, rounds, 3e8, &scratch, &bracket),
            PRICER_OK);
        assert_true(bracket.eps > 0 && bracket.eps_lower > .99 * bracket.eps);
        double above[2] = {0, 0}, below[2] = {0, 0};
        for (int way = 0; way < 2; way++)
            for (int k = 0; k < DRAWS; k++) {
                double loss = 0;
                for (int t = 0; t < rounds; t++)
                    loss += draw_server(network, plan, joint, way == 1, &seed);
                above[way] += fmax(-expm1(bracket.eps - loss), 0);
                below[way] += fmax(-expm1(bracket.eps_lower - loss), 0);
            }
        double error = 5 * sqrt(delta / DRAWS);
        assert_true(fmax(above[0], above[1]) / DRAWS <= delta + error);
        assert_true(fmax(below[0], below[1]) / DRAWS >= delta - error);
        pri_view_free(&view);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
    pri_scratch_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
