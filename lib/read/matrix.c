/*
 * A matrix in memory: vectors, row after row.
 */
#include "base/base.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum pricer_status pricer_matrix_new(int64_t rows, int64_t columns,
                                     enum pricer_element element,
                                     struct pricer_matrix **matrix,
                                     struct pricer_fault *fault)
{
    int64_t count = 0;
    if (rows < 0 || columns < 0 ||
        __builtin_mul_overflow(rows, columns, &count))
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    struct pricer_matrix *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    *made = (struct pricer_matrix){rows, columns, element, NULL};
    made->values = pri_alloc(count, element == PRICER_FLOAT32 ? 4 : 8);
    if (made->values == NULL) {
        free(made);
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    }
    *matrix = made;
    return PRICER_OK;
}

void pricer_matrix_free(struct pricer_matrix *matrix)
{
    if (matrix == NULL)
        return;
    free(matrix->values);
    free(matrix);
}

void pricer_matrix_row(const struct pricer_matrix *matrix, int64_t row,
                       double *out)
{
    assert(row >= 0 && row < matrix->rows);
    int64_t columns = matrix->columns;
    if (matrix->element == PRICER_FLOAT64) {
        memcpy(out, (const double *)matrix->values + row * columns,
               (size_t)columns * sizeof *out);
        return;
    }
    const float *from = (const float *)matrix->values + row * columns;
    for (int64_t k = 0; k < columns; k++)
        out[k] = from[k];
}
