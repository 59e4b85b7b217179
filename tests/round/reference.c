/*
 * Changes from a reference. By brute force over pairs of data and references,
 * those of liars among them: what a node shares lies in the ball of the step, so
 * that no two messages are further apart than two steps, also if the reference
 * changes with the data; with one reference they are no further apart than the
 * data. And the estimate that follows stays where a mean can be, which never
 * takes it further from one; also over many rounds with a liar in them.
 */
#include "tests/test.h"
#include "pricer_reference.h"

enum { D = 5, PAIRS = 20000 };
static const double reach = 2, step = .25, weight = 1.7;

/* A vector of a length between 0 and far too long; now and then huge. */
static void draw(uint64_t *state, double longest, double *vector)
{
    double square = 0, length = longest * test_uniform(state);
    if (test_random(state) % 16 == 0)
        length = longest * 1e100 * test_uniform(state);
    if (test_random(state) % 16 == 0)
        length = longest;
    for (int k = 0; k < D; k++) {
        vector[k] = test_uniform(state) - .5;
        square += vector[k] * vector[k];
    }
    for (int k = 0; k < D; k++)
        vector[k] *= length / sqrt(square);
}

static double length_of(const double *a, const double *b)
{
    double square = 0;
    for (int k = 0; k < D; k++) {
        double off = a[k] - (b != NULL ? b[k] : 0);
        square += off * off;
    }
    return sqrt(square);
}

static const struct pricer_slice slice = {.node = 0,
                                          .nodes = 1,
                                          .dimension = D,
                                          .radius = .25,
                                          .diameter = .5,
                                          .reach = 2,
                                          .grid = {-40, INT64_C(1) << 58},
                                          .parts = 1};

/* The message without noise, in units of the data. */
static void share(const double *data, const double *reference, double *sent)
{
    const struct pricer_share part = {0, 1.7, 0};
    double change[D];
    int64_t message[D];
    struct pricer_random random;
    struct pricer_fault fault = {""};
    pricer_random_replay(&random, 1, PRICER_PURPOSE_NOISE, 0, 0, 0);
    if (pricer_round_change(&slice, data, reference, change, &fault) !=
            PRICER_OK ||
        pricer_round_share(&slice, &part, change, &random, message, &fault) !=
            PRICER_OK)
        fail_msg("%s", fault.text);
    for (int k = 0; k < D; k++)
        sent[k] = ldexp((double)message[k], slice.grid.exponent);
}

static void test_sensitivity(void **unused)
{
    uint64_t state = 11;
    double most = 0, gained = 0;
    (void)unused;
    for (int t = 0; t < PAIRS; t++) {
        double x[D], y[D], reference[D], other[D], a[D], b[D], c[D];
        draw(&state, 1.5 * reach, x);
        draw(&state, 1.5 * reach, y);
        draw(&state, 1.2 * reach, reference);
        draw(&state, 1.2 * reach, other);
        if (t % 2 == 0) /* near each other, so that nothing is cut */
            for (int k = 0; k < D; k++) {
                x[k] = reference[k] / (1 + length_of(reference, NULL)) +
                       .1 * (test_uniform(&state) - .5);
                y[k] = x[k] + .05 * (test_uniform(&state) - .5);
                reference[k] /= 1 + length_of(reference, NULL);
            }
        share(x, reference, a);
        share(y, reference, b);
        share(y, other, c);
        assert_true(length_of(a, NULL) <= weight * step);
        assert_true(length_of(a, b) <= 2 * weight * step);
        assert_true(length_of(a, c) <= 2 * weight * step);
        most = fmax(most, length_of(a, c));
        /* Clipping to a ball and taking off a vector bring no two points
         * further apart; rounding is by D steps of the grid. */
        double grid = (sqrt(D) + 8) * ldexp(1, slice.grid.exponent) +
                      1e-13 * weight * reach;
        if (length_of(x, NULL) < 1e3 && length_of(y, NULL) < 1e3) {
            assert_true(length_of(a, b) <= weight * length_of(x, y) + grid);
            gained += length_of(a, b) > 0;
        }
    }
    assert_true(most > 1.9 * weight * step); /* the bound is reached */
    assert_true(gained > PAIRS / 2.0);
}

