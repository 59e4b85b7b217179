/*
 * From arrays of nodes and links in a file to a plan, timed: what the same takes
 * in C that bench/python.py does from NumPy. Prints the seconds of the
 * processor and the objective.
 */
#include <pricer.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *array(FILE *file, int64_t count, size_t size)
{
    void *values = malloc((size_t)count * size);
    if (values == NULL ||
        fread(values, size, (size_t)count, file) != (size_t)count) {
        fputs("the file is too short\n", stderr);
        exit(1);
    }
    return values;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL)
        return fputs("usage: bench_python FILE\n", stderr), 1;
    int64_t *count = array(file, 2, sizeof *count);
    struct pricer_network_arrays arrays = {.dimension = 8,
                                           .radius = 1,
                                           .node_count = count[0],
                                           .link_count = count[1]};
    arrays.uplink = array(file, count[0], sizeof(double));
    arrays.self_eps = array(file, count[0], sizeof(double));
    arrays.self_delta = array(file, count[0], sizeof(double));
    arrays.from = array(file, count[1], sizeof(int32_t));
    arrays.to = array(file, count[1], sizeof(int32_t));
    arrays.p = array(file, count[1], sizeof(double));
    arrays.eps = array(file, count[1], sizeof(double));
    arrays.delta = array(file, count[1], sizeof(double));
    fclose(file);

    struct pricer_network *network = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_settings settings = {.tolerance = 1e-4, .threads = 1};
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    double start = now();
    if (pricer_network_build_arrays(&arrays, &network, NULL, &fault) ||
        pricer_plan_optimise(network, &settings, NULL, &plan, &info, &fault))
        return fprintf(stderr, "%s\n", fault.text), 1;
    printf("%.6f %.17g\n", now() - start, info.objective);
    pricer_plan_free(plan);
    pricer_network_free(network);
    return 0; /* the arrays go with the process */
}
