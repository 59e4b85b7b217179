/*
 * From link budgets and budgets towards the server to what a link costs for
 * each part of its node's budget, and how a row spends that budget best.
 */
#include "server.h"

#include <stdlib.h>

/* ------------------------------------------------------------------- new -- */

struct fill {
    struct pri_server *server;
    const double *slope, *self_slope;
    double dimension;
};

/* c: what a link of node i may show by its own budget, as (2 radius / slope)^2.
 * Where the diameter is less than 2 radius all of a row are larger by the same
 * factor, the row's budget too, and nothing else is asked of them. */
static double link_limit(const struct pricer_network *net, int32_t i,
                         double slope)
{
    double unit = 1 / net->node_radius[i];
    double ratio = slope > 0 ? 2 / (slope * unit) : INFINITY;
    return ratio * ratio;
}

static struct pri_split unbound(double cost)
{
    return (struct pri_split){.plain = cost, .most = INFINITY};
}

/* The split of a link that is used with probability `arrive`; a link that the
 * row's budget holds tighter than its own has no limit of its own. */
static struct pri_split bound(double cost, double p, double arrive,
                              double limit, double most, double dimension)
{
    if (cost == INFINITY)
        return unbound(cost);
    return (struct pri_split){.plain = (1 - p) / arrive,
                              .noise = 4 * dimension / arrive / limit,
                              .most = most < 1 ? most : INFINITY};
}

/* Whether the links of node i could spend more than its budget. */
static bool is_bound(const struct fill *fill, int32_t i)
{
    const struct pri_problem *problem = fill->server->problem;
    const struct pricer_network *net = problem->network;
    double limit = fill->server->limit[i], sum = 0;
    if (!(limit < INFINITY))
        return false;
    if (problem->self[i].cost < INFINITY)
        sum = link_limit(net, i, fill->self_slope[i]);
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
        int32_t link = problem->link == NULL ? l : problem->link[l];
        if (link >= 0 && problem->arc[l].cost < INFINITY)
            sum += link_limit(net, i, fill->slope[link]);
    }
    return sum > limit;
}

static void fill_splits(void *context, int32_t low, int32_t high,
                        struct pri_sweep_sums *tally)
{
    struct fill *fill = context;
    struct pri_server *server = fill->server;
    const struct pri_problem *problem = server->problem;
    const struct pricer_network *net = problem->network;
    for (int32_t i = low; i < high; i++) {
        double limit = server->limit[i], uplink = net->uplink[i];
        server->bound[i] = is_bound(fill, i);
        tally->sum[0] += server->bound[i];
        server->self[i] =
            server->bound[i]
                ? bound(problem->self[i].cost, 1, uplink, limit,
                        link_limit(net, i, fill->self_slope[i]) / limit,
                        fill->dimension)
                : unbound(problem->self[i].cost);
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            int32_t link = problem->link == NULL ? l : problem->link[l];
            server->arc[l] = unbound(problem->arc[l].cost);
            if (!server->bound[i] || link < 0)
                continue;
            double p = net->p[link];
            server->arc[l] = bound(
                problem->arc[l].cost, p, net->uplink[problem->to[l]] * p, limit,
                link_limit(net, i, fill->slope[link]) / limit, fill->dimension);
        }
    }
}

enum pricer_status pri_server_new(struct pri_problem *problem,
                                  const double *slope, const double *self_slope,
                                  const double *server_slope,
                                  struct pri_server **server)
{
    const struct pricer_network *net = problem->network;
    struct pri_server *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->problem = problem;
    made->limit = pri_alloc(problem->nodes, sizeof(double));
    made->arc = pri_alloc(problem->arcs, sizeof *made->arc);
    made->self = pri_alloc(problem->nodes, sizeof *made->self);
    made->bound = pri_alloc(problem->nodes, sizeof(bool));
    made->whole = pri_alloc(problem->nodes, sizeof(bool));
    made->multiplier = pri_alloc(problem->nodes, sizeof(double));
    if (!made->limit || !made->arc || !made->self || !made->bound ||
        !made->whole || !made->multiplier) {
        pri_server_free(made);
        return PRICER_MEMORY;
    }
    struct fill fill = {made, slope, self_slope, (double)net->dimension};
    struct pri_sweep_sums total;
    for (int32_t i = 0; i < problem->nodes; i++)
        made->limit[i] = link_limit(net, i, server_slope[i]);
    pri_sweep(problem, fill_splits, &fill, &total);
    made->bindings = (int32_t)total.sum[0];
    *server = made;
    return PRICER_OK;
}

void pri_server_free(struct pri_server *server)
{
    if (server == NULL)
        return;
    free(server->limit);
    free(server->arc);
    free(server->self);
    free(server->bound);
    free(server->whole);
    free(server->multiplier);
    free(server);
}

/* ------------------------------------------------------------------ rate -- */

/* What a link asks for at a rate: into `held` if its own budget stops it, else
 * into `asked`, which grows with the rate. */
