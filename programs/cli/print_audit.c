/*
 * From attacks and the claims they are held against to a table with a verdict
 * for each, or to JSON.
 */
#include "print_audit.h"
#include "common/meaning.h"
#include "print_privacy.h"
#include "question.h"

#include <math.h>

bool audit_contradicted(const struct audit_row *rows, int64_t count)
{
    bool any = false;
    for (int64_t k = 0; k < count; k++)
        any = any || rows[k].law[0] != '\0';
    for (int64_t k = 0; k < count; k++)
        for (int c = 0; c < rows[k].claims; c++)
            any = any || pricer_audit_contradicts(&rows[k].audit,
                                                  rows[k].claim[c].eps);
    return any;
}

static const char *verdict(const struct audit_row *row, int claim)
{
    double eps = row->claim[claim].eps;
    if (row->law[0] != '\0')
        return "CONTRADICTED";
    if (isinf(eps))
        return "nothing claimed";
    return pricer_audit_contradicts(&row->audit, eps) ? "CONTRADICTED"
                                                      : "holds";
}

static void add_row(struct table *table, const struct audit_terms *terms,
                    const struct audit_row *row, int claim)
{
    const struct pricer_audit *audit = &row->audit;
    const struct pricer_statement *s = &audit->statement;
    table_cell(table, "%s%s", pricer_word(PRICER_WORDS_OBSERVER, s->observer),
               s->protect == PRICER_PROTECT_IDENTITY ? ", identity" : "");
    table_cell(table, "%s", node_label(terms->network, s->node).text);
    if (s->at >= 0)
        table_cell(table, "%s", node_label(terms->network, s->at).text);
    else
        table_cell(table, "%s",
                   s->observer == PRICER_OBSERVER_SERVER ? "server" : "all");
    table_cell(table, "%g", s->delta);
    table_cell(table, "%lld", (long long)audit->trials);
    table_cell(table, "%s", row->claim[claim].name);
    table_cell(table, "%.5g", row->claim[claim].eps);
    table_cell(table, "%.4g", audit->eps_counted);
    if (isnan(audit->eps_fitted))
        table_cell(table, "-");
    else
        table_cell(table, "%.4g", audit->eps_fitted);
    table_cell(table, "%s", verdict(row, claim));
}

/* What the columns mean, and how often the verdict is wrong. */
static void print_footing(const struct audit_terms *terms,
                          const struct audit_row *rows, int64_t count)
{
    bool bound = false, unclaimed = false, others = false, released = false,
         any = audit_contradicted(rows, count);
    for (int64_t k = 0; k < count; k++) {
        enum pricer_observer observer = rows[k].audit.statement.observer;
        others = others || (observer != PRICER_OBSERVER_LINK &&
                            observer != PRICER_OBSERVER_EVERYONE);
        released = released || observer == PRICER_OBSERVER_EVERYONE;
        for (int c = 0; c < rows[k].claims; c++) {
            bound = bound || !isnan(rows[k].audit.eps_fitted);
            unclaimed = unclaimed || isinf(rows[k].claim[c].eps);
        }
    }
    double confidence = 100 * terms->confidence;
    printf("\ncounted: no smaller eps holds, with %g %% confidence and no "
           "assumption.\n",
           confidence);
    if (bound)
        printf("fitted: the same if the noise is Gaussian and all of it off "
               "from the plan by one factor.\n");
    if (others)
        puts("claims and trials, where they count the noise of "
             "others:\n" MEANING_OTHERS ".");
    if (released)
        puts("The law of releases is tested too: shares in the caps, no other "
             "direction preferred,\nno seed twice.");
    for (int64_t k = 0; k < count; k++)
        if (rows[k].law[0] != '\0')
            printf(
                "CONTRADICTED: node %s: %s.\n",
                node_label(terms->network, rows[k].audit.statement.node).text,
                rows[k].law);
    if (unclaimed)
        printf("nothing claimed: data may arrive bare, no eps holds.\n");
    printf("%s A true claim of this table is contradicted\n"
           "with probability %g at most: verdicts ask for more confidence than "
           "the columns show.\n",
           any ? "A claim is CONTRADICTED." : "No claim is contradicted.",
           terms->alarm);
}

void audit_print(const struct audit_terms *terms, const struct audit_row *rows,
                 int64_t count)
{
    static const char *const headings[] = {
        "observer", "node",        "at",          "delta",  "trials",
        "claim",    "claimed eps", "eps counted", "fitted", "verdict"};
    long long rounds = terms->rounds;
    printf("What nodes send, attacked as it is sent: two hypotheses, so many "
           "trials of each.\n%lld round%s a trial; %s.\n",
           rounds, rounds == 1 ? "" : "s",
           question_losses_text(terms->eavesdropper));
    char near[MEANING_NEAR_ROOM];
    if (meaning_near(terms->network, near)[0] != '\0')
        puts(near);
    struct table *table = table_new(10, headings);
    for (int64_t k = 0; k < count; k++)
        for (int c = 0; c < rows[k].claims; c++)
            add_row(table, terms, &rows[k], c);
    table_print(table, stdout);
    print_footing(terms, rows, count);
}

static void json_row(struct json *json, const struct audit_terms *terms,
                     const struct audit_row *row)
{
    const struct pricer_audit *audit = &row->audit;
    json_open(json, NULL, '{');
    privacy_json_about(json, terms->network, &audit->statement);
    json_count(json, "trials", audit->trials);
    json_count(json, "judged", audit->judged);
    json_count(json, "hits", audit->hits);
    json_count(json, "other_hits", audit->other_hits);
    json_number(json, "epsilon_counted", audit->eps_counted);
    json_number(json, "epsilon_fitted", audit->eps_fitted);
    json_number(json, "sure_counted", audit->sure_counted);
    json_number(json, "sure_fitted", audit->sure_fitted);
    json_open(json, "claims", '[');
    for (int c = 0; c < row->claims; c++) {
        json_open(json, NULL, '{');
        json_text(json, "claim", row->claim[c].name);
        json_number(json, "epsilon", row->claim[c].eps);
        json_flag(json, "contradicted",
                  pricer_audit_contradicts(audit, row->claim[c].eps));
        json_close(json, '}');
    }
    json_close(json, ']');
    if (audit->statement.observer == PRICER_OBSERVER_EVERYONE)
        json_text(json, "law", row->law);
    json_close(json, '}');
}

void audit_print_json(const struct audit_terms *terms,
                      const struct audit_row *rows, int64_t count)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "eavesdropper",
              pricer_word(PRICER_WORDS_EAVESDROPPER, terms->eavesdropper));
    json_count(&json, "rounds", terms->rounds);
    if (terms->seed >= 0)
        json_count(&json, "seed", terms->seed);
    json_number(&json, "confidence", terms->confidence);
    json_number(&json, "alarm", terms->alarm);
    json_flag(&json, "contradicted", audit_contradicted(rows, count));
    json_open(&json, "audits", '[');
    for (int64_t k = 0; k < count; k++)
        json_row(&json, terms, &rows[k]);
    json_close(&json, ']');
    json_close(&json, '}');
}
