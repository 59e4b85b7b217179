"""A node written from docs/protocol.md alone, with ssl, msgpack and NumPy.

For tests: its noise is a rounded normal and it keeps no ledger, so it must
not be used for data that is really private. Run: python_node.py NUMBER KEYFILE
SERVER SERVERKEY LISTEN DATA.npy
"""
import hashlib
import random
import select
import socket
import sys
import time

import msgpack
import numpy as np

from channel import Channel, Listener, context, public_key, where

VERSION = 2
HELLO, SLICE, OPEN, SHARE, SUM, RESULT, REFUSAL, MARK = range(1, 9)
DOWN, DATA, PROBE, SPENT, TRUST, LATE, VECTOR, LEDGER = range(8)
NO_END = 2 ** 62 - 1


def halves(parts):
    """Half a byte each, the lower half first."""
    packed = bytearray((len(parts) + 1) // 2)
    for k, part in enumerate(parts):
        packed[k // 2] |= part << 4 * (k % 2)
    return bytes(packed)


class Link:
    """The way to one peer, which is tried again and again."""

    def __init__(self, address, path, key):
        self.address, self.path, self.key = address, path, key
        self.channel, self.next = None, 0

    def files(self):
        return [self.channel] if self.channel else []

    def is_open(self):
        return self.channel is not None and self.channel.open

    def send(self, message):
        if self.is_open():
            self.channel.send(message)

    def step(self):
        try:
            if self.channel is None and time.monotonic() >= self.next:
                self.next = time.monotonic() + random.uniform(.1, .5)
                raw = socket.create_connection(where(self.address), 2)
                self.channel = Channel(raw, context(False, self.path), False)
            if self.channel is None:
                return []
            frames = self.channel.step()
            if self.channel.key not in (None, self.key):
                raise ConnectionError('another key')
            return frames
        except OSError:
            self.close()
            return []

    def close(self):
        if self.channel is not None:
            self.channel.close()
        self.channel = None


class Node:
    def __init__(self, number, path, server, server_key, listen, vector):
        self.number, self.vector, self.path = number, vector, path
        self.listen = listen
        self.server = Link(server, path, server_key)
        self.slice, self.digest, self.announced = None, b'', False
        self.round, self.last, self.state = 0, 0, 'idle'
        self.session = 0
        self.later = {}
        self.inbox, self.admitted = None, {}
        self.peers = {}

    def send(self, link, *elements):
        link.send(msgpack.packb([VERSION, *elements]))

    # --------------------------------------------------------------- slice --
    def hello(self):
        if self.slice and not self.announced:
            self.announced = (time.monotonic() > self.sliced_at + 3 or
                              all(p.is_open() for p in self.peers.values()))
        self.send(self.server, HELLO, self.digest if self.announced else b'',
                  self.last, False, NO_END, NO_END, [], self.session)

    def take_slice(self, frame, elements):
        (plan, node, nodes, dimension, radius, exponent, grid, rounds, seal,
         own, out, into) = elements
        if node != self.number:
            self.send(self.server, REFUSAL, 0, 1, self.number)
            return
        for peer in self.peers.values():
            peer.close()
        self.slice = dict(plan=plan, d=dimension, radius=radius, seal=seal,
                          step=2.0 ** exponent, own=own, out=out, into=into)
        self.admitted = {key: k for k, (_, key, _, _) in enumerate(into)}
        if self.inbox is None:
            self.inbox = Listener(self.listen, self.path)
        self.inbox.admit(self.admitted)
        self.peers = {to: Link(address, self.path, key)
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
        if not self.slice or plan != self.slice['plan'] or \
                number <= self.round:
            return
        now = time.monotonic()
        self.round = self.last = number
        self.share_at = now + share / 1000
        self.send_at = now if early else now + send / 1000
        self.early, self.state = early, 'hold'
        self.heard = set()
        self.parts = [DOWN] * (1 + len(self.slice['into']))
        weight, noise = self.slice['own'][:2]
        self.messages = {to: self.part(w, s) if w or s else None
                         for to, _, _, w, s, *_ in self.slice['out']}
        self.own = self.part(weight, noise)
        self.parts[0] = DATA if weight or noise else PROBE
        self.sum = self.own
        for k in list(self.later):
            at, part, values = self.later[k]
            if at <= self.round:
                del self.later[k]
            if at == self.round:
                self.add(k, part, values)

    def add(self, k, part, values):
        limit, length = self.slice['into'][k][2:]
        if k in self.heard or (len(values) and (
                np.abs(values).max() > limit or
                np.linalg.norm(values.astype(float)) > length * (1 + 1e-9))):
            return
        self.heard.add(k)
        self.parts[k + 1] = part
        if len(values):
            self.sum = self.sum + values

    def take_share(self, sender, frame):
        try:
            version, kind, number, seal, part, values = \
                msgpack.unpackb(frame)
        except ValueError:
            return
        if (version, kind, seal) != (VERSION, SHARE, self.slice['seal']) or \
                sender is None or \
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
                self.send(self.peers[to], SHARE, self.round,
                          self.slice['seal'], part,
                          b'' if values is None else values.tobytes())
            self.state = 'sharing'
        full = self.early and len(self.heard) == len(self.slice['into']) \
            if self.state == 'sharing' else False
        if self.state == 'sharing' and (full or now >= self.share_at):
            sent = [PROBE if values is None else DATA
                    for values in self.messages.values()]
            self.send(self.server, SUM, self.round, self.digest,
                      halves(self.parts), halves(sent),
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
            links = [self.server, *self.peers.values()] + \
                ([self.inbox] if self.inbox else [])
            select.select([f for link in links for f in link.files()], [], [],
                          .005)
            for frame in self.server.step():
                version, kind, *elements = msgpack.unpackb(frame)
                if kind == SLICE:
                    self.take_slice(frame, elements)
                elif kind == MARK:
                    # There is no ledger that could be behind.
                    self.session = elements[1]
                    self.hello()
                elif kind == OPEN:
                    self.take_open(*elements)
            for channel, frame in self.inbox.step() if self.inbox else []:
                self.take_share(self.admitted.get(channel.key), frame)
            for peer in self.peers.values():
                peer.step()
            self.tick()


if __name__ == '__main__':
    number, key, server, server_key, listen, data = sys.argv[1:7]
    Node(int(number), key, server, public_key(server_key), listen,
         np.load(data)[int(number)]).run()
