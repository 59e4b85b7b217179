/*
 * From a cell of a sweep to its row: the scenario with the cell's values, the
 * plan, what it is played against, and what links and the server learn.
 */
#include "sweep.h"
#include "pricer_decode.h"
#include "pricer_forward.h"
#include "question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With more nodes a cell's decoder is fitted only if it is asked for. */
enum { DECODER_NODES = 32 };

/* What a cell is played with. */
struct stage {
    const struct sweep_request *request;
    const struct pricer_network *network;
    struct pricer_settings settings;
    struct pricer_simulation_settings play;
    struct pricer_plan *plans[1 + STRATEGIES]; /* the cell's first */
    int rival[1 + STRATEGIES];                 /* which each is */
    int32_t count;
    struct pricer_decoder *decoder;
    struct pricer_watch watch;
    struct sweep_share *share;
    struct sweep_row *row;
};

static bool tick(void *context, double done)
{
    struct sweep_share *share = context;
    double inner = share->from + (share->to - share->from) * done;
    return share->progress.watch.tick(share->progress.watch.context,
                                      ((double)share->cell + inner) /
                                          (double)share->cells);
}

/* What comes next is this part of the cell's work. */
static void reach(struct stage *stage, double to)
{
    stage->share->from = stage->share->to;
    stage->share->to = to;
}

/* Read the scenario of a cell: the fixed overrides, then the cell's. */
static enum pricer_status read_cell(const struct sweep_request *request,
                                    const struct sweep_grid *grid, int64_t cell,
                                    struct pricer_scenario **scenario,
                                    struct pricer_fault *fault)
{
    char *texts[SWEEP_KEYS] = {NULL};
    const char *overrides[32 + SWEEP_KEYS];
    int count = 0;
    enum pricer_status status = PRICER_OK;
    for (int k = 0; k < request->sets.count; k++)
        overrides[count++] = request->sets.items[k];
    for (int k = 0; k < grid->axes && status == PRICER_OK; k++) {
        const struct sweep_axis *axis = &grid->axis[k];
        if (asprintf(&texts[k], "%s=%s", axis->key,
                     axis->values[sweep_grid_at(grid, cell, k)]) < 0) {
            texts[k] = NULL;
            status = PRICER_MEMORY;
        } else {
            overrides[count++] = texts[k];
        }
    }
    if (status == PRICER_OK)
        status = pricer_scenario_read(request->scenario, overrides, count,
                                      scenario, fault);
    for (int k = 0; k < grid->axes; k++)
        free(texts[k]);
    return status;
}

bool sweep_is_forward(const struct sweep_request *request,
                      const struct sweep_grid *grid)
{
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    bool forward =
        read_cell(request, grid, 0, &scenario, NULL) == PRICER_OK &&
        pricer_scenario_network(scenario, NULL, &network, NULL) == PRICER_OK &&
        network->everyone_eps != NULL;
    pricer_network_free(network);
    pricer_scenario_free(scenario);
    return forward;
}

enum pricer_status sweep_cells_check(const struct sweep_request *request,
                                     const struct sweep_grid *grid,
                                     struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    for (int64_t cell = 0; cell < grid->cells && status == PRICER_OK; cell++) {
        struct pricer_scenario *scenario = NULL;
        status = read_cell(request, grid, cell, &scenario, fault);
        pricer_scenario_free(scenario);
    }
    return status;
}

/* ------------------------------------------------------------------ plan -- */

static void keep_plan(const struct pricer_network *network,
                      const struct pricer_solve_info *info,
                      const struct pricer_error *error, struct sweep_row *row)
{
    row->number[SWEEP_NODES] = network->nodes;
    row->number[SWEEP_LINKS] = network->links;
    row->number[SWEEP_OBJECTIVE] = info->objective;
    row->number[SWEEP_GAP] = info->gap;
    row->number[SWEEP_VARIANCE] = error->variance;
    row->number[SWEEP_PIV] = error->piv;
    row->number[SWEEP_PAPER] = error->mse_paper;
    row->number[SWEEP_WORST] = error->mse_worst_case;
    row->number[SWEEP_BIAS_L1] = error->bias_l1;
}

static enum pricer_status plan_cell(struct stage *stage,
                                    struct pricer_fault *fault)
{
    struct pricer_solve_info info;
    struct pricer_error error;
    reach(stage, 0.4);
    enum pricer_status status = pricer_plan_optimise(
        stage->network, &stage->settings, NULL, &stage->plans[0], &info, fault);
    if (status != PRICER_OK)
        return status;
    stage->count = 1;
    status = pricer_plan_evaluate(stage->network, &stage->settings,
                                  stage->plans[0], &error, fault);
    if (status == PRICER_OK)
        keep_plan(stage->network, &info, &error, stage->row);
    return status;
}

