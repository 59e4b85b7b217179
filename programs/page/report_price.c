/*
 * What the least error would change by: the links and the budgets that are worth
 * most, in a table each and in a sentence.
 */
#include "report.h"

#include <math.h>
#include <string.h>

enum { TOP = 6, TRUST = 0, LINKS = 1 };

/* Something that could be a tenth better. */
struct offer {
    const char *what; /* of a node; NULL: the link from `from` to `to` */
    int32_t from, to;
    double now, saves;
};

struct offers {
    struct offer offer[TOP]; /* what saves most first */
    int count;
};

/* Keep the best in order; the list is short. */
static void keep(struct offers *list, struct offer offer)
{
    int at = list->count;
    if (!(offer.saves > 0) || !isfinite(offer.saves))
        return;
    while (at > 0 && list->offer[at - 1].saves < offer.saves)
        at--;
    if (at == TOP)
        return;
    int last = list->count < TOP ? list->count : TOP - 1;
    memmove(list->offer + at + 1, list->offer + at,
            (size_t)(last - at) * sizeof offer);
    list->offer[at] = offer;
    list->count += list->count < TOP;
}

/* What 10 % more eps, or 10 % fewer failures, come to. */
static double of_eps(double price)
{
    return -price * log(1.1);
}

static double of_p(double price, double p)
{
    return -price * .1 * (1 - p);
}

static void gather(const struct report *report, struct offers list[2])
{
    const struct pricer_network *net = report->network;
    for (int32_t l = 0; l < net->links; l++) {
        int32_t from = net->from[l], to = net->to[l];
        if (report->price != NULL)
            keep(&list[TRUST], (struct offer){NULL, from, to, net->eps[l],
                                              of_eps(report->price[l])});
        keep(&list[LINKS], (struct offer){NULL, from, to, net->p[l],
                                          of_p(report->p_price[l], net->p[l])});
    }
    for (int32_t i = 0; i < net->nodes; i++) {
        if (report->self_price != NULL)
            keep(&list[TRUST],
                 (struct offer){"own part", i, i, net->self_eps[i],
                                of_eps(report->self_price[i])});
        if (report->everyone_price != NULL)
            keep(&list[TRUST],
                 (struct offer){"", i, i, net->everyone_eps[i],
                                of_eps(report->everyone_price[i])});
        if (net->server_eps != NULL)
            keep(&list[TRUST],
                 (struct offer){"all paths", i, i, net->server_eps[i],
                                of_eps(report->server_price[i])});
        keep(&list[LINKS],
             (struct offer){"uplink", i, i, net->uplink[i],
                            of_p(report->uplink_price[i], net->uplink[i])});
    }
}

static void put_name(const struct report *report, const struct offer *offer)
{
    if (offer->what == NULL)
        fprintf(report->out, "%s → %s",
                node_label(report->network, offer->from).text,
                node_label(report->network, offer->to).text);
    else if (offer->what[0] == '\0')
        fprintf(report->out, "%s → everyone",
                node_label(report->network, offer->from).text);
    else
        fprintf(report->out, "%s → server, %s",
                node_label(report->network, offer->from).text, offer->what);
}

static void offers_table(const struct report *report, const struct offers *list,
                         const char *now)
{
    FILE *out = report->out;
    fprintf(out,
            "<div class=\"wide\"><table>\n<tr><th>%s</th><th>%s now</th>"
            "<th>error falls by</th><th>of the error</th></tr>\n",
            strcmp(now, "ε") == 0 ? "trust" : "link", now);
    for (int k = 0; k < list->count; k++) {
        const struct offer *offer = &list->offer[k];
        if (offer->saves < 1e-4 * list->offer[0].saves)
            break; /* next to nothing */
        fputs("<tr><td>", out);
        put_name(report, offer);
        fputs("</td><td>", out);
        page_number(out, offer->now);
        fputs("</td><td>", out);
        page_number(out, offer->saves);
        fprintf(out, "</td><td>%.2g %%</td></tr>\n",
                100 * offer->saves / report->error.objective);
    }
    fputs("</table></div>\n", out);
}

void report_price(const struct report *report)
{
    struct offers list[2] = {0};
    if (report->p_price == NULL)
        return;
    gather(report, list);
    page_section(report, "price", "What a better link or more trust would save",
                 "How much the least error falls, to first order and with "
                 "everything replanned, if one link fails a tenth less often, "
                 "or one ε grows by a tenth.");
    if (list[LINKS].count > 0)
        offers_table(report, &list[LINKS], "p");
    if (list[TRUST].count > 0)
        offers_table(report, &list[TRUST], "ε");
    if (list[LINKS].count + list[TRUST].count == 0)
        fputs("<p>No link and no budget costs anything.</p>\n", report->out);
    fputs("</section>\n", report->out);
}

void report_worth(const struct report *report)
{
    struct offers list[2] = {0};
    if (report->p_price == NULL)
        return;
    gather(report, list);
    if (list[LINKS].count > 0) {
        fputs(" Fewer failures of ", report->out);
        put_name(report, &list[LINKS].offer[0]);
        fputs(" would lower the error most among links", report->out);
        fputs(list[TRUST].count > 0 ? "; more ε of " : ".", report->out);
    } else if (list[TRUST].count > 0) {
        fputs(" More ε of ", report->out);
    }
    if (list[TRUST].count > 0) {
        put_name(report, &list[TRUST].offer[0]);
        fputs(" most among budgets.", report->out);
    }
}
