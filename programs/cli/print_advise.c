/*
 * From advice to tables for people, to one JSON object for scripts and to a
 * figure of the trade-off.
 */
#include "print_advise.h"
#include "print_meaning.h"
#include "common/meaning.h"
#include "page/chart.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const towards_words[TOWARDS_KINDS] = {"links", "server",
                                                         "everyone"};
static const char *const price_words[] = {"trust", "own part", "all paths",
                                          "link", "uplink"};

static double centre_of(const struct advice *advice)
{
    return meaning_centre(advice->from.network);
}

/* --------------------------------------------------------------- tables -- */

static void share_cell(struct table *table, double value, double whole)
{
    table_cell(table, "%.4g %%", 100 * value / whole);
}

static void print_curves(const struct advice *advice)
{
    double centre = centre_of(advice);
    struct table *table =
        table_new(8, (const char *const[]){
                         "budgets times", "eps, links", "error", "eps, server",
                         "error", "everyone's: error", "of R^2", "privacy"});
    double gap = 0;
    for (int k = 0; k < advice->points; k++) {
        const struct advice_point *all = &advice->curve[TOWARDS_EVERYONE][k];
        table_cell(table, "%.4g", all->factor);
        for (int kind = 0; kind < TOWARDS_EVERYONE; kind++) {
            const struct advice_point *point = &advice->curve[kind][k];
            table_cell(table, advice->varies[kind] ? "%.4g" : "-", point->eps);
            table_cell(table, advice->varies[kind] ? "%.5g" : "-",
                       point->objective);
            gap = fmax(gap, advice->varies[kind] ? point->gap : 0);
        }
        table_cell(table, "%.5g", all->objective);
        share_cell(table, all->objective, centre);
        table_cell(table, "%s", meaning_eps(all->eps));
        gap = fmax(gap, all->gap);
    }
    table_print(table, stdout);
    printf("eps: the largest budget, all others in proportion; server: own "
           "parts%s;\nprivacy: of everyone's. Relative gaps are at most %.1e.\n"
           "error: %s.\nFull trust would leave %.4g",
           advice->from.network->server_eps != NULL ? " and all paths" : "",
           gap,
           advice->settings.bias == PRICER_BIAS_WORST_CASE
               ? "at worst, in squared units of the data"
               : "the objective, with its bias term",
           advice->limit[TOWARDS_EVERYONE]);
    puts(": what links that come and go cost.");
}

/* The wanted error takes an eps that nobody should be advised to give. */
static void print_beyond(const struct advice *advice)
{
    const struct advice_point *weak = &advice->at_weak;
    printf("\nAn error of %.6g, %.4g %% of R^2, cannot be reached by trust "
           "towards %s with any privacy:\nthat would take a largest eps of "
           "%.4g (%s).\n",
           advice->wanted, 100 * advice->wanted / centre_of(advice),
           towards_words[advice->request.towards], advice->at_error.eps,
           meaning_eps(advice->at_error.eps));
    if (weak->factor > 0)
        printf("With a largest eps of %g (%s) the error is %.4g, %.4g %% of "
               "R^2.\n",
               weak->eps, meaning_eps(weak->eps), weak->objective,
               100 * weak->objective / centre_of(advice));
    puts("Other changes: see below.");
}

static void print_wanted(const struct advice *advice)
{
    const char *towards = towards_words[advice->request.towards];
    double centre = centre_of(advice);
    if (advice->wants_eps)
        printf("\nWith a largest eps of %.6g towards %s (privacy: %s; "
               "budgets times %.4g)\nthe error is %.8g, %.4g %% of R^2 (gap "
               "%.1e).\n",
               advice->at_eps.eps, towards, meaning_eps(advice->at_eps.eps),
               advice->at_eps.factor, advice->at_eps.objective,
               100 * advice->at_eps.objective / centre, advice->at_eps.gap);
    if (!advice->wants_error)
        return;
    if (isnan(advice->at_error.factor))
        printf("\nAn error of %.6g cannot be reached by trust towards %s: full "
               "trust leaves %.6g.\nBetter links can: see below.\n",
               advice->wanted, towards, advice->limit[advice->request.towards]);
    else if (advice->at_error.eps > MEANING_WEAK)
        print_beyond(advice);
    else
        printf(
            "\nAn error of %.6g, %.4g %% of R^2, needs a largest eps of "
            "%.8g towards %s\n(privacy: %s; budgets times %.6g, gap %.1e).\n",
            advice->wanted, 100 * advice->wanted / centre, advice->at_error.eps,
            towards, meaning_eps(advice->at_error.eps), advice->at_error.factor,
            advice->at_error.gap);
}

