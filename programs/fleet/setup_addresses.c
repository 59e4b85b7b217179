/*
 * From what the operator says, and what is enrolled, to an address for every
 * member of a fleet.
 */
#include "setup.h"
#include "common/cells.h"
#include "common/daemon.h"
#include "transport/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODE, ADDRESS, KEY, COLUMNS, FIRST_PORT = 7100 };

/* "HOST:PORT" may stand for "tcp://HOST:PORT". */
static enum pricer_status put_address(const char *text, char *address,
                                      struct pricer_fault *fault)
{
    const char *scheme = strstr(text, "://") == NULL ? "tcp://" : "";
    const char *colon = strrchr(text, ':');
    if (*text == '\0' || colon == NULL || colon[1] == '\0' ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        atol(colon + 1) < 1 || atol(colon + 1) > 65535 ||
        snprintf(address, PRICER_ADDRESS_TEXT, "%s%s", scheme, text) >=
            PRICER_ADDRESS_TEXT)
        return daemon_fault(fault, PRICER_VALUE,
                            "'%.60s' is not an address such as "
                            "tcp://10.0.0.3:7100",
                            text);
    return PRICER_OK;
}

static enum pricer_status take_row(void *context, int64_t line,
                                   char *const *cell,
                                   struct pricer_fault *fault)
{
    struct setup *setup = context;
    char *end;
    long node = -1;
    (void)line;
    if (strcmp(cell[NODE], "server") != 0) {
        node = strtol(cell[NODE], &end, 10);
        if (end == cell[NODE] || *end != '\0' || node < 0 ||
            node >= setup->network->nodes)
            return daemon_fault(fault, PRICER_VALUE,
                                "'%.60s' is no node of the study, nor 'server'",
                                cell[NODE]);
    }
    struct setup_member *member = &setup->members[node + 1];
    if (member->address[0] != '\0')
        return daemon_fault(fault, PRICER_VALUE, "'%.60s' is there twice",
                            cell[NODE]);
    enum pricer_status status =
        put_address(cell[ADDRESS], member->address, fault);
    member->given = cell[KEY][0] != '\0';
    if (status == PRICER_OK && member->given)
        status = keys_public(cell[KEY], member->key, fault);
    return status;
}

static enum pricer_status read_file(struct setup *setup,
                                    struct pricer_fault *fault)
{
    static const char *const names[COLUMNS] = {"node", "address", "key"};
    const struct cells cells = {setup->addresses, names,    COLUMNS,
                                ADDRESS + 1,      take_row, setup};
    return cells_read(&cells, fault);
}

/* Where the file says nothing, what is enrolled stays; and under which keys. */
static enum pricer_status take_enrolled(struct setup *setup,
                                        struct pricer_fault *fault)
{
    struct pricer_member *members = NULL;
    int32_t count = 0;
    enum pricer_status status =
        pricer_study_members(setup->study, &members, &count, fault);
    for (int32_t k = 0; status == PRICER_OK && k < count; k++) {
        struct setup_member *member = &setup->members[members[k].node + 1];
        if (member->address[0] == '\0')
            strcpy(member->address, members[k].address);
        strcpy(member->enrolled, members[k].key);
    }
    setup->enrolled = count;
    pricer_members_free(members);
    return status;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "tcp://127.", 10) == 0 ||
           strncmp(address, "tcp://localhost:", 16) == 0 ||
           strncmp(address, "tcp://[::1]:", 12) == 0;
}

enum pricer_status setup_addresses(struct setup *setup,
                                   struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    if (setup->server != NULL)
        status = put_address(setup->server, setup->members[0].address, fault);
    if (status == PRICER_OK && setup->addresses != NULL)
        status = read_file(setup, fault);
    if (status == PRICER_OK)
        status = take_enrolled(setup, fault);
    if (status == PRICER_OK && setup->members[0].address[0] == '\0')
        snprintf(setup->members[0].address, PRICER_ADDRESS_TEXT,
                 "tcp://127.0.0.1:%d", FIRST_PORT);
    bool near = status == PRICER_OK && is_loopback(setup->members[0].address);
    for (int32_t i = 0; i < setup->network->nodes && status == PRICER_OK; i++) {
        char *address = setup->members[i + 1].address;
        int32_t port = FIRST_PORT + 1 + i;
        if (address[0] != '\0')
            continue;
        if (!near || port > 65535)
            return daemon_fault(fault, PRICER_VALUE,
                                "where is node %d? Say so in a file "
                                "(--addresses) with the columns node,address",
                                (int)i);
        snprintf(address, PRICER_ADDRESS_TEXT, "tcp://127.0.0.1:%d", (int)port);
    }
    return status;
}
