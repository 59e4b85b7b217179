/*
 * Rounds of several attempts with the same payloads, played: links are drawn,
 * and the noise is integrated out, or with the faithful engine drawn too and
 * every message made (attempts.c).
 */
#include "simulate.h"

#include <stdlib.h>

enum { UNIT = 64 }; /* trials that are added up together */

struct repeat {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    const struct pricer_decoder *decoder;
    int32_t attempts;
    uint64_t seed;
    const double *gram; /* [nodes][nodes] of the data */
    const struct pri_data *data;
    const double *mean; /* [dimension] of the data; faithful engine only */
    bool faithful;
};

/* One thread's room. */
struct hand {
    struct pricer_stack *stack;
    struct pri_attempts *attempts; /* NULL: noise is integrated out */
    bool *uplink, *link;           /* [attempts][nodes], [attempts][links] */
    double *coefficient, *excess;  /* [attempts][nodes], [nodes] */
};

static bool hand_new(const struct repeat *repeat, struct hand *hand)
{
    int64_t k = repeat->attempts;
    *hand = (struct hand){
        .uplink = pri_alloc(k * repeat->network->nodes, sizeof(bool)),
        .link = pri_alloc(k * repeat->network->links, sizeof(bool)),
        .coefficient = pri_alloc(k * repeat->network->nodes, sizeof(double)),
        .excess = pri_alloc(repeat->network->nodes, sizeof(double))};
    return hand->uplink && hand->link && hand->coefficient && hand->excess &&
           pricer_stack_new(repeat->network, repeat->plan, repeat->decoder,
                            repeat->attempts, &hand->stack,
                            NULL) == PRICER_OK &&
           (!repeat->faithful ||
            pri_attempts_new(repeat->network, repeat->plan, repeat->data,
                             repeat->seed, repeat->attempts, &hand->attempts,
                             NULL) == PRICER_OK);
}

static void hand_free(struct hand *hand)
{
    pricer_stack_free(hand->stack);
    pri_attempts_free(hand->attempts);
    free(hand->uplink);
    free(hand->link);
    free(hand->coefficient);
    free(hand->excess);
}

/* r'Gr. */
static double square_of(const struct repeat *repeat, const double *r)
{
    int64_t n = repeat->network->nodes;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < n; l++)
            sum += r[i] * repeat->gram[i * n + l] * r[l];
    return fmax(sum, 0);
}

static double distance(const struct repeat *repeat, const double *estimate)
{
    double square = 0;
    for (int64_t c = 0; c < repeat->network->dimension; c++) {
        double off = estimate[c] - repeat->mean[c];
        square += off * off;
    }
    return square;
}

/* Errors of the stack and of equal coefficients, every message made. */
static enum pricer_status play_messages(const struct repeat *repeat,
                                        int64_t trial, struct hand *hand,
                                        double *errors)
{
    enum pricer_status status = pri_attempts_play(
        hand->attempts, trial, hand->uplink, hand->link, NULL);
    errors[0] =
        distance(repeat, pri_attempts_combine(hand->attempts, hand->uplink,
                                              hand->coefficient));
    errors[UNIT] = distance(repeat, pri_attempts_mean(hand->attempts));
    errors[2 * UNIT] = 0;
    return status;
}

/* Errors of the three, and the bar. */
static enum pricer_status play(const struct repeat *repeat, int64_t trial,
                               struct hand *hand, double *errors)
{
    struct pricer_decoded decoded;
    double heard, fresh;
    pri_attempts_draw(repeat->network, repeat->seed, repeat->attempts, trial,
                      hand->uplink, hand->link);
    pricer_stack_decode(hand->stack, hand->uplink, hand->link,
                        hand->coefficient, &decoded);
    errors[3 * UNIT] = decoded.bar;
    if (repeat->faithful)
        return play_messages(repeat, trial, hand, errors);
    errors[0] = square_of(repeat, pri_stack_excess(hand->stack)) +
                pri_stack_heard(hand->stack);
    pri_stack_equal(hand->stack, hand->excess, &heard, &fresh);
    errors[UNIT] = square_of(repeat, hand->excess) + heard;
    errors[2 * UNIT] = square_of(repeat, hand->excess) + fresh;
    return PRICER_OK;
}

/* All trials while they are played, in units that are merged in order. */
struct run {
    const struct repeat *repeat;
    int64_t trials;
    int32_t threads;
    struct hand *hands; /* [threads] */
    struct pri_team *team;
    struct pri_mean merged[4];
    /* The portion that threads take units from. */
    int64_t first, count;
    struct pri_mean *means; /* [count][4] */
    atomic_int_fast64_t next;
    atomic_bool failed;
};

static void play_units(void *context, int32_t thread)
{
    struct run *run = context;
    double errors[4 * UNIT];
    int64_t k;
    while ((k = atomic_fetch_add(&run->next, 1)) < run->count) {
        int64_t first = (run->first + k) * UNIT, left = run->trials - first;
        int count = left < UNIT ? (int)left : UNIT;
        for (int t = 0; t < count; t++)
            if (play(run->repeat, first + t, &run->hands[thread], errors + t) !=
                PRICER_OK)
                atomic_store(&run->failed, true);
        for (int m = 0; m < 4; m++)
            run->means[k * 4 + m] = pri_mean_of(errors + m * UNIT, count);
    }
}

