"""A node written from docs/protocol.md alone, with pyzmq, msgpack and NumPy.

For tests: its noise is a rounded normal and it keeps no ledger, so it must
not be used for data that is really private. Run: python_node.py NUMBER KEYFILE
SERVER SERVERKEY LISTEN DATA.npy
"""
import hashlib
import sys
import time

import msgpack
import numpy as np
import zmq
import zmq.utils.z85

VERSION = 2
HELLO, SLICE, OPEN, SHARE, SUM, RESULT, REFUSAL = range(1, 8)
DOWN, DATA, PROBE, SPENT, TRUST, LATE, VECTOR, LEDGER = range(8)
NO_END = 2 ** 62 - 1


def read_key(path):
    with open(path) as file:
        words = dict(line.split() for line in file)
    return words['public'].encode(), words.get('secret', '').encode()


class Node:
    def __init__(self, number, key, server, server_key, listen, vector):
        self.number, self.vector = number, vector
        self.public, self.secret = key
        self.listen = listen
        self.context = zmq.Context()
        self.start_gate()
        self.server = self.connect(zmq.DEALER, server, server_key)
        self.slice, self.digest, self.announced = None, b'', False
        self.round, self.last, self.state = 0, 0, 'idle'
        self.later = {}
        self.inbox = None
        self.peers = {}

    # ------------------------------------------------------------- sockets --
    def start_gate(self):
        """The ZAP handler: only keys of in-neighbours are admitted."""
        self.gate = self.context.socket(zmq.REP)
        self.gate.bind('inproc://zeromq.zap.01')
        self.admitted = {}

    def serve_gate(self):
        while self.gate.poll(0):
            request = self.gate.recv_multipart()
            key = request[6] if request[5] == b'CURVE' else b''
            good = key in self.admitted
            self.gate.send_multipart(
                [b'1.0', request[1], b'200' if good else b'400', b'',
                 zmq.utils.z85.encode(key) if good else b'', b''])

    def options(self, socket):
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, 8)
        socket.setsockopt(zmq.RCVHWM, 8)
        socket.setsockopt(zmq.HEARTBEAT_IVL, 1000)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 3000)
        socket.curve_secretkey = self.secret
        socket.curve_publickey = self.public

    def connect(self, kind, address, key):
        socket = self.context.socket(kind)
        self.options(socket)
        socket.setsockopt(zmq.IMMEDIATE, 1)
        socket.curve_serverkey = key
        socket.connect(address)
        return socket

    def send(self, socket, *elements):
        try:
            socket.send(msgpack.packb([VERSION, *elements]), zmq.NOBLOCK)
        except zmq.Again:
            pass

    # --------------------------------------------------------------- slice --
    def hello(self):
        if self.slice and not self.announced:
            self.announced = (time.monotonic() > self.sliced_at + 3 or
                              all(p.poll(0, zmq.POLLOUT)
                                  for p in self.peers.values()))
        self.send(self.server, HELLO, self.digest if self.announced else b'',
                  self.last, False, NO_END, NO_END, [])

    def take_slice(self, frame, elements):
        (plan, node, nodes, dimension, radius, exponent, grid, rounds, credit,
         own, out, into) = elements
        if node != self.number:
            self.send(self.server, REFUSAL, 0, 1, self.number)
            return
        for peer in self.peers.values():
            peer.close()
        self.slice = dict(plan=plan, d=dimension, radius=radius,
                          step=2.0 ** exponent, own=own, out=out, into=into)
        self.admitted = {key: k for k, (_, key, _) in enumerate(into)}
        if self.inbox is None:
            self.inbox = self.context.socket(zmq.PULL)
            self.options(self.inbox)
            self.inbox.setsockopt(zmq.MAXMSGSIZE, 2 * (8 * dimension + 4096))
            self.inbox.curve_server = True
            self.inbox.setsockopt(zmq.ZAP_DOMAIN, b'pricer')
            self.inbox.bind(self.listen)
        self.peers = {to: self.connect(zmq.PUSH, address,
                                       zmq.utils.z85.encode(key))
                      for to, key, address, *_ in out}
        self.digest = hashlib.blake2b(frame, digest_size=16).digest()
        self.announced, self.sliced_at = False, time.monotonic()
        self.hello()

    # --------------------------------------------------------------- round --
    def part(self, weight, noise):
        s = self.slice
        x = self.vector * min(1, s['radius'] / np.linalg.norm(self.vector))
        values = np.trunc(weight * x / s['step']).astype('<i8')
        if noise > 0:
            least = max(noise, 2 * weight * s['radius'] / 1984) / s['step']
            deviation = np.sqrt(least ** 2 + 64)
            values += np.rint(np.random.normal(
                scale=deviation, size=s['d'])).astype('<i8')
        return values

    def take_open(self, plan, number, period, ahead, send, share, uplink,
                  early):
        if not self.slice or plan != self.slice['plan'] or number <= self.last:
            return
        now = time.monotonic()
        self.round = self.last = number
        self.share_at = now + share / 1000
        self.send_at = now if early else now + send / 1000
        self.early, self.state = early, 'hold'
        self.heard = set()
        self.parts = [DOWN] * (1 + len(self.slice['into']))
        self.messages = {to: self.part(w, s) if w or s else None
                         for to, _, _, w, s, _ in self.slice['out']}
        weight, noise = self.slice['own'][:2]
        self.parts[0] = DATA if weight or noise else PROBE
        self.sum = self.part(weight, noise)
        for k in list(self.later):
            at, part, values = self.later[k]
            if at <= number:
                del self.later[k]
            if at == number:
                self.add(k, part, values)

    def add(self, k, part, values):
        limit = self.slice['into'][k][2]
        if k in self.heard or (len(values) and np.abs(values).max() > limit):
            return
        self.heard.add(k)
        self.parts[k + 1] = part
        if len(values):
            self.sum = self.sum + values

    def take_share(self, sender, frame):
        try:
            version, kind, number, part, values = msgpack.unpackb(frame)
        except ValueError:
            return
        if (version, kind) != (VERSION, SHARE) or sender is None or \
                not DATA <= part <= LEDGER:
            return
        limit = self.slice['into'][sender][2]
        if len(values) != (8 * self.slice['d'] if part == DATA else 0) or \
                part == (PROBE if limit else DATA):
            return
        values = np.frombuffer(values, '<i8')
        if number > self.round:
            self.later[sender] = (number, part, values)
        elif number == self.round and self.state != 'idle' and \
                time.monotonic() < self.share_at:
            self.add(sender, part, values)

    def tick(self):
        now = time.monotonic()
        if self.state == 'hold' and now >= self.send_at:
            for to, values in self.messages.items():
                part = PROBE if values is None else DATA
                self.send(self.peers[to], SHARE, self.round, part,
                          b'' if values is None else values.tobytes())
            self.state = 'sharing'
        full = self.early and len(self.heard) == len(self.slice['into']) \
            if self.state == 'sharing' else False
        if self.state == 'sharing' and (full or now >= self.share_at):
            parts = bytearray((len(self.parts) + 1) // 2)
            for k, part in enumerate(self.parts):
                parts[k // 2] |= part << 4 * (k % 2)
            self.send(self.server, SUM, self.round, bytes(parts),
                      self.sum.astype('<i8').tobytes())
            self.state = 'idle'

    def run(self):
        greeting = 0
        while True:
            now = time.monotonic()
            waiting = not self.announced
            if now > greeting:
                self.hello()
                greeting = now + (.05 if waiting else 1)
            sockets = [self.gate, self.server] + \
                ([self.inbox] if self.inbox else [])
            zmq.select(sockets, [], [], .005)
            self.serve_gate()
            while self.server.poll(0):
                frame = self.server.recv()
                version, kind, *elements = msgpack.unpackb(frame)
                if kind == SLICE:
                    self.take_slice(frame, elements)
                elif kind == OPEN:
                    self.take_open(*elements)
            while self.inbox and self.inbox.poll(0):
                frame = self.inbox.recv(copy=False)
                key = zmq.utils.z85.decode(frame.get('User-Id').encode())
                self.take_share(self.admitted.get(key), frame.bytes)
            self.tick()


if __name__ == '__main__':
    number, key, server, server_key, listen, data = sys.argv[1:7]
    Node(int(number), read_key(key), server, read_key(server_key)[0], listen,
         np.load(data)[int(number)]).run()
