"""A mesh end to end. A demo gives the simulator's rounds; nodes without any
connection to the server take part over up to three relays; nodes and the server
are killed and come back, and never is there a second release of a round; a node
that hears nothing opens rounds by itself. Arguments: build folder."""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

from fleet import expect
from mesh_fleet import Mesh, Peer

build = sys.argv[1]
ALL = {0: 0, 1: 1, 2: 2, 3: 3}  # who is heard over how many relays, in a line


def check_demo():
    """Links that fail, both kinds of releases, and several attempts."""
    for name, keys in (('sphere', 'release: sphere'),
                       ('gaussian', 'release: gaussian'),
                       ('attempts', 'repeat: 3')):
        with Mesh(build, 6, [(i, j) for i in range(6) for j in range(i)],
                  [.5, 0, .3, 0, 0, .2], dimension=5, keys=keys + '\n') as mesh:
            mesh.write('links.csv', 'from,to,p\n' + ''.join(
                f'{i},{j},.{3 + (i + 2 * j) % 4}\n' for i in range(6)
                for j in range(6) if i != j and (i + j) % 3))
            study = mesh.path('demo.pricer')
            mesh.run('pricer', 'new', study, mesh.path('s.yaml'))
            mesh.run('pricer', 'plan', study)
            found = json.loads(mesh.run('pricer', 'demo', study, '--rounds',
                                        '30', '--json').stdout)
            expect(found['same_rounds_agree'] and found['rounds'] == 30,
                   f'{name}: {found}')
            hops = dict(mesh.query('SELECT hops, count(*) FROM round_arrival '
                                   'GROUP BY hops', path=study))
            expect(max(hops) >= 2, f'{name}: {hops}')
            print(f'demo, {name}: as simulated; arrivals by relays {hops}')


def line(**more):
    """Node 0 has the uplink; 4, at its other end, is played by the test."""
    return Mesh(build, 5, [(0, 1), (1, 2), (2, 3), (3, 4)], [1, 0, 0, 0, 0],
                **more)


def check_line():
    with line() as mesh:
        mesh.start_server('--ahead', '1000')
        for i in range(4):
            mesh.start_node(i)
        complete = lambda found: any(
            {i: hops[i] for i in hops if i < 4} == ALL for hops in found.values())
        mesh.wait_for(complete, 'nodes without a server take part')
        print('nodes that know no server are heard over 0, 1, 2, 3 relays')
        tap = Peer(mesh, 4)
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            tap.run(.5)
            for i in (2, 0, 3, 1):
                mesh.stop(f'node{i}', how)
                tap.run(.07)
                mesh.start_node(i)
        tap.run(1)
        mesh.stop('server', signal.SIGKILL)
        tap.run(.5)
        mesh.start_server('--ahead', '1000')
        tap.run(20, until=lambda: complete(mesh.arrivals(mesh.last() - 1)))
        mesh.wait_for(complete, 'all come back')
        # Without the server everyone goes on by the clock, and node 4 hears it
        # of the three that are near enough.
        mesh.stop('server', signal.SIGKILL)
        last = max(r for r, _ in tap.seen)
        tap.run(30, until=lambda: {1, 2, 3} <= {
            i for r, i in tap.seen if r >= last + 3})
        expect({1, 2, 3} <= {i for r, i in tap.seen if r >= last + 3},
               'rounds by the clock')
        expect(all(len(variants) == 1 for variants in tap.seen.values()),
               'a second release of a round')
        print(f'{len(tap.seen)} packets of {last} rounds heard at the far end, '
              'one variant of each; rounds go on by the clock')
        tap.close()


def check_metrics(found):
    """What is shown of the latest round is of one that is over, whatever the one
    that is open has so far; nodes 0 and 2 arrive over node 0."""
    heard = [found[f'pricer_nodes_heard{{hops="{k}"}}'] for k in range(4)]
    expect(found['pricer_releases_arrived'] == sum(heard) ==
           found['pricer_round_packets'] -
           found['pricer_round_packets_repeated'], found)
    expect(found['pricer_round_bytes'] >= 108 * found['pricer_round_packets'],
           found)
    expect(found['pricer_node_arrivals{node="2",hops="2"}'] ==
           found['pricer_node_arrived_total{node="2"}'] <=
           found['pricer_plan_rounds'] == found['pricer_rounds_total'], found)
    expect(found['pricer_node_uplinks{node="0"}'] >=
           found['pricer_node_arrivals{node="0",hops="0"}'] > 0, found)
    expect('pricer_node_uplinks{node="2"}' not in found and
           found['pricer_node_arrival_planned{node="2"}'] == 1, found)


