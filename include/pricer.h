/*
 * pricer: private mean estimation over networks whose links come and go.
 *
 * This is the whole public interface. It follows the order of the data,
 *
 *     network -> plan -> privacy -> round -> simulation -> study,
 *
 * and each part needs only the parts above it.
 *
 * Rules that hold everywhere:
 *   - Every function that can fail returns an enum pricer_status. Outputs come
 *     last and are untouched on failure.
 *   - Functions that take a struct pricer_fault (it may be NULL) write into it
 *     one line that says what is wrong and where; it is untouched on success.
 *   - The library never prints, exits, reads the environment or keeps a global.
 *   - Inputs are borrowed. What a function hands out in a ** is the caller's,
 * to be freed with the _free function of its type; _free(NULL) does nothing.
 *   - In settings, zero means the default.
 *   - Results never depend on the number of threads unless said so.
 */
#ifndef PRICER_H
#define PRICER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PRICER_API __attribute__((visibility("default")))
#else
#define PRICER_API
#endif

#define PRICER_VERSION "0.1.0"

/* The version of the library at run time, for comparison with the header's. */
PRICER_API const char *pricer_version(void);

/* ---------------------------------------------------------------- status -- */

enum pricer_status {
    PRICER_OK = 0,
    PRICER_MEMORY,     /* out of memory */
    PRICER_FILE,       /* a file cannot be opened, read or written */
    PRICER_FORMAT,     /* a file is not what it should be */
    PRICER_VALUE,      /* a number or name is outside its range */
    PRICER_INFEASIBLE, /* the request has no solution; the fault says why */
    PRICER_BUSY,       /* the study is locked by another program */
    PRICER_STOPPED,    /* the caller's watch asked to stop */
};

/* What a status means, in a few words; never NULL. */
PRICER_API const char *pricer_status_text(enum pricer_status status);

/* What went wrong, in one line, such as "links.csv:17: p = 1.3 is not a
 * probability". */
struct pricer_fault {
    char text[512];
};

/*
 * Called now and then by long work with the fraction done, 0 to 1. Return false
 * to stop: a solver or simulation then hands out what it has so far. It is
 * called from one thread at a time.
 */
struct pricer_watch {
    bool (*tick)(void *context, double done);
    void *context;
};

/* --------------------------------------------------------------- network -- */

/*
 * Who can reach whom, how reliably, and how much they trust each other.
 *
 * Every node holds one private vector of `dimension` numbers and length at most
 * `radius`. Node i reaches the server with probability uplink[i] in a round. A
 * link l carries from[l]'s data to the relay to[l] with probability p[l];
 * joint[l] is the probability that l and its partner, the link in the other
 * direction, are up together (0 without a partner). The data that a link
 * carries must stay (eps[l], delta[l])-private from its receiver; eps may be
 * INFINITY (full trust). self_eps and self_delta are the same for a node's own
 * part of what it sends to the server; self links are implied, always up.
 *
 * Links are ordered by (from, to): those leaving node i are out_start[i] to
 * out_start[i + 1] - 1. in_link lists the same links ordered by (to, from):
 * those arriving at node j stand at in_start[j] to in_start[j + 1] - 1. There
 * is no link with p = 0. 48 bytes a link. Read it freely; never change it.
 */
struct pricer_network {
    int64_t dimension;
    double radius;
    int32_t nodes;
    int32_t links;
    double *uplink;     /* [nodes] */
    double *self_eps;   /* [nodes] */
    double *self_delta; /* [nodes] */
    double *x, *y;      /* [nodes] positions in metres, or both NULL */
    int32_t *out_start; /* [nodes + 1] */
    int32_t *in_start;  /* [nodes + 1] */
    int32_t *from, *to; /* [links] */
    int32_t *partner;   /* [links] the link to -> from, or -1 */
    int32_t *in_link;   /* [links] */
    double *p;          /* [links] */
    double *joint;      /* [links] */
    double *eps;        /* [links] */
    double *delta;      /* [links] */
};

