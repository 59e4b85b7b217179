/*
 * From a view to its coupling: which bits every sum depends on, which of them
 * are edges, the order in which the sums are absorbed, and room for the tables.
 */
#include "coupling.h"

#include <math.h>
#include <stdlib.h>

void pri_coupling_free(struct pri_coupling *coupling)
{
    for (int32_t v = 0; v < coupling->vertices; v++) {
        struct pri_vertex *vertex = &coupling->vertex[v];
        free(vertex->height);
        free(vertex->part_re);
    }
    free(coupling->vertex);
    free(coupling->edge);
    free(coupling->work_re);
    free(coupling->end);
    free(coupling->to);
    free(coupling->memory);
    *coupling = (struct pri_coupling){0};
}

/*
 * The order of the sources: next is always the one that leaves the fewest edges
 * open, the first of several; but the sum that gates lead to is half way, as
 * gates matter most and then few are open at once. place[source] is where it
 * goes.
 */
static void put_in_order(const struct pri_view *view, int32_t *place)
{
    int32_t own = -1;
    for (int32_t k = 0; k < view->sources; k++)
        place[k] = -1;
    for (int32_t x = 0; x < view->pairs; x++)
        own = view->pair[x].gate ? view->pair[x].other : own;
    for (int32_t at = 0; at < view->sources; at++) {
        int32_t best = -1, least = INT32_MAX;
        for (int32_t k = 0; k < view->sources; k++) {
            int32_t more = 0;
            bool turn = own < 0 || (k == own) == (at == view->sources / 2);
            for (int32_t x = 0; x < view->pairs && place[k] < 0; x++) {
                const struct pri_coupled *pair = &view->pair[x];
                if (pair->source == k || pair->other == k)
                    more += place[pair->source + pair->other - k] < 0 ? 1 : -1;
            }
            if (turn && place[k] < 0 && more < least) {
                best = k;
                least = more;
            }
        }
        place[best] = at;
    }
}

/* What the view says about one end of a pair. */
static struct pri_bit bit_of(const struct pri_view *view, int32_t index,
                             int32_t end)
{
    const struct pri_coupled *pair = &view->pair[index];
    int32_t noise = end == 0 ? pair->first : pair->second;
    struct pri_bit bit = {.edge = index, .end = end};
    if (end == 0 && pair->gate) {
        bit.link = true;
        bit.chance = view->source[pair->source].link;
        bit.absent = 1 - bit.chance;
    } else {
        bit.size = view->noise[noise].size;
        bit.chance = view->noise[noise].chance;
        bit.absent = pri_absent(&view->noise[noise]);
    }
    return bit;
}

/* Whether a noise is an end of some pair. */
static bool in_pair(const struct pri_view *view, int32_t noise)
{
    for (int32_t k = 0; k < view->pairs; k++)
        if (view->pair[k].second == noise ||
            (!view->pair[k].gate && view->pair[k].first == noise))
            return true;
    return false;
}

/* The bits of the vertex at `place`, coupled ones first, by the place of the
 * other vertex. False if there are too many. */
static bool add_bits(const struct pri_view *view, const int32_t *place,
                     struct pri_vertex *vertex)
{
    const struct pri_source *source = &view->source[vertex->source];
    vertex->seen = pri_seen(source);
    vertex->unseen = pri_unseen(source);
    vertex->signal = source->signal;
    vertex->own = source->own;
    for (int32_t at = 0; at < view->sources; at++)
        for (int32_t k = 0; k < view->pairs; k++) {
            const struct pri_coupled *pair = &view->pair[k];
            int32_t end = pair->source == vertex->source ? 0 : 1;
            int32_t other = end == 0 ? pair->other : pair->source;
            if ((end == 1 && pair->other != vertex->source) ||
                place[other] != at)
                continue;
            if (vertex->degree == PRI_BITS_MOST)
                return false;
            struct pri_bit bit = bit_of(view, k, end);
            vertex->seen = bit.link ? source->uplink : vertex->seen;
            vertex->unseen = bit.link ? 1 - source->uplink : vertex->unseen;
            vertex->before += at < place[vertex->source];
            vertex->bit[vertex->degree++] = bit;
        }
    vertex->bits = vertex->degree;
    for (int32_t k = source->begin; k < source->end; k++) {
        if (in_pair(view, k))
            continue;
        if (vertex->bits == PRI_BITS_MOST)
            return false;
        vertex->bit[vertex->bits++] =
            (struct pri_bit){.chance = view->noise[k].chance,
                             .absent = pri_absent(&view->noise[k]),
                             .size = view->noise[k].size,
                             .edge = -1};
    }
    return true;
}

