/*
 * Studies: a network and everything learnt about it in one file, with the
 * members and the rounds of a real fleet, and what their deliveries say.
 */
#ifndef PRICER_STUDY_PUBLIC_H
#define PRICER_STUDY_PUBLIC_H

#include "pricer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A study is one SQLite file that holds a network and everything learnt about
 * it; docs/study.md describes its tables. Each function that writes does so in
 * one transaction: it is done whole or not at all.
 */
struct pricer_study;
struct pricer_decoder; /* of pricer_decode.h */

/*
 * Make a study of a scenario and its network. The file appears under its name
 * only when it is complete; an existing one is refused unless it is to be
 * replaced. Its mode is 0600 whatever the umask: a study comes to hold estimates
 * and who takes part. O(nodes + links).
 */
PRICER_API enum pricer_status pricer_study_create(
    const char *path, bool replace, const struct pricer_scenario *scenario,
    const struct pricer_network *network, const struct pricer_watch *watch,
    struct pricer_fault *fault);

/* Open a study, to read or to add to it. */
PRICER_API enum pricer_status pricer_study_open(const char *path, bool writable,
                                                struct pricer_study **study,
                                                struct pricer_fault *fault);

PRICER_API void pricer_study_close(struct pricer_study *study);

/*
 * Claim a study that is open to write, for as long as it is open: only one
 * program at a time can, and nobody replaces a study that is claimed. Others
 * may read it and add to it. PRICER_BUSY if another program has it, PRICER_FILE
 * if it cannot be written now: another call may succeed.
 */
PRICER_API enum pricer_status pricer_study_claim(struct pricer_study *study,
                                                 struct pricer_fault *fault);

/* What the scenario asked of the planner, and its seed (which may be NULL). */
PRICER_API enum pricer_status pricer_study_settings(
    struct pricer_study *study, struct pricer_settings *settings, int64_t *seed,
    struct pricer_fault *fault);

/* The network of the scenario; a plan has its own, see pricer_study_plan(). */
PRICER_API enum pricer_status pricer_study_network(
    struct pricer_study *study, struct pricer_network **network,
    struct pricer_fault *fault);

/* Where the probabilities of a network come from. */
enum pricer_origin {
    PRICER_ORIGIN_SCENARIO = 0, /* what the scenario says or its generator */
    PRICER_ORIGIN_MEASURED,     /* what rounds have shown */
};

/*
 * How a network came about. All networks of a study have the same nodes, links,
 * numbers and trust; they differ in their probabilities.
 */
struct pricer_network_record {
    int64_t id; /* its number in the study, 1: the scenario's; output only */
    enum pricer_origin origin;
    int64_t rounds;      /* measured: over so many rounds, */
    int64_t first, last; /* with these numbers */
};

/* How a plan was found. */
enum pricer_method {
    PRICER_METHOD_EXACT = 0, /* pricer_plan_optimise() */
    PRICER_METHOD_GRADIENT,  /* pricer_plan_descend() */
    PRICER_METHOD_GIVEN,     /* it was given, not chosen */
};

/* What is stored with a plan. Numbers that are not known are NAN. */
struct pricer_plan_record {
    int64_t id; /* the number of the plan in its study; output only */
    struct pricer_network_record network; /* that it was made for */
    struct pricer_settings settings;
    enum pricer_method method;
    double tolerance, objective, bound, gap;
    int32_t iterations;
    double variance, piv, tiv, mse_paper, mse_worst_case, bias_l1;
    const struct pricer_decoder *decoder; /* to store with it, borrowed, or
                                             NULL; input only */
    int64_t made;                /* when, in seconds since 1970; 0: not known */
    char name[PRICER_NAME_TEXT]; /* what it is called, or empty */
};

/*
 * Add a plan, its decoder if the record has one and, if the record says that its network was measured, that
 * network with it; otherwise it is the scenario's. *id (which may be NULL) is
 * the number of the plan.
 */
PRICER_API enum pricer_status pricer_study_add_plan(
    struct pricer_study *study, const struct pricer_network *network,
    const struct pricer_plan *plan, const struct pricer_plan_record *record,
    int64_t *id, struct pricer_fault *fault);

