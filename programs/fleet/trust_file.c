/*
 * From a trust file to what may be sent to whom.
 */
#include "trust_file.h"
#include "transport/keys.h"
#include "common/daemon.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum column {
    TO,
    EPS,
    DELTA,
    TOTAL_EPS,
    TOTAL_DELTA,
    CREDIT,
    KEY,
    NAME,
    COLUMNS,
};

static const char *const names[COLUMNS] = {
    "to", "eps", "delta", "total_eps", "total_delta", "credit", "key", "name"};

/* Where each column stands, -1 for none. */
struct layout {
    int place[COLUMNS];
    int count;
};

static char *trim(char *cell)
{
    cell += strspn(cell, " \t");
    cell[strcspn(cell, "\r\n")] = '\0';
    size_t length = strlen(cell);
    while (length > 0 && strchr(" \t", cell[length - 1]) != NULL)
        cell[--length] = '\0';
    return cell;
}

static enum pricer_status read_header(char *line, struct layout *layout,
                                      struct pricer_fault *fault)
{
    for (int c = 0; c < COLUMNS; c++)
        layout->place[c] = -1;
    layout->count = 0;
    for (char *cell; (cell = strsep(&line, ",")) != NULL; layout->count++) {
        int c = 0;
        cell = trim(cell);
        while (c < COLUMNS && strcmp(cell, names[c]) != 0)
            c++;
        if (c == COLUMNS || layout->place[c] >= 0)
            return daemon_fault(fault, PRICER_FORMAT,
                                "'%.60s' is no column, or there twice", cell);
        layout->place[c] = layout->count;
    }
    for (int c = TO; c <= DELTA; c++)
        if (layout->place[c] < 0)
            return daemon_fault(fault, PRICER_FORMAT,
                                "the column %s is missing", names[c]);
    if ((layout->place[TOTAL_EPS] < 0) != (layout->place[TOTAL_DELTA] < 0))
        return daemon_fault(fault, PRICER_FORMAT,
                            "total_eps and total_delta belong together");
    return PRICER_OK;
}

static bool parse(const char *cell, double *value)
{
    char *end;
    *value = strtod(cell, &end);
    return end != cell && *end == '\0' && !isnan(*value);
}

static enum pricer_status check_row(const struct trust_row *row, double to,
                                    struct pricer_fault *fault)
{
    uint8_t bytes[32];
    bool everyone = to == TRUST_EVERYONE;
    if (to != TRUST_SERVER && !everyone &&
        !(to >= 0 && to < INT32_MAX && to == floor(to)))
        return daemon_fault(fault, PRICER_VALUE, "to = %g is no node", to);
    if (!(row->eps > 0 && row->total_eps > 0))
        return daemon_fault(fault, PRICER_VALUE, "eps must be positive");
    if (everyone && !(row->delta >= 0 && row->delta <= 1))
        return daemon_fault(fault, PRICER_VALUE,
                            "delta of everyone must be in [0, 1]");
    if (everyone &&
        (row->total_eps != row->eps || row->total_delta != row->delta))
        return daemon_fault(fault, PRICER_VALUE,
                            "eps and delta of everyone are for all rounds: "
                            "leave total_eps and total_delta empty");
    if (everyone && row->key[0] != '\0')
        return daemon_fault(fault, PRICER_VALUE, "everyone has no key");
    if (!everyone && !(row->delta > 0 && row->delta <= 1 &&
                       row->total_delta > 0 && row->total_delta <= 1))
        return daemon_fault(fault, PRICER_VALUE, "delta must be in (0, 1]");
    if (row->key[0] != '\0' && !keys_bytes(row->key, bytes))
        return daemon_fault(fault, PRICER_VALUE, "'%s' is not a public key",
                            row->key);
    return PRICER_OK;
}

static bool parse_receiver(const char *cell, double *to)
{
    *to = strcmp(cell, "everyone") == 0 ? TRUST_EVERYONE : TRUST_SERVER;
    return *to == TRUST_EVERYONE || strcmp(cell, "server") == 0 ||
           (parse(cell, to) && *to >= 0);
}

