/*
 * Bare TLS 1.3 between two processes on loopback, with the keys and the cipher of
 * a fleet and nothing else: what a fleet's throughput is compared with.
 *
 *   bench_pipe SIZE COUNT [CONNECTIONS]
 *
 * One process writes COUNT messages of SIZE bytes, over each connection in turn,
 * another reads them; prints payload bytes a second and the CPU seconds that both
 * spent on a gigabyte. With as many connections as the fleet has links, neither
 * side's buffers and TLS states fit its caches, as in the fleet.
 */
#include "bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool send_all(const struct sockaddr_in *where, size_t size, long count,
                     long connections)
{
    struct side side;
    bool good = bare_connect(&side, where, size, connections);
    for (long k = 0; k < count && good; k++) {
        long c = k % connections;
        good = SSL_write(side.ssl[c], side.messages + (size_t)c * size,
                         (int)size) == (int)size;
    }
    for (long k = 0; k < connections && good; k++)
        SSL_shutdown(side.ssl[k]);
    bare_free(&side);
    return good;
}

static bool receive(struct side *side, long c)
{
    size_t held = 0;
    while (held < side->size) {
        int got = SSL_read(side->ssl[c],
                           side->messages + (size_t)c * side->size + held,
                           (int)(side->size - held));
        if (got <= 0)
            return false;
        held += (size_t)got;
    }
    return true;
}

/* All messages; the seconds that they took, and the CPU seconds that both sides
 * had spent before, but for the first on each connection. */
static bool receive_all(int listener, size_t size, long count, long connections,
                        pid_t child, double *seconds, double *before)
{
    struct side side;
    bool good = bare_accept(&side, listener, size, connections);
    for (long k = 0; k < connections && good; k++)
        good = receive(&side, k);
    double started = bare_clock();
    *before = bare_used(RUSAGE_SELF) + bare_used_by(child);
    for (long k = connections; k < count && good; k++)
        good = receive(&side, k % connections);
    *seconds = bare_clock() - started;
    bare_free(&side);
    return good;
}

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 80000;
    long count = argc > 2 ? atol(argv[2]) : 5000;
    long connections = argc > 3 ? atol(argv[3]) : 1;
    double seconds = 0, before = 0;
    struct sockaddr_in where;
    int listener = bare_listen(&where);
    if (size < 1 || connections < 1 || count <= connections || listener < 0)
        return 2;
    pid_t child = fork();
    if (child == 0)
        _exit(send_all(&where, size, count, connections) ? 0 : 1);
    bool good = receive_all(listener, size, count, connections, child, &seconds,
                            &before);
    waitpid(child, NULL, 0);
    double busy = bare_used(RUSAGE_SELF) + bare_used(RUSAGE_CHILDREN);
    double bytes = (double)size * (double)(count - connections);
    if (good)
        printf("%.0f %.4f\n", bytes / seconds, 1e9 * (busy - before) / bytes);
    close(listener);
    return good ? 0 : 1;
}
