/*
 * From a start to the end of semismooth Newton with server budgets: the offers
 * made ready for it, its steps, and the shares that its multipliers stand for.
 */
#include "server_newton.h"

#include <stdlib.h>

/* --------------------------------------------------------- before, after -- */

static double lean_of(const struct pri_split *split)
{
    return 2 * sqrt(split->noise);
}

static void load_leans(void *context, int32_t low, int32_t high,
                       struct pri_sweep_sums *tally)
{
    struct pri_server_newton *state = context;
    const struct pri_problem *problem = state->problem;
    const struct pri_server *server = state->server;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        state->own[i].lean = (pri_two){lean_of(&server->self[i]), 0};
        state->own[i].pull = (pri_two){0, 0};
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            const struct pri_split *back = &server->arc[problem->partner[l]];
            state->offer[l].lean =
                (pri_two){lean_of(&server->arc[l]), lean_of(back)};
            state->offer[l].pull = (pri_two){0, 0};
        }
    }
}

/* The shares that answer to `here`, into the arcs. */
static void store_shares(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct pri_server_newton *state = context;
    const struct pri_problem *problem = state->problem;
    const struct pri_split *arc = state->server->arc;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        const double *here = &state->here.dual[3 * (int64_t)i];
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            int64_t to = problem->to[l];
            const double *there = &state->here.dual[3 * to];
            const struct pri_split *split[2] = {&arc[l],
                                                &arc[problem->partner[l]]};
            pri_two z = {here[0] - there[1], there[0] - here[1]};
            pri_two root = {here[2], there[2]};
            const struct pri_offer *offer = &state->offer[l];
            problem->arc[l].share = 0;
            if (!(z[0] + offer->pull[0] > offer->lean[0] * root[0]))
                continue;
            struct pri_reply_pair reply = pri_reply_both(
                split, offer, problem->arc[l].cross, state->firm, z, root);
            problem->arc[l].share = reply.answer.share[0];
        }
        problem->self[i].share =
            pri_reply_to(&state->server->self[i], state->own[i].lean[0],
                         state->own[i].pull[0], state->firm, here[0] - here[1],
                         here[2])
                .share;
    }
}

static double pull_of(const struct pri_server_newton *state,
                      const struct pri_split *split, double share)
{
    return 2 * pri_most(0, state->firm - split->plain) * share;
}

/* The proximal terms around the shares in the arcs. */
static void load_pulls(void *context, int32_t low, int32_t high,
                       struct pri_sweep_sums *tally)
{
    struct pri_server_newton *state = context;
    const struct pri_problem *problem = state->problem;
    const struct pri_server *server = state->server;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        state->own[i].pull[0] =
            pull_of(state, &server->self[i], problem->self[i].share);
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            int32_t back = problem->partner[l];
            state->offer[l].pull = (pri_two){
                pull_of(state, &server->arc[l], problem->arc[l].share),
                pull_of(state, &server->arc[back], problem->arc[back].share)};
        }
    }
}

/*
 * The multipliers as the certificate takes them. Without the proximal term a
 * link with a below it would answer without bounds to a z above lean root: k
 * is raised until none has one, which costs the bound little.
 */
static void store_point(void *context, int32_t low, int32_t high,
                        struct pri_sweep_sums *tally)
{
    struct pri_server_newton *state = context;
    const struct pri_problem *problem = state->problem;
    const struct pri_server *server = state->server;
    struct pri_point *point = &state->run->point;
    const double *dual = state->here.dual;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        const double *here = &dual[3 * (int64_t)i];
        double root = here[2];
        point->dual[2 * (int64_t)i] = here[0];
        point->dual[2 * (int64_t)i + 1] = here[1];
        for (int32_t l = problem->start[i] - 1;
             l < problem->start[i + 1] && server->bound[i]; l++) {
            bool own = l < problem->start[i];
            const struct pri_split *split =
                own ? &server->self[i] : &server->arc[l];
            double lean = own ? state->own[i].lean[0] : state->offer[l].lean[0];
            double z =
                here[0] - dual[3 * (int64_t)(own ? i : problem->to[l]) + 1];
            double share = own ? problem->self[i].share : problem->arc[l].share;
            double room = 2 * split->plain * (2 * share + 0.1);
            double cost = split->plain + split->noise / split->most;
            bool held = split->most < INFINITY &&
                        z * lean >= 4 * cost * split->most * root;
            if (!held && lean > 0)
                root = pri_most(root, (z - room) / lean);
        }
        server->multiplier[i] = root * root;
    }
}

/* Certify `here`; true if the run is over. */
static bool check(struct pri_server_newton *state)
{
    pri_sweep(state->problem, store_shares, state, NULL);
    pri_sweep(state->problem, store_point, state, NULL);
    state->run->point.sum = state->here.sum;
    state->server->all_whole = true;
    bool over = pri_run_certify(state->run);
    state->server->all_whole = false;
    return over;
}

