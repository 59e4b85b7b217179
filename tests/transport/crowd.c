/*
 * Many that talk at once, over connections that are ended and revoked from inside
 * events while others are served: on one thread and on several, every frame comes
 * once, whole, in order, to whom it was sent.
 */
#include "tests/test.h"
#include "common/daemon.h"
#include "transport/hub.h"
#include "loopback.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { CROWD = 24, LONGEST = 50000 };

struct crowd {
    struct hub *server, *clients;
    struct key_pair pairs[CROWD + 1]; /* the last is the server's */
    struct hub_entry entries[CROWD];
    struct talker {
        struct hub_peer *peer, *guest; /* the client's end, and the server's */
        bool open;
        uint32_t up, up_next, down, down_next; /* sent and expected: frames */
    } talkers[CROWD];
    int received, ends, revoked, left;
    uint8_t key[KEYS_SIZE]; /* the server's */
    char address[64];
    uint8_t frame[LONGEST];
};

/* Frame `number` of a talker: all bytes follow from its size and the two. */
static size_t fill(struct crowd *crowd, int who, uint32_t number)
{
    size_t size = (size_t)(rand() % 8 == 0 ? rand() % LONGEST : rand() % 900);
    size = size < 5 ? 5 : size;
    memcpy(crowd->frame, &number, 4);
    for (size_t k = 4; k < size; k++)
        crowd->frame[k] = (uint8_t)(who + number + k * (size % 251));
    return size;
}

/* Nothing is missing, nothing comes twice or to another. */
static void check(const uint8_t *data, size_t size, int who, uint32_t *next)
{
    uint32_t number;
    assert_true(size >= 5);
    memcpy(&number, data, 4);
    assert_int_equal(number, *next);
    for (size_t k = 4; k < size; k++)
        assert_true(data[k] == (uint8_t)(who + number + k * (size % 251)));
    ++*next;
}

static void answer_somebody(struct crowd *crowd)
{
    int who = rand() % CROWD;
    struct talker *talker = &crowd->talkers[who];
    size_t size = fill(crowd, who, talker->down);
    if (hub_send(talker->guest, crowd->frame, size))
        talker->down++;
}

/* All but `gone`; CROWD: all. */
static void admit_crowd(struct crowd *crowd, int gone)
{
    struct hub_entry some[CROWD];
    int32_t count = 0;
    for (int k = 0; k < CROWD; k++)
        if (k != gone)
            some[count++] = crowd->entries[k];
    assert_int_equal(hub_admit(crowd->server, some, count), PRICER_OK);
}

/* One that another thread may be serving, if there is one. */
static int find_busy(const struct crowd *crowd)
{
    int who = rand() % CROWD;
    for (int k = 0; k < CROWD; k++) {
        const struct hub_peer *guest = crowd->talkers[k].guest;
        if (guest != NULL && guest->lent)
            who = k;
    }
    return who;
}

static void hear_client(void *context, struct hub_peer *peer, const void *data,
                        size_t size)
{
    struct crowd *crowd = context;
    int who = hub_number(peer), other = find_busy(crowd);
    assert_in_range(who, 0, CROWD - 1);
    assert_true(crowd->talkers[who].guest == peer);
    check(data, size, who, &crowd->talkers[who].up_next);
    crowd->received++;
    answer_somebody(crowd);
    if (rand() % 200 == 0) {
        hub_forget(crowd->talkers[other].guest);
        crowd->talkers[other].guest = NULL;
    } else if (rand() % 1000 == 0) {
        admit_crowd(crowd, other);
        admit_crowd(crowd, CROWD);
        crowd->revoked++;
    }
}

static void greet_client(void *context, struct hub_peer *peer)
{
    struct crowd *crowd = context;
    struct talker *talker = &crowd->talkers[hub_number(peer)];
    talker->guest = peer;
    talker->up_next = talker->down = 0;
    admit_crowd(crowd, CROWD); /* while others shake hands */
}

static void lose_client(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct crowd *crowd = context;
    (void)why;
    for (int k = 0; k < CROWD; k++)
        if (crowd->talkers[k].guest == peer)
            crowd->talkers[k].guest = NULL;
    for (int k = 0; k < CROWD; k++) /* while others are written to */
        answer_somebody(crowd);
}

static void hear_server(void *context, struct hub_peer *peer, const void *data,
                        size_t size)
{
    struct crowd *crowd = context;
    struct talker *talker = hub_owner(peer);
    check(data, size, (int)(talker - crowd->talkers), &talker->down_next);
}

