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
#include <string.h>

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

/* ---------------------------------------------------------- who has what -- */

static int32_t owner_of(const struct pri_part *part, int32_t node)
{
    int32_t r = 0;
    while (part->block[part->bounds[r + 1]] <= node)
        r++;
    return r;
}

/* Own nodes and links that other ranks hold, rank after rank; counted, or where
 * `at` says where each rank's begin, listed. */
static void list_lent(struct pri_part *part, int64_t *nodes, int64_t *links,
                      bool listing)
{
    const struct pricer_network *net = part->network;
    int32_t met[PRI_BLOCKS];
    memset(met, -1, sizeof met);
    for (int32_t i = part->low; i < part->high; i++)
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
            if (net->to[l] >= part->low && net->to[l] < part->high)
                continue;
            int32_t r = owner_of(part, part->number[net->to[l]]);
            if (listing && met[r] != i)
                part->giving[nodes[r]] = i;
            if (listing)
                part->giving_links[links[r]] = l;
            nodes[r] += met[r] != i;
            links[r]++;
            met[r] = i;
        }
}

static void count_borrowed(struct pri_part *part)
{
    const struct pricer_network *net = part->network;
    for (int32_t i = 0; i < net->nodes; i++)
        if (i < part->low || i >= part->high) {
            int32_t r = owner_of(part, part->number[i]);
            part->got[r]++;
            part->got_links[r] += net->out_start[i + 1] - net->out_start[i];
        }
}

enum pricer_status pri_part_exchanges(struct pri_part *part)
{
    int64_t nodes[PRI_BLOCKS] = {0}, links[PRI_BLOCKS] = {0};
    part->give = pri_alloc(ranks_of(part), sizeof(int64_t));
    part->got = pri_alloc(ranks_of(part), sizeof(int64_t));
    part->give_links = pri_alloc(ranks_of(part), sizeof(int64_t));
    part->got_links = pri_alloc(ranks_of(part), sizeof(int64_t));
    if (!part->give || !part->got || !part->give_links || !part->got_links)
        return PRICER_MEMORY;
    list_lent(part, part->give, part->give_links, false);
    count_borrowed(part);
    int64_t giving = 0, giving_links = 0, taking = 0, taking_links = 0;
    for (int32_t r = 0; r < ranks_of(part); r++) {
        nodes[r] = giving;
        links[r] = giving_links;
        giving += part->give[r];
        giving_links += part->give_links[r];
        taking += part->got[r];
        taking_links += part->got_links[r];
    }
    int64_t out = 2 * giving > giving_links ? 2 * giving : giving_links;
    int64_t in = 2 * taking > taking_links ? 2 * taking : taking_links;
    part->giving = pri_alloc(giving, sizeof(int32_t));
    part->giving_links = pri_alloc(giving_links, sizeof(int32_t));
    part->given = pri_alloc(out, sizeof(double));
    part->taken = pri_alloc(in, sizeof(double));
    if (!part->giving || !part->giving_links || !part->given || !part->taken)
        return PRICER_MEMORY;
    list_lent(part, nodes, links, true);
    return PRICER_OK;
}

/* ------------------------------------------------------------- exchanges -- */

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
    free(part->original);
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
