#!/usr/bin/python3
"""The exact planner next to the paper's method, written with NumPy as its
authors write it: full matrices, one gradient of everything per iteration,
projection link by link as array operations; four random starts of 100,000
iterations with step 0.01, on the paper's ten nodes.

The time of an iteration is measured over some thousand of them and
multiplied; --full runs them all instead. Where the descent ends is computed
by all iterations in any case (by the C implementation of the same method).

    plan_paper.py PATH/bench_plan_paper [--full]
"""
import os
import subprocess
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy

ITERATIONS, STARTS, MEASURED, STEP = 100000, 4, 2000, 0.01
UPLINK = numpy.array([0.1, 0.1, 0.8, 0.1, 0.1, 0.9, 0.1, 0.1, 0.9, 0.1])
NODES, DIMENSION, RADIUS = len(UPLINK), 128, 1.0


def make_network(p_c):
    link = numpy.full((NODES, NODES), p_c)
    numpy.fill_diagonal(link, 1)
    apart = (numpy.arange(NODES)[:, None] - numpy.arange(NODES)) % NODES
    eps = numpy.where((apart <= 1) | (apart == NODES - 1), 1000.0, 1.0)
    slope = 2 * RADIUS / eps * numpy.sqrt(2 * numpy.log(1.25 / 1e-3))
    return link, slope


def gradient(link, weight, noise, penalty):
    """Of the variance, the squared sum of biases, the noise and the l1 term,
    by every weight and noise; E_ij = p_ij."""
    scale = RADIUS**2 / NODES**2
    reach = link * UPLINK
    bias = (reach * weight).sum(axis=1) - 1
    relay = (link * weight).sum(axis=0)
    both = link - link * link.T
    numpy.fill_diagonal(both, 0)
    by_weight = 2 * scale * (
        reach * (1 - link) * weight
        + link * (UPLINK * (1 - UPLINK) * relay)
        + numpy.outer(UPLINK, UPLINK) * both * weight.T
        + reach * bias.sum()
    )
    by_weight += penalty * reach * numpy.sign(bias)[:, None]
    by_noise = 2 * DIMENSION / NODES**2 * reach * noise
    return by_weight, by_noise


def project(slope, weight, noise):
    foot = numpy.maximum((weight + slope * noise) / (1 + slope**2), 0)
    upright = (noise >= 0) & (weight < 0)
    slanted = ~upright & ((noise < 0) | (noise < slope * weight))
    return (
        numpy.where(upright, 0, numpy.where(slanted, foot, weight)),
        numpy.where(slanted, slope * foot, noise),
    )


def descend(link, slope, penalty, iterations, seed):
    weight = numpy.random.default_rng(seed).random((NODES, NODES))
    noise = slope * weight
    for _ in range(iterations):
        by_weight, by_noise = gradient(link, weight, noise, penalty)
        weight, noise = project(
            slope, weight - STEP * by_weight, noise - STEP * by_noise
        )
    return weight, noise


def seconds_of(p_c, penalty, full):
    link, slope = make_network(p_c)
    if full:
        start = time.perf_counter()
        for seed in range(STARTS):
            descend(link, slope, penalty, ITERATIONS, seed)
        return time.perf_counter() - start
    best = float("inf")
    for seed in range(3):
        start = time.perf_counter()
        descend(link, slope, penalty, MEASURED, seed)
        best = min(best, time.perf_counter() - start)
    return best / MEASURED * ITERATIONS * STARTS


def main():
    full = "--full" in sys.argv
    text = subprocess.run(
        [sys.argv[1], str(ITERATIONS)], check=True, capture_output=True, text=True
    ).stdout
    note = "all run" if full else f"from {MEASURED} iterations"
    print(f"the paper's ten nodes, l1; NumPy: {STARTS} x {ITERATIONS} iterations, {note}")
    print(
        f"{'p_c':>5} {'lambda':>7} {'pricer, ms':>11} {'NumPy, s':>9} "
        f"{'optimum':>9} {'descent':>9} {'above':>7} {'ratio':>9}"
    )
    for line in text.split():
        p_c, penalty, ours, optimum, descent = (float(x) for x in line.split(","))
        rival = seconds_of(p_c, penalty, full)
        print(
            f"{p_c:5g} {penalty:7g} {1e3 * ours:11.4f} {rival:9.1f} {optimum:9.5f} "
            f"{descent:9.5f} {100 * (descent / optimum - 1):6.2f}% {rival / ours:9.0f}"
        )


main()
