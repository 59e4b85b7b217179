/*
 * From nothing, or from a study with a plan, to all that a fleet on loopback
 * needs: data, keys, enrolment and trust files in one folder.
 */
#include "demo.h"
#include "draft.h"
#include "transport/keys.h"
#include "common/daemon.h"
#include "common/meaning.h"
#include "pricer_decode.h"
#include "trust_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The ten-node network of the paper's tables, as examples/paper.yaml has it. */
static const char scenario_text[] =
    "dimension: 128\nradius: 1\n"
    "network:\n  generator: erdos-renyi\n  nodes: 10\n"
    "  uplink: [0.1, 0.1, 0.8, 0.1, 0.1, 0.9, 0.1, 0.1, 0.9, 0.1]\n"
    "  p: 0.5\n  reciprocity: 1\n"
    "trust:\n  eps: 1\n  delta: 1e-3\n  self: {eps: 1000}\n"
    "  ring: {hops: 1, eps: 1000}\n";

static void name(const struct demo *demo, const char *ending, char *path,
                 size_t size)
{
    snprintf(path, size, "%.3900s/%s", demo->folder, ending);
}

static enum pricer_status make_folder(struct demo *demo,
                                      struct pricer_fault *fault)
{
    const char *base = getenv("TMPDIR");
    if (demo->keep != NULL) {
        snprintf(demo->folder, sizeof demo->folder, "%s", demo->keep);
        if (mkdir(demo->folder, 0700) == 0)
            return PRICER_OK;
    } else {
        snprintf(demo->folder, sizeof demo->folder,
                 "%.3900s/pricer-demo-XXXXXX",
                 base != NULL && *base != '\0' ? base : "/tmp");
        if (mkdtemp(demo->folder) != NULL)
            return PRICER_OK;
    }
    daemon_fault(fault, PRICER_FILE, "%.300s: %s", demo->folder,
                 strerror(errno));
    demo->folder[0] = '\0';
    return PRICER_FILE;
}

/* --------------------------------------------------------- study and plan --
 */

static enum pricer_status make_study(struct demo *demo,
                                     struct pricer_fault *fault)
{
    char path[4096];
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    name(demo, "scenario.yaml", path, sizeof path);
    FILE *file = fopen(path, "we");
    if (file == NULL || fputs(scenario_text, file) < 0 || fclose(file) != 0)
        return daemon_fault(fault, PRICER_FILE, "%.300s: %s", path,
                            strerror(errno));
    name(demo, "demo.pricer", demo->path, sizeof demo->path);
    enum pricer_status status =
        pricer_scenario_read(path, NULL, 0, &scenario, fault);
    if (status == PRICER_OK)
        status = pricer_scenario_network(scenario, NULL, &network, fault);
    if (status == PRICER_OK)
        status = pricer_study_create(demo->path, false, scenario, network, NULL,
                                     fault);
    pricer_network_free(network);
    pricer_scenario_free(scenario);
    return status;
}

static enum pricer_status make_plan(struct demo *demo,
                                    struct pricer_fault *fault)
{
    struct pricer_solve_info info;
    struct pricer_decoder *decoder = NULL;
    struct pricer_plan_record record = {.objective = NAN,
                                        .variance = NAN,
                                        .piv = NAN,
                                        .tiv = NAN,
                                        .mse_paper = NAN,
                                        .mse_worst_case = NAN,
                                        .bias_l1 = NAN};
    enum pricer_status status =
        pricer_study_settings(demo->study, &record.settings, NULL, fault);
    if (status == PRICER_OK)
        status = pricer_study_network(demo->study, &demo->network, fault);
    if (status == PRICER_OK)
        status = pricer_plan_optimise(demo->network, &record.settings, NULL,
                                      &demo->plan, &info, fault);
    if (status != PRICER_OK)
        return status;
    status = pricer_decoder_fit(demo->network, demo->plan,
                                &(struct pricer_decoder_settings){0}, &decoder,
                                fault);
    if (status != PRICER_OK)
        return status;
    record.decoder = decoder;
    record.objective = info.objective;
    record.bound = info.bound;
    record.gap = info.gap;
    record.iterations = info.iterations;
    record.tolerance = NAN;
    status = pricer_study_add_plan(demo->study, demo->network, demo->plan,
                                   &record, NULL, fault);
    pricer_decoder_free(decoder);
    return status;
}

