/*
 * From a network and its releases to what would lower the worst case most: its
 * derivatives with respect to every p, and what one more hop saves.
 *
 * The least error W*(p) is a minimum over coefficients c within 0 <= c_i <=
 * 1 / pi_i, and the bounds move with p. With multipliers m_i of pi_i c_i <= 1
 * the envelope theorem has c and m stay where they are:
 *
 *     n^2 dW* = d E[ f(a) ],
 *     f(a) = (sum_i R_i a_i c_i - S)^2 + sum_i a_i (c_i^2 v_i + 2 m_i c_i),
 *     2 m_i pi_i = - d(n^2 W)/d c_i where the bound holds c_i back, else 0.
 *
 * A link improves by repairing a share of its failures, whatever other links
 * do; p alone moves where it is independent of its opposite. So the derivative
 * is E[f(link up) - f(as it is) | link down], found pattern by pattern on the
 * patterns that the coefficients are fitted to: common random numbers.
 *
 * If the link i -> j is repaired in a pattern where j arrives over t - 1 relays
 * and i over more than t, then i arrives over t. What that changes further up
 * depends on (i, t) and not on j: one search a node and level serves its uplink
 * (t = 0) and all its links, 64 patterns a word.
 *
 * Of several attempts each has its own copy of every node and link: copy (i, a)
 * is node i that holds a release when attempt a begins. What arrives from (i, a)
 * arrives from (i, a - 1) too, over as many relays, since relays keep what they
 * hold; what arrives from the first copy arrives in the round. p is that of all
 * attempts, so the derivative is the sum of those of its copies.
 *
 * A node that never arrived in the sample has no coefficient; here it has 1,
 * which is one that it may have, so that the true slope is at least as steep.
 */
#include "forward.h"
#include "random/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Patterns that are enumerated, times nodes; and of a sample. */
#define EXACT_PATTERNS (INT64_C(1) << 22)
#define SLOPE_PATTERNS (INT64_C(1) << 22)
enum { SAMPLE_MAX = 1 << 15 };

/* A search that one worker makes at a time. */
struct spread {
    uint64_t *front, *next,
        *gained;                    /* [copies * words] zero between searches */
    int32_t *list, *fronts, *nexts; /* [copies] where these are not zero */
    bool *listed, *queued;          /* [copies] */
    int32_t count;                  /* of list */
    double *total, *own, *value;    /* [64 words] */
    uint64_t *start, *bits;         /* [words] */
};

struct sloping {
    const struct pricer_network *network;
    const struct pri_senders *senders;
    struct pri_slopes *slopes;
    struct pri_team *team;
    struct pri_arrivals *arrivals; /* of all patterns */
    bool exact;
    int32_t hops, parts, attempts;
    int32_t copies; /* attempts * nodes; copy (i, a) is number a nodes + i */
    double *share, *charge; /* [nodes] R c, and c^2 v + 2 m c */
    double *missing;        /* [64 words of all] S - sum R a c */
    /* The block of patterns at hand. */
    int64_t words, block;
    struct pri_states states; /* of all attempts, one after the other */
    struct pri_states drawn;  /* as they are drawn, where attempts > 1 */
    uint64_t **reached;   /* [hops + 1][copies * words] over at most t relays */
    const double *weight; /* [64 words], or NULL: all alike */
    struct spread *spread; /* [parts] */
};

/* ---------------------------------------------------------------- search -- */

static const uint64_t *reached_row(const struct sloping *work, int32_t level,
                                   int32_t copy)
{
    return work->reached[level] + copy * work->words;
}

/* The states of a link in an attempt. */
static const uint64_t *up_row(const struct sloping *work, int32_t attempt,
                              int32_t link)
{
    return work->states.up +
           ((int64_t)attempt * work->network->links + link) * work->words;
}

/* What arrives from an attempt arrives from those before it. */
static void keep_releases(const struct sloping *work, uint64_t *reached)
{
    int64_t row = work->network->nodes * work->words;
    for (int64_t k = (work->attempts - 1) * row - 1; k >= 0; k--)
        reached[k] |= reached[k + row];
}

