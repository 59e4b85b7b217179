/*
 * The network of a report, drawn: nodes where they are, or on a circle around
 * the server; links as heavy as what they carry and as faint as they are
 * unlikely; relays in a colour of their own.
 *
 * Small networks are drawn whole. Of large ones the drawing takes the nodes
 * that bring most to the server and says so; where nodes have places, all
 * others appear as a shade of how many there are.
 */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 560,
    HEIGHT = 460,
    MARGIN = 30,
    DRAWN_NODES = 120,
    DRAWN_LINKS = 1500,
    CELLS = 40,       /* of the shade, on either side */
    SERVER_ROOM = 40, /* below, for a server without a place */
    NAMED = 60,       /* nodes that show their numbers, */
    APART = 15,       /* unless they are closer than this, */
    READABLE = 7,     /* or drawn smaller than this */
};

/* Who brings so much of others' data is shown as a relay. */
#define RELAYS 0.1

struct drawing {
    const struct report *report;
    int32_t *node; /* [count] drawn nodes, ascending */
    int32_t *slot; /* [nodes] place in node[], or -1 */
    int32_t count;
    double *x, *y; /* [count] */
    double server_x, server_y;
    bool centred, placed; /* the server among the nodes; nodes where they are */
    double low_x, low_y, scale; /* metres to the drawing */
    double most;                /* the largest load */
};

static const double *order_key;
static int by_load(const void *a, const void *b)
{
    double x = order_key[*(const int32_t *)a];
    double y = order_key[*(const int32_t *)b];
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return x < y ? 1 : x > y ? -1 : (i > j) - (i < j);
}

static int ascending(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return (i > j) - (i < j);
}

/* Which nodes to draw: all, or those that bring most. */
static bool choose_nodes(struct drawing *drawing)
{
    const struct pricer_network *net = drawing->report->network;
    int32_t *all = calloc((size_t)net->nodes, sizeof *all);
    drawing->slot = calloc((size_t)net->nodes, sizeof *drawing->slot);
    drawing->node = all;
    drawing->count = net->nodes < DRAWN_NODES ? net->nodes : DRAWN_NODES;
    if (all == NULL || drawing->slot == NULL)
        return false;
    for (int32_t i = 0; i < net->nodes; i++) {
        all[i] = i;
        drawing->slot[i] = -1;
    }
    if (drawing->count < net->nodes) {
        order_key =
            drawing->report->plan != NULL ? drawing->report->load : net->uplink;
        qsort(all, (size_t)net->nodes, sizeof *all, by_load);
        qsort(all, (size_t)drawing->count, sizeof *all, ascending);
    }
    for (int32_t k = 0; k < drawing->count; k++)
        drawing->slot[all[k]] = k;
    return true;
}

/* Room for all places and the server at the origin, where that is among them.
 */
static void fit_places(struct drawing *drawing)
{
    const struct pricer_network *net = drawing->report->network;
    double low_x = INFINITY, high_x = -INFINITY;
    double low_y = INFINITY, high_y = -INFINITY;
    for (int32_t i = 0; i < net->nodes; i++) {
        low_x = fmin(low_x, net->x[i]);
        high_x = fmax(high_x, net->x[i]);
        low_y = fmin(low_y, net->y[i]);
        high_y = fmax(high_y, net->y[i]);
    }
    drawing->centred = low_x <= 0 && high_x >= 0 && low_y <= 0 && high_y >= 0;
    double wide = fmax(high_x - low_x, 1e-9), high = fmax(high_y - low_y, 1e-9);
    drawing->scale =
        fmin((WIDTH - 2 * MARGIN) / wide, (HEIGHT - 2 * MARGIN) / high);
    drawing->low_x = (low_x + high_x) / 2 - WIDTH / 2. / drawing->scale;
    drawing->low_y = (low_y + high_y) / 2 - HEIGHT / 2. / drawing->scale;
    if (!drawing->centred) { /* no place is known for it: below the others */
        drawing->server_y = HEIGHT + SERVER_ROOM / 2.;
        return;
    }
    drawing->server_x = -drawing->low_x * drawing->scale;
    drawing->server_y = -drawing->low_y * drawing->scale;
}

