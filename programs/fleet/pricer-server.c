/*
 * pricer-server: the parameter server of a fleet. Opens rounds, hands each node
 * its slice of the study's plan, adds up what arrives in time and stores every
 * round in the study.
 */
#include "common/config.h"
#include "common/options.h"
#include "common/program.h"
#include "server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct usage usage = {
    NULL, "[STUDY]",
    "Run rounds with the nodes enrolled in a study: hand out its latest plan,\n"
    "collect sums until the deadline, store the round and publish the "
    "estimate.",
    "pricer-server ten.pricer --key server.key"};

/* What the command line says and struct server does not hold. */
struct arguments {
    const char *config, *study, *key, *listen, *truth, *status_address;
    int64_t port, seed, after;
    bool emulate;
    struct server_times times; /* as given; the study says the attempts */
};

/* How long the server may go without a look at who is enrolled. */
enum { GLANCE = 250 };

/*
 * A study that cannot be written or read (a full disk, a lock, descriptors used
 * up) is no reason to stop: the round that could not be stored stays open, too late
 * for messages, and none is opened, so nobody charges anything. An error only when
 * the operator wants to stop and the round is lost.
 */
static enum pricer_status bear(struct server *server, enum pricer_status status,
                               const struct pricer_fault *fault)
{
    enum { SOON = 25, LATER = 250, TRIFLE = 500, SAY = 10000 };
    int64_t now = daemon_clock();
    if (status == PRICER_OK && now >= server->failed_until) {
        if (server->failure_said != 0)
            daemon_say("the study is fine again after %.1f s",
                       1e-3 * (double)(now - server->failing));
        server->failing = server->failure_said = 0;
    }
    if (status == PRICER_OK)
        return PRICER_OK;
    if (server->failing == 0) {
        server->failing = now;
        server_pause(server);
    }
    bool trifle = now - server->failing < TRIFLE;
    server->failed_until = now + (trifle ? SOON : LATER);
    server->failures++;
    if (!trifle &&
        (now >= server->failure_said + SAY || server->failure_said == 0)) {
        server->failure_said = now;
        daemon_say("%s; rounds wait, trying again",
                   fault->text[0] ? fault->text : pricer_status_text(status));
    }
    return daemon_stopping() ? status : PRICER_OK;
}

static void loop(struct server *server, struct status_page *page,
                 enum pricer_status *status, struct pricer_fault *fault)
{
    while (*status == PRICER_OK) {
        bool over = server->rounds > 0 && server->done >= server->rounds;
        over = over || (server->rounds > 0 && server->ended);
        if (!server->open && (over || daemon_stopping()))
            return;
        if (daemon_stopping() > 1)
            return;
        int64_t now = daemon_clock(), next = server_next(server);
        next = next < now + GLANCE ? next : now + GLANCE;
        hub_wait(server->hub, next - now,
                 page != NULL ? status_page_file(page) : -1);
        server_refresh(server, daemon_clock(), daemon_hung_up());
        if (page != NULL)
            status_page_serve(page);
        *status =
            bear(server, server_tick(server, daemon_clock(), fault), fault);
    }
}

