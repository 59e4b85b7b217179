/*
 * From a plan and what was found out about it to tables for people, or to one
 * JSON object for scripts.
 */
#include "print_plan.h"
#include "common/meaning.h"
#include "common/unheard.h"
#include "print_errors.h"
#include "print_meaning.h"

#include <math.h>
#include <stdlib.h>

enum { TOP_RELAYS = 5, TOP_PRICES = 10 };

/* ------------------------------------------------------------ rankings -- */

/* The few largest of many, largest first; ties keep the order they came in. */
struct ranking {
    int count, most;
    int64_t place[TOP_PRICES];
    double amount[TOP_PRICES];
};

static void rank(struct ranking *ranking, int64_t place, double amount)
{
    int at = ranking->count;
    if (!(amount > 0) ||
        (at == ranking->most && amount <= ranking->amount[at - 1]))
        return;
    if (ranking->count < ranking->most)
        ranking->count++;
    else
        at--;
    for (; at > 0 && ranking->amount[at - 1] < amount; at--) {
        ranking->amount[at] = ranking->amount[at - 1];
        ranking->place[at] = ranking->place[at - 1];
    }
    ranking->amount[at] = amount;
    ranking->place[at] = place;
}

/* The expected weight that relay j carries for others; *served counts them. */
static double carried(const struct plan_view *view, int32_t j, int32_t *served)
{
    const struct pricer_network *net = view->network;
    double sum = 0;
    *served = 0;
    for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
        int32_t l = net->in_link[k];
        double share = net->uplink[j] * net->p[l] * view->plan->weight[l];
        *served += share > 0;
        sum += share;
    }
    return sum;
}

static struct ranking rank_relays(const struct plan_view *view)
{
    struct ranking ranking = {.most = TOP_RELAYS};
    int32_t served;
    for (int32_t j = 0; j < view->network->nodes; j++)
        rank(&ranking, j, carried(view, j, &served));
    return ranking;
}

/* Links stand at their number, uplinks behind them, and behind those the
 * budgets towards the server. */
static struct ranking rank_prices(const struct plan_view *view)
{
    struct ranking ranking = {.most = TOP_PRICES};
    if (view->price == NULL)
        return ranking;
    for (int32_t l = 0; l < view->network->links; l++)
        rank(&ranking, l, -view->price[l]);
    for (int32_t i = 0; i < view->network->nodes; i++)
        rank(&ranking, (int64_t)view->network->links + i, -view->self_price[i]);
    if (view->server_price != NULL)
        for (int32_t i = 0; i < view->network->nodes; i++)
            rank(&ranking,
                 (int64_t)view->network->links + view->network->nodes + i,
                 -view->server_price[i]);
    return ranking;
}

/* What stands at a place of rank_prices(). */
struct priced {
    int32_t from, to;
    double eps, share;
    bool server; /* a budget towards the server, over all relays */
};

/* What the server is expected to count of node i. */
static double counted(const struct plan_view *view, int32_t i)
{
    const struct pricer_network *net = view->network;
    double sum = net->uplink[i] * view->plan->self_weight[i];
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
        sum += net->uplink[net->to[l]] * net->p[l] * view->plan->weight[l];
    return sum;
}

static struct priced priced_at(const struct plan_view *view, int64_t place)
{
    const struct pricer_network *net = view->network;
    if (place < net->links)
        return (struct priced){net->from[place], net->to[place],
                               net->eps[place],
                               net->uplink[net->to[place]] * net->p[place] *
                                   view->plan->weight[place],
                               false};
    int32_t i = (int32_t)((place - net->links) % net->nodes);
    if (place - net->links >= net->nodes)
        return (struct priced){i, i, net->server_eps[i], counted(view, i),
                               true};
    return (struct priced){i, i, net->self_eps[i],
                           net->uplink[i] * view->plan->self_weight[i], false};
}

/* ---------------------------------------------------------------- JSON -- */

static void json_error(struct json *json, const struct pricer_error *error)
{
    json_number(json, "objective", error->objective);
    json_number(json, "variance", error->variance);
    json_number(json, "piv", error->piv);
    json_number(json, "tiv", error->tiv);
    json_number(json, "mse_paper", error->mse_paper);
    json_number(json, "mse_worst_case", error->mse_worst_case);
    json_number(json, "bias_l1", error->bias_l1);
}

