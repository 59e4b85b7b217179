/*
 * A bare TLS 1.3 pipe between two processes on loopback, with the keys and the
 * cipher of a fleet and nothing else: bench_pipe SIZE COUNT prints payload bytes
 * a second. It is what a fleet's throughput is compared with.
 */
#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
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

static int send_all(const struct sockaddr_in *where, size_t size, long count)
{
    int file = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(file, (const struct sockaddr *)where, sizeof *where) != 0)
        return 1;
    SSL_CTX *context = make_context();
    SSL *ssl = SSL_new(context);
    char *payload = calloc(1, size);
    SSL_set_fd(ssl, file);
    bool good = payload != NULL && SSL_connect(ssl) == 1;
    for (long k = 0; k < count && good; k++)
        good = SSL_write(ssl, payload, (int)size) == (int)size;
    SSL_shutdown(ssl);
    SSL_free(ssl);
    SSL_CTX_free(context);
    free(payload);
    close(file);
    return good ? 0 : 1;
}

static bool receive(SSL *ssl, char *payload, size_t size)
{
    size_t held = 0;
    while (held < size) {
        int got = SSL_read(ssl, payload + held, (int)(size - held));
        if (got <= 0)
            return false;
        held += (size_t)got;
    }
    return true;
}

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 80000;
    long count = argc > 2 ? atol(argv[2]) : 5000;
    struct sockaddr_in where = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t room = sizeof where;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&where, room) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&where, &room) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(send_all(&where, size, count));
    SSL_CTX *context = make_context();
    SSL *ssl = SSL_new(context);
    char *payload = malloc(size);
    int file = accept(listener, NULL, NULL);
    SSL_set_fd(ssl, file);
    bool good =
        payload != NULL && SSL_accept(ssl) == 1 && receive(ssl, payload, size);
    double started = now();
    for (long k = 1; k < count && good; k++)
        good = receive(ssl, payload, size);
    double seconds = now() - started;
    if (good)
        printf("%.0f\n", (double)size * (double)(count - 1) / seconds);
    waitpid(child, NULL, 0);
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(file);
    close(listener);
    free(payload);
    return good ? 0 : 1;
}
