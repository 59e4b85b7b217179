/*
 * What a page that lives needs beside its content: style, script and icon, each
 * served under a path of its own, so that the page may forbid all others.
 */
#ifndef PROGRAM_LIVE_H
#define PROGRAM_LIVE_H

#include <stdio.h>

/* What the page allows itself; goes into every answer. */
#define LIVE_POLICY                                                            \
    "default-src 'none'; style-src 'self'; script-src 'self'; "                \
    "connect-src 'self'; img-src 'self'; base-uri 'none'; "                    \
    "form-action 'none'; frame-ancestors 'none'"

void live_style(FILE *out);
void live_script(FILE *out);
void live_icon(FILE *out);

/* From <!doctype html> to <main>, and from </main> to the end. */
void live_open(FILE *out, const char *title);
void live_close(FILE *out);

#endif
