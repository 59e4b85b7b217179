/*
 * From the options of the command line to a question about privacy, and from
 * "1,4,server" to the members of a coalition.
 */
#include "question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *question_conflict(const struct question_request *ask)
{
    if (ask->coalition != NULL && ask->observer >= 0)
        return "--coalition is an observer of its own, without --observer";
    if (ask->protect == PRICER_PROTECT_IDENTITY &&
        ask->observer == PRICER_OBSERVER_LINK)
        return "--protect identity is for relays, the server and coalitions";
    return NULL;
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
        ask->eavesdropper = planned->credit == PRICER_CREDIT_LOSSES
                                ? PRICER_RECEIVER
                                : PRICER_RADIO;
}

const char *question_credit(enum pricer_eavesdropper eavesdropper)
{
    return pricer_word(PRICER_WORDS_CREDIT, eavesdropper == PRICER_RADIO
                                                ? PRICER_CREDIT_NONE
                                                : PRICER_CREDIT_LOSSES);
}

const char *question_credit_text(enum pricer_eavesdropper eavesdropper)
{
    return eavesdropper == PRICER_RADIO
               ? "a packet lost on the way counts as heard (credit none)"
               : "a packet lost on the way was heard by nobody (credit losses)";
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
        .eavesdropper = (enum pricer_eavesdropper)ask->eavesdropper,
        .delta = ask->delta,
        .rounds = ask->rounds,
        .members = coalition->members,
        .member_count = coalition->member_count,
        .with_server = coalition->with_server,
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
        else if (length == 0 || end != at + length || node < 0 ||
                 node >= nodes || *at == '+' || *at == ' ')
            return false;
        else
            coalition->members[coalition->member_count++] = (int32_t)node;
        at += length;
        if (*at == ',' && *++at == '\0')
            return false;
    }
    return coalition->member_count > 0 || coalition->with_server;
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
             "--coalition %.80s is not a list of nodes (0 to %d) and 'server'",
             list, (int)nodes - 1);
    return PRICER_VALUE;
}
