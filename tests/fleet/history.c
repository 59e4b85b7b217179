/*
 * What the server remembers of rounds: the latest in their order, what each node
 * contributed, and links that drift, against sums of binomial terms.
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

/* The chance that k or more of n arrive, term by term, each by products. */
static double tail(int64_t n, int64_t k, double p)
{
    double sum = 0;
    for (int64_t j = k; j <= n; j++) {
        double term = 1;
        for (int64_t t = 0; t < j; t++)
            term *= p * (double)(n - t) / (double)(j - t);
        sum += term * pow(1 - p, (double)(n - j));
    }
    return sum;
}

/* One uplink among five that were tried: named where either tail is at most half a
 * fifth of the rate of false alarms, with an interval whose ends have that tail. */
static void drifts_by_exact_tails(void **state)
{
    struct fixture *made = malloc(sizeof *made);
    struct drift drifts[8];
    double half = DRIFT_ALARM / 5 / 2;
    (void)state;
    make(made);
    struct history *history = &made->server.history;
    const struct pricer_delivery quiet = {.tried = 4, .arrived = 2};
    made->up[1] = made->up[2] = made->p[0] = made->p[1] = .5;
    history->uplink[1][1] = history->uplink[0][2] = quiet;
    history->link[0][0] = history->link[1][1] = quiet;
    for (int64_t tried = 1; tried <= 60; tried += tried < 12 ? 1 : 8)
        for (int64_t arrived = 0; arrived <= tried; arrived++)
            for (int step = 0; step <= 40; step++) {
                double p = step / 40.;
                history->uplink[0][0] = (struct pricer_delivery){
                    .tried = tried / 2, .arrived = arrived / 2};
                history->uplink[1][0] =
                    (struct pricer_delivery){.tried = tried - tried / 2,
                                             .arrived = arrived - arrived / 2};
                made->up[0] = p;
                bool off = tail(tried, arrived, p) <= half ||
                           tail(tried, tried - arrived, 1 - p) <= half;
                int32_t count = server_drifts(&made->server, drifts, 8);
                assert_int_equal(count, off);
                if (!off)
                    continue;
                assert_int_equal(drifts[0].to, PRICER_SERVER);
                double low = drifts[0].low, high = drifts[0].high;
                assert_true(p <= low || p >= high);
                assert_true(arrived == 0
                                ? low == 0
                                : fabs(tail(tried, arrived, low) / half - 1) <
                                      1e-6);
                assert_true(
                    arrived == tried
                        ? high == 1
                        : fabs(tail(tried, tried - arrived, 1 - high) / half -
                               1) < 1e-6);
            }
    server_history_free(&made->server);
    free(made);
}

/* A fixed generator of its own: xorshift. */
static double draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1p-53;
}

/*
 * Links that deliver as planned, many of them seldom or nearly always: 300
 * windows of 2,400 links. Alarms are at most DRIFT_ALARM a window; 6 or more of
 * 300 would come with a chance below 1e-6. One link that fails twice as often as
 * planned is found among them.
 */
static void links_as_planned_do_not_drift(void **state)
{
    enum { MANY = 2400, LOOKS = 300, ROUNDS = 400 };
    struct fixture *made = malloc(sizeof *made);
    struct drift drifts[8];
    static double p[MANY];
    static int32_t ends[MANY];
    uint64_t random = 88172645463325252u;
    int32_t alarms = 0;
    (void)state;
    make(made);
    server_history_free(&made->server);
    made->network.links = MANY;
    made->network.p = p;
    made->network.from = made->network.to = ends;
    assert_true(server_history_make(&made->server));
    struct pricer_delivery *link = made->server.history.link[0];
    for (int32_t look = 0; look < LOOKS; look++) {
        for (int32_t l = 0; l < MANY; l++) {
            p[l] = l % 3 == 0 ? draw(&random) : pow(10, -5 * draw(&random));
            p[l] = l % 3 == 2 ? 1 - p[l] : p[l];
            link[l] = (struct pricer_delivery){.tried = ROUNDS};
            for (int r = 0; r < ROUNDS; r++)
                link[l].arrived += draw(&random) < p[l];
        }
        alarms += server_drifts(&made->server, drifts, 8) > 0;
    }
    assert_true(alarms < 6);
    p[17] = .8;
    link[17].arrived = (int64_t)(.6 * ROUNDS);
    int32_t count = server_drifts(&made->server, drifts, 8);
    assert_int_equal(count, 1);
    assert_true(drifts[0].planned == .8 && drifts[0].low < .6 &&
                drifts[0].high > .6 && drifts[0].high < .8);
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
        cmocka_unit_test(drifts_by_exact_tails),
        cmocka_unit_test(links_as_planned_do_not_drift),
        cmocka_unit_test(old_rounds_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
