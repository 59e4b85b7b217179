/*
 * The ledger and the trust file: budgets add up exactly and are refused when
 * they are gone, a round is spent once, and a ledger survives being dropped.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "fleet/ledger.h"
#include "fleet/trust_file.h"

#include <math.h>
#include <sqlite3.h>
#include <signal.h>
#include <sys/wait.h>

static const char server[] = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
static const char peer[] = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
static const char other[] = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";

static struct ledger *open_ledger(const char *name)
{
    struct ledger *ledger = NULL;
    struct pricer_fault fault = {""};
    if (ledger_open(scratch_path(name), server, &ledger, &fault))
        fail_msg("%s", fault.text);
    return ledger;
}

/*
 * How many releases of ratio mu fit must be the largest K with delta_G(eps;
 * sqrt(K) mu) <= delta, computed here in one step.
 */
static void test_composition(void **state)
{
    (void)state;
    const double eps = 8, delta = 1e-5, mu = .2;
    int64_t expected = 0, allowed = 0;
    while (pricer_gaussian_delta(eps, mu * sqrt((double)expected + 1)) <= delta)
        expected++;
    struct ledger *ledger = open_ledger("a");
    for (int64_t round = 1; round < expected + 20; round++) {
        struct ledger_charge charges[] = {
            {peer, mu, eps, delta, true, false},
            {other, mu, INFINITY, 1, true, false}};
        assert_int_equal(ledger_charge(ledger, round, charges, 2, NULL),
                         PRICER_OK);
        assert_true(charges[1].allowed);
        if (charges[0].allowed)
            allowed++;
        else
            assert_true(round > expected);
    }
    assert_int_equal(allowed, expected);
    assert_true(allowed > 50);
    assert_true(ledger_spent(ledger, peer) >= mu * sqrt((double)allowed));
    ledger_close(ledger);
}

static void test_rounds_ascend(void **state)
{
    (void)state;
    struct ledger *ledger = open_ledger("b");
    struct ledger_charge charge = {peer, 1, INFINITY, 1, true, false};
    assert_int_equal(ledger_last(ledger), 0);
    assert_int_equal(ledger_charge(ledger, 5, &charge, 1, NULL), PRICER_OK);
    assert_true(charge.allowed);
    assert_int_equal(ledger_charge(ledger, 5, &charge, 1, NULL), PRICER_VALUE);
    assert_false(charge.allowed);
    assert_int_equal(ledger_charge(ledger, 4, &charge, 1, NULL), PRICER_VALUE);
    assert_int_equal(ledger_last(ledger), 5);
    ledger_close(ledger);
    ledger = open_ledger("b");
    assert_int_equal(ledger_last(ledger), 5);
    assert_true(fabs(ledger_spent(ledger, peer) - 1) < 1e-12);
    ledger_close(ledger);
}

/* The noise of a plan, as the library makes it: a slope that is rounded up,
 * times the weight. */
static double plan_noise(double radius, double weight, double ratio)
{
    return nextafter(2 * radius / ratio, INFINITY) * weight;
}

/* A random number between 2^low and 2^high. */
static double scale(uint64_t *seed, double low, double high)
{
    double u = ldexp((double)(test_random(seed) >> 11), -53);
    return exp2(low + u * (high - low));
}

/*
 * A plan for T rounds lasts exactly T, for budgets, radii and weights of every
 * size: the ledger says T before the first release, charges them all, and
 * refuses the next.
 */