/* The simulator's rounds begin at zero. */
static enum pricer_status check_reference(const struct demo *demo,
                                          struct pricer_fault *fault)
{
    if (demo->network->reach == 0 || demo->before == 0)
        return PRICER_OK;
    return daemon_fault(fault, PRICER_VALUE,
                        "the study has rounds, and its next ones are relative "
                        "to their last estimate, where no simulation begins: "
                        "make another study for the demo ('pricer new')");
}

static enum pricer_status load_forward(struct demo *demo,
                                       struct pricer_fault *fault)
{
    struct pricer_forward_record record;
    enum pricer_status status =
        pricer_study_network(demo->study, &demo->network, fault);
    if (status == PRICER_OK)
        status = pricer_study_forward_plan(demo->study, 0, &demo->forward,
                                           &record, fault);
    if (status == PRICER_OK)
        demo->horizon = record.settings.rounds > 0 ? record.settings.rounds : 1;
    if (status == PRICER_OK)
        status = check_reference(demo, fault);
    if (status == PRICER_OK)
        status = meaning_refuse_near(demo->network, demo->forward, fault);
    demo->attempts = status == PRICER_OK && demo->forward->repeat > 1
                         ? (int32_t)demo->forward->repeat
                         : 1;
    return status;
}

static enum pricer_status load_study(struct demo *demo,
                                     struct pricer_fault *fault)
{
    enum pricer_scheme scheme = PRICER_SCHEME_SUM;
    enum pricer_status status =
        pricer_study_open(demo->path, true, &demo->study, fault);
    if (status == PRICER_OK)
        status = pricer_study_last_round(demo->study, &demo->before, fault);
    if (status == PRICER_OK)
        status = pricer_study_scheme(demo->study, &scheme, fault);
    if (status != PRICER_OK)
        return status;
    if (scheme == PRICER_SCHEME_FORWARD)
        return load_forward(demo, fault);
    if (demo->study_path == NULL)
        status = make_plan(demo, fault);
    if (status != PRICER_OK)
        return status;
    struct pricer_plan_record record;
    pricer_network_free(demo->network);
    pricer_plan_free(demo->plan);
    demo->network = NULL;
    demo->plan = NULL;
    status = pricer_study_plan(demo->study, 0, &demo->network, &demo->plan,
                               &record, fault);
    if (status != PRICER_OK)
        return status;
    demo->attempts = 1;
    return program_decoder(demo->study, record.id, demo->network,
                           &demo->decoding, fault);
}

/*
 * The demo runs on a copy: keys of its own take the place of enrolled ones
 * there, and a demo that is broken off has never touched the study.
 */
static enum pricer_status copy_study(struct demo *demo,
                                     struct pricer_fault *fault)
{
    struct pricer_study *given = NULL;
    name(demo, "demo.pricer", demo->path, sizeof demo->path);
    enum pricer_status status =
        pricer_study_open(demo->study_path, true, &given, fault);
    if (status == PRICER_OK)
        status = pricer_study_copy(given, demo->path, fault);
    pricer_study_close(given);
    return status;
}

enum pricer_status demo_keep(struct demo *demo, struct pricer_fault *fault)
{
    struct pricer_study *given = NULL;
    if (demo->study_path == NULL)
        return PRICER_OK;
    enum pricer_status status =
        pricer_study_open(demo->study_path, true, &given, fault);
    if (status == PRICER_OK)
        status =
            pricer_study_join_rounds(given, demo->path, demo->before, fault);
    pricer_study_close(given);
    return status;
}

uint64_t demo_seed(const struct demo *demo)
{
    struct pricer_random random;
    if (demo->before == 0)
        return (uint64_t)demo->seed;
    pricer_random_replay(&random, (uint64_t)demo->seed, PRICER_PURPOSE_OTHER, 1,
                         demo->before, 0);
    /* The command line takes numbers without a sign. */
    return pricer_random_word(&random) >> 2;
}

/* ------------------------------------------------------------------ data -- */

/* Add a vector of a random direction and this length; `which` is another number for
 * every vector. */
