/*
 * From an address to many shaken TLS 1.3 connections, for bench_pipe and
 * bench_ping.
 */
#include "bare.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double bare_clock(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

double bare_used(int whose)
{
    struct rusage usage;
    getrusage(whose, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

double bare_used_by(pid_t child)
{
    clockid_t clock;
    struct timespec at = {0};
    if (clock_getcpuclockid(child, &clock) == 0)
        clock_gettime(clock, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

int bare_listen(struct sockaddr_in *where)
{
    socklen_t room = sizeof *where;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    *where = (struct sockaddr_in){.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (bind(listener, (struct sockaddr *)where, room) == 0 &&
        listen(listener, 64) == 0 &&
        getsockname(listener, (struct sockaddr *)where, &room) == 0)
        return listener;
    close(listener);
    return -1;
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

bool bare_connect(struct side *side, const struct sockaddr_in *where,
                  size_t size, long connections)
{
    bool good = make_side(side, size, connections);
    for (long k = 0; k < connections && good; k++) {
        int file = socket(AF_INET, SOCK_STREAM, 0);
        good =
            connect(file, (const struct sockaddr *)where, sizeof *where) == 0 &&
            begin(side, k, file) && SSL_connect(side->ssl[k]) == 1;
    }
    return good;
}

bool bare_accept(struct side *side, int listener, size_t size, long connections)
{
    bool good = make_side(side, size, connections);
    for (long k = 0; k < connections && good; k++)
        good = begin(side, k, accept(listener, NULL, NULL)) &&
               SSL_accept(side->ssl[k]) == 1;
    return good;
}

void bare_free(struct side *side)
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
