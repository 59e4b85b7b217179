/*
 * From the study to what the server hands out: the latest plan, the grid, the
 * limits of every message, and each node's slice.
 */
#include "server.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/*
 * The bounds of parts know one radius: a part of a node with a smaller one is as
 * long as one with a weight that is less by as much, and has the same noise.
 */
struct pricer_share server_honest(const struct server *server, int32_t from,
                                  double weight, double noise)
{
    const struct pricer_network *network = server->network;
    const struct pricer_slice slice = {.dimension = network->dimension,
                                       .radius = network->node_radius[from],
                                       .diameter = network->node_diameter[from],
                                       .grid = server->grid};
    struct pricer_share share = {.weight = weight, .noise = noise};
    double ratio = network->node_radius[from] / network->radius;
    share.noise = pricer_round_noise(&slice, &share);
    share.weight = ratio == 1 ? weight : weight * ratio * (1 + 0x1p-50);
    return share;
}

/* The largest value of an honest part; docs/protocol.md, section 4. */
static int64_t find_limit(const struct server *server, int32_t from,
                          double weight, double noise)
{
    struct pricer_share share = server_honest(server, from, weight, noise);
    return pricer_round_limit(&server->grid, server->network->radius, &share);
}

static void find_limits(struct server *server)
{
    const struct pricer_plan *plan = server->plan;
    for (int32_t l = 0; l < plan->links; l++)
        server->limits[l] = find_limit(server, server->network->from[l],
                                       plan->weight[l], plan->noise[l]);
    for (int32_t i = 0; i < plan->nodes; i++)
        server->own_limits[i] =
            find_limit(server, i, plan->self_weight[i], plan->self_noise[i]);
}

/* Whether a link is in the slices: it carries something or is probed, and both
 * ends are enrolled. */
static bool is_used(const struct server *server, int32_t l)
{
    return (server->limits[l] > 0 || server->probe) &&
           server->seats[server->network->from[l]].enrolled &&
           server->seats[server->network->to[l]].enrolled;
}

static void fill_links(const struct server *server, struct wire_slice *slice)
{
    const struct pricer_network *network = server->network;
    int32_t i = slice->node;
    for (int32_t l = network->out_start[i]; l < network->out_start[i + 1];
         l++) {
        if (!is_used(server, l))
            continue;
        const struct seat *seat = &server->seats[network->to[l]];
        struct wire_out *out = &slice->out[slice->out_count++];
        out->to = network->to[l];
        keys_bytes(seat->key, out->key);
        strcpy(out->address, seat->address);
        out->weight = server->plan->weight[l];
        out->noise = server->plan->noise[l];
        out->follows =
            seat->follows && keys_bytes(seat->successor.old, out->old);
        memcpy(out->proof, seat->successor.proof, WIRE_PROOF);
    }
    for (int32_t k = network->in_start[i]; k < network->in_start[i + 1]; k++) {
        int32_t l = network->in_link[k];
        if (!is_used(server, l))
            continue;
        struct wire_in *in = &slice->in[slice->in_count++];
        in->from = network->from[l];
        keys_bytes(server->seats[in->from].key, in->key);
        in->limit = server->limits[l];
        const struct pricer_share share = server_honest(
            server, in->from, server->plan->weight[l], server->plan->noise[l]);
        in->length = pricer_round_length(&server->grid, network->radius,
                                         network->dimension, &share, 1);
    }
}

bool server_write_slice(struct server *server, int32_t node)
{
    const struct pricer_network *network = server->network;
    size_t out =
        (size_t)(network->out_start[node + 1] - network->out_start[node]);
    size_t in = (size_t)(network->in_start[node + 1] - network->in_start[node]);
    struct wire_slice slice = {
        .plan = server->plan_id,
        .node = node,
        .nodes = network->nodes,
        .dimension = network->dimension,
        .radius = network->node_radius[node],
        .exponent = server->grid.exponent,
        .grid = server->grid.limit,
        .rounds = server->plan_rounds,
        .own = {server->plan->self_weight[node], server->plan->self_noise[node],
                server->own_limits[node]},
        .out = calloc(out + 1, sizeof *slice.out),
        .in = calloc(in + 1, sizeof *slice.in),
    };
    memcpy(slice.seal, server->seal, sizeof slice.seal);
    bool written = slice.out != NULL && slice.in != NULL;
    if (written) {
        fill_links(server, &slice);
        written = wire_write_slice(&server->bytes, &slice);
    }
    wire_slice_free(&slice);
    return written;
}

/* What all slices of a plan have in common, and what no other plan has: shares
 * are bound to it. */
