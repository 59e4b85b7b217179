/*
 * The page of a report: its style, its frame, and the short pieces of text that
 * all sections use. One file, no scripts, nothing loaded from elsewhere;
 * colours follow the reader's light or dark setting, drawings included, and
 * paper gets black on white.
 */
#include "report.h"
#include "chart.h"

#include <inttypes.h>
#include <string.h>

static const char style[] =
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0 auto;max-width:58rem;padding:1.5rem 1rem 4rem;"
    "background:var(--page);color:var(--ink);font:16px/1.55 system-ui,"
    "-apple-system,'Segoe UI','DejaVu Sans',sans-serif}\n"
    "h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0 .2rem;"
    "overflow-wrap:anywhere}\n"
    "h2{font-size:1.2rem;margin:2.6rem 0 .2rem;padding-top:.8rem;"
    "border-top:1px solid var(--line)}\n"
    "p{margin:.3rem 0 .8rem}.soft{color:var(--soft)}\n"
    ".facts{display:grid;grid-template-columns:repeat(auto-fit,"
    "minmax(10rem,1fr));gap:.7rem;margin:1.2rem 0 0;padding:0;"
    "list-style:none}\n"
    ".facts li{background:var(--card);border:1px solid var(--line);"
    "border-radius:.5rem;padding:.6rem .8rem}\n"
    ".facts b{display:block;font-size:1.35rem;line-height:1.3;"
    "font-variant-numeric:tabular-nums}\n"
    ".facts span{color:var(--soft);font-size:.86rem}\n"
    "figure{margin:1rem 0;background:var(--card);border:1px solid var(--line);"
    "border-radius:.5rem;padding:.8rem}\n"
    "figure svg{display:block;width:100%;max-width:38rem;height:auto;"
    "margin:0 auto}\n"
    "figure svg.map{max-width:46rem}\n"
    "figcaption{color:var(--soft);font-size:.86rem;margin-top:.5rem}\n"
    "svg text{fill:var(--ink);font:13px system-ui,'DejaVu Sans',sans-serif}\n"
    "svg .quiet{fill:var(--soft);font-size:12px;paint-order:stroke;"
    "stroke:var(--card);stroke-width:3px}\n"
    "svg.map .in{fill:var(--card);font-weight:600;font-size:12px}"
    "svg.map .out{font-size:11px;paint-order:stroke;stroke:var(--card);"
    "stroke-width:3px}svg.map .count{font-size:12px}\n"
    "dl{margin:1.2rem 0}dt{font-weight:600}dd{margin:0 0 .6rem}\n"
    ".wide+.wide{margin-top:1.2rem}\n"
    "td small{display:block;color:var(--soft);font-size:.9em}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font-size:.92rem;"
    "font-variant-numeric:tabular-nums}\n"
    "th,td{text-align:right;padding:.35rem .6rem;border-bottom:1px solid "
    "var(--line);white-space:nowrap}\n"
    "th{color:var(--soft);font-weight:600;white-space:normal}\n"
    "th:first-child,td:first-child{text-align:left;white-space:normal}\n"
    "td.words{white-space:normal}tr.own td{font-weight:600}\n"
    "pre{overflow-x:auto;background:var(--card);border:1px solid var(--line);"
    "border-radius:.5rem;padding:.7rem .9rem;font-size:.86rem;line-height:1.45}"
    "\n"
    "code{font-family:ui-monospace,'DejaVu Sans Mono',monospace}\n"
    ".missing{color:var(--soft);border-left:3px solid var(--line);"
    "padding:.1rem .8rem}\n"
    ".warn{border-left:3px solid var(--orange);padding:.1rem .8rem}\n"
    ".key{display:inline-block;width:.8em;height:.8em;border-radius:.2em;"
    "margin:0 .3em 0 .9em;vertical-align:-.05em}\n"
    ".key:first-child{margin-left:0}\n"
    "a{color:var(--blue)}\n"
    "footer{margin-top:3rem;color:var(--soft);font-size:.86rem}\n"
    "@media (max-width:34rem){body{padding:1rem .7rem 3rem}h1{font-size:1.4rem}"
    "figure{padding:.4rem}table{font-size:.74rem}"
    "th,td{padding:.3rem .2rem}"
    "th{font-size:.68rem}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere}"
    "svg text{font-size:15px}svg .quiet{font-size:14px}"
    "svg.map .in,svg.map .out,svg.map .count{font-size:16px}"
    "svg.map .desk{display:none}}\n"
    "@media print{body{max-width:none;padding:0;"
    "font-size:10.5pt}"
    "figure,.facts li,table,pre{break-inside:avoid}h2{break-after:avoid}"
    "pre{white-space:pre-wrap}"
    "figure svg{max-height:13cm}"
    "*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}\n";

void page_section(const struct report *report, const char *name,
                  const char *heading, const char *sentence)
{
    fprintf(report->out, "<section id=\"%s\">\n<h2>%s</h2>\n", name, heading);
    if (sentence != NULL)
        fprintf(report->out, "<p class=\"soft\">%s</p>\n", sentence);
}

void page_missing(const struct report *report, const char *what,
                  const char *command)
{
    fprintf(report->out, "<p class=\"missing\">%s <code>%s ", what, command);
    page_text(report->out, report->path);
    fputs("</code> adds it.</p>\n", report->out);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

void page_open(const struct report *report)
{
    FILE *out = report->out;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>",
          out);
    page_text(out, base_name(report->path));
    fprintf(out, " – pricer</title>\n<style>\n%s%s</style>\n</head>\n<body>\n",
            chart_palette(), style);
    fputs("<header>\n<h1>", out);
    page_text(out, base_name(report->path));
    fprintf(out,
            "</h1>\n<p class=\"soft\">Private mean estimation over %" PRId32
            " nodes and %" PRId32 " links that come and go: vectors of %" PRId64
            " numbers, no longer than&#160;%g.</p>\n</header>\n<main>\n",
            report->network->nodes, report->network->links,
            report->network->dimension,
            report->network->reach > 0 ? report->network->reach
                                       : report->network->radius);
}

void page_close(const struct report *report)
{
    fprintf(report->out,
            "</main>\n<footer>Made by pricer %s from the study alone; the same "
            "study gives the same page.</footer>\n</body>\n</html>\n",
            pricer_version());
}
