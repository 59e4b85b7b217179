/*
 * The fast engine: 512 trials at a time, from random bits to squared errors.
 *
 * Conditioned on which links were up, the server's sum is sum_i w_i x_i plus
 * noise of variance v a coordinate, w_i and v being sums of the weights and
 * variances of what came through. The squared error, in expectation over the
 * noise, is
 *
 *     (|sum_i (w_i - 1) x_i|^2 + d v) / n^2,
 *
 * and only (w_i - 1) and v have to be computed for each trial. Four steps:
 *
 *   1. lib/round/links.c draws every uplink and pair of links, a bit per trial;
 *   2. a link carries if it and its relay's uplink are up: one `and` for 64
 *      trials;
 *   3. w_i and v are sums over a node's links of weights where a bit is set,
 *      looked up by the byte;
 *   4. (w_i - 1) times row i of the data's factor is added up over the nodes,
 *      and the squares of those sums are the squared error.
 *
 * kernels.c does the last two.
 *
 * Every sum is taken in a fixed order and without fused operations, so that the
 * result depends neither on threads nor on the machine.
 */
#include "simulate.h"
#include "random/random.h"
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

struct pri_fast {
    struct pri_job *job;
    struct pri_bits *uplink;  /* [nodes] */
    struct pri_bits *link;    /* [links] if stored, else of one node's links */
    bool stored;              /* all links are drawn before the first node */
    int stride;               /* nodes of a chunk, at most */
    struct pri_group *groups; /* [most links of a node / PRI_GROUP + 1] */
    pri_two *carry;           /* [PRI_ROUNDS] */
    double *excess;           /* [plans][PRI_TILES][stride][PRI_TILE] w - 1 */
    double *projection; /* [plans][blocks][PRI_TILES][PRI_COLUMNS][PRI_TILE] */
    double *variance;   /* [plans][PRI_ROUNDS] */
    double *square;     /* [plans][PRI_ROUNDS] */
};

static int32_t most_links(const struct pricer_network *network)
{
    int32_t most = 0;
    for (int32_t i = 0; i < network->nodes; i++) {
        int32_t links = network->out_start[i + 1] - network->out_start[i];
        most = links > most ? links : most;
    }
    return most;
}

/* Aligned to a cache line, and zero. */
static void *aligned(int64_t count, size_t size)
{
    size_t bytes = ((size_t)count * size + 64) & ~(size_t)63;
    void *room = aligned_alloc(64, bytes);
    if (room != NULL)
        memset(room, 0, bytes);
    return room;
}

enum pricer_status pri_fast_new(struct pri_job *job, bool stored,
                                struct pri_fast **fast)
{
    const struct pricer_network *network = job->network;
    int32_t most = most_links(network);
    int64_t plans = job->count, blocks = job->factor->blocks;
    struct pri_fast *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->job = job;
    made->stored = stored;
    made->stride = network->nodes < PRI_CHUNK ? network->nodes : PRI_CHUNK;
    int64_t held = network->nodes > PRI_CHUNK ? blocks * PRI_COLUMNS : 0;
    made->uplink = aligned(network->nodes, sizeof *made->uplink);
    made->link = aligned(stored ? network->links : most, sizeof *made->link);
    made->groups = aligned(most / PRI_GROUP + 1, sizeof *made->groups);
    made->carry = aligned(PRI_ROUNDS, sizeof *made->carry);
    made->excess = aligned(plans * made->stride * PRI_ROUNDS, sizeof(double));
    made->projection = aligned(plans * held * PRI_ROUNDS, sizeof(double));
    made->variance = aligned(plans * PRI_ROUNDS, sizeof(double));
    made->square = aligned(plans * PRI_ROUNDS, sizeof(double));
    if (!made->uplink || !made->link || !made->groups || !made->carry ||
        !made->excess || !made->projection || !made->variance ||
        !made->square) {
        pri_fast_free(made);
        return PRICER_MEMORY;
    }
    *fast = made;
    return PRICER_OK;
}

void pri_fast_free(struct pri_fast *fast)
{
    if (fast == NULL)
        return;
    free(fast->uplink);
    free(fast->link);
    free(fast->groups);
    free(fast->carry);
    free(fast->excess);
    free(fast->projection);
    free(fast->variance);
    free(fast->square);
    free(fast);
}