static void ask(const struct pri_split *split, double share, double rate,
                double *held, double *asked)
{
    if (!(share > 0))
        return;
    double wish = sqrt(split->noise) * share;
    if (rate * wish >= split->most)
        *held += split->most;
    else
        *asked += wish;
}

/*
 * Claim: the parts add up to at most 1, up to rounding, and no others cost
 * less. By Cauchy and Schwarz parts in proportion to sqrt(b) share cost least;
 * those beyond their most are held there, which raises the rate of the others,
 * so that the rate only grows and no more links than the row has are held.
 */
double pri_server_rate(const struct pri_server *server, int32_t i)
{
    const struct pri_problem *problem = server->problem;
    double rate = 0;
    for (int32_t trial = problem->start[i]; trial <= problem->start[i + 1] + 1;
         trial++) {
        double held = 0, asked = 0;
        ask(&server->self[i], pri_server_own(server, i), rate, &held, &asked);
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
            ask(&server->arc[l], pri_server_out(server, i, l), rate, &held,
                &asked);
        if (!(asked > 0))
            return INFINITY;
        double next = pri_most(0, 1 - held) / asked;
        if (!(next > rate))
            return rate;
        rate = next;
    }
    return rate;
}

/* ----------------------------------------------------------- to the plan -- */

void pri_server_plan(const struct pri_server *server, struct pricer_plan *plan)
{
    const struct pri_problem *problem = server->problem;
    const struct pricer_network *net = problem->network;
    double unit = net->radius * net->radius;
    for (int32_t i = 0; i < plan->nodes; i++) {
        plan->server_multiplier[i] =
            server->bound[i] ? server->multiplier[i] * unit / server->limit[i]
                             : 0;
        if (!(pri_server_own(server, i) > 0))
            plan->self_weight[i] = 0;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            int32_t link = problem->link == NULL ? l : problem->link[l];
            if (link >= 0 && !(pri_server_out(server, i, l) > 0))
                plan->weight[link] = 0;
        }
    }
}

/* A row of a plan as it asks for its parts: wish is sqrt(w) weight. */
struct row {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    const double *slope, *self_slope;
    double server_slope;
    int32_t node;
};

/* Wish and most of link l of the row, of the own link for l < out_start. */
static void wish_of(const struct row *row, int32_t l, long double *wish,
                    long double *most)
{
    const struct pricer_network *net = row->network;
    bool own = l < net->out_start[row->node];
    double slope = own ? row->self_slope[row->node] : row->slope[l];
    double weight =
        own ? row->plan->self_weight[row->node] : row->plan->weight[l];
    long double arrive = own ? net->uplink[row->node]
                             : (long double)net->uplink[net->to[l]] * net->p[l];
    long double ratio = row->server_slope / (long double)slope;
    *wish = sqrtl(arrive) * weight;
    *most = slope > 0 ? ratio * ratio : INFINITY;
}

/* The rate of pri_server_rate(), from the weights of a plan. */
static long double row_rate(const struct row *row)
{
    const int32_t *start = &row->network->out_start[row->node];
    long double rate = 0;
    for (int32_t trial = start[0]; trial <= start[1] + 1; trial++) {
        long double held = 0, asked = 0;
        for (int32_t l = start[0] - 1; l < start[1]; l++) {
            long double wish, most;
            wish_of(row, l, &wish, &most);
            if (wish > 0 && rate * wish >= most)
                held += most;
            else
                asked += wish;
        }
        if (!(asked > 0))
            return INFINITY;
        long double next = held < 1 ? (1 - held) / asked : 0;
        if (!(next > rate))
            return rate;
        rate = next;
    }
    return rate;
}

/*
 * Claim: the ratios (diameter weight / noise)^2 of a row add up to at most M_i, and
 * each is at most its link's. Proof: the noise is weight server_slope / sqrt of
 * its part, or weight slope where the part is the link's most; the parts add up
 * to 1 at most, and the factor covers the rounding of part, root and product,
 * which grows with the terms of a row.
 */
void pri_server_noise(const struct pricer_network *network, const double *slope,
                      const double *self_slope, const double *server_slope,
                      struct pricer_plan *plan)
{
    for (int32_t i = 0; i < plan->nodes; i++) {
        struct row row = {network, plan, slope, self_slope, server_slope[i], i};
        int32_t first = network->out_start[i], end = network->out_start[i + 1];
        long double safe = 1 + 0x1p-50L + (end - first) * 0x1p-61L;
        long double rate = server_slope[i] > 0 ? row_rate(&row) : INFINITY;
        for (int32_t l = first - 1; l < end; l++) {
            bool own = l < first;
            double *noise = own ? &plan->self_noise[i] : &plan->noise[l];
            double weight = own ? plan->self_weight[i] : plan->weight[l];
            double asked = own ? self_slope[i] : slope[l];
            long double wish, most;
            wish_of(&row, l, &wish, &most);
            *noise = asked * weight;
            if (weight > 0 && rate * wish < most)
                *noise = (double)(server_slope[i] * weight * safe /
                                  sqrtl(rate * wish));
        }
    }
}
