/*
 * From a list of measured links to nodes, uplinks and links.
 *
 * Rows are kept as they come, ids as text. Then all ids are sorted, each row's
 * ids become numbers by a search, and rows are sorted by pair, so that several
 * measurements of a pair are next to each other. strverscmp() puts mote2 before
 * mote10, and 2 before 10.
 */
#include "stream.h"
#include "pricer_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FROM, TO, P, ROLES };

/* What a header may call them; the first word is used in messages. */
static const char *const synonyms[ROLES][8] = {
    {"sender", "from", "source", "src", "tx"},
    {"receiver", "to", "target", "destination", "dst", "rx"},
    {"p", "prr", "pdr", "probability", "quality", "tq"},
};

struct row {
    const char *id[2]; /* FROM and TO, in the text of the file */
    int32_t node[2];   /* their places among the ids */
    double p;
};

struct list {
    struct pri_lines lines;
    int column[ROLES]; /* which cell of a line each is */
    struct row *rows;  /* [room] */
    int64_t count, room;
    const char **ids; /* [id_count] sorted, each once */
    int32_t id_count;
    int32_t server; /* its place among the ids */
    struct pricer_fault *fault;
};

static enum pricer_status no_memory(const struct list *list)
{
    return pri_fault(list->fault, PRICER_MEMORY, "out of memory");
}

/* File and line before the text of a fault. */
static enum pricer_status locate(const struct list *list,
                                 enum pricer_status status, int64_t line)
{
    pri_fault_locate(list->fault, list->lines.path, line);
    return status;
}

/* ------------------------------------------------------------------ rows -- */

/* Which of the three a column of the header is, or -1. */
static int role_of(const char *name)
{
    for (int role = 0; role < ROLES; role++)
        for (int k = 0; synonyms[role][k] != NULL; k++)
            if (strcasecmp(name, synonyms[role][k]) == 0)
                return role;
    return -1;
}

/*
 * Take the header, in which no cell is a number. It has to name all three
 * columns; one of three columns may also name none of them, and their order is
 * then the usual one.
 */
static enum pricer_status read_header(struct list *list)
{
    int found = 0, cells = 0, place[ROLES] = {-1, -1, -1};
    for (char *cell; (cell = pri_lines_cell(&list->lines)) != NULL; cells++) {
        int role = role_of(cell);
        if (role >= 0 && place[role] >= 0) {
            pri_fault(list->fault, PRICER_FORMAT,
                      "two columns could be the %s, one of them '%.40s'",
                      synonyms[role][0], cell);
            return locate(list, PRICER_FORMAT, list->lines.line);
        }
        if (role >= 0) {
            place[role] = cells;
            found++;
        }
    }
    if (found == 0 && cells == ROLES)
        return PRICER_OK;
    for (int role = 0; role < ROLES; role++)
        if (place[role] < 0) {
            pri_fault(list->fault, PRICER_FORMAT,
                      "the header names no column %s; the columns sender, "
                      "receiver and p are needed",
                      synonyms[role][0]);
            return locate(list, PRICER_FORMAT, list->lines.line);
        }
    memcpy(list->column, place, sizeof place);
    return PRICER_OK;
}

/* Whether the first line with cells is a header; looks at a copy, as reading
 * cells cuts a line up. */
static enum pricer_status find_header(struct list *list, bool *header)
{
    struct pri_lines first = list->lines;
    double number;
    *header = false;
    if (!pri_lines_next(&first))
        return PRICER_OK;
    size_t length = (size_t)(first.end - first.at);
    char *copy = strndup(first.at, length), *cell;
    if (copy == NULL)
        return no_memory(list);
    first.at = copy;
    first.end = copy + length;
    *header = true;
    while ((cell = pri_lines_cell(&first)) != NULL)
        *header = *header && !pri_parse_number(cell, &number);
    free(copy);
    return PRICER_OK;
}

/* A row without p was not measured: its p becomes NAN. */
static enum pricer_status check_row(const struct list *list,
                                    const char *const *cell, double *p)
{
    struct pricer_fault *fault = list->fault;
    for (int role = 0; role < P; role++)
        if (cell[role] == NULL || cell[role][0] == '\0')
            return pri_fault(fault, PRICER_FORMAT,
                             "the %s is missing: expected sender, receiver "
                             "and p",
                             synonyms[role][0]);
    *p = NAN;
    if (cell[P] == NULL || cell[P][0] == '\0')
        return PRICER_OK;
    if (!pri_parse_number(cell[P], p))
        return pri_fault(fault, PRICER_VALUE, "p = %.40s %s", cell[P],
                         pri_not_number(cell[P]));
    if (!(*p >= 0 && *p <= 1))
        return pri_fault(fault, PRICER_VALUE,
                         "p = %.12g is not a probability%s", *p,
                         pri_ask_percent(*p));
    return PRICER_OK;
}

