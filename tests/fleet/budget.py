"""Budgets from the plan to the end: a plan for T rounds lasts exactly T on every
link, whatever is lost; then the server says so, opens no round and publishes
nothing; until a new plan or other trust files allow it. Arguments: build
folder."""
import sys
import time

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 4, 8
EARLY = ['--early', '--period', '0', '--share', '5000', '--uplink', '8000']


def releases(fleet):
    """{(from, to): releases}, the server under to = from."""
    names = {key: who for who, key in fleet.keys.items()}
    found = {}
    for i in range(N):
        for key, count in fleet.ledger(i, "SELECT key, releases FROM "
                                       "account WHERE key NOT LIKE 'all to %'"):
            to = i if names[key] == 'server' else names[key]
            found[i, to] = found.get((i, to), 0) + count
    return found


def check_rounds(fleet, T):
    """T rounds, none of them a zero, and nothing withheld."""
    expect(fleet.rounds() == T, f'{fleet.rounds()} rounds in a plan for {T}:\n' +
           fleet.log('server'))
    zeros = [r for r, e in fleet.estimates().items() if not e.any()]
    expect(not zeros, f'rounds {zeros} are zeros')
    none = fleet.query('SELECT count(*) FROM round WHERE (estimate IS NULL) <> '
                       '(contributors = 0)')
    expect(none == [(0,)], 'an estimate without contributors, or without one')
    expect(fleet.withheld() == {}, f'withheld: {fleet.withheld()}')


def test_lasts(p, T, budget, own):
    """With links that lose, and rounding that must not lose a round."""
    with Fleet(build, nodes=N, dimension=D, p=p, uplink=[p, .3, .9, 1]) as fleet:
        parts, links = fleet.plan_rounds(T, budget, own)
        for i in range(N):
            fleet.start_node(i, *fleet.emulation())
        fleet.start_server(*EARLY, '--rounds', str(T + 3), '--quorum', str(N),
                           '--emulate', '--seed', str(fleet.seed))
        expect(fleet.wait('server') == 0, fleet.log('server'))
        fleet.wait_log('server', 'no node has anything left to send')
        check_rounds(fleet, T)
        expected = {(i, i): T for i in parts} | {pair: T for pair in links}
        expect(releases(fleet) == expected,
               f'p = {p}, T = {T}: {releases(fleet)}, not {expected}')
        return len(expected)


def test_waits():
    """Without --rounds the server stays, says why, and goes on when it can."""
    T = 3
    with Fleet(build, nodes=N, dimension=D) as fleet:
        fleet.plan_rounds(T)
        for i in range(N):
            fleet.start_node(i)
        # Budgets of three rounds are about to end from the start.
        fleet.start_server(*EARLY, '--quorum', str(N), '--port',
                           str(fleet.status_port))
        fleet.wait_log('server', 'no round is opened until')
        time.sleep(1)
        check_rounds(fleet, T)
        status, text = fleet.get('/health')
        expect(status == 503 and 'no round is opened' in text and
               'node 0: 0 rounds left of its budget towards the server' in text,
               f'/health: {status} {text}')
        expect('Attention' in fleet.get('/')[1], 'the page does not turn')
        metrics = fleet.metrics()
        expect(metrics['pricer_rounds_left{node="1",to="server"}'] == 0 and
               metrics['pricer_troubles'] > 0, f'{metrics}')
        # Budgets that were raised by their owners.
        for i in range(N):
            fleet.stop(f'node{i}')
            fleet.write_trust(i)
            fleet.start_node(i)
        fleet.wait_rounds(T + 20)
        for _ in range(100):
            if fleet.get('/health') == (200, 'ok\n'):
                break
            time.sleep(.1)
        expect(fleet.get('/health') == (200, 'ok\n'), fleet.get('/health')[1])
        expect(fleet.stop('server') == 0, fleet.log('server'))


def test_plan_goes_on():
    """A plan with more noise uses what is left."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        fleet.plan_rounds(2)
        trust = [open(fleet.path(f'{i}.trust')).read() for i in range(N)]
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--rounds', '1', '--quorum', str(N))
        expect(fleet.wait('server') == 0, fleet.log('server'))
        # Half of the budget is there: half of the 6 rounds of the new plan.
        fleet.plan_rounds(6)
        for i in range(N):
            fleet.write(f'{i}.trust', trust[i])
        fleet.start_server(*EARLY, '--rounds', '20', '--quorum', str(N))
        expect(fleet.wait('server') == 0, fleet.log('server'))
        check_rounds(fleet, 1 + 3)


started = time.monotonic()
links = 0
for p, T, budget, own in ((.5, 1, '1,1e-3', '8,1e-3'),
                          (.1, 3, '.3,1e-6', '1000,1e-3'),
                          (.8, 7, '2,1e-9', '3,1e-5'),
                          (1, 7, '50,1e-3', '.7,1e-2'),
                          (.3, 23, '5,1e-5', '9,1e-12')):
    links += test_lasts(p, T, budget, own)
print(f'{links} budgets lasted their rounds exactly')
test_waits()
test_plan_goes_on()
print(f'good ({time.monotonic() - started:.1f} s)')
