/*
 * The moment generating function of what one round shows, Z(s), where opposite
 * links are up together.
 *
 * A sum that may be seen is a vertex, a link that something depends on a bit, two
 * bits that are correlated an edge. The law of an edge is a sum of two products,
 * the even and the odd one, so Z is a sum over sets of edges, those that are odd,
 * of products over vertices. Claims and proofs: docs/mathematics.md, All couplings
 * at once.
 */
#ifndef PRICER_COUPLING_H
#define PRICER_COUPLING_H

#include "factor.h"

#include <complex.h>

/* Heights of patterns that are counted elsewhere, and of those without loss. */
#define PRI_BARE (-1)
#define PRI_SILENT (-2)

enum {
    PRI_BITS_MOST = 16, /* of a vertex */
    PRI_CUT_MOST = 64,  /* edges between what is absorbed and what is not */
    PRI_DEPTH_MOST = 10,
};

/* One link that something depends on. */
struct pri_bit {
    double chance, absent, size; /* of its noise */
    bool link;                   /* it is the link that brings the data */
    int32_t edge, end;           /* or -1 if it is independent of all else */
};

struct pri_vertex {
    int32_t source;      /* of the view */
    int32_t bits;        /* all, the coupled ones first, in the order of the */
    int32_t degree;      /* vertices at their other ends: so many of them, */
    int32_t before;      /* of which these are to vertices absorbed earlier */
    int32_t open;        /* edges that are open before it, */
    uint64_t ends;       /* and which of them end here, by position */
    double seen, unseen; /* of the sum, given its link if that is a bit */
    double scale;        /* tables are divided by this */
    double norm, now;    /* of T_v at the real s, and where s is */
    double plain;        /* and with absolute values of all that is added up */
    double signal, own;  /* as of its source */
    double *height;      /* [2^bits] data: mu^2 if it is seen; identity: the
                            variance; PRI_BARE; PRI_SILENT if not arrived */
    double complex *entry; /* [2^bits] e^g */
    double complex *turn; /* [2^bits] by which it grows in a step on the line */
    double complex *part; /* [2^degree] T_v */
    struct pri_bit bit[PRI_BITS_MOST];
};

struct pri_end {
    int32_t vertex;
    double chance;
    double message[2];      /* a or b above */
    double even[2], odd[2]; /* u and u' above */
};

struct pri_edge {
    struct pri_end end[2];
    double joint;
};

struct pri_coupling {
    int32_t vertices, edges;
    struct pri_vertex *vertex; /* in the order in which they are absorbed */
    struct pri_edge *edge;
    struct pri_function function;
    double units;        /* of rounding of an entry, identity only */
    int64_t table;       /* entries of all tables */
    double most;         /* mu^2 is at most this */
    double highest;      /* and of one vertex this */
    double real, stride; /* s = real + i stride steps */
    int32_t steps;
    long double log_scale;        /* Z is e^this times what is computed */
    double complex *work, *spare; /* [largest table] */
    double *row[2], *matrix[2];   /* the same: of a vertex */
    uint64_t *end, *begin;        /* sets of edges of a vertex, the same, */
    int64_t *to;                  /* and where those that begin go */
    int32_t widest;               /* edges that are open at once, at most */
    int64_t binomial[PRI_CUT_MOST + 1][PRI_BITS_MOST + 1];
    double *memory, *here[2], *there[2]; /* [room] real and imaginary parts */
    int64_t room;
};

/* The coupling of a view, but for patterns in which a sum has neither a base
 * nor a noise of at least `hide`. *able is false, and nothing is built, where
 * the tables are too large: more than `most` entries. */
enum pricer_status pri_coupling_build(const struct pri_view *view,
                                      const struct pri_function *function,
                                      double hide, double most,
                                      struct pri_coupling *coupling,
                                      bool *able);
void pri_coupling_free(struct pri_coupling *coupling);

/* What a sum to some depth costs, about in nanoseconds. */
double pri_coupling_cost(const struct pri_coupling *coupling, int32_t depth);

/* Go to a real s; or to the sizes of all e^g at any s. */
void pri_coupling_begin(struct pri_coupling *coupling, double s);
void pri_coupling_sizes(struct pri_coupling *coupling, double complex s);

/* Choose the messages for the real s that was gone to. */
void pri_coupling_balance(struct pri_coupling *coupling);

/* Steps along the imaginary axis: how long they are, and one of them. */
void pri_coupling_aim(struct pri_coupling *coupling, double step);
void pri_coupling_advance(struct pri_coupling *coupling);

/* The parts T_v where s is now. Returns the logarithm of a bound on |Z|. */
double pri_coupling_parts(struct pri_coupling *coupling);

/* What sums to depth 0, 1, ... PRI_DEPTH_MOST leave out, of e^-log_scale Z. */
void pri_coupling_rest(const struct pri_coupling *coupling, double *rest);

/* The bound on the rounding error of a sum, in the same unit. */
double pri_coupling_rounding(const struct pri_coupling *coupling);

/* e^-log_scale Z, but for the rest and rounding. */
enum pricer_status pri_coupling_sum(struct pri_coupling *coupling,
                                    int32_t depth, double complex *sum);

#endif
