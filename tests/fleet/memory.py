"""What the server remembers of its nodes, and what they do about it: a ledger
that is put back or made anew sends nothing, of two nodes with one key the second
stays out, the two ends of a link are compared, rounds do not jump, and noise that
is late is neither charged nor sent. Arguments: build folder."""
import os
import shutil
import sqlite3
import subprocess
import sys
import time

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 3, 16
EARLY = ['--early', '--period', '15', '--share', '400', '--uplink', '800']


def ledger_copy(fleet, i, name):
    """The ledger as of now, in one file."""
    path = fleet.path(name)
    db = sqlite3.connect(fleet.path(f'{i}.ledger'))
    copy = sqlite3.connect(path)
    db.backup(copy)
    copy.close()
    db.close()
    return path


def put_back(fleet, i, path):
    for end in '', '-wal', '-shm':
        if os.path.exists(fleet.path(f'{i}.ledger') + end):
            os.remove(fleet.path(f'{i}.ledger') + end)
    if path is not None:
        shutil.copy(path, fleet.path(f'{i}.ledger'))


def charged(fleet, i):
    return fleet.ledger(i, 'SELECT count(*) FROM release')[0][0]


def test_rollback():
    """Put back, made anew, and gone on with after the operator's word; also if
    the server was away meanwhile."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--quorum', str(N))
        fleet.wait_rounds(5)
        old = ledger_copy(fleet, 0, 'old.ledger')
        fleet.wait_rounds(fleet.rounds() + 5)
        for old, server_too in (old, False), (None, True):
            fleet.stop('node0')
            # The server stores what it remembers once a second.
            time.sleep(1.3)
            if server_too:
                fleet.stop('server')
            put_back(fleet, 0, old)
            before = charged(fleet, 0) if old else 0
            if os.path.exists(fleet.path('node0.log')):
                os.remove(fleet.path('node0.log'))
            if server_too:
                fleet.start_server(*EARLY)
            fleet.start_node(0)
            fleet.wait_log('node0', 'the ledger is behind')
            fleet.wait_log('server', 'node 0: its ledger ends at')
            fleet.wait_rounds(fleet.rounds() + 8)
            expect(charged(fleet, 0) == before, 'it charged, so it sent')
            why = fleet.query('SELECT reason FROM withheld WHERE node = 0 AND '
                              'round = (SELECT max(round) FROM round)')
            expect(len(why) == N and set(why) == {('ledger',)}, f'{why}')
        # The operator's word; the option leaves the rest to the next start.
        fleet.stop('node0')
        last = fleet.query('SELECT max(round) FROM round')[0][0]
        words = fleet.node_arguments(0, '--ledger-accept', str(last))
        done = subprocess.run(words, capture_output=True, text=True, timeout=20)
        expect(done.returncode == 0, done.stderr)
        fleet.start_node(0)
        deadline = time.monotonic() + 20
        while charged(fleet, 0) == 0 and time.monotonic() < deadline:
            time.sleep(.1)
        expect(charged(fleet, 0) > 0, 'it does not go on: ' + fleet.log('node0'))
        # Restarts of either side with the right ledger are no trouble.
        for name in 'node0', 'server':
            fleet.stop(name)
        os.remove(fleet.path('node0.log'))
        os.remove(fleet.path('server.log'))
        fleet.start_server(*EARLY)
        fleet.start_node(0)
        count = charged(fleet, 0)
        fleet.wait_rounds(fleet.rounds() + 8)
        expect(charged(fleet, 0) > count, 'it does not send')
        for name in 'node0', 'server':
            expect('behind' not in fleet.log(name) and
                   'its ledger' not in fleet.log(name), fleet.log(name))


def test_twins():
    """A clone of a running node stays out and is told; so is the first."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--quorum', str(N), '--port',
                           str(fleet.status_port))
        fleet.wait_rounds(5)
        shutil.copy(ledger_copy(fleet, 0, 'clone.ledger'),
                    fleet.path('9.ledger'))
        words = fleet.node_arguments(0)
        words[words.index('--ledger') + 1] = fleet.path('9.ledger')
        words[words.index('--listen') + 1] = 'tcp://127.0.0.1:*'
        fleet.spawn('clone', words)
        fleet.wait_log('clone', 'another node is connected with its key')
        fleet.wait_log('node0', "another node came to the server with this")
        fleet.wait_log('server', 'node 0: a second node came with its key')
        expect('node 0: a second node came' in fleet.get('/health')[1],
               fleet.get('/health')[1])
        count, first = charged(fleet, 9), fleet.rounds()
        fleet.wait_rounds(first + 40)
        expect(charged(fleet, 9) == count, 'the clone sent')
        sums = fleet.query('SELECT count(*) FROM arrival WHERE node = 0 AND NOT '
                           'arrived AND round > ?', first)
        expect(sums == [(0,)], f'the first missed {sums} rounds')
        # The first goes, and the clone, whose ledger is older, says so.
        fleet.stop('node0')
        fleet.wait_log('clone', 'the ledger is behind')
        fleet.wait_rounds(fleet.rounds() + 5)
        expect(charged(fleet, 9) == count, 'the clone sent')


