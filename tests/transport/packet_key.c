/*
 * Keys and tags of packets: known answers, both sides agree, and every field,
 * its place and its length are under the tag.
 */
#include "tests/test.h"
#include "transport/packet_key.h"

#include <sodium.h>

/* As reference_packet.py prints them: key, tag. */
static const char *const answers[3][2] = {
    {"0739ee17706d9f7c54e7b31ab75cb1fa804d54406336e5d83d6a72aeb989c714",
     "5fb7c8b4dc18fdcfaae2d22a80137194"},
    {"4a249572c9ae607bd607d36905bf1ddb536ba116867535618433548113e9c750",
     "5fe484409cbb0dc4b643bd6e1a2dc6fe"},
    {"91c8d6d1b69dffbde72daa0abe7f22295b7959bec8b401a0f2a52ebbe50bf5f1",
     "94163cc758b747e2f0e2ea5616e33a44"},
};

static uint8_t bytes[256];

static void derive(uint8_t byte, struct key_pair *pair)
{
    uint8_t seed[KEYS_SIZE];
    memset(seed, byte, sizeof seed);
    assert_true(keys_derive(seed, pair));
}

static struct packet_fields fields_of(int k)
{
    for (int b = 0; b < 256; b++)
        bytes[b] = (uint8_t)b;
    return (struct packet_fields){
        .study = bytes,
        .plan = bytes + 100,
        .reference = 1000 * k,
        .node = 7 + k,
        .round = (INT64_C(1) << 40) + k,
        .kind = (uint8_t)(1 + k % 2),
        .payload = bytes,
        .size = (size_t)(16 * (k + 1)),
    };
}

static void check_hex(const uint8_t *found, size_t size, const char *expected)
{
    char hex[2 * PACKET_KEY + 1];
    sodium_bin2hex(hex, sizeof hex, found, size);
    assert_string_equal(hex, expected);
}

static void test_answers(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct key_pair node = {0}, server = {0};
        struct packet_fields fields = fields_of(k);
        uint8_t key[PACKET_KEY], same[PACKET_KEY], tag[PACKET_TAG];
        derive((uint8_t)(k + 1), &node);
        derive((uint8_t)(k + 101), &server);
        assert_true(packet_key(&node, true, server.public_key, key));
        assert_true(packet_key(&server, false, node.public_key, same));
        assert_memory_equal(key, same, sizeof key);
        check_hex(key, sizeof key, answers[k][0]);
        packet_tag(key, &fields, tag);
        check_hex(tag, sizeof tag, answers[k][1]);
        assert_true(packet_check(key, &fields, tag));
        /* Who is the node and who the server is in the key. */
        assert_true(packet_key(&node, false, server.public_key, same));
        assert_memory_not_equal(key, same, sizeof key);
        keys_wipe(&node);
        keys_wipe(&server);
    }
}

/* Points of small order share a secret that everyone knows: refused. */
static void test_refused(void **state)
{
    (void)state;
    static const uint8_t small[3][KEYS_SIZE] = {{0}, {1}, {2}};
    struct key_pair node = {0};
    uint8_t key[PACKET_KEY];
    char text[PRICER_KEY_TEXT];
    derive(1, &node);
    for (int k = 0; k < 3; k++) {
        keys_text(small[k], text);
        assert_false(packet_key(&node, true, text, key));
    }
    assert_false(packet_key(&node, true, "not a key", key));
    keys_wipe(&node);
}

static void test_forged(void **state)
{
    (void)state;
    uint8_t key[PACKET_KEY] = {5}, other[PACKET_KEY] = {6}, tag[PACKET_TAG];
    const struct packet_fields good = fields_of(1);
    struct packet_fields bad[9];
    for (int k = 0; k < 9; k++)
        bad[k] = good;
    bad[0].study++;
    bad[1].plan++;
    bad[2].reference++;
    bad[3].node++;
    bad[4].round--;
    bad[5].kind++;
    bad[6].payload = bytes + 1;
    bad[7].size--; /* a zero byte less or more is another payload */
    bad[8].size++;
    packet_tag(key, &good, tag);
    assert_true(packet_check(key, &good, tag));
    assert_false(packet_check(other, &good, tag));
    for (int k = 0; k < 9; k++)
        assert_false(packet_check(key, &bad[k], tag));
    for (int bit = 0; bit < 8 * PACKET_TAG; bit++) {
        tag[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(packet_check(key, &good, tag));
        tag[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_forged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
