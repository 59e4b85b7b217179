/*
 * What `pricer report` reads and computes for a study of 'scheme: forward'.
 */
#ifndef PROGRAM_FORWARD_REPORT_H
#define PROGRAM_FORWARD_REPORT_H

#include "cli/material.h"
#include "page/report.h"

/* Open the study at the report's path; read its network and a plan, by number or
 * name, or with NULL the latest if there is one. The report borrows the network;
 * its plan is freed with pricer_forward_plan_free(). */
enum pricer_status report_forward_open(struct report *report,
                                       struct material *from, const char *plan,
                                       struct pricer_fault *fault);

/* What the plan is compared with, and what would be better: in networks that are
 * planned in a moment. */
enum pricer_status report_forward_compare(struct report *report,
                                          const struct material *from,
                                          struct pricer_fault *fault);

#endif
