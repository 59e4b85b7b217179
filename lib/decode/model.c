/*
 * From patterns to the X that is hardest for them: g(X), the mean of the least
 * bar that each pattern allows, is concave, and its gradient is E r r'.
 */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 32 }; /* of nodes, where they are too many to fit each */

/* n q_i. */
static double part_of(const struct pri_model *model, int64_t i)
{
    return model->part != NULL ? model->part[i] : 1;
}

void pri_model_complete(struct pri_model *model, double *x)
{
    int64_t n = model->nodes, rank = model->rank;
    double along[PRI_SMALL + 1] = {0}, own = 0;
    model->diagonal = model->own[0];
    for (int64_t c = 0; c < rank; c++)
        model->diagonal += model->shared[c] * model->shared[c];
    for (int64_t i = 0; i < n; i++) {
        double part = part_of(model, i);
        own += part * part * model->own[i];
        for (int64_t c = 0; c < rank; c++)
            along[c] += part * model->shared[i * rank + c];
    }
    model->base = own;
    for (int64_t c = 0; c < rank; c++)
        model->base += along[c] * along[c];
    model->base /= (double)(n * n);
    model->x = x;
    for (int64_t i = 0; n <= PRI_SMALL && i < n; i++)
        for (int64_t l = 0; l < n; l++) {
            double sum = i == l ? model->own[i] : 0;
            for (int64_t c = 0; c < rank; c++)
                sum +=
                    model->shared[i * rank + c] * model->shared[l * rank + c];
            x[i * n + l] = sum;
        }
}

void pri_model_target(const struct pri_model *model, double *target)
{
    int64_t n = model->nodes, rank = model->rank;
    double along[PRI_SMALL + 1] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < rank; c++)
            along[c] += part_of(model, i) * model->shared[i * rank + c];
    for (int64_t i = 0; i < n; i++) {
        double sum = part_of(model, i) * model->own[i];
        for (int64_t c = 0; c < rank; c++)
            sum += model->shared[i * rank + c] * along[c];
        target[i] = sum / (double)n;
    }
}

enum pricer_status pri_judge(const struct pri_court *court,
                             const struct pri_model *model,
                             struct pri_judgement *judgement)
{
    return court->rows->nodes <= PRI_SMALL
               ? pri_judge_small(court, model, judgement)
               : pri_judge_large(court, model, judgement);
}

int64_t pri_pattern_count(int32_t nodes, int64_t asked)
{
    if (asked > 0)
        return asked;
    if (nodes <= PRI_SMALL)
        return nodes <= 12 ? 65536 : 262144;
    int64_t count = 6000000 / nodes / PRI_ROUNDS * PRI_ROUNDS;
    return count < PRI_ROUNDS ? PRI_ROUNDS : count;
}

/* g for the climb. */
struct search {
    const struct pri_court *court;
    const struct pricer_watch *watch;
    int looks;
    int32_t rank;
    double *x, *m, *target;
    double *product, *diagonal; /* room for correct() */
    int32_t *class;             /* [nodes] of alike nodes, or NULL: no two */
    double *change; /* [nodes][nodes] taken off M, or NULL: the control */
};

/* to[l] += sum over four patterns, `n` apart, of share[s] b_s[l]. */
PRI_INLINE void add_four(int64_t i, int64_t n, const double *share,
                         const double *b, double *to)
{
    const double *c = b + n, *d = c + n, *e = d + n;
    for (int64_t l = 0; l <= i; l++)
        to[l] += (share[0] * b[l] + share[1] * c[l]) +
                 (share[2] * d[l] + share[3] * e[l]);
}

