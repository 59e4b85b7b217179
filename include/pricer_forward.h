/*
 * Forwarding: a node makes one private release of its vector a round, relays
 * pass it on unchanged over several hops, and the server counts every node once.
 * docs/forwarding.md has the mathematics, docs/release.md that of a release.
 */
#ifndef PRICER_FORWARD_PUBLIC_H
#define PRICER_FORWARD_PUBLIC_H

#include "pricer_reference.h"
#include "pricer_study.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is asked of a plan. */
struct pricer_forward_settings {
    int64_t rounds; /* that the nodes' budgets are for; 0: one */
    int32_t hops;   /* -1: the fewest with an error within 1 % of 16 hops */
    int32_t
        repeat; /* attempts of a round, 0: one. Links are drawn for each, relays
                       keep releases from attempt to attempt, and a node's release
                       stays the same */
    enum pricer_release release;
    uint64_t seed;   /* of the rounds that are drawn */
    int32_t threads; /* 0: one per core */
    const struct pricer_watch *watch;
};

/*
 * A node's release, and how the server counts it.
 *
 * Claim: all releases of the rounds that the plan is for, seen by anyone, are
 * (everyone_eps, everyone_delta)-private for the network's budgets of the node,
 * adaptive choice of later data included. With a sphere that holds for any data
 * within the radius, with a Gaussian for data that differ by at most the node's
 * diameter in every round. Proof: docs/release.md, "Several rounds" and
 * "Neighbouring data".
 */
struct pricer_forward_node {
    enum pricer_release release; /* sphere or gaussian */
    double threshold, loss;      /* of a sphere: t, and eps of one round */
    double noise;       /* of a Gaussian: standard deviation of a coordinate */
    double variance;    /* E|y - x|^2, at most */
    double coefficient; /* of its release, where it arrives */
    double arrival;     /* probability of that */
    int32_t relays;     /* that its release needs at least; -1: never heard */
};

/*
 * How the server counts what arrives, and how good the estimate is. The mean
 * squared error is at most mse_worst_case for all data within the radii.
 */
struct pricer_forward_plan {
    int32_t nodes;
    int32_t hops;
    int32_t repeat;                   /* attempts of a round; 0: one */
    int32_t heard;                    /* nodes with relays within 0 to hops */
    struct pricer_forward_node *node; /* [nodes] */
    double mse_worst_case;
    double mse_stderr;     /* of it; 0 where all patterns were enumerated */
    double missing, noise; /* mse_worst_case = missing + noise */
    double mse_alone;      /* without relays: 0 hops */
    double mse_perfect;    /* the same releases over links that never fail */
    double zero_mse;       /* of always answering zero: (mean radius)^2 */
    double gap;            /* no coefficients have an error below (1 - gap)
                              times that of the sample they are fitted to */
    double bytes;     /* that a node sends in a round, mean over the nodes, if
                         every link is up: pricer_forward_packet() bytes to each
                         neighbour for all that it holds after hops - 1 links,
                         and to the server for all after hops */
    int64_t patterns; /* rounds behind mse_worst_case; 0: all of them */
    int64_t measured; /* rounds of a fleet that it is fitted to; 0: it is made
                         for a model of links */
};

/*
 * Plan the releases and their coefficients. The network must have budgets
 * towards everyone. The caller owns *plan and frees it.
 */
PRICER_API enum pricer_status pricer_forward_plan_make(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings,
    struct pricer_forward_plan **plan, struct pricer_fault *fault);

PRICER_API void pricer_forward_plan_free(struct pricer_forward_plan *plan);

/* Whose releases arrived in rounds that were run. */
struct pricer_forward_arrivals {
    int32_t nodes;
    int64_t rounds;
    int64_t first, last; /* numbers of the first and the last round */
    int8_t *relays; /* [rounds * nodes] that the release of a node took, round
                       after round; -1: it did not arrive */
};

PRICER_API void pricer_forward_arrivals_free(
    struct pricer_forward_arrivals *arrivals);

/*
 * Plan for arrivals as they were measured, in at least two rounds. Links of the
 * network do not count, and arrivals may depend on each other in any way.
 * Coefficients are fitted to all rounds. mse_worst_case is for coefficients that
 * are fitted to every other round, on those between, and the other way round:
 * covariances count by their absolute value, so that it is a bound for all data,
 * and one that falls with more rounds. settings->hops of -1: all that arrived.
 */
