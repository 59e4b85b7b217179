/*
 * From a round's payload to a packet that is charged and stored: one transaction
 * over the entries, the packet and the last round. The claims and their proofs
 * are in ledger_release.h.
 */
#include "ledger_release.h"
#include "common/daemon.h"
#include "ledger_file.h"
#include "trust_file.h"
#include "wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------- account -- */

enum pricer_status ledger_account(struct ledger *ledger,
                                  struct ledger_account *account,
                                  struct pricer_fault *fault)
{
    int64_t entries = 0, rounds = 0, released = 0;
    if (!ledger_ask(ledger, "SELECT count(*) FROM entry", NULL, NULL, 0,
                    &entries) ||
        !ledger_ask(ledger, "SELECT coalesce(sum(rounds), 0) FROM entry", NULL,
                    NULL, 0, &rounds) ||
        !ledger_ask(ledger, "SELECT coalesce(sum(used), 0) FROM entry", NULL,
                    NULL, 0, &released))
        return ledger_fail(ledger, fault);
    *account = (struct ledger_account){.eps = ledger->released_eps,
                                       .delta = ledger->released_delta,
                                       .rounds = rounds,
                                       .released = released,
                                       .entries = (int32_t)entries};
    return PRICER_OK;
}

/* Entries that allow a release: rounds left in all of them, and the one to
 * charge, which gives away least; id 0: none. */
struct choice {
    int64_t id, left, entries;
};

static bool choose(struct ledger *ledger, const struct pri_release *release,
                   struct choice *choice)
{
    sqlite3_stmt *query = NULL;
    double best = INFINITY;
    int step = SQLITE_ERROR;
    *choice = (struct choice){0};
    if (ledger_prepare(ledger,
                       "SELECT id, kind, dimension, t, e0, ratio, rounds, used"
                       " FROM entry ORDER BY id",
                       &query))
        while ((step = sqlite3_step(query)) == SQLITE_ROW) {
            struct pri_release_entry entry = {
                .kind = (enum pri_release_kind)sqlite3_column_int(query, 1),
                .dimension = sqlite3_column_int64(query, 2),
                .t = sqlite3_column_double(query, 3),
                .e0 = sqlite3_column_double(query, 4),
                .ratio = sqlite3_column_double(query, 5),
                .rounds = sqlite3_column_int64(query, 6),
            };
            int64_t used = sqlite3_column_int64(query, 7);
            double size = entry.e0 + entry.ratio; /* one of them is 0 */
            choice->entries++;
            if (!pri_release_entry_allows(&entry, used, release))
                continue;
            choice->left += entry.rounds - used;
            if (size < best) {
                best = size;
                choice->id = sqlite3_column_int64(query, 0);
            }
        }
    sqlite3_finalize(query);
    return step == SQLITE_DONE;
}

/* ------------------------------------------------------------------ rows -- */

/* Whether one round fits what a row allows one release. */
static bool fits_once(const struct pri_release *release,
                      const struct trust_row *row)
{
    struct pri_release_loss loss;
    if (isinf(row->eps) || row->delta >= 1)
        return true;
    if (release->kind == PRI_RELEASE_GAUSSIAN)
        return trust_allows(
            row->eps, row->delta,
            trust_ratio(2 * release->radius, 1, release->noise));
    if (release->e0 + release->charge < row->eps)
        return true;
    pri_release_loss(release, 1, &loss);
    return pri_release_delta(&loss, row->eps) <= row->delta;
}

/* What the rows leave for all releases together, and whose row that is. */
struct limit {
    double eps, delta;
    int32_t eps_row, delta_row;
};

static enum pricer_status find_limit(const struct ledger *ledger,
                                     const struct pri_release *release,
                                     struct limit *limit,
                                     struct pricer_fault *fault)
{
    if (ledger->trust == NULL ||
        trust_find(ledger->trust, TRUST_EVERYONE) == NULL)
        return daemon_fault(fault, PRICER_INFEASIBLE,
                            "the trust file has no row 'everyone'");
    *limit = (struct limit){INFINITY, INFINITY, TRUST_EVERYONE, TRUST_EVERYONE};
    for (int32_t k = 0; k < ledger->trust->count; k++) {
        const struct trust_row *row = &ledger->trust->rows[k];
        if (row->to != TRUST_EVERYONE && !fits_once(release, row))
            return daemon_fault(
                fault, PRICER_INFEASIBLE,
                "line %lld of the trust file allows %s less in one release "
                "than everyone would hear",
                (long long)row->line, trust_label(ledger->trust, row->to).text);
        if (isinf(row->total_eps) || row->total_delta >= 1)
            continue;
        if (row->total_eps < limit->eps) {
            limit->eps = row->total_eps;
            limit->eps_row = row->to;
        }
        if (row->total_delta < limit->delta) {
            limit->delta = row->total_delta;
            limit->delta_row = row->to;
        }
    }
    return PRICER_OK;
}

