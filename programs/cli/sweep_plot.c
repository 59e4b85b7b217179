/*
 * The plot of a sweep: the error against the first key, a line for each
 * combination of the others, simulated points on lines that are predicted, or by the
 * error bars of a decoder. The script
 * stays beside the plot, for those who want it otherwise.
 */
#include "sweep.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Whether every value of the first key is a number. */
static bool is_numeric(const struct sweep_axis *axis)
{
    for (int k = 0; k < axis->count; k++) {
        char *end = NULL;
        double value = strtod(axis->values[k], &end);
        if (end == axis->values[k] || *end != '\0' || !isfinite(value))
            return false;
    }
    return true;
}

/* A range that only a logarithmic scale shows well. */
static bool spans(double least, double most, double factor)
{
    return least > 0 && most > factor * least;
}

static bool wide_axis(const struct sweep_axis *axis)
{
    double least = INFINITY, most = -INFINITY;
    for (int k = 0; k < axis->count; k++) {
        double value = strtod(axis->values[k], NULL);
        least = fmin(least, value);
        most = fmax(most, value);
    }
    return spans(least, most, 50);
}

static bool wide_errors(const struct sweep_grid *grid,
                        const struct sweep_row *rows)
{
    double least = INFINITY, most = 0;
    for (int64_t cell = 0; cell < grid->cells; cell++)
        if (rows[cell].number[SWEEP_MSE] > 0) {
            least = fmin(least, rows[cell].number[SWEEP_MSE]);
            most = fmax(most, rows[cell].number[SWEEP_MSE]);
        }
    return spans(least, most, 30);
}

/* gnuplot's strings: no quotes and no backslashes of others. */
static void put_quoted(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        fputc(*text == '"' || *text == '\\' || *text == '\n' ? ' ' : *text,
              file);
}

/* Cells per value of the first key: one of these for every line. */
static int64_t series_count(const struct sweep_grid *grid)
{
    return grid->cells / grid->axis[0].count;
}

static void put_data(FILE *file, const struct sweep_grid *grid,
                     const struct sweep_row *rows, bool numeric)
{
    int64_t series = series_count(grid);
    for (int64_t s = 0; s < series; s++) {
        fprintf(file, "$series%lld << END\n", (long long)s);
        for (int k = 0; k < grid->axis[0].count; k++) {
            const struct sweep_row *row = &rows[k * series + s];
            if (!isfinite(row->number[SWEEP_MSE]))
                continue;
            if (numeric)
                fprintf(file, "%s", grid->axis[0].values[k]);
            else
                fprintf(file, "%d", k);
            double error = row->number[SWEEP_MSE_STDERR];
            fprintf(file, " %.17g %.17g %.17g\n", row->number[SWEEP_MSE],
                    isfinite(error) ? error : 0,
                    row->number[isnan(row->number[SWEEP_PREDICTED])
                                    ? SWEEP_BAR
                                    : SWEEP_PREDICTED]);
        }
        fputs("END\n", file);
    }
}

static void put_lines(FILE *file, const struct sweep_grid *grid)
{
    int64_t series = series_count(grid);
    fputs("plot", file);
    for (int64_t s = 0; s < series; s++) {
        long long n = (long long)s;
        fprintf(file,
                "%s \\\n  $series%lld using 1:4 with lines lc %lld notitle, "
                "\\\n  $series%lld using 1:2:3 with yerrorbars pt 7 ps 0.6 lc "
                "%lld title \"",
                s > 0 ? "," : "", n, n + 1, n, n + 1);
        for (int k = 1; k < grid->axes; k++) {
            fputs(k > 1 ? ", " : "", file);
            put_quoted(file, grid->axis[k].key);
            fputs(" = ", file);
            put_quoted(file, grid->axis[k].values[sweep_grid_at(grid, s, k)]);
        }
        fputs(grid->axes == 1 ? "simulated, on the predicted line\"" : "\"",
              file);
    }
    fputc('\n', file);
}

static bool write_script(const char *path, const struct sweep_grid *grid,
                         const struct sweep_row *rows)
{
    const struct sweep_axis *first = &grid->axis[0];
    bool numeric = is_numeric(first);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    int64_t series = series_count(grid);
    bool named = series <= 24;
    fprintf(file,
            "set terminal svg size 800,%d dynamic background 'white'\n"
            "set output 'sweep.svg'\n"
            "set grid lc rgb '#dddddd'\n%s",
            460 + (named ? 10 * (int)series : 0),
            named ? "set key tmargin center maxcols 2 samplen 2 noenhanced\n"
                  : "unset key\n");
    fputs("set ylabel 'mean squared error'\n"
          "set xlabel noenhanced \"",
          file);
    put_quoted(file, first->key);
    fputs("\"\n", file);
    if (numeric && wide_axis(first))
        fputs("set logscale x\n", file);
    if (wide_errors(grid, rows))
        fputs("set logscale y\n", file);
    else
        fputs("set yrange [0:*]\n", file);
    if (!numeric) {
        fputs("set xtics noenhanced (", file);
        for (int k = 0; k < first->count; k++) {
            fputs(k > 0 ? ", \"" : "\"", file);
            put_quoted(file, first->values[k]);
            fprintf(file, "\" %d", k);
        }
        fprintf(file, ")\nset xrange [-0.5:%d.5]\n", first->count - 1);
    }
    put_data(file, grid, rows, numeric);
    put_lines(file, grid);
    bool written = !ferror(file);
    return fclose(file) == 0 && written;
}

/* Run gnuplot in the folder. */
static bool run_gnuplot(const char *folder)
{
    posix_spawn_file_actions_t actions;
    char *const arguments[] = {"gnuplot", "sweep.gp", NULL};
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    bool started = posix_spawnp(&child, "gnuplot", &actions, NULL, arguments,
                                environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    while (started && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool sweep_plot(const char *folder, const struct sweep_grid *grid,
                const struct sweep_row *rows)
{
    char path[4096];
    bool any = false;
    for (int64_t cell = 0; cell < grid->cells; cell++)
        any |= isfinite(rows[cell].number[SWEEP_MSE]);
    if (!any) {
        program_warn("there is nothing to plot");
        return false;
    }
    snprintf(path, sizeof path, "%s/sweep.gp", folder);
    if (!write_script(path, grid, rows)) {
        program_warn("%s: %s", path, strerror(errno));
        return false;
    }
    if (!run_gnuplot(folder)) {
        program_warn("gnuplot could not draw %s", path);
        return false;
    }
    return true;
}
