/*
 * A program beside the node that stays: it is connected to a unix socket of the
 * node, hands in the vector of each round and gets the estimate (docs/feed.md).
 *
 * Invariant: whatever the program does, or does not do, costs it its connection
 * or its part of a round, and the node nothing: no call here waits, the memory
 * is that of one vector and one queue, and a turn reads a bounded number of
 * bytes.
 */
#ifndef PROGRAM_FEED_H
#define PROGRAM_FEED_H

#include "feed_message.h"
#include "pricer.h"

struct feed;

/*
 * Listen at "unix:PATH". The socket is its owner's alone (0600), and only
 * programs of the node's user or of root are heard. A socket there that nobody
 * listens at any more is replaced; anything else is left, and an error.
 */
enum pricer_status feed_open(const char *address, struct feed **feed,
                             struct pricer_fault *fault);

/* Say goodbye and remove the socket; NULL is fine. */
void feed_close(struct feed *feed);

/* A file that can be read when feed_serve() has something to do. */
int feed_file(const struct feed *feed);

/* Accept, read and write what there is. True: the round that was asked for has
 * its vector, or will have none, and feed_take() tells which. */
bool feed_serve(struct feed *feed);

/* What programs are told about the plan, now and when they connect. */
void feed_set_plan(struct feed *feed, const struct feed_plan *plan);

/* Ask for a round's vector; false: nobody is there to ask. */
bool feed_ask(struct feed *feed, const struct feed_round *round);

/* Take the vector that feed_serve() has announced. The caller answers with
 * feed_answer(), whatever comes of it. */
enum pricer_status feed_take(struct feed *feed, int64_t dimension, double *data,
                             struct pricer_fault *fault);

/* The round does not wait for a vector any more. */
void feed_drop(struct feed *feed);

/* What has become of the vector; the estimate of a round. */
void feed_answer(struct feed *feed, const struct feed_taken *taken);
void feed_tell_result(struct feed *feed, const struct wire_result *result);

#endif
