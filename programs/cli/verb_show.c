/*
 * pricer show: from a study to what it holds, in words.
 */
#include "common/options.h"
#include "common/program.h"
#include "print_plans.h"
#include "verbs.h"

#include <math.h>
#include <string.h>

static const struct usage usage = {
    "show", "STUDY",
    "Say what a study holds: its settings, how many rows each of its tables\n"
    "has, and its plans.",
    "pricer show ten.pricer"};

/* What is known about the study, on its way to stdout. */
struct view {
    struct pricer_study *study;
    struct pricer_table *tables;
    int32_t count;
    struct json json;
    struct table *settings; /* NULL: print JSON instead */
    enum pricer_scheme scheme;
};

/* A number as SQLite writes it: 15 digits, and a point in each. */
static void write_number(double value, char *text, size_t size)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.15g", value);
    size_t whole = strcspn(digits, ".e");
    bool plain = digits[whole] == '.' || !isfinite(value);
    if (isinf(value))
        snprintf(text, size, "%s", value > 0 ? "Inf" : "-Inf");
    else
        snprintf(text, size, "%.*s%s%s", (int)whole, digits, plain ? "" : ".0",
                 digits + whole);
}

static void show_cell(struct view *view, const char *key,
                      const struct pricer_cell *value)
{
    char text[48];
    if (value->kind == PRICER_CELL_COUNT && view->settings == NULL) {
        json_count(&view->json, key, value->count);
    } else if (value->kind == PRICER_CELL_NUMBER && view->settings == NULL) {
        json_number(&view->json, key, value->number);
    } else if (view->settings == NULL) {
        json_text(&view->json, key, value->text);
    } else {
        snprintf(text, sizeof text, "%lld", (long long)value->count);
        if (value->kind == PRICER_CELL_NUMBER)
            write_number(value->number, text, sizeof text);
        bool written = value->kind == PRICER_CELL_COUNT ||
                       value->kind == PRICER_CELL_NUMBER;
        table_cell(view->settings, "%s", key);
        table_cell(view->settings, "%s", written ? text : value->text);
    }
}

/* Settings that the study's scheme does not have. */
static bool is_stray(const struct view *view, const char *key)
{
    static const char *const keys[2][5] = {
        {"hops", "release"}, {"bias", "calibration", "horizon", "lambda"}};
    for (int k = 0; keys[view->scheme][k] != NULL; k++)
        if (strcmp(key, keys[view->scheme][k]) == 0)
            return true;
    return false;
}

/* Every setting of the scheme but the scenario's text, which is long. */
static bool show_setting(void *context, const struct pricer_cell *cells,
                         int32_t count)
{
    struct view *view = context;
    if (count >= 2 && strcmp(cells[0].text, "scenario") != 0 &&
        !is_stray(view, cells[0].text))
        show_cell(view, cells[0].text, &cells[1]);
    return true;
}

static enum pricer_status show_settings(struct view *view,
                                        struct pricer_fault *fault)
{
    const struct pricer_visitor visitor = {.row = show_setting,
                                           .context = view};
    return pricer_study_visit(view->study, "setting", &visitor, fault);
}

static enum pricer_status show_json(struct view *view,
                                    struct pricer_fault *fault)
{
    struct json *json = &view->json;
    json->out = stdout;
    json_open(json, NULL, '{');
    json_open(json, "settings", '{');
    enum pricer_status status = show_settings(view, fault);
    json_close(json, '}');
    json_open(json, "rows", '{');
    for (int32_t k = 0; k < view->count; k++)
        json_count(json, view->tables[k].name, view->tables[k].rows);
    json_close(json, '}');
    if (status == PRICER_OK)
        status = plans_json(json, view->study, fault);
    json_close(json, '}');
    return status;
}

static enum pricer_status show_tables(struct view *view,
                                      struct pricer_fault *fault)
{
    view->settings = table_new(2, (const char *const[]){"setting", "value"});
    enum pricer_status status = show_settings(view, fault);
    table_print(view->settings, stdout);
    putchar('\n');
    struct table *table = table_new(2, (const char *const[]){"table", "rows"});
    for (int32_t k = 0; k < view->count; k++) {
        table_cell(table, "%s", view->tables[k].name);
        table_cell(table, "%lld", (long long)view->tables[k].rows);
    }
    table_print(table, stdout);
    if (status != PRICER_OK)
        return status;
    putchar('\n');
    return plans_table(view->study, fault);
}

static enum pricer_status show_scenario(struct view *view,
                                        struct pricer_fault *fault)
{
    char *text = NULL;
    enum pricer_status status =
        pricer_study_scenario(view->study, &text, fault);
    if (status == PRICER_OK)
        fputs(text, stdout);
    pricer_study_text_free(text);
    return status;
}

int verb_show(int argc, char **argv)
{
    bool as_json = false, scenario = false;
    const struct option options[] = {
        {"scenario", OPTION_FLAG, &scenario, NULL,
         "print the scenario the study was made from"},
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;

    struct pricer_fault fault = {""};
    struct view view = {0};
    enum pricer_status status =
        pricer_study_open(operands[0], false, &view.study, &fault);
    if (status == PRICER_OK)
        status = pricer_study_scheme(view.study, &view.scheme, &fault);
    if (status == PRICER_OK && scenario)
        status = show_scenario(&view, &fault);
    else if (status == PRICER_OK)
        status =
            pricer_study_tables(view.study, &view.tables, &view.count, &fault);
    if (status == PRICER_OK && !scenario)
        status = (as_json ? show_json : show_tables)(&view, &fault);
    pricer_tables_free(view.tables, view.count);
    pricer_study_close(view.study);
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}