PRICER_API enum pricer_status pricer_forward_plan_measured(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings,
    const struct pricer_forward_arrivals *arrivals,
    struct pricer_forward_plan **plan, struct pricer_fault *fault);

/*
 * What pricer_forward_plan_verify() finds. A plan is `good` if every node keeps
 * its budget and all other numbers that are checked agree; else words has the
 * first thing that is wrong.
 */
struct pricer_forward_check {
    bool good;
    int32_t violations;   /* nodes that do not keep their budgets */
    double used;          /* the largest share of its budget that a node uses:
                              of eps where that alone is enough, else of delta */
    double mse_one_sided; /* the error of data in one direction, counted again
                              on other rounds; NAN: not counted */
    double mse_stderr;    /* of it; 0: over all patterns of links */
    double gap;           /* where all patterns were counted, else NAN */
    int64_t patterns;     /* that were counted; 0: all */
    char words[160];
};

/*
 * Check a plan by code that shares nothing with what made it: the share of a cap
 * and its moments by numerical integration, several rounds as a mixture of
 * compositions of randomised response, the Gaussian by integration of its density,
 * and the error by a search of paths for one pattern of links at a time, over all
 * patterns where these are few, else over some thousands; networks that are too
 * large for 512 are not counted. With `releases_only` the error is left out: for
 * coefficients that do not come from the links of the network.
 *
 * Claim: `good` is only set where every node's releases of `rounds` rounds are
 * (everyone_eps, everyone_delta)-private; all rounding is against us.
 */
PRICER_API enum pricer_status pricer_forward_plan_verify(
    const struct pricer_network *network, int64_t rounds,
    const struct pricer_forward_plan *plan, bool releases_only,
    struct pricer_forward_check *check, struct pricer_fault *fault);

/*
 * What would lower the worst case of a plan: derivatives of mse_worst_case, with
 * the coefficients chosen again, on rounds that are drawn (the same for all), or
 * over all patterns of links where these are few. A link improves by repairing
 * a share of its failures, independently of everything else: the derivative is
 * with respect to its p, and 0 where p = 1. A node that is never heard counts
 * with the coefficient 1 where it would be; the true derivative is at least as
 * large.
 */
struct pricer_forward_slopes {
    int32_t nodes, links;
    double *uplink, *uplink_stderr; /* [nodes] d W / d p */
    double *link, *link_stderr;     /* [links] d W / d p */
    double *eps;      /* [nodes] d W / d eps of the node's budget, all kept of
                         its delta */
    double hop;       /* W with one more hop, less W */
    int64_t patterns; /* rounds that were drawn; 0: all patterns */
};

/* For the hops of a plan of the same network; settings as the plan was made
 * with. The caller owns *slopes and frees it. */
PRICER_API enum pricer_status pricer_forward_slopes_make(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings,
    const struct pricer_forward_plan *plan,
    struct pricer_forward_slopes **slopes, struct pricer_fault *fault);

PRICER_API void pricer_forward_slopes_free(
    struct pricer_forward_slopes *slopes);

/* Bytes of a packet as it travels: a tag (16), the node's signature (64), its
 * number and what separates them (12), and a seed (16) or 4 a coordinate. */
PRICER_API double pricer_forward_packet(enum pricer_release release,
                                        int64_t dimension);

/* What a scenario asks of a plan; threads and watch are 0 and NULL. */
PRICER_API void pricer_scenario_forward_settings(
    const struct pricer_scenario *scenario,
    struct pricer_forward_settings *settings);

/* ----------------------------------------------------------------- round -- */

/* Bytes of what a node releases: a seed (16), or 4 a coordinate. */
PRICER_API int64_t pricer_forward_payload(enum pricer_release release,
                                          int64_t dimension);

/* A node's side of a round: all that it needs to make releases. One thread at a
 * time. */
struct pricer_forward_sender;

/*
 * Of a node's part of a plan only release, threshold, loss and noise count.
 * PRICER_VALUE if they are no release. The caller frees *sender.
 */
PRICER_API enum pricer_status pricer_forward_sender_new(
    const struct pricer_forward_node *node, double radius, int64_t dimension,
    struct pricer_forward_sender **sender, struct pricer_fault *fault);

PRICER_API void pricer_forward_sender_free(
    struct pricer_forward_sender *sender);

