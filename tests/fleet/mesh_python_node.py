"""A node of a mesh, written from docs/protocol.md and docs/release.md alone, with
ssl, msgpack, NumPy and cryptography. An example for those who write another.

It makes releases of the kind `sphere`, forwards those of others, and passes on what
the server announces. Where the plan has another kind it only relays; trust files with
other rows than `everyone` are refused. It believes the next keys of others in packets;
its own neighbours have the keys of its file. For tests: its sampler is not protected against
observers who measure its time.

    mesh_python_node.py NODE.CONF [--server ADDRESS]

reads the file that `pricer fleet` writes, with paths relative to its folder. Its own
ledger is `python.ledger` there. Every line that it prints is a JSON object.
"""
import argparse
import csv
import json
import math
import os
import random
import select
import socket
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import msgpack
import numpy as np
from cryptography.hazmat.primitives import serialization

from channel import Channel, Listener, context, public_key, where, z85_bytes
from mesh_python_ledger import Ledger
from mesh_python_messages import SPHERE, Packet, Plan, blake, parse, require, verified

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, '..', 'transport'),
             os.path.join(HERE, '..', 'release')]
from reference_packet import packet_key, packet_tag  # noqa: E402
from reference_sample import Law, sample  # noqa: E402

VERSION = 3
PACKETS, ANNOUNCE, HELLO, MARK = 1, 2, 3, 4
FLEET, OPEN, RESULT = 1, 2, 3
BATCH = 40000  # bytes of packets in a frame, where there is more than one


def say(event, **facts):
    print(json.dumps({'event': event, **facts}), flush=True)


# ------------------------------------------------------------- connections --
class Link:
    """A connection that this node makes, again and again. Names are looked up, and
    machines waited for, in a thread."""

    callers = ThreadPoolExecutor(64)

    def __init__(self, address, path, key):
        self.address, self.path, self.key = address, path, key
        self.channel, self.call, self.since = None, None, None
        self.next, self.pause = 0, .1

    def is_open(self):
        return self.channel is not None and self.channel.open

    def step(self):
        """(frames, whether the connection has just opened)"""
        was_open, now = self.is_open(), time.monotonic()
        try:
            if self.channel is None and not self.connected(now):
                return [], False
            frames = self.channel.step()
            if self.channel.key not in (None, self.key):
                raise ConnectionError('another key')
        except OSError:
            self.fail(now)
            return [], False
        opened = self.is_open() and not was_open
        if opened:
            self.since = now
        return frames, opened

    def connected(self, now):
        """Whether TCP is; then there is a channel, whose handshake begins."""
        if self.call is None and now >= self.next:
            self.call = self.callers.submit(socket.create_connection,
                                            where(self.address), 5)
        if self.call is None or not self.call.done():
            return False
        call, self.call = self.call, None
        self.channel = Channel(call.result(), context(False, self.path), False)
        return True

    def fail(self, now):
        if self.channel is not None:
            self.channel.close()
        if self.since is not None and now > self.since + 2:
            self.pause = .1
        self.next = now + self.pause * random.uniform(.5, 1)
        self.pause = min(3, 2 * self.pause)
        self.channel = self.since = None


class Neighbour:
    def __init__(self, number, key, link):
        self.number, self.key, self.link = number, key, link
        self.accepted = None      # the connection that the neighbour has made
        self.direct = False       # hears the server itself
        self.mute_until = 0       # after a wrong signature
        self.answered = []        # when announcements were sent for a HELLO

    def channels(self):
        """Open connections, the preferred one first."""
        mine = [self.link.channel] if self.link and self.link.is_open() else []
        return mine + ([self.accepted] if self.accepted else [])


