/*
 * pricer reproduce: from nothing to the tables and figures of the paper's
 * numerical section, next to what pricer makes of them.
 */
#include "cluster.h"
#include "common/crew.h"
#include "common/options.h"
#include "reproduce.h"
#include "verbs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const struct usage usage = {
    "reproduce", "[PART]",
    "Reproduce the paper's numerical section, or one part of it: table1,\n"
    "convergence, trust, erdos-renyi, table2; all of it without one. Each "
    "part\n"
    "leaves CSV files, a plot and its gnuplot script in the folder, and rows "
    "in\n"
    "summary.csv: paper, pricer at the paper's settings, pricer's own best.",
    "pricer reproduce table1 --to paper/"};

static const struct part {
    const char *name;
    enum pricer_status (*run)(struct reproduction *work);
    double weight; /* share of the time, roughly */
} parts[] = {
    {"table1", reproduce_table1, 1},  {"convergence", reproduce_convergence, 8},
    {"trust", reproduce_trust, 1},    {"erdos-renyi", reproduce_erdos_renyi, 2},
    {"table2", reproduce_table2, 88},
};
enum {
    PARTS = sizeof parts / sizeof *parts,
    TABLE2 = PARTS - 1, /* the last, and the only one that reads data */
};

static bool wanted(const char *name, int part)
{
    return name == NULL || strcmp(name, "all") == 0 ||
           strcmp(name, parts[part].name) == 0;
}

static bool tick(void *context, double done)
{
    return reproduce_tick(context, done) == PRICER_OK;
}

/* The tables of the parts that were run. */
static void print_tables(struct table *const tables[PARTS])
{
    bool first = true;
    for (int k = 0; k < PARTS; k++) {
        if (tables[k] == NULL)
            continue;
        printf("%s%s\n", first ? "" : "\n", parts[k].name);
        table_print(tables[k], stdout);
        first = false;
    }
}

static enum pricer_status run_parts(struct reproduction *work, const char *name,
                                    struct table *tables[PARTS])
{
    static const char *const headings[] = {"what", "paper", "paper's settings",
                                           "own best", "note"};
    double total = 0;
    enum pricer_status status = PRICER_OK;
    for (int k = 0; k < PARTS; k++)
        total += wanted(name, k) ? parts[k].weight : 0;
    for (int k = 0; k < PARTS && status == PRICER_OK; k++) {
        if (!wanted(name, k))
            continue;
        work->share = parts[k].weight / total;
        work->table = tables[k] = table_new(5, headings);
        status = parts[k].run(work);
        work->done += work->share;
    }
    return status;
}

static enum pricer_status make_folder(struct reproduction *work)
{
    if (!program_writes() || mkdir(work->folder, 0777) == 0 || errno == EEXIST)
        return PRICER_OK;
    snprintf(work->fault.text, sizeof work->fault.text, "%s: %s", work->folder,
             strerror(errno));
    return PRICER_FILE;
}

/* Every input is read before anything is written. */
static enum pricer_status reproduce(struct reproduction *work, const char *name,
                                    struct table *tables[PARTS])
{
    enum pricer_status status =
        wanted(name, TABLE2) ? reproduce_data_read(work) : PRICER_OK;
    if (status == PRICER_OK)
        status = make_folder(work);
    if (status == PRICER_OK)
        status = reproduce_open(work, "summary.csv", &work->summary);
    if (status != PRICER_OK)
        return status;
    fputs("part,what,paper,paper_settings,own_best,note\n", work->summary);
    status = run_parts(work, name, tables);
    return reproduce_close(work, "summary.csv", work->summary, status);
}

static int misuse(const char *words)
{
    fprintf(stderr, "pricer reproduce: %s; --help explains\n", words);
    return 2;
}

static int check(const struct reproduction *work, const char *name)
{
    bool known = false;
    for (int k = 0; k < PARTS; k++)
        known = known || wanted(name, k);
    if (!known)
        return misuse("the parts are table1, convergence, trust, erdos-renyi, "
                      "table2 and all");
    if (work->folder == NULL)
        return misuse("--to DIR is missing");
    if (work->seeds < 1 || work->seeds > 100000)
        return misuse("--seeds is at least 1");
    return OPTIONS_GO;
}

int verb_reproduce(int argc, char **argv)
{
    struct reproduction work = {.seeds = 20, .plots = true};
    bool no_plots = false;
    const struct option options[] = {
        {"to", OPTION_TEXT, &work.folder, "DIR",
         "the folder for the results; made if it is not there"},
        {"cifar", OPTION_LIST, &work.cifar, "FILE,...",
         "table2: CIFAR-10, data_batch_1.bin; may be given again"},
        {"fmnist", OPTION_TEXT, &work.fmnist, "FILE",
         "table2: Fashion-MNIST embeddings, .npy"},
        {"sample", OPTION_TEXT, &work.sample, "FILE",
         "table2 without these: the sample shipped with pricer"},
        {"seeds", OPTION_COUNT, &work.seeds, "N", "table2: runs; default 20"},
        {"no-plots", OPTION_FLAG, &no_plots, NULL,
         "leave the plots to the scripts"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go == OPTIONS_GO)
        go = check(&work, operands[0]);
    if (go != OPTIONS_GO)
        return go;
    work.plots = !no_plots;
    work.watch = (struct pricer_watch){tick, &work};
    cluster_prepare();
    progress_start(&work.progress, "reproduce");
    struct table *tables[PARTS] = {NULL};
    enum pricer_status status = reproduce(&work, operands[0], tables);
    progress_end(&work.progress);
    reproduce_data_free(&work);
    if (status == PRICER_OK)
        print_tables(tables);
    return status == PRICER_OK ? 0 : program_fault(status, &work.fault);
}
