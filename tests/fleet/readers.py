"""Who may read estimates, with `--readers budgets`: a permission is for the rounds of
the plan, and ends with them, also over restarts, deleted rounds and new plans.
Arguments: build folder."""
import hashlib
import sys
import time

from fleet import Fleet, expect
from talk import HELLO, RESULT, SLICE, as_node

build = sys.argv[1]
# The first round waits for both nodes.
TIMES = ['--readers', 'budgets', '--period', '200', '--send', '150', '--share',
         '170', '--uplink', '190', '--quorum', '2']
FULL = 2 ** 62 - 1
READER = 1


def make():
    """Node 1 reads, and node 0 has a link to it of (50, 1e-3), which holds one round
    of this plan and not two: 2 sqrt(.5^2 + .5^2) / .2 = 7.07, and 7.44 is the most."""
    fleet = Fleet(build, nodes=2, dimension=8, weight=.5, noise=.2, own=.5,
                  own_noise=.2)
    fleet.start_node(0)
    return fleet


def read(fleet, count):
    """Start the server and take part as the reader until so many results have come;
    the rounds of those with an estimate."""
    fleet.start_server(*TIMES, '--keep', '10')
    fleet.wait_log('server', 'listening at ')
    talk = as_node(fleet, READER)
    digest, got, said = b'', [], 0
    end = time.monotonic() + 60
    while count > 0:
        expect(time.monotonic() < end, 'no rounds: ' + fleet.log('server'))
        if time.monotonic() > said + .5:
            talk.send([2, HELLO, digest, 0, True, FULL, FULL, [], 0])
            said = time.monotonic()
        for message in talk.read(.05):
            if message[1] == SLICE:
                digest = hashlib.blake2b(talk.frame, digest_size=16).digest()
                said = 0
            if message[1] == RESULT:
                count -= 1
                got += [message[2]] if message[-1] else []
    talk.socket.close()
    log = fleet.log('server', 10 ** 6)
    expect(fleet.stop('server') == 0, log)
    fleet.write('server.log', '')
    return got, log


def test_end():
    """A plan for one round, 70 rounds run: one estimate, none after a restart, none
    when the round with it is deleted."""
    with make() as fleet:
        got, log = read(fleet, 70)
        expect(len(got) == 1, f'{len(got)} estimates of a plan for one round')
        expect(log.count('the 1 round that plan 1 was made for is over') == 1, log)
        expect(read(fleet, 5)[0] == [], 'a restart begins again')
        expect(fleet.query('SELECT count(*) FROM round WHERE round = ?', got[0]) ==
               [(0,)], 'the round is still there')
        expect(read(fleet, 5)[0] == [], 'deleted rounds do not count')
        done = fleet.run('pricer', 'plans', fleet.study, '--delete', '1',
                         check=False)
        expect(done.returncode == 1, f'{done}')


def test_plans():
    """A second plan with the same noise finds the budget used; one with much more
    noise has its three rounds in what is left."""
    with make() as fleet:
        expect(len(read(fleet, 1)[0]) == 1, 'no estimate')
        fleet.add_plan(.5, .2, .5, .2)
        got, log = read(fleet, 5)
        expect(got == [] and 'plan and of those before it' in log, f'{got}\n{log}')
    with make() as fleet:
        first, _ = read(fleet, 1)
        expect(len(first) == 1, 'no estimate')
        fleet.add_plan(.5, 20., .5, 20., rounds=3)
        got, log = read(fleet, 10)
        expect(1 <= len(got) <= 3 and 'the 3 rounds that plan 2' in log,
               f'{got}\n{log}')


for test in (test_end, test_plans):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
