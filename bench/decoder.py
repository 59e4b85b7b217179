#!/usr/bin/env python3
"""Simulated rounds with the minimax decoder, ten nodes: ours against NumPy.

    /usr/bin/python3 bench/decoder.py build/bench/bench_decoder

NumPy does the same for many rounds at a time: draws links, forms A X A' + V and
A X q for all of them, one batched solve, r and the errors; as many rounds as it
is fastest with. One thread each.
"""
import os
import subprocess
import sys
import time

os.environ['OPENBLAS_NUM_THREADS'] = '1'
import numpy  # noqa: E402

N, D = 10, 128
LOW, HIGH = numpy.tril_indices(N, -1)


def rounds(rng, count, up, link, alpha, sigma2, x):
    q = numpy.full(N, 1 / N)
    both = rng.random((count, len(LOW))) < link  # links are reciprocal
    seen = numpy.ones((count, N, N), dtype=bool)
    seen[:, LOW, HIGH] = both
    seen[:, HIGH, LOW] = both
    seen &= (rng.random((count, N)) < up)[:, :, None]
    a = seen * alpha.T
    v = D * (seen.reshape(-1, N * N) @ sigma2)
    ax = (a.reshape(-1, N) @ x).reshape(a.shape)
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
    sigma2 = numpy.zeros((N * N, N))  # all entries to the noise of each sum
    for j in range(N):
        sigma2[N * j:N * (j + 1), j] = .01 * rng.random(N)
    x = .5 * numpy.eye(N) + .5
    best = 1e9
    for count in (64, 128, 256, 512, 2048, 8192):
        for _ in range(100000 // count):
            start = time.process_time()
            rounds(rng, count, up, .5, alpha, sigma2, x)
            took = (time.process_time() - start) / count
            if took < best:
                best, at = took, count
    print('NumPy: %.9f seconds a round, %d at a time' % (best, at))
    print('ratio: %.1f (asked: 20)' % (best / float(ours.split()[0])))


if __name__ == '__main__':
    main()
