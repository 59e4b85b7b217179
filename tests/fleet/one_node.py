"""A server and a relay written from docs/protocol.md, for one real node."""
import hashlib
import os
import select
import shutil
import tempfile
import time

import msgpack
import numpy as np

from channel import Listener, keygen, z85
from fleet import expect, free_ports, spawn

HELLO, SLICE, OPEN, SHARE, SUM, RESULT, REFUSAL = range(1, 8)
DATA, SPENT, TRUST, LEDGER = 1, 3, 4, 7
D = 4


class Server:
    """One server and one relay, node 1, for the node 0 under test, in a folder of
    its own."""

    def __init__(self, build):
        self.build, self.node = build, None
        self.folder = tempfile.mkdtemp(prefix='pricer-node-')
        self.ports = free_ports(3)
        self.server_key = keygen(build, self.path('server'))
        self.peer_key = keygen(build, self.path('peer'))
        node_key = keygen(build, self.path('key'))
        self.router = Listener(self.address(0), self.path('server'))
        self.relay = Listener(self.address(1), self.path('peer'))
        self.router.admit([node_key])
        self.relay.admit([node_key])
        self.channel, self.hello, self.refusals = None, None, []
        # By round: the part that came and that the node says it
        # sent, its values, and the node's own part.
        self.shares, self.sent, self.values, self.sums = {}, {}, {}, {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def address(self, k):
        return f'tcp://127.0.0.1:{self.ports[k]}'

    def start_node(self, trust, *more, data=(.1,) * D):
        with open(self.path('trust'), 'w') as file:
            file.write(trust)
        np.save(self.path('data.npy'), np.array([data]))
        self.log = open(self.path('log'), 'w+')
        self.node = spawn(
            [self.build + '/pricer-node', '--node', '0', '--key', self.path('key'),
             '--server', self.address(0), '--server-key',
             z85(self.server_key), '--listen', self.address(2), '--trust',
             self.path('trust'), '--ledger', self.path('ledger'),
             '--new-ledger', '--first-seen', '--data',
             self.path('data.npy'), *more], stdout=self.log, stderr=self.log)

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
                self.sent[elements[0]] = elements[3][0] & 15
        for _, frame in self.relay.step():
            _, _, number, seal, part, values = msgpack.unpackb(frame)
            expect(seal == bytes([self.plan] * 16), 'a share of another plan')
            expect(len(values) == (8 * D if part == DATA else 0), 'values')
            self.shares[number] = part
            self.values[number] = values

    def until(self, what, condition, timeout=20):
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                self.log.seek(0)
                expect(False, f'{what} did not happen; the node says\n' +
                       self.log.read())
            self.step()

    def slice(self, plan, rounds, noise, radius=1.0):
        self.plan = plan
        self.until('HELLO', lambda: self.hello is not None)
        out = [[1, self.peer_key, self.address(1), .5, noise, b'']]
        digest = self.send(SLICE, plan, 0, 2, D, radius, -30, 2 ** 50, rounds,
                           bytes([plan] * 16), [0.0, 0.0, 0], out, [])
        self.until('the slice', lambda: self.hello[0] == digest)
        return self.hello

    def open(self, plan, number):
        self.send(OPEN, plan, number, 0, 0, 0, 2000, 3000, True)

    def run_round(self, plan, number):
        """The part that the relay was sent."""
        self.open(plan, number)
        self.until(f'round {number}', lambda: number in self.shares
                   and number in self.sums)
        part = self.shares[number]
        expect(self.sent[number] == part, 'it says what it did not send')
        return part

    def stop(self):
        self.node.terminate()
        expect(self.node.wait(15) == 0, 'the node did not stop well')
        self.log.close()

    def close(self):
        if self.node is not None and self.node.poll() is None:
            self.node.kill()
            self.node.wait()
        self.router.close()
        self.relay.close()
        shutil.rmtree(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
