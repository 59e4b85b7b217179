/*
 * From the state of a mesh's server to the page that people look at, to metrics in
 * Prometheus' text format, and to what needs attention.
 */
#include "server.h"
#include "common/program.h"
#include "page/live.h"

#include <math.h>

enum {
    ROWS = 2000, /* nodes in the table */
    DRIFTS = 50, /* nodes that do not arrive as planned */
};

int mesh_status_troubles(const void *context, FILE *out)
{
    const struct mesh_server *server = context;
    const struct mesh_ended *last = mesh_history_last(server);
    int count = 0;
    if (server->failing != 0 && ++count && out != NULL)
        fprintf(out,
                "the study cannot be written or read for %.0f s: rounds "
                "wait\n",
                1e-3 * (double)(daemon_clock() - server->failing));
    if (last != NULL && last->arrived < server->wishes.quorum && ++count &&
        out != NULL)
        fprintf(out, "%d nodes arrived in round %lld, the quorum is %lld\n",
                (int)last->arrived, (long long)last->round,
                (long long)server->wishes.quorum);
    for (int32_t i = 0; i < server->members.nodes; i++) {
        const struct mesh_member *member = &server->members.list[i];
        if (!member->enrolled || member->peer == NULL || !member->hello.refuses)
            continue;
        if (++count <= 20 && out != NULL)
            fprintf(out,
                    "node %s releases nothing under this plan; its own log "
                    "says why\n",
                    node_label(server->counting.network, i).text);
    }
    return count;
}

/* ---------------------------------------------------------------- metrics -- */

static void metric(FILE *out, const char *name, const char *kind,
                   const char *help, double value)
{
    fprintf(out, "# HELP pricer_%s %s\n# TYPE pricer_%s %s\npricer_%s %.17g\n",
            name, help, name, kind, name, value);
}

static void head(FILE *out, const char *name, const char *kind,
                 const char *help)
{
    fprintf(out, "# HELP pricer_%s %s\n# TYPE pricer_%s %s\n", name, help, name,
            kind);
}

/* How often each node arrived under this plan, and how often it was to. */
static void print_arrivals(FILE *out, const struct mesh_server *server)
{
    const struct mesh_members *members = &server->members;
    metric(out, "plan_rounds", "gauge",
           "Rounds under this plan since the start.", (double)members->rounds);
    head(out, "node_arrivals", "gauge",
         "Rounds under this plan in which the release of a node arrived, by "
         "relays in between.");
    for (int32_t i = 0; i < members->nodes; i++)
        for (int k = 0; k <= MESH_HOPS; k++)
            if (members->list[i].over[k] > 0)
                fprintf(out,
                        "pricer_node_arrivals{node=\"%d\",hops=\"%d\"} %lld\n",
                        (int)i, k, (long long)members->list[i].over[k]);
    head(out, "node_arrival_planned", "gauge",
         "Probability that the release of a node arrives, by the plan.");
    for (int32_t i = 0; i < members->nodes; i++)
        if (members->list[i].enrolled)
            fprintf(out, "pricer_node_arrival_planned{node=\"%d\"} %.6g\n",
                    (int)i, server->counting.plan->node[i].arrival);
    head(out, "node_uplinks", "gauge",
         "Rounds under this plan in which a node brought packets itself.");
    for (int32_t i = 0; i < members->nodes; i++)
        if (members->list[i].uplinks > 0)
            fprintf(out, "pricer_node_uplinks{node=\"%d\"} %lld\n", (int)i,
                    (long long)members->list[i].uplinks);
}

