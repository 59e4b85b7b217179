"""What a node decides by itself, and what the server shows: vectors from a
command, budgets that run out, noise that is too small, keys that changed, a new
plan while rounds run, the status page. Arguments: build folder."""
import os
import sys
import time

import numpy as np

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 3, 20
EARLY = ['--early', '--period', '20', '--share', '3000', '--uplink', '4000',
         '--quorum', str(N)]


def refusals(fleet, node):
    return [line for line in fleet.log(f'node{node}').splitlines()
            if 'refused' in line]


def test_command():
    """Vectors from a command: right ones count, all else is refused."""
    with Fleet(build, nodes=N, dimension=D, weight=.25, noise=0, own=.5,
               own_noise=0) as fleet:
        good, bad = fleet.data[0], fleet.data[0].copy()
        bad[3] = np.nan
        for name, vector in ('good', good), ('nan', bad), ('short', good[1:]):
            np.save(fleet.path(name + '.npy'), vector)
        fleet.write('make.sh', f'''
cd {fleet.dir}
[ "$PRICER_DIMENSION" = {D} ] || exit 4
case $((PRICER_ROUND % 6)) in
1) exit 3 ;;
2) cat nan.npy ;;
3) cat short.npy ;;
4) sleep 60 ;;
5) cat /dev/zero ;;
0) cat good.npy ;;
esac
''')
        for i in range(N):
            fleet.write_trust(i, [f'{j},inf,1,inf,1' for j in range(N)])
        fleet.start_node(0, '--command', 'sh ' +
                         fleet.path('make.sh'), '--estimate',
                         fleet.path('estimate.npy'), data=False)
        for i in range(1, N):
            fleet.start_node(i)
        fleet.start_server('--period', '500', '--send', '350', '--share', '420',
                           '--uplink', '470', '--quorum', str(N), '--rounds',
                           '7')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        full = fleet.data.mean(axis=0) * (.5 + .25 * (N - 1))
        without = fleet.data[1:].sum(axis=0) / N * (.5 + .25 * (N - 1))
        for number, estimate in fleet.estimates().items():
            want = full if number % 6 == 0 else without
            expect(np.abs(estimate - want).max() < 1e-12,
                   f'round {number} is wrong:\n' + fleet.log('node0'))
        rounds = [r for r, in fleet.ledger(0, 'SELECT DISTINCT round FROM '
                                           'release')]
        expect(rounds == [6], f'charged {rounds}')
        # Of the last round, or of one before if its news came too late.
        written = np.load(fleet.path('estimate.npy'))
        expect(min(np.abs(written - without).max(),
                   np.abs(written - full).max()) < 1e-12,
               'the estimate that a node wrote is another')


def test_budget():
    """Exactly as many releases as the budget holds, then none."""
    with Fleet(build, nodes=N, dimension=D, weight=.5, noise=2, own=.5,
               own_noise=2) as fleet:
        # mu = 2 * .5 / 2; ten releases are mu = sqrt(10) / 2: eps(1e-3) = 5.09
        fleet.write_trust(0, ['0,inf,1,inf,1', '1,2,1e-3,5.5,1e-3',
                              '2,2,1e-3,inf,1'])
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*EARLY[:-2], '--quorum', str(N), '--share', '1500',
                           '--rounds', '16')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        counts = dict(fleet.ledger(0, 'SELECT key, releases FROM account'))
        expect(counts[fleet.keys[2]] == 16 and counts[fleet.keys['server']] == 16,
               f'{counts}')
        spent = counts[fleet.keys[1]]
        expect(9 <= spent <= 12, f'{spent} releases in a budget for ten or so')
        arrived = [a for a, in fleet.query(
            'SELECT arrived FROM delivery NATURAL JOIN link WHERE from_node = 0 '
            'AND to_node = 1 ORDER BY round')]
        expect(arrived == [1] * 16, f'the link was up: {arrived}')
        kept = fleet.query("SELECT round FROM withheld NATURAL JOIN link WHERE "
                           "from_node = 0 AND to_node = 1 AND reason = 'spent' "
                           "ORDER BY round")
        expect([r for r, in kept] == list(range(spent + 1, 17)), f'{kept}')
        expect(any('spent' in line for line in refusals(fleet, 0)),
               'the node does not say that its budget is spent')
        # A new process goes on where the ledger is: still nothing.
        fleet.stop('node0')
        fleet.start_node(0)
        fleet.start_server(*EARLY[:-2], '--quorum', str(N), '--share', '200',
                           '--rounds', '2')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        counts = dict(fleet.ledger(0, 'SELECT key, releases FROM account'))
        expect(counts[fleet.keys[1]] == spent, 'a restart refreshed the budget')


