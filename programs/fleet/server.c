/*
 * The parameter server of a fleet that sums. Opens rounds, hands each node
 * its slice of the study's plan, adds up what arrives in time and stores every
 * round in the study.
 */
#include "common/program.h"
#include "server_check.h"
#include "server_start.h"

#include <stdlib.h>
#include <string.h>

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
        bool busy = server->open || server->past.waits;
        if (!busy && (over || daemon_stopping()))
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

/* What is emulated stays what it was when the server started: a new plan may
 * come with another network. */
static enum pricer_status load_emulation(
    struct server *server, const struct server_arguments *arguments,
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

/* --------------------------------------------------------- what comes first -- */

/* The context of the steps: each may have to wait for its file or its address. */
struct beginning {
    struct server *server;
    const struct server_arguments *arguments;
};

static enum pricer_status open_hub(void *context, struct pricer_fault *fault)
{
    const struct beginning *beginning = context;
    struct server *server = beginning->server;
    struct hub_events events = server_events;
    events.context = server;
    enum pricer_status status =
        keys_read(beginning->arguments->key, &server->pair, fault);
    if (status == PRICER_OK)
        status = hub_open(&server->pair, &events, &server->hub, fault);
    return status;
}

/* All that the study is needed for. Nobody listens yet, and nothing is charged. */
static enum pricer_status read_study(void *context, struct pricer_fault *fault)
{
    const struct beginning *beginning = context;
    const struct server_arguments *arguments = beginning->arguments;
    struct server *server = beginning->server;
    enum pricer_status status = PRICER_OK;
    if (server->study == NULL)
        status = program_open(server->path, true, &server->study, fault);
    if (status == PRICER_OK) {
        status = pricer_study_claim(server->study, fault);
        if (status == PRICER_BUSY) /* a server that runs, which does not pass */
            status = PRICER_VALUE;
    }
    if (status == PRICER_OK)
        status = server_find_address(server, arguments->listen, fault);
    if (status == PRICER_OK)
        status = server_load(server, fault);
    if (status == PRICER_OK && arguments->emulate && server->emulated == NULL)
        status = load_emulation(server, arguments, fault);
    return status;
}

static enum pricer_status load_truth(void *context, struct pricer_fault *fault)
{
    const struct beginning *beginning = context;
    return server_load_truth(beginning->server, beginning->arguments->truth,
                             fault);
}

static enum pricer_status begin_listening(void *context,
                                          struct pricer_fault *fault)
{
    const struct beginning *beginning = context;
    struct server *server = beginning->server;
    int64_t dimension = server->network->dimension;
    hub_share(server->hub,
              server_find_threads(beginning->arguments->threads, dimension));
    hub_limit(server->hub,
              8 * dimension + WIRE_SLACK +
                  2 * (int64_t)wire_parts_size(server->network->nodes));
    return hub_listen(server->hub, server->address, fault);
}

static enum pricer_status set_up(struct server *server,
                                 const struct server_arguments *arguments,
                                 struct status_page **page,
                                 struct pricer_fault *fault)
{
    struct beginning beginning = {server, arguments};
    const struct daemon_step keys = {.take = open_hub},
                             study = {.take = read_study,
                                      .what = "the study",
                                      .path = server->path},
                             truth = {.take = load_truth},
                             listen = {.take = begin_listening,
                                       .cure = daemon_listen_cure};
    enum pricer_status status = daemon_await(&keys, &beginning, fault);
    if (status == PRICER_OK)
        status = daemon_await(&study, &beginning, fault);
    if (status == PRICER_OK)
        status = server_count_members(server, fault);
    if (status == PRICER_OK)
        status = daemon_await(&truth, &beginning, fault);
    if (status == PRICER_OK)
        status = daemon_await(&listen, &beginning, fault);
    if (status == PRICER_OK && arguments->port > 0)
        status = status_page_open(
            &(struct status_source){server, status_live, status_metrics,
                                    server_troubles},
            arguments->status_address, arguments->port, page, fault);
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

int server_run(struct server *server, const struct server_arguments *arguments)
{
    struct pricer_fault fault = {""};
    struct status_page *page = NULL;
    server->started = daemon_clock();
    enum pricer_status status = set_up(server, arguments, &page, &fault);
    if (status == PRICER_OK)
        loop(server, page, &status, &fault);
    bool well = status == PRICER_OK || status == PRICER_STOPPED;
    if (!well)
        daemon_say("%s",
                   fault.text[0] ? fault.text : pricer_status_text(status));
    else
        daemon_say("%lld rounds done, %lld of them with an estimate",
                   (long long)server->done, (long long)server->estimates);
    tear_down(server, page);
    return well ? 0 : 1;
}

int server_run_check(struct server *server,
                     const struct server_arguments *arguments,
                     server_check_mesh *mesh)
{
    int result = server_check(server, arguments, mesh);
    tear_down(server, NULL);
    return program_close(result);
}
