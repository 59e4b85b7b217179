/*
 * Private releases of one vector: the parameters for a budget, what several
 * rounds cost together, and the sampler.
 *
 * A release of kind `sphere` is PrivUnit on the lifted sphere. A vector x of
 * length at most R becomes the unit vector u = (x/R, sqrt(1 - |x|^2/R^2)) of
 * k = d + 1 coordinates. A direction V is drawn: in the cap <V, u> > t with
 * probability p, else outside, uniformly within either. V is sent as the 16-byte
 * seed that it is expanded from. docs/release.md has claims, proofs and the
 * format.
 */
#ifndef PRICER_RELEASE_H
#define PRICER_RELEASE_H

#include "base/base.h"

/* Half a unit in the last place of a long double, relative. */
#define PRI_HALF_ULP (LDBL_EPSILON / 2)

/* ------------------------------------------------------------------- cap -- */

/* The largest number of coordinates of the lifted sphere. */
#define PRI_RELEASE_COORDINATES 2000001

/*
 * The cap { V : <V, u> > t } of the unit sphere of `coordinates` dimensions,
 * 0 < t < 1: its share q of the sphere and g = E[<V, u>; cap]. `error` bounds
 * the relative error of q, of 1 - q and of the mean.
 */
struct pri_cap {
    long double log_share; /* ln q */
    long double share;     /* q; 0 where it is below the range */
    long double mean;      /* g / q, the mean of <V, u> within the cap */
    long double hazard;    /* density of <V, u> at t, over q */
    long double error;
};

/* O(sqrt(coordinates)) at most, and less than 1000 steps. */
void pri_cap_at(int64_t coordinates, long double t, struct pri_cap *cap);

/* ------------------------------------------------------------ parameters -- */

enum pri_release_kind {
    PRI_RELEASE_BEST = 0, /* as a wish: the smaller variance */
    PRI_RELEASE_SPHERE,
    PRI_RELEASE_GAUSSIAN,
};

/* e0 is a multiple of 2^-40 and at most 12. */
#define PRI_RELEASE_GRID 0x1p-40
#define PRI_RELEASE_E0 12.0

/* The most rounds of a sphere release. */
#define PRI_RELEASE_ROUNDS 100000

/*
 * One round's release of a node. For the Gaussian, noise is the standard
 * deviation of a coordinate, and all that belongs to the sphere is 0.
 *
 * Claim: for the sphere, one round is (e0 + charge)-private with delta = 0
 * towards everyone, the number of tries included, if the keystream is uniform.
 */
struct pri_release {
    enum pri_release_kind kind;
    int64_t dimension;
    int64_t rounds; /* that the budget is for */
    double radius;
    double diameter; /* the guarantee is for data no further apart: of a sphere
                        always twice the radius */
    double t, e0;    /* threshold, and loss of a round: a multiple of 2^-40 */
    double q, p;   /* share of the cap, and the probability of landing in it */
    double m;      /* y = radius V / m */
    double charge; /* for all that is not quite uniform, in eps a round */
    double noise;
    double variance; /* max over |x| <= radius of E|y - x|^2 */
};

struct pri_release_wish {
    enum pri_release_kind kind;
    int64_t dimension;
    double radius;
    double eps, delta; /* over all rounds; delta may be 0 for the sphere */
    int64_t rounds;
    double diameter; /* of neighbouring data; 0: twice the radius */
};

/*
 * How far apart the means of a Gaussian's payload are for two data that differ
 * by at most `diameter` (0: twice the radius), in the data's units.
 *
 * Claim: a payload with this noise is, for such data, as private as a Gaussian
 * of the same noise whose mean moves by what is returned. Proof: parameters.c.
 */
long double pri_gaussian_move(double radius, double diameter, int64_t dimension,
                              double noise);

/*
 * The release of least variance that keeps (eps, delta) over the rounds. Proof:
 * docs/release.md, "Several rounds". PRICER_VALUE for numbers out of range,
 * PRICER_INFEASIBLE where nothing of this kind keeps the budget.
 */
enum pricer_status pri_release_for_budget(const struct pri_release_wish *wish,
                                          struct pri_release *release,
                                          struct pricer_fault *fault);

/*
 * The sphere release with a given threshold and loss. e0 must be on the grid.
 */
enum pricer_status pri_release_sphere(int64_t dimension, double radius,
                                      double t, double e0,
                                      struct pri_release *release,
                                      struct pricer_fault *fault);

/* The same release for another radius: its variance grows with the square. */
void pri_release_rescale(double radius, struct pri_release *release);

/* E|y - x|^2 of an x of this length, at most the radius. */
double pri_release_variance(const struct pri_release *release, double length);

/* ----------------------------------------------------------- composition -- */

/*
 * Several rounds of one release, as far as privacy goes: in each the loss is at
 * most +e0 with probability up, -e0 with down, else 0, and `charge` more.
 * `up` is rounded up and `down` down.
 */
struct pri_release_loss {
    long double up, down;
    double e0, charge;
    int64_t rounds;
};

/* The loss of a sphere release over so many rounds, to the safe side. */
void pri_release_loss(const struct pri_release *release, int64_t rounds,
                      struct pri_release_loss *loss);

/*
 * The law of the sum of the signs of all losses, from the top down: the sum
 * rounds - index has the probability now exp(log_scale). A step multiplies by
 * the factor that it returns what must be kept on the same scale. For sums >= 0.
 */
struct pri_signs {
    long double now, before, log_scale;
    int64_t index;
};
struct pri_signs pri_signs_first(const struct pri_release_loss *loss);
long double pri_signs_next(const struct pri_release_loss *loss,
                           struct pri_signs *signs);