/*
 * Read a plan by its number, or with 0 the latest, and the network that it was
 * made for. Whatever is said about the plan is said about that network and with
 * the record's settings. network and record may be NULL.
 */
PRICER_API enum pricer_status pricer_study_plan(
    struct pricer_study *study, int64_t id, struct pricer_network **network,
    struct pricer_plan **plan, struct pricer_plan_record *record,
    struct pricer_fault *fault);

/*
 * All plans of a study by their numbers, without their weights; the caller frees
 * *records with pricer_plan_records_free().
 */
PRICER_API enum pricer_status pricer_study_plans(
    struct pricer_study *study, struct pricer_plan_record **records,
    int32_t *count, struct pricer_fault *fault);

PRICER_API void pricer_plan_records_free(struct pricer_plan_record *records);

/* The number of the plan that a text means: its number, or its name. */
PRICER_API enum pricer_status pricer_study_find_plan(
    struct pricer_study *study, const char *text, int64_t *id,
    struct pricer_fault *fault);

/* Call a plan by a name: letters, digits, '-', '_' and '.', a letter or digit
 * first, not digits alone. No two plans have the same. */
PRICER_API enum pricer_status pricer_study_name_plan(
    struct pricer_study *study, int64_t id, const char *name,
    struct pricer_fault *fault);

/* Delete a plan and what was found out about it: its decoder, statements and
 * simulations. One that rounds were run with stays: PRICER_VALUE. */
PRICER_API enum pricer_status pricer_study_delete_plan(
    struct pricer_study *study, int64_t id, struct pricer_fault *fault);

/* The decoder that was stored with a plan, for the network that the plan was
 * made for; *decoder is NULL where there is none, and is freed with
 * pricer_decoder_free(). */
PRICER_API enum pricer_status pricer_study_decoder(
    struct pricer_study *study, int64_t plan,
    const struct pricer_network *network, struct pricer_decoder **decoder,
    struct pricer_fault *fault);

/* The answers to a question about a plan; all pointers are borrowed. */
struct pricer_privacy_record {
    int64_t plan; /* its number */
    const struct pricer_question *question;
    const struct pricer_statement *statements; /* [count] */
    const struct pricer_paper_bound *bounds;   /* [count], or NULL */
    int64_t count;
};

/* Add the answers; *id (which may be NULL) is their number. */
PRICER_API enum pricer_status pricer_study_add_statements(
    struct pricer_study *study, const struct pricer_privacy_record *record,
    int64_t *id, struct pricer_fault *fault);

/*
 * Add a simulation of the plan with the number `plan`. names[k] says what the
 * simulation's plan k was; no two may be the same.
 */
PRICER_API enum pricer_status pricer_study_add_simulation(
    struct pricer_study *study, int64_t plan, const char *const *names,
    const struct pricer_simulation *simulation, int64_t *id,
    struct pricer_fault *fault);

/* ----------------------------------------------------------------- fleet -- */

enum { PRICER_KEY_TEXT = 41, PRICER_ADDRESS_TEXT = 256 };

/*
 * Who takes part in real rounds: a node or the server (node = PRICER_SERVER),
 * its public key in Z85 and where it listens, such as "tcp://10.0.0.3:7100".
 */
struct pricer_member {
    int32_t node;
    char key[PRICER_KEY_TEXT];
    char address[PRICER_ADDRESS_TEXT];
};

/* Enrol a member, in place of what was enrolled under its number. A key that
 * belongs to another member is refused. */
PRICER_API enum pricer_status pricer_study_enrol(
    struct pricer_study *study, const struct pricer_member *member,
    struct pricer_fault *fault);

/* End the enrolment of a node; PRICER_VALUE: there is none. */
PRICER_API enum pricer_status pricer_study_expel(struct pricer_study *study,
                                                 int32_t node,
                                                 struct pricer_fault *fault);

/* A number that is another one when another program has changed the study. */
PRICER_API enum pricer_status pricer_study_stamp(struct pricer_study *study,
                                                 int64_t *stamp,
                                                 struct pricer_fault *fault);

