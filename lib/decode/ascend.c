/*
 * The least favourable correlations: climb a concave function of X over X
 * positive semidefinite with X_ii = 1.
 *
 * X = Y Y' with rows y_i of unit length. With as many columns as nodes that is
 * every X. With fewer each row has one more, private coordinate: X_il =
 * <u_i, u_l> for i != l, the rest of the diagonal is the node's own. Rows are
 * kept at unit length by writing them as z_i / |z_i|, so that the variables are
 * free, and limited-memory BFGS climbs; the gradient in X is M, in Y it is 2 M
 * Y.
 */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 12 };

struct climb {
    const struct pri_concave *concave;
    int32_t columns; /* of z */
    int64_t size;
    double *own, *shared, *product, *diagonal; /* where z stands */
    double *z, *slope, *next, *next_slope, *way;
    double *change[MEMORY], *turn[MEMORY]; /* of z and of the slope */
    double inverse[MEMORY];
    int held, newest;
};

static double inner(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

/* The value at z, and its slope there. */
static enum pricer_status look(struct climb *climb, const double *z,
                               double *value, double *slope)
{
    const struct pri_concave *concave = climb->concave;
    int32_t rank = concave->rank, columns = climb->columns;
    for (int32_t i = 0; i < concave->nodes; i++) {
        const double *row = z + (int64_t)i * columns;
        double length = sqrt(inner(columns, row, row));
        for (int32_t c = 0; c < rank; c++)
            climb->shared[(int64_t)i * rank + c] = row[c] / length;
        double own = columns > rank ? row[rank] / length : 0;
        climb->own[i] = own * own;
    }
    enum pricer_status status =
        concave->value(concave->context, climb->own, climb->shared, value,
                       climb->product, climb->diagonal);
    for (int32_t i = 0; i < concave->nodes && status == PRICER_OK; i++) {
        const double *row = z + (int64_t)i * columns;
        double *to = slope + (int64_t)i * columns;
        double length = sqrt(inner(columns, row, row)), along = 0;
        for (int32_t c = 0; c < columns; c++) {
            to[c] = c < rank ? 2 * climb->product[(int64_t)i * rank + c]
                             : 2 * climb->diagonal[i] * row[rank] / length;
            along += to[c] * row[c] / length;
        }
        for (int32_t c = 0; c < columns; c++)
            to[c] = (to[c] - along * row[c] / length) / length;
    }
    return status;
}

/* The way up: the slope times the inverse curvature that the last steps show.
 */
static void choose_way(struct climb *climb)
{
    double factor[MEMORY];
    memcpy(climb->way, climb->slope, (size_t)climb->size * sizeof(double));
    for (int k = 0; k < climb->held; k++) {
        int at = (climb->newest - k + MEMORY) % MEMORY;
        factor[at] = climb->inverse[at] *
                     inner(climb->size, climb->change[at], climb->way);
        for (int64_t v = 0; v < climb->size; v++)
            climb->way[v] -= factor[at] * climb->turn[at][v];
    }
    double first = 1;
    if (climb->held > 0) {
        int at = climb->newest;
        first = 1 / (climb->inverse[at] *
                     inner(climb->size, climb->turn[at], climb->turn[at]));
    } else {
        first = 0.3 / (sqrt(inner(climb->size, climb->slope, climb->slope) /
                            climb->concave->nodes) +
                       1e-300);
    }
    for (int64_t v = 0; v < climb->size; v++)
        climb->way[v] *= first;
    for (int k = climb->held - 1; k >= 0; k--) {
        int at = (climb->newest - k + MEMORY) % MEMORY;
        double back = climb->inverse[at] *
                      inner(climb->size, climb->turn[at], climb->way);
        for (int64_t v = 0; v < climb->size; v++)
            climb->way[v] += (factor[at] - back) * climb->change[at][v];
    }
}

/* Remember a step, if the function bends downwards along it. */
static void remember(struct climb *climb)
{
    int at = (climb->newest + 1) % MEMORY;
    for (int64_t v = 0; v < climb->size; v++) {
        climb->change[at][v] = climb->next[v] - climb->z[v];
        climb->turn[at][v] = climb->slope[v] - climb->next_slope[v];
    }
    double bend = inner(climb->size, climb->change[at], climb->turn[at]);
    double length = inner(climb->size, climb->turn[at], climb->turn[at]);
    if (!(bend > 1e-12 * length))
        return;
    climb->inverse[at] = 1 / bend;
    climb->newest = at;
    climb->held += climb->held < MEMORY;
}

static void swap(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

/* Steps up until they gain too little, or the looks are used up. */
static enum pricer_status climb_up(struct climb *climb, double *value)
{
    const struct pri_concave *concave = climb->concave;
    int looks = 1, small = 0;
    enum pricer_status status = look(climb, climb->z, value, climb->slope);
    while (status == PRICER_OK && looks < concave->limit && small < 3) {
        choose_way(climb);
        double gain = inner(climb->size, climb->way, climb->slope), reached = 0;
        if (!(gain > 0)) {
            if (climb->held == 0)
                break;
            climb->held = 0;
            continue;
        }
        double length = 1;
        bool up = false;
        while (!up && looks < concave->limit && length > 1e-9) {
            for (int64_t v = 0; v < climb->size; v++)
                climb->next[v] = climb->z[v] + length * climb->way[v];
            status = look(climb, climb->next, &reached, climb->next_slope);
            looks++;
            if (status != PRICER_OK)
                return status;
            up = reached >= *value + 1e-4 * length * gain;
            length *= 0.4;
        }
        if (!up) {
            if (climb->held == 0)
                break;
            climb->held = 0;
            continue;
        }
        small = reached - *value < concave->tolerance * reached ? small + 1 : 0;
        remember(climb);
        swap(&climb->z, &climb->next);
        swap(&climb->slope, &climb->next_slope);
        *value = reached;
    }
    return status;
}

/* z from X: with a private coordinate it is there; else factor X. */
static void begin(struct climb *climb, const double *own, const double *shared)
{
    int32_t n = climb->concave->nodes, rank = climb->concave->rank;
    for (int32_t i = 0; i < n; i++) {
        double *row = climb->z + (int64_t)i * climb->columns;
        if (climb->columns > rank) {
            memcpy(row, shared + (int64_t)i * rank, (size_t)rank * sizeof *row);
            row[rank] = sqrt(own[i]);
            continue;
        }
        for (int32_t j = 0; j <= i; j++) {
            const double *other = climb->z + (int64_t)j * n;
            double x = inner(rank, shared + (int64_t)i * rank,
                             shared + (int64_t)j * rank) +
                       (i == j ? own[i] : 0);
            double sum = x - inner(j, row, other);
            row[j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / other[j];
        }
    }
}

static bool make_room(struct climb *climb)
{
    int64_t n = climb->concave->nodes, rank = climb->concave->rank;
    bool complete = true;
    double **vectors[] = {&climb->z, &climb->slope, &climb->next,
                          &climb->next_slope, &climb->way};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
        *vectors[k] = pri_alloc(climb->size, sizeof(double));
        complete = complete && *vectors[k] != NULL;
    }
    for (int k = 0; k < MEMORY; k++) {
        climb->change[k] = pri_alloc(climb->size, sizeof(double));
        climb->turn[k] = pri_alloc(climb->size, sizeof(double));
        complete = complete && climb->change[k] && climb->turn[k];
    }
    climb->own = pri_alloc(n, sizeof(double));
    climb->diagonal = pri_alloc(n, sizeof(double));
    climb->shared = pri_alloc(n * rank, sizeof(double));
    climb->product = pri_alloc(n * rank, sizeof(double));
    return complete && climb->own && climb->diagonal && climb->shared &&
           climb->product;
}

static void free_room(struct climb *climb)
{
    free(climb->z);
    free(climb->slope);
    free(climb->next);
    free(climb->next_slope);
    free(climb->way);
    for (int k = 0; k < MEMORY; k++) {
        free(climb->change[k]);
        free(climb->turn[k]);
    }
    free(climb->own);
    free(climb->diagonal);
    free(climb->shared);
    free(climb->product);
}

enum pricer_status pri_ascend(const struct pri_concave *concave, double *own,
                              double *shared, double *value)
{
    int32_t n = concave->nodes, rank = concave->rank;
    struct climb climb = {.concave = concave, .newest = MEMORY - 1};
    climb.columns = rank < n ? rank + 1 : rank;
    climb.size = (int64_t)n * climb.columns;
    enum pricer_status status = PRICER_MEMORY;
    if (make_room(&climb)) {
        begin(&climb, own, shared);
        status = climb_up(&climb, value);
    }
    for (int32_t i = 0; i < n && status == PRICER_OK; i++) {
        const double *row = climb.z + (int64_t)i * climb.columns;
        double length = sqrt(inner(climb.columns, row, row));
        for (int32_t c = 0; c < rank; c++)
            shared[(int64_t)i * rank + c] = row[c] / length;
        double last = climb.columns > rank ? row[rank] / length : 0;
        own[i] = last * last;
    }
    free_room(&climb);
    return status;
}