/* Row i of the mean of (a b' + b a') / 2, up to its diagonal. */
PRI_CLONES
static void add_row(int64_t i, int64_t n, int64_t count, const double *a,
                    const double *b, double *to)
{
    double part = 1 / (double)(a == b ? count : 2 * count);
    memset(to, 0, (size_t)(i + 1) * sizeof *to);
    int64_t s = 0;
    for (; s + 4 <= count; s += 4) {
        double left[4], right[4];
        for (int e = 0; e < 4; e++) {
            left[e] = a[(s + e) * n + i] * part;
            right[e] = b[(s + e) * n + i] * part;
        }
        add_four(i, n, left, b + s * n, to);
        if (a != b)
            add_four(i, n, right, a + s * n, to);
    }
    for (; s < count; s++)
        for (int64_t l = 0; l <= i; l++)
            to[l] += part * (a[s * n + i] * b[s * n + l] +
                             (a != b ? b[s * n + i] * a[s * n + l] : 0));
}

struct squares {
    int64_t n, count;
    const double *r[2];
    double *m;
};

static void add_rows(void *context, int64_t low, int64_t high)
{
    const struct squares *to = context;
    int64_t n = to->n;
    for (int64_t row = low; row < high; row++) {
        int64_t i = row / 3, k = row % 3;
        add_row(i, n, to->count, to->r[k / 2], to->r[(k + 1) / 2],
                to->m + (k * n + i) * n);
    }
}

void pri_squares(int64_t n, int64_t count, const double *vectors,
                 struct pri_team *team, double *m)
{
    struct squares squares = {n, count, {vectors, vectors + count * n}, m};
    pri_team_share(team, 3 * n, add_rows, &squares);
    for (int64_t k = 0; k < 3; k++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < i; l++)
                m[(k * n + l) * n + i] = m[(k * n + i) * n + l];
}

/* M U and the diagonal of M. */
static void multiply(int64_t n, int64_t rank, const double *m,
                     const double *shared, double *product, double *diagonal)
{
    for (int64_t i = 0; i < n; i++) {
        double *to = product + i * rank;
        memset(to, 0, (size_t)rank * sizeof *to);
        diagonal[i] = m[i * (n + 1)];
        for (int64_t l = 0; l < n; l++)
            for (int64_t c = 0; c < rank; c++)
                to[c] += m[i * n + l] * shared[l * rank + c];
    }
}

/* Take the control off the value, tr (change X), and off its slope. */
static void correct(struct search *search, const double *own,
                    const double *shared, double *value, double *product,
                    double *diagonal)
{
    int64_t n = search->court->rows->nodes, rank = search->rank;
    multiply(n, rank, search->change, shared, search->product,
             search->diagonal);
    for (int64_t i = 0; i < n; i++) {
        *value -= search->diagonal[i] * own[i];
        diagonal[i] -= search->diagonal[i];
        for (int64_t c = 0; c < rank; c++) {
            *value -= search->product[i * rank + c] * shared[i * rank + c];
            product[i * rank + c] -= search->product[i * rank + c];
        }
    }
}

/* Give every node the mean slope of its class: as all of a class start alike
 * they stay alike, and X has two numbers a class. */
static void tie(const struct search *search, double *product, double *diagonal)
{
    int64_t n = search->court->rows->nodes, rank = search->rank;
    for (int64_t c = 0; c <= rank; c++) {
        double sum[CLASSES] = {0}, *slope = c < rank ? product + c : diagonal;
        int64_t held[CLASSES] = {0}, step = c < rank ? rank : 1;
        for (int64_t i = 0; i < n; i++) {
            sum[search->class[i]] += slope[i * step];
            held[search->class[i]]++;
        }
        for (int64_t i = 0; i < n; i++)
            slope[i * step] =
                sum[search->class[i]] / (double)held[search->class[i]];
    }
}

static enum pricer_status value_at(void *context, const double *own,
                                   const double *shared, double *value,
                                   double *product, double *diagonal)
{
    struct search *search = context;
    int64_t n = search->court->rows->nodes, rank = search->rank;
    struct pri_model model = {.nodes = (int32_t)n,
                              .rank = search->rank,
                              .own = own,
                              .shared = shared,
                              .target = search->target,
                              .part = search->court->rows->part,
                              .blend = 1};
    struct pri_judgement judgement = {.m = search->m, .last = true};
    if (search->m == NULL) {
        judgement.product = product;
        judgement.diagonal = diagonal;
    }
    search->looks++;
    if (!pri_tick(search->watch, 1 - 1 / (1 + search->looks / 20.0)))
        return PRICER_STOPPED;
    pri_model_complete(&model, search->x);
    pri_model_target(&model, search->target);
    enum pricer_status status = pri_judge(search->court, &model, &judgement);
    *value = judgement.value;
    if (search->m != NULL)
        multiply(n, rank, search->m + 2 * n * n, shared, product, diagonal);
    if (search->change != NULL)
        correct(search, own, shared, value, product, diagonal);
    if (search->class != NULL)
        tie(search, product, diagonal);
    return status;
}

