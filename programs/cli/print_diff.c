/*
 * From two plans to tables that show them next to each other.
 */
#include "print_diff.h"
#include "print_plans.h"

#include <math.h>

void diff_title(int64_t id, const char *name, int64_t made, const char *asked)
{
    char when[MADE_TEXT];
    plan_made(made, when);
    printf("plan %lld%s%s, made %s: %s\n", (long long)id,
           name[0] != '\0' ? " " : "", name, when, asked);
}

struct table *diff_table(const int64_t id[2])
{
    char heading[2][32];
    for (int side = 0; side < 2; side++)
        snprintf(heading[side], sizeof heading[side], "plan %lld",
                 (long long)id[side]);
    return table_new(4,
                     (const char *const[]){"squared units of the data",
                                           heading[0], heading[1], "change"});
}

void diff_row(struct table *table, const char *name, double one, double two)
{
    table_cell(table, "%s", name);
    table_cell(table, isnan(one) ? "-" : "%.6g", one);
    table_cell(table, isnan(two) ? "-" : "%.6g", two);
    double change = one > 0 ? 100 * (two - one) / one : NAN;
    table_cell(table, isnan(change) ? "-" : "%+.3g %%", change);
}

int moved_keep(struct moved *list, int count, struct moved moved)
{
    int at = count < MOVED ? count : MOVED - 1;
    if (!(moved.distance > 1e-9) ||
        (count == MOVED && moved.distance <= list[at].distance))
        return count;
    for (; at > 0 && list[at - 1].distance < moved.distance; at--)
        list[at] = list[at - 1];
    list[at] = moved;
    return count < MOVED ? count + 1 : count;
}

struct table *moved_table(const char *first, const char *second,
                          const int64_t id[2])
{
    char heading[4][40];
    for (int k = 0; k < 4; k++)
        snprintf(heading[k], sizeof heading[k], "%s, plan %lld",
                 k < 2 ? first : second, (long long)id[k % 2]);
    return table_new(5,
                     (const char *const[]){"moved most", heading[0], heading[1],
                                           heading[2], heading[3]});
}

void moved_cells(struct table *table, const struct moved *moved)
{
    for (int side = 0; side < 2; side++)
        table_cell(table, "%.5g", moved->first[side]);
    for (int side = 0; side < 2; side++)
        table_cell(table, "%.5g", moved->second[side]);
}
