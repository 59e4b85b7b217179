/*
 * Rounds one after another: from data that stay or move to the error of an
 * estimate that follows them, each round relative to the estimate before it
 * where the network says so.
 *
 * A walk is played by one thread, through the faithful engine of forwarding,
 * whose data are the changes of the round. Every walk writes its own row and rows are added up
 * in their order, so the result does not depend on the threads. 24 bytes a round
 * of a walk.
 */
#include "pricer_forward.h"
#include "pricer_reference.h"
#include "simulate.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_WALKS = 200, MOST_THREADS = 64, FIGURES = 3 };

/* What is written down of a round of a walk. */
enum figure { FIGURE_ERROR, FIGURE_CUT, FIGURE_BAR };

/* All walks while they are played. */
struct walking {
    const struct pricer_network *network;
    const struct pricer_forward_plan *plan;
    const struct pricer_simulation_settings *settings;
    struct pricer_grid grid; /* of the engine's sums, which nobody reads */
    struct pri_data data;    /* [rows of one round or of all][dimension] */
    bool moving;
    struct pricer_walk *walk;
    double *figures;        /* [walks][rounds][FIGURES] */
    double *mean;           /* [rounds or 1][dimension] of the data */
    struct stride *strides; /* [threads] */
    int32_t threads;
    atomic_int_fast64_t next, done;
    atomic_int failed; /* enum pricer_status */
    pthread_t caller;
    struct pricer_fault fault; /* of the caller's own walks */
};

/* One thread's room. */
struct stride {
    struct pri_job job;
    struct pri_data changes; /* [nodes][dimension] */
    struct pri_forward_faithful *faithful;
    struct pri_tally tally;
    double *estimate; /* [dimension] the latest */
};

/* Node i's data in a round. */
static const double *row_of(const struct walking *walking, int64_t round,
                            int32_t i)
{
    const struct pri_data *data = &walking->data;
    int64_t place = walking->moving ? round * walking->network->nodes + i : i;
    return data->values + (data->shared ? 0 : place * data->dimension);
}

static double square_of(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t c = 0; c < count; c++) {
        double off = a[c] - (b != NULL ? b[c] : 0);
        sum += off * off;
    }
    return sum;
}

/* What the nodes share in a round, and how much of it will be cut. */
static enum pricer_status find_changes(const struct walking *walking,
                                       struct stride *stride, int64_t round,
                                       double *cut, struct pricer_fault *fault)
{
    const struct pricer_network *network = walking->network;
    int64_t d = network->dimension;
    enum pricer_status status = PRICER_OK;
    *cut = 0;
    for (int32_t i = 0; i < network->nodes && status == PRICER_OK; i++) {
        const double *row = row_of(walking, round, i);
        double *change = stride->changes.values + i * d;
        if (network->reach == 0) {
            memcpy(change, row, (size_t)d * sizeof *change);
            continue;
        }
        const struct pricer_slice slice = {
            .node = i, .dimension = d, .reach = network->reach};
        status =
            pricer_round_change(&slice, row, stride->estimate, change, fault);
        *cut += square_of(change, NULL, d) >
                network->radius * network->radius * (1 + 1e-12);
    }
    return status;
}

/* What the round's engine made of it. */
struct made {
    const double *change; /* [dimension] */
    bool any;             /* somebody's data arrived */
    double bar;
};

static enum pricer_status play_round(struct stride *stride, int64_t round,
                                     struct made *made,
                                     struct pricer_fault *fault)
{
    double errors[2 * PRI_ROUNDS] = {0};
    enum pricer_status status = pri_forward_faithful_play(
        stride->faithful, round, 1, &stride->tally, errors, fault);
    if (status == PRICER_OK)
        *made = (struct made){pri_forward_faithful_estimate(stride->faithful),
                              pri_forward_faithful_any(stride->faithful),
                              errors[PRI_ROUNDS]};
    return status;
}

