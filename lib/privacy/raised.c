/*
 * The privacy curve as a function of x = mu^2, raised where it grows too fast:
 * decouple.h.
 */
#include "decouple.h"

#include <math.h>

double pri_growth_at(double eps, double x)
{
    double ratio = eps / x;
    return fmax(ratio * ratio / 2 - 0.125, 1 / x);
}

double pri_raised_by(double eps, double growth)
{
    if (!(growth < INFINITY))
        return 0;
    if (!(eps > 0))
        return INFINITY;
    struct pri_gaussian g;
    double from =
        eps * eps / (.5 + sqrt(.25 + 2 * eps * eps * (growth + .125)));
    double mu = sqrt(from);
    pri_gaussian_at(eps, mu, &g);
    double density = (double)expl(g.log_density);
    double delta = (double)expl(g.log_delta);
    double size = density / (2 * mu) / growth * (1 + 1e-9);
    return fmax(size * -expm1(-growth * from) - delta * (1 - 1e-9), 0) *
           (1 + 1e-9);
}