/* Whether the account with so much more is within the limit. */
static enum pricer_status check_limit(const struct ledger *ledger,
                                      const struct limit *limit,
                                      const struct pricer_budget *cost,
                                      double eps, double delta,
                                      struct pricer_fault *fault)
{
    bool over = ledger_add_up(eps, cost->eps) > limit->eps;
    int32_t row = over ? limit->eps_row : limit->delta_row;
    if (!over && ledger_add_up(delta, cost->delta) <= limit->delta)
        return PRICER_OK;
    return daemon_fault(
        fault, PRICER_INFEASIBLE,
        "line %lld of the trust file: the budget of %s holds %s = %g over all "
        "rounds, %g are taken, and %g more are needed",
        (long long)trust_find(ledger->trust, row)->line,
        trust_label(ledger->trust, row).text, over ? "eps" : "delta",
        over ? limit->eps : limit->delta, over ? eps : delta,
        over ? cost->eps : cost->delta);
}

/* Whether all sums that were ever sent leave what the rows give to releases. */
static enum pricer_status check_sums(struct ledger *ledger,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = PRICER_OK;
    int step = SQLITE_ERROR;
    if (ledger->sums_fit)
        return PRICER_OK;
    if (ledger_prepare(ledger,
                       "SELECT DISTINCT key FROM account WHERE mu > 0 AND"
                       " releases > 0",
                       &query))
        while (status == PRICER_OK &&
               (step = sqlite3_step(query)) == SQLITE_ROW) {
            const char *key = (const char *)sqlite3_column_text(query, 0);
            bool fit = false;
            int32_t rows = 0;
            if (key == NULL || !ledger_sums_fit(ledger, key, &fit, &rows))
                status = ledger_fail(ledger, fault);
            else if (!fit || rows == 0)
                status = daemon_fault(
                    fault, PRICER_INFEASIBLE,
                    rows == 0
                        ? "sums were sent to %.60s, which has no row in the "
                          "trust file: everyone's budget is for releases alone"
                        : "the sums that were sent to %.60s leave too little "
                          "of "
                          "its budget for what everyone hears",
                    key);
        }
    if (status == PRICER_OK && step != SQLITE_DONE)
        status = ledger_fail(ledger, fault);
    sqlite3_finalize(query);
    ledger->sums_fit = status == PRICER_OK;
    return status;
}

/* The entry to charge, 0 for a new one; or why there is none. */
static enum pricer_status decide(struct ledger *ledger,
                                 const struct pri_release *release,
                                 const struct pricer_budget *cost,
                                 struct choice *choice, struct limit *limit,
                                 struct pricer_fault *fault)
{
    static const struct pricer_budget nothing = {.eps = 0};
    enum pricer_status status = find_limit(ledger, release, limit, fault);
    if (status == PRICER_OK &&
        (!ledger_read_released(ledger) || !choose(ledger, release, choice)))
        status = ledger_fail(ledger, fault);
    if (status == PRICER_OK)
        status =
            check_limit(ledger, limit, choice->id != 0 ? &nothing : cost,
                        ledger->released_eps, ledger->released_delta, fault);
    if (status == PRICER_OK && choice->id == 0 &&
        choice->entries >= LEDGER_ENTRIES)
        status = daemon_fault(fault, PRICER_INFEASIBLE,
                              "the ledger has %d different releases already",
                              LEDGER_ENTRIES);
    if (status == PRICER_OK)
        status = check_sums(ledger, fault);
    return status;
}

enum pricer_status ledger_release_left(struct ledger *ledger,
                                       const struct ledger_terms *terms,
                                       int64_t *left,
                                       struct pricer_fault *fault)
{
    struct pri_release release;
    struct pricer_budget cost;
    struct choice choice;
    struct limit limit;
    enum pricer_status status =
        ledger_terms_check(terms, &release, &cost, fault);
    if (status == PRICER_OK)
        status = decide(ledger, &release, &cost, &choice, &limit, fault);
    if (status != PRICER_OK)
        return status;
    double eps = ledger->released_eps, delta = ledger->released_delta;
    int64_t count = choice.left;
    for (; choice.entries < LEDGER_ENTRIES &&
           check_limit(ledger, &limit, &cost, eps, delta, NULL) == PRICER_OK;
         choice.entries++) {
        eps = ledger_add_up(eps, cost.eps);
        delta = ledger_add_up(delta, cost.delta);
        count += terms->rounds;
    }
    *left = count;
    return PRICER_OK;
}

