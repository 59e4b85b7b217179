/*
 * From a network of very many nodes to a drawing that holds all of them: boxes
 * with how many nodes each stands for, and arrows for all that goes from the
 * nodes of one to those of another. A box is a square of the field where nodes
 * have places; elsewhere nodes with alike uplinks share one.
 */
#include "report_cells.h"
#include "hops.h"
#include "map.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    MARGIN = 40,
    SIDE = 66,      /* about, of a square */
    MOST = 100,     /* boxes */
    GROUPS = 12,    /* boxes where nodes have no places */
    HALF_WIDE = 22, /* of a box */
    HALF_HIGH = 15,
    STRIP = 4,
};

/* Arrows that carry less than this of the widest are left out, and counted. */
#define THIN 0.01

/* One box, and what its nodes bring to the server. */
struct box {
    double at[2];
    int64_t nodes;
    double own;                 /* their own data */
    double inside, others;      /* relayed for nodes of this box, of others */
    double low_p, high_p;       /* their uplinks */
    int64_t hops[HOPS_CLASSES]; /* with 'scheme: forward': nodes by relays */
    double arrival;             /* and the sum of their probabilities */
};

struct cells {
    const struct report *report;
    struct map_places places;
    int32_t *box_of; /* [nodes] */
    struct box box[MOST];
    int32_t count;
    double flow[MOST][MOST]; /* from one box to another */
    double widest, most;     /* the largest flow between boxes, and of a box */
    double crossing, drawn;  /* all that goes between boxes, and by arrows */
};

static double brings(const struct box *box)
{
    return box->own + box->inside + box->others;
}

/* ---------------------------------------------------------------- boxes -- */

/* A grid of squares over one axis of the drawing: where it begins, its step, and
 * how many there are. The server, where it is among the nodes, stands at a
 * corner. */
struct grid {
    double from, step;
    int32_t count;
};

static struct grid lay_grid(double low, double high, double step,
                            const double *corner)
{
    struct grid grid = {low, step, 0};
    if (corner != NULL)
        grid.from = *corner - step * ceil((*corner - low) / step - 1e-9);
    grid.count = (int32_t)ceil((high - grid.from) / step - 1e-9);
    grid.count = grid.count < 1 ? 1 : grid.count;
    return grid;
}

static int32_t in_grid(const struct grid *grid, double at)
{
    double k = floor((at - grid->from) / grid->step);
    return k < 0 ? 0 : k >= grid->count ? grid->count - 1 : (int32_t)k;
}

static void cut_field(struct cells *cells)
{
    const struct pricer_network *net = cells->report->network;
    const struct map_places *places = &cells->places;
    double low[2] = {INFINITY, INFINITY}, high[2] = {0, 0}, at[2];
    for (int32_t i = 0; i < net->nodes; i++) {
        map_place(net, places, i, at);
        for (int k = 0; k < 2; k++) {
            low[k] = fmin(low[k], at[k]);
            high[k] = fmax(high[k], at[k]);
        }
    }
    double extent = fmax(fmax(high[0] - low[0], high[1] - low[1]), 1);
    double step = extent / fmax(round(extent / SIDE), 1);
    struct grid x = lay_grid(low[0], high[0], step,
                             places->centred ? &places->server_x : NULL);
    struct grid y = lay_grid(low[1], high[1], step,
                             places->centred ? &places->server_y : NULL);
    cells->count = x.count * y.count;
    for (int32_t c = 0; c < cells->count; c++) {
        cells->box[c].at[0] = map_within(x.from + step * (c % x.count + .5),
                                         HALF_WIDE, MAP_WIDTH);
        cells->box[c].at[1] = map_within(y.from + step * (c / x.count + .5),
                                         HALF_HIGH, MAP_HEIGHT);
    }
    for (int32_t i = 0; i < net->nodes; i++) {
        map_place(net, places, i, at);
        cells->box_of[i] = in_grid(&x, at[0]) + x.count * in_grid(&y, at[1]);
    }
}