/* What every state of the bits shows. */
static void set_heights(const struct pri_source *source, bool identity,
                        double hide, struct pri_vertex *vertex)
{
    for (uint32_t x = 0; x < (uint32_t)1 << vertex->bits; x++) {
        double variance = source->base;
        bool arrives = true, hidden = source->base >= hide;
        for (int32_t k = 0; k < vertex->bits; k++) {
            const struct pri_bit *bit = &vertex->bit[k];
            if (x >> k & 1) {
                variance += bit->size;
                hidden = hidden || (!bit->link && bit->size >= hide);
            } else {
                arrives = arrives && !bit->link;
            }
        }
        double shown = identity ? variance : source->signal / variance;
        vertex->height[x] = !arrives ? PRI_SILENT : hidden ? shown : PRI_BARE;
    }
}

static bool reserve_vertex(struct pri_vertex *vertex)
{
    int64_t all = (int64_t)1 << vertex->bits,
            some = (int64_t)1 << vertex->degree;
    double *table = pri_alloc(5 * all, sizeof(double));
    double *part = pri_alloc(2 * some, sizeof(double));
    vertex->height = table;
    vertex->part_re = part;
    if (table == NULL || part == NULL)
        return false;
    vertex->re = table + all;
    vertex->im = table + 2 * all;
    vertex->cos = table + 3 * all;
    vertex->sin = table + 4 * all;
    vertex->part_im = part + some;
    return true;
}

/* n over k; far enough for sets of bits, and of open edges to any depth. */
static void set_binomial(struct pri_coupling *coupling)
{
    for (int32_t n = 0; n <= PRI_CUT_MOST; n++)
        for (int32_t k = 0; k <= PRI_BITS_MOST; k++)
            coupling->binomial[n][k] = k == 0 ? 1
                                       : n == 0
                                           ? 0
                                           : coupling->binomial[n - 1][k - 1] +
                                                 coupling->binomial[n - 1][k];
}

/* The edges of the view's pairs, all messages even. */
static void set_edges(const struct pri_view *view,
                      struct pri_coupling *coupling)
{
    for (int32_t k = 0; k < view->pairs; k++)
        coupling->edge[k].joint = view->pair[k].joint;
    for (int32_t v = 0; v < coupling->vertices; v++)
        for (int32_t k = 0; k < coupling->vertex[v].degree; k++) {
            const struct pri_bit *bit = &coupling->vertex[v].bit[k];
            coupling->edge[bit->edge].end[bit->end] =
                (struct pri_end){.vertex = v,
                                 .bit = k,
                                 .chance = bit->chance,
                                 .message = {1, 1}};
        }
}

/* How many edges are open before every vertex, and at most. */
static void count_open(struct pri_coupling *coupling)
{
    int32_t open = 0;
    for (int32_t v = 0; v < coupling->vertices; v++) {
        struct pri_vertex *vertex = &coupling->vertex[v];
        vertex->open = open;
        open += vertex->degree - 2 * vertex->before;
        coupling->widest = open > coupling->widest ? open : coupling->widest;
    }
}

/* Which of them end there. Those that pass a vertex keep their order and those
 * that begin there follow, so that edges are open in the order of where they
 * began, which is that of the bits where they end. */
