/*
 * pricer: one table of verbs dispatches and prints the usage.
 */
#include "common/program.h"
#include "pricer_input.h"
#include "verbs.h"

#include <string.h>

static const struct verb verbs[] = {
    {"import", verb_import, "make a scenario from a list of measured links"},
    {"new", verb_new, "make a study from a scenario"},
    {"plan", verb_plan, "choose weights and noise for every link"},
    {"plans", verb_plans, "list, name and delete the plans of a study"},
    {"diff", verb_diff, "two plans beside each other"},
    {"advise", verb_advise, "what would make the plan better"},
    {"privacy", verb_privacy, "what each observer can learn"},
    {"show", verb_show, "what a study holds"},
    {"simulate", verb_simulate, "play a plan and compare with its prediction"},
    {"audit", verb_audit, "attack the code and compare with what is claimed"},
    {"sweep", verb_sweep, "plan and simulate a grid of scenarios"},
    {"export", verb_export, "write a study's tables as CSV and .npy"},
    {"kmeans", verb_kmeans, "cluster points spread over the nodes"},
    {"power", verb_power, "principal components of rows spread over nodes"},
    {"report", verb_report, "one page about a study, with drawings"},
    {"reproduce", verb_reproduce, "the tables and figures of the paper"},
    {"keygen", verb_keygen, "make a key pair for a node or the server"},
    {"enrol", verb_enrol, "who takes part, under which key and where"},
    {"fleet", verb_fleet, "a folder for every machine of a fleet"},
    {"demo", verb_demo,
     "run a fleet on loopback: predicted, simulated, measured"},

};

static void print_usage(FILE *out)
{
    fputs("usage: pricer VERB [OPTION]... STUDY\n\n"
          "Private mean estimation over networks whose links come and go.\n\n"
          "verbs:\n",
          out);
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++)
        fprintf(out, "  %-11s %s\n", verbs[k].name, verbs[k].summary);
    fputs("\n'pricer help VERB' explains a verb, 'pricer VERB --explain' the "
          "words of its tables,\n'man pricer' all of it.\n\n"
          "example:\n"
          "  pricer new ten.pricer examples/paper.yaml\n"
          "  pricer show ten.pricer\n",
          out);
}

static bool asks_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
           strcmp(word, "help") == 0;
}

int main(int argc, char **argv)
{
    static char help[] = "--help";
    if (argc < 2) {
        print_usage(stderr);
        return 2;
    }
    if (asks_help(argv[1]) && argc < 3) {
        print_usage(stdout);
        return 0;
    }
    if (asks_help(argv[1])) { /* help VERB is VERB --help */
        argv[1] = argv[2];
        argv[2] = help;
        argc = 3;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("pricer %s\n", pricer_version());
        return 0;
    }
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++)
        if (strcmp(argv[1], verbs[k].name) == 0)
            return program_close(verb_run(&verbs[k], argc - 1, argv + 1));
    const char *near = pricer_word_nearest(
        argv[1], verbs, sizeof verbs / sizeof *verbs, sizeof *verbs);
    fprintf(stderr, "pricer: there is no verb '%s'%s%s%s; --help lists them\n",
            argv[1], near != NULL ? " (did you mean " : "",
            near != NULL ? near : "", near != NULL ? "?)" : "");
    return 2;
}
