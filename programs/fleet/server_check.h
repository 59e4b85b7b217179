/*
 * pricer-server --check: what would fail, before it does.
 */
#ifndef PROGRAM_SERVER_CHECK_H
#define PROGRAM_SERVER_CHECK_H

#include "server_options.h"

/* Say of everything that a server needs whether it is there, and of what is not
 * what to do. Nobody is let in, no round is opened and nothing is stored. Returns
 * the exit status: 0, all is good. The caller frees what the server then holds. */
int server_check(struct server *server,
                 const struct server_arguments *arguments);

#endif
