/*
 * From a text file to lines of cells: tables without a fixed set of columns, as
 * measurements and vectors come.
 *
 * The first line that is neither blank nor a comment decides what separates
 * cells: semicolons, commas or tabs, else blanks. A cell may be quoted. Nothing
 * is copied: cells are cut out of the text in memory.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum pricer_status pri_lines_load(struct pri_stream *stream,
                                  struct pri_lines *lines,
                                  struct pricer_fault *fault)
{
    void *loaded = NULL;
    int64_t length = 0;
    enum pricer_status status =
        pri_stream_load(stream, INT64_MAX / 4, &loaded, &length, fault);
    if (status != PRICER_OK)
        return status;
    char *text = realloc(loaded, (size_t)length + 1);
    if (text == NULL) {
        free(loaded);
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    }
    text[length] = '\0';
    if (strlen(text) < (size_t)length) {
        free(text);
        return pri_stream_fault(stream, fault, "this is not a text file");
    }
    bool mark = strncmp(text, "\xef\xbb\xbf", 3) == 0;
    *lines = (struct pri_lines){
        .path = stream->path, .text = text, .next = text + (mark ? 3 : 0)};
    return PRICER_OK;
}

void pri_lines_free(struct pri_lines *lines)
{
    free(lines->text);
}

bool pri_lines_next(struct pri_lines *lines)
{
    while (*lines->next != '\0') {
        char *line = lines->next;
        lines->end = line + strcspn(line, "\r\n");
        lines->next = lines->end;
        lines->next += *lines->next == '\r';
        lines->next += *lines->next == '\n';
        lines->line++;
        line += strspn(line, " \t");
        if (line >= lines->end || *line == '#')
            continue;
        if (lines->separator == '\0')
            lines->separator = pri_separator(line, (size_t)(lines->end - line));
        lines->at = line;
        return true;
    }
    return false;
}

/* A quoted cell ends at the next quotation mark, or with the line. */
static char *take_quoted(struct pri_lines *lines)
{
    char *cell = lines->at + 1;
    char *mark = memchr(cell, '"', (size_t)(lines->end - cell));
    lines->at = mark != NULL ? mark + 1 : lines->end;
    if (mark != NULL)
        *mark = '\0';
    return cell;
}

char *pri_lines_cell(struct pri_lines *lines)
{
    const char *blanks = lines->separator == '\t' ? " " : " \t";
    char *cell = lines->at, *end = lines->end;
    if (cell == NULL)
        return NULL;
    cell += strspn(cell, blanks);
    if (lines->separator == ' ' && cell >= end)
        return NULL;
    *end = '\0'; /* the next line begins behind it */
    lines->at = cell;
    if (*cell == '"')
        cell = take_quoted(lines);
    char *behind = lines->separator == ' '
                       ? lines->at + strcspn(lines->at, " \t")
                       : strchrnul(lines->at, lines->separator);
    char *last = behind;
    while (last > cell && (last[-1] == ' ' || last[-1] == '\t'))
        last--;
    lines->at = *behind != '\0' ? behind + 1 : NULL;
    *last = '\0';
    return cell;
}
