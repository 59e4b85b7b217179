/*
 * The decoder as it is kept: room for it, and names.
 */
#include "decode.h"

#include <stdlib.h>

const char *pricer_decode_text(enum pricer_decode decode)
{
    switch (decode) {
    case PRICER_DECODE_MINIMAX:
        return "minimax";
    case PRICER_DECODE_CONSTANT:
        return "constant";
    case PRICER_DECODE_ADAPTIVE:
        return "adaptive";
    }
    return NULL;
}

enum pricer_status pricer_decoder_new(int32_t nodes, int32_t rank,
                                      struct pricer_decoder **decoder)
{
    struct pricer_decoder *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->nodes = nodes;
    made->rank = rank;
    made->blend = 1;
    made->horizon = 1;
    made->own = pri_alloc(nodes, sizeof *made->own);
    made->shared = pri_alloc((int64_t)nodes * rank, sizeof *made->shared);
    made->target = pri_alloc(nodes, sizeof *made->target);
    made->cap = pri_alloc(nodes, sizeof *made->cap);
    if (!made->own || !made->shared || !made->target || !made->cap) {
        pricer_decoder_free(made);
        return PRICER_MEMORY;
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
