/*
 * Hubs on loopback in one process: who is let in, frames of every size, what
 * costs a connection, and that it comes back. And the parts that need no
 * socket: timers against brute force, quotas, keys in text.
 */
#include "tests/test.h"
#include "common/daemon.h"
#include "transport/hub.h"
#include "loopback.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ----------------------------------------------------------------- parts -- */

/* The example of ZeroMQ's RFC 32, four times. */
static void test_z85(void **state)
{
    (void)state;
    const uint8_t bytes[32] = {0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b,
                               0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b,
                               0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b,
                               0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b};
    char text[PRICER_KEY_TEXT];
    uint8_t back[32];
    keys_text(bytes, text);
    assert_string_equal(text, "HelloWorldHelloWorldHelloWorldHelloWorld");
    assert_true(keys_bytes(text, back));
    assert_memory_equal(back, bytes, 32);
    assert_false(keys_bytes("HelloWorld", back));
    memset(text, '#', 40); /* 85^5 - 1 is more than 32 bits */
    assert_false(keys_bytes(text, back));
    text[0] = '"';
    assert_false(keys_bytes(text, back));
}

/* Timers set, set again and stopped at random: each fires once, not before its
 * time, and not later than a step after it when the wheel turns often. */
static void test_wheel(void **state)
{
    (void)state;
    enum { TIMERS = 200 };
    struct timer timers[TIMERS] = {0};
    int64_t due[TIMERS];
    struct wheel wheel = {.turned = 1000000 / WHEEL_STEP};
    srand(1);
    for (int k = 0; k < TIMERS; k++)
        due[k] = -1;
    for (int64_t now = 1000000; now < 1040000; now += rand() % 20) {
        int k = rand() % TIMERS;
        if (rand() % 4 == 0) {
            wheel_stop(&timers[k]);
            due[k] = -1;
        } else if (due[k] < 0) {
            due[k] = now + rand() % 9000;
            wheel_set(&wheel, &timers[k], due[k]);
        }
        int64_t next = wheel_next(&wheel);
        for (struct timer *fired; (fired = wheel_turn(&wheel, now)) != NULL;) {
            int which = (int)(fired - timers);
            assert_true(next <= now);
            assert_true(due[which] >= 0 && due[which] <= now);
            assert_true(now <= due[which] + WHEEL_STEP + 20);
            due[which] = -1;
        }
    }
    /* After a sleep of many turns everything that is due comes at once. */
    while (wheel_turn(&wheel, 9000000) != NULL)
        ;
    assert_true(wheel_next(&wheel) == INT64_MAX);
}

static void test_quota(void **state)
{
    (void)state;
    struct quota quota = {0};
    int taken = 0;
    for (int64_t now = 1; now <= 10001; now++)
        for (int k = 0; k < 3; k++)
            taken += quota_take(&quota, now, 50, 100);
    assert_in_range(taken, 100 + 499, 100 + 501);
}

/* ------------------------------------------------------------------ hubs -- */

static int32_t threads = 1; /* of every hub */

struct side {
    struct hub *hub;
    struct key_pair pair;
    struct hub_peer *peer; /* the last that opened */
    int opened, frames, ended[HUB_ENDS];
    size_t bytes;
};

static void see_opened(void *context, struct hub_peer *peer)
{
    struct side *side = context;
    side->opened++;
    side->peer = peer;
}

static void see_frame(void *context, struct hub_peer *peer, const void *data,
                      size_t size)
{
    struct side *side = context;
    const uint8_t *bytes = data;
    (void)peer;
    for (size_t k = 0; k < size; k++)
        assert_true(bytes[k] == (uint8_t)(size + k));
    side->frames++;
    side->bytes += size;
}

static void see_ended(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct side *side = context;
    side->ended[why]++;
    if (side->peer == peer && hub_is_guest(peer))
        side->peer = NULL;
}

static void open_side(struct side *side, uint8_t seed)
{
    uint8_t bytes[KEYS_SIZE] = {seed};
    const struct hub_events events = {side, see_opened, see_frame, see_ended};
    *side = (struct side){0};
    assert_true(keys_derive(bytes, &side->pair));
    assert_int_equal(hub_open(&side->pair, &events, &side->hub, NULL),
                     PRICER_OK);
    hub_share(side->hub, threads);
    assert_int_equal(side->hub->hands != NULL, threads > 1);
}

static void close_side(struct side *side)
{
    hub_close(side->hub);
    keys_wipe(&side->pair);
}

static void admit(struct side *server, const struct side *client,
                  int32_t number)
{
    struct hub_entry entry = {.number = number};
    assert_true(keys_bytes(client->pair.public_key, entry.key));
    assert_int_equal(hub_admit(server->hub, &entry, 1), PRICER_OK);
}