/* One node as it is given to pricer_network_build(). */
struct pricer_node {
    double uplink;     /* probability of reaching the server */
    double eps, delta; /* trust in the uplink */
    double x, y;       /* position, or NAN */
};

/* One link as it is given to pricer_network_build(). */
struct pricer_link {
    int32_t from, to;
    double p;
    double joint;      /* or NAN: take it from the reciprocity */
    double eps, delta; /* trust of `from` in `to` */
};

/* Which entry a fault of pricer_network_build() is about. */
struct pricer_place {
    int64_t node; /* index into nodes[], or -1 */
    int64_t link; /* index into links[], or -1 */
};

/*
 * Build a network from nodes and links in any order, checking every rule of the
 * model: probabilities in [0, 1], joint probabilities within
 * p_ij p_ji <= E <= min(p_ij, p_ji) and equal in both directions, eps > 0,
 * 0 < delta <= 1, no link twice, none from a node to itself, none to a node
 * that does not exist. Links with p = 0 are left out. A joint that is NAN
 * becomes p_ij p_ji + reciprocity (min(p_ij, p_ji) - p_ij p_ji), so that 0 is
 * independent and 1 fully reciprocal. On failure *place names the entry to
 * blame. O(nodes + links).
 */
PRICER_API enum pricer_status pricer_network_build(
    int64_t dimension, double radius, double reciprocity,
    const struct pricer_node *nodes, int64_t node_count,
    const struct pricer_link *links, int64_t link_count,
    struct pricer_network **network, struct pricer_place *place,
    struct pricer_fault *fault);

PRICER_API void pricer_network_free(struct pricer_network *network);

/* The link from -> to, or -1. O(log degree). */
PRICER_API int32_t pricer_network_find(const struct pricer_network *network,
                                       int32_t from, int32_t to);

/* How many bytes of memory the network takes. */
PRICER_API size_t pricer_network_bytes(const struct pricer_network *network);

/* ---------------------------------------------------------------- matrix -- */

enum pricer_element {
    PRICER_FLOAT32 = 0,
    PRICER_FLOAT64,
};

/* Data as vectors: row after row, each of `columns` numbers. */
struct pricer_matrix {
    int64_t rows, columns;
    enum pricer_element element;
    void *values; /* float or double [rows * columns] */
};

/* A matrix of zeros. */
PRICER_API enum pricer_status pricer_matrix_new(int64_t rows, int64_t columns,
                                                enum pricer_element element,
                                                struct pricer_matrix **matrix);

/*
 * Read a file of vectors; what it is shows in its first bytes, and each kind
 * may be compressed with gzip:
 *   - NumPy .npy, versions 1.0 to 3.0, little-endian float32 or float64 in C
 *     order. An array of one dimension is one row; of an array of three or more
 *     the first dimension counts the rows and the others make the columns.
 *   - IDX of unsigned bytes, as MNIST is distributed: a row per image, float32,
 *     byte / 255. One dimension (labels) is a column of the bytes themselves.
 *   - CIFAR-10 in binary, known by a name that ends in .bin or .bin.gz: a row
 *     of 3072 per image, float32, byte / 255; the labels are left out.
 * Every number must be finite and there must be at least one. Takes no more
 * memory than a small multiple of what the file really holds, whatever its
 * header says.
 */
PRICER_API enum pricer_status pricer_matrix_read(const char *path,
                                                 struct pricer_matrix **matrix,
                                                 struct pricer_fault *fault);

/* The labels of an IDX label file or of CIFAR-10 images, as a float32 column.
 */
PRICER_API enum pricer_status pricer_matrix_read_labels(
    const char *path, struct pricer_matrix **matrix,
    struct pricer_fault *fault);

/* One row, as double; `out` has room for `columns`. */
PRICER_API void pricer_matrix_row(const struct pricer_matrix *matrix,
                                  int64_t row, double *out);

/* Write NumPy's .npy, version 1.0. The file appears complete or not at all. */
PRICER_API enum pricer_status pricer_matrix_write_npy(
    const struct pricer_matrix *matrix, const char *path,
    struct pricer_fault *fault);

