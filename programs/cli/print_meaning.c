/*
 * From a plan's error to what an engineer asks of it: how much is that, what
 * would nothing, nobody and perfection have, is it any good, how private.
 */
#include "print_meaning.h"
#include "common/meaning.h"

#include <math.h>
#include <string.h>

static double centre_of(const struct plan_view *view)
{
    return meaning_centre(view->network);
}

static void row(struct table *table, const char *name, double error,
                double centre)
{
    if (isnan(error))
        return;
    error = error < 1e-12 * centre ? 0 : error;
    table_cell(table, "%s", name);
    table_cell(table, "%.5g", error);
    table_cell(table, "%s", meaning_share(error / centre).text);
    table_cell(table, "%.4g", sqrt(error));
    table_cell(table, "%s", meaning_share(sqrt(error / centre)).text);
}

static void print_yardsticks(const struct plan_view *view)
{
    double centre = centre_of(view);
    struct table *table =
        table_new(5, (const char *const[]){"what it means, at worst", "error",
                                           "of R^2", "distance", "of R"});
    row(table, meaning_zero(view->network), centre, centre);
    row(table, "no collaboration, best", view->yardsticks.alone, centre);
    row(table, "this plan, every sum counting 1/n", view->error.mse_worst_case,
        centre);
    row(table, "this plan with its decoder, at most",
        view->decoder != NULL ? view->decoder->upper : NAN, centre);
    row(table, "these budgets, links that never fail", view->yardsticks.steady,
        centre);
    row(table, "these links, no noise and no privacy", view->yardsticks.trusted,
        centre);
    row(table, "perfect links without noise", 0, centre);
    table_print(table, stdout);
    bool mixed = centre < view->network->radius * view->network->radius;
    printf("error: expected squared distance of the estimate from the mean, in "
           "squared units of the data;\nR = %g: %s.\n",
           mixed ? sqrt(centre) : view->network->radius,
           mixed ? "the mean of the nodes' radii"
                 : "vectors are clipped to this length");
}

void meaning_bottleneck(const struct pricer_network *network,
                        const struct yardsticks *found, double error)
{
    if (isnan(found->alone))
        return;
    if (error < .99 * found->alone)
        printf("Relaying lowers the error at worst from %.4g to %.4g.",
               found->alone, error);
    else
        printf("Relaying gains nothing: %.4g at worst without it.",
               found->alone);
    switch (yardsticks_bottleneck(network, found, error)) {
    case BOTTLENECK_UNHEARD:
        printf(
            " The bottleneck is nodes that are\nnever heard: they alone cost "
            "%.4g.\n",
            yardsticks_unheard(network));
        break;
    case BOTTLENECK_NOISE:
        printf(" The bottleneck is the noise\nfor privacy: without noise %.4g "
               "would be left, with links that never fail %.4g.\n",
               found->trusted, found->steady);
        break;
    case BOTTLENECK_LINKS:
        printf(
            " The bottleneck is links\nthat fail: with links that never fail "
            "%.4g would be left, without noise %.4g.\n",
            found->steady, found->trusted);
        break;
    default:
        putchar('\n');
    }
}

void meaning_remedies(const struct pricer_network *network,
                      const struct yardsticks *found)
{
    double centre = meaning_centre(network);
    if (found->remedies == 0)
        return;
    struct table *table =
        table_new(4, (const char *const[]){"what would help, each by itself",
                                           "error", "of R^2", "privacy"});
    for (int k = 0; k < found->remedies; k++) {
        const struct remedy *remedy = &found->remedy[k];
        table_cell(table, "%s", remedy->words);
        table_cell(table, "%.5g", remedy->worst_case);
        table_cell(table, "%.3g %%", 100 * remedy->worst_case / centre);
        table_cell(table, "%s", remedy->privacy);
    }
    table_print(table, stdout);
}

static void print_verdict(const struct plan_view *view)
{
    double centre = centre_of(view), share = plan_view_error(view) / centre;
    printf(
        "\nVERDICT: %s than %s, which needs no data: at worst\n%.3g %% of its "
        "error.\n",
        meaning_verdict(share), meaning_zero(view->network), 100 * share);
    meaning_bottleneck(view->network, &view->yardsticks,
                       view->error.mse_worst_case);
    if (view->yardsticks.remedies == 0)
        return;
    putchar('\n');
    meaning_remedies(view->network, &view->yardsticks);
}

