/*
 * From the state of the server to the page that people look at: what the last
 * round gave, small charts of the latest ones, what needs attention, and every
 * node. Nothing here reads the study.
 */
#include "server.h"
#include "common/meaning.h"
#include "page/live.h"
#include "page/small_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DRIFTS = 50,
    PRESENT = 5000, /* milliseconds: a node heard within them is there */
    ROWS = 2000,    /* nodes in the table */
    FOLDED = 40,    /* with more of them the table opens on request */
    STRIP = 32,     /* rounds of a node's strip */
    FEW = 10,       /* rounds left */
};

static bool is_present(const struct seat *seat)
{
    return seat->seen > 0 && daemon_clock() - seat->seen < PRESENT;
}

/* ----------------------------------------------------------------- facts -- */

static void fact(FILE *out, const char *value, const char *what)
{
    fprintf(out, "<li><b>%s</b><span>%s</span></li>\n", value, what);
}

/* "3 s", "5 min", "2 h": how long a time is, in one unit. */
static void put_age(char *text, size_t size, int64_t seconds)
{
    if (seconds < 120)
        snprintf(text, size, "%lld s", (long long)(seconds < 0 ? 0 : seconds));
    else if (seconds < 7200)
        snprintf(text, size, "%lld min", (long long)seconds / 60);
    else if (seconds < 172800)
        snprintf(text, size, "%lld h", (long long)seconds / 3600);
    else
        snprintf(text, size, "%lld days", (long long)seconds / 86400);
}

static void put_last(FILE *out, const struct server *server)
{
    const struct history *history = &server->history;
    char value[64], what[96], age[24];
    time_t ended = (time_t)history->ended;
    struct tm parts;
    put_age(age, sizeof age, (int64_t)time(NULL) - history->ended);
    snprintf(value, sizeof value, "%s ago", age);
    gmtime_r(&ended, &parts);
    size_t used = strftime(what, sizeof what,
                           "the last round ended, at %H:%M:%S UTC", &parts);
    snprintf(what + used, sizeof what - used, "; it took %lld ms",
             (long long)history->took);
    fact(out, value, what);
}

static void put_left(FILE *out, const struct history *history)
{
    int32_t at = server_history_at(history, history->count - 1);
    double least = fmin(history->left[at], history->link_left[at]);
    char value[32];
    if (isnan(least)) {
        fact(out, "no end", "no budget that is told runs out");
        return;
    }
    snprintf(value, sizeof value, least > FEW ? "%.0f" : "<em>%.0f</em>",
             least);
    fact(out, value, "rounds left of the budget that ends first");
}

static void print_facts(FILE *out, const struct server *server)
{
    double square = meaning_centre(server->network);
    char value[64];
    fputs("<ul class=\"facts\">\n", out);
    put_last(out, server);
    snprintf(value, sizeof value, "%d of %d", (int)server->arrived,
             (int)server->members);
    fact(out, value, "sums arrived in it");
    snprintf(value, sizeof value, "%d nodes", (int)server->contributors);
    fact(out, value, "whose data is in the estimate");
    if (server->contributors > 0) {
        snprintf(value, sizeof value,
                 server_is_bad(server) ? "<em>%s</em>" : "%s",
                 meaning_share(server->decoding.bar / square).text);
        fact(out, value, "of R²: its expected squared error, at most about");
    }
    put_left(out, &server->history);
    fputs("</ul>\n", out);
}

static void print_summary(FILE *out, const struct server *server)
{
    fprintf(out, "<p>%lld rounds since the start", (long long)server->done);
    if (server->done > 0)
        fprintf(out, ", the last one number %lld",
                (long long)server_last_round(server));
    fprintf(out,
            ", with %.0f %% of the plan's weight; %lld rounds gave an "
            "estimate. Plan %lld, %d nodes ready.</p>\n",
            100 * server->weight_arrived, (long long)server->estimates,
            (long long)server->plan_id, (int)server_ready(server));
    if (server->done == 0)
        return;
    print_facts(out, server);
    if (server->contributors > 0) {
        fprintf(out, "<p>%sThis round: ", server_is_bad(server) ? "<em>" : "");
        server_print_bar(server, out);
        fprintf(out,
                ".%s R is the radius of the data: R² is the error of "
                "answering nothing.</p>\n",
                server_is_bad(server) ? "</em>" : "");
    } else {
        fputs("<p><em>This round: no estimate, as nobody's data arrived."
              "</em></p>\n",
              out);
    }
    if (server->truth != NULL && server->estimates > 0)
        fprintf(out,
                "<p>Squared error of the estimates: mean %.6g, in squared "
                "units of the data.</p>\n",
                server->error_sum / (double)server->estimates);
}

