/*
 * Faults, lines for the log, the clock and the signals of the daemons.
 */
#include "daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum pricer_status daemon_fault(struct pricer_fault *fault,
                                enum pricer_status status, const char *format,
                                ...)
{
    va_list arguments;
    if (fault == NULL)
        return status;
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return status;
}

void daemon_say(const char *format, ...)
{
    va_list arguments;
    char line[1024];
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
}

int64_t daemon_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static volatile sig_atomic_t stops;

static void stop(int signal_number)
{
    (void)signal_number;
    stops++;
}

static volatile sig_atomic_t hangups;

static void hang_up(int signal_number)
{
    (void)signal_number;
    hangups = 1;
}

bool daemon_hung_up(void)
{
    bool now = hangups;
    hangups = 0;
    return now;
}

void daemon_catch_signals(void)
{
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGHUP, &(struct sigaction){.sa_handler = hang_up}, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int daemon_stopping(void)
{
    return stops;
}