static void test_planned_rounds(void **state)
{
    (void)state;
    static const int64_t rounds[] = {1, 2, 3, 7, 40, 365, 1000};
    uint64_t seed = 5;
    struct ledger *ledger = open_ledger("planned");
    int64_t now = 0;
    for (int trial = 0; trial < 210; trial++) {
        int64_t T = rounds[trial % 7];
        struct pricer_budget budget = {.eps = scale(&seed, -7, 11),
                                       .delta = scale(&seed, -60, -1),
                                       .rounds = T,
                                       .p = 1};
        double radius = scale(&seed, -20, 20), weight = scale(&seed, -20, 5);
        double mu = 0;
        char key[64];
        snprintf(key, sizeof key, "key %d", trial);
        assert_int_equal(pricer_calibrate(&budget, &mu, NULL, NULL), PRICER_OK);
        mu = trust_ratio(2 * radius, weight, plan_noise(radius, weight, mu));
        struct ledger_charge charge = {key,          mu,    budget.eps,
                                       budget.delta, false, false};
        if (ledger_left(ledger, &charge) != T)
            fail_msg("%lld of %lld rounds, eps %g delta %g",
                     (long long)ledger_left(ledger, &charge), (long long)T,
                     budget.eps, budget.delta);
        assert_true(trust_allows(budget.eps, budget.delta, mu));
        for (int64_t k = 0; k < T && T <= 40; k++) {
            assert_int_equal(ledger_charge(ledger, ++now, &charge, 1, NULL),
                             PRICER_OK);
            assert_true(charge.allowed);
        }
        if (T > 40)
            continue;
        assert_int_equal(ledger_charge(ledger, ++now, &charge, 1, NULL),
                         PRICER_OK);
        assert_false(charge.allowed);
        /* Never more than the budget, by the library's own account. */
        assert_true(pricer_gaussian_delta(budget.eps,
                                          ledger_spent(ledger, key) *
                                              (1 - 0x1p-49)) <= budget.delta);
    }
    ledger_close(ledger);
}

