/*
 * From payloads that arrive separately to one sum a node: what the genie gets.
 */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

enum pricer_status pri_payload_rows(const struct pricer_network *network,
                                    const double *slope,
                                    const double *self_slope,
                                    struct pri_rows *payload)
{
    struct pricer_plan *plan = NULL;
    enum pricer_status status = pricer_plan_new(network, &plan, NULL);
    if (status != PRICER_OK)
        return status;
    for (int32_t l = 0; l < network->links; l++)
        plan->weight[l] = 1;
    for (int32_t i = 0; i < network->nodes; i++)
        plan->self_weight[i] = 1;
    status = pri_rows_new(network, plan, false, payload);
    for (int32_t k = 0; status == PRICER_OK && k < payload->entries; k++) {
        int32_t l = payload->link[k];
        double rho = l < 0 ? self_slope[payload->from[k]] : slope[l];
        payload->noise[k] = 1 / (rho * rho);
    }
    pricer_plan_free(plan);
    return status;
}

enum pricer_status pri_own_rows(const struct pricer_network *network,
                                struct pri_rows *rows)
{
    struct pricer_network alone = {.nodes = network->nodes,
                                   .dimension = network->dimension,
                                   .radius = network->radius,
                                   .node_radius = network->node_radius};
    struct pricer_plan *plan = NULL;
    int32_t *start = pri_alloc((int64_t)network->nodes + 1, sizeof *start);
    enum pricer_status status = PRICER_MEMORY;
    alone.in_start = alone.out_start = start;
    if (start != NULL)
        status = pricer_plan_new(&alone, &plan, NULL);
    for (int32_t i = 0; status == PRICER_OK && i < network->nodes; i++)
        plan->self_weight[i] = 1;
    if (status == PRICER_OK)
        status = pri_rows_new(&alone, plan, false, rows);
    for (int32_t i = 0; status == PRICER_OK && i < network->nodes; i++) {
        rows->scale[i] = 1;
        rows->weight[i] = rows->part[i];
    }
    pricer_plan_free(plan);
    free(start);
    return status;
}

/* The precision of node i's data grows by its entries that arrived. */
void pri_small_load_payload(struct pri_small *small, double unit,
                            const struct pri_rows *payload,
                            const uint64_t *entry, int m)
{
    for (int32_t i = 0; i < payload->nodes; i++)
        memset(&small->noise[i], 0, sizeof small->noise[i]);
    for (int32_t k = 0; k < payload->entries; k++) {
        const uint64_t *bits = entry + (int64_t)k * PRI_LANES;
        uint64_t came = bits[m / 16] >> 4 * (m % 16) & 15;
        for (int e = 0; e < 4; e++)
            if (came >> e & 1)
                small->noise[payload->from[k]][e] += payload->noise[k];
    }
    small->sums = 0;
    small->tables = NULL;
    for (int32_t i = 0; i < payload->nodes; i++) {
        bool any = false;
        for (int e = 0; e < 4; e++) {
            double precision = small->noise[i][e];
            small->up[i][e] = precision > 0;
            small->entry[i][e] = precision > 0 ? payload->part[i] : 0;
            small->noise[i][e] = precision > 0 ? unit / precision : 0;
            any = any || precision > 0;
        }
        small->active[small->sums] = i;
        small->sums += any;
    }
}

void pri_large_load_payload(struct pri_large *large, double unit,
                            const struct pri_rows *payload,
                            const uint64_t *entry, int t)
{
    double *precision = large->spread;
    int64_t word = t / 64, bit = t % 64;
    memset(precision, 0, (size_t)payload->nodes * sizeof *precision);
    for (int32_t k = 0; k < payload->entries; k++)
        if (entry[(int64_t)k * PRI_LANES + word] >> bit & 1)
            precision[payload->from[k]] += payload->noise[k];
    large->sums = 0;
    for (int32_t i = 0; i < payload->nodes; i++) {
        if (!(precision[i] > 0))
            continue;
        int32_t s = large->sums++;
        large->relay[s] = large->from[s] = i;
        large->start[s] = s;
        large->weight[s] = payload->part[i];
        large->noise[s] = unit / precision[i];
        large->rest[s] = 0;
    }
    large->start[large->sums] = large->sums;
}
