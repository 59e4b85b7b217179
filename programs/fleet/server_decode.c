/*
 * From the sums of a round to its estimate and its error bar: by the plan's
 * decoder, for which the sums are kept apart until the round closes; or, where
 * there is none, by the running sum over n.
 */
#include "server.h"
#include "common/meaning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void unload(struct decoding *decoding)
{
    pricer_receiver_free(decoding->receiver);
    decoding->receiver = NULL;
    decoding->used = PRICER_DECODE_CONSTANT;
    free(decoding->sums);
    free(decoding->values);
    free(decoding->coefficient);
    free(decoding->came);
    free(decoding->held);
    free(decoding->withheld);
    decoding->sums = NULL;
    decoding->values = decoding->coefficient = NULL;
    decoding->came = decoding->held = decoding->withheld = NULL;
}

void server_decoder_unload(struct server *server)
{
    unload(&server->decoding);
}

static bool is_decoding(const struct decoding *decoding)
{
    return decoding->receiver != NULL;
}

static bool make_room(struct server *server)
{
    struct decoding *decoding = &server->decoding;
    size_t nodes = (size_t)server->network->nodes;
    size_t size = nodes * (size_t)server->network->dimension;
    bool adaptive = decoding->used == PRICER_DECODE_ADAPTIVE;
    decoding->sums = calloc(size, sizeof *decoding->sums);
    decoding->values = calloc(adaptive ? size : 1, sizeof *decoding->values);
    decoding->coefficient = calloc(nodes, sizeof *decoding->coefficient);
    decoding->came = calloc(nodes, sizeof *decoding->came);
    decoding->withheld = calloc(nodes, sizeof *decoding->withheld);
    decoding->held =
        calloc((size_t)server->network->links + 1, sizeof *decoding->held);
    return decoding->sums != NULL && decoding->values != NULL &&
           decoding->coefficient != NULL && decoding->came != NULL &&
           decoding->withheld != NULL && decoding->held != NULL;
}

/* The plan's decoder, or NULL and in `why` the words why there is none. */
static enum pricer_status find_decoder(struct server *server,
                                       struct pricer_decoder **decoder,
                                       struct pricer_fault *why,
                                       struct pricer_fault *fault)
{
    bool adaptive = server->decoding.asked == PRICER_DECODE_ADAPTIVE;
    int64_t size = server->network->nodes * server->network->dimension;
    int64_t bytes = (adaptive ? 16 : 8) * size;
    enum pricer_status status = pricer_study_decoder(
        server->study, server->plan_id, server->network, decoder, fault);
    if (status != PRICER_OK)
        return status;
    if (*decoder == NULL)
        daemon_fault(why, PRICER_VALUE,
                     "plan %lld has no decoder ('pricer plan --decoder "
                     "minimax' makes a plan with one)",
                     (long long)server->plan_id);
    if (*decoder == NULL || (bytes - 1) >> 20 < server->memory)
        return PRICER_OK;
    pricer_decoder_free(*decoder);
    *decoder = NULL;
    daemon_fault(why, PRICER_VALUE,
                 "to decode, sums of %d nodes would take %lld MiB, more than "
                 "%lld",
                 (int)server->network->nodes, (long long)(bytes >> 20),
                 (long long)server->memory);
    return PRICER_OK;
}

/* A server that starts does what was asked or nothing; one that runs goes on,
 * and says how. */
static enum pricer_status do_without(const struct server *server,
                                     const struct pricer_fault *why,
                                     struct pricer_fault *fault)
{
    if (server->done == 0 && !server->open && server->decoding.asked >= 0) {
        *fault = *why;
        return PRICER_VALUE;
    }
    daemon_say("%s: every sum counts 1/n", why->text);
    return PRICER_OK;
}

/* What turns sums into coefficients. */
static enum pricer_status make_receiver(struct server *server,
                                        const struct pricer_decoder *decoder,
                                        struct pricer_fault *fault)
{
    struct decoding *decoding = &server->decoding;
    if (!make_room(server))
        return PRICER_MEMORY;
    return pricer_receiver_new(server->network, server->plan, decoder,
                               &decoding->receiver, fault);
}

enum pricer_status server_decoder_load(struct server *server,
                                       struct pricer_fault *fault)
{
    struct decoding *decoding = &server->decoding;
    struct pricer_decoder *decoder = NULL;
    struct pricer_error error;
    struct pricer_settings settings = {0};
    struct pricer_fault why = {""};
    unload(decoding);
    enum pricer_status status = pricer_plan_evaluate(
        server->network, &settings, server->plan, &error, fault);
    if (status != PRICER_OK)
        return status;
    decoding->planned = error.mse_worst_case;
    if (decoding->asked == PRICER_DECODE_CONSTANT)
        return PRICER_OK;
    status = find_decoder(server, &decoder, &why, fault);
    if (status == PRICER_OK && decoder == NULL)
        return do_without(server, &why, fault);
    if (status == PRICER_OK) {
        decoding->used = decoding->asked >= 0
                             ? (enum pricer_decode)decoding->asked
                             : PRICER_DECODE_MINIMAX;
        decoding->planned = decoder->upper;
        status = make_receiver(server, decoder, fault);
    }
    pricer_decoder_free(decoder);
    if (status != PRICER_OK)
        unload(decoding);
    return status;
}