static enum pricer_status read_row(struct list *list)
{
    const char *cell[ROLES] = {NULL, NULL, NULL};
    double p = 0;
    char *text;
    for (int k = 0; (text = pri_lines_cell(&list->lines)) != NULL; k++)
        for (int role = 0; role < ROLES; role++)
            if (list->column[role] == k)
                cell[role] = text;
    enum pricer_status status = check_row(list, cell, &p);
    if (status != PRICER_OK)
        return locate(list, status, list->lines.line);
    if (list->count == list->room) {
        int64_t room = 2 * list->room + 256;
        struct row *rows = reallocarray(list->rows, (size_t)room, sizeof *rows);
        if (rows == NULL)
            return no_memory(list);
        list->rows = rows;
        list->room = room;
    }
    list->rows[list->count++] = (struct row){{cell[FROM], cell[TO]}, {0, 0}, p};
    return PRICER_OK;
}

static enum pricer_status read_rows(struct list *list, bool *header)
{
    enum pricer_status status = find_header(list, header);
    if (status == PRICER_OK && *header) {
        pri_lines_next(&list->lines);
        status = read_header(list);
    }
    while (status == PRICER_OK && pri_lines_next(&list->lines))
        status = read_row(list);
    if (status == PRICER_OK && list->count == 0) {
        pri_fault(list->fault, PRICER_FORMAT, "there is no link in this file");
        status = locate(list, PRICER_FORMAT, 0);
    }
    if (status == PRICER_OK && list->count > INT32_MAX / 2) {
        pri_fault(list->fault, PRICER_VALUE, "more than %d rows",
                  INT32_MAX / 2);
        status = locate(list, PRICER_VALUE, 0);
    }
    return status;
}

/* ------------------------------------------------------------------- ids -- */

static int by_id(const void *one, const void *two)
{
    return strverscmp(*(const char *const *)one, *(const char *const *)two);
}

static int32_t find_id(const struct list *list, const char *id)
{
    const char **found = bsearch(&id, list->ids, (size_t)list->id_count,
                                 sizeof *list->ids, by_id);
    return found == NULL ? -1 : (int32_t)(found - list->ids);
}

static enum pricer_status number_ids(struct list *list, const char *server)
{
    int64_t count = 2 * list->count;
    list->ids = pri_alloc(count, sizeof *list->ids);
    if (list->ids == NULL)
        return no_memory(list);
    for (int64_t k = 0; k < count; k++)
        list->ids[k] = list->rows[k / 2].id[k % 2];
    qsort(list->ids, (size_t)count, sizeof *list->ids, by_id);
    for (int64_t k = 0; k < count; k++)
        if (k == 0 || strcmp(list->ids[k], list->ids[list->id_count - 1]) != 0)
            list->ids[list->id_count++] = list->ids[k];
    for (int64_t k = 0; k < list->count; k++)
        for (int end = FROM; end <= TO; end++)
            list->rows[k].node[end] = find_id(list, list->rows[k].id[end]);
    list->server = find_id(list, server);
    if (list->server < 0) {
        pri_fault(list->fault, PRICER_VALUE,
                  "the server %.40s is in no line; ids are %.40s to %.40s",
                  server, list->ids[0], list->ids[list->id_count - 1]);
        return locate(list, PRICER_VALUE, 0);
    }
    return PRICER_OK;
}

/* ---------------------------------------------------------------- survey -- */

static int by_pair(const void *one, const void *two)
{
    const struct row *a = one, *b = two;
    for (int end = FROM; end <= TO; end++)
        if (a->node[end] != b->node[end])
            return a->node[end] < b->node[end] ? -1 : 1;
    return 0;
}

static void make_name(const char *id, char name[PRICER_NAME_TEXT])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    bool plain = pri_is_name(id) && strcmp(id, "server") != 0 &&
                 strncmp(id, "node", 4) != 0;
    snprintf(name, PRICER_NAME_TEXT, "%s%s", plain ? "" : "id-", id);
    for (char *at = name; *at != '\0'; at++)
        if (strchr(letters, *at) == NULL)
            *at = '-';
}

static int by_name(const void *one, const void *two, void *context)
{
    char(*name)[PRICER_NAME_TEXT] = context;
    return strcmp(name[*(const int32_t *)one], name[*(const int32_t *)two]);
}