/*
 * Release the data (dimension numbers, clipped to the radius): `payload` gets
 * pricer_forward_payload() bytes.
 *
 * Claim: one call is (loss, 0)-private for a sphere, to the charge of
 * docs/release.md, and as private as data + N(0, noise^2 I) for a Gaussian;
 * lib/forward/round.c has the proof. It is one release: to send it again means to
 * send these bytes, not to call again.
 *
 * With `random` NULL all random bits come from the kernel within the call. A
 * replay, for tests and simulations only, uses pricer_random_replay(seed,
 * PRICER_PURPOSE_NOISE, round, node, PRICER_SERVER). PRICER_VALUE if the data is
 * not finite.
 */
PRICER_API enum pricer_status pricer_forward_release(
    struct pricer_forward_sender *sender, const double *data,
    struct pricer_random *random, unsigned char *payload,
    struct pricer_fault *fault);

/* The server's side: reads releases and counts them. One thread at a time. */
struct pricer_forward_receiver;

PRICER_API enum pricer_status pricer_forward_receiver_new(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    struct pricer_forward_receiver **receiver, struct pricer_fault *fault);

PRICER_API void pricer_forward_receiver_free(
    struct pricer_forward_receiver *receiver);

/*
 * The vector y of a node's payload. PRICER_VALUE, and `value` untouched, where it
 * does not have the length in bytes of the node's kind, or is a Gaussian that is
 * longer than honest ones are: these are refused once in 10^9.
 */
PRICER_API enum pricer_status pricer_forward_receiver_decode(
    struct pricer_forward_receiver *receiver, int32_t node,
    const unsigned char *payload, int64_t bytes, double *value,
    struct pricer_fault *fault);

/*
 * Add coefficient y / nodes to the estimate, which starts from zero, or refuse as
 * above. Call it once for every node that arrived, by ascending node, so that all
 * who do get the same bits.
 */
PRICER_API enum pricer_status pricer_forward_receiver_add(
    struct pricer_forward_receiver *receiver, int32_t node,
    const unsigned char *payload, int64_t bytes, double *estimate,
    struct pricer_fault *fault);

/*
 * The error bar of a round: the mean squared error, over the noise, of the worst
 * data for those who arrived [nodes]. Its mean is above mse_worst_case, since data
 * may here oppose the arrivals. O(nodes).
 */
PRICER_API double pricer_forward_bar(const struct pricer_network *network,
                                     const struct pricer_forward_plan *plan,
                                     const bool *arrived);

/* --------------------------------------------------------------- privacy -- */

/*
 * What a number of releases of a node cost together. Everyone may see all of
 * them: link, relay, server, reader, listener or any coalition have the same
 * numbers, since copies of a release teach nobody anything new.
 *
 * Claim: for any two data of each round, of a Gaussian no further apart than the
 * diameter, later ones chosen after seeing earlier releases, the releases are
 * (eps, delta)-private. No eps below eps_lower has that at this delta, by data
 * that are 2 R or, of a Gaussian, the diameter apart in every round. Proof:
 * docs/release.md, "Several rounds" and "Neighbouring data". The two differ by
 * rounding and by the charge for all that is not quite uniform, a part of 1e-8
 * or less, and where there is a diameter by the step of the payload's grid.
 */
struct pricer_forward_privacy {
    double eps, eps_lower;
    double delta;
};

/* Releases of a node in so many rounds. Of the node only release, threshold, loss
 * and noise count. */
struct pricer_forward_releases {
    const struct pricer_forward_node *node;
    double radius;
    int64_t dimension;
    int64_t rounds;
    double
        diameter; /* of neighbouring data; 0: twice the radius. Spheres do not
                        depend on it */
};

/*
 * The least eps at a delta (0 to 1); INFINITY for a Gaussian at delta = 0.
 * PRICER_VALUE if a number is out of range. O(rounds) for each of some 60 steps
 * of a search.
 */
PRICER_API enum pricer_status pricer_forward_privacy_eps(
    const struct pricer_forward_releases *releases, double delta,
    struct pricer_forward_privacy *privacy, struct pricer_fault *fault);

/*
 * A statement for every node of a plan, at the question's delta (0: that of the
 * node's budget) over its rounds (0: one); all else of the question is ignored,
 * since everyone sees the same. Statements are exact, but for rounds that are
 * relative to the last estimate. The caller frees *statements, one a node, with
 * pricer_statements_free().
 */
PRICER_API enum pricer_status pricer_forward_privacy_account(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_question *question,
    struct pricer_statement **statements, struct pricer_fault *fault);

