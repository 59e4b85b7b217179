/*
 * From probabilities to patterns of what arrives: all of them where they are
 * few, else drawn by the generator of simulated rounds.
 *
 * A decoder fitted to probabilities that are wrong can be worse than none. Let
 * every p have an error of its own, independent of all others. A pattern drawn
 * with such p has independent links with probabilities E p (and pairs with E
 * of the joint one), so that perturbing is nothing but replacing p by its mean
 * over the error: no sampling of errors is needed.
 */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXACT = 1 << 16 }; /* patterns that are enumerated at most */

/* ------------------------------------------------------------------ odds -- */

/* E of 1 / (1 + e^-(logit p + s z)), z standard normal, by the trapezoidal
 * rule: smooth and fast to fall, hence right to many digits. */
static double perturbed(double p, double s)
{
    if (!(p > 0) || !(p < 1) || !(s > 0))
        return p;
    double logit = log(p / (1 - p)), sum = 0, mass = 0;
    for (int k = -32; k <= 32; k++) {
        double z = k / 4.0, density = exp(-z * z / 2);
        sum += density / (1 + exp(-(logit + s * z)));
        mass += density;
    }
    return sum / mass;
}

/* Between independent and fully reciprocal as before. */
static double perturbed_joint(double joint, const double old[2],
                              const double new[2])
{
    double low = old[0] * old[1], high = fmin(old[0], old[1]);
    double share = high > low ? (joint - low) / (high - low) : 0;
    low = new[0] * new[1];
    high = fmin(new[0], new[1]);
    return low + share * (high - low);
}

enum pricer_status pri_odds_new(const struct pricer_network *network,
                                const struct pricer_decoder_settings *settings,
                                bool disturb, struct pri_odds *odds)
{
    struct pri_odds made = {
        pri_alloc(network->nodes, sizeof(double)),
        pri_alloc(network->links, sizeof(double)),
        pri_alloc(network->links, sizeof(double)),
    };
    if (!made.uplink || !made.p || !made.joint) {
        pri_odds_free(&made);
        return PRICER_MEMORY;
    }
    double spread = settings->spread == 0 ? 0.25 : settings->spread;
    for (int32_t i = 0; i < network->nodes; i++) {
        double s =
            settings->uplink_spread ? settings->uplink_spread[i] : spread;
        made.uplink[i] = perturbed(network->uplink[i], disturb ? s : 0);
    }
    for (int32_t l = 0; l < network->links; l++) {
        double s = settings->link_spread ? settings->link_spread[l] : spread;
        made.p[l] = perturbed(network->p[l], disturb ? s : 0);
    }
    for (int32_t l = 0; l < network->links; l++) {
        int32_t back = network->partner[l];
        if (back >= 0)
            made.joint[l] = perturbed_joint(
                network->joint[l], (double[]){network->p[l], network->p[back]},
                (double[]){made.p[l], made.p[back]});
    }
    *odds = made;
    return PRICER_OK;
}

void pri_odds_free(struct pri_odds *odds)
{
    free(odds->uplink);
    free(odds->p);
    free(odds->joint);
    memset(odds, 0, sizeof *odds);
}

/* ----------------------------------------------------------- enumeration -- */

/* Something with two to four outcomes: an uplink, or a pair of links. Outcome
 * bits: 1 the link (or uplink), 2 its partner. */
struct atom {
    int32_t node, link; /* one of them -1 */
    int outcomes;
    int bits[4];
    double chance[4];
};

static void add_outcome(struct atom *atom, int bits, double chance)
{
    if (!(chance > 0))
        return;
    atom->bits[atom->outcomes] = bits;
    atom->chance[atom->outcomes++] = chance;
}

static struct atom uplink_atom(int32_t i, double p)
{
    struct atom atom = {.node = i, .link = -1};
    add_outcome(&atom, 1, p);
    add_outcome(&atom, 0, 1 - p);
    return atom;
}

static struct atom link_atom(const struct pricer_network *network,
                             const struct pri_odds *odds, int32_t l)
{
    struct atom atom = {.node = -1, .link = l};
    int32_t back = network->partner[l];
    double p = odds->p[l], other = back < 0 ? 0 : odds->p[back];
    double both = back < 0 ? 0 : odds->joint[l];
    add_outcome(&atom, 3, both);
    add_outcome(&atom, 1, p - both);
    add_outcome(&atom, 2, other - both);
    add_outcome(&atom, 0, 1 - p - other + both);
    return atom;
}

