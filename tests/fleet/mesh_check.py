"""pricer-server --check of a mesh: all is well; and each thing that is wrong is the
one bad line, with what to do about it. The study is left as it was. Arguments:
build folder."""
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys

from channel import where
from fleet import expect
from mesh_fleet import Mesh

build = sys.argv[1]
KEYS = 'reference: last\nstep: .5\nrepeat: 2\n'
ALL = {'key', 'study', 'enrolment', 'plan', 'reference', 'nodes', 'listen',
       'status', 'disk', 'descriptors', 'deadlines', 'truth', 'clock'}


def look(mesh, *more):
    """{what: (good, text)} of the server's folder."""
    done = subprocess.run(
        ['env', '-C', mesh.folder('server'),
         os.path.join(os.path.abspath(build), 'pricer-server'), '--config',
         'server.conf', '--truth', mesh.path('mean.npy'), '--check', '--json',
         *more], capture_output=True, text=True, timeout=60)
    found = json.loads(done.stdout)
    expect(found['good'] == all(c['good'] for c in found['checks']) and
           done.returncode == (0 if found['good'] else 1), done.stdout)
    return {c['what']: (c['good'], c['text']) for c in found['checks']}


def expect_bad(mesh, what, text, *more):
    bad = {k: t for k, (good, t) in look(mesh, *more).items() if not good}
    expect(set(bad) == {what} and text in bad[what], f'{what}, {text}: {bad}')


def change(mesh, sql, *values):
    with sqlite3.connect(mesh.study, timeout=20) as db:
        db.execute(sql, values)
    db.close()


def test_good():
    with Mesh(build, 3, [(0, 1), (1, 2)], [1, 0, 0], keys=KEYS, rounds=9,
              eps=12) as mesh:
        found = look(mesh)
        expect(set(found) == ALL and all(good for good, _ in found.values()),
               f'{found}')
        expect('for 9 rounds, of which 0 were run' in found['plan'][1] and
               'the first to zero' in found['reference'][1] and
               '3 of 3 are enrolled' in found['nodes'][1] and
               '2 times ' in found['deadlines'][1], f'{found}')
        expect(mesh.rounds() == 0, 'a round was opened')
        for i in range(3):
            mesh.start_node(i)
        mesh.start_server('--uplink', '180', '--share', '90', '--send', '50',
                          period=400)
        mesh.wait_rounds(9)
        expect_bad(mesh, 'study', 'stop it to check')
        expect(mesh.stop('server') == 0, mesh.log('server'))
        found = look(mesh)
        last = mesh.query('SELECT max(round) FROM round WHERE estimate IS NOT '
                          'NULL')[0][0]
        expect('is for 9 rounds, and' in found['plan'][1] and
               f'the estimate of round {last}' in found['reference'][1] and
               all(good for good, _ in found.values()), f'{found}')
        text = subprocess.run(
            ['env', '-C', mesh.folder('server'),
             os.path.join(os.path.abspath(build), 'pricer-server'), '--config',
             'server.conf', '--check'], capture_output=True, text=True).stdout
        expect('good  nodes' in text and 'note  plan' in text, text)
        print('all is well, before the first round and after the last')


def test_bad():
    with Mesh(build, 4, [(0, 1), (1, 2), (2, 3)], [1, 0, 0, 0],
              keys='repeat: 2\n') as mesh:
        expect_bad(mesh, 'key', 'pricer keygen', '--key', 'none.key')
        mesh.run('pricer', 'keygen', mesh.path('other.key'))
        expect_bad(mesh, 'enrolment', 'is --key the right file?', '--key',
                   mesh.path('other.key'))
        taken = socket.create_server(where(mesh.addresses['server']))
        expect_bad(mesh, 'listen', 'ss -ltnp')
        taken.close()
        expect_bad(mesh, 'nodes', 'ask for fewer', '--quorum', '5')
        expect_bad(mesh, 'deadlines', 'a longer --period', '--period', '100',
                   '--uplink', '90', '--share', '50', '--send', '20')
        # Whose key changes, and who is missing.
        mesh.run('pricer', 'keygen', mesh.path('next'), '--after', mesh.key(2))
        mesh.run('pricer', 'enrol', mesh.study, '2', mesh.path('next.pub'),
                 '--next')
        good, text = look(mesh)['keys']
        expect(good and 'let in, too: 2;' in text, text)
        mesh.run('pricer', 'enrol', mesh.study, '2', '--retire')
        expect('keys' not in look(mesh), 'a key that was retired')
        change(mesh, 'UPDATE member SET address = ? WHERE node = 1', 'tcp://a/b:7')
        expect_bad(mesh, 'nodes', "node 1 is enrolled with an address that is none")
        # The neutral element of the curve: a key of small order.
        change(mesh, 'UPDATE member SET address = ?, key = ? WHERE node = 1',
               mesh.addresses[1], '0rr9100000000000000000000000000000000000')
        expect_bad(mesh, 'nodes', 'node 1 is enrolled with no key but')
        change(mesh, 'DELETE FROM member WHERE node = 1')
        found = look(mesh, '--quorum', '1')
        expect(all(good for good, _ in found.values()) and
               '3 of 4 are enrolled; the plan counts on others: 1' in
               found['nodes'][1], f'{found}')
        change(mesh, 'DELETE FROM member WHERE node >= 0')
        expect_bad(mesh, 'nodes', 'no node is enrolled', '--quorum', '1')
        bare = mesh.path('bare.pricer')
        mesh.run('pricer', 'new', bare, mesh.path('s.yaml'))
        study = mesh.study
        shutil.copy(study, study + '.old')
        shutil.copy(bare, study)
        bad = {k: t for k, (good, t) in look(mesh).items() if not good}
        expect(set(bad) == {'enrolment', 'plan'} and 'pricer plan' in bad['plan'],
               f'{bad}')
        print('each thing that is wrong is named, and nothing else')


test_good()
test_bad()
