/*
 * From one sample of rounds to the errors of many plans: budgets, rounds,
 * dimensions and hops that differ leave the links as they are, so that plans
 * for them are compared on the same patterns.
 *
 * Coefficients are fitted to one half of the sample and W is that of the other,
 * as in a plan; or all patterns are enumerated, and both halves are these. Without
 * relays no pattern is needed.
 */
#include "forward.h"
#include "pricer_forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Patterns that are enumerated, times nodes; and of a half, at most. */
#define TRIAL_ENUMERATED (INT64_C(1) << 22)
#define TRIAL_DRAWS (INT64_C(1) << 27)
enum { TRIAL_MIN = 512, TRIAL_MAX = 1 << 15 };

struct pri_trials {
    const struct pricer_network *network;
    struct pri_team *team;
    bool exact;
    struct pri_arrivals *half[2]; /* to fit, to evaluate */
    uint64_t *bits[2];
    struct pri_moments *of[2]; /* within `hops`, or NULL */
    int32_t hops, attempts;
    struct pricer_forward_node *node;       /* [nodes] */
    double *variance, *coefficient, *other; /* [nodes] */
};

static void drop_moments(struct pri_trials *trials)
{
    for (int k = 0; k < 2; k++) {
        pri_moments_free(trials->of[k]);
        trials->of[k] = NULL;
    }
}

void pri_trials_free(struct pri_trials *trials)
{
    if (trials == NULL)
        return;
    drop_moments(trials);
    for (int k = 0; k < 2; k++) {
        pri_arrivals_free(trials->half[k]);
        free(trials->bits[k]);
    }
    free(trials->node);
    free(trials->variance);
    pri_team_free(trials->team);
    free(trials);
}

static enum pricer_status draw_halves(
    struct pri_trials *trials, const struct pricer_forward_settings *settings)
{
    const struct pricer_network *net = trials->network;
    int64_t count = TRIAL_DRAWS / ((int64_t)net->nodes + net->links);
    count = count > TRIAL_MAX   ? TRIAL_MAX
            : count < TRIAL_MIN ? TRIAL_MIN
                                : count;
    count = count / 512 * 512;
    enum pricer_status status = PRICER_OK;
    for (int k = 0; k < 2 && status == PRICER_OK; k++)
        status =
            pri_arrivals_draw(net,
                              &(struct pri_arrivals_settings){
                                  .seed = settings->seed,
                                  .first = PRI_PLANNING_GROUP + k * count / 512,
                                  .patterns = count,
                                  .hops = settings->hops,
                                  .attempts = trials->attempts,
                                  .threads = settings->threads},
                              &trials->half[k]);
    return status;
}

static enum pricer_status make_halves(
    struct pri_trials *trials, const struct pricer_forward_settings *settings)
{
    const struct pricer_network *net = trials->network;
    int64_t n = net->nodes;
    trials->exact =
        pri_arrivals_count(net, trials->attempts, TRIAL_ENUMERATED / n) > 0;
    enum pricer_status status =
        trials->exact
            ? pri_arrivals_enumerate(net, settings->hops, trials->attempts,
                                     &trials->half[0])
            : draw_halves(trials, settings);
    for (int k = 0; k < 2 && status == PRICER_OK; k++)
        if (trials->half[k] != NULL) {
            trials->bits[k] = pri_alloc(n * trials->half[k]->words, 8);
            status = trials->bits[k] != NULL ? PRICER_OK : PRICER_MEMORY;
        }
    return status;
}

enum pricer_status pri_trials_make(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings, struct pri_trials **trials)
{
    int64_t n = network->nodes;
    struct pri_trials *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->network = network;
    made->attempts = settings->repeat > 0 ? settings->repeat : 1;
    made->team =
        pri_team_new(pri_threads(settings->threads, n + network->links));
    made->node = pri_alloc(n, sizeof *made->node);
    made->variance = pri_alloc(3 * n, sizeof(double));
    enum pricer_status status =
        made->node && made->variance ? PRICER_OK : PRICER_MEMORY;
    if (status == PRICER_OK) {
        made->coefficient = made->variance + n;
        made->other = made->coefficient + n;
        status = make_halves(made, settings);
    }
    if (status == PRICER_OK)
        *trials = made;
    else
        pri_trials_free(made);
    return status;
}

/* Moments within `hops`, which stay for the next trial. */
static enum pricer_status set_hops(struct pri_trials *trials, int32_t hops)
{
    enum pricer_status status = PRICER_OK;
    if (trials->of[0] != NULL && trials->hops == hops)
        return PRICER_OK;
    drop_moments(trials);
    trials->hops = hops;
    for (int k = 0; k < 2 && status == PRICER_OK; k++)
        if (trials->half[k] != NULL)
            status = pri_moments_make(trials->half[k], hops, trials->bits[k],
                                      trials->team, &trials->of[k]);
    return status;
}

/* n^2 W of the coefficients by other moments, biases of both signs included. */
static double evaluate(struct pri_trials *trials,
                       const struct pri_senders *senders)
{
    struct pri_moments *of = trials->of[1];
    double *z = trials->coefficient, *product = trials->other;
    double sum = 0, value = 0, plain = 0, either = 0;
    for (int32_t i = 0; i < of->nodes; i++) {
        value += of->pi[i] * z[i] * z[i] * senders->variance[i];
        z[i] *= senders->radius[i];
        sum += senders->radius[i];
    }
    pri_moments_product(of, z, product);
    for (int32_t i = 0; i < of->nodes; i++) {
        double bias = of->pi[i] * z[i] - senders->radius[i];
        value += z[i] * (product[i] - 2 * sum * of->pi[i]);
        plain += bias;
        either += fabs(bias);
    }
    return value + sum * sum + either * either - plain * plain;
}

enum pricer_status pri_trials_error(struct pri_trials *trials,
                                    const struct pri_forward_trial *what,
                                    double *mse, struct pricer_fault *fault)
{
    struct pricer_network network = *trials->network;
    double n = network.nodes, objective, gap;
    struct pri_senders senders = {network.nodes, network.node_radius,
                                  trials->variance};
    network.dimension = what->dimension;
    enum pricer_status status = pri_forward_releases(
        &network,
        &(struct pricer_forward_settings){.rounds = what->rounds,
                                          .release = what->release},
        what->factor, trials->node, fault);
    for (int32_t i = 0; i < network.nodes && status == PRICER_OK; i++)
        trials->variance[i] = what->noiseless ? 0 : trials->node[i].variance;
    if (status == PRICER_OK && what->hops == 0) {
        pri_forward_uplinks(&network, trials->attempts, trials->other);
        pri_forward_fit_alone(&senders, trials->other, trials->coefficient,
                              &objective, &gap);
        *mse = objective / (n * n);
        return PRICER_OK;
    }
    if (status == PRICER_OK)
        status = set_hops(trials, what->hops);
    if (status == PRICER_OK)
        status = pri_forward_fit(trials->of[0], &senders, 1e-6,
                                 trials->coefficient, &objective, &gap);
    if (status == PRICER_OK)
        *mse =
            (trials->exact ? objective : evaluate(trials, &senders)) / (n * n);
    return status;
}
