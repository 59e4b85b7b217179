/*
 * Fuzz the reader of what a program hands in at a node's feed: values that it
 * says are there are in the message and end with it.
 */
#include "fuzz.h"
#include "fleet/feed_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed_vector vector = {-1, NULL, 0};
    volatile double sum = 0;
    if (!feed_read_vector(data, size, &vector)) {
        if (vector.round != -1 || vector.values != NULL)
            abort(); /* the output is untouched */
        return 0;
    }
    if (vector.round < 0 || vector.values + vector.size != data + size)
        abort();
    for (size_t k = 0; k < vector.size / 8; k++)
        sum = sum + wire_number(vector.values, (int64_t)k);
    return 0;
}
