/*
 * From privacy statements to a table, worst nodes first, or to JSON.
 */
#include "print_privacy.h"
#include "common/meaning.h"
#include "print_paper.h"
#include "question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether the ends of a bracket are so far apart that it must be said: more
 * than 1 % of an eps that is not next to nothing. */
static bool is_wide(const struct pricer_statement *s)
{
    if (s->eps == s->eps_lower || s->eps < 1e-3)
        return false;
    return isinf(s->eps) || s->eps - s->eps_lower > 0.01 * s->eps;
}

void privacy_json_about(struct json *json, const struct pricer_network *network,
                        const struct pricer_statement *statement)
{
    json_text(json, "observer",
              pricer_word(PRICER_WORDS_OBSERVER, statement->observer));
    json_count(json, "node", statement->node);
    json_name(json, "name", network, statement->node);
    if (statement->at >= 0)
        json_count(json, "at", statement->at);
    else
        json_number(json, "at", NAN);
    json_name(json, "at_name", network, statement->at);
    json_text(json, "protect",
              pricer_word(PRICER_WORDS_PROTECT, statement->protect));
    json_number(json, "delta", statement->delta);
    double diameter = network->node_diameter[statement->node];
    if (statement->protect == PRICER_PROTECT_DATA &&
        diameter < 2 * network->node_radius[statement->node])
        json_number(json, "diameter", diameter);
}

/* What the number takes for granted. */
static void json_assumptions(struct json *json,
                             const struct pricer_question *question)
{
    char text[ASSUMES_ROOM];
    question_assumes(question, text);
    json_text(json, "relays",
              pricer_word(PRICER_WORDS_RELAYS, question->relays));
    json_text(json, "assumes", text);
}

static void json_statement(struct json *json,
                           const struct privacy_answers *answers, int64_t k)
{
    const struct pricer_statement *s = &answers->statements[k];
    const struct pricer_paper_bound *bound =
        answers->bounds == NULL ? NULL : &answers->bounds[k];
    json_open(json, NULL, '{');
    privacy_json_about(json, answers->network, s);
    json_number(json, "epsilon", bound == NULL ? s->eps : bound->printed);
    if (!answers->question.list_only) {
        json_number(json, "epsilon_lower", s->eps_lower);
        json_number(json, "floor", s->floor);
        json_flag(json, "floor_bound", s->floor_bound);
    }
    json_text(
        json, "eavesdropper",
        pricer_word(PRICER_WORDS_EAVESDROPPER, answers->question.eavesdropper));
    json_count(json, "rounds",
               answers->question.rounds > 0 ? answers->question.rounds : 1);
    json_assumptions(json, &answers->question);
    if (!answers->question.list_only) {
        json_text(json, "kind", s->exact ? "exact" : "bound");
        json_flag(json, "wide", is_wide(s));
    }
    if (bound != NULL)
        paper_print_json(json, answers, k);
    else
        json_flag(json, "guarantee", true);
    json_close(json, '}');
}

void privacy_print_json(const struct privacy_answers *answers, int kinds)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_open(&json, "statements", '[');
    for (int kind = 0; kind < kinds; kind++)
        for (int64_t k = 0; k < answers[kind].count; k++)
            json_statement(&json, &answers[kind], k);
    json_close(&json, ']');
    json_close(&json, '}');
}

/* What a table is sorted by: the eps of the account, or the paper's alone. */
static double sorted_eps(const struct privacy_answers *answers, int64_t k)
{
    return answers->question.list_only ? answers->bounds[k].printed
                                       : answers->statements[k].eps;
}

/* Larger eps first, then larger floor, then the order of the network. */
static int worst_first(const void *one, const void *two, void *context)
{
    const struct privacy_answers *answers = context;
    const struct pricer_statement *all = answers->statements;
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)two;
    double eps = sorted_eps(answers, a), other = sorted_eps(answers, b);
    if (eps != other)
        return eps > other ? -1 : 1;
    if (all[a].floor != all[b].floor)
        return all[a].floor > all[b].floor ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* "what node 3 sends to relay 5", in the words of the observer. */
static void print_heading(const struct privacy_answers *answers)
{
    static const char *const seen[] = {
        "Each link: its receiver sees every packet.",
        "Each relay sees the sum of what reaches it, not the packets.",
        "The server sees the sums that reach it.",
        "The coalition pools what its members see and knows their noise.",
        "Readers see the estimate of every round.",
        "A listener near the node hears all that it sends.",
        "Everyone sees the same releases: links, relays, the server, readers "
        "of the estimate,\nlisteners and all of them together."};
    static const char shares[] = "Each relay sees every share that reaches it.";
    const struct pricer_question *question = &answers->question;
    long long rounds = question->rounds > 0 ? question->rounds : 1;
    bool singly = question->observer == PRICER_OBSERVER_RELAY &&
                  question->relays == PRICER_RELAYS_SHARES;
    printf("%s\n", singly ? shares : seen[question->observer]);
    if (question->list_only) {
        puts("The paper's bounds alone, without accounts.");
        return;
    }
    printf("%s over %lld round%s;\n%s.\n",
           question->protect == PRICER_PROTECT_IDENTITY
               ? "Whether a node took part is (eps, delta)-private"
               : "A node's data is (eps, delta)-private",
           rounds, rounds == 1 ? "" : "s",
           question_losses_text(question->eavesdropper));
    char near[MEANING_NEAR_ROOM];
    if (question->protect == PRICER_PROTECT_DATA &&
        meaning_near(answers->network, near)[0] != '\0')
        printf("%s\n", near);
    if (question->protect == PRICER_PROTECT_IDENTITY &&
        question->observer != PRICER_OBSERVER_RELAY)
        printf("This is about the sums alone: in a fleet every SUM names whose "
               "shares it\ncontains, which tells the server who took part.\n");
}

