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

/* A line on stderr with the program's name before it. What could
 * steer a terminal is replaced: some of it may come from a peer. */
void daemon_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Milliseconds of a clock that only goes forward, also while the machine is
 * suspended. */
int64_t daemon_clock(void);

/* SIGTERM and SIGINT ask to stop; the number of times they did. */
void daemon_catch_signals(void);
int daemon_stopping(void);

/* A file that a daemon needs before it can begin. */
struct daemon_file {
    const char *path;
    bool makes;   /* it is made where it is not there */
    int64_t said; /* when the log last spoke of it; 0: never */
};

/*
 * Whether to try again what failed with the file: the disk is full or read-only,
 * another program holds a lock, descriptors are used up. Waits a moment and puts
 * it into words now and then. False: it would fail again, since the file is not
 * there, not ours or not what it should be; or the operator wants to stop.
 */
bool daemon_try_again(struct daemon_file *file, enum pricer_status status,
                      const struct pricer_fault *fault);

/* SIGHUP asks to read files anew; whether it has since the last call. */
bool daemon_hung_up(void);

#endif
