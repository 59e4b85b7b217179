/*
 * What the server of a fleet keeps in a study beside its rounds: what it remembers
 * of the keys it has met, and by which rule old rounds go.
 */
#ifndef PRICER_MEMBERS_PUBLIC_H
#define PRICER_MEMBERS_PUBLIC_H

#include "pricer_study.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the server remembers of a key: the last round that its owner is known to
 * have charged, and the highest session it has shown; 0 before the first. */
struct pricer_seen {
    char key[PRICER_KEY_TEXT];
    int64_t round, session;
};

/* Remember keys, all of them or none; what is known only grows. */
PRICER_API enum pricer_status pricer_study_note_seen(
    struct pricer_study *study, const struct pricer_seen *seen, int32_t count,
    struct pricer_fault *fault);

/* Fill in what is remembered of these keys. */
PRICER_API enum pricer_status pricer_study_seen(struct pricer_study *study,
                                                struct pricer_seen *seen,
                                                int32_t count,
                                                struct pricer_fault *fault);

/* Delete rounds, of which the newest `keep` numbers stay (0: all), the oldest
 * first and some hundreds at a call. */
PRICER_API enum pricer_status pricer_study_prune(struct pricer_study *study,
                                                 int64_t keep,
                                                 struct pricer_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