/* --------------------------------------------------------- steps 1 and 2 -- */

/* Forget the trials from `count` on. */
static void cut(struct pri_bits *bits, int count)
{
    for (int w = 0; w < PRI_LANES; w++) {
        int left = count - 64 * w;
        if (left <= 0)
            bits->word[w] = 0;
        else if (left < 64)
            bits->word[w] &= (UINT64_C(1) << left) - 1;
    }
}

PRI_CLONES
static uint32_t count_bits(const struct pri_bits *bits)
{
    uint32_t count = 0;
    for (int w = 0; w < PRI_LANES; w++)
        count += (uint32_t)__builtin_popcountll(bits->word[w]);
    return count;
}

PRI_CLONES
static uint32_t count_both(const struct pri_bits *a, const struct pri_bits *b)
{
    uint32_t count = 0;
    for (int w = 0; w < PRI_LANES; w++)
        count += (uint32_t)__builtin_popcountll(a->word[w] & b->word[w]);
    return count;
}

/* b <- a and b; how many remain. */
PRI_CLONES
static uint32_t restrict_bits(const struct pri_bits *a, struct pri_bits *b)
{
    uint32_t count = 0;
    for (int w = 0; w < PRI_LANES; w++) {
        b->word[w] &= a->word[w];
        count += (uint32_t)__builtin_popcountll(b->word[w]);
    }
    return count;
}

static void draw_uplinks(struct pri_fast *fast,
                         const struct pri_threefry_key *key, int count,
                         struct pri_tally *tally)
{
    const struct pricer_network *network = fast->job->network;
    for (int32_t i = 0; i < network->nodes; i++) {
        struct pri_pair pair = pri_pair_make(network->uplink[i], 0, 0);
        pri_draw_pair(&pair, key, i, PRICER_SERVER, fast->uplink[i].word, NULL);
        cut(&fast->uplink[i], count);
        tally->uplink[i] += count_bits(&fast->uplink[i]);
    }
}

/* Draw link l and its partner, if it has one. */
static void draw_link(const struct pricer_network *network,
                      const struct pri_threefry_key *key, int32_t l,
                      struct pri_bits *bits, struct pri_bits *partner)
{
    int32_t from = network->from[l], to = network->to[l];
    int32_t back = network->partner[l];
    double p = network->p[l], p_back = back < 0 ? 0 : network->p[back];
    if (from < to) {
        struct pri_pair pair = pri_pair_make(p, p_back, network->joint[l]);
        pri_draw_pair(&pair, key, from, to, bits->word, partner->word);
    } else {
        struct pri_pair pair = pri_pair_make(p_back, p, network->joint[l]);
        pri_draw_pair(&pair, key, to, from, partner->word, bits->word);
    }
}

static void draw_links(struct pri_fast *fast,
                       const struct pri_threefry_key *key, int count,
                       struct pri_tally *tally)
{
    const struct pricer_network *network = fast->job->network;
    struct pri_bits unused;
    for (int32_t l = 0; l < network->links; l++) {
        int32_t back = network->partner[l];
        if (back >= 0 && network->from[l] > network->to[l])
            continue;
        struct pri_bits *other = back >= 0 ? &fast->link[back] : &unused;
        draw_link(network, key, l, &fast->link[l], other);
        cut(&fast->link[l], count);
        if (back >= 0) {
            cut(other, count);
            tally->both[l] += count_both(&fast->link[l], other);
        }
    }
}

/* Restrict the links of node i to the trials in which they carry, and tally
 * both; they are drawn now if they are not stored. A pair is then drawn twice,
 * once for either end. */
static const struct pri_bits *ready_links(struct pri_fast *fast,
                                          const struct pri_threefry_key *key,
                                          int32_t i, int count,
                                          struct pri_tally *tally)
{
    const struct pricer_network *network = fast->job->network;
    int32_t first = network->out_start[i], end = network->out_start[i + 1];
    struct pri_bits *links = fast->stored ? fast->link + first : fast->link;
    struct pri_bits other;
    for (int32_t l = first; l < end; l++) {
        struct pri_bits *bits = &links[l - first];
        if (!fast->stored) {
            draw_link(network, key, l, bits, &other);
            cut(bits, count);
            if (network->partner[l] >= 0 && network->from[l] < network->to[l])
                tally->both[l] += count_both(bits, &other);
        }
        tally->link[l] += count_bits(bits);
        tally->used[l] += restrict_bits(&fast->uplink[network->to[l]], bits);
    }
    return links;
}

