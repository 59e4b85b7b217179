/*
 * The account of releases that everyone hears: a plan for T rounds lasts T
 * rounds, a round has one packet whatever happens, what a plan says is checked,
 * and sums and releases share the budgets of all rows.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "fleet/ledger_release.h"
#include "fleet/neighbours.h"
#include "fleet/trust_file.h"

#include <fcntl.h>
#include <sqlite3.h>

static const char server[] = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
static const char second[] = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";
static const char peer[] = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";

static struct ledger *open_for(const char *name, const char *key,
                               const struct trust *trust)
{
    struct ledger *ledger = NULL;
    struct pricer_fault fault = {""};
    if (ledger_open(scratch_path(name), key, &ledger, &fault))
        fail_msg("%s", fault.text);
    assert_int_equal(ledger_use_trust(ledger, trust, 0, NULL), PRICER_OK);
    return ledger;
}

static struct trust read_rows(const char *rows)
{
    struct trust trust = {0};
    struct pricer_fault fault = {""};
    char text[1024];
    snprintf(text, sizeof text, "to,eps,delta,total_eps,total_delta,key\n%s",
             rows);
    if (trust_read(scratch_text("trust.csv", text), &trust, &fault))
        fail_msg("%s", fault.text);
    return trust;
}

/* The terms of the release that a plan would choose. */
static struct ledger_terms plan(enum pri_release_kind kind, int64_t dimension,
                                double eps, double delta, int64_t rounds)
{
    struct pri_release release;
    struct pri_release_wish wish = {kind, dimension, 1, eps, delta, rounds, 0};
    assert_int_equal(pri_release_for_budget(&wish, &release, NULL), PRICER_OK);
    return (struct ledger_terms){.kind = release.kind,
                                 .dimension = dimension,
                                 .radius = 1,
                                 .t = release.t,
                                 .e0 = release.e0,
                                 .noise = release.noise,
                                 .rounds = rounds,
                                 .eps = eps,
                                 .delta = delta};
}

static struct ledger_round round_of(int64_t number, uint8_t plan_byte)
{
    struct ledger_round round = {.round = number, .reference = number - 1};
    memset(round.study, 7, sizeof round.study);
    memset(round.plan, plan_byte, sizeof round.plan);
    return round;
}

/* Charge a round with a payload of one repeated byte. */
static enum pricer_status charge(struct ledger *ledger, int64_t number,
                                 const struct ledger_terms *terms,
                                 struct pricer_fault *fault)
{
    uint8_t payload[PRI_SEED_BYTES];
    struct ledger_packet packet = {.size = 0};
    struct ledger_round round = round_of(number, 1);
    memset(payload, (int)number, sizeof payload);
    enum pricer_status status = ledger_release(ledger, &round, terms, payload,
                                               sizeof payload, &packet, fault);
    if (status == PRICER_OK)
        assert_memory_equal(packet.payload, payload, sizeof payload);
    else
        assert_null(packet.payload);
    ledger_packet_free(&packet);
    return status;
}

