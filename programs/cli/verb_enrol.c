/*
 * pricer enrol: who takes part, under which key and where.
 */
#include "transport/keys.h"
#include "common/options.h"
#include "common/program.h"
#include "verbs.h"
#include "pricer_members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct usage usage = {
    "enrol", "STUDY [NODE] [KEY] [ADDRESS]",
    "Enrol a node, or the server, in a study: its public key (Z85, or a file\n"
    "that pricer keygen wrote) and the address others reach it at. NODE is a\n"
    "number or the word server. Without NODE: list who is enrolled.",
    "pricer enrol ten.pricer 3 node3.key.pub tcp://10.0.0.13:7100"};

/* Who is enrolled, and which keys are to follow theirs. */
struct roster {
    struct pricer_network *network;
    struct pricer_member *members;
    struct pricer_successor *successors;
    int32_t count, successor_count;
};

/* The key that is let in beside the one of a member, or NULL. */
static const char *next_key(const struct roster *roster,
                            const struct pricer_member *member)
{
    for (int32_t k = 0; k < roster->successor_count; k++)
        if (roster->successors[k].node == member->node &&
            strcmp(roster->successors[k].old, member->key) == 0)
            return roster->successors[k].key;
    return NULL;
}

static void list_json(const struct roster *roster)
{
    const struct pricer_member *members = roster->members;
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_open(&json, "members", '[');
    for (int32_t k = 0; k < roster->count; k++) {
        const char *next = next_key(roster, &members[k]);
        json_open(&json, NULL, '{');
        if (members[k].node == PRICER_SERVER)
            json_text(&json, "node", "server");
        else
            json_count(&json, "node", members[k].node);
        json_name(&json, "name", roster->network, members[k].node);
        json_text(&json, "key", members[k].key);
        if (next != NULL)
            json_text(&json, "next_key", next);
        json_text(&json, "address", members[k].address);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

/* A key that is to follow has a row below its node's. */
static void list_table(const struct roster *roster)
{
    const struct pricer_member *members = roster->members;
    struct table *table =
        table_new(3, (const char *const[]){"node", "key", "address"});
    for (int32_t k = 0; k < roster->count; k++) {
        const char *next = next_key(roster, &members[k]);
        if (members[k].node == PRICER_SERVER)
            table_cell(table, "server");
        else
            table_cell(table, "%s",
                       node_label(roster->network, members[k].node).text);
        table_cell(table, "%s", members[k].key);
        table_cell(table, "%s", members[k].address);
        if (next == NULL)
            continue;
        table_cell(table, "  next key");
        table_cell(table, "%s", next);
        table_cell(table, "let in too, until --retire");
    }
    table_print(table, stdout);
}

static int list(struct pricer_study *study, bool as_json)
{
    struct pricer_fault fault = {""};
    struct roster roster = {0};
    enum pricer_status status =
        pricer_study_members(study, &roster.members, &roster.count, &fault);
    if (status == PRICER_OK)
        status = pricer_study_successors(study, &roster.successors,
                                         &roster.successor_count, &fault);
    if (status == PRICER_OK)
        status = pricer_study_network(study, &roster.network, &fault);
    if (status == PRICER_OK)
        (as_json ? list_json : list_table)(&roster);
    pricer_members_free(roster.members);
    pricer_successors_free(roster.successors);
    pricer_network_free(roster.network);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    return 0;
}

/* What to do with a node. */
struct wishes {
    bool remove, next, retire;
};

static enum pricer_status add_next(struct pricer_study *study, int32_t node,
                                   const char *path, struct pricer_fault *fault)
{
    struct pricer_successor next = {.node = node};
    enum pricer_status status =
        keys_successor(path, next.old, next.key, next.proof, fault);
    if (status == PRICER_OK)
        status = pricer_study_enrol_next(study, &next, fault);
    return status;
}

static enum pricer_status change(struct pricer_study *study,
                                 const char *const *operands,
                                 const struct wishes *wishes,
                                 struct pricer_fault *fault)
{
    struct pricer_member member = {.node = PRICER_SERVER};
    char *end = NULL;
    if (strcmp(operands[1], "server") != 0) {
        errno = 0;
        long node = strtol(operands[1], &end, 10);
        bool whole = end != operands[1] && *end == '\0' && errno == 0;
        if (!whole || node < 0 || node > INT32_MAX) {
            snprintf(fault->text, sizeof fault->text,
                     "'%.60s' is neither a node's number nor 'server'",
                     operands[1]);
            return PRICER_VALUE;
        }
        member.node = (int32_t)node;
    }
    if (wishes->remove)
        return pricer_study_expel(study, member.node, fault);
    if (wishes->next)
        return add_next(study, member.node, operands[2], fault);
    if (wishes->retire)
        return pricer_study_retire(study, member.node, fault);
    if (strlen(operands[3]) >= sizeof member.address) {
        snprintf(fault->text, sizeof fault->text, "the address is too long");
        return PRICER_VALUE;
    }
    strcpy(member.address, operands[3]);
    enum pricer_status status = keys_public(operands[2], member.key, fault);
    if (status == PRICER_OK)
        status = pricer_study_enrol(study, &member, fault);
    return status;
}

/* What is wrong with the words, or NULL. */
static const char *find_mistake(const char *const *operands,
                                const struct wishes *wishes)
{
    bool changing = operands[1] != NULL;
    if (wishes->remove + wishes->next + wishes->retire > 1)
        return "--remove, --next and --retire are three things";
    if ((wishes->remove || wishes->retire) &&
        (!changing || operands[2] != NULL))
        return wishes->remove ? "--remove takes NODE and no more"
                              : "--retire takes NODE and no more";
    if (wishes->next && (operands[2] == NULL || operands[3] != NULL))
        return "--next takes NODE and KEY";
    if (changing && !wishes->remove && !wishes->next && !wishes->retire &&
        operands[3] == NULL)
        return "KEY and ADDRESS belong to NODE";
    return NULL;
}

int verb_enrol(int argc, char **argv)
{
    bool as_json = false;
    struct wishes wishes = {false, false, false};
    const struct option options[] = {
        {"next", OPTION_FLAG, &wishes.next, NULL,
         "let in the key of KEY, which 'keygen --after' made, beside the old"},
        {"retire", OPTION_FLAG, &wishes.retire, NULL,
         "shut the old key of NODE out; the next one is its key"},
        {"remove", OPTION_FLAG, &wishes.remove, NULL,
         "end the enrolment of NODE; its key is shut out at once"},
        {"json", OPTION_FLAG, &as_json, NULL,
         "print the members as one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[4];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    bool changing = operands[1] != NULL;
    const char *mistake = find_mistake(operands, &wishes);
    if (mistake != NULL) {
        fprintf(stderr, "pricer enrol: %s; --help explains\n", mistake);
        return 2;
    }
    struct pricer_fault fault = {""};
    struct pricer_study *study = NULL;
    enum pricer_status status =
        pricer_study_open(operands[0], changing, &study, &fault);
    if (status == PRICER_OK && changing)
        status = change(study, operands, &wishes, &fault);
    int result = status != PRICER_OK    ? program_fault(status, &fault)
                 : !changing || as_json ? list(study, as_json)
                                        : 0;
    pricer_study_close(study);
    return result;
}
