/*
 * For LD_PRELOAD: a kernel whose random numbers are the same in every run, as
 * after a snapshot was restored. Each call adds a byte to the file FROZEN_CALLS.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) void randombytes_buf(void *buffer,
                                                            size_t size);

void randombytes_buf(void *buffer, size_t size)
{
    const char *path = getenv("FROZEN_CALLS");
    int file = path != NULL
                   ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)
                   : -1;
    if (file >= 0) {
        (void)!write(file, "x", 1);
        close(file);
    }
    memset(buffer, 7, size);
}
