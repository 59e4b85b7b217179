/*
 * How fast plans are found, and proved.
 *
 *     bench_optimise [--big] [--trust EPS]
 *     bench_optimise --memory [NODES]
 *
 * Dense random networks of 10 to 200 nodes to a certified 1e-8 on one core, all
 * bias terms; geometric ones (mmWave links, about thirty a node, one node in
 * twenty with a good uplink) of 10^3 to 10^5 nodes, or 10^6 with --big, to
 * 1e-6, with the exponent of time against links and what a second thread gives.
 * --trust is the eps of links with p > 0.5; 1000 if not given. --memory
 * plans one (10^6 nodes if not given) on one thread and prints the most memory
 * that the process held, network and plan included. Times are
 * those of pricer_plan_optimise(), noise included; the least of several runs.
 */
#include "geometric.h"
#include "network/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What to ask for: a bias term, and lambda as a multiple of 1 / nodes. */
struct question {
    const char *name;
    enum pricer_bias bias;
    double lambda, per_node;
};

static const struct question questions[] = {
    {"worst-case", PRICER_BIAS_WORST_CASE, 0, 0},
    {"unbiased", PRICER_BIAS_UNBIASED, 0, 0},
    {"l1, 0.1", PRICER_BIAS_L1, 0.1, 0},
    {"l1, 0.01/n", PRICER_BIAS_L1, 0, 0.01},
    {"l2, 0.1", PRICER_BIAS_L2, 0.1, 0},
};

#define QUESTIONS ((int)(sizeof questions / sizeof *questions))

static double uniform(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void fail(const char *why)
{
    fprintf(stderr, "bench_optimise: %s\n", why);
    exit(1);
}

/* The seconds of one run. */
static double plan(const struct pricer_network *network,
                   const struct question *question, double tolerance,
                   int32_t threads, struct pricer_solve_info *info)
{
    struct pricer_settings ask = {.bias = question->bias,
                                  .lambda = question->lambda +
                                            question->per_node / network->nodes,
                                  .tolerance = tolerance,
                                  .threads = threads};
    struct pricer_plan *found = NULL;
    struct pricer_fault fault = {""};
    if (pricer_plan_optimise(network, &ask, NULL, &found, info, &fault) !=
        PRICER_OK)
        fail(fault.text);
    if (info->outcome != PRICER_OUTCOME_OPTIMAL)
        fail("a plan is not certified");
    pricer_plan_free(found);
    return info->seconds;
}

/* ----------------------------------------------------------------- dense -- */

static struct pricer_network *dense_network(int32_t n, bool free_uplinks)
{
    static const double eps[] = {0.1, 1, 10, 1000};
    uint64_t seed = (uint64_t)n;
    struct pricer_node *nodes = calloc((size_t)n, sizeof *nodes);
    struct pricer_link *links = calloc((size_t)n * (size_t)n, sizeof *links);
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    int64_t count = 0;
    if (nodes == NULL || links == NULL)
        fail("out of memory");
    for (int32_t i = 0; i < n; i++) {
        double trust = eps[(int)(4 * uniform(&seed))];
        nodes[i] = (struct pricer_node){.05 + .9 * uniform(&seed),
                                        free_uplinks ? INFINITY : trust, 1e-3,
                                        NAN, NAN};
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = i + 1; j < n; j++) {
            double p = .05 + .9 * uniform(&seed);
            double joint = p * p + uniform(&seed) * (p - p * p);
            for (int side = 0; side < 2; side++)
                links[count++] =
                    (struct pricer_link){side ? j : i,
                                         side ? i : j,
                                         p,
                                         joint,
                                         eps[(int)(4 * uniform(&seed))],
                                         1e-3};
        }
    if (pricer_network_build(&(struct pricer_network_parts){128, 1, 0, nodes, n,
                                                            links, count, NULL,
                                                            NULL},
                             &network, NULL, &fault) != PRICER_OK)
        fail(fault.text);
    free(nodes);
    free(links);
    return network;
}

static void dense_table(void)
{
    static const int32_t sizes[] = {10, 50, 100, 200};
    printf("dense random networks, gap 1e-8, one core: milliseconds (steps)\n");
    printf("%-8s%-18s", "nodes", "trust in uplink");
    for (int q = 0; q < QUESTIONS; q++)
        printf("%16s", questions[q].name);
    printf("\n");
    for (int k = 0; k < 4; k++)
        for (int free_uplinks = 0; free_uplinks < 2; free_uplinks++) {
            struct pricer_network *network =
                dense_network(sizes[k], free_uplinks);
            printf("%-8d%-18s", (int)sizes[k],
                   free_uplinks ? "full" : "as for links");
            for (int q = 0; q < QUESTIONS; q++) {
                struct pricer_solve_info info;
                double seconds = INFINITY;
                for (int run = 0; run < 30; run++)
                    seconds = fmin(
                        seconds, plan(network, &questions[q], 1e-8, 1, &info));
                printf("%11.3f (%2d)", 1e3 * seconds, (int)info.iterations);
            }
            printf("\n");
            pricer_network_free(network);
        }
}

/* ------------------------------------------------------------- geometric -- */

/* The most memory this process has held, in GiB. */
static double peak_memory(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kilobytes = NAN;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtod(line + 6, NULL);
    if (file != NULL)
        fclose(file);
    return kilobytes / 1024 / 1024;
}

/* The exponent of a power law through the points, by least squares. */
static double exponent(const double *links, const double *seconds, int count)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (int k = 0; k < count; k++) {
        double u = log(links[k]), v = log(seconds[k]);
        x += u;
        y += v;
        xx += u * u;
        xy += u * v;
    }
    return (count * xy - x * y) / (count * xx - x * x);
}

