/*
 * Fuzz the reader of scenarios and, where the network is small and not in other
 * files, the generators behind it.
 */
#include "fuzz.h"
#include "read/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    struct pricer_settings settings;
    struct pricer_fault fault = {""};
    const char *path = fuzz_file(".yaml", data, size);
    enum pricer_status status =
        pricer_scenario_read(path, NULL, 0, &scenario, &fault);
    unlink(path);
    fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    if (status != PRICER_OK)
        return 0;
    pricer_scenario_settings(scenario, &settings);
    if (scenario->generator != PRI_GENERATOR_FILES && scenario->nodes <= 64 &&
        scenario->positions.count <= 128) {
        status = pricer_scenario_network(scenario, NULL, &network, &fault);
        fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    }
    pricer_network_free(network);
    pricer_scenario_free(scenario);
    return 0;
}
