/*
 * Budgets against whoever holds keys: random sequences of rotations,
 * renumberings, changes of the server and of the trust file, restarts and kills,
 * with honest signatures and with those of liars. What every holder of keys has
 * heard is counted here, by another program than the ledger, and compared with
 * the budgets.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "fleet/ledger.h"
#include "fleet/trust_file.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>

enum { ROWS = 4, KEYS = 40, SEQUENCES = 100, STEPS = 24 };

static const double ratio = .8;
static const char servers[2][PRICER_KEY_TEXT] = {"server one", "server two"};

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    return (uint32_t)(test_random(seed) >> 33) % below;
}

/* The most releases that a budget holds. */
static int find_limit(double eps, double delta)
{
    int count = 0;
    while (pricer_gaussian_delta(eps, ratio * sqrt(count + 1.)) <= delta)
        count++;
    return count;
}

/* A node's ledger, its trust file, and what each key has heard. */
struct world {
    uint64_t seed;
    char path[32], names[KEYS][PRICER_KEY_TEXT];
    struct ledger *ledger;
    struct trust_row rows[ROWS + 1]; /* the node itself is 0 */
    struct trust trust;
    int server, count, heard[KEYS], own;
    int64_t round;
    bool signs[KEYS][KEYS]; /* as admitted */
};

/* As a node does with every slice. */
static void read_trust(struct world *world)
{
    assert_int_equal(ledger_use_trust(world->ledger, &world->trust, 0, NULL),
                     PRICER_OK);
}

