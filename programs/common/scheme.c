/*
 * The refusal of studies of 'scheme: forward', for all that knows
 * sums only.
 */
#include "pricer_forward.h"
#include "program.h"

static enum pricer_status refuse(const char *path, struct pricer_fault *fault)
{
    snprintf(fault->text, sizeof fault->text,
             "%.300s: this command does not know 'scheme: forward' yet", path);
    return PRICER_FORMAT;
}

enum pricer_status program_open(const char *path, bool writable,
                                struct pricer_study **study,
                                struct pricer_fault *fault)
{
    struct pricer_study *opened = NULL;
    enum pricer_scheme scheme;
    enum pricer_status status =
        pricer_study_open(path, writable, &opened, fault);
    if (status == PRICER_OK)
        status = pricer_study_scheme(opened, &scheme, fault);
    if (status == PRICER_OK && scheme == PRICER_SCHEME_FORWARD)
        status = refuse(path, fault);
    if (status == PRICER_OK)
        *study = opened;
    else
        pricer_study_close(opened);
    return status;
}
