/*
 * From a node's data to a point of the grid: trunc(full clip(x)), inside the ball
 * of radius full R, in integers.
 *
 * Claim: |v|^2 <= bound^2 for what pri_place() writes, bound = floor(full R). Proof:
 * it ends only when fits_ball() says so, which adds up the squares in integers, or
 * is_inside(), which says so only if fits_ball() would. Floating point only
 * proposes v.
 */
#include "round.h"

#include <math.h>

enum { WAYS = 8 }; /* sums side by side */

/* Four numbers that go through the same arithmetic side by side. */
typedef double four __attribute__((vector_size(32)));

PRI_INLINE four fill(double value)
{
    return (four){value, value, value, value};
}

/* Whether |v|^2 <= bound^2, in integers; bound and all |v_k| are at most 2^62,
 * so that eight squares fit a wide integer. */
static bool fits_ball(const int64_t *v, int64_t count, uint64_t bound)
{
    enum { BLOCK = 8 };
    pri_wide left = (pri_wide)bound * bound;
    for (int64_t k = 0; k < count;) {
        int64_t end = count - k < BLOCK ? count : k + BLOCK;
        pri_wide squares = 0;
        for (; k < end; k++)
            squares += (pri_wide)((__int128_t)v[k] * v[k]);
        if (squares > left)
            return false;
        left -= squares;
    }
    return true;
}

/*
 * The sum of squares of data, with an error of less than count + 2 units, and less
 * than count 2^-1022 where they underflow. Not a number, or infinite, if one of them
 * is or they are too large.
 */
PRI_CLONES
static double add_squares(const double *data, int64_t count)
{
    double squares[WAYS] = {0}, sum = 0;
    int64_t k = 0;
    for (; k + WAYS <= count; k += WAYS)
        for (int way = 0; way < WAYS; way++)
            squares[way] += data[k + way] * data[k + way];
    for (; k < count; k++)
        sum += data[k] * data[k];
    for (int way = 0; way < WAYS; way++)
        sum += squares[way];
    return sum;
}

/* How data become integers: x / unit * shrink * full, kept to +-most. */
struct factors {
    double unit, shrink, full, most;
};

static double scale(const struct factors *factors, double value)
{
    return factors->full * (value / factors->unit * factors->shrink);
}

static int64_t cut(double value, double most)
{
    value = value > most ? most : value;
    return (int64_t)(value < -most ? -most : value);
}

/*
 * The integer below numbers of 0 to 2^51. From 2^52 on the numbers of floating
 * point are the integers: adding it rounds to the nearest of them, which is one too
 * much where it is above the number.
 */
PRI_INLINE four floor_four(four value)
{
    four near = value + 0x1p52 - 0x1p52;
    return near - (four)((pri_half)(near > value) & (pri_half)fill(1));
}

/* Such an integer as one: 2^52 more has it in the last 52 bits. */
PRI_INLINE pri_half convert(four whole)
{
    return (pri_half)(whole + 0x1p52) - (pri_half)fill(0x1p52);
}

/*
 * cut() of four values, `most` at most 2^62, and the squares of what comes out
 * added to `squares`: by the part above 2^32 and the rest, which both are exact. So
 * is the integer as floating point: it has no more bits than the value.
 */
PRI_INLINE pri_half cut_four(four value, four most, four *squares)
{
    const pri_half sign = -((pri_half)value >> 63);
    four size = (four)((pri_half)value & UINT64_C(0x7fffffffffffffff));
    pri_half above = (pri_half)(size > most);
    size = (four)(((pri_half)size & ~above) | ((pri_half)most & above));
    four high = floor_four(size * 0x1p-32);
    four low = floor_four(size - high * 0x1p32);
    four whole = high * 0x1p32 + low;
    *squares += whole * whole;
    pri_half found = (convert(high) << 32) + convert(low);
    return (found ^ sign) - sign;
}

/* Scale and cut off to integers; returns the sum of their squares, which count + 2
 * roundings at most have changed. */
PRI_CLONES
static double cut_all(const double *data, int64_t count,
                      const struct factors *factors, int64_t *message)
{
    const four full = fill(factors->full), most = fill(factors->most),
               shrink = fill(factors->shrink), unit = fill(factors->unit);
    const bool bare = factors->unit == 1 && factors->shrink == 1;
    four squares[2] = {fill(0), fill(0)};
    double rest = 0;
    int64_t k = 0;
    for (; k + WAYS <= count; k += WAYS)
        for (int half = 0; half < 2; half++) {
            four value;
            memcpy(&value, data + k + 4 * half, sizeof value);
            value = full * (bare ? value : value / unit * shrink);
            pri_half whole = cut_four(value, most, &squares[half]);
            memcpy(message + k + 4 * half, &whole, sizeof whole);
        }
    for (; k < count; k++) {
        message[k] = cut(scale(factors, data[k]), factors->most);
        rest += (double)message[k] * (double)message[k];
    }
    squares[0] += squares[1];
    return squares[0][0] + squares[0][1] + squares[0][2] + squares[0][3] + rest;
}

