/*
 * K-means next to scikit-learn's, from the same starts and for the same number
 * of Lloyd's steps: this program does ours and prints what it took; kmeans.py
 * runs both. Arguments: data, starts (.npy), steps, threads, runs.
 */
#include "pricer_kmeans.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static struct pricer_matrix *read_points(const char *path, bool unit_norm)
{
    struct pricer_matrix *data = NULL, *points = NULL;
    struct pricer_fault fault = {""};
    if (pricer_matrix_read(path, &data, &fault) != PRICER_OK ||
        pricer_kmeans_points(data, unit_norm, &points, NULL) != PRICER_OK) {
        fprintf(stderr, "bench_kmeans: %s\n", fault.text);
        exit(1);
    }
    pricer_matrix_free(data);
    return points;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    struct pricer_matrix *points = read_points(argv[1], true);
    struct pricer_matrix *start = read_points(argv[2], false);
    int steps = atoi(argv[3]), threads = atoi(argv[4]), runs = atoi(argv[5]);
    size_t bytes = (size_t)(start->rows * start->columns) * sizeof(float);
    float *centres = malloc(bytes);
    double best = INFINITY, spent = INFINITY, inertia = NAN;
    if (centres == NULL)
        return 1;
    openblas_set_num_threads(1);
    for (int run = 0; run < runs; run++) {
        memcpy(centres, start->values, bytes);
        double began = now();
        clock_t cpu = clock();
        if (pricer_kmeans_lloyd(
                points, (int32_t)start->rows, steps, threads,
                &(struct pricer_kmeans_result){centres, &inertia},
                NULL) != PRICER_OK)
            return 1;
        best = fmin(best, now() - began);
        spent = fmin(spent, (double)(clock() - cpu) / CLOCKS_PER_SEC);
    }
    printf("%.9g %.6f %.6f\n", inertia, best, spent);
    free(centres);
    pricer_matrix_free(start);
    pricer_matrix_free(points);
    return 0;
}
