/*
 * What the files of the decoder share: sums as rows, patterns of links, and the
 * solvers for four patterns of a small network or one of a large one.
 *
 * Everything is in units of the radius: X has ones on its diagonal, noise is a
 * variance times dimension / radius^2. Where nodes have radii of their own, t_i
 * times the network's, data are x_i = t_i z_i with z_i within the network's
 * radius: weights are times t_i, and what is wanted of z_i is q_i = t_i / n.
 */
#ifndef PRICER_DECODE_ROWS_H
#define PRICER_DECODE_ROWS_H

#include "decode.h"

enum { PRI_SMALL = 32 }; /* nodes of a small network, at most */

/* Added to the diagonal of a scaled system, so that sums without noise (full
 * trust), or one sum twice, have coefficients. */
#define PRI_RIDGE 1e-11

/* ------------------------------------------------------------------ rows -- */

/*
 * The sums of a plan, relay after relay: entry k of relay j, start[j] <= k <
 * start[j + 1], is the share of node from[k], over link[k] or, -1, its own.
 * Rows are divided by scale[j], a power of two, so that weights of any size
 * square without underflow; coefficients are then times scale[j].
 *
 * Of blind rows the server knows only that sum j arrived: `weight` and `noise`
 * are expectations, spread[k] = p (1 - p) weight^2 what is left to chance, and
 * pairs of opposite links that go together are kept apart.
 */
struct pri_rows {
    int32_t nodes, entries;
    bool blind;
    int32_t *start;         /* [nodes + 1] */
    int32_t *from, *link;   /* [entries] */
    double *weight, *noise; /* [entries] */
    double *spread;         /* [entries], of blind rows */
    double *scale;          /* [nodes] */
    double *part;           /* [nodes] t_i */
    int32_t pairs;
    int32_t *low, *high; /* [pairs] two relays, */
    double *together;    /* [pairs] their covariance, scaled */
};

enum pricer_status pri_rows_new(const struct pricer_network *network,
                                const struct pricer_plan *plan, bool blind,
                                struct pri_rows *rows);
void pri_rows_free(struct pri_rows *rows);

/* -------------------------------------------------------------- patterns -- */

/*
 * Patterns of what arrives: bit t of entry k, in groups of PRI_ROUNDS patterns.
 * An entry's bit says that its share is in a sum that arrived.
 */
struct pri_patterns {
    int64_t count, groups;
    int32_t entries, nodes;
    uint64_t *uplink; /* [groups][nodes][PRI_LANES] */
    uint64_t *entry;  /* [groups][entries][PRI_LANES] */
    double *chance;   /* [groups][PRI_ROUNDS]; 0 beyond count */
    bool exact;
};

/* Probabilities that patterns are drawn by. */
struct pri_odds {
    double *uplink;    /* [nodes] */
    double *p, *joint; /* [links] */
};

/* As the network says, or where asked, each p replaced by its mean over its
 * uncertainty. */
enum pricer_status pri_odds_new(const struct pricer_network *network,
                                const struct pricer_decoder_settings *settings,
                                bool perturbed, struct pri_odds *odds);
void pri_odds_free(struct pri_odds *odds);

/* All patterns if they are no more than `most`, else so many drawn. */
enum pricer_status pri_patterns_new(const struct pricer_network *network,
                                    const struct pri_rows *rows,
                                    const struct pri_odds *odds, uint64_t seed,
                                    int64_t count, struct pri_team *team,
                                    struct pri_patterns *patterns);
void pri_patterns_free(struct pri_patterns *patterns);

/* So many drawn, even where they could be enumerated. */
enum pricer_status pri_patterns_draw(const struct pricer_network *network,
                                     const struct pri_rows *rows,
                                     const struct pri_odds *odds, uint64_t seed,
                                     int64_t count, struct pri_team *team,
                                     struct pri_patterns *patterns);

/* ----------------------------------------------------------------- model -- */

