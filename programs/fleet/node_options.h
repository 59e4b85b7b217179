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

/* Nothing is sent while the ledger cannot be opened; it is made only if that is
 * asked for. */
enum pricer_status node_open_ledger(const char *path, bool new_ledger,
                                    const char *server, struct ledger **ledger,
                                    struct pricer_fault *fault);

/* Take part until the operator wants to stop; look whether that would work, where
 * it forwards with the help of `mesh`; or --ledger-accept: what was lost is lost.
 * An exit status. */
int node_run(struct node *node, const struct node_arguments *arguments);
int node_run_check(struct node *node, const struct node_arguments *arguments,
                   node_check_mesh *mesh);
int node_run_accept(const struct node_arguments *arguments);

#endif
