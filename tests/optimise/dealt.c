/*
 * Networks that rank 0 holds and all ranks plan: the plan that they put together
 * is the one that a process makes alone; the order in which nodes are cut keeps
 * neighbours together; what cannot be divided is planned all the same.
 */
#include "job.h"
#include "network/network.h"

enum { HOPS = 12, NODES = 6000 };

/* A ring whose nodes are numbered anyhow: each has links to the nearest on
 * either side, of which some have no opposite, and trusts and radii differ. */
static struct pricer_network *shuffled_ring(int32_t nodes, bool bare)
{
    int64_t most = 2 * (int64_t)nodes * HOPS, links = 0;
    int32_t *name = calloc((size_t)nodes, sizeof *name);
    int32_t *from = calloc((size_t)most, 4), *to = calloc((size_t)most, 4);
    double *p = calloc((size_t)most, 8), *eps = calloc((size_t)most, 8);
    double *delta = calloc((size_t)most, 8), *up = calloc((size_t)nodes, 8);
    double *self = calloc((size_t)nodes, 8), *small = calloc((size_t)nodes, 8);
    double *radius = calloc((size_t)nodes, 8);
    uint64_t state = 1;
    for (int32_t i = 0; i < nodes; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int32_t k = (int32_t)((state >> 33) % (uint64_t)(i + 1));
        name[i] = name[k];
        name[k] = i;
    }
    for (int32_t i = 0; i < nodes; i++) {
        up[i] = i % 20 == 0 ? 0.9 : 0.1;
        self[i] = 2;
        small[i] = 1e-5;
        radius[i] = bare || i % 3 != 0 ? 1 : 0.5;
        for (int32_t h = -HOPS; h <= HOPS; h++)
            if (h != 0 && (bare || h > 0 || (i + h + nodes) % 7 != 0)) {
                from[links] = name[i];
                to[links] = name[(i + h + nodes) % nodes];
                p[links] = 0.3 + 0.05 * abs(h);
                eps[links] = (i + h) % 2 == 0 ? 1 : 100;
                delta[links++] = 1e-5;
            }
    }
    const struct pricer_network_arrays arrays = {.dimension = 50,
                                                 .radius = 1,
                                                 .node_count = nodes,
                                                 .uplink = up,
                                                 .self_eps = self,
                                                 .self_delta = small,
                                                 .link_count = links,
                                                 .from = from,
                                                 .to = to,
                                                 .p = p,
                                                 .eps = eps,
                                                 .delta = delta,
                                                 .reciprocity = 0.5,
                                                 .node_radius = radius};
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    if (pricer_network_build_arrays(&arrays, &network, NULL, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    void *all[] = {name, from, to, p, eps, delta, up, self, small, radius};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    return network;
}

static void share(const struct pricer_crew *crew, void *context)
{
    struct job *job = context;
    struct pricer_settings own = {.threads = crew->rank % 2 + 1};
    struct pricer_plan *plan = NULL;
    bool leads = crew->rank == 0;
    struct pricer_fault fault = {""};
    if (pricer_plan_share(leads ? job->network : NULL,
                          leads ? &job->settings : &own, crew, &plan,
                          &job->found[crew->rank], &fault) != PRICER_OK)
        abort();
    if (leads)
        job->together = plan;
    else if (plan != NULL)
        abort();
}

/* Plan a network alone and by ranks; both are kept in the job. */
static void plan_both_ways(struct job *job, int32_t ranks)
{
    struct pricer_certificate whole;
    crew_run(ranks, share, job);
    assert_int_equal(pricer_plan_verify(job->network, &job->settings,
                                        job->together, &whole, NULL),
                     PRICER_OK);
    assert_true(whole.feasible && whole.open_links == 0);
    for (int32_t r = 0; r < ranks; r++) {
        const struct pricer_parted *found = &job->found[r];
        double objective = job->info.objective;
        assert_true(fabs(found->info.objective - objective) <=
                    1e-9 * objective);
        assert_true(fabs(found->info.gap - job->info.gap) <= 1e-9);
        assert_true(fabs(found->certificate.bound - whole.bound) <=
                    1e-12 * objective);
        assert_true(found->certificate.feasible);
        assert_int_equal(found->certificate.open_links, 0);
        assert_int_equal(found->nodes, job->network->nodes);
        assert_int_equal(found->links, job->network->links);
    }
}

static void a_network_without_positions_is_cut_greedily(void **state)
{
    (void)state;
    for (int bias = 0; bias < 4; bias++) {
        struct job job = {.network = shuffled_ring(NODES, false)};
        job.settings = (struct pricer_settings){.bias = (enum pricer_bias)bias,
                                                .lambda = bias < 2 ? 0 : 1e-6,
                                                .tolerance = 1e-10,
                                                .threads = 1};
        assert_int_equal(pricer_plan_optimise(job.network, &job.settings, NULL,
                                              &job.alone, &job.info, NULL),
                         PRICER_OK);
        for (int32_t ranks = bias == 0 ? 2 : 3; ranks <= 3; ranks++) {
            plan_both_ways(&job, ranks);
            for (int32_t r = 0; r < ranks; r++) /* few are cut */
                assert_true(job.found[r].cut_links <= 2 * HOPS * (HOPS + 1) &&
                            job.found[r].own_nodes < NODES * 2 / ranks);
            compare(job.alone->weight, job.together->weight, job.network->links,
                    false);
            compare(job.alone->noise, job.together->noise, job.network->links,
                    false);
            compare(job.alone->self_weight, job.together->self_weight, NODES,
                    false);
            pricer_plan_free(job.together);
            job.together = NULL;
        }
        close_job(&job);
    }
}

/* Where an arc of a ring is cut out, HOPS (HOPS + 1) pairs are: no order that
 * goes round it cuts fewer. Numbers at random cut half of all. */
static void the_greedy_order_is_near_the_best(void **state)
{
    struct pricer_network *net = shuffled_ring(NODES, true);
    int32_t order[NODES], place[NODES];
    int64_t cut = 0, before = 0;
    (void)state;
    assert_int_equal(pri_network_order(net, 2, order), PRICER_OK);
    memset(place, -1, sizeof place);
    for (int32_t k = 0; k < NODES; k++) {
        assert_true(order[k] >= 0 && order[k] < NODES && place[order[k]] < 0);
        place[order[k]] = k;
    }
    for (int32_t l = 0; l < net->links; l++) {
        cut += (place[net->from[l]] < NODES / 2) !=
               (place[net->to[l]] < NODES / 2);
        before += (net->from[l] < NODES / 2) != (net->to[l] < NODES / 2);
    }
    assert_true(before > net->links * 2 / 5);
    assert_true(cut <= 2 * 2 * HOPS * (HOPS + 1));
    pricer_network_free(net);
}

/* A network in a good order keeps it, and so every bit. */
static void a_network_in_order_gives_the_same_bits(void **state)
{
    static const char *const sets[] = {"network.nodes=6000"};
    struct job job;
    (void)state;
    open_job(&job, sets, 1, PRICER_BIAS_WORST_CASE);
    for (int32_t ranks = 2; ranks <= 4; ranks++) {
        pricer_plan_free(job.together);
        plan_both_ways(&job, ranks);
        assert_true(job.found[0].own_nodes < job.network->nodes);
        assert_true(job.found[0].info.objective == job.info.objective);
        compare(job.alone->weight, job.together->weight, job.network->links,
                true);
        compare(job.alone->noise, job.together->noise, job.network->links,
                true);
        compare(job.alone->row_multiplier, job.together->row_multiplier,
                job.network->nodes, true);
        compare(job.alone->relay_multiplier, job.together->relay_multiplier,
                job.network->nodes, true);
    }
    close_job(&job);
}

/* What ranks cannot divide rank 0 plans alone, and all hear of it. */
static void rank_0_plans_alone_what_is_small_or_budgeted(void **state)
{
    static const char *const sets[2][3] = {
        {"network.nodes=100", "dimension=10", "radius=1"},
        {"network.nodes=100", "trust.server.eps=4", "trust.server.delta=1e-5"}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct job job;
        open_job(&job, sets[k], 3, PRICER_BIAS_WORST_CASE);
        pricer_plan_free(job.together);
        plan_both_ways(&job, 3);
        for (int32_t r = 0; r < 3; r++)
            assert_int_equal(job.found[r].own_nodes, 100);
        compare(job.alone->weight, job.together->weight, job.network->links,
                true);
        close_job(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_without_positions_is_cut_greedily),
        cmocka_unit_test(the_greedy_order_is_near_the_best),
        cmocka_unit_test(a_network_in_order_gives_the_same_bits),
        cmocka_unit_test(rank_0_plans_alone_what_is_small_or_budgeted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
