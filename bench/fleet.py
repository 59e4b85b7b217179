"""Payload throughput of a whole fleet against a bare TLS pipe of the same
message size, in the same run: 100 nodes and the server as processes on this
machine, d = 10^4, every node with four neighbours. Arguments: build folder,
nodes, rounds, dimension."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '..', 'tests', 'fleet'))
from fleet import Fleet, expect  # noqa: E402

build = sys.argv[1]
nodes = int(sys.argv[2]) if len(sys.argv) > 2 else 100
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 100
dimension = int(sys.argv[4]) if len(sys.argv) > 4 else 10000
ring = [(i, (i + k) % nodes) for i in range(nodes) for k in (1, 2, -1, -2)]


def pipe():
    done = subprocess.run([build + '/bench/bench_pipe', str(8 * dimension),
                           '6000'], capture_output=True, text=True, check=True)
    return float(done.stdout)


def run(noise, rounds):
    """Bytes a second, and how many messages did not arrive."""
    with Fleet(build, nodes=nodes, dimension=dimension, topology=ring,
               uplink=[1] * nodes, p=1, weight=.2, noise=noise, own=.2,
               own_noise=noise) as fleet:
        for i in range(nodes):
            fleet.write_trust(i, [f'{j},inf,1,inf,1' for j in range(nodes)])
            fleet.start_node(i)
        fleet.start_server('--quorum', str(nodes), '--early', '--period', '0',
                           '--rounds', str(rounds + 5), '--share', '30000',
                           '--uplink', '60000')
        fleet.wait_rounds(5, 120)
        started = time.monotonic()
        first = fleet.rounds()
        expect(fleet.wait('server', 600) == 0, fleet.log('server'))
        seconds = time.monotonic() - started
        done = fleet.rounds() - first
        # The first rounds are for connecting.
        missing = fleet.query('SELECT (SELECT count(*) FROM arrival WHERE NOT '
                              'arrived AND round > ?1) + (SELECT count(*) FROM '
                              'delivery WHERE NOT arrived AND round > ?1)',
                              first)[0][0]
        for i in range(nodes):
            fleet.processes[f'node{i}'].terminate()
        messages = len(ring) + nodes
        return messages * 8 * dimension * done / seconds, missing, seconds


print(f'{"":32}{"MB/s":>10}{"s":>8}{"lost":>6}{"of the pipe":>13}')
before = pipe()
rows = [('links with full trust', 0, rounds),
        ('noise on every link', .5, max(10, rounds // 5))]
measured = [(name, *run(noise, count)) for name, noise, count in rows]
bare = max(before, pipe())
print(f'{"bare TLS pipe":32}{bare / 1e6:10.1f}')
for name, speed, missing, seconds in measured:
    print(f'{f"{nodes} nodes, {name}":32}{speed / 1e6:10.1f}{seconds:8.1f}'
          f'{missing:6}{speed / bare:13.2f}')
