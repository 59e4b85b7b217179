/*
 * From a network and its plan to the rows of the decoder: whose shares each
 * relay's sum contains, with how much weight and noise.
 */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_used(double weight, double noise)
{
    return weight != 0 || noise != 0;
}

static int32_t count_entries(const struct pricer_network *network,
                             const struct pricer_plan *plan)
{
    int32_t count = 0;
    for (int32_t i = 0; i < network->nodes; i++)
        count += is_used(plan->self_weight[i], plan->self_noise[i]);
    for (int32_t l = 0; l < network->links; l++)
        count += is_used(plan->weight[l], plan->noise[l]);
    return count;
}

static bool make_room(const struct pricer_network *network, int32_t entries,
                      struct pri_rows *rows)
{
    int64_t most = rows->blind ? network->links / 2 : 0;
    rows->start = pri_alloc((int64_t)network->nodes + 1, sizeof *rows->start);
    rows->from = pri_alloc(entries, sizeof *rows->from);
    rows->link = pri_alloc(entries, sizeof *rows->link);
    rows->weight = pri_alloc(entries, sizeof *rows->weight);
    rows->noise = pri_alloc(entries, sizeof *rows->noise);
    rows->spread = pri_alloc(entries, sizeof *rows->spread);
    rows->scale = pri_alloc(network->nodes, sizeof *rows->scale);
    rows->part = pri_alloc(network->nodes, sizeof *rows->part);
    rows->low = pri_alloc(most, sizeof *rows->low);
    rows->high = pri_alloc(most, sizeof *rows->high);
    rows->together = pri_alloc(most, sizeof *rows->together);
    return rows->start && rows->from && rows->link && rows->weight &&
           rows->noise && rows->spread && rows->scale && rows->part &&
           rows->low && rows->high && rows->together;
}

/* The power of two next below the largest weight or noise of relay j. */
static double scale_of(const struct pricer_network *network,
                       const struct pricer_plan *plan, int32_t j)
{
    double most = fmax(plan->self_weight[j], plan->self_noise[j]);
    for (int32_t k = network->in_start[j]; k < network->in_start[j + 1]; k++) {
        int32_t l = network->in_link[k];
        most = fmax(most, fmax(plan->weight[l], plan->noise[l]));
    }
    int exponent = 0;
    frexp(most, &exponent);
    if (exponent > 1000)
        exponent = 1000;
    return most > 0 ? ldexp(1, exponent < -1000 ? -1000 : exponent) : 1;
}

/* What of `from` arrives at relay j with probability p. */
static void add_entry(struct pri_rows *rows, int32_t j, int32_t from,
                      int32_t link, double p, const double amount[2])
{
    if (!is_used(amount[0], amount[1]))
        return;
    int32_t k = rows->entries++;
    double weight = amount[0] / rows->scale[j] * rows->part[from];
    double noise = amount[1] / rows->scale[j];
    rows->from[k] = from;
    rows->link[k] = link;
    rows->weight[k] = rows->blind ? p * weight : weight;
    rows->noise[k] = rows->blind ? p * noise * noise : noise * noise;
    rows->spread[k] = p * (1 - p) * weight * weight;
}

static void add_pairs(const struct pricer_network *network,
                      const struct pricer_plan *plan, struct pri_rows *rows)
{
    for (int32_t l = 0; l < network->links; l++) {
        int32_t back = network->partner[l], i = network->from[l];
        int32_t j = network->to[l];
        if (back < 0 || i > j)
            continue;
        double excess = network->joint[l] - network->p[l] * network->p[back];
        double weights = plan->weight[l] / rows->scale[j] *
                         (plan->weight[back] / rows->scale[i]) *
                         (rows->part[i] * rows->part[j]);
        if (!(excess > 0) || weights == 0)
            continue;
        rows->low[rows->pairs] = i;
        rows->high[rows->pairs] = j;
        rows->together[rows->pairs++] = excess * weights;
    }
}

enum pricer_status pri_rows_new(const struct pricer_network *network,
                                const struct pricer_plan *plan, bool blind,
                                struct pri_rows *rows)
{
    struct pri_rows made = {.nodes = network->nodes, .blind = blind};
    if (!make_room(network, count_entries(network, plan), &made)) {
        pri_rows_free(&made);
        return PRICER_MEMORY;
    }
    double unit =
        (double)network->dimension / network->radius / network->radius;
    for (int32_t i = 0; i < network->nodes; i++)
        made.part[i] = network->node_radius[i] / network->radius;
    for (int32_t j = 0; j < network->nodes; j++) {
        made.scale[j] = scale_of(network, plan, j);
        made.start[j] = made.entries;
        add_entry(&made, j, j, -1, 1,
                  (double[]){plan->self_weight[j], plan->self_noise[j]});
        for (int32_t k = network->in_start[j]; k < network->in_start[j + 1];
             k++) {
            int32_t l = network->in_link[k];
            add_entry(&made, j, network->from[l], l, network->p[l],
                      (double[]){plan->weight[l], plan->noise[l]});
        }
    }
    made.start[network->nodes] = made.entries;
    for (int32_t k = 0; k < made.entries; k++)
        made.noise[k] *= unit;
    if (blind)
        add_pairs(network, plan, &made);
    *rows = made;
    return PRICER_OK;
}

void pri_rows_free(struct pri_rows *rows)
{
    free(rows->start);
    free(rows->from);
    free(rows->link);
    free(rows->weight);
    free(rows->noise);
    free(rows->spread);
    free(rows->scale);
    free(rows->part);
    free(rows->low);
    free(rows->high);
    free(rows->together);
    memset(rows, 0, sizeof *rows);
}
