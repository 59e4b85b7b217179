/*
 * What the constant decoder does on average, exactly: M_00 = E r r' of
 * coefficients 1/n, which needs no patterns; and with it a better estimate of
 * what other decoders do.
 *
 * Control variate: r of a decoder goes along with r of the constant one, so
 * that where sampled patterns happen to be hard for the one they are for the
 * other. With D = diag(E[r_i r0_i] / E[r0_i^2]) the difference of sampled and
 * exact M_00, D (M00^ - M_00) D, is taken off the sampled M of the decoder. Its
 * mean is zero (but for D's own sampling error, of higher order), and most of
 * the noise of M goes with it. As the worst case is a maximum over X of
 * something linear in M, less noise is a tighter bound, and the bound is still
 * in expectation no less than the truth.
 */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What comes through relay j: the part that goes up and down with it. */
static void add_relay(const struct pri_rows *rows, const struct pri_odds *odds,
                      int32_t j, double *m)
{
    int64_t n = rows->nodes;
    double up = odds->uplink[j], square = rows->scale[j] * rows->scale[j];
    for (int32_t a = rows->start[j]; a < rows->start[j + 1]; a++) {
        double p = rows->link[a] < 0 ? 1 : odds->p[rows->link[a]];
        int64_t i = rows->from[a];
        m[i * (n + 1)] +=
            square * up * p * (1 - p) * rows->weight[a] * rows->weight[a];
        for (int32_t b = rows->start[j]; b < rows->start[j + 1]; b++) {
            double q = rows->link[b] < 0 ? 1 : odds->p[rows->link[b]];
            m[i * n + rows->from[b]] += square * up * (1 - up) * p * q *
                                        rows->weight[a] * rows->weight[b];
        }
    }
}

void pri_constant(const struct pricer_network *network,
                  const struct pri_rows *truth, const struct pri_odds *odds,
                  const double *weight, double *m)
{
    int64_t n = network->nodes;
    double square = (double)n * (double)n, *mean = m + n * n;
    memset(m, 0, (size_t)(n * n) * sizeof *m);
    for (int64_t i = 0; i < n; i++)
        mean[i] = -truth->part[i];
    for (int32_t j = 0; j < n; j++) {
        add_relay(truth, odds, j, m);
        for (int32_t k = truth->start[j]; k < truth->start[j + 1]; k++) {
            double p = truth->link[k] < 0 ? 1 : odds->p[truth->link[k]];
            mean[truth->from[k]] +=
                odds->uplink[j] * p * truth->weight[k] * truth->scale[j];
        }
    }
    for (int32_t l = 0; l < network->links; l++) {
        int32_t back = network->partner[l];
        int64_t i = network->from[l], j = network->to[l];
        if (back >= 0)
            m[i * n + j] += odds->uplink[i] * odds->uplink[j] *
                            (odds->joint[l] - odds->p[l] * odds->p[back]) *
                            weight[l] * weight[back] * truth->part[i] *
                            truth->part[j];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < n; l++)
            m[i * n + l] = (m[i * n + l] + mean[i] * mean[l]) / square;
}

void pri_variances(const struct pri_rows *truth, const struct pri_odds *odds,
                   double *variance)
{
    double square = (double)truth->nodes * (double)truth->nodes;
    memset(variance, 0, (size_t)truth->nodes * sizeof *variance);
    for (int32_t j = 0; j < truth->nodes; j++)
        for (int32_t k = truth->start[j]; k < truth->start[j + 1]; k++) {
            double p = truth->link[k] < 0 ? 1 : odds->p[truth->link[k]];
            double weight = truth->weight[k] * truth->scale[j];
            p *= odds->uplink[j];
            variance[truth->from[k]] += p * (1 - p) * weight * weight / square;
        }
}

void pri_control(int64_t n, const double *exact, const double *m, double *ratio,
                 double *change)
{
    for (int64_t i = 0; i < n; i++) {
        double own = m[i * (n + 1)], both = m[n * n + i * (n + 1)];
        ratio[i] = own > 0 ? fmin(fmax(both / own, 0), 2) : 0;
    }
    for (int64_t k = 0; k < n * n; k++)
        change[k] = m[k] - exact[k];
}
