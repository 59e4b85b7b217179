/*
 * From a plan to the error of the vectors that power iteration with it finds.
 *
 * Near the truth, write the error of found vector j as its components e along
 * the eigenvectors m that are not wanted. A round of weight w (the mean over the
 * nodes) and gain g brings the kept sum S to signal G lambda_j, G <- b G + g w
 * with b the carry, and component (j, m) follows
 *
 *     e <- (b G_before + g w lambda_m / lambda_j) / G e + g E / (lambda_j G),
 *
 * to first order, where E is what the round adds along m. Of E there are two
 * parts. The noise of the plan is independent in every round and direction;
 * its variance in one number of A V, reach and radius counted, adds up in the
 * square of e. And nodes whose rows differ: what leaves the true space in their
 * messages, z_i, has mean 0 where nothing is cut; it comes through with an
 * expected square of at most h (pri_plan_mse(), or what rounds of arrivals leave,
 * and the mean where cutting
 * leaves one), which, however it falls on directions and rounds, gives no more
 * than h / (c (lambda_k - lambda_{k+1}))^2, c the mean expected weight. The
 * error of the start, the sum of the squared tangents, shrinks by the squared
 * factor of the narrowest pair, while noise counts more (amplification()). Links are those of the seed, as in run.c.
 *
 * First order is for small errors: where the sum is above a tenth, more may come
 * of it, and the prediction is 1.
 */
#include "plan/plan.h"
#include "network/network.h"
#include "power.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

static const double trusted = 0.1; /* what first order is good for */

/* The numbers that the formula needs. */
struct terms {
    double weight;   /* c */
    double unit;     /* of a message's noise, in A V */
    double spread;   /* h, in the same */
    double tangents; /* of the start, summed */
};

/* z_i of every node as data of the network: its message without the part that
 * is within the space. */
static enum pricer_status differences(const struct pri_power *power,
                                      const double *vectors, double *data)
{
    const int64_t cells = power->components * power->columns;
    double *product = pri_alloc(power->length, sizeof *product);
    enum pricer_status status = product == NULL ? PRICER_MEMORY : PRICER_OK;
    for (int32_t i = 0; i < power->nodes && status == PRICER_OK; i++) {
        double *row = data + i * power->length;
        status = pri_power_product(power, i, vectors, product);
        if (status == PRICER_OK)
            pri_power_encode(power, vectors, product, row);
        for (int64_t c = cells; c < power->length; c++)
            row[c] = 0;
    }
    free(product);
    return status;
}

/* The length of the mean of all rows of data. */
static double mean_length(const struct pri_power *power, const double *data)
{
    double square = 0;
    for (int64_t c = 0; c < power->length; c++) {
        double mean = 0;
        for (int32_t i = 0; i < power->nodes; i++)
            mean += data[i * power->length + c] / power->nodes;
        square += mean * mean;
    }
    return sqrt(square);
}

/* The sum of the squared tangents between the start and the truth: with M the
 * products of their vectors, trace (M M')^-1 less the number of components. */
static enum pricer_status start_tangents(const struct pri_power *power,
                                         const double *vectors,
                                         double *tangents)
{
    const int k = power->components;
    double *start = pri_alloc(k * power->columns, sizeof *start);
    double *m = pri_alloc((int64_t)k * k, sizeof *m);
    double *square = pri_alloc((int64_t)k * k, sizeof *square);
    double *values = pri_alloc(k, sizeof *values);
    enum pricer_status status = PRICER_MEMORY;
    if (start != NULL && m != NULL && square != NULL && values != NULL)
        status = pri_power_start(power, start);
    if (status == PRICER_OK) {
        pri_products(k, power->columns, start, vectors, m);
        pri_products(k, k, m, m, square);
        status = pri_eigen(k, square, values);
    }
    if (status == PRICER_OK) {
        *tangents = -k;
        for (int32_t j = 0; j < k; j++)
            *tangents += 1 / fmax(values[j], 1e-300);
    }
    free(start);
    free(m);
    free(square);
    free(values);
    return status;
}

/* The expected square that data leave in the estimate because of links alone. */
static enum pricer_status spread_of_sums(const struct pri_power *power,
                                         const struct pri_means *means,
                                         const double *data, double *square,
                                         struct pricer_fault *fault)
{
    struct pricer_network sized = *means->network;
    struct pricer_settings settings = {0};
    struct pricer_error error;
    double mse = 0;
    sized.dimension = power->length;
    enum pricer_status status = pricer_plan_evaluate(
        &sized, &settings, means->scheme.sum, &error, fault);
    if (status == PRICER_OK)
        status = pri_plan_mse(&sized, means->scheme.sum, data, &mse, fault);
    if (status == PRICER_OK)
        *square = fmax(mse - error.piv, 0);
    return status;
}

/* The same with forwarding, |sum_i (a_i c_i - 1) z_i / n|^2, mean over rounds
 * that no run has. */
static enum pricer_status spread_of_releases(const struct pri_power *power,
                                             struct pri_means *means,
                                             const double *data, double *square)
{
    const int n = power->nodes, d = (int)power->length;
    double *off = pri_alloc((int64_t)PRI_ROUNDS * n, sizeof *off);
    double *error = pri_alloc((int64_t)PRI_ROUNDS * d, sizeof *error);
    enum pricer_status status =
        off == NULL || error == NULL ? PRICER_MEMORY : PRICER_OK;
    for (int64_t r = 0; r < PRI_ROUNDS && status == PRICER_OK; r++) {
        pri_means_draw(means, PRI_PLANNING_GROUP * PRI_ROUNDS + r);
        for (int i = 0; i < n; i++)
            off[r * n + i] = (means->whole.weight[i] - 1) / n;
    }
    if (status == PRICER_OK) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, PRI_ROUNDS, d, n,
                    1, off, n, data, d, 0, error, d);
        *square = 0;
        for (int64_t c = 0; c < (int64_t)PRI_ROUNDS * d; c++)
            *square += error[c] * error[c] / PRI_ROUNDS;
    }
    free(off);
    free(error);
    return status;
}

