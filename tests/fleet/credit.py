"""A plan that counts on losses, at a real node: a server written from
docs/protocol.md hands out slices and opens rounds. Without a word in the trust
file the node sends no data; with it, the ledger charges by the plan's own rule
and the planned rounds fit. Arguments: build folder."""
import hashlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

import msgpack
import numpy as np
import zmq
import zmq.utils.z85

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
        self.context = zmq.Context()
        self.server_key, self.peer_key = zmq.curve_keypair(), zmq.curve_keypair()
        self.ports = free_ports(3)
        self.gate = self.context.socket(zmq.REP)
        self.gate.bind('inproc://zeromq.zap.01')
        self.router = self.bind(zmq.ROUTER, self.ports[0], self.server_key)
        self.relay = self.bind(zmq.PULL, self.ports[1], self.peer_key)
        self.folder = folder
        self.routing, self.hello, self.refusals = None, None, []
        self.shares, self.sums = {}, {}

    def bind(self, kind, port, pair):
        s = self.context.socket(kind)
        s.setsockopt(zmq.LINGER, 0)
        s.curve_publickey, s.curve_secretkey = pair
        s.curve_server = True
        s.zap_domain = b'pricer'
        s.bind(f'tcp://127.0.0.1:{self.ports[0] if kind == zmq.ROUTER else port}')
        return s

    def start_node(self, trust):
        path = os.path.join(self.folder, 'key')
        if not os.path.exists(path):
            subprocess.run([build + '/pricer', 'keygen', path], check=True,
                           capture_output=True)
        with open(os.path.join(self.folder, 'trust'), 'w') as file:
            file.write(trust)
        np.save(os.path.join(self.folder, 'data.npy'), np.full((1, D), .1))
        self.log = open(os.path.join(self.folder, 'log'), 'w+')
        self.node = subprocess.Popen(
            [build + '/pricer-node', '--node', '0', '--key', path, '--server',
             f'tcp://127.0.0.1:{self.ports[0]}', '--server-key',
             self.server_key[0].decode(), '--listen',
             f'tcp://127.0.0.1:{self.ports[2]}', '--trust',
             os.path.join(self.folder, 'trust'), '--ledger',
             os.path.join(self.folder, 'ledger'), '--data',
             os.path.join(self.folder, 'data.npy')], stdout=self.log,
            stderr=self.log)

    def send(self, *elements):
        frame = msgpack.packb([2, *elements])
        self.router.send_multipart([self.routing, frame])
        return hashlib.blake2b(frame, digest_size=16).digest()

    def step(self):
        zmq.select([self.gate, self.router, self.relay], [], [], .02)
        while self.gate.poll(0):
            request = self.gate.recv_multipart()
            self.gate.send_multipart([b'1.0', request[1], b'200', b'', b'node',
                                      b''])
        while self.router.poll(0):
            self.routing, frame = self.router.recv_multipart()
            version, kind, *elements = msgpack.unpackb(frame)
            expect(version == 2, f'version {version}')
            if kind == HELLO:
                self.hello = elements
            elif kind == REFUSAL:
                expect(len(elements) == 3, f'a refusal says {elements}')
                self.refusals.append(tuple(elements))
            elif kind == SUM:
                self.sums[elements[0]] = elements[1][0] & 15
        while self.relay.poll(0):
            _, kind, number, part, values = msgpack.unpackb(self.relay.recv())
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
        self.until('HELLO', lambda: self.hello is not None)
        out = [[1, zmq.utils.z85.decode(self.peer_key[0]),
                f'tcp://127.0.0.1:{self.ports[1]}', .5, noise, p]]
        digest = self.send(SLICE, plan, 0, 2, D, 1.0, -30, 2 ** 50, rounds,
                           credit, [0.0, 0.0, 0], out, [])
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
        self.context.destroy(linger=0)


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
