/*
 * Nodes at random in a square: the cells divide them, in order of their
 * numbers; near nodes are in neighbouring cells; the uplinks are drawn as asked
 * for, with a false-alarm rate below 1e-6 (and a fixed seed, so an alarm is an
 * error).
 */
#include "tests/test.h"
#include "network/network.h"
#include "network/placement.h"

enum { NODES = 3000 };

static void place(double cutoff, double good, struct pricer_network **network,
                  struct pri_cell_list *cells)
{
    double common = .2;
    struct pricer_scenario scenario = {.seed = 7,
                                       .density = 110,
                                       .cutoff = cutoff,
                                       .good_fraction = good,
                                       .good_uplink = .9,
                                       .uplink = {&common, 1}};
    assert_int_equal(pri_network_new(NODES, true, network), PRICER_OK);
    int32_t all = (*network)->nodes;
    assert_int_equal(pri_place_cells(&scenario, all, cells), PRICER_OK);
    pri_place_window(&scenario, all, cells, 0, *network);
}

static void test_cells(void **state)
{
    (void)state;
    struct pricer_network *net;
    struct pri_cell_list cells = {0};
    place(.01, .05, &net, &cells);
    int32_t across = cells.across;
    double side = 1000 * sqrt(NODES / 110.);
    assert_true(across > 5);
    assert_true(cells.size * across >= side * (1 - 1e-12));
    assert_int_equal(cells.start[0], 0);
    assert_int_equal(cells.start[across * across], NODES);
    for (int32_t c = 0; c < across * across; c++)
        for (int32_t i = cells.start[c]; i < cells.start[c + 1]; i++) {
            assert_true(net->x[i] >= 0 && net->x[i] < side);
            assert_int_equal(pri_cell_list_line(&cells, net->x[i]), c % across);
            assert_int_equal(pri_cell_list_line(&cells, net->y[i]), c / across);
        }
    pricer_network_free(net);
    free(cells.start);
}

/* A link of p above the cutoff never passes over a whole cell. */
static void test_reach(void **state)
{
    (void)state;
    struct pricer_network *net;
    struct pri_cell_list cells = {0};
    const double cutoff = .01, limit = 30 * (5.2 - log(cutoff));
    place(cutoff, .05, &net, &cells);
    assert_true(cells.size >= limit);
    for (int32_t i = 0; i < NODES; i++)
        for (int32_t j = 0; j < i; j++) {
            if (hypot(net->x[i] - net->x[j], net->y[i] - net->y[j]) > limit)
                continue;
            int32_t columns = pri_cell_list_line(&cells, net->x[i]) -
                              pri_cell_list_line(&cells, net->x[j]);
            int32_t lines = pri_cell_list_line(&cells, net->y[i]) -
                            pri_cell_list_line(&cells, net->y[j]);
            assert_true(abs(columns) <= 1 && abs(lines) <= 1);
        }
    pricer_network_free(net);
    free(cells.start);
}

static void test_uplinks(void **state)
{
    (void)state;
    struct pricer_network *net;
    struct pri_cell_list cells = {0};
    const double share = .3;
    int32_t good = 0;
    place(0, share, &net, &cells);
    assert_int_equal(cells.across, 1); /* no cutoff: every pair is near */
    for (int32_t i = 0; i < NODES; i++) {
        assert_true(net->uplink[i] == .9 || net->uplink[i] == .2);
        good += net->uplink[i] == .9;
    }
    double deviation = sqrt(NODES * share * (1 - share));
    assert_true(fabs(good - NODES * share) < 5 * deviation);
    pricer_network_free(net);
    free(cells.start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_uplinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
