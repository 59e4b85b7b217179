/*
 * What a relay of the paper's Erdos-Renyi network learns about a node, by the
 * paper's formulas as printed and by the account, m and n varied; the
 * conditions under which the paper's appendix may say what it says; and the
 * deviations of its tail bounds, Bernstein's and Hoeffding's.
 *
 * Unbiased weights are alpha = 1 / (m p q), and the noise xi R alpha / eps is
 * proportional to them: what a relay sees has the same ratio of data to noise
 * for every m. So m cancels, where the paper says O(1 / (m sqrt(n - m))).
 */
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>

static const double link_p = 0.9, uplink_q = 0.8, delta_ = 1e-3;
static const int reachings[] = {5, 10, 20};
static const int sizes[] = {5, 10, 20, 50, 100, 200};
enum {
    REACHINGS = sizeof reachings / sizeof *reachings,
    SIZES = sizeof sizes / sizeof *sizes,
    FIFTY = 3, /* the place of 50 in sizes, of 100 after it */
};

/* xi of the paper: the noise that weight 1 needs for eps 1, radius 1. */
static double noise_slope(void)
{
    return 2 * sqrt(2 * log(1.25 / delta_));
}

/* sigma* of the paper at eps 1, unbiased weights. */
static double noise_of(int m, double p)
{
    return noise_slope() / (m * p * uplink_q);
}

/* --------------------------------------------------------------- account -- */

/* What the relay learns about one of `others` nodes: by the theorem, by what is
 * left of it once corrected, and by the account. */
struct leak {
    double printed, corrected, eps;
};

/*
 * The links into one relay, and nothing else: the relay's view depends on no
 * other link. Node 0 is the relay. Only the first link has a delta to be asked
 * for: all are alike, and at delta = 1 the others' accounts cost nothing.
 */
static enum pricer_status build_star(struct reproduction *work, int others,
                                     struct pricer_network **network)
{
    struct pricer_network_parts parts = {
        .dimension = 128, .radius = 1, .node_count = others + 1};
    struct pricer_node *nodes = calloc((size_t)others + 1, sizeof *nodes);
    struct pricer_link *links = calloc((size_t)others, sizeof *links);
    enum pricer_status status = PRICER_MEMORY;
    if (nodes == NULL || links == NULL)
        goto done;
    for (int i = 0; i <= others; i++)
        nodes[i] =
            (struct pricer_node){i == 0 ? uplink_q : 0, 1, delta_, NAN, NAN};
    for (int i = 0; i < others; i++)
        links[i] =
            (struct pricer_link){i + 1, 0, link_p, NAN, 1, i == 0 ? delta_ : 1};
    parts.nodes = nodes;
    parts.links = links;
    parts.link_count = others;
    status = pricer_network_build(&parts, network, NULL, &work->fault);
done:
    free(nodes);
    free(links);
    return status;
}

/* The first statement, which stands for all. */
static enum pricer_status ask(struct reproduction *work,
                              const struct pricer_network *network,
                              const struct pricer_plan *plan,
                              enum pricer_protect protect, struct leak *leak)
{
    struct pricer_question question = {
        .observer = PRICER_OBSERVER_RELAY, .protect = protect, .rounds = 1};
    struct pricer_statement *statements = NULL;
    struct pricer_paper_bound bound = {0};
    int64_t count = 0;
    enum pricer_status status = pricer_privacy_account(
        network, plan, &question, &statements, &count, &work->fault);
    if (status == PRICER_OK)
        status = pricer_privacy_paper(network, plan, &statements[0], 0, &bound,
                                      &work->fault);
    if (status == PRICER_OK)
        *leak =
            (struct leak){bound.printed, bound.corrected, statements[0].eps};
    pricer_statements_free(statements);
    return status;
}

/* Data and identity with m relays and `others` nodes that need them. */
static enum pricer_status leak_one(struct reproduction *work, int m, int others,
                                   struct leak *leaks)
{
    struct pricer_network *network = NULL;
    struct pricer_plan *plan = NULL;
    enum pricer_status status = build_star(work, others, &network);
    if (status == PRICER_OK)
        status = pricer_plan_new(network, &plan, &work->fault);
    if (status != PRICER_OK)
        goto done;
    for (int l = 0; l < others; l++) {
        plan->weight[l] = 1 / (m * link_p * uplink_q);
        plan->noise[l] = noise_of(m, link_p);
    }
    status = ask(work, network, plan, PRICER_PROTECT_DATA, &leaks[0]);
    if (status == PRICER_OK)
        status = ask(work, network, plan, PRICER_PROTECT_IDENTITY, &leaks[1]);
done:
    pricer_plan_free(plan);
    pricer_network_free(network);
    return status;
}

