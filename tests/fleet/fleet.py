"""A fleet on loopback for tests: study, plan, keys, processes.

Everything lives in one temporary folder, every process is stopped by its own
id, and nothing outlives Fleet.close(), nor a test that is killed.
"""
import ctypes
import fcntl
import http.client
import os
import json
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

import numpy as np

PAPER_UPLINK = [.1, .1, .8, .1, .1, .9, .1, .1, .9, .1]

# Byte k is locked by the test that has port k; locks end with their process.
PORTS = open(os.path.join(tempfile.gettempdir(), f'pricer-ports-{os.getuid()}'),
             'a')
taken = set()


def free_ports(count):
    """Ports nobody listens on now, and that no other test takes while this one
    runs, below those that the kernel hands out."""
    ports = []
    while len(ports) < count:
        port = random.randrange(15000, 32000)
        try:
            fcntl.lockf(PORTS, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            with socket.socket() as s:
                s.bind(('127.0.0.1', port))
        except OSError:
            continue
        if port not in taken:
            ports.append(port)
            taken.add(port)
    return ports


def take(address):
    """Be the other program that has the address."""
    other = socket.socket()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    other.bind(address)
    other.listen()
    return other


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def spawn(words, **more):
    """A process that ends with this one, however this one ends."""
    return subprocess.Popen(words, **more, preexec_fn=lambda: LIBC.prctl(
        PR_SET_PDEATHSIG, signal.SIGKILL))


def fail(message):
    print('FAILED:', message)
    sys.exit(1)


def expect(condition, message):
    if not condition:
        fail(message)


class Fleet:
    def __init__(self, build, nodes=4, dimension=16, p=.5, uplink=None, seed=7,
                 reciprocity=1, weight=.4, noise=.1, own=.6, own_noise=.1,
                 host=lambda i: '127.0.0.1', topology=None, keys='',
                 data_given=None):
        self.build = build
        self.nodes = nodes
        self.dimension = dimension
        self.seed = seed
        self.processes = {}
        self.dir = tempfile.mkdtemp(prefix='pricer-fleet-')
        self.study = self.path('study.pricer')
        uplink = uplink if uplink is not None else [.8] * nodes
        self.write('nodes.csv', 'node,p\n' + ''.join(
            f'{i},{q}\n' for i, q in enumerate(uplink)))
        pairs = topology or [(i, j) for i in range(nodes)
                             for j in range(nodes) if i != j]
        self.write('links.csv', 'from,to,p,eps,delta\n' + ''.join(
            f'{i},{j},{p},50,1e-3\n' for i, j in pairs))
        self.write('s.yaml', f'dimension: {dimension}\nradius: 1\nseed: {seed}\n'
                   f'{keys}'
                   'network: {files: {nodes: nodes.csv, links: links.csv}, '
                   f'reciprocity: {reciprocity}}}\n')
        self.run('pricer', 'new', self.study, self.path('s.yaml'))
        self.add_plan(weight, noise, own, own_noise)
        rng = np.random.default_rng(seed)
        data = rng.normal(size=(nodes, dimension))
        data *= .95 / np.linalg.norm(data, axis=1)[:, None]
        if data_given is not None:
            data = data_given
        self.data = data
        np.save(self.path('data.npy'), data)
        np.save(self.path('mean.npy'), data.mean(axis=0))
        ports = free_ports(nodes + 2)
        self.status_port = ports[nodes + 1]
        self.keys, self.addresses = {}, {}
        for who in ['server'] + list(range(nodes)):
            self.keys[who] = self.run('pricer', 'keygen',
                                      self.key(who)).stdout.strip()
            at = 'server' if who == 'server' else who
            port = ports[nodes] if who == 'server' else ports[who]
            self.addresses[who] = f'tcp://{host(who)}:{port}'
            self.run('pricer', 'enrol', self.study, str(at), self.key(who) +
                     '.pub', self.addresses[who])
        for i in range(nodes):
            self.write_trust(i)

    # ------------------------------------------------------------- making --
    def path(self, name):
        return os.path.join(self.dir, name)

    def key(self, who):
        return self.path(f'{who}.key')

    def write(self, name, text):
        with open(self.path(name), 'w') as file:
            file.write(text)

    def run(self, program, *arguments, check=True):
        done = subprocess.run([os.path.join(self.build, program), *arguments],
                              capture_output=True, text=True, timeout=60)
        if check and done.returncode != 0:
            fail(f'{program} {" ".join(arguments)}: {done.stderr}')
        return done

    def add_plan(self, weight, noise, own, own_noise, rounds=1):
        with sqlite3.connect(self.study) as db:
            plan = 1 + (db.execute('SELECT max(plan) FROM plan').fetchone()[0]
                        or 0)
            db.execute("INSERT INTO plan (plan, network, bias, lambda,"
                       " calibration, method, rounds, credit, sum_multiplier)"
                       " VALUES (?, 1, 'worst-case', 0, 'analytic', 'given', ?,"
                       " 'none', 0)", (plan, rounds))
            for i in range(self.nodes):
                db.execute('INSERT INTO plan_node VALUES (?,?,?,?,0,0,0)',
                           (plan, i, own, own_noise))
            links = [l for l, in db.execute('SELECT link FROM link')]
            for l in links:
                if weight or noise:
                    db.execute('INSERT INTO plan_link VALUES (?,?,?,?)',
                               (plan, l, weight, noise))
        db.close()

    def fit_decoder(self):
        """A decoder for plan 1, fitted to the same weights."""
        rows = self.query('SELECT node, node, weight, noise FROM plan_node '
                          'WHERE plan = 1')
        rows += self.query('SELECT from_node, to_node, weight, noise FROM '
                           'plan_link NATURAL JOIN link WHERE plan = 1')
        self.write('weights.csv', 'from,to,alpha,sigma\n' + ''.join(
            f'{i},{j},{weight!r},{noise!r}\n' for i, j, weight, noise in rows))
        self.run('pricer', 'plan', self.study, '--weights',
                 self.path('weights.csv'), '--decoder', 'minimax')
        with sqlite3.connect(self.study) as db:
            db.execute('UPDATE decoder SET plan = 1')
            db.execute('UPDATE decoder_node SET plan = 1')
            for table in ('plan_link', 'plan_node', 'plan'):
                db.execute(f'DELETE FROM {table} WHERE plan = 2')
        db.close()

    def plan_rounds(self, rounds, budget='1,1e-3', own='8,1e-3'):
        """A plan for so many rounds, every release counted: made on a twin of
        the study whose links are always up. Trust files say the same budgets
        for all rounds together."""
        (eps, delta), (own_eps, own_delta) = budget.split(','), own.split(',')
        nodes = self.query('SELECT node, p FROM node ORDER BY node')
        links = self.query('SELECT from_node, to_node FROM link ORDER BY link')
        self.write('twin_nodes.csv', 'node,p\n' + ''.join(
            f'{i},{p}\n' for i, p in nodes))
        self.write('twin_links.csv', 'from,to,p,eps,delta\n' + ''.join(
            f'{i},{j},1,{budget}\n' for i, j in links))
        self.write('twin.yaml', f'dimension: {self.dimension}\nradius: 1\n'
                   f'rounds: {rounds}\nnetwork: {{files: {{nodes: '
                   'twin_nodes.csv, links: twin_links.csv}}\n'
                   f'trust: {{self: {{eps: {own_eps}, delta: {own_delta}}}}}\n')
        twin = self.path('twin.pricer')
        self.run('pricer', 'new', '--force', twin, self.path('twin.yaml'))
        self.run('pricer', 'plan', twin)
        own_parts = self.query('SELECT node, weight, noise FROM plan_node',
                               path=twin)
        parts = self.query('SELECT link, weight, noise FROM plan_link',
                           path=twin)
        self.add_plan(0, 0, 0, 0, rounds)
        with sqlite3.connect(self.study) as db:
            plan, = db.execute('SELECT max(plan) FROM plan').fetchone()
            for i, weight, noise in own_parts:
                db.execute('UPDATE plan_node SET weight = ?, noise = ? WHERE '
                           'plan = ? AND node = ?', (weight, noise, plan, i))
            for l, weight, noise in parts:
                db.execute('INSERT INTO plan_link VALUES (?,?,?,?)',
                           (plan, l, weight, noise))
        db.close()
        for i in range(self.nodes):
            self.write(f'{i}.trust', 'to,eps,delta\n' + ''.join(
                f'{j},{own_eps},{own_delta}\n' if i == j else
                f'{j},{eps},{delta}\n' for j in range(self.nodes)))
        return ({i for i, weight, _ in own_parts if weight > 0},
                {links[l] for l, weight, _ in parts if weight > 0})

    def write_trust(self, i, rows=None, total='inf,1'):
        rows = rows or [f'{j},1000,1e-3,{total}' for j in range(self.nodes)]
        self.write(f'{i}.trust', 'to,eps,delta,total_eps,total_delta\n' +
                   '\n'.join(rows) + '\n')

    # ---------------------------------------------------------- processes --
    def spawn(self, name, arguments, prefix=()):
        log = open(self.path(f'{name}.log'), 'a')
        self.processes[name] = spawn(
            [*prefix, *arguments], stdout=log, stderr=log,
            stdin=subprocess.DEVNULL)
        log.close()
        return self.processes[name]

    def server_arguments(self, *more):
        # Every other fleet has a server of several threads.
        return [os.path.join(self.build, 'pricer-server'), self.study, '--key',
                self.key('server'), '--truth', self.path('mean.npy'),
                '--readers', 'all', '--threads',
                '3' if self.nodes % 2 == 0 else '1', *more]

    def node_arguments(self, i, *more, data=True):
        words = [os.path.join(self.build, 'pricer-node'), '--node', str(i),
                 '--key', self.key(i), '--server', self.addresses['server'],
                 '--server-key', self.key('server') + '.pub', '--listen',
                 self.addresses[i], '--trust', self.path(f'{i}.trust'),
                 '--ledger', self.path(f'{i}.ledger'), '--new-ledger',
                 '--first-seen', *more]
        return words + (['--data', self.path('data.npy')] if data else [])

    def start_server(self, *more, prefix=()):
        return self.spawn('server', self.server_arguments(*more), prefix)

    def start_node(self, i, *more, prefix=(), data=True):
        return self.spawn(f'node{i}', self.node_arguments(i, *more, data=data),
                          prefix)

    def emulation(self):
        return ['--emulate', self.study, '--seed', str(self.seed),
                '--replay-noise']

    def wait(self, name, timeout=60):
        try:
            return self.processes[name].wait(timeout)
        except subprocess.TimeoutExpired:
            fail(f'{name} did not stop; its log ends:\n' + self.log(name))

    def stop(self, name, how=signal.SIGTERM):
        process = self.processes.pop(name, None)
        if process is None:
            return None
        process.send_signal(how)
        try:
            return process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return 'killed'

    def log(self, name, size=3000):
        with open(self.path(f'{name}.log')) as file:
            return file.read()[-size:]

    def close(self):
        for name in list(self.processes):
            self.stop(name)
        if os.environ.get('PRICER_KEEP'):
            print('kept', self.dir)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ------------------------------------------------------------- asking --
    def query(self, sql, *values, path=None):
        db = sqlite3.connect(f'file:{path or self.study}?mode=ro', uri=True,
                             timeout=10)
        try:
            return db.execute(sql, values).fetchall()
        finally:
            db.close()

    def rounds(self):
        try:
            return self.query('SELECT count(*) FROM round')[0][0]
        except sqlite3.OperationalError:
            return 0

    def wait_rounds(self, count, timeout=60):
        end = time.monotonic() + timeout
        while self.rounds() < count:
            if time.monotonic() > end:
                fail(f'{self.rounds()} rounds instead of {count} in {timeout} s;'
                     ' the server says:\n' + self.log('server'))
            time.sleep(.05)

    def estimates(self):
        return {r: np.frombuffer(e, '<f8') for r, e in
                self.query('SELECT round, estimate FROM round WHERE estimate '
                           'IS NOT NULL ORDER BY round')}

    def withheld(self):
        """How often each reason was given."""
        return dict(self.query('SELECT reason, count(*) FROM withheld '
                               'GROUP BY reason'))

    def dropped(self):
        return dict(self.query('SELECT reason, sum(messages) FROM dropped '
                               'GROUP BY reason'))

    def get(self, path, method='GET', host='127.0.0.1'):
        """A page of the status server, which must have been started."""
        connection = http.client.HTTPConnection(host, self.status_port,
                                                timeout=5)
        connection.request(method, path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def metrics(self):
        return {name: float(value) for name, value in
                (line.rsplit(' ', 1) for line in
                 self.get('/metrics')[1].splitlines() if line[0] != '#')}

    def wait_log(self, name, text, timeout=30):
        end = time.monotonic() + timeout
        while text not in self.log(name, 100000):
            if time.monotonic() > end:
                fail(f"{name} does not say '{text}':\n" + self.log(name))
            time.sleep(.05)

    def database(self, name):
        """What a process writes to."""
        return self.study if name == 'server' else \
            self.path(f'{name[4:]}.ledger')

    def ledger(self, i, sql, *values):
        return self.query(sql, *values, path=self.path(f'{i}.ledger'))

    def check_study(self, path=None):
        expect(self.query('PRAGMA integrity_check', path=path) == [('ok',)],
               'the integrity check of ' + (path or self.study))

    def check_charged(self):
        """What arrived was charged, once; what accounts hold is what was charged.
        How many shares arrived. Ledgers must still list all of their rounds."""
        links = {l: (a, b) for l, a, b in
                 self.query('SELECT link, from_node, to_node FROM link')}
        arrived = self.query('SELECT round, link FROM delivery WHERE arrived '
                             'EXCEPT SELECT round, link FROM withheld')
        own = self.query('SELECT round, node FROM arrival WHERE arrived EXCEPT '
                         'SELECT round, node FROM withheld WHERE link = -1')
        charged = {i: set(self.ledger(i, 'SELECT round, key FROM release'))
                   for i in range(self.nodes)}
        for number, link in arrived:
            a, b = links[link]
            expect((number, self.keys[b]) in charged[a],
                   f'round {number}: {a} -> {b} arrived and is not charged')
        for number, node in own:
            expect((number, self.keys['server']) in charged[node],
                   f'round {number}: {node} is in a sum and not charged')
        for i in range(self.nodes):
            for key, mu, releases in self.ledger(
                    i, 'SELECT key, mu, releases FROM account'):
                rows = self.ledger(i, 'SELECT count(*) FROM release WHERE key = '
                                   '? AND mu = ?', key, mu)
                expect(rows == [(releases,)],
                       f'the account of node {i} for {key}: {rows}, {releases}')
            self.check_study(self.path(f'{i}.ledger'))
        return len(arrived)
