/*
 * From rows and a model to tables of partial sums: what a handful of a relay's
 * shares adds to its row of A X, to A kappa and to the noise, for every subset
 * of them. A row of a pattern is then a few loads, whatever it contains.
 *
 * O(nodes entries 2^PRI_HANDFUL / PRI_HANDFUL) numbers, about 60 kB for ten
 * nodes that all hear each other.
 */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

/* Where the handful that begins with entry k ends: at the end of its relay, and
 * not beyond the word that its bits stand in. */
static int32_t end_of(int32_t k, int32_t end)
{
    int32_t most = k / 64 * 64 + 64;
    most = most < k + PRI_HANDFUL ? most : k + PRI_HANDFUL;
    return most < end ? most : end;
}

static void count(const struct pri_rows *rows, struct pri_tables *tables,
                  int64_t *numbers)
{
    *numbers = 0;
    for (int32_t j = 0; j < rows->nodes; j++)
        for (int32_t k = rows->start[j], end; k < rows->start[j + 1]; k = end) {
            end = end_of(k, rows->start[j + 1]);
            *numbers += (int64_t)tables->width << (end - k);
            tables->handfuls++;
        }
}

/* The sums of all subsets, each from the one without its last member. */
static void fill_in(const struct pri_rows *rows, const struct pri_model *model,
                    const struct pri_handful *handful, int64_t width,
                    double *sums)
{
    int64_t n = rows->nodes;
    memset(sums, 0, (size_t)width * sizeof *sums);
    for (int32_t k = handful->begin; k < handful->end; k++) {
        int64_t half = (int64_t)1 << (k - handful->begin);
        const double *x = model->x + rows->from[k] * n;
        for (int64_t s = 0; s < half; s++) {
            const double *without = sums + s * width;
            double *with = sums + (half + s) * width;
            for (int64_t l = 0; l < n; l++)
                with[l] = without[l] + rows->weight[k] * x[l];
            with[n] =
                without[n] + rows->weight[k] * model->target[rows->from[k]];
            with[n + 1] = without[n + 1] + rows->noise[k];
            for (int64_t l = n + 2; l < width; l++)
                with[l] = 0;
        }
    }
}

enum pricer_status pri_tables_new(const struct pri_rows *rows,
                                  const struct pri_model *model,
                                  struct pri_tables *tables)
{
    struct pri_tables made = {.width = (rows->nodes + 5) / 4 * 4};
    int64_t numbers = 0, at = 0;
    count(rows, &made, &numbers);
    made.first = pri_alloc((int64_t)rows->nodes + 1, sizeof *made.first);
    made.handful = pri_alloc(made.handfuls, sizeof *made.handful);
    made.sums = aligned_alloc(64, ((size_t)numbers / 8 + 1) * 64);
    made.weight = aligned_alloc(64, ((size_t)rows->entries / 2 + 1) * 64);
    if (!made.first || !made.handful || !made.sums || !made.weight) {
        pri_tables_free(&made);
        return PRICER_MEMORY;
    }
    made.handfuls = 0;
    for (int64_t k = 0; k < 4 * (int64_t)rows->entries; k++)
        made.weight[k] = rows->weight[k / 4];
    for (int32_t j = 0; j < rows->nodes; j++) {
        made.first[j] = made.handfuls;
        for (int32_t k = rows->start[j], end; k < rows->start[j + 1]; k = end) {
            struct pri_handful *handful = &made.handful[made.handfuls++];
            end = end_of(k, rows->start[j + 1]);
            *handful = (struct pri_handful){k, end, made.sums + at};
            fill_in(rows, model, handful, made.width, made.sums + at);
            at += (int64_t)made.width << (end - k);
        }
    }
    made.first[rows->nodes] = made.handfuls;
    *tables = made;
    return PRICER_OK;
}

void pri_tables_free(struct pri_tables *tables)
{
    free(tables->first);
    free(tables->handful);
    free(tables->sums);
    free(tables->weight);
    memset(tables, 0, sizeof *tables);
}
