/*
 * What the fuzzers share. Each hands arbitrary bytes to one reader as a file
 * and looks for nothing but crashes, leaks, hangs and undefined behaviour: the
 * sanitizers do the finding. A fuzzer is one function, which libFuzzer calls
 * (run.sh) or replay.c, with the files of a corpus.
 */
#ifndef PRICER_FUZZ_H
#define PRICER_FUZZ_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Put the bytes into a file in memory, with this ending of its name, and say
 * where it is. The name is the process's own, so that fuzzers can run side by
 * side; the next call uses it again.
 */
static inline const char *fuzz_file(const char *ending, const uint8_t *data,
                                    size_t size)
{
    static char path[64];
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(path, sizeof path, "%s/pricer-fuzz-%ld%s", folder, (long)getpid(),
             ending);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, data, size) != (ssize_t)size) {
        perror(path);
        abort();
    }
    close(file);
    return path;
}

/*
 * What the readers made of their inputs. A corpus of which nothing is accepted
 * does not reach behind the first check: replay.c calls that a failure.
 */
__attribute__((weak)) int fuzz_asked, fuzz_accepted;

/* The fault must be a text that ends, whatever was in the file. */
static inline void fuzz_check_fault(int status, const char *text, size_t room)
{
    fuzz_asked++;
    fuzz_accepted += status == 0;
    if (status != 0 && strnlen(text, room) == room)
        abort();
}

#endif
