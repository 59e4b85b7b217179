/*
 * From what an observer sees of one node to what it costs: a bracket around the
 * eps that goes with a delta. What is bracketed is the mean of the divergence over
 * all patterns of links; what counts as bare, and how pairs are dealt with:
 * docs/mathematics.md, What one round shows to Decoupling.
 */
#include "exact.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* How wide groups of variances are, relative to their low end, at first; where
 * these were too wide, by how much the exponent of a sum may vary within one; an
 * identity that has fewer is given finer ones for its last try. */
#define WIDTH .03
#define GRAIN .1
#define FEW_GROUPS 64

/* Relative to eps: ends that are close enough, and what decoupling aims at. */
#define CLOSE 1e-3
#define AIM .008

/* Nodes of a line times groups of variances, at most, and where these were too
 * few, for an eps of no more than EPS_MATTERS; by how much of it lines are
 * blurred at first. */
#define STEPS 4e5
#define STEPS_MORE 3e6
#define EPS_MATTERS 1e15
#define BLUR 5e-4

/* What is as good as bare must be worth 1 but for this; data: in parts of delta. */
#define BARE_PART 1e-4

/* A larger eps is none: noise may have been raised to 1e-150 of what it hides
 * (view.c). Where that shows, losses are about 1e300; wherever an eps of less
 * than this is decided it is a part of 1e-30 of the variance, or the pattern is
 * worth 1 either way. */
#define EPS_MOST 1e250

/* The chi-square formula of one round of one sum is for fewer dimensions, and
 * cheap for fewer noises. */
enum { TRIES = 4, FEW_DIMENSIONS = 4, FEW_NOISES = 16 };
enum { BOTH = 1 << PRI_BELOW | 1 << PRI_ABOVE };

/* What one direction of an account works on. */
struct task {
    const struct pri_view *view;
    struct pri_scratch *scratch;
    double delta, width, work;
    double hide, most;        /* chosen, and the most that may count as bare */
    struct pri_saddle saddle; /* of the model from above */
    bool ready;               /* the model is that one */
};

/* Set the model to a side, every noise drawn by itself: by the order alone, or
 * decoupled for a growth of the curve, at any eps from `least` on. */
static enum pricer_status set_model(struct task *task, enum pri_side side,
                                    double growth, double least)
{
    struct pri_scratch *scratch = task->scratch;
    enum pricer_status status =
        pri_decouple(task->view, side, growth, least, &scratch->chances);
    return status != PRICER_OK ? status
                               : pri_sums_set(task->view, NULL, task->hide,
                                              task->width, scratch);
}

static void set_bare(struct task *task)
{
    struct pri_sums *model = &task->scratch->model;
    for (int side = 0; side < 2; side++)
        model->more[side] =
            pri_in_some_round(task->view, model->bare, model->rounds, side);
}

/* Which patterns count as bare, by the best Chernoff bound from above, where eps
 * is at most `known`. Of those that are next to nothing, only the most. */
static enum pricer_status choose_hide(struct task *task, double known)
{
    double hide[PRI_HIDES + 1], chosen = DBL_TRUE_MIN, bare = 0, next;
    int32_t count = pri_list_hides(task->view, hide);
    struct pri_sums *model = &task->scratch->model;
    struct pri_saddle best = {0, INFINITY};
    bool exact;
    for (int32_t k = 0; k < count && bare < task->delta; k++, bare = next) {
        next = k + 1 < count
                   ? pri_view_bare(task->view, hide[k + 1], model->rounds,
                                   PRI_BELOW, &task->scratch->chances, &exact)
                   : 1;
        if (bare < .95 * task->delta)
            task->most = hide[k];
        if (k > 0 && next < BARE_PART * task->delta)
            continue;
        task->hide = hide[k];
        enum pricer_status status = set_model(task, PRI_ABOVE, INFINITY, 0);
        if (status != PRICER_OK)
            return status;
        set_bare(task);
        double more = model->more[PRI_ABOVE];
        if (!(more < task->delta))
            continue;
        struct pri_saddle saddle = pri_sums_saddle(model, task->delta - more);
        double part = task->view->dimension > 0 ? 1 : more / task->delta;
        if (saddle.eps < best.eps &&
            part * (1 - pri_worth_of_bare(task->view, model->function.direction,
                                          hide[k], fmin(saddle.eps, known))) <
                BARE_PART) {
            best = saddle;
            chosen = hide[k];
        }
    }
    task->ready = chosen == task->hide && task->view->pairs == 0;
    task->hide = chosen;
    task->saddle = best;
    return PRICER_OK;
}

/* What the model proves, for an eps of at most `most`, and up to the eps of the
 * task for what is bare below; `known`: its saddle is that of the task. */