/* A ledger of version 1 keeps all that was spent. */
static void test_upgrade(void **state)
{
    (void)state;
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(scratch_path("old"), &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(
            database,
            "PRAGMA application_id = 1349667943; PRAGMA user_version = 1;"
            "CREATE TABLE server (key TEXT PRIMARY KEY, last INTEGER NOT NULL)"
            " WITHOUT ROWID;"
            "CREATE TABLE neighbour (server TEXT NOT NULL, node INTEGER NOT"
            " NULL, key TEXT NOT NULL, PRIMARY KEY (server, node)) WITHOUT"
            " ROWID;"
            "CREATE TABLE account (key TEXT PRIMARY KEY, releases INTEGER NOT"
            " NULL, square REAL NOT NULL) WITHOUT ROWID;"
            "CREATE TABLE release (server TEXT NOT NULL, round INTEGER NOT"
            " NULL, key TEXT NOT NULL, mu REAL NOT NULL, PRIMARY KEY (server,"
            " round, key)) WITHOUT ROWID;"
            "INSERT INTO account VALUES ('a', 3, 9.5);"
            "INSERT INTO release VALUES ('s', 1, 'a', 2), ('s', 2, 'a', 2),"
            " ('s', 3, 'a', 1), ('s', 3, 'b', 5)",
            NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(database);
    for (int k = 0; k < 2; k++) {
        struct ledger *ledger = open_ledger("old");
        assert_true(fabs(ledger_spent(ledger, "a") - 3) < 1e-15);
        assert_true(fabs(ledger_spent(ledger, "b") - 5) < 1e-15);
        ledger_close(ledger);
    }
}

/* A ledger of version 2 too: releases that were stored with a probability count
 * in full, rows keep their keys, and what the server got in all is everything
 * where it was not counted. */
static void test_upgrade_2(void **state)
{
    (void)state;
    sqlite3 *database = NULL;
    char *sql = NULL;
    assert_int_equal(sqlite3_open(scratch_path("second"), &database),
                     SQLITE_OK);
    assert_true(
        asprintf(
            &sql,
            "PRAGMA application_id = 1349667943; PRAGMA user_version = 2;"
            "CREATE TABLE server (key TEXT PRIMARY KEY, last INTEGER NOT NULL)"
            " WITHOUT ROWID;"
            "CREATE TABLE neighbour (server TEXT NOT NULL, node INTEGER NOT"
            " NULL, key TEXT NOT NULL, PRIMARY KEY (server, node)) WITHOUT"
            " ROWID;"
            "CREATE TABLE account (key TEXT NOT NULL, mu REAL NOT NULL, p REAL"
            " NOT NULL, releases INTEGER NOT NULL, PRIMARY KEY (key, mu, p))"
            " WITHOUT ROWID;"
            "CREATE TABLE release (server TEXT NOT NULL, round INTEGER NOT"
            " NULL, key TEXT NOT NULL, mu REAL NOT NULL, p REAL NOT NULL"
            " DEFAULT 1, PRIMARY KEY (server, round, key)) WITHOUT ROWID;"
            "CREATE TABLE session (server TEXT PRIMARY KEY, number INTEGER NOT"
            " NULL) WITHOUT ROWID;"
            "INSERT INTO server VALUES ('%s', 7);"
            "INSERT INTO session VALUES ('%s', 5);"
            "INSERT INTO neighbour VALUES ('%s', 3, 'a');"
            "INSERT INTO account VALUES ('a', 2, 1e-9, 3), ('a', 2, 1, 1),"
            " ('%s', 3, 1, 1);"
            "INSERT INTO release VALUES ('%s', 7, 'a', 2, 1e-9)",
            server, server, server, server, server) > 0);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    free(sql);
    sqlite3_close(database);
    for (int k = 0; k < 2; k++) {
        char all[64];
        struct ledger *ledger = open_ledger("second");
        snprintf(all, sizeof all, "all to %s", server);
        assert_true(fabs(ledger_spent(ledger, "a") - 4) < 1e-15);
        assert_true(fabs(ledger_spent(ledger, server) - 3) < 1e-15);
        assert_true(fabs(ledger_spent(ledger, all) - 5) < 1e-14);
        assert_int_equal(ledger_last(ledger), 7);
        assert_int_equal(ledger_session(ledger), 5);
        assert_int_equal(ledger_admit(ledger, 3, NULL, NULL, "b", NULL),
                         PRICER_VALUE);
        assert_int_equal(ledger_admit(ledger, 3, NULL, NULL, "a", NULL),
                         PRICER_OK);
        ledger_close(ledger);
    }
}

/* A bare release has an infinite ratio: only full trust lets it go. */
static void test_bare(void **state)
{
    (void)state;
    struct ledger *ledger = open_ledger("c");
    struct ledger_charge charges[] = {
        {peer, INFINITY, 1000, .1, true, false},
        {other, INFINITY, INFINITY, 1, true, false}};
    assert_int_equal(ledger_charge(ledger, 1, charges, 2, NULL), PRICER_OK);
    assert_false(charges[0].allowed);
    assert_true(charges[1].allowed);
    ledger_close(ledger);
}

/* No statement lowers an account, moves it or takes back that a key follows. */
static void test_only_grows(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "DELETE FROM account",
        "UPDATE account SET releases = releases - 1",
        "UPDATE account SET key = 'x'",
        "UPDATE account SET mu = 0",
        "DELETE FROM follow",
        "UPDATE follow SET old = 'x'",
    };
    struct ledger *ledger = open_ledger("d");
    struct ledger_charge charge = {peer, 1, INFINITY, 1, false, false};
    assert_int_equal(ledger_charge(ledger, 1, &charge, 1, NULL), PRICER_OK);
    assert_int_equal(ledger_admit(ledger, 3, NULL, peer, other, NULL),
                     PRICER_OK);
    ledger_close(ledger);
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(scratch_path("d"), &database), SQLITE_OK);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_int_equal(sqlite3_exec(database, wrong[k], NULL, NULL, NULL),
                         SQLITE_CONSTRAINT);
    sqlite3_close(database);
    ledger = open_ledger("d");
    assert_true(fabs(ledger_spent(ledger, other) - 1) < 1e-12);
    ledger_close(ledger);
}

static void test_one_owner(void **state)
{
    (void)state;
    struct ledger *ledger = open_ledger("e"), *second = NULL;
    assert_int_equal(ledger_open(scratch_path("e"), server, &second, NULL),
                     PRICER_BUSY);
    assert_null(second);
    ledger_close(ledger);
    scratch_text("f", "this is not a ledger, and longer than a header of one");
    assert_int_not_equal(ledger_open(scratch_path("f"), server, &second, NULL),
                         PRICER_OK);
}

