/*
 * The steps of `pricer plan`, from a study's network to a plan that is bounded,
 * checked, priced, compared and stored.
 */
#include "plan_job.h"
#include "common/meaning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With more links ColRel is not planned beside: it takes several times as long
 * as the plan, as nothing but the network's chance holds its weights apart. */
enum { COLREL_LINKS = 200000 };

static enum pricer_status say(struct plan_job *job, const char *words,
                              const char *about)
{
    snprintf(job->fault.text, sizeof job->fault.text, "%s%.300s", words, about);
    return PRICER_VALUE;
}

/* ---------------------------------------------------------------- plan -- */

/* The plan of --weights, or the study's latest with --warm, else NULL. */
static enum pricer_status read_start(struct plan_job *job,
                                     struct pricer_plan **plan)
{
    if (job->request.weights != NULL)
        return pricer_plan_read(job->request.weights, job->from.network,
                                &job->progress.watch, plan, &job->fault);
    return job->request.warm ? pricer_study_plan(job->from.study, 0, NULL, plan,
                                                 NULL, &job->fault)
                             : PRICER_OK;
}

static enum pricer_status plan_exactly(struct plan_job *job)
{
    struct pricer_plan *warm = NULL;
    struct pricer_solve_info info;
    enum pricer_status status = read_start(job, &warm);
    if (status == PRICER_OK)
        status = plan_job_optimise(job, warm, &info);
    pricer_plan_free(warm);
    if (status != PRICER_OK)
        return status;
    job->view.method = pricer_word(PRICER_WORDS_METHOD, PRICER_METHOD_EXACT);
    job->view.outcome = info.outcome;
    job->view.iterations = info.iterations;
    job->view.solve_seconds = info.seconds;
    return PRICER_OK;
}

static void trace(void *context, int32_t start, int64_t iteration,
                  double objective)
{
    struct plan_job *job = context;
    int64_t every = job->request.trace_every;
    if (iteration > 0)
        job->view.iterations++;
    if (job->trace != NULL && every > 0 && iteration % every == 0)
        fprintf(job->trace, "%d,%lld,%.17g\n", (int)start, (long long)iteration,
                objective);
}

/* Descend from `from`, or from random points if it is NULL. */
static enum pricer_status descend(struct plan_job *job,
                                  const struct pricer_plan *from)
{
    const struct plan_request *ask = &job->request;
    struct pricer_gradient options = {.weight_step = ask->weight_step,
                                      .noise_step = ask->noise_step,
                                      .iterations = ask->iterations,
                                      .starts = (int32_t)ask->starts,
                                      .seed = (uint64_t)ask->seed,
                                      .from = from,
                                      .trace = trace,
                                      .context = job};
    if (ask->trace != NULL) {
        job->trace = fopen(ask->trace, "w");
        if (job->trace == NULL) {
            say(job, "cannot write ", ask->trace);
            return PRICER_FILE;
        }
        fputs("start,iteration,objective\n", job->trace);
    }
    double start = program_seconds();
    enum pricer_status status =
        pricer_plan_descend(job->from.network, &job->view.settings, &options,
                            &job->from.plan, &job->fault);
    job->view.solve_seconds = program_seconds() - start;
    job->view.method = pricer_word(PRICER_WORDS_METHOD, PRICER_METHOD_GRADIENT);
    if (job->trace != NULL && fclose(job->trace) != 0 && status == PRICER_OK) {
        say(job, "cannot write ", ask->trace);
        status = PRICER_FILE;
    }
    job->trace = NULL;
    return status;
}

static enum pricer_status plan_by_descent(struct plan_job *job)
{
    struct pricer_plan *from = NULL;
    enum pricer_status status = read_start(job, &from);
    if (status == PRICER_OK)
        status = descend(job, from);
    pricer_plan_free(from);
    return status;
}

/*
 * A plan that did not come from the optimiser borrows the multipliers of the
 * optimal one, which bound every plan. Where there is no optimal plan, nothing
 * bounds it.
 */
