/*
 * From a plan to the decoder of its stacks: the hardest X for sums of several
 * attempts, and what that decoder is worth.
 *
 * As for one attempt g(X) = E min_beta r'Xr + beta' V beta is concave with slope
 * E r r', and any X brackets the minimax error. Patterns of all attempts
 * together are enumerated where they are few, else drawn: stack s has patterns
 * s attempts to (s + 1) attempts - 1.
 */
#include "stack.h"
#include "network/network.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 64,          /* stacks that are added up by one thread */
    MOST_EXACT = 1 << 14 /* stacks that are enumerated at most */
};

/* Stacks to look at. */
struct stacks {
    struct pri_patterns patterns;
    int64_t count;
    int32_t attempts;
    bool exact;
};

/* A search. What is added up over stacks: bar, its square, noise of the decoder
 * and of equal coefficients, M of both, caps. */
struct search {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    const struct stacks *stacks;
    const struct pricer_watch *watch;
    int32_t looks;
    struct pri_team *team;
    double *x, *target;
    double *all; /* [chunks][size] */
    int64_t size;
    const double *cap;
};

static enum pricer_status stacks_new(const struct pricer_network *network,
                                     const struct pri_rows *rows,
                                     const struct pri_odds *odds, uint64_t seed,
                                     int64_t count, int32_t attempts,
                                     struct stacks *stacks)
{
    *stacks = (struct stacks){.attempts = attempts};
    enum pricer_status status =
        pri_patterns_new(network, rows, odds, seed, 1, NULL, &stacks->patterns);
    if (status != PRICER_OK)
        return status;
    double all = pow((double)stacks->patterns.count, attempts);
    if (stacks->patterns.exact && all <= MOST_EXACT) {
        stacks->exact = true;
        stacks->count = (int64_t)(all + .5);
        return PRICER_OK;
    }
    pri_patterns_free(&stacks->patterns);
    stacks->count = count;
    return pri_patterns_draw(network, rows, odds, seed, count * attempts, NULL,
                             &stacks->patterns);
}

/* Load stack s; its probability. */
static double load(struct pricer_stack *stack, const struct stacks *stacks,
                   int64_t s)
{
    const struct pri_patterns *patterns = &stacks->patterns;
    int64_t n = patterns->nodes, entries = patterns->entries, rest = s;
    double chance = stacks->exact ? 1 : 1 / (double)stacks->count;
    for (int64_t t = 0; t < stacks->attempts; t++) {
        int64_t at = s * stacks->attempts + t;
        if (stacks->exact) {
            at = rest % patterns->count;
            rest /= patterns->count;
            chance *= patterns->chance[at];
        }
        int64_t group = at / PRI_ROUNDS, lane = at % PRI_ROUNDS / 64;
        const uint64_t *up = patterns->uplink + group * n * PRI_LANES + lane;
        const uint64_t *entry =
            patterns->entry + group * entries * PRI_LANES + lane;
        for (int64_t j = 0; j < n; j++)
            stack->up[t * n + j] = up[j * PRI_LANES] >> at % 64 & 1;
        for (int64_t k = 0; k < entries; k++)
            stack->came[t * entries + k] = entry[k * PRI_LANES] >> at % 64 & 1;
    }
    return chance;
}

static void add_square(int64_t n, double chance, const double *r, double *m)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < n; l++)
            m[i * n + l] += chance * r[i] * r[l];
}

/* One stack's part. */
static void add_stack(struct pricer_stack *stack, const struct pri_model *model,
                      double chance, double *sum)
{
    int64_t n = stack->rows.nodes;
    double flat[PRI_SMALL], heard, fresh, *caps = sum + 4 + 2 * n * n;
    pri_stack_solve(stack, model);
    pri_stack_flat(stack, flat, &heard, &fresh);
    sum[0] += chance * stack->bar;
    sum[1] += chance * stack->bar * stack->bar;
    sum[2] += chance * stack->heard;
    sum[3] += chance * heard;
    add_square(n, chance, stack->excess, sum + 4);
    add_square(n, chance, flat, sum + 4 + n * n);
    for (int32_t a = 0; a < stack->sums; a++) {
        int32_t j = stack->relay[a];
        caps[j] = fmax(caps[j], fabs(stack->beta[a]) / stack->rows.scale[j]);
    }
}

struct stack_job {
    const struct search *search;
    const struct pri_model *model;
    atomic_bool failed;
};

