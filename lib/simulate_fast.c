/*
 * The fast engine: 512 trials at a time, from random bits to squared errors.
 *
 * Given which links were up, the server's sum is sum_i w_i x_i plus noise of
 * variance v a coordinate, w_i and v being sums of the weights and variances of
 * what came through. The squared error, its expectation over the noise taken,
 * is (|sum_i (w_i - 1) x_i|^2 + d v) / n^2, and only (w_i - 1) and v have to be
 * computed for each trial. Four steps:
 *
 *   1. draw.c draws every uplink and pair of links, a bit per trial;
 *   2. a link carries if it and its relay's uplink are up: one `and` for 64
 *      trials;
 *   3. w_i and v are sums over a node's links of weights where a bit is set.
 *      The bits of up to eight links are turned into a byte per trial, and the
 *      byte looks up the sum in a table of 256 (weight, variance) pairs. So a
 *      trial costs one load and one addition per eight links;
 *   4. (w_i - 1) times row i of the data's factor is added to `rank` sums, in
 *      blocks of 4 columns by 8 trials that stay in registers; the squares of
 *      the sums add up to the squared error.
 *
 * Every sum is taken in a fixed order and without fused operations, so that the
 * result depends neither on threads nor on the machine.
 */
#include "simulate.h"
#include "lanes.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORDS = PRI_LANES, /* of 64 trials */
    GROUP = 8,         /* links that share a table */
    BATCH = 4,         /* groups that are looked up together */
    TILE = 8,          /* trials worked on together in step 4 */
    TILES = PRI_ROUNDS / TILE,
    CHUNK = 128, /* nodes between two visits to the sums of step 4 */
    SPAN = 16,   /* blocks of columns that stay near while tiles pass */
};

typedef double two __attribute__((vector_size(16))); /* weight, variance */
typedef double four __attribute__((vector_size(32)));

/* The bits of a link in 512 trials. */
struct bits {
    uint64_t word[WORDS];
};

/* What step 3 needs of one plan at one node. */
struct group {
    int size;
    const struct bits *bits[GROUP];
    two amount[GROUP];
};

struct pri_fast {
    struct pri_job *job;
    struct bits *uplink; /* [nodes] */
    struct bits *link;   /* [links] if stored, else of one node's links */
    bool stored;
    struct group *groups; /* [most links of a node / GROUP + 1] */
    two *sums;            /* [plans][PRI_ROUNDS] weight and variance */
    double *excess;       /* [plans][TILES][CHUNK][TILE] w - 1 */
    double *projection;   /* [plans][blocks][TILES][PRI_COLUMNS][TILE] */
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
    int64_t blocks = job->factor->blocks;
    struct pri_fast *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->job = job;
    made->stored = stored;
    made->uplink = aligned(network->nodes, sizeof *made->uplink);
    made->link = aligned(stored ? network->links : most, sizeof *made->link);
    made->groups = aligned(most / GROUP + 1, sizeof *made->groups);
    made->sums = aligned((int64_t)job->count * PRI_ROUNDS, sizeof(two));
    made->excess =
        aligned((int64_t)job->count * CHUNK * PRI_ROUNDS, sizeof *made->excess);
    made->projection = aligned(job->count * blocks * PRI_COLUMNS * PRI_ROUNDS,
                               sizeof *made->projection);
    if (!made->uplink || !made->link || !made->groups || !made->sums ||
        !made->excess || !made->projection) {
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
    free(fast->sums);
    free(fast->excess);
    free(fast->projection);
    free(fast);
}

/* --------------------------------------------------------- steps 1 and 2 -- */

/* Forget the trials from `count` on. */
static void cut(struct bits *bits, int count)
{
    for (int w = 0; w < WORDS; w++) {
        int left = count - 64 * w;
        if (left <= 0)
            bits->word[w] = 0;
        else if (left < 64)
            bits->word[w] &= (UINT64_C(1) << left) - 1;
    }
}

PRI_CLONES
static uint32_t count_bits(const struct bits *bits)
{
    uint32_t count = 0;
    for (int w = 0; w < WORDS; w++)
        count += (uint32_t)__builtin_popcountll(bits->word[w]);
    return count;
}

PRI_CLONES
static uint32_t count_both(const struct bits *a, const struct bits *b)
{
    uint32_t count = 0;
    for (int w = 0; w < WORDS; w++)
        count += (uint32_t)__builtin_popcountll(a->word[w] & b->word[w]);
    return count;
}

/* b <- a and b; how many remain. */
PRI_CLONES
static uint32_t restrict_bits(const struct bits *a, struct bits *b)
{
    uint32_t count = 0;
    for (int w = 0; w < WORDS; w++) {
        b->word[w] &= a->word[w];
        count += (uint32_t)__builtin_popcountll(b->word[w]);
    }
    return count;
}

static void draw_uplinks(struct pri_fast *fast, const struct pri_key *key,
                         int count, struct pri_tally *tally)
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
                      const struct pri_key *key, int32_t l, struct bits *bits,
                      struct bits *partner)
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