static void add_direction(const struct demo *demo, int64_t which, double length,
                          double *scratch, double *row)
{
    struct pricer_random random;
    int64_t dimension = demo->network->dimension;
    double sum = 0;
    pricer_random_replay(&random, (uint64_t)demo->seed, PRICER_PURPOSE_OTHER, 0,
                         which, 0);
    for (int64_t k = 0; k < dimension; k++) {
        scratch[k] = ldexp((double)(int64_t)pricer_random_word(&random), -63);
        sum += scratch[k] * scratch[k];
    }
    for (int64_t k = 0; k < dimension; k++)
        row[k] += scratch[k] * (length / sqrt(sum));
}

/* A hair shorter than the radius, so that clipping leaves it alone. Where rounds are
 * relative to the last estimate, vectors that are alike: what they have in common is
 * further from zero than the step, their differences are less than it. */
static void fill_row(const struct demo *demo, int32_t node, double *scratch,
                     double *row)
{
    const struct pricer_network *network = demo->network;
    if (network->reach == 0) {
        add_direction(demo, node, network->node_radius[node] * (1 - 0x1p-30),
                      scratch, row);
        return;
    }
    add_direction(demo, network->nodes, .7 * network->reach, scratch, row);
    add_direction(demo, node, .25 * network->radius, scratch, row);
}

static enum pricer_status make_data(struct demo *demo,
                                    struct pricer_fault *fault)
{
    struct pricer_matrix *mean = NULL;
    char path[4096];
    int32_t nodes = demo->network->nodes;
    int64_t dimension = demo->network->dimension;
    enum pricer_status status =
        pricer_matrix_new(nodes, dimension, PRICER_FLOAT64, &demo->data, fault);
    if (status == PRICER_OK)
        status = pricer_matrix_new(1, dimension, PRICER_FLOAT64, &mean, fault);
    if (status != PRICER_OK)
        return status;
    double *rows = demo->data->values, *middle = mean->values;
    double *scratch = calloc((size_t)dimension, sizeof *scratch);
    if (scratch == NULL) {
        pricer_matrix_free(mean);
        return PRICER_MEMORY;
    }
    for (int32_t i = 0; i < nodes; i++) {
        fill_row(demo, i, scratch, rows + i * dimension);
        for (int64_t k = 0; k < dimension; k++)
            middle[k] += rows[i * dimension + k] / nodes;
    }
    free(scratch);
    name(demo, "data.npy", path, sizeof path);
    status = pricer_matrix_write_npy(demo->data, path, fault);
    name(demo, "mean.npy", path, sizeof path);
    if (status == PRICER_OK)
        status = pricer_matrix_write_npy(mean, path, fault);
    pricer_matrix_free(mean);
    return status;
}

/* --------------------------------------------------------- keys and trust --
 */

/*
 * A socket at a port of loopback that nobody listens at; *port 0: at any. As long as
 * it is there and does not listen, the kernel gives the port to nobody who asks for
 * any, and lets whoever asks for this one have it.
 */
static int reserve_port(int *port)
{
    struct sockaddr_in where = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)*port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof where;
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    if (made >= 0)
        setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (made < 0 || bind(made, (struct sockaddr *)&where, size) != 0 ||
        getsockname(made, (struct sockaddr *)&where, &size) != 0) {
        int error = errno;
        if (made >= 0)
            close(made);
        errno = error;
        return -1;
    }
    *port = ntohs(where.sin_port);
    return made;
}

static enum pricer_status enrol(struct demo *demo, int32_t node, int port,
                                struct pricer_fault *fault)
{
    struct pricer_member member = {.node = node};
    struct key_pair pair = {0};
    char path[4096], ending[32];
    snprintf(ending, sizeof ending, "%d.key", (int)node);
    name(demo, ending, path, sizeof path);
    enum pricer_status status = keys_make(path, &pair, fault);
    if (status != PRICER_OK)
        return status;
    strcpy(member.key, pair.public_key);
    keys_wipe(&pair);
    snprintf(member.address, sizeof member.address, "tcp://127.0.0.1:%d", port);
    return pricer_study_enrol(demo->study, &member, fault);
}

