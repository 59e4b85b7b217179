/*
 * What other rooms need of the accounts: a single statement.
 */
#ifndef PRICER_ACCOUNT_H
#define PRICER_ACCOUNT_H

#include "base/base.h"

/*
 * The one statement of pricer_privacy_account() about a node, and for links and
 * relays the receiver `at`, which is not looked at otherwise.
 */
enum pricer_status pri_privacy_one(const struct pricer_network *network,
                                   const struct pricer_plan *plan,
                                   const struct pricer_question *question,
                                   int32_t node, int32_t at,
                                   struct pricer_statement *statement,
                                   struct pricer_fault *fault);

#endif
