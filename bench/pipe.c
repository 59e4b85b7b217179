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
#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* CPU seconds so far, of this process or of its children that have ended. */
static double used(int whose)
{
    struct rusage usage;
    getrusage(whose, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* A context with a key and certificate of its own. */
static SSL_CTX *make_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    X509 *certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, NULL);
    SSL_CTX_use_certificate(context, certificate);
    SSL_CTX_use_PrivateKey(context, key);
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 64 << 10);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return context;
}

/* One end of the connections, each with a message of its own. */
struct side {
    SSL_CTX *context;
    SSL **ssl;
    char *messages;
    size_t size;
    long connections;
};

static bool make_side(struct side *side, size_t size, long connections)
{
    *side = (struct side){
        .context = make_context(),
        .ssl = calloc((size_t)connections, sizeof(SSL *)),
        .messages = calloc((size_t)connections, size),
        .size = size,
        .connections = connections,
    };
    return side->context != NULL && side->ssl != NULL && side->messages != NULL;
}

static bool begin(struct side *side, long k, int file)
{
    side->ssl[k] = SSL_new(side->context);
    return file >= 0 && side->ssl[k] != NULL &&
           SSL_set_fd(side->ssl[k], file) == 1;
}

static void free_side(struct side *side)
{
    for (long k = 0; k < side->connections && side->ssl != NULL; k++) {
        if (side->ssl[k] != NULL)
            close(SSL_get_fd(side->ssl[k]));
        SSL_free(side->ssl[k]);
    }
    SSL_CTX_free(side->context);
    free(side->ssl);
    free(side->messages);
}

static bool send_all(const struct sockaddr_in *where, size_t size, long count,
                     long connections)
{
    struct side side;
    bool good = make_side(&side, size, connections);
    for (long k = 0; k < connections && good; k++) {
        int file = socket(AF_INET, SOCK_STREAM, 0);
        good =
            connect(file, (const struct sockaddr *)where, sizeof *where) == 0 &&
            begin(&side, k, file) && SSL_connect(side.ssl[k]) == 1;
    }
    for (long k = 0; k < count && good; k++) {
        long c = k % connections;
        good = SSL_write(side.ssl[c], side.messages + (size_t)c * size,
                         (int)size) == (int)size;
    }
    for (long k = 0; k < connections && good; k++)
        SSL_shutdown(side.ssl[k]);
    free_side(&side);
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

/* All messages; the seconds that they took, but for the first on each
 * connection. */
static bool receive_all(int listener, size_t size, long count, long connections,
                        double *seconds, double *busy)
{
    struct side side;
    bool good = make_side(&side, size, connections);
    for (long k = 0; k < connections && good; k++)
        good = begin(&side, k, accept(listener, NULL, NULL)) &&
               SSL_accept(side.ssl[k]) == 1;
    for (long k = 0; k < connections && good; k++)
        good = receive(&side, k);
    double started = now(), spent = used(RUSAGE_SELF);
    for (long k = connections; k < count && good; k++)
        good = receive(&side, k % connections);
    *seconds = now() - started;
    *busy = used(RUSAGE_SELF) - spent;
    free_side(&side);
    return good;
}

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 80000;
    long count = argc > 2 ? atol(argv[2]) : 5000;
    long connections = argc > 3 ? atol(argv[3]) : 1;
    double seconds = 0, busy = 0;
    struct sockaddr_in where = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t room = sizeof where;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (size < 1 || connections < 1 || count <= connections ||
        bind(listener, (struct sockaddr *)&where, room) != 0 ||
        listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&where, &room) != 0)
        return 2;
    pid_t child = fork();
    if (child == 0) /* its handshakes are a part of what it spends */
        _exit(send_all(&where, size, count, connections) ? 0 : 1);
    bool good =
        receive_all(listener, size, count, connections, &seconds, &busy);
    waitpid(child, NULL, 0);
    double bytes = (double)size * (double)(count - connections);
    if (good)
        printf("%.0f %.4f\n", bytes / seconds,
               1e9 * (busy + used(RUSAGE_CHILDREN)) / bytes);
    close(listener);
    return good ? 0 : 1;
}