# -------------------------------------------------------------------- node --
class Node:
    def __init__(self, options):
        self.number, path = options['node'], options['key']
        with open(path, 'rb') as file:
            text = file.read()
        self.secret = serialization.load_pem_private_key(
            text[text.index(b'-----BEGIN'):], None)
        raw = self.secret.private_bytes(
            serialization.Encoding.Raw, serialization.PrivateFormat.Raw,
            serialization.NoEncryption())
        self.public = public_key(path)
        self.server_key = public_key(options['server-key'])
        self.tag_key = packet_key(raw, self.server_key, self.public,
                                  self.server_key)
        self.study = blake(self.server_key, 16)
        self.vector = np.load(options['data'])[options['row']]
        self.ledger = Ledger(options['ledger'], *read_trust(options['trust']))
        self.server = Link(options['server'], path, self.server_key)
        self.neighbours = {
            number: Neighbour(number, key,
                              Link(address, path, key) if address else None)
            for number, key, address in read_neighbours(options['neighbours'])}
        self.listener = Listener(options['listen'], path)
        self.listener.admit([n.key for n in self.neighbours.values()])
        self.started = time.monotonic()
        self.first_last = self.ledger.last()  # the ledger's last round at the start
        self.marked = self.behind = False
        self.said = {}            # kind -> (counter, body, signature)
        self.plan = self.law = None
        self.cost = None          # (eps, delta) of an entry of this plan
        self.round, self.attempt = 0, 0
        self.open = None          # the OPEN that the clock goes by
        self.pending_until = 0    # a release of the round is still to be made
        self.reference = 0, bytes(16)  # of the round: its number and digest
        self.begun = False        # a round of this plan has
        self.missed = 0           # the latest round to come of which one was dropped
        self.held = {}            # round -> node -> Packet; None: only forgeries
        self.taken = {}           # (round, neighbour) -> packets that came
        self.checks = {}          # (round, node, neighbour) -> signatures checked
        self.tokens, self.filled = 2., self.started
        self.greeted = {}

    # ------------------------------------------------------------ sending --
    def send(self, channel, message):
        """What does not fit into a queue of 1 MiB is lost."""
        if channel is not None and channel.open and len(channel.output) < 1 << 20:
            channel.send(msgpack.packb(message))

    def send_to(self, neighbour, message):
        channels = neighbour.channels()
        self.send(channels[0] if channels else None, message)

    def send_packets(self, to, attempt, packets):
        """Packets of the round as they are passed on in an attempt, to a neighbour or
        (None) the server, in frames that the receiver takes."""
        channel = self.server.channel if to is None else to.channels()[0]
        batch, size = [], 0
        for packet in packets:
            hops = packet.hops_in(attempt)
            if hops is None or to is not None and (
                    hops + 1 > self.plan.hops or packet.node == to.number):
                continue
            length = len(packet.payload) + 128
            if batch and size + length > BATCH:
                self.send(channel, [VERSION, PACKETS, self.round, attempt, batch])
                batch, size = [], 0
            batch.append([packet.node, packet.kind, hops + (to is not None),
                          packet.payload, packet.tag, packet.signature])
            size += length
        if batch:
            self.send(channel, [VERSION, PACKETS, self.round, attempt, batch])

    def forward(self, packets, attempt, but=None):
        """Pass packets of the round on, in this attempt and those after it, to the
        server and to all neighbours but one."""
        receivers = [None] if self.server.is_open() else []
        receivers += [n for n in self.neighbours.values()
                      if n.number != but and n.channels()]
        for to in receivers:
            for later in range(attempt, self.attempt + 1):
                self.send_packets(to, later, packets)

    def hello(self, asks=False):
        """With `asks`, as if this node had no OPEN: packets come with it."""
        counters = [self.said.get(kind, (0,))[0] for kind in (FLEET, OPEN, RESULT)]
        counters[1] *= not asks
        left = self.ledger.left(self.law, self.plan.rounds, *self.cost) \
            if self.law else 0
        return [VERSION, HELLO, *counters, self.ledger.last(), left, False,
                self.law is None, self.server.is_open()]

    def greet(self):
        """HELLO to those whose time has come: the server every second, neighbours
        every ten seconds and when `direct` changes."""
        now, direct = time.monotonic(), self.server.is_open()
        if direct and now >= self.greeted.get('server', 0) + 1:
            self.greeted['server'] = now
            self.send(self.server.channel, self.hello())
        for number, neighbour in self.neighbours.items():
            at, was = self.greeted.get(number, (-math.inf, None))
            if neighbour.channels() and (now >= at + 10 or was != direct):
                self.greeted[number] = now, direct
                self.send_to(neighbour, self.hello())

    def opened(self, channel, neighbour):
        """A connection to a neighbour or (None) the server opens: HELLO, and all
        packets of the round once more."""
        self.send(channel, self.hello())
        if neighbour is not None:
            neighbour.direct = False
        if self.begun:
            self.send_packets(neighbour, self.attempt, self.packets())

    # ------------------------------------------------------ announcements --
    def take_announcement(self, who, body, signature):
        neighbour = self.neighbours.get(who)
        if neighbour and time.monotonic() < neighbour.mute_until:
            return
        counter, kind, *_ = parse(body, 'uint', 'uint')
        differs = any(counter == other[0] and body != other[1]
                      for other in self.said.values())
        old = kind not in (FLEET, OPEN, RESULT) or \
            counter <= self.said.get(kind, (0,))[0] or \
            (kind == OPEN and counter < self.first_last << 20)
        if old and not differs:
            return
        if not verified(self.server_key, signature,
                        blake(body, 32, b'pricer: announcement')):
            say('wrong announcement', neighbour=who)
            if neighbour:
                neighbour.mute_until = time.monotonic() + 1
            return
        if differs:
            say('two announcements', counter=counter)
            return
        self.said[kind] = counter, body, signature
        for other in self.neighbours.values():
            if other.number != who and not other.direct:
                self.send_to(other, [VERSION, ANNOUNCE, body, signature])
        if kind == FLEET:
            self.take_fleet(body)
        elif kind == OPEN:
            self.take_open(body)

    def answer(self, who, channel, counters):
        """Announcements that are later than those of a HELLO, twice a second."""
        now, neighbour = time.monotonic(), self.neighbours.get(who)
        if neighbour is None:
            return
        neighbour.answered = [t for t in neighbour.answered if now < t + 1]
        if len(neighbour.answered) >= 2:
            return
        later = [self.said[kind] for kind, counter in
                 zip((FLEET, OPEN, RESULT), counters)
                 if self.said.get(kind, (0,))[0] > counter]
        if later:
            neighbour.answered.append(now)
        for _, body, signature in later:
            self.send(channel, [VERSION, ANNOUNCE, body, signature])
        if self.begun and self.said.get(OPEN) in later:
            self.send_packets(neighbour, self.attempt, self.packets())

    def take_fleet(self, body):
        _, _, _, plan, keys, follows = require(
            msgpack.unpackb(body), 'uint', 'uint', 'bool', 'bin', 'bin', 'bin')
        known, self.plan = self.plan, Plan(plan, keys, follows)
        if known is not None and known.digest == self.plan.digest:
            return  # other keys
        self.held, self.begun, self.missed, self.open = {}, False, 0, None
        self.law = self.believe(self.plan)
        say('fleet', plan=self.plan.number, nodes=self.plan.nodes,
            releases=self.law is not None)
        if OPEN in self.said:
            self.take_open(self.said[OPEN][1])

    def believe(self, plan):
        """The law of this node's release, or None where it releases nothing: it
        computes itself what the plan's rounds cost, (T rounds of the loss, 0) or
        what the plan says."""
        if self.behind or self.number >= plan.nodes:
            return None
        kind, radius, t, e0, _, eps, delta = plan.release(self.number)
        if kind != SPHERE or not radius > 0 or \
                len(self.vector) != plan.dimension or plan.rounds > 10000:
            return None
        try:
            law = Law(plan.dimension, t, e0)
        except ValueError:
            return None
        pure = plan.rounds * (e0 + law.charge) * (1 + 1e-15)
        self.cost = (pure, 0) if pure <= eps else (eps, delta)
        if pure > eps and law.delta(eps, plan.rounds) > delta:
            say('refused', why='the plan costs more than it says')
            return None
        if not self.ledger.entry(law) and not self.ledger.has_budget(*self.cost):
            say('refused', why='the trust file has less')
            return None
        return law

    # -------------------------------------------------------------- rounds --
    def take_open(self, body):
        (_, _, digest, round_, attempt, period, ahead, collect, *reference) = \
            require(msgpack.unpackb(body), 'uint', 'uint', 16, 'uint', 'uint',
                    'uint', 'uint', 'uint', 'uint', 16)
        if self.plan is None or digest != self.plan.digest or \
                attempt >= self.plan.repeat:
            return
        now = time.monotonic()
        if attempt == 0 or period == 0 or self.open is None:
            self.open = dict(round=round_, at=now, period=period / 1000,
                             ahead=ahead, collect=collect / 1000)
        if (round_, attempt) > (self.round, self.attempt):
            self.reference = tuple(reference)
            self.begin(round_, attempt, now)

    def by_clock(self):
        """Open the round that is due and was not heard of, a quarter of `collect`
        later; one that is over already is left out."""
        if self.open is None or self.open['period'] == 0:
            return
        late = time.monotonic() - self.open['at'] - self.open['collect'] / 4
        k = math.floor(late / self.open['period'])
        due = self.open['at'] + k * self.open['period']
        if 1 <= k <= self.open['ahead'] and \
                self.open['round'] + k > self.round and \
                time.monotonic() < due + self.open['collect']:
            say('clock', round=self.open['round'] + k)
            self.reference = 0, bytes(16)
            self.begin(self.open['round'] + k, 0, due)

    def begin(self, round_, attempt, start):
        new = round_ != self.round or not self.begun
        if new and self.missed >= round_:   # ask for those that came before
            for neighbour in self.neighbours.values():
                self.send_to(neighbour, self.hello(asks=True))
        if new:
            self.close_round()
            self.held = {r: p for r, p in self.held.items() if r >= round_}
            self.missed = 0
            for counts in (self.taken, self.checks):
                for key in [k for k in counts if k[0] < round_]:
                    del counts[key]
        self.round, self.attempt, self.begun = round_, attempt, True
        self.pending_until = start + self.open['collect']
        self.held.setdefault(round_, {})
        self.release()
        self.forward(self.packets(), 0 if new else attempt)

    def close_round(self):
        if self.begun:
            say('round', round=self.round, packets={
                p.node: p.payload.hex() for p in self.packets()})

    def find_data(self):
        """The vector of the round, clipped to the reach and less the estimate that
        the round is relative to; None if that is not here."""
        reach, (round_, digest) = self.plan.reach, self.reference
        if reach == 0:
            return self.vector
        data = self.vector * min(1, reach / max(reach,
                                                np.linalg.norm(self.vector)))
        if round_ == 0:
            return data
        if RESULT not in self.said:
            return None
        _, _, known, _, _, estimate = require(
            msgpack.unpackb(self.said[RESULT][1]), 'uint', 'uint', 'uint', 'uint',
            'f64', 'bin')
        if known != round_ or blake(estimate, 16) != digest or \
                len(estimate) != 8 * self.plan.dimension:
            return None
        estimate = np.frombuffer(estimate, '<f8')
        return data - estimate \
            if np.linalg.norm(estimate) <= reach * (1 + 1e-9) else None

    def may_release(self):
        now = time.monotonic()
        if self.law is None or now > self.pending_until or \
                self.find_data() is None or \
                (not self.marked and now < self.started + 2):
            return False
        period = self.open['period']
        self.tokens = 2. if not period else min(
            2., self.tokens + (now - self.filled) / period)
        self.filled = now
        return self.tokens >= 1

    def release(self):
        """Make the release of this round, or take the one that was made: never a
        second one. It goes to `held`; None if there is none now."""
        held = self.held[self.round]
        if self.number in held:
            return None
        stored = self.ledger.stored(self.round, self.plan.digest)
        if stored is None and self.round > self.ledger.last() and \
                self.may_release():
            stored = self.make_release()
        if stored is None:
            return None
        packet = Packet(self.number, SPHERE, *stored)
        packet.shorten(self.attempt, 0)
        held[self.number] = packet
        return packet

    def make_release(self):
        radius = self.plan.release(self.number)[1]
        payload = sample(self.law, self.find_data(), radius)
        if payload is None:
            return None
        digest = self.plan.digest
        tag = packet_tag(self.tag_key, self.study, digest, self.reference[0],
                         self.number, self.round, SPHERE, payload)
        packet = Packet(self.number, SPHERE, payload, tag, b'')
        packet.signature = self.secret.sign(packet.text(digest, self.round))
        try:
            charged = self.ledger.charge(self.round, digest, self.law,
                                         self.plan.rounds, *self.cost, packet)
        except sqlite3.Error as error:
            say('ledger', error=str(error))
            return None
        if not charged:
            return None
        self.tokens -= 1
        say('release', round=self.round, payload=payload.hex())
        return payload, tag, packet.signature

    # ------------------------------------------------------------- packets --
    def packets(self):
        """Those of the round."""
        return [p for p in self.held[self.round].values() if p is not None]

    def shelf(self, round_):
        """The packets of a round, if they are kept: of the round that is open, of the
        next, and of the latest that was heard of."""
        near = (self.round, self.round + 1) if self.begun else ()
        latest = max((r for r in self.held if r not in near), default=0)
        if round_ in near or round_ == latest:
            return self.held.setdefault(round_, {})
        if self.begun and round_ < self.round:
            return None
        self.missed = max(self.missed, min(round_, latest))
        if round_ < latest:
            return None
        self.held.pop(latest, None)
        return self.held.setdefault(round_, {})

    def take_packets(self, who, round_, attempt, packets):
        """Keep what is new and pass it on."""
        if self.plan is None or who == 'server' or attempt >= self.plan.repeat:
            return
        shelf, fresh = self.shelf(round_), []
        most = (self.plan.hops + 3) * self.plan.nodes * self.plan.repeat
        for elements in packets if shelf is not None else []:
            node, kind, hops, payload, tag, signature = require(
                elements, 'uint', 'uint', 'uint', 'bin', 16, 64)
            packet = Packet(node, kind, payload, tag, signature)
            count = self.taken.get((round_, who), 0) + 1
            self.taken[round_, who] = count
            if count <= most and 1 <= hops <= self.plan.hops and \
                    node != self.number and self.plan.has(packet) and \
                    self.keep(shelf, who, round_, packet):
                if shelf[node].shorten(attempt, hops):
                    fresh.append(shelf[node])
        if fresh and self.begun and round_ == self.round:
            self.forward(fresh, attempt, but=who)

    def keep(self, shelf, who, round_, packet):
        """Whether a packet is held now. Where copies differ, those with a wrong
        signature are dropped, and from then on (None is held, or one that is right)
        signatures decide."""
        node = packet.node
        known = shelf.get(node)
        if known is None and node not in shelf:
            shelf[node] = packet
            return True
        if known is not None and known.same(packet):
            return True
        if known is not None and known.right or \
                self.too_many_checks(round_, node, who):
            return False
        if known is not None and self.signed(round_, known):
            known.right = True
            return False
        packet.right = self.signed(round_, packet)
        shelf[node] = packet if packet.right else None
        say('forged', round=round_, node=node, replaced=packet.right)
        return packet.right

    def signed(self, round_, packet):
        text = packet.text(self.plan.digest, round_)
        return any(verified(key, packet.signature, text)
                   for key in self.plan.keys[packet.node])

    def too_many_checks(self, round_, node, who):
        count = self.checks.get((round_, node, who), 0)
        self.checks[round_, node, who] = count + 1
        return count >= 8

    # ----------------------------------------------------------- the loop --
    def take(self, who, channel, frame):
        version, kind, *elements = parse(frame, 'uint', 'uint')
        if version != VERSION:
            return
        if kind == PACKETS:
            round_, attempt, packets = require(elements, 'uint', 'uint', 'list')
            if 1 <= len(packets) <= 65535:
                self.take_packets(who, round_, attempt, packets)
        elif kind == ANNOUNCE:
            self.take_announcement(who, *require(elements, 'bin', 64))
        elif kind == HELLO:
            *counters, _, _, _, _, direct = require(
                elements, 'uint', 'uint', 'uint', 'uint', 'uint', 'bool', 'bool',
                'bool')
            if who in self.neighbours:
                self.neighbours[who].direct = direct
            self.answer(who, channel, counters)
        elif kind == MARK and who == 'server':
            self.take_mark(*require(elements, 'uint'))

    def take_mark(self, last):
        """The server has releases of this key that the ledger does not know."""
        self.marked = True
        charged = self.ledger.db.execute(
            'SELECT count(*) FROM release WHERE round > ? AND round <= ?',
            (self.first_last, last)).fetchone()[0]
        if last > self.first_last and charged == 0:
            self.behind, self.law = True, None
            say('behind', last=last)

    def listen(self, who, link):
        frames, opened = link.step()
        if opened:
            say('connected', to=who)
            self.opened(link.channel, self.neighbours.get(who))
            self.greeted.pop(who, None)
        return [(who, link.channel, frame) for frame in frames]

    def longest(self):
        """The longest frame that a neighbour may send."""
        body = self.said.get(FLEET, (0, b''))[1]
        dimension = self.plan.dimension if self.plan else 0
        return max(8 << 20, 8 * dimension + 53248, 2 * len(body))

    def accept(self):
        longest = self.longest()
        for channel in self.listener.channels + [
                c for n in self.neighbours.values() for c in n.channels()]:
            channel.longest = longest
        frames = self.listener.step()
        by_key = {c.key: c for c in self.listener.channels if c.open}
        for neighbour in self.neighbours.values():
            channel = by_key.get(neighbour.key)
            if channel is not neighbour.accepted:
                neighbour.accepted = channel
                if channel is not None:
                    self.opened(channel, neighbour)
        numbers = {n.key: n.number for n in self.neighbours.values()}
        return [(numbers[channel.key], channel, frame)
                for channel, frame in frames]

    def step(self):
        got = self.listen('server', self.server)
        for number, neighbour in self.neighbours.items():
            if neighbour.link:
                got += self.listen(number, neighbour.link)
        got += self.accept()
        for who, channel, frame in got:
            try:
                self.take(who, channel, frame)
            except ValueError as error:
                say('dropped', sender=who, why=str(error))
        self.greet()
        self.by_clock()
        if self.begun and time.monotonic() < self.pending_until:
            packet = self.release()
            if packet is not None:
                self.forward([packet], self.attempt)

    def run(self):
        while True:
            links = [self.server] + [n.link for n in self.neighbours.values()
                                     if n.link]
            files = [link.channel for link in links if link.channel]
            select.select(files + self.listener.files(), [], [], .005)
            self.step()


