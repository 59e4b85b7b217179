/*
 * What one node does: its part of the points, and Lloyd's steps on them. Also
 * the defaults, which every file after this one may count on.
 */
#include "run.h"

#include <stdlib.h>
#include <string.h>

struct pri_points pri_kmeans_part(const struct pri_kmeans *run, int32_t node)
{
    int64_t first = run->points.rows * node / run->nodes;
    int64_t last = run->points.rows * (node + 1) / run->nodes;
    return (struct pri_points){.values = pri_points_row(&run->points, first),
                               .rows = last - first,
                               .columns = run->points.columns};
}

enum pricer_status pri_kmeans_local(const struct pri_kmeans *run, int32_t node,
                                    const float *start, float *centres,
                                    int64_t *size)
{
    struct pri_points part = pri_kmeans_part(run, node);
    const int64_t entries = run->clusters * part.columns;
    struct pri_lloyd *lloyd = NULL;
    enum pricer_status status = pri_lloyd_new(&part, run->clusters, &lloyd);
    double *sum = pri_alloc(entries, sizeof *sum);
    if (status == PRICER_OK && sum == NULL)
        status = PRICER_MEMORY;
    if (status != PRICER_OK)
        goto done;
    if (centres != start)
        memcpy(centres, start, (size_t)entries * sizeof *centres);
    for (int32_t step = 0; step < run->settings.steps; step++) {
        pri_lloyd_assign(lloyd, centres, 1);
        pri_lloyd_move(lloyd, 1, centres);
    }
    if (size != NULL)
        pri_lloyd_sums(lloyd, 1, sum, size);
done:
    free(sum);
    pri_lloyd_free(lloyd);
    return status;
}

void pri_kmeans_defaults(struct pricer_kmeans_settings *settings)
{
    settings->clusters = settings->clusters > 0 ? settings->clusters : 10;
    settings->rounds = settings->rounds > 0 ? settings->rounds : 10;
    settings->steps = settings->steps > 0 ? settings->steps : 5;
    settings->reach = settings->reach > 0 ? settings->reach : 0.05;
    settings->spread = settings->spread > 0 ? settings->spread : 0.1;
}
