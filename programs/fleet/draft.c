/*
 * From a plan and the study's budgets to a node's draft trust file.
 */
#include "draft.h"
#include "ledger_release.h"
#include "trust_file.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

double draft_eps(double delta, double mu, double rounds)
{
    double ratio = mu * sqrt(rounds) * (1 + 1e-9), low = 0, high = 1;
    if (isinf(ratio))
        return INFINITY;
    while (pricer_gaussian_delta(high, ratio) > delta && high < 1e300)
        high *= 2;
    for (int k = 0; k < 100; k++) {
        double middle = (low + high) / 2;
        if (pricer_gaussian_delta(middle, ratio) > delta)
            low = middle;
        else
            high = middle;
    }
    return high * (1 + 1e-9);
}

/* As the node itself: every part rounded up, one sum of all squares, and one root.
 * A sum that were rounded up after every part could be above a budget that the plan
 * keeps. */
double draft_ratio(const struct pricer_network *network,
                   const struct pricer_plan *plan, int32_t node)
{
    double diameter = network->node_diameter[node];
    int32_t first = network->out_start[node],
            end = network->out_start[node + 1];
    long double ratio =
        trust_ratio(diameter, plan->self_weight[node], plan->self_noise[node]);
    long double square = ratio * ratio;
    for (int32_t l = first; l < end; l++) {
        ratio = trust_ratio(diameter, plan->weight[l], plan->noise[l]);
        square += ratio * ratio;
    }
    if (!(square > 0) || isinf(square))
        return (double)square;
    long double root =
        sqrtl(square) *
        (1 + LDBL_EPSILON * (2 * (long double)(end - first) + 4));
    double rounded = (double)root;
    return rounded < root ? nextafter(rounded, INFINITY) : rounded;
}

/* A number with as few digits as it needs, and 40 as 40, not as 4e+01; and what
 * comes after it. */
static void write_number(double value, const char *end, FILE *file)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fprintf(file, "%s%s", text, end);
}

/* One row of the trust file, for releases of ratio mu. */
struct row {
    const char *to;
    double eps, delta; /* of the study */
    double mu;
    const char *key;  /* or NULL */
    const char *name; /* or "" */
};

static const char *find_name(const struct pricer_network *network, int32_t node)
{
    return network->name != NULL ? network->name[node] : "";
}

/* Whether the totals of a row hold so many releases, as the ledger counts. */
static bool holds(const struct row *row, double eps, int64_t rounds)
{
    if (isinf(eps) || row->delta >= 1 || row->mu == 0)
        return true;
    return trust_allows(eps, row->delta,
                        row->mu * sqrt((double)rounds) * (1 + 0x1p-50)) ||
           trust_allows_often(eps, row->delta, row->mu, rounds);
}

/* Returns whether the plan needs more than the study has, which a node refuses. */
static bool write_row(const struct draft *draft, const struct row *row,
                      FILE *file)
{
    fprintf(file, "%s,", row->to);
    write_number(row->eps, ",", file);
    write_number(row->delta, ",", file);
    write_number(row->eps, ",", file);
    write_number(row->delta, ",", file);
    fputs(row->key != NULL ? row->key : "", file);
    if (draft->network->name != NULL)
        fprintf(file, ",%s", row->name);
    fputc('\n', file);
    return !trust_allows(row->eps, row->delta, row->mu) ||
           !holds(row, row->eps, draft->rounds);
}

/* All that leaves a node in a round, towards the server. */
static bool write_all(const struct draft *draft, int32_t node, FILE *file)
{
    const struct pricer_network *network = draft->network;
    double mu = draft_ratio(network, draft->plan, node);
    return write_row(draft,
                     &(struct row){"server", network->server_eps[node],
                                   network->server_delta[node], mu,
                                   draft->keys != NULL ? draft->keys[0] : NULL,
                                   ""},
                     file);
}

static bool write_everyone(const struct draft *draft, int32_t node, FILE *file)
{
    const struct ledger_terms terms =
        ledger_terms_of(draft->network, draft->forward, draft->rounds, node);
    fputs("to,eps,delta\neveryone,", file);
    write_number(terms.eps, ",", file);
    write_number(terms.delta, "\n", file);
    return ledger_terms_check(&terms, NULL, NULL, NULL) != PRICER_OK;
}

int32_t draft_write(const struct draft *draft, int32_t node, FILE *file)
{
    if (draft->forward != NULL)
        return write_everyone(draft, node, file);
    const struct pricer_network *network = draft->network;
    const struct pricer_plan *plan = draft->plan;
    char to[16];
    int32_t beyond = 0;
    fputs("to,eps,delta,total_eps,total_delta,key", file);
    fputs(network->name != NULL ? ",name\n" : "\n", file);
    snprintf(to, sizeof to, "%d", (int)node);
    beyond += write_row(
        draft,
        &(struct row){to, network->self_eps[node], network->self_delta[node],
                      trust_ratio(network->node_diameter[node],
                                  plan->self_weight[node],
                                  plan->self_noise[node]),
                      draft->keys != NULL ? draft->keys[0] : NULL,
                      find_name(network, node)},
        file);
    for (int32_t l = network->out_start[node]; l < network->out_start[node + 1];
         l++) {
        int32_t peer = network->to[l];
        snprintf(to, sizeof to, "%d", (int)peer);
        beyond += write_row(
            draft,
            &(struct row){to, network->eps[l], network->delta[l],
                          trust_ratio(network->node_diameter[node],
                                      plan->weight[l], plan->noise[l]),
                          draft->keys != NULL ? draft->keys[peer + 1] : NULL,
                          find_name(network, peer)},
            file);
    }
    if (network->server_eps != NULL && network->server_eps[node] < INFINITY)
        beyond += write_all(draft, node, file);
    return beyond;
}
