/*
 * pricer-server --check: what would fail, before it does.
 */
#ifndef PROGRAM_SERVER_CHECK_H
#define PROGRAM_SERVER_CHECK_H

#include "server_options.h"

struct findings;

/*
 * Of a study whose releases are forwarded: what is wrong with its plan, and with who
 * is enrolled. The study is open, and the key was read if it could be. Fills the
 * server's network, attempts and members. False: there is no plan that can be used.
 */
typedef bool server_check_mesh(struct server *server, struct findings *found);

/* Say of everything that a server needs whether it is there, and of what is not
 * what to do. Nobody is let in, no round is opened and nothing is stored. Returns
 * the exit status: 0, all is good. The caller frees what the server then holds. */
int server_check(struct server *server,
                 const struct server_arguments *arguments,
                 server_check_mesh *mesh);

/* Whether as many are enrolled as the operator asks for; else it is said. */
bool server_check_count(struct findings *found, const struct server *server);

/* server_check() and the end of the process: an exit status. */
int server_run_check(struct server *server,
                     const struct server_arguments *arguments,
                     server_check_mesh *mesh);

/* A list of names that grows, the first few of them: zero it first. */
struct server_names {
    char text[8 * sizeof(struct node_label) + 64];
    size_t used;
    int32_t count;
};
void server_name(struct server_names *names,
                 const struct pricer_network *network, int32_t node);
/* The list, complete. */
const char *server_names_text(struct server_names *names);

#endif
