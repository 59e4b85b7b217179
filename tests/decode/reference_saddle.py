#!/usr/bin/env python3
"""Write reference_saddle.h: the minimax error of small networks from cvxopt.

max over X of E_w [q'Xq - q'XA'H^-1 AXq], H = AXA' + V, as a semidefinite
program: one block [[s_w, (AXq)'], [AXq, H]] >= 0 for every pattern w, maximise
q'Xq - E s_w over X >= 0 with ones on the diagonal. Nothing is shared with the
library: patterns are enumerated here, from the definition.

    /usr/bin/python3 tests/decode/reference_saddle.py >tests/decode/reference_saddle.h
"""
import itertools
import random

import numpy
from cvxopt import matrix, solvers

N, D = 3, 4.0


def network(seed):
    rng = random.Random(seed)
    p = [round(rng.uniform(.2, .95), 2) for _ in range(N)]
    link = [[1 if i == j else round(rng.uniform(.2, .95), 2)
             for j in range(N)] for i in range(N)]
    weight = [[round(rng.uniform(.2, 1.8), 2) for _ in range(N)]
              for _ in range(N)]
    noise = [[round(rng.uniform(.05, .6), 2) for _ in range(N)]
             for _ in range(N)]
    return p, link, weight, noise, rng.choice([0.0, 0.5, 1.0])


def patterns(p, link, reciprocity):
    """Every (chance, uplinks, links), pairs drawn jointly."""
    pairs = [(i, j) for i in range(N) for j in range(i)]
    for up in itertools.product((0, 1), repeat=N):
        chance = numpy.prod([p[i] if up[i] else 1 - p[i] for i in range(N)])
        for both in itertools.product(range(4), repeat=len(pairs)):
            tau, c = numpy.eye(N), chance
            for (i, j), k in zip(pairs, both):
                low = link[i][j] * link[j][i]
                e = low + reciprocity * (min(link[i][j], link[j][i]) - low)
                odds = [1 - link[i][j] - link[j][i] + e, link[i][j] - e,
                        link[j][i] - e, e]
                tau[i, j], tau[j, i] = k & 1, k >> 1
                c *= odds[k]
            if c > 0:
                yield c, up, tau


def merged(p, link, weight, noise, reciprocity):
    """Patterns with the same sums as one, (chance, A, V)."""
    seen = {}
    for c, up, tau in patterns(p, link, reciprocity):
        rows = tuple(tuple(tau[:, j]) if up[j] else None for j in range(N))
        seen[rows] = seen.get(rows, 0) + c
    for rows, c in seen.items():
        a, v = [], []
        for j, row in enumerate(rows):
            if row is not None:
                a.append([row[i] * weight[i][j] for i in range(N)])
                v.append(D * sum(row[i] * noise[i][j] ** 2 for i in range(N)))
        yield c, numpy.array(a).reshape(-1, N), numpy.diag(v)


def saddle(case):
    p, link, weight, noise, reciprocity = case
    blocks = list(merged(p, link, weight, noise, reciprocity))
    basis = [(i, j) for i in range(N) for j in range(i)]
    q = numpy.full(N, 1 / N)
    units = []
    for i, j in basis:
        x = numpy.zeros((N, N))
        x[i, j] = x[j, i] = 1
        units.append(x)
    size = len(basis) + len(blocks)
    cost = numpy.zeros(size)
    cost[:len(basis)] = [-(q @ x @ q) for x in units]
    cost[len(basis):] = [c for c, _, _ in blocks]
    gs, hs = [], []

    def cone(constant, columns):
        g = numpy.zeros((constant.size, size))
        for k, column in columns:
            g[:, k] = -column.flatten(order='F')
        gs.append(matrix(g))
        hs.append(matrix(constant))

    cone(numpy.eye(N), [(k, x) for k, x in enumerate(units)])
    for w, (_, a, v) in enumerate(blocks):
        m = len(a) + 1

        def block(x, noise):
            out = numpy.zeros((m, m))
            out[1:, 1:] = a @ x @ a.T + noise
            out[0, 1:] = out[1:, 0] = a @ x @ q
            return out
        slot = numpy.zeros((m, m))
        slot[0, 0] = 1
        cone(block(numpy.eye(N), v),
             [(k, block(x, 0)) for k, x in enumerate(units)] +
             [(len(basis) + w, slot)])
    solvers.options.update(show_progress=False, abstol=1e-9, reltol=1e-9,
                           feastol=1e-9)
    answer = solvers.sdp(matrix(cost), Gs=gs, hs=hs)
    assert answer['primal objective'] is not None
    return q @ q - answer['primal objective']


def row(values):
    return '{%s}' % ', '.join(repr(v) for v in values)


def main():
    print("""/*
 * Minimax errors of random networks of three nodes, dimension 4 and radius 1,
 * by cvxopt: written by reference_saddle.py. Index [whose data][which relay].
 */
struct reference_saddle {
    double reciprocity, uplink[3], link[3][3], weight[3][3], noise[3][3];
    double value;
};

static const struct reference_saddle reference_saddles[] = {""")
    for seed in range(12):
        case = network(seed)
        p, link, weight, noise, reciprocity = case
        print('    {%g,\n     %s,' % (reciprocity, row(p)))
        for table in (link, weight, noise):
            print('     {%s},' % ',\n      '.join(row(r) for r in table))
        print('     %.12g},' % saddle(case))
    print('};')


if __name__ == '__main__':
    main()
