/*
 * The plans of a study, told apart: what was asked for, in a few words, and what
 * is known of what the server learns.
 */
#ifndef PROGRAM_PRINT_PLANS_H
#define PROGRAM_PRINT_PLANS_H

#include "common/program.h"
#include "pricer_forward.h"

enum { ASKED_TEXT = 96, MADE_TEXT = 24 };

/* Such as "l1 0.1, classic, 5 rounds". */
void plan_asked(const struct pricer_plan_record *record, char text[ASKED_TEXT]);

/* Such as "forward, 3 hops, gaussian". */
void forward_asked(const struct pricer_forward_record *record,
                   char text[ASKED_TEXT]);

/* The largest budget towards everyone. */
double forward_eps(const struct pricer_network *network);

/* "2026-11-16 16:05" of seconds since 1970, or "-" of 0. */
void plan_made(int64_t when, char text[MADE_TEXT]);

/* The largest eps towards the server that is stored for a plan, its rounds and its
 * for radio, at whatever delta was asked for; NAN: none is. */
enum pricer_status plan_server_eps(struct pricer_study *study,
                                   const struct pricer_plan_record *plan,
                                   double *eps, struct pricer_fault *fault);

/* All plans, of either scheme, as a table, and as a member "plans" of an open JSON object. Errors
 * are also given as a share of that of always answering zero. */
enum pricer_status plans_table(struct pricer_study *study,
                               struct pricer_fault *fault);
enum pricer_status plans_json(struct json *json, struct pricer_study *study,
                              struct pricer_fault *fault);

#endif
