"""pricer-node --check: each thing that can be wrong is named with its cure, what
is right is not, no round is joined and nothing is charged. And a node without its
ledger does not start unless it is told that it never sent anything. Arguments:
build folder."""
import json
import os
import subprocess
import sys
import time

import numpy as np

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 3, 20
TIMES = ['--period', '100', '--send', '20', '--share', '50', '--uplink', '90']


def check(fleet, i=0, data=True, without=(), more=()):
    """What is bad, by what it is about."""
    words = [w for w in fleet.node_arguments(i, *more, data=data)
             if w not in without]
    done = subprocess.run([*words, '--check', '--json'], capture_output=True,
                          text=True, timeout=60)
    found = json.loads(done.stdout)
    expect(done.returncode == (0 if found['good'] else 1),
           f'exit status {done.returncode}: {done.stdout}')
    bad = {c['what']: c['text'] for c in found['checks'] if not c['good']}
    expect(found['good'] == (not bad), done.stdout)
    return bad


def charged(fleet, i=0):
    return fleet.ledger(i, 'SELECT count(*) FROM release')[0][0]


def test_good():
    """A node that is right; while it runs, and after rounds."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for i in 1, 2:
            fleet.start_node(i)
        fleet.start_server(*TIMES, '--quorum', '2')
        fleet.wait_rounds(3)
        fleet.start_node(0)
        fleet.wait_rounds(fleet.rounds() + 50)
        bad = check(fleet)
        expect(set(bad) == {'ledger'} and 'that node runs' in bad['ledger'], bad)
        fleet.stop('node0')
        before = charged(fleet)
        rounds = fleet.rounds()
        expect(before > 0 and check(fleet) == {}, check(fleet))
        fleet.wait_rounds(rounds + 20)
        expect(charged(fleet) == before, 'the check was charged for')
        joined = fleet.query('SELECT count(*) FROM arrival WHERE node = 0 AND '
                             'arrived = 1 AND round > ?', rounds + 1)
        expect(joined == [(0,)], f'the check joined rounds: {joined}')
        text = subprocess.run([*fleet.node_arguments(0), '--check'], text=True,
                              capture_output=True).stdout
        expect(text.count('good  ') >= 8 and 'BAD' not in text, text)


def test_bad():
    """One mistake at a time."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        bad = check(fleet, without=['--new-ledger'])
        expect('does pricer-server run' in bad.get('server', '') and
               '--new-ledger' in bad.get('ledger', ''), bad)
        fleet.start_server(*TIMES, '--quorum', str(N))
        fleet.wait_log('server', 'listening')
        fleet.start_node(0)
        fleet.wait_log('node0', 'plan 1')
        fleet.stop('node0')
        expect(check(fleet) == {}, check(fleet))

        os.chmod(fleet.key(0), 0o644)
        bad = check(fleet)
        expect('chmod 600' in bad.get('key', ''), bad)
        os.chmod(fleet.key(0), 0o600)

        fleet.addresses['server'], right = 'tcp://127.0.0.1:1', \
            fleet.addresses['server']
        bad = check(fleet)
        expect('nobody answers' in bad.get('server', ''), bad)
        fleet.addresses['server'] = right

        bad = check(fleet, more=['--listen', fleet.addresses['server']])
        expect('in use' in bad.get('listen', ''), bad)

        stranger = fleet.run('pricer', 'keygen', fleet.path('x')).stdout.strip()
        bad = check(fleet, more=['--server-key', stranger])
        expect('--server-key' in bad.get('server', ''), bad)
        bad = check(fleet, more=['--key', fleet.path('x')])
        expect(f'pricer enrol STUDY 0 {stranger}' in bad.get('enrolment', ''), bad)

        fleet.write_trust(0, ['0,1000,1e-3,inf,1', '1,1,1e-3,inf,1'])
        bad = check(fleet)
        expect('node 2 is not in the trust file' in bad.get('budgets', ''), bad)
        # Too little noise for any two data within the radius, and enough where
        # the node itself says that they are closer; the server cannot say so.
        fleet.write_trust(0, [f'{i},0.001,1e-3,inf,1' for i in range(N)])
        expect('too small for eps' in check(fleet).get('budgets', ''), check(fleet))
        expect(check(fleet, more=['--diameter', '1e-5']) == {},
               check(fleet, more=['--diameter', '1e-5']))
        expect('too small for eps' in
               check(fleet, more=['--diameter', '1.9']).get('budgets', ''), 'far')
        fleet.write_trust(0, ['1,1000,1e-3,inf,1', '2,1000,1e-3,inf,1'])
        expect('no row for 0' in check(fleet).get('trust', ''), 'own row')
        fleet.write('0.trust', 'nonsense\n')
        expect('0.trust:1' in check(fleet).get('trust', ''), 'nonsense')
        fleet.write_trust(0)

        np.save(fleet.path('short.npy'), fleet.data[:, 1:])
        bad = check(fleet, data=False, more=['--data', fleet.path('short.npy')])
        expect('19 elements' in bad.get('vector', ''), bad)
        bad = check(fleet, data=False, more=['--data', fleet.path('none.npy')])
        expect('No such file' in bad.get('vector', ''), bad)
        bad = check(fleet, data=False, more=['--command', 'exit 3'])
        expect('exit status 3' in bad.get('vector', ''), bad)
        expect(check(fleet, data=False, more=[
            '--row', '0', '--command', f'cat {fleet.path("data.npy")}']) == {},
            'a good command')
        bad = check(fleet, more=['--estimate', '/nowhere/estimate.npy'])
        expect('/nowhere' in bad.get('disk', ''), bad)
        expect(charged(fleet) == 0 and fleet.rounds() == 0, 'not only looked')


def test_missing_ledger():
    """Without its ledger a node sends nothing: what was spent is not known."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*TIMES, '--quorum', str(N), '--rounds', '8')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        fleet.stop('node0')
        expect(charged(fleet) > 0, 'no rounds')
        for damage in 'gone', 'empty':
            for ending in '', '-wal', '-shm':
                if os.path.exists(fleet.path('0.ledger' + ending)):
                    os.remove(fleet.path('0.ledger' + ending))
            if damage == 'empty':
                fleet.write('0.ledger', '')
            words = [w for w in fleet.node_arguments(0) if w != '--new-ledger']
            done = subprocess.run(words, capture_output=True, text=True,
                                  timeout=20)
            expect(done.returncode == 1 and '--new-ledger' in done.stderr,
                   f'{damage}: {done.returncode} {done.stderr}')


for test in (test_good, test_bad, test_missing_ledger):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
