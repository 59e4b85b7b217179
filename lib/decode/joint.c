/*
 * From a network to a plan that is made for its decoder.
 *
 * The ordinary plan is best for a server that counts every sum 1/n. Here the
 * weights alpha minimise what the minimax decoder leaves, Phi(alpha) = max over
 * X of g(X; alpha), with noise in proportion to weight (sigma = rho alpha), so
 * that every alpha keeps the budgets. Phi is not convex, but smooth where its X
 * is the only one, and by the envelope theorem its slope is that of g at this
 * X:
 *
 *     d/d alpha_ij = 2 E[beta_j tau_j tau_ij ((X r)_i + d beta_j rho_ij^2
 *                    alpha_ij)].
 *
 * Starts: the genie's mean coefficient of every payload, where it arrives and
 * on average, and the ordinary plan; the best of them goes on. Each value of
 * Phi climbs on from the last X.
 *
 * Nothing that is claimed depends on how well that went: the plan is given a
 * decoder by pricer_decoder_fit(), judged on patterns that nothing here saw,
 * and is handed out only where its B is below that of the ordinary plan.
 * The size of a relay's row is of no account to the decoder; it is set such
 * that 1/n is the root mean square of the relay's coefficients.
 */
#include "rows.h"
#include "network/network.h"
#include "calibrate/calibrate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS = 3 };

/* What the search works with. */
struct joint {
    const struct pricer_network *network;
    const struct pricer_plan *ordinary;
    struct pricer_decoder_settings ask;
    double unit;                /* dimension / radius^2 */
    double *slope, *self_slope; /* [links], [nodes] rho */
    struct pri_rows rows;       /* every entry; weights as they are tried */
    struct pri_rows payload, own_rows;
    struct pri_patterns patterns, few; /* to go on, and to choose a start */
    struct pri_court court;
    int32_t rank, looks, evaluations;
    double *own, *shared, *x, *target; /* X and what follows from it */
    double *near_own, *near_shared;    /* X as a value found it */
    double *entry;                     /* [2][entries] */
    double *loud;                      /* [entries] d rho^2 / R^2 */
    double *size;                      /* [entries] of a variable per alpha */
    double *start[STARTS], value[STARTS]; /* [entries] variables */
};

static void joint_free(struct joint *joint)
{
    pri_team_free(joint->court.team);
    free(joint->slope);
    free(joint->self_slope);
    pri_rows_free(&joint->rows);
    pri_rows_free(&joint->payload);
    pri_rows_free(&joint->own_rows);
    pri_patterns_free(&joint->patterns);
    pri_patterns_free(&joint->few);
    free(joint->own);
    free(joint->shared);
    free(joint->x);
    free(joint->target);
    free(joint->near_own);
    free(joint->near_shared);
    free(joint->entry);
    free(joint->loud);
    free(joint->size);
    for (int k = 0; k < STARTS; k++)
        free(joint->start[k]);
}

/* ---------------------------------------------------------------- budgets -- */

/*
 * The ratio of noise and weight of a plan's link, rounded up, so that its
 * square is within the server's budget of its node again; none, where the
 * link is not used.
 */
static double ratio_of(double noise, double weight)
{
    return weight > 0 ? noise / weight * (1 + 4 * DBL_EPSILON) : INFINITY;
}

/*
 * rho of every link. Claim: with noise of at least rho times weight every
 * budget is kept, whatever the weights. That of a link asks for its slope; that
 * towards the server adds up the squared ratios of a node's links, which
 * are those of the ordinary plan.
 */
static enum pricer_status find_slopes(struct joint *joint,
                                      const struct pricer_settings *settings,
                                      struct pricer_fault *fault)
{
    const struct pricer_network *network = joint->network;
    const struct pricer_plan *plan = joint->ordinary;
    joint->slope = pri_alloc(network->links, sizeof(double));
    joint->self_slope = pri_alloc(network->nodes, sizeof(double));
    if (!joint->slope || !joint->self_slope)
        return PRICER_MEMORY;
    enum pricer_status status = pri_noise_slopes(
        network, settings, joint->slope, joint->self_slope, fault);
    if (status != PRICER_OK || network->server_eps == NULL)
        return status;
    for (int32_t l = 0; l < network->links; l++)
        joint->slope[l] =
            fmax(joint->slope[l], ratio_of(plan->noise[l], plan->weight[l]));
    for (int32_t i = 0; i < network->nodes; i++)
        joint->self_slope[i] =
            fmax(joint->self_slope[i],
                 ratio_of(plan->self_noise[i], plan->self_weight[i]));
    return PRICER_OK;
}

