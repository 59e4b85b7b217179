/*
 * From the options of the command line to a question about privacy, and from
 * "1,4,server" to the members of a coalition.
 */
#include "question.h"
#include "common/meaning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *question_conflict(const struct question_request *ask)
{
    if (ask->coalition != NULL && ask->observer >= 0)
        return "--coalition is an observer of its own, without --observer";
    if (ask->protect == PRICER_PROTECT_IDENTITY && ask->observer >= 0 &&
        ask->observer != PRICER_OBSERVER_RELAY &&
        ask->observer != PRICER_OBSERVER_SERVER)
        return "--protect identity is for relays, the server and coalitions";
    if (ask->protect == PRICER_PROTECT_IDENTITY &&
        ask->relays == PRICER_RELAYS_SHARES)
        return "--relays shares is about data: whoever sees a share sees "
               "whose it is";
    return NULL;
}

int question_observer(int place)
{
    static const int observers[] = {
        PRICER_OBSERVER_LINK, PRICER_OBSERVER_RELAY, PRICER_OBSERVER_SERVER,
        PRICER_OBSERVER_READER, PRICER_OBSERVER_LISTENER};
    return place < 0 ? -1 : observers[place];
}

const char *question_delta_conflict(const struct question_request *ask)
{
    return ask->delta <= 1 ? NULL : "--delta is a number above 0, at most 1";
}

void question_settle(struct question_request *ask,
                     const struct pricer_settings *planned)
{
    if (ask->rounds == 0)
        ask->rounds = planned->rounds > 0 ? planned->rounds : 1;
    if (ask->eavesdropper < 0)
        ask->eavesdropper = PRICER_RADIO;
}

bool question_is_planned(int64_t rounds, enum pricer_eavesdropper eavesdropper,
                         const char *coalition,
                         const struct pricer_settings *planned)
{
    struct question_request own = {.eavesdropper = -1};
    question_settle(&own, planned);
    return rounds == own.rounds && (int)eavesdropper == own.eavesdropper &&
           (coalition == NULL || strstr(coalition, "silent=") == NULL);
}

const char *question_losses_text(enum pricer_eavesdropper eavesdropper)
{
    return eavesdropper == PRICER_RADIO
               ? "a packet lost on the way counts as heard (radio)"
               : "a packet lost on the way was heard by nobody (receiver)";
}

/* What relays see and send on, or NULL where they have no part in it. */
static const char *relays_text(const struct pricer_question *question)
{
    bool shares = question->relays == PRICER_RELAYS_SHARES;
    switch (question->observer) {
    case PRICER_OBSERVER_RELAY:
        return shares ? "relays see every share by itself (relays shares), as "
                        "those of a fleet do"
                      : "relays see sums and never a single share (relays "
                        "sums), which is so over the air but not in a fleet";
    case PRICER_OBSERVER_COALITION:
        return shares ? "its relays see every share by itself (relays shares), "
                        "other relays send sums"
                      : "relays see sums and never a single share (relays "
                        "sums), which is so over the air but not in a fleet";
    case PRICER_OBSERVER_SERVER:
    case PRICER_OBSERVER_READER:
        return "relays send the server sums and never a single share";
    case PRICER_OBSERVER_LISTENER:
        return "it reads all that the node sends, and nothing that is sent to "
               "the node";
    default:
        return NULL;
    }
}

static void append(char *text, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, ASSUMES_ROOM - used, "%s", more);
}

/* Of the estimate: what it is made from. */
static const char *estimate_text(const struct pricer_question *question)
{
    if (question->decodes)
        return "; the estimate may be any function of the sums, as the plan "
               "has a decoder, so this is what the server learns";
    return "; the estimate is the sum of what arrived over the number of "
           "nodes";
}

bool question_counts_others(const struct pricer_question *question)
{
    bool pooled = question->observer == PRICER_OBSERVER_COALITION;
    bool sums = pooled ? question->with_server || question->with_reader
                       : question->observer != PRICER_OBSERVER_RELAY;
    return question->observer != PRICER_OBSERVER_LINK &&
           (sums || question->relays == PRICER_RELAYS_SUMS);
}

