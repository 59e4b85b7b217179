/*
 * What people bring along: lists of measured links, and words with a slip in
 * them.
 */
#ifndef PRICER_INPUT_PUBLIC_H
#define PRICER_INPUT_PUBLIC_H

#include "pricer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What someone who typed `word` probably meant: the word that takes the fewest
 * edits (a letter inserted, deleted, replaced or swapped with its neighbour;
 * case does not matter), at most one for every three letters. Each of the
 * `count` rows of `size` bytes begins with a pointer to its word. NULL if none
 * is so near. O(letters of the word times letters of all rows).
 */
PRICER_API const char *pricer_word_nearest(const char *word, const void *rows,
                                           size_t count, size_t size);

/*
 * What a list of measured links comes to, without the server: nodes in the order
 * of their ids, links by sender and receiver.
 */
struct pricer_survey {
    int32_t nodes;
    char (*name)[PRICER_NAME_TEXT]; /* [nodes] made from their ids */
    double *uplink;                 /* [nodes] 0: not above the threshold */
    int32_t links;
    int32_t *from, *to;   /* [links] */
    double *p;            /* [links] */
    int64_t measurements; /* rows that were used */
    int64_t repeated;     /* pairs measured more than once: p is the mean */
    int64_t faint;        /* pairs left out, p not above the threshold */
    int64_t unmeasured;   /* rows left out: no p */
    int64_t from_server;  /* rows left out: the server sends */
    int64_t to_self;      /* rows left out: sender and receiver are one */
    bool header;          /* whether the first line named the columns */
};

/*
 * Read a list of measured links: lines of sender, receiver and p, separated by
 * commas, semicolons, tabs or blanks; gzip is fine. Lines that begin with '#'
 * are comments. A first line without a number names the columns (sender, from,
 * source, src, tx; receiver, to, target, destination, dst, rx; p, prr, pdr,
 * probability, quality, tq), and any others are ignored; without one the first
 * three columns are taken. A row without p counts as not measured. Links to the
 * id `server` are uplinks. Only pairs with p above `above` are kept; ids without
 * any remain as nodes.
 * A name is the id where that is a name and neither "server" nor begins with
 * "node"; else "id-" and the id, with '-' for what no name holds. O(rows log
 * rows).
 */
PRICER_API enum pricer_status pricer_survey_read(const char *path,
                                                 const char *server,
                                                 double above,
                                                 struct pricer_survey **survey,
                                                 struct pricer_fault *fault);

PRICER_API void pricer_survey_free(struct pricer_survey *survey);

#ifdef __cplusplus
}
#endif

#endif