static void seal_plan(struct server *server)
{
    const struct pricer_plan *plan = server->plan;
    size_t nodes = 8 * (size_t)plan->nodes, links = 8 * (size_t)plan->links;
    const double common[] = {(double)server->plan_id, server->network->radius,
                             (double)server->network->dimension,
                             (double)server->grid.exponent,
                             (double)server->grid.limit};
    const struct {
        const void *data;
        size_t size;
    } parts[] = {
        {common, sizeof common},    {server->network->node_radius, nodes},
        {plan->self_weight, nodes}, {plan->self_noise, nodes},
        {plan->weight, links},      {plan->noise, links}};
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, WIRE_DIGEST);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        crypto_generichash_update(&state, parts[k].data, parts[k].size);
    crypto_generichash_final(&state, server->seal, WIRE_DIGEST);
}

/* The digest by which a node's HELLO shows that it has this slice; who is there
 * and has another gets it at once. */
static enum pricer_status digest_slices(struct server *server)
{
    for (int32_t i = 0; i < server->network->nodes; i++) {
        struct seat *seat = &server->seats[i];
        uint8_t digest[WIRE_DIGEST] = {0};
        if (seat->enrolled && !server_write_slice(server, i))
            return PRICER_MEMORY;
        if (seat->enrolled)
            crypto_generichash(digest, sizeof digest,
                               (const unsigned char *)server->bytes.data,
                               server->bytes.size, NULL, 0);
        if (seat->enrolled && memcmp(digest, seat->digest, sizeof digest) == 0)
            continue; /* what it has is still its slice */
        memcpy(seat->digest, digest, sizeof digest);
        seat->ready = seat->told = false;
        seat->own_why = -1;
        seat->sliced = 0;
        if (seat->enrolled &&
            hub_send(seat->peer, server->bytes.data, server->bytes.size))
            seat->sliced = daemon_clock();
    }
    return PRICER_OK;
}

static double add_weights(const struct pricer_plan *plan)
{
    double sum = 0;
    for (int32_t i = 0; i < plan->nodes; i++)
        sum += plan->self_weight[i];
    for (int32_t l = 0; l < plan->links; l++)
        sum += plan->weight[l];
    return sum;
}

/* A plan that has been read and looked at, before anything is replaced by it. */
struct candidate {
    struct pricer_plan_record record;
    struct pricer_network *network;
    struct pricer_plan *plan;
    struct pricer_certificate certificate;
    struct pricer_grid grid;
};

static enum pricer_status read_plan(struct server *server, int64_t id,
                                    struct candidate *found,
                                    struct pricer_fault *fault)
{
    enum pricer_status status =
        pricer_study_plan(server->study, id, &found->network, &found->plan,
                          &found->record, fault);
    if (status == PRICER_OK)
        status = pricer_plan_verify(found->network, &found->record.settings,
                                    found->plan, &found->certificate, fault);
    if (status == PRICER_OK)
        status = pricer_grid_choose(found->network, found->plan, &found->grid,
                                    fault);
    if (status == PRICER_OK)
        return PRICER_OK;
    pricer_network_free(found->network);
    pricer_plan_free(found->plan);
    return status;
}

static void install(struct server *server, const struct candidate *found)
{
    const struct pricer_settings *settings = &found->record.settings;
    pricer_network_free(server->network);
    server->network = found->network;
    pricer_plan_free(server->plan);
    server->plan = found->plan;
    server->plan_id = found->record.id;
    server->plan_rounds = settings->rounds > 0 ? settings->rounds : 1;
    server->plan_weight = add_weights(found->plan);
    server->open_budgets = found->certificate.open_budgets;
    server->grid = found->grid;
    find_limits(server);
}

/* The plan with a number, 0: the latest. Until all is done the server is stale,
 * so that what fails on the way is done again. */
static enum pricer_status load_plan(struct server *server, int64_t id,
                                    struct pricer_fault *fault)
{
    struct candidate found = {0};
    enum pricer_status status = read_plan(server, id, &found, fault);
    if (status != PRICER_OK)
        return status;
    server->stale = true;
    install(server, &found);
    status = server_load_members(server, true, fault);
    if (status == PRICER_OK)
        status = server_load_marks(server, fault);
    if (status == PRICER_OK)
        seal_plan(server);
    if (status == PRICER_OK)
        status = digest_slices(server);
    if (status == PRICER_OK)
        status = server_readers_load(server, fault);
    if (status == PRICER_OK)
        status = server_decoder_load(server, fault);
    if (status == PRICER_OK)
        server->stale = false;
    return status;
}

