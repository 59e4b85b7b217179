/*
 * Plans made by ranks: every rank's part of the network is the whole's, row by
 * row; the plans that they make together are the one that a process makes
 * alone, to the last bit where the network has as many blocks as there are
 * ranks; and what they say of it together is what the check of the whole says.
 */
#include "job.h"
#include "optimise/optimise.h"
#include "plan/plan.h"

#include <stdio.h>

static bool same_row(const struct job *job, const struct pri_part *part,
                     int32_t i)
{
    const struct pricer_network *net = part->network, *all = job->network;
    int32_t node = part->number[i];
    int32_t l = net->out_start[i], k = all->out_start[node];
    int32_t count = net->out_start[i + 1] - l;
    bool same = net->uplink[i] == all->uplink[node] &&
                net->self_eps[i] == all->self_eps[node] &&
                count == all->out_start[node + 1] - k;
    for (int32_t m = 0; same && m < count; m++)
        same = part->number[net->to[l + m]] == all->to[k + m] &&
               net->p[l + m] == all->p[k + m] &&
               net->joint[l + m] == all->joint[k + m] &&
               net->eps[l + m] == all->eps[k + m] &&
               net->delta[l + m] == all->delta[k + m];
    return same;
}

/* Put this rank's rows where they belong in the plan of the whole. */
static void hand_in(struct job *job, const struct pri_part *part,
                    const struct pricer_plan *plan)
{
    struct pricer_plan *all = job->together;
    for (int32_t i = part->low; i < part->high; i++) {
        int32_t node = part->number[i];
        int32_t k = job->network->out_start[node];
        all->self_weight[node] = plan->self_weight[i];
        all->self_noise[node] = plan->self_noise[i];
        all->row_multiplier[node] = plan->row_multiplier[i];
        all->relay_multiplier[node] = plan->relay_multiplier[i];
        for (int32_t l = part->network->out_start[i];
             l < part->network->out_start[i + 1]; l++, k++) {
            all->weight[k] = plan->weight[l];
            all->noise[k] = plan->noise[l];
        }
    }
    if (part->low == 0)
        all->sum_multiplier = plan->sum_multiplier;
}

static void work(const struct pricer_crew *crew, void *context)
{
    struct job *job = context;
    struct pricer_parted *found = &job->found[crew->rank];
    struct pricer_fault fault = {""};
    struct pri_part *part = NULL;
    struct pricer_plan *plan = NULL;
    if (pri_part_make(job->scenario, crew, NULL, &part, &fault) != PRICER_OK ||
        pri_optimise_part(part, &job->settings, &plan, &found->info, &fault) !=
            PRICER_OK)
        abort();
    int64_t wrong = 0;
    for (int32_t i = part->low; i < part->high; i++) {
        wrong += !same_row(job, part, i);
        if (part->number[i] == job->spoilt)
            plan->self_weight[i] += 1;
    }
    __atomic_fetch_add(&job->wrong, wrong, __ATOMIC_SEQ_CST);
    hand_in(job, part, plan);
    if (pri_verify_part(part, &job->settings, plan, &found->certificate,
                        &fault) != PRICER_OK)
        abort();
    pricer_plan_free(plan);
    pri_part_free(part);
}

/* All ranks say the same, and it is so. */
static void check(struct job *job, int32_t ranks, bool exact)
{
    const struct pricer_network *net = job->network;
    struct pricer_certificate whole;
    crew_run(ranks, work, job);
    assert_int_equal(job->wrong, 0);
    assert_int_equal(
        pricer_plan_verify(net, &job->settings, job->together, &whole, NULL),
        PRICER_OK);
    for (int32_t r = 0; r < ranks; r++) {
        const struct pricer_solve_info *info = &job->found[r].info;
        const struct pricer_certificate *proof = &job->found[r].certificate;
        double objective = job->info.objective;
        assert_true(fabs(info->objective - objective) <= 1e-9 * objective);
        assert_true(fabs(info->gap - job->info.gap) <= 1e-9);
        if (exact) {
            assert_true(info->objective == objective);
            assert_true(info->gap == job->info.gap);
            assert_int_equal(info->inner_steps, job->info.inner_steps);
        }
        assert_true(proof->feasible && proof->words[0] == '\0');
        assert_int_equal(proof->open_links, 0);
        assert_true(fabs(proof->objective - whole.objective) <=
                    1e-14 * objective);
        assert_true(fabs(proof->bound - whole.bound) <= 1e-12 * objective);
        assert_true(fabs(proof->gap - info->gap) <= 1e-10);
        assert_true(proof->largest_bias == whole.largest_bias);
    }
    compare(job->alone->weight, job->together->weight, net->links, exact);
    compare(job->alone->noise, job->together->noise, net->links, exact);
    compare(job->alone->self_weight, job->together->self_weight, net->nodes,
            exact);
    compare(job->alone->row_multiplier, job->together->row_multiplier,
            net->nodes, exact);
}

