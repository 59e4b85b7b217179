/*
 * Server and nodes as processes on loopback, from start to end. Every process
 * is ended by its own id, and ends by itself if this one dies.
 */
#include "demo.h"
#include "common/daemon.h"
#include "pricer_decode.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 40, WORD = 4200 };

/* Seconds without a new round: until what is waited for is printed, and until the
 * demo is given up, where one more is added for every node. */
enum { SAID = 15, TIMEOUT = 60 };

/* A command line that grows. */
struct words {
    char text[WORDS][WORD];
    char *list[WORDS + 1];
    int count;
};

static void add(struct words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct words *words, const char *format, ...)
{
    va_list arguments;
    if (words->count == WORDS)
        return;
    va_start(arguments, format);
    vsnprintf(words->text[words->count], WORD, format, arguments);
    va_end(arguments);
    words->list[words->count] = words->text[words->count];
    words->list[++words->count] = NULL;
}

/* A program beside the one at `self`, if it can be run. */
static bool find_beside(const char *self, const char *program, char *path,
                        size_t size)
{
    const char *slash = strrchr(self, '/');
    if (slash == NULL)
        return false;
    snprintf(path, size, "%.*s/%s", (int)(slash - self), self, program);
    return access(path, X_OK) == 0;
}

static bool find_in_path(const char *program, char *path, size_t size)
{
    const char *folders = getenv("PATH");
    while (folders != NULL && *folders != '\0') {
        int length = (int)strcspn(folders, ":");
        snprintf(path, size, "%.*s/%s", length, folders, program);
        if (length > 0 && access(path, X_OK) == 0)
            return true;
        folders += length;
        folders += *folders == ':';
    }
    return false;
}

/* The daemons stand beside this program: where the kernel says that it is, else
 * where it was called, else as the shell has found it. */
static enum pricer_status find_program(const char *program, char *path,
                                       size_t size, struct pricer_fault *fault)
{
    char self[4000] = "";
    bool known = readlink("/proc/self/exe", self, sizeof self - 1) > 0;
    if (!known)
        snprintf(self, sizeof self, "%s", program_invocation_name);
    if (find_beside(self, program, path, size) ||
        (!known && find_in_path(program, path, size)))
        return PRICER_OK;
    return daemon_fault(fault, PRICER_FILE,
                        "%s is neither beside pricer nor in PATH", program);
}

/* Start one; what it says goes to a file in the folder. */
static enum pricer_status start(struct demo *demo, struct words *words,
                                int32_t place, struct pricer_fault *fault)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%d.log", demo->folder,
             place == demo->network->nodes ? -1 : (int)place);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
        int empty = open("/dev/null", O_RDONLY);
        dup2(empty, STDIN_FILENO);
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
        setpgid(0, 0); /* Ctrl-C is for the parent */
        execv(words->list[0], words->list);
        _exit(127);
    }
    if (log >= 0)
        close(log);
    if (child < 0)
        return daemon_fault(fault, PRICER_FILE, "cannot start %s: %s",
                            words->list[0], strerror(errno));
    demo->children[place] = child;
    return PRICER_OK;
}

static enum pricer_status start_server(struct demo *demo, struct words *words,
                                       struct pricer_fault *fault)
{
    char program[4096];
    enum pricer_status status =
        find_program("pricer-server", program, sizeof program, fault);
    if (status != PRICER_OK)
        return status;
    words->count = 0;
    add(words, "%s", program);
    add(words, "%s", demo->path);
    add(words, "--key=%s/%d.key", demo->folder, PRICER_SERVER);
    add(words, "--truth=%s/mean.npy", demo->folder);
    add(words, "--rounds=%lld", (long long)demo->rounds);
    add(words, "--wait=%d", (int)demo->network->nodes);
    add(words, "--emulate");
    add(words, "--seed=%llu", (unsigned long long)demo_seed(demo));
    add(words, "--replay-after=%lld", (long long)demo->before);
    add(words, "--decoder=%s",
        pricer_word(PRICER_WORDS_DECODE, (int)demo->decoding.used));
    add(words, "--port=%lld", (long long)demo->port);
    add(words, "--early");
    add(words, "--probe");
    add(words, "--period=0");
    add(words, "--share=20000");
    add(words, "--uplink=30000");
    return start(demo, words, demo->network->nodes, fault);
}

