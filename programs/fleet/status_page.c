/*
 * The server's state as a page for people, as metrics for Prometheus and as a
 * word for watchdogs. libmicrohttpd runs inside the server's own loop: no
 * thread, a bounded number of connections, GET only.
 */
#include "server.h"

#include <arpa/inet.h>
#include <math.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS = 32, TIMEOUT = 5, DRIFTS = 50, PRESENT = 5000 };

struct status_page {
    struct MHD_Daemon *daemon;
    struct server *server;
    int file;
};

/* --------------------------------------------------------------- content -- */

static bool is_present(const struct seat *seat)
{
    return seat->seen > 0 && daemon_clock() - seat->seen < PRESENT;
}

/* What needs attention, if anything does; /health says the same. */
static void print_troubles(FILE *out, const struct server *server)
{
    if (server_troubles(server, NULL) == 0)
        return;
    fputs("<p><em>Attention:</em></p><pre>", out);
    server_troubles(server, out);
    fputs("</pre>\n", out);
}

/* Rounds left, or a dash where a budget has no end. */
static void print_left(FILE *out, int64_t left)
{
    if (left >= WIRE_NO_END)
        fputs("<td>&ndash;", out);
    else
        fprintf(out, left > 10 ? "<td>%lld" : "<td><em>%lld</em>",
                (long long)left);
}

static void print_summary(FILE *out, const struct server *server)
{
    fprintf(
        out,
        "<p><b>%lld</b> rounds since the start, the last one number "
        "<b>%lld</b>; <b>%d</b> of %d sums arrived in it, with data of "
        "<b>%d</b> nodes and %.0f %% of the plan's weight. %lld rounds gave "
        "an estimate. Plan %lld, %d nodes ready.</p>\n",
        (long long)server->done, (long long)server->round, (int)server->arrived,
        (int)server->members, (int)server->contributors,
        100 * server->weight_arrived, (long long)server->estimates,
        (long long)server->plan_id, (int)server_ready(server));
    if (server->done > 0 && server->contributors > 0) {
        fprintf(out, "<p>%sThis round: ", server_is_bad(server) ? "<em>" : "");
        server_print_bar(server, out);
        fprintf(out, ".%s R is the radius of the data.</p>\n",
                server_is_bad(server) ? "</em>" : "");
    } else if (server->done > 0) {
        fputs("<p><em>This round: no estimate, as nobody's data arrived."
              "</em></p>\n",
              out);
    }
    if (server->open_budgets > 0)
        fprintf(out,
                "<p><em>%lld nodes show the server more than their budget "
                "allows.</em></p>\n",
                (long long)server->open_budgets);
    if (server->truth != NULL && server->estimates > 0)
        fprintf(out, "<p>Squared error of the estimates: mean %.6g.</p>\n",
                server->error_sum / (double)server->estimates);
}

static void print_node(FILE *out, const struct server *server, int32_t i)
{
    const struct seat *seat = &server->seats[i];
    fprintf(out, "<tr><td>%s<td>%s<td>%s", node_label(server->network, i).text,
            !is_present(seat) ? "<em>absent</em>"
            : seat->ready     ? "ready"
                              : "no slice",
            server->uplink[i] == 1 ? "arrived" : "&ndash;");
    if (seat->told)
        print_left(out, seat->own_left);
    else
        fputs("<td>?", out);
    if (seat->told && seat->ending_count > 0) {
        print_left(out, seat->ending[0].left);
        fprintf(out, " (to %s)",
                node_label(server->network, seat->ending[0].to).text);
    } else {
        fputs("<td>&ndash;", out);
    }
    fprintf(out, "<td>%lld<td>", (long long)seat->refusals);
    if (seat->code != 0)
        fprintf(out, "to %s: %s", seat->to == i ? "server" : "a node",
                server_refusal_text(seat->code));
    fputs("</tr>\n", out);
}

static void print_nodes(FILE *out, const struct server *server)
{
    fputs("<table><tr><th>node<th>state<th>last round<th>rounds left, own"
          "<th>rounds left, tightest link<th>refusals<th>latest refusal</tr>\n",
          out);
    for (int32_t i = 0; i < server->network->nodes && i < 2000; i++)
        if (server->seats[i].enrolled)
            print_node(out, server, i);
    fputs("</table>\n", out);
}

static void print_counts(FILE *out, const struct server *server)
{
    fputs("<table><tr><th>withheld, links up<th>count</tr>\n", out);
    for (int k = 0; k < PRICER_WITHHELD_KINDS; k++)
        fprintf(out, "<tr><td>%s<td>%lld</tr>\n",
                pricer_word(PRICER_WORDS_WITHHELD, k),
                (long long)server->withheld_total[k]);
    fputs("</table>\n<table><tr><th>dropped messages<th>count</tr>\n", out);
    for (int k = 0; k < PRICER_DROP_KINDS; k++)
        fprintf(out, "<tr><td>%s<td>%lld</tr>\n",
                pricer_word(PRICER_WORDS_DROP, k), (long long)server->total[k]);
    fputs("</table>\n", out);
}

