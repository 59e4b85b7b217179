/*
 * A simulation: from a network, plans and data to what became of them.
 *
 * Trials are played in units (512 of the fast engine, 8 of the faithful one),
 * units in waves over all threads, waves by whoever of the crew is free. What a
 * unit gives does not depend on the thread and the process that play it, and
 * units are merged in their order, so neither does the result. Between waves
 * the watch is asked. A wave that it breaks off is forgotten, so that what is
 * left is a simulation of fewer trials; a crew finishes the waves that it has
 * begun, since later ones may have been played already.
 */
#include "simulate.h"
#include "pricer_forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAITHFUL_UNIT = 8,
    MOST_THREADS = 64, /* parts of a team */
};

/* The engine of a thread: one of these. */
struct player {
    struct pri_fast *fast;
    struct pri_faithful *faithful;
    struct pri_forward_fast *forward_fast;
    struct pri_forward_faithful *forward_faithful;
};

/* A simulation while it runs. */
struct run {
    struct pri_job job;
    enum pricer_engine engine;
    int32_t threads;
    bool worst_case; /* data */
    int unit;        /* trials that are played together */
    int64_t trials;  /* how many to play */
    int64_t wave;    /* units between two questions to the watch */
    const struct pricer_crew *crew; /* NULL: alone */
    struct pri_team *team;
    struct pri_data data;
    struct pri_factor factor;
    double *mean;
    struct pricer_grid *grids;
    struct player *players;    /* [threads] */
    struct pri_tally *tallies; /* [threads] */
    double *errors;            /* [threads][plans + 1][PRI_ROUNDS] */
    int64_t *bins;             /* [threads][plans][PRICER_BINS] */
    struct pri_mean *merged;   /* [plans][error, difference], [bar]: a unit's */
    int64_t *used;             /* [links] as in the tallies */
    pri_total *excess;         /* [nodes] as in the tallies */
    pri_total *total;          /* [plans][dimension] as in the tallies */
};

/* Whether the server weighs what arrived and says how far off it may be. */
static bool has_bars(const struct pri_job *job)
{
    return job->decoder != NULL || job->forward != NULL;
}

/* --------------------------------------------------------------- prepare -- */

/* What decoding a trial costs, in nanoseconds, about: a dense solve, or passes
 * over the links. */
static double decoding_work(const struct run *run)
{
    const struct pricer_network *network = run->job.network;
    double nodes = network->nodes, links = network->links;
    if (run->job.decoder == NULL)
        return 0;
    double solve = fmin(nodes * nodes * (nodes + 20), 200 * (nodes + links));
    return run->job.decode == PRICER_DECODE_ADAPTIVE ? 30 * solve : solve;
}

/* Units of a wave: about a tenth of a second a thread, by a rough estimate of
 * a nanosecond a link, or 20 a coordinate of a message. */
static int64_t wave_units(const struct run *run)
{
    const struct pricer_network *network = run->job.network;
    double work = (double)network->links + network->nodes;
    work *= run->engine == PRICER_ENGINE_FAST
                ? 1 + (double)run->factor.rank / 64
                : 100 + 10 * (double)network->dimension;
    work = work * run->job.count + decoding_work(run);
    double units = 1e8 / (work * run->unit);
    int64_t each = units < 1 ? 1 : units > 4096 ? 4096 : (int64_t)units;
    return each * run->threads;
}

