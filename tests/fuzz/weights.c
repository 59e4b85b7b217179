/*
 * Fuzz the reader of a plan's weights, for a network of three nodes.
 */
#include "fuzz.h"
#include "pricer.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pricer_node nodes[] = {{.5, INFINITY, 1, NAN, NAN},
                                               {1, 1, .1, NAN, NAN},
                                               {0, 1, .1, NAN, NAN}};
    static const struct pricer_link links[] = {
        {0, 1, .5, NAN, 1, .1}, {1, 0, .5, NAN, 1, .1}, {2, 1, .5, NAN, 1, .1}};
    struct pricer_network *network = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_fault fault = {""};
    struct pricer_error error;
    struct pricer_settings settings = {0};
    if (pricer_network_build(&(struct pricer_network_parts){4, 1, .5, nodes, 3,
                                                            links, 3, NULL,
                                                            NULL},
                             &network, NULL, NULL) != PRICER_OK)
        abort();
    const char *path = fuzz_file(".csv", data, size);
    enum pricer_status status =
        pricer_plan_read(path, network, NULL, &plan, &fault);
    unlink(path);
    fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    if (plan != NULL && pricer_plan_evaluate(network, &settings, plan, &error,
                                             NULL) != PRICER_OK)
        abort();
    pricer_plan_free(plan);
    pricer_network_free(network);
    return 0;
}
