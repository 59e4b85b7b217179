/*
 * What every daemon and its files share: faults, lines for the log, the clock,
 * and the wish to stop.
 */
#ifndef PROGRAM_DAEMON_H
#define PROGRAM_DAEMON_H

#include "pricer_study.h"

/* Write a fault (which may be NULL) and return the status. */
enum pricer_status daemon_fault(struct pricer_fault *fault,
                                enum pricer_status status, const char *format,
                                ...) __attribute__((format(printf, 3, 4)));

/*
 * What a daemon does first: no core files, which would hold keys and data, nobody
 * looks into its memory, and files it makes are its owner's alone whatever the
 * umask was.
 */
void daemon_keep_secrets(void);

/*
 * Keep all memory off the disk, where there is no limit to that: with one, memory
 * beyond it could not be had at all. Keys are kept off it in any case (keys.c), and
 * a node's vector where it fits.
 */
void daemon_lock_memory(void);

/* As many descriptors as the system lets this process have. */
void daemon_raise_files(void);

/*
 * A line on stderr with the program's name before it. What could
 * steer a terminal is replaced: some of it may come from a peer.
 *
 * Every place that calls it has a limit of its own: DAEMON_BURST lines at once,
 * then one every DAEMON_EVERY milliseconds, which says how many were left out. So
 * no peer can fill a disk, whatever it sends, and no caller has to think of that.
 */
enum { DAEMON_BURST = 20, DAEMON_EVERY = 60000 };
struct daemon_limit {
    int64_t full;     /* when the whole burst is available again */
    int64_t left_out; /* lines since the last one that was written */
};
#define daemon_say(...)                                                        \
    do {                                                                       \
        static struct daemon_limit daemon_limit_here;                          \
        daemon_say_within(&daemon_limit_here, __VA_ARGS__);                    \
    } while (0)
void daemon_say_within(struct daemon_limit *limit, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Milliseconds of a clock that only goes forward, also while the machine is
 * suspended. */
int64_t daemon_clock(void);

/* SIGTERM and SIGINT ask to stop; the number of times they did. */
void daemon_catch_signals(void);
int daemon_stopping(void);

/*
 * Whether what failed with this errno may be different soon: an address is in use
 * or not there yet, descriptors or the kernel's memory are used up.
 */
bool daemon_passes(int error);

/* Something that a daemon does before it can begin. What was done before a failure
 * is not done again by the next call. */
struct daemon_step {
    enum pricer_status (*take)(void *context, struct pricer_fault *fault);
    const char
        *what; /* "the study": what is fine again after a wait; or NULL */
    const char *path; /* of the file that it needs, or NULL */
    bool makes;       /* it is made where it is not there */
    const char *cure; /* what the operator can do if it fails, or NULL */
};

/* The cure where an address cannot be listened at; and a cure behind a fault. */
extern const char daemon_listen_cure[];
void daemon_add_cure(struct pricer_fault *fault, const char *cure);

/*
 * Take a step; where it cannot be taken now, put it into words, once for every
 * reason, and try again four times a second until it can: the disk is full or
 * read-only, another program holds a lock or an address, descriptors are used up.
 * A fault only where it would fail again, since a file is not there, not ours or
 * not what it should be; PRICER_STOPPED where the operator wants to stop.
 */
enum pricer_status daemon_await(const struct daemon_step *step, void *context,
                                struct pricer_fault *fault);

/* SIGHUP asks to read files anew; whether it has since the last call. */
bool daemon_hung_up(void);

#endif
