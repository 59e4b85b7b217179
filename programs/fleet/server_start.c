/*
 * From the command line and the study to what a server needs before it listens: its
 * address, the times of its rounds, the mean if that is known. Each can fail, and
 * says why.
 */
#include "server_start.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum pricer_status server_find_address(struct server *server, const char *asked,
                                       struct pricer_fault *fault)
{
    struct pricer_member *members = NULL;
    int32_t count = 0;
    enum pricer_status status =
        pricer_study_members(server->study, &members, &count, fault);
    if (status != PRICER_OK)
        return status;
    bool enrolled = count > 0 && members[0].node == PRICER_SERVER;
    if (!enrolled || strcmp(members[0].key, server->pair.public_key) != 0)
        status = daemon_fault(fault, PRICER_VALUE,
                              "this key is not enrolled as the server's in the "
                              "study");
    else
        snprintf(server->address, sizeof server->address, "%s",
                 asked != NULL ? asked : members[0].address);
    pricer_members_free(members);
    return status;
}

enum pricer_status server_load_truth(struct server *server, const char *path,
                                     struct pricer_fault *fault)
{
    struct pricer_matrix *matrix = NULL;
    if (path == NULL)
        return PRICER_OK;
    enum pricer_status status = pricer_matrix_read(path, &matrix, fault);
    if (status == PRICER_OK && matrix->columns != server->network->dimension)
        status = daemon_fault(fault, PRICER_VALUE,
                              "%.300s: not of the study's dimension", path);
    if (status == PRICER_OK) {
        server->truth = calloc((size_t)matrix->columns, sizeof *server->truth);
        if (server->truth == NULL)
            status = PRICER_MEMORY;
        else
            pricer_matrix_row(matrix, 0, server->truth);
    }
    pricer_matrix_free(matrix);
    return status;
}

enum pricer_status server_count_members(const struct server *server,
                                        struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    if (server->quorum > server->members)
        status = daemon_fault(fault, PRICER_VALUE,
                              "--quorum %lld, and only %d nodes are enrolled",
                              (long long)server->quorum, (int)server->members);
    if (status == PRICER_OK && server->wait > server->members)
        status = daemon_fault(fault, PRICER_VALUE,
                              "--wait %lld, and only %d nodes are enrolled",
                              (long long)server->wait, (int)server->members);
    return status;
}

/* The thread of the rounds is one of them. Half of the cores is for what else the
 * machine does, but for long sums: TLS is most of the work then, and of short ones
 * threads cost more than they bring. */
int32_t server_find_threads(int64_t asked, int64_t dimension)
{
    enum { MOST = 8, LONG = 4000 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long some = dimension < LONG ? cores / 2 : cores;
    return (int32_t)(asked > 0 ? asked : some > MOST ? MOST : some);
}