PRICER_API void pricer_matrix_free(struct pricer_matrix *matrix);

/* ------------------------------------------------------------------ plan -- */

/* How the bias of the estimate is held down; docs/mathematics.md. */
enum pricer_bias {
    PRICER_BIAS_WORST_CASE = 0, /* the true worst case over all data */
    PRICER_BIAS_UNBIASED,       /* every node's expected weight is 1 */
    PRICER_BIAS_L1,             /* the paper's: lambda sum |bias| */
    PRICER_BIAS_L2,             /* lambda sum bias^2 */
};

/* How much noise a link's (eps, delta) asks for. */
enum pricer_calibration {
    PRICER_CALIBRATION_ANALYTIC = 0, /* exact for every eps */
    PRICER_CALIBRATION_CLASSIC,      /* the paper's; a guarantee for eps <= 1 */
};

enum pricer_method {
    PRICER_METHOD_EXACT = 0, /* optimal, with a certificate */
    PRICER_METHOD_GRADIENT,  /* the paper's projected gradient descent */
};

/* Their names in scenarios, studies and on the command line; NULL for a value
 * that is none of them. */
PRICER_API const char *pricer_bias_text(enum pricer_bias bias);
PRICER_API const char *pricer_calibration_text(
    enum pricer_calibration calibration);
PRICER_API const char *pricer_method_text(enum pricer_method method);

/*
 * What is asked of the planner. Zero everywhere asks for the default: the
 * worst-case plan, analytic noise for one round, exact to 1e-8.
 */
struct pricer_settings {
    enum pricer_bias bias;
    double lambda; /* of the l1 and l2 bias terms */
    enum pricer_calibration calibration;
    enum pricer_method method;
    int64_t rounds;     /* eps and delta are spent over so many rounds; 1 */
    double tolerance;   /* certified relative gap to reach; 1e-8 */
    int32_t iterations; /* limit; a default that is never reached in health */
    int32_t threads;    /* 0: one per core */
    const struct pricer_watch *watch; /* NULL: never asks */
};

/*
 * What every node multiplies its data with, and the noise it adds, for each of
 * its links; the multipliers prove how far that is from optimal.
 *
 * weight[l] and noise[l] (a standard deviation per coordinate) belong to link l
 * of the network the plan was made for, self_weight[i] and self_noise[i] to
 * node i's own part.
 */
struct pricer_plan {
    int32_t nodes, links;
    double *weight, *noise;           /* [links] */
    double *self_weight, *self_noise; /* [nodes] */
    double *row_multiplier;           /* [nodes] v, of the expected weights */
    double *relay_multiplier;         /* [nodes] u, of the relays' sums */
    double sum_multiplier;            /* t, of the sum over all nodes */
};

/*
 * A plan with room for every weight, all zero. For plans that come from
 * elsewhere; the planner makes its own.
 */
PRICER_API enum pricer_status pricer_plan_new(
    const struct pricer_network *network, struct pricer_plan **plan);

PRICER_API void pricer_plan_free(struct pricer_plan *plan);

/* -------------------------------------------------------------- scenario -- */

/* A scenario file as read: docs in pricer-scenario(5). */
struct pricer_scenario;

/*
 * Read a scenario (YAML). Each override is "key=value" with a dotted key, such
 * as "network.p=0.5", and stands above the file; override_count may be 0. The
 * fault names file and line.
 */
PRICER_API enum pricer_status pricer_scenario_read(
    const char *path, const char *const *overrides, int override_count,
    struct pricer_scenario **scenario, struct pricer_fault *fault);

PRICER_API void pricer_scenario_free(struct pricer_scenario *scenario);

/* What the scenario asks of the planner. */
PRICER_API void pricer_scenario_settings(const struct pricer_scenario *scenario,
                                         struct pricer_settings *settings);

/*
 * Make or read the network of a scenario. Generators draw from the scenario's
 * seed and give the same network everywhere. O(nodes + links).
 */
