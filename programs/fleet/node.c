/*
 * One node of a fleet that sums. Holds private data, sends noisy shares of
 * it to those its operator trusts, and relays for others.
 */
#include "node.h"
#include "node_check.h"
#include "node_options.h"
#include "common/program.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* How good an estimate is. */
static void say_result(const struct wire_result *result)
{
    daemon_say("round %lld: estimate from %lld sums with data of %lld nodes, "
               "expected squared error at most about %.2g",
               (long long)result->round, (long long)result->arrived,
               (long long)result->contributors, result->bar);
}

/* The estimate of a round, to the feed and into a file that is replaced whole. */
static void take_result(struct node *node, const void *data, size_t size)
{
    struct wire_result result;
    struct pricer_matrix *matrix = NULL;
    struct pricer_fault fault = {""};
    if (!node->sliced)
        return;
    if (!wire_read_result(data, size, &result) ||
        (result.size != 0 &&
         result.size != 8 * (size_t)node->slice.dimension)) {
        node->dropped[PRICER_DROP_MALFORMED]++;
        return;
    }
    node_tell_result(node, &result);
    if (node->estimate == NULL)
        return;
    if (result.size == 0) {
        daemon_say("round %lld gave this node no estimate; %s is of an earlier "
                   "one",
                   (long long)result.round, node->estimate);
        return;
    }
    if (pricer_matrix_new(1, node->slice.dimension, PRICER_FLOAT64, &matrix,
                          &fault) != PRICER_OK)
        return;
    for (int64_t k = 0; k < node->slice.dimension; k++)
        ((double *)matrix->values)[k] = wire_number(result.estimate, k);
    if (pricer_matrix_write_npy(matrix, node->estimate, &fault) != PRICER_OK)
        daemon_say("%s", fault.text);
    else
        say_result(&result);
    pricer_matrix_free(matrix);
}

static void take_server_message(struct node *node, const void *data,
                                size_t size)
{
    struct wire_open open;
    switch (wire_type(data, size)) {
    case WIRE_SLICE:
        node_take_slice(node, data, size);
        break;
    case WIRE_OPEN:
        if (wire_read_open(data, size, &open))
            node_take_open(node, &open);
        else
            node->dropped[PRICER_DROP_MALFORMED]++;
        break;
    case WIRE_MARK:
        node_take_mark(node, data, size);
        break;
    case WIRE_RESULT:
        take_result(node, data, size);
        break;
    default:
        node->dropped[PRICER_DROP_MALFORMED]++;
    }
}

/* ---------------------------------------------------------------- events -- */

static void see_opened(void *context, struct hub_peer *peer)
{
    struct node *node = context;
    if (peer == node->server)
        node->next_hello = 0;
}

static void see_frame(void *context, struct hub_peer *peer, const void *data,
                      size_t size)
{
    struct node *node = context;
    if (peer == node->server) {
        take_server_message(node, data, size);
    } else if (hub_is_guest(peer)) {
        node_take_share(node, hub_number(peer), data, size);
        node_tick(node, daemon_clock());
    }
}

/* Why the server does not answer, each at most once a minute. */
static void tell(struct node *node, enum hub_end why)
{
    enum { AGAIN = 60000 };
    char text[512];
    int64_t now = daemon_clock();
    if (node->said[why] != 0 && now - node->said[why] < AGAIN)
        return;
    node->said[why] = now;
    if (node_trouble(node, why, text, sizeof text))
        daemon_say("%s", text);
}

static void see_ended(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct node *node = context;
    if (peer == node->server && why == HUB_TURNED)
        node_yield(node);
    if (peer == node->server && why != HUB_SILENT)
        tell(node, why);
}

static void watch_server(struct node *node, int64_t now)
{
    enum { SILENCE = 10000 };
    if (hub_is_open(node->server))
        node->server_left = now;
    else if (now - node->server_left > SILENCE)
        tell(node, HUB_SILENT);
}

/* Another trust file: the slice is judged anew, as if it had not come yet. A
 * file with a mistake in it changes nothing. */
static void read_again(struct node *node)
{
    struct trust trust = {0};
    struct pricer_fault fault = {""};
    if (trust_read(node->trust_file, &trust, &fault) != PRICER_OK) {
        daemon_say("%s; the trust file stays as it was", fault.text);
        return;
    }
    trust_free(&node->trust);
    node->trust = trust;
    vector_stop(&node->vector);
    node->state = NODE_IDLE;
    node->sliced = node->announced = false;
    node->next_hello = 0;
    daemon_say("the trust file is read anew");
}

