/*
 * The geometric network of several benchmarks: mmWave links, about thirty a
 * node, one node in twenty with a good uplink.
 */
#ifndef BENCH_GEOMETRIC_H
#define BENCH_GEOMETRIC_H

#include "pricer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Links with p > 0.5 are trusted with `eps`. Ends the program if it cannot. */
static inline struct pricer_network *geometric_network(int64_t nodes,
                                                       const char *eps)
{
    static const char text[] =
        "dimension: 100\n"
        "network: {generator: geometric, nodes: 1, uplink: 0.05}\n"
        "trust: {eps: 1, delta: 1e-5, probable: {above: 0.5, eps: 1000}}\n";
    char path[] = "/tmp/pricer-bench-XXXXXX", size[64], trust[64];
    const char *sets[] = {size, trust};
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {"cannot write to /tmp"};
    int file = mkstemp(path);
    bool made = file >= 0 && write(file, text, sizeof text - 1) > 0;
    snprintf(size, sizeof size, "network.nodes=%lld", (long long)nodes);
    snprintf(trust, sizeof trust, "trust.probable.eps=%s", eps);
    made =
        made &&
        pricer_scenario_read(path, sets, 2, &scenario, &fault) == PRICER_OK &&
        pricer_scenario_network(scenario, NULL, &network, &fault) == PRICER_OK;
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    pricer_scenario_free(scenario);
    if (!made) {
        fprintf(stderr, "a geometric network: %s\n", fault.text);
        exit(1);
    }
    return network;
}

#endif