/* --------------------------------------------------------------- trouble -- */

static void print_troubles(FILE *out, const struct server *server)
{
    char *text = NULL;
    size_t size = 0;
    bool open = server->open_budgets > 0;
    if (server_troubles(server, NULL) == 0 && !open)
        return;
    fputs("<div class=\"attention\"><p><em>Attention:</em></p>\n<ul>\n", out);
    if (open)
        fprintf(out,
                "<li>%lld nodes show the server more than their budget "
                "allows</li>\n",
                (long long)server->open_budgets);
    FILE *lines = open_memstream(&text, &size);
    if (lines != NULL) {
        server_troubles(server, lines);
        fclose(lines);
        for (char *line = strtok(text, "\n"); line != NULL;
             line = strtok(NULL, "\n"))
            fprintf(out, "<li>%s</li>\n", line);
        free(text);
    }
    fputs("</ul></div>\n", out);
}

/* ---------------------------------------------------------------- charts -- */

/* The remembered rounds, the oldest first. */
struct rows {
    int count;
    double round[HISTORY], arrived[HISTORY], gave[HISTORY], bar[HISTORY],
        error[HISTORY], left[HISTORY], link_left[HISTORY];
};

static void read_rows(const struct server *server, struct rows *rows)
{
    const struct history *history = &server->history;
    double square = meaning_centre(server->network);
    rows->count = history->count;
    for (int k = 0; k < rows->count; k++) {
        int32_t at = server_history_at(history, k);
        rows->round[k] = history->round[at];
        rows->arrived[k] = history->arrived[at];
        rows->gave[k] = history->gave[at];
        rows->bar[k] = history->bar[at] / square;
        rows->error[k] = history->error[at] / square;
        rows->left[k] = history->left[at];
        rows->link_left[k] = history->link_left[at];
    }
}

static bool any(const double *values, int count)
{
    for (int k = 0; k < count; k++)
        if (isfinite(values[k]))
            return true;
    return false;
}

static void figure(FILE *out, const char *heading, struct small_chart *chart)
{
    fprintf(out, "<figure><h2>%s</h2>\n", heading);
    chart->title = heading;
    small_chart_draw(out, chart);
    fputs("</figure>\n", out);
}

static void print_left_chart(FILE *out, const struct rows *rows)
{
    bool own = any(rows->left, rows->count);
    bool link = any(rows->link_left, rows->count);
    struct small_chart chart = {
        .x = rows->round, .count = rows->count, .level = NAN};
    if (own) {
        chart.y[chart.lines] = rows->left;
        chart.name[chart.lines++] = "towards the server";
    }
    if (link) {
        chart.y[chart.lines] = rows->link_left;
        chart.name[chart.lines++] = "towards a node";
    }
    if (chart.lines > 0)
        figure(out, "Rounds left, where fewest are", &chart);
}

static void print_charts(FILE *out, const struct server *server)
{
    struct rows rows;
    double square = meaning_centre(server->network);
    read_rows(server, &rows);
    if (rows.count == 0)
        return;
    fputs("<div class=\"charts\">\n", out);
    struct small_chart arrivals = {.x = rows.round,
                                   .count = rows.count,
                                   .bars = true,
                                   .lines = 1,
                                   .y = {rows.arrived},
                                   .name = {"sums"},
                                   .top = server->members,
                                   .level = NAN};
    figure(out, "Sums that arrived", &arrivals);
    struct small_chart nodes = arrivals;
    nodes.top = server->members;
    nodes.y[0] = rows.gave;
    nodes.name[0] = "nodes";
    nodes.level = (double)server->quorum;
    nodes.level_name = "quorum";
    figure(out, "Nodes in the estimate", &nodes);
    struct small_chart errors = {.x = rows.round,
                                 .count = rows.count,
                                 .lines = 1,
                                 .y = {rows.bar, rows.error},
                                 .name = {"at most", "measured"},
                                 .level = server->decoding.planned / square,
                                 .level_name = "planned"};
    errors.lines += any(rows.error, rows.count);
    figure(out, "Squared error, as a share of R²", &errors);
    print_left_chart(out, &rows);
    fputs("</div>\n", out);
}

