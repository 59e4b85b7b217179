/*
 * pricer audit: from a plan to an attack on the code that runs it, held against
 * what is claimed.
 */
#include "print_audit.h"
#include "coalition.h"
#include "common/options.h"
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
    "is contradicted. Nothing is stored.",
    "pricer audit ten.pricer --observer link --node 3 --at 4"};

/* Among more statements than this nobody looks for the worst. */
enum { LOOK_MOST = 50000, KINDS = 3, CONTRADICTED = 3 };
#define ALARM 1e-6

enum claim { CLAIM_ACCOUNT, CLAIM_BUDGET, CLAIM_PAPER };

struct request {
    int observer, protect, eavesdropper, claim; /* -1: not given */
    int64_t node, at, seed;                     /* -1: not given */
    double delta, eps, confidence;              /* 0: not given */
    int64_t trials, rounds, plan, threads;
    const char *coalition;
    bool all, as_json;
};

/* What is read before, and freed after. */
struct material {
    struct pricer_study *study;
    struct pricer_network *network;
    struct pricer_plan *plan;
    struct pricer_plan_record record;
    struct coalition coalition;
    struct audit_row *rows; /* targets first, then their audits */
    int64_t count, room;
};

/* What does not go together, or NULL. */
static const char *find_conflict(const struct request *ask)
{
    bool identity = ask->protect == PRICER_PROTECT_IDENTITY;
    bool server = ask->observer == PRICER_OBSERVER_SERVER;
    bool other = ask->observer >= 0 && ask->observer != PRICER_OBSERVER_RELAY;
    if (ask->coalition != NULL && ask->observer >= 0)
        return "--coalition is an observer of its own, without --observer";
    if (identity && (ask->coalition != NULL || other))
        return "--protect identity is for --observer relay";
    if (ask->at >= 0 && (server || ask->coalition != NULL))
        return "--at is for links and relays";
    if (ask->claim == CLAIM_PAPER && ask->coalition != NULL)
        return "the paper has no bound for coalitions";
    if (ask->claim == CLAIM_BUDGET && (ask->observer > PRICER_OBSERVER_LINK ||
                                       identity || ask->coalition != NULL))
        return "--claim budget is for --observer link";
    if (ask->claim >= 0 && ask->eps != 0)
        return "--eps is a claim of its own, without --claim";
    if (ask->delta != 0 && !(ask->delta > 0 && ask->delta <= 1))
        return "--delta is a number above 0, at most 1";
    if (!(ask->eps >= 0))
        return "--eps is a number above 0";
    if (ask->confidence != 0 && !(ask->confidence > 0 && ask->confidence < 1))
        return "--confidence is a number between 0 and 1";
    if (ask->trials != 0 && (ask->trials < PRICER_AUDIT_TRIALS_LEAST ||
                             ask->trials > PRICER_AUDIT_TRIALS_MOST))
        return "--trials is a number from 1000 to 100000000";
    return NULL;
}