static void one_correlation(double c, int64_t n, int64_t rank, double *own,
                            double *shared)
{
    memset(shared, 0, (size_t)(n * rank) * sizeof *shared);
    for (int64_t i = 0; i < n; i++) {
        own[i] = 1 - c;
        shared[i * rank] = sqrt(c);
    }
}

/* The best of a few single correlations; `product` and `diagonal` are room. */
static enum pricer_status begin(struct search *search, double *own,
                                double *shared, double *product,
                                double *diagonal)
{
    static const double choice[] = {.999, .95, .8, .5, .2, .05, .01};
    int64_t n = search->court->rows->nodes;
    enum pricer_status status = PRICER_OK;
    double best = -1, at = .8;
    for (int k = 0; k < 7 && status == PRICER_OK; k++) {
        double value = 0;
        one_correlation(choice[k], n, search->rank, own, shared);
        status = value_at(search, own, shared, &value, product, diagonal);
        if (value <= best)
            break;
        best = value;
        at = choice[k];
    }
    one_correlation(at, n, search->rank, own, shared);
    return status;
}

/* Find the control where the climb begins; it stays, so that what is climbed is
 * one function. */
static enum pricer_status find_control(struct search *search,
                                       const double *exact, const double *own,
                                       const double *shared)
{
    const struct pri_court *court = search->court;
    int64_t n = court->rows->nodes, count = court->patterns->count;
    bool small = search->m != NULL;
    double *m = pri_alloc(3 * n * n, sizeof *m);
    double *ratio = pri_alloc(n, sizeof *ratio);
    double *vectors = pri_alloc(small ? 0 : 2 * count * n, sizeof *vectors);
    search->change = pri_alloc(n * n, sizeof *search->change);
    enum pricer_status status = PRICER_MEMORY;
    if (!m || !ratio || !vectors || !search->change)
        goto done;
    struct pri_model model = {.nodes = (int32_t)n,
                              .rank = search->rank,
                              .own = own,
                              .shared = shared,
                              .target = search->target,
                              .part = search->court->rows->part,
                              .blend = 1};
    struct pri_judgement judgement = {.m = small ? m : NULL,
                                      .vectors = small ? NULL : vectors};
    pri_model_complete(&model, search->x);
    pri_model_target(&model, search->target);
    status = pri_judge(court, &model, &judgement);
    if (!small)
        pri_squares(n, count, vectors, court->team, m);
    pri_control(n, exact, m, ratio, search->change);
    for (int64_t k = 0; k < n * n; k++)
        search->change[k] *= ratio[k / n] * ratio[k % n];
done:
    free(m);
    free(ratio);
    free(vectors);
    return status;
}

/* One climb; `fresh`: from the best single correlation, else from where X is.
 */
static enum pricer_status climb(struct search *search, const double *exact,
                                bool fresh, double *own, double *shared)
{
    const struct pri_patterns *patterns = search->court->patterns;
    int64_t n = search->court->rows->nodes;
    double *product = pri_alloc(n * search->rank, sizeof *product);
    double *diagonal = pri_alloc(n, sizeof *diagonal), value;
    enum pricer_status status = PRICER_MEMORY;
    if (product != NULL && diagonal != NULL)
        status =
            fresh ? begin(search, own, shared, product, diagonal) : PRICER_OK;
    free(search->change);
    search->change = NULL;
    if (status == PRICER_OK && exact != NULL && !patterns->exact)
        status = find_control(search, exact, own, shared);
    struct pri_concave concave = {value_at,     search, (int32_t)n,
                                  search->rank, 1e-7,   fresh ? 80 : 28};
    if (n > PRI_SMALL) {
        concave.tolerance = 1e-4;
        concave.limit = 24;
    } else if (patterns->exact) {
        concave.tolerance = 1e-13;
        concave.limit = patterns->count <= 4096 ? 1000 : 150;
    }
    if (status == PRICER_OK)
        status = pri_ascend(&concave, own, shared, &value);
    free(product);
    free(diagonal);
    return status;
}

