/*
 * From a scenario to how good its best plan is, and from a network to its plan,
 * by ranks that each hold a part.
 */
#include "optimise.h"
#include "plan/plan.h"

static void describe(const struct pri_part *part, struct pricer_parted *found)
{
    const struct pricer_network *net = part->network;
    found->nodes = part->nodes;
    found->links = part->links;
    found->own_nodes = part->high - part->low;
    found->ghosts = net->nodes - found->own_nodes;
    found->own_links = net->out_start[part->high] - net->out_start[part->low];
    found->cut_links = 0;
    for (int32_t r = 0; part->crew != NULL && r < part->crew->ranks; r++)
        found->cut_links += part->give_links[r];
}

enum pricer_status pricer_scenario_plan(const struct pricer_scenario *scenario,
                                        const struct pricer_settings *settings,
                                        const struct pricer_crew *crew,
                                        struct pricer_parted *found,
                                        struct pricer_fault *fault)
{
    struct pricer_parted made = {0};
    struct pri_part *part = NULL;
    struct pricer_plan *plan = NULL;
    double began = pri_seconds();
    enum pricer_status status =
        pri_part_make(scenario, crew, settings->watch, &part, fault);
    made.make_seconds = pri_seconds() - began;
    if (status == PRICER_MEMORY)
        pri_fault(fault, status, "%s", pricer_status_text(status));
    if (status == PRICER_OK)
        status = pri_optimise_part(part, settings, &plan, &made.info, fault);
    began = pri_seconds();
    if (status == PRICER_OK)
        status =
            pri_verify_part(part, settings, plan, &made.certificate, fault);
    made.check_seconds = pri_seconds() - began;
    if (status == PRICER_OK) {
        describe(part, &made);
        *found = made;
    }
    pricer_plan_free(plan);
    pri_part_free(part);
    return status;
}

/* --------------------------------------------------------------- a network -- */

/* What rank 0 tells the others before anything else. */
struct brief {
    struct pricer_settings settings;
    int64_t links;
    bool alone; /* rank 0 needs nobody, or nothing is planned */
    enum pricer_status status;
    struct pricer_fault fault;
};

static void consider(const struct pricer_network *network,
                     const struct pricer_settings *settings, int32_t ranks,
                     struct brief *brief)
{
    int64_t work = (int64_t)network->links + network->nodes;
    brief->settings = *settings;
    brief->links = network->links;
    brief->alone = ranks == 1 || pri_block_count(work) < ranks ||
                   network->server_eps != NULL || network->everyone_eps != NULL;
    if (ranks <= PRI_BLOCKS)
        return;
    brief->alone = true;
    brief->status =
        pri_fault(&brief->fault, PRICER_VALUE,
                  "%d ranks are too many: at most %d", (int)ranks, PRI_BLOCKS);
}

static enum pricer_status plan_alone(const struct pricer_network *network,
                                     const struct pricer_settings *settings,
                                     struct pricer_plan **plan,
                                     struct pricer_parted *made,
                                     struct pricer_fault *fault)
{
    struct pricer_plan *alone = NULL;
    enum pricer_status status = pricer_plan_optimise(
        network, settings, NULL, &alone, &made->info, fault);
    double began = pri_seconds();
    if (status == PRICER_OK)
        status = pricer_plan_verify(network, settings, alone,
                                    &made->certificate, fault);
    made->check_seconds = pri_seconds() - began;
    made->nodes = made->own_nodes = network->nodes;
    made->links = made->own_links = network->links;
    if (status != PRICER_OK)
        pricer_plan_free(alone);
    else
        *plan = alone;
    return status;
}