void question_assumes(const struct pricer_question *question,
                      char text[ASSUMES_ROOM])
{
    const char *relays = relays_text(question);
    text[0] = '\0';
    if (question->observer == PRICER_OBSERVER_EVERYONE) {
        append(text, "nothing of links, relays, the server or other nodes: "
                     "only that the node makes one release a round as the "
                     "program does, and that its random bits are good");
        return;
    }
    append(text,
           relays != NULL ? relays : "nothing but the sender's own noise");
    if (question_counts_others(question))
        append(text, "; " MEANING_OTHERS);
    if (question->observer == PRICER_OBSERVER_READER ||
        (question->observer == PRICER_OBSERVER_COALITION &&
         question->with_reader && !question->with_server))
        append(text, estimate_text(question));
    append(text, question->eavesdropper == PRICER_RADIO
                     ? "; late shares count as seen"
                     : "; a share is seen as often as its link is up, late "
                       "ones included");
    if (question->protect == PRICER_PROTECT_IDENTITY)
        append(text, "; messages have the variance with which they are sent on "
                     "the integer grid");
}

int question_observers(const struct question_request *ask, int *first)
{
    *first = PRICER_OBSERVER_LINK;
    if (ask->coalition != NULL)
        *first = PRICER_OBSERVER_COALITION;
    else if (ask->observer >= 0)
        *first = ask->observer;
    else if (ask->protect == PRICER_PROTECT_IDENTITY)
        *first = PRICER_OBSERVER_RELAY;
    else
        return 3;
    return 1;
}

struct pricer_question question_make(const struct question_request *ask,
                                     int observer,
                                     const struct coalition *coalition)
{
    return (struct pricer_question){
        .observer = (enum pricer_observer)observer,
        .protect = ask->protect < 0 ? PRICER_PROTECT_DATA : ask->protect,
        .eavesdropper = observer == PRICER_OBSERVER_LISTENER
                            ? PRICER_RADIO
                            : (enum pricer_eavesdropper)ask->eavesdropper,
        .delta = ask->delta,
        .rounds = ask->rounds,
        .members = coalition->members,
        .member_count = coalition->member_count,
        .with_server = coalition->with_server,
        .with_reader = coalition->with_reader,
        .relays = (enum pricer_relays)ask->relays,
        .decodes = ask->decodes,
        .threads = (int32_t)ask->threads,
    };
}

static bool read_list(const char *list, int32_t nodes,
                      struct coalition *coalition)
{
    for (const char *at = list; *at != '\0';) {
        size_t length = strcspn(at, ",");
        char *end;
        long node = strtol(at, &end, 10);
        if (length == 6 && strncmp(at, "server", 6) == 0)
            coalition->with_server = true;
        else if (length == 6 && strncmp(at, "reader", 6) == 0)
            coalition->with_reader = true;
        else if (length == 0 || end != at + length || node < 0 ||
                 node >= nodes || *at == '+' || *at == ' ')
            return false;
        else
            coalition->members[coalition->member_count++] = (int32_t)node;
        at += length;
        if (*at == ',' && *++at == '\0')
            return false;
    }
    return coalition->member_count > 0 || coalition->with_server ||
           coalition->with_reader;
}

enum pricer_status coalition_read(const char *list, int32_t nodes,
                                  struct coalition *coalition,
                                  struct pricer_fault *fault)
{
    struct coalition made = {0};
    if (list == NULL) {
        *coalition = made;
        return PRICER_OK;
    }
    made.members = calloc(strlen(list) / 2 + 1, sizeof *made.members);
    if (made.members == NULL)
        return PRICER_MEMORY;
    if (read_list(list, nodes, &made)) {
        *coalition = made;
        return PRICER_OK;
    }
    free(made.members);
    snprintf(fault->text, sizeof fault->text,
             "--coalition %.80s is not a list of nodes (0 to %d), 'server' and "
             "'reader'",
             list, (int)nodes - 1);
    return PRICER_VALUE;
}
