/*
 * From the cells that a sweep still lacks to rows of its table, by all
 * processes that run it.
 *
 * Cells are handed out one by one and come back in any order. The table grows
 * in the order of the cells; a row that is early goes to sweep.ahead, where the
 * same command finds it when the sweep was stopped.
 */
#include "common/crew.h"
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct play {
    const struct sweep_request *request;
    const struct sweep_grid *grid;
    struct sweep_share share;
    FILE *table;
    struct sweep_row *rows;
    char *ahead;     /* the file of early rows */
    bool *have;      /* [cells] rows that are known */
    int64_t *todo;   /* the cells that were not, */
    int64_t missing; /* so many */
    int64_t next;    /* the first cell that the table lacks */
    int64_t known;   /* how many rows are */
    int why;         /* errno of a row that could not be written */
};

/* Write the rows that follow those of the table. */
static bool write_known(struct play *play)
{
    const struct sweep_grid *grid = play->grid;
    for (; play->next < grid->cells && play->have[play->next]; play->next++)
        if (!sweep_table_add(play->table, grid, play->next,
                             &play->rows[play->next]))
            return false;
    return true;
}

static enum pricer_status play_cell(void *context, int64_t first, int64_t count,
                                    void *results, struct pricer_fault *fault)
{
    struct play *play = context;
    (void)count;
    memset(results, 0, sizeof(struct sweep_row));
    play->share.cell = play->todo[first];
    return sweep_cell_fill(play->request, play->grid, &play->share, results,
                           fault);
}

static enum pricer_status take_row(void *context, int64_t first, int64_t count,
                                   const void *results,
                                   struct pricer_fault *fault)
{
    struct play *play = context;
    int64_t cell = play->todo[first];
    (void)count, (void)fault;
    memcpy(&play->rows[cell], results, sizeof *play->rows);
    play->have[cell] = true;
    bool written =
        cell == play->next
            ? write_known(play)
            : sweep_ahead_add(play->ahead, play->grid, cell, &play->rows[cell]);
    if (!written) {
        play->why = errno;
        return PRICER_FILE;
    }
    play->known++;
    return PRICER_OK;
}

/* What there is to do, which the process that has the table tells the others.
 * False: no memory. */
static bool list_missing(struct play *play, int64_t done)
{
    const struct pricer_crew *crew = program_crew();
    int64_t cells = play->grid->cells;
    for (int64_t cell = 0; cell < done; cell++)
        play->have[cell] = true;
    if (play->table != NULL)
        sweep_ahead_read(play->ahead, play->grid, play->rows, play->have);
    for (int64_t cell = 0; cell < cells; cell++)
        if (!play->have[cell])
            play->todo[play->missing++] = cell;
    if (crew != NULL) {
        crew->spread(crew->context, 0, &play->missing, sizeof play->missing);
        crew->spread(crew->context, 0, play->todo,
                     (size_t)cells * sizeof *play->todo);
    }
    play->known = cells - play->missing;
    play->next = done;
    return play->table == NULL || write_known(play);
}

static int say(const struct play *play, enum pricer_status status,
               const struct pricer_fault *fault)
{
    long long known = play->known, cells = play->grid->cells;
    if (play->why != 0)
        return program_fail("%s/sweep.csv: %s, after %lld of %lld cells; with "
                            "room again the same command goes on from there",
                            play->request->folder, strerror(play->why), known,
                            cells);
    if (status == PRICER_STOPPED)
        return program_fail("stopped after %lld of %lld cells; the same "
                            "command goes on from there",
                            known, cells);
    return program_fault(status, fault);
}

int sweep_play(const struct sweep_request *request,
               const struct sweep_grid *grid, FILE *table,
               struct sweep_row *rows, int64_t done)
{
    struct pricer_fault fault = {""};
    struct play play = {.request = request,
                        .grid = grid,
                        .table = table,
                        .rows = rows,
                        .share = {.cells = grid->cells}};
    enum pricer_status status = PRICER_MEMORY;
    play.have = calloc((size_t)grid->cells, sizeof *play.have);
    play.todo = calloc((size_t)grid->cells, sizeof *play.todo);
    if (asprintf(&play.ahead, "%s/sweep.ahead", request->folder) < 0)
        play.ahead = NULL;
    progress_start(&play.share.progress, "sweep");
    if (play.have == NULL || play.todo == NULL || play.ahead == NULL)
        goto done;
    if (!list_missing(&play, done)) {
        play.why = errno;
        status = PRICER_FILE;
        goto done;
    }
    status = pricer_work_share(
        program_crew(),
        &(struct pricer_work){.items = play.missing,
                              .portion = 1,
                              .size = sizeof(struct sweep_row),
                              .watch = &play.share.progress.watch,
                              .play = play_cell,
                              .take = take_row,
                              .context = &play},
        &fault);
    if (status == PRICER_OK && table != NULL)
        remove(play.ahead);
done:
    progress_end(&play.share.progress);
    int failed = status == PRICER_OK ? 0 : say(&play, status, &fault);
    free(play.have);
    free(play.todo);
    free(play.ahead);
    return failed;
}
