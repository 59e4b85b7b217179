/*
 * From a network to arrival patterns: which nodes' releases reach the server.
 *
 * The release of node i arrives over at most h relays if i reaches, over at most
 * h links that are up, a node whose uplink is up. That is a breadth-first search
 * from the server, made for 64 rounds at a time: with A_i the rounds in which i
 * has arrived so far and L_l the rounds in which link l is up, a level is
 *
 *     A_i  <-  A_i | OR over the links l = (i -> j) of (L_l & A_j).
 */
#include "forward.h"
#include "network/network.h"
#include "round/round.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of link states that are held at once: a network of 3*10^7 links keeps
 * 256 rounds of them. */
#define HELD_BYTES (INT64_C(1) << 30)

/* A group of up to 512 rounds that is being searched. */
struct search {
    const struct pricer_network *network;
    struct pri_arrivals *arrivals;
    struct pri_team *team;
    struct pri_threefry_key key;
    int lane, lanes; /* the words of the group that are kept */
    int64_t word;    /* where the first of them goes */
    int32_t hops;
    uint64_t *up;   /* [links * lanes] */
    uint64_t *now;  /* [nodes * lanes] */
    uint64_t *next; /* [nodes * lanes] */
    int32_t level;
};

/* ----------------------------------------------------------------- links -- */

/* Draw a pair of links, or an uplink, and keep the words that are searched;
 * `back` may be NULL. */
static void draw(const struct search *search, const struct pri_pair *pair,
                 int32_t low, int32_t high, uint64_t *out, uint64_t *back)
{
    uint64_t words[2][PRI_LANES];
    size_t size = (size_t)search->lanes * sizeof *out;
    if (search->lanes == PRI_LANES) {
        pri_draw_pair(pair, &search->key, low, high, out, back);
        return;
    }
    pri_draw_pair(pair, &search->key, low, high, words[0], words[1]);
    memcpy(out, words[0] + search->lane, size);
    if (back != NULL)
        memcpy(back, words[1] + search->lane, size);
}

/* Draw the links of a node; those to a higher node together with the opposite
 * link. */
static void draw_node(const struct search *search, int32_t i)
{
    const struct pricer_network *net = search->network;
    struct pri_pair pair = pri_pair_make(net->uplink[i], 0, 0);
    size_t lanes = (size_t)search->lanes;
    uint64_t unused[PRI_LANES];
    draw(search, &pair, i, PRICER_SERVER, search->now + (size_t)i * lanes,
         NULL);
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
        int32_t j = net->to[l], other = net->partner[l];
        uint64_t *up = search->up + (size_t)l * lanes;
        if (j > i) {
            pair = pri_pair_make(net->p[l], other < 0 ? 0 : net->p[other],
                                 other < 0 ? 0 : net->joint[l]);
            draw(search, &pair, i, j, up,
                 other < 0 ? NULL : search->up + (size_t)other * lanes);
        } else if (other < 0) {
            pair = pri_pair_make(0, net->p[l], 0);
            draw(search, &pair, j, i, unused, up);
        }
    }
}

static void draw_nodes(void *context, int64_t low, int64_t high)
{
    for (int64_t i = low; i < high; i++)
        draw_node(context, (int32_t)i);
}

void pri_states_draw(const struct pricer_network *network, uint64_t seed,
                     int64_t group, struct pri_team *team,
                     struct pri_states *states)
{
    struct search search = {.network = network,
                            .key = pri_draw_key(seed, group),
                            .lanes = PRI_LANES,
                            .up = states->up,
                            .now = states->uplink};
    pri_team_share(team, network->nodes, draw_nodes, &search);
}

/* ---------------------------------------------------------------- search -- */

/* Write the level into the planes, if there are any, where a node has just
 * arrived. */
static void note_level(const struct search *search, int32_t i, int k,
                       uint64_t arrived)
{
    struct pri_arrivals *found = search->arrivals;
    if (found == NULL)
        return;
    size_t at = (size_t)(i * found->words + search->word + k);
    for (int b = 0; b < PRI_LEVEL_BITS; b++)
        if ((search->level >> b & 1) == 0)
            found->plane[b][at] &= ~arrived;
}

