"""Rounds of a server with many nodes, all played by one process beside it:
d = 128, every node with its own key and connection. Prints how long they took
to connect, rounds a second and the server's most memory. Arguments: build
folder, seconds, numbers of nodes."""
import os
import socket
import sqlite3
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


def make(folder, nodes, port):
    """A study with a plan of own parts, everyone enrolled."""
    study = os.path.join(folder, 'study.pricer')
    with open(os.path.join(folder, 'nodes.csv'), 'w') as file:
        file.write('node,p\n' + ''.join(f'{i},1\n' for i in range(nodes)))
    with open(os.path.join(folder, 'links.csv'), 'w') as file:
        file.write('from,to,p,eps,delta\n' + ''.join(
            f'{i},{(i + k) % nodes},1,50,1e-3\n' for i in range(nodes)
            for k in (1, 2)))
    with open(os.path.join(folder, 's.yaml'), 'w') as file:
        file.write('dimension: 128\nradius: 1\nnetwork: {files: {nodes: '
                   'nodes.csv, links: links.csv}}\n')
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


def measure(nodes):
    port = free_port()
    with tempfile.TemporaryDirectory(prefix='pricer-load-') as folder:
        study, key = make(folder, nodes, port)
        log = open(folder + '/log', 'w+')
        started = time.monotonic()
        server = subprocess.Popen(
            [build + '/pricer-server', study, '--key', folder + '/server.key',
             '--early', '--period', '0', '--share', '30000', '--uplink',
             '60000', '--quorum', str(nodes)], stderr=log)
        load = subprocess.Popen(
            [build + '/bench/bench_load', 'play', str(nodes),
             f'tcp://127.0.0.1:{port}', key], stdout=subprocess.PIPE, text=True)
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
            busy = [b - a for a, b in zip(busy, (used(server), used(load)))]
            print(f'{nodes:>7}{float(words[1]):>14.1f}{ready:>14.1f}'
                  f'{(last - first) / passed:>12.1f}{arrived / nodes:>10.3f}'
                  f'{status(server, "VmHWM") // 1024:>10}'
                  f'{busy[0] / passed:>9.2f}{busy[1] / passed:>7.2f}')
        finally:
            for process in (load, server):
                process.kill()
                process.wait()
            load.stdout.close()
            log.close()


print(f'{"nodes":>7}{"connected, s":>14}{"2 rounds, s":>14}{"rounds/s":>12}'
      f'{"arrived":>10}{"MiB":>10}{"CPU":>9}{"load":>7}')
for nodes in sizes:
    measure(nodes)
