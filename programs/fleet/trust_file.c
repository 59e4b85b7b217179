/*
 * From a trust file to what may be sent to whom.
 */
#include "trust_file.h"
#include "transport/keys.h"
#include "common/cells.h"
#include "common/daemon.h"

#include <float.h>
#include <math.h>
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

static enum pricer_status read_numbers(char *const *cell, double *numbers,
                                       struct pricer_fault *fault)
{
    if (!parse_receiver(cell[TO], &numbers[TO]))
        return daemon_fault(fault, PRICER_VALUE,
                            "'%.60s' is no node's number, nor 'server' or "
                            "'everyone'",
                            cell[TO]);
    /* An empty total is none. */
    for (int c = EPS; c < CREDIT; c++)
        if ((c < TOTAL_EPS || *cell[c] != '\0') && !parse(cell[c], &numbers[c]))
            return daemon_fault(fault, PRICER_VALUE,
                                "'%.60s' is not a number for %s", cell[c],
                                names[c]);
    if (isnan(numbers[TOTAL_EPS]) != isnan(numbers[TOTAL_DELTA]))
        return daemon_fault(fault, PRICER_FORMAT,
                            "total_eps and total_delta belong together");
    return PRICER_OK;
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

static enum pricer_status take_row(void *context, int64_t line,
                                   char *const *cell,
                                   struct pricer_fault *fault)
{
    double numbers[CREDIT] = {[TOTAL_EPS] = NAN, [TOTAL_DELTA] = NAN};
    struct trust_row row = {.line = line};
    enum pricer_status status = read_numbers(cell, numbers, fault);
    if (status != PRICER_OK)
        return status;
    if (*cell[CREDIT] != '\0' && strcmp(cell[CREDIT], "none") != 0)
        return daemon_fault(fault, PRICER_VALUE,
                            "credit '%.60s' is not supported: every "
                            "packet counts as heard; remove the column",
                            cell[CREDIT]);
    bool totals = !isnan(numbers[TOTAL_EPS]);
    row.eps = numbers[EPS];
    row.delta = numbers[DELTA];
    row.total_eps = totals ? numbers[TOTAL_EPS] : numbers[EPS];
    row.total_delta = totals ? numbers[TOTAL_DELTA] : numbers[DELTA];
    status = copy(cell[KEY], row.key, sizeof row.key, "public key", fault);
    if (status == PRICER_OK)
        status = copy(cell[NAME], row.name, sizeof row.name, "name", fault);
    if (status == PRICER_OK)
        status = check_row(&row, numbers[TO], fault);
    if (status != PRICER_OK)
        return status;
    row.to = (int32_t)numbers[TO];
    return append(context, &row);
}

/* Nobody has two rows. */
static enum pricer_status check_twice(const char *path,
                                      const struct trust *trust,
                                      struct pricer_fault *fault)
{
    for (int32_t k = 1; k < trust->count; k++) {
        const struct trust_row *row = &trust->rows[k - 1];
        int64_t line = row[0].line > row[1].line ? row[0].line : row[1].line;
        if (row[0].to == row[1].to)
            return daemon_fault(fault, PRICER_VALUE,
                                "%.200s:%lld: %s%s is there twice", path,
                                (long long)line, row->to >= 0 ? "node " : "",
                                trust_label(trust, row->to).text);
    }
    return PRICER_OK;
}

enum pricer_status trust_read(const char *path, struct trust *trust,
                              struct pricer_fault *fault)
{
    struct trust made = {0};
    const struct cells cells = {path,      names,    COLUMNS,
                                DELTA + 1, take_row, &made};
    enum pricer_status status = cells_read(&cells, fault);
    if (made.count > 0)
        qsort(made.rows, (size_t)made.count, sizeof *made.rows, compare);
    if (status == PRICER_OK)
        status = check_twice(path, &made, fault);
    if (status != PRICER_OK) {
        trust_free(&made);
        return status;
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
