/*
 * The part about the decoder: what becomes of the same sums weighed in different
 * ways, side by side, and how far that is from what anything could reach.
 */
#include "report.h"

#include <math.h>

enum { LEFT = 186, RIGHT = 384, BAR = 34 };

/* One bar of at most the whole width, the part above `least` paler. */
static void bar(FILE *out, int row, const char *name, double most, double least,
                double whole)
{
    double y = 6 + BAR * row, scale = (RIGHT - LEFT) / whole;
    double low = fmin(least, most);
    fprintf(out,
            "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\" "
            "dominant-baseline=\"central\">%s</text>\n"
            "<rect x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"22\" "
            "fill=\"var(--blue)\"/>\n"
            "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"22\" "
            "fill=\"var(--blue)\" opacity=\"0.4\"/>\n"
            "<text x=\"%.1f\" y=\"%.0f\" dominant-baseline=\"central\" "
            "class=\"quiet\">%.4g</text>\n",
            LEFT - 10, y + 11, name, LEFT, y, low * scale, LEFT + low * scale,
            y, (most - low) * scale, LEFT + most * scale + 7, y + 11, most);
}

static void draw_bars(const struct report *report)
{
    const struct pricer_decoder *decoder = report->decoder;
    FILE *out = report->out;
    double whole = fmax(decoder->constant, 1e-300);
    bool known = !isnan(report->floor.value);
    fprintf(out,
            "<figure>\n<svg class=\"bars\" viewBox=\"0 0 450 %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"Worst case of "
            "each decoder\">\n",
            BAR * (known ? 3 : 2) + 12);
    bar(out, 0, "constant, 1/n each", decoder->constant, decoder->constant,
        whole);
    bar(out, 1, "minimax", decoder->upper, decoder->lower, whole);
    if (known)
        bar(out, 2, "any plan, any decoder", report->floor.value,
            report->floor.value, whole);
    fputs("</svg>\n<figcaption>Mean squared error at worst, whatever the data. "
          "No linear decoder of this plan ends before the paler part",
          out);
    if (known)
        fputs("; no plan within the budgets with any linear decoder is below "
              "the last bar",
              out);
    fputs(".</figcaption>\n</figure>\n", out);
}

static void cell(FILE *out, double value)
{
    fputs("<td>", out);
    if (isnan(value))
        fputs("none", out);
    else
        page_number(out, value);
    fputs("</td>", out);
}

static void row(FILE *out, const char *name, double least, double most,
                const struct pricer_outcome *played)
{
    fprintf(out, "<tr><td>%s</td>", name);
    cell(out, least);
    cell(out, most);
    cell(out, played->mse);
    cell(out, played->mse_stderr);
    cell(out, played->bar);
    fputs("</tr>\n", out);
}

void report_decoder(const struct report *report)
{
    const struct pricer_decoder *decoder = report->decoder;
    FILE *out = report->out;
    if (report->plan == NULL)
        return;
    page_section(report, "decoder", "What the server makes of the sums",
                 "It knows which sums arrived and whose shares each holds. "
                 "Weighing them by that costs no privacy.");
    if (decoder == NULL) {
        page_missing(report,
                     "This plan has no decoder: every sum that arrives counts "
                     "1/n.",
                     "pricer plan --decoder minimax");
        fputs("</section>\n", out);
        return;
    }
    draw_bars(report);
    fputs("<div class=\"wide\"><table>\n<tr><th>decoder</th><th>at worst, at "
          "least</th><th>at worst, at most</th><th>random data, "
          "played</th><th>±</th><th>mean error bar</th></tr>\n",
          out);
    row(out, "constant", decoder->constant, decoder->constant,
        &report->played[PRICER_DECODE_CONSTANT]);
    row(out, "minimax", decoder->lower, decoder->upper,
        &report->played[PRICER_DECODE_MINIMAX]);
    row(out, "adaptive, no guarantee", NAN, NAN,
        &report->played[PRICER_DECODE_ADAPTIVE]);
    fputs("</table></div>\n", out);
    fputs("<p class=\"soft\">±: one standard error. An error bar is what the "
          "server says of its own estimate.</p>\n</section>\n",
          out);
}
