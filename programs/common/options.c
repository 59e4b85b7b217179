/*
 * From a row per option to a parsed command line, its help and its mistakes.
 */
#include "options.h"
#include "legend.h"
#include "pricer_input.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void options_add(struct option_table *table, const struct option *rows,
                 size_t count)
{
    size_t room = sizeof table->rows / sizeof *rows - 1;
    for (size_t k = 0; k < count && (size_t)table->count < room; k++)
        table->rows[table->count++] = rows[k];
}

static const char *program_name(const struct usage *usage)
{
    return usage->verb != NULL ? "pricer " : "";
}

/* What an option does, beside its name: in lines that end by column 98. */
static void print_help(const char *text)
{
    enum { ROOM = 68 };
    while (strlen(text) > ROOM) {
        int length = ROOM;
        while (length > 0 && text[length] != ' ')
            length--;
        if (length == 0)
            break;
        printf("%.*s\n%30s", length, text, "");
        text += length + 1;
    }
    puts(text);
}

static void print_usage(const struct usage *usage, const struct option *options,
                        const char *name)
{
    printf("usage: %s%s%s%s%s\n\n%s\n\n", program_name(usage), name,
           options->name != NULL ? " [OPTION]..." : "",
           usage->operands[0] != '\0' ? " " : "", usage->operands,
           usage->summary);
    if (options->name != NULL)
        puts("options:");
    for (const struct option *row = options; row->name != NULL; row++) {
        char left[96];
        snprintf(left, sizeof left, "--%s%s%s", row->name,
                 row->argument != NULL ? " " : "",
                 row->argument != NULL ? row->argument : "");
        if (strlen(left) > 26)
            printf("  %s\n  %-26s  ", left, "");
        else
            printf("  %-26s  ", left);
        print_help(row->help);
    }
    if (usage->verb != NULL && legend_known(usage->verb))
        printf("  %-26s  %s\n", "--explain",
               "also say what the words of the tables mean");
    if (usage->verb == NULL)
        printf("  %-26s  %s\n", "--version", "print the version and stop");
    printf("  %-26s  %s\n\nexample:\n  %s\n", "--help, -h",
           "print this and stop", usage->example);
}

static int refuse(const struct usage *usage, const char *name, const char *what,
                  const char *about)
{
    fprintf(stderr, "%s%s: %s%s%s; --help explains\n", program_name(usage),
            name, what, about != NULL ? " " : "", about != NULL ? about : "");
    return 2;
}

/* The place of a word among "this|that|other", or -1. */
static int find_choice(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (int place = 0;; place++) {
        size_t width = strcspn(choices, "|");
        if (width == length && memcmp(choices, word, width) == 0)
            return place;
        if (choices[width] == '\0')
            return -1;
        choices += width + 1;
    }
}

static bool store_number(double *store, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || isnan(value))
        return false;
    *store = value;
    return true;
}

static bool store_count(int64_t *store, const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end != text && errno == 0 && *end == '\0' && value >= 0) {
        *store = value;
        return true;
    }
    /* 1e6 is a count too, if it is whole. */
    double wide;
    if (!store_number(&wide, text) || wide < 0 || wide > 9e15 ||
        wide != floor(wide))
        return false;
    *store = (int64_t)wide;
    return true;
}

static bool store_value(const struct option *row, const char *text)
{
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)row->store = true;
        return true;
    case OPTION_TEXT:
        *(const char **)row->store = text;
        return true;
    case OPTION_NUMBER:
        return store_number(row->store, text);
    case OPTION_COUNT:
        return store_count(row->store, text);
    case OPTION_ABOVE: {
        double value;
        bool good = store_number(&value, text) && value > 0;
        if (good)
            *(double *)row->store = value;
        return good;
    }
    case OPTION_MANY: {
        int64_t value;
        bool good = store_count(&value, text) && value > 0;
        if (good)
            *(int64_t *)row->store = value;
        return good;
    }
    case OPTION_CHOICE: {
        int place = find_choice(row->argument, text);
        if (place >= 0)
            *(int *)row->store = place;
        return place >= 0;
    }
    case OPTION_LIST: {
        struct option_list *list = row->store;
        int most = (int)(sizeof list->items / sizeof *list->items);
        if (list->count >= most)
            return false;
        list->items[list->count++] = text;
        return true;
    }
    }
    return false;
}

