"""A relay of a mesh that lies, floods and replays. What honest nodes release
arrives all the same, and the hostile node moves an estimate by no more than one
node can: 2 c R / (n m). Arguments: build folder."""
import os
import sys
import time

import msgpack
import numpy as np

from fleet import expect
from mesh_fleet import ANNOUNCE, HELLO, OPEN, PACKETS, Mesh, Peer

build = sys.argv[1]
HOPS, N, LIAR = 3, 4, 3
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


def play(payload):
    """Estimates of rounds with releases from a seed, and one that is given."""
    with Mesh(build, N, LINKS, UPLINK, hops=HOPS) as mesh:
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
                peer.send('server', [3, PACKETS, opened, 0, [
                    peer.packet(opened, payload, 0)]])
                sent = opened
        peer.close()
        node = mesh.query('SELECT coefficient, threshold FROM forward_plan_node '
                          'WHERE node = ?', LIAR)[0]
        complete = {r for r, heard in mesh.arrivals().items()
                    if set(heard) == set(range(N))}
        return node, {r: e for r, e in mesh.estimates().items()
                      if r in complete}


def check_bound():
    (c, m), first = play(bytes(16))
    bound, largest = 2 * c / (N * m), 0  # R = 1; in a plan of one round t = m
    for _ in range(5):  # a busy machine may be late in any round
        _, other = play(bytes([1]) * 16)
        if first.keys() & other.keys():
            break
        first = play(bytes(16))[1]
    for r in first.keys() & other.keys():
        moved = np.linalg.norm(first[r] - other[r])
        expect(0 < moved <= bound, f'round {r}: moved by {moved}')
        largest = max(largest, moved)
    expect(largest > 0, 'no round was complete')
    print(f'an enrolled liar moved an estimate by up to {largest:.4f}; '
          f'2 c R / (n m) = {bound:.4f}')


check_lies()
check_lies('reference: last\nstep: .5\n')
check_bound()
