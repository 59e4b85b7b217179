/*
 * A round of forwarding: what a node sends decodes to a vector of the release's
 * law, the same bits come from the same stream, what no honest node sends is
 * refused, and the bar is the worst case over data.
 */
#include "tests/test.h"
#include "forward/forward.h"
#include "pricer_forward.h"
#include "release/release.h"

enum { DIMENSION = 3, NODES = 3 };

/* Three nodes of different radii: two spheres, one Gaussian. */
struct world {
    struct pricer_network *network;
    struct pricer_forward_plan plan;
    struct pricer_forward_node node[NODES];
    struct pricer_forward_sender *sender[NODES];
    struct pricer_forward_receiver *receiver;
};

static void make_world(struct world *world)
{
    static const double uplink[NODES] = {.9, .5, .2},
                        radius[NODES] = {1, .5, 2};
    double inf[NODES], one[NODES], zero[NODES] = {0};
    struct pricer_fault fault = {""};
    for (int k = 0; k < NODES; k++) {
        inf[k] = INFINITY;
        one[k] = 1;
    }
    struct pricer_network_arrays arrays = {.dimension = DIMENSION,
                                           .radius = 2,
                                           .node_count = NODES,
                                           .node_radius = radius,
                                           .uplink = uplink,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .everyone_eps = one,
                                           .everyone_delta = zero};
    memset(world, 0, sizeof *world);
    assert_int_equal(
        pricer_network_build_arrays(&arrays, &world->network, NULL, &fault),
        PRICER_OK);
    for (int i = 0; i < NODES; i++) {
        struct pri_release release;
        assert_int_equal(
            pri_release_for_budget(
                &(struct pri_release_wish){
                    i == 2 ? PRI_RELEASE_GAUSSIAN : PRI_RELEASE_SPHERE,
                    DIMENSION, radius[i], 4 - i, 1e-5, 1, 0},
                &release, NULL),
            PRICER_OK);
        world->node[i] = (struct pricer_forward_node){
            .release = (enum pricer_release)release.kind,
            .threshold = release.t,
            .loss = release.e0,
            .noise = release.noise,
            .variance = release.variance,
            .coefficient = .5 + i};
        assert_int_equal(pricer_forward_sender_new(&world->node[i], radius[i],
                                                   DIMENSION, &world->sender[i],
                                                   NULL),
                         PRICER_OK);
    }
    world->plan.nodes = NODES;
    world->plan.node = world->node;
    if (pricer_forward_receiver_new(world->network, &world->plan,
                                    &world->receiver, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
}

static void free_world(struct world *world)
{
    for (int i = 0; i < NODES; i++)
        pricer_forward_sender_free(world->sender[i]);
    pricer_forward_receiver_free(world->receiver);
    pricer_network_free(world->network);
}

static int64_t bytes_of(const struct world *world, int node)
{
    return pricer_forward_payload(world->node[node].release, DIMENSION);
}

/* Decoded releases have mean x and the variance of the release. Each of 12
 * comparisons is off by 6 standard errors once in 10^8. */
static void test_law(void **state)
{
    enum { COUNT = 20000 };
    struct world world;
    (void)state;
    make_world(&world);
    for (int i = 0; i < NODES; i++) {
        double r = world.network->node_radius[i], mean[DIMENSION] = {0};
        double x[DIMENSION] = {.6 * r, 0, -.8 * r}, off = 0, squares = 0;
        double v = world.node[i].variance;
        for (int k = 0; k < COUNT; k++) {
            struct pricer_random random;
            unsigned char payload[64];
            double y[DIMENSION], square = 0;
            pricer_random_replay(&random, 7, PRICER_PURPOSE_NOISE, k, i,
                                 PRICER_SERVER);
            assert_int_equal(pricer_forward_release(world.sender[i], x, &random,
                                                    payload, NULL),
                             PRICER_OK);
            assert_int_equal(
                pricer_forward_receiver_decode(world.receiver, i, payload,
                                               bytes_of(&world, i), y, NULL),
                PRICER_OK);
            for (int c = 0; c < DIMENSION; c++) {
                mean[c] += y[c] / COUNT;
                square += (y[c] - x[c]) * (y[c] - x[c]);
            }
            off += square / COUNT;
            squares += square * square / COUNT;
        }
        for (int c = 0; c < DIMENSION; c++)
            assert_true(fabs(mean[c] - x[c]) < 6 * sqrt(v / COUNT));
        assert_true(fabs(off - v) < 6 * sqrt((squares - off * off) / COUNT));
    }
    free_world(&world);
}

/* Same stream, same bytes; the estimate is the sum of what is decoded; the kernel
 * gives other bytes each time. */
static void test_bytes(void **state)
{
    static const double x[DIMENSION] = {.1, .2, -.3};
    struct world world;
    double estimate[DIMENSION] = {0}, expected[DIMENSION] = {0};
    (void)state;
    make_world(&world);
    for (int i = 0; i < NODES; i++) {
        size_t size = (size_t)bytes_of(&world, i);
        unsigned char payload[3][64];
        double y[DIMENSION];
        assert_int_equal(size, i == 2 ? 4 * DIMENSION : 16);
        for (int k = 0; k < 2; k++) {
            struct pricer_random random;
            pricer_random_replay(&random, 1, PRICER_PURPOSE_NOISE, 5, i,
                                 PRICER_SERVER);
            assert_int_equal(pricer_forward_release(world.sender[i], x, &random,
                                                    payload[k], NULL),
                             PRICER_OK);
        }
        assert_memory_equal(payload[0], payload[1], size);
        for (int k = 1; k < 3; k++)
            assert_int_equal(pricer_forward_release(world.sender[i], x, NULL,
                                                    payload[k], NULL),
                             PRICER_OK);
        assert_memory_not_equal(payload[1], payload[2], size);
        assert_int_equal(pricer_forward_receiver_decode(world.receiver, i,
                                                        payload[0],
                                                        (int64_t)size, y, NULL),
                         PRICER_OK);
        assert_int_equal(pricer_forward_receiver_add(world.receiver, i,
                                                     payload[0], (int64_t)size,
                                                     estimate, NULL),
                         PRICER_OK);
        for (int c = 0; c < DIMENSION; c++)
            expected[c] += (.5 + i) / NODES * y[c];
    }
    for (int c = 0; c < DIMENSION; c++)
        assert_true(estimate[c] == expected[c]);
    free_world(&world);
}

static void write_number(int32_t value, unsigned char *bytes)
{
    for (int k = 0; k < 4; k++)
        bytes[k] = (unsigned char)((uint32_t)value >> 8 * k);
}

/* The integers of the format by hand: step 2^(exponent), the least with
 * R + 64 r < 2^(exponent + 30). */
static void test_format(void **state)
{
    static const int32_t values[DIMENSION] = {1 << 20, -77, 0};
    struct world world;
    unsigned char payload[4 * DIMENSION];
    double y[DIMENSION], reach;
    int exponent = -200;
    (void)state;
    make_world(&world);
    reach = 2 + 64 * world.node[2].noise;
    while (reach >= ldexp(1, exponent + 30))
        exponent++;
    for (int c = 0; c < DIMENSION; c++)
        write_number(values[c], payload + 4 * c);
    assert_int_equal(pricer_forward_receiver_decode(world.receiver, 2, payload,
                                                    sizeof payload, y, NULL),
                     PRICER_OK);
    for (int c = 0; c < DIMENSION; c++)
        assert_true(y[c] == ldexp(values[c], exponent));
    free_world(&world);
}

static void test_refused(void **state)
{
    struct world world;
    unsigned char payload[64] = {0};
    double y[DIMENSION] = {5, 5, 5}, x[DIMENSION] = {NAN, 0, 0};
    struct pricer_forward_node none = {0};
    struct pricer_forward_sender *sender = NULL;
    struct pricer_fault fault = {""};
    (void)state;
    make_world(&world);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(
            pricer_forward_receiver_decode(world.receiver, i, payload,
                                           bytes_of(&world, i) + 1, y, &fault),
            PRICER_VALUE);
        assert_non_null(strstr(fault.text, "bytes, not"));
        assert_int_equal(
            pricer_forward_release(world.sender[i], x, NULL, payload, &fault),
            PRICER_VALUE);
    }
    assert_int_equal(pricer_forward_receiver_decode(world.receiver, NODES,
                                                    payload, 16, y, &fault),
                     PRICER_VALUE);
    /* 20 deviations in every coordinate are too long. */
    for (int c = 0; c < DIMENSION; c++)
        write_number((int32_t)(2 * 20 / 66. * (1 << 29)), payload + 4 * c);
    assert_int_equal(pricer_forward_receiver_decode(world.receiver, 2, payload,
                                                    4 * DIMENSION, y, &fault),
                     PRICER_VALUE);
    assert_non_null(strstr(fault.text, "no honest one is longer"));
    write_number(INT32_MIN, payload);
    assert_int_equal(pricer_forward_receiver_add(world.receiver, 2, payload,
                                                 4 * DIMENSION, y, &fault),
                     PRICER_VALUE);
    assert_true(y[0] == 5 && y[1] == 5 && y[2] == 5);
    assert_int_equal(
        pricer_forward_sender_new(&none, 1, DIMENSION, &sender, &fault),
        PRICER_VALUE);
    none.release = PRICER_RELEASE_GAUSSIAN;
    assert_int_equal(
        pricer_forward_sender_new(&none, 1, DIMENSION, &sender, &fault),
        PRICER_VALUE);
    none.release = PRICER_RELEASE_SPHERE;
    assert_int_equal(
        pricer_forward_sender_new(&none, 1, DIMENSION, &sender, &fault),
        PRICER_VALUE);
    assert_null(sender);
    free_world(&world);
}

/* Radii and noise from the smallest to the largest: values fit, and decode to
 * within 7 deviations of the data. */
static void test_scales(void **state)
{
    static const double radii[] = {1e-100, 1e-3, 1, 1e100};
    static const double ratios[] = {1e-6, 1e-3, 1, 1e6};
    (void)state;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            struct world world;
            unsigned char payload[4 * DIMENSION];
            double r = radii[a], noise = r * ratios[b];
            double x[DIMENSION] = {r, 0, 0}, y[DIMENSION];
            double sent = fmax(noise, 2 * r / 1984);
            struct pricer_random random;
            make_world(&world);
            pricer_forward_sender_free(world.sender[2]);
            pricer_forward_receiver_free(world.receiver);
            world.network->node_radius[2] = r;
            world.node[2].noise = noise;
            assert_int_equal(pricer_forward_sender_new(&world.node[2], r,
                                                       DIMENSION,
                                                       &world.sender[2], NULL),
                             PRICER_OK);
            assert_int_equal(pricer_forward_receiver_new(world.network,
                                                         &world.plan,
                                                         &world.receiver, NULL),
                             PRICER_OK);
            pricer_random_replay(&random, 3, PRICER_PURPOSE_NOISE, a, b,
                                 PRICER_SERVER);
            assert_int_equal(pricer_forward_release(world.sender[2], x, &random,
                                                    payload, NULL),
                             PRICER_OK);
            assert_int_equal(
                pricer_forward_receiver_decode(world.receiver, 2, payload,
                                               sizeof payload, y, NULL),
                PRICER_OK);
            for (int c = 0; c < DIMENSION; c++)
                assert_true(fabs(y[c] - x[c]) < 7 * sent);
            assert_true(y[0] != y[1] && y[1] != y[2]);
            free_world(&world);
        }
}

