/*
 * From work in items to all of it done: handed to the crew, or portion after
 * portion by a process that is alone.
 */
#include "base.h"

#include <stdlib.h>

/* Every item in its order, without anyone else. */
static enum pricer_status play_alone(const struct pricer_work *work,
                                     struct pricer_fault *fault)
{
    int64_t portion = work->portion < work->items ? work->portion : work->items;
    void *results = pri_alloc(portion, work->size);
    enum pricer_status status = results == NULL ? PRICER_MEMORY : PRICER_OK;
    for (int64_t first = 0; first < work->items && status == PRICER_OK;) {
        int64_t left = work->items - first;
        int64_t count = left < portion ? left : portion;
        if (!pri_tick(work->watch, (double)first / (double)work->items))
            status = PRICER_STOPPED;
        else
            status = work->play(work->context, first, count, results, fault);
        if (status == PRICER_OK)
            status = work->take(work->context, first, count, results, fault);
        first += count;
    }
    free(results);
    return status;
}

enum pricer_status pri_crew_share(const struct pricer_crew *crew,
                                  const struct pricer_work *work,
                                  struct pricer_fault *fault)
{
    return crew == NULL ? play_alone(work, fault)
                        : crew->share(crew->context, work, fault);
}