PRICER_API enum pricer_status pricer_scenario_network(
    const struct pricer_scenario *scenario, const struct pricer_watch *watch,
    struct pricer_network **network, struct pricer_fault *fault);

/* --------------------------------------------------------------- privacy -- */

/* ----------------------------------------------------------------- round -- */

/* ------------------------------------------------------------ simulation -- */

/* --------------------------------------------------------------- k-means -- */

/*
 * The points of a data file, in single precision as K-means takes them; with
 * unit_norm each is divided by its length (a point at the origin stays there).
 */
PRICER_API enum pricer_status pricer_kmeans_points(
    const struct pricer_matrix *data, bool unit_norm,
    struct pricer_matrix **points);

/* A k-means++ start: centres has room for clusters * columns numbers. The same
 * for the same seed. O(clusters * rows * columns). */
PRICER_API enum pricer_status pricer_kmeans_start(
    const struct pricer_matrix *points, int32_t clusters, uint64_t seed,
    int32_t threads, float *centres, struct pricer_fault *fault);

/*
 * So many of Lloyd's steps: label every point with its nearest centre, move
 * every centre to the mean of its points (one without points stays). *inertia
 * is the sum of squared distances of the points to the nearest of the final
 * centres. threads is 0 for one per core; let OpenBLAS have one of its own
 * (openblas_set_num_threads(1)), as the work is divided here. O(steps * rows *
 * columns * clusters).
 */
PRICER_API enum pricer_status pricer_kmeans_lloyd(
    const struct pricer_matrix *points, int32_t clusters, int32_t steps,
    int32_t threads, float *centres, double *inertia,
    struct pricer_fault *fault);

/* ----------------------------------------------------------------- study -- */

/*
 * A study is one SQLite file that holds a network and everything learnt about
 * it; docs/study.md describes its tables. Each function that writes does so in
 * one transaction: it is done whole or not at all.
 */
struct pricer_study;
struct sqlite3;

/*
 * Make a study of a scenario and its network. The file appears under its name
 * only when it is complete; an existing one is refused unless it is to be
 * replaced. O(nodes + links).
 */
PRICER_API enum pricer_status pricer_study_create(
    const char *path, bool replace, const struct pricer_scenario *scenario,
    const struct pricer_network *network, const struct pricer_watch *watch,
    struct pricer_fault *fault);

/* Open a study, to read or to add to it. */
PRICER_API enum pricer_status pricer_study_open(const char *path, bool writable,
                                                struct pricer_study **study,
                                                struct pricer_fault *fault);

PRICER_API void pricer_study_close(struct pricer_study *study);

/* The database itself, for queries of one's own. It stays the study's. */
PRICER_API struct sqlite3 *pricer_study_handle(struct pricer_study *study);

/* What the scenario asked of the planner, and its seed (which may be NULL). */
PRICER_API enum pricer_status pricer_study_settings(
    struct pricer_study *study, struct pricer_settings *settings, int64_t *seed,
    struct pricer_fault *fault);

PRICER_API enum pricer_status pricer_study_network(
    struct pricer_study *study, struct pricer_network **network,
    struct pricer_fault *fault);

/* What is stored with a plan. Numbers that are not known are NAN. */
struct pricer_plan_record {
    int64_t id; /* the number of the plan in its study; output only */
    struct pricer_settings settings;
    bool given; /* the weights were given, not chosen */
    double tolerance, objective, bound, gap;
    int32_t iterations;
    double variance, piv, tiv, mse_paper, mse_worst_case, bias_l1;
};

/* Add a plan for the study's network; *id (which may be NULL) is its number. */
PRICER_API enum pricer_status pricer_study_add_plan(
    struct pricer_study *study, const struct pricer_plan *plan,
    const struct pricer_plan_record *record, int64_t *id,
    struct pricer_fault *fault);

/* Read a plan by its number, or with 0 the latest; record may be NULL. */
PRICER_API enum pricer_status pricer_study_plan(
    struct pricer_study *study, const struct pricer_network *network,
    int64_t id, struct pricer_plan **plan, struct pricer_plan_record *record,
    struct pricer_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
