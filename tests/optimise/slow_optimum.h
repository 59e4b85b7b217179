/*
 * The optimum of a small network by a slow solver of another kind, for tests.
 */
#ifndef PRICER_TEST_SLOW_OPTIMUM_H
#define PRICER_TEST_SLOW_OPTIMUM_H

#include "base/base.h"
#include "tests/plans.h"

/*
 * A slow solver of another kind: accelerated projected gradient in the shares,
 * two spare variables a row for bias below and above 1. The matrix comes from
 * the definition by polarisation. Rows are projected onto
 * sum of shares + below - above = 1, all >= 0, by bisection.
 */
#define SLOW_NODES 4
#define SLOW_ROW (SLOW_NODES + 2)
#define SLOW (SLOW_NODES * SLOW_ROW)

struct slow {
    int n;
    double matrix[SLOW][SLOW], line[SLOW];
    bool there[SLOW];
};

static inline double slow_form(struct dense *dense, double rho[][DENSE_MOST],
                               int a, int b)
{
    memset(dense->weight, 0, sizeof dense->weight);
    memset(dense->noise, 0, sizeof dense->noise);
    int ends[] = {a, b};
    for (int k = 0; k < 2; k++) {
        int i = ends[k] / SLOW_ROW, j = ends[k] % SLOW_ROW;
        double weight = 1 / (dense->p[j] * dense->link[i][j]);
        dense->weight[i][j] += weight;
        dense->noise[i][j] += rho[i][j] * weight;
    }
    double square = (double)dense->n * dense->n;
    return dense->radius * dense->radius * dense_variance(dense) +
           square * dense_noise(dense);
}

static inline void slow_project(const struct slow *slow, double *x)
{
    for (int i = 0; i < slow->n; i++) {
        double *row = &x[i * SLOW_ROW], low = -1e6, high = 1e6;
        for (int step = 0; step < 80; step++) {
            double shift = (low + high) / 2, sum = 0;
            for (int j = 0; j < SLOW_ROW; j++) {
                double sign = j == SLOW_NODES + 1 ? -1 : 1;
                if (slow->there[i * SLOW_ROW + j])
                    sum += sign * fmax(0, row[j] + sign * shift);
            }
            *(sum < 1 ? &low : &high) = shift;
        }
        for (int j = 0; j < SLOW_ROW; j++) {
            double sign = j == SLOW_NODES + 1 ? -1 : 1;
            bool there = slow->there[i * SLOW_ROW + j];
            row[j] = there ? fmax(0, row[j] + sign * low) : 0;
        }
    }
}

static inline double slow_value(const struct slow *slow, const double *x,
                                double *gradient)
{
    double value = 0;
    for (int a = 0; a < SLOW; a++) {
        double sum = 0;
        for (int b = 0; b < SLOW; b++)
            sum += slow->matrix[a][b] * x[b];
        value += x[a] * (sum + slow->line[a]);
        gradient[a] = 2 * sum + slow->line[a];
    }
    return value;
}

static inline double slow_solve(const struct slow *slow)
{
    double x[SLOW] = {0}, y[SLOW] = {0}, gradient[SLOW], step = 0, best = 0;
    for (int a = 0; a < SLOW; a++) {
        double sum = 0;
        for (int b = 0; b < SLOW; b++)
            sum += 2 * fabs(slow->matrix[a][b]);
        step = fmax(step, sum);
    }
    slow_project(slow, x);
    memcpy(y, x, sizeof y);
    best = slow_value(slow, x, gradient);
    double speed = 1;
    for (int iteration = 0; iteration < 40000; iteration++) {
        double next[SLOW];
        slow_value(slow, y, gradient);
        for (int a = 0; a < SLOW; a++)
            next[a] = y[a] - gradient[a] / step;
        slow_project(slow, next);
        double faster = (1 + sqrt(1 + 4 * speed * speed)) / 2, along = 0;
        for (int a = 0; a < SLOW; a++)
            along += gradient[a] * (next[a] - x[a]);
        for (int a = 0; a < SLOW; a++)
            y[a] = next[a] +
                   (along > 0 ? 0 : (speed - 1) / faster) * (next[a] - x[a]);
        speed = along > 0 ? 1 : faster;
        memcpy(x, next, sizeof x);
    }
    double end = slow_value(slow, x, gradient);
    return fmin(best, end);
}

static inline double slow_optimum(const struct pricer_network *network,
                                  const struct pricer_settings *ask)
{
    static struct slow slow;
    struct dense dense = dense_of(network, NULL);
    double rho[DENSE_MOST][DENSE_MOST] = {{0}}, slope[90], self_slope[10];
    int n = network->nodes;
    memset(&slow, 0, sizeof slow);
    slow.n = n;
    if (pri_noise_slopes(network, ask, slope, self_slope, NULL) != PRICER_OK)
        abort();
    for (int i = 0; i < n; i++)
        rho[i][i] = self_slope[i];
    for (int l = 0; l < network->links; l++)
        rho[network->from[l]][network->to[l]] = slope[l];
    double square = network->radius * network->radius;
    double penalty = n * n * ask->lambda;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            slow.there[i * SLOW_ROW + j] = dense.p[j] * dense.link[i][j] > 0;
    for (int a = 0; a < SLOW; a++)
        for (int b = 0; b < SLOW; b++)
            if (slow.there[a] && slow.there[b])
                slow.matrix[a][b] = (slow_form(&dense, rho, a, b) -
                                     slow_form(&dense, rho, a, a) / 4 -
                                     slow_form(&dense, rho, b, b) / 4) /
                                    2;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            int a = i * SLOW_ROW + SLOW_NODES + k;
            double sign = k == 0 ? 1 : -1;
            slow.there[a] = ask->bias != PRICER_BIAS_UNBIASED &&
                            (k == 0 || ask->bias != PRICER_BIAS_WORST_CASE);
            slow.line[a] = ask->bias == PRICER_BIAS_L1 ? penalty : 0;
            for (int m = 0; m < n; m++)
                for (int r = 0; r < 2; r++)
                    slow.matrix[a][m * SLOW_ROW + SLOW_NODES + r] +=
                        square * sign * (r == 0 ? 1 : -1);
            if (ask->bias == PRICER_BIAS_L2)
                for (int r = 0; r < 2; r++)
                    slow.matrix[a][i * SLOW_ROW + SLOW_NODES + r] +=
                        penalty * sign * (r == 0 ? 1 : -1);
        }
    return slow_solve(&slow) / ((double)n * n);
}

#endif
