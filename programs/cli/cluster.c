/*
 * From a network and points to a plan for the messages of distributed K-means,
 * and to the privacy that a run with it spends.
 *
 * The planner sees a network whose dimension is that of one message. With the
 * budget for the run its noise is calibrated for all messages of all rounds
 * (pricer_kmeans_task() says how many); with the budget for each release for a
 * single one, and what the run then spends is computed from the noise: on a
 * link whose messages have the ratio mu of change to noise, the smallest eps
 * whose calibration for so many rounds allows mu. With 'scheme: forward' a node's
 * message is one release, the budgets are for the run, and everyone may see all.
 */
#include "cluster.h"
#include "cli/forward/plan.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *cluster_strategy_text(const struct cluster *cluster)
{
    static const char *const names[] = {"pricer", "none", "none-unbiased",
                                        "none-best", "perfect"};
    return cluster->forward != NULL
               ? pricer_word(PRICER_WORDS_SCHEME, PRICER_SCHEME_FORWARD)
               : names[cluster->strategy];
}

const char *cluster_procedure_text(enum pricer_kmeans_procedure procedure)
{
    return procedure == PRICER_KMEANS_PAPER ? "paper" : "pricer";
}

void cluster_prepare(void)
{
    openblas_set_num_threads(1);
}

enum pricer_status cluster_read(const char *path, bool unit_norm,
                                struct pricer_matrix **points,
                                struct pricer_fault *fault)
{
    int64_t rows;
    return pricer_kmeans_read(path, unit_norm, NULL, points, &rows, fault);
}

enum pricer_status cluster_study(const char *path, struct material *from,
                                 struct cluster *cluster,
                                 struct pricer_fault *fault)
{
    enum pricer_status status =
        pricer_study_open(path, false, &from->study, fault);
    if (status == PRICER_OK)
        status = pricer_study_scheme(from->study, &cluster->scheme, fault);
    if (status == PRICER_OK && cluster->scheme == PRICER_SCHEME_FORWARD) {
        status = pricer_study_forward_settings(
            from->study, &cluster->forward_settings, fault);
        from->seed = (int64_t)cluster->forward_settings.seed;
    } else if (status == PRICER_OK) {
        status = pricer_study_settings(from->study, &from->settings,
                                       &from->seed, fault);
        cluster->plan_settings = from->settings;
    }
    if (status == PRICER_OK)
        status = material_network(from, fault);
    cluster->network = from->network;
    return status;
}

bool cluster_options_fit(const char *verb, const char *path,
                         const struct cluster_option *options, int count)
{
    int k = 0;
    while (k < count && !options[k].given)
        k++;
    if (k == count || !plan_forward_wanted(path))
        return true;
    fprintf(stderr,
            "pricer %s: %s belongs to 'scheme: sum', and the study has "
            "'scheme: forward'; --help explains\n",
            verb, options[k].option);
    return false;
}

/* ----------------------------------------------------------------- plan -- */

static enum pricer_status make_forward(struct cluster *cluster,
                                       struct pricer_fault *fault)
{
    struct pricer_forward_settings settings = cluster->forward_settings;
    if (cluster->strategy == CLUSTER_BEST)
        settings.hops = 0;
    settings.threads = cluster->kmeans.threads;
    enum pricer_status status = pricer_forward_plan_make(
        &cluster->task, &settings, &cluster->forward, fault);
    if (status != PRICER_OK)
        return status;
    cluster->kmeans.forward = cluster->forward;
    cluster->gap = cluster->forward->gap;
    cluster->error.mse_worst_case = cluster->forward->mse_worst_case;
    return PRICER_OK;
}

static enum pricer_status make_plan(struct cluster *cluster,
                                    struct pricer_fault *fault)
{
    static const enum pricer_baseline baselines[] = {
        [CLUSTER_NAIVE] = PRICER_BASELINE_NAIVE,
        [CLUSTER_UNBIASED] = PRICER_BASELINE_UNBIASED,
        [CLUSTER_BEST] = PRICER_BASELINE_BEST};
    const struct pricer_settings *settings = &cluster->plan_settings;
    struct pricer_solve_info info = {0};
    enum pricer_status status = PRICER_OK;
    if (cluster->strategy == CLUSTER_PERFECT)
        return PRICER_OK;
    if (cluster->scheme == PRICER_SCHEME_FORWARD)
        return make_forward(cluster, fault);
    if (cluster->strategy == CLUSTER_PRICER)
        status = pricer_plan_optimise(&cluster->task, settings, NULL,
                                      &cluster->plan, &info, fault);
    else
        status = pricer_plan_baseline(&cluster->task, settings,
                                      baselines[cluster->strategy],
                                      &cluster->plan, fault);
    cluster->gap = info.gap;
    if (status == PRICER_OK)
        status = pricer_plan_evaluate(&cluster->task, settings, cluster->plan,
                                      &cluster->error, fault);
    return status;
}

