/*
 * From nodes.csv and links.csv to a network.
 *
 * The rules of the model are pricer_network_build()'s; here rows become
 * entries and its complaint about an entry becomes one about a line. What a
 * row says of itself (a node that does not exist, a missing p, the trust in an
 * uplink) is checked as the row comes.
 */
#include "network.h"
#include "read/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 6 }; /* of a node, each in an array of its own */

/* A row of the nodes file, until it is known how many there are. */
struct node_row {
    double id;
    int64_t line;
    struct pricer_node node;
    double number[NUMBERS]; /* in the order of make_room(); NAN: not given */
    int64_t name;           /* where it stands in `text`; -1: none */
};

/*
 * Lines of the links: entry k of the run that begins with link `first` stands
 * in line `line` + k - first. A file without blank lines and uplink rows among
 * its links is a single run.
 */
struct run {
    int64_t first, line;
};

struct intake { /* what has been read so far */
    const char *nodes_path, *links_path;
    const struct pri_trust_default *trust;
    struct node_row *rows; /* [row_room] in the order of the file */
    int64_t row_count, row_room;
    char cell[2 * PRICER_NAME_TEXT]; /* the name in the row at hand */
    char *text;                      /* [text_room] the names, one by one */
    int64_t text_count, text_room;
    struct pricer_node *nodes;             /* [row_count], by number */
    int64_t *node_line;                    /* [row_count] in the nodes file */
    double *numbers;                       /* the arrays of numbers below */
    double *server_eps, *server_delta;     /* [row_count] */
    double *radius, *diameter;             /* [row_count] or NAN */
    double *everyone_eps, *everyone_delta; /* [row_count] or NAN */
    bool forward;              /* links have no budgets, every node has one */
    const char **names;        /* [row_count] into `text`, or NULL */
    int64_t *self_line;        /* [row_count] of i,i in the links file, or 0 */
    struct pricer_link *links; /* [link_room] in the order of the file */
    struct run *runs;          /* [run_room] */
    int64_t link_count, link_room, run_count, run_room;
};

/* Room for one more item at the end of a list that doubles; NULL if none. */
static void *grow(void *items, int64_t count, int64_t *room, size_t size)
{
    if (count < *room)
        return items;
    int64_t more = 2 * *room + 256;
    void *moved = reallocarray(items, (size_t)more, size);
    if (moved != NULL)
        *room = more;
    return moved;
}

static enum pricer_status no_memory(struct pricer_fault *fault)
{
    return pri_fault(fault, PRICER_MEMORY, "out of memory");
}

/* ----------------------------------------------------------------- nodes -- */

enum {
    NODE_ID,
    NODE_P,
    NODE_X,
    NODE_Y,
    NODE_EPS,
    NODE_DELTA,
    NODE_NAME,
    NODE_RADIUS,
    NODE_DIAMETER,
    NODE_EVERYONE_EPS,
    NODE_EVERYONE_DELTA,
    NODE_COLUMNS
};
static const struct pri_column node_columns[] = {
    {"node", true, PRI_COLUMN_INDEX},
    {"p", true, PRI_COLUMN_NUMBER},
    {"x", false, PRI_COLUMN_NUMBER},
    {"y", false, PRI_COLUMN_NUMBER},
    {"server_eps", false, PRI_COLUMN_NUMBER},
    {"server_delta", false, PRI_COLUMN_NUMBER},
    {"name", false, PRI_COLUMN_TEXT},
    {"radius", false, PRI_COLUMN_NUMBER},
    {"diameter", false, PRI_COLUMN_NUMBER},
    {"everyone_eps", false, PRI_COLUMN_NUMBER},
    {"everyone_delta", false, PRI_COLUMN_NUMBER},
};

