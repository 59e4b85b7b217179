"""Nodes of a mesh change their keys while rounds go on. Node 1, which only its
neighbours reach, announces its next key over FLEET, uses it, and retires the old
one; neighbours believe the old key's signature and nothing else, remember it over
restarts, and take no earlier key again. What was released stays charged, and the
server remembers the last round of a node over its keys. Arguments: build folder."""
import os
import signal
import sqlite3
import sys

from fleet import expect
from mesh_fleet import Mesh

build = sys.argv[1]
ALL = {0, 1, 2, 3}


def everyone(mesh, what, of=ALL):
    """Rounds from now on hold all of these."""
    after = mesh.last() + 1
    mesh.wait_for(lambda _: any(of <= set(h) for h in mesh.arrivals(after)
                                .values()), what)


def restart(mesh, i, key, how=signal.SIGTERM):
    mesh.stop(f'node{i}', how)
    mesh.start_node(i, '--key', key)


def read(mesh, i, sql, *values):
    return mesh.query(sql, *values, path=mesh.folder(i, 'node.ledger'))


def used(mesh, i):
    return read(mesh, i, 'SELECT coalesce(sum(used), 0) FROM entry')[0][0]


def make_next(mesh, i, name, old):
    new = mesh.run('pricer', 'keygen', mesh.path(name), '--after',
                   old).stdout.strip()
    mesh.run('pricer', 'enrol', mesh.study, str(i), mesh.path(name + '.pub'),
             '--next')
    return new


def test_relay(mesh):
    old = mesh.query('SELECT key FROM member WHERE node = 1')[0][0]
    everyone(mesh, 'before')
    new = make_next(mesh, 1, 'next1', mesh.key(1))
    for i in (0, 2):    # both sides of it hear of the key, which is stored
        mesh.wait_log(f'node{i}', f'the next key of node 1 is {new}')
        mesh.wait_for(lambda _: read(mesh, i, 'SELECT old, key, signed FROM '
                                     'follow') == [(old, new, 1)],
                      f'node {i} hears of the next key')
    everyone(mesh, 'the old key, while there is a next one')
    restart(mesh, 1, mesh.key(1))
    everyone(mesh, 'the old key, after a restart')
    spent = used(mesh, 1)
    # The neighbours restart at the same time: they know the key from their ledgers.
    mesh.stop('node0', signal.SIGKILL)
    mesh.stop('node2', signal.SIGKILL)
    restart(mesh, 1, mesh.path('next1'))
    mesh.start_node(0)
    mesh.start_node(2)
    for i in (0, 2):
        mesh.wait_log(f'node{i}', f'the key of node 1 is {new} from now on')
    everyone(mesh, 'the next key')
    expect(used(mesh, 1) > spent > 0, 'the account began again')
    print('a relay that no server reaches goes on with its next key')
    # An earlier key is not taken again, and its owner comes back with the next.
    restart(mesh, 1, mesh.key(1))
    everyone(mesh, 'the others', {0})
    mesh.wait_for(lambda found: all(1 not in h for h in found.values()),
                  'the old key is shut out')
    restart(mesh, 1, mesh.path('next1'))
    everyone(mesh, 'back')
    mesh.run('pricer', 'enrol', mesh.study, '1', '--retire')
    everyone(mesh, 'retired')
    mesh.stop('server', signal.SIGKILL)
    mesh.start_server()
    for i in (2, 0):
        mesh.stop(f'node{i}', signal.SIGKILL)
        mesh.start_node(i)
    everyone(mesh, 'after restarts')
    # A signature that the old key has not made.
    forged = mesh.run('pricer', 'keygen', mesh.path('forged'), '--after',
                      mesh.path('next1')).stdout.strip()
    with sqlite3.connect(mesh.study, timeout=20) as db:
        db.execute('UPDATE member_next SET old = key, key = ?, proof = ? WHERE '
                   'node = 1', (forged, bytes(64)))
    db.close()
    for i in (0, 2):
        mesh.wait_log(f'node{i}', 'the old one has not signed that')
    restart(mesh, 1, mesh.path('forged'))
    everyone(mesh, 'the others again', {0})
    mesh.wait_for(lambda found: all(1 not in h for h in found.values()),
                  'a key that nobody has signed')
    restart(mesh, 1, mesh.path('next1'))
    everyone(mesh, 'back again')
    print('neither an earlier key nor one without a signature is let in')


def test_memory(mesh):
    """Node 0 has a new key and a new ledger: the server knows its last round."""
    old = mesh.query('SELECT key FROM member WHERE node = 0')[0][0]
    make_next(mesh, 0, 'next0', mesh.key(0))
    mesh.wait_for(lambda _: read(mesh, 1, 'SELECT 1 FROM follow WHERE old = ?',
                                 old), 'node 1 hears of the next key of node 0')
    everyone(mesh, 'a next key of node 0')
    restart(mesh, 0, mesh.path('next0'))
    everyone(mesh, 'node 0 with its next key')
    mesh.run('pricer', 'enrol', mesh.study, '0', '--retire')
    everyone(mesh, 'node 0 retired')
    mesh.stop('node0')
    os.remove(mesh.folder(0, 'node.ledger'))
    mesh.start_node(0, '--key', mesh.path('next0'), '--new-ledger')
    mesh.wait_log('node0', 'the ledger is behind')
    print('a key that follows inherits what the server has heard')


with Mesh(build, 5, [(0, 1), (1, 2), (2, 3), (3, 4)], [1, 0, 0, 0, 0],
          times=2000) as mesh:
    mesh.start_server()
    for i in range(4):
        mesh.start_node(i)
    test_relay(mesh)
    test_memory(mesh)
