/*
 * Coalitions as they are written on the command line.
 */
#ifndef PROGRAM_COALITION_H
#define PROGRAM_COALITION_H

#include "pricer.h"

struct coalition {
    int32_t *members, member_count;
    bool with_server;
};

/* "1,4,server" in a network of so many nodes; free members with free(). */
enum pricer_status coalition_read(const char *list, int32_t nodes,
                                  struct coalition *coalition,
                                  struct pricer_fault *fault);

#endif
