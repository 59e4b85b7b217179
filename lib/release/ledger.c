/*
 * What a list of different releases costs together, and which later releases a
 * list that was fixed ahead still allows.
 *
 * Sums of losses are taken on a grid of step h. An outcome of loss l between the
 * grid points a and b = a + h is split into two outcomes, of losses a and b,
 * with the same probabilities together under both hypotheses: the part
 *
 *     (1 - e^(a-l)) / (1 - e^-h)
 *
 * goes to b. Merging the two gives the outcome back, so whoever sees the split
 * ones knows at least as much: claims about those hold for the real ones. What is
 * above the grid counts as seen in the clear, what is below is lifted to its
 * first point. All numbers are positive; relative errors add up to less than
 * 1e-8, which is added to delta.
 *
 * Later plans. Claim: if the list was fixed before the first release, then the
 * guarantee of the list holds for any sequence of releases that
 * pri_release_entry_allows() allows, also where each was chosen, or left out,
 * after seeing all before. Proof: a release of the same threshold t and a
 * smaller e0 is a mixture of the listed one and of a uniform direction, with
 * weights that depend on t and both e0 alone: a post-processing of the listed
 * release that needs no data. (Its charge is no larger either: both parts of it
 * fall with e0.) So is a Gaussian with more noise, and so is silence. The list
 * itself is a composition of mechanisms that are fixed while data may be chosen
 * adaptively, to which the dominating pairs of docs/release.md apply, and
 * post-processing of each round, also by a rule that depends on earlier rounds,
 * keeps the guarantee. Choosing t or a larger e0 later is not of this form, and
 * is refused.
 */
#include "release.h"
#include "calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 1 << 14, ENTRIES_MOST = 64 };

#define TINY 1e-30L

/* Probabilities of losses (first + k) h. */
struct law {
    double h;
    int64_t first;
    int32_t count;
    double *mass; /* [count] */
    double above; /* of losses beyond */
};

/* Two neighbouring cells get an outcome of loss l. */
static void put(struct law *law, long double l, long double mass)
{
    long double at = l / law->h, down = floorl(at);
    long double up =
        -expm1l((down - at) * law->h) / -expm1l(-(long double)law->h);
    int64_t k = (int64_t)down - law->first;
    up = fminl(up * (1 + 1e-15L), 1);
    if (k < 0)
        law->mass[0] += (double)mass;
    else if (k + 1 >= law->count)
        law->above += (double)mass;
    else {
        law->mass[k] += (double)(mass * (1 - up));
        law->mass[k + 1] += (double)(mass * up);
    }
}

/* P(-n) = P(n) (down / up)^n. O(rounds). */
static void add_sphere(const struct pri_release_loss *loss, struct law *law)
{
    struct pri_signs signs = pri_signs_first(loss);
    long double ratio = logl(loss->down) - logl(loss->up);
    for (int64_t n = loss->rounds; n >= 0; n--) {
        if (n < loss->rounds)
            pri_signs_next(loss, &signs);
        long double l = (long double)n * loss->e0;
        long double mass = expl(logl(signs.now) + signs.log_scale);
        put(law, l, mass);
        if (n > 0)
            put(law, -l, mass * expl(ratio * (long double)n));
    }
}

/* P(x < Z <= y) of a standard normal, from the tail that is small. */
static long double between(long double x, long double y)
{
    long double sign = x + y > 0 ? 1 : -1;
    return fabsl(erfcl(sign * x * M_SQRT1_2l) - erfcl(sign * y * M_SQRT1_2l)) /
           2;
}

/* A Gaussian of ratio mu: its loss is N(mu^2/2, mu^2), under the other
 * hypothesis N(-mu^2/2, mu^2). A cell is split as its outcomes are. */