/* Data are cut to the reach before the reference is taken off. */
static void test_change(void **unused)
{
    uint64_t state = 3;
    (void)unused;
    for (int t = 0; t < PAIRS; t++) {
        double x[D], reference[D], change[D];
        draw(&state, 2 * reach, x);
        draw(&state, reach, reference);
        if (length_of(reference, NULL) > reach)
            continue;
        assert_int_equal(
            pricer_round_change(&slice, x, reference, change, NULL), PRICER_OK);
        double scale = fmin(1, reach / length_of(x, NULL));
        for (int k = 0; k < D; k++)
            assert_true(fabs(change[k] - (x[k] * scale - reference[k])) <
                        1e-13 * reach);
    }
}

static void test_follow(void **unused)
{
    uint64_t state = 5;
    (void)unused;
    for (int t = 0; t < PAIRS; t++) {
        double reference[D], change[D], mean[D], next[D], plain[D];
        draw(&state, reach, reference);
        draw(&state, reach, mean);
        draw(&state, 2 * reach, change);
        if (length_of(reference, NULL) > reach || length_of(mean, NULL) > reach)
            continue;
        for (int k = 0; k < D; k++) {
            next[k] = reference[k];
            plain[k] = reference[k] + change[k];
        }
        pricer_round_follow(reach, change, D, next);
        assert_true(length_of(next, NULL) <= reach * (1 + 1e-11));
        assert_true(length_of(next, mean) <=
                    length_of(plain, mean) * (1 + 1e-11) + 1e-11);
        if (length_of(plain, NULL) <= reach)
            assert_memory_equal(next, plain, sizeof next);
        /* What was brought back stays as it is, to the bit. */
        memcpy(plain, next, sizeof plain);
        memset(change, 0, sizeof change);
        pricer_round_follow(reach, change, D, next);
        assert_memory_equal(next, plain, sizeof next);
    }
}

/* One round of honest nodes, whose weights are `pull` together, and a push. */
static void walk(double data[][D], int nodes, double pull, const double *push,
                 double *reference)
{
    double change[D], sent[D];
    memcpy(change, push, sizeof change);
    for (int i = 0; i < nodes; i++) {
        share(data[i], reference, sent);
        for (int k = 0; k < D; k++)
            change[k] += pull / nodes * sent[k] / weight;
    }
    pricer_round_follow(reach, change, D, reference);
}

/*
 * What docs/threats.md says of a liar: k pushes of length L move the reference by at
 * most k L and never out of the ball of the data; where honest nodes can hold it, the
 * shift tends to L over their weight; where they cannot, it ends at the edge.
 */
static void test_liar(void **unused)
{
    enum { NODES = 4, ROUNDS = 200 };
    uint64_t state = 9;
    (void)unused;
    for (int t = 0; t < 40; t++) {
        double data[NODES][D], a[D] = {0}, b[D] = {0}, push[D], none[D] = {0};
        double pull = .5 + .5 * test_uniform(&state), length;
        for (int i = 0; i < NODES; i++)
            draw(&state, reach, data[i]);
        do
            draw(&state, 2 * step, push);
        while (!((length = length_of(push, NULL)) < 3 * step));
        for (int k = 1; k <= ROUNDS; k++) {
            walk(data, NODES, pull, none, a);
            walk(data, NODES, pull, push, b);
            assert_true(length_of(a, b) <= k * length * (1 + 1e-9) + 1e-9 &&
                        length_of(b, NULL) <= reach * (1 + 1e-11));
        }
    }
    for (int held = 0; held < 2; held++) {
        double data[1][D] = {{0}}, at[D] = {0}, pull = .8;
        double push[D] = {held ? .5 * step : 1.5 * step};
        for (int k = 0; k < ROUNDS; k++)
            walk(data, 1, pull, push, at);
        assert_true(fabs(at[0] - (held ? push[0] / pull : reach)) < 1e-9);
    }
}

static void test_refusals(void **unused)
{
    double x[D] = {1}, reference[D] = {0}, change[D] = {7};
    struct pricer_slice plain = slice;
    struct pricer_fault fault = {""};
    (void)unused;
    x[2] = NAN;
    assert_int_equal(pricer_round_change(&slice, x, reference, change, &fault),
                     PRICER_VALUE);
    assert_non_null(strstr(fault.text, "not finite"));
    x[2] = 0;
    reference[4] = INFINITY;
    assert_int_equal(pricer_round_change(&slice, x, reference, change, &fault),
                     PRICER_VALUE);
    assert_non_null(strstr(fault.text, "reference is not finite"));
    reference[4] = 0;
    plain.reach = 0;
    assert_int_equal(pricer_round_change(&plain, x, reference, change, &fault),
                     PRICER_VALUE);
    assert_true(change[0] == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sensitivity), cmocka_unit_test(test_change),
        cmocka_unit_test(test_follow),      cmocka_unit_test(test_liar),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
