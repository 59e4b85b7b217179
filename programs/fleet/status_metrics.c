/*
 * From the state of the server to metrics in Prometheus' text format.
 */
#include "server.h"

enum { DRIFTS = 50 };

static void metric(FILE *out, const char *name, const char *kind,
                   const char *help, double value)
{
    fprintf(out, "# HELP pricer_%s %s\n# TYPE pricer_%s %s\npricer_%s %.17g\n",
            name, help, name, kind, name, value);
}

/* A label with a node's number, and one with its name, if it has one. */
static void put_node(FILE *out, const struct server *server, int32_t node,
                     const char *number, const char *name)
{
    const struct pricer_network *network = server->network;
    fprintf(out, "%s=\"%d\"", number, (int)node);
    if (network->name != NULL && network->name[node][0] != '\0')
        fprintf(out, ",%s=\"%s\"", name, network->name[node]);
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
        if (seat->own_left < WIRE_NO_END) {
            fputs("pricer_rounds_left{", out);
            put_node(out, server, i, "node", "name");
            fprintf(out, ",to=\"server\"} %lld\n", (long long)seat->own_left);
        }
        for (int32_t k = 0; k < seat->ending_count; k++) {
            fputs("pricer_rounds_left{", out);
            put_node(out, server, i, "node", "name");
            fputc(',', out);
            put_node(out, server, seat->ending[k].to, "to", "to_name");
            fprintf(out, "} %lld\n", (long long)seat->ending[k].left);
        }
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

void status_metrics(FILE *out, const void *context)
{
    const struct server *server = context;
    struct drift drifts[DRIFTS];
    metric(out, "rounds_total", "counter", "Rounds stored since the start.",
           (double)server->done);
    metric(out, "round", "gauge", "Number of the latest round that has ended.",
           (double)server_last_round(server));
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
           "Links outside their planned probability, all tested together.",
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
               "Expected squared error of the latest estimate, at most about "
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
