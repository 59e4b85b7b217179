/*
 * For LD_PRELOAD: a machine that is odd. With ODD_CLOCK its clock, as daemons read
 * it, runs so many times as fast; with ODD_FILES nobody raises the limit of
 * descriptors from within; while the file that ODD_NONE names exists, the whole
 * machine has no descriptor left (ENFILE); while the one that ODD_NAMELESS names
 * exists, no name of a machine resolves; no memory grows to ODD_LARGEST bytes or
 * more.
 */
/* open() is open() and not another name for open64(): both are called. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
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

static int set_limit(__rlimit_resource_t which, const void *most)
{
    if (which == RLIMIT_NOFILE && getenv("ODD_FILES") != NULL)
        return -1;
    return (int)syscall(SYS_setrlimit, which, most);
}

SEEN int setrlimit(__rlimit_resource_t which, const struct rlimit *most)
{
    return set_limit(which, most);
}

SEEN int setrlimit64(__rlimit_resource_t which, const struct rlimit64 *most)
{
    return set_limit(which, most);
}

/* Whether the file that a variable names is there; errno stays. */
static bool is_signed(const char *variable)
{
    const char *sign = getenv(variable);
    int before = errno;
    bool found =
        sign != NULL && syscall(SYS_faccessat, AT_FDCWD, sign, F_OK) == 0;
    errno = before;
    return found;
}

/* Whether no descriptor is left now, with errno. */
static bool is_none(void)
{
    bool none = is_signed("ODD_NONE");
    errno = none ? ENFILE : errno;
    return none;
}

SEEN int getaddrinfo(const char *name, const char *service,
                     const struct addrinfo *hints, struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *,
                struct addrinfo **) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return is_signed("ODD_NAMELESS") && name != NULL &&
                   name[strspn(name, "0123456789.")] != '\0'
               ? EAI_NONAME
               : real(name, service, hints, found);
}

extern void *__libc_realloc(void *memory, size_t size);

SEEN void *realloc(void *memory, size_t size)
{
    const char *largest = getenv("ODD_LARGEST");
    if (largest == NULL || size < strtoul(largest, NULL, 10))
        return __libc_realloc(memory, size);
    errno = ENOMEM;
    return NULL;
}

SEEN int accept4(int file, __SOCKADDR_ARG from, socklen_t *size, int flags)
{
    return is_none() ? -1
                     : (int)syscall(SYS_accept4, file, from.__sockaddr__, size,
                                    flags);
}

SEEN int accept(int file, __SOCKADDR_ARG from, socklen_t *size)
{
    return accept4(file, from, size, 0);
}

SEEN int socket(int domain, int type, int protocol)
{
    return is_none() ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

SEEN int memfd_create(const char *name, unsigned int flags)
{
    return is_none() ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

static int open_any(const char *path, int flags, va_list more)
{
    bool makes = (flags & (O_CREAT | O_TMPFILE)) != 0;
    mode_t mode = makes ? va_arg(more, mode_t) : 0;
    return is_none() ? -1
                     : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

SEEN int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int file = open_any(path, flags, more);
    va_end(more);
    return file;
}

SEEN int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int file = open_any(path, flags, more);
    va_end(more);
    return file;
}

/* By the file that open() gives: glibc's own would not ask it. */
SEEN FILE *fopen64(const char *path, const char *mode)
{
    int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC;
    int file = open(path, flags | O_CLOEXEC, 0666);
    FILE *made = file >= 0 ? fdopen(file, mode) : NULL;
    if (made == NULL && file >= 0)
        close(file);
    return made;
}
