/*
 * From numbers to words: an eps, and an error as a share of the error of
 * always answering zero.
 */
#include "meaning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *meaning_page(void)
{
    static const char in_source[] = "docs/meaning.md";
    static const char beside[] = "/share/doc/pricer/docs/meaning.md";
    static char path[1024];
    ssize_t length =
        readlink("/proc/self/exe", path, sizeof path - sizeof beside);
    if (length < 0)
        return in_source;
    path[length] = '\0';
    for (int up = 0; up < 2; up++) { /* from prefix/bin/pricer to prefix */
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return in_source;
        *slash = '\0';
    }
    strcat(path, beside);
    return access(path, R_OK) == 0 ? path : in_source;
}

const char *meaning_eps(double eps)
{
    if (eps <= 1)
        return "strong";
    if (eps <= 3)
        return "moderate";
    if (eps <= MEANING_WEAK)
        return "weak";
    return "practically none";
}

double meaning_bet(double eps, double delta)
{
    return fmin(1, (1 + delta * exp(-eps)) / (1 + exp(-eps)));
}

struct meaning_text meaning_share(double share)
{
    struct meaning_text found;
    bool large = share >= 10 && share < 1e6; /* without an exponent */
    snprintf(found.text, sizeof found.text, large ? "%.0f %%" : "%.3g %%",
             100 * share);
    return found;
}

const char *meaning_verdict(double share)
{
    if (!(share < 1))
        return "worse";
    return share >= MEANING_HARDLY     ? "hardly better"
           : share >= MEANING_SOMEWHAT ? "only somewhat better"
                                       : "better";
}

const char *meaning_zero(const struct pricer_network *network)
{
    return network->reach > 0 ? "always keeping the last estimate"
                              : "always answering zero";
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

const char *meaning_near(const struct pricer_network *network,
                         char text[MEANING_NEAR_ROOM])
{
    double least = INFINITY, most = 0;
    bool near = false;
    for (int32_t i = 0; i < network->nodes; i++) {
        double diameter = network->node_diameter[i];
        near = near || diameter < 2 * network->node_radius[i];
        least = fmin(least, diameter);
        most = fmax(most, diameter);
    }
    text[0] = '\0';
    if (near && least < most)
        snprintf(text, MEANING_NEAR_ROOM,
                 "This is about data of a node no further apart than its "
                 "diameter, %g to %g.",
                 least, most);
    else if (near)
        snprintf(text, MEANING_NEAR_ROOM,
                 "This is about data of a node no further apart than %g, its "
                 "diameter.",
                 most);
    return text;
}

void meaning_guarantees(struct pricer_network *network,
                        const struct pricer_forward_plan *plan)
{
    for (int32_t i = 0; i < network->nodes; i++)
        if (plan->node[i].release == PRICER_RELEASE_SPHERE)
            network->node_diameter[i] = 2 * network->node_radius[i];
}

enum pricer_status meaning_refuse_near(const struct pricer_network *network,
                                       const struct pricer_forward_plan *plan,
                                       struct pricer_fault *fault)
{
    for (int32_t i = 0; i < network->nodes; i++) {
        double diameter = network->node_diameter[i];
        if (plan->node[i].release != PRICER_RELEASE_GAUSSIAN ||
            diameter >= 2 * network->node_radius[i])
            continue;
        snprintf(fault->text, sizeof fault->text,
                 "the Gaussian release of node %d is for data no further apart "
                 "than %g, its diameter, and a fleet has no diameters with "
                 "'scheme: forward': leave diameter out, or ask for 'release: "
                 "sphere'",
                 (int)i, diameter);
        return PRICER_VALUE;
    }
    return PRICER_OK;
}

const char *meaning_reference(const struct pricer_network *network,
                              double error, char text[MEANING_REFERENCE_ROOM])
{
    double step = network->radius, reach = network->reach;
    text[0] = '\0';
    if (reach > 0)
        snprintf(
            text, MEANING_REFERENCE_ROOM,
            "Rounds are relative to the last estimate: what is shared is "
            "how far data are from it,\nup to the step, %g, which R stands "
            "for here; the data's own radius is %g. An error of\n%.4g is "
            "%.3g %% of the step squared and %.3g %% of that radius "
            "squared, while no node\nis further than the step from the "
            "estimate.",
            step, reach, error, 100 * error / step / step,
            100 * error / reach / reach);
    return text;
}
