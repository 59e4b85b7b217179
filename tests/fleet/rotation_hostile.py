"""Keys that follow keys, shown by a server that lies to one real node: what each
holder of keys hears stays within its budget. The relays and the server work
together, sign whatever helps them, give nodes other numbers, and the node is
restarted, killed and sent to another server with the same ledger.
Arguments: build folder."""
import base64
import ctypes
import ctypes.util
import math
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time

import msgpack
import numpy as np

from channel import Listener, keygen, z85
from fleet import expect, free_ports, spawn

build = sys.argv[1]
HELLO, SLICE, OPEN, SHARE, SUM = 1, 2, 3, 4, 5
DATA, D, NODES = 1, 4, 6
EPS, DELTA, WEIGHT, NOISE = 5.5, 1e-5, .5, 2.5
MU = 2 * WEIGHT / NOISE
sodium = ctypes.CDLL(ctypes.util.find_library('sodium'))


def limit():
    """The most releases that the budget holds."""
    def delta(mu):
        def phi(x):
            return math.erfc(-x / math.sqrt(2)) / 2
        return phi(mu / 2 - EPS / mu) - math.exp(EPS) * phi(-mu / 2 - EPS / mu)
    count = 0
    while delta(MU * math.sqrt(count + 1)) <= DELTA:
        count += 1
    return count


class Key:
    """A key pair that signs."""

    def __init__(self, folder, name):
        self.path = os.path.join(folder, name)
        self.public = keygen(build, self.path)
        with open(self.path) as file:
            text = file.read()
        begin = text.index('BEGIN PRIVATE KEY-----') + 22
        seed = base64.b64decode(text[begin:text.index('-----END', begin)])[-32:]
        self.secret = seed + self.public

    def follows(self, old):
        """What a slice has for this key, as the old one signs it."""
        text = b'pricer: I am followed by this key ' + self.public
        proof = ctypes.create_string_buffer(64)
        sodium.crypto_sign_detached(proof, None, text, ctypes.c_ulonglong(len(text)),
                                    old.secret)
        return old.public + proof.raw


