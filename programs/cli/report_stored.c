/*
 * From the tables of a study, as a visitor sees them, to the numbers that a
 * report draws. A study may come from a stranger: what is not a number is left
 * out, and what is out of range ends at the edge of a drawing.
 */
#include "report_stored.h"
#include "question.h"
#include "variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The curve is drawn for networks that are planned in a moment: with so many
 * links, or budgets towards the server and so many. */
enum {
    CURVE_LINKS = 20000,
    CURVE_SERVER_LINKS = 1000,
    CURVE_POINTS = 11,
    CURVE_KINDS = 3
};

/* What a visitor looks for, and where it goes. */
struct search {
    struct report *report;
    int64_t id; /* of a simulation */
    int32_t place[8];
    int64_t *observers; /* of statements: 1 + observer by number of privacy */
    int64_t observer_room;
    enum pricer_status status;
};

/* ----------------------------------------------------------------- rows -- */

bool report_stored_add(struct report_rows *rows, const double numbers[6])
{
    int32_t columns = (int32_t)(sizeof rows->column / sizeof *rows->column);
    if (rows->count == rows->room) {
        int32_t room = 2 * rows->room + 64;
        for (int32_t c = 0; c < columns; c++) {
            double *moved = realloc(rows->column[c],
                                    (size_t)room * sizeof *rows->column[c]);
            if (moved == NULL)
                return false;
            rows->column[c] = moved;
        }
        rows->room = room;
    }
    for (int32_t c = 0; c < columns; c++)
        rows->column[c][rows->count] = numbers[c];
    rows->count++;
    return true;
}

/* Where the named columns stand; all must be there. */
static bool find_columns(struct search *search, const char *const *names,
                         int32_t count, const char *const *wanted)
{
    for (int32_t w = 0; wanted[w] != NULL; w++) {
        search->place[w] = -1;
        for (int32_t c = 0; c < count; c++)
            if (strcmp(names[c], wanted[w]) == 0)
                search->place[w] = c;
        if (search->place[w] < 0) {
            search->status = PRICER_FORMAT;
            return false;
        }
    }
    return true;
}

static bool bin_columns(void *context, const char *const *names, int32_t count)
{
    static const char *const wanted[] = {"simulation", "strategy", "low",
                                         "high",       "trials",   NULL};
    return find_columns(context, names, count, wanted);
}

static bool bin_row(void *context, const struct pricer_cell *cells,
                    int32_t count)
{
    struct search *search = context;
    const int32_t *place = search->place;
    const double numbers[6] = {cells[place[2]].number, cells[place[3]].number,
                               cells[place[4]].number};
    (void)count;
    if (cells[place[0]].count != search->id ||
        strcmp(cells[place[1]].text, "plan") != 0 || !(numbers[0] >= 0) ||
        !(numbers[1] > numbers[0]) || !(numbers[2] >= 0))
        return true;
    if (!report_stored_add(&search->report->bins, numbers))
        search->status = PRICER_MEMORY;
    return search->status == PRICER_OK;
}

static bool round_columns(void *context, const char *const *names,
                          int32_t count)
{
    static const char *const wanted[] = {"plan",         "round",  "arrived",
                                         "contributors", "weight", "error",
                                         "bar",          NULL};
    return find_columns(context, names, count, wanted);
}

static bool round_row(void *context, const struct pricer_cell *cells,
                      int32_t count)
{
    struct search *search = context;
    double numbers[6];
    (void)count;
    if (cells[search->place[0]].count != search->report->record.id) {
        search->report->other_rounds++;
        return true;
    }
    for (int c = 0; c < 6; c++)
        numbers[c] = cells[search->place[c + 1]].number;
    if (!report_stored_add(&search->report->played_rounds, numbers))
        search->status = PRICER_MEMORY;
    return search->status == PRICER_OK;
}

static bool withheld_columns(void *context, const char *const *names,
                             int32_t count)
{
    static const char *const wanted[] = {"round", "node", "link", "reason",
                                         NULL};
    return find_columns(context, names, count, wanted);
}

/* Whether a round was one with this plan. They are stored in their order. */
static bool is_played(const struct report_rows *rows, double round)
{
    int32_t low = 0, high = rows->count;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        *(rows->column[0][middle] <= round ? &low : &high) = middle;
    }
    return rows->count > 0 && rows->column[0][low] == round;
}

/* A part was withheld, as a budget was spent, in a round with this plan. */
static void count_spent(struct report *report, int64_t node, int64_t link)
{
    const struct pricer_network *net = report->network;
    if (link >= 0 && link < net->links)
        report->spent[link]++;
    else if (link == -1 && node >= 0 && node < net->nodes)
        report->spent[net->links + node]++;
}

/* Rounds that an account did not pay for: its link withheld, or of the server's
 * account the node's own part, as its budget was spent. Where that part has a
 * budget of its own, nothing is known of the account, and it counts as paying. */
