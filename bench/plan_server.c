/*
 * One random network with budgets towards the server, planned by us, and the
 * same problem in a file for a conic solver.
 *
 *     bench_plan_server NODES FILE
 *
 * prints our seconds and our objective. Every node reaches about ten others and
 * allows the server eps 20. The file holds int64 nodes, links, pairs; of each
 * link int32 from, to; then double a, b, c, of each pair int32 of its two links
 * and double cross; of each node double h, M. Times nodes^2 and with R = 1 the
 * problem is to minimise
 *
 *     sum a y^2 + b y^2 / m  +  sum cross y y'  +  sum h_j T_j^2
 *   + (sum y - nodes)^2
 *
 * over y >= 0, 0 <= m <= c, sums of rows of m of at most M and of y of at most
 * 1, T_j what relay j carries; own links are links.
 */
#include "hard_networks.h"
#include "calibrate/calibrate.h"

#include <stdio.h>

static void fail(const char *why)
{
    fprintf(stderr, "bench_plan_server: %s\n", why);
    exit(1);
}

static struct pricer_network *make(int32_t n)
{
    static const double eps[] = {1, 10, 100, 1000};
    uint64_t seed = (uint64_t)n;
    struct pricer_node *nodes = calloc((size_t)n, sizeof *nodes);
    struct pricer_link *links = calloc((size_t)n * (size_t)n, sizeof *links);
    double *budget = malloc((size_t)n * sizeof *budget);
    double *delta = malloc((size_t)n * sizeof *delta);
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {"out of memory"};
    int64_t count = 0;
    if (!nodes || !links || !budget || !delta)
        fail(fault.text);
    for (int32_t i = 0; i < n; i++) {
        nodes[i] = (struct pricer_node){.05 + .9 * hard_uniform(&seed),
                                        INFINITY, 1e-3, NAN, NAN};
        budget[i] = 20;
        delta[i] = 1e-3;
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = i + 1; j < n; j++) {
            if (hard_uniform(&seed) * (n - 1) > 10)
                continue;
            double p = .05 + .9 * hard_uniform(&seed);
            for (int side = 0; side < 2; side++)
                links[count++] =
                    (struct pricer_link){side ? j : i,
                                         side ? i : j,
                                         p,
                                         p * p + .5 * (p - p * p),
                                         eps[(int)(4 * hard_uniform(&seed))],
                                         1e-3};
        }
    if (pricer_network_build(&(struct pricer_network_parts){4, 1, 0, nodes, n,
                                                            links, count, NULL,
                                                            NULL},
                             &network, NULL, &fault) != PRICER_OK ||
        pri_network_budget(network, budget, delta, NULL, &fault) != PRICER_OK)
        fail(fault.text);
    free(nodes);
    free(links);
    free(budget);
    free(delta);
    return network;
}

static void put(FILE *out, const void *item, size_t size)
{
    if (fwrite(item, size, 1, out) != 1)
        fail("cannot write");
}

static void put_link(FILE *out, const struct pricer_network *net, double p,
                     int32_t to, double slope)
{
    double arrive = net->uplink[to] * p;
    double values[] = {(1 - p) / arrive, 4 * (double)net->dimension / arrive,
                       slope > 0 ? 4 / slope / slope : 1e6};
    put(out, values, sizeof values);
}

static void write_program(const struct pricer_network *net, const char *path)
{
    FILE *out = fopen(path, "wb");
    size_t links = (size_t)net->links, nodes = (size_t)net->nodes;
    double *slope = malloc((links + 1) * sizeof *slope);
    double *self = malloc(nodes * sizeof *self);
    double *server = malloc(nodes * sizeof *server);
    struct pricer_settings settings = {0};
    int64_t pairs = 0;
    if (out == NULL || !slope || !self || !server ||
        pri_noise_slopes(net, &settings, slope, self, NULL) != PRICER_OK ||
        pri_server_slopes(net, &settings, server, NULL) != PRICER_OK)
        fail("cannot write");
    for (int32_t l = 0; l < net->links; l++)
        pairs += net->partner[l] > l;
    const int64_t counts[] = {net->nodes, net->links + net->nodes, pairs};
    put(out, counts, sizeof counts);
    for (int32_t l = 0; l < net->links; l++)
        put(out, (int32_t[]){net->from[l], net->to[l]}, 8);
    for (int32_t i = 0; i < net->nodes; i++)
        put(out, (int32_t[]){i, i}, 8);
    for (int32_t l = 0; l < net->links; l++)
        put_link(out, net, net->p[l], net->to[l], slope[l]);
    for (int32_t i = 0; i < net->nodes; i++)
        put_link(out, net, 1, i, self[i]);
    for (int32_t l = 0; l < net->links; l++)
        if (net->partner[l] > l)
            put(out, (int32_t[]){l, net->partner[l]}, 8);
    for (int32_t l = 0; l < net->links; l++)
        if (net->partner[l] > l) {
            double both = net->p[l] * net->p[net->partner[l]];
            put(out, &(double){2 * (net->joint[l] / both - 1)}, 8);
        }
    for (int32_t i = 0; i < net->nodes; i++) {
        double node[] = {(1 - net->uplink[i]) / net->uplink[i],
                         4 / server[i] / server[i]};
        put(out, node, sizeof node);
    }
    if (fclose(out) != 0)
        fail("cannot write");
    free(slope);
    free(self);
    free(server);
}

int main(int argc, char **argv)
{
    int32_t n = argc == 3 ? (int32_t)atoi(argv[1]) : 0;
    if (n < 2)
        return 2;
    struct pricer_network *network = make(n);
    struct pricer_settings settings = {.threads = 1};
    struct pricer_solve_info info;
    double best = INFINITY;
    for (int run = 0; run < 3; run++) {
        struct pricer_plan *plan = NULL;
        struct pricer_fault fault = {""};
        if (pricer_plan_optimise(network, &settings, NULL, &plan, &info,
                                 &fault) != PRICER_OK)
            fail(fault.text);
        if (info.outcome != PRICER_OUTCOME_OPTIMAL)
            fail("the plan is not certified to 1e-8");
        best = fmin(best, info.seconds);
        pricer_plan_free(plan);
    }
    write_program(network, argv[2]);
    printf("%.17g,%.17g\n", best, info.objective);
    pricer_network_free(network);
    return 0;
}
