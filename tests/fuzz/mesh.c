/*
 * Fuzz the readers of messages of a mesh: every type and every kind of announcement
 * on the same bytes. Whatever a reader says is there can be read, and what was taken
 * is written back to bytes that read the same.
 */
#include "fuzz.h"
#include "mesh/announce.h"

#include <string.h>

static uint64_t touch(const uint8_t *at, size_t size)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < size; k++)
        sum += at[k];
    return sum;
}

/* Packets, and the same in a batch of our own. */
static uint64_t check_packets(const uint8_t *data, size_t size)
{
    struct mesh_reader reader, again;
    struct mesh_packet packet, other;
    struct mesh_batch batch = {.count = 0};
    uint64_t seen = 0;
    int32_t count = 0;
    if (!mesh_reader_begin(&reader, data, size))
        return 0;
    while (mesh_reader_next(&reader, &packet)) {
        seen += touch(packet.payload, packet.size) +
                touch(packet.tag, MESH_TAG) +
                touch(packet.signature, MESH_SIGNATURE);
        if (!mesh_batch_add(&batch, reader.round, reader.attempt, &packet))
            abort();
        count++;
    }
    mesh_batch_end(&batch);
    if (count > 0 &&
        !mesh_reader_begin(&again, batch.bytes.data, batch.bytes.size))
        abort();
    for (; count > 0; count--)
        if (!mesh_reader_next(&again, &other))
            abort();
    mesh_batch_free(&batch);
    return seen;
}

static uint64_t check_plan(const struct mesh_fleet *fleet)
{
    struct mesh_plan plan;
    struct mesh_release release;
    uint64_t seen = touch(fleet->keys, fleet->keys_size);
    if (!mesh_read_plan(fleet->plan, fleet->plan_size, &plan))
        abort();
    int32_t nodes = plan.nodes < 100 ? plan.nodes : 100;
    for (int32_t i = 0; i < nodes; i++)
        if (!mesh_plan_release(&plan, i, &release))
            abort();
    return seen + (uint64_t)plan.hops;
}

static uint64_t check_body(const uint8_t *data, size_t size)
{
    struct mesh_fleet fleet;
    struct mesh_open open;
    struct mesh_result result;
    struct wire_bytes bytes = {0};
    int64_t counter = 0;
    enum mesh_kind kind;
    uint64_t seen = mesh_read_body(data, size, &counter, &kind);
    if (mesh_read_fleet(data, size, &fleet))
        seen += check_plan(&fleet);
    if (mesh_read_open(data, size, &open)) {
        struct mesh_open again;
        if (!mesh_write_open(&bytes, &open) ||
            !mesh_read_open(bytes.data, bytes.size, &again) ||
            again.round != open.round || again.counter != open.counter)
            abort();
    }
    if (mesh_read_result(data, size, &result))
        seen += touch(result.estimate, result.size);
    wire_free(&bytes);
    return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct announcements said = {.bad = 0};
    struct mesh_announce announce;
    struct mesh_hello hello;
    enum mesh_kind kind;
    volatile uint64_t seen = (uint64_t)mesh_type(data, size);
    seen += check_packets(data, size) + check_body(data, size);
    if (mesh_read_hello(data, size, &hello))
        seen += (uint64_t)hello.left;
    if (mesh_read_announce(data, size, &announce))
        seen += check_body(announce.body, announce.size);
    if (announce_take(&said, data, size, &kind) == ANNOUNCE_NEW)
        abort(); /* nobody has signed it */
    announce_free(&said);
    (void)seen;
    return 0;
}
