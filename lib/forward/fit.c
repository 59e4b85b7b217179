/*
 * From the moments of arrivals to the coefficients of the estimate.
 *
 * With z_i = R_i c_i, S = sum R_i and w_i = v_i / R_i^2 the worst case is the
 * convex quadratic
 *
 *     f(z) = z' M z - 2 S pi' z + S^2 + sum_i pi_i w_i z_i^2,   M = E[a a'],
 *
 * over the box 0 <= z_i <= R_i / pi_i. A projected Newton method: conjugate
 * gradients on the variables that are free, then a search along the projected
 * path (Bertsekas 1982). f is convex, so for the gradient g at z no point of the
 * box has less than f(z) - sum_i max over s in the box of g_i (z_i - s_i): that
 * is the gap, whatever led to z.
 */
#include "forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEWTON_STEPS = 60, CONJUGATE_STEPS = 200, HALVINGS = 10 };
#define GAP 1e-10         /* relative; where rounding allows it */
#define VALUE_ERROR 1e-14 /* of f, in units of S^2 */

struct problem {
    struct pri_moments *moments;
    int32_t n;
    double sum;    /* S */
    double *noise; /* pi w */
    double *upper; /* R / pi; 0: never heard */
    double *z, *gradient, *product;
    double *step, *residual, *scaled, *direction, *image, *trial;
    bool *free;
};

enum { VECTORS = 11 };

static enum pricer_status make_problem(struct pri_moments *moments,
                                       const struct pri_senders *senders,
                                       struct problem *p)
{
    int64_t n = moments->nodes;
    *p = (struct problem){.moments = moments, .n = moments->nodes};
    double *all = pri_alloc(VECTORS * n, sizeof(double));
    p->free = pri_alloc(n, sizeof(bool));
    p->noise = all;
    if (all == NULL || p->free == NULL)
        return PRICER_MEMORY;
    double **vectors[VECTORS] = {&p->noise,    &p->upper,   &p->z,
                                 &p->gradient, &p->product, &p->step,
                                 &p->residual, &p->scaled,  &p->direction,
                                 &p->image,    &p->trial};
    for (int k = 0; k < VECTORS; k++)
        *vectors[k] = all + k * n;
    for (int32_t i = 0; i < n; i++) {
        double r = senders->radius[i], pi = moments->pi[i];
        p->sum += r;
        p->noise[i] = pi * (senders->variance[i] / (r * r));
        p->upper[i] = pi > 0 ? r / pi : 0;
        p->z[i] = .5 * p->upper[i];
    }
    return PRICER_OK;
}

static void free_problem(struct problem *p)
{
    free(p->noise);
    free(p->free);
}

/* f at z, and its gradient / 2 if asked for. */
static double value_at(struct problem *p, const double *z, double *gradient)
{
    const double *pi = p->moments->pi;
    double value = p->sum * p->sum;
    pri_moments_product(p->moments, z, p->product);
    for (int32_t i = 0; i < p->n; i++) {
        double half = p->product[i] + p->noise[i] * z[i];
        value += z[i] * (half - 2 * p->sum * pi[i]);
        if (gradient != NULL)
            gradient[i] = half - p->sum * pi[i];
    }
    return value;
}

/* How far f(z) can be above the optimum, and which variables are free. */
static double find_gap(struct problem *p)
{
    double gap = 0;
    for (int32_t i = 0; i < p->n; i++) {
        double z = p->z[i], g = p->gradient[i];
        gap += 2 * (g > 0 ? g * z : -g * (p->upper[i] - z));
        p->free[i] = p->upper[i] > 0 && !(z <= 0 && g >= 0) &&
                     !(z >= p->upper[i] && g <= 0);
    }
    return gap;
}

/* (M + noise)_FF times x, which is 0 outside of F. */
static void multiply(struct problem *p, const double *x, double *out)
{
    pri_moments_product(p->moments, x, out);
    for (int32_t i = 0; i < p->n; i++)
        out[i] = p->free[i] ? out[i] + p->noise[i] * x[i] : 0;
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
        p->scaled[i] =
            p->free[i] ? p->residual[i] / (p->moments->pi[i] + p->noise[i]) : 0;
}

/* The Newton step of the free variables, to a relative residual. */
static void solve_free(struct problem *p, double tolerance)
{
    for (int32_t i = 0; i < p->n; i++) {
        p->step[i] = 0;
        p->residual[i] = p->free[i] ? -p->gradient[i] : 0;
    }
    precondition(p);
    memcpy(p->direction, p->scaled, (size_t)p->n * sizeof(double));
    double rho = dot(p->residual, p->scaled, p->n), first = rho;
    for (int k = 0; k < CONJUGATE_STEPS && rho > first * tolerance * tolerance;
         k++) {
        multiply(p, p->direction, p->image);
        double curvature = dot(p->direction, p->image, p->n);
        if (!(curvature > 0))
            break;
        double length = rho / curvature;
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
}

/* Halve the step until f does not rise; false: it always does. */
static bool move(struct problem *p, double *value)
{
    double length = 1;
    for (int k = 0; k < HALVINGS; k++, length /= 2) {
        for (int32_t i = 0; i < p->n; i++)
            p->trial[i] =
                fmin(fmax(p->z[i] + length * p->step[i], 0), p->upper[i]);
        double reached = value_at(p, p->trial, p->image);
        if (reached <= *value + VALUE_ERROR * p->sum * p->sum) {
            double *swap = p->z;
            p->z = p->trial;
            p->trial = swap;
            swap = p->gradient;
            p->gradient = p->image;
            p->image = swap;
            *value = reached;
            return true;
        }
    }
    return false;
}

enum pricer_status pri_forward_fit(struct pri_moments *moments,
                                   const struct pri_senders *senders,
                                   double *coefficient, double *objective,
                                   double *gap)
{
    struct problem p;
    enum pricer_status status = make_problem(moments, senders, &p);
    if (status == PRICER_OK) {
        double value = value_at(&p, p.z, p.gradient);
        double above = find_gap(&p), tolerance = .1;
        for (int k = 0, stalls = 0;
             k < NEWTON_STEPS && stalls < 3 && above > GAP * value; k++) {
            double before = above;
            solve_free(&p, tolerance);
            tolerance = fmax(tolerance * .1, 1e-8);
            if (!move(&p, &value))
                break;
            above = find_gap(&p);
            stalls = above > .5 * before ? stalls + 1 : 0;
        }
        for (int32_t i = 0; i < p.n; i++)
            coefficient[i] = p.z[i] / senders->radius[i];
        *objective = value;
        *gap = fmax(above / value, 0);
    }
    free_problem(&p);
    return status;
}