static enum pricer_status prove(struct task *task, int sides, bool known,
                                double most, struct pri_bracket *found)
{
    struct pri_sums *model = &task->scratch->model;
    model->more[PRI_BELOW] *=
        pri_worth_of_bare(task->view, model->function.direction, task->hide,
                          fmin(task->saddle.eps, found->eps));
    double left = task->delta - model->more[PRI_ABOVE];
    if (!(left > 0))
        return PRICER_OK;
    struct pri_saddle saddle =
        known ? task->saddle : pri_sums_saddle(model, left);
    if (model->exact != NULL && !isfinite(saddle.eps))
        return PRICER_OK;
    /* Chernoff's eps is not that of a raised curve. */
    saddle.eps = isfinite(model->growth) ? most : fmin(saddle.eps, most);
    return pri_sums_bracket(model, task->delta, saddle, sides, task->scratch,
                            found);
}

/* One end, or both, with every noise drawn by itself. What is as good as bare
 * counts as 1 from above, and as what it is worth from below. */
static enum pricer_status one_side(struct task *task, int sides, double growth,
                                   double least, struct pri_bracket *found)
{
    struct pri_sums *model = &task->scratch->model;
    enum pri_side side = sides == 1 << PRI_BELOW ? PRI_BELOW : PRI_ABOVE;
    bool order = isinf(growth), ready = task->ready && side == PRI_ABOVE;
    enum pricer_status status =
        ready ? PRICER_OK : set_model(task, side, growth, least);
    task->ready = false;
    if (status != PRICER_OK)
        return status;
    set_bare(task);
    model->growth = growth;
    status =
        prove(task, sides, ready, order ? task->saddle.eps : found->eps, found);
    model->growth = INFINITY;
    return status;
}

/* f''/f' = eps^2/2x^2 - 1/2x - 1/8 from x on, at most. */
static double growth_at(double eps, double x)
{
    double ratio = eps / x;
    return fmax(ratio * ratio / 2 - 0.125, 1 / x);
}

/* The mu^2 at which delta_G is that. */
static enum pricer_status where(double eps, double delta, double *at)
{
    struct pri_rounds law = {0};
    long double mu;
    enum pricer_status status =
        pri_calibrate(PRICER_CALIBRATION_ANALYTIC, eps, delta, 1, 1, &law, &mu);
    pri_rounds_free(&law);
    *at = (double)(mu * mu);
    return status;
}

/* Both ends with all couplings at once, where that is possible. */
static enum pricer_status by_exact(struct task *task, struct pri_bracket *found)
{
    const struct pri_view *view = task->view;
    struct pri_sums *model = &task->scratch->model;
    struct pri_exact *exact = NULL;
    bool *apart = pri_alloc(view->sources, sizeof *apart), sure;
    bool exact_laws = model->exact_laws; /* of all sums, not of those apart */
    enum pricer_status status =
        apart == NULL ? PRICER_MEMORY
                      : pri_exact_build(view, &model->function, task->hide,
                                        task->work, apart, &exact);
    if (status == PRICER_OK && exact != NULL) {
        for (int side = 0; side < 2; side++)
            model->more[side] =
                pri_view_bare(view, task->hide, model->rounds, side,
                              &task->scratch->chances, &sure);
        pri_plain_chances(view, &task->scratch->chances);
        status =
            pri_sums_set(view, apart, task->hide, task->width, task->scratch);
        model->most += exact->coupling.most * (1 + 1e-9);
        model->highest = fmax(model->highest, exact->coupling.highest);
        model->strip = fmin(model->strip, exact->strip);
        model->exact = exact;
        if (status == PRICER_OK)
            status = prove(task, BOTH, false, task->saddle.eps, found);
    }
    model->exact = NULL;
    model->exact_laws = exact_laws;
    pri_exact_free(exact);
    free(apart);
    return status;
}

/* One end of data with its pairs decoupled. The curve is one for any eps from
 * `least` on: an end below is moved in, or given up. */
static enum pricer_status decoupled_end(struct task *task, enum pri_side side,
                                        double growth, double least,
                                        const struct pri_bracket *known,
                                        double *eps)
{
    struct pri_bracket found = {known->eps, 0, 0, true};
    enum pricer_status status =
        one_side(task, 1 << side, growth, least, &found);
    *eps = side == PRI_ABOVE          ? fmax(found.eps, least)
           : found.eps_lower >= least ? found.eps_lower
                                      : 0;
    return status;
}

/* Both ends of data with the pairs decoupled by more than their order: a small
 * growth says more of the pairs and less of the curve, so from above the best
 * is looked for, downhill from where the curve alone costs all of delta. */
