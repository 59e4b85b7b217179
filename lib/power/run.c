/*
 * From rows spread over the nodes of a network to leading eigenvectors, over
 * links that come and go.
 *
 * In every iteration node i sends what A_i V says (node.c) and the server
 * receives a weighted sum of that plus noise (lib/forward/means.c). What arrives
 * in a round varies, and a round in which little arrives holds little but noise; so the server
 * adds it to what it kept of the rounds before,
 *
 *     S <- carry S (V_before V') + gain * what the sum says of A V,
 *
 * turned along with the vectors: A V is A V_before (V_before V') as far as both
 * span the same space. The gain (gain.c) is what such a round is worth. The next V is S made orthonormal. A factor common to all
 * that arrives cancels there, so what is missing pulls nothing anywhere. All of
 * it is computed from what was released, hence free.
 */
#include "power.h"
#include "network/network.h"

#include <cblas.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct pri_power power;
    struct pri_means means;
    bool perfect;     /* every message arrives, bare */
    int64_t length;   /* components * columns, of most arrays below */
    double *vectors;  /* as broadcast */
    double *next;     /* the vectors to come */
    double *message;  /* of every node, one after the other; a product first */
    double *sum;      /* [message] what arrived */
    double *heard;    /* [message] what of A V it says */
    double *kept;     /* S */
    double *turned;   /* S turned to the new vectors */
    double *products; /* [components^2] */
    double *scale;    /* [components] */
    double signal;    /* the weight of A V that is expected in S */
};

static enum pricer_status room(struct run *run)
{
    const int64_t k = run->power.components, nodes = run->power.nodes;
    run->length = k * run->power.columns;
    run->vectors = pri_alloc(run->length, sizeof *run->vectors);
    run->next = pri_alloc(run->length, sizeof *run->next);
    run->message =
        pri_alloc(2 * nodes * run->power.length, sizeof *run->message);
    run->sum = pri_alloc(run->power.length, sizeof *run->sum);
    run->heard = pri_alloc(run->power.length, sizeof *run->heard);
    run->kept = pri_alloc(run->length, sizeof *run->kept);
    run->turned = pri_alloc(run->length, sizeof *run->turned);
    run->products = pri_alloc(k * k, sizeof *run->products);
    run->scale = pri_alloc(k, sizeof *run->scale);
    return run->vectors == NULL || run->next == NULL || run->message == NULL ||
                   run->sum == NULL || run->heard == NULL ||
                   run->kept == NULL || run->turned == NULL ||
                   run->products == NULL || run->scale == NULL
               ? PRICER_MEMORY
               : PRICER_OK;
}

static void close_run(struct run *run)
{
    pri_means_close(&run->means);
    free(run->vectors);
    free(run->next);
    free(run->message);
    free(run->sum);
    free(run->heard);
    free(run->kept);
    free(run->turned);
    free(run->products);
    free(run->scale);
    pri_power_close(&run->power);
}

/* What the server reads of a node; with perfect links the product itself. */
static enum pricer_status speak(struct run *run, int64_t round, int32_t node)
{
    double *message = run->message + 2 * node * run->power.length;
    double *product = message + run->power.length;
    enum pricer_status status = pri_power_product(
        &run->power, node, run->vectors, run->perfect ? message : product);
    if (status == PRICER_OK && !run->perfect)
        pri_power_encode(&run->power, run->vectors, product, message);
    if (status == PRICER_OK)
        status = pri_means_send(&run->means, round, node, message);
    return status;
}

struct speech {
    struct run *run;
    int64_t round;
    atomic_bool failed;
};

static void speak_some(void *context, int64_t low, int64_t high)
{
    struct speech *speech = context;
    for (int64_t i = low; i < high; i++)
        if (speech->run->means.whole.weight[i] != 0 &&
            speak(speech->run, speech->round, (int32_t)i) != PRICER_OK)
            speech->failed = true;
}

/* What reaches the server in a round, added in the order of the nodes. */
static enum pricer_status gather(struct run *run, int64_t round)
{
    const int64_t length = run->power.length;
    struct speech speech = {run, round, false};
    pri_means_draw(&run->means, round);
    pri_team_share(run->power.team, run->power.nodes, speak_some, &speech);
    if (speech.failed)
        return PRICER_MEMORY;
    memset(run->sum, 0, (size_t)length * sizeof *run->sum);
    for (int32_t i = 0; i < run->power.nodes; i++)
        if (run->means.whole.weight[i] != 0)
            cblas_daxpy((int)length, run->means.whole.weight[i],
                        run->message + 2 * i * length, 1, run->sum, 1);
    pri_means_noise(&run->means, run->means.whole.variance, round, length,
                    run->sum);
    if (run->perfect)
        memcpy(run->heard, run->sum, (size_t)run->length * sizeof *run->sum);
    else
        pri_power_decode(&run->power, run->vectors, run->sum, run->heard);
    return PRICER_OK;
}

