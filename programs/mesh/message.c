/*
 * From what a message of the mesh says to its bytes, and back.
 */
#include "message.h"
#include "fleet/wire_cursor.h"
#include "fleet/wire_writer.h"

/* A message of so many elements, the version and the type among them. */
static void begin_message(struct writer *writer, struct wire_bytes *bytes,
                          int count, enum mesh_type type)
{
    begin_bytes(writer, bytes);
    put_array(writer, count);
    put_uint(writer, MESH_VERSION);
    put_uint(writer, type);
}

static struct cursor read_message(const void *data, size_t size, int count,
                                  enum mesh_type type)
{
    struct cursor cursor = {data, (const uint8_t *)data + size, size == 0};
    expect_array(&cursor, count);
    if (take_uint(&cursor, any) != MESH_VERSION ||
        take_uint(&cursor, any) != type)
        cursor.bad = true;
    return cursor;
}

int mesh_type(const void *data, size_t size)
{
    struct cursor cursor = {data, (const uint8_t *)data + size, size == 0};
    take_array(&cursor, WIRE_ELEMENTS, 1);
    int64_t version = take_uint(&cursor, any);
    int64_t type = take_uint(&cursor, any);
    bool known =
        !cursor.bad && version == MESH_VERSION && type > 0 && type < MESH_TYPES;
    return known ? (int)type : 0;
}

/* Bytes of exactly this length. */
static const uint8_t *take_exactly(struct cursor *cursor, size_t length)
{
    size_t size = 0;
    const uint8_t *found = take_bin(cursor, &size);
    if (size != length)
        cursor->bad = true;
    return cursor->bad ? NULL : found;
}

static void copy_exactly(struct cursor *cursor, uint8_t *to, size_t length)
{
    const uint8_t *found = take_exactly(cursor, length);
    if (found != NULL)
        memcpy(to, found, length);
}

/* --------------------------------------------------------------- packets -- */

enum { BATCH = 5, PACKET = 6, COUNT_BYTES = 3 };

/* The number of packets is always written as an array of 16 bits. */
static void set_count(struct mesh_batch *batch)
{
    uint8_t *at = (uint8_t *)batch->bytes.data + batch->start;
    at[0] = 0xdc;
    at[1] = (uint8_t)(batch->count >> 8);
    at[2] = (uint8_t)batch->count;
}

static bool begin_batch(struct mesh_batch *batch, int64_t round,
                        int64_t attempt)
{
    struct writer writer;
    begin_message(&writer, &batch->bytes, BATCH, MESH_PACKETS);
    put_uint(&writer, round);
    put_uint(&writer, attempt);
    if (writer.failed || !reserve(&batch->bytes, COUNT_BYTES))
        return false;
    batch->start = batch->bytes.size;
    batch->bytes.size += COUNT_BYTES;
    batch->round = round;
    batch->attempt = attempt;
    return true;
}

bool mesh_batch_add(struct mesh_batch *batch, int64_t round, int64_t attempt,
                    const struct mesh_packet *packet)
{
    struct writer writer = {.failed = false};
    if (batch->count == 0 && !begin_batch(batch, round, attempt))
        return false;
    size_t before = batch->bytes.size;
    msgpack_packer_init(&writer.packer, &batch->bytes, append);
    put_array(&writer, PACKET);
    put_uint(&writer, packet->node);
    put_uint(&writer, packet->kind);
    put_uint(&writer, packet->hops);
    put_bin(&writer, packet->payload, packet->size);
    put_bin(&writer, packet->tag, MESH_TAG);
    put_bin(&writer, packet->signature, MESH_SIGNATURE);
    if (writer.failed)
        batch->bytes.size = before;
    else
        batch->count++;
    return !writer.failed;
}

bool mesh_batch_is_full(const struct mesh_batch *batch, int64_t round,
                        int64_t attempt, size_t size)
{
    return batch->count > 0 &&
           (batch->round != round || batch->attempt != attempt ||
            batch->bytes.size + size + MESH_PACKET_MORE > MESH_BATCH);
}

