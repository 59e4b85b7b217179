/*
 * The inside of the privacy accounts: what an observer of one node's data sees
 * in a round, and what it costs.
 */
#ifndef PRICER_ACCOUNT_H
#define PRICER_ACCOUNT_H

#include "identity.h"

/*
 * One sum that carries the protected data past the observer, and the noise in
 * it. It is seen if its link and its uplink are up; then the data moves it by
 * sqrt(signal) against a variance of base + the noises that are present.
 */
struct pri_source {
    int32_t node;        /* the relay that makes the sum */
    double signal;       /* (2 weight)^2, as all variances in squared radii */
    double base;         /* variance that is always there */
    double uplink, link; /* probabilities; 1 for what is certain */
    int32_t begin, end;  /* its noises */
};

/* A variance that is present with some probability: another node's packet. */
struct pri_noise {
    int32_t from;
    double size, chance;
    bool seen; /* its source was not left out */
};

/*
 * Two opposite links that both count and are up together more often than by
 * chance. `first` is a noise, or the link of a source if `gate` is set;
 * `second` is a noise of another source.
 */
struct pri_pair {
    bool gate;
    int32_t first, second;
    double joint;     /* P(both up) */
    double influence; /* a guess of how much it matters */
};

struct pri_view {
    bool visible; /* the observer sees which links were up */
    int32_t sources, noises, pairs;
    int32_t source_room, noise_room, pair_room;
    struct pri_source *source;
    struct pri_noise *noise;
    struct pri_pair *pair;
};

void pri_view_free(struct pri_view *view);

/*
 * What the observer sees of node i's data in one round. The observer is a
 * coalition of relays (member[node], or NULL for none) with or without the
 * server. A relay sees the sum of what reaches it, without its own part;
 * members pool what they see and know their own noise, so noise from one
 * member to another, or to the server, hides nothing. O(degree^2 log degree).
 */
enum pricer_status pri_view_build(const struct pricer_network *network,
                                  const struct pricer_plan *plan, int32_t node,
                                  const bool *member, bool server,
                                  enum pricer_eavesdropper eavesdropper,
                                  struct pri_view *view);

/* One atom of a law that is not yet in order. */
struct pri_atom {
    double value, mass;
};

/* As many sums are listed one by one; more are computed on a grid. */
enum { PRI_ATOMS_MOST = 32768 };

/* Scratch of the accounts, one for each thread. */
struct pri_scratch {
    struct pri_grid grid, noise_grid;
    struct pri_law noise; /* the variance in one sum */
    struct pri_law *term; /* [terms] the mu^2 of one source each */
    struct pri_law rest;  /* of the sources that no leaf changes */
    struct pri_law once, law;
    struct pri_atom *atom; /* [PRI_ATOMS_MOST] sums listed one by one */
    struct pri_rounds rounds;
    const struct pri_law **list;
    double *size, *draw;   /* [room] the noises of one source */
    double *chance, *link; /* [room], [terms] as a leaf has them */
    bool *touched;         /* [terms] depends on the leaf */
    int32_t *place;        /* [terms] where a source went */
    int32_t terms, room;
};

void pri_scratch_free(struct pri_scratch *scratch);

/* What one computation of the law of mu^2 depends on. */
struct pri_attempt {
    const struct pri_view *view;
    double ignore;       /* mass that need not be resolved */
    enum pri_side side;  /* of every rounding */
    enum pri_side pairs; /* of those not split */
    int32_t splits;      /* the first pairs are split */
    int32_t noise_cells, cells;
    double low, top; /* of mu^2 */
    double little;   /* what the sources left out can add to a round */
    double work;     /* steps that a try may take */
};

enum pricer_status pri_scratch_reserve(struct pri_scratch *scratch,
                                       const struct pri_view *view);

/*
 * Set scratch->chance and link to those of one leaf: bit k of `leaf` says
 * whether the first link of the k-th split pair is up. Returns the probability
 * of the leaf.
 */