class Node:
    """One real node, and everyone else: two servers, and relays with any number
    of keys. A round is one slice and one OPEN."""

    def __init__(self, keys=6):
        self.folder = tempfile.mkdtemp(prefix='pricer-node-')
        self.ports = free_ports(keys + 3)
        self.mine = Key(self.folder, 'mine')
        self.servers = [Key(self.folder, f'server{k}') for k in range(2)]
        self.keys = [Key(self.folder, f'key{k}') for k in range(keys)]
        self.at = {}
        self.listeners = [self.listen(k, key) for k, key in
                          enumerate(self.servers + self.keys)]
        self.heard = [0] * keys
        self.own = 0
        self.plan = self.round = 0
        self.process = None

    def listen(self, k, key):
        self.at[key] = f'tcp://127.0.0.1:{self.ports[k]}'
        made = Listener(self.at[key], key.path)
        made.admit([self.mine.public])
        return made

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, rows, server=0, number=0):
        """rows: {number: key or None}; without a key, the first one seen."""
        self.server, self.number = server, number
        self.channel = self.hello = None
        with open(self.path('trust'), 'w') as file:
            file.write('to,eps,delta,key\n' + ''.join(
                f'{to},{EPS},{DELTA},{z85(key.public) if key else ""}\n'
                for to, key in {number: None, **rows}.items()))
        np.save(self.path('data.npy'), np.array([[.1] * D]))
        self.log = open(self.path('log'), 'w+')
        self.process = spawn(
            [build + '/pricer-node', '--node', str(number), '--key',
             self.mine.path, '--server', self.at[self.servers[server]],
             '--server-key', z85(self.servers[server].public), '--listen',
             f'tcp://127.0.0.1:{self.ports[-1]}', '--trust', self.path('trust'),
             '--ledger', self.path('ledger'), '--new-ledger', '--first-seen',
             '--data', self.path('data.npy')], stdout=self.log, stderr=self.log)

    def stop(self, kill=False):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            self.process.wait(15)
            self.log.close()
        self.process = None

    def send(self, *elements):
        self.channel.send(msgpack.packb([2, *elements]))
        self.channel.flush()

    def step(self):
        select.select([f for l in self.listeners for f in l.files()], [], [], .02)
        for k, listener in enumerate(self.listeners):
            for channel, frame in listener.step():
                kind, *elements = msgpack.unpackb(frame)[1:]
                if kind == SHARE:
                    self.shares[k - 2] = elements[2]
                elif k == self.server:
                    self.channel = channel
                    if kind == HELLO:
                        self.hello = elements
                    elif kind == SUM and elements[0] == self.round:
                        self.part = elements[2][0] & 15

    def until(self, what, condition, timeout=20):
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                self.log.seek(0)
                expect(False, f'{what} did not happen; the node says\n' +
                       self.log.read())
            self.step()

    def run(self, links, own=0.0):
        """links: {number: (key, the key that it follows or None)}. One round;
        who heard data in it."""
        self.until('HELLO', lambda: self.hello is not None)
        self.plan += 1
        self.round += 1
        out = [[to, self.keys[k].public, self.at[self.keys[k]], WEIGHT, NOISE,
                self.keys[k].follows(old) if old else b'']
               for to, (k, old) in sorted(links.items())]
        self.send(SLICE, self.plan, self.number, NODES, D, 1.0, -30, 2 ** 50, 1,
                  bytes([self.plan % 256] * 16), [own, NOISE if own else 0.0,
                                                  2 ** 50 if own else 0],
                  out, [])
        digest, self.hello = self.hello[0], None
        self.until('the slice', lambda: self.hello is not None and
                   self.hello[0] not in (b'', digest))
        self.shares, self.part = {}, None
        self.send(OPEN, self.plan, self.round, 0, 0, 0, 2000, 3000, True)
        self.until('the round', lambda: self.part is not None and
                   all(k in self.shares for k, _ in links.values()))
        for k, part in self.shares.items():
            self.heard[k] += part == DATA
        self.own += self.part == DATA and own > 0
        return [k for k, part in self.shares.items() if part == DATA]

    def close(self):
        self.stop(kill=True)
        for listener in self.listeners:
            listener.close()
        shutil.rmtree(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def test_itself():
    """A key that follows itself, in every other slice."""
    with Node() as node:
        node.start({1: node.keys[0]})
        for k in range(3 * MOST):
            node.run({1: (0, node.keys[0] if k % 2 else None)})
        expect(node.heard[0] == MOST, f'{node.heard[0]} releases, not {MOST}')
        node.stop()


def test_across():
    """A relay's key follows that of another relay, or of the server."""
    with Node() as node:
        node.start({1: None, 2: None})
        for k in range(MOST + 2):
            node.run({1: (0, None)}, own=WEIGHT)
        expect((node.heard[0], node.own) == (MOST, MOST), f'{node.heard}')
        for k in range(MOST):
            node.run({1: (0, None), 2: (1, node.servers[0] if k % 2 else
                                        node.keys[0])}, own=WEIGHT)
        node.stop()
        expect(node.own == MOST, f'{node.own} own releases, not {MOST}')
        # The second relay says that it is the first, and the server too.
        expect(node.heard[:2] == [MOST, 0], f'{node.heard}')


def test_moved():
    """Nobody lies: a relay has a new key, another number and another server."""
    with Node() as node:
        node.start({1: node.keys[0]})
        for k in range(MOST):
            node.run({1: (0, None)}, own=WEIGHT)
        expect(node.heard[0] == MOST and node.own == MOST, f'{node.heard}')
        node.stop()
        node.start({4: node.keys[1]}, number=2)
        for k in range(2):
            node.run({4: (1, node.keys[0])}, own=WEIGHT)
        node.stop(kill=True)
        node.start({3: node.keys[1]}, server=1)
        for k in range(2):
            node.run({3: (2, node.keys[1])}, own=WEIGHT)
        node.stop()
        node.start({1: node.keys[0]}, server=1, number=5)
        for k in range(2):
            node.run({1: (2, node.keys[1])}, own=WEIGHT)
        expect(node.heard[:3] == [MOST, 0, 0] and node.own == MOST,
               f'{node.heard}, {node.own} own: more than {MOST}')


def test_random():
    """Rotations, numbers, servers, restarts and kills at random: two holders of
    three keys each, whose keys follow each other, and a trust file that has one
    row for each of them."""
    for seed in range(SEEDS):
        draw = random.Random(seed)
        with Node() as node:
            used, rows, begun = [0, 0], [1, 2], False
            for step in range(3 * MOST):
                if not begun or draw.random() < .25:
                    node.stop(kill=draw.random() < .5)
                    if draw.random() < .5:
                        rows = draw.sample(range(1, NODES), 2)
                    node.start({rows[h]: node.keys[3 * h + draw.randrange(
                        used[h] + 1)] for h in range(2)}, draw.randrange(2))
                    begun = True
                links = {}
                for h in range(2):
                    rotates = used[h] < 2 and draw.random() < .2
                    used[h] += rotates
                    now = 3 * h + used[h]
                    lie = draw.choice([now, 0, 3]) if draw.random() < .2 else 0
                    # The signature that is due, or one that is not.
                    old = node.keys[now - 1] if used[h] and not lie else \
                        node.keys[lie] if lie else None
                    links[rows[h]] = (now, old)
                    if rotates and lie:
                        used[h] -= 1
                        links[rows[h]] = (now - 1, node.keys[now - 1])
                node.run(links, own=WEIGHT)
            for h in range(2):
                heard = sum(node.heard[3 * h:3 * h + 3])
                expect(heard <= MOST, f'seed {seed}: holder {h} heard '
                       f'{node.heard}, more than {MOST}')
            expect(node.own <= MOST and sum(node.heard) > 0,
                   f'seed {seed}: {node.own} own releases, {node.heard}')


MOST, SEEDS = limit(), 4
test_itself()
test_across()
test_moved()
test_random()
print(f'nobody heard more than {MOST}')
