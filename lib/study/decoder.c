/*
 * The decoder of a plan, into a study and out of it.
 */
#include "study.h"
#include "decode/decode.h"

#include <endian.h>
#include <math.h>
#include <string.h>

/* Of any decoder that is fitted. */
enum { MOST_RANK = 32 };

/* ----------------------------------------------------------------- store -- */

static enum pricer_status store_summary(const struct pricer_study *study,
                                        int64_t plan,
                                        const struct pricer_decoder *decoder,
                                        struct pricer_fault *fault)
{
    const double numbers[] = {
        decoder->blend,        decoder->unbiased ? INFINITY : 1,
        decoder->constant,     decoder->lower,
        decoder->reached,      decoder->upper,
        decoder->lower_stderr, decoder->upper_stderr};
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO decoder (plan, rank, blind, patterns, exact, blend,"
        " horizon, constant, lower, reached, upper, lower_stderr,"
        " upper_stderr, attempts)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        &insert, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(insert, 1, plan);
    sqlite3_bind_int(insert, 2, decoder->rank);
    sqlite3_bind_int(insert, 3, decoder->blind);
    sqlite3_bind_int64(insert, 4, decoder->patterns);
    sqlite3_bind_int(insert, 5, decoder->exact);
    for (int k = 0; k < (int)(sizeof numbers / sizeof *numbers); k++)
        pri_study_bind(insert, 6 + k, numbers[k]);
    status = pri_study_step(study, insert, fault);
    sqlite3_finalize(insert);
    return status;
}

/* Doubles to little-endian bytes, and back: the same both ways. */
static void turn(const double *from, int32_t count, double *to)
{
    for (int32_t c = 0; c < count; c++) {
        uint64_t bits;
        memcpy(&bits, &from[c], sizeof bits);
        bits = htole64(bits);
        memcpy(&to[c], &bits, sizeof bits);
    }
}

static enum pricer_status store_nodes(const struct pricer_study *study,
                                      int64_t plan,
                                      const struct pricer_decoder *decoder,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    int32_t rank = decoder->rank;
    double shared[MOST_RANK];
    enum pricer_status status = pri_study_prepare(
        study, "INSERT INTO decoder_node VALUES (?, ?, ?, ?, ?, ?)", &insert,
        fault);
    for (int32_t i = 0; i < decoder->nodes && status == PRICER_OK; i++) {
        turn(decoder->shared + (int64_t)i * rank, rank, shared);
        sqlite3_bind_int64(insert, 1, plan);
        sqlite3_bind_int(insert, 2, i);
        pri_study_bind(insert, 3, decoder->own[i]);
        pri_study_bind(insert, 4, decoder->target[i]);
        pri_study_bind(insert, 5, decoder->cap[i]);
        sqlite3_bind_blob(insert, 6, shared, rank * (int)sizeof *shared,
                          SQLITE_STATIC);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pri_study_add_decoder(const struct pricer_study *study,
                                         int64_t plan,
                                         const struct pricer_decoder *decoder,
                                         struct pricer_fault *fault)
{
    if (decoder->rank < 1 || decoder->rank > MOST_RANK)
        return pri_fault(fault, PRICER_VALUE, "a decoder of rank %d is none",
                         (int)decoder->rank);
    enum pricer_status status = store_summary(study, plan, decoder, fault);
    return status == PRICER_OK ? store_nodes(study, plan, decoder, fault)
                               : status;
}

/* ------------------------------------------------------------------ load -- */

/* Whether the numbers of a row are those of a decoder. */
static bool is_sound(sqlite3_stmt *query, const struct pricer_decoder *found)
{
    const double amounts[] = {found->constant,     found->lower,
                              found->reached,      found->upper,
                              found->lower_stderr, found->upper_stderr};
    double horizon = pri_study_column(query, 5); /* 1, or of unbiased ones */
    bool sound = found->blend >= 0 && found->blend <= 1 &&
                 (horizon == 1 || isinf(horizon)) && found->patterns >= 0 &&
                 found->upper <= found->constant;
    for (int c = 0; c < 12; c++)
        sound = sound && pri_study_is_number(query, c);
    for (int k = 0; k < (int)(sizeof amounts / sizeof *amounts); k++)
        sound = sound && pri_is_amount(amounts[k]);
    return sound;
}

/* A decoder of so many nodes with all but their rows; NULL where the plan has
 * none. */
static enum pricer_status load_summary(const struct pricer_study *study,
                                       int64_t plan, int32_t nodes,
                                       struct pricer_decoder **decoder,
                                       struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT rank, blind, patterns, exact, blend, horizon, constant, lower,"
        " reached, upper, lower_stderr, upper_stderr FROM decoder"
        " WHERE plan = ?",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, plan);
    int step = sqlite3_step(query);
    int64_t rank = sqlite3_column_int64(query, 0);
    const struct pricer_decoder found = {
        .blind = sqlite3_column_int(query, 1) != 0,
        .patterns = sqlite3_column_int64(query, 2),
        .exact = sqlite3_column_int(query, 3) != 0,
        .blend = pri_study_column(query, 4),
        .unbiased = isinf(pri_study_column(query, 5)),
        .constant = pri_study_column(query, 6),
        .lower = pri_study_column(query, 7),
        .reached = pri_study_column(query, 8),
        .upper = pri_study_column(query, 9),
        .lower_stderr = pri_study_column(query, 10),
        .upper_stderr = pri_study_column(query, 11)};
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    else if (step == SQLITE_ROW && (rank < 1 || rank > MOST_RANK ||
                                    rank > nodes || !is_sound(query, &found)))
        status = pri_study_damaged(study, "decoder", plan, fault);
    else if (step == SQLITE_ROW)
        status = pricer_decoder_new(nodes, (int32_t)rank, decoder, fault);
    if (status == PRICER_OK && *decoder != NULL) {
        struct pricer_decoder made = **decoder;
        **decoder = found;
        (*decoder)->nodes = made.nodes;
        (*decoder)->rank = made.rank;
        (*decoder)->own = made.own;
        (*decoder)->shared = made.shared;
        (*decoder)->target = made.target;
        (*decoder)->cap = made.cap;
    }
    sqlite3_finalize(query);
    return status;
}

/* One row; false if it is not in order. A node's X_ii is 1: that is what makes
 * the radius its bound. */
static bool load_node(sqlite3_stmt *query, struct pricer_decoder *decoder)
{
    int64_t i = sqlite3_column_int64(query, 0), rank = decoder->rank;
    const void *bytes = sqlite3_column_blob(query, 4);
    bool sound = i >= 0 && i < decoder->nodes && bytes != NULL &&
                 sqlite3_column_type(query, 4) == SQLITE_BLOB &&
                 sqlite3_column_bytes(query, 4) == rank * 8;
    for (int c = 0; c < 4; c++)
        sound = sound && pri_study_is_number(query, c);
    if (!sound)
        return false;
    double own = pri_study_column(query, 1), length = own, raw[MOST_RANK];
    double *shared = decoder->shared + i * rank;
    memcpy(raw, bytes, (size_t)rank * sizeof *raw);
    turn(raw, (int32_t)rank, shared);
    for (int64_t c = 0; c < rank; c++)
        length += shared[c] * shared[c];
    decoder->own[i] = own;
    decoder->target[i] = pri_study_column(query, 2);
    decoder->cap[i] = pri_study_column(query, 3);
    return own >= 0 && fabs(length - 1) < 1e-6 &&
           isfinite(decoder->target[i]) && pri_is_amount(decoder->cap[i]);
}

static enum pricer_status load_nodes(const struct pricer_study *study,
                                     int64_t plan,
                                     struct pricer_decoder *decoder,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int32_t count = 0;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT node, own, target, cap, shared FROM decoder_node"
        " WHERE plan = ?",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, plan);
    int step = sqlite3_step(query);
    for (; step == SQLITE_ROW && status == PRICER_OK;
         step = sqlite3_step(query)) {
        if (!load_node(query, decoder))
            status = pri_study_damaged(study, "decoder_node", count, fault);
        count++;
    }
    if (status == PRICER_OK && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    if (status == PRICER_OK && count != decoder->nodes)
        status = pri_study_damaged(study, "decoder_node", count, fault);
    sqlite3_finalize(query);
    return status;
}

enum pricer_status pricer_study_decoder(struct pricer_study *study,
                                        int64_t plan,
                                        const struct pricer_network *network,
                                        struct pricer_decoder **decoder,
                                        struct pricer_fault *fault)
{
    struct pricer_decoder *made = NULL;
    enum pricer_status status =
        load_summary(study, plan, network->nodes, &made, fault);
    if (status == PRICER_OK && made != NULL)
        status = load_nodes(study, plan, made, fault);
    if (status == PRICER_OK)
        *decoder = made;
    else
        pricer_decoder_free(made);
    return status;
}
