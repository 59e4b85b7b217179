/*
 * From a network, a plan and a question to the answers: one statement for each
 * link, relay or node that the question is about.
 *
 * Every statement is an account of its own, so they are computed on all threads
 * and do not depend on how many there are.
 */
#include "account.h"
#include "plan/plan.h"
#include "privacy/privacy.h"
#include "payload.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Probabilities below this are not told from 0: numbers end at 1e-308, and what
 * products lose there is charged. */
#define DELTA_LEAST 1e-290

void pricer_statements_free(struct pricer_statement *statements)
{
    free(statements);
}

/* Also a link's own, where the question has none. */
static enum pricer_status check_delta(double delta, struct pricer_fault *fault)
{
    return delta >= DELTA_LEAST
               ? PRICER_OK
               : pri_fault(fault, PRICER_VALUE,
                           "delta = %g is below %g, the least that an account "
                           "can tell from nothing",
                           delta, DELTA_LEAST);
}

static enum pricer_status check_question(const struct pricer_network *network,
                                         const struct pricer_plan *plan,
                                         const struct pricer_question *question,
                                         struct pricer_fault *fault)
{
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan was made for another network");
    if (question->delta != 0 && !(question->delta > 0 && question->delta <= 1))
        return pri_fault(fault, PRICER_VALUE, "delta = %g is outside (0, 1]",
                         question->delta);
    if (question->rounds < 0 || question->rounds > PRI_ROUNDS_MOST)
        return pri_fault(fault, PRICER_VALUE,
                         "rounds = %lld is not between 1 and %d",
                         (long long)question->rounds, PRI_ROUNDS_MOST);
    if (question->protect == PRICER_PROTECT_IDENTITY &&
        question->observer == PRICER_OBSERVER_LINK)
        return pri_fault(fault, PRICER_VALUE,
                         "whoever receives a link sees who sent the packet: "
                         "there is no identity to protect");
    return pri_question_check(network, question, fault);
}

/* The smallest delta that a node asks for. */
static double delta_of_node(const struct pricer_network *network, int32_t node)
{
    double delta = network->self_delta[node];
    for (int32_t l = network->out_start[node]; l < network->out_start[node + 1];
         l++)
        delta = fmin(delta, network->delta[l]);
    return delta;
}

/* Whether statements are about links, and not about nodes. */
static bool is_by_link(const struct pricer_question *question)
{
    return question->observer == PRICER_OBSERVER_LINK ||
           question->observer == PRICER_OBSERVER_RELAY;
}

/* Everything about a statement but its answer; `index` is a link or a node. */
static struct pricer_statement blank_statement(
    const struct pricer_network *network,
    const struct pricer_question *question, int32_t index)
{
    bool by_link = is_by_link(question);
    return (struct pricer_statement){
        .observer = question->observer,
        .protect = question->protect,
        .node = by_link ? network->from[index] : index,
        .at = by_link ? network->to[index] : -1,
        .delta = question->delta > 0 ? question->delta
                 : by_link           ? network->delta[index]
                                     : delta_of_node(network, index),
    };
}

static bool is_in_coalition(const struct pricer_question *question,
                            int32_t node)
{
    for (int32_t k = 0; question->observer == PRICER_OBSERVER_COALITION &&
                        k < question->member_count;
         k++)
        if (question->members[k] == node)
            return true;
    return false;
}

/* What every thread needs. */
struct job {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    const struct pricer_question *question;
    int64_t rounds;
    double work;
    const bool *member;             /* of the coalition */
    const struct pricer_grid *grid; /* on which it is sent, if it can be */
};

/* The grid of the plan where sums are seen, or NULL if it fits none. */
static const struct pricer_grid *find_grid(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_question *question, struct pricer_grid *grid)
{
    return question->observer != PRICER_OBSERVER_LINK &&
                   pricer_grid_choose(network, plan, grid, NULL) == PRICER_OK
               ? grid
               : NULL;
}

/* What one thread has for itself. */
struct hand {
    struct pri_view view;
    struct pri_scratch *scratch;
    struct pri_rounds rounds;
    bool *relay; /* [nodes] all false between two statements */
};

/* How far apart neighbouring data of the sender are in what is sent. */
static long double link_move(const struct job *job, int32_t link)
{
    const struct pricer_network *net = job->network;
    return (long double)net->node_diameter[net->from[link]] *
           job->plan->weight[link];
}