def check_idle():
    """A server without nodes waits instead of looking for them all the time."""
    def used():
        with open(f'/proc/{server.pid}/stat') as file:
            words = file.read().rsplit(')', 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')

    with line() as mesh:
        server = mesh.start_server()
        mesh.wait_log('server', 'listening')
        before = used()
        time.sleep(2)
        expect(used() - before < .2, 'a server that waits is busy')
        print(f'a server without nodes: {used() - before:.2f} s of CPU in 2 s')


def check_refusal():
    """A node whose trust file is less than the plan relays and releases nothing."""
    with line(times=500) as mesh:
        mesh.write('fleet/node1/node.trust', 'to,eps,delta\neveryone,3,1e-5\n')
        mesh.start_server()
        for i in range(3):
            mesh.start_node(i)
        want = {0: 0, 2: 2}
        mesh.wait_for(lambda found: want in found.values(), 'node 1 only relays')
        expect('is refused' in mesh.log('node1'), mesh.log('node1'))
        page = mesh.get('/metrics')[1]
        expect('pricer_nodes_heard{hops="2"} 1' in page, page)
        page = mesh.get('/')[1]
        expect('over others' in page, page)
        expect(mesh.metrics()['pricer_nodes_drifting'] >= 1 and
               ' 1 (0.000, planned 1.000)' in page, page)
        check_metrics(mesh.metrics())
        print('a node that is asked for more than its trust file relays only')


def check_behind():
    """A ledger that is put back, or made again, releases nothing more."""
    with line() as mesh:
        mesh.start_server()
        mesh.start_node(0)
        mesh.start_node(1)
        mesh.wait_for(lambda found: {0: 0, 1: 1} in found.values(), 'a start')
        mesh.stop('node0')
        ledger = mesh.folder(0, 'node.ledger')
        os.remove(ledger)
        mesh.start_node(0, '--new-ledger')
        mesh.wait_for(lambda found: {1: 1} in found.values() and
                      'the ledger is behind' in mesh.log('node0'),
                      'node 0 relays')
        last = mesh.query('SELECT max(round) FROM round_arrival WHERE node = 0')
        words = mesh.log('node0').split('--ledger-accept ')[1].split()[0]
        expect(int(words) <= last[0][0], mesh.log('node0'))
        mesh.stop('node0')
        mesh.run('pricer-node', '--ledger', ledger, '--server-key',
                 mesh.key('server') + '.pub', '--ledger-accept', words)
        mesh.start_node(0)
        mesh.wait_for(lambda found: {0: 0, 1: 1} in found.values(), 'accepted')
        print('a node whose ledger was made again releases nothing until its '
              'operator accepts that')


def check_pause():
    """A server that stops reaches node 3 over relays: it opens no rounds by itself,
    and a node that starts in the pause releases nothing."""
    with line() as mesh:
        mesh.start_server('--ahead', '1000')
        for i in range(3):
            mesh.start_node(i)
        mesh.wait_for(lambda found: any(2 in h for h in found.values()), 'a start')
        spent = lambda i: mesh.query('SELECT coalesce(max(round), 0) FROM packet',
                                     path=mesh.folder(i, 'node.ledger'))[0][0]
        mesh.stop('server')
        last, tap = mesh.last(), Peer(mesh, 4)
        # Node 3 hears of the round when it would release: no MARK came in 2 s.
        mesh.stop('node2')
        mesh.start_node(3)
        tap.run(2.5)
        mesh.start_node(2)
        heard = lambda: tap.said.get(2, [0] * 8)[3:8] == [last, 0, 0, 0, 0]
        for _ in range(100):
            tap.send(3, tap.hello())
            tap.run(.3, until=heard)
            if heard():
                break
        expect(heard(), f'no pause: {tap.said.get(2)}, round {last}')
        before = [spent(i) for i in range(4)]
        tap.run(3)  # 15 periods
        expect([spent(i) for i in range(4)] == before and before[3] == 0,
               f'released in a pause: {before}, {[spent(i) for i in range(4)]}')
        mesh.start_server('--ahead', '1000')
        tap.run(60, until=lambda: any(set(ALL) <= set(h) for h in
                                      mesh.arrivals(last).values()))
        expect(any(set(ALL) <= set(h) for h in mesh.arrivals(last).values()),
               'rounds go on')
        print('a pause reaches a node behind three relays, and ends')
        tap.close()


def check_plan():
    """A plan that the server cannot run changes nothing, and does not keep it from
    shutting out a key; the next one is taken."""
    with line() as mesh:
        mesh.start_server()
        mesh.start_node(0)
        mesh.start_node(1)
        both = lambda found: {0: 0, 1: 1} in found.values()
        mesh.wait_for(both, 'a start')
        mesh.run('pricer', 'plan', mesh.study)      # of which the server hears
        mesh.wait_log('node1', 'plan 2')            # before it is replaced
        with sqlite3.connect(mesh.study, timeout=10) as db:
            for table in 'forward_plan', 'forward_plan_node':
                db.execute(f'CREATE TEMP TABLE copy AS SELECT * FROM {table} '
                           'WHERE plan = 2')
                db.execute('UPDATE copy SET plan = 3')
                if table == 'forward_plan':
                    db.execute('UPDATE copy SET repeat = 9')
                db.execute(f'INSERT INTO {table} SELECT * FROM copy')
                db.execute('DROP TABLE copy')
        db.close()
        mesh.wait_log('server', 'plan 3 cannot be run')
        last = mesh.last()
        mesh.wait_for(lambda found: both(found) and mesh.last() > last,
                      'rounds go on')
        mesh.run('pricer', 'enrol', mesh.study, '1', '--remove')
        mesh.wait_for(lambda found: {0: 0} in found.values(), 'node 1 is out')
        mesh.run('pricer', 'plan', mesh.study)
        mesh.wait_log('node0', 'plan 4')
        print('a plan that cannot be run leaves the last one in use')


check_demo()
check_idle()
check_plan()
check_pause()
check_line()
check_behind()
check_refusal()
