/*
 * From a plan to one trial of an attack on it: a hypothesis is played through
 * the functions that real rounds use, and the observer computes the likelihood
 * ratio of the two hypotheses from what it saw.
 *
 * The hypotheses are the two ends of a diameter of the ball for data, and for
 * identities a node that holds a vector as long as the radius, and none. All
 * others hold 0, which the observer may know. Data is given to the node longer
 * than the radius: it is the code's task to clip it. As data differs along one
 * axis only, the last, messages of many dimensions are cut to a few: the other
 * coordinates are the same noise under both.
 *
 * What the observer sees is written down here once more, apart from view.c: a
 * coalition of relays (one relay, or none) with or without the server, or the
 * receiver of a single link. It knows the plan and which links were up, as the
 * accounts grant it. It measures in units of the radius, so that no square is
 * too small or too large for a double because the data is.
 */
#include "attack.h"
#include "pricer_reference.h"

#include <math.h>
#include <stdlib.h>

/* Dimensions of a message about data, and how much too long the data is. */
enum { AXES_MOST = 32, TOO_LONG = 3 };

void pri_attack_free(struct pri_attack *attack)
{
    if (attack == NULL)
        return;
    for (int32_t k = 0; attack->slice != NULL && k < attack->network->nodes;
         k++)
        pricer_slice_free(attack->slice[k]);
    free(attack->slice);
    free(attack->member);
    free(attack->observation);
    free(attack->first);
    free(attack->other);
    free(attack->zero);
    free(attack->message);
    free(attack->sum);
    free(attack);
}

/* The members of the observer. */
static void list_members(struct pri_attack *attack,
                         const struct pricer_audit_settings *settings)
{
    const struct pricer_question *question = &settings->question;
    if (question->observer == PRICER_OBSERVER_LINK ||
        question->observer == PRICER_OBSERVER_RELAY)
        attack->member[settings->at] = true;
    for (int32_t k = 0; question->observer == PRICER_OBSERVER_COALITION &&
                        k < question->member_count;
         k++)
        attack->member[question->members[k]] = true;
}

/* The sums that show something of the node. */
static void list_observations(struct pri_attack *attack, bool server)
{
    const struct pricer_network *net = attack->network;
    const struct pricer_plan *plan = attack->plan;
    int32_t node = attack->node;
    for (int32_t l = net->out_start[node]; l < net->out_start[node + 1]; l++) {
        int32_t to = net->to[l];
        bool direct = attack->member[to];
        bool shows =
            plan->weight[l] > 0 || (attack->identity && plan->noise[l] > 0);
        if (shows && (direct || server))
            attack->observation[attack->observations++] = (struct observation){
                to, l, plan->weight[l], plan->noise[l], direct};
    }
    if (server && plan->self_weight[node] > 0)
        attack->observation[attack->observations++] = (struct observation){
            node, -1, plan->self_weight[node], plan->self_noise[node], false};
}

/* Room for everything; the caller frees what there is if some is missing. */
static bool reserve(struct pri_attack *attack)
{
    const struct pricer_network *net = attack->network;
    int64_t d = attack->dimension;
    int32_t degree =
        net->out_start[attack->node + 1] - net->out_start[attack->node];
    attack->observation =
        pri_alloc((int64_t)degree + 1, sizeof *attack->observation);
    attack->member = pri_alloc(net->nodes, sizeof *attack->member);
    attack->slice = pri_alloc(net->nodes, sizeof(void *));
    attack->first = pri_alloc(d, sizeof(double));
    attack->other = pri_alloc(d, sizeof(double));
    attack->zero = pri_alloc(d, sizeof(double));
    attack->message = pri_alloc(d, sizeof(int64_t));
    attack->sum = pri_alloc(d, sizeof(int64_t));
    return attack->observation && attack->member && attack->slice &&
           attack->first && attack->other && attack->zero && attack->message &&
           attack->sum;
}

/* The two ends of the diameter; where that is all of the ball, data that is too
 * long. */
static void set_data(struct pri_attack *attack)
{
    const struct pricer_network *net = attack->network;
    double radius = net->node_radius[attack->node], half = radius;
    if (!attack->identity)
        half = net->node_diameter[attack->node] / 2;
    double end = half < radius ? half : TOO_LONG * radius;
    attack->span = half / net->radius;
    attack->first[attack->dimension - 1] = end;
    attack->other[attack->dimension - 1] = -end;
}