/* The file of the vector can be read; frames may be behind one that is taken. */
static void serve_vector(struct node *node)
{
    while (vector_serve(&node->vector)) {
        if (node->state == NODE_VECTOR)
            node_take_vector(node);
        else
            vector_stop(&node->vector);
        if (node->vector.feed == NULL)
            return;
    }
}

static void loop(struct node *node)
{
    while (!daemon_stopping() ||
           (node->state != NODE_IDLE && daemon_stopping() < 2)) {
        int64_t now = daemon_clock();
        if (now >= node->next_hello) {
            node_connect_rest(node);
            node_greet(node);
        }
        node_tick(node, now);
        if (daemon_stopping() && node->state == NODE_IDLE)
            return;
        int64_t next = node_next(node);
        next = next < node->next_hello ? next : node->next_hello;
        int file = vector_file(&node->vector);
        node->alarm = next > now ? next : now;
        bool ready = hub_wait(node->hub, next - daemon_clock(), file);
        if (ready && file == vector_file(&node->vector))
            serve_vector(node);
        node_tell_plan(node);
        node_has_slept(node, daemon_clock(), node->open.share);
        watch_server(node, daemon_clock());
        if (daemon_hung_up())
            read_again(node);
    }
}

/* --------------------------------------------------------- what comes first -- */

/* The context of the steps: each may have to wait for its file or its address. */
struct beginning {
    struct node *node;
    const struct node_arguments *arguments;
    struct pricer_network **network;
};

static enum pricer_status read_files(void *context, struct pricer_fault *fault)
{
    const struct beginning *beginning = context;
    const struct node_files *files = &beginning->arguments->files;
    struct node *node = beginning->node;
    enum pricer_status status = keys_read(files->key, &node->pair, fault);
    if (status == PRICER_OK)
        status = keys_public(files->server_key, node->server_key, fault);
    if (status == PRICER_OK)
        status = trust_read(files->trust, &node->trust, fault);
    node->trust_file = files->trust;
    return status;
}

static enum pricer_status load_emulation(void *context,
                                         struct pricer_fault *fault)
{
    const struct beginning *beginning = context;
    const char *path = beginning->arguments->emulate;
    struct pricer_study *study = NULL;
    struct pricer_plan *plan = NULL;
    if (path == NULL)
        return PRICER_OK;
    enum pricer_status status = program_open(path, false, &study, fault);
    if (status == PRICER_OK)
        status =
            pricer_study_plan(study, 0, beginning->network, &plan, NULL, fault);
    pricer_plan_free(plan);
    pricer_study_close(study);
    beginning->node->emulate.network = *beginning->network;
    return status;
}

enum pricer_status node_open_ledger(const char *path, bool new_ledger,
                                    const char *server, struct ledger **ledger,
                                    struct pricer_fault *fault)
{
    if (!new_ledger && !ledger_is_there(path))
        return daemon_fault(
            fault, PRICER_VALUE,
            "%.300s: there is no ledger, so what was spent is not known and "
            "nothing is sent; restore it from a backup, or say --new-ledger if "
            "this node never sent anything",
            path);
    enum pricer_status status = ledger_open(path, server, ledger, fault);
    if (status == PRICER_BUSY) /* a node that runs, which does not pass */
        status = PRICER_VALUE;
    return status;
}

static enum pricer_status open_ledger(void *context, struct pricer_fault *fault)
{
    const struct beginning *beginning = context;
    return node_open_ledger(
        beginning->arguments->files.ledger, beginning->arguments->new_ledger,
        beginning->node->server_key, &beginning->node->ledger, fault);
}

static enum pricer_status open_feed(void *context, struct pricer_fault *fault)
{
    const struct beginning *beginning = context;
    const char *path = beginning->arguments->files.feed;
    return path == NULL ? PRICER_OK
                        : feed_open(path, &beginning->node->vector.feed, fault);
}

static enum pricer_status open_hub(void *context, struct pricer_fault *fault)
{
    const struct beginning *beginning = context;
    struct node *node = beginning->node;
    const struct hub_events events = {node, see_opened, see_frame, see_ended};
    return hub_open(&node->pair, &events, &node->hub, fault);
}

