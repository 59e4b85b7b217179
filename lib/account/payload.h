/*
 * A bound on what observers learn: each payload of a node counts once.
 */
#ifndef PRICER_ACCOUNT_PAYLOAD_H
#define PRICER_ACCOUNT_PAYLOAD_H

#include "base/base.h"

/*
 * All that is seen is made from payloads, and the noise of others only hides more. Lowers eps to it, so that
 * a node whose payloads keep its budget towards the server is not shown above
 * it by the rounding of finer accounts.
 */
void pri_payload_bound(const struct pricer_network *network,
                       const struct pricer_plan *plan,
                       const struct pricer_question *question,
                       const bool *member, struct pricer_statement *statement);

#endif
