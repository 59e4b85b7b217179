/*
 * The simulator against NumPy, against drawing its random bits alone, with two
 * threads against one, and against its prediction.
 *
 *     bench_simulate SCENARIO PLAIN NOISED TUNED LOOPS
 *
 * The last four are bench/simulate_numpy.py's microseconds a trial, from the
 * same run on the same machine.
 */
#include "simulate/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double clock_now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void die(enum pricer_status status, const struct pricer_fault *fault)
{
    if (status == PRICER_OK)
        return;
    fprintf(stderr, "%s: %s\n", pricer_status_text(status), fault->text);
    exit(1);
}

/* The paper's network with all links of probability p. */
static struct pricer_network *paper(const char *path, const char *override)
{
    struct pricer_fault fault = {""};
    struct pricer_scenario *scenario;
    struct pricer_network *network;
    die(pricer_scenario_read(path, &override, 1, &scenario, &fault), &fault);
    die(pricer_scenario_network(scenario, NULL, &network, &fault), &fault);
    pricer_scenario_free(scenario);
    return network;
}

/* n nodes, every pair linked with its own probabilities. */
static struct pricer_network *dense(int32_t n, int64_t dimension)
{
    struct pricer_fault fault = {""};
    struct pricer_node *nodes = pri_alloc(n, sizeof *nodes);
    struct pricer_link *links = pri_alloc((int64_t)n * n, sizeof *links);
    struct pricer_network *network;
    int64_t m = 0;
    for (int32_t i = 0; i < n; i++) {
        nodes[i] = (struct pricer_node){.1 + .8 * (i * 37 % 101) / 101,
                                        INFINITY, 1, NAN, NAN};
        for (int32_t j = 0; j < n; j++) {
            double part = (double)(((int64_t)i * j + i + j) % 997) / 997;
            if (i != j)
                links[m++] =
                    (struct pricer_link){i, j, .05 + .9 * part, NAN, 1, .001};
        }
    }
    die(pricer_network_build(&(struct pricer_network_parts){dimension, 1, 1,
                                                            nodes, n, links, m,
                                                            NULL, NULL},
                             &network, NULL, &fault),
        &fault);
    free(nodes);
    free(links);
    return network;
}

/* A plan that uses every link. */
static struct pricer_plan *full_plan(const struct pricer_network *network)
{
    struct pricer_plan *plan;
    if (pricer_plan_new(network, &plan, NULL) != PRICER_OK)
        exit(1);
    for (int32_t l = 0; l < network->links; l++) {
        plan->weight[l] = (.2 + .01 * (l % 7)) * 10 / network->nodes;
        plan->noise[l] = (.01 + .001 * (l % 5)) * 10 / network->nodes;
    }
    for (int32_t i = 0; i < network->nodes; i++)
        plan->self_weight[i] = .2 + .01 * (i % 7);
    return plan;
}

static struct pricer_simulation *run(const struct pricer_network *network,
                                     const struct pricer_plan *plan,
                                     struct pricer_simulation_settings settings)
{
    struct pricer_fault fault = {""};
    struct pricer_simulation *simulation;
    die(pricer_simulation_run(network, &plan, 1, &settings, &simulation,
                              &fault),
        &fault);
    return simulation;
}

/* Microseconds a trial of the paper's network, the best of many runs. */
static double small_time(const struct pricer_network *network, clockid_t clock,
                         int32_t threads, int64_t trials, int repeats)
{
    struct pricer_plan *plan = full_plan(network);
    double best = INFINITY;
    for (int repeat = 0; repeat < repeats; repeat++) {
        double start = clock_now(clock);
        pricer_simulation_free(
            run(network, plan,
                (struct pricer_simulation_settings){.trials = trials,
                                                    .seed = (uint64_t)repeat,
                                                    .data = PRICER_DATA_RANDOM,
                                                    .threads = threads}));
        best = fmin(best, clock_now(clock) - start);
    }
    pricer_plan_free(plan);
    return 1e6 * best / (double)trials;
}

static void against_numpy(const char *path, char **rivals)
{
    static const char *const names[] = {
        "NumPy, vectorised, noise integrated out", "NumPy, a noise vector",
        "NumPy, with every trick", "Python loops over the links"};
    struct pricer_network *network = paper(path, "network.p=0.1");
    double ours = small_time(network, CLOCK_PROCESS_CPUTIME_ID, 1, 1 << 18, 40);
    printf("%-56s %10s %10s %8s\n", "n = 10, d = 128: microseconds a trial",
           "rival", "ours", "ratio");
    for (int k = 0; k < 4; k++) {
        double rival = strtod(rivals[k], NULL);
        printf("%-56s %10.4f %10.4f %8.1f\n", names[k], rival, ours,
               rival / ours);
    }
    pricer_network_free(network);
}

