/*
 * Pairs of links that are too many for exact.h, drawn independently instead:
 * bounds from above and below for data.
 */
#ifndef PRICER_DECOUPLE_H
#define PRICER_DECOUPLE_H

#include "bare.h"

/* Set the probabilities of all noises so that every one may be drawn by itself: the
 * mean of a curve raised to `growth`, at any eps >= least, is then at least (above)
 * or at most (below) that over the patterns. */
enum pricer_status pri_decouple(const struct pri_view *view, enum pri_side side,
                                double growth, double least,
                                struct pri_chances *chances);

/* Means of e^(gh) over the noises of one sum, from above and below: tilted.c. */

enum { PRI_BINS = 64, PRI_HEARD_MOST = 256 };

/* What decoupling works on. */
struct pri_decoupling {
    const struct pri_view *view;
    enum pri_side side;
    double growth; /* f''/f' of the raised curve is at most this */
    double fall;   /* and that of f at least -1/8 - this */
};

/* By noise, and by source: how much each matters. */
struct pri_effects {
    double *chance, *absent; /* of a noise */
    double *effect;          /* how much it matters on average */
    double *tilt;            /* a factor of what is lost with it */
    double *shift;           /* by how much it may be absent more often */
    int32_t *partner;        /* the pair it is of, or -1 */
    double *gated;           /* how much the link of a source matters */
    int32_t *gate;           /* the pair of that link, or -1 */
};

/* The noises of one sum that come and go. */
struct pri_noises {
    int32_t count, at[PRI_HEARD_MOST];
    double signal, base, step, smallest, largest, growth, least_absent,
        most_absent;
    double absent[PRI_HEARD_MOST]; /* tilted */
};

bool pri_noises_collect(const struct pri_decoupling *ask, int32_t index,
                        const struct pri_effects *effects,
                        struct pri_noises *list);
double pri_weight_unseen(const struct pri_noises *list);
double pri_tilted_absent(const struct pri_view *view, int32_t x,
                         const struct pri_effects *effects);
int32_t pri_spread_law(const struct pri_view *view,
                       const struct pri_noises *list, int32_t skip,
                       double *mass);
double pri_gathered_mean(const struct pri_view *view,
                         const struct pri_noises *list);
double pri_lost_with(const struct pri_noises *list, const double *mass,
                     int32_t top, double size);
double pri_effect_with_few(const struct pri_noises *list, int32_t count,
                           double size, double seen, double chance);

#endif
