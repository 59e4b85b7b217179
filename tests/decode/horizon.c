/*
 * Estimates that are averaged: over all patterns, the decoder of a horizon
 * against its definition and against those of other horizons.
 */
#include "brute.h"

/* Results to be averaged for ever: no bias is left, and the error of one round
 * is not above that of the unbiased constant decoder. */
static void test_unbiased_horizon(void **state)
{
    (void)state;
    int gains = 0;
    for (uint64_t start = 1; start <= 20; start++) {
        uint64_t seed = start;
        struct pricer_network *network = sample_network(&seed, 3, 1, 8, 1);
        struct pricer_settings settings = {.bias = PRICER_BIAS_UNBIASED};
        struct pricer_plan *plan = NULL;
        struct pricer_solve_info info;
        if (pricer_plan_optimise(network, &settings, NULL, &plan, &info,
                                 NULL) == PRICER_OK) {
            struct pricer_decoder_settings ask = {.horizon = INFINITY};
            struct pricer_decoder *decoder = fit(network, plan, ask);
            struct brute b = brute_of(network, plan, decoder);
            b.other = true;
            b.receiver = receive(network, plan, decoder);
            brute_all(&b);
            for (int i = 0; i < 3; i++)
                assert_true(fabs(b.mean[i]) < 1e-7);
            assert_true(decoder->upper <= decoder->constant);
            gains += decoder->upper < .98 * decoder->constant;
            pricer_receiver_free(b.receiver);
            pricer_decoder_free(decoder);
        }
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
    assert_true(gains >= 3);
}

/* For data X, the error of the mean of `rounds` estimates. */
static double error_of_mean(const struct brute *b, double rounds)
{
    double sum = b->heard / rounds;
    for (int i = 0; i < b->n; i++)
        for (int l = 0; l < b->n; l++)
            sum += b->x[i][l] * (b->m[i][l] / rounds +
                                 (1 - 1 / rounds) * b->mean[i] * b->mean[l]);
    return sum;
}

/* Over all patterns: the decoder of a horizon is, for the data it prepares for,
 * the best at the mean of so many rounds, and what it claims is so. */
static void test_horizons(void **state)
{
    (void)state;
    static const double horizons[] = {1, 5, 64};
    int better = 0;
    for (uint64_t start = 1; start <= 12; start++) {
        uint64_t seed = start;
        struct pricer_network *network = sample_network(&seed, 3, 1, 8, 1);
        struct pricer_plan *plan = sample_plan(&seed, network);
        struct brute brutes[3];
        struct pricer_decoder *decoder[3];
        for (int k = 0; k < 3; k++) {
            decoder[k] =
                fit(network, plan,
                    (struct pricer_decoder_settings){.horizon = horizons[k]});
            struct brute *b = &brutes[k];
            *b = brute_of(network, plan, decoder[k]);
            b->other = true;
            b->receiver = receive(network, plan, decoder[k]);
            brute_all(b);
            pricer_receiver_free(b->receiver);
        }
        for (int k = 0; k < 3; k++) {
            double own = error_of_mean(&brutes[k], horizons[k]);
            assert_true(decoder[k]->upper <= decoder[k]->constant);
            assert_true(own <= decoder[k]->upper * (1 + 1e-9));
            if (decoder[k]->blend < 1 ||
                decoder[k]->lower >= decoder[k]->constant * (1 - 1e-9))
                continue;
            assert_close(own, decoder[k]->lower, 1e-6);
            for (int other = 0; other < 3; other++) {
                double rival = error_of_mean(&brutes[other], horizons[k]);
                assert_true(own <= rival * (1 + 1e-6));
                better += own < .9 * rival;
            }
        }
        for (int k = 0; k < 3; k++)
            pricer_decoder_free(decoder[k]);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
    assert_true(better >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unbiased_horizon),
        cmocka_unit_test(test_horizons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
