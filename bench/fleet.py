"""Payload throughput of a whole fleet against bare TLS with the same message
size, in the same run: 100 nodes and the server as processes on this machine,
d = 10^4, every node with four neighbours, early rounds one after the other.

Two yardsticks (bench_pipe), both with their two ends on the same cores as the
fleet: one connection, and as many connections as the fleet has, so that its bytes
too leave the caches on their way. Both do nothing with what they carry and wait
for nobody; the fleet also makes and adds up the vectors, charges 100 ledgers and
stores the round. Speed depends on what else runs on the machine, CPU seconds a
gigabyte less so: both are printed, and the ratio of each.

Everybody's files are in $TMPDIR: on a disk, 100 ledgers wait for one disk, which
in earnest have one each; a folder in memory (/dev/shm) leaves that out.

Arguments: build folder, nodes, rounds, dimension."""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '..', 'tests', 'fleet'))
from fleet import Fleet, expect  # noqa: E402

build = sys.argv[1]
nodes = int(sys.argv[2]) if len(sys.argv) > 2 else 100
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 100
dimension = int(sys.argv[4]) if len(sys.argv) > 4 else 10000
ring = [(i, (i + k) % nodes) for i in range(nodes) for k in (1, 2, -1, -2)]
messages = len(ring) + nodes


def pipe(connections):
    """Bytes a second, CPU seconds a gigabyte; the best of three."""
    runs = [subprocess.run([build + '/bench/bench_pipe', str(8 * dimension),
                            '6000', str(connections)], capture_output=True,
                           text=True, check=True).stdout.split()
            for _ in range(3)]
    return (max(float(speed) for speed, _ in runs),
            min(float(used) for _, used in runs))


def used(processes):
    """CPU seconds that they have used so far."""
    ticks = 0
    for process in processes:
        with open(f'/proc/{process.pid}/stat') as file:
            words = file.read().rsplit(')', 1)[1].split()
        ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf('SC_CLK_TCK')


def wait_rounds(fleet, count, seconds):
    """As the fleet's own, but it asks rarely enough to cost nothing."""
    end = time.monotonic() + seconds
    while fleet.rounds() < count:
        expect(time.monotonic() < end, fleet.log('server'))
        time.sleep(.25)


def run(noise, rounds):
    """Bytes a second, CPU seconds a gigabyte, how many messages did not arrive,
    seconds."""
    with Fleet(build, nodes=nodes, dimension=dimension, topology=ring,
               uplink=[1] * nodes, p=1, weight=.2, noise=noise, own=.2,
               own_noise=noise) as fleet:
        for i in range(nodes):
            fleet.write_trust(i, [f'{j},inf,1,inf,1' for j in range(nodes)])
            fleet.start_node(i)
        fleet.start_server('--quorum', str(nodes), '--early', '--period', '0',
                           '--share', '30000', '--uplink', '60000')
        everybody = list(fleet.processes.values())
        wait_rounds(fleet, 5, 120)
        first, started, busy = fleet.rounds(), time.monotonic(), used(everybody)
        wait_rounds(fleet, first + rounds, 600)
        done = fleet.rounds() - first
        seconds = time.monotonic() - started
        busy = used(everybody) - busy
        # The first rounds are for connecting.
        missing = fleet.query('SELECT (SELECT count(*) FROM arrival WHERE NOT '
                              'arrived AND round > ?1) + (SELECT count(*) FROM '
                              'delivery WHERE NOT arrived AND round > ?1)',
                              first)[0][0]
        for process in everybody:
            process.terminate()
        payload = messages * 8 * dimension * done
        return payload / seconds, busy / (payload / 1e9), missing, seconds


rows = [('links with full trust', 0, rounds),
        ('noise on every link', .5, max(10, rounds // 2))]
load = os.getloadavg()[0]
before = [pipe(1), pipe(messages)]
measured = [(name, *run(noise, count)) for name, noise, count in rows]
bare = [(max(a[0], b[0]), min(a[1], b[1]))
        for a, b in zip(before, [pipe(1), pipe(messages)])]
print(f'load before {load:.1f}, {os.cpu_count()} cores, files in '
      f'{tempfile.gettempdir()}')
print(f'{"":34}{"MB/s":>8}{"CPU s/GB":>10}{"s":>7}{"lost":>6}'
      f'{"of one pipe: speed, CPU":>25}{"of " + str(messages) + " pipes":>21}')
for name, (speed, cost) in zip(('one pipe', f'{messages} pipes'), bare):
    print(f'{"bare TLS, " + name:34}{speed / 1e6:8.1f}{cost:10.2f}')
for name, speed, cost, missing, seconds in measured:
    print(f'{f"{nodes} nodes, {name}":34}{speed / 1e6:8.1f}{cost:10.2f}'
          f'{seconds:7.1f}{missing:6}'
          f'{speed / bare[0][0]:18.2f}{bare[0][1] / cost:7.2f}'
          f'{speed / bare[1][0]:14.2f}{bare[1][1] / cost:7.2f}')
