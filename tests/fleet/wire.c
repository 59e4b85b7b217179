/*
 * Messages: what is written reads back, every cut and every change of a byte is
 * either refused or still a whole message, and claims cost nothing.
 */
#include "tests/test.h"
#include "fleet/wire.h"

#include <math.h>

static struct wire_out outs[] = {
    {1, {1}, "tcp://10.0.0.1:7100", .25, .5, false, {0}, {0}},
    {3, {3}, "tcp://host:1", 0, 0, true, {7}, {8}},
};
static struct wire_in ins[] = {
    {0, {9}, 1000, 5}, {1, {1}, 0, 0}, {3, {3}, 77, 9}};
static const struct wire_slice example = {
    .plan = 5,
    .node = 2,
    .nodes = 4,
    .dimension = 3,
    .radius = 1.5,
    .exponent = -41,
    .grid = INT64_C(1) << 40,
    .rounds = 7,
    .seal = {1, 2, 3},
    .own = {.5, .1, 99},
    .out_count = 2,
    .in_count = 3,
    .out = outs,
    .in = ins,
};

static void test_slice(void **state)
{
    (void)state;
    struct wire_bytes bytes = {0};
    struct wire_slice back = {0};
    assert_true(wire_write_slice(&bytes, &example));
    assert_int_equal(wire_type(bytes.data, bytes.size), WIRE_SLICE);
    assert_true(wire_read_slice(bytes.data, bytes.size, &back));
    assert_int_equal(back.plan, 5);
    assert_int_equal(back.exponent, -41);
    assert_int_equal(back.grid, INT64_C(1) << 40);
    assert_true(back.radius == 1.5 && back.own.noise == .1);
    assert_true(back.rounds == 7);
    assert_int_equal(back.out_count, 2);
    assert_memory_equal(back.out, outs, sizeof outs);
    assert_int_equal(back.in_count, 3);
    assert_int_equal(back.in[2].limit, 77);
    assert_true(back.in[2].length == 9);
    assert_memory_equal(back.seal, example.seal, WIRE_DIGEST);
    wire_slice_free(&back);
    wire_free(&bytes);
}

/* Each change breaks one rule of the page. */
static void test_refuses_slices(void **state)
{
    (void)state;
    struct wire_bytes bytes = {0};
    for (int rule = 0; rule < 14; rule++) {
        struct wire_out out[2] = {outs[0], outs[1]};
        struct wire_in in[3] = {ins[0], ins[1], ins[2]};
        struct wire_slice bad = example, back;
        bad.out = out;
        bad.in = in;
        switch (rule) {
        case 0:
            bad.node = 4;
            break;
        case 1:
            bad.dimension = 0;
            break;
        case 2:
            bad.radius = 0;
            break;
        case 3:
            bad.radius = NAN;
            break;
        case 4:
            bad.own.weight = -1;
            break;
        case 5:
            bad.own.noise = INFINITY;
            break;
        case 6:
            out[0].to = 2;
            break;
        case 7:
            out[0].to = 3;
            break;
        case 8:
            out[1].to = 4;
            break;
        case 9:
            memcpy(out[1].key, out[0].key, WIRE_KEY);
            break;
        case 10:
            in[2].limit = INT64_C(1) << 61;
            break;
        case 11:
            bad.exponent = 901;
            break;
        case 12:
            out[0].weight = -0.5;
            break;
        case 13:
            bad.dimension = WIRE_DIMENSION + 1;
            break;
        }
        assert_true(wire_write_slice(&bytes, &bad));
        if (wire_read_slice(bytes.data, bytes.size, &back))
            fail_msg("rule %d is not kept", rule);
    }
    wire_free(&bytes);
}

/* A plan is for one round or more. */
static void test_refuses_rounds(void **state)
{
    (void)state;
    struct wire_bytes bytes = {0};
    struct wire_slice bad = example, back;
    bad.rounds = 0;
    assert_true(wire_write_slice(&bytes, &bad));
    assert_false(wire_read_slice(bytes.data, bytes.size, &back));
    wire_free(&bytes);
}

