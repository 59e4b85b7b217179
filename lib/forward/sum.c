/*
 * From the payloads of a round to their weighted sum, on several threads: first
 * every payload becomes a vector, then every coordinate is added up by ascending
 * node. O(count dimension).
 */
#include "forward.h"
#include "pricer_forward.h"
#include "release/release.h"

#include <stdlib.h>

enum {
    COORDINATES = 1 << 20, /* decoded at once */
    PARTS = 64,            /* into which a team divides work at most */
};

struct pri_forward_sum {
    const struct pricer_forward_receiver *receiver;
    struct pri_team *team; /* NULL: one thread */
    int32_t parts, block;
    int64_t dimension;
    double *values;                       /* [block][dimension + 1] */
    struct pri_forward_arrival *arrivals; /* of the call */
    int32_t count;
    double *estimate;
    struct pri_expander *expanders[PARTS]; /* [parts] */
};

void pri_forward_sum_free(struct pri_forward_sum *sum)
{
    if (sum == NULL)
        return;
    pri_team_free(sum->team);
    for (int32_t k = 0; k < sum->parts; k++)
        pri_expander_free(sum->expanders[k]);
    free(sum->values);
    free(sum);
}

/* As many vectors as 8 MiB hold, and at least one a part, but no more than there
 * are nodes. */
static int32_t find_block(int64_t dimension, int32_t nodes, int32_t threads)
{
    int64_t block = COORDINATES / (dimension + 1);
    block = block < threads ? threads : block;
    return (int32_t)(block < nodes ? block : nodes);
}

enum pricer_status pri_forward_sum_new(
    const struct pricer_forward_receiver *receiver, int32_t nodes,
    int32_t threads, struct pri_forward_sum **sum)
{
    struct pri_forward_sum *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = PRICER_OK;
    made->receiver = receiver;
    made->dimension = pri_forward_dimension(receiver);
    made->block = find_block(made->dimension, nodes, threads);
    made->values =
        pri_alloc(made->block * (made->dimension + 1), sizeof *made->values);
    made->team = threads > 1 ? pri_team_new(threads) : NULL;
    int32_t parts = threads > 1 ? PARTS : 1;
    parts = parts < made->block ? parts : made->block;
    if (made->values == NULL || (threads > 1 && made->team == NULL))
        status = PRICER_MEMORY;
    for (; made->parts < parts && status == PRICER_OK; made->parts++)
        status = pri_expander_new(&made->expanders[made->parts]);
    if (status == PRICER_OK)
        *sum = made;
    else
        pri_forward_sum_free(made);
    return status;
}

int32_t pri_forward_sum_block(const struct pri_forward_sum *sum)
{
    return sum->block;
}

/* Decode every payload of a part. */
static void decode_part(void *context, int32_t part)
{
    struct pri_forward_sum *sum = context;
    for (int32_t k = part; k < sum->count; k += sum->parts) {
        struct pri_forward_arrival *arrival = &sum->arrivals[k];
        double *value = sum->values + k * (sum->dimension + 1);
        arrival->refused =
            pri_forward_decode(sum->receiver, sum->expanders[part],
                               arrival->node, arrival->payload, arrival->bytes,
                               value, NULL) != PRICER_OK;
    }
}

/* Add some coordinates of all vectors. */
static void add_range(void *context, int64_t low, int64_t high)
{
    struct pri_forward_sum *sum = context;
    for (int32_t k = 0; k < sum->count; k++) {
        const struct pri_forward_arrival *arrival = &sum->arrivals[k];
        const double *value = sum->values + k * (sum->dimension + 1);
        if (arrival->refused)
            continue;
        double factor = pri_forward_factor(sum->receiver, arrival->node);
        for (int64_t l = low; l < high; l++)
            sum->estimate[l] += factor * value[l];
    }
}

void pri_forward_sum_add(struct pri_forward_sum *sum,
                         struct pri_forward_arrival *arrivals, int32_t count,
                         double *estimate)
{
    sum->arrivals = arrivals;
    sum->count = count;
    sum->estimate = estimate;
    if (sum->team != NULL)
        pri_team_run(sum->team, sum->parts, decode_part, sum);
    else
        decode_part(sum, 0);
    pri_team_share(sum->team, sum->dimension, add_range, sum);
}
