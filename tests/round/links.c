/*
 * Drawing links: the single round equals the bit of 512 rounds, frequencies are
 * right for every kind of pair, and extremes are certain.
 */
#include "tests/test.h"
#include "round/round.h"

#define ALARM 4.9

struct shape {
    double p, back, joint;
};

/* p, p_back and E, from independent to fully reciprocal, with extremes. */
static const struct shape shapes[] = {
    {.5, 0, 0},     {.1, 0, 0},      {.9, .9, .9},    {.5, .5, .5},
    {.3, .6, .18},  {.3, .6, .3},    {.6, .3, .3},    {.3, .6, .25},
    {1, .4, .4},    {.4, 1, .4},     {1, 1, 1},       {0, .7, 0},
    {1e-3, .2, 0},  {.999, .9, .9},  {0x1p-70, 1, 0}, {.25, .75, .1875},
    {.1, .2, .021}, {1 - 1e-9, 0, 0}};

static void test_single_is_bit(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const struct shape *it = &shapes[s];
        struct pri_pair pair = pri_pair_make(it->p, it->back, it->joint);
        uint64_t name = test_random(&seed), forward[8], backward[8];
        int64_t group = (int64_t)(test_random(&seed) % 1000);
        struct pri_threefry_key key = pri_draw_key(name, group);
        pri_draw_pair(&pair, &key, 3, 8, forward, backward);
        for (int r = 0; r < PRI_ROUNDS; r++) {
            int64_t round = group * PRI_ROUNDS + r;
            bool ahead = pricer_round_up(
                name, round,
                &(struct pricer_pair){3, 8, it->p, it->back, it->joint});
            bool back = pricer_round_up(
                name, round,
                &(struct pricer_pair){8, 3, it->back, it->p, it->joint});
            assert_int_equal(ahead, forward[r / 64] >> (r % 64) & 1);
            assert_int_equal(back, backward[r / 64] >> (r % 64) & 1);
        }
    }
}

static void check_count(double count, double trials, double p)
{
    double deviation = sqrt(trials * p * (1 - p));
    if (!(fabs(count - trials * p) <= ALARM * deviation + 1e-9))
        fail_msg("%g of %g, expected %g +- %g", count, trials, trials * p,
                 deviation);
}

static void test_frequencies(void **state)
{
    (void)state;
    enum { GROUPS = 2000 };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const struct shape *it = &shapes[s];
        struct pri_pair pair = pri_pair_make(it->p, it->back, it->joint);
        double up = 0, back = 0, both = 0, trials = GROUPS * PRI_ROUNDS;
        for (int64_t group = 0; group < GROUPS; group++) {
            uint64_t f[8], b[8];
            struct pri_threefry_key key = pri_draw_key(17, group);
            pri_draw_pair(&pair, &key, (int32_t)s, 100, f, b);
            for (int k = 0; k < 8; k++) {
                up += __builtin_popcountll(f[k]);
                back += __builtin_popcountll(b[k]);
                both += __builtin_popcountll(f[k] & b[k]);
            }
        }
        check_count(up, trials, it->p);
        check_count(back, trials, it->back);
        check_count(both, trials, it->joint);
    }
}

/* The levels themselves: P(up) is level / 2^128, so they must be exact. */
static void test_levels_exact(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int trial = 0; trial < 1000; trial++) {
        double p = ldexp(test_uniform(&seed), -(int)(test_random(&seed) % 20));
        double q = test_uniform(&seed);
        double e = p * q + test_uniform(&seed) * (fmin(p, q) - p * q);
        struct pri_pair pair = pri_pair_make(p, q, e);
        pri_wide ahead = pair.level[pair.forward];
        pri_wide both = pair.level[pair.both];
        pri_wide either = pair.level[pair.either];
        assert_true(ldexp((double)(uint64_t)(ahead >> 64), 64) +
                        (double)(uint64_t)ahead ==
                    ldexp(p, 128));
        assert_true(ahead - ahead / 4 * 4 == 0 || p < 0x1p-70);
        pri_wide back = either - ahead + both;
        struct pri_pair other = pri_pair_make(q, 0, 0);
        assert_true(back == other.level[other.forward]);
        assert_true(both <= ahead && ahead <= either);
    }
    struct pri_pair half = pri_pair_make(.5, 0, 0);
    assert_int_equal(half.digits, 1);
    assert_int_equal(half.levels, 1);
    struct pri_pair mutual = pri_pair_make(.3, .3, .3);
    assert_int_equal(mutual.levels, 1);
}

/* Rounds are independent of their neighbours: serial correlation. */
static void test_serial(void **state)
{
    (void)state;
    struct pri_pair pair = pri_pair_make(.5, 0, 0);
    double same = 0, trials = 0;
    uint64_t last[8] = {0};
    for (int64_t group = 0; group < 2000; group++) {
        uint64_t f[8];
        struct pri_threefry_key key = pri_draw_key(5, group);
        pri_draw_pair(&pair, &key, 0, PRICER_SERVER, f, NULL);
        for (int k = 0; k < 8; k++) {
            same += __builtin_popcountll(~(f[k] ^ f[k] >> 1) << 1);
            same += __builtin_popcountll(~(f[k] ^ last[k]));
            trials += 127;
            last[k] = f[k];
        }
    }
    check_count(same, trials, .5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_is_bit),
        cmocka_unit_test(test_frequencies),
        cmocka_unit_test(test_levels_exact),
        cmocka_unit_test(test_serial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
