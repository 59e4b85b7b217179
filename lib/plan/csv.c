/*
 * From a table of weights, from,to,alpha,sigma, to a plan for a network.
 *
 * Rows come in any order; a row i,i is node i's own part. Weights that are not
 * in the table are zero. Every fault names its file and line.
 */
#include "plan.h"
#include "network/network.h"
#include "read/read.h"

#include <math.h>
#include <stdlib.h>

enum { WEIGHT_FROM, WEIGHT_TO, WEIGHT_ALPHA, WEIGHT_SIGMA };
static const struct pri_column columns[] = {
    {"from", true, PRI_COLUMN_INDEX},
    {"to", true, PRI_COLUMN_INDEX},
    {"alpha", true, PRI_COLUMN_NUMBER},
    {"sigma", true, PRI_COLUMN_NUMBER},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

struct intake {
    const struct pricer_network *network;
    struct pricer_plan *plan;
    int64_t *line; /* [nodes + links] where each weight stands, or 0 */
};

static enum pricer_status check_row(const struct intake *intake,
                                    const double *value,
                                    struct pricer_fault *fault)
{
    for (int c = 0; c < COLUMNS; c++)
        if (isnan(value[c]))
            return pri_fault(fault, PRICER_VALUE, "%s is missing",
                             columns[c].name);
    for (int c = WEIGHT_FROM; c <= WEIGHT_TO; c++)
        if (value[c] >= intake->network->nodes)
            return pri_fault(fault, PRICER_VALUE, "there is no node %.0f",
                             value[c]);
    if (!pri_is_amount(value[WEIGHT_ALPHA]))
        return pri_fault(fault, PRICER_VALUE, "alpha = %g is not a weight",
                         value[WEIGHT_ALPHA]);
    if (!pri_is_amount(value[WEIGHT_SIGMA]))
        return pri_fault(fault, PRICER_VALUE,
                         "sigma = %g is not a standard deviation",
                         value[WEIGHT_SIGMA]);
    return PRICER_OK;
}

/* Where a weight of a row goes; a table may hold zeros for missing links. */
static enum pricer_status take_row(void *context, int64_t line,
                                   const double *value,
                                   struct pricer_fault *fault)
{
    struct intake *intake = context;
    struct pricer_plan *plan = intake->plan;
    enum pricer_status status = check_row(intake, value, fault);
    if (status != PRICER_OK)
        return status;
    int32_t from = (int32_t)value[WEIGHT_FROM], to = (int32_t)value[WEIGHT_TO];
    int32_t link = pricer_network_find(intake->network, from, to);
    if (from != to && link < 0) {
        if (value[WEIGHT_ALPHA] == 0)
            return PRICER_OK;
        return pri_fault(fault, PRICER_VALUE, "there is no link %d,%d",
                         (int)from, (int)to);
    }
    int64_t place = from == to ? from : (int64_t)plan->nodes + link;
    if (intake->line[place] != 0)
        return pri_fault(fault, PRICER_VALUE,
                         "%d,%d stands here a second time (also in line %lld)",
                         (int)from, (int)to, (long long)intake->line[place]);
    intake->line[place] = line;
    *(from == to ? &plan->self_weight[from] : &plan->weight[link]) =
        value[WEIGHT_ALPHA];
    *(from == to ? &plan->self_noise[from] : &plan->noise[link]) =
        value[WEIGHT_SIGMA];
    return PRICER_OK;
}

enum pricer_status pricer_plan_read(const char *path,
                                    const struct pricer_network *network,
                                    const struct pricer_watch *watch,
                                    struct pricer_plan **plan,
                                    struct pricer_fault *fault)
{
    struct intake intake = {.network = network};
    struct pri_csv csv = {.path = path,
                          .columns = columns,
                          .column_count = COLUMNS,
                          .row = take_row,
                          .context = &intake,
                          .watch = watch,
                          .watch_to = 1};
    enum pricer_status status = pricer_plan_new(network, &intake.plan, fault);
    if (status != PRICER_OK)
        return status;
    intake.line =
        pri_alloc((int64_t)network->nodes + network->links, sizeof(int64_t));
    status = intake.line != NULL ? pri_csv_read(&csv, fault) : PRICER_MEMORY;
    free(intake.line);
    if (status == PRICER_OK)
        *plan = intake.plan;
    else
        pricer_plan_free(intake.plan);
    return status;
}
