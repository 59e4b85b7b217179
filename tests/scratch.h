/*
 * A folder for the files of one test program, and writing into it.
 */
#ifndef PRICER_SCRATCH_H
#define PRICER_SCRATCH_H

#include "tests/test.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];

/* The path of a file in the folder; the room is used again after 8 calls. */
static inline const char *scratch_path(const char *name)
{
    static char room[8][200];
    static int next;
    char *path = room[next++ % 8];
    snprintf(path, sizeof room[0], "%s/%s", scratch, name);
    return path;
}

static inline const char *scratch_write(const char *name, const void *bytes,
                                        size_t length)
{
    const char *path = scratch_path(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline const char *scratch_text(const char *name, const char *text)
{
    return scratch_write(name, text, strlen(text));
}

static inline int scratch_open(void **state)
{
    (void)state;
    strcpy(scratch, "/tmp/pricer-test-XXXXXX");
    return mkdtemp(scratch) == NULL;
}

/* The same in memory, where there is such a folder: for tests that write small
 * files through to the disk again and again. */
static inline int scratch_open_memory(void **state)
{
    if (access("/dev/shm", W_OK) != 0)
        return scratch_open(state);
    strcpy(scratch, "/dev/shm/pricer-test-XXXXXX");
    return mkdtemp(scratch) == NULL;
}

static inline int scratch_remove(const char *path, const struct stat *about,
                                 int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

static inline int scratch_close(void **state)
{
    (void)state;
    return nftw(scratch, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* Fail unless a fault says exactly this, the folder's name left out. */
static inline void scratch_says(const char *fault, const char *expected)
{
    char plain[600] = "";
    size_t used = 0, folder = strlen(scratch) + 1;
    while (*fault != '\0' && used < sizeof plain - 1) {
        if (strncmp(fault, scratch, folder - 1) == 0 &&
            fault[folder - 1] == '/')
            fault += folder;
        else
            plain[used++] = *fault++;
    }
    plain[used] = '\0';
    if (strcmp(plain, expected) != 0)
        fail_msg("it says\n  %s\ninstead of\n  %s", plain, expected);
}

#endif
