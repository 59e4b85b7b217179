/*
 * From what ranks know of their own nodes to what their neighbours hold as
 * ghosts.
 *
 * Own nodes of a rank are consecutive in the whole network, and so are the
 * ghosts that it lends to another, in the order of both: a message is a list of
 * numbers in that order, and nothing but numbers is sent.
 */
#include "network.h"

#include <stdlib.h>

static int32_t ranks_of(const struct pri_part *part)
{
    return part->crew == NULL ? 1 : part->crew->ranks;
}

static int64_t sum_of(const struct pri_part *part, const int64_t *counts)
{
    int64_t sum = 0;
    for (int32_t r = 0; r < ranks_of(part); r++)
        sum += counts[r];
    return sum;
}

void pri_part_nodes(const struct pri_part *part, double *values, int width)
{
    if (ranks_of(part) == 1)
        return;
    int64_t giving = sum_of(part, part->give), taking = sum_of(part, part->got);
    for (int64_t k = 0; k < giving; k++)
        for (int w = 0; w < width; w++)
            part->given[k * width + w] =
                values[(int64_t)part->giving[k] * width + w];
    part->crew->trade(part->crew->context, (size_t)width * sizeof(double),
                      part->given, part->give, part->taken, part->got);
    for (int64_t k = 0; k < taking; k++) {
        int64_t node = k < part->low ? k : k - part->low + part->high;
        for (int w = 0; w < width; w++)
            values[node * width + w] = part->taken[k * width + w];
    }
}

void pri_part_links(const struct pri_part *part, double *values, int stride)
{
    const int32_t *start = part->network->out_start;
    if (ranks_of(part) == 1)
        return;
    int64_t giving = sum_of(part, part->give_links);
    int64_t taking = sum_of(part, part->got_links), below = start[part->low];
    for (int64_t k = 0; k < giving; k++)
        part->given[k] = values[(int64_t)part->giving_links[k] * stride];
    part->crew->trade(part->crew->context, sizeof(double), part->given,
                      part->give_links, part->taken, part->got_links);
    for (int64_t k = 0; k < taking; k++) {
        int64_t link = k < below ? k : k - below + start[part->high];
        values[link * stride] = part->taken[k];
    }
}

bool pri_part_any(const struct pri_part *part, bool here)
{
    int64_t count = here;
    if (ranks_of(part) > 1)
        part->crew->add(part->crew->context, &count, 1);
    return count > 0;
}

void pri_part_free(struct pri_part *part)
{
    if (part == NULL)
        return;
    pricer_network_free(part->network);
    free(part->number);
    free(part->give);
    free(part->got);
    free(part->give_links);
    free(part->got_links);
    free(part->giving);
    free(part->giving_links);
    free(part->given);
    free(part->taken);
    free(part);
}
