"""Daemons that begin while an address of theirs is somebody else's, or while there
are no descriptors: they wait, say so once, and go on when they can, a server without
its status page meanwhile. What is a mistake ends them with a sentence, and no demo
waits for one that does not come. Arguments: build folder."""
import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from channel import where
from fleet import LIBC, Fleet, expect, take

build = os.path.realpath(sys.argv[1])
N, D = 3, 8
TIMES = ['--period', '150', '--send', '30', '--share', '80', '--uplink', '130']
AGAIN = 'waiting and trying again every 250 ms'


def expect_waiting(fleet, name, text, seconds):
    """It says this once, is there, and goes on being there."""
    fleet.wait_log(name, text)
    time.sleep(seconds)
    log = fleet.log(name)
    expect(fleet.processes[name].poll() is None, f'{name} has gone:\n{log}')
    expect(log.count(text) == 1, f'{name} repeats itself:\n{log}')


def wait_full(fleet):
    end = time.monotonic() + 20
    while fleet.query('SELECT arrived FROM round ORDER BY round DESC LIMIT 1'
                      ) != [(N,)]:
        expect(time.monotonic() < end, 'not everyone is in a round:\n' +
               ''.join(fleet.log(name) for name in fleet.processes))
        time.sleep(.05)


def test_server():
    """Its own port, then that of its page."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for i in range(N):
            fleet.start_node(i)
        other = take(where(fleet.addresses['server']))
        fleet.start_server(*TIMES)
        expect_waiting(fleet, 'server', 'Address already in use; ' + AGAIN, .8)
        expect(fleet.stop('server') == 0, 'not stopped well: ' +
               fleet.log('server'))
        os.truncate(fleet.path('server.log'), 0)
        fleet.start_server(*TIMES, '--port', str(fleet.status_port))
        fleet.wait_log('server', AGAIN)
        page = take(('127.0.0.1', fleet.status_port))
        other.close()
        fleet.wait_log('server', 'listening at ')
        wait_full(fleet)
        expect_waiting(fleet, 'server', 'rounds go on without it, trying again '
                       'every 1000 ms', 1.2)
        page.close()
        fleet.wait_log('server', 'the status page is served')
        expect(fleet.get('/metrics')[0] == 200, 'no page')
        expect(fleet.stop('server') == 0, fleet.log('server'))


def test_node():
    """It is in no round; the log says so once, --check with the cure."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        other = take(where(fleet.addresses[0]))
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*TIMES)
        expect_waiting(fleet, 'node0', 'Address already in use; this node is in '
                       'no round without it', 2.5)
        fleet.wait_rounds(1)
        expect('refused' not in fleet.log('node0'), fleet.log('node0'))
        fleet.wait_log('server', 'does not take its slice')
        expect(not fleet.query('SELECT 1 FROM arrival WHERE node = 0 AND '
                               'arrived = 1'), 'it is in rounds, and deaf')
        expect(fleet.ledger(0, 'SELECT count(*) FROM release') == [(0,)],
               'charged for rounds that it was not in')
        checked = subprocess.run(
            [*fleet.node_arguments(0, '--ledger', fleet.path('x')), '--check'],
            capture_output=True, text=True)
        expect('BAD   listen' in checked.stdout and 'Address already in use; '
               "'ss -ltnp' says whose" in checked.stdout, checked.stdout)
        other.close()
        fleet.wait_log('node0', 'listening at ')
        wait_full(fleet)
        # The same when the port is lost between two lives.
        fleet.stop('node0')
        fleet.stop('server')
        os.truncate(fleet.path('node0.log'), 0)
        other = take(where(fleet.addresses[0]))
        fleet.start_node(0)
        expect_waiting(fleet, 'node0', 'Address already in use', .5)
        expect(fleet.stop('node0') == 0, fleet.log('node0'))
        other.close()


