/*
 * From a network to arrival patterns: which nodes' releases reach the server.
 *
 * The release of node i arrives over at most h relays if i reaches, over at most
 * h links that are up, a node whose uplink is up. That is a breadth-first search
 * from the server, made for 64 rounds at a time: with A_i the rounds in which i
 * has arrived so far and L_l the rounds in which link l is up, a level is
 *
 *     A_i  <-  A_i | OR over the links l = (i -> j) of (L_l & A_j).
 *
 * In a round of several attempts links are drawn for each, and relays keep what
 * they hold: a release takes each link in the same attempt as the one before or in
 * a later one, at most h of them in all, and then an uplink. With A_i(t) the rounds
 * in which what node i holds when attempt t begins arrives over at most h links,
 *
 *     A_i(t)  <-  A_i(t) | A_i(t + 1) | OR over l of (L_l(t) & A_j(t)).
 *
 * Attempt t of round r has the links of round r attempts + t of pricer_round_up().
 */
#include "forward.h"
#include "network/network.h"
#include "round/round.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of link states that are held at once: a network of 3*10^7 links keeps
 * 256 rounds of them. */
#define HELD_BYTES (INT64_C(1) << 30)

/* Move the bits of a mask to the front, in six steps. */
struct squeeze {
    uint64_t mask, move[6];
};

/* A group of up to 512 rounds that is being searched. */
struct search {
    const struct pricer_network *network;
    struct pri_arrivals *arrivals; /* NULL: levels are not kept */
    struct pri_team *team;
    uint64_t seed;
    int64_t group;
    int lane, lanes; /* the words of the group that are kept */
    int64_t word;    /* where the first of them goes */
    int32_t hops, attempts;
    struct squeeze squeeze[PRI_ATTEMPTS_MAX]; /* every attempts-th bit */
    uint64_t *up;                             /* [attempts][links * lanes] */
    uint64_t *now, *next;                     /* [attempts][nodes * lanes] */
    int32_t level, attempt;
};

/* -------------------------------------------------------------- attempts -- */

/* Every `step`-th bit from `first` on. */
static struct squeeze squeeze_make(int first, int step)
{
    struct squeeze made = {0};
    for (int bit = first; bit < 64; bit += step)
        made.mask |= UINT64_C(1) << bit;
    uint64_t mask = made.mask, gaps = ~mask << 1;
    for (int k = 0; k < 6; k++) {
        uint64_t odd = gaps; /* bits with an odd number of gaps below */
        for (int shift = 1; shift < 64; shift *= 2)
            odd ^= odd << shift;
        made.move[k] = odd & mask;
        mask = (mask ^ made.move[k]) | made.move[k] >> (1 << k);
        gaps &= ~odd;
    }
    return made;
}

PRI_INLINE uint64_t squeeze_bits(const struct squeeze *squeeze, uint64_t bits)
{
    bits &= squeeze->mask;
    for (int k = 0; k < 6; k++) {
        uint64_t moved = bits & squeeze->move[k];
        bits = (bits ^ moved) | moved >> (1 << k);
    }
    return bits;
}

/* From attempts * lanes words of rounds to the words of one attempt: bit
 * attempts k + attempt becomes bit k. */
static void deal(const struct search *search, const uint64_t *words,
                 int32_t attempt, uint64_t *out)
{
    int32_t step = search->attempts;
    int at = 0;
    memset(out, 0, (size_t)search->lanes * sizeof *out);
    for (int w = 0; w < step * search->lanes; w++) {
        int first = (attempt + step - 64 * w % step) % step;
        if (first >= 64)
            continue;
        uint64_t bits = squeeze_bits(&search->squeeze[first], words[w]);
        int count = (64 - first + step - 1) / step;
        out[at / 64] |= bits << at % 64;
        if (at % 64 + count > 64)
            out[at / 64 + 1] |= bits >> (64 - at % 64);
        at += count;
    }
}

/* ----------------------------------------------------------------- links -- */

/* Draw a pair of links, or an uplink, and keep the words that are searched: of
 * attempt t from forward + t * stride on. */
