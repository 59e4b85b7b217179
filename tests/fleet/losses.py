"""Charges do not ask what arrived: over links that lose packets every release of
every round is charged, through the real server and real nodes.
Arguments: build folder."""
import sys

from fleet import Fleet, expect

build = sys.argv[1]
N, D, T, P = 4, 6, 5, .4
EARLY = ['--early', '--period', '0', '--share', '5000', '--uplink', '8000']


def test_real_nodes():
    with Fleet(build, nodes=N, dimension=D, p=P, uplink=[.9, .2, .3, .4]) as fleet:
        fleet.add_plan(.25, .25, 1, 1, T)
        for i in range(N):
            fleet.start_node(i, *fleet.emulation())
        fleet.start_server(*EARLY, '--rounds', str(T), '--quorum', str(N),
                           '--emulate', '--seed', str(fleet.seed))
        expect(fleet.wait('server') == 0, fleet.log('server'))
        links = fleet.query('SELECT from_node, to_node FROM link')
        names = {key: who for who, key in fleet.keys.items()}
        for i in range(N):
            charged = {names[key]: count for key, count in fleet.ledger(
                i, 'SELECT key, releases FROM account') if
                names.get(key, 'server') != 'server'}
            due = {b: T for a, b in links if a == i}
            expect(charged == due, f'node {i} charged {charged}, not {due}')
        arrived, tried = fleet.query('SELECT sum(arrived), count(*) FROM '
                                     'delivery')[0]
        expect(arrived < tried, f'{arrived} of {tried} arrived')
        expect(fleet.rounds() == T, fleet.log('server'))


test_real_nodes()
print('good')