/* ------------------------------------------------------------------- run -- */

static void free_state(struct pri_server_newton *state)
{
    pri_server_system_free(&state->system);
    free(state->here.dual);
    free(state->next.dual);
    free(state->step.dual);
    free(state->offer);
    free(state->own);
    free(state->slope);
    free(state->before);
    free(state->right);
    free(state->alone);
    free(state->follow);
}

static bool new_state(struct pri_run *run, struct pri_server_newton *state)
{
    int64_t nodes = run->problem->nodes;
    *state = (struct pri_server_newton){
        .run = run, .server = run->server, .problem = run->problem};
    bool made = pri_server_system_new(run->server, false, &state->system);
    state->system.least = 0;
    state->here.dual = pri_alloc(3 * nodes, sizeof(double));
    state->next.dual = pri_alloc(3 * nodes, sizeof(double));
    state->step.dual = pri_alloc(3 * nodes, sizeof(double));
    state->offer = pri_alloc(run->problem->arcs, sizeof *state->offer);
    state->own = pri_alloc(nodes, sizeof *state->own);
    state->slope = pri_alloc(3 * nodes, sizeof(double));
    state->before = pri_alloc(3 * nodes, sizeof(double));
    state->right = pri_alloc(3 * nodes, sizeof(double));
    state->alone = pri_alloc(2 * nodes, sizeof(double));
    state->follow = pri_alloc(nodes, sizeof(double));
    return made && state->here.dual && state->next.dual && state->step.dual &&
           state->offer && state->own && state->slope && state->before &&
           state->right && state->alone && state->follow;
}

/* The bias term, or, to begin with, none. */
static void set_bias(struct pri_server_newton *state, bool full)
{
    const struct pri_problem *problem = state->problem;
    bool soft = problem->bias == PRICER_BIAS_L2 && problem->penalty > 0;
    state->full = full;
    state->curvature = soft && !full ? 1 / (2 * problem->penalty) : 0;
    state->upper = full ? INFINITY : problem->upper_bound;
    state->lower = full ? -INFINITY : problem->lower_bound;
    state->system.cg.summed = problem->summed && !full;
}

/* Whether the sum multiplier moves with the rest; where the rest is far off it
 * waits. */
static void join(struct pri_server_newton *state, bool joined)
{
    state->system.cg.summed = state->problem->summed && joined;
    pri_server_newton_hold(state);
}

/* From full rows to the bias term. */
static void leave_full(struct pri_server_newton *state)
{
    set_bias(state, false);
    pri_server_newton_arrive(state);
    pri_server_newton_level(state);
    pri_server_newton_relax(state);
    pri_server_newton_evaluate(state);
    pri_server_newton_arrive(state);
    join(state, false);
}

/*
 * After a certificate that was not good enough: the proximal terms move to the
 * shares as they are, and grow weaker, at first quickly, and later where moving
 * them is no longer enough. Rows are solved for them at once: in their gains and
 * roots lies most of what such a change upsets.
 */
static void go_on(struct pri_server_newton *state)
{
    double gap = state->run->proof.gap, goal = state->run->tolerance;
    if (gap > 1e-3)
        state->firm *= 0.5;
    else if (gap > 0.6 * state->certified)
        state->firm *= 0.7;
    state->stale = gap > 0.95 * state->best ? state->stale + 1 : 0;
    state->best = pri_least(state->best, gap);
    state->certified = gap;
    state->aim = pri_least(1e-3, pri_most(2 * goal, 0.03 * gap));
    pri_sweep(state->problem, load_pulls, state, NULL);
    pri_server_newton_arrive(state);
    pri_server_newton_rows(state);
    pri_server_newton_evaluate(state);
    pri_server_newton_arrive(state);
    pri_server_newton_hold(state);
}

/* Repair `here` by coordinate descent, which takes pairs for two links, so that
 * it may fail. */
static void relax(struct pri_server_newton *state)
{
    double value = state->value;
    size_t bytes = 3 * (size_t)state->problem->nodes * sizeof(double);
    memcpy(state->next.dual, state->here.dual, bytes);
    state->next.sum = state->here.sum;
    pri_server_newton_relax(state);
    pri_server_newton_evaluate(state);
    if (!(state->value <= value)) {
        memcpy(state->next.dual, state->here.dual, bytes);
        pri_server_newton_evaluate(state);
    }
    pri_server_newton_arrive(state);
    pri_server_newton_hold(state);
}

/* Leave full rows, or let the sum multiplier wait or go on, as the estimate at
 * `here` and the last step suggest. */
static void choose_stage(struct pri_server_newton *state, bool late,
                         double before)
{
    bool joined = state->system.cg.summed == state->problem->summed;
    bool worse = state->length < 0.1 || state->gap > 10 * before;
    if (state->full) {
        if (late || state->gap < 0.01)
            leave_full(state);
    } else if (joined ? worse : state->gap < 1e-4) {
        join(state, !joined);
    }
    if (state->length < 0.05)
        relax(state);
}

