/*
 * Compute every stored round of a mesh again from what its nodes released, bit for
 * bit: mesh_retell STUDY DATA.npy SEED. The nodes ran with --replay-noise, so that a
 * payload follows from seed, round and node; the study says whose arrived, under
 * which plan. Prints the number of rounds, of payloads and of plans.
 */
#include "pricer.h"
#include "pricer_forward.h"
#include "study/study.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct retelling {
    struct pricer_study *study;
    struct pricer_network *network;
    struct pricer_forward_plan *plan;
    struct pricer_forward_receiver *receiver;
    struct pricer_matrix *data;
    uint64_t seed;
    int64_t plan_id, rounds, payloads, plans;
    unsigned char *payload; /* of any node */
    double *vector, *estimate;
};

static enum pricer_status take_plan(struct retelling *tale, int64_t id,
                                    struct pricer_fault *fault)
{
    struct pricer_forward_record record;
    if (tale->plan != NULL && tale->plan_id == id)
        return PRICER_OK;
    pricer_forward_receiver_free(tale->receiver);
    pricer_forward_plan_free(tale->plan);
    tale->receiver = NULL;
    tale->plan = NULL;
    tale->plan_id = id;
    tale->plans++;
    enum pricer_status status =
        pricer_study_forward_plan(tale->study, id, &tale->plan, &record, fault);
    return status != PRICER_OK
               ? status
               : pricer_forward_receiver_new(tale->network, tale->plan,
                                             &tale->receiver, fault);
}

static enum pricer_status add_payload(struct retelling *tale, int64_t round,
                                      int32_t node, struct pricer_fault *fault)
{
    struct pricer_forward_sender *sender = NULL;
    struct pricer_random random;
    const struct pricer_forward_node *one = &tale->plan->node[node];
    enum pricer_status status =
        pricer_forward_sender_new(one, tale->network->node_radius[node],
                                  tale->network->dimension, &sender, fault);
    if (status != PRICER_OK)
        return status;
    pricer_matrix_row(tale->data, node, tale->vector);
    pricer_random_replay(&random, tale->seed, PRICER_PURPOSE_NOISE, round - 1,
                         node, PRICER_SERVER);
    status = pricer_forward_release(sender, tale->vector, &random,
                                    tale->payload, fault);
    pricer_forward_sender_free(sender);
    tale->payloads++;
    return status != PRICER_OK
               ? status
               : pricer_forward_receiver_add(
                     tale->receiver, node, tale->payload,
                     pricer_forward_payload(one->release,
                                            tale->network->dimension),
                     tale->estimate, fault);
}

/* One round; who arrived are the rows of the second query, by ascending node. */
static enum pricer_status retell(struct retelling *tale, sqlite3_stmt *round,
                                 sqlite3_stmt *nodes, bool *same,
                                 struct pricer_fault *fault)
{
    size_t size = 8 * (size_t)tale->network->dimension;
    int64_t number = sqlite3_column_int64(round, 0), before = tale->payloads;
    enum pricer_status status =
        take_plan(tale, sqlite3_column_int64(round, 1), fault);
    memset(tale->estimate, 0, size);
    sqlite3_reset(nodes);
    sqlite3_bind_int64(nodes, 1, number);
    while (status == PRICER_OK && sqlite3_step(nodes) == SQLITE_ROW)
        status = add_payload(tale, number, sqlite3_column_int(nodes, 0), fault);
    *same = sqlite3_column_type(round, 2) == SQLITE_NULL
                ? tale->payloads == before
                : (size_t)sqlite3_column_bytes(round, 2) == size &&
                      memcmp(sqlite3_column_blob(round, 2), tale->estimate,
                             size) == 0;
    tale->rounds++;
    return status;
}

static int retell_all(struct retelling *tale, struct pricer_fault *fault)
{
    sqlite3_stmt *round = NULL, *nodes = NULL;
    bool same = true;
    enum pricer_status status = pri_study_prepare(
        tale->study, "SELECT round, plan, estimate FROM round ORDER BY round",
        &round, fault);
    if (status == PRICER_OK)
        status = pri_study_prepare(tale->study,
                                   "SELECT node FROM round_arrival WHERE round "
                                   "= ? ORDER BY node",
                                   &nodes, fault);
    while (status == PRICER_OK && same && sqlite3_step(round) == SQLITE_ROW) {
        status = retell(tale, round, nodes, &same, fault);
        if (!same)
            printf("round %lld is not what its payloads add up to\n",
                   (long long)sqlite3_column_int64(round, 0));
    }
    sqlite3_finalize(round);
    sqlite3_finalize(nodes);
    if (status != PRICER_OK)
        printf("%s\n", fault->text);
    return status == PRICER_OK && same ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct retelling tale = {0};
    struct pricer_fault fault = {""};
    int result = 1;
    if (argc != 4)
        return 2;
    tale.seed = strtoull(argv[3], NULL, 10);
    if (pricer_study_open(argv[1], false, &tale.study, &fault) == PRICER_OK &&
        pricer_study_network(tale.study, &tale.network, &fault) == PRICER_OK &&
        pricer_matrix_read(argv[2], &tale.data, &fault) == PRICER_OK) {
        size_t d = (size_t)tale.network->dimension;
        tale.vector = calloc(d, sizeof *tale.vector);
        tale.estimate = calloc(d, sizeof *tale.estimate);
        tale.payload = malloc(8 * d + 64);
        result = retell_all(&tale, &fault);
    } else {
        printf("%s\n", fault.text);
    }
    if (result == 0)
        printf("%" PRId64 " rounds of %" PRId64 " plans equal their %" PRId64
               " payloads bit for bit\n",
               tale.rounds, tale.plans, tale.payloads);
    pricer_forward_receiver_free(tale.receiver);
    pricer_forward_plan_free(tale.plan);
    pricer_network_free(tale.network);
    pricer_matrix_free(tale.data);
    pricer_study_close(tale.study);
    free(tale.payload);
    free(tale.vector);
    free(tale.estimate);
    return result;
}