/* The least delta at an eps, rounded up. O(rounds). */
PRICER_API enum pricer_status pricer_forward_privacy_delta(
    const struct pricer_forward_releases *releases, double eps, double *delta,
    struct pricer_fault *fault);

/* ------------------------------------------------------------ simulation -- */

/*
 * Play a plan of forwarding as pricer_simulation_run() plays plans of sums, and
 * with the same promises: settings, links, threads, processes, stopping. The
 * simulation has one outcome. Its error bar is the mean of pricer_forward_bar(),
 * and what is predicted is exact where the plan's patterns were enumerated, else
 * NAN. The faithful engine makes every release and passes it from node to node.
 * settings->decoder must be NULL. O(links hops / 64 + nodes min(nodes, dimension))
 * a trial; with the faithful engine O(links nodes + nodes dimension).
 */
PRICER_API enum pricer_status pricer_forward_simulate(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_simulation_settings *settings,
    struct pricer_simulation **simulation, struct pricer_fault *fault);

/*
 * Play `rounds` rounds one after another, settings->trials times over (200), each
 * round relative to the estimate before if the network is, each by itself if it is
 * not. settings->given has a row for every node, or one for every node of every
 * round, round by round; the engine is ignored. Round t of walk w is round
 * w rounds + t of pricer_round_up(). The bars are those of pricer_forward_bar().
 * Every release is made, and every node is taken to have the last estimate.
 * settings->decoder must be NULL. The same for any number of threads;
 * PRICER_STOPPED if the watch asked to. Free the walk with pricer_walk_free().
 * O(links nodes + nodes dimension) a round.
 *
 * Claim: with rounds that are relative to the last estimate all releases of a node
 * are as private as pricer_forward_privacy states, towards everyone. Proof: the
 * reference is computed from earlier releases and from links, and whatever it is,
 * a node releases a vector within the radius: data of a round that depend on
 * earlier releases, docs/release.md, "Several rounds".
 */
PRICER_API enum pricer_status pricer_forward_walk(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_simulation_settings *settings, int64_t rounds,
    struct pricer_walk **walk, struct pricer_fault *fault);

/* ----------------------------------------------------------------- study -- */

/* The scheme of a study, and so of all its plans. */
PRICER_API enum pricer_status pricer_study_scheme(struct pricer_study *study,
                                                  enum pricer_scheme *scheme,
                                                  struct pricer_fault *fault);

/* Who arrived in the study's rounds of plans that forward, in the latest
 * `rounds` of them, 0: all. There may be none. */
PRICER_API enum pricer_status pricer_study_arrivals(
    struct pricer_study *study, int64_t rounds,
    struct pricer_forward_arrivals **arrivals, struct pricer_fault *fault);

/* What the scenario asked of a plan; threads and watch are 0 and NULL. */
PRICER_API enum pricer_status pricer_study_forward_settings(
    struct pricer_study *study, struct pricer_forward_settings *settings,
    struct pricer_fault *fault);

/* What is stored with a plan. */
struct pricer_forward_record {
    int64_t id; /* the number of the plan in its study; output only */
    struct pricer_forward_settings settings; /* rounds, release */
    double mse_worst_case, mse_stderr, gap;  /* as in the plan; output only */
    int64_t made;                /* when, in seconds since 1970; 0: not known */
    char name[PRICER_NAME_TEXT]; /* what it is called, or empty */
};

/* Add a plan for the scenario's network. *id (which may be NULL) is its
 * number. */
PRICER_API enum pricer_status pricer_study_add_forward_plan(
    struct pricer_study *study, const struct pricer_forward_plan *plan,
    const struct pricer_forward_record *record, int64_t *id,
    struct pricer_fault *fault);

/* All plans of a study by their numbers, without their nodes; the caller frees
 * *records with pricer_forward_records_free(). Plans of both schemes are found,
 * named and deleted by the functions of pricer_study.h. */
PRICER_API enum pricer_status pricer_study_forward_plans(
    struct pricer_study *study, struct pricer_forward_record **records,
    int32_t *count, struct pricer_fault *fault);

PRICER_API void pricer_forward_records_free(
    struct pricer_forward_record *records);

/* Read a plan by its number, or with 0 the latest; record may be NULL. */
PRICER_API enum pricer_status pricer_study_forward_plan(
    struct pricer_study *study, int64_t id, struct pricer_forward_plan **plan,
    struct pricer_forward_record *record, struct pricer_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
