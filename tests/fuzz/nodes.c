/*
 * Fuzz the reader of nodes.csv.
 */
#include "fuzz.h"
#include "network/network.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pri_trust_default trust = {
        1, 1e-3, 1, 1, INFINITY, 1, 0, 1e-5, PRI_SCHEME_OPEN};
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    const char *path = fuzz_file(".csv", data, size);
    enum pricer_status status =
        pri_csv_network(path, NULL, &(struct pri_measures){1, 1, 1, 0}, &trust,
                        NULL, &network, &fault);
    unlink(path);
    fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    pricer_network_free(network);
    return 0;
}
