/*
 * From rows to what one node knows of them: its part, cut to the radius, its
 * second moment applied to the vectors of the iteration, and the message that
 * says so.
 */
#include "power.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 128 }; /* rows in double precision at once */

static void fill_defaults(struct pricer_power_settings *settings)
{
    settings->components = settings->components > 0 ? settings->components : 1;
    settings->iterations = settings->iterations > 0 ? settings->iterations : 20;
    settings->reach = settings->reach > 0 ? settings->reach : 0.1;
    if (settings->carry == 0)
        settings->carry = 0.8;
    settings->carry = fmax(settings->carry, 0);
}

int64_t pricer_power_dimension(const struct pricer_power_settings *settings,
                               int64_t columns)
{
    struct pricer_power_settings full = *settings;
    fill_defaults(&full);
    return full.components * (columns + full.components);
}

static enum pricer_status check(const struct pricer_matrix *rows,
                                const struct pricer_network *network,
                                const struct pricer_power_settings *settings,
                                struct pricer_fault *fault)
{
    if (network->reach > 0)
        return pri_fault(fault, PRICER_VALUE,
                         "power iteration is not defined for rounds relative "
                         "to the last estimate: leave reference out");
    if (rows->element != PRICER_FLOAT32)
        return pri_fault(fault, PRICER_VALUE,
                         "rows have to be in single precision");
    if (rows->rows > INT32_MAX || rows->columns > INT32_MAX / 2)
        return pri_fault(fault, PRICER_VALUE, "%lld rows of %lld are too many",
                         (long long)rows->rows, (long long)rows->columns);
    if (rows->rows < network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "%lld rows are too few for %d nodes",
                         (long long)rows->rows, (int)network->nodes);
    if (settings->components > rows->columns)
        return pri_fault(fault, PRICER_VALUE,
                         "%d components of rows with %lld numbers",
                         (int)settings->components, (long long)rows->columns);
    if (!(settings->carry < 1))
        return pri_fault(fault, PRICER_VALUE, "carry = %g is not below 1",
                         settings->carry);
    return PRICER_OK;
}

enum pricer_status pri_power_open(const struct pricer_matrix *rows,
                                  const struct pricer_network *network,
                                  const struct pricer_power_settings *settings,
                                  struct pri_power *power,
                                  struct pricer_fault *fault)
{
    struct pri_power made = {.settings = *settings,
                             .nodes = network->nodes,
                             .rows = rows->rows,
                             .columns = rows->columns,
                             .radius = network->radius};
    fill_defaults(&made.settings);
    made.components = made.settings.components;
    made.length = pricer_power_dimension(&made.settings, rows->columns);
    enum pricer_status status = check(rows, network, &made.settings, fault);
    if (status != PRICER_OK)
        return status;
    made.dealt = pri_alloc(rows->rows * rows->columns, sizeof *made.dealt);
    status = made.dealt == NULL ? PRICER_MEMORY
                                : pri_deal(rows, settings->seed,
                                           settings->in_order, made.dealt);
    made.team = status == PRICER_OK
                    ? pri_team_new(pri_kmeans_threads(settings->threads))
                    : NULL;
    if (status == PRICER_OK)
        *power = made;
    else
        free(made.dealt);
    return status;
}

void pri_power_close(struct pri_power *power)
{
    pri_team_free(power->team);
    power->team = NULL;
    free(power->dealt);
    power->dealt = NULL;
}

/* Some rows in double precision, none longer than the radius. */
static void widen(const struct pri_power *power, int64_t first, int64_t count,
                  double *block)
{
    const int64_t columns = power->columns;
    for (int64_t r = 0; r < count; r++) {
        const float *row = power->dealt + (first + r) * columns;
        double *wide = block + r * columns, square = 0;
        for (int64_t c = 0; c < columns; c++)
            square += (double)row[c] * row[c];
        double length = sqrt(square);
        double factor = length > power->radius ? power->radius / length : 1;
        for (int64_t c = 0; c < columns; c++)
            wide[c] = factor * row[c];
    }
}

