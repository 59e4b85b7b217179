/*
 * From a coupling and a number s to the parts of its generating function: the
 * tables of e^(s mu^2), the change of basis along every edge, and the bounds
 * that go with them. coupling.h has the mathematics.
 */
#include "coupling.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* How often messages are passed along all edges. */
enum { SWEEPS = 4 };

/* ------------------------------------------------------------------ line -- */

/* e^g of one entry at s; *units as pri_entry(). */
static double complex entry_at(const struct pri_coupling *coupling,
                               const struct pri_vertex *vertex, uint32_t x,
                               double complex s, double *units)
{
    double height = vertex->height[x];
    *units = 0;
    if (height == PRI_BARE || height == PRI_SILENT)
        return height == PRI_BARE ? 0 : 1;
    if (coupling->function.dimension == 0)
        return cexp(pri_mean_place(&coupling->function, s) * height);
    return pri_entry(&coupling->function, vertex->signal, vertex->own, height,
                     s, vertex->bits + 2, units);
}

/* All tables at s, or the sizes of their entries. */
static void fill_tables(struct pri_coupling *coupling, double complex s,
                        bool sizes)
{
    coupling->units = 0;
    for (int32_t v = 0; v < coupling->vertices; v++) {
        struct pri_vertex *vertex = &coupling->vertex[v];
        for (uint32_t x = 0; x < (uint32_t)1 << vertex->bits; x++) {
            double units;
            double complex value = entry_at(coupling, vertex, x, s, &units);
            vertex->entry[x] = sizes ? cabs(value) : value;
            coupling->units = fmax(coupling->units, units);
        }
    }
}

void pri_coupling_begin(struct pri_coupling *coupling, double s)
{
    coupling->real = s;
    coupling->stride = 0;
    coupling->steps = 0;
    fill_tables(coupling, s, false);
}

void pri_coupling_sizes(struct pri_coupling *coupling, double complex s)
{
    pri_coupling_begin(coupling, creal(s));
    fill_tables(coupling, s, true);
}

void pri_coupling_aim(struct pri_coupling *coupling, double step)
{
    for (int32_t v = 0; v < coupling->vertices; v++) {
        struct pri_vertex *vertex = &coupling->vertex[v];
        for (uint32_t x = 0; x < (uint32_t)1 << vertex->bits; x++) {
            double angle = step * fmax(vertex->height[x], 0);
            vertex->turn[x] = cos(angle) + sin(angle) * I;
        }
    }
    coupling->stride = step;
}

/* For data e^(s mu^2) takes one multiplication an entry. */
void pri_coupling_advance(struct pri_coupling *coupling)
{
    coupling->steps++;
    if (coupling->function.kernel == PRI_LOSS) {
        double over = coupling->stride * coupling->steps;
        fill_tables(coupling, coupling->real + over * I, false);
        return;
    }
    for (int32_t v = 0; v < coupling->vertices; v++) {
        struct pri_vertex *vertex = &coupling->vertex[v];
        for (uint32_t x = 0; x < (uint32_t)1 << vertex->bits; x++)
            vertex->entry[x] *= vertex->turn[x];
    }
}

/* ----------------------------------------------------------------- parts -- */

static double square(double complex x)
{
    return creal(x) * creal(x) + cimag(x) * cimag(x);
}

/* G_v / scale, averaged over the bits without edges, into `work`. */
static void average_vertex(struct pri_coupling *coupling,
                           const struct pri_vertex *vertex)
{
    double complex *work = coupling->work;
    double seen = vertex->seen / vertex->scale;
    double not_seen = vertex->unseen / vertex->scale;
    for (uint32_t x = 0; x < (uint32_t)1 << vertex->bits; x++)
        work[x] = not_seen + seen * vertex->entry[x];
    for (int32_t k = vertex->bits - 1; k >= vertex->degree; k--) {
        uint32_t half = (uint32_t)1 << k;
        double up = vertex->bit[k].chance, down = vertex->bit[k].absent;
        for (uint32_t x = 0; x < half; x++)
            work[x] = down * work[x] + up * work[x + half];
    }
}

static struct pri_end *end_of(const struct pri_coupling *coupling,
                              const struct pri_vertex *vertex, int32_t k)
{
    const struct pri_bit *bit = &vertex->bit[k];
    return &coupling->edge[bit->edge].end[bit->end];
}

/* T_v, or the same with absolute values, from `work`: one bit after the other
 * from its two values to the two parts of its edge. Returns the norm. */
