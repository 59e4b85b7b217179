/*
 * What the server remembers of rounds: the latest in their order, what each node
 * gave, and links that drift, against Wilson's interval for each.
 */
#include "tests/test.h"
#include "fleet/server.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, LINKS = 2 };

/* A server that remembers, without a study and without connections. */
struct fixture {
    struct pricer_network network;
    struct server server;
    struct seat seats[NODES];
    double up[NODES], p[LINKS];
    int32_t from[LINKS], to[LINKS];
    int8_t uplink[NODES], link[LINKS];
    bool contributed[NODES];
};

static void make(struct fixture *made)
{
    memset(made, 0, sizeof *made);
    made->network = (struct pricer_network){.nodes = NODES, .links = LINKS};
    made->network.uplink = made->up;
    made->network.p = made->p;
    made->network.from = made->from;
    made->network.to = made->to;
    made->server.network = &made->network;
    made->server.seats = made->seats;
    made->server.past.tally.uplink = made->uplink;
    made->server.past.tally.link = made->link;
    made->server.past.tally.contributed = made->contributed;
    made->server.attempts = 1;
    made->from[1] = made->to[0] = 1;
    assert_true(server_history_make(&made->server));
}

static void rounds_in_order(void **state)
{
    struct fixture *made = malloc(sizeof *made);
    (void)state;
    make(made);
    struct history *history = &made->server.history;
    assert_int_equal(server_last_round(&made->server), 0);
    for (int64_t r = 1; r <= 3 * HISTORY + 7; r++) {
        made->server.past.round = 10 + r;
        made->server.arrived = (int32_t)(r % 3);
        made->server.contributors = (int32_t)(r % 2);
        made->server.decoding.bar = (double)r;
        made->contributed[1] = r % 2 == 0;
        made->uplink[1] = 1;
        made->seats[0].told = r > 5;
        made->seats[0].own_left = r > 9 ? 1000 - r : WIRE_NO_END;
        server_history_note(&made->server);
        int32_t rows = r < HISTORY ? (int32_t)r : HISTORY;
        assert_int_equal(history->count, rows);
        assert_int_equal(server_last_round(&made->server), 10 + r);
        for (int32_t k = 0; k < rows; k++) {
            int64_t then = r - rows + 1 + k;
            int32_t at = server_history_at(history, k);
            assert_true(history->round[at] == (double)(10 + then));
            assert_true(history->arrived[at] == (double)(then % 3));
            assert_true(then % 2 ? history->bar[at] == (double)then
                                 : isnan(history->bar[at]));
            assert_true(then > 9 ? history->left[at] == (double)(1000 - then)
                                 : isnan(history->left[at]));
            assert_true(isnan(history->link_left[at]));
        }
    }
    /* 367 rounds: the last one with node 1's data was 366, the one before. */
    assert_int_equal(made->seats[1].gave, 10 + 3 * HISTORY + 6);
    assert_true(made->seats[1].gave_in == 0xaaaaaaaaaaaaaaaau);
    assert_true(made->seats[1].came_in == UINT64_MAX);
    assert_true(made->seats[2].gave == 0 && made->seats[2].gave_in == 0);
    server_history_free(&made->server);
    free(made);
}

/* The quick test must never pass over what the interval would name. */
static void drifts_as_wilson_says(void **state)
{
    struct fixture *made = malloc(sizeof *made);
    struct drift drifts[8];
    (void)state;
    make(made);
    struct history *history = &made->server.history;
    for (int64_t tried = 0; tried <= 60; tried += tried < 12 ? 1 : 8)
        for (int64_t arrived = 0; arrived <= tried; arrived++)
            for (int step = 0; step <= 40; step++) {
                struct pricer_delivery now = {.tried = tried,
                                              .arrived = arrived};
                double low, high, p = step / 40.;
                history->uplink[0][0] = (struct pricer_delivery){
                    .tried = tried / 2, .arrived = arrived / 2};
                history->uplink[1][0] =
                    (struct pricer_delivery){.tried = tried - tried / 2,
                                             .arrived = arrived - arrived / 2};
                made->up[0] = p;
                pricer_delivery_interval(&now, 1 - 1e-4, &low, &high);
                int32_t count = server_drifts(&made->server, drifts, 8);
                assert_int_equal(count, !(p >= low && p <= high));
                if (count == 1) {
                    assert_true(drifts[0].low == low && drifts[0].high == high);
                    assert_int_equal(drifts[0].to, PRICER_SERVER);
                }
            }
    server_history_free(&made->server);
    free(made);
}

/* A link that fails from now on is found, whatever it did two windows ago. */
static void old_rounds_are_forgotten(void **state)
{
    struct fixture *made = malloc(sizeof *made);
    struct drift drifts[8];
    (void)state;
    make(made);
    for (int i = 0; i < NODES; i++)
        made->uplink[i] = -1; /* nothing is said of uplinks */
    made->p[0] = made->p[1] = 0.5;
    for (int r = 0; r < 4 * HISTORY_WINDOW; r++) {
        made->link[0] = r % 2;
        made->link[1] = r < 2 * HISTORY_WINDOW ? r % 2 : 1;
        server_history_note(&made->server);
    }
    assert_int_equal(server_drifts(&made->server, drifts, 8), 1);
    assert_int_equal(drifts[0].from, 1);
    assert_true(drifts[0].high == 1 && drifts[0].low > 0.95);
    assert_int_equal(server_drifts(&made->server, drifts, 0), 0);
    server_history_free(&made->server);
    free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_in_order),
        cmocka_unit_test(drifts_as_wilson_says),
        cmocka_unit_test(old_rounds_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
