/*
 * Files, networks, plots and the summary of `pricer reproduce`.
 *
 * Every part leaves in the folder what it was made from: the scenario, the CSV
 * file with 17 digits, the gnuplot script and the plot.
 */
#include "common/crew.h"
#include "reproduce.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum pricer_status reproduce_tick(struct reproduction *work, double done)
{
    const struct pricer_watch *bar = &work->progress.watch;
    /* Where another process writes, that one decides. */
    return bar->tick(bar->context, work->done + work->share * done) ||
                   !program_writes()
               ? PRICER_OK
               : PRICER_STOPPED;
}

/* ----------------------------------------------------------------- files -- */

static enum pricer_status file_fault(struct reproduction *work,
                                     const char *name)
{
    snprintf(work->fault.text, sizeof work->fault.text, "%s/%s: %s",
             work->folder, name, strerror(errno));
    return PRICER_FILE;
}

static char *path_of(const struct reproduction *work, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", work->folder, name) < 0 ? NULL : path;
}

enum pricer_status reproduce_open(struct reproduction *work, const char *name,
                                  FILE **file)
{
    char *path = path_of(work, name);
    if (path == NULL)
        return PRICER_MEMORY;
    *file = fopen(program_writes() ? path : "/dev/null", "w");
    free(path);
    return *file != NULL ? PRICER_OK : file_fault(work, name);
}

enum pricer_status reproduce_close(struct reproduction *work, const char *name,
                                   FILE *file, enum pricer_status status)
{
    if (file == NULL)
        return status;
    bool bad = ferror(file) != 0;
    bad = fclose(file) != 0 || bad;
    return status == PRICER_OK && bad ? file_fault(work, name) : status;
}

enum pricer_status reproduce_write(struct reproduction *work, const char *name,
                                   const char *text)
{
    FILE *file = NULL;
    enum pricer_status status = reproduce_open(work, name, &file);
    if (status != PRICER_OK)
        return status;
    fputs(text, file);
    status = reproduce_close(work, name, file, PRICER_OK);
    char written = 1;
    if (status == PRICER_OK && program_crew() != NULL) /* all may read it now */
        program_crew()->spread(program_crew()->context, 0, &written, 1);
    return status;
}

enum pricer_status reproduce_network(struct reproduction *work,
                                     const char *scenario,
                                     const char *const *overrides,
                                     struct pricer_network **network)
{
    struct pricer_scenario *read = NULL;
    char *path = path_of(work, scenario);
    int count = 0;
    while (overrides != NULL && overrides[count] != NULL)
        count++;
    enum pricer_status status = PRICER_MEMORY;
    if (path != NULL)
        status =
            pricer_scenario_read(path, overrides, count, &read, &work->fault);
    if (status == PRICER_OK)
        status = pricer_scenario_network(read, NULL, network, &work->fault);
    pricer_scenario_free(read);
    free(path);
    return status;
}

/* ----------------------------------------------------------------- plots -- */

static const char plot_head[] =
    "# gnuplot -c NAME.gp svg|png\n"
    "kind = ARG1 eq '' ? 'svg' : ARG1\n"
    "if (kind eq 'svg') { set terminal svg size 860,520 dynamic enhanced "
    "font 'Helvetica,13' background '#ffffff' }\n"
    "if (kind eq 'png') { set terminal pngcairo size 1720,1040 enhanced "
    "font 'Helvetica,24' linewidth 2 }\n"
    "set output ARG0[1:strlen(ARG0)-3] . '.' . kind\n"
    "set datafile separator ','\n"
    "set border 3 lc rgb '#444444'\n"
    "set tics nomirror textcolor rgb '#444444'\n"
    "set grid ytics lc rgb '#dddddd' lw 1\n"
    "set key top right spacing 1.2 samplen 2\n"
    "blue = '#0072b2'; orange = '#d55e00'; green = '#009e73'; "
    "grey = '#777777'; violet = '#aa4499'\n";

/* Run gnuplot in the folder on a script for one kind of picture. */
static int draw(const struct reproduction *work, const char *script,
                const char *kind)
{
    char *const arguments[] = {"gnuplot", "-c", (char *)script, (char *)kind,
                               NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, work->folder);
    int failed =
        posix_spawnp(&child, "gnuplot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

enum pricer_status reproduce_plot(struct reproduction *work, const char *name,
                                  const char *script)
{
    char file[64];
    FILE *out = NULL;
    snprintf(file, sizeof file, "%s.gp", name);
    enum pricer_status status = reproduce_open(work, file, &out);
    if (status != PRICER_OK)
        return status;
    fputs(plot_head, out);
    fputs(script, out);
    status = reproduce_close(work, file, out, PRICER_OK);
    if (status != PRICER_OK || !work->plots || !program_writes())
        return status;
    int svg = draw(work, file, "svg");
    if (svg < 0 || svg == 127) {
        program_warn("gnuplot is not there: no plots, only the scripts");
        work->plots = false;
        return PRICER_OK;
    }
    if (svg != 0 || draw(work, file, "png") != 0) {
        snprintf(work->fault.text, sizeof work->fault.text,
                 "%s/%s: gnuplot failed", work->folder, file);
        return PRICER_FILE;
    }
    work->plotted = true;
    return PRICER_OK;
}

/* --------------------------------------------------------------- summary -- */

void reproduce_row(struct reproduction *work, const struct reproduce_row *row)
{
    const char *note = row->note != NULL ? row->note : "";
    fprintf(work->summary, "%s,\"%s\",%s,%s,%s,\"%s\"\n", row->part, row->what,
            row->paper, row->settings, row->best, note);
    table_cell(work->table, "%s", row->what);
    table_cell(work->table, "%s", row->paper);
    table_cell(work->table, "%s", row->settings);
    table_cell(work->table, "%s", row->best);
    table_cell(work->table, "%s", note);
}
