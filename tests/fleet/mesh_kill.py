"""Kill the server and the nodes of a mesh with SIGKILL at random moments, some of
them while a disk is full or a database is locked, start them again, and compare
what was heard on the wire with what the ledgers say: no round has two releases of a
node, every payload that was heard is charged, every process comes back, and in the
end all contribute again. A trigger in each ledger notes every charge with its
payload in the same transaction; node 8, which the test plays, is linked to all
others and records every packet. Arguments: build folder, number of kills (also from
PRICER_KILLS). Some 8 minutes for 1,000:

    tests/fleet/mesh_kill.py BUILD 1000
"""
import os
import random
import signal
import sqlite3
import sys
import time

from faults import Disk, Lock
from fleet import expect
from mesh_fleet import Mesh, Peer

build = sys.argv[1]
kills = int(sys.argv[2] if len(sys.argv) > 2
            else os.environ.get('PRICER_KILLS', 12))
TAP = 8
NODES = range(TAP)
NAMES = ['server'] + [f'node{i}' for i in NODES]
# Four columns of two: the last one is three relays away from the server.
LINKS = [(i, i + 1) for i in range(0, TAP, 2)] + \
    [(i, i + 2) for i in range(TAP - 2)] + [(i, TAP) for i in NODES]
UPLINK = [1, 1] + [0] * (TAP - 1)
HOPS = {i: i // 2 for i in NODES}
random.seed(kills)


def note_charges(mesh):
    for i in NODES:
        with sqlite3.connect(mesh.folder(i, 'node.ledger')) as db:
            db.execute('CREATE TABLE charged (round INTEGER, payload BLOB)')
            db.execute('CREATE TRIGGER note AFTER INSERT ON packet BEGIN INSERT '
                       'INTO charged VALUES (new.round, new.payload); END')
        db.close()


def start(mesh, name):
    log = mesh.path(f'{name}.log')
    mesh.begun[name] = os.path.getsize(log) if os.path.exists(log) else 0
    if name == 'server':
        mesh.start_server('--ahead', '1000',
                          period=random.choice([100, 200]))
    else:
        mesh.start_node(int(name[4:]))


def expect_alive(mesh):
    """Nothing ends by itself, also if its disk is full when it begins."""
    for name in NAMES:
        expect(mesh.processes[name].poll() is None,
               f'{name} had ended by itself:\n' +
               mesh.log(name, 10 ** 7)[mesh.begun[name]:])


def kill_some(mesh, tap, count):
    """How many faults of each kind were in the way of someone, who may be the one
    that is killed or the one that begins."""
    faults = {Disk: 0, Lock: 0}
    for _ in range(count):
        kind = random.choice([Disk, Lock, None])
        fault = kind and kind(mesh, random.choice(NAMES))
        tap.run(random.uniform(0, .6))
        expect_alive(mesh)
        name = random.choice(NAMES)
        mesh.stop(name, signal.SIGKILL)
        tap.run(random.choice([0, 0, .05]))
        start(mesh, name)
        if kind is Disk:        # also for the one that begins
            fault.end()
            fault = Disk(mesh, random.choice([fault.name, name]))
        if fault:
            faults[kind] += 1
            tap.run(random.uniform(0, .3))
            fault.end()
    return faults


def wait_all_back(mesh, tap):
    """Until a round that was opened later has them all."""
    before, end = mesh.last(), time.monotonic() + 120
    whole = lambda: any(set(heard) >= set(NODES)
                        for heard in mesh.arrivals(before).values())
    while not whole():
        expect_alive(mesh)
        expect(time.monotonic() < end, 'not everyone came back: '
               f'{mesh.arrivals(mesh.last() - 3)}\n' + mesh.log('server'))
        tap.run(.2)


def check_charges(mesh, tap):
    """One payload a round, on the wire and in the ledger, and the same one."""
    charged = {}
    for i in NODES:
        path = mesh.folder(i, 'node.ledger')
        mesh.check_study(path)
        rows = mesh.query('SELECT round, payload FROM charged', path=path)
        used = mesh.query('SELECT sum(used) FROM entry', path=path)[0][0]
        expect(len(rows) == len(dict(rows)) == used,
               f'node {i}: {len(rows)} charges of {len(dict(rows))} rounds, '
               f'{used} used')
        charged.update({(r, i): payload for r, payload in rows})
    for (r, i), variants in tap.seen.items():
        expect(len(variants) == 1, f'round {r}: {len(variants)} releases of {i}: {variants} {charged.get((r, i))}')
        expect(charged.get((r, i)) == next(iter(variants))[0],
               f'round {r}: the release of {i} is not charged')
    for r, heard in mesh.arrivals().items():
        expect(all((r, i) in charged for i in heard),
               f'round {r}: of {heard} not all are charged')
    return len(charged)


def check_study(mesh):
    """Nothing is stored twice, and numbers were noted before they were used."""
    mesh.check_study()
    numbers = [r for r, in mesh.query('SELECT round FROM round')]
    expect(len(numbers) == len(set(numbers)), 'a round is stored twice')
    opened, = mesh.query('SELECT round FROM round_opened')[0]
    expect(max(numbers) <= opened, 'a stored round was not noted before')


def main():
    began = time.monotonic()
    with Mesh(build, TAP + 1, LINKS, UPLINK, hops=4, rounds=500,
              times=40) as mesh:
        mesh.begun = {}
        note_charges(mesh)
        tap = Peer(mesh, TAP)
        for name in NAMES:
            start(mesh, name)
        mesh.wait_for(lambda found: any(heard == HOPS for heard in
                                        found.values()), 'a start')
        faults = kill_some(mesh, tap, kills)
        wait_all_back(mesh, tap)
        tap.run(1)
        tap.close()
        for name in NAMES:
            expect(mesh.stop(name) == 0, f'{name} did not stop well:\n' +
                   mesh.log(name))
        check_study(mesh)
        charges = check_charges(mesh, tap)
        print(f'{kills} kills, {faults[Disk]} full disks, {faults[Lock]} locks in '
              f'{time.monotonic() - began:.0f} s: {mesh.rounds()} rounds, '
              f'{charges} releases charged, {len(tap.seen)} heard, one of each '
              'node and round')


main()
