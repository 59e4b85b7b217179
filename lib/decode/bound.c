/*
 * The worst data for given coefficients: the largest tr M X over correlation
 * matrices X, from both sides.
 *
 * From below, X = Y Y' with unit rows y_i, and one row after the other is
 * turned to where it helps most, y_i = sum_(l != i) M_il y_l normalised. Each
 * turn raises the trace; with more than sqrt(2 n) columns there are next to no
 * false ends. From above, for any diagonal L with L - M positive semidefinite
 * tr M X <= tr L X = sum L_ii. At the end of the ascent L_ii = M_ii +
 * |sum_(l != i) M_il y_l| is the best one; what rounding or an early end lacks
 * is added to all L_ii until a Cholesky factorisation shows that L - M is
 * positive definite. That is the proof, whatever the ascent did.
 */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SWEEPS = 2000 };

/* sum_(l != i) M_il y_l. */
static void pull_of(int32_t n, int32_t k, const double *m, const double *y,
                    int32_t i, double *pull)
{
    memset(pull, 0, (size_t)k * sizeof *pull);
    for (int32_t l = 0; l < n; l++) {
        double weight = l == i ? 0 : m[(int64_t)i * n + l];
        for (int32_t c = 0; c < k; c++)
            pull[c] += weight * y[(int64_t)l * k + c];
    }
}

static double length_of(int32_t k, const double *v)
{
    double sum = 0;
    for (int32_t c = 0; c < k; c++)
        sum += v[c] * v[c];
    return sqrt(sum);
}

/* One round of turns: by how much the trace has grown, halved, relative to what
 * pulls. */
static double sweep(int32_t n, int32_t k, const double *m, double *y,
                    double *pull)
{
    double gain = 0, sum = 0;
    for (int32_t i = 0; i < n; i++) {
        double *row = y + (int64_t)i * k, along = 0;
        pull_of(n, k, m, y, i, pull);
        double length = length_of(k, pull);
        for (int32_t c = 0; c < k; c++)
            along += pull[c] * row[c];
        sum += length;
        gain += length - along;
        for (int32_t c = 0; length > 0 && c < k; c++)
            row[c] = pull[c] / length;
    }
    return sum > 0 ? gain / sum : 0;
}

/* Unit rows close to one vector, but no two alike and none in a hyperplane. */
static void begin(int32_t n, int32_t k, double *y)
{
    for (int32_t i = 0; i < n; i++) {
        double *row = y + (int64_t)i * k;
        for (int32_t c = 0; c < k; c++)
            row[c] = (c == 0) + 0.1 * sin((i + 1) * (c + 0.7) * 1.3);
        double length = length_of(k, row);
        for (int32_t c = 0; c < k; c++)
            row[c] /= length;
    }
}

/* Whether L + shift - M is positive definite. `work` is [n][n]. */
static bool is_above(int32_t n, const double *m, const double *diagonal,
                     double shift, double *work)
{
    for (int32_t i = 0; i < n; i++) {
        double *row = work + (int64_t)i * n;
        for (int32_t j = 0; j <= i; j++) {
            double sum =
                (i == j ? diagonal[i] + shift : 0) - m[(int64_t)i * n + j];
            const double *other = work + (int64_t)j * n;
            for (int32_t c = 0; c < j; c++)
                sum -= row[c] * other[c];
            if (i == j && !(sum > 0))
                return false;
            row[j] = i == j ? sqrt(sum) : sum / other[j];
        }
    }
    return true;
}

/* The least multiple of `unit` by powers of two, that makes L certain. */
static double shift_of(int32_t n, const double *m, const double *diagonal,
                       double unit, double *work)
{
    double shift = unit;
    while (!is_above(n, m, diagonal, shift, work) && isfinite(shift))
        shift *= 2;
    return shift;
}

enum pricer_status pri_bound(int32_t n, const double *m, double *reached,
                             double *upper)
{
    int32_t k = (int32_t)ceil(sqrt(2.0 * n)) + 1;
    k = k > n ? n : k;
    double *y = pri_alloc((int64_t)n * k, sizeof *y);
    double *pull = pri_alloc(k, sizeof *pull);
    double *diagonal = pri_alloc(n, sizeof *diagonal);
    double *work = pri_alloc((int64_t)n * n, sizeof *work);
    enum pricer_status status = PRICER_MEMORY;
    if (!y || !pull || !diagonal || !work)
        goto done;
    double trace = 0, low = 0, high = 0;
    for (int32_t i = 0; i < n; i++)
        trace += m[(int64_t)i * n + i];
    begin(n, k, y);
    double enough = n <= PRI_SMALL ? 1e-16 : 1e-9;
    for (int s = 0; s < MOST_SWEEPS && sweep(n, k, m, y, pull) > enough;)
        s++;
    for (int32_t i = 0; i < n; i++) {
        pull_of(n, k, m, y, i, pull);
        double own = m[(int64_t)i * n + i];
        low += own;
        for (int32_t c = 0; c < k; c++)
            low += pull[c] * y[(int64_t)i * k + c];
        diagonal[i] = own + length_of(k, pull);
        high += diagonal[i];
    }
    double unit = (n <= PRI_SMALL ? 1e-15 : 1e-7 / n) * trace + 0x1p-1000;
    *reached = low;
    *upper = high + n * shift_of(n, m, diagonal, unit, work);
    status = PRICER_OK;
done:
    free(y);
    free(pull);
    free(diagonal);
    free(work);
    return status;
}

