/*
 * Rounds relative to the last estimate: nodes share how far their data are from
 * it, which is short where data are alike and move slowly, and needs that much
 * less noise.
 */
#ifndef PRICER_REFERENCE_PUBLIC_H
#define PRICER_REFERENCE_PUBLIC_H

#include "pricer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a node shares in a round: its data, cut to the slice's reach, less the
 * reference, both of `dimension` numbers. pricer_round_share() cuts the change to
 * the slice's radius s.
 *
 * Claim: for any reference whatever, two data sets give messages that differ by
 * at most 2 s times the weight before the noise, which is what the slice's plan
 * hides. Rounds compose as they do without a reference although each depends on
 * those before: towards whoever sees payloads of one node alone, and towards
 * whoever sees the estimates too (docs/mathematics.md, "Rounds relative to the
 * last estimate"). Fails if a number is not finite. O(dimension).
 */
PRICER_API enum pricer_status pricer_round_change(
    const struct pricer_slice *slice, const double *data,
    const double *reference, double *change, struct pricer_fault *fault);

/*
 * The next estimate, in the place of the reference: the reference and the decoded
 * change, brought back into the ball of radius `reach` if they are outside, where
 * no mean of the data can be.
 */
PRICER_API void pricer_round_follow(double reach, const double *change,
                                    int64_t count, double *reference);

/*
 * Estimates that walk, over many walks: round by round the mean of |estimate -
 * mean of the data|^2, how many nodes' changes were longer than the radius and
 * were cut, and the error bars. Where nobody's data arrived in a round there is
 * no estimate, and the last one stands.
 */
struct pricer_walk {
    int64_t rounds, walks, dimension;
    int64_t clipped;              /* vectors longer than the data's radius */
    double *error, *error_stderr; /* [rounds] */
    double *cut; /* [rounds] nodes, mean; 0 without reference */
    double *bar; /* [rounds] mean */
    double
        *estimate; /* [rounds][dimension] after each round of the first walk */
    bool *made;    /* [rounds] the first walk's round gave an estimate */
};

PRICER_API void pricer_walk_free(struct pricer_walk *walk);

#ifdef __cplusplus
}
#endif

#endif