static enum pricer_status play_portion(void *context, int64_t first,
                                       int64_t count, void *results,
                                       struct pricer_fault *fault)
{
    struct run *run = context;
    run->first = first;
    run->count = count;
    run->means = results;
    atomic_store(&run->next, 0);
    pri_team_run(run->team, run->threads, play_units, run);
    if (atomic_load(&run->failed))
        return pri_fault(fault, PRICER_VALUE,
                         "the plan's payloads do not fit its grid");
    return PRICER_OK;
}

static enum pricer_status merge_portion(void *context, int64_t first,
                                        int64_t count, const void *results,
                                        struct pricer_fault *fault)
{
    struct run *run = context;
    const struct pri_mean *means = results;
    (void)first, (void)fault;
    for (int64_t k = 0; k < 4 * count; k++)
        run->merged[k % 4] = pri_mean_merge(run->merged[k % 4], means[k]);
    return PRICER_OK;
}

/* The means of all trials: errors of the three, and the bar. */
static enum pricer_status play_all(const struct repeat *repeat,
                                   const struct pricer_crew *crew,
                                   struct run *run, struct pricer_fault *fault)
{
    struct pricer_work work = {.items = (run->trials + UNIT - 1) / UNIT,
                               .portion = 8 * run->threads,
                               .size = 4 * sizeof(struct pri_mean),
                               .in_order = true,
                               .play = play_portion,
                               .take = merge_portion,
                               .context = run};
    int32_t made = 0;
    enum pricer_status status = PRICER_MEMORY;
    run->repeat = repeat;
    run->hands = pri_alloc(run->threads, sizeof *run->hands);
    run->team = pri_team_new(run->threads);
    while (run->hands != NULL && made < run->threads &&
           hand_new(repeat, &run->hands[made]))
        made++;
    if (run->team != NULL && made == run->threads)
        status = pricer_work_share(crew, &work, fault);
    if (status == PRICER_OK && crew != NULL)
        crew->spread(crew->context, 0, run->merged, sizeof run->merged);
    for (int32_t t = 0; run->hands != NULL && t <= made && t < run->threads;
         t++)
        hand_free(&run->hands[t]);
    free(run->hands);
    pri_team_free(run->team);
    return status;
}

static void find_gram(const struct pri_data *data, int32_t nodes, double *gram)
{
    for (int32_t i = 0; i < nodes; i++)
        for (int32_t l = 0; l < nodes; l++) {
            const double *a = pri_data_row(data, i), *b = pri_data_row(data, l);
            double sum = 0;
            for (int64_t c = 0; c < data->dimension; c++)
                sum += a[c] * b[c];
            gram[(int64_t)i * nodes + l] = sum;
        }
}

/* The Gram matrix and the mean of the data, in one piece of memory. */
static double *describe(const struct pri_data *data, int32_t nodes)
{
    int64_t n = nodes, d = data->dimension;
    double *gram = pri_alloc(n * n + d, sizeof *gram);
    if (gram == NULL)
        return NULL;
    find_gram(data, nodes, gram);
    for (int32_t i = 0; i < nodes; i++)
        for (int64_t c = 0; c < d; c++)
            gram[n * n + c] += pri_data_row(data, i)[c] / (double)n;
    return gram;
}

static struct pricer_repeated result_of(const struct run *run, bool faithful)
{
    const struct pri_mean *means = run->merged;
    return (struct pricer_repeated){
        .trials = run->trials,
        .stacked = {means[0].mean, pri_mean_error(means[0])},
        .equal = {means[1].mean, pri_mean_error(means[1])},
        .fresh = {faithful ? NAN : means[2].mean,
                  faithful ? NAN : pri_mean_error(means[2])},
        .bar = means[3].mean};
}

enum pricer_status pricer_stack_simulate(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_simulation_settings *settings, int32_t attempts,
    struct pricer_repeated *repeated, struct pricer_fault *fault)
{
    struct pricer_stack *trial = NULL;
    enum pricer_status status = pricer_stack_new(
        network, plan, settings->decoder, attempts, &trial, fault);
    pricer_stack_free(trial);
    if (status != PRICER_OK)
        return status;
    int64_t n = network->nodes, trials = settings->trials;
    bool faithful = settings->engine == PRICER_ENGINE_FAITHFUL;
    trials = trials > 0 ? trials : faithful ? 1000 : 20000;
    struct pri_data data = {0};
    int32_t threads = pri_threads(settings->threads, trials * 1000);
    struct run run = {.trials = trials, .threads = threads < 64 ? threads : 64};
    struct repeat repeat = {.network = network,
                            .plan = plan,
                            .decoder = settings->decoder,
                            .attempts = attempts,
                            .seed = settings->seed,
                            .data = &data,
                            .faithful = faithful};
    double *gram = NULL;
    status = pri_data_make(network, settings, &data, fault);
    if (status == PRICER_OK)
        gram = describe(&data, network->nodes);
    if (status == PRICER_OK && gram == NULL)
        status = PRICER_MEMORY;
    if (status == PRICER_OK) {
        repeat.gram = gram;
        repeat.mean = gram + n * n;
        status = play_all(&repeat, settings->crew, &run, fault);
    }
    if (status == PRICER_OK)
        *repeated = result_of(&run, faithful);
    pri_data_free(&data);
    free(gram);
    return status;
}