static void test_round_trips(void **state)
{
    (void)state;
    struct wire_bytes bytes = {0};
    uint8_t digest[WIRE_DIGEST] = {1, 2, 3};
    struct wire_hello hello = {digest,      12, true, 40,
                               WIRE_NO_END, 6,  2,    {{3, 0}, {1, 7}}},
                      hello_back;
    assert_true(wire_write_hello(&bytes, &hello));
    assert_true(wire_read_hello(bytes.data, bytes.size, &hello_back));
    assert_memory_equal(hello_back.digest, digest, sizeof digest);
    assert_true(hello_back.last == 12 && hello_back.results);
    assert_true(hello_back.left == 40 && hello_back.own == WIRE_NO_END);
    assert_int_equal(hello_back.session, 6);
    assert_int_equal(hello_back.ending_count, 2);
    for (int k = 0; k < 2; k++)
        assert_true(hello_back.ending[k].to == hello.ending[k].to &&
                    hello_back.ending[k].left == hello.ending[k].left);
    struct wire_open open = {1, 2, 1000, 5, 10, 20, 30, .early = false},
                     open_back;
    assert_true(wire_write_open(&bytes, &open));
    assert_true(wire_read_open(bytes.data, bytes.size, &open_back));
    assert_true(open_back.plan == 1 && open_back.round == 2 &&
                open_back.ahead == 1000 && open_back.period == 5);
    assert_true(open_back.send == 10 && open_back.share == 20 &&
                open_back.uplink == 30 && !open_back.early);
    int64_t values[] = {INT64_MIN, -1, 0, INT64_MAX};
    struct wire_share share;
    const struct wire_share given = {7, example.seal, WIRE_PART_DATA, NULL, 0};
    assert_true(wire_write_share(&bytes, &given, values, 4));
    assert_true(wire_read_share(bytes.data, bytes.size, &share));
    assert_int_equal(share.size, 32);
    assert_memory_equal(share.seal, example.seal, WIRE_DIGEST);
    assert_int_equal(share.part, WIRE_PART_DATA);
    for (int k = 0; k < 4; k++)
        assert_true(wire_integer(share.values, k) == values[k]);
    wire_free(&bytes);
}

static void test_sum(void **state)
{
    (void)state;
    struct wire_bytes bytes = {0};
    const int64_t values[] = {INT64_MIN, -1, 0, INT64_MAX};
    uint8_t parts[2] = {0};
    wire_part_set(parts, 0, WIRE_PART_DATA);
    wire_part_set(parts, 1, WIRE_PART_LEDGER);
    wire_part_set(parts, 1, WIRE_PART_SPENT);
    wire_part_set(parts, 3, WIRE_PART_PROBE);
    uint8_t sent[1] = {WIRE_PART_DATA | WIRE_PART_LATE << 4};
    struct wire_sum sum = {.round = 7,
                           .digest = example.seal,
                           .parts = parts,
                           .parts_size = 2,
                           .sent = sent,
                           .sent_size = 1};
    assert_true(wire_write_sum(&bytes, &sum, values, 4));
    assert_true(wire_read_sum(bytes.data, bytes.size, &sum));
    assert_true(sum.round == 7);
    assert_int_equal(wire_part(sum.parts, 0), WIRE_PART_DATA);
    assert_int_equal(wire_part(sum.parts, 1), WIRE_PART_SPENT);
    assert_int_equal(wire_part(sum.parts, 2), WIRE_PART_DOWN);
    assert_int_equal(wire_part(sum.parts, 3), WIRE_PART_PROBE);
    assert_int_equal(sum.sent_size, 1);
    assert_int_equal(wire_part(sum.sent, 1), WIRE_PART_LATE);
    assert_int_equal(wire_sent_size(0), 0);
    assert_int_equal(wire_sent_size(3), 2);
    assert_int_equal(wire_parts_size(0), 1);
    assert_int_equal(wire_parts_size(2), 2);
    wire_free(&bytes);
}

static void test_mark(void **state)
{
    (void)state;
    struct wire_bytes bytes = {0};
    struct wire_mark mark = {3, 4, 17, 2}, back;
    assert_true(wire_write_mark(&bytes, &mark));
    assert_int_equal(wire_type(bytes.data, bytes.size), WIRE_MARK);
    assert_true(wire_read_mark(bytes.data, bytes.size, &back));
    assert_memory_equal(&mark, &back, sizeof mark);
    struct wire_refusal refusal = {3, 4, 5}, refusal_back;
    assert_true(wire_write_refusal(&bytes, &refusal));
    assert_true(wire_read_refusal(bytes.data, bytes.size, &refusal_back));
    assert_memory_equal(&refusal, &refusal_back, sizeof refusal);
    mark.next = 3; /* a session is never given twice */
    assert_true(wire_write_mark(&bytes, &mark));
    assert_false(wire_read_mark(bytes.data, bytes.size, &back));
    wire_free(&bytes);
}

