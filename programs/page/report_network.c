/*
 * The network of a report, drawn: nodes where they are, or on a circle around
 * the server; links as heavy as what they carry and as faint as they are
 * unlikely; relays in a colour of their own, or with 'scheme: forward' nodes by
 * how many relays they need. Networks of more nodes than can be drawn one by one
 * are drawn as cells: report_cells.c.
 */
#include "hops.h"
#include "map.h"
#include "report_cells.h"

#include <math.h>
#include <stdlib.h>

enum {
    MARGIN = 30,
    DRAWN_NODES = 120,
    DRAWN_LINKS = 1500,
    MANY = 40, /* nodes that are drawn smaller, and even */
    MORE = 60,
};

/* Who brings so much of others' data is shown as a relay. */
#define RELAYS 0.1

struct drawing {
    const struct report *report;
    struct map_places places;
    double (*at)[2]; /* [nodes] */
    int32_t *order;  /* [nodes] those that bring most first */
    double most;     /* the largest load */
};

/* What a node's size shows: all that it brings; with 'scheme: forward' how likely
 * its release arrives. */
static double load_of(const struct report *report, int32_t node)
{
    return report->plan != NULL      ? report->load[node]
           : report->forward != NULL ? report->forward->node[node].arrival
                                     : 0;
}

/* What a link carries: with 'scheme: forward' it is in use if it begins a node's
 * most likely path, and all that do look alike. */
static double share_of(const struct report *report, int32_t link)
{
    if (report->forward != NULL)
        return report->path_link[report->network->from[link]] == link ? .03 : 0;
    return report->plan != NULL ? report->share[link] : 0;
}

static int by_load(const void *one, const void *two, void *context)
{
    const struct report *report = context;
    int32_t i = *(const int32_t *)one, j = *(const int32_t *)two;
    double x = load_of(report, i), y = load_of(report, j);
    return x < y ? 1 : x > y ? -1 : (i > j) - (i < j);
}

static bool place(struct drawing *drawing)
{
    const struct report *report = drawing->report;
    const struct pricer_network *net = report->network;
    size_t nodes = (size_t)net->nodes;
    drawing->at = calloc(nodes, sizeof *drawing->at);
    drawing->order = calloc(nodes, sizeof *drawing->order);
    if (drawing->at == NULL || drawing->order == NULL)
        return false;
    map_fit(net, MARGIN, &drawing->places);
    for (int32_t i = 0; i < net->nodes; i++) {
        drawing->order[i] = i;
        drawing->most = fmax(drawing->most, load_of(report, i));
        if (drawing->places.placed)
            map_place(net, &drawing->places, i, drawing->at[i]);
        else
            map_circle(i, net->nodes, drawing->at[i]);
    }
    qsort_r(drawing->order, nodes, sizeof *drawing->order, by_load,
            (void *)report);
    return true;
}

/* ---------------------------------------------------------------- pieces -- */

/* How large a node is drawn. */
static double node_size(const struct drawing *drawing, int32_t i)
{
    int32_t nodes = drawing->report->network->nodes;
    double unit = nodes > MORE ? .3 : nodes > MANY ? .5 : 1;
    return unit * (10 + 8 * sqrt(load_of(drawing->report, i) /
                                 fmax(drawing->most, 1e-9)));
}

/* Whether a link is drawn among those that carry something or the others: once
 * for both directions where neither does. */
static bool eligible(const struct drawing *drawing, int32_t link, bool used)
{
    const struct report *report = drawing->report;
    const struct pricer_network *net = report->network;
    if ((share_of(report, link) > 1e-4) != used)
        return false;
    return used || net->partner[link] < 0 || net->partner[link] > link;
}

/* Links that carry nothing, or those that do, which are wider; of too many,
 * every so manieth. */
static void draw_links(const struct drawing *drawing, bool used)
{
    const struct report *report = drawing->report;
    const struct pricer_network *net = report->network;
    double thin = net->nodes > MANY ? .6 : 1;
    int32_t count = 0, seen = 0;
    for (int32_t l = 0; l < net->links; l++)
        count += eligible(drawing, l, used);
    int32_t every = count / DRAWN_LINKS + 1;
    for (int32_t l = 0; l < net->links; l++) {
        const double *from = drawing->at[net->from[l]];
        const double *to = drawing->at[net->to[l]];
        const double ends[4] = {from[0], from[1], to[0], to[1]};
        if (!eligible(drawing, l, used) || seen++ % every != 0)
            continue;
        if (used)
            map_arrow(report->out, ends, node_size(drawing, net->to[l]),
                      (struct map_stroke){
                          "blue", thin * (.8 + 5 * sqrt(share_of(report, l))),
                          .25 + .6 * net->p[l]});
        else
            map_line(report->out, ends,
                     (struct map_stroke){"grey", .7, .05 + .25 * net->p[l]});
    }
}

static void draw_uplinks(const struct drawing *drawing)
{
    const struct report *report = drawing->report;
    const struct pricer_network *net = report->network;
    double thin = net->nodes > MORE ? .4 : net->nodes > MANY ? .6 : 1;
    for (int32_t i = 0; i < net->nodes; i++) {
        const double ends[4] = {drawing->at[i][0], drawing->at[i][1],
                                drawing->places.server_x,
                                drawing->places.server_y};
        bool forward = report->forward != NULL;
        bool other = forward && report->path_relays[i] != 0;
        if (net->uplink[i] > 0)
            map_arrow(
                report->out, ends,
                map_box_edge(ends, MAP_SERVER_WIDE + 2, MAP_SERVER_HIGH + 2),
                (struct map_stroke){
                    other ? "grey" : "green",
                    forward ? 1.4 * thin
                            : thin * (1 + 2.5 * sqrt(load_of(report, i))),
                    (net->nodes > MORE ? .4 : 1) *
                        (.12 + .75 * net->uplink[i])});
    }
}

