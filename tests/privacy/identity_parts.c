/*
 * The parts of the accounts of identities: averages over who else took part
 * against the plain sum over all sets, polygons against the curve they bound,
 * and sums of losses against all combinations.
 */
#include "tests/test.h"
#include "privacy/account.h"

/* A star: everyone sends to node 0. */
static struct pricer_network *star(int32_t leaves, const double *p)
{
    struct pricer_node nodes[16];
    struct pricer_link links[16];
    struct pricer_network *network = NULL;
    for (int32_t i = 0; i <= leaves; i++)
        nodes[i] = (struct pricer_node){.5, INFINITY, 1, NAN, NAN};
    for (int32_t i = 0; i < leaves; i++)
        links[i] = (struct pricer_link){i + 1, 0, p[i], NAN, 1, 1e-3};
    assert_int_equal(
        pricer_network_build(&(struct pricer_network_parts){8, 1, 0, nodes,
                                                            leaves + 1, links,
                                                            leaves, NULL, NULL},
                             &network, NULL, NULL),
        PRICER_OK);
    return network;
}

/* A relay with others of all sizes; one may have no noise, and the first node
 * none of its own or no weight. */
struct scene {
    struct pri_identity identity;
    int leaves;
    double p[16], variance[16];
};

static void set_scene(int trial, int leaves, uint64_t *seed,
                      struct scene *scene)
{
    struct pricer_plan *plan = NULL;
    double decades = trial % 3;
    for (int k = 0; k < leaves; k++)
        scene->p[k] = k == 1 && trial % 2 ? 1 : .05 + .9 * test_uniform(seed);
    struct pricer_network *network = star(leaves, scene->p);
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int k = 0; k < leaves; k++) {
        plan->weight[k] = k == 0 && trial % 5 == 3 ? 0 : test_uniform(seed);
        plan->noise[k] = pow(10, decades * (test_uniform(seed) - .5)) / 2;
    }
    if (trial % 5 == 4)
        plan->noise[0] = 0;
    scene->leaves = leaves;
    for (int k = 0; k < leaves; k++)
        scene->variance[k] = plan->noise[k] * plan->noise[k];
    scene->identity.p = scene->p[0];
    scene->identity.presence = (struct pri_presence){
        trial % 4 == 2 ? 300 : 8, plan->weight[0], scene->variance[0], 0};
    assert_int_equal(
        pri_identity_others(network, plan, 0, 1e-30, &scene->identity),
        PRICER_OK);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* Every set of others with any noise, by hand. */
static void plain_sum(const struct scene *scene, double eps,
                      struct pri_reach sum[2])
{
    sum[0] = sum[1] = (struct pri_reach){0};
    for (int set = 0; set < 1 << (scene->leaves - 1); set++) {
        struct pri_presence presence = scene->identity.presence;
        struct pri_reach direction[2];
        double mass = scene->p[0];
        for (int k = 1; k < scene->leaves; k++) {
            bool in = set >> (k - 1) & 1;
            mass *= in ? scene->p[k] : 1 - scene->p[k];
            presence.others += in ? scene->variance[k] : 0;
        }
        if (presence.others == 0 || mass == 0)
            continue;
        pri_presence_at(&presence, eps, direction);
        for (int k = 0; k < 2; k++) {
            sum[k].high += mass * direction[k].high;
            sum[k].low += mass * direction[k].low;
            sum[k].rise_high += mass * direction[k].rise_high;
            sum[k].rise_low += mass * direction[k].rise_low;
        }
    }
}

