/*
 * From the moments of arrivals to the coefficients of the estimate.
 *
 * With z_i = R_i c_i, S = sum R_i, w_i = v_i / R_i^2 and n_i = pi_i w_i the worst
 * case is the convex quadratic
 *
 *     f(z) = z' M z - 2 S pi' z + S^2 + sum_i n_i z_i^2,   M = E[a a'],
 *
 * over the box 0 <= z_i <= R_i / pi_i. It is solved by its dual. For every x, of
 * any sign, with the pull s = S pi - M x,
 *
 *     D(x) = S^2 - x' M x + sum_i min over z in the box of n_i z^2 - 2 z s_i
 *
 * is at most the least f: with u = S - sum_i a_i x_i in each pattern it is the
 * Lagrangian of f with the sum missing in a pattern as a variable of its own
 * and u as its multiplier. D is concave and once differentiable, and at its
 * maximum z_i(x) = s_i / n_i within the box equals x. A Newton method on that
 * equation (semismooth: only the z_i inside the box move with s), each step by
 * conjugate gradients, each length by halving until D rises no more. f(z(x)) -
 * D(x) says how far that is from the end.
 *
 * The gap that is handed out is one that anybody can find from z alone: f is
 * convex, so for its gradient g at z no point s of the box has less than f(z) -
 * sum_i g_i (z_i - s_i).
 */
#include "forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEWTON_STEPS = 100,
    CONJUGATE_STEPS = 500,
    HALVINGS = 30,
    BISECTIONS = 60,
    POLISHES = 5
};
#define GAP 1e-10         /* relative; where rounding allows it */
#define VALUE_ERROR 1e-15 /* of D, in units of S^2 */
#define LEAST_NOISE 1e-12 /* w, of a release without noise */

struct problem {
    struct pri_moments *moments;
    int32_t n;
    double sum;       /* S */
    double *noise;    /* n */
    double *upper;    /* R / pi; 0: never heard */
    double *x, *pull; /* s = S pi - M x */
    double *z;        /* z(x) */
    double *step;     /* of x */
    double *along;    /* M step */
    double *residual, *scaled, *direction, *image;
};

enum { VECTORS = 11 };

static enum pricer_status make_problem(struct pri_moments *moments,
                                       const struct pri_senders *senders,
                                       struct problem *p)
{
    int64_t n = moments->nodes;
    *p = (struct problem){.moments = moments, .n = moments->nodes};
    double *all = pri_alloc(VECTORS * n, sizeof(double));
    if (all == NULL)
        return PRICER_MEMORY;
    double **vectors[VECTORS] = {
        &p->noise, &p->upper,    &p->x,      &p->pull,      &p->z,    &p->step,
        &p->along, &p->residual, &p->scaled, &p->direction, &p->image};
    for (int k = 0; k < VECTORS; k++)
        *vectors[k] = all + k * n;
    for (int32_t i = 0; i < n; i++) {
        double r = senders->radius[i], pi = moments->pi[i];
        p->sum += r;
        p->noise[i] = pi * fmax(senders->variance[i] / (r * r), LEAST_NOISE);
        p->upper[i] = pi > 0 ? r / pi : 0;
    }
    return PRICER_OK;
}

static double inside(const struct problem *p, int32_t i, double pull)
{
    return p->upper[i] > 0 ? fmin(fmax(pull / p->noise[i], 0), p->upper[i]) : 0;
}

/* D at x + length step. */
static double dual_value(const struct problem *p, double length)
{
    double value = p->sum * p->sum;
    for (int32_t i = 0; i < p->n; i++) {
        double x = p->x[i] + length * p->step[i];
        double pull = p->pull[i] - length * p->along[i];
        double z = inside(p, i, pull);
        value -= x * (p->sum * p->moments->pi[i] - pull);
        value += z * (p->noise[i] * z - 2 * pull);
    }
    return value;
}

