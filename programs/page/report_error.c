/*
 * The error of a report: what it is made of, next to the baselines, and whether
 * prediction, simulation and measurement agree.
 */
#include "report.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ split --
 */

enum { ROWS = PRICER_BASELINES + 1, BAR = 32, LEFT = 142, RIGHT = 450 };

/* The three parts of a worst-case error. */
static void split(const struct pricer_error *error, double *parts)
{
    parts[0] = error->variance;
    parts[1] = error->piv;
    parts[2] = fmax(0, error->mse_worst_case - error->variance - error->piv);
}

static const char *const colours[] = {"blue", "green", "violet"};

/* One bar; what reaches beyond the scale is cut off and ends in an arrow. */
static void bar(FILE *out, int row, const char *name,
                const struct pricer_error *error, double most)
{
    double parts[3], at = LEFT, y = 8 + BAR * row;
    split(error, parts);
    fprintf(out,
            "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\" "
            "dominant-baseline=\"central\"%s>%s</text>\n",
            LEFT - 10, y + 11, row == 0 ? " style=\"font-weight:600\"" : "",
            name);
    for (int k = 0; k < 3; k++) {
        double width = fmin(parts[k] / most * (RIGHT - LEFT), RIGHT - at);
        if (width <= 0)
            continue;
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"22\" "
                "fill=\"var(--%s)\"/>\n",
                at, y, width, colours[k]);
        at += width;
    }
    fprintf(out,
            "<text x=\"%.1f\" y=\"%.0f\" dominant-baseline=\"central\" "
            "class=\"quiet\">%s%.4g</text>\n",
            at + 7, y + 11, error->mse_worst_case > most ? "→ " : "",
            error->mse_worst_case);
}

static void draw_bars(const struct report *report)
{
    static const char *const names[PRICER_BASELINES] = {
        "alone, weight 1", "alone, weight 1/p", "alone, best weights",
        "relayed, no noise"};
    FILE *out = report->out;
    double most = report->error.mse_worst_case;
    int rows = 1;
    for (int k = 0; k < PRICER_BASELINES; k++)
        rows += report->rival[k].known;
    for (int k = 0; k < PRICER_BASELINES; k++)
        if (report->rival[k].known)
            most = fmax(most, report->rival[k].error.mse_worst_case);
    most = fmin(most, 6 * report->error.mse_worst_case);
    fprintf(out,
            "<figure>\n<svg class=\"bars\" viewBox=\"0 0 520 %d\" role=\"img\" "
            "xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"Error of the "
            "plan and of the baselines\">\n",
            BAR * rows + 12);
    bar(out, 0, "this plan", &report->error, most);
    for (int k = 0, row = 1; k < PRICER_BASELINES; k++)
        if (report->rival[k].known)
            bar(out, row++, names[k], &report->rival[k].error, most);
    fputs("</svg>\n<figcaption><span class=\"key\" "
          "style=\"background:var(--blue)\"></span>links that come and go "
          "<span class=\"key\" style=\"background:var(--green)\"></span>noise "
          "for privacy <span class=\"key\" "
          "style=\"background:var(--violet)\"></span>bias. Mean squared error "
          "at worst, whatever the data.",
          out);
    for (int k = 0; k < PRICER_BASELINES; k++)
        if (!report->rival[k].known) {
            fprintf(out, " ‘%s’ cannot be had: ", names[k]);
            page_text(out, report->rival[k].why.text[0] != '\0'
                               ? report->rival[k].why.text
                               : "no such plan");
            fputc('.', out);
        }
    fputs("</figcaption>\n</figure>\n", out);
}

static void row(FILE *out, const char *words, double value)
{
    fprintf(out, "<tr><td>%s</td><td>", words);
    page_number(out, value);
    fputs("</td></tr>\n", out);
}