static void print_nodes_metrics(FILE *out, const struct mesh_server *server)
{
    head(out, "node_hops", "gauge",
         "Relays that the latest release of a node came over.");
    for (int32_t i = 0; i < server->members.nodes; i++)
        if (server->members.list[i].heard > 0)
            fprintf(out, "pricer_node_hops{node=\"%d\"} %d\n", (int)i,
                    (int)server->members.list[i].hops);
    head(out, "node_arrived_total", "counter",
         "Rounds in which the release of a node arrived.");
    for (int32_t i = 0; i < server->members.nodes; i++)
        if (server->members.list[i].enrolled)
            fprintf(out, "pricer_node_arrived_total{node=\"%d\"} %lld\n",
                    (int)i, (long long)server->members.list[i].arrived);
    print_arrivals(out, server);
    head(out, "dropped_total", "counter", "Messages dropped, by reason.");
    for (int k = 0; k < PRICER_DROP_KINDS; k++)
        fprintf(out, "pricer_dropped_total{reason=\"%s\"} %lld\n",
                pricer_word(PRICER_WORDS_DROP, k), (long long)server->total[k]);
}

/* Of the latest round that is over. */
static void print_last(FILE *out, const struct mesh_server *server)
{
    const struct mesh_ended *last = mesh_history_last(server);
    if (last == NULL)
        return;
    metric(out, "round", "gauge", "Number of the latest round that has ended.",
           (double)last->round);
    metric(out, "releases_arrived", "gauge",
           "Nodes whose release arrived in the latest round.",
           (double)last->arrived);
    metric(out, "round_packets", "gauge", "Packets of the latest round.",
           (double)last->packets);
    metric(out, "round_packets_repeated", "gauge",
           "Of them, packets of nodes that were counted already.",
           (double)last->repeated);
    metric(out, "round_bytes", "gauge", "Bytes of the latest round's packets.",
           (double)last->bytes);
    metric(out, "squared_error_bar", "gauge",
           "Worst case over all data given who arrived in the latest round.",
           last->bar);
    if (server->truth != NULL)
        metric(out, "squared_error", "gauge",
               "Squared error of the latest estimate.", last->error);
    head(out, "nodes_heard", "gauge",
         "Nodes heard in the latest round, by relays in between.");
    for (int k = 0; k <= server->counting.plan->hops; k++)
        fprintf(out, "pricer_nodes_heard{hops=\"%d\"} %d\n", k,
                (int)last->over[k]);
}

void mesh_status_metrics(FILE *out, const void *context)
{
    const struct mesh_server *server = context;
    const struct hub_counts *counts = hub_counts(server->hub);
    int32_t drifts[DRIFTS];
    metric(out, "rounds_total", "counter", "Rounds stored since the start.",
           (double)server->done);
    metric(out, "estimates_total", "counter",
           "Rounds that gave an estimate since the start.",
           (double)server->estimates);
    metric(out, "nodes_ready", "gauge",
           "Nodes that have a connection of their own, and the plan.",
           (double)mesh_count_ready(server));
    metric(out, "packets_total", "counter", "Packets received.",
           (double)server->packets);
    metric(out, "packets_repeated_total", "counter",
           "Packets of nodes that were counted already.",
           (double)server->repeated);
    metric(out, "releases_twice_total", "counter",
           "Second releases of a round, different and genuine.",
           (double)server->twins);
    metric(out, "received_bytes_total", "counter", "Bytes received.",
           (double)server->received);
    metric(out, "connections_accepted_total", "counter",
           "Connections that were accepted.", (double)counts->accepted);
    metric(out, "squared_error_planned", "gauge",
           "Worst case over all data of the plan.",
           server->counting.plan->mse_worst_case);
    metric(out, "nodes_drifting", "gauge",
           "Nodes that do not arrive as often as planned, all tested together.",
           (double)mesh_drifts(server, drifts, DRIFTS));
    metric(out, "troubles", "gauge", "What /health lists.",
           (double)mesh_status_troubles(server, NULL));
    print_last(out, server);
    print_nodes_metrics(out, server);
}

/* ------------------------------------------------------------------- page -- */

static void fact(FILE *out, const char *what, const char *format, double value)
{
    fputs("<li><b>", out);
    fprintf(out, format, value);
    fprintf(out, "</b><span>%s</span></li>\n", what);
}

