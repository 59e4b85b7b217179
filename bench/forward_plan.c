/*
 * How plans of forwarding grow: seconds of two threads for geometric networks of
 * 10^4 to 10^5 nodes (about 30 links each), with --big of 10^6; the exponent of
 * time against links, and the most memory that was used.
 */
#include "base/base.h"
#include "pricer_forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char text[] = "dimension: 2\n"
                           "network: {generator: geometric, nodes: 1,"
                           " uplink: 0.1}\n"
                           "trust: {everyone: {eps: 4, delta: 1e-5}}\n";

/* Processor time of all threads: what a plan takes on a machine that others use
 * too. */
static double processor_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* The best of a few plans. */
static double measure(const char *path, int64_t nodes, double *links)
{
    char set[64];
    const char *sets[] = {set};
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    struct pricer_forward_plan *plan = NULL;
    struct pricer_fault fault = {""};
    double best = INFINITY, processor = INFINITY;
    snprintf(set, sizeof set, "network.nodes=%lld", (long long)nodes);
    if (pricer_scenario_read(path, sets, 1, &scenario, &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault)) {
        fprintf(stderr, "%s\n", fault.text);
        exit(1);
    }
    *links = network->links;
    for (int run = 0; run < 3; run++) {
        double start = pri_seconds(), begun = processor_seconds();
        pricer_forward_plan_free(plan);
        if (pricer_forward_plan_make(
                network,
                &(struct pricer_forward_settings){.hops = -1, .threads = 2},
                &plan, &fault) != PRICER_OK) {
            fprintf(stderr, "%s\n", fault.text);
            exit(1);
        }
        best = fmin(best, pri_seconds() - start);
        processor = fmin(processor, processor_seconds() - begun);
    }
    printf("%-10lld %10d %5d %12.5g %9.1e %9.3f s %9.3f s %8.1f ns\n",
           (long long)nodes, (int)network->links, (int)plan->hops,
           plan->mse_worst_case, plan->mse_stderr, best, processor,
           1e9 * best / *links);
    fflush(stdout);
    pricer_forward_plan_free(plan);
    pricer_network_free(network);
    pricer_scenario_free(scenario);
    return best;
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/pricer-bench-XXXXXX";
    int64_t most = argc > 1 && strcmp(argv[1], "--big") == 0 ? 1000000 : 100000;
    double first = 0, first_links = 1, last = 0, last_links = 1;
    struct rusage used;
    int file = mkstemp(path);
    if (file < 0 || write(file, text, sizeof text - 1) < 0)
        return 1;
    close(file);
    puts("nodes           links  hops        error    stderr        plan   "
         "processor      a link");
    for (int64_t nodes = 10000; nodes <= most; nodes *= 10) {
        last = measure(path, nodes, &last_links);
        if (nodes == 10000) {
            first = last;
            first_links = last_links;
        }
    }
    unlink(path);
    getrusage(RUSAGE_SELF, &used);
    printf("time grows as links^%.2f; %.2f GiB of memory at most\n",
           log(last / first) / log(last_links / first_links),
           (double)used.ru_maxrss / 1048576);
    return 0;
}