static double slope_of(const struct joint *joint, int32_t k)
{
    int32_t l = joint->rows.link[k];
    return l < 0 ? joint->self_slope[joint->rows.from[k]] : joint->slope[l];
}

/* ------------------------------------------------------------------ value -- */

/* Put weights on the rows. */
static void set_weights(struct joint *joint, const double *at)
{
    for (int32_t k = 0; k < joint->rows.entries; k++) {
        double alpha = at[k] > 0 ? at[k] / joint->size[k] : 0;
        joint->rows.weight[k] = alpha;
        joint->rows.noise[k] = alpha > 0 ? joint->loud[k] * alpha * alpha : 0;
    }
}

/* What coefficients do to every entry, at the X at hand. */
static enum pricer_status judge_entries(struct joint *joint,
                                        const struct pri_court *court,
                                        double *value)
{
    struct pri_model model = {.nodes = joint->network->nodes,
                              .rank = joint->rank,
                              .own = joint->near_own,
                              .shared = joint->near_shared,
                              .target = joint->target,
                              .blend = 1};
    struct pri_judgement judgement = {.entry = joint->entry};
    pri_model_complete(&model, joint->x);
    pri_model_target(&model, joint->target);
    enum pricer_status status = pri_judge(court, &model, &judgement);
    *value = judgement.value;
    return status;
}

/* Phi and its slope by the variables. */
static enum pricer_status value_at(void *context, const double *at,
                                   double *value, double *slope)
{
    struct joint *joint = context;
    int64_t n = joint->network->nodes, entries = joint->rows.entries;
    double climbed;
    if (!pri_tick(joint->ask.watch, 1 - 1 / (1 + joint->evaluations++ / 40.0)))
        return PRICER_STOPPED;
    set_weights(joint, at);
    memcpy(joint->near_own, joint->own, (size_t)n * sizeof(double));
    memcpy(joint->near_shared, joint->shared,
           (size_t)(n * joint->rank) * sizeof(double));
    enum pricer_status status =
        pri_refit(&joint->court, joint->rank, joint->looks, joint->near_own,
                  joint->near_shared, &climbed);
    if (status == PRICER_OK)
        status = judge_entries(joint, &joint->court, value);
    if (status != PRICER_OK)
        return status;
    memcpy(joint->own, joint->near_own, (size_t)n * sizeof(double));
    memcpy(joint->shared, joint->near_shared,
           (size_t)(n * joint->rank) * sizeof(double));
    for (int64_t k = 0; k < entries; k++) {
        bool usable = isfinite(joint->size[k]);
        double noise = usable ? joint->loud[k] * joint->rows.weight[k] : 0;
        slope[k] =
            usable ? 2 * (joint->entry[k] + joint->entry[entries + k] * noise) /
                         joint->size[k]
                   : 0;
    }
    return PRICER_OK;
}

/* ----------------------------------------------------------------- starts -- */

/* The genie's mean coefficients: on average, and where the payload arrives. */
static enum pricer_status start_from_genie(struct joint *joint)
{
    int32_t entries = joint->rows.entries, n = joint->network->nodes;
    struct pri_court genie = joint->court;
    double value;
    genie.rows = &joint->own_rows;
    genie.payload = &joint->payload;
    genie.unit = joint->unit;
    enum pricer_status status = pri_fit(&genie, joint->rank, NULL, NULL,
                                        joint->near_own, joint->near_shared);
    if (status == PRICER_OK)
        status = judge_entries(joint, &genie, &value);
    for (int32_t k = 0; k < entries && status == PRICER_OK; k++) {
        double mean = fmax(n * joint->entry[k], 0);
        double came = joint->entry[entries + k];
        bool usable = isfinite(joint->size[k]) && came > 0;
        joint->start[0][k] = usable ? mean * joint->size[k] : 0;
        joint->start[1][k] = usable ? mean / came * joint->size[k] : 0;
    }
    return status;
}

static void start_from_plan(struct joint *joint)
{
    const struct pricer_plan *plan = joint->ordinary;
    for (int32_t k = 0; k < joint->rows.entries; k++) {
        int32_t l = joint->rows.link[k];
        double weight =
            l < 0 ? plan->self_weight[joint->rows.from[k]] : plan->weight[l];
        joint->start[2][k] =
            isfinite(joint->size[k]) ? weight * joint->size[k] : 0;
    }
}

