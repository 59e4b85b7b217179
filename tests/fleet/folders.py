"""pricer fleet: folders that a fleet starts from, with the commands it prints
and nothing edited; private under any umask; nothing overwritten. Arguments:
build folder."""
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time

import numpy as np

from fleet import expect, fail, free_ports, spawn
from place import Place

build = os.path.realpath(sys.argv[1])
N, D, ROUNDS = 3, 8, 12
SCENARIO = '''dimension: %d
radius: 1
rounds: %d
network: {files: {nodes: nodes.csv, links: links.csv}, reciprocity: 1}
trust: {eps: 1, delta: 1e-6%s}
'''


class Scratch(Place):
    """A folder that goes at the end."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


class Folders(Scratch):
    """A folder with a study and a plan."""

    def __init__(self, trust='', rounds=ROUNDS):
        super().__init__(build)
        self.write('nodes.csv', 'node,p\n0,0.9\n1,0.2\n2,0.3\n')
        self.write('links.csv', 'from,to,p\n0,1,0.8\n1,0,0.8\n1,2,0.9\n2,1,0.9\n')
        self.write('f.yaml', SCENARIO % (D, rounds, trust))
        self.run('pricer new f.pricer f.yaml')
        self.run('pricer plan f.pricer')
        ports = free_ports(N + 1)
        self.write('where.csv', '# of this test\nnode,address\nserver,127.0.0.1:'
                   f'{ports[N]}\n' + ''.join(
                       f'{i},tcp://127.0.0.1:{ports[i]}\n' for i in range(N)))


def check_private(place):
    for folder, folders, files in os.walk(place.path('fleet')):
        for name in folders + ['']:
            mode = stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode)
            expect(mode == 0o700, f'{folder}/{name} has mode {mode:o}')
        for name in files:
            mode = stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode)
            allowed = (0o600, 0o644) if name.endswith('.pub') else (0o600,)
            expect(mode in allowed, f'{folder}/{name} has mode {mode:o}')


def start(place, made, nodes=N, options=''):
    """The printed commands; rounds as fast as they go, nothing else changed."""
    processes = []
    for member in made['members']:
        server = member['node'] == 'server'
        log = open(place.path(f'{member["node"]}.log'), 'w')
        more = (f' --early --period 20 --send 0 --share 3000 --uplink 4000 '
                f'--quorum {nodes} --port 0 --rounds {ROUNDS + 3}{options}') \
            if server else ''
        processes.append(spawn(
            'exec sh -c \'' + member['start'].replace('&& ', '&& exec ') + more +
            '\'', shell=True, cwd=place.dir, env=place.environment, stdout=log,
            stderr=log))
        log.close()
    return processes


def run_fleet(place, made, shared=False):
    """Exactly the planned rounds, and nothing refused."""
    data = np.random.default_rng(1).normal(size=(N, D))
    data /= 2 * np.linalg.norm(data, axis=1)[:, None]
    for i in range(N):
        np.save(place.path('fleet', f'node{i}', 'vector.npy'), data[i:i+1])
    with open(place.path('fleet/node0/node.conf'), 'a') as file:
        file.write('estimate estimate.npy\n')
    processes = start(place, made)
    try:
        code = processes[0].wait(60)
    except subprocess.TimeoutExpired:
        fail('the server goes on: ' + place.read('server.log'))
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
    logs = [place.read(f'{i}.log') for i in range(N)]
    expect(code == 0, place.read('server.log'))
    with sqlite3.connect(place.path('f.pricer')) as db:
        full = db.execute('SELECT count(*) FROM round WHERE arrived = ?'
                          ' AND estimate IS NOT NULL', (N,)).fetchone()[0]
    db.close()
    # Who reads is the operator's choice, and nobody else's.
    expect(os.path.exists(place.path('fleet/node0/estimate.npy')) ==
           (made['readers'] == 'all'), f'readers {made["readers"]}: ' + logs[0])
    # Budgets are those of the plan: they last its rounds, and not one more where
    # each link has its own and none shares one towards the server.
    expect(full == ROUNDS or (shared and full > ROUNDS),
           f'{full} full rounds:\n' + '\n'.join(logs))
    for log in logs:
        for word in ('not in the trust file', 'too small', 'too much',
                     'key of node'):
            expect(word not in log, log)


def test_start():
    """Every umask, every kind of budget: private folders that a fleet starts
    from."""
    own = ', self: {eps: 2, delta: 1e-6}'
    for mask, trust in ((0, own), (0o777, own),
                        (0o22, own + ', server: {eps: 3}')):
        with Folders(trust) as place:
            done = place.run(f'umask {mask:o}; pricer fleet f.pricer --to fleet '
                             '--addresses where.csv --json' +
                             (' --readers all' if mask else ''))
            made = json.loads(done.stdout)
            check_private(place)
            expect(made['budgets_beyond_study'] == 0 and done.stderr == '',
                   done.stdout + done.stderr)
            run_fleet(place, made, 'server' in trust)


DENSE = '''dimension: 2
radius: 1
seed: 5
rounds: %d
network: {generator: erdos-renyi, nodes: 14, p: 0.7, uplink: 0.2}
trust: {eps: %g, delta: 1e-5, self: {eps: 4}, server: {eps: %g}}
'''


def rows_of(text):
    lines = [line.split(',') for line in text.splitlines() if line[0] != '#']
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def test_never_above():
    """No budget of a trust file is above the study's, and what the plan needs fits
    all of them, however many links a node has: no node refuses anything."""
    for rounds, link, server in (1, 4, 4), (1, 8, .5), (3, 4, 4), (20, 1, 8):
        with Scratch(build) as place:
            place.write('d.yaml', DENSE % (rounds, link, server))
            place.run('pricer new d.pricer d.yaml')
            place.run('pricer plan d.pricer')
            done = place.run('pricer fleet d.pricer --to fleet --json')
            expect(json.loads(done.stdout)['budgets_beyond_study'] == 0 and
                   done.stderr == '', done.stderr)
            for i in range(14):
                for row in rows_of(place.read('fleet', f'node{i}', 'node.trust')):
                    most = {'server': server, str(i): 4}.get(row['to'], link)
                    expect(float(row['eps']) <= most and
                           float(row['total_eps']) <= most,
                           f'node {i}: {row}, the study has {most}')


def test_dense_fleet():
    """The nodes have exactly the plan's rounds with these files."""
    nodes, rounds = 14, 2
    with Scratch(build) as place:
        place.write('d.yaml', DENSE % (rounds, 4, 4))
        place.run('pricer new d.pricer d.yaml')
        place.run('pricer plan d.pricer')
        ports = free_ports(nodes + 1)
        place.write('where.csv', f'node,address\nserver,127.0.0.1:{ports[nodes]}\n' +
                    ''.join(f'{i},127.0.0.1:{ports[i]}\n' for i in range(nodes)))
        made = json.loads(place.run('pricer fleet d.pricer --to fleet --addresses '
                                    'where.csv --json').stdout)
        for i in range(nodes):
            np.save(place.path('fleet', f'node{i}', 'vector.npy'),
                    np.full((1, 2), .1))
        processes = start(place, made, nodes)
        try:
            processes[0].wait(90)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        logs = [place.read(f'{i}.log') for i in range(nodes)]
        with sqlite3.connect(place.path('d.pricer')) as db:
            full = db.execute('SELECT count(*) FROM round WHERE contributors = ?',
                              (nodes,)).fetchone()[0]
        db.close()
        expect(full == rounds, f'{full} rounds of {rounds}: ' + '\n'.join(logs))
        for log in logs:
            expect('too small' not in log and 'too much' not in log, log)


