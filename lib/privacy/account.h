/*
 * The inside of the privacy accounts: what an observer of one node's data sees
 * in a round, and what it costs.
 */
#ifndef PRICER_ACCOUNT_H
#define PRICER_ACCOUNT_H

#include "losses.h"
#include "presence.h"

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
struct pri_packet {
    int32_t from;
    double size, chance;
};

/*
 * Two opposite links that both count and are up together more often than by
 * chance. The first is a noise of a source, or the link of it if `gate` is set;
 * the second is a noise of another source.
 */
struct pri_coupled {
    bool gate;
    int32_t source, other; /* of the first and of the second */
    int32_t first, second; /* noises; first is -1 for a gate */
    double joint;          /* P(both up) */
    double influence;      /* a guess of how much it matters */
};

struct pri_view {
    bool visible; /* the observer sees which links were up */
    int32_t sources, noises, pairs;
    int32_t source_room, noise_room, pair_room;
    struct pri_source *source;
    struct pri_packet *noise;
    struct pri_coupled *pair;
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

/*
 * One case of a case-by-case account: on which sources it is conditioned,
 * seen or not (bit k of `given`, `seen`), and on which pairs, whether the first
 * link of each is up.
 */
struct pri_case {
    uint64_t given, seen, pair_given, pair_up;
    /* The condition to add next: a source, or PRI_GIVEN_MOST + a pair; -1:
     * nothing is open. */
    int32_t next;
    bool open;              /* some pair had to be decoupled */
    double contribution[2]; /* what it adds to a measure of cost, by side */
};

enum { PRI_CASES_MOST = 16384, PRI_GIVEN_MOST = 64 };

/* Scratch of the accounts, one for each thread. */
struct pri_scratch {
    struct pri_bins bins, mix;
    struct pri_law noise; /* the variance in one sum */
    struct pri_law *term; /* [terms] the mu^2 of one source each */
    struct pri_law rest;  /* of the sources without pairs */
    struct pri_law once, law;
    struct pri_case *cases; /* [PRI_CASES_MOST] */
    int32_t case_count;
    struct pri_rounds rounds;
    double *size, *draw; /* [room] the noises of one source */
    double *chance;      /* [room] as a case has them */
    int32_t *partner;    /* [room] the open pair it is of, or -1 */
    double *effect;      /* [room] by decouple.c: how much it matters */
    double *tilt;        /* [room] by decouple.c: a factor of what it hides */
    double *shift;       /* [room] how much more often it may be absent */
    double *link, *seen; /* [terms] probabilities as a case has them */
    double *base;        /* [terms] variance as a case has it */
    int32_t *gate;       /* [terms] the open pair of its link, or -1 */
    double *gated;       /* [terms] how much that link matters */
    bool *paired;        /* [terms] some pair is about it */
    int32_t *place;      /* [terms] where a source went; their order */
    int32_t terms, room;
};

void pri_scratch_free(struct pri_scratch *scratch);

/* What one computation of the law of mu^2 depends on. */
struct pri_attempt {
    const struct pri_view *view;
    enum pri_side side;  /* of every grouping */
    enum pri_side pairs; /* of those that a case leaves open */
    int32_t bits;
    int64_t rounds;
    double tail;   /* mass that may be given up */
    double low;    /* of mu^2 over all rounds: less hardly costs anything */
    double eps;    /* an eps that holds */
    double window; /* all below speaks of eps from this part of it on */
    double above;  /* f''/f' of the raised curve is at most this, from above */
    double below;  /* the same from below */
    bool tuned;    /* `above` is as good as it gets */
    double growth; /* `above` or `below`, by side */
    double fall;   /* f''/f' is at least -1/8 - this */
    bool typical;  /* look at what links typically do, not at the worst */
    double little; /* what the sources left out can add to a round */
    double width;  /* that pairs made at the last try */
    int idle;      /* tries since the width has changed much */
};

enum pricer_status pri_scratch_reserve(struct pri_scratch *scratch,
                                       const struct pri_view *view);

/*
 * Set scratch->chance, seen and base to those of one case, and what to add
 * next. Returns the probability of the case.
 */
double pri_case_set(const struct pri_attempt *attempt, struct pri_case *one,
                    struct pri_scratch *scratch);

/* P(first up), and P(second up) given the first. */
double pri_pair_first(const struct pri_view *view,
                      const struct pri_coupled *pair);
double pri_pair_given(const struct pri_view *view,
                      const struct pri_coupled *pair, bool up);

/* The probability with which the second noise of an open pair may be drawn by
 * itself; scratch->effect and gated are known or infinite. */
double pri_decoupled(const struct pri_attempt *attempt,
                     const struct pri_coupled *pair,
                     const struct pri_scratch *scratch);

/*
 * How much the links that a case leaves coupled typically matter, into
 * scratch->effect and gated: see decouple.c. scratch->partner and gate are
 * set.
 */
void pri_case_effects(const struct pri_attempt *attempt,
                      struct pri_scratch *scratch);

/* The probability that the data arrives bare in some round, rounded up; exact
 * while few pairs have to do with it. No eps pays for that. */
double pri_view_floor(const struct pri_view *view, int64_t rounds,
                      struct pri_scratch *scratch);

/* The law of mu^2 over all rounds and cases, in scratch->law. */
enum pricer_status pri_view_law(const struct pri_attempt *attempt,
                                struct pri_scratch *scratch);

/*
 * The delta that one end of a bracket is computed for: the proved end for delta
 * itself, the lower one for a grain more. Probabilities such as 0.1 are not
 * numbers of the computer's, so whether three of them multiply to no more than
 * 0.001, and with it whether a plateau of the curve costs anything, is decided
 * by rounding: against us above, and for a lower bound the opposite.
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
 * The same bracket for the view of an attempt with all couplings at once, where
 * that is possible within `work` (data_exact.c): *found, which must hold, is
 * made narrower or left as it is.
 */
enum pricer_status pri_exact_account(const struct pri_attempt *attempt,
                                     double delta, double work,
                                     struct pri_scratch *scratch,
                                     struct pri_bracket *found);

/*
 * The account of one link over `rounds` rounds: each packet has ratio mu (which
 * may be INFINITY) and arrives with probability p.
 */
enum pricer_status pri_link_account(double mu, double p, double delta,
                                    int64_t rounds, struct pri_scratch *scratch,
                                    struct pri_bracket *bracket);

/*
 * A variance of the others at which the divergences are known at one eps, and
 * what the two laws have from there up to the next node: with t from 0 to 1 on
 * the way, the mass and the sums of m (1 - t) and of m t (1 - t).
 */
struct pri_knot {
    double value;
    struct pri_reach direction[2];
    struct pri_curvature curvature[2];  /* from here to the next */
    int32_t first[2];                   /* by side: the first atom */
    double mass[2], near[2], within[2]; /* by side */
};

/* Scratch of the accounts of identities, one for each thread. */
struct pri_identity {
    struct pri_bins bins;
    struct pri_law others[2]; /* by side: the variance of the others' packets */
    double silent[2];         /* by side: p times its mass at 0 */
    struct pri_knot *node;
    int32_t nodes, node_room;
    struct pri_losses *losses; /* of one round, and of many */
    double *size, *chance;
    int32_t room;
    double p; /* of the node's own link */
    struct pri_presence presence;
};

void pri_identity_free(struct pri_identity *identity);

/* How well to know an average: to this part of itself, or of what is next to
 * nothing; or on which side of a goal it is (NAN: there is none). */
struct pri_aim {
    double part, small, goal;
};

/* p times the average divergences and rises over the positive variances of the
 * others: `high` from above, all else those of a law from below. */
enum pricer_status pri_identity_average(struct pri_identity *identity,
                                        double eps, const struct pri_aim *aim,
                                        struct pri_reach direction[2]);

/* The laws of the others' variance at the relay of a link. */
enum pricer_status pri_identity_others(const struct pricer_network *network,
                                       const struct pricer_plan *plan,
                                       int32_t link, double dust,
                                       struct pri_identity *identity);

/* The account of one round; identity->p and presence are those of the link. */
enum pricer_status pri_identity_once(const struct pricer_network *network,
                                     const struct pricer_plan *plan,
                                     int32_t link, double delta,
                                     struct pri_identity *identity,
                                     struct pri_bracket *found);

/* Whether the two ends are close enough; an end at infinity is not. */
bool pri_identity_close(const struct pri_bracket *found);

/* The most points of a curve. */
enum { PRI_POINTS = 8000 };

/* The curves of both directions at loss[0] = 0 to loss[last], but for what is
 * infinite: bounds of their height and rise. */
struct pri_curves {
    double fine;   /* the least step, to where the curves fall to a half, */
    double finest; /* but no more than this */
    double growth; /* of the steps, to the loss */
    double part;   /* to which the curves are known */
    int32_t reach; /* how finely losses are added up */
    int32_t last;
    double step;
    double loss[PRI_POINTS + 1];
    struct pri_reach direction[2][PRI_POINTS + 1];
    double infinite[2]; /* by side */
};

enum pricer_status pri_curves_new(struct pri_curves **curves);

/*
 * Sample the curves over the laws in identity->others, up to a loss of `most`.
 * `scale` is a guess of where they fall.
 */
enum pricer_status pri_identity_curves(struct pri_identity *identity,
                                       double delta, int64_t rounds,
                                       double scale, double most,
                                       struct pri_curves *curves);

/* A polygon under or over a curve: its corners from a loss of 0 on, and the
 * height at each. */
struct pri_polygon {
    int32_t count;
    double loss[PRI_POINTS + 2], height[PRI_POINTS + 2];
};

/* The polygons of both directions to a side; they meet at 0. */
void pri_polygons(const struct pri_curves *curves, enum pri_side side,
                  struct pri_polygon polygon[2]);

/* The mass of a corner under the first law of its direction. */
double pri_corner_mass(const struct pri_polygon *polygon, int32_t k);

/* Compose `rounds` rounds: both ends of *bracket are brought closer. */
enum pricer_status pri_identity_compose(const struct pri_curves *curves,
                                        double delta, int64_t rounds,
                                        struct pri_identity *identity,
                                        struct pri_bracket *bracket);

/*
 * What relay to[link] learns about whether from[link] took part, from the sum
 * of what reaches it, given that the others' packets are known but for their
 * noise. One round is the exact average over who else took part, a bound for a
 * relay that does not know it; several rounds compose by the privacy loss.
 */
enum pricer_status pri_identity_account(
    const struct pricer_network *network, const struct pricer_plan *plan,
    int32_t link, enum pricer_eavesdropper eavesdropper, double delta,
    int64_t rounds, struct pri_identity *identity, struct pri_bracket *bracket);

/* ---------------------------------------------------------------- repeat -- */

/* Whether the question can be answered where rounds repeat, and the answer. */
enum pricer_status pri_repeat_check(const struct pricer_question *question,
                                    struct pricer_fault *fault);
void pri_repeat_answer(const struct pricer_network *network,
                       const struct pricer_plan *plan,
                       const struct pricer_question *question,
                       const bool *member, struct pricer_statement *statement);

#endif
