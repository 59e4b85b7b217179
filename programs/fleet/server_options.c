/*
 * From a server's command line and configuration to what its operator wants.
 */
#include "server_options.h"

#include <stdio.h>

static const struct usage usage = {
    NULL, "[STUDY]",
    "Run rounds with the nodes enrolled in a study: hand out its latest plan,\n"
    "collect sums until the deadline, store the round and publish the "
    "estimate.",
    "pricer-server ten.pricer --key server.key"};

/* Options: what it needs, and when rounds are. */
static void add_times(struct option_table *table, struct server *server,
                      struct server_arguments *arguments)
{
    struct server_times *times = &server->times;
    const struct option rows[] = {
        {"config", OPTION_TEXT, &arguments->config, "FILE",
         "read options from FILE, a line 'name value' each"},
        {"study", OPTION_TEXT, &arguments->study, "STUDY",
         "the study, if it is not the operand"},
        {"key", OPTION_TEXT, &arguments->key, "FILE",
         "the server's secret key, from pricer keygen"},
        {"listen", OPTION_TEXT, &arguments->listen, "ADDRESS",
         "where to listen; by default the enrolled address"},
        {"period", OPTION_COUNT, &times->period, "MS",
         "from one round to the next; 10000"},
        {"send", OPTION_COUNT, &times->send, "MS",
         "when in an attempt nodes must have their vectors and send; 2/3 of "
         "--share"},
        {"share", OPTION_COUNT, &times->share, "MS",
         "when the sharing ends; 5/6 of --uplink"},
        {"uplink", OPTION_COUNT, &times->uplink, "MS",
         "when the round, or an attempt of it, ends; 9/10 of --period, by "
         "attempts, with --early 9000"},
        {"ahead", OPTION_COUNT, &times->ahead, "N",
         "rounds a node that hears nothing opens by itself; 10"},
        {"early", OPTION_FLAG, &times->early, NULL,
         "end each stage when all is there; for demonstrations"},
    };
    options_add(table, rows, sizeof rows / sizeof *rows);
}

/* Options: which rounds there are, and what is made of them. */
static void add_rounds(struct option_table *table, struct server *server,
                       struct server_arguments *arguments)
{
    const struct option rows[] = {
        {"rounds", OPTION_COUNT, &server->rounds, "N",
         "stop after so many rounds; 0: never"},
        {"quorum", OPTION_COUNT, &server->quorum, "N",
         "nodes that must contribute: waited for before the first round; 1"},
        {"wait", OPTION_COUNT, &server->wait, "N",
         "nodes that must be ready before the first round; the quorum"},
        {"first-round", OPTION_COUNT, &server->first, "N",
         "the least number of the first round; 1"},
        {"probe", OPTION_FLAG, &server->probe, NULL,
         "measure links without weight too"},
        {"decoder", OPTION_CHOICE, &server->decoding.asked, PROGRAM_DECODERS,
         PROGRAM_DECODER_HELP},
        {"memory", OPTION_COUNT, &server->memory, "MIB",
         "that a decoder may keep the sums of a round in; 1024"},
        {"readers", OPTION_CHOICE, &server->readers, "budgets|all",
         "which nodes get estimates if they ask: whom budgets allow, or all"},
        {"keep", OPTION_COUNT, &server->keep, "N",
         "rounds that the study keeps, older ones are deleted; 0: all; 100000"},
        {"truth", OPTION_TEXT, &arguments->truth, "FILE",
         "the true mean (.npy), where it is known, to tell the error"},
    };
    options_add(table, rows, sizeof rows / sizeof *rows);
}

/* Options: a look before the start, the status page, threads, and
 * demonstrations. */
static void add_others(struct option_table *table,
                       struct server_arguments *arguments)
{
    const struct option rows[] = {
        {"check", OPTION_FLAG, &arguments->check, NULL,
         "say what would fail and how to cure it, open no round, and stop"},
        {"json", OPTION_FLAG, &arguments->json, NULL,
         "print the checks as one JSON object"},
        {"port", OPTION_COUNT, &arguments->port, "PORT",
         "of the status page; 0: none"},
        {"status-address", OPTION_TEXT, &arguments->status_address, "IP",
         "of the status page; 127.0.0.1"},
        {"threads", OPTION_COUNT, &arguments->threads, "N",
         "that encrypt and decrypt; by default half as many as cores, of long "
         "vectors as many, at most 8"},
        {"emulate", OPTION_FLAG, &arguments->emulate, NULL,
         "for demonstrations: drop what the study's uplinks would lose"},
        {"seed", OPTION_COUNT, &arguments->seed, "S", "of --emulate"},
        {"replay-after", OPTION_COUNT, &arguments->after, "R",
         "for demonstrations: the round before the first one of the seed"},
    };
    options_add(table, rows, sizeof rows / sizeof *rows);
}

/* A vector needs the most: a command that starts Python with NumPy takes a second
 * on a small machine, and noise for a million elements and ten links another; so
 * half of a round is for it, a quarter for the sharing. */
void server_fill_times(struct server_times *times, int64_t attempts)
{
    enum { PERIOD = 10000 };
    if (times->period < 0)
        times->period = PERIOD;
    if (times->uplink < 0)
        times->uplink =
            (times->early ? PERIOD : times->period / attempts) * 9 / 10;
    if (times->share < 0)
        times->share = times->uplink * 5 / 6;
    if (times->send < 0)
        times->send = times->share * 2 / 3;
}

/* What cannot be, in words, or NULL. */
static const char *find_mistake(const struct server *server,
                                const struct server_arguments *arguments)
{
    const struct server_times *times = &server->times;
    if (server->path == NULL)
        return "STUDY is missing";
    if (arguments->key == NULL)
        return "--key is missing";
    if (times->send > times->share || times->share > times->uplink ||
        times->uplink > 24 * 3600 * 1000 || times->period > 24 * 3600 * 1000)
        return "--send, --share and --uplink must ascend, up to a day";
    if (!times->early && times->period < times->uplink)
        return "--period must not be shorter than --uplink";
    if (arguments->port > 65535)
        return "--port is at most 65535";
    if (arguments->json && !arguments->check)
        return "--json is for --check";
    if (arguments->threads > 64)
        return "--threads is at most 64";
    return NULL;
}

int server_options_parse(int argc, char **argv, struct server *server,
                         struct server_arguments *arguments)
{
    struct option_table table = {.count = 0};
    const char *operands[1];
    add_times(&table, server, arguments);
    add_rounds(&table, server, arguments);
    add_others(&table, arguments);
    int result = config_parse(&usage, table.rows, &arguments->config, argc,
                              argv, operands);
    if (result != OPTIONS_GO)
        return result;
    arguments->times = server->times;
    server_fill_times(&server->times, 1);
    server->path = operands[0] != NULL ? operands[0] : arguments->study;
    if (find_mistake(server, arguments) == NULL)
        return result;
    fprintf(stderr, "pricer-server: %s; --help explains\n",
            find_mistake(server, arguments));
    return 2;
}
