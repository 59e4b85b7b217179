/*
 * What `pricer plan` says about the decoder of a plan.
 */
#include "print_plan.h"
#include "common/meaning.h"

#include <math.h>

/* What the server makes of the sums that arrive, and what it is worth. */
void plan_view_json_decoder(struct json *json, const struct plan_view *view)
{
    const struct pricer_decoder *decoder = view->decoder;
    bool used = decoder != NULL && decoder->blend > 0;
    json_text(json, "decoder",
              pricer_word(PRICER_WORDS_DECODE, used ? PRICER_DECODE_MINIMAX
                                                    : PRICER_DECODE_CONSTANT));
    json_number(json, "decoder_mse_lower",
                decoder != NULL ? decoder->lower : NAN);
    json_number(json, "decoder_mse_lower_stderr",
                decoder != NULL ? decoder->lower_stderr : NAN);
    json_number(json, "decoder_mse_upper",
                decoder != NULL ? decoder->upper : view->error.mse_worst_case);
    json_number(json, "decoder_mse_upper_stderr",
                decoder != NULL ? decoder->upper_stderr : 0);
    json_number(json, "mse_floor", view->floor.value);
    json_number(json, "mse_floor_stderr", view->floor.error);
    json_number(json, "zero_mse", meaning_centre(view->network));
}

double plan_view_error(const struct plan_view *view)
{
    const struct pricer_decoder *decoder = view->decoder;
    double error = view->error.mse_worst_case;
    if (decoder == NULL)
        return error;
    return fmin(error, decoder->upper);
}

static void decoder_row(struct table *table, const char *name, double value,
                        double error, double whole)
{
    if (isnan(value))
        return;
    table_cell(table, "%s", name);
    table_cell(table, "%.6g", value);
    table_cell(table, error > 0 ? "%.2g" : " ", error);
    table_cell(table, "%.3g %%", 100 * value / fmax(whole, 1e-300));
}

/* The bracket of the decoder between what everyone could do and what nobody
 * can. */
void plan_view_decoder(const struct plan_view *view)
{
    const struct pricer_decoder *decoder = view->decoder;
    if (decoder == NULL) {
        printf("Decoder: constant, every sum counts 1/n%s%s.\n",
               view->decoder_note != NULL ? "; " : "",
               view->decoder_note != NULL ? view->decoder_note : "");
        return;
    }
    double whole = decoder->constant;
    struct table *table = table_new(
        4, (const char *const[]){"worst case with", "error", "+-", "of W"});
    decoder_row(table, "W: every sum counting 1/n", whole, 0, whole);
    decoder_row(table,
                decoder->blend > 0 ? "B: this plan's decoder, at most"
                                   : "B: no decoder that is surely better",
                decoder->upper, decoder->upper_stderr, whole);
    decoder_row(table, "g: any linear decoder of this plan, at least",
                decoder->lower, decoder->lower_stderr, whole);
    decoder_row(table, "any plan and any linear decoder, at least",
                view->floor.value, view->floor.error, whole);
    table_print(table, stdout);
    if (decoder->patterns > 0)
        printf("B holds for all data within the radius, by a diagonal "
               "certificate over %s%lld\npatterns of links%s.\n",
               decoder->exact ? "all " : "", (long long)decoder->patterns,
               decoder->exact ? "" : " (+-: their sampling error)");
    if (decoder->unbiased)
        puts("Its estimates are unbiased: averages of rounds get better and "
             "better.");
}