static bool place(struct drawing *drawing)
{
    const struct pricer_network *net = drawing->report->network;
    const double circle = 2 * acos(-1);
    drawing->x = calloc((size_t)drawing->count, sizeof(double));
    drawing->y = calloc((size_t)drawing->count, sizeof(double));
    if (drawing->x == NULL || drawing->y == NULL)
        return false;
    drawing->placed = net->x != NULL && net->nodes > 0;
    for (int32_t i = 0; i < net->nodes && drawing->placed; i++)
        drawing->placed = isfinite(net->x[i]) && isfinite(net->y[i]);
    drawing->centred = true;
    drawing->server_x = WIDTH / 2.;
    drawing->server_y = HEIGHT / 2.;
    if (drawing->placed)
        fit_places(drawing);
    for (int32_t k = 0; k < drawing->count; k++) {
        double angle = circle * k / drawing->count - circle / 4;
        int32_t i = drawing->node[k];
        drawing->x[k] =
            drawing->placed
                ? (net->x[i] - drawing->low_x) * drawing->scale
                : WIDTH / 2. + (HEIGHT / 2. - MARGIN) * 1.15 * cos(angle);
        drawing->y[k] = drawing->placed
                            ? (net->y[i] - drawing->low_y) * drawing->scale
                            : HEIGHT / 2. + (HEIGHT / 2. - MARGIN) * sin(angle);
    }
    return true;
}

/* ----------------------------------------------------------------- pieces --
 */

/* Where there are too many nodes to draw: how many stand in each cell. */
static void draw_shade(const struct drawing *drawing)
{
    const struct pricer_network *net = drawing->report->network;
    static int32_t count[CELLS * CELLS];
    int32_t most = 1;
    if (!drawing->placed || drawing->count == net->nodes)
        return;
    memset(count, 0, sizeof count);
    for (int32_t i = 0; i < net->nodes; i++) {
        double x = (net->x[i] - drawing->low_x) * drawing->scale;
        double y = (net->y[i] - drawing->low_y) * drawing->scale;
        int32_t cell = (int32_t)(x * CELLS / WIDTH) +
                       CELLS * (int32_t)(y * CELLS / HEIGHT);
        if (cell >= 0 && cell < CELLS * CELLS && ++count[cell] > most)
            most = count[cell];
    }
    for (int32_t c = 0; c < CELLS * CELLS; c++)
        if (count[c] > 0)
            fprintf(drawing->report->out,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                    "height=\"%.1f\" fill=\"var(--grey)\" "
                    "opacity=\"%.3f\"/>\n",
                    (double)(c % CELLS) * WIDTH / CELLS,
                    (double)(c / CELLS) * HEIGHT / CELLS, (double)WIDTH / CELLS,
                    (double)HEIGHT / CELLS, .05 + .3 * count[c] / most);
}

static void line(const struct drawing *drawing, const double *ends,
                 const char *colour, double width, double opacity)
{
    fprintf(drawing->report->out,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"var(--%s)\" stroke-width=\"%.2f\" "
            "stroke-opacity=\"%.3f\"/>\n",
            ends[0], ends[1], ends[2], ends[3], colour, width, opacity);
}

/* How large a node is drawn. */
static double node_size(const struct drawing *drawing, int32_t i)
{
    double load = drawing->report->plan != NULL ? drawing->report->load[i] : 0;
    double unit = drawing->count > NAMED ? .3 : drawing->count > 40 ? .5 : 1;
    return unit * (8 + 9 * sqrt(load / fmax(drawing->most, 1e-9)));
}

/* A line with a head that ends `short_by` before its end, a little to the right
 * of the way, so that the two directions of a pair are told apart. */
static void arrow(const struct drawing *drawing, const double *ends,
                  double short_by, const char *colour, double width,
                  double opacity)
{
    double dx = ends[2] - ends[0], dy = ends[3] - ends[1];
    double length = hypot(dx, dy), head = 3.5 + 1.6 * width;
    if (drawing->count > 40) {
        width *= .6;
        head = 3 + 1.6 * width;
    }
    if (length < short_by + head + 2) {
        line(drawing, ends, colour, width, opacity);
        return;
    }
    dx /= length;
    dy /= length;
    double side_x = -dy * (.8 + width / 2), side_y = dx * (.8 + width / 2);
    double tip_x = ends[2] - dx * (short_by + 1) + side_x;
    double tip_y = ends[3] - dy * (short_by + 1) + side_y;
    double neck_x = tip_x - dx * head, neck_y = tip_y - dy * head;
    const double shaft[4] = {ends[0] + side_x, ends[1] + side_y, neck_x,
                             neck_y};
    line(drawing, shaft, colour, width, opacity);
    fprintf(drawing->report->out,
            "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fz\" "
            "fill=\"var(--%s)\" fill-opacity=\"%.3f\"/>\n",
            tip_x, tip_y, neck_x - dy * head * .5, neck_y + dx * head * .5,
            neck_x + dy * head * .5, neck_y - dx * head * .5, colour,
            fmin(1, opacity + .15));
}

