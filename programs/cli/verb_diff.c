/*
 * pricer diff: two plans of a study next to each other, and the links or nodes
 * that changed most.
 */
#include "common/meaning.h"
#include "cli/forward/diff.h"
#include "cli/forward/plan.h"
#include "material.h"
#include "print_diff.h"
#include "print_plans.h"
#include "verbs.h"

#include <math.h>
#include <stdlib.h>

static const struct usage usage = {
    "diff", "STUDY PLAN [PLAN]",
    "Show two plans of a study next to each other: what was asked for, the "
    "error\n"
    "and its parts, and the links, or with 'scheme: forward' the nodes, that\n"
    "changed most. A plan is named by its number or its name; the second is\n"
    "the latest unless it is given.",
    "pricer diff ten.pricer 1 2"};

/* Two plans, each with its network and its error. */
struct pair {
    struct material side[2]; /* the first has the study of both */
    struct pricer_error error[2];
    double eps[2]; /* towards the server as it is stored, or NAN */
};

static enum pricer_status load(struct pair *pair, int side, const char *path,
                               const char *plan, struct pricer_fault *fault)
{
    struct material *from = &pair->side[side];
    enum pricer_status status = material_open(path, false, from, fault);
    if (status == PRICER_OK)
        status = material_plan(from, plan, fault);
    if (status == PRICER_OK)
        status = pricer_plan_evaluate(from->network, &from->record.settings,
                                      from->plan, &pair->error[side], fault);
    if (status == PRICER_OK)
        status = plan_server_eps(from->study, &from->record, &pair->eps[side],
                                 fault);
    return status;
}

/* --------------------------------------------------------------- moved -- */

/* Links, and with from == to nodes' own parts, by what the server is expected to
 * count of them, and their noise. */
static int keep(struct moved *list, int count, struct moved moved)
{
    moved.distance = fabs(moved.first[1] - moved.first[0]);
    return moved_keep(list, count, moved);
}

static int find_moved(const struct pair *pair, struct moved list[MOVED])
{
    const struct pricer_network *net = pair->side[0].network;
    int count = 0;
    for (int32_t l = 0; l < net->links; l++) {
        struct moved moved = {.from = net->from[l], .to = net->to[l]};
        for (int side = 0; side < 2; side++) {
            const struct pricer_network *own = pair->side[side].network;
            const struct pricer_plan *plan = pair->side[side].plan;
            moved.first[side] =
                own->uplink[moved.to] * own->p[l] * plan->weight[l];
            moved.second[side] = plan->noise[l];
        }
        count = keep(list, count, moved);
    }
    for (int32_t i = 0; i < net->nodes; i++) {
        struct moved moved = {.from = i, .to = i};
        for (int side = 0; side < 2; side++) {
            const struct pricer_plan *plan = pair->side[side].plan;
            moved.first[side] =
                pair->side[side].network->uplink[i] * plan->self_weight[i];
            moved.second[side] = plan->self_noise[i];
        }
        count = keep(list, count, moved);
    }
    return count;
}

/* --------------------------------------------------------------- tables -- */

static double used_links(const struct pricer_plan *plan)
{
    double used = 0;
    for (int32_t l = 0; l < plan->links; l++)
        used += plan->weight[l] > 0;
    return used;
}

static void print_numbers(const struct pair *pair)
{
    const struct pricer_error *a = &pair->error[0], *b = &pair->error[1];
    const int64_t id[2] = {pair->side[0].record.id, pair->side[1].record.id};
    struct table *table = diff_table(id);
    diff_row(table, "objective", a->objective, b->objective);
    diff_row(table, "worst case", a->mse_worst_case, b->mse_worst_case);
    diff_row(table, "= variance", a->variance, b->variance);
    diff_row(table, "+ noise", a->piv, b->piv);
    diff_row(table, "+ bias", a->mse_worst_case - a->variance - a->piv,
             b->mse_worst_case - b->variance - b->piv);
    diff_row(table, "gap, relative", pair->side[0].record.gap,
             pair->side[1].record.gap);
    diff_row(table, "links in use, how many", used_links(pair->side[0].plan),
             used_links(pair->side[1].plan));
    bool known = !isnan(pair->eps[0]) || !isnan(pair->eps[1]);
    if (known)
        diff_row(table, "largest eps at the server", pair->eps[0],
                 pair->eps[1]);
    table_print(table, stdout);
    if (known)
        puts("eps at the server, where it counts the noise of "
             "others:\n" MEANING_OTHERS ".");
}