/* The mean of the data and a grid for each plan. */
static enum pricer_status prepare_faithful(struct run *run,
                                           struct pricer_fault *fault)
{
    struct pri_job *job = &run->job;
    int64_t d = job->network->dimension;
    run->mean = pri_alloc(d, sizeof *run->mean);
    run->grids = pri_alloc(job->count, sizeof *run->grids);
    run->total = pri_alloc(job->count * d, sizeof *run->total);
    if (!run->mean || !run->grids || !run->total)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < run->data.nodes; i++)
        for (int64_t c = 0; c < d; c++)
            run->mean[c] += pri_data_row(&run->data, i)[c];
    for (int64_t c = 0; c < d; c++)
        run->mean[c] /= run->data.nodes;
    /* Of decoded estimates: fine steps of the radius. */
    if (job->forward != NULL)
        run->grids[0].exponent = ilogb(job->network->radius) - PRI_FRACTION;
    for (int32_t k = 0; k < job->count && job->forward == NULL; k++) {
        enum pricer_status status = pricer_grid_choose(
            job->network, job->plans[k], &run->grids[k], fault);
        if (status != PRICER_OK)
            return status;
    }
    job->mean = run->mean;
    job->grids = run->grids;
    return PRICER_OK;
}

/* How many numbers the faithful engine's sums have. */
static int64_t totals(const struct run *run)
{
    return run->engine == PRICER_ENGINE_FAST
               ? 0
               : run->job.count * run->job.network->dimension;
}

/* One engine and one tally for thread t. */
static enum pricer_status prepare_thread(struct run *run, int32_t t)
{
    const struct pricer_network *network = run->job.network;
    bool fast = run->engine == PRICER_ENGINE_FAST;
    if (!pri_tally_new(network, fast, totals(run), &run->tallies[t]))
        return PRICER_MEMORY;
    bool stored = (double)network->links * run->threads * 64 < 0x1p30;
    struct player *player = &run->players[t];
    if (run->job.forward != NULL)
        return fast ? pri_forward_fast_new(&run->job, &player->forward_fast)
                    : pri_forward_faithful_new(&run->job,
                                               &player->forward_faithful);
    return fast ? pri_fast_new(&run->job, stored, &player->fast)
                : pri_faithful_new(&run->job, &player->faithful);
}

/* The factor of the data, which the fast engine needs: not where a plan of
 * forwarding has all of them in one direction. */
static enum pricer_status prepare_fast(struct run *run)
{
    if (run->job.forward != NULL && run->worst_case)
        return PRICER_OK;
    run->job.factor = &run->factor;
    return pri_factor_make(&run->data, run->threads, &run->factor);
}

/* All that waves need; clean() frees what there is if some of it fails. */
static enum pricer_status prepare(struct run *run, struct pricer_fault *fault)
{
    struct pri_job *job = &run->job;
    enum pricer_status status = run->engine == PRICER_ENGINE_FAST
                                    ? prepare_fast(run)
                                    : prepare_faithful(run, fault);
    if (status != PRICER_OK)
        return status;
    run->wave = wave_units(run);
    int64_t each = (int64_t)run->threads * job->count;
    int64_t with_bars = (int64_t)run->threads * (job->count + 1);
    run->players = pri_alloc(run->threads, sizeof *run->players);
    run->tallies = pri_alloc(run->threads, sizeof *run->tallies);
    run->errors = pri_alloc(with_bars * PRI_ROUNDS, sizeof *run->errors);
    run->bins = pri_alloc(each * PRICER_BINS, sizeof *run->bins);
    run->merged = pri_alloc(job->count * 2 + 1, sizeof *run->merged);
    run->used = pri_alloc(job->network->links, sizeof *run->used);
    run->excess = pri_alloc(job->network->nodes, sizeof *run->excess);
    run->team = pri_team_new(run->threads);
    if (!run->players || !run->tallies || !run->errors || !run->bins ||
        !run->merged || !run->used || !run->excess || !run->team)
        return PRICER_MEMORY;
    for (int32_t t = 0; t < run->threads && status == PRICER_OK; t++)
        status = prepare_thread(run, t);
    return status == PRICER_VALUE
               ? pri_fault(fault, status, "%s",
                           job->forward != NULL
                               ? "the plan has a release that cannot be made"
                               : "the decoder is not one of this network and "
                                 "plan")
               : status;
}