/* A plan for T rounds lasts T rounds, and not one more. */
static void test_planned(void **state)
{
    (void)state;
    static const int64_t rounds[] = {1, 2, 5, 10, 40};
    static const int64_t dimensions[] = {1, 2, 16, 1000};
    static const double budgets[][2] = {
        {4, 0}, {1, 1e-5}, {8, 1e-5}, {.3, 1e-9}, {30, 1e-3}};
    int made = 0;
    for (int k = 0; k < 200; k++) {
        const double *budget = budgets[k % 5];
        int64_t T = rounds[k / 5 % 5];
        bool sphere = k / 25 % 2 || budget[1] == 0;
        char name[32], row[96];
        snprintf(name, sizeof name, "planned %d", k);
        snprintf(row, sizeof row, "everyone,%.17g,%.17g,,,\n", budget[0],
                 budget[1]);
        struct trust trust = read_rows(row);
        struct ledger *ledger = open_for(name, server, &trust);
        struct ledger_terms terms =
            plan(sphere ? PRI_RELEASE_SPHERE : PRI_RELEASE_GAUSSIAN,
                 dimensions[k / 50], budget[0], budget[1], T);
        struct pricer_fault fault = {""};
        int64_t left = -1;
        if (T > 5 && k % 3) { /* files on a disk take their time */
            ledger_close(ledger);
            trust_free(&trust);
            continue;
        }
        for (int64_t r = 1; r <= T; r++) {
            if (ledger_release_left(ledger, &terms, &left, &fault))
                fail_msg("%s", fault.text);
            assert_true(left >= T - r + 1);
            if (charge(ledger, r, &terms, &fault))
                fail_msg("%s", fault.text);
        }
        /* Where eps was no limit but the largest e0 was, more may fit. */
        if (!sphere || terms.e0 < 12) {
            assert_int_equal(left, 1);
            assert_int_equal(charge(ledger, T + 1, &terms, &fault),
                             PRICER_INFEASIBLE);
            assert_int_equal(ledger_last(ledger), T);
            made++;
        }
        ledger_close(ledger);
        trust_free(&trust);
    }
    assert_true(made > 80);
}

/* One packet a round: for new data, a new plan, after a restart; then nothing. */
static void test_stored(void **state)
{
    (void)state;
    struct trust trust = read_rows("everyone,8,1e-5,,,\n");
    struct ledger_terms terms = plan(PRI_RELEASE_SPHERE, 2, 8, 1e-5, 5);
    struct ledger_packet packet = {.size = 0};
    struct ledger *ledger = open_for("stored", server, &trust);
    assert_int_equal(ledger_stored(ledger, 3, &packet, NULL),
                     PRICER_INFEASIBLE);
    assert_int_equal(charge(ledger, 3, &terms, NULL), PRICER_OK);
    for (int k = 0; k < 3; k++) {
        struct ledger_round other = round_of(3, 9);
        other.reference = 0;
        uint8_t data[PRI_SEED_BYTES] = {200};
        struct ledger_terms lower = terms;
        lower.e0 /= 2;
        assert_int_equal(ledger_release(ledger, &other, &lower, data,
                                        sizeof data, &packet, NULL),
                         PRICER_OK);
        assert_int_equal(packet.size, PRI_SEED_BYTES);
        for (size_t b = 0; b < packet.size; b++)
            assert_int_equal(packet.payload[b], 3);
        assert_int_equal(packet.about.round, 3);
        assert_int_equal(packet.about.reference, 2);
        assert_int_equal(packet.about.plan[5], 1);
        assert_int_equal(packet.kind, PRI_RELEASE_SPHERE);
        ledger_packet_free(&packet);
        ledger_close(ledger);
        ledger = open_for("stored", server, &trust);
        assert_int_equal(ledger_last(ledger), 3);
    }
    assert_int_equal(charge(ledger, 2, &terms, NULL), PRICER_VALUE);
    assert_int_equal(charge(ledger, INT64_MAX, &terms, NULL), PRICER_VALUE);
    assert_int_equal(ledger_last(ledger), 3);
    /* Another server's rounds are its own; the account is not. */
    ledger_close(ledger);
    ledger = open_for("stored", second, &trust);
    assert_int_equal(ledger_last(ledger), 0);
    assert_int_equal(ledger_stored(ledger, 3, &packet, NULL),
                     PRICER_INFEASIBLE);
    for (int64_t r = 2; r <= 5; r++)
        assert_int_equal(charge(ledger, r, &terms, NULL), PRICER_OK);
    assert_int_equal(charge(ledger, 6, &terms, NULL), PRICER_INFEASIBLE);
    assert_int_equal(ledger_stored(ledger, 4, &packet, NULL), PRICER_VALUE);
    assert_int_equal(ledger_stored(ledger, 5, &packet, NULL), PRICER_OK);
    ledger_packet_free(&packet);
    ledger_close(ledger);
    ledger = open_for("stored", server, &trust);
    assert_int_equal(charge(ledger, 7, &terms, NULL), PRICER_INFEASIBLE);
    assert_int_equal(ledger_stored(ledger, 3, &packet, NULL), PRICER_OK);
    ledger_packet_free(&packet);
    /* A round that sums have charged has no packet. */
    struct ledger_charge sums = {peer, 0, INFINITY, 1, false, false};
    assert_int_equal(ledger_charge(ledger, 8, &sums, 1, NULL), PRICER_OK);
    assert_int_equal(ledger_stored(ledger, 8, &packet, NULL), PRICER_VALUE);
    ledger_close(ledger);
    trust_free(&trust);
}

