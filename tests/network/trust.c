/*
 * Changed trust: the copy has it, everything else is equal, and the network
 * itself stays as it was.
 */
#include "tests/sample.h"

/* Whether the networks are the same but for the trust. */
static void check_equal(const struct pricer_network *a,
                        const struct pricer_network *b)
{
    size_t n = (size_t)a->nodes, m = (size_t)a->links;
    assert_int_equal(a->nodes, b->nodes);
    assert_int_equal(a->links, b->links);
    assert_true(a->dimension == b->dimension && a->radius == b->radius);
    assert_memory_equal(a->uplink, b->uplink, n * sizeof(double));
    assert_memory_equal(a->self_delta, b->self_delta, n * sizeof(double));
    assert_memory_equal(a->out_start, b->out_start, (n + 1) * sizeof(int32_t));
    assert_memory_equal(a->in_start, b->in_start, (n + 1) * sizeof(int32_t));
    assert_memory_equal(a->from, b->from, m * sizeof(int32_t));
    assert_memory_equal(a->to, b->to, m * sizeof(int32_t));
    assert_memory_equal(a->partner, b->partner, m * sizeof(int32_t));
    assert_memory_equal(a->in_link, b->in_link, m * sizeof(int32_t));
    assert_memory_equal(a->p, b->p, m * sizeof(double));
    assert_memory_equal(a->joint, b->joint, m * sizeof(double));
    assert_memory_equal(a->delta, b->delta, m * sizeof(double));
}

static void test_changes(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct pricer_network *net = sample_network(&seed, 6, .9, 2, 1);
    struct pricer_network *same = NULL, *changed = NULL;
    int32_t l = net->links / 2, from = net->from[l], to = net->to[l];
    assert_int_equal(pricer_network_retrust(net, NULL, 0, &same, NULL),
                     PRICER_OK);
    struct pricer_trust trust[] = {
        {from, to, 7}, {2, 2, .25}, {from, to, .5}, {4, 4, INFINITY}};
    assert_int_equal(pricer_network_retrust(net, trust, 4, &changed, NULL),
                     PRICER_OK);
    check_equal(net, same);
    check_equal(net, changed);
    for (int32_t k = 0; k < net->links; k++) {
        assert_true(net->eps[k] == same->eps[k]);
        assert_true(changed->eps[k] == (k == l ? .5 : net->eps[k]));
    }
    for (int32_t i = 0; i < net->nodes; i++) {
        assert_true(net->self_eps[i] == same->self_eps[i]);
        assert_true(changed->self_eps[i] == (i == 2   ? .25
                                             : i == 4 ? INFINITY
                                                      : net->self_eps[i]));
    }
    pricer_network_free(net);
    pricer_network_free(same);
    pricer_network_free(changed);
}

static void test_refuses(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct pricer_network *net = sample_network(&seed, 3, 0, 1, 1);
    static const struct {
        struct pricer_trust trust;
        const char *words;
    } bad[] = {{{1, 1, -1}, "eps = -1 is not a positive number or inf"},
               {{1, 1, NAN}, "eps = nan is not a positive number or inf"},
               {{0, 1, 2}, "there is no link 0,1"},
               {{3, 3, 2}, "there is no node 3"},
               {{0, -1, 2}, "there is no node -1"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct pricer_trust trust[] = {{1, 1, 2}, bad[k].trust};
        struct pricer_network *changed = NULL;
        struct pricer_fault fault = {""};
        assert_int_equal(
            pricer_network_retrust(net, trust, 2, &changed, &fault),
            PRICER_VALUE);
        assert_string_equal(fault.text, bad[k].words);
        assert_null(changed);
    }
    pricer_network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
