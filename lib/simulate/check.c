/*
 * From what is asked of a simulation to whether it can be played.
 */
#include "simulate.h"
#include "pricer_forward.h"

static enum pricer_status check_plan(const struct pricer_network *network,
                                     const struct pricer_plan *plan,
                                     struct pricer_fault *fault)
{
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is for %d nodes and %d links, the network "
                         "has %d and %d",
                         (int)plan->nodes, (int)plan->links,
                         (int)network->nodes, (int)network->links);
    struct pricer_grid grid;
    return pricer_grid_choose(network, plan, &grid, fault);
}

static enum pricer_status check_settings(
    const struct pricer_simulation_settings *settings,
    struct pricer_fault *fault)
{
    if (settings->trials < 0 || settings->threads < 0)
        return pri_fault(fault, PRICER_VALUE,
                         "%lld trials on %d threads make no sense",
                         (long long)settings->trials, (int)settings->threads);
    if (pricer_word(PRICER_WORDS_ENGINE, settings->engine) == NULL ||
        pricer_word(PRICER_WORDS_DATA, settings->data) == NULL)
        return pri_fault(fault, PRICER_VALUE, "no such engine or data");
    return PRICER_OK;
}

enum pricer_status pri_simulation_check_forward(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_simulation_settings *settings,
    struct pricer_fault *fault)
{
    if (plan->nodes != network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is for %d nodes, the network has %d",
                         (int)plan->nodes, (int)network->nodes);
    if (settings->decoder != NULL)
        return pri_fault(fault, PRICER_VALUE,
                         "decoders are for sums, and this is a plan of "
                         "forwarding");
    return check_settings(settings, fault);
}

enum pricer_status pri_simulation_check(
    const struct pricer_network *network,
    const struct pricer_plan *const *plans, int32_t count,
    const struct pricer_simulation_settings *settings,
    struct pricer_fault *fault)
{
    if (count < 1)
        return pri_fault(fault, PRICER_VALUE, "there is no plan");
    enum pricer_status checked = check_settings(settings, fault);
    if (checked != PRICER_OK)
        return checked;
    if (pricer_word(PRICER_WORDS_DECODE, settings->decode) == NULL)
        return pri_fault(fault, PRICER_VALUE, "no such decoder");
    if (settings->decoder != NULL &&
        settings->decode == PRICER_DECODE_ADAPTIVE &&
        settings->engine == PRICER_ENGINE_FAST)
        return pri_fault(fault, PRICER_VALUE,
                         "the adaptive decoder looks at the sums, which only "
                         "the faithful engine makes");
    for (int32_t k = 0; k < count; k++) {
        enum pricer_status status = check_plan(network, plans[k], fault);
        if (status != PRICER_OK)
            return status;
    }
    return PRICER_OK;
}
