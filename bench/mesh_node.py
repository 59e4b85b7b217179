"""A node of a mesh with 30 neighbours that hand it 300 packets of others in a round,
d = 128: milliseconds of its CPU a round. The node and the server are the programs,
the neighbours are played by one process (bench_mesh). Rounds follow the clock, five a
second, so that nothing is in the caches from the one before. The node passes on every
packet to the 29 others and to the server.

Two cases: every neighbour hands it 10 packets that nobody else does, and every
neighbour hands it all 300, as in a dense mesh, where 8,700 of 9,000 are copies of
what it has. Arguments: build folder, rounds, neighbours, packets."""
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

import numpy as np

build = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 50
near = int(sys.argv[3]) if len(sys.argv) > 3 else 30
packets = int(sys.argv[4]) if len(sys.argv) > 4 else 300
PERIOD, DIMENSION = 200, 128


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'FAILED: {words}: {done.stderr}')
    return done.stdout


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(('127.0.0.1', 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


def make(folder, port):
    """A study in which node 0 alone has an uplink, 1 to `near` are its neighbours,
    and the others are behind these; the files of node 0. The server's key, and
    node 0's."""
    os.chdir(folder)
    nodes = packets + 1
    write('nodes.csv', 'node,p\n' + ''.join(
        f'{i},{1 if i == 0 else 0}\n' for i in range(nodes)))
    links = [(i, 0 if i <= near else 1 + i % near) for i in range(1, nodes)]
    write('links.csv', 'from,to,p\n' + ''.join(
        f'{i},{j},1\n{j},{i},1\n' for i, j in links))
    write('s.yaml', f'dimension: {DIMENSION}\nradius: 1\nscheme: forward\n'
          'hops: 3\nrelease: sphere\nnetwork: {files: {nodes: nodes.csv, links: '
          'links.csv}}\ntrust: {everyone: {eps: 4}}\n')
    run(build + '/pricer', 'new', 'study.pricer', 's.yaml')
    run(build + '/pricer', 'plan', 'study.pricer')
    server = run(build + '/pricer', 'keygen', 'server.key').strip()
    node = run(build + '/pricer', 'keygen', 'node.key').strip()
    run(build + '/pricer', 'enrol', 'study.pricer', 'server', server,
        f'tcp://127.0.0.1:{port}')
    keys = run(build + '/bench/bench_mesh', 'keys', str(nodes)).split()
    keys[0] = node
    db = sqlite3.connect('study.pricer')
    db.executemany('INSERT INTO member VALUES (?,?,?)',
                   ((i, k, 'tcp://127.0.0.1:1') for i, k in enumerate(keys)))
    db.commit()
    db.close()
    write('neighbours.csv', 'node,key,address\n' + ''.join(
        f'{i},"{keys[i]}",\n' for i in range(1, near + 1)))
    write('node.trust', f'to,eps,delta\neveryone,{4.01 * 10 * rounds},0\n')
    np.save('vector.npy', np.full((1, DIMENSION), .05))
    return server, node


def used(process):
    """Seconds of CPU of all threads, by the scheduler's clock."""
    total = 0
    for task in os.listdir(f'/proc/{process.pid}/task'):
        with open(f'/proc/{process.pid}/task/{task}/schedstat') as file:
            total += int(file.read().split()[0])
    return total * 1e-9


def look():
    """Rounds that were stored, and how many arrived in the latest."""
    db = sqlite3.connect('file:study.pricer?mode=ro', uri=True, timeout=30)
    try:
        return db.execute('SELECT count(*), coalesce((SELECT arrived FROM round '
                          'ORDER BY round DESC LIMIT 1), 0) FROM round').fetchone()
    finally:
        db.close()


def wait(condition, what, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit('FAILED: ' + what)
        time.sleep(.1)


def measure(each):
    """Milliseconds of CPU a round, and the part of the nodes that arrived."""
    to_server, to_node = free_ports(2)
    with tempfile.TemporaryDirectory(prefix='pricer-load-') as folder:
        server, node = make(folder, to_server)
        log = open('log', 'w+')
        started = [subprocess.Popen(words, stderr=log) for words in (
            [build + '/pricer-server', 'study.pricer', '--key', 'server.key',
             '--period', str(PERIOD), '--uplink', str(PERIOD * 9 // 10)],
            [build + '/pricer-node', '--node', '0', '--key', 'node.key',
             '--server', f'tcp://127.0.0.1:{to_server}', '--server-key', server,
             '--listen', f'tcp://127.0.0.1:{to_node}', '--trust', 'node.trust',
             '--neighbours', 'neighbours.csv', '--ledger', 'node.ledger',
             '--new-ledger', '--data', 'vector.npy', '--row', '0'],
            [build + '/bench/bench_mesh', 'near', str(packets + 1),
             f'tcp://127.0.0.1:{to_node}', server, str(each), node, str(near)])]
        try:
            wait(lambda: look()[1] == packets + 1, 'not all have arrived')
            first, busy = look()[0], used(started[1])
            wait(lambda: look()[0] >= first + rounds, 'no rounds', 600)
            done = look()[0]
            busy = used(started[1]) - busy
            db = sqlite3.connect('study.pricer')
            arrived = db.execute('SELECT avg(arrived) FROM round WHERE round > '
                                 '?', (first,)).fetchone()[0]
            db.close()
            return 1e3 * busy / (done - first), arrived / (packets + 1)
        finally:
            for process in started:
                process.terminate()
                process.wait()
            log.seek(0)
            said = log.read()
            log.close()
            os.chdir('/')
            if '-v' in sys.argv:
                print(said)


print(f'{near} neighbours, {packets} packets of other nodes, {rounds} rounds')
print('handed in by each  copies a round  arrived  CPU a round, ms')
for each in (packets // near, packets):
    cost, arrived = measure(each)
    print(f'{each:>17}{each * near:>16}{arrived:>9.3f}{cost:>17.2f}', flush=True)
