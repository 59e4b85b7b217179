/*
 * A round of forwarding, from a node's data to the server's estimate, without
 * sockets, clock or randomness of its own: simulator and daemons use the same
 * functions.
 *
 * The payload of a release of kind `sphere` is the seed, 16 bytes. That of a
 * Gaussian is one signed 32-bit little-endian integer a coordinate: the message
 * of a share of weight 1 (pricer_round_share()) on the grid of step
 *
 *     2^exponent,  the least with  R + 64 r < 2^(exponent + 30),
 *
 * r the noise, or 2 R / 1984 where that is more, as pri_sent_noise() says. Both
 * sides find the exponent from radius and noise. With smoothing, no value that is
 * within 64 deviations passes R + 64 (r + 8 steps) + 2 steps < 2^31 steps; a value
 * beyond 2^31 - 1 steps, which has a probability below 10^-800, is sent as
 * 2^31 - 1 steps.
 *
 * Claim: a Gaussian payload is as private as x + N(0, r^2 I) for data within the
 * radius, as pricer_round_share() states; a seed is as private as
 * pri_sampler_draw() states. Proof: the payload is computed from the message alone
 * (limited to 32 bits, which does not look at the data), or is the seed.
 */
#include "forward.h"
#include "plan/plan.h"
#include "pricer_forward.h"
#include "random/random.h"
#include "release/release.h"
#include "round/round.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBER_BYTES = 4, /* of a coordinate of a Gaussian */
    REACH_BITS = 30,  /* of its largest honest value, about */
    HONEST = 64,      /* deviations */
};

int64_t pricer_forward_payload(enum pricer_release release, int64_t dimension)
{
    return release == PRICER_RELEASE_GAUSSIAN ? NUMBER_BYTES * dimension
                                              : PRI_SEED_BYTES;
}

/* -------------------------------------------------------------- Gaussian -- */

/* A share that nothing but the release consists of. */
static struct pricer_share whole_share(const struct pricer_forward_node *node)
{
    return (struct pricer_share){.weight = 1, .noise = node->noise};
}

static enum pricer_status choose_grid(const struct pricer_forward_node *node,
                                      double radius, struct pricer_grid *grid,
                                      struct pricer_fault *fault)
{
    if (!(node->noise > 0) || isinf(node->noise))
        return pri_fault(fault, PRICER_VALUE,
                         "a Gaussian release needs noise, not %g", node->noise);
    double noise = fmax(node->noise, 2 * radius / PRI_GRID_STEEPEST);
    int exponent;
    frexp(radius + HONEST * noise, &exponent);
    *grid = (struct pricer_grid){exponent - REACH_BITS, INT64_C(1)
                                                            << PRI_GRID_BITS};
    return PRICER_OK;
}

static void put_number(int64_t value, unsigned char *bytes)
{
    value = value > INT32_MAX ? INT32_MAX : value;
    value = value < -INT32_MAX ? -INT32_MAX : value;
    for (int k = 0; k < NUMBER_BYTES; k++)
        bytes[k] = (unsigned char)((uint64_t)value >> 8 * k);
}

static int32_t get_number(const unsigned char *bytes)
{
    uint32_t bits = 0;
    for (int k = 0; k < NUMBER_BYTES; k++)
        bits |= (uint32_t)bytes[k] << 8 * k;
    return (int32_t)bits;
}

/* ---------------------------------------------------------------- sender -- */

struct pricer_forward_sender {
    enum pricer_release kind;
    struct pri_sampler *sampler; /* of a sphere */
    struct pricer_slice slice;   /* of a Gaussian */
    struct pricer_share share;
    int64_t *message; /* [dimension] */
};

void pricer_forward_sender_free(struct pricer_forward_sender *sender)
{
    if (sender == NULL)
        return;
    pri_sampler_free(sender->sampler);
    free(sender->message);
    free(sender);
}

static enum pricer_status prepare_sphere(const struct pricer_forward_node *node,
                                         double radius, int64_t dimension,
                                         struct pricer_forward_sender *sender,
                                         struct pricer_fault *fault)
{
    struct pri_release release;
    enum pricer_status status = pri_release_sphere(
        dimension, radius, node->threshold, node->loss, &release, fault);
    return status == PRICER_OK
               ? pri_sampler_new(&release, &sender->sampler, fault)
               : status;
}

