/*
 * From a node's configuration to what would fail if it were started, with the
 * cure of each. The node connects and takes its slice as it would in earnest, by
 * the same code, but never tells the server that it is ready: it is in no round,
 * and nothing is charged.
 */
#include "node_check.h"
#include "feed_listen.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PATIENCE = 5000,   /* for the server and its slice */
    NEIGHBOURS = 2000, /* for theirs, who need not run yet */
    COMMAND = 30000    /* for the command that makes the vector */
};

struct check {
    struct findings found;
    enum hub_end why; /* the server's last end */
    bool opened;      /* the server was reached and knows us */
    bool refused;     /* the slice asks for what the node will not do */
};

bool node_trouble(const struct node *node, enum hub_end why, char *text,
                  size_t size)
{
    const char *address = node->server_address, *key = node->pair.public_key;
    text[0] = '\0';
    switch (why) {
    case HUB_REFUSED:
        snprintf(text, size,
                 "the server at %s does not admit this node's key %s: "
                 "'pricer enrol STUDY %d %s ADDRESS' there",
                 address, key, (int)node->number, key);
        break;
    case HUB_STRANGER:
        snprintf(text, size,
                 "the server at %s has another key than it should: is "
                 "--server-key its public key?",
                 address);
        break;
    case HUB_BROKEN:
        snprintf(text, size,
                 "the server at %s breaks the handshake off: is it a "
                 "pricer-server?",
                 address);
        break;
    case HUB_TURNED:
        snprintf(text, size,
                 "the server at %s turns this node away: another node is "
                 "connected with its key, or did it start too often? Nothing "
                 "is sent",
                 address);
        break;
    case HUB_REPLACED:
    case HUB_BUSY:
        snprintf(text, size,
                 "the server at %s cuts the connection: does another node "
                 "run with this key?",
                 address);
        break;
    case HUB_SILENT:
        snprintf(text, size,
                 "no word from the server at %s for 10 s: does it run, and "
                 "does a firewall let this node through?",
                 address);
        break;
    default:
        break;
    }
    return text[0] != '\0';
}

/* ------------------------------------------------------------------ files -- */

static bool check_keys(struct check *check, struct node *node,
                       const struct node_files *files)
{
    struct pricer_fault fault = {""};
    bool own = check_key(&check->found, files->key, &node->pair);
    bool server =
        keys_public(files->server_key, node->server_key, &fault) == PRICER_OK;
    if (server)
        check_tell(&check->found, FOUND_GOOD, "server-key", "%s",
                   node->server_key);
    else
        check_tell(&check->found, FOUND_BAD, "server-key",
                   "%s; it is the server's .pub file of 'pricer keygen'",
                   fault.text);
    return own && server;
}

static bool check_trust(struct check *check, struct node *node,
                        const struct node_files *files)
{
    struct pricer_fault fault = {""};
    bool good = trust_read(files->trust, &node->trust, &fault) == PRICER_OK;
    const struct trust_row *everyone = trust_find(&node->trust, TRUST_EVERYONE);
    if (!good)
        check_tell(&check->found, FOUND_BAD, "trust",
                   "%s; its columns are in pricer-node(1)", fault.text);
    else if (files->neighbours != NULL && everyone == NULL)
        check_tell(&check->found, FOUND_BAD, "trust",
                   "%s: no row 'everyone', so nothing is released; add "
                   "everyone,eps,delta for all rounds of all plans",
                   files->trust);
    else if (files->neighbours != NULL)
        check_tell(&check->found, FOUND_GOOD, "trust",
                   "%s: eps = %g, delta = %g towards everyone", files->trust,
                   everyone->eps, everyone->delta);
    else if (trust_find(&node->trust, node->number) == NULL)
        check_tell(
            &check->found, FOUND_BAD, "trust",
            "%s: no row for %d, this node, so its own part stays here; add one",
            files->trust, (int)node->number);
    else
        check_tell(&check->found, FOUND_GOOD, "trust", "%s: %d receivers",
                   files->trust, (int)node->trust.count);
    return good;
}

