/*
 * From the study's enrolments to who may connect, and with which keys packets are
 * checked. A node whose next key is enrolled may use either until the old one is
 * retired.
 */
#include "server.h"
#include "pricer_members.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* Who is enrolled, and which keys follow theirs. */
struct enrolment {
    struct pricer_member *members;
    struct pricer_successor *successors;
    int32_t count, successor_count;
};

/* The next key of a member, or NULL. Both are by node. */
static const char *find_next(const struct enrolment *enrolment,
                             const struct pricer_member *member, int32_t *k)
{
    while (*k < enrolment->successor_count &&
           enrolment->successors[*k].node < member->node)
        ++*k;
    const struct pricer_successor *next = &enrolment->successors[*k];
    return *k < enrolment->successor_count && next->node == member->node &&
                   strcmp(next->old, member->key) == 0
               ? next->key
               : NULL;
}

static enum pricer_status admit(struct hub *hub,
                                const struct enrolment *enrolment)
{
    struct hub_entry *entries =
        calloc(2 * (size_t)enrolment->count + 1, sizeof *entries);
    int32_t nodes = 0, next = 0;
    if (entries == NULL)
        return PRICER_MEMORY;
    for (int32_t k = 0; k < enrolment->count; k++) {
        const struct pricer_member *member = &enrolment->members[k];
        if (member->node == PRICER_SERVER)
            continue;
        const char *keys[2] = {member->key,
                               find_next(enrolment, member, &next)};
        for (int l = 0; l < 2; l++)
            if (keys[l] != NULL && keys_bytes(keys[l], entries[nodes].key))
                entries[nodes++].number = member->node;
    }
    enum pricer_status status = hub_admit(hub, entries, nodes);
    free(entries);
    return status;
}

/* Take over one node's keys; whether any is another than before. A key that follows
 * inherits what was heard. */
static bool enter(struct mesh_member *member, const char *key, const char *next,
                  const struct key_pair *pair)
{
    uint8_t bytes[KEYS_SIZE], after[KEYS_SIZE] = {0};
    bool known =
        keys_bytes(key, bytes) && (next == NULL || keys_bytes(next, after));
    bool same =
        member->enrolled && memcmp(member->key, bytes, sizeof bytes) == 0;
    if (!known || (same && memcmp(member->next, after, sizeof after) == 0))
        return false;
    if (!same &&
        (!member->enrolled || memcmp(member->next, bytes, sizeof bytes) != 0)) {
        member->heard = 0;
        member->recalled = false;
    }
    if (!same)
        member->saved = 0;
    memcpy(member->key, bytes, sizeof bytes);
    memcpy(member->next, after, sizeof after);
    member->secrets = packet_key(pair, false, key, member->secret[0]);
    if (next != NULL && member->secrets == 1 &&
        packet_key(pair, false, next, member->secret[1]))
        member->secrets = 2;
    member->enrolled = member->secrets > 0;
    return true;
}

static void enter_all(struct mesh_members *members,
                      const struct enrolment *enrolment,
                      const struct key_pair *pair, bool *changed)
{
    int32_t k = 0, next = 0;
    members->count = 0;
    for (int32_t i = 0; i < members->nodes; i++) {
        struct mesh_member *member = &members->list[i];
        while (k < enrolment->count && enrolment->members[k].node < i)
            k++;
        if (k < enrolment->count && enrolment->members[k].node == i) {
            const struct pricer_member *found = &enrolment->members[k];
            const char *after = find_next(enrolment, found, &next);
            *changed = enter(member, found->key, after, pair) || *changed;
        } else if (member->enrolled) {
            member->enrolled = false;
            *changed = true;
        }
        members->count += member->enrolled;
    }
}

/* The announced form of which key followed which, of nodes that are enrolled. */
static bool list_follows(struct mesh_members *members,
                         const struct enrolment *enrolment)
{
    size_t room = (size_t)enrolment->successor_count * MESH_FOLLOW, size = 0;
    uint8_t *bytes = malloc(room + 1);
    if (bytes == NULL)
        return false;
    for (int32_t k = 0; k < enrolment->successor_count; k++) {
        const struct pricer_successor *one = &enrolment->successors[k];
        uint8_t old[KEYS_SIZE], key[KEYS_SIZE];
        if (one->node < 0 || one->node >= members->nodes ||
            !members->list[one->node].enrolled || !keys_bytes(one->old, old) ||
            !keys_bytes(one->key, key))
            continue;
        mesh_write_follow(bytes + size, &(struct mesh_follow){one->node, old,
                                                              key, one->proof});
        size += MESH_FOLLOW;
    }
    wire_free(&members->follows);
    members->follows = (struct wire_bytes){(char *)bytes, size, room + 1, 0};
    return true;
}

/* What the study remembers of the keys that are new here. */
static enum pricer_status recall(struct mesh_members *members,
                                 struct pricer_study *study,
                                 struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    for (int32_t i = 0; i < members->nodes && status == PRICER_OK; i++) {
        struct mesh_member *member = &members->list[i];
        struct pricer_seen seen = {.round = 0};
        if (!member->enrolled || member->recalled)
            continue;
        keys_text(member->key, seen.key);
        status = pricer_study_seen(study, &seen, 1, fault);
        if (status == PRICER_OK) {
            member->heard = member->saved = seen.round;
            member->recalled = true;
        }
    }
    return status;
}

enum pricer_status mesh_members_save(struct mesh_members *members,
                                     struct pricer_study *study,
                                     struct pricer_fault *fault)
{
    struct pricer_seen *seen = calloc((size_t)members->nodes + 1, sizeof *seen);
    int32_t count = 0;
    if (seen == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < members->nodes; i++) {
        const struct mesh_member *member = &members->list[i];
        if (!member->enrolled || member->heard <= member->saved)
            continue;
        keys_text(member->key, seen[count].key);
        seen[count++].round = member->heard;
    }
    enum pricer_status status =
        count > 0 ? pricer_study_note_seen(study, seen, count, fault)
                  : PRICER_OK;
    for (int32_t i = 0; i < members->nodes && status == PRICER_OK; i++)
        members->list[i].saved = members->list[i].heard;
    free(seen);
    return status;
}

enum pricer_status mesh_members_load(struct mesh_members *members,
                                     struct pricer_study *study,
                                     struct hub *hub,
                                     const struct key_pair *pair, bool *changed,
                                     struct pricer_fault *fault)
{
    struct enrolment found = {0};
    int64_t stamp = 0;
    *changed = false;
    enum pricer_status status = pricer_study_stamp(study, &stamp, fault);
    if (status == PRICER_OK)
        status =
            pricer_study_members(study, &found.members, &found.count, fault);
    if (status == PRICER_OK)
        status = pricer_study_successors(study, &found.successors,
                                         &found.successor_count, fault);
    if (status == PRICER_OK)
        status = admit(hub, &found);
    if (status == PRICER_OK) {
        enter_all(members, &found, pair, changed);
        members->stamp = stamp;
        status = list_follows(members, &found) ? recall(members, study, fault)
                                               : PRICER_MEMORY;
    }
    pricer_members_free(found.members);
    pricer_successors_free(found.successors);
    return status;
}

void mesh_members_free(struct mesh_members *members)
{
    if (members->list != NULL)
        sodium_memzero(members->list,
                       (size_t)members->nodes * sizeof *members->list);
    free(members->list);
    members->list = NULL;
    wire_free(&members->follows);
}
