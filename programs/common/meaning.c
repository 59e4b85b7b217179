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

double meaning_centre(const struct pricer_network *network)
{
    double sum = 0, off = 0;
    for (int32_t i = 0; i < network->nodes; i++) {
        sum += network->node_radius[i];
        off = fmax(off, network->radius - network->node_radius[i]);
    }
    double mean = off > 0 ? sum / network->nodes : network->radius;
    return mean * mean;
}
