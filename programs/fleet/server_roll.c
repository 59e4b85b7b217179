/*
 * From the study's enrolments to who may connect and who has a seat. A node may
 * have two keys for a while: the one it has and the next, which the old one has
 * signed. Both are let in; the one it connects with last is the one it uses, and
 * its neighbours are told.
 */
#include "server.h"

#include <stdlib.h>
#include <string.h>

/* Who is enrolled, and which keys follow theirs. */
struct roll {
    struct pricer_member *members;
    struct pricer_successor *successors;
    int32_t count, successor_count;
};

static void free_roll(struct roll *roll)
{
    pricer_members_free(roll->members);
    pricer_successors_free(roll->successors);
}

static enum pricer_status read_roll(struct server *server, struct roll *roll,
                                    struct pricer_fault *fault)
{
    enum pricer_status status = pricer_study_members(
        server->study, &roll->members, &roll->count, fault);
    if (status == PRICER_OK)
        status = pricer_study_successors(server->study, &roll->successors,
                                         &roll->successor_count, fault);
    if (status != PRICER_OK)
        free_roll(roll);
    return status;
}

/* The member with a number, or NULL; they are by number. */
static struct pricer_member *find_member(const struct roll *roll, int32_t node)
{
    int32_t low = 0, high = roll->count;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (roll->members[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < roll->count && roll->members[low].node == node
               ? &roll->members[low]
               : NULL;
}

/* Let the keys of nodes in, also those to come, and nobody else. */
static enum pricer_status admit(struct server *server, const struct roll *roll)
{
    size_t room = (size_t)roll->count + (size_t)roll->successor_count + 1;
    struct hub_entry *entries = calloc(room, sizeof *entries);
    int32_t nodes = 0;
    if (entries == NULL)
        return PRICER_MEMORY;
    for (int32_t k = 0; k < roll->count; k++)
        if (roll->members[k].node != PRICER_SERVER) {
            keys_bytes(roll->members[k].key, entries[nodes].key);
            entries[nodes++].number = roll->members[k].node;
        }
    for (int32_t k = 0; k < roll->successor_count; k++) {
        const struct pricer_successor *next = &roll->successors[k];
        const struct pricer_member *member = find_member(roll, next->node);
        if (member == NULL || strcmp(member->key, next->old) != 0)
            continue; /* retired, or of an enrolment that is over */
        keys_bytes(next->key, entries[nodes].key);
        entries[nodes++].number = next->node;
    }
    enum pricer_status status = hub_admit(server->hub, entries, nodes);
    free(entries);
    return status;
}

static void seat_members(struct server *server,
                         const struct pricer_member *members, int32_t count)
{
    server->members = 0;
    for (int32_t i = 0; i < server->network->nodes; i++)
        server->seats[i].enrolled = false;
    for (int32_t k = 0; k < count; k++) {
        if (members[k].node == PRICER_SERVER)
            continue;
        struct seat *seat = &server->seats[members[k].node];
        seat->enrolled = true;
        if (strcmp(seat->key, members[k].key) != 0)
            seat->ready = seat->told = false;
        strcpy(seat->key, members[k].key);
        strcpy(seat->address, members[k].address);
        server->members++;
    }
}

/* Whether the seats are not those of these members. */
static bool differs(const struct server *server,
                    const struct pricer_member *members, int32_t count)
{
    int32_t nodes = 0;
    for (int32_t k = 0; k < count; k++) {
        if (members[k].node == PRICER_SERVER)
            continue;
        const struct seat *seat = &server->seats[members[k].node];
        nodes++;
        if (!seat->enrolled || strcmp(seat->key, members[k].key) != 0 ||
            strcmp(seat->address, members[k].address) != 0)
            return true;
    }
    return nodes != server->members;
}

/* A node that has come with its next key uses that one from now on. */
static void follow(const struct server *server, struct roll *roll)
{
    for (int32_t k = 0; k < roll->successor_count; k++) {
        const struct pricer_successor *next = &roll->successors[k];
        struct pricer_member *member = find_member(roll, next->node);
        if (member != NULL && strcmp(member->key, next->old) == 0 &&
            strcmp(server->seats[next->node].shown, next->key) == 0)
            strcpy(member->key, next->key);
    }
}

/* The old key's signature, for the neighbours. */
static void note_proofs(struct server *server, const struct roll *roll)
{
    for (int32_t i = 0; i < server->network->nodes; i++)
        server->seats[i].follows = false;
    for (int32_t k = 0; k < roll->successor_count; k++) {
        const struct pricer_successor *next = &roll->successors[k];
        if (find_member(roll, next->node) == NULL)
            continue;
        struct seat *seat = &server->seats[next->node];
        seat->follows = strcmp(seat->key, next->key) == 0;
        seat->successor = *next;
    }
}

enum pricer_status server_load_members(struct server *server, bool seat,
                                       struct pricer_fault *fault)
{
    struct roll roll = {0};
    int64_t stamp = 0;
    enum pricer_status status =
        pricer_study_stamp(server->study, &stamp, fault);
    if (status == PRICER_OK)
        status = read_roll(server, &roll, fault);
    if (status != PRICER_OK)
        return status;
    server->stamp = stamp;
    status = admit(server, &roll);
    follow(server, &roll);
    if (status == PRICER_OK && seat) {
        seat_members(server, roll.members, roll.count);
        note_proofs(server, &roll);
    } else if (status == PRICER_OK) {
        server->stale =
            server->stale || differs(server, roll.members, roll.count);
    }
    free_roll(&roll);
    return status;
}

void server_refresh(struct server *server, int64_t now, bool asked)
{
    enum { AGAIN = 200, LATER = 300, SAY = 10000 };
    int64_t stamp = server->stamp;
    struct pricer_fault fault = {""};
    if (!asked && now < server->looked + AGAIN)
        return;
    server->looked = now;
    if (!asked &&
        (pricer_study_stamp(server->study, &stamp, NULL) != PRICER_OK ||
         stamp == server->stamp))
        return;
    if (server_load_members(server, false, &fault) == PRICER_OK)
        return;
    server->looked = now + LATER;
    if (now < server->unread + SAY)
        return;
    server->unread = now;
    daemon_say("who is enrolled cannot be read: %s", fault.text);
}
