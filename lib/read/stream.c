/*
 * From a path to bytes, inflated where the file is gzip.
 *
 * Sizes come from headers that may lie, and the size of a gzip or a pipe is
 * not known before its end. So memory grows with the bytes that are really
 * there, doubling, and never by more than was read before.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The least that is asked for at a time. */
#define STEP (1 << 16)

enum pricer_status pri_stream_fault(const struct pri_stream *stream,
                                    struct pricer_fault *fault,
                                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pri_fault_list(fault, PRICER_FORMAT, format, arguments);
    va_end(arguments);
    pri_fault_locate(fault, stream->path, 0);
    return PRICER_FORMAT;
}

enum pricer_status pri_stream_open(const char *path, struct pri_stream *stream,
                                   struct pricer_fault *fault)
{
    struct stat about;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return pri_fault_errno(fault, path, errno);
    /* zlib does not say that it reads a folder. */
    if (fstat(descriptor, &about) == 0 && S_ISDIR(about.st_mode)) {
        close(descriptor);
        return pri_fault_errno(fault, path, EISDIR);
    }
    gzFile file = gzdopen(descriptor, "rb");
    if (file == NULL) {
        close(descriptor);
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    }
    gzbuffer(file, STEP);
    *stream = (struct pri_stream){path, file};
    return PRICER_OK;
}

void pri_stream_close(struct pri_stream *stream)
{
    gzclose_r(stream->file);
}

/* Read until `count` bytes are there or the file ends. */
static enum pricer_status read_some(struct pri_stream *stream, void *bytes,
                                    int count, int *got,
                                    struct pricer_fault *fault)
{
    int error = Z_OK;
    errno = 0;
    *got = gzread(stream->file, bytes, (unsigned)count);
    int number = errno;
    gzerror(stream->file, &error);
    if (error == Z_OK || error == Z_STREAM_END)
        return PRICER_OK;
    if (error == Z_ERRNO)
        return pri_fault_errno(fault, stream->path, number);
    if (error == Z_MEM_ERROR)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    if (error == Z_BUF_ERROR)
        return pri_stream_fault(stream, fault, "the gzip data is cut short");
    return pri_stream_fault(stream, fault, "the gzip data is damaged");
}

enum pricer_status pri_stream_peek(struct pri_stream *stream,
                                   unsigned char *first,
                                   struct pricer_fault *fault)
{
    int got = 0;
    enum pricer_status status = read_some(stream, first, 1, &got, fault);
    if (status == PRICER_OK && got == 0)
        status = pri_stream_fault(stream, fault, "the file is empty");
    if (status == PRICER_OK)
        gzungetc(*first, stream->file);
    return status;
}

enum pricer_status pri_stream_load(struct pri_stream *stream, int64_t most,
                                   void **memory, int64_t *got,
                                   struct pricer_fault *fault)
{
    char *bytes = NULL;
    int64_t used = 0, room = 0;
    enum pricer_status status = PRICER_OK;
    while (used < most) {
        if (used == room) {
            room = room < STEP ? STEP : 2 * room;
            room = room < most ? room : most;
            char *moved = realloc(bytes, (size_t)room);
            status = moved != NULL
                         ? PRICER_OK
                         : pri_fault(fault, PRICER_MEMORY, "out of memory");
            if (status != PRICER_OK)
                goto done;
            bytes = moved;
        }
        int64_t left = room - used;
        int step = left < (1 << 30) ? (int)left : 1 << 30, count = 0;
        status = read_some(stream, bytes + used, step, &count, fault);
        if (status != PRICER_OK)
            goto done;
        used += count;
        if (count < step)
            break;
    }
    *memory = bytes;
    *got = used;
done:
    if (status != PRICER_OK)
        free(bytes);
    return status;
}

enum pricer_status pri_stream_load_part(struct pri_stream *stream,
                                        int64_t bytes, int64_t first,
                                        int64_t last, void **memory,
                                        struct pricer_fault *fault)
{
    void *loaded = NULL;
    int64_t got = 0;
    char behind;
    int more = 0;
    enum pricer_status status = PRICER_OK;
    if (first > 0 && gzseek(stream->file, first, SEEK_CUR) < 0)
        status = pri_stream_fault(stream, fault, "the file is cut short");
    if (status == PRICER_OK)
        status = pri_stream_load(stream, last - first, &loaded, &got, fault);
    if (status == PRICER_OK && got < last - first)
        status = pri_stream_fault(stream, fault,
                                  "the file is cut short: its header promises "
                                  "%lld bytes of data, %lld are there",
                                  (long long)bytes, (long long)(first + got));
    if (status == PRICER_OK && last == bytes)
        status = read_some(stream, &behind, 1, &more, fault);
    if (status == PRICER_OK && more > 0)
        status = pri_stream_fault(stream, fault,
                                  "the file goes on behind the %lld bytes of "
                                  "data that its header promises",
                                  (long long)bytes);
    if (status == PRICER_OK)
        *memory = loaded;
    else
        free(loaded);
    return status;
}

enum pricer_status pri_stream_load_rest(struct pri_stream *stream,
                                        int64_t bytes, void **memory,
                                        struct pricer_fault *fault)
{
    return pri_stream_load_part(stream, bytes, 0, bytes, memory, fault);
}

enum pricer_status pri_stream_head(struct pri_stream *stream, void *bytes,
                                   int count, struct pricer_fault *fault)
{
    int got = 0;
    enum pricer_status status = read_some(stream, bytes, count, &got, fault);
    if (status == PRICER_OK && got < count)
        status = pri_stream_fault(stream, fault,
                                  "the file is cut short: it ends in its "
                                  "header");
    return status;
}