static void open_world(struct world *world)
{
    struct pricer_fault fault = {""};
    if (ledger_open(scratch_path(world->path), servers[world->server],
                    &world->ledger, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    read_trust(world);
    int64_t last = ledger_last(world->ledger);
    world->round = world->round > last ? world->round : last;
}

static void start_world(struct world *world, const char *kind, int sequence)
{
    *world = (struct world){.seed = (uint64_t)sequence + 1};
    snprintf(world->path, sizeof world->path, "%s%d", kind, sequence);
    for (int k = 0; k < KEYS; k++)
        snprintf(world->names[k], PRICER_KEY_TEXT, "key %d", k);
    for (int r = 0; r <= ROWS; r++)
        world->rows[r] = (struct trust_row){.to = r,
                                            .eps = 50,
                                            .delta = 1e-5,
                                            .total_eps = 9,
                                            .total_delta = 1e-5};
    world->trust = (struct trust){world->rows, ROWS + 1};
    open_world(world);
}

static void restart(struct world *world)
{
    ledger_close(world->ledger);
    open_world(world);
}

static struct ledger_charge charge_for(const struct world *world, int row,
                                       const char *key)
{
    return (struct ledger_charge){.key = key,
                                  .mu = ratio,
                                  .total_eps = world->rows[row].total_eps,
                                  .total_delta = world->rows[row].total_delta};
}

/* Charge a round; one of ten by a process that dies as soon as it is charged. */
static void charge(struct world *world, struct ledger_charge *charges,
                   int32_t count)
{
    world->round++;
    if (draw(&world->seed, 10) != 0) {
        assert_int_equal(
            ledger_charge(world->ledger, world->round, charges, count, NULL),
            PRICER_OK);
        return;
    }
    int ends[2], how;
    bool allowed[ROWS + 1] = {false};
    size_t size = sizeof allowed;
    ledger_close(world->ledger);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        open_world(world);
        if (ledger_charge(world->ledger, world->round, charges, count, NULL))
            _exit(1);
        for (int32_t k = 0; k < count; k++)
            allowed[k] = charges[k].allowed;
        if (write(ends[1], allowed, size) != (ssize_t)size)
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(read(ends[0], allowed, size), size);
    waitpid(child, &how, 0);
    assert_true(WIFSIGNALED(how));
    close(ends[0]);
    close(ends[1]);
    for (int32_t k = 0; k < count; k++)
        charges[k].allowed = allowed[k];
    open_world(world);
}

/* ----------------------------------------------------------------- honest -- */

/* Who has which keys: holder h has first[h], ... in the order of rotation. */
struct holders {
    int keys[ROWS][KEYS], count[ROWS], row[ROWS];
};

static int find_key(const struct holders *all, int h)
{
    return all->keys[h][all->count[h] - 1];
}

/* The trust file names a key of every holder, often not the latest. */
static void name_keys(struct world *world, const struct holders *all)
{
    for (int h = 0; h < ROWS; h++) {
        int k = (int)draw(&world->seed, (uint32_t)all->count[h]);
        strcpy(world->rows[all->row[h]].key, world->names[all->keys[h][k]]);
    }
}

/* Rows get other numbers: the trust file is written anew. */
static void renumber(struct world *world, struct holders *all)
{
    for (int h = ROWS - 1; h > 0; h--) {
        int other = (int)draw(&world->seed, (uint32_t)h + 1);
        int row = all->row[h];
        all->row[h] = all->row[other];
        all->row[other] = row;
    }
    name_keys(world, all);
}

/* A slice from an honest server, and a round with a release to everyone and one
 * of the own part. */
static void run_honest(struct world *world, const struct holders *all)
{
    struct ledger_charge charges[ROWS + 1];
    const char *server = servers[world->server];
    read_trust(world);
    for (int h = 0; h < ROWS; h++) {
        const char *key = world->names[find_key(all, h)];
        const char *old = all->count[h] > 1
                              ? world->names[all->keys[h][all->count[h] - 2]]
                              : NULL;
        struct pricer_fault fault = {""};
        if (ledger_admit(world->ledger, all->row[h],
                         world->rows[all->row[h]].key, old, key, &fault))
            fail_msg("holder %d is refused: %s", h, fault.text);
        charges[h] = charge_for(world, all->row[h], key);
    }
    assert_int_equal(
        ledger_admit(world->ledger, LEDGER_OWN, server, NULL, server, NULL),
        PRICER_OK);
    charges[ROWS] = charge_for(world, 0, server);
    charge(world, charges, ROWS + 1);
    for (int h = 0; h < ROWS; h++)
        world->heard[h] += charges[h].allowed;
    world->own += charges[ROWS].allowed;
}

static void rotate(struct world *world, struct holders *all)
{
    int h = (int)draw(&world->seed, ROWS);
    if (world->count < KEYS)
        all->keys[h][all->count[h]++] = world->count++;
}

/*
 * Nobody lies: every holder hears exactly what its budget holds, neither more
 * nor less, however often keys follow, numbers change, and the node moves to
 * another server; and so does whoever is the server.
 */
static void test_honest(void **state)
{
    (void)state;
    int limit = find_limit(9, 1e-5);
    assert_true(limit > 2 && limit < 20);
    for (int sequence = 0; sequence < SEQUENCES / 4; sequence++) {
        struct world world;
        struct holders all = {.row = {1, 2, 3, 4}};
        start_world(&world, "honest", sequence);
        for (int h = 0; h < ROWS; h++)
            all.keys[h][all.count[h]++] = world.count++;
        name_keys(&world, &all);
        run_honest(&world, &all);
        for (int step = 0; step < STEPS / 2 + limit; step++) {
            uint32_t what = draw(&world.seed, 4);
            if (what == 0)
                renumber(&world, &all);
            if (what == 1)
                world.server = !world.server;
            if (what <= 2)
                restart(&world);
            if (step < STEPS / 2)
                rotate(&world, &all);
            run_honest(&world, &all);
        }
        for (int h = 0; h < ROWS; h++)
            if (world.heard[h] != limit)
                fail_msg("sequence %d: holder %d heard %d of %d", sequence, h,
                         world.heard[h], limit);
        assert_int_equal(world.own, limit);
        ledger_close(world.ledger);
    }
}

/* ----------------------------------------------------------------- hostile -- */

/* Which keys are reached from those that are set, forwards or backwards. */
static void close_over(const struct world *world, bool forwards, bool *set)
{
    for (bool more = true; more;) {
        more = false;
        for (int a = 0; a < KEYS; a++)
            for (int b = 0; b < KEYS; b++) {
                bool edge = forwards ? world->signs[a][b] : world->signs[b][a];
                if (set[a] && edge && !set[b])
                    set[b] = more = true;
            }
    }
}

/* A release to a key was allowed for a row: hold it against every budget. */
static void check_heard(const struct world *world, int sequence, int row, int k)
{
    bool family[KEYS] = {false};
    int heard = 0;
    family[k] = true;
    close_over(world, false, family);
    close_over(world, true, family);
    for (int a = 0; a < KEYS; a++)
        heard += family[a] ? world->heard[a] : 0;
    for (int r = 0; r <= ROWS; r++) {
        bool concerns = r == row;
        for (int a = 0; a < KEYS; a++)
            concerns = concerns || (family[a] && strcmp(world->rows[r].key,
                                                        world->names[a]) == 0);
        int limit = find_limit(world->rows[r].total_eps, 1e-5);
        if (concerns && heard > limit)
            fail_msg("sequence %d: key %d and those it is counted with heard "
                     "%d, and row %d allows %d",
                     sequence, k, heard, r, limit);
    }
}

/* The operator names a key for a row, or none, and gives it another budget. */
static void edit(struct world *world)
{
    static const double budgets[] = {9, 6, 12};
    int r = 1 + (int)draw(&world->seed, ROWS);
    struct trust_row *row = &world->rows[r];
    row->total_eps = budgets[draw(&world->seed, 3)];
    row->key[0] = '\0';
    if (draw(&world->seed, 3) != 0)
        strcpy(row->key, world->names[draw(&world->seed, 8)]);
}

/* Any key for any row, signed by any other: by itself, by one that it signed,
 * by that of the server (key 0). */
static void run_hostile(struct world *world, int sequence)
{
    int row = 1 + (int)draw(&world->seed, ROWS);
    int key = (int)draw(&world->seed, 8), old = (int)draw(&world->seed, 8);
    bool follows = draw(&world->seed, 2) == 0;
    const char *named = world->rows[row].key;
    read_trust(world);
    if (ledger_admit(world->ledger, row, named[0] != '\0' ? named : NULL,
                     follows ? world->names[old] : NULL, world->names[key],
                     NULL) != PRICER_OK)
        return;
    if (follows)
        world->signs[old][key] = true;
    struct ledger_charge both[2] = {charge_for(world, row, world->names[key]),
                                    charge_for(world, row, world->names[key])};
    charge(world, both, 2);
    world->heard[key] += both[0].allowed + both[1].allowed;
    if (both[0].allowed || both[1].allowed)
        check_heard(world, sequence, row, key);
}

/* Server, neighbours and signatures lie; only the trust file and the ledger are
 * the node's. */
static void test_hostile(void **state)
{
    (void)state;
    int released = 0;
    for (int sequence = 0; sequence < SEQUENCES; sequence++) {
        struct world world;
        start_world(&world, "hostile", sequence);
        for (int r = 1; r <= ROWS; r++)
            edit(&world);
        for (int step = 0; step < STEPS; step++) {
            uint32_t what = draw(&world.seed, 12);
            if (what == 0)
                edit(&world);
            if (what == 1)
                world.server = !world.server;
            if (what <= 2)
                restart(&world);
            run_hostile(&world, sequence);
        }
        for (int k = 0; k < KEYS; k++)
            released += world.heard[k];
        ledger_close(world.ledger);
    }
    assert_true(released > 2 * SEQUENCES);
}

/* ------------------------------------------------------------------ single -- */

/* A row that names no key stays with the first, at any server; one that names a
 * key takes it or what follows it, and never goes back. */
static void test_admit(void **state)
{
    (void)state;
    struct world world;
    struct pricer_fault fault = {""};
    start_world(&world, "admit", 0);
    struct ledger *ledger = world.ledger;
    assert_int_equal(ledger_admit(ledger, 3, NULL, NULL, "a", NULL), PRICER_OK);
    assert_int_equal(ledger_admit(ledger, 3, NULL, NULL, "a", NULL), PRICER_OK);
    assert_int_equal(ledger_admit(ledger, 3, NULL, NULL, "b", &fault),
                     PRICER_VALUE);
    assert_string_equal(fault.text, "it had before");
    assert_int_equal(ledger_admit(ledger, 3, NULL, "a", "a", NULL), PRICER_OK);
    world.server = 1;
    restart(&world);
    ledger = world.ledger;
    assert_int_equal(ledger_admit(ledger, 3, NULL, NULL, "b", NULL),
                     PRICER_VALUE);
    assert_int_equal(ledger_admit(ledger, 3, NULL, "a", "b", NULL), PRICER_OK);
    assert_int_equal(ledger_admit(ledger, 3, NULL, NULL, "a", NULL),
                     PRICER_VALUE);
    assert_int_equal(ledger_admit(ledger, 3, "a", NULL, "a", NULL),
                     PRICER_VALUE);
    assert_int_equal(ledger_admit(ledger, 3, "a", NULL, "b", NULL), PRICER_OK);
    assert_int_equal(ledger_admit(ledger, 3, "a", "c", "d", &fault),
                     PRICER_VALUE);
    assert_string_equal(fault.text, "in the trust file");
    /* The chain may be long, and what is named may be its beginning. */
    assert_int_equal(ledger_admit(ledger, 3, "a", "b", "c", NULL), PRICER_OK);
    assert_int_equal(ledger_admit(ledger, 7, "a", NULL, "c", NULL), PRICER_OK);
    ledger_close(ledger);
}

/* How many releases a key gets. */
static int exhaust(struct world *world, int row, const char *key)
{
    int count = 0;
    for (;; count++) {
        struct ledger_charge one = charge_for(world, row, key);
        int64_t left = ledger_left(world->ledger, &one);
        charge(world, &one, 1);
        assert_true(one.allowed == (left > 0));
        if (!one.allowed)
            return count;
    }
}

/* The operator puts a key into a row without a signature: the row goes on, unless
 * the key that it had has a row of its own. */
static void test_replaced(void **state)
{
    (void)state;
    int limit = find_limit(9, 1e-5);
    for (int moved = 0; moved < 2; moved++) {
        struct world world;
        start_world(&world, "replaced", moved);
        assert_int_equal(
            ledger_admit(world.ledger, 2, "lost", NULL, "lost", NULL),
            PRICER_OK);
        assert_int_equal(exhaust(&world, 2, "lost"), limit);
        strcpy(world.rows[2].key, "new");
        if (moved)
            strcpy(world.rows[4].key, "lost");
        read_trust(&world);
        assert_int_equal(
            ledger_admit(world.ledger, 2, "new", NULL, "new", NULL), PRICER_OK);
        assert_int_equal(exhaust(&world, 2, "new"), moved ? limit : 0);
        ledger_close(world.ledger);
    }
}

static void take(struct world *world, int row, const char *old, const char *key)
{
    struct pricer_fault fault = {""};
    const char *named = world->rows[row].key;
    read_trust(world);
    if (ledger_admit(world->ledger, row, named[0] != '\0' ? named : NULL, old,
                     key, &fault) != PRICER_OK)
        fail_msg("row %d does not take %s: %s", row, key, fault.text);
}

/* Neighbours sign each other's keys so that one of them looks moved when the
 * operator gives it another key: two rows hear what two rows may, and no more. */
static void test_feigned(void **state)
{
    (void)state;
    int limit = find_limit(9, 1e-5);
    for (int how = 0; how < 3; how++) {
        struct world world;
        start_world(&world, "feigned", how);
        strcpy(world.rows[1].key, "p");
        strcpy(world.rows[4].key, "q");
        int heard = 0;
        if (how < 2) { /* else q never shows itself */
            take(&world, 4, NULL, "q");
            heard += exhaust(&world, 4, "q");
        }
        take(&world, 1, NULL, "p");
        heard += exhaust(&world, 1, "p");
        if (how == 0)
            take(&world, 4, "p", "q");
        else
            take(&world, 1, "q", "p");
        for (int again = 0; again < 3; again++) {
            const char *key = (const char *[]){"n", "m", "o"}[again];
            strcpy(world.rows[1].key, key);
            take(&world, 1, NULL, key);
            heard += exhaust(&world, 1, key);
            if (how == 2)
                take(&world, 1, "q", key);
        }
        if (ledger_admit(world.ledger, 4, "q", NULL, "q", NULL) == PRICER_OK)
            heard += exhaust(&world, 4, "q");
        if (heard > 2 * limit)
            fail_msg("way %d: two rows of %d heard %d", how, limit, heard);
        ledger_close(world.ledger);
    }
}

/* A row has the smaller budget and goes on to a later key; another row is shown
 * the earlier one, and brings no more. */
static void test_claimed(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        struct world world;
        start_world(&world, "claimed", named);
        world.rows[1].total_eps = 6;
        take(&world, 1, NULL, "a");
        take(&world, 1, "a", "b");
        if (named)
            strcpy(world.rows[1].key, "b");
        take(&world, 2, NULL, "a");
        assert_int_equal(exhaust(&world, 2, "a"), find_limit(6, 1e-5));
        assert_int_equal(exhaust(&world, 1, "b"), 0);
        ledger_close(world.ledger);
    }
}

/* A server and a neighbour that rotate without end fill no disk. */
static void test_bounded(void **state)
{
    (void)state;
    struct world world;
    struct pricer_fault fault = {""};
    start_world(&world, "bounded", 0);
    char old[16] = "0", key[16];
    int count = 0;
    assert_int_equal(ledger_admit(world.ledger, 1, NULL, NULL, old, NULL),
                     PRICER_OK);
    do {
        snprintf(key, sizeof key, "%d", ++count);
        if (ledger_admit(world.ledger, 1, NULL, old, key, &fault) != PRICER_OK)
            break;
        strcpy(old, key);
    } while (count < 2000);
    assert_int_equal(count, 1001);
    /* What there is goes on. */
    assert_int_equal(ledger_admit(world.ledger, 1, NULL, NULL, old, NULL),
                     PRICER_OK);
    assert_int_equal(exhaust(&world, 1, old), find_limit(9, 1e-5));
    ledger_close(world.ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_admit),   cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_feigned), cmocka_unit_test(test_claimed),
        cmocka_unit_test(test_honest),  cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_bounded),
    };
    return cmocka_run_group_tests(tests, scratch_open_memory, scratch_close);
}
