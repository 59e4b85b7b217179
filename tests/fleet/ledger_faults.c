/*
 * Releases through kills and full disks: at every system call with which SQLite
 * changes a file the process dies, or the disk is full for a while. Whatever
 * happens, a round has one payload for good, and nothing is sent that is not
 * charged.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "fleet/ledger_release.h"
#include "fleet/trust_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

enum { ROUNDS = 400, SEED = PRI_SEED_BYTES };

static const char server[] = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";

/* ---------------------------------------------------------------- faults -- */

/* The calls from number `first` to `last` fail: the process dies, or the call
 * does. */
static struct {
    int64_t count, first, last;
    bool dies;
} fault_at;

static bool is_due(void)
{
    int64_t now = ++fault_at.count;
    if (now < fault_at.first || now > fault_at.last)
        return false;
    if (fault_at.dies)
        kill(getpid(), SIGKILL);
    return true;
}

/* Half of what is written may be on the disk. */
static ssize_t half_write(int file, const void *bytes, size_t size, off_t at)
{
    ssize_t done = pwrite(file, bytes, size / 2, at);
    if (is_due()) {
        errno = ENOSPC;
        return -1;
    }
    return done < 0 ? done
                    : done + pwrite(file, (const char *)bytes + done,
                                    size - (size_t)done, at + done);
}

static int cut(int file, off_t size)
{
    errno = EIO;
    return is_due() ? -1 : ftruncate(file, size);
}

static int reserve(int file, off_t from, off_t size)
{
    return is_due() ? ENOSPC : posix_fallocate(file, from, size);
}

static int forget(const char *path)
{
    errno = EIO;
    return is_due() ? -1 : unlink(path);
}

static void inject(void)
{
    sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    static const char *const names[] = {"pwrite", "pwrite64"};
    for (int k = 0; k < 2; k++)
        files->xSetSystemCall(files, names[k],
                              (sqlite3_syscall_ptr)(void (*)(void))half_write);
    assert_int_equal(
        files->xSetSystemCall(files, "ftruncate",
                              (sqlite3_syscall_ptr)(void (*)(void))cut),
        SQLITE_OK);
    files->xSetSystemCall(files, "fallocate",
                          (sqlite3_syscall_ptr)(void (*)(void))reserve);
    assert_int_equal(
        files->xSetSystemCall(files, "unlink",
                              (sqlite3_syscall_ptr)(void (*)(void))forget),
        SQLITE_OK);
}

/* -------------------------------------------------------------- releases -- */

static struct trust trust;
static struct ledger_terms terms;

static void prepare(const char *name)
{
    struct pri_release release;
    struct pri_release_wish wish = {
        PRI_RELEASE_SPHERE, 2, 1, 60, 1e-6, ROUNDS, 0};
    char text[80], file[64];
    snprintf(text, sizeof text, "to,eps,delta\neveryone,60,1e-6\n");
    snprintf(file, sizeof file, "%s.csv", name);
    assert_int_equal(trust_read(scratch_text(file, text), &trust, NULL),
                     PRICER_OK);
    assert_int_equal(pri_release_for_budget(&wish, &release, NULL), PRICER_OK);
    terms = (struct ledger_terms){.kind = release.kind,
                                  .dimension = 2,
                                  .radius = 1,
                                  .t = release.t,
                                  .e0 = release.e0,
                                  .rounds = ROUNDS,
                                  .eps = 60,
                                  .delta = 1e-6};
}

/* What is known to have left the node. */
struct sent {
    int64_t round;
    uint8_t payload[SEED];
};

/* One round with a fresh payload; true: what is sent. */
static bool release(struct ledger *ledger, int64_t number, struct sent *sent)
{
    struct ledger_round round = {.round = number};
    struct ledger_packet packet = {.size = 0};
    uint8_t payload[SEED];
    if (!pri_entropy_kernel.draw(pri_entropy_kernel.context, payload, SEED))
        abort();
    if (ledger_release(ledger, &round, &terms, payload, SEED, &packet, NULL))
        return false;
    sent->round = number;
    memcpy(sent->payload, packet.payload, SEED);
    ledger_packet_free(&packet);
    return true;
}

/* All that was ever sent, and what the ledger must say about it. */
struct history {
    uint8_t payload[ROUNDS + 1][SEED];
    bool known[ROUNDS + 1];
    int64_t rounds;
};

static void note(struct history *history, const struct sent *sent)
{
    assert_true(sent->round >= 1 && sent->round <= ROUNDS);
    if (history->known[sent->round]) {
        assert_memory_equal(history->payload[sent->round], sent->payload, SEED);
        return;
    }
    history->known[sent->round] = true;
    memcpy(history->payload[sent->round], sent->payload, SEED);
    history->rounds++;
}

/* Every round that was sent is charged; every charge has its round; the last
 * packet is what was sent. */
