"""A plan that counts on losses, through the real server and real nodes: a node
whose trust file says nothing of it sends no data to neighbours and says so, the
others last the planned rounds; what they charge does not ask what arrived.
Arguments: build folder."""
import sqlite3
import sys

from fleet import Fleet, expect

build = sys.argv[1]
N, D, T, P = 4, 6, 5, .4
EARLY = ['--early', '--period', '0', '--share', '5000', '--uplink', '8000']
BUDGET, OWN = '2,1e-3', '9,1e-3'


def plan_losses(fleet):
    """The planner's own, for T rounds with credit for losses."""
    fleet.write('twin_links.csv', 'from,to,p,eps,delta\n' + ''.join(
        f'{i},{j},{P},{BUDGET}\n' for i, j in fleet.query(
            'SELECT from_node, to_node FROM link ORDER BY link')))
    own_eps, own_delta = OWN.split(',')
    fleet.write('twin.yaml', f'dimension: {D}\nradius: 1\nrounds: {T}\n'
                'credit: losses\nnetwork: {files: {nodes: nodes.csv, links: '
                'twin_links.csv}, reciprocity: 1}\ntrust: {self: {eps: '
                f'{own_eps}, delta: {own_delta}}}}}\n')
    twin = fleet.path('twin.pricer')
    fleet.run('pricer', 'new', twin, fleet.path('twin.yaml'))
    fleet.run('pricer', 'plan', twin)
    parts = fleet.query('SELECT link, weight, noise FROM plan_link', path=twin)
    own = fleet.query('SELECT node, weight, noise FROM plan_node', path=twin)
    fleet.add_plan(0, 0, 0, 0, T)
    with sqlite3.connect(fleet.study) as db:
        plan, = db.execute('SELECT max(plan) FROM plan').fetchone()
        db.execute("UPDATE plan SET credit = 'losses' WHERE plan = ?", (plan,))
        for i, weight, noise in own:
            db.execute('UPDATE plan_node SET weight = ?, noise = ? WHERE '
                       'plan = ? AND node = ?', (weight, noise, plan, i))
        for link, weight, noise in parts:
            db.execute('INSERT INTO plan_link VALUES (?,?,?,?)',
                       (plan, link, weight, noise))
    db.close()
    pairs = fleet.query('SELECT from_node, to_node FROM link ORDER BY link')
    return {pairs[link] for link, weight, _ in parts if weight > 0}


def trust(fleet, i, word):
    fleet.write(f'{i}.trust', 'to,eps,delta,credit\n' + ''.join(
        f'{j},{OWN},none\n' if i == j else f'{j},{BUDGET},{word}\n'
        for j in range(N)))


def test_real_nodes():
    with Fleet(build, nodes=N, dimension=D, p=P, uplink=[.9, .2, .3, .4]) as fleet:
        links = plan_losses(fleet)
        strict = max(range(N), key=lambda i: sum(a == i for a, _ in links))
        expect(any(a == strict for a, _ in links) and
               any(a != strict for a, _ in links), f'nothing to see: {links}')
        for i in range(N):
            trust(fleet, i, 'none' if i == strict else 'losses')
            fleet.start_node(i, *fleet.emulation())
        fleet.start_server(*EARLY, '--rounds', str(T), '--quorum', str(N),
                           '--emulate', '--seed', str(fleet.seed))
        expect(fleet.wait('server') == 0, fleet.log('server'))
        kept = set(fleet.query('SELECT from_node, to_node, reason FROM withheld '
                               'NATURAL JOIN link'))
        want = {(a, b, 'trust') for a, b in links if a == strict}
        # As far as relay and link were up to tell it.
        expect(kept and kept <= want, f'withheld {kept}, not {want}')
        names = {key: who for who, key in fleet.keys.items()}
        for i in range(N):
            charged = {names[key]: count for key, count in fleet.ledger(
                i, 'SELECT key, releases FROM account') if
                names[key] != 'server'}
            due = {b: T for a, b in links if a == i and i != strict}
            expect(charged == due, f'node {i} charged {charged}, not {due}')
        text = fleet.log(f'node{strict}')
        expect('gives them no credit' in text, text)
        # Fewer arrived than were charged: what is late or lost counts as well.
        arrived, tried = fleet.query('SELECT sum(arrived), count(*) FROM '
                                     'delivery')[0]
        expect(arrived < tried, f'{arrived} of {tried} arrived')
        expect(fleet.rounds() == T, fleet.log('server'))
        # With the word in its file the node takes part.
        fleet.stop(f'node{strict}')
        trust(fleet, strict, 'losses')
        fleet.start_node(strict, *fleet.emulation())
        fleet.start_server(*EARLY, '--rounds', '2', '--quorum', '1',
                           '--emulate', '--seed', str(fleet.seed))
        fleet.wait('server')
        charged = [count for key, count in fleet.ledger(
            strict, 'SELECT key, releases FROM account') if
            names[key] != 'server']
        expect(charged and min(charged) >= 1, f'{charged} after a change of mind')


test_real_nodes()
print('good')
