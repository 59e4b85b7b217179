/*
 * From numbers to words: an eps, and an error as a share of the error that the
 * centre of the ball has as an answer.
 */
#include "meaning.h"

#include <math.h>

const char *meaning_eps(double eps)
{
    if (eps <= 1)
        return "strong";
    if (eps <= 3)
        return "moderate";
    if (eps <= 10)
        return "weak";
    return "practically none";
}

double meaning_bet(double eps, double delta)
{
    return fmin(1, (1 + delta * exp(-eps)) / (1 + exp(-eps)));
}

const char *meaning_verdict(double share)
{
    if (!(share < 1))
        return "worse";
    return share >= MEANING_HARDLY ? "hardly better" : "better";
}
