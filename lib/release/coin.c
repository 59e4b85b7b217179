/*
 * The probability of a coin that says yes with exp(-e0), as 64 bits of an
 * integer, rounded up.
 *
 * A uniform 64-bit number below the threshold says yes. The threshold is at
 * least 2^64 exp(-e0) and at most two units above, so that yes is at least as
 * likely as exp(-e0), and by less than a part 2^-45 for e0 <= 12: a release is at most as
 * telling as e0 says, and its bias is below that of rounding. A coin of a fixed
 * number of bits has no rare case that takes longer, which would show that the
 * coin was close to its threshold.
 *
 * exp(-x), x = steps 2^-40 <= 12, is the alternating series of term_j =
 * term_{j-1} x / j in units of 2^-(bits + 64). Rounding down, each term inherits
 * x / j of the error before and adds less than 2, so that n terms are off by
 * less than 2 n e^12 < 2^40 units together, what is left out included.
 */
#include "release.h"

#include <openssl/bn.h>

enum { BITS = 64, GUARD = 64, ERROR_BITS = 40 };

/* sum = exp(-x) 2^(BITS + GUARD), off by less than 2^ERROR_BITS. */
static bool exponential(uint64_t steps, BIGNUM *sum)
{
    BIGNUM *term = BN_new();
    bool minus = false, good = term != NULL;
    BN_zero(sum);
    good = good && BN_set_bit(term, BITS + GUARD) == 1;
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

enum pricer_status pri_coin_threshold(double e0, uint64_t *threshold)
{
    BIGNUM *sum = BN_new(), *error = BN_new();
    bool good = sum != NULL && error != NULL &&
                exponential((uint64_t)(e0 / PRI_RELEASE_GRID), sum) &&
                BN_set_bit(error, ERROR_BITS) == 1 &&
                BN_add(sum, sum, error) == 1 && BN_rshift(sum, sum, GUARD) == 1;
    if (good)
        *threshold = (uint64_t)BN_get_word(sum) + 1;
    BN_free(sum);
    BN_free(error);
    return good ? PRICER_OK : PRICER_MEMORY;
}