static bool withheld_row(void *context, const struct pricer_cell *cells,
                         int32_t count)
{
    struct search *search = context;
    const int32_t *place = search->place;
    const char *spent =
        pricer_word(PRICER_WORDS_WITHHELD, PRICER_WITHHELD_SPENT);
    const double *own = search->report->network->self_eps;
    (void)count;
    if (strcmp(cells[place[3]].text, spent) != 0)
        return true;
    if (is_played(&search->report->played_rounds, cells[place[0]].number))
        count_spent(search->report, cells[place[1]].count,
                    cells[place[2]].count);
    for (int k = 0; k < REPORT_ACCOUNTS; k++) {
        const struct report_account *account = &search->report->account[k];
        const double numbers[6] = {cells[place[0]].number, k};
        if (account->known && cells[place[1]].count == account->node &&
            cells[place[2]].count == account->link &&
            (k == REPORT_LINK || isinf(own[account->node])) &&
            is_played(&search->report->played_rounds, numbers[0]) &&
            !report_stored_add(&search->report->withheld, numbers))
            search->status = PRICER_MEMORY;
    }
    return search->status == PRICER_OK;
}

static bool arrival_columns(void *context, const char *const *names,
                            int32_t count)
{
    static const char *const wanted[] = {"round", "node", NULL};
    return find_columns(context, names, count, wanted);
}

/* A node's release arrived in a round with this plan. */
static bool arrival_row(void *context, const struct pricer_cell *cells,
                        int32_t count)
{
    struct search *search = context;
    struct report *report = search->report;
    int64_t node = cells[search->place[1]].count;
    (void)count;
    if (node >= 0 && node < report->network->nodes &&
        is_played(&report->played_rounds, cells[search->place[0]].number))
        report->came[node]++;
    return true;
}

/* ------------------------------------------------------------------ eps -- */

static bool privacy_columns(void *context, const char *const *names,
                            int32_t count)
{
    static const char *const wanted[] = {"privacy",   "plan",   "observer",
                                         "protect",   "rounds", "eavesdropper",
                                         "coalition", NULL};
    return find_columns(context, names, count, wanted);
}

/* Which answers are about this plan's data over its own rounds, and about which
 * observer. */
static bool privacy_row(void *context, const struct pricer_cell *cells,
                        int32_t count)
{
    struct search *search = context;
    const int32_t *place = search->place;
    int64_t id = cells[place[0]].count;
    int observer =
        pricer_word_find(PRICER_WORDS_OBSERVER, cells[place[2]].text);
    int eavesdropper =
        pricer_word_find(PRICER_WORDS_EAVESDROPPER, cells[place[5]].text);
    (void)count;
    if (cells[place[1]].count != search->report->record.id || id < 0 ||
        id > 1000000 || observer < 0 || observer > PRICER_OBSERVER_SERVER ||
        eavesdropper < 0 || strcmp(cells[place[3]].text, "data") != 0 ||
        !question_is_planned(cells[place[4]].count,
                             (enum pricer_eavesdropper)eavesdropper,
                             cells[place[6]].text, &search->report->settings))
        return true;
    if (id >= search->observer_room) {
        int64_t room = id + 64;
        int64_t *moved =
            realloc(search->observers, (size_t)room * sizeof *moved);
        if (moved == NULL) {
            search->status = PRICER_MEMORY;
            return false;
        }
        memset(moved + search->observer_room, 0,
               (size_t)(room - search->observer_room) * sizeof *moved);
        search->observers = moved;
        search->observer_room = room;
    }
    search->observers[id] = observer + 1;
    return true;
}

static bool statement_columns(void *context, const char *const *names,
                              int32_t count)
{
    static const char *const wanted[] = {"privacy", "node",  "epsilon",
                                         "at",      "delta", NULL};
    return find_columns(context, names, count, wanted);
}

/* Whether a statement has the delta of the budgets: its link's, or the smallest
 * of a node. A smaller one asks for more, and its eps says nothing about them. */
static bool is_own_delta(const struct pricer_network *net, int64_t node,
                         const struct pricer_cell *at, double delta)
{
    double own = net->self_delta[node];
    for (int32_t l = net->out_start[node]; l < net->out_start[node + 1]; l++) {
        if (at->kind == PRICER_CELL_COUNT && net->to[l] == at->count)
            return delta == net->delta[l];
        own = fmin(own, net->delta[l]);
    }
    return delta == own;
}

static bool statement_row(void *context, const struct pricer_cell *cells,
                          int32_t count)
{
    struct search *search = context;
    int64_t id = cells[search->place[0]].count;
    int64_t node = cells[search->place[1]].count;
    double eps = cells[search->place[2]].number;
    (void)count;
    if (id < 0 || id >= search->observer_room || search->observers[id] == 0 ||
        node < 0 || node >= search->report->network->nodes || !(eps >= 0) ||
        !is_own_delta(search->report->network, node, &cells[search->place[3]],
                      cells[search->place[4]].number))
        return true;
    double *most = &search->report->eps[search->observers[id] - 1][node];
    *most = fmax(*most, eps);
    return true;
}

