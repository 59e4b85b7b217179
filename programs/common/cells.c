/*
 * From a small CSV file to its rows, every fault with file and line.
 */
#include "cells.h"
#include "daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where each column is, -1: nowhere. */
struct layout {
    int place[CELLS_MOST];
    int count; /* 0: no header yet */
};

static char *trim(char *cell)
{
    cell += strspn(cell, " \t\"");
    cell[strcspn(cell, "\r\n")] = '\0';
    size_t length = strlen(cell);
    while (length > 0 && strchr(" \t\"", cell[length - 1]) != NULL)
        cell[--length] = '\0';
    return cell;
}

static enum pricer_status read_header(const struct cells *cells, char *line,
                                      struct layout *layout,
                                      struct pricer_fault *fault)
{
    for (int c = 0; c < cells->count; c++)
        layout->place[c] = -1;
    for (char *cell; (cell = strsep(&line, ",")) != NULL; layout->count++) {
        int c = 0;
        cell = trim(cell);
        while (c < cells->count && strcmp(cell, cells->names[c]) != 0)
            c++;
        if (c == cells->count || layout->place[c] >= 0)
            return daemon_fault(fault, PRICER_FORMAT,
                                c == cells->count
                                    ? "there is no column '%.60s' here"
                                    : "the column '%.60s' is there twice",
                                cell);
        layout->place[c] = layout->count;
    }
    for (int c = 0; c < cells->required; c++)
        if (layout->place[c] < 0)
            return daemon_fault(fault, PRICER_FORMAT,
                                "the column %s is missing", cells->names[c]);
    return PRICER_OK;
}

static enum pricer_status read_row(const struct cells *cells, char *line,
                                   const struct layout *layout, int64_t number,
                                   struct pricer_fault *fault)
{
    static char none[] = "";
    char *values[CELLS_MOST];
    int place = 0;
    for (int c = 0; c < cells->count; c++)
        values[c] = none;
    for (char *cell; (cell = strsep(&line, ",")) != NULL; place++)
        for (int c = 0; c < cells->count; c++)
            if (layout->place[c] == place)
                values[c] = trim(cell);
    if (place != layout->count)
        return daemon_fault(fault, PRICER_FORMAT, "%d cells instead of %d",
                            place, layout->count);
    return cells->row(cells->context, number, values, fault);
}

static enum pricer_status read_lines(const struct cells *cells, FILE *file,
                                     int64_t *number,
                                     struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    struct layout layout = {.count = 0};
    char *line = NULL;
    size_t room = 0;
    while (status == PRICER_OK && getline(&line, &room, file) >= 0) {
        ++*number;
        char first = *trim(line);
        if (first == '\0' || first == '#')
            continue;
        status = layout.count == 0
                     ? read_header(cells, line, &layout, fault)
                     : read_row(cells, line, &layout, *number, fault);
    }
    free(line);
    if (status == PRICER_OK && ferror(file))
        status = daemon_fault(fault, PRICER_FILE, "%s", strerror(errno));
    if (status == PRICER_OK && layout.count == 0)
        status = daemon_fault(fault, PRICER_FORMAT, "there is no header");
    return status;
}

enum pricer_status cells_read(const struct cells *cells,
                              struct pricer_fault *fault)
{
    struct pricer_fault inner = {""};
    int64_t line = 0;
    FILE *file = fopen(cells->path, "re");
    if (file == NULL)
        return daemon_fault(fault, PRICER_FILE, "%.300s: %s", cells->path,
                            strerror(errno));
    enum pricer_status status = read_lines(cells, file, &line, &inner);
    fclose(file);
    if (status != PRICER_OK)
        return daemon_fault(fault, status, "%.200s:%lld: %.200s", cells->path,
                            (long long)line, inner.text);
    return PRICER_OK;
}
