/*
 * From what was asked for and what a plan has to the decoder that is used.
 */
#include "program.h"
#include "pricer_decode.h"

enum pricer_status program_decoder(struct pricer_study *study, int64_t plan,
                                   const struct pricer_network *network,
                                   struct program_decoding *decoding,
                                   struct pricer_fault *fault)
{
    struct pricer_decoder *found = NULL;
    enum pricer_status status = PRICER_OK;
    if (decoding->asked != PRICER_DECODE_CONSTANT)
        status = pricer_study_decoder(study, plan, network, &found, fault);
    if (status != PRICER_OK)
        return status;
    if (found == NULL && decoding->asked >= 0 &&
        decoding->asked != PRICER_DECODE_CONSTANT) {
        snprintf(fault->text, sizeof fault->text,
                 "plan %lld has no decoder: 'pricer plan --decoder minimax' "
                 "makes a plan with one",
                 (long long)plan);
        return PRICER_VALUE;
    }
    decoding->decoder = found;
    decoding->used = found == NULL ? PRICER_DECODE_CONSTANT
                     : decoding->asked < 0
                         ? PRICER_DECODE_MINIMAX
                         : (enum pricer_decode)decoding->asked;
    return PRICER_OK;
}
