/*
 * The verbs of pricer, one file each: verb_NAME.c. argv[0] is the verb; what
 * they return is the exit status.
 */
#ifndef PROGRAM_VERBS_H
#define PROGRAM_VERBS_H

/* A row of a program's table of verbs. */
struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

/* Run a verb; --explain adds the words of what it printed. */
int verb_run(const struct verb *verb, int argc, char **argv);

int verb_import(int argc, char **argv);
int verb_new(int argc, char **argv);
int verb_plan(int argc, char **argv);
int verb_advise(int argc, char **argv);
int verb_plans(int argc, char **argv);
int verb_diff(int argc, char **argv);
int verb_privacy(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_simulate(int argc, char **argv);
int verb_audit(int argc, char **argv);
int verb_sweep(int argc, char **argv);
int verb_export(int argc, char **argv);
int verb_kmeans(int argc, char **argv);
int verb_power(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_reproduce(int argc, char **argv);
int verb_keygen(int argc, char **argv);
int verb_enrol(int argc, char **argv);
int verb_fleet(int argc, char **argv);
int verb_demo(int argc, char **argv);

#endif
