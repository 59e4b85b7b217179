/*
 * Prints the paper's bounds: whether each is a guarantee, for whom the numbers
 * are, and the delta', zeta and r behind those of relays.
 */
#include "print_paper.h"

#include <stdlib.h>
#include <string.h>

void paper_print_json(struct json *json, const struct privacy_answers *answers,
                      int64_t k)
{
    const struct pricer_paper_bound *bound = &answers->bounds[k];
    json_flag(json, "guarantee", bound->guarantee);
    json_number(json, "corrected", bound->corrected);
    if (!answers->question.list_only)
        json_number(json, "account", answers->statements[k].eps);
    if (answers->question.observer == PRICER_OBSERVER_RELAY) {
        json_number(json, "delta_prime", bound->delta_prime);
        json_number(json, "zeta", bound->zeta);
        json_number(json, "r_printed", bound->r_printed);
        json_number(json, "r_corrected", bound->r_corrected);
    }
    json_text(json, "note",
              bound->guarantee ? "as printed, a guarantee"
                               : "as printed, not a guarantee");
    json_text(json, "reason", bound->reason);
}

void paper_print_cells(struct table *table,
                       const struct pricer_paper_bound *bound)
{
    table_cell(table, "%.4g", bound->printed);
    table_cell(table, "%s", bound->guarantee ? "yes" : "no");
    table_cell(table, "%.4g", bound->corrected);
}

/* ---------------------------------------------------------------- relays -- */

/* By relay, then by delta'. */
static int by_relay(const void *one, const void *two, void *context)
{
    const struct privacy_answers *answers = context;
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)two;
    int32_t at = answers->statements[a].at, other = answers->statements[b].at;
    double prime = answers->bounds[a].delta_prime;
    double next = answers->bounds[b].delta_prime;
    if (at != other)
        return at < other ? -1 : 1;
    return (prime > next) - (prime < next);
}

/* delta', zeta and r, once where all senders to a relay have the same. */
static void print_relays(const struct privacy_answers *answers, int64_t rows)
{
    struct table *table =
        table_new(5, (const char *const[]){"relay", "delta'", "zeta",
                                           "r, paper's", "r, corrected"});
    int64_t *order = calloc((size_t)answers->count + 1, sizeof *order);
    int64_t shown = 0;
    if (order == NULL)
        program_warn("out of memory");
    for (int64_t k = 0; order != NULL && k < answers->count; k++)
        order[k] = k;
    if (order != NULL)
        qsort_r(order, (size_t)answers->count, sizeof *order, by_relay,
                (void *)answers);
    for (int64_t k = 0; order != NULL && k < answers->count && shown < rows;
         k++) {
        const struct pricer_paper_bound *bound = &answers->bounds[order[k]];
        int32_t at = answers->statements[order[k]].at;
        if (k > 0 && by_relay(&order[k - 1], &order[k], (void *)answers) == 0)
            continue;
        table_cell(table, "%s", node_label(answers->network, at).text);
        table_cell(table, "%.4g", bound->delta_prime);
        table_cell(table, "%.6g", bound->zeta);
        table_cell(table, "%.6g", bound->r_printed);
        table_cell(table, "%.6g", bound->r_corrected);
        shown++;
    }
    puts("\nAt each relay noise of variance zeta arrives on average, and less "
         "than zeta - r,\nwith the corrected r, with probability delta' at "
         "most.");
    table_print(table, stdout);
    free(order);
}

/* --------------------------------------------------------------- footing -- */

/* For whom each column is. */
static void print_views(const struct privacy_answers *answers)
{
    const struct pricer_question *question = &answers->question;
    bool same =
        question->eavesdropper == PRICER_RECEIVER && question->rounds <= 1;
    puts("paper's eps and corrected: one round, seen by whom the paper has: a "
         "packet lost on\nthe way was heard by nobody (--eavesdropper "
         "receiver).");
    if (!question->list_only)
        printf("eps: %s.\n",
               same ? "the same observer"
               : question->eavesdropper == PRICER_RECEIVER
                   ? "the same observer over all rounds"
                   : "another observer, to whom a packet lost on the way "
                     "counts as heard (--eavesdropper radio)");
}

/* Every reason with the number of statements it is about. */
static void print_reasons(const struct privacy_answers *answers)
{
    for (int64_t k = 0; k < answers->count; k++) {
        const struct pricer_paper_bound *bound = &answers->bounds[k];
        int64_t before = 0, alike = 0;
        char head[80];
        for (int64_t j = 0; j < answers->count; j++) {
            bool same = strcmp(answers->bounds[j].reason, bound->reason) == 0;
            before += same && j < k;
            alike += same;
            if (before > 0)
                break;
        }
        if (before > 0)
            continue;
        snprintf(head, sizeof head,
                 "As printed, %s guarantee for %lld of %lld:",
                 bound->guarantee ? "a" : "not a", (long long)alike,
                 (long long)answers->count);
        program_words(head, bound->reason);
    }
}

void paper_print_footing(const struct privacy_answers *answers, int64_t rows)
{
    print_views(answers);
    print_reasons(answers);
    if (answers->question.observer == PRICER_OBSERVER_RELAY)
        print_relays(answers, rows);
}