static enum pricer_status borrow_bound(struct plan_job *job)
{
    struct pricer_plan *best = NULL;
    struct pricer_solve_info info;
    struct pricer_settings settings = job->view.settings;
    settings.iterations = 0;
    enum pricer_status status = pricer_plan_optimise(
        job->from.network, &settings, NULL, &best, &info, &job->fault);
    if (status == PRICER_INFEASIBLE) {
        job->view.bound = NAN;
        job->fault.text[0] = '\0';
        return PRICER_OK;
    }
    if (status != PRICER_OK)
        return status;
    size_t bytes = (size_t)best->nodes * sizeof(double);
    memcpy(job->from.plan->row_multiplier, best->row_multiplier, bytes);
    memcpy(job->from.plan->relay_multiplier, best->relay_multiplier, bytes);
    job->from.plan->sum_multiplier = best->sum_multiplier;
    pricer_plan_free(best);
    return PRICER_OK;
}

enum pricer_status plan_job_make(struct plan_job *job)
{
    enum pricer_status status;
    if (job->request.method == PRICER_METHOD_GRADIENT) {
        status = plan_by_descent(job);
    } else if (job->request.weights != NULL) {
        job->request.method = PRICER_METHOD_GIVEN;
        job->view.method =
            pricer_word(PRICER_WORDS_METHOD, PRICER_METHOD_GIVEN);
        status = read_start(job, &job->from.plan);
    } else {
        return plan_exactly(job);
    }
    return status == PRICER_OK ? borrow_bound(job) : status;
}

/* --------------------------------------------------------------- judge -- */

enum pricer_status plan_job_judge(struct plan_job *job)
{
    struct plan_view *view = &job->view;
    enum pricer_status status =
        pricer_plan_verify(job->from.network, &view->settings, job->from.plan,
                           &view->certificate, &job->fault);
    if (status == PRICER_OK)
        status =
            pricer_plan_evaluate(job->from.network, &view->settings,
                                 job->from.plan, &view->error, &job->fault);
    if (status != PRICER_OK)
        return status;
    view->plan = job->from.plan;
    bool exact = job->request.method == PRICER_METHOD_EXACT;
    bool biased = view->settings.bias == PRICER_BIAS_UNBIASED &&
                  !view->certificate.feasible;
    if (exact && !view->certificate.feasible)
        return say(job, "the plan does not pass its own check: ",
                   view->certificate.words);
    if (isnan(view->bound) || biased) {
        view->bound = view->gap = NAN;
        return PRICER_OK;
    }
    /* No error is below 0, whatever the multipliers of an early stop say. */
    view->bound = fmax(view->certificate.bound, 0);
    view->gap = (view->error.objective - view->bound) / view->error.objective;
    if (exact && view->certificate.bound > 0)
        view->gap = view->certificate.gap;
    view->gap = view->error.objective > 0 ? fmax(view->gap, 0) : 0;
    return PRICER_OK;
}

/* One baseline; false if Ctrl-C was pressed meanwhile. */
static bool compare_with(struct plan_job *job, enum pricer_baseline baseline)
{
    struct plan_rival *rival = &job->view.rival[baseline];
    struct pricer_settings settings = job->view.settings;
    struct pricer_plan *plan = NULL;
    struct progress progress;
    progress_start(&progress, pricer_word(PRICER_WORDS_BASELINE, baseline));
    settings.watch = &progress.watch;
    settings.iterations = 0;
    settings.tolerance = 1e-6; /* six digits are shown */
    enum pricer_status status = pricer_plan_baseline(
        job->from.network, &settings, baseline, &plan, &rival->why);
    bool interrupted = progress_end(&progress);
    if (status == PRICER_OK && !interrupted)
        rival->known =
            pricer_plan_evaluate(job->from.network, &settings, plan,
                                 &rival->error, &rival->why) == PRICER_OK;
    pricer_plan_free(plan);
    return !interrupted;
}

void plan_job_compare(struct plan_job *job)
{
    for (int k = 0; k < PRICER_BASELINES; k++) {
        if (k == PRICER_BASELINE_COLREL &&
            job->from.network->links > COLREL_LINKS)
            snprintf(job->view.rival[k].why.text,
                     sizeof job->view.rival[k].why.text,
                     "not planned beside a network of more than %d links",
                     COLREL_LINKS);
        else if (!compare_with(job, (enum pricer_baseline)k))
            return;
    }
}

