/*
 * From a server's configuration to what would fail if it were started, with the
 * cure of each. It reads the study and takes its addresses as it would in earnest,
 * by the same code, but serves nobody: no round is opened and nothing is stored.
 */
#include "server_check.h"
#include "check.h"
#include "pricer_forward.h"
#include "server_start.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes that a study takes for a node or a link of a round, beside its estimate. */
enum { ROW = 14, NAMED = 8, FAST = 1000 /* Mbit/s: more is unusual */ };

/* ------------------------------------------------------------------ study -- */

static const char *study_cure(const char *path, enum pricer_status status)
{
    if (status == PRICER_BUSY)
        return "another program holds it ('fuser' names it); the server waits "
               "for that";
    if (status == PRICER_FORMAT)
        return "'pricer new' makes a study; this one may be damaged or of "
               "another version";
    if (status != PRICER_FILE)
        return "see 'pricer show'";
    if (access(path, F_OK) != 0)
        return "'pricer new' makes one; is the path right?";
    if (access(path, R_OK | W_OK) != 0 && errno != EROFS)
        return "it must be this user's: 'chown' it";
    return "a full or read-only disk, a folder that is not this user's, or "
           "another program that holds it? The server waits for what can pass";
}

/* Open and claimed, as nobody else may have it. */
static bool check_study(struct findings *found, struct server *server)
{
    struct pricer_fault fault = {""};
    enum pricer_status status =
        pricer_study_open(server->path, true, &server->study, &fault);
    if (status == PRICER_OK) {
        status = pricer_study_claim(server->study, &fault);
        if (status == PRICER_BUSY) {
            check_tell(found, FOUND_BAD, "study",
                       "%s; its own log and its status page say what is wrong "
                       "with it: stop it to check",
                       fault.text);
            return false;
        }
    }
    if (status != PRICER_OK)
        check_tell(found, FOUND_BAD, "study", "%s; %s", fault.text,
                   study_cure(server->path, status));
    else
        check_tell(found, FOUND_GOOD, "study",
                   "%s can be read and written, and no server has it",
                   server->path);
    return status == PRICER_OK;
}

/* False: who is enrolled cannot be read. */
static bool check_enrolment(struct findings *found, struct server *server,
                            const char *listen, bool own)
{
    struct pricer_fault fault = {""};
    struct pricer_member *members = NULL;
    int32_t count = 0;
    enum pricer_status status = server_find_address(server, listen, &fault);
    if (status == PRICER_OK) {
        check_tell(found, FOUND_GOOD, "enrolment",
                   "the key is the server's in the study");
        return true;
    }
    if (pricer_study_members(server->study, &members, &count, &fault) !=
        PRICER_OK) {
        check_tell(found, FOUND_BAD, "enrolment",
                   "%s: restore it, or 'pricer enrol' that node anew",
                   fault.text);
        return false;
    }
    bool known = count > 0 && members[0].node == PRICER_SERVER;
    if (known)
        snprintf(server->address, sizeof server->address, "%s",
                 listen != NULL ? listen : members[0].address);
    if (!known)
        check_tell(found, FOUND_BAD, "enrolment",
                   "no server is enrolled: 'pricer enrol %s server KEY.pub "
                   "ADDRESS'",
                   server->path);
    else if (own)
        check_tell(found, FOUND_BAD, "enrolment",
                   "the study has %s for the server: is --key the right file? "
                   "If the key is new, 'pricer enrol %s server %s ADDRESS', "
                   "and the nodes need it too (--server-key)",
                   members[0].key, server->path, server->pair.public_key);
    pricer_members_free(members);
    return true;
}

/* ------------------------------------------------------- plan and members -- */

/* Whether the plan gives the node a part. */
static bool has_part(const struct server *server, int32_t node)
{
    const struct pricer_network *net = server->network;
    bool used = server->plan->self_weight[node] > 0;
    for (int32_t l = net->out_start[node]; l < net->out_start[node + 1]; l++)
        used = used || server->plan->weight[l] > 0;
    for (int32_t k = net->in_start[node]; k < net->in_start[node + 1]; k++)
        used = used || server->plan->weight[net->in_link[k]] > 0;
    return used;
}

void server_name(struct server_names *names,
                 const struct pricer_network *network, int32_t node)
{
    if (names->count++ < NAMED)
        names->used += (size_t)snprintf(
            names->text + names->used, sizeof names->text - names->used, "%s%s",
            names->count > 1 ? ", " : "", node_label(network, node).text);
}

const char *server_names_text(struct server_names *names)
{
    if (names->count > NAMED)
        snprintf(names->text + names->used, sizeof names->text - names->used,
                 " and %d more", (int)names->count - NAMED);
    return names->text;
}

