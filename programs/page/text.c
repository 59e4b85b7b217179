/*
 * From text and numbers of a study, which may come from a stranger, to what
 * stands on a page.
 */
#include "report.h"

#include <math.h>

void page_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            /* Control characters have no place in a page. */
            fputc((unsigned char)*text < ' ' && *text != '\n' ? ' ' : *text,
                  out);
        }
}

void page_number(FILE *out, double value)
{
    if (isnan(value))
        fputs("–", out);
    else if (isinf(value))
        fputs(value > 0 ? "∞" : "−∞", out);
    else if (value != 0 && (fabs(value) < 1e-3 || fabs(value) >= 1e6))
        fprintf(out, "%.3g", value);
    else
        fprintf(out, "%.4g", value);
}