void plan_job_measure(struct plan_job *job)
{
    struct plan_view *view = &job->view;
    double centre = meaning_centre(view->network);
    struct pricer_settings settings = view->settings;
    struct progress progress;
    progress_start(&progress, "yardsticks");
    settings.watch = &progress.watch;
    yardsticks_find(view->network, &settings, &view->yardsticks);
    if (plan_view_error(view) >= MEANING_SOMEWHAT * centre &&
        !progress_stopped())
        yardsticks_remedies(view->network, &settings, &view->yardsticks);
    progress_end(&progress);
}

enum pricer_status plan_job_price(struct plan_job *job)
{
    size_t links = (size_t)job->from.network->links;
    size_t nodes = (size_t)job->from.network->nodes;
    job->price = calloc(links + 1, sizeof *job->price);
    job->self_price = calloc(nodes + 1, sizeof *job->self_price);
    if (job->price == NULL || job->self_price == NULL)
        return PRICER_MEMORY;
    job->view.price = job->price;
    job->view.self_price = job->self_price;
    enum pricer_status status = pricer_trust_price(
        job->from.network, &job->view.settings, job->from.plan, job->price,
        job->self_price, &job->fault);
    if (status != PRICER_OK || job->from.network->server_eps == NULL)
        return status;
    job->server_price = calloc(nodes, sizeof *job->server_price);
    if (job->server_price == NULL)
        return PRICER_MEMORY;
    job->view.server_price = job->server_price;
    return pricer_trust_server_price(job->from.network, &job->view.settings,
                                     job->from.plan, job->server_price,
                                     &job->fault);
}

/* ------------------------------------------------------------- decoder -- */

/* The bound on every plan within the budgets; none where this plan breaks
 * them, as it says nothing about such plans. */
static void find_floor(struct plan_job *job,
                       const struct pricer_decoder_settings *ask)
{
    struct pricer_fault why;
    if (job->view.certificate.open_links > 0 ||
        pricer_decoder_genie(job->from.network, &job->view.settings, ask,
                             &job->view.floor, &why) != PRICER_OK)
        job->view.floor = (struct pricer_estimate){NAN, NAN};
}

/* How far the logit of a measured probability may be off: half the interval
 * of one deviation. Where all or nothing arrived one end of it is at infinity,
 * and the number of the rest, some one, gives about 1. What was never tried has
 * the scenario's p, and the error that is assumed of those. */
static double spread_of(const struct pricer_delivery *delivery)
{
    double low, high;
    pricer_delivery_interval(delivery, 0.6826894921370859, &low, &high);
    if (delivery->tried == 0)
        return 0.25;
    if (!(low > 0) || !(high < 1))
        return 1;
    return (log(high / (1 - high)) - log(low / (1 - low))) / 2;
}

/* The errors of all measured probabilities, room for the caller to free. */
static double *find_spreads(const struct pricer_deliveries *deliveries)
{
    int64_t nodes = deliveries->nodes, links = deliveries->links;
    double *spread = calloc((size_t)(nodes + links), sizeof *spread);
    for (int64_t i = 0; spread != NULL && i < nodes; i++)
        spread[i] = spread_of(&deliveries->uplink[i]);
    for (int64_t l = 0; spread != NULL && l < links; l++)
        spread[nodes + l] = spread_of(&deliveries->link[l]);
    return spread;
}

static struct pricer_decoder_settings ask_decoder(const struct plan_job *job)
{
    const struct pricer_settings *settings = &job->view.settings;
    return (struct pricer_decoder_settings){
        .unbiased = settings->bias == PRICER_BIAS_UNBIASED,
        .seed = (uint64_t)job->from.seed,
        .threads = (int32_t)job->request.threads,
        .watch = job->view.settings.watch};
}

