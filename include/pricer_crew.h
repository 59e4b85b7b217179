/*
 * Several processes that work on one thing: what a program brings that wants its
 * simulations, sweeps, K-means and plans done by more than one machine. The
 * library knows no network; pricer-mpi's crew speaks MPI.
 */
#ifndef PRICER_CREW_PUBLIC_H
#define PRICER_CREW_PUBLIC_H

#include "pricer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Work cut into items that several processes may share. What an item gives
 * must not depend on who plays it. A process plays a portion of consecutive
 * items at a time; what they leave is taken on rank 0.
 */
struct pricer_work {
    int64_t items;   /* numbered from 0 */
    int64_t portion; /* items that this process plays at a time, at most */
    size_t size;     /* bytes that an item leaves */
    bool in_order;   /* take() needs the items in their order */
    /* Asked before every portion; false: none is begun any more, and those
     * begun are finished. NULL: never asks. */
    const struct pricer_watch *watch;
    /* Play `count` items from `first` on; each leaves `size` bytes in
     * `results`. Those of a portion that fails are lost. */
    enum pricer_status (*play)(void *context, int64_t first, int64_t count,
                               void *results, struct pricer_fault *fault);
    /* Called for every item once, on rank 0 only, by one thread at a time, but
     * maybe while another thread is in play(). */
    enum pricer_status (*take)(void *context, int64_t first, int64_t count,
                               const void *results, struct pricer_fault *fault);
    void *context;
};

/*
 * Processes that work on the same thing together, each calling the same
 * functions with the same arguments. Everywhere NULL is a process alone, and
 * the result is the same bit for bit for any number of them; every rank returns
 * it. All but share() return when every rank has called them.
 */
struct pricer_crew {
    void *context;
    int32_t rank, ranks; /* this process, of how many */
    /* Hand out the work and do this process's part; the status and the fault
     * are the same on every rank. PRICER_STOPPED where a watch said so. */
    enum pricer_status (*share)(void *context, const struct pricer_work *work,
                                struct pricer_fault *fault);
    /* Add each value over all ranks. */
    void (*add)(void *context, int64_t *values, int64_t count);
    /* Complete an array of items of `size` bytes, of which rank r has those
     * from bounds[r] to bounds[r + 1]; bounds[ranks] is their number. */
    void (*gather)(void *context, void *items, size_t size,
                   const int64_t *bounds);
    /* Give everyone what rank `from` has. */
    void (*spread)(void *context, int32_t from, void *bytes, size_t size);
    /* Send each rank r its give[r] items, one after the other in `given`, and
     * receive got[r] from it into `taken`. */
    void (*trade)(void *context, size_t size, const void *given,
                  const int64_t *give, void *taken, const int64_t *got);
};

/* Play and take all of the work, with the crew or (NULL) alone; PRICER_STOPPED
 * where the watch said so. */
PRICER_API enum pricer_status pricer_work_share(const struct pricer_crew *crew,
                                                const struct pricer_work *work,
                                                struct pricer_fault *fault);

/* What pricer_scenario_plan() finds: of the whole, and of this rank. */
struct pricer_parted {
    int32_t nodes;
    int64_t links;
    int32_t own_nodes, ghosts;    /* held here: own nodes, and neighbours that
                                  other ranks own */
    int64_t own_links, cut_links; /* that leave own nodes; those to ghosts */
    double make_seconds, check_seconds; /* for the network, for the check */
    struct pricer_solve_info info;
    struct pricer_certificate certificate;
};

/*
 * Make a scenario's network, plan it and check the plan, by all ranks of a crew
 * (NULL: this process alone), none of which holds more than its part: for
 * networks that do not fit one machine. The plan itself is not kept. The same
 * numbers on every rank, and, where the network has at least 32,768 nodes and
 * links a rank, bit for bit those of pricer_plan_optimise(). Networks from
 * files and budgets towards the server are refused. O(links / ranks).
 */
PRICER_API enum pricer_status pricer_scenario_plan(
    const struct pricer_scenario *scenario,
    const struct pricer_settings *settings, const struct pricer_crew *crew,
    struct pricer_parted *found, struct pricer_fault *fault);

/*
 * pricer_plan_optimise() by all ranks of a crew, for a network that rank 0
 * holds: *plan is rank 0's, NULL elsewhere. Rank 0 orders the nodes so that few
 * links are cut (by cells where there are positions, else greedily), sends
 * each rank its part, and puts the plan together; every rank checks its part.
 * The settings are rank 0's but for threads and watch; `network` is NULL
 * elsewhere. Where there are fewer than 32,768 nodes and links a rank, or
 * budgets towards the server, rank 0 plans alone. Objective and gap are those of one process to 1e-9, to the bit
 * where the network's own order is kept.
 */
PRICER_API enum pricer_status pricer_plan_share(
    const struct pricer_network *network,
    const struct pricer_settings *settings, const struct pricer_crew *crew,
    struct pricer_plan **plan, struct pricer_parted *found,
    struct pricer_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
