"""What the node in Python (mesh_python_node.py) reads from messages, by section 11 of
docs/protocol.md: elements of the right types, plans, packets and signatures."""
import hashlib
import math

import msgpack
import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SPHERE = 1


def blake(data, size, key=b''):
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


def fits(value, kind):
    """Whether a value is what docs/protocol.md calls `uint`, `bool`, `f64`, `bin`
    (of some length if `kind` is a number), or a list."""
    if kind == 'uint':
        return type(value) is int and 0 <= value < 2 ** 62
    if kind == 'bin':
        return type(value) is bytes
    if kind == 'f64':
        return type(value) is float and math.isfinite(value)
    if kind == 'bool':
        return type(value) is bool
    if kind == 'list':
        return type(value) is list
    return type(value) is bytes and len(value) == kind


def parse(data, *kinds):
    """The elements of a MessagePack array that begins with these kinds; ValueError
    for anything else."""
    try:
        elements = msgpack.unpackb(data)
    except Exception as error:
        raise ValueError('no MessagePack') from error
    return require(elements, *kinds, more=True)


def require(elements, *kinds, more=False):
    if type(elements) is not list or len(elements) < len(kinds) or \
            (len(elements) > len(kinds) and not more) or \
            not all(fits(e, kind) for e, kind in zip(elements, kinds)):
        raise ValueError('other elements than the message has')
    return elements


def verified(key, signature, text):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
        return True
    except (InvalidSignature, ValueError):
        return False


class Plan:
    """The body of FLEET."""

    def __init__(self, body, keys, follows):
        (self.number, _, self.nodes, self.dimension, self.rounds, self.repeat,
         self.hops, self.reach, releases, of) = require(
            msgpack.unpackb(body), 'uint', 'uint', 'uint', 'uint', 'uint', 'uint',
            'uint', 'f64', 'list', 'bin')
        if len(of) != 2 * self.nodes or len(keys) != 32 * self.nodes or \
                not 1 <= self.nodes <= 10 ** 6 or self.hops > 30 or \
                not 1 <= self.repeat <= 64 or not 1 <= self.rounds:
            raise ValueError('a plan out of range')
        self.releases = [require(r, 'uint', *['f64'] * 6) for r in releases]
        self.of = np.frombuffer(of, '<u2')
        if len(self.of) and self.of.max() >= len(self.releases):
            raise ValueError('a release that the plan does not have')
        if len(follows) % 132:
            raise ValueError('keys that follow, not whole')
        self.keys = [{keys[32 * i:32 * i + 32]} for i in range(self.nodes)]
        for at in range(0, len(follows), 132):
            node = int.from_bytes(follows[at:at + 4], 'little')
            old, key = follows[at + 4:at + 36], follows[at + 36:at + 68]
            if node >= self.nodes:
                raise ValueError('a key of nobody')
            if old in self.keys[node]:  # both count until the old one is retired
                self.keys[node].add(key)
        self.digest = blake(body, 16)

    def release(self, node):
        return self.releases[self.of[node]]

    def has(self, packet):
        """Whether a packet is of a node that takes part, and of the kind and length
        of its release."""
        return packet.node < self.nodes and any(map(any, self.keys[packet.node])) and \
            packet.kind == self.release(packet.node)[0] and len(packet.payload) \
            == (16 if packet.kind == SPHERE else 4 * self.dimension)


class Packet:
    """A node's packet of a round; `hops` has the fewest links of the copies that
    came in each attempt, `right` says that the signature was checked."""

    def __init__(self, node, kind, payload, tag, signature):
        self.node, self.kind = node, kind
        self.payload, self.tag, self.signature = payload, tag, signature
        self.hops, self.right = {}, False

    def shorten(self, attempt, hops):
        """A copy came; whether no other one was as short."""
        old = self.hops_in(attempt)
        if old is not None and old <= hops:
            return False
        self.hops[attempt] = hops
        return True

    def hops_in(self, attempt):
        """The fewest of copies that came in this attempt or earlier."""
        return min((h for a, h in self.hops.items() if a <= attempt),
                   default=None)

    def same(self, other):
        return (self.kind, self.payload, self.tag, self.signature) == \
            (other.kind, other.payload, other.tag, other.signature)

    def text(self, digest, round_):
        """What is signed."""
        low = lambda n: n.to_bytes(8, 'little')
        inner = blake(digest + low(round_) + low(self.node) + low(self.kind) +
                      self.tag + self.payload, 32)
        return blake(inner, 32, b'pricer: signature of packets')