static const char leakage_plot[] =
    "set multiplot layout 1,2 title 'What a relay learns about one node "
    "(p = 0.9, q = 0.8, d = 128)'\n"
    "set xrange [4:250]\n"
    "set logscale xy\n"
    "set xlabel 'nodes that cannot reach the server, n - m'\n"
    "set ylabel '{/Symbol e} at {/Symbol d} = 10^{-3}'\n"
    "set format y '%g'\n"
    "set key top right samplen 1.5\n"
    "m(c, v) = column(1)==v ? column(c) : 1/0\n"
    "set title 'its data'\n"
    "set yrange [0.002:10]\n"
    "plot 'leakage.csv' using 2:(m(4,5)) every ::1 with linespoints pt 6 lc "
    "rgb grey title 'Theorem 4 as printed', for [v in '5 10 20'] '' using "
    "2:(m(6,v+0)) every ::1 with linespoints pt 7 lc rgb blue title (v eq '5' "
    "? 'account, m = 5, 10, 20' : ''), for [v in '5 10 20'] '' using "
    "2:(m(3,v+0)) every ::1 with lines dt 3 lc rgb orange title (v eq '5' ? "
    "'1 / (m (n-m)^{1/2}), m = 5, 10, 20' : '')\n"
    "set title 'whether it took part'\n"
    "set yrange [0.02:100]\n"
    "plot 'leakage.csv' using 2:(m(7,5)) every ::1 with linespoints pt 6 lc "
    "rgb grey title 'Theorem 3 as printed', for [v in '5 10 20'] '' using "
    "2:(m(9,v+0)) every ::1 with linespoints pt 7 lc rgb green title (v eq "
    "'5' ? 'account, m = 5, 10, 20' : '')\n"
    "unset multiplot\n";

/* The account and the theorem for m = 5, 10 and 20, and how the account falls. */
static void leak_rows(struct reproduction *work, const char *what, int which,
                      struct leak leaks[REACHINGS][SIZES][2])
{
    struct reproduce_row row = {.part = "erdos-renyi"};
    const struct leak *at[] = {&leaks[0][FIFTY][which], &leaks[1][FIFTY][which],
                               &leaks[2][FIFTY][which]};
    double steps = log(sizes[FIFTY + 1] / (double)sizes[FIFTY]);
    double slope = log(leaks[0][FIFTY + 1][which].eps / at[0]->eps) / steps;
    char note[160];
    snprintf(row.what, sizeof row.what, "relay; %s; n-m 50; m 5 10 20", what);
    snprintf(row.paper, sizeof row.paper, "falls as 1/m");
    snprintf(row.settings, sizeof row.settings, "%.6f %.6f %.6f", at[0]->eps,
             at[1]->eps, at[2]->eps);
    snprintf(note, sizeof note,
             "m cancels, as it does in the theorem itself: %.4f %.4f %.4f",
             at[0]->printed, at[1]->printed, at[2]->printed);
    row.note = note;
    reproduce_row(work, &row);
    snprintf(row.what, sizeof row.what, "relay; %s; slope n-m 50 to 100", what);
    snprintf(row.paper, sizeof row.paper, "-0.5");
    snprintf(row.settings, sizeof row.settings, "%.2f", slope);
    row.note = which == 0 ? "the account falls faster than the scaling"
                          : "a node takes its noise with it: far above the "
                            "theorem, and falls faster";
    reproduce_row(work, &row);
}

