/*
 * From bounds of a privacy curve at some points to polygons over and under it.
 *
 * The curve c(x) = delta(ln x) is convex. Above it lies the polygon through
 * upper bounds at the points ('connect the dots', Doroshenko et al. 2022), or
 * rather their convex hull. Under it lie, from each point with its lower bound,
 * a ray to the right that falls as fast as c may fall there, and one to the
 * left that rises as slowly as c may: a convex curve stays above its tangent.
 * Where the ray from one point meets that of the next are the corners, and
 * again their hull is taken. Both err by the second order of the steps.
 *
 * With rise = -d c / d ln x and x relative to that of the point, a ray is
 * low - rise (x - 1).
 */
#include "account.h"

#include <math.h>
#include <string.h>

/* By so much a mass of 1 may be exceeded above: it only costs more. Below, room
 * for the rounding of slopes. */
#define MORE 2e-10
#define CORNER_ROOM 1e-13

/* The slope between two corners times x at the first of them. */
static double slope_at(const struct pri_polygon *polygon, int32_t here,
                       int32_t there)
{
    double apart = polygon->loss[there] - polygon->loss[here];
    return (polygon->height[there] - polygon->height[here]) / expm1(apart);
}

/* Leave only the corners of the lower convex hull. */
static void take_hull(struct pri_polygon *polygon)
{
    int32_t count = 0;
    for (int32_t k = 0; k < polygon->count; k++) {
        polygon->loss[count] = polygon->loss[k];
        polygon->height[count] = polygon->height[k];
        while (count > 1 && slope_at(polygon, count - 1, count - 2) >=
                                slope_at(polygon, count - 1, count)) {
            polygon->loss[count - 1] = polygon->loss[count];
            polygon->height[count - 1] = polygon->height[count];
            count--;
        }
        count++;
    }
    polygon->count = count;
}

static void add_corner(struct pri_polygon *polygon, double loss, double height)
{
    polygon->loss[polygon->count] = loss;
    polygon->height[polygon->count++] = height;
}

static void outline_above(const struct pri_curves *curves, int direction,
                          struct pri_polygon *polygon)
{
    polygon->count = 0;
    for (int32_t k = 0; k <= curves->last; k++)
        add_corner(polygon, curves->loss[k],
                   curves->direction[direction][k].high);
}

/* The height of the ray to the left of a point, at a loss before it. */
static double ray_left(const struct pri_curves *curves, int direction,
                       int32_t k, double loss)
{
    const struct pri_reach *point = &curves->direction[direction][k];
    return point->low - point->rise_low * expm1(loss - curves->loss[k]);
}

/* The points whose rays meet: none lies under the ray of a neighbour. */
static int32_t pick_points(const struct pri_curves *curves, int direction,
                           int32_t *kept)
{
    const struct pri_reach *point = curves->direction[direction];
    const double *loss = curves->loss;
    int32_t count = 0;
    for (int32_t k = 0; k <= curves->last; k++) {
        if (!(point[k].low > 0))
            continue;
        while (count > 0 &&
               point[kept[count - 1]].low <=
                   ray_left(curves, direction, k, loss[kept[count - 1]]))
            count--;
        int32_t before = count > 0 ? kept[count - 1] : 0;
        double ray = count > 0
                         ? point[before].low - point[before].rise_high *
                                                   expm1(loss[k] - loss[before])
                         : 0;
        if (count == 0 || ray < point[k].low)
            kept[count++] = k;
    }
    return count;
}

/* Where the ray to the right of one point meets that to the left of the next,
 * or on the latter before that. */
static void add_meeting(const struct pri_curves *curves, int direction,
                        int32_t here, int32_t next, struct pri_polygon *polygon)
{
    const struct pri_reach *point = &curves->direction[direction][here];
    double apart = curves->loss[next] - curves->loss[here];
    double steep = point->rise_high -
                   curves->direction[direction][next].rise_low * exp(-apart);
    double top =
        point->low - ray_left(curves, direction, next, curves->loss[here]);
    double along = fmin(log1p(fmin(top / steep, 1e300)), apart);
    double height =
        fmin(point->low - point->rise_high * expm1(along),
             ray_left(curves, direction, next, curves->loss[here] + along));
    add_corner(polygon, curves->loss[here] + along, fmax(height, 0));
}