static bool parse(int argc, char **argv, struct server *server,
                  struct arguments *arguments, const char **operands,
                  int *result)
{
    struct server_times *times = &server->times;
    const struct option options[] = {
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
        {"rounds", OPTION_COUNT, &server->rounds, "N",
         "stop after so many rounds; 0: never"},
        {"quorum", OPTION_COUNT, &server->quorum, "N",
         "nodes that must contribute: waited for before the first round; 1"},
        {"wait", OPTION_COUNT, &server->wait, "N",
         "nodes to wait for before the first round; the quorum"},
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
        {"port", OPTION_COUNT, &arguments->port, "PORT",
         "of the status page; 0: none"},
        {"status-address", OPTION_TEXT, &arguments->status_address, "IP",
         "of the status page; 127.0.0.1"},
        {"emulate", OPTION_FLAG, &arguments->emulate, NULL,
         "for demonstrations: drop what the study's uplinks would lose"},
        {"seed", OPTION_COUNT, &arguments->seed, "S", "of --emulate"},
        {"replay-after", OPTION_COUNT, &arguments->after, "R",
         "for demonstrations: the round before the first one of the seed"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    *result =
        config_parse(&usage, options, &arguments->config, argc, argv, operands);
    return *result == OPTIONS_GO;
}

static enum pricer_status load_truth(struct server *server, const char *path,
                                     struct pricer_fault *fault)
{
    struct pricer_matrix *matrix = NULL;
    if (path == NULL)
        return PRICER_OK;
    enum pricer_status status = pricer_matrix_read(path, &matrix, fault);
    if (status == PRICER_OK && matrix->columns != server->network->dimension)
        status = daemon_fault(fault, PRICER_VALUE,
                              "%.300s: not of the study's dimension", path);
    if (status == PRICER_OK) {
        server->truth = calloc((size_t)matrix->columns, sizeof *server->truth);
        if (server->truth == NULL)
            status = PRICER_MEMORY;
        else
            pricer_matrix_row(matrix, 0, server->truth);
    }
    pricer_matrix_free(matrix);
    return status;
}

/* The address enrolled for the server. */
static enum pricer_status find_listen(struct server *server, const char *asked,
                                      char *address, struct pricer_fault *fault)
{
    struct pricer_member *members = NULL;
    int32_t count = 0;
    enum pricer_status status =
        pricer_study_members(server->study, &members, &count, fault);
    if (status != PRICER_OK)
        return status;
    bool enrolled = count > 0 && members[0].node == PRICER_SERVER;
    if (!enrolled || strcmp(members[0].key, server->pair.public_key) != 0)
        status = daemon_fault(fault, PRICER_VALUE,
                              "this key is not enrolled as the server's in the "
                              "study");
    else
        snprintf(address, PRICER_ADDRESS_TEXT, "%s",
                 asked != NULL ? asked : members[0].address);
    pricer_members_free(members);
    return status;
}

static enum pricer_status connect_all(struct server *server,
                                      struct pricer_fault *fault)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    hub_limit(server->hub,
              8 * server->network->dimension + WIRE_SLACK +
                  2 * (int64_t)wire_parts_size(server->network->nodes));
    return hub_listen(server->hub, server->address, fault);
}

/* What is emulated stays what it was when the server started: a new plan may
 * come with another network. */
static enum pricer_status load_emulation(struct server *server,
                                         const struct arguments *arguments,
                                         struct pricer_fault *fault)
{
    struct pricer_plan *plan = NULL;
    enum pricer_status status = pricer_study_plan(
        server->study, 0, &server->emulated, &plan, NULL, fault);
    pricer_plan_free(plan);
    server->emulate = (struct emulate){
        server->emulated, (uint64_t)arguments->seed, arguments->after};
    return status;
}

/*
 * Times that are not given follow from those that are. A vector needs the most:
 * a command that starts Python with NumPy takes a second on a small machine, and
 * noise for a million elements and ten links another; so half of a round is for
 * it, a quarter for the sharing.
 */
static void fill_times(struct server_times *times, int64_t attempts)
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

/* The times of a round whose attempts the study knows. */
static enum pricer_status share_period(struct server *server,
                                       const struct arguments *arguments,
                                       struct pricer_fault *fault)
{
    struct server_times *times = &server->times;
    *times = arguments->times;
    fill_times(times, server->attempts);
    if (times->early || times->period >= server->attempts * times->uplink)
        return PRICER_OK;
    return daemon_fault(fault, PRICER_VALUE,
                        "--period must not be shorter than %d times --uplink: "
                        "a round has so many attempts",
                        (int)server->attempts);
}

/* All that the study is needed for. What was done before a failure is not done
 * again by the next call. */
static enum pricer_status read_study(struct server *server,
                                     const struct arguments *arguments,
                                     struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    if (server->study == NULL)
        status = pricer_study_open(server->path, true, &server->study, fault);
    if (status == PRICER_OK) {
        status = pricer_study_claim(server->study, fault);
        if (status == PRICER_BUSY) /* a server that runs, which does not pass */
            status = PRICER_VALUE;
    }
    if (status == PRICER_OK)
        status = find_listen(server, arguments->listen, server->address, fault);
    if (status == PRICER_OK)
        status = server_load(server, fault);
    if (status == PRICER_OK && arguments->emulate && server->emulated == NULL)
        status = load_emulation(server, arguments, fault);
    return status;
}

/* A study that cannot be used now is waited for: nobody listens yet, and nothing
 * is charged. */
static enum pricer_status await_study(struct server *server,
                                      const struct arguments *arguments,
                                      struct pricer_fault *fault)
{
    struct daemon_file file = {.path = server->path};
    enum pricer_status status;
    do
        status = read_study(server, arguments, fault);
    while (status != PRICER_OK && daemon_try_again(&file, status, fault));
    if (status == PRICER_OK && file.said != 0)
        daemon_say("the study is fine again");
    return status != PRICER_OK && daemon_stopping() ? PRICER_STOPPED : status;
}

static enum pricer_status set_up(struct server *server,
                                 const struct arguments *arguments,
                                 struct status_page **page,
                                 struct pricer_fault *fault)
{
    struct hub_events events = server_events;
    events.context = server;
    enum pricer_status status = keys_read(arguments->key, &server->pair, fault);
    if (status == PRICER_OK)
        status = hub_open(&server->pair, &events, &server->hub, fault);
    if (status == PRICER_OK)
        status = await_study(server, arguments, fault);
    if (status == PRICER_OK)
        status = share_period(server, arguments, fault);
    if (status == PRICER_OK && server->quorum > server->members)
        status = daemon_fault(fault, PRICER_VALUE,
                              "--quorum %lld, and only %d nodes are enrolled",
                              (long long)server->quorum, (int)server->members);
    if (status == PRICER_OK && server->wait > server->members)
        status = daemon_fault(fault, PRICER_VALUE,
                              "--wait %lld, and only %d nodes are enrolled",
                              (long long)server->wait, (int)server->members);
    if (status == PRICER_OK)
        status = load_truth(server, arguments->truth, fault);
    if (status == PRICER_OK)
        status = connect_all(server, fault);
    if (status == PRICER_OK && arguments->port > 0)
        status = status_page_open(server, arguments->status_address,
                                  arguments->port, page, fault);
    if (status == PRICER_OK)
        daemon_say(
            "listening at %s: %d of %d nodes enrolled, plan %lld, "
            "%s decoder",
            server->address, (int)server->members, (int)server->network->nodes,
            (long long)server->plan_id,
            pricer_word(PRICER_WORDS_DECODE, (int)server->decoding.used));
    return status;
}

static void tear_down(struct server *server, struct status_page *page)
{
    status_page_close(page);
    if (server->marks_saved > 0)
        server_save_marks(server, INT64_MAX);
    hub_close(server->hub);
    server_unload(server);
    pricer_study_close(server->study);
    keys_wipe(&server->pair);
}

/* What cannot be, in words, or NULL. */
static const char *find_mistake(const struct server *server,
                                const struct arguments *arguments)
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
    return NULL;
}

