/*
 * The plot of a sweep: the error against the first key, a line for each
 * combination of the others, simulated points on lines that are predicted, or
 * by the error bars of a decoder; what it is played against as broken lines of
 * the same colour; and what the server learns in a picture below. The script
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
        for (int k = -1; k < SWEEP_RIVALS; k++) {
            double error =
                rows[cell].number[k < 0 ? SWEEP_MSE
                                        : sweep_rival_at(k, SWEEP_RIVAL_MSE)];
            if (error > 0) {
                least = fmin(least, error);
                most = fmax(most, error);
            }
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

/* A number as gnuplot reads it; what is not finite is left out. */
static void put_number(FILE *file, double number)
{
    if (isfinite(number))
        fprintf(file, " %.17g", number);
    else
        fputs(" NaN", file);
}

/* Of every row: the value of the first key, error, its standard error, what was
 * predicted, the eps of the server, and each rival's error. */
enum { OF_PREDICTED = 4, OF_EPS, OF_RIVAL };

static void put_row(FILE *file, const struct sweep_row *row)
{
    const double *number = row->number;
    double error = number[SWEEP_MSE_STDERR];
    put_number(file, number[SWEEP_MSE]);
    put_number(file, isfinite(error) ? error : 0);
    put_number(
        file,
        number[isnan(number[SWEEP_PREDICTED]) ? SWEEP_BAR : SWEEP_PREDICTED]);
    put_number(file, number[SWEEP_SERVER_EPS]);
    for (int k = 0; k < SWEEP_RIVALS; k++)
        put_number(file, number[sweep_rival_at(k, SWEEP_RIVAL_MSE)]);
    fputc('\n', file);
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
            put_row(file, row);
        }
        fputs("END\n", file);
    }
}

/* The values of all keys but the first, as a title; `alone` without any. */
static void put_title(FILE *file, const struct sweep_grid *grid, int64_t s,
                      const char *who, const char *alone)
{
    fputs(" title \"", file);
    fputs(who, file);
    for (int k = 1; k < grid->axes; k++) {
        fputs(k > 1 || who[0] != '\0' ? ", " : "", file);
        put_quoted(file, grid->axis[k].key);
        fputs(" = ", file);
        put_quoted(file, grid->axis[k].values[sweep_grid_at(grid, s, k)]);
    }
    fputs(grid->axes == 1 ? alone : "", file);
    fputc('"', file);
}

static void put_lines(FILE *file, const struct sweep_grid *grid)
{
    int64_t series = series_count(grid);
    fputs("plot", file);
    for (int64_t s = 0; s < series; s++) {
        long long n = (long long)s;
        fprintf(
            file,
            "%s \\\n  $series%lld using 1:%d with lines lw 1.5 lc %lld "
            "notitle, \\\n  $series%lld using 1:2:3 with yerrorbars pt 7 ps "
            "0.6 lc %lld",
            s > 0 ? "," : "", n, OF_PREDICTED, n + 1, n, n + 1);
        put_title(file, grid, s, "", "simulated, on the predicted line");
        for (int k = 0, dash = 2; k < SWEEP_RIVALS; k++) {
            if (!grid->shown[sweep_rival_at(k, SWEEP_RIVAL_MSE)])
                continue;
            fprintf(file,
                    ", \\\n  $series%lld using 1:%d with linespoints lc %lld "
                    "dt %d pt %d ps 0.5",
                    n, OF_RIVAL + k, n + 1, dash, dash + 2);
            put_title(file, grid, s, sweep_rival_name(k), "");
            dash++;
        }
    }
    fputc('\n', file);
}

/* What the server learns, below the errors. */
static void put_privacy(FILE *file, const struct sweep_grid *grid)
{
    int64_t series = series_count(grid);
    fputs("set size 1,low\nset origin 0,0\n"
          "unset key\nunset logscale y\nset yrange [0:*]\n"
          "set ylabel 'eps towards the server'\nplot",
          file);
    for (int64_t s = 0; s < series; s++)
        fprintf(file,
                "%s \\\n  $series%lld using 1:%d with linespoints pt 7 ps 0.5 "
                "lc %lld notitle",
                s > 0 ? "," : "", (long long)s, OF_EPS, (long long)s + 1);
    fputc('\n', file);
}

static int rival_count(const struct sweep_grid *grid)
{
    int count = 0;
    for (int k = 0; k < SWEEP_RIVALS; k++)
        count += grid->shown[sweep_rival_at(k, SWEEP_RIVAL_MSE)];
    return count;
}

/* Whether there is an eps of the server to draw. */
static bool shows_privacy(const struct sweep_grid *grid,
                          const struct sweep_row *rows)
{
    bool any = false;
    for (int64_t cell = 0; cell < grid->cells; cell++)
        any |= isfinite(rows[cell].number[SWEEP_SERVER_EPS]);
    return any;
}

/* The sheet and its colours, which read in print and for colour-blind eyes. */
static void put_sheet(FILE *file, const struct sweep_grid *grid, bool privacy)
{
    static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73",
                                          "#aa4499", "#777777", "#56b4e9",
                                          "#e69f00", "#000000"};
    int64_t lines = series_count(grid) * (1 + rival_count(grid));
    bool named = lines <= 24;
    int errors = 440 + (named ? 10 * (int)lines : 0), below = privacy ? 280 : 0;
    fprintf(file,
            "set terminal svg size 800,%d dynamic background 'white'\n"
            "set output 'sweep.svg'\n"
            "set grid lc rgb '#dddddd'\n%s",
            errors + below,
            named ? "set key tmargin center horizontal maxcols 2 samplen 3 "
                    "noenhanced\n"
                  : "unset key\n");
    for (int k = 0; k < 8; k++)
        fprintf(file, "set linetype %d lc rgb '%s'\n", k + 1, colours[k]);
    fputs("set linetype cycle 8\nset lmargin 10\n", file);
    if (privacy)
        fprintf(file,
                "set multiplot\nlow = %d.0 / %d\n"
                "set size 1,1-low\nset origin 0,low\n",
                below, errors + below);
}

static void put_axes(FILE *file, const struct sweep_grid *grid,
                     const struct sweep_row *rows, bool numeric)
{
    const struct sweep_axis *first = &grid->axis[0];
    fputs("set ylabel 'squared error (squared units of the data)'\n"
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
    if (numeric)
        return;
    fputs("set xtics noenhanced (", file);
    for (int k = 0; k < first->count; k++) {
        fputs(k > 0 ? ", \"" : "\"", file);
        put_quoted(file, first->values[k]);
        fprintf(file, "\" %d", k);
    }
    fprintf(file, ")\nset xrange [-0.5:%d.5]\n", first->count - 1);
}

static bool write_script(const char *path, const struct sweep_grid *grid,
                         const struct sweep_row *rows)
{
    bool numeric = is_numeric(&grid->axis[0]);
    bool privacy = shows_privacy(grid, rows);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    put_sheet(file, grid, privacy);
    put_axes(file, grid, rows, numeric);
    put_data(file, grid, rows, numeric);
    put_lines(file, grid);
    if (privacy)
        put_privacy(file, grid);
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