/* What a cell holds, or the default where it is empty. */
static double given(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

/* Keep the name of the row at hand, if it has one; *place is where. */
static enum pricer_status keep_name(struct intake *intake, double length,
                                    int64_t *place, struct pricer_fault *fault)
{
    *place = -1;
    if (isnan(length))
        return PRICER_OK;
    int64_t end = intake->text_count + (int64_t)length + 1;
    char *text = grow(intake->text, end, &intake->text_room, 1);
    if (text == NULL)
        return no_memory(fault);
    intake->text = text;
    *place = intake->text_count;
    strcpy(text + *place, intake->cell);
    intake->text_count = end;
    return PRICER_OK;
}

static enum pricer_status take_node(void *context, int64_t line,
                                    const double *value,
                                    struct pricer_fault *fault)
{
    struct intake *intake = context;
    if (isnan(value[NODE_ID]) || isnan(value[NODE_P]))
        return pri_fault(fault, PRICER_VALUE, "%s is missing",
                         isnan(value[NODE_ID]) ? "node" : "p");
    if (isnan(value[NODE_X]) != isnan(value[NODE_Y]))
        return pri_fault(fault, PRICER_VALUE, "x and y go together, but %s",
                         isnan(value[NODE_X]) ? "x is missing"
                                              : "y is missing");
    struct node_row *rows = grow(intake->rows, intake->row_count,
                                 &intake->row_room, sizeof *intake->rows);
    if (rows == NULL)
        return no_memory(fault);
    intake->rows = rows;
    int64_t name;
    enum pricer_status status =
        keep_name(intake, value[NODE_NAME], &name, fault);
    if (status != PRICER_OK)
        return status;
    rows[intake->row_count++] = (struct node_row){
        value[NODE_ID],
        line,
        {value[NODE_P], intake->trust->self_eps, intake->trust->self_delta,
         value[NODE_X], value[NODE_Y]},
        {given(value[NODE_EPS], intake->trust->server_eps),
         given(value[NODE_DELTA], intake->trust->server_delta),
         value[NODE_RADIUS], value[NODE_DIAMETER], value[NODE_EVERYONE_EPS],
         value[NODE_EVERYONE_DELTA]},
        name};
    return PRICER_OK;
}

static enum pricer_status make_room(struct intake *intake, int64_t count)
{
    double **numbers[NUMBERS] = {
        &intake->server_eps, &intake->server_delta, &intake->radius,
        &intake->diameter,   &intake->everyone_eps, &intake->everyone_delta};
    intake->nodes = pri_alloc(count, sizeof *intake->nodes);
    intake->node_line = pri_alloc(count, sizeof *intake->node_line);
    intake->self_line = pri_alloc(count, sizeof *intake->self_line);
    intake->numbers = pri_alloc(NUMBERS * count, sizeof(double));
    intake->names = pri_alloc(count, sizeof *intake->names);
    if (!(intake->nodes && intake->node_line && intake->self_line &&
          intake->numbers && intake->names))
        return PRICER_MEMORY;
    for (int k = 0; k < NUMBERS; k++)
        *numbers[k] = intake->numbers + k * count;
    return PRICER_OK;
}

static void place_node(struct intake *intake, const struct node_row *row)
{
    int64_t i = (int64_t)row->id;
    intake->nodes[i] = row->node;
    intake->node_line[i] = row->line;
    for (int k = 0; k < NUMBERS; k++)
        intake->numbers[k * intake->row_count + i] = row->number[k];
    intake->names[i] = row->name < 0 ? NULL : intake->text + row->name;
}

static bool has_everyone(const struct intake *intake, int64_t i)
{
    return !isnan(intake->everyone_eps[i]) || !isnan(intake->everyone_delta[i]);
}

/* What is wrong with the cells of a node for the scheme, or NULL. */
static const char *find_stray(const struct intake *intake, int64_t i)
{
    if (!intake->forward)
        return !has_everyone(intake, i) ? NULL
                                        : "everyone_eps and everyone_delta "
                                          "belong to 'scheme: forward'";
    if (intake->server_eps[i] != INFINITY)
        return "server_eps belongs to 'scheme: sum', not to forward";
    if (isnan(intake->everyone_eps[i]) && intake->trust->everyone_eps == 0)
        return "everyone_eps is missing, here and in the scenario";
    return NULL;
}

/* Find the scheme, and give every node its budget towards everyone. */
static enum pricer_status settle_scheme(struct intake *intake,
                                        struct pricer_fault *fault)
{
    const struct pri_trust_default *trust = intake->trust;
    intake->forward = trust->scheme == PRI_SCHEME_FORWARD;
    for (int64_t i = 0; i < intake->row_count; i++)
        if (trust->scheme == PRI_SCHEME_OPEN && has_everyone(intake, i))
            intake->forward = true;
    for (int64_t i = 0; i < intake->row_count; i++) {
        const char *wrong = find_stray(intake, i);
        if (wrong != NULL) {
            pri_fault(fault, PRICER_VALUE, "%s", wrong);
            pri_fault_locate(fault, intake->nodes_path, intake->node_line[i]);
            return PRICER_VALUE;
        }
        intake->everyone_eps[i] =
            given(intake->everyone_eps[i], trust->everyone_eps);
        intake->everyone_delta[i] =
            given(intake->everyone_delta[i], trust->everyone_delta);
    }
    return PRICER_OK;
}

/* Put the rows in the order of their numbers, which must be 0 to count - 1. */
static enum pricer_status place_nodes(struct intake *intake,
                                      struct pricer_fault *fault)
{
    int64_t count = intake->row_count;
    if (count == 0) {
        pri_fault(fault, PRICER_FORMAT, "there is no row below the header");
        pri_fault_locate(fault, intake->nodes_path, 0);
        return PRICER_FORMAT;
    }
    if (make_room(intake, count) != PRICER_OK)
        return no_memory(fault);
    for (int64_t k = 0; k < count; k++) {
        const struct node_row *row = &intake->rows[k];
        if (row->id >= (double)count)
            pri_fault(fault, PRICER_VALUE,
                      "node %.0f is out of place: %lld nodes are numbered 0 "
                      "to %lld",
                      row->id, (long long)count, (long long)count - 1);
        else if (intake->node_line[(int64_t)row->id] != 0)
            pri_fault(fault, PRICER_VALUE,
                      "node %.0f stands here a second time (also in line %lld)",
                      row->id, (long long)intake->node_line[(int64_t)row->id]);
        else {
            place_node(intake, row);
            continue;
        }
        pri_fault_locate(fault, intake->nodes_path, row->line);
        return PRICER_VALUE;
    }
    free(intake->rows);
    intake->rows = NULL;
    return PRICER_OK;
}

/* ----------------------------------------------------------------- links -- */

enum { LINK_FROM, LINK_TO, LINK_P, LINK_JOINT, LINK_EPS, LINK_DELTA };
static const struct pri_column link_columns[] = {
    {"from", true, PRI_COLUMN_INDEX},  {"to", true, PRI_COLUMN_INDEX},
    {"p", true, PRI_COLUMN_NUMBER},    {"joint", false, PRI_COLUMN_NUMBER},
    {"eps", false, PRI_COLUMN_NUMBER}, {"delta", false, PRI_COLUMN_NUMBER},
};

/* A row i,i: the trust of node i in whoever hears its uplink. */
static enum pricer_status take_self(struct intake *intake, int64_t line,
                                    const double *value,
                                    struct pricer_fault *fault)
{
    int64_t id = (int64_t)value[LINK_FROM];
    struct pricer_node *node = &intake->nodes[id];
    if (given(value[LINK_P], 1) != 1 || given(value[LINK_JOINT], 1) != 1)
        return pri_fault(fault, PRICER_VALUE,
                         "%s = %g of the row %lld,%lld: a node always reaches "
                         "itself, give 1 or nothing",
                         given(value[LINK_P], 1) != 1 ? "p" : "joint",
                         given(value[LINK_P], 1) != 1 ? value[LINK_P]
                                                      : value[LINK_JOINT],
                         (long long)id, (long long)id);
    if (intake->self_line[id] != 0)
        return pri_fault(fault, PRICER_VALUE,
                         "the row %lld,%lld stands here a second time (also "
                         "in line %lld)",
                         (long long)id, (long long)id,
                         (long long)intake->self_line[id]);
    node->eps = given(value[LINK_EPS], node->eps);
    node->delta = given(value[LINK_DELTA], node->delta);
    intake->self_line[id] = line;
    return pri_check_trust(node->eps, node->delta, fault);
}

static int64_t line_within(const struct run *run, int64_t link)
{
    return run->line + link - run->first;
}

/* The line of a link: a search for its run. */
static int64_t line_of(const struct intake *intake, int64_t link)
{
    int64_t low = 0, high = intake->run_count - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (intake->runs[middle].first <= link)
            low = middle;
        else
            high = middle - 1;
    }
    return line_within(&intake->runs[low], link);
}