static int by_uplink(const void *one, const void *two, void *context)
{
    const struct pricer_network *net = context;
    int32_t i = *(const int32_t *)one, j = *(const int32_t *)two;
    double x = net->uplink[i], y = net->uplink[j];
    return x < y ? -1 : x > y ? 1 : (i > j) - (i < j);
}

/* Groups of equal size by uplink; nodes with equal ones by number, in which
 * neighbours are often close. */
static bool group_nodes(struct cells *cells)
{
    const struct pricer_network *net = cells->report->network;
    int32_t *order = calloc((size_t)net->nodes, sizeof *order);
    if (order == NULL)
        return false;
    for (int32_t i = 0; i < net->nodes; i++)
        order[i] = i;
    qsort_r(order, (size_t)net->nodes, sizeof *order, by_uplink, (void *)net);
    cells->count = GROUPS;
    for (int32_t c = 0; c < GROUPS; c++)
        map_circle(c, GROUPS, cells->box[c].at);
    for (int32_t k = 0; k < net->nodes; k++)
        cells->box_of[order[k]] = (int32_t)((int64_t)k * GROUPS / net->nodes);
    free(order);
    return true;
}

/* What a link carries; with 'scheme: forward' a node, if its most likely path
 * begins with it. */
static double carried(const struct report *report, int32_t link)
{
    if (report->forward != NULL)
        return report->path_link[report->network->from[link]] == link;
    return report->share[link];
}

/* What every box holds and brings, and what goes between them. O(links). */
static void add_up(struct cells *cells)
{
    const struct report *report = cells->report;
    const struct pricer_network *net = report->network;
    for (int32_t i = 0; i < net->nodes; i++) {
        struct box *box = &cells->box[cells->box_of[i]];
        double p = net->uplink[i];
        box->low_p = box->nodes == 0 ? p : fmin(box->low_p, p);
        box->high_p = fmax(box->high_p, p);
        box->nodes++;
        box->own += report->plan != NULL ? report->self_share[i] : 0;
        if (report->forward != NULL) {
            box->hops[hops_class(report, i)]++;
            box->arrival += report->forward->node[i].arrival;
        }
    }
    for (int32_t l = 0; l < net->links && report_planned(report); l++) {
        int32_t from = cells->box_of[net->from[l]];
        int32_t to = cells->box_of[net->to[l]];
        double share = carried(report, l);
        *(from == to ? &cells->box[to].inside : &cells->box[to].others) +=
            share;
        cells->flow[from][to] += from == to ? 0 : share;
    }
    for (int32_t c = 0; c < cells->count; c++) {
        cells->most = fmax(cells->most, brings(&cells->box[c]));
        cells->crossing += cells->box[c].others;
        for (int32_t d = 0; d < cells->count; d++)
            cells->widest = fmax(cells->widest, cells->flow[c][d]);
    }
}

/* -------------------------------------------------------------- drawing -- */

static void draw_flows(struct cells *cells)
{
    double bold = cells->places.placed ? 6 : 3; /* on a circle arrows cross */
    for (int32_t c = 0; c < cells->count; c++)
        for (int32_t d = 0; d < cells->count; d++) {
            const double *from = cells->box[c].at, *to = cells->box[d].at;
            double flow = cells->flow[c][d];
            const double ends[4] = {from[0], from[1], to[0], to[1]};
            if (!(flow > THIN * cells->widest))
                continue;
            cells->drawn += flow;
            map_arrow(cells->report->out, ends,
                      map_box_edge(ends, HALF_WIDE, HALF_HIGH),
                      (struct map_stroke){
                          "blue", .6 + bold * sqrt(flow / cells->widest),
                          cells->places.placed ? .75 : .5});
        }
}