/* Seconds to draw the bits of 512 trials, and nothing else. */
static double draw_time(const struct pricer_network *network, int64_t group)
{
    uint64_t ahead[PRI_LANES], back[PRI_LANES];
    struct pri_threefry_key key = pri_draw_key(1, group);
    double start = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    for (int32_t i = 0; i < network->nodes; i++) {
        struct pri_pair pair = pri_pair_make(network->uplink[i], 0, 0);
        pri_draw_pair(&pair, &key, i, PRICER_SERVER, ahead, NULL);
    }
    for (int32_t l = 0; l < network->links; l++)
        if (network->partner[l] > l) {
            struct pri_pair pair =
                pri_pair_make(network->p[l], network->p[network->partner[l]],
                              network->joint[l]);
            pri_draw_pair(&pair, &key, network->from[l], network->to[l], ahead,
                          back);
        }
    return clock_now(CLOCK_PROCESS_CPUTIME_ID) - start;
}

static struct pri_tally tally_of(const struct pricer_network *network)
{
    return (struct pri_tally){
        .uplink = pri_alloc(network->nodes, sizeof(uint32_t)),
        .link = pri_alloc(network->links, sizeof(uint32_t)),
        .both = pri_alloc(network->links, sizeof(uint32_t)),
        .used = pri_alloc(network->links, sizeof(uint32_t))};
}

static void against_bits(void)
{
    struct pricer_network *network = dense(1000, 1000);
    const struct pricer_plan *plan = full_plan(network);
    struct pri_data data;
    struct pri_factor factor;
    const struct pricer_simulation_settings settings = {.data =
                                                            PRICER_DATA_RANDOM};
    if (pri_data_make(network, &settings, &data, NULL) != PRICER_OK ||
        pri_factor_make(&data, 2, &factor) != PRICER_OK)
        exit(1);
    struct pri_job job = {.network = network,
                          .plans = &plan,
                          .count = 1,
                          .data = &data,
                          .factor = &factor};
    struct pri_tally tally = tally_of(network);
    struct pri_fast *fast;
    static double errors[PRI_ROUNDS];
    if (pri_fast_new(&job, true, &fast) != PRICER_OK)
        exit(1);
    double bits = INFINITY, all = INFINITY;
    for (int repeat = 0; repeat < 12; repeat++) {
        bits = fmin(bits, draw_time(network, repeat));
        double start = clock_now(CLOCK_PROCESS_CPUTIME_ID);
        pri_fast_play(fast, (int64_t)repeat * PRI_ROUNDS, PRI_ROUNDS, &tally,
                      errors);
        all = fmin(all, clock_now(CLOCK_PROCESS_CPUTIME_ID) - start);
    }
    printf("%-56s %10.1f %10.1f %8.2f\n",
           "n = 1000 dense, d = 1000: bits alone, a trial, ratio",
           1e6 * bits / PRI_ROUNDS, 1e6 * all / PRI_ROUNDS, all / bits);
}

static void two_threads(const char *path)
{
    struct pricer_network *network = paper(path, "network.p=0.1");
    double one = INFINITY, two = INFINITY;
    /* Many short runs: on a busy machine some find both cores free. */
    for (int repeat = 0; repeat < 600; repeat++) {
        one = fmin(one, small_time(network, CLOCK_MONOTONIC, 1, 1 << 16, 1));
        two = fmin(two, small_time(network, CLOCK_MONOTONIC, 2, 1 << 16, 1));
    }
    printf("%-56s %10.4f %10.4f %8.2f\n",
           "n = 10: one thread, two threads, ratio (wall)", one, two,
           one / two);
    pricer_network_free(network);
}

/* Ten million trials of the optimal plan for each kind of data. */
static void agreement(const char *path)
{
    struct pricer_network *network = paper(path, "network.p=0.5");
    struct pricer_fault fault = {""};
    struct pricer_settings settings = {0};
    struct pricer_solve_info info;
    struct pricer_plan *plan;
    struct pricer_matrix *given;
    die(pricer_plan_optimise(network, &settings, NULL, &plan, &info, &fault),
        &fault);
    die(pricer_matrix_new(network->nodes, network->dimension, PRICER_FLOAT64,
                          &given, NULL),
        &fault);
    for (int64_t k = 0; k < given->rows * given->columns; k++)
        ((double *)given->values)[k] = sin((double)(k * k % 1009)) / 8;
    printf("\n%-24s %12s %12s %12s %10s\n", "10^7 trials, optimal plan",
           "error", "+-", "predicted", "off by");
    for (int data = 0; data < 3; data++) {
        struct pricer_simulation *simulation = run(
            network, plan,
            (struct pricer_simulation_settings){.trials = 10000000,
                                                .seed = 1,
                                                .data = (enum pricer_data)data,
                                                .given = given});
        const struct pricer_outcome *outcome = simulation->outcomes;
        printf("%-24s %12.8g %12.2g %12.8g %10.2f\n",
               pricer_word(PRICER_WORDS_DATA, data), outcome->mse,
               outcome->mse_stderr, outcome->predicted,
               (outcome->mse - outcome->predicted) / outcome->mse_stderr);
        pricer_simulation_free(simulation);
    }
    pricer_matrix_free(given);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: %s SCENARIO PLAIN NOISED TUNED LOOPS\n",
                argv[0]);
        return 2;
    }
    against_numpy(argv[1], argv + 2);
    against_bits();
    two_threads(argv[1]);
    agreement(argv[1]);
    return 0;
}
