#!/usr/bin/env python3
"""Print tests/calibrate/reference_gaussian.h: the privacy curve of the Gaussian mechanism
and its inverse, in 60-digit arithmetic (python3-mpmath).

Run by hand when the grid changes; the tests only read the result.
"""
import sys
from mpmath import erfc, exp, log, mp, mpf, nstr, sqrt

mp.dps = 80


def upper(x):
    return erfc(x / sqrt(2)) / 2


def delta(eps, mu):
    # Enough digits that the difference of the two terms keeps 40 of them.
    digits = 60 + 2 * max(0, -int(mp.log10(mu)))
    digits += int(abs(mp.log10(eps + 1))) + 20
    with mp.workdps(digits):
        a, b = eps / mu - mu / 2, eps / mu + mu / 2
        return upper(a) - exp(eps) * upper(b), upper(-a) + exp(eps) * upper(b)


def solve(eps, target):
    low, high = min(eps, 1) / 100, 20 + 2 * sqrt(2 * eps)
    rest = target > mpf(1) / 2
    goal = 1 - target if rest else target
    low, high = log(low), log(high)
    for _ in range(220):
        middle = (low + high) / 2
        value = delta(eps, exp(middle))
        over = value[1] < goal if rest else value[0] > goal
        if over:
            high = middle
        else:
            low = middle
    return exp(low)


print("/* Made by tests/calibrate/reference_gaussian.py; do not edit. */")
print("/* eps, mu, ln delta, ln(1 - delta) */")
print("static const long double reference_curve[][4] = {")
for eps in [0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 3.0, 10.0, 50.0, 1000.0, 1e6]:
    for mu in [1e-9, 1e-4, 0.01, 0.3, 0.49, 0.51, 1.0, 2.9, 8.0, 44.0, 1414.0,
               3e4]:
        d, r = delta(mpf(eps), mpf(mu))
        print("    {%sL, %sL, %sL, %sL}," % (eps.hex(), mu.hex(),
              nstr(log(d), 24), nstr(log(r), 24)))
print("};")
print("/* eps, delta, mu */")
print("static const long double reference_mu[][3] = {")
for eps in [1e-6, 1e-3, 0.01, 0.1, 1.0, 7.0, 10.0, 100.0, 1e3, 1e6]:
    for d in [1e-300, 1e-100, 6.486452831e-47, 1e-10, 1e-5, 1e-3, 0.1, 0.5,
              0.500001, 0.9, 0.999999, 1 - 2.0 ** -52]:
        print("    {%sL, %sL, %sL}," % (eps.hex(), d.hex(),
              nstr(solve(mpf(eps), mpf(d)), 24)))
        sys.stdout.flush()
print("};")
