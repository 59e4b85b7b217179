/*
 * From a network to its trade-off: the least error for budgets times a factor,
 * and the factor at which an error or an eps is reached.
 *
 * The least objective never rises with a budget, so the factor of a wanted error
 * is a root of a monotone function: it is bracketed, then closed in on by the
 * false position with the Illinois rule, in logarithms. Every plan begins near
 * the one before it.
 */
#include "advise.h"
#include "advise_point.h"
#include "common/meaning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Factors beyond this are not looked at. */
#define FURTHEST 1e9

static double largest_finite(double most, const double *eps, int32_t count)
{
    for (int32_t k = 0; k < count && eps != NULL; k++)
        if (isfinite(eps[k]) && !(eps[k] <= most))
            most = eps[k];
    return most;
}

/* The largest finite budget of a kind; NAN: there is none. Over all relays
 * counts before the own part alone. */
static double largest_budget(const struct pricer_network *net,
                             enum towards towards)
{
    double links = largest_finite(NAN, net->eps, net->links);
    double server = largest_finite(NAN, net->server_eps, net->nodes);
    if (isnan(server))
        server = largest_finite(NAN, net->self_eps, net->nodes);
    if (towards == TOWARDS_LINKS)
        return links;
    return towards == TOWARDS_SERVER ? server : fmax(links, server);
}

static void scale(struct variant *variant, enum towards towards, double factor)
{
    if (towards != TOWARDS_SERVER)
        variant_scale_links(variant, factor);
    if (towards != TOWARDS_LINKS)
        variant_scale_server(variant, factor);
}

enum pricer_status advise_point(struct advice *advice,
                                const struct pricer_network *network,
                                struct pricer_plan **warm,
                                struct advice_point *point)
{
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_certificate found;
    struct pricer_error error;
    enum pricer_status status = pricer_plan_optimise(
        network, &advice->settings, *warm, &plan, &info, &advice->fault);
    if (status == PRICER_OK)
        status = pricer_plan_verify(network, &advice->settings, plan, &found,
                                    &advice->fault);
    if (status == PRICER_OK)
        status = pricer_plan_evaluate(network, &advice->settings, plan, &error,
                                      &advice->fault);
    if (status == PRICER_OK &&
        (!found.feasible || found.open_budgets > 0 ||
         (found.open_links > 0 &&
          advice->settings.calibration == PRICER_CALIBRATION_ANALYTIC))) {
        snprintf(advice->fault.text, sizeof advice->fault.text,
                 "a plan does not pass its own check: %.300s", found.words);
        status = PRICER_VALUE;
    }
    if (status == PRICER_OK && info.outcome == PRICER_OUTCOME_STOPPED)
        status = PRICER_STOPPED;
    if (status != PRICER_OK) {
        pricer_plan_free(plan);
        return status;
    }
    point->objective = error.objective;
    point->worst_case = error.mse_worst_case;
    point->bound = fmax(found.bound, 0);
    point->gap =
        error.objective > 0
            ? fmax(0, (error.objective - point->bound) / error.objective)
            : 0;
    pricer_plan_free(*warm);
    *warm = plan;
    advice->made++;
    return PRICER_OK;
}

enum pricer_status advise_here(struct advice *advice)
{
    const struct pricer_network *net = advice->from.network;
    advice->here = (struct advice_point){
        .factor = 1, .eps = largest_budget(net, TOWARDS_EVERYONE)};
    for (int k = 0; k < TOWARDS_KINDS; k++)
        advice->varies[k] = !isnan(largest_budget(net, (enum towards)k));
    return advise_point(advice, net, &advice->plan, &advice->here);
}

/* --------------------------------------------------------------- curves -- */

/* The plan for budgets of a kind times a factor, near *warm. */
static enum pricer_status at_factor(struct advice *advice,
                                    struct variant *variant,
                                    enum towards towards, double factor,
                                    struct pricer_plan **warm,
                                    struct advice_point *point)
{
    point->factor = factor;
    variant_reset(variant, advice->from.network);
    scale(variant, towards, factor);
    point->eps = largest_budget(&variant->network, towards);
    return advise_point(advice, &variant->network, warm, point);
}

static enum pricer_status one_curve(struct advice *advice,
                                    struct variant *variant,
                                    enum towards towards)
{
    struct pricer_plan *warm = NULL;
    struct advice_point full = {0};
    int points = advice->points;
    double span = log(advice->request.span);
    enum pricer_status status = PRICER_OK;
    for (int k = 0; k < points && status == PRICER_OK; k++) {
        double place = points > 1 ? 2. * k / (points - 1) - 1 : 0;
        double factor = 2 * k + 1 == points ? 1 : exp(span * place);
        status = at_factor(advice, variant, towards, factor, &warm,
                           &advice->curve[towards][k]);
    }
    if (status == PRICER_OK)
        status = at_factor(advice, variant, towards, INFINITY, &warm, &full);
    if (status == PRICER_OK)
        advice->limit[towards] = full.objective;
    pricer_plan_free(warm);
    return status;
}

enum pricer_status advise_curves(struct advice *advice)
{
    struct variant variant;
    enum pricer_status status = variant_make(advice->from.network, &variant);
    if (status != PRICER_OK)
        return status;
    advice->points = (int)advice->request.points;
    for (int k = 0; k < TOWARDS_KINDS && status == PRICER_OK; k++)
        if (advice->varies[k])
            status = one_curve(advice, &variant, (enum towards)k);
    variant_free(&variant);
    return status;
}