/* Names of all nodes. Two ids that would have one name are refused. */
static enum pricer_status name_nodes(const struct list *list,
                                     struct pricer_survey *made)
{
    int32_t *order = pri_alloc(made->nodes, sizeof *order);
    enum pricer_status status = PRICER_OK;
    if (order == NULL)
        return no_memory(list);
    for (int32_t i = 0; i < made->nodes; i++) {
        order[i] = i;
        make_name(list->ids[i + (i >= list->server)], made->name[i]);
    }
    qsort_r(order, (size_t)made->nodes, sizeof *order, by_name, made->name);
    for (int32_t k = 1; k < made->nodes && status == PRICER_OK; k++)
        if (strcmp(made->name[order[k - 1]], made->name[order[k]]) == 0) {
            int32_t i = order[k - 1], j = order[k];
            pri_fault(list->fault, PRICER_VALUE,
                      "the ids %.60s and %.60s would both be called %s",
                      list->ids[i + (i >= list->server)],
                      list->ids[j + (j >= list->server)], made->name[i]);
            status = locate(list, PRICER_VALUE, 0);
        }
    free(order);
    return status;
}

/* The rows [first, last) measure one pair: their mean, where it belongs. */
static void add_pair(const struct list *list, int64_t first, int64_t last,
                     double above, struct pricer_survey *made)
{
    int32_t from = list->rows[first].node[FROM];
    int32_t to = list->rows[first].node[TO];
    int64_t count = 0;
    double sum = 0;
    if (from == to || from == list->server) {
        *(from == to ? &made->to_self : &made->from_server) += last - first;
        return;
    }
    for (int64_t k = first; k < last; k++)
        if (!isnan(list->rows[k].p)) {
            sum += list->rows[k].p;
            count++;
        }
    made->measurements += count;
    made->unmeasured += last - first - count;
    made->repeated += count > 1;
    if (count == 0)
        return;
    double mean = fmin(sum / (double)count, 1);
    if (!(mean > above)) {
        made->faint++;
        return;
    }
    from -= from > list->server;
    if (to == list->server) {
        made->uplink[from] = mean;
        return;
    }
    made->from[made->links] = from;
    made->to[made->links] = to - (to > list->server);
    made->p[made->links++] = mean;
}

static enum pricer_status fill(struct list *list, double above,
                               struct pricer_survey *made)
{
    made->nodes = list->id_count - 1;
    made->name = pri_alloc(made->nodes, sizeof *made->name);
    made->uplink = pri_alloc(made->nodes, sizeof *made->uplink);
    made->from = pri_alloc(list->count, sizeof *made->from);
    made->to = pri_alloc(list->count, sizeof *made->to);
    made->p = pri_alloc(list->count, sizeof *made->p);
    if (!made->name || !made->uplink || !made->from || !made->to || !made->p)
        return no_memory(list);
    qsort(list->rows, (size_t)list->count, sizeof *list->rows, by_pair);
    bool heard = false;
    for (int64_t first = 0, last; first < list->count; first = last) {
        last = first + 1;
        while (last < list->count &&
               by_pair(&list->rows[first], &list->rows[last]) == 0)
            last++;
        add_pair(list, first, last, above, made);
    }
    for (int32_t i = 0; i < made->nodes; i++)
        heard = heard || made->uplink[i] > 0;
    if (!heard) {
        pri_fault(list->fault, PRICER_VALUE,
                  "no link to the server %.40s has p above %g",
                  list->ids[list->server], above);
        return locate(list, PRICER_VALUE, 0);
    }
    return name_nodes(list, made);
}

enum pricer_status pricer_survey_read(const char *path, const char *server,
                                      double above,
                                      struct pricer_survey **survey,
                                      struct pricer_fault *fault)
{
    struct pri_stream stream;
    struct list list = {.column = {FROM, TO, P}, .fault = fault};
    struct pricer_survey *made = NULL;
    enum pricer_status status = pri_stream_open(path, &stream, fault);
    if (status != PRICER_OK)
        return status;
    status = pri_lines_load(&stream, &list.lines, fault);
    pri_stream_close(&stream);
    if (status != PRICER_OK)
        return status;
    made = pri_alloc(1, sizeof *made);
    status = made != NULL ? PRICER_OK : no_memory(&list);
    if (status == PRICER_OK)
        status = read_rows(&list, &made->header);
    if (status == PRICER_OK)
        status = number_ids(&list, server);
    if (status == PRICER_OK)
        status = fill(&list, above, made);
    if (status == PRICER_OK)
        *survey = made;
    else
        pricer_survey_free(made);
    free(list.rows);
    free(list.ids);
    pri_lines_free(&list.lines);
    return status;
}

void pricer_survey_free(struct pricer_survey *survey)
{
    if (survey == NULL)
        return;
    free(survey->name);
    free(survey->uplink);
    free(survey->from);
    free(survey->to);
    free(survey->p);
    free(survey);
}
