/*
 * pricer privacy: from a plan to what each observer can learn, as statements.
 */
#include "options.h"
#include "program.h"
#include "verbs.h"

#include <math.h>
#include <stdlib.h>

static const struct usage usage = {
    "privacy", "STUDY",
    "Account for the privacy of the latest plan: for every observer the eps\n"
    "that is proved at a delta, and how much of it is rounding. Without\n"
    "--observer: links, relays and the server.",
    "pricer privacy ten.pricer --observer server --delta 1e-3"};

/* How many rows a reader wants to see of each observer. */
enum { SHOWN = 5 };

struct given {
    int observer, protect, eavesdropper; /* observer -1: all three */
    double delta;
    int64_t rounds, threads, plan;
    bool all, json;
};

/* Where the answers go while observers are asked one after the other. */
struct report {
    struct pricer_study *study;
    int64_t plan;
    struct json json;
    struct table *table;
    int64_t hidden;
};

static int by_eps(const void *one, const void *two)
{
    const struct pricer_statement *a = one, *b = two;
    if (a->eps != b->eps)
        return a->eps > b->eps ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static void print_json(struct json *json, const struct pricer_statement *rows,
                       int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        json_open(json, NULL, '{');
        json_text(json, "observer", pricer_observer_text(rows[k].observer));
        json_count(json, "node", rows[k].node);
        if (rows[k].at >= 0)
            json_count(json, "at", rows[k].at);
        else
            json_text(json, "at", "server");
        json_text(json, "protect", pricer_protect_text(rows[k].protect));
        json_number(json, "delta", rows[k].delta);
        json_number(json, "epsilon", rows[k].eps);
        json_number(json, "epsilon_lower", rows[k].eps_lower);
        json_number(json, "floor", rows[k].floor);
        json_flag(json, "exact", rows[k].exact);
        json_close(json, '}');
    }
}

/* The worst first. */
static void fill_table(struct table *table, struct pricer_statement *rows,
                       int64_t count, bool all)
{
    qsort(rows, (size_t)count, sizeof *rows, by_eps);
    for (int64_t k = 0; k < count && (all || k < SHOWN); k++) {
        table_cell(table, "%s", pricer_observer_text(rows[k].observer));
        table_cell(table, "%s", pricer_protect_text(rows[k].protect));
        table_cell(table, "%d", (int)rows[k].node);
        if (rows[k].at >= 0)
            table_cell(table, "%d", (int)rows[k].at);
        else
            table_cell(table, "server");
        table_cell(table, "%g", rows[k].delta);
        table_cell(table, "%.6g", rows[k].eps);
        table_cell(table, "%.6g", rows[k].eps_lower);
        table_cell(table, "%.3g", rows[k].floor);
        table_cell(table, rows[k].exact ? "exact" : "bound");
    }
}

/* Account for one observer and add the rows to what is reported. */
static enum pricer_status ask(const struct given *given, int observer,
                              const struct pricer_network *network,
                              const struct pricer_plan *plan,
                              struct report *report, struct pricer_fault *fault)
{
    struct progress progress;
    struct pricer_statement *rows = NULL;
    int64_t count = 0;
    progress_start(&progress, "privacy");
    const struct pricer_question question = {
        .observer = (enum pricer_observer)observer,
        .protect = (enum pricer_protect)given->protect,
        .eavesdropper = (enum pricer_eavesdropper)given->eavesdropper,
        .delta = given->delta,
        .rounds = given->rounds,
        .threads = (int32_t)given->threads,
        .watch = &progress.watch};
    enum pricer_status status =
        pricer_privacy_account(network, plan, &question, &rows, &count, fault);
    progress_end(&progress);
    if (status != PRICER_OK)
        return status;
    status = pricer_study_add_statements(report->study, report->plan, &question,
                                         rows, count, fault);
    if (status == PRICER_OK && given->json)
        print_json(&report->json, rows, count);
    else if (status == PRICER_OK)
        fill_table(report->table, rows, count, given->all);
    report->hidden += given->all || count <= SHOWN ? 0 : count - SHOWN;
    pricer_statements_free(rows);
    return status;
}