static void json_rankings(struct json *json, const struct plan_view *view)
{
    struct ranking relays = rank_relays(view), prices = rank_prices(view);
    json_open(json, "relays", '[');
    for (int k = 0; k < relays.count; k++) {
        int32_t served, j = (int32_t)relays.place[k];
        json_open(json, NULL, '{');
        json_count(json, "node", j);
        json_name(json, "name", view->network, j);
        json_number(json, "p", view->network->uplink[j]);
        json_number(json, "carries", carried(view, j, &served));
        json_count(json, "serves", served);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "prices", '[');
    for (int k = 0; k < prices.count; k++) {
        struct priced link = priced_at(view, prices.place[k]);
        json_open(json, NULL, '{');
        json_count(json, "from", link.from);
        json_name(json, "from_name", view->network, link.from);
        json_count(json, "to", link.to);
        json_name(json, "to_name", view->network, link.to);
        json_number(json, "eps", link.eps);
        json_number(json, "price", -prices.amount[k]);
        if (link.server)
            json_flag(json, "server", true);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_what_if(struct json *json, const struct plan_view *view)
{
    const struct plan_what_if *what_if = &view->what_if;
    json_open(json, "what_if", '{');
    json_open(json, "changes", '[');
    for (int k = 0; k < what_if->count; k++) {
        json_open(json, NULL, '{');
        json_count(json, "from", what_if->change[k].from);
        json_count(json, "to", what_if->change[k].to);
        json_number(json, "eps_before", what_if->change[k].before);
        json_number(json, "eps", what_if->change[k].eps);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_error(json, &what_if->error);
    json_number(json, "difference",
                what_if->error.objective - view->error.objective);
    json_number(json, "predicted", what_if->predicted);
    json_number(json, "gap", what_if->info.gap);
    json_count(json, "iterations", what_if->info.iterations);
    json_number(json, "seconds", what_if->info.seconds);
    json_close(json, '}');
}

/* The rounds that the budgets are for. */
static long long planned_rounds(const struct plan_view *view)
{
    return view->settings.rounds > 0 ? view->settings.rounds : 1;
}

/* Where the probabilities come from. */
static void json_origin(struct json *json,
                        const struct pricer_network_record *origin)
{
    json_open(json, "network", '{');
    json_text(json, "origin", pricer_word(PRICER_WORDS_ORIGIN, origin->origin));
    if (origin->origin == PRICER_ORIGIN_MEASURED) {
        json_count(json, "rounds", origin->rounds);
        json_count(json, "first_round", origin->first);
        json_count(json, "last_round", origin->last);
    }
    json_close(json, '}');
}

void plan_view_json(const struct plan_view *view)
{
    static const char *const keys[PRICER_BASELINES] = {"naive", "unbiased",
                                                       "best", "colrel"};
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_count(&json, "nodes", view->network->nodes);
    json_count(&json, "links", view->network->links);
    json_text(&json, "bias",
              pricer_word(PRICER_WORDS_BIAS, view->settings.bias));
    json_number(&json, "lambda", view->settings.lambda);
    json_text(
        &json, "calibration",
        pricer_word(PRICER_WORDS_CALIBRATION, view->settings.calibration));
    json_text(&json, "method", view->method);
    json_error(&json, &view->error);
    json_number(&json, "gap", view->gap);
    json_count(&json, "iterations", view->iterations);
    json_number(&json, "seconds", view->seconds);
    json_number(&json, "solve_seconds", view->solve_seconds);
    json_number(&json, "bound", view->bound);
    json_flag(&json, "stopped", view->outcome == PRICER_OUTCOME_STOPPED);
    json_flag(&json, "feasible", view->certificate.feasible);
    json_count(&json, "open_links", view->certificate.open_links);
    if (view->network->server_eps != NULL)
        json_count(&json, "open_budgets", view->certificate.open_budgets);
    json_count(&json, "plan", view->id);
    json_count(&json, "rounds", planned_rounds(view));
    json_number(&json, "radius", view->network->radius);
    json_origin(&json, &view->origin);
    unheard_json(&json, view->network);
    plan_view_json_decoder(&json, view);
    meaning_json(&json, view);
    json_open(&json, "baselines", '{');
    for (int k = 0; k < PRICER_BASELINES; k++) {
        if (!view->rival[k].known)
            continue;
        json_open(&json, keys[k], '{');
        json_error(&json, &view->rival[k].error);
        json_close(&json, '}');
    }
    json_close(&json, '}');
    json_rankings(&json, view);
    if (view->what_if.count > 0)
        json_what_if(&json, view);
    json_close(&json, '}');
}

/* -------------------------------------------------------------- tables -- */

static void print_budgets(const struct plan_view *view)
{
    const struct pricer_network *net = view->network;
    long long budgets = 0, open = view->certificate.open_budgets;
    for (int32_t i = 0; i < net->nodes; i++)
        budgets += net->server_eps[i] < INFINITY;
    if (open == 0)
        printf("Checked: all %lld nodes with a budget towards the server keep "
               "it, whatever links\nare up and others add. It is divided "
               "evenly among the links of a node: 'scheme:\nforward' "
               "(trust.everyone) divides nothing and has a smaller error.\n",
               budgets);
    else
        printf("NOT PRIVATE: %lld of %lld nodes show the server more than their"
               " budget allows.\n",
               open, budgets);
}

static void print_certificate(const struct plan_view *view)
{
    const struct pricer_certificate *found = &view->certificate;
    long long budgets = (long long)view->network->links + view->network->nodes;
    long long rounds = planned_rounds(view);
    if (view->outcome == PRICER_OUTCOME_STOPPED)
        puts("Stopped early: this is the best plan so far.");
    if (isnan(view->gap) || view->gap >= 1)
        puts("Nothing bounds how far from optimal the plan is.");
    else
        printf("Certified: no plan has an objective below %.9g, so this one "
               "is at most %.2g %%\nabove the optimum (relative gap %.2g).\n",
               view->bound, 100 * view->gap / (1 - view->gap), view->gap);
    if (found->open_links == 0)
        printf("Checked: all %lld links and uplinks keep their (eps, delta) "
               "over %lld round%s,\nevery packet counted as heard.\n",
               budgets, rounds, rounds == 1 ? "" : "s");
    else
        printf("NOT PRIVATE: %lld of %lld links and uplinks spend more than "
               "their (eps, delta).\n",
               (long long)found->open_links, budgets);
    if (view->network->server_eps != NULL)
        print_budgets(view);
    char near[MEANING_NEAR_ROOM];
    if (meaning_near(view->network, near)[0] != '\0')
        puts(near);
    if (found->words[0] != '\0')
        printf("%s\n", found->words);
}

static void print_relays(const struct plan_view *view)
{
    struct ranking relays = rank_relays(view);
    if (relays.count == 0) {
        puts("No node relays for another: sharing would cost more than it "
             "brings.");
        return;
    }
    struct table *table = table_new(
        4, (const char *const[]){"relays that carry most", "p", "serves nodes",
                                 "carries expected weight"});
    for (int k = 0; k < relays.count; k++) {
        int32_t served, j = (int32_t)relays.place[k];
        double sum = carried(view, j, &served);
        table_cell(table, "%s", node_label(view->network, j).text);
        table_cell(table, "%g", view->network->uplink[j]);
        table_cell(table, "%d", (int)served);
        table_cell(table, "%.4g", sum);
    }
    table_print(table, stdout);
}

static void print_prices(const struct plan_view *view)
{
    struct ranking prices = rank_prices(view);
    if (view->price == NULL)
        return;
    if (prices.count == 0) {
        puts("More trust on a single link would change nothing.");
        return;
    }
    struct table *table = table_new(
        5,
        (const char *const[]){"price of trust", "eps", "expected weight",
                              "d objective / d ln eps", "1 % more eps saves"});
    for (int k = 0; k < prices.count; k++) {
        struct priced link = priced_at(view, prices.place[k]);
        if (link.server)
            table_cell(table, "%s to server, all paths",
                       node_label(view->network, link.from).text);
        else if (link.from == link.to)
            table_cell(table, "%s to server",
                       node_label(view->network, link.from).text);
        else
            table_cell(table, "%s to %s",
                       node_label(view->network, link.from).text,
                       node_label(view->network, link.to).text);
        table_cell(table, "%g", link.eps);
        table_cell(table, "%.4g", link.share);
        table_cell(table, "%.5g", -prices.amount[k]);
        table_cell(table, "%.3g %%", prices.amount[k] / view->error.objective);
    }
    table_print(table, stdout);
}

void plan_view_tables(const struct plan_view *view)
{
    bool penalty = view->settings.bias == PRICER_BIAS_L1 ||
                   view->settings.bias == PRICER_BIAS_L2;
    printf("%d nodes, %d links; bias term %s", (int)view->network->nodes,
           (int)view->network->links,
           pricer_word(PRICER_WORDS_BIAS, view->settings.bias));
    if (penalty)
        printf(" %g", view->settings.lambda);
    printf(", %s noise, %s weights, %.3g s\n\n",
           pricer_word(PRICER_WORDS_CALIBRATION, view->settings.calibration),
           view->method, view->seconds);
    if (view->origin.origin == PRICER_ORIGIN_MEASURED)
        printf("Links as measured over %lld rounds, %lld to %lld.\n\n",
               (long long)view->origin.rounds, (long long)view->origin.first,
               (long long)view->origin.last);
    if (unheard_count(view->network) > 0) {
        unheard_print(stdout, view->network, NULL);
        putchar('\n');
    }
    meaning_tables(view);
    char relative[MEANING_REFERENCE_ROOM];
    if (meaning_reference(view->network, view->error.mse_worst_case,
                          relative)[0] != '\0')
        printf("\n%s\n", relative);
    putchar('\n');
    plan_errors_print(view);
    putchar('\n');
    print_certificate(view);
    putchar('\n');
    plan_view_decoder(view);
    putchar('\n');
    print_relays(view);
    putchar('\n');
    print_prices(view);
    if (view->what_if.count > 0) {
        putchar('\n');
        plan_what_if_print(view);
    }
}
