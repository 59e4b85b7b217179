"""A plan that counts on losses, at a real node: a server written from
docs/protocol.md hands out slices and opens rounds. Without a word in the trust
file the node sends no data; with it, the ledger charges by the plan's own rule
and the planned rounds fit. Arguments: build folder."""
import hashlib
import math
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

import msgpack
import numpy as np

from channel import Listener, keygen, z85
from fleet import expect, free_ports

build = sys.argv[1]
HELLO, SLICE, OPEN, SHARE, SUM, RESULT, REFUSAL = range(1, 8)
DATA, SPENT, TRUST = 1, 3, 4
NO_END = 2 ** 62 - 1
D = 4


def phi(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def delta(eps, mu, K, p):
    """Of K releases of ratio mu, each heard with probability p."""
    total = 0
    for k in range(1, K + 1):
        m = mu * math.sqrt(k)
        total += math.comb(K, k) * p ** k * (1 - p) ** (K - k) * (
            phi(m / 2 - eps / m) - math.exp(eps) * phi(-m / 2 - eps / m))
    return total


def calibrate(eps, most, K, p):
    """The largest ratio, a little below; one release alone must hold too."""
    low, high = 0, 50
    for _ in range(200):
        mu = (low + high) / 2
        good = delta(eps, mu, K, p) <= most and delta(eps, mu, 1, 1) <= most
        low, high = (mu, high) if good else (low, mu)
    return low * (1 - 1e-12)


class Server:
    """One server and one relay, node 1, for the node 0 under test."""

    def __init__(self, folder):
        self.folder = folder
        self.ports = free_ports(3)
        self.server_key = keygen(build, self.path('server'))
        self.peer_key = keygen(build, self.path('peer'))
        node_key = keygen(build, self.path('key'))
        self.router = Listener(self.address(0), self.path('server'))
        self.relay = Listener(self.address(1), self.path('peer'))
        self.router.admit([node_key])
        self.relay.admit([node_key])
        self.channel, self.hello, self.refusals = None, None, []
        self.shares, self.sums = {}, {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def address(self, k):
        return f'tcp://127.0.0.1:{self.ports[k]}'

    def start_node(self, trust):
        with open(self.path('trust'), 'w') as file:
            file.write(trust)
        np.save(self.path('data.npy'), np.full((1, D), .1))
        self.log = open(self.path('log'), 'w+')
        self.node = subprocess.Popen(
            [build + '/pricer-node', '--node', '0', '--key', self.path('key'),
             '--server', self.address(0), '--server-key',
             z85(self.server_key), '--listen', self.address(2), '--trust',
             self.path('trust'), '--ledger', self.path('ledger'),
             '--new-ledger', '--first-seen', '--data',
             self.path('data.npy')], stdout=self.log, stderr=self.log)

    def send(self, *elements):
        frame = msgpack.packb([2, *elements])
        self.channel.send(frame)
        self.channel.flush()
        return hashlib.blake2b(frame, digest_size=16).digest()

    def step(self):
        select.select(self.router.files() + self.relay.files(), [], [], .02)
        for self.channel, frame in self.router.step():
            version, kind, *elements = msgpack.unpackb(frame)
            expect(version == 2, f'version {version}')
            if kind == HELLO:
                self.hello = elements
            elif kind == REFUSAL:
                expect(len(elements) == 3, f'a refusal says {elements}')
                self.refusals.append(tuple(elements))
            elif kind == SUM:
                expect(elements[1] == self.hello[0], 'a sum of another slice')
                self.sums[elements[0]] = elements[2][0] & 15
        for _, frame in self.relay.step():
            _, kind, number, seal, part, values = msgpack.unpackb(frame)
            expect(seal == bytes([self.plan] * 16), 'a share of another plan')
            expect(len(values) == (8 * D if part == DATA else 0), 'values')
            self.shares[number] = part

    def until(self, what, condition, timeout=20):
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                self.log.seek(0)
                expect(False, f'{what} did not happen; the node says\n' +
                       self.log.read())
            self.step()

    def slice(self, plan, rounds, credit, noise, p):
        self.plan = plan
        self.until('HELLO', lambda: self.hello is not None)
        out = [[1, self.peer_key, self.address(1), .5, noise, p, b'']]
        digest = self.send(SLICE, plan, 0, 2, D, 1.0, -30, 2 ** 50, rounds,
                           credit, bytes([plan] * 16), [0.0, 0.0, 0], out, [])
        self.until('the slice', lambda: self.hello[0] == digest)
        return self.hello

    def run_round(self, plan, number):
        self.send(OPEN, plan, number, 0, 0, 0, 2000, 3000, True)
        self.until(f'round {number}', lambda: number in self.shares and
                   number in self.sums)
        return self.shares[number]

    def stop(self):
        self.node.terminate()
        expect(self.node.wait(15) == 0, 'the node did not stop well')
        self.log.close()

    def close(self):
        if self.node.poll() is None:
            self.node.kill()
            self.node.wait()
        self.router.close()
        self.relay.close()


def play(server, eps, most, K, p):
    """Refused without credit; K rounds with it; then spent."""
    noise = 2 * .5 / calibrate(eps, most, K, p)
    plain = f'to,eps,delta\n0,inf,1\n1,{eps},{most}\n'
    server.start_node(plain)
    server.slice(1, K, True, noise, p)
    expect((0, 10, 1) in server.refusals, f'refusals {server.refusals}')
    expect(server.run_round(1, 1) == TRUST, f'sent {server.shares}')
    server.stop()
    server.hello = None
    server.start_node(f'to,eps,delta,credit\n0,inf,1,none\n1,{eps},{most},'
                      'losses\n')
    hello = server.slice(1, K, True, noise, p)
    left = hello[3]
    # K by the plan; more where rounding K up leaves room, never above delta.
    expect(left >= K and delta(eps, 1 / noise, left, p) <= most * (1 + 1e-6),
           f'{left} rounds left of {K}')
    expect(hello[5] == [[1, left]], f'HELLO names {hello[5]}')
    parts = [server.run_round(1, 2 + k) for k in range(left + 2)]
    expect(parts == [DATA] * left + [SPENT] * 2, f'{parts}')
    # A plan without credit finds the same account: all spent.
    hello = server.slice(2, 1, False, noise, 1.0)
    expect(hello[3] == 0, f'{hello[3]} rounds left without credit')
    server.stop()
    return left


for eps, most, K, p in ((1, 1e-3, 6, .3), (5, 1e-5, 12, .6), (2, 1e-4, 1, .5)):
    folder = tempfile.mkdtemp(prefix='pricer-credit-')
    server = Server(folder)
    try:
        left = play(server, eps, most, K, p)
        alone = 1
        mu = calibrate(eps, most, K, p)
        while delta(eps, mu * math.sqrt(alone + 1), 1, 1) <= most:
            alone += 1
        print(f'eps {eps}, p {p}: planned for {K} rounds, {left} with credit, '
              f'{alone} without')
    finally:
        server.close()
        shutil.rmtree(folder)