/* Plan what the cell's plan is played against. A strategy that cannot be had
 * here, or for which there is no memory, leaves its columns empty. */
static void plan_rivals(struct stage *stage)
{
    struct pricer_error error;
    reach(stage, 0.5);
    for (int k = 0; k < STRATEGIES; k++) {
        struct pricer_plan **plan = &stage->plans[stage->count];
        if (!stage->request->rivals[k] ||
            strategy_plan(k, stage->network, &stage->settings, plan, NULL) !=
                PRICER_OK)
            continue;
        stage->rival[stage->count++] = k;
        if (pricer_plan_evaluate(stage->network, &stage->settings, *plan,
                                 &error, NULL) == PRICER_OK)
            stage->row->number[sweep_rival_at(k, SWEEP_RIVAL_WORST)] =
                error.mse_worst_case;
    }
}

/* Whether any column needs the decoder of the plan. */
static bool wants_decoder(const struct stage *stage)
{
    const struct sweep_request *request = stage->request;
    if (request->decoder < 0)
        return stage->network->nodes <= DECODER_NODES;
    return request->decoder != PRICER_DECODE_CONSTANT ||
           request->rivals[STRATEGIES + PRICER_DECODE_MINIMAX] ||
           request->rivals[STRATEGIES + PRICER_DECODE_ADAPTIVE];
}

/* The decoder of the cell's plan: none where it is constant. */
static enum pricer_status fit_cell(struct stage *stage)
{
    struct pricer_decoder_settings ask = {.unbiased = stage->settings.bias ==
                                                      PRICER_BIAS_UNBIASED,
                                          .seed = stage->play.seed,
                                          .threads = stage->settings.threads,
                                          .watch = stage->settings.watch};
    if (!wants_decoder(stage))
        return PRICER_OK;
    enum pricer_status status = pricer_decoder_fit(
        stage->network, stage->plans[0], &ask, &stage->decoder, NULL);
    if (status == PRICER_VALUE)
        return PRICER_OK; /* the plan has none that is better */
    if (status == PRICER_OK) {
        stage->row->number[SWEEP_LOWER] = stage->decoder->lower;
        stage->row->number[SWEEP_UPPER] = stage->decoder->upper;
    }
    return status;
}

/* ------------------------------------------------------------------ play -- */

static void keep_rivals(const struct stage *stage,
                        const struct pricer_simulation *simulation)
{
    for (int32_t k = 1; k < stage->count; k++) {
        const struct pricer_outcome *outcome = &simulation->outcomes[k];
        double *number =
            &stage->row->number[sweep_rival_at(stage->rival[k], 0)];
        number[SWEEP_RIVAL_MSE] = outcome->mse;
        number[SWEEP_RIVAL_STDERR] = outcome->mse_stderr;
    }
}

static void keep_simulation(const struct stage *stage,
                            const struct pricer_simulation *simulation)
{
    const struct pricer_outcome *outcome = &simulation->outcomes[0];
    struct sweep_row *row = stage->row;
    row->number[SWEEP_TRIALS] = (double)simulation->trials;
    row->number[SWEEP_CLIPPED] = (double)simulation->clipped;
    row->number[SWEEP_MSE] = outcome->mse;
    row->number[SWEEP_MSE_STDERR] = outcome->mse_stderr;
    row->number[SWEEP_PREDICTED] = outcome->predicted;
    row->number[SWEEP_BIAS] = outcome->bias;
    row->number[SWEEP_BAR] = outcome->bar;
    if (outcome->mse_stderr > 0 &&
        fabs(outcome->mse - outcome->predicted) > 5 * outcome->mse_stderr)
        snprintf(row->words, sizeof row->words,
                 "simulation and prediction differ by %.1f standard errors",
                 fabs(outcome->mse - outcome->predicted) / outcome->mse_stderr);
    keep_rivals(stage, simulation);
}

/* Play so many of the plans with a decoder of the first one's sums. */
static enum pricer_status play_with(struct stage *stage, int decode,
                                    int32_t count,
                                    struct pricer_simulation **simulation,
                                    struct pricer_fault *fault)
{
    const struct pricer_plan *plans[1 + STRATEGIES];
    bool constant = stage->decoder == NULL || decode == PRICER_DECODE_CONSTANT;
    memcpy(plans, stage->plans, sizeof plans);
    stage->play.decode = constant ? PRICER_DECODE_CONSTANT : decode;
    stage->play.decoder = constant ? NULL : stage->decoder;
    enum pricer_status status = pricer_simulation_run(
        stage->network, plans, count, &stage->play, simulation, fault);
    if (status == PRICER_OK && (*simulation)->trials < stage->play.trials)
        status = PRICER_STOPPED;
    return status;
}