static void clean(struct run *run)
{
    for (int32_t t = 0; t < run->threads; t++) {
        if (run->players != NULL) {
            pri_fast_free(run->players[t].fast);
            pri_faithful_free(run->players[t].faithful);
            pri_forward_fast_free(run->players[t].forward_fast);
            pri_forward_faithful_free(run->players[t].forward_faithful);
        }
        if (run->tallies != NULL)
            pri_tally_free(&run->tallies[t]);
    }
    pri_team_free(run->team);
    free(run->players);
    free(run->tallies);
    free(run->errors);
    free(run->bins);
    free(run->merged);
    free(run->used);
    free(run->excess);
    free(run->total);
    free(run->mean);
    free(run->grids);
    pri_factor_free(&run->factor);
    pri_data_free(&run->data);
}

/* ------------------------------------------------------------------ play -- */

/* Sort squared errors into bins by the first bits of their exponent and
 * fraction. */
static void sort_into_bins(const double *errors, int count,
                           int32_t first_octave, int64_t *bins)
{
    int64_t base = ((int64_t)first_octave + 1023) * 8;
    for (int t = 0; t < count; t++) {
        uint64_t bits;
        memcpy(&bits, &errors[t], sizeof bits);
        int64_t bin = (int64_t)(bits >> 49) - base;
        bin = bin < 0 ? 0 : bin >= PRICER_BINS ? PRICER_BINS - 1 : bin;
        bins[bin]++;
    }
}

/* Some trials by a thread's engine. */
static enum pricer_status play_trials(struct run *run, int32_t thread,
                                      int64_t first, int count, double *errors,
                                      struct pricer_fault *fault)
{
    const struct player *player = &run->players[thread];
    struct pri_tally *tally = &run->tallies[thread];
    if (player->forward_fast != NULL)
        return pri_forward_fast_play(player->forward_fast, first, count, tally,
                                     errors);
    if (player->forward_faithful != NULL)
        return pri_forward_faithful_play(player->forward_faithful, first, count,
                                         tally, errors, fault);
    return player->fast != NULL
               ? pri_fast_play(player->fast, first, count, tally, errors)
               : pri_faithful_play(player->faithful, first, count, tally,
                                   errors, fault);
}

/* Play unit `unit` of all on `thread`; its means are as run->merged. */
static enum pricer_status play_unit(struct run *run,
                                    const struct pricer_simulation *simulation,
                                    int32_t thread, int64_t unit,
                                    struct pri_mean *means,
                                    struct pricer_fault *fault)
{
    int32_t plans = run->job.count;
    double *errors = run->errors + (int64_t)thread * (plans + 1) * PRI_ROUNDS;
    int64_t first = unit * run->unit, left = run->trials - first;
    int count = left < run->unit ? (int)left : run->unit;
    enum pricer_status status =
        play_trials(run, thread, first, count, errors, fault);
    for (int32_t k = 0; k < plans && status == PRICER_OK; k++) {
        double *own = errors + (int64_t)k * PRI_ROUNDS, gap[PRI_ROUNDS];
        for (int t = 0; t < count; t++)
            gap[t] = own[t] - errors[t];
        means[2 * k] = pri_mean_of(own, count);
        means[2 * k + 1] = pri_mean_of(gap, count);
        sort_into_bins(own, count, simulation->outcomes[k].first_octave,
                       run->bins + ((int64_t)thread * plans + k) * PRICER_BINS);
    }
    int bars = has_bars(&run->job) ? count : 0;
    if (status == PRICER_OK)
        means[2 * plans] =
            pri_mean_of(errors + (int64_t)plans * PRI_ROUNDS, bars);
    return status;
}

/* Add one thread's tallies of the wave, and clear them. */
static void collect(struct run *run, int32_t thread,
                    struct pricer_simulation *simulation)
{
    struct pri_counts counts = {simulation, run->used, run->excess, run->total,
                                totals(run)};
    int64_t *bins =
        run->bins + (int64_t)thread * simulation->plans * PRICER_BINS;
    pri_tally_collect(&run->tallies[thread], run->job.network, &counts);
    for (int32_t k = 0; k < simulation->plans; k++)
        for (int b = 0; b < PRICER_BINS; b++) {
            simulation->outcomes[k].bins[b] += bins[k * PRICER_BINS + b];
            bins[k * PRICER_BINS + b] = 0;
        }
}