/* f at z(x), which is filled, and how far it can be above the least. */
static double primal_value(struct problem *p, double *above)
{
    double value = p->sum * p->sum;
    *above = 0;
    for (int32_t i = 0; i < p->n; i++)
        p->z[i] = inside(p, i, p->pull[i]);
    pri_moments_product(p->moments, p->z, p->image);
    for (int32_t i = 0; i < p->n; i++) {
        double z = p->z[i], wish = p->sum * p->moments->pi[i];
        double half = p->image[i] + p->noise[i] * z;
        double slope = 2 * (half - wish);
        value += z * (half - 2 * wish);
        *above += slope > 0 ? slope * z : -slope * (p->upper[i] - z);
    }
    return value;
}

/* The solution if all nodes were independent and failed just enough: M = pi
 * pi', where the sum that is missing is a root. */
static void start(struct problem *p)
{
    const double *pi = p->moments->pi;
    double low = 0, high = p->sum;
    for (int step = 0; step < BISECTIONS; step++) {
        double missing = (low + high) / 2, left = p->sum - missing;
        for (int32_t i = 0; i < p->n; i++)
            left -= pi[i] * inside(p, i, pi[i] * missing);
        *(left > 0 ? &low : &high) = missing;
    }
    for (int32_t i = 0; i < p->n; i++)
        p->x[i] = inside(p, i, pi[i] * low);
    pri_moments_product(p->moments, p->x, p->pull);
    for (int32_t i = 0; i < p->n; i++)
        p->pull[i] = p->sum * pi[i] - p->pull[i];
}

static bool moves(const struct problem *p, int32_t i)
{
    return p->z[i] > 0 && p->z[i] < p->upper[i];
}

static double dot(const double *a, const double *b, int32_t n)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The diagonal of M is pi. */
static void precondition(struct problem *p)
{
    for (int32_t i = 0; i < p->n; i++)
        p->scaled[i] = moves(p, i)
                           ? p->residual[i] / (p->moments->pi[i] + p->noise[i])
                           : 0;
}

/*
 * (1 + N^-1 M) step = z - x with N^-1 = 1 / n_i where z_i moves, else 0: what
 * does not move steps to z at once, and the rest is symmetric,
 * (N + M)_FF step_F = n_F (z - x)_F - M_FA step_A.
 */
static void find_step(struct problem *p, double tolerance)
{
    for (int32_t i = 0; i < p->n; i++)
        p->step[i] = moves(p, i) ? 0 : p->z[i] - p->x[i];
    pri_moments_product(p->moments, p->step, p->image);
    for (int32_t i = 0; i < p->n; i++)
        p->residual[i] =
            moves(p, i) ? p->noise[i] * (p->z[i] - p->x[i]) - p->image[i] : 0;
    precondition(p);
    memcpy(p->direction, p->scaled, (size_t)p->n * sizeof(double));
    double rho = dot(p->residual, p->scaled, p->n), first = rho;
    for (int k = 0; k < CONJUGATE_STEPS && rho > first * tolerance * tolerance;
         k++) {
        pri_moments_product(p->moments, p->direction, p->image);
        for (int32_t i = 0; i < p->n; i++)
            p->image[i] =
                moves(p, i) ? p->image[i] + p->noise[i] * p->direction[i] : 0;
        double length = rho / dot(p->direction, p->image, p->n);
        for (int32_t i = 0; i < p->n; i++) {
            p->step[i] += length * p->direction[i];
            p->residual[i] -= length * p->image[i];
        }
        precondition(p);
        double next = dot(p->residual, p->scaled, p->n);
        for (int32_t i = 0; i < p->n; i++)
            p->direction[i] = p->scaled[i] + next / rho * p->direction[i];
        rho = next;
    }
    pri_moments_product(p->moments, p->step, p->along);
}

static void go(struct problem *p, double length)
{
    for (int32_t i = 0; i < p->n; i++) {
        p->x[i] += length * p->step[i];
        p->pull[i] -= length * p->along[i];
    }
}

