/*
 * What the server of a fleet keeps in a study beside its rounds: what it remembers
 * of the keys it has met, which keys follow which, and by which rule old rounds
 * go.
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

/* A key that follows another: the old one has signed it. */
struct pricer_successor {
    int32_t node;
    char old[PRICER_KEY_TEXT], key[PRICER_KEY_TEXT];
    uint8_t proof[64];
};

/* Enrol the next key of a node beside the one it has. The signature is not looked
 * at. PRICER_VALUE: the node has another key, or the new one is someone's. */
PRICER_API enum pricer_status pricer_study_enrol_next(
    struct pricer_study *study, const struct pricer_successor *next,
    struct pricer_fault *fault);

/* The next key becomes the only one, and inherits what is remembered of the old
 * one. PRICER_VALUE: there is no next key. */
PRICER_API enum pricer_status pricer_study_retire(struct pricer_study *study,
                                                  int32_t node,
                                                  struct pricer_fault *fault);

/* The latest successor of every node that ever had one, by node; the old key is
 * retired where the member has the new one. Freed by pricer_successors_free(). */
PRICER_API enum pricer_status pricer_study_successors(
    struct pricer_study *study, struct pricer_successor **successors,
    int32_t *count, struct pricer_fault *fault);
PRICER_API void pricer_successors_free(struct pricer_successor *successors);

/* Delete rounds, of which the newest `keep` numbers stay (0: all), the oldest
 * first and some hundreds at a call. */
PRICER_API enum pricer_status pricer_study_prune(struct pricer_study *study,
                                                 int64_t keep,
                                                 struct pricer_fault *fault);

/* How many rounds were run with a plan, those that were deleted since included. */
struct pricer_rounds_run {
    int64_t plan;
    int64_t rounds;
};

/* The plans that any round was run with, in the order of their numbers. Freed by
 * pricer_rounds_run_free(). */
PRICER_API enum pricer_status pricer_study_rounds_run(
    struct pricer_study *study, struct pricer_rounds_run **rounds,
    int32_t *count, struct pricer_fault *fault);
PRICER_API void pricer_rounds_run_free(struct pricer_rounds_run *rounds);

#ifdef __cplusplus
}
#endif

#endif