static struct hub_peer *dial(struct side *client, const struct side *server,
                             const char *address)
{
    struct hub_peer *peer = NULL;
    uint8_t key[KEYS_SIZE];
    assert_true(keys_bytes(server->pair.public_key, key));
    assert_int_equal(
        hub_connect(client->hub, address, key, 1 << 20, NULL, &peer, NULL),
        PRICER_OK);
    return peer;
}

/* Both have turns until a counter has come so far. */
static void until(struct side *a, struct side *b, const int *counter, int value)
{
    int64_t end = daemon_clock() + 20000;
    while (*counter < value) {
        assert_true(daemon_clock() < end);
        hub_wait(a->hub, 5, -1);
        hub_wait(b->hub, 5, -1);
    }
}

static bool send_size(struct hub_peer *peer, size_t size)
{
    uint8_t *data = malloc(size + 1);
    for (size_t k = 0; k < size; k++)
        data[k] = (uint8_t)(size + k);
    bool sent = hub_send(peer, data, size);
    free(data);
    return sent;
}

/* Frames of sizes around every border arrive whole and in order; one that is
 * too long costs the connection, which comes back. */
static void test_frames(void **state)
{
    (void)state;
    static const size_t sizes[] = {1,     3,     4,     5,      16379, 16380,
                                   16384, 65535, 65532, 65536,  70000, 262144,
                                   1,     99999, 1,     300000, 2};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    struct side server, client;
    char address[64];
    open_side(&server, 1);
    open_side(&client, 2);
    hub_limit(server.hub, 300000);
    admit(&server, &client, 7);
    listen_somewhere(server.hub, address);
    struct hub_peer *peer = dial(&client, &server, address);
    assert_false(hub_send(peer, "x", 1));
    until(&server, &client, &client.opened, 1);
    assert_int_equal(hub_number(server.peer), 7);
    assert_int_equal(hub_number(peer), -1);
    size_t bytes = 0;
    for (int k = 0; k < COUNT; k++) {
        assert_true(send_size(peer, sizes[k]));
        bytes += sizes[k];
        if (k % 3 == 0)
            until(&server, &client, &server.frames, k + 1);
    }
    until(&server, &client, &server.frames, COUNT);
    assert_int_equal(server.bytes, bytes);
    /* Many in a few records: the server's turns are enough, and it has heard. */
    int64_t heard = server.peer->heard;
    usleep(5000);
    for (int k = 0; k < 60; k++)
        assert_true(send_size(peer, 1000));
    hub_wait(client.hub, 0, -1);
    until(&server, &server, &server.frames, COUNT + 60);
    assert_true(server.peer->heard > heard);
    assert_true(send_size(server.peer, 1000));
    until(&server, &client, &client.frames, 1);
    assert_true(send_size(peer, 300001));
    until(&server, &client, &server.ended[HUB_LONG], 1);
    until(&server, &client, &client.opened, 2);
    /* One that never comes whole ends it, too: nobody collects that much. */
    assert_true(send_size(peer, 16 << 20));
    until(&server, &server, &server.ended[HUB_LONG], 2);
    close_side(&client);
    close_side(&server);
}

/* What the kernel has no room for waits: a queue takes a frame when no more than
 * HUB_QUEUE waits in it, and the frames come out whole. */
static void test_queue(void **state)
{
    (void)state;
    struct side server, client;
    char address[64];
    open_side(&server, 1);
    open_side(&client, 2);
    hub_limit(server.hub, 1 << 20);
    admit(&server, &client, 0);
    listen_somewhere(server.hub, address);
    struct hub_peer *peer = dial(&client, &server, address);
    until(&server, &client, &client.opened, 1);
    int sent = 0;
    while (sent < 1000 && send_size(peer, 100000)) /* nobody has a turn */
        sent++;
    size_t waits = peer->out.end - peer->out.start;
    assert_in_range(waits, HUB_QUEUE + 1, HUB_QUEUE + 100000 + 4);
    assert_in_range(sent, 11, 999);
    assert_true(peer->sealed.end - peer->sealed.start <= HUB_SEALED);
    assert_int_equal(hub_counts(client.hub)->full, 1);
    until(&server, &client, &server.frames, sent);
    assert_true(send_size(peer, 100000));
    close_side(&client);
    close_side(&server);
}

/* The limit of frames holds in both directions: whoever is past it is ended. The
 * quotas are emptied by hand, far into the future. */