static void print_drifts(FILE *out, struct server *server)
{
    struct drift drifts[DRIFTS];
    int32_t count = server_drifts(server, drifts, DRIFTS);
    if (count == 0) {
        fputs("<p>No link drifts away from the plan.</p>\n", out);
        return;
    }
    fprintf(out,
            "<p><em>Warning:</em> %d links are not what the plan takes them "
            "for; 'pricer plan --from-deliveries' plans anew.</p>\n"
            "<table><tr><th>link<th>planned<th>measured</tr>\n",
            (int)count);
    for (int32_t k = 0; k < count; k++) {
        struct node_label to = {"server"};
        if (drifts[k].to != PRICER_SERVER)
            to = node_label(server->network, drifts[k].to);
        fprintf(out, "<tr><td>%s &rarr; %s<td>%.3f<td>%.3f to %.3f</tr>\n",
                node_label(server->network, drifts[k].from).text, to.text,
                drifts[k].planned, drifts[k].low, drifts[k].high);
    }
    fputs("</table>\n", out);
}

static void print_page(FILE *out, struct server *server)
{
    fputs("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta http-equiv=\"refresh\" content=\"2\">"
          "<meta name=\"viewport\" content=\"width=device-width\">"
          "<title>pricer-server</title><style>"
          ":root{color-scheme:light dark}"
          "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;"
          "padding:0 1em}table{border-collapse:collapse;margin:1em 0}"
          "td,th{padding:.2em .8em;text-align:left;"
          "border-bottom:1px solid #8888}em{color:#c40;font-style:normal}"
          "</style></head><body><h1>pricer-server</h1>\n",
          out);
    print_summary(out, server);
    print_troubles(out, server);
    print_nodes(out, server);
    print_drifts(out, server);
    print_counts(out, server);
    fputs("</body></html>\n", out);
}

static void metric(FILE *out, const char *name, const char *kind,
                   const char *help, double value)
{
    fprintf(out, "# HELP pricer_%s %s\n# TYPE pricer_%s %s\npricer_%s %.17g\n",
            name, help, name, kind, name, value);
}

/* What has a label: reasons, and rounds left per node and link. */
static void print_labelled(FILE *out, const struct server *server)
{
    fputs("# HELP pricer_dropped_total Messages dropped, by reason.\n"
          "# TYPE pricer_dropped_total counter\n",
          out);
    for (int k = 0; k < PRICER_DROP_KINDS; k++)
        fprintf(out, "pricer_dropped_total{reason=\"%s\"} %lld\n",
                pricer_word(PRICER_WORDS_DROP, k), (long long)server->total[k]);
    fputs("# HELP pricer_withheld_total Parts withheld while the link was up, "
          "by reason.\n# TYPE pricer_withheld_total counter\n",
          out);
    for (int k = 0; k < PRICER_WITHHELD_KINDS; k++)
        fprintf(out, "pricer_withheld_total{reason=\"%s\"} %lld\n",
                pricer_word(PRICER_WORDS_WITHHELD, k),
                (long long)server->withheld_total[k]);
    fputs(
        "# HELP pricer_rounds_left Rounds left of a budget that ends: towards "
        "the server, and of the links with fewest.\n"
        "# TYPE pricer_rounds_left gauge\n",
        out);
    for (int32_t i = 0; i < server->network->nodes; i++) {
        const struct seat *seat = &server->seats[i];
        if (!seat->told)
            continue;
        if (seat->own_left < WIRE_NO_END)
            fprintf(out, "pricer_rounds_left{node=\"%d\",to=\"server\"} %lld\n",
                    (int)i, (long long)seat->own_left);
        for (int32_t k = 0; k < seat->ending_count; k++)
            fprintf(out, "pricer_rounds_left{node=\"%d\",to=\"%d\"} %lld\n",
                    (int)i, (int)seat->ending[k].to,
                    (long long)seat->ending[k].left);
    }
}

/* What has become of connections. */
static void print_connections(FILE *out, const struct server *server)
{
    const struct hub_counts *counts = hub_counts(server->hub);
    metric(out, "connections_accepted_total", "counter",
           "Connections that were accepted.", (double)counts->accepted);
    metric(out, "connections_shed_total", "counter",
           "Connections that were cut before a handshake: too many, too fast.",
           (double)counts->shed);
    metric(out, "frames_without_room_total", "counter",
           "Messages that found no room in a queue.", (double)counts->full);
    fputs("# HELP pricer_connections_ended_total Connections, by why they "
          "ended.\n# TYPE pricer_connections_ended_total counter\n",
          out);
    for (int k = 0; k < HUB_ENDS; k++)
        fprintf(out, "pricer_connections_ended_total{why=\"%s\"} %lld\n",
                hub_end_text((enum hub_end)k), (long long)counts->ends[k]);
}