static void draw_uplinks(const struct cells *cells)
{
    for (int32_t c = 0; c < cells->count; c++) {
        const struct box *box = &cells->box[c];
        const double ends[4] = {box->at[0], box->at[1], cells->places.server_x,
                                cells->places.server_y};
        bool forward = cells->report->forward != NULL;
        double share = forward ? (double)box->hops[0] / (double)box->nodes
                               : brings(box) / fmax(cells->most, 1e-9);
        if (box->nodes > 0 && (forward ? share > 0 : box->high_p > 0))
            map_arrow(
                cells->report->out, ends,
                map_box_edge(ends, MAP_SERVER_WIDE + 2, MAP_SERVER_HIGH + 2),
                (struct map_stroke){"green", .5 + 3.5 * share, .4});
    }
}

/* A count in at most four characters. */
static void put_count(FILE *out, int64_t count)
{
    if (count < 10000)
        fprintf(out, "%" PRId64, count);
    else if (count < 999500)
        fprintf(out, "%.0fk", (double)count / 1e3);
    else
        fprintf(out, "%.*fM", count < 9950000 ? 1 : 0, (double)count / 1e6);
}

/* How many relays its nodes need, as a strip of colours. */
static void draw_hops(FILE *out, const struct box *box)
{
    double at = box->at[0] - HALF_WIDE + 2;
    for (int k = 0; k < HOPS_CLASSES; k++) {
        double wide =
            2. * (HALF_WIDE - 2) * (double)box->hops[k] / (double)box->nodes;
        if (box->hops[k] > 0)
            fprintf(out,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                    "height=\"%d\" fill=\"var(--%s)\"/>",
                    at, box->at[1] + HALF_HIGH - STRIP - 2, wide, STRIP,
                    hops_colour(k));
        at += wide;
    }
}

static void draw_box(const struct cells *cells, const struct box *box)
{
    FILE *out = cells->report->out;
    bool forward = cells->report->forward != NULL;
    double unit = 2 * (HALF_WIDE - 2) / fmax(cells->most, 1e-9);
    double x = box->at[0] - HALF_WIDE, y = box->at[1] - HALF_HIGH;
    double own = unit * box->own, all = unit * brings(box);
    fprintf(out,
            "<g><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
            "rx=\"5\" fill=\"var(--card)\" stroke=\"var(--grey)\" "
            "stroke-width=\"1.5\"/><title>%" PRId64
            " nodes that reach the server with probability %.3g to %.3g",
            x, y, 2 * HALF_WIDE, 2 * HALF_HIGH, box->nodes, box->low_p,
            box->high_p);
    if (cells->report->plan != NULL)
        fprintf(out,
                ", bring %.4g to the sum: %.4g of their own, %.4g of each "
                "other, %.4g of other boxes",
                brings(box), box->own, box->inside, box->others);
    if (forward)
        fprintf(out, "; their releases arrive with probability %.4g on average",
                box->arrival / (double)box->nodes);
    fputs("</title>", out);
    if (forward)
        draw_hops(out, box);
    else
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
                "fill=\"var(--green)\"/><rect x=\"%.1f\" y=\"%.1f\" "
                "width=\"%.1f\" height=\"%d\" fill=\"var(--blue)\"/>",
                x + 2, box->at[1] + HALF_HIGH - STRIP - 2, fmax(own, 0), STRIP,
                x + 2 + own, box->at[1] + HALF_HIGH - STRIP - 2,
                fmax(all - own, 0), STRIP);
    fprintf(out,
            "<text class=\"count\" x=\"%.1f\" y=\"%.1f\" "
            "text-anchor=\"middle\" dominant-baseline=\"central\">",
            box->at[0], box->at[1] - STRIP + .5);
    put_count(out, box->nodes);
    fputs("</text></g>\n", out);
}