static void greet_server(void *context, struct hub_peer *peer)
{
    struct talker *talker = hub_owner(peer);
    (void)context;
    talker->open = true;
    talker->up = talker->down_next = 0;
}

static void lose_server(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct crowd *crowd = context;
    struct talker *talker = hub_owner(peer);
    (void)why;
    crowd->ends += talker->open;
    talker->open = false;
}

static void join_crowd(struct crowd *crowd, struct talker *talker)
{
    assert_int_equal(hub_connect(crowd->clients, crowd->address, crowd->key,
                                 LONGEST, talker, &talker->peer, NULL),
                     PRICER_OK);
    hub_pose(talker->peer, &crowd->pairs[talker - crowd->talkers]);
}

static void gather(struct crowd *crowd, int32_t threads)
{
    const struct hub_events below = {crowd, greet_client, hear_client,
                                     lose_client},
                            above = {crowd, greet_server, hear_server,
                                     lose_server};
    for (int k = 0; k <= CROWD; k++) {
        uint8_t seed[KEYS_SIZE] = {9, (uint8_t)k};
        assert_true(keys_derive(seed, &crowd->pairs[k]));
        assert_true(keys_bytes(crowd->pairs[k].public_key,
                               k < CROWD ? crowd->entries[k].key : crowd->key));
        if (k < CROWD)
            crowd->entries[k].number = k;
    }
    assert_int_equal(
        hub_open(&crowd->pairs[CROWD], &below, &crowd->server, NULL),
        PRICER_OK);
    assert_int_equal(hub_open(&crowd->pairs[0], &above, &crowd->clients, NULL),
                     PRICER_OK);
    hub_share(crowd->server, threads);
    assert_int_equal(crowd->server->hands != NULL, threads > 1);
    hub_share(crowd->clients, threads);
    hub_limit(crowd->server, LONGEST);
    admit_crowd(crowd, CROWD);
    listen_somewhere(crowd->server, crowd->address);
    for (int k = 0; k < CROWD; k++)
        join_crowd(crowd, &crowd->talkers[k]);
}

/* The end of a connection that shows when it is written to: the second long frame
 * finds nobody there. */
static void leave(struct crowd *crowd)
{
    struct talker *talker = &crowd->talkers[rand() % CROWD];
    static const uint8_t zeros[LONGEST];
    if (!hub_is_open(talker->peer) || !hub_is_open(talker->guest))
        return;
    crowd->left++;
    crowd->ends++;
    talker->open = false;
    hub_forget(talker->peer);
    join_crowd(crowd, talker);
    for (int k = 0; k < 2; k++)
        hub_send(talker->guest, zeros, sizeof zeros);
    for (int k = 0; k < 2 * CROWD; k++)
        answer_somebody(crowd);
    hub_wait(crowd->server, 1, -1);
}

static int count_cores(void)
{
    cpu_set_t all;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    return CPU_COUNT(&all);
}

/* Threads of this process that may use all cores but one. */
static int32_t count_aside(void)
{
    cpu_set_t some;
    int32_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;)
        count +=
            sched_getaffinity(atoi(task->d_name), sizeof some, &some) == 0 &&
            CPU_COUNT(&some) == count_cores() - 1;
    closedir(tasks);
    return count;
}

static void talk(int32_t threads)
{
    enum { FRAMES = 8000 };
    struct crowd *crowd = calloc(1, sizeof *crowd);
    int64_t end = daemon_clock() + 120000;
    srand(7);
    gather(crowd, threads);
    while (crowd->received < FRAMES) {
        assert_true(daemon_clock() < end);
        for (int k = 0; k < 2 * CROWD; k++) {
            int who = rand() % CROWD;
            struct talker *talker = &crowd->talkers[who];
            size_t size = fill(crowd, who, talker->up);
            if (hub_send(talker->peer, crowd->frame, size))
                talker->up++;
        }
        hub_wait(crowd->clients, 1, -1);
        hub_wait(crowd->server, 1, -1);
        if (rand() % 20 == 0)
            leave(crowd);
    }
    /* Those of both hubs leave a core to this one, which keeps all. */
    if (count_cores() > 1)
        assert_int_equal(count_aside(), 2 * (threads - 1));
    assert_true(crowd->ends >= 3);
    assert_true(crowd->revoked >= 1);
    assert_true(crowd->left >= 1);
    hub_close(crowd->clients);
    hub_close(crowd->server);
    for (int k = 0; k <= CROWD; k++)
        keys_wipe(&crowd->pairs[k]);
    free(crowd);
}

static void test_alone(void **state)
{
    (void)state;
    talk(1);
}

static void test_together(void **state)
{
    (void)state;
    talk(2);
    talk(5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
