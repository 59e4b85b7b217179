/*
 * From "1,4,server" to the members of a coalition.
 */
#include "coalition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_list(const char *list, int32_t nodes,
                      struct coalition *coalition)
{
    for (const char *at = list; *at != '\0';) {
        size_t length = strcspn(at, ",");
        char *end;
        long node = strtol(at, &end, 10);
        if (length == 6 && strncmp(at, "server", 6) == 0)
            coalition->with_server = true;
        else if (length == 0 || end != at + length || node < 0 ||
                 node >= nodes || *at == '+' || *at == ' ')
            return false;
        else
            coalition->members[coalition->member_count++] = (int32_t)node;
        at += length;
        if (*at == ',' && *++at == '\0')
            return false;
    }
    return coalition->member_count > 0 || coalition->with_server;
}

enum pricer_status coalition_read(const char *list, int32_t nodes,
                                  struct coalition *coalition,
                                  struct pricer_fault *fault)
{
    struct coalition made = {0};
    made.members = calloc(strlen(list) / 2 + 1, sizeof *made.members);
    if (made.members == NULL)
        return PRICER_MEMORY;
    if (read_list(list, nodes, &made)) {
        *coalition = made;
        return PRICER_OK;
    }
    free(made.members);
    snprintf(fault->text, sizeof fault->text,
             "--coalition %.80s is not a list of nodes (0 to %d) and 'server'",
             list, (int)nodes - 1);
    return PRICER_VALUE;
}