static void print_family(const struct advice *advice, int family)
{
    const struct pricer_network *net = advice->from.network;
    bool trust = family == FAMILY_TRUST;
    struct table *table = table_new(
        5, (const char *const[]){trust ? "price of trust" : "price of links",
                                 "", "now", "d objective",
                                 trust ? "10 % more eps saves"
                                       : "10 % fewer failures save"});
    for (int k = 0; k < advice->prices[family]; k++) {
        const struct advice_price *price = &advice->price[family][k];
        table_cell(table, "%s", price_words[price->of]);
        if (price->from == price->to)
            table_cell(table, "%s to server",
                       node_label(net, price->from).text);
        else
            table_cell(table, "%s to %s", node_label(net, price->from).text,
                       node_label(net, price->to).text);
        table_cell(table, "%s %g", trust ? "eps" : "p", price->now);
        table_cell(table, "%.4g / d %s", price->price, trust ? "ln eps" : "p");
        table_cell(table, "%.3g %%", 100 * price->saves);
    }
    table_print(table, stdout);
}

static void print_prices(const struct advice *advice)
{
    bool none = true;
    for (int family = 0; family < ADVICE_FAMILIES; family++)
        if (advice->prices[family] > 0) {
            putchar('\n');
            print_family(advice, family);
            none = false;
        }
    puts(none ? "\nNo single link or budget has a price."
              : "saves: a share of the error, to first order, everything "
                "replanned.");
}

static void print_uplinks(const struct advice *advice)
{
    if (advice->placed == 0)
        return;
    putchar('\n');
    struct table *table =
        table_new(5, (const char *const[]){"good uplinks at", "error", "of R^2",
                                           "saves", "gap"});
    for (int k = 0; k < advice->placed; k++) {
        const struct advice_uplinks *set = &advice->uplinks[k];
        char text[1024];
        int length = 0;
        for (int j = 0; j < set->count && length < 900; j++)
            length +=
                snprintf(text + length, sizeof text - (size_t)length, "%s%s",
                         j > 0 ? ", " : "",
                         node_label(advice->from.network, set->node[j]).text);
        table_cell(table, "node%s %s", set->count > 1 ? "s" : "", text);
        table_cell(table, "%.5g", set->point.objective);
        share_cell(table, set->point.objective, centre_of(advice));
        table_cell(table, "%.3g %%",
                   100 * (1 - set->point.objective / advice->here.objective));
        table_cell(table, "%.1e", set->point.gap);
    }
    table_print(table, stdout);
    printf("p = %g each; %s.\n", advice->request.uplink,
           advice->all_sets
               ? "the best of all sets, each planned anew"
               : "each the best of the likeliest nodes beside those before "
                 "it, planned anew");
}

void advice_tables(const struct advice *advice)
{
    const struct pricer_network *net = advice->from.network;
    char relative[MEANING_REFERENCE_ROOM];
    printf("%d nodes, %d links; bias term %s, %s noise, %.3g s\n"
           "As it is: error %.6g, %.4g %% of R^2, %s than %s.\n",
           (int)net->nodes, (int)net->links,
           pricer_word(PRICER_WORDS_BIAS, advice->settings.bias),
           pricer_word(PRICER_WORDS_CALIBRATION, advice->settings.calibration),
           advice->seconds, advice->here.objective,
           100 * advice->here.objective / centre_of(advice),
           meaning_verdict(advice->here.worst_case / centre_of(advice)),
           meaning_zero(net));
    meaning_bottleneck(net, &advice->yardsticks, advice->here.worst_case);
    putchar('\n');
    if (meaning_reference(net, advice->here.worst_case, relative)[0] != '\0')
        printf("%s\n\n", relative);
    if (advice->yardsticks.remedies > 0) {
        meaning_remedies(net, &advice->yardsticks);
        putchar('\n');
    }
    if (advice->varies[TOWARDS_EVERYONE])
        print_curves(advice);
    else
        puts("Every budget is unlimited: there is no trust to trade.");
    print_wanted(advice);
    print_prices(advice);
    print_uplinks(advice);
}

/* ----------------------------------------------------------------- JSON -- */

static void json_point(struct json *json, const char *key,
                       const struct advice_point *point)
{
    json_open(json, key, '{');
    json_number(json, "factor", point->factor);
    json_number(json, "eps", point->eps);
    json_number(json, "objective", point->objective);
    json_number(json, "worst_case", point->worst_case);
    json_number(json, "bound", point->bound);
    json_number(json, "gap", point->gap);
    json_close(json, '}');
}

