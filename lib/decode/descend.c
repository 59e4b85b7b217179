/*
 * From a start to the foot of a smooth function of amounts that may not be
 * negative: limited-memory BFGS along the amounts that are free, each step
 * projected to what is allowed.
 *
 * An amount at 0 whose slope is positive stays there, as if it were no
 * variable. Backtracking asks for a decrease in proportion to the slope times
 * the projected step (Bertsekas), so that the value never rises.
 */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 12 };

struct descent {
    const struct pri_smooth *smooth;
    double *at, *slope, *next, *next_slope, *way; /* [size] */
    bool *held_back;                              /* [size] stays at 0 */
    double *change[MEMORY], *turn[MEMORY]; /* of the amounts and the slope */
    double inverse[MEMORY];
    int held, newest;
};

/* Over the amounts that are free. */
static double inner(const struct descent *descent, const double *a,
                    const double *b)
{
    double sum = 0;
    for (int64_t v = 0; v < descent->smooth->size; v++)
        sum += descent->held_back[v] ? 0 : a[v] * b[v];
    return sum;
}

static void add(const struct descent *descent, double factor, const double *a,
                double *to)
{
    for (int64_t v = 0; v < descent->smooth->size; v++)
        if (!descent->held_back[v])
            to[v] += factor * a[v];
}

/* Down the slope times the inverse curvature that the last steps show; at
 * first, a tenth of the amounts. */
static void choose_way(struct descent *descent)
{
    double factor[MEMORY], first;
    int64_t size = descent->smooth->size;
    for (int64_t v = 0; v < size; v++) {
        descent->held_back[v] = descent->at[v] <= 0 && descent->slope[v] > 0;
        descent->way[v] = descent->held_back[v] ? 0 : -descent->slope[v];
    }
    for (int k = 0; k < descent->held; k++) {
        int at = (descent->newest - k + MEMORY) % MEMORY;
        factor[at] = descent->inverse[at] *
                     inner(descent, descent->change[at], descent->way);
        add(descent, -factor[at], descent->turn[at], descent->way);
    }
    if (descent->held > 0) {
        const double *turn = descent->turn[descent->newest];
        double length = inner(descent, turn, turn);
        first =
            length > 0 ? 1 / (descent->inverse[descent->newest] * length) : 1;
    } else {
        double here = inner(descent, descent->at, descent->at);
        double steep = inner(descent, descent->slope, descent->slope);
        first = 0.1 * sqrt(here / (steep + 0x1p-1000)) + 0x1p-1000;
    }
    for (int64_t v = 0; v < size; v++)
        descent->way[v] *= first;
    for (int k = descent->held - 1; k >= 0; k--) {
        int at = (descent->newest - k + MEMORY) % MEMORY;
        double back = descent->inverse[at] *
                      inner(descent, descent->turn[at], descent->way);
        add(descent, factor[at] - back, descent->change[at], descent->way);
    }
}

/* Remember a step, if the function bends upwards along it. */
static void remember(struct descent *descent)
{
    int at = (descent->newest + 1) % MEMORY;
    double bend = 0, length = 0;
    for (int64_t v = 0; v < descent->smooth->size; v++) {
        double change = descent->next[v] - descent->at[v];
        double turn = descent->next_slope[v] - descent->slope[v];
        descent->change[at][v] = change;
        descent->turn[at][v] = turn;
        bend += change * turn;
        length += turn * turn;
    }
    if (!(bend > 1e-12 * length))
        return;
    descent->inverse[at] = 1 / bend;
    descent->newest = at;
    descent->held += descent->held < MEMORY;
}

/* One step, shorter and shorter until the value falls. */
static enum pricer_status step(struct descent *descent, int *looks,
                               double *value, bool *fell)
{
    const struct pri_smooth *smooth = descent->smooth;
    enum pricer_status status = PRICER_OK;
    double reached = 0;
    *fell = false;
    for (double length = 1; length > 1e-6 && *looks < smooth->limit && !*fell;
         length *= 0.4) {
        double gain = 0;
        for (int64_t v = 0; v < smooth->size; v++) {
            descent->next[v] =
                fmax(descent->at[v] + length * descent->way[v], 0);
            gain += descent->slope[v] * (descent->next[v] - descent->at[v]);
        }
        if (!(gain < 0))
            return PRICER_OK;
        status = smooth->value(smooth->context, descent->next, &reached,
                               descent->next_slope);
        ++*looks;
        if (status != PRICER_OK)
            return status;
        *fell = reached <= *value + 1e-4 * gain;
    }
    if (!*fell)
        return PRICER_OK;
    remember(descent);
    size_t bytes = (size_t)smooth->size * sizeof(double);
    memcpy(descent->at, descent->next, bytes);
    memcpy(descent->slope, descent->next_slope, bytes);
    *value = reached;
    return PRICER_OK;
}

static bool make_room(struct descent *descent)
{
    int64_t size = descent->smooth->size;
    descent->slope = pri_alloc(size, sizeof(double));
    descent->next = pri_alloc(size, sizeof(double));
    descent->next_slope = pri_alloc(size, sizeof(double));
    descent->way = pri_alloc(size, sizeof(double));
    descent->held_back = pri_alloc(size, sizeof(bool));
    bool complete = descent->slope && descent->next && descent->next_slope &&
                    descent->way && descent->held_back;
    for (int k = 0; k < MEMORY; k++) {
        descent->change[k] = pri_alloc(size, sizeof(double));
        descent->turn[k] = pri_alloc(size, sizeof(double));
        complete = complete && descent->change[k] && descent->turn[k];
    }
    return complete;
}

enum pricer_status pri_descend_within(const struct pri_smooth *smooth,
                                      double *at, double *value)
{
    struct descent descent = {.smooth = smooth, .at = at};
    int looks = 1, small = 0;
    bool fell = true;
    enum pricer_status status = PRICER_MEMORY;
    if (make_room(&descent))
        status = smooth->value(smooth->context, at, value, descent.slope);
    while (status == PRICER_OK && looks < smooth->limit && small < 3) {
        double before = *value;
        choose_way(&descent);
        status = step(&descent, &looks, value, &fell);
        if (!fell && descent.held == 0)
            break;
        if (!fell)
            descent.held = 0;
        small = before - *value < smooth->tolerance * before ? small + 1 : 0;
    }
    free(descent.slope);
    free(descent.next);
    free(descent.next_slope);
    free(descent.way);
    free(descent.held_back);
    for (int k = 0; k < MEMORY; k++) {
        free(descent.change[k]);
        free(descent.turn[k]);
    }
    return status;
}
