/*
 * From shares and multipliers to a feasible plan with a proof of how good it
 * is, where nodes have budgets towards the server.
 *
 * As certificate.c, with links that cost a y^2 + b y^2 / part. For given k the
 * best part of a share is least(most, y sqrt(b / k)), so that a link costs
 *
 *     h(y) = a y^2 + 2 sqrt(b k) y             up to y0 = most sqrt(k / b),
 *            (a + b / most) y^2 + k most       beyond,
 *
 * its share answers z with the maximum of z y - h(y), and the bound is the sum
 * of these less the k of all rows. Let y' be the answer, part' its part, and
 * r = y' / part', or sqrt(k / b) where y' = 0. As y^2 / part is homogeneous,
 * its distance from its tangent at r is (y - r part)^2 / part, and a link's
 * part of the distance of a plan from the bound is
 *
 *     a (y - y')^2 + b (y - r part)^2 / part
 *   + (2 a y' + 2 b r - z) (y - y') + (k - b r^2) (part - part'),
 *
 * each term at least 0. A row adds k (1 - sum of its parts). Pairs of opposite
 * links answer together; whatever the answer that was found, the tangent there
 * bounds the objective on [0, cap], and what the slope leaves open is added.
 */
#include "server.h"

struct certify {
    const struct pri_server *server;
    struct pri_certifier *certifier;
};

/* One link: what it costs, what it is asked, and what it has. */
struct link {
    const struct pri_split *split;
    double k, z, cap;
    double share, part;
    double answer, ratio; /* y' and r */
};

/* --------------------------------------------------------------- answers -- */

/* y' for an offer z of a link; *slope is its derivative in z. */
static double respond(const struct link *link, double z, double *slope)
{
    const struct pri_split *split = link->split;
    double root = sqrt(split->noise * link->k), above = z - 2 * root;
    *slope = 0;
    if (!(above > 0) || split->plain == INFINITY)
        return 0;
    double corner = INFINITY, cost = split->plain;
    if (split->most < INFINITY)
        corner = split->noise > 0 ? split->most * sqrt(link->k / split->noise)
                                  : INFINITY;
    if (above >= 2 * cost * corner) {
        cost += split->noise / split->most;
        above = z;
    }
    corner = pri_least(link->cap, corner);
    if (above >= 2 * cost * link->cap)
        return link->cap;
    *slope = cost > 0 ? 1 / (2 * cost) : 0;
    return cost > 0 ? above / (2 * cost) : corner;
}

static void settle(struct link *link, double answer)
{
    const struct pri_split *split = link->split;
    link->answer = answer;
    link->ratio = 0;
    if (split->noise > 0)
        link->ratio =
            pri_most(sqrt(link->k / split->noise), answer / split->most);
}

/*
 * The answers of a pair. What the first still asks for at y, the second
 * answering to it, falls as y grows and is piecewise linear: Newton within a
 * bracket.
 */
static void respond_pair(struct link *a, struct link *b, double cross)
{
    double slope, slope_b, low = 0, high = respond(a, a->z, &slope);
    double y = high, other = respond(b, b->z - cross * y, &slope_b);
    for (int trial = 0; trial < 60 && cross > 0; trial++) {
        double wish = respond(a, a->z - cross * other, &slope);
        double off = wish - y;
        if (off == 0 || high - low <= 1e-16 * high)
            break;
        *(off > 0 ? &low : &high) = y;
        double steep = 1 - cross * cross * slope * slope_b;
        double next = steep > 1e-3 ? y + off / steep : NAN;
        y = next > low && next < high ? next : (low + high) / 2;
        other = respond(b, b->z - cross * y, &slope_b);
    }
    settle(a, y);
    settle(b, other);
}

/* ------------------------------------------------------------ link terms -- */

/* What a slope at the answer leaves open on [0, cap]. */
static double open_end(const struct link *link, double slope)
{
    double down = slope * link->answer;
    double up = -slope * (link->cap - link->answer);
    return pri_most(0, pri_most(down, up));
}

/* The link's own terms; cross times the other's answer is in the slope. */
static void add_link(const struct link *link, double other,
                     struct pri_sweep_sums *tally)
{
    const struct pri_split *split = link->split;
    double y = link->share, off = y - link->answer, part = link->part;
    if (split->plain == INFINITY)
        return;
    double slope = 2 * split->plain * link->answer +
                   2 * split->noise * link->ratio + other - link->z;
    double value = split->plain * y * y;
    double distance = split->plain * off * off + slope * off;
    if (split->noise > 0) {
        double tight = link->k - split->noise * link->ratio * link->ratio;
        double lean = y - link->ratio * part;
        if (tight < 0 && split->most < INFINITY)
            distance += tight * (part - split->most);
        if (y > 0) {
            value += split->noise * y * (y / part);
            distance += split->noise * lean * (lean / part);
        }
    }
    tally->sum[0] += value;
    tally->sum[1] += distance + open_end(link, slope);
}

static void add_pair(struct link *a, struct link *b, double cross,
                     struct pri_sweep_sums *tally)
{
    respond_pair(a, b, cross);
    add_link(a, cross * b->answer, tally);
    add_link(b, cross * a->answer, tally);
    tally->sum[0] += cross * a->share * b->share;
    tally->sum[1] += cross * (a->share - a->answer) * (b->share - b->answer);
}

/* ------------------------------------------------------------- the passes --
 */