/* diameter weight / noise, within the range of numbers; the product alone may
 * leave that of a double. 0 only if nothing is sent. */
static double link_mu(const struct job *job, int32_t link)
{
    long double move = link_move(job, link);
    double noise = job->plan->noise[link];
    if (move == 0)
        return 0;
    return noise == 0 ? INFINITY
                      : (double)fmaxl(fminl(move / noise, DBL_MAX), DBL_MIN);
}

/* The account is the smallest eps but for its last digits. Noise that was made
 * for the link's budget keeps it to the last: where that budget itself can be
 * proved, it is the better bound. */
static void keep_budget(const struct job *job, int32_t link,
                        const struct pricer_budget *budget,
                        struct pri_rounds *law, struct pri_bracket *bracket)
{
    long double move = link_move(job, link);
    long double noise = job->plan->noise[link];
    if (!(noise > 0) ||
        !pri_budget_holds(budget, move / noise * (1 + 0x1p-60L), law))
        return;
    bracket->eps = budget->eps;
    bracket->eps_lower = fmin(bracket->eps_lower, budget->eps);
}

static enum pricer_status answer_link(const struct job *job, struct hand *hand,
                                      struct pricer_statement *statement,
                                      struct pri_bracket *bracket)
{
    const struct pricer_network *network = job->network;
    int32_t link = pricer_network_find(network, statement->node, statement->at);
    bool radio = job->question->eavesdropper == PRICER_RADIO;
    const struct pricer_budget budget = {.eps = network->eps[link],
                                         .delta = statement->delta,
                                         .rounds = job->rounds,
                                         .p = radio ? 1 : network->p[link]};
    statement->exact = true;
    enum pricer_status status =
        pri_link_account(link_mu(job, link), budget.p, budget.delta,
                         job->rounds, hand->scratch, bracket);
    if (status == PRICER_OK && bracket->eps > budget.eps)
        keep_budget(job, link, &budget, &hand->rounds, bracket);
    return status;
}

/* `choice` and *helped as in pri_view_observe(). */
static enum pricer_status answer_sight(const struct job *job,
                                       const bool *member, bool server,
                                       uint32_t choice, struct hand *hand,
                                       struct pricer_statement *statement,
                                       struct pri_bracket *bracket,
                                       bool *helped)
{
    const struct pri_sight sight = {job->network,    job->plan, job->question,
                                    statement->node, member,    server,
                                    job->grid};
    bool identity = statement->protect == PRICER_PROTECT_IDENTITY;
    enum pricer_eavesdropper hears = pri_question_hears(job->question);
    enum pricer_status status =
        identity
            ? pri_view_identity(job->network, job->plan, statement->node,
                                member, server, hears, job->grid, &hand->view)
            : pri_view_build(job->network, job->plan, statement->node, member,
                             server, hears, job->grid, &hand->view);
    *helped = false;
    if (status == PRICER_OK && !identity)
        status = pri_view_observe(&sight, choice, &hand->view, helped);
    if (status != PRICER_OK || (choice != 0 && !*helped))
        return status;
    statement->exact = hand->view.visible;
    status = pri_view_account(&hand->view, statement->delta, job->rounds,
                              job->work, hand->scratch, bracket);
    if (pri_question_reads(job->question))
        bracket->floor_exact = false;
    return status;
}

static enum pricer_status answer_view(const struct job *job, const bool *member,
                                      bool server, struct hand *hand,
                                      struct pricer_statement *statement,
                                      struct pri_bracket *bracket)
{
    bool helped;
    bool estimate =
        pri_question_reads(job->question) && !job->question->decodes;
    enum pricer_status status =
        answer_sight(job, member, server, 0, hand, statement, bracket, &helped);
    /* The smallest of several proofs. */
    for (uint32_t choice = 1;
         choice < 1u << PRI_DEALT_TO && estimate && status == PRICER_OK;
         choice++) {
        struct pri_bracket other = *bracket;
        status = answer_sight(job, member, server, choice, hand, statement,
                              &other, &helped);
        bracket->eps = fmin(bracket->eps, other.eps);
        bracket->floor = fmin(bracket->floor, other.floor);
        bracket->eps_lower = fmin(bracket->eps_lower, other.eps_lower);
    }
    return status;
}