/* --------------------------------------------------------------- wanted -- */

/* A point of the search: ln of the factor, and ln of how far the objective is
 * above what is wanted. */
struct end {
    double at, above;
};

struct search {
    struct advice *advice;
    struct variant *variant;
    enum towards towards;
    struct pricer_plan *warm;
    struct advice_point *best;
};

static enum pricer_status look(struct search *search, double at,
                               struct end *end)
{
    struct advice *advice = search->advice;
    enum pricer_status status =
        at_factor(advice, search->variant, search->towards, exp(at),
                  &search->warm, search->best);
    if (status == PRICER_OK)
        *end = (struct end){at,
                            log(search->best->objective) - log(advice->wanted)};
    return status;
}

/* From factor 1 outwards, a factor of 4 a step, until the ends are on both
 * sides. *reached: whether they are. */
static enum pricer_status bracket(struct search *search, struct end *low,
                                  struct end *high, bool *reached)
{
    double step = log(4), most = log(FURTHEST);
    enum pricer_status status = look(search, 0, low);
    *high = *low;
    *reached = true;
    while (status == PRICER_OK && low->above < 0 && low->at > -most) {
        *high = *low;
        status = look(search, low->at - step, low);
    }
    while (status == PRICER_OK && high->above > 0 && high->at < most) {
        *low = *high;
        status = look(search, high->at + step, high);
    }
    *reached = low->above >= 0 && high->above <= 0;
    return status;
}

static enum pricer_status close_in(struct search *search, struct end low,
                                   struct end high)
{
    enum pricer_status status = PRICER_OK;
    double left = low.above, right = high.above;
    for (int k = 0; k < 200 && status == PRICER_OK; k++) {
        struct end middle;
        if (high.at - low.at < 1e-12 || fabs(low.above) < 1e-12)
            return look(search, low.at, &low);
        if (fabs(high.above) < 1e-12)
            break;
        double at = (low.at * right - high.at * left) / (right - left);
        if (!(at > low.at && at < high.at))
            at = (low.at + high.at) / 2;
        status = look(search, at, &middle);
        if (status != PRICER_OK || fabs(middle.above) < 1e-11)
            return status;
        if (middle.above > 0) {
            low = middle;
            left = middle.above;
            right /= 2; /* the other end stays: Illinois */
        } else {
            high = middle;
            right = middle.above;
            left /= 2;
        }
        if (k % 8 == 7) { /* a bisection now and then, whatever the shape */
            left = low.above;
            right = high.above;
            status = look(search, (low.at + high.at) / 2, &middle);
            *(middle.above > 0 ? &low : &high) = middle;
        }
    }
    return status == PRICER_OK ? look(search, high.at, &high) : status;
}

static enum pricer_status reach_error(struct search *search)
{
    struct advice *advice = search->advice;
    struct end low, high;
    bool reached = false;
    enum pricer_status status = PRICER_OK;
    search->best = &advice->at_error;
    if (advice->wanted > advice->limit[search->towards])
        status = bracket(search, &low, &high, &reached);
    if (status == PRICER_OK && reached)
        status = close_in(search, low, high);
    else
        advice->at_error.factor = NAN;
    return status;
}

enum pricer_status advise_wanted(struct advice *advice)
{
    struct variant variant;
    struct search search = {.advice = advice,
                            .towards = (enum towards)advice->request.towards,
                            .best = &advice->at_eps};
    double now = largest_budget(advice->from.network, search.towards);
    advice->wants_eps = advice->request.eps > 0;
    if (!advice->wants_eps && !advice->wants_error)
        return PRICER_OK;
    if (!advice->varies[search.towards]) {
        snprintf(advice->fault.text, sizeof advice->fault.text,
                 "there is no finite budget to change: every eps of this kind "
                 "is unlimited");
        return PRICER_VALUE;
    }
    enum pricer_status status = variant_make(advice->from.network, &variant);
    if (status != PRICER_OK)
        return status;
    search.variant = &variant;
    if (advice->wants_eps)
        status =
            at_factor(advice, &variant, search.towards,
                      advice->request.eps / now, &search.warm, &advice->at_eps);
    if (status == PRICER_OK && advice->wants_error)
        status = reach_error(&search);
    if (status == PRICER_OK && now < MEANING_WEAK &&
        advice->at_error.eps > MEANING_WEAK)
        status = at_factor(advice, &variant, search.towards, MEANING_WEAK / now,
                           &search.warm, &advice->at_weak);
    pricer_plan_free(search.warm);
    variant_free(&variant);
    return status;
}

bool advise_read_error(const char *text, double centre, double *error)
{
    char *end;
    double value = strtod(text, &end);
    if (end != text && *end == '%' && end[1] == '\0')
        value *= centre / 100;
    else if (end == text || *end != '\0')
        return false;
    *error = value;
    return value > 0 && isfinite(value);
}

/* -------------------------------------------------------------- changes -- */

enum pricer_status advise_changes(struct advice *advice)
{
    const struct pricer_network *network = advice->from.network;
    yardsticks_find(network, &advice->settings, &advice->yardsticks);
    yardsticks_remedies(network, &advice->settings, &advice->yardsticks);
    return progress_stopped() ? PRICER_STOPPED : PRICER_OK;
}