static enum pricer_status by_decoupling(struct task *task,
                                        struct pri_bracket *found)
{
    double least = fmax(found->eps_lower, .8 * found->eps) * (1 - 1e-9);
    double above, below, now = INFINITY;
    enum pricer_status status = where(least, 5e-3 * task->delta, &below);
    if (status == PRICER_OK)
        status = where(found->eps, fmin(task->delta, .01), &above);
    double best = growth_at(found->eps, above);
    if (status != PRICER_OK || !isfinite(best) || !isfinite(task->saddle.eps))
        return status;
    struct pri_bracket known = *found;
    status = decoupled_end(task, PRI_ABOVE, best, least, &known, &now);
    found->eps = fmin(found->eps, now);
    for (double factor = .7; factor < .98; factor = sqrt(factor))
        for (int up = 0; up < 2; up++)
            for (int k = 0; k < 8 && status == PRICER_OK; k++) {
                double next = up ? best / factor : best * factor;
                status =
                    decoupled_end(task, PRI_ABOVE, next, least, &known, &now);
                if (!(now < found->eps))
                    break;
                found->eps = now;
                best = next;
            }
    if (status == PRICER_OK)
        status = decoupled_end(task, PRI_BELOW, growth_at(known.eps, below),
                               least, &known, &now);
    if (status == PRICER_OK && now <= found->eps)
        found->eps_lower = fmax(found->eps_lower, now);
    return status;
}

/* Both ends where pairs are coupled: by ever dearer means, until the ends are
 * close. */
static enum pricer_status coupled(struct task *task, struct pri_bracket *found)
{
    struct pri_sums *model = &task->scratch->model;
    enum pricer_status status = PRICER_OK;
    if (isfinite(found->eps))
        status = one_side(task, 1 << PRI_ABOVE, INFINITY, 0, found);
    if (status == PRICER_OK)
        status = one_side(task, 1 << PRI_BELOW, INFINITY, 0, found);
    if (status == PRICER_OK && !pri_within(found, CLOSE))
        status = by_exact(task, found);
    if (status == PRICER_OK && isfinite(found->eps) &&
        !pri_within(found, 2 * CLOSE) && model->function.kernel == PRI_MEAN) {
        model->function.kernel = PRI_LOSS;
        status = by_exact(task, found);
        model->function.kernel = PRI_MEAN;
    }
    double hide = task->hide;
    task->hide = task->most;
    if (status == PRICER_OK && hide != task->most &&
        !pri_within(found, 2 * CLOSE))
        status = by_exact(task, found);
    task->hide = hide;
    /* What is known of eps says where the curve bends: as long as that helps. */
    for (double last = INFINITY;
         status == PRICER_OK && task->view->dimension == 0 && found->eps > 0 &&
         found->eps < last * (1 - CLOSE) && !pri_within(found, AIM);) {
        last = found->eps;
        status = by_decoupling(task, found);
    }
    return status;
}

/* One direction: finer groups until the ends are close, or until eps is no more
 * than `least`, which is known to be too little anyway. */
static enum pricer_status one_direction(struct task *task, double least,
                                        struct pri_bracket *found)
{
    struct pri_sums *model = &task->scratch->model;
    const struct pri_view *view = task->view;
    bool exact;
    task->width = WIDTH;
    model->steps = STEPS;
    model->blur = BLUR;
    model->cut_short = model->fine = false;
    /* No eps pays for what is often bare; what is rarely seen costs none. */
    double seen = 0, goal = pri_delta_for(task->delta, PRI_BELOW);
    bool bare = pri_view_bare(view, DBL_TRUE_MIN, model->rounds, PRI_BELOW,
                              &task->scratch->chances, &exact) > goal;
    for (int32_t k = 0; k < view->sources; k++)
        seen += pri_seen(&view->source[k]) * (1 + 1e-12);
    if (bare || (double)model->rounds * seen <= task->delta) {
        found->eps = found->eps_lower = bare ? INFINITY : 0;
        return PRICER_OK;
    }
    enum pricer_status status = choose_hide(task, INFINITY);
    found->eps = fmin(found->eps, task->saddle.eps);
    int tries = TRIES - (model->rounds == 1 && view->sources == 1);
    for (int try = 0; try < tries && status == PRICER_OK; try++) {
        if (found->eps <= least || pri_within(found, CLOSE) ||
            (isinf(found->eps) && view->pairs == 0))
            break;
        status = view->pairs > 0 ? coupled(task, found)
                                 : one_side(task, BOTH, INFINITY, 0, found);
        bool wide = !pri_within(found, model->cut_short ? CLOSE : 2 * CLOSE);
        model->fine = found->eps < EPS_MATTERS && wide &&
                      (try > 1 || model->exact_laws || model->cut_short);
        if (model->exact_laws && (try > 0 || !model->fine))
            break;
        model->steps = model->cut_short && model->fine ? STEPS_MORE : STEPS;
        /* Groups of an identity are too wide for what is far along a line. */
        model->blur *= view->dimension > 0 ? 2 : 1;
        bool few = model->factor->law.count < FEW_GROUPS;
        task->width /= view->dimension > 0 && try > 1 && few ? 16 : 4;
        if (view->dimension == 0 && task->saddle.s > 0)
            model->grain =
                GRAIN / task->saddle.s / pow(10, try * (try + 1) / 2);
        if (status == PRICER_OK && model->cut_short &&
            found->eps < task->saddle.eps / 2)
            status = choose_hide(task, found->eps);
    }
    return status;
}

