/*
 * From text and numbers of a study, which may come from a stranger, to what
 * stands on a page.
 */
#include "report.h"

#include <math.h>
#include <string.h>

enum { NAME = 14, LETTER = 9 }; /* letters of a name, and how wide one is */

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
    else if (value > 0 && value < 1e-300) /* rounded up from next to nothing */
        fputs("&lt;1e-300", out);
    else if (value != 0 && (fabs(value) < 1e-3 || fabs(value) >= 1e6))
        fprintf(out, "%.3g", value);
    else
        fprintf(out, "%.4g", value);
}

void page_node(FILE *out, const struct pricer_network *network, int32_t node)
{
    const char *name = network->name != NULL ? network->name[node] : "";
    if (name[0] == '\0')
        fprintf(out, "node %d", (int)node);
    else if (strlen(name) <= NAME)
        page_text(out, name);
    else /* the number tells apart what begins alike */
        fprintf(out, "%.*s… %d", NAME - 6, name, (int)node);
}

int page_node_room(const struct pricer_network *network)
{
    char number[16];
    size_t longest =
        5 + (size_t)snprintf(number, sizeof number, "%d", (int)network->nodes);
    for (int32_t i = 0; i < network->nodes && network->name != NULL; i++) {
        size_t length = strlen(network->name[i]);
        longest = length > longest ? length : longest;
    }
    return LETTER * (int)(longest < NAME ? longest : NAME) + 16;
}
