/*
 * Lists of releases: bounds from above and close, against sums over all pairs;
 * what a list allows later; what is left after basic composition.
 */
#include "tests/test.h"
#include "release/release.h"
#include "calibrate/calibrate.h"

static struct pri_release_entry sphere(int64_t dimension, double t, double e0,
                                       int64_t rounds)
{
    return (struct pri_release_entry){.kind = PRI_RELEASE_SPHERE,
                                      .dimension = dimension,
                                      .t = t,
                                      .e0 = e0,
                                      .rounds = rounds};
}

static double list_delta(const struct pri_release_entry *entries, int32_t count,
                         double eps)
{
    double delta = -1;
    struct pricer_fault fault = {""};
    if (pri_release_list_delta(entries, count, eps, &delta, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return delta;
}

/* Law of the sum of signs of an entry, by repeated convolution. */
enum { MOST = 40 };
static void law_of(const struct pri_release_entry *entry,
                   long double law[2 * MOST + 1])
{
    struct pri_cap cap;
    long double next[2 * MOST + 1], e = expl(-(long double)entry->e0);
    pri_cap_at(entry->dimension + 1, entry->t, &cap);
    long double p = cap.share / (cap.share + (1 - cap.share) * e), s = p * e;
    memset(law, 0, (2 * MOST + 1) * sizeof *law);
    law[MOST] = 1;
    for (int64_t r = 0; r < entry->rounds; r++) {
        for (int n = 0; n <= 2 * MOST; n++)
            next[n] = (n > 0 ? law[n - 1] * p : 0) + law[n] * (1 - p - s) +
                      (n < 2 * MOST ? law[n + 1] * s : 0);
        memcpy(law, next, sizeof next);
    }
}

static void test_pairs(void **state)
{
    uint64_t seed = 3;
    static long double first[2 * MOST + 1], second[2 * MOST + 1];
    (void)state;
    for (int k = 0; k < 12; k++) {
        struct pri_release_entry entries[2];
        for (int i = 0; i < 2; i++)
            entries[i] =
                sphere(1 + k, .05 + .4 * test_uniform(&seed),
                       floor(0x1p40 * (.1 + test_uniform(&seed))) * 0x1p-40,
                       1 + (int64_t)(test_random(&seed) % (MOST - 1)));
        law_of(&entries[0], first);
        law_of(&entries[1], second);
        for (double eps = 0; eps < 12; eps += 2.3) {
            long double sum = 0;
            for (int a = -MOST; a <= MOST; a++)
                for (int b = -MOST; b <= MOST; b++) {
                    long double l = a * (long double)entries[0].e0 +
                                    b * (long double)entries[1].e0;
                    if (l > eps)
                        sum += first[MOST + a] * second[MOST + b] *
                               -expm1l(eps - l);
                }
            double claim = list_delta(entries, 2, eps);
            assert_true(claim >= sum * (1 - 1e-14L));
            assert_true(claim <= sum * 1.01L + 1e-20L);
        }
    }
}

/* Two Gaussians are one, of ratios added in squares; the same releases in two
 * entries are one entry. */
static void test_gaussian(void **state)
{
    struct pri_release_entry entries[] = {
        {.kind = PRI_RELEASE_GAUSSIAN, .ratio = .5, .rounds = 4},
        {.kind = PRI_RELEASE_GAUSSIAN, .ratio = .2, .rounds = 30},
    };
    double mu = sqrt(4 * .25 + 30 * .04);
    (void)state;
    for (double eps = 0; eps < 8; eps += 1) {
        double claim = list_delta(entries, 2, eps);
        double truth = pri_gaussian_below(eps, mu);
        assert_true(claim >= truth * (1 - 1e-14));
        assert_true(claim <= truth * 1.001);
    }
    struct pri_release_entry twice[] = {sphere(5, .2, .5, 3),
                                        sphere(5, .2, .5, 9)};
    struct pri_release_entry once = sphere(5, .2, .5, 12);
    assert_true(list_delta(twice, 2, 2) == list_delta(&once, 1, 2));
}

/* A sphere and a Gaussian: by conditioning on the sum of signs. */
static void test_mixed(void **state)
{
    static long double law[2 * MOST + 1];
    struct pri_release_entry entries[] = {
        sphere(3, .3, .5, 10),
        {.kind = PRI_RELEASE_GAUSSIAN, .ratio = .7, .rounds = 2},
    };
    long double mu = .7L * sqrtl(2);
    (void)state;
    law_of(&entries[0], law);
    for (double eps = .1; eps < 7; eps += 1.3) {
        long double sum = 0;
        for (int a = -MOST; a <= MOST; a++) {
            long double left = eps - .5L * a;
            /* delta at a negative eps: 1 - e^eps (1 - delta(-eps)). */
            long double delta =
                left >= 0
                    ? pri_gaussian_above(left, mu)
                    : 1 - expl(left) * (1 - pri_gaussian_above(-left, mu));
            sum += law[MOST + a] * delta;
        }
        double claim = list_delta(entries, 2, eps);
        assert_true(claim >= sum * (1 - 1e-12L));
        assert_true(claim <= sum * 1.001L);
    }
}

static void test_later(void **state)
{
    struct pri_release_entry entry = sphere(4, .25, 1.5, 3);
    struct pri_release release;
    (void)state;
    assert_int_equal(pri_release_sphere(4, 2, .25, 1.5, &release, NULL),
                     PRICER_OK);
    assert_true(pri_release_entry_allows(&entry, 0, &release));
    assert_true(pri_release_entry_allows(&entry, 2, &release));
    assert_false(pri_release_entry_allows(&entry, 3, &release));
    assert_false(pri_release_entry_allows(&entry, -1, &release));
    pri_release_sphere(4, 2, .25, 1, &release, NULL); /* less: allowed */
    assert_true(pri_release_entry_allows(&entry, 1, &release));
    pri_release_sphere(4, 2, .25, 1.75, &release, NULL);
    assert_false(pri_release_entry_allows(&entry, 1, &release));
    pri_release_sphere(4, 2, .3, 1, &release, NULL); /* another threshold */
    assert_false(pri_release_entry_allows(&entry, 1, &release));
    pri_release_sphere(5, 2, .25, 1, &release, NULL);
    assert_false(pri_release_entry_allows(&entry, 1, &release));
    struct pri_release_entry noise = {
        .kind = PRI_RELEASE_GAUSSIAN, .ratio = .5, .rounds = 1};
    struct pri_release gaussian = {
        .kind = PRI_RELEASE_GAUSSIAN, .dimension = 4, .radius = 1, .noise = 4};
    assert_true(pri_release_entry_allows(&noise, 0, &gaussian));
    assert_false(pri_release_entry_allows(&entry, 0, &gaussian));
    gaussian.noise = 3.9;
    assert_false(pri_release_entry_allows(&noise, 0, &gaussian));
}

/* A release that may be chosen for a round: outcomes of the two ends of the
 * ball. */
struct choice {
    long double up, down;
};

static struct choice choice_of(int64_t dimension, double t, double e0)
{
    struct pri_cap cap;
    long double e = expl(-(long double)e0);
    pri_cap_at(dimension + 1, t, &cap);
    long double p = cap.share / (cap.share + (1 - cap.share) * e);
    return (struct choice){p, p * e};
}

/* The most that an observer gains, delta at eps, who chooses the release of every
 * round after seeing all before. */
static long double play(const struct choice *menu, int count, int left,
                        long double mass, long double other, long double power)
{
    long double best = fmaxl(0, mass - power * other); /* stop */
    for (int k = 0; k < count && left > 0; k++) {
        long double up = menu[k].up, down = menu[k].down, stay = 1 - up - down;
        best = fmaxl(
            best,
            play(menu, count, left - 1, mass * up, other * down, power) +
                play(menu, count, left - 1, mass * down, other * up, power) +
                play(menu, count, left - 1, mass * stay, other * stay, power));
    }
    return best;
}

/* Smaller losses at the same threshold, chosen after seeing releases, cost no
 * more than the list. */
static void test_adaptive(void **state)
{
    uint64_t seed = 8;
    (void)state;
    for (int k = 0; k < 20; k++) {
        int64_t d = 1 + k % 5;
        double t = .05 + .7 * test_uniform(&seed);
        double e0 = floor(0x1p40 * (.2 + 2 * test_uniform(&seed))) * 0x1p-40;
        struct pri_release_entry list = sphere(d, t, e0, 5);
        struct choice menu[] = {choice_of(d, t, e0), choice_of(d, t, e0 * .7),
                                choice_of(d, t, e0 * .3)};
        double eps = 5 * e0 * test_uniform(&seed);
        long double gained = play(menu, 3, 5, 1, 1, expl(eps));
        double claim = list_delta(&list, 1, eps);
        assert_true(gained <= claim);
        assert_true(gained >= claim * (1 - 1e-6L) - 1e-15L); /* all rounds */
    }
}

/* Why other thresholds are refused: each of these keeps (2, 1e-3) over 5 rounds,
 * and who chooses among them from round to round gains more than 1e-3. */
static void test_menu(void **state)
{
    static const double thresholds[] = {.2, .5, .8};
    struct choice menu[3];
    (void)state;
    for (int k = 0; k < 3; k++) {
        double low = 0, high = 2;
        while (high - low > 1e-9) {
            double e0 = (low + high) / 2;
            struct choice c = choice_of(2, thresholds[k], e0);
            struct pri_release_loss loss = {c.up, c.down, e0, 0, 5};
            *(pri_release_delta(&loss, 2) > 1e-3 ? &high : &low) = e0;
        }
        menu[k] = choice_of(2, thresholds[k], low);
        assert_true(play(&menu[k], 1, 5, 1, 1, expl(2)) <= 1e-3L * (1 + 1e-9L));
    }
    assert_true(play(menu, 3, 5, 1, 1, expl(2)) > 1.2e-3L);
}

static void test_subtract(void **state)
{
    struct pricer_budget whole = {.eps = 4, .delta = 1e-5};
    struct pricer_budget part = {.eps = 1.5, .delta = 2e-6};
    double eps = -1, delta = -1;
    (void)state;
    assert_true(pri_release_subtract(&whole, &part, &eps, &delta));
    assert_true(eps <= 2.5 && eps > 2.4999);
    assert_true(delta <= 8e-6 && delta > 7.999e-6);
    part.eps = 4.5;
    eps = -1;
    assert_false(pri_release_subtract(&whole, &part, &eps, &delta));
    assert_true(eps == -1);
    part = (struct pricer_budget){.eps = 1, .delta = 2e-5};
    assert_false(pri_release_subtract(&whole, &part, &eps, &delta));
}

static void test_refusals(void **state)
{
    struct pri_release_entry bad[] = {sphere(2, .3, 1, 0),
                                      sphere(2, .3, 13, 1),
                                      sphere(2, .3, NAN, 1),
                                      {.kind = PRI_RELEASE_BEST, .rounds = 1}};
    struct pri_release_entry list[2] = {sphere(2, .3, 1, 1)};
    double delta = -1;
    (void)state;
    for (int k = 0; k < 4; k++) {
        list[1] = bad[k];
        assert_int_equal(pri_release_list_delta(list, 2, 1, &delta, NULL),
                         PRICER_VALUE);
    }
    list[1] = sphere(2, 1.5, 1, 1);
    assert_int_equal(pri_release_list_delta(list, 2, 1, &delta, NULL),
                     PRICER_VALUE);
    assert_int_equal(pri_release_list_delta(list, 0, 1, &delta, NULL),
                     PRICER_VALUE);
    assert_true(delta == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),    cmocka_unit_test(test_gaussian),
        cmocka_unit_test(test_mixed),    cmocka_unit_test(test_later),
        cmocka_unit_test(test_adaptive), cmocka_unit_test(test_menu),
        cmocka_unit_test(test_subtract), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
