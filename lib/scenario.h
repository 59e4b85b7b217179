/*
 * The scenario as read: what topology.c turns into a network.
 */
#ifndef PRICER_SCENARIO_H
#define PRICER_SCENARIO_H

#include "internal.h"

enum pri_generator {
    PRI_GENERATOR_ERDOS_RENYI,
    PRI_GENERATOR_RING,
    PRI_GENERATOR_MMWAVE,
    PRI_GENERATOR_GEOMETRIC,
    PRI_GENERATOR_FILES, /* two CSV files; never written as a word */
    PRI_GENERATORS,
};

/* A list of numbers; a single number is a list of one. */
struct pri_list {
    double *values;
    int64_t count;
};

/* The rows of the table of keys, one each; the order of the table. */
enum { PRI_SCENARIO_KEYS = 32 };

/* Numbers that were not given are NAN, counts -1, lists empty, texts NULL. */
struct pricer_scenario {
    char *path;                      /* as given to pricer_scenario_read() */
    char *text;                      /* the file as it was read */
    int64_t line[PRI_SCENARIO_KEYS]; /* where each key stands; 0: absent */

    int64_t dimension, rounds, seed;
    double radius;

    int generator;
    int64_t nodes, hops;
    struct pri_list uplink, positions; /* positions: x, y, x, y, ... */
    int preset;
    double p, reciprocity, density, cutoff;
    int64_t good_count;
    double good_fraction, good_uplink;
    char *nodes_file, *links_file; /* as written: relative to the scenario */

    double eps, delta;           /* trust of everyone in everyone */
    double self_eps, self_delta; /* in one's own uplink */
    int64_t ring_hops;
    double ring_eps, ring_delta; /* in neighbours on the ring */
    double probable_above, probable_eps, probable_delta; /* in good links */

    int bias, calibration;
    double lambda;
};

/* What a key of a scenario holds, and its range; scenario_keys.c has them. */
enum pri_key_kind {
    PRI_KEY_NUMBER,
    PRI_KEY_COUNT,
    PRI_KEY_CHOICE,
    PRI_KEY_LIST,  /* numbers, or one number */
    PRI_KEY_PAIRS, /* a list of [x, y] */
    PRI_KEY_TEXT,
};
struct pri_key {
    const char *name;
    enum pri_key_kind kind;
    size_t offset;
    double low, high; /* of a number, a count or each entry of a list */
    enum { CLOSED, OPEN_LOW } ends; /* whether low itself is allowed */
    const char *words;              /* of a choice: "this|that" */
    unsigned generators;            /* that use it; 0: all */
};

/* The row of a key by its dotted name, or -1. */
int pri_key_find(const char *name);
const struct pri_key *pri_key_at(int row);

/* Whether keys of their own stand below this name ("network"). */
bool pri_key_is_section(const char *name);

/* Parse one number of a key, within its range. */
enum pricer_status pri_key_parse(const struct pri_key *key, const char *text,
                                 double *value, struct pricer_fault *fault);

/* Parse a scalar and store it where the key says. */
enum pricer_status pri_key_store(struct pricer_scenario *scenario,
                                 const struct pri_key *key, const char *text,
                                 struct pricer_fault *fault);

/* Set every key to 'not given'. */
void pri_scenario_clear(struct pricer_scenario *scenario);

/* Check the keys against each other and fill in the defaults. */
enum pricer_status pri_scenario_complete(struct pricer_scenario *scenario,
                                         struct pricer_fault *fault);

/* Write a fault at the line of a key ("network.p"). */
enum pricer_status pri_scenario_fault(const struct pricer_scenario *scenario,
                                      const char *key,
                                      struct pricer_fault *fault,
                                      const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A path of the scenario, relative to the scenario's folder; NULL: no memory.
 */
char *pri_scenario_path(const struct pricer_scenario *scenario,
                        const char *file);

#endif