static void print_metrics(FILE *out, struct server *server)
{
    struct drift drifts[DRIFTS];
    metric(out, "rounds_total", "counter", "Rounds stored since the start.",
           (double)server->done);
    metric(out, "round", "gauge", "Number of the latest round.",
           (double)server->round);
    metric(out, "sums_arrived", "gauge", "Sums that arrived in it.",
           (double)server->arrived);
    metric(out, "nodes_ready", "gauge", "Nodes that have their slice.",
           (double)server_ready(server));
    metric(out, "messages_total", "counter", "Messages received.",
           (double)server->messages);
    metric(out, "received_bytes_total", "counter", "Bytes received.",
           (double)server->bytes_received);
    print_connections(out, server);
    metric(out, "disputes_total", "counter",
           "Shares of which both ends of a link say different things.",
           (double)server->disputes);
    metric(out, "links_drifting", "gauge",
           "Links outside their planned probability.",
           (double)server_drifts(server, drifts, DRIFTS));
    metric(out, "estimates_total", "counter",
           "Rounds that gave an estimate since the start.",
           (double)server->estimates);
    metric(out, "contributors", "gauge",
           "Nodes whose data is in the latest round.",
           (double)server->contributors);
    metric(out, "weight_arrived", "gauge",
           "Part of the plan's weight that arrived in it.",
           server->weight_arrived);
    metric(out, "troubles", "gauge", "What /health lists.",
           (double)server_troubles(server, NULL));
    if (server->contributors > 0)
        metric(out, "squared_error_bar", "gauge",
               "The squared error of the latest estimate is at most about "
               "this.",
               server->decoding.bar);
    metric(out, "squared_error_planned", "gauge",
           "Worst case over all data of the plan with its decoder.",
           server->decoding.planned);
    metric(out, "server_budgets_open", "gauge",
           "Nodes that show the server more than their budget allows.",
           (double)server->open_budgets);
    if (server->truth != NULL && server->contributors > 0)
        metric(out, "squared_error", "gauge",
               "Squared error of the latest estimate.", server->error);
    print_labelled(out, server);
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
    MHD_add_response_header(response, "Content-Security-Policy",
                            "default-src 'none'; style-src 'unsafe-inline'");
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

static enum MHD_Result answer(void *context, struct MHD_Connection *connection,
                              const char *url, const char *method,
                              const char *version, const char *data,
                              size_t *data_size, void **state)
{
    struct server *server = context;
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
    } else if (strcmp(url, "/") == 0) {
        type = "text/html; charset=utf-8";
        print_page(out, server);
    } else if (strcmp(url, "/metrics") == 0) {
        type = "text/plain; version=0.0.4";
        print_metrics(out, server);
    } else if (strcmp(url, "/health") == 0) {
        if (server_troubles(server, out) == 0)
            fputs("ok\n", out);
        else
            code = MHD_HTTP_SERVICE_UNAVAILABLE;
    } else {
        code = MHD_HTTP_NOT_FOUND;
        fputs("there is /, /metrics and /health\n", out);
    }
    if (fclose(out) != 0) {
        free(body);
        return MHD_NO;
    }
    return reply(connection, code, type, body, size);
}

enum pricer_status status_page_open(struct server *server, const char *address,
                                    int64_t port, struct status_page **page,
                                    struct pricer_fault *fault)
{
    struct sockaddr_in where = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, address, &where.sin_addr) != 1)
        return daemon_fault(fault, PRICER_VALUE,
                            "'%.60s' is not an address such as 127.0.0.1",
                            address);
    struct status_page *made = calloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->server = server;
    made->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, (uint16_t)port, NULL, NULL, answer, server,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&where,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT,
        MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        made->daemon != NULL
            ? MHD_get_daemon_info(made->daemon, MHD_DAEMON_INFO_EPOLL_FD)
            : NULL;
    if (info == NULL) {
        status_page_close(made);
        return daemon_fault(fault, PRICER_FILE,
                            "cannot serve the status page at %s:%d", address,
                            (int)port);
    }
    made->file = info->epoll_fd;
    *page = made;
    return PRICER_OK;
}

int status_page_file(const struct status_page *page)
{
    return page->file;
}

void status_page_serve(struct status_page *page)
{
    MHD_run(page->daemon);
}

void status_page_close(struct status_page *page)
{
    if (page == NULL)
        return;
    if (page->daemon != NULL)
        MHD_stop_daemon(page->daemon);
    free(page);
}
