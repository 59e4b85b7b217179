"""A server with many nodes, all played by one process beside it, every node with
its own key and connection.

Rounds, d = 128: how long they took to connect, rounds a second and the server's
most memory.

Before and after, bench_ping does the same over as many bare TLS connections: a
question of OPEN's size to each, an answer of SUM's size, and nothing else. What it
makes in the same run says what the machine and its TLS can do; microseconds of CPU
for a node and a round, of the server's side and of the nodes', depend less on what
else runs there.

Throughput, 100 nodes, d = 10^4, with and without the noise of their parts, the server
with as many threads as it takes by itself, nodes on four: bytes of sums a second and
CPU seconds a gigabyte, both sides together, beside one connection of bare TLS that
carries messages of the same size (bench_pipe). Each has its turn five times; medians
are compared, and beside them stand the least and the most.
Arguments: build folder, seconds, numbers of nodes."""
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

build = sys.argv[1]
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
sizes = [int(word) for word in sys.argv[3:]] or [1000, 10000]


def expect(condition, message):
    if not condition:
        sys.exit('FAILED: ' + message)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    expect(done.returncode == 0, f'{words}: {done.stderr}')
    return done.stdout


def make(folder, nodes, dimension, port):
    """A study with a plan of own parts, everyone enrolled."""
    study = os.path.join(folder, 'study.pricer')
    with open(os.path.join(folder, 'nodes.csv'), 'w') as file:
        file.write('node,p\n' + ''.join(f'{i},1\n' for i in range(nodes)))
    with open(os.path.join(folder, 'links.csv'), 'w') as file:
        file.write('from,to,p,eps,delta\n' + ''.join(
            f'{i},{(i + k) % nodes},1,50,1e-3\n' for i in range(nodes)
            for k in (1, 2)))
    with open(os.path.join(folder, 's.yaml'), 'w') as file:
        file.write(f'dimension: {dimension}\nradius: 1\nnetwork: {{files: '
                   '{nodes: nodes.csv, links: links.csv}}\n')
    run(build + '/pricer', 'new', study, os.path.join(folder, 's.yaml'))
    key = run(build + '/pricer', 'keygen', folder + '/server.key').strip()
    run(build + '/pricer', 'enrol', study, 'server', key,
        f'tcp://127.0.0.1:{port}')
    keys = run(build + '/bench/bench_load', 'keys', str(nodes)).split()
    db = sqlite3.connect(study)
    db.execute("INSERT INTO plan (plan, network, bias, lambda, calibration,"
               " method, rounds, credit, sum_multiplier) VALUES (1, 1,"
               " 'worst-case', 0, 'analytic', 'given', 1, 'none', 0)")
    db.executemany('INSERT INTO plan_node VALUES (1,?,1,.1,0,0,0)',
                   ((i,) for i in range(nodes)))
    db.executemany('INSERT INTO member VALUES (?,?,?)',
                   ((i, k, 'tcp://127.0.0.1:1') for i, k in enumerate(keys)))
    db.commit()
    db.close()
    return study, key


def status(process, name):
    with open(f'/proc/{process.pid}/status') as file:
        return int(next(line for line in file
                        if line.startswith(name)).split()[1])