/* The atoms that decide what the rows contain; their number, or -1 if their
 * patterns are too many. `marks` is room for [links]. */
static int list_atoms(const struct pricer_network *network,
                      const struct pri_rows *rows, const struct pri_odds *odds,
                      bool *marks, struct atom *atoms)
{
    int64_t patterns = 1;
    int count = 0;
    for (int32_t j = 0; j < rows->nodes; j++) {
        if (rows->start[j] == rows->start[j + 1] || odds->uplink[j] == 0)
            continue;
        atoms[count] = uplink_atom(j, odds->uplink[j]);
        patterns *= atoms[count++].outcomes;
        if (patterns > MOST_EXACT)
            return -1;
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
            int32_t l = rows->link[k];
            if (rows->blind || l < 0 || marks[l])
                continue;
            marks[l] = true;
            if (network->partner[l] >= 0)
                marks[network->partner[l]] = true;
            atoms[count] = link_atom(network, odds, l);
            patterns *= atoms[count++].outcomes;
            if (patterns > MOST_EXACT || count > 64)
                return -1;
        }
    }
    return count;
}

static bool make_room(const struct pri_rows *rows, int64_t count,
                      struct pri_patterns *patterns)
{
    int64_t groups = (count + PRI_ROUNDS - 1) / PRI_ROUNDS;
    patterns->count = count;
    patterns->groups = groups;
    patterns->entries = rows->entries;
    patterns->nodes = rows->nodes;
    patterns->uplink = pri_alloc(groups * rows->nodes, 8 * sizeof(uint64_t));
    patterns->entry = pri_alloc(groups * rows->entries, 8 * sizeof(uint64_t));
    patterns->chance = pri_alloc(groups * PRI_ROUNDS, sizeof(double));
    return patterns->uplink && patterns->entry && patterns->chance;
}

/* Pattern t, from which uplinks and links are up. */
static void write_pattern(const struct pri_rows *rows, const bool *uplink,
                          const bool *link, int64_t t,
                          struct pri_patterns *patterns)
{
    int64_t group = t / PRI_ROUNDS, lane = t % PRI_ROUNDS / 64;
    uint64_t bit = UINT64_C(1) << t % 64;
    for (int32_t j = 0; j < rows->nodes; j++) {
        if (!uplink[j])
            continue;
        patterns->uplink[(group * rows->nodes + j) * 8 + lane] |= bit;
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            if (rows->blind || rows->link[k] < 0 || link[rows->link[k]])
                patterns->entry[(group * rows->entries + k) * 8 + lane] |= bit;
    }
}

static enum pricer_status enumerate(const struct pricer_network *network,
                                    const struct pri_rows *rows,
                                    const struct atom *atoms, int count,
                                    struct pri_patterns *patterns)
{
    int64_t all = 1;
    for (int a = 0; a < count; a++)
        all *= atoms[a].outcomes;
    bool *uplink = pri_alloc(network->nodes, sizeof *uplink);
    bool *link = pri_alloc(network->links, sizeof *link);
    if (uplink == NULL || link == NULL || !make_room(rows, all, patterns)) {
        free(uplink);
        free(link);
        return PRICER_MEMORY;
    }
    for (int64_t t = 0; t < all; t++) {
        int64_t rest = t;
        double chance = 1;
        for (int a = 0; a < count; a++) {
            const struct atom *atom = &atoms[a];
            int outcome = (int)(rest % atom->outcomes);
            rest /= atom->outcomes;
            chance *= atom->chance[outcome];
            if (atom->node >= 0) {
                uplink[atom->node] = atom->bits[outcome] & 1;
                continue;
            }
            link[atom->link] = atom->bits[outcome] & 1;
            if (network->partner[atom->link] >= 0)
                link[network->partner[atom->link]] = atom->bits[outcome] & 2;
        }
        patterns->chance[t] = chance;
        write_pattern(rows, uplink, link, t, patterns);
    }
    patterns->exact = true;
    free(uplink);
    free(link);
    return PRICER_OK;
}

/* --------------------------------------------------------------- drawing -- */

