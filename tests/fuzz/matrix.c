/*
 * Fuzz the readers of matrices, rows and labels, by the ending of a file: SUFFIX.
 */
#include "fuzz.h"
#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pricer_matrix *matrix = NULL, *labels = NULL;
    struct pricer_fault fault = {""};
    const char *path = fuzz_file(SUFFIX, data, size);
    enum pricer_status status = pricer_matrix_read(path, &matrix, &fault);
    fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    status = pri_matrix_read_labels(path, &labels, &fault);
    fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    unlink(path);
    if (matrix != NULL) {
        double *row = malloc((size_t)matrix->columns * sizeof *row);
        if (row != NULL)
            pricer_matrix_row(matrix, matrix->rows - 1, row);
        free(row);
    }
    pricer_matrix_free(matrix);
    pricer_matrix_free(labels);
    return 0;
}
