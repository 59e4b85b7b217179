/*
 * pricer import: from a list of measured links to nodes.csv, links.csv and a
 * scenario that uses them.
 */
#include "common/options.h"
#include "common/program.h"
#include "pricer_input.h"
#include "verbs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct usage usage = {
    "import", "LIST",
    "Turn a list of measured links, lines of sender, receiver and p, into\n"
    "nodes.csv, links.csv and scenario.yaml, from which pricer new makes a\n"
    "study. Ids may be numbers or names. The mean is taken of pairs that were\n"
    "measured more than once. No file is overwritten.",
    "pricer import connectivity.txt --server 0 --min-p 0.05 --to lab"};

static void write_nodes(const struct pricer_survey *survey, FILE *out)
{
    fputs("node,p,name\n", out);
    for (int32_t i = 0; i < survey->nodes; i++)
        fprintf(out, "%d,%.17g,%s\n", (int)i, survey->uplink[i],
                survey->name[i]);
}

static void write_links(const struct pricer_survey *survey, FILE *out)
{
    fputs("from,to,p\n", out);
    for (int32_t l = 0; l < survey->links; l++)
        fprintf(out, "%d,%d,%.17g\n", (int)survey->from[l], (int)survey->to[l],
                survey->p[l]);
}

static void write_scenario(const struct pricer_survey *survey, FILE *out)
{
    (void)survey;
    fputs("# Made by pricer import: set these to what you need;\n"
          "# man pricer-scenario explains all keys.\n"
          "dimension: 1      # numbers in a vector\n"
          "radius: 1         # vectors are clipped to this length\n"
          "network:\n"
          "  files: {nodes: nodes.csv, links: links.csv}\n"
          "trust:            # what everyone together may learn about a node\n"
          "  everyone: {eps: 4, delta: 1e-5}\n",
          out);
}

static const struct output {
    const char *name;
    void (*write)(const struct pricer_survey *survey, FILE *out);
} outputs[] = {
    {"nodes.csv", write_nodes},
    {"links.csv", write_links},
    {"scenario.yaml", write_scenario},
};
enum { OUTPUTS = sizeof outputs / sizeof *outputs, PATH_ROOM = 4096 };

static void make_path(const char *folder, int k, char path[PATH_ROOM])
{
    snprintf(path, PATH_ROOM, "%.4000s/%s", folder, outputs[k].name);
}

/* One file, which must not exist; nothing is left of one that fails. */
static int write_file(const struct pricer_survey *survey, int k,
                      const char *path)
{
    FILE *out = fopen(path, "wxe");
    if (out == NULL)
        return program_fail("%s: %s", path,
                            errno == EEXIST ? "exists, and is not overwritten"
                                            : strerror(errno));
    outputs[k].write(survey, out);
    bool written = !ferror(out);
    written = fclose(out) == 0 && written;
    if (written)
        return 0;
    int error = errno;
    unlink(path);
    return program_fail("%s: %s", path, strerror(error));
}

/* All files, or none of them. */
static int write_all(const struct pricer_survey *survey, const char *folder)
{
    char path[PATH_ROOM];
    int done = 0, failed = 0;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return program_fail("%s: %s", folder, strerror(errno));
    while (done < OUTPUTS && !failed) {
        make_path(folder, done, path);
        failed = write_file(survey, done, path);
        done += !failed;
    }
    while (failed && done > 0) {
        make_path(folder, --done, path);
        unlink(path);
    }
    return failed;
}

static int32_t count_uplinks(const struct pricer_survey *survey)
{
    int32_t count = 0;
    for (int32_t i = 0; i < survey->nodes; i++)
        count += survey->uplink[i] > 0;
    return count;
}

static void print_count(const char *what, int64_t count)
{
    if (count > 0)
        printf("%s: %lld\n", what, (long long)count);
}

static void report(const struct pricer_survey *survey, const char *folder)
{
    printf("%s: %d nodes, %d of them with an uplink, %d links, from %lld "
           "measurements\n",
           folder, (int)survey->nodes, (int)count_uplinks(survey),
           (int)survey->links, (long long)survey->measurements);
    print_count("pairs measured more than once, of which p is the mean",
                survey->repeated);
    print_count("pairs left out, p not above --min-p", survey->faint);
    print_count("rows left out, without p", survey->unmeasured);
    print_count("rows left out, from the server", survey->from_server);
    print_count("rows left out, from an id to itself", survey->to_self);
    printf("next: pricer new STUDY %s/scenario.yaml\n", folder);
}

static void report_json(const struct pricer_survey *survey, const char *folder)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "folder", folder);
    json_count(&json, "nodes", survey->nodes);
    json_count(&json, "uplinks", count_uplinks(survey));
    json_count(&json, "links", survey->links);
    json_count(&json, "measurements", survey->measurements);
    json_count(&json, "pairs_repeated", survey->repeated);
    json_count(&json, "pairs_left_out", survey->faint);
    json_count(&json, "rows_without_p", survey->unmeasured);
    json_count(&json, "rows_from_server", survey->from_server);
    json_count(&json, "rows_to_self", survey->to_self);
    json_flag(&json, "header", survey->header);
    json_close(&json, '}');
}

int verb_import(int argc, char **argv)
{
    const char *server = NULL, *folder = NULL;
    double above = 0;
    bool as_json = false;
    const struct option options[] = {
        {"server", OPTION_TEXT, &server, "ID",
         "links to this id are the uplinks (required)"},
        {"to", OPTION_TEXT, &folder, "DIR",
         "where the files go; made if it is not there (required)"},
        {"min-p", OPTION_NUMBER, &above, "X",
         "take links with p above this; 0 by default"},
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    if (server == NULL || folder == NULL || !(above >= 0 && above < 1)) {
        fprintf(stderr, "pricer import: %s; --help explains\n",
                server == NULL   ? "--server ID is missing"
                : folder == NULL ? "--to DIR is missing"
                                 : "--min-p is a number from 0, below 1");
        return 2;
    }
    struct pricer_fault fault = {""};
    struct pricer_survey *survey = NULL;
    enum pricer_status status =
        pricer_survey_read(operands[0], server, above, &survey, &fault);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    int failed = write_all(survey, folder);
    if (!failed)
        (as_json ? report_json : report)(survey, folder);
    pricer_survey_free(survey);
    return failed;
}