/* A ledger that is not there is replaced by one that is forgotten. */
static bool check_ledger(struct check *check, struct node *node,
                         const struct node_files *files)
{
    struct pricer_fault fault = {""};
    char spare[] = "/tmp/pricer-check-XXXXXX/ledger";
    if (ledger_is_there(files->ledger)) {
        enum pricer_status status =
            ledger_open(files->ledger, node->server_key, &node->ledger, &fault);
        const char *cure =
            status == PRICER_BUSY
                ? "that node runs, so its own log says what is wrong with it: "
                  "stop it to check"
            : status == PRICER_FILE
                ? "a full or read-only disk, or another program that holds it? "
                  "The node waits for that"
                : "restore it from a backup";
        if (status != PRICER_OK)
            check_tell(&check->found, FOUND_BAD, "ledger", "%s; %s", fault.text,
                       cure);
        else
            check_tell(&check->found, FOUND_GOOD, "ledger",
                       "%s: round %lld was the last", files->ledger,
                       (long long)ledger_last(node->ledger));
        return status == PRICER_OK;
    }
    check_tell(
        &check->found, FOUND_BAD, "ledger",
        "%s is not there: restore it from a backup, or, if this node has never "
        "sent anything, start it once with --new-ledger",
        files->ledger);
    char *slash = strrchr(spare, '/');
    *slash = '\0';
    bool made = mkdtemp(spare) != NULL;
    *slash = '/';
    made = made && ledger_open(spare, node->server_key, &node->ledger,
                               &fault) == PRICER_OK;
    unlink(spare);
    *slash = '\0';
    char path[64];
    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, "%s/ledger%s", spare, k ? "-shm" : "-wal");
        unlink(path);
    }
    rmdir(spare);
    return made;
}

/* ----------------------------------------------------------------- server -- */

static void see_opened(void *context, struct hub_peer *peer)
{
    struct node *node = context;
    if (peer == node->server)
        node->check->opened = true;
}

static void see_frame(void *context, struct hub_peer *peer, const void *data,
                      size_t size)
{
    struct node *node = context;
    if (peer == node->server && wire_type(data, size) == WIRE_SLICE)
        node_take_slice(node, data, size);
    else if (peer == node->server && wire_type(data, size) == WIRE_MARK)
        node_take_mark(node, data, size);
}

static void see_ended(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct node *node = context;
    if (peer == node->server)
        node->check->why = why;
}

static void see_refusal(struct node *node, int32_t to, const char *text)
{
    node->check->refused = true;
    if (to < 0)
        check_tell(&node->check->found, FOUND_BAD, "ledger", "%s", text);
    else if (to == node->number)
        check_tell(&node->check->found, FOUND_BAD, "budgets",
                   "of its own part: %s; a row in the "
                   "trust file is the cure, or another "
                   "plan",
                   text);
    else
        check_tell(&node->check->found, FOUND_BAD, "budgets",
                   "to node %s: %s; a row in the trust "
                   "file is the cure, or another plan",
                   trust_label(&node->trust, to).text, text);
}

bool node_check_is_final(enum hub_end why)
{
    return why == HUB_REFUSED || why == HUB_STRANGER || why == HUB_BROKEN ||
           why == HUB_TURNED;
}

static void check_listen(struct check *check, struct node *node)
{
    struct pricer_fault fault = {""};
    enum pricer_status status = hub_listen(node->hub, node->listen, &fault);
    node->listening = status == PRICER_OK;
    check_listening(&check->found, node->listen, status, &fault);
}

void node_check_server(struct findings *found, const struct node *node,
                       bool opened, enum hub_end why, bool forward)
{
    char text[512];
    bool far = forward && !node_check_is_final(why);
    if (opened) {
        check_tell(found, FOUND_GOOD, "server",
                   "%s answers, has the right key and knows ours",
                   node->server_address);
        return;
    }
    if (!node_trouble(node, why, text, sizeof text))
        snprintf(text, sizeof text,
                 "nobody answers at %s (%s): does pricer-server run, is the "
                 "address right, does a firewall let this node through?",
                 node->server_address, hub_end_text(why));
    check_tell(found, far ? FOUND_NOTE : FOUND_BAD,
               why == HUB_REFUSED ? "enrolment" : "server", "%s%s", text,
               far ? " Where nobody does, neighbours forward" : "");
}

