/*
 * The planner over ranks.
 */
#ifndef PROGRAM_PLAN_RANKS_H
#define PROGRAM_PLAN_RANKS_H

/* pricer-mpi plan, as a verb. */
int verb_plan_ranks(int argc, char **argv);

#endif
