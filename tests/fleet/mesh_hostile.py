"""Relays of a mesh that lie, flood and replay, and peers that are not enrolled.
Nobody ends, logs and memory stay bounded, what honest nodes release arrives all the
same, and an enrolled liar moves an estimate by no more than one node can: 2 c R /
(n m) for a sphere, 2 c L / n for a Gaussian of length L. Arguments: build folder,
frames, milliseconds of a round; by default a size for every check. The size that
was asked for, on a build with sanitizers:

    tests/fleet/mesh_hostile.py build-asan 1000000 3000
"""
import math
import os
import random
import subprocess
import sys
import time

import msgpack
import numpy as np

from fleet import expect
from mesh_fleet import (ANNOUNCE, FLEET, HELLO, MARK, OPEN, PACKETS, Mesh,
                        Peer)

# A sanitizer keeps what is freed; here memory is measured.
os.environ.setdefault('ASAN_OPTIONS', 'quarantine_size_mb=4')
build = sys.argv[1]
FRAMES, PERIOD = [int(word) for word in sys.argv[2:4]] \
    if len(sys.argv) > 3 else [10000, 1500]
HOPS, N, LIAR, PEST = 3, 4, 3, 4
GROWTH, LOG = 100, 50000     # MiB, of which a sanitizer needs most, and bytes
NODES = range(N - 1)
# A line 0 - 1 - 2 of which 0 has the uplink; the liar is next to all of them.
LINKS = [(0, 1), (1, 2), (0, 3), (1, 3), (2, 3)]
UPLINK = [1, 0, 0, 1]


def flip(data):
    return bytes([data[0] ^ 1]) + data[1:]


class Liar(Peer):
    def __init__(self, mesh):
        super().__init__(mesh, LIAR)
        self.old, self.round, self.forged = [], 0, 0

    def everyone(self):
        return ['server', *self.near]

    def forge(self, round_):
        """The first packets of a round that anybody has not made."""
        for k in range(3):
            packets = [[i, 1, 1 + (i + k) % HOPS, os.urandom(16), os.urandom(16),
                        os.urandom(64)] for i in NODES]
            for who in self.everyone():
                self.send(who, [3, PACKETS, round_, 0, packets])
            self.forged += len(packets)

    def twist(self, round_, node):
        """Copies of a true packet that are not quite it."""
        payload, tag, signature, kind = next(iter(self.seen[round_, node]))
        packets = [[node, kind, hops, payload, tag, signature] for hops in
                   (HOPS, HOPS)]
        packets += [[node, kind, 1, flip(payload), tag, signature],
                    [node, kind, 1, payload, flip(tag), signature],
                    [node, kind, 1, payload, tag, flip(signature)],
                    [node, 2, 1, payload, tag, signature],
                    [node, kind, 1, payload + b'x', tag, signature]]
        for who in self.everyone():
            self.send(who, [3, PACKETS, round_, 0, packets])
            # the same for another round, which the tag does not allow
            self.send(who, [3, PACKETS, round_ + 1, 0, packets[:1]])

    def babble(self):
        """Announcements that the server has not signed, old ones, and no messages."""
        for frame in self.frames.values():
            message = msgpack.unpackb(frame)
            body = msgpack.unpackb(message[2])
            body[0] += 1 << 40
            lie = [3, ANNOUNCE, msgpack.packb(body), message[3]]
            for who in self.near:
                for _ in range(20):
                    self.send(who, lie)
                    self.send(who, [3, HELLO, 0, 0, 0, 0, 0, True, True, False])
                for old in self.old[-40:]:
                    self.send(who, old)
        for who in self.everyone():
            self.send(who, os.urandom(40))
            self.send(who, [3, 9])
            self.send(who, [3, PACKETS, 1 << 61, 63, []])

    def take(self, who, message, frame):
        before = self.said.get(OPEN, [0] * 4)[3]
        super().take(who, message, frame)
        if message[1] == ANNOUNCE:
            self.old.append(frame)
        opened = self.said.get(OPEN, [0] * 4)[3]
        if opened > before and self.digest:
            self.round = opened
            self.send('server', [3, PACKETS, opened, 0, [
                [2, 1, 0, bytes(16), bytes(16), bytes(64)]]])
            self.forge(opened + 1)  # the next round's come first everywhere
            self.babble()
            mine = self.packet(opened, os.urandom(16), 0)
            other = self.packet(opened, os.urandom(16), 0)
            self.send('server', [3, PACKETS, opened, 0, [mine]])
            self.send('server', [3, PACKETS, opened, 0, [other]])
        if message[1] == PACKETS:
            for packet in message[4]:
                if packet[0] != LIAR:
                    self.twist(message[2], packet[0])