/* Put a link and its line at the end of the lists. */
static enum pricer_status append_link(struct intake *intake, int64_t line,
                                      const struct pricer_link *link,
                                      struct pricer_fault *fault)
{
    struct pricer_link *links = grow(intake->links, intake->link_count,
                                     &intake->link_room, sizeof *links);
    if (links == NULL)
        return no_memory(fault);
    intake->links = links;
    int64_t at = intake->link_count;
    if (at == 0 ||
        line_within(&intake->runs[intake->run_count - 1], at) != line) {
        struct run *runs = grow(intake->runs, intake->run_count,
                                &intake->run_room, sizeof *runs);
        if (runs == NULL)
            return no_memory(fault);
        intake->runs = runs;
        runs[intake->run_count++] = (struct run){at, line};
    }
    links[intake->link_count++] = *link;
    return PRICER_OK;
}

/* A row of the links file: a link between two nodes, or the trust of one. */
static enum pricer_status take_link(void *context, int64_t line,
                                    const double *value,
                                    struct pricer_fault *fault)
{
    struct intake *intake = context;
    for (int end = LINK_FROM; end <= LINK_TO; end++) {
        if (isnan(value[end]))
            return pri_fault(fault, PRICER_VALUE, "%s is missing",
                             link_columns[end].name);
        if (value[end] >= (double)intake->row_count)
            return pri_fault(fault, PRICER_VALUE,
                             "there is no node %.0f: the nodes are 0 to %lld",
                             value[end], (long long)intake->row_count - 1);
    }
    if (intake->forward &&
        !(isnan(value[LINK_EPS]) && isnan(value[LINK_DELTA])))
        return pri_fault(fault, PRICER_VALUE,
                         "eps and delta of links belong to 'scheme: sum', not "
                         "to forward");
    if (value[LINK_FROM] == value[LINK_TO])
        return take_self(intake, line, value, fault);
    double eps =
        given(value[LINK_EPS], intake->forward ? INFINITY : intake->trust->eps);
    double delta = given(value[LINK_DELTA], intake->trust->delta);
    if (isnan(value[LINK_P]))
        return pri_fault(fault, PRICER_VALUE, "p is missing");
    if (isnan(eps) || isnan(delta))
        return pri_fault(fault, PRICER_VALUE,
                         "%s is missing, here and in the scenario",
                         isnan(eps) ? "eps" : "delta");
    struct pricer_link link = {(int32_t)value[LINK_FROM],
                               (int32_t)value[LINK_TO],
                               value[LINK_P],
                               value[LINK_JOINT],
                               eps,
                               delta};
    return append_link(intake, line, &link, fault);
}

