/*
 * A network that is planned alone, for comparison with what ranks make of it.
 */
#ifndef TEST_JOB_H
#define TEST_JOB_H

#include "crew.h"
#include "read/read.h"
#include "tests/test.h"

#include <math.h>
#include <unistd.h>

static const char text[] =
    "dimension: 100\n"
    "network: {generator: geometric, nodes: 1, uplink: 0.05}\n"
    "trust: {eps: 1, delta: 1e-5, probable: {above: 0.5, eps: 1000}}\n";

static struct pricer_scenario *scenario_of(const char *const *sets, int count)
{
    char path[] = "/tmp/pricer-test-XXXXXX";
    struct pricer_scenario *scenario = NULL;
    struct pricer_fault fault = {""};
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, sizeof text - 1) > 0);
    close(file);
    if (pricer_scenario_read(path, sets, count, &scenario, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    unlink(path);
    return scenario;
}

/* The whole, planned alone, and what the ranks made of it. */
struct job {
    struct pricer_scenario *scenario;
    struct pricer_settings settings;
    struct pricer_network *network;
    struct pricer_plan *alone, *together;
    struct pricer_solve_info info;
    struct pricer_parted found[CREW_MOST];
    int32_t spoilt; /* a node whose plan a rank spoils before the check; -1 */
    int64_t wrong;  /* rows that are not the whole's */
};

static void open_job(struct job *job, const char *const *sets, int count,
                     enum pricer_bias bias)
{
    struct pricer_fault fault = {""};
    *job = (struct job){.scenario = scenario_of(sets, count), .spoilt = -1};
    assert_int_equal(
        pricer_scenario_network(job->scenario, NULL, &job->network, &fault),
        PRICER_OK);
    bool soft = bias == PRICER_BIAS_L1 || bias == PRICER_BIAS_L2;
    job->settings = (struct pricer_settings){
        .bias = bias,
        .lambda = soft ? 1e-3 / job->network->nodes : 0,
        .rounds = 1,
        .tolerance = 1e-6,
        .threads = 1};
    assert_int_equal(pricer_plan_optimise(job->network, &job->settings, NULL,
                                          &job->alone, &job->info, &fault),
                     PRICER_OK);
    assert_int_equal(pricer_plan_new(job->network, &job->together, &fault),
                     PRICER_OK);
}

static void close_job(struct job *job)
{
    pricer_plan_free(job->alone);
    pricer_plan_free(job->together);
    pricer_network_free(job->network);
    pricer_scenario_free(job->scenario);
}

/* The objective fixes weights to about the root of what it is sure of. */
static void compare(const double *a, const double *b, int64_t count, bool exact)
{
    double most = 0, off = 0;
    for (int64_t k = 0; k < count; k++) {
        most = fmax(most, fabs(a[k]));
        off = fmax(off, fabs(a[k] - b[k]));
    }
    if (exact ? off != 0 : !(off <= 1e-6 * most))
        fail_msg("off by %g of %g", off, most);
}

#endif
