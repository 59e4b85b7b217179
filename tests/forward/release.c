/*
 * Releases as users of the library see them: published values, composition,
 * payloads that a node makes, and what is refused.
 */
#include "tests/test.h"
#include "pricer_forward.h"
#include "pricer_release.h"

static struct pricer_release_law make(enum pricer_release kind, int64_t d,
                                      double eps, int64_t rounds)
{
    struct pricer_release_law law;
    struct pricer_fault fault = {""};
    if (pricer_release_for_budget(
            &(struct pricer_release_wish){kind, d, rounds, 1, eps, 1e-5, 0},
            &law, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return law;
}

/* The check values of docs/release.md's sources, and the two curves. */
static void test_values(void **state)
{
    static const struct {
        int64_t d, rounds;
        double eps, sphere, gaussian;
    } known[] = {
        {2, 1, 4, .4827078, 9.351288},     {2, 1, 8, .05068122, 2.8822},
        {1, 1, 1, 4.76089, 55.67045},      {16, 1, 2, 24.65707, 254.4184},
        {128, 1, 1, 806.6159, 7125.818},   {128, 1, 8, 16.45667, 184.4608},
        {10000, 1, 4, 4352.489, 46756.44}, {2, 5, 8, 3.95131, 14.411},
    };
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        struct pricer_release_law sphere = make(
            PRICER_RELEASE_SPHERE, known[k].d, known[k].eps, known[k].rounds);
        struct pricer_release_law gaussian = make(
            PRICER_RELEASE_GAUSSIAN, known[k].d, known[k].eps, known[k].rounds);
        struct pricer_release_law best = make(PRICER_RELEASE_BEST, known[k].d,
                                              known[k].eps, known[k].rounds);
        assert_close(sphere.variance, known[k].sphere, 2e-5);
        assert_close(gaussian.variance, known[k].gaussian, 2e-5);
        assert_int_equal(best.kind, PRICER_RELEASE_SPHERE);
        for (int g = 0; g < 2; g++) {
            const struct pricer_release_law *law = g ? &gaussian : &sphere;
            struct pricer_release_law again = {.kind = law->kind,
                                               .dimension = law->dimension,
                                               .rounds = law->rounds,
                                               .radius = law->radius,
                                               .threshold = law->threshold,
                                               .e0 = law->e0,
                                               .noise = law->noise};
            double eps, delta;
            assert_int_equal(pricer_release_complete(&again, NULL), PRICER_OK);
            assert_close(again.variance, law->variance, 1e-15);
            assert_true(again.m == law->m && again.charge == law->charge);
            assert_int_equal(pricer_release_delta(law, known[k].eps,
                                                  known[k].rounds, &delta,
                                                  NULL),
                             PRICER_OK);
            assert_true(delta <= 1e-5);
            assert_int_equal(
                pricer_release_epsilon(law, 1e-5, known[k].rounds, &eps, NULL),
                PRICER_OK);
            assert_true(eps <= known[k].eps && eps > .99 * known[k].eps);
        }
    }
}

static void test_curves(void **state)
{
    static const struct {
        struct pricer_release_law law;
        int64_t rounds;
        double eps, delta;
    } known[] = {
        {{PRICER_RELEASE_SPHERE, .dimension = 2, .radius = 1, .threshold = .3,
          .e0 = 0x.cccccccccp0},
         10,
         4,
         .123935535504},
        {{PRICER_RELEASE_SPHERE, .dimension = 128, .radius = 1,
          .threshold = .06, .e0 = .5},
         20,
         8,
         1.04563252e-6},
    };
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct pricer_release_law law = known[k].law;
        double delta = 0, eps;
        assert_int_equal(pricer_release_complete(&law, NULL), PRICER_OK);
        assert_int_equal(pricer_release_delta(&law, known[k].eps,
                                              known[k].rounds, &delta, NULL),
                         PRICER_OK);
        assert_close(delta, known[k].delta, 5e-9);
        assert_int_equal(
            pricer_release_epsilon(&law, delta, known[k].rounds, &eps, NULL),
            PRICER_OK);
        assert_close(eps, known[k].eps, 1e-9);
        assert_int_equal(
            pricer_release_epsilon(&law, 0, known[k].rounds, &eps, NULL),
            PRICER_OK);
        assert_close(eps, (double)known[k].rounds * (law.e0 + law.charge),
                     1e-12);
    }
}

enum { ROWS = 20000, DIMENSION = 3 };

/* Replayed rows are the releases of nodes 0, 1, ... of a round; the mean of what
 * is decoded is the row, within 6 standard errors a coordinate (once in 10^8). */
