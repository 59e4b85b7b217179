/*
 * pricer report: from a study to one page that tells and draws what is in it.
 */
#include "cli/forward/plan.h"
#include "cli/forward/report.h"
#include "material.h"
#include "report_stored.h"
#include "verbs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct usage usage = {
    "report", "STUDY",
    "Write one HTML page about the study, of either scheme: the network "
    "drawn,\n"
    "the error and what it is made of next to the baselines, whether\n"
    "prediction, simulation and measurement agree, privacy, what better links\n"
    "and more trust would save, the certificate, and how to get it again. It\n"
    "needs no network and no scripts.",
    "pricer report ten.pricer -o report.html"};

/* What every link and node contributes by expectation. O(links). */
static enum pricer_status weigh(struct report *report)
{
    const struct pricer_network *net = report->network;
    const struct pricer_plan *plan = report->plan;
    report->share = calloc((size_t)net->links + 1, sizeof(double));
    report->self_share = calloc((size_t)net->nodes, sizeof(double));
    report->load = calloc((size_t)net->nodes, sizeof(double));
    report->reach = calloc((size_t)net->nodes, sizeof(double));
    if (report->share == NULL || report->self_share == NULL ||
        report->load == NULL || report->reach == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < net->nodes; i++) {
        report->self_share[i] = net->uplink[i] * plan->self_weight[i];
        report->load[i] += report->self_share[i];
        report->reach[i] += report->self_share[i];
    }
    for (int32_t l = 0; l < net->links; l++) {
        report->share[l] =
            net->uplink[net->to[l]] * net->p[l] * plan->weight[l];
        report->load[net->to[l]] += report->share[l];
        report->reach[net->from[l]] += report->share[l];
    }
    return PRICER_OK;
}

/*
 * The baselines: one that cannot be had says why, and is no failure. A picture
 * needs three digits of them, and threads pay only where there is much to do.
 */
static void compare(struct report *report)
{
    struct pricer_settings settings = report->settings;
    settings.tolerance = 1e-4;
    settings.iterations = 300;
    settings.threads = report->network->links < 1000000 ? 1 : 0;
    for (int k = 0; k < PRICER_BASELINES; k++) {
        struct report_rival *rival = &report->rival[k];
        struct pricer_plan *plan = NULL;
        enum pricer_status status =
            pricer_plan_baseline(report->network, &settings,
                                 (enum pricer_baseline)k, &plan, &rival->why);
        if (status == PRICER_OK)
            status = pricer_plan_evaluate(report->network, &report->settings,
                                          plan, &rival->error, &rival->why);
        rival->known = status == PRICER_OK;
        pricer_plan_free(plan);
    }
}

/*
 * The decoders on the same random data, and what nothing could beat: where that
 * takes a second or two. What cannot be had is left out.
 */
static void decode(struct report *report)
{
    const struct pricer_network *net = report->network;
    struct pricer_decoder_settings ask = {.patterns = 16384};
    enum { NODES = 100, NUMBERS = 20000 };
    report->floor = (struct pricer_estimate){NAN, NAN};
    for (int k = 0; k < 3; k++)
        report->played[k] =
            (struct pricer_outcome){.mse = NAN, .mse_stderr = NAN, .bar = NAN};
    if (report->decoder == NULL || net->nodes > NODES)
        return;
    if (report->certificate.open_links == 0 && net->nodes <= 32)
        pricer_decoder_genie(net, &report->settings, &ask, &report->floor,
                             NULL);
    for (int k = 0; k < 3; k++) {
        bool adaptive = k == PRICER_DECODE_ADAPTIVE;
        struct pricer_simulation *simulation = NULL;
        struct pricer_simulation_settings settings = {
            .engine = adaptive ? PRICER_ENGINE_FAITHFUL : PRICER_ENGINE_FAST,
            .trials = adaptive ? 200 : 10000,
            .data = PRICER_DATA_RANDOM,
            .decoder = report->decoder,
            .decode = (enum pricer_decode)k};
        if (adaptive && net->nodes * net->dimension > NUMBERS)
            continue;
        if (pricer_simulation_run(
                net, (const struct pricer_plan *const[]){report->plan}, 1,
                &settings, &simulation, NULL) == PRICER_OK)
            report->played[k] = simulation->outcomes[0];
        pricer_simulation_free(simulation);
    }
}

/* Prices are for exact plans; without them the section is left out. */
static enum pricer_status price(struct report *report)
{
    const struct pricer_network *net = report->network;
    if (report->record.method == PRICER_METHOD_GIVEN ||
        !(report->certificate.gap < 1e-3))
        return PRICER_OK;
    report->price = calloc((size_t)net->links + 1, sizeof(double));
    report->p_price = calloc((size_t)net->links + 1, sizeof(double));
    report->self_price = calloc((size_t)net->nodes, sizeof(double));
    report->server_price = calloc((size_t)net->nodes, sizeof(double));
    report->uplink_price = calloc((size_t)net->nodes, sizeof(double));
    if (report->price == NULL || report->p_price == NULL ||
        report->self_price == NULL || report->server_price == NULL ||
        report->uplink_price == NULL)
        return PRICER_MEMORY;
    enum pricer_status status =
        pricer_trust_price(net, &report->settings, report->plan, report->price,
                           report->self_price, NULL);
    if (status == PRICER_OK)
        status = pricer_link_price(net, report->plan, report->p_price,
                                   report->uplink_price, NULL);
    if (status == PRICER_OK && net->server_eps != NULL)
        status = pricer_trust_server_price(net, &report->settings, report->plan,
                                           report->server_price, NULL);
    return status;
}