/* A sum on any number of threads, in blocks of any size, has the bits of payloads
 * that are added one after the other; what is refused is not in it. */
static void test_sum(void **state)
{
    enum { LONG = 1000, MANY = 150 };
    static const double x[LONG] = {.5};
    struct pricer_forward_node node[MANY];
    double radius[MANY], one[LONG] = {0}, sum[LONG];
    const struct pricer_forward_plan plan = {.nodes = MANY, .node = node};
    const struct pricer_network network = {
        .nodes = MANY, .dimension = LONG, .node_radius = radius};
    struct pricer_forward_receiver *receiver = NULL;
    unsigned char(*payload)[4 * LONG] = calloc(MANY, sizeof *payload);
    struct pri_forward_arrival arrival[MANY];
    (void)state;
    for (int i = 0; i < MANY; i++) {
        struct pricer_forward_sender *sender = NULL;
        struct pricer_random random;
        node[i] = (struct pricer_forward_node){
            .release =
                i % 7 == 3 ? PRICER_RELEASE_GAUSSIAN : PRICER_RELEASE_SPHERE,
            .threshold = .05,
            .loss = 1,
            .noise = .3,
            .coefficient = 1 + .01 * i};
        radius[i] = 1 + i % 3;
        pricer_random_replay(&random, 3, PRICER_PURPOSE_NOISE, 1, i,
                             PRICER_SERVER);
        assert_int_equal(
            pricer_forward_sender_new(&node[i], radius[i], LONG, &sender, NULL),
            PRICER_OK);
        assert_int_equal(
            pricer_forward_release(sender, x, &random, payload[i], NULL),
            PRICER_OK);
        pricer_forward_sender_free(sender);
        arrival[i] = (struct pri_forward_arrival){
            .node = i,
            .payload = payload[i],
            .bytes = pricer_forward_payload(node[i].release, LONG)};
    }
    memset(payload[10], 0x7f, sizeof *payload); /* longer than honest ones */
    assert_int_equal(
        pricer_forward_receiver_new(&network, &plan, &receiver, NULL),
        PRICER_OK);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(pricer_forward_receiver_add(receiver, i, payload[i],
                                                     arrival[i].bytes, one,
                                                     NULL),
                         i == 10 ? PRICER_VALUE : PRICER_OK);
    for (int threads = 1; threads <= 5; threads += 2)
        for (int block = 1; block <= MANY; block += 49) {
            struct pri_forward_sum *adder = NULL;
            assert_int_equal(
                pri_forward_sum_new(receiver, MANY, threads, &adder),
                PRICER_OK);
            assert_int_equal(pri_forward_sum_block(adder), MANY);
            memset(sum, 0, sizeof sum);
            for (int i = 0; i < MANY; i += block)
                pri_forward_sum_add(adder, arrival + i,
                                    MANY - i < block ? MANY - i : block, sum);
            assert_memory_equal(sum, one, sizeof sum);
            for (int i = 0; i < MANY; i++)
                assert_int_equal(arrival[i].refused, i == 10);
            pri_forward_sum_free(adder);
        }
    pricer_forward_receiver_free(receiver);
    free(payload);
}

