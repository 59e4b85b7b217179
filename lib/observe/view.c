/*
 * From network, plan and observer to what is seen of one node: which sums may
 * show it, how much noise each has, and which of their links are correlated.
 */
#include "sight.h"

#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>

void pri_view_free(struct pri_view *view)
{
    free(view->source);
    free(view->noise);
    free(view->pair);
    *view = (struct pri_view){0};
}

/* Room for one more item in a growing array. */
static bool grow(void **items, int32_t count, int32_t *room, size_t size)
{
    if (count < *room)
        return true;
    int32_t more = *room == 0 ? 64 : 2 * *room;
    void *moved = realloc(*items, (size_t)more * size);
    if (moved == NULL)
        return false;
    *items = moved;
    *room = more;
    return true;
}

static bool add_noise(struct pri_view *view, int32_t from, double size,
                      double chance)
{
    if (!grow((void **)&view->noise, view->noises, &view->noise_room,
              sizeof *view->noise))
        return false;
    view->noise[view->noises++] = (struct pri_packet){from, size, chance, 0};
    return true;
}

static bool add_pair(struct pri_view *view, struct pri_coupled pair)
{
    if (!grow((void **)&view->pair, view->pairs, &view->pair_room,
              sizeof *view->pair))
        return false;
    view->pair[view->pairs++] = pair;
    return true;
}

/* What a view is made from. */
struct scene {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    int32_t node;
    const bool *member;
    bool server, radio, identity;
    const struct pricer_grid *grid; /* NULL: as planned */
};

static bool is_member(const struct scene *scene, int32_t node)
{
    return scene->member != NULL && scene->member[node];
}

/* Ratios are kept between these, so that their squares are numbers. Noise that
 * is cut to the largest is less than there is, and noise that is raised to the
 * least is as good as none (privacy/bare.c). */
#define RATIO_MOST 1e150

/* (noise / unit)^2; 0 only if there is no noise. */
static long double square_of(long double noise, long double unit)
{
    if (!(noise > 0))
        return 0;
    long double ratio = fminl(fmaxl(noise / unit, 1 / RATIO_MOST), RATIO_MOST);
    return ratio * ratio;
}

/* The packets of others in the sum of a relay: those that are always there
 * into its base, those of members nowhere. */
static bool add_source(const struct scene *scene, struct pri_source source,
                       long double base, long double unit,
                       struct pri_view *view)
{
    const struct pricer_network *net = scene->network;
    source.begin = view->noises;
    for (int32_t k = net->in_start[source.node];
         k < net->in_start[source.node + 1]; k++) {
        int32_t l = net->in_link[k], from = net->from[l];
        double size = (double)square_of(scene->plan->noise[l], unit);
        if (from == scene->node || is_member(scene, from))
            continue;
        /* A packet that may be missing hides which of them came. */
        if (net->p[l] < 1 && (size > 0 || scene->plan->weight[l] > 0))
            view->visible = false;
        if (source.link < 1)
            view->visible = false;
        if (size == 0)
            continue;
        if (net->p[l] == 1)
            base += size;
        else if (!add_noise(view, from, size, net->p[l]))
            return false;
    }
    source.base = (double)base;
    source.end = view->noises;
    if (!grow((void **)&view->source, view->sources, &view->source_room,
              sizeof *view->source))
        return false;
    view->source[view->sources++] = source;
    return true;
}

double pri_raised(const struct pricer_network *network,
                  const struct pricer_grid *grid, int32_t node, double weight)
{
    const struct pri_sender sender = {network->node_radius[node],
                                      network->node_diameter[node],
                                      network->dimension};
    return grid == NULL ? 1 : pri_grid_raise(grid, &sender, weight);
}

/* The noise of a message as it leaves the node. */
static long double sent_noise(const struct scene *scene, double weight,
                              double noise)
{
    if (!scene->identity || scene->grid == NULL || noise == 0)
        return noise;
    const struct pri_sender sender = {
        scene->network->node_radius[scene->node],
        scene->network->node_diameter[scene->node], scene->network->dimension};
    double smoothing = ldexp(sqrt(PRI_GRID_SMOOTHING), scene->grid->exponent);
    return hypotl(pri_sent_noise(scene->grid, &sender, weight, noise),
                  smoothing) *
           (1 + 0x1p-48L);
}

/* The sum that a weight and a noise of the node enter, beside `base` of the one
 * who makes it. The product of two doubles may leave their range, but not that of a
 * long double. */