def test_noise():
    """Noise that takes longer than the time to send is not sent, nor charged."""
    with Fleet(build, nodes=N, dimension=200000, noise=.5, own_noise=.5) as fleet:
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server('--period', '800', '--send', '1', '--share', '500',
                           '--uplink', '700', '--quorum', str(N))
        fleet.wait_rounds(3)
        for name in list(fleet.processes):
            fleet.stop(name)
        expect([charged(fleet, i) for i in range(N)] == [0] * N, 'charged')
        why = fleet.withheld()
        expect(set(why) == {'late'}, f'withheld for {why}')
        expect(fleet.query('SELECT sum(contributors) FROM round') == [(0,)],
               'late noise was sent')


def lie():
    """A relay that claims data of every neighbour, as a process of its own."""
    import numpy as np
    from python_node import DATA, SUM, Node, halves, public_key

    class Liar(Node):
        def send(self, link, *elements):
            if elements[0] == SUM:
                elements = list(elements)
                elements[3] = halves([DATA] * N)
            super().send(link, *elements)

    number, key, server, server_key, listen, data = sys.argv[2:8]
    Liar(int(number), key, server, public_key(server_key), listen,
         np.load(data)[int(number)]).run()


def test_dispute():
    """Node 0 gives node 2 nothing, and node 2 says that it has its data."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        fleet.write_trust(0, ['0,1000,1e-3,inf,1', '1,1000,1e-3,inf,1'])
        for i in range(2):
            fleet.start_node(i)
        fleet.spawn('liar', ['/usr/bin/python3', os.path.abspath(__file__),
                             'lie', '2', fleet.key(2),
                             fleet.addresses['server'], fleet.key('server'),
                             fleet.addresses[2], fleet.path('data.npy')])
        fleet.start_server(*EARLY, '--quorum', '2', '--port',
                           str(fleet.status_port))
        fleet.wait_log('server', 'node 2 says that node 0 gave it data, and node '
                       '0 that it gave trust')
        for i, text in (0, 'disagree'), (2, 'disagree'):
            expect(f'node {i}: it and a neighbour {text}' in
                   fleet.get('/health')[1], fleet.get('/health')[1])
        expect('node 1: it and' not in fleet.get('/health')[1], 'node 1')
        expect(fleet.metrics()['pricer_disputes_total'] > 0, 'metrics')


def test_jump():
    """A server that counts as no server may is not followed."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--first-round', str(2 ** 32 + 1), '--quorum',
                           str(N))
        fleet.wait_log('node0', 'the round is too far from the last one')
        expect([charged(fleet, i) for i in range(N)] == [0] * N, 'charged')


def test_new_study():
    """Nodes of an older study: the server says from which number on it has to
    count, and when it does, all is well."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--quorum', str(N), '--rounds', '40')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        with sqlite3.connect(fleet.study) as db:
            for table in ('arrival', 'delivery', 'withheld', 'dropped', 'round',
                          'round_opened', 'member_seen'):
                db.execute(f'DELETE FROM {table}')
        db.close()
        last = max(fleet.ledger(i, 'SELECT max(round) FROM release')[0][0]
                   for i in range(N))
        os.truncate(fleet.path('server.log'), 0)
        fleet.start_server(*EARLY, '--quorum', str(N), '--ahead', '3')
        fleet.wait_log('server', f'--first-round {last + 1} or more')
        fleet.stop('server')
        os.truncate(fleet.path('server.log'), 0)
        fleet.start_server(*EARLY, '--quorum', str(N), '--ahead', '3',
                           '--first-round', str(last + 1), '--rounds', '10')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        expect('its ledger ends' not in fleet.log('server'), fleet.log('server'))
        # The server that was told may have closed empty rounds before.
        first, full = fleet.query('SELECT min(round), sum(contributors = ?) FROM '
                                  'round WHERE contributors > 0', N)[0]
        expect(first > last and full > 5, f'from {first} after {last}: {full}')


if sys.argv[1] == 'lie':
    lie()
for test in (test_rollback, test_twins, test_dispute, test_jump, test_new_study,
             test_noise):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