/*
 * Claim: no two inputs are told apart better than (eps, what is returned)
 * allows. It is at most a part 2^-40 and 1e-16 above the delta of the trinomial
 * law. Adaptive choice of the data of later rounds included. O(rounds).
 */
double pri_release_delta(const struct pri_release_loss *loss, double eps);

/* The least eps for a delta, rounded up. */
double pri_release_eps(const struct pri_release_loss *loss, double delta);

/* ---------------------------------------------------------------- ledger -- */

/*
 * One line of the list that a budget fixes before its first release.
 */
struct pri_release_entry {
    enum pri_release_kind kind;
    int64_t dimension;
    double t, e0; /* of the sphere */
    double ratio; /* of the Gaussian: 2 radius / noise, whatever the diameter */
    int64_t rounds; /* at most */
};

/*
 * Claim: whoever sees the releases of all entries, each up to its number of
 * rounds, learns no more than (eps, *delta) allows, provided that the list was
 * fixed before the first of them. Losses are rounded up to a grid, so that
 * several entries cost a little more than they must; one entry does not.
 */
enum pricer_status pri_release_list_delta(
    const struct pri_release_entry *entries, int32_t count, double eps,
    double *delta, struct pricer_fault *fault);

/*
 * Whether a round of `release` may be charged to an entry of the list of which
 * `used` rounds are gone: same kind and threshold, e0 no larger (noise no
 * smaller), and a round left. Then the claim of the list still holds, also if
 * the choice was made after seeing all releases so far. Proof in ledger.c.
 */
bool pri_release_entry_allows(const struct pri_release_entry *entry,
                              int64_t used, const struct pri_release *release);

/*
 * What of (eps, delta) is left for the list once (eps', delta') of another plan
 * is taken out by basic composition; false, and outputs untouched, where that
 * is more than there is. The split must be fixed together with the list, before
 * its first release: docs/release.md, "Several releases of one budget".
 */
bool pri_release_subtract(const struct pricer_budget *whole,
                          const struct pricer_budget *part, double *eps,
                          double *delta);

/* ---------------------------------------------------------------- expand -- */

enum { PRI_SEED_BYTES = 16 };

/* The cipher and the buffers that an expansion needs. One thread at a time. */
struct pri_expander;
enum pricer_status pri_expander_new(struct pri_expander **expander);
void pri_expander_free(struct pri_expander *expander);

/*
 * The direction V(seed), `count` coordinates, the same bits on every machine:
 * docs/release.md, "Format of the seed". PRICER_MEMORY if the cipher fails.
 */
enum pricer_status pri_expand(struct pri_expander *expander,
                              const unsigned char seed[PRI_SEED_BYTES],
                              int64_t count, double *direction);

/*
 * Length of the normal vector of a seed and its product with `along`, whose
 * entries from `count` to the next multiple of 16 are 0. Every entry is read
 * and no branch depends on one.
 */
enum pricer_status pri_expand_product(struct pri_expander *expander,
                                      const unsigned char seed[PRI_SEED_BYTES],
                                      int64_t count, const double *along,
                                      double *length, double *product);

/* Sum of squares in the order of the format, for vectors padded as above. */
double pri_expand_square(int64_t count, const double *values);

/*
 * Bounds for docs/release.md, in units of 2^-53: how far a computed normal
 * vector may be from the exact one of its words, over its length; and a sum of
 * the format, over the sum of absolute values.
 */
enum { PRI_NORMAL_ERROR = 32, PRI_SUM_ERROR = 50 };

/* ---------------------------------------------------------------- sample -- */

/* Where random bytes come from; false: there are none. */
struct pri_entropy {
    bool (*draw)(void *context, void *bytes, size_t count);
    void *context;
};

/* The kernel, at every draw. Nothing is kept between draws. */
extern const struct pri_entropy pri_entropy_kernel;

/* A release made ready for one vector. */
struct pri_sampler;
enum pricer_status pri_sampler_new(const struct pri_release *release,
                                   struct pri_sampler **sampler,
                                   struct pricer_fault *fault);
void pri_sampler_free(struct pri_sampler *sampler);

/*
 * Take the vector of the next releases; longer ones are clipped to the radius.
 * PRICER_VALUE if an entry is not finite.
 */
enum pricer_status pri_sampler_set(struct pri_sampler *sampler,
                                   const double *data,
                                   struct pricer_fault *fault);

/* Draw until a seed is accepted. `tries` may be NULL. PRICER_FILE if the source
 * fails or does not look random. */
enum pricer_status pri_sampler_draw(struct pri_sampler *sampler,
                                    const struct pri_entropy *source,
                                    unsigned char seed[PRI_SEED_BYTES],
                                    int64_t *tries, struct pricer_fault *fault);

/* Whether a seed's direction is in the cap of the vector. */
enum pricer_status pri_sampler_inside(struct pri_sampler *sampler,
                                      const unsigned char seed[PRI_SEED_BYTES],
                                      bool *inside);

/* The server's side: y = radius V / m, `dimension` numbers. */
enum pricer_status pri_release_decode(const struct pri_release *release,
                                      struct pri_expander *expander,
                                      const unsigned char seed[PRI_SEED_BYTES],
                                      double *value);

/* ------------------------------------------------------------------ coin -- */

/*
 * A uniform 64-bit number below *threshold says yes with probability exp(-e0),
 * e0 on its grid and at most 12, rounded up by less than a part 2^-45.
 */
enum pricer_status pri_coin_threshold(double e0, uint64_t *threshold);

#endif