/* A text of a row that has so much room. */
static enum pricer_status copy(const char *cell, char *text, size_t room,
                               const char *what, struct pricer_fault *fault)
{
    bool good = strlen(cell) < room;
    for (const unsigned char *at = (const unsigned char *)cell; *at; at++)
        good = good && *at >= 0x20 && *at != 0x7F;
    if (!good)
        return daemon_fault(fault, PRICER_VALUE, "'%.60s' is not a %s", cell,
                            what);
    strcpy(text, cell);
    return PRICER_OK;
}

static enum pricer_status read_row(char *line, const struct layout *layout,
                                   struct trust_row *row,
                                   struct pricer_fault *fault)
{
    double numbers[CREDIT] = {[TOTAL_EPS] = NAN, [TOTAL_DELTA] = NAN};
    int place = 0;
    *row = (struct trust_row){0};
    for (char *cell; (cell = strsep(&line, ",")) != NULL; place++) {
        cell = trim(cell);
        if (layout->place[TO] == place && !parse_receiver(cell, &numbers[TO]))
            return daemon_fault(fault, PRICER_VALUE,
                                "'%.60s' is no node's number, nor 'server' or "
                                "'everyone'",
                                cell);
        /* An empty total is none. */
        for (int c = EPS; c < CREDIT; c++)
            if (layout->place[c] == place && (c < TOTAL_EPS || *cell != '\0') &&
                !parse(cell, &numbers[c]))
                return daemon_fault(fault, PRICER_VALUE,
                                    "'%.60s' is not a number for %s", cell,
                                    names[c]);
        if (layout->place[CREDIT] == place && *cell != '\0' &&
            strcmp(cell, "none") != 0)
            return daemon_fault(fault, PRICER_VALUE,
                                "credit '%.60s' is not supported: every "
                                "packet counts as heard; remove the column",
                                cell);
        enum pricer_status status = PRICER_OK;
        if (layout->place[KEY] == place)
            status = copy(cell, row->key, sizeof row->key, "public key", fault);
        if (layout->place[NAME] == place)
            status = copy(cell, row->name, sizeof row->name, "name", fault);
        if (status != PRICER_OK)
            return status;
    }
    if (place != layout->count)
        return daemon_fault(fault, PRICER_FORMAT, "%d cells instead of %d",
                            place, layout->count);
    if (isnan(numbers[TOTAL_EPS]) != isnan(numbers[TOTAL_DELTA]))
        return daemon_fault(fault, PRICER_FORMAT,
                            "total_eps and total_delta belong together");
    bool totals = !isnan(numbers[TOTAL_EPS]);
    row->eps = numbers[EPS];
    row->delta = numbers[DELTA];
    row->total_eps = totals ? numbers[TOTAL_EPS] : numbers[EPS];
    row->total_delta = totals ? numbers[TOTAL_DELTA] : numbers[DELTA];
    enum pricer_status status = check_row(row, numbers[TO], fault);
    if (status == PRICER_OK)
        row->to = (int32_t)numbers[TO];
    return status;
}

static int compare(const void *a, const void *b)
{
    int32_t x = ((const struct trust_row *)a)->to;
    int32_t y = ((const struct trust_row *)b)->to;
    return (x > y) - (x < y);
}

static enum pricer_status append(struct trust *trust,
                                 const struct trust_row *row)
{
    size_t size = (size_t)trust->count + 1;
    struct trust_row *rows =
        reallocarray(trust->rows, size, sizeof *trust->rows);
    if (rows == NULL)
        return PRICER_MEMORY;
    trust->rows = rows;
    rows[trust->count++] = *row;
    return PRICER_OK;
}

static enum pricer_status read_lines(FILE *file, struct trust *trust,
                                     int64_t *number,
                                     struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    struct layout layout = {.count = 0};
    struct trust_row row;
    char *line = NULL;
    size_t room = 0;
    while (status == PRICER_OK && getline(&line, &room, file) >= 0) {
        ++*number;
        if (*trim(line) == '\0' || *trim(line) == '#')
            continue;
        if (layout.count == 0) {
            status = read_header(line, &layout, fault);
            continue;
        }
        status = read_row(line, &layout, &row, fault);
        row.line = *number;
        if (status == PRICER_OK)
            status = append(trust, &row);
    }
    free(line);
    if (status == PRICER_OK && layout.count == 0)
        status = daemon_fault(fault, PRICER_FORMAT, "there is no header");
    return status;
}

