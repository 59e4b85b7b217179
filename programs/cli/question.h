/*
 * Questions about privacy as they are asked on the command line: who looks, at
 * what, and together with whom.
 */
#ifndef PROGRAM_QUESTION_H
#define PROGRAM_QUESTION_H

#include "common/options.h"
#include "pricer.h"

/* What the command line asks. */
struct question_request {
    int observer;     /* -1: not given */
    int protect;      /* -1: not given */
    int eavesdropper; /* -1: not given */
    double delta;     /* 0: not given */
    int64_t rounds;   /* 0: not given */
    int64_t threads;  /* 0: one per core */
    const char *coalition;
    int relays;   /* enum pricer_relays */
    bool decodes; /* the plan has a decoder of its own */
};

/* The row of struct option that says who looks, and those that say the rest. */
#define OBSERVER_OPTION(ask)                                                   \
    {                                                                          \
        "observer", OPTION_CHOICE, &(ask)->observer, "link|relay|server",      \
            "who looks; default all three"                                     \
    }
/* The same where every observer has an answer; question_observer() turns what
 * it stores into an enum pricer_observer. */
#define WATCHER_OPTIONS(ask)                                                   \
    {"observer", OPTION_CHOICE, &(ask)->observer,                              \
     "link|relay|server|reader|listener",                                      \
     "who looks; default the first three"},                                    \
    {                                                                          \
        "relays", OPTION_CHOICE, &(ask)->relays, "sums|shares",                \
            "what relays see: a fleet's see shares; default sums"              \
    }
#define QUESTION_OPTIONS(ask)                                                  \
    {"protect", OPTION_CHOICE, &(ask)->protect, "data|identity",               \
     "what is kept from a relay; default data"},                               \
        {"delta", OPTION_ABOVE, &(ask)->delta, "X",                            \
         "default: that of each link; at the server a node's smallest"},       \
        {"rounds", OPTION_MANY, &(ask)->rounds, "T",                           \
         "how many rounds are seen; default: the plan's"},                     \
        {"eavesdropper", OPTION_CHOICE, &(ask)->eavesdropper,                  \
         "receiver|radio",                                                     \
         "radio, the default, hears lost packets too, as budgets count"},      \
    {                                                                          \
        "coalition", OPTION_TEXT, &(ask)->coalition, "LIST",                   \
            "who pool what they see: 1,4,7 or 1,server or 1,reader"            \
    }

/* From the place of a word of WATCHER_OPTIONS to the observer. */
int question_observer(int place);

/* Which of the options cannot be given together, in words, or NULL. */
const char *question_conflict(const struct question_request *ask);

/* The same for a delta outside its range. */
const char *question_delta_conflict(const struct question_request *ask);

/* What was not given is taken from what the plan was made for: its rounds, and
 * radio. */
void question_settle(struct question_request *ask,
                     const struct pricer_settings *planned);

/* Whether a stored answer is about what the plan was made for: its rounds, its
 * losses, and the noise of all (older versions could leave out that of `silent=`
 * nodes). Others stand beside it under their own names, never in its place. `coalition` is as the study has it, or NULL. */
bool question_is_planned(int64_t rounds, enum pricer_eavesdropper eavesdropper,
                         const char *coalition,
                         const struct pricer_settings *planned);

/* What a lost packet counts for in numbers about this eavesdropper, in words. */
const char *question_losses_text(enum pricer_eavesdropper eavesdropper);

/* Whether the answers count the noise that other nodes add. */
bool question_counts_others(const struct pricer_question *question);

/* What the answers take for granted, in one sentence or more. */
enum { ASSUMES_ROOM = 640 };
void question_assumes(const struct pricer_question *question,
                      char text[ASSUMES_ROOM]);

/* How many observers are asked about, from *first on. */
int question_observers(const struct question_request *ask, int *first);

/* Observers that pool what they see. */
struct coalition {
    int32_t *members; /* [member_count] */
    int32_t member_count;
    bool with_server, with_reader;
};

/* "1,4,server" in a network of so many nodes, NULL: nobody; free members with
 * free(). */
enum pricer_status coalition_read(const char *list, int32_t nodes,
                                  struct coalition *coalition,
                                  struct pricer_fault *fault);

/* The question to ask about one observer. It borrows the coalition. */
struct pricer_question question_make(const struct question_request *ask,
                                     int observer,
                                     const struct coalition *coalition);

#endif
