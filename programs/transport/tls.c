/*
 * OpenSSL within the limits of docs/protocol.md, section 2: TLS 1.3, Ed25519 on
 * both sides, and of certificates nothing but the key.
 */
#include "hub.h"
#include "common/daemon.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    RECORD = 17 << 10, /* bytes of the longest record, and more */
    /* OpenSSL moves all that it has read to the front of its buffer with every
     * record, so much room for many of them costs more than calls of the kernel. */
    READ_BUFFER = 2 * RECORD,
};

/* ----------------------------------------------------------------- write -- */

/* A record for the peer whose data the BIO has. */
static int seal(BIO *bio, const char *data, size_t size, size_t *done)
{
    struct hub_peer *peer = BIO_get_data(bio);
    struct desk *desk = peer->desk;
    BIO_clear_retry_flags(bio);
    if (peer->sealed.end > 0 || size > HUB_SEALED - desk->size) {
        BIO_set_retry_write(bio);
        return 0;
    }
    memcpy(desk->sealed + desk->size, data, size);
    desk->size += size;
    *done = size;
    return 1;
}

static long control(BIO *bio, int command, long number, void *data)
{
    (void)bio, (void)number, (void)data;
    return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_sealing(void)
{
    BIO_METHOD *made = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "sealed");
    if (made != NULL && BIO_meth_set_write_ex(made, seal) == 1 &&
        BIO_meth_set_ctrl(made, control) == 1)
        return made;
    BIO_meth_free(made);
    return NULL;
}

/* As many bytes as the socket takes now; false: it takes none any more. */
static bool push(int file, const uint8_t *data, size_t size, size_t *done)
{
    for (*done = 0; *done < size;) {
        ssize_t sent = send(file, data + *done, size - *done, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        *done += (size_t)sent;
    }
    return true;
}

/* What the socket had no room for is kept; it is empty now. */
static bool keep(struct hub_peer *peer, const uint8_t *data, size_t size)
{
    peer->sealed = (struct peer_bytes){malloc(size), 0, size, size};
    if (peer->sealed.data == NULL)
        return false;
    memcpy(peer->sealed.data, data, size);
    return true;
}

enum tls_step tls_flush(struct hub_peer *peer, enum hub_end *why)
{
    struct desk *desk = peer->desk;
    struct peer_bytes *rest = &peer->sealed;
    size_t done = 0, size = desk->size;
    desk->size = 0;
    bool good = !peer->failed;
    if (good && rest->end > 0) { /* then there is nothing else */
        good = push(peer->file, rest->data + rest->start,
                    rest->end - rest->start, &done);
        rest->start += done;
        if (rest->start == rest->end) {
            free(rest->data);
            *rest = (struct peer_bytes){0};
        }
    } else if (good && size > 0) {
        good = push(peer->file, desk->sealed, size, &done) &&
               (done == size || keep(peer, desk->sealed + done, size - done));
    }
    if (good)
        return rest->end > 0 ? TLS_WRITE : TLS_DONE;
    peer->failed = true;
    *why = HUB_LEFT;
    return TLS_ENDED;
}

/* --------------------------------------------------------------- context -- */

/*
 * Claim: a handshake is done only with the owner of a key that is pinned or
 * admitted. Proof: this answers no to every other key, TLS 1.3 demands a
 * signature by the certificate's key over the handshake, and a connection
 * without a certificate fails (SSL_VERIFY_FAIL_IF_NO_PEER_CERT). Names, dates
 * and signatures of certificates are not looked at.
 */
static int verify(X509_STORE_CTX *store, void *context)
{
    const struct gate *gate = context;
    SSL *ssl =
        X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct hub_peer *peer = SSL_get_app_data(ssl);
    X509 *certificate = X509_STORE_CTX_get0_cert(store);
    peer->shown =
        certificate != NULL && keys_of_certificate(certificate, peer->key);
    bool known =
        peer->shown &&
        (peer->guest ? gate_find(gate, peer->key) != NULL
                     : memcmp(peer->key, peer->pinned, KEYS_SIZE) == 0);
    peer->unknown = !known;
    X509_STORE_CTX_set_error(store,
                             known ? X509_V_OK : X509_V_ERR_CERT_UNTRUSTED);
    return known;
}

/* Count what TLS says beside the data once the handshake is over. */
static void listen_in(int writing, int version, int type, const void *data,
                      size_t size, SSL *ssl, void *context)
{
    struct hub_peer *peer = SSL_get_app_data(ssl);
    (void)version, (void)data, (void)size, (void)context;
    if (!writing && type == SSL3_RT_HANDSHAKE && peer != NULL &&
        peer->state >= PEER_GREETING)
        peer->chatter++;
}

static void set_limits(SSL_CTX *context, const struct gate *gate)
{
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_early_data(context, 0);
    SSL_CTX_set_max_cert_list(context, HUB_CERTIFICATE);
    /* A read comes back after every TLS message, so that nobody who sends only
     * those keeps it. */
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_verify(context,
                       SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(context, verify, (void *)(uintptr_t)gate);
    SSL_CTX_set_msg_callback(context, listen_in);
}

enum pricer_status tls_open(const struct key_pair *pair,
                            const struct gate *gate, SSL_CTX **context,
                            struct pricer_fault *fault)
{
    SSL_CTX *made = SSL_CTX_new(TLS_method());
    if (made == NULL)
        return PRICER_MEMORY;
    set_limits(made, gate);
    if (SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) == 1 &&
        SSL_CTX_set_max_proto_version(made, TLS1_3_VERSION) == 1 &&
        SSL_CTX_set_ciphersuites(made, "TLS_AES_128_GCM_SHA256:"
                                       "TLS_CHACHA20_POLY1305_SHA256:"
                                       "TLS_AES_256_GCM_SHA384") == 1 &&
        SSL_CTX_set1_groups_list(made, "X25519") == 1 &&
        SSL_CTX_set1_sigalgs_list(made, "ed25519") == 1 &&
        SSL_CTX_use_certificate(made, pair->certificate) == 1 &&
        SSL_CTX_use_PrivateKey(made, pair->secret) == 1) {
        *context = made;
        return PRICER_OK;
    }
    SSL_CTX_free(made);
    return daemon_fault(fault, PRICER_FILE,
                        "this OpenSSL cannot speak TLS 1.3 with Ed25519");
}

bool tls_start(SSL_CTX *context, struct hub_peer *peer)
{
    ERR_clear_error();
    peer->ssl = SSL_new(context);
    BIO *in = BIO_new_socket(peer->file, BIO_NOCLOSE);
    BIO *out = BIO_new(peer->hub->sealing);
    if (peer->ssl == NULL || in == NULL || out == NULL) {
        BIO_free(in);
        BIO_free(out);
        return false;
    }
    BIO_set_data(out, peer);
    BIO_set_init(out, 1);
    SSL_set_bio(peer->ssl, in, out);
    SSL_set_app_data(peer->ssl, peer);
    if (peer->pair != NULL &&
        (SSL_use_certificate(peer->ssl, peer->pair->certificate) != 1 ||
         SSL_use_PrivateKey(peer->ssl, peer->pair->secret) != 1))
        return false;
    if (peer->guest)
        SSL_set_accept_state(peer->ssl);
    else
        SSL_set_connect_state(peer->ssl);
    return true;
}

/* ------------------------------------------------------------------ step -- */

/* Alerts by which the other side turns our key away. */
static bool is_refusal(unsigned long error)
{
    switch (ERR_GET_REASON(error) - SSL_AD_REASON_OFFSET) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
        return true;
    default:
        return false;
    }
}