static double change_basis(const struct pri_coupling *coupling,
                           const struct pri_vertex *vertex, bool absolute,
                           double complex *a)
{
    uint32_t size = (uint32_t)1 << vertex->degree;
    double sum = 0;
    memcpy(a, coupling->work, size * sizeof *a);
    for (int32_t k = 0; k < vertex->degree; k++) {
        const struct pri_end *end = end_of(coupling, vertex, k);
        double by[] = {end->even[0], end->even[1], end->odd[0], end->odd[1]};
        uint32_t half = (uint32_t)1 << k;
        for (int j = 0; j < 4 && absolute; j++)
            by[j] = fabs(by[j]);
        for (uint32_t x = 0; x < size; x += 2 * half)
            for (uint32_t y = x; y < x + half; y++) {
                double complex zero = a[y], one = a[y + half];
                a[y] = by[0] * zero + by[1] * one;
                a[y + half] = by[2] * zero + by[3] * one;
            }
    }
    for (uint32_t x = 0; x < size; x++)
        sum += square(a[x]);
    return sqrt(sum * PRI_SLACK) * PRI_SLACK;
}

/* The parts where s is now; at a real s also what bounds the rounding. */
double pri_coupling_parts(struct pri_coupling *coupling)
{
    double log_bound = (double)coupling->log_scale;
    for (int32_t v = 0; v < coupling->vertices; v++) {
        struct pri_vertex *vertex = &coupling->vertex[v];
        average_vertex(coupling, vertex);
        if (coupling->steps == 0)
            vertex->plain =
                change_basis(coupling, vertex, true, coupling->spare);
        vertex->now = change_basis(coupling, vertex, false, vertex->part);
        if (coupling->steps == 0)
            vertex->norm = vertex->now;
        log_bound += log(vertex->now);
    }
    return log_bound;
}

/* Tables, the change of basis and the sum: docs/mathematics.md, Rounding. */
double pri_coupling_rounding(const struct pri_coupling *coupling)
{
    double sum = 0, product = 1;
    double s = cabs(pri_mean_place(&coupling->function,
                                   coupling->real +
                                       coupling->stride * coupling->steps * I));
    for (int32_t v = 0; v < coupling->vertices; v++) {
        const struct pri_vertex *vertex = &coupling->vertex[v];
        double norm = fmax(vertex->now, vertex->norm);
        double entry = (vertex->bits + 4) * (s * coupling->highest + 2) +
                       4 * coupling->steps + 3 * vertex->bits + coupling->units;
        double basis = 8 * vertex->degree;
        double terms = 4 * (double)((uint32_t)1 << vertex->before) + 8;
        product *= norm;
        sum += entry + terms + basis * vertex->plain / norm;
    }
    return 2 * DBL_EPSILON * sum * product;
}

/* -------------------------------------------------------------- messages -- */

/* The two parts of an edge, from the messages of its ends. */
static void set_parts(struct pri_edge *edge)
{
    struct pri_end *one = &edge->end[0], *two = &edge->end[1];
    double *a = one->message, *b = two->message;
    double joint[2][2];
    double covariance = pri_cells(one->chance, two->chance, edge->joint, joint);
    double right[2], left[2];
    double all = 0;
    for (int try = 0; try < 2 && !(all > 1e-200); try++) {
        if (try > 0) /* messages that exclude each other */
            a[0] = a[1] = b[0] = b[1] = 1;
        for (int x = 0; x < 2; x++) {
            right[x] = joint[x][0] * b[0] + joint[x][1] * b[1];
            left[x] = a[0] * joint[0][x] + a[1] * joint[1][x];
        }
        all = a[0] * right[0] + a[1] * right[1];
    }
    double root = sqrt(all), odd = sqrt(fabs(covariance) / all);
    double sign = covariance < 0 ? -odd : odd;
    for (int x = 0; x < 2; x++) {
        one->even[x] = right[x] / root;
        two->even[x] = left[x] / root;
        one->odd[x] = (x == 0 ? -a[1] : a[0]) * sign;
        two->odd[x] = (x == 0 ? -b[1] : b[0]) * odd;
    }
}

/* What a vertex says about one of its bits: the average over all others, in
 * `work`, relative to the mean over the bit. */
