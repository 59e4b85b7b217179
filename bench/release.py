"""Expanding a seed next to NumPy's standard_normal of the same length.

    release.py BENCH_RELEASE

By turns, the best of each; ratio last. Then releases.
"""
import subprocess
import sys
import time

import numpy as np


def numpy_time(count):
    generator = np.random.default_rng(1)
    repeats, best = 200_000 // count + 1, 1.
    for _ in range(30):
        start = time.process_time()
        for _ in range(repeats):
            generator.standard_normal(count)
        best = min(best, (time.process_time() - start) / repeats)
    return best * 1e9


def main():
    print('%10s %14s %14s %6s' % ('dimension', 'NumPy, ns', 'a seed, ns', 'ratio'))
    for dimension in (2, 16, 128, 10_000, 1_000_000):
        count = dimension + 1
        rival = ours = float('inf')
        for _ in range(5 if count < 100_000 else 2):
            rival = min(rival, numpy_time(count))
            run = subprocess.run([sys.argv[1], 'expand', str(count)],
                                 capture_output=True, text=True, check=True)
            ours = min(ours, float(run.stdout))
        print('%10d %14.0f %14.0f %6.2f' % (dimension, rival, ours, rival / ours),
              flush=True)
    subprocess.run([sys.argv[1]], check=True)


if __name__ == '__main__':
    main()
