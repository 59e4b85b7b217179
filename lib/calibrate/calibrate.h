/*
 * One Gaussian mechanism, many rounds of it, one round of one identity, and the
 * noise that a budget asks for.
 *
 * Throughout, `mu` is the signal-to-noise ratio of a Gaussian mechanism: the
 * distance between the means of the two hypotheses over the standard deviation
 * of the noise.
 */
#ifndef PRICER_CALIBRATE_H
#define PRICER_CALIBRATE_H

#include "base/base.h"

/* -------------------------------------------------------------- gaussian -- */

/*
 * The privacy curve of one Gaussian mechanism at one eps, in logarithms: delta
 * is the hockey-stick divergence of order e^eps of its two output laws.
 *
 *     delta           = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu),
 *     d delta / d mu  =  exp(log_density),
 *     d delta / d eps = -exp(log_density) * mills.
 *
 * `error` bounds the absolute error of log_delta and of log_rest.
 */
struct pri_gaussian {
    long double log_delta;
    long double log_rest;    /* ln(1 - delta) */
    long double log_density; /* ln of the normal density at eps/mu - mu/2 */
    long double mills;       /* Mills' ratio at eps/mu + mu/2 */
    long double error;
};

/* Mills' ratio (1 - Phi(x)) / phi(x) for x >= 0; relative error < 2^-57. */
long double pri_mills(long double x);

/* Fill *gaussian for eps >= 0 and mu >= 0, either of which may be infinite. */
void pri_gaussian_at(long double eps, long double mu,
                     struct pri_gaussian *gaussian);

/* delta as a number, rounded up (at most 1) or down (at least 0). */
double pri_gaussian_above(long double eps, long double mu);
double pri_gaussian_below(long double eps, long double mu);

/* The double next above or below a number that a double may not hold. */
double pri_round_up(long double x);
double pri_round_down(long double x);

/* -------------------------------------------------------------- presence -- */

/* To which side a number may be off. */
enum pri_side { PRI_BELOW, PRI_ABOVE };

/*
 * Two laws to tell apart: without the node N(0, others I), with it
 * N(shift e, (others + own) I), in `dimension` dimensions.
 */
struct pri_presence {
    double dimension, shift, own, others;
};

/* The divergences at one eps, to the side: of absent from present, and of
 * present from absent. */
void pri_presence_delta(const struct pri_presence *presence, double eps,
                        enum pri_side side, double *absent, double *present);

/* ----------------------------------------------------------------- curve -- */

/*
 * Where a curve that falls with eps passes a goal: it is above the goal at low
 * and not at high, which was seen and not concluded; 0 and 0 where it is not at
 * 0, and no end where none is known. Within a part `close` of each other.
 */
struct pri_range {
    double low, high;
};
struct pri_range pri_search_eps(double (*curve)(const void *of, double eps),
                                const void *of, double goal, double close);

/* ---------------------------------------------------------------- rounds -- */

/*
 * How often a link that is up with probability p is up in `rounds` rounds: the
 * binomial law from `first` to `last`, less two tails whose mass together is
 * at most `tail`. Each weight has a relative error below `error`.
 */
struct pri_rounds {
    int64_t first, last;
    long double *weight; /* [last - first + 1] */
    long double tail;    /* mass left out, at most */
    long double error;   /* relative, of a weight */
    int64_t room;        /* how many weights there is room for */
};

/* The most rounds that an intermittent link is accounted for. */
#define PRI_ROUNDS_MOST 1000000000

/*
 * Fill *law (zero it before the first use; it keeps its memory for the next)
 * with all counts but a mass of at most `tail`. O(sqrt(rounds log(1/tail))).
 */
enum pricer_status pri_rounds_law(int64_t rounds, double p, long double tail,
                                  struct pri_rounds *law);
void pri_rounds_free(struct pri_rounds *law);

/*
 * The privacy curve of the law's number of rounds, each with ratio mu, at one
 * eps, tails left out. A long double holds every number that counts, so these
 * are not logarithms.
 */
struct pri_curve {
    long double delta;       /* E delta */
    long double rest;        /* E (1 - delta) */
    long double by_mu;       /* d delta / d mu */
    long double by_eps;      /* d delta / d eps, negative */
    long double error_delta; /* bound on the error of delta */
    long double error_rest;  /* bound on the error of rest */
};
void pri_rounds_curve(const struct pri_rounds *law, long double eps,
                      long double mu, struct pri_curve *curve);

/* ------------------------------------------------------------- calibrate -- */

/*
 * The largest mu, to the safe side, at which (eps, delta) holds over `rounds`
 * rounds of a link that is up with probability p. See pricer_calibrate().
 * `law` is scratch.
 */
enum pricer_status pri_calibrate(enum pricer_calibration calibration,
                                 double eps, double delta, int64_t rounds,
                                 double p, struct pri_rounds *law,
                                 long double *mu);

/*
 * Claim: true only if whoever gets each of `rounds` packets of ratio mu with
 * probability p learns no more than (eps, delta) allows. Conditioned on how
 * many were got, the packets are one Gaussian mechanism with ratio sqrt(count)
 * mu; binomial.c has the proof, and bounds on the errors, which are charged
 * here. `law` is scratch.
 */
bool pri_budget_holds(const struct pricer_budget *budget, long double mu,
                      struct pri_rounds *law);

/* ---------------------------------------------------------- noise slopes -- */

/*
 * The noise that each link [links] and each node's own part [nodes] must add
 * for one unit of weight, by the calibration and rounds of the settings;
 * 0 for eps = INFINITY. A slope is 2 radius / mu rounded up, with slack enough that
 * noise = slope * weight, rounded to double, keeps the budget.
 *
 * Where a node has a budget towards the server, each of its k links, its own
 * link included, keeps both its own budget and the k-th part of that one
 * (noise_slopes.c has the proof).
 *
 * Over several rounds every release counts, whether or not it arrives: what
 * leaves a node is protected from all who hear it. On failure the arrays hold
 * nothing of use. O(nodes + links) and one solution for each different budget.
 */
enum pricer_status pri_noise_slopes(const struct pricer_network *network,
                                    const struct pricer_settings *settings,
                                    double *slope, double *self_slope,
                                    struct pricer_fault *fault);

/*
 * d ln(slope) / d ln(eps) of one link (p = 1 for a node's own part) at the
 * calibration in use, by implicit differentiation of delta(eps; mu) = const;
 * between -1 and 0.
 */
enum pricer_status pri_slope_derivative(const struct pricer_settings *settings,
                                        double eps, double delta, double p,
                                        double *derivative,
                                        struct pricer_fault *fault);

#endif