/* -------------------------------------------------------------- account -- */

/* A link that carries something: its trust and one message on it. */
struct carrier {
    double eps, delta, mu;
};

/* File a link or node under its trust; kinds beyond the room join the last. */
static struct cluster_trust *file_trust(struct cluster *cluster, double eps,
                                        double delta)
{
    int k = 0;
    while (k < cluster->trusts &&
           (cluster->trust[k].eps != eps || cluster->trust[k].delta != delta))
        k++;
    if (k == CLUSTER_TRUSTS)
        k--;
    struct cluster_trust *trust = &cluster->trust[k];
    if (k == cluster->trusts) {
        cluster->trusts++;
        *trust =
            (struct cluster_trust){.eps = eps, .delta = delta, .within = true};
    }
    trust->links++;
    trust->eps = fmax(trust->eps, eps);
    trust->delta = fmin(trust->delta, delta);
    return trust;
}

static enum pricer_status add_carrier(struct cluster *cluster,
                                      const struct carrier *link,
                                      struct pricer_fault *fault)
{
    double allowed = 0;
    struct cluster_trust *trust = file_trust(cluster, link->eps, link->delta);
    trust->mu = fmax(trust->mu, link->mu);
    enum pricer_status status = pricer_calibrate(
        &(struct pricer_budget){PRICER_CALIBRATION_ANALYTIC, link->eps,
                                link->delta, cluster->kmeans.rounds, 1},
        &allowed, NULL, fault);
    trust->within = trust->within && link->mu <= allowed * (1 + 1e-12);
    return status;
}

/* The ratio of change to noise of one message; the paper's are `clusters`
 * vectors, together one Gaussian of sqrt(clusters) times the ratio of each. */
static double message_ratio(const struct cluster *cluster, double weight,
                            double noise)
{
    const bool paper = cluster->kmeans.procedure == PRICER_KMEANS_PAPER;
    double together = paper ? sqrt(cluster->kmeans.clusters) : 1;
    return together * 2 * cluster->task.radius * weight / noise;
}

/* The least eps that allows so many messages of a ratio mu; by bisection of
 * its logarithm, the upper end kept valid. */
static enum pricer_status spent_eps(double mu, double delta, int64_t rounds,
                                    double *eps, struct pricer_fault *fault)
{
    double low = log(1e-6), high = log(1e9), allowed = 0;
    enum pricer_status status =
        pricer_calibrate(&(struct pricer_budget){PRICER_CALIBRATION_ANALYTIC,
                                                 exp(high), delta, rounds, 1},
                         &allowed, NULL, fault);
    *eps = INFINITY;
    if (status != PRICER_OK || mu > allowed)
        return status;
    for (int step = 0; step < 60 && status == PRICER_OK; step++) {
        double middle = (low + high) / 2;
        status = pricer_calibrate(
            &(struct pricer_budget){PRICER_CALIBRATION_ANALYTIC, exp(middle),
                                    delta, rounds, 1},
            &allowed, NULL, fault);
        if (allowed >= mu)
            high = middle;
        else
            low = middle;
    }
    *eps = exp(high);
    return status;
}

/*
 * Claim: over the whole run the messages of no link alone tell whoever hears them
 * about its sender's points beyond (spent, delta); docs/mathematics.md, K-means.
 * The worst ratio of a kind bounds every link of it; where each link has been
 * found to keep its own (eps, delta), that is a bound as well.
 */
static enum pricer_status account(struct cluster *cluster,
                                  struct pricer_fault *fault)
{
    const struct pricer_network *net = cluster->network;
    const struct pricer_plan *plan = cluster->plan;
    enum pricer_status status = PRICER_OK;
    if (plan == NULL)
        return status;
    for (int32_t i = 0; i < net->nodes && status == PRICER_OK; i++) {
        struct carrier own = {
            net->self_eps[i], net->self_delta[i],
            message_ratio(cluster, plan->self_weight[i], plan->self_noise[i])};
        if (plan->self_weight[i] > 0 && net->uplink[i] > 0)
            status = add_carrier(cluster, &own, fault);
    }
    for (int32_t l = 0; l < net->links && status == PRICER_OK; l++) {
        struct carrier link = {
            net->eps[l], net->delta[l],
            message_ratio(cluster, plan->weight[l], plan->noise[l])};
        if (plan->weight[l] > 0)
            status = add_carrier(cluster, &link, fault);
    }
    for (int k = 0; k < cluster->trusts && status == PRICER_OK; k++) {
        struct cluster_trust *trust = &cluster->trust[k];
        status = spent_eps(trust->mu, trust->delta, cluster->kmeans.rounds,
                           &trust->spent, fault);
        if (trust->within)
            trust->spent = fmin(trust->spent, trust->eps);
    }
    return status;
}

/*
 * Claim: over the whole run nobody learns about a node's points beyond (spent,
 * delta), whatever links, relays, server and results they see;
 * pricer_forward_privacy_account() has the proof. Where kinds of trust are pooled,
 * `spent` is the largest eps of any.
 */