/* ----------------------------------------------------------------- whole -- */

/* Add file and line of the entry that the network was refused for; for a link
 * that was given before, that line too. */
static void locate(const struct intake *intake,
                   const struct pricer_place *place, struct pricer_fault *fault)
{
    if (place->node >= 0)
        pri_fault_locate(fault, intake->nodes_path,
                         intake->node_line[place->node]);
    if (place->link < 0)
        return;
    const struct pricer_link *links = intake->links;
    int64_t before = 0;
    while (before < place->link &&
           !(links[before].from == links[place->link].from &&
             links[before].to == links[place->link].to))
        before++;
    if (before < place->link && fault != NULL) {
        size_t used = strlen(fault->text);
        snprintf(fault->text + used, sizeof fault->text - used,
                 " (also in line %lld)", (long long)line_of(intake, before));
    }
    pri_fault_locate(fault, intake->links_path, line_of(intake, place->link));
}

static enum pricer_status read_files(struct intake *intake,
                                     const struct pricer_watch *watch,
                                     struct pricer_fault *fault)
{
    struct pri_csv nodes = {intake->nodes_path,
                            node_columns,
                            NODE_COLUMNS,
                            take_node,
                            intake,
                            watch,
                            0,
                            .1,
                            intake->cell,
                            sizeof intake->cell};
    struct pri_csv links = {.path = intake->links_path,
                            .columns = link_columns,
                            .column_count = 6,
                            .row = take_link,
                            .context = intake,
                            .watch = watch,
                            .watch_from = .1,
                            .watch_to = .8};
    enum pricer_status status = pri_csv_read(&nodes, fault);
    if (status == PRICER_OK)
        status = place_nodes(intake, fault);
    if (status == PRICER_OK)
        status = settle_scheme(intake, fault);
    if (status == PRICER_OK && intake->links_path != NULL)
        status = pri_csv_read(&links, fault);
    return status;
}

enum pricer_status pri_csv_network(const char *nodes_path,
                                   const char *links_path,
                                   const struct pri_measures *measures,
                                   const struct pri_trust_default *trust,
                                   const struct pricer_watch *watch,
                                   struct pricer_network **network,
                                   struct pricer_fault *fault)
{
    struct intake intake = {
        .nodes_path = nodes_path, .links_path = links_path, .trust = trust};
    struct pricer_place place = {-1, -1};
    struct pricer_network *made = NULL;
    enum pricer_status status =
        pri_check_trust(given(trust->eps, 1), given(trust->delta, 1), fault);
    if (status == PRICER_OK)
        status = pri_check_trust(trust->self_eps, trust->self_delta, fault);
    if (status == PRICER_OK)
        status = read_files(&intake, watch, fault);
    if (status == PRICER_OK) {
        status = pricer_network_build(
            &(struct pricer_network_parts){
                measures->dimension, measures->radius, measures->reciprocity,
                intake.nodes, intake.row_count, intake.links, intake.link_count,
                intake.server_eps, intake.server_delta},
            &made, &place, fault);
        if (status == PRICER_OK && intake.forward)
            status = pri_network_everyone(made, intake.everyone_eps,
                                          intake.everyone_delta, &place, fault);
        if (status == PRICER_OK)
            status = pri_network_name(made, intake.names, &place, fault);
        if (status == PRICER_OK)
            status =
                pri_network_lengths(made, measures->diameter, intake.radius,
                                    intake.diameter, &place, fault);
        if (status != PRICER_OK)
            locate(&intake, &place, fault);
    }
    if (status == PRICER_OK)
        *network = made;
    else
        pricer_network_free(made);
    free(intake.rows);
    free(intake.nodes);
    free(intake.node_line);
    free(intake.self_line);
    free(intake.numbers);
    free(intake.names);
    free(intake.text);
    free(intake.links);
    free(intake.runs);
    return status;
}