static void print_summary(FILE *out, const struct mesh_server *server)
{
    const struct mesh_ended *last = mesh_history_last(server);
    fputs("<ul class=\"facts\">\n", out);
    fact(out, "rounds since the start", "%.0f", (double)server->done);
    fact(out, "nodes enrolled", "%.0f", (double)server->members.count);
    fact(out, "with a connection of their own", "%.0f",
         (double)mesh_count_ready(server));
    if (last != NULL) {
        fact(out, "latest round", "%.0f", (double)last->round);
        fact(out, "releases arrived in it", "%.0f", (double)last->arrived);
        fact(out, "worst case of its squared error", "%.3g", last->bar);
    }
    fact(out, "planned worst case over all rounds", "%.3g",
         server->counting.plan->mse_worst_case);
    fact(out, "packets since the start", "%.0f", (double)server->packets);
    fact(out, "of them duplicates", "%.0f", (double)server->repeated);
    fact(out, "bytes received", "%.0f", (double)server->received);
    fputs("</ul>\n", out);
}

/* "0: 12, 1: 30" of counts by relays. */
static void print_over(FILE *out, const int64_t *over, double all)
{
    const char *comma = "";
    for (int k = 0; k <= MESH_HOPS; k++)
        if (over[k] > 0) {
            fprintf(out, all > 0 ? "%s%d: %.2f" : "%s%d: %.0f", comma, k,
                    (double)over[k] / (all > 0 ? all : 1));
            comma = ", ";
        }
}

static void print_round(FILE *out, const struct mesh_server *server,
                        const struct mesh_ended *ended)
{
    int64_t over[MESH_HOPS + 1];
    for (int k = 0; k <= MESH_HOPS; k++)
        over[k] = ended->over[k];
    fprintf(out, "<tr><td>%lld</td><td class=\"number\">%d</td><td>",
            (long long)ended->round, (int)ended->arrived);
    print_over(out, over, 0);
    fprintf(out,
            "</td><td class=\"number\">%lld</td><td class=\"number\">%lld</td>"
            "<td class=\"number\">%lld</td><td class=\"number\">%.3g</td>"
            "<td class=\"number\">%.3g</td>",
            (long long)ended->packets, (long long)ended->repeated,
            (long long)ended->bytes, ended->bar,
            server->counting.plan->mse_worst_case);
    if (server->truth != NULL)
        fprintf(out, "<td class=\"number\">%.3g</td>", ended->error);
    fputs("</tr>\n", out);
}

static void print_rounds(FILE *out, const struct mesh_server *server)
{
    const struct mesh_history *history = &server->history;
    if (history->count == 0)
        return;
    fputs("<h2>Latest rounds</h2>\n<div class=\"wide\"><table><tr>"
          "<th>round</th><th class=\"number\">arrived</th>"
          "<th>over relays: nodes</th><th class=\"number\">packets</th>"
          "<th class=\"number\">duplicates</th><th class=\"number\">bytes</th>"
          "<th class=\"number\">error bar</th>"
          "<th class=\"number\">planned</th>",
          out);
    fputs(server->truth != NULL ? "<th class=\"number\">error</th></tr>\n"
                                : "</tr>\n",
          out);
    for (int64_t k = history->count - 1;
         k >= 0 && k >= history->count - MESH_LATEST; k--)
        print_round(out, server, &history->list[k % MESH_LATEST]);
    fputs("</table></div>\n", out);
}

static void print_share(FILE *out, int64_t count, int64_t rounds)
{
    if (rounds > 0)
        fprintf(out, "<td class=\"number\">%.3f</td>",
                (double)count / (double)rounds);
    else
        fputs("<td></td>", out);
}