/* --------------------------------------------------------------- packets -- */

void ledger_packet_free(struct ledger_packet *packet)
{
    free(packet->payload);
    *packet = (struct ledger_packet){.size = 0};
}

static bool fill(uint8_t *bytes, sqlite3_stmt *query, int column)
{
    bool good = sqlite3_column_bytes(query, column) == LEDGER_DIGEST;
    if (good)
        memcpy(bytes, sqlite3_column_blob(query, column), LEDGER_DIGEST);
    return good;
}

/* The packet in a row of the ledger; PRICER_FORMAT if it cannot be one. */
static enum pricer_status read_packet(sqlite3_stmt *query, int64_t round,
                                      struct ledger_packet *packet)
{
    struct ledger_packet found = {
        .about = {.round = round, .reference = sqlite3_column_int64(query, 2)},
        .kind = (enum pri_release_kind)sqlite3_column_int(query, 3),
    };
    const void *payload = sqlite3_column_blob(query, 4);
    found.size = (size_t)sqlite3_column_bytes(query, 4);
    if (payload == NULL || !fill(found.about.study, query, 0) ||
        !fill(found.about.plan, query, 1))
        return PRICER_FORMAT;
    found.payload = malloc(found.size);
    if (found.payload == NULL)
        return PRICER_MEMORY;
    memcpy(found.payload, payload, found.size);
    *packet = found;
    return PRICER_OK;
}

enum pricer_status ledger_stored(struct ledger *ledger, int64_t round,
                                 struct ledger_packet *packet,
                                 struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    if (round > ledger->last)
        return daemon_fault(fault, PRICER_INFEASIBLE,
                            "round %lld is not charged yet", (long long)round);
    if (!ledger_prepare(ledger,
                        "SELECT study, plan, reference, kind, payload FROM"
                        " packet WHERE server = ? AND round = ?",
                        &query))
        return ledger_fail(ledger, fault);
    sqlite3_bind_text(query, 1, ledger->server, -1, SQLITE_STATIC);
    sqlite3_bind_int64(query, 2, round);
    int step = sqlite3_step(query);
    enum pricer_status status =
        step == SQLITE_ROW    ? read_packet(query, round, packet)
        : step == SQLITE_DONE ? PRICER_VALUE
                              : ledger_fail(ledger, fault);
    sqlite3_finalize(query);
    if (status == PRICER_VALUE)
        daemon_fault(fault, status,
                     "round %lld is spent, and nothing of it is stored; the "
                     "ledger is at round %lld",
                     (long long)round, (long long)ledger->last);
    return status;
}

/* ---------------------------------------------------------------- charge -- */

static bool step_once(sqlite3_stmt *statement)
{
    bool good = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    return good;
}

/* Make an entry for the terms, and say its number. */
static bool add_entry(struct ledger *ledger, const struct pri_release *release,
                      const struct pricer_budget *cost, int64_t *id)
{
    sqlite3_stmt *insert = NULL;
    bool gaussian = release->kind == PRI_RELEASE_GAUSSIAN;
    if (!ledger_prepare(ledger,
                        "INSERT INTO entry (kind, dimension, t, e0, ratio,"
                        " rounds, used, eps, delta)"
                        " VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?)",
                        &insert))
        return false;
    sqlite3_bind_int(insert, 1, (int)release->kind);
    sqlite3_bind_int64(insert, 2, release->dimension);
    sqlite3_bind_double(insert, 3, release->t);
    sqlite3_bind_double(insert, 4, release->e0);
    sqlite3_bind_double(
        insert, 5,
        gaussian ? trust_ratio(2 * release->radius, 1, release->noise) : 0);
    sqlite3_bind_int64(insert, 6, release->rounds);
    sqlite3_bind_double(insert, 7, cost->eps);
    sqlite3_bind_double(insert, 8, cost->delta);
    bool good = step_once(insert);
    *id = sqlite3_last_insert_rowid(ledger->database);
    return good;
}