/*
 * The same for values of at most 2^51 in a few instructions: adding 2^52 rounds to
 * the nearest integer, in the last 52 bits, and where that is above the value it is
 * one less. Returns the sum of the squares of the values, which are no less than those
 * of the integers; if a value is above 2^51 the sum is above 2^101, and only then the
 * integers are wrong.
 */
PRI_CLONES
static double cut_quickly(const double *data, int64_t count,
                          const struct factors *factors, int64_t *message)
{
    const four full = fill(factors->full), shrink = fill(factors->shrink);
    four squares[2] = {fill(0), fill(0)};
    double rest = 0;
    int64_t k = 0;
    for (; k + WAYS <= count; k += WAYS)
        for (int half = 0; half < 2; half++) {
            four value, size, near;
            memcpy(&value, data + k + 4 * half, sizeof value);
            value = full * (value * shrink);
            squares[half] += value * value;
            size = (four)((pri_half)value & UINT64_C(0x7fffffffffffffff));
            near = size + 0x1p52;
            pri_half sign = -((pri_half)value >> 63);
            pri_half whole = (pri_half)near - (pri_half)fill(0x1p52) +
                             (pri_half)(near - 0x1p52 > size);
            whole = (whole ^ sign) - sign;
            memcpy(message + k + 4 * half, &whole, sizeof whole);
        }
    for (; k < count; k++) {
        double value = scale(factors, data[k]);
        message[k] = cut(value, 0x1p51);
        rest += value * value;
    }
    squares[0] += squares[1];
    return squares[0][0] + squares[0][1] + squares[0][2] + squares[0][3] + rest;
}

/*
 * Whether integers are inside beyond doubt, by the sum of their squares in floating
 * point, where they are exact, or of values that are no less. No square and none of at
 * most count + 2 additions loses more than a factor of 1 - 2^-53, so the true sum is
 * below
 *
 *     squares / (1 - 2^-53)^(count + 3) < squares (1 + (count + 4) 2^-52)
 *
 * for count < 2^32. `most` is exact, too. Of what is compared each side is rounded
 * three times at most, for which doubling the margin and 2^-50 are more than enough.
 */
static bool is_inside(double squares, int64_t count, double most)
{
    return count < INT64_C(1) << 32 &&
           squares * (1 + ((double)count + 4) * 0x1p-51) <=
               most * most * (1 - 0x1p-50);
}

/*
 * How to clip. The length of data of ordinary size is the root of their squares,
 * that of others is taken relative to the largest. A fine grid has room to aim inside
 * the ball, so that is_inside() sees it at once:
 *
 *     aim = radius (1 - (3 count + 32) 2^-53) - 2 / full.
 *
 * For length, factor and product are off by (count / 2 + 8) 2^-53 at most, and
 * is_inside() wants (5 count / 2 + 16) 2^-53, two steps being more than `bound` is
 * below full radius. False: one of the data is not finite.
 */
static bool find_factors(const double *data, int64_t count, double radius,
                         struct factors *factors)
{
    double squares = add_squares(data, count), peak = 1, aim = radius;
    double length = sqrt(squares);
    if (!(squares < 0x1p800 && radius > 0x1p-400 && radius < 0x1p400))
        length = pri_relative_length(data, count, &peak);
    if (isnan(length))
        return false;
    if (factors->most >= 0x1p21)
        aim = radius * (1 - (3 * (double)count + 32) * 0x1p-53) -
              2 / factors->full;
    bool clipped = peak > 0 && length > aim / peak;
    factors->unit = clipped ? peak : 1;
    factors->shrink = clipped ? aim / length : 1;
    return true;
}

/*
 * Where floating point has left the result a hair outside the ball, shrink it by
 * more and more until it is inside: after a few steps the doubling excess passes
 * dimension 2^-53.
 */
bool pri_place(const double *data, int64_t count, double radius, double full,
               int64_t *message)
{
    uint64_t bound = (uint64_t)(full * radius * (1 - 0x1p-52));
    struct factors factors = {1, 1, full, (double)bound};
    if (!find_factors(data, count, radius, &factors))
        return false;
    if (factors.unit == 1 && factors.most < 0x1p50 &&
        is_inside(cut_quickly(data, count, &factors, message), count,
                  factors.most))
        return true;
    for (double excess = 0x1p-51;; excess *= 2) {
        double squares = cut_all(data, count, &factors, message);
        if (is_inside(squares, count, factors.most) ||
            fits_ball(message, count, bound))
            return true;
        factors.shrink *= 1 - excess;
    }
}
