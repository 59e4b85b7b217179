/*
 * From a link to what its relay learns about whether the node took part.
 *
 * Claim. With probability 1 - p the node's packet does not arrive and there is
 * nothing to tell. Otherwise, given who else took part, the two laws are those
 * of presence.c, with the variance of the others: a view of one sum.
 */
#include "account.h"

#include <stdlib.h>

void pri_identity_free(struct pri_identity *identity)
{
    pri_scratch_free(&identity->scratch);
    pri_view_free(&identity->view);
    free(identity->member);
    *identity = (struct pri_identity){0};
}

enum pricer_status pri_identity_account(
    const struct pricer_network *network, const struct pricer_plan *plan,
    int32_t link, enum pricer_eavesdropper eavesdropper, double delta,
    int64_t rounds, struct pri_identity *identity, struct pri_bracket *bracket)
{
    int32_t relay = network->to[link];
    if (network->nodes > identity->room) {
        free(identity->member);
        identity->member = pri_alloc(network->nodes, sizeof(bool));
        identity->room = identity->member == NULL ? 0 : network->nodes;
        if (identity->member == NULL)
            return PRICER_MEMORY;
    }
    identity->member[relay] = true;
    enum pricer_status status =
        pri_view_identity(network, plan, network->from[link], identity->member,
                          false, eavesdropper, &identity->view);
    identity->member[relay] = false;
    return status == PRICER_OK
               ? pri_view_account(&identity->view, delta, rounds, 0,
                                  &identity->scratch, bracket)
               : status;
}