static void add_gaussian(long double mu, struct law *law)
{
    long double h = law->h, half = mu * mu / 2;
    for (int32_t k = 0; k + 1 < law->count; k++) {
        long double a = (long double)(law->first + k) * h;
        long double p = between((a - half) / mu, (a + h - half) / mu);
        long double q = between((a + half) / mu, (a + h + half) / mu);
        long double up = (p - expl(a) * q) / -expm1l(-h);
        up = fminl(fmaxl(up * (1 + 1e-9L), 0), p);
        law->mass[k] += (double)(p - up);
        law->mass[k + 1] += (double)up;
    }
    long double low = (long double)law->first * h;
    long double high = (long double)(law->first + law->count - 1) * h;
    law->mass[0] += (double)(erfcl((half - low) / mu * M_SQRT1_2l) / 2);
    law->above += (double)(erfcl((high - half) / mu * M_SQRT1_2l) / 2);
}

/* How far the loss of an entry goes but for a probability of TINY. */
static long double reach(const struct pri_release_entry *entry)
{
    long double rounds = (long double)entry->rounds,
                far = sqrtl(-2 * logl(TINY));
    if (entry->kind == PRI_RELEASE_GAUSSIAN) {
        long double mu = entry->ratio * sqrtl(rounds);
        return mu * mu / 2 + far * mu;
    }
    /* Hoeffding about a mean of at most e0 tanh(e0 / 2) a round. */
    long double e0 = entry->e0;
    return fminl(rounds * e0,
                 rounds * e0 * tanhl(e0 / 2) + far * e0 * sqrtl(rounds));
}

static enum pricer_status make_law(const struct pri_release_entry *entry,
                                   double h, struct law *law, double *charge)
{
    int64_t far = (int64_t)ceill(reach(entry) / h) + 2;
    struct pri_release release;
    struct pri_release_loss loss;
    *law = (struct law){.h = h, .first = -far, .count = (int32_t)(2 * far + 1)};
    law->mass = pri_alloc(law->count, sizeof *law->mass);
    if (law->mass == NULL)
        return PRICER_MEMORY;
    if (entry->kind == PRI_RELEASE_GAUSSIAN) {
        add_gaussian(entry->ratio * sqrtl((long double)entry->rounds), law);
        return PRICER_OK;
    }
    enum pricer_status status = pri_release_sphere(
        entry->dimension, 1, entry->t, entry->e0, &release, NULL);
    if (status != PRICER_OK)
        return status;
    pri_release_loss(&release, entry->rounds, &loss);
    *charge += release.charge * (double)entry->rounds;
    add_sphere(&loss, law);
    return PRICER_OK;
}

/* a <- the law of the sum of both. O(cells^2). */
static enum pricer_status convolve(struct law *a, const struct law *b)
{
    int32_t count = a->count + b->count - 1;
    double *mass = pri_alloc(count, sizeof *mass);
    if (mass == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < a->count; i++)
        for (int32_t j = 0; j < b->count; j++)
            mass[i + j] += a->mass[i] * b->mass[j];
    free(a->mass);
    a->mass = mass;
    a->count = count;
    a->first += b->first;
    a->above += b->above;
    return PRICER_OK;
}

static double delta_of(const struct law *law, long double eps)
{
    long double delta = law->above;
    for (int32_t k = 0; k < law->count; k++) {
        long double l = (long double)(law->first + k) * law->h;
        if (l > eps)
            delta += law->mass[k] * -expm1l(eps - l);
    }
    return pri_round_up(fminl(delta * (1 + 1e-8L) + 1e-28L, 1));
}

/* One entry needs no grid. */
static enum pricer_status one_delta(const struct pri_release_entry *entry,
                                    double eps, double *delta,
                                    struct pricer_fault *fault)
{
    struct pri_release release;
    struct pri_release_loss loss;
    if (entry->kind == PRI_RELEASE_GAUSSIAN) {
        long double mu = entry->ratio * sqrtl((long double)entry->rounds);
        *delta = pri_gaussian_above(eps, mu * (1 + LDBL_EPSILON));
        return PRICER_OK;
    }
    enum pricer_status status = pri_release_sphere(
        entry->dimension, 1, entry->t, entry->e0, &release, fault);
    if (status != PRICER_OK)
        return status;
    pri_release_loss(&release, entry->rounds, &loss);
    *delta = pri_release_delta(&loss, eps);
    return PRICER_OK;
}

