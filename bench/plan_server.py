#!/usr/bin/python3
"""Plans with budgets towards the server next to cvxopt's coneqp(), one core.

The noise of a link, y^2 / m, is a variable t with the cone |(2 y, t - m)| <=
t + m; sums over relays are variables, so that the Hessian has 2 x 2 blocks
only. cvxopt's time is that of the solve alone.

    plan_server.py PATH/bench_plan_server [LARGEST]
"""
import os
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy
from cvxopt import matrix, solvers, spmatrix

solvers.options.update(
    show_progress=False, abstol=1e-300, reltol=1e-9, feastol=1e-9, maxiters=100
)


class Triplets:
    """A sparse matrix in the making, or several rows of one."""

    def __init__(self):
        self.value, self.row, self.column, self.rows = [], [], [], 0

    def add(self, row, column, value):
        self.row.append(int(row))
        self.column.append(int(column))
        self.value.append(float(value))

    def matrix(self, columns):
        return spmatrix(self.value, self.row, self.column, (self.rows, columns))


def read(path):
    with open(path, "rb") as file:
        nodes, links, pairs = (int(k) for k in numpy.fromfile(file, "i8", 3))
        ends = numpy.fromfile(file, "i4", 2 * links).reshape(-1, 2)
        cost = numpy.fromfile(file, "f8", 3 * links).reshape(-1, 3)
        pair = numpy.fromfile(file, "i4", 2 * pairs).reshape(-1, 2)
        cross = numpy.fromfile(file, "f8", pairs)
        node = numpy.fromfile(file, "f8", 2 * nodes).reshape(-1, 2)
    return nodes, links, ends, cost, pair, cross, node


def formulate(path):
    """Variables: y, m / M, t M / 4, T, and what the sum of y lacks of nodes."""
    nodes, links, ends, cost, pair, cross, node = read(path)
    y, m, t = 0, links, 2 * links
    load, lack = 3 * links, 3 * links + nodes
    size = lack + 1
    limit = node[ends[:, 0], 1]
    hessian, rows, equations = Triplets(), Triplets(), Triplets()
    hessian.rows = size
    linear = numpy.zeros(size)
    for l in range(links):
        hessian.add(y + l, y + l, 2 * cost[l, 0])
        linear[t + l] = cost[l, 1] / limit[l]
    for (a, b), c in zip(pair, cross):
        hessian.add(max(a, b), min(a, b), c)
    for j in range(nodes):
        hessian.add(load + j, load + j, 2 * node[j, 0])
    hessian.add(lack, lack, 2)
    right = []

    def bound(entries, value):
        for column, factor in entries:
            rows.add(rows.rows, column, factor)
        rows.rows += 1
        right.append(value)

    for l in range(links):
        bound([(y + l, -1)], 0)
        bound([(m + l, 1)], min(2, cost[l, 2] / limit[l]))
    leaving = [[] for _ in range(nodes)]
    carried = [[] for _ in range(nodes)]
    for l, (i, j) in enumerate(ends):
        leaving[i].append(l)
        carried[j].append(l)
    for i in range(nodes):
        bound([(y + l, 1) for l in leaving[i]], 1)
        bound([(m + l, 1) for l in leaving[i]], 1)
    straight = rows.rows
    for l in range(links):
        bound([(t + l, -1), (m + l, -1)], 0)
        bound([(y + l, -2)], 0)
        bound([(t + l, -1), (m + l, 1)], 0)
    for j in range(nodes):
        equations.add(j, load + j, -1)
        for l in carried[j]:
            equations.add(j, y + l, 1)
    for l in range(links):
        equations.add(nodes, y + l, 1)
    equations.add(nodes, lack, 1)
    equations.rows = nodes + 1
    equal = matrix([0.0] * nodes + [float(nodes)])
    dims = {"l": straight, "q": [3] * links, "s": []}
    return (
        hessian.matrix(size),
        matrix(linear),
        rows.matrix(size),
        matrix([float(value) for value in right]),
        dims,
        equations.matrix(size),
        equal,
    )


def main():
    largest = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    print(
        f"{'n':>5} {'pricer, ms':>12} {'cvxopt, ms':>12} "
        f"{'difference':>12} {'ratio':>9}"
    )
    for n in (10, 20, 50, 100):
        if n > largest:
            break
        with tempfile.NamedTemporaryFile() as file:
            text = subprocess.run(
                [sys.argv[1], str(n), file.name],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            ours, objective = (float(word) for word in text.split(","))
            P, q, G, h, dims, A, b = formulate(file.name)
        start = time.perf_counter()
        answer = solvers.coneqp(P, q, G, h, dims, A, b)
        rival = time.perf_counter() - start
        if answer["status"] != "optimal":
            print("cvxopt:", answer["status"], file=sys.stderr)
        value = answer["primal objective"] / (n * n)
        print(
            f"{n:5d} {1e3 * ours:12.3f} {1e3 * rival:12.1f} "
            f"{(value - objective) / objective:12.1e} {rival / ours:9.0f}",
            flush=True,
        )


main()
