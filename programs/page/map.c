/*
 * From places and numbers to the pieces of a network's drawing.
 */
#include "map.h"

#include <math.h>
#include <stdlib.h>

/* --------------------------------------------------------------- places -- */

double map_within(double middle, double half, double size)
{
    return fmin(fmax(middle, half + 1), size - half - 1);
}

void map_fit(const struct pricer_network *network, double margin,
             struct map_places *places)
{
    double low_x = INFINITY, high_x = -INFINITY;
    double low_y = INFINITY, high_y = -INFINITY;
    *places = (struct map_places){.placed = network->x != NULL,
                                  .centred = true,
                                  .server_x = MAP_WIDTH / 2.,
                                  .server_y = MAP_HEIGHT / 2.};
    for (int32_t i = 0; i < network->nodes && places->placed; i++) {
        places->placed = isfinite(network->x[i]) && isfinite(network->y[i]);
        low_x = fmin(low_x, network->x[i]);
        high_x = fmax(high_x, network->x[i]);
        low_y = fmin(low_y, network->y[i]);
        high_y = fmax(high_y, network->y[i]);
    }
    if (!places->placed)
        return;
    double wide = fmax(high_x - low_x, 1e-9), high = fmax(high_y - low_y, 1e-9);
    places->scale =
        fmin((MAP_WIDTH - 2 * margin) / wide, (MAP_HEIGHT - 2 * margin) / high);
    places->low_x = (low_x + high_x) / 2 - MAP_WIDTH / 2. / places->scale;
    places->low_y = (low_y + high_y) / 2 - MAP_HEIGHT / 2. / places->scale;
    places->centred = low_x <= 0 && high_x >= 0 && low_y <= 0 && high_y >= 0;
    if (places->centred) {
        places->server_x = map_within(-places->low_x * places->scale,
                                      MAP_SERVER_WIDE, MAP_WIDTH);
        places->server_y = map_within(-places->low_y * places->scale,
                                      MAP_SERVER_HIGH, MAP_HEIGHT);
    } else { /* no place is known for it: below the others */
        places->server_y = MAP_HEIGHT + MAP_SERVER_ROOM / 2.;
    }
}

void map_place(const struct pricer_network *network,
               const struct map_places *places, int32_t node, double *at)
{
    at[0] = (network->x[node] - places->low_x) * places->scale;
    at[1] = (network->y[node] - places->low_y) * places->scale;
}

void map_circle(int32_t k, int32_t count, double *at)
{
    const double circle = 2 * acos(-1), radius = MAP_HEIGHT / 2. - 32;
    double angle = circle * k / count - circle / 4;
    at[0] = MAP_WIDTH / 2. + 1.12 * radius * cos(angle);
    at[1] = MAP_HEIGHT / 2. + radius * sin(angle);
}

/* --------------------------------------------------------------- pieces -- */

void map_open(FILE *out, const struct map_places *places)
{
    fprintf(out,
            "<figure>\n<svg class=\"map\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" "
            "aria-label=\"The network: nodes, links and the server\">\n",
            MAP_WIDTH, MAP_HEIGHT + (places->centred ? 0 : MAP_SERVER_ROOM));
}

void map_server(FILE *out, const struct map_places *places)
{
    fprintf(out,
            "<g><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
            "rx=\"5\" fill=\"var(--green)\" stroke=\"var(--card)\" "
            "stroke-width=\"2\"/><text class=\"in\" x=\"%.1f\" y=\"%.1f\" "
            "text-anchor=\"middle\" dominant-baseline=\"central\">"
            "server</text></g>\n",
            places->server_x - MAP_SERVER_WIDE,
            places->server_y - MAP_SERVER_HIGH, 2 * MAP_SERVER_WIDE,
            2 * MAP_SERVER_HIGH, places->server_x, places->server_y);
}

void map_line(FILE *out, const double *ends, struct map_stroke stroke)
{
    fprintf(out,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"var(--%s)\" stroke-width=\"%.2f\" "
            "stroke-opacity=\"%.3f\"/>\n",
            ends[0], ends[1], ends[2], ends[3], stroke.colour, stroke.width,
            stroke.opacity);
}

