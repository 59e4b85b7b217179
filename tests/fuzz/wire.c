/*
 * Fuzz the reader of messages: every type on the same bytes; a slice that is
 * taken must write back to a message that reads the same.
 */
#include "fuzz.h"
#include "fleet/wire.h"

static void check_slice(const uint8_t *data, size_t size)
{
    struct wire_slice slice = {0}, again = {0};
    struct wire_bytes bytes = {0};
    if (!wire_read_slice(data, size, &slice))
        return;
    if (!wire_write_slice(&bytes, &slice) ||
        !wire_read_slice(bytes.data, bytes.size, &again) ||
        again.out_count != slice.out_count || again.in_count != slice.in_count)
        abort();
    wire_slice_free(&slice);
    wire_slice_free(&again);
    wire_free(&bytes);
}

/* Look at every byte that a reader says is there. */
static uint64_t touch(const uint8_t *at, size_t size)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < size; k++)
        sum += at[k];
    for (size_t k = 0; k < size / 8; k++)
        sum += (uint64_t)wire_integer(at, (int64_t)k);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_hello hello = {0};
    struct wire_open open = {0};
    struct wire_share share = {0};
    struct wire_sum sum = {0};
    struct wire_result result = {0};
    struct wire_refusal refusal = {0};
    struct wire_mark mark = {0};
    volatile uint64_t seen = (uint64_t)wire_type(data, size);
    if (wire_read_hello(data, size, &hello) && hello.digest != NULL)
        seen += touch(hello.digest, WIRE_DIGEST);
    if (wire_read_open(data, size, &open) && open.send > open.uplink)
        abort();
    if (wire_read_share(data, size, &share))
        seen +=
            touch(share.values, share.size) + touch(share.seal, WIRE_DIGEST);
    if (wire_read_sum(data, size, &sum))
        seen += touch(sum.values, sum.size) + touch(sum.parts, sum.parts_size) +
                touch(sum.sent, sum.sent_size) + touch(sum.digest, WIRE_DIGEST);
    if (wire_read_result(data, size, &result))
        seen += touch(result.estimate, result.size);
    if (wire_read_refusal(data, size, &refusal))
        seen += (uint64_t)refusal.code;
    if (wire_read_mark(data, size, &mark) && mark.next <= mark.session)
        abort();
    check_slice(data, size);
    (void)seen;
    return 0;
}