static enum pricer_status prepare_gaussian(
    const struct pricer_forward_node *node, double radius, int64_t dimension,
    struct pricer_forward_sender *sender, struct pricer_fault *fault)
{
    sender->share = whole_share(node);
    sender->slice = (struct pricer_slice){
        .nodes = 1, .dimension = dimension, .radius = radius};
    sender->message = pri_alloc(dimension, sizeof *sender->message);
    if (sender->message == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    return choose_grid(node, radius, &sender->slice.grid, fault);
}

/* What both sides ask of a node's part of a plan. */
static enum pricer_status check(const struct pricer_forward_node *node,
                                double radius, int64_t dimension,
                                struct pricer_fault *fault)
{
    if (node->release != PRICER_RELEASE_SPHERE &&
        node->release != PRICER_RELEASE_GAUSSIAN)
        return pri_fault(fault, PRICER_VALUE,
                         "a release is of kind sphere or gaussian");
    if (!(radius > 0) || isinf(radius) || dimension < 1)
        return pri_fault(fault, PRICER_VALUE,
                         "radius = %g and dimension = %lld are not both "
                         "positive",
                         radius, (long long)dimension);
    return PRICER_OK;
}

enum pricer_status pricer_forward_sender_new(
    const struct pricer_forward_node *node, double radius, int64_t dimension,
    struct pricer_forward_sender **sender, struct pricer_fault *fault)
{
    enum pricer_status status = check(node, radius, dimension, fault);
    if (status != PRICER_OK)
        return status;
    struct pricer_forward_sender *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    made->kind = node->release;
    status = node->release == PRICER_RELEASE_SPHERE
                 ? prepare_sphere(node, radius, dimension, made, fault)
                 : prepare_gaussian(node, radius, dimension, made, fault);
    if (status == PRICER_OK)
        *sender = made;
    else
        pricer_forward_sender_free(made);
    return status;
}

/* The next words of a stream, least significant byte first. */
static bool draw_replayed(void *context, void *bytes, size_t count)
{
    unsigned char *to = bytes;
    uint64_t word = 0;
    for (size_t k = 0; k < count; k++) {
        if (k % 8 == 0)
            word = pri_random_word(context);
        to[k] = (unsigned char)(word >> 8 * (k % 8));
    }
    return true;
}

static enum pricer_status release_sphere(struct pricer_forward_sender *sender,
                                         const double *data,
                                         struct pricer_random *random,
                                         unsigned char *payload,
                                         struct pricer_fault *fault)
{
    const struct pri_entropy replayed = {draw_replayed, random};
    enum pricer_status status = pri_sampler_set(sender->sampler, data, fault);
    if (status != PRICER_OK)
        return status;
    return pri_sampler_draw(sender->sampler,
                            random != NULL ? &replayed : &pri_entropy_kernel,
                            payload, NULL, fault);
}

static enum pricer_status release_gaussian(struct pricer_forward_sender *sender,
                                           const double *data,
                                           struct pricer_random *random,
                                           unsigned char *payload,
                                           struct pricer_fault *fault)
{
    struct pricer_random secret;
    int64_t d = sender->slice.dimension;
    enum pricer_status status =
        random == NULL ? pricer_random_secret(&secret, fault) : PRICER_OK;
    if (status != PRICER_OK)
        return status;
    status = pricer_round_share(&sender->slice, &sender->share, data,
                                random != NULL ? random : &secret,
                                sender->message, fault);
    if (random == NULL)
        pricer_random_wipe(&secret);
    for (int64_t k = 0; k < d && status == PRICER_OK; k++)
        put_number(sender->message[k], payload + k * NUMBER_BYTES);
    /* Before the noise is added, the message is the data. */
    sodium_memzero(sender->message, (size_t)d * sizeof *sender->message);
    return status;
}

enum pricer_status pricer_forward_release(struct pricer_forward_sender *sender,
                                          const double *data,
                                          struct pricer_random *random,
                                          unsigned char *payload,
                                          struct pricer_fault *fault)
{
    return sender->kind == PRICER_RELEASE_SPHERE
               ? release_sphere(sender, data, random, payload, fault)
               : release_gaussian(sender, data, random, payload, fault);
}

/* -------------------------------------------------------------- receiver -- */

/* How a node's payload is read. */
struct reading {
    enum pricer_release kind;
    double factor; /* of a direction, or the step of the grid */
    double count;  /* c / n */
    double limit;  /* of a Gaussian: largest honest value, in steps */
    double length; /* and longest honest payload */
};

struct pricer_forward_receiver {
    int32_t nodes;
    int64_t dimension;
    struct reading *reading; /* [nodes] */
    struct pri_expander *expander;
    double *value; /* [dimension + 1] */
};

void pricer_forward_receiver_free(struct pricer_forward_receiver *receiver)
{
    if (receiver == NULL)
        return;
    pri_expander_free(receiver->expander);
    free(receiver->reading);
    free(receiver->value);
    free(receiver);
}

static enum pricer_status read_gaussian(const struct pricer_forward_node *node,
                                        double radius, int64_t dimension,
                                        struct reading *reading,
                                        struct pricer_fault *fault)
{
    struct pricer_slice slice = {.dimension = dimension, .radius = radius};
    struct pricer_share share = whole_share(node);
    enum pricer_status status = choose_grid(node, radius, &slice.grid, fault);
    if (status != PRICER_OK)
        return status;
    share.noise = pricer_round_noise(&slice, &share);
    reading->factor = ldexp(1, slice.grid.exponent);
    reading->limit = (double)pricer_round_limit(&slice.grid, radius, &share);
    reading->length =
        pricer_round_length(&slice.grid, radius, dimension, &share, 1);
    return PRICER_OK;
}

/* Neighbours in the list often have the same release: *last is the one of the node
 * before. */
static enum pricer_status read_sphere(const struct pricer_forward_node *node,
                                      double radius, int64_t dimension,
                                      struct pri_release *last,
                                      struct reading *reading,
                                      struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    if (last->t != node->threshold || last->e0 != node->loss)
        status = pri_release_sphere(dimension, 1, node->threshold, node->loss,
                                    last, fault);
    if (status == PRICER_OK)
        reading->factor = radius / last->m;
    return status;
}

static enum pricer_status read_nodes(const struct pricer_network *network,
                                     const struct pricer_forward_plan *plan,
                                     struct pricer_forward_receiver *receiver,
                                     struct pricer_fault *fault)
{
    struct pri_release last = {0};
    enum pricer_status status = PRICER_OK;
    int64_t d = network->dimension;
    for (int32_t i = 0; i < plan->nodes && status == PRICER_OK; i++) {
        const struct pricer_forward_node *node = &plan->node[i];
        struct reading *reading = &receiver->reading[i];
        double radius = network->node_radius[i];
        reading->kind = node->release;
        reading->count = node->coefficient / plan->nodes;
        status = check(node, radius, d, fault);
        if (status != PRICER_OK)
            break;
        status = node->release == PRICER_RELEASE_SPHERE
                     ? read_sphere(node, radius, d, &last, reading, fault)
                     : read_gaussian(node, radius, d, reading, fault);
    }
    return status;
}

enum pricer_status pricer_forward_receiver_new(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    struct pricer_forward_receiver **receiver, struct pricer_fault *fault)
{
    if (plan->nodes != network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    struct pricer_forward_receiver *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    made->nodes = plan->nodes;
    made->dimension = network->dimension;
    made->reading = pri_alloc(plan->nodes, sizeof *made->reading);
    made->value = pri_alloc(made->dimension + 1, sizeof *made->value);
    enum pricer_status status =
        made->reading && made->value &&
                pri_expander_new(&made->expander) == PRICER_OK
            ? read_nodes(network, plan, made, fault)
            : pri_fault(fault, PRICER_MEMORY, "out of memory");
    if (status == PRICER_OK)
        *receiver = made;
    else
        pricer_forward_receiver_free(made);
    return status;
}

/* The integers of a Gaussian, as long as an honest node's or refused. */
static enum pricer_status decode_gaussian(const struct reading *reading,
                                          int32_t node, int64_t dimension,
                                          const unsigned char *payload,
                                          double *value,
                                          struct pricer_fault *fault)
{
    double squares = 0, largest = 0;
    for (int64_t k = 0; k < dimension; k++) {
        value[k] = get_number(payload + k * NUMBER_BYTES);
        squares += value[k] * value[k];
        largest = fmax(largest, fabs(value[k]));
    }
    if (largest > reading->limit || sqrt(squares) > reading->length)
        return pri_fault(fault, PRICER_VALUE,
                         "the release of node %d is %.3g long, and no honest "
                         "one is longer than %.3g",
                         (int)node, sqrt(squares) * reading->factor,
                         reading->length * reading->factor);
    for (int64_t k = 0; k < dimension; k++)
        value[k] *= reading->factor;
    return PRICER_OK;
}

enum pricer_status pri_forward_decode(
    const struct pricer_forward_receiver *receiver,
    struct pri_expander *expander, int32_t node, const unsigned char *payload,
    int64_t bytes, double *value, struct pricer_fault *fault)
{
    int64_t d = receiver->dimension;
    if (node < 0 || node >= receiver->nodes)
        return pri_fault(fault, PRICER_VALUE, "there is no node %d", (int)node);
    const struct reading *reading = &receiver->reading[node];
    int64_t expected = pricer_forward_payload(reading->kind, d);
    if (bytes != expected)
        return pri_fault(fault, PRICER_VALUE,
                         "the release of node %d has %lld bytes, not %lld",
                         (int)node, (long long)bytes, (long long)expected);
    if (reading->kind == PRICER_RELEASE_GAUSSIAN)
        return decode_gaussian(reading, node, d, payload, value, fault);
    enum pricer_status status = pri_expand(expander, payload, d + 1, value);
    for (int64_t k = 0; k < d && status == PRICER_OK; k++)
        value[k] *= reading->factor;
    return status == PRICER_OK ? status
                               : pri_fault(fault, status, "out of memory");
}

double pri_forward_factor(const struct pricer_forward_receiver *receiver,
                          int32_t node)
{
    return receiver->reading[node].count;
}

int64_t pri_forward_dimension(const struct pricer_forward_receiver *receiver)
{
    return receiver->dimension;
}

static enum pricer_status decode(struct pricer_forward_receiver *receiver,
                                 int32_t node, const unsigned char *payload,
                                 int64_t bytes, struct pricer_fault *fault)
{
    return pri_forward_decode(receiver, receiver->expander, node, payload,
                              bytes, receiver->value, fault);
}

enum pricer_status pricer_forward_receiver_decode(
    struct pricer_forward_receiver *receiver, int32_t node,
    const unsigned char *payload, int64_t bytes, double *value,
    struct pricer_fault *fault)
{
    enum pricer_status status = decode(receiver, node, payload, bytes, fault);
    if (status == PRICER_OK)
        memcpy(value, receiver->value,
               (size_t)receiver->dimension * sizeof *value);
    return status;
}

enum pricer_status pricer_forward_receiver_add(
    struct pricer_forward_receiver *receiver, int32_t node,
    const unsigned char *payload, int64_t bytes, double *estimate,
    struct pricer_fault *fault)
{
    enum pricer_status status = decode(receiver, node, payload, bytes, fault);
    for (int64_t k = 0; k < receiver->dimension && status == PRICER_OK; k++)
        estimate[k] += receiver->reading[node].count * receiver->value[k];
    return status;
}

/* ------------------------------------------------------------ both sides -- */

/* The payload of a vector, read again. */
static enum pricer_status pass(struct pricer_forward_sender *sender,
                               struct pricer_forward_receiver *receiver,
                               struct pricer_random *random, double *vector)
{
    int64_t bytes = pricer_forward_payload(sender->kind, receiver->dimension);
    unsigned char *payload = pri_alloc(bytes, 1);
    enum pricer_status status =
        payload == NULL
            ? PRICER_MEMORY
            : pricer_forward_release(sender, vector, random, payload, NULL);
    if (status == PRICER_OK) {
        memset(vector, 0, (size_t)receiver->dimension * sizeof *vector);
        status = pricer_forward_receiver_decode(receiver, 0, payload, bytes,
                                                vector, NULL);
        status = status == PRICER_VALUE ? PRICER_OK : status;
    }
    free(payload);
    return status;
}

enum pricer_status pri_forward_pass(const struct pricer_forward_node *node,
                                    double radius, int64_t dimension,
                                    struct pricer_random *random,
                                    double *vector)
{
    struct pricer_forward_node part = *node;
    const struct pricer_network alone = {
        .nodes = 1, .dimension = dimension, .node_radius = &radius};
    const struct pricer_forward_plan plan = {.nodes = 1, .node = &part};
    struct pricer_forward_sender *sender = NULL;
    struct pricer_forward_receiver *receiver = NULL;
    enum pricer_status status =
        pricer_forward_sender_new(&part, radius, dimension, &sender, NULL);
    if (status == PRICER_OK)
        status = pricer_forward_receiver_new(&alone, &plan, &receiver, NULL);
    if (status == PRICER_OK)
        status = pass(sender, receiver, random, vector);
    pricer_forward_sender_free(sender);
    pricer_forward_receiver_free(receiver);
    return status;
}

/* ------------------------------------------------------------- error bar -- */

double pricer_forward_bar(const struct pricer_network *network,
                          const struct pricer_forward_plan *plan,
                          const bool *arrived)
{
    double off = 0, noise = 0, n = plan->nodes;
    for (int32_t i = 0; i < plan->nodes; i++) {
        double c = arrived[i] ? plan->node[i].coefficient : 0;
        off += network->node_radius[i] * fabs(c - 1);
        noise += c * c * plan->node[i].variance;
    }
    return (off * off + noise) / (n * n);
}
