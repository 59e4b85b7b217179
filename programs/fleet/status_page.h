/*
 * A status page of a daemon: http://ADDRESS:PORT/ with /metrics and /health.
 */
#ifndef PROGRAM_STATUS_PAGE_H
#define PROGRAM_STATUS_PAGE_H

#include "pricer.h"

#include <stdio.h>

/* Where its content comes from: the page, the metrics of Prometheus, and how many
 * troubles there are, printed one a line unless the file is NULL. */
struct status_source {
    const void *context;
    void (*page)(FILE *out, const void *context);
    void (*metrics)(FILE *out, const void *context);
    int (*troubles)(const void *context, FILE *out);
};

struct status_page;

/* Whether it could be served; PRICER_BUSY: not now. */
enum pricer_status status_page_check(const char *address, int64_t port,
                                     struct pricer_fault *fault);
enum pricer_status status_page_open(const struct status_source *source,
                                    const char *address, int64_t port,
                                    struct status_page **page,
                                    struct pricer_fault *fault);
int status_page_file(const struct status_page *page);
void status_page_serve(struct status_page *page);
void status_page_close(struct status_page *page);

#endif
