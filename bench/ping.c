/*
 * Bare TLS 1.3 that asks and answers as a server and its nodes do, between two
 * processes on loopback and with nothing else to do: what the rounds of a fleet are
 * compared with.
 *
 *   bench_ping CONNECTIONS REQUEST REPLY SECONDS
 *
 * A round: one process sends REQUEST bytes over every connection, another answers
 * each with REPLY bytes when it sees them, and the round is over when all answers
 * are there. Prints rounds a second, and the cores that each side kept busy.
 */
#include "bare.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 256, MESSAGE = 16 << 10 /* bytes of the longest */ };

/* One end that waits for messages of `in` bytes. */
struct ping {
    struct side side;
    int poll;
    size_t in;
    size_t *held; /* [connections] bytes of the next message */
    char message[MESSAGE];
};

static bool watch_all(struct ping *ping, size_t in)
{
    long connections = ping->side.connections;
    ping->in = in;
    ping->poll = epoll_create1(0);
    ping->held = calloc((size_t)connections, sizeof *ping->held);
    bool good = ping->poll >= 0 && ping->held != NULL;
    for (long k = 0; k < connections && good; k++) {
        int file = SSL_get_fd(ping->side.ssl[k]);
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)k};
        good = fcntl(file, F_SETFL, O_NONBLOCK) == 0 &&
               epoll_ctl(ping->poll, EPOLL_CTL_ADD, file, &event) == 0;
    }
    return good;
}

/* Messages are small and answered one by one: there is always room. */
static bool say(struct ping *ping, long k, size_t size)
{
    return SSL_write(ping->side.ssl[k], ping->message, (int)size) == (int)size;
}

/* What has come on a connection; 1: a message is whole, 0: not yet, -1: the
 * other side has gone. */
static int hear(struct ping *ping, long k)
{
    int got = SSL_read(ping->side.ssl[k], ping->message,
                       (int)(ping->in - ping->held[k]));
    if (got <= 0)
        return SSL_get_error(ping->side.ssl[k], got) == SSL_ERROR_WANT_READ
                   ? 0
                   : -1;
    ping->held[k] += (size_t)got;
    if (ping->held[k] < ping->in)
        return 0;
    ping->held[k] = 0;
    return 1;
}

/* Answer until the other side has gone. */
static bool answer_all(struct ping *ping, size_t reply)
{
    struct epoll_event events[EVENTS];
    for (;;) {
        int count = epoll_wait(ping->poll, events, EVENTS, -1);
        for (int e = 0; e < count; e++) {
            long k = (long)events[e].data.u64;
            int heard = hear(ping, k);
            if (heard < 0 || (heard > 0 && !say(ping, k, reply)))
                return true;
        }
    }
}

static bool play_round(struct ping *ping, size_t request)
{
    struct epoll_event events[EVENTS];
    long left = ping->side.connections;
    for (long k = 0; k < ping->side.connections; k++)
        if (!say(ping, k, request))
            return false;
    while (left > 0) {
        int count = epoll_wait(ping->poll, events, EVENTS, -1);
        for (int e = 0; e < count; e++) {
            int heard = hear(ping, (long)events[e].data.u64);
            if (heard < 0)
                return false;
            left -= heard;
        }
    }
    return true;
}

static bool ask_all(struct ping *ping, size_t request, double seconds,
                    pid_t child)
{
    long rounds = 0;
    bool good = play_round(ping, request); /* in which handshakes end */
    double started = bare_clock(), passed = 0;
    double spent = bare_used(RUSAGE_SELF), other = bare_used_by(child);
    for (; good && passed < seconds; passed = bare_clock() - started) {
        good = play_round(ping, request);
        rounds++;
    }
    spent = bare_used(RUSAGE_SELF) - spent;
    other = bare_used_by(child) - other;
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    if (good)
        printf("%.2f %.3f %.3f\n", (double)rounds / passed, spent / passed,
               other / passed);
    return good;
}

int main(int argc, char **argv)
{
    long connections = argc > 1 ? atol(argv[1]) : 1000;
    size_t request = argc > 2 ? strtoul(argv[2], NULL, 10) : 48;
    size_t reply = argc > 3 ? strtoul(argv[3], NULL, 10) : 1100;
    double seconds = argc > 4 ? atof(argv[4]) : 3;
    static struct ping ping;
    struct sockaddr_in where;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int listener = bare_listen(&where);
    if (connections < 1 || request < 1 || request > MESSAGE || reply < 1 ||
        reply > MESSAGE || listener < 0)
        return 2;
    pid_t child = fork();
    if (child == 0)
        _exit(bare_connect(&ping.side, &where, 1, connections) &&
                      watch_all(&ping, request) && answer_all(&ping, reply)
                  ? 0
                  : 1);
    bool good = bare_accept(&ping.side, listener, 1, connections) &&
                watch_all(&ping, reply) &&
                ask_all(&ping, request, seconds, child);
    close(listener);
    bare_free(&ping.side);
    free(ping.held);
    return good ? 0 : 1;
}