/* Errors that others have left would be taken for ours; there are hardly any, and
 * clearing costs more than looking. */
static void forget_errors(void)
{
    if (ERR_peek_error() != 0)
        ERR_clear_error();
}

/* What a call of OpenSSL has come to. */
static enum tls_step judge(struct hub_peer *peer, int result, enum hub_end *why)
{
    if (result == 1)
        return TLS_DONE;
    switch (SSL_get_error(peer->ssl, result)) {
    case SSL_ERROR_NONE:
        return TLS_DONE;
    case SSL_ERROR_WANT_READ:
        return TLS_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WRITE;
    case SSL_ERROR_SSL: {
        unsigned long error = ERR_peek_error();
        bool open = peer->state >= PEER_OPEN;
        *why = peer->unknown       ? HUB_STRANGER
               : is_refusal(error) ? HUB_REFUSED
               : ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING ||
                       open
                   ? HUB_LEFT
                   : HUB_BROKEN;
        break;
    }
    default:
        *why = HUB_LEFT;
    }
    ERR_clear_error();
    return TLS_ENDED;
}

enum tls_step tls_shake(struct hub_peer *peer, enum hub_end *why)
{
    enum hub_end reason;
    ERR_clear_error();
    enum tls_step step = judge(peer, SSL_do_handshake(peer->ssl), why);
    enum tls_step left = tls_flush(peer, &reason);
    if (step == TLS_ENDED || left == TLS_DONE) {
        if (step == TLS_DONE) /* strangers get the small one */
            SSL_set_default_read_buffer_len(peer->ssl, READ_BUFFER);
        return step;
    }
    if (left == TLS_ENDED)
        *why = reason;
    return left;
}

enum tls_step tls_read(struct hub_peer *peer, void *data, size_t room,
                       size_t *size, enum hub_end *why)
{
    enum hub_end ignored;
    forget_errors();
    enum tls_step step =
        judge(peer, SSL_read_ex(peer->ssl, data, room, size), why);
    tls_flush(peer, &ignored); /* TLS may have had to answer */
    return step;
}

enum tls_step tls_write(struct hub_peer *peer, const void *data, size_t size,
                        size_t *done, enum hub_end *why)
{
    if (peer->sealed.end > 0 || HUB_SEALED - peer->desk->size < RECORD) {
        enum tls_step step = tls_flush(peer, why);
        if (step != TLS_DONE)
            return step;
    }
    forget_errors();
    return judge(peer, SSL_write_ex(peer->ssl, data, size, done), why);
}

bool tls_has_more(const struct hub_peer *peer)
{
    return SSL_has_pending(peer->ssl) == 1;
}

void tls_stop(struct hub_peer *peer)
{
    enum hub_end ignored;
    if (peer->ssl == NULL)
        return;
    ERR_clear_error();
    if (peer->state >= PEER_GREETING)
        SSL_shutdown(peer->ssl);
    tls_flush(peer, &ignored);
    ERR_clear_error();
    SSL_free(peer->ssl);
    peer->ssl = NULL;
}
