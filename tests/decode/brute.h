/*
 * Decoding by brute force over all patterns of 3 or 4 nodes, for tests.
 */
#ifndef PRICER_TEST_BRUTE_H
#define PRICER_TEST_BRUTE_H

#include "tests/sample.h"
#include "decode/rows.h"

enum { MOST = 4 };

/* Network and plan as matrices, X of the data themselves, whose lengths are the
 * nodes' own radii, and what brute force adds up. */
struct brute {
    int n;
    double d, link[MOST][MOST], joint[MOST][MOST], up[MOST];
    double weight[MOST][MOST], noise[MOST][MOST], x[MOST][MOST];
    double part[MOST]; /* radii over the network's */
    double g, heard, bar, m[MOST][MOST], worst;
    double mean[MOST]; /* E r of what the receiver answers */
    bool other;        /* its coefficients are not those for one round */
    const struct pricer_network *network;
    const struct pricer_decoder *decoder;
    struct pricer_receiver *receiver;
};

static inline struct brute brute_of(const struct pricer_network *net,
                                    const struct pricer_plan *plan,
                                    const struct pricer_decoder *decoder)
{
    struct brute b = {.n = net->nodes, .network = net, .decoder = decoder};
    b.d = (double)net->dimension / net->radius / net->radius;
    for (int i = 0; i < b.n; i++) {
        b.up[i] = net->uplink[i];
        b.link[i][i] = b.joint[i][i] = 1;
        b.weight[i][i] = plan->self_weight[i];
        b.noise[i][i] = plan->self_noise[i];
        for (int l = 0; l < b.n; l++) {
            b.x[i][l] = i == l ? decoder->own[i] : 0;
            for (int c = 0; c < decoder->rank; c++)
                b.x[i][l] += decoder->shared[i * decoder->rank + c] *
                             decoder->shared[l * decoder->rank + c];
            b.x[i][l] *= net->node_radius[i] / net->radius *
                         (net->node_radius[l] / net->radius);
        }
        b.part[i] = net->node_radius[i] / net->radius;
    }
    for (int l = 0; l < net->links; l++) {
        int i = net->from[l], j = net->to[l];
        b.link[i][j] = net->p[l];
        b.joint[i][j] = net->joint[l];
        b.weight[i][j] = plan->weight[l];
        b.noise[i][j] = plan->noise[l];
    }
    return b;
}

/* H beta = A X q by elimination with pivots; rows that hold nothing give 0. */
static inline void brute_solve(int n, double h[MOST][MOST], double *y)
{
    for (int c = 0; c < n; c++) {
        int best = c;
        for (int i = c; i < n; i++)
            if (fabs(h[i][c]) > fabs(h[best][c]))
                best = i;
        for (int k = 0; k < n; k++) {
            double kept = h[c][k];
            h[c][k] = h[best][k];
            h[best][k] = kept;
        }
        double kept = y[c];
        y[c] = y[best];
        y[best] = kept;
        for (int i = 0; i < n; i++) {
            double ratio = i == c ? 0 : h[i][c] / h[c][c];
            for (int k = 0; k < n; k++)
                h[i][k] -= ratio * h[c][k];
            y[i] -= ratio * y[c];
        }
    }
    for (int c = 0; c < n; c++)
        y[c] /= h[c][c];
}

/* The quadratic, and r, of some coefficients. */
static inline double brute_value(const struct brute *b, double a[MOST][MOST],
                                 const double *v, const double *beta, double *r)
{
    double sum = 0;
    for (int i = 0; i < b->n; i++) {
        r[i] = -1.0 / b->n;
        for (int j = 0; j < b->n; j++)
            r[i] += beta[j] * a[j][i];
        sum += beta[i] * beta[i] * v[i];
    }
    for (int i = 0; i < b->n; i++)
        for (int l = 0; l < b->n; l++)
            sum += r[i] * b->x[i][l] * r[l];
    return sum;
}