/* Levels 0 to hops of the block. */
static void find_levels(struct sloping *work)
{
    const struct pricer_network *net = work->network;
    int64_t words = work->words, row = net->nodes * words;
    size_t size = (size_t)(work->copies * words) * 8;
    memcpy(work->reached[0], work->states.uplink, size);
    keep_releases(work, work->reached[0]);
    for (int32_t t = 1; t <= work->hops; t++) {
        memcpy(work->reached[t], work->reached[t - 1], size);
        for (int32_t a = 0; a < work->attempts; a++)
            for (int32_t l = 0; l < net->links; l++)
                for (int64_t w = 0; w < words; w++)
                    work->reached[t][a * row + net->from[l] * words + w] |=
                        up_row(work, a, l)[w] &
                        work->reached[t - 1][a * row + net->to[l] * words + w];
        keep_releases(work, work->reached[t]);
    }
}

/* Put the patterns `bits` in which a copy arrives over `level` relays, earlier
 * than it did, into `next`, and with it those of the attempts before. */
static void queue(const struct sloping *work, struct spread *at, int32_t level,
                  int32_t copy, const uint64_t *bits, int32_t *nexts)
{
    int64_t words = work->words;
    uint64_t any = 1;
    for (; copy >= 0 && any != 0; copy -= work->network->nodes) {
        const uint64_t *there = reached_row(work, level, copy);
        const uint64_t *gained = at->gained + copy * words;
        uint64_t *next = at->next + copy * words;
        any = 0;
        for (int64_t w = 0; w < words; w++) {
            uint64_t more = bits[w] & ~there[w] & ~gained[w];
            next[w] |= more;
            any |= more;
        }
        if (any != 0 && !at->queued[copy]) {
            at->queued[copy] = true;
            at->nexts[(*nexts)++] = copy;
        }
    }
}

/* Hand the bits of the front at a copy on to those who send to it. */
static void pass_on(const struct sloping *work, struct spread *at,
                    int32_t level, int32_t copy, int32_t *nexts)
{
    const struct pricer_network *net = work->network;
    int64_t words = work->words;
    int32_t attempt = copy / net->nodes, first = attempt * net->nodes;
    int32_t k = copy - first;
    const uint64_t *front = at->front + copy * words;
    for (int32_t e = net->in_start[k]; e < net->in_start[k + 1]; e++) {
        int32_t l = net->in_link[e];
        const uint64_t *up = up_row(work, attempt, l);
        for (int64_t w = 0; w < words; w++)
            at->bits[w] = up[w] & front[w];
        queue(work, at, level, first + net->from[l], at->bits, nexts);
    }
}

/* Count the front as gained. */
static void keep_front(const struct sloping *work, struct spread *at,
                       int32_t fronts)
{
    for (int32_t f = 0; f < fronts; f++) {
        int32_t k = at->fronts[f];
        for (int64_t w = 0; w < work->words; w++)
            at->gained[k * work->words + w] |= at->front[k * work->words + w];
        if (!at->listed[k]) {
            at->listed[k] = true;
            at->list[at->count++] = k;
        }
    }
}

/* Make what is queued the front, which is empty. */
static void advance(const struct sloping *work, struct spread *at,
                    int32_t fronts)
{
    uint64_t *swap = at->front;
    at->front = at->next;
    at->next = swap;
    int32_t *list = at->fronts;
    at->fronts = at->nexts;
    at->nexts = list;
    for (int32_t f = 0; f < fronts; f++)
        at->queued[at->fronts[f]] = false;
    keep_front(work, at, fronts);
}

/* Who else arrives if a copy arrives over `level` relays in the patterns
 * at->start. */
static void search(const struct sloping *work, struct spread *at, int32_t copy,
                   int32_t level)
{
    size_t row = (size_t)work->words * 8;
    int32_t fronts = 0;
    at->count = 0;
    queue(work, at, level, copy, at->start, &fronts);
    advance(work, at, fronts);
    while (fronts > 0) {
        int32_t nexts = 0;
        if (++level <= work->hops)
            for (int32_t f = 0; f < fronts; f++)
                pass_on(work, at, level, at->fronts[f], &nexts);
        for (int32_t f = 0; f < fronts; f++)
            memset(at->front + at->fronts[f] * work->words, 0, row);
        fronts = nexts;
        advance(work, at, fronts);
    }
}

