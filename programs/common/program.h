/*
 * What the programs share: how they fail, and what they print.
 *
 * Results go to stdout, everything else to stderr. A verb returns its exit
 * status: 0 done, 1 could not, 2 wrong usage; of audit 3, a claim is wrong.
 */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include "pricer_study.h"

#include <stdio.h>

/* "pricer: " and the message on stderr; returns 1. */
int program_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a failed call: the fault's text, or the status in words. */
int program_fault(enum pricer_status status, const struct pricer_fault *fault);

/* The last thing a program does: a full disk or closed pipe behind stdout turns
 * success into failure. Returns the exit status. */
int program_close(int status);

/* Flush what a verb has printed after it has stored `what` under a number: if
 * that fails, say that it is stored all the same. Returns the exit status. */
int program_stored(const char *what, int64_t number);

/* A note on stderr ("pricer: warning: ..."). */
void program_warn(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Open a study of 'scheme: sum', and refuse one of another in words:
 * PRICER_FORMAT. */
enum pricer_status program_open(const char *path, bool writable,
                                struct pricer_study **study,
                                struct pricer_fault *fault);

/* How the sums of a plan are decoded. */
struct program_decoding {
    int asked;                      /* enum pricer_decode; -1: nothing */
    enum pricer_decode used;        /* constant where decoder is NULL */
    struct pricer_decoder *decoder; /* freed with pricer_decoder_free() */
};

/* What --decoder offers, and its help. */
#define PROGRAM_DECODERS "minimax|constant|adaptive"
#define PROGRAM_DECODER_HELP                                                   \
    "how sums are weighed; minimax if the plan has a decoder, else constant"

/* Nothing asked: the plan's decoder where it has one, else constant. What was
 * asked for and cannot be had is a fault. */
enum pricer_status program_decoder(struct pricer_study *study, int64_t plan,
                                   const struct pricer_network *network,
                                   struct program_decoding *decoding,
                                   struct pricer_fault *fault);

/* Print a sentence, after `head`, in lines of at most 90 columns. */
void program_words(const char *head, const char *text);

/* Seconds since 1970, to note when something was made; SOURCE_DATE_EPOCH of the
 * environment stands above the clock, for results that are the same twice. */
int64_t program_date(void);

/* Seconds on a clock that only goes forward, for measuring how long. */
double program_seconds(void);

/*
 * One JSON object or array, written as it comes. Keys are NULL inside arrays.
 * Numbers keep 17 digits; INFINITY is the string "inf", NAN is null.
 */
struct json {
    FILE *out;
    int depth;
    bool first[16];
};
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
void json_number(struct json *json, const char *key, double value);
void json_count(struct json *json, const char *key, int64_t value);
void json_text(struct json *json, const char *key, const char *value);
void json_flag(struct json *json, const char *key, bool value);

/*
 * A node as people read it: "kitchen (3)", or "3" where it has no name. To be
 * used where it is made: node_label(network, 3).text lives as long as the call
 * that it is handed to. Then the folder of a node ("kitchen", or "node3"), and
 * its name, if it has one, beside its number in an object that is open.
 */
struct node_label {
    char text[PRICER_NAME_TEXT + 16];
};
struct node_label node_label(const struct pricer_network *network,
                             int32_t node);
struct node_label node_folder(const struct pricer_network *network,
                              int32_t node);
void json_name(struct json *json, const char *key,
               const struct pricer_network *network, int32_t node);

/*
 * A table on stdout: a heading, then rows; columns as wide as they need, the
 * numbers right-aligned. Cells are copied. Colours only on a terminal.
 */
struct table;
struct table *table_new(int columns, const char *const *headings);
/* One cell, printf-like; cells fill the rows from left to right. */
void table_cell(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void table_print(struct table *table, FILE *out); /* prints and frees */

/*
 * A progress bar on stderr with the time left, if stderr is a terminal; Ctrl-C
 * makes its watch ask to stop. One at a time.
 */
struct progress {
    const char *label;
    struct pricer_watch watch;
    double started, shown;
    bool terminal;
};
void progress_start(struct progress *progress, const char *label);
/* Whether Ctrl-C was pressed since the start; clear the bar, and the same. */
bool progress_stopped(void);
bool progress_end(struct progress *progress);

#endif