/* Against data that attain it: x_i = +-R_i e with the sign of a_i c_i - 1. */
static void test_bar(void **state)
{
    struct world world;
    (void)state;
    make_world(&world);
    for (int mask = 0; mask < 8; mask++) {
        bool arrived[NODES];
        double off = 0, noise = 0;
        for (int i = 0; i < NODES; i++) {
            double c = .5 + i;
            arrived[i] = mask >> i & 1;
            double bias = (arrived[i] ? c : 0) - 1;
            double x = world.network->node_radius[i] * (bias < 0 ? -1 : 1);
            off += bias * x;
            noise += arrived[i] ? c * c * world.node[i].variance : 0;
        }
        assert_close(pricer_forward_bar(world.network, &world.plan, arrived),
                     (off * off + noise) / 9, 1e-14);
    }
    free_world(&world);
}

static int32_t read_number(const unsigned char *bytes)
{
    return (int32_t)(bytes[0] | (uint32_t)bytes[1] << 8 |
                     (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
}

/* The payload of x with the noise of stream `round`. */
static void send(const struct pricer_forward_node *node, double radius,
                 const double *x, int64_t round, unsigned char *payload)
{
    struct pricer_forward_sender *sender = NULL;
    struct pricer_random random;
    pricer_random_replay(&random, 7, PRICER_PURPOSE_NOISE, round, 0,
                         PRICER_SERVER);
    assert_int_equal(
        pricer_forward_sender_new(node, radius, DIMENSION, &sender, NULL),
        PRICER_OK);
    assert_int_equal(pricer_forward_release(sender, x, &random, payload, NULL),
                     PRICER_OK);
    pricer_forward_sender_free(sender);
}

/*
 * Two data that differ by D, in the ball or clipped to it: with the same noise,
 * payloads differ by what the means differ by, which pri_gaussian_move() bounds.
 * The noise is small, so that steps are, and the bound is almost reached.
 */
static void test_diameter(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int k = 0; k < 4000; k++) {
        double radius = 3, diameter = exp(-10 * test_uniform(&seed));
        double noise = exp(-8 * test_uniform(&seed)), length = 0, square = 0;
        double x[DIMENSION], y[DIMENSION], size = 2 * test_uniform(&seed);
        unsigned char a[4 * DIMENSION], b[4 * DIMENSION];
        struct pricer_forward_node node = {.release = PRICER_RELEASE_GAUSSIAN,
                                           .noise = noise};
        for (int j = 0; j < DIMENSION; j++) {
            x[j] = size * radius * (test_uniform(&seed) - .5);
            y[j] = test_uniform(&seed) - .5;
            length += y[j] * y[j];
        }
        for (int j = 0; j < DIMENSION; j++)
            y[j] = x[j] + diameter * y[j] / sqrt(length);
        send(&node, radius, x, k, a);
        send(&node, radius, y, k, b);
        int exponent;
        frexp(radius + 64 * fmax(noise, 2 * radius / 1984), &exponent);
        for (int j = 0; j < DIMENSION; j++) {
            double off =
                ldexp((double)read_number(a + 4 * j) - read_number(b + 4 * j),
                      exponent - 30);
            square += off * off;
        }
        long double most =
            pri_gaussian_move(radius, diameter, DIMENSION, noise);
        assert_true(sqrt(square) <= most);
        if (size < 1)
            assert_true(sqrt(square) > most - 40 * ldexp(1, exponent - 30));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law),      cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_format),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_scales),   cmocka_unit_test(test_bar),
        cmocka_unit_test(test_diameter), cmocka_unit_test(test_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