static int parse(int argc, char **argv, struct request *ask,
                 const char **operands)
{
    const struct option options[] = {
        {"observer", OPTION_CHOICE, &ask->observer, "link|relay|server",
         "who looks; default all three"},
        {"node", OPTION_COUNT, &ask->node, "I",
         "whose data; default the node about which most can be learnt"},
        {"at", OPTION_COUNT, &ask->at, "J",
         "which receiver or relay looks; default the one that learns most"},
        {"protect", OPTION_CHOICE, &ask->protect, "data|identity",
         "what is kept from a relay; default data"},
        {"delta", OPTION_NUMBER, &ask->delta, "X",
         "default: that of each link; at the server a node's smallest"},
        {"rounds", OPTION_COUNT, &ask->rounds, "T",
         "how many rounds are seen; default: the plan's"},
        {"eavesdropper", OPTION_CHOICE, &ask->eavesdropper, "receiver|radio",
         "radio hears lost packets too; default receiver"},
        {"coalition", OPTION_TEXT, &ask->coalition, "LIST",
         "relays that pool what they see: 1,4,7 or 1,4,server"},
        {"claim", OPTION_CHOICE, &ask->claim, "account|budget|paper",
         "what is contradicted or not; default account, and a link's budget"},
        {"eps", OPTION_NUMBER, &ask->eps, "X", "a claim of your own instead"},
        {"trials", OPTION_COUNT, &ask->trials, "N",
         "of each hypothesis; default what a few seconds allow"},
        {"confidence", OPTION_NUMBER, &ask->confidence, "C",
         "of each number shown; default 0.95"},
        {"seed", OPTION_COUNT, &ask->seed, "S", "default the scenario's"},
        {"plan", OPTION_COUNT, &ask->plan, "N",
         "which plan of the study; default the latest"},
        {"all", OPTION_FLAG, &ask->all, NULL,
         "attack every node or link and not only the worst"},
        {"threads", OPTION_COUNT, &ask->threads, "N", "default one per core"},
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

static enum pricer_status read_material(const char *path, struct request *ask,
                                        struct material *material,
                                        struct pricer_fault *fault)
{
    struct pricer_settings settings;
    int64_t seed;
    enum pricer_status status =
        pricer_study_open(path, false, &material->study, fault);
    if (status == PRICER_OK)
        status =
            pricer_study_settings(material->study, &settings, &seed, fault);
    if (status == PRICER_OK)
        status =
            pricer_study_network(material->study, &material->network, fault);
    if (status == PRICER_OK)
        status =
            pricer_study_plan(material->study, material->network, ask->plan,
                              &material->plan, &material->record, fault);
    if (status != PRICER_OK)
        return status;
    int32_t nodes = material->network->nodes;
    if (ask->seed < 0)
        ask->seed = seed;
    if (ask->rounds == 0)
        ask->rounds = material->record.settings.rounds;
    if (ask->rounds == 0)
        ask->rounds = 1;
    if (ask->node >= nodes)
        return refuse(fault, "--node %lld: the nodes are 0 to %lld", ask->node,
                      nodes - 1);
    if (ask->at >= nodes)
        return refuse(fault, "--at %lld: the nodes are 0 to %lld", ask->at,
                      nodes - 1);
    if (ask->claim == CLAIM_PAPER && ask->rounds > 1)
        return refuse(fault,
                      "--claim paper is about one round, this is about %lld: "
                      "ask with --rounds 1",
                      ask->rounds, 0);
    return ask->coalition == NULL ? PRICER_OK
                                  : coalition_read(ask->coalition, nodes,
                                                   &material->coalition, fault);
}

static void free_material(struct material *material)
{
    free(material->rows);
    free(material->coalition.members);
    pricer_plan_free(material->plan);
    pricer_network_free(material->network);
    pricer_study_close(material->study);
}

static struct pricer_question question_of(const struct request *ask,
                                          enum pricer_observer observer,
                                          const struct material *material)
{
    return (struct pricer_question){
        .observer = observer,
        .protect = ask->protect < 0 ? PRICER_PROTECT_DATA : ask->protect,
        .eavesdropper = ask->eavesdropper < 0 ? 0 : ask->eavesdropper,
        .delta = ask->delta,
        .rounds = ask->rounds,
        .members = material->coalition.members,
        .member_count = material->coalition.member_count,
        .with_server = material->coalition.with_server,
        .threads = (int32_t)ask->threads,
    };
}

/* --------------------------------------------------------------- targets -- */

static enum pricer_status add_target(struct material *material,
                                     struct pricer_statement statement)
{
    if (material->count == material->room) {
        int64_t room = 2 * material->room + 16;
        void *moved =
            realloc(material->rows, (size_t)room * sizeof *material->rows);
        if (moved == NULL)
            return PRICER_MEMORY;
        material->rows = moved;
        material->room = room;
    }
    material->rows[material->count++] =
        (struct audit_row){.audit.statement = statement};
    return PRICER_OK;
}

/* How much there is to contradict: the eps of the account where something is
 * claimed; 0 where nothing is, and less where there is nothing to learn. */
static double interest(const struct request *ask,
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
static enum pricer_status look(const struct request *ask,
                               const struct pricer_question *question,
                               struct material *material,
                               struct pricer_fault *fault)
{
    struct pricer_question asked = *question;
    struct pricer_statement *all = NULL;
    struct progress progress;
    int64_t count = 0, worst = -1;
    progress_start(&progress, "look");
    asked.watch = &progress.watch;
    enum pricer_status status = pricer_privacy_account(
        material->network, material->plan, &asked, &all, &count, fault);
    progress_end(&progress);
    for (int64_t k = 0; k < count && status == PRICER_OK; k++) {
        if ((ask->node >= 0 && all[k].node != ask->node) ||
            (ask->at >= 0 && all[k].at != ask->at))
            continue;
        if (ask->all)
            status = add_target(material, all[k]);
        else if (worst < 0 || interest(ask, material->network, &all[k]) >
                                  interest(ask, material->network, &all[worst]))
            worst = k;
    }
    if (status == PRICER_OK && worst >= 0)
        status = add_target(material, all[worst]);
    pricer_statements_free(all);
    return status;
}

/* Which statements of one kind of observer are attacked. */
static enum pricer_status choose(const struct request *ask,
                                 enum pricer_observer observer,
                                 struct material *material,
                                 struct pricer_fault *fault)
{
    const struct pricer_network *network = material->network;
    struct pricer_question question = question_of(ask, observer, material);
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
        return add_target(material, one);
    if (network->links > LOOK_MOST)
        return refuse(fault,
                      "the network has %lld links, too many to look for the "
                      "worst: name the nodes with --node and --at",
                      network->links, 0);
    int64_t before = material->count;
    enum pricer_status status = look(ask, &question, material, fault);
    if (status == PRICER_OK && material->count == before &&
        (ask->node >= 0 || ask->at >= 0))
        return refuse(fault,
                      ask->node >= 0 ? "--node %lld: no link leaves that node"
                                     : "--at %lld: no link ends at that node",
                      ask->node >= 0 ? ask->node : ask->at, 0);
    return status;
}

static enum pricer_status choose_all(const struct request *ask,
                                     struct material *material,
                                     struct pricer_fault *fault)
{
    if (ask->coalition != NULL)
        return choose(ask, PRICER_OBSERVER_COALITION, material, fault);
    if (ask->observer >= 0)
        return choose(ask, ask->observer, material, fault);
    if (ask->protect == PRICER_PROTECT_IDENTITY)
        return choose(ask, PRICER_OBSERVER_RELAY, material, fault);
    if (ask->claim == CLAIM_BUDGET)
        return choose(ask, PRICER_OBSERVER_LINK, material, fault);
    int kinds = ask->at >= 0 ? KINDS - 1 : KINDS;
    enum pricer_status status = PRICER_OK;
    for (int k = 0; k < kinds && status == PRICER_OK; k++)
        status = choose(ask, (enum pricer_observer)k, material, fault);
    return status;
}

/* --------------------------------------------------------------- attacks -- */

static void claim(struct audit_row *row, const char *name, double eps)
{
    row->claim[row->claims++] = (struct audit_claim){name, eps};
}

/* What the attack is held against. */
static enum pricer_status add_claims(const struct request *ask,
                                     const struct material *material,
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
            pricer_privacy_paper(material->network, material->plan,
                                 &audit->statement, &bound, fault);
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

static enum pricer_status attack_all(const struct request *ask,
                                     struct material *material,
                                     struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    struct progress progress;
    progress_start(&progress, "audit");
    for (int64_t k = 0; k < material->count && status == PRICER_OK; k++) {
        struct audit_row *row = &material->rows[k];
        const struct pricer_statement *target = &row->audit.statement;
        struct pricer_audit_settings settings = {
            .question = question_of(ask, target->observer, material),
            .node = target->node,
            .at = target->at,
            .trials = ask->trials,
            .budget_rounds = material->record.settings.rounds,
            .confidence = ask->confidence,
            .alarm = ALARM / (double)material->count,
            .seed = (uint64_t)ask->seed,
        };
        settings.question.watch = &progress.watch;
        status = pricer_audit_run(material->network, material->plan, &settings,
                                  &row->audit, fault);
        if (status == PRICER_OK)
            status = add_claims(ask, material, row, fault);
    }
    progress_end(&progress);
    return status;
}

int verb_audit(int argc, char **argv)
{
    struct request ask = {.observer = -1,
                          .protect = -1,
                          .eavesdropper = -1,
                          .claim = -1,
                          .node = -1,
                          .at = -1,
                          .seed = -1};
    struct material material = {0};
    struct pricer_fault fault = {""};
    const char *operands[1];
    int go = parse(argc, argv, &ask, operands);
    if (go != OPTIONS_GO)
        return go;
    enum pricer_status status =
        read_material(operands[0], &ask, &material, &fault);
    if (status == PRICER_OK)
        status = choose_all(&ask, &material, &fault);
    if (status == PRICER_OK)
        status = attack_all(&ask, &material, &fault);
    struct audit_terms terms = {
        .eavesdropper = ask.eavesdropper < 0 ? 0 : ask.eavesdropper,
        .rounds = ask.rounds,
        .seed = ask.seed,
        .confidence = ask.confidence > 0 ? ask.confidence : .95,
        .alarm = ALARM,
    };
    if (status == PRICER_OK && ask.as_json)
        audit_print_json(&terms, material.rows, material.count);
    else if (status == PRICER_OK)
        audit_print(&terms, material.rows, material.count);
    bool bad = status == PRICER_OK &&
               audit_contradicted(material.rows, material.count);
    free_material(&material);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    return bad ? CONTRADICTED : 0;
}