/* What a plan says is computed again. */
static void test_terms(void **state)
{
    (void)state;
    const struct ledger_terms good = plan(PRI_RELEASE_SPHERE, 2, 8, 1e-5, 5);
    const struct ledger_terms normal =
        plan(PRI_RELEASE_GAUSSIAN, 2, 8, 1e-5, 5);
    struct pri_release release;
    struct pricer_budget cost;
    struct pricer_fault fault;
    assert_int_equal(ledger_terms_check(&good, &release, &cost, &fault),
                     PRICER_OK);
    assert_true(cost.eps == 8 && cost.delta == 1e-5);
    assert_int_equal(ledger_terms_check(&normal, &release, &cost, &fault),
                     PRICER_OK);
    struct ledger_terms bad[16];
    int count = 0;
    for (int k = 0; k < 2; k++) {
        const struct ledger_terms *from = k ? &normal : &good;
        bad[count] = *from, bad[count++].eps = 7.9;
        bad[count] = *from, bad[count++].delta = 9e-6;
        bad[count] = *from, bad[count++].rounds = 6;
        bad[count] = *from, bad[count++].rounds = 0;
        bad[count] = *from, bad[count++].eps = INFINITY;
        bad[count] = *from, bad[count++].delta = NAN;
    }
    bad[count] = good, bad[count++].e0 += 0x1p-20;
    bad[count] = good, bad[count++].e0 = NAN;
    bad[count] = normal, bad[count++].noise *= .999;
    bad[count] = normal, bad[count++].radius *= 1.001;
    assert_int_equal(count, 16);
    struct trust trust = read_rows("everyone,8,1e-5,,,\n");
    struct ledger *ledger = open_for("terms", server, &trust);
    for (int k = 0; k < count; k++) {
        fault.text[0] = '\0';
        assert_int_equal(ledger_terms_check(&bad[k], NULL, NULL, &fault),
                         PRICER_VALUE);
        assert_true(fault.text[0] != '\0');
        assert_int_equal(charge(ledger, 1, &bad[k], NULL), PRICER_VALUE);
    }
    assert_int_equal(ledger_last(ledger), 0);
    /* One round costs its loss, and no delta. */
    struct ledger_terms once = plan(PRI_RELEASE_SPHERE, 2, 4, 1e-5, 1);
    assert_int_equal(ledger_terms_check(&once, NULL, &cost, NULL), PRICER_OK);
    assert_true(cost.delta == 0 && cost.eps <= 4 && cost.eps > 4 - 1e-8);
    ledger_close(ledger);
    trust_free(&trust);
}