/* An option that is not in the table, "--name" or "--name=value". */
static int refuse_option(const struct usage *usage,
                         const struct option *options, const char *name,
                         const char *word)
{
    char typed[64], about[256];
    size_t count = 0;
    while (options[count].name != NULL)
        count++;
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word + 2, "="),
             word + 2);
    const char *near =
        pricer_word_nearest(typed, options, count, sizeof *options);
    snprintf(about, sizeof about, "%.120s%s%s%s", word,
             near != NULL ? " (did you mean --" : "", near != NULL ? near : "",
             near != NULL ? "?)" : "");
    return refuse(usage, name, "there is no option", about);
}

/* Handle argv[*at], an option, and the value behind it if it takes one. */
static int parse_option(const struct usage *usage, const struct option *options,
                        const char *name, int argc, char **argv, int *at)
{
    const char *word = argv[*at] + 2;
    size_t length = strcspn(word, "=");
    const struct option *row = options;
    while (row->name != NULL &&
           (strlen(row->name) != length || memcmp(row->name, word, length)))
        row++;
    if (row->name == NULL)
        return refuse_option(usage, options, name, argv[*at]);
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    if (row->kind == OPTION_FLAG) {
        if (value != NULL)
            return refuse(usage, name,
                          "this option takes no value:", argv[*at]);
    } else if (value == NULL) {
        if (*at + 1 >= argc)
            return refuse(usage, name, "a value is missing after", argv[*at]);
        value = argv[++*at];
    }
    if (store_value(row, value))
        return OPTIONS_GO;
    static const char *const expected[] = {[OPTION_NUMBER] = "a number",
                                           [OPTION_COUNT] = "a whole number",
                                           [OPTION_ABOVE] = "a number above 0",
                                           [OPTION_MANY] =
                                               "a whole number above 0",
                                           [OPTION_LIST] = "fewer of them"};
    const char *words = expected[row->kind];
    char about[256];
    snprintf(about, sizeof about, "'%.80s' for --%s (expected %s)", value,
             row->name, words != NULL ? words : row->argument);
    return refuse(usage, name, "cannot take", about);
}

/* How many operands the usage names, and how many of them must be there. */
static void count_operands(const char *text, int *most, int *least)
{
    *most = *least = 0;
    for (const char *at = text; *at != '\0';) {
        at += strspn(at, " ");
        if (*at == '\0')
            break;
        ++*most;
        *least += *at != '[';
        at += strcspn(at, " ");
    }
}

int options_parse(const struct usage *usage, const struct option *options,
                  int argc, char **argv, const char **operands)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = usage->verb != NULL ? usage->verb
                       : slash != NULL     ? slash + 1
                                           : argv[0];
    int most, least, found = 0;
    bool only_operands = false;
    count_operands(usage->operands, &most, &least);
    for (int k = 0; k < most; k++)
        operands[k] = NULL;
    for (int at = 1; at < argc; at++) {
        bool dashed = argv[at][0] == '-' && argv[at][1] == '-';
        if (!only_operands && dashed && argv[at][2] == '\0') {
            only_operands = true;
        } else if (!only_operands && (strcmp(argv[at], "--help") == 0 ||
                                      strcmp(argv[at], "-h") == 0)) {
            print_usage(usage, options, name);
            return 0;
        } else if (!only_operands && usage->verb == NULL &&
                   strcmp(argv[at], "--version") == 0) {
            printf("%s %s\n", name, pricer_version());
            return 0;
        } else if (!only_operands && dashed) {
            int status = parse_option(usage, options, name, argc, argv, &at);
            if (status != OPTIONS_GO)
                return status;
        } else if (!only_operands && argv[at][0] == '-' && argv[at][1]) {
            return refuse(usage, name, "there is no option", argv[at]);
        } else if (found == most) {
            return refuse(usage, name, "one operand too many:", argv[at]);
        } else {
            operands[found++] = argv[at];
        }
    }
    if (found < least)
        return refuse(usage, name, "an operand is missing: expected",
                      usage->operands);
    return OPTIONS_GO;
}
