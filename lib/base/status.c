/*
 * Statuses, faults and memory: the small things every other file needs.
 */
#include "base.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

const char *pricer_version(void)
{
    return PRICER_VERSION;
}

const char *pricer_status_text(enum pricer_status status)
{
    switch (status) {
    case PRICER_OK:
        return "done";
    case PRICER_MEMORY:
        return "out of memory";
    case PRICER_FILE:
        return "cannot read or write a file";
    case PRICER_FORMAT:
        return "a file is not in the form it should be";
    case PRICER_VALUE:
        return "a value is outside its range";
    case PRICER_INFEASIBLE:
        return "no solution exists";
    case PRICER_BUSY:
        return "another program is using the study";
    case PRICER_STOPPED:
        return "stopped";
    }
    return "unknown status";
}

enum pricer_status pri_fault_list(struct pricer_fault *fault,
                                  enum pricer_status status, const char *format,
                                  va_list arguments)
{
    if (fault != NULL)
        vsnprintf(fault->text, sizeof fault->text, format, arguments);
    return status;
}

enum pricer_status pri_fault(struct pricer_fault *fault,
                             enum pricer_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pri_fault_list(fault, status, format, arguments);
    va_end(arguments);
    return status;
}

void pri_fault_locate(struct pricer_fault *fault, const char *file,
                      int64_t line)
{
    if (fault == NULL)
        return;
    char text[sizeof fault->text];
    memcpy(text, fault->text, sizeof text);
    if (line > 0)
        snprintf(fault->text, sizeof fault->text, "%.200s:%lld: %.280s", file,
                 (long long)line, text);
    else
        snprintf(fault->text, sizeof fault->text, "%.200s: %.300s", file, text);
}

/*
 * Memory of many megabytes is asked for in huge pages where the system has
 * them: large networks are swept in passes, and the page table would otherwise
 * cost as much as the data.
 */
void *pri_alloc(int64_t count, size_t size)
{
    const size_t page = (size_t)2 << 20;
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes))
        return NULL;
    void *memory = calloc(count > 0 ? (size_t)count : 1, size);
    if (memory != NULL && bytes >= 4 * page) {
        uintptr_t start = ((uintptr_t)memory + page - 1) / page * page;
        uintptr_t end = ((uintptr_t)memory + bytes) / page * page;
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
    }
    return memory;
}

double pri_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A thread is worth its start and its wakening from some hundred thousand
 * links on. */
int pri_threads(int32_t asked, int64_t work)
{
    if (asked > 0)
        return asked;
    return work < 100000 ? 1 : omp_get_num_procs();
}

bool pri_tick(const struct pricer_watch *watch, double done)
{
    return watch == NULL || watch->tick == NULL ||
           watch->tick(watch->context, done);
}
