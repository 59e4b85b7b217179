#!/usr/bin/python3
"""Two rivals of the simulator on the paper's ten nodes, d = 128, one core.

Prints microseconds a trial: of the fast method in vectorised NumPy, the best of
several batch sizes and two ways to add weights up; and of a trial as the
authors write it, a Python loop over the links with a noise vector for each.
"""
import os

for name in ("OPENBLAS", "OMP", "MKL"):
    os.environ[name + "_NUM_THREADS"] = "1"
import sys
import time

import numpy as np

UPLINK = np.array([0.1, 0.1, 0.8, 0.1, 0.1, 0.9, 0.1, 0.1, 0.9, 0.1])
NODES, DIMENSION = 10, 128


def plan():
    """Weights and noises for all hundred links, as the C benchmark's."""
    link = np.arange(NODES * NODES).reshape(NODES, NODES)
    weight = 0.2 + 0.01 * (link % 7)
    noise = 0.01 + 0.001 * (link % 5)
    np.fill_diagonal(noise, 0)
    return weight, noise


def fast(rng, batch, p, weight, noise, gram, matrix):
    """Squared errors of a batch of trials, noise integrated out."""
    up = rng.random((batch, NODES), dtype=np.float32) < UPLINK.astype(np.float32)
    pairs = rng.random((batch, NODES * (NODES - 1) // 2), dtype=np.float32) < p
    links = np.ones((batch, NODES, NODES), dtype=bool)
    low, high = np.triu_indices(NODES, 1)
    links[:, low, high] = pairs
    links[:, high, low] = pairs
    links &= up[:, None, :]
    if matrix is None:
        weights = np.einsum("bij,ij->bi", links, weight)
        variance = np.einsum("bij,ij->b", links, noise**2)
    else:
        sums = links.reshape(batch, -1).astype(np.float32) @ matrix
        weights, variance = sums[:, :NODES].astype(float), sums[:, NODES]
    excess = weights - 1
    square = ((excess @ gram) * excess).sum(axis=1) + DIMENSION * variance
    return square / NODES**2


def loops(rng, p, weight, noise, data):
    """One trial with a Python loop over links, a noise vector for each."""
    up = rng.random(NODES) < UPLINK
    links = np.eye(NODES, dtype=bool)
    for i in range(NODES):
        for j in range(i):
            links[i, j] = links[j, i] = rng.random() < p
    estimate = np.zeros(DIMENSION)
    for j in range(NODES):
        if not up[j]:
            continue
        total = np.zeros(DIMENSION)
        for i in range(NODES):
            noised = weight[i, j] * data[i] + noise[i, j] * rng.standard_normal(
                DIMENSION
            )
            total += links[i, j] * noised
        estimate += total
    return ((estimate / NODES - data.mean(axis=0)) ** 2).sum()


def best(function, trials, turns):
    times = []
    for _ in range(turns):
        start = time.process_time()
        function()
        times.append((time.process_time() - start) / trials)
    return 1e6 * min(times)


def main():
    p = float(sys.argv[1])
    rng = np.random.Generator(np.random.SFC64(1))
    weight, noise = plan()
    data = rng.standard_normal((NODES, DIMENSION))
    data /= np.linalg.norm(data, axis=1)[:, None]
    gram = data @ data.T
    matrix = np.zeros((NODES * NODES, NODES + 1), dtype=np.float32)
    for i in range(NODES):
        matrix[i * NODES : (i + 1) * NODES, i] = weight[i]
    matrix[:, NODES] = noise.reshape(-1) ** 2
    times = [
        best(lambda: fast(rng, size, p, weight, noise, gram, way), size, 20)
        for size in (256, 1024, 4096, 16384)
        for way in (None, matrix)
    ]
    slow = best(
        lambda: [loops(rng, p, weight, noise, data) for _ in range(50)], 50, 10
    )
    print(f"{min(times):.4f} {slow:.2f}")


main()
