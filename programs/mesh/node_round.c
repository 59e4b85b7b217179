/*
 * A round at a node of the mesh: from OPEN, or the clock where nothing is heard,
 * to the node's release, which is charged and stored before the first byte leaves.
 *
 * Claim: what leaves a node in a round is one release, whatever happens: restarts,
 * further attempts, other data or another plan. Proof: all bytes come from
 * ledger_stored() or ledger_release(), which hand out one payload a round; the tag
 * and the signature are functions of it.
 */
#include "node.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

void mesh_own_free(struct mesh_own *own)
{
    size_t size = (size_t)own->terms.dimension * sizeof *own->data;
    if (own->data != NULL)
        sodium_memzero(own->data, size);
    if (own->change != NULL)
        sodium_memzero(own->change, size);
    free(own->data);
    free(own->change);
    pricer_forward_sender_free(own->sender);
    *own = (struct mesh_own){.released = own->released};
}

/* ------------------------------------------------------------------- plan -- */

bool mesh_own_terms(const struct mesh_node *node, struct ledger_terms *terms)
{
    struct mesh_release release;
    if (!mesh_plan_release(&node->plan, node->number, &release))
        return false;
    *terms = (struct ledger_terms){.kind = (enum pri_release_kind)release.kind,
                                   .dimension = node->plan.dimension,
                                   .radius = release.radius,
                                   .t = release.t,
                                   .e0 = release.e0,
                                   .noise = release.noise,
                                   .rounds = node->plan.rounds,
                                   .eps = release.eps,
                                   .delta = release.delta};
    return true;
}

/* Believe the plan's release for this node only if the node's own computation and
 * its trust file agree. */
static enum pricer_status believe(struct mesh_node *node,
                                  struct pricer_fault *fault)
{
    struct mesh_own *own = &node->own;
    struct pri_release release;
    if (node->past.behind)
        return daemon_fault(fault, PRICER_VALUE, "the ledger is behind");
    if (!mesh_own_terms(node, &own->terms))
        return daemon_fault(fault, PRICER_VALUE, "this node is not in it");
    enum pricer_status status =
        ledger_terms_check(&own->terms, &release, NULL, fault);
    if (status == PRICER_OK)
        status =
            ledger_release_left(node->ledger, &own->terms, &own->left, fault);
    if (status != PRICER_OK)
        return status;
    bool sphere = own->terms.kind == PRI_RELEASE_SPHERE;
    const struct pricer_forward_node one = {
        .release = sphere ? PRICER_RELEASE_SPHERE : PRICER_RELEASE_GAUSSIAN,
        .threshold = own->terms.t,
        .loss = own->terms.e0,
        .noise = own->terms.noise};
    own->data = calloc((size_t)own->terms.dimension, sizeof *own->data);
    own->change = calloc((size_t)own->terms.dimension, sizeof *own->change);
    if (own->data == NULL || own->change == NULL)
        return PRICER_MEMORY;
    return pricer_forward_sender_new(&one, own->terms.radius,
                                     own->terms.dimension, &own->sender, fault);
}

static void tell_plan(struct mesh_node *node)
{
    const struct feed_plan plan = {node->number,         node->plan.nodes,
                                   node->plan.plan,      node->plan.dimension,
                                   mesh_own_reach(node), node->plan.rounds,
                                   node->own.left};
    if (node->vector.feed != NULL)
        feed_set_plan(node->vector.feed, &plan);
}