/* The largest eps of what is in use, and the delta beside it. */
struct widest {
    double eps, delta;
};

static struct widest widest_link(const struct plan_view *view)
{
    const struct pricer_network *net = view->network;
    struct widest found = {0, 0};
    for (int32_t l = 0; l < net->links; l++)
        if (view->plan->weight[l] > 0 && net->eps[l] > found.eps)
            found = (struct widest){net->eps[l], net->delta[l]};
    return found;
}

static struct widest widest_uplink(const struct plan_view *view)
{
    const struct pricer_network *net = view->network;
    struct widest found = {0, 0};
    for (int32_t i = 0; i < net->nodes; i++)
        if (view->plan->self_weight[i] > 0 && net->self_eps[i] > found.eps)
            found = (struct widest){net->self_eps[i], net->self_delta[i]};
    return found;
}

static struct widest widest_server(const struct plan_view *view)
{
    const struct pricer_network *net = view->network;
    struct widest found = {0, 0};
    for (int32_t i = 0; i < net->nodes && net->server_eps != NULL; i++)
        if (net->server_eps[i] > found.eps)
            found = (struct widest){net->server_eps[i], net->server_delta[i]};
    return found;
}

static void privacy_row(struct table *table, const char *name,
                        struct widest budget)
{
    if (budget.eps == 0)
        return;
    table_cell(table, "%s", name);
    table_cell(table, "%g", budget.eps);
    table_cell(table, "%g", budget.delta);
    table_cell(table, "%s", meaning_eps(budget.eps));
    table_cell(table, "%.4g %%", 100 * meaning_bet(budget.eps, budget.delta));
}

static void print_privacy(const struct plan_view *view)
{
    struct table *table = table_new(
        5, (const char *const[]){"largest budget in use", "eps", "delta",
                                 "privacy", "a guess between two is right"});
    privacy_row(table, "towards a neighbour", widest_link(view));
    privacy_row(table, "own part, towards the server", widest_uplink(view));
    privacy_row(table, "all paths, towards the server", widest_server(view));
    table_print(table, stdout);
    if (view->network->server_eps == NULL)
        puts("Nothing bounds what the server learns over all paths: pricer "
             "privacy tells how much that is.");
    printf("What an eps means: %s\nThe words of these tables: --explain\n",
           meaning_page());
}

void meaning_tables(const struct plan_view *view)
{
    print_yardsticks(view);
    print_verdict(view);
    putchar('\n');
    print_privacy(view);
}

static void json_budget(struct json *json, const char *key,
                        struct widest budget)
{
    if (budget.eps == 0)
        return;
    json_open(json, key, '{');
    json_number(json, "eps", budget.eps);
    json_number(json, "delta", budget.delta);
    json_text(json, "words", meaning_eps(budget.eps));
    json_number(json, "bet", meaning_bet(budget.eps, budget.delta));
    json_close(json, '}');
}

void meaning_json_remedies(struct json *json, const struct yardsticks *found)
{
    json_open(json, "remedies", '[');
    for (int k = 0; k < found->remedies; k++) {
        json_open(json, NULL, '{');
        json_text(json, "change", found->remedy[k].words);
        json_number(json, "worst_case", found->remedy[k].worst_case);
        json_text(json, "privacy", found->remedy[k].privacy);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void meaning_json(struct json *json, const struct plan_view *view)
{
    const struct yardsticks *found = &view->yardsticks;
    double share = plan_view_error(view) / centre_of(view);
    json_open(json, "meaning", '{');
    json_number(json, "error", plan_view_error(view));
    json_number(json, "share", share);
    json_number(json, "distance", sqrt(plan_view_error(view)));
    json_number(json, "centre", centre_of(view));
    json_number(json, "alone", found->alone);
    json_number(json, "steady_links", found->steady);
    json_number(json, "full_trust", found->trusted);
    json_text(json, "verdict", meaning_verdict(share));
    meaning_json_remedies(json, found);
    json_budget(json, "neighbour", widest_link(view));
    json_budget(json, "uplink", widest_uplink(view));
    json_budget(json, "server", widest_server(view));
    json_close(json, '}');
}
