/*
 * pricer-mpi: the verbs of pricer that several machines can share, run by all
 * ranks of an MPI job. Only rank 0 reads standard input, prints and writes.
 */
#include "cli/verbs.h"
#include "common/crew.h"
#include "common/program.h"
#include "plan_ranks.h"
#include "ranks.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Every rank calls the same verb with the same arguments. */
static const struct verb verbs[] = {
    {"simulate", verb_simulate, "trials handed out to the ranks"},
    {"sweep", verb_sweep, "cells handed out to the ranks"},
    {"reproduce", verb_reproduce, "runs of table2 handed out to the ranks"},
    {"kmeans", verb_kmeans, "points and nodes divided among the ranks"},
    {"plan", verb_plan_ranks, "the network divided among the ranks"},
};

static void print_usage(FILE *out)
{
    fputs("usage: mpirun -n RANKS pricer-mpi VERB [OPTION]... STUDY\n\n"
          "The verbs of pricer whose work several processes share, with the "
          "same options and\nthe same results for any number of ranks:\n\n",
          out);
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++)
        fprintf(out, "  %-11s %s\n", verbs[k].name, verbs[k].summary);
    fputs("\n'pricer help VERB' explains a verb. Only rank 0 prints and "
          "writes; every rank reads\nthe files, from a folder that all "
          "machines see.\n\n"
          "example:\n"
          "  mpirun -n 4 pricer-mpi simulate ten.pricer --trials 10000000000\n",
          out);
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (name == NULL || strcmp(name, "--help") == 0 ||
        strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(name == NULL ? stderr : stdout);
        return name == NULL ? 2 : 0;
    }
    if (strcmp(name, "--version") == 0) {
        printf("pricer %s\n", pricer_version());
        return 0;
    }
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++)
        if (strcmp(name, verbs[k].name) == 0)
            return verb_run(&verbs[k], argc - 1, argv + 1);
    fprintf(stderr,
            "pricer-mpi: '%s' is not a verb that ranks share; --help lists "
            "them, pricer has the others\n",
            name);
    return 2;
}

int main(int argc, char **argv)
{
    struct ranks ranks;
    int level;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level) !=
            MPI_SUCCESS ||
        level < MPI_THREAD_SERIALIZED)
        return program_fail("this MPI does not let threads take turns");
    ranks_start(&ranks);
    /* mpirun lends every rank a terminal: it says nothing about the reader. */
    setenv("NO_COLOR", "1", 0);
    int cores = omp_get_num_procs() / ranks.beside;
    program_set_crew(&ranks.crew, cores > 1 ? cores : 1);
    int status = ranks_end(&ranks, program_close(run(argc, argv)));
    MPI_Finalize();
    return status;
}