def test_full_trust():
    """A server that the scenario trusts fully: no node refuses its own part."""
    with Folders(rounds=1) as place:
        place.run('pricer fleet f.pricer --to fleet --addresses where.csv')
        for i in range(N):
            own = [line for line in place.read('fleet', f'node{i}', 'node.trust')
                   .splitlines() if line.startswith(f'{i},')]
            expect(own[0].startswith(f'{i},inf,'), own)


def test_again():
    """Nothing is overwritten; with --force neither keys nor ledgers."""
    with Folders() as place:
        make = 'pricer fleet f.pricer --to fleet --addresses where.csv'
        place.run(make)
        names = [(f'node{i}', name) for i in range(N) for name in
                 ('node.key', 'node.ledger', 'node.trust', 'node.conf')]
        names += [('server', 'server.key'), ('server', 'server.conf')]
        before = {name: place.read_bytes('fleet', *name) for name in names}
        members = place.ask('pricer enrol f.pricer')
        done = place.run(make, expected=1)
        expect('--force' in done.stderr, done.stderr)
        done = place.run(make.replace('--to fleet', '--to other'), expected=1)
        expect('has members already; --force' in done.stderr and
               not os.path.exists(place.path('other')), done.stderr)
        expect(before == {name: place.read_bytes('fleet', *name) for name in names},
               'files changed without --force')
        place.write('fleet/node0/node.trust', 'mine')
        with open(place.path('fleet/node0/node.conf'), 'a') as file:
            file.write('# mine\n')
        # A plan that needs more than the study has gets no more.
        with sqlite3.connect(place.path('f.pricer')) as db:
            db.execute('UPDATE plan_link SET noise = noise / 2')
        db.close()
        done = place.run(make + ' --force')
        expect('plan 1 does not keep' in done.stderr, done.stderr)
        after = {name: place.read_bytes('fleet', *name) for name in names}
        for name in names:
            expect(before[name] == after[name], f'{name} is another')
        expect(members == place.ask('pricer enrol f.pricer'),
               'other members')
        expect(not [name for _, _, files in os.walk(place.path('fleet'))
                    for name in files if name.endswith('.new')], 'left over')
        # What was shut out meanwhile stays out; new folders are let in.
        key = place.ask('pricer keygen next.key --after fleet/node0/node.key').strip()
        place.run('pricer enrol f.pricer 0 next.key.pub --next')
        listed = json.loads(place.ask('pricer enrol f.pricer --json'))['members']
        expect([m.get('next_key') for m in listed] == [None, key, None, None] and
               key in place.ask('pricer enrol f.pricer'), listed)
        place.run('pricer enrol f.pricer 0 --retire')
        place.run('pricer enrol f.pricer 1 --remove')
        members = place.ask('pricer enrol f.pricer')
        expect(key in members, members)
        done = place.run(make + ' --force --json')
        expect('1 is not enrolled any more' in done.stderr and
               f'folder of 0 is not the one that is enrolled, {key}' in done.stderr,
               done.stderr)
        told = json.loads(done.stdout)['members']
        expect([m['enrolled'] for m in told] == [True, True, False, True] and
               told[1]['key'] == key, told)
        expect(members == place.ask('pricer enrol f.pricer'),
               'keys that were shut out are let in')
        expect(key in place.read('fleet/node1/node.trust'), 'an old key in a draft')
        shutil.rmtree(place.path('fleet/node1'))
        place.run(make + ' --force')
        expect(len(place.ask('pricer enrol f.pricer').splitlines()) == 2 + N,
               'a new key is not let in')


