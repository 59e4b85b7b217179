/*
 * A bare ZeroMQ CURVE pipe between two processes on loopback, PUSH to PULL:
 * bench_pipe SIZE COUNT prints payload bytes a second. It is what a fleet's
 * throughput is compared with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static int send_all(const char *address, const char *server, size_t size,
                    long count)
{
    char public_key[41], secret_key[41];
    void *context = zmq_ctx_new();
    void *push = zmq_socket(context, ZMQ_PUSH);
    char *payload = calloc(1, size);
    zmq_curve_keypair(public_key, secret_key);
    zmq_setsockopt(push, ZMQ_CURVE_SERVERKEY, server, 41);
    zmq_setsockopt(push, ZMQ_CURVE_PUBLICKEY, public_key, 41);
    zmq_setsockopt(push, ZMQ_CURVE_SECRETKEY, secret_key, 41);
    if (payload == NULL || zmq_connect(push, address) != 0)
        return 1;
    for (long k = 0; k < count; k++)
        zmq_send(push, payload, size, 0);
    zmq_close(push);
    zmq_ctx_term(context);
    free(payload);
    return 0;
}

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 80000;
    long count = argc > 2 ? atol(argv[2]) : 5000;
    char public_key[41], secret_key[41], address[128];
    size_t room = sizeof address;
    int yes = 1;
    zmq_curve_keypair(public_key, secret_key);
    void *context = zmq_ctx_new();
    void *pull = zmq_socket(context, ZMQ_PULL);
    zmq_setsockopt(pull, ZMQ_CURVE_SERVER, &yes, sizeof yes);
    zmq_setsockopt(pull, ZMQ_CURVE_SECRETKEY, secret_key, 41);
    if (zmq_bind(pull, "tcp://127.0.0.1:*") != 0)
        return 1;
    zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, address, &room);
    pid_t child = fork();
    if (child == 0)
        _exit(send_all(address, public_key, size, count));
    char *payload = malloc(size);
    zmq_recv(pull, payload, size, 0);
    double started = now();
    for (long k = 1; k < count; k++)
        zmq_recv(pull, payload, size, 0);
    double seconds = now() - started;
    printf("%.0f\n", (double)size * (double)(count - 1) / seconds);
    waitpid(child, NULL, 0);
    zmq_close(pull);
    zmq_ctx_term(context);
    free(payload);
    return 0;
}