static int64_t first_row(const struct pri_power *power, int32_t node)
{
    return power->rows * node / power->nodes;
}

enum pricer_status pri_power_product(const struct pri_power *power,
                                     int32_t node, const double *vectors,
                                     double *product)
{
    const int columns = (int)power->columns, k = power->components;
    const int64_t first = first_row(power, node),
                  last = first_row(power, node + 1);
    double *block = pri_alloc(BLOCK * power->columns, sizeof *block);
    double *inner = pri_alloc(BLOCK * (int64_t)k, sizeof *inner);
    const double share =
        1 / ((double)(last - first) * power->radius * power->radius);
    enum pricer_status status =
        block == NULL || inner == NULL ? PRICER_MEMORY : PRICER_OK;
    for (int64_t c = 0; c < k * power->columns; c++)
        product[c] = 0;
    for (int64_t r = first; r < last && status == PRICER_OK; r += BLOCK) {
        int count = (int)(last - r < BLOCK ? last - r : BLOCK);
        widen(power, r, count, block);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, k, count, columns,
                    1, vectors, columns, block, columns, 0, inner, count);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, k, columns,
                    count, share, inner, count, block, columns, 1, product,
                    columns);
    }
    free(block);
    free(inner);
    return status;
}

void pri_power_encode(const struct pri_power *power, const double *vectors,
                      double *product, double *message)
{
    const int columns = (int)power->columns, k = power->components;
    const int64_t cells = k * power->columns;
    double *within = message + cells, square = 0;
    pri_products(k, columns, product, vectors, within);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, k, columns, k, -1,
                within, k, vectors, columns, 1, product, columns);
    for (int64_t c = 0; c < power->length; c++) {
        message[c] =
            c < cells ? product[c] / power->settings.reach : message[c];
        square += message[c] * message[c];
    }
    double factor = power->radius / fmax(sqrt(square), 1);
    for (int64_t c = 0; c < power->length; c++)
        message[c] *= factor;
}

/* Of the first part only what is outside the space of V is signal. */
void pri_power_decode(const struct pri_power *power, const double *vectors,
                      const double *sum, double *product)
{
    const int columns = (int)power->columns, k = power->components;
    const int64_t cells = k * power->columns;
    const double unit = power->settings.reach / power->radius;
    double *inside = product + cells;
    for (int64_t c = 0; c < cells; c++)
        product[c] = unit * sum[c];
    pri_products(k, columns, product, vectors, inside);
    for (int32_t c = 0; c < k * k; c++)
        inside[c] = sum[cells + c] / power->radius - inside[c];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, k, columns, k, 1,
                inside, k, vectors, columns, 1, product, columns);
}

enum pricer_status pri_power_moment(const struct pri_power *power, int32_t node,
                                    double factor, double *matrix)
{
    const int columns = (int)power->columns;
    const int64_t first = first_row(power, node),
                  last = first_row(power, node + 1);
    double *block = pri_alloc(BLOCK * power->columns, sizeof *block);
    if (block == NULL)
        return PRICER_MEMORY;
    for (int64_t r = first; r < last; r += BLOCK) {
        int count = (int)(last - r < BLOCK ? last - r : BLOCK);
        widen(power, r, count, block);
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, columns, count,
                    factor / (double)(last - first), block, columns, 1, matrix,
                    columns);
    }
    free(block);
    return PRICER_OK;
}

/* Normal numbers point in every direction alike; as sums of uniform ones they
 * need no tables, and near enough to normal is enough for a start. */
enum pricer_status pri_power_start(const struct pri_power *power,
                                   double *vectors)
{
    struct pricer_random random;
    pricer_random_replay(&random, power->settings.seed, PRICER_PURPOSE_DATA, 0,
                         0, PRI_POWER_START);
    for (int64_t c = 0; c < power->components * power->columns; c++) {
        vectors[c] = -6;
        for (int term = 0; term < 12; term++)
            vectors[c] += (double)(pricer_random_word(&random) >> 11) * 0x1p-53;
    }
    return pri_orthonormal(power->components, power->columns, vectors, NULL);
}