/* The same trials with another decoder of the cell's plan. */
static enum pricer_status play_decoder(struct stage *stage, int decode,
                                       struct pricer_fault *fault)
{
    struct pricer_simulation *simulation = NULL;
    double *number =
        &stage->row->number[sweep_rival_at(STRATEGIES + decode, 0)];
    enum pricer_status status = play_with(stage, decode, 1, &simulation, fault);
    if (status == PRICER_OK) {
        number[SWEEP_RIVAL_WORST] = simulation->outcomes[0].worst_case;
        number[SWEEP_RIVAL_MSE] = simulation->outcomes[0].mse;
        number[SWEEP_RIVAL_STDERR] = simulation->outcomes[0].mse_stderr;
    }
    pricer_simulation_free(simulation);
    return status;
}

static enum pricer_status play_cell(struct stage *stage,
                                    struct pricer_fault *fault)
{
    struct pricer_simulation *simulation = NULL;
    int decoder = stage->request->decoder;
    if (decoder < 0)
        decoder = stage->network->nodes > DECODER_NODES ? PRICER_DECODE_CONSTANT
                                                        : PRICER_DECODE_MINIMAX;
    reach(stage, 0.9);
    enum pricer_status status =
        play_with(stage, decoder, stage->count, &simulation, fault);
    if (status == PRICER_OK)
        keep_simulation(stage, simulation);
    pricer_simulation_free(simulation);
    for (int k = 0; k < SWEEP_DECODERS && status == PRICER_OK; k++)
        if (stage->request->rivals[STRATEGIES + k])
            status = play_decoder(stage, k, fault);
    return status;
}

/* --------------------------------------------------------------- forward -- */

static void keep_forward(const struct pricer_network *network,
                         const struct pricer_forward_plan *plan,
                         struct sweep_row *row)
{
    row->number[SWEEP_NODES] = network->nodes;
    row->number[SWEEP_LINKS] = network->links;
    row->number[SWEEP_OBJECTIVE] = plan->mse_worst_case;
    row->number[SWEEP_GAP] = plan->gap;
    row->number[SWEEP_VARIANCE] = plan->noise;
    row->number[SWEEP_WORST] = plan->mse_worst_case;
    row->number[SWEEP_HOPS] = plan->hops;
    row->number[SWEEP_HEARD] = plan->heard;
}

/* Plan and play a cell of 'scheme: forward'. */
static enum pricer_status do_forward(struct stage *stage,
                                     const struct pricer_scenario *scenario,
                                     struct pricer_fault *fault)
{
    struct pricer_forward_settings ask;
    struct pricer_forward_plan *plan = NULL;
    struct pricer_simulation *simulation = NULL;
    pricer_scenario_forward_settings(scenario, &ask);
    ask.threads = stage->settings.threads;
    ask.watch = stage->settings.watch;
    reach(stage, 0.5);
    enum pricer_status status =
        pricer_forward_plan_make(stage->network, &ask, &plan, fault);
    if (status == PRICER_OK) {
        keep_forward(stage->network, plan, stage->row);
        reach(stage, 1);
        status = pricer_forward_simulate(stage->network, plan, &stage->play,
                                         &simulation, fault);
    }
    if (status == PRICER_OK && simulation->trials < stage->play.trials)
        status = PRICER_STOPPED;
    if (status == PRICER_OK)
        keep_simulation(stage, simulation);
    pricer_simulation_free(simulation);
    pricer_forward_plan_free(plan);
    return status;
}

/* --------------------------------------------------------------- privacy -- */

/*
 * Every statement of an observer in one: with the largest eps and the largest
 * delta of them, all hold. The same of the lower ends: for some statement no eps
 * below the largest of them holds, where its account is exact.
 */