/* What a decoder assumes: X and the right-hand side. */
struct pri_model {
    int32_t nodes, rank;
    const double *own, *shared, *target;
    const double *part; /* t_i, or NULL: all 1 */
    const double *cap;  /* or NULL: none */
    double blend;
    double diagonal; /* X_ii, the same for all */
    double base;     /* q'Xq, the bar of a round in which nothing arrived */
    const double *x; /* [nodes][nodes] X as a whole, of a small network */
};

/* Fill in base and diagonal and, of a small network, x, which has room for it.
 */
void pri_model_complete(struct pri_model *model, double *x);

/* target <- X q, which is best for one round. */
void pri_model_target(const struct pri_model *model, double *target);

/* ---------------------------------------------------------------- tables -- */

enum {
    PRI_HANDFUL = 5, /* entries that share a table, at most */
    PRI_HANDFULS = 2 + (PRI_SMALL - 1) / PRI_HANDFUL, /* of a relay */
};

/* Entries begin to end - 1 of one relay, and `width` numbers for each subset:
 * what it adds to the row of A X, then to A kappa, then to the noise. */
struct pri_handful {
    int32_t begin, end;
    const double *sums; /* [2^(end - begin)][width] */
};

/* Of rows that are not blind and a model of a small network. Relay j has the handfuls first[j] to first[j + 1] - 1. */
struct pri_tables {
    int32_t width, handfuls;
    int32_t *first; /* [nodes + 1] */
    struct pri_handful *handful;
    double *weight; /* [entries][4] each four times */
    double *sums;
};

enum pricer_status pri_tables_new(const struct pri_rows *rows,
                                  const struct pri_model *model,
                                  struct pri_tables *tables);
void pri_tables_free(struct pri_tables *tables);

/* ----------------------------------------------------------------- small -- */

/* Four patterns side by side. */
typedef double pri_four __attribute__((vector_size(32)));

/* The room that four patterns take, and what comes out of them. */
struct pri_small {
    int32_t nodes;
    int32_t sums, active[PRI_SMALL]; /* relays up in any of the patterns */
    pri_four *entry;                 /* [entries] weight where it arrived */
    pri_four *noise;                 /* [nodes] of the sum */
    pri_four *chance;                /* [nodes] blind: what is left to chance */
    pri_four *up;                    /* [nodes] 1 where the sum arrived */
    pri_four *factor;                /* [nodes][nodes] */
    pri_four *row;                   /* [nodes] and some: of A X */
    pri_four *pivot, *side;          /* [nodes] */
    const struct pri_tables *tables; /* or NULL: rows are added up */
    const uint64_t *word[4];         /* with tables: the patterns' bits, */
    const double *from[PRI_HANDFULS][4]; /* and where a relay's sums stand */
    pri_four *beta;   /* [nodes] coefficients of the scaled rows */
    pri_four *excess; /* [nodes] r */
    pri_four *bar;    /* r'Xr + noise */
    pri_four *heard;  /* beta' V beta, in units of the radius */
};

enum pricer_status pri_small_new(const struct pri_rows *rows,
                                 struct pri_small *small);
void pri_small_free(struct pri_small *small);

/*
 * Load patterns 4 m to 4 m + 3 of a group, bits as in struct pri_patterns, then
 * solve them. pri_small_value() finds r, bar and noise of whatever is in beta,
 * which is read for the active relays only.
 */
void pri_small_load(struct pri_small *small, const struct pri_rows *rows,
                    const uint64_t *uplink, const uint64_t *entry, int m);
/* The same of any four patterns by the tables of the model that will solve them:
 * word[e] of each are its bits, those of the entries, then those of the uplinks.
 * Nothing is written of relays that are not active. */
void pri_small_load_words(struct pri_small *small, const struct pri_rows *rows,
                          const struct pri_tables *tables,
                          const uint64_t *const *word);
void pri_small_solve(struct pri_small *small, const struct pri_rows *rows,
                     const struct pri_model *model);
void pri_small_value(struct pri_small *small, const struct pri_rows *rows,
                     const struct pri_model *model);

/* The factored systems of the last solve applied to one more right-hand side:
 * `side` becomes its solution, for scaled rows. */
void pri_small_again(struct pri_small *small, pri_four *side);

/* ----------------------------------------------------------------- large -- */