void mesh_own_use_fleet(struct mesh_node *node)
{
    const struct announced *said = &node->said.kind[MESH_FLEET];
    uint8_t digest[WIRE_DIGEST];
    struct pricer_fault fault = {""};
    mesh_links_flush(node); /* by the plan that it came under */
    if (said->counter == 0 ||
        !mesh_read_fleet(said->body, said->size, &node->fleet) ||
        !mesh_read_plan(node->fleet.plan, node->fleet.plan_size, &node->plan))
        return;
    crypto_generichash(digest, sizeof digest, node->fleet.plan,
                       node->fleet.plan_size, NULL, 0);
    mesh_keys_use_fleet(node);
    if (node->packets != NULL &&
        memcmp(digest, node->digest, sizeof digest) == 0) {
        packets_renew(node->packets, &node->fleet);
        return;
    }
    memcpy(node->digest, digest, sizeof digest);
    mesh_links_limit(node);
    vector_stop(&node->vector);
    mesh_own_free(&node->own);
    packets_free(node->packets);
    node->packets = mesh_links_prepare(node)
                        ? packets_new(&node->fleet, node->links.count)
                        : NULL;
    if (believe(node, &fault) == PRICER_OK)
        daemon_say("plan %lld: one %s release a round for %lld rounds",
                   (long long)node->plan.plan,
                   node->own.terms.kind == PRI_RELEASE_SPHERE ? "sphere"
                                                              : "Gaussian",
                   (long long)node->own.left);
    else
        daemon_say("plan %lld is refused, nothing of this node's data is sent: "
                   "%s",
                   (long long)node->plan.plan, fault.text);
    tell_plan(node);
    node->next_hello = 0;
    mesh_own_open(node);
}

/* ---------------------------------------------------------------- release -- */

/* Hand out what is stored for the round. */
static void emit(struct mesh_node *node, const struct ledger_packet *stored)
{
    const struct packet_fields fields = {.study = stored->about.study,
                                         .plan = stored->about.plan,
                                         .reference = stored->about.reference,
                                         .node = node->number,
                                         .round = stored->about.round,
                                         .kind = (uint8_t)stored->kind,
                                         .payload = stored->payload,
                                         .size = stored->size};
    struct packet_about about = {.round = stored->about.round};
    uint8_t tag[MESH_TAG], signature[MESH_SIGNATURE];
    struct mesh_packet packet = {.node = node->number,
                                 .kind = (int32_t)stored->kind,
                                 .payload = stored->payload,
                                 .size = stored->size,
                                 .tag = tag,
                                 .signature = signature};
    memcpy(about.digest, stored->about.plan, WIRE_DIGEST);
    packet_tag(node->secret, &fields, tag);
    if (!packet_sign(&node->pair, &about, &packet, signature))
        return;
    int64_t attempt = node->clock.open.attempt;
    packets_take(node->packets, -1,
                 &(struct packet_time){stored->about.round, attempt}, &packet);
    mesh_links_spread(node, node->number, attempt);
    node->rounds++;
}

static void answer(struct mesh_node *node, enum wire_part part,
                   const char *text)
{
    const struct mesh_own *own = &node->own;
    double square = 0;
    if (node->vector.feed == NULL)
        return;
    for (int64_t k = 0; k < own->terms.dimension; k++)
        square += own->data[k] * own->data[k];
    feed_answer(
        node->vector.feed,
        &(struct feed_taken){.round = node->clock.open.round,
                             .part = part,
                             .length = sqrt(square),
                             .clipped = sqrt(square) >
                                        mesh_own_reach(node) * (1 + 1e-12),
                             .text = text});
}

static enum pricer_status make(struct mesh_node *node, unsigned char *payload,
                               struct pricer_fault *fault)
{
    struct pricer_random replay;
    int64_t round = node->clock.open.round;
    if (node->replay)
        pricer_random_replay(&replay, node->emulate.seed, PRICER_PURPOSE_NOISE,
                             emulate_trial(&node->emulate, round), node->number,
                             PRICER_SERVER);
    enum pricer_status status = mesh_own_change(node, fault);
    return status != PRICER_OK
               ? status
               : pricer_forward_release(node->own.sender, node->own.change,
                                        node->replay ? &replay : NULL, payload,
                                        fault);
}