PRI_INLINE void advance_lanes(struct search *search, int lanes, int64_t low,
                              int64_t high)
{
    const struct pricer_network *net = search->network;
    for (int64_t i = low; i < high; i++) {
        const uint64_t *old = search->now + i * lanes;
        uint64_t word[PRI_LANES];
        for (int k = 0; k < lanes; k++)
            word[k] = old[k];
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
            const uint64_t *up = search->up + (size_t)l * (size_t)lanes;
            const uint64_t *there =
                search->now + (size_t)net->to[l] * (size_t)lanes;
            for (int k = 0; k < lanes; k++)
                word[k] |= up[k] & there[k];
        }
        for (int k = 0; k < lanes; k++) {
            search->next[i * lanes + k] = word[k];
            if (search->arrivals != NULL && word[k] != old[k])
                note_level(search, (int32_t)i, k, word[k] & ~old[k]);
        }
    }
}

/* The usual number of lanes is a constant, so that the compiler unrolls it. */
PRI_CLONES
static void advance_rows(struct search *search, int64_t low, int64_t high)
{
    if (search->lanes == PRI_LANES)
        advance_lanes(search, PRI_LANES, low, high);
    else
        advance_lanes(search, search->lanes, low, high);
}

/* The clones stay inside this file: the compiler would export them. */
static void advance(void *context, int64_t low, int64_t high)
{
    advance_rows(context, low, high);
}

/* Levels 0 (the uplinks, which `now` holds) to hops. */
static void search_levels(struct search *search)
{
    int32_t nodes = search->network->nodes;
    size_t size = (size_t)nodes * (size_t)search->lanes * sizeof(uint64_t);
    search->level = 0;
    for (int32_t i = 0; i < nodes; i++)
        for (int k = 0; k < search->lanes; k++)
            note_level(search, i, k,
                       search->now[(int64_t)i * search->lanes + k]);
    bool more = true;
    for (search->level = 1; search->level <= search->hops && more;
         search->level++) {
        pri_team_share(search->team, nodes, advance, search);
        more = memcmp(search->now, search->next, size) != 0;
        uint64_t *swap = search->now;
        search->now = search->next;
        search->next = swap;
    }
}

void pri_states_arrive(const struct pricer_network *network, int32_t hops,
                       int words, const struct pri_states *states,
                       uint64_t *arrived, uint64_t *spare)
{
    size_t count = (size_t)network->nodes * (size_t)words;
    struct search search = {.network = network,
                            .lanes = words,
                            .hops = hops,
                            .up = states->up,
                            .now = arrived,
                            .next = spare};
    for (size_t k = 0; k < count; k++)
        arrived[k] |= states->uplink[k];
    search_levels(&search);
    if (search.now != arrived)
        memcpy(arrived, search.now, count * sizeof *arrived);
}

static enum pricer_status make_room(struct search *search)
{
    const struct pricer_network *net = search->network;
    search->up = pri_alloc((int64_t)net->links * search->lanes, 8);
    search->now = pri_alloc((int64_t)net->nodes * search->lanes, 8);
    search->next = pri_alloc((int64_t)net->nodes * search->lanes, 8);
    return search->up && search->now && search->next ? PRICER_OK
                                                     : PRICER_MEMORY;
}

static void free_room(struct search *search)
{
    free(search->up);
    free(search->now);
    free(search->next);
}

/* -------------------------------------------------------------- patterns -- */

enum pricer_status pri_arrivals_new(int32_t nodes, int64_t patterns,
                                    struct pri_arrivals **arrivals)
{
    struct pri_arrivals *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->nodes = nodes;
    made->patterns = patterns;
    made->words = (patterns + 63) / 64;
    for (int b = 0; b < PRI_LEVEL_BITS; b++) {
        made->plane[b] = pri_alloc(nodes * made->words, 8);
        if (made->plane[b] == NULL) {
            pri_arrivals_free(made);
            return PRICER_MEMORY;
        }
        memset(made->plane[b], 0xff, (size_t)(nodes * made->words) * 8);
    }
    *arrivals = made;
    return PRICER_OK;
}

void pri_arrivals_free(struct pri_arrivals *arrivals)
{
    if (arrivals == NULL)
        return;
    for (int b = 0; b < PRI_LEVEL_BITS; b++)
        free(arrivals->plane[b]);
    free(arrivals->weight);
    free(arrivals);
}

/* level <= hops, from the highest bit down: `less` is decided, `equal` open. */
void pri_arrivals_within(const struct pri_arrivals *arrivals, int32_t hops,
                         uint64_t *bits)
{
    int64_t count = arrivals->nodes * arrivals->words;
    for (int64_t w = 0; w < count; w++) {
        uint64_t less = 0, equal = ~UINT64_C(0);
        for (int b = PRI_LEVEL_BITS - 1; b >= 0; b--) {
            uint64_t bit = arrivals->plane[b][w];
            uint64_t wanted = -(uint64_t)(hops >> b & 1);
            less |= equal & ~bit & wanted;
            equal &= ~(bit ^ wanted);
        }
        bits[w] = less | equal;
    }
}