static void draw_entry(const struct pricer_network *network,
                       const struct pri_odds *odds,
                       const struct pri_threefry_key *key, int32_t l,
                       uint64_t *bits)
{
    int32_t from = network->from[l], to = network->to[l];
    int32_t back = network->partner[l];
    double p = odds->p[l], p_back = back < 0 ? 0 : odds->p[back];
    uint64_t other[PRI_LANES];
    if (from < to) {
        struct pri_pair pair = pri_pair_make(p, p_back, odds->joint[l]);
        pri_draw_pair(&pair, key, from, to, bits, other);
    } else {
        struct pri_pair pair = pri_pair_make(p_back, p, odds->joint[l]);
        pri_draw_pair(&pair, key, to, from, other, bits);
    }
}

static void draw_group(const struct pricer_network *network,
                       const struct pri_rows *rows, const struct pri_odds *odds,
                       uint64_t seed, int64_t group,
                       struct pri_patterns *patterns)
{
    struct pri_threefry_key key = pri_draw_key(seed, group);
    uint64_t *uplink = patterns->uplink + group * rows->nodes * PRI_LANES;
    uint64_t *entry = patterns->entry + group * rows->entries * PRI_LANES;
    for (int32_t j = 0; j < rows->nodes; j++) {
        struct pri_pair pair = pri_pair_make(odds->uplink[j], 0, 0);
        uint64_t *up = uplink + (int64_t)j * PRI_LANES;
        pri_draw_pair(&pair, &key, j, PRICER_SERVER, up, NULL);
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
            uint64_t *bits = entry + (int64_t)k * PRI_LANES;
            bool sure = rows->blind || rows->link[k] < 0;
            if (!sure)
                draw_entry(network, odds, &key, rows->link[k], bits);
            for (int w = 0; w < PRI_LANES; w++)
                bits[w] = sure ? up[w] : bits[w] & up[w];
        }
    }
}

struct drawing {
    const struct pricer_network *network;
    const struct pri_rows *rows;
    const struct pri_odds *odds;
    uint64_t seed;
    struct pri_patterns *patterns;
};

static void draw_groups(void *context, int64_t low, int64_t high)
{
    const struct drawing *to = context;
    for (int64_t group = low; group < high; group++)
        draw_group(to->network, to->rows, to->odds, to->seed, group,
                   to->patterns);
}

static enum pricer_status draw(const struct pricer_network *network,
                               const struct pri_rows *rows,
                               const struct pri_odds *odds, uint64_t seed,
                               int64_t count, struct pri_team *team,
                               struct pri_patterns *patterns)
{
    if (!make_room(rows, count, patterns))
        return PRICER_MEMORY;
    struct drawing drawing = {network, rows, odds, seed, patterns};
    pri_team_share(team, patterns->groups, draw_groups, &drawing);
    for (int64_t t = 0; t < count; t++)
        patterns->chance[t] = 1 / (double)count;
    return PRICER_OK;
}

enum pricer_status pri_patterns_new(const struct pricer_network *network,
                                    const struct pri_rows *rows,
                                    const struct pri_odds *odds, uint64_t seed,
                                    int64_t count, struct pri_team *team,
                                    struct pri_patterns *patterns)
{
    struct pri_patterns made = {0};
    struct atom *atoms = NULL;
    bool *marks = pri_alloc(network->links, sizeof *marks);
    int random = -1;
    if (marks != NULL && network->nodes <= PRI_SMALL) {
        atoms = pri_alloc(128, sizeof *atoms);
        if (atoms != NULL)
            random = list_atoms(network, rows, odds, marks, atoms);
    }
    enum pricer_status status = PRICER_MEMORY;
    if (marks != NULL && random >= 0)
        status = enumerate(network, rows, atoms, random, &made);
    else if (marks != NULL)
        status = draw(network, rows, odds, seed, count, team, &made);
    free(atoms);
    free(marks);
    if (status == PRICER_OK)
        *patterns = made;
    else
        pri_patterns_free(&made);
    return status;
}

enum pricer_status pri_patterns_draw(const struct pricer_network *network,
                                     const struct pri_rows *rows,
                                     const struct pri_odds *odds, uint64_t seed,
                                     int64_t count, struct pri_team *team,
                                     struct pri_patterns *patterns)
{
    struct pri_patterns made = {0};
    enum pricer_status status =
        draw(network, rows, odds, seed, count, team, &made);
    if (status == PRICER_OK)
        *patterns = made;
    else
        pri_patterns_free(&made);
    return status;
}

void pri_patterns_free(struct pri_patterns *patterns)
{
    free(patterns->uplink);
    free(patterns->entry);
    free(patterns->chance);
    memset(patterns, 0, sizeof *patterns);
}
