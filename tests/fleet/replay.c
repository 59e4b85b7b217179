/*
 * Compare the rounds that a fleet stored in a study with the faithful
 * simulator, bit for bit: fleet_replay STUDY DATA.npy SEED ROUNDS [DECODER].
 * Round r is trial r - 1; the study must hold exactly ROUNDS of them, decoded
 * by the plan's decoder where one is named, with the same bars. Where releases
 * are forwarded, they are the first walk's.
 */
#include "pricer_decode.h"
#include "pricer_forward.h"
#include "pricer_reference.h"
#include "simulate/simulate.h"
#include "study/study.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct replay {
    struct pricer_study *study;
    struct pricer_network *network;
    struct pricer_plan *plan;
    struct pricer_forward_plan *forward; /* or of this */
    struct pricer_decoder *decoder;
    int decode;
    struct pricer_matrix *given;
    struct pricer_grid grid;
    struct pri_data data;
    struct pri_job job;
    struct pri_faithful *faithful;
    struct pri_tally tally;
    int64_t *sum;
    double *mean, *estimate, bar;
};

/* A plan of forwarding. */
static enum pricer_status load_forward(struct replay *replay, const char *data,
                                       uint64_t seed,
                                       struct pricer_fault *fault)
{
    replay->job.seed = seed;
    enum pricer_status status =
        pricer_study_network(replay->study, &replay->network, fault);
    if (status == PRICER_OK)
        status = pricer_study_forward_plan(replay->study, 0, &replay->forward,
                                           NULL, fault);
    if (status == PRICER_OK)
        status = pricer_matrix_read(data, &replay->given, fault);
    return status;
}

static enum pricer_status load(struct replay *replay, const char *study,
                               const char *data, uint64_t seed,
                               struct pricer_fault *fault)
{
    struct pricer_simulation_settings settings = {.data = PRICER_DATA_GIVEN};
    enum pricer_scheme scheme = PRICER_SCHEME_SUM;
    enum pricer_status status =
        pricer_study_open(study, false, &replay->study, fault);
    if (status == PRICER_OK)
        status = pricer_study_scheme(replay->study, &scheme, fault);
    if (status == PRICER_OK && scheme == PRICER_SCHEME_FORWARD)
        return load_forward(replay, data, seed, fault);
    if (status == PRICER_OK)
        status = pricer_study_plan(replay->study, 0, &replay->network,
                                   &replay->plan, NULL, fault);
    if (status == PRICER_OK && replay->decode != PRICER_DECODE_CONSTANT)
        status = pricer_study_decoder(replay->study, 1, replay->network,
                                      &replay->decoder, fault);
    if (status == PRICER_OK)
        status = pricer_matrix_read(data, &replay->given, fault);
    settings.given = replay->given;
    if (status == PRICER_OK)
        status =
            pri_data_make(replay->network, &settings, &replay->data, fault);
    if (status == PRICER_OK)
        status = pricer_grid_choose(replay->network, replay->plan,
                                    &replay->grid, fault);
    replay->job = (struct pri_job){
        .network = replay->network,
        .plans = (const struct pricer_plan *const *)&replay->plan,
        .count = 1,
        .seed = seed,
        .data = &replay->data,
        .grids = &replay->grid,
        .decoder = replay->decoder,
        .decode = (enum pricer_decode)replay->decode,
    };
    return status;
}

static enum pricer_status make_room(struct replay *replay)
{
    int64_t d = replay->network->dimension;
    replay->tally = (struct pri_tally){
        .uplink = pri_alloc(replay->network->nodes, sizeof(uint32_t)),
        .link = pri_alloc(replay->network->links, sizeof(uint32_t)),
        .both = pri_alloc(replay->network->links, sizeof(uint32_t)),
        .used = pri_alloc(replay->network->links, sizeof(uint32_t)),
        .total = pri_alloc(d, sizeof(pri_total))};
    replay->sum = pri_alloc(d, sizeof *replay->sum);
    replay->mean = pri_alloc(d, sizeof *replay->mean);
    replay->estimate = pri_alloc(d, sizeof *replay->estimate);
    replay->job.mean = replay->mean;
    return pri_faithful_new(&replay->job, &replay->faithful);
}

/* What the simulator estimates in one trial, from its sums. */
static enum pricer_status play(struct replay *replay, int64_t trial,
                               struct pricer_fault *fault)
{
    int64_t d = replay->network->dimension;
    double errors[2 * PRI_ROUNDS];
    memset(replay->tally.total, 0, (size_t)d * sizeof *replay->tally.total);
    enum pricer_status status = pri_faithful_play(
        replay->faithful, trial, 1, &replay->tally, errors, fault);
    replay->bar = errors[PRI_ROUNDS];
    for (int64_t k = 0; k < d; k++)
        replay->sum[k] = (int64_t)replay->tally.total[k];
    if (replay->decoder != NULL)
        memcpy(replay->estimate, pri_faithful_estimate(replay->faithful),
               (size_t)d * sizeof *replay->estimate);
    else
        pricer_round_estimate(&replay->grid, replay->network->nodes,
                              replay->sum, d, replay->estimate);
    return status;
}

