"""Rounds through pricer.Participant: a node that starts anew between them,
budgets that end, vectors that are no good; a command that imports NumPy within
the default deadline. Arguments: build folder."""
import os
import sys
import time

import numpy as np

from fleet import Fleet, expect

build = sys.argv[1]
root = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
os.environ['PRICER_LIBRARY'] = os.path.join(build, 'libpricer.so')
os.environ['PRICER_INCLUDE'] = os.path.join(root, 'include')
sys.path.insert(0, os.path.join(root, 'python'))
import pricer  # noqa: E402

N, D = 3, 20
EARLY = ['--early', '--period', '20', '--share', '400', '--uplink', '900']


def test_participant():
    """Ten rounds through pricer.Participant, a node that starts anew between,
    and budgets that end."""
    with Fleet(build, nodes=N, dimension=D, weight=.25, noise=2., own=.5,
               own_noise=2.) as fleet:
        # mu = 2 * .5 / 2 for the own part; see node.py for the budget
        rows = [f'{j},2,1e-3,5.5,1e-3' for j in range(N)]
        fleet.write_trust(0, rows)
        path = fleet.path('feed')
        try:
            pricer.Participant(path, timeout=.1).submit(np.zeros(D))
            expect(False, 'a node that is not there')
        except pricer.GoneFault as fault:
            expect('no node is at' in str(fault), str(fault))
        fleet.start_node(0, '--feed', 'unix:' + path, data=False)
        for i in range(1, N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--quorum', '2')
        with pricer.Participant('unix:' + path, timeout=20) as node:
            for bad, text in ((np.zeros(D - 1), 'shape'),
                              (np.full(D, np.inf), 'not finite')):
                try:
                    node.submit(bad)
                    expect(False, text)
                except pricer.ValueFault as fault:
                    expect(text in str(fault), str(fault))
            first = node.submit(2 * fleet.data[0])
            expect(first.shape == (D,) and node.last.took_part and
                   node.last.clipped and node.last.bar > 0 and
                   node.last.length > 1.8 and node.plan.dimension == D,
                   f'{node.last}')
            fleet.stop('node0')  # and is back before the next round
            fleet.start_node(0, '--feed', 'unix:' + path, data=False)
            seen = [node.last.round]
            for round in node:
                expect(round.radius == 1 and round.dimension == D, f'{round}')
                try:
                    round.submit(fleet.data[0])
                    seen.append(round.number)
                except (pricer.LateFault, pricer.NoEstimateFault):
                    pass
            charged = {r for r, in fleet.ledger(
                0, 'SELECT DISTINCT round FROM release')}
            spent = fleet.ledger(0, 'SELECT max(releases) FROM account')[0][0]
            expect(9 <= spent <= 40 and charged >= set(seen),
                   f'{spent} releases, {len(seen)} seen')
            expect(node.plan.left == 0, f'{node.plan}')
            try:
                node.submit(fleet.data[0])
                expect(False, 'spent')
            except pricer.SpentFault as fault:
                expect('spent' in str(fault), str(fault))
            # the others have not spent theirs: estimates still come
            result = next(iter(node.results()))
            expect(not result.took_part and result.estimate is not None,
                   f'{result}')


def test_command():
    """A command that starts Python and imports NumPy in every round is in time
    with the times that the server has by itself."""
    with Fleet(build, nodes=N, dimension=D, weight=.25, noise=0, own=.5,
               own_noise=0) as fleet:
        for i in range(N):
            fleet.write_trust(i, [f'{j},inf,1,inf,1' for j in range(N)])
        fleet.write('vector.py', 'import os, sys\nimport numpy as np\n'
                    'd = int(os.environ["PRICER_DIMENSION"])\n'
                    'np.save(sys.stdout.buffer, np.full(d, .1))\n')
        fleet.start_node(0, '--command', f'{sys.executable} ' +
                         fleet.path('vector.py'), data=False)
        for i in range(1, N):
            fleet.start_node(i)
        fleet.start_server('--early', '--period', '0', '--quorum', str(N),
                           '--rounds', '5')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        rounds = fleet.ledger(0, 'SELECT count(DISTINCT round) FROM release')
        expect(rounds == [(5,)], f'{rounds} of 5 rounds:\n' +
               fleet.log('node0'))


for test in (test_participant, test_command):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)',
          flush=True)
