/*
 * From a plan, and the code that runs it, to what an attack on one node shows:
 * two lower bounds on eps beside what is claimed.
 *
 * Claim. With probability at least 1 - alarm neither sure_counted nor
 * sure_fitted exceeds the smallest eps that holds; for the first whatever the
 * code is, for the second if its noise is Gaussian and off from the plan by one
 * factor, as that of the library is (the factor is 1). So a claim that is true
 * is contradicted with at most that probability. Proofs: count.c and
 * fit.c, half the alarm each.
 *
 * Trials are addressed by number, each with links and noise of its own, so the
 * threads change nothing. 48 bytes a pair of trials: 32 for what they showed,
 * and 16 to sort them.
 */
#include "audit.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A default audit of one node takes about so many microseconds of one core. */
#define DEFAULT_WORK 2e6
enum { DEFAULT_LEAST = 4000, DEFAULT_MOST = 100000, BATCH = 64 };

/* What the threads share. */
struct run {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    const struct pricer_audit_settings *settings;
    const struct pri_audit_code *code;
    int64_t count; /* pairs of trials */
    struct pri_trial *trials;
    pthread_t caller; /* who asks the watch */
    _Atomic int64_t next, done;
    atomic_int status;
    struct pricer_fault fault;
};

static enum pricer_status check(const struct pricer_audit_settings *settings,
                                struct pricer_fault *fault)
{
    int64_t trials = settings->trials;
    double confidence = settings->confidence, alarm = settings->alarm;
    const struct pricer_question *question = &settings->question;
    if (question->observer > PRICER_OBSERVER_COALITION ||
        question->with_reader || question->relays != PRICER_RELAYS_SUMS)
        return pri_fault(fault, PRICER_VALUE,
                         "there is no attack for readers, listeners or relays "
                         "that see shares; a link is one");
    if (trials != 0 && (trials < PRICER_AUDIT_TRIALS_LEAST ||
                        trials > PRICER_AUDIT_TRIALS_MOST))
        return pri_fault(fault, PRICER_VALUE,
                         "trials = %lld is not between %d and %d",
                         (long long)trials, PRICER_AUDIT_TRIALS_LEAST,
                         PRICER_AUDIT_TRIALS_MOST);
    if (settings->question.protect == PRICER_PROTECT_IDENTITY &&
        settings->question.observer != PRICER_OBSERVER_RELAY)
        return pri_fault(fault, PRICER_VALUE,
                         "identities are attacked at relays only");
    if (!(confidence >= 0 && confidence < 1))
        return pri_fault(fault, PRICER_VALUE,
                         "confidence = %g is not between 0 and 1", confidence);
    if (!(alarm >= 0 && alarm < 1))
        return pri_fault(fault, PRICER_VALUE,
                         "alarm = %g is not between 0 and 1", alarm);
    return PRICER_OK;
}

/*
 * What was agreed on for a link, as far as it says something about this delta,
 * and these rounds; it counts every packet, whoever listens.
 */
static double budget_of(const struct pricer_network *network,
                        const struct pricer_audit_settings *settings,
                        double delta)
{
    const struct pricer_question *question = &settings->question;
    int64_t rounds = question->rounds > 0 ? question->rounds : 1;
    int64_t planned = settings->budget_rounds > 0 ? settings->budget_rounds : 1;
    int32_t link = pricer_network_find(network, settings->node, settings->at);
    bool says = delta >= network->delta[link] && rounds <= planned;
    return says ? network->eps[link] : NAN;
}

/* As many trials as a few seconds take. */
static enum pricer_status count_trials(struct run *run,
                                       struct pricer_fault *fault)
{
    struct pri_attack *attack = NULL;
    run->count = run->settings->trials;
    if (run->count > 0)
        return PRICER_OK;
    enum pricer_status status = pri_attack_new(
        run->network, run->plan, run->settings, run->code, &attack, fault);
    if (status != PRICER_OK)
        return status;
    double affordable = DEFAULT_WORK / (2 * pri_attack_cost(attack));
    run->count = (int64_t)fmin(fmax(affordable, DEFAULT_LEAST), DEFAULT_MOST);
    pri_attack_free(attack);
    return PRICER_OK;
}

/* Remember the first thing that goes wrong; all threads look at it. */
static void note(struct run *run, enum pricer_status status,
                 const struct pricer_fault *fault)
{
    int none = PRICER_OK;
    if (atomic_compare_exchange_strong(&run->status, &none, (int)status))
        run->fault = *fault;
}