static void check_average(struct scene *scene, double eps, double part,
                          bool exact)
{
    struct pri_aim aim = {part, 1e-12, NAN};
    struct pri_reach direction[2], sum[2];
    assert_int_equal(
        pri_identity_average(&scene->identity, eps, &aim, direction),
        PRICER_OK);
    plain_sum(scene, eps, sum);
    for (int k = 0; k < 2; k++) {
        double room = 1e-9 * sum[k].high + 1e-300;
        if (direction[k].high < sum[k].low - room ||
            direction[k].low > sum[k].high + room)
            fail_msg(
                "direction %d eps %g: [%.12g, %.12g] not around [%.12g, %.12g]",
                k, eps, direction[k].low, direction[k].high, sum[k].low,
                sum[k].high);
        if (!exact)
            continue;
        assert_true(direction[k].high - direction[k].low <=
                    (part + 1e-9) * fmax(direction[k].high, 1e-12) +
                        (sum[k].high - sum[k].low));
        room = 1e-9 * sum[k].rise_high + 1e-300;
        if (direction[k].rise_high < sum[k].rise_low - room ||
            direction[k].rise_low > sum[k].rise_high + room)
            fail_msg("direction %d eps %g: rise [%.12g, %.12g] not around "
                     "[%.12g, %.12g]",
                     k, eps, direction[k].rise_low, direction[k].rise_high,
                     sum[k].rise_low, sum[k].rise_high);
    }
}

static void test_average(void **state)
{
    (void)state;
    uint64_t seed = 3;
    int most = 0;
    for (int trial = 0; trial < 30; trial++) {
        struct scene scene = {0};
        bool exact = trial % 7 > 0; /* beyond 1,024 sets they are grouped */
        set_scene(trial, exact ? 9 : 13, &seed, &scene);
        for (double part = .3; part > 1e-4; part /= 20)
            for (double eps = 0; eps < 40; eps = 3.1 * eps + .02)
                check_average(&scene, eps, part, exact);
        most = scene.identity.nodes > most ? scene.identity.nodes : most;
        pri_identity_free(&scene.identity);
    }
    print_message("at most %d nodes\n", most);
}

/* The height of a polygon at a loss. */
static double height_at(const struct pri_polygon *polygon, double loss)
{
    int32_t k = 0, last = polygon->count - 1;
    while (k < last && polygon->loss[k + 1] <= loss)
        k++;
    if (k == last)
        return polygon->height[last];
    double share = exp(loss - polygon->loss[k + 1]) *
                   expm1(polygon->loss[k] - loss) /
                   expm1(polygon->loss[k] - polygon->loss[k + 1]);
    return polygon->height[k] +
           share * (polygon->height[k + 1] - polygon->height[k]);
}

static void test_polygons(void **state)
{
    (void)state;
    uint64_t seed = 6;
    struct pri_curves *curves;
    struct pri_polygon *above = pri_alloc(2, sizeof *above);
    struct pri_polygon *below = pri_alloc(2, sizeof *below);
    assert_int_equal(pri_curves_new(&curves), PRICER_OK);
    for (int trial = 0; trial < 20; trial++) {
        struct scene scene = {0};
        set_scene(trial, 7, &seed, &scene);
        curves->fine = trial % 2 ? .3 : .05;
        curves->growth = trial % 2 ? .3 : .05;
        curves->part = trial % 3 ? 1e-4 : 1e-2;
        curves->finest = INFINITY;
        assert_int_equal(
            pri_identity_curves(&scene.identity, 1e-4, 10, 1, INFINITY, curves),
            PRICER_OK);
        pri_polygons(curves, PRI_ABOVE, above);
        pri_polygons(curves, PRI_BELOW, below);
        assert_true(above[0].height[0] == above[1].height[0]);
        assert_true(below[0].height[0] == below[1].height[0]);
        double end = curves->loss[curves->last];
        for (int k = 0; k < 300; k++) {
            double loss = end * pow(test_uniform(&seed), 3);
            struct pri_reach sum[2];
            plain_sum(&scene, loss, sum);
            for (int direction = 0; direction < 2; direction++) {
                double high = height_at(&above[direction], loss);
                double low = height_at(&below[direction], loss);
                assert_true(high >= sum[direction].low * (1 - 1e-9));
                assert_true(low <= sum[direction].high * (1 + 1e-9));
                if (trial % 2 == 0 && trial % 3 && loss < 2 &&
                    sum[direction].low > 1e-3)
                    assert_true(high - low < .06 * high);
            }
        }
        pri_identity_free(&scene.identity);
    }
    free(above);
    free(below);
    free(curves);
}