/* Round `round` of walk `at`. */
static enum pricer_status step(struct walking *walking, struct stride *stride,
                               int64_t at, int64_t round,
                               struct pricer_fault *fault)
{
    const struct pricer_network *network = walking->network;
    struct pricer_walk *walk = walking->walk;
    int64_t d = network->dimension;
    struct made made = {NULL, false, NAN};
    double cut = 0;
    enum pricer_status status =
        find_changes(walking, stride, round, &cut, fault);
    memset(stride->tally.total, 0, (size_t)d * sizeof *stride->tally.total);
    if (status == PRICER_OK)
        status = play_round(stride, at * walk->rounds + round, &made, fault);
    if (status != PRICER_OK)
        return status;
    if (made.any && network->reach > 0)
        pricer_round_follow(network->reach, made.change, d, stride->estimate);
    else if (made.any)
        memcpy(stride->estimate, made.change, (size_t)d * sizeof *made.change);
    double *figures = walking->figures + (at * walk->rounds + round) * FIGURES;
    const double *mean = walking->mean + (walking->moving ? round : 0) * d;
    figures[FIGURE_ERROR] = square_of(stride->estimate, mean, d);
    figures[FIGURE_CUT] = cut;
    figures[FIGURE_BAR] = made.bar;
    if (at == 0) {
        walk->made[round] = made.any;
        memcpy(walk->estimate + round * d, stride->estimate,
               (size_t)d * sizeof *stride->estimate);
    }
    return PRICER_OK;
}

/* Whether to go on, asked after every round. */
static bool goes_on(struct walking *walking)
{
    const struct pricer_watch *watch = walking->settings->watch;
    int64_t rounds = walking->walk->rounds * walking->walk->walks;
    int64_t done = atomic_fetch_add(&walking->done, 1) + 1;
    if (watch != NULL && pthread_equal(walking->caller, pthread_self()) &&
        !pri_tick(watch, (double)done / (double)rounds))
        atomic_store(&walking->failed, PRICER_STOPPED);
    return atomic_load(&walking->failed) == PRICER_OK;
}

static void play_walks(void *context, int32_t thread)
{
    struct walking *walking = context;
    struct stride *stride = &walking->strides[thread];
    struct pricer_fault fault = {""};
    int64_t at;
    while ((at = atomic_fetch_add(&walking->next, 1)) < walking->walk->walks) {
        memset(stride->estimate, 0,
               (size_t)walking->network->dimension * sizeof(double));
        for (int64_t t = 0; t < walking->walk->rounds; t++) {
            enum pricer_status status = step(walking, stride, at, t, &fault);
            if (status != PRICER_OK) {
                atomic_store(&walking->failed, (int)status);
                if (pthread_equal(walking->caller, pthread_self()))
                    walking->fault = fault;
            }
            if (!goes_on(walking))
                return;
        }
    }
}

/* --------------------------------------------------------------- prepare -- */

/* The data, as those of a network that has as many nodes as there are rows and
 * the radius of the data. */
static enum pricer_status make_data(struct walking *walking,
                                    struct pricer_fault *fault)
{
    const struct pricer_network *network = walking->network;
    const struct pricer_simulation_settings *settings = walking->settings;
    int64_t nodes = network->nodes, all = nodes * walking->walk->rounds;
    bool given = settings->data == PRICER_DATA_GIVEN && settings->given != NULL;
    walking->moving = given && settings->given->rows == all && all != nodes;
    if (given && settings->given->rows != nodes && !walking->moving)
        return pri_fault(fault, PRICER_VALUE,
                         "the data has %lld rows: %lld nodes over %lld rounds "
                         "have a row each, or one for every round, %lld",
                         (long long)settings->given->rows, (long long)nodes,
                         (long long)walking->walk->rounds, (long long)all);
    int64_t rows = walking->moving ? all : nodes;
    if (rows >= INT32_MAX)
        return pri_fault(fault, PRICER_VALUE, "the data has too many rows");
    struct pricer_network view = *network;
    view.nodes = (int32_t)rows;
    view.radius = network->reach > 0 ? network->reach : network->radius;
    view.node_radius = pri_alloc(rows, sizeof *view.node_radius);
    if (view.node_radius == NULL)
        return PRICER_MEMORY;
    for (int64_t k = 0; k < rows; k++)
        view.node_radius[k] = network->reach > 0
                                  ? network->reach
                                  : network->node_radius[k % nodes];
    enum pricer_status status =
        pri_data_make(&view, settings, &walking->data, fault);
    free(view.node_radius);
    if (status == PRICER_OK)
        walking->walk->clipped = walking->data.clipped;
    return status;
}

