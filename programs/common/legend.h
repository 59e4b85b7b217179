/*
 * The words of a verb's tables, explained on request (--explain).
 */
#ifndef PROGRAM_LEGEND_H
#define PROGRAM_LEGEND_H

#include <stdbool.h>

/* Whether a verb has words to explain. */
bool legend_known(const char *verb);

/* Print them on stdout. */
void legend_print(const char *verb);

#endif