/* ----------------------------------------------------------------- nodes -- */

/* Which columns have anything to show. */
struct columns {
    bool left, link, refusals;
};

static struct columns find_columns(const struct server *server)
{
    struct columns found = {false, false, false};
    for (int32_t i = 0; i < server->network->nodes; i++) {
        const struct seat *seat = &server->seats[i];
        found.left |= seat->told && seat->own_left < WIRE_NO_END;
        found.link |= seat->told && seat->ending_count > 0;
        found.refusals |= seat->refusals > 0;
    }
    return found;
}

static void print_left(FILE *out, int64_t left)
{
    if (left >= WIRE_NO_END)
        fputs("no end", out);
    else
        fprintf(out, left > FEW ? "%lld" : "<em>%lld</em>", (long long)left);
}

static void print_budgets(FILE *out, const struct server *server,
                          const struct seat *seat,
                          const struct columns *columns)
{
    if (columns->left) {
        fputs("<td class=\"number\" data-name=\"rounds left, own\">", out);
        if (seat->told)
            print_left(out, seat->own_left);
        else
            fputs("not told", out);
        fputs("</td>", out);
    }
    if (!columns->link)
        return;
    fputs("<td class=\"number\" data-name=\"rounds left, tightest link\">",
          out);
    if (!seat->told) {
        fputs("not told", out);
    } else if (seat->ending_count > 0) {
        print_left(out, seat->ending[0].left);
        fprintf(out, " (to %s)",
                node_label(server->network, seat->ending[0].to).text);
    } else {
        fputs("no end", out);
    }
    fputs("</td>", out);
}

