/*
 * What the sections of a report share: everything read from the study, and how
 * text gets onto the page.
 */
#ifndef PROGRAM_REPORT_H
#define PROGRAM_REPORT_H

#include "common/program.h"
#include "pricer_decode.h"
#include "pricer_forward.h"

/* A plan to compare with; why it cannot be had, if so. */
struct report_rival {
    bool known;
    struct pricer_error error;
    struct pricer_fault why;
};

/* Rows of a table of the study, column by column; free with free(). */
struct report_rows {
    int32_t count, room;
    double *column[6];
};

/* What a node has told one receiver, and what it may: the link that is trusted
 * most, and the server. */
enum { REPORT_LINK, REPORT_SERVER, REPORT_ACCOUNTS };
struct report_account {
    bool known;
    int32_t node, link; /* link -1: all that the server gets */
    double ratio;       /* of a round: largest change to noise */
    double eps, delta;  /* the budget */
};

struct report {
    FILE *out;
    const char *path; /* of the study */
    char *scenario;   /* the text that the study was made from */
    struct pricer_network *network;
    struct pricer_settings settings; /* of the plan, or the scenario's */

    /* From here on only with a plan, of one of the schemes. */
    struct pricer_plan *plan;            /* NULL with 'scheme: forward' */
    struct pricer_forward_plan *forward; /* NULL with 'scheme: sum' */
    struct pricer_plan_record record;    /* with 'scheme: forward' its id */
    struct pricer_error
        error; /* with 'scheme: forward' mse_worst_case and piv */
    struct pricer_certificate certificate;
    struct pricer_simulation_record *simulation; /* NULL: there is none */
    struct pricer_rounds_summary rounds;
    struct pricer_privacy_summary *privacy; /* [privacy_count] */
    int32_t privacy_count;
    struct report_rival rival[PRICER_BASELINES];
    struct pricer_decoder *decoder; /* NULL: every sum counts 1/n */
    struct pricer_estimate floor;   /* of every plan and decoder; NAN: not
                                       known */
    struct pricer_outcome
        played[3];           /* by enum pricer_decode; NAN: not played */
    struct report_rows bins; /* low, high, trials: errors of the plan in its
                                  latest simulation */
    struct report_rows played_rounds; /* round, arrived, contributors, weight,
                                         error, bar; those with this plan */
    struct report_rows
        withheld; /* round, and which account, of those below, did
                                    not pay in it as its budget was spent */
    struct report_account account[REPORT_ACCOUNTS];
    int64_t *spent;       /* [links + nodes] rounds with this plan in which a
                             link's part, a node's own, was withheld as a
                             budget was spent */
    int64_t other_rounds; /* that were run with other plans */
    double
        *eps[3]; /* [nodes] the largest that is stored towards a link, a relay
                       and the server for the plan's own rounds, radio and
                       deltas; NAN: none is */
    struct report_rows curve; /* factor, and the error if every budget is so
                                 many times what it is, or those of links, or
                                 towards the server; NAN: there is none */
    double *share;            /* [links] expected weight that a link carries */
    double *self_share;       /* [nodes] the same of a node's own part */
    double *load;             /* [nodes] all that a node brings to the server */
    double *reach; /* [nodes] a node's expected weight in the estimate */
    /* What the least error changes by: of links d / d ln eps and d / d p, of
     * nodes' own parts, their budgets towards the server and their uplinks. With
     * 'scheme: forward' of links and uplinks d / d p, and of nodes' budgets
     * towards everyone. NULL where the plan has no such prices. */
    double *price, *p_price;                          /* [links] */
    double *self_price, *server_price, *uplink_price; /* [nodes] */
    double *everyone_price;                           /* [nodes] */

    /* Only with 'scheme: forward'. */
    enum pricer_release release; /* that was asked for */
    double mse_sum;              /* of weighted sums, or NAN */
    int32_t *path_relays;        /* [nodes] on a node's most likely path */
    int32_t *path_link;          /* [nodes] its first link, -1: the uplink */
    int64_t *came; /* [nodes] rounds with this plan in which it arrived */
    struct report_rows by_hops; /* hops, and the worst case with so many */
    double hop_saves;           /* by one more hop, or NAN */
};

/* Whether there is a plan, of either scheme. */
static inline bool report_planned(const struct report *report)
{
    return report->plan != NULL || report->forward != NULL;
}

/* Text with what HTML would misread replaced. */
void page_text(FILE *out, const char *text);

/* A heading with a name to link to, and a sentence below it. */
void page_section(const struct report *report, const char *name,
                  const char *heading, const char *sentence);

/* A section for which the study has nothing: which verb adds it. */
void page_missing(const struct report *report, const char *what,
                  const char *command);

/* A number as people read it: 4 digits, "0" and "unlimited" in words. */
void page_number(FILE *out, double value);

/* What a node is called beside a bar: its name, which may have to be cut, or its
 * number; and the room in a drawing that the longest one takes on a phone. */
void page_node(FILE *out, const struct pricer_network *network, int32_t node);
int page_node_room(const struct pricer_network *network);

/* The errors of the simulation as a histogram, and the rounds that were run over
 * time: parts of the section on agreement. */
void report_histogram(const struct report *report);
void report_spent(const struct report *report);
void report_rounds(const struct report *report);

void page_open(const struct report *report);
void page_close(const struct report *report);

/* Find the accounts that report_spent() draws. */
void report_find_accounts(struct report *report);

/* The sections, in order. */
void report_summary(const struct report *report);
void report_network(const struct report *report);
void report_error(const struct report *report);
void report_decoder(const struct report *report);
void report_agreement(const struct report *report);
void report_relays(const struct report *report);
void report_arrivals(const struct report *report);
void report_curve(const struct report *report);
void report_budgets(const struct report *report);
void report_privacy(const struct report *report);
void report_price(const struct report *report);

/* The uplink or link and the budget that are worth most, in a sentence. */
void report_worth(const struct report *report);
void report_certificate(const struct report *report);
void report_nodes(const struct report *report);
void report_recipe(const struct report *report);

/* What sections on privacy and on the certificate say of 'scheme: forward', and
 * the error by hops. */
void forward_privacy(const struct report *report);
void forward_certificate(const struct report *report);
void forward_hops(const struct report *report);

#endif