void mesh_batch_end(struct mesh_batch *batch)
{
    if (batch->count > 0)
        set_count(batch);
    batch->count = 0;
}

void mesh_batch_free(struct mesh_batch *batch)
{
    wire_free(&batch->bytes);
    batch->count = 0;
}

bool mesh_reader_begin(struct mesh_reader *reader, const void *data,
                       size_t size)
{
    enum { LEAST = 6 + MESH_TAG + MESH_SIGNATURE };
    struct cursor cursor = read_message(data, size, BATCH, MESH_PACKETS);
    *reader = (struct mesh_reader){.bad = true};
    reader->round = take_uint(&cursor, any);
    reader->attempt = take_uint(&cursor, WIRE_ATTEMPTS - 1);
    reader->left = take_array(&cursor, UINT16_MAX, LEAST);
    reader->at = cursor.at;
    reader->end = cursor.end;
    reader->bad = cursor.bad || reader->round < 1 || reader->left < 1;
    return !reader->bad;
}

bool mesh_reader_next(struct mesh_reader *reader, struct mesh_packet *packet)
{
    struct cursor cursor = {reader->at, reader->end, reader->bad};
    struct mesh_packet found = {0};
    if (reader->left == 0 && reader->at != reader->end)
        reader->bad = true;
    if (reader->left == 0 || reader->bad)
        return false;
    expect_array(&cursor, PACKET);
    found.node = (int32_t)take_uint(&cursor, WIRE_NODES - 1);
    found.kind = (int32_t)take_uint(&cursor, UINT8_MAX);
    found.hops = (int32_t)take_uint(&cursor, MESH_HOPS);
    found.payload = take_bin(&cursor, &found.size);
    found.tag = take_exactly(&cursor, MESH_TAG);
    found.signature = take_exactly(&cursor, MESH_SIGNATURE);
    reader->at = cursor.at;
    reader->bad = cursor.bad || found.size == 0;
    reader->left--;
    if (!reader->bad)
        *packet = found;
    return !reader->bad;
}

/* ----------------------------------------------------------------- hello -- */

enum { HELLO = 10 };

bool mesh_write_hello(struct wire_bytes *bytes, const struct mesh_hello *hello)
{
    struct writer writer;
    begin_message(&writer, bytes, HELLO, MESH_HELLO);
    put_uint(&writer, hello->fleet);
    put_uint(&writer, hello->open);
    put_uint(&writer, hello->result);
    put_uint(&writer, hello->last);
    put_uint(&writer, hello->left);
    put_bool(&writer, hello->results);
    put_bool(&writer, hello->refuses);
    put_bool(&writer, hello->direct);
    return !writer.failed;
}

bool mesh_read_hello(const void *data, size_t size, struct mesh_hello *hello)
{
    struct cursor cursor = read_message(data, size, HELLO, MESH_HELLO);
    struct mesh_hello found = {0};
    found.fleet = take_uint(&cursor, any);
    found.open = take_uint(&cursor, any);
    found.result = take_uint(&cursor, any);
    found.last = take_uint(&cursor, any);
    found.left = take_uint(&cursor, any);
    found.results = take_bool(&cursor);
    found.refuses = take_bool(&cursor);
    found.direct = take_bool(&cursor);
    if (!end(&cursor))
        return false;
    *hello = found;
    return true;
}

enum { MARK = 3 };

bool mesh_write_mark(struct wire_bytes *bytes, int64_t last)
{
    struct writer writer;
    begin_message(&writer, bytes, MARK, MESH_MARK);
    put_uint(&writer, last);
    return !writer.failed;
}

bool mesh_read_mark(const void *data, size_t size, int64_t *last)
{
    struct cursor cursor = read_message(data, size, MARK, MESH_MARK);
    int64_t found = take_uint(&cursor, any);
    if (!end(&cursor))
        return false;
    *last = found;
    return true;
}

