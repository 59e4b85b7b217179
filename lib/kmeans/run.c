/*
 * From points spread over the nodes of a network to common centres, over links
 * that come and go: the rounds that both procedures share.
 *
 * In every round each node runs a few of Lloyd's steps on its own points and
 * makes one message of them. The network adds messages up (lib/round/whole.c).
 * What a message holds and what the server does with the sum is
 * the procedure's (paper.c, ours.c). The new centres reach every node.
 *
 * Messages are made in parallel, a batch at a time, and added in the order of
 * the nodes; those of weight 0 are not made at all. The working memory is a
 * batch of messages. O(rounds steps rows columns clusters).
 */
#include "run.h"
#include "network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- split -- */

/* Deal the points to the nodes: shuffled (Fisher-Yates), or as they come. */
enum pricer_status pri_deal(const struct pricer_matrix *points, uint64_t seed,
                            bool in_order, float *dealt)
{
    const int64_t columns = points->columns;
    const size_t bytes = (size_t)columns * sizeof *dealt;
    int64_t *order = pri_alloc(points->rows, sizeof *order);
    struct pricer_random random;
    if (order == NULL)
        return PRICER_MEMORY;
    pricer_random_replay(&random, seed, PRICER_PURPOSE_DATA, 0, 0,
                         PRI_KMEANS_SPLIT);
    for (int64_t r = 0; r < points->rows; r++)
        order[r] = r;
    for (int64_t r = points->rows - 1; r > 0 && !in_order; r--) {
        uint64_t word = pricer_random_word(&random) >> 32;
        int64_t other = (int64_t)((word * (uint64_t)(r + 1)) >> 32);
        int64_t kept = order[r];
        order[r] = order[other];
        order[other] = kept;
    }
    for (int64_t r = 0; r < points->rows; r++)
        memcpy(dealt + r * columns,
               (const float *)points->values + order[r] * columns, bytes);
    free(order);
    return PRICER_OK;
}

/* ----------------------------------------------------------------- links -- */

/* Add what reaches the server through relay j to its weights and noise. */
static void add_relay(struct pri_kmeans *run, int32_t j)
{
    const struct pricer_network *net = run->network;
    const struct pricer_plan *plan = run->plan;
    double factor = run->nodes * run->coefficient[j];
    double square = plan->self_noise[j] * plan->self_noise[j];
    run->whole.weight[j] += factor * plan->self_weight[j];
    for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
        int32_t l = net->in_link[k];
        if (!run->held[l])
            continue;
        run->whole.weight[net->from[l]] += factor * plan->weight[l];
        square += plan->noise[l] * plan->noise[l];
    }
    run->whole.variance += factor * factor * square;
}

/* The same links, their sums decoded: sum j counts n beta_j in place of 1.
 * Whoever decodes knows what each sum holds, and so its noise. */
static void decode_weights(struct pri_kmeans *run, int64_t round)
{
    const struct pricer_network *net = run->network;
    const struct pricer_plan *plan = run->plan;
    struct pri_whole *whole = &run->whole;
    struct pricer_decoded decoded;
    for (int32_t l = 0; l < net->links; l++)
        run->held[l] = whole->up[net->to[l]] &&
                       (plan->weight[l] != 0 || plan->noise[l] != 0) &&
                       pri_link_is_up(net, run->settings.seed, round, l);
    pricer_receiver_decode(run->receiver, whole->up, run->held,
                           run->coefficient, &decoded);
    memset(whole->weight, 0, (size_t)net->nodes * sizeof *whole->weight);
    whole->variance = 0;
    for (int32_t j = 0; j < net->nodes; j++)
        if (whole->up[j])
            add_relay(run, j);
    whole->expected = whole->variance;
}

/* The links of a round, for every part of a message that travels by itself. */
static void draw_weights(struct pri_kmeans *run, int64_t round)
{
    for (int32_t g = 0; g < run->groups; g++) {
        int64_t draw = round * run->groups + g;
        pri_whole_draw(run->network, run->plan, run->settings.seed, draw,
                       &run->whole);
        if (run->receiver != NULL)
            decode_weights(run, draw);
        memcpy(run->weights + g * run->nodes, run->whole.weight,
               (size_t)run->nodes * sizeof *run->weights);
        run->variances[g] = run->whole.variance;
    }
}