def test_addresses():
    """What is said about addresses and keys, and what is wrong with it."""
    with Folders() as place:
        make = 'pricer fleet f.pricer --to fleet --addresses w.csv'
        for text, complaint in (
                ('node,where\n', "no column 'where'"),
                ('node\n0\n', 'the column address is missing'),
                ('node,address\n0,10.0.0.1\n', 'w.csv:2: \'10.0.0.1\' is not'),
                ('node,address\n0,h:70000\n', 'is not an address'),
                ('node,address\n9,h:7000\n', "w.csv:2: '9' is no node"),
                ('node,address\n1,h:7000\n1,h:7001\n', "'1' is there twice"),
                ('node,address,key\n1,h:7000,none.pub\n', 'none.pub'),
                ('node,address\nserver,h:7000\n0,h:7001\n', 'where is node 1?')):
            place.write('w.csv', text)
            done = place.run(make, expected=1)
            expect(complaint in done.stderr, f'{text!r}: {done.stderr}')
        expect('no address' not in os.listdir(place.dir), 'rubbish')
        key = place.ask('pricer keygen own.key').strip()
        place.write('w.csv', 'node,address,key\n0,10.9.0.2:7101,own.key.pub\n'
                    '1,10.9.0.3:7101,\n2,[fd00::4]:7101,\n')
        place.run(make + ' --server 10.9.0.1:7100')
        expect(not os.path.exists(place.path('fleet/node0/node.key')),
               'a key was made for a node that has its own')
        expect(key in place.ask('pricer enrol f.pricer') and
               key in place.read('fleet/node1/node.trust'), 'its key')
        config = place.read('fleet/node2/node.conf')
        expect('listen      tcp://*:7101' in config and
               'server      tcp://10.9.0.1:7100' in config, config)
        place.run('pricer new bare.pricer f.yaml')
        done = place.run('pricer fleet bare.pricer --to x', expected=1)
        expect('plan' in done.stderr and not os.path.exists(place.path('x')),
               done.stderr)
        place.run('pricer fleet f.pricer', expected=2)