/* ----------------------------------------------------------------- round -- */

void server_decoder_open(struct server *server)
{
    struct decoding *decoding = &server->decoding;
    size_t nodes = (size_t)server->network->nodes;
    size_t links = (size_t)server->network->links;
    decoding->weight = decoding->length = decoding->noise = 0;
    if (!is_decoding(decoding))
        return;
    memset(decoding->came, 0, nodes);
    memset(decoding->withheld, 0, nodes);
    memset(decoding->held, 0, links);
}

void server_decoder_keep(struct server *server, int32_t node,
                         const uint8_t *values)
{
    struct decoding *decoding = &server->decoding;
    int64_t dimension = server->network->dimension;
    if (!is_decoding(decoding))
        return;
    decoding->came[node] = true;
    for (int64_t k = 0; k < dimension; k++)
        decoding->sums[node * dimension + k] = wire_integer(values, k);
}

void server_decoder_note(struct server *server, int32_t node, int32_t link,
                         bool held)
{
    struct decoding *decoding = &server->decoding;
    const struct pricer_plan *plan = server->plan;
    const struct pricer_network *network = server->network;
    int32_t from = link < 0 ? node : network->from[link];
    double weight = link < 0 ? plan->self_weight[node] : plan->weight[link];
    double noise = link < 0 ? plan->self_noise[node] : plan->noise[link];
    if (held) {
        decoding->weight += weight;
        decoding->length += weight * network->node_radius[from];
    }
    /* That of an own part is there also where the part is withheld. */
    if (held || link < 0)
        decoding->noise += noise * noise;
    if (!is_decoding(decoding))
        return;
    if (link < 0)
        decoding->withheld[node] = !held;
    else
        decoding->held[link] = held;
}

/*
 * The bar of the constant decoder, for the data that are hardest for it, all
 * along one vector and as long as their radii: their mean comes back as the length
 * that arrived over n. Its mean over rounds is their exact error.
 */
static double find_constant_bar(const struct server *server)
{
    const struct pricer_network *network = server->network;
    double n = network->nodes, d = (double)network->dimension;
    double off = server->decoding.length / n - sqrt(meaning_centre(network));
    return off * off + d * server->decoding.noise / n / n;
}

/* The sums with their coefficients, by ascending relays as in the simulator. */
static void combine(struct server *server)
{
    struct decoding *decoding = &server->decoding;
    int64_t d = server->network->dimension;
    memset(server->estimate, 0, (size_t)d * sizeof *server->estimate);
    for (int64_t j = 0; j < server->network->nodes; j++)
        if (decoding->came[j])
            pricer_round_combine(&server->grid, decoding->coefficient[j],
                                 decoding->sums + j * d, d, server->estimate);
}

/* What the noise of own parts that are withheld adds to the error: the decoder
 * takes them for sums without it. */
static double find_cover(const struct server *server)
{
    const struct decoding *decoding = &server->decoding;
    double cover = 0;
    const int32_t nodes = server->network->nodes;
    for (int32_t j = 0; j < nodes; j++) {
        double part = decoding->coefficient[j] * server->plan->self_noise[j];
        if (decoding->came[j] && decoding->withheld[j])
            cover += part * part;
    }
    return cover * (double)server->network->dimension;
}

void server_decode(struct server *server)
{
    struct decoding *decoding = &server->decoding;
    struct pricer_decoded decoded;
    int64_t d = server->network->dimension;
    if (!is_decoding(decoding)) {
        pricer_round_estimate(&server->grid, server->network->nodes,
                              server->sum, d, server->estimate);
        decoding->bar = find_constant_bar(server);
        return;
    }
    pricer_receiver_withhold(decoding->receiver, decoding->withheld);
    if (decoding->used == PRICER_DECODE_ADAPTIVE) {
        for (int64_t j = 0; j < server->network->nodes; j++)
            for (int64_t k = j * d; decoding->came[j] && k < (j + 1) * d; k++)
                decoding->values[k] =
                    ldexp((double)decoding->sums[k], server->grid.exponent);
        pricer_receiver_adapt(decoding->receiver, decoding->came,
                              decoding->held, decoding->values,
                              decoding->coefficient, &decoded);
    } else {
        pricer_receiver_decode(decoding->receiver, decoding->came,
                               decoding->held, decoding->coefficient, &decoded);
    }
    combine(server);
    decoding->bar = decoded.bar + find_cover(server);
}

/* ---------------------------------------------------------------- judged -- */

bool server_is_bad(const struct server *server)
{
    const struct decoding *decoding = &server->decoding;
    double square = meaning_centre(server->network);
    return server->done > 0 && server->contributors > 0 &&
           (decoding->bar > 4 * decoding->planned ||
            decoding->bar >= .9 * square);
}

void server_print_bar(const struct server *server, FILE *out)
{
    double square = meaning_centre(server->network);
    const struct decoding *decoding = &server->decoding;
    fprintf(out, "expected error at most about %.2g R^2",
            decoding->bar / square);
    if (server_is_bad(server))
        fprintf(out,
                ", where the plan's worst case is %.2g R^2 and no estimate at "
                "all has 1: a bad round",
                decoding->planned / square);
    if (decoding->used == PRICER_DECODE_ADAPTIVE)
        fputs(" (by the adaptive decoder, without guarantee)", out);
}
