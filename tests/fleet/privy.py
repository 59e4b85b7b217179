"""What daemons keep to themselves: noise that is never made twice, rounds that
have passed while a node slept, core files, modes of files, the status page and
the terminal of whoever reads the log. Arguments: build folder."""
import http.client
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time

import numpy as np

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 3, 20
EARLY = ['--early', '--period', '20', '--share', '3000', '--uplink', '4000',
         '--quorum', str(N)]


def noise_of_rounds(rounds):
    """The same fleet and data with a kernel whose generator is put back."""
    with Fleet(build, nodes=N, dimension=D, p=1, uplink=[1] * N) as fleet:
        frozen = os.path.join(build, 'tests', 'libfrozen.so')
        for i in range(N):
            fleet.start_node(i, prefix=['env', f'LD_PRELOAD={frozen}',
                                        f'FROZEN_CALLS={fleet.path(f"{i}.calls")}'])
        fleet.start_server(*EARLY, '--rounds', str(rounds))
        expect(fleet.wait('server') == 0, fleet.log('server'))
        calls = [os.path.getsize(fleet.path(f'{i}.calls')) for i in range(N)]
        return list(fleet.estimates().values()), calls


def test_noise():
    """A machine that is restored or cloned does not repeat its noise, and the
    kernel is asked anew in every round."""
    rounds = 5
    once, calls = noise_of_rounds(rounds)
    again, _ = noise_of_rounds(rounds)
    expect(len(once) == len(again) == rounds, f'{len(once)}, {len(again)} rounds')
    for r in range(rounds):
        expect(not np.isclose(once[r], again[r], rtol=0, atol=1e-9).any(),
               f'round {r + 1} has the same noise twice')
    expect(min(calls) >= rounds, f'the kernel was asked {calls} times')


def test_sleep():
    """A node that sleeps through rounds is not charged for them."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server('--period', '200', '--send', '20', '--share', '100',
                           '--uplink', '180', '--quorum', str(N), '--ahead',
                           '1000')
        fleet.wait_rounds(5)
        fleet.processes['node0'].send_signal(signal.SIGSTOP)
        time.sleep(.5)
        before = fleet.query('SELECT max(round) FROM round')[0][0]
        time.sleep(5)
        after = fleet.query('SELECT max(round) FROM round')[0][0]
        fleet.processes['node0'].send_signal(signal.SIGCONT)
        fleet.wait_log('node0', 'asleep')
        fleet.wait_rounds(fleet.rounds() + 10)
        expect(after > before + 5, f'rounds {before} to {after}: no rounds')
        late = [r for r, in fleet.ledger(
            0, 'SELECT DISTINCT round FROM release WHERE round > ? AND round < ?',
            before + 1, after)]
        expect(len(late) == 0, f'charged for rounds that had passed: {late}')
        woken = fleet.ledger(0, 'SELECT count(*) FROM release WHERE round > ?',
                             after + 2)
        expect(woken[0][0] > 0, 'it did not come back: ' + fleet.log('node0'))


def test_files():
    """No core files, no files for others, whatever the umask."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        mask = os.umask(0)
        try:
            for i in range(N):
                fleet.start_node(i, '--estimate', fleet.path(f'{i}.estimate'))
            fleet.start_server(*EARLY, '--port', str(fleet.status_port))
        finally:
            os.umask(mask)
        fleet.wait_rounds(5)
        for name, process in fleet.processes.items():
            with open(f'/proc/{process.pid}/limits') as file:
                core = [line.split()[4:6] for line in file
                        if line.startswith('Max core')]
            expect(core == [['0', '0']], f'{name} may leave core files: {core}')
            with open(f'/proc/{process.pid}/status') as file:
                locked, = [int(line.split()[1]) for line in file
                           if line.startswith('VmLck')]
            # The key's 32 KiB; a node's vector is in memory of its own.
            expect(locked >= 32 + 4 * (name != 'server'),
                   f'{name} has locked {locked} KiB')
        for name in os.listdir(fleet.dir):
            if '.ledger' in name or '.estimate' in name or '-wal' in name:
                mode = stat.S_IMODE(os.stat(fleet.path(name)).st_mode)
                # The files beside the study have its own mode.
                expect(mode & 0o077 == 0 or name.startswith('study'),
                       f'{name} has mode {mode:o}')
        for host, code in (('127.0.0.1', 200), ('localhost:99', 200),
                           ('[::1]:99', 200), ('evil.example.org', 421),
                           ('127.0.0.1.evil.example.org', 421),
                           ('localhost.evil.example.org:7180', 421),
                           ('x' * 300, 421)):
            connection = http.client.HTTPConnection(
                '127.0.0.1', fleet.status_port, timeout=5)
            connection.request('GET', '/health', headers={'Host': host})
            got = connection.getresponse().status
            connection.close()
            expect(got == code, f'Host: {host} gets {got}')


def test_terminal():
    """Nothing in a line of the log steers a terminal."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        evil = b'a\x1b[2Jb\xc2\x9b2Jc\x9b2Jd\x7fe\r\nf\xe2\x80\xaeg\xc3\xa9'
        words = [w.encode() for w in fleet.node_arguments(0)]
        words[words.index(b'--trust') + 1] = evil
        done = subprocess.run(words, capture_output=True, timeout=20)
        line = done.stderr
        expect(done.returncode == 1 and line.endswith(b'\n') and
               b'b??2Jc?2Jd?e??f???g\xc3\xa9' in line, line)
        expect(not any(c < 32 or c == 127 for c in line[:-1]), line)


for test in (test_noise, test_sleep, test_files, test_terminal):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