/* The change of f in each pattern by what was gained; leaves nothing gained. */
static void evaluate(const struct sloping *work, struct spread *at)
{
    int64_t words = work->words;
    const double *missing = work->missing + work->block * 64 * words;
    size_t size = (size_t)(64 * words) * sizeof(double);
    memset(at->total, 0, size);
    memset(at->own, 0, size);
    for (int32_t k = 0; k < at->count; k++) {
        int32_t node = at->list[k];
        const uint64_t *there = reached_row(work, work->hops, node);
        bool counts = node < work->network->nodes; /* the first attempt's */
        for (int64_t w = 0; counts && w < words; w++) {
            uint64_t bits = at->gained[node * words + w] & ~there[w];
            for (; bits != 0; bits &= bits - 1) {
                int64_t at_bit = 64 * w + __builtin_ctzll(bits);
                at->total[at_bit] += work->share[node];
                at->own[at_bit] += work->charge[node];
            }
        }
        memset(at->gained + node * words, 0, (size_t)words * 8);
        at->listed[node] = false;
    }
    for (int64_t k = 0; k < 64 * words; k++)
        at->value[k] =
            at->total[k] * (at->total[k] - 2 * missing[k]) + at->own[k];
}

/* Add the changes in the patterns of a mask, a word of it at a time. */
static void add_word(const struct sloping *work, const struct spread *at,
                     int64_t w, uint64_t bits, double sums[2])
{
    for (; bits != 0; bits &= bits - 1) {
        int64_t k = 64 * w + __builtin_ctzll(bits);
        double value = at->value[k];
        sums[0] += (work->weight != NULL ? work->weight[k] : 1) * value;
        sums[1] += value * value;
    }
}

/* Patterns in which link l of node i is down in an attempt and would let i arrive
 * over `level` relays, earlier than it does. */
static uint64_t opens(const struct sloping *work, int32_t attempt, int32_t l,
                      int32_t level, int64_t w)
{
    const struct pricer_network *net = work->network;
    int32_t first = attempt * net->nodes, j = first + net->to[l];
    uint64_t there = reached_row(work, level - 1, j)[w];
    if (level >= 2)
        there &= ~reached_row(work, level - 2, j)[w];
    return there & ~up_row(work, attempt, l)[w] &
           ~reached_row(work, level, first + net->from[l])[w];
}

/* The uplink and the links of a node in one attempt. */
static void do_copy(const struct sloping *work, struct spread *at, int32_t i,
                    int32_t attempt)
{
    const struct pricer_network *net = work->network;
    struct pri_slopes *slopes = work->slopes;
    int32_t copy = attempt * net->nodes + i;
    for (int64_t w = 0; w < work->words; w++)
        at->start[w] = ~reached_row(work, 0, copy)[w];
    search(work, at, copy, 0);
    evaluate(work, at);
    for (int64_t w = 0; w < work->words; w++)
        add_word(work, at, w, at->start[w], slopes->uplink[i]);
    for (int32_t level = 1; level <= work->hops; level++) {
        uint64_t any = 0;
        memset(at->start, 0, (size_t)work->words * 8);
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
            for (int64_t w = 0; w < work->words; w++)
                any |= at->start[w] |= opens(work, attempt, l, level, w);
        if (any == 0)
            continue;
        search(work, at, copy, level);
        evaluate(work, at);
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
            for (int64_t w = 0; w < work->words; w++)
                add_word(work, at, w, opens(work, attempt, l, level, w),
                         slopes->link[l]);
    }
}

static void do_part(void *context, int32_t part)
{
    struct sloping *work = context;
    int64_t nodes = work->network->nodes;
    int64_t end = pri_share_start(nodes, part + 1, work->parts);
    for (int64_t i = pri_share_start(nodes, part, work->parts); i < end; i++)
        for (int32_t a = 0; a < work->attempts; a++)
            do_copy(work, &work->spread[part], (int32_t)i, a);
}

