/*
 * Announcements of the server: sign, check, keep the latest of each kind.
 */
#include "announce.h"

#include <stdlib.h>
#include <string.h>

static const char purpose[] = "pricer: announcement";
enum { BLAMED = 1000 }; /* milliseconds */

bool announce_listens(int64_t until, int64_t now)
{
    return now >= until;
}

int64_t announce_blame(int64_t now)
{
    return now + BLAMED;
}

/* Copy a message in; false: no memory. */
static bool keep(struct announced *announced, const void *data, size_t size,
                 int64_t counter)
{
    struct mesh_announce whole;
    char *copy = malloc(size);
    if (copy == NULL)
        return false;
    memcpy(copy, data, size);
    mesh_read_announce(copy, size, &whole);
    wire_free(&announced->message);
    announced->message = (struct wire_bytes){copy, size, size, 0};
    announced->body = whole.body;
    announced->size = whole.size;
    announced->counter = counter;
    return true;
}

/* Whether a body is what it says it is, in every element. */
static bool is_sound(const struct mesh_announce *announce, enum mesh_kind kind)
{
    struct mesh_fleet fleet;
    struct mesh_open open;
    struct mesh_result result;
    switch (kind) {
    case MESH_FLEET:
        return mesh_read_fleet(announce->body, announce->size, &fleet);
    case MESH_OPEN:
        return mesh_read_open(announce->body, announce->size, &open);
    case MESH_RESULT:
        return mesh_read_result(announce->body, announce->size, &result);
    default:
        return false;
    }
}

static bool is_signed(const struct announcements *announcements,
                      const struct mesh_announce *announce)
{
    return keys_verify(announcements->key, purpose, announce->body,
                       announce->size, announce->signature);
}

/* One that is kept has the counter and is another one. */
static bool differs(const struct announcements *announcements, int64_t counter,
                    const struct mesh_announce *announce)
{
    for (int k = 0; k < MESH_KINDS; k++) {
        const struct announced *one = &announcements->kind[k];
        if (one->counter == counter &&
            (one->size != announce->size ||
             memcmp(one->body, announce->body, one->size) != 0))
            return true;
    }
    return false;
}

enum announce_news announce_take(struct announcements *announcements,
                                 const void *data, size_t size,
                                 enum mesh_kind *kind)
{
    struct mesh_announce announce;
    int64_t counter = 0;
    if (!mesh_read_announce(data, size, &announce) ||
        !mesh_read_body(announce.body, announce.size, &counter, kind) ||
        counter < 1) {
        announcements->bad++;
        return ANNOUNCE_BAD;
    }
    struct announced *latest = &announcements->kind[*kind];
    bool other = differs(announcements, counter, &announce);
    if (!other && counter == latest->counter)
        return ANNOUNCE_KNOWN;
    bool late = *kind == MESH_OPEN && counter < announcements->floor;
    if (!other && (counter < latest->counter || late)) {
        announcements->old++;
        return ANNOUNCE_OLD;
    }
    if (!is_signed(announcements, &announce) || !is_sound(&announce, *kind)) {
        announcements->bad++;
        return ANNOUNCE_BAD;
    }
    if (other) {
        announcements->conflicts++;
        return ANNOUNCE_CONFLICT;
    }
    return keep(latest, data, size, counter) ? ANNOUNCE_NEW : ANNOUNCE_OLD;
}

bool announce_make(struct announcements *announcements,
                   const struct key_pair *pair, const struct wire_bytes *body)
{
    uint8_t signature[MESH_SIGNATURE];
    struct wire_bytes message = {0};
    enum mesh_kind kind = MESH_KINDS;
    int64_t counter = 0;
    bool good =
        mesh_read_body(body->data, body->size, &counter, &kind) &&
        keys_sign(pair, purpose, body->data, body->size, signature) &&
        mesh_write_announce(&message,
                            &(struct mesh_announce){(const uint8_t *)body->data,
                                                    body->size, signature}) &&
        keep(&announcements->kind[kind], message.data, message.size, counter);
    wire_free(&message);
    return good;
}

void announce_free(struct announcements *announcements)
{
    for (int k = 0; k < MESH_KINDS; k++)
        wire_free(&announcements->kind[k].message);
}
