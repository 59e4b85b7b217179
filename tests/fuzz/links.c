/*
 * Fuzz the reader of links.csv, for a network of four nodes.
 */
#include "fuzz.h"
#include "network/network.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pri_trust_default trust = {
        1, 1e-3, 1, 1, INFINITY, 1, 0, 1e-5, PRI_SCHEME_OPEN};
    static const char nodes[] = "node,p\n0,.5\n1,1\n2,0\n3,.25\n";
    static char nodes_path[64];
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    strcpy(nodes_path,
           fuzz_file("-nodes.csv", (const uint8_t *)nodes, sizeof nodes - 1));
    const char *path = fuzz_file(".csv", data, size);
    enum pricer_status status =
        pri_csv_network(nodes_path, path, &(struct pri_measures){1, 1, .5, 0},
                        &trust, NULL, &network, &fault);
    unlink(path);
    unlink(nodes_path);
    fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    pricer_network_free(network);
    return 0;
}