/* ---------------------------------------------------------------- memory -- */

static bool make_spread(const struct sloping *work, struct spread *at)
{
    int64_t copies = work->copies, words = work->words;
    at->front = pri_alloc(copies * words, 8);
    at->next = pri_alloc(copies * words, 8);
    at->gained = pri_alloc(copies * words, 8);
    at->list = pri_alloc(copies, sizeof(int32_t));
    at->fronts = pri_alloc(copies, sizeof(int32_t));
    at->nexts = pri_alloc(copies, sizeof(int32_t));
    at->listed = pri_alloc(copies, sizeof(bool));
    at->queued = pri_alloc(copies, sizeof(bool));
    at->total = pri_alloc(3 * 64 * words, sizeof(double));
    at->start = pri_alloc(2 * words, 8);
    if (!at->front || !at->next || !at->gained || !at->list || !at->fronts ||
        !at->nexts || !at->listed || !at->queued || !at->total || !at->start)
        return false;
    at->bits = at->start + words;
    at->own = at->total + 64 * words;
    at->value = at->own + 64 * words;
    return true;
}

static void free_spread(struct spread *at)
{
    free(at->front);
    free(at->next);
    free(at->gained);
    free(at->list);
    free(at->fronts);
    free(at->nexts);
    free(at->listed);
    free(at->queued);
    free(at->total);
    free(at->start);
}

static enum pricer_status make_room(struct sloping *work)
{
    int64_t copies = work->copies, words = work->words;
    int64_t links = work->network->links;
    bool several = work->attempts > 1;
    work->states.up = pri_alloc(work->attempts * links * words, 8);
    work->states.uplink = pri_alloc(copies * words, 8);
    work->drawn.up = several ? pri_alloc(links * words, 8) : NULL;
    work->drawn.uplink =
        several ? pri_alloc(work->network->nodes * words, 8) : NULL;
    work->reached = pri_alloc(work->hops + 1, sizeof *work->reached);
    work->spread = pri_alloc(work->parts, sizeof *work->spread);
    bool good = work->states.up && work->states.uplink && work->reached &&
                work->spread &&
                (!several || (work->drawn.up && work->drawn.uplink));
    for (int32_t t = 0; good && t <= work->hops; t++)
        good = (work->reached[t] = pri_alloc(copies * words, 8)) != NULL;
    for (int32_t part = 0; good && part < work->parts; part++)
        good = make_spread(work, &work->spread[part]);
    return good ? PRICER_OK : PRICER_MEMORY;
}

static void free_room(struct sloping *work)
{
    free(work->states.up);
    free(work->states.uplink);
    free(work->drawn.up);
    free(work->drawn.uplink);
    for (int32_t t = 0; work->reached != NULL && t <= work->hops; t++)
        free(work->reached[t]);
    free(work->reached);
    for (int32_t k = 0; work->spread != NULL && k < work->parts; k++)
        free_spread(&work->spread[k]);
    free(work->spread);
    free(work->share);
    free(work->charge);
    free(work->missing);
    pri_arrivals_free(work->arrivals);
}

/* ---------------------------------------------------------- coefficients -- */

/* Patterns of the search for one more hop, so that both can be fitted. */
static enum pricer_status sample(struct sloping *work,
                                 const struct pri_forward_settings *ask)
{
    const struct pricer_network *net = work->network;
    int32_t hops = work->hops < PRI_HOPS_MAX ? work->hops + 1 : work->hops;
    work->exact = work->attempts == 1 &&
                  pri_arrivals_count(net, 1, EXACT_PATTERNS / net->nodes) > 0;
    if (work->exact)
        return pri_arrivals_enumerate(net, hops, 1, &work->arrivals);
    int64_t count = SLOPE_PATTERNS / work->copies;
    count = count > SAMPLE_MAX ? SAMPLE_MAX : count < 512 ? 512 : count;
    return pri_arrivals_draw(
        net,
        &(struct pri_arrivals_settings){.seed = ask->seed,
                                        .first = PRI_PLANNING_GROUP,
                                        .patterns = count / 512 * 512,
                                        .hops = hops,
                                        .attempts = work->attempts,
                                        .threads = ask->threads},
        &work->arrivals);
}