/* A child charges and dies at once: the charge is there. */
static void test_dies(void **state)
{
    (void)state;
    for (int round = 1; round <= 20; round++) {
        pid_t child = fork();
        if (child == 0) {
            struct ledger *ledger = NULL;
            struct ledger_charge charge = {peer, 1, INFINITY, 1, false, false};
            if (ledger_open(scratch_path("g"), server, &ledger, NULL) ||
                ledger_charge(ledger, round, &charge, 1, NULL))
                _exit(1);
            kill(getpid(), SIGKILL);
        }
        int how;
        waitpid(child, &how, 0);
        assert_true(WIFSIGNALED(how));
        struct ledger *ledger = open_ledger("g");
        assert_int_equal(ledger_last(ledger), round);
        assert_true(fabs(ledger_spent(ledger, peer) - sqrt(round)) < 1e-9);
        ledger_close(ledger);
    }
}

static enum pricer_status read_trust(const char *text, struct trust *trust,
                                     struct pricer_fault *fault)
{
    return trust_read(scratch_text("trust.csv", text), trust, fault);
}

static void test_trust(void **state)
{
    (void)state;
    struct trust trust = {0};
    struct pricer_fault fault = {""};
    char text[512];
    snprintf(text, sizeof text,
             "# mine\nto,eps,delta,credit,key,name\n"
             "3,1,1e-3,none,%s,kitchen\n0,inf,1,none,,\n5,1,.1,,,\n",
             peer);
    assert_int_equal(read_trust(text, &trust, &fault), PRICER_OK);
    assert_int_equal(trust.count, 3);
    assert_string_equal(trust_find(&trust, 3)->key, peer);
    assert_true(trust_find(&trust, 3)->total_eps == 1);
    assert_true(isinf(trust_find(&trust, 0)->eps));
    assert_null(trust_find(&trust, 1));
    assert_string_equal(trust_label(&trust, 3).text, "kitchen (3)");
    assert_string_equal(trust_label(&trust, 0).text, "0");
    assert_string_equal(trust_label(&trust, 1).text, "1");
    trust_free(&trust);
    char name[PRICER_NAME_TEXT + 1] = "";
    memset(name, 'x', PRICER_NAME_TEXT - 1);
    for (int k = 0; k < 2; k++) { /* the longest, and one more */
        snprintf(text, sizeof text, "to,eps,delta,name\n7,1,.1,%s\n", name);
        assert_true((read_trust(text, &trust, &fault) == PRICER_OK) == !k);
        name[PRICER_NAME_TEXT - 1] = 'x';
    }
    trust_free(&trust);
    const char *const bad[][2] = {
        {"to,eps\n1,2\n", "delta is missing"},
        {"to,eps,delta\n1,0,.1\n", ":2: eps"},
        {"to,eps,delta\n1,1,0\n", ":2: delta"},
        {"to,eps,delta\n1,nan,.1\n", "not a number"},
        {"to,eps,delta\n1,1,.1\n1,1,.1\n", "twice"},
        {"to,eps,delta\n1.5,1,.1\n", "no node"},
        {"to,eps,delta\n1,1\n", "cells"},
        {"to,eps,delta,total_eps\n1,1,.1,1\n", "belong together"},
        {"to,eps,delta,key\n1,1,.1,short\n", "public key"},
        {"to,eps,delta,credit\n1,1,.1,losses\n",
         "trust.csv:2: credit 'losses' is not supported"},
        {"to,eps,delta,name\n1,1,.1,a\033[2Jb\n", "not a name"},
        {"", "no header"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_not_equal(read_trust(bad[k][0], &trust, &fault), PRICER_OK);
        if (strstr(fault.text, bad[k][1]) == NULL)
            fail_msg("'%s' does not say '%s'", fault.text, bad[k][1]);
    }
}

/* The ratio is rounded up and the test is the exact one. */
static void test_allows(void **state)
{
    (void)state;
    assert_true(trust_ratio(2, 0, 0) == 0);
    assert_true(isinf(trust_ratio(2, .5, 0)));
    assert_true(trust_ratio(2, .1, .3) >= 2. / 3);
    assert_true(trust_allows(1, 1e-3, 0));
    assert_false(trust_allows(1, 1e-3, INFINITY));
    assert_true(trust_allows(INFINITY, 1e-3, INFINITY));
    /* sigma 2.57465701864 is exact for (1, 1e-3) at sensitivity 1. */
    assert_true(trust_allows(1, 1e-3, 1 / 2.57465701865));
    assert_false(trust_allows(1, 1e-3, 1 / 2.57465701863));
}

/* A charge that stands for all: where it does not fit, nothing is charged; and
 * neither is it where nothing else fits, since then nothing leaves the node. */
static void test_all(void **state)
{
    (void)state;
    struct ledger *ledger = open_ledger("all");
    double ratios[] = {.3, .4}, mu = trust_ratio_together(ratios, 2);
    assert_true(mu >= .5 && mu < .5 + 1e-15);
    assert_true(isinf(trust_ratio_together((double[]){1, INFINITY}, 2)));
    assert_true(trust_ratio_together(NULL, 0) == 0);
    for (int64_t round = 1; round <= 4; round++) {
        /* 1 and 1e-3 hold a ratio of 1 / 2.57: once 0.3, and not twice */
        struct ledger_charge charges[] = {
            {"all", .3, 1, 1e-3, false, true},
            {peer, 3, 1, 1e-3, true, false},
            {other, 1, INFINITY, 1, false, false}};
        assert_int_equal(ledger_charge(ledger, round, charges, 3, NULL),
                         PRICER_OK);
        assert_true(charges[0].allowed == (round == 1));
        assert_false(charges[1].allowed);
        assert_true(charges[2].allowed == (round == 1));
    }
    assert_true(fabs(ledger_spent(ledger, other) - 1) < 1e-12);
    assert_true(ledger_spent(ledger, peer) == 0);
    for (int64_t round = 5; round <= 9; round++) {
        struct ledger_charge charges[] = {
            {"more", .3, 9, 1e-3, false, true},
            {peer, 3, 1, 1e-3, true, false},
            {other, 1, round == 7 ? INFINITY : 0, 1e-9, false, false}};
        assert_int_equal(ledger_charge(ledger, round, charges, 3, NULL),
                         PRICER_OK);
        assert_true(charges[2].allowed == (round == 7));
        double spent = ledger_spent(ledger, "more");
        assert_true(fabs(spent - (round < 7 ? 0 : .3)) < 1e-12);
        assert_int_equal(ledger_last(ledger), round);
    }
    ledger_close(ledger);
}

static int64_t count_rows(const char *name, const char *sql)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *query = NULL;
    assert_int_equal(sqlite3_open(scratch_path(name), &database), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &query, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(query), SQLITE_ROW);
    int64_t count = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    sqlite3_close(database);
    return count;
}

