/*
 * From a configuration file to words as they would stand on the command line.
 * The words live as long as the program: options point into them.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 64 };

/* One line into "--name=value", or "--name" without a value; NULL: blank. */
static char *make_word(char *line)
{
    char *name = line + strspn(line, " \t");
    name[strcspn(name, "\r\n")] = '\0';
    size_t length = strcspn(name, " \t=");
    if (*name == '\0' || *name == '#')
        return NULL;
    char *value = name + length;
    value += strspn(value, " \t=");
    size_t end = strlen(value);
    while (end > 0 && strchr(" \t", value[end - 1]) != NULL)
        value[--end] = '\0';
    char *word = malloc(length + end + 4);
    if (word != NULL)
        sprintf(word, "--%.*s%s%s", (int)length, name, end > 0 ? "=" : "",
                value);
    return word;
}

static int read_words(const char *path, char **words)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    int count = 0;
    if (file == NULL) {
        fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, path,
                strerror(errno));
        return -1;
    }
    while (count < LINES && getline(&line, &room, file) >= 0) {
        words[count] = make_word(line);
        count += words[count] != NULL;
    }
    free(line);
    fclose(file);
    return count;
}

int config_parse(const struct usage *usage, const struct option *options,
                 const char *const *config, int argc, char **argv,
                 const char **operands)
{
    static char *words[LINES]; /* kept to the end: options point there */
    int go = options_parse(usage, options, argc, argv, operands);
    if (go != OPTIONS_GO || *config == NULL)
        return go;
    int count = read_words(*config, words);
    if (count < 0)
        return 1;
    char **all = calloc((size_t)(count + argc + 1), sizeof *all);
    if (all == NULL)
        return 1;
    all[0] = argv[0];
    memcpy(all + 1, words, (size_t)count * sizeof *all);
    memcpy(all + 1 + count, argv + 1, (size_t)(argc - 1) * sizeof *all);
    go = options_parse(usage, options, argc + count, all, operands);
    free(all);
    return go;
}
