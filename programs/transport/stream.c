/*
 * From bytes to frames and back, for one connection. Memory is taken for bytes
 * that are there, never for what a length promises; a connection that is idle
 * holds none.
 */
#include "hub.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEAD = 4,
    TURN = 256 << 10,  /* bytes of one connection before others have a turn */
    KEPT = 16 << 10,   /* bytes of room that a queue keeps when it is empty */
    STEP = 64 << 10,   /* bytes by which room grows at least */
    LONG = 32 << 10,   /* bytes of a frame that is not queued but written */
    RECORD = 16 << 10, /* bytes that TLS takes at once */
};

static size_t find_length(const uint8_t *head)
{
    return (size_t)head[0] << 24 | (size_t)head[1] << 16 |
           (size_t)head[2] << 8 | head[3];
}

static void clear(struct peer_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct peer_bytes){0};
}

void stream_clear(struct hub_peer *peer)
{
    clear(&peer->in);
    clear(&peer->out);
    clear(&peer->sealed);
    peer->failed = false;
}

bool stream_waits(const struct hub_peer *peer)
{
    return peer->out.end > peer->out.start || peer->sealed.end > 0 ||
           peer->failed;
}

/* Room for `size` bytes behind the end; what was taken off the front goes. */
static bool make_room(struct peer_bytes *bytes, size_t size)
{
    if (bytes->room - bytes->end >= size)
        return true;
    size_t held = bytes->end - bytes->start;
    if (bytes->start > 0 && held > 0)
        memmove(bytes->data, bytes->data + bytes->start, held);
    bytes->start = 0;
    bytes->end = held;
    if (bytes->room - held >= size)
        return true;
    size_t room = held + size;
    if (bytes->room < STEP && room < 2 * bytes->room)
        room = 2 * bytes->room;
    uint8_t *grown = realloc(bytes->data, room);
    if (grown == NULL)
        return false;
    bytes->data = grown;
    bytes->room = room;
    return true;
}

/* ------------------------------------------------------------------ read -- */

/* Hand on whole frames at the start of some bytes; *used is what they took.
 * False: the connection ends, or its owner has ended it. */
static bool take_frames(struct hub_peer *peer, const uint8_t *data, size_t size,
                        int64_t largest, size_t *used,
                        bool (*take)(struct hub_peer *peer, const uint8_t *data,
                                     size_t size),
                        enum hub_end *why)
{
    *used = 0;
    while (size - *used >= HEAD) {
        const uint8_t *head = data + *used;
        size_t length = find_length(head);
        if (length > (size_t)largest) {
            *why = HUB_LONG;
            return false;
        }
        if (size - *used < HEAD + length)
            break;
        *used += HEAD + length;
        if (!take(peer, head + HEAD, length)) {
            *why = HUB_BUSY;
            return false;
        }
        if (peer->file < 0) /* ended by whoever took the frame */
            return false;
    }
    return true;
}

/* How many bytes to ask for next, of a frame that begins with these: as many as it
 * lacks, but at most as many as are there, or STEP. */
static size_t find_wanted(const uint8_t *data, size_t size)
{
    size_t wanted = size < HEAD ? HEAD - size : HEAD + find_length(data) - size;
    size_t most = size > STEP ? size : STEP;
    return wanted < most ? wanted : most;
}

/* Where the next bytes go: behind those of a frame that is not whole, else to the
 * scratch. */
static bool find_place(struct hub_peer *peer, uint8_t *scratch, size_t *room,
                       uint8_t **place)
{
    struct peer_bytes *in = &peer->in;
    *place = scratch;
    if (in->end == 0)
        return true;
    *room = find_wanted(in->data, in->end);
    if (!make_room(in, *room))
        return false;
    *place = in->data + in->end;
    return true;
}

/* Keep the first bytes of a frame, with room for what find_place() will ask for. */
static bool keep(struct peer_bytes *in, const uint8_t *data, size_t size)
{
    bool whole = size >= HEAD && size - HEAD >= find_length(data);
    if (!make_room(in, size < HEAD || whole ? size
                                            : size + find_wanted(data, size)))
        return false;
    memcpy(in->data, data, size);
    in->end = size;
    return true;
}

/* The next bytes that TLS has, within the limit of what it says beside them. */
static enum tls_step read_on(struct hub_peer *peer, uint8_t *scratch,
                             size_t room, uint8_t **place, size_t *size,
                             enum hub_end *why)
{
    for (;;) {
        size_t wanted = room;
        int chatter = peer->chatter;
        *why = HUB_BUSY;
        if (!find_place(peer, scratch, &wanted, place))
            return TLS_ENDED;
        enum tls_step step = tls_read(peer, *place, wanted, size, why);
        if (peer->chatter > HUB_CHATTER) {
            *why = HUB_BUSY;
            return TLS_ENDED;
        }
        if (step != TLS_READ || peer->chatter == chatter)
            return step;
    }
}

/* Bytes have come to the place; frames that are whole go on, the rest stays. */
static bool digest(struct hub_peer *peer, const uint8_t *place, size_t size,
                   int64_t largest,
                   bool (*take)(struct hub_peer *peer, const uint8_t *data,
                                size_t size),
                   enum hub_end *why)
{
    struct peer_bytes *in = &peer->in;
    size_t used;
    bool partial = in->end > 0;
    if (partial)
        in->end += size;
    const uint8_t *data = partial ? in->data : place;
    size = partial ? in->end : size;
    if (!take_frames(peer, data, size, largest, &used, take, why))
        return false;
    if (partial && used > 0) /* exactly one frame: no more was asked for */
        clear(in);
    if (partial || used == size)
        return true;
    *why = HUB_BUSY;
    return keep(in, data + used, size - used);
}

