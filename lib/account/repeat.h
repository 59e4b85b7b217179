/*
 * What observers learn when a round repeats: the same payload counts once.
 */
#ifndef PRICER_REPEAT_H
#define PRICER_REPEAT_H

#include "base/base.h"

/* Whether the question can be answered where rounds repeat, and the answer. */
enum pricer_status pri_repeat_check(const struct pricer_question *question,
                                    struct pricer_fault *fault);
void pri_repeat_answer(const struct pricer_network *network,
                       const struct pricer_plan *plan,
                       const struct pricer_question *question,
                       const bool *member, struct pricer_statement *statement);

/*
 * The same bound where rounds do not repeat: all that is seen is made from
 * payloads, and the noise of others only hides more. Lowers eps to it, so that
 * a node whose payloads keep its budget towards the server is not shown above
 * it by the rounding of finer accounts.
 */
void pri_payload_bound(const struct pricer_network *network,
                       const struct pricer_plan *plan,
                       const struct pricer_question *question,
                       const bool *member, struct pricer_statement *statement);

#endif