/* Two rows of the table, one thread's and two threads', and their seconds.
   Their runs alternate, so that a slow minute of the machine hits both. */
static void geometric_rows(const struct pricer_network *network,
                           double seconds[2][QUESTIONS])
{
    int runs = network->nodes > 200000 ? 2 : 5;
    int steps[2][QUESTIONS];
    for (int q = 0; q < QUESTIONS; q++) {
        seconds[0][q] = seconds[1][q] = INFINITY;
        for (int run = 0; run < 2 * runs; run++) {
            struct pricer_solve_info info;
            int k = run % 2;
            seconds[k][q] = fmin(seconds[k][q], plan(network, &questions[q],
                                                     1e-6, k + 1, &info));
            steps[k][q] = (int)info.iterations;
        }
    }
    for (int k = 0; k < 2; k++) {
        printf("%-10d%-12d%-10d", (int)network->nodes, (int)network->links,
               k + 1);
        for (int q = 0; q < QUESTIONS; q++)
            printf("%11.3f (%2d)", seconds[k][q], steps[k][q]);
        printf("%10.2f\n", peak_memory());
    }
    fflush(stdout);
}

static void geometric_table(bool big, const char *eps)
{
    double seconds[4][2][QUESTIONS], links[4];
    int sizes = big ? 4 : 3;
    printf("\ngeometric networks, trust %s, gap 1e-6: seconds (steps)\n", eps);
    printf("%-10s%-12s%-10s", "nodes", "links", "threads");
    for (int q = 0; q < QUESTIONS; q++)
        printf("%16s", questions[q].name);
    printf("%10s\n", "GiB");
    for (int k = 0; k < sizes; k++) {
        struct pricer_network *network =
            geometric_network((int64_t)pow(10, k + 3), eps);
        links[k] = network->links;
        geometric_rows(network, seconds[k]);
        pricer_network_free(network);
    }
    for (int threads = 1; threads <= 2; threads++) {
        printf("exponent of links, %d thread%s   ", threads,
               threads > 1 ? "s" : " ");
        for (int q = 0; q < QUESTIONS; q++) {
            double column[4];
            for (int k = 0; k < sizes; k++)
                column[k] = seconds[k][threads - 1][q];
            printf("%16.2f", exponent(links, column, sizes));
        }
        printf("\n");
    }
    printf("%-32s", "one thread / two, largest");
    for (int q = 0; q < QUESTIONS; q++)
        printf("%16.2f", seconds[sizes - 1][0][q] / seconds[sizes - 1][1][q]);
    printf("\n");
}

/* ---------------------------------------------------------------- memory -- */

static void memory_row(int64_t nodes)
{
    struct pricer_network *network = geometric_network(nodes, "1000");
    struct pricer_solve_info info;
    double seconds = plan(network, &questions[1], 1e-6, 1, &info);
    double held = peak_memory(), links = network->links;
    printf("%-10s%-12s%12s%12s%10s%14s\n%-10d%-12d%12.2f%12.1e%10.2f%14.1f\n",
           "nodes", "links", "seconds", "gap", "GiB", "bytes/link",
           (int)network->nodes, (int)network->links, seconds, info.gap, held,
           held * 1024 * 1024 * 1024 / links);
    pricer_network_free(network);
}

int main(int argc, char **argv)
{
    bool big = false;
    const char *eps = "1000";
    if (argc > 1 && strcmp(argv[1], "--memory") == 0) {
        memory_row(argc > 2 ? atoll(argv[2]) : 1000000);
        return 0;
    }
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], "--big") == 0)
            big = true;
        else if (strcmp(argv[k], "--trust") == 0 && k + 1 < argc)
            eps = argv[++k];
        else
            fail("usage: bench_optimise [--big] [--trust EPS] | "
                 "--memory [NODES]");
    dense_table();
    geometric_table(big, eps);
    return 0;
}
