/*
 * From the name of a verb to the words of its tables, each with a sentence.
 */
#include "legend.h"
#include "meaning.h"

#include <stdio.h>
#include <string.h>

/* Which verbs print a word, and of which studies. */
enum {
    PLAN = 1,
    PRIVACY = 2,
    SIMULATE = 4,
    AUDIT = 8,
    SWEEP = 16,
    ADVISE = 32,
    ERRORS = PLAN | SIMULATE | SWEEP | ADVISE,
    SUM = 64, /* with this scheme only */
    FORWARD = 128,
};

static const struct {
    int verb;
    const char *name;
} verbs[] = {{PLAN, "plan"},   {PRIVACY, "privacy"}, {SIMULATE, "simulate"},
             {AUDIT, "audit"}, {SWEEP, "sweep"},     {ADVISE, "advise"}};

static const struct entry {
    int verbs;
    const char *word, *text;
} entries[] = {
    {ERRORS, "R, R^2",
     "the radius: vectors are clipped to this length; R^2 is the squared "
     "error\n"
     "of always answering zero without asking anybody."},
    {ERRORS, "error",
     "the expected squared distance between the server's estimate and the\n"
     "mean of all nodes' data, in squared units of the data."},
    {PLAN | ADVISE, "distance",
     "the root of the error: the root mean squared distance between estimate\n"
     "and mean, in units of the data."},
    {PLAN | SIMULATE | SWEEP, "worst case",
     "the error that no data within the radius exceed."},
    {PLAN | ADVISE | SWEEP | SUM, "objective",
     "what the planner makes least: the worst case, or with --bias l1 or l2\n"
     "the paper's error with its bias term."},
    {PLAN | SWEEP | SUM, "variance",
     "the part that links which come and go add."},
    {PLAN | SWEEP, "noise", "the part that the noise for privacy adds."},
    {PLAN | SWEEP | SUM, "bias",
     "the part of nodes that count less or more than 1, at worst; |bias| is\n"
     "the sum of how much, over the nodes."},
    {PLAN | SWEEP | SUM, "paper",
     "the paper's error: no bound where biases differ in sign."},
    {PLAN | SIMULATE | SWEEP | SUM, "no collaboration",
     "every node for itself: nobody relays. naive: weight 1; unbiased: weight\n"
     "1/p; best: the weights of least worst case."},
    {PLAN | SIMULATE | SWEEP | SUM, "ColRel",
     "relaying without noise, hence without privacy, and unbiased."},
    {PLAN | SUM, "certified",
     "proved by weak duality from the plan's multipliers, by other code than\n"
     "the planner's."},
    {PLAN | SIMULATE | SWEEP | SUM, "decoder",
     "how the server weighs the sums that arrived: constant counts each 1/n,\n"
     "minimax chooses coefficients by which of them did."},
    {PLAN | SUM, "W, B, g",
     "the worst case with every sum counting 1/n; with the plan's decoder, at\n"
     "most; with any linear decoder of this plan, at least."},
    {PLAN | ADVISE | SUM, "price of trust",
     "how the least objective changes with ln eps of one budget: -0.01 means\n"
     "that 1 % more eps lowers it by 0.0001."},
    {ADVISE | SUM, "price of links",
     "how the least objective changes with the probability p of one link."},
    {ADVISE, "gap",
     "(objective - proved lower bound) / objective: how far from optimal the\n"
     "plan of this row can be."},
    {PLAN | FORWARD, "forward, H hops",
     "every node makes one private release a round, and relays pass it on\n"
     "unchanged: over at most H of them to the server."},
    {PLAN | FORWARD, "no relaying",
     "the same with 0 hops: every node over its own uplink."},
    {PLAN | FORWARD, "missing, scaled",
     "the part of releases that do not arrive, and of coefficients that count\n"
     "data for less than it is so that noise counts less, too."},
    {PLAN | FORWARD, "d error / d p",
     "how the error changes with the probability p of one link, coefficients\n"
     "chosen again; +- is one standard error."},
    {PRIVACY | AUDIT | PLAN | ADVISE | SWEEP, "eps, delta",
     "whatever the observer decides, its odds change by a factor of e^eps at\n"
     "most, but for a probability delta. In words: strong up to 1, moderate "
     "up\n"
     "to 3, weak up to 10, practically none beyond."},
    {PRIVACY | SWEEP, "eps lower",
     "no smaller eps could come out of this account; below eps by rounding."},
    {PRIVACY | SWEEP, "floor",
     "the probability that data arrives bare, without any noise."},
    {PRIVACY, "account",
     "exact: the observer sees which links were up; bound: it is granted that\n"
     "knowledge; wide: eps is more than 1 % above its lower end."},
    {PRIVACY | SUM, "paper's eps",
     "the paper's theorem as printed, for one round and an observer who "
     "misses\n"
     "what is lost on the way; guarantee: whether it is proved to hold here."},
    {PRIVACY | SUM, "corrected",
     "the same theorem with its mistakes repaired, for the same observer and\n"
     "round: it always holds."},
    {PRIVACY | SUM, "delta', zeta, r",
     "at a relay noise of variance zeta arrives on average, and less than\n"
     "zeta - r with probability delta' at most."},
    {SIMULATE | SWEEP, "predicted",
     "the expectation of the error for these data."},
    {SIMULATE, "off by",
     "measured less predicted, in standard errors: within 2 in 95 % of runs."},
    {SIMULATE, "+-", "one standard error of the number before it."},
    {SIMULATE, "deviations",
     "how far the frequency is from p, in standard deviations."},
    {AUDIT, "counted, fitted",
     "a lower bound on eps from the attack's success, without assumption, and\n"
     "assuming Gaussian noise."},
};

static int verb_of(const char *name)
{
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++)
        if (strcmp(verbs[k].name, name) == 0)
            return verbs[k].verb;
    return 0;
}

bool legend_known(const char *verb)
{
    return verb_of(verb) != 0;
}

void legend_print(const char *verb, enum legend_scheme scheme)
{
    int which = verb_of(verb);
    int hidden = scheme == LEGEND_FORWARD ? SUM
                 : scheme == LEGEND_SUM   ? FORWARD
                                          : 0;
    printf("What the words mean (more in %s):\n", meaning_page());
    for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
        const char *text = entries[k].text;
        if (!(entries[k].verbs & which) || (entries[k].verbs & hidden))
            continue;
        printf("  %-18s", entries[k].word);
        for (const char *line = text; line != NULL;) {
            const char *end = strchr(line, '\n');
            int length = end != NULL ? (int)(end - line) : (int)strlen(line);
            printf("%s%.*s\n", line == text ? "" : "                    ",
                   length, line);
            line = end != NULL ? end + 1 : NULL;
        }
    }
}
