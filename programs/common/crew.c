/*
 * Who runs the verb of this process: a program has one crew, as it has one
 * standard output.
 */
#include "crew.h"

static const struct pricer_crew *crew;
static int32_t threads_each;

void program_set_crew(const struct pricer_crew *now, int32_t threads)
{
    crew = now;
    threads_each = threads;
}

const struct pricer_crew *program_crew(void)
{
    return crew;
}

bool program_writes(void)
{
    return crew == NULL || crew->rank == 0;
}

void program_call(int64_t number)
{
    if (crew != NULL)
        crew->spread(crew->context, 0, &number, sizeof number);
}

int64_t program_called(void)
{
    int64_t number = -1;
    if (crew != NULL)
        crew->spread(crew->context, 0, &number, sizeof number);
    return number;
}

int32_t program_threads(int64_t asked)
{
    if (asked > 0)
        return asked > 1024 ? 1024 : (int32_t)asked;
    return threads_each;
}