/* Make, charge and store the release of the round; then it leaves. */
static void release(struct mesh_node *node)
{
    struct mesh_own *own = &node->own;
    bool sphere = own->terms.kind == PRI_RELEASE_SPHERE;
    size_t size = sphere ? PRI_SEED_BYTES : 4 * (size_t)own->terms.dimension;
    unsigned char *payload = malloc(size);
    struct ledger_round about = {.round = node->clock.open.round,
                                 .reference = node->clock.open.reference};
    struct ledger_packet stored = {0};
    struct pricer_fault fault = {""};
    memcpy(about.study, node->study, sizeof about.study);
    memcpy(about.plan, node->digest, sizeof about.plan);
    enum pricer_status status =
        payload != NULL ? make(node, payload, &fault) : PRICER_MEMORY;
    if (status == PRICER_OK)
        status = ledger_release(node->ledger, &about, &own->terms, payload,
                                size, &stored, &fault);
    if (status == PRICER_OK && node->past.first == 0)
        node->past.first = about.round;
    if (status == PRICER_OK) {
        own->left -= own->left != LEDGER_NO_END;
        answer(node, WIRE_PART_DATA, "it goes out");
        emit(node, &stored);
    } else {
        answer(node,
               status == PRICER_INFEASIBLE ? WIRE_PART_SPENT : WIRE_PART_LEDGER,
               fault.text);
        daemon_say("round %lld: nothing is released: %s",
                   (long long)about.round,
                   fault.text[0] ? fault.text : pricer_status_text(status));
    }
    if (status == PRICER_INFEASIBLE)
        own->left = 0;
    ledger_packet_free(&stored);
    free(payload);
}

void mesh_own_take_vector(struct mesh_node *node)
{
    struct mesh_own *own = &node->own;
    struct pricer_fault fault = {""};
    own->waits = false;
    if (vector_take(&node->vector, own->terms.dimension, own->data, &fault) ==
        PRICER_OK) {
        release(node);
        return;
    }
    answer(node, WIRE_PART_VECTOR, fault.text);
    daemon_say("round %lld: no vector: %s", (long long)node->clock.open.round,
               fault.text);
}

/*
 * At most one release a period of the node's own clock, two at once: whoever
 * replays or invents rounds does not spend the budget faster than that.
 */
static bool is_due(struct mesh_node *node, int64_t now)
{
    struct mesh_own *own = &node->own;
    int64_t period = node->clock.open.period;
    if (period == 0)
        return true;
    int64_t full = own->released > now ? own->released : now;
    if (full - now > period)
        return false;
    own->released = full + period;
    return true;
}

/* The server has a moment to say that the ledger is behind. */
static bool is_trusted(const struct mesh_node *node, int64_t now)
{
    enum { MOMENT = 2000 };
    return node->past.heard || now >= node->past.started + MOMENT;
}

/* Without the estimate that the round is relative to the node is silent, and says
 * so in the first of such rounds. */
static bool is_informed(struct mesh_node *node)
{
    bool before = node->own.lacks;
    node->own.lacks = !mesh_own_has_reference(node);
    if (node->own.lacks && !before)
        daemon_say("round %lld is relative to the estimate of round %lld, "
                   "which is not here: nothing is released until it comes",
                   (long long)node->clock.open.round,
                   (long long)node->clock.open.reference);
    return !node->own.lacks;
}

static void begin_release(struct mesh_node *node, int64_t now)
{
    struct mesh_own *own = &node->own;
    int64_t round = node->clock.open.round;
    struct ledger_packet stored = {0};
    struct pricer_fault fault = {""};
    bool ready = false;
    vector_stop(&node->vector);
    own->waits = false;
    if (node->clock.open.collect == 0)
        return; /* a pause: nobody takes in what would be charged */
    enum pricer_status status =
        ledger_stored(node->ledger, round, &stored, &fault);
    if (status == PRICER_OK) { /* the same bytes again, or nothing */
        if (memcmp(stored.about.plan, node->digest, WIRE_DIGEST) == 0)
            emit(node, &stored);
        ledger_packet_free(&stored);
        return;
    }
    if (status != PRICER_INFEASIBLE || own->sender == NULL || own->left < 1 ||
        !is_trusted(node, now) || !is_informed(node) || !is_due(node, now))
        return;
    const struct feed_round wanted = {.round = round,
                                      .dimension = own->terms.dimension,
                                      .radius = mesh_own_reach(node),
                                      .wait = node->clock.open.collect / 2,
                                      .clock = now,
                                      .left = own->left};
    if (vector_start(&node->vector, &wanted, &ready, &fault) != PRICER_OK) {
        daemon_say("round %lld: no vector: %s", (long long)round, fault.text);
        return;
    }
    own->waits = !ready;
    if (ready)
        mesh_own_take_vector(node);
}

