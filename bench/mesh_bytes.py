"""Bytes between nodes in a round: forwarding, with one hop and with three, against
weighted sums on the same network, 100 nodes with 830 links, d = 10^4. Every scheme
runs as programs on loopback (pricer demo), and the kernel says what went over the
connections between nodes (ss, with TLS and announcements) while some rounds passed.

How many links a plan of sums uses depends on the trust: at eps = 4 it gives up most
of them, with full trust among the nodes it uses all. Releases are eps = 4 private
towards everyone. The error is the plan's worst case, in units of the radius squared.
Arguments: build folder, rounds, nodes, dimension."""
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

build = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
nodes = int(sys.argv[3]) if len(sys.argv) > 3 else 100
dimension = int(sys.argv[4]) if len(sys.argv) > 4 else 10000
NETWORK = (f'dimension: {dimension}\nradius: 1\nseed: 1\nnetwork: {{generator: '
           f'geometric, nodes: {nodes}, density: 60, cutoff: 0.1, uplink: 0.05, '
           'good: {fraction: 0.15, uplink: 0.9}, reciprocity: 0.5}\n')


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'FAILED: {words}: {done.stderr}')
    return done.stdout


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        return [int(word) for word in file.read().split()]


def named(pids, name):
    found = set()
    for pid in pids:
        with open(f'/proc/{pid}/comm') as file:
            if file.read().strip() == name:
                found.add(pid)
    return found


def sent(demo):
    """Bytes that nodes of a demo have sent to each other: of all sockets whose two
    ends are both theirs."""
    ours = named(children(demo.pid), 'pricer-node')
    bytes_of = {}
    lines = run('ss', '-tinpH', 'state', 'established').splitlines()
    for head, more in zip(lines[::2], lines[1::2]):
        pid = re.search(r'pid=(\d+)', head)
        if pid and int(pid[1]) in ours:
            local, peer = head.split()[2:4]
            count = re.search(r'bytes_sent:(\d+)', more)
            bytes_of[local, peer] = int(count[1]) if count else 0
    return sum(count for (local, peer), count in bytes_of.items()
               if (peer, local) in bytes_of)


def done_rounds(port):
    try:
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics',
                                    timeout=10) as page:
            text = page.read().decode()
    except (urllib.error.URLError, OSError):
        return 0
    found = re.search(r'^pricer_rounds_total (\d+)', text, re.M)
    return int(found[1]) if found else 0


def await_rounds(demo, port, count):
    end = time.monotonic() + 600
    while (now := done_rounds(port)) < count:
        if demo.poll() is not None or time.monotonic() > end:
            sys.exit(f'FAILED: no rounds: {demo.stderr.read()}')
        time.sleep(.05)
    return now


def measure(folder, name, scenario):
    """Links that are used, worst case, bytes between nodes a round."""
    study = os.path.join(folder, name + '.pricer')
    with open(study + '.yaml', 'w') as file:
        file.write(NETWORK + scenario)
    run(build + '/pricer', 'new', study, study + '.yaml')
    plan = json.loads(run(build + '/pricer', 'plan', study, '--json'))
    db = sqlite3.connect(study)
    used = db.execute('SELECT count(*) FROM plan_link WHERE weight > 0'
                      if 'hops' not in scenario else
                      'SELECT count(*) FROM link').fetchone()[0]
    db.close()
    port = free_port()
    demo = subprocess.Popen(
        [build + '/pricer', 'demo', study, '--rounds', '100000', '--port',
         str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        first = await_rounds(demo, port, 5)
        before = sent(demo)
        last = await_rounds(demo, port, first + rounds)
        return used, plan['mse_worst_case'], (sent(demo) - before) / (last - first)
    finally:
        demo.terminate()
        demo.communicate()


forward = 'scheme: forward\nhops: %d\ntrust: {everyone: {eps: 4, delta: 1e-5}}\n'
rows = [('sums, eps = 4', 'trust: {eps: 4, delta: 1e-5}\n'),
        ('sums, eps = 1000', 'trust: {eps: 1000, delta: 1e-5}\n'),
        ('sums, full trust', 'trust: {eps: inf, delta: 1e-5}\n'),
        ('forward, 1 hop', forward % 1), ('forward, 3 hops', forward % 3)]
with tempfile.TemporaryDirectory(prefix='pricer-bytes-') as folder:
    table = [(name, *measure(folder, f'{k}', scenario))
             for k, (name, scenario) in enumerate(rows)]
print(f'{"":18}{"links":>7}{"worst case":>12}{"bytes a round":>15}'
      f'{"of 1 hop":>10}{"of 3 hops":>11}')
for name, links, error, count in table:
    print(f'{name:18}{links:>7}{error:>12.3g}{count:>15,.0f}'
          f'{count / table[3][3]:>10.1f}{count / table[4][3]:>11.1f}')