static void judge_chunks(void *context, int64_t low, int64_t high)
{
    struct stack_job *job = context;
    const struct search *search = job->search;
    struct pricer_stack *stack = NULL;
    int64_t count = search->stacks->count;
    bool ready =
        pri_stack_new(search->network, search->plan, search->stacks->attempts,
                      &stack, NULL) == PRICER_OK;
    if (!ready)
        job->failed = true;
    for (int64_t s = low * CHUNK; ready && s < high * CHUNK && s < count; s++)
        add_stack(stack, job->model, load(stack, search->stacks, s),
                  search->all + s / CHUNK * search->size);
    pricer_stack_free(stack);
}

/* All stacks, in chunks that are added up in order; the sums are left in the
 * first. */
static enum pricer_status judge(const struct search *search,
                                const struct pri_model *model)
{
    int64_t n = search->network->nodes, count = search->stacks->count;
    int64_t chunks = (count + CHUNK - 1) / CHUNK, size = search->size;
    struct stack_job job = {search, model, false};
    memset(search->all, 0, (size_t)(chunks * size) * sizeof(double));
    pri_team_share(search->team, chunks, judge_chunks, &job);
    for (int64_t c = 1; c < chunks; c++)
        for (int64_t k = 0; k < size; k++) {
            double part = search->all[c * size + k], *to = search->all + k;
            *to = k < 4 + 2 * n * n ? *to + part : fmax(*to, part);
        }
    return job.failed ? PRICER_MEMORY : PRICER_OK;
}

static struct pri_model model_of(const struct search *search, const double *own,
                                 const double *shared)
{
    struct pri_model model = {.nodes = search->network->nodes,
                              .rank = search->network->nodes,
                              .own = own,
                              .shared = shared,
                              .target = search->target,
                              .cap = search->cap,
                              .blend = 1};
    pri_model_complete(&model, search->x);
    pri_model_target(&model, search->target);
    return model;
}

/* g for the climb. */
static enum pricer_status value_at(void *context, const double *own,
                                   const double *shared, double *value,
                                   double *product, double *diagonal)
{
    struct search *search = context;
    int64_t n = search->network->nodes;
    const double *m = search->all + 4;
    if (!pri_tick(search->watch, 1 - 1 / (1 + search->looks++ / 20.0)))
        return PRICER_STOPPED;
    struct pri_model model = model_of(search, own, shared);
    enum pricer_status status = judge(search, &model);
    *value = search->all[0];
    for (int64_t i = 0; i < n; i++) {
        diagonal[i] = m[i * (n + 1)];
        for (int64_t c = 0; c < n; c++) {
            double sum = 0;
            for (int64_t l = 0; l < n; l++)
                sum += m[i * n + l] * shared[l * n + c];
            product[i * n + c] = sum;
        }
    }
    return status;
}

/* Fit X to some stacks, and the caps with it. */
static enum pricer_status climb(struct search *search,
                                struct pricer_decoder *decoder)
{
    int64_t n = decoder->nodes;
    double value, start = .8;
    struct pri_concave concave = {value_at,
                                  search,
                                  decoder->nodes,
                                  decoder->rank,
                                  search->stacks->exact ? 1e-12 : 1e-6,
                                  search->stacks->exact ? 400 : 60};
    for (int64_t i = 0; i < n; i++) {
        decoder->own[i] = 1 - start;
        decoder->shared[i * n] = sqrt(start);
    }
    enum pricer_status status =
        pri_ascend(&concave, decoder->own, decoder->shared, &value);
    if (status != PRICER_OK)
        return status;
    struct pri_model model = model_of(search, decoder->own, decoder->shared);
    status = judge(search, &model);
    for (int64_t j = 0; j < n; j++) {
        decoder->target[j] = search->target[j];
        decoder->cap[j] = fmax(search->all[4 + 2 * n * n + j],
                               1.0 / (double)n / search->stacks->attempts);
    }
    return status;
}

