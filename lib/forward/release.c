/*
 * Releases as users of the library see them: the laws of lib/release, composed
 * over rounds, and the payloads of lib/forward/round.c for many vectors at once.
 */
#include "pricer_release.h"
#include "forward.h"
#include "pricer_forward.h"
#include "release/release.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ laws -- */

static struct pricer_release_law law_of(const struct pri_release *release)
{
    return (struct pricer_release_law){
        .kind = (enum pricer_release)release->kind,
        .dimension = release->dimension,
        .rounds = release->rounds,
        .radius = release->radius,
        .diameter = release->diameter,
        .threshold = release->t,
        .e0 = release->e0,
        .q = release->q,
        .p = release->p,
        .m = release->m,
        .charge = release->charge,
        .noise = release->noise,
        .variance = release->variance,
    };
}

static struct pri_release release_of(const struct pricer_release_law *law)
{
    return (struct pri_release){
        .kind = (enum pri_release_kind)law->kind,
        .dimension = law->dimension,
        .rounds = law->rounds,
        .radius = law->radius,
        .diameter = law->diameter,
        .t = law->threshold,
        .e0 = law->e0,
        .q = law->q,
        .p = law->p,
        .m = law->m,
        .charge = law->charge,
        .noise = law->noise,
        .variance = law->variance,
    };
}

enum pricer_status pricer_release_for_budget(
    const struct pricer_release_wish *wish, struct pricer_release_law *law,
    struct pricer_fault *fault)
{
    struct pri_release release;
    enum pricer_status status = pri_release_for_budget(
        &(struct pri_release_wish){.kind = (enum pri_release_kind)wish->kind,
                                   .dimension = wish->dimension,
                                   .radius = wish->radius,
                                   .diameter = wish->diameter,
                                   .eps = wish->eps,
                                   .delta = wish->delta,
                                   .rounds =
                                       wish->rounds != 0 ? wish->rounds : 1},
        &release, fault);
    if (status == PRICER_OK)
        *law = law_of(&release);
    return status;
}

/* A Gaussian of given noise; the noise of a coordinate is all there is. */
static enum pricer_status complete_gaussian(struct pricer_release_law *law,
                                            struct pricer_fault *fault)
{
    double noise = law->noise;
    if (law->dimension < 1)
        return pri_fault(fault, PRICER_VALUE,
                         "dimension = %lld is not positive",
                         (long long)law->dimension);
    if (!(law->radius > 0 && law->radius < INFINITY))
        return pri_fault(fault, PRICER_VALUE, "radius = %g is not positive",
                         law->radius);
    if (!(noise > 0 && noise < INFINITY))
        return pri_fault(fault, PRICER_VALUE, "noise = %g is not positive",
                         noise);
    if (!(law->diameter >= 0 && law->diameter <= 2 * law->radius))
        return pri_fault(fault, PRICER_VALUE,
                         "diameter = %g is not between 0 and twice the radius",
                         law->diameter);
    *law = (struct pricer_release_law){
        .kind = PRICER_RELEASE_GAUSSIAN,
        .dimension = law->dimension,
        .rounds = law->rounds,
        .radius = law->radius,
        .diameter = law->diameter > 0 ? law->diameter : 2 * law->radius,
        .noise = noise,
        .variance = noise * noise * (double)law->dimension,
    };
    return PRICER_OK;
}

enum pricer_status pricer_release_complete(struct pricer_release_law *law,
                                           struct pricer_fault *fault)
{
    struct pri_release release;
    if (law->kind == PRICER_RELEASE_GAUSSIAN)
        return complete_gaussian(law, fault);
    if (law->kind != PRICER_RELEASE_SPHERE)
        return pri_fault(fault, PRICER_VALUE,
                         "a release is of kind sphere or gaussian");
    enum pricer_status status = pri_release_sphere(
        law->dimension, law->radius, law->threshold, law->e0, &release, fault);
    if (status != PRICER_OK)
        return status;
    release.rounds = law->rounds;
    *law = law_of(&release);
    return PRICER_OK;
}

double pricer_release_variance(const struct pricer_release_law *law,
                               double length)
{
    struct pri_release release = release_of(law);
    return pri_release_variance(&release, length);
}

/* ----------------------------------------------------------- composition -- */

static struct pricer_forward_node node_of(const struct pricer_release_law *law)
{
    return (struct pricer_forward_node){.release = law->kind,
                                        .threshold = law->threshold,
                                        .loss = law->e0,
                                        .noise = law->noise,
                                        .variance = law->variance};
}

