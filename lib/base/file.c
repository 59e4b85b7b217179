/*
 * Files as the readers and writers need them: what the system says about one
 * that cannot be had, and replacing one in a single step.
 */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum pricer_status pri_fault_errno(struct pricer_fault *fault, const char *path,
                                   int error)
{
    char words[128];
    pri_fault(fault, PRICER_FILE, "%s", strerror_r(error, words, sizeof words));
    pri_fault_locate(fault, path, 0);
    return PRICER_FILE;
}

/*
 * A new file beside `path`: rename() works only within a file system. Its
 * name needs no randomness, since O_EXCL refuses one that is taken. It gets
 * the permissions that the user's umask gives any new file, which mkstemp()
 * would not.
 */
static int open_beside(const char *path, char **temporary)
{
    int descriptor = -1;
    *temporary = NULL;
    for (int attempt = 0; attempt < 100 && descriptor < 0; attempt++) {
        free(*temporary);
        if (asprintf(temporary, "%s.%ld-%d.tmp", path, (long)getpid(),
                     attempt) < 0) {
            *temporary = NULL;
            errno = ENOMEM;
            return -1;
        }
        descriptor =
            open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    return descriptor;
}

enum pricer_status pri_replace_open(const char *path,
                                    struct pri_replace *replace,
                                    struct pricer_fault *fault)
{
    struct stat old;
    struct pri_replace mine = {NULL, NULL, NULL};
    /* A device or a folder is never replaced by a file. */
    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode)) {
        pri_fault(fault, PRICER_FILE, "exists and is not a plain file");
        pri_fault_locate(fault, path, 0);
        return PRICER_FILE;
    }
    mine.path = strdup(path);
    int descriptor = open_beside(path, &mine.temporary);
    int error = errno;
    if (descriptor >= 0) {
        mine.file = fdopen(descriptor, "wb");
        error = errno;
    }
    if (mine.path == NULL || mine.file == NULL) {
        if (descriptor >= 0 && mine.file == NULL)
            close(descriptor);
        if (descriptor >= 0)
            unlink(mine.temporary);
        if (mine.file != NULL)
            fclose(mine.file);
        free(mine.path);
        free(mine.temporary);
        return pri_fault_errno(fault, path, error);
    }
    *replace = mine;
    return PRICER_OK;
}

static void release(struct pri_replace *replace)
{
    free(replace->path);
    free(replace->temporary);
    *replace = (struct pri_replace){NULL, NULL, NULL};
}

enum pricer_status pri_replace_commit(struct pri_replace *replace,
                                      struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    errno = 0;
    bool written = fflush(replace->file) == 0 && !ferror(replace->file) &&
                   fsync(fileno(replace->file)) == 0;
    int error = errno != 0 ? errno : EIO;
    if (fclose(replace->file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (written && rename(replace->temporary, replace->path) != 0) {
        written = false;
        error = errno;
    }
    if (!written) {
        unlink(replace->temporary);
        status = pri_fault_errno(fault, replace->path, error);
    }
    release(replace);
    return status;
}

void pri_replace_abandon(struct pri_replace *replace)
{
    if (replace->file == NULL)
        return;
    fclose(replace->file);
    unlink(replace->temporary);
    release(replace);
}