static enum pricer_status start_node(struct demo *demo, struct words *words,
                                     const struct pricer_member *server,
                                     const struct pricer_member *member,
                                     struct pricer_fault *fault)
{
    char program[4096];
    int node = (int)member->node;
    enum pricer_status status =
        find_program("pricer-node", program, sizeof program, fault);
    if (status != PRICER_OK)
        return status;
    words->count = 0;
    add(words, "%s", program);
    add(words, "--node=%d", node);
    add(words, "--key=%s/%d.key", demo->folder, node);
    add(words, "--server=%s", server->address);
    add(words, "--server-key=%s", server->key);
    add(words, "--listen=%s", member->address);
    add(words, "--trust=%s/%d.trust", demo->folder, node);
    add(words, "--ledger=%s/%d.ledger", demo->folder, node);
    add(words, "--new-ledger");
    if (demo->forward != NULL)
        add(words, "--neighbours=%s/%d.neighbours", demo->folder, node);
    else
        add(words, "--first-seen");
    double diameter = demo->network->node_diameter[node];
    if (demo->forward == NULL &&
        diameter < 2 * demo->network->node_radius[node])
        add(words, "--diameter=%.17g", diameter);
    add(words, "--data=%s/data.npy", demo->folder);
    add(words, "--emulate=%s", demo->path);
    add(words, "--seed=%llu", (unsigned long long)demo_seed(demo));
    add(words, "--replay-after=%lld", (long long)demo->before);
    add(words, "--replay-noise");
    return start(demo, words, node, fault);
}

static enum pricer_status start_all(struct demo *demo,
                                    struct pricer_fault *fault)
{
    struct pricer_member *members = NULL;
    int32_t count = 0, nodes = demo->network->nodes;
    struct words *words = calloc(1, sizeof *words);
    demo->children = calloc((size_t)nodes + 1, sizeof *demo->children);
    if (words == NULL || demo->children == NULL) {
        free(words);
        return PRICER_MEMORY;
    }
    demo->running = nodes + 1;
    enum pricer_status status =
        pricer_study_members(demo->study, &members, &count, fault);
    if (status == PRICER_OK)
        status = start_server(demo, words, fault);
    for (int32_t k = 1; k < count && status == PRICER_OK; k++)
        status = start_node(demo, words, &members[0], &members[k], fault);
    free(words);
    pricer_members_free(members);
    return status;
}

/* The last line of the server's log, or "". */
struct last_line {
    char text[300];
};

static struct last_line read_last_line(const struct demo *demo)
{
    struct last_line found = {""};
    char path[4200], *line = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/-1.log", demo->folder);
    FILE *log = fopen(path, "re");
    while (log != NULL && getline(&line, &size, log) > 0)
        snprintf(found.text, sizeof found.text, "%.*s",
                 (int)strcspn(line, "\n"), line);
    if (log != NULL)
        fclose(log);
    free(line);
    return found;
}

/* How many rounds are stored; 0 while the study cannot be read. */
static int64_t count_rounds(struct demo *demo)
{
    struct pricer_rounds_summary summary = {0};
    pricer_study_rounds(demo->study, 0, &summary, NULL);
    return summary.rounds;
}

