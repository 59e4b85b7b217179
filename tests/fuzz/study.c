/*
 * Fuzz the opening of a study and the reading of all it holds: settings,
 * network, latest plan, its decoder, members, rounds, simulation, privacy, and each of its
 * tables cell by cell. The file is opened for reading, so it is the same
 * afterwards.
 */
#include "fuzz.h"
#include "pricer_decode.h"
#include "pricer_forward.h"
#include "pricer_study.h"

/* A decoder that was accepted can be used. */
static void read_decoder(const struct pricer_network *network,
                         const struct pricer_plan *plan,
                         const struct pricer_decoder *decoder)
{
    struct pricer_receiver *receiver = NULL;
    struct pricer_fault fault = {""};
    if (decoder == NULL)
        return;
    int status =
        (int)pricer_receiver_new(network, plan, decoder, &receiver, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    pricer_receiver_free(receiver);
}

/* What is read once the network is there. */
static void read_rest(struct pricer_study *study,
                      const struct pricer_network *network)
{
    struct pricer_network *planned = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_member *members = NULL;
    struct pricer_deliveries *deliveries = NULL;
    struct pricer_decoder *decoder = NULL;
    struct pricer_plan_record record;
    struct pricer_fault fault = {""};
    int32_t count = 0;
    int status =
        (int)pricer_study_plan(study, 0, &planned, &plan, &record, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    if (status == PRICER_OK) {
        status = (int)pricer_study_decoder(study, record.id, planned, &decoder,
                                           &fault);
        fuzz_check_fault(status, fault.text, sizeof fault.text);
    }
    read_decoder(planned, plan, decoder);
    status = (int)pricer_study_members(study, &members, &count, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    status =
        (int)pricer_study_deliveries(study, network, 0, &deliveries, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_network_free(planned);
    pricer_members_free(members);
    pricer_deliveries_free(deliveries);
}

/* What a study of 'scheme: forward' holds. */
static void read_forward(struct pricer_study *study)
{
    enum pricer_scheme scheme;
    struct pricer_forward_settings settings;
    struct pricer_forward_plan *plan = NULL;
    struct pricer_fault fault = {""};
    int status = (int)pricer_study_scheme(study, &scheme, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    status = (int)pricer_study_forward_settings(study, &settings, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    status = (int)pricer_study_forward_plan(study, 0, &plan, NULL, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    pricer_forward_plan_free(plan);
}

/* What was stored about the plans; each starts without the others. */
static void read_stored(struct pricer_study *study)
{
    char *text = NULL;
    int64_t latest = 0;
    struct pricer_simulation_record *simulation = NULL;
    struct pricer_privacy_summary *privacy = NULL;
    struct pricer_rounds_summary rounds;
    struct pricer_fault fault = {""};
    int32_t count = 0;
    int status = (int)pricer_study_scenario(study, &text, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    status = (int)pricer_study_latest_plan(study, &latest, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    status = (int)pricer_study_simulation(study, latest, &simulation, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    status = (int)pricer_study_privacy(study, latest, &privacy, &count, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    status = (int)pricer_study_rounds(study, 0, &rounds, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    read_forward(study);
    pricer_study_text_free(text);
    pricer_simulation_record_free(simulation);
    pricer_privacy_summaries_free(privacy, count);
}

/* Look at each byte of a row. */
static bool see_row(void *context, const struct pricer_cell *cells,
                    int32_t count)
{
    size_t *length = context;
    for (int32_t c = 0; c < count; c++)
        *length += strlen(cells[c].text);
    return true;
}

static void read_tables(struct pricer_study *study)
{
    size_t length = 0;
    const struct pricer_visitor visitor = {NULL, see_row, &length};
    struct pricer_table *tables = NULL;
    struct pricer_fault fault = {""};
    int32_t count = 0;
    int status = (int)pricer_study_tables(study, &tables, &count, &fault);
    fuzz_check_fault(status, fault.text, sizeof fault.text);
    for (int32_t k = 0; k < count; k++) {
        status =
            (int)pricer_study_visit(study, tables[k].name, &visitor, &fault);
        fuzz_check_fault(status, fault.text, sizeof fault.text);
    }
    pricer_tables_free(tables, count);
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
    if (study != NULL) {
        read_stored(study);
        read_tables(study);
    }
    if (network != NULL)
        read_rest(study, network);
    pricer_network_free(network);
    pricer_study_close(study);
    unlink(path);
    return 0;
}
