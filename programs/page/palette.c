/*
 * The colours of reports, charts and the live page.
 */
#include "chart.h"

/* Okabe and Ito's colours, darkened for white paper and lightened for a dark
 * page until they stand out from it. */
static const char palette[] =
    ":root{--ink:#1c2430;--soft:#5b6675;--line:#d9dee6;--page:#fbfcfd;"
    "--card:#ffffff;--blue:#0a66b0;--orange:#c8500a;--green:#0b8a63;"
    "--violet:#8a3f8f;--grey:#8a94a3}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#a3aebd;"
    "--line:#323b48;--page:#12161c;--card:#1a2029;--blue:#62b0f0;"
    "--orange:#f59a5a;--green:#4cc7a0;--violet:#cf8ad3;--grey:#8792a2}}\n"
    "@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--page:#fff;"
    "--card:#fff;--blue:#0a58a0;--orange:#b04300;--green:#00704e;"
    "--violet:#75307a;--grey:#777}}\n";

const char *chart_palette(void)
{
    return palette;
}
