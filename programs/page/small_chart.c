/*
 * From numbers over rounds to a small chart in SVG. Lines differ by dashes too,
 * so that they can be told apart without colours.
 */
#include "small_chart.h"
#include "report.h"

#include <math.h>

enum {
    WIDTH = 340,
    HEIGHT = 150,
    LEFT = 46,
    RIGHT = 332,
    TOP = 26,
    BOTTOM = 126,
    STRIP_STEP = 4,
    STRIP_HEIGHT = 14,
};

static const char *const colours[SMALL_LINES] = {"blue", "orange"};
static const char *const dashes[SMALL_LINES] = {"none", "5 3"};

/* What the numbers are drawn to. */
struct scale {
    double first, last, top;
    double step; /* from one x to the next */
};

static double at_x(const struct scale *scale, double x)
{
    double range = scale->last - scale->first;
    return range > 0 ? LEFT + (x - scale->first) / range * (RIGHT - LEFT)
                     : RIGHT;
}

static double at_y(const struct scale *scale, double y)
{
    return BOTTOM - y / scale->top * (BOTTOM - TOP);
}

/* A round number that is not below the value. */
static double round_up(double value)
{
    static const double times[] = {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10};
    if (!(value > 0))
        return 1;
    double power = pow(10, floor(log10(value)));
    for (size_t k = 0; k < sizeof times / sizeof *times; k++)
        if (times[k] * power >= value * (1 - 1e-9))
            return times[k] * power;
    return 10 * power;
}

static struct scale find_scale(const struct small_chart *chart)
{
    double top = chart->top;
    for (int s = 0; s < chart->lines; s++)
        for (int k = 0; k < chart->count; k++)
            if (isfinite(chart->y[s][k]))
                top = fmax(top, chart->y[s][k]);
    if (isfinite(chart->level))
        top = fmax(top, chart->level);
    int gaps = chart->count > 1 ? chart->count - 1 : 1;
    return (struct scale){.first = chart->x[0],
                          .last = chart->x[chart->count - 1],
                          .top = top == chart->top && top > 0 ? top
                                                              : round_up(top),
                          .step = (double)(RIGHT - LEFT) / gaps};
}

static void put_label(FILE *out, double x, double y, const char *anchor,
                      const char *format, double value)
{
    fprintf(out,
            "<text class=\"quiet\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
            x, y, anchor);
    fprintf(out, format, value);
    fputs("</text>\n", out);
}

/* Beside the axis, where five characters fit. */
static void put_number(FILE *out, double y, double value)
{
    if (value >= 1e5)
        put_label(out, LEFT - 6, y, "end", "%.3gk", value / 1000);
    else
        put_label(out, LEFT - 6, y, "end", value >= 100 ? "%.0f" : "%.2g",
                  value);
}

static void draw_axes(FILE *out, const struct small_chart *chart,
                      const struct scale *scale)
{
    for (int k = 0; k <= 2; k++) {
        double value = scale->top * k / 2, y = at_y(scale, value);
        fprintf(out, "<path d=\"M%d %.1fH%d\" stroke=\"var(--line)\"/>\n", LEFT,
                y, RIGHT);
        if (k != 1)
            put_number(out, y + 4, value);
    }
    if (scale->first < scale->last)
        put_label(out, LEFT, BOTTOM + 18, "start", "round %.0f", scale->first);
    put_label(out, RIGHT, BOTTOM + 18, "end",
              scale->first < scale->last ? "%.0f" : "round %.0f", scale->last);
    if (!isfinite(chart->level))
        return;
    double y = at_y(scale, chart->level);
    fprintf(out,
            "<path d=\"M%d %.1fH%d\" stroke=\"var(--soft)\" "
            "stroke-dasharray=\"2 3\"/>\n",
            LEFT, y, RIGHT);
}