/* Later plans: less of the same, or what is left; nothing else. */
static void test_later(void **state)
{
    (void)state;
    struct trust trust = read_rows("everyone,8,1e-5,,,\n");
    struct ledger *ledger = open_for("later", server, &trust);
    struct ledger_terms first = plan(PRI_RELEASE_SPHERE, 16, 6, 5e-6, 4);
    struct ledger_terms other = plan(PRI_RELEASE_SPHERE, 16, 3, 5e-6, 2);
    struct ledger_terms small = plan(PRI_RELEASE_SPHERE, 16, 1.5, 4e-6, 3);
    struct ledger_terms lower = first, larger = first;
    struct ledger_account account;
    struct pricer_fault fault = {""};
    int64_t left;
    assert_int_equal(charge(ledger, 1, &first, &fault), PRICER_OK);
    lower.e0 = floor(.7 * lower.e0 * 0x1p40) * 0x1p-40;
    assert_int_equal(ledger_release_left(ledger, &lower, &left, NULL),
                     PRICER_OK);
    assert_int_equal(charge(ledger, 2, &lower, &fault), PRICER_OK);
    assert_int_equal(ledger_account(ledger, &account, NULL), PRICER_OK);
    assert_true(account.entries == 1 && account.released == 2);
    assert_true(account.eps == 6 && account.delta == 5e-6);
    assert_int_equal(charge(ledger, 3, &other, &fault), PRICER_INFEASIBLE);
    assert_non_null(strstr(fault.text, "line 2"));
    assert_non_null(strstr(fault.text, "everyone"));
    larger.e0 *= 1.5;
    larger.eps = 8;
    larger.delta = 1e-5;
    assert_int_not_equal(charge(ledger, 3, &larger, &fault), PRICER_OK);
    assert_int_equal(charge(ledger, 3, &small, &fault), PRICER_OK);
    assert_int_equal(charge(ledger, 4, &first, &fault), PRICER_OK);
    assert_int_equal(ledger_account(ledger, &account, NULL), PRICER_OK);
    assert_true(account.entries == 2 && account.released == 4);
    assert_true(account.eps == 7.5 && account.delta >= 9e-6);
    assert_int_equal(charge(ledger, 5, &first, &fault), PRICER_OK);
    assert_int_equal(charge(ledger, 6, &first, &fault), PRICER_INFEASIBLE);
    assert_int_equal(charge(ledger, 6, &small, &fault), PRICER_OK);
    assert_int_equal(charge(ledger, 7, &small, &fault), PRICER_OK);
    assert_int_equal(charge(ledger, 8, &small, &fault), PRICER_INFEASIBLE);
    /* A smaller budget than what is taken stops all, also rounds that are
     * left; a larger one does not forget. */
    struct trust less = read_rows("everyone,7,1e-5,,,\n");
    struct trust more = read_rows("everyone,13.5,2e-5,,,\n");
    assert_int_equal(ledger_use_trust(ledger, &less, 0, NULL), PRICER_OK);
    assert_int_equal(charge(ledger, 8, &lower, &fault), PRICER_INFEASIBLE);
    assert_int_equal(ledger_use_trust(ledger, &more, 0, NULL), PRICER_OK);
    assert_int_equal(ledger_release_left(ledger, &first, &left, NULL),
                     PRICER_OK);
    assert_int_equal(left, 4);
    for (int64_t r = 8; r <= 11; r++)
        assert_int_equal(charge(ledger, r, &first, &fault), PRICER_OK);
    assert_int_equal(charge(ledger, 12, &first, &fault), PRICER_INFEASIBLE);
    ledger_close(ledger);
    trust_free(&trust);
    trust_free(&less);
    trust_free(&more);
}

/* Whether the next round of these terms may be charged by these rows. */
static bool allows(const char *name, const char *rows,
                   const struct ledger_terms *terms, const char *why)
{
    struct trust trust = read_rows(rows);
    struct ledger *ledger = open_for(name, server, &trust);
    struct pricer_fault fault = {""};
    int64_t left = 0;
    enum pricer_status status =
        ledger_release_left(ledger, terms, &left, &fault);
    if (status != PRICER_OK && strstr(fault.text, why) == NULL)
        fail_msg("'%s' does not say '%s'", fault.text, why);
    assert_true(status == PRICER_OK || status == PRICER_INFEASIBLE);
    assert_true(
        (status == PRICER_OK) ==
        (charge(ledger, ledger_last(ledger) + 1, terms, NULL) == PRICER_OK));
    ledger_close(ledger);
    trust_free(&trust);
    return status == PRICER_OK;
}

