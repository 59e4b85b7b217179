/*
 * From a privacy curve that can be evaluated to the eps at which it passes a delta.
 * docs/mathematics.md, The line.
 */
#include "calibrate.h"

#include <float.h>
#include <math.h>

struct pri_range pri_search_eps(double (*curve)(const void *of, double eps),
                                const void *of, double goal, double close)
{
    struct pri_range range = {0, INFINITY};
    double at = 1;
    if (!(curve(of, 0) > goal))
        return (struct pri_range){0, 0};
    for (int k = 0; k < 1100 && (isinf(range.high) || range.low == 0) &&
                    at > 0 && at < DBL_MAX / 4;
         k++) {
        bool above = curve(of, at) > goal;
        *(above ? &range.low : &range.high) = at;
        at *= above ? 2 : .5;
    }
    for (int k = 0; k < 100 && isfinite(range.high) &&
                    range.high - range.low > close * range.high;
         k++) {
        at = range.low + (range.high - range.low) / 2;
        *(curve(of, at) > goal ? &range.low : &range.high) = at;
    }
    return range;
}