/* ------------------------------------------------------- many nodes: few r --
 */

/* In four partial sums, so that the order is fixed and the work is fast. */
PRI_CLONES
static double inner(int32_t n, const double *a, const double *b)
{
    pri_four sum = {0}, x, y;
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        sum += x * y;
    }
    double rest = 0;
    for (; i < n; i++)
        rest += a[i] * b[i];
    for (int e = 0; e < 4; e++)
        rest += sum[e];
    return rest;
}

/* y <- the signs of M y: M is positive semidefinite, so each step raises the
 * trace y'My, which is returned, with M y in next [n]. Data that are all
 * multiples of one vector. */
static double turn(int32_t n, int32_t count, const double *r, double *y,
                   double *next)
{
    double trace = 0;
    memset(next, 0, (size_t)n * sizeof *next);
    for (int32_t s = 0; s < count; s++) {
        const double *row = r + (int64_t)s * n;
        double along = inner(n, row, y) / count;
        for (int32_t i = 0; i < n; i++)
            next[i] += along * row[i];
        trace += along * along * count;
    }
    for (int32_t i = 0; i < n; i++)
        y[i] = next[i] < 0 ? -1 : 1;
    return trace;
}

struct products {
    int32_t n;
    int64_t count;
    const double *r;
    double *g;
};

static void multiply_rows(void *context, int64_t low, int64_t high)
{
    const struct products *to = context;
    for (int64_t s = low; s < high; s++)
        for (int64_t t = 0; t <= s; t++)
            to->g[s * to->count + t] =
                inner(to->n, to->r + s * to->n, to->r + t * to->n);
}

/* G = R L^-1 R' / count, [count][count]: L - M is positive semidefinite exactly
 * if its largest eigenvalue is at most 1. `r` is scaled in place. */
static void gram(int32_t n, int32_t count, const double *diagonal, double *r,
                 struct pri_team *team, double *g)
{
    struct products products = {n, count, r, g};
    for (int32_t s = 0; s < count; s++)
        for (int32_t i = 0; i < n; i++)
            r[(int64_t)s * n + i] /= sqrt(diagonal[i] * count);
    pri_team_share(team, count, multiply_rows, &products);
}

enum pricer_status pri_bound_vectors(int32_t n, int32_t count, const double *r,
                                     struct pri_team *team, double *reached,
                                     double *upper)
{
    double *y = pri_alloc(n, sizeof *y), *next = pri_alloc(n, sizeof *next);
    double *scaled = pri_alloc((int64_t)n * count, sizeof *scaled);
    double *g = pri_alloc((int64_t)count * count, sizeof *g);
    double *work = pri_alloc((int64_t)count * count, sizeof *work);
    double *one = pri_alloc(count, sizeof *one);
    enum pricer_status status = PRICER_MEMORY;
    if (!y || !next || !scaled || !g || !work || !one)
        goto done;
    double low = 0, sum = 0, trace;
    for (int32_t i = 0; i < n; i++)
        y[i] = 1;
    while ((trace = turn(n, count, r, y, next)) > low * (1 + 1e-14))
        low = trace;
    for (int32_t i = 0; i < n; i++)
        sum += fabs(next[i]);
    for (int32_t i = 0; i < n; i++)
        next[i] = fabs(next[i]) + 1e-9 * sum / n + 0x1p-1000;
    sum *= 1 + 1e-9;
    memcpy(scaled, r, (size_t)n * (size_t)count * sizeof *scaled);
    gram(n, count, next, scaled, team, g);
    for (int32_t s = 0; s < count; s++)
        one[s] = 1;
    double shift = is_above(count, g, one, 1e-12, work)
                       ? 1e-12
                       : shift_of(count, g, one, 1e-9, work);
    *reached = low;
    *upper = sum * (1 + shift);
    status = PRICER_OK;
done:
    free(y);
    free(next);
    free(scaled);
    free(g);
    free(work);
    free(one);
    return status;
}