/* A wave while it is played: units from `first` on that threads take. */
struct wave {
    struct run *run;
    struct pricer_simulation *simulation;
    int64_t first, count;
    struct pri_mean *means; /* [count] of a unit */
    atomic_int_fast64_t next;
    atomic_bool failed;
    enum pricer_status status;
    struct pricer_fault *fault;
};

/* The units of a wave that nobody has yet, on one thread's engine. */
static void play_units(void *context, int32_t thread)
{
    struct wave *wave = context;
    struct run *run = wave->run;
    int64_t k, each = 2 * run->job.count + 1;
    while ((k = atomic_fetch_add(&wave->next, 1)) < wave->count) {
        struct pricer_fault own = {""};
        enum pricer_status unit =
            play_unit(run, wave->simulation, thread, wave->first + k,
                      wave->means + k * each, &own);
        if (unit == PRICER_OK)
            continue;
        if (!atomic_exchange(&wave->failed, true)) {
            wave->status = unit;
            if (wave->fault != NULL)
                *wave->fault = own;
        }
        atomic_store(&run->job.stopped, true);
    }
}

/* A simulation that is played. */
struct play {
    struct run *run;
    struct pricer_simulation *simulation;
};

static enum pricer_status play_wave(void *context, int64_t first, int64_t count,
                                    void *results, struct pricer_fault *fault)
{
    struct play *play = context;
    struct run *run = play->run;
    struct wave wave = {.run = run,
                        .simulation = play->simulation,
                        .first = first,
                        .count = count,
                        .means = results,
                        .fault = fault};
    int64_t units = (run->trials + run->unit - 1) / run->unit;
    run->job.done = (double)first / (double)units;
    pri_team_run(run->team, run->threads, play_units, &wave);
    for (int32_t t = 0; t < run->threads && wave.status == PRICER_OK; t++)
        collect(run, t, play->simulation);
    return wave.status;
}

/* Merge the means of units, which come in their order. */
static enum pricer_status merge_wave(void *context, int64_t first,
                                     int64_t count, const void *results,
                                     struct pricer_fault *fault)
{
    struct run *run = ((struct play *)context)->run;
    const struct pri_mean *means = results;
    int64_t each = 2 * run->job.count + 1;
    (void)first, (void)fault;
    for (int64_t k = 0; k < count; k++)
        for (int64_t m = 0; m < each; m++)
            run->merged[m] =
                pri_mean_merge(run->merged[m], means[k * each + m]);
    return PRICER_OK;
}

/* What each rank has counted, and what rank 0 has merged, to all of them. */
static enum pricer_status join(struct run *run,
                               struct pricer_simulation *simulation)
{
    const struct pricer_crew *crew = run->crew;
    struct pri_counts counts = {simulation, run->used, run->excess, run->total,
                                totals(run)};
    if (crew == NULL)
        return PRICER_OK;
    crew->spread(crew->context, 0, run->merged,
                 (size_t)(2 * run->job.count + 1) * sizeof *run->merged);
    for (int32_t k = 0; k < simulation->plans; k++)
        crew->add(crew->context, simulation->outcomes[k].bins, PRICER_BINS);
    return pri_counts_join(&counts, crew);
}

