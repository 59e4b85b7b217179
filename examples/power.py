#!/usr/bin/env python3
"""The first principal component of images that ten nodes hold, over the paper's
network.

    examples/power.py IMAGES [SIDE [REDUCED.npy]]

IMAGES is CIFAR-10 in binary or IDX, also gzipped; each channel is reduced to
SIDE x SIDE means (8). Prints the error after every iteration. The reduced images
are written to REDUCED.npy, if it is given, for `pricer power --data`.
"""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import numpy as np  # noqa: E402
import pricer  # noqa: E402

ITERATIONS = 30


def reduced(path: str, side: int) -> np.ndarray:
    """Images of unit length, as means over squares of pixels."""
    images = pricer.read_vectors(path)
    channels = 3 if images.shape[1] == 3072 else 1
    full = math.isqrt(images.shape[1] // channels)
    if full * full * channels != images.shape[1] or full % side:
        sys.exit(f"rows of {images.shape[1]} numbers have no {side} x {side}")
    step = full // side
    small = images.reshape(-1, channels, side, step, side, step).mean((3, 5))
    small = small.reshape(len(images), -1)
    length = np.linalg.norm(small, axis=1, keepdims=True)
    return small / np.where(length > 0, length, 1)


def main() -> None:
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    rows = reduced(sys.argv[1], int((sys.argv + ["8"])[2]))
    if len(sys.argv) > 3:
        np.save(sys.argv[3], rows)
    scenario = os.path.join(os.path.dirname(__file__), "paper.yaml")
    network = pricer.Network.from_scenario(
        scenario, {"dimension": pricer.power_dimension(rows.shape[1])})
    plans = {"in one place": None,
             "no collaboration": pricer.baseline(network, "best",
                                                 rounds=ITERATIONS),
             "PriCER": pricer.plan(network, rounds=ITERATIONS)}
    found = {name: pricer.power(rows, network, plan, iterations=ITERATIONS)
             for name, plan in plans.items()}
    print("iteration", *plans, "predicted", sep="  ")
    for t in (0, 1, 3, 7, 15, ITERATIONS - 1):
        errors = [f"{run.error[t]:.2g}" for run in found.values()]
        print(t + 1, *errors, f"{found['PriCER'].predicted[t]:.2g}", sep="  ")


if __name__ == "__main__":
    main()