int main(int argc, char **argv)
{
    struct server server = {.times = {-1, -1, -1, -1, 10, false},
                            .quorum = 1,
                            .first = 1,
                            .memory = 1024,
                            .keep = 100000,
                            .decoding.asked = -1};
    struct arguments arguments = {.status_address = "127.0.0.1"};
    struct pricer_fault fault = {""};
    struct status_page *page = NULL;
    const char *operands[1];
    int result;
    if (!parse(argc, argv, &server, &arguments, operands, &result))
        return result;
    arguments.times = server.times;
    fill_times(&server.times, 1);
    server.path = operands[0] != NULL ? operands[0] : arguments.study;
    if (find_mistake(&server, &arguments) != NULL) {
        fprintf(stderr, "pricer-server: %s; --help explains\n",
                find_mistake(&server, &arguments));
        return 2;
    }
    daemon_keep_secrets();
    daemon_catch_signals();
    server.started = daemon_clock();
    enum pricer_status status = set_up(&server, &arguments, &page, &fault);
    if (status == PRICER_OK)
        loop(&server, page, &status, &fault);
    bool well = status == PRICER_OK || status == PRICER_STOPPED;
    if (!well)
        daemon_say("%s",
                   fault.text[0] ? fault.text : pricer_status_text(status));
    else
        daemon_say("%lld rounds done, %lld of them with an estimate",
                   (long long)server.done, (long long)server.estimates);
    tear_down(&server, page);
    return well ? 0 : 1;
}
