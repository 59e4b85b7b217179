/*
 * pricer: the best linear estimate from the sums that arrived, with an error
 * bar.
 *
 * The server knows which sums arrived and whose shares each contains. Choosing
 * the coefficients of the sums after the fact is post-processing: no privacy
 * account changes, nothing on the wire changes. This header follows pricer.h,
 *
 *     network, plan -> decoder -> receiver -> coefficients and bar of a round,
 *
 * and keeps its rules. docs/mathematics.md has the theory.
 */
#ifndef PRICER_DECODE_H
#define PRICER_DECODE_H

#include "pricer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Up to this many nodes a plan gets a decoder unless it is asked for without:
 * beyond, fitting one takes more than some seconds and longer than the plan. */
enum { PRICER_DECODER_NODES = 300 };

/* What is asked of a decoder. Zero everywhere is the default. */
struct pricer_decoder_settings {
    int32_t rank;     /* of the correlations; 0: all up to 32 nodes, else 1 */
    int64_t patterns; /* drawn to judge it; 0: some seconds' worth */
    bool unbiased;    /* its estimates have no bias; for unbiased plans */
    double spread;    /* error of every p, a deviation in its logit; 0: 0.25,
                       * negative: none */
    const double *uplink_spread; /* [nodes], or NULL: spread */
    const double *link_spread;   /* [links], or NULL: spread */
    bool blind;                  /* the server sees no mask, only uplinks */
    uint64_t seed;
    int32_t threads; /* 0: one per core */
    const struct pricer_watch *watch;
};

/*
 * A decoder, to be kept with its plan: the correlations of the data that are
 * hardest for it, X = own + shared shared' (in units of radius^2), and what it
 * is worth.
 *
 * A relay's coefficient never exceeds its cap, whatever the masks say. `blend`
 * mixes with the constant decoder: 1 is all minimax, 0 is the constant decoder
 * itself.
 *
 * The errors are worst cases over all data, each fixed before links and noise
 * are drawn, in the units of struct pricer_error. No linear decoder of this
 * plan has less than `lower`; this one has at least `reached` and at most
 * `upper`, by the diagonal certificate; upper <= constant. Each is up to its
 * standard error from sampled patterns, which is 0 where all patterns were
 * summed.
 */
struct pricer_decoder {
    int32_t nodes, rank;
    bool blind, unbiased;
    double blend;
    double *own;    /* [nodes] */
    double *shared; /* [nodes][rank] */
    double *target; /* [nodes] kappa: coefficients are H^-1 A kappa */
    double *cap;    /* [nodes] */
    double constant, lower, reached, upper;
    double lower_stderr, upper_stderr;
    int64_t patterns; /* that judged it */
    bool exact;       /* these were all there are */
};

/* A decoder with room for everything: own 1, all else zero. For decoders that
 * come from elsewhere. */
PRICER_API enum pricer_status pricer_decoder_new(
    int32_t nodes, int32_t rank, struct pricer_decoder **decoder,
    struct pricer_fault *fault);

PRICER_API void pricer_decoder_free(struct pricer_decoder *decoder);

/*
 * Fit the decoder of a plan. Claim: against every data set within the radius
 * its expected squared error is at most decoder->upper, up to sampling (upper
 * is in expectation no less than the truth), and upper <= constant, the plan's
 * mse_worst_case. An unbiased decoder is for unbiased plans (PRICER_VALUE
 * otherwise) of up to 32 nodes; beyond, it is the constant one, whose blend is
 * 0. PRICER_STOPPED if the watch
 * asked to. The same for any number of threads.
 */
PRICER_API enum pricer_status pricer_decoder_fit(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_decoder_settings *settings,
    struct pricer_decoder **decoder, struct pricer_fault *fault);

/* A number and its standard error. */
struct pricer_estimate {
    double value, error;
};

/*
 * How much anything could still gain: no plan within the network's budgets, not
 * even one for every pattern of links, with any linear decoder has a smaller
 * worst case than this. It assumes that all payloads reach the server
 * separately.
 */
PRICER_API enum pricer_status pricer_decoder_genie(
    const struct pricer_network *network,
    const struct pricer_settings *settings,
    const struct pricer_decoder_settings *asked, struct pricer_estimate *bound,
    struct pricer_fault *fault);

/* --------------------------------------------------------------- receiver --
 */

/* Network, plan and decoder made ready to decode round after round, with the
 * room that takes; one for each thread. */
struct pricer_receiver;

/* The decoder must be of this network. Copies what it needs of all three.
 * O(links). */
PRICER_API enum pricer_status pricer_receiver_new(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_decoder *decoder, struct pricer_receiver **receiver,
    struct pricer_fault *fault);

PRICER_API void pricer_receiver_free(struct pricer_receiver *receiver);

/*
 * What one round's pattern is worth. `bar` is the expected squared error, given
 * the pattern, for the data the decoder prepares for; its mean over rounds is
 * at least the mean squared error of any fixed data, at the saddle point.
 * `slack` bounds how much of it is due to stopping the solver early.
 */
struct pricer_decoded {
    int32_t sums;     /* that arrived with something in them */
    bool is_estimate; /* false: nothing arrived, the estimate is 0 by default */
    double bar, slack;
    int32_t steps; /* of conjugate gradients; 0: solved directly */
};

/*
 * The coefficient of every relay's sum [nodes], 0 where it did not arrive: the
 * estimate is the sum of coefficient[j] times sum j. uplink[j]: sum j arrived;
 * link[l]: it contains the share of link l (looked at only where l's relay
 * arrived). The result depends on nothing else, to the bit. O(links that
 * arrived) a step.
 */
PRICER_API void pricer_receiver_decode(struct pricer_receiver *receiver,
                                       const bool *uplink, const bool *link,
                                       double *coefficient,
                                       struct pricer_decoded *decoded);

/* Whose own part is known not to be in their sum, withheld[i], in all that is
 * decoded from now on: a node that has spent its budget still relays. NULL:
 * nobody's, as at the beginning. Blind decoders do not know and do not look. */
PRICER_API void pricer_receiver_withhold(struct pricer_receiver *receiver,
                                         const bool *withheld);

/*
 * The same by the adaptive decoder, which looks at the sums: sum j, in the
 * data's units, stands at sums[j * dimension] where it arrived. It fits the
 * length and likeness of the data to what arrived (empirical Bayes). No
 * guarantee: data exist for which it is worse than the constant decoder. Its
 * bars are what it believes. O(dimension + sums) beside some hundred
 * factorisations for up to 64 of the sums.
 */
PRICER_API void pricer_receiver_adapt(struct pricer_receiver *receiver,
                                      const bool *uplink, const bool *link,
                                      const double *sums, double *coefficient,
                                      struct pricer_decoded *decoded);

#ifdef __cplusplus
}
#endif

#endif
