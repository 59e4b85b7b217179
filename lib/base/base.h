/*
 * What every room of the library stands on: faults, allocation, threads,
 * numbers in text, and files that appear whole or not at all. Names start with
 * pri_ and are hidden in the shared object; tests link the static library and
 * may call them.
 */
#ifndef PRICER_BASE_H
#define PRICER_BASE_H

#include "pricer_crew.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>

/* For products of 64-bit integers. */
__extension__ typedef unsigned __int128 pri_wide;

/*
 * Write a fault (if there is one to write to) and return the status, so that a
 * check reads: return pri_fault(fault, PRICER_VALUE, "p = %g is ...", p).
 */
enum pricer_status pri_fault(struct pricer_fault *fault,
                             enum pricer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with the arguments as a list. */
enum pricer_status pri_fault_list(struct pricer_fault *fault,
                                  enum pricer_status status, const char *format,
                                  va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Put "file:line: " before the text of a fault; line 0 leaves the line out. */
void pri_fault_locate(struct pricer_fault *fault, const char *file,
                      int64_t line);

/* Room for `count` items of `size` bytes, zeroed; NULL also on overflow. A
 * count of 0 gives a pointer that can be freed. */
void *pri_alloc(int64_t count, size_t size);

/* Two numbers that go through the same arithmetic side by side. */
typedef double pri_two __attribute__((vector_size(16)));

/* How many threads to use: as many as asked for, else one per core, or one
 * where the work (links, about) is too little for more. */
int pri_threads(int32_t asked, int64_t work);

/* Of a clock that never goes back. */
double pri_seconds(void);

/*
 * Threads that share a job cut into at most 64 parts. pri_team_run() calls
 * job() once for each part and returns when all are done; the caller works too,
 * and alone where the machine has no core for a helper. A team has one caller;
 * NULL if there is no memory, fewer helpers if the system gives no more.
 */
struct pri_team;
struct pri_team *pri_team_new(int32_t threads);
void pri_team_free(struct pri_team *team);
void pri_team_run(struct pri_team *team, int32_t parts,
                  void (*job)(void *context, int32_t part), void *context);

/* The caller and its helpers; 1 where there is no team. */
int32_t pri_team_threads(const struct pri_team *team);

/* Call job() for ranges that make up [0, count), each item in one of them, by a
 * team, or where that is NULL by the caller. */
void pri_team_share(struct pri_team *team, int64_t count,
                    void (*job)(void *context, int64_t low, int64_t high),
                    void *context);

/* The same by a team of its own; without memory for one, by the caller. */
void pri_share_out(int32_t threads, int64_t count,
                   void (*job)(void *context, int64_t low, int64_t high),
                   void *context);

/* Ask the watch of every rank; false on all of them if one says stop. */
bool pri_crew_tick(const struct pricer_crew *crew,
                   const struct pricer_watch *watch, double done);

/* Where the part of `rank` begins if `count` is divided among `ranks`. */
static inline int64_t pri_share_start(int64_t count, int32_t rank,
                                      int32_t ranks)
{
    return (int64_t)((pri_wide)count * (unsigned)rank / (unsigned)ranks);
}

/* Report to the watch (which may be NULL) how far the work is; false: stop. */
bool pri_tick(const struct pricer_watch *watch, double done);

/*
 * Parse the whole text as a number in the C locale; inf is one, nan and
 * hexadecimal are not. False (value untouched) if it is not a number.
 */
bool pri_parse_number(const char *text, double *value);

/* The same for a whole number, of either sign. */
bool pri_parse_count(const char *text, int64_t *value);

/* What to add to a complaint that a number is not a probability: " (percent?
 * ...)" where it could be one in percent, else "". */
const char *pri_ask_percent(double value);

/* Whether a text is a name: letters, digits, '-', '_' and '.', a letter or digit
 * first, not digits alone, fewer than PRICER_NAME_TEXT of them. Never taken for
 * the number of a node or plan or for an option, and nothing in it needs quoting
 * in a page, a path or a shell. */
bool pri_is_name(const char *text);

/*
 * The length of a vector over its largest entry, which neither overflows nor
 * underflows, to a relative error of about count 2^-53; NAN if an entry is not
 * finite. The length is *largest times what is returned.
 */
double pri_relative_length(const double *vector, int64_t count,
                           double *largest);

/* Whether a number is a weight or a standard deviation: finite, at least 0. */
static inline bool pri_is_amount(double value)
{
    return value >= 0 && value <= DBL_MAX;
}

/* ----------------------------------------------------------------- files -- */

/* "path: " and what errno says; returns PRICER_FILE. */
enum pricer_status pri_fault_errno(struct pricer_fault *fault, const char *path,
                                   int error);

/*
 * A file that appears under its name only when it is complete: write to
 * `file`, then call pri_replace_commit(), which also frees what is here, or
 * pri_replace_abandon(), which leaves no trace.
 */
struct pri_replace {
    FILE *file;
    char *path;
    char *temporary;
};
enum pricer_status pri_replace_open(const char *path,
                                    struct pri_replace *replace,
                                    struct pricer_fault *fault);
enum pricer_status pri_replace_commit(struct pri_replace *replace,
                                      struct pricer_fault *fault);
void pri_replace_abandon(struct pri_replace *replace);

#endif
