/*
 * A network of very many nodes, drawn as cells: part of report_network().
 */
#ifndef PROGRAM_REPORT_CELLS_H
#define PROGRAM_REPORT_CELLS_H

#include "report.h"

void report_cells(const struct report *report);

#endif