/* --------------------------------------------------------- steps 3 and 4 -- */

/* Collect the links of node i that a plan uses, in groups of equal size; one
 * empty group if it uses none. */
static int gather(const struct pri_fast *fast, const struct pricer_plan *plan,
                  int32_t i, const struct pri_bits *links)
{
    const struct pricer_network *network = fast->job->network;
    int32_t first = network->out_start[i], end = network->out_start[i + 1];
    bool self = plan->self_weight[i] != 0 || plan->self_noise[i] != 0;
    int used = self;
    for (int32_t l = first; l < end; l++)
        used += plan->weight[l] != 0 || plan->noise[l] != 0;
    int groups = used > 0 ? (used + PRI_GROUP - 1) / PRI_GROUP : 1;
    int size = (used + groups - 1) / groups;
    struct pri_group *group = fast->groups;
    group->size = 0;
    for (int32_t l = self ? first - 1 : first; l < end; l++) {
        bool own = l < first;
        double weight = own ? plan->self_weight[i] : plan->weight[l];
        double noise = own ? plan->self_noise[i] : plan->noise[l];
        if (weight == 0 && noise == 0)
            continue;
        if (group->size == size)
            (++group)->size = 0;
        group->bits[group->size] = own ? &fast->uplink[i] : &links[l - first];
        group->amount[group->size++] = (pri_two){weight, noise * noise};
    }
    return (int)(group - fast->groups) + 1;
}

/* The nodes of one chunk, in the order of the factor, for every plan. */
static void play_chunk(struct pri_fast *fast,
                       const struct pri_threefry_key *key,
                       const struct pri_chunk *chunk, int count,
                       struct pri_tally *tally)
{
    struct pri_job *job = fast->job;
    int64_t excess = (int64_t)fast->stride * PRI_ROUNDS;
    int64_t projection =
        (int64_t)job->factor->blocks * PRI_COLUMNS * PRI_ROUNDS;
    if (chunk->first && chunk->last)
        projection = 0;
    for (int row = 0; row < chunk->rows; row++) {
        int32_t i = job->factor->order[chunk->start + row];
        const struct pri_bits *links = ready_links(fast, key, i, count, tally);
        for (int32_t k = 0; k < job->count; k++)
            pri_kernel_node(fast->groups, gather(fast, job->plans[k], i, links),
                            fast->carry, fast->stride,
                            fast->excess + k * excess + row * PRI_TILE,
                            fast->variance + (int64_t)k * PRI_ROUNDS);
    }
    for (int32_t k = 0; k < job->count; k++)
        pri_kernel_project(job->factor, chunk, fast->stride,
                           fast->excess + k * excess,
                           fast->projection + k * projection,
                           fast->square + (int64_t)k * PRI_ROUNDS);
}

enum pricer_status pri_fast_play(struct pri_fast *fast, int64_t first,
                                 int count, struct pri_tally *tally,
                                 double *errors)
{
    struct pri_job *job = fast->job;
    int32_t nodes = job->network->nodes;
    int64_t all = (int64_t)job->count * PRI_ROUNDS;
    struct pri_threefry_key key = pri_draw_key(job->seed, first / PRI_ROUNDS);
    draw_uplinks(fast, &key, count, tally);
    if (fast->stored)
        draw_links(fast, &key, count, tally);
    memset(fast->variance, 0, (size_t)all * sizeof *fast->variance);
    memset(fast->square, 0, (size_t)all * sizeof *fast->square);
    for (int32_t start = 0; start < nodes; start += PRI_CHUNK) {
        int32_t left = nodes - start;
        struct pri_chunk chunk = {start, left < PRI_CHUNK ? left : PRI_CHUNK,
                                  start == 0, left <= PRI_CHUNK};
        if (!pri_poll(job))
            return PRICER_STOPPED;
        play_chunk(fast, &key, &chunk, count, tally);
    }
    double dimension = (double)job->network->dimension, n = nodes;
    for (int64_t t = 0; t < all; t++)
        errors[t] = (fast->square[t] + dimension * fast->variance[t]) / (n * n);
    return PRICER_OK;
}
