/*
 * What the files of power iteration share: the nodes' rows, and a few steps of
 * dense algebra. Vectors stand row after row, so that LAPACK, which counts by
 * columns, sees them as the columns of its matrix.
 */
#ifndef PRICER_POWER_H
#define PRICER_POWER_H

#include "base/base.h"
#include "forward/forward.h"
#include "kmeans/kmeans.h"
#include "pricer_power.h"

/* What the stream of the first vectors is for, in place of a receiver. */
enum { PRI_POWER_START = -111 };

/* Rows dealt to nodes. */
struct pri_power {
    struct pricer_power_settings settings; /* defaults filled in */
    int32_t nodes, components;
    struct pri_team *team;
    int64_t rows, columns;
    int64_t length; /* of a message: components (columns + components) */
    double radius;
    float *dealt; /* [rows * columns] node after node */
};

enum pricer_status pri_power_open(const struct pricer_matrix *rows,
                                  const struct pricer_network *network,
                                  const struct pricer_power_settings *settings,
                                  struct pri_power *power,
                                  struct pricer_fault *fault);
void pri_power_close(struct pri_power *power);

/* A node's A_i V / R^2. PRICER_MEMORY or PRICER_OK. */
enum pricer_status pri_power_product(const struct pri_power *power,
                                     int32_t node, const double *vectors,
                                     double *product);

/* From A_i V / R^2, which is overwritten, to a message; and from a sum of
 * messages back to what of A V / R^2 is in it. */
void pri_power_encode(const struct pri_power *power, const double *vectors,
                      double *product, double *message);
void pri_power_decode(const struct pri_power *power, const double *vectors,
                      const double *sum, double *product);

/* Add a node's A_i to a matrix of which only one triangle is kept. */
enum pricer_status pri_power_moment(const struct pri_power *power, int32_t node,
                                    double factor, double *matrix);

/* Public directions to begin with, orthonormal. */
enum pricer_status pri_power_start(const struct pri_power *power,
                                   double *vectors);

/* How much the round that was drawn last counts. */
double pri_power_gain(const struct pri_means *means);

/* --------------------------------------------------------------- algebra -- */

/* Make vectors orthonormal (QR); scale[k], which may be NULL, is what is left
 * of the length of each. */
enum pricer_status pri_orthonormal(int32_t count, int64_t columns,
                                   double *vectors, double *scale);

/* Eigenvalues, ascending, of a symmetric matrix, which is overwritten by the
 * eigenvectors in their order. */
enum pricer_status pri_eigen(int64_t size, double *matrix, double *values);

/* products[a * count + b] = <left_a, right_b>. */
void pri_products(int32_t count, int64_t columns, const double *left,
                  const double *right, double *products);

#endif
