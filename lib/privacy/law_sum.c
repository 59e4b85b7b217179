/*
 * Sums of independent numbers: of those of a list that are drawn, of two laws,
 * of many copies of one; grouped as law.c does.
 */
#include "law.h"

#include <math.h>

/* As many atoms of a subset sum are not grouped. */
#define FEW 1024

/* Add one number to a law: merge it with itself, moved. */
static void merge(double size, double chance, const struct pri_law *from,
                  struct pri_law *to)
{
    int32_t stay = 0, move = 0;
    to->count = 0;
    while (move < from->count) {
        double still = stay < from->count ? from->value[stay] : INFINITY;
        double moved = from->value[move] + size;
        double value = fmin(still, moved), mass = 0;
        if (still == value && stay < from->count)
            mass += from->mass[stay++] * (1 - chance);
        if (moved == value)
            mass += from->mass[move++] * chance;
        pri_law_add(to, value, mass);
    }
}

enum pricer_status pri_law_subset(const double *size, const double *chance,
                                  int32_t count, const struct pri_shape *shape,
                                  struct pri_bins *bins, struct pri_law *law)
{
    struct pri_law *one = law, *two = &bins->one;
    enum pricer_status status = pri_law_reserve(law, 1);
    if (status != PRICER_OK)
        return status;
    law->count = 0;
    pri_law_add(law, 0, 1);
    for (int32_t k = 0; k < count && status == PRICER_OK; k++) {
        status = pri_law_reserve(two, 2 * one->count);
        if (status != PRICER_OK)
            break;
        merge(size[k], chance[k], one, two);
        bins->work += two->count;
        struct pri_law *swap = one;
        one = two;
        two = swap;
        if (one->count > FEW / 8 && shape->dust > 0)
            pri_law_sweep(shape, one);
        if (one->count > FEW)
            status = pri_law_group(shape, bins, one);
    }
    if (one != law && status == PRICER_OK)
        status = pri_law_copy(one, law);
    return status;
}

/* All sums of an atom of each, into the bins. */
static void add_pairs(const struct pri_law *one, const struct pri_law *two,
                      struct pri_bins *bins)
{
    double first = pri_law_infinite(one), second = pri_law_infinite(two);
    int32_t ones = one->count - (first > 0), twos = two->count - (second > 0);
    for (int32_t a = 0; a < ones; a++) {
        double value = one->value[a], mass = one->mass[a];
        for (int32_t b = 0; b < twos; b++)
            pri_bins_put(bins, value + two->value[b], mass * two->mass[b]);
    }
    bins->infinite += first + (1 - first) * second;
    bins->work += (double)ones * twos;
}

/* The least positive sum: both must be positive if neither can be 0. */
static double least_sum(const struct pri_law *one, const struct pri_law *two)
{
    double first = pri_law_least(one), second = pri_law_least(two);
    bool zero_one = one->count > 0 && one->value[0] == 0;
    bool zero_two = two->count > 0 && two->value[0] == 0;
    double least = first + second;
    if (zero_two && first > 0)
        least = fmin(least, first);
    if (zero_one && second > 0)
        least = fmin(least, second);
    return least;
}

enum pricer_status pri_law_plus(const struct pri_law *term,
                                const struct pri_shape *shape,
                                struct pri_bins *bins, struct pri_law *sum)
{
    double least = least_sum(sum, term);
    double most = pri_law_most(sum) + pri_law_most(term);
    enum pricer_status status = pri_bins_begin(shape, least, most, bins);
    if (status != PRICER_OK)
        return status;
    bool shorter = term->count < sum->count;
    add_pairs(shorter ? term : sum, shorter ? sum : term, bins);
    return pri_bins_end(bins, sum);
}

/* The shape of a sum of so many rounds. */
static struct pri_shape shape_of_part(const struct pri_shape *shape,
                                      double rounds, double times)
{
    struct pri_shape part = *shape;
    double share = fmin(1, rounds / times);
    part.offset = shape->offset * share;
    part.tail = shape->tail * share / 64;
    return part;
}

/*
 * By doubling: each step groups once, so the error is that of some
 * 2 log2(times) groupings. Fewer rounds have smaller sums and a smaller offset.
 */
enum pricer_status pri_law_repeat(const struct pri_law *once, int64_t times,
                                  const struct pri_shape *shape,
                                  struct pri_bins *bins, struct pri_law *law)
{
    struct pri_law *power = &bins->two;
    double whole = (double)times, done = 0, rounds = 1;
    enum pricer_status status = pri_law_copy(once, power);
    for (int64_t left = times; left > 0 && status == PRICER_OK;
         left /= 2, rounds *= 2) {
        if (left % 2 == 1 && done > 0) {
            struct pri_shape part = shape_of_part(shape, done + rounds, whole);
            status = pri_law_plus(power, &part, bins, law);
        } else if (left % 2 == 1) {
            status = pri_law_copy(power, law);
        }
        done += left % 2 == 1 ? rounds : 0;
        if (left > 1 && status == PRICER_OK) {
            struct pri_shape part = shape_of_part(shape, 2 * rounds, whole);
            status = pri_law_copy(power, &bins->one);
            if (status == PRICER_OK)
                status = pri_law_plus(&bins->one, &part, bins, power);
        }
    }
    return status;
}
