/*
 * From a node's data and a reference to the change that it shares, and from the
 * decoded change to the next estimate, which is the next reference.
 *
 * Claim. Whatever the reference is and whoever chose it, the message of a share
 * of weight w is w c + noise with |c| <= s, s the slice's radius: the change is
 * cut by pricer_round_share(), which verifies the bound in integers. So two data
 * sets move it by at most 2 w s, also if the reference differs between them, and
 * no rounding done here can make that more. docs/mathematics.md, "Rounds relative
 * to the last estimate", has the composition over rounds.
 */
#include "pricer_reference.h"
#include "base/base.h"

#include <math.h>

enum pricer_status pricer_round_change(const struct pricer_slice *slice,
                                       const double *data,
                                       const double *reference, double *change,
                                       struct pricer_fault *fault)
{
    double peak = 0, ignored = 0;
    double length = pri_relative_length(data, slice->dimension, &peak);
    if (!(slice->reach > 0))
        return pri_fault(fault, PRICER_VALUE,
                         "the slice is not of rounds with a reference");
    if (isnan(length))
        return pri_fault(fault, PRICER_VALUE,
                         "the data of node %d holds a value that is not finite",
                         (int)slice->node);
    if (isnan(pri_relative_length(reference, slice->dimension, &ignored)))
        return pri_fault(fault, PRICER_VALUE, "the reference is not finite");
    bool cut = peak > 0 && length > slice->reach / peak;
    double unit = cut ? peak : 1, shrink = cut ? slice->reach / length : 1;
    for (int64_t k = 0; k < slice->dimension; k++)
        change[k] = data[k] / unit * shrink - reference[k];
    return PRICER_OK;
}

void pricer_round_follow(double reach, const double *change, int64_t count,
                         double *reference)
{
    double peak = 0;
    for (int64_t k = 0; k < count; k++)
        reference[k] += change[k];
    double length = pri_relative_length(reference, count, &peak);
    /* What was brought back once is not moved again by its last digits. */
    if (!(peak > 0 && length > reach / peak * (1 + 1e-12)))
        return;
    for (int64_t k = 0; k < count; k++)
        reference[k] = reference[k] / peak * (reach / length);
}
