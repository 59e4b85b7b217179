"""pricer-server --check: each thing that can be wrong is made wrong, one at a time,
and named with its cure; what is right is not; no round is opened and the study stays
as it was. Arguments: build folder."""
import ctypes
import hashlib
import json
import os
import resource
import sqlite3
import subprocess
import sys
import time

import numpy as np

from channel import where
from fleet import LIBC, Fleet, expect, take

build = os.path.realpath(sys.argv[1])
N, D = 3, 20
TIMES = ['--period', '100', '--send', '20', '--share', '50', '--uplink', '90']


def powerless():
    """Root that obeys the permissions of files."""
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
    for power in CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH:
        LIBC.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(power), 0, 0, 0)


def few():
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))


def look(fleet, *more, study=None, before=None, prefix=()):
    """All lines, by what they are about."""
    words = fleet.server_arguments(*more)
    words[1] = study or words[1]
    done = subprocess.run([*prefix, *words, '--check', '--json'], text=True,
                          capture_output=True, timeout=60, preexec_fn=before)
    found = json.loads(done.stdout)
    expect(found['good'] == all(c['good'] for c in found['checks']), done.stdout)
    expect(done.returncode == (0 if found['good'] else 1),
           f'exit status {done.returncode}: {done.stdout}')
    return found['checks']


def expect_bad(fleet, what, text, *more, **how):
    """This is bad and nothing else, and the cure is named."""
    bad = [(c['what'], c['text']) for c in look(fleet, *more, **how)
           if not c['good']]
    expect(len(bad) == 1 and bad[0][0] == what and text in bad[0][1],
           f'{what}, {text}: {bad}')


def contents(fleet):
    with open(fleet.study, 'rb') as file:
        text = file.read()
    # Changes of the journal's mode count up, in the header.
    return hashlib.sha256(text[:18] + text[20:24] + text[28:92] +
                          text[100:]).hexdigest()


def test_good():
    """All is well; a server that runs is left alone, and is to be stopped first."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        before = contents(fleet)
        page = ['--port', str(fleet.status_port)]
        found = look(fleet, *page)
        expect(all(c['good'] for c in found), found)
        expect({c['what'] for c in found} ==
               {'key', 'study', 'enrolment', 'plan', 'nodes', 'listen', 'status',
                'disk', 'descriptors', 'deadlines', 'truth', 'clock'}, found)
        text = subprocess.run([*fleet.server_arguments(), '--check'], text=True,
                              capture_output=True).stdout
        expect(text.count('good  ') == 11 and 'BAD' not in text, text)
        expect(contents(fleet) == before and fleet.rounds() == 0,
               'the study is another')
        expect(not os.path.exists(fleet.study + '-wal'), 'a log stays')
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*TIMES, *page)
        fleet.wait_rounds(3)
        expect_bad(fleet, 'study', 'stop it to check')
        fleet.wait_rounds(fleet.rounds() + 5)
        expect(fleet.stop('server') == 0, fleet.log('server'))
        expect(all(c['good'] for c in look(fleet, *page)), 'after rounds')
        done = subprocess.run([*fleet.server_arguments(), '--json'], text=True,
                              capture_output=True)
        expect(done.returncode == 2 and '--check' in done.stderr, done)


def test_files():
    """The key and the study."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        key = fleet.key('server')
        expect_bad(fleet, 'key', 'pricer keygen', '--key', fleet.path('none.key'))
        os.chmod(key, 0o644)
        expect_bad(fleet, 'key', 'chmod 600')
        os.chmod(key, 0o600)
        fleet.write('odd.key', 'no key\n')
        os.chmod(fleet.path('odd.key'), 0o600)
        expect_bad(fleet, 'key', 'not a secret key', '--key', fleet.path('odd.key'))
        os.utime(key, (time.time() + 3600, time.time() + 3600))
        expect_bad(fleet, 'clock', 'timedatectl')
        os.utime(key)
        fleet.run('pricer', 'keygen', fleet.path('x.key'))
        expect_bad(fleet, 'enrolment', 'is --key the right file?', '--key',
                   fleet.path('x.key'))

        expect_bad(fleet, 'study', "'pricer new' makes one", study='none.pricer')
        fleet.write('text.pricer', 'no study, but long enough\n' * 99)
        expect_bad(fleet, 'study', 'not a study', study=fleet.path('text.pricer'))
        lock = sqlite3.connect(fleet.study, isolation_level=None)
        lock.execute('BEGIN EXCLUSIVE')
        expect_bad(fleet, 'study', 'waits for that')
        lock.execute('COMMIT')
        lock.close()
        os.chmod(fleet.study, 0o400)
        expect_bad(fleet, 'study', "'chown' it", before=powerless)
        os.chmod(fleet.study, 0o600)
        fleet.run('pricer', 'new', fleet.path('bare.pricer'), fleet.path('s.yaml'))
        bad = {c['what']: c['text'] for c in
               look(fleet, study=fleet.path('bare.pricer')) if not c['good']}
        expect(set(bad) == {'enrolment', 'plan'} and
               'no server is enrolled' in bad['enrolment'] and
               'pricer plan' in bad['plan'], bad)
        expect_bad(fleet, 'plan', 'has no decoder', '--decoder', 'minimax')
        np.save(fleet.path('short.npy'), fleet.data[:1, 1:])
        expect_bad(fleet, 'truth', 'dimension', '--truth', fleet.path('short.npy'))