enum { ATOMS = 6, ROUNDS = 5 };

/* E (1 - e^(eps - sum of losses))_+ over all combinations. */
static double all_sums(const double *loss, const double *mass, double eps)
{
    double sum = 0;
    for (int all = 0; all < 7776; all++) {
        double total = 0, weight = 1;
        for (int t = 0, rest = all; t < ROUNDS; t++, rest /= ATOMS) {
            total += loss[rest % ATOMS];
            weight *= mass[rest % ATOMS];
        }
        if (total > eps)
            sum += weight * (isinf(total) ? 1 : -expm1(eps - total));
    }
    return sum;
}

static void test_losses(void **state)
{
    (void)state;
    uint64_t seed = 9;
    struct pri_losses *losses = NULL;
    for (int trial = 0; trial < 60; trial++) {
        double loss[ATOMS], mass[ATOMS], whole = 0, eps[2];
        double scale = pow(10, trial % 6 - 2), delta = trial % 2 ? .2 : 1e-3;
        for (int k = 0; k < ATOMS; k++) {
            loss[k] = scale * (k < 3 ? test_uniform(&seed) - .7
                                     : pow(10, 2 * test_uniform(&seed) - 1));
            mass[k] = pow(10, -2 * test_uniform(&seed));
            whole += mass[k];
        }
        if (trial % 5 == 0) {
            loss[ATOMS - 1] = INFINITY;
            mass[ATOMS - 1] = 1e-5 * whole;
        }
        whole = 0;
        for (int k = 0; k < ATOMS; k++)
            whole += mass[k];
        for (int side = 0; side < 2; side++) {
            assert_int_equal(pri_losses_begin(side, 512, scale / 100, &losses),
                             PRICER_OK);
            for (int k = 0; k < ATOMS; k++)
                pri_losses_put(losses, loss[k], mass[k] / whole);
            pri_losses_repeat(losses, ROUNDS, 1e-6 * delta);
            eps[side] = pri_losses_eps(losses, delta);
        }
        double scaled = pow(whole, ROUNDS);
        assert_true(all_sums(loss, mass, eps[PRI_ABOVE]) / scaled <=
                    delta * (1 + 1e-8));
        if (eps[PRI_BELOW] > 0)
            assert_true(all_sums(loss, mass, eps[PRI_BELOW]) / scaled >=
                        delta * (1 - 1e-8));
        assert_true(eps[PRI_BELOW] <= eps[PRI_ABOVE]);
        assert_true(eps[PRI_BELOW] >= .98 * eps[PRI_ABOVE] - .02 * scale);
    }
    pri_losses_free(losses);
}

/* Many rounds of one loss or its opposite: the sums drift far from their
 * labels, and the number that keeps count of that must not leave its range. */
static void test_long_sums(void **state)
{
    (void)state;
    struct pri_losses *losses = NULL;
    for (double step = .01; step < 300; step *= 5) {
        double loss = 1.37 * step, back = 1 / (1 + exp(loss)), eps[2];
        for (int side = 0; side < 2; side++) {
            assert_int_equal(pri_losses_begin(side, 256, step, &losses),
                             PRICER_OK);
            pri_losses_put(losses, loss, 1 - back);
            pri_losses_put(losses, -loss, back);
            pri_losses_repeat(losses, 3000, 1e-9);
            eps[side] = pri_losses_eps(losses, 1e-3);
            assert_true(isfinite(eps[side]) && eps[side] > 0);
        }
        assert_true(eps[PRI_BELOW] <= eps[PRI_ABOVE]);
        double mean = 3000 * loss * (1 - 2 * back);
        double far = 8 * loss * sqrt(3000 * back * (1 - back)) + 10 * step;
        assert_true(eps[PRI_ABOVE] >= .9 * (mean - far));
        assert_true(eps[PRI_BELOW] <= mean + far);
    }
    pri_losses_free(losses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_average),
        cmocka_unit_test(test_polygons),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_long_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
