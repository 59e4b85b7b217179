"""A node changes its key while the fleet runs: the next key is let in beside the
old one, neighbours believe the old key's signature and nothing else, what was
spent stays spent, and a retired key is out. Arguments: build folder."""
import sqlite3
import sys
import time

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 3, 16
EARLY = ['--early', '--period', '20', '--share', '400', '--uplink', '800']


def all_links(fleet, what, timeout=20):
    """Rounds with every share and every sum."""
    end = time.monotonic() + timeout
    fleet.wait_rounds(fleet.rounds() + 3)
    while True:
        last, = fleet.query('SELECT max(round) FROM round')[0]
        rows = fleet.query('SELECT (SELECT count(*) FROM delivery WHERE arrived '
                           'AND round = ?1), (SELECT count(*) FROM arrival WHERE '
                           'arrived AND round = ?1), (SELECT count(*) FROM '
                           'withheld WHERE round = ?1)', last)[0]
        if rows == (N * (N - 1), N, 0):
            return
        expect(time.monotonic() < end, f'{what}: {rows}\n' + fleet.log('node0'))
        time.sleep(.1)


def releases(fleet, i, key):
    return fleet.ledger(i, 'SELECT coalesce(sum(releases), 0) FROM account WHERE '
                        'key = ?', key)[0][0]


def restart(fleet, key):
    fleet.stop('node1')
    words = fleet.node_arguments(1)
    words[words.index('--key') + 1] = key
    fleet.spawn('node1', words)


with Fleet(build, nodes=N, dimension=D) as fleet:
    old = fleet.keys[1]
    # Node 0 has its neighbours' keys in its trust file, node 2 in its ledger.
    with open(fleet.path('0.trust'), 'w') as file:
        file.write('to,eps,delta,total_eps,total_delta,key\n' + ''.join(
            f'{j},1000,1e-3,inf,1,{fleet.keys[j] if j else ""}\n'
            for j in range(N)))
    for i in range(N):
        fleet.start_node(i)
    fleet.start_server(*EARLY, '--quorum', str(N))
    all_links(fleet, 'before')
    # Not everyone's word: a key without a signature, or with another's.
    fleet.run('pricer', 'keygen', fleet.path('plain'))
    done = fleet.run('pricer', 'enrol', fleet.study, '1',
                     fleet.path('plain.pub'), '--next', check=False)
    expect(done.returncode == 1 and 'follows another' in done.stderr,
           done.stderr)
    fleet.run('pricer', 'keygen', fleet.path('theirs'), '--after', fleet.key(2))
    done = fleet.run('pricer', 'enrol', fleet.study, '1',
                     fleet.path('theirs.pub'), '--next', check=False)
    expect(done.returncode == 1 and 'does not have the key' in done.stderr,
           done.stderr)
    # Both keys are let in; the old one before and after the next is enrolled.
    new = fleet.run('pricer', 'keygen', fleet.path('next'), '--after',
                    fleet.key(1)).stdout.strip()
    fleet.run('pricer', 'enrol', fleet.study, '1', fleet.path('next.pub'),
              '--next')
    restart(fleet, fleet.key(1))
    all_links(fleet, 'the old key, while there is a next one')
    before = releases(fleet, 0, old), releases(fleet, 2, old)
    restart(fleet, fleet.path('next'))
    time.sleep(.5)
    all_links(fleet, 'the next key')
    # What was charged under the old key stays there, and counts for both.
    for i, spent in (0, before[0]), (2, before[1]):
        expect(releases(fleet, i, old) >= spent > 0 and
               releases(fleet, i, new) > 0,
               f'node {i}: {releases(fleet, i, old)} of {spent} releases')
        expect(fleet.ledger(i, 'SELECT old, key, signed FROM follow') ==
               [(old, new, 1)], f'node {i} does not know who follows whom')
    # Retired: the old one is out, also for its owner, and the server's restart
    # changes nothing.
    fleet.run('pricer', 'enrol', fleet.study, '1', '--retire')
    done = fleet.run('pricer', 'enrol', fleet.study, '1', '--retire', check=False)
    expect(done.returncode == 1 and 'no next key' in done.stderr, done.stderr)
    fleet.stop('server')
    fleet.start_server(*EARLY)
    time.sleep(.5)
    all_links(fleet, 'the old key retired')
    restart(fleet, fleet.key(1))
    fleet.wait_log('node1', "does not admit this node's key " + old)
    # A server that makes up a signature is not believed.
    restart(fleet, fleet.path('next'))
    all_links(fleet, 'back')
    last = fleet.run('pricer', 'keygen', fleet.path('forged'), '--after',
                     fleet.path('next')).stdout.strip()
    with sqlite3.connect(fleet.study, timeout=20) as db:
        db.execute('UPDATE member_next SET old = key, key = ?, proof = ?',
                   (last, bytes(64)))
    db.close()
    restart(fleet, fleet.path('forged'))
    fleet.wait_log('node0', 'the key of node 1 is not the one')
    fleet.wait_log('node2', 'the key of node 1 is not the one it had before')
    print('a new key without a gap, and no other')
