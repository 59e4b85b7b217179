/*
 * Fuzz the reader of lists of measured links. The server is id 0, which the
 * corpus has.
 */
#include "fuzz.h"
#include "pricer_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pricer_survey *survey = NULL;
    struct pricer_fault fault = {""};
    const char *path = fuzz_file(".txt", data, size);
    enum pricer_status status =
        pricer_survey_read(path, "0", .01, &survey, &fault);
    unlink(path);
    fuzz_check_fault((int)status, fault.text, sizeof fault.text);
    for (int32_t l = 0; survey != NULL && l < survey->links; l++)
        if (survey->from[l] >= survey->nodes || survey->to[l] >= survey->nodes)
            abort();
    pricer_survey_free(survey);
    return 0;
}
