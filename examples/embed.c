/* pricer in thirty lines: the best plan for a small network, and its error. */
#include <pricer.h>

#include <math.h>
#include <stdio.h>

int main(void)
{
    struct pricer_node nodes[] = {{0.9, INFINITY, 1, NAN, NAN},
                                  {0.2, INFINITY, 1, NAN, NAN}};
    struct pricer_link links[] = {{1, 0, 0.8, NAN, 1.0, 1e-5}};
    struct pricer_network_parts parts = {.dimension = 16,
                                         .radius = 1.0,
                                         .nodes = nodes,
                                         .node_count = 2,
                                         .links = links,
                                         .link_count = 1};
    struct pricer_network *network = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_settings settings = {.bias = PRICER_BIAS_WORST_CASE};
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    if (pricer_network_build(&parts, &network, NULL, &fault) ||
        pricer_plan_optimise(network, &settings, NULL, &plan, &info, &fault))
        return fprintf(stderr, "%s\n", fault.text), 1;
    printf("expected error at most %g, weight of node 1 at node 0: %g\n",
           info.objective, plan->weight[0]);
    pricer_plan_free(plan);
    pricer_network_free(network);
}