/* --------------------------------------------------------- announcements -- */

enum { ANNOUNCE = 4, FLEET = 6, OPEN = 10, RESULT = 6, PLAN = 10, ROW = 7 };

bool mesh_write_announce(struct wire_bytes *bytes,
                         const struct mesh_announce *announce)
{
    struct writer writer;
    begin_message(&writer, bytes, ANNOUNCE, MESH_ANNOUNCE);
    put_bin(&writer, announce->body, announce->size);
    put_bin(&writer, announce->signature, MESH_SIGNATURE);
    return !writer.failed;
}

bool mesh_read_announce(const void *data, size_t size,
                        struct mesh_announce *announce)
{
    struct cursor cursor = read_message(data, size, ANNOUNCE, MESH_ANNOUNCE);
    struct mesh_announce found = {0};
    found.body = take_bin(&cursor, &found.size);
    found.signature = take_exactly(&cursor, MESH_SIGNATURE);
    if (!end(&cursor))
        return false;
    *announce = found;
    return true;
}

static void begin_body(struct writer *writer, struct wire_bytes *bytes,
                       int count, int64_t counter, enum mesh_kind kind)
{
    begin_bytes(writer, bytes);
    put_array(writer, count);
    put_uint(writer, counter);
    put_uint(writer, kind);
}

bool mesh_read_body(const void *body, size_t size, int64_t *counter,
                    enum mesh_kind *kind)
{
    struct cursor cursor = {body, (const uint8_t *)body + size, size == 0};
    take_array(&cursor, WIRE_ELEMENTS, 1);
    int64_t number = take_uint(&cursor, any);
    int64_t found = take_uint(&cursor, MESH_KINDS - 1);
    if (cursor.bad || found == 0)
        return false;
    *counter = number;
    *kind = (enum mesh_kind)found;
    return true;
}

static struct cursor open_body(const void *body, size_t size, int count,
                               int64_t *counter, enum mesh_kind kind)
{
    struct cursor cursor = {body, (const uint8_t *)body + size, size == 0};
    expect_array(&cursor, count);
    *counter = take_uint(&cursor, any);
    if (take_uint(&cursor, any) != kind)
        cursor.bad = true;
    return cursor;
}

/* ------------------------------------------------------------------ plan -- */

bool mesh_write_plan(struct wire_bytes *bytes, const struct mesh_plan *plan,
                     const struct mesh_release *releases, const uint16_t *of)
{
    struct writer writer;
    begin_bytes(&writer, bytes);
    put_array(&writer, PLAN);
    put_uint(&writer, plan->plan);
    put_uint(&writer, plan->made);
    put_uint(&writer, plan->nodes);
    put_uint(&writer, plan->dimension);
    put_uint(&writer, plan->rounds);
    put_uint(&writer, plan->repeat);
    put_uint(&writer, plan->hops);
    put_double(&writer, plan->reach);
    put_array(&writer, plan->count);
    for (int32_t k = 0; k < plan->count; k++) {
        put_array(&writer, ROW);
        put_uint(&writer, releases[k].kind);
        put_double(&writer, releases[k].radius);
        put_double(&writer, releases[k].t);
        put_double(&writer, releases[k].e0);
        put_double(&writer, releases[k].noise);
        put_double(&writer, releases[k].eps);
        put_double(&writer, releases[k].delta);
    }
    writer.failed |=
        msgpack_pack_bin(&writer.packer, 2 * (size_t)plan->nodes) != 0;
    for (int32_t i = 0; i < plan->nodes; i++) {
        const char two[2] = {(char)(of[i] & 0xff), (char)(of[i] >> 8)};
        writer.failed |= append(bytes, two, 2) != 0;
    }
    return !writer.failed;
}

static void take_release(struct cursor *cursor, struct mesh_release *release)
{
    expect_array(cursor, ROW);
    release->kind = (int32_t)take_uint(cursor, UINT8_MAX);
    release->radius = take_double(cursor);
    release->t = take_double(cursor);
    release->e0 = take_double(cursor);
    release->noise = take_double(cursor);
    release->eps = take_double(cursor);
    release->delta = take_double(cursor);
}

