/*
 * Which links are up: from probabilities and a seed to bits, for one round or
 * for 512 rounds at once.
 *
 * The two links of a pair share one uniform number u on [0, 1):
 *
 *     both up            u < E
 *     forward only       E <= u < p
 *     backward only      p <= u < p + p_back - E
 *     none               the rest,
 *
 * with `forward` the link from the lower to the higher node. The three levels
 * are 128-bit binary fractions, so every probability is right to 2^-128 (and
 * exact for p >= 2^-75). u is drawn bit by bit, only until it is known to be
 * above or below every level. Rounds 512 g to 512 g + 511 do so together, one
 * bit each in eight 64-bit words: bit `4 b + w` of u, for the rounds of word
 * `lane`, is word w of Threefry-4x64-20 with
 *
 *     key     = (seed, g, PRICER_PURPOSE_LINKS, 0)
 *     counter = (b, lane, lower node, higher node or server).
 *
 * Undecided rounds halve with every bit, so 512 of them need some eleven bits
 * of u, or twelve random bits for each result, at less than a nanosecond.
 */
#include "round.h"

/* floor(p 2^128) for 0 <= p < 1. */
static pri_wide level_of(double p)
{
    double shifted = p * 0x1p64;
    uint64_t high = (uint64_t)shifted;
    uint64_t low = (uint64_t)((shifted - (double)high) * 0x1p64);
    return (pri_wide)high << 64 | low;
}

/* The result of comparing u with a level: one of level[], or a fixed one. */
static uint8_t add_level(struct pri_pair *pair, pri_wide level, bool certain)
{
    if (certain)
        return PRI_ALWAYS;
    if (level == 0)
        return PRI_NEVER;
    for (uint8_t k = 0; k < pair->levels; k++)
        if (pair->level[k] == level)
            return k;
    int zeros = (uint64_t)level != 0
                    ? __builtin_ctzll((uint64_t)level)
                    : 64 + __builtin_ctzll((uint64_t)(level >> 64));
    if (128 - zeros > pair->digits)
        pair->digits = 128 - zeros;
    pair->level[pair->levels] = level;
    return pair->levels++;
}

struct pri_pair pri_pair_make(double p, double p_back, double joint)
{
    struct pri_pair pair = {.levels = 0};
    double least = p < p_back ? p : p_back;
    if (joint > least)
        joint = least;
    pri_wide forward = p < 1 ? level_of(p) : 0;
    pri_wide back = p_back < 1 ? level_of(p_back) : 0;
    pri_wide both = joint < 1 ? level_of(joint) : 0;
    pair.forward = add_level(&pair, forward, p >= 1);
    pair.both = add_level(&pair, both, joint >= 1);
    pri_wide either = forward + (back - both);
    bool sure = p >= 1 || p_back >= 1 || either < forward;
    pair.either = add_level(&pair, either, sure);
    return pair;
}

PRI_INLINE pri_half spread(uint64_t word)
{
    return (pri_half){word, word, word, word};
}

/* The four bits of a hexadecimal digit as words, the highest first. */
static const uint64_t digit_words[16][4] = {
#define BIT(x, w) -(uint64_t)((x) >> (3 - (w)) & 1)
#define DIGIT(x)                                                               \
    {                                                                          \
        BIT(x, 0), BIT(x, 1), BIT(x, 2), BIT(x, 3)                             \
    }
    DIGIT(0),  DIGIT(1),  DIGIT(2),  DIGIT(3), DIGIT(4),  DIGIT(5),
    DIGIT(6),  DIGIT(7),  DIGIT(8),  DIGIT(9), DIGIT(10), DIGIT(11),
    DIGIT(12), DIGIT(13), DIGIT(14), DIGIT(15)
#undef DIGIT
#undef BIT
};

/* Compare four more bits of u, `random`, with the top four of each level: from
 * the lowest of them up, a bit that differs decides. */
PRI_INLINE void compare(const pri_wide *level, int levels,
                        const struct pri_lanes random[4],
                        struct pri_lanes *less, struct pri_lanes *open)
{
    for (int k = 0; k < levels; k++) {
        const uint64_t *word = digit_words[(unsigned)(level[k] >> 124)];
        for (int h = 0; h < 2; h++) {
            pri_half below = spread(0), equal = open[k].half[h];
            for (int w = 3; w >= 0; w--) {
                pri_half differs = random[w].half[h] ^ word[w];
                below ^= differs & (below ^ word[w]);
                equal &= ~differs;
            }
            less[k].half[h] |= open[k].half[h] & below;
            open[k].half[h] = equal;
        }
    }
}

PRI_INLINE bool any(const struct pri_lanes *open, int levels)
{
    pri_half seen = spread(0);
    for (int k = 0; k < levels; k++)
        seen |= open[k].half[0] | open[k].half[1];
    return (seen[0] | seen[1] | seen[2] | seen[3]) != 0;
}

/* Before so many bits of u, 512 rounds are hardly ever all decided. */
enum { LEAST_BITS = 8 };