enum pricer_status plan_job_decode(struct plan_job *job)
{
    struct plan_view *view = &job->view;
    const struct plan_request *ask = &job->request;
    struct pricer_decoder_settings settings = ask_decoder(job);
    struct pricer_fault why = {""};
    if (ask->decoder == PRICER_DECODE_CONSTANT)
        return PRICER_OK;
    if (ask->decoder < 0 && job->from.network->nodes > PRICER_DECODER_NODES) {
        view->decoder_note = "--decoder minimax fits a better one, which takes "
                             "a while";
        return PRICER_OK;
    }
    double *spread = NULL;
    if (job->deliveries != NULL) {
        spread = find_spreads(job->deliveries);
        if (spread == NULL)
            return PRICER_MEMORY;
        settings.uplink_spread = spread;
        settings.link_spread = spread + job->deliveries->nodes;
    }
    enum pricer_status status = pricer_decoder_fit(
        job->from.network, job->from.plan, &settings, &job->decoder, &why);
    free(spread);
    settings.uplink_spread = settings.link_spread = NULL;
    if (status == PRICER_MEMORY)
        return status;
    if (status != PRICER_OK) {
        view->decoder_note = status == PRICER_STOPPED
                                 ? "the fit of a better one was stopped"
                                 : "this plan has no better one";
        return PRICER_OK;
    }
    view->decoder = job->decoder;
    find_floor(job, &settings);
    return PRICER_OK;
}

static double price_of(const struct plan_job *job,
                       const struct plan_change *change)
{
    return change->from == change->to
               ? job->self_price[change->from]
               : job->price[pricer_network_find(job->from.network, change->from,
                                                change->to)];
}

/* The eps that each change finds: the network's, or that of the last change of
 * the same link before it. */
static void find_before(struct plan_job *job)
{
    struct plan_what_if *what_if = &job->view.what_if;
    const struct pricer_network *network = job->from.network;
    for (int k = 0; k < what_if->count; k++) {
        struct plan_change *change = &what_if->change[k];
        int32_t from = change->from, to = change->to;
        change->before =
            from == to ? network->self_eps[from]
                       : network->eps[pricer_network_find(network, from, to)];
        for (int j = 0; j < k; j++)
            if (what_if->change[j].from == from && what_if->change[j].to == to)
                change->before = what_if->change[j].eps;
    }
}

enum pricer_status plan_job_replan(struct plan_job *job)
{
    struct plan_what_if *what_if = &job->view.what_if;
    struct pricer_plan *plan = NULL;
    find_before(job);
    for (int k = 0; k < what_if->count; k++) {
        const struct plan_change *change = &what_if->change[k];
        double price = price_of(job, change);
        if (price < 0)
            what_if->predicted += price * log(change->eps / change->before);
    }
    if (!isfinite(what_if->predicted)) /* first order cannot reach eps inf */
        what_if->predicted = NAN;
    enum pricer_status status =
        pricer_plan_optimise(job->changed, &job->view.settings, job->from.plan,
                             &plan, &what_if->info, &job->fault);
    if (status == PRICER_OK)
        status = pricer_plan_evaluate(job->changed, &job->view.settings, plan,
                                      &what_if->error, &job->fault);
    pricer_plan_free(plan);
    return status;
}

enum pricer_status plan_job_store(struct plan_job *job)
{
    const struct plan_view *view = &job->view;
    double tolerance = view->settings.tolerance;
    int64_t most = view->iterations < INT32_MAX ? view->iterations : INT32_MAX;
    struct pricer_plan_record record = {
        .network = view->origin,
        .decoder = job->decoder,
        .settings = view->settings,
        .method = (enum pricer_method)job->request.method,
        .tolerance = tolerance > 0 ? tolerance : 1e-8,
        .objective = view->error.objective,
        .bound = view->bound,
        .gap = view->gap,
        .iterations = (int32_t)most,
        .variance = view->error.variance,
        .piv = view->error.piv,
        .tiv = view->error.tiv,
        .mse_paper = view->error.mse_paper,
        .mse_worst_case = view->error.mse_worst_case,
        .bias_l1 = view->error.bias_l1,
        .made = program_date()};
    if (job->request.name != NULL)
        snprintf(record.name, sizeof record.name, "%s", job->request.name);
    return pricer_study_add_plan(job->from.study, job->from.network,
                                 job->from.plan, &record, &job->view.id,
                                 &job->fault);
}
