"""A real node whose rounds repeat: the very same integers in every attempt, one
charge a round, and after a crash between attempts no second noise. Argument:
build folder."""
import math
import sqlite3
import sys

from fleet import expect
from one_node import DATA, LEDGER, SPENT, Server

NOISE = 2.0                     # of weight 0.5 and radius 1: mu = 1/2
TRUST = 'to,eps,delta,total_eps,total_delta\n0,inf,1,inf,1\n1,3,1e-3,'


def charges(server, what='count(*)'):
    with sqlite3.connect(server.path('ledger')) as ledger:
        return ledger.execute(f"SELECT {what} FROM release WHERE key NOT LIKE "
                              "'all to %'").fetchone()[0]


def play(server):
    server.start_node(TRUST + '5,1e-3\n')
    left = server.slice(1, 4, NOISE, 3)[3]
    for attempt in range(3):
        expect(server.run_round(1, 1, attempt) == DATA, 'no data')
        expect(server.values[1, attempt] == server.values[1, 0],
               f'attempt {attempt} has another payload')
    expect(charges(server) == 1, f'{charges(server)} charges for one round')
    # Who missed the first attempt makes its payload in the next.
    expect(server.run_round(1, 2, 1) == DATA, 'no data in a later attempt')
    expect(server.run_round(1, 2, 2) == DATA and
           server.values[2, 2] == server.values[2, 1] != server.values[1, 0],
           'the payload of round 2')
    expect(charges(server) == 2, 'charges')
    # An attempt that is over, and one that the slice does not have.
    server.open(1, 2, 1)
    server.open(1, 3, 3)

    # Killed between attempts: the round is in the ledger and nothing of it in
    # memory, so that it is spent.
    expect(server.run_round(1, 3) == DATA, 'no data')
    server.node.kill()
    server.node.wait()
    server.hello = None
    server.start_node(TRUST + '5,1e-3\n')
    server.slice(1, 4, NOISE, 3)
    expect(server.run_round(1, 3, 1) == LEDGER, 'a second noise')
    expect(server.values[3, 1] == b'', 'withheld, and values')
    expect((3, 6, 0) in server.refusals, f'refusals {server.refusals}')
    expect(server.run_round(1, 3, 2) == LEDGER, 'a second noise')
    expect(charges(server) == 3, 'charges after the crash')
    # A new slice in the middle of a round has no payloads either.
    expect(server.run_round(1, 4) == DATA, 'no data')
    server.hello = None
    server.slice(2, 4, NOISE, 3)
    expect(server.run_round(2, 4, 1) == LEDGER, 'a second noise')
    expect(charges(server, 'count(DISTINCT round)') == 4, 'charges')

    # What is left is counted in rounds, not in attempts.
    number = 5
    while server.run_round(2, number) == DATA:
        expect(server.run_round(2, number, 1) == DATA, 'no data')
        number += 1
    expect(server.shares[number, 0] == SPENT and number - 1 == left,
           f'{number - 1} rounds with data, {left} were left')
    expect(server.run_round(2, number, 1) == SPENT, 'spent, and sent')
    server.stop()
    return left


with Server(sys.argv[1]) as server:
    left = play(server)
    mu = .5 * math.sqrt(left)
    print(f'{left} rounds of 3 attempts, {left} charges: mu {mu:.3g} in all')
