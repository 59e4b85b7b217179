/*
 * From a fraction done to a bar with the time left, on a terminal only; Ctrl-C
 * while it runs, SIGTERM or SIGHUP ask the work to stop and are remembered.
 */
#include "program.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

/* Ctrl-C, being ended, and a terminal that goes away ask the same. */
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* A second Ctrl-C ends the program at once: the first may go unheard. */
static void on_interrupt(int signal_number)
{
    interrupted = 1;
    signal(signal_number, SIG_DFL);
}

static void draw(const struct progress *progress, double done)
{
    enum { cells = 24 };
    char bar[cells + 1];
    int filled = (int)(done * cells);
    memset(bar, '#', (size_t)filled);
    memset(bar + filled, '.', (size_t)(cells - filled));
    bar[cells] = '\0';
    double left =
        done > 0 ? (program_seconds() - progress->started) * (1 - done) / done
                 : 0;
    fprintf(stderr, "\r%s [%s] %3.0f %%  %.0f s left \033[K", progress->label,
            bar, 100 * done, left);
}

static bool tick(void *context, double done)
{
    struct progress *progress = context;
    done = done > 0 ? (done < 1 ? done : 1) : 0;
    double at = program_seconds();
    if (progress->terminal && at - progress->shown > 0.1 &&
        at - progress->started > 0.5) {
        progress->shown = at;
        draw(progress, done);
    }
    return !interrupted;
}

void progress_start(struct progress *progress, const char *label)
{
    progress->label = label;
    progress->watch = (struct pricer_watch){tick, progress};
    progress->started = program_seconds();
    progress->shown = 0;
    progress->terminal = isatty(STDERR_FILENO);
    interrupted = 0;
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        signal(signals[k], on_interrupt);
}

bool progress_stopped(void)
{
    return interrupted;
}

bool progress_end(struct progress *progress)
{
    if (progress->terminal && progress->shown > 0)
        fputs("\r\033[K", stderr);
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        signal(signals[k], SIG_DFL);
    return interrupted;
}