static void json_curves(struct json *json, const struct advice *advice)
{
    json_open(json, "curves", '[');
    for (int kind = 0; kind < TOWARDS_KINDS; kind++) {
        if (!advice->varies[kind])
            continue;
        json_open(json, NULL, '{');
        json_text(json, "towards", towards_words[kind]);
        json_number(json, "full_trust", advice->limit[kind]);
        json_open(json, "points", '[');
        for (int k = 0; k < advice->points; k++)
            json_point(json, NULL, &advice->curve[kind][k]);
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_prices(struct json *json, const struct advice *advice)
{
    int at[ADVICE_FAMILIES] = {0};
    json_open(json, "prices", '[');
    for (;;) { /* what saves most first, of either family */
        const struct advice_price *price = NULL;
        int best = 0;
        for (int family = 0; family < ADVICE_FAMILIES; family++) {
            const struct advice_price *next = advice->price[family];
            next += at[family];
            if (at[family] < advice->prices[family] &&
                (price == NULL || next->saves > price->saves)) {
                price = next;
                best = family;
            }
        }
        if (price == NULL)
            break;
        at[best]++;
        json_open(json, NULL, '{');
        json_text(json, "of", price_words[price->of]);
        json_count(json, "from", price->from);
        json_name(json, "from_name", advice->from.network, price->from);
        json_count(json, "to", price->to);
        json_name(json, "to_name", advice->from.network, price->to);
        json_number(json, price->of < PRICE_LINK ? "eps" : "p", price->now);
        json_number(json, "price", price->price);
        json_number(json, "saves", price->saves);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_uplinks(struct json *json, const struct advice *advice)
{
    json_open(json, "uplinks", '[');
    for (int k = 0; k < advice->placed; k++) {
        json_open(json, NULL, '{');
        json_open(json, "nodes", '[');
        for (int j = 0; j < advice->uplinks[k].count; j++)
            json_count(json, NULL, advice->uplinks[k].node[j]);
        json_close(json, ']');
        json_number(json, "p", advice->request.uplink);
        json_flag(json, "all_sets", advice->all_sets);
        json_point(json, "plan", &advice->uplinks[k].point);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void advice_json(const struct advice *advice)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "bias",
              pricer_word(PRICER_WORDS_BIAS, advice->settings.bias));
    json_number(&json, "centre", centre_of(advice));
    json_number(&json, "seconds", advice->seconds);
    json_point(&json, "here", &advice->here);
    json_curves(&json, advice);
    json_text(&json, "towards", towards_words[advice->request.towards]);
    if (advice->wants_error) {
        json_number(&json, "wanted_error", advice->wanted);
        json_point(&json, "at_error", &advice->at_error);
    }
    if (advice->wants_eps)
        json_point(&json, "at_eps", &advice->at_eps);
    json_number(&json, "alone", advice->yardsticks.alone);
    json_number(&json, "steady_links", advice->yardsticks.steady);
    json_number(&json, "full_trust", advice->yardsticks.trusted);
    meaning_json_remedies(&json, &advice->yardsticks);
    json_prices(&json, advice);
    json_uplinks(&json, advice);
    json_close(&json, '}');
}

/* --------------------------------------------------------------- figure -- */

static void draw(FILE *out, const struct advice *advice)
{
    static const char *const names[TOWARDS_KINDS] = {
        "budgets towards links", "towards the server", "towards everyone"};
    double x[TOWARDS_KINDS][ADVICE_POINTS], y[TOWARDS_KINDS][ADVICE_POINTS];
    double centre = centre_of(advice);
    struct chart chart = {
        .title = "The certified least error against trust",
        .x_name = "every budget times (1: as it is)",
        .y_name = "least error at worst, share of R²",
        .log_x = true,
        .bare = true,
        .levels = 2,
        .level = {{meaning_zero(advice->from.network), 1},
                  {"full trust", advice->limit[TOWARDS_EVERYONE] / centre}}};
    for (int kind = 0; kind < TOWARDS_KINDS; kind++) {
        if (!advice->varies[kind])
            continue;
        for (int k = 0; k < advice->points; k++) {
            x[kind][k] = advice->curve[kind][k].factor;
            y[kind][k] = advice->curve[kind][k].objective / centre;
        }
        chart.line[chart.lines++] =
            (struct chart_line){names[kind], x[kind], y[kind], advice->points};
    }
    chart_draw(out, &chart);
}

bool advice_figure(const struct advice *advice, const char *path)
{
    char *draft = NULL;
    if (asprintf(&draft, "%s.%ld", path, (long)getpid()) < 0)
        return false;
    FILE *file = fopen(draft, "w");
    bool good = file != NULL;
    if (good) {
        draw(file, advice);
        good = ferror(file) == 0;
        good = fclose(file) == 0 && good;
        good = good && rename(draft, path) == 0;
        if (!good)
            unlink(draft);
    }
    free(draft);
    return good;
}