enum pricer_status pricer_release_delta(const struct pricer_release_law *law,
                                        double eps, int64_t rounds,
                                        double *delta,
                                        struct pricer_fault *fault)
{
    struct pricer_forward_node node = node_of(law);
    return pricer_forward_privacy_delta(
        &(struct pricer_forward_releases){&node, law->radius, law->dimension,
                                          rounds, law->diameter},
        eps, delta, fault);
}

enum pricer_status pricer_release_epsilon(const struct pricer_release_law *law,
                                          double delta, int64_t rounds,
                                          double *eps,
                                          struct pricer_fault *fault)
{
    struct pricer_forward_node node = node_of(law);
    struct pricer_forward_privacy found;
    enum pricer_status status = pricer_forward_privacy_eps(
        &(struct pricer_forward_releases){&node, law->radius, law->dimension,
                                          rounds, law->diameter},
        delta, &found, fault);
    if (status == PRICER_OK)
        *eps = found.eps;
    return status;
}

/* -------------------------------------------------------------- payloads -- */

#define ROWS_MANY "%lld rows are not between 0 and %d"

static enum pricer_status check_rows(const struct pricer_release_rows *rows,
                                     int64_t dimension,
                                     struct pricer_fault *fault)
{
    if (rows->count < 0 || rows->count > INT32_MAX)
        return pri_fault(fault, PRICER_VALUE, ROWS_MANY, (long long)rows->count,
                         INT32_MAX);
    for (int64_t i = 0; i < rows->count; i++)
        for (int64_t k = 0; k < dimension; k++)
            if (!isfinite(rows->data[i * dimension + k]))
                return pri_fault(fault, PRICER_VALUE,
                                 "entry %lld of row %lld is not a finite "
                                 "number",
                                 (long long)k, (long long)i);
    return PRICER_OK;
}

enum pricer_status pricer_release_draw(const struct pricer_release_law *law,
                                       const struct pricer_release_rows *rows,
                                       unsigned char *payload,
                                       struct pricer_fault *fault)
{
    struct pricer_forward_node node = node_of(law);
    struct pricer_forward_sender *sender = NULL;
    struct pricer_random random;
    int64_t bytes = pricer_forward_payload(law->kind, law->dimension);
    enum pricer_status status = check_rows(rows, law->dimension, fault);
    if (status == PRICER_OK)
        status = pricer_forward_sender_new(&node, law->radius, law->dimension,
                                           &sender, fault);
    for (int64_t i = 0; i < rows->count && status == PRICER_OK; i++) {
        if (rows->replayed)
            pricer_random_replay(&random, rows->seed, PRICER_PURPOSE_NOISE,
                                 rows->round, (int32_t)i, PRICER_SERVER);
        status = pricer_forward_release(sender, rows->data + i * law->dimension,
                                        rows->replayed ? &random : NULL,
                                        payload + i * bytes, fault);
    }
    pricer_forward_sender_free(sender);
    return status;
}

enum pricer_status pricer_release_decode(const struct pricer_release_law *law,
                                         int64_t count,
                                         const unsigned char *payload,
                                         double *values,
                                         struct pricer_fault *fault)
{
    struct pricer_forward_node node = node_of(law);
    double radius = law->radius;
    /* One node: readers ask for no more of a network. */
    struct pricer_network network = {
        .nodes = 1, .dimension = law->dimension, .node_radius = &radius};
    struct pricer_forward_plan plan = {.nodes = 1, .node = &node};
    struct pricer_forward_receiver *receiver = NULL;
    struct pricer_fault why = {""};
    int64_t bytes = pricer_forward_payload(law->kind, law->dimension);
    if (count < 0 || count > INT32_MAX)
        return pri_fault(fault, PRICER_VALUE, ROWS_MANY, (long long)count,
                         INT32_MAX);
    double *made = pri_alloc(count * law->dimension, sizeof *made);
    enum pricer_status status =
        made == NULL
            ? pri_fault(fault, PRICER_MEMORY, "out of memory")
            : pricer_forward_receiver_new(&network, &plan, &receiver, fault);
    for (int64_t i = 0; i < count && status == PRICER_OK; i++) {
        status = pricer_forward_receiver_decode(
            receiver, 0, payload + i * bytes, bytes, made + i * law->dimension,
            &why);
        if (status != PRICER_OK)
            pri_fault(fault, status, "row %lld: %.400s", (long long)i,
                      why.text);
    }
    if (status == PRICER_OK && count > 0)
        memcpy(values, made, (size_t)(count * law->dimension) * sizeof *values);
    pricer_forward_receiver_free(receiver);
    free(made);
    return status;
}
