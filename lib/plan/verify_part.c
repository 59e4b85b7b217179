/*
 * From one rank's part of a plan to the certificate of the whole: every rank
 * checks its own nodes and links.
 */
#include "plan.h"
#include "verify.h"

struct parted {
    const struct pri_part *part;
    struct pricer_plan *plan;
};

/* What the owners of the ghosts have planned. */
static void meet_ghosts(void *context)
{
    const struct parted *parted = context;
    pri_part_links(parted->part, parted->plan->weight, 1);
    pri_part_links(parted->part, parted->plan->noise, 1);
    pri_part_nodes(parted->part, parted->plan->row_multiplier, 1);
    pri_part_nodes(parted->part, parted->plan->relay_multiplier, 1);
}

enum pricer_status pri_verify_part(const struct pri_part *part,
                                   const struct pricer_settings *settings,
                                   struct pricer_plan *plan,
                                   struct pricer_certificate *certificate,
                                   struct pricer_fault *fault)
{
    const struct pricer_network *net = part->network;
    struct pri_audit audit = {.network = net,
                              .settings = settings,
                              .plan = plan,
                              .part = part,
                              .low = part->low,
                              .high = part->high,
                              .nodes = part->nodes,
                              .links = part->links};
    struct parted parted = {part, plan};
    for (int32_t i = 0; i < net->nodes; i++) {
        if (i == part->low)
            i = part->high;
        if (i == net->nodes)
            break;
        plan->self_weight[i] = plan->self_noise[i] = 0;
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
            plan->weight[l] = plan->noise[l] = 0;
    }
    return pri_verify_run(&audit, meet_ghosts, &parted, certificate, fault);
}