void report_error(const struct report *report)
{
    FILE *out = report->out;
    double parts[3];
    if (report->plan == NULL)
        return;
    page_section(report, "error", "The error, and where it comes from", NULL);
    draw_bars(report);
    split(&report->error, parts);
    fputs("<div class=\"wide\"><table>\n<tr><th>part</th><th>mean squared "
          "error</th></tr>\n",
          out);
    row(out, "links that come and go", parts[0]);
    row(out, "noise for privacy", parts[1]);
    row(out, "bias, at worst", parts[2]);
    fputs("<tr class=\"own\"><td>together, at worst</td><td>", out);
    page_number(out, report->error.mse_worst_case);
    fputs("</td></tr>\n", out);
    row(out, "the paper’s figure (no bound where biases differ in sign)",
        report->error.mse_paper);
    row(out, "sum of |bias| over the nodes", report->error.bias_l1);
    fputs("</table></div>\n</section>\n", out);
}

/* -------------------------------------------------------------- agreement --
 */

/* Prepare a query; NULL where the study has no such table. */
static sqlite3_stmt *query(const struct report *report, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(report->database, sql, -1, &statement, NULL) !=
        SQLITE_OK)
        return NULL;
    return statement;
}

static double column(sqlite3_stmt *statement, int index)
{
    return sqlite3_column_type(statement, index) == SQLITE_NULL
               ? NAN
               : sqlite3_column_double(statement, index);
}

static void cell(FILE *out, double value)
{
    fputs("<td>", out);
    page_number(out, value);
    fputs("</td>", out);
}

static int simulated(const struct report *report)
{
    sqlite3_stmt *statement = query(
        report,
        "SELECT strategy, data, trials, mse, mse_stderr, predicted, worst_case "
        "FROM simulation_strategy JOIN simulation USING (simulation) WHERE "
        "simulation = (SELECT max(simulation) FROM simulation) ORDER BY "
        "strategy <> 'plan', mse");
    FILE *out = report->out;
    int rows = 0;
    while (statement != NULL && sqlite3_step(statement) == SQLITE_ROW) {
        if (rows++ == 0)
            fprintf(out,
                    "<div class=\"wide\"><table>\n<tr><th>simulated, %lld "
                    "trials</th><th>predicted</th><th>simulated</th>"
                    "<th>± standard error</th><th>deviations apart</th>"
                    "<th>at worst</th></tr>\n",
                    (long long)sqlite3_column_int64(statement, 2));
        double mse = column(statement, 3), deviation = column(statement, 4);
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        fputs(strcmp(name, "plan") == 0 ? "<tr class=\"own\"><td>" : "<tr><td>",
              out);
        page_text(out, name);
        fputs("</td>", out);
        cell(out, column(statement, 5));
        cell(out, mse);
        cell(out, deviation);
        cell(out,
             deviation > 0 ? (mse - column(statement, 5)) / deviation : NAN);
        cell(out, column(statement, 6));
        fputs("</tr>\n", out);
    }
    if (rows > 0)
        fputs("</table></div>\n", out);
    sqlite3_finalize(statement);
    return rows;
}

static int measured(const struct report *report)
{
    sqlite3_stmt *statement =
        query(report, "SELECT count(error), avg(error), avg(error * error), "
                      "count(*), avg(arrived) FROM round");
    FILE *out = report->out;
    int rounds = 0;
    if (statement != NULL && sqlite3_step(statement) == SQLITE_ROW) {
        rounds = sqlite3_column_int(statement, 3);
        int known = sqlite3_column_int(statement, 0);
        double mean = column(statement, 1);
        double deviation =
            known > 1 ? sqrt(fmax(0, column(statement, 2) - mean * mean) /
                             (known - 1))
                      : NAN;
        if (rounds > 0) {
            fprintf(out, "<p>%d rounds were run by real nodes; ", rounds);
            fputs("on average ", out);
            page_number(out, column(statement, 4));
            fputs(" of them reached the server directly", out);
            if (known > 0) {
                fputs(". Mean squared error measured: <b>", out);
                page_number(out, mean);
                fputs("</b> ± ", out);
                page_number(out, deviation);
            }
            fputs(".</p>\n", out);
        }
    }
    sqlite3_finalize(statement);
    return rounds;
}

void report_agreement(const struct report *report)
{
    if (report->plan == NULL)
        return;
    page_section(report, "agreement", "Predicted, simulated, measured", NULL);
    if (simulated(report) == 0)
        page_missing(report, "Nothing was simulated yet.", "pricer simulate");
    if (measured(report) == 0)
        page_missing(report, "No round was run yet.", "pricer demo");
    fputs("</section>\n", report->out);
}
