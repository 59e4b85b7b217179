"""A plan that counts on losses, at a real node: a server written from
docs/protocol.md hands out slices and opens rounds. Without a word in the trust
file the node sends no data; with it, the ledger charges by the plan's own rule
and the planned rounds fit. Arguments: build folder."""
import math
import sys

from fleet import expect
from one_node import DATA, SPENT, TRUST, Server

build = sys.argv[1]


def phi(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def delta(eps, mu, K, p):
    """Of K releases of ratio mu, each heard with probability p."""
    total = 0
    for k in range(1, K + 1):
        m = mu * math.sqrt(k)
        total += math.comb(K, k) * p ** k * (1 - p) ** (K - k) * (
            phi(m / 2 - eps / m) - math.exp(eps) * phi(-m / 2 - eps / m))
    return total


def calibrate(eps, most, K, p):
    """The largest ratio, a little below; one release alone must hold too."""
    low, high = 0, 50
    for _ in range(200):
        mu = (low + high) / 2
        good = delta(eps, mu, K, p) <= most and delta(eps, mu, 1, 1) <= most
        low, high = (mu, high) if good else (low, mu)
    return low * (1 - 1e-12)


def play(server, eps, most, K, p):
    """Refused without credit; K rounds with it; then spent."""
    noise = 2 * .5 / calibrate(eps, most, K, p)
    plain = f'to,eps,delta\n0,inf,1\n1,{eps},{most}\n'
    server.start_node(plain)
    server.slice(1, K, True, noise, p)
    expect((0, 10, 1) in server.refusals, f'refusals {server.refusals}')
    expect(server.run_round(1, 1) == TRUST, f'sent {server.shares}')
    server.stop()
    server.hello = None
    server.start_node(f'to,eps,delta,credit\n0,inf,1,none\n1,{eps},{most},'
                      'losses\n')
    hello = server.slice(1, K, True, noise, p)
    left = hello[3]
    # K by the plan; more where rounding K up leaves room, never above delta.
    expect(left >= K and delta(eps, 1 / noise, left, p) <= most * (1 + 1e-6),
           f'{left} rounds left of {K}')
    expect(hello[5] == [[1, left]], f'HELLO names {hello[5]}')
    parts = [server.run_round(1, 2 + k) for k in range(left + 2)]
    expect(parts == [DATA] * left + [SPENT] * 2, f'{parts}')
    # A plan without credit finds the same account: all spent.
    hello = server.slice(2, 1, False, noise, 1.0)
    expect(hello[3] == 0, f'{hello[3]} rounds left without credit')
    server.stop()
    return left


for eps, most, K, p in ((1, 1e-3, 6, .3), (5, 1e-5, 12, .6), (2, 1e-4, 1, .5)):
    with Server(build) as server:
        left = play(server, eps, most, K, p)
        alone = 1
        mu = calibrate(eps, most, K, p)
        while delta(eps, mu * math.sqrt(alone + 1), 1, 1) <= most:
            alone += 1
        print(f'eps {eps}, p {p}: planned for {K} rounds, {left} with credit, '
              f'{alone} without')