/* A server that asks for another noise in every round, and for rounds with odd
 * numbers, makes no ledger grow for ever; and no release counts for less. */
static void test_bounded(void **state)
{
    (void)state;
    enum { TRIES = 700, FAR = 4001 };
    struct ledger *ledger = open_ledger("bounded");
    double square = 0;
    for (int k = 1; k <= TRIES; k++) {
        double mu = .01 + k * 1e-7;
        struct ledger_charge charge = {peer, mu, INFINITY, 1, false, false};
        assert_int_equal(ledger_charge(ledger, 2 * k - 1, &charge, 1, NULL),
                         PRICER_OK);
        assert_true(charge.allowed);
        square += mu * mu;
    }
    double spent = ledger_spent(ledger, peer);
    assert_true(spent >= sqrt(square) && spent < 1.07 * sqrt(square));
    for (int k = 1; k <= 5; k++) {
        struct ledger_charge charge = {peer, .01, INFINITY, 1, false, false};
        assert_int_equal(
            ledger_charge(ledger, 2 * TRIES + FAR * k, &charge, 1, NULL),
            PRICER_OK);
    }
    ledger_close(ledger);
    assert_true(count_rows("bounded", "SELECT count(*) FROM account") <= 260);
    assert_true(count_rows("bounded", "SELECT count(*) FROM release") <= 5);
    assert_int_equal(count_rows("bounded", "SELECT sum(releases) FROM account"),
                     TRIES + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_composition),
        cmocka_unit_test(test_planned_rounds),
        cmocka_unit_test(test_upgrade),
        cmocka_unit_test(test_rounds_ascend),
        cmocka_unit_test(test_bare),
        cmocka_unit_test(test_only_grows),
        cmocka_unit_test(test_upgrade_2),
        cmocka_unit_test(test_one_owner),
        cmocka_unit_test(test_dies),
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_allows),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_bounded),
    };
    return cmocka_run_group_tests(tests, scratch_open_memory, scratch_close);
}
