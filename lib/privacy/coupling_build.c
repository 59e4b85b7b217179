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
        free(coupling->vertex[v].height);
        free(coupling->vertex[v].entry);
    }
    free(coupling->vertex);
    free(coupling->edge);
    free(coupling->work);
    free(coupling->row[0]);
    free(coupling->end);
    free(coupling->to);
    free(coupling->memory);
    *coupling = (struct pri_coupling){0};
}

/* The order of the sources: next is always the one that leaves the fewest edges
 * open, the first of several; but the sum that gates lead to is half way, as
 * gates matter most and then few are open at once. place[source] is where it
 * goes. */
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

/* The edges of the view's pairs, between the places of their sums. */
static void set_edges(const struct pri_view *view, const int32_t *place,
                      struct pri_edge *edge)
{
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        edge[k].joint = pair->joint;
        edge[k].end[0].vertex = place[pair->source];
        edge[k].end[0].chance = pri_first(view, pair);
        edge[k].end[1].vertex = place[pair->other];
        edge[k].end[1].chance = view->noise[pair->second].chance;
    }
}

/* Whether a noise is an end of some pair. */
static bool in_pair(const struct pri_view *view, int32_t noise)
{
    for (int32_t k = 0; k < view->pairs; k++)
        if (view->pair[k].second == noise || view->pair[k].first == noise)
            return true;
    return false;
}

/* The bits of a vertex, coupled ones first, by the place of the other vertex.
 * False if there are too many. */
static bool add_bits(const struct pri_view *view,
                     const struct pri_coupling *coupling, int32_t at,
                     struct pri_vertex *vertex)
{
    const struct pri_source *source = &view->source[vertex->source];
    vertex->seen = pri_seen(source);
    vertex->unseen = pri_unseen(source);
    vertex->signal = source->signal;
    vertex->own = source->own;
    for (int32_t other = 0; other < view->sources; other++)
        for (int32_t k = 0; k < 2 * view->pairs; k++) {
            const struct pri_coupled *pair = &view->pair[k / 2];
            const struct pri_end *end = coupling->edge[k / 2].end;
            int32_t noise = k % 2 ? pair->second : pair->first;
            bool link = pair->gate && k % 2 == 0;
            if (end[k % 2].vertex != at || end[1 - k % 2].vertex != other)
                continue;
            if (vertex->bits == PRI_BITS_MOST)
                return false;
            if (link) {
                vertex->seen = source->uplink;
                vertex->unseen = 1 - source->uplink;
            }
            vertex->before += other < at;
            vertex->bit[vertex->bits++] =
                (struct pri_bit){.size = link ? 0 : view->noise[noise].size,
                                 .link = link,
                                 .edge = k / 2,
                                 .end = k % 2};
        }
    vertex->degree = vertex->bits;
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

/* What every state of the bits shows; returns the most, of data. */
static double set_heights(const struct pri_source *source, bool identity,
                          double hide, struct pri_vertex *vertex)
{
    double most = 0;
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
        most = identity ? 0 : fmax(most, vertex->height[x]);
    }
    return most;
}

/* n over k; far enough for sets of bits, and of open edges to any depth. */
static void set_binomial(struct pri_coupling *coupling)
{
    coupling->binomial[0][0] = 1;
    for (int32_t n = 1; n <= PRI_CUT_MOST; n++) {
        const int64_t *last = coupling->binomial[n - 1];
        for (int32_t k = 0; k <= PRI_BITS_MOST; k++)
            coupling->binomial[n][k] = last[k] + (k > 0 ? last[k - 1] : 0);
    }
}

/* Which edges are open before every vertex, how many at most, and which of them
 * end there. Those that pass a vertex keep their order and those that begin there
 * follow, so that edges are open in the order of where they began, which is that
 * of the bits where they end. False if they are too many. */