static void draw(const struct search *search, const struct pri_draw *pair,
                 size_t stride)
{
    enum { MOST = (PRI_ATTEMPTS_MAX + 2) * PRI_LANES };
    int32_t attempts = search->attempts;
    int64_t first = (search->group * PRI_LANES + search->lane) * attempts;
    int64_t group = first / PRI_LANES, skip = first % PRI_LANES;
    int64_t end = skip + (int64_t)attempts * search->lanes;
    struct pri_threefry_key key = pri_draw_key(search->seed, group);
    if (attempts == 1 && search->lanes == PRI_LANES) {
        pri_draw_pairs(pair, 1, &key);
        return;
    }
    uint64_t words[2][MOST];
    for (int64_t w = 0; w < end; w += PRI_LANES, group++) {
        key = pri_draw_key(search->seed, group);
        pri_draw_pair(&pair->pair, &key, pair->low, pair->high, words[0] + w,
                      words[1] + w);
    }
    for (int32_t t = 0; t < attempts; t++) {
        deal(search, words[0] + skip, t, pair->forward + (size_t)t * stride);
        if (pair->backward != NULL)
            deal(search, words[1] + skip, t,
                 pair->backward + (size_t)t * stride);
    }
}

/* The uplink of a node, to be drawn into row i. */
static struct pri_draw uplink_of(const struct search *search, int32_t i,
                                 uint64_t *rows)
{
    return (struct pri_draw){pri_pair_make(search->network->uplink[i], 0, 0), i,
                             PRICER_SERVER,
                             rows + (size_t)i * (size_t)search->lanes, NULL};
}

/* The next links of node i that are drawn with it, from link *l on: those to a
 * higher node, together with the opposite link, and those that have none. False:
 * no more. */
static bool next_link(const struct search *search, int32_t i, int32_t *l,
                      struct pri_draw *draw)
{
    const struct pricer_network *net = search->network;
    size_t lanes = (size_t)search->lanes;
    for (; *l < net->out_start[i + 1]; ++*l) {
        int32_t j = net->to[*l], other = net->partner[*l];
        uint64_t *up = search->up + (size_t)*l * lanes;
        if (j < i && other >= 0)
            continue;
        *draw =
            other < 0
                ? (struct pri_draw){pri_pair_make(net->p[*l], 0, 0),
                                    j > i ? i : j, j > i ? j : i, up, NULL}
                : (struct pri_draw){
                      pri_pair_make(net->p[*l], net->p[other], net->joint[*l]),
                      i, j, up, search->up + (size_t)other * lanes};
        ++*l;
        return true;
    }
    return false;
}

static void draw_node(const struct search *search, int32_t i)
{
    const struct pricer_network *net = search->network;
    size_t lanes = (size_t)search->lanes;
    struct pri_draw pair = uplink_of(search, i, search->now);
    draw(search, &pair, (size_t)net->nodes * lanes);
    for (int32_t l = net->out_start[i]; next_link(search, i, &l, &pair);)
        draw(search, &pair, (size_t)net->links * lanes);
}

static void draw_nodes(void *context, int64_t low, int64_t high)
{
    for (int64_t i = low; i < high; i++)
        draw_node(context, (int32_t)i);
}

/* What all searches of so many attempts have. */
static void prepare(struct search *search, int32_t attempts)
{
    search->attempts = attempts;
    for (int32_t first = 0; first < attempts; first++)
        search->squeeze[first] = squeeze_make(first, attempts);
}