/* 512 values of each comparison u < level. */
PRI_INLINE void draw_levels(const struct pri_pair *pair, int levels,
                            const struct pri_threefry_key *key, uint64_t low,
                            uint64_t high, struct pri_lanes *less)
{
    struct pri_lanes open[3];
    pri_wide level[3];
    for (int k = 0; k < levels; k++) {
        level[k] = pair->level[k];
        open[k] = pri_lanes_fill(~UINT64_C(0));
        less[k] = pri_lanes_fill(0);
    }
    for (int digit = 0;
         digit < pair->digits && (digit < LEAST_BITS || any(open, levels));
         digit += 4) {
        struct pri_lanes random[4] = {pri_lanes_fill((uint64_t)digit / 4),
                                      pri_lanes_count(0), pri_lanes_fill(low),
                                      pri_lanes_fill(high)};
        pri_threefry(key, random);
        compare(level, levels, random, less, open);
        for (int k = 0; k < levels; k++)
            level[k] <<= 4;
    }
}

/* The number of levels is a constant of each call of draw_levels(), so that the
 * compiler unrolls it. */
PRI_INLINE void draw_one(const struct pri_draw *draw,
                         const struct pri_threefry_key *key)
{
    const struct pri_pair *pair = &draw->pair;
    struct pri_lanes less[PRI_ALWAYS + 1], back;
    uint64_t a = (uint32_t)draw->low, b = (uint32_t)draw->high;
    less[PRI_NEVER] = pri_lanes_fill(0);
    less[PRI_ALWAYS] = pri_lanes_fill(~UINT64_C(0));
    if (pair->levels == 1)
        draw_levels(pair, 1, key, a, b, less);
    else if (pair->levels == 2)
        draw_levels(pair, 2, key, a, b, less);
    else if (pair->levels == 3)
        draw_levels(pair, 3, key, a, b, less);
    memcpy(draw->forward, &less[pair->forward], sizeof back);
    if (draw->backward == NULL)
        return;
    for (int h = 0; h < 2; h++)
        back.half[h] =
            less[pair->both].half[h] |
            (less[pair->either].half[h] & ~less[pair->forward].half[h]);
    memcpy(draw->backward, &back, sizeof back);
}

PRI_CLONES
static void draw_pairs(const struct pri_draw *draws, int64_t count,
                       const struct pri_threefry_key *key)
{
    struct pri_threefry_key local = *key;
    for (int64_t k = 0; k < count; k++)
        draw_one(&draws[k], &local);
}

/* The clones stay inside this file: the compiler would export them. */
void pri_draw_pairs(const struct pri_draw *draws, int64_t count,
                    const struct pri_threefry_key *key)
{
    draw_pairs(draws, count, key);
}

void pri_draw_pair(const struct pri_pair *pair,
                   const struct pri_threefry_key *key, int32_t low,
                   int32_t high, uint64_t *forward, uint64_t *backward)
{
    struct pri_draw draw = {*pair, low, high, forward, backward};
    draw_pairs(&draw, 1, key);
}

struct pri_threefry_key pri_draw_key(uint64_t seed, int64_t group)
{
    return pri_threefry_key(seed, (uint64_t)group, PRICER_PURPOSE_LINKS, 0);
}

/* The single round: the same words, one bit of each, until u is decided. */
bool pricer_round_up(uint64_t seed, int64_t round,
                     const struct pricer_pair *link)
{
    int32_t from = link->from, to = link->to;
    bool ahead = (uint32_t)from < (uint32_t)to;
    struct pri_pair pair =
        ahead ? pri_pair_make(link->p, link->p_back, link->joint)
              : pri_pair_make(link->p_back, link->p, link->joint);
    uint64_t low = (uint32_t)(ahead ? from : to);
    uint64_t high = (uint32_t)(ahead ? to : from);
    threefry4x64_key_t key = {
        {seed, (uint64_t)round / PRI_ROUNDS, PRICER_PURPOSE_LINKS, 0}};
    uint64_t lane = (uint64_t)round % PRI_ROUNDS / 64;
    pri_wide known = 0, unknown = ~(pri_wide)0;
    bool less[PRI_ALWAYS + 1] = {[PRI_ALWAYS] = true};
    for (int digit = 0; digit < pair.digits; digit += 4) {
        threefry4x64_ctr_t counter = {{(uint64_t)digit / 4, lane, low, high}};
        threefry4x64_ctr_t words = threefry4x64(counter, key);
        for (int w = 0; w < 4; w++) {
            pri_wide bit = words.v[w] >> ((uint64_t)round % 64) & 1;
            known |= bit << (127 - digit - w);
        }
        unknown >>= 4;
        bool open = false;
        for (int k = 0; k < pair.levels; k++) {
            less[k] = (known | unknown) < pair.level[k];
            open |= !less[k] && known < pair.level[k];
        }
        if (!open)
            break;
    }
    bool either = less[pair.either] && !less[pair.forward];
    return ahead ? less[pair.forward] : less[pair.both] || either;
}
