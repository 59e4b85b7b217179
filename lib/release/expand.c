/*
 * From a seed of 16 bytes to a direction, the same bits on every machine.
 *
 * The seed is the key of AES-128 in counter mode from counter 0. Of the
 * generators in the libraries that we link this one is the fastest where
 * processors have instructions for AES: a quarter of the time of ChaCha20 or
 * less. (The counters are encrypted block by block, which gives the same bytes:
 * OpenSSL is quicker to change the key of that mode.) The keystream is read as 64-bit words, little-endian, in groups of 16:
 * words l and l + 8 of a group, l < 8, make normals l and l + 8 by Box and
 * Muller's formula,
 *
 *     radius: s = lowest bit, y = (word / 2, rounded down, + 1/2) 2^-64,
 *             r^2 = -2 ln(y) if s = 0, -2 ln(1 - y) if s = 1;
 *     angle:  g = (top 52 bits) 2^-51 - 1, (r cos(pi g / 4), r sin(pi g / 4)),
 *             the first negated if bit 0 is set, exchanged if bit 1 is.
 *
 * Splitting the unit interval in the middle keeps r^2 exact to a few units in
 * the last place at both of its ends. Logarithm, sine and cosine are
 * polynomials; every operation is one of IEEE's + - * / and square root, in the
 * order that is written here, which is part of the format: no library function,
 * no contraction (the build says so), and the same for one lane or eight.
 *
 * Sums are taken over chunks of 512 numbers in 16 lanes, the lanes added in a
 * fixed tree, and the chunks pairwise. A term passes at most 32 + 4 additions
 * within a chunk and 12 between, so the error of a sum is below
 * PRI_SUM_ERROR 2^-53 of the sum of absolute values.
 */
#include "release.h"
#include "random/random.h"

#include <endian.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>

enum {
    LANES = 8,
    GROUP = 2 * LANES, /* numbers that are made together */
    CHUNK = 512,       /* numbers that are summed together */
    LEVELS = 24,       /* of the pairwise sum: 2^24 chunks */
};

struct pri_expander {
    EVP_CIPHER_CTX *cipher;
    int64_t chunk; /* whose counters these are: 128 bits each, big-endian */
    uint64_t counters[CHUNK] __attribute__((aligned(64)));
    uint64_t words[CHUNK] __attribute__((aligned(64)));
    double normals[CHUNK] __attribute__((aligned(64)));
};

typedef double four __attribute__((vector_size(32)));
typedef uint64_t four_words __attribute__((vector_size(32)));
typedef int64_t four_masks __attribute__((vector_size(32)));

#define BITS(x) ((four_words)(x))
#define NUMBERS(x) ((four)(x))

/* a where the mask is set, else b. */
PRI_INLINE four choose(four_masks mask, four a, four b)
{
    return NUMBERS((BITS(a) & (four_words)mask) |
                   (BITS(b) & ~(four_words)mask));
}

PRI_INLINE four load(const double *from)
{
    four x;
    memcpy(&x, from, sizeof x);
    return x;
}

PRI_INLINE void store(double *to, four x)
{
    memcpy(to, &x, sizeof x);
}

PRI_INLINE four_words load_words(const uint64_t *from)
{
    four_words x;
    memcpy(&x, from, sizeof x);
    return x;
}

/* (word / 2 + 1/2) 2^-64, rounded once: its two halves are put behind the
 * leading bits of 2^84 and 2^52, which are then taken away. */
PRI_INLINE four half_interval(four_words word)
{
    four_words number = word >> 1;
    four high = NUMBERS((number >> 32) | 0x4530000000000000u) - 0x1p84;
    four low =
        NUMBERS((number & 0xffffffffu) | 0x4330000000000000u) - (0x1p52 - .5);
    return (high + low) * 0x1p-64;
}

/*
 * r^2 of four words. The argument is 2^e (1 + f) with sqrt(1/2) <= 1 + f <
 * sqrt(2); e = 0 happens only where it is 1 - y, and there f = -y.
 * ln(1 + f) = 2 artanh(f / (2 + f)), z the square of that quotient.
 */
