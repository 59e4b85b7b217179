/*
 * From numbers to a chart: axes with round ticks, lines with marks, levels with
 * names, a key above.
 */
#include "chart.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 540,
    HEIGHT = 380,
    LEFT = 68,
    RIGHT = 526,
    TOP = 64,
    BOTTOM = 322,
    KEY = 16,     /* where the key stands, */
    KEY_ROW = 20, /* in up to three rows */
};

static const char *const colours[CHART_LINES] = {"blue", "orange", "green",
                                                 "violet"};
static const char *const dashes[CHART_LINES] = {"none", "9 4", "3 4",
                                                "10 3 2 3"};
#define LEVEL_COLOUR "soft"
static const char *const level_dashes[CHART_LEVELS] = {"2 3", "6 3", "1 5",
                                                       "9 2 2 2"};

/* An axis: the numbers it shows, from low to high. */
struct axis {
    double low, high;
    bool log;
};

static double along(const struct axis *axis, double value)
{
    if (axis->log)
        return log(value / axis->low) / log(axis->high / axis->low);
    return (value - axis->low) / (axis->high - axis->low);
}

static double at_x(const struct axis *axis, double x)
{
    return LEFT + along(axis, x) * (RIGHT - LEFT);
}

static double at_y(const struct axis *axis, double y)
{
    return BOTTOM - along(axis, y) * (BOTTOM - TOP);
}

