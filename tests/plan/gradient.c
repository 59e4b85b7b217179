/*
 * The paper's descent: it stays private, descends, ends where no feasible step
 * helps, repeats itself for equal seeds, starts where it is told to, and lands on
 * the paper's own numbers.
 */
#include "tests/sample.h"
#include "plan/plan.h"

/* Noise per weight, classic; enough for the paper's network. */
static double classic_slope(const struct pricer_network *net, double eps,
                            double delta)
{
    return 2 * net->radius / eps * sqrt(2 * log(1.25 / delta));
}

struct trial {
    struct pricer_network *net;
    double *slope, *self_slope;
};

static struct trial open_trial(struct pricer_network *net)
{
    struct trial trial = {net, calloc((size_t)net->links + 1, sizeof(double)),
                          calloc((size_t)net->nodes, sizeof(double))};
    for (int32_t l = 0; l < net->links; l++)
        trial.slope[l] = classic_slope(net, net->eps[l], net->delta[l]);
    for (int32_t i = 0; i < net->nodes; i++)
        trial.self_slope[i] =
            classic_slope(net, net->self_eps[i], net->self_delta[i]);
    return trial;
}

static void close_trial(struct trial *trial)
{
    free(trial->slope);
    free(trial->self_slope);
    pricer_network_free(trial->net);
}

/* The paper's ten nodes: ring neighbours are trusted. */
static struct trial paper_trial(double p_c)
{
    static const double p[] = {.1, .1, .8, .1, .1, .9, .1, .1, .9, .1};
    struct pricer_node nodes[10];
    struct pricer_link links[90];
    int64_t count = 0;
    for (int32_t i = 0; i < 10; i++) {
        nodes[i] = (struct pricer_node){p[i], 1000, 1e-3, NAN, NAN};
        for (int32_t j = 0; j < 10; j++) {
            int32_t apart = (i - j + 10) % 10;
            if (i != j)
                links[count++] = (struct pricer_link){
                    i, j, p_c, NAN, apart == 1 || apart == 9 ? 1000 : 1, 1e-3};
        }
    }
    struct pricer_network *net = NULL;
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             128, 1, 1, nodes, 10, links, count, NULL, NULL},
                         &net, NULL, NULL),
                     PRICER_OK);
    return open_trial(net);
}

