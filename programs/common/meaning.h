/*
 * What the numbers mean: an eps in words, and an error next to that of doing nothing.
 * docs/meaning.md explains where the words begin and end.
 */
#ifndef PROGRAM_MEANING_H
#define PROGRAM_MEANING_H

#include "pricer_forward.h"

/* Where a reader finds more: the page as it was installed, or in the source. */
const char *meaning_page(void);

/* An eps in words: strong up to 1, moderate up to 3, weak up to MEANING_WEAK,
 * practically none beyond. */
#define MEANING_WEAK 10
const char *meaning_eps(double eps);

/*
 * How often an observer is right, at most, who has to tell which of two data a
 * node holds, both equally likely before: (e^eps + delta) / (1 + e^eps), by the
 * definition of (eps, delta). At most 1.
 */
double meaning_bet(double eps, double delta);

/* A share as people read it: "12.3 %", "1063 %". */
struct meaning_text {
    char text[24];
};
struct meaning_text meaning_share(double share);

/* From here on an error, as a share of that of always answering zero, is said to
 * be only somewhat, and hardly better. */
#define MEANING_SOMEWHAT 0.5
#define MEANING_HARDLY 0.8

/* "better", "only somewhat better", "hardly better" or "worse" than always
 * answering zero. */
const char *meaning_verdict(double share);

/* The baseline that needs no data, in words: always answering zero; where rounds
 * are relative to the last estimate, always keeping that. */
const char *meaning_zero(const struct pricer_network *network);

/*
 * The squared error of always answering zero without asking anybody, at worst:
 * R^2, where R is the radius or, if nodes have radii of their own, their mean,
 * since the mean of the vectors is no longer than that.
 */
double meaning_centre(const struct pricer_network *network);

/*
 * What a claim about data is about where some node has a diameter below twice its
 * radius: a sentence, or "" where any data within the radius are kept from being
 * told from any other.
 */
enum { MEANING_NEAR_ROOM = 160 };
const char *meaning_near(const struct pricer_network *network,
                         char text[MEANING_NEAR_ROOM]);

/*
 * Set the diameters of a network, before it is printed, to those that the
 * guarantees of its plan are about: a sphere's is about any data within the
 * radius, whatever diameter the scenario has.
 */
void meaning_guarantees(struct pricer_network *network,
                        const struct pricer_forward_plan *plan);

/*
 * Refuse a plan whose guarantees are about data less than two radii apart: what
 * the daemons send has no diameter, and their ledgers count two radii.
 */
enum pricer_status meaning_refuse_near(const struct pricer_network *network,
                                       const struct pricer_forward_plan *plan,
                                       struct pricer_fault *fault);

/*
 * Where rounds are relative to the last estimate: what the radius in all numbers
 * is, and an error beside the data's own radius; otherwise "".
 */
enum { MEANING_REFERENCE_ROOM = 360 };
const char *meaning_reference(const struct pricer_network *network,
                              double error, char text[MEANING_REFERENCE_ROOM]);

/* What every number that counts the noise of other nodes takes for granted. */
#define MEANING_OTHERS                                                         \
    "others add their noise when their links are up; links of different "      \
    "pairs fail independently"

#endif