static enum pricer_status leakage(struct reproduction *work)
{
    struct leak leaks[REACHINGS][SIZES][2];
    FILE *csv = NULL;
    enum pricer_status status = reproduce_open(work, "leakage.csv", &csv);
    if (status != PRICER_OK)
        return status;
    fputs("m,others,scaling,data_printed,data_corrected,data_eps,"
          "identity_printed,identity_corrected,identity_eps\n",
          csv);
    for (int a = 0; a < REACHINGS && status == PRICER_OK; a++)
        for (int b = 0; b < SIZES && status == PRICER_OK; b++) {
            struct leak *leak = leaks[a][b];
            status = leak_one(work, reachings[a], sizes[b], leak);
            if (status == PRICER_OK)
                fprintf(
                    csv, "%d,%d,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n",
                    reachings[a], sizes[b], 1 / (reachings[a] * sqrt(sizes[b])),
                    leak[0].printed, leak[0].corrected, leak[0].eps,
                    leak[1].printed, leak[1].corrected, leak[1].eps);
            if (status == PRICER_OK)
                status = reproduce_tick(work, 1);
        }
    status = reproduce_close(work, "leakage.csv", csv, status);
    if (status != PRICER_OK)
        return status;
    leak_rows(work, "data", 0, leaks);
    leak_rows(work, "identity", 1, leaks);
    return reproduce_plot(work, "leakage", leakage_plot);
}

/* ------------------------------------------------------------ conditions -- */

/*
 * The appendix takes delta' with ln(2 / delta') = 12 (n - m) p (1 - p) sigma^2,
 * which gives mean noise less r = (n - m) p sigma^2 f with
 *
 *     f = 1 - 2 sigma (sigma + 2) (1 - p),     sigma = xi R / (m p q eps).
 *
 * delta' < 1 asks for eps <= `most`. f > 0 follows from sigma <= c with
 * c = sqrt(1 / (2 (1 - p))) - 2, positive for p > 7/8 only, that is from
 * eps >= xi R / (m p q c); printed is xi R c / (m p q).
 */
struct condition {
    double most, least_printed, least, factor;
};

static struct condition condition_of(int m, int others, double p)
{
    double noise = noise_of(m, p), c = sqrt(1 / (2 * (1 - p))) - 2;
    return (struct condition){.most = noise *
                                      sqrt(12 * others * p * (1 - p) / log(2)),
                              .least_printed = noise * c,
                              .least = c > 0 ? noise / c : INFINITY,
                              .factor = 1 - 2 * noise * (noise + 2) * (1 - p)};
}

static enum pricer_status conditions(struct reproduction *work)
{
    static const double probabilities[] = {0.85, 0.9, 0.95, 0.99};
    struct reproduce_row row = {.part = "erdos-renyi"};
    struct condition one = condition_of(5, 50, 0.9);
    char note[160];
    FILE *csv = NULL;
    enum pricer_status status = reproduce_open(work, "conditions.csv", &csv);
    if (status != PRICER_OK)
        return status;
    fputs("p,m,others,eps_at_most,eps_at_least_printed,eps_at_least,"
          "factor_at_eps_1\n",
          csv);
    for (size_t k = 0; k < sizeof probabilities / sizeof *probabilities; k++)
        for (int a = 0; a < REACHINGS; a++) {
            struct condition found =
                condition_of(reachings[a], 50, probabilities[k]);
            fprintf(csv, "%.17g,%d,50,%.17g,%.17g,%.17g,%.17g\n",
                    probabilities[k], reachings[a], found.most,
                    found.least_printed, found.least, found.factor);
        }
    status = reproduce_close(work, "conditions.csv", csv, status);
    snprintf(row.what, sizeof row.what, "eps asked for; m 5; p 0.9; n-m 50");
    snprintf(row.paper, sizeof row.paper, "%.2f to %.1f", one.least_printed,
             one.most);
    snprintf(row.settings, sizeof row.settings, "%.2f to %.1f", one.least,
             one.most);
    snprintf(note, sizeof note,
             "inverted: eps 1 meets what is printed; the noise left is then "
             "%.2f of its mean",
             one.factor);
    row.note = note;
    reproduce_row(work, &row);
    snprintf(row.what, sizeof row.what, "p asked for");
    snprintf(row.paper, sizeof row.paper, "above 7/8");
    one = condition_of(20, 50, 0.85);
    snprintf(row.settings, sizeof row.settings, "not needed");
    snprintf(note, sizeof note,
             "p 0.85, m 20, eps 1: the noise left is %.2f of its mean",
             one.factor);
    reproduce_row(work, &row);
    return status;
}

/* ----------------------------------------------------------------- tails -- */

