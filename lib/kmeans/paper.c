/*
 * The paper's procedure of distributed K-means, and the choice between it and
 * ours: nodes send their centres, the server takes the mean index by index.
 */
#include "run.h"

#include <stdlib.h>

/* ----------------------------------------------------------------- paper -- */

static int64_t paper_length(const struct pri_kmeans *run)
{
    return run->clusters * run->points.columns;
}

static enum pricer_status paper_speak(const struct pri_kmeans *run,
                                      int64_t round, int32_t node,
                                      double *message)
{
    const int64_t columns = run->points.columns, entries = paper_length(run);
    struct pri_points part = pri_kmeans_part(run, node);
    float *centres = pri_alloc(entries, sizeof *centres);
    enum pricer_status status = centres == NULL ? PRICER_MEMORY : PRICER_OK;
    if (status == PRICER_OK && round == 0)
        status = pri_plus_plus(&part, run->clusters, run->settings.seed, node,
                               1, centres);
    if (status == PRICER_OK)
        status = pri_kmeans_local(
            run, node, round == 0 ? centres : run->centres, centres, NULL);
    for (int64_t c = 0; c < entries && status == PRICER_OK; c++)
        message[c] = centres[c];
    for (int32_t k = 0; k < run->clusters && status == PRICER_OK; k++)
        pri_cut(run->radius, message + k * columns, columns);
    free(centres);
    return status;
}

static void paper_hear(struct pri_kmeans *run, int64_t round)
{
    (void)round;
    for (int64_t c = 0; c < paper_length(run); c++)
        run->centres[c] = (float)(run->sum[c] / run->nodes);
}

/* ------------------------------------------------------------- interface -- */

const struct pri_kmeans_procedure *pri_kmeans_procedure(
    enum pricer_kmeans_procedure procedure)
{
    static const struct pri_kmeans_procedure paper = {NULL, paper_length,
                                                      paper_speak, paper_hear};
    return procedure == PRICER_KMEANS_PAPER ? &paper : &pri_kmeans_ours;
}
