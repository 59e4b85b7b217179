/*
 * Many samples, of a word each: the cells of strips by enumeration, what first sight
 * says against exact arithmetic for all bits that can follow, four at a time against
 * one by one, and what becomes of words that it refuses or leaves open.
 */
#include "tests/test.h"
#include "round/noise_sight.h"
#include "round/noise_table.h"

static struct pricer_random stream(uint64_t seed)
{
    struct pricer_random random;
    pricer_random_replay(&random, seed, PRICER_PURPOSE_NOISE, 0, 1, 2);
    return random;
}

/* The first bits decide a strip if and only if all words that begin with them are in
 * it; such strips are not so far that the glance leaves them. */
static void test_cells(void **state)
{
    (void)state;
    const int rest = 64 - PRI_NOISE_BITS;
    int mixed = 0;
    for (uint64_t c = 0; c < PRI_NOISE_CELLS; c++) {
        uint64_t low = c << rest, high = low + ((UINT64_C(1) << rest) - 1);
        uint32_t k = 0;
        while (k < PRI_NOISE_LISTED && pri_noise_start[k + 1] <= low)
            k++;
        bool pure = k < PRI_NOISE_LISTED && high < pri_noise_start[k + 1];
        assert_int_equal(pri_noise_cell[c], pure ? k : PRI_NOISE_MIXED);
        assert_true(!pure || k < PRI_NOISE_MIXED);
        assert_true(pri_cell_of(low) == c && pri_cell_of(high) == c);
        mixed += !pure;
    }
    assert_in_range(mixed, 1, 80); /* 1 % are drawn further */
}

/* The first and the last of the 16 bits of a coin, and the place, that a word allows;
 * false if it allows two places. */
static bool allowed(uint64_t width, uint64_t word, uint64_t *place,
                    uint64_t *low, uint64_t *high)
{
    const int rest = PRI_PLACE - PRI_KNOWN;
    pri_wide least = (pri_wide)pri_place_of(word) * width;
    pri_wide most = least + (width - 1);
    *place = (uint64_t)(least >> PRI_PLACE);
    *low = (uint64_t)(least >> rest) & 0xffff;
    *high = (uint64_t)(most >> rest) & 0xffff;
    return most >> PRI_PLACE == least >> PRI_PLACE;
}

/* A word of a strip whose coin is next to the threshold of T, in 2^-18. */
static uint64_t word_near(uint64_t width, uint64_t word, int64_t threshold)
{
    pri_wide product = (pri_wide)pri_place_of(word) * width;
    int64_t coin = (int64_t)(product >> 32) & ((1 << PRI_COIN) - 1);
    __int128_t move =
        (__int128_t)(threshold - coin) * (INT64_C(1) << 32) / (int64_t)width;
    __int128_t moved = (__int128_t)pri_place_of(word) + move;
    bool fits = moved >= 0 && moved >> PRI_PLACE == 0;
    return fits ? (uint64_t)moved : pri_place_of(word);
}

/* T 2^18, less than one below. */
static uint32_t find_threshold(const struct pri_noise *noise, uint32_t strip,
                               uint64_t size)
{
    uint32_t words[4];
    pri_noise_exponential(PRI_NOISE_SCALE, pri_noise_weight(strip),
                          size + (size == 0), noise->sigma, noise->fraction, 4,
                          words);
    return words[0] >> (32 - PRI_COIN);
}

/* Where first sight is sure of a word, all bits that can follow lead to the same place,
 * and all coins are below T, or none. */
static void check_look(const struct pri_noise *noise, uint32_t strip,
                       uint64_t first, uint64_t word, enum pri_verdict verdict,
                       uint64_t size)
{
    uint64_t place, low, high;
    int step = noise->fraction + 4, rest = PRI_COIN - PRI_KNOWN;
    pri_wide begin = (pri_wide)noise->sigma * strip;
    if (verdict == PRI_UNSURE)
        return;
    assert_true(allowed(noise->width, word, &place, &low, &high));
    bool inside = ((pri_wide)(first + place) << step) - begin < noise->sigma;
    uint32_t threshold = find_threshold(noise, strip, first + place);
    if (verdict == PRI_ACCEPT)
        assert_true(size == first + place && size > 0 && inside &&
                    (high + 1) << rest <= threshold);
    else
        assert_true(!inside || low << rest > threshold);
}

/* Most words are far from where first sight changes its mind; half of these are a few
 * units from it, where it may be unsure but not wrong. */
