"""Withheld is not lost: a node that does not send says so to the relay, and the
study, the page and the metrics tell refusals from links that are down, each
reason by itself; estimates of probabilities use what was tried; a round
without data gives no estimate; refusals tell the server a code and no more.
Arguments: build folder."""
import os
import sqlite3
import sys
import time

import numpy as np

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 3, 6
TIMES = ['--period', '900', '--send', '400', '--share', '650', '--uplink',
         '850', '--quorum', str(N)]
EARLY = ['--early', '--period', '0', '--share', '5000', '--uplink', '8000']


def reasons(fleet, *keys):
    return set(fleet.query(f'SELECT DISTINCT {",".join(keys)} FROM withheld '
                           'LEFT JOIN link USING (link)'))


def test_reasons():
    """Late and missing vectors, spent budgets, trust files: four nodes, each
    with its own fault, over links that are all up."""
    count = 5
    with Fleet(build, nodes=count, dimension=D, weight=.25, noise=1, own=.5,
               own_noise=1) as fleet:
        fleet.start_node(0, '--command', 'sleep 60', data=False)
        fleet.start_node(1, '--command', 'exit 3', data=False)
        fleet.write_trust(2, [f'{j},1000,1e-3,.1,1e-9' for j in range(count)])
        fleet.write_trust(3, ['3,1e-6,1e-9'] + [f'{j},inf,1' for j in (0, 1)])
        fleet.write('3.trust', 'to,eps,delta\n3,1e-6,1e-9\n0,inf,1\n1,inf,1\n')
        for i in (2, 3, 4):
            fleet.start_node(i)
        fleet.start_server(*TIMES[:-1], '4', '--port', str(fleet.status_port))
        fleet.wait_rounds(6)
        status, text = fleet.get('/health')
        metrics = fleet.metrics()
        expect(fleet.stop('server') == 0, fleet.log('server'))
        found = reasons(fleet, 'node', 'link >= 0', 'to_node', 'reason')
        everyone = set(range(count))
        want = {(i, 0, None, why) for i, why in
                ((0, 'late'), (1, 'vector'), (2, 'spent'), (3, 'trust'))}
        for i, why in ((0, 'late'), (1, 'vector'), (2, 'spent')):
            want |= {(i, 1, j, why) for j in everyone - {i}}
        want |= {(3, 1, j, 'trust') for j in (2, 4)}
        expect(found == want, f'{found ^ want} differ')
        ups = fleet.query('SELECT avg(arrived), count(*) FROM delivery')[0]
        expect(ups[0] > .95 and ups[1] >= 5 * count * (count - 1),
               f'links that are up look like {ups}')
        for why in ('late', 'vector', 'spent', 'trust'):
            expect(metrics[f'pricer_withheld_total{{reason="{why}"}}'] > 0,
                   f'{why} is not counted: {metrics}')
            expect(f'withholds its own part: {why}' in text,
                   f'/health: {status} {text}')
        expect(metrics['pricer_contributors'] == 2, f'{metrics}')
        rows = fleet.query('SELECT DISTINCT contributors FROM round')
        expect(rows == [(2,)], f'contributors: {rows}')
        weight = fleet.query('SELECT avg(weight) FROM round')[0][0]
        # Node 4 whole, and of node 3 two links of .25; of 5 (.5 + 4 * .25).
        expect(abs(weight - (1.5 + .5) / 7.5) < .05, f'weight {weight}')


def test_measured():
    """A budget that is spent early leaves the measured p of its link alone."""
    rounds = 40
    with Fleet(build, nodes=N, dimension=D, weight=.5, noise=2, own=.5,
               own_noise=2, p=.9, uplink=[1] * N) as fleet:
        fleet.write_trust(0, ['0,inf,1,inf,1', '1,2,1e-3,2,1e-3',
                              '2,2,1e-3,inf,1'])
        for i in range(N):
            fleet.start_node(i, *fleet.emulation())
        fleet.start_server(*EARLY, '--rounds', str(rounds), '--quorum', str(N),
                           '--emulate', '--seed', str(fleet.seed))
        expect(fleet.wait('server') == 0, fleet.log('server'))
        spent, = fleet.query("SELECT count(*) FROM withheld")[0]
        expect(spent > rounds / 3, f'{spent} shares were withheld')
        worst = fleet.query('SELECT min(up) FROM (SELECT avg(arrived) AS up FROM '
                            'delivery GROUP BY link)')[0][0]
        # P(Binomial(40, .9) < 28) < 1e-4 for each of 6 links.
        expect(worst >= 28 / 40, f'a link with p = .9 was measured as {worst}')


