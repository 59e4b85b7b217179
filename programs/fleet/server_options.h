/*
 * What the operator of a server says: on the command line and in its configuration.
 */
#ifndef PROGRAM_SERVER_OPTIONS_H
#define PROGRAM_SERVER_OPTIONS_H

#include "server.h"
#include "common/config.h"

/* What struct server does not hold. */
struct server_arguments {
    const char *config, *study, *key, *listen, *truth, *status_address;
    int64_t port, seed, after, threads;
    bool emulate, check, json;
    struct server_times times; /* as given; the study says the attempts */
};

/* OPTIONS_GO, or the exit status, with the mistake in words. The server's times
 * are those of a round with one attempt. */
int server_options_parse(int argc, char **argv, struct server *server,
                         struct server_arguments *arguments);

/* Times that are not given (-1) follow from those that are. */
void server_fill_times(struct server_times *times, int64_t attempts);

/* Run rounds until the operator wants to stop, or look whether that would work;
 * an exit status. */
int server_run(struct server *server, const struct server_arguments *arguments);

#endif
