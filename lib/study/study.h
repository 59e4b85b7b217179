/*
 * What the files of the study share: the open database and how it fails.
 */
#ifndef PRICER_STUDY_H
#define PRICER_STUDY_H

#include "base/base.h"
#include "pricer_members.h"
#include "pricer_study.h"

#include <sqlite3.h>

/* Statements that are kept ready: those that a round needs, and some more. */
enum { PRI_STUDY_KEPT = 16 };

struct pricer_study {
    sqlite3 *database;
    char *path;
    int claim; /* the open file that holds the claim, or -1 */
    sqlite3_stmt *kept[PRI_STUDY_KEPT];
    int oldest; /* of them, the next to go */
};

/* The statements that make an empty study, in order; NULL ends them. */
extern const char *const pri_study_schema[];

/* "PrCR", which file(1) and sqlite3 see; and the version of the schema. */
enum { PRI_STUDY_ID = 0x50724352, PRI_STUDY_VERSION = 8 };

/* Of a study's file, whatever the umask: it is its owner's alone. SQLite gives the
 * files beside it the same. */
enum { PRI_STUDY_MODE = 0600 };

/* The database's last error as a status and a fault with the path. */
enum pricer_status pri_study_fault(const struct pricer_study *study,
                                   struct pricer_fault *fault);

/* Run statements without results. */
enum pricer_status pri_study_run(const struct pricer_study *study,
                                 const char *sql, struct pricer_fault *fault);

/* One transaction per verb. End it with what the work returned: committed if
 * that is PRICER_OK, undone otherwise; answers the status of the whole. */
enum pricer_status pri_study_begin(const struct pricer_study *study,
                                   struct pricer_fault *fault);
enum pricer_status pri_study_end(const struct pricer_study *study,
                                 enum pricer_status status,
                                 struct pricer_fault *fault);

enum pricer_status pri_study_prepare(const struct pricer_study *study,
                                     const char *sql, sqlite3_stmt **statement,
                                     struct pricer_fault *fault);

/* Whether there is such a setting, which the query is then at; and a setting
 * that must be a number. The query is one for the value of a key. */
bool pri_setting_find(sqlite3_stmt *query, const char *key);
enum pricer_status pri_setting_number(const struct pricer_study *study,
                                      sqlite3_stmt *query, const char *key,
                                      double *value,
                                      struct pricer_fault *fault);

/* The same for what is run again and again, with nothing bound: the study keeps it,
 * and it is good until the next call of this. */
enum pricer_status pri_study_keep(struct pricer_study *study, const char *sql,
                                  sqlite3_stmt **statement,
                                  struct pricer_fault *fault);

/* Step a statement that returns no row, and make it ready for the next. */
enum pricer_status pri_study_step(const struct pricer_study *study,
                                  sqlite3_stmt *statement,
                                  struct pricer_fault *fault);

/* One number from a query of one cell; -1 where the query gives no row. */
enum pricer_status pri_study_count(struct pricer_study *study, const char *sql,
                                   int64_t *count, struct pricer_fault *fault);

/* What a new study starts with. */
enum pricer_status pri_study_store_settings(
    const struct pricer_study *study, const struct pricer_scenario *scenario,
    const struct pricer_network *network, struct pricer_fault *fault);
enum pricer_status pri_study_store_network(const struct pricer_study *study,
                                           const struct pricer_network *network,
                                           const struct pricer_watch *watch,
                                           struct pricer_fault *fault);

/* Inside a transaction: add a network whose probabilities are not the
 * scenario's; *id is its number. */
enum pricer_status pri_study_add_network(
    const struct pricer_study *study, const struct pricer_network *network,
    const struct pricer_network_record *record, int64_t *id,
    struct pricer_fault *fault);

/* Inside a transaction: add the decoder of a plan. */
enum pricer_status pri_study_add_decoder(const struct pricer_study *study,
                                         int64_t plan,
                                         const struct pricer_decoder *decoder,
                                         struct pricer_fault *fault);

/* Plans of either scheme, with their networks, in place of a table. */
#define PRI_ANY_PLAN                                                           \
    "(SELECT plan, network FROM plan UNION ALL"                                \
    " SELECT plan, network FROM forward_plan)"

/* The number of a plan, to be inserted: NULL, which its column refuses, where
 * there is no such plan. */
#define PRI_PLAN_NUMBER "(SELECT plan FROM " PRI_ANY_PLAN " WHERE plan = ?)"

/* Whether a plan may be called so. */
enum pricer_status pri_study_check_name(const char *name,
                                        struct pricer_fault *fault);

/* Inside a transaction: add when a plan was made (0: not known) and how it is
 * called (or ""). And read that back; untouched where nothing is noted. */
enum pricer_status pri_study_add_note(const struct pricer_study *study,
                                      int64_t plan, int64_t made,
                                      const char *name,
                                      struct pricer_fault *fault);
enum pricer_status pri_study_load_note(const struct pricer_study *study,
                                       int64_t plan, int64_t *made,
                                       char name[PRICER_NAME_TEXT],
                                       struct pricer_fault *fault);

/* The record of a plan, with how its network came about. */
enum pricer_status pri_study_load_record(struct pricer_study *study, int64_t id,
                                         struct pricer_plan_record *record,
                                         struct pricer_fault *fault);

/* How the network with a number came about. */
enum pricer_status pri_study_network_record(
    const struct pricer_study *study, int64_t id,
    struct pricer_network_record *record, struct pricer_fault *fault);

/* A network by its number, with how it came about. */
enum pricer_status pri_study_load_network(struct pricer_study *study,
                                          int64_t id,
                                          struct pricer_network **network,
                                          struct pricer_network_record *record,
                                          struct pricer_fault *fault);

/* Whether the file at a path may be replaced by a new study: there is none, or
 * it is a study that nobody has claimed. *claim is then an open file that holds
 * the claim, or -1. */
enum pricer_status pri_study_claim_path(const char *path, int *claim,
                                        struct pricer_fault *fault);

/* Store the links; links.c has SQLite read them from the network. */
struct pri_link_source {
    const struct pricer_network *network;
    const struct pricer_watch *watch;
};
enum pricer_status pri_study_store_links(const struct pricer_study *study,
                                         const struct pricer_network *network,
                                         const struct pricer_watch *watch,
                                         struct pricer_fault *fault);

/* Something in a table that no verb has written; says which row of what. */
enum pricer_status pri_study_damaged(const struct pricer_study *study,
                                     const char *what, int64_t row,
                                     struct pricer_fault *fault);

/* Bind a number; NAN becomes NULL. */
void pri_study_bind(sqlite3_stmt *statement, int column, double value);

/* Read a number; NULL becomes NAN. */
double pri_study_column(sqlite3_stmt *statement, int column);

/* Whether a column holds a number: an integer or a real, and not a text that
 * SQLite would take for 0. */
bool pri_study_is_number(sqlite3_stmt *statement, int column);

/* What older versions stored as the credit of a budget for lost packets: 'none'
 * is how every budget counts, anything else is refused in words. */
enum pricer_status pri_study_credit(const struct pricer_study *study,
                                    const char *credit,
                                    struct pricer_fault *fault);

/* Read a text; NULL becomes "". Valid until the next step. */
const char *pri_study_text(sqlite3_stmt *statement, int column);

#endif