static void widen(struct axis *axis, double value)
{
    if (!isfinite(value) || (axis->log && !(value > 0)))
        return;
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

/* 1, 2 or 5 times a power of ten, near a fifth of the range. */
static double tick_step(const struct axis *axis)
{
    double rough = (axis->high - axis->low) / 5;
    double power = pow(10, floor(log10(rough)));
    double times = rough / power;
    return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

/* Round the ends outwards, so that the first and last tick are there. */
static void settle(struct axis *axis)
{
    if (!(axis->low <= axis->high))
        axis->low = axis->high = 1;
    if (axis->log) {
        if (axis->high < 1.5 * axis->low) {
            axis->low /= 1.5;
            axis->high *= 1.5;
        }
        return;
    }
    if (axis->low > 0)
        axis->low = 0;
    if (axis->high <= axis->low)
        axis->high = axis->low + 1;
    double step = tick_step(axis);
    axis->low = floor(axis->low / step) * step;
    axis->high = ceil(axis->high / step) * step;
}

/* The tick after this one; of a logarithmic axis 1, 2, 5, or decades where
 * there are many. */
static double next_tick(const struct axis *axis, double tick)
{
    double decades = log10(axis->high / axis->low);
    if (!axis->log)
        return tick + tick_step(axis);
    double power = pow(10, floor(log10(tick) + 1e-9));
    double times = tick / power;
    if (decades > 3)
        return power * 10;
    return power * (times < 1.5 ? 2 : times < 3.5 ? 5 : 10);
}

static double first_tick(const struct axis *axis)
{
    double tick = axis->low;
    if (axis->log) {
        tick = pow(10, floor(log10(axis->low) + 1e-9));
        while (tick < axis->low * (1 - 1e-9))
            tick = next_tick(axis, tick);
    }
    return tick;
}

static void put_text(FILE *out, double x, double y, const char *anchor,
                     const char *kind, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y,
            anchor, kind);
    page_text(out, text);
    fputs("</text>\n", out);
}

/* A tick's number, short: 0.25, 2e4, 1e-5. */
static void write_tick(char *text, size_t size, double tick)
{
    snprintf(text, size, "%.4g", fabs(tick) < 1e-12 ? 0 : tick);
    char *exponent = strchr(text, 'e');
    if (exponent == NULL)
        return;
    long power = strtol(exponent + 1, NULL, 10);
    snprintf(exponent + 1, size - (size_t)(exponent + 1 - text), "%ld", power);
}

static const char quiet[] = " class=\"quiet\"";

static void draw_axes(FILE *out, const struct chart *chart,
                      const struct axis *x, const struct axis *y)
{
    char text[32];
    double slack = 1 + 1e-9;
    for (double t = first_tick(y); t <= y->high * slack; t = next_tick(y, t)) {
        double place = at_y(y, t);
        fprintf(out,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" "
                "stroke=\"var(--line)\"/>\n",
                LEFT, place, RIGHT, place);
        write_tick(text, sizeof text, t);
        put_text(out, LEFT - 8, place + 4, "end", quiet, text);
    }
    for (double t = first_tick(x); t <= x->high * slack; t = next_tick(x, t)) {
        double place = at_x(x, t);
        fprintf(out,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" "
                "stroke=\"var(--soft)\"/>\n",
                place, BOTTOM, place, BOTTOM + 5);
        write_tick(text, sizeof text, t);
        put_text(out, place, BOTTOM + 20, "middle", quiet, text);
    }
    fprintf(out,
            "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" "
            "stroke=\"var(--soft)\"/>\n",
            LEFT, BOTTOM, RIGHT, BOTTOM);
    put_text(out, (LEFT + RIGHT) / 2., BOTTOM + 44, "middle", "",
             chart->x_name);
    fprintf(out, "<g transform=\"rotate(-90)\">");
    put_text(out, -(TOP + BOTTOM) / 2., 16, "middle", "", chart->y_name);
    fputs("</g>\n", out);
}

/* A mark of its own for every line: circle, square, diamond, triangle. */
static void put_mark(FILE *out, int kind, double x, double y, double size)
{
    fprintf(out, "<path fill=\"var(--%s)\" d=\"", colours[kind]);
    if (kind == 0)
        fprintf(out, "M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0",
                x - size, y, size, size, 2 * size, size, size, -2 * size);
    else if (kind == 1)
        fprintf(out, "M%.1f %.1fh%.1fv%.1fh%.1fz", x - size, y - size, 2 * size,
                2 * size, -2 * size);
    else if (kind == 2)
        fprintf(out, "M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", x,
                y - 1.3 * size, 1.3 * size, 1.3 * size, -1.3 * size, 1.3 * size,
                -1.3 * size, -1.3 * size);
    else
        fprintf(out, "M%.1f %.1fl%.1f %.1fh%.1fz", x, y - 1.2 * size,
                1.2 * size, 2.2 * size, -2.4 * size);
    fputs("\"/>\n", out);
}

static bool drawable(const struct chart *chart, const struct chart_line *line,
                     int k)
{
    return isfinite(line->x[k]) && isfinite(line->y[k]) &&
           (!chart->log_x || line->x[k] > 0) &&
           (!chart->log_y || line->y[k] > 0);
}

static void draw_line(FILE *out, const struct chart *chart, int kind,
                      const struct axis *x, const struct axis *y)
{
    const struct chart_line *line = &chart->line[kind];
    bool joined = false;
    fprintf(out,
            "<path fill=\"none\" stroke=\"var(--%s)\" stroke-width=\"2\" "
            "stroke-dasharray=\"%s\" d=\"M%d %d",
            colours[kind], dashes[kind], LEFT, BOTTOM);
    for (int k = 0; k < line->count && !chart->dots; k++) {
        bool there = drawable(chart, line, k);
        if (there)
            fprintf(out, "%c%.1f %.1f", joined ? 'L' : 'M', at_x(x, line->x[k]),
                    at_y(y, line->y[k]));
        joined = there;
    }
    fputs("\"/>\n", out);
    for (int k = 0; k < line->count && line->count <= 200; k++)
        if (drawable(chart, line, k))
            put_mark(out, kind, at_x(x, line->x[k]), at_y(y, line->y[k]),
                     chart->dots ? 2 : 4);
}

/* Roughly how wide a text is, in the units of the drawing, as large as a phone
 * shows it. */
static double width_of(const char *text)
{
    double width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80 ? 8.4 : 0;
    return width;
}

/* Whether a point of a drawing is under a text from x to x + width above y. */
static bool is_under(double at_x, double at_y, double x, double width, double y)
{
    return at_x > x - 8 && at_x < x + width + 8 && at_y > y - 20 &&
           at_y < y + 8;
}

/* Whether a line, its marks or the way between them, is under such a text. */
static bool is_crossed(const struct chart *chart, const struct chart_line *line,
                       const struct axis *axis_x, const struct axis *axis_y,
                       double x, double width, double y)
{
    enum { STEPS = 16 };
    for (int k = 0; k < line->count; k++) {
        int last = k > 0 && drawable(chart, line, k - 1) ? k - 1 : k;
        if (!drawable(chart, line, k))
            continue;
        double from_x = at_x(axis_x, line->x[last]);
        double from_y = at_y(axis_y, line->y[last]);
        double step_x = (at_x(axis_x, line->x[k]) - from_x) / STEPS;
        double step_y = (at_y(axis_y, line->y[k]) - from_y) / STEPS;
        for (int s = 0; s <= STEPS; s++)
            if (is_under(from_x + s * step_x, from_y + s * step_y, x, width, y))
                return true;
    }
    return false;
}

/* A level's name goes where nothing is drawn: to the right or left, above its
 * line or below. false: there is no such place, and the key has to tell. */
static bool name_level(FILE *out, const struct chart *chart,
                       const struct chart_level *level, const struct axis *x,
                       const struct axis *y)
{
    double place = at_y(y, level->y), width = width_of(level->name);
    const double spots[4][2] = {{RIGHT - width, place - 5},
                                {LEFT + 4, place - 5},
                                {RIGHT - width, place + 17},
                                {LEFT + 4, place + 17}};
    for (int k = 0; k < 4; k++) {
        bool crossed = spots[k][1] >= BOTTOM;
        for (int s = 0; s < chart->lines && !crossed; s++)
            crossed = is_crossed(chart, &chart->line[s], x, y, spots[k][0],
                                 width, spots[k][1]);
        for (int l = 0; l < chart->levels && !crossed; l++)
            crossed = &chart->level[l] != level &&
                      fabs(at_y(y, chart->level[l].y) - spots[k][1] + 6) < 22;
        if (crossed)
            continue;
        put_text(out, k % 2 == 0 ? RIGHT : LEFT + 4, spots[k][1],
                 k % 2 == 0 ? "end" : "start", quiet, level->name);
        return true;
    }
    return false;
}

/* What the key has to tell of the levels. */
static void draw_levels(FILE *out, const struct chart *chart,
                        const struct axis *x, const struct axis *y,
                        bool *in_key)
{
    for (int k = 0; k < chart->levels; k++) {
        const struct chart_level *level = &chart->level[k];
        in_key[k] = false;
        if (!isfinite(level->y) || (chart->log_y && !(level->y > 0)))
            continue;
        fprintf(out,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" "
                "stroke=\"var(--%s)\" stroke-dasharray=\"%s\"/>\n",
                LEFT, at_y(y, level->y), RIGHT, at_y(y, level->y), LEVEL_COLOUR,
                level_dashes[k]);
        in_key[k] = !name_level(out, chart, level, x, y);
    }
}

/* Where the key has come to. */
struct key {
    double x, y;
};

/* A dash in a line's colour and its name; without a mark for levels, -1. */
static void add_key(FILE *out, struct key *key, int mark, const char *colour,
                    const char *dash, const char *name)
{
    double width = 36 + width_of(name);
    if (key->x > LEFT && key->x + width > WIDTH) {
        key->x = LEFT;
        key->y += KEY_ROW;
    }
    fprintf(out,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"var(--%s)\" stroke-width=\"%d\" "
            "stroke-dasharray=\"%s\"/>\n",
            key->x, key->y - 4, key->x + 30, key->y - 4, colour,
            mark >= 0 ? 2 : 1, dash);
    if (mark >= 0)
        put_mark(out, mark, key->x + 15, key->y - 4, 4);
    put_text(out, key->x + 36, key->y, "start", "", name);
    key->x += width + 20;
}

static void draw_key(FILE *out, const struct chart *chart, const bool *in_key)
{
    struct key key = {LEFT, KEY};
    int entries = chart->lines;
    for (int k = 0; k < chart->levels; k++)
        entries += in_key[k];
    for (int k = 0; k < chart->lines && entries > 1; k++)
        add_key(out, &key, k, colours[k], dashes[k], chart->line[k].name);
    for (int k = 0; k < chart->levels; k++)
        if (in_key[k])
            add_key(out, &key, -1, LEVEL_COLOUR, level_dashes[k],
                    chart->level[k].name);
}

void chart_draw(FILE *out, const struct chart *chart)
{
    struct axis x = {INFINITY, -INFINITY, chart->log_x};
    struct axis y = {INFINITY, -INFINITY, chart->log_y};
    for (int s = 0; s < chart->lines; s++)
        for (int k = 0; k < chart->line[s].count; k++)
            if (drawable(chart, &chart->line[s], k)) {
                widen(&x, chart->line[s].x[k]);
                widen(&y, chart->line[s].y[k]);
            }
    for (int k = 0; k < chart->levels; k++)
        widen(&y, chart->level[k].y);
    settle(&x);
    settle(&y);
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"",
            WIDTH, HEIGHT);
    page_text(out, chart->title);
    fputs("\">\n", out);
    if (chart->bare)
        fprintf(out,
                "<style>%s"
                "text{fill:var(--ink);font:13px system-ui,'DejaVu Sans',"
                "sans-serif}.quiet{fill:var(--soft);font-size:12px;"
                "paint-order:stroke;stroke:var(--card);stroke-width:3px}"
                "</style>\n"
                "<rect width=\"%d\" height=\"%d\" fill=\"var(--card)\"/>\n",
                chart_palette(), WIDTH, HEIGHT);
    draw_axes(out, chart, &x, &y);
    for (int k = 0; k < chart->lines; k++)
        draw_line(out, chart, k, &x, &y);
    bool in_key[CHART_LEVELS];
    draw_levels(out, chart, &x, &y, in_key);
    draw_key(out, chart, in_key);
    fputs("</svg>\n", out);
}