/* Both trials of a pair. Only the caller asks the watch. */
static enum pricer_status play_pair(struct run *run, struct pri_attack *attack,
                                    int64_t pair, struct pricer_fault *fault)
{
    for (int64_t k = 2 * pair; k < 2 * pair + 2; k++) {
        enum pricer_status status =
            pri_attack_play(attack, pair, k % 2 == 1, &run->trials[k], fault);
        if (status != PRICER_OK)
            return status;
    }
    int64_t done = atomic_fetch_add(&run->done, 1) + 1;
    if (pthread_equal(pthread_self(), run->caller) &&
        !pri_tick(run->settings->question.watch,
                  (double)done / (double)run->count))
        return PRICER_STOPPED;
    return PRICER_OK;
}

/* Whoever comes plays one batch of pairs after the other, with an attack of its
 * own, until none is left or something has failed. */
static void play_some(void *context, int32_t part)
{
    struct run *run = context;
    struct pri_attack *attack = NULL;
    struct pricer_fault fault = {""};
    enum pricer_status mine = PRICER_OK;
    (void)part;
    for (int64_t k; run->status == PRICER_OK && mine == PRICER_OK &&
                    (k = atomic_fetch_add(&run->next, BATCH)) < run->count;) {
        if (attack == NULL)
            mine = pri_attack_new(run->network, run->plan, run->settings,
                                  run->code, &attack, &fault);
        for (int64_t end = k + BATCH;
             mine == PRICER_OK && k < end && k < run->count &&
             run->status == PRICER_OK;
             k++)
            mine = play_pair(run, attack, k, &fault);
        if (mine != PRICER_OK)
            note(run, mine, &fault);
    }
    pri_attack_free(attack);
}

static enum pricer_status play_all(struct run *run)
{
    struct pri_team *team =
        pri_team_new(pri_threads(run->settings->question.threads, INT64_MAX));
    if (team == NULL)
        return PRICER_MEMORY;
    run->caller = pthread_self();
    pri_team_run(team, pri_team_threads(team), play_some, run);
    pri_team_free(team);
    return (enum pricer_status)run->status;
}

/* Both bounds, as printed and as the verdict needs them. */
static enum pricer_status judge(const struct run *run,
                                struct pricer_audit *audit)
{
    const struct pricer_audit_settings *settings = run->settings;
    double confidence = settings->confidence > 0 ? settings->confidence : .95;
    double alarm = settings->alarm > 0 ? settings->alarm : 1e-6;
    double delta = audit->statement.delta;
    struct pri_counted counted, sure;
    enum pricer_status status =
        pri_count_eps(run->trials, run->count, delta, 1 - confidence, &counted);
    if (status == PRICER_OK)
        status =
            pri_count_eps(run->trials, run->count, delta, alarm / 2, &sure);
    if (status == PRICER_OK)
        status = pri_fit_eps(run->trials, run->count, delta, 1 - confidence,
                             &audit->eps_fitted);
    if (status == PRICER_OK)
        status = pri_fit_eps(run->trials, run->count, delta, alarm / 2,
                             &audit->sure_fitted);
    if (status != PRICER_OK)
        return status;
    audit->trials = run->count;
    audit->judged = counted.judged;
    audit->hits = counted.hits;
    audit->other_hits = counted.other_hits;
    audit->eps_counted = counted.eps;
    audit->sure_counted = sure.eps;
    return PRICER_OK;
}

enum pricer_status pri_audit_run(const struct pricer_network *network,
                                 const struct pricer_plan *plan,
                                 const struct pricer_audit_settings *settings,
                                 const struct pri_audit_code *code,
                                 struct pricer_audit *audit,
                                 struct pricer_fault *fault)
{
    struct run run = {
        .network = network, .plan = plan, .settings = settings, .code = code};
    struct pricer_audit found = {.budget = NAN};
    enum pricer_status status = check(settings, fault);
    if (status == PRICER_OK)
        status =
            pri_privacy_one(network, plan, &settings->question, settings->node,
                            settings->at, &found.statement, fault);
    if (status == PRICER_OK)
        status = count_trials(&run, fault);
    if (status != PRICER_OK)
        return status;
    run.trials = pri_alloc(2 * run.count, sizeof *run.trials);
    status = run.trials == NULL ? PRICER_MEMORY : play_all(&run);
    if (status == PRICER_OK)
        status = judge(&run, &found);
    free(run.trials);
    if (status != PRICER_OK)
        return pri_fault(fault, status, "%s",
                         run.fault.text[0] != '\0'
                             ? run.fault.text
                             : pricer_status_text(status));
    if (settings->question.observer == PRICER_OBSERVER_LINK)
        found.budget = budget_of(network, settings, found.statement.delta);
    *audit = found;
    return PRICER_OK;
}

enum pricer_status pricer_audit_run(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_audit_settings *settings, struct pricer_audit *audit,
    struct pricer_fault *fault)
{
    static const struct pri_audit_code shipped = {pricer_round_share};
    return pri_audit_run(network, plan, settings, &shipped, audit, fault);
}

bool pricer_audit_contradicts(const struct pricer_audit *audit, double eps)
{
    return audit->sure_counted > eps || audit->sure_fitted > eps;
}
