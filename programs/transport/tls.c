/*
 * OpenSSL within the limits of docs/protocol.md, section 2: TLS 1.3, Ed25519 on
 * both sides, and of certificates nothing but the key.
 */
#include "hub.h"
#include "common/daemon.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

enum { READ_BUFFER = 64 << 10 };

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
    if (peer->ssl == NULL || SSL_set_fd(peer->ssl, peer->file) != 1)
        return false;
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

/* What a call of OpenSSL has come to. */
static enum tls_step judge(struct hub_peer *peer, int result, enum hub_end *why)
{
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
    ERR_clear_error();
    enum tls_step step = judge(peer, SSL_do_handshake(peer->ssl), why);
    if (step == TLS_DONE) /* strangers get the small one */
        SSL_set_default_read_buffer_len(peer->ssl, READ_BUFFER);
    return step;
}

enum tls_step tls_read(struct hub_peer *peer, void *data, size_t room,
                       size_t *size, enum hub_end *why)
{
    ERR_clear_error();
    return judge(peer, SSL_read_ex(peer->ssl, data, room, size), why);
}

enum tls_step tls_write(struct hub_peer *peer, const void *data, size_t size,
                        size_t *done, enum hub_end *why)
{
    ERR_clear_error();
    return judge(peer, SSL_write_ex(peer->ssl, data, size, done), why);
}

bool tls_has_more(const struct hub_peer *peer)
{
    return SSL_has_pending(peer->ssl) == 1;
}

void tls_stop(struct hub_peer *peer)
{
    if (peer->ssl == NULL)
        return;
    ERR_clear_error();
    if (peer->state >= PEER_GREETING)
        SSL_shutdown(peer->ssl);
    ERR_clear_error();
    SSL_free(peer->ssl);
    peer->ssl = NULL;
}