static void print_node(FILE *out, const struct mesh_server *server, int32_t i)
{
    const struct mesh_member *member = &server->members.list[i];
    int64_t rounds = server->members.rounds, arrived = 0;
    double uplink = server->counting.network->uplink[i];
    for (int k = 0; k <= MESH_HOPS; k++)
        arrived += member->over[k];
    fprintf(out, "<tr><td>%s</td><td>%s</td>",
            node_label(server->counting.network, i).text,
            member->peer != NULL ? "its own" : "over others");
    if (member->heard > 0)
        fprintf(out,
                "<td class=\"number\">%lld</td><td class=\"number\">%d</td>",
                (long long)member->heard, (int)member->hops);
    else
        fputs("<td class=\"number\">never</td><td></td>", out);
    print_share(out, arrived, rounds);
    fprintf(out, "<td class=\"number\">%.3f</td><td>",
            server->counting.plan->node[i].arrival);
    print_over(out, member->over, (double)rounds);
    fputs("</td>", out);
    print_share(out, member->uplinks, rounds);
    fprintf(out,
            "<td class=\"number\">%.3f</td><td class=\"number\">%lld</td>"
            "</tr>\n",
            1 - pow(1 - uplink, (double)server->counting.repeat),
            (long long)member->packets);
}

static void print_nodes(FILE *out, const struct mesh_server *server)
{
    fprintf(out,
            "<h2>Nodes</h2>\n<p>Shares are of the %lld rounds under this plan. "
            "An uplink counts where its node has brought packets itself; links "
            "between nodes are not seen from here.</p>\n",
            (long long)server->members.rounds);
    fputs("<div class=\"wide\"><table><tr><th>node</th>"
          "<th>connection</th><th class=\"number\">last heard in round</th>"
          "<th class=\"number\">over relays</th>"
          "<th class=\"number\">arrived</th>"
          "<th class=\"number\">planned</th><th>over relays: share</th>"
          "<th class=\"number\">uplink</th>"
          "<th class=\"number\">planned</th>"
          "<th class=\"number\">packets it brought</th></tr>\n",
          out);
    for (int32_t i = 0, shown = 0; i < server->members.nodes && shown < ROWS;
         i++)
        if (server->members.list[i].enrolled) {
            print_node(out, server, i);
            shown++;
        }
    fputs("</table></div>\n", out);
}

static void print_drifts(FILE *out, const struct mesh_server *server)
{
    int32_t nodes[DRIFTS];
    int32_t count = mesh_drifts(server, nodes, DRIFTS);
    const struct mesh_members *members = &server->members;
    double rounds = (double)(members->recent + members->recent_before);
    fputs("<h2>Arrivals</h2>\n", out);
    if (count == 0) {
        fprintf(out,
                "<p>Nobody arrives more or less often than planned over the "
                "latest %.0f rounds. (All are tested together: while they "
                "arrive as planned, one look names any of them with a chance "
                "of at most %g.)</p>\n",
                rounds, MESH_ALARM);
        return;
    }
    fprintf(out,
            "<p><em>Warning:</em> %s%d nodes do not arrive as often as planned "
            "over the latest %.0f rounds (all are tested together; chance of a "
            "false alarm in one look: at most %g); 'pricer plan "
            "--from-deliveries' plans again:",
            count == DRIFTS ? "at least " : "", (int)count, rounds, MESH_ALARM);
    for (int32_t k = 0; k < count; k++) {
        const struct mesh_member *member = &members->list[nodes[k]];
        fprintf(out, " %s (%.3f, planned %.3f)",
                node_label(server->counting.network, nodes[k]).text,
                (double)(member->recent + member->recent_before) / rounds,
                server->counting.plan->node[nodes[k]].arrival);
    }
    fputs("</p>\n", out);
}

void mesh_status_page(FILE *out, const void *context)
{
    const struct mesh_server *server = context;
    live_open(out, "pricer-server");
    fputs("<h1>pricer-server</h1>\n", out);
    print_summary(out, server);
    if (mesh_status_troubles(server, NULL) > 0) {
        fputs("<h2>Attention</h2>\n<pre>", out);
        mesh_status_troubles(server, out);
        fputs("</pre>\n", out);
    }
    print_drifts(out, server);
    print_rounds(out, server);
    print_nodes(out, server);
    live_close(out);
}