static enum pricer_status answer_relay(const struct job *job, struct hand *hand,
                                       struct pricer_statement *statement,
                                       struct pri_bracket *bracket)
{
    hand->relay[statement->at] = true;
    enum pricer_status status =
        answer_view(job, hand->relay, false, hand, statement, bracket);
    hand->relay[statement->at] = false;
    return status;
}

static enum pricer_status answer(const struct job *job, struct hand *hand,
                                 struct pricer_statement *statement)
{
    struct pri_bracket bracket = {INFINITY, 0, 1, false};
    enum pricer_status status = PRICER_OK;
    switch (statement->observer) {
    case PRICER_OBSERVER_LINK:
        status = answer_link(job, hand, statement, &bracket);
        break;
    case PRICER_OBSERVER_RELAY:
        status = answer_relay(job, hand, statement, &bracket);
        break;
    case PRICER_OBSERVER_SERVER:
    case PRICER_OBSERVER_READER:
    case PRICER_OBSERVER_LISTENER:
        status = answer_view(job, NULL, true, hand, statement, &bracket);
        break;
    case PRICER_OBSERVER_COALITION:
        status = answer_view(job, job->member,
                             job->question->with_server ||
                                 job->question->with_reader,
                             hand, statement, &bracket);
        break;
    case PRICER_OBSERVER_EVERYONE: /* pri_question_check() refuses it */
        status = PRICER_VALUE;
        break;
    }
    statement->eps = bracket.eps;
    statement->eps_lower = bracket.eps_lower;
    statement->floor = bracket.floor;
    statement->floor_bound = !bracket.floor_exact;
    if (status == PRICER_OK && statement->protect == PRICER_PROTECT_DATA &&
        statement->observer != PRICER_OBSERVER_LINK)
        pri_payload_bound(job->network, job->plan, job->question, job->member,
                          statement);
    return status;
}

static void free_hand(struct hand *hand)
{
    pri_view_free(&hand->view);
    pri_scratch_free(hand->scratch);
    free(hand->scratch);
    pri_rounds_free(&hand->rounds);
    free(hand->relay);
}

/* All statements, and who is at them. */
struct desk {
    const struct job *job;
    int64_t count;
    struct pricer_statement *statements;
    pthread_t caller; /* who tells the watch */
    double until;     /* when the caller asks others to help */
    _Atomic int64_t next, done;
    atomic_int status; /* of the last thing that went wrong */
};

/* So long the caller works alone: to start threads takes as much as hundreds of
 * small statements. */
static const double head_start = 0.01;

/* Whoever comes takes one statement after the other until none is left. */
static void answer_some(void *context, int32_t part)
{
    struct desk *desk = context;
    const struct pricer_watch *watch = desk->job->question->watch;
    bool asks = pthread_equal(pthread_self(), desk->caller);
    struct hand hand = {0};
    (void)part;
    hand.relay = pri_alloc(desk->job->network->nodes, sizeof(bool));
    hand.scratch = pri_scratch_new();
    if (hand.relay == NULL || hand.scratch == NULL)
        desk->status = PRICER_MEMORY;
    for (int64_t k; desk->status == PRICER_OK && pri_seconds() < desk->until &&
                    (k = atomic_fetch_add(&desk->next, 1)) < desk->count;) {
        enum pricer_status status =
            answer(desk->job, &hand, &desk->statements[k]);
        double done = (double)atomic_fetch_add(&desk->done, 1) + 1;
        if (status == PRICER_OK && asks &&
            !pri_tick(watch, done / (double)desk->count))
            status = PRICER_STOPPED;
        if (status != PRICER_OK)
            desk->status = (int)status;
    }
    free_hand(&hand);
}

static enum pricer_status answer_all(const struct job *job, int64_t count,
                                     struct pricer_statement *statements)
{
    struct desk desk = {.job = job,
                        .count = count,
                        .statements = statements,
                        .caller = pthread_self(),
                        .until = pri_seconds() + head_start};
    int threads = pri_threads(job->question->threads, INT64_MAX);
    answer_some(&desk, 0);
    int64_t left = count - desk.next;
    if (desk.status != PRICER_OK || left <= 0)
        return (enum pricer_status)desk.status;
    desk.until = INFINITY;
    struct pri_team *team =
        pri_team_new((int32_t)(left < threads ? left : threads));
    if (team == NULL)
        return PRICER_MEMORY;
    pri_team_run(team, pri_team_threads(team), answer_some, &desk);
    pri_team_free(team);
    return (enum pricer_status)desk.status;
}

