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
        struct ledger_charge charges[] = {{peer, mu, eps, delta, true, 0},
                                          {other, mu, INFINITY, 1, true, 0}};
        assert_int_equal(ledger_charge(ledger, round, charges, 2, NULL),
                         PRICER_OK);
        assert_true(charges[1].allowed);
        if (charges[0].allowed)
            allowed++;
        else
            assert_true(round > expected);
    }
    assert_in_range(allowed, expected - 1, expected);
    assert_true(allowed > 50);
    assert_true(ledger_spent(ledger, peer) >= mu * sqrt((double)allowed));
    ledger_close(ledger);
}

static void test_rounds_ascend(void **state)
{
    (void)state;
    struct ledger *ledger = open_ledger("b");
    struct ledger_charge charge = {peer, 1, INFINITY, 1, true, 0};
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

/* A bare release has an infinite ratio: only full trust lets it go. */
static void test_bare(void **state)
{
    (void)state;
    struct ledger *ledger = open_ledger("c");
    struct ledger_charge charges[] = {{peer, INFINITY, 1000, .1, true, 0},
                                      {other, INFINITY, INFINITY, 1, true, 0}};
    assert_int_equal(ledger_charge(ledger, 1, charges, 2, NULL), PRICER_OK);
    assert_false(charges[0].allowed);
    assert_true(charges[1].allowed);
    ledger_close(ledger);
}

static void test_pins(void **state)
{
    (void)state;
    struct ledger *ledger = open_ledger("d");
    assert_int_equal(ledger_pin(ledger, 3, peer, NULL), PRICER_OK);
    assert_int_equal(ledger_pin(ledger, 3, peer, NULL), PRICER_OK);
    assert_int_equal(ledger_pin(ledger, 3, other, NULL), PRICER_VALUE);
    assert_int_equal(ledger_pin(ledger, 4, other, NULL), PRICER_OK);
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
            struct ledger_charge charge = {peer, 1, INFINITY, 1, false, 0};
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
             "# mine\nto,eps,delta,key\n3,1,1e-3,%s\n0,inf,1,\n", peer);
    assert_int_equal(read_trust(text, &trust, &fault), PRICER_OK);
    assert_int_equal(trust.count, 2);
    assert_string_equal(trust_find(&trust, 3)->key, peer);
    assert_true(trust_find(&trust, 3)->total_eps == 1);
    assert_true(isinf(trust_find(&trust, 0)->eps));
    assert_null(trust_find(&trust, 1));
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
    assert_true(trust_ratio(1, 0, 0) == 0);
    assert_true(isinf(trust_ratio(1, .5, 0)));
    assert_true(trust_ratio(1, .1, .3) >= 2. / 3);
    assert_true(trust_allows(1, 1e-3, 0));
    assert_false(trust_allows(1, 1e-3, INFINITY));
    assert_true(trust_allows(INFINITY, 1e-3, INFINITY));
    /* sigma 2.57465701864 is exact for (1, 1e-3) at sensitivity 1. */
    assert_true(trust_allows(1, 1e-3, 1 / 2.57465701865));
    assert_false(trust_allows(1, 1e-3, 1 / 2.57465701863));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_composition),
        cmocka_unit_test(test_rounds_ascend),
        cmocka_unit_test(test_bare),
        cmocka_unit_test(test_pins),
        cmocka_unit_test(test_one_owner),
        cmocka_unit_test(test_dies),
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_allows),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