static enum pricer_status account(struct stage *stage,
                                  enum pricer_observer observer, double *eps,
                                  double *floor, struct pricer_fault *fault)
{
    struct question_request ask = {.observer = -1,
                                   .protect = -1,
                                   .eavesdropper = -1,
                                   .delta = stage->request->delta,
                                   .threads = stage->settings.threads};
    struct pricer_statement *statements = NULL;
    int64_t count = 0;
    question_settle(&ask, &stage->settings);
    struct pricer_question question =
        question_make(&ask, observer, &(const struct coalition){0});
    question.watch = stage->settings.watch;
    enum pricer_status status = pricer_privacy_account(
        stage->network, stage->plans[0], &question, &statements, &count, fault);
    for (int64_t k = 0; k < count; k++) { /* a NAN gives way to any number */
        eps[0] = fmax(eps[0], statements[k].eps);
        eps[1] = fmax(eps[1], statements[k].eps_lower);
        eps[2] = fmax(eps[2], statements[k].delta);
        *floor = fmax(*floor, statements[k].floor);
    }
    pricer_statements_free(statements);
    return status;
}

static enum pricer_status account_cell(struct stage *stage,
                                       struct pricer_fault *fault)
{
    double *number = stage->row->number, bare = NAN;
    if (!stage->request->privacy)
        return PRICER_OK;
    reach(stage, 0.92);
    enum pricer_status status = account(stage, PRICER_OBSERVER_LINK,
                                        &number[SWEEP_LINK_EPS], &bare, fault);
    reach(stage, 1);
    if (status == PRICER_OK)
        status =
            account(stage, PRICER_OBSERVER_SERVER, &number[SWEEP_SERVER_EPS],
                    &number[SWEEP_SERVER_FLOOR], fault);
    return status;
}

/* ------------------------------------------------------------------ cell -- */

/* Plan, play and account for a cell's network. */
static enum pricer_status do_cell(struct stage *stage,
                                  const struct pricer_scenario *scenario,
                                  struct pricer_fault *fault)
{
    const struct sweep_request *request = stage->request;
    pricer_scenario_settings(scenario, &stage->settings);
    if (stage->network->reach > 0) {
        snprintf(fault->text, sizeof fault->text,
                 "a sweep plays single rounds: leave reference out, or see "
                 "'pricer simulate --rounds'");
        return PRICER_VALUE;
    }
    stage->share->from = stage->share->to = 0;
    stage->watch = (struct pricer_watch){tick, stage->share};
    stage->settings.threads = (int32_t)request->threads;
    stage->settings.watch = &stage->watch;
    stage->play = (struct pricer_simulation_settings){
        .engine = (enum pricer_engine)request->engine,
        .trials = request->trials,
        .seed = (uint64_t)pricer_scenario_seed(scenario),
        .data = request->given != NULL                 ? PRICER_DATA_GIVEN
                : strcmp(request->data, "random") == 0 ? PRICER_DATA_RANDOM
                                                       : PRICER_DATA_WORST_CASE,
        .given = request->given,
        .threads = stage->settings.threads,
        .watch = &stage->watch};
    if (stage->network->everyone_eps != NULL) {
        enum pricer_status done = do_forward(stage, scenario, fault);
        return progress_stopped() ? PRICER_STOPPED : done;
    }
    enum pricer_status status = plan_cell(stage, fault);
    if (status == PRICER_OK) {
        plan_rivals(stage);
        status = fit_cell(stage);
    }
    if (status == PRICER_OK && !progress_stopped())
        status = play_cell(stage, fault);
    if (status == PRICER_OK && !progress_stopped())
        status = account_cell(stage, fault);
    return progress_stopped() ? PRICER_STOPPED : status;
}

enum pricer_status sweep_cell_fill(const struct sweep_request *request,
                                   const struct sweep_grid *grid,
                                   struct sweep_share *share,
                                   struct sweep_row *row,
                                   struct pricer_fault *fault)
{
    struct stage stage = {.request = request, .share = share, .row = row};
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    for (int c = 0; c < SWEEP_COLUMNS; c++)
        row->number[c] = NAN;
    strcpy(row->words, "ok");
    enum pricer_status status =
        read_cell(request, grid, share->cell, &scenario, fault);
    if (status == PRICER_OK)
        status = pricer_scenario_network(scenario, NULL, &network, fault);
    stage.network = network;
    if (status == PRICER_OK)
        status = do_cell(&stage, scenario, fault);
    if (status == PRICER_INFEASIBLE || status == PRICER_VALUE) {
        snprintf(row->words, sizeof row->words, "%s",
                 fault->text[0] != '\0' ? fault->text
                                        : pricer_status_text(status));
        status = PRICER_OK;
    }
    pricer_decoder_free(stage.decoder);
    for (int32_t k = 0; k < stage.count; k++)
        pricer_plan_free(stage.plans[k]);
    pricer_network_free(network);
    pricer_scenario_free(scenario);
    return status;
}
