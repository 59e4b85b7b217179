/*
 * Draw a release: a seed whose direction follows PrivUnit's law exactly as far
 * as directions of seeds are uniform.
 *
 * A try is a coin of probability exp(-e0) and a uniform seed; the seed is
 * accepted if the coin says so or its direction is in the cap. Then
 *
 *     P(accepted seed = s) = 2^-128 (s in the cap ? 1 : exp(-e0)) / A,
 *     A = q + (1 - q) exp(-e0),
 *
 * and the number of tries is geometric with parameter A, independent of the
 * accepted seed: every try has the same chances, whatever came before. It says
 * nothing of x but through the tiny differences in A that are charged. For the
 * same reason a try always draws its coin, always evaluates the whole predicate,
 * and combines the two without a branch: time and the number of random bytes
 * must not show on which side an accepted seed was.
 *
 * Random bytes come from the kernel, for some tries at a time and within one
 * call: a copy of the process, of a fork or a snapshot, would repeat the release
 * of the same data or draw anew.
 */
#include "release.h"

#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    PAD = 16,   /* vectors are padded to a multiple of this */
    BATCH = 32, /* tries whose bytes are drawn together, at most */
    COIN_BYTES = 8,
    TRY_BYTES = COIN_BYTES + PRI_SEED_BYTES,
};

struct pri_sampler {
    struct pri_release release;
    struct pri_expander *expander;
    uint64_t coin; /* below this one is yes */
    int64_t most;  /* tries: more happen with probability e^-44 */
    int64_t batch; /* tries whose bytes are drawn together */
    bool set;
    double *along; /* u, padded */
};

static bool draw_kernel(void *context, void *bytes, size_t count)
{
    unsigned char *to = bytes;
    (void)context;
    while (count > 0) {
        ssize_t some = getrandom(to, count, 0);
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            return false;
        to += some;
        count -= (size_t)some;
    }
    return true;
}

const struct pri_entropy pri_entropy_kernel = {draw_kernel, NULL};

void pri_sampler_free(struct pri_sampler *sampler)
{
    if (sampler == NULL)
        return;
    if (sampler->along != NULL) /* the data */
        sodium_memzero(sampler->along,
                       (size_t)(sampler->release.dimension + 1) *
                           sizeof *sampler->along);
    free(sampler->along);
    pri_expander_free(sampler->expander);
    free(sampler);
}

/* Tries to draw bytes for at a time, where each is accepted with probability
 * `all`: the kernel makes blocks of 64 bytes, and a call takes as long as two more
 * of them. */
static int64_t best_batch(double all)
{
    double least = INFINITY, missed = 1;
    int64_t best = 1;
    for (int64_t batch = 1; batch <= BATCH; batch++) {
        missed *= 1 - all;
        double cost = 2 + ceil((double)batch * TRY_BYTES / 64);
        if (cost / (1 - missed) < least) {
            least = cost / (1 - missed);
            best = batch;
        }
    }
    return best;
}

