/*
 * From points spread over the nodes of a network to common centres, over links
 * that come and go: the rounds that both procedures share.
 *
 * In every round each node runs a few of Lloyd's steps on its own points and
 * makes one message of them. The network adds messages up (lib/forward/means.c), sent
 * as sums or as releases that are forwarded. What a message holds and what the server does with the sum is
 * the procedure's (paper.c, ours.c). The new centres reach every node.
 *
 * The nodes stand in blocks, a fixed number of them. Blocks are worked on in
 * parallel, by threads and ranks; messages are added in the order of the nodes
 * within a block, then blocks in theirs. Those of weight 0 are not made at all.
 * The working memory is a message and a sum for each block. O(rounds steps rows
 * columns clusters).
 */
#include "run.h"
#include "network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- links -- */

/* Add what reaches the server through relay j to its weights and noise. */
static void add_relay(struct pri_kmeans *run, int32_t j)
{
    const struct pricer_network *net = run->network;
    const struct pricer_plan *plan = run->plan;
    double factor = run->nodes * run->coefficient[j];
    double square = plan->self_noise[j] * plan->self_noise[j];
    run->means.whole.weight[j] += factor * plan->self_weight[j];
    for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
        int32_t l = net->in_link[k];
        if (!run->held[l])
            continue;
        run->means.whole.weight[net->from[l]] += factor * plan->weight[l];
        square += plan->noise[l] * plan->noise[l];
    }
    run->means.whole.variance += factor * factor * square;
}

/* The same links, their sums decoded: sum j counts n beta_j in place of 1.
 * Whoever decodes knows what each sum holds, and so its noise. */