def check_lies(keys=''):
    with Mesh(build, N, LINKS, UPLINK, hops=HOPS, keys=keys) as mesh:
        liar = Liar(mesh)
        liar.forged = 0
        mesh.start_server(period=700)
        for i in NODES:
            mesh.start_node(i)
        liar.run(60, until=lambda: mesh.rounds() >= 9)
        expect(mesh.rounds() >= 9, mesh.log('server'))
        # Nodes without a server release nothing in their first 2 s.
        arrivals = mesh.arrivals(5)
        for r, heard in arrivals.items():
            expect({0, 1, 2} <= set(heard), f'round {r}: only {heard}')
        for (r, i), variants in liar.seen.items():
            true = [v for v in variants if i in NODES]
            expect(len(true) <= 3, f'packet {r}, {i}: {len(true)} variants')
        for i in NODES:
            expect('has not signed' in mesh.log(f'node{i}'), mesh.log(f'node{i}'))
            expect(mesh.processes[f'node{i}'].poll() is None, f'node {i} ended')
        drops = mesh.dropped()
        expect(drops.get('plan', 0) > 0, drops)
        print(f'{len(arrivals)} rounds, {liar.forged} forgeries that came first '
              f'and more: everyone honest arrived in each; dropped {drops}')
        liar.close()


