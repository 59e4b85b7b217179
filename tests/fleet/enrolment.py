"""Who is let in, while a fleet runs: a node that starts before it is enrolled
joins; a key that is replaced or removed loses its connections within a second,
at the server and at relays; a plan that adds links brings all of them up;
names and IPv6; openssl s_client. Arguments: build folder."""
import os
import signal
import sqlite3
import subprocess
import sys
import time

from channel import connect, keygen, where, z85, z85_bytes
from fleet import Fleet, expect, spawn

build = sys.argv[1]
TIMES = ['--period', '250', '--send', '20', '--share', '120', '--uplink', '200']


def until(what, condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, what)
        time.sleep(.05)


def last(fleet):
    rows = fleet.query('SELECT arrived FROM round ORDER BY round DESC LIMIT 1')
    return rows[0][0] if rows else 0


def seconds_until_cut(channel):
    """How long the other side keeps a connection."""
    started = time.monotonic()
    try:
        while time.monotonic() < started + 20:
            channel.step()
            time.sleep(.01)
    except OSError:
        pass
    return time.monotonic() - started


def test_joins_later():
    """Node 2 knocks for a while, is enrolled, and is in: nobody restarts."""
    with Fleet(build, nodes=3, dimension=4) as fleet:
        fleet.run('pricer', 'enrol', fleet.study, '2', '--remove')
        for i in range(3):
            fleet.start_node(i)
        fleet.start_server(*TIMES)
        fleet.wait_rounds(3)
        fleet.wait_log('node2', "does not admit this node's key")
        expect(last(fleet) == 2, 'a node that is not enrolled takes part')
        fleet.run('pricer', 'enrol', fleet.study, '2', fleet.keys[2],
                  fleet.addresses[2])
        started = time.monotonic()
        until('node 2 does not join', lambda: last(fleet) == 3)
        print(f'joined {time.monotonic() - started:.1f} s after its enrolment')
        until('its links', lambda: fleet.query(
            'SELECT count(*) FROM delivery WHERE arrived AND round = (SELECT '
            'max(round) FROM round)')[0][0] == 6)


def let_in(fleet, who, path):
    """A connection with the key of a file, as soon as it is let in."""
    made = []

    def knock():
        try:
            made.append(connect(fleet.addresses[who], path,
                                z85_bytes(fleet.keys[who])))
        except OSError:
            pass
        return made
    until(f'{who} does not let a key in', knock)
    return made[0]


def shut_out(fleet, how, new):
    """Three ways to end what the key of node 2 may do."""
    if how == 'replaced':
        fleet.run('pricer', 'enrol', fleet.study, '2', z85(new),
                  fleet.addresses[2])
    elif how == 'removed':
        fleet.run('pricer', 'enrol', fleet.study, '2', '--remove')
    else:
        db = sqlite3.connect(fleet.study)
        db.execute('DELETE FROM member WHERE node = 2')
        db.commit()
        db.close()
        fleet.processes['server'].send_signal(signal.SIGHUP)


def test_revoked():
    """Another key for node 2, then none: the thief of the old key is out."""
    with Fleet(build, nodes=3, dimension=4) as fleet:
        for i in range(2):
            fleet.start_node(i)
        fleet.start_server(*TIMES)
        fleet.wait_rounds(3)
        new = keygen(build, fleet.path('new'))
        for how in ('replaced', 'removed', 'hangup'):
            path = fleet.key(2) if how == 'replaced' else fleet.path('new')
            channels = {who: let_in(fleet, who, path) for who in ('server', 0)}
            shut_out(fleet, how, new)
            for who, channel in channels.items():
                took = seconds_until_cut(channel)
                expect(took < 1, f'{how}: {who} kept the connection {took} s')
                print(f'{how}: cut by {who} after {took:.2f} s')
            try:
                connect(fleet.addresses['server'], path,
                        z85_bytes(fleet.keys['server']))
                expect(False, f'{how}: the key is let in again')
            except OSError:
                pass
            if how == 'removed':
                fleet.run('pricer', 'enrol', fleet.study, '2', z85(new),
                          fleet.addresses[2])
        rounds = fleet.rounds()
        fleet.wait_rounds(rounds + 3)
        expect(last(fleet) == 2, 'the others are not there any more')


def test_adds_links():
    """A plan on few links, then one on all: every link comes up."""
    n = 6
    with Fleet(build, nodes=n, dimension=4, weight=0, noise=0) as fleet:
        for i in range(n):
            fleet.start_node(i)
        fleet.start_server(*TIMES, '--quorum', str(n))
        fleet.wait_rounds(3)
        expect(fleet.query('SELECT count(*) FROM delivery') == [(0,)], 'links')
        fleet.add_plan(.1, .1, .5, .1)
        until('all links', lambda: fleet.query(
            'SELECT count(*) FROM delivery WHERE arrived AND round = (SELECT '
            'max(round) FROM round)')[0][0] == n * (n - 1))
        print(f'{n * (n - 1)} new links, all up')


def test_names():
    """The server by name, nodes and the page on IPv6; s_client is let in."""
    hosts = {'server': 'localhost', 0: '[::1]', 1: 'localhost', 2: '127.0.0.1'}
    with Fleet(build, nodes=3, dimension=4, host=lambda i: hosts[i]) as fleet:
        for i in range(3):
            fleet.start_node(i)
        fleet.start_server(*TIMES, '--quorum', '3', '--status-address', '::1',
                           '--port', str(fleet.status_port))
        until('all shares over IPv6 and by name', lambda: fleet.query(
            'SELECT count(*) FROM delivery WHERE arrived AND round = (SELECT '
            'max(round) FROM round)')[0][0] == 6)
        expect('rounds since the start' in fleet.get('/', host='::1')[1], 'page')
        fleet.stop('node2')
        host, port = where(fleet.addresses['server'])
        client = spawn(
            ['openssl', 's_client', '-quiet', '-connect', f'{host}:{port}',
             '-cert', fleet.key(2), '-key', fleet.key(2)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        heard = os.read(client.stdout.fileno(), 4)
        client.kill()
        client.communicate()
        expect(heard == bytes(4), f's_client heard {heard}')
        print('names, IPv6 and s_client are fine')


for test in (test_joins_later, test_revoked, test_adds_links, test_names):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