enum {
    PRI_DIRECT = 256, /* sums that are solved directly, at most */
    PRI_RANK = 8,     /* of X for networks that are not small, at most */
};

/* One pattern of any network: the sums that arrived, compressed. */
struct pri_large {
    int32_t sums;
    int32_t *relay;            /* [sums] which arrived */
    int32_t *place;            /* [nodes] where in relay[], or -1 */
    int32_t *start;            /* [sums + 1] */
    int32_t *from;             /* [entries] */
    double *weight;            /* [entries] */
    double *noise;             /* [sums] */
    double *rest;              /* [sums] noise and, blind, chance */
    double *beta;              /* [sums] of the scaled rows */
    double *diagonal, *likely; /* [sums] of A own A' + rest; [sums][rank] A U */
    double *residual, *step, *image, *precise; /* [sums] */
    double *excess;                            /* [nodes] r */
    double *spread;                            /* [nodes] A' step */
    double *factor;                            /* [PRI_DIRECT]^2 */
    double core[PRI_RANK * PRI_RANK];
    double bar, heard, slack;
    int32_t steps;
};

enum pricer_status pri_large_new(const struct pri_rows *rows,
                                 struct pri_large *large);
void pri_large_free(struct pri_large *large);

/* What is known of the sums that arrived: whether each link's share is in, and
 * whose own part is not. */
struct pri_held {
    const bool *link;     /* [links] */
    const bool *withheld; /* [nodes] */
};

/* Whether entry k, which belongs to relay j, is in its sum. */
static inline bool pri_is_held(const struct pri_rows *rows,
                               const struct pri_held *held, int32_t j,
                               int32_t k)
{
    if (rows->blind)
        return true;
    return rows->link[k] < 0 ? !held->withheld[j] : held->link[rows->link[k]];
}

/* Collect a pattern; one bit or one byte an entry. */
void pri_large_load(struct pri_large *large, const struct pri_rows *rows,
                    const uint64_t *uplink, const uint64_t *entry, int t);
void pri_large_load_bytes(struct pri_large *large, const struct pri_rows *rows,
                          const bool *uplink, const struct pri_held *held);
void pri_large_solve(struct pri_large *large, const struct pri_rows *rows,
                     const struct pri_model *model);
void pri_large_value(struct pri_large *large, const struct pri_rows *rows,
                     const struct pri_model *model);

/* ----------------------------------------------------------------- bound -- */

/*
 * max { tr M X : X positive semidefinite, X_ii = 1 } from below (*reached, by
 * ascent) and from above (*upper, by a diagonal L with L - M positive
 * semidefinite). M is [n][n].
 */
enum pricer_status pri_bound(int32_t n, const double *m, double *reached,
                             double *upper);

/* The same of M = (1/count) sum of vectors r_s r_s', given as [count][n]. */
enum pricer_status pri_bound_vectors(int32_t n, int32_t count, const double *r,
                                     struct pri_team *team, double *reached,
                                     double *upper);

/* ---------------------------------------------------------------- ascent -- */

/* A concave function of X = own + shared shared' and, by its gradient M, M
 * shared [nodes][rank] and the diagonal of M [nodes]. */
struct pri_concave {
    enum pricer_status (*value)(void *context, const double *own,
                                const double *shared, double *value,
                                double *product, double *diagonal);
    void *context;
    int32_t nodes, rank;
    double tolerance; /* relative, of the value between steps */
    int32_t limit;    /* of evaluations */
};

/* Climb from *own, *shared to its maximum. */
enum pricer_status pri_ascend(const struct pri_concave *concave, double *own,
                              double *shared, double *value);

/* ----------------------------------------------------------------- genie -- */

/*
 * Payloads that reach the server separately. Rows of their own: node i is one
 * sum of weight 1 whose noise depends on the pattern. `payload` are the links,
 * noise[k] the precision 1 / slope^2 of entry k.
 */
void pri_small_load_payload(struct pri_small *small, double unit,
                            const struct pri_rows *payload,
                            const uint64_t *entry, int m);