/* Where neighbours will reach this node is tried when its slice has come. What is
 * wrong with the address now and does not pass is told at once. */
static enum pricer_status connect_all(struct node *node,
                                      struct pricer_fault *fault)
{
    uint8_t key[KEYS_SIZE];
    if (!keys_bytes(node->server_key, key))
        return PRICER_VALUE;
    enum pricer_status status = hub_try(node->listen, fault);
    if (status == PRICER_BUSY)
        node_say_deaf(node, fault, daemon_listen_cure);
    else if (status != PRICER_OK) {
        daemon_add_cure(fault, daemon_listen_cure);
        return status;
    }
    node->server_left = daemon_clock();
    return hub_connect(node->hub, node->server_address, key, WIRE_SLICE_SIZE,
                       NULL, &node->server, fault);
}

static enum pricer_status set_up(struct node *node,
                                 const struct node_arguments *arguments,
                                 struct pricer_network **network,
                                 struct pricer_fault *fault)
{
    struct beginning beginning = {node, arguments, network};
    const struct daemon_step steps[] = {
        {.take = read_files},
        {.take = load_emulation},
        {open_ledger, "the ledger", arguments->files.ledger,
         arguments->new_ledger, NULL},
        {.take = open_feed, .what = "the feed"},
        {.take = open_hub},
    };
    node->number = (int32_t)arguments->number;
    node->emulate.seed = (uint64_t)arguments->seed;
    node->replay = arguments->replay;
    node->vector.estimate = node->estimate;
    if (node->vector.row < 0)
        node->vector.row = node->number;
    enum pricer_status status = pricer_random_secret(&node->random, fault);
    for (size_t k = 0; k < sizeof steps / sizeof *steps && !status; k++)
        status = daemon_await(&steps[k], &beginning, fault);
    if (status == PRICER_OK)
        status = connect_all(node, fault);
    if (status == PRICER_OK && node->replay)
        daemon_say("warning: noise from a seed protects nothing");
    return status;
}

int node_run_accept(const struct node_arguments *arguments)
{
    struct pricer_fault fault = {""};
    struct ledger *ledger = NULL;
    char server[PRICER_KEY_TEXT];
    enum pricer_status status =
        arguments->files.server_key == NULL
            ? daemon_fault(&fault, PRICER_VALUE, "--server-key is missing")
            : keys_public(arguments->files.server_key, server, &fault);
    if (status == PRICER_OK)
        status = ledger_open(arguments->files.ledger, server, &ledger, &fault);
    if (status == PRICER_OK)
        status = ledger_accept(ledger, arguments->accept, &fault);
    daemon_say("%s", status == PRICER_OK
                         ? "the ledger goes on after that round; what was sent "
                           "before and is not in it is not counted"
                         : fault.text);
    ledger_close(ledger);
    return status == PRICER_OK ? 0 : 1;
}

static void tear_down(struct node *node)
{
    node_free_slice(node);
    vector_free(&node->vector);
    hub_close(node->hub);
    ledger_close(node->ledger);
    trust_free(&node->trust);
    wire_free(&node->bytes);
    keys_wipe(&node->pair);
    pricer_random_wipe(&node->random);
}

int node_run(struct node *node, const struct node_arguments *arguments)
{
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    enum pricer_status status = set_up(node, arguments, &network, &fault);
    bool well = status == PRICER_OK || status == PRICER_STOPPED;
    if (status == PRICER_OK)
        loop(node);
    if (well)
        daemon_say("%lld rounds done, in %lld of them the vector was clipped",
                   (long long)node->rounds, (long long)node->clipped);
    else
        daemon_say("%s",
                   fault.text[0] ? fault.text : pricer_status_text(status));
    tear_down(node);
    pricer_network_free(network);
    return well ? 0 : 1;
}

int node_run_check(struct node *node, const struct node_arguments *arguments,
                   node_check_mesh *mesh)
{
    node->number = (int32_t)arguments->number;
    node->vector.estimate = node->estimate;
    node->vector.row = node->vector.row < 0 ? node->number : node->vector.row;
    int result = node_check(node, &arguments->files, arguments->json, mesh);
    tear_down(node);
    return program_close(result);
}