/* Whether a node's name fits into it as a phone shows it. */
static bool fits_inside(const struct drawing *drawing, int32_t i)
{
    const struct pricer_network *net = drawing->report->network;
    int letters = i < 10 ? 1 : i < 100 ? 2 : 3;
    bool number = net->name == NULL || net->name[i][0] == '\0';
    return number && 2 * node_size(drawing, i) >= MAP_LABEL_WIDE * letters + 8;
}

static void draw_node(const struct drawing *drawing, int32_t i)
{
    const struct report *report = drawing->report;
    const struct pricer_forward_plan *forward = report->forward;
    FILE *out = report->out;
    double own = report->plan != NULL ? report->self_share[i] : 0;
    bool relay = report->plan != NULL && load_of(report, i) > own + RELAYS;
    fprintf(out,
            "<g><circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" "
            "fill=\"var(--%s)\" stroke=\"var(--card)\" "
            "stroke-width=\"2\"/>",
            drawing->at[i][0], drawing->at[i][1], node_size(drawing, i),
            forward != NULL ? hops_colour(hops_class(report, i))
            : relay         ? "orange"
                            : "grey");
    fprintf(out, "<title>node %s: reaches the server with probability %.3g",
            node_label(report->network, i).text, report->network->uplink[i]);
    if (report->plan != NULL)
        fprintf(out,
                ", brings %.3g to the sum, %.3g of it its own; its data "
                "weighs %.3g",
                load_of(report, i), own, report->reach[i]);
    if (forward != NULL)
        fprintf(out,
                "; its release arrives with probability %.3g and counts %.4g "
                "times",
                forward->node[i].arrival, forward->node[i].coefficient);
    fputs("</title>", out);
    if (fits_inside(drawing, i))
        fprintf(out,
                "<text class=\"in\" x=\"%.1f\" y=\"%.1f\" "
                "text-anchor=\"middle\" dominant-baseline=\"central\">%d"
                "</text>",
                drawing->at[i][0], drawing->at[i][1], (int)i);
    fputs("</g>\n", out);
}

/* Names beside nodes, those that bring most first: as a phone shows them, then
 * more of them where letters are small. */
static void draw_names(const struct drawing *drawing)
{
    const struct report *report = drawing->report;
    const struct pricer_network *net = report->network;
    struct map_space space = {0};
    bool *done = calloc((size_t)net->nodes, sizeof *done);
    map_take(&space, drawing->places.server_x, drawing->places.server_y,
             MAP_SERVER_WIDE, MAP_SERVER_HIGH);
    for (int32_t i = 0; i < net->nodes; i++)
        map_take(&space, drawing->at[i][0], drawing->at[i][1],
                 node_size(drawing, i), node_size(drawing, i));
    for (int desk = 0; desk < 2 && done != NULL; desk++)
        for (int32_t k = 0; k < net->nodes; k++) {
            int32_t i = drawing->order[k];
            bool named = net->name != NULL && net->name[i][0] != '\0';
            double size = node_size(drawing, i);
            char number[16];
            snprintf(number, sizeof number, "%d", (int)i);
            if (!done[i] && !fits_inside(drawing, i))
                done[i] = map_label(report->out, &space, drawing->at[i], size,
                                    size, named ? net->name[i] : number, desk);
        }
    free(done);
    free(space.box);
}

static void draw(const struct drawing *drawing)
{
    FILE *out = drawing->report->out;
    map_open(out, &drawing->places);
    draw_links(drawing, false);
    draw_uplinks(drawing);
    draw_links(drawing, true);
    map_server(out, &drawing->places);
    for (int32_t k = drawing->report->network->nodes - 1; k >= 0; k--)
        draw_node(drawing, drawing->order[k]);
    draw_names(drawing);
    if (drawing->report->forward != NULL) {
        fputs("</svg>\n<figcaption>", out);
        hops_key(drawing->report);
        fputs(" Blue and green arrows show these paths, grey lines other links "
              "and uplinks, which carry releases too. The fainter a line, the "
              "less likely it is up; the larger a node, the likelier its "
              "release arrives.</figcaption>\n</figure>\n",
              out);
        return;
    }
    fputs("</svg>\n<figcaption><span class=\"key\" "
          "style=\"background:var(--orange)\"></span>relays at least a tenth "
          "of a node’s data "
          "<span class=\"key\" style=\"background:var(--grey)\"></span>"
          "does not <span class=\"key\" "
          "style=\"background:var(--blue)\"></span>link that carries data, "
          "wider the more it does <span class=\"key\" "
          "style=\"background:var(--green)\"></span>uplink. The fainter a "
          "line, the less likely it is up; the larger a node, the more it "
          "brings; arrows point to who receives.</figcaption>\n</figure>\n",
          out);
}

void report_network(const struct report *report)
{
    struct drawing drawing = {.report = report};
    page_section(report, "network", "The network",
                 report_planned(report)
                     ? NULL
                     : "Without a plan every link is drawn as unused.");
    if (report->network->nodes > DRAWN_NODES)
        report_cells(report);
    else if (place(&drawing))
        draw(&drawing);
    free(drawing.at);
    free(drawing.order);
    fputs("</section>\n", report->out);
}