/* --------------------------------------------------------------- drawing -- */

/* All groups of a drawing, or a range of them. */
struct drawing {
    const struct pricer_network *network;
    const struct pri_arrivals_settings *settings;
    struct pri_arrivals *arrivals;
    struct pri_team *inner; /* shares a chunk; NULL: chunks are shared */
    int lanes;              /* kept at once */
    int64_t offset;         /* chunks that are done */
    bool failed;
};

static void draw_some(struct drawing *work, int64_t low, int64_t high)
{
    const struct pri_arrivals_settings *ask = work->settings;
    struct search search = {.network = work->network,
                            .arrivals = work->arrivals,
                            .team = work->inner,
                            .lanes = work->lanes,
                            .hops = ask->hops};
    if (make_room(&search) != PRICER_OK)
        __atomic_store_n(&work->failed, true, __ATOMIC_RELAXED);
    else
        for (int64_t word = low * work->lanes; word < high * work->lanes;
             word += work->lanes) {
            if (word >= work->arrivals->words)
                break;
            int64_t left = work->arrivals->words - word;
            search.lanes = left < work->lanes ? (int)left : work->lanes;
            search.lane = (int)(word % PRI_LANES);
            search.word = word;
            search.key = pri_draw_key(ask->seed, ask->first + word / PRI_LANES);
            pri_team_share(search.team, work->network->nodes, draw_nodes,
                           &search);
            search_levels(&search);
        }
    free_room(&search);
}

static void draw_chunks(void *context, int64_t low, int64_t high)
{
    struct drawing *work = context;
    draw_some(work, work->offset + low, work->offset + high);
}

/* Words of a group that are kept at once: 8, 4, 2 or 1. */
static int lanes_that_fit(int64_t links)
{
    int lanes = PRI_LANES;
    while (lanes > 1 && links * lanes * 8 > HELD_BYTES)
        lanes /= 2;
    return lanes;
}

/* Small networks share out chunks of rounds, large ones the nodes of a chunk. */
static enum pricer_status draw_all(struct drawing *work)
{
    enum { LARGE = 32768, TURNS = 16 };
    const struct pri_arrivals_settings *ask = work->settings;
    int64_t size = (int64_t)work->network->links + work->network->nodes;
    int64_t chunks = (work->arrivals->words + work->lanes - 1) / work->lanes;
    struct pri_team *team =
        pri_team_new(pri_threads(ask->threads, size * chunks));
    bool large = size >= LARGE, stopped = false;
    int64_t turn = large ? 1 : (chunks + TURNS - 1) / TURNS;
    work->inner = large ? team : NULL;
    for (int64_t end; work->offset < chunks && !work->failed && !stopped;
         work->offset = end) {
        end = work->offset + turn < chunks ? work->offset + turn : chunks;
        pri_team_share(large ? NULL : team, end - work->offset, draw_chunks,
                       work);
        stopped = !pri_tick(ask->watch, (double)end / (double)chunks);
    }
    pri_team_free(team);
    return work->failed ? PRICER_MEMORY : stopped ? PRICER_STOPPED : PRICER_OK;
}

enum pricer_status pri_arrivals_draw(
    const struct pricer_network *network,
    const struct pri_arrivals_settings *settings,
    struct pri_arrivals **arrivals)
{
    struct drawing work = {.network = network,
                           .settings = settings,
                           .lanes = lanes_that_fit(network->links)};
    enum pricer_status status =
        pri_arrivals_new(network->nodes, settings->patterns, &work.arrivals);
    if (status == PRICER_OK)
        status = draw_all(&work);
    if (status == PRICER_OK)
        *arrivals = work.arrivals;
    else
        pri_arrivals_free(work.arrivals);
    return status;
}

/* ----------------------------------------------------------- enumeration -- */

/* What is drawn as one: an uplink, a link, or a link and its opposite. */
struct element {
    int32_t node, link, back; /* -1: not this */
    int states;
    double chance[4];
    bool ahead[4], behind[4];
};

static void add_state(struct element *element, double chance, bool ahead,
                      bool behind)
{
    if (chance <= 0)
        return;
    int k = element->states++;
    element->chance[k] = chance;
    element->ahead[k] = ahead;
    element->behind[k] = behind;
}

static struct element single(int32_t node, int32_t link, double p)
{
    struct element made = {.node = node, .link = link, .back = -1};
    add_state(&made, p, true, false);
    add_state(&made, 1 - p, false, false);
    return made;
}

