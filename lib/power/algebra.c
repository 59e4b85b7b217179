/*
 * The dense algebra that power iteration needs: orthonormal vectors, symmetric
 * eigenproblems and products, by LAPACK and BLAS.
 */
#include "power.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

void dgeqrf_(const int *rows, const int *columns, double *matrix,
             const int *stride, double *factors, double *work,
             const int *length, int *info);
void dorgqr_(const int *rows, const int *columns, const int *reflectors,
             double *matrix, const int *stride, const double *factors,
             double *work, const int *length, int *info);
void dsyevd_(const char *job, const char *triangle, const int *size,
             double *matrix, const int *stride, double *values, double *work,
             const int *length, int *whole, const int *whole_length, int *info);

enum pricer_status pri_orthonormal(int32_t count, int64_t columns,
                                   double *vectors, double *scale)
{
    const int rows = (int)columns, k = count, length = 64 * count;
    int info = 0;
    double *factors = pri_alloc(count, sizeof *factors);
    double *work = pri_alloc(length, sizeof *work);
    enum pricer_status status =
        factors == NULL || work == NULL ? PRICER_MEMORY : PRICER_OK;
    if (status == PRICER_OK) {
        dgeqrf_(&rows, &k, vectors, &rows, factors, work, &length, &info);
        for (int32_t j = 0; j < count && scale != NULL; j++)
            scale[j] = fabs(vectors[j * columns + j]);
        dorgqr_(&rows, &k, &k, vectors, &rows, factors, work, &length, &info);
    }
    free(factors);
    free(work);
    return status;
}

enum pricer_status pri_eigen(int64_t size, double *matrix, double *values)
{
    const int n = (int)size;
    int info = 0, ask = -1, whole_need = 0;
    double need = 0;
    dsyevd_("V", "L", &n, matrix, &n, values, &need, &ask, &whole_need, &ask,
            &info);
    int length = (int)need, whole_length = whole_need;
    double *work = pri_alloc(length, sizeof *work);
    int *whole = pri_alloc(whole_length, sizeof *whole);
    enum pricer_status status =
        work == NULL || whole == NULL ? PRICER_MEMORY : PRICER_OK;
    if (status == PRICER_OK)
        dsyevd_("V", "L", &n, matrix, &n, values, work, &length, whole,
                &whole_length, &info);
    free(work);
    free(whole);
    return status;
}

void pri_products(int32_t count, int64_t columns, const double *left,
                  const double *right, double *products)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, count,
                (int)columns, 1, left, (int)columns, right, (int)columns, 0,
                products, count);
}