void map_arrow(FILE *out, const double *ends, double short_by,
               struct map_stroke stroke)
{
    double dx = ends[2] - ends[0], dy = ends[3] - ends[1];
    double length = hypot(dx, dy), head = 3 + 1.6 * stroke.width;
    if (length < short_by + head + 2) {
        map_line(out, ends, stroke);
        return;
    }
    dx /= length;
    dy /= length;
    double side = .8 + stroke.width / 2;
    double tip_x = ends[2] - dx * (short_by + 1) - dy * side;
    double tip_y = ends[3] - dy * (short_by + 1) + dx * side;
    double neck_x = tip_x - dx * head, neck_y = tip_y - dy * head;
    const double shaft[4] = {ends[0] - dy * side, ends[1] + dx * side, neck_x,
                             neck_y};
    map_line(out, shaft, stroke);
    fprintf(out,
            "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fz\" "
            "fill=\"var(--%s)\" fill-opacity=\"%.3f\"/>\n",
            tip_x, tip_y, neck_x - dy * head * .5, neck_y + dx * head * .5,
            neck_x + dy * head * .5, neck_y - dx * head * .5, stroke.colour,
            fmin(1, stroke.opacity + .15));
}

double map_box_edge(const double *ends, double half_wide, double half_high)
{
    double dx = fabs(ends[2] - ends[0]), dy = fabs(ends[3] - ends[1]);
    double length = fmax(hypot(dx, dy), 1e-9);
    return fmin(half_wide * length / fmax(dx, 1e-9),
                half_high * length / fmax(dy, 1e-9));
}

/* --------------------------------------------------------------- labels -- */

void map_take(struct map_space *space, double x, double y, double half_wide,
              double half_high)
{
    if (space->count == space->room) {
        int32_t room = 2 * space->room + 64;
        double(*moved)[4] =
            realloc(space->box, (size_t)room * sizeof *space->box);
        if (moved == NULL) /* a label may then cover another */
            return;
        space->box = moved;
        space->room = room;
    }
    double *box = space->box[space->count++];
    box[0] = x - half_wide;
    box[1] = y - half_high;
    box[2] = x + half_wide;
    box[3] = y + half_high;
}

static bool is_free(const struct map_space *space, double x, double y,
                    double half_wide, double half_high)
{
    if (x - half_wide < 2 || x + half_wide > MAP_WIDTH - 2 ||
        y - half_high < 1 || y + half_high > MAP_HEIGHT - 1)
        return false;
    for (int32_t k = 0; k < space->count; k++) {
        const double *box = space->box[k];
        if (x - half_wide < box[2] && x + half_wide > box[0] &&
            y - half_high < box[3] && y + half_high > box[1])
            return false;
    }
    return true;
}

bool map_label(FILE *out, struct map_space *space, const double *at,
               double half_wide, double half_high, const char *text, bool desk)
{
    /* Which way from the thing; the last four begin or end with it. */
    static const double side[12][2] = {{1, 0},  {-1, 0},  {0, 1},   {0, -1},
                                       {1, .8}, {1, -.8}, {-1, .8}, {-1, -.8},
                                       {1, 1},  {1, -1},  {-1, 1},  {-1, -1}};
    double letters = 0, size = desk ? .72 : 1;
    for (const char *letter = text; *letter != '\0'; letter++)
        letters += ((unsigned char)*letter & 0xc0) != 0x80;
    double wide = size * MAP_LABEL_WIDE * letters / 2 + 1;
    double high = size * MAP_LABEL_HIGH / 2;
    for (int k = 0; k < 12; k++) {
        double away = k < 8 ? half_wide + 2 : -half_wide;
        double edge = side[k][0] * away;
        double x = at[0] + edge + side[k][0] * wide;
        double y = at[1] + side[k][1] * (half_high + high + 1);
        if (!is_free(space, x, y, wide, high))
            continue;
        map_take(space, x, y, wide, high);
        fprintf(out,
                "<text class=\"out%s\" x=\"%.1f\" y=\"%.1f\" "
                "text-anchor=\"%s\" dominant-baseline=\"central\">",
                desk ? " desk" : "", at[0] + edge, y,
                side[k][0] > 0   ? "start"
                : side[k][0] < 0 ? "end"
                                 : "middle");
        page_text(out, text);
        fputs("</text>\n", out);
        return true;
    }
    return false;
}
