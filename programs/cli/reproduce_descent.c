/*
 * From a random start to a plan, step by step, as the paper plans.
 *
 * Weight a and noise s of every link and of every node's own part are the
 * variables, kept as one list: the links, then the nodes, whose own part is a
 * link to themselves with p = 1. With w = p_j p_ij, C_j = sum_i p_ij a_ij,
 * b_i = sum_j w_ij a_ij - 1 and B = sum_i b_i the objective
 *
 *     (R^2 / n^2) (V + B^2) + (d / n^2) sum w s^2 + lambda sum_i |b_i|
 *
 * has the derivatives
 *
 *     by a_ij   (2 R^2 / n^2) (w (1 - p_ij) a + p_j (1 - p_j) p_ij C_j
 *               + p_i p_j (E_ij - p_ij p_ji) a_ji + B w) + lambda w sign(b_i)
 *     by s_ij   (2 d / n^2) w s.
 *
 * Each pair is then projected onto its cone s >= slope a, a >= 0. Adam scales
 * both by running means of the derivative and of its square, as its inventors
 * print it (0.9, 0.999, 1e-8).
 */
#include "reproduce_descent.h"

#include <math.h>
#include <stdlib.h>

/* One variable pair of the list. */
struct pair {
    int32_t from, to;
    double p, slope;
    double weight, noise;       /* the variables */
    double by_weight, by_noise; /* derivatives */
    double mean[2], square[2];  /* of Adam */
    double covariance;          /* p_i p_j (E_ij - p_ij p_ji) */
    int32_t partner;            /* the pair to -> from, or -1 */
};

struct room {
    struct pair *pairs;
    int32_t count;
    double *load, *bias; /* [nodes] C_j and b_i */
    struct pricer_plan *plan;
};

/* The paper's noise for weight 1. */
static double slope_of(const struct pricer_network *network, double eps,
                       double delta)
{
    return 2 * network->radius * sqrt(2 * log(1.25 / delta)) / eps;
}

static void fill_pairs(const struct descent *descent, struct room *room)
{
    const struct pricer_network *net = descent->network;
    struct pricer_random random;
    for (int32_t l = 0; l < net->links; l++) {
        struct pair pair = {.from = net->from[l],
                            .to = net->to[l],
                            .p = net->p[l],
                            .slope = slope_of(net, net->eps[l], net->delta[l]),
                            .partner = net->partner[l]};
        if (pair.partner >= 0)
            pair.covariance =
                net->uplink[pair.from] * net->uplink[pair.to] *
                (net->joint[l] - net->p[l] * net->p[pair.partner]);
        room->pairs[l] = pair;
    }
    for (int32_t i = 0; i < net->nodes; i++)
        room->pairs[net->links + i] = (struct pair){
            .from = i,
            .to = i,
            .p = 1,
            .slope = slope_of(net, net->self_eps[i], net->self_delta[i]),
            .partner = -1};
    pricer_random_replay(&random, 1, PRICER_PURPOSE_STARTS, descent->start, 0,
                         0);
    for (int32_t k = 0; k < room->count; k++) {
        /* The stream has the nodes' words first. */
        int32_t at = k < net->nodes ? net->links + k : k - net->nodes;
        struct pair *pair = &room->pairs[at];
        pair->weight = (double)(pricer_random_word(&random) >> 11) * 0x1p-53;
        pair->noise = pair->slope * pair->weight;
    }
}