/* What a link costs at the rate of its row, in units of its square. */
static double cost_at(const struct pri_split *split, double share, double rate)
{
    if (!(share > 0))
        return 0;
    double part = pri_server_part(split, share, rate);
    double noise = split->noise > 0 ? split->noise / part : 0;
    return (split->plain + noise) * share * share;
}

/* Leave small shares out, unless nothing were left where something must be. */
static void choose_shares(const struct pri_server *server, int32_t i)
{
    const struct pri_problem *problem = server->problem;
    server->whole[i] = server->all_whole;
    double row = pri_server_own(server, i);
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
        row += pri_server_out(server, i, l);
    if (!(row > 0) && problem->bias == PRICER_BIAS_UNBIASED)
        server->whole[i] = true;
}

static void scale_rows(void *context, int32_t low, int32_t high,
                       struct pri_sweep_sums *tally)
{
    struct certify *certify = context;
    const struct pri_server *server = certify->server;
    struct pri_certifier *certifier = certify->certifier;
    const struct pri_problem *problem = server->problem;
    double widest = pri_row_cap(certifier), best = certifier->best;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        double *dual = &certifier->point->dual[2 * (int64_t)i];
        choose_shares(server, i);
        double row = pri_server_own(server, i), scale = 1;
        double rate = pri_server_rate(server, i);
        double cost = cost_at(&server->self[i], row, rate);
        if (row > 0)
            cost += problem->crowd[i] * row * row;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            double share = pri_server_out(server, i, l);
            row += share;
            cost += cost_at(&server->arc[l], share, rate);
            if (share > 0)
                cost += problem->crowd[problem->to[l]] * share * share;
        }
        pri_clip(problem, i, certifier->point->sum, dual);
        if (row > 0)
            scale = pri_row_scale(problem, i, dual[0], row, cost);
        else if (problem->bias == PRICER_BIAS_UNBIASED)
            scale = NAN;
        certifier->scale[i] = scale;
        certifier->rate[i] = rate;
        certifier->cap[i] = pri_least(widest, sqrt(best / problem->crowd[i]));
    }
}

static struct link link_at(const struct certify *certify, int32_t i, int32_t l)
{
    const struct pri_server *server = certify->server;
    const struct pri_problem *problem = server->problem;
    const struct pri_certifier *certifier = certify->certifier;
    const double *dual = certifier->point->dual;
    int32_t to = l < 0 ? i : problem->to[l];
    const struct pri_split *split = l < 0 ? &server->self[i] : &server->arc[l];
    double share =
        l < 0 ? pri_server_own(server, i) : pri_server_out(server, i, l);
    return (struct link){
        .split = split,
        .k = server->bound[i] ? server->multiplier[i] : 0,
        .z = dual[2 * (int64_t)i] - dual[2 * (int64_t)to + 1],
        .cap = certifier->cap[to],
        .share = certifier->scale[i] * share,
        .part = pri_server_part(split, share, certifier->rate[i]),
    };
}

/* The terms of node i's links. Returns what relay i carries for others. */
static double add_links(const struct certify *certify, int32_t i, double *row,
                        struct pri_sweep_sums *tally)
{
    const struct pri_server *server = certify->server;
    const struct pri_problem *problem = server->problem;
    const double *scale = certify->certifier->scale;
    const struct link none = {.split = &(struct pri_split){.plain = INFINITY}};
    struct link own = link_at(certify, i, -1), spare = none;
    double load = 0, parts = own.part;
    add_pair(&own, &spare, 0, tally);
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
        int32_t to = problem->to[l], partner = problem->partner[l];
        double share = pri_server_out(server, i, l);
        *row += share;
        load += scale[to] * pri_server_out(server, to, partner);
        parts += pri_server_part(&server->arc[l], share,
                                 certify->certifier->rate[i]);
        if (to < i)
            continue;
        struct link out = link_at(certify, i, l);
        struct link in = link_at(certify, to, partner);
        add_pair(&out, &in, problem->arc[l].cross, tally);
    }
    if (server->bound[i])
        tally->sum[1] += server->multiplier[i] * (1 - parts);
    return load;
}

static void add_terms(void *context, int32_t low, int32_t high,
                      struct pri_sweep_sums *tally)
{
    struct certify *certify = context;
    const struct pri_problem *problem = certify->server->problem;
    const struct pri_certifier *certifier = certify->certifier;
    for (int32_t i = low; i < high; i++) {
        const double *dual = &certifier->point->dual[2 * (int64_t)i];
        double scale = certifier->scale[i], crowd = problem->crowd[i];
        double row = pri_server_own(certify->server, i), load = scale * row;
        load += add_links(certify, i, &row, tally);
        if (crowd > 0 && crowd < INFINITY) {
            double off = load - (dual[1] - certifier->point->sum) / (2 * crowd);
            tally->sum[0] += crowd * load * load;
            tally->sum[1] += crowd * off * off;
        }
        double bias = scale == 1 ? row - problem->wanted[i] : 0;
        if (problem->bias == PRICER_BIAS_L2)
            bias = scale * row - problem->wanted[i];
        pri_add_bias(problem, dual[0], bias, tally);
    }
}

void pri_server_certify(const struct pri_server *server,
                        struct pri_certifier *certifier,
                        struct pri_point *point, struct pri_proof *proof)
{
    const struct pri_problem *problem = server->problem;
    struct certify certify = {server, certifier};
    struct pri_sweep_sums total;
    certifier->point = point;
    if (!problem->summed)
        point->sum = 0;
    pri_sweep(problem, scale_rows, &certify, NULL);
    pri_sweep(problem, add_terms, &certify, &total);
    pri_conclude(certifier, &total, proof);
}
