/*
 * How long the accounts of privacy take, and how tight they are.
 *
 *     bench_privacy [--dump]
 *
 * All link, relay (data, and who took part) and server statements of the
 * paper's ten-node network and of a geometric network of 1,000 nodes with about
 * thirty links each, planned first. --dump prints the ten nodes, their plan and
 * the accounts for privacy.py, which computes the same numbers in NumPy.
 */
#include "tests/plans.h"
#include "geometric.h"

#include <stdio.h>
#include <time.h>

enum { KINDS = 4 };
static const char *const names[KINDS] = {"link", "relay", "relay, identity",
                                         "server"};

static void fail(const char *why)
{
    fprintf(stderr, "bench_privacy: %s\n", why);
    exit(1);
}

static double clock_now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct pricer_plan *plan_of(const struct pricer_network *network)
{
    struct pricer_settings settings = {0};
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    if (pricer_plan_optimise(network, &settings, NULL, &plan, &info, &fault) !=
        PRICER_OK)
        fail(fault.text);
    return plan;
}

/* The relative width; an eps next to nothing is as good as 0. */
static double width_of(const struct pricer_statement *s)
{
    if (s->eps == s->eps_lower || s->eps < 1e-3)
        return 0;
    return isinf(s->eps) ? 1 : (s->eps - s->eps_lower) / s->eps;
}

static struct pricer_statement *ask(const struct pricer_network *network,
                                    const struct pricer_plan *plan, int kind,
                                    int64_t *count)
{
    static const enum pricer_observer observers[KINDS] = {
        PRICER_OBSERVER_LINK, PRICER_OBSERVER_RELAY, PRICER_OBSERVER_RELAY,
        PRICER_OBSERVER_SERVER};
    struct pricer_question question = {
        .observer = observers[kind],
        .protect = kind == 2 ? PRICER_PROTECT_IDENTITY : PRICER_PROTECT_DATA};
    struct pricer_statement *all = NULL;
    struct pricer_fault fault = {""};
    if (pricer_privacy_account(network, plan, &question, &all, count, &fault) !=
        PRICER_OK)
        fail(fault.text);
    return all;
}

/* All statements of a network: one row a kind, and one for all. */
static void table(const char *name, const struct pricer_network *network,
                  const struct pricer_plan *plan)
{
    double wall_all = 0, cpu_all = 0;
    printf("%s: %d nodes, %d links\n", name, (int)network->nodes,
           (int)network->links);
    printf("%-18s %12s %12s %12s %12s %8s\n", "observer", "statements",
           "wall, s", "CPU, s", "widest, %", "wide");
    for (int kind = 0; kind < KINDS; kind++) {
        double wall = clock_now(CLOCK_MONOTONIC);
        double cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID), widest = 0;
        int64_t count, wide = 0;
        struct pricer_statement *all = ask(network, plan, kind, &count);
        wall = clock_now(CLOCK_MONOTONIC) - wall;
        cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        for (int64_t k = 0; k < count; k++) {
            widest = fmax(widest, width_of(&all[k]));
            wide += width_of(&all[k]) > .01;
        }
        printf("%-18s %12lld %12.3f %12.3f %12.3f %8lld\n", names[kind],
               (long long)count, wall, cpu, 100 * widest, (long long)wide);
        fflush(stdout);
        wall_all += wall;
        cpu_all += cpu;
        pricer_statements_free(all);
    }
    printf("%-18s %12s %12.3f %12.3f\n\n", "all", "", wall_all, cpu_all);
}

/* n; uplinks; then p, weight and noise by sender and relay; then the seconds
 * and brackets of relay and server statements. */
static void dump(const struct pricer_network *network,
                 const struct pricer_plan *plan)
{
    struct dense dense = dense_of(network, plan);
    printf("%d %.17g\n", dense.n, dense.radius);
    for (int i = 0; i < dense.n; i++)
        printf("%.17g ", dense.p[i]);
    for (int what = 0; what < 3; what++)
        for (int i = 0; i < dense.n; i++)
            for (int j = 0; j < dense.n; j++)
                printf("%.17g ", (what == 0   ? dense.link
                                  : what == 1 ? dense.weight
                                              : dense.noise)[i][j]);
    printf("\n");
    for (int kind = 1; kind < KINDS; kind += 2) {
        int64_t count;
        double best = INFINITY;
        struct pricer_statement *all = NULL;
        for (int run = 0; run < 5; run++) {
            pricer_statements_free(all);
            double start = clock_now(CLOCK_PROCESS_CPUTIME_ID);
            all = ask(network, plan, kind, &count);
            best = fmin(best, clock_now(CLOCK_PROCESS_CPUTIME_ID) - start);
        }
        printf("%lld %.9g\n", (long long)count, best);
        for (int64_t k = 0; k < count; k++)
            printf("%d %d %.17g %.17g %.17g\n", (int)all[k].node,
                   (int)all[k].at, all[k].delta, all[k].eps_lower, all[k].eps);
        pricer_statements_free(all);
    }
}

int main(int argc, char **argv)
{
    struct pricer_network *ten = paper_network(.5);
    struct pricer_plan *plan = plan_of(ten);
    if (argc > 1 && strcmp(argv[1], "--dump") == 0) {
        dump(ten, plan);
    } else {
        table("the paper's network", ten, plan);
        struct pricer_network *network = geometric_network(1000, "1000");
        struct pricer_plan *many = plan_of(network);
        table("a geometric network", network, many);
        pricer_plan_free(many);
        pricer_network_free(network);
    }
    pricer_plan_free(plan);
    pricer_network_free(ten);
    return 0;
}
