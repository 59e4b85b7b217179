/*
 * What an observer sees of one node in a round: the sums that may show it, the
 * noise in each, and which of the links that decide about both are correlated.
 */
#ifndef PRICER_OBSERVE_H
#define PRICER_OBSERVE_H

#include "base/base.h"

/*
 * One sum that may show the protected node, and the noise in it. It is seen if
 * its link and its uplink are up.
 *
 * Data: it moves by sqrt(signal) against a variance of base + the noises that
 * are present. Identity: with the node it has a mean of length sqrt(signal) and
 * the variance `own` more than without.
 *
 * Every source has its own unit, the signal or the larger of signal and own, so
 * that no square of a weight or a noise leaves the range of numbers: the signal of
 * data is 1. Numbers are right within a unit in the last place.
 */
struct pri_source {
    int32_t node;        /* the relay that makes the sum */
    double signal;       /* squared distance of the two means */
    double base;         /* variance that is always there */
    double uplink, link; /* probabilities; 1 for what is certain */
    int32_t begin, end;  /* its noises */
    double own;          /* identity: the node's own variance */
};

/* A variance that is present with some probability: another node's packet. */
struct pri_packet {
    int32_t from;
    double size, chance;
    double absent; /* 1 - chance to full precision; 0 if that is 1 - chance */
};

/*
 * Two opposite links that both count and are not independent. The first is a
 * noise of a source, or the link of it if `gate` is set; the second is a noise
 * of another source.
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
    double dimension; /* identity: of the data; 0 for data */
    double loose;     /* by this part probabilities of patterns may be off,
                         since some links are taken as independent */
};

void pri_view_free(struct pri_view *view);

/*
 * What the observer sees of node i in one round: of its data, or of whether it
 * took part. The observer is a coalition of relays (member[node], or NULL for
 * none) with or without the server. A relay sees the sum of what reaches it,
 * without its own part; members pool what they see and know their own noise, so
 * noise from one member to another, or to the server, hides nothing.
 * O(degree^2 log degree).
 *
 * `grid` is that on which the plan is sent. Where it brings neighbouring data
 * further apart the noise of others counts for less. What it adds to the node's
 * noise makes it easier to tell whether it took part, and what it adds to that of
 * others is not counted. NULL: as planned, for a plan that fits no grid and cannot be sent. Claim
 * and proof: docs/mathematics.md, What one round shows.
 */
enum pricer_status pri_view_build(const struct pricer_network *network,
                                  const struct pricer_plan *plan, int32_t node,
                                  const bool *member, bool server,
                                  enum pricer_eavesdropper eavesdropper,
                                  const struct pricer_grid *grid,
                                  struct pri_view *view);
enum pricer_status pri_view_identity(const struct pricer_network *network,
                                     const struct pricer_plan *plan,
                                     int32_t node, const bool *member,
                                     bool server,
                                     enum pricer_eavesdropper eavesdropper,
                                     const struct pricer_grid *grid,
                                     struct pri_view *view);

/* The probability that a noise is absent. */
static inline double pri_absent(const struct pri_packet *noise)
{
    return noise->absent > 0 ? noise->absent : 1 - noise->chance;
}

/* The probabilities that a sum is seen and that it is not, both to a few units
 * in the last place. */
static inline double pri_seen(const struct pri_source *source)
{
    return source->uplink * source->link;
}
static inline double pri_unseen(const struct pri_source *source)
{
    return (1 - source->uplink) + source->uplink * (1 - source->link);
}

/* The chance of a pair's first link. */
static inline double pri_first(const struct pri_view *view,
                               const struct pri_coupled *pair)
{
    return pair->gate ? view->source[pair->source].link
                      : view->noise[pair->first].chance;
}

/*
 * The four cells of two links that are up with probabilities p and q and both
 * with `joint`: cell[x][y] with x = 1 if the first is up. Returns their
 * determinant, which is the covariance. Relative errors: a few units in the
 * last place for each cell; the determinant to as much of p q.
 */
double pri_cells(double p, double q, double joint, double cell[2][2]);

/* The cells of a pair, by its two links. */
double pri_pair_cells(const struct pri_view *view,
                      const struct pri_coupled *pair, double cell[2][2]);

/* ------------------------------------------------------------- observers -- */

/* Whose data is seen, and by whom: as pri_view_build() got them. */
struct pri_sight {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    const struct pricer_question *question;
    int32_t node;
    const bool *member;             /* or NULL */
    bool server;                    /* what the server sees is in the view */
    const struct pricer_grid *grid; /* or NULL */
};

/* What does not go together in a question, as a fault. */
enum pricer_status pri_question_check(const struct pricer_network *network,
                                      const struct pricer_question *question,
                                      struct pricer_fault *fault);

/* Whether it is about the estimate and not about all that the server sees. */
bool pri_question_reads(const struct pricer_question *question);

/* Which packets count as heard: a listener hears them all. */
enum pricer_eavesdropper pri_question_hears(
    const struct pricer_question *question);

/*
 * Change a view to that of the question: single shares and, if the choice is not
 * 0, the noise of the sums that come without the node's data, dealt out to those
 * of PRI_DEALT_TO sums whose bits are set. *helped: the choice is open to the
 * observer, and there is such noise. The account of every choice holds.
 */
enum { PRI_DEALT_TO = 4 };
enum pricer_status pri_view_observe(const struct pri_sight *sight,
                                    uint32_t choice, struct pri_view *view,
                                    bool *helped);

#endif
