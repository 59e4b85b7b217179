"""K-means next to scikit-learn's: same starts, same number of Lloyd's steps,
same number of threads, runs taken in turn, the least of each.

usage: kmeans.py BUILD [DATA...]
A made-up set of the shape of CIFAR-10's first batch (10,000 x 3072), then every
DATA, a .npy or CIFAR-10 binary file. Ratios are ours over scikit-learn's, of wall
and of processor time; on a busy machine the second says more.
"""
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from threadpoolctl import threadpool_limits

CLUSTERS, STEPS, RUNS = 10, 30, 3


def read(path):
    if path is None:
        random = np.random.default_rng(1)
        # No clusters, but directions of unequal length, as images have: Lloyd's
        # steps go on for long.
        size = 1 / np.arange(1, 65) ** .5
        data = random.normal(size=(10000, 64)) * size
        data = 2 + data @ random.normal(size=(64, 3072))
    elif path.endswith(".bin"):
        data = np.fromfile(path, np.uint8).reshape(-1, 3073)[:, 1:] / 255.
    else:
        data = np.load(path)
    data = data.astype(np.float32)
    return data / np.linalg.norm(data, axis=1, keepdims=True)


def rival(data, start, steps, threads):
    """Inertia, wall time, processor time and steps: fewer than asked for where
    scikit-learn finds that labels no longer change."""
    with threadpool_limits(threads):
        began, cpu = time.perf_counter(), time.process_time()
        fit = KMeans(CLUSTERS, init=start, n_init=1, max_iter=steps, tol=0,
                     algorithm="lloyd").fit(data)
        return (fit.inertia_, time.perf_counter() - began,
                time.process_time() - cpu, fit.n_iter_)


def compare(build, path):
    data = read(path)
    start, _ = kmeans_plusplus(data, CLUSTERS, random_state=0)
    steps = rival(data, start, STEPS, 2)[3]
    print(f"{path or 'made up'}: {data.shape[0]} x {data.shape[1]}, "
          f"{CLUSTERS} clusters, {steps} steps"
          + ("" if steps == STEPS else ", after which no label changes"))
    print(f"{'threads':>8} {'pricer, s':>10} {'cpu, s':>8} {'sklearn, s':>11} "
          f"{'cpu, s':>8} {'inertia differs by':>19} {'ratio':>7} "
          f"{'of cpu':>7}")
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("x.npy", "c.npy")]
        np.save(paths[0], data)
        np.save(paths[1], start)
        for threads in (1, 2):
            ours, theirs = [], []
            for _ in range(RUNS):
                line = subprocess.run(
                    [f"{build}/bench/bench_kmeans", *paths, str(steps),
                     str(threads), "1"], check=True, capture_output=True,
                    text=True).stdout
                ours.append([float(cell) for cell in line.split()])
                theirs.append(rival(data, start, steps, threads))
            least, best = np.min(ours, axis=0), np.min(theirs, axis=0)
            print(f"{threads:8} {least[1]:10.3f} {least[2]:8.3f} "
                  f"{best[1]:11.3f} {best[2]:8.3f} "
                  f"{abs(least[0] / best[0] - 1):19.1e} "
                  f"{least[1] / best[1]:7.3f} {least[2] / best[2]:7.3f}",
                  flush=True)


def main():
    for path in [None] + sys.argv[2:]:
        compare(sys.argv[1], path)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} over the last minute, "
          f"{os.cpu_count()} processors")


main()