static void draw_bars(FILE *out, const struct small_chart *chart,
                      const struct scale *scale)
{
    double wide = fmax(fmin(scale->step - 1, 12), .8);
    fprintf(out, "<path fill=\"var(--%s)\" d=\"", colours[0]);
    for (int k = 0; k < chart->count; k++) {
        double y = chart->y[0][k];
        if (!isfinite(y) || y <= 0)
            continue;
        double x = fmax(at_x(scale, chart->x[k]) - wide, LEFT);
        fprintf(out, "M%.1f %dh%.1fV%.1fh-%.1fz", x, BOTTOM, wide,
                at_y(scale, y), wide);
    }
    fputs("\"/>\n", out);
}

static void draw_line(FILE *out, const struct small_chart *chart, int s,
                      const struct scale *scale)
{
    bool joined = false;
    fprintf(out,
            "<path fill=\"none\" stroke=\"var(--%s)\" stroke-width=\"1.8\" "
            "stroke-linecap=\"round\" stroke-dasharray=\"%s\" d=\"",
            colours[s], dashes[s]);
    for (int k = 0; k < chart->count; k++) {
        bool there = isfinite(chart->y[s][k]);
        if (there)
            fprintf(out, "%c%.1f %.1f", joined ? 'L' : 'M',
                    at_x(scale, chart->x[k]), at_y(scale, chart->y[s][k]));
        if (there && !joined) /* a point between gaps shows too */
            fputs("h.1", out);
        joined = there;
    }
    fputs("\"/>\n", out);
}

/* Which line is which, above: a dash in its colour, and its name. */
static void draw_key(FILE *out, const struct small_chart *chart)
{
    double x = LEFT;
    for (int s = 0; s < chart->lines + isfinite(chart->level); s++) {
        bool level = s == chart->lines;
        const char *name = level ? chart->level_name : chart->name[s];
        int letters = 0;
        for (const char *at = name; *at != '\0'; at++)
            letters += ((unsigned char)*at & 0xc0) != 0x80;
        fprintf(out,
                "<path d=\"M%.1f 12h16\" stroke=\"var(--%s)\" "
                "stroke-width=\"%s\" stroke-dasharray=\"%s\"/>"
                "<text class=\"quiet\" x=\"%.1f\" y=\"16\">",
                x, level ? "soft" : colours[s],
                chart->bars && s == 0 ? "8" : "2", level ? "2 3" : dashes[s],
                x + 21);
        page_text(out, name);
        fputs("</text>\n", out);
        x += 33 + 6.6 * letters;
    }
}

void small_chart_draw(FILE *out, const struct small_chart *chart)
{
    if (chart->count < 1)
        return;
    struct scale scale = find_scale(chart);
    fprintf(out,
            "<svg class=\"small\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"",
            WIDTH, HEIGHT);
    page_text(out, chart->title);
    fputs("\">\n", out);
    draw_axes(out, chart, &scale);
    for (int s = 0; s < chart->lines; s++)
        if (s == 0 && chart->bars)
            draw_bars(out, chart, &scale);
        else
            draw_line(out, chart, s, &scale);
    draw_key(out, chart);
    fputs("</svg>\n", out);
}

static void put_marks(FILE *out, uint64_t bits, int count, int high)
{
    for (int k = 0; k < count; k++)
        if (bits >> k & 1)
            fprintf(out, "M%d %dv-%d", STRIP_STEP * (count - k) - 2,
                    STRIP_HEIGHT, high);
}

void small_strip_draw(FILE *out, uint64_t gave, uint64_t came, int count)
{
    fprintf(out,
            "<svg class=\"strip\" viewBox=\"0 0 %d %d\" aria-hidden=\"true\">"
            "<path d=\"M0 %d.5H%d\" stroke=\"var(--line)\"/>"
            "<path stroke=\"var(--blue)\" stroke-width=\"3\" d=\"",
            STRIP_STEP * count, STRIP_HEIGHT, STRIP_HEIGHT - 1,
            STRIP_STEP * count);
    put_marks(out, gave, count, STRIP_HEIGHT);
    fputs("\"/><path stroke=\"var(--grey)\" stroke-width=\"3\" d=\"", out);
    put_marks(out, came & ~gave, count, 5);
    fputs("\"/></svg>", out);
}