/* A release reaches everyone: it must fit all rows, also where sums went. */
static void test_rows(void **state)
{
    (void)state;
    const struct ledger_terms terms = plan(PRI_RELEASE_SPHERE, 2, 4, 1e-5, 5);
    char rows[512];
    assert_false(allows("none", "3,9,1e-3,9,1e-3,\n", &terms, "no row"));
    assert_true(
        allows("some", "everyone,4,1e-5,,,\n3,4,1e-5,4,1e-5,\n", &terms, ""));
    assert_false(allows("total", "everyone,4,1e-5,,,\n3,9,1e-5,3.9,1e-5,\n",
                        &terms, "line 3"));
    assert_false(allows("delta", "everyone,4,1e-5,,,\nserver,9,1e-6,,,\n",
                        &terms, "server"));
    assert_false(allows("once", "everyone,4,1e-5,,,\n3,.2,1e-5,9,1e-5,\n",
                        &terms, "in one release"));
    assert_true(allows("free", "everyone,inf,1,,,\n3,inf,1,,,\n", &terms, ""));
    /* Sums went to a neighbour of row 3: ratio 0.5. */
    struct trust trust = {0};
    struct ledger *ledger = open_for("sums", server, &trust);
    struct ledger_charge sums[] = {{"all to x", .5, INFINITY, 1, false, true},
                                   {peer, .5, INFINITY, 1, false, false}};
    assert_int_equal(ledger_charge(ledger, 1, sums, 2, NULL), PRICER_OK);
    assert_true(sums[1].allowed);
    ledger_close(ledger);
    assert_false(allows("sums", "everyone,4,1e-5,,,\n", &terms, "no row"));
    snprintf(rows, sizeof rows,
             "everyone,4,1e-5,,,\n3,4,1e-5,4.5,1e-4,%s\nserver,inf,1,,,\n",
             peer);
    assert_false(allows("sums", rows, &terms, "leave too little"));
    /* 0.5 costs delta 9e-5 from this eps on, by the library */
    double eps = 0;
    while (pricer_gaussian_delta(eps, .5) > 9e-5)
        eps += .001;
    for (int k = -1; k <= 1; k += 2) {
        snprintf(rows, sizeof rows,
                 "everyone,4,1e-5,,,\n3,9,1e-5,%.17g,1e-4,%s\n"
                 "server,inf,1,,,\n",
                 4 + eps + k * .002, peer);
        assert_int_equal(allows("sums", rows, &terms, "leave"), k > 0);
    }
}

/* Sums get what the row for everyone leaves, before and after releases. */
static void test_sums(void **state)
{
    (void)state;
    const struct ledger_terms terms = plan(PRI_RELEASE_SPHERE, 2, 4, 1e-5, 5);
    struct trust bare = read_rows("3,9,1e-5,5,2e-5,\n");
    struct trust both = read_rows("everyone,4,1e-5,,,\n3,9,1e-5,5,2e-5,\n");
    struct ledger *ledger = open_for("before", server, &bare);
    struct ledger_charge whole = {peer, .01, 5, 2e-5, false, false};
    struct ledger_charge rest = {peer, .01, 1, 1e-5, false, false};
    struct ledger_charge all = {"all to x", .01, INFINITY, 1, false, true};
    int64_t of_all = ledger_left(ledger, &whole);
    int64_t of_rest = ledger_left(ledger, &rest);
    assert_true(of_rest < of_all / 2 && of_rest > 100);
    assert_int_equal(ledger_left(ledger, &all), LEDGER_NO_END);
    assert_int_equal(ledger_use_trust(ledger, &both, 0, NULL), PRICER_OK);
    assert_int_equal(ledger_left(ledger, &whole), of_rest);
    assert_int_equal(ledger_left(ledger, &all), 0); /* there is no row server */
    all.allowed = true;
    assert_int_equal(ledger_charge(ledger, 1, &all, 1, NULL), PRICER_OK);
    assert_false(all.allowed);
    assert_int_equal(charge(ledger, 2, &terms, NULL), PRICER_OK);
    assert_int_equal(ledger_left(ledger, &whole), of_rest);
    /* The row is gone, what was released is not. */
    assert_int_equal(ledger_use_trust(ledger, &bare, 0, NULL), PRICER_OK);
    assert_int_equal(ledger_left(ledger, &whole), of_rest);
    ledger_close(ledger);
    ledger = open_for("before", server, &bare);
    assert_int_equal(ledger_left(ledger, &whole), of_rest);
    ledger_close(ledger);
    trust_free(&bare);
    trust_free(&both);
}