/* ---------------------------------------------------------------- rounds -- */

static bool is_heard(const struct pri_kmeans *run, int32_t node)
{
    bool heard = false;
    for (int32_t g = 0; g < run->groups; g++)
        heard = heard || run->weights[g * run->nodes + node] != 0;
    return heard;
}

/* Fill `batch` with the next nodes that are heard; the first not looked at. */
static int32_t next_batch(const struct pri_kmeans *run, int32_t node,
                          int32_t *batch, int32_t *count)
{
    for (*count = 0; node < run->nodes && *count < PRI_KMEANS_BATCH; node++)
        if (is_heard(run, node))
            batch[(*count)++] = node;
    return node;
}

/* Add a message to the sum, each of its parts with its weight. */
static void add_message(struct pri_kmeans *run, int32_t node, int64_t length,
                        const double *message)
{
    const int64_t part = length / run->groups;
    for (int32_t g = 0; g < run->groups; g++) {
        double weight = run->weights[g * run->nodes + node];
        for (int64_t c = g * part; c < (g + 1) * part; c++)
            run->sum[c] += weight * message[c];
    }
}

static enum pricer_status gather(struct pri_kmeans *run, int64_t round)
{
    const int64_t length = run->procedure->length(run);
    int32_t batch[PRI_KMEANS_BATCH], count, node = 0;
    enum pricer_status status[PRI_KMEANS_BATCH] = {PRICER_OK};
    memset(run->sum, 0, (size_t)length * sizeof *run->sum);
    while (node < run->nodes) {
        node = next_batch(run, node, batch, &count);
#pragma omp parallel for schedule(dynamic) num_threads(run->threads)
        for (int32_t k = 0; k < count; k++)
            status[k] = run->procedure->speak(run, round, batch[k],
                                              run->message + k * run->longest);
        for (int32_t k = 0; k < count; k++) {
            const double *message = run->message + k * run->longest;
            if (status[k] != PRICER_OK)
                return status[k];
            add_message(run, batch[k], length, message);
        }
    }
    for (int32_t g = 0; g < run->groups; g++)
        pri_whole_noise(run->variances[g], run->settings.seed,
                        round * run->groups + g, length / run->groups,
                        run->sum + g * (length / run->groups));
    return PRICER_OK;
}

/* The inertia of the centres over the points of all nodes. */
static double measure(struct pri_kmeans *run)
{
    pri_lloyd_assign(run->all, run->centres, run->threads);
    return pri_lloyd_inertia(run->all, run->centres, run->threads);
}

static enum pricer_status play(struct pri_kmeans *run, double *inertia,
                               float *centres)
{
    const int32_t rounds = run->settings.rounds;
    if (run->procedure->open != NULL)
        run->procedure->open(run);
    for (int32_t round = 0; round < rounds; round++) {
        draw_weights(run, round);
        enum pricer_status status = gather(run, round);
        if (status != PRICER_OK)
            return status;
        run->procedure->hear(run, round);
        inertia[round] = !run->settings.last_only || round == rounds - 1
                             ? measure(run)
                             : NAN;
        if (!pri_tick(run->settings.watch, (round + 1.) / rounds))
            return PRICER_STOPPED;
    }
    memcpy(centres, run->centres,
           (size_t)run->clusters * (size_t)run->points.columns *
               sizeof *centres);
    return PRICER_OK;
}

/* ------------------------------------------------------------- interface -- */

void pricer_kmeans_task(const struct pricer_kmeans_settings *settings,
                        int64_t columns, struct pricer_kmeans_task *task)
{
    struct pricer_kmeans_settings full = *settings;
    pri_kmeans_defaults(&full);
    if (full.procedure == PRICER_KMEANS_PAPER)
        *task = (struct pricer_kmeans_task){columns, (int64_t)full.rounds *
                                                         full.clusters};
    else
        *task = (struct pricer_kmeans_task){full.clusters * (columns + 1),
                                            full.rounds};
}

