/*
 * How the geometric generator grows: time and memory for 10^4 to 10^6 nodes
 * (about 30 links each), and the exponent of time against links.
 */
#include "network/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static const char text[] = "dimension: 10\n"
                           "network: {generator: geometric, nodes: 1}\n"
                           "trust: {eps: 1, probable: {above: 0.5, eps: 10}}\n";

/* Make the network of so many nodes; the best time of a few runs. */
static double measure(const char *path, int64_t nodes, double *links)
{
    char set[64];
    const char *sets[] = {set};
    double best = INFINITY;
    snprintf(set, sizeof set, "network.nodes=%lld", (long long)nodes);
    for (int run = 0; run < (nodes < 500000 ? 5 : 2); run++) {
        struct pricer_scenario *scenario = NULL;
        struct pricer_network *network = NULL;
        struct pricer_fault fault = {""};
        double started = now();
        if (pricer_scenario_read(path, sets, 1, &scenario, &fault) ||
            pricer_scenario_network(scenario, NULL, &network, &fault)) {
            fprintf(stderr, "%s\n", fault.text);
            exit(1);
        }
        best = fmin(best, now() - started);
        *links = network->links;
        if (run == 0)
            printf("%-12lld %12d %10.1f", (long long)nodes, (int)network->links,
                   (double)pri_network_bytes(network) / network->links);
        pricer_network_free(network);
        pricer_scenario_free(scenario);
    }
    printf(" %9.3f s %8.1f ns\n", best, 1e9 * best / *links);
    return best;
}

int main(void)
{
    char path[] = "/tmp/pricer-bench-XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || write(file, text, sizeof text - 1) < 0)
        return 1;
    close(file);
    double first = 0, last = 0, seconds[2];
    printf("%-12s %12s %10s %11s %11s\n", "nodes", "links", "B/link", "time",
           "a link");
    seconds[0] = measure(path, 10000, &first);
    measure(path, 100000, &last);
    seconds[1] = measure(path, 1000000, &last);
    printf("time grows as links^%.2f\n",
           log(seconds[1] / seconds[0]) / log(last / first));
    unlink(path);
    return 0;
}