static void ranks_make_the_plan_of_one(void **state)
{
    static const char *const sets[] = {"network.nodes=5000"};
    (void)state;
    for (int bias = 0; bias < 4; bias++) {
        struct job job;
        open_job(&job, sets, 1, (enum pricer_bias)bias);
        for (int32_t ranks = bias == 0 ? 1 : 3; ranks <= 4; ranks++)
            check(&job, ranks, true);
        close_job(&job);
    }
}

/* Links without noise: the interior point. */
static void so_does_the_interior_point(void **state)
{
    static const char *const sets[] = {"network.nodes=5000",
                                       "trust.probable.eps=inf"};
    struct job job;
    (void)state;
    open_job(&job, sets, 2, PRICER_BIAS_WORST_CASE);
    check(&job, 4, true);
    close_job(&job);
}

/* Fewer blocks than ranks: the sums are others, the plan is the same. */
static void small_networks_are_cut_finer(void **state)
{
    static const char *const sets[] = {"network.nodes=1000"};
    (void)state;
    for (int bias = 0; bias < 4; bias++) {
        struct job job;
        open_job(&job, sets, 1, (enum pricer_bias)bias);
        for (int32_t ranks = 2; ranks <= 4; ranks++)
            check(&job, ranks, false);
        close_job(&job);
    }
}

static void other_generators_have_parts_too(void **state)
{
    static const char *const sets[2][6] = {
        {"network.generator=ring", "network.nodes=1500", "network.hops=30",
         "network.p=0.7", "network.good.count=75", "network.good.uplink=0.9"},
        {"network.generator=erdos-renyi", "network.nodes=200", "network.p=0.7",
         "network.reciprocity=0.5", "network.good.count=10",
         "network.good.uplink=1"}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct job job;
        open_job(&job, sets[k], 6, PRICER_BIAS_WORST_CASE);
        for (int32_t ranks = 2; ranks <= 4; ranks++)
            check(&job, ranks, false);
        close_job(&job);
    }
}

/* A row that one rank has wrong is wrong on all, by its number in the whole. */
static void every_rank_hears_of_a_spoilt_row(void **state)
{
    static const char *const sets[] = {"network.nodes=1000"};
    struct job job;
    (void)state;
    open_job(&job, sets, 1, PRICER_BIAS_UNBIASED);
    job.spoilt = 700;
    crew_run(3, work, &job);
    for (int32_t r = 0; r < 3; r++) {
        const struct pricer_certificate *proof = &job.found[r].certificate;
        assert_false(proof->feasible);
        assert_true(isinf(proof->gap));
        assert_non_null(strstr(proof->words, "700,700"));
    }
    close_job(&job);
}

static void refusals_are_in_words(void **state)
{
    static const struct {
        const char *set[3], *words;
    } cases[] = {
        {{"network.nodes=100", "trust.server.eps=1", "trust.server.delta=1e-5"},
         "towards the server"},
        {{"network.nodes=100", "network.uplink=0", "network.good.fraction=0"},
         "reach the server by no"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct pricer_scenario *scenario = scenario_of(cases[k].set, 3);
        struct pricer_settings ask = {.bias = PRICER_BIAS_UNBIASED,
                                      .rounds = 1};
        struct pricer_parted found;
        struct pricer_fault fault = {""};
        enum pricer_status status =
            pricer_scenario_plan(scenario, &ask, NULL, &found, &fault);
        assert_int_not_equal(status, PRICER_OK);
        if (strstr(fault.text, cases[k].words) == NULL)
            fail_msg("%s", fault.text);
        pricer_scenario_free(scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_make_the_plan_of_one),
        cmocka_unit_test(so_does_the_interior_point),
        cmocka_unit_test(small_networks_are_cut_finer),
        cmocka_unit_test(other_generators_have_parts_too),
        cmocka_unit_test(every_rank_hears_of_a_spoilt_row),
        cmocka_unit_test(refusals_are_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