static bool put_source(const struct scene *scene, double weight, double noise,
                       double base, struct pri_source source,
                       struct pri_view *view)
{
    const struct pricer_network *net = scene->network;
    long double move =
        (long double)weight *
        (scene->identity ? net->node_radius : net->node_diameter)[scene->node];
    long double own = sent_noise(scene, weight, noise);
    long double unit = scene->identity ? fmaxl(move, own) : move;
    if (!(unit > 0))
        return true;
    /* The node's own noise is raised with its change, that of others is not. */
    long double far = scene->identity ? unit
                                      : unit * pri_raised(net, scene->grid,
                                                          scene->node, weight);
    long double others = square_of(base, far);
    source.signal = (double)square_of(move, unit);
    if (scene->identity)
        source.own = (double)square_of(own, unit);
    else
        others += square_of(noise, unit);
    return add_source(scene, source, others, far, view);
}

static bool add_sources(const struct scene *scene, struct pri_view *view)
{
    const struct pricer_network *net = scene->network;
    const struct pricer_plan *plan = scene->plan;
    int32_t i = scene->node;
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
        int32_t to = net->to[l];
        bool relay = is_member(scene, to);
        struct pri_source source = {
            .node = to,
            .uplink = relay || scene->radio ? 1 : net->uplink[to],
            .link = scene->radio ? 1 : net->p[l],
        };
        bool seen = relay || (scene->server && source.uplink > 0);
        if (!relay && source.link < 1)
            view->visible = false;
        if (seen && !put_source(scene, plan->weight[l], plan->noise[l],
                                relay ? 0 : plan->self_noise[to], source, view))
            return false;
    }
    struct pri_source own = {
        .node = i,
        .uplink = scene->radio ? 1 : net->uplink[i],
        .link = 1,
    };
    if (scene->server && own.uplink > 0)
        return put_source(scene, plan->self_weight[i], plan->self_noise[i], 0,
                          own, view);
    return true;
}

