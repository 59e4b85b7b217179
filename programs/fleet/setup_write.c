/*
 * From members with addresses to a folder for each of them, and to a study in
 * which all of them are enrolled.
 */
#include "setup.h"
#include "draft.h"
#include "ledger.h"
#include "common/daemon.h"
#include "common/program.h"
#include "transport/keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ----------------------------------------------------------------- files -- */

static enum pricer_status fail(const char *path, struct pricer_fault *fault)
{
    return daemon_fault(fault, PRICER_FILE, "%.300s: %s", path,
                        strerror(errno));
}

/* "FOLDER/ENDING" of member k: 0 is the server, then the nodes. */
static void name(const struct setup *setup, int32_t k, const char *ending,
                 char *path)
{
    if (k == 0)
        snprintf(path, PATH_MAX, "%.3900s/server%s", setup->home, ending);
    else
        snprintf(path, PATH_MAX, "%.3900s/%s%s", setup->home,
                 node_folder(setup->network, k - 1).text, ending);
}

/* One that is there is fine; it is made private too. */
static enum pricer_status make_folder(const char *path,
                                      struct pricer_fault *fault)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return fail(path, fault);
    return chmod(path, 0700) == 0 ? PRICER_OK : fail(path, fault);
}

/* A file is whole under its name, or not there; for its owner alone. */
static enum pricer_status write_file(const char *path, const char *text,
                                     size_t size, struct pricer_fault *fault)
{
    char fresh[PATH_MAX];
    snprintf(fresh, sizeof fresh, "%.4000s.new", path);
    unlink(fresh);
    int file =
        open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return fail(fresh, fault);
    bool good = fchmod(file, 0600) == 0 &&
                write(file, text, size) == (ssize_t)size && fsync(file) == 0;
    int error = errno;
    close(file);
    if (good && rename(fresh, path) == 0)
        return PRICER_OK;
    error = good ? errno : error;
    unlink(fresh);
    errno = error;
    return fail(path, fault);
}

/* The text that a function writes, into a file of member k. */
typedef void writer(struct setup *setup, int32_t k, FILE *out);
static enum pricer_status write_text(struct setup *setup, int32_t k,
                                     const char *ending, writer *write_it,
                                     struct pricer_fault *fault)
{
    char path[PATH_MAX], *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return PRICER_MEMORY;
    write_it(setup, k, memory);
    name(setup, k, ending, path);
    enum pricer_status status = fclose(memory) != 0
                                    ? PRICER_MEMORY
                                    : write_file(path, text, size, fault);
    free(text);
    return status;
}

/* ------------------------------------------------------------------ texts -- */

/* Where a member listens: at all addresses of its machine, unless that is
 * loopback, which is nobody else's business. */
static void write_listen(const char *address, FILE *out)
{
    bool near = strncmp(address, "tcp://127.", 10) == 0 ||
                strncmp(address, "tcp://localhost:", 16) == 0 ||
                strncmp(address, "tcp://[::1]:", 12) == 0;
    if (near)
        fprintf(out, "listen      %s\n", address);
    else
        fprintf(out, "listen      tcp://*%s\n", strrchr(address, ':'));
}

/* Milliseconds. All attempts of a round fit into its period. */
static void write_times(const struct setup *setup, FILE *out)
{
    int64_t k = setup->attempts;
    if (setup->forward != NULL)
        fprintf(out,
                "# A round every ten seconds; releases are taken in until "
                "uplink, in each attempt.\n# A node that hears nothing goes on "
                "by its clock for 30 rounds.\n"
                "period      10000\nuplink      %lld\nahead       30\n"
                "# /health turns when fewer nodes arrive in a round.\n",
                (long long)(9000 / k));
    else
        fprintf(out,
                "# A round every ten seconds; in each attempt nodes have until "
                "send for their\n# vectors, and sharing ends at share.\n"
                "period      10000\nsend        %lld\nshare       %lld\n"
                "uplink      %lld\nahead       30\n"
                "# So many nodes must contribute: waited for before the first "
                "round, and /health\n# turns when a round has fewer.\n",
                (long long)(5000 / k), (long long)(7500 / k),
                (long long)(9000 / k));
}