/* Steps until the certificate is good enough, or nothing gets better. */
static void run_steps(struct pri_server_newton *state, int32_t most)
{
    struct pri_run *run = state->run;
    double before = INFINITY;
    int short_steps = 0;
    state->aim = 1e-3;
    state->certified = state->best = INFINITY;
    state->stale = 0;
    state->length = 1;
    for (int32_t k = 0; k < most && short_steps < 5 && state->stale < 6; k++) {
        pri_server_newton_hold(state);
        choose_stage(state, k >= 8, before);
        bool joined = state->system.cg.summed == state->problem->summed;
        if (joined && !state->full && state->gap < state->aim) {
            if (check(state))
                return;
            go_on(state);
        }
        before = state->gap;
        if (pri_run_interrupted(run, state->gap) ||
            !pri_server_newton_step(state))
            break;
        short_steps = state->length < 0.02 ? short_steps + 1 : 0;
    }
    if (state->full)
        leave_full(state);
    join(state, true);
    check(state);
}

/* ----------------------------------------------------------------- start -- */

static void set_firm(struct pri_server_newton *state, double part)
{
    double sum = 0;
    for (int32_t i = 0; i < state->problem->nodes; i++)
        sum += fabs(state->next.dual[3 * (int64_t)i] - state->next.sum);
    state->firm = part * sum / state->problem->nodes;
}

static void begin_cold(struct pri_server_newton *state)
{
    const struct pri_problem *problem = state->problem;
    bool fixed = problem->upper_bound == problem->lower_bound;
    set_bias(state, problem->summed && !fixed);
    state->firm = 1e-2;
    pri_server_newton_start(state);
    set_firm(state, 3e-2);
    if (!state->full)
        pri_server_newton_level(state);
    pri_server_newton_relax(state);
}

/* The multipliers and shares of a plan; false if one is not a number. */
static bool begin_warm(struct pri_server_newton *state,
                       const struct pricer_plan *plan)
{
    const struct pri_problem *problem = state->problem;
    const struct pricer_network *net = problem->network;
    const struct pri_server *server = state->server;
    struct pri_point *point = &state->run->point;
    double unit = 1 / (net->radius * net->radius), check = 0;
    if (!pri_problem_point(problem, plan, point))
        return false;
    set_bias(state, false);
    state->next.sum = point->sum;
    for (int32_t i = 0; i < problem->nodes; i++) {
        double *dual = &state->next.dual[3 * (int64_t)i];
        double k = plan->server_multiplier[i] * server->limit[i] * unit;
        dual[0] = point->dual[2 * (int64_t)i];
        dual[1] = point->dual[2 * (int64_t)i + 1];
        dual[2] = 0;
        if (server->bound[i])
            dual[2] = sqrt(pri_most(1e-6 * fabs(dual[0] - point->sum), k));
        check += dual[2];
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            int32_t link = problem->link == NULL ? l : problem->link[l];
            struct pri_arc *arc = &problem->arc[l];
            arc->share = 0;
            if (link >= 0 && arc->cost < INFINITY)
                arc->share = plan->weight[link] * net->p[link] *
                             net->uplink[problem->to[l]] * problem->wanted[i];
            check += arc->share;
        }
    }
    set_firm(state, 1e-3);
    pri_sweep(problem, load_pulls, state, NULL);
    pri_server_newton_rows(state);
    return isfinite(check);
}

/* Whether links that no budget binds answer too steeply. */
static bool is_steep(const struct pri_server *server)
{
    const struct pri_problem *problem = server->problem;
    bool steep = false;
    for (int32_t i = 0; i < problem->nodes && !steep; i++) {
        steep = !server->bound[i] && problem->self[i].cost < 1e-2;
        for (int32_t l = problem->start[i];
             l < problem->start[i + 1] && !server->bound[i]; l++)
            steep = steep || problem->arc[l].cost < 1e-2;
    }
    return steep;
}

enum pricer_status pri_server_newton(struct pri_run *run,
                                     const struct pricer_plan *warm)
{
    struct pri_server_newton state;
    enum pricer_status status = PRICER_MEMORY;
    if (is_steep(run->server))
        return PRICER_OK;
    if (!new_state(run, &state))
        goto done;
    status = PRICER_OK;
    pri_sweep(run->problem, load_leans, &state, NULL);
    if (warm == NULL)
        begin_cold(&state);
    else if (!begin_warm(&state, warm))
        goto done;
    pri_server_newton_evaluate(&state);
    pri_server_newton_arrive(&state);
    run_steps(&state, 60);
    run->system.cg.steps += state.system.cg.steps;
done:
    free_state(&state);
    return status;
}
