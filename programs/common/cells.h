/*
 * Small CSV files that people write by hand: trust files, addresses, neighbours.
 */
#ifndef PROGRAM_CELLS_H
#define PROGRAM_CELLS_H

#include "pricer.h"

enum { CELLS_MOST = 16 };

/*
 * The first line that is neither empty nor a comment (#) names the columns, in
 * any order; the first `required` of `names` must be there. `row` gets every
 * other line, cell[c] for names[c], without blanks and quotes around it, and ""
 * where there is none. It may change the cells.
 */
struct cells {
    const char *path;
    const char *const *names; /* [count] */
    int count, required;      /* at most CELLS_MOST */
    enum pricer_status (*row)(void *context, int64_t line, char *const *cell,
                              struct pricer_fault *fault);
    void *context;
};

/* Faults begin with file and line, also those of `row`. */
enum pricer_status cells_read(const struct cells *cells,
                              struct pricer_fault *fault);

#endif