static void test_busy(void **state)
{
    (void)state;
    enum { LONG = 1000000 };
    struct side server, client;
    char address[64];
    open_side(&server, 1);
    open_side(&client, 2);
    admit(&server, &client, 0);
    listen_somewhere(server.hub, address);
    struct hub_peer *peer = dial(&client, &server, address);
    until(&server, &client, &client.opened, 1);
    peer->frames.at = client.hub->turned + LONG;
    assert_true(send_size(server.peer, 10));
    until(&server, &client, &client.ended[HUB_BUSY], 1);
    assert_int_equal(client.frames, 0);
    peer->frames = (struct quota){0};
    until(&server, &client, &client.opened, 2);
    server.peer->seat->frames.at = server.hub->turned + LONG;
    assert_true(send_size(peer, 10));
    until(&server, &client, &server.ended[HUB_BUSY], 1);
    assert_int_equal(server.frames, 0);
    close_side(&client);
    close_side(&server);
}

/* Keys: not admitted, admitted later, taken back, and another than expected. */
static void test_keys(void **state)
{
    (void)state;
    struct side server, client, other;
    char address[64];
    open_side(&server, 1);
    open_side(&client, 2);
    open_side(&other, 3);
    hub_limit(server.hub, 100);
    listen_somewhere(server.hub, address);
    struct hub_peer *peer = dial(&client, &server, address);
    until(&server, &client, &client.ended[HUB_REFUSED], 2);
    assert_in_range(server.ended[HUB_STRANGER], 2, 3);
    assert_int_equal(client.opened + server.opened, 0);
    admit(&server, &client, 1);
    until(&server, &client, &client.opened, 1);
    admit(&server, &other, 1);
    assert_int_equal(server.ended[HUB_REVOKED], 1);
    until(&server, &client, &client.ended[HUB_REFUSED], 3);
    hub_forget(peer);
    /* Someone else at the address. */
    peer = dial(&client, &other, address);
    until(&server, &client, &client.ended[HUB_STRANGER], 2);
    assert_in_range(server.ended[HUB_REFUSED], 1, 2);
    assert_int_equal(client.opened, 1);
    close_side(&client);
    close_side(&server);
    close_side(&other);
}

/* A key that connects again: not while its owner is alive; then the newest
 * counts. A server that goes away and comes back is found. */
static void test_comes_back(void **state)
{
    (void)state;
    struct side server, client, twin;
    char address[64];
    open_side(&server, 1);
    open_side(&client, 2);
    open_side(&twin, 2);
    hub_limit(server.hub, 100);
    admit(&server, &client, 0);
    listen_somewhere(server.hub, address);
    dial(&client, &server, address);
    until(&server, &client, &client.opened, 1);
    struct hub_peer *peer = dial(&twin, &server, address);
    until(&server, &twin, &twin.ended[HUB_TURNED], 1);
    assert_int_equal(server.ended[HUB_TWIN], 1);
    assert_int_equal(server.ended[HUB_REPLACED], 0);
    assert_int_equal(twin.opened, 0);
    until(&server, &twin, &twin.opened, 1); /* the client is not heard now */
    assert_int_equal(server.ended[HUB_REPLACED], 1);
    hub_forget(peer);
    until(&server, &client, &client.opened, 2);
    close_side(&server);
    open_side(&server, 1);
    admit(&server, &client, 0);
    hub_limit(server.hub, 100);
    assert_int_equal(hub_listen(server.hub, address, NULL), PRICER_OK);
    until(&server, &client, &client.opened, 3);
    close_side(&client);
    close_side(&twin);
    close_side(&server);
}

static void test_addresses(void **state)
{
    (void)state;
    struct address address;
    static const char *const bad[] = {"",
                                      "10.0.0.1:1",
                                      "tcp://",
                                      "tcp://x",
                                      "tcp://:1",
                                      "tcp://x:",
                                      "tcp://x:65536",
                                      "tcp://::1:7",
                                      "tcp://a/b:1",
                                      "tcp://x:1x",
                                      "udp://x:1",
                                      "tcp://[]:1"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(hub_is_address(bad[k]));
    assert_true(address_parse("tcp://[2001:db8::1]:7100", &address));
    assert_string_equal(address.host, "2001:db8::1");
    assert_string_equal(address.port, "7100");
    assert_true(address_parse("tcp://*:*", &address));
    assert_string_equal(address.port, "0");
}

/* Once on one thread, once on several. */
int main(void)
{
    const struct CMUnitTest parts[] = {
        cmocka_unit_test(test_z85),
        cmocka_unit_test(test_wheel),
        cmocka_unit_test(test_quota),
        cmocka_unit_test(test_addresses),
    };
    const struct CMUnitTest hubs[] = {
        cmocka_unit_test(test_frames),     cmocka_unit_test(test_busy),
        cmocka_unit_test(test_queue),      cmocka_unit_test(test_keys),
        cmocka_unit_test(test_comes_back),
    };
    int failed = cmocka_run_group_tests(parts, NULL, NULL);
    failed += cmocka_run_group_tests_name("one thread", hubs, NULL, NULL);
    threads = 4;
    failed += cmocka_run_group_tests_name("four threads", hubs, NULL, NULL);
    return failed;
}
