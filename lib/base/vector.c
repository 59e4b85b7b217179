/*
 * The length of a vector, whatever the size of its entries.
 */
#include "base.h"

#include <math.h>

double pri_relative_length(const double *vector, int64_t count, double *largest)
{
    double most = 0, sum = 0;
    for (int64_t k = 0; k < count; k++) {
        if (!isfinite(vector[k]))
            return NAN;
        most = fmax(most, fabs(vector[k]));
    }
    *largest = most;
    if (most == 0)
        return 0;
    for (int64_t k = 0; k < count; k++)
        sum += (vector[k] / most) * (vector[k] / most);
    return sqrt(sum);
}