static void write_server(struct setup *setup, int32_t k, FILE *out)
{
    fputs("# pricer-server, run in this folder: a line 'name value' for each\n"
          "# option of pricer-server(1).\n",
          out);
    fprintf(out, "study       %s\nkey         server.key\n", setup->study_home);
    write_listen(setup->members[k].address, out);
    write_times(setup, out);
    fprintf(out,
            "quorum      %d\n"
            "# http://127.0.0.1:7180/ and /metrics\nport        7180\n",
            (int)setup->network->nodes / 2 + 1);
    if (setup->forward == NULL) /* else everyone knows what estimates tell */
        fprintf(out,
                "# Which nodes get estimates if they ask: 'budgets', those "
                "towards whom the budgets\n# of all others hold what that "
                "tells, or 'all' (docs/threats.md).\nreaders     %s\n",
                setup->readers == 0 ? "budgets" : "all");
}

static void write_node(struct setup *setup, int32_t k, FILE *out)
{
    fputs("# pricer-node, run in this folder: a line 'name value' for each\n"
          "# option of pricer-node(1).\n",
          out);
    fprintf(out,
            "node        %d\nkey         node.key\nserver      %s\n"
            "server-key  server.key.pub\n",
            (int)k - 1, setup->members[0].address);
    write_listen(setup->members[k].address, out);
    if (setup->forward != NULL)
        fputs("neighbours  neighbours.csv\n", out);
    fprintf(
        out,
        "trust       node.trust\nledger      node.ledger\n"
        "# The private vector, %lld numbers of length %g at most: a row of "
        "a .npy file,\n# or a command that writes one to its output in "
        "each round, or a program that\n# stays and hands them in at a socket "
        "(one of the three).\n"
        "data        vector.npy\nrow         0\n#command    ./make-vector\n"
        "#feed       unix:feed\n",
        (long long)setup->network->dimension,
        setup->network->reach > 0 ? setup->network->reach
                                  : setup->network->node_radius[k - 1]);
    double diameter = setup->network->node_diameter[k - 1];
    if (setup->forward == NULL &&
        diameter < 2 * setup->network->node_radius[k - 1])
        fprintf(out,
                "# Data that nobody may tell apart are no further apart than "
                "this: the budgets of\n# the trust file rest on it.\n"
                "diameter    %.17g\n",
                diameter);
}

static void write_unit(struct setup *setup, int32_t k, FILE *out)
{
    char unit[128];
    if (k == 0)
        strcpy(unit, "pricer-server");
    else
        snprintf(unit, sizeof unit, "pricer-node@%s",
                 node_folder(setup->network, k - 1).text);
    fprintf(out, "# /etc/systemd/system/%s.service.d/folder.conf\n[Service]\n",
            unit);
    if (k == 0)
        fprintf(out, "WorkingDirectory=%s/server\n", setup->home);
    else
        fprintf(out, "WorkingDirectory=/var/lib/pricer/%s\n",
                node_folder(setup->network, k - 1).text);
    fprintf(out, "Environment=PRICER_CONFIG=%s.conf\n",
            k == 0 ? "server" : "node");
}

static void write_server_key(struct setup *setup, int32_t k, FILE *out)
{
    (void)k;
    fprintf(out, "public %s\n", setup->members[0].key);
}