static void mark_ends(struct pri_coupling *coupling)
{
    int32_t open[PRI_CUT_MOST + PRI_BITS_MOST];
    for (int32_t v = 0; v < coupling->vertices; v++) {
        struct pri_vertex *vertex = &coupling->vertex[v];
        int32_t kept = 0;
        for (int32_t k = 0; k < vertex->open; k++) {
            const struct pri_edge *edge = &coupling->edge[open[k]];
            if (edge->end[0].vertex == v || edge->end[1].vertex == v)
                vertex->ends |= (uint64_t)1 << k;
            else
                open[kept++] = open[k];
        }
        for (int32_t b = vertex->before; b < vertex->degree; b++)
            open[kept++] = vertex->bit[b].edge;
    }
}

static enum pricer_status reserve_tables(const struct pri_view *view,
                                         double hide,
                                         struct pri_coupling *coupling)
{
    bool identity = coupling->function.dimension > 0;
    int64_t largest = 0;
    for (int32_t v = 0; v < coupling->vertices; v++) {
        struct pri_vertex *vertex = &coupling->vertex[v];
        const struct pri_source *source = &view->source[vertex->source];
        if (!reserve_vertex(vertex))
            return PRICER_MEMORY;
        set_heights(source, identity, hide, vertex);
        vertex->scale = 1;
        double most = 0;
        for (uint32_t x = 0; x < (uint32_t)1 << vertex->bits && !identity; x++)
            most = fmax(most, vertex->height[x]);
        int64_t size = (int64_t)1 << vertex->bits;
        coupling->most += most;
        coupling->highest = fmax(coupling->highest, most);
        largest = size > largest ? size : largest;
    }
    coupling->work_re = pri_alloc(4 * largest, sizeof(double));
    coupling->end = pri_alloc(2 * largest, sizeof *coupling->end);
    coupling->to = pri_alloc(largest, sizeof *coupling->to);
    if (coupling->work_re == NULL || coupling->end == NULL ||
        coupling->to == NULL)
        return PRICER_MEMORY;
    coupling->begin = coupling->end + largest;
    coupling->work_im = coupling->work_re + largest;
    coupling->even_re = coupling->work_re + 2 * largest;
    coupling->even_im = coupling->work_re + 3 * largest;
    return PRICER_OK;
}

/* All bits of all vertices; false if they are too many. */
static bool set_vertices(const struct pri_view *view, const int32_t *place,
                         double most, struct pri_coupling *coupling)
{
    for (int32_t k = 0; k < view->sources; k++) {
        struct pri_vertex *vertex = &coupling->vertex[place[k]];
        vertex->source = k;
        if (!add_bits(view, place, vertex))
            return false;
        coupling->table += (int64_t)1 << vertex->bits;
        if ((double)coupling->table > most)
            return false;
    }
    count_open(coupling);
    return coupling->widest <= PRI_CUT_MOST;
}

/* Whether it is worth looking at: what follows is made for few sums. */
static bool is_small(const struct pri_view *view)
{
    for (int32_t k = 0; k < view->sources; k++)
        if (view->source[k].end - view->source[k].begin > PRI_BITS_MOST)
            return false;
    return view->sources <= PRI_CUT_MOST;
}

enum pricer_status pri_coupling_build(const struct pri_view *view,
                                      const struct pri_function *function,
                                      double hide, double most,
                                      struct pri_coupling *coupling, bool *able)
{
    enum pricer_status status = PRICER_MEMORY;
    *coupling = (struct pri_coupling){.function = *function};
    *able = false;
    if (!is_small(view))
        return PRICER_OK;
    int32_t *place = pri_alloc(view->sources, sizeof *place);
    coupling->vertex = pri_alloc(view->sources, sizeof *coupling->vertex);
    coupling->edge = pri_alloc(view->pairs, sizeof *coupling->edge);
    if (place != NULL && coupling->vertex != NULL && coupling->edge != NULL) {
        coupling->vertices = view->sources;
        coupling->edges = view->pairs;
        put_in_order(view, place);
        status = PRICER_OK;
        *able = set_vertices(view, place, most, coupling);
    }
    if (*able)
        status = reserve_tables(view, hide, coupling);
    if (*able && status == PRICER_OK) {
        set_edges(view, coupling);
        mark_ends(coupling);
    }
    set_binomial(coupling);
    free(place);
    if (!*able || status != PRICER_OK) {
        *able = false;
        pri_coupling_free(coupling);
    }
    return status;
}