/* Put together what the ranks have planned; of others *whole is NULL. */
static enum pricer_status put_together(const struct pri_deal *deal,
                                       const struct pri_part *part,
                                       const struct pricer_plan *own,
                                       struct pricer_plan *whole)
{
    struct pricer_plan none = {0}, *to = whole != NULL ? whole : &none;
    enum pricer_status status =
        pri_deal_links(deal, part, own->weight, to->weight);
    if (status == PRICER_OK)
        status = pri_deal_links(deal, part, own->noise, to->noise);
    if (status == PRICER_OK)
        status = pri_deal_nodes(deal, part, own->self_weight, to->self_weight);
    if (status == PRICER_OK)
        status = pri_deal_nodes(deal, part, own->self_noise, to->self_noise);
    if (status == PRICER_OK)
        status =
            pri_deal_nodes(deal, part, own->row_multiplier, to->row_multiplier);
    if (status == PRICER_OK)
        status = pri_deal_nodes(deal, part, own->relay_multiplier,
                                to->relay_multiplier);
    to->sum_multiplier = own->sum_multiplier;
    return status;
}

static enum pricer_status plan_together(const struct pricer_network *network,
                                        const struct pricer_settings *settings,
                                        const struct pricer_crew *crew,
                                        struct pricer_plan **plan,
                                        struct pricer_parted *made,
                                        struct pricer_fault *fault)
{
    struct pri_deal *deal = NULL;
    struct pri_part *part = NULL;
    struct pricer_plan *own = NULL, *whole = NULL;
    double began = pri_seconds();
    enum pricer_status status = pri_deal_new(network, crew, &deal);
    if (status == PRICER_OK)
        status = pri_deal_part(deal, &part);
    made->make_seconds = pri_seconds() - began;
    if (status == PRICER_OK)
        status = pri_optimise_part(part, settings, &own, &made->info, fault);
    began = pri_seconds();
    if (status == PRICER_OK)
        status =
            pri_verify_part(part, settings, own, &made->certificate, fault);
    made->check_seconds = pri_seconds() - began;
    if (status == PRICER_OK && network != NULL)
        status = pricer_plan_new(network, &whole, fault);
    if (status == PRICER_OK)
        status = put_together(deal, part, own, whole);
    if (status == PRICER_OK) {
        describe(part, made);
        *plan = whole;
    } else {
        pricer_plan_free(whole);
    }
    pricer_plan_free(own);
    pri_part_free(part);
    pri_deal_free(deal);
    return status;
}

enum pricer_status pricer_plan_share(const struct pricer_network *network,
                                     const struct pricer_settings *settings,
                                     const struct pricer_crew *crew,
                                     struct pricer_plan **plan,
                                     struct pricer_parted *found,
                                     struct pricer_fault *fault)
{
    struct pricer_parted made = {0};
    struct pricer_plan *planned = NULL;
    struct brief brief = {.status = PRICER_OK};
    int32_t ranks = crew == NULL ? 1 : crew->ranks;
    bool leads = crew == NULL || crew->rank == 0;
    if (leads)
        consider(network, settings, ranks, &brief);
    if (leads && brief.alone && brief.status == PRICER_OK)
        brief.status =
            plan_alone(network, settings, &planned, &made, &brief.fault);
    if (crew != NULL)
        crew->spread(crew->context, 0, &brief, sizeof brief);
    if (brief.alone && crew != NULL)
        crew->spread(crew->context, 0, &made, sizeof made);
    if (!brief.alone) {
        brief.settings.threads = settings->threads;
        brief.settings.watch = settings->watch;
        brief.status = plan_together(leads ? network : NULL, &brief.settings,
                                     crew, &planned, &made, &brief.fault);
        made.links = brief.links;
    }
    if (brief.status == PRICER_MEMORY)
        pri_fault(fault, PRICER_MEMORY, "%s",
                  pricer_status_text(PRICER_MEMORY));
    else if (brief.status != PRICER_OK && fault != NULL)
        *fault = brief.fault;
    if (brief.status != PRICER_OK)
        return brief.status;
    *plan = planned;
    *found = made;
    return PRICER_OK;
}
