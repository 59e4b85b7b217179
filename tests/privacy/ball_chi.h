/*
 * Noncentral chi-square tails in balls, and what they say about two Gaussians
 * of different variance.
 */
#ifndef PRICER_TESTS_BALL_CHI_H
#define PRICER_TESTS_BALL_CHI_H

#include "ball.h"

enum { BITS_FIRST = 256, BITS_MOST = 4096 };

/*
 * P(X <= 2x) and P(X > 2x) of a noncentral chi-square X with 2a degrees and
 * noncentrality 2l: sums over j of e^-l l^j / j! times P(a + j, x), Q(a + j,
 * x), with Q(a + 1, x) = Q(a, x) + x^a e^-x / Gamma(a + 1). What is left of
 * the Poisson weights bounds what is left of the sums.
 */
static bool tails(arb_t lower, arb_t upper, double a, const arb_t l,
                  const arb_t x, slong bits)
{
    arb_t weight, q, term, s, rest, zero;
    double middle = arf_get_d(arb_midref(l), ARF_RND_UP);
    bool able = middle < 2e4;
    arb_init(weight), arb_init(q), arb_init(term);
    arb_init(s), arb_init(rest), arb_init(zero);
    arb_zero(lower);
    arb_zero(upper);
    arb_neg(weight, l);
    arb_exp(weight, weight, bits);
    arb_set_d(s, a);
    arb_hypgeom_gamma_upper(q, s, x, 1, bits);
    arb_add_ui(term, s, 1, bits);
    arb_lgamma(term, term, bits);
    arb_log(rest, x, bits);
    arb_mul(rest, rest, s, bits);
    arb_sub(rest, rest, x, bits);
    arb_sub(term, rest, term, bits);
    arb_exp(term, term, bits);
    for (ulong j = 0; able; j++) {
        arb_addmul(upper, weight, q, bits);
        arb_sub_ui(rest, q, 1, bits);
        arb_submul(lower, weight, rest, bits);
        arb_add(q, q, term, bits);
        arb_set_d(s, a + (double)j + 1);
        arb_mul(term, term, x, bits);
        arb_div(term, term, s, bits);
        arb_mul(weight, weight, l, bits);
        arb_div_ui(weight, weight, j + 1, bits);
        /* Weights fall by half and more from 2l on. */
        if ((double)j > 2 * middle + 4 && arb_is_positive(weight) &&
            (arb_is_zero(weight) ||
             arf_cmpabs_2exp_si(arb_midref(weight), -bits) < 0))
            break;
        if (arb_is_zero(weight))
            break;
    }
    arb_mul_2exp_si(rest, weight, 1);
    arb_union(rest, rest, zero, bits);
    arb_add(lower, lower, rest, bits);
    arb_add(upper, upper, rest, bits);
    arb_clear(weight), arb_clear(q), arb_clear(term);
    arb_clear(s), arb_clear(rest), arb_clear(zero);
    return able;
}

/* What one set of others shows: |m|^2, own and others' variances. */
struct pair {
    arb_t m2, own, v0, v1;
};

/*
 * With c = m v0 / own the loss of absent against present is above eps where
 * |z + c|^2 < R2 = (d/2 ln(v1/v0) + m2 / 2 own - eps) 2 v0 v1 / own; under
 * either law |z + c|^2 / v is noncentral chi-square. The other direction has
 * -eps and the outside.
 */
static bool divergence(arb_t result, const struct pair *pair, double dimension,
                       double eps, int direction, slong bits)
{
    arb_t r, x, l, e, in[2], out[2];
    bool able = true;
    arb_init(r), arb_init(x), arb_init(l), arb_init(e);
    arb_div(r, pair->v1, pair->v0, bits);
    arb_log(r, r, bits);
    arb_set_d(x, dimension / 2);
    arb_mul(r, r, x, bits);
    arb_div(x, pair->m2, pair->own, bits);
    arb_mul_2exp_si(x, x, -1);
    arb_add(r, r, x, bits);
    arb_set_d(e, direction == 0 ? -eps : eps);
    arb_add(r, r, e, bits);
    arb_div(r, r, pair->own, bits);
    arb_set_d(e, eps);
    arb_exp(e, e, bits);
    for (int k = 0; k < 2; k++) {
        /* x = R2 / 2v, l = |m|^2 v / 2 own^2 */
        arb_init(in[k]), arb_init(out[k]);
        arb_mul(x, r, k == 0 ? pair->v1 : pair->v0, bits);
        arb_mul(l, pair->m2, k == 0 ? pair->v0 : pair->v1, bits);
        arb_div(l, l, pair->own, bits);
        arb_div(l, l, pair->own, bits);
        arb_mul_2exp_si(l, l, -1);
        if (arb_is_positive(x))
            able = able && tails(in[k], out[k], dimension / 2, l, x, bits);
        else if (arb_is_nonpositive(x))
            arb_one(out[k]);
        else
            able = false;
    }
    if (direction == 0) {
        arb_submul(in[0], e, in[1], bits);
        arb_set(result, in[0]);
    } else {
        arb_submul(out[1], e, out[0], bits);
        arb_set(result, out[1]);
    }
    for (int k = 0; k < 2; k++)
        arb_clear(in[k]), arb_clear(out[k]);
    arb_clear(r), arb_clear(x), arb_clear(l), arb_clear(e);
    return able;
}

static void set_square(arb_t x, double a, double b, slong bits)
{
    arb_t y;
    arb_init(y);
    arb_set_d(x, a);
    arb_set_d(y, b);
    arb_mul(x, x, y, bits);
    arb_mul(x, x, x, bits);
    arb_clear(y);
}

/* The worse of two directions, each to 45 bits; undecided where it cannot be
 * told. */
static void worse_direction(arb_t sum, int64_t rounds, double eps,
                            bool (*add)(arb_t sum, const void *about,
                                        int64_t rounds, double eps,
                                        int direction, slong bits),
                            const void *about)
{
    arb_t one[2];
    for (int k = 0; k < 2; k++) {
        bool able = true;
        arb_init(one[k]);
        for (slong bits = BITS_FIRST; bits <= BITS_MOST; bits *= 2) {
            able = add(one[k], about, rounds, eps, k, bits);
            if (!able || arb_rel_accuracy_bits(one[k]) > 45 ||
                arb_is_zero(one[k]))
                break;
        }
        if (!able)
            arb_unit_interval(one[k]);
    }
    arb_max(sum, one[0], one[1], BITS_MOST);
    arb_clear(one[0]);
    arb_clear(one[1]);
}

#endif
