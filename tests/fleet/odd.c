/*
 * For LD_PRELOAD: a machine that is odd. With ODD_CLOCK its clock, as daemons read
 * it, runs so many times as fast; with ODD_FILES nobody raises the limit of
 * descriptors from within.
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

SEEN int clock_gettime(clockid_t clock, struct timespec *time)
{
    const char *times = getenv("ODD_CLOCK");
    long result = syscall(SYS_clock_gettime, clock, time);
    if (times == NULL || clock != CLOCK_BOOTTIME || result != 0)
        return (int)result;
    double seconds = (double)time->tv_sec + 1e-9 * (double)time->tv_nsec;
    seconds *= strtod(times, NULL);
    time->tv_sec = (time_t)seconds;
    time->tv_nsec = (long)(1e9 * (seconds - (double)time->tv_sec));
    return 0;
}

SEEN int setrlimit(__rlimit_resource_t which, const struct rlimit *most)
{
    if (which == RLIMIT_NOFILE && getenv("ODD_FILES") != NULL)
        return -1;
    return (int)syscall(SYS_setrlimit, which, most);
}