def test_name():
    """A name that nobody resolves yet is waited for, by both daemons."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        sign = fleet.path('nameless')
        fleet.write('nameless', '')
        prefix = ('env', f'LD_PRELOAD={build}/tests/libodd.so',
                  f'ODD_NAMELESS={sign}')
        addresses = {who: f'tcp://localhost:{where(fleet.addresses[who])[1]}'
                     for who in (0, 'server')}
        for i in range(N):
            fleet.start_node(i, *(['--listen', addresses[0]] if i == 0 else []),
                             prefix=prefix)
        expect_waiting(fleet, 'node0', 'this node is in no round without it', .5)
        fleet.start_server(*TIMES, '--listen', addresses['server'], prefix=prefix)
        expect_waiting(fleet, 'server', AGAIN, .8)
        os.remove(sign)
        fleet.wait_log('server', 'listening at ')
        fleet.wait_log('node0', 'listening at ')
        for name in list(fleet.processes):
            expect(fleet.stop(name) == 0, fleet.log(name))


def powerless():
    """Root without the right to the low ports."""
    PR_CAPBSET_DROP, CAP_NET_BIND_SERVICE = 24, 10
    LIBC.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(CAP_NET_BIND_SERVICE), 0, 0, 0)


def test_mistakes():
    """What does not pass ends a daemon, with one sentence."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        cases = [('tcp://nowhere', 'it is not an address such as'),
                 ('udp://127.0.0.1:7', 'it is not an address such as')]
        with open('/proc/sys/net/ipv4/ip_unprivileged_port_start') as file:
            low = int(file.read())
        if low > 80:
            cases.append(('tcp://127.0.0.1:80', 'Permission denied'))
        else:
            print('skipped: everybody may have port 80 here')
        for address, text in cases:
            for words in (fleet.server_arguments('--listen', address),
                          fleet.node_arguments(0, '--listen', address)):
                done = subprocess.run(words, capture_output=True, text=True,
                                      timeout=20, preexec_fn=powerless)
                expect(done.returncode == 1 and text in done.stderr and
                       'again' not in done.stderr, f'{address}: {done}')
        for more, text in ((['--status-address', 'here', '--port', '7'],
                            "'here' is not an address"),
                           (['--port', '80'], 'Permission denied')):
            if low <= 80 and '80' in more:
                continue
            done = subprocess.run(fleet.server_arguments(*more), text=True,
                                  capture_output=True, timeout=20,
                                  preexec_fn=powerless)
            expect(done.returncode == 1 and text in done.stderr,
                   f'{more}: {done}')


def test_descriptors():
    """So few that nothing can be opened, whatever it is that fails first."""
    names = ['server'] + [f'node{i}' for i in range(N)]
    waited = {}
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for most in 4, 7, 8:
            few = ('prlimit', f'--nofile={most}:', '--', 'env', 'ODD_FILES=1',
                   f'LD_PRELOAD={build}/tests/libodd.so')
            fleet.start_server(*TIMES, prefix=few)
            for i in range(N):
                fleet.start_node(i, prefix=few)
            time.sleep(.5)
            for name in names:
                log = fleet.log(name)
                expect(fleet.processes[name].poll() is None,
                       f'{name} has gone, with {most} descriptors:\n{log}')
                expect(log.count(AGAIN) <= 1, log)
                waited.setdefault(name[:4], []).append(
                    '(no descriptors are left); ' + AGAIN in log)
            for name in names:
                pid = fleet.processes[name].pid
                hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
            fleet.wait_rounds(fleet.rounds() + 1)
            wait_full(fleet)
            for name in names:
                expect(fleet.stop(name) == 0, fleet.log(name))
                os.truncate(fleet.path(f'{name}.log'), 0)
        expect(all(True in some for some in waited.values()),
               f'nobody was short of descriptors: {waited}')


def test_demo():
    """One that cannot have its page says so; one whose nodes end does, too."""
    other = take(('127.0.0.1', 0))
    port = other.getsockname()[1]
    done = subprocess.run([build + '/pricer', 'demo', '--rounds', '2', '--port',
                           str(port)], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 1 and f'at port {port}: Address already in use' in
           done.stderr, done.stderr)
    other.close()
    with tempfile.TemporaryDirectory() as folder:
        for name in 'pricer', 'pricer-server':
            shutil.copy(os.path.join(build, name), folder)
        with open(os.path.join(folder, 'pricer-node'), 'w') as file:
            file.write('#!/bin/sh\nexit 1\n')
        os.chmod(os.path.join(folder, 'pricer-node'), 0o755)
        done = subprocess.run([os.path.join(folder, 'pricer'), 'demo',
                               '--rounds', '2'], capture_output=True, text=True,
                              timeout=20)
        expect(done.returncode == 1 and 'a node failed' in done.stderr, done)


for test in (test_server, test_node, test_name, test_mistakes, test_descriptors, test_demo):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
