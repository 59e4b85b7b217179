/*
 * Tell every stored round of a fleet again from what its nodes released, bit for
 * bit: fleet_retell STUDY DATA.npy SEED. The nodes ran with --replay-noise, so that
 * a payload follows from seed, round, sender and receiver; the study says which
 * payloads are in the sums that arrived, under which plan. Prints the number of
 * rounds, of payloads and of plans.
 */
#include "pricer.h"
#include "study/study.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct retelling {
    struct pricer_study *study;
    struct pricer_network *network;
    struct pricer_plan *plan;
    struct pricer_matrix *data;
    struct pricer_grid grid;
    struct pricer_slice **slices; /* [nodes], made when they are needed */
    uint64_t seed;
    int64_t plan_id, rounds, payloads, plans;
    int64_t contributions; /* payloads with data */
    int64_t *message, *sum;
    double *vector, *estimate;
};

static void forget_plan(struct retelling *tale)
{
    for (int32_t i = 0; tale->slices != NULL && i < tale->network->nodes; i++)
        pricer_slice_free(tale->slices[i]);
    free(tale->slices);
    free(tale->message);
    free(tale->sum);
    free(tale->vector);
    free(tale->estimate);
    pricer_plan_free(tale->plan);
    pricer_network_free(tale->network);
    tale->slices = NULL;
    tale->plan = NULL;
    tale->network = NULL;
    tale->message = tale->sum = NULL;
    tale->vector = tale->estimate = NULL;
}

static enum pricer_status take_plan(struct retelling *tale, int64_t id,
                                    struct pricer_fault *fault)
{
    if (tale->plan != NULL && tale->plan_id == id)
        return PRICER_OK;
    forget_plan(tale);
    tale->plan_id = id;
    tale->plans++;
    enum pricer_status status = pricer_study_plan(
        tale->study, id, &tale->network, &tale->plan, NULL, fault);
    if (status == PRICER_OK)
        status =
            pricer_grid_choose(tale->network, tale->plan, &tale->grid, fault);
    if (status != PRICER_OK)
        return status;
    size_t d = (size_t)tale->network->dimension;
    tale->slices = calloc((size_t)tale->network->nodes, sizeof *tale->slices);
    tale->message = calloc(d, sizeof *tale->message);
    tale->sum = calloc(d, sizeof *tale->sum);
    tale->vector = calloc(d, sizeof *tale->vector);
    tale->estimate = calloc(d, sizeof *tale->estimate);
    return PRICER_OK;
}

/* What a node sent in a round to a receiver, itself for its own part, of which the
 * noise is there if it is withheld; a share that the plan does not have was a
 * probe. */
static enum pricer_status add_payload(struct retelling *tale, int64_t round,
                                      int32_t from, int32_t to, bool withheld,
                                      struct pricer_fault *fault)
{
    struct pricer_random random;
    struct pricer_slice **slice = &tale->slices[from];
    enum pricer_status status = PRICER_OK;
    if (*slice == NULL)
        status = pricer_slice_build(tale->network, tale->plan, &tale->grid,
                                    from, slice, fault);
    for (int32_t k = 0; status == PRICER_OK && k < (*slice)->count; k++) {
        struct pricer_share share = (*slice)->shares[k];
        if (share.to != to || (withheld && share.noise == 0))
            continue;
        if (withheld)
            share.weight = 0;
        tale->contributions += !withheld;
        pricer_matrix_row(tale->data, from, tale->vector);
        pricer_random_replay(&random, tale->seed, PRICER_PURPOSE_NOISE,
                             round - 1, from, to);
        status = pricer_round_share(*slice, &share, tale->vector, &random,
                                    tale->message, fault);
        if (status != PRICER_OK)
            return status;
        tale->payloads++;
        return pricer_round_add(&tale->grid, 1, tale->message,
                                tale->network->dimension, tale->sum, fault);
    }
    return status;
}

/* One round with all its parts, which are the rows of the second query. */
static enum pricer_status retell(struct retelling *tale, sqlite3_stmt *round,
                                 sqlite3_stmt *parts, bool *same,
                                 struct pricer_fault *fault)
{
    int64_t number = sqlite3_column_int64(round, 0);
    enum pricer_status status =
        take_plan(tale, sqlite3_column_int64(round, 1), fault);
    if (status != PRICER_OK)
        return status;
    size_t size = 8 * (size_t)tale->network->dimension;
    memset(tale->sum, 0, size);
    sqlite3_reset(parts);
    sqlite3_bind_int64(parts, 1, number);
    int64_t before = tale->contributions;
    while (status == PRICER_OK && sqlite3_step(parts) == SQLITE_ROW)
        status = add_payload(tale, number, sqlite3_column_int(parts, 0),
                             sqlite3_column_int(parts, 1),
                             sqlite3_column_int(parts, 2) != 0, fault);
    pricer_round_estimate(&tale->grid, tale->network->nodes, tale->sum,
                          tale->network->dimension, tale->estimate);
    if (sqlite3_column_type(round, 2) == SQLITE_NULL)
        *same = tale->contributions == before;
    else
        *same =
            (size_t)sqlite3_column_bytes(round, 2) == size &&
            memcmp(sqlite3_column_blob(round, 2), tale->estimate, size) == 0;
    tale->rounds++;
    return status;
}

static int retell_all(struct retelling *tale, struct pricer_fault *fault)
{
    sqlite3_stmt *round = NULL, *parts = NULL;
    bool same = true;
    enum pricer_status status = pri_study_prepare(
        tale->study, "SELECT round, plan, estimate FROM round ORDER BY round",
        &round, fault);
    if (status == PRICER_OK)
        status = pri_study_prepare(
            tale->study,
            "SELECT node, node, node IN (SELECT node FROM withheld WHERE"
            " round = ?1 AND link = -1) FROM arrival WHERE round = ?1 AND"
            " arrived UNION ALL "
            "SELECT from_node, to_node, 0 FROM delivery NATURAL JOIN link WHERE"
            " round = ?1 AND arrived AND link NOT IN (SELECT link FROM"
            " withheld WHERE round = ?1)",
            &parts, fault);
    while (status == PRICER_OK && same && sqlite3_step(round) == SQLITE_ROW) {
        status = retell(tale, round, parts, &same, fault);
        if (!same)
            printf("round %lld is not what its payloads add up to\n",
                   (long long)sqlite3_column_int64(round, 0));
    }
    sqlite3_finalize(round);
    sqlite3_finalize(parts);
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
        pricer_matrix_read(argv[2], &tale.data, &fault) == PRICER_OK)
        result = retell_all(&tale, &fault);
    else
        printf("%s\n", fault.text);
    if (result == 0)
        printf("%" PRId64 " rounds of %" PRId64 " plans equal their %" PRId64
               " payloads bit for bit\n",
               tale.rounds, tale.plans, tale.payloads);
    forget_plan(&tale);
    pricer_matrix_free(tale.data);
    pricer_study_close(tale.study);
    return result;
}
