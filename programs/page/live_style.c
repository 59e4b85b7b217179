/*
 * The frame of a page that lives. Its script asks for the page every two
 * seconds and puts the new main part in the place of the old one: what is open
 * stays open and nothing blinks. Without scripts the browser loads it anew.
 */
#include "live.h"
#include "chart.h"
#include "report.h"

static const char style[] =
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0 auto;max-width:72rem;padding:1.2rem 1rem 3rem;"
    "background:var(--page);color:var(--ink);font:16px/1.5 system-ui,"
    "-apple-system,'Segoe UI','DejaVu Sans',sans-serif}\n"
    "h1{font-size:1.5rem;line-height:1.2;margin:.2rem 0 .6rem}\n"
    "h2{font-size:1.1rem;margin:1.8rem 0 .5rem}\n"
    "p{margin:.3rem 0 .7rem}.soft{color:var(--soft)}\n"
    "em{color:var(--orange);font-style:normal;font-weight:600}\n"
    ".facts,.charts{display:grid;gap:.7rem;margin:.8rem 0;padding:0;"
    "list-style:none}\n"
    ".facts{grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr))}\n"
    ".charts{grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),"
    "1fr))}\n"
    ".facts li,figure{background:var(--card);border:1px solid var(--line);"
    "border-radius:.5rem;padding:.6rem .8rem;margin:0}\n"
    ".facts b{display:block;font-size:1.3rem;line-height:1.3;"
    "font-variant-numeric:tabular-nums}\n"
    ".facts span,figcaption{color:var(--soft);font-size:.84rem}\n"
    "figure h2{font-size:.95rem;margin:0 0 .3rem}\n"
    "svg.small{display:block;width:100%;height:auto}\n"
    "svg.strip{width:8rem;height:.9rem;vertical-align:-.1rem}\n"
    "svg text{fill:var(--ink);font:12px system-ui,'DejaVu Sans',sans-serif}\n"
    "svg .quiet{fill:var(--soft);font-size:11.5px}\n"
    ".attention{border-left:4px solid var(--orange);background:var(--card);"
    "padding:.5rem .9rem;margin:.8rem 0}\n"
    ".attention ul{margin:.2rem 0;padding-left:1.1rem}\n"
    "#note{position:sticky;top:0;background:var(--card);color:var(--orange);"
    "border:1px solid var(--orange);border-radius:.4rem;padding:.3rem .8rem}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font-size:.9rem;"
    "font-variant-numeric:tabular-nums}\n"
    "th,td{text-align:left;padding:.3rem .6rem;vertical-align:top;"
    "border-bottom:1px solid var(--line)}\n"
    "th{color:var(--soft);font-weight:600}\n"
    "td.number,th.number{text-align:right}\n"
    "summary{cursor:pointer;color:var(--blue);margin:.6rem 0}\n"
    "footer{margin-top:2rem;color:var(--soft);font-size:.84rem}\n"
    "footer a{color:var(--blue)}\n"
    "@media (min-width:52rem){svg.small .quiet{font-size:9px}}\n"
    "@media (max-width:40rem){body{padding:.8rem .7rem 2rem}"
    ".facts{grid-template-columns:1fr 1fr}"
    "table{font-size:.86rem}"
    /* A node is a card: its cells with their names before them. */
    ".nodes tr:first-child{display:none}"
    ".nodes tr{display:grid;grid-template-columns:1fr 1fr;gap:.1rem .8rem;"
    "padding:.4rem 0;border-bottom:1px solid var(--line)}"
    ".nodes td,.nodes td.number{border:0;padding:0;text-align:left}"
    ".nodes td::before{content:attr(data-name);display:block;"
    "color:var(--soft);font-size:.76rem}"
    ".nodes td:first-child{font-weight:600}}\n";

static const char script[] =
    "'use strict';\n"
    "const here = document.querySelector('main');\n"
    "const note = document.getElementById('note');\n"
    "let heard = Date.now(), asking = false;\n"
    "async function look() {\n"
    "    if (asking || document.hidden)\n"
    "        return;\n"
    "    asking = true;\n"
    "    try {\n"
    "        const answer = await fetch('/', {\n"
    "            cache: 'no-store', signal: AbortSignal.timeout(5000)});\n"
    "        const page = new DOMParser().parseFromString(\n"
    "            await answer.text(), 'text/html');\n"
    "        const fresh = page.querySelector('main');\n"
    "        for (const box of here.querySelectorAll('details[open]')) {\n"
    "            const same = page.getElementById(box.id);\n"
    "            if (same)\n"
    "                same.open = true;\n"
    "        }\n"
    "        here.replaceChildren(...fresh.childNodes);\n"
    "        document.title = page.title;\n"
    "        heard = Date.now();\n"
    "    } catch {\n"
    "    }\n"
    "    asking = false;\n"
    "    const silent = Math.round((Date.now() - heard) / 1000);\n"
    "    note.hidden = silent < 5;\n"
    "    note.textContent = `No answer from the server for ${silent} s: what "
    "stands below is as old.`;\n"
    "}\n"
    "setInterval(look, 2000);\n";

static const char icon[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">"
    "<circle cx=\"8\" cy=\"3\" r=\"2.4\" fill=\"#0a66b0\"/>"
    "<path d=\"M3 12L8 3l5 9\" stroke=\"#0a66b0\" fill=\"none\"/>"
    "<circle cx=\"3\" cy=\"12\" r=\"2.2\" fill=\"#c8500a\"/>"
    "<circle cx=\"13\" cy=\"12\" r=\"2.2\" fill=\"#c8500a\"/></svg>\n";

void live_style(FILE *out)
{
    fputs(chart_palette(), out);
    fputs(style, out);
}

void live_script(FILE *out)
{
    fputs(script, out);
}

void live_icon(FILE *out)
{
    fputs(icon, out);
}

void live_open(FILE *out, const char *title)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
          "<noscript><meta http-equiv=\"refresh\" content=\"2\"/></noscript>\n"
          "<link rel=\"icon\" href=\"/icon.svg\"/>\n"
          "<link rel=\"stylesheet\" href=\"/page.css\"/>\n"
          "<script src=\"/page.js\" defer></script>\n<title>",
          out);
    page_text(out, title);
    fputs("</title>\n</head>\n<body>\n<p id=\"note\" hidden></p>\n<main>\n",
          out);
}

void live_close(FILE *out)
{
    fputs("</main>\n<footer>The page renews itself every two seconds. "
          "<a href=\"/metrics\">/metrics</a> is for Prometheus, "
          "<a href=\"/health\">/health</a> for watchdogs.</footer>\n"
          "</body>\n</html>\n",
          out);
}