/* No statement takes back an entry or changes a packet. */
static void test_only_grows(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "DELETE FROM entry",
        "UPDATE entry SET used = used - 1",
        "UPDATE entry SET used = rounds + 1",
        "UPDATE entry SET rounds = rounds + 1",
        "UPDATE entry SET eps = eps / 2",
        "UPDATE entry SET delta = 0",
        "UPDATE entry SET e0 = 2 * e0",
        "UPDATE entry SET t = 2 * t",
        "DELETE FROM packet",
        "UPDATE packet SET payload = x'00'",
        "UPDATE packet SET round = 7",
    };
    struct trust trust = read_rows("everyone,8,1e-5,,,\n");
    struct ledger_terms terms = plan(PRI_RELEASE_SPHERE, 2, 8, 1e-5, 5);
    struct ledger *ledger = open_for("grows", server, &trust);
    assert_int_equal(charge(ledger, 1, &terms, NULL), PRICER_OK);
    assert_int_equal(charge(ledger, 2, &terms, NULL), PRICER_OK);
    ledger_close(ledger);
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(scratch_path("grows"), &database), SQLITE_OK);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        if (sqlite3_exec(database, wrong[k], NULL, NULL, NULL) !=
            SQLITE_CONSTRAINT)
            fail_msg("%s", wrong[k]);
    sqlite3_close(database);
    trust_free(&trust);
}

/* A ledger of version 3 gets the tables and keeps what it has. */
static void test_upgrade(void **state)
{
    (void)state;
    struct trust trust = read_rows("everyone,8,1e-5,,,\n");
    struct ledger_terms terms = plan(PRI_RELEASE_SPHERE, 2, 8, 1e-5, 5);
    struct ledger *ledger = open_for("third", server, &trust);
    struct ledger_charge sums = {"k", 2, INFINITY, 1, false, false};
    assert_int_equal(ledger_charge(ledger, 4, &sums, 1, NULL), PRICER_OK);
    ledger_close(ledger);
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(scratch_path("third"), &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(database,
                     "DROP TABLE entry; DROP TABLE packet; PRAGMA user_version "
                     "= 3",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(database);
    for (int k = 0; k < 2; k++) {
        ledger = open_for("third", server, &trust);
        assert_close(ledger_spent(ledger, "k"), 2, 1e-12);
        assert_int_equal(ledger_last(ledger), 4);
        assert_int_equal(charge(ledger, 4, &terms, NULL), PRICER_VALUE);
        assert_int_equal(charge(ledger, 5, &terms, NULL), PRICER_INFEASIBLE);
        ledger_close(ledger);
    }
    trust_free(&trust);
}

static void test_trust(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"to,eps,delta\neveryone,1,-1\n", ":2: delta"},
        {"to,eps,delta\neveryone,0,0\n", ":2: eps"},
        {"to,eps,delta,total_eps,total_delta\n1,1,.1,1,.1\n"
         "everyone,1,.1,2,.1\n",
         ":3: eps and delta of everyone are for all rounds"},
        {"to,eps,delta,total_eps,total_delta\n1,1,.1,1,\n", "together"},
        {"to,eps,delta\neveryone,1,.1\n\n# x\neveryone,2,.1\n1,1,.1\n",
         ":5: everyone is there twice"},
        {"to,eps,delta\n2,1,.1\n3,1,.1\n2,1,.1\n3,1,.1\n", ":4: node 2 is"},
        {"to,eps,delta\nall,1,.1\n", "nor 'server' or 'everyone'"},
    };
    struct trust trust = {0};
    struct pricer_fault fault = {""};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_not_equal(
            trust_read(scratch_text("bad.csv", bad[k][0]), &trust, &fault),
            PRICER_OK);
        if (strstr(fault.text, bad[k][1]) == NULL)
            fail_msg("'%s' does not say '%s'", fault.text, bad[k][1]);
    }
    trust = read_rows("everyone,2,0,,,\n4,1,.1,2,.2,\n5,1,.1,,,\n");
    assert_true(trust_find(&trust, TRUST_EVERYONE)->total_eps == 2);
    assert_true(trust_find(&trust, TRUST_EVERYONE)->delta == 0);
    assert_true(trust_find(&trust, 4)->total_eps == 2);
    assert_true(trust_find(&trust, 5)->total_delta == .1);
    assert_string_equal(trust_label(&trust, TRUST_EVERYONE).text, "everyone");
    trust_free(&trust);
}