/* Whether a node's number can be read: no numbered node before it is near. */
static bool named(const struct drawing *drawing, int32_t k)
{
    if (drawing->count > NAMED ||
        node_size(drawing, drawing->node[k]) < READABLE)
        return false;
    for (int32_t j = 0; j < k; j++)
        if (hypot(drawing->x[j] - drawing->x[k],
                  drawing->y[j] - drawing->y[k]) < APART)
            return false;
    return true;
}

/* Where a node is, drawn or (with places) only in the shade. */
static bool find(const struct drawing *drawing, int32_t node, double *at)
{
    const struct pricer_network *net = drawing->report->network;
    int32_t k = drawing->slot[node];
    if (k >= 0) {
        at[0] = drawing->x[k];
        at[1] = drawing->y[k];
    } else if (drawing->placed) {
        at[0] = (net->x[node] - drawing->low_x) * drawing->scale;
        at[1] = (net->y[node] - drawing->low_y) * drawing->scale;
    }
    return k >= 0 || drawing->placed;
}

/* Whether a link is drawn: to a node that is, and once for both directions
 * where neither carries anything. */
static bool eligible(const struct drawing *drawing, int32_t link, bool used)
{
    const struct report *report = drawing->report;
    const struct pricer_network *net = report->network;
    double share = report->plan != NULL ? report->share[link] : 0;
    bool whole = drawing->count == net->nodes;
    if (drawing->slot[net->to[link]] < 0 || (share > 1e-4) != used)
        return false;
    return used ||
           (whole && (net->partner[link] < 0 || net->partner[link] > link));
}

/* Links that carry nothing, or those that do, which are wider; of too many,
 * every so manieth. */
static void draw_links(const struct drawing *drawing, bool used)
{
    const struct report *report = drawing->report;
    const struct pricer_network *net = report->network;
    int32_t count = 0, seen = 0;
    for (int32_t l = 0; l < net->links; l++)
        count += eligible(drawing, l, used);
    int32_t every = count / DRAWN_LINKS + 1;
    for (int32_t l = 0; l < net->links; l++) {
        double ends[4];
        if (!eligible(drawing, l, used) || seen++ % every != 0 ||
            !find(drawing, net->from[l], ends) ||
            !find(drawing, net->to[l], ends + 2))
            continue;
        if (used)
            arrow(drawing, ends, node_size(drawing, net->to[l]), "blue",
                  .8 + 5 * sqrt(report->share[l]), .25 + .6 * net->p[l]);
        else
            line(drawing, ends, "grey", .7, .05 + .25 * net->p[l]);
    }
}

/* How far its frame is from the middle of the server on the way there. */
static double server_size(const double *ends)
{
    double dx = fabs(ends[2] - ends[0]), dy = fabs(ends[3] - ends[1]);
    double length = fmax(hypot(dx, dy), 1e-9);
    return fmin(31 * length / fmax(dx, 1e-9), 14 * length / fmax(dy, 1e-9));
}

static void draw_uplinks(const struct drawing *drawing)
{
    const struct report *report = drawing->report;
    for (int32_t k = 0; k < drawing->count; k++) {
        int32_t i = drawing->node[k];
        double load = report->plan != NULL ? report->load[i] : 0;
        double p = report->network->uplink[i];
        double ends[4] = {drawing->x[k], drawing->y[k], drawing->server_x,
                          drawing->server_y};
        double thin = drawing->count > NAMED ? .4 : 1; /* many meet there */
        if (p > 0)
            arrow(drawing, ends, server_size(ends), "green",
                  thin * (1 + 2.5 * sqrt(load)), thin * (.12 + .75 * p));
    }
}

/* Nodes without a number, or those with one: they come later, so that none hides
 * a number. */
