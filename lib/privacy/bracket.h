/*
 * A view over many rounds as one moment generating function, and the bracket
 * around eps that follows from it.
 */
#ifndef PRICER_BRACKET_H
#define PRICER_BRACKET_H

#include "bare.h"
#include "factor.h"

#include <math.h>

/* Whether its ends are within this part of each other. */
static inline bool pri_within(const struct pri_bracket *found, double part)
{
    return found->eps == found->eps_lower ||
           (isfinite(found->eps) &&
            found->eps - found->eps_lower <= part * found->eps);
}

/* Beyond this an eps is not worth more than the first lines. */
#define PRI_LARGE 1e4

struct pri_exact; /* coupled sums, all patterns at once: exact.h */

/* Sums that are independent of each other, or coupled as `exact` has them, over
 * `rounds` independent rounds: (Z_1 ... Z_k Z_exact)^rounds. */
struct pri_sums {
    struct pri_function function;
    int64_t rounds;
    int32_t factors, room;
    struct pri_mgf *factor;
    struct pri_exact *exact; /* or NULL */
    double seen;             /* at least P(some sum of the shell is seen) */
    double grain;            /* of the laws: factor.h */
    double most;             /* data: mu^2 of a round is at most this */
    double highest;          /* and of one sum this */
    double strip;            /* real parts of s are below this */
    double loose;            /* as of the view */
    double growth;           /* of the raised curve, or INFINITY */
    double bare;          /* P(some factor is seen as good as bare), a round */
    double more[2];       /* by side: patterns as good as bare, all rounds */
    bool exact_laws;      /* no law has groups of several values */
    bool fine, cut_short; /* lines are to be long; some line was too short */
    double steps, blur;   /* nodes times groups, at most; of eps, at least */
};

enum { PRI_SHELLS = 40 };

struct pri_scratch {
    struct pri_chances chances;
    int64_t room; /* of chances */
    struct pri_law spare;
    struct pri_line line[PRI_SHELLS];
    struct pri_sums model;
    struct pri_line along; /* room for values of the parts of a line */
};

/* An s, and the eps that Chernoff's bound proves with it. */
struct pri_saddle {
    double s, eps;
};

/* Set the factors of a model to the sources of a view that are marked in
 * `which` (all if NULL), with the probabilities of scratch->chances. */
enum pricer_status pri_sums_set(const struct pri_view *view, const bool *which,
                                double hide, double width,
                                struct pri_scratch *scratch);

/* Set a model to the shell of patterns (docs/mathematics.md, Shells) no louder than
 * `most` but louder than `least`, by their loudest sum: signal over noise. Fails for
 * the first shell only. */
enum pricer_status pri_sums_shell(struct pri_sums *model, double most,
                                  double least);

/* Where shells end, the loudest first; none is empty. Returns how many. */
int32_t pri_sums_cut(struct pri_sums *model, double *cut);

/* ln of a bound on |Z(s)^rounds - unseen^rounds|, there and, unless s is real,
 * further along the line; `rough`: about that, by the sketches. */
double pri_sums_log(const struct pri_sums *model, double complex s, bool rough);

/* The mass of a model's shell over all rounds, at most, and a bound on what of
 * it is not as good as bare: E e^(-L/2). */
void pri_sums_mass(const struct pri_sums *model, double *mass, double *left);

/* The largest s whose Chernoff bound at an eps is about the least, ln of which is
 * *log_bound: the further from 0, the fewer nodes, and the more they cancel. */
double pri_sums_place(const struct pri_sums *model, double eps,
                      double *log_bound);

/* The best of all Chernoff bounds for a delta. */
struct pri_saddle pri_sums_saddle(const struct pri_sums *model, double delta);

/* The values of a line that has its place: of a model's shell over all rounds,
 * divided by e^log_most. `eps` is about what is looked for. */
enum pricer_status pri_sums_walk(struct pri_sums *model, double eps,
                                 struct pri_scratch *scratch,
                                 struct pri_line *line);

/* Make *found narrower by a line through the saddle. `sides` says which ends
 * the model proves: bit PRI_BELOW, bit PRI_ABOVE. */
enum pricer_status pri_sums_bracket(struct pri_sums *model, double delta,
                                    struct pri_saddle saddle, int sides,
                                    struct pri_scratch *scratch,
                                    struct pri_bracket *found);

/* The delta that one end of a bracket is computed for: delta itself above, a grain
 * more below, as rounding decides whether 0.1^3 is more than 0.001. */
static inline double pri_delta_for(double delta, enum pri_side side)
{
    return side == PRI_ABOVE ? delta : delta * (1 + 1e-11);
}

#endif