/* End the children that still run, and wait for them. */
static void end_children(struct demo *demo)
{
    for (int32_t k = 0; k < demo->running; k++)
        if (demo->children[k] > 0)
            kill(demo->children[k], SIGTERM);
    for (int32_t k = 0; k < demo->running; k++) {
        int waited = 0;
        while (demo->children[k] > 0 &&
               waitpid(demo->children[k], NULL, WNOHANG) == 0) {
            if (waited++ == 500)
                kill(demo->children[k], SIGKILL);
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        }
        demo->children[k] = 0;
    }
    demo->running = 0;
}

/* Whether the server is done; it is a fault if it failed, or a node ended before
 * it, for which it would wait for ever. */
static bool is_over(struct demo *demo, enum pricer_status *status,
                    struct pricer_fault *fault)
{
    int32_t server = demo->network->nodes;
    for (int32_t k = server; k >= 0; k--) {
        int how = 0;
        if (waitpid(demo->children[k], &how, WNOHANG) == 0)
            continue;
        demo->children[k] = 0;
        if (k < server || !WIFEXITED(how) || WEXITSTATUS(how) != 0)
            *status = daemon_fault(fault, PRICER_FILE,
                                   "%s failed; %.300s/%d.log says why (--keep "
                                   "FOLDER keeps it)",
                                   k < server ? "a node" : "the server",
                                   demo->folder, k < server ? (int)k : -1);
        return true;
    }
    return false;
}

/* How far the fleet is, and since when it is no further. */
struct pace {
    int64_t rounds;
    double since, patience;
    bool said;
};

/* A fleet in which no round ends says what it waits for, and is given up after
 * the time-out. */
static enum pricer_status watch_pace(const struct demo *demo, int64_t rounds,
                                     struct pace *pace,
                                     struct pricer_fault *fault)
{
    double now = program_seconds(), waited = now - pace->since;
    if (rounds > pace->rounds) {
        pace->rounds = rounds;
        pace->since = now;
        return PRICER_OK;
    }
    if (waited > pace->patience)
        return daemon_fault(fault, PRICER_FILE,
                            "no round has ended for %.0f s, %lld of %lld are "
                            "done (--timeout waits longer, --keep FOLDER keeps "
                            "the logs); the server's log ends with: %s",
                            waited, (long long)rounds, (long long)demo->rounds,
                            read_last_line(demo).text);
    if (waited > fmin(SAID, pace->patience / 2) && !pace->said) {
        pace->said = true;
        program_warn("no round has ended for %.0f s; the server's log ends "
                     "with: %s",
                     waited, read_last_line(demo).text);
    }
    return PRICER_OK;
}

enum pricer_status demo_run(struct demo *demo, const struct pricer_watch *watch,
                            struct pricer_fault *fault)
{
    int64_t before = count_rounds(demo);
    struct pace pace = {
        .since = program_seconds(),
        .patience = demo->timeout > 0 ? (double)demo->timeout
                                      : TIMEOUT + (double)demo->network->nodes};
    enum pricer_status status = start_all(demo, fault);
    while (status == PRICER_OK && !is_over(demo, &status, fault)) {
        int64_t done = count_rounds(demo) - before;
        status = watch_pace(demo, done, &pace, fault);
        if (!watch->tick(watch->context, (double)done / (double)demo->rounds))
            status = PRICER_STOPPED;
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    }
    end_children(demo);
    return status;
}

/* Only what the demo made: a folder of plain files. */
static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(path);
}

void demo_clean(struct demo *demo)
{
    if (demo->children != NULL)
        end_children(demo);
    while (demo->held > 0)
        close(demo->ports[--demo->held]);
    pricer_study_close(demo->study);
    demo->study = NULL;
    if (demo->keep == NULL && demo->folder[0] != '\0')
        remove_folder(demo->folder);
}

void demo_close(struct demo *demo)
{
    demo_clean(demo);
    free(demo->ports);
    free(demo->children);
    pricer_matrix_free(demo->data);
    pricer_decoder_free(demo->decoding.decoder);
    pricer_plan_free(demo->plan);
    pricer_forward_plan_free(demo->forward);
    pricer_network_free(demo->network);
}