static void draw_links(struct pri_fast *fast, const struct pri_key *key,
                       int count, struct pri_tally *tally)
{
    const struct pricer_network *network = fast->job->network;
    struct bits unused;
    for (int32_t l = 0; l < network->links; l++) {
        int32_t back = network->partner[l];
        if (back >= 0 && network->from[l] > network->to[l])
            continue;
        struct bits *other = back >= 0 ? &fast->link[back] : &unused;
        draw_link(network, key, l, &fast->link[l], other);
        cut(&fast->link[l], count);
        if (back >= 0) {
            cut(other, count);
            tally->both[l] += count_both(&fast->link[l], other);
        }
    }
}

/* The links of node i that carry, and the tallies; drawn now if they are not
 * stored. A pair is then drawn twice, once for either end. */
static const struct bits *ready_links(struct pri_fast *fast,
                                      const struct pri_key *key, int32_t i,
                                      int count, struct pri_tally *tally)
{
    const struct pricer_network *network = fast->job->network;
    int32_t first = network->out_start[i], end = network->out_start[i + 1];
    struct bits *links = fast->stored ? fast->link + first : fast->link;
    struct bits other;
    for (int32_t l = first; l < end; l++) {
        struct bits *bits = &links[l - first];
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

/* ---------------------------------------------------------------- step 3 -- */

/* Add the sums of all subsets of a group's amounts: those without the last
 * member first, then the same with it. */
PRI_INLINE void fill_table(const struct group *group, two *table)
{
    table[0] = (two){0, 0};
    for (int m = 0, filled = 1; m < group->size; m++, filled *= 2)
        for (int k = 0; k < filled; k++)
            table[filled + k] = table[k] + group->amount[m];
}

/* Exchange the parts of a and b that `mask` and its shift select. */
#define SWAP(a, b, shift, mask)                                                \
    do {                                                                       \
        pri_half moved = (((a) >> (shift)) ^ (b)) & (mask);                    \
        (b) ^= moved;                                                          \
        (a) ^= moved << (shift);                                               \
    } while (0)

/* Transpose the 8 x 8 bits of each word. */
PRI_INLINE pri_half turn_bits(pri_half x)
{
    const uint64_t near = UINT64_C(0x00aa00aa00aa00aa);
    const uint64_t wide = UINT64_C(0x0000cccc0000cccc);
    const uint64_t far = UINT64_C(0x00000000f0f0f0f0);
    pri_half moved = (x ^ (x >> 7)) & near;
    x ^= moved ^ (moved << 7);
    moved = (x ^ (x >> 14)) & wide;
    x ^= moved ^ (moved << 14);
    moved = (x ^ (x >> 28)) & far;
    return x ^ moved ^ (moved << 28);
}

/*
 * Eight rows of 64 trials become 64 bytes of eight bits: exchange bytes between
 * the words, then bits within each. Four words of trials go side by side.
 */
PRI_INLINE void turn_words(const struct group *group, int half, uint8_t *bytes)
{
    pri_half x[GROUP];
    for (int m = 0; m < GROUP; m++) {
        if (m < group->size)
            memcpy(&x[m], group->bits[m]->word + 4 * half, sizeof x[m]);
        else
            x[m] = (pri_half){0, 0, 0, 0};
    }
    for (int m = 0; m < 4; m++)
        SWAP(x[m], x[m + 4], 32, UINT64_C(0x00000000ffffffff));
    for (int m = 0; m < 8; m += m % 4 == 1 ? 3 : 1)
        SWAP(x[m], x[m + 2], 16, UINT64_C(0x0000ffff0000ffff));
    for (int m = 0; m < 8; m += 2)
        SWAP(x[m], x[m + 1], 8, UINT64_C(0x00ff00ff00ff00ff));
    for (int m = 0; m < GROUP; m++) {
        pri_half turned = turn_bits(x[m]);
        for (int w = 0; w < 4; w++) {
            uint64_t word = turned[w];
            memcpy(bytes + 64 * (4 * half + w) + 8 * m, &word, sizeof word);
        }
    }
}

PRI_INLINE void look_up(int groups, two (*table)[256],
                        uint8_t (*bytes)[PRI_ROUNDS], two *sums)
{
    for (int t = 0; t < PRI_ROUNDS; t++) {
        two sum = table[0][bytes[0][t]];
        for (int g = 1; g < groups; g++)
            sum += table[g][bytes[g][t]];
        sums[t] += sum;
    }
}

/* Add up to BATCH groups to the sums of all trials. */
PRI_CLONES
static void add_groups(const struct group *group, int groups, two *sums)
{
    two table[BATCH][256];
    uint8_t bytes[BATCH][PRI_ROUNDS];
    for (int g = 0; g < groups; g++) {
        fill_table(&group[g], table[g]);
        turn_words(&group[g], 0, bytes[g]);
        turn_words(&group[g], 1, bytes[g]);
    }
    if (groups == 1)
        look_up(1, table, bytes, sums);
    else if (groups == 2)
        look_up(2, table, bytes, sums);
    else if (groups == 3)
        look_up(3, table, bytes, sums);
    else
        look_up(4, table, bytes, sums);
}

/* w - 1 of each trial to where step 4 wants it; the weights start again. */
PRI_CLONES
static void take_weights(two *sums, int row, double *excess)
{
    for (int tile = 0; tile < TILES; tile++)
        for (int k = 0; k < TILE; k++) {
            int t = tile * TILE + k;
            excess[(tile * CHUNK + row) * TILE + k] = sums[t][0] - 1;
            sums[t][0] = 0;
        }
}

/* Collect the links of node i that a plan uses, in groups of equal size. */
static int gather(const struct pri_fast *fast, const struct pricer_plan *plan,
                  int32_t i, const struct bits *links)
{
    const struct pricer_network *network = fast->job->network;
    int32_t first = network->out_start[i], end = network->out_start[i + 1];
    bool self = plan->self_weight[i] != 0 || plan->self_noise[i] != 0;
    int used = self;
    for (int32_t l = first; l < end; l++)
        used += plan->weight[l] != 0 || plan->noise[l] != 0;
    if (used == 0)
        return 0;
    int groups = (used + GROUP - 1) / GROUP,
        size = (used + groups - 1) / groups;
    struct group *group = fast->groups;
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
        group->amount[group->size++] = (two){weight, noise * noise};
    }
    return (int)(group - fast->groups) + 1;
}

/* ---------------------------------------------------------------- step 4 -- */

/* One block of columns, one tile of trials, rows `first` to `rows` - 1. */
PRI_INLINE void multiply_tile(const double *factor, const double *excess,
                              int first, int rows, double *projection)
{
    four sum[PRI_COLUMNS][2];
    memcpy(sum, projection, sizeof sum);
    for (int row = first; row < rows; row++) {
        four low, high;
        memcpy(&low, excess + row * TILE, sizeof low);
        memcpy(&high, excess + row * TILE + 4, sizeof high);
        for (int c = 0; c < PRI_COLUMNS; c++) {
            double f = factor[row * PRI_COLUMNS + c];
            sum[c][0] += f * low;
            sum[c][1] += f * high;
        }
    }
    memcpy(projection, sum, sizeof sum);
}

/* Rows start .. start + rows - 1 of the factor, against all trials. */
PRI_CLONES
static void multiply_chunk(const struct pri_factor *factor, int32_t start,
                           int rows, const double *excess, double *projection)
{
    int32_t blocks = factor->blocks;
    if (factor->triangular && start + rows < blocks * PRI_COLUMNS)
        blocks = (start + rows + PRI_COLUMNS - 1) / PRI_COLUMNS;
    for (int32_t span = 0; span < blocks; span += SPAN)
        for (int tile = 0; tile < TILES; tile++)
            for (int32_t b = span; b < span + SPAN && b < blocks; b++) {
                int32_t skip = b * PRI_COLUMNS - start;
                int first = factor->triangular && skip > 0 ? skip : 0;
                multiply_tile(factor->packed +
                                  ((int64_t)b * factor->nodes + start) *
                                      PRI_COLUMNS,
                              excess + tile * CHUNK * TILE, first, rows,
                              projection + ((int64_t)b * TILES + tile) *
                                               PRI_COLUMNS * TILE);
            }
}

/* The squared errors, and the projections back to zero. */
PRI_CLONES
static void finish(double *projection, int64_t blocks, const two *sums,
                   double dimension, double nodes, double *errors)
{
    for (int tile = 0; tile < TILES; tile++) {
        double square[TILE] = {0};
        for (int64_t b = 0; b < blocks; b++) {
            double *at = projection + (b * TILES + tile) * PRI_COLUMNS * TILE;
            for (int c = 0; c < PRI_COLUMNS; c++)
                for (int k = 0; k < TILE; k++) {
                    square[k] += at[c * TILE + k] * at[c * TILE + k];
                    at[c * TILE + k] = 0;
                }
        }
        for (int k = 0; k < TILE; k++)
            errors[tile * TILE + k] =
                (square[k] + dimension * sums[tile * TILE + k][1]) /
                (nodes * nodes);
    }
}

/* ------------------------------------------------------------------- all -- */

/* Rows start .. start + rows - 1 of the factor's order, for every plan. */
static void play_chunk(struct pri_fast *fast, const struct pri_key *key,
                       int32_t start, int rows, int count,
                       struct pri_tally *tally)
{
    struct pri_job *job = fast->job;
    int64_t projection =
        (int64_t)job->factor->blocks * PRI_COLUMNS * PRI_ROUNDS;
    for (int row = 0; row < rows; row++) {
        int32_t i = job->factor->order[start + row];
        const struct bits *links = ready_links(fast, key, i, count, tally);
        for (int32_t k = 0; k < job->count; k++) {
            two *sums = fast->sums + (int64_t)k * PRI_ROUNDS;
            int groups = gather(fast, job->plans[k], i, links);
            for (int g = 0; g < groups; g += BATCH)
                add_groups(fast->groups + g,
                           groups - g < BATCH ? groups - g : BATCH, sums);
            take_weights(sums, row,
                         fast->excess + (int64_t)k * CHUNK * PRI_ROUNDS);
        }
    }
    for (int32_t k = 0; k < job->count; k++)
        multiply_chunk(job->factor, start, rows,
                       fast->excess + (int64_t)k * CHUNK * PRI_ROUNDS,
                       fast->projection + k * projection);
}

enum pricer_status pri_fast_play(struct pri_fast *fast, int64_t first,
                                 int count, struct pri_tally *tally,
                                 double *errors)
{
    struct pri_job *job = fast->job;
    int32_t nodes = job->network->nodes;
    int64_t projection =
        (int64_t)job->factor->blocks * PRI_COLUMNS * PRI_ROUNDS;
    struct pri_key key = pri_draw_key(job->seed, first / PRI_ROUNDS);
    draw_uplinks(fast, &key, count, tally);
    if (fast->stored)
        draw_links(fast, &key, count, tally);
    memset(fast->sums, 0, (size_t)job->count * PRI_ROUNDS * sizeof *fast->sums);
    for (int32_t start = 0; start < nodes; start += CHUNK) {
        int rows = nodes - start < CHUNK ? nodes - start : CHUNK;
        if (!pri_poll(job))
            return PRICER_STOPPED;
        play_chunk(fast, &key, start, rows, count, tally);
    }
    for (int32_t k = 0; k < job->count; k++)
        finish(fast->projection + k * projection, job->factor->blocks,
               fast->sums + (int64_t)k * PRI_ROUNDS,
               (double)job->network->dimension, nodes,
               errors + (int64_t)k * PRI_ROUNDS);
    return PRICER_OK;
}
