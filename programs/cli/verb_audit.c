/*
 * pricer audit: from a plan to an attack on the code that runs it, held against
 * what is claimed.
 */
#include "print_audit.h"
#include "cli/forward/audit.h"
#include "cli/forward/plan.h"
#include "material.h"
#include "question.h"
#include "verbs.h"

#include <math.h>
#include <stdlib.h>

static const struct usage usage = {
    "audit", "STUDY",
    "Attack what nodes send, with the functions that real rounds use: play "
    "two\n"
    "hypotheses about a node, let the observer guess which one it was, and "
    "hold\n"
    "the eps that this proves against what is claimed. Exit status 3 if a "
    "claim\n"
    "is contradicted. With 'scheme: forward' the law of the releases is "
    "tested\n"
    "as well. Nothing is stored.",
    "pricer audit ten.pricer --observer link --node 3 --at 4"};

/* Among more statements than this nobody looks for the worst. */
enum { LOOK_MOST = 50000, CONTRADICTED = AUDIT_CONTRADICTED };
#define ALARM AUDIT_ALARM

/* What is read before, and what comes of it. */
struct work {
    struct material from;
    struct coalition coalition;
    struct audit_row *rows; /* targets first, then their audits */
    int64_t count;
    int64_t room;
};

/* What does not go together, or NULL. */
static const char *find_conflict(const struct audit_request *ask)
{
    const struct question_request *about = &ask->about;
    bool identity = about->protect == PRICER_PROTECT_IDENTITY;
    bool server = about->observer == PRICER_OBSERVER_SERVER;
    if (question_conflict(about) != NULL)
        return question_conflict(about);
    if (ask->at >= 0 && (server || about->coalition != NULL))
        return "--at is for links and relays";
    if (ask->claim == CLAIM_PAPER && about->coalition != NULL)
        return "the paper has no bound for coalitions";
    if (ask->claim == CLAIM_BUDGET && (about->observer > PRICER_OBSERVER_LINK ||
                                       identity || about->coalition != NULL))
        return "--claim budget is for --observer link";
    if (ask->claim >= 0 && ask->eps != 0)
        return "--eps is a claim of its own, without --claim";
    if (question_delta_conflict(about) != NULL)
        return question_delta_conflict(about);
    if (!(ask->confidence < 1))
        return "--confidence is a number between 0 and 1";
    if (ask->trials != 0 && (ask->trials < PRICER_AUDIT_TRIALS_LEAST ||
                             ask->trials > PRICER_AUDIT_TRIALS_MOST))
        return "--trials is a number from 1000 to 100000000";
    return NULL;
}

