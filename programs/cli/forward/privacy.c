/*
 * From a plan of 'scheme: forward' to one number a node: what everyone can learn
 * about its data. Identities have no number: they are not protected.
 */
#include "cli/forward/privacy.h"
#include "cli/print_privacy.h"
#include "common/meaning.h"
#include "common/program.h"
#include "pricer_forward.h"

#include <math.h>
#include <stdlib.h>

struct work {
    struct pricer_study *study;
    struct pricer_network *network;
    struct pricer_forward_plan *plan;
    struct pricer_forward_record record;
    struct privacy_answers answers;
};

/* An option that is about sums, in a sentence, or NULL. */
static const char *find_stray(const struct privacy_request *ask)
{
    if (ask->mode != MODE_EXACT || ask->delta_prime > 0)
        return "the paper has no bounds for releases that are forwarded: "
               "--mode and --delta-prime belong to 'scheme: sum'";
    if (ask->about.eavesdropper == PRICER_RECEIVER)
        return "every packet counts as heard by everyone: --eavesdropper "
               "receiver belongs to 'scheme: sum'";
    if (ask->about.relays != PRICER_RELAYS_SUMS)
        return "relays see every packet: --relays belongs to 'scheme: sum'";
    return NULL;
}

static enum pricer_status load(struct work *work,
                               const struct privacy_request *ask,
                               const char *path, struct pricer_fault *fault)
{
    int64_t id = 0;
    enum pricer_status status =
        pricer_study_open(path, true, &work->study, fault);
    if (status == PRICER_OK && ask->plan != NULL)
        status = pricer_study_find_plan(work->study, ask->plan, &id, fault);
    if (status == PRICER_OK)
        status = pricer_study_forward_plan(work->study, id, &work->plan,
                                           &work->record, fault);
    if (status == PRICER_OK)
        status = pricer_study_network(work->study, &work->network, fault);
    if (status == PRICER_OK)
        meaning_guarantees(work->network, work->plan);
    return status;
}

/* Statements that nothing holds for identities. */
static enum pricer_status deny(struct work *work)
{
    struct privacy_answers *answers = &work->answers;
    answers->statements =
        calloc((size_t)work->plan->nodes, sizeof *answers->statements);
    if (answers->statements == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < work->plan->nodes; i++)
        answers->statements[i] =
            (struct pricer_statement){.observer = PRICER_OBSERVER_EVERYONE,
                                      .protect = PRICER_PROTECT_IDENTITY,
                                      .node = i,
                                      .at = -1,
                                      .exact = true,
                                      .delta = work->network->everyone_delta[i],
                                      .eps = INFINITY,
                                      .eps_lower = INFINITY,
                                      .floor = 1};
    return PRICER_OK;
}

static enum pricer_status answer(const struct privacy_request *ask,
                                 struct work *work, struct pricer_fault *fault)
{
    struct privacy_answers *answers = &work->answers;
    struct progress progress;
    int64_t planned = work->record.settings.rounds;
    answers->question = (struct pricer_question){
        .observer = PRICER_OBSERVER_EVERYONE,
        .protect = ask->about.protect == PRICER_PROTECT_IDENTITY
                       ? PRICER_PROTECT_IDENTITY
                       : PRICER_PROTECT_DATA,
        .eavesdropper = PRICER_RADIO,
        .relays = PRICER_RELAYS_SHARES,
        .delta = ask->about.delta,
        .rounds = ask->about.rounds > 0 ? ask->about.rounds : planned,
        .watch = &progress.watch};
    answers->network = work->network;
    answers->count = work->plan->nodes;
    if (answers->question.protect == PRICER_PROTECT_IDENTITY)
        return deny(work);
    progress_start(&progress, "privacy");
    enum pricer_status status = pricer_forward_privacy_account(
        work->network, work->plan, &answers->question, &answers->statements,
        fault);
    progress_end(&progress);
    answers->question.watch = NULL;
    return status;
}

/* Whether all nodes have the same eps, so that one row says it. */
static bool are_alike(const struct privacy_answers *answers)
{
    for (int64_t k = 1; k < answers->count; k++)
        if (answers->statements[k].eps != answers->statements[0].eps)
            return false;
    return answers->count > 1;
}

static void print(const struct privacy_request *ask, const struct work *work)
{
    bool alike = !ask->all && are_alike(&work->answers);
    if (ask->as_json) {
        privacy_print_json(&work->answers, 1);
    } else if (work->answers.question.protect == PRICER_PROTECT_IDENTITY) {
        puts("Identities are not protected: everyone on the way can see which "
             "nodes take part,\nwhen, and over which path their packets come. "
             "Only the data of a node is private:\ntaking part must not depend "
             "on it.");
    } else {
        privacy_print_summary(&work->answers, 1);
        privacy_print(&work->answers, ask->all ? INT64_MAX
                                      : alike  ? 1
                                               : PRIVACY_ROWS);
        if (alike)
            puts("All nodes have the same eps.");
        puts("Who takes part, when and over which path is not hidden.");
    }
}

int privacy_forward(const struct privacy_request *ask, const char *path)
{
    struct work work = {0};
    struct pricer_fault fault = {""};
    const char *stray = find_stray(ask);
    int64_t id = 0;
    if (stray != NULL) {
        fprintf(stderr, "pricer privacy: %s\n", stray);
        return 2;
    }
    enum pricer_status status = load(&work, ask, path, &fault);
    if (status == PRICER_OK)
        status = answer(ask, &work, &fault);
    if (status == PRICER_OK &&
        work.answers.question.protect == PRICER_PROTECT_DATA)
        status = pricer_study_add_statements(
            work.study,
            &(struct pricer_privacy_record){
                work.record.id, &work.answers.question, work.answers.statements,
                NULL, work.answers.count},
            &id, &fault);
    if (status == PRICER_OK)
        print(ask, &work);
    pricer_statements_free(work.answers.statements);
    pricer_forward_plan_free(work.plan);
    pricer_network_free(work.network);
    pricer_study_close(work.study);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    return id > 0 ? program_stored("privacy answer", id) : 0;
}
