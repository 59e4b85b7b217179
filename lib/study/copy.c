/*
 * From a study to a copy that rounds can be run on, and from the rounds of the
 * copy back into the study: so that what is tried out touches the study only
 * when it has come to its end.
 */
#include "study.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum pricer_status pricer_study_copy(struct pricer_study *study,
                                     const char *path,
                                     struct pricer_fault *fault)
{
    struct pricer_study copy = {.path = (char *)path};
    int file =
        open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, PRI_STUDY_MODE);
    if (file < 0)
        return pri_fault(fault, PRICER_FILE, "%.300s: %s", path,
                         errno == EEXIST ? "exists already" : strerror(errno));
    fchmod(file, PRI_STUDY_MODE);
    close(file);
    int opened =
        sqlite3_open_v2(path, &copy.database, SQLITE_OPEN_READWRITE, NULL);
    sqlite3_backup *backup = opened == SQLITE_OK
                                 ? sqlite3_backup_init(copy.database, "main",
                                                       study->database, "main")
                                 : NULL;
    int step = backup != NULL ? sqlite3_backup_step(backup, -1) : SQLITE_ERROR;
    sqlite3_backup_finish(backup);
    enum pricer_status status = PRICER_OK;
    if (step != SQLITE_DONE)
        status = copy.database != NULL ? pri_study_fault(&copy, fault)
                                       : PRICER_MEMORY;
    if (sqlite3_close(copy.database) != SQLITE_OK && status == PRICER_OK)
        status =
            pri_fault(fault, PRICER_FILE, "%.300s: cannot be closed", path);
    if (status != PRICER_OK)
        unlink(path);
    return status;
}

static enum pricer_status attach(const struct pricer_study *study,
                                 const char *path, struct pricer_fault *fault)
{
    sqlite3_stmt *statement = NULL;
    enum pricer_status status =
        pri_study_prepare(study, "ATTACH ? AS copy", &statement, fault);
    if (status == PRICER_OK) {
        sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
        status = pri_study_step(study, statement, fault);
    }
    sqlite3_finalize(statement);
    return status;
}

/* Inside a transaction. Every table of rounds, after the last number that was
 * noted when the copy was made. */
static enum pricer_status join(const struct pricer_study *study, int64_t after,
                               struct pricer_fault *fault)
{
    static const char *const tables[] = {
        "round", "round_arrival", "arrival", "delivery", "withheld", "dropped"};
    enum pricer_status status = PRICER_OK;
    char sql[160];
    for (size_t k = 0; k < sizeof tables / sizeof *tables && !status; k++) {
        sqlite3_snprintf(sizeof sql, sql,
                         "INSERT INTO main.%s SELECT * FROM copy.%s"
                         " WHERE round > %lld",
                         tables[k], tables[k], (long long)after);
        status = pri_study_run(study, sql, fault);
    }
    if (status == PRICER_OK)
        status = pri_study_run(study,
                               "INSERT OR REPLACE INTO main.round_opened"
                               " SELECT * FROM copy.round_opened",
                               fault);
    return status;
}

enum pricer_status pricer_study_join_rounds(struct pricer_study *study,
                                            const char *path, int64_t after,
                                            struct pricer_fault *fault)
{
    int64_t last = 0;
    enum pricer_status status = attach(study, path, fault);
    if (status != PRICER_OK)
        return status;
    status = pri_study_begin(study, fault);
    if (status == PRICER_OK) {
        status = pricer_study_last_round(study, &last, fault);
        if (status == PRICER_OK && last != after)
            status = pri_fault(fault, PRICER_VALUE,
                               "%.300s: rounds were run on this study "
                               "meanwhile",
                               study->path);
        if (status == PRICER_OK)
            status = join(study, after, fault);
        status = pri_study_end(study, status, fault);
    }
    sqlite3_exec(study->database, "DETACH copy", NULL, NULL, NULL);
    return status;
}
