/*
 * How the paper's bounds are printed next to the accounts of pricer privacy.
 */
#ifndef PROGRAM_PRINT_PAPER_H
#define PROGRAM_PRINT_PAPER_H

#include "print_privacy.h"

/* The members of a statement's JSON object that are about its bound. */
void paper_print_json(struct json *json, const struct privacy_answers *answers,
                      int64_t k);

/* The cells of a statement's row: printed, guarantee, corrected. */
void paper_print_cells(struct table *table,
                       const struct pricer_paper_bound *bound);

/* What the columns are about, which printed bounds hold and why; for relays
 * also delta', zeta and r of each, at most `rows` of them. */
void paper_print_footing(const struct privacy_answers *answers, int64_t rows);

#endif