/* No estimate where the simulator has nothing either. */
static bool is_empty(const struct replay *replay)
{
    for (int64_t k = 0; k < replay->network->dimension; k++)
        if (replay->sum[k] != 0)
            return false;
    return true;
}

/* What the study holds is what the simulator has just estimated. */
static bool is_same(const struct replay *replay, sqlite3_stmt *query)
{
    size_t size = 8 * (size_t)replay->network->dimension;
    if (sqlite3_column_type(query, 1) == SQLITE_NULL)
        return is_empty(replay);
    if (replay->decoder != NULL &&
        sqlite3_column_double(query, 2) != replay->bar)
        return false;
    return (size_t)sqlite3_column_bytes(query, 1) == size &&
           memcmp(sqlite3_column_blob(query, 1), replay->estimate, size) == 0;
}

static int compare(struct replay *replay, int64_t rounds,
                   struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int64_t round = 0;
    sqlite3_prepare_v2(replay->study->database,
                       "SELECT round, estimate, bar FROM round ORDER BY round",
                       -1, &query, NULL);
    while (sqlite3_step(query) == SQLITE_ROW) {
        round++;
        if (sqlite3_column_int64(query, 0) != round ||
            play(replay, round - 1, fault) != PRICER_OK ||
            !is_same(replay, query)) {
            printf("round %" PRId64 " differs from the simulator %s\n", round,
                   fault->text);
            sqlite3_finalize(query);
            return 1;
        }
    }
    sqlite3_finalize(query);
    printf("%" PRId64 " rounds equal the simulator bit for bit\n", round);
    return round == rounds ? 0 : 1;
}

/* The rounds of the study are those of a walk. */
static int compare_walk(struct replay *replay, const struct pricer_walk *walk)
{
    sqlite3_stmt *query = NULL;
    int64_t d = walk->dimension, t = 0, made = 0;
    bool same = true;
    sqlite3_prepare_v2(replay->study->database,
                       "SELECT round, estimate FROM round ORDER BY round", -1,
                       &query, NULL);
    for (; same && sqlite3_step(query) == SQLITE_ROW; t++) {
        size_t size = (size_t)sqlite3_column_bytes(query, 1);
        same = t < walk->rounds && sqlite3_column_int64(query, 0) == t + 1 &&
               size == (walk->made[t] ? 8 * (size_t)d : 0) &&
               (size == 0 || memcmp(sqlite3_column_blob(query, 1),
                                    walk->estimate + t * d, size) == 0);
        made += size > 0;
    }
    sqlite3_finalize(query);
    printf("%" PRId64 " rounds, %" PRId64 " with an estimate, %s the walk\n", t,
           made, same ? "equal" : "the last of which differs from");
    return same && t == walk->rounds ? 0 : 1;
}

/* Rounds of a plan of forwarding. */
static int replay_walk(struct replay *replay, int64_t rounds,
                       struct pricer_fault *fault)
{
    const struct pricer_simulation_settings settings = {
        .trials = 1,
        .seed = replay->job.seed,
        .data = PRICER_DATA_GIVEN,
        .given = replay->given,
    };
    struct pricer_walk *walk = NULL;
    enum pricer_status status = pricer_forward_walk(
        replay->network, replay->forward, &settings, rounds, &walk, fault);
    if (status != PRICER_OK) {
        printf("%s\n", fault->text);
        return 1;
    }
    int result = compare_walk(replay, walk);
    pricer_walk_free(walk);
    return result;
}

int main(int argc, char **argv)
{
    struct replay replay = {0};
    struct pricer_fault fault = {""};
    if (argc != 5 && argc != 6)
        return 2;
    replay.decode = argc == 5 ? PRICER_DECODE_CONSTANT
                              : pricer_word_find(PRICER_WORDS_DECODE, argv[5]);
    enum pricer_status status =
        load(&replay, argv[1], argv[2], strtoull(argv[3], NULL, 10), &fault);
    if (status == PRICER_OK && replay.forward == NULL)
        status = make_room(&replay);
    int result = 1;
    if (status == PRICER_OK && replay.forward != NULL)
        result = replay_walk(&replay, strtoll(argv[4], NULL, 10), &fault);
    else if (status == PRICER_OK)
        result = compare(&replay, strtoll(argv[4], NULL, 10), &fault);
    else
        printf("%s\n", fault.text);
    pri_faithful_free(replay.faithful);
    pri_data_free(&replay.data);
    free(replay.tally.uplink);
    free(replay.tally.link);
    free(replay.tally.both);
    free(replay.tally.used);
    free(replay.tally.total);
    free(replay.sum);
    free(replay.mean);
    free(replay.estimate);
    pricer_matrix_free(replay.given);
    pricer_decoder_free(replay.decoder);
    pricer_plan_free(replay.plan);
    pricer_forward_plan_free(replay.forward);
    pricer_network_free(replay.network);
    pricer_study_close(replay.study);
    return result;
}