/* Where the last ray ends. */
static void add_end(const struct pri_curves *curves, int direction,
                    int32_t last, struct pri_polygon *polygon)
{
    const struct pri_reach *point = &curves->direction[direction][last];
    double along = log1p(fmin(point->low / point->rise_high, 1e300));
    add_corner(polygon, curves->loss[last] + along, 0);
}

static void outline_below(const struct pri_curves *curves, int direction,
                          struct pri_polygon *polygon)
{
    int32_t kept[PRI_POINTS + 1];
    int32_t count = pick_points(curves, direction, kept);
    polygon->count = 0;
    add_corner(polygon, 0,
               count > 0 ? ray_left(curves, direction, kept[0], 0) : 0);
    for (int32_t k = 0; k + 1 < count; k++)
        add_meeting(curves, direction, kept[k], kept[k + 1], polygon);
    if (count > 0)
        add_end(curves, direction, kept[count - 1], polygon);
}

/* What the polygons leave of a mass of 1 for no loss at all. */
static double left_over(const struct pri_curves *curves, enum pri_side side,
                        const struct pri_polygon polygon[2])
{
    double left = 1 - curves->infinite[side] - polygon[0].height[0];
    left += side == PRI_ABOVE ? MORE : -CORNER_ROOM;
    for (int direction = 0; direction < 2; direction++)
        if (polygon[direction].count > 1)
            left += slope_at(&polygon[direction], 0, 1);
    return left;
}

/* Leave out the first corner after 0 of the polygon that is steeper there,
 * which raises it. False if there is none. */
static bool drop_corner(struct pri_polygon polygon[2])
{
    double slope[2] = {0, 0};
    for (int direction = 0; direction < 2; direction++)
        if (polygon[direction].count > 2)
            slope[direction] = slope_at(&polygon[direction], 0, 1);
    struct pri_polygon *steep = &polygon[slope[1] < slope[0]];
    if (steep->count < 3)
        return false;
    steep->count--;
    size_t size = (size_t)(steep->count - 1) * sizeof(double);
    memmove(steep->loss + 1, steep->loss + 2, size);
    memmove(steep->height + 1, steep->height + 2, size);
    return true;
}

/* Begin at `start`, and below never rise. */
static void begin_at(double start, enum pri_side side,
                     struct pri_polygon *polygon)
{
    double *height = polygon->height;
    height[0] = start;
    for (int32_t k = 1; k < polygon->count && side == PRI_BELOW; k++)
        height[k] = fmin(height[k], height[k - 1]);
}

/*
 * They must leave room for the mass that has no loss; the true curves do. Where
 * their bounds do not, they are moved further to their side.
 */
void pri_polygons(const struct pri_curves *curves, enum pri_side side,
                  struct pri_polygon polygon[2])
{
    bool above = side == PRI_ABOVE;
    for (int direction = 0; direction < 2; direction++)
        (above ? outline_above : outline_below)(curves, direction,
                                                &polygon[direction]);
    double first = polygon[0].height[0], second = polygon[1].height[0];
    double start = above ? fmax(first, second) : fmin(first, second);
    for (int try = 0; try < 40; try++) {
        for (int direction = 0; direction < 2; direction++) {
            begin_at(start, side, &polygon[direction]);
            take_hull(&polygon[direction]);
        }
        while (above && left_over(curves, side, polygon) < 0 &&
               drop_corner(polygon))
            ;
        if (above || left_over(curves, side, polygon) >= 0)
            break;
        start *= 1 - 1e-5 * pow(1.5, try);
    }
}

double pri_corner_mass(const struct pri_polygon *polygon, int32_t k)
{
    double before = slope_at(polygon, k, k - 1);
    double after = k + 1 == polygon->count ? 0 : slope_at(polygon, k, k + 1);
    return fmax(after - before, 0);
}