static enum pricer_status find_means(struct walking *walking)
{
    int64_t d = walking->network->dimension, nodes = walking->network->nodes;
    int64_t rounds = walking->moving ? walking->walk->rounds : 1;
    walking->mean = pri_alloc(rounds * d, sizeof *walking->mean);
    if (walking->mean == NULL)
        return PRICER_MEMORY;
    for (int64_t t = 0; t < rounds; t++) {
        double *mean = walking->mean + t * d;
        for (int32_t i = 0; i < nodes; i++)
            for (int64_t c = 0; c < d; c++)
                mean[c] += row_of(walking, t, i)[c];
        for (int64_t c = 0; c < d; c++)
            mean[c] /= (double)nodes;
    }
    return PRICER_OK;
}

static enum pricer_status stride_new(struct walking *walking,
                                     struct stride *stride)
{
    const struct pricer_network *network = walking->network;
    int64_t d = network->dimension;
    stride->changes =
        (struct pri_data){.nodes = network->nodes,
                          .dimension = d,
                          .values = pri_alloc(network->nodes * d, 8)};
    stride->estimate = pri_alloc(d, sizeof *stride->estimate);
    stride->job = (struct pri_job){
        .network = network,
        .forward = walking->plan,
        .count = 1,
        .seed = walking->settings->seed,
        .data = &stride->changes,
        .mean = walking->mean,
        .grids = &walking->grid,
    };
    if (stride->changes.values == NULL || stride->estimate == NULL ||
        !pri_tally_new(network, false, d, &stride->tally))
        return PRICER_MEMORY;
    return pri_forward_faithful_new(&stride->job, &stride->faithful);
}

static void clean(struct walking *walking)
{
    for (int32_t t = 0; walking->strides != NULL && t < walking->threads; t++) {
        struct stride *stride = &walking->strides[t];
        free(stride->changes.values);
        free(stride->estimate);
        pri_tally_free(&stride->tally);
        pri_forward_faithful_free(stride->faithful);
    }
    free(walking->strides);
    free(walking->figures);
    free(walking->mean);
    pri_data_free(&walking->data);
}

/* Room for the walk; the number of figures is known to be small enough. */
static struct pricer_walk *walk_new(int64_t rounds, int64_t walks, int64_t d)
{
    struct pricer_walk *walk = pri_alloc(1, sizeof *walk);
    if (walk == NULL)
        return NULL;
    *walk = (struct pricer_walk){
        .rounds = rounds,
        .walks = walks,
        .dimension = d,
        .error = pri_alloc(rounds, sizeof(double)),
        .error_stderr = pri_alloc(rounds, sizeof(double)),
        .cut = pri_alloc(rounds, sizeof(double)),
        .bar = pri_alloc(rounds, sizeof(double)),
        .estimate = pri_alloc(rounds * d, sizeof(double)),
        .made = pri_alloc(rounds, sizeof(bool)),
    };
    if (walk->error && walk->error_stderr && walk->cut && walk->bar &&
        walk->estimate && walk->made)
        return walk;
    pricer_walk_free(walk);
    return NULL;
}

