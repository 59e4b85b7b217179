/*
 * pricer-mpi plan: from a study to its plan, as pricer plan, the network divided
 * among the ranks; or from a scenario whose network no machine need hold to how
 * good its best plan is, and what each rank had to do with it.
 */
#include "plan_ranks.h"
#include "cli/material.h"
#include "cli/verbs.h"
#include "common/crew.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct usage usage = {
    "plan", "STUDY|SCENARIO.yaml",
    "Plan a study as pricer plan does, with its options, the network divided\n"
    "among the ranks: rank 0 holds all of it and stores the plan.\n\n"
    "With --report-only and a scenario in the place of the study no rank "
    "holds\n"
    "more than its part of the network, which it makes itself. Nothing is\n"
    "stored: what is printed is how good the plan is, and what it took. These\n"
    "are the options of that:",
    "mpirun -n 4 pricer-mpi plan city.yaml --report-only"};

struct request {
    struct planner_request planner;
    double tolerance;
    int64_t iterations, threads;
    bool report_only, as_json;
};

static int parse(int argc, char **argv, struct request *ask,
                 const char **operands)
{
    const struct option options[] = {
        PLANNER_OPTIONS(&ask->planner),
        {"tolerance", OPTION_ABOVE, &ask->tolerance, "X",
         "certified relative gap to reach; default 1e-6"},
        {"iterations", OPTION_MANY, &ask->iterations, "N", "limit"},
        {"report-only", OPTION_FLAG, &ask->report_only, NULL,
         "store nothing; without it the study is planned"},
        {"threads", OPTION_COUNT, &ask->threads, "N",
         "of each rank; default: its share of the cores"},
        {"json", OPTION_FLAG, &ask->as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    *ask = (struct request){.planner = {-1, -1, NAN}};
    return options_parse(&usage, options, argc, argv, operands);
}

static int misuse(const char *words)
{
    fprintf(stderr, "pricer-mpi plan: %s; --help explains\n", words);
    return 2;
}

static int check_request(const struct request *ask)
{
    if (planner_stray_lambda(&ask->planner))
        return misuse("--lambda belongs to --bias l1 and l2");
    if (!(ask->tolerance < 1) || ask->iterations > INT32_MAX ||
        ask->threads > 4096)
        return misuse("the tolerance is below 1, and so many iterations or "
                      "threads are too many");
    return OPTIONS_GO;
}

/* ---------------------------------------------------------------- ranks -- */

/* What one rank reports. */
struct share {
    int64_t nodes, ghosts, links, cut;
    double gibibytes; /* the most it has held */
    double seconds;   /* of processors, since it began */
};

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

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Every rank's, one after the other; returns how many. NULL: no memory. */
static struct share *collect(const struct pricer_parted *found, int32_t *count)
{
    const struct pricer_crew *crew = program_crew();
    int32_t ranks = crew != NULL ? crew->ranks : 1;
    struct share *all = calloc((size_t)ranks, sizeof *all);
    int64_t *bounds = calloc((size_t)ranks + 1, sizeof *bounds);
    if (all == NULL || bounds == NULL) {
        free(all);
        free(bounds);
        return NULL;
    }
    for (int32_t r = 0; r <= ranks; r++)
        bounds[r] = r;
    all[crew != NULL ? crew->rank : 0] =
        (struct share){found->own_nodes, found->ghosts, found->own_links,
                       found->cut_links, peak_memory(), processor_seconds()};
    if (crew != NULL)
        crew->gather(crew->context, all, sizeof *all, bounds);
    free(bounds);
    *count = ranks;
    return all;
}

/* ---------------------------------------------------------------- print -- */

static void print_tables(const struct pricer_parted *found,
                         const struct share *all, int32_t ranks)
{
    static const char *const headings[] = {
        "rank", "nodes", "ghosts", "links", "cut links", "GiB", "cpu s"};
    const struct pricer_solve_info *info = &found->info;
    const struct pricer_certificate *proof = &found->certificate;
    struct table *table = table_new(7, headings);
    double sum = 0;
    printf("%d nodes, %lld links on %d ranks\n", (int)found->nodes,
           (long long)found->links, (int)ranks);
    printf("objective %.12g, certified gap %.2g, in %d steps (%lld inner)\n",
           info->objective, info->gap, (int)info->iterations,
           (long long)info->inner_steps);
    printf("checked by other code: objective %.12g, bound %.12g, gap %.2g\n",
           proof->objective, proof->bound, proof->gap);
    printf("seconds: network %.2f, plan %.2f, check %.2f\n\n",
           found->make_seconds, info->seconds, found->check_seconds);
    for (int32_t r = 0; r < ranks; r++) {
        table_cell(table, "%d", (int)r);
        table_cell(table, "%lld", (long long)all[r].nodes);
        table_cell(table, "%lld", (long long)all[r].ghosts);
        table_cell(table, "%lld", (long long)all[r].links);
        table_cell(table, "%lld", (long long)all[r].cut);
        table_cell(table, "%.3f", all[r].gibibytes);
        table_cell(table, "%.2f", all[r].seconds);
        sum += all[r].gibibytes;
    }
    table_print(table, stdout);
    printf("\ntogether %.3f GiB, %.1f bytes a link\n", sum,
           sum * 1024 * 1024 * 1024 / (double)found->links);
}

static void print_json(const struct pricer_parted *found,
                       const struct share *all, int32_t ranks)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_count(&json, "nodes", found->nodes);
    json_count(&json, "links", found->links);
    json_number(&json, "objective", found->info.objective);
    json_number(&json, "bound", found->info.bound);
    json_number(&json, "gap", found->info.gap);
    json_count(&json, "iterations", found->info.iterations);
    json_count(&json, "inner_steps", found->info.inner_steps);
    json_flag(&json, "feasible", found->certificate.feasible);
    json_count(&json, "open_links", found->certificate.open_links);
    json_number(&json, "verified_objective", found->certificate.objective);
    json_number(&json, "verified_gap", found->certificate.gap);
    json_number(&json, "network_seconds", found->make_seconds);
    json_number(&json, "plan_seconds", found->info.seconds);
    json_number(&json, "check_seconds", found->check_seconds);
    json_open(&json, "ranks", '[');
    for (int32_t r = 0; r < ranks; r++) {
        json_open(&json, NULL, '{');
        json_count(&json, "nodes", all[r].nodes);
        json_count(&json, "ghosts", all[r].ghosts);
        json_count(&json, "links", all[r].links);
        json_count(&json, "cut_links", all[r].cut);
        json_number(&json, "gibibytes", all[r].gibibytes);
        json_number(&json, "cpu_seconds", all[r].seconds);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void warn(const struct pricer_parted *found, bool interrupted)
{
    const struct pricer_certificate *proof = &found->certificate;
    if (interrupted)
        program_warn("stopped by Ctrl-C: the plan is feasible, its gap is %.2g",
                     found->info.gap);
    else if (found->info.outcome == PRICER_OUTCOME_LIMIT)
        program_warn("the tolerance was not reached: the gap is %.2g",
                     found->info.gap);
    if (proof->words[0] != '\0')
        program_warn("%s", proof->words);
}

/* ----------------------------------------------------------------- verb -- */

static enum pricer_status plan(const char *path, const struct request *ask,
                               const struct pricer_watch *watch,
                               struct pricer_parted *found,
                               struct pricer_fault *fault)
{
    struct pricer_scenario *scenario = NULL;
    struct pricer_settings settings;
    enum pricer_status status =
        pricer_scenario_read(path, NULL, 0, &scenario, fault);
    if (status != PRICER_OK)
        return status;
    pricer_scenario_settings(scenario, &settings);
    status = planner_override(&ask->planner, &settings, fault);
    settings.tolerance = ask->tolerance > 0 ? ask->tolerance : 1e-6;
    settings.iterations = (int32_t)ask->iterations;
    settings.threads = program_threads(ask->threads);
    settings.watch = watch;
    if (status == PRICER_OK)
        status = pricer_scenario_plan(scenario, &settings, program_crew(),
                                      found, fault);
    pricer_scenario_free(scenario);
    return status;
}

/* What ranks above 0 do for a study: their part of what rank 0 calls for. */
static int follow(void)
{
    struct progress progress;
    struct pricer_fault fault = {""};
    enum pricer_status status = PRICER_OK;
    progress_start(&progress, "plan");
    for (int64_t threads; (threads = program_called()) >= 0;) {
        struct pricer_settings settings = {.threads = program_threads(threads),
                                           .watch = &progress.watch};
        struct pricer_plan *plan = NULL;
        struct pricer_parted found;
        status = pricer_plan_share(NULL, &settings, program_crew(), &plan,
                                   &found, &fault);
        if (status == PRICER_MEMORY)
            break;
    }
    progress_end(&progress);
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}

static int plan_study(int argc, char **argv)
{
    if (!program_writes())
        return follow();
    int status = verb_plan(argc, argv);
    program_call(-1);
    return status;
}

static bool has(int argc, char **argv, const char *option)
{
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], option) == 0)
            return true;
    return false;
}

static int report(int argc, char **argv)
{
    struct request ask;
    struct progress progress;
    struct pricer_parted found;
    struct pricer_fault fault = {""};
    const char *operands[1];
    int go = parse(argc, argv, &ask, operands);
    if (go == OPTIONS_GO)
        go = check_request(&ask);
    if (go != OPTIONS_GO)
        return go;
    progress_start(&progress, "plan");
    enum pricer_status status =
        plan(operands[0], &ask, &progress.watch, &found, &fault);
    bool interrupted = progress_end(&progress);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    int32_t ranks;
    struct share *all = collect(&found, &ranks);
    if (all == NULL)
        return program_fault(PRICER_MEMORY, &fault);
    warn(&found, interrupted);
    (ask.as_json ? print_json : print_tables)(&found, all, ranks);
    free(all);
    return found.certificate.feasible ? 0 : 1;
}

int verb_plan_ranks(int argc, char **argv)
{
    bool asks = has(argc, argv, "--report-only") || has(argc, argv, "--help") ||
                has(argc, argv, "-h");
    return asks ? report(argc, argv) : plan_study(argc, argv);
}