/* P(|X - mean| >= r) for X binomial. */
static double tail(int n, double p, double r)
{
    double total = 0;
    for (int k = 0; k <= n; k++)
        if (fabs(k - n * p) >= r)
            total += exp(lgamma(n + 1.) - lgamma(k + 1.) - lgamma(n - k + 1.) +
                         k * log(p) + (n - k) * log1p(-p));
    return total;
}

/* The r for which a bound says that noise 1 of each of n nodes deviates by r
 * with probability at most delta'. */
struct radii {
    double printed, bernstein, hoeffding;
};

static struct radii radii_of(int n, double p, double delta)
{
    double part = log(2 / delta), square = n * p * (1 - p);
    return (struct radii){part / 2 *
                              (1. / 3 + sqrt(1. / 9 + 4 * square / part)),
                          part / 3 + sqrt(part * part / 9 + 2 * part * square),
                          sqrt(part * n / 2)};
}

static void tail_rows(struct reproduction *work)
{
    struct reproduce_row row = {.part = "erdos-renyi"};
    struct radii even = radii_of(100, 0.5, 1e-3),
                 rare = radii_of(100, .01, 1e-3);
    double printed = tail(1000, 0.5, radii_of(1000, 0.5, 1e-5).printed);
    snprintf(row.what, sizeof row.what, "r; n 100 p 0.5: Bernstein; Hoeffding");
    snprintf(row.paper, sizeof row.paper, "%.1f; Bernstein tighter",
             even.printed);
    snprintf(row.settings, sizeof row.settings, "%.1f %.1f", even.bernstein,
             even.hoeffding);
    row.note = "delta' 1e-3; once Bernstein is corrected Hoeffding is tighter";
    reproduce_row(work, &row);
    snprintf(row.what, sizeof row.what,
             "r; n 100 p 0.01: Bernstein; Hoeffding");
    snprintf(row.paper, sizeof row.paper, "%.1f; Bernstein tighter",
             rare.printed);
    snprintf(row.settings, sizeof row.settings, "%.1f %.1f", rare.bernstein,
             rare.hoeffding);
    row.note = "delta' 1e-3; where p is small it is as the paper says";
    reproduce_row(work, &row);
    snprintf(row.what, sizeof row.what, "tail at the printed r; n 1000 p 0.5");
    snprintf(row.paper, sizeof row.paper, "at most 1e-05");
    snprintf(row.settings, sizeof row.settings, "%.1e", printed);
    row.note = "as printed Bernstein's inequality lacks a factor 1/2";
    reproduce_row(work, &row);
}

static const char tails_plot[] =
    "set title \"Deviation of the noise at a relay: 100 nodes of noise 1, "
    "{/Symbol d}' = 10^{-3}\"\n"
    "set xlabel 'link probability p'\n"
    "set ylabel 'r'\n"
    "set key bottom center\n"
    "plot 'tails.csv' using 1:2 every ::1 with lines lw 2 dt 2 lc rgb grey "
    "title 'Bernstein, as printed', '' using 1:3 every ::1 with lines lw 2 lc "
    "rgb blue title 'Bernstein', '' using 1:4 every ::1 with lines lw 2 lc rgb "
    "orange title 'Hoeffding', '' using 1:5 every ::1 with steps lc rgb green "
    "title 'what holds'\n";

static enum pricer_status tails(struct reproduction *work)
{
    FILE *csv = NULL;
    enum pricer_status status = reproduce_open(work, "tails.csv", &csv);
    if (status != PRICER_OK)
        return status;
    fputs("p,printed,bernstein,hoeffding,needed,tail_at_printed\n", csv);
    for (int k = 1; k < 100; k++) {
        double p = k / 100., needed = 0;
        struct radii radii = radii_of(100, p, 1e-3);
        while (tail(100, p, needed) > 1e-3)
            needed += 0.25;
        fprintf(csv, "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", p, radii.printed,
                radii.bernstein, radii.hoeffding, needed,
                tail(100, p, radii.printed));
    }
    status = reproduce_close(work, "tails.csv", csv, status);
    if (status != PRICER_OK)
        return status;
    tail_rows(work);
    return reproduce_plot(work, "tails", tails_plot);
}

enum pricer_status reproduce_leakage(struct reproduction *work)
{
    enum pricer_status status = leakage(work);
    if (status == PRICER_OK)
        status = conditions(work);
    if (status == PRICER_OK)
        status = tails(work);
    return status;
}
