/* A round of forwarding: a plan, every node's release, the estimate. */
#include <pricer_forward.h>

#include <math.h>
#include <stdio.h>

int main(void)
{
    double uplink[] = {0.9, 0.1, 0}, inf[] = {INFINITY, INFINITY, INFINITY};
    double eps[] = {4, 4, 4}, delta[] = {1e-5, 1e-5, 1e-5}, p[] = {0.8, 0.8};
    int32_t from[] = {1, 2}, to[] = {0, 1};
    double data[][2] = {{0.6, 0}, {0.8, 0.1}, {0.7, 0.2}}, estimate[2] = {0, 0};
    struct pricer_network_arrays arrays = {.dimension = 2,
                                           .radius = 1,
                                           .node_count = 3,
                                           .uplink = uplink,
                                           .self_eps = inf,
                                           .self_delta = delta,
                                           .everyone_eps = eps,
                                           .everyone_delta = delta,
                                           .link_count = 2,
                                           .from = from,
                                           .to = to,
                                           .p = p,
                                           .eps = inf,
                                           .delta = delta};
    struct pricer_network *network = NULL;
    struct pricer_forward_plan *plan = NULL;
    struct pricer_forward_receiver *server = NULL;
    struct pricer_fault fault = {""};
    if (pricer_network_build_arrays(&arrays, &network, NULL, &fault) ||
        pricer_forward_plan_make(network,
                                 &(struct pricer_forward_settings){.hops = -1},
                                 &plan, &fault) ||
        pricer_forward_receiver_new(network, plan, &server, &fault))
        return fprintf(stderr, "%s\n", fault.text), 1;
    for (int32_t i = 0; i < 3; i++) { /* here every release arrives */
        struct pricer_forward_sender *sender = NULL;
        unsigned char seed[16]; /* with eps = 4 all releases are spheres */
        if (pricer_forward_sender_new(&plan->node[i], 1, 2, &sender, &fault) ||
            pricer_forward_release(sender, data[i], NULL, seed, &fault) ||
            pricer_forward_receiver_add(server, i, seed, 16, estimate, &fault))
            return fprintf(stderr, "%s\n", fault.text), 1;
        pricer_forward_sender_free(sender);
    }
    printf("%d relays, error at most %g; estimate %g, %g\n", (int)plan->hops,
           plan->mse_worst_case, estimate[0], estimate[1]);
    pricer_forward_receiver_free(server);
    pricer_forward_plan_free(plan);
    pricer_network_free(network);
}
