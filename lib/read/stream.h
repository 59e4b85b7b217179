/*
 * Files of bytes, compressed or not, and the kinds of matrix that stand in
 * them.
 */
#ifndef PRICER_READ_STREAM_H
#define PRICER_READ_STREAM_H

#include "read.h"

#include <zlib.h>

/* A file of bytes, inflated as it is read if it is gzip. */
struct pri_stream {
    const char *path;
    gzFile file;
};

enum pricer_status pri_stream_open(const char *path, struct pri_stream *stream,
                                   struct pricer_fault *fault);
void pri_stream_close(struct pri_stream *stream);

/*
 * Read up to `most` bytes into memory that grows with what is there, so that a
 * header that lies about its size costs nothing; *got is less than `most` only
 * at the end of the file. The caller frees *memory.
 */
enum pricer_status pri_stream_load(struct pri_stream *stream, int64_t most,
                                   void **memory, int64_t *got,
                                   struct pricer_fault *fault);

/* The same for a known number of bytes that must be there, with nothing behind
 * them. */
enum pricer_status pri_stream_load_rest(struct pri_stream *stream,
                                        int64_t bytes, void **memory,
                                        struct pricer_fault *fault);

/* The same for bytes from `first` to `last` of these; what is behind is looked
 * at only if `last` is the end. */
enum pricer_status pri_stream_load_part(struct pri_stream *stream,
                                        int64_t bytes, int64_t first,
                                        int64_t last, void **memory,
                                        struct pricer_fault *fault);

/* The first byte, which stays to be read; there must be one. */
enum pricer_status pri_stream_peek(struct pri_stream *stream,
                                   unsigned char *first,
                                   struct pricer_fault *fault);

/* Read a few bytes that must be there. */
enum pricer_status pri_stream_head(struct pri_stream *stream, void *bytes,
                                   int count, struct pricer_fault *fault);

/* Write "path: " and a complaint about the form of a file. */
enum pricer_status pri_stream_fault(const struct pri_stream *stream,
                                    struct pricer_fault *fault,
                                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A text file as lines of cells, of which blank lines and comments, which begin
 * with '#', are passed over. */
struct pri_lines {
    const char *path;
    char *text;     /* the whole file, ending with NUL */
    char *next;     /* where the next line begins */
    char *at, *end; /* the rest of this line; at is NULL behind its last cell */
    int64_t line;   /* the number of this line, from 1 */
    char separator; /* of cells, as pri_separator() says; NUL: not known yet */
};
enum pricer_status pri_lines_load(struct pri_stream *stream,
                                  struct pri_lines *lines,
                                  struct pricer_fault *fault);
void pri_lines_free(struct pri_lines *lines);

/* Go to the next line that has cells; false at the end. */
bool pri_lines_next(struct pri_lines *lines);

/* The next cell of this line without blanks around it, valid until the lines
 * are freed; NULL at the end of the line. Cells are cut out of the text, so a
 * line can be gone through once. */
char *pri_lines_cell(struct pri_lines *lines);

/* Each reads what stands behind the first byte's hint into a new matrix; of the
 * rows only those of the part, which is told how many there are. */
enum pricer_status pri_npy_read(struct pri_stream *stream,
                                struct pri_rows_wanted *part,
                                struct pricer_matrix **matrix,
                                struct pricer_fault *fault);
enum pricer_status pri_idx_read(struct pri_stream *stream,
                                struct pri_rows_wanted *part,
                                struct pricer_matrix **matrix,
                                struct pricer_fault *fault);
enum pricer_status pri_text_read(struct pri_stream *stream,
                                 struct pri_rows_wanted *part,
                                 struct pricer_matrix **matrix,
                                 struct pricer_fault *fault);
enum pricer_status pri_cifar_read(struct pri_stream *stream, bool labels,
                                  struct pri_rows_wanted *part,
                                  struct pricer_matrix **matrix,
                                  struct pricer_fault *fault);

/* Tell the part how many rows there are, and let it choose among them. */
static inline void pri_part_choose(struct pri_rows_wanted *part, int64_t rows)
{
    part->rows = part->last = rows;
    part->first = 0;
    if (part->choose != NULL)
        part->choose(part);
}

#endif