def used(process):
    with open(f'/proc/{process.pid}/stat') as file:
        words = file.read().rsplit(')', 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


def rounds(study):
    db = sqlite3.connect(f'file:{study}?mode=ro', uri=True, timeout=30)
    try:
        return db.execute('SELECT count(*), coalesce(avg(arrived), 0) FROM '
                          '(SELECT arrived FROM round ORDER BY round DESC)'
                          ).fetchone()
    finally:
        db.close()


def ping(nodes):
    """Rounds a second of bare TLS, and the cores that both sides kept busy."""
    request, reply = 4 + 24, 4 + 8 * 128 + 56
    return [float(word) for word in
            run(build + '/bench/bench_ping', str(nodes), str(request),
                str(reply), str(max(2, seconds / 3))).split()]


def play(nodes, dimension=128, players=1, *more):
    """Seconds until all were connected and until two rounds, rounds a second,
    the part of the sums that arrived, MiB, and the cores that both kept busy."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix='pricer-load-') as folder:
        study, key = make(folder, nodes, dimension, port)
        log = open(folder + '/log', 'w+')
        started = time.monotonic()
        server = subprocess.Popen(
            [build + '/pricer-server', study, '--key', folder + '/server.key',
             '--early', '--period', '0', '--share', '30000', '--uplink',
             '60000', '--quorum', str(nodes)],
            stderr=log)
        load = subprocess.Popen(
            [build + '/bench/bench_load', 'play', str(nodes),
             f'tcp://127.0.0.1:{port}', key, str(players), *more], stdout=subprocess.PIPE,
            text=True)
        try:
            words = load.stdout.readline().split()
            expect(words[:1] == ['connected'], 'they did not connect')
            while rounds(study)[0] < 2:
                expect(time.monotonic() < started + 300, 'no rounds')
                time.sleep(.1)
            ready = time.monotonic() - started
            (first, _), begun = rounds(study), time.monotonic()
            busy = used(server), used(load)
            time.sleep(seconds)
            (last, arrived), passed = rounds(study), time.monotonic() - begun
            return (float(words[1]), ready, (last - first) / passed,
                    arrived / nodes, status(server, 'VmHWM') // 1024,
                    (used(server) - busy[0]) / passed,
                    (used(load) - busy[1]) / passed)
        finally:
            for process in (load, server):
                process.kill()
                process.wait()
            load.stdout.close()
            log.close()


def cost(nodes, pace, busy):
    """Microseconds of CPU for a node and a round."""
    return busy / pace / nodes * 1e6 if pace > 0 else float('nan')


def measure(nodes):
    before = ping(nodes)
    connected, ready, pace, arrived, memory, server, load = play(nodes)
    bare = max(before, ping(nodes))
    print(f'{nodes:>7}{connected:>14.1f}{ready:>13.1f}{arrived:>9.3f}'
          f'{memory:>6}{pace:>10.1f}{cost(nodes, pace, server):>9.1f}'
          f'{cost(nodes, pace, load):>7.1f}{bare[0]:>10.1f}'
          f'{cost(nodes, bare[0], bare[1]):>9.1f}'
          f'{cost(nodes, bare[0], bare[2]):>7.1f}{pace / bare[0]:>8.2f}'
          f'{(bare[1] + bare[2]) / bare[0] / ((server + load) / pace):>6.2f}',
          flush=True)


def pipe(dimension):
    """Bytes a second and CPU seconds a gigabyte of bare TLS."""
    return [float(word) for word in
            run(build + '/bench/bench_pipe', str(8 * dimension), '8000').split()]


def carry(nodes=100, dimension=10000, turns=5):
    kinds = (('sums', ()), ('sums with noise', ('noise',)))
    bare, ours = [], {name: [] for name, _ in kinds}
    for _ in range(turns):
        bare.append(pipe(dimension))
        for name, more in kinds:
            _, _, pace, arrived, _, server, load = play(nodes, dimension, 4, *more)
            speed = pace * nodes * 8 * dimension
            ours[name].append((speed, 1e9 * (server + load) / speed, arrived))
    middle = [statistics.median(column) for column in zip(*bare)]
    print(f'{"":32}{"arrived":>9}{"MB/s (least, most)":>24}{"CPU s/GB":>10}'
          f'{"of the pipe: speed, CPU":>25}')

    def row(name, rows, arrived, end):
        speeds = sorted(row[0] / 1e6 for row in rows)
        spread = f'({speeds[0]:.0f}, {speeds[-1]:.0f})'
        print(f'{name:32}{arrived:>9}{statistics.median(speeds):9.0f} '
              f'{spread:>14}{statistics.median(row[1] for row in rows):10.2f}'
              f'{end}', flush=True)

    row('bare TLS, one pipe', bare, '', '')
    for name, rows in ours.items():
        speed, spent, _ = (statistics.median(column) for column in zip(*rows))
        row(f'{nodes} nodes, {name}', rows,
            f'{min(row[2] for row in rows):.3f}',
            f'{speed / middle[0]:18.2f}{middle[1] / spent:7.2f}')


print(f'load before {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores')
print(f'{"":49}{"fleet, us CPU":>26}{"bare TLS, us CPU":>26}{"fleet/bare":>14}')
print(f'{"nodes":>7}{"connected, s":>14}{"2 rounds, s":>13}{"arrived":>9}'
      f'{"MiB":>6}' + 2 * f'{"rounds/s":>10}{"server":>9}{"nodes":>7}' +
      f'{"speed":>8}{"CPU":>6}')
for nodes in sizes:
    measure(nodes)
carry()