enum pricer_status pri_sampler_new(const struct pri_release *release,
                                   struct pri_sampler **sampler,
                                   struct pricer_fault *fault)
{
    struct pri_sampler *made = pri_alloc(1, sizeof *made);
    if (release->kind != PRI_RELEASE_SPHERE) {
        free(made);
        return pri_fault(fault, PRICER_VALUE,
                         "only sphere releases are drawn as seeds");
    }
    int64_t padded = (release->dimension + 1 + PAD - 1) / PAD * PAD;
    double all = release->q + (1 - release->q) * exp(-release->e0);
    if (made == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    made->release = *release;
    made->along = pri_alloc(padded, sizeof *made->along);
    made->most = (int64_t)ceil(44 / -log1p(-all));
    made->batch = best_batch(all);
    if (made->along == NULL || pri_expander_new(&made->expander) != PRICER_OK ||
        pri_coin_threshold(release->e0, &made->coin) != PRICER_OK) {
        pri_sampler_free(made);
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    }
    *sampler = made;
    return PRICER_OK;
}

/*
 * u = (x / max(R, |x|), sqrt(1 - that squared)). Dividing by the largest entry
 * first keeps squares in range. Entries are rounded to a multiple of 2^-52:
 * processors take longer for numbers near the end of their range, and how long a
 * try takes must not depend on x.
 */
enum pricer_status pri_sampler_set(struct pri_sampler *sampler,
                                   const double *data,
                                   struct pricer_fault *fault)
{
    int64_t d = sampler->release.dimension;
    double radius = sampler->release.radius, largest = radius;
    double *along = sampler->along;
    for (int64_t k = 0; k < d; k++) {
        if (!isfinite(data[k]))
            return pri_fault(fault, PRICER_VALUE,
                             "entry %lld of the data is not a finite number",
                             (long long)k);
        largest = fmax(largest, fabs(data[k]));
    }
    for (int64_t k = 0; k < d; k++)
        along[k] = data[k] / largest;
    along[d] = 0;
    double length =
        fmax(sqrt(pri_expand_square(d + 1, along)), radius / largest);
    for (int64_t k = 0; k < d; k++) {
        double shifted = along[k] / length + 1.5;
        along[k] = shifted - 1.5;
    }
    along[d] = sqrt(fmax(0, 1 - pri_expand_square(d + 1, along)));
    sampler->set = true;
    return PRICER_OK;
}

enum pricer_status pri_sampler_inside(struct pri_sampler *sampler,
                                      const unsigned char seed[PRI_SEED_BYTES],
                                      bool *inside)
{
    double length, product;
    enum pricer_status status = pri_expand_product(
        sampler->expander, seed, sampler->release.dimension + 1, sampler->along,
        &length, &product);
    if (status == PRICER_OK)
        *inside = product > sampler->release.t * length;
    return status;
}

/* One try on TRY_BYTES random bytes: the coin's, then the seed. */
static enum pricer_status attempt(struct pri_sampler *sampler,
                                  const unsigned char *bytes, bool *accepted)
{
    uint64_t coin;
    bool inside = false;
    memcpy(&coin, bytes, sizeof coin);
    enum pricer_status status =
        pri_sampler_inside(sampler, bytes + COIN_BYTES, &inside);
    if (status == PRICER_OK)
        *accepted = (int)(coin < sampler->coin) | (int)inside;
    return status;
}

enum pricer_status pri_sampler_draw(struct pri_sampler *sampler,
                                    const struct pri_entropy *source,
                                    unsigned char seed[PRI_SEED_BYTES],
                                    int64_t *tries, struct pricer_fault *fault)
{
    unsigned char bytes[BATCH * TRY_BYTES];
    size_t size = (size_t)sampler->batch * TRY_BYTES;
    enum pricer_status status = PRICER_OK;
    bool accepted = false;
    int64_t count = 0;
    if (!sampler->set)
        return pri_fault(fault, PRICER_VALUE, "there is no data to release");
    while (!accepted && status == PRICER_OK && count < sampler->most) {
        if (!source->draw(source->context, bytes, size))
            status = PRICER_FILE;
        for (int64_t k = 0; k < sampler->batch && count < sampler->most &&
                            !accepted && status == PRICER_OK;
             k++) {
            status = attempt(sampler, bytes + k * TRY_BYTES, &accepted);
            count++;
            if (accepted)
                memcpy(seed, bytes + k * TRY_BYTES + COIN_BYTES,
                       PRI_SEED_BYTES);
        }
    }
    sodium_memzero(bytes, size);
    if (status == PRICER_OK && !accepted)
        status = PRICER_FILE;
    if (status != PRICER_OK)
        return pri_fault(fault, status, "%s",
                         status == PRICER_FILE
                             ? "there are no good random numbers"
                             : pricer_status_text(status));
    if (tries != NULL)
        *tries = count;
    return PRICER_OK;
}

enum pricer_status pri_release_decode(const struct pri_release *release,
                                      struct pri_expander *expander,
                                      const unsigned char seed[PRI_SEED_BYTES],
                                      double *value)
{
    int64_t d = release->dimension;
    double *direction = pri_alloc(d + 1, sizeof *direction);
    double factor = release->radius / release->m;
    if (direction == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = pri_expand(expander, seed, d + 1, direction);
    for (int64_t k = 0; status == PRICER_OK && k < d; k++)
        value[k] = direction[k] * factor;
    free(direction);
    return status;
}