/* The answers to statements that are blank so far. */
static enum pricer_status fill_in(const struct pricer_network *network,
                                  const struct pricer_plan *plan,
                                  const struct pricer_question *question,
                                  double work, int64_t count,
                                  struct pricer_statement *list,
                                  struct pricer_fault *fault)
{
    struct pricer_grid grid;
    enum pricer_status status = PRICER_OK;
    for (int64_t k = 0; k < count && status == PRICER_OK; k++)
        status = check_delta(list[k].delta, fault);
    if (status != PRICER_OK)
        return status;
    bool *member = pri_alloc(network->nodes, sizeof *member);
    if (member == NULL)
        return pri_fault(fault, PRICER_MEMORY, "%s",
                         pricer_status_text(PRICER_MEMORY));
    for (int32_t k = 0; question->observer == PRICER_OBSERVER_COALITION &&
                        k < question->member_count;
         k++)
        member[question->members[k]] = true;
    struct job job = {network,
                      plan,
                      question,
                      question->rounds > 0 ? question->rounds : 1,
                      work,
                      member,
                      find_grid(network, plan, question, &grid)};
    status = answer_all(&job, count, list);
    free(member);
    return status == PRICER_OK
               ? status
               : pri_fault(fault, status, "%s", pricer_status_text(status));
}

enum pricer_status pricer_privacy_account(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_question *question,
    struct pricer_statement **statements, int64_t *count,
    struct pricer_fault *fault)
{
    enum pricer_status status = check_question(network, plan, question, fault);
    if (status != PRICER_OK)
        return status;
    int32_t most = is_by_link(question) ? network->links : network->nodes;
    int64_t listed = 0;
    struct pricer_statement *list = pri_alloc(most, sizeof *list);
    if (list == NULL)
        return pri_fault(fault, PRICER_MEMORY, "%s",
                         pricer_status_text(PRICER_MEMORY));
    for (int32_t k = 0; k < most; k++)
        if (!is_in_coalition(question, k))
            list[listed++] = blank_statement(network, question, k);
    double work = fmin(fmax(1e10 / (double)(listed + 1), 5e7), 1e9);
    for (int64_t k = 0; question->list_only && k < listed; k++)
        list[k].eps = INFINITY;
    if (!question->list_only)
        status = fill_in(network, plan, question, work, listed, list, fault);
    if (status != PRICER_OK) {
        free(list);
        return status;
    }
    *statements = list;
    *count = listed;
    return PRICER_OK;
}

/* Which link or node a single statement is about, or -1 and a fault. */
static int32_t find_index(const struct pricer_network *network,
                          const struct pricer_question *question, int32_t node,
                          int32_t at, struct pricer_fault *fault)
{
    bool by_link = is_by_link(question);
    int32_t worst = node < 0 || node >= network->nodes ? node : at;
    bool known = worst >= 0 && worst < network->nodes;
    if ((worst == node || by_link) && !known) {
        pri_fault(fault, PRICER_VALUE,
                  "there is no node %d: the nodes are 0 to %d", (int)worst,
                  (int)network->nodes - 1);
        return -1;
    }
    int32_t found = by_link ? pricer_network_find(network, node, at) : node;
    if (found < 0)
        pri_fault(fault, PRICER_VALUE, "there is no link from node %d to %d",
                  (int)node, (int)at);
    if (!is_in_coalition(question, node))
        return found;
    pri_fault(fault, PRICER_VALUE, "node %d is in the coalition itself",
              (int)node);
    return -1;
}

enum pricer_status pri_privacy_one(const struct pricer_network *network,
                                   const struct pricer_plan *plan,
                                   const struct pricer_question *question,
                                   int32_t node, int32_t at,
                                   struct pricer_statement *statement,
                                   struct pricer_fault *fault)
{
    struct pricer_question alone = *question;
    enum pricer_status status = check_question(network, plan, question, fault);
    if (status != PRICER_OK)
        return status;
    int32_t index = find_index(network, question, node, at, fault);
    if (index < 0)
        return PRICER_VALUE;
    struct pricer_statement one = blank_statement(network, question, index);
    alone.threads = 1;
    alone.watch = NULL;
    status = fill_in(network, plan, &alone, 1e9, 1, &one, fault);
    if (status == PRICER_OK)
        *statement = one;
    return status;
}