static bool use_entry(struct ledger *ledger, int64_t id)
{
    sqlite3_stmt *update = NULL;
    if (!ledger_prepare(ledger, "UPDATE entry SET used = used + 1 WHERE id = ?",
                        &update))
        return false;
    sqlite3_bind_int64(update, 1, id);
    return step_once(update) && sqlite3_changes(ledger->database) == 1;
}

static bool store_packet(struct ledger *ledger,
                         const struct ledger_packet *packet, int64_t entry)
{
    sqlite3_stmt *insert = NULL;
    const struct ledger_round *about = &packet->about;
    if (!ledger_prepare(ledger,
                        "INSERT INTO packet VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        &insert))
        return false;
    sqlite3_bind_text(insert, 1, ledger->server, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, about->round);
    sqlite3_bind_blob(insert, 3, about->study, LEDGER_DIGEST, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 4, about->plan, LEDGER_DIGEST, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 5, about->reference);
    sqlite3_bind_int(insert, 6, (int)packet->kind);
    sqlite3_bind_int64(insert, 7, entry);
    sqlite3_bind_blob(insert, 8, packet->payload, (int)packet->size,
                      SQLITE_STATIC);
    return step_once(insert);
}

/* Earlier packets of this server are not sent any more. */
static bool drop_earlier(struct ledger *ledger, int64_t round)
{
    sqlite3_stmt *drop = NULL;
    if (!ledger_prepare(
            ledger, "DELETE FROM packet WHERE server = ? AND round < ?", &drop))
        return false;
    sqlite3_bind_text(drop, 1, ledger->server, -1, SQLITE_STATIC);
    sqlite3_bind_int64(drop, 2, round);
    return step_once(drop);
}

/* Within a transaction. */
static enum pricer_status charge(struct ledger *ledger,
                                 const struct pri_release *release,
                                 const struct pricer_budget *cost,
                                 const struct ledger_packet *packet,
                                 struct pricer_fault *fault)
{
    struct choice choice;
    struct limit limit;
    enum pricer_status status =
        decide(ledger, release, cost, &choice, &limit, fault);
    if (status != PRICER_OK)
        return status;
    bool good =
        (choice.id != 0 || add_entry(ledger, release, cost, &choice.id)) &&
        use_entry(ledger, choice.id) &&
        ledger_mark(ledger, packet->about.round) &&
        store_packet(ledger, packet, choice.id) &&
        drop_earlier(ledger, packet->about.round) &&
        ledger_run(ledger, "COMMIT");
    return good ? PRICER_OK : ledger_fail(ledger, fault);
}

/* After a transaction that may or may not be on the disk. */
static void look_again(struct ledger *ledger)
{
    ledger_run(ledger, "ROLLBACK");
    ledger_ask(ledger, "SELECT last FROM server WHERE key = ?", ledger->server,
               NULL, ledger->last, &ledger->last);
    ledger_read_released(ledger);
}

enum pricer_status ledger_release(struct ledger *ledger,
                                  const struct ledger_round *round,
                                  const struct ledger_terms *terms,
                                  const void *payload, size_t size,
                                  struct ledger_packet *packet,
                                  struct pricer_fault *fault)
{
    struct pri_release release;
    struct pricer_budget cost;
    struct ledger_packet made = {
        .about = *round, .kind = terms->kind, .size = size};
    if (round->round <= ledger->last)
        return ledger_stored(ledger, round->round, packet, fault);
    if (round->round > ledger->last + WIRE_JUMP)
        return daemon_fault(fault, PRICER_VALUE,
                            "round %lld is too far from round %lld, where the "
                            "ledger is",
                            (long long)round->round, (long long)ledger->last);
    if (size < 1 || size > LEDGER_PAYLOAD)
        return daemon_fault(fault, PRICER_VALUE,
                            "a payload of %zu bytes is too short or too long",
                            size);
    enum pricer_status status =
        ledger_terms_check(terms, &release, &cost, fault);
    if (status != PRICER_OK)
        return status;
    made.payload = malloc(size);
    if (made.payload == NULL)
        return PRICER_MEMORY;
    memcpy(made.payload, payload, size);
    status = ledger_run(ledger, "BEGIN IMMEDIATE")
                 ? charge(ledger, &release, &cost, &made, fault)
                 : ledger_fail(ledger, fault);
    if (status != PRICER_OK) {
        look_again(ledger);
        ledger_packet_free(&made);
        return status;
    }
    ledger->last = round->round;
    ledger_read_released(ledger);
    *packet = made;
    return PRICER_OK;
}
