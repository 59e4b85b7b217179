/*
 * The rule by which a study that a server writes does not grow for ever: the
 * newest rounds stay, older ones go with all that was noted of them. What was
 * remembered of keys, the number that was opened last and the last estimate, to
 * which the next round may be relative, stay too.
 */
#include "study.h"

enum { AT_ONCE = 256 }; /* rounds, so that no transaction is long */

enum pricer_status pricer_study_prune(struct pricer_study *study, int64_t keep,
                                      struct pricer_fault *fault)
{
    static const char *const tables[] = {"dropped", "withheld", "delivery",
                                         "arrival", "round"};
    enum { ROUND = 4 };
    int64_t last = 0, cut = 0;
    char sql[200];
    if (keep <= 0)
        return PRICER_OK;
    enum pricer_status status = pricer_study_last_round(study, &last, fault);
    if (status != PRICER_OK || last <= keep)
        return status;
    status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_snprintf(sizeof sql, sql,
                     "SELECT max(round) FROM (SELECT round FROM round WHERE"
                     " round <= %lld ORDER BY round LIMIT %d)",
                     (long long)(last - keep), AT_ONCE);
    status = pri_study_count(study, sql, &cut, fault);
    for (size_t k = 0; k < sizeof tables / sizeof *tables && !status; k++) {
        sqlite3_snprintf(sizeof sql, sql,
                         "DELETE FROM %s WHERE round <= %lld%s", tables[k],
                         (long long)cut,
                         k == ROUND ? " AND round <> (SELECT max(round) FROM"
                                      " round WHERE estimate IS NOT NULL)"
                                    : "");
        status = pri_study_run(study, sql, fault);
    }
    return pri_study_end(study, status, fault);
}