static void write_trust(struct setup *setup, int32_t k, FILE *out)
{
    const struct draft draft = {
        .network = setup->network,
        .plan = setup->plan,
        .forward = setup->forward,
        .rounds = setup->rounds,
        .keys = (const char(*)[PRICER_KEY_TEXT])setup->keys,
    };
    fprintf(out,
            "# What node %s lets out: a draft for plan %lld over %lld rounds. "
            "It is this node's\n# own word, so read it and change what you do "
            "not agree with: the server cannot\n# make the node send more. %s"
            "\n",
            node_label(setup->network, k - 1).text, (long long)setup->plan_id,
            (long long)setup->rounds,
            setup->forward != NULL
                ? "Everyone may hear its releases: eps\n# and delta bound all "
                  "rounds of all plans together (pricer-node(1))."
                : "The node's own number stands for the part it sends to\n"
                  "# the server itself. eps and delta bound one release, the "
                  "totals all of them\n"
                  "# together; inf is full trust (pricer-node(1)).");
    setup->beyond += draft_write(&draft, k - 1, out);
}

/* One row of the neighbours. Those that only send to this node connect to it. */
static void write_neighbour(const struct setup *setup, int32_t node, bool to,
                            FILE *out)
{
    const struct setup_member *member = &setup->members[node + 1];
    if (member->removed)
        return;
    fprintf(out, "%d,%s,%s", (int)node, setup->keys[node + 1],
            to ? member->address : "");
    if (setup->network->name != NULL)
        fprintf(out, ",%s", setup->network->name[node]);
    fputc('\n', out);
}

/* By number: links out and links in are ordered, and are merged. */
static void write_neighbours(struct setup *setup, int32_t k, FILE *out)
{
    const struct pricer_network *network = setup->network;
    int32_t l = network->out_start[k - 1], m = network->in_start[k - 1];
    int32_t out_end = network->out_start[k], in_end = network->in_start[k];
    fputs("# Whom this node forwards to and listens to; without an address, it "
          "is the other\n# that connects (pricer-node(1)).\n",
          out);
    fputs(network->name != NULL ? "node,key,address,name\n"
                                : "node,key,address\n",
          out);
    while (l < out_end || m < in_end) {
        int32_t to = l < out_end ? network->to[l] : INT32_MAX;
        int32_t from =
            m < in_end ? network->from[network->in_link[m]] : INT32_MAX;
        write_neighbour(setup, to < from ? to : from, to <= from, out);
        l += to <= from;
        m += from <= to;
    }
}

/* ---------------------------------------------------------------- folders -- */

/*
 * The key that is in a folder was shut out if the study has another one for this
 * member, or has others and not this one: whoever did that had a reason.
 */
static void judge_key(const struct setup *setup, struct setup_member *member)
{
    member->removed = setup->enrolled > 0 && member->enrolled[0] == '\0';
    member->retired = member->enrolled[0] != '\0' &&
                      strcmp(member->enrolled, member->key) != 0;
    if (member->retired)
        strcpy(member->key, member->enrolled);
}

/* Make the key of member k, or take the one that is there. */
static enum pricer_status make_key(struct setup *setup, int32_t k,
                                   struct pricer_fault *fault)
{
    struct setup_member *member = &setup->members[k];
    struct key_pair pair = {0};
    char path[PATH_MAX];
    if (member->given) {
        strcpy(setup->keys[k], member->key);
        return PRICER_OK;
    }
    name(setup, k, k == 0 ? "/server.key" : "/node.key", path);
    bool there = access(path, F_OK) == 0;
    enum pricer_status status =
        there ? keys_read(path, &pair, fault) : keys_make(path, &pair, fault);
    if (status == PRICER_OK) {
        strcpy(member->key, pair.public_key);
        if (there)
            judge_key(setup, member);
        strcpy(setup->keys[k], member->key);
    }
    keys_wipe(&pair);
    return status;
}

/* The first ledger is made here and never again: a node that misses its ledger
 * later has lost what it spent. */
static enum pricer_status make_ledger(const struct setup *setup, int32_t k,
                                      struct pricer_fault *fault)
{
    struct ledger *ledger = NULL;
    char path[PATH_MAX];
    name(setup, k, "/node.ledger", path);
    if (ledger_is_there(path))
        return PRICER_OK;
    enum pricer_status status =
        ledger_open(path, setup->members[0].key, &ledger, fault);
    if (status == PRICER_OK)
        ledger_close(ledger);
    return status;
}

