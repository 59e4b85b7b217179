/*
 * From a file, a command or a feed to a node's vector. A command runs through the shell
 * with PRICER_ROUND, PRICER_DIMENSION and, if there is one, PRICER_ESTIMATE in
 * its environment and writes a .npy file to its standard output, which is
 * memory of ours of a bounded size. It runs in a process group of its own, so
 * that ending it ends what it started.
 */
#include "vector.h"
#include "common/daemon.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEADER_ROOM = 1 << 16 };

void vector_init(struct vector *vector)
{
    *vector = (struct vector){.child_file = -1, .output = -1};
}

static void close_files(struct vector *vector)
{
    if (vector->child_file >= 0)
        close(vector->child_file);
    if (vector->output >= 0)
        close(vector->output);
    vector->child_file = vector->output = -1;
}

void vector_stop(struct vector *vector)
{
    if (vector->child > 0) {
        kill(-vector->child, SIGKILL);
        kill(vector->child, SIGKILL);
        waitpid(vector->child, NULL, 0);
    }
    vector->child = 0;
    close_files(vector);
    if (vector->feed != NULL)
        feed_drop(vector->feed);
}

void vector_free(struct vector *vector)
{
    vector_stop(vector);
    feed_close(vector->feed);
    vector->feed = NULL;
    pricer_matrix_free(vector->matrix);
    vector->matrix = NULL;
}

/* In the child: become the command. */
static void become(const struct vector *vector, int64_t round,
                   int64_t dimension)
{
    char number[32];
    struct rlimit limit;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    setpgid(0, 0);
    limit.rlim_cur = limit.rlim_max = 8 * (rlim_t)dimension + HEADER_ROOM;
    setrlimit(RLIMIT_FSIZE, &limit);
    snprintf(number, sizeof number, "%lld", (long long)round);
    setenv("PRICER_ROUND", number, 1);
    snprintf(number, sizeof number, "%lld", (long long)dimension);
    setenv("PRICER_DIMENSION", number, 1);
    if (vector->estimate != NULL)
        setenv("PRICER_ESTIMATE", vector->estimate, 1);
    if (dup2(vector->output, STDOUT_FILENO) < 0)
        _exit(127);
    execl("/bin/sh", "sh", "-c", vector->command, (char *)NULL);
    _exit(127);
}

static enum pricer_status start_command(struct vector *vector, int64_t round,
                                        int64_t dimension,
                                        struct pricer_fault *fault)
{
    vector_stop(vector);
    vector->output = memfd_create("vector", MFD_CLOEXEC);
    pid_t child = vector->output >= 0 ? fork() : -1;
    if (child == 0)
        become(vector, round, dimension);
    if (child > 0) {
        vector->child = child;
        setpgid(child, child);
        vector->child_file = pidfd_open(child, 0);
    }
    if (vector->child_file >= 0)
        return PRICER_OK;
    int error = errno;
    vector_stop(vector);
    return daemon_fault(fault, PRICER_FILE, "cannot run the command: %s",
                        strerror(error));
}

enum pricer_status vector_start(struct vector *vector,
                                const struct feed_round *round, bool *ready,
                                struct pricer_fault *fault)
{
    *ready = vector->command == NULL && vector->feed == NULL;
    if (vector->command != NULL)
        return start_command(vector, round->round, round->dimension, fault);
    if (vector->feed != NULL)
        return feed_ask(vector->feed, round)
                   ? PRICER_OK
                   : daemon_fault(fault, PRICER_FILE,
                                  "no program is connected that hands in a "
                                  "vector (--feed)");
    if (vector->matrix != NULL)
        return PRICER_OK;
    return pricer_matrix_read(vector->file, &vector->matrix, fault);
}

int vector_file(const struct vector *vector)
{
    return vector->feed != NULL ? feed_file(vector->feed) : vector->child_file;
}

bool vector_serve(struct vector *vector)
{
    return vector->feed == NULL || feed_serve(vector->feed);
}

/* Wait for the command, which has ended, and read what it wrote. */
static enum pricer_status collect(struct vector *vector,
                                  struct pricer_matrix **matrix,
                                  struct pricer_fault *fault)
{
    int how = 0;
    char path[64];
    enum pricer_status status;
    waitpid(vector->child, &how, 0);
    kill(-vector->child, SIGKILL);
    vector->child = 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", vector->output);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
        status =
            daemon_fault(fault, PRICER_FILE, "the command failed (%s %d)",
                         WIFEXITED(how) ? "exit status" : "signal",
                         WIFEXITED(how) ? WEXITSTATUS(how) : WTERMSIG(how));
    else if (lseek(vector->output, 0, SEEK_SET) != 0)
        status = daemon_fault(fault, PRICER_FILE, "cannot read the command");
    else
        status = pricer_matrix_read(path, matrix, fault);
    close_files(vector);
    return status;
}

/* Copy a row of what a file or a command has given. */
static enum pricer_status take_row(const struct pricer_matrix *matrix,
                                   int64_t row, int64_t dimension, double *data,
                                   struct pricer_fault *fault)
{
    if (matrix->columns != dimension)
        return daemon_fault(fault, PRICER_VALUE,
                            "the vector has %lld elements, the plan %lld",
                            (long long)matrix->columns, (long long)dimension);
    if (row >= matrix->rows)
        return daemon_fault(fault, PRICER_VALUE, "the file has no row %lld",
                            (long long)row);
    pricer_matrix_row(matrix, row, data);
    return PRICER_OK;
}

enum pricer_status vector_take(struct vector *vector, int64_t dimension,
                               double *data, struct pricer_fault *fault)
{
    struct pricer_matrix *matrix = NULL;
    enum pricer_status status;
    if (vector->feed != NULL) {
        status = feed_take(vector->feed, dimension, data, fault);
    } else if (vector->command != NULL) {
        status = collect(vector, &matrix, fault);
        if (status == PRICER_OK)
            status = take_row(matrix, 0, dimension, data, fault);
        pricer_matrix_free(matrix);
    } else {
        status = take_row(vector->matrix, vector->row, dimension, data, fault);
    }
    for (int64_t k = 0; k < dimension && status == PRICER_OK; k++)
        if (!isfinite(data[k]))
            status = daemon_fault(fault, PRICER_VALUE,
                                  "element %lld of the vector is not finite",
                                  (long long)k);
    /* Else the noise of a part that is withheld, 0 times this and noise, could not
     * be made in this round and all that follow without a vector. */
    if (status != PRICER_OK)
        sodium_memzero(data, (size_t)dimension * sizeof *data);
    return status;
}
