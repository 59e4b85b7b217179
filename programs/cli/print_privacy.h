/*
 * How the answers of pricer privacy are printed.
 */
#ifndef PROGRAM_PRINT_PRIVACY_H
#define PROGRAM_PRINT_PRIVACY_H

#include "common/program.h"

/* One question and its answers. */
struct privacy_answers {
    struct pricer_question question;
    struct pricer_statement *statements;
    struct pricer_paper_bound *bounds; /* NULL: not asked for */
    int64_t count;
    const struct pricer_network *network; /* for names */
};

/* {"statements": [...]}, all of them, in order. */
void privacy_print_json(const struct privacy_answers *answers, int kinds);

/* What it comes to: the worst of every question, in words. */
void privacy_print_summary(const struct privacy_answers *answers, int kinds);

/* A table of one question, the worst first; at most `rows` of them. */
void privacy_print(const struct privacy_answers *answers, int64_t rows);

/* Who learns about whom, and at which delta: into an object that is open. */
void privacy_json_about(struct json *json, const struct pricer_network *network,
                        const struct pricer_statement *statement);

#endif
