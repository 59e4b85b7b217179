/*
 * The accounts: from what an observer sees of a node to a bracket around eps.
 */
#ifndef PRICER_ACCOUNT_H
#define PRICER_ACCOUNT_H

#include "bracket.h"
#include "presence.h"

/*
 * The account of a view over `rounds` rounds at one delta; what does not matter
 * is taken out of the view. `work` bounds the effort, in steps of about a
 * nanosecond, to bring the ends of the bracket within 1 % of each other.
 */
enum pricer_status pri_view_account(struct pri_view *view, double delta,
                                    int64_t rounds, double work,
                                    struct pri_scratch *scratch,
                                    struct pri_bracket *bracket);

/*
 * The account of one link over `rounds` rounds: each packet has ratio mu (which
 * may be INFINITY) and arrives with probability p.
 */
enum pricer_status pri_link_account(double mu, double p, double delta,
                                    int64_t rounds, struct pri_scratch *scratch,
                                    struct pri_bracket *bracket);

/* ------------------------------------------------------------------ bare -- */

/* Patterns as good as bare: those in which some sum is seen with neither a base
 * nor a noise of at least `hide`. */
enum { PRI_HIDES = 24 };

/* The values of `hide` that may be worth a look: above the noises of loud sums,
 * at most PRI_HIDES of them. Returns how many. */
int32_t pri_list_hides(const struct pri_view *view, double *hide);

/* What a pattern as good as bare costs at least, at any eps up to this. */
double pri_worth_of_bare(const struct pri_view *view, int direction,
                         double hide, double eps);

/* Raise the lower end to what single sums show by themselves. */
void pri_lone_sums(const struct pri_view *view, const struct pri_sums *model,
                   double delta, struct pri_bracket *found);

/* One round of one sum, without a line. */
enum pricer_status pri_sum_once(const struct pri_view *view, double delta,
                                struct pri_scratch *scratch,
                                struct pri_bracket *found);

/* ---------------------------------------------------------------- repeat -- */

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
