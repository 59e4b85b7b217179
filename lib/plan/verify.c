/*
 * From a plan to how good it is: is it feasible, is it private, how far from
 * optimal.
 *
 * Nothing here is shared with the optimiser. The objective is computed from
 * weights and noise by the definition, the bound from the multipliers, both in
 * long double, and the gap is their plain difference.
 */
#include "verify.h"
#include "calibrate/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* -------------------------------------------------------------- feasible -- */

static void check_numbers(struct pri_audit *audit)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    for (int32_t i = audit->low; i < audit->high; i++)
        if (!pri_is_amount(plan->self_weight[i]) ||
            !pri_is_amount(plan->self_noise[i])) {
            audit->certificate->feasible = false;
            pri_complain(audit, "the weight or noise", i, i,
                         plan->self_weight[i]);
        }
    for (int32_t l = net->out_start[audit->low];
         l < net->out_start[audit->high]; l++)
        if (!pri_is_amount(plan->weight[l]) || !pri_is_amount(plan->noise[l])) {
            audit->certificate->feasible = false;
            pri_complain(audit, "the weight or noise", net->from[l], net->to[l],
                         plan->weight[l]);
        }
}

/* S_i - 1 in units of the network's radius, and how many links it is the sum
 * of. */
static long double row_bias(const struct pri_audit *audit, int32_t i,
                            int *terms)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    long double sum = (long double)net->uplink[i] * plan->self_weight[i] - 1;
    *terms = 1;
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
        if (plan->weight[l] == 0)
            continue;
        sum +=
            (long double)net->uplink[net->to[l]] * net->p[l] * plan->weight[l];
        ++*terms;
    }
    return sum * pri_wanted(audit, i);
}

/* ------------------------------------------------------------- objective -- */

/* Add node j as a relay: what the links into it, and their noise, cost. */
static void add_relay(struct pri_audit *audit, int32_t j)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    long double uplink = net->uplink[j], dimension = net->dimension;
    long double carried = plan->self_weight[j] * pri_wanted(audit, j);
    long double spread = 0;
    long double noise = (long double)plan->self_noise[j] * plan->self_noise[j];
    for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
        int32_t l = net->in_link[k], back = net->partner[l];
        long double p = net->p[l];
        long double weight = plan->weight[l] * pri_wanted(audit, net->from[l]);
        carried += p * weight;
        spread += uplink * p * (1 - p) * weight * weight;
        noise += p * plan->noise[l] * plan->noise[l];
        if (back >= 0)
            spread += uplink * net->uplink[net->from[l]] *
                      (net->joint[l] - p * net->p[back]) * weight *
                      plan->weight[back] * pri_wanted(audit, j);
    }
    spread += uplink * (1 - uplink) * carried * carried;
    audit->objective += audit->square * spread + dimension * uplink * noise;
}

/*
 * The bias term. The weights are doubles, so an expected weight misses 1 by
 * rounding; what the l1 term asks for so small a bias is rounding too.
 */
static void add_bias(struct pri_audit *audit)
{
    enum pricer_bias kind = audit->settings->bias;
    struct pricer_certificate *certificate = audit->certificate;
    long double sum = 0, sizes = 0, squares = 0;
    for (int32_t i = audit->low; i < audit->high; i++) {
        int terms;
        long double bias = row_bias(audit, i, &terms), size = fabsl(bias);
        bool wrong = (kind == PRICER_BIAS_UNBIASED && size > 1e-9L) ||
                     (kind == PRICER_BIAS_WORST_CASE && bias > 1e-9L);
        if (wrong || isnan(bias)) {
            certificate->feasible = false;
            pri_complain(audit, "the bias", i, i, bias);
        }
        certificate->largest_bias =
            fmax(certificate->largest_bias, (double)size);
        if (size <= 0x1p-53L * (4 + 2 * terms))
            size = bias = 0;
        sum += bias;
        sizes += size;
        squares += bias * bias;
    }
    long double sums[] = {audit->objective, sum, sizes, squares};
    pri_verify_sum(audit, sums, 4);
    audit->objective = sums[0];
    sum = sums[1];
    sizes = sums[2];
    squares = sums[3];
    if (kind == PRICER_BIAS_WORST_CASE)
        audit->objective += audit->square * sizes * sizes;
    else
        audit->objective += audit->square * sum * sum;
    if (kind == PRICER_BIAS_L1)
        audit->objective += audit->penalty * sizes;
    if (kind == PRICER_BIAS_L2)
        audit->objective += audit->penalty * squares;
}

/* ---------------------------------------------------------------- verify -- */

/* Ghosts are there for the sums, but judged by their owners: before their
 * links have weights. */
static void judge(struct pri_audit *audit, void (*meet_ghosts)(void *context),
                  void *context)
{
    check_numbers(audit);
    if (meet_ghosts != NULL) {
        pri_check_noise(audit);
        meet_ghosts(context);
    }
    for (int32_t j = audit->low; j < audit->high; j++)
        add_relay(audit, j);
    add_bias(audit);
    if (meet_ghosts == NULL)
        pri_check_noise(audit);
    pri_check_server(audit);
    pri_verify_bound(audit);
    pri_verify_conclude(audit);
}

enum pricer_status pri_verify_run(struct pri_audit *audit,
                                  void (*meet_ghosts)(void *context),
                                  void *context,
                                  struct pricer_certificate *certificate,
                                  struct pricer_fault *fault)
{
    const struct pricer_network *network = audit->network;
    const struct pricer_settings *settings = audit->settings;
    struct pricer_certificate found = {.feasible = true};
    long double nodes = audit->nodes;
    audit->certificate = &found;
    audit->threads = pri_threads(settings->threads, network->links);
    audit->square = (long double)network->radius * network->radius;
    for (int32_t i = audit->low; i < audit->high; i++)
        audit->wanted += pri_wanted(audit, i);
    pri_verify_sum(audit, &audit->wanted, 1);
    audit->penalty = nodes * nodes * settings->lambda;
    audit->slope = pri_alloc(network->links, sizeof(double));
    audit->self_slope = pri_alloc(network->nodes, sizeof(double));
    enum pricer_status status = PRICER_MEMORY;
    if (audit->slope != NULL && audit->self_slope != NULL)
        status = pri_noise_slopes(network, settings, audit->slope,
                                  audit->self_slope, fault);
    if (status == PRICER_OK) {
        judge(audit, meet_ghosts, context);
        *certificate = found;
    }
    free(audit->slope);
    free(audit->self_slope);
    return status;
}

enum pricer_status pricer_plan_verify(const struct pricer_network *network,
                                      const struct pricer_settings *settings,
                                      const struct pricer_plan *plan,
                                      struct pricer_certificate *certificate,
                                      struct pricer_fault *fault)
{
    struct pri_audit audit = {.network = network,
                              .settings = settings,
                              .plan = plan,
                              .high = network->nodes,
                              .nodes = network->nodes,
                              .links = network->links};
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan has %d nodes and %d links, the network %d "
                         "and %d",
                         (int)plan->nodes, (int)plan->links,
                         (int)network->nodes, (int)network->links);
    return pri_verify_run(&audit, NULL, NULL, certificate, fault);
}
