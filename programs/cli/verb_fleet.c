/*
 * pricer fleet: a folder for every machine of a fleet, from a study with a plan.
 */
#include "common/meaning.h"
#include "common/options.h"
#include "common/program.h"
#include "fleet/setup.h"
#include "verbs.h"

#include <stdlib.h>
#include <string.h>

static const struct usage usage = {
    "fleet", "STUDY",
    "Write a folder for the server and for each node of a study: key,\n"
    "configuration, a draft trust file that fits the latest plan, its "
    "neighbours\n"
    "where the study is of 'scheme: forward', an empty ledger and a drop-in "
    "for\n"
    "systemd; and enrol all of them. Prints the command that starts each of "
    "them.\n"
    "Nothing is overwritten.",
    "pricer fleet ten.pricer --to fleet --server tcp://10.0.0.1:7100 "
    "--addresses addresses.csv"};

static enum pricer_status read_sum(struct setup *setup,
                                   struct pricer_fault *fault)
{
    struct pricer_plan_record record;
    enum pricer_status status = pricer_study_plan(
        setup->study, 0, &setup->network, &setup->plan, &record, fault);
    if (status == PRICER_OK) {
        setup->plan_id = record.id;
        setup->rounds = record.settings.rounds;
    }
    return status;
}

static enum pricer_status read_forward(struct setup *setup,
                                       struct pricer_fault *fault)
{
    struct pricer_forward_record record;
    enum pricer_status status =
        pricer_study_network(setup->study, &setup->network, fault);
    if (status == PRICER_OK)
        status = pricer_study_forward_plan(setup->study, 0, &setup->forward,
                                           &record, fault);
    if (status == PRICER_OK)
        status = meaning_refuse_near(setup->network, setup->forward, fault);
    if (status == PRICER_OK) {
        setup->plan_id = record.id;
        setup->rounds = record.settings.rounds > 0 ? record.settings.rounds : 1;
    }
    return status;
}

static enum pricer_status open_all(struct setup *setup,
                                   struct pricer_fault *fault)
{
    enum pricer_scheme scheme = PRICER_SCHEME_SUM;
    enum pricer_status status =
        pricer_study_open(setup->study_path, true, &setup->study, fault);
    if (status == PRICER_OK)
        status = pricer_study_scheme(setup->study, &scheme, fault);
    if (status == PRICER_OK)
        status = scheme == PRICER_SCHEME_FORWARD ? read_forward(setup, fault)
                                                 : read_sum(setup, fault);
    if (status != PRICER_OK)
        return status;
    setup->attempts = setup->forward != NULL && setup->forward->repeat > 1
                          ? setup->forward->repeat
                          : 1;
    setup->members =
        calloc((size_t)setup->network->nodes + 1, sizeof *setup->members);
    setup->keys =
        calloc((size_t)setup->network->nodes + 1, sizeof *setup->keys);
    return setup->members != NULL && setup->keys != NULL ? PRICER_OK
                                                         : PRICER_MEMORY;
}

/* What starts member k on its machine, for a shell. */
static void start(const struct setup *setup, int32_t k, char *text, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
    const char *folder = setup->folder;
    const char *quote = strspn(folder, plain) == strlen(folder) ? "" : "'";
    if (k == 0)
        snprintf(text, size,
                 "cd %s%s/server%s && pricer-server --config server.conf",
                 quote, folder, quote);
    else
        snprintf(text, size, "cd %s%s/%s%s && pricer-node --config node.conf",
                 quote, folder, node_folder(setup->network, k - 1).text, quote);
}