static void decode_weights(struct pri_kmeans *run, int64_t round)
{
    const struct pricer_network *net = run->network;
    const struct pricer_plan *plan = run->plan;
    struct pri_whole *whole = &run->means.whole;
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
        pri_means_draw(&run->means, draw);
        if (run->receiver != NULL)
            decode_weights(run, draw);
        memcpy(run->weights + g * run->nodes, run->means.whole.weight,
               (size_t)run->nodes * sizeof *run->weights);
        run->variances[g] = run->means.whole.variance;
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

/* The first node of a block. */
static int32_t block_start(const struct pri_kmeans *run, int32_t block)
{
    return (int32_t)pri_share_start(run->nodes, block, run->blocks);
}

/* The blocks of a rank. */
static void blocks_of(const struct pri_kmeans *run, int32_t rank, int32_t ranks,
                      int32_t *low, int32_t *high)
{
    *low = (int32_t)pri_share_start(run->blocks, rank, ranks);
    *high = (int32_t)pri_share_start(run->blocks, rank + 1, ranks);
}

/* Add a message to the sum, each of its parts with its weight. */
static void add_message(const struct pri_kmeans *run, int32_t node,
                        int64_t length, const double *message, double *sum)
{
    const int64_t part = length / run->groups;
    for (int32_t g = 0; g < run->groups; g++) {
        double weight = run->weights[g * run->nodes + node];
        for (int64_t c = g * part; c < (g + 1) * part; c++)
            sum[c] += weight * message[c];
    }
}

/* The weighted sum of the messages of a block's nodes. */
static enum pricer_status add_block(struct pri_kmeans *run, int64_t round,
                                    int32_t block, int64_t length)
{
    double *message = run->message + block * run->longest;
    double *sum = run->block_sum + block * run->longest;
    enum pricer_status status = PRICER_OK;
    memset(sum, 0, (size_t)length * sizeof *sum);
    for (int32_t node = block_start(run, block);
         node < block_start(run, block + 1) && status == PRICER_OK; node++) {
        if (!is_heard(run, node))
            continue;
        memset(message, 0, (size_t)run->longest * sizeof *message);
        status = run->procedure->speak(run, round, node, message);
        if (status == PRICER_OK)
            status = pri_means_send(&run->means, round, node, message);
        if (status == PRICER_OK)
            add_message(run, node, length, message, sum);
    }
    return status;
}

/* The blocks of this rank while they are added up. */
struct gathering {
    struct pri_kmeans *run;
    int64_t round, length;
    int32_t low;
    enum pricer_status status[PRI_KMEANS_BLOCKS];
};

static void gather_block(void *context, int32_t part)
{
    struct gathering *gathering = context;
    int32_t block = gathering->low + part;
    gathering->status[block] =
        add_block(gathering->run, gathering->round, block, gathering->length);
}

static enum pricer_status gather(struct pri_kmeans *run, int64_t round)
{
    const struct pricer_crew *crew = run->points.crew;
    const int64_t length = run->procedure->length(run);
    struct gathering gathering = {run, round, length, 0, {PRICER_OK}};
    int32_t low, high;
    blocks_of(run, crew == NULL ? 0 : crew->rank,
              crew == NULL ? 1 : crew->ranks, &low, &high);
    gathering.low = low;
    pri_team_run(run->team, high - low, gather_block, &gathering);
    for (int32_t block = low; block < high; block++)
        if (gathering.status[block] != PRICER_OK)
            return gathering.status[block];
    pri_complete(crew, run->block_sum,
                 (size_t)run->longest * sizeof *run->block_sum, run->blocks);
    memset(run->sum, 0, (size_t)length * sizeof *run->sum);
    for (int32_t block = 0; block < run->blocks; block++)
        for (int64_t c = 0; c < length; c++)
            run->sum[c] += run->block_sum[block * run->longest + c];
    for (int32_t g = 0; g < run->groups; g++)
        pri_means_noise(&run->means, run->variances[g], round * run->groups + g,
                        length / run->groups,
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
    const struct pricer_crew *crew = run->points.crew;
    const size_t bytes = (size_t)run->clusters * (size_t)run->points.columns *
                         sizeof *run->centres;
    if (run->procedure->open != NULL)
        run->procedure->open(run);
    for (int32_t round = 0; round < rounds; round++) {
        draw_weights(run, round);
        enum pricer_status status = gather(run, round);
        if (status != PRICER_OK)
            return status;
        run->procedure->hear(run, round);
        if (crew != NULL) /* machines may differ in their last digits */
            crew->spread(crew->context, 0, run->centres, bytes);
        inertia[round] = !run->settings.last_only || round == rounds - 1
                             ? measure(run)
                             : NAN;
        if (!pri_crew_tick(crew, run->settings.watch, (round + 1.) / rounds))
            return PRICER_STOPPED;
    }
    memcpy(centres, run->centres, bytes);
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

/* The dealt rows that a rank holds: those of its blocks of nodes and of its
 * chunks of all points. */
static void held_rows(const struct pri_kmeans *run, int32_t rank, int32_t ranks,
                      int64_t *low, int64_t *high)
{
    const int64_t rows = run->points.rows;
    struct pri_chunks chunks = pri_chunks_of(rows, rank, ranks);
    int32_t first, last;
    blocks_of(run, rank, ranks, &first, &last);
    *low = pri_chunk_start(&chunks, chunks.low);
    *high = pri_chunk_start(&chunks, chunks.high);
    if (first == last)
        return;
    int64_t from = rows * block_start(run, first) / run->nodes;
    int64_t to = rows * block_start(run, last) / run->nodes;
    *low = *high > *low && *low < from ? *low : from;
    *high = *high > to ? *high : to;
}

/* Deal the points, this rank's of them. */
static enum pricer_status deal(struct pri_kmeans *run,
                               const struct pricer_matrix *points)
{
    const struct pricer_kmeans_settings *settings = &run->settings;
    const struct pricer_crew *crew = settings->crew;
    const struct pri_points slice = pri_points_of(points, settings);
    const int32_t ranks = crew == NULL ? 1 : crew->ranks,
                  rank = crew == NULL ? 0 : crew->rank;
    int64_t *low = pri_alloc(ranks, sizeof *low);
    int64_t *high = pri_alloc(ranks, sizeof *high);
    enum pricer_status status = PRICER_MEMORY;
    if (low == NULL || high == NULL)
        goto done;
    for (int32_t r = 0; r < ranks; r++)
        held_rows(run, r, ranks, &low[r], &high[r]);
    run->points.first = low[rank];
    run->dealt =
        pri_alloc((high[rank] - low[rank]) * slice.columns, sizeof *run->dealt);
    run->points.values = run->dealt;
    if (run->dealt == NULL)
        goto done;
    status =
        crew == NULL
            ? pri_deal(points, settings->seed, settings->in_order, run->dealt)
            : pri_deal_slices(&slice, settings->seed, settings->in_order, low,
                              high, run->dealt);
    if (status == PRICER_OK)
        status = pri_lloyd_new(&run->points, run->clusters, &run->all);
done:
    free(low);
    free(high);
    return status;
}

static enum pricer_status room(struct pri_kmeans *run)
{
    const int64_t columns = run->points.columns;
    run->longest = run->clusters * (columns + 1);
    run->centres = pri_alloc(run->clusters * columns, sizeof *run->centres);
    run->message = pri_alloc(run->blocks * run->longest, sizeof *run->message);
    run->block_sum =
        pri_alloc(run->blocks * run->longest, sizeof *run->block_sum);
    run->sum = pri_alloc(run->longest, sizeof *run->sum);
    run->team =
        pri_team_new(run->threads < run->blocks ? run->threads : run->blocks);
    run->kept = pri_alloc(run->longest, sizeof *run->kept);
    run->mean = pri_alloc(columns, sizeof *run->mean);
    run->weights =
        pri_alloc((int64_t)run->groups * run->nodes, sizeof *run->weights);
    run->variances = pri_alloc(run->groups, sizeof *run->variances);
    run->held = pri_alloc(run->network->links, sizeof *run->held);
    run->coefficient = pri_alloc(run->nodes, sizeof *run->coefficient);
    if (run->centres == NULL || run->block_sum == NULL || run->team == NULL ||
        run->message == NULL || run->sum == NULL || run->kept == NULL ||
        run->mean == NULL || run->held == NULL || run->coefficient == NULL ||
        run->weights == NULL || run->variances == NULL)
        return PRICER_MEMORY;
    return PRICER_OK;
}

static enum pricer_status check(const struct pricer_matrix *points,
                                int64_t rows,
                                const struct pricer_network *network,
                                const struct pricer_kmeans_settings *settings,
                                struct pricer_fault *fault)
{
    if (network->reach > 0)
        return pri_fault(fault, PRICER_VALUE,
                         "K-means is not defined for rounds relative to the "
                         "last estimate: leave reference out");
    if (rows > INT32_MAX)
        return pri_fault(fault, PRICER_VALUE, "%lld points are too many",
                         (long long)rows);
    if (rows < network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "%lld points are too few for %d nodes",
                         (long long)rows, (int)network->nodes);
    if (settings->forward != NULL &&
        (settings->procedure != PRICER_KMEANS_PRICER ||
         settings->decoder != NULL))
        return pri_fault(fault, PRICER_VALUE,
                         "the paper's procedure and decoders are for plans of "
                         "sums, and this one forwards");
    if (settings->per_centroid && settings->procedure != PRICER_KMEANS_PAPER)
        return pri_fault(fault, PRICER_VALUE,
                         "links per centroid are for the paper's procedure");
    return pri_kmeans_check(points, rows, settings->clusters, fault);
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
    const struct pri_scheme scheme = {plan, settings->forward};
    pri_kmeans_defaults(&run.settings);
    run.points = pri_points_of(points, &run.settings);
    if (pri_network_alike(network, "K-means", true, fault) != PRICER_OK)
        return PRICER_VALUE;
    enum pricer_status status =
        check(points, run.points.rows, network, &run.settings, fault);
    if (status != PRICER_OK)
        return status;
    double *history = pri_alloc(run.settings.rounds, sizeof *history);
    run.clusters = run.settings.clusters;
    run.groups = run.settings.per_centroid ? run.clusters : 1;
    run.threads = pri_kmeans_threads(run.settings.threads);
    run.blocks = run.nodes < PRI_KMEANS_BLOCKS ? run.nodes : PRI_KMEANS_BLOCKS;
    run.procedure = pri_kmeans_procedure(run.settings.procedure);
    status = history == NULL ? PRICER_MEMORY : room(&run);
    if (status == PRICER_OK)
        status = pri_means_open(&run.means, network, &scheme, run.longest,
                                run.settings.seed, fault);
    if (status == PRICER_OK && plan != NULL && settings->decoder != NULL)
        status = pricer_receiver_new(network, plan, settings->decoder,
                                     &run.receiver, fault);
    if (status == PRICER_OK)
        status = deal(&run, points);
    if (status == PRICER_OK)
        status = play(&run, history, result->centres);
    if (status == PRICER_OK)
        memcpy(result->inertia, history,
               (size_t)run.settings.rounds * sizeof *history);
    free(history);
    free(run.dealt);
    free(run.centres);
    pri_means_close(&run.means);
    free(run.weights);
    free(run.variances);
    free(run.message);
    free(run.block_sum);
    pri_team_free(run.team);
    free(run.sum);
    free(run.kept);
    free(run.mean);
    free(run.held);
    free(run.coefficient);
    pricer_receiver_free(run.receiver);
    pri_lloyd_free(run.all);
    return status;
}
