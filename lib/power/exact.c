/*
 * From all rows in one place to the eigenvectors that the network looks for.
 */
#include "power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum pricer_status pricer_power_exact(
    const struct pricer_matrix *rows, const struct pricer_network *network,
    const struct pricer_power_settings *settings,
    const struct pricer_power_vectors *exact, struct pricer_fault *fault)
{
    struct pri_power power = {0};
    enum pricer_status status =
        pri_power_open(rows, network, settings, &power, fault);
    if (status != PRICER_OK)
        return status;
    const int64_t columns = power.columns;
    double *matrix = pri_alloc(columns * columns, sizeof *matrix);
    double *values = pri_alloc(columns, sizeof *values);
    if (matrix == NULL || values == NULL)
        status = PRICER_MEMORY;
    /* One triangle by rows is the other by columns, as LAPACK counts. */
    for (int32_t i = 0; i < power.nodes && status == PRICER_OK; i++)
        status = pri_power_moment(&power, i, 1. / power.nodes, matrix);
    if (status == PRICER_OK)
        status = pri_eigen(columns, matrix, values);
    for (int64_t c = 0; c < columns && status == PRICER_OK; c++)
        exact->values[c] = fmax(values[columns - 1 - c], 0);
    for (int32_t k = 0; k < power.components && status == PRICER_OK; k++)
        memcpy(exact->vectors + k * columns,
               matrix + (columns - 1 - k) * columns,
               (size_t)columns * sizeof *matrix);
    free(matrix);
    free(values);
    pri_power_close(&power);
    return status;
}