/* Keys and addresses that no handshake could come from or lead to. */
static bool check_seats(struct findings *found, const struct server *server)
{
    bool good = true;
    for (int32_t i = 0; i < server->network->nodes; i++) {
        const struct seat *seat = &server->seats[i];
        uint8_t key[KEYS_SIZE];
        bool has_key = keys_bytes(seat->key, key);
        if (!seat->enrolled || (has_key && hub_is_address(seat->address)))
            continue;
        good = false;
        check_tell(found, FOUND_BAD, "nodes",
                   "node %s is enrolled with %s '%s': 'pricer enrol' it anew",
                   node_label(server->network, i).text,
                   has_key ? "an address that is none," : "no key but",
                   has_key ? seat->address : seat->key);
    }
    return good;
}

bool server_check_count(struct findings *found, const struct server *server)
{
    struct pricer_fault fault = {""};
    if (server->members == 0)
        check_tell(found, FOUND_BAD, "nodes",
                   "no node is enrolled: 'pricer enrol STUDY NODE KEY.pub "
                   "ADDRESS' does it, 'pricer fleet' writes it all");
    else if (server_count_members(server, &fault) != PRICER_OK)
        check_tell(found, FOUND_BAD, "nodes",
                   "%s: 'pricer enrol' the others, or ask for fewer",
                   fault.text);
    else
        return true;
    return false;
}

static void check_members(struct findings *found, const struct server *server)
{
    struct server_names missing = {.used = 0};
    bool good = check_seats(found, server);
    if (!server_check_count(found, server))
        return;
    for (int32_t i = 0; i < server->network->nodes; i++)
        if (!server->seats[i].enrolled && has_part(server, i))
            server_name(&missing, server->network, i);
    if (missing.count > 0)
        check_tell(found, FOUND_NOTE, "nodes",
                   "%d of %d are enrolled; the plan counts on others: %s. "
                   "'pricer enrol' them, or their part is lost",
                   (int)server->members, (int)server->network->nodes,
                   server_names_text(&missing));
    else if (good)
        check_tell(found, FOUND_GOOD, "nodes",
                   "%d of %d are enrolled, each with a key and an address",
                   (int)server->members, (int)server->network->nodes);
}

/* What the server would hand out. Where it has no key of its own, another stands
 * for it: who is let in does not depend on it. */
static bool check_plan(struct findings *found, struct server *server)
{
    struct pricer_fault fault = {""};
    struct hub_events events = server_events;
    uint8_t seed[KEYS_SIZE];
    events.context = server;
    if (server->pair.secret == NULL) {
        randombytes_buf(seed, sizeof seed);
        keys_derive(seed, &server->pair);
    }
    enum pricer_status status =
        hub_open(&server->pair, &events, &server->hub, &fault);
    if (status == PRICER_OK)
        status = server_load(server, &fault);
    /* With nobody enrolled all is loaded, and the nodes have a line of their own. */
    bool loaded = status == PRICER_OK ||
                  (server->plan_id > 0 && !server->stale && !server->members);
    if (!loaded)
        check_tell(found, FOUND_BAD, "plan", "%s",
                   fault.text[0] ? fault.text : pricer_status_text(status));
    else if (server->open_budgets > 0)
        check_tell(found, FOUND_NOTE, "plan",
                   "plan %lld shows the server more of %lld nodes than their "
                   "budgets allow, and they may refuse: 'pricer plan'",
                   (long long)server->plan_id, (long long)server->open_budgets);
    else
        check_tell(found, FOUND_GOOD, "plan",
                   "plan %lld, %s decoder; rounds go on after number %lld",
                   (long long)server->plan_id,
                   pricer_word(PRICER_WORDS_DECODE, (int)server->decoding.used),
                   (long long)server->round);
    return loaded;
}

/* -------------------------------------------------------------- addresses -- */

static void check_status(struct findings *found, const char *address,
                         int64_t port)
{
    struct pricer_fault fault = {""};
    if (port == 0)
        return;
    enum pricer_status status = status_page_check(address, port, &fault);
    if (status == PRICER_OK)
        check_tell(found, FOUND_GOOD, "status", "http://%s:%d/", address,
                   (int)port);
    else
        check_tell(found, FOUND_BAD, "status", "%s; %s", fault.text,
                   status == PRICER_BUSY
                       ? "'ss -ltnp' says whose the port is, 'ip addr' whether "
                         "the address is this machine's; until then rounds go "
                         "on without the page"
                       : "another --port or --status-address is the cure");
}

/* ----------------------------------------------------------------- limits -- */

static int64_t links_in_use(const struct server *server)
{
    int64_t used = 0;
    for (int32_t l = 0; server->plan != NULL && l < server->plan->links; l++)
        used += server->plan->weight[l] > 0 || server->probe;
    return used;
}

/* What the rounds that are kept will take, as far as that is known. */
static void check_growth(struct findings *found, const struct server *server,
                         double room)
{
    struct stat about;
    double rows = (double)(server->network->nodes + links_in_use(server)) *
                  server->attempts;
    double each = 8. * (double)server->network->dimension + ROW * rows;
    if (stat(server->path, &about) != 0 || room < 0)
        return;
    double more = each * (double)server->keep - (double)about.st_size;
    if (server->keep == 0)
        check_tell(found, FOUND_NOTE, "disk",
                   "rounds are kept for ever (--keep 0), about %.3g KiB each",
                   each / (1 << 10));
    else if (more > room)
        check_tell(found, FOUND_NOTE, "disk",
                   "the %lld rounds that are kept will take about %.3g MiB, "
                   "more than there is: --keep %lld would do",
                   (long long)server->keep,
                   each * (double)server->keep / (1 << 20),
                   (long long)(.8 * (room + (double)about.st_size) / each));
}

