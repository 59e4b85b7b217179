/*
 * From the errors of a plan, of its baselines and of a plan that might be to
 * tables with the parts that each error is made of.
 */
#include "print_errors.h"

#include <math.h>

static void error_row(struct table *table, const char *name,
                      const struct pricer_error *error)
{
    double bias = error->mse_worst_case - error->variance - error->piv;
    bool some = bias > 1e-12 * error->mse_worst_case; /* beyond rounding */
    table_cell(table, "%s", name);
    table_cell(table, "%.5g", error->objective);
    table_cell(table, "%.5g", error->mse_worst_case);
    table_cell(table, "%.5g", error->variance);
    table_cell(table, "%.5g", error->piv);
    table_cell(table, "%.5g", some ? bias : 0);
    table_cell(table, "%.5g", error->mse_paper);
    table_cell(table, "%.4g", error->bias_l1 > 1e-12 ? error->bias_l1 : 0);
}

static struct table *error_table(void)
{
    return table_new(8, (const char *const[]){
                            "error of", "objective", "worst case", "= variance",
                            "+ noise", "+ bias", "paper", "|bias|"});
}

void plan_errors_print(const struct plan_view *view)
{
    struct table *table = error_table();
    error_row(table, "this plan", &view->error);
    for (int k = 0; k < PRICER_BASELINES; k++)
        if (view->rival[k].known)
            error_row(table, pricer_word(PRICER_WORDS_BASELINE, k),
                      &view->rival[k].error);
    table_print(table, stdout);
    for (int k = 0; k < PRICER_BASELINES; k++)
        if (!view->rival[k].known && view->rival[k].why.text[0] != '\0')
            printf("%s: %s\n", pricer_word(PRICER_WORDS_BASELINE, k),
                   view->rival[k].why.text);
}

void plan_what_if_print(const struct plan_view *view)
{
    const struct plan_what_if *what_if = &view->what_if;
    printf("What if");
    for (int k = 0; k < what_if->count; k++)
        printf("%s %d,%d had eps %g instead of %g", k > 0 ? "," : "",
               (int)what_if->change[k].from, (int)what_if->change[k].to,
               what_if->change[k].eps, what_if->change[k].before);
    puts(":");
    struct table *table = error_table();
    error_row(table, "this plan", &view->error);
    error_row(table, "replanned", &what_if->error);
    table_print(table, stdout);
    double difference = what_if->error.objective - view->error.objective;
    double whole = fmax(view->error.objective, 1e-300);
    printf("The objective changes by %.6g (%.3g %%)", difference,
           100 * difference / whole);
    if (!isnan(what_if->predicted))
        printf("; the prices alone say %.6g", what_if->predicted);
    puts(".\nThe new plan is not stored.");
}