static void differentiate(const struct descent *descent, struct room *room)
{
    const struct pricer_network *net = descent->network;
    double n2 = (double)net->nodes * net->nodes, total = 0;
    double scale = 2 * net->radius * net->radius / n2;
    for (int32_t i = 0; i < net->nodes; i++) {
        room->load[i] = 0;
        room->bias[i] = -1;
    }
    for (int32_t k = 0; k < room->count; k++) {
        const struct pair *pair = &room->pairs[k];
        room->load[pair->to] += pair->p * pair->weight;
        room->bias[pair->from] +=
            net->uplink[pair->to] * pair->p * pair->weight;
    }
    for (int32_t i = 0; i < net->nodes; i++)
        total += room->bias[i];
    for (int32_t k = 0; k < room->count; k++) {
        struct pair *pair = &room->pairs[k];
        double q = net->uplink[pair->to], w = q * pair->p;
        double back =
            pair->partner >= 0 ? room->pairs[pair->partner].weight : 0;
        double sign =
            (room->bias[pair->from] > 0) - (room->bias[pair->from] < 0);
        pair->by_weight =
            scale * (w * (1 - pair->p) * pair->weight +
                     q * (1 - q) * pair->p * room->load[pair->to] +
                     pair->covariance * back + total * w) +
            descent->lambda * w * sign;
        pair->by_noise = 2 * (double)net->dimension / n2 * w * pair->noise;
    }
}

static void project(struct pair *pair)
{
    if (pair->noise >= 0 && pair->weight < 0) {
        pair->weight = 0;
    } else if (pair->noise < pair->slope * pair->weight || pair->noise < 0) {
        double foot = (pair->weight + pair->slope * pair->noise) /
                      (1 + pair->slope * pair->slope);
        pair->weight = fmax(foot, 0);
        pair->noise = pair->slope * pair->weight;
    }
}

/* One of the two variables of a pair by Adam, in iteration t from 1. */
static double adam_step(const struct descent *descent, int64_t t, double by,
                        double *mean, double *square)
{
    *mean = 0.9 * *mean + 0.1 * by;
    *square = 0.999 * *square + 0.001 * by * by;
    double first = *mean / (1 - pow(0.9, (double)t));
    double second = *square / (1 - pow(0.999, (double)t));
    return descent->step * first / (sqrt(second) + 1e-8);
}

static void move(const struct descent *descent, int64_t t, struct room *room)
{
    for (int32_t k = 0; k < room->count; k++) {
        struct pair *pair = &room->pairs[k];
        double weight = descent->step * pair->by_weight;
        double noise = descent->step * pair->by_noise;
        if (descent->adam) {
            weight = adam_step(descent, t, pair->by_weight, &pair->mean[0],
                               &pair->square[0]);
            noise = adam_step(descent, t, pair->by_noise, &pair->mean[1],
                              &pair->square[1]);
        }
        pair->weight -= weight;
        pair->noise -= noise;
        project(pair);
    }
}

static enum pricer_status visit(const struct descent *descent, int32_t k,
                                struct room *room)
{
    const struct pricer_network *net = descent->network;
    for (int32_t l = 0; l < net->links; l++) {
        room->plan->weight[l] = room->pairs[l].weight;
        room->plan->noise[l] = room->pairs[l].noise;
    }
    for (int32_t i = 0; i < net->nodes; i++) {
        room->plan->self_weight[i] = room->pairs[net->links + i].weight;
        room->plan->self_noise[i] = room->pairs[net->links + i].noise;
    }
    return descent->visit(descent->context, k, room->plan);
}

enum pricer_status descent_run(const struct descent *descent,
                               struct pricer_fault *fault)
{
    const struct pricer_network *net = descent->network;
    struct room room = {.count = net->links + net->nodes};
    room.pairs = calloc((size_t)room.count, sizeof *room.pairs);
    room.load = calloc((size_t)net->nodes, sizeof *room.load);
    room.bias = calloc((size_t)net->nodes, sizeof *room.bias);
    enum pricer_status status = PRICER_MEMORY;
    if (room.pairs == NULL || room.load == NULL || room.bias == NULL)
        goto done;
    status = pricer_plan_new(net, &room.plan, fault);
    if (status != PRICER_OK)
        goto done;
    fill_pairs(descent, &room);
    int64_t iteration = 0;
    for (int32_t k = 0; k < descent->visit_count && status == PRICER_OK; k++) {
        while (iteration < descent->visits[k]) {
            differentiate(descent, &room);
            move(descent, ++iteration, &room);
        }
        status = visit(descent, k, &room);
    }
done:
    pricer_plan_free(room.plan);
    free(room.pairs);
    free(room.load);
    free(room.bias);
    return status;
}
