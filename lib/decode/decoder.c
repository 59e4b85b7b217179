/*
 * The decoder as it is kept: room for it, and whether it can be used.
 */
#include "decode.h"

#include <math.h>
#include <stdlib.h>

enum pricer_status pricer_decoder_new(int32_t nodes, int32_t rank,
                                      struct pricer_decoder **decoder,
                                      struct pricer_fault *fault)
{
    struct pricer_decoder *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    made->nodes = nodes;
    made->rank = rank;
    made->blend = 1;
    made->own = pri_alloc(nodes, sizeof *made->own);
    made->shared = pri_alloc((int64_t)nodes * rank, sizeof *made->shared);
    made->target = pri_alloc(nodes, sizeof *made->target);
    made->cap = pri_alloc(nodes, sizeof *made->cap);
    if (!made->own || !made->shared || !made->target || !made->cap) {
        pricer_decoder_free(made);
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    }
    for (int32_t i = 0; i < nodes; i++)
        made->own[i] = 1;
    *decoder = made;
    return PRICER_OK;
}

void pricer_decoder_free(struct pricer_decoder *decoder)
{
    if (decoder == NULL)
        return;
    free(decoder->own);
    free(decoder->shared);
    free(decoder->target);
    free(decoder->cap);
    free(decoder);
}

bool pri_decoder_is_sound(const struct pricer_decoder *decoder)
{
    int64_t n = decoder->nodes, rank = decoder->rank;
    bool sound = decoder->blend >= 0 && decoder->blend <= 1;
    for (int64_t i = 0; i < n && sound; i++) {
        double own = decoder->own[i], length = own;
        for (int64_t c = 0; c < rank; c++)
            length +=
                decoder->shared[i * rank + c] * decoder->shared[i * rank + c];
        sound = own >= 0 && fabs(length - 1) < 1e-6 &&
                isfinite(decoder->target[i]) && decoder->cap[i] >= 0;
    }
    return sound;
}