/* Turn what is kept along to new vectors: kept_new[a] = sum_b <new_a, old_b>
 * kept[b]. */
static void turn(struct run *run)
{
    const int k = run->power.components, columns = (int)run->power.columns;
    pri_products(k, columns, run->next, run->vectors, run->products);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, k, columns, k, 1,
                run->products, k, run->kept, columns, 0, run->turned, columns);
    memcpy(run->kept, run->turned, (size_t)run->length * sizeof *run->kept);
}

/* The next vectors; nothing heard so far is no move. */
static enum pricer_status step(struct run *run)
{
    const size_t bytes = (size_t)run->length * sizeof *run->kept;
    const double carry = run->perfect ? 0 : run->power.settings.carry;
    const double gain = pri_power_gain(&run->means);
    double size = 0;
    run->signal = carry * run->signal + gain * run->means.whole.likely;
    for (int64_t c = 0; c < run->length; c++) {
        run->kept[c] = carry * run->kept[c] + gain * run->heard[c];
        size += fabs(run->kept[c]);
    }
    if (size == 0)
        return PRICER_OK;
    memcpy(run->next, run->kept, bytes);
    enum pricer_status status = pri_orthonormal(
        run->power.components, run->power.columns, run->next, run->scale);
    if (status != PRICER_OK)
        return status;
    turn(run);
    memcpy(run->vectors, run->next, bytes);
    return PRICER_OK;
}

static double measure(struct run *run, const struct pricer_power_vectors *exact)
{
    const int32_t k = run->power.components;
    double square = 0;
    if (exact == NULL)
        return NAN;
    pri_products(k, run->power.columns, run->vectors, exact->vectors,
                 run->products);
    for (int32_t c = 0; c < k * k; c++)
        square += run->products[c] * run->products[c];
    return fmax(1 - square / k, 0);
}

/* Eigenvalues: the length of what is kept over how much of A V is expected in
 * it, which is public. */
static void find_values(const struct run *run, double *values)
{
    const double unit = run->power.radius * run->power.radius;
    for (int32_t k = 0; k < run->power.components; k++)
        values[k] = run->signal > 0 ? run->scale[k] * unit / run->signal : 0;
}

static enum pricer_status play(struct run *run,
                               const struct pricer_power_result *result,
                               double *error)
{
    const int32_t iterations = run->power.settings.iterations;
    enum pricer_status status = pri_power_start(&run->power, run->vectors);
    for (int32_t t = 0; t < iterations && status == PRICER_OK; t++) {
        status = gather(run, t);
        if (status == PRICER_OK)
            status = step(run);
        error[t] = measure(run, result->exact);
        if (!pri_tick(run->power.settings.watch, (t + 1.) / iterations))
            status = PRICER_STOPPED;
    }
    return status;
}

enum pricer_status pricer_power_run(
    const struct pricer_matrix *rows, const struct pricer_network *network,
    const struct pricer_plan *plan,
    const struct pricer_power_settings *settings,
    const struct pricer_power_result *result, struct pricer_fault *fault)
{
    const struct pri_scheme scheme = {plan, settings->forward};
    struct run run = {.perfect = pri_scheme_perfect(&scheme)};
    if (pri_network_alike(network, "power iteration", true, fault) != PRICER_OK)
        return PRICER_VALUE;
    enum pricer_status status =
        pri_power_open(rows, network, settings, &run.power, fault);
    if (status != PRICER_OK)
        return status;
    const size_t iterations = (size_t)run.power.settings.iterations;
    double *error = pri_alloc((int64_t)iterations, sizeof *error);
    status = error == NULL ? PRICER_MEMORY : room(&run);
    if (status == PRICER_OK)
        status = pri_means_open(&run.means, network, &scheme, run.power.length,
                                settings->seed, fault);
    if (status == PRICER_OK)
        status = play(&run, result, error);
    if (status == PRICER_OK) {
        memcpy(result->found.vectors, run.vectors,
               (size_t)run.length * sizeof *run.vectors);
        find_values(&run, result->found.values);
        memcpy(result->error, error, iterations * sizeof *error);
    }
    free(error);
    close_run(&run);
    return status;
}