bool mesh_read_plan(const void *data, size_t size, struct mesh_plan *plan)
{
    enum { LEAST = 2 + 6 * 9 };
    struct cursor cursor = {data, (const uint8_t *)data + size, size == 0};
    struct mesh_plan found = {0};
    struct mesh_release release;
    expect_array(&cursor, PLAN);
    found.plan = take_uint(&cursor, any);
    found.made = take_uint(&cursor, any);
    found.nodes = (int32_t)take_uint(&cursor, WIRE_NODES);
    found.dimension = take_uint(&cursor, WIRE_DIMENSION);
    found.rounds = take_uint(&cursor, any);
    found.repeat = take_uint(&cursor, WIRE_ATTEMPTS);
    found.hops = (int32_t)take_uint(&cursor, MESH_HOPS);
    found.reach = take_double(&cursor);
    found.count = (int32_t)take_array(&cursor, MESH_ROWS, LEAST);
    found.releases = cursor.at;
    for (int32_t k = 0; k < found.count && !cursor.bad; k++)
        take_release(&cursor, &release);
    found.of = take_exactly(&cursor, 2 * (size_t)found.nodes);
    if (!end(&cursor) || found.nodes < 1 || found.dimension < 1 ||
        found.rounds < 1 || found.repeat < 1 || found.reach < 0)
        return false;
    for (int32_t i = 0; i < found.nodes; i++)
        if ((found.of[2 * i] | found.of[2 * i + 1] << 8) >= found.count)
            return false;
    *plan = found;
    return true;
}

bool mesh_plan_release(const struct mesh_plan *plan, int32_t node,
                       struct mesh_release *release)
{
    struct cursor cursor = {plan->releases, plan->of, false};
    if (node < 0 || node >= plan->nodes)
        return false;
    int row = plan->of[2 * node] | plan->of[2 * node + 1] << 8;
    struct mesh_release found = {0};
    for (int k = 0; k <= row; k++)
        take_release(&cursor, &found);
    if (!cursor.bad)
        *release = found;
    return !cursor.bad;
}

/* --------------------------------------------------------------- bodies -- */

bool mesh_write_fleet(struct wire_bytes *bytes, const struct mesh_fleet *fleet)
{
    struct writer writer;
    begin_body(&writer, bytes, FLEET, fleet->counter, MESH_FLEET);
    put_bool(&writer, fleet->results);
    put_bin(&writer, fleet->plan, fleet->plan_size);
    put_bin(&writer, fleet->keys, fleet->keys_size);
    put_bin(&writer, fleet->follows, fleet->follows_size);
    return !writer.failed;
}