enum pricer_status pri_attack_new(const struct pricer_network *network,
                                  const struct pricer_plan *plan,
                                  const struct pricer_audit_settings *settings,
                                  const struct pri_audit_code *code,
                                  struct pri_attack **attack,
                                  struct pricer_fault *fault)
{
    const struct pricer_question *question = &settings->question;
    struct pri_attack *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    *made = (struct pri_attack){
        .network = network,
        .plan = plan,
        .code = *code,
        .seed = settings->seed,
        .node = settings->node,
        .identity = question->protect == PRICER_PROTECT_IDENTITY,
        .radio = question->eavesdropper == PRICER_RADIO,
        .one_link = question->observer == PRICER_OBSERVER_LINK,
        .dimension = network->dimension,
        .rounds = question->rounds > 0 ? question->rounds : 1,
    };
    if (!made->identity && made->dimension > AXES_MOST)
        made->dimension = AXES_MOST;
    enum pricer_status status = reserve(made) ? PRICER_OK : PRICER_MEMORY;
    if (status == PRICER_OK)
        status = pricer_grid_choose(network, plan, &made->grid, fault);
    if (status != PRICER_OK) {
        pri_attack_free(made);
        return status;
    }
    set_data(made);
    list_members(made, settings);
    list_observations(made,
                      question->observer == PRICER_OBSERVER_SERVER ||
                          (question->observer == PRICER_OBSERVER_COALITION &&
                           question->with_server));
    *attack = made;
    return PRICER_OK;
}

/* A message takes most of a microsecond, and more with many dimensions. */
double pri_attack_cost(const struct pri_attack *attack)
{
    const struct pricer_network *net = attack->network;
    double message = 0.5 + .04 * (double)attack->dimension, cost = .3;
    for (int32_t k = 0; k < attack->observations; k++) {
        const struct observation *observation = &attack->observation[k];
        int32_t at = observation->relay;
        int32_t others = net->in_start[at + 1] - net->in_start[at];
        double seen =
            observation->direct || attack->radio ? 1 : net->uplink[at];
        double carried = observation->link < 0 || attack->radio
                             ? 1
                             : net->p[observation->link];
        cost += seen * carried * message * (attack->one_link ? 1 : 1 + others);
    }
    return cost * (double)attack->rounds;
}

/* Add the log-likelihood ratio of one sum, the two ends of the diameter. */
static void weigh_data(const struct pri_attack *attack,
                       const struct observation *observation, double others,
                       struct pri_trial *result)
{
    double variance = pri_attack_variance(attack, observation->noise) + others;
    double seen = pri_attack_seen(attack, attack->dimension - 1);
    if (variance == 0) {
        result->ratio += seen == 0 ? 0 : seen > 0 ? INFINITY : -INFINITY;
        result->mu = INFINITY;
        return;
    }
    double half = observation->weight * attack->span / sqrt(variance);
    result->ratio += 2 * half * (seen / sqrt(variance));
    result->mu += 4 * half * half;
}

/* Add the log-likelihood ratio of one sum, with and without the node. */
static void weigh_presence(const struct pri_attack *attack,
                           const struct observation *observation, double others,
                           struct pri_trial *result)
{
    double own = pri_attack_variance(attack, observation->noise),
           all = own + others;
    double near = 0, far = 0;
    for (int64_t k = 0; k < attack->dimension; k++) {
        double seen = pri_attack_seen(attack, k);
        double mean = observation->weight * attack->span;
        double left = seen - (k == attack->dimension - 1 ? mean : 0);
        far += seen * seen;
        near += left * left;
    }
    if (others == 0)
        result->ratio += far > 0 ? INFINITY : -INFINITY;
    else
        result->ratio += far / (2 * others) - near / (2 * all) -
                         (double)attack->dimension / 2 * log1p(own / others);
}

/* One round under one of the hypotheses: every sum that is seen adds to the
 * log-likelihood ratio, as sums are independent conditioned on the links. */
static enum pricer_status play_round(struct pri_attack *attack, int64_t round,
                                     bool other, struct pri_trial *result,
                                     struct pricer_fault *fault)
{
    const double *data = !other             ? attack->first
                         : attack->identity ? NULL
                                            : attack->other;
    for (int32_t k = 0; k < attack->observations; k++) {
        const struct observation *observation = &attack->observation[k];
        bool carried =
            observation->link < 0 || attack->radio ||
            pri_attack_is_up(attack, round, observation->link, attack->node);
        bool seen = observation->direct || attack->radio ||
                    pri_attack_is_up(attack, round, -1, observation->relay);
        double others;
        if (!carried || !seen)
            continue;
        enum pricer_status status =
            pri_attack_sum(attack, round, observation, data, &others, fault);
        if (status != PRICER_OK)
            return status;
        if (attack->identity)
            weigh_presence(attack, observation, others, result);
        else
            weigh_data(attack, observation, others, result);
    }
    return PRICER_OK;
}

enum pricer_status pri_attack_play(struct pri_attack *attack, int64_t trial,
                                   bool other, struct pri_trial *result,
                                   struct pricer_fault *fault)
{
    struct pri_trial found = {0, 0};
    int64_t first = (2 * trial + other) * attack->rounds;
    for (int64_t k = 0; k < attack->rounds; k++) {
        enum pricer_status status =
            play_round(attack, first + k, other, &found, fault);
        if (status != PRICER_OK)
            return status;
    }
    /* Infinite evidence for both hypotheses: they cannot be told apart. */
    result->ratio = isnan(found.ratio) ? 0 : found.ratio;
    result->mu = attack->identity ? NAN : isnan(found.mu) ? 0 : sqrt(found.mu);
    return PRICER_OK;
}