void pri_large_load_payload(struct pri_large *large, double unit,
                            const struct pri_rows *payload,
                            const uint64_t *entry, int t);

/* Every link and every node's own part as an entry of weight 1, the precision
 * 1 / slope^2 in place of its noise: 0 where a slope is infinite. */
enum pricer_status pri_payload_rows(const struct pricer_network *network,
                                    const double *slope,
                                    const double *self_slope,
                                    struct pri_rows *payload);

/* Node i alone in sum i. */
enum pricer_status pri_own_rows(const struct pricer_network *network,
                                struct pri_rows *rows);

/* ----------------------------------------------------------------- judge -- */

/* What a model is judged by. */
struct pri_court {
    const struct pri_rows *rows;
    const struct pri_rows *payload; /* or NULL: the rows themselves arrive */
    double unit;                    /* dimension / radius^2, of payloads */
    const struct pri_patterns *patterns;
    struct pri_team *team; /* who judges; NULL: the caller */
};

/*
 * Means over the patterns of what a model's coefficients do; NULL where it is
 * not wanted. Index 0 is the constant decoder, 2 the model's, 1 between them.
 * The same for any number of threads.
 */
struct pri_judgement {
    double value, square;       /* of bar, and of its square */
    double heard[3];            /* beta' V beta */
    double chance;              /* large: what blind ones add at most */
    double *cap;                /* [nodes] largest |coefficient| seen */
    double *m;                  /* small: [3][nodes][nodes] r r' */
    bool last;                  /* small: only the third of them */
    double *inverse;            /* small: [nodes][nodes] A' H^-1 A */
    double *product, *diagonal; /* large: [nodes][rank] M U; [nodes] M_ii */
    double *vectors;            /* large: [2][patterns][nodes] r of 0 and 2 */
};

enum pricer_status pri_judge_small(const struct pri_court *court,
                                   const struct pri_model *model,
                                   struct pri_judgement *judgement);
enum pricer_status pri_judge_large(const struct pri_court *court,
                                   const struct pri_model *model,
                                   struct pri_judgement *judgement);

/* Whichever is for this network. */
enum pricer_status pri_judge(const struct pri_court *court,
                             const struct pri_model *model,
                             struct pri_judgement *judgement);

/* -------------------------------------------------------------- constant -- */

/* E r r' of the constant decoder, [nodes][nodes], and room for [nodes] behind
 * it. Rows that are not blind; `weight` is the plan's, of the links. */
void pri_constant(const struct pricer_network *network,
                  const struct pri_rows *truth, const struct pri_odds *odds,
                  const double *weight, double *m);

/* Of more nodes: the variance of each r_i alone, [nodes]. */
void pri_variances(const struct pri_rows *truth, const struct pri_odds *odds,
                   double *variance);

/* From the exact M_00 and the sampled M_00 and M_01 (index 0 and 1 of m): how
 * far each node's r goes along with the constant decoder's, and by how much the
 * patterns are off. */
void pri_control(int64_t n, const double *exact, const double *m, double *ratio,
                 double *change);

/* ------------------------------------------------------------------- fit -- */

/* Of what draws patterns; streams of their own, unlike those of simulations. */
#define PRI_SEED(seed, use) ((seed) ^ (UINT64_C(0x6465636f64650000) + (use)))

/* How many patterns judge a decoder: as asked, or some seconds' worth. */
int64_t pri_pattern_count(int32_t nodes, int64_t asked);

/* Climb g of the court from the best single correlation to its maximum. */
/* `exact` is M_00 of pri_constant() for the court's patterns, of more than
 * PRI_WHOLE nodes the variances of pri_variances(), or NULL. */
enum pricer_status pri_fit(const struct pri_court *court, int32_t rank,
                           const double *exact,
                           const struct pricer_watch *watch, double *own,
                           double *shared);

/* The sampled M of the r in vectors [2][count][n], as in struct pri_judgement,
 * [3][n][n]. */
void pri_squares(int64_t n, int64_t count, const double *vectors,
                 struct pri_team *team, double *m);

enum { PRI_WHOLE = 1024 }; /* nodes for which matrices are written out */

#endif
