/*
 * What every method asks of the run that it drives: whether to go on, and how
 * good the point is that it has reached.
 */
#include "run.h"

bool pri_run_interrupted(struct pri_run *run, double gap)
{
    double left = pri_least(1, pri_most(gap, 1e-16));
    double goal = pri_least(0.1, pri_most(run->tolerance, 1e-16));
    double done = pri_least(1, log(left) / log(goal));
    if (run->over)
        return true;
    run->over = true;
    if (pri_anywhere(run->problem, !pri_tick(run->settings->watch, done)))
        run->outcome = PRICER_OUTCOME_STOPPED;
    else if (run->iterations >= run->limit)
        run->outcome = PRICER_OUTCOME_LIMIT;
    else
        run->over = false;
    run->iterations += !run->over;
    return run->over;
}

void pri_run_write(struct pri_run *run)
{
    pri_problem_plan(run->problem, run->certifier.scale, &run->trial,
                     run->plan);
}

bool pri_run_certify(struct pri_run *run)
{
    pri_point_copy(run->problem, &run->point, &run->trial);
    pri_certify(&run->certifier, &run->trial, &run->proof);
    bool last = run->proof.gap <= run->tolerance;
    bool better = run->proof.gap < run->kept.gap;
    run->owed = better && run->later && !last;
    if (better) {
        run->kept = run->proof;
        if (last)
            pri_system_free(&run->system);
        if (!run->owed)
            pri_run_write(run);
    }
    if (run->kept.gap <= run->tolerance) {
        run->outcome = PRICER_OUTCOME_OPTIMAL;
        run->over = true;
    }
    return run->over;
}
