/*
 * From a plan to what a better link, more trust and another uplink would save:
 * prices to first order, and the best places for uplinks by plans that were made
 * for them.
 */
#include "advise_point.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many sets of nodes are tried one by one; with more, or in a network of more
 * nodes, uplinks are placed one after another, each the best beside those before
 * it, among so many candidates. */
enum { SETS = 1000, SET_NODES = 32, CANDIDATES = 24 };

/* Candidates are told apart by three digits; the best gets all of them. */
#define TRIAL 1e-3

/* Better by a tenth: what 10 % more eps, or 10 % fewer failures, come to. */
#define TENTH 0.1

/* --------------------------------------------------------------- prices -- */

/* Keep what saves most of its family, in order. */
static void keep(struct advice *advice, struct advice_price price)
{
    bool trust = price.of < PRICE_LINK;
    int family = trust ? FAMILY_TRUST : FAMILY_LINKS;
    struct advice_price *list = advice->price[family];
    int *count = &advice->prices[family], at = *count;
    price.saves = -price.price *
                  (trust ? log(1 + TENTH) : TENTH * (1 - price.now)) /
                  advice->here.objective;
    if (!(price.saves > 1e-9) ||
        (at == ADVICE_PRICES && price.saves <= list[at - 1].saves))
        return;
    if (at < ADVICE_PRICES)
        ++*count;
    else
        at--;
    for (; at > 0 && list[at - 1].saves < price.saves; at--)
        list[at] = list[at - 1];
    list[at] = price;
}

static void keep_all(struct advice *advice, const double *link,
                     const double *node)
{
    const struct pricer_network *net = advice->from.network;
    size_t links = (size_t)net->links, nodes = (size_t)net->nodes;
    for (int32_t l = 0; l < net->links; l++) {
        int32_t from = net->from[l], to = net->to[l];
        keep(advice, (struct advice_price){PRICE_TRUST, from, to, net->eps[l],
                                           link[l], 0});
        keep(advice, (struct advice_price){PRICE_LINK, from, to, net->p[l],
                                           link[links + (size_t)l], 0});
    }
    for (int32_t i = 0; i < net->nodes; i++) {
        keep(advice, (struct advice_price){PRICE_OWN, i, i, net->self_eps[i],
                                           node[i], 0});
        keep(advice, (struct advice_price){PRICE_UPLINK, i, i, net->uplink[i],
                                           node[nodes + (size_t)i], 0});
        if (net->server_eps != NULL)
            keep(advice,
                 (struct advice_price){PRICE_SERVER, i, i, net->server_eps[i],
                                       node[2 * nodes + (size_t)i], 0});
    }
}

enum pricer_status advise_prices(struct advice *advice)
{
    const struct pricer_network *net = advice->from.network;
    const struct pricer_settings *settings = &advice->settings;
    size_t links = (size_t)net->links, nodes = (size_t)net->nodes;
    double *link = calloc(2 * links + 1, sizeof *link);
    double *node = calloc(3 * nodes + 1, sizeof *node);
    enum pricer_status status = PRICER_MEMORY;
    if (link != NULL && node != NULL)
        status = pricer_trust_price(net, settings, advice->plan, link, node,
                                    &advice->fault);
    if (status == PRICER_OK)
        status = pricer_link_price(net, advice->plan, link + links,
                                   node + nodes, &advice->fault);
    if (status == PRICER_OK && net->server_eps != NULL)
        status = pricer_trust_server_price(net, settings, advice->plan,
                                           node + 2 * nodes, &advice->fault);
    if (status == PRICER_OK)
        keep_all(advice, link, node);
    free(link);
    free(node);
    return status;
}

/* -------------------------------------------------------------- uplinks -- */

struct places {
    struct advice *advice;
    struct variant variant;
    int32_t *node; /* [count] that may get one, the likeliest first */
    int count;
    double tolerance; /* of the next plan */
    struct pricer_plan *warm;
};

/* How many sets of k among n, at most SETS + 1. */
static int sets_of(int n, int k)
{
    double sets = 1;
    for (int j = 0; j < k; j++)
        sets = sets * (n - j) / (j + 1);
    return sets > SETS ? SETS + 1 : (int)(sets + .5);
}

/* The plan with uplinks at these places, if it is the best so far. */
static enum pricer_status try_set(struct places *places, const int *chosen,
                                  int k, struct advice_uplinks *best)
{
    struct advice *advice = places->advice;
    struct advice_point point = {.factor = 1, .eps = advice->here.eps};
    for (int j = 0; j < k; j++)
        places->variant.uplink[places->node[chosen[j]]] =
            advice->request.uplink;
    double tolerance = advice->settings.tolerance;
    advice->settings.tolerance = places->tolerance;
    enum pricer_status status =
        advise_point(advice, &places->variant.network, &places->warm, &point);
    advice->settings.tolerance = tolerance;
    for (int j = 0; j < k; j++) {
        int32_t node = places->node[chosen[j]];
        places->variant.uplink[node] = advice->from.network->uplink[node];
    }
    if (status == PRICER_OK &&
        (best->count == 0 || point.objective < best->point.objective)) {
        best->count = k;
        best->point = point;
        for (int j = 0; j < k; j++)
            best->node[j] = places->node[chosen[j]];
    }
    return status;
}

