/*
 * The server's state as a page for people, as metrics for Prometheus and as a
 * word for watchdogs. libmicrohttpd runs inside the server's own loop: no
 * thread, a bounded number of connections, GET only. Guests are let in here and
 * not by the library, which is busy with waiting when there are no descriptors.
 * Where its port is in use rounds go on without it.
 */
#include "status_page.h"
#include "common/daemon.h"
#include "page/live.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    AGAIN = 1000, /* milliseconds until its port is tried again */
    DEAF = 100,   /* milliseconds without accepting, when out of descriptors */
    WAITING = 64, /* connections that the kernel keeps for us */
    CONNECTIONS = 32,
    TIMEOUT = 5,  /* seconds without a byte */
    LIFE = 30000, /* milliseconds of a connection, whatever it does */
    SHORT = 500,  /* the same where all places are taken */
};

struct status_page {
    struct sockaddr_storage where;
    socklen_t size;
    struct MHD_Daemon *daemon; /* NULL: the port is not to be had */
    int64_t again;             /* when it is tried again, then */
    struct status_source source;
    int file;      /* an epoll of the library's own and the listener; or -1 */
    int listener;  /* or -1 */
    bool shut;     /* the listener is not watched */
    int64_t hears; /* when it may be again */
    struct {
        int file;      /* of a connection */
        int64_t since; /* when it was made */
    } guests[CONNECTIONS];
    int count;
};

/* ----------------------------------------------------------- connections -- */

static void see_guest(void *context, struct MHD_Connection *connection,
                      void **state, enum MHD_ConnectionNotificationCode what)
{
    struct status_page *page = context;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    int k = 0;
    (void)state;
    if (info == NULL)
        return;
    while (k < page->count && page->guests[k].file != info->connect_fd)
        k++;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED && k < page->count) {
        page->guests[k] = page->guests[--page->count];
    } else if (what == MHD_CONNECTION_NOTIFY_STARTED && k < CONNECTIONS) {
        page->guests[k].file = info->connect_fd;
        page->guests[k].since = daemon_clock();
        page->count += k == page->count;
    }
}

/* Whoever asks byte by byte, or reads no answer, is never idle for long and has
 * its place for a while all the same; sooner where others wait for one. */
static void end_long(struct status_page *page)
{
    int64_t life = page->count == CONNECTIONS ? SHORT : LIFE;
    int64_t now = daemon_clock();
    for (int k = 0; k < page->count; k++)
        if (now - page->guests[k].since > life)
            shutdown(page->guests[k].file, SHUT_RDWR);
}

/* ------------------------------------------------------------------ HTTP -- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned code,
                             const char *type, char *body, size_t size)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, body, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(body);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Content-Security-Policy", LIVE_POLICY);
    enum MHD_Result result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

/*
 * Whether a request is meant for this page: its host is an address, or loopback
 * by its name. A page elsewhere can have its name lead here and read what it is
 * not shown, but it cannot have a browser call it by an address.
 */
static bool is_host(const char *host)
{
    char name[64];
    unsigned char address[sizeof(struct in6_addr)];
    if (host == NULL)
        return true;
    size_t length = *host == '[' ? strcspn(host, "]") : strcspn(host, ":");
    const char *from = *host == '[' ? host + 1 : host;
    length -= (size_t)(from - host);
    if (length >= sizeof name)
        return false;
    memcpy(name, from, length);
    name[length] = '\0';
    return strcasecmp(name, "localhost") == 0 ||
           inet_pton(AF_INET, name, address) == 1 ||
           inet_pton(AF_INET6, name, address) == 1;
}

/* The metrics, and what the page loads; false: there is no such path. */
static bool print_part(FILE *out, const struct status_source *source,
                       const char *url, const char **type)
{
    if (strcmp(url, "/") == 0) {
        *type = "text/html; charset=utf-8";
        source->page(out, source->context);
    } else if (strcmp(url, "/metrics") == 0) {
        *type = "text/plain; version=0.0.4";
        source->metrics(out, source->context);
    } else if (strcmp(url, "/page.css") == 0) {
        *type = "text/css; charset=utf-8";
        live_style(out);
    } else if (strcmp(url, "/page.js") == 0) {
        *type = "text/javascript; charset=utf-8";
        live_script(out);
    } else if (strcmp(url, "/icon.svg") == 0) {
        *type = "image/svg+xml";
        live_icon(out);
    } else {
        return false;
    }
    return true;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection,
                              const char *url, const char *method,
                              const char *version, const char *data,
                              size_t *data_size, void **state)
{
    const struct status_page *page = context;
    const struct status_source *source = &page->source;
    const char *type = "text/plain; charset=utf-8";
    unsigned code = MHD_HTTP_OK;
    char *body = NULL;
    size_t size = 0;
    (void)version, (void)data, (void)state;
    if (*data_size > 0)
        return MHD_NO;
    FILE *out = open_memstream(&body, &size);
    if (out == NULL)
        return MHD_NO;
    if (!is_host(MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                             MHD_HTTP_HEADER_HOST))) {
        code = MHD_HTTP_MISDIRECTED_REQUEST;
        fputs("ask by an address or as localhost\n", out);
    } else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        code = MHD_HTTP_METHOD_NOT_ALLOWED;
        fputs("only GET\n", out);
    } else if (strcmp(url, "/health") == 0) {
        if (source->troubles(source->context, out) == 0)
            fputs("ok\n", out);
        else
            code = MHD_HTTP_SERVICE_UNAVAILABLE;
    } else if (!print_part(out, source, url, &type)) {
        code = MHD_HTTP_NOT_FOUND;
        fputs("there is /, /metrics and /health\n", out);
    }
    if (fclose(out) != 0) {
        free(body);
        return MHD_NO;
    }
    return reply(connection, code, type, body, size);
}