static void test_look(void **state)
{
    (void)state;
    uint64_t seed = 23, place, low, high, size;
    int count[3] = {0};
    for (int trial = 0; trial < 20000; trial++) {
        struct pri_noise noise;
        struct pri_first_sight sight;
        double sigma =
            ldexp(1 + test_uniform(&seed), 25 + (int)(test_random(&seed) % 25));
        assert_int_equal(pri_noise_prepare(sigma, &noise, NULL), PRICER_OK);
        pri_noise_sight(&noise, &sight);
        uint32_t strip = (uint32_t)(test_random(&seed) % PRI_NOISE_MIXED);
        uint64_t first = sight.strips[strip].first;
        uint64_t word = pri_place_of(test_random(&seed));
        if (trial % 5 == 0) /* the first places, and the last */
            word = pri_place_of((word >> 22) - (word & 1) * (word >> 21));
        allowed(noise.width, word, &place, &low, &high);
        if (trial % 2 == 0)
            word = word_near(noise.width, word,
                             find_threshold(&noise, strip, first + place) +
                                 (int)(test_random(&seed) % 64) - 32);
        enum pri_verdict verdict =
            pri_noise_look(&sight, sight.strips[strip], word, &size);
        check_look(&noise, strip, first, word, verdict, size);
        count[verdict]++;
        verdict =
            pri_noise_look(&sight, sight.strips[PRI_NOISE_MIXED], word, &size);
        assert_true(verdict != PRI_ACCEPT);
    }
    for (int k = 0; k < 3; k++)
        assert_in_range(count[k], 1000, 12000);
}

/* Words that are next to where first sight changes its mind, which chance would
 * hardly bring: the first and the last places of strips near and far, and some that
 * no bit decides; also so many that are refused that no words are left for them. */
static void set_edges(struct pricer_random *random, uint64_t width, int trial)
{
    const uint64_t end = UINT64_C(1) << PRI_PLACE, unit = end >> 24;
    const uint64_t places[] = {
        0,
        1,
        (end - 1) / width,
        (end - 1) / width + 1,
        end - 34 * unit,
        end - 33 * unit,
        end - 32 * unit,
        end - 1,
    };
    const uint64_t cells[] = {0, 1, PRI_NOISE_CELLS * 3 / 4, 620, 621, 8140};
    pricer_random_word(random); /* it is full now */
    random->left = PRICER_RANDOM_WORDS;
    for (int j = 0; j < 64; j++)
        random->words[j] = cells[(j + trial) % 6] << (PRI_PLACE + 1) |
                           (uint64_t)(j / 8 % 2) << PRI_PLACE |
                           places[(j + trial / 6) % 8];
}

/* Four samples at once or one: the same bits of the same stream. */
static void test_plain(void **state)
{
    (void)state;
    enum { MOST = 30000, SHORT = 400 };
    static int64_t wide[MOST], plain[MOST];
    const double sigmas[] = {0x1.8p24, 0x1.1p33, 0x1p40, 0x1.ffffp49, 0x1p50};
    for (int k = 0; k < SHORT + 20; k++) {
        struct pri_noise noise;
        struct pricer_random one = stream(400 + (uint64_t)k), two = one;
        int64_t count = k < SHORT ? 64 + k % 70 : MOST - k;
        assert_int_equal(pri_noise_prepare(sigmas[k % 5], &noise, NULL),
                         PRICER_OK);
        for (int64_t j = 0; j < count; j++)
            wide[j] = plain[j] = j;
        if (k % 2 == 0)
            set_edges(&one, noise.width, k / 2);
        two = one;
        pri_noise_add(&noise, &one, count, wide);
        pri_noise_add_plain(&noise, &two, count, plain);
        assert_memory_equal(wide, plain, (size_t)count * sizeof *wide);
        assert_true(pricer_random_word(&one) == pricer_random_word(&two));
    }
}

/* floor(u size), u being 50 bits and five words. */
static uint64_t scaled(uint64_t bits, const uint64_t *words, uint64_t size)
{
    uint64_t carry = 0;
    for (int k = 4; k >= 0; k--)
        carry = (uint64_t)(((pri_wide)words[k] * size + carry) >> 64);
    return (uint64_t)(((pri_wide)bits * size + carry) >> PRI_PLACE);
}

/* Where bits are drawn until a product is known: words that leave it open as long as
 * possible, one more or less than that, and any, against the product of all. */
static void test_scale(void **state)
{
    (void)state;
    uint64_t seed = 31;
    int used[6] = {0};
    for (int trial = 0; trial < 20000; trial++) {
        struct pricer_random random = stream(1);
        uint64_t size = (UINT64_C(1) << 62) - (test_random(&seed) >> 3);
        uint64_t bits = pri_place_of(test_random(&seed)), *words = random.words;
        pricer_random_word(&random);
        random.left = PRICER_RANDOM_WORDS;
        int open = trial % 5; /* u size is an integer to so many words */
        pri_wide gap = -((pri_wide)bits * size) & ((1ull << PRI_PLACE) - 1);
        for (int k = 0; k < open; k++) {
            words[k] = (uint64_t)((gap << 64) / size);
            gap = (gap << 64) % size;
        }
        if (open > 0)
            words[open - 1] += test_random(&seed) % 3 - 1;
        uint64_t found = pri_noise_scale(bits, size, &random);
        assert_true(found == scaled(bits, words, size));
        used[PRICER_RANDOM_WORDS - random.left]++;
    }
    for (int k = 1; k < 5; k++)
        assert_true(used[k] > 1000);
    assert_true(used[0] == 0);
}