/* A result has a decoder that there is and a bar that is no less than 0. */
static void test_result(void **state)
{
    (void)state;
    struct wire_bytes bytes = {0};
    double estimate[] = {-0.0, 1e-300, 3};
    struct wire_result result;
    assert_true(wire_write_result(
        &bytes, &(struct wire_result){7, 3, 2, 1, .04, NULL, 0}, estimate, 3));
    assert_true(wire_read_result(bytes.data, bytes.size, &result));
    assert_true(wire_number(result.estimate, 1) == 1e-300);
    assert_true(result.arrived == 3 && result.contributors == 2);
    assert_true(result.decoder == 1 && result.bar == .04);
    assert_true(wire_write_result(
        &bytes, &(struct wire_result){7, 3, 0, 1, -1, NULL, 0}, estimate, 0));
    assert_false(wire_read_result(bytes.data, bytes.size, &result));
    assert_true(wire_write_result(
        &bytes, &(struct wire_result){7, 3, 0, WIRE_DECODERS, 0, NULL, 0},
        estimate, 0));
    assert_false(wire_read_result(bytes.data, bytes.size, &result));
    assert_true(wire_write_result(
        &bytes, &(struct wire_result){7, 3, 0, 0, 0, NULL, 0}, estimate, 0));
    assert_true(wire_read_result(bytes.data, bytes.size, &result));
    assert_int_equal(result.size, 0);
    wire_free(&bytes);
}

/* A share has values or a reason, not both and not neither. */
static void test_withheld(void **state)
{
    (void)state;
    struct wire_bytes bytes = {0};
    struct wire_share share;
    int64_t values[] = {1, 2};
    for (int part = 0; part <= WIRE_PARTS; part++) {
        bool data = part == WIRE_PART_DATA;
        bool reason = part > WIRE_PART_DATA && part < WIRE_PARTS;
        const struct wire_share given = {7, example.seal, (enum wire_part)part,
                                         NULL, 0};
        assert_true(wire_write_share(&bytes, &given, values, 2));
        assert_true(wire_read_share(bytes.data, bytes.size, &share) == data);
        assert_true(wire_write_share(&bytes, &given, NULL, 0));
        assert_true(wire_read_share(bytes.data, bytes.size, &share) == reason);
        assert_true(!reason || (share.size == 0 && (int)share.part == part));
    }
    wire_free(&bytes);
}

static bool read_any(const void *data, size_t size)
{
    struct wire_hello hello;
    struct wire_open open;
    struct wire_share share;
    struct wire_sum sum;
    struct wire_refusal refusal;
    struct wire_slice slice;
    if (wire_read_slice(data, size, &slice)) {
        wire_slice_free(&slice);
        return true;
    }
    return wire_read_hello(data, size, &hello) ||
           wire_read_open(data, size, &open) ||
           wire_read_share(data, size, &share) ||
           wire_read_sum(data, size, &sum) ||
           wire_read_refusal(data, size, &refusal);
}

/* No message is the beginning of another, nor one with something behind it. */
static void test_cuts(void **state)
{
    (void)state;
    struct wire_bytes bytes = {0};
    assert_true(wire_write_slice(&bytes, &example));
    for (size_t size = 0; size < bytes.size; size++)
        assert_false(read_any(bytes.data, size));
    assert_true(read_any(bytes.data, bytes.size));
    char *longer = malloc(bytes.size + 1);
    memcpy(longer, bytes.data, bytes.size);
    longer[bytes.size] = '\0';
    assert_false(read_any(longer, bytes.size + 1));
    free(longer);
    wire_free(&bytes);
}

/* Random changes: whatever happens, it ends without a crash. */
static void test_changes(void **state)
{
    (void)state;
    struct wire_bytes bytes = {0};
    uint64_t seed = 3;
    int taken = 0;
    assert_true(wire_write_slice(&bytes, &example));
    char *copy = malloc(bytes.size);
    for (int trial = 0; trial < 200000; trial++) {
        memcpy(copy, bytes.data, bytes.size);
        int changes = 1 + (int)(test_random(&seed) % 4);
        for (int k = 0; k < changes; k++)
            copy[test_random(&seed) % bytes.size] = (char)test_random(&seed);
        taken += read_any(copy, bytes.size);
    }
    assert_in_range(taken, 1, 199999);
    free(copy);
    wire_free(&bytes);
}

static void test_claims(void **state)
{
    (void)state;
    const uint8_t claims[][12] = {
        {0xdd, 0xff, 0xff, 0xff, 0xff, 2, 2},
        {0x95, 2, 5, 1, 0xc4, 1, 1, 0xc6, 0x40, 0, 0, 0},
        {0x95, 2, 4, 1, 1, 0xc6, 0xff, 0xff, 0xff, 0xff},
        {0x9e, 2, 2, 1, 0, 1, 1, 0xcb},
    };
    for (size_t k = 0; k < sizeof claims / sizeof *claims; k++)
        assert_false(read_any(claims[k], sizeof claims[k]));
    assert_false(read_any("", 0));
    assert_int_equal(wire_type("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_mark),
        cmocka_unit_test(test_refuses_slices),
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_refuses_rounds),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_withheld),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
