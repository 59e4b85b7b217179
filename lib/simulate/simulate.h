/*
 * What the files of the simulation share: data, its factor, running means, and
 * the two engines.
 */
#ifndef PRICER_SIMULATE_H
#define PRICER_SIMULATE_H

#include "base/base.h"
#include "decode/decode.h"
#include "round/round.h"

struct pricer_forward_plan; /* of pricer_forward.h */

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

/* Whether settings and plans make sense for this network. */
enum pricer_status pri_simulation_check(
    const struct pricer_network *network,
    const struct pricer_plan *const *plans, int32_t count,
    const struct pricer_simulation_settings *settings,
    struct pricer_fault *fault);

/* The same for a plan of forwarding. */
enum pricer_status pri_simulation_check_forward(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_simulation_settings *settings,
    struct pricer_fault *fault);

/* ------------------------------------------------------------------ data -- */

/* Every node's vector, clipped. If `shared`, all nodes have the same. */
struct pri_data {
    int32_t nodes;
    int64_t dimension;
    bool shared;
    int64_t clipped; /* how many vectors were too long */
    double *values;  /* [nodes or 1][dimension] */
    double
        *shift; /* [dimension] mean of the vectors less that of the given ones;
                        NULL: none was clipped */
};

enum pricer_status pri_data_make(
    const struct pricer_network *network,
    const struct pricer_simulation_settings *settings, struct pri_data *data,
    struct pricer_fault *fault);

void pri_data_free(struct pri_data *data);

static inline const double *pri_data_row(const struct pri_data *data,
                                         int32_t node)
{
    return data->values + (data->shared ? 0 : node * data->dimension);
}

enum { PRI_COLUMNS = 4 }; /* columns of the factor that are worked on at once */

/*
 * Rows f_i of `rank` numbers with <f_i, f_l> = <x_i, x_l>: all a squared error
 * needs of the data. Rows stand in `order`; row k has nothing after column k if
 * triangular. Packed by blocks of PRI_COLUMNS columns: block b holds
 * [nodes][PRI_COLUMNS], the last one filled up with zeros.
 */
struct pri_factor {
    int32_t nodes, rank, blocks;
    bool triangular;
    int32_t *order; /* [nodes] */
    double *packed; /* [blocks][nodes][PRI_COLUMNS] */
};

enum pricer_status pri_factor_make(const struct pri_data *data, int32_t threads,
                                   struct pri_factor *factor);

void pri_factor_free(struct pri_factor *factor);

/* ----------------------------------------------------------------- means -- */

/* A running mean; two of them merge without cancelling. */
struct pri_mean {
    int64_t count;
    double mean;
    double squares; /* sum of the squared deviations from the mean */
};

struct pri_mean pri_mean_of(const double *values, int count);
struct pri_mean pri_mean_merge(struct pri_mean a, struct pri_mean b);
/* The standard error of the mean; NAN for fewer than two values. */
double pri_mean_error(struct pri_mean mean);

/* --------------------------------------------------------------- engines -- */

/* What is simulated; the same for all threads. */
struct pri_job {
    const struct pricer_network *network;
    const struct pricer_plan *const *plans;
    int32_t count; /* how many plans */
    const struct pricer_forward_plan
        *forward; /* the one plan of forwarding, or NULL: `plans` are sums */
    uint64_t seed;
    const struct pri_data *data;
    const struct pri_factor *factor; /* of the data; fast engine only */
    const double *mean; /* [dimension] of the data; faithful engine only */
    const struct pricer_grid *grids; /* [count]; faithful engine only */
    const struct pricer_decoder
        *decoder; /* of the first plan; NULL: constant */
    enum pricer_decode decode;
    const struct pricer_watch *watch;
    pthread_t caller;    /* who may ask the watch */
    double done;         /* part of the trials when this wave began */
    atomic_bool stopped; /* the watch asked to stop, or a trial failed */
};

/* Ask the watch, from the caller's thread only; false: stop. */
static inline bool pri_poll(struct pri_job *job)
{
    if (job->watch != NULL && pthread_equal(job->caller, pthread_self()) &&
        !pri_tick(job->watch, job->done))
        atomic_store(&job->stopped, true);
    return !atomic_load(&job->stopped);
}

__extension__ typedef __int128 pri_total;

/* What one thread adds up in one wave: integers, so that the order does not
 * matter. */
struct pri_tally {
    bool fast;
    uint32_t *uplink;  /* [nodes] trials in which the uplink was up */
    uint32_t *link;    /* [links] trials in which the link was up */
    uint32_t *both;    /* [links] trials in which it and its partner were up;
                         counted at the link of the lower node */
    uint32_t *used;    /* [links] trials in which it and its relay's uplink were
                         up; fast engine only */
    pri_total *total;  /* [plans][dimension] sums of the server's sums, or of n
                         times decoded estimates in steps of the grid; faithful
                         engine only */
    pri_total *excess; /* [nodes] sums of the weight less 1 that decoding or
                          arriving gave each node, in 2^-PRI_FRACTION; fast
                          engine only */
};

/* Room for `totals` numbers of the server's sums; false: no memory, and what
 * there is can be freed. */
