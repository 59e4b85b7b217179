/*
 * Faults, lines for the log, the clock and the signals of the daemons.
 */
#include "daemon.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

void daemon_keep_secrets(void)
{
    const struct rlimit none = {0, 0};
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &none);
    umask(077);
}

void daemon_lock_memory(void)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_MEMLOCK, &most) == 0 && most.rlim_cur == RLIM_INFINITY)
        mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

/* How long the UTF-8 character is that begins here; 0: none does. */
static int character(const unsigned char *at, uint32_t *code)
{
    int more = *at < 0x80 ? 0 : *at >> 5 == 6 ? 1 : *at >> 4 == 14 ? 2 : 3;
    if (*at >= 0x80 && (*at < 0xC2 || *at > 0xF4))
        return 0;
    *code = more == 0 ? *at : *at & (0x3Fu >> more);
    for (int k = 1; k <= more; k++) {
        if (at[k] >> 6 != 2)
            return 0;
        *code = *code << 6 | (at[k] & 0x3Fu);
    }
    return more + 1;
}

/* Control characters (C0, DEL, C1), those that turn the direction of writing, and
 * what is no character become question marks. */
static void clean(char *line)
{
    for (unsigned char *at = (unsigned char *)line; *at != '\0';) {
        uint32_t code = 0;
        int length = character(at, &code);
        bool bad = length == 0 || code < 0x20 ||
                   (code >= 0x7F && code < 0xA0) ||
                   (code >= 0x200E && code <= 0x200F) ||
                   (code >= 0x2028 && code <= 0x202E) ||
                   (code >= 0x2066 && code <= 0x2069);
        length = length == 0 ? 1 : length;
        if (bad)
            memset(at, '?', (size_t)length);
        at += length;
    }
}

void daemon_say(const char *format, ...)
{
    va_list arguments;
    char line[1024];
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    clean(line);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
}

int64_t daemon_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
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
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error to bear */
}

int daemon_stopping(void)
{
    return stops;
}

/* What is wrong with the file or its folder, where SQLite makes others, does not
 * pass. */
static bool may_pass(const struct daemon_file *file, enum pricer_status status)
{
    char folder[PATH_MAX];
    struct stat about;
    if (status == PRICER_BUSY)
        return true;
    if (status != PRICER_FILE)
        return false;
    if (realpath(file->path, folder) == NULL) /* it is not there */
        snprintf(folder, sizeof folder, "%s", file->path);
    bool there = stat(file->path, &about) == 0;
    if (there ? !S_ISREG(about.st_mode) : errno == ENOENT && !file->makes)
        return false;
    if ((!there || access(file->path, R_OK | W_OK) == 0) &&
        access(dirname(folder), W_OK | X_OK) == 0)
        return true;
    return errno == EROFS || errno == EIO || errno == ENOMEM;
}

bool daemon_try_again(struct daemon_file *file, enum pricer_status status,
                      const struct pricer_fault *fault)
{
    enum { SAY = 10000, PAUSE = 250 * 1000 * 1000 };
    int64_t now = daemon_clock();
    if (!may_pass(file, status) || daemon_stopping())
        return false;
    if (file->said == 0 || now >= file->said + SAY) {
        file->said = now;
        daemon_say("%s; waiting and trying again", fault->text);
    }
    nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    return !daemon_stopping();
}
