/*
 * Fuzz the opening of a study and the reading of its settings, network and
 * latest plan. The file is opened for reading, so it is the same afterwards.
 */
#include "fuzz.h"
#include "pricer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pricer_study *study = NULL;
    struct pricer_network *network = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_settings settings;
    struct pricer_fault fault = {""};
    const char *path = fuzz_file(".pricer", data, size);
    enum pricer_status status = pricer_study_open(path, false, &study, &fault);
    fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    if (status == PRICER_OK) {
        status = pricer_study_settings(study, &settings, NULL, &fault);
        fuzz_check_fault((int)status, fault.text, sizeof fault.text);
        status = pricer_study_network(study, &network, &fault);
        fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    }
    if (network != NULL) {
        status = pricer_study_plan(study, network, 0, &plan, NULL, &fault);
        fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    }
    pricer_plan_free(plan);
    pricer_network_free(network);
    pricer_study_close(study);
    unlink(path);
    return 0;
}