static enum pricer_status account_forward(struct cluster *cluster,
                                          struct pricer_fault *fault)
{
    const struct pricer_network *net = cluster->network;
    struct pricer_question question = {.rounds =
                                           cluster->forward_settings.rounds,
                                       .threads = cluster->kmeans.threads};
    struct pricer_statement *statements = NULL;
    enum pricer_status status = pricer_forward_privacy_account(
        &cluster->task, cluster->forward, &question, &statements, fault);
    for (int32_t i = 0; i < net->nodes && status == PRICER_OK; i++) {
        struct cluster_trust *trust =
            file_trust(cluster, net->everyone_eps[i], net->everyone_delta[i]);
        trust->spent = fmax(trust->spent, statements[i].eps);
    }
    pricer_statements_free(statements);
    return status;
}

/* A decoder for the plan's messages, where one is asked for and there is a
 * plan. */
static enum pricer_status fit(struct cluster *cluster,
                              struct pricer_fault *fault)
{
    struct pricer_decoder_settings ask = {
        .unbiased = cluster->plan_settings.bias == PRICER_BIAS_UNBIASED,
        .watch = cluster->plan_settings.watch};
    if (cluster->plan == NULL || cluster->decode == PRICER_DECODE_CONSTANT)
        return PRICER_OK;
    enum pricer_status status = pricer_decoder_fit(
        &cluster->task, cluster->plan, &ask, &cluster->decoder, fault);
    cluster->kmeans.decoder = cluster->decoder;
    return status;
}

/* ------------------------------------------------------------ interface -- */

enum pricer_status cluster_plan(struct cluster *cluster,
                                const struct pricer_kmeans_task *task,
                                struct pricer_fault *fault)
{
    cluster->task = *cluster->network;
    cluster->task.dimension = task->dimension;
    cluster->plan_settings.rounds =
        cluster->budget == CLUSTER_RUN ? task->rounds : 1;
    cluster->forward_settings.rounds = task->rounds;
    enum pricer_status status = make_plan(cluster, fault);
    if (status == PRICER_OK)
        status = cluster->forward != NULL ? account_forward(cluster, fault)
                                          : account(cluster, fault);
    return status;
}

enum pricer_status cluster_open(struct cluster *cluster,
                                struct pricer_fault *fault)
{
    struct pricer_kmeans_task task;
    pricer_kmeans_task(&cluster->kmeans, cluster->points->columns, &task);
    enum pricer_status status = cluster_plan(cluster, &task, fault);
    return status == PRICER_OK ? fit(cluster, fault) : status;
}

void cluster_close(struct cluster *cluster)
{
    pricer_plan_free(cluster->plan);
    pricer_forward_plan_free(cluster->forward);
    pricer_decoder_free(cluster->decoder);
    cluster->plan = NULL;
    cluster->forward = NULL;
    cluster->decoder = NULL;
}

/* --------------------------------------------------------------- print -- */

void cluster_print_budget_json(struct json *json, const struct cluster *cluster)
{
    json_open(json, "budget", '[');
    for (int k = 0; k < cluster->trusts; k++) {
        const struct cluster_trust *trust = &cluster->trust[k];
        json_open(json, NULL, '{');
        json_number(json, "eps", trust->eps);
        json_number(json, "delta", trust->delta);
        json_count(json, cluster->forward != NULL ? "nodes" : "links",
                   trust->links);
        json_number(json, "spent", trust->spent);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void cluster_print_budget(const struct cluster *cluster)
{
    struct table *table = table_new(
        4,
        (const char *const[]){cluster->forward != NULL ? "nodes" : "links",
                              cluster->forward != NULL ? "eps towards everyone"
                                                       : "trusted with eps",
                              "delta", "eps spent in all rounds"});
    putchar('\n');
    for (int k = 0; k < cluster->trusts; k++) {
        const struct cluster_trust *trust = &cluster->trust[k];
        table_cell(table, "%lld", (long long)trust->links);
        table_cell(table, "%g", trust->eps);
        table_cell(table, "%g", trust->delta);
        table_cell(table, "%.4g", trust->spent);
    }
    table_print(table, stdout);
    if (cluster->forward != NULL) {
        puts("One eps towards everyone over all rounds: whoever sees all "
             "releases of a node, and the\nresult of every round, learns no "
             "more about its points.");
        return;
    }
    puts("This is what the messages of a link show by themselves, lost ones "
         "counted as heard.\nWhoever also gets the result of every round "
         "learns more: a coalition with a reader.");
    for (int k = 0; k < cluster->trusts; k++)
        if (cluster->trust[k].spent > cluster->trust[k].eps * (1 + 1e-6)) {
            program_warn("a budget for each release is exceeded by the run as "
                         "a whole; --budget run plans for the whole");
            break;
        }
}
