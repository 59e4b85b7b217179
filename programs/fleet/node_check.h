/*
 * pricer-node --check: what would fail, before it does.
 */
#ifndef PROGRAM_NODE_CHECK_H
#define PROGRAM_NODE_CHECK_H

#include "check.h"
#include "ledger_release.h"
#include "node.h"

/* The files that the command line names; with neighbours the node forwards. */
struct node_files {
    const char *key, *server_key, *trust, *ledger, *feed, *neighbours;
};

/*
 * Of a node that forwards: listen, reach the server and the neighbours, hear the
 * plan, and say what became of that. The node's files were read, its hub is not
 * open. False: no plan was heard; else the node's release of it, and how long its
 * vector may be.
 */
typedef bool node_check_mesh(struct node *node, const struct node_files *files,
                             struct findings *found, struct ledger_terms *terms,
                             double *reach);

/* Say of everything that a node needs whether it is there, and of what is not
 * what to do. No round is joined and nothing is charged. Returns the exit
 * status: 0, all is good. The caller frees what the node then holds. */
int node_check(struct node *node, const struct node_files *files, bool as_json,
               node_check_mesh *mesh);

/* What became of the server: it was reached, or its last end. Where neighbours
 * forward, nobody need reach it. */
void node_check_server(struct findings *found, const struct node *node,
                       bool opened, enum hub_end why, bool forward);
/* Whether waiting longer changes nothing. */
bool node_check_is_final(enum hub_end why);

/* Why the server does not answer, and what to do about it; false: there is
 * nothing to say about that. */
bool node_trouble(const struct node *node, enum hub_end why, char *text,
                  size_t size);

#endif
