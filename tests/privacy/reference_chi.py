#!/usr/bin/env python3
"""Print tests/privacy/reference_chi.h: tails of noncentral chi-square laws in 60-digit
arithmetic (python3-mpmath). Run by hand when the cases change, and through
clang-format; the tests only read the result.
"""
from mpmath import exp, gammainc, log, loggamma, mp, mpf, nstr

mp.dps = 60


def tails(d, lam, x):
    a, m, h = mpf(d) / 2, mpf(lam) / 2, mpf(x) / 2
    low = high = mpf(0)
    k = 0
    while True:
        w = exp(k * log(m) - m - loggamma(k + 1))
        low += w * gammainc(a + k, 0, h, regularized=True)
        high += w * gammainc(a + k, h, mp.inf, regularized=True)
        if k > m + 60 and w < mpf(10) ** -400:
            return low, high
        k += 1


print("/* Made by tests/privacy/reference_chi.py; do not edit. */")
print("/* degrees, lambda, x, ln P(X <= x), ln P(X > x) */")
print("static const long double reference_chi[][5] = {")
for d in [1, 2, 7, 128, 1001]:
    for lam in [0.001, 0.5, 20.0, 900.0]:
        mean = d + lam
        for f in [0.3, 0.8, 1.0, 1.1, 1.5]:
            low, high = tails(d, lam, mean * f)
            print("{%d, %sL, %sL, %sL, %sL}," % (
                d, float(lam).hex(), float(mean * f).hex(),
                nstr(log(low), 22), nstr(log(high), 22)))
print("};")
