/*
 * From a file of neighbours to their keys and addresses.
 */
#include "neighbours.h"
#include "common/cells.h"
#include "common/daemon.h"
#include "transport/hub.h"
#include "transport/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NODE, KEY, ADDRESS, NAME, COLUMNS };

static enum pricer_status check_row(char *const *cell, long node,
                                    struct pricer_fault *fault)
{
    struct address address;
    uint8_t bytes[KEYS_SIZE];
    if (node < 0)
        return daemon_fault(fault, PRICER_VALUE, "'%.60s' is no node's number",
                            cell[NODE]);
    if (!keys_bytes(cell[KEY], bytes))
        return daemon_fault(fault, PRICER_VALUE, "'%.60s' is not a public key",
                            cell[KEY]);
    if (*cell[ADDRESS] != '\0' &&
        (strlen(cell[ADDRESS]) >= PRICER_ADDRESS_TEXT ||
         !address_parse(cell[ADDRESS], &address)))
        return daemon_fault(fault, PRICER_VALUE,
                            "'%.60s' is not an address such as "
                            "tcp://10.0.0.3:7100",
                            cell[ADDRESS]);
    for (const char *at = cell[NAME]; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F ||
            at - cell[NAME] >= PRICER_NAME_TEXT - 1)
            return daemon_fault(fault, PRICER_VALUE, "'%.60s' is not a name",
                                cell[NAME]);
    return PRICER_OK;
}

static enum pricer_status take_row(void *context, int64_t line,
                                   char *const *cell,
                                   struct pricer_fault *fault)
{
    struct neighbours *made = context;
    char *end;
    errno = 0;
    long node = strtol(cell[NODE], &end, 10);
    if (end == cell[NODE] || *end != '\0' || errno != 0 || node >= INT32_MAX)
        node = -1;
    enum pricer_status status = check_row(cell, node, fault);
    if (status != PRICER_OK)
        return status;
    struct neighbour *rows =
        reallocarray(made->rows, (size_t)made->count + 1, sizeof *made->rows);
    if (rows == NULL)
        return PRICER_MEMORY;
    made->rows = rows;
    struct neighbour *row = &rows[made->count++];
    *row = (struct neighbour){.node = (int32_t)node, .line = line};
    strcpy(row->key, cell[KEY]);
    strcpy(row->address, cell[ADDRESS]);
    strcpy(row->name, cell[NAME]);
    return PRICER_OK;
}

static int compare(const void *a, const void *b)
{
    int32_t x = ((const struct neighbour *)a)->node;
    int32_t y = ((const struct neighbour *)b)->node;
    return (x > y) - (x < y);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct neighbour *)a)->key,
                  ((const struct neighbour *)b)->key);
}

/* Sort, and report two rows that are the same by this order. */
static enum pricer_status check_twice(struct neighbours *made,
                                      int (*order)(const void *, const void *),
                                      const char *what, const char *path,
                                      struct pricer_fault *fault)
{
    if (made->count > 0)
        qsort(made->rows, (size_t)made->count, sizeof *made->rows, order);
    for (int32_t k = 1; k < made->count; k++) {
        const struct neighbour *row = &made->rows[k - 1];
        if (order(row, row + 1) != 0)
            continue;
        return daemon_fault(
            fault, PRICER_VALUE,
            "%.200s:%lld: the %s of node %d is there twice", path,
            (long long)(row[0].line > row[1].line ? row[0].line : row[1].line),
            what, (int)row->node);
    }
    return PRICER_OK;
}

enum pricer_status neighbours_read(const char *path,
                                   struct neighbours *neighbours,
                                   struct pricer_fault *fault)
{
    static const char *const names[COLUMNS] = {"node", "key", "address",
                                               "name"};
    struct neighbours made = {0};
    const struct cells cells = {path,        names,    COLUMNS,
                                ADDRESS + 1, take_row, &made};
    enum pricer_status status = cells_read(&cells, fault);
    if (status == PRICER_OK)
        status = check_twice(&made, compare_keys, "key", path, fault);
    if (status == PRICER_OK)
        status = check_twice(&made, compare, "row", path, fault);
    if (status != PRICER_OK) {
        neighbours_free(&made);
        return status;
    }
    *neighbours = made;
    return PRICER_OK;
}

void neighbours_free(struct neighbours *neighbours)
{
    free(neighbours->rows);
    *neighbours = (struct neighbours){0};
}

const struct neighbour *neighbours_find(const struct neighbours *neighbours,
                                        int32_t node)
{
    struct neighbour wanted = {.node = node};
    return neighbours->count == 0
               ? NULL
               : bsearch(&wanted, neighbours->rows, (size_t)neighbours->count,
                         sizeof wanted, compare);
}