static enum pricer_status fill_folder(struct setup *setup, int32_t k,
                                      struct pricer_fault *fault)
{
    enum pricer_status status =
        write_text(setup, k, k == 0 ? "/server.conf" : "/node.conf",
                   k == 0 ? write_server : write_node, fault);
    if (status == PRICER_OK)
        status = write_text(setup, k, "/unit.conf", write_unit, fault);
    if (status == PRICER_OK && k > 0)
        status =
            write_text(setup, k, "/server.key.pub", write_server_key, fault);
    if (status == PRICER_OK && k > 0)
        status = write_text(setup, k, "/node.trust", write_trust, fault);
    if (status == PRICER_OK && k > 0 && setup->forward != NULL)
        status =
            write_text(setup, k, "/neighbours.csv", write_neighbours, fault);
    if (status == PRICER_OK && k > 0)
        status = make_ledger(setup, k, fault);
    return status;
}

/* Nothing stands in the way: neither files nor enrolments. */
static enum pricer_status check_room(const struct setup *setup,
                                     struct pricer_fault *fault)
{
    struct pricer_member *members = NULL;
    int32_t count = 0, entries = 0;
    DIR *folder = opendir(setup->home);
    while (folder != NULL && readdir(folder) != NULL)
        entries++;
    if (folder != NULL)
        closedir(folder);
    if (entries > 2) /* itself and the one above */
        return daemon_fault(fault, PRICER_FILE,
                            "%.300s: not empty; --force writes configurations "
                            "and trust files anew, keys and ledgers stay",
                            setup->folder);
    enum pricer_status status =
        pricer_study_members(setup->study, &members, &count, fault);
    if (status == PRICER_OK && count > 0)
        status = daemon_fault(fault, PRICER_VALUE,
                              "%.300s has members already; --force enrols "
                              "everyone anew",
                              setup->study_path);
    pricer_members_free(members);
    return status;
}

static enum pricer_status enrol_all(struct setup *setup,
                                    struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    for (int32_t k = 0; k <= setup->network->nodes && status == PRICER_OK;
         k++) {
        struct pricer_member member = {.node = k - 1};
        if (setup->members[k].removed)
            continue;
        strcpy(member.key, setup->members[k].key);
        strcpy(member.address, setup->members[k].address);
        status = pricer_study_enrol(setup->study, &member, fault);
    }
    return status;
}

enum pricer_status setup_write(struct setup *setup, struct pricer_fault *fault)
{
    char path[PATH_MAX];
    mode_t mask = umask(077); /* of the files that SQLite makes */
    enum pricer_status status = make_folder(setup->folder, fault);
    if (status == PRICER_OK && (realpath(setup->folder, setup->home) == NULL ||
                                strlen(setup->home) > 3900))
        status = fail(setup->folder, fault);
    if (status == PRICER_OK &&
        realpath(setup->study_path, setup->study_home) == NULL)
        status = fail(setup->study_path, fault);
    if (status == PRICER_OK && !setup->force)
        status = check_room(setup, fault);
    if (status != PRICER_OK)
        rmdir(setup->folder); /* if it was made for nothing */
    for (int32_t k = 0; k <= setup->network->nodes && status == PRICER_OK;
         k++) {
        name(setup, k, "", path);
        status = make_folder(path, fault);
        if (status == PRICER_OK)
            status = make_key(setup, k, fault);
    }
    for (int32_t k = 0; k <= setup->network->nodes && status == PRICER_OK; k++)
        status = fill_folder(setup, k, fault);
    if (status == PRICER_OK)
        status = enrol_all(setup, fault);
    umask(mask);
    return status;
}

void setup_close(struct setup *setup)
{
    pricer_plan_free(setup->plan);
    pricer_forward_plan_free(setup->forward);
    pricer_network_free(setup->network);
    pricer_study_close(setup->study);
    free(setup->members);
    free(setup->keys);
}
