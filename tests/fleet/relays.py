"""What relays and servers could get around, and cannot any more: keys of
neighbours come from the node's own trust file, a relay that withholds its own
part puts its noise into the sum all the same, and whoever looks at the page costs
the rounds nothing. Arguments: build folder."""
import os
import sqlite3
import sys
import time

import numpy as np

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 3, 400
EARLY = ['--early', '--period', '20', '--share', '3000', '--uplink', '4000']


def test_keys():
    """Without a key in its trust file, or --first-seen, a neighbour gets nothing,
    whatever the server says; with one, all is well."""
    with Fleet(build, nodes=N, dimension=8) as fleet:
        fleet.write('0.trust', 'to,eps,delta,key\n0,inf,1,\n1,inf,1,\n'
                    f'2,inf,1,{fleet.keys[2]}\n')
        words = [w for w in fleet.node_arguments(0) if w != '--first-seen']
        fleet.spawn('node0', words)
        for i in range(1, N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--quorum', str(N), '--rounds', '4')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        fleet.wait_log('node0', 'the trust file has no key for node 1')
        kept = set(fleet.query('SELECT from_node, to_node, reason FROM withheld '
                               'NATURAL JOIN link'))
        expect(kept == {(0, 1, 'trust')}, f'withheld: {kept}')
        keys = {key for key, in fleet.ledger(0, 'SELECT key FROM account')}
        server = fleet.keys['server']
        expect(keys == {fleet.keys[2], server, 'all to ' + server}, f'{keys}')


def test_cover():
    """Node 0 refuses its own part. Its noise, which the others' accounts towards
    the server count on, is in its sum, and its data is not."""
    own, weight, noise, rounds = .5, .25, 1., 6
    with Fleet(build, nodes=N, dimension=D, weight=weight, noise=0, own=own,
               own_noise=0) as fleet:
        with sqlite3.connect(fleet.study) as db:
            db.execute('UPDATE plan_node SET noise = ? WHERE node = 0', (noise,))
        db.close()
        for i in range(N):
            fleet.write_trust(i, [f'{j},inf,1,inf,1' for j in range(N)])
        fleet.write_trust(0, ['0,1e-3,1e-9', '1,inf,1,inf,1', '2,inf,1,inf,1'])
        fleet.write('0.trust', 'to,eps,delta\n0,1e-3,1e-9\n1,inf,1\n2,inf,1\n')
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--quorum', '2', '--rounds', str(rounds))
        expect(fleet.wait('server') == 0, fleet.log('server'))
        kept = set(fleet.query('SELECT node, link, reason FROM withheld'))
        expect(kept == {(0, -1, 'trust')}, f'withheld: {kept}')
        expect(fleet.dropped() == {}, f'{fleet.dropped()}')
        weights = np.full(N, own + weight * (N - 1))
        weights[0] -= own
        for number, bar in fleet.query('SELECT round, bar FROM round WHERE '
                                       'arrived = ?', N):
            off = N * fleet.estimates()[number] - weights @ fleet.data
            # Deviation of the mean square of 400: .07; 5 of them.
            expect(abs(np.mean(off ** 2) / noise ** 2 - 1) < .36,
                   f'round {number}: noise of variance {np.mean(off ** 2)}')
            expect(bar > D * noise ** 2 / N ** 2, f'a bar of {bar}')
        full = fleet.query('SELECT count(*) FROM round WHERE arrived = ?', N)
        expect(full[0][0] >= 3, f'{full} full rounds')


def test_readers():
    """Estimates go to a node only if the budgets towards it hold all that it
    could learn: node 1 has a loose one from both others, node 2 a tight one of
    node 0, node 0 none of node 2."""
    links = {(0, 1): 60, (2, 1): 60, (0, 2): 1, (1, 2): 60, (1, 0): 60}
    with Fleet(build, nodes=N, dimension=8, weight=.25, noise=.5, own=.5,
               own_noise=.5, topology=list(links)) as fleet:
        with sqlite3.connect(fleet.study) as db:
            for (a, b), eps in links.items():
                db.execute('UPDATE link SET eps = ? WHERE from_node = ? AND '
                           'to_node = ?', (eps, a, b))
            db.execute('UPDATE plan SET rounds = 6')
        db.close()
        for readers in 'budgets', 'all':
            for i in range(N):
                fleet.start_node(i, '--estimate', fleet.path(f'{readers}{i}'))
            words = fleet.server_arguments(*EARLY, '--quorum', str(N), '--rounds',
                                           '6')
            words[words.index('--readers') + 1] = readers
            fleet.spawn('server', words)
            expect(fleet.wait('server') == 0, fleet.log('server'))
            for i in range(N):
                fleet.stop(f'node{i}')
                told = 'gave this node no estimate' in fleet.log(f'node{i}')
                expect(told == (i != 1), f'node {i}: {told}')
        got = {name for name in os.listdir(fleet.dir)
               if name[:-1] in ('budgets', 'all')}
        expect(got == {'budgets1', 'all0', 'all1', 'all2'}, f'{got}')
        fleet.wait_log('server', 'asks for estimates and gets none')


def processor(process):
    """Seconds it has used."""
    with open(f'/proc/{process.pid}/stat') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def test_page():
    """A mesh of 40 nodes, two of them there: a look at the page or the metrics
    takes no longer than a heartbeat would, whatever the study holds."""
    count, looks = 40, 20
    with Fleet(build, nodes=count, dimension=8) as fleet:
        for i in range(2):
            fleet.start_node(i)
        fleet.start_server('--early', '--period', '10', '--share', '100',
                           '--uplink', '200', '--port', str(fleet.status_port))
        fleet.wait_rounds(20)
        server = fleet.processes['server']
        before, rounds, started = processor(server), fleet.rounds(), time.monotonic()
        time.sleep(1.5)
        idle = (processor(server) - before) / (time.monotonic() - started)
        before, started = processor(server), time.monotonic()
        for _ in range(looks):
            for path in '/', '/metrics', '/health':
                fleet.get(path)
        spent = processor(server) - before
        took = time.monotonic() - started
        each = max(0, spent - idle * took) / looks
        expect(each < .05, f'{1000 * each:.1f} ms of the processor a look')
        expect(fleet.rounds() > rounds, 'no rounds meanwhile')
        print(f'{1000 * each:.1f} ms of the processor for page, metrics and '
              'health together')


for test in (test_keys, test_cover, test_readers, test_page):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