/* The next set of k among n in the order of the dictionary. */
static bool next_set(int *chosen, int k, int n)
{
    int j = k - 1;
    while (j >= 0 && chosen[j] == n - k + j)
        j--;
    if (j < 0)
        return false;
    chosen[j]++;
    for (j++; j < k; j++)
        chosen[j] = chosen[j - 1] + 1;
    return true;
}

static enum pricer_status try_all(struct places *places, int k,
                                  struct advice_uplinks *best)
{
    int chosen[ADVICE_UPLINKS];
    enum pricer_status status = PRICER_OK;
    for (int j = 0; j < k; j++)
        chosen[j] = j;
    do
        status = try_set(places, chosen, k, best);
    while (status == PRICER_OK && next_set(chosen, k, places->count));
    return status;
}

/* The chosen set once more, with all digits. */
static enum pricer_status certify(struct places *places,
                                  struct advice_uplinks *best)
{
    int chosen[ADVICE_UPLINKS], k = best->count;
    for (int j = 0; j < k; j++)
        for (int place = 0; place < places->count; place++)
            if (places->node[place] == best->node[j])
                chosen[j] = place;
    best->count = 0;
    places->tolerance = places->advice->settings.tolerance;
    enum pricer_status status = try_set(places, chosen, k, best);
    places->tolerance = TRIAL;
    return status;
}

static enum pricer_status try_one_more(struct places *places, int k,
                                       struct advice_uplinks *best)
{
    int chosen[ADVICE_UPLINKS];
    enum pricer_status status = PRICER_OK;
    for (int j = 0; j + 1 < k; j++)
        for (int place = 0; place < places->count; place++)
            if (places->node[place] == (best - 1)->node[j])
                chosen[j] = place;
    for (int place = 0; place < places->count && status == PRICER_OK; place++) {
        bool taken = false;
        for (int j = 0; j + 1 < k; j++)
            taken |= chosen[j] == place;
        chosen[k - 1] = place;
        if (!taken)
            status = try_set(places, chosen, k, best);
    }
    return status == PRICER_OK ? certify(places, best) : status;
}

static int by_gain(const void *one, const void *two, void *context)
{
    const double *gain = context;
    int32_t a = *(const int32_t *)one, b = *(const int32_t *)two;
    if (gain[a] != gain[b])
        return gain[a] > gain[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

/*
 * Nodes whose uplink is worse than the one to place, the likeliest first: by
 * the price of uplinks in a network where those of 0 are a hundredth, as nothing
 * is known about an uplink that no plan can use.
 */
static enum pricer_status choose_candidates(struct places *places)
{
    struct advice *advice = places->advice;
    const struct pricer_network *net = advice->from.network;
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    double *price = calloc((size_t)net->links + 1, sizeof *price);
    double *gain = calloc((size_t)net->nodes + 1, sizeof *gain);
    enum pricer_status status = PRICER_MEMORY;
    if (price == NULL || gain == NULL)
        goto done;
    for (int32_t i = 0; i < net->nodes; i++)
        places->variant.uplink[i] = fmax(net->uplink[i], .01);
    status = variant_plan(&places->variant.network, &advice->settings,
                          advice->plan, &plan, &info, NULL);
    if (status == PRICER_OK)
        status = pricer_link_price(&places->variant.network, plan, price, gain,
                                   &advice->fault);
    variant_reset(&places->variant, net);
    for (int32_t i = 0; i < net->nodes && status == PRICER_OK; i++) {
        gain[i] *= net->uplink[i] - advice->request.uplink;
        if (net->uplink[i] < advice->request.uplink)
            places->node[places->count++] = i;
    }
    qsort_r(places->node, (size_t)places->count, sizeof *places->node, by_gain,
            gain);
    if (places->count > CANDIDATES && net->nodes > SET_NODES)
        places->count = CANDIDATES;
done:
    pricer_plan_free(plan);
    free(price);
    free(gain);
    return status;
}

enum pricer_status advise_uplinks(struct advice *advice)
{
    struct places places = {.advice = advice};
    size_t nodes = (size_t)advice->from.network->nodes;
    int most = (int)advice->request.uplinks;
    if (most == 0)
        return PRICER_OK;
    enum pricer_status status =
        variant_make(advice->from.network, &places.variant);
    if (status != PRICER_OK)
        return status;
    places.node = calloc(nodes, sizeof *places.node);
    status = places.node != NULL ? choose_candidates(&places) : PRICER_MEMORY;
    if (most > places.count)
        most = places.count;
    advice->all_sets = advice->from.network->nodes <= SET_NODES &&
                       sets_of(places.count, most) <= SETS;
    places.tolerance = advice->all_sets ? advice->settings.tolerance : TRIAL;
    for (int k = 1; k <= most && status == PRICER_OK; k++) {
        struct advice_uplinks *best = &advice->uplinks[k - 1];
        status = advice->all_sets ? try_all(&places, k, best)
                                  : try_one_more(&places, k, best);
        if (status == PRICER_OK)
            advice->placed = k;
    }
    pricer_plan_free(places.warm);
    free(places.node);
    variant_free(&places.variant);
    return status;
}
