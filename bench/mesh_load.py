"""The server of a mesh with many nodes, all played by one process next to it, every
node with its own key and connection, d = 128: each hands the server so many packets
a round, its own and those of others. Seconds and CPU seconds of both sides until all
were connected, rounds a second,
the part of the nodes that arrived, the server's most memory, and CPU of a round at
the server and at the nodes.

Before and after, bench_ping sends as many bytes over as many connections of bare TLS
and does nothing else: rounds a second, and CPU of a round at both ends. That is what
the machine and its TLS can do; the last column is our CPU over that of both ends.
Arguments: build folder, seconds, packets, numbers of nodes."""
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

build = sys.argv[1]
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
packets = int(sys.argv[3]) if len(sys.argv) > 3 else 30
sizes = [int(word) for word in sys.argv[4:]] or [1000]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'FAILED: {words}: {done.stderr}')
    return done.stdout


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def make(folder, nodes, port):
    study = os.path.join(folder, 'study.pricer')
    with open(os.path.join(folder, 'nodes.csv'), 'w') as file:
        file.write('node,p\n' + ''.join(f'{i},1\n' for i in range(nodes)))
    with open(os.path.join(folder, 'links.csv'), 'w') as file:
        file.write('from,to,p\n' + ''.join(
            f'{i},{(i + 1) % nodes},1\n' for i in range(nodes)))
    with open(os.path.join(folder, 's.yaml'), 'w') as file:
        file.write('dimension: 128\nradius: 1\nscheme: forward\nhops: 1\n'
                   'release: sphere\nnetwork: {files: {nodes: nodes.csv, links: '
                   'links.csv}}\ntrust: {everyone: {eps: 4}}\n')
    run(build + '/pricer', 'new', study, os.path.join(folder, 's.yaml'))
    run(build + '/pricer', 'plan', study)
    key = run(build + '/pricer', 'keygen', folder + '/server.key').strip()
    run(build + '/pricer', 'enrol', study, 'server', key,
        f'tcp://127.0.0.1:{port}')
    keys = run(build + '/bench/bench_mesh', 'keys', str(nodes)).split()
    db = sqlite3.connect(study)
    db.executemany('INSERT INTO member VALUES (?,?,?)',
                   ((i, k, 'tcp://127.0.0.1:1') for i, k in enumerate(keys)))
    db.commit()
    db.close()
    return study, key


def memory(process):
    with open(f'/proc/{process.pid}/status') as file:
        return int(next(line for line in file
                        if line.startswith('VmHWM')).split()[1]) // 1024


def used(process):
    with open(f'/proc/{process.pid}/stat') as file:
        words = file.read().rsplit(')', 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


def rounds(study):
    db = sqlite3.connect(f'file:{study}?mode=ro', uri=True, timeout=30)
    try:
        return db.execute('SELECT count(*), coalesce(avg(arrived), 0) FROM '
                          'round').fetchone()
    finally:
        db.close()


def ping(nodes):
    """Rounds a second of bare TLS, and milliseconds of CPU that each end took for
    one. OPEN and RESULT have some 150 bytes each, a packet 108."""
    pace, asking, answering = (float(word) for word in run(
        build + '/bench/bench_ping', str(nodes), '300', str(30 + 108 * packets),
        str(max(2, seconds / 3))).split())
    return pace, 1e3 * asking / pace, 1e3 * answering / pace


def measure(nodes):
    before = ping(nodes)
    connected, shaken, pace, arrived, memory, server, load = play(nodes)
    bare = max(before, ping(nodes))
    print(f'{nodes:>7}{packets:>9}{connected:>10.1f}{shaken:>7.1f}{pace:>10.1f}'
          f'{arrived / nodes:>9.3f}{memory:>6}{server:>12.2f}{load:>11.2f}'
          f'{bare[0]:>18.1f}{bare[1]:>7.2f}{bare[2]:>7.2f}'
          f'{(server + load) / (bare[1] + bare[2]):>7.2f}', flush=True)


def play(nodes):
    """Seconds until all were connected and the CPU that it took, both sides; rounds
    a second, the mean of who arrived, the server's memory in MiB, milliseconds of
    CPU a round of both."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix='pricer-load-') as folder:
        study, key = make(folder, nodes, port)
        log = open(folder + '/log', 'w+')
        server = subprocess.Popen(
            [build + '/pricer-server', study, '--key', folder + '/server.key',
             '--early', '--period', '0', '--share', '30000', '--uplink',
             '60000', '--wait', str(nodes),
             *os.environ.get('PRICER_SERVER', '').split()], stderr=log)
        load = subprocess.Popen(
            [build + '/bench/bench_mesh', 'play', str(nodes),
             f'tcp://127.0.0.1:{port}', key, str(packets)],
            stdout=subprocess.PIPE, text=True)
        try:
            connected = float(load.stdout.readline().split()[1])
            shaken = used(server) + used(load)
            end = time.monotonic() + 120
            while rounds(study)[0] < 2:
                if time.monotonic() > end:
                    sys.exit('FAILED: no rounds')
                time.sleep(.1)
            first, begun = rounds(study)[0], time.monotonic()
            busy = used(server), used(load)
            time.sleep(seconds)
            (last, arrived), passed = rounds(study), time.monotonic() - begun
            count = max(1, last - first)
            return (connected, shaken, (last - first) / passed, arrived,
                    memory(server), 1e3 * (used(server) - busy[0]) / count,
                    1e3 * (used(load) - busy[1]) / count)
        finally:
            for process in (load, server):
                process.kill()
                process.wait()
            load.stdout.close()
            log.close()


print('                  connected                             CPU a round, ms'
      '     bare TLS                     CPU')
print('  nodes  packets   after s  CPU s  rounds/s  arrived   MiB      server'
      '      nodes          rounds/s   ms a round    ratio')
for size in sizes:
    measure(size)
