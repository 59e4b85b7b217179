/*
 * The data sets of `pricer reproduce table2`, read and checked before any part
 * begins: CIFAR-10 in one or several batches, Fashion-MNIST's features, or the
 * sample that comes with pricer.
 */
#include "cluster.h"
#include "reproduce.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- sample -- */

#define SAMPLE "shapes-1000-images-idx3-ubyte.gz"

/* `above` beside the folder of this program: a build folder lies in the source
 * tree, an installed program in bin. */
static bool beside_program(const char *above, char *path, size_t room)
{
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    char *end = strrchr(program, '/');
    if (end == NULL)
        return false;
    *end = '\0';
    return snprintf(path, room, "%s/../%s/" SAMPLE, program, above) <
               (int)room &&
           access(path, R_OK) == 0;
}

/* The sample: given, in the source tree that this program was built in,
 * installed beside it, where it was to be installed, or here. */
static const char *find_sample(const struct reproduction *work, char *path,
                               size_t room)
{
    static const char here[] = "data/" SAMPLE;
    if (work->sample != NULL)
        return work->sample;
    if (beside_program("data", path, room) ||
        beside_program("share/pricer", path, room))
        return path;
    return access(PRICER_SAMPLE, R_OK) == 0 ? PRICER_SAMPLE : here;
}

/* --------------------------------------------------------------- reading -- */

/* Put `more` below `points`, which may be NULL at first; takes both. */
static enum pricer_status append(struct reproduction *work, const char *path,
                                 struct pricer_matrix **points,
                                 struct pricer_matrix *more)
{
    struct pricer_matrix *old = *points, *all = NULL;
    if (old == NULL) {
        *points = more;
        return PRICER_OK;
    }
    enum pricer_status status = PRICER_VALUE;
    if (old->columns != more->columns)
        snprintf(work->fault.text, sizeof work->fault.text,
                 "%s: %lld columns, but those before it have %lld", path,
                 (long long)more->columns, (long long)old->columns);
    else
        status = pricer_matrix_new(old->rows + more->rows, old->columns,
                                   PRICER_FLOAT32, &all, &work->fault);
    if (status == PRICER_OK) {
        size_t row = (size_t)old->columns * sizeof(float);
        memcpy(all->values, old->values, (size_t)old->rows * row);
        memcpy((char *)all->values + (size_t)old->rows * row, more->values,
               (size_t)more->rows * row);
        pricer_matrix_free(old);
        *points = all;
    }
    pricer_matrix_free(more);
    return status;
}

static enum pricer_status read_file(struct reproduction *work, const char *path,
                                    struct pricer_matrix **points)
{
    struct pricer_matrix *more = NULL;
    enum pricer_status status = cluster_read(path, true, &more, &work->fault);
    return status == PRICER_OK ? append(work, path, points, more) : status;
}

/* Files whose names are separated by commas; a file whose own name has one is
 * taken as it is. */
static enum pricer_status read_files(struct reproduction *work,
                                     const char *names,
                                     struct pricer_matrix **points)
{
    if (strchr(names, ',') == NULL || access(names, R_OK) == 0)
        return read_file(work, names, points);
    char *copy = strdup(names), *rest = NULL;
    enum pricer_status status = copy == NULL ? PRICER_MEMORY : PRICER_OK;
    for (char *name = copy != NULL ? strtok_r(copy, ",", &rest) : NULL;
         name != NULL && status == PRICER_OK; name = strtok_r(NULL, ",", &rest))
        status = read_file(work, name, points);
    free(copy);
    return status;
}

static enum pricer_status check_points(struct reproduction *work,
                                       const struct pricer_matrix *points)
{
    if (points == NULL || points->rows >= 100)
        return PRICER_OK;
    snprintf(work->fault.text, sizeof work->fault.text,
             "%lld points are too few for ten nodes with ten clusters each",
             (long long)points->rows);
    return PRICER_VALUE;
}

enum pricer_status reproduce_data_read(struct reproduction *work)
{
    char path[4200];
    enum pricer_status status = PRICER_OK;
    for (int k = 0; k < work->cifar.count && status == PRICER_OK; k++)
        status = read_files(work, work->cifar.items[k],
                            &work->points[REPRODUCE_CIFAR]);
    if (status == PRICER_OK && work->fmnist != NULL)
        status = read_file(work, work->fmnist, &work->points[REPRODUCE_FMNIST]);
    if (status == PRICER_OK && work->cifar.count == 0 && work->fmnist == NULL)
        status = read_file(work, find_sample(work, path, sizeof path),
                           &work->points[REPRODUCE_SAMPLE]);
    for (int k = 0; k < REPRODUCE_SETS && status == PRICER_OK; k++)
        status = check_points(work, work->points[k]);
    return status;
}

void reproduce_data_free(struct reproduction *work)
{
    for (int k = 0; k < REPRODUCE_SETS; k++) {
        pricer_matrix_free(work->points[k]);
        work->points[k] = NULL;
    }
}