static enum pricer_status play(struct run *run,
                               struct pricer_simulation *simulation,
                               struct pricer_fault *fault)
{
    struct play context = {run, simulation};
    struct pricer_work work = {
        .items = (run->trials + run->unit - 1) / run->unit,
        .portion = run->wave,
        .size = (size_t)(2 * run->job.count + 1) * sizeof(struct pri_mean),
        .in_order = true,
        .watch = run->job.watch,
        .play = play_wave,
        .take = merge_wave,
        .context = &context};
    if (run->crew != NULL)
        run->job.watch = NULL; /* what is begun is finished */
    enum pricer_status status = pricer_work_share(run->crew, &work, fault);
    if (status != PRICER_OK && status != PRICER_STOPPED)
        return status;
    enum pricer_status joined = join(run, simulation);
    simulation->trials = run->merged[0].count;
    if (joined != PRICER_OK)
        return joined;
    return simulation->trials > 0 ? PRICER_OK : status;
}

/* ---------------------------------------------------------------- result -- */

/* Mean of the estimates less mean of the data, of the faithful engine: its length. */
static double faithful_bias(const struct run *run, int32_t k, double trials,
                            double *vector)
{
    int64_t d = run->job.network->dimension;
    double square = 0;
    for (int64_t c = 0; c < d; c++) {
        double sum = (double)run->total[k * d + c] / trials;
        double off =
            ldexp(sum, run->grids[k].exponent) / run->data.nodes - run->mean[c];
        vector[c] = off;
        square += off * off;
    }
    return sqrt(square);
}

/* What decoding and forwarding change: there is a bar, and the bias is of
 * weights that depend on the trial. `excess` and `vector` are room. */
static void summarise_decoded(const struct run *run,
                              struct pricer_outcome *outcome, double *excess,
                              double *vector)
{
    outcome->bar = run->merged[2 * run->job.count].mean;
    if (run->job.decoder != NULL)
        outcome->bias_predicted = NAN;
    if (run->engine == PRICER_ENGINE_FAITHFUL)
        return;
    for (int32_t i = 0; i < run->data.nodes; i++)
        excess[i] = ldexp((double)run->excess[i], -PRI_FRACTION) /
                    (double)run->merged[2 * run->job.count].count;
    outcome->bias = pri_bias_length(&run->data, excess, vector);
    outcome->mse_given = pri_given_mse(&run->data, outcome->mse, vector);
}

/* From merged means and tallies to outcomes: errors, differences and biases. */
static enum pricer_status summarise(const struct run *run,
                                    struct pricer_simulation *simulation)
{
    int64_t room = simulation->nodes + run->data.dimension;
    double *excess = pri_alloc(room, sizeof *excess), *vector;
    if (excess == NULL)
        return PRICER_MEMORY;
    vector = excess + simulation->nodes;
    for (int32_t k = 0; k < simulation->plans; k++) {
        struct pricer_outcome *outcome = &simulation->outcomes[k];
        const struct pricer_plan *plan =
            run->job.plans != NULL ? run->job.plans[k] : NULL;
        outcome->mse = run->merged[2 * k].mean;
        outcome->mse_stderr = pri_mean_error(run->merged[2 * k]);
        outcome->difference = run->merged[2 * k + 1].mean;
        outcome->difference_stderr = pri_mean_error(run->merged[2 * k + 1]);
        if (run->job.forward == NULL) {
            pri_mean_excess(&run->job, plan, NULL, NULL, excess);
            outcome->bias_predicted =
                pri_bias_length(&run->data, excess, vector);
        }
        if (run->engine == PRICER_ENGINE_FAITHFUL) {
            outcome->bias =
                faithful_bias(run, k, (double)simulation->trials, vector);
        } else if (run->job.forward == NULL) {
            pri_mean_excess(&run->job, plan, simulation, run->used, excess);
            outcome->bias = pri_bias_length(&run->data, excess, vector);
        }
        outcome->mse_given = pri_given_mse(&run->data, outcome->mse, vector);
    }
    if (has_bars(&run->job))
        summarise_decoded(run, &simulation->outcomes[0], excess, vector);
    free(excess);
    return PRICER_OK;
}

/* A run of which nothing is prepared yet, with the defaults filled in. What is
 * simulated is in `job`. */