static void pass_message(struct pri_coupling *coupling,
                         const struct pri_vertex *vertex, int32_t bit)
{
    double complex *a = coupling->spare;
    struct pri_end *to = end_of(coupling, vertex, bit);
    memcpy(a, coupling->work, sizeof *a << vertex->degree);
    for (int32_t k = vertex->degree - 1; k > bit; k--) {
        const double *even = end_of(coupling, vertex, k)->even;
        uint32_t half = (uint32_t)1 << k;
        for (uint32_t x = 0; x < half; x++)
            a[x] = even[0] * a[x] + even[1] * a[x + half];
    }
    for (int32_t k = 0; k < bit; k++) {
        const double *even = end_of(coupling, vertex, k)->even;
        for (uint32_t x = 0; x < (uint32_t)1 << (bit - k); x++)
            a[x] = even[0] * a[2 * x] + even[1] * a[2 * x + 1];
    }
    /* Any message will do: 1 where there is nothing to say. */
    double mean = (1 - to->chance) * creal(a[0]) + to->chance * creal(a[1]);
    for (int x = 0; x < 2; x++)
        to->message[x] = mean > 1e-200 ? creal(a[x]) / mean : 1;
}

void pri_coupling_balance(struct pri_coupling *coupling)
{
    /* Messages of 1 all over: the bits are drawn independently, and the odd
     * parts are differences. */
    coupling->log_scale = 0;
    for (int32_t k = 0; k < coupling->edges; k++) {
        struct pri_end *end = coupling->edge[k].end;
        for (int x = 0; x < 2; x++)
            end[0].message[x] = end[1].message[x] = 1;
        set_parts(&coupling->edge[k]);
    }
    for (int32_t v = 0; v < coupling->vertices; v++)
        coupling->vertex[v].scale = 1;
    for (int32_t sweep = 0; sweep < SWEEPS; sweep++)
        for (int32_t v = 0; v < coupling->vertices; v++) {
            const struct pri_vertex *vertex = &coupling->vertex[v];
            average_vertex(coupling, vertex);
            for (int32_t k = 0; k < vertex->degree; k++)
                pass_message(coupling, vertex, k);
            for (int32_t k = 0; k < vertex->degree; k++)
                set_parts(&coupling->edge[vertex->bit[k].edge]);
        }
    pri_coupling_parts(coupling);
    for (int32_t v = 0; v < coupling->vertices; v++) {
        coupling->vertex[v].scale =
            fmax(creal(coupling->vertex[v].part[0]), 1e-290);
        coupling->log_scale += logl(coupling->vertex[v].scale);
    }
}

/* ------------------------------------------------------------------ rest -- */

/* Coefficients of a polynomial in the number of edges that cross a cut. */
struct crossing {
    int32_t degree;
    double at[PRI_CUT_MOST + 1];
};

static void multiply(struct crossing *product, const double *factor,
                     int32_t degree)
{
    for (int32_t k = product->degree + degree; k >= 0; k--) {
        double sum = 0;
        for (int32_t j = 0; j <= degree && j <= k; j++)
            if (k - j <= product->degree)
                sum += factor[j] * product->at[k - j];
        product->at[k] = sum;
    }
    product->degree += degree;
}

/* How many bits of a vertex lead to vertices up to `cut`: the first ones. */
static int32_t early_bits(const struct pri_coupling *coupling,
                          const struct pri_vertex *vertex, int32_t cut)
{
    int32_t early = 0;
    for (; early < vertex->degree; early++) {
        const struct pri_bit *bit = &vertex->bit[early];
        if (coupling->edge[bit->edge].end[1 - bit->end].vertex > cut)
            break;
    }
    return early;
}

void pri_coupling_rest(const struct pri_coupling *coupling, double *rest)
{
    struct crossing side[2];
    for (int32_t depth = 0; depth <= PRI_DEPTH_MOST; depth++)
        rest[depth] = 0;
    for (int32_t cut = 0; cut + 1 < coupling->vertices; cut++) {
        for (int s = 0; s < 2; s++)
            side[s] = (struct crossing){.degree = 0, .at = {1}};
        for (int32_t v = 0; v < coupling->vertices; v++) {
            const struct pri_vertex *vertex = &coupling->vertex[v];
            bool absorbed = v <= cut;
            int32_t early = early_bits(coupling, vertex, cut);
            double n[PRI_BITS_MOST + 1] = {0}; /* n_v */
            uint32_t mask =
                absorbed ? ~(uint32_t)0 << early : ((uint32_t)1 << early) - 1;
            for (uint32_t x = 0; x < (uint32_t)1 << vertex->degree; x++)
                n[__builtin_popcount(x & mask)] += square(vertex->part[x]);
            multiply(&side[absorbed], n,
                     absorbed ? vertex->degree - early : early);
        }
        for (int32_t k = 1; k <= side[0].degree; k++) {
            double more = sqrt(side[0].at[k] * side[1].at[k]) * PRI_SLACK;
            for (int32_t depth = 0; depth < k && depth <= PRI_DEPTH_MOST;
                 depth++)
                rest[depth] += more;
        }
    }
}
