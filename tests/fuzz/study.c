/*
 * Fuzz the opening of a study and the reading of its settings, network, latest
 * plan, members and rounds. The file is opened for reading, so it is the same
 * afterwards.
 */
#include "fuzz.h"
#include "pricer_study.h"

/* What is read once the network is there. */
static void read_rest(struct pricer_study *study,
                      const struct pricer_network *network)
{
    struct pricer_plan *plan = NULL;
    struct pricer_member *members = NULL;
    struct pricer_deliveries *deliveries = NULL;
    struct pricer_fault fault = {""};
    int32_t count = 0;
    int status = (int)pricer_study_plan(study, network, 0, &plan, NULL, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    status = (int)pricer_study_members(study, &members, &count, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    status =
        (int)pricer_study_deliveries(study, network, 0, &deliveries, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    pricer_plan_free(plan);
    pricer_members_free(members);
    pricer_deliveries_free(deliveries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pricer_study *study = NULL;
    struct pricer_network *network = NULL;
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
    if (network != NULL)
        read_rest(study, network);
    pricer_network_free(network);
    pricer_study_close(study);
    unlink(path);
    return 0;
}