static int parse(int argc, char **argv, struct audit_request *ask,
                 const char **operands)
{
    const struct option options[] = {
        OBSERVER_OPTION(&ask->about),
        {"node", OPTION_COUNT, &ask->node, "I",
         "whose data; default the node about which most can be learnt"},
        {"at", OPTION_COUNT, &ask->at, "J",
         "which receiver or relay looks; default the one that learns most"},
        QUESTION_OPTIONS(&ask->about),
        {"claim", OPTION_CHOICE, &ask->claim, "account|budget|paper",
         "what is contradicted or not; default account, and a link's budget"},
        {"eps", OPTION_ABOVE, &ask->eps, "X", "a claim of your own instead"},
        {"trials", OPTION_MANY, &ask->trials, "N",
         "of each hypothesis; default what a few seconds allow"},
        {"confidence", OPTION_ABOVE, &ask->confidence, "C",
         "of each number shown; default 0.95"},
        {"seed", OPTION_COUNT, &ask->seed, "S",
         "default the scenario's; with forward the kernel's random bits"},
        PLAN_OPTION(&ask->plan),
        {"all", OPTION_FLAG, &ask->all, NULL,
         "attack every node or link and not only the worst"},
        {"threads", OPTION_COUNT, &ask->about.threads, "N",
         "default one per core"},
        {"json", OPTION_FLAG, &ask->as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    int go = options_parse(&usage, options, argc, argv, operands);
    const char *wrong = go == OPTIONS_GO ? find_conflict(ask) : NULL;
    if (wrong == NULL)
        return go;
    fprintf(stderr, "pricer audit: %s\n", wrong);
    return 2;
}

static enum pricer_status refuse(struct pricer_fault *fault, const char *what,
                                 int64_t one, int64_t two)
{
    snprintf(fault->text, sizeof fault->text, what, (long long)one,
             (long long)two);
    return PRICER_VALUE;
}

static enum pricer_status read_work(const char *path, struct audit_request *ask,
                                    struct work *work,
                                    struct pricer_fault *fault)
{
    struct question_request *about = &ask->about;
    enum pricer_status status = material_open(path, false, &work->from, fault);
    if (status == PRICER_OK)
        status = material_plan(&work->from, ask->plan, fault);
    if (status != PRICER_OK)
        return status;
    int32_t nodes = work->from.network->nodes;
    if (ask->seed < 0)
        ask->seed = work->from.seed;
    question_settle(about, &work->from.record.settings);
    if (ask->node >= nodes)
        return refuse(fault, "--node %lld: the nodes are 0 to %lld", ask->node,
                      nodes - 1);
    if (ask->at >= nodes)
        return refuse(fault, "--at %lld: the nodes are 0 to %lld", ask->at,
                      nodes - 1);
    if (ask->claim == CLAIM_PAPER && about->rounds > 1)
        return refuse(fault,
                      "--claim paper is about one round, this is about %lld: "
                      "ask with --rounds 1",
                      about->rounds, 0);
    status = coalition_read(about->coalition, nodes, &work->coalition, fault);
    if (status == PRICER_OK && work->coalition.with_reader)
        return refuse(fault,
                      "--coalition with a reader: the audit attacks relays and "
                      "the server; 'pricer privacy' has an account",
                      0, 0);
    return status;
}

static void free_work(struct work *work)
{
    free(work->rows);
    free(work->coalition.members);
    material_close(&work->from);
}

/* --------------------------------------------------------------- targets -- */

static enum pricer_status add_target(struct work *work,
                                     struct pricer_statement statement)
{
    if (work->count == work->room) {
        int64_t room = 2 * work->room + 16;
        void *moved = realloc(work->rows, (size_t)room * sizeof *work->rows);
        if (moved == NULL)
            return PRICER_MEMORY;
        work->rows = moved;
        work->room = room;
    }
    work->rows[work->count++] =
        (struct audit_row){.audit.statement = statement};
    return PRICER_OK;
}

/* How much there is to contradict: the eps of the account where something is
 * claimed; 0 where nothing is, and less where there is nothing to learn. */
static double interest(const struct audit_request *ask,
                       const struct pricer_network *network,
                       const struct pricer_statement *statement)
{
    bool claimed =
        isfinite(statement->eps) || ask->claim == CLAIM_PAPER || ask->eps > 0;
    if (statement->observer == PRICER_OBSERVER_LINK && !claimed)
        claimed = isfinite(network->eps[pricer_network_find(
            network, statement->node, statement->at)]);
    if (statement->eps == 0)
        return -1;
    return claimed ? statement->eps : 0;
}

/* The worst statement that fits --node and --at, or with --all every one. */
static enum pricer_status look(const struct audit_request *ask,
                               const struct pricer_question *question,
                               struct work *work, struct pricer_fault *fault)
{
    struct pricer_question asked = *question;
    struct pricer_statement *all = NULL;
    struct progress progress;
    int64_t count = 0, worst = -1;
    progress_start(&progress, "look");
    asked.watch = &progress.watch;
    enum pricer_status status = pricer_privacy_account(
        work->from.network, work->from.plan, &asked, &all, &count, fault);
    progress_end(&progress);
    for (int64_t k = 0; k < count && status == PRICER_OK; k++) {
        if ((ask->node >= 0 && all[k].node != ask->node) ||
            (ask->at >= 0 && all[k].at != ask->at))
            continue;
        if (ask->all)
            status = add_target(work, all[k]);
        else if (worst < 0 ||
                 interest(ask, work->from.network, &all[k]) >
                     interest(ask, work->from.network, &all[worst]))
            worst = k;
    }
    if (status == PRICER_OK && worst >= 0)
        status = add_target(work, all[worst]);
    pricer_statements_free(all);
    return status;
}

/* Which statements of one kind of observer are attacked. */
static enum pricer_status choose(const struct audit_request *ask,
                                 enum pricer_observer observer,
                                 struct work *work, struct pricer_fault *fault)
{
    const struct pricer_network *network = work->from.network;
    struct pricer_question question =
        question_make(&ask->about, observer, &work->coalition);
    bool by_link = observer < PRICER_OBSERVER_SERVER;
    bool named = ask->node >= 0 && (!by_link || ask->at >= 0);
    struct pricer_statement one = {.observer = observer,
                                   .protect = question.protect,
                                   .node = (int32_t)ask->node,
                                   .at = by_link ? (int32_t)ask->at : -1};
    if (named && by_link && pricer_network_find(network, one.node, one.at) < 0)
        return refuse(fault,
                      "--node %lld --at %lld: there is no such link of the "
                      "network",
                      ask->node, ask->at);
    if (named)
        return add_target(work, one);
    if (network->links > LOOK_MOST)
        return refuse(fault,
                      "the network has %lld links, too many to look for the "
                      "worst: name the nodes with --node and --at",
                      network->links, 0);
    int64_t before = work->count;
    enum pricer_status status = look(ask, &question, work, fault);
    if (status == PRICER_OK && work->count == before &&
        (ask->node >= 0 || ask->at >= 0))
        return refuse(fault,
                      ask->node >= 0 ? "--node %lld: no link leaves that node"
                                     : "--at %lld: no link ends at that node",
                      ask->node >= 0 ? ask->node : ask->at, 0);
    return status;
}

static enum pricer_status choose_all(const struct audit_request *ask,
                                     struct work *work,
                                     struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    int first, count = question_observers(&ask->about, &first);
    if (count > 1 && ask->claim == CLAIM_BUDGET)
        count = 1; /* links alone have one */
    else if (count > 1 && ask->at >= 0)
        count--; /* all but the server */
    for (int k = first; k < first + count && status == PRICER_OK; k++)
        status = choose(ask, (enum pricer_observer)k, work, fault);
    return status;
}

/* --------------------------------------------------------------- attacks -- */

static void claim(struct audit_row *row, const char *name, double eps)
{
    row->claim[row->claims++] = (struct audit_claim){name, eps};
}

/* What the attack is held against. */
static enum pricer_status add_claims(const struct audit_request *ask,
                                     const struct work *work,
                                     struct audit_row *row,
                                     struct pricer_fault *fault)
{
    const struct pricer_audit *audit = &row->audit;
    struct pricer_paper_bound bound;
    if (ask->eps > 0) {
        claim(row, "given", ask->eps);
        return PRICER_OK;
    }
    if (ask->claim == CLAIM_PAPER) {
        enum pricer_status status =
            pricer_privacy_paper(work->from.network, work->from.plan,
                                 &audit->statement, 0, &bound, fault);
        if (status == PRICER_OK)
            claim(row, "paper", bound.printed);
        return status;
    }
    if (ask->claim != CLAIM_ACCOUNT && !isnan(audit->budget))
        claim(row, "budget", audit->budget);
    if (ask->claim != CLAIM_BUDGET)
        claim(row, "account", audit->statement.eps);
    if (row->claims == 0)
        return refuse(fault,
                      "--claim budget: what was agreed on for the link %lld,"
                      "%lld says nothing about this delta, these rounds and "
                      "this eavesdropper",
                      audit->statement.node, audit->statement.at);
    return PRICER_OK;
}

static enum pricer_status attack_all(const struct audit_request *ask,
                                     struct work *work,
                                     struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    struct progress progress;
    progress_start(&progress, "audit");
    for (int64_t k = 0; k < work->count && status == PRICER_OK; k++) {
        struct audit_row *row = &work->rows[k];
        const struct pricer_statement *target = &row->audit.statement;
        struct pricer_audit_settings settings = {
            .question =
                question_make(&ask->about, target->observer, &work->coalition),
            .node = target->node,
            .at = target->at,
            .trials = ask->trials,
            .budget_rounds = work->from.record.settings.rounds,
            .confidence = ask->confidence,
            .alarm = ALARM / (double)work->count,
            .seed = (uint64_t)ask->seed,
        };
        settings.question.watch = &progress.watch;
        status = pricer_audit_run(work->from.network, work->from.plan,
                                  &settings, &row->audit, fault);
        if (status == PRICER_OK)
            status = add_claims(ask, work, row, fault);
    }
    progress_end(&progress);
    return status;
}

int verb_audit(int argc, char **argv)
{
    struct audit_request ask = {
        .about = {.observer = -1, .protect = -1, .eavesdropper = -1},
        .claim = -1,
        .node = -1,
        .at = -1,
        .seed = -1};
    struct work work = {0};
    struct pricer_fault fault = {""};
    const char *operands[1];
    int go = parse(argc, argv, &ask, operands);
    if (go != OPTIONS_GO)
        return go;
    if (plan_forward_wanted(operands[0]))
        return audit_forward(&ask, operands[0]);
    enum pricer_status status = read_work(operands[0], &ask, &work, &fault);
    if (status == PRICER_OK)
        status = choose_all(&ask, &work, &fault);
    if (status == PRICER_OK)
        status = attack_all(&ask, &work, &fault);
    struct audit_terms terms = {
        .eavesdropper = (enum pricer_eavesdropper)ask.about.eavesdropper,
        .rounds = ask.about.rounds,
        .seed = ask.seed,
        .network = work.from.network,
        .confidence = ask.confidence > 0 ? ask.confidence : .95,
        .alarm = ALARM,
    };
    if (status == PRICER_OK && ask.as_json)
        audit_print_json(&terms, work.rows, work.count);
    else if (status == PRICER_OK)
        audit_print(&terms, work.rows, work.count);
    bool bad = status == PRICER_OK && audit_contradicted(work.rows, work.count);
    free_work(&work);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    return bad ? CONTRADICTED : 0;
}