PRI_INLINE four square_radius(four_words word)
{
    const uint64_t root_half = 0x3fe6a09e667f3bcdu;
    four y = half_interval(word);
    four_masks upper = (four_masks)(0 - (word & 1));
    four argument = choose(upper, 1. - y, y);
    four_words offset = BITS(argument) - root_half + (UINT64_C(1024) << 52);
    four_words exponent = offset >> 52; /* e + 1024 */
    four scaled = NUMBERS((offset & 0xfffffffffffffu) + root_half);
    four f = choose((four_masks)(exponent == 1024), -y, scaled - 1.);
    four e = NUMBERS(exponent | 0x4330000000000000u) - (0x1p52 + 1024);
    four s = f / (2. + f), z = s * s;
    four zz = z * z;
    four sum = ((0x1.546a5dad7ecf1p-3 * z + 0x1.7382d90ac879fp-3) * zz +
                (0x1.c71fccea8352bp-3 * z + 0x1.2492462ae4140p-2)) *
                   zz +
               (0x1.9999999b8687fp-2 * z + 0x1.55555555553b8p-1);
    four log = s * 2. + s * (z * sum);
    return (e * 0x1.62e42fefa39efp-1 + log) * -2.;
}

/* cos and sin of the angle of four words. */
PRI_INLINE void circle(four_words word, four *first, four *second)
{
    four g = NUMBERS((word >> 12) | 0x4000000000000000u) - 3.;
    four z = g * g;
    four zz = z * z;
    four sine = ((0x1.e3f38399551bfp-38 * zz +
                  (0x1.50782fda12d96p-22 - z * 0x1.e30071afc3e59p-30)) *
                     zz +
                 (0x1.466bc677587f8p-9 - z * 0x1.32d2cce2e5b19p-15)) *
                    zz +
                (0x1.921fb54442d18p-1 - z * 0x1.4abbce625be41p-4);
    sine = sine * g;
    four cosine = ((0x1.f3dbcea61b1a4p-34 * zz +
                    (0x1.e1f4fb60281f6p-19 - z * 0x1.a6c9c1be9eb49p-26)) *
                       zz +
                   (0x1.03c1f081b0780p-6 - z * 0x1.55d3c7dbfd139p-12)) *
                      zz +
                  (1. - z * 0x1.3bd3cc9be458bp-2);
    four_words a = BITS(cosine) ^ (word << 63), b = BITS(sine);
    four_words exchange = (a ^ b) & (0 - (word >> 1 & 1));
    *first = NUMBERS(a ^ exchange);
    *second = NUMBERS(b ^ exchange);
}

/* The compiler makes one instruction of it, where there is one. */
PRI_INLINE four square_root(four x)
{
    four root;
    for (int l = 0; l < 4; l++)
        root[l] = __builtin_sqrt(x[l]);
    return root;
}

/* Normals of so many groups of words. Two loops, so that a processor overlaps
 * several steps of either. */
PRI_CLONES
static void make_normals(const uint64_t *words, int groups, double *normals)
{
    double radius[CHUNK / 2];
    for (int k = 0; k < groups * GROUP; k += GROUP)
        for (int l = 0; l < LANES; l += 4)
            store(radius + k / 2 + l, square_radius(load_words(words + k + l)));
    for (int k = 0; k < groups * GROUP; k += GROUP)
        for (int l = 0; l < LANES; l += 4) {
            four r = square_root(load(radius + k / 2 + l));
            four first, second;
            circle(load_words(words + k + l + LANES), &first, &second);
            store(normals + k + l, r * first);
            store(normals + k + l + LANES, r * second);
        }
}

/* The sum of 16 lanes: halves upon halves. */
PRI_INLINE double add_lanes(const four lane[4])
{
    four a = lane[0] + lane[2], b = lane[1] + lane[3], c = a + b;
    return (c[0] + c[2]) + (c[1] + c[3]);
}

/* Sum of the products of so many groups. */
PRI_CLONES
static double add_products(const double *a, const double *b, int groups)
{
    four lane[4] = {{0}, {0}, {0}, {0}};
    for (int k = 0; k < groups * GROUP; k += GROUP)
        for (int l = 0; l < 4; l++)
            lane[l] += load(a + k + 4 * l) * load(b + k + 4 * l);
    return add_lanes(lane);
}

/* A pairwise sum of numbers that come one by one: level l holds the sum of 2^l
 * of them where bit l of the count is set. */
struct pairwise {
    double level[LEVELS];
    uint64_t count;
};

static void pairwise_add(struct pairwise *sum, double x)
{
    int level = 0;
    for (uint64_t bits = sum->count; bits & 1; bits >>= 1)
        x = sum->level[level++] + x;
    sum->level[level] = x;
    sum->count++;
}

static double pairwise_total(const struct pairwise *sum)
{
    double total = 0;
    for (int level = 0; sum->count >> level != 0; level++)
        if (sum->count >> level & 1)
            total = sum->level[level] + total;
    return total;
}

