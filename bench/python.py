#!/usr/bin/env python3
"""From NumPy arrays of 10^6 links to a plan, against the same in C.

    bench/python.py BUILD

Both call the same library on the same arrays, in turns, on one thread; the least
processor time of each counts. The ratio is to be at most 1.1.
"""
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
BUILD = os.path.abspath(sys.argv[1])
os.environ['PRICER_INCLUDE'] = os.path.join(ROOT, 'include')
os.environ['PRICER_LIBRARY'] = os.path.join(BUILD, 'libpricer.so')
sys.path.insert(0, os.path.join(ROOT, 'python'))
import numpy as np  # noqa: E402
import pricer  # noqa: E402

NODES, LINKS, TURNS = 100000, 1000000, 3


def arrays():
    """Random links, none twice, a good uplink for every tenth node."""
    rng = np.random.default_rng(1)
    code = np.unique(rng.integers(0, NODES * (NODES - 1), 2 * LINKS))
    code = np.sort(rng.choice(code, LINKS, replace=False))
    sender, other = np.divmod(code, NODES - 1)
    uplink = np.where(np.arange(NODES) % 10 == 0, 0.9, 0.05)
    return dict(uplink=uplink, self_eps=np.full(NODES, 8.0),
                self_delta=np.full(NODES, 1e-5),
                from_=sender.astype(np.int32),
                to=(other + (other >= sender)).astype(np.int32),
                p=rng.uniform(0.3, 0.9, LINKS),
                eps=rng.uniform(1, 8, LINKS), delta=np.full(LINKS, 1e-5))


def in_python(made):
    start = time.process_time()
    plan = pricer.plan(pricer.Network.from_arrays(**made, dimension=8),
                       tolerance=1e-4, threads=1)
    return time.process_time() - start, plan.info.objective


def main():
    made = arrays()
    ours, theirs, objectives = [], [], set()
    with tempfile.NamedTemporaryFile() as file:
        np.array([NODES, LINKS], np.int64).tofile(file)
        for values in made.values():
            values.tofile(file)
        file.flush()
        for _ in range(TURNS):
            seconds, objective = in_python(made)
            ours.append(seconds)
            objectives.add(objective)
            said = subprocess.run(
                [os.path.join(BUILD, 'bench', 'bench_python'), file.name],
                capture_output=True, text=True, check=True).stdout.split()
            theirs.append(float(said[0]))
            objectives.add(float(said[1]))
    ratio = min(ours) / min(theirs)
    print(f'{LINKS} links: Python {min(ours):.2f} s, C {min(theirs):.2f} s, '
          f'ratio {ratio:.3f}')
    if len(objectives) != 1:
        print('the objectives differ:', objectives)
        return 1
    return ratio > 1.1


if __name__ == '__main__':
    sys.exit(main())