static void report_json(const struct setup *setup)
{
    struct json json = {.out = stdout};
    char text[8192];
    json_open(&json, NULL, '{');
    json_count(&json, "plan", setup->plan_id);
    json_count(&json, "rounds", setup->rounds);
    json_count(&json, "budgets_beyond_study", setup->beyond);
    json_text(&json, "scheme",
              pricer_word(PRICER_WORDS_SCHEME, setup->forward != NULL));
    if (setup->forward == NULL)
        json_text(&json, "readers", setup->readers == 0 ? "budgets" : "all");
    json_open(&json, "members", '[');
    for (int32_t k = 0; k <= setup->network->nodes; k++) {
        start(setup, k, text, sizeof text);
        json_open(&json, NULL, '{');
        if (k == 0)
            json_text(&json, "node", "server");
        else
            json_count(&json, "node", k - 1);
        json_name(&json, "name", setup->network, k - 1);
        json_text(&json, "key", setup->members[k].key);
        json_flag(&json, "enrolled", !setup->members[k].removed);
        json_text(&json, "address", setup->members[k].address);
        json_text(&json, "start", text);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void report_table(const struct setup *setup)
{
    char text[8192];
    struct table *table =
        table_new(3, (const char *const[]){"node", "address", "start it with"});
    for (int32_t k = 0; k <= setup->network->nodes; k++) {
        start(setup, k, text, sizeof text);
        if (k == 0)
            table_cell(table, "server");
        else
            table_cell(table, "%s", node_label(setup->network, k - 1).text);
        table_cell(table, "%s", setup->members[k].address);
        table_cell(table, "%s", text);
    }
    table_print(table, stdout);
    printf("trust files for plan %lld over %lld round%s; each node's vector "
           "goes to its folder as vector.npy\n",
           (long long)setup->plan_id, (long long)setup->rounds,
           setup->rounds == 1 ? "" : "s");
}

/* Keys that are in folders and not let in. */
static void warn_of_keys(const struct setup *setup)
{
    for (int32_t k = 0; k <= setup->network->nodes; k++) {
        const struct setup_member *member = &setup->members[k];
        struct node_label label = {"the server"};
        if (k > 0)
            label = node_label(setup->network, k - 1);
        if (member->removed)
            program_warn("%s is not enrolled any more and stays so: 'pricer "
                         "enrol' lets its key in again",
                         label.text);
        if (member->retired)
            program_warn("the key in the folder of %s is not the one that is "
                         "enrolled, %s: put that one in its place",
                         label.text, member->enrolled);
    }
}

int verb_fleet(int argc, char **argv)
{
    bool as_json = false;
    struct setup setup = {0};
    const struct option options[] = {
        {"to", OPTION_TEXT, &setup.folder, "DIR",
         "where the folders go; made if it is not there"},
        {"server", OPTION_TEXT, &setup.server, "ADDRESS",
         "where nodes reach the server; tcp://127.0.0.1:7100"},
        {"addresses", OPTION_TEXT, &setup.addresses, "FILE",
         "where members are reached: CSV node,address[,key]"},
        {"readers", OPTION_CHOICE, &setup.readers, SETUP_READERS,
         "which nodes get estimates if they ask: whom budgets allow, or all"},
        {"force", OPTION_FLAG, &setup.force, NULL,
         "write anew what is there, but for keys and ledgers"},
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    if (setup.folder == NULL) {
        fputs("pricer fleet: --to is missing; --help explains\n", stderr);
        return 2;
    }
    setup.study_path = operands[0];
    struct pricer_fault fault = {""};
    enum pricer_status status = open_all(&setup, &fault);
    if (status == PRICER_OK)
        status = setup_addresses(&setup, &fault);
    if (status == PRICER_OK)
        status = setup_write(&setup, &fault);
    int result = status != PRICER_OK ? program_fault(status, &fault) : 0;
    if (status == PRICER_OK && as_json)
        report_json(&setup);
    else if (status == PRICER_OK)
        report_table(&setup);
    if (status == PRICER_OK)
        warn_of_keys(&setup);
    if (status == PRICER_OK && setup.beyond > 0)
        program_warn("plan %lld does not keep %d budgets of the study: nodes "
                     "will refuse what is beyond them; 'pricer plan' makes a "
                     "plan that keeps all of them",
                     (long long)setup.plan_id, (int)setup.beyond);
    setup_close(&setup);
    return result;
}