static enum pricer_status enrol_all(struct demo *demo,
                                    struct pricer_fault *fault)
{
    int32_t nodes = demo->network->nodes;
    enum pricer_status status = PRICER_OK;
    demo->ports = calloc((size_t)nodes + 1, sizeof *demo->ports);
    if (demo->ports == NULL)
        return PRICER_MEMORY;
    for (int32_t i = PRICER_SERVER; i < nodes && status == PRICER_OK; i++) {
        int port = 0, made = reserve_port(&port);
        if (made < 0)
            return daemon_fault(fault, PRICER_FILE, "no port: %s",
                                strerror(errno));
        demo->ports[demo->held++] = made;
        status = enrol(demo, i, port, fault);
    }
    return status;
}

/* A server would go on without its page, which is asked for in order to be seen. */
static enum pricer_status check_port(const struct demo *demo,
                                     struct pricer_fault *fault)
{
    int port = (int)demo->port;
    int made = port > 0 ? reserve_port(&port) : -1;
    if (port > 0 && made < 0)
        return daemon_fault(fault, PRICER_FILE,
                            "cannot serve the status page at port %d: %s", port,
                            strerror(errno));
    if (made >= 0)
        close(made);
    return PRICER_OK;
}

/* The end of a row: what people call a node, where any of them has a name. */
static void end_row(const struct demo *demo, FILE *file, int32_t to)
{
    const struct pricer_network *network = demo->network;
    if (network->name != NULL)
        fprintf(file, ",%s", to >= 0 ? network->name[to] : "");
    fputc('\n', file);
}

static void write_row(const struct demo *demo, FILE *file, int32_t from,
                      int32_t to, double eps, double delta, double weight,
                      double noise)
{
    double mu = trust_ratio(demo->network->node_diameter[from], weight, noise);
    fprintf(file, "%d,%.17g,%.17g,%.17g,%.17g", (int)to, eps, delta,
            draft_eps(delta, mu, (double)demo->rounds), delta);
    end_row(demo, file, to);
}

/* The budget towards the server, for all that leaves the node in a round. */
static void write_all(const struct demo *demo, FILE *file, int32_t node)
{
    const struct pricer_network *network = demo->network;
    const struct pricer_plan *plan = demo->plan;
    double diameter = network->node_diameter[node];
    double delta = network->server_delta[node];
    double own[2] = {
        trust_ratio(diameter, plan->self_weight[node], plan->self_noise[node])};
    for (int32_t l = network->out_start[node]; l < network->out_start[node + 1];
         l++) {
        own[1] = trust_ratio(diameter, plan->weight[l], plan->noise[l]);
        own[0] = trust_ratio_together(own, 2);
    }
    fprintf(file, "server,%.17g,%.17g,%.17g,%.17g", network->server_eps[node],
            delta, draft_eps(delta, own[0], (double)demo->rounds), delta);
    end_row(demo, file, -1);
}

/*
 * Each node trusts as the study says in every single round, and in all rounds
 * together as far as so many rounds need: a demo that would run one more would
 * be refused.
 */
static enum pricer_status write_trust(const struct demo *demo, int32_t node,
                                      struct pricer_fault *fault)
{
    const struct pricer_network *network = demo->network;
    char path[4096], ending[32];
    snprintf(ending, sizeof ending, "%d.trust", (int)node);
    name(demo, ending, path, sizeof path);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return daemon_fault(fault, PRICER_FILE, "%.300s: %s", path,
                            strerror(errno));
    fputs("to,eps,delta,total_eps,total_delta", file);
    fputs(network->name != NULL ? ",name\n" : "\n", file);
    write_row(demo, file, node, node, network->self_eps[node],
              network->self_delta[node], demo->plan->self_weight[node],
              demo->plan->self_noise[node]);
    for (int32_t l = network->out_start[node]; l < network->out_start[node + 1];
         l++)
        write_row(demo, file, node, network->to[l], network->eps[l],
                  network->delta[l], demo->plan->weight[l],
                  demo->plan->noise[l]);
    if (network->server_eps != NULL && network->server_eps[node] < INFINITY)
        write_all(demo, file, node);
    if (fclose(file) != 0)
        return daemon_fault(fault, PRICER_FILE, "%.300s: %s", path,
                            strerror(errno));
    return PRICER_OK;
}

/* ------------------------------------------------------------- forwarding -- */

