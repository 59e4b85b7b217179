/*
 * From the rounds that were run to what they have cost: the eps of all releases so
 * far, towards the neighbour that is trusted most and towards the server, against
 * the budget.
 *
 * Claim: a curve is never below what its account has spent. Every round counts as a
 * release but those of which the node said that the budget forbids it; K releases
 * of ratio mu are one of ratio sqrt(K) mu.
 */
#include "chart.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>

enum { POINTS = 60, HALVINGS = 60 };

static double ratio_of(double change, double weight, double noise)
{
    return weight > 0 ? change * weight / noise : 0;
}

/* The link in use with the largest budget: who learns most. */
static void find_link(const struct report *report,
                      struct report_account *account)
{
    const struct pricer_network *net = report->network;
    const struct pricer_plan *plan = report->plan;
    for (int32_t l = 0; l < net->links; l++) {
        if (!(plan->weight[l] > 0) || isinf(net->eps[l]) ||
            (account->known && net->eps[l] <= account->eps))
            continue;
        int32_t i = net->from[l];
        *account = (struct report_account){
            .known = true,
            .node = i,
            .link = l,
            .ratio = ratio_of(net->node_diameter[i], plan->weight[l],
                              plan->noise[l]),
            .eps = net->eps[l],
            .delta = net->delta[l]};
    }
}

/* All that a node sends in a round, to whomever: what the server may get of it. */
static double all_ratios(const struct report *report, int32_t i)
{
    const struct pricer_network *net = report->network;
    const struct pricer_plan *plan = report->plan;
    double change = net->node_diameter[i];
    double own = ratio_of(change, plan->self_weight[i], plan->self_noise[i]);
    double sum = own * own;
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
        sum += pow(ratio_of(change, plan->weight[l], plan->noise[l]), 2);
    return sqrt(sum);
}

/* The node that spends most of its budget towards the server; without such
 * budgets there is nothing to draw against. */
static void find_server(const struct report *report,
                        struct report_account *account)
{
    const struct pricer_network *net = report->network;
    double worst = 0;
    for (int32_t i = 0; net->server_eps != NULL && i < net->nodes; i++) {
        double ratio = isinf(net->server_eps[i]) ? 0 : all_ratios(report, i);
        double share = ratio / net->server_eps[i];
        if (!(share > worst))
            continue;
        worst = share;
        *account = (struct report_account){.known = true,
                                           .node = i,
                                           .link = -1,
                                           .ratio = ratio,
                                           .eps = net->server_eps[i],
                                           .delta = net->server_delta[i]};
    }
}

void report_find_accounts(struct report *report)
{
    find_link(report, &report->account[REPORT_LINK]);
    find_server(report, &report->account[REPORT_SERVER]);
}

/* Whether so many releases are (eps, delta)-private. */
static bool holds(const struct report_account *account, int64_t releases,
                  double eps)
{
    return pricer_gaussian_delta(
               eps, account->ratio * sqrt((double)releases)) <= account->delta;
}

/* The least eps that holds for so many releases, and not below. */
static double eps_after(const struct report_account *account, int64_t releases)
{
    double low = 0, high = account->eps;
    if (releases <= 0)
        return 0;
    while (!holds(account, releases, high) && high < 1e9)
        high *= 2;
    for (int k = 0; k < HALVINGS && high - low > 1e-6 * high; k++) {
        double middle = (low + high) / 2;
        *(holds(account, releases, middle) ? &high : &low) = middle;
    }
    return high;
}

/* How many of the rounds up to and with this one an account has paid for. */
static int64_t paid(const struct report *report, int which, int32_t rounds)
{
    const struct report_rows *held = &report->withheld;
    double last = report->played_rounds.column[0][rounds - 1];
    int64_t count = rounds;
    for (int32_t k = 0; k < held->count; k++)
        count -= held->column[0][k] <= last && held->column[1][k] == which;
    return count > 0 ? count : 0;
}

static struct chart_line spend(const struct report *report, int which,
                               const char *name, double *x, double *y)
{
    const struct report_rows *rows = &report->played_rounds;
    int32_t step = (rows->count + POINTS - 1) / POINTS;
    int count = 0;
    for (int32_t k = 1; k <= rows->count; k++)
        if (k % step == 0 || k == 1 || k == rows->count) {
            x[count] = rows->column[0][k - 1];
            y[count++] =
                eps_after(&report->account[which], paid(report, which, k));
        }
    return (struct chart_line){name, x, y, count};
}

void report_spent(const struct report *report)
{
    static const char *const names[REPORT_ACCOUNTS] = {"towards a neighbour",
                                                       "towards the server"};
    static const char *const budgets[REPORT_ACCOUNTS] = {
        "budget towards a neighbour", "budget towards the server"};
    double x[REPORT_ACCOUNTS][POINTS + 3], y[REPORT_ACCOUNTS][POINTS + 3];
    const struct report_account *link = &report->account[REPORT_LINK];
    const struct report_account *server = &report->account[REPORT_SERVER];
    struct chart chart = {.title = "What the rounds have cost",
                          .x_name = "round",
                          .y_name = "ε spent, at most"};
    for (int k = 0; k < REPORT_ACCOUNTS; k++) {
        const struct report_account *account = &report->account[k];
        if (!account->known)
            continue;
        chart.line[chart.lines++] = spend(report, k, names[k], x[k], y[k]);
        chart.level[chart.levels++] =
            (struct chart_level){budgets[k], account->eps};
    }
    if (chart.lines == 0)
        return;
    if (link->known && server->known && link->eps == server->eps) {
        chart.levels = 1;
        chart.level[0].name = "budget of either";
    }
    fputs("<figure>\n", report->out);
    chart_draw(report->out, &chart);
    fputs("<figcaption>What the rounds with this plan have cost: ",
          report->out);
    if (link->known)
        fprintf(
            report->out, "node %s towards node %s (δ %.3g)",
            node_label(report->network, link->node).text,
            node_label(report->network, report->network->to[link->link]).text,
            link->delta);
    if (server->known)
        fprintf(report->out,
                "%snode %s towards the server over all paths, by its own noise "
                "alone (δ %.3g)",
                link->known ? ", the largest budget in use; " : "",
                node_label(report->network, server->node).text, server->delta);
    fprintf(report->out,
            ". Every round counts, every packet as heard, but those in which a "
            "node said that its budget was spent.</figcaption>\n</figure>\n");
}