/* Shares, charges and what is missing in each pattern, from coefficients. */
static void take_coefficients(struct sloping *work, struct pri_moments *of,
                              const double *c, double *product)
{
    const struct pri_senders *from = work->senders;
    double wanted = 0;
    for (int32_t i = 0; i < of->nodes; i++) {
        work->share[i] = from->radius[i] * c[i];
        wanted += from->radius[i];
    }
    pri_moments_product(of, work->share, product);
    pri_moments_sums(of, work->share, work->missing);
    for (int64_t k = 0; k < 64 * of->words; k++)
        work->missing[k] = wanted - work->missing[k];
    for (int32_t i = 0; i < of->nodes; i++) {
        double pi = of->pi[i], r = from->radius[i], v = from->variance[i];
        double count = pi > 0 ? c[i] : 1;
        double half = r * (product[i] - wanted * pi) + pi * c[i] * v;
        double back = pi * c[i] > 1 - 1e-9 && half < 0 ? -half / pi : 0;
        work->share[i] = r * count;
        work->charge[i] = count * (count * v + 2 * back);
    }
}

static enum pricer_status fit_at(struct sloping *work, int32_t hops,
                                 uint64_t *bits, double *mse)
{
    int64_t n = work->network->nodes;
    struct pri_moments *of = NULL;
    double *c = pri_alloc(2 * n, sizeof *c), gap;
    if (c == NULL)
        return PRICER_MEMORY;
    enum pricer_status status =
        pri_moments_make(work->arrivals, hops, bits, work->team, &of);
    if (status == PRICER_OK)
        status = pri_forward_fit(of, work->senders, 0, c, mse, &gap);
    if (status == PRICER_OK) {
        *mse /= (double)n * (double)n;
        take_coefficients(work, of, c, c + n);
        for (int64_t i = 0; i < n && hops == work->hops; i++)
            work->slopes->noise[i] =
                of->pi[i] * c[i] * c[i] / ((double)n * (double)n);
    }
    pri_moments_free(of);
    free(c);
    return status;
}

/* One hop more first: what stays is that of the hops asked about. */
static enum pricer_status fit_both(struct sloping *work)
{
    int64_t words = work->arrivals->words, n = work->network->nodes;
    uint64_t *bits = pri_alloc(n * words, 8);
    double more = 0;
    work->share = pri_alloc(n, sizeof(double));
    work->charge = pri_alloc(n, sizeof(double));
    work->missing = pri_alloc(64 * words, sizeof(double));
    enum pricer_status status =
        bits && work->share && work->charge && work->missing ? PRICER_OK
                                                             : PRICER_MEMORY;
    if (status == PRICER_OK)
        status = fit_at(work,
                        work->hops < PRI_HOPS_MAX ? work->hops + 1 : work->hops,
                        bits, &more);
    if (status == PRICER_OK)
        status = fit_at(work, work->hops, bits, &work->slopes->mse);
    if (status == PRICER_OK)
        work->slopes->hop = more - work->slopes->mse;
    free(bits);
    return status;
}

/* ---------------------------------------------------------------- slopes -- */

/* Rows of 512 draws from number `first` on: number n is the attempt n % attempts
 * of the pattern n / attempts. */
static void sort_attempts(const struct sloping *work, const uint64_t *drawn,
                          int32_t rows, int64_t first, uint64_t *out)
{
    int64_t words = work->words, k = work->attempts;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t w = 0; w < words; w++)
            for (uint64_t bits = drawn[r * words + w]; bits; bits &= bits - 1) {
                int64_t n = first + 64 * w + __builtin_ctzll(bits);
                int64_t row = n % k * rows + r;
                out[row * words + n / k / 64] |= UINT64_C(1) << (n / k % 64);
            }
}