/* Beside the groups of a circle: their uplinks. */
static void draw_uplink_names(const struct cells *cells)
{
    struct map_space space = {0};
    char text[48];
    map_take(&space, cells->places.server_x, cells->places.server_y,
             MAP_SERVER_WIDE, MAP_SERVER_HIGH);
    for (int32_t c = 0; c < cells->count; c++)
        map_take(&space, cells->box[c].at[0], cells->box[c].at[1], HALF_WIDE,
                 HALF_HIGH);
    for (int32_t c = 0; c < cells->count; c++) {
        const struct box *box = &cells->box[c];
        if (box->low_p == box->high_p)
            snprintf(text, sizeof text, "p %.2g", box->low_p);
        else
            snprintf(text, sizeof text, "p %.2g–%.2g", box->low_p, box->high_p);
        if (!map_label(cells->report->out, &space, box->at, HALF_WIDE,
                       HALF_HIGH, text, false))
            map_label(cells->report->out, &space, box->at, HALF_WIDE, HALF_HIGH,
                      text, true);
    }
    free(space.box);
}

static void explain_hops(const struct cells *cells)
{
    const struct report *report = cells->report;
    FILE *out = report->out;
    fprintf(out, "<figcaption>All %" PRId32 " nodes: %s with their number. ",
            report->network->nodes,
            cells->places.placed
                ? "a box is a square of the field"
                : "a box is a group of nodes with alike uplinks, p,");
    hops_key(report);
    fputs(" Strips are shares of a box; blue arrows lead to the next node of "
          "such paths, wider the more nodes take them; green ones are uplinks "
          "that end them.</figcaption>\n",
          out);
}

static void explain(const struct cells *cells)
{
    const struct report *report = cells->report;
    FILE *out = report->out;
    if (report->forward != NULL) {
        explain_hops(cells);
        return;
    }
    double own = 0, inside = 0;
    for (int32_t c = 0; c < cells->count; c++) {
        own += cells->box[c].own;
        inside += cells->box[c].inside;
    }
    double all = own + inside + cells->crossing;
    fprintf(out,
            "<figcaption>All %" PRId32 " nodes: %s with so many of them. "
            "<span class=\"key\" style=\"background:var(--green)\"></span>"
            "uplinks, and in boxes their own data "
            "<span class=\"key\" style=\"background:var(--blue)\"></span>"
            "relayed from box to box, and in boxes others’ data; the wider or "
            "longer, the more the server is expected to count.",
            report->network->nodes,
            cells->places.placed
                ? "a box is a square of the field"
                : "a box is a group of nodes with alike uplinks, p,");
    if (all > 0)
        fprintf(out,
                " Of all that it counts %.3g %% comes over nodes’ own uplinks, "
                "%.3g %% over relays of the same box and %.3g %% over relays "
                "of another",
                100 * own / all, 100 * inside / all,
                100 * cells->crossing / all);
    if (all > 0 && cells->drawn < cells->crossing * (1 - 1e-9))
        fprintf(out, "; the arrows drawn carry %.4g %% of the last",
                100 * cells->drawn / cells->crossing);
    fputs(all > 0 ? ".</figcaption>\n" : "</figcaption>\n", out);
}

void report_cells(const struct report *report)
{
    struct cells *cells = calloc(1, sizeof *cells);
    if (cells == NULL)
        return;
    cells->report = report;
    cells->box_of =
        calloc((size_t)report->network->nodes, sizeof *cells->box_of);
    map_fit(report->network, MARGIN, &cells->places);
    bool ready = cells->box_of != NULL;
    if (ready && cells->places.placed)
        cut_field(cells);
    else
        ready = ready && group_nodes(cells);
    if (ready) {
        add_up(cells);
        map_open(report->out, &cells->places);
        draw_uplinks(cells);
        draw_flows(cells);
        for (int32_t c = 0; c < cells->count; c++)
            if (cells->box[c].nodes > 0)
                draw_box(cells, &cells->box[c]);
        map_server(report->out, &cells->places);
        if (!cells->places.placed)
            draw_uplink_names(cells);
        fputs("</svg>\n", report->out);
        explain(cells);
        fputs("</figure>\n", report->out);
    }
    free(cells->box_of);
    free(cells);
}
