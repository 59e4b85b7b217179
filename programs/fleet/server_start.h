/*
 * What pricer-server does before it listens, and --check tries.
 */
#ifndef PROGRAM_SERVER_START_H
#define PROGRAM_SERVER_START_H

#include "server_options.h"

/* Where to listen, into server->address: as asked for, or (NULL) as enrolled. The
 * key must be the one that is enrolled for the server. */
enum pricer_status server_find_address(struct server *server, const char *asked,
                                       struct pricer_fault *fault);

/* The true mean from a file; NULL: it is not known. */
enum pricer_status server_load_truth(struct server *server, const char *path,
                                     struct pricer_fault *fault);

/* Whether as many nodes are enrolled as the operator asks for. */
enum pricer_status server_count_members(const struct server *server,
                                        struct pricer_fault *fault);

/* How many threads do TLS: as asked for (0: not), or by the machine and the length
 * of the vectors that come. */
int32_t server_find_threads(int64_t asked, int64_t dimension);

#endif
