/*
 * From releases to the ratio that they have together, and from a budget to how
 * many more it holds. No arithmetic here adds up with the number of rounds:
 * equal releases are counted.
 */
#include "spent.h"
#include "trust_file.h"

#include <float.h>
#include <math.h>

void spent_add(struct spent *spent, double mu, int64_t releases)
{
    if (releases <= 0)
        return;
    spent->square += (long double)mu * (long double)mu * (long double)releases;
    spent->ratios++;
}

/*
 * The ratio of all releases together, rounded up. Every product and sum of the
 * square costs at most one unit, 2 ratios + 2 in all with the root.
 */
double spent_ratio(const struct spent *spent)
{
    if (spent->square == 0)
        return 0;
    long double slack = LDBL_EPSILON * (3 * (long double)spent->ratios + 3);
    long double ratio = sqrtl(spent->square) * (1 + slack);
    double rounded = (double)ratio;
    return rounded < ratio ? nextafter(rounded, INFINITY) : rounded;
}

bool spent_fits(const struct spent *spent, const struct ledger_charge *charge,
                int64_t releases)
{
    struct spent sum = *spent;
    spent_add(&sum, charge->mu, releases);
    return trust_allows(charge->total_eps, charge->total_delta,
                        spent_ratio(&sum));
}

/* How many releases fit, by the calibrated ratio of the budget: right but for
 * rounding. */
static int64_t guess_left(const struct ledger_charge *charge,
                          const struct spent *spent, int64_t most)
{
    long double ratio = trust_most(charge->total_eps, charge->total_delta);
    long double room = ratio * ratio - spent->square;
    long double count = room / ((long double)charge->mu * charge->mu);
    if (!(count > 0))
        return 0;
    return count < (long double)most ? (int64_t)count : most;
}

int64_t spent_left(const struct spent *spent,
                   const struct ledger_charge *charge)
{
    enum { ENOUGH = 1 << 24 };
    int64_t low = guess_left(charge, spent, ENOUGH), step = 1;
    for (; low > 0 && !spent_fits(spent, charge, low); step *= 2)
        low = low > step ? low - step : 0;
    int64_t high = low + 1;
    for (step = 1; high <= ENOUGH && spent_fits(spent, charge, high);
         step *= 2) {
        low = high;
        high += step;
    }
    if (high > ENOUGH)
        return LEDGER_NO_END;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (spent_fits(spent, charge, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}