/* The states of a block of patterns, as pri_arrivals_draw() draws them. */
static void draw_states(struct sloping *work, uint64_t seed)
{
    const struct pricer_network *net = work->network;
    int64_t group = PRI_PLANNING_GROUP + work->block, k = work->attempts;
    size_t size = (size_t)work->words * 8;
    if (k == 1) {
        pri_states_draw(net, seed, group, work->team, &work->states);
        return;
    }
    memset(work->states.up, 0, (size_t)(k * net->links) * size);
    memset(work->states.uplink, 0, (size_t)work->copies * size);
    for (int64_t part = 0; part < k; part++) {
        int64_t first = part * 64 * work->words;
        pri_states_draw(net, seed, group * k + part, work->team, &work->drawn);
        sort_attempts(work, work->drawn.up, net->links, first, work->states.up);
        sort_attempts(work, work->drawn.uplink, net->nodes, first,
                      work->states.uplink);
    }
}

static enum pricer_status do_blocks(struct sloping *work,
                                    const struct pri_forward_settings *ask)
{
    int64_t blocks = work->arrivals->words / work->words;
    for (work->block = 0; work->block < blocks; work->block++) {
        double weight[64];
        if (work->exact) {
            pri_states_enumerate(work->network, work->block, &work->states,
                                 weight);
            work->weight = weight;
        } else {
            draw_states(work, ask->seed);
        }
        find_levels(work);
        pri_team_run(work->team, work->parts, do_part, work);
        work->weight = NULL;
        if (!pri_tick(ask->watch, (double)(work->block + 1) / (double)blocks))
            return PRICER_STOPPED;
    }
    return PRICER_OK;
}

/* From sums to a derivative with respect to p and its standard error, at most: the
 * square of a sum over attempts is at most attempts times the sum of squares. */
static void finish(const struct sloping *work, double p, double sums[2])
{
    double n = work->network->nodes, count = (double)work->arrivals->patterns;
    double scale = p < 1 ? 1 / ((1 - p) * n * n) : 0;
    double mean = work->exact ? sums[0] : sums[0] / count;
    double square = work->attempts * sums[1] / count;
    double variance = fmax(square - mean * mean, 0);
    sums[0] = scale * mean;
    sums[1] = work->exact ? 0 : scale * sqrt(variance / (count - 1));
}

void pri_slopes_free(struct pri_slopes *slopes)
{
    if (slopes == NULL)
        return;
    free(slopes->uplink);
    free(slopes->link);
    free(slopes->noise);
    free(slopes);
}

enum pricer_status pri_forward_slopes(
    const struct pricer_network *network, const struct pri_senders *senders,
    const struct pri_forward_settings *settings, struct pri_slopes **slopes)
{
    struct pri_slopes *made = pri_alloc(1, sizeof *made);
    struct sloping work = {.network = network,
                           .senders = senders,
                           .slopes = made,
                           .hops = settings->hops,
                           .attempts =
                               settings->attempts > 1 ? settings->attempts : 1};
    work.copies = work.attempts * network->nodes;
    if (made == NULL)
        return PRICER_MEMORY;
    made->uplink = pri_alloc(network->nodes, sizeof *made->uplink);
    made->link = pri_alloc(network->links, sizeof *made->link);
    made->noise = pri_alloc(network->nodes, sizeof *made->noise);
    enum pricer_status status =
        made->uplink && made->link && made->noise ? PRICER_OK : PRICER_MEMORY;
    work.team = pri_team_new(pri_threads(
        settings->threads, (int64_t)network->links + network->nodes));
    work.parts = pri_team_threads(work.team);
    if (status == PRICER_OK)
        status = sample(&work, settings);
    if (status == PRICER_OK)
        status = fit_both(&work);
    work.words = work.exact ? 1 : PRI_LANES;
    if (status == PRICER_OK)
        status = make_room(&work);
    if (status == PRICER_OK)
        status = do_blocks(&work, settings);
    if (status == PRICER_OK) {
        for (int32_t i = 0; i < network->nodes; i++)
            finish(&work, network->uplink[i], made->uplink[i]);
        for (int32_t l = 0; l < network->links; l++)
            finish(&work, network->p[l], made->link[l]);
        made->patterns = work.exact ? 0 : work.arrivals->patterns;
        *slopes = made;
    } else {
        pri_slopes_free(made);
    }
    free_room(&work);
    pri_team_free(work.team);
    return status;
}