/* Everyone enrolled, by number, the server first; the caller frees *members
 * with pricer_members_free(). */
PRICER_API enum pricer_status pricer_study_members(
    struct pricer_study *study, struct pricer_member **members, int32_t *count,
    struct pricer_fault *fault);

PRICER_API void pricer_members_free(struct pricer_member *members);

/* Why a message was dropped; docs/protocol.md, section 7. */
enum pricer_drop {
    PRICER_DROP_MALFORMED = 0,
    PRICER_DROP_LENGTH,
    PRICER_DROP_ROUND,
    PRICER_DROP_REPEATED,
    PRICER_DROP_LATE,
    PRICER_DROP_RANGE,
    PRICER_DROP_STRANGER,
    PRICER_DROP_REFUSED,
    PRICER_DROP_PLAN,
    PRICER_DROP_KINDS,
};

/* Why a node did not send over a link that was up; docs/protocol.md, section
 * 3. */
enum pricer_withheld {
    PRICER_WITHHELD_SPENT = 0, /* the budget is spent */
    PRICER_WITHHELD_TRUST,     /* its trust file does not allow it */
    PRICER_WITHHELD_LATE,      /* the vector was not ready in time */
    PRICER_WITHHELD_VECTOR,    /* there was no vector */
    PRICER_WITHHELD_LEDGER,    /* the ledger failed, or has the round already */
    PRICER_WITHHELD_KINDS,
};

/* One round that was run, as it is stored; all arrays are borrowed. */
struct pricer_round_record {
    int64_t round, plan;
    int32_t nodes, links;
    int64_t dimension;
    int32_t attempts;       /* with the same payloads; 0: 1 */
    const int8_t *uplink;   /* [attempts][nodes] 1: its sum arrived, 0: not,
                               -1: not tried */
    const int8_t *link;     /* [attempts][links] 1: the link was up, 0: not,
                               -1: not known or not tried */
    const int8_t *own;      /* [nodes] why its own part was withheld, an enum
                               pricer_withheld, -1: it was not; or NULL */
    const int8_t *withheld; /* [links] the same for shares; or NULL */
    int32_t contributors;   /* nodes whose data is in the sums */
    double weight; /* that arrived, of all the plan's and attempts, 0 to 1 */
    const double *estimate;    /* [dimension]; NULL: nothing to estimate from */
    double error;              /* squared distance from the mean, or NAN */
    enum pricer_decode decode; /* what made the estimate from the sums */
    double bar; /* its squared error is at most about this; NAN: not known */
    int64_t dropped[PRICER_DROP_KINDS]; /* messages, since the last round */
    /* Of a round that forwards, where uplink, link, own and withheld are NULL:
       the relays that a node's release came over (0: its own uplink) and the attempt in which it
       arrived; -1: it did not. NULL in rounds of sums. */
    const int32_t *hops;    /* [nodes] */
    const int32_t *arrival; /* [nodes] */
};

/* The number of the next round, noted so that it is never used again, also
 * after a crash; at least `least`. */
PRICER_API enum pricer_status pricer_study_open_round(
    struct pricer_study *study, int64_t least, int64_t *round,
    struct pricer_fault *fault);

/* The highest number that was ever noted, 0 before the first. */
PRICER_API enum pricer_status pricer_study_last_round(
    struct pricer_study *study, int64_t *round, struct pricer_fault *fault);

/* Store a round and, if next is not NULL, open the next one in the same
 * transaction. */
PRICER_API enum pricer_status pricer_study_add_round(
    struct pricer_study *study, const struct pricer_round_record *record,
    int64_t least, int64_t *next, struct pricer_fault *fault);

/* Copy a study as it is now into a new file, of mode 0600 too. O(size). */
PRICER_API enum pricer_status pricer_study_copy(struct pricer_study *study,
                                                const char *path,
                                                struct pricer_fault *fault);

/* Add the rounds that were run on a copy of this study, all or none. The copy
 * was made after round `after` (pricer_study_last_round()); PRICER_VALUE if the
 * study has gone on itself since then. */