static enum pricer_status room(struct pri_kmeans *run, int64_t rows)
{
    const int64_t columns = run->points.columns;
    run->longest = run->clusters * (columns + 1);
    run->dealt = pri_alloc(rows * columns, sizeof *run->dealt);
    run->centres = pri_alloc(run->clusters * columns, sizeof *run->centres);
    run->whole.weight = pri_alloc(run->nodes, sizeof *run->whole.weight);
    run->whole.up = pri_alloc(run->nodes, sizeof *run->whole.up);
    run->message =
        pri_alloc(PRI_KMEANS_BATCH * run->longest, sizeof *run->message);
    run->sum = pri_alloc(run->longest, sizeof *run->sum);
    run->kept = pri_alloc(run->longest, sizeof *run->kept);
    run->mean = pri_alloc(columns, sizeof *run->mean);
    run->weights =
        pri_alloc((int64_t)run->groups * run->nodes, sizeof *run->weights);
    run->variances = pri_alloc(run->groups, sizeof *run->variances);
    run->held = pri_alloc(run->network->links, sizeof *run->held);
    run->coefficient = pri_alloc(run->nodes, sizeof *run->coefficient);
    if (run->dealt == NULL || run->centres == NULL ||
        run->whole.weight == NULL || run->whole.up == NULL ||
        run->message == NULL || run->sum == NULL || run->kept == NULL ||
        run->mean == NULL || run->held == NULL || run->coefficient == NULL ||
        run->weights == NULL || run->variances == NULL)
        return PRICER_MEMORY;
    run->points.values = run->dealt;
    return pri_lloyd_new(&run->points, run->clusters, &run->all);
}

static enum pricer_status check(const struct pricer_matrix *points,
                                const struct pricer_network *network,
                                const struct pricer_plan *plan,
                                const struct pricer_kmeans_settings *settings,
                                struct pricer_fault *fault)
{
    if (points->rows > INT32_MAX)
        return pri_fault(fault, PRICER_VALUE, "%lld points are too many",
                         (long long)points->rows);
    if (points->rows < network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "%lld points are too few for %d nodes",
                         (long long)points->rows, (int)network->nodes);
    if (plan != NULL &&
        (plan->nodes != network->nodes || plan->links != network->links))
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is for another network");
    if (settings->per_centroid && settings->procedure != PRICER_KMEANS_PAPER)
        return pri_fault(fault, PRICER_VALUE,
                         "links per centroid are for the paper's procedure");
    return pri_kmeans_check(points, settings->clusters, fault);
}

enum pricer_status pricer_kmeans_run(
    const struct pricer_matrix *points, const struct pricer_network *network,
    const struct pricer_plan *plan,
    const struct pricer_kmeans_settings *settings,
    const struct pricer_kmeans_result *result, struct pricer_fault *fault)
{
    struct pri_kmeans run = {.network = network,
                             .plan = plan,
                             .settings = *settings,
                             .nodes = network->nodes,
                             .radius = network->radius};
    pri_kmeans_defaults(&run.settings);
    if (pri_network_alike(network, "K-means", true, fault) != PRICER_OK)
        return PRICER_VALUE;
    enum pricer_status status =
        check(points, network, plan, &run.settings, fault);
    if (status != PRICER_OK)
        return status;
    double *history = pri_alloc(run.settings.rounds, sizeof *history);
    run.clusters = run.settings.clusters;
    run.groups = run.settings.per_centroid ? run.clusters : 1;
    run.threads = pri_kmeans_threads(run.settings.threads);
    run.points = (struct pri_points){NULL, points->rows, points->columns};
    run.procedure = pri_kmeans_procedure(run.settings.procedure);
    status = history == NULL ? PRICER_MEMORY : room(&run, points->rows);
    if (status == PRICER_OK && plan != NULL && settings->decoder != NULL)
        status = pricer_receiver_new(network, plan, settings->decoder,
                                     &run.receiver, fault);
    if (status == PRICER_OK)
        status = pri_deal(points, run.settings.seed, run.settings.in_order,
                          run.dealt);
    if (status == PRICER_OK)
        status = play(&run, history, result->centres);
    if (status == PRICER_OK)
        memcpy(result->inertia, history,
               (size_t)run.settings.rounds * sizeof *history);
    free(history);
    free(run.dealt);
    free(run.centres);
    free(run.whole.weight);
    free(run.whole.up);
    free(run.weights);
    free(run.variances);
    free(run.message);
    free(run.sum);
    free(run.kept);
    free(run.mean);
    free(run.held);
    free(run.coefficient);
    pricer_receiver_free(run.receiver);
    pri_lloyd_free(run.all);
    return status;
}