/* ------------------------------------------------------------- the port -- */

static bool find_address(struct status_page *page, const char *address,
                         int64_t port)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&page->where;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&page->where;
    if (inet_pton(AF_INET6, address, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        page->size = sizeof *six;
        return true;
    }
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)port);
    page->size = sizeof *four;
    return inet_pton(AF_INET, address, &four->sin_addr) == 1;
}

/* A socket that listens there, or -1 with errno. */
static int listen_at(const struct status_page *page)
{
    int yes = 1;
    int file = socket(page->where.ss_family,
                      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (file < 0)
        return -1;
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(file, (const struct sockaddr *)&page->where, page->size) == 0 &&
        listen(file, WAITING) == 0)
        return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

static bool watch(struct status_page *page, int what)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(page->file, EPOLL_CTL_ADD, what, &event) == 0;
}

/* Back to where nothing is served. */
static void stop(struct status_page *page)
{
    if (page->daemon != NULL)
        MHD_stop_daemon(page->daemon);
    if (page->listener >= 0)
        close(page->listener);
    if (page->file >= 0)
        close(page->file);
    page->daemon = NULL;
    page->listener = page->file = -1;
}

/* 0, or an errno. */
static int start(struct status_page *page)
{
    page->file = epoll_create1(EPOLL_CLOEXEC);
    page->listener = page->file >= 0 ? listen_at(page) : -1;
    if (page->listener >= 0) {
        errno = 0;
        page->daemon = MHD_start_daemon(
            MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, answer,
            page, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT,
            MHD_OPTION_NOTIFY_CONNECTION, see_guest, page, MHD_OPTION_END);
    }
    if (page->daemon != NULL && watch(page, page->listener) &&
        watch(page, MHD_get_daemon_info(page->daemon, MHD_DAEMON_INFO_EPOLL_FD)
                        ->epoll_fd))
        return 0;
    int error = errno != 0 ? errno : ENOMEM;
    stop(page);
    return error;
}

/* Guests come in while there are places and descriptors; else the kernel keeps
 * them. */
static void let_in(struct status_page *page)
{
    for (int places = CONNECTIONS - page->count; places > 0; places--) {
        struct sockaddr_storage from;
        socklen_t size = sizeof from;
        int file = accept4(page->listener, (struct sockaddr *)&from, &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (file < 0 && daemon_passes(errno))
            page->hears = daemon_clock() + DEAF;
        if (file < 0)
            return;
        MHD_add_connection(page->daemon, file, (struct sockaddr *)&from, size);
    }
}

/* Nobody is woken for guests who cannot come in. */
static void watch_listener(struct status_page *page)
{
    bool shut = page->count >= CONNECTIONS || daemon_clock() < page->hears;
    struct epoll_event event = {.events = shut ? 0 : EPOLLIN};
    if (shut != page->shut)
        epoll_ctl(page->file, EPOLL_CTL_MOD, page->listener, &event);
    page->shut = shut;
}

static enum pricer_status refuse(const char *address,
                                 struct pricer_fault *fault)
{
    return daemon_fault(fault, PRICER_VALUE,
                        "'%.60s' is not an address such as 127.0.0.1 or ::1",
                        address);
}

enum pricer_status status_page_open(const struct status_source *source,
                                    const char *address, int64_t port,
                                    struct status_page **page,
                                    struct pricer_fault *fault)
{
    struct status_page *made = calloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->source = *source;
    made->file = made->listener = -1;
    if (!find_address(made, address, port)) {
        free(made);
        return refuse(address, fault);
    }
    int error = start(made);
    if (error != 0 && !daemon_passes(error)) {
        free(made);
        return daemon_fault(fault, PRICER_FILE,
                            "cannot serve the status page at %s, port %d: %s",
                            address, (int)port, strerror(error));
    }
    if (error != 0)
        daemon_say("cannot serve the status page at %s, port %d: %s; rounds go "
                   "on without it, trying again every %d ms",
                   address, (int)port, strerror(error), AGAIN);
    made->again = daemon_clock() + AGAIN;
    *page = made;
    return PRICER_OK;
}

enum pricer_status status_page_check(const char *address, int64_t port,
                                     struct pricer_fault *fault)
{
    struct status_page page = {.file = -1, .listener = -1};
    if (!find_address(&page, address, port))
        return refuse(address, fault);
    int file = listen_at(&page);
    if (file < 0)
        return daemon_fault(fault,
                            daemon_passes(errno) ? PRICER_BUSY : PRICER_FILE,
                            "cannot serve the status page at %s, port %d: %s",
                            address, (int)port, strerror(errno));
    close(file);
    return PRICER_OK;
}

/* Whether it can be served, perhaps from now on. */
static bool is_served(struct status_page *page)
{
    int64_t now = daemon_clock();
    if (page->daemon == NULL && now >= page->again) {
        page->again = now + AGAIN;
        if (start(page) == 0)
            daemon_say("the status page is served");
    }
    return page->daemon != NULL;
}

int status_page_file(const struct status_page *page)
{
    return page->file;
}

void status_page_serve(struct status_page *page)
{
    if (!is_served(page))
        return;
    end_long(page);
    if (daemon_clock() >= page->hears)
        let_in(page);
    MHD_run(page->daemon);
    watch_listener(page);
}

void status_page_close(struct status_page *page)
{
    if (page == NULL)
        return;
    stop(page);
    free(page);
}