static void test_rows(void **state)
{
    static double data[ROWS * DIMENSION], values[ROWS * DIMENSION];
    static unsigned char payload[ROWS * 16], other[ROWS * 16];
    (void)state;
    for (int kind = PRICER_RELEASE_SPHERE; kind <= PRICER_RELEASE_GAUSSIAN;
         kind++) {
        struct pricer_release_law law =
            make((enum pricer_release)kind, DIMENSION, 4, 1);
        struct pricer_release_rows rows = {.count = ROWS,
                                           .data = data,
                                           .replayed = true,
                                           .seed = 7,
                                           .round = 3};
        size_t bytes = (size_t)pricer_forward_payload(law.kind, law.dimension);
        struct pricer_forward_node node = {.release = law.kind,
                                           .threshold = law.threshold,
                                           .loss = law.e0,
                                           .noise = law.noise};
        struct pricer_forward_sender *sender = NULL;
        double mean[DIMENSION] = {0}, square = 0;
        for (int k = 0; k < ROWS * DIMENSION; k++)
            data[k] = k % DIMENSION == 0 ? .6 : .2;
        assert_int_equal(pricer_release_draw(&law, &rows, payload, NULL),
                         PRICER_OK);
        assert_int_equal(
            pricer_forward_sender_new(&node, 1, DIMENSION, &sender, NULL),
            PRICER_OK);
        for (int i = 0; i < 5; i++) {
            struct pricer_random random;
            pricer_random_replay(&random, 7, PRICER_PURPOSE_NOISE, 3, i,
                                 PRICER_SERVER);
            assert_int_equal(
                pricer_forward_release(sender, data, &random, other, NULL),
                PRICER_OK);
            assert_memory_equal(other, payload + (size_t)i * bytes, bytes);
        }
        pricer_forward_sender_free(sender);
        assert_int_equal(
            pricer_release_decode(&law, ROWS, payload, values, NULL),
            PRICER_OK);
        for (int k = 0; k < ROWS * DIMENSION; k++) {
            double off = values[k] - data[k];
            mean[k % DIMENSION] += off / ROWS;
            square += off * off / ROWS;
        }
        double length = sqrt(.6 * .6 + 2 * .2 * .2);
        double v = pricer_release_variance(&law, length);
        for (int k = 0; k < DIMENSION; k++)
            assert_true(fabs(mean[k]) < 6 * sqrt(v / ROWS));
        assert_close(square, v, .05);
        rows.replayed = false; /* the kernel: other bytes each time */
        rows.count = 10;
        assert_int_equal(pricer_release_draw(&law, &rows, other, NULL),
                         PRICER_OK);
        assert_memory_not_equal(other, payload, 10 * bytes);
    }
}

static void test_refused(void **state)
{
    struct pricer_release_law law = make(PRICER_RELEASE_SPHERE, 2, 4, 1);
    double data[4] = {.1, .2, .3, NAN}, number;
    unsigned char payload[32] = {0}, zero[32] = {0};
    struct pricer_fault fault = {""};
    (void)state;
    assert_int_equal(
        pricer_release_draw(
            &law, &(struct pricer_release_rows){.count = 2, .data = data},
            payload, &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text, "entry 1 of row 1 is not a finite number");
    assert_memory_equal(payload, zero, sizeof zero);
    assert_int_equal(pricer_release_delta(&law, -1, 1, &number, NULL),
                     PRICER_VALUE);
    assert_int_equal(pricer_release_delta(&law, 1, 0, &number, NULL),
                     PRICER_VALUE);
    assert_int_equal(pricer_release_epsilon(&law, NAN, 1, &number, NULL),
                     PRICER_VALUE);
    struct pricer_release_law gaussian = make(PRICER_RELEASE_GAUSSIAN, 2, 4, 1);
    memset(payload, 0x7f, sizeof payload);
    double values[4];
    assert_int_equal(
        pricer_release_decode(&gaussian, 2, payload, values, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "row 0: "));
    assert_int_equal(pricer_release_epsilon(&gaussian, 0, 1, &number, NULL),
                     PRICER_OK);
    assert_true(isinf(number));
    law.kind = PRICER_RELEASE_BEST;
    assert_int_equal(pricer_release_delta(&law, 1, 1, &number, NULL),
                     PRICER_VALUE);
    assert_int_equal(pricer_release_complete(&law, NULL), PRICER_VALUE);
    gaussian.noise = 0;
    assert_int_equal(pricer_release_complete(&gaussian, NULL), PRICER_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_curves),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