/* What was stored about the plan, and the rounds that used it. */
static enum pricer_status recall(struct report *report,
                                 struct pricer_study *study,
                                 struct pricer_fault *fault)
{
    int64_t plan = report->record.id;
    enum pricer_status status =
        pricer_study_simulation(study, plan, &report->simulation, fault);
    if (status == PRICER_OK)
        status = pricer_study_plan_rounds(study, plan, &report->rounds, fault);
    if (status == PRICER_OK)
        status = pricer_study_privacy(study, plan, &report->privacy,
                                      &report->privacy_count, fault);
    if (status == PRICER_OK)
        status = pricer_study_decoder(study, plan, report->network,
                                      &report->decoder, fault);
    return status;
}

/* What the numbers of the plan are, and what they are compared with. */
static enum pricer_status judge(struct report *report,
                                struct pricer_fault *fault)
{
    enum pricer_status status =
        pricer_plan_evaluate(report->network, &report->settings, report->plan,
                             &report->error, fault);
    if (status == PRICER_OK)
        status = pricer_plan_verify(report->network, &report->settings,
                                    report->plan, &report->certificate, fault);
    if (status == PRICER_OK)
        status = weigh(report);
    if (status == PRICER_OK)
        status = price(report);
    if (status == PRICER_OK) {
        compare(report);
        decode(report);
    }
    return status;
}

/* Read the network and, where there is one, the plan of a study of sums; the
 * report borrows the material. */
static enum pricer_status open_sums(struct report *report,
                                    struct material *from, const char *plan,
                                    struct pricer_fault *fault)
{
    int64_t latest = 0;
    enum pricer_status status = material_open(report->path, false, from, fault);
    if (status == PRICER_OK)
        status = pricer_study_scenario(from->study, &report->scenario, fault);
    if (status == PRICER_OK)
        status = pricer_study_latest_plan(from->study, &latest, fault);
    report->settings = from->settings;
    if (status != PRICER_OK)
        return status;
    bool planned = latest > 0 || plan != NULL;
    status = planned ? material_plan(from, plan, fault)
                     : material_network(from, fault);
    report->network = from->network;
    if (status != PRICER_OK || !planned)
        return status;
    report->plan = from->plan;
    report->record = from->record;
    report->settings = from->record.settings;
    return PRICER_OK;
}

static enum pricer_status load(struct report *report, struct material *from,
                               const char *plan, struct pricer_fault *fault)
{
    bool forward = plan_forward_wanted(report->path);
    enum pricer_status status =
        (forward ? report_forward_open : open_sums)(report, from, plan, fault);
    if (status != PRICER_OK || !report_planned(report))
        return status;
    status = recall(report, from->study, fault);
    if (status == PRICER_OK)
        status = report_stored_read(from->study, report, fault);
    if (status == PRICER_OK && forward)
        return report_forward_compare(report, from, fault);
    if (status == PRICER_OK)
        status = judge(report, fault);
    return status == PRICER_OK ? report_stored_curve(report, fault) : status;
}

static void write_page(const struct report *report)
{
    page_open(report);
    report_summary(report);
    report_network(report);
    report_relays(report);
    report_arrivals(report);
    report_error(report);
    report_decoder(report);
    report_agreement(report);
    report_privacy(report);
    forward_hops(report);
    report_curve(report);
    report_price(report);
    report_certificate(report);
    report_nodes(report);
    report_recipe(report);
    page_close(report);
}

/* The page appears complete or not at all. */
static int store_page(struct report *report, const char *output)
{
    char *draft = NULL;
    if (strcmp(output, "-") == 0) {
        report->out = stdout;
        write_page(report);
        return 0;
    }
    if (asprintf(&draft, "%s.%ld", output, (long)getpid()) < 0)
        return program_fail("out of memory");
    report->out = fopen(draft, "w");
    bool good = report->out != NULL;
    if (good) {
        write_page(report);
        good = ferror(report->out) == 0;
        good = fclose(report->out) == 0 && good;
        good = good && rename(draft, output) == 0;
    }
    int status = good ? 0 : program_fail("%s: %s", output, strerror(errno));
    if (!good)
        unlink(draft);
    free(draft);
    return status;
}

static void close_report(struct report *report)
{
    pricer_study_text_free(report->scenario);
    pricer_forward_plan_free(report->forward);
    pricer_decoder_free(report->decoder);
    pricer_simulation_record_free(report->simulation);
    pricer_privacy_summaries_free(report->privacy, report->privacy_count);
    report_stored_free(report);
    free(report->share);
    free(report->self_share);
    free(report->load);
    free(report->reach);
    free(report->price);
    free(report->p_price);
    free(report->self_price);
    free(report->server_price);
    free(report->uplink_price);
    free(report->everyone_price);
    free(report->path_relays);
    free(report->path_link);
}

int verb_report(int argc, char **argv)
{
    const char *output = "report.html";
    const char *plan = NULL;
    const struct option options[] = {
        {"output", OPTION_TEXT, &output, "FILE",
         "the page, also -o; - is standard output; default report.html"},
        PLAN_OPTION(&plan),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    static char long_output[] = "--output";
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], "-o") == 0)
            argv[k] = long_output;
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    struct report report = {.path = operands[0]};
    struct material from = {0};
    struct pricer_fault fault = {""};
    enum pricer_status status = load(&report, &from, plan, &fault);
    int exit_status = status == PRICER_OK ? store_page(&report, output)
                                          : program_fault(status, &fault);
    if (exit_status == 0 && strcmp(output, "-") != 0)
        printf("%s\n", output);
    close_report(&report);
    material_close(&from);
    return exit_status;
}
