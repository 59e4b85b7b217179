/*
 * The claim on a study: one program at a time works on it as its server, and
 * nobody puts another study in its place meanwhile.
 *
 * The claim is a lock on one byte far beyond those that SQLite locks, so that
 * readers and writers of the study do not notice it. It belongs to the open
 * file (F_OFD_SETLK) and ends with it, also when the program is killed. That
 * file stays open until the database is closed: closing any file of the study
 * would end the locks that SQLite holds in this process.
 */
#include "study.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* SQLite's locks begin at 2^30 and end 512 bytes later. */
#define CLAIM_AT (INT64_C(1) << 62)

enum { PATIENCE = 10 }; /* milliseconds for another writer */

static enum pricer_status say(const char *path, struct pricer_fault *fault)
{
    return pri_fault(fault, PRICER_FILE, "%.300s: %s", path, strerror(errno));
}

static enum pricer_status take(int file, const char *path,
                               struct pricer_fault *fault)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = CLAIM_AT,
                         .l_len = 1};
    if (fcntl(file, F_OFD_SETLK, &lock) == 0)
        return PRICER_OK;
    if (errno != EAGAIN && errno != EACCES)
        return say(path, fault);
    return pri_fault(fault, PRICER_BUSY, "%.300s: a server has this study open",
                     path);
}

/* Whether the name still stands for both, the open file and the database. */
static bool is_same(const struct pricer_study *study)
{
    struct stat held, named;
    int moved = 1;
    sqlite3_file_control(study->database, "main", SQLITE_FCNTL_HAS_MOVED,
                         &moved);
    return moved == 0 && fstat(study->claim, &held) == 0 &&
           stat(study->path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

/*
 * With a log beside the study a reader who does not end stops no writer, and no
 * file has to be opened to write; another writer is not waited for, since a server
 * has better things to do and comes back. Where the file system cannot do that
 * (memory cannot be shared there), all goes on as it was; a disk that is full or
 * another writer is something else, and a fault. pricer_study_close() puts it back
 * into one file.
 */
static enum pricer_status share(const struct pricer_study *study,
                                struct pricer_fault *fault)
{
    enum pricer_status status = pri_study_run(
        study, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", fault);
    int why = sqlite3_extended_errcode(study->database);
    bool unable = why == SQLITE_IOERR_SHMMAP || why == SQLITE_IOERR_SHMLOCK;
    sqlite3_busy_timeout(study->database, PATIENCE);
    if (status == PRICER_BUSY) /* but no server has it */
        status = pri_fault(fault, PRICER_FILE,
                           "%.300s: another program reads or writes it",
                           study->path);
    return unable ? PRICER_OK : status;
}

enum pricer_status pricer_study_claim(struct pricer_study *study,
                                      struct pricer_fault *fault)
{
    if (study->claim < 0)
        study->claim = open(study->path, O_RDWR | O_CLOEXEC);
    if (study->claim < 0)
        return say(study->path, fault);
    enum pricer_status status = take(study->claim, study->path, fault);
    if (status == PRICER_OK)
        status = share(study, fault);
    if (status == PRICER_OK && !is_same(study))
        status = pri_fault(fault, PRICER_BUSY,
                           "%.300s: moved away, or replaced by another study "
                           "meanwhile",
                           study->path);
    return status;
}

/* What the first bytes say; docs of SQLite's file format, section 1.3. */
static bool is_study(int file)
{
    unsigned char head[72];
    uint32_t id;
    if (pread(file, head, sizeof head, 0) != (ssize_t)sizeof head)
        return false;
    memcpy(&id, head + 68, sizeof id);
    return memcmp(head, "SQLite format 3", 16) == 0 &&
           be32toh(id) == PRI_STUDY_ID;
}

enum pricer_status pri_study_claim_path(const char *path, int *claim,
                                        struct pricer_fault *fault)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        *claim = -1;
        return PRICER_OK;
    }
    if (file < 0)
        return say(path, fault);
    enum pricer_status status =
        is_study(file)
            ? take(file, path, fault)
            : pri_fault(fault, PRICER_FORMAT,
                        "%.300s: not a study, so it is not replaced", path);
    if (status == PRICER_OK)
        *claim = file;
    else
        close(file);
    return status;
}
