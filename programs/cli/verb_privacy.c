/*
 * pricer privacy: from a plan to what each observer can learn about each node,
 * proved.
 */
#include "coalition.h"
#include "common/options.h"
#include "print_privacy.h"
#include "verbs.h"

#include <stdlib.h>

static const struct usage usage = {
    "privacy", "STUDY",
    "Account for what links, relays, the server or a coalition of them learn\n"
    "about the data of each node, or about who took part: for each delta the\n"
    "eps that is proved, and a lower one that shows how tight it is. The\n"
    "statements are stored in the study.",
    "pricer privacy ten.pricer --observer server --delta 1e-5 --rounds 10"};

/* Rows of each table without --all. */
enum { ROWS = 15, KINDS = 3 };

struct request {
    int observer, protect, eavesdropper, mode; /* -1: not given */
    double delta;
    int64_t rounds, plan, threads;
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
    struct privacy_answers answers[KINDS];
    int kinds;
};

static int parse(int argc, char **argv, struct request *ask,
                 const char **operands)
{
    const struct option options[] = {
        {"observer", OPTION_CHOICE, &ask->observer, "link|relay|server",
         "who looks; default all three"},
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
        {"mode", OPTION_CHOICE, &ask->mode, "exact|paper",
         "paper adds the paper's bounds as printed; default exact"},
        {"plan", OPTION_COUNT, &ask->plan, "N",
         "which plan of the study; default the latest"},
        {"all", OPTION_FLAG, &ask->all, NULL, "show every statement"},
        {"threads", OPTION_COUNT, &ask->threads, "N", "default one per core"},
        {"json", OPTION_FLAG, &ask->as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    const char *wrong = NULL;
    if (ask->coalition != NULL && ask->observer >= 0)
        wrong = "--coalition is an observer of its own, without --observer";
    else if (ask->protect == PRICER_PROTECT_IDENTITY &&
             ask->observer == PRICER_OBSERVER_LINK)
        wrong = "--protect identity is for relays, the server and coalitions";
    else if (ask->coalition != NULL && ask->mode == 1)
        wrong = "the paper has no bound for coalitions";
    else if (ask->delta != 0 && !(ask->delta > 0 && ask->delta <= 1))
        wrong = "--delta is a number above 0, at most 1";
    if (wrong == NULL)
        return OPTIONS_GO;
    fprintf(stderr, "pricer privacy: %s\n", wrong);
    return 2;
}

static enum pricer_status read_material(const char *path,
                                        const struct request *ask,
                                        struct material *material,
                                        struct pricer_fault *fault)
{
    enum pricer_status status =
        pricer_study_open(path, true, &material->study, fault);
    if (status == PRICER_OK)
        status =
            pricer_study_network(material->study, &material->network, fault);
    if (status == PRICER_OK)
        status =
            pricer_study_plan(material->study, material->network, ask->plan,
                              &material->plan, &material->record, fault);
    if (status != PRICER_OK || ask->coalition == NULL)
        return status;
    return coalition_read(ask->coalition, material->network->nodes,
                          &material->coalition, fault);
}

static void free_material(struct material *material)
{
    for (int k = 0; k < material->kinds; k++) {
        pricer_statements_free(material->answers[k].statements);
        free(material->answers[k].bounds);
    }
    free(material->coalition.members);
    pricer_plan_free(material->plan);
    pricer_network_free(material->network);
    pricer_study_close(material->study);
}

/* The paper's bound for every statement. */
static enum pricer_status add_bounds(const struct material *material,
                                     struct privacy_answers *answers,
                                     struct pricer_fault *fault)
{
    answers->bounds =
        calloc((size_t)answers->count + 1, sizeof *answers->bounds);
    enum pricer_status status =
        answers->bounds == NULL ? PRICER_MEMORY : PRICER_OK;
    for (int64_t k = 0; k < answers->count && status == PRICER_OK; k++)
        status = pricer_privacy_paper(material->network, material->plan,
                                      &answers->statements[k],
                                      &answers->bounds[k], fault);
    return status;
}

/* Ask one question. */
static enum pricer_status ask_one(const struct request *ask,
                                  enum pricer_observer observer,
                                  struct material *material,
                                  struct pricer_fault *fault)
{
    struct privacy_answers *answers = &material->answers[material->kinds];
    struct progress progress;
    int64_t planned = material->record.settings.rounds;
    answers->question = (struct pricer_question){
        .observer = observer,
        .protect = ask->protect < 0 ? PRICER_PROTECT_DATA : ask->protect,
        .eavesdropper = ask->eavesdropper < 0 ? 0 : ask->eavesdropper,
        .delta = ask->delta,
        .rounds = ask->rounds > 0 ? ask->rounds : planned,
        .members = material->coalition.members,
        .member_count = material->coalition.member_count,
        .with_server = material->coalition.with_server,
        .threads = (int32_t)ask->threads,
        .watch = &progress.watch,
    };
    progress_start(&progress, "privacy");
    enum pricer_status status = pricer_privacy_account(
        material->network, material->plan, &answers->question,
        &answers->statements, &answers->count, fault);
    progress_end(&progress);
    if (status != PRICER_OK)
        return status;
    answers->question.watch = NULL;
    material->kinds++;
    return ask->mode == 1 ? add_bounds(material, answers, fault) : PRICER_OK;
}

static enum pricer_status ask_all(const struct request *ask,
                                  struct material *material,
                                  struct pricer_fault *fault)
{
    if (ask->coalition != NULL)
        return ask_one(ask, PRICER_OBSERVER_COALITION, material, fault);
    if (ask->observer >= 0)
        return ask_one(ask, ask->observer, material, fault);
    if (ask->protect == PRICER_PROTECT_IDENTITY)
        return ask_one(ask, PRICER_OBSERVER_RELAY, material, fault);
    enum pricer_status status = PRICER_OK;
    for (int k = 0; k < KINDS && status == PRICER_OK; k++)
        status = ask_one(ask, (enum pricer_observer)k, material, fault);
    return status;
}

int verb_privacy(int argc, char **argv)
{
    struct request ask = {.observer = -1, .protect = -1, .eavesdropper = -1};
    struct material material = {0};
    struct pricer_fault fault = {""};
    const char *operands[1];
    int go = parse(argc, argv, &ask, operands);
    if (go != OPTIONS_GO)
        return go;
    enum pricer_status status =
        read_material(operands[0], &ask, &material, &fault);
    if (status == PRICER_OK)
        status = ask_all(&ask, &material, &fault);
    for (int k = 0; k < material.kinds && status == PRICER_OK; k++) {
        const struct privacy_answers *answers = &material.answers[k];
        status = pricer_study_add_statements(
            material.study, material.record.id, &answers->question,
            answers->statements, answers->bounds, answers->count, NULL, &fault);
    }
    if (status == PRICER_OK && ask.as_json)
        privacy_print_json(material.answers, material.kinds);
    for (int k = 0; k < material.kinds && status == PRICER_OK && !ask.as_json;
         k++)
        privacy_print(&material.answers[k], ask.all ? INT64_MAX : ROWS);
    free_material(&material);
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}