static inline void add_moments(struct brute *b, double chance,
                               const double *beta, const double *r,
                               const double *v)
{
    for (int i = 0; i < b->n; i++) {
        b->heard += chance * beta[i] * beta[i] * v[i];
        for (int l = 0; l < b->n; l++)
            b->m[i][l] += chance * r[i] * r[l];
    }
}

/* One pattern: the optimum by definition, and what the receiver answers. */
static inline void brute_pattern(struct brute *b, double chance, const bool *up,
                                 bool tau[MOST][MOST])
{
    int n = b->n;
    double a[MOST][MOST] = {{0}}, h[MOST][MOST], v[MOST] = {0}, best[MOST];
    double r[MOST], beta[MOST], axq[MOST] = {0};
    bool link[MOST * MOST] = {false};
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (up[j] && tau[i][j]) {
                a[j][i] = b->weight[i][j];
                v[j] += b->d * b->noise[i][j] * b->noise[i][j];
            }
    for (int l = 0; l < b->network->links; l++)
        link[l] = tau[b->network->from[l]][b->network->to[l]];
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) {
            h[j][k] = j == k ? v[j] + !up[j] : 0;
            for (int i = 0; i < n; i++)
                for (int l = 0; l < n; l++) {
                    h[j][k] += a[j][i] * b->x[i][l] * a[k][l];
                    axq[j] += k == 0 ? a[j][i] * b->x[i][l] / n : 0;
                }
        }
    memcpy(best, axq, sizeof best);
    brute_solve(n, h, best);
    b->g += chance * brute_value(b, a, v, best, r);
    struct pricer_decoded decoded;
    pricer_receiver_decode(b->receiver, up, link, beta, &decoded);
    double blend = b->decoder->blend;
    brute_value(b, a, v, beta, r);
    for (int i = 0; i < n; i++)
        b->mean[i] += chance * r[i];
    if (b->other) {
        add_moments(b, chance, beta, r, v);
        return;
    }
    for (int j = 0; j < n; j++) {
        double mixed = blend * best[j] + (1 - blend) * up[j] / n;
        b->worst = fmax(b->worst, fabs(beta[j] - mixed));
        best[j] = mixed;
    }
    double value = brute_value(b, a, v, best, r);
    double scale = b->network->radius * b->network->radius;
    assert_close(decoded.bar, scale * value, 1e-9);
    b->bar += chance * value;
    add_moments(b, chance, best, r, v);
}

/* All patterns of uplinks and pairs. */
static inline void brute_all(struct brute *b)
{
    int n = b->n, pairs = n * (n - 1) / 2;
    for (int u = 0; u < 1 << n; u++)
        for (int t = 0; t < 1 << 2 * pairs; t++) {
            bool up[MOST], tau[MOST][MOST];
            double chance = 1;
            int at = 0;
            for (int i = 0; i < n; i++) {
                up[i] = u >> i & 1;
                tau[i][i] = true;
                chance *= up[i] ? b->up[i] : 1 - b->up[i];
                for (int l = 0; l < i; l++, at++) {
                    double p = b->link[i][l], q = b->link[l][i];
                    double e = p > 0 && q > 0 ? b->joint[i][l] : 0;
                    double odds[] = {1 - p - q + e, p - e, q - e, e};
                    int k = t >> 2 * at & 3;
                    tau[i][l] = k & 1;
                    tau[l][i] = k >> 1;
                    chance *= odds[k];
                }
            }
            if (chance > 1e-15) /* less is rounding: E = p */
                brute_pattern(b, chance, up, tau);
        }
}

static inline struct pricer_decoder *fit(const struct pricer_network *network,
                                         const struct pricer_plan *plan,
                                         struct pricer_decoder_settings ask)
{
    struct pricer_decoder *decoder = NULL;
    struct pricer_fault fault = {""};
    if (pricer_decoder_fit(network, plan, &ask, &decoder, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return decoder;
}

static inline struct pricer_receiver *receive(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_decoder *decoder)
{
    struct pricer_receiver *receiver = NULL;
    struct pricer_fault fault = {""};
    if (pricer_receiver_new(network, plan, decoder, &receiver, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return receiver;
}

/* ----------------------------------------------------------- brute force -- */

#endif
