/*
 * How the results of pricer audit are printed.
 */
#ifndef PROGRAM_PRINT_AUDIT_H
#define PROGRAM_PRINT_AUDIT_H

#include "common/program.h"
#include "pricer_audit.h"

/* What an attack is held against. */
struct audit_claim {
    const char *name;
    double eps; /* INFINITY: nothing is claimed */
};

enum { AUDIT_CLAIMS = 2 };

/* One attack. */
struct audit_row {
    struct pricer_audit audit;
    int claims;
    struct audit_claim claim[AUDIT_CLAIMS];
    char law[200]; /* what of a release's law is contradicted; "": nothing */
};

/* What all attacks had in common. */
struct audit_terms {
    enum pricer_eavesdropper eavesdropper;
    int64_t rounds, seed;
    const struct pricer_network *network; /* for names */
    double confidence;
    double alarm; /* that any verdict of the table is wrong, at most */
};

/* Whether any claim of any row is contradicted. */
bool audit_contradicted(const struct audit_row *rows, int64_t count);

void audit_print(const struct audit_terms *terms, const struct audit_row *rows,
                 int64_t count);
void audit_print_json(const struct audit_terms *terms,
                      const struct audit_row *rows, int64_t count);

#endif
