#!/usr/bin/python3
"""The exact planner next to cvxopt's qp() on dense random networks, both to
1e-8, one core.

cvxopt gets the formulation that suits it: sums as variables, so that its
Hessian has 2 x 2 blocks only and the reduced system is as small as the number
of sums. Its time is that of the solve alone.

    plan_cvxopt.py PATH/bench_plan_problem [LARGEST]

LARGEST is the largest n, 100 by default; 200 takes minutes.
"""
import os
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy
from cvxopt import matrix, solvers, spmatrix

CASES = 5
solvers.options.update(
    show_progress=False, abstol=1e-300, reltol=1e-8, feastol=1e-8, maxiters=200
)


class Program:
    """The arrays that bench_plan_problem wrote."""

    def __init__(self, path):
        with open(path, "rb") as file:
            counts = numpy.fromfile(file, "i8", 4)
            n, m, crosses, entries = (int(count) for count in counts)
            self.square = numpy.fromfile(file, "f8", n)
            self.linear = numpy.fromfile(file, "f8", n)
            self.lower = numpy.fromfile(file, "f8", n)
            self.cross_a = numpy.fromfile(file, "i4", crosses)
            self.cross_b = numpy.fromfile(file, "i4", crosses)
            self.cross = numpy.fromfile(file, "f8", crosses)
            self.row = numpy.fromfile(file, "i4", entries)
            self.column = numpy.fromfile(file, "i4", entries)
            self.value = numpy.fromfile(file, "f8", entries)
            self.row_lower = numpy.fromfile(file, "f8", m)
            self.row_upper = numpy.fromfile(file, "f8", m)


def sparse(value, row, column, shape):
    return spmatrix(
        value.tolist(), row.astype(int).tolist(), column.astype(int).tolist(), shape
    )


def formulate(program):
    """P, q, G, h, A, b of cvxopt: equal rows to A, the others and the bounds
    to G."""
    n, m = len(program.square), len(program.row_upper)
    diagonal = numpy.arange(n)
    hessian = sparse(
        numpy.concatenate([2 * program.square, program.cross]),
        numpy.concatenate([diagonal, program.cross_b]),
        numpy.concatenate([diagonal, program.cross_a]),
        (n, n),
    )
    equal = program.row_lower == program.row_upper
    bounded = numpy.flatnonzero(numpy.isfinite(program.lower))
    place = numpy.where(equal, numpy.cumsum(equal), numpy.cumsum(~equal)) - 1
    mine = equal[program.row]
    equations = sparse(
        program.value[mine],
        place[program.row[mine]],
        program.column[mine],
        (int(equal.sum()), n),
    )
    above = int((~equal).sum())
    limits = sparse(
        numpy.concatenate([program.value[~mine], -numpy.ones(len(bounded))]),
        numpy.concatenate(
            [place[program.row[~mine]], above + numpy.arange(len(bounded))]
        ),
        numpy.concatenate([program.column[~mine], bounded]),
        (above + len(bounded), n),
    )
    right = numpy.concatenate([program.row_upper[~equal], -program.lower[bounded]])
    return (
        hessian,
        matrix(program.linear),
        limits,
        matrix(right),
        equations,
        matrix(program.row_upper[equal]),
    )


def solve(path, runs):
    program = Program(path)
    arguments = formulate(program)
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        answer = solvers.qp(*arguments)
        best = min(best, time.perf_counter() - start)
    if answer["status"] != "optimal":
        print("cvxopt:", answer["status"], file=sys.stderr)
    return best, answer["primal objective"]


def main():
    ours_program = sys.argv[1]
    largest = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    print(
        f"{'n':>5} {'bias':<12} {'pricer, ms':>12} {'cvxopt, ms':>12} "
        f"{'difference':>12} {'ratio':>9}"
    )
    for n in (10, 50, 100, 200):
        if n > largest:
            break
        for case in range(CASES):
            with tempfile.NamedTemporaryFile() as file:
                text = subprocess.run(
                    [ours_program, str(n), str(case), file.name],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
                name, ours, objective = text.strip().split(",")
                ours, objective = float(ours), float(objective)
                rival, value = solve(file.name, 3 if n <= 100 else 1)
            value /= n * n
            difference = (value - objective) / objective
            print(
                f"{n:5d} {name:<12} {1e3 * ours:12.4f} {1e3 * rival:12.3f} "
                f"{difference:12.1e} {rival / ours:9.0f}",
                flush=True,
            )


main()
