/*
 * What a report shows of the tables of a study row by row.
 */
#ifndef PROGRAM_REPORT_STORED_H
#define PROGRAM_REPORT_STORED_H

#include "page/report.h"

/* Read the histogram, the rounds and the eps of every node that are stored for
 * the report's plan. */
enum pricer_status report_stored_read(struct pricer_study *study,
                                      struct report *report,
                                      struct pricer_fault *fault);

/* The least error for budgets times a factor, where that is quickly found. */
enum pricer_status report_stored_curve(struct report *report,
                                       struct pricer_fault *fault);

/* Add a row; false: out of memory. */
bool report_stored_add(struct report_rows *rows, const double numbers[6]);

void report_stored_free(struct report *report);

#endif