static void begin(const struct pri_job *job,
                  const struct pricer_simulation_settings *settings,
                  struct run *run)
{
    bool faithful = settings->engine == PRICER_ENGINE_FAITHFUL;
    int64_t trials = faithful ? 1000 : 100000;
    memset(run, 0, sizeof *run);
    run->job.network = job->network;
    run->job.plans = job->plans;
    run->job.forward = job->forward;
    run->job.count = job->count;
    run->job.seed = settings->seed;
    run->job.watch = settings->watch;
    run->job.decode = settings->decode;
    if (settings->decode != PRICER_DECODE_CONSTANT)
        run->job.decoder = settings->decoder;
    run->job.data = &run->data;
    run->job.caller = pthread_self();
    run->engine = settings->engine;
    run->worst_case = settings->data == PRICER_DATA_WORST_CASE;
    run->unit = faithful ? FAITHFUL_UNIT : PRI_ROUNDS;
    run->threads = pri_threads(settings->threads, INT64_MAX);
    if (run->threads > MOST_THREADS)
        run->threads = MOST_THREADS;
    run->crew = settings->crew;
    run->trials = settings->trials > 0 ? settings->trials : trials;
}

/* Threads that have room for the links of 512 rounds each. */
static void limit_threads(struct run *run)
{
    double each = 64.0 * run->job.network->links;
    if (run->job.forward != NULL && run->job.forward->repeat > 1)
        each *= run->job.forward->repeat;
    while (run->job.forward != NULL && run->engine == PRICER_ENGINE_FAST &&
           run->threads > 1 && each * run->threads > 0x1p32)
        run->threads--;
}

static enum pricer_status simulate(
    const struct pri_job *job,
    const struct pricer_simulation_settings *settings,
    struct pricer_simulation **simulation, struct pricer_fault *fault)
{
    struct run run;
    struct pricer_simulation *made = NULL;
    begin(job, settings, &run);
    limit_threads(&run);
    enum pricer_status status =
        pri_data_make(job->network, settings, &run.data, fault);
    if (status == PRICER_OK)
        status = pri_simulation_new(job->network, job->count, &made);
    if (status == PRICER_OK) {
        made->scheme =
            job->forward != NULL ? PRICER_SCHEME_FORWARD : PRICER_SCHEME_SUM;
        made->engine = settings->engine;
        made->data = settings->data;
        made->seed = settings->seed;
        made->decode =
            run.job.decoder != NULL ? settings->decode : PRICER_DECODE_CONSTANT;
        made->clipped = run.data.clipped;
        status = job->forward != NULL ? pri_forward_predict(&run.job, made)
                                      : pri_simulation_predict(&run.job, made);
    }
    if (status == PRICER_OK)
        status = prepare(&run, fault);
    if (status == PRICER_OK)
        status = play(&run, made, fault);
    if (status == PRICER_OK)
        status = summarise(&run, made);
    if (status == PRICER_OK)
        *simulation = made;
    else
        pricer_simulation_free(made);
    clean(&run);
    return status;
}

enum pricer_status pricer_simulation_run(
    const struct pricer_network *network,
    const struct pricer_plan *const *plans, int32_t count,
    const struct pricer_simulation_settings *settings,
    struct pricer_simulation **simulation, struct pricer_fault *fault)
{
    struct pri_job job = {.network = network, .plans = plans, .count = count};
    enum pricer_status status =
        pri_simulation_check(network, plans, count, settings, fault);
    return status == PRICER_OK ? simulate(&job, settings, simulation, fault)
                               : status;
}

enum pricer_status pricer_forward_simulate(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_simulation_settings *settings,
    struct pricer_simulation **simulation, struct pricer_fault *fault)
{
    struct pri_job job = {.network = network, .forward = plan, .count = 1};
    enum pricer_status status =
        pri_simulation_check_forward(network, plan, settings, fault);
    return status == PRICER_OK ? simulate(&job, settings, simulation, fault)
                               : status;
}