class Flood(Liar):
    """Also sends frames of every kind, as fast as limits allow, over all
    connections of both directions."""
    RATE = 8000     # frames a second and connection: more would end it
    SOME = 100      # at once

    def __init__(self, mesh, frames):
        super().__init__(mesh)
        self.left, self.sent, self.rate = frames, 0, {}
        self.random, self.heard = random.Random(frames), []

    def take(self, who, message, frame):
        super().take(who, message, frame)
        self.heard = self.heard[-300:] + [frame]

    def make(self):
        """One message of this protocol, more or less."""
        draw = self.random
        round_ = self.round + draw.choice([-1, 0, 0, 0, 1, 2, 1 << 40])
        kind = draw.randrange(8)
        if kind == 0:
            return [3, HELLO, *[draw.getrandbits(draw.randrange(63))
                                for _ in range(5)], *[draw.random() < .5
                                                      for _ in range(3)]]
        if kind == 1:
            return [3, MARK, draw.getrandbits(40)]
        if kind == 2:
            return [3, PACKETS, max(round_, 0), draw.randrange(70), []]
        if kind == 3:       # the longest that is allowed
            return [3, PACKETS, max(round_, 0), 0,
                    [self.forged_packet() for _ in range(400)]]
        if kind == 4:
            return [3, ANNOUNCE, draw.randbytes(draw.randrange(200)),
                    draw.randbytes(64)]
        if kind == 5:
            return draw.randbytes(draw.randrange(1, 300))
        if kind == 6:       # arrays and texts that say they are long
            return b'\x95\x03' + draw.choice([b'\x01', b'\x02']) + draw.choice(
                [b'\xdd', b'\xc6', b'\xdf']) + draw.randbytes(draw.randrange(40))
        return [3, PACKETS, max(round_, 0), 0,
                [self.forged_packet() for _ in range(draw.randrange(1, 9))]]

    def forged_packet(self):
        """Of anybody, and mostly with something true in it."""
        draw = self.random
        true = draw.choice(list(self.seen.values())[-30:]) if self.seen else \
            {(bytes(16), bytes(16), bytes(64), 1)}
        payload, tag, signature, kind = next(iter(true))
        return [draw.randrange(N + 3), draw.choice([kind, kind, 0, 1, 2, 200]),
                draw.randrange(6), draw.choice([payload, draw.randbytes(16),
                                                draw.randbytes(40)]),
                draw.choice([tag, draw.randbytes(16)]),
                draw.choice([signature, draw.randbytes(64)])]

    def mutate(self, frame):
        draw, made = self.random, bytearray(frame)
        for _ in range(draw.randrange(4)):
            made[draw.randrange(len(made))] = draw.randrange(256)
        if draw.random() < .2:
            del made[draw.randrange(1, len(made) + 1):]
        return bytes(made)

    def step(self):
        found = super().step()
        if not self.digest or not self.heard:
            return found
        channels = [*self.channels.values(), *self.listener.channels]
        for channel in channels:
            now = time.monotonic()
            due = self.rate.get(channel.fileno(), now)
            if self.left <= 0 or not channel.open or due > now or \
                    len(channel.output) > 1 << 16:
                continue
            self.rate[channel.fileno()] = max(due, now - .1) + \
                self.SOME / self.RATE
            pool = [made if isinstance(made, bytes) else msgpack.packb(made)
                    for made in (self.make() for _ in range(self.SOME // 4))]
            for _ in range(self.SOME):
                frame = self.random.choice(
                    pool if self.random.random() < .7 else self.heard)
                channel.send(self.mutate(frame) if self.random.random() < .8
                             else frame)
            if self.random.random() < .002:     # a frame of 2 GiB
                channel.output += b'\x7f\xff\xff\xff'
            self.sent += self.SOME
            self.left -= self.SOME
        return found


def memory(process, what):
    with open(f'/proc/{process.pid}/status') as file:
        return next(int(line.split()[1]) / 1024 for line in file
                    if line.startswith(what))


def processor(process):
    with open(f'/proc/{process.pid}/stat') as file:
        words = file.read().rsplit(') ', 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


def attack(mesh):
    """Connections in a random order of handshake, data and close, of peers that
    are not enrolled and of one that is. It gets what the processor has left."""
    words = [os.path.join(build, 'tests', 'fleet_pest'), str(FRAMES // 4),
             str(FRAMES // 100), '3600', '1', mesh.addresses['server'],
             mesh.addresses[0], mesh.key(PEST)]
    return mesh.spawn('pest', words, prefix=['nice', '-n', '19'])


def check_flood():
    """Everything at once, for as many frames as asked for."""
    with Mesh(build, N + 1, LINKS + [(0, PEST)], UPLINK + [1], hops=HOPS,
              times=990) as mesh:
        liar = Flood(mesh, FRAMES)
        mesh.start_server(period=PERIOD)
        for i in NODES:
            mesh.start_node(i)
        names = list(mesh.processes)
        whole = lambda: any(set(NODES) <= set(heard) for heard in
                            mesh.arrivals(mesh.last() - 1).values())
        quiet, liar.left = liar.left, 0
        liar.run(60, until=whole)
        expect(whole(), mesh.log('server'))
        before = {name: (memory(mesh.processes[name], 'VmRSS'),
                         processor(mesh.processes[name])) for name in names}
        first, began, liar.left = mesh.last(), time.monotonic(), quiet
        pest = attack(mesh)
        liar.run(3600, until=lambda: any(mesh.processes[name].poll() is not None
                                         for name in names) or
                 (liar.left <= 0 and pest.poll() is not None))
        took, last = time.monotonic() - began, mesh.last()
        liar.run(60, until=lambda: mesh.last() >= max(last, first + 1) + 2)
        used, most = {}, 0
        for name in names:
            process = mesh.processes[name]
            expect(process.poll() is None, f'{name} ended:\n{mesh.log(name)}')
            used[name] = processor(process) - before[name][1]
            grown = memory(process, 'VmHWM') - before[name][0]
            expect(grown < GROWTH, f'{name} grew by {grown:.0f} MiB')
            most = max(most, grown)
            size = os.path.getsize(mesh.path(f'{name}.log'))
            expect(size < LOG, f'{name} wrote {size} bytes of log')
        rounds = mesh.arrivals(first)
        for r, heard in rounds.items():
            expect(set(NODES) <= set(heard), f'round {r}: only {heard}')
        expect(pest.returncode == 0 and liar.left <= 0, mesh.log('pest'))
        did = dict(reversed(line.split()) for line in
                   mesh.log('pest').splitlines()[-10:])
        liar.close()
        for name in names:
            expect(mesh.stop(name) == 0, f'{name} did not stop well:\n' +
                   mesh.log(name))
        print(f'{liar.sent} frames of a liar, {did["frames"]} frames and '
              f'{did["connections"]} connections of others in {took:.0f} s: in '
              f'all {len(rounds)} rounds everyone honest arrived; processor '
              'seconds ' + ', '.join(f'{name} {used[name]:.1f}'
                                     for name in names) +
              f'; memory grew by at most {most:.1f} MiB; dropped '
              f'{mesh.dropped()}')


def play(payload, keys=''):
    """The liar's part of the plan, and by round who arrived and the estimate:
    releases from a seed, but the liar's, which are given by round."""
    with Mesh(build, N, LINKS, UPLINK, hops=HOPS, keys=keys) as mesh:
        peer = Peer(mesh, LIAR)
        mesh.start_server('--emulate', '--seed', '5', '--rounds', '6', '--wait', '3',
                          period=500)
        for i in NODES:
            mesh.start_node(i, '--server', mesh.addresses['server'], '--emulate',
                            mesh.study, '--seed', '5', '--replay-noise')
        sent = 0
        end = time.monotonic() + 60
        while mesh.processes['server'].poll() is None:
            expect(time.monotonic() < end, mesh.log('server'))
            peer.run(.02)
            opened = peer.said.get(OPEN, [0] * 4)[3]
            if opened > sent and peer.digest:
                kind = 2 if 'gaussian' in keys else 1
                peer.send('server', [3, PACKETS, opened, 0, [
                    peer.packet(opened, payload(opened), 0, kind=kind)]])
                sent = opened
        peer.close()
        node = mesh.query('SELECT coefficient, threshold, noise FROM '
                          'forward_plan_node WHERE node = ?', LIAR)[0]
        arrivals, estimates = mesh.arrivals(), mesh.estimates()
        return node, {r: (set(heard), estimates[r]) for r, heard in
                      arrivals.items() if set(NODES) <= set(heard)}


def play_both(first, other, keys=''):
    """The node, and the rounds in which all honest nodes are in both; again where
    a busy machine was late."""
    for _ in range(5):
        (node, a), (_, b) = play(first, keys), play(other, keys)
        both = {r: (a[r], b[r]) for r in a.keys() & b.keys()
                if LIAR in a[r][0]}
        if any(LIAR in b[r][0] for r in both):
            break
    return node, both


def check_bound():
    (c, m, _), rounds = play_both(lambda r: bytes(16), lambda r: bytes([1]) * 16)
    bound, largest = 2 * c / (N * m), 0  # R = 1; in a plan of one round t = m
    for r, ((_, one), (heard, two)) in rounds.items():
        moved = np.linalg.norm(one - two)
        expect(LIAR not in heard or 0 < moved <= bound,
               f'round {r}: moved by {moved}')
        largest = max(largest, moved)
    expect(largest > 0, 'no round was complete')
    print(f'an enrolled liar moved an estimate by up to {largest:.4f}; '
          f'2 c R / (n m) = {bound:.4f}')


def check_gaussian():
    """One that says it is longer than honest ones are is not counted."""
    sizes = [1 << 16, 1 << 22, 1 << 24, 1 << 25, 1 << 26, 1 << 30]
    (c, _, noise), rounds = play_both(
        lambda r: bytes(8), lambda r: np.array(
            [sizes[r % 6], 0], '<i4').tobytes(), 'release: gaussian\n')
    longest = 1 + noise * math.sqrt(2 + 2 * math.sqrt(21 * 2) + 42)
    largest, refused = 0, 0
    for r, ((_, one), (heard, two)) in rounds.items():
        moved = np.linalg.norm(one - two)
        refused += LIAR not in heard
        expect(moved <= c * longest / N * (1 + 1e-6) if LIAR in heard
               else moved == 0, f'round {r}: moved by {moved}')
        largest = max(largest, moved)
    expect(largest > 0, 'no round was complete')
    print(f'with Gaussian releases by up to {largest:.4f}; c L / n = '
          f'{c * longest / N:.4f}; {refused} were too long and not counted')


def check_early():
    """Before the first round of a plan a liar makes a node keep packets of a round
    that never comes, and true ones are lost: it asks its neighbours once more, and
    who is asked sends them again. The test plays node 1, between 0 and 2."""
    with Mesh(build, 3, [(0, 1), (1, 2)], [1, 1, 0]) as mesh:
        peer, heard = Peer(mesh, 1), []
        peer.take = lambda who, message, frame: (
            heard.append((who, message)), Peer.take(peer, who, message, frame))
        mesh.start_server(period=6000)
        mesh.start_node(0)
        mesh.start_node(2)
        peer.run(60, until=lambda: FLEET in peer.said and peer.seen and
                 2 in peer.channels and peer.channels[2].open)
        round_ = peer.said[OPEN][3]
        payload, tag, signature, kind = next(iter(peer.seen[round_, 0]))
        copy = [0, kind, 1, payload, tag, signature]
        peer.send(2, peer.frames[FLEET])
        peer.send(2, [3, PACKETS, 1 << 40, 0, [copy]])
        peer.send(2, [3, PACKETS, round_, 0, [copy]])
        peer.send(2, peer.frames[OPEN])
        asked = lambda: any(who == 2 and m[1] == HELLO and m[2] > 0 and m[3] == 0
                            for who, m in heard)
        peer.run(30, until=asked)
        expect(asked(), 'a node does not ask for packets that it has missed')
        count = lambda: sum(who == 0 and m[1] == PACKETS and m[2] == round_
                            for who, m in heard)
        before = count()
        for _ in range(20):     # at most two a second are answered
            peer.send(0, [3, HELLO, peer.said[FLEET][0], 0, 0, 0, 9, False, False,
                          False])
            peer.run(1.5, until=lambda: count() > before)
            if count() > before:
                break
        expect(count() > before, 'a node does not send its packets again')
        peer.close()
        print('packets that were lost before the first round are asked for again')


check_early()
check_lies()
check_flood()
check_lies('reference: last\nstep: .5\n')
check_bound()
check_gaussian()