static void print_moved(const struct pair *pair, const struct moved *list,
                        int count)
{
    const struct pricer_network *net = pair->side[0].network;
    const int64_t id[2] = {pair->side[0].record.id, pair->side[1].record.id};
    struct table *table = moved_table("weight", "noise", id);
    for (int k = 0; k < count; k++) {
        if (list[k].from == list[k].to)
            table_cell(table, "%s to server",
                       node_label(net, list[k].from).text);
        else
            table_cell(table, "%s to %s", node_label(net, list[k].from).text,
                       node_label(net, list[k].to).text);
        moved_cells(table, &list[k]);
    }
    table_print(table, stdout);
    puts(
        "weight: what the server is expected to count of the data, 1 is all of "
        "it; noise: the standard\n"
        "deviation of every number that is sent, in units of the data.");
}

static void print_pair(const struct pair *pair)
{
    struct moved list[MOVED];
    int count = find_moved(pair, list);
    for (int side = 0; side < 2; side++) {
        const struct pricer_plan_record *record = &pair->side[side].record;
        char asked[ASKED_TEXT];
        plan_asked(record, asked);
        diff_title(record->id, record->name, record->made, asked);
    }
    putchar('\n');
    print_numbers(pair);
    putchar('\n');
    if (count == 0)
        puts("Every link carries the same.");
    else
        print_moved(pair, list, count);
}

static void json_pair(const struct pair *pair)
{
    const struct pricer_network *net = pair->side[0].network;
    struct moved list[MOVED];
    int count = find_moved(pair, list);
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_open(&json, "plans", '[');
    for (int side = 0; side < 2; side++) {
        const struct pricer_error *error = &pair->error[side];
        json_open(&json, NULL, '{');
        json_count(&json, "plan", pair->side[side].record.id);
        json_number(&json, "objective", error->objective);
        json_number(&json, "mse_worst_case", error->mse_worst_case);
        json_number(&json, "variance", error->variance);
        json_number(&json, "piv", error->piv);
        json_number(&json, "gap", pair->side[side].record.gap);
        json_number(&json, "server_eps", pair->eps[side]);
        if (!isnan(pair->eps[side]))
            json_text(&json, "server_eps_assumes", MEANING_OTHERS);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_open(&json, "moved", '[');
    for (int k = 0; k < count; k++) {
        json_open(&json, NULL, '{');
        json_count(&json, "from", list[k].from);
        json_name(&json, "from_name", net, list[k].from);
        json_count(&json, "to", list[k].to);
        json_name(&json, "to_name", net, list[k].to);
        json_number(&json, "weight_before", list[k].first[0]);
        json_number(&json, "weight", list[k].first[1]);
        json_number(&json, "noise_before", list[k].second[0]);
        json_number(&json, "noise", list[k].second[1]);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

int verb_diff(int argc, char **argv)
{
    bool as_json = false;
    const struct option options[] = {
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[3];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    if (plan_forward_wanted(operands[0]))
        return diff_forward(operands[0], operands + 1, as_json);
    struct pair pair = {0};
    struct pricer_fault fault = {""};
    enum pricer_status status =
        load(&pair, 0, operands[0], operands[1], &fault);
    if (status == PRICER_OK)
        status = load(&pair, 1, operands[0], operands[2], &fault);
    if (status == PRICER_OK)
        (as_json ? json_pair : print_pair)(&pair);
    material_close(&pair.side[0]);
    material_close(&pair.side[1]);
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}
