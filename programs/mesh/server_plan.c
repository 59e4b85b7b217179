/*
 * From the study's latest plan to how releases are counted, and to the bytes that
 * announce it: every release that the plan has, once, and which of them is each
 * node's.
 */
#include "server.h"
#include "common/meaning.h"
#include "common/program.h"
#include "release/release.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

void mesh_counting_free(struct mesh_counting *counting)
{
    pri_forward_sum_free(counting->sum);
    free(counting->block);
    free(counting->arrived);
    pricer_forward_receiver_free(counting->receiver);
    pricer_forward_plan_free(counting->plan);
    pricer_network_free(counting->network);
    wire_free(&counting->bytes);
    *counting = (struct mesh_counting){0};
}

/* A node's release, with nothing in between that could differ. */
static void describe(const struct pricer_network *network,
                     const struct pricer_forward_node *node, int32_t i,
                     struct mesh_release *release)
{
    bool sphere = node->release == PRICER_RELEASE_SPHERE;
    memset(release, 0, sizeof *release);
    release->kind = sphere ? PRI_RELEASE_SPHERE : PRI_RELEASE_GAUSSIAN;
    release->radius = network->node_radius[i];
    release->t = sphere ? node->threshold : 0;
    release->e0 = sphere ? node->loss : 0;
    release->noise = sphere ? 0 : node->noise;
    release->eps = network->everyone_eps[i];
    release->delta = network->everyone_delta[i];
}

/* The releases, each once; O(nodes rows), and most plans have few rows. */
static bool write_plan(struct mesh_counting *counting,
                       const struct pricer_forward_record *record)
{
    const struct pricer_network *network = counting->network;
    struct mesh_plan plan = {
        .plan = counting->id,
        .made = record->made,
        .nodes = network->nodes,
        .dimension = network->dimension,
        .rounds = record->settings.rounds > 0 ? record->settings.rounds : 1,
        .repeat = counting->repeat,
        .hops = counting->plan->hops,
        .reach = network->reach};
    size_t nodes = (size_t)network->nodes;
    struct mesh_release *rows = calloc(nodes, sizeof *rows);
    uint16_t *of = calloc(nodes, sizeof *of);
    bool good = rows != NULL && of != NULL;
    for (int32_t i = 0; good && i < network->nodes; i++) {
        struct mesh_release one;
        describe(network, &counting->plan->node[i], i, &one);
        int32_t k = plan.count - 1;
        while (k >= 0 && memcmp(&rows[k], &one, sizeof one) != 0)
            k--;
        if (k < 0 && plan.count == MESH_ROWS)
            good = false;
        else if (k < 0)
            memcpy(&rows[k = plan.count++], &one, sizeof one);
        of[i] = (uint16_t)k;
    }
    good = good && mesh_write_plan(&counting->bytes, &plan, rows, of);
    free(rows);
    free(of);
    return good;
}

/* The longest payload of any node. */
static size_t find_longest(const struct mesh_counting *counting)
{
    int64_t longest = 0;
    for (int32_t i = 0; i < counting->network->nodes; i++) {
        int64_t size = pricer_forward_payload(counting->plan->node[i].release,
                                              counting->network->dimension);
        longest = size > longest ? size : longest;
    }
    return (size_t)longest;
}

enum pricer_status mesh_counting_latest(struct pricer_study *study, int64_t *id,
                                        struct pricer_fault *fault)
{
    struct pricer_forward_plan *plan = NULL;
    struct pricer_forward_record record;
    enum pricer_status status =
        pricer_study_forward_plan(study, 0, &plan, &record, fault);
    pricer_forward_plan_free(plan);
    if (status == PRICER_OK)
        *id = record.id;
    return status;
}

/* What adds up a round; a small one is not divided among threads. */
static enum pricer_status prepare_sum(struct mesh_counting *counting,
                                      int64_t threads)
{
    int32_t nodes = counting->network->nodes;
    int64_t work = nodes * counting->network->dimension;
    enum pricer_status status = pri_forward_sum_new(
        counting->receiver, nodes, pri_threads((int32_t)threads, work),
        &counting->sum);
    if (status != PRICER_OK)
        return status;
    counting->block = calloc((size_t)pri_forward_sum_block(counting->sum),
                             sizeof *counting->block);
    counting->arrived = calloc((size_t)nodes, sizeof *counting->arrived);
    return counting->block != NULL && counting->arrived != NULL ? PRICER_OK
                                                                : PRICER_MEMORY;
}

enum pricer_status mesh_counting_load(struct mesh_counting *counting,
                                      struct pricer_study *study,
                                      int64_t threads,
                                      struct pricer_fault *fault)
{
    struct mesh_counting made = {.repeat = 1};
    struct pricer_forward_record record;
    enum pricer_status status =
        pricer_study_network(study, &made.network, fault);
    if (status == PRICER_OK)
        status =
            pricer_study_forward_plan(study, 0, &made.plan, &record, fault);
    if (status == PRICER_OK)
        status = meaning_refuse_near(made.network, made.plan, fault);
    if (status == PRICER_OK)
        status = pricer_forward_receiver_new(made.network, made.plan,
                                             &made.receiver, fault);
    if (status == PRICER_OK)
        status = prepare_sum(&made, threads);
    if (status == PRICER_OK) {
        made.repeat = made.plan->repeat > 1 ? made.plan->repeat : 1;
        made.id = record.id;
        made.longest = find_longest(&made);
        if (!write_plan(&made, &record))
            status = daemon_fault(fault, PRICER_MEMORY,
                                  "no memory for the plan, or its releases are "
                                  "of more than %d kinds",
                                  MESH_ROWS);
    }
    if (status != PRICER_OK) {
        mesh_counting_free(&made);
        return status;
    }
    crypto_generichash(made.digest, WIRE_DIGEST,
                       (const uint8_t *)made.bytes.data, made.bytes.size, NULL,
                       0);
    mesh_counting_free(counting);
    *counting = made;
    return PRICER_OK;
}