/* Halve the step as long as D rises by that; false: it does not rise. */
static bool climb(struct problem *p, double *value)
{
    double length = 1, reached = dual_value(p, 1);
    for (int k = 0; k < HALVINGS; k++) {
        double shorter = dual_value(p, length / 2);
        if (!(shorter > reached))
            break;
        length /= 2;
        reached = shorter;
    }
    if (!(reached > *value))
        return false;
    go(p, length);
    *value = reached;
    return true;
}

/* Where D is flat to rounding: whole steps as long as the gap falls by them. */
static void polish(struct problem *p, double wanted, double *value,
                   double *above)
{
    for (int k = 0; k<POLISHES && * above> wanted; k++) {
        double reached, next;
        find_step(p, 1e-8);
        go(p, 1);
        reached = primal_value(p, &next);
        if (!(next < *above)) {
            go(p, -1);
            *value = primal_value(p, above);
            return;
        }
        *value = reached;
        *above = next;
    }
}

enum pricer_status pri_forward_fit(struct pri_moments *moments,
                                   const struct pri_senders *senders,
                                   double tolerance, double *coefficient,
                                   double *objective, double *gap)
{
    struct problem p;
    enum pricer_status status = make_problem(moments, senders, &p);
    if (status != PRICER_OK)
        return status;
    start(&p);
    double above, lower = dual_value(&p, 0), value = primal_value(&p, &above);
    double error = VALUE_ERROR * p.sum * p.sum;
    double wanted = tolerance > 0 ? tolerance : GAP;
    for (int k = 0;
         k < NEWTON_STEPS && value - lower > fmax(wanted * value, error); k++) {
        find_step(&p, 1e-3);
        if (!climb(&p, &lower))
            break;
        value = primal_value(&p, &above);
    }
    if (!(tolerance > 0))
        polish(&p, GAP * value, &value, &above);
    for (int32_t i = 0; i < p.n; i++)
        coefficient[i] = p.z[i] / senders->radius[i];
    *objective = value;
    *gap = fmax(above / value, 0);
    free(p.noise);
    return PRICER_OK;
}

/* ----------------------------------------------------------------- alone -- */

/*
 * Uplinks are independent: n^2 W = (S - sum_i pi_i z_i)^2 + sum_i pi_i (1 - pi_i
 * + w_i) z_i^2. With the sum that is missing, s, each z_i is s / (1 - pi_i +
 * w_i) within its bounds, and s is a root that bisection finds.
 */
void pri_forward_fit_alone(const struct pri_senders *senders,
                           const double *arrival, double *coefficient,
                           double *objective, double *gap)
{
    double sum = 0, low = 0, high, total = 0, value = 0, above = 0;
    for (int32_t i = 0; i < senders->nodes; i++)
        sum += senders->radius[i];
    high = sum;
    for (int step = 0; step <= BISECTIONS; step++) {
        double missing = (low + high) / 2;
        total = value = 0;
        for (int32_t i = 0; i < senders->nodes; i++) {
            double r = senders->radius[i], pi = arrival[i];
            double own = r * (1 - pi) + senders->variance[i] / r;
            double c = pi > 0 ? fmin(missing / own, 1 / pi) : 0;
            coefficient[i] = c;
            total += pi * c * r;
            value += pi * c * c * r * own;
        }
        *(sum - total > missing ? &low : &high) = missing;
    }
    value += (sum - total) * (sum - total);
    for (int32_t i = 0; i < senders->nodes; i++) {
        double r = senders->radius[i], pi = arrival[i], c = coefficient[i];
        double own = r * (1 - pi) + senders->variance[i] / r;
        double slope = 2 * r * pi * (own * c - (sum - total));
        if (pi > 0)
            above += slope > 0 ? slope * c : -slope * (1 / pi - c);
    }
    *objective = value;
    *gap = fmax(above / value, 0);
}
