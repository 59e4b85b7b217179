/*
 * From two plans of 'scheme: forward' to their errors next to each other, and the
 * nodes whose arrival or coefficient changed most.
 */
#include "diff.h"
#include "cli/print_diff.h"
#include "cli/print_plans.h"

#include <math.h>

struct pair {
    struct pricer_study *study;
    struct pricer_network *network;
    struct pricer_forward_plan *plan[2];
    struct pricer_forward_record record[2];
};

static enum pricer_status load(struct pair *pair, int side, const char *plan,
                               struct pricer_fault *fault)
{
    int64_t id = 0;
    enum pricer_status status =
        plan == NULL ? PRICER_OK
                     : pricer_study_find_plan(pair->study, plan, &id, fault);
    if (status == PRICER_OK)
        status = pricer_study_forward_plan(pair->study, id, &pair->plan[side],
                                           &pair->record[side], fault);
    return status;
}

/* A node changes with its arrival or with what the server is expected to count
 * of it, whichever changes more. */
static int find_moved(const struct pair *pair, struct moved list[MOVED])
{
    int count = 0;
    for (int32_t i = 0; i < pair->network->nodes; i++) {
        struct moved moved = {.from = i, .to = i};
        double counted[2];
        for (int side = 0; side < 2; side++) {
            const struct pricer_forward_node *node = &pair->plan[side]->node[i];
            moved.first[side] = node->arrival;
            moved.second[side] = node->coefficient;
            counted[side] = node->arrival * node->coefficient;
        }
        moved.distance = fmax(fabs(moved.first[1] - moved.first[0]),
                              fabs(counted[1] - counted[0]));
        count = moved_keep(list, count, moved);
    }
    return count;
}

static double mean_arrival(const struct pricer_forward_plan *plan)
{
    double sum = 0;
    for (int32_t i = 0; i < plan->nodes; i++)
        sum += plan->node[i].arrival;
    return sum / plan->nodes;
}

static void print_numbers(const struct pair *pair, const int64_t id[2])
{
    const struct pricer_forward_plan *a = pair->plan[0], *b = pair->plan[1];
    struct table *table = diff_table(id);
    diff_row(table, "worst case", a->mse_worst_case, b->mse_worst_case);
    diff_row(table, "= missing", a->missing, b->missing);
    diff_row(table, "+ noise", a->noise, b->noise);
    diff_row(table, "standard error", a->mse_stderr, b->mse_stderr);
    diff_row(table, "no relaying", a->mse_alone, b->mse_alone);
    diff_row(table, "links that never fail", a->mse_perfect, b->mse_perfect);
    diff_row(table, "gap, relative", a->gap, b->gap);
    diff_row(table, "hops", a->hops, b->hops);
    diff_row(table, "nodes that can be heard", a->heard, b->heard);
    diff_row(table, "mean arrival probability", mean_arrival(a),
             mean_arrival(b));
    diff_row(table, "bytes a node and round", a->bytes, b->bytes);
    table_print(table, stdout);
}

static void print_pair(const struct pair *pair)
{
    const int64_t id[2] = {pair->record[0].id, pair->record[1].id};
    struct moved list[MOVED];
    int count = find_moved(pair, list);
    for (int side = 0; side < 2; side++) {
        const struct pricer_forward_record *record = &pair->record[side];
        char asked[ASKED_TEXT];
        forward_asked(record, asked);
        diff_title(record->id, record->name, record->made, asked);
    }
    putchar('\n');
    print_numbers(pair, id);
    putchar('\n');
    if (count == 0) {
        puts("Every node arrives and counts the same.");
        return;
    }
    struct table *table = moved_table("arrival", "coefficient", id);
    for (int k = 0; k < count; k++) {
        table_cell(table, "%s", node_label(pair->network, list[k].from).text);
        moved_cells(table, &list[k]);
    }
    table_print(table, stdout);
    puts("arrival: the probability that a node's release reaches the server; "
         "coefficient: what it is\n"
         "multiplied with there.");
}

static void json_pair(const struct pair *pair)
{
    struct moved list[MOVED];
    int count = find_moved(pair, list);
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_open(&json, "plans", '[');
    for (int side = 0; side < 2; side++) {
        const struct pricer_forward_plan *plan = pair->plan[side];
        json_open(&json, NULL, '{');
        json_count(&json, "plan", pair->record[side].id);
        json_number(&json, "mse_worst_case", plan->mse_worst_case);
        json_number(&json, "mse_stderr", plan->mse_stderr);
        json_number(&json, "mse_missing", plan->missing);
        json_number(&json, "mse_noise", plan->noise);
        json_number(&json, "mse_alone", plan->mse_alone);
        json_number(&json, "mse_perfect", plan->mse_perfect);
        json_number(&json, "gap", plan->gap);
        json_count(&json, "hops", plan->hops);
        json_count(&json, "heard", plan->heard);
        json_number(&json, "arrival_mean", mean_arrival(plan));
        json_number(&json, "bytes_per_round", plan->bytes);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_open(&json, "moved", '[');
    for (int k = 0; k < count; k++) {
        json_open(&json, NULL, '{');
        json_count(&json, "node", list[k].from);
        json_name(&json, "name", pair->network, list[k].from);
        json_number(&json, "arrival_before", list[k].first[0]);
        json_number(&json, "arrival", list[k].first[1]);
        json_number(&json, "coefficient_before", list[k].second[0]);
        json_number(&json, "coefficient", list[k].second[1]);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

int diff_forward(const char *path, const char *const plans[2], bool as_json)
{
    struct pair pair = {0};
    struct pricer_fault fault = {""};
    enum pricer_status status =
        pricer_study_open(path, false, &pair.study, &fault);
    if (status == PRICER_OK)
        status = pricer_study_network(pair.study, &pair.network, &fault);
    for (int side = 0; side < 2 && status == PRICER_OK; side++)
        status = load(&pair, side, plans[side], &fault);
    if (status == PRICER_OK)
        (as_json ? json_pair : print_pair)(&pair);
    for (int side = 0; side < 2; side++)
        pricer_forward_plan_free(pair.plan[side]);
    pricer_network_free(pair.network);
    pricer_study_close(pair.study);
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}
