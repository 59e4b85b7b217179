/*
 * From a path to an open study: made anew, or opened with every doubt about
 * what the file is put into words.
 */
#include "study.h"
#include "read/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void pricer_study_close(struct pricer_study *study)
{
    if (study == NULL)
        return;
    for (int k = 0; k < PRI_STUDY_KEPT; k++)
        sqlite3_finalize(study->kept[k]);
    if (study->claim >= 0) /* one file again, if nobody reads */
        sqlite3_exec(study->database, "PRAGMA journal_mode = DELETE", NULL,
                     NULL, NULL);
    sqlite3_close_v2(study->database);
    if (study->claim >= 0)
        close(study->claim);
    free(study->path);
    free(study);
}

/* Connect to a file that is there. A study may come from a stranger: nothing in
 * its schema may act (triggers, views) or write around the tables. */
static enum pricer_status connect_to(const char *path, bool writable,
                                     struct pricer_study **study,
                                     struct pricer_fault *fault)
{
    struct pricer_study *made = pri_alloc(1, sizeof *made);
    if (made == NULL || (made->path = strdup(path)) == NULL) {
        free(made);
        return PRICER_MEMORY;
    }
    made->claim = -1;
    int flags = writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    if (sqlite3_open_v2(path, &made->database, flags, NULL) != SQLITE_OK) {
        enum pricer_status status = made->database == NULL
                                        ? PRICER_MEMORY
                                        : pri_study_fault(made, fault);
        pricer_study_close(made);
        return status;
    }
    sqlite3_db_config(made->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(made->database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(made->database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(made->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_busy_timeout(made->database, 2000);
    *study = made;
    return PRICER_OK;
}

/* Whether every table of the schema is there. */
static enum pricer_status check_tables(struct pricer_study *study,
                                       struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    for (int k = 0; pri_study_schema[k] != NULL && status == PRICER_OK; k++) {
        char name[64] = "", sql[160];
        int64_t found = 0;
        if (sscanf(pri_study_schema[k], "CREATE TABLE %63[a-z_]", name) != 1)
            continue;
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                 "name = '%s'",
                 name);
        status = pri_study_count(study, sql, &found, fault);
        if (status == PRICER_OK && found != 1)
            status = pri_fault(fault, PRICER_FORMAT,
                               "%.300s: the study is damaged: it has no table "
                               "%s",
                               study->path, name);
    }
    return status;
}

/* What studies of sums of earlier versions may ask for and forwarding alone
 * has. */
static enum pricer_status check_scheme(struct pricer_study *study,
                                       struct pricer_fault *fault)
{
    static const struct {
        const char *key, *sql;
    } gone[] = {
        {"repeat", "SELECT count(*) FROM setting WHERE key = 'repeat' AND"
                   " typeof(value) IN ('integer', 'real') AND value > 1"},
        {"reference", "SELECT count(*) FROM setting WHERE key = 'reach' AND"
                      " typeof(value) IN ('integer', 'real') AND value > 0"},
        {"horizon", "SELECT count(*) FROM setting WHERE key = 'horizon' AND"
                    " typeof(value) IN ('integer', 'real') AND value > 1"},
    };
    int64_t sums = 0, count = 0;
    enum pricer_status status = pri_study_count(
        study,
        "SELECT count(*) FROM setting WHERE key = 'scheme' AND value = 'sum'",
        &sums, fault);
    for (size_t k = 0; k < sizeof gone / sizeof *gone; k++) {
        if (status == PRICER_OK && sums > 0)
            status = pri_study_count(study, gone[k].sql, &count, fault);
        if (status == PRICER_OK && count > 0)
            return pri_fault(
                fault, PRICER_FORMAT,
                "%.300s: its scenario has '%s', which 'scheme: sum' no longer "
                "has: make a study without it%s",
                study->path, gone[k].key,
                k < 2 ? ", or of 'scheme: forward', which has it" : "");
    }
    return status;
}

/* What the file says it is, before anything in it is believed. */
static enum pricer_status check_identity(struct pricer_study *study,
                                         struct pricer_fault *fault)
{
    int64_t id = 0, version = 0;
    enum pricer_status status =
        pri_study_count(study, "PRAGMA application_id", &id, fault);
    if (status == PRICER_OK)
        status = pri_study_count(study, "PRAGMA user_version", &version, fault);
    if (status != PRICER_OK)
        return status;
    if (id != PRI_STUDY_ID)
        return pri_fault(fault, PRICER_FORMAT, "%.300s: not a study",
                         study->path);
    if (version > PRI_STUDY_VERSION)
        return pri_fault(fault, PRICER_FORMAT,
                         "%.300s: made by a newer pricer (version %lld of the "
                         "study; this one knows %d)",
                         study->path, (long long)version, PRI_STUDY_VERSION);
    if (version < PRI_STUDY_VERSION)
        return pri_fault(fault, PRICER_FORMAT,
                         "%.300s: made by an older pricer (version %lld of the "
                         "study; this one knows %d): 'pricer show --scenario' "
                         "of that one and 'pricer new' make it anew",
                         study->path, (long long)version, PRI_STUDY_VERSION);
    enum pricer_status found = check_tables(study, fault);
    return found == PRICER_OK ? check_scheme(study, fault) : found;
}

/* SQLite makes files beside the one that it writes to. */
static enum pricer_status check_folder(const char *path,
                                       struct pricer_fault *fault)
{
    char *real = realpath(path, NULL);
    if (real == NULL)
        return pri_fault(fault, PRICER_FILE, "%.300s: %s", path,
                         strerror(errno));
    char *slash = strrchr(real, '/');
    slash[slash == real] = '\0';
    enum pricer_status status = PRICER_OK;
    if (access(real, W_OK | X_OK) != 0)
        status = pri_fault(fault, PRICER_FILE,
                           "%.200s: its folder cannot be written: %s", path,
                           strerror(errno));
    free(real);
    return status;
}

enum pricer_status pricer_study_open(const char *path, bool writable,
                                     struct pricer_study **study,
                                     struct pricer_fault *fault)
{
    struct stat about;
    struct pricer_study *made = NULL;
    /* SQLite says "unable to open" for all of these; the system says why. */
    if (stat(path, &about) != 0 ||
        access(path, writable ? R_OK | W_OK : R_OK) != 0)
        return pri_fault(fault, PRICER_FILE, "%.300s: %s", path,
                         strerror(errno));
    if (S_ISDIR(about.st_mode))
        return pri_fault(fault, PRICER_FILE, "%.300s: %s", path,
                         strerror(EISDIR));
    if (about.st_size == 0)
        return pri_fault(fault, PRICER_FORMAT,
                         "%.300s: not a study: the file is empty", path);
    enum pricer_status status =
        writable ? check_folder(path, fault) : PRICER_OK;
    if (status == PRICER_OK)
        status = connect_to(path, writable, &made, fault);
    if (status == PRICER_OK)
        status = check_identity(made, fault);
    if (status == PRICER_OK)
        status = pri_study_run(made, "PRAGMA foreign_keys = ON", fault);
    if (status != PRICER_OK) {
        pricer_study_close(made);
        return status;
    }
    *study = made;
    return PRICER_OK;
}

/* ---------------------------------------------------------------- create -- */

/* A new database needs no journal: until it is complete nobody sees it. */
static enum pricer_status make_tables(const struct pricer_study *study,
                                      struct pricer_fault *fault)
{
    char pragmas[256];
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
             "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536;"
             "PRAGMA application_id = %d; PRAGMA user_version = %d",
             PRI_STUDY_ID, PRI_STUDY_VERSION);
    enum pricer_status status = pri_study_run(study, pragmas, fault);
    if (status == PRICER_OK)
        status = pri_study_begin(study, fault);
    for (int k = 0; pri_study_schema[k] != NULL && status == PRICER_OK; k++)
        status = pri_study_run(study, pri_study_schema[k], fault);
    return status;
}

/* Write the whole study into the file at `path`, which is empty. */
static enum pricer_status write_study(const char *path,
                                      const struct pricer_scenario *scenario,
                                      const struct pricer_network *network,
                                      const struct pricer_watch *watch,
                                      struct pricer_fault *fault)
{
    struct pricer_study *study = NULL;
    enum pricer_status status = connect_to(path, true, &study, fault);
    if (status != PRICER_OK)
        return status;
    status = make_tables(study, fault);
    if (status == PRICER_OK)
        status = pri_study_store_settings(study, scenario, network, fault);
    if (status == PRICER_OK)
        status = pri_study_store_network(study, network, watch, fault);
    status = pri_study_end(study, status, fault);
    pricer_study_close(study);
    return status;
}

/* Flush a file, or the names in a folder, to the disk. */
static bool flush_to_disk(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool flushed = file >= 0 && fsync(file) == 0;
    if (file >= 0)
        close(file);
    return flushed;
}

/* What a server that died left beside the study that is replaced: it belongs to
 * nothing else. */
static void forget_log(const char *path)
{
    static const char *const ends[] = {"-wal", "-shm", "-journal"};
    char name[4200];
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        int length = snprintf(name, sizeof name, "%s%s", path, ends[k]);
        if (length > 0 && (size_t)length < sizeof name)
            unlink(name);
    }
}

/* Give the finished file its name: link() refuses a name that is taken. */
static enum pricer_status publish(const char *made, const char *path,
                                  bool replace, struct pricer_fault *fault)
{
    if (!flush_to_disk(made))
        return pri_fault(fault, PRICER_FILE, "%.300s: %s", path,
                         strerror(errno));
    if (replace)
        forget_log(path);
    if (replace ? rename(made, path) != 0 : link(made, path) != 0)
        return pri_fault(fault, PRICER_FILE, "%.300s: %s", path,
                         errno == EEXIST ? "exists already" : strerror(errno));
    return PRICER_OK;
}

/* Make the file under another name and give it its own when it is complete. */
static enum pricer_status create(const char *path, bool replace,
                                 const struct pricer_scenario *scenario,
                                 const struct pricer_network *network,
                                 const struct pricer_watch *watch,
                                 struct pricer_fault *fault)
{
    size_t length = strlen(path) + sizeof ".XXXXXX";
    char *made = pri_alloc((int64_t)length, 1);
    if (made == NULL)
        return PRICER_MEMORY;
    snprintf(made, length, "%s.XXXXXX", path);
    int file = mkstemp(made);
    if (file < 0) {
        free(made);
        return pri_fault(fault, PRICER_FILE, "%.300s: %s", path,
                         strerror(errno));
    }
    fchmod(file, PRI_STUDY_MODE);
    close(file);
    enum pricer_status status =
        write_study(made, scenario, network, watch, fault);
    if (status == PRICER_OK)
        status = publish(made, path, replace, fault);
    unlink(made);
    free(made);
    return status;
}

enum pricer_status pricer_study_create(const char *path, bool replace,
                                       const struct pricer_scenario *scenario,
                                       const struct pricer_network *network,
                                       const struct pricer_watch *watch,
                                       struct pricer_fault *fault)
{
    int claim = -1;
    if (!replace && access(path, F_OK) == 0)
        return pri_fault(fault, PRICER_FILE, "%.300s: exists already", path);
    enum pricer_status status =
        replace ? pri_study_claim_path(path, &claim, fault) : PRICER_OK;
    if (status == PRICER_OK)
        status = create(path, replace, scenario, network, watch, fault);
    if (claim >= 0)
        close(claim);
    return status;
}