/* --------------------------------------------------------------- the lot -- */

static enum pricer_status visit(
    struct pricer_study *study, const char *table, struct search *search,
    bool (*columns)(void *, const char *const *, int32_t),
    bool (*row)(void *, const struct pricer_cell *, int32_t))
{
    const struct pricer_visitor visitor = {columns, row, search};
    struct pricer_fault fault;
    search->status = PRICER_OK;
    enum pricer_status status =
        pricer_study_visit(study, table, &visitor, &fault);
    /* A table in which a column is missing shows nothing. */
    if (status == PRICER_STOPPED)
        return search->status == PRICER_MEMORY ? PRICER_MEMORY : PRICER_OK;
    return status;
}

enum pricer_status report_stored_read(struct pricer_study *study,
                                      struct report *report,
                                      struct pricer_fault *fault)
{
    struct search search = {.report = report};
    enum pricer_status status = PRICER_OK;
    (void)fault;
    for (int k = 0; k < 3; k++) {
        report->eps[k] =
            calloc((size_t)report->network->nodes + 1, sizeof(double));
        if (report->eps[k] == NULL)
            return PRICER_MEMORY;
        for (int32_t i = 0; i < report->network->nodes; i++)
            report->eps[k][i] = NAN;
    }
    if (report->simulation != NULL) {
        search.id = report->simulation->id;
        status = visit(study, "simulation_bin", &search, bin_columns, bin_row);
    }
    if (status == PRICER_OK)
        status = visit(study, "round", &search, round_columns, round_row);
    report->spent =
        calloc((size_t)report->network->links + (size_t)report->network->nodes,
               sizeof *report->spent);
    if (report->spent == NULL)
        return PRICER_MEMORY;
    if (report->plan != NULL)
        report_find_accounts(report);
    report->came = calloc((size_t)report->network->nodes, sizeof *report->came);
    if (report->came == NULL)
        return PRICER_MEMORY;
    if (status == PRICER_OK && report->forward != NULL)
        status = visit(study, "round_arrival", &search, arrival_columns,
                       arrival_row);
    if (status == PRICER_OK)
        status =
            visit(study, "withheld", &search, withheld_columns, withheld_row);
    if (status == PRICER_OK)
        status = visit(study, "privacy", &search, privacy_columns, privacy_row);
    if (status == PRICER_OK)
        status = visit(study, "privacy_statement", &search, statement_columns,
                       statement_row);
    free(search.observers);
    return status;
}

static double factor_of(int point)
{
    return exp2(point - CURVE_POINTS / 2);
}

/* The least errors with every budget, those of links or those towards the server
 * times the factors; where there is no plan there is no point. */
static void curve_of(const struct pricer_network *net, struct variant *variant,
                     const struct pricer_settings *settings, int kind,
                     double points[CURVE_POINTS])
{
    struct pricer_plan *warm = NULL;
    for (int k = 0; k < CURVE_POINTS; k++) {
        struct pricer_solve_info info;
        struct pricer_plan *plan = NULL;
        points[k] = NAN;
        variant_reset(variant, net);
        if (kind != 2)
            variant_scale_links(variant, factor_of(k));
        if (kind != 1)
            variant_scale_server(variant, factor_of(k));
        if (variant_plan(&variant->network, settings, warm, &plan, &info,
                         NULL) != PRICER_OK)
            continue;
        pricer_plan_free(warm);
        warm = plan;
        points[k] = info.objective;
    }
    pricer_plan_free(warm);
}

enum pricer_status report_stored_curve(struct report *report,
                                       struct pricer_fault *fault)
{
    const struct pricer_network *net = report->network;
    struct pricer_settings settings = report->settings;
    struct variant variant;
    if (net->links >
        (net->server_eps != NULL ? CURVE_SERVER_LINKS : CURVE_LINKS))
        return PRICER_OK;
    enum pricer_status status = variant_make(net, &variant);
    (void)fault;
    settings.tolerance = 1e-6;
    settings.threads = 1;
    double points[CURVE_KINDS][CURVE_POINTS];
    for (int kind = 0; kind < CURVE_KINDS && status == PRICER_OK; kind++)
        curve_of(net, &variant, &settings, kind, points[kind]);
    for (int k = 0; k < CURVE_POINTS && status == PRICER_OK; k++) {
        const double numbers[6] = {factor_of(k), points[0][k], points[1][k],
                                   points[2][k]};
        if (isfinite(points[0][k]))
            status = report_stored_add(&report->curve, numbers) ? PRICER_OK
                                                                : PRICER_MEMORY;
    }
    variant_free(&variant);
    return status;
}

void report_stored_free(struct report *report)
{
    struct report_rows *const rows[] = {&report->bins, &report->played_rounds,
                                        &report->curve, &report->withheld,
                                        &report->by_hops};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int c = 0; c < 6; c++)
            free(rows[r]->column[c]);
    for (int k = 0; k < 3; k++)
        free(report->eps[k]);
    free(report->spent);
    free(report->came);
}
