#!/usr/bin/python3
"""Rivals of the simulator on the paper's ten nodes, d = 128, one core each.

Prints microseconds a trial of
  1. the fast method in vectorised NumPy: all trials of a batch at once, each
     link's weight added where it carries, the noise integrated out with the
     Gram matrix, the best of several batch sizes;
  2. the same with the noise drawn as one vector a trial;
  3. the first with every trick found: half of the uniform numbers, booleans
     that go through one matrix product for weights and variances;
  4. a trial as the authors write it, a Python loop over the links with a noise
     vector for each.
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


def draw(rng, batch, p):
    """Which links carry, [batch, node, relay]."""
    up = rng.random((batch, NODES)) < UPLINK
    uniform = np.triu(rng.random((batch, NODES, NODES)), 1)
    links = uniform + uniform.transpose(0, 2, 1) < p
    links[:, range(NODES), range(NODES)] = True
    return links & up[:, None, :]


def plain(rng, batch, p, weight, noise, gram):
    """Squared errors of a batch of trials, noise integrated out."""
    links = draw(rng, batch, p)
    excess = np.einsum("bij,ij->bi", links, weight) - 1
    variance = np.einsum("bij,ij->b", links, noise**2)
    square = np.einsum("bi,ij,bj->b", excess, gram, excess)
    return (square + DIMENSION * variance) / NODES**2


def noised(rng, batch, p, weight, noise, data):
    """The same with a noise vector for every trial."""
    links = draw(rng, batch, p)
    excess = np.einsum("bij,ij->bi", links, weight) - 1
    deviation = np.sqrt(np.einsum("bij,ij->b", links, noise**2))
    error = excess @ data
    error += deviation[:, None] * rng.standard_normal((batch, DIMENSION))
    return (error**2).sum(axis=1) / NODES**2


def tuned(rng, batch, p, matrix, gram):
    """Squared errors of a batch, the sums by one product of matrices."""
    up = rng.random((batch, NODES)) < UPLINK
    pairs = rng.random((batch, NODES * (NODES - 1) // 2)) < p
    links = np.ones((batch, NODES, NODES), dtype=bool)
    low, high = np.triu_indices(NODES, 1)
    links[:, low, high] = pairs
    links[:, high, low] = pairs
    links &= up[:, None, :]
    sums = links.reshape(batch, -1).astype(float) @ matrix
    excess = sums[:, :NODES] - 1
    square = ((excess @ gram) * excess).sum(axis=1)
    return (square + DIMENSION * sums[:, NODES]) / NODES**2


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
    matrix = np.zeros((NODES * NODES, NODES + 1))
    for i in range(NODES):
        matrix[i * NODES : (i + 1) * NODES, i] = weight[i]
    matrix[:, NODES] = noise.reshape(-1) ** 2
    ways = (
        lambda size: plain(rng, size, p, weight, noise, gram),
        lambda size: noised(rng, size, p, weight, noise, data),
        lambda size: tuned(rng, size, p, matrix, gram),
    )
    times = [
        min(best(lambda: way(size), size, 12) for size in (256, 1024, 4096, 16384))
        for way in ways
    ]
    times.append(
        best(lambda: [loops(rng, p, weight, noise, data) for _ in range(50)], 50, 10)
    )
    print(*(f"{value:.4f}" for value in times))


main()