static void check_ledger(const char *name, struct history *history)
{
    struct ledger *ledger = NULL;
    struct ledger_account account;
    struct ledger_packet packet = {.size = 0};
    struct pricer_fault fault = {""};
    if (ledger_open(scratch_path(name), server, &ledger, &fault))
        fail_msg("%s", fault.text);
    assert_int_equal(ledger_account(ledger, &account, NULL), PRICER_OK);
    assert_true(account.released >= history->rounds);
    assert_int_equal(account.released, ledger_last(ledger));
    assert_true(account.entries <= 1 && account.eps <= 60);
    if (ledger_last(ledger) > 0) {
        struct sent sent = {.round = ledger_last(ledger)};
        assert_int_equal(ledger_stored(ledger, sent.round, &packet, NULL),
                         PRICER_OK);
        assert_int_equal(packet.size, SEED);
        memcpy(sent.payload, packet.payload, SEED);
        ledger_packet_free(&packet);
        note(history, &sent); /* it may be sent from now on */
    }
    ledger_close(ledger);
}

/* A process that sends the last round again and the next one, and dies at a
 * given call, or before or after it has sent. */
static void live(const char *name, int64_t call, int out)
{
    struct ledger *ledger = NULL;
    struct sent sent;
    inject();
    fault_at.first = fault_at.last = call;
    fault_at.dies = true;
    if (ledger_open(scratch_path(name), server, &ledger, NULL))
        _exit(1);
    if (ledger_use_trust(ledger, &trust, 0, NULL))
        _exit(1);
    for (int64_t k = 0, last = ledger_last(ledger); k < 3; k++) {
        if (last + k == 0)
            continue;
        if (!release(ledger, last + k, &sent))
            _exit(1);
        is_due();
        if (write(out, &sent, sizeof sent) != sizeof sent)
            _exit(1);
        is_due();
    }
    ledger_close(ledger);
    _exit(0);
}

/* Kill at every call in turn, over and over. */
static void test_killed(void **state)
{
    (void)state;
    static struct history history;
    int64_t call = 1, longest = 0, killed = 0;
    prepare("killed");
    for (int k = 0; k < 110; k++) {
        int pipes[2], how;
        struct sent sent;
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        if (child == 0)
            live("killed", call, pipes[1]);
        close(pipes[1]);
        while (read(pipes[0], &sent, sizeof sent) == sizeof sent)
            note(&history, &sent);
        close(pipes[0]);
        assert_int_equal(waitpid(child, &how, 0), child);
        if (WIFSIGNALED(how))
            killed++;
        else
            assert_int_equal(WEXITSTATUS(how), 0);
        longest = call > longest ? call : longest;
        call = WIFSIGNALED(how) ? call + 1 : 1;
        check_ledger("killed", &history);
    }
    assert_true(killed > 80 && longest > 10 && history.rounds > 30);
    trust_free(&trust);
}

/* The disk is full from one call to another; the same process goes on. */
static void test_full(void **state)
{
    (void)state;
    static struct history history;
    int failed = 0;
    prepare("full");
    inject();
    fault_at.dies = false;
    fault_at.first = INT64_MAX;
    struct ledger *ledger = NULL;
    struct sent sent;
    assert_int_equal(ledger_open(scratch_path("full"), server, &ledger, NULL),
                     PRICER_OK);
    assert_int_equal(ledger_use_trust(ledger, &trust, 0, NULL), PRICER_OK);
    for (int64_t k = 0; k < 60; k++) {
        int64_t round = ledger_last(ledger) + 1;
        fault_at.count = 0;
        fault_at.first = 1 + k % 6;
        fault_at.last = fault_at.first + k / 6 % 4;
        bool good = release(ledger, round, &sent);
        failed += !good;
        fault_at.last = 0;
        if (!good)
            good = release(ledger, round, &sent);
        assert_true(good);
        note(&history, &sent);
        assert_true(release(ledger, round, &sent));
        note(&history, &sent);
        if (k % 10 == 9) {
            ledger_close(ledger);
            check_ledger("full", &history);
            assert_int_equal(
                ledger_open(scratch_path("full"), server, &ledger, NULL),
                PRICER_OK);
            assert_int_equal(ledger_use_trust(ledger, &trust, 0, NULL),
                             PRICER_OK);
        }
    }
    assert_true(failed > 10);
    ledger_close(ledger);
    trust_free(&trust);
}

/* Another program holds the database, or the ledger: nothing is charged. */
static void test_locked(void **state)
{
    (void)state;
    struct ledger *ledger = NULL, *other = NULL;
    sqlite3 *database = NULL;
    struct sent sent;
    prepare("locked");
    fault_at.last = 0;
    assert_int_equal(ledger_open(scratch_path("locked"), server, &ledger, NULL),
                     PRICER_OK);
    assert_int_equal(ledger_use_trust(ledger, &trust, 0, NULL), PRICER_OK);
    assert_true(release(ledger, 1, &sent));
    assert_int_equal(ledger_open(scratch_path("locked"), server, &other, NULL),
                     PRICER_BUSY);
    assert_int_equal(sqlite3_open(scratch_path("locked"), &database),
                     SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_false(release(ledger, 2, &sent));
    assert_int_equal(ledger_last(ledger), 1);
    assert_int_equal(sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(database);
    assert_true(release(ledger, 2, &sent));
    assert_int_equal(ledger_last(ledger), 2);
    ledger_close(ledger);
    trust_free(&trust);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_locked),
    };
    return cmocka_run_group_tests(tests, scratch_open_memory, scratch_close);
}
