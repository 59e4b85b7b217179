/*
 * Whether this machine can run a fleet: from a network to the open files and the
 * memory that its processes need, compared with what there is.
 */
#include "common/daemon.h"
#include "demo.h"

#include <math.h>
#include <sys/resource.h>

/* Open files of a process besides its connections: log, study, ledger, events. */
enum { SPARE = 64 };

/* Bytes that a process does not share with others, and those of one end of a
 * connection besides the message in it: measured (2.8 MB and 20 kB) and rounded
 * up. The vectors that a node holds besides messages: data, sums, their draft. */
#define PROCESS 4e6
#define CONNECTION 3e4
enum { VECTORS = 6 };

/* The largest number of connections that any process of the fleet has: a node
 * has one for each link, in either direction, and one to the server. */
static int64_t count_connections(const struct pricer_network *network)
{
    int64_t most = network->nodes;
    for (int32_t i = 0; i < network->nodes; i++) {
        int64_t own = 1 + network->out_start[i + 1] - network->out_start[i] +
                      network->in_start[i + 1] - network->in_start[i];
        most = own > most ? own : most;
    }
    return most;
}

static enum pricer_status check_files(const struct demo *demo,
                                      struct pricer_fault *fault)
{
    struct rlimit files;
    long long need = count_connections(demo->network) + SPARE;
    daemon_raise_files();
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= (rlim_t)need)
        return PRICER_OK;
    long long limit = (long long)files.rlim_cur;
    return daemon_fault(fault, PRICER_VALUE,
                        "a demo of %d nodes with these links needs %lld open "
                        "files in one process, and the limit is %lld ('ulimit "
                        "-Hn'): at most %lld nodes fit",
                        (int)demo->network->nodes, need, limit,
                        limit > SPARE ? limit - SPARE : 0);
}

/* The memory that programs can still have, in bytes; negative: not known. */
static double available_memory(void)
{
    char line[256];
    double kilobytes = -1;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %lf", &kilobytes) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return 1024 * kilobytes;
}

static enum pricer_status check_memory(const struct demo *demo,
                                       struct pricer_fault *fault)
{
    const struct pricer_network *network = demo->network;
    double nodes = network->nodes, available = available_memory();
    double vector = 8. * (double)network->dimension;
    double connections = 2 + 2. * network->links / nodes;
    double node =
        PROCESS + VECTORS * vector + connections * (CONNECTION + vector);
    if (available < 0 || nodes * node <= available)
        return PRICER_OK;
    return daemon_fault(fault, PRICER_VALUE,
                        "a demo of %d nodes of dimension %lld needs about %.3g "
                        "GB of memory, and %.3g GB are available: about %.0f "
                        "nodes fit",
                        (int)network->nodes, (long long)network->dimension,
                        1e-9 * nodes * node, 1e-9 * available,
                        floor(available / node));
}

enum pricer_status demo_check_limits(const struct demo *demo,
                                     struct pricer_fault *fault)
{
    enum pricer_status status = check_files(demo, fault);
    return status == PRICER_OK ? check_memory(demo, fault) : status;
}