struct pri_scratch *pri_scratch_new(void)
{
    return pri_alloc(1, sizeof(struct pri_scratch));
}

void pri_scratch_free(struct pri_scratch *scratch)
{
    if (scratch == NULL)
        return;
    for (int32_t k = 0; k < scratch->model.room; k++) {
        pri_law_free(&scratch->model.factor[k].law);
        pri_law_free(&scratch->model.factor[k].sketch);
    }
    free(scratch->model.factor);
    free(scratch->chances.chance);
    pri_law_free(&scratch->spare);
    for (int k = 0; k < PRI_SHELLS; k++)
        pri_line_free(&scratch->line[k]);
    pri_line_free(&scratch->along);
    *scratch = (struct pri_scratch){0};
}

static enum pricer_status reserve(struct pri_scratch *scratch,
                                  const struct pri_view *view)
{
    struct pri_chances *chances = &scratch->chances;
    int64_t room = view->noises > view->sources ? view->noises : view->sources;
    if (room <= scratch->room)
        return PRICER_OK;
    free(chances->chance);
    chances->chance = pri_alloc(6 * room, sizeof(double));
    scratch->room = chances->chance == NULL ? 0 : 2 * room;
    chances->absent = chances->chance + scratch->room;
    chances->link = chances->absent + scratch->room;
    return scratch->room > 0 ? PRICER_OK : PRICER_MEMORY;
}

enum pricer_status pri_view_account(const struct pri_view *view, double delta,
                                    int64_t rounds, double work,
                                    struct pri_scratch *scratch,
                                    struct pri_bracket *bracket)
{
    struct pri_bracket found = {0, 0, 0, true};
    struct task task = {view, scratch, .delta = delta, .work = work};
    int directions = view->dimension > 0 ? 2 : 1;
    enum pricer_status status = reserve(scratch, view);
    if (status != PRICER_OK)
        return status;
    scratch->model.rounds = rounds;
    scratch->model.growth = scratch->model.grain = INFINITY;
    scratch->model.exact = NULL;
    found.floor = pri_view_bare(view, DBL_TRUE_MIN, rounds, PRI_ABOVE,
                                &scratch->chances, &found.floor_exact);
    bool lone = rounds == 1 && view->sources == 1;
    if (lone && view->dimension > 0 && view->dimension < FEW_DIMENSIONS)
        directions = 0;
    /* The last, with against without, tells more as a rule and spares the other. */
    for (int k = directions - 1; k >= 0 && status == PRICER_OK; k--) {
        struct pri_bracket one = {INFINITY, 0, 0, true};
        scratch->model.function = (struct pri_function){
            view->dimension > 0 ? PRI_LOSS : PRI_MEAN, k, view->dimension};
        status = one_direction(&task, found.eps_lower, &one);
        found.eps = fmax(found.eps, one.eps);
        found.eps_lower = fmax(found.eps_lower, one.eps_lower);
    }
    if (status == PRICER_OK && isfinite(found.eps) && !pri_within(&found, AIM))
        pri_lone_sums(view, rounds, delta, &found);
    double close = view->noises < FEW_NOISES ? 2 * CLOSE : 5 * CLOSE;
    close = view->dimension > 0 ? close : CLOSE;
    if (status == PRICER_OK && lone &&
        (directions == 0 || !pri_within(&found, close))) {
        struct pri_bracket one = found;
        status = pri_sum_once(view, delta, scratch, &one);
        found.eps = directions == 0 ? one.eps : fmin(found.eps, one.eps);
        found.eps_lower = fmax(found.eps_lower, one.eps_lower);
    }
    if (found.eps > EPS_MOST)
        found.eps = INFINITY;
    if (status == PRICER_OK)
        *bracket = found;
    return status;
}