static void draw_nodes(const struct drawing *drawing, bool numbered)
{
    const struct report *report = drawing->report;
    FILE *out = report->out;
    for (int32_t k = 0; k < drawing->count; k++) {
        int32_t i = drawing->node[k];
        if (named(drawing, k) != numbered)
            continue;
        double load = report->plan != NULL ? report->load[i] : 0;
        double own = report->plan != NULL ? report->self_share[i] : 0;
        bool relay = load > own + RELAYS;
        fprintf(out,
                "<g><circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" "
                "fill=\"var(--%s)\" stroke=\"var(--card)\" "
                "stroke-width=\"2\"/>",
                drawing->x[k], drawing->y[k], node_size(drawing, i),
                relay ? "orange" : "grey");
        fprintf(out, "<title>node %s: reaches the server with probability %.3g",
                node_label(report->network, i).text,
                report->network->uplink[i]);
        if (report->plan != NULL)
            fprintf(out,
                    ", brings %.3g to the sum, %.3g of it its own; its data "
                    "weighs %.3g",
                    load, own, report->reach[i]);
        fputs("</title>", out);
        if (numbered)
            fprintf(out,
                    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" "
                    "dominant-baseline=\"central\" style=\"fill:var(--card);"
                    "font-weight:600;font-size:%dpx\">%" PRId32 "</text>",
                    drawing->x[k], drawing->y[k], drawing->count > 40 ? 9 : 12,
                    i);
        fputs("</g>\n", out);
    }
}

static void draw_server(const struct drawing *drawing)
{
    fprintf(
        drawing->report->out,
        "<g><rect x=\"%.1f\" y=\"%.1f\" width=\"58\" height=\"24\" rx=\"5\" "
        "fill=\"var(--green)\" stroke=\"var(--card)\" "
        "stroke-width=\"2\"/><text x=\"%.1f\" y=\"%.1f\" "
        "text-anchor=\"middle\" dominant-baseline=\"central\" "
        "style=\"fill:var(--card);font-weight:600;font-size:12px\">"
        "server</text></g>\n",
        drawing->server_x - 29, drawing->server_y - 12, drawing->server_x,
        drawing->server_y);
}

static void draw(const struct drawing *drawing)
{
    const struct report *report = drawing->report;
    const struct pricer_network *net = report->network;
    FILE *out = report->out;
    fprintf(out,
            "<figure>\n<svg class=\"map\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" "
            "aria-label=\"The network: nodes, links and the server\">\n",
            WIDTH, HEIGHT + (drawing->centred ? 0 : SERVER_ROOM));
    draw_shade(drawing);
    draw_links(drawing, false);
    draw_uplinks(drawing);
    draw_links(drawing, true);
    draw_server(drawing);
    draw_nodes(drawing, false);
    draw_nodes(drawing, true);
    fputs("</svg>\n<figcaption><span class=\"key\" "
          "style=\"background:var(--orange)\"></span>relays at least a tenth "
          "of a node’s data "
          "<span class=\"key\" style=\"background:var(--grey)\"></span>"
          "does not <span class=\"key\" "
          "style=\"background:var(--blue)\"></span>link that carries data, "
          "wider the more it does <span class=\"key\" "
          "style=\"background:var(--green)\"></span>uplink. The fainter a "
          "line, the less likely it is up; the larger a node, the more it "
          "brings; arrows point to who receives.",
          out);
    if (drawing->count < net->nodes)
        fprintf(out,
                " Drawn are the %" PRId32 " of %" PRId32
                " nodes that bring most%s.",
                drawing->count, net->nodes,
                drawing->placed ? "; the shade shows where all are" : "");
    fputs("</figcaption>\n</figure>\n", out);
}

void report_network(const struct report *report)
{
    const struct pricer_network *net = report->network;
    struct drawing drawing = {.report = report};
    page_section(report, "network", "The network",
                 report->plan != NULL
                     ? NULL
                     : "Without a plan every link is drawn as unused.");
    for (int32_t i = 0; i < net->nodes && report->plan != NULL; i++)
        drawing.most = fmax(drawing.most, report->load[i]);
    if (choose_nodes(&drawing) && place(&drawing))
        draw(&drawing);
    free(drawing.node);
    free(drawing.slot);
    free(drawing.x);
    free(drawing.y);
    fputs("</section>\n", report->out);
}