double pri_leaf_set(const struct pri_attempt *attempt, uint32_t leaf,
                    struct pri_scratch *scratch);

/* The law of mu^2 through one source in the leaf that is set, in scratch->term.
 */
enum pricer_status pri_term_law(const struct pri_attempt *attempt,
                                int32_t index, struct pri_scratch *scratch);

/* The law of mu^2 over all rounds and leaves, in scratch->law. */
enum pricer_status pri_view_law(const struct pri_attempt *attempt,
                                int64_t rounds, struct pri_scratch *scratch);

/*
 * The delta that one end of a bracket is computed for: the proved end for delta
 * itself, the lower one for a grain more. Probabilities such as 0.1 are not
 * numbers of the computer's, so whether three of them multiply to no more than
 * 0.001, and with it whether a plateau of the curve costs anything, is decided
 * by rounding: against us above, and for a lower bound the other way.
 */
static inline double pri_delta_for(double delta, enum pri_side side)
{
    return side == PRI_ABOVE ? delta : delta * (1 + 1e-11);
}

/* An eps between two bounds, and the mass that no eps pays for. */
struct pri_bracket {
    double eps, eps_lower, floor;
};

/*
 * The account of a view over `rounds` rounds at one delta; what does not matter
 * is taken out of the view. `work` bounds the effort, in steps of about a
 * nanosecond, to bring the ends of the bracket within 1 % of each other.
 */
enum pricer_status pri_view_account(struct pri_view *view, double delta,
                                    int64_t rounds, double work,
                                    struct pri_scratch *scratch,
                                    struct pri_bracket *bracket);

/*
 * The account of one link over `rounds` rounds: each packet has ratio mu (which
 * may be INFINITY) and arrives with probability p.
 */
enum pricer_status pri_link_account(double mu, double p, double delta,
                                    int64_t rounds, struct pri_scratch *scratch,
                                    struct pri_bracket *bracket);

/* Scratch of the accounts of identities, one for each thread. */
struct pri_identity {
    struct pri_grid grid;
    struct pri_law others, few; /* the variance of the others' packets */
    double *size, *chance;
    int32_t room;
    double p; /* of the node's own link */
    struct pri_presence presence;
};

void pri_identity_free(struct pri_identity *identity);

/* p times the average divergence, *absent of absent from present and *present
 * the other way, over a law of the others' variance; to the side. */
void pri_identity_deltas(const struct pri_identity *identity,
                         const struct pri_law *law, double eps,
                         enum pri_side side, double *absent, double *present);

/*
 * Compose `rounds` rounds of the mixture over `law` (from above: variances
 * rounded down) by its privacy loss: an eps that holds at delta. `scale` is the
 * eps of one round, for the size of the grid.
 */
enum pricer_status pri_identity_compose(const struct pri_identity *identity,
                                        const struct pri_law *law, double delta,
                                        int64_t rounds, double scale,
                                        double *eps);

/*
 * What relay to[link] learns about whether from[link] took part, from the sum
 * of what reaches it, given that the others' packets are known but for their
 * noise. One round is the exact average over who else took part, a bound for a
 * relay that does not know it; several rounds compose by the privacy loss, and
 * their eps_lower is only that of one round.
 */
enum pricer_status pri_identity_account(
    const struct pricer_network *network, const struct pricer_plan *plan,
    int32_t link, enum pricer_eavesdropper eavesdropper, double delta,
    int64_t rounds, struct pri_identity *identity, struct pri_bracket *bracket);

/*
 * The one statement of pricer_privacy_account() about a node, and for links and
 * relays the receiver `at`, which is not looked at otherwise.
 */
enum pricer_status pri_privacy_one(const struct pricer_network *network,
                                   const struct pricer_plan *plan,
                                   const struct pricer_question *question,
                                   int32_t node, int32_t at,
                                   struct pricer_statement *statement,
                                   struct pricer_fault *fault);

#endif