static void print_node(FILE *out, const struct server *server, int32_t i,
                       const struct columns *columns)
{
    const struct seat *seat = &server->seats[i];
    int strip = server->history.count < STRIP ? server->history.count : STRIP;
    char age[24];
    fprintf(out,
            "<tr><td data-name=\"node\">%s</td><td data-name=\"state\">%s"
            "</td><td data-name=\"its data last in\">",
            node_label(server->network, i).text,
            !is_present(seat) ? "<em>absent</em>"
            : seat->ready     ? "ready"
                              : "no slice");
    if (seat->gave > 0) {
        put_age(age, sizeof age, (daemon_clock() - seat->gave_at) / 1000);
        fprintf(out, "round %lld, %s ago</td>", (long long)seat->gave, age);
    } else {
        fputs("none yet</td>", out);
    }
    fputs("<td data-name=\"rounds\">", out);
    if (strip > 0)
        small_strip_draw(out, seat->gave_in, seat->came_in, strip);
    fputs("</td>", out);
    print_budgets(out, server, seat, columns);
    if (columns->refusals) {
        fprintf(out, "<td data-name=\"refusals, the latest\">%lld",
                (long long)seat->refusals);
        if (seat->code != 0)
            fprintf(out, ", to %s: %s", seat->to == i ? "server" : "a node",
                    server_refusal_text(seat->code));
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

static void print_nodes(FILE *out, const struct server *server)
{
    struct columns columns = find_columns(server);
    bool folded = server->members > FOLDED;
    int32_t shown = 0;
    fputs("<h2>Nodes</h2>\n", out);
    if (folded)
        fprintf(out, "<details id=\"nodes\"><summary>all %d</summary>\n",
                (int)server->members);
    fprintf(out,
            "<p class=\"soft\">Strips: the latest %d rounds, the last at the "
            "right; tall where the node's data is in the estimate, low where "
            "only its sum arrived.</p>\n<div class=\"wide\"><table "
            "class=\"nodes\"><tr>"
            "<th>node</th><th>state</th><th>its data last in</th>"
            "<th>rounds</th>",
            STRIP);
    if (columns.left)
        fputs("<th class=\"number\">rounds left, own</th>", out);
    if (columns.link)
        fputs("<th class=\"number\">rounds left, tightest link</th>", out);
    if (columns.refusals)
        fputs("<th>refusals, the latest</th>", out);
    fputs("</tr>\n", out);
    for (int32_t i = 0; i < server->network->nodes && shown < ROWS; i++)
        if (server->seats[i].enrolled) {
            print_node(out, server, i, &columns);
            shown++;
        }
    fputs("</table></div>\n", out);
    if (folded)
        fputs("</details>\n", out);
}

/* ---------------------------------------------------------------- counts -- */

static void print_drifts(FILE *out, const struct server *server)
{
    struct drift drifts[DRIFTS];
    int32_t count = server_drifts(server, drifts, DRIFTS);
    fputs("<h2>Links</h2>\n", out);
    if (count == 0) {
        fprintf(out,
                "<p>No link drifts away from the plan. (All are tested "
                "together: while they are as planned, one look names any of "
                "them with a chance of at most %g.)</p>\n",
                DRIFT_ALARM);
        return;
    }
    fprintf(
        out,
        "<p><em>Warning:</em> %s%d links are not what the plan takes them "
        "for (all are tested together; chance of a false alarm in one look: "
        "at most %g); 'pricer plan --from-deliveries' plans again.</p>\n"
        "<details id=\"drifts\"><summary>which</summary>"
        "<div class=\"wide\"><table><tr><th>link</th>"
        "<th class=\"number\">planned probability</th>"
        "<th class=\"number\">measured</th></tr>\n",
        count == DRIFTS ? "at least " : "", (int)count, DRIFT_ALARM);
    for (int32_t k = 0; k < count; k++) {
        struct node_label to = {"server"};
        if (drifts[k].to != PRICER_SERVER)
            to = node_label(server->network, drifts[k].to);
        fprintf(out,
                "<tr><td>%s &rarr; %s</td><td class=\"number\">%.3f</td>"
                "<td class=\"number\">%.3f to %.3f</td></tr>\n",
                node_label(server->network, drifts[k].from).text, to.text,
                drifts[k].planned, drifts[k].low, drifts[k].high);
    }
    fputs("</table></div></details>\n", out);
}

static void count_row(FILE *out, const char *what, const char *why,
                      int64_t count)
{
    if (count > 0)
        fprintf(out,
                "<tr><td>%s</td><td>%s</td><td class=\"number\">%lld</td>"
                "</tr>\n",
                what, why, (long long)count);
}

static void print_counts(FILE *out, const struct server *server)
{
    int64_t all = 0;
    for (int k = 0; k < PRICER_WITHHELD_KINDS; k++)
        all += server->withheld_total[k];
    for (int k = 0; k < PRICER_DROP_KINDS; k++)
        all += server->total[k];
    if (all == 0) {
        fputs("<p>Nothing was withheld while a link was up, and no message was "
              "dropped.</p>\n",
              out);
        return;
    }
    fputs("<details id=\"counts\"><summary>what was withheld or dropped since "
          "the start</summary><div class=\"wide\"><table><tr><th>what</th>"
          "<th>why</th><th class=\"number\">count</th></tr>\n",
          out);
    for (int k = 0; k < PRICER_WITHHELD_KINDS; k++)
        count_row(out, "parts withheld, links up",
                  pricer_word(PRICER_WORDS_WITHHELD, k),
                  server->withheld_total[k]);
    for (int k = 0; k < PRICER_DROP_KINDS; k++)
        count_row(out, "messages dropped", pricer_word(PRICER_WORDS_DROP, k),
                  server->total[k]);
    fputs("</table></div></details>\n", out);
}

void status_live(FILE *out, const void *context)
{
    const struct server *server = context;
    live_open(out, "pricer-server");
    fputs("<h1>pricer-server</h1>\n", out);
    print_summary(out, server);
    print_troubles(out, server);
    print_charts(out, server);
    print_nodes(out, server);
    print_drifts(out, server);
    print_counts(out, server);
    live_close(out);
}
