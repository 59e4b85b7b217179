/*
 * From "tcp://HOST:PORT" to sockets. Names are looked up by the system's own
 * resolver, in its own thread: a slow name server stops nobody else.
 */
#include "hub.h"
#include "common/daemon.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

static bool is_port(const char *text)
{
    size_t length = strlen(text);
    return strcmp(text, "*") == 0 ||
           (length > 0 && length <= 5 && strspn(text, "0123456789") == length &&
            atol(text) <= 65535);
}

bool address_parse(const char *text, struct address *address)
{
    static const char scheme[] = "tcp://";
    struct address made = {"", ""};
    if (strncmp(text, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *host = text + sizeof scheme - 1, *colon = strrchr(host, ':');
    if (colon == NULL || !is_port(colon + 1))
        return false;
    size_t length = (size_t)(colon - host);
    bool bracketed = length > 2 && host[0] == '[' && host[length - 1] == ']';
    if (bracketed) {
        host++;
        length -= 2;
    }
    if (length == 0 || length >= sizeof made.host ||
        (!bracketed && memchr(host, ':', length) != NULL))
        return false;
    memcpy(made.host, host, length);
    if (strpbrk(made.host, "/[]@ ") != NULL)
        return false;
    strcpy(made.port, strcmp(colon + 1, "*") == 0 ? "0" : colon + 1);
    *address = made;
    return true;
}

bool hub_is_address(const char *address)
{
    struct address parsed;
    return address_parse(address, &parsed);
}

/* ---------------------------------------------------------------- listen -- */

static void set_options(int file)
{
    int yes = 1;
    unsigned int patience = HUB_SILENCE;
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(file, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
}

/* All of IPv4 too where the address is all of IPv6. */
static int listen_at(const struct addrinfo *at, bool all)
{
    int yes = 1, only = !all;
    int file =
        socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (file < 0)
        return -1;
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (at->ai_family == AF_INET6)
        setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    set_options(file);
    if (bind(file, at->ai_addr, at->ai_addrlen) == 0 &&
        listen(file, BACKLOG) == 0)
        return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

enum pricer_status address_listen(const char *text, int *file,
                                  struct pricer_fault *fault)
{
    struct address address;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    if (!address_parse(text, &address))
        return daemon_fault(fault, PRICER_VALUE,
                            "cannot listen at %.200s: it is not an address "
                            "such as tcp://10.0.0.3:7100",
                            text);
    bool all = strcmp(address.host, "*") == 0;
    int error =
        getaddrinfo(all ? NULL : address.host, address.port, &hints, &found);
    if (error != 0) /* a name may come to stand for an address */
        return daemon_fault(fault, PRICER_BUSY, "cannot listen at %.200s: %s",
                            text, gai_strerror(error));
    int made = -1;
    /* Of "all", IPv6 first: it takes IPv4 along. */
    for (int six = 1; six >= 0 && made < 0; six--)
        for (const struct addrinfo *at = found; at != NULL && made < 0;
             at = at->ai_next)
            if ((at->ai_family == AF_INET6) == six)
                made = listen_at(at, all);
    error = errno;
    freeaddrinfo(found);
    if (made < 0)
        return daemon_fault(
            fault, daemon_passes(error) ? PRICER_BUSY : PRICER_FILE,
            "cannot listen at %.200s: %s", text, strerror(error));
    *file = made;
    return PRICER_OK;
}

enum pricer_status hub_try(const char *address, struct pricer_fault *fault)
{
    int file = -1;
    enum pricer_status status = address_listen(address, &file, fault);
    if (status == PRICER_OK)
        close(file);
    return status;
}

/* --------------------------------------------------------------- connect -- */

/* Addresses in digits need no resolver. */
static bool is_numeric(struct lookup *lookup)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    return getaddrinfo(lookup->address.host, lookup->address.port, &hints,
                       &lookup->found) == 0;
}

int lookup_step(struct lookup *lookup)
{
    if (lookup->found != NULL)
        return 1;
    if (!lookup->pending && is_numeric(lookup))
        return 1;
    if (!lookup->pending) {
        struct gaicb *list[1] = {&lookup->request};
        lookup->hints = (struct addrinfo){.ai_socktype = SOCK_STREAM};
        lookup->request = (struct gaicb){.ar_name = lookup->address.host,
                                         .ar_service = lookup->address.port,
                                         .ar_request = &lookup->hints};
        if (getaddrinfo_a(GAI_NOWAIT, list, 1, NULL) != 0)
            return -1;
        lookup->pending = true;
        return 0;
    }
    int error = gai_error(&lookup->request);
    if (error == EAI_INPROGRESS)
        return 0;
    lookup->pending = false;
    if (error != 0)
        return -1;
    lookup->found = lookup->request.ar_result;
    return lookup->found != NULL ? 1 : -1;
}

int lookup_connect(struct lookup *lookup)
{
    const struct addrinfo *at =
        lookup->next != NULL ? lookup->next : lookup->found;
    lookup->next = at->ai_next;
    int file =
        socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (file < 0)
        return -1;
    set_options(file);
    if (connect(file, at->ai_addr, at->ai_addrlen) == 0 || errno == EINPROGRESS)
        return file;
    close(file);
    return -1;
}

bool lookup_free(struct lookup *lookup)
{
    if (lookup == NULL)
        return true;
    if (lookup->pending) {
        int answer = gai_cancel(&lookup->request);
        if (answer == EAI_NOTCANCELED)
            return false;
        if (answer == EAI_ALLDONE)
            lookup->found = lookup->request.ar_result;
    }
    if (lookup->found != NULL)
        freeaddrinfo(lookup->found);
    free(lookup);
    return true;
}