static bool reach_server(struct check *check, struct node *node)
{
    struct pricer_fault fault = {""};
    const struct hub_events events = {node, see_opened, see_frame, see_ended};
    uint8_t key[KEYS_SIZE];
    int64_t end = daemon_clock() + PATIENCE;
    if (!keys_bytes(node->server_key, key) ||
        hub_open(&node->pair, &events, &node->hub, &fault) != PRICER_OK ||
        hub_connect(node->hub, node->server_address, key, WIRE_SLICE_SIZE, NULL,
                    &node->server, &fault) != PRICER_OK) {
        check_tell(&check->found, FOUND_BAD, "server", "%s", fault.text);
        return false;
    }
    check_listen(check, node);
    while (!check->opened && !node_check_is_final(check->why) &&
           daemon_clock() < end)
        hub_wait(node->hub, end - daemon_clock(), -1);
    node_check_server(&check->found, node, check->opened, check->why, false);
    return check->opened;
}

static void tell_left(struct check *check, const struct node *node)
{
    int64_t least = node->all_left;
    if (node->own_open && node->slice.own.weight > 0 && node->own_left < least)
        least = node->own_left;
    for (int32_t k = 0; k < node->slice.out_count; k++)
        if (!node->peers[k].refused && node->slice.out[k].weight > 0 &&
            node->peers[k].left < least)
            least = node->peers[k].left;
    if (least == 0)
        check_tell(
            &check->found, FOUND_BAD, "budgets",
            "one is spent: 'pricer-node --ledger FILE --ledger-show' says "
            "whose; only its operator can allow more, in the trust file");
    else if (check->refused)
        return;
    else if (least == LEDGER_NO_END)
        check_tell(&check->found, FOUND_GOOD, "budgets",
                   "plan %lld fits, for ever", (long long)node->slice.plan);
    else
        check_tell(&check->found, FOUND_GOOD, "budgets",
                   "plan %lld fits, for %lld rounds more",
                   (long long)node->slice.plan, (long long)least);
}

static bool take_slice(struct check *check, struct node *node)
{
    int64_t end = daemon_clock() + PATIENCE;
    while (!node->sliced && !check->refused && daemon_clock() < end) {
        if (daemon_clock() >= node->next_hello)
            node_greet(node);
        hub_wait(node->hub, 100, -1);
    }
    if (node->sliced)
        tell_left(check, node);
    else if (!check->refused)
        check_tell(
            &check->found, FOUND_BAD, "plan",
            "the server sends no slice: has its study a plan (pricer plan)?");
    return node->sliced;
}

static void check_neighbours(struct check *check, struct node *node)
{
    int64_t end = daemon_clock() + NEIGHBOURS;
    int32_t up = 0, count = node->slice.out_count;
    while (up < count && daemon_clock() < end) {
        hub_wait(node->hub, 50, -1);
        up = 0;
        for (int32_t k = 0; k < count; k++)
            up +=
                node->peers[k].link != NULL && hub_is_open(node->peers[k].link);
    }
    check_tell(&check->found, up < count ? FOUND_NOTE : FOUND_GOOD,
               "neighbours", "%d of %d reached%s", (int)up, (int)count,
               up < count
                   ? "; the others may not run yet, or a firewall is between"
                   : "");
}

/* ----------------------------------------------------------------- vector -- */

/* What the plan says about the vector; dimension 0: there is no plan. */
struct shape {
    int64_t dimension;
    double reach;
};

static enum pricer_status get_vector(struct node *node, int64_t dimension,
                                     double *data, struct pricer_fault *fault)
{
    bool ready = false;
    struct vector *vector = &node->vector;
    const struct feed_round round = {.dimension = dimension};
    enum pricer_status status = vector_start(vector, &round, &ready, fault);
    if (status == PRICER_OK && !ready) {
        struct pollfd file = {.fd = vector->child_file, .events = POLLIN};
        if (poll(&file, 1, COMMAND) != 1) {
            vector_stop(vector);
            return daemon_fault(fault, PRICER_FILE,
                                "the command is not done after 30 s");
        }
    }
    if (status == PRICER_OK)
        status = vector_take(vector, dimension, data, fault);
    return status;
}