/* A word that first sight gives this verdict, in a strip of its own choice. */
static uint64_t word_of(const struct pri_noise *noise,
                        const struct pri_first_sight *sight,
                        enum pri_verdict verdict, uint64_t *seed)
{
    for (;;) {
        uint64_t word = test_random(seed), place = pri_place_of(word), size;
        uint32_t strip = pri_noise_cell[pri_cell_of(word)];
        if (strip == PRI_NOISE_MIXED)
            continue;
        word -= place;
        pri_noise_look(sight, sight->strips[strip], place, &size);
        word |= word_near(noise->width, place,
                          find_threshold(noise, strip, size) +
                              (int)(test_random(seed) % 512) - 256);
        if (pri_noise_look(sight, sight->strips[strip], word, &size) == verdict)
            return word;
    }
}

/* A stream that begins with words of a verdict. */
static struct pricer_random plant(const struct pri_noise *noise,
                                  enum pri_verdict verdict, int count,
                                  uint64_t *seed)
{
    struct pricer_random random = stream(test_random(seed));
    struct pri_first_sight sight;
    pri_noise_sight(noise, &sight);
    pricer_random_word(&random);
    random.left = PRICER_RANDOM_WORDS;
    for (int k = 0; k < count; k++)
        random.words[k] = word_of(noise, &sight, verdict, seed);
    return random;
}

/* Samples that all start again get noise, though there are words for 4 of 64 only:
 * of a deviation of 2^30 and more hardly one of 10^9 is 0. */
static void test_refused(void **state)
{
    (void)state;
    uint64_t seed = 41;
    for (int trial = 0; trial < 60; trial++) {
        struct pri_noise noise;
        double sigma = ldexp(1 + test_uniform(&seed), 30 + trial % 20);
        assert_int_equal(pri_noise_prepare(sigma, &noise, NULL), PRICER_OK);
        struct pricer_random one = plant(&noise, PRI_REJECT, 64, &seed),
                             two = one;
        int64_t wide[64] = {0}, plain[64] = {0};
        pri_noise_add(&noise, &one, 64, wide);
        pri_noise_add_plain(&noise, &two, 64, plain);
        assert_memory_equal(wide, plain, sizeof wide);
        for (int k = 0; k < 64; k++)
            assert_true(wide[k] != 0 && fabs((double)wide[k]) < 8 * sigma);
    }
}

/* The first sample that its word does not settle: the bits that follow decide it, by
 * exact arithmetic. */
static void test_unsure(void **state)
{
    (void)state;
    uint64_t seed = 43;
    int accepted = 0, refused = 0;
    for (int trial = 0; trial < 2000; trial++) {
        struct pri_noise noise;
        double sigma = ldexp(1 + test_uniform(&seed), 30 + trial % 20);
        assert_int_equal(pri_noise_prepare(sigma, &noise, NULL), PRICER_OK);
        struct pricer_random random = plant(&noise, PRI_UNSURE, 1, &seed), rest;
        const uint64_t word = random.words[0], *more = random.words + 68;
        uint32_t strip = pri_noise_cell[pri_cell_of(word)];
        uint64_t both = scaled(pri_place_of(word), more, noise.width << 16);
        int step = noise.fraction + 4;
        pri_wide begin = (pri_wide)noise.sigma * strip;
        struct pri_candidate at = {.strip = strip};
        at.size = (uint64_t)((begin + (((pri_wide)1 << step) - 1)) >> step) +
                  (both >> 16);
        at.inside = (uint64_t)(((pri_wide)at.size << step) - begin);
        rest = random;
        bool good =
            at.inside < noise.sigma && at.size > 0 &&
            pri_noise_decide(&noise, &at, both << 48 | more[1] >> 16, &rest);
        int64_t values[64] = {0};
        int64_t size =
            pri_is_negative(word) ? -(int64_t)at.size : (int64_t)at.size;
        pri_noise_add(&noise, &random, 64, values);
        assert_true((values[0] == size) == good);
        accepted += good;
        refused += !good;
    }
    assert_true(accepted > 100 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),   cmocka_unit_test(test_look),
        cmocka_unit_test(test_plain),   cmocka_unit_test(test_scale),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_unsure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
