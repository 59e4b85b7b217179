"""Kill server and nodes with SIGKILL at random moments during rounds, start
them again, and look at what is left: no release uncharged, no round stored
twice, every database whole, every process back. Arguments: build folder,
number of kills (also from PRICER_KILLS)."""
import os
import random
import signal
import sys
import time

from fleet import Fleet, expect

build = sys.argv[1]
kills = int(sys.argv[2] if len(sys.argv) > 2
            else os.environ.get('PRICER_KILLS', 25))
NODES = 4
TIMES = ['--early', '--period', '0', '--share', '150', '--uplink', '300']
random.seed(kills)


def start(fleet, name):
    if name == 'server':
        fleet.start_server(*TIMES)
    else:
        fleet.start_node(int(name[4:]))


def check_ledgers(fleet):
    """What arrived was charged, once; what accounts hold is what was charged."""
    links = {l: (a, b) for l, a, b in
             fleet.query('SELECT link, from_node, to_node FROM link')}
    arrived = fleet.query('SELECT round, link FROM delivery WHERE arrived = 1')
    charged = {i: set(fleet.ledger(i, 'SELECT round, key FROM release'))
               for i in range(NODES)}
    for round_number, link in arrived:
        a, b = links[link]
        expect((round_number, fleet.keys[b]) in charged[a],
               f'round {round_number}: {a} -> {b} arrived and is not charged')
    for round_number, node in fleet.query(
            'SELECT round, node FROM arrival WHERE arrived = 1'):
        last, = fleet.ledger(node, 'SELECT last FROM server')
        expect(round_number <= last[0], 'a sum of a round that is not marked')
    for i in range(NODES):
        for key, mu, releases in fleet.ledger(
                i, 'SELECT key, mu, releases FROM account'):
            rows = fleet.ledger(i, 'SELECT count(*) FROM release WHERE key = ? '
                                'AND mu = ?', key, mu)
            expect(rows == [(releases,)],
                   f'the account of node {i} for {key}: {rows}, {releases}')
        fleet.check_study(fleet.path(f'{i}.ledger'))
    return len(arrived)


with Fleet(build, nodes=NODES, dimension=64) as fleet:
    names = ['server'] + [f'node{i}' for i in range(NODES)]
    for name in names:
        start(fleet, name)
    fleet.wait_rounds(3)
    for k in range(kills):
        time.sleep(random.uniform(0, .25))
        name = random.choice(names)
        fleet.stop(name, signal.SIGKILL)
        time.sleep(random.choice([0, 0, .05]))
        start(fleet, name)
    stored = fleet.rounds()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        full, = fleet.query('SELECT count(*) FROM round WHERE arrived = ?',
                            NODES)[0]
        last = fleet.query('SELECT arrived FROM round ORDER BY round DESC '
                           'LIMIT 5')
        if fleet.rounds() > stored + 5 and last == [(NODES,)] * 5:
            break
        time.sleep(.2)
    else:
        expect(False, 'not every process came back:\n' + fleet.log('server'))
    for name in names:
        expect(fleet.stop(name) == 0, f'{name} did not stop well:\n' +
               fleet.log(name))
    fleet.check_study()
    numbers = [r for r, in fleet.query('SELECT round FROM round')]
    expect(len(numbers) == len(set(numbers)), 'a round is stored twice')
    opened, = fleet.query('SELECT round FROM round_opened')[0]
    expect(max(numbers) <= opened, 'a stored round was not noted before')
    shares = check_ledgers(fleet)
    print(f'{kills} kills, {len(numbers)} rounds stored of {opened} opened, '
          f'{shares} shares arrived and all are charged')