enum tls_step stream_read(struct hub_peer *peer, int64_t largest, int64_t now,
                          uint8_t *scratch, size_t room,
                          bool (*take)(struct hub_peer *peer,
                                       const uint8_t *data, size_t size),
                          enum hub_end *why)
{
    for (size_t turn = 0; turn < TURN;) {
        uint8_t *place;
        size_t size = 0;
        enum tls_step step = read_on(peer, scratch, room, &place, &size, why);
        if (step != TLS_DONE)
            return step;
        peer->heard = now;
        turn += size;
        if (!digest(peer, place, size, largest, take, why))
            return TLS_ENDED;
        /* A frame that is not whole: its rest is likely to be there. */
        if (!tls_has_more(peer) && peer->in.end == 0)
            return TLS_READ;
    }
    return TLS_DONE;
}

/* A frame is whole at the start of what is there, or longer than it may be. */
static bool is_ready(const struct peer_bytes *in, int64_t largest)
{
    if (in->end < HEAD)
        return false;
    size_t length = find_length(in->data);
    return length > (size_t)largest || in->end >= HEAD + length;
}

/* The first bytes of a frame come to the stack: how much room it needs is not
 * known before. */
enum tls_step stream_fetch(struct hub_peer *peer, int64_t largest,
                           enum hub_end *why)
{
    struct peer_bytes *in = &peer->in;
    uint8_t first[RECORD];
    while (!is_ready(in, largest)) {
        uint8_t *place;
        size_t size = 0;
        enum tls_step step =
            read_on(peer, first, sizeof first, &place, &size, why);
        if (step != TLS_DONE)
            return step;
        peer->fetched = true;
        if (place != first) {
            in->end += size;
        } else if (!keep(in, first, size)) {
            *why = HUB_BUSY;
            return TLS_ENDED;
        }
    }
    return tls_has_more(peer) ? TLS_DONE : TLS_READ;
}

bool stream_deliver(struct hub_peer *peer, int64_t largest,
                    bool (*take)(struct hub_peer *peer, const uint8_t *data,
                                 size_t size),
                    enum hub_end *why)
{
    struct peer_bytes *in = &peer->in;
    size_t used;
    if (!take_frames(peer, in->data, in->end, largest, &used, take, why))
        return false;
    if (used == in->end) {
        clear(in);
    } else if (used > 0) {
        memmove(in->data, in->data + used, in->end - used);
        in->end -= used;
    }
    return true;
}

/* ----------------------------------------------------------------- write -- */

static void write_length(uint8_t *head, size_t size)
{
    for (int k = 0; k < HEAD; k++)
        head[k] = (uint8_t)(size >> (24 - 8 * k));
}

bool stream_put(struct hub_peer *peer, const void *data, size_t size)
{
    struct peer_bytes *out = &peer->out;
    uint8_t head[HEAD];
    write_length(head, size);
    if (size > UINT32_MAX || out->end - out->start > HUB_QUEUE ||
        !make_room(out, HEAD + size))
        return false;
    memcpy(out->data + out->end, head, HEAD);
    if (size > 0)
        memcpy(out->data + out->end + HEAD, data, size);
    out->end += HEAD + size;
    return true;
}

/* Write bytes as far as they go; what does not go is queued. A frame of which only
 * a part could be kept ends the connection. */
static void write_some(struct hub_peer *peer, const uint8_t *data, size_t size)
{
    struct peer_bytes *out = &peer->out;
    enum hub_end why;
    enum tls_step step = TLS_DONE;
    for (size_t done; size > 0 && step == TLS_DONE && out->end == 0;
         data += done, size -= done) {
        done = 0;
        step = tls_write(peer, data, size, &done, &why);
    }
    if (step == TLS_ENDED || (size > 0 && !make_room(out, size)))
        peer->failed = true;
    if (size == 0 || peer->failed)
        return;
    memcpy(out->data + out->end, data, size);
    out->end += size;
}

/* The first record has the length too. */
bool stream_send(struct hub_peer *peer, const void *data, size_t size,
                 int64_t now)
{
    uint8_t first[RECORD];
    enum hub_end why;
    if (size < LONG || size > UINT32_MAX || stream_waits(peer))
        return stream_put(peer, data, size);
    write_length(first, size);
    memcpy(first + HEAD, data, RECORD - HEAD);
    write_some(peer, first, RECORD);
    write_some(peer, (const uint8_t *)data + RECORD - HEAD,
               size - (RECORD - HEAD));
    tls_flush(peer, &why);
    peer->said = now;
    return true;
}

enum tls_step stream_write(struct hub_peer *peer, int64_t now,
                           enum hub_end *why)
{
    struct peer_bytes *out = &peer->out;
    enum tls_step step = TLS_DONE;
    while (out->start < out->end) {
        size_t done = 0;
        step = tls_write(peer, out->data + out->start, out->end - out->start,
                         &done, why);
        if (step != TLS_DONE)
            break;
        out->start += done;
        peer->said = now;
    }
    enum tls_step left = tls_flush(peer, why);
    if (out->start < out->end)
        return left == TLS_ENDED ? left : step;
    out->start = out->end = 0;
    if (out->room > KEPT)
        clear(out);
    return left;
}
