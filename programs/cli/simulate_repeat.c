/*
 * From a study whose rounds have several attempts with the same payloads to what
 * decoding them together is worth.
 */
#include "simulate_repeat.h"
#include "pricer_decode.h"

#include <math.h>

static void print_json(const struct pricer_decoder *decoder, int64_t attempts,
                       const struct pricer_repeated *found)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_count(&json, "repeat", attempts);
    json_count(&json, "trials", found->trials);
    json_number(&json, "mse", found->stacked.value);
    json_number(&json, "mse_stderr", found->stacked.error);
    json_number(&json, "bar", found->bar);
    json_number(&json, "worst_case", decoder->upper);
    json_number(&json, "worst_case_stderr", decoder->upper_stderr);
    json_number(&json, "lower", decoder->lower);
    json_number(&json, "equal_mse", found->equal.value);
    json_number(&json, "equal_mse_stderr", found->equal.error);
    json_number(&json, "equal_worst_case", decoder->constant);
    json_number(&json, "fresh_mse", found->fresh.value);
    json_number(&json, "fresh_mse_stderr", found->fresh.error);
    json_close(&json, '}');
}

static void row(struct table *table, const char *name,
                const struct pricer_estimate *error, double worst)
{
    table_cell(table, "%s", name);
    if (isnan(error->value)) {
        table_cell(table, "not played");
        table_cell(table, " ");
    } else {
        table_cell(table, "%.6g", error->value);
        table_cell(table, "%.2g", error->error);
    }
    table_cell(table, isnan(worst) ? " " : "%.6g", worst);
}

static void print_table(const struct pricer_decoder *decoder, int64_t attempts,
                        const struct pricer_repeated *found)
{
    printf("%lld trials of a round with %lld attempts, the same payloads in "
           "each\n\n",
           (long long)found->trials, (long long)attempts);
    struct table *table = table_new(
        4, (const char *const[]){"error of", "measured", "+-", "worst case"});
    row(table, "all sums decoded together", &found->stacked, decoder->upper);
    row(table, "the mean of the attempts, sums over n", &found->equal,
        decoder->constant);
    row(table, "the same with fresh noise, same budgets", &found->fresh, NAN);
    table_print(table, stdout);
    printf("Mean error bar %.6g. Links are charged for one release; pricer "
           "privacy says what\nthe server learns. Nothing was stored.\n",
           found->bar);
}

static enum pricer_status play(
    const struct material *from,
    const struct pricer_simulation_settings *settings,
    const struct pricer_decoder *decoder, struct pricer_repeated *found,
    struct pricer_fault *fault)
{
    struct pricer_simulation_settings stacked = *settings;
    stacked.decoder = decoder;
    return pricer_stack_simulate(from->network, from->plan, &stacked,
                                 (int32_t)from->settings.repeat, found, fault);
}

enum pricer_status simulate_repeat(
    const struct material *from,
    const struct pricer_simulation_settings *settings, bool as_json,
    struct pricer_fault *fault)
{
    struct pricer_decoder *decoder = NULL;
    struct pricer_repeated found;
    struct progress progress;
    int32_t attempts = (int32_t)from->settings.repeat;
    if (settings->decoder != NULL && settings->decoder->attempts == attempts) {
        enum pricer_status played =
            play(from, settings, settings->decoder, &found, fault);
        if (played == PRICER_OK)
            (as_json ? print_json : print_table)(settings->decoder, attempts,
                                                 &found);
        return played;
    }
    progress_start(&progress, "decoder");
    struct pricer_decoder_settings ask = {.seed = (uint64_t)from->seed,
                                          .threads = settings->threads,
                                          .watch = &progress.watch};
    enum pricer_status status = pricer_stack_fit(
        from->network, from->plan, &ask, attempts, &decoder, fault);
    progress_end(&progress);
    if (status == PRICER_OK)
        status = play(from, settings, decoder, &found, fault);
    if (status == PRICER_OK)
        (as_json ? print_json : print_table)(decoder, attempts, &found);
    pricer_decoder_free(decoder);
    return status;
}