def test_forward():
    """Folders of nodes that forward: one budget, neighbours, and what checks say."""
    with Scratch(build) as place:
        place.write('nodes.csv', 'node,p,name,everyone_eps,everyone_delta\n'
                    '0,.9,gate,8,1e-5\n1,.2,,8,1e-5\n2,0,roof,0.1,0\n3,.5,,3,1e-7\n')
        place.write('links.csv', 'from,to,p\n1,0,.8\n2,1,.7\n2,0,.3\n0,1,.8\n')
        place.write('f.yaml', 'dimension: 2\nrounds: 5\n'
                    'network: {files: {nodes: nodes.csv, links: links.csv}}\n')
        place.run('pricer new f.pricer f.yaml')
        done = place.run('pricer fleet f.pricer --to fleet', expected=1)
        expect('plan' in done.stderr, done.stderr)
        place.run('pricer plan f.pricer')
        made = json.loads(place.ask('pricer fleet f.pricer --to fleet --json'))
        expect(made['scheme'] == 'forward' and made['rounds'] == 5 and
               made['budgets_beyond_study'] == 0 and 'readers' not in made, made)
        check_private(place)
        keys = {m['node']: m['key'] for m in made['members']}
        at = {m['node']: m['address'] for m in made['members']}
        listed = json.loads(place.ask('pricer enrol f.pricer --json'))['members']
        expect({m['node']: m['key'] for m in listed} == keys, listed)
        budgets = {'gate': (8, 1e-5), 'node1': (8, 1e-5), 'roof': (.1, 0),
                   'node3': (3, 1e-7)}
        for folder, (eps, delta) in budgets.items():
            rows = [line for line in place.read('fleet', folder, 'node.trust')
                    .splitlines() if not line.startswith('#')]
            expect(rows[0] == 'to,eps,delta' and len(rows) == 2 and
                   rows[1].startswith('everyone,') and
                   [float(x) for x in rows[1].split(',')[1:]] == [eps, delta], rows)
        # Node 2 only sends, so the others wait for it; node 3 has no neighbours.
        near = {'gate': f'1,{keys[1]},{at[1]},\n2,{keys[2]},,roof\n',
                'node1': f'0,{keys[0]},{at[0]},gate\n2,{keys[2]},,roof\n',
                'roof': f'0,{keys[0]},{at[0]},gate\n1,{keys[1]},{at[1]},\n',
                'node3': ''}
        for folder, rows in near.items():
            text = place.read('fleet', folder, 'neighbours.csv')
            expect(text.split('node,key,address,name\n')[1] == rows, text)
        check = 'cd fleet/gate && pricer-node --config node.conf --check'
        np.save(place.path('fleet/gate/vector.npy'), np.zeros((1, 2)))
        show = 'cd fleet/gate && pricer-node --config node.conf --ledger-show'
        expect(place.ask(show) == 'nothing was sent so far\n', place.ask(show))
        with sqlite3.connect(place.path('fleet/gate/node.ledger')) as db:
            db.execute('INSERT INTO entry VALUES (1, 1, 2, .38, 1.6, 0, 5, 3, 6, 8e-6)')
            db.execute('INSERT INTO entry VALUES (2, 2, 2, 0, 0, .5, 2, 1, 1, 1e-6)')
        db.close()
        told = place.ask(check)
        expect('note  server' in told and
               '4 of 7 rounds are made, which keep eps = 7, delta = 9e-06' in told and
               'eps = 8, delta = 1e-05 towards everyone' in told and
               '0 of 2 reached' in told and 'note  plan' in told and
               'BAD' not in told, told)
        told = place.ask(show)
        expect('sphere, d = 2, t = 0.38, e0 = 1.6' in told and
               'gaussian, mu = 0.5' in told and
               'eps = 7, delta = 9e-06 are taken, of eps = 8, delta = 1e-05' in told,
               told)
        everyone = json.loads(place.ask(show + ' --json'))['everyone']
        expect(everyone['released'] == 4 and everyone['eps'] == 7 and
               everyone['budget_eps'] == 8 and len(everyone['entries']) == 2 and
               everyone['entries'][0]['loss'] == 1.6, everyone)
        place.write('fleet/gate/node.trust', 'to,eps,delta\n0,1,.1\n')
        place.write('fleet/gate/neighbours.csv', f'node,key,address\n\n0,{keys[0]},\n')
        told = place.run(check, expected=1).stdout
        expect('neighbours.csv:3: this is node 0 itself' in told and
               "no row 'everyone'" in told, told)
        # Whoever is shut out is nobody's neighbour.
        place.run('pricer enrol f.pricer 1 --remove')
        place.run('pricer fleet f.pricer --to fleet --force')
        expect(keys[1] not in place.read('fleet/gate/neighbours.csv'), 'an old key')


