/*
 * From a question to the view of its observer: which changes of what sums show
 * it asks for, and what does not go together.
 */
#include "sight.h"

static bool is_own(const struct pricer_question *question)
{
    return question->observer == PRICER_OBSERVER_READER ||
           question->observer == PRICER_OBSERVER_LISTENER;
}

static enum pricer_status check_members(const struct pricer_network *network,
                                        const struct pricer_question *question,
                                        struct pricer_fault *fault)
{
    if (question->member_count < 0 ||
        (question->member_count == 0 && !question->with_server &&
         !question->with_reader))
        return pri_fault(fault, PRICER_VALUE, "the coalition has no member");
    for (int32_t k = 0; k < question->member_count; k++)
        if (question->members[k] < 0 || question->members[k] >= network->nodes)
            return pri_fault(fault, PRICER_VALUE,
                             "there is no node %d: the nodes are 0 to %d",
                             (int)question->members[k],
                             (int)network->nodes - 1);
    return PRICER_OK;
}

enum pricer_status pri_question_check(const struct pricer_network *network,
                                      const struct pricer_question *question,
                                      struct pricer_fault *fault)
{
    bool identity = question->protect == PRICER_PROTECT_IDENTITY;
    if (question->observer == PRICER_OBSERVER_EVERYONE)
        return pri_fault(fault, PRICER_VALUE,
                         "observers of sums differ: only releases of 'scheme: "
                         "forward' are the same for everyone");
    if (identity && (is_own(question) || question->with_reader))
        return pri_fault(
            fault, PRICER_VALUE, "there is no account of identities for a %s",
            question->observer == PRICER_OBSERVER_LISTENER ? "listener"
                                                           : "reader");
    if (identity && question->relays == PRICER_RELAYS_SHARES)
        return pri_fault(fault, PRICER_VALUE,
                         "a relay that sees single shares sees whose they are");
    return question->observer == PRICER_OBSERVER_COALITION
               ? check_members(network, question, fault)
               : PRICER_OK;
}

bool pri_question_reads(const struct pricer_question *question)
{
    return question->observer == PRICER_OBSERVER_READER ||
           (question->observer == PRICER_OBSERVER_COALITION &&
            question->with_reader && !question->with_server);
}

enum pricer_eavesdropper pri_question_hears(
    const struct pricer_question *question)
{
    return question->observer == PRICER_OBSERVER_LISTENER
               ? PRICER_RADIO
               : question->eavesdropper;
}

enum pricer_status pri_view_observe(const struct pri_sight *sight,
                                    uint32_t choice, struct pri_view *view,
                                    bool *helped)
{
    const struct pricer_question *question = sight->question;
    enum pricer_status status = PRICER_OK;
    *helped = false;
    if (question->relays == PRICER_RELAYS_SHARES ||
        question->observer == PRICER_OBSERVER_LISTENER)
        status = pri_view_shares(sight, view);
    if (pri_question_reads(question))
        view->visible = false;
    if (status == PRICER_OK && choice != 0)
        status = pri_view_estimate(sight, choice, view, helped);
    return status;
}
