/*
 * What the operator of a node says: on the command line and in its configuration.
 */
#ifndef PROGRAM_NODE_OPTIONS_H
#define PROGRAM_NODE_OPTIONS_H

#include "node_check.h"
#include "common/config.h"

/* What struct node does not hold. */
struct node_arguments {
    int64_t number, seed, accept;
    const char *config, *emulate;
    struct node_files files;
    bool show, json, replay, check, new_ledger;
};

/* OPTIONS_GO, or the exit status, with the mistake in words. */
int node_options_parse(int argc, char **argv, struct node *node,
                       struct node_arguments *arguments);

#endif