/* Descend from every start for a while, then from the best to the end. */
static enum pricer_status search(struct joint *joint, const double **best)
{
    int chosen = 0;
    struct pri_smooth smooth = {value_at, joint, joint->rows.entries, 1e-5,
                                joint->network->nodes <= PRI_SMALL ? 25 : 12};
    joint->court.patterns = &joint->few;
    enum pricer_status status = start_from_genie(joint);
    start_from_plan(joint);
    for (int k = 0; k < STARTS && status == PRICER_OK; k++) {
        set_weights(joint, joint->start[k]);
        status = pri_fit(&joint->court, joint->rank, NULL, NULL, joint->own,
                         joint->shared);
        if (status == PRICER_OK)
            status =
                pri_descend_within(&smooth, joint->start[k], &joint->value[k]);
        if (joint->value[k] < joint->value[chosen])
            chosen = k;
    }
    smooth.tolerance = 1e-6;
    smooth.limit *= 5;
    joint->court.patterns = &joint->patterns;
    if (status == PRICER_OK) {
        set_weights(joint, joint->start[chosen]);
        status = pri_fit(&joint->court, joint->rank, NULL, NULL, joint->own,
                         joint->shared);
    }
    if (status == PRICER_OK)
        status = pri_descend_within(&smooth, joint->start[chosen],
                                    &joint->value[chosen]);
    *best = joint->start[chosen];
    return status;
}

/* ------------------------------------------------------------------- plan -- */

/* The plan of the rows' weights, rows scaled; the multipliers, which bound
 * every plan, are the ordinary one's. */
static enum pricer_status write_plan(struct joint *joint, const double *at,
                                     struct pricer_plan **plan,
                                     struct pricer_fault *fault)
{
    const struct pricer_network *network = joint->network;
    const struct pricer_plan *ordinary = joint->ordinary;
    const struct pri_rows *rows = &joint->rows;
    int32_t n = network->nodes;
    double value;
    set_weights(joint, at);
    enum pricer_status status = judge_entries(joint, &joint->court, &value);
    if (status == PRICER_OK)
        status = pricer_plan_new(network, plan, fault);
    for (int32_t j = 0; j < n && status == PRICER_OK; j++) {
        double square = 0, up = 0, scale = 0;
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            if (rows->link[k] < 0) {
                square = joint->entry[rows->entries + k];
                up = network->uplink[j];
            }
        if (up > 0 && square > 0)
            scale = n * sqrt(square / up);
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
            int32_t l = rows->link[k];
            double alpha = scale * rows->weight[k];
            double noise = alpha > 0 ? slope_of(joint, k) * alpha : 0;
            *(l < 0 ? &(*plan)->self_weight[j] : &(*plan)->weight[l]) = alpha;
            *(l < 0 ? &(*plan)->self_noise[j] : &(*plan)->noise[l]) = noise;
        }
    }
    if (status != PRICER_OK)
        return status;
    size_t bytes = (size_t)n * sizeof(double);
    memcpy((*plan)->row_multiplier, ordinary->row_multiplier, bytes);
    memcpy((*plan)->relay_multiplier, ordinary->relay_multiplier, bytes);
    (*plan)->sum_multiplier = ordinary->sum_multiplier;
    if (ordinary->server_multiplier != NULL &&
        (*plan)->server_multiplier != NULL)
        memcpy((*plan)->server_multiplier, ordinary->server_multiplier, bytes);
    return PRICER_OK;
}

/* ------------------------------------------------------------------ public -- */

static bool make_room(struct joint *joint)
{
    int64_t n = joint->network->nodes, entries = joint->rows.entries;
    int64_t square = n <= PRI_SMALL ? n * n : 0;
    bool complete = true;
    joint->own = pri_alloc(n, sizeof(double));
    joint->shared = pri_alloc(n * joint->rank, sizeof(double));
    joint->near_own = pri_alloc(n, sizeof(double));
    joint->near_shared = pri_alloc(n * joint->rank, sizeof(double));
    joint->x = pri_alloc(square, sizeof(double));
    joint->target = pri_alloc(n, sizeof(double));
    joint->entry = pri_alloc(2 * entries, sizeof(double));
    joint->loud = pri_alloc(entries, sizeof(double));
    joint->size = pri_alloc(entries, sizeof(double));
    for (int k = 0; k < STARTS; k++) {
        joint->start[k] = pri_alloc(entries, sizeof(double));
        complete = complete && joint->start[k] != NULL;
    }
    return complete && joint->own && joint->shared && joint->near_own &&
           joint->near_shared && joint->x && joint->target && joint->entry &&
           joint->loud && joint->size;
}

/* Patterns that the search looks at again and again. */
static int64_t pattern_count(int32_t nodes)
{
    return nodes <= PRI_SMALL ? 16384 : 1024;
}

/* Rows with every entry, patterns, and the sizes of the variables: a variable
 * is alpha times the size of what a unit of it adds to a sum, data and noise.
 * A payload without noise counts as one with next to none. */
