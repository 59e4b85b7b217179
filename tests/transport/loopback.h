/*
 * From a hub to one that listens at a port of its own.
 */
#ifndef TESTS_LOOPBACK_H
#define TESTS_LOOPBACK_H

#include "transport/transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

/* At a port that nobody has; its address. */
static void listen_somewhere(struct hub *hub, char *address)
{
    struct sockaddr_in where = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof where;
    int file = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(file, (struct sockaddr *)&where, size), 0);
    assert_int_equal(getsockname(file, (struct sockaddr *)&where, &size), 0);
    close(file);
    sprintf(address, "tcp://127.0.0.1:%d", ntohs(where.sin_port));
    assert_int_equal(hub_listen(hub, address, NULL), PRICER_OK);
}

#endif
