/*
 * pricer privacy: from a plan to what each observer can learn about each node,
 * proved.
 */
#include "cli/forward/plan.h"
#include "cli/forward/privacy.h"
#include "material.h"
#include "pricer_decode.h"
#include "print_privacy.h"
#include "question.h"
#include "verbs.h"

#include <stdlib.h>

static const struct usage usage = {
    "privacy", "STUDY",
    "Account for what links, relays, the server, readers of the estimate,\n"
    "listeners or a coalition learn about the data of each node, or about who\n"
    "took part: for each delta the eps that is proved, and a lower one that\n"
    "shows how tight it is. With 'scheme: forward' one number a node, the "
    "same\n"
    "for everyone. The statements are stored in the study.",
    "pricer privacy ten.pricer --observer server --delta 1e-5 --rounds 10"};

/* Rows of each table without --all. */
enum { ROWS = PRIVACY_ROWS, KINDS = 3 };

/* What is read before, and what comes of it. */
struct work {
    struct material from;
    struct coalition coalition;
    struct privacy_answers answers[KINDS];
    int kinds;
};

static int parse(int argc, char **argv, struct privacy_request *ask,
                 const char **operands)
{
    const struct option options[] = {
        WATCHER_OPTIONS(&ask->about),
        QUESTION_OPTIONS(&ask->about),
        {"mode", OPTION_CHOICE, &ask->mode, "exact|paper|printed",
         "paper adds the paper's bounds, printed has only those"},
        {"delta-prime", OPTION_ABOVE, &ask->delta_prime, "X",
         "delta' of the paper's bounds; default half of delta / p"},
        PLAN_OPTION(&ask->plan),
        {"all", OPTION_FLAG, &ask->all, NULL, "show every statement"},
        {"threads", OPTION_COUNT, &ask->about.threads, "N",
         "default one per core"},
        {"json", OPTION_FLAG, &ask->as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    ask->about.observer = question_observer(ask->about.observer);
    const char *wrong = question_conflict(&ask->about);
    bool paper = ask->mode != MODE_EXACT;
    if (wrong == NULL && ask->delta_prime > 0 &&
        (!paper || ask->delta_prime >= 1))
        wrong = "--delta-prime is a number below 1 and goes with --mode paper "
                "and printed";
    if (wrong == NULL && ask->about.coalition != NULL && paper)
        wrong = "the paper has no bound for coalitions";
    if (wrong == NULL && paper &&
        (ask->about.observer > PRICER_OBSERVER_SERVER ||
         ask->about.relays != PRICER_RELAYS_SUMS))
        wrong = "the paper has bounds for links, relays that see sums, and the "
                "server";
    if (wrong == NULL)
        wrong = question_delta_conflict(&ask->about);
    if (wrong == NULL)
        return OPTIONS_GO;
    fprintf(stderr, "pricer privacy: %s\n", wrong);
    return 2;
}

/* Whether the plan has a decoder of its own. */
static enum pricer_status find_decoder(const struct material *from,
                                       bool *decodes,
                                       struct pricer_fault *fault)
{
    struct pricer_decoder *decoder = NULL;
    enum pricer_status status = pricer_study_decoder(
        from->study, from->record.id, from->network, &decoder, fault);
    *decodes = decoder != NULL;
    pricer_decoder_free(decoder);
    return status;
}

static enum pricer_status read_work(const char *path,
                                    struct privacy_request *ask,
                                    struct work *work,
                                    struct pricer_fault *fault)
{
    enum pricer_status status = material_open(path, true, &work->from, fault);
    if (status == PRICER_OK)
        status = material_plan(&work->from, ask->plan, fault);
    if (status != PRICER_OK)
        return status;
    if (ask->mode != MODE_EXACT && ask->about.eavesdropper < 0)
        ask->about.eavesdropper = PRICER_RECEIVER; /* the paper's observer */
    question_settle(&ask->about, &work->from.record.settings);
    status = find_decoder(&work->from, &ask->about.decodes, fault);
    if (status != PRICER_OK)
        return status;
    return coalition_read(ask->about.coalition, work->from.network->nodes,
                          &work->coalition, fault);
}

static void free_work(struct work *work)
{
    for (int k = 0; k < work->kinds; k++) {
        pricer_statements_free(work->answers[k].statements);
        free(work->answers[k].bounds);
    }
    free(work->coalition.members);
    material_close(&work->from);
}

/* The paper's bound for every statement. */
static enum pricer_status add_bounds(const struct material *from,
                                     double delta_prime,
                                     struct privacy_answers *answers,
                                     struct pricer_fault *fault)
{
    answers->bounds =
        calloc((size_t)answers->count + 1, sizeof *answers->bounds);
    enum pricer_status status =
        answers->bounds == NULL ? PRICER_MEMORY : PRICER_OK;
    for (int64_t k = 0; k < answers->count && status == PRICER_OK; k++)
        status = pricer_privacy_paper(from->network, from->plan,
                                      &answers->statements[k], delta_prime,
                                      &answers->bounds[k], fault);
    return status;
}

/* Ask one question. */
static enum pricer_status ask_one(const struct privacy_request *ask,
                                  int observer, struct work *work,
                                  struct pricer_fault *fault)
{
    struct privacy_answers *answers = &work->answers[work->kinds];
    struct progress progress;
    answers->question = question_make(&ask->about, observer, &work->coalition);
    answers->question.watch = &progress.watch;
    answers->question.list_only = ask->mode == MODE_PRINTED;
    answers->network = work->from.network;
    progress_start(&progress, "privacy");
    enum pricer_status status = pricer_privacy_account(
        work->from.network, work->from.plan, &answers->question,
        &answers->statements, &answers->count, fault);
    progress_end(&progress);
    if (status != PRICER_OK)
        return status;
    answers->question.watch = NULL;
    work->kinds++;
    return ask->mode == MODE_EXACT
               ? PRICER_OK
               : add_bounds(&work->from, ask->delta_prime, answers, fault);
}

static enum pricer_status ask_all(const struct privacy_request *ask,
                                  struct work *work, struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    int first, count = question_observers(&ask->about, &first);
    for (int k = first; k < first + count && status == PRICER_OK; k++)
        status = ask_one(ask, k, work, fault);
    return status;
}

/* Store what was proved; *id is that of the last answer. */
static enum pricer_status store(const struct work *work, int64_t *id,
                                struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    for (int k = 0; k < work->kinds && status == PRICER_OK; k++) {
        const struct privacy_answers *answers = &work->answers[k];
        status = pricer_study_add_statements(
            work->from.study,
            &(struct pricer_privacy_record){
                work->from.record.id, &answers->question, answers->statements,
                answers->bounds, answers->count},
            id, fault);
    }
    return status;
}

static void print(const struct privacy_request *ask, const struct work *work)
{
    if (ask->as_json) {
        privacy_print_json(work->answers, work->kinds);
        return;
    }
    if (ask->mode != MODE_PRINTED)
        privacy_print_summary(work->answers, work->kinds);
    for (int k = 0; k < work->kinds; k++) {
        fputs(k > 0 ? "\n" : "", stdout);
        privacy_print(&work->answers[k], ask->all ? INT64_MAX : ROWS);
    }
}

int verb_privacy(int argc, char **argv)
{
    struct privacy_request ask = {
        .about = {.observer = -1, .protect = -1, .eavesdropper = -1}};
    struct work work = {0};
    struct pricer_fault fault = {""};
    int64_t id = 0;
    const char *operands[1];
    int go = parse(argc, argv, &ask, operands);
    if (go != OPTIONS_GO)
        return go;
    if (plan_forward_wanted(operands[0]))
        return privacy_forward(&ask, operands[0]);
    enum pricer_status status = read_work(operands[0], &ask, &work, &fault);
    if (status == PRICER_OK)
        status = ask_all(&ask, &work, &fault);
    if (status == PRICER_OK && ask.mode != MODE_PRINTED)
        status = store(&work, &id, &fault);
    if (status == PRICER_OK)
        print(&ask, &work);
    free_work(&work);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    return id > 0 ? program_stored("privacy answer", id) : 0;
}
