/*
 * Who takes part in real rounds, into a study and out of it. What comes out is
 * checked again: anyone may have edited the table.
 */
#include "study.h"

#include <stdlib.h>
#include <string.h>

/* The alphabet of Z85, in the order of its values. */
static const char alphabet[] =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    ".-:+=^!/*?&<>()[]{}@%$#";

static bool is_key(const char *key)
{
    return strlen(key) == PRICER_KEY_TEXT - 1 &&
           strspn(key, alphabet) == PRICER_KEY_TEXT - 1;
}

/* "tcp://host:port", which the transport looks at more closely. */
static bool is_address(const char *address)
{
    const char *colon = strrchr(address, ':');
    return strncmp(address, "tcp://", 6) == 0 && colon > address + 6 &&
           colon[1] != '\0' &&
           strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
           strpbrk(address, " \t\n\r,;\"") == NULL;
}

static enum pricer_status count_nodes(struct pricer_study *study,
                                      int64_t *nodes,
                                      struct pricer_fault *fault)
{
    return pri_study_count(study, "SELECT count(*) FROM node", nodes, fault);
}

static enum pricer_status check_member(int64_t nodes,
                                       const struct pricer_member *member,
                                       struct pricer_fault *fault)
{
    if (member->node < PRICER_SERVER || member->node >= nodes)
        return pri_fault(fault, PRICER_VALUE, "there is no node %d",
                         (int)member->node);
    if (!is_key(member->key))
        return pri_fault(fault, PRICER_VALUE,
                         "'%.60s' is not a public key: 40 characters of Z85",
                         member->key);
    if (!is_address(member->address))
        return pri_fault(fault, PRICER_VALUE,
                         "'%.100s' is not an address such as "
                         "tcp://10.0.0.3:7100",
                         member->address);
    return PRICER_OK;
}

/* A node that is enrolled again gets the new key and address. */
static enum pricer_status store(const struct pricer_study *study,
                                const struct pricer_member *member,
                                struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO member VALUES (?, ?, ?) ON CONFLICT (node) DO UPDATE"
        " SET key = excluded.key, address = excluded.address",
        &insert, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int(insert, 1, member->node);
    sqlite3_bind_text(insert, 2, member->key, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, member->address, -1, SQLITE_STATIC);
    int step = sqlite3_step(insert);
    if (step == SQLITE_CONSTRAINT)
        status = pri_fault(fault, PRICER_VALUE,
                           "the key %s belongs to another member", member->key);
    else if (step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pricer_study_enrol(struct pricer_study *study,
                                      const struct pricer_member *member,
                                      struct pricer_fault *fault)
{
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    int64_t nodes = 0;
    status = count_nodes(study, &nodes, fault);
    if (status == PRICER_OK)
        status = check_member(nodes, member, fault);
    if (status == PRICER_OK)
        status = store(study, member, fault);
    return pri_study_end(study, status, fault);
}

enum pricer_status pricer_study_expel(struct pricer_study *study, int32_t node,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *expel = NULL;
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    status = pri_study_prepare(study, "DELETE FROM member WHERE node = ?",
                               &expel, fault);
    if (status == PRICER_OK) {
        sqlite3_bind_int(expel, 1, node);
        if (sqlite3_step(expel) != SQLITE_DONE)
            status = pri_study_fault(study, fault);
        else if (sqlite3_changes(study->database) == 0)
            status = pri_fault(fault, PRICER_VALUE, "node %d is not enrolled",
                               (int)node);
    }
    sqlite3_finalize(expel);
    return pri_study_end(study, status, fault);
}

enum pricer_status pricer_study_stamp(struct pricer_study *study,
                                      int64_t *stamp,
                                      struct pricer_fault *fault)
{
    return pri_study_count(study, "PRAGMA data_version", stamp, fault);
}

/* Copy a column into room for `size` bytes; false: it does not fit. */
static bool copy_text(sqlite3_stmt *query, int column, char *text, size_t size)
{
    const char *found = (const char *)sqlite3_column_text(query, column);
    if (found == NULL || strlen(found) >= size)
        return false;
    strcpy(text, found);
    return true;
}

/* The rows of the query, each checked as a new member would be. */
static enum pricer_status read_members(const struct pricer_study *study,
                                       sqlite3_stmt *query, int64_t nodes,
                                       int64_t room,
                                       struct pricer_member *members,
                                       int32_t *count,
                                       struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    int step = SQLITE_ROW;
    while (status == PRICER_OK && *count < room &&
           (step = sqlite3_step(query)) == SQLITE_ROW) {
        struct pricer_member *member = &members[*count];
        member->node = sqlite3_column_int(query, 0);
        bool fits =
            copy_text(query, 1, member->key, sizeof member->key) &&
            copy_text(query, 2, member->address, sizeof member->address);
        status = fits ? check_member(nodes, member, fault) : PRICER_FORMAT;
        ++*count;
    }
    if (status != PRICER_OK)
        return pri_fault(fault, PRICER_FORMAT,
                         "%.300s: the member in row %d is damaged", study->path,
                         (int)*count);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        return pri_study_fault(study, fault);
    return PRICER_OK;
}

void pricer_members_free(struct pricer_member *members)
{
    free(members);
}

enum pricer_status pricer_study_members(struct pricer_study *study,
                                        struct pricer_member **members,
                                        int32_t *count,
                                        struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    struct pricer_member *made = NULL;
    int64_t room = 0, nodes = 0;
    int32_t found = 0;
    enum pricer_status status =
        pri_study_count(study, "SELECT count(*) FROM member", &room, fault);
    if (status == PRICER_OK)
        status = count_nodes(study, &nodes, fault);
    if (status == PRICER_OK)
        status = pri_study_prepare(
            study, "SELECT node, key, address FROM member ORDER BY node",
            &query, fault);
    if (status == PRICER_OK &&
        (made = pri_alloc(room + 1, sizeof *made)) == NULL)
        status = PRICER_MEMORY;
    if (status == PRICER_OK)
        status = read_members(study, query, nodes, room, made, &found, fault);
    sqlite3_finalize(query);
    if (status != PRICER_OK) {
        free(made);
        return status;
    }
    *members = made;
    *count = found;
    return PRICER_OK;
}