def test_trust():
    """Noise that is too small, strangers and changed keys get nothing."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        fleet.write_trust(0, ['0,1000,1e-3,inf,1', '1,1,1e-3,inf,1'])
        stranger = fleet.run('pricer', 'keygen', fleet.path('x')).stdout.strip()
        fleet.write('1.trust', 'to,eps,delta,key\n1,inf,1,\n0,inf,1,' +
                    fleet.keys[0] + '\n2,inf,1,' + stranger + '\n')
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*EARLY[:-2], '--quorum', str(N), '--share', '200',
                           '--rounds', '3')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        text = '\n'.join(refusals(fleet, 0))
        expect('noise to node 1 is too small' in text and
               'node 2 is not in the trust file' in text, text)
        text = '\n'.join(refusals(fleet, 1))
        expect('key of node 2 is not the one in the trust file' in text, text)
        up = fleet.query('SELECT min(arrived), count(*) FROM delivery')
        expect(up == [(1, 3 * N * (N - 1))], f'links up: {up}')
        kept = set(fleet.query('SELECT from_node, to_node, reason FROM withheld '
                               'NATURAL JOIN link'))
        expect(kept == {(0, 1, 'trust'), (0, 2, 'trust'), (1, 2, 'trust')},
               f'withheld: {kept}')
        # Node 2 gets a new key: node 0 and 1 have it pinned or in the file.
        fleet.stop('node2')
        os.rename(fleet.path('x'), fleet.key(2))
        fleet.keys[2] = stranger
        fleet.run('pricer', 'enrol', fleet.study, '2', stranger,
                  fleet.addresses[2])
        fleet.write_trust(0)
        fleet.stop('node0')
        for i in (0, 2):
            fleet.start_node(i)
        fleet.start_server(*EARLY[:-2], '--quorum', str(N), '--share', '200',
                           '--rounds', '2')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        rows = fleet.ledger(1, 'SELECT count(*) FROM release WHERE key = ?',
                            stranger)
        expect(rows == [(2,)], f'the key of the file, charged: {rows}')


def test_page_and_plan():
    """The page, the metrics, and a plan that changes while rounds run."""
    with Fleet(build, nodes=N, dimension=D, weight=.25, noise=0, own=.5,
               own_noise=0, p=.1, uplink=[.1] * N) as fleet:
        for i in range(N):
            fleet.write_trust(i, [f'{j},inf,1,inf,1' for j in range(N)])
            fleet.start_node(i)
        port = fleet.status_port
        fleet.start_server(*EARLY, '--port', str(port))
        fleet.wait_rounds(30)
        expect(fleet.get('/health') == (200, 'ok\n'), '/health')
        status, page = fleet.get('/')
        expect(status == 200 and 'rounds since the start' in page and
               '3 nodes ready' in page, page)
        expect('links are not what the plan takes them for' in page,
               'links that never fail do not drift from p = 0.1?')
        expect(fleet.get('/x')[0] == 404, 'a page that is not there')
        expect(fleet.get('/', 'POST')[0] == 405, 'POST')
        status, text = fleet.get('/metrics')
        values = dict(line.rsplit(' ', 1) for line in text.splitlines()
                      if not line.startswith('#'))
        expect(float(values['pricer_rounds_total']) >= 30 and
               float(values['pricer_links_drifting']) == N + N * (N - 1) and
               values['pricer_dropped_total{reason="late"}'] == '0' and
               float(values['pricer_connections_accepted_total']) >= N and
               'pricer_connections_ended_total{why="long"}' in values, text)
        before = fleet.rounds()
        fleet.add_plan(0, 0, 1, 0)
        fleet.wait_rounds(before + 40)
        # Rounds go on without a node that has not taken the new plan yet.
        for _ in range(200):
            full = [number for (number,) in fleet.query(
                'SELECT round FROM round WHERE plan = 2 AND arrived = ?', N)]
            if len(full) >= 5:
                break
            time.sleep(.1)
        plans = dict(fleet.query('SELECT plan, count(*) FROM round GROUP BY '
                                 'plan'))
        expect(set(plans) == {1, 2}, f'plans: {plans}')
        expect(len(full) >= 5, f'of {plans[2]} rounds {len(full)} are full')
        for number in full:
            off = np.abs(fleet.estimates()[number] - fleet.data.mean(axis=0))
            expect(off.max() < 1e-12, f'round {number} is off by {off.max()}')
        expect(fleet.stop('server') == 0, fleet.log('server'))


for test in (test_command, test_budget, test_trust, test_page_and_plan):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