static enum pricer_status find_terms(const struct pri_power *power,
                                     struct pri_means *means,
                                     const struct pricer_power_vectors *exact,
                                     struct terms *terms,
                                     struct pricer_fault *fault)
{
    const double unit = power->settings.reach * power->radius;
    double square = 0;
    double *data = pri_alloc(power->nodes * power->length, sizeof *data);
    enum pricer_status status =
        data == NULL ? PRICER_MEMORY : differences(power, exact->vectors, data);
    if (status == PRICER_OK)
        status = means->scheme.forward != NULL
                     ? spread_of_releases(power, means, data, &square)
                     : spread_of_sums(power, means, data, &square, fault);
    if (status == PRICER_OK)
        status = start_tangents(power, exact->vectors, &terms->tangents);
    if (status == PRICER_OK) {
        terms->weight = means->weight / power->nodes;
        double rest = sqrt(square) + mean_length(power, data);
        terms->unit = unit;
        terms->spread = unit * unit * rest * rest;
    }
    free(data);
    return status;
}

/* One round's step of the recursion: x[j * columns + m] are expected squares,
 * of which those with m < k are not used. */
static void advance(const struct pri_power *power, const double *values,
                    const double *factor, double added, double *x)
{
    const int32_t k = power->components;
    for (int32_t j = 0; j < k; j++)
        for (int64_t m = k; m < power->columns; m++) {
            double *square = &x[j * power->columns + m];
            double a = factor[0] + factor[1] * values[m] / values[j];
            *square = a * a * *square + added / (values[j] * values[j]);
        }
}

/* How much more noise counts far from the truth. At the squared tangent T a
 * message holds lambda cos, not lambda, of its signal, and what leaves the
 * space, lambda sin cos over the reach, may make it so long that it is cut. */
static double amplification(const struct pri_power *power, const double *values,
                            double tangent)
{
    const double cosine = 1 / (1 + tangent), reach = power->settings.reach,
                 unit = power->radius * power->radius;
    double square = 0;
    for (int32_t j = 0; j < power->components; j++)
        square += pow(values[j] / unit, 2) *
                  (tangent * pow(cosine / reach, 2) + cosine * cosine);
    return (1 + tangent) * fmax(square, 1);
}

/* The prediction after every iteration. */
static void predict(const struct pri_power *power, struct pri_means *means,
                    const double *values, const struct terms *terms, double *x,
                    double *error)
{
    const struct pri_whole *whole = &means->whole;
    const int32_t k = power->components, nodes = power->nodes;
    const double last = values[k - 1],
                 rest = k < power->columns ? values[k] : 0;
    const double spread = terms->spread / pow(terms->weight * (last - rest), 2);
    double signal = 0, tangents = terms->tangents, total = tangents;
    for (int32_t t = 0; t < power->settings.iterations; t++) {
        double before = power->settings.carry * signal, weight = 0;
        pri_means_draw(means, t);
        for (int32_t i = 0; i < nodes; i++)
            weight += whole->weight[i] / nodes;
        double gain = pri_power_gain(means);
        signal = before + gain * weight;
        if (signal > 0) {
            double factor[2] = {before / signal, gain * weight / signal};
            double part = gain * terms->unit / (signal * nodes);
            double more = amplification(power, values, total / k);
            advance(power, values, factor, more * part * part * whole->variance,
                    x);
            tangents *= pow(factor[0] + factor[1] * rest / last, 2);
        }
        total = tangents + spread;
        for (int32_t j = 0; j < k; j++)
            for (int64_t m = k; m < power->columns; m++)
                total += x[j * power->columns + m];
        error[t] = total / k <= trusted ? total / k : 1; /* also if NAN */
    }
}

enum pricer_status pricer_power_predict(
    const struct pricer_matrix *rows, const struct pricer_network *network,
    const struct pricer_plan *plan,
    const struct pricer_power_settings *settings,
    const struct pricer_power_result *result, struct pricer_fault *fault)
{
    const struct pri_scheme scheme = {plan, settings->forward};
    struct pri_power power = {0};
    struct pri_means means = {0};
    struct terms terms = {0};
    if (pri_network_alike(network, "power iteration", true, fault) != PRICER_OK)
        return PRICER_VALUE;
    if (pri_scheme_perfect(&scheme) || result->exact == NULL)
        return pri_fault(fault, PRICER_VALUE,
                         "a prediction needs the exact vectors and a plan of "
                         "the network");
    enum pricer_status status =
        pri_power_open(rows, network, settings, &power, fault);
    if (status == PRICER_OK)
        status = pri_means_open(&means, network, &scheme, power.length,
                                settings->seed, fault);
    if (status == PRICER_OK)
        status = find_terms(&power, &means, result->exact, &terms, fault);
    double *x = pri_alloc(power.components * power.columns, sizeof *x);
    if (status == PRICER_OK && x == NULL)
        status = PRICER_MEMORY;
    if (status == PRICER_OK)
        predict(&power, &means, result->exact->values, &terms, x,
                result->error);
    free(x);
    pri_means_close(&means);
    pri_power_close(&power);
    return status;
}
