/*
 * What a ledger lets out, against budgets, by arithmetic of this file alone: the
 * losses of all releases are convolved atom by atom, sums are one Gaussian on top.
 * Random plans, servers, rounds, restarts and trust files; and whoever chooses
 * plans after seeing releases, with the best choices that there are.
 *
 * Only dimensions 1 and 2 are used: caps of a circle and of the sphere in space
 * have shares that can be written down.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "fleet/ledger_release.h"
#include "fleet/trust_file.h"

static const char *const servers[] = {
    "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
    "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"};
static const char peer[] = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";

/* ------------------------------------------------------------------ laws -- */

/* Probability of a loss of +e0; -e0 has p exp(-e0), and the rest is 0. */
static double up_of(int64_t dimension, double t, double e0)
{
    double q = dimension == 2 ? (1 - t) / 2 : acos(t) / M_PI;
    return q / (q + (1 - q) * exp(-e0));
}

/* Atoms of the law of the sum of losses. */
struct law {
    int count;
    double loss[20000], mass[20000];
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One more round of a sphere release. Equal losses are merged. */
static void convolve(struct law *law, int64_t dimension, double t, double e0)
{
    static double pairs[60000][2];
    double up = up_of(dimension, t, e0), down = up * exp(-e0);
    int count = 0;
    assert_true(3 * law->count <= 60000);
    for (int k = 0; k < law->count; k++)
        for (int sign = -1; sign <= 1; sign++) {
            double p = sign > 0 ? up : sign < 0 ? down : 1 - up - down;
            pairs[count][0] = law->loss[k] + sign * e0;
            pairs[count++][1] = law->mass[k] * p;
        }
    qsort(pairs, (size_t)count, sizeof *pairs, compare);
    law->count = 0;
    for (int k = 0; k < count; k++) {
        int last = law->count - 1;
        if (last >= 0 && pairs[k][0] - law->loss[last] < 1e-10) {
            law->mass[last] += pairs[k][1];
            continue;
        }
        assert_true(law->count < 20000);
        law->loss[law->count] = pairs[k][0];
        law->mass[law->count++] = pairs[k][1];
    }
}

static double normal(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

/* delta(eps) of the atoms and a Gaussian of this ratio together. */
static double delta_of(const struct law *law, double mu, double eps)
{
    double delta = 0;
    for (int k = 0; k < law->count; k++) {
        double rest = eps - law->loss[k];
        double one = mu == 0 ? fmax(0, -expm1(rest))
                             : normal(mu / 2 - rest / mu) -
                                   exp(rest) * normal(-mu / 2 - rest / mu);
        delta += law->mass[k] * one;
    }
    return delta;
}

/* ---------------------------------------------------------------- random -- */

static int64_t pick(uint64_t *seed, int64_t count)
{
    return (int64_t)(test_random(seed) % (uint64_t)count);
}

static struct ledger_terms plan(enum pri_release_kind kind, int64_t dimension,
                                double eps, double delta, int64_t rounds)
{
    struct pri_release release;
    struct pri_release_wish wish = {kind, dimension, 1, eps, delta, rounds, 0};
    assert_int_equal(pri_release_for_budget(&wish, &release, NULL), PRICER_OK);
    return (struct ledger_terms){.kind = release.kind,
                                 .dimension = dimension,
                                 .radius = 1,
                                 .t = release.t,
                                 .e0 = release.e0,
                                 .noise = release.noise,
                                 .rounds = rounds,
                                 .eps = eps,
                                 .delta = delta};
}

/* A plan that fits some of the budget, or is wrong about itself. */
static struct ledger_terms draw_terms(uint64_t *seed, double eps, double delta)
{
    static const double parts[] = {1, 1, .5, .25, .7};
    double part = parts[pick(seed, 5)];
    enum pri_release_kind kind =
        pick(seed, 4) ? PRI_RELEASE_SPHERE : PRI_RELEASE_GAUSSIAN;
    struct ledger_terms terms = plan(kind, 1 + pick(seed, 2), part * eps,
                                     part * delta, 1 + pick(seed, 4));
    switch (pick(seed, 8)) {
    case 0: /* less of the same */
        terms.e0 = floor(terms.e0 * .8 * 0x1p40) * 0x1p-40;
        terms.noise *= 1.2;
        break;
    case 1: /* it says that it costs less than it does */
        terms.eps /= 2;
        break;
    case 2: /* or that it is for fewer rounds */
        terms.rounds = 1;
        break;
    case 3:
        terms.e0 = floor(terms.e0 * 1.3 * 0x1p40) * 0x1p-40;
        terms.noise /= 1.2;
        break;
    default:
        break;
    }
    return terms;
}

/* All that was let out of a node. */
struct world {
    struct law law;
    double square;      /* of Gaussian releases */
    double sums_square; /* of sums to the neighbour */
    int64_t released;
};

static void record(struct world *world, const struct ledger_terms *terms)
{
    double mu = 2 * terms->radius / terms->noise;
    world->released++;
    if (terms->kind == PRI_RELEASE_SPHERE)
        convolve(&world->law, terms->dimension, terms->t, terms->e0);
    else
        world->square += mu * mu;
}

/* One life of a ledger: what is sent keeps the budgets of both rows. */
static int64_t live(uint64_t *seed, int number)
{
    static struct world world;
    struct pricer_fault fault = {""};
    struct trust trust = {0};
    struct ledger *ledger = NULL;
    char name[32], text[512];
    double eps = exp(test_uniform(seed) * 3 - .5);
    double delta = pow(10, -2 - 3 * test_uniform(seed));
    double more = pick(seed, 2) ? 1 + test_uniform(seed) : .8;
    int64_t rounds[2] = {0, 0}, who = 0;
    world = (struct world){.law = {.count = 1, .loss = {0}, .mass = {1}}};
    snprintf(name, sizeof name, "life %d", number);
    snprintf(text, sizeof text,
             "to,eps,delta,total_eps,total_delta,key\n"
             "everyone,%.17g,%.17g,,,\n5,%.17g,%.17g,%.17g,%.17g,%s\n"
             "server,inf,1,,,\n",
             eps, delta, 9 * eps, 9 * delta, eps * more, delta * more, peer);
    assert_int_equal(trust_read(scratch_text("t.csv", text), &trust, &fault),
                     PRICER_OK);
    struct ledger_terms terms = draw_terms(seed, eps, delta);
    for (int step = 0; step < 14; step++) {
        if (step == 0 || pick(seed, 3) == 0) {
            ledger_close(ledger);
            who = pick(seed, 2);
            ledger = NULL;
            assert_int_equal(
                ledger_open(scratch_path(name), servers[who], &ledger, &fault),
                PRICER_OK);
            assert_int_equal(ledger_use_trust(ledger, &trust, 0, NULL),
                             PRICER_OK);
        }
        assert_int_equal(ledger_last(ledger), rounds[who]);
        if (pick(seed, 3) == 0)
            terms = draw_terms(seed, eps, delta);
        int64_t next = ledger_last(ledger) + 1 + pick(seed, 3);
        if (pick(seed, 4) == 0) {
            double mu = .2 * test_uniform(seed);
            struct ledger_charge sums[] = {
                {"all to x", mu, INFINITY, 1, false, true},
                {peer, mu, eps * more, delta * more, false, false}};
            assert_int_equal(ledger_charge(ledger, next, sums, 2, &fault),
                             PRICER_OK);
            world.sums_square += sums[1].allowed ? mu * mu : 0;
            rounds[who] = next;
            continue;
        }
        struct ledger_round round = {.round = next};
        struct ledger_packet packet = {.size = 0};
        if (ledger_release(ledger, &round, &terms, "seed", 4, &packet, NULL) !=
            PRICER_OK)
            continue;
        ledger_packet_free(&packet);
        record(&world, &terms);
        rounds[who] = next;
        /* Once more is not one more. */
        assert_int_equal(
            ledger_release(ledger, &round, &terms, "SEED", 4, &packet, NULL),
            PRICER_OK);
        assert_memory_equal(packet.payload, "seed", 4);
        ledger_packet_free(&packet);
    }
    double all = delta_of(&world.law, sqrt(world.square), eps);
    if (!(all <= delta * (1 + 1e-9)))
        fail_msg("life %d: everyone, %g above %g at eps = %g", number, all,
                 delta, eps);
    all = delta_of(&world.law, sqrt(world.square + world.sums_square),
                   eps * more);
    if (!(all <= delta * more * (1 + 1e-9)) && world.released > 0)
        fail_msg("life %d: the neighbour, %g above %g at eps = %g", number, all,
                 delta * more, eps * more);
    ledger_close(ledger);
    trust_free(&trust);
    return world.released;
}

static void test_random_lives(void **state)
{
    (void)state;
    uint64_t seed = 11;
    int64_t released = 0, lives = 0;
    for (int k = 0; k < 30; k++) {
        int64_t count = live(&seed, k);
        released += count;
        lives += count > 0;
    }
    assert_true(released > 50 && lives > 15);
}

/* -------------------------------------------------------------- adaptive -- */

enum { CHOICES = 3, DEPTH = 4, PATHS = 121 }; /* (3^5 - 1) / 2 nodes */

/*
 * A tree of choices: node 0 is the beginning, node 3 k + 1 + c is choice c after
 * node k. What a ledger allows does not depend on what the releases said.
 */
struct menu {
    struct ledger_terms terms[CHOICES];
    bool allowed[PATHS];
};

/* The largest delta of whoever sees every loss and then chooses. */
static double best(const struct menu *menu, int node, double loss, double eps)
{
    double value = fmax(0, -expm1(eps - loss));
    for (int c = 0; c < CHOICES; c++) {
        int next = CHOICES * node + 1 + c;
        if (next >= PATHS || !menu->allowed[next])
            continue;
        const struct ledger_terms *terms = &menu->terms[c];
        double up = up_of(terms->dimension, terms->t, terms->e0);
        double down = up * exp(-terms->e0);
        value = fmax(value, up * best(menu, next, loss + terms->e0, eps) +
                                down * best(menu, next, loss - terms->e0, eps) +
                                (1 - up - down) * best(menu, next, loss, eps));
    }
    return value;
}

/* The choices that lead to a node, first to last. */
static int find_path(int node, int *path)
{
    int length = 0, reversed[DEPTH];
    for (; node > 0; node = (node - 1) / CHOICES)
        reversed[length++] = (node - 1) % CHOICES;
    for (int k = 0; k < length; k++)
        path[k] = reversed[length - 1 - k];
    return length;
}

/* Whether all releases of a path together keep the budget, by their product. */
static bool product_allows(const struct menu *menu, const int *path, int length,
                           double eps, double delta)
{
    static struct law law;
    law = (struct law){.count = 1, .loss = {0}, .mass = {1}};
    for (int k = 0; k < length; k++) {
        const struct ledger_terms *terms = &menu->terms[path[k]];
        convolve(&law, terms->dimension, terms->t, terms->e0);
    }
    return delta_of(&law, 0, eps) <= delta;
}

/* Whether the ledger allows all of them. */
static bool ledger_allows(const struct menu *menu, const int *path, int length,
                          const struct trust *trust)
{
    struct ledger *ledger = NULL;
    bool allowed = true;
    remove(scratch_path("path"));
    remove(scratch_path("path-wal"));
    remove(scratch_path("path-shm"));
    assert_int_equal(
        ledger_open(scratch_path("path"), servers[0], &ledger, NULL),
        PRICER_OK);
    assert_int_equal(ledger_use_trust(ledger, trust, 0, NULL), PRICER_OK);
    for (int k = 0; k < length && allowed; k++) {
        struct ledger_round round = {.round = k + 1};
        struct ledger_packet packet = {.size = 0};
        allowed = ledger_release(ledger, &round, &menu->terms[path[k]], "seed",
                                 4, &packet, NULL) == PRICER_OK;
        ledger_packet_free(&packet);
    }
    ledger_close(ledger);
    return allowed;
}

/* Thresholds and losses, with as many rounds as keep the budget. */
static void fill_menu(struct menu *menu, double eps, double delta)
{
    static const double releases[CHOICES][2] = {{.8, .9}, {.8, .6}, {.2, 1.2}};
    static const int same[CHOICES][DEPTH] = {{0}, {1, 1, 1, 1}, {2, 2, 2, 2}};
    for (int c = 0; c < CHOICES; c++) {
        int rounds = DEPTH;
        menu->terms[c] = (struct ledger_terms){
            .kind = PRI_RELEASE_SPHERE,
            .dimension = 2,
            .radius = 1,
            .t = releases[c][0],
            .e0 = floor(releases[c][1] * 0x1p40) * 0x1p-40,
            .eps = eps,
            .delta = delta,
        };
        while (!product_allows(menu, same[c], rounds, eps, delta))
            rounds--;
        assert_true(rounds > 0);
        menu->terms[c].rounds = rounds;
    }
}

/*
 * Three releases to choose from, after seeing all before. By the product of what
 * was chosen the budget is broken by more than half; by the ledger it is kept.
 */
static void test_adaptive(void **state)
{
    (void)state;
    const double eps = 2, delta = .0064387;
    struct trust trust = {0};
    struct menu menu = {.allowed = {false}};
    double found[2];
    char text[64];
    snprintf(text, sizeof text, "to,eps,delta\neveryone,%g,%g\n", eps, delta);
    assert_int_equal(trust_read(scratch_text("t.csv", text), &trust, NULL),
                     PRICER_OK);
    fill_menu(&menu, eps, delta);
    for (int by_ledger = 0; by_ledger < 2; by_ledger++) {
        for (int node = 1; node < PATHS; node++) {
            int path[DEPTH], length = find_path(node, path);
            int before = (node - 1) / CHOICES;
            menu.allowed[node] =
                (before == 0 || menu.allowed[before]) &&
                (by_ledger ? ledger_allows(&menu, path, length, &trust)
                           : product_allows(&menu, path, length, eps, delta));
        }
        found[by_ledger] = best(&menu, 0, 0, eps);
    }
    if (!(found[0] > 1.5 * delta && found[1] <= delta && found[1] > 0))
        fail_msg("by the product %g, by the ledger %g, of %g", found[0],
                 found[1], delta);
    trust_free(&trust);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_lives),
        cmocka_unit_test(test_adaptive),
    };
    return cmocka_run_group_tests(tests, scratch_open_memory, scratch_close);
}
