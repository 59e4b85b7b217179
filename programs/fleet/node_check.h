/*
 * pricer-node --check: what would fail, before it does.
 */
#ifndef PROGRAM_NODE_CHECK_H
#define PROGRAM_NODE_CHECK_H

#include "node.h"

/* The files that the command line names; with neighbours the node forwards. */
struct node_files {
    const char *key, *server_key, *trust, *ledger, *feed, *neighbours;
};

/* Say of everything that a node needs whether it is there, and of what is not
 * what to do. No round is joined and nothing is charged. Returns the exit
 * status: 0, all is good. The caller frees what the node then holds. */
int node_check(struct node *node, const struct node_files *files, bool as_json);

/* Why the server does not answer, and what to do about it; false: there is
 * nothing to say about that. */
bool node_trouble(const struct node *node, enum hub_end why, char *text,
                  size_t size);

#endif
