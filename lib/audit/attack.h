/*
 * An attack from inside: what is attacked, what is seen, and the sums that
 * trials make through the functions of real rounds.
 */
#ifndef PRICER_ATTACK_H
#define PRICER_ATTACK_H

#include "audit.h"
#include "round/round.h"

/* One sum that the observer may see. */
struct observation {
    int32_t relay; /* who adds it up; the attacked node: its own part */
    int32_t link;  /* the link that carries the data to the relay, or -1 */
    double weight; /* of the attacked node's data in the sum */
    double noise;  /* standard deviation of the attacked node's noise in it */
    bool direct;   /* seen by a member, without uplink and own part */
};

struct pri_attack {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    struct pri_audit_code code;
    struct pricer_grid grid;
    uint64_t seed;
    int32_t node;      /* the attacked one */
    bool identity;     /* whether it took part is attacked, not its data */
    bool radio;        /* the observer hears what does not arrive */
    bool one_link;     /* the observer sees a single link */
    double span;       /* half the diameter, or the radius, in radii */
    int64_t dimension; /* of the messages that are played */
    int64_t rounds;    /* of a trial */
    int32_t observations;
    struct observation *observation; /* [observations] */
    bool *member;                    /* [nodes] */
    struct pricer_slice **slice;     /* [nodes] made when first needed */
    double *first;                   /* [dimension] data, first hypothesis */
    double *other;                   /* [dimension] data, other hypothesis */
    double *zero;                    /* [dimension] data of all other nodes */
    int64_t *message;                /* [dimension] */
    int64_t *sum;                    /* [dimension] */
};

/* Whether a link, or an uplink (link = -1), is up. */
bool pri_attack_is_up(const struct pri_attack *attack, int64_t round,
                      int32_t link, int32_t from);

/*
 * One sum into attack->sum, without what members put into it, who know that;
 * `data` is NULL if the node's is not in it. *others is the variance that the
 * plan has in it besides the attacked node's own.
 */
enum pricer_status pri_attack_sum(struct pri_attack *attack, int64_t round,
                                  const struct observation *observation,
                                  const double *data, double *others,
                                  struct pricer_fault *fault);

/* A variance in squared radii; a coordinate of the sum in radii. */
double pri_attack_variance(const struct pri_attack *attack, double noise);
double pri_attack_seen(const struct pri_attack *attack, int64_t coordinate);

#endif
