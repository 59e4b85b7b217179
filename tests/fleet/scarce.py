"""No memory for what a node sends: its log says so, and rounds go on without it.
No descriptors, in a process (EMFILE) and in the whole machine (ENFILE, which a
library before the C library makes up): rounds go on with the connections that there
are, nobody is busy with waiting, and when there are descriptors again all that could
not be opened is: connections, the status page, commands that make vectors, plans.
Arguments: build folder."""
import os
import resource
import signal
import socket
import sys
import time

import numpy as np

from channel import where
from fleet import Fleet, expect

build = os.path.realpath(sys.argv[1])
N, D = 4, 16
TIMES = ['--period', '300', '--send', '120', '--share', '200', '--uplink', '280',
         '--quorum', '1']


def names():
    return ['server'] + [f'node{i}' for i in range(N)]


def worked(fleet, name):
    """Seconds of the processor."""
    return sum(
        int(word) for word in open(f'/proc/{fleet.processes[name].pid}/stat')
        .read().rsplit(')', 1)[1].split()[11:13]) / os.sysconf('SC_CLK_TCK')


def start(fleet, prefix=()):
    """Node 0 has its vector from a command, which needs descriptors each round."""
    fleet.start_node(0, '--row', '0', '--command', f'cat {fleet.path("data.npy")}',
                     data=False, prefix=prefix)
    for i in range(1, N):
        fleet.start_node(i, prefix=prefix)
    fleet.start_server(*TIMES, '--port', str(fleet.status_port), prefix=prefix)
    wait_full(fleet)


def wait_full(fleet, more=3):
    """As many rounds with everyone's data."""
    first = fleet.query('SELECT coalesce(max(round), 0) FROM round')[0][0]
    end = time.monotonic() + 60
    while fleet.query('SELECT count(*) FROM round WHERE contributors = ? AND '
                      'round > ?', N, first)[0][0] < more:
        expect(time.monotonic() < end, 'not everyone is in a round:\n' + ''.join(
            f'{name}: {fleet.log(name, 1000)}' for name in fleet.processes))
        time.sleep(.05)


def bear(fleet, given, prefix=()):
    """What happens while there are none. Strangers knock, a node is killed and comes
    back, a plan is added, trust files are to be read; then `given` gives some."""
    before = {name: worked(fleet, name) for name in names()}
    began, rounds = time.monotonic(), fleet.rounds()
    knocks = [socket.create_connection(where(fleet.addresses[who]))
              for who in ('server', 2) for _ in range(10)]
    page = socket.create_connection(('127.0.0.1', fleet.status_port))
    page.sendall(b'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
    for name in 'server', 'node2':
        fleet.processes[name].send_signal(signal.SIGHUP)
    fleet.wait_rounds(rounds + 8)
    got = fleet.query('SELECT avg(arrived), avg(contributors) FROM round WHERE '
                      'round > (SELECT max(round) FROM round) - 5')[0]
    expect(got[0] >= N - .5, f'sums: {got}')
    expect(N - 1.5 <= got[1] <= N - .8, f'the one with a command: {got}')
    spent = {name: worked(fleet, name) - before[name] for name in names()}
    took = time.monotonic() - began
    expect(max(spent.values()) < .5 * took, f'busy for {took:.1f} s: {spent}')
    fleet.stop('node1', signal.SIGKILL)
    fleet.start_node(1, prefix=prefix)
    fleet.add_plan(.3, .2, .6, .1)
    fleet.wait_rounds(fleet.rounds() + 5)
    last = fleet.query('SELECT max(arrived) FROM round WHERE round > (SELECT '
                       'max(round) FROM round) - 3')
    expect(last == [(N - 1,)], f'somebody was let in, or is gone: {last}')
    for name in names():
        expect(fleet.processes[name].poll() is None,
               f'{name} has gone:\n' + fleet.log(name))
    given()
    wait_full(fleet)
    expect(fleet.query('SELECT plan FROM round ORDER BY round DESC LIMIT 1') ==
           [(2,)], 'the plan is the old one')
    page.settimeout(10)
    expect(page.recv(20).startswith(b'HTTP/1.1 '), 'the page does not answer')
    expect(fleet.get('/metrics')[0] == 200, 'no page')
    for s in [*knocks, page]:
        s.close()
    for name in names():
        expect(fleet.stop(name) == 0, fleet.log(name))
    fleet.check_study()
    fleet.check_charged()


def test_process():
    """Server and nodes may have fewer than they have open."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        start(fleet)

        def limit(most):
            for name in names():
                pid = fleet.processes[name].pid
                hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
                resource.prlimit(pid, resource.RLIMIT_NOFILE,
                                 (min(most, hard), hard))
        limit(4)
        bear(fleet, lambda: limit(1 << 20))


def test_machine():
    """Nobody can have another one."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        sign = fleet.path('none')
        prefix = ('env', f'LD_PRELOAD={build}/tests/libodd.so',
                  f'ODD_NONE={sign}')
        start(fleet, prefix)
        fleet.write('none', '')
        bear(fleet, lambda: os.remove(sign), prefix)


def test_memory():
    """Buffers for shares and sums cannot be had: neither is silent."""
    with Fleet(build, nodes=N, dimension=20000) as fleet:
        np.save(fleet.path('one.npy'), fleet.data[:1])  # 160 kB
        fleet.start_node(0, '--data', fleet.path('one.npy'), data=False, prefix=(
            'env', f'LD_PRELOAD={build}/tests/libodd.so', 'ODD_LARGEST=200000'))
        for i in range(1, N):
            fleet.start_node(i)
        fleet.start_server('--period', '300', '--send', '120', '--share', '200',
                           '--uplink', '280', '--quorum', str(N - 1))
        fleet.wait_log('node0', 'no memory for the share')
        fleet.wait_log('node0', 'no memory for the sum')
        fleet.wait_log('server', 'node 0 refuses')
        before = fleet.rounds()
        fleet.wait_rounds(before + 2)
        expect(fleet.query('SELECT max(contributors) FROM round WHERE round > ?',
                           before)[0][0] == N - 1, 'no rounds without it')


for test in (test_memory, test_process, test_machine):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
