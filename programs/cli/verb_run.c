/*
 * From a verb and its arguments to what it prints, with the words explained if
 * that is asked for.
 */
#include "common/legend.h"
#include "pricer_forward.h"
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

/* The scheme of the study among the arguments, if there is one. */
static enum legend_scheme find_scheme(int argc, char **argv)
{
    enum legend_scheme found = LEGEND_ALL;
    for (int k = 1; k < argc && found == LEGEND_ALL; k++) {
        struct pricer_study *study = NULL;
        enum pricer_scheme scheme;
        if (argv[k][0] == '-' ||
            pricer_study_open(argv[k], false, &study, NULL) != PRICER_OK)
            continue;
        if (pricer_study_scheme(study, &scheme, NULL) == PRICER_OK)
            found =
                scheme == PRICER_SCHEME_FORWARD ? LEGEND_FORWARD : LEGEND_SUM;
        pricer_study_close(study);
    }
    return found;
}

/* Run a verb, and explain the words of what it printed if that is asked for:
 * alone, or behind its tables. */
int verb_run(const struct verb *verb, int argc, char **argv)
{
    bool explain = legend_known(verb->name) && take(&argc, argv, "--explain");
    if (explain && argc == 1) {
        legend_print(verb->name, LEGEND_ALL);
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
        legend_print(verb->name, find_scheme(argc, argv));
    }
    return status;
}
