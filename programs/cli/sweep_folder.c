/*
 * From what a sweep was asked for to a folder that is its own: sweep.txt says
 * what the folder is a sweep of, and only the same may go on in it.
 */
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* FNV-1a of the data: other data under the same name are another sweep. */
static uint64_t digest(const struct pricer_matrix *data)
{
    size_t element = data->element == PRICER_FLOAT32 ? 4 : 8;
    size_t bytes = (size_t)data->rows * (size_t)data->columns * element;
    const unsigned char *at = data->values;
    uint64_t sum = 14695981039346656037u;
    for (size_t k = 0; k < bytes; k++)
        sum = (sum ^ at[k]) * 1099511628211u;
    return sum;
}

static void put_request(FILE *out, const struct sweep_request *request)
{
    fprintf(out, "trials %lld, %s data, %s engine, %s decoder\n",
            (long long)request->trials, request->data,
            pricer_word(PRICER_WORDS_ENGINE, request->engine),
            request->decoder < 0
                ? "default"
                : pricer_word(PRICER_WORDS_DECODE, request->decoder));
    if (request->given != NULL)
        fprintf(out, "data of digest %016llx\n",
                (unsigned long long)digest(request->given));
    for (int k = 0; k < SWEEP_RIVALS; k++)
        if (request->rivals[k])
            fprintf(out, "beside %s\n", sweep_rival_name(k));
    if (request->privacy)
        fprintf(out, "privacy at delta %.17g\n", request->delta);
    for (int k = 0; k < request->sets.count; k++)
        fprintf(out, "set %s\n", request->sets.items[k]);
}

/* What a sweep is, in words of the caller's to free; NULL without memory. */
static char *describe(const struct sweep_request *request,
                      const struct sweep_grid *grid)
{
    char *text = NULL, line[4096];
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    FILE *scenario = fopen(request->scenario, "r");
    if (memory != NULL && scenario != NULL) {
        put_request(memory, request);
        for (int k = 0; k < grid->axes; k++) {
            fprintf(memory, "vary %s", grid->axis[k].key);
            for (int v = 0; v < grid->axis[k].count; v++)
                fprintf(memory, " %s", grid->axis[k].values[v]);
            fputc('\n', memory);
        }
        while (fgets(line, sizeof line, scenario) != NULL)
            fputs(line, memory);
    }
    if (scenario != NULL)
        fclose(scenario);
    if (memory == NULL || fclose(memory) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Put the words there whole or not at all: what a full disk cut short would
 * read as another sweep. */
static int write_description(const char *path, const char *description)
{
    char draft[4112];
    snprintf(draft, sizeof draft, "%s.new", path);
    FILE *file = fopen(draft, "w");
    bool written = file != NULL && fputs(description, file) >= 0;
    written = file != NULL && fclose(file) == 0 && written;
    if (written && rename(draft, path) == 0)
        return 0;
    int failed = program_fail("%s: %s", path, strerror(errno));
    remove(draft);
    return failed;
}

static int claim(const struct sweep_request *request, const char *description)
{
    char path[4096], table[4096], *found = NULL;
    size_t room = 0;
    if (mkdir(request->folder, 0777) != 0 && errno != EEXIST)
        return program_fail("%s: %s", request->folder, strerror(errno));
    snprintf(path, sizeof path, "%s/sweep.txt", request->folder);
    FILE *file = request->force ? NULL : fopen(path, "r");
    if (file != NULL) {
        ssize_t length = getdelim(&found, &room, '\0', file);
        bool same = length >= 0 && strcmp(found, description) == 0;
        fclose(file);
        free(found);
        return same ? 0
                    : program_fail("%s holds another sweep; --force begins "
                                   "anew, --to goes elsewhere",
                                   request->folder);
    }
    snprintf(table, sizeof table, "%s/sweep.csv", request->folder);
    remove(table);
    return write_description(path, description);
}

int sweep_folder_claim(const struct sweep_request *request,
                       const struct sweep_grid *grid)
{
    char *description = describe(request, grid);
    if (description == NULL)
        return program_fault(PRICER_MEMORY, &(const struct pricer_fault){""});
    int failed = claim(request, description);
    free(description);
    return failed;
}
