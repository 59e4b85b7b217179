/*
 * cmocka with the headers it wants, and the few helpers every test shares.
 */
#ifndef PRICER_TEST_H
#define PRICER_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Fail unless two numbers agree to a relative error (or both are tiny). */
#define assert_close(actual, expected, relative)                               \
    do {                                                                       \
        double a_ = (actual), e_ = (expected);                                 \
        double most_ = (relative)*fmax(fabs(e_), 1e-300);                      \
        if (!(fabs(a_ - e_) <= most_) && a_ != e_)                             \
            fail_msg("%s = %.17g, expected %.17g", #actual, a_, e_);           \
    } while (0)

/* A small repeatable generator, so that a failing case can be run again. */
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [0, 1). */
static inline double test_uniform(uint64_t *state)
{
    return (double)(test_random(state) >> 11) * 0x1p-53;
}

#endif