static bool make_tally(const struct server *server, struct tally *tally)
{
    size_t nodes = (size_t)server->network->nodes;
    size_t links = (size_t)server->network->links;
    tally->uplink = calloc(nodes, sizeof *tally->uplink);
    tally->link = calloc(links + 1, sizeof *tally->link);
    tally->own = calloc(nodes, sizeof *tally->own);
    tally->withheld = calloc(links + 1, sizeof *tally->withheld);
    tally->contributed = calloc(nodes, sizeof *tally->contributed);
    return tally->uplink != NULL && tally->link != NULL && tally->own != NULL &&
           tally->withheld != NULL && tally->contributed != NULL;
}

static void free_tally(struct tally *tally)
{
    free(tally->uplink);
    free(tally->link);
    free(tally->own);
    free(tally->withheld);
    free(tally->contributed);
}

static bool make_room(struct server *server)
{
    size_t nodes = (size_t)server->network->nodes;
    size_t links = (size_t)server->network->links;
    size_t dimension = (size_t)server->network->dimension;
    server->seats = calloc(nodes, sizeof *server->seats);
    server->limits = calloc(links + 1, sizeof *server->limits);
    server->own_limits = calloc(nodes, sizeof *server->own_limits);
    server->ratios = calloc(nodes, sizeof *server->ratios);
    server->spent = calloc(nodes, sizeof *server->spent);
    server->shares = calloc(nodes, sizeof *server->shares);
    server->sum = calloc(dimension, sizeof *server->sum);
    server->estimate = calloc(dimension, sizeof *server->estimate);
    server->claimed = calloc(links + 1, sizeof *server->claimed);
    server->sent = calloc(links + 1, sizeof *server->sent);
    return server->seats != NULL && server->limits != NULL &&
           server->own_limits != NULL && server->ratios != NULL &&
           server->spent != NULL && server->shares != NULL &&
           server->sum != NULL && server->estimate != NULL &&
           server->claimed != NULL && server->sent != NULL &&
           make_tally(server, &server->tally) &&
           make_tally(server, &server->past.tally) &&
           server_history_make(server);
}

enum pricer_status server_load(struct server *server,
                               struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    if (server->network == NULL)
        status = pricer_study_network(server->study, &server->network, fault);
    if (status != PRICER_OK)
        return status;
    if (server->network->dimension > WIRE_DIMENSION ||
        server->network->nodes > WIRE_NODES)
        return daemon_fault(
            fault, PRICER_VALUE,
            "the protocol knows up to %d nodes and a dimension of "
            "%d",
            WIRE_NODES, WIRE_DIMENSION);
    if (server->seats == NULL && !make_room(server))
        return PRICER_MEMORY;
    status = pricer_study_last_round(server->study, &server->round, fault);
    if (status != PRICER_OK)
        return status;
    enum pricer_status loaded = load_plan(server, 0, fault);
    if (loaded == PRICER_OK && server->members == 0)
        loaded = daemon_fault(fault, PRICER_VALUE,
                              "no node is enrolled: 'pricer enrol' does it");
    return loaded;
}

/* The plan to be used. A study that cannot be read now is no reason to stop: then it
 * stays what it is. */
static int64_t find_latest(struct server *server)
{
    int64_t latest = server->plan_id;
    pricer_study_latest_plan(server->study, &latest, NULL);
    return latest == server->refused_plan ? server->plan_id : latest;
}

bool server_is_current(struct server *server)
{
    return !server->stale && find_latest(server) == server->plan_id;
}

enum pricer_status server_reload(struct server *server,
                                 struct pricer_fault *fault)
{
    int64_t before = server->plan_id, latest = find_latest(server);
    if (latest == server->plan_id && !server->stale)
        return PRICER_OK;
    enum pricer_status status = load_plan(server, latest, fault);
    bool wrong = status == PRICER_VALUE || status == PRICER_FORMAT;
    if (wrong && latest != server->plan_id) {
        daemon_say("plan %lld cannot be used: %s; plan %lld stays",
                   (long long)latest, fault->text, (long long)server->plan_id);
        server->refused_plan = latest;
        return PRICER_OK;
    }
    if (status == PRICER_OK && latest != before)
        daemon_say("plan %lld takes the place of plan %lld", (long long)latest,
                   (long long)before);
    else if (status == PRICER_OK)
        daemon_say("who is enrolled has changed");
    return status;
}

void server_unload(struct server *server)
{
    pricer_network_free(server->emulated);
    pricer_network_free(server->network);
    pricer_plan_free(server->plan);
    server_history_free(server);
    free(server->seats);
    free(server->limits);
    free(server->own_limits);
    free(server->ratios);
    free(server->spent);
    free(server->shares);
    free(server->sum);
    free(server->estimate);
    free_tally(&server->tally);
    free_tally(&server->past.tally);
    free(server->claimed);
    free(server->sent);
    server_decoder_unload(server);
    free(server->truth);
    wire_free(&server->bytes);
}