static void add_row(struct table *table, const struct privacy_answers *answers,
                    int64_t k)
{
    const struct pricer_statement *s = &answers->statements[k];
    table_cell(table, "%s", node_label(answers->network, s->node).text);
    if (s->at >= 0)
        table_cell(table, "%s", node_label(answers->network, s->at).text);
    else
        table_cell(table, "%s",
                   s->observer == PRICER_OBSERVER_COALITION ||
                           s->observer == PRICER_OBSERVER_EVERYONE
                       ? "all"
                       : pricer_word(PRICER_WORDS_OBSERVER, s->observer));
    table_cell(table, "%g", s->delta);
    if (answers->bounds != NULL)
        paper_print_cells(table, &answers->bounds[k]);
    if (answers->question.list_only)
        return;
    table_cell(table, "%.6g", s->eps);
    table_cell(table, "%.6g", s->eps_lower);
    table_cell(table, "%s%.3g", s->floor_bound ? "<=" : "", s->floor);
    table_cell(table, "%s%s", s->exact ? "exact" : "bound",
               is_wide(s) ? ", wide" : "");
}

/* What the numbers of the table mean and do not mean. */
static void print_footing(const struct privacy_answers *answers, int64_t shown)
{
    int64_t none = 0, wide = 0;
    char assumes[ASSUMES_ROOM];
    question_assumes(&answers->question, assumes);
    for (int64_t k = 0; !answers->question.list_only && k < answers->count;
         k++) {
        none += answers->statements[k].floor > answers->statements[k].delta;
        wide += is_wide(&answers->statements[k]);
    }
    program_words("Assumes:", assumes);
    if (shown < answers->count)
        printf("The %lld worst of %lld; --all shows the rest.\n",
               (long long)shown, (long long)answers->count);
    if (none > 0)
        printf("For %lld of them no eps holds: the data arrives bare with "
               "probability `floor`.\n",
               (long long)none);
    if (wide > 0)
        printf("For %lld of them, marked wide, eps is more than 1 %% above its "
               "lower end: it holds,\nbut a smaller one may hold too, or "
               "would for a delta next to this one.\n",
               (long long)wide);
}

static void summary_row(struct table *table,
                        const struct privacy_answers *answers)
{
    const struct pricer_statement *worst = &answers->statements[0];
    for (int64_t k = 1; k < answers->count; k++)
        if (answers->statements[k].eps > worst->eps)
            worst = &answers->statements[k];
    table_cell(table, "%s",
               pricer_word(PRICER_WORDS_OBSERVER, answers->question.observer));
    table_cell(table, "%s", node_label(answers->network, worst->node).text);
    table_cell(table, "%.5g", worst->eps);
    table_cell(table, "%g", worst->delta);
    table_cell(table, "%s", meaning_eps(worst->eps));
    table_cell(table, "%.4g %%", 100 * meaning_bet(worst->eps, worst->delta));
}

void privacy_print_summary(const struct privacy_answers *answers, int kinds)
{
    struct table *table = table_new(
        6, (const char *const[]){"observer", "worst node", "eps", "delta",
                                 "privacy", "a guess between two is right"});
    for (int kind = 0; kind < kinds; kind++)
        if (answers[kind].count > 0)
            summary_row(table, &answers[kind]);
    table_print(table, stdout);
    printf("What an eps means: %s\nThe words of these tables: --explain\n\n",
           meaning_page());
}

void privacy_print(const struct privacy_answers *answers, int64_t rows)
{
    static const char *const plain[] = {"node",      "at",    "delta",  "eps",
                                        "eps lower", "floor", "account"};
    static const char *const paper[] = {
        "node",      "at",  "delta",     "paper's eps", "guarantee",
        "corrected", "eps", "eps lower", "floor",       "account"};
    bool with_paper = answers->bounds != NULL;
    bool alone = answers->question.list_only;
    int64_t *order = calloc((size_t)answers->count + 1, sizeof *order);
    if (order == NULL) {
        program_warn("out of memory");
        return;
    }
    for (int64_t k = 0; k < answers->count; k++)
        order[k] = k;
    qsort_r(order, (size_t)answers->count, sizeof *order, worst_first,
            (void *)answers);
    print_heading(answers);
    struct table *table =
        with_paper ? table_new(alone ? 6 : 10, paper) : table_new(7, plain);
    int64_t shown = answers->count < rows ? answers->count : rows;
    for (int64_t k = 0; k < shown; k++)
        add_row(table, answers, order[k]);
    table_print(table, stdout);
    print_footing(answers, shown);
    if (with_paper)
        paper_print_footing(answers, rows);
    free(order);
}
