/*
 * How fast a network is read from CSV: a file of a million links (or as many
 * as the first argument says), read, checked and indexed by us, next to
 * sqlite3's .import of the same files into a new database, which splits the
 * same text but checks and indexes nothing. The minimum of five runs each.
 */
#include "network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/*
 * A ring in which each node has ten links. p has 4 digits, as people write it,
 * or 17, as programs do.
 */
static bool generate(const char *nodes_path, const char *links_path,
                     int64_t links, int digits)
{
    FILE *nodes = fopen(nodes_path, "w"), *out = fopen(links_path, "w");
    int64_t count = links / 10 + 1;
    if (nodes == NULL || out == NULL)
        return false;
    fputs("node,p\n", nodes);
    fputs("from,to,p\n", out);
    for (int64_t i = 0; i < count; i++)
        fprintf(nodes, "%lld,0.5\n", (long long)i);
    for (int64_t l = 0; l < links; l++)
        fprintf(out, "%lld,%lld,%.*f\n", (long long)(l / 10),
                (long long)((l / 10 + 1 + l % 10) % count), digits,
                .5 + .4 * sin((double)l));
    return fclose(nodes) == 0 && fclose(out) == 0;
}

static double time_ours(const char *nodes_path, const char *links_path)
{
    double best = INFINITY;
    struct pri_measures measures = {
        .dimension = 1, .radius = 1, .reciprocity = 1};
    struct pri_trust_default trust = {.eps = 1,
                                      .delta = 1e-3,
                                      .self_eps = INFINITY,
                                      .self_delta = 1,
                                      .server_eps = INFINITY,
                                      .server_delta = 1};
    for (int run = 0; run < 5; run++) {
        struct pricer_network *network = NULL;
        struct pricer_fault fault = {""};
        double start = now();
        if (pri_csv_network(nodes_path, links_path, &measures, &trust, NULL,
                            &network, &fault) != PRICER_OK) {
            fprintf(stderr, "read_csv: %s\n", fault.text);
            exit(1);
        }
        best = fmin(best, now() - start);
        pricer_network_free(network);
    }
    return best;
}

static double time_sqlite(const char *folder)
{
    double best = INFINITY;
    char command[600];
    snprintf(command, sizeof command,
             "cd '%s' && rm -f rival.db && sqlite3 rival.db "
             "'.mode csv' '.import nodes.csv nodes' '.import links.csv links'",
             folder);
    for (int run = 0; run < 5; run++) {
        double start = now();
        if (system(command) != 0)
            return NAN;
        best = fmin(best, now() - start);
    }
    return best;
}

int main(int argc, char **argv)
{
    int64_t links = argc > 1 ? (int64_t)atof(argv[1]) : 1000000;
    char folder[] = "/tmp/pricer-bench-XXXXXX";
    char nodes_path[64], links_path[64], command[64];
    static const int digits[] = {4, 17};
    if (links < 20 || mkdtemp(folder) == NULL)
        return 1;
    snprintf(nodes_path, sizeof nodes_path, "%s/nodes.csv", folder);
    snprintf(links_path, sizeof links_path, "%s/links.csv", folder);
    printf("%-34s %12s %14s %8s\n", "reading a network from CSV", "pricer, s",
           "sqlite3, s", "ratio");
    for (size_t k = 0; k < sizeof digits / sizeof *digits; k++) {
        if (!generate(nodes_path, links_path, links, digits[k]))
            return 1;
        double ours = time_ours(nodes_path, links_path);
        double rival = time_sqlite(folder);
        printf("%10lld links, p with %2d digits %12.3f %14.3f %8.3f\n",
               (long long)links, digits[k], ours, rival, ours / rival);
    }
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) != 0;
}