static void begin(const struct given *given, struct report *report)
{
    static const char *const headings[] = {
        "observer", "protects", "node",        "at",     "delta",
        "eps",      "at least", "bare at all", "account"};
    if (!given->json) {
        printf("plan %lld, %lld round%s, eavesdropper at the %s\n\n",
               (long long)report->plan, (long long)given->rounds,
               given->rounds == 1 ? "" : "s",
               pricer_eavesdropper_text(
                   (enum pricer_eavesdropper)given->eavesdropper));
        report->table = table_new(9, headings);
        return;
    }
    report->json = (struct json){.out = stdout};
    json_open(&report->json, NULL, '{');
    json_count(&report->json, "plan", report->plan);
    json_count(&report->json, "rounds", given->rounds);
    json_text(&report->json, "eavesdropper",
              pricer_eavesdropper_text(
                  (enum pricer_eavesdropper)given->eavesdropper));
    json_open(&report->json, "statements", '[');
}

static void end(const struct given *given, struct report *report)
{
    if (given->json) {
        json_close(&report->json, ']');
        json_close(&report->json, '}');
        return;
    }
    table_print(report->table, stdout);
    if (report->hidden > 0)
        printf("\n%lld statements more: --all shows them\n",
               (long long)report->hidden);
    puts(
        "\neps is proved: every rounding is against us. 'at least': no smaller "
        "eps could come\nout of this account, which is 'exact' where the "
        "observer sees which links were up\nand grants that knowledge "
        "('bound') where not. 'bare at all': the probability that\nthe data "
        "arrives without any noise; no delta below it has an eps.");
}

/* Everything that is asked, in the order of the observers. */
static enum pricer_status answer(const struct given *given,
                                 struct pricer_study *study,
                                 struct pricer_fault *fault)
{
    struct pricer_network *network = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_plan_record record = {0};
    struct report report = {.study = study};
    enum pricer_status status = pricer_study_network(study, &network, fault);
    if (status == PRICER_OK)
        status = pricer_study_plan(study, network, given->plan, &plan, &record,
                                   fault);
    if (status == PRICER_OK) {
        report.plan = record.id;
        begin(given, &report);
        int first = given->observer < 0 ? 0 : given->observer;
        int last =
            given->observer < 0 ? PRICER_OBSERVER_SERVER : given->observer;
        for (int k = first; k <= last && status == PRICER_OK; k++)
            status = ask(given, k, network, plan, &report, fault);
        end(given, &report);
    }
    pricer_plan_free(plan);
    pricer_network_free(network);
    return status;
}

int verb_privacy(int argc, char **argv)
{
    struct given given = {.observer = -1, .rounds = 1};
    const struct option options[] = {
        {"observer", OPTION_CHOICE, &given.observer, "link|relay|server",
         "who watches; default: all three"},
        {"protect", OPTION_CHOICE, &given.protect, "data|identity",
         "what a relay must not learn; default data"},
        {"delta", OPTION_NUMBER, &given.delta, "X",
         "default: each link's own, at the server the node's smallest"},
        {"rounds", OPTION_COUNT, &given.rounds, "T",
         "rounds with fresh noise; default 1"},
        {"eavesdropper", OPTION_CHOICE, &given.eavesdropper, "receiver|radio",
         "radio hears what the receiver loses; default receiver"},
        {"plan", OPTION_COUNT, &given.plan, "N", "which plan; the latest"},
        {"all", OPTION_FLAG, &given.all, NULL,
         "every statement, not the worst"},
        {"threads", OPTION_COUNT, &given.threads, "N", "default: one per core"},
        {"json", OPTION_FLAG, &given.json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    if (given.protect == PRICER_PROTECT_IDENTITY && given.observer < 0)
        given.observer = PRICER_OBSERVER_RELAY;
    if (given.delta < 0 || given.delta > 1 || given.rounds < 1) {
        fputs("pricer privacy: --delta is in (0, 1], --rounds at least 1; "
              "--help explains\n",
              stderr);
        return 2;
    }
    struct pricer_fault fault = {""};
    struct pricer_study *study = NULL;
    enum pricer_status status =
        pricer_study_open(operands[0], true, &study, &fault);
    if (status == PRICER_OK)
        status = answer(&given, study, &fault);
    pricer_study_close(study);
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}