def test_forward_runs():
    """A fleet that forwards, from its folders: checks tell the plan and what is left,
    also far from the server, and budgets last the rounds of the plan."""
    with Scratch(build) as place:
        place.write('nodes.csv', 'node,p,name\n0,.9,gate\n1,.2,\n2,0,roof\n')
        place.write('links.csv', 'from,to,p\n1,0,.8\n2,1,.7\n0,1,.8\n')
        place.write('f.yaml', f'dimension: 2\nrounds: {ROUNDS}\n'
                    'trust: {everyone: {eps: 8, delta: 1e-5}}\n'
                    'network: {files: {nodes: nodes.csv, links: links.csv}}\n')
        ports = free_ports(4)
        place.write('where.csv', 'node,address\n' + ''.join(
            f'{i},127.0.0.1:{port}\n' for i, port in zip(('server', 0, 1, 2), ports)))
        place.run('pricer new f.pricer f.yaml && pricer plan f.pricer')
        made = json.loads(place.ask(
            'pricer fleet f.pricer --to fleet --addresses where.csv --json'))
        folders = ('gate', 'node1', 'roof')
        for folder in folders:
            np.save(place.path('fleet', folder, 'vector.npy'), np.full((1, 2), .4))
        check = 'cd fleet/roof && pricer-node --config node.conf --check'
        far = check + ' --server tcp://127.0.0.1:1'
        last = made['members'].pop()
        processes = start(place, made, options=' --wait 3')
        try:
            told = place.ask(check)
            expect(f'the plan fits, for {ROUNDS} rounds more' in told and
                   'none so far' in told and 'good  server' in told and
                   'good  plan' in told and 'vector.npy: 2 numbers' in told, told)
            told = place.ask(far)
            expect(f'the plan fits, for {ROUNDS} rounds more' in told and
                   'note  server' in told and 'from node 1' in told, told)
            place.write('fleet/roof/node.trust', 'to,eps,delta\neveryone,7.9,1e-5\n')
            told = place.run(check, expected=1).stdout
            expect('nothing will be released: line 2 of the trust file: the budget of '
                   'everyone holds eps = 7.9 over all rounds' in told, told)
            place.write('fleet/roof/node.trust', 'to,eps,delta\neveryone,8,1e-5\n')
            made['members'] = [last]
            processes += start(place, made)
            shows = [f'cd fleet/{folder} && pricer-node --config node.conf '
                     '--ledger-show --json' for folder in folders]
            end = time.monotonic() + 60
            while any(json.loads(place.ask(show))['everyone']['released'] < ROUNDS
                      for show in shows):
                expect(time.monotonic() < end, place.read('server.log'))
                time.sleep(.1)
            processes[-1].terminate()
            processes[-1].wait()
            told = place.run(check, expected=1).stdout
            expect(f'{ROUNDS} of {ROUNDS} rounds are made' in told and
                   'nothing will be released' in told and 'are taken' in told, told)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        for show in shows:
            everyone = json.loads(place.ask(show))['everyone']
            expect(everyone['released'] == everyone['rounds'] == ROUNDS and
                   everyone['eps'] <= 8 and everyone['delta'] <= 1e-5, everyone)


for test in (test_forward, test_forward_runs, test_start, test_never_above, test_dense_fleet, test_full_trust, test_again, test_addresses):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)')
