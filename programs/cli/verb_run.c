/*
 * From a verb and its arguments to what it prints, with the words explained if
 * that is asked for.
 */
#include "common/legend.h"
#include "verbs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Take `word` out of argv, up to a "--"; whether it was there. */
static bool take(int *argc, char **argv, const char *word)
{
    for (int k = 1; k < *argc && strcmp(argv[k], "--") != 0; k++)
        if (strcmp(argv[k], word) == 0) {
            memmove(argv + k, argv + k + 1, (size_t)(*argc - k) * sizeof *argv);
            --*argc;
            return true;
        }
    return false;
}

/* Run a verb, and explain the words of what it printed if that is asked for:
 * alone, or behind its tables. */
int verb_run(const struct verb *verb, int argc, char **argv)
{
    bool explain = legend_known(verb->name) && take(&argc, argv, "--explain");
    if (explain && argc == 1) {
        legend_print(verb->name);
        return 0;
    }
    for (int k = 1; explain && k < argc; k++)
        if (strcmp(argv[k], "--json") == 0) {
            fprintf(stderr,
                    "pricer %s: --explain is for tables, not for "
                    "--json\n",
                    verb->name);
            return 2;
        }
    int status = verb->run(argc, argv);
    if (explain && status == 0) {
        putchar('\n');
        legend_print(verb->name);
    }
    return status;
}
