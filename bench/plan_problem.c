/*
 * One dense random network planned by us, and the same problem as a quadratic
 * program in a file, for benchmarks in other languages.
 *
 *     bench_plan_problem NODES CASE FILE
 *
 * prints the name of the case, our seconds and our objective. The file holds
 * int64 variables, rows, crosses, entries; then as double or int32 the arrays
 * of struct program in the order below.
 */
#include "dense.h"
#include "ours.h"

#include <stdio.h>
#include <stdlib.h>

static bool put(FILE *out, const void *items, size_t size, int count)
{
    return fwrite(items, size, (size_t)count, out) == (size_t)count;
}

static bool write_program(const struct program *program, const char *path)
{
    FILE *out = fopen(path, "wb");
    if (out == NULL)
        return false;
    const int64_t counts[] = {program->variables, program->rows,
                              program->crosses, program->entries};
    int n = program->variables, m = program->rows;
    bool fine = put(out, counts, sizeof *counts, 4) &&
                put(out, program->square, sizeof(double), n) &&
                put(out, program->linear, sizeof(double), n) &&
                put(out, program->lower, sizeof(double), n) &&
                put(out, program->cross_a, sizeof(int), program->crosses) &&
                put(out, program->cross_b, sizeof(int), program->crosses) &&
                put(out, program->cross, sizeof(double), program->crosses) &&
                put(out, program->row, sizeof(int), program->entries) &&
                put(out, program->column, sizeof(int), program->entries) &&
                put(out, program->value, sizeof(double), program->entries) &&
                put(out, program->row_lower, sizeof(double), m) &&
                put(out, program->row_upper, sizeof(double), m);
    return fclose(out) == 0 && fine;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int32_t n = (int32_t)atoi(argv[1]);
    int k = atoi(argv[2]);
    if (n < 1 || k < 0 || k >= BENCH_CASES)
        return 2;
    struct dense dense = dense_make(n);
    struct bench_case which = bench_case_at(k, n);
    struct program program = program_make(&dense, which);
    double objective, seconds = ours_time(&dense, which, &objective);
    bool fine = write_program(&program, argv[3]);
    printf("%s,%.17g,%.17g\n", which.name, seconds, objective);
    program_free(&program);
    dense_free(&dense);
    return fine ? 0 : 1;
}