/* First on few patterns, where a look is cheap, then on all of them. */
static enum pricer_status climb_twice(struct search *search,
                                      const double *exact, double *own,
                                      double *shared)
{
    enum { FEW = 4096 };
    const struct pri_court *court = search->court;
    const struct pri_patterns *all = court->patterns;
    if (court->rows->nodes > PRI_SMALL || all->exact || all->count < 2 * FEW)
        return climb(search, exact, true, own, shared);
    struct pri_patterns few = *all;
    struct pri_court hasty = *court;
    few.count = FEW;
    few.chance = pri_alloc(FEW, sizeof *few.chance);
    if (few.chance == NULL)
        return PRICER_MEMORY;
    for (int t = 0; t < FEW; t++)
        few.chance[t] = 1.0 / FEW;
    hasty.patterns = &few;
    search->court = &hasty;
    enum pricer_status status = climb(search, exact, true, own, shared);
    search->court = court;
    if (status == PRICER_OK)
        status = climb(search, exact, false, own, shared);
    free(few.chance);
    return status;
}

/* A node and the variance of its r under the constant decoder. */
struct member {
    double variance;
    int32_t node;
};

static int by_variance(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    if (left->variance != right->variance)
        return left->variance < right->variance ? -1 : 1;
    return (left->node > right->node) - (left->node < right->node);
}

/*
 * Classes of nodes that fare alike, by how much of their weight is left to
 * chance. Where nodes are as many as patterns, an X with numbers of its own for
 * each node fits nothing but the chance of the patterns.
 */
static bool classify(struct search *search, const double *variance)
{
    int64_t n = search->court->rows->nodes;
    struct member *member = pri_alloc(n, sizeof *member);
    search->class = pri_alloc(n, sizeof *search->class);
    if (member == NULL || search->class == NULL) {
        free(member);
        return false;
    }
    for (int64_t i = 0; i < n; i++)
        member[i] = (struct member){variance[i], (int32_t)i};
    qsort(member, (size_t)n, sizeof *member, by_variance);
    for (int64_t k = 0; k < n; k++)
        search->class[member[k].node] = (int32_t)(k * CLASSES / n);
    free(member);
    return true;
}

static bool search_new(const struct pri_court *court, int32_t rank,
                       const struct pricer_watch *watch, struct search *search)
{
    int64_t n = court->rows->nodes;
    bool small = n <= PRI_SMALL;
    *search = (struct search){.court = court, .watch = watch, .rank = rank};
    search->target = pri_alloc(n, sizeof(double));
    search->x = pri_alloc(small ? n * n : 0, sizeof(double));
    search->m = small ? pri_alloc(3 * n * n, sizeof(double)) : NULL;
    search->product = pri_alloc(n * rank, sizeof(double));
    search->diagonal = pri_alloc(n, sizeof(double));
    return search->target && search->x && (search->m || !small) &&
           search->product && search->diagonal;
}

static void search_free(struct search *search)
{
    free(search->target);
    free(search->x);
    free(search->m);
    free(search->product);
    free(search->diagonal);
    free(search->change);
    free(search->class);
}

enum pricer_status pri_fit(const struct pri_court *court, int32_t rank,
                           const double *exact,
                           const struct pricer_watch *watch, double *own,
                           double *shared)
{
    struct search search;
    enum pricer_status status = PRICER_MEMORY;
    bool whole = court->rows->nodes <= PRI_WHOLE;
    if (search_new(court, rank, watch, &search) &&
        (whole || exact == NULL || classify(&search, exact)))
        status = climb_twice(&search, whole ? exact : NULL, own, shared);
    search_free(&search);
    return status;
}