/* The parts of a record, which are at the same places in each. */
static struct mesh_follow read_follow(const uint8_t *at)
{
    uint32_t node = (uint32_t)at[0] | (uint32_t)at[1] << 8 |
                    (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return (struct mesh_follow){node <= INT32_MAX ? (int32_t)node : -1, at + 4,
                                at + 4 + WIRE_KEY, at + 4 + 2 * WIRE_KEY};
}

void mesh_write_follow(uint8_t *bytes, const struct mesh_follow *follow)
{
    for (int k = 0; k < 4; k++)
        bytes[k] = (uint8_t)((uint32_t)follow->node >> 8 * k);
    memcpy(bytes + 4, follow->old, WIRE_KEY);
    memcpy(bytes + 4 + WIRE_KEY, follow->key, WIRE_KEY);
    memcpy(bytes + 4 + 2 * WIRE_KEY, follow->proof, MESH_SIGNATURE);
}

bool mesh_find_follow(const struct mesh_fleet *fleet, int32_t node,
                      struct mesh_follow *follow)
{
    size_t low = 0, high = fleet->follows_size / MESH_FOLLOW;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        *follow = read_follow(fleet->follows + middle * MESH_FOLLOW);
        if (follow->node == node)
            return true;
        if (follow->node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Whole records of nodes that there are, by ascending node. */
static bool are_follows(const struct mesh_fleet *fleet, int32_t nodes)
{
    int32_t last = -1;
    if (fleet->follows_size % MESH_FOLLOW != 0)
        return false;
    for (size_t at = 0; at < fleet->follows_size; at += MESH_FOLLOW) {
        int32_t node = read_follow(fleet->follows + at).node;
        if (node <= last || node >= nodes)
            return false;
        last = node;
    }
    return true;
}

bool mesh_read_fleet(const void *body, size_t size, struct mesh_fleet *fleet)
{
    struct mesh_fleet found = {0};
    struct mesh_plan plan;
    struct cursor cursor =
        open_body(body, size, FLEET, &found.counter, MESH_FLEET);
    found.results = take_bool(&cursor);
    found.plan = take_bin(&cursor, &found.plan_size);
    found.keys = take_bin(&cursor, &found.keys_size);
    found.follows = take_bin(&cursor, &found.follows_size);
    if (!end(&cursor) || !mesh_read_plan(found.plan, found.plan_size, &plan) ||
        found.keys_size != (size_t)plan.nodes * WIRE_KEY ||
        !are_follows(&found, plan.nodes))
        return false;
    *fleet = found;
    return true;
}

bool mesh_write_open(struct wire_bytes *bytes, const struct mesh_open *open)
{
    struct writer writer;
    begin_body(&writer, bytes, OPEN, open->counter, MESH_OPEN);
    put_bin(&writer, open->digest, WIRE_DIGEST);
    put_uint(&writer, open->round);
    put_uint(&writer, open->attempt);
    put_uint(&writer, open->period);
    put_uint(&writer, open->ahead);
    put_uint(&writer, open->collect);
    put_uint(&writer, open->reference);
    put_bin(&writer, open->reference_digest, WIRE_DIGEST);
    return !writer.failed;
}

bool mesh_read_open(const void *body, size_t size, struct mesh_open *open)
{
    const int64_t day = 24 * 3600 * INT64_C(1000);
    struct mesh_open found = {0};
    struct cursor cursor =
        open_body(body, size, OPEN, &found.counter, MESH_OPEN);
    copy_exactly(&cursor, found.digest, WIRE_DIGEST);
    found.round = take_uint(&cursor, any);
    found.attempt = take_uint(&cursor, WIRE_ATTEMPTS - 1);
    found.period = take_uint(&cursor, day);
    found.ahead = take_uint(&cursor, any);
    found.collect = take_uint(&cursor, day);
    found.reference = take_uint(&cursor, any);
    copy_exactly(&cursor, found.reference_digest, WIRE_DIGEST);
    if (!end(&cursor) || found.round < 1 || found.reference >= found.round ||
        (found.period == 0 && found.ahead > 0))
        return false;
    *open = found;
    return true;
}

bool mesh_write_result(struct wire_bytes *bytes,
                       const struct mesh_result *result, const double *estimate,
                       int64_t count)
{
    struct writer writer;
    begin_body(&writer, bytes, RESULT, result->counter, MESH_RESULT);
    put_uint(&writer, result->round);
    put_uint(&writer, result->arrived);
    put_double(&writer, result->bar);
    put_words(&writer, bytes, estimate, count);
    return !writer.failed;
}

bool mesh_read_result(const void *body, size_t size, struct mesh_result *result)
{
    struct mesh_result found = {0};
    struct cursor cursor =
        open_body(body, size, RESULT, &found.counter, MESH_RESULT);
    found.round = take_uint(&cursor, any);
    found.arrived = take_uint(&cursor, WIRE_NODES);
    found.bar = take_double(&cursor);
    found.estimate = take_bin(&cursor, &found.size);
    if (!end(&cursor) || found.round < 1 || found.bar < 0 ||
        found.size % 8 != 0)
        return false;
    *result = found;
    return true;
}