def test_addresses():
    """Somebody else's port, and addresses that will never be ours."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        other = take(where(fleet.addresses['server']))
        expect_bad(fleet, 'listen', "already in use; 'ss -ltnp'")
        other.close()
        for address in 'tcp://203.0.113.7:7100', 'tcp://nowhere.invalid:7100':
            expect_bad(fleet, 'listen', 'correct --listen', '--listen', address)
        page = ['--port', str(fleet.status_port)]
        other = take(('127.0.0.1', fleet.status_port))
        expect_bad(fleet, 'status', 'ss -ltnp', *page)
        other.close()
        expect_bad(fleet, 'status', 'ip addr', *page, '--status-address',
                   '203.0.113.7')
        expect_bad(fleet, 'status', 'is not an address', *page,
                   '--status-address', 'here')
        # The daemons themselves, which wait: the log says what to do.
        fleet.start_server('--listen', 'tcp://203.0.113.7:7100')
        fleet.start_node(0, '--listen', 'tcp://203.0.113.7:7101')
        for name in 'server', 'node0':
            fleet.wait_log(name, 'correct --listen')
            expect(fleet.stop(name) == 0 and fleet.log(name).count('ip addr') == 1,
                   fleet.log(name))
        for words in (fleet.server_arguments('--listen', 'tcp://nowhere.invalid:7'),
                      fleet.node_arguments(0, '--listen', 'tcp://nowhere.invalid:7')):
            done = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
            line = done.stderr.readline()
            while line and 'cannot listen' not in line:
                line = done.stderr.readline()
            done.terminate()
            done.communicate()
            expect('getent hosts' in line, f'{words[0]}: {line}')


def test_members():
    """Who is enrolled, and with what."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        expect_bad(fleet, 'nodes', 'ask for fewer', '--quorum', '4')
        expect_bad(fleet, 'nodes', 'ask for fewer', '--wait', '4')
        for address, what, text in (
                ('udp://x', 'enrolment', "row 3 is damaged: restore it"),
                ('tcp://a/b:7', 'nodes', "node 1 is enrolled with an address that "
                 "is none, 'tcp://a/b:7'")):
            with sqlite3.connect(fleet.study) as db:
                db.execute('UPDATE member SET address = ? WHERE node = 1',
                           (address,))
            expect_bad(fleet, what, text)
        with sqlite3.connect(fleet.study) as db:
            db.execute("UPDATE member SET address = ? WHERE node = 1",
                       (fleet.addresses[1],))
            db.execute("UPDATE member SET key = ? WHERE node = 2", ('#' * 40,))
        expect_bad(fleet, 'nodes', 'node 2 is enrolled with no key')
        with sqlite3.connect(fleet.study) as db:
            db.execute('DELETE FROM member WHERE node = 2')
        found = look(fleet)
        expect(all(c['good'] for c in found) and any(
            'counts on others: 2' in c['text'] for c in found), found)
        with sqlite3.connect(fleet.study) as db:
            db.execute('DELETE FROM member WHERE node >= 0')
        expect_bad(fleet, 'nodes', 'no node is enrolled')
        db.close()


def test_limits():
    """Descriptors, deadlines and the disk."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        expect_bad(fleet, 'descriptors', 'LimitNOFILE', before=few)
        for late in (['--send', '0', '--share', '50', '--uplink', '90'],
                     ['--send', '50', '--share', '50', '--uplink', '90'],
                     ['--send', '50', '--share', '90', '--uplink', '90']):
            expect_bad(fleet, 'deadlines', 'no time for', *late)
        disk = fleet.path('disk')
        os.mkdir(disk)
        small = os.path.join(disk, 'study.pricer')
        made = (f'mount -t tmpfs -o size=4m none {disk} && cp {fleet.study} '
                f'{disk}/')
        space = ['unshare', '--mount'] + ([] if os.getuid() == 0 else
                                          ['--user', '--map-root-user'])
        tried = subprocess.run([*space, 'sh', '-c', made], capture_output=True,
                               text=True)
        if tried.returncode != 0:
            print('skipped: no disk of our own:', tried.stderr.strip())
            return
        expect_bad(fleet, 'disk', 'free some', study=small, prefix=[
            *space, 'sh', '-c', made + ' && exec "$@"', 'sh'])
        found = look(fleet, '--keep', '1000000', study=small, prefix=[
            *space, 'sh', '-c', made + ' && exec "$@"', 'sh'])
        expect(any('--keep ' in c['text'] for c in found), found)
        for state in 'mount -o remount,ro', 'cat /dev/zero >':
            wrong = f'{state} {disk}' + ('/x 2>/dev/null;' if '>' in state else ' &&')
            found = look(fleet, study=small, prefix=[
                *space, 'sh', '-c', f'{made} && {wrong} exec "$@"', 'sh'])
            bad = {c['what']: c['text'] for c in found if not c['good']}
            expect(set(bad) == {'study', 'disk'} and 'read-only disk' in
                   bad['study'], f'{state}: {bad}')


for test in (test_good, test_files, test_addresses, test_members, test_limits):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