def test_no_estimate():
    """Nobody contributes: no estimate, no zero, and /health says so."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        secret = fleet.path('patient-4711.npy')
        for i in range(N):
            fleet.start_node(i, '--data', secret, '--estimate',
                             fleet.path(f'estimate{i}.npy'), data=False)
        fleet.start_server('--period', '200', '--send', '50', '--share', '120',
                           '--uplink', '180', '--quorum', str(N), '--port',
                           str(fleet.status_port))
        fleet.wait_rounds(3)
        status, text = fleet.get('/health')
        expect(status == 503 and 'the quorum is 3' in text and
               'withholds its own part: vector' in text, f'{status} {text}')
        rows = fleet.query('SELECT DISTINCT estimate, error, contributors, '
                           'weight FROM round')
        expect(rows == [(None, None, 0, 0)], f'{rows}')
        expect(not os.path.exists(fleet.path('estimate0.npy')),
               'an estimate was published')
        fleet.wait_log('node0', 'gave this node no estimate')
        # The server knows the code; the file's name stays at home.
        fleet.wait_log('server', 'code 5')
        expect('patient' in fleet.log('node0') and
               'patient' not in fleet.log('server') and
               'patient' not in fleet.get('/')[1], 'a name went to the server')
        # The data comes; so do estimates.
        np.save(secret, fleet.data)
        fleet.wait_log('server', 'the quorum is there again')
        for _ in range(50):
            if fleet.get('/health') == (200, 'ok\n'):
                break
            time.sleep(.1)
        expect(fleet.get('/health') == (200, 'ok\n'), fleet.get('/health')[1])
        fleet.wait_log('server', '')
        for _ in range(50):
            if os.path.exists(fleet.path('estimate0.npy')):
                break
            time.sleep(.1)
        expect(os.path.exists(fleet.path('estimate0.npy')), 'no estimate')
        expect(fleet.stop('server') == 0, fleet.log('server'))


def test_quorum():
    """More than there are is refused at the start."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        done = fleet.run('pricer-server', fleet.study, '--key',
                         fleet.key('server'), '--quorum', '4', check=False)
        expect(done.returncode == 1 and 'only 3 nodes are enrolled' in
               done.stderr, f'{done}')


def test_claim():
    """A study has one server, and nobody replaces it meanwhile."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        fleet.start_server()
        end = time.monotonic() + 20
        while 'listening' not in fleet.log('server'):
            expect(time.monotonic() < end, fleet.log('server'))
            time.sleep(.05)
        second = fleet.run('pricer-server', fleet.study, '--key',
                           fleet.key('server'), check=False)
        expect(second.returncode == 1 and 'a server has this study open' in
               second.stderr, f'{second}')
        forced = fleet.run('pricer', 'new', '--force', fleet.study,
                           fleet.path('s.yaml'), check=False)
        expect(forced.returncode == 1 and 'a server has this study open' in
               forced.stderr, f'{forced}')
        expect(fleet.stop('server') == 0, fleet.log('server'))
        fleet.check_study()


def test_clipping():
    """A vector that is too long is clipped, and its owner hears of it."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        np.save(fleet.path('long.npy'), fleet.data[0] * 3)
        fleet.start_node(0, '--data', fleet.path('long.npy'), '--row', '0',
                         data=False)
        for i in range(1, N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--rounds', '12', '--quorum', str(N))
        expect(fleet.wait('server') == 0, fleet.log('server'))
        for i in range(N):
            fleet.stop(f'node{i}')
        log = fleet.log('node0')
        expect('is clipped to 1' in log and 'in 12 of them the vector was '
               'clipped' in log, log)
        expect('in 0 of them' in fleet.log('node1'), fleet.log('node1'))
        expect('clip' not in fleet.log('server'), 'the server knows')


for test in (test_reasons, test_measured, test_no_estimate, test_quorum,
             test_claim, test_clipping):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
