/*
 * Options of the daemons, from the command line and from a file.
 */
#ifndef PROGRAM_CONFIG_H
#define PROGRAM_CONFIG_H

#include "options.h"

/*
 * As options_parse(); if --config was given, the lines of that file ('name
 * value', # starts a comment) are taken first and the command line stands above
 * them.
 */
int config_parse(const struct usage *usage, const struct option *options,
                 const char *const *config, int argc, char **argv,
                 const char **operands);

#endif