enum pricer_status trust_read(const char *path, struct trust *trust,
                              struct pricer_fault *fault)
{
    struct trust made = {0};
    struct pricer_fault inner = {""};
    int64_t line = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return daemon_fault(fault, PRICER_FILE, "%.300s: %s", path,
                            strerror(errno));
    enum pricer_status status = read_lines(file, &made, &line, &inner);
    fclose(file);
    if (made.count > 0)
        qsort(made.rows, (size_t)made.count, sizeof *made.rows, compare);
    for (int32_t k = 1; k < made.count && status == PRICER_OK; k++)
        if (made.rows[k].to == made.rows[k - 1].to) {
            const struct trust_row *row = &made.rows[k - 1];
            line = row[0].line > row[1].line ? row[0].line : row[1].line;
            status = daemon_fault(&inner, PRICER_VALUE, "%s%s is there twice",
                                  made.rows[k].to >= 0 ? "node " : "",
                                  trust_label(&made, made.rows[k].to).text);
        }
    if (status != PRICER_OK) {
        trust_free(&made);
        return daemon_fault(fault, status, "%.200s:%lld: %.200s", path,
                            (long long)line, inner.text);
    }
    *trust = made;
    return PRICER_OK;
}

void trust_free(struct trust *trust)
{
    free(trust->rows);
    *trust = (struct trust){0};
}

const struct trust_row *trust_find(const struct trust *trust, int32_t to)
{
    struct trust_row wanted = {.to = to};
    return trust->count == 0
               ? NULL
               : bsearch(&wanted, trust->rows, (size_t)trust->count,
                         sizeof wanted, compare);
}

struct node_label trust_label(const struct trust *trust, int32_t to)
{
    struct node_label label;
    const struct trust_row *row = trust_find(trust, to);
    if (to < 0)
        snprintf(label.text, sizeof label.text, "%s",
                 to == TRUST_EVERYONE ? "everyone" : "server");
    else if (row != NULL && row->name[0] != '\0')
        snprintf(label.text, sizeof label.text, "%s (%d)", row->name, (int)to);
    else
        snprintf(label.text, sizeof label.text, "%d", (int)to);
    return label;
}

/* What the budget allows one of so many releases; 0 where nothing is known. */
static double find_most(double eps, double delta, int64_t releases)
{
    const struct pricer_budget budget = {
        .eps = eps, .delta = delta, .rounds = releases, .p = 1};
    double most = 0;
    return pricer_calibrate(&budget, &most, NULL, NULL) == PRICER_OK ? most : 0;
}

double trust_most(double eps, double delta)
{
    return isinf(eps) || delta >= 1 ? INFINITY : find_most(eps, delta, 1);
}

bool trust_allows(double eps, double delta, double mu)
{
    if (isinf(eps) || delta >= 1 || mu == 0)
        return true;
    if (!(mu >= 0) || isinf(mu))
        return false;
    return pricer_gaussian_delta(eps, mu) <= delta ||
           mu <= find_most(eps, delta, 1);
}

bool trust_allows_often(double eps, double delta, double mu, int64_t releases)
{
    return mu <= find_most(eps, delta, releases) * (1 + 0x1p-50);
}

double trust_ratio(double diameter, double weight, double noise)
{
    if (weight == 0)
        return 0;
    if (noise == 0)
        return INFINITY;
    /* Two roundings of a long double, and one up. */
    long double ratio = (long double)diameter * weight / noise;
    ratio *= 1 + 2 * LDBL_EPSILON;
    double rounded = (double)ratio;
    return rounded < ratio ? nextafter(rounded, INFINITY) : rounded;
}

double trust_ratio_together(const double *ratio, int32_t count)
{
    long double square = 0;
    for (int32_t k = 0; k < count; k++)
        square += (long double)ratio[k] * ratio[k];
    if (!(square > 0) || isinf(square))
        return (double)square;
    /* A rounding of every product and sum, and one of the root. */
    long double root =
        sqrtl(square) * (1 + LDBL_EPSILON * (2 * (long double)count + 2));
    double rounded = (double)root;
    return rounded < root ? nextafter(rounded, INFINITY) : rounded;
}
