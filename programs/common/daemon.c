/*
 * Faults, lines for the log, the clock and the signals of the daemons.
 */
#include "daemon.h"

#include <errno.h>
#include <fcntl.h>
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

void daemon_raise_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
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

/* A bucket of DAEMON_BURST tokens that gets one every DAEMON_EVERY milliseconds,
 * as the time at which it is full: false if it is empty. */
static bool take_token(struct daemon_limit *limit, int64_t now, bool *last)
{
    const int64_t most = (int64_t)DAEMON_BURST * DAEMON_EVERY;
    int64_t full =
        (limit->full > now ? limit->full : now) + (int64_t)DAEMON_EVERY;
    if (full - now > most)
        return false;
    limit->full = full;
    *last = full - now + DAEMON_EVERY > most;
    return true;
}

void daemon_say_within(struct daemon_limit *limit, const char *format, ...)
{
    va_list arguments;
    char line[1024], more[80] = "";
    bool last = false;
    if (!take_token(limit, daemon_clock(), &last)) {
        limit->left_out++;
        return;
    }
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    clean(line);
    if (limit->left_out > 0)
        snprintf(more, sizeof more, " (%lld more lines like this not shown)",
                 (long long)limit->left_out);
    else if (last)
        snprintf(more, sizeof more,
                 " (from now on one line like this every %d s)",
                 DAEMON_EVERY / 1000);
    limit->left_out = 0;
    fprintf(stderr, "%s: %s%s\n", program_invocation_short_name, line, more);
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

const char daemon_listen_cure[] =
    "'ss -ltnp' says whose a port is, 'ip addr' which addresses this machine "
    "has, 'getent hosts NAME' what a name stands for: if this one cannot come "
    "to "
    "be ours, correct --listen or the enrolled address";

void daemon_add_cure(struct pricer_fault *fault, const char *cure)
{
    size_t used = strlen(fault->text);
    if (cure[0] != '\0')
        snprintf(fault->text + used, sizeof fault->text - used, "; %s", cure);
}

bool daemon_passes(int error)
{
    return error == EADDRINUSE || error == EADDRNOTAVAIL || error == EMFILE ||
           error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* Whether descriptors are used up, as many as a step may need. */
static bool is_short(void)
{
    enum { FEW = 8 };
    int files[FEW], count = 0;
    while (count < FEW &&
           (files[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        count++;
    bool none = count < FEW && (errno == EMFILE || errno == ENFILE);
    while (count > 0)
        close(files[--count]);
    return none;
}

/* What is wrong with the file or its folder, where SQLite makes others, does not
 * pass. */
static bool file_passes(const struct daemon_step *step)
{
    char folder[PATH_MAX];
    struct stat about;
    if (realpath(step->path, folder) == NULL) /* it is not there */
        snprintf(folder, sizeof folder, "%s", step->path);
    bool there = stat(step->path, &about) == 0;
    if (there ? !S_ISREG(about.st_mode) : errno == ENOENT && !step->makes)
        return false;
    if ((!there || access(step->path, R_OK | W_OK) == 0) &&
        access(dirname(folder), W_OK | X_OK) == 0)
        return true;
    return errno == EROFS || errno == EIO || errno == ENOMEM;
}

static bool may_pass(const struct daemon_step *step, enum pricer_status status,
                     bool none)
{
    if (status == PRICER_BUSY)
        return true;
    return status == PRICER_FILE &&
           (none || (step->path != NULL && file_passes(step)));
}

enum pricer_status daemon_await(const struct daemon_step *step, void *context,
                                struct pricer_fault *fault)
{
    enum { PAUSE = 250 }; /* milliseconds, as the log says */
    struct pricer_fault said = {""};
    for (;;) {
        enum pricer_status status = step->take(context, fault);
        if (status == PRICER_OK && said.text[0] != '\0' && step->what != NULL)
            daemon_say("%s is fine again", step->what);
        if (status == PRICER_OK)
            return status;
        if (daemon_stopping())
            return PRICER_STOPPED;
        bool none = is_short();
        const char *cure = step->cure != NULL && !none ? step->cure : "";
        if (!may_pass(step, status, none)) {
            daemon_add_cure(fault, cure);
            return status;
        }
        if (strcmp(said.text, fault->text) != 0) {
            said = *fault;
            daemon_say("%s%s; waiting and trying again every %d ms%s%s",
                       fault->text, none ? " (no descriptors are left)" : "",
                       PAUSE, cure[0] != '\0' ? ". " : "", cure);
        }
        nanosleep(&(struct timespec){.tv_nsec = PAUSE * 1000000L}, NULL);
        if (daemon_stopping())
            return PRICER_STOPPED;
    }
}
