"""The accounts of privacy next to a straightforward one in NumPy and SciPy.

    privacy.py BUILD

The rival computes the same expectations for the paper's ten-node network the
way one would write them down: for a relay every subset of the other packets
(at most 256), for the server a million draws of all links, whose pairs are
fully reciprocal; then eps by bisection, vectorised over the patterns. So its
server numbers come with a statistical error and prove nothing; the table says
how far they lie from the bracket.
"""
import subprocess
import sys
import time

import numpy as np
from scipy.special import log_ndtr

DRAWS = 1_000_000


def delta_at(eps, mu):
    """E delta_G(eps; mu) over weighted values of mu."""
    values, masses = mu
    first = np.exp(log_ndtr(values / 2 - eps / values))
    second = np.exp(eps + log_ndtr(-values / 2 - eps / values))
    return float(np.sum(masses * (first - second)))


def eps_at(delta, mu):
    """Bisection for the eps that goes with delta."""
    if delta_at(1e-12, mu) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_at(high, mu) > delta:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        if delta_at(middle, mu) > delta:
            low = middle
        else:
            high = middle
    return high


def relay(net, i, j, delta):
    """All subsets of the packets of others at relay j."""
    others = [k for k in range(net.n) if k not in (i, j) and net.noise[k, j] > 0]
    bits = (np.arange(1 << len(others))[:, None] >> np.arange(len(others))) & 1
    chance = net.p[others, j]
    masses = np.prod(np.where(bits, chance, 1 - chance), axis=1) * net.p[i, j]
    variance = net.noise[i, j] ** 2 + bits @ net.noise[others, j] ** 2
    if net.weight[i, j] == 0:
        return 0.0
    mu = 2 * net.radius * net.weight[i, j] / np.sqrt(variance)
    return eps_at(delta, (mu, masses))


def draw_links(net, rng):
    """Uplinks, and links that are up both ways or not at all."""
    up = rng.random((DRAWS, net.n)) < net.up
    link = np.zeros((DRAWS, net.n, net.n), dtype=bool)
    for i in range(net.n):
        link[:, i, i] = True
        for j in range(i):
            link[:, i, j] = link[:, j, i] = rng.random(DRAWS) < net.p[i, j]
    return up, link


def server(net, links, i, delta):
    """mu of every draw."""
    up, link = links
    square = np.zeros(DRAWS)
    for j in range(net.n):
        if net.weight[i, j] == 0:
            continue
        variance = np.zeros(DRAWS)
        for k in range(net.n):
            variance += link[:, k, j] * net.noise[k, j] ** 2
        seen = up[:, j] & link[:, i, j]
        square += seen * (2 * net.radius * net.weight[i, j]) ** 2 / variance
    some = square > 0
    values, counts = np.unique(np.sqrt(square[some]), return_counts=True)
    return eps_at(delta, (values, counts / DRAWS))


class Net:
    """The network and plan that bench_privacy prints."""

    def __init__(self, words):
        self.n, self.radius = int(next(words)), float(next(words))
        self.up = np.array([float(next(words)) for _ in range(self.n)])
        shape = (self.n, self.n)
        self.p, self.weight, self.noise = (
            np.array([float(next(words)) for _ in range(self.n**2)]).reshape(shape)
            for _ in range(3))


def read_statements(words):
    """(seconds, [(node, at, delta, lower, upper)])"""
    count, seconds = int(next(words)), float(next(words))
    rows = [(int(next(words)), int(next(words)), float(next(words)),
             float(next(words)), float(next(words))) for _ in range(count)]
    return seconds, rows


def main():
    program = sys.argv[1] + "/bench/bench_privacy"
    subprocess.run([program], check=True)
    text = subprocess.run([program, "--dump"], check=True,
                          capture_output=True, text=True).stdout
    words = iter(text.split())
    net = Net(words)
    rng = np.random.default_rng(1)
    print("the paper's network against NumPy and SciPy, CPU seconds")
    print(f"{'observer':18} {'statements':>10} {'pricer':>10} {'NumPy':>10} "
          f"{'outside by':>11} {'ratio':>8}")
    for name in ("relay", "server"):
        ours, rows = read_statements(words)
        start = time.process_time()
        links = draw_links(net, rng) if name == "server" else None
        found = [server(net, links, i, delta) if links else relay(net, i, at, delta)
                 for i, at, delta, _, _ in rows]
        rival = time.process_time() - start
        off = max(max(low - eps, eps - high, 0) / high if high > 0 else 0
                  for eps, (_, _, _, low, high) in zip(found, rows))
        how = "all subsets" if name == "relay" else f"{DRAWS} draws"
        print(f"{name + ', ' + how:18.18} {len(rows):10} {ours:10.4f} "
              f"{rival:10.3f} {off:11.1e} {rival / ours:8.0f}")


main()
