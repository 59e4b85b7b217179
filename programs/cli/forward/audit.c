/*
 * From a plan of 'scheme: forward' to attacks on the releases of its nodes, made by
 * the function that nodes run.
 */
#include "cli/forward/audit.h"
#include "cli/print_audit.h"
#include "common/meaning.h"
#include "common/program.h"
#include "pricer_forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct work {
    struct pricer_study *study;
    struct pricer_network *network;
    struct pricer_forward_plan *plan;
    struct pricer_forward_record record;
    int32_t *node; /* [count] that are attacked */
    int32_t count;
    struct audit_row *rows; /* [count] */
};

/* An option that is about sums, in a sentence, or NULL. */
static const char *find_stray(const struct audit_request *ask)
{
    if (ask->about.protect == PRICER_PROTECT_IDENTITY)
        return "identities are not protected with 'scheme: forward': there is "
               "no claim to attack";
    if (ask->claim == CLAIM_PAPER)
        return "the paper has no bounds for releases that are forwarded: "
               "--claim paper belongs to 'scheme: sum'";
    if (ask->at >= 0 || ask->about.coalition != NULL ||
        ask->about.eavesdropper == PRICER_RECEIVER)
        return "everyone sees the same releases: --at, --coalition and "
               "--eavesdropper receiver belong to 'scheme: sum'";
    return NULL;
}

static enum pricer_status load(struct work *work,
                               const struct audit_request *ask,
                               const char *path, struct pricer_fault *fault)
{
    int64_t id = 0;
    enum pricer_status status =
        pricer_study_open(path, false, &work->study, fault);
    if (status == PRICER_OK && ask->plan != NULL)
        status = pricer_study_find_plan(work->study, ask->plan, &id, fault);
    if (status == PRICER_OK)
        status = pricer_study_forward_plan(work->study, id, &work->plan,
                                           &work->record, fault);
    if (status == PRICER_OK)
        status = pricer_study_network(work->study, &work->network, fault);
    if (status == PRICER_OK)
        meaning_guarantees(work->network, work->plan);
    if (status == PRICER_OK && ask->node >= work->plan->nodes) {
        snprintf(fault->text, sizeof fault->text,
                 "--node %lld: the nodes are 0 to %d", (long long)ask->node,
                 (int)work->plan->nodes - 1);
        status = PRICER_VALUE;
    }
    return status;
}

/* Whether two nodes make releases of the same law. */
static bool is_same(const struct work *work, int32_t a, int32_t b)
{
    const struct pricer_forward_node *x = &work->plan->node[a];
    const struct pricer_forward_node *y = &work->plan->node[b];
    return x->release == y->release && x->threshold == y->threshold &&
           x->loss == y->loss && x->noise == y->noise &&
           work->network->node_radius[a] == work->network->node_radius[b] &&
           work->network->node_diameter[a] == work->network->node_diameter[b];
}

enum { RELEASES_MOST = 1000 };

/* The node asked for, with --all one for every release that differs, else the one
 * with the largest budget. */
static enum pricer_status choose(const struct audit_request *ask,
                                 struct work *work)
{
    int32_t nodes = work->plan->nodes;
    work->node = calloc(RELEASES_MOST, sizeof *work->node);
    if (work->node == NULL)
        return PRICER_MEMORY;
    work->count = 1;
    if (ask->node >= 0) {
        work->node[0] = (int32_t)ask->node;
        return PRICER_OK;
    }
    for (int32_t i = 0; i < nodes && !ask->all; i++)
        if (work->network->everyone_eps[i] >
            work->network->everyone_eps[work->node[0]])
            work->node[0] = i;
    for (int32_t i = 1; i < nodes && ask->all; i++) {
        int32_t k = 0;
        while (k < work->count && !is_same(work, work->node[k], i))
            k++;
        if (k == work->count && k < RELEASES_MOST)
            work->node[work->count++] = i;
    }
    return PRICER_OK;
}

static void add_claims(const struct audit_request *ask, struct audit_row *row)
{
    if (ask->eps > 0) {
        row->claim[row->claims++] = (struct audit_claim){"given", ask->eps};
        return;
    }
    if (ask->claim != CLAIM_ACCOUNT && !isnan(row->audit.budget))
        row->claim[row->claims++] =
            (struct audit_claim){"budget", row->audit.budget};
    if (ask->claim != CLAIM_BUDGET || row->claims == 0)
        row->claim[row->claims++] =
            (struct audit_claim){"account", row->audit.statement.eps};
}

static enum pricer_status attack(const struct audit_request *ask,
                                 int64_t rounds, struct work *work,
                                 struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    struct progress progress;
    work->rows = calloc((size_t)work->count, sizeof *work->rows);
    if (work->rows == NULL)
        return PRICER_MEMORY;
    progress_start(&progress, "audit");
    for (int32_t k = 0; k < work->count && status == PRICER_OK; k++) {
        struct pricer_forward_audit found;
        struct pricer_audit_settings settings = {
            .question = {.delta = ask->about.delta,
                         .rounds = rounds,
                         .watch = &progress.watch},
            .node = work->node[k],
            .trials = ask->trials,
            .budget_rounds = work->record.settings.rounds,
            .confidence = ask->confidence,
            .alarm = AUDIT_ALARM / work->count,
            .seed = ask->seed >= 0 ? (uint64_t)ask->seed : 0,
        };
        status = pricer_audit_forward(work->network, work->plan, &settings,
                                      ask->seed < 0, &found, fault);
        if (status != PRICER_OK)
            break;
        work->rows[k].audit = found.audit;
        memcpy(work->rows[k].law, found.law, sizeof found.law);
        add_claims(ask, &work->rows[k]);
    }
    progress_end(&progress);
    return status;
}

int audit_forward(const struct audit_request *ask, const char *path)
{
    struct work work = {0};
    struct pricer_fault fault = {""};
    const char *stray = find_stray(ask);
    if (stray != NULL) {
        fprintf(stderr, "pricer audit: %s\n", stray);
        return 2;
    }
    enum pricer_status status = load(&work, ask, path, &fault);
    int64_t rounds =
        ask->about.rounds > 0 ? ask->about.rounds : work.record.settings.rounds;
    if (status == PRICER_OK)
        status = choose(ask, &work);
    if (status == PRICER_OK)
        status = attack(ask, rounds, &work, &fault);
    struct audit_terms terms = {
        .eavesdropper = PRICER_RADIO,
        .rounds = rounds,
        .seed = ask->seed,
        .network = work.network,
        .confidence = ask->confidence > 0 ? ask->confidence : .95,
        .alarm = AUDIT_ALARM,
    };
    if (status == PRICER_OK)
        (ask->as_json ? audit_print_json : audit_print)(&terms, work.rows,
                                                        work.count);
    bool bad = status == PRICER_OK && audit_contradicted(work.rows, work.count);
    free(work.rows);
    free(work.node);
    pricer_forward_plan_free(work.plan);
    pricer_network_free(work.network);
    pricer_study_close(work.study);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    return bad ? AUDIT_CONTRADICTED : 0;
}