PRICER_API enum pricer_status pricer_study_join_rounds(
    struct pricer_study *study, const char *path, int64_t after,
    struct pricer_fault *fault);

/* How often something was up, of how many times that are known: what a node
 * withheld was up all the same, and what was not tried is not known. */
struct pricer_delivery {
    int64_t arrived, tried;
};

/*
 * What the stored rounds say about the links. Every attempt of a round counts
 * for itself. both[l] counts the attempts in which l and its partner are both known, and both arrived.
 */
struct pricer_deliveries {
    int32_t nodes, links;
    int64_t rounds;
    int64_t first, last;            /* the numbers of these rounds; 0: none */
    struct pricer_delivery *uplink; /* [nodes] */
    struct pricer_delivery *link;   /* [links] */
    struct pricer_delivery *both;   /* [links] */
};

/* Count over the latest `rounds` stored rounds, 0: all. O(rows). */
PRICER_API enum pricer_status pricer_study_deliveries(
    struct pricer_study *study, const struct pricer_network *network,
    int64_t rounds, struct pricer_deliveries **deliveries,
    struct pricer_fault *fault);

PRICER_API void pricer_deliveries_free(struct pricer_deliveries *deliveries);

/* Wilson's interval for a probability, from what arrived; [0, 1] where nothing
 * was tried. */
PRICER_API void pricer_delivery_interval(const struct pricer_delivery *delivery,
                                         double confidence, double *low,
                                         double *high);

/*
 * The network as measured: every probability is (arrived + 2 p) / (tried + 2)
 * with the p of the given network, so that what was never tried keeps its p
 * and no link vanishes; joints are measured the same way and held within their
 * bounds. Links, trust and numbering stay. For planning anew.
 */
PRICER_API enum pricer_status pricer_network_measured(
    const struct pricer_network *network,
    const struct pricer_deliveries *deliveries,
    struct pricer_network **measured, struct pricer_fault *fault);

/* ------------------------------------------------------------ read back -- */

/*
 * Reading back what the verbs have stored. A study may come from a stranger, so
 * every value is checked: one of the wrong type or outside its range is a
 * fault, PRICER_FORMAT.
 */

/* The text of the scenario that the study was made from. */
PRICER_API enum pricer_status pricer_study_scenario(struct pricer_study *study,
                                                    char **text,
                                                    struct pricer_fault *fault);

PRICER_API void pricer_study_text_free(char *text);

/* The number of the latest plan, 0 where there is none. O(1). */
PRICER_API enum pricer_status pricer_study_latest_plan(
    struct pricer_study *study, int64_t *id, struct pricer_fault *fault);

/* What a simulation found out about one strategy; as in pricer_outcome. */
struct pricer_strategy {
    char *name;
    double mse;
    double mse_stderr; /* NAN: not known */
    double predicted;  /* NAN: not known, as with a decoder */
    double worst_case; /* NAN: not known */
    double bias;
    double bias_predicted; /* NAN: not known */
    double difference;
    double difference_stderr; /* NAN: not known */
    double bar;               /* NAN: none, as with the constant decoder */
};

/* A simulation as it is stored. */
struct pricer_simulation_record {
    int64_t id;
    int64_t plan; /* the number of the plan that was simulated */
    enum pricer_engine engine;
    enum pricer_data data;
    uint64_t seed;
    int64_t trials;
    int64_t clipped;           /* vectors longer than the radius */
    enum pricer_decode decode; /* of the plan's sums */
    int32_t count;
    struct pricer_strategy *strategies; /* [count] "plan" first, then by mse */
};

/* The latest simulation of the plan with the number `plan`, or with 0 of any;
 * *record is NULL where there is none. */
PRICER_API enum pricer_status pricer_study_simulation(
    struct pricer_study *study, int64_t plan,
    struct pricer_simulation_record **record, struct pricer_fault *fault);

PRICER_API void pricer_simulation_record_free(
    struct pricer_simulation_record *record);