void pricer_walk_free(struct pricer_walk *walk)
{
    if (walk == NULL)
        return;
    free(walk->error);
    free(walk->error_stderr);
    free(walk->cut);
    free(walk->bar);
    free(walk->estimate);
    free(walk->made);
    free(walk);
}

/* From the figures of all walks to their means, round by round. */
static void summarise(const struct walking *walking)
{
    struct pricer_walk *walk = walking->walk;
    for (int64_t t = 0; t < walk->rounds; t++) {
        struct pri_mean means[FIGURES] = {{0, 0, 0}};
        for (int64_t w = 0; w < walk->walks; w++)
            for (int k = 0; k < FIGURES; k++)
                means[k] = pri_mean_merge(
                    means[k],
                    pri_mean_of(
                        &walking->figures[(w * walk->rounds + t) * FIGURES + k],
                        1));
        walk->error[t] = means[FIGURE_ERROR].mean;
        walk->error_stderr[t] = pri_mean_error(means[FIGURE_ERROR]);
        walk->cut[t] = means[FIGURE_CUT].mean;
        walk->bar[t] = means[FIGURE_BAR].mean;
    }
}

static enum pricer_status play_all(struct walking *walking,
                                   struct pricer_fault *fault)
{
    struct pricer_walk *walk = walking->walk;
    enum pricer_status status = make_data(walking, fault);
    if (status == PRICER_OK)
        status = find_means(walking);
    if (status != PRICER_OK)
        return status;
    walking->figures = pri_alloc(walk->rounds * walk->walks * FIGURES, 8);
    walking->strides = pri_alloc(walking->threads, sizeof *walking->strides);
    if (walking->figures == NULL || walking->strides == NULL)
        return PRICER_MEMORY;
    for (int32_t t = 0; t < walking->threads && status == PRICER_OK; t++)
        status = stride_new(walking, &walking->strides[t]);
    struct pri_team *team =
        status == PRICER_OK ? pri_team_new(walking->threads) : NULL;
    if (team == NULL)
        return PRICER_MEMORY;
    pri_team_run(team, walking->threads, play_walks, walking);
    pri_team_free(team);
    status = (enum pricer_status)atomic_load(&walking->failed);
    if (status == PRICER_OK)
        summarise(walking);
    else if (fault != NULL && walking->fault.text[0] != '\0')
        *fault = walking->fault;
    return status;
}

/* Of the plan that is in `walking`. */
static enum pricer_status play(struct walking *walking, int64_t rounds,
                               struct pricer_walk **walk,
                               struct pricer_fault *fault)
{
    const struct pricer_simulation_settings *settings = walking->settings;
    const struct pricer_network *network = walking->network;
    int64_t walks = settings->trials > 0 ? settings->trials : DEFAULT_WALKS;
    if (rounds < 1 || rounds > INT32_MAX / walks)
        return pri_fault(fault, PRICER_VALUE,
                         "%lld walks of %lld rounds are not between 1 and %d",
                         (long long)walks, (long long)rounds, INT32_MAX);
    int32_t threads = pri_threads(
        settings->threads, walks * rounds * (network->links + network->nodes));
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    walking->walk = walk_new(rounds, walks, network->dimension);
    walking->threads = threads < walks ? threads : (int32_t)walks;
    walking->caller = pthread_self();
    enum pricer_status status =
        walking->walk != NULL ? play_all(walking, fault) : PRICER_MEMORY;
    clean(walking);
    if (status == PRICER_OK)
        *walk = walking->walk;
    else
        pricer_walk_free(walking->walk);
    return status;
}

enum pricer_status pricer_forward_walk(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_simulation_settings *settings, int64_t rounds,
    struct pricer_walk **walk, struct pricer_fault *fault)
{
    struct walking walking = {
        .network = network, .plan = plan, .settings = settings};
    enum pricer_status status =
        pri_simulation_check_forward(network, plan, settings, fault);
    return status == PRICER_OK ? play(&walking, rounds, walk, fault) : status;
}