/* The noise of a source that comes from a node, or -1; they are in order. */
static int32_t noise_from(const struct pri_view *view,
                          const struct pri_source *source, int32_t from)
{
    int32_t low = source->begin, high = source->end;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (view->noise[middle].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < source->end && view->noise[low].from == from ? low : -1;
}

/* The source made by a relay, or -1; all but the node's own are in order. */
static int32_t source_at(const struct pri_view *view, int32_t sources,
                         int32_t node)
{
    int32_t low = 0, high = sources;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (view->source[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sources && view->source[low].node == node ? low : -1;
}

/* The variance in a sum, on average. */
static double mean_of(const struct pri_view *view,
                      const struct pri_source *source)
{
    double mean = source->base;
    for (int32_t k = source->begin; k < source->end; k++)
        mean += view->noise[k].chance * view->noise[k].size;
    return mean;
}

/* How much a noise moves its source's part of mu^2, about. */
static double weight_of_noise(const struct pri_view *view,
                              const struct pri_source *source, int32_t noise)
{
    double mean = mean_of(view, source), size = view->noise[noise].size;
    return source->uplink * source->link * source->signal * size /
           (mean * (mean + size));
}

double pri_cells(double p, double q, double joint, double cell[2][2])
{
    /* With the larger taken off first no digit of these is lost but where one
     * number is next to nothing beside what is left: see docs. */
    __float128 none = ((__float128)1 - fmax(p, q) - fmin(p, q)) + joint;
    __float128 one = (__float128)p - joint, two = (__float128)q - joint;
    cell[0][0] = none > 0 ? (double)none : 0;
    cell[1][0] = one > 0 ? (double)one : 0;
    cell[0][1] = two > 0 ? (double)two : 0;
    cell[1][1] = joint;
    return (double)(joint - (__float128)p * q);
}

double pri_pair_cells(const struct pri_view *view,
                      const struct pri_coupled *pair, double cell[2][2])
{
    return pri_cells(pri_first(view, pair), view->noise[pair->second].chance,
                     pair->joint, cell);
}

/* Links are taken as independent where that changes no cell by more. */
#define LOOSE_MOST 1e-12

/* Whether two links are a pair. If not, the part by which taking them as
 * independent changes a cell at most is noted in the view. */
static bool correlated(double p, double q, double joint, struct pri_view *view)
{
    double cell[2][2], least = 1;
    double away = fabs(pri_cells(p, q, joint, cell));
    for (int x = 0; x < 4; x++)
        least = fmin(least, cell[x / 2][x % 2]);
    if (away == 0)
        return false;
    if (!(away <= LOOSE_MOST * least))
        return true;
    view->loose += 2 * away / least;
    return false;
}

/* The noise of j in k's sum with the noise of k in j's, both seen. */
static bool pair_relays(const struct scene *scene, int32_t others,
                        struct pri_view *view)
{
    const struct pricer_network *net = scene->network;
    for (int32_t a = 0; a < others; a++) {
        const struct pri_source *source = &view->source[a];
        for (int32_t x = source->begin; x < source->end; x++) {
            int32_t from = view->noise[x].from;
            int32_t b =
                from > source->node ? source_at(view, others, from) : -1;
            int32_t y =
                b < 0 ? -1 : noise_from(view, &view->source[b], source->node);
            int32_t link =
                y < 0 ? -1 : pricer_network_find(net, from, source->node);
            if (link < 0 ||
                !correlated(view->noise[x].chance, view->noise[y].chance,
                            net->joint[link], view))
                continue;
            double excess = net->joint[link] -
                            view->noise[x].chance * view->noise[y].chance;
            double one = weight_of_noise(view, source, x);
            double two = weight_of_noise(view, &view->source[b], y);
            struct pri_coupled pair = {
                false, a, b, x, y, net->joint[link], excess * one * two};
            /* The second is the one to give up if the pair is not split; equal
             * ones alternate, so that no sum loses all its noise. */
            bool odd = (from + source->node) % 2 == 1;
            if (two > one * (odd ? 1 - 1e-9 : 1 + 1e-9)) {
                pair.source = b;
                pair.other = a;
                pair.first = y;
                pair.second = x;
            }
            if (!add_pair(view, pair))
                return false;
        }
    }
    return true;
}

/* The link to a relay with the relay's noise in the node's own sum. */
static bool pair_own(const struct scene *scene, int32_t others,
                     struct pri_view *view)
{
    const struct pricer_network *net = scene->network;
    if (others == view->sources)
        return true;
    const struct pri_source *own = &view->source[others];
    for (int32_t a = 0; a < others; a++) {
        const struct pri_source *source = &view->source[a];
        int32_t y = noise_from(view, own, source->node);
        int32_t link = pricer_network_find(net, scene->node, source->node);
        if (y < 0 || source->link == 1 ||
            !correlated(source->link, view->noise[y].chance, net->joint[link],
                        view))
            continue;
        double excess = net->joint[link] - net->p[link] * view->noise[y].chance;
        double one = source->uplink * source->signal / mean_of(view, source);
        struct pri_coupled pair = {true,
                                   a,
                                   others,
                                   -1,
                                   y,
                                   net->joint[link],
                                   excess * one *
                                       weight_of_noise(view, own, y)};
        if (!add_pair(view, pair))
            return false;
    }
    return true;
}

static int by_influence(const void *one, const void *two)
{
    const struct pri_coupled *a = one, *b = two;
    if (a->influence != b->influence)
        return a->influence > b->influence ? -1 : 1;
    if (a->gate != b->gate)
        return a->gate ? -1 : 1;
    return a->second < b->second ? -1 : a->second > b->second;
}

static enum pricer_status build(const struct scene *scene,
                                struct pri_view *view)
{
    view->sources = view->noises = view->pairs = 0;
    view->visible = true;
    view->loose = 0;
    view->dimension = scene->identity ? (double)scene->network->dimension : 0;
    if (!add_sources(scene, view))
        return PRICER_MEMORY;
    int32_t others = view->sources;
    if (others > 0 && view->source[others - 1].node == scene->node)
        others--;
    if (scene->server &&
        (!pair_relays(scene, others, view) || !pair_own(scene, others, view)))
        return PRICER_MEMORY;
    if (view->pairs > 1)
        qsort(view->pair, (size_t)view->pairs, sizeof *view->pair,
              by_influence);
    return PRICER_OK;
}

enum pricer_status pri_view_build(const struct pricer_network *network,
                                  const struct pricer_plan *plan, int32_t node,
                                  const bool *member, bool server,
                                  enum pricer_eavesdropper eavesdropper,
                                  const struct pricer_grid *grid,
                                  struct pri_view *view)
{
    struct scene scene = {network, plan,   node,
                          member,  server, eavesdropper == PRICER_RADIO,
                          false,   grid};
    return build(&scene, view);
}

enum pricer_status pri_view_identity(const struct pricer_network *network,
                                     const struct pricer_plan *plan,
                                     int32_t node, const bool *member,
                                     bool server,
                                     enum pricer_eavesdropper eavesdropper,
                                     const struct pricer_grid *grid,
                                     struct pri_view *view)
{
    struct scene scene = {network, plan,   node,
                          member,  server, eavesdropper == PRICER_RADIO,
                          true,    grid};
    enum pricer_status status = build(&scene, view);
    view->visible = false;
    return status;
}