static FILE *open_for(const struct demo *demo, int32_t node, const char *what,
                      struct pricer_fault *fault)
{
    char path[4096], ending[32];
    snprintf(ending, sizeof ending, "%d.%s", (int)node, what);
    name(demo, ending, path, sizeof path);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        daemon_fault(fault, PRICER_FILE, "%.300s: %s", path, strerror(errno));
    return file;
}

/* Releases for as many rounds as the demo has, by the plan's budgets again and
 * again. */
static enum pricer_status write_everyone(const struct demo *demo, int32_t node,
                                         struct pricer_fault *fault)
{
    const struct pricer_network *network = demo->network;
    double times =
        ceil((double)demo->rounds / (double)demo->horizon) * (1 + 1e-9);
    FILE *file = open_for(demo, node, "trust", fault);
    if (file == NULL)
        return PRICER_FILE;
    fprintf(file, "to,eps,delta\neveryone,%.17g,%.17g\n",
            times * network->everyone_eps[node],
            fmin(1, times * network->everyone_delta[node]));
    return fclose(file) == 0 ? PRICER_OK : PRICER_FILE;
}

/* Whom a node sends to and hears from, by links of either direction. */
static enum pricer_status write_neighbours(const struct demo *demo,
                                           const struct pricer_member *members,
                                           int32_t node,
                                           struct pricer_fault *fault)
{
    const struct pricer_network *network = demo->network;
    FILE *file = open_for(demo, node, "neighbours", fault);
    if (file == NULL)
        return PRICER_FILE;
    fputs("node,key,address\n", file);
    for (int32_t l = network->out_start[node]; l < network->out_start[node + 1];
         l++) {
        const struct pricer_member *to = &members[network->to[l] + 1];
        fprintf(file, "%d,%s,%s\n", (int)to->node, to->key, to->address);
    }
    for (int32_t k = network->in_start[node]; k < network->in_start[node + 1];
         k++) {
        int32_t from = network->from[network->in_link[k]];
        if (pricer_network_find(network, node, from) < 0)
            fprintf(file, "%d,%s,\n", (int)from, members[from + 1].key);
    }
    return fclose(file) == 0 ? PRICER_OK : PRICER_FILE;
}

static enum pricer_status write_forward(const struct demo *demo,
                                        struct pricer_fault *fault)
{
    struct pricer_member *members = NULL;
    int32_t count = 0;
    enum pricer_status status =
        pricer_study_members(demo->study, &members, &count, fault);
    for (int32_t i = 0; status == PRICER_OK && i < demo->network->nodes; i++) {
        status = write_everyone(demo, i, fault);
        if (status == PRICER_OK)
            status = write_neighbours(demo, members, i, fault);
    }
    pricer_members_free(members);
    return status;
}

static bool sends_anything(const struct demo *demo)
{
    bool any = demo->forward != NULL;
    for (int32_t i = 0; !any && i < demo->network->nodes; i++)
        any |= demo->plan->self_weight[i] > 0;
    for (int32_t l = 0; !any && l < demo->network->links; l++)
        any |= demo->plan->weight[l] > 0;
    return any;
}

enum pricer_status demo_prepare(struct demo *demo, struct pricer_fault *fault)
{
    mode_t mask = umask(077); /* vectors and budgets are nobody else's */
    enum pricer_status status = check_port(demo, fault);
    if (status == PRICER_OK)
        status = make_folder(demo, fault);
    if (status == PRICER_OK)
        status = demo->study_path != NULL ? copy_study(demo, fault)
                                          : make_study(demo, fault);
    if (status == PRICER_OK)
        status = load_study(demo, fault);
    if (status == PRICER_OK && !sends_anything(demo))
        status = daemon_fault(fault, PRICER_VALUE,
                              "no node sends anything in this plan: there is "
                              "no round to run");
    if (status == PRICER_OK)
        status = demo_check_limits(demo, fault);
    if (status == PRICER_OK)
        status = make_data(demo, fault);
    if (status == PRICER_OK)
        status = enrol_all(demo, fault);
    if (status == PRICER_OK && demo->forward != NULL)
        status = write_forward(demo, fault);
    for (int32_t i = 0; status == PRICER_OK && demo->forward == NULL &&
                        i < demo->network->nodes;
         i++)
        status = write_trust(demo, i, fault);
    umask(mask);
    return status;
}
