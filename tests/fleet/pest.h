/*
 * What hostile peers say: messages that are right, nearly right, or not at all.
 */
#ifndef TEST_PEST_H
#define TEST_PEST_H

#include "fleet/wire.h"

/* What an enrolled key has learned; all of one plan. */
struct lesson {
    uint8_t digest[WIRE_DIGEST], seal[WIRE_DIGEST];
    int32_t in_count, out_count;
    int64_t dimension;
};

/* A random number below `sides`, and random bytes. */
int pest_roll(unsigned *seed, int sides);
void pest_scribble(unsigned *seed, uint8_t *bytes, size_t size);

/* Take what helps to lie well: a slice becomes the lesson (true), the round of an
 * OPEN comes back in *round. */
bool pest_learn(const uint8_t *data, size_t size, struct lesson *lesson,
                int64_t *round);

void pest_write_hello(unsigned *seed, const struct lesson *lesson,
                      struct wire_bytes *bytes);
/* A SUM or a SHARE of this round or one beside it; of the right length or nearly;
 * zeros, or values beyond every limit. */
void pest_write_vector(unsigned *seed, const struct lesson *lesson,
                       int64_t round, bool sum, struct wire_bytes *bytes);
void pest_write_refusal(unsigned *seed, int64_t round,
                        struct wire_bytes *bytes);
/* A byte of it is another, it ends early, or nothing is wrong. */
void pest_mutate(unsigned *seed, struct wire_bytes *bytes);

#endif
