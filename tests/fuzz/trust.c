/*
 * Fuzz the readers of small files that operators write: the trust file of a node
 * and its neighbours.
 */
#include "fuzz.h"
#include "fleet/neighbours.h"
#include "fleet/trust_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trust trust = {0};
    struct neighbours near = {0};
    struct pricer_fault fault = {""};
    const char *path = fuzz_file(".csv", data, size);
    enum pricer_status status = trust_read(path, &trust, &fault);
    fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    for (int32_t k = 1; k < trust.count; k++)
        if (trust.rows[k - 1].to >= trust.rows[k].to ||
            trust_find(&trust, trust.rows[k].to) != &trust.rows[k])
            abort();
    status = neighbours_read(path, &near, &fault);
    fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    for (int32_t k = 1; k < near.count; k++)
        if (near.rows[k - 1].node >= near.rows[k].node ||
            neighbours_find(&near, near.rows[k].node) != &near.rows[k])
            abort();
    unlink(path);
    trust_free(&trust);
    neighbours_free(&near);
    return 0;
}
