/*
 * The words of a verb's tables, explained on request (--explain).
 */
#ifndef PROGRAM_LEGEND_H
#define PROGRAM_LEGEND_H

#include <stdbool.h>

/* Whether a verb has words to explain. */
bool legend_known(const char *verb);

/* Print them on stdout: all, or those of studies of a scheme. */
enum legend_scheme { LEGEND_ALL, LEGEND_SUM, LEGEND_FORWARD };
void legend_print(const char *verb, enum legend_scheme scheme);

#endif
