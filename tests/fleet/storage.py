"""Daemons without a disk, without a study and without descriptors: nobody exits,
nothing is charged while rounds wait, and all goes on when it can. Arguments:
build folder."""
import os
import resource
import socket
import sqlite3
import subprocess
import sys
import time

from channel import where
from fleet import Fleet, expect

build = sys.argv[1]
N, D = 3, 16
# Nodes may open many rounds by themselves; they do not while the server is heard.
TIMES = ['--period', '150', '--send', '20', '--share', '80', '--uplink', '130',
         '--ahead', '1000', '--quorum', str(N)]
HERE = 'PRICER_STORAGE_SPACE'


class Small:
    """A disk of 4 MiB that holds the study and every ledger of a fleet, which
    has only links to them."""

    def __init__(self, fleet):
        self.where = fleet.path('small')
        os.mkdir(self.where)
        self.mount('-t', 'tmpfs', '-o', 'size=4m', 'none')
        for name in ['study.pricer'] + [f'{i}.ledger' for i in range(N)]:
            file, link = os.path.join(self.where, name), fleet.path(name)
            if os.path.exists(link):
                os.replace(link, link + '.copy')
                with open(link + '.copy', 'rb') as old, open(file, 'wb') as new:
                    new.write(old.read())
            os.symlink(file, link)

    def mount(self, *words):
        subprocess.run(['mount', *words, self.where], check=True)

    def fill(self):
        with open(os.path.join(self.where, 'ballast'), 'wb', 0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                return

    def empty(self):
        os.remove(os.path.join(self.where, 'ballast'))

    def close(self):
        subprocess.run(['umount', '--lazy', self.where], check=True)


def start(fleet, *more):
    for i in range(N):
        fleet.start_node(i)
    fleet.start_server(*TIMES, '--port', str(fleet.status_port), *more)
    fleet.wait_rounds(3)


def charged(fleet):
    return [fleet.ledger(i, 'SELECT count(*), max(round) FROM release')[0]
            for i in range(N)]


def limit(fleet, name, which, most):
    pid = fleet.processes[name].pid
    resource.prlimit(pid, which, (most, resource.prlimit(pid, which)[1]))


def expect_alive(fleet, names=None):
    for name in names or fleet.processes:
        expect(fleet.processes[name].poll() is None,
               f'{name} has gone:\n' + fleet.log(name))


def check_waiting(fleet, what):
    """No rounds and no charges, but that of the round that cannot be stored."""
    fleet.wait_log('server', 'rounds wait')
    time.sleep(.3)
    rounds, before = fleet.rounds(), charged(fleet)
    time.sleep(1)
    expect(fleet.rounds() == rounds, f'{what}: rounds are stored')
    expect(charged(fleet) == before, f'{what}: {before}, then {charged(fleet)}')
    expect('the study cannot be' in fleet.get('/health')[1],
           fleet.get('/health')[1])
    expect_alive(fleet)


def check_back(fleet, what):
    fleet.wait_log('server', 'the study is fine again')
    fleet.wait_rounds(fleet.rounds() + 5)
    last = fleet.query('SELECT arrived FROM round ORDER BY round DESC LIMIT 1')
    expect(last == [(N,)], f'{what}: {last} sums')
    os.truncate(fleet.path('server.log'), 0)


def test_study():
    """Someone reads and does not end; someone else holds the lock; the disk is
    full; the file is moved away."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        start(fleet)
        reader = sqlite3.connect(fleet.study, isolation_level=None)
        reader.execute('BEGIN')
        seen = reader.execute('SELECT count(*) FROM round').fetchone()
        fleet.wait_rounds(fleet.rounds() + 8, 15)
        expect(reader.execute('SELECT count(*) FROM round').fetchone() == seen,
               'the reader saw what came later')
        reader.execute('COMMIT')
        expect('rounds wait' not in fleet.log('server'), fleet.log('server'))
        reader.execute('BEGIN IMMEDIATE')
        check_waiting(fleet, 'a lock')
        reader.execute('COMMIT')
        reader.close()
        check_back(fleet, 'a lock')
        limit(fleet, 'server', resource.RLIMIT_FSIZE, 2000)
        check_waiting(fleet, 'a full disk')
        limit(fleet, 'server', resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)
        check_back(fleet, 'a full disk')
        os.rename(fleet.study, fleet.study + '.away')
        fleet.wait_log('server', 'moved away')
        before = charged(fleet)
        time.sleep(.6)
        expect(charged(fleet) == before, 'charged for a study that is not there')
        os.rename(fleet.study + '.away', fleet.study)
        check_back(fleet, 'moved')
        expect(fleet.stop('server') == 0, 'the server did not stop well')
        fleet.check_study()
        expect(not os.path.exists(fleet.study + '-wal'), 'the log stays')


def await_full(fleet):
    """Until all nodes are in all of the rounds that come."""
    end = time.monotonic() + 30
    last = fleet.query('SELECT coalesce(max(round), 0) FROM round')[0][0]
    while fleet.query('SELECT arrived FROM round WHERE round > ? ORDER BY round '
                      'DESC LIMIT 20', last) != [(N,)] * 20:
        expect(time.monotonic() < end, 'not all are there')
        time.sleep(.05)


def check_held(fleet, what, most):
    """Rounds follow each other at once; the lock that someone holds costs so many
    of them, which are charged, wait, and are stored in the end."""
    await_full(fleet)
    lock = sqlite3.connect(fleet.study, isolation_level=None, timeout=30)
    lock.execute('BEGIN IMMEDIATE')
    last = lock.execute('SELECT max(round) FROM round').fetchone()[0]
    fleet.wait_log('server', 'rounds wait')
    counts = [fleet.ledger(i, 'SELECT count(DISTINCT round) FROM release WHERE '
                           'round > ?', last)[0][0] for i in range(N)]
    expect(counts == [most] * N, f'{what}: {counts} rounds wait')
    lock.execute('COMMIT')
    lock.close()
    fleet.wait_log('server', 'the study is fine again')
    await_full(fleet)
    os.truncate(fleet.path('server.log'), 0)


def test_overlap():
    """A round begins before the last one is stored, unless a node is handed what
    that one gave. No round is lost or stored twice, whatever the study does, and
    none has the sums of another."""
    words = ['--early', '--period', '0', '--share', '1000', '--uplink', '2000',
             '--quorum', str(N)]
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*words)
        check_held(fleet, 'nobody reads', 2)
        fleet.add_plan(.4, .1, .6, .1)
        await_full(fleet)
        expect(fleet.query('SELECT max(plan) FROM round') == [(2,)],
               'the new plan is not taken')
        fleet.stop('node0')
        fleet.start_node(0, '--estimate', fleet.path('estimate.npy'))
        check_held(fleet, 'one reads', 1)
        fleet.stop('node0')
        fleet.start_node(0)
        check_held(fleet, 'nobody reads again', 2)
        for name in list(fleet.processes):
            expect(fleet.stop(name) == 0, fleet.log(name))
        fleet.check_charged()
        first, last, count = fleet.query(
            'SELECT min(round), max(round), count(*) FROM round')[0]
        expect(last - first + 1 == count, f'{count} rounds, {first} to {last}')
        full = [row[0] for row in fleet.query(
            'SELECT round FROM round WHERE arrived = ? ORDER BY round', N)]
        for i in range(N):
            rows = fleet.ledger(i, 'SELECT DISTINCT round FROM release ORDER BY '
                                'round')
            missing = set(full) - {row[0] for row in rows}
            expect(not missing, f'node {i} did not charge {missing}')
            lost = {row[0] for row in rows} - {row[0] for row in fleet.query(
                'SELECT round FROM round')}
            expect(not lost, f'rounds {lost} are charged and not stored')
        for row in fleet.query('SELECT round, count(*), sum(arrived) FROM arrival '
                               'GROUP BY round'):
            stored = fleet.query('SELECT arrived FROM round WHERE round = ?',
                                 row[0])
            expect(stored == [(row[2],)], f'round {row}: {stored}')


def begin_waiting(fleet, what, names):
    """Start all of them; those named wait, and say so once."""
    for i in range(N):
        fleet.start_node(i)
    fleet.start_server(*TIMES)
    for name in names:
        fleet.wait_log(name, 'waiting and trying again')
    time.sleep(.6)
    expect_alive(fleet)
    for name in names:
        text = fleet.log(name)
        expect(text.count('waiting and trying again') == 1 and
               'listening' not in text, f'{what}: {text}')


def end_waiting(fleet, what, names):
    fleet.wait_rounds(3)
    last = fleet.query('SELECT arrived FROM round ORDER BY round DESC LIMIT 1')
    expect(last == [(N,)], f'{what}: {last} sums')
    for name in names:
        fleet.wait_log(name, 'fine again')
    for name in list(fleet.processes):
        expect(fleet.stop(name) == 0, f'{what}: {fleet.log(name)}')
        os.truncate(fleet.path(f'{name}.log'), 0)
    fleet.check_study()
    with sqlite3.connect(fleet.study) as db:
        for table in 'arrival', 'delivery', 'withheld', 'dropped', 'round':
            db.execute(f'DELETE FROM {table}')
    db.close()


def test_start():
    """Daemons that begin when a disk is full or read-only, or while another
    program holds the lock: they wait, and begin when they can. What does not pass
    ends them, with a sentence."""
    names = ['server'] + [f'node{i}' for i in range(N)]
    with Fleet(build, nodes=N, dimension=D) as fleet:
        small = Small(fleet)
        try:
            small.fill()            # no ledger is there yet
            begin_waiting(fleet, 'full', names)
            small.empty()
            end_waiting(fleet, 'full', names)
            small.mount('-o', 'remount,ro')
            done = subprocess.run([*fleet.node_arguments(0), '--check'],
                                  capture_output=True, text=True)
            expect(done.returncode == 1 and 'The node waits' in done.stdout and
                   'Read-only file system; the ledger' in done.stdout and
                   'backup' not in done.stdout, done.stdout)
            begin_waiting(fleet, 'read-only', names)
            small.mount('-o', 'remount,rw')
            end_waiting(fleet, 'read-only', names)
            locks = [sqlite3.connect(fleet.path(name), isolation_level=None)
                     for name in ('study.pricer', '0.ledger')]
            for lock in locks:
                lock.execute('PRAGMA locking_mode = EXCLUSIVE')
                lock.execute('BEGIN EXCLUSIVE')
            begin_waiting(fleet, 'locked', ['server', 'node0'])
            for name in 'server', 'node0':
                expect(fleet.stop(name) == 0, 'stopped while it waits: ' +
                       fleet.log(name))
            fleet.start_node(0)
            fleet.start_server(*TIMES)
            for lock in locks:
                lock.execute('COMMIT')
                lock.close()
            end_waiting(fleet, 'locked', [])
        finally:
            for name in list(fleet.processes):
                fleet.stop(name)
            small.close()
        for name, text, what in (
                ('none.pricer', None, 'No such file'),
                ('text.pricer', 'no study, but long enough to be one\n' * 99,
                 'not a study'),
                ('0.ledger', 'no ledger, but long enough to be one\n' * 99,
                 'not a database')):
            if text is not None:
                if os.path.islink(fleet.path(name)):
                    os.remove(fleet.path(name))
                fleet.write(name, text)
            words = fleet.node_arguments(0)
            if name != '0.ledger':
                words = fleet.server_arguments()
                words[1] = fleet.path(name)
            done = subprocess.run(words, capture_output=True, text=True,
                                  timeout=20)
            expect(done.returncode == 1 and what in done.stderr,
                   f'{name}: {done.returncode} {done.stderr}')


def test_ledger():
    """A ledger that cannot be written sends nothing, and the rounds go on."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        start(fleet)
        limit(fleet, 'node0', resource.RLIMIT_FSIZE, 2000)
        fleet.wait_log('server', 'its ledger failed')
        first = fleet.query('SELECT max(round) FROM round')[0][0]
        fleet.wait_rounds(fleet.rounds() + 5)
        why = fleet.query('SELECT DISTINCT reason FROM withheld WHERE node = 0 '
                          'AND round > ?', first)
        expect(why == [('ledger',)], f'withheld for {why}')
        mark = fleet.ledger(0, 'SELECT max(round) FROM release')[0][0]
        expect(mark <= first, 'a round was charged')
        limit(fleet, 'node0', resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)
        fleet.wait_rounds(fleet.rounds() + 8)
        expect(charged(fleet)[0][1] > first + 5, 'it does not come back')
        # The same while a slice is judged: it is taken when the ledger is back.
        lock = sqlite3.connect(fleet.path('0.ledger'), isolation_level=None)
        lock.execute('BEGIN EXCLUSIVE')
        fleet.add_plan(.4, .1, .6, .1)
        fleet.wait_rounds(fleet.rounds() + 5)
        lock.execute('COMMIT')
        lock.close()
        mark = charged(fleet)[0][1]
        fleet.wait_rounds(fleet.rounds() + 12)
        expect(charged(fleet)[0][1] > mark + 5, 'it does not send: ' +
               fleet.log('node0'))
        expect_alive(fleet)


def test_descriptors():
    """Strangers take all that there are; those who are connected go on, and a
    node that restarts is back when they leave."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        start(fleet)
        for name in 'server', 'node0':
            used = len(os.listdir(f'/proc/{fleet.processes[name].pid}/fd'))
            limit(fleet, name, resource.RLIMIT_NOFILE, used + 1)
        strangers = [socket.create_connection(where(fleet.addresses[who]))
                     for who in ('server', 0) for _ in range(20)]
        before = fleet.rounds()
        fleet.wait_rounds(before + 10, 20)
        full = fleet.query('SELECT count(*) FROM round WHERE arrived = ? AND '
                           'round > ?', N, before)[0][0]
        expect(full >= 5, f'{full} full rounds')
        expect_alive(fleet)
        for s in strangers:
            s.close()
        fleet.stop('node1')
        fleet.start_node(1)
        end = time.monotonic() + 20
        while fleet.query('SELECT arrived FROM round ORDER BY round DESC LIMIT 3'
                          ) != [(N,)] * 3:
            expect(time.monotonic() < end, 'node 1 is not back')
            time.sleep(.1)


def test_prune():
    """Old rounds go, by the rule; what is left is whole."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server('--early', '--period', '0', '--share', '1000',
                           '--uplink', '2000', '--quorum', str(N), '--keep', '50',
                           '--rounds', '192')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        low, high, count = fleet.query(
            'SELECT min(round), max(round), count(*) FROM round')[0]
        expect(high >= 192 and low == high - 49 and count == 50,
               f'rounds {low} to {high}')
        for table in 'arrival', 'delivery', 'withheld', 'dropped':
            rows = fleet.query(f'SELECT coalesce(min(round), {low}) FROM {table}')
            expect(rows[0][0] >= low, f'{table} has rows of older rounds')
        fleet.check_study()


def enter_space():
    """Run this again where it may mount disks that end with it; why not, if it
    may not."""
    spaces = ['unshare', '--mount'] + ([] if os.getuid() == 0 else
                                       ['--user', '--map-root-user'])
    done = subprocess.run([*spaces, 'mount', '-t', 'tmpfs', 'none', '/mnt'],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    os.environ[HERE] = '1'
    os.execvp(spaces[0], [*spaces, sys.executable, *sys.argv])


tests = [test_study, test_overlap, test_start, test_ledger, test_descriptors, test_prune]
why = None if os.environ.get(HERE) else enter_space()
if why:
    print(f'skipped: test_start needs a disk of its own ({why})')
    tests.remove(test_start)
for test in tests:
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
