/*
 * The neighbours of a node that forwards, as its operator names them: whom it
 * connects to and lets in before it has heard the server at all.
 */
#ifndef PROGRAM_NEIGHBOURS_H
#define PROGRAM_NEIGHBOURS_H

#include "pricer_study.h"

struct neighbour {
    int32_t node;
    char key[PRICER_KEY_TEXT];
    char address[PRICER_ADDRESS_TEXT]; /* or empty: it connects to this node */
    char name[PRICER_NAME_TEXT];       /* that people call it by, or empty */
    int64_t line;                      /* of the file */
};

struct neighbours {
    struct neighbour *rows; /* by node */
    int32_t count;
};

/* CSV with the columns node,key,address[,name]. A file with a header alone is
 * that of a node without neighbours. */
enum pricer_status neighbours_read(const char *path,
                                   struct neighbours *neighbours,
                                   struct pricer_fault *fault);
void neighbours_free(struct neighbours *neighbours);

/* The row of a node, or NULL. */
const struct neighbour *neighbours_find(const struct neighbours *neighbours,
                                        int32_t node);

#endif