static enum pricer_status prepare(struct joint *joint)
{
    const struct pricer_network *network = joint->network;
    struct pri_odds odds = {0};
    joint->court.team = pri_team_new(
        pri_threads(joint->ask.threads, (int64_t)network->nodes * 1500));
    enum pricer_status status = pri_payload_rows(
        network, joint->slope, joint->self_slope, &joint->payload);
    if (status == PRICER_OK)
        status = pri_payload_rows(network, joint->slope, joint->self_slope,
                                  &joint->rows);
    if (status == PRICER_OK)
        status = pri_own_rows(network, &joint->own_rows);
    if (status == PRICER_OK)
        status = pri_odds_new(network, &joint->ask, true, &odds);
    if (status == PRICER_OK)
        status = pri_patterns_new(
            network, &joint->rows, &odds, PRI_SEED(joint->ask.seed, 5),
            pattern_count(network->nodes), joint->court.team, &joint->patterns);
    if (status == PRICER_OK)
        status = pri_patterns_new(
            network, &joint->rows, &odds, PRI_SEED(joint->ask.seed, 5),
            pattern_count(network->nodes) / 4, joint->court.team, &joint->few);
    pri_odds_free(&odds);
    if (status == PRICER_OK && !make_room(joint))
        status = PRICER_MEMORY;
    if (status != PRICER_OK)
        return status;
    for (int32_t j = 0; j < network->nodes; j++)
        joint->rows.scale[j] = 1;
    for (int32_t k = 0; k < joint->rows.entries; k++) {
        double rho = slope_of(joint, k);
        joint->loud[k] = joint->unit * rho * rho;
        joint->size[k] = sqrt(1 + joint->loud[k]);
        joint->payload.noise[k] =
            fmin(joint->payload.noise[k], 1e9 * joint->unit);
    }
    joint->court.rows = &joint->rows;
    joint->court.patterns = &joint->patterns;
    return PRICER_OK;
}

static enum pricer_status check(const struct joint *joint,
                                const struct pricer_settings *settings,
                                struct pricer_fault *fault)
{
    const struct pricer_network *network = joint->network;
    if (joint->ordinary->nodes != network->nodes ||
        joint->ordinary->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    if (network->nodes > PRI_WHOLE)
        return pri_fault(fault, PRICER_VALUE,
                         "a plan is made for its decoder up to %d nodes",
                         PRI_WHOLE);
    if (settings->bias != PRICER_BIAS_WORST_CASE)
        return pri_fault(fault, PRICER_VALUE,
                         "a plan that is made for its decoder has the least "
                         "worst case; other bias terms have no such plan");
    if (joint->ask.blind ||
        (joint->ask.horizon != 0 && joint->ask.horizon != 1))
        return pri_fault(fault, PRICER_VALUE,
                         "a plan is made for a decoder that sees the masks "
                         "and results that are used one by one");
    return PRICER_OK;
}

enum pricer_status pricer_decoder_joint(
    const struct pricer_network *network,
    const struct pricer_settings *settings, const struct pricer_plan *ordinary,
    const struct pricer_decoder_settings *asked, struct pricer_joint *found,
    struct pricer_fault *fault)
{
    struct joint joint = {
        .network = network,
        .ordinary = ordinary,
        .ask = *asked,
        .unit = (double)network->dimension / network->radius / network->radius,
        .rank = network->nodes <= PRI_SMALL ? network->nodes : 1,
        .looks = 10};
    struct pricer_decoder *first = NULL, *second = NULL;
    struct pricer_plan *made = NULL;
    const double *best = NULL;
    if (pri_network_alike(network, "the joint plan", false, fault) != PRICER_OK)
        return PRICER_VALUE;
    enum pricer_status status = check(&joint, settings, fault);
    if (status == PRICER_OK)
        status = pricer_decoder_fit(network, ordinary, asked, &first, fault);
    if (status == PRICER_OK)
        status = find_slopes(&joint, settings, fault);
    if (status == PRICER_OK)
        status = prepare(&joint);
    if (status == PRICER_OK)
        status = search(&joint, &best);
    if (status == PRICER_OK)
        status = write_plan(&joint, best, &made, fault);
    if (status == PRICER_OK)
        status = pricer_decoder_fit(network, made, asked, &second, fault);
    bool better = status == PRICER_OK && second->upper < first->upper;
    if (status == PRICER_OK)
        *found = (struct pricer_joint){better ? made : NULL,
                                       better ? second : first};
    if (!better)
        pricer_plan_free(made);
    if (status != PRICER_OK || better)
        pricer_decoder_free(first);
    if (!better)
        pricer_decoder_free(second);
    joint_free(&joint);
    return status;
}