static struct element couple(const struct pricer_network *net, int32_t link)
{
    int32_t back = net->partner[link];
    double p = net->p[link], q = net->p[back], both = net->joint[link];
    struct element made = {.node = -1, .link = link, .back = back};
    add_state(&made, both, true, true);
    add_state(&made, p - both, true, false);
    add_state(&made, q - both, false, true);
    add_state(&made, 1 - p - q + both, false, false);
    return made;
}

/* Element after element; false behind the last. *next is 0 at first. */
static bool next_element(const struct pricer_network *net, int64_t *next,
                         struct element *element)
{
    for (; *next < (int64_t)net->nodes + net->links; ++*next) {
        int32_t link = (int32_t)(*next - net->nodes);
        if (link < 0)
            *element = single((int32_t)*next, -1, net->uplink[*next]);
        else if (net->partner[link] < 0)
            *element = single(-1, link, net->p[link]);
        else if (net->from[link] < net->to[link])
            *element = couple(net, link);
        else
            continue;
        ++*next;
        return true;
    }
    return false;
}

int64_t pri_arrivals_count(const struct pricer_network *network, int64_t limit)
{
    int64_t count = 1, next = 0;
    struct element element;
    while (next_element(network, &next, &element)) {
        count *= element.states;
        if (count > limit)
            return -1;
    }
    return count;
}

/* Pattern k has the digits of k, with as many values as the elements have
 * states: set the bits of 64 patterns, and their probabilities. */
void pri_states_enumerate(const struct pricer_network *net, int64_t word,
                          struct pri_states *states, double *weight)
{
    int64_t count = pri_arrivals_count(net, INT32_MAX);
    int64_t next = 0, divisor = 1, first = 64 * word;
    struct element element;
    memset(states->up, 0, (size_t)net->links * 8);
    memset(states->uplink, 0, (size_t)net->nodes * 8);
    for (int k = 0; k < 64; k++)
        weight[k] = first + k < count;
    while (next_element(net, &next, &element)) {
        uint64_t ahead = 0, behind = 0;
        for (int k = 0; k < 64 && first + k < count; k++) {
            int state = (int)((first + k) / divisor % element.states);
            weight[k] *= element.chance[state];
            ahead |= (uint64_t)element.ahead[state] << k;
            behind |= (uint64_t)element.behind[state] << k;
        }
        if (element.node >= 0)
            states->uplink[element.node] = ahead;
        else
            states->up[element.link] = ahead;
        if (element.back >= 0)
            states->up[element.back] = behind;
        divisor *= element.states;
    }
}

enum pricer_status pri_arrivals_enumerate(const struct pricer_network *network,
                                          int32_t hops,
                                          struct pri_arrivals **arrivals)
{
    struct pri_arrivals *made = NULL;
    int64_t count = pri_arrivals_count(network, INT32_MAX);
    if (count < 0)
        return PRICER_VALUE;
    enum pricer_status status = pri_arrivals_new(network->nodes, count, &made);
    if (status != PRICER_OK)
        return status;
    struct search search = {
        .network = network, .arrivals = made, .lanes = 1, .hops = hops};
    made->weight = pri_alloc(64 * made->words, sizeof(double));
    status = made->weight == NULL ? PRICER_MEMORY : make_room(&search);
    for (; search.word < made->words && status == PRICER_OK; search.word++) {
        pri_states_enumerate(network, search.word,
                             &(struct pri_states){search.up, search.now},
                             made->weight + 64 * search.word);
        search_levels(&search);
    }
    free_room(&search);
    if (status == PRICER_OK)
        *arrivals = made;
    else
        pri_arrivals_free(made);
    return status;
}

/* -------------------------------------------------------------- distance -- */

enum pricer_status pri_forward_distance(const struct pricer_network *network,
                                        int32_t *distance)
{
    int32_t *queue = pri_alloc(network->nodes, sizeof *queue);
    int32_t head = 0, tail = 0;
    if (queue == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < network->nodes; i++) {
        distance[i] = network->uplink[i] > 0 ? 0 : -1;
        if (distance[i] == 0)
            queue[tail++] = i;
    }
    while (head < tail) {
        int32_t j = queue[head++];
        for (int32_t k = network->in_start[j]; k < network->in_start[j + 1];
             k++) {
            int32_t i = network->from[network->in_link[k]];
            if (distance[i] < 0) {
                distance[i] = distance[j] + 1;
                queue[tail++] = i;
            }
        }
    }
    free(queue);
    return PRICER_OK;
}