static void test_neighbours(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"node,key\n", ":1: the column address is missing"},
        {"node,key,address,where\n", "no column 'where'"},
        {"node,key,address\n-1,K,\n", ":2: '-1' is no node"},
        {"node,key,address\n1,K,\n\n2,x,\n", ":4: 'x' is not a public key"},
        {"node,key,address\n1,K,10.0.0.1\n", "'10.0.0.1' is not an address"},
        {"node,key,address\n1,K,\n2,K,\n", ":3: the key of node"},
        {"node,key,address\n3,K,\n1,L,\n3,M,\n", ":4: the row of node 3 is"},
        {"node,key,address,name\n1,K,,a\tb\n", "not a name"},
    };
    struct neighbours neighbours = {0};
    struct pricer_fault fault = {""};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char text[512] = "";
        for (const char *at = bad[k][0]; *at != '\0'; at++) {
            const char *key = *at == 'K'   ? peer
                              : *at == 'L' ? server
                              : *at == 'M' ? second
                                           : NULL;
            sprintf(text + strlen(text), key != NULL ? "%s" : "%.1s",
                    key != NULL ? key : at);
        }
        assert_int_not_equal(neighbours_read(scratch_text("near.csv", text),
                                             &neighbours, &fault),
                             PRICER_OK);
        if (strstr(fault.text, bad[k][1]) == NULL)
            fail_msg("'%s' does not say '%s'", fault.text, bad[k][1]);
    }
    char text[512];
    snprintf(text, sizeof text,
             "# near\naddress,node,key,name\ntcp://10.0.0.3:7100,9,%s,\n"
             ",4,%s,\"the kitchen\"\n",
             peer, server);
    assert_int_equal(
        neighbours_read(scratch_text("near.csv", text), &neighbours, &fault),
        PRICER_OK);
    assert_int_equal(neighbours.count, 2);
    assert_string_equal(neighbours_find(&neighbours, 4)->name, "the kitchen");
    assert_string_equal(neighbours_find(&neighbours, 4)->address, "");
    assert_string_equal(neighbours_find(&neighbours, 9)->key, peer);
    assert_null(neighbours_find(&neighbours, 5));
    neighbours_free(&neighbours);
    assert_int_equal(
        neighbours_read(scratch_text("near.csv", "node,key,address\n"),
                        &neighbours, &fault),
        PRICER_OK);
    assert_int_equal(neighbours.count, 0);
    assert_null(neighbours_find(&neighbours, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trust),   cmocka_unit_test(test_terms),
        cmocka_unit_test(test_planned), cmocka_unit_test(test_stored),
        cmocka_unit_test(test_later),   cmocka_unit_test(test_rows),
        cmocka_unit_test(test_sums),    cmocka_unit_test(test_only_grows),
        cmocka_unit_test(test_upgrade), cmocka_unit_test(test_neighbours),
    };
    return cmocka_run_group_tests(tests, scratch_open_memory, scratch_close);
}