void pri_states_draw(const struct pricer_network *network, uint64_t seed,
                     int64_t group, struct pri_team *team,
                     struct pri_states *states)
{
    struct search search = {.network = network,
                            .seed = seed,
                            .group = group,
                            .lanes = PRI_LANES,
                            .up = states->up,
                            .now = states->uplink};
    prepare(&search, 1);
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

PRI_INLINE void advance_lanes(const struct search *search, int lanes,
                              int64_t low, int64_t high)
{
    const struct pricer_network *net = search->network;
    int64_t t = search->attempt, nodes = (int64_t)net->nodes * lanes;
    bool last = t + 1 == search->attempts;
    const uint64_t *links = search->up + t * net->links * lanes;
    const uint64_t *now = search->now + t * nodes;
    uint64_t *next = search->next + t * nodes;
    for (int64_t i = low; i < high; i++) {
        const uint64_t *old = now + i * lanes;
        uint64_t word[PRI_LANES];
        for (int k = 0; k < lanes; k++)
            word[k] = last ? old[k] : old[k] | next[nodes + i * lanes + k];
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
            const uint64_t *up = links + (size_t)l * (size_t)lanes;
            const uint64_t *there = now + (size_t)net->to[l] * (size_t)lanes;
            for (int k = 0; k < lanes; k++)
                word[k] |= up[k] & there[k];
        }
        for (int k = 0; k < lanes; k++) {
            next[i * lanes + k] = word[k];
            if (search->arrivals != NULL && t == 0 && word[k] != old[k])
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

/* Levels 0 (the uplinks of each attempt, which `now` holds) to hops. Whoever
 * arrives in an attempt then has its bits in `now`, of the first for the round. */
static void search_levels(struct search *search)
{
    int32_t nodes = search->network->nodes;
    int64_t row = (int64_t)nodes * search->lanes;
    size_t size = (size_t)(row * search->attempts) * sizeof(uint64_t);
    for (int64_t k = row * (search->attempts - 1) - 1; k >= 0; k--)
        search->now[k] |= search->now[k + row];
    search->level = 0;
    for (int32_t i = 0; i < nodes && search->arrivals != NULL; i++)
        for (int k = 0; k < search->lanes; k++)
            note_level(search, i, k,
                       search->now[(int64_t)i * search->lanes + k]);
    bool more = true;
    for (search->level = 1; search->level <= search->hops && more;
         search->level++) {
        for (int32_t t = search->attempts - 1; t >= 0; t--) {
            search->attempt = t;
            pri_team_share(search->team, nodes, advance, search);
        }
        more = memcmp(search->now, search->next, size) != 0;
        uint64_t *swap = search->now;
        search->now = search->next;
        search->next = swap;
    }
}

static enum pricer_status make_room(struct search *search)
{
    const struct pricer_network *net = search->network;
    int64_t words = (int64_t)search->lanes * search->attempts;
    search->up = pri_alloc(net->links * words, 8);
    search->now = pri_alloc(net->nodes * words, 8);
    search->next = pri_alloc(net->nodes * words, 8);
    return search->up && search->now && search->next ? PRICER_OK
                                                     : PRICER_MEMORY;
}

static void free_room(struct search *search)
{
    free(search->up);
    free(search->now);
    free(search->next);
}

/* ------------------------------------------------------------- one group -- */

/* What is certain is drawn when the search is made, and the rest for each
 * group. */
struct pri_search {
    struct search search;
    uint64_t *uplink;       /* [attempts][nodes * PRI_LANES] */
    struct pri_draw *draws; /* uplinks, then links */
    int64_t uplinks, links; /* of these */
};

/* Draw what is certain and list the rest. */
static void list_draws(struct pri_search *made)
{
    struct search *inner = &made->search;
    const struct pricer_network *net = inner->network;
    size_t nodes = (size_t)net->nodes, links = (size_t)net->links;
    struct pri_draw *next = made->draws;
    for (int32_t i = 0; i < net->nodes; i++) {
        *next = uplink_of(inner, i, made->uplink);
        if (next->pair.levels > 0)
            next++;
        else
            draw(inner, next, nodes * PRI_LANES);
    }
    made->uplinks = next - made->draws;
    for (int32_t i = 0; i < net->nodes; i++)
        for (int32_t l = net->out_start[i]; next_link(inner, i, &l, next);)
            if (next->pair.levels > 0)
                next++;
            else
                draw(inner, next, links * PRI_LANES);
    made->links = next - made->draws - made->uplinks;
}

enum pricer_status pri_search_new(const struct pricer_network *network,
                                  int32_t hops, int32_t attempts,
                                  struct pri_search **search)
{
    struct pri_search *made = pri_alloc(1, sizeof *made);
    int64_t nodes = network->nodes;
    if (made == NULL)
        return PRICER_MEMORY;
    made->search.network = network;
    made->search.lanes = PRI_LANES;
    made->search.hops = hops;
    prepare(&made->search, attempts);
    made->uplink = pri_alloc(nodes * PRI_LANES * attempts, 8);
    made->draws = pri_alloc(nodes + network->links, sizeof *made->draws);
    if (made->uplink == NULL || made->draws == NULL ||
        make_room(&made->search) != PRICER_OK) {
        pri_search_free(made);
        return PRICER_MEMORY;
    }
    list_draws(made);
    *search = made;
    return PRICER_OK;
}

void pri_search_free(struct pri_search *search)
{
    if (search == NULL)
        return;
    free_room(&search->search);
    free(search->uplink);
    free(search->draws);
    free(search);
}

struct pri_found pri_search_play(struct pri_search *search, uint64_t seed,
                                 int64_t group)
{
    struct search *inner = &search->search;
    size_t nodes = (size_t)inner->network->nodes * PRI_LANES;
    size_t links = (size_t)inner->network->links * PRI_LANES;
    int64_t count = search->uplinks + search->links;
    inner->seed = seed;
    inner->group = group;
    if (inner->attempts == 1) {
        struct pri_threefry_key key = pri_draw_key(seed, group);
        pri_draw_pairs(search->draws, count, &key);
    }
    for (int64_t k = 0; k < count && inner->attempts > 1; k++)
        draw(inner, &search->draws[k], k < search->uplinks ? nodes : links);
    memcpy(inner->now, search->uplink,
           nodes * (size_t)inner->attempts * sizeof *inner->now);
    search_levels(inner);
    return (struct pri_found){search->uplink, inner->up, inner->now};
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
                            .seed = ask->seed,
                            .lanes = work->lanes,
                            .hops = ask->hops};
    prepare(&search, ask->attempts > 0 ? ask->attempts : 1);
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
            search.group = ask->first + word / PRI_LANES;
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
static int lanes_that_fit(const struct pricer_network *network,
                          int32_t attempts)
{
    int64_t links = (int64_t)network->links * (attempts > 0 ? attempts : 1);
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
                           .lanes =
                               lanes_that_fit(network, settings->attempts)};
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

int64_t pri_arrivals_count(const struct pricer_network *network,
                           int32_t attempts, int64_t limit)
{
    int64_t count = 1;
    struct element element;
    for (int32_t t = 0; t < attempts; t++)
        for (int64_t next = 0; next_element(network, &next, &element);) {
            count *= element.states;
            if (count > limit)
                return -1;
        }
    return count;
}

/* Pattern k has the digits of k, with as many values as the elements have
 * states, attempt after attempt: set the bits of 64 patterns, but for those behind
 * the last, whose weight is 0, and multiply their probabilities. Returns the divisor of the next attempt. */
static int64_t enumerate_attempt(const struct pricer_network *net,
                                 int64_t first, int64_t divisor,
                                 struct pri_states *states, double *weight)
{
    int64_t next = 0;
    struct element element;
    memset(states->up, 0, (size_t)net->links * 8);
    memset(states->uplink, 0, (size_t)net->nodes * 8);
    while (next_element(net, &next, &element)) {
        uint64_t ahead = 0, behind = 0;
        for (int k = 0; k < 64 && weight[k] > 0; k++) {
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
    return divisor;
}

void pri_states_enumerate(const struct pricer_network *net, int64_t word,
                          struct pri_states *states, double *weight)
{
    int64_t count = pri_arrivals_count(net, 1, INT32_MAX);
    for (int k = 0; k < 64; k++)
        weight[k] = 64 * word + k < count;
    enumerate_attempt(net, 64 * word, 1, states, weight);
}

/* All attempts of the patterns of a word. */
static void enumerate_word(struct search *search, double *weight)
{
    const struct pricer_network *net = search->network;
    int64_t divisor = 1;
    for (int k = 0; k < 64; k++)
        weight[k] = 64 * search->word + k < search->arrivals->patterns;
    for (int64_t t = 0; t < search->attempts; t++)
        divisor = enumerate_attempt(
            net, 64 * search->word, divisor,
            &(struct pri_states){search->up + t * net->links,
                                 search->now + t * net->nodes},
            weight);
}

enum pricer_status pri_arrivals_enumerate(const struct pricer_network *network,
                                          int32_t hops, int32_t attempts,
                                          struct pri_arrivals **arrivals)
{
    struct pri_arrivals *made = NULL;
    int64_t count = pri_arrivals_count(network, attempts, INT32_MAX);
    if (count < 0)
        return PRICER_VALUE;
    enum pricer_status status = pri_arrivals_new(network->nodes, count, &made);
    if (status != PRICER_OK)
        return status;
    struct search search = {
        .network = network, .arrivals = made, .lanes = 1, .hops = hops};
    prepare(&search, attempts);
    made->weight = pri_alloc(64 * made->words, sizeof(double));
    status = made->weight == NULL ? PRICER_MEMORY : make_room(&search);
    for (; search.word < made->words && status == PRICER_OK; search.word++) {
        enumerate_word(&search, made->weight + 64 * search.word);
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
