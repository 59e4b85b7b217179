/*
 * A coin that says yes with probability exp(-e0), in integers.
 *
 * The coin is a real number uniform on [0, 1) of which as many bits are drawn as
 * it takes to tell on which side of exp(-e0) it is: 32 but once in four thousand
 * million times. exp(-x), x = steps 2^-40 <= 12, is the alternating series of
 * term_j = term_{j-1} x / j in units of 2^-(bits + 64). Rounding down, each term
 * inherits x / j of the error before and adds less than 2, so that n terms are
 * off by less than 2 n e^12 < 2^40 units together, what is left out included.
 */
#include "release.h"

#include <openssl/bn.h>

enum { GUARD = 64, ERROR_BITS = 40, MOST_BITS = 1 << 14 };

/* sum = exp(-x) 2^(bits + GUARD), off by less than 2^ERROR_BITS. */
static bool exponential(uint64_t steps, int bits, BIGNUM *sum)
{
    BIGNUM *term = BN_new();
    bool minus = false, good = term != NULL;
    BN_zero(sum);
    good = good && BN_set_bit(term, bits + GUARD) == 1;
    for (BN_ULONG j = 1; good && !BN_is_zero(term); j++) {
        good = (minus ? BN_sub(sum, sum, term) : BN_add(sum, sum, term)) == 1 &&
               BN_mul_word(term, steps) == 1 &&
               BN_rshift(term, term, 40) == 1 &&
               BN_div_word(term, j) != (BN_ULONG)-1;
        minus = !minus;
    }
    BN_free(term);
    return good;
}

/* On which side the coin lies: -1 below exp(-x), 1 not below, 0 not known; 2 if
 * there is no memory. It is known to `bits` bits, in units of 2^-bits. */
static int compare(uint64_t steps, int bits, const BIGNUM *coin)
{
    BIGNUM *sum = BN_new(), *edge = BN_new(), *error = BN_new();
    int side = 2;
    if (sum != NULL && edge != NULL && error != NULL &&
        exponential(steps, bits, sum) && BN_set_bit(error, ERROR_BITS) == 1 &&
        BN_add(sum, sum, error) == 1 && BN_lshift(edge, coin, GUARD) == 1) {
        side = BN_cmp(edge, sum) >= 0;
        if (side == 0 && BN_sub(sum, sum, error) == 1 &&
            BN_sub(sum, sum, error) == 1 && BN_set_bit(error, GUARD) == 1 &&
            BN_clear_bit(error, ERROR_BITS) && BN_add(edge, edge, error) == 1)
            side = BN_cmp(edge, sum) <= 0 ? -1 : 0;
    }
    BN_free(sum);
    BN_free(edge);
    BN_free(error);
    return side;
}

enum pricer_status pri_coin_prepare(double e0, struct pri_coin *coin)
{
    uint64_t steps = (uint64_t)(e0 / PRI_RELEASE_GRID);
    BIGNUM *sum = BN_new();
    bool good = sum != NULL && exponential(steps, 64, sum) &&
                BN_rshift(sum, sum, 64 + GUARD - 32) == 1;
    BN_ULONG first = good ? BN_get_word(sum) : 0;
    BN_free(sum);
    if (!good)
        return PRICER_MEMORY;
    *coin = (struct pri_coin){steps, first > UINT32_MAX ? UINT32_MAX
                                                        : (uint32_t)first};
    return PRICER_OK;
}

/* Draw more bits until the side is known. `first` may be one too small or too
 * large if exp(-e0) is that close to a multiple of 2^-32: its neighbours are
 * decided here, too. */
static enum pricer_status decide_long(const struct pri_coin *coin,
                                      uint32_t bits,
                                      const struct pri_entropy *source,
                                      bool *yes)
{
    enum pricer_status status = PRICER_MEMORY;
    BIGNUM *number = BN_new();
    bool good = number != NULL && BN_set_word(number, bits) == 1;
    for (int known = 32; good && known <= MOST_BITS; known += 64) {
        uint64_t more;
        int side = compare(coin->steps, known, number);
        if (side == 1 || side == -1) {
            *yes = side == -1;
            status = PRICER_OK;
            break;
        }
        if (side == 2)
            break;
        status = PRICER_FILE;
        good = source->draw(source->context, &more, sizeof more) &&
               BN_lshift(number, number, 64) == 1 &&
               BN_add_word(number, more) == 1;
    }
    BN_free(number);
    return status;
}

enum pricer_status pri_coin_decide(const struct pri_coin *coin, uint32_t bits,
                                   const struct pri_entropy *source, bool *yes)
{
    uint32_t gap = bits - coin->first + 1; /* 0, 1, 2: too close to tell */
    if (gap <= 2)
        return decide_long(coin, bits, source, yes);
    *yes = bits < coin->first;
    return PRICER_OK;
}