bool pri_tally_new(const struct pricer_network *network, bool fast,
                   int64_t totals, struct pri_tally *tally);
void pri_tally_free(struct pri_tally *tally);

/* Where tallies are added up: the simulation's own counts, and those that only
 * its summary needs. */
struct pri_counts {
    struct pricer_simulation *simulation;
    int64_t *used;     /* [links] */
    pri_total *excess; /* [nodes] */
    pri_total *total;  /* [totals] */
    int64_t totals;
};

/* Add a tally to the counts, and clear it. */
void pri_tally_collect(struct pri_tally *tally,
                       const struct pricer_network *network,
                       struct pri_counts *counts);

/* Add the counts of all ranks. */
enum pricer_status pri_counts_join(struct pri_counts *counts,
                                   const struct pricer_crew *crew);

enum { PRI_FRACTION = 40 };

/* To an integer of so many steps a unit, held within what a pri_total can sum
 * up. */
static inline pri_total pri_to_steps(double value, int exponent)
{
    double steps = nearbyint(ldexp(value, exponent));
    return (pri_total)fmin(fmax(steps, -0x1p80), 0x1p80);
}

/*
 * Each engine plays `count` trials from `first` on and writes the squared error
 * of each, that of plan k at errors + k * PRI_ROUNDS; with a decoder its error
 * bars follow those of the last plan. One object per thread.
 */
struct pri_fast;
enum pricer_status pri_fast_new(struct pri_job *job, bool stored,
                                struct pri_fast **fast);
void pri_fast_free(struct pri_fast *fast);
/* `first` must be a multiple of PRI_ROUNDS and count at most that. */
enum pricer_status pri_fast_play(struct pri_fast *fast, int64_t first,
                                 int count, struct pri_tally *tally,
                                 double *errors);

struct pri_faithful;
enum pricer_status pri_faithful_new(struct pri_job *job,
                                    struct pri_faithful **faithful);
void pri_faithful_free(struct pri_faithful *faithful);
/* What the last trial's last plan estimated: [dimension], until the next. */
const double *pri_faithful_estimate(const struct pri_faithful *faithful);
/* Whether somebody's data reached the server in the last trial: nothing but that
 * is an estimate. */
bool pri_faithful_any(const struct pri_faithful *faithful);
enum pricer_status pri_faithful_play(struct pri_faithful *faithful,
                                     int64_t first, int count,
                                     struct pri_tally *tally, double *errors,
                                     struct pricer_fault *fault);

/* The same two for a plan of forwarding; error bars follow the errors. */
struct pri_forward_fast;
enum pricer_status pri_forward_fast_new(struct pri_job *job,
                                        struct pri_forward_fast **fast);
void pri_forward_fast_free(struct pri_forward_fast *fast);
enum pricer_status pri_forward_fast_play(struct pri_forward_fast *fast,
                                         int64_t first, int count,
                                         struct pri_tally *tally,
                                         double *errors);

struct pri_forward_faithful;
enum pricer_status pri_forward_faithful_new(
    struct pri_job *job, struct pri_forward_faithful **faithful);
void pri_forward_faithful_free(struct pri_forward_faithful *faithful);
/* As pri_faithful_estimate() and pri_faithful_any(). */
const double *pri_forward_faithful_estimate(
    const struct pri_forward_faithful *faithful);
bool pri_forward_faithful_any(const struct pri_forward_faithful *faithful);
enum pricer_status pri_forward_faithful_play(
    struct pri_forward_faithful *faithful, int64_t first, int count,
    struct pri_tally *tally, double *errors, struct pricer_fault *fault);

/* ---------------------------------------------------------------- result -- */

enum pricer_status pri_simulation_new(const struct pricer_network *network,
                                      int32_t plans,
                                      struct pricer_simulation **simulation);

/* What to expect of each plan; the bins are laid around that. */
enum pricer_status pri_simulation_predict(const struct pri_job *job,
                                          struct pricer_simulation *simulation);

/* The same of a plan of forwarding: exact where its patterns are enumerated. */
enum pricer_status pri_forward_predict(const struct pri_job *job,
                                       struct pricer_simulation *simulation);

/* Lay the bins of an outcome around an error. */
void pri_outcome_centre(double scale, struct pricer_outcome *outcome);

/* Every node's mean weight less 1: expected, or measured if there are counts,
 * with `used` the trials in which each link and its relay's uplink were up. */
void pri_mean_excess(const struct pri_job *job, const struct pricer_plan *plan,
                     const struct pricer_simulation *counts,
                     const int64_t *used, double *excess);

/* |sum_i coefficient_i x_i| / n; `vector` is that sum over n, of the dimension. */
double pri_bias_length(const struct pri_data *data, const double *coefficient,
                       double *vector);

/* From the mean squared error and the mean error `vector`, both against the mean of
 * the clipped vectors, to the former against the mean of the given ones:
 * E|e + s|^2 = E|e|^2 + 2 <E e, s> + |s|^2 with the shift s. */
double pri_given_mse(const struct pri_data *data, double mse,
                     const double *vector);

#endif
