"""The row `server` of a trust file: shares that relays pass on are charged to the
server too, and nothing of a round leaves where its budget does not hold all of
it. Arguments: build folder."""
import math
import sys
import time

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 4, 8
EARLY = ['--early', '--period', '0', '--share', '5000', '--uplink', '8000']
ANY = [f'{j},inf,1,inf,1' for j in range(N)]


def delta_of(eps, mu):
    """The privacy curve of a Gaussian release."""
    def below(x):
        return math.erfc(-x / math.sqrt(2)) / 2
    return (below(mu / 2 - eps / mu) -
            math.exp(eps) * below(-mu / 2 - eps / mu))


def accounts(fleet, i):
    return {key: (count, mu) for key, count, mu in fleet.ledger(
        i, 'SELECT key, releases, mu FROM account')}


def test_no_bypass():
    """eps 0.01 towards the server: relays get nothing to pass on either."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        fleet.write_trust(0, ANY + ['server,.01,1e-3,.01,1e-3'])
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--rounds', '5', '--quorum', '1')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        expect(accounts(fleet, 0) == {}, f'{accounts(fleet, 0)} has left')
        expect(len(accounts(fleet, 1)) == N + 1, f'{accounts(fleet, 1)}')
        expect('together say too much to the server' in fleet.log('node0'),
               fleet.log('node0'))


def test_lasts():
    """All parts count, and the budget ends with the round that it holds last."""
    weight, own, noise, eps, delta = .02, .03, .1, 8, 1e-3
    mu = 2 * math.sqrt((N - 1) * weight ** 2 + own ** 2) / noise
    rounds = 0
    while delta_of(eps, mu * math.sqrt(rounds + 1)) <= delta:
        rounds += 1
    with Fleet(build, nodes=N, dimension=D, weight=weight, noise=noise,
               own=own, own_noise=noise) as fleet:
        for i in range(N):
            fleet.write_trust(i, ANY + [f'server,{eps},{delta},{eps},{delta}'])
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--rounds', str(rounds + 3), '--quorum',
                           str(N))
        expect(fleet.wait('server') == 0, fleet.log('server'))
        fleet.wait_log('server', 'no node has anything left to send')
        for i in range(N):
            found = accounts(fleet, i)
            together = found['all to ' + fleet.keys['server']]
            expect(all(count == rounds for count, _ in found.values()) and
                   abs(together[1] / mu - 1) < 1e-12,
                   f'{rounds} rounds of {mu}: {found}')
        return rounds


def test_row_put_back():
    """A row for the server that was not there for some rounds counts them."""
    weight, own, noise, eps, delta = .02, .03, .1, 8, 1e-3
    mu = 2 * math.sqrt((N - 1) * weight ** 2 + own ** 2) / noise
    rounds = 0
    while delta_of(eps, mu * math.sqrt(rounds + 1)) <= delta:
        rounds += 1
    with Fleet(build, nodes=N, dimension=D, weight=weight, noise=noise,
               own=own, own_noise=noise) as fleet:
        for row in [], [f'server,{eps},{delta},{eps},{delta}']:
            for i in range(N):
                fleet.write_trust(i, ANY + row)
                fleet.start_node(i)
            fleet.start_server(*EARLY, '--rounds', str(rounds + 3 if row else 3),
                               '--quorum', str(N))
            expect(fleet.wait('server') == 0, fleet.log('server'))
            for i in range(N):
                fleet.stop(f'node{i}')
        for i in range(N):
            found = accounts(fleet, i)
            expect(all(count == rounds for count, _ in found.values()),
                   f'{rounds} rounds: {found}')


started = time.monotonic()
test_no_bypass()
test_row_put_back()
print(f'{test_lasts()} rounds, as many as the budget towards the server holds')
print(f'good ({time.monotonic() - started:.1f} s)')
