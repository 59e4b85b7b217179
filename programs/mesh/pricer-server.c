/*
 * pricer-server: the server of a fleet. The study says which scheme its rounds
 * have: sums of shares, or releases that are forwarded.
 */
#include "server.h"

struct choice {
    const char *path;
    enum pricer_scheme scheme;
};

static enum pricer_status find_scheme(void *context, struct pricer_fault *fault)
{
    struct choice *choice = context;
    struct pricer_study *study = NULL;
    enum pricer_status status =
        pricer_study_open(choice->path, false, &study, fault);
    if (status == PRICER_OK)
        status = pricer_study_scheme(study, &choice->scheme, fault);
    pricer_study_close(study);
    return status;
}

static int run(struct server *server, const struct server_arguments *arguments)
{
    struct choice choice = {.path = server->path};
    const struct daemon_step step = {
        .take = find_scheme, .what = "the study", .path = server->path};
    struct pricer_fault fault = {""};
    enum pricer_status status = daemon_await(&step, &choice, &fault);
    if (status == PRICER_STOPPED)
        return 0;
    if (status != PRICER_OK) {
        daemon_say("%s", fault.text);
        return 1;
    }
    if (choice.scheme != PRICER_SCHEME_FORWARD)
        return server_run(server, arguments);
    return mesh_server_run(&(struct mesh_wishes){.path = server->path,
                                                 .rounds = server->rounds,
                                                 .quorum = server->quorum,
                                                 .wait = server->wait,
                                                 .first = server->first,
                                                 .keep = server->keep,
                                                 .times = server->times},
                           arguments);
}

int main(int argc, char **argv)
{
    struct server server = {.times = {-1, -1, -1, -1, 10, false},
                            .quorum = 1,
                            .first = 1,
                            .memory = 1024,
                            .keep = 100000,
                            .decoding.asked = -1};
    struct server_arguments arguments = {.status_address = "127.0.0.1"};
    int result = server_options_parse(argc, argv, &server, &arguments);
    if (result != OPTIONS_GO)
        return result;
    daemon_keep_secrets();
    daemon_raise_files();
    daemon_catch_signals();
    return arguments.check
               ? server_run_check(&server, &arguments, mesh_server_check)
               : run(&server, &arguments);
}