/* ------------------------------------------------------------------ round -- */

/* The clock and the packets are always of the same round. */
static void enter_round(struct mesh_node *node, const struct mesh_open *open,
                        int64_t start)
{
    struct packet_about about = {.round = open->round};
    memcpy(about.digest, open->digest, WIRE_DIGEST);
    mesh_links_flush(node); /* what is still of the round before */
    if (packets_missed(node->packets, open->round)) {
        node->asks = true;
        node->next_hello = node->next_greeting = 0;
    }
    node->clock.open = *open;
    node->clock.start = start;
    packets_begin(node->packets, &about);
}

static void begin_round(struct mesh_node *node, const struct mesh_open *open,
                        int64_t start)
{
    enter_round(node, open, start);
    begin_release(node, daemon_clock());
    /* What came before this node heard of the round. */
    for (int32_t i = 0; i < node->plan.nodes; i++)
        if (i != node->number)
            mesh_links_spread(node, i, 0);
}

void mesh_own_open(struct mesh_node *node)
{
    const struct announced *said = &node->said.kind[MESH_OPEN];
    struct mesh_clock *clock = &node->clock;
    struct mesh_open open;
    int64_t now = daemon_clock();
    if (node->packets == NULL || said->counter == 0 ||
        !mesh_read_open(said->body, said->size, &open) ||
        memcmp(open.digest, node->digest, WIRE_DIGEST) != 0)
        return;
    if (open.period > 0 && open.attempt == 0) {
        clock->base_round = open.round;
        clock->base_time = now;
    } else if (open.period == 0) {
        clock->base_round = 0; /* a pause, or rounds without a clock */
    }
    if (open.round > clock->open.round) {
        begin_round(node, &open, now);
    } else if (open.round == clock->open.round &&
               open.attempt > clock->open.attempt) {
        mesh_links_flush(node);
        clock->open = open;
        clock->start = now;
        for (int32_t k = 0; k < node->links.count; k++)
            mesh_links_refill(node, k);
    }
}

void mesh_own_resume(struct mesh_node *node)
{
    const struct mesh_clock *clock = &node->clock;
    int64_t now = daemon_clock();
    if (node->packets != NULL && clock->open.round > 0 && !node->own.waits &&
        now < clock->start + clock->open.collect)
        begin_release(node, now);
}

/* When the node opens the next round by itself; INT64_MAX: it does not. */
static int64_t find_own_open(const struct mesh_clock *clock)
{
    int64_t k = clock->open.round + 1 - clock->base_round;
    if (clock->base_round == 0 || k < 1 || k > clock->open.ahead)
        return INT64_MAX;
    return clock->base_time + k * clock->open.period + clock->open.collect / 4;
}

int64_t mesh_own_next(const struct mesh_node *node)
{
    int64_t own = find_own_open(&node->clock);
    int64_t late = node->own.waits
                       ? node->clock.start + node->clock.open.collect
                       : INT64_MAX;
    return own < late ? own : late;
}

void mesh_own_tick(struct mesh_node *node, int64_t now)
{
    struct mesh_clock *clock = &node->clock;
    if (node->own.waits && now >= clock->start + clock->open.collect) {
        vector_stop(&node->vector);
        node->own.waits = false;
        daemon_say("round %lld: the vector was not ready in time",
                   (long long)clock->open.round);
    }
    if (node->packets == NULL || now < find_own_open(clock))
        return;
    struct mesh_open open = clock->open;
    memcpy(open.digest, node->digest, WIRE_DIGEST); /* of the latest plan */
    open.round++;
    open.attempt = 0;
    int64_t start = clock->base_time +
                    (open.round - clock->base_round) * clock->open.period;
    if (now < start + open.collect)
        begin_round(node, &open, start);
    else
        enter_round(node, &open, start); /* it has passed while we slept */
}