/* The stored statements about one observer at one delta, taken together. */
struct pricer_privacy_summary {
    enum pricer_observer observer;
    enum pricer_protect protect;
    enum pricer_eavesdropper eavesdropper;
    char *coalition; /* its members, such as "1,4,server", or NULL */
    int64_t rounds;
    double delta;
    int64_t statements; /* how many, at least 1 */
    double eps_least;
    double eps_mean;
    double eps_most;
};

/*
 * What is stored about the privacy of the plan with the number `plan`: of each
 * question the latest answer, in the order of the answers and then by delta.
 */
PRICER_API enum pricer_status pricer_study_privacy(
    struct pricer_study *study, int64_t plan,
    struct pricer_privacy_summary **summaries, int32_t *count,
    struct pricer_fault *fault);

PRICER_API void pricer_privacy_summaries_free(
    struct pricer_privacy_summary *summaries, int32_t count);

/* What rounds that were run have measured. */
struct pricer_rounds_summary {
    int64_t rounds;      /* how many */
    int64_t measured;    /* those of them whose error is known */
    double mse;          /* mean of the known errors, NAN: none is */
    double mse_stderr;   /* its standard error, NAN: fewer than 2 are */
    double arrived;      /* mean number of sums that arrived, NAN: no round */
    int64_t estimates;   /* rounds that gave an estimate */
    double contributors; /* mean number of nodes in the sums, NAN: no round */
    double weight;       /* mean part of the plan's weight, NAN: no round */
    double bar;          /* mean error bar of the estimates, NAN: none */
};

/*
 * The latest estimate that is stored, of `dimension` numbers, and its round; 0
 * where there is none of that length, and the estimate is then as it was. O(log
 * rounds) where rounds gave estimates lately.
 */
PRICER_API enum pricer_status pricer_study_estimate(struct pricer_study *study,
                                                    int64_t dimension,
                                                    int64_t *round,
                                                    double *estimate,
                                                    struct pricer_fault *fault);

/* Over the latest `most` stored rounds, 0: all. O(rounds). */
PRICER_API enum pricer_status pricer_study_rounds(
    struct pricer_study *study, int64_t most,
    struct pricer_rounds_summary *summary, struct pricer_fault *fault);

/* Over the stored rounds that used the plan with the number `plan`. O(rounds). */
PRICER_API enum pricer_status pricer_study_plan_rounds(
    struct pricer_study *study, int64_t plan,
    struct pricer_rounds_summary *summary, struct pricer_fault *fault);

/* A table of a study. */
struct pricer_table {
    char *name;
    int64_t rows;
};

/* All tables in the order in which they were made. O(rows). */
PRICER_API enum pricer_status pricer_study_tables(struct pricer_study *study,
                                                  struct pricer_table **tables,
                                                  int32_t *count,
                                                  struct pricer_fault *fault);

PRICER_API void pricer_tables_free(struct pricer_table *tables, int32_t count);

/* What a cell of a table may hold. */
enum pricer_cell_kind {
    PRICER_CELL_EMPTY = 0,
    PRICER_CELL_COUNT,
    PRICER_CELL_NUMBER,
    PRICER_CELL_TEXT,
    PRICER_CELL_BYTES,
};

/* One cell of a row. */
struct pricer_cell {
    enum pricer_cell_kind kind;
    int64_t count;    /* of COUNT, else 0 */
    double number;    /* of COUNT and NUMBER, else NAN */
    const char *text; /* of TEXT, else ""; until the visitor returns */
};

/* Who looks at a table. Each function returns whether to go on. */
struct pricer_visitor {
    /* The names of the columns, once, before any row; may be NULL. */
    bool (*columns)(void *context, const char *const *names, int32_t count);
    /* One row of so many cells. */
    bool (*row)(void *context, const struct pricer_cell *cells, int32_t count);
    void *context; /* handed to both */
};

/* Show a table to a visitor, row by row in the order in which it is stored;
 * PRICER_STOPPED if the visitor does not go on. */
PRICER_API enum pricer_status pricer_study_visit(
    struct pricer_study *study, const char *table,
    const struct pricer_visitor *visitor, struct pricer_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
