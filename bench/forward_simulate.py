#!/usr/bin/env python3
"""Simulated rounds with forwarding, 150 nodes, 3 hops: ours against NumPy.

    /usr/bin/python3 bench/forward_simulate.py BUILD

NumPy plays many rounds at a time, as many as it is fastest with: it draws uplinks and
links, searches from the server, and finds error and bar of every round with the noise
integrated out. Three programs:
  matrices  a matrix of links a round, as one would write it first;
  lists     the links that there are, one number for a pair, a byte for a link and
            round, the search as reduceat over the links of a sender;
  tuned     every trick found: the same with numbers of 32 bits, and eight rounds to a
            byte in the search.
One thread each, processor time; ours includes reading the study and storing the
result.
"""
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

os.environ['OPENBLAS_NUM_THREADS'] = '1'
import numpy as np  # noqa: E402

HOPS = 3
SCENARIO = '''dimension: 2
network:
  generator: geometric
  nodes: 150
  density: 60
  cutoff: 0.1
  uplink: 0.05
  good: {fraction: 0.15, uplink: 0.9}
  reciprocity: 0.5
trust: {everyone: {eps: 4}}
hops: %d
''' % HOPS


class Network:
    """A study's network and plan as arrays, links sorted by sender."""

    def __init__(self, path):
        with sqlite3.connect(path) as study:
            nodes = study.execute('SELECT n.p, n.radius, f.coefficient, f.variance FROM node n'
                                  ' JOIN forward_plan_node f USING (node) ORDER BY node')
            self.uplink, self.radius, self.c, self.v = map(np.array, zip(*nodes))
            links = study.execute('SELECT from_node, to_node, p, joint FROM link ORDER BY link')
            self.sender, self.to, p, joint = map(np.array, zip(*links))
        index = {(i, j): l for l, (i, j) in enumerate(zip(self.sender, self.to))}
        self.ahead = np.array([l for l in range(len(p)) if self.sender[l] < self.to[l]])
        self.back = np.array([index[self.to[l], self.sender[l]] for l in self.ahead])
        self.p, self.both = p[self.ahead], joint[self.ahead]
        self.either = self.p + p[self.back] - self.both
        self.senders, self.starts = np.unique(self.sender, return_index=True)

    def links(self, rng, count, kind):
        """Which links and uplinks are up: [links, count], [nodes, count]."""
        u = rng.random((len(self.p), count), dtype=kind)
        up = np.empty((len(self.sender), count), dtype=bool)
        first = u < self.p[:, None].astype(kind)
        up[self.ahead] = first
        up[self.back] = (u < self.both[:, None].astype(kind)) | \
            ((u < self.either[:, None].astype(kind)) & ~first)
        return up, rng.random((len(self.uplink), count), dtype=kind) < \
            self.uplink[:, None].astype(kind)

    def search(self, up, arrived, join):
        for _ in range(HOPS):
            more = join.reduceat(up & arrived[self.to], self.starts, axis=0)
            arrived[self.senders] |= more
        return arrived

    def errors(self, arrived, kind):
        """Error and bar of every round."""
        columns = np.stack([self.radius * self.c, self.c ** 2 * self.v,
                            self.radius * (abs(self.c - 1) - 1)]).astype(kind)
        total, noise, missing = columns @ arrived.astype(kind)
        n2 = len(self.c) ** 2
        everyone = self.radius.sum()
        return ((total - everyone) ** 2 + noise) / n2, \
            ((missing + everyone) ** 2 + noise) / n2

    def matrices(self, rng, count):
        n = len(self.uplink)
        if not hasattr(self, 'full'):
            self.full = np.zeros((3, n, n))
            at = self.sender[self.ahead], self.to[self.ahead]
            for level, values in zip(self.full, (self.p, self.both, self.either)):
                level[at] = values
            self.upper = np.triu(np.ones((n, n), dtype=bool), 1)
        u = rng.random((count, n, n))
        p, both, either = self.full
        first = u < p
        back = (u < both) | ((u < either) & ~first)
        up = (first & self.upper) | (back & self.upper).transpose(0, 2, 1)
        arrived = rng.random((count, n)) < self.uplink
        for _ in range(HOPS):
            arrived = arrived | (up & arrived[:, None, :]).any(axis=2)
        return self.errors(arrived.T, np.float64)

    def lists(self, rng, count):
        up, arrived = self.links(rng, count, np.float64)
        return self.errors(self.search(up, arrived, np.logical_or), np.float64)

    def tuned(self, rng, count):
        up, uplink = self.links(rng, count, np.float32)
        arrived = self.search(np.packbits(up, axis=1), np.packbits(uplink, axis=1),
                              np.bitwise_or)
        return self.errors(np.unpackbits(arrived, axis=1, count=count), np.float32)


def measure(play, rng, slow):
    """Microseconds a round, mean error and bar."""
    best, sums, rounds = 1e9, np.zeros(2), 0
    sizes = (8, 64) if slow else (64, 256, 512, 1024, 2048, 4096)
    for count in sizes:
        for _ in range(max(3, (1500 if slow else 20000) // count)):
            start = time.process_time()
            error, bar = play(rng, count)
            best = min(best, (time.process_time() - start) / count)
            sums += error.sum(), bar.sum()
            rounds += count
    return best * 1e6, *(sums / rounds)


def ours(pricer, study, trials):
    """Processor seconds of a simulation, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([pricer, 'simulate', study, '--trials', str(trials),
                          '--threads', '1', '--json'], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, \
        json.loads(run.stdout)


def main():
    pricer = os.path.join(sys.argv[1], 'pricer')
    trials = 2_000_000
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        scenario, study = os.path.join(folder, 's.yaml'), os.path.join(folder, 's.pricer')
        with open(scenario, 'w') as file:
            file.write(SCENARIO)
        for line in (['new', study, scenario], ['plan', study]):
            subprocess.run([pricer, *line], check=True, capture_output=True)
        network = Network(study)
        best = 1e9
        for _ in range(3):
            seconds, found = ours(pricer, study, trials)
            best = min(best, seconds)
        mine = best / trials * 1e6
        print('%-28s %12s %10s %10s %7s' % ('', 'us a round', 'error', 'bar', 'ratio'))
        print('%-28s %12.3f %10.6f %10.6f' % ('ours', mine, found['mse'], found['bar']))
        for name, play in (('NumPy, matrices', network.matrices),
                           ('NumPy, lists', network.lists), ('NumPy, tuned', network.tuned)):
            took, error, bar = measure(play, rng, play == network.matrices)
            print('%-28s %12.3f %10.6f %10.6f %7.1f' % (name, took, error, bar, took / mine))
            if not abs(error / found['mse'] - 1) < .1:
                sys.exit('the rival plays something else')


if __name__ == '__main__':
    main()