static bool mark_ends(struct pri_coupling *coupling)
{
    int32_t open[PRI_CUT_MOST + PRI_BITS_MOST], count = 0;
    for (int32_t v = 0; v < coupling->vertices; v++) {
        struct pri_vertex *vertex = &coupling->vertex[v];
        vertex->open = count;
        count = 0;
        for (int32_t k = 0; k < vertex->open; k++) {
            const struct pri_edge *edge = &coupling->edge[open[k]];
            if (edge->end[0].vertex == v || edge->end[1].vertex == v)
                vertex->ends |= (uint64_t)1 << k;
            else
                open[count++] = open[k];
        }
        for (int32_t b = vertex->before; b < vertex->degree; b++)
            open[count++] = vertex->bit[b].edge;
        coupling->widest = count > coupling->widest ? count : coupling->widest;
        if (count > PRI_CUT_MOST)
            return false;
    }
    return true;
}

static enum pricer_status reserve_tables(const struct pri_view *view,
                                         double hide,
                                         struct pri_coupling *coupling)
{
    bool identity = coupling->function.dimension > 0;
    int64_t largest = 0;
    for (int32_t v = 0; v < coupling->vertices; v++) {
        struct pri_vertex *vertex = &coupling->vertex[v];
        int64_t all = (int64_t)1 << vertex->bits;
        vertex->height = pri_alloc(all, sizeof(double));
        vertex->entry = pri_alloc(3 * all, sizeof(double complex));
        if (vertex->height == NULL || vertex->entry == NULL)
            return PRICER_MEMORY;
        vertex->turn = vertex->entry + all;
        vertex->part = vertex->entry + 2 * all;
        vertex->scale = 1;
        double most =
            set_heights(&view->source[vertex->source], identity, hide, vertex);
        coupling->most += most;
        coupling->highest = fmax(coupling->highest, most);
        largest = all > largest ? all : largest;
    }
    coupling->work = pri_alloc(2 * largest, sizeof *coupling->work);
    coupling->row[0] = pri_alloc(4 * largest, sizeof(double));
    coupling->end = pri_alloc(2 * largest, sizeof *coupling->end);
    coupling->to = pri_alloc(largest, sizeof *coupling->to);
    if (!coupling->work || !coupling->row[0] || !coupling->end || !coupling->to)
        return PRICER_MEMORY;
    coupling->spare = coupling->work + largest;
    coupling->begin = coupling->end + largest;
    coupling->row[1] = coupling->row[0] + largest;
    coupling->matrix[0] = coupling->row[1] + largest;
    coupling->matrix[1] = coupling->matrix[0] + largest;
    return PRICER_OK;
}

/* All bits of all vertices; false if they are too many. */
static bool set_vertices(const struct pri_view *view, const int32_t *place,
                         double most, struct pri_coupling *coupling)
{
    for (int32_t k = 0; k < view->sources; k++) {
        struct pri_vertex *vertex = &coupling->vertex[place[k]];
        vertex->source = k;
        if (!add_bits(view, coupling, place[k], vertex))
            return false;
        coupling->table += (int64_t)1 << vertex->bits;
        if ((double)coupling->table > most)
            return false;
    }
    return mark_ends(coupling);
}

enum pricer_status pri_coupling_build(const struct pri_view *view,
                                      const struct pri_function *function,
                                      double hide, double most,
                                      struct pri_coupling *coupling, bool *able)
{
    enum pricer_status status = PRICER_MEMORY;
    *coupling = (struct pri_coupling){.function = *function};
    *able = false;
    /* What follows is made for few sums of few noises. */
    bool few = view->sources <= PRI_CUT_MOST;
    for (const struct pri_source *at = view->source;
         few && at < view->source + view->sources; at++)
        few = at->end - at->begin <= PRI_BITS_MOST;
    if (!few)
        return PRICER_OK;
    int32_t *place = pri_alloc(view->sources, sizeof *place);
    coupling->vertex = pri_alloc(view->sources, sizeof *coupling->vertex);
    coupling->edge = pri_alloc(view->pairs, sizeof *coupling->edge);
    if (place != NULL && coupling->vertex != NULL && coupling->edge != NULL) {
        coupling->vertices = view->sources;
        coupling->edges = view->pairs;
        put_in_order(view, place);
        set_edges(view, place, coupling->edge);
        set_binomial(coupling);
        status = PRICER_OK;
        *able = set_vertices(view, place, most, coupling);
    }
    if (*able)
        status = reserve_tables(view, hide, coupling);
    free(place);
    *able = *able && status == PRICER_OK;
    if (!*able)
        pri_coupling_free(coupling);
    return status;
}