static bool is_same(const struct pri_release_entry *a,
                    const struct pri_release_entry *b)
{
    return a->kind == b->kind && a->dimension == b->dimension && a->t == b->t &&
           a->e0 == b->e0 && a->ratio == b->ratio;
}

/* Copy the list with equal releases in one entry; false if one is invalid. */
static bool merge(const struct pri_release_entry *entries, int32_t count,
                  struct pri_release_entry *merged, int32_t *kinds)
{
    *kinds = 0;
    for (int32_t i = 0; i < count; i++) {
        const struct pri_release_entry *e = &entries[i];
        bool sphere = e->kind == PRI_RELEASE_SPHERE;
        int32_t k = 0;
        if (e->rounds < 1 || e->rounds > PRI_RELEASE_ROUNDS ||
            (!sphere && e->kind != PRI_RELEASE_GAUSSIAN) ||
            !(sphere ? e->e0 > 0 && e->e0 <= PRI_RELEASE_E0
                     : e->ratio > 0 && e->ratio < 1e6))
            return false;
        while (k < *kinds && !is_same(&merged[k], e))
            k++;
        if (k == *kinds) {
            merged[(*kinds)++] = *e;
            continue;
        }
        merged[k].rounds += e->rounds;
        if (merged[k].rounds > PRI_RELEASE_ROUNDS)
            return false;
    }
    return true;
}

enum pricer_status pri_release_list_delta(
    const struct pri_release_entry *entries, int32_t count, double eps,
    double *delta, struct pricer_fault *fault)
{
    struct pri_release_entry merged[ENTRIES_MOST];
    struct law sum = {.mass = NULL}, law = {.mass = NULL};
    enum pricer_status status = PRICER_OK;
    long double range = 0;
    double charge = 0;
    int32_t kinds;
    if (count < 1 || count > ENTRIES_MOST || !(eps >= 0) ||
        !merge(entries, count, merged, &kinds))
        return pri_fault(fault, PRICER_VALUE,
                         "the list of releases is out of range");
    if (kinds == 1)
        return one_delta(&merged[0], eps, delta, fault);
    for (int32_t k = 0; k < kinds; k++)
        range += 2 * reach(&merged[k]);
    double h = (double)(range / CELLS);
    for (int32_t k = 0; k < kinds && status == PRICER_OK; k++) {
        status = make_law(&merged[k], h, k == 0 ? &sum : &law, &charge);
        if (k > 0 && status == PRICER_OK)
            status = convolve(&sum, &law);
        free(law.mass);
        law.mass = NULL;
    }
    if (status == PRICER_OK)
        *delta = delta_of(&sum, (long double)eps - charge);
    else
        pri_fault(fault, status, "%s", pricer_status_text(status));
    free(sum.mass);
    return status;
}

bool pri_release_entry_allows(const struct pri_release_entry *entry,
                              int64_t used, const struct pri_release *release)
{
    if (release->kind != entry->kind || used < 0 || used >= entry->rounds)
        return false;
    if (entry->kind == PRI_RELEASE_GAUSSIAN)
        return release->noise * entry->ratio >= 2 * release->radius;
    return release->dimension == entry->dimension && release->t == entry->t &&
           release->e0 <= entry->e0;
}

bool pri_release_subtract(const struct pricer_budget *whole,
                          const struct pricer_budget *part, double *eps,
                          double *delta)
{
    double left = nextafter(whole->eps - part->eps, -INFINITY);
    double rest = nextafter(whole->delta - part->delta, -INFINITY);
    if (part->delta == 0)
        rest = whole->delta;
    if (!(part->eps >= 0 && part->delta >= 0 && left >= 0 && rest >= 0))
        return false;
    *eps = left;
    *delta = rest;
    return true;
}
