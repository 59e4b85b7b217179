#!/usr/bin/env python3
"""Simulated rounds with the minimax decoder, ten nodes: ours against NumPy.

    /usr/bin/python3 bench/decoder.py build/bench/bench_decoder

NumPy does the same for 512 rounds at a time: draws links, forms A X A' + V and
A X q for all of them, one batched solve, r and the errors. One thread each.
"""
import os
import subprocess
import sys
import time

os.environ['OPENBLAS_NUM_THREADS'] = '1'
import numpy  # noqa: E402

N, D, ROUNDS = 10, 128, 512


def rounds(rng, up, link, alpha, sigma2, x):
    q = numpy.full(N, 1 / N)
    tau = rng.random((ROUNDS, N, N)) < link
    tau = numpy.where(numpy.tri(N, k=-1, dtype=bool), tau.transpose(0, 2, 1),
                      tau)  # reciprocal
    tau |= numpy.eye(N, dtype=bool)
    seen = (rng.random((ROUNDS, N)) < up)[:, :, None] & tau.transpose(0, 2, 1)
    a = seen * alpha.T
    v = D * (seen * sigma2.T).sum(2)
    ax = a @ x
    h = ax @ a.transpose(0, 2, 1)
    at = numpy.arange(N)
    h[:, at, at] += v + 1e-11 + (v == 0)
    beta = numpy.linalg.solve(h, (ax @ q)[:, :, None])[:, :, 0]
    r = (beta[:, None, :] @ a)[:, 0, :] - q
    noise = (beta ** 2 * v).sum(1)
    error = r.sum(1) ** 2 + noise
    bar = ((r @ x) * r).sum(1) + noise
    return error.mean(), bar.mean()


def main():
    ours = subprocess.run([sys.argv[1], '--rounds'], capture_output=True,
                          text=True, check=True).stdout
    print('ours:  ' + ours.strip())
    rng = numpy.random.default_rng(1)
    up = numpy.array([.1, .1, .8, .1, .1, .9, .1, .1, .9, .1])
    alpha = rng.random((N, N))
    sigma2 = .01 * rng.random((N, N))
    x = .5 * numpy.eye(N) + .5
    best = 1e9
    for _ in range(200):
        start = time.process_time()
        rounds(rng, up, .5, alpha, sigma2, x)
        best = min(best, (time.process_time() - start) / ROUNDS)
    print('NumPy: %.9f seconds a round' % best)
    print('ratio: %.1f (asked: 20)' % (best / float(ours.split()[0])))


if __name__ == '__main__':
    main()