static void set_counters(struct pri_expander *expander, int64_t chunk)
{
    uint64_t first = (uint64_t)chunk * (CHUNK / 2);
    if (expander->chunk == chunk)
        return;
    for (int k = 0; k < CHUNK / 2; k++)
        expander->counters[2 * k + 1] = htobe64(first + (uint64_t)k);
    expander->chunk = chunk;
}

enum pricer_status pri_expander_new(struct pri_expander **expander)
{
    static const unsigned char zero[PRI_SEED_BYTES];
    struct pri_expander *made = aligned_alloc(64, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    memset(made, 0, sizeof *made);
    made->chunk = -1;
    set_counters(made, 0);
    made->cipher = EVP_CIPHER_CTX_new();
    if (made->cipher == NULL ||
        EVP_EncryptInit_ex(made->cipher, EVP_aes_128_ecb(), NULL, zero, NULL) !=
            1) {
        pri_expander_free(made);
        return PRICER_MEMORY;
    }
    *expander = made;
    return PRICER_OK;
}

void pri_expander_free(struct pri_expander *expander)
{
    if (expander == NULL)
        return;
    EVP_CIPHER_CTX_free(expander->cipher);
    free(expander);
}

/* Padding stays as it is by default: whole blocks are encrypted at once either
 * way, and OpenSSL is slower to change the key where it is off. */
static bool start(struct pri_expander *expander, const unsigned char *seed)
{
    return EVP_EncryptInit_ex(expander->cipher, NULL, NULL, seed, NULL) == 1;
}

/* Normals `first` to first + CHUNK - 1, or to count - 1 and then 0 to the end
 * of a group. Returns the number of groups, 0 if the cipher fails. */
static int make_chunk(struct pri_expander *expander, int64_t first,
                      int64_t count)
{
    int64_t left = count - first;
    int some = left < CHUNK ? (int)left : CHUNK, done = 0;
    int groups = (some + GROUP - 1) / GROUP;
    int size = groups * GROUP * (int)sizeof(uint64_t);
    set_counters(expander, first / CHUNK);
    if (EVP_EncryptUpdate(expander->cipher, (unsigned char *)expander->words,
                          &done, (const unsigned char *)expander->counters,
                          size) != 1 ||
        done != size)
        return 0;
    for (int k = 0; k < groups * GROUP; k++)
        expander->words[k] = le64toh(expander->words[k]);
    make_normals(expander->words, groups, expander->normals);
    for (int k = some; k < groups * GROUP; k++)
        expander->normals[k] = 0;
    return groups;
}

PRI_CLONES
static void scale(double factor, int64_t count, double *values)
{
    for (int64_t k = 0; k < count; k++)
        values[k] *= factor;
}

enum pricer_status pri_expand(struct pri_expander *expander,
                              const unsigned char seed[PRI_SEED_BYTES],
                              int64_t count, double *direction)
{
    struct pairwise square = {.count = 0};
    double *normals = expander->normals;
    if (!start(expander, seed))
        return PRICER_MEMORY;
    for (int64_t k = 0; k < count; k += CHUNK) {
        int groups = make_chunk(expander, k, count);
        int64_t some = count - k < CHUNK ? count - k : CHUNK;
        if (groups == 0)
            return PRICER_MEMORY;
        pairwise_add(&square, add_products(normals, normals, groups));
        memcpy(direction + k, normals, (size_t)some * sizeof *direction);
    }
    scale(1 / sqrt(pairwise_total(&square)), count, direction);
    return PRICER_OK;
}

enum pricer_status pri_expand_product(struct pri_expander *expander,
                                      const unsigned char seed[PRI_SEED_BYTES],
                                      int64_t count, const double *along,
                                      double *length, double *product)
{
    struct pairwise square = {.count = 0}, sum = {.count = 0};
    double *normals = expander->normals;
    if (!start(expander, seed))
        return PRICER_MEMORY;
    for (int64_t k = 0; k < count; k += CHUNK) {
        int groups = make_chunk(expander, k, count);
        if (groups == 0)
            return PRICER_MEMORY;
        pairwise_add(&square, add_products(normals, normals, groups));
        pairwise_add(&sum, add_products(normals, along + k, groups));
    }
    *length = sqrt(pairwise_total(&square));
    *product = pairwise_total(&sum);
    return PRICER_OK;
}

double pri_expand_square(int64_t count, const double *values)
{
    struct pairwise square = {.count = 0};
    for (int64_t k = 0; k < count; k += CHUNK) {
        int64_t some = count - k < CHUNK ? count - k : CHUNK;
        int groups = (int)((some + GROUP - 1) / GROUP);
        pairwise_add(&square, add_products(values + k, values + k, groups));
    }
    return pairwise_total(&square);
}