/* What the decoder and equal coefficients are worth, on other stacks. */
static enum pricer_status appraise(struct search *search, double scale,
                                   struct pricer_decoder *decoder)
{
    int64_t n = decoder->nodes;
    double *all = search->all, ignored;
    struct pri_model model = model_of(search, decoder->own, decoder->shared);
    enum pricer_status status = judge(search, &model);
    decoder->lower = scale * all[0];
    search->cap = model.cap = decoder->cap;
    if (status == PRICER_OK)
        status = judge(search, &model);
    if (status == PRICER_OK)
        status =
            pri_bound((int32_t)n, all + 4, &decoder->reached, &decoder->upper);
    if (status == PRICER_OK)
        status = pri_bound((int32_t)n, all + 4 + n * n, &ignored,
                           &decoder->constant);
    double spread = fmax(all[1] - all[0] * all[0], 0);
    decoder->lower_stderr = decoder->upper_stderr =
        search->stacks->exact
            ? 0
            : scale * sqrt(spread / (double)search->stacks->count);
    decoder->reached = scale * (decoder->reached + all[2]);
    decoder->upper = scale * (decoder->upper + all[2]);
    decoder->constant = scale * (decoder->constant + all[3]);
    decoder->patterns = search->stacks->count;
    decoder->exact = search->stacks->exact;
    if (!(decoder->upper + 3 * decoder->upper_stderr < decoder->constant)) {
        decoder->blend = 0;
        decoder->reached = decoder->upper = decoder->constant;
    }
    return status;
}

/* Fit on some stacks, judge on others; `rows` are the plan's. */
static enum pricer_status fit(struct search *search,
                              const struct pricer_decoder_settings *ask,
                              const struct pri_rows *rows, int32_t attempts,
                              struct pricer_decoder *decoder)
{
    const struct pricer_network *network = search->network;
    struct pri_odds odds = {0}, disturbed = {0};
    struct stacks train = {0}, test = {0};
    int64_t most = ask->patterns > 0 ? ask->patterns : 8192;
    enum pricer_status status = pri_odds_new(network, ask, false, &odds);
    if (status == PRICER_OK)
        status = pri_odds_new(network, ask, true, &disturbed);
    if (status == PRICER_OK)
        status = stacks_new(network, rows, &disturbed, PRI_SEED(ask->seed, 6),
                            2048, attempts, &train);
    if (status == PRICER_OK)
        status = stacks_new(network, rows, &odds, PRI_SEED(ask->seed, 7), most,
                            attempts, &test);
    int64_t larger = train.count > test.count ? train.count : test.count;
    search->all =
        pri_alloc((larger / CHUNK + 1) * search->size, sizeof(double));
    if (status == PRICER_OK && search->all == NULL)
        status = PRICER_MEMORY;
    search->stacks = &train;
    if (status == PRICER_OK)
        status = climb(search, decoder);
    search->stacks = &test;
    if (status == PRICER_OK)
        status = appraise(search, network->radius * network->radius, decoder);
    pri_odds_free(&odds);
    pri_odds_free(&disturbed);
    pri_patterns_free(&train.patterns);
    pri_patterns_free(&test.patterns);
    return status;
}

enum pricer_status pricer_stack_fit(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_decoder_settings *settings, int32_t attempts,
    struct pricer_decoder **decoder, struct pricer_fault *fault)
{
    int64_t n = network->nodes;
    struct pricer_stack *stack = NULL;
    struct pricer_decoder *made = NULL;
    struct search search = {.network = network,
                            .plan = plan,
                            .watch = settings->watch,
                            .size = 4 + 2 * n * n + n};
    if (pri_network_alike(network, "the decoder of repeated rounds", false,
                          fault) != PRICER_OK)
        return PRICER_VALUE;
    if (settings->blind || settings->horizon > 1)
        return pri_fault(fault, PRICER_VALUE,
                         "a stack is decoded with its masks, and results that "
                         "are used one by one");
    enum pricer_status status =
        pri_stack_new(network, plan, attempts, &stack, fault);
    if (status != PRICER_OK)
        return status;
    status = pricer_decoder_new(network->nodes, network->nodes, &made, fault);
    if (status == PRICER_OK)
        made->attempts = attempts;
    search.x = pri_alloc(n * n, sizeof(double));
    search.target = pri_alloc(n, sizeof(double));
    if (status == PRICER_OK && (!search.x || !search.target))
        status = PRICER_MEMORY;
    search.team = pri_team_new(pri_threads(settings->threads, n * 4000));
    if (status == PRICER_OK)
        status = fit(&search, settings, &stack->rows, attempts, made);
    pri_team_free(search.team);
    free(search.all);
    free(search.x);
    free(search.target);
    pricer_stack_free(stack);
    if (status == PRICER_OK)
        *decoder = made;
    else
        pricer_decoder_free(made);
    return status;
}