# ------------------------------------------------------------------- files --
def read_rows(path):
    with open(path, newline='') as file:
        return list(csv.DictReader(line for line in file
                                   if line.strip() and line[0] != '#'))


def read_trust(path):
    """eps and delta of the row `everyone`."""
    rows = read_rows(path)
    if [row['to'] for row in rows] != ['everyone']:
        sys.exit(f'{path}: this node knows the row everyone only')
    return float(rows[0]['eps']), float(rows[0]['delta'])


def read_neighbours(path):
    return [(int(row['node']), z85_bytes(row['key']), row['address'])
            for row in read_rows(path)]


def read_options(path):
    options = {'row': 0}
    with open(path) as file:
        for line in file:
            words = line.split(maxsplit=1)
            if words and words[0][0] != '#':
                options[words[0]] = words[1].strip()
    folder = os.path.dirname(os.path.abspath(path))
    options['ledger'] = 'python.ledger'
    for name in ('key', 'server-key', 'neighbours', 'trust', 'ledger', 'data'):
        options[name] = os.path.join(folder, options[name])
    options['node'], options['row'] = int(options['node']), int(options['row'])
    return options


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('config')
    parser.add_argument('--server')
    arguments = parser.parse_args()
    options = read_options(arguments.config)
    options['server'] = arguments.server or options['server']
    Node(options).run()


if __name__ == '__main__':
    main()