/* Attempts must fit into a round. */
static bool check_period(struct findings *found, struct server *server,
                         const struct server_arguments *arguments)
{
    struct server_times *times = &server->times;
    *times = arguments->times;
    server_fill_times(times, server->attempts);
    if (times->early || times->period >= server->attempts * times->uplink)
        return true;
    check_tell(
        found, FOUND_BAD, "deadlines",
        "--period must not be shorter than %d times --uplink, as a round "
        "has so many attempts; a longer --period or a shorter --uplink "
        "is the cure",
        (int)server->attempts);
    return false;
}

/* A release needs time to be made, and to travel. */
static void check_collection(struct findings *found,
                             const struct server *server)
{
    const struct server_times *times = &server->times;
    if (times->uplink == 0)
        check_tell(found, FOUND_BAD, "deadlines",
                   "--uplink 0 leaves no time for releases");
    else
        check_tell(found, FOUND_GOOD, "deadlines",
                   "%d times %lld ms a round for releases to be made and to "
                   "arrive, a round each %lld ms",
                   (int)server->attempts, (long long)times->uplink,
                   (long long)times->period);
}

/* Each stage needs time, and sums the bandwidth to come in it. */
static void check_deadlines(struct findings *found, const struct server *server)
{
    const struct server_times *times = &server->times;
    int64_t window = times->uplink - times->share;
    if (times->send == 0 || times->share == times->send || window == 0) {
        check_tell(found, FOUND_BAD, "deadlines",
                   "--send %lld, --share %lld, --uplink %lld leave no time for "
                   "%s: let them ascend from above 0",
                   (long long)times->send, (long long)times->share,
                   (long long)times->uplink,
                   times->send == 0              ? "vectors"
                   : times->share == times->send ? "shares"
                                                 : "sums");
        return;
    }
    double bytes =
        8. * (double)server->network->dimension * (double)server->members;
    double rate = 8e-3 * bytes / (double)window;
    check_tell(found, rate > FAST ? FOUND_NOTE : FOUND_GOOD, "deadlines",
               "vectors within %lld ms, shares within %lld, sums within %lld, "
               "a round each %lld ms; sums of %.3g MiB take %.3g Mbit/s%s",
               (long long)times->send, (long long)(times->share - times->send),
               (long long)window, (long long)times->period, bytes / (1 << 20),
               rate, rate > FAST ? ": is the network so fast?" : "");
}

static void check_truth(struct findings *found, struct server *server,
                        const char *path)
{
    struct pricer_fault fault = {""};
    if (path == NULL)
        return;
    if (server_load_truth(server, path, &fault) != PRICER_OK)
        check_tell(found, FOUND_BAD, "truth",
                   "%s; a .npy file with one vector of %lld numbers, or no "
                   "--truth",
                   fault.text, (long long)server->network->dimension);
    else
        check_tell(found, FOUND_GOOD, "truth", "%s", path);
}

/* Whether releases are forwarded; a study that cannot say so has no plan either. */
static bool is_forwarded(const struct server *server)
{
    enum pricer_scheme scheme = PRICER_SCHEME_SUM;
    pricer_study_scheme(server->study, &scheme, NULL);
    return scheme == PRICER_SCHEME_FORWARD;
}

static bool check_sum_plan(struct findings *found, struct server *server)
{
    server->attempts = 1;
    if (!check_plan(found, server))
        return false;
    check_members(found, server);
    return true;
}

int server_check(struct server *server,
                 const struct server_arguments *arguments,
                 server_check_mesh *mesh)
{
    struct findings found;
    struct pricer_fault fault = {""};
    check_begin(&found, arguments->json);
    bool own = check_key(&found, arguments->key, &server->pair);
    bool study = check_study(&found, server);
    bool forward = study && is_forwarded(server);
    bool planned =
        study && check_enrolment(&found, server, arguments->listen, own) &&
        (forward ? mesh(server, &found) : check_sum_plan(&found, server));
    if (server->address[0] != '\0') {
        enum pricer_status status = hub_try(server->address, &fault);
        check_listening(&found, server->address, status, &fault);
    }
    if (study)
        check_status(&found, arguments->status_address, arguments->port);
    double room = check_disk(&found, server->path, "the study");
    if (planned) {
        check_growth(&found, server, room);
        check_descriptors(&found, server->members);
        if (check_period(&found, server, arguments))
            (forward ? check_collection : check_deadlines)(&found, server);
        check_truth(&found, server, arguments->truth);
    }
    check_clock(&found, arguments->key);
    return check_end(&found);
}
