/*
 * The processes that run a verb together. pricer is alone; pricer-mpi says who
 * its ranks are before it runs a verb.
 */
#ifndef PROGRAM_CREW_H
#define PROGRAM_CREW_H

#include "pricer_crew.h"

/* Who works here, and on how many threads each where nothing is asked for. */
void program_set_crew(const struct pricer_crew *crew, int32_t threads);

/* NULL: this process alone. */
const struct pricer_crew *program_crew(void);

/* Whether this process writes the study and the files of a verb: one of a crew
 * does. */
bool program_writes(void);

/*
 * For verbs that rank 0 runs alone but for a step that all share: rank 0 calls
 * the others to it, with a number for them, and at last with -1; they wait for
 * that. Nobody else is called where there is no crew.
 */
void program_call(int64_t number);
int64_t program_called(void);

/* The threads to use where the command line asks for so many; 0: one a core. */
int32_t program_threads(int64_t asked);

#endif
