/*
 * Advice as tables, as JSON and as a figure.
 */
#ifndef PROGRAM_PRINT_ADVISE_H
#define PROGRAM_PRINT_ADVISE_H

#include "advise.h"

void advice_tables(const struct advice *advice);
void advice_json(const struct advice *advice);

/* The curves as SVG; false if the file cannot be written (errno says why). It
 * appears complete or not at all. */
bool advice_figure(const struct advice *advice, const char *path);

#endif