static struct pricer_plan *run(const struct trial *trial,
                               const struct pricer_settings *settings,
                               struct pricer_gradient options)
{
    struct pri_descent descent = {trial->net, settings, trial->slope,
                                  trial->self_slope, options};
    struct pricer_plan *plan = NULL;
    struct pricer_fault fault = {""};
    if (pri_descend(&descent, &plan, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    for (int32_t l = 0; l < plan->links; l++)
        assert_true(plan->weight[l] >= 0 &&
                    plan->noise[l] >= trial->slope[l] * plan->weight[l]);
    for (int32_t i = 0; i < plan->nodes; i++)
        assert_true(plan->self_weight[i] >= 0 &&
                    plan->self_noise[i] >=
                        trial->self_slope[i] * plan->self_weight[i]);
    return plan;
}

/* The trace must never rise when the objective is smooth (l2) and the steps
 * are short. */
struct falling {
    double before;
    int64_t calls;
    int32_t start;
};

static void must_fall(void *context, int32_t start, int64_t iteration,
                      double objective)
{
    struct falling *falling = context;
    if (start != falling->start)
        falling->before = INFINITY;
    assert_true(objective <= falling->before * (1 + 1e-14));
    assert_int_equal(iteration, falling->calls % 201);
    falling->before = objective;
    falling->start = start;
    falling->calls++;
}

static void test_descends(void **state)
{
    (void)state;
    struct trial trial = paper_trial(.5);
    struct pricer_settings settings = {.bias = PRICER_BIAS_L2, .lambda = .1};
    struct falling falling = {INFINITY, 0, 0};
    struct pricer_plan *plan =
        run(&trial, &settings,
            (struct pricer_gradient){
                .iterations = 200, .trace = must_fall, .context = &falling});
    assert_int_equal(falling.calls, 4 * 201);
    pricer_plan_free(plan);
    close_trial(&trial);
}

/* Where the objective is smooth a long descent ends at a stationary point:
 * nothing moves any more, and no other plan tried is better. */
static void test_stationary(void **state)
{
    (void)state;
    uint64_t seed = 7;
    struct trial trial = open_trial(sample_network(&seed, 4, 1, 2, 1));
    struct pricer_settings settings = {.bias = PRICER_BIAS_L2, .lambda = .1};
    struct pricer_gradient options = {
        .weight_step = .05, .iterations = 200000, .starts = 2};
    struct pricer_plan *plan = run(&trial, &settings, options);
    struct pricer_error here, there;
    assert_int_equal(
        pricer_plan_evaluate(trial.net, &settings, plan, &here, NULL),
        PRICER_OK);
    for (int k = 0; k < 2000; k++) {
        struct pricer_plan *other = sample_plan(&seed, trial.net);
        for (int32_t l = 0; l < plan->links; l++) {
            other->weight[l] =
                fmax(0, plan->weight[l] + .01 * (test_uniform(&seed) - .5));
            other->noise[l] = trial.slope[l] * other->weight[l];
        }
        for (int32_t i = 0; i < plan->nodes; i++) {
            other->self_weight[i] = fmax(
                0, plan->self_weight[i] + .01 * (test_uniform(&seed) - .5));
            other->self_noise[i] = trial.self_slope[i] * other->self_weight[i];
        }
        assert_int_equal(
            pricer_plan_evaluate(trial.net, &settings, other, &there, NULL),
            PRICER_OK);
        assert_true(there.objective >= here.objective * (1 - 1e-9));
        pricer_plan_free(other);
    }
    pricer_plan_free(plan);
    close_trial(&trial);
}

/*
 * The paper's table: 10^5 iterations of step 0.01 end above the optimum, and
 * less than 15 % above it, in every cell.
 */
static void test_paper_table(void **state)
{
    (void)state;
    static const struct {
        double p_c, lambda, optimum;
    } cells[] = {{.1, .1, .38328}, {.1, .5, .39688}, {.5, .1, .14957}};
    for (int k = 0; k < 3; k++) {
        struct trial trial = paper_trial(cells[k].p_c);
        struct pricer_settings settings = {.bias = PRICER_BIAS_L1,
                                           .lambda = cells[k].lambda};
        struct pricer_plan *plan =
            run(&trial, &settings, (struct pricer_gradient){.starts = 1});
        struct pricer_error error;
        assert_int_equal(
            pricer_plan_evaluate(trial.net, &settings, plan, &error, NULL),
            PRICER_OK);
        assert_true(error.objective > cells[k].optimum * .9999);
        assert_true(error.objective < cells[k].optimum * 1.15);
        pricer_plan_free(plan);
        close_trial(&trial);
    }
}

static void test_seeded(void **state)
{
    (void)state;
    struct trial trial = paper_trial(.9);
    struct pricer_settings settings = {.bias = PRICER_BIAS_L1, .lambda = .1};
    struct pricer_gradient options = {.iterations = 50, .seed = 3};
    struct pricer_plan *one = run(&trial, &settings, options);
    struct pricer_plan *same = run(&trial, &settings, options);
    options.seed = 4;
    struct pricer_plan *other = run(&trial, &settings, options);
    size_t bytes = (size_t)one->links * sizeof(double);
    assert_memory_equal(one->weight, same->weight, bytes);
    assert_memory_not_equal(one->weight, other->weight, bytes);
    pricer_plan_free(one);
    pricer_plan_free(same);
    pricer_plan_free(other);
    close_trial(&trial);
}

/* Twice 50 steps, the second from where the first ended, are 100; and a point that
 * is not private is first made so. */
static void test_given_start(void **state)
{
    (void)state;
    struct trial trial = paper_trial(.9);
    struct pricer_settings settings = {.bias = PRICER_BIAS_L1, .lambda = .1};
    struct pricer_gradient options = {.iterations = 100, .starts = 1};
    struct pricer_plan *whole = run(&trial, &settings, options);
    options.iterations = 50;
    struct pricer_plan *half = run(&trial, &settings, options);
    struct pricer_plan *second =
        run(&trial, &settings,
            (struct pricer_gradient){.iterations = 50, .from = half});
    size_t bytes = (size_t)whole->links * sizeof(double);
    assert_memory_equal(second->weight, whole->weight, bytes);
    assert_memory_equal(second->noise, whole->noise, bytes);
    for (int32_t l = 0; l < half->links; l++)
        half->noise[l] = 0;
    struct pricer_plan *private =
        run(&trial, &settings,
            (struct pricer_gradient){
                .iterations = 1, .weight_step = 1e-300, .from = half});
    for (int32_t l = 0; l < half->links; l++) {
        double slope = trial.slope[l], weight = half->weight[l];
        assert_close(private->weight[l], weight / (1 + slope * slope), 1e-12);
    }
    pricer_plan_free(whole);
    pricer_plan_free(half);
    pricer_plan_free(second);
    pricer_plan_free(private);
    close_trial(&trial);
}

static void refuse(const struct trial *trial, enum pricer_bias bias,
                   struct pricer_gradient options, const char *words)
{
    struct pricer_settings settings = {.bias = bias, .lambda = .1};
    struct pri_descent descent = {trial->net, &settings, trial->slope,
                                  trial->self_slope, options};
    struct pricer_plan *plan = NULL;
    struct pricer_fault fault = {""};
    assert_int_equal(pri_descend(&descent, &plan, &fault), PRICER_VALUE);
    assert_null(plan);
    if (strstr(fault.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", fault.text, words);
}

static void test_refuses(void **state)
{
    (void)state;
    struct trial trial = paper_trial(.9);
    refuse(&trial, PRICER_BIAS_UNBIASED, (struct pricer_gradient){0},
           "unbiased");
    refuse(&trial, PRICER_BIAS_L1, (struct pricer_gradient){.weight_step = -1},
           "must be positive");
    refuse(&trial, PRICER_BIAS_L1, (struct pricer_gradient){.starts = -1},
           "negative");
    refuse(&trial, PRICER_BIAS_L2, (struct pricer_gradient){.weight_step = 1e3},
           "diverges");
    uint64_t seed = 7;
    struct pricer_network *other = sample_network(&seed, 4, 1, 2, 1);
    struct pricer_plan *strange = sample_plan(&seed, other);
    refuse(&trial, PRICER_BIAS_L1, (struct pricer_gradient){.from = strange},
           "another network");
    pricer_plan_free(strange);
    pricer_network_free(other);
    strange = sample_plan(&seed, trial.net);
    refuse(&trial, PRICER_BIAS_L1,
           (struct pricer_gradient){.from = strange, .starts = 2}, "one start");
    pricer_plan_free(strange);
    close_trial(&trial);
}

/* Stopping hands out the plan of that moment; no trust at all hands out no
 * weight. */
static bool stop(void *context, double done)
{
    (void)context;
    return done < .1;
}

static void test_stops(void **state)
{
    (void)state;
    struct trial trial = paper_trial(.9);
    struct pricer_watch watch = {stop, NULL};
    struct pricer_settings settings = {
        .bias = PRICER_BIAS_L1, .lambda = .1, .watch = &watch};
    struct pricer_plan *plan =
        run(&trial, &settings,
            (struct pricer_gradient){.iterations = 1000, .starts = 50});
    pricer_plan_free(plan);
    for (int32_t l = 0; l < trial.net->links; l++)
        trial.slope[l] = INFINITY;
    plan = NULL;
    settings.watch = NULL;
    struct pri_descent descent = {
        trial.net, &settings, trial.slope, trial.self_slope, {.iterations = 9}};
    assert_int_equal(pri_descend(&descent, &plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < trial.net->links; l++)
        assert_true(plan->weight[l] == 0 && plan->noise[l] == 0);
    pricer_plan_free(plan);
    close_trial(&trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descends),    cmocka_unit_test(test_stationary),
        cmocka_unit_test(test_paper_table), cmocka_unit_test(test_seeded),
        cmocka_unit_test(test_given_start), cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