static void check_length(struct check *check, const char *from,
                         const double *data, const struct shape *shape)
{
    double square = 0;
    for (int64_t k = 0; k < shape->dimension; k++)
        square += data[k] * data[k];
    if (sqrt(square) > shape->reach * (1 + 1e-12))
        check_tell(
            &check->found, FOUND_NOTE, "vector",
            "%s: length %g, and is clipped to the radius %g: scale it, or plan "
            "with another",
            from, sqrt(square), shape->reach);
    else
        check_tell(&check->found, FOUND_GOOD, "vector",
                   "%s: %lld numbers, length %g", from,
                   (long long)shape->dimension, sqrt(square));
}

static void check_vector(struct check *check, struct node *node,
                         const struct shape *shape)
{
    struct pricer_fault fault = {""};
    const char *from =
        node->vector.command != NULL ? node->vector.command : node->vector.file;
    if (shape->dimension == 0) {
        if (node->vector.command == NULL && access(from, R_OK) != 0)
            check_tell(&check->found, FOUND_BAD, "vector",
                       "%s: %s; put the vector there, or say "
                       "where it is (--data)",
                       from, strerror(errno));
        return;
    }
    double *data = calloc((size_t)shape->dimension, sizeof *data);
    if (data == NULL || get_vector(node, shape->dimension, data, &fault))
        check_tell(&check->found, FOUND_BAD, "vector", "%s: %s", from,
                   data != NULL ? fault.text : "no memory");
    else
        check_length(check, from, data, shape);
    if (data != NULL)
        sodium_memzero(data, (size_t)shape->dimension * sizeof *data);
    free(data);
}

/* Who will connect is not known before the node runs. */
static void check_feed(struct check *check, const char *feed)
{
    struct pricer_fault fault = {""};
    if (feed_listen_check(feed, &fault) == PRICER_OK)
        check_tell(&check->found, FOUND_GOOD, "vector",
                   "%s is free for the program that has it", feed);
    else
        check_tell(&check->found, FOUND_BAD, "vector", "%s", fault.text);
    if (strncmp(feed, "unix:", 5) == 0)
        check_disk(&check->found, feed + 5, "the feed's socket");
}

/* By sums: the slice. */
static void check_slice(struct check *check, struct node *node, bool trust,
                        struct shape *shape)
{
    if (!reach_server(check, node) || !trust || !node->listening ||
        !take_slice(check, node))
        return;
    check_descriptors(&check->found,
                      node->slice.out_count + node->slice.in_count + 1);
    check_neighbours(check, node);
    *shape = (struct shape){node->slice.dimension, node->slice.radius};
}

/* By forwarding: what was released, and what the plan asks for. */
static void check_forwarding(struct check *check, struct node *node,
                             const struct node_files *files,
                             node_check_mesh *mesh, struct shape *shape)
{
    struct pricer_fault fault = {""};
    struct ledger_terms terms;
    double reach = 0;
    if (ledger_use_trust(node->ledger, &node->trust, node->number, &fault) !=
        PRICER_OK) {
        check_tell(&check->found, FOUND_BAD, "ledger", "%s", fault.text);
        return;
    }
    bool known = mesh(node, files, &check->found, &terms, &reach);
    check_releases(&check->found, node->ledger, known ? &terms : NULL);
    if (known)
        *shape = (struct shape){terms.dimension, reach};
}

static void run_checks(struct check *check, struct node *node,
                       const struct node_files *files, node_check_mesh *mesh)
{
    struct shape shape = {0, 0};
    bool keys = check_keys(check, node, files);
    bool trust = check_trust(check, node, files);
    bool ledger = keys && check_ledger(check, node, files);
    check_disk(&check->found, files->ledger, "the ledger");
    if (node->estimate != NULL)
        check_disk(&check->found, node->estimate, "estimates");
    check_clock(&check->found, files->key);
    if (ledger && files->neighbours != NULL)
        check_forwarding(check, node, files, mesh, &shape);
    else if (ledger)
        check_slice(check, node, trust, &shape);
    if (files->feed != NULL)
        check_feed(check, files->feed);
    else
        check_vector(check, node, &shape);
}

int node_check(struct node *node, const struct node_files *files, bool as_json,
               node_check_mesh *mesh)
{
    struct check check = {.why = HUB_UNREACHED};
    node->check = &check;
    node->checking = see_refusal;
    check_begin(&check.found, as_json);
    run_checks(&check, node, files, mesh);
    return check_end(&check.found);
}
