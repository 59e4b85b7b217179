/*
 * pricer plans: the plans of a study, what they are called, and the end of some.
 */
#include "common/options.h"
#include "print_plans.h"
#include "verbs.h"

#include <string.h>

static const struct usage usage = {
    "plans", "STUDY",
    "List the plans of a study: when each was made, what was asked for, its\n"
    "error, its certificate and what the server learns where that is stored,\n"
    "or with 'scheme: forward' what anyone learns.\n"
    "First call plans by names and delete others, if that is asked for.",
    "pricer plans ten.pricer --name 2=strict --delete 1"};

/* "2=strict": call plan 2 so. */
static enum pricer_status name_plan(struct pricer_study *study,
                                    const char *text,
                                    struct pricer_fault *fault)
{
    char plan[PRICER_NAME_TEXT];
    size_t length = strcspn(text, "=");
    int64_t id = 0;
    if (text[length] != '=' || length >= sizeof plan) {
        snprintf(fault->text, sizeof fault->text,
                 "--name %.80s is not PLAN=NAME", text);
        return PRICER_VALUE;
    }
    memcpy(plan, text, length);
    plan[length] = '\0';
    enum pricer_status status = pricer_study_find_plan(study, plan, &id, fault);
    if (status == PRICER_OK)
        status = pricer_study_name_plan(study, id, text + length + 1, fault);
    return status;
}

static enum pricer_status delete_plan(struct pricer_study *study,
                                      const char *text,
                                      struct pricer_fault *fault)
{
    int64_t id = 0;
    enum pricer_status status = pricer_study_find_plan(study, text, &id, fault);
    return status == PRICER_OK ? pricer_study_delete_plan(study, id, fault)
                               : status;
}

int verb_plans(int argc, char **argv)
{
    struct option_list names = {0}, deleted = {0};
    bool as_json = false;
    const struct option options[] = {
        {"name", OPTION_LIST, &names, "PLAN=NAME",
         "call a plan by a name; may be given again"},
        {"delete", OPTION_LIST, &deleted, "PLAN",
         "delete a plan and what was found out about it; again"},
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    struct pricer_study *study = NULL;
    struct pricer_fault fault = {""};
    bool change = names.count > 0 || deleted.count > 0;
    enum pricer_status status =
        pricer_study_open(operands[0], change, &study, &fault);
    for (int k = 0; k < names.count && status == PRICER_OK; k++)
        status = name_plan(study, names.items[k], &fault);
    for (int k = 0; k < deleted.count && status == PRICER_OK; k++)
        status = delete_plan(study, deleted.items[k], &fault);
    if (status == PRICER_OK && as_json) {
        struct json json = {.out = stdout};
        json_open(&json, NULL, '{');
        status = plans_json(&json, study, &fault);
        json_close(&json, '}');
    } else if (status == PRICER_OK) {
        status = plans_table(study, &fault);
    }
    pricer_study_close(study);
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}
