"""A mesh on loopback for tests, from the folders of pricer fleet; and a peer that
speaks docs/protocol.md, sections 10 and 11, and says what it likes."""
import base64
import hashlib
import os
import socket
import sys
import tempfile
import time

import msgpack
import numpy as np

from channel import Channel, Listener, context, public_key, where, z85_bytes
from fleet import Fleet, free_ports

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'transport'))
import reference_packet as reference  # noqa: E402

PACKETS, ANNOUNCE, HELLO, MARK = 1, 2, 3, 4
FLEET, OPEN, RESULT = 1, 2, 3
NOWHERE = 'tcp://127.0.0.1:9'  # nobody listens at the port `discard`


class Mesh(Fleet):
    """`links` are pairs of nodes, in both directions; who has no uplink knows no
    server at all."""

    def __init__(self, build, nodes, links, uplink, dimension=2, hops=3, eps=4,
                 rounds=1, times=500, keys='', host=lambda i: '127.0.0.1',
                 p=lambda i, j: 1):
        self.build, self.nodes, self.dimension = build, nodes, dimension
        self.seed, self.processes, self.uplink = 7, {}, uplink
        self.dir = tempfile.mkdtemp(prefix='pricer-mesh-')
        self.study = self.path('study.pricer')
        self.write('nodes.csv', 'node,p\n' + ''.join(
            f'{i},{p}\n' for i, p in enumerate(uplink)))
        self.write('links.csv', 'from,to,p\n' + ''.join(
            f'{i},{j},{p(i, j)}\n{j},{i},{p(j, i)}\n' for i, j in links))
        self.write('s.yaml', f'dimension: {dimension}\nradius: 1\n'
                   f'scheme: forward\nhops: {hops}\nrounds: {rounds}\n{keys}'
                   'network: {files: {nodes: nodes.csv, links: links.csv}}\n'
                   f'trust: {{everyone: {{eps: {eps}, delta: 1e-5}}}}\n')
        self.run('pricer', 'new', self.study, self.path('s.yaml'))
        self.run('pricer', 'plan', self.study)
        rng = np.random.default_rng(self.seed)
        data = rng.normal(size=(nodes, dimension))
        self.data = data * .95 / np.linalg.norm(data, axis=1)[:, None]
        np.save(self.path('mean.npy'), self.data.mean(axis=0))
        ports = free_ports(nodes + 2)
        self.status_port = ports[nodes + 1]
        self.addresses = {'server': f'tcp://{host("server")}:{ports[nodes]}'}
        for i in range(nodes):
            self.addresses[i] = f'tcp://{host(i)}:{ports[i]}'
        self.write('addresses.csv', 'node,address\n' + ''.join(
            f'{i},{address}\n' for i, address in self.addresses.items()))
        self.run('pricer', 'fleet', self.study, '--to', self.path('fleet'),
                 '--addresses', self.path('addresses.csv'))
        for i in range(nodes):
            np.save(self.folder(i, 'vector.npy'), self.data[i:i + 1])
            # as many rounds as tests like, by the plan's budgets again and again
            self.write(f'fleet/node{i}/node.trust', 'to,eps,delta\n'
                       f'everyone,{eps * times * 1.001},{1e-5 * times * 1.001}\n')

    def folder(self, who, name=''):
        folder = 'server' if who == 'server' else f'node{who}'
        return self.path(os.path.join('fleet', folder, name))

    def key(self, who):
        return self.folder(who, 'server.key' if who == 'server' else 'node.key')

    def database(self, name):
        return self.study if name == 'server' else \
            self.folder(int(name[4:]), 'node.ledger')

    def spawn_in(self, who, program, arguments, prefix=()):
        name = who if who == 'server' else f'node{who}'
        words = [*prefix, 'env', '-C', self.folder(who),
                 os.path.join(os.path.abspath(self.build), program), '--config',
                 program.replace('pricer-', '') + '.conf', *arguments]
        return self.spawn(name, words)

    def start_server(self, *more, prefix=(), period=200):
        times = ['--period', str(period), '--uplink', str(period * 9 // 10),
                 '--share', str(period // 2), '--send', str(period // 4)]
        return self.spawn_in('server', 'pricer-server', [
            *times, '--port', str(self.status_port), '--truth',
            self.path('mean.npy'), *more], prefix)

    def start_node(self, i, *more, prefix=()):
        lonely = ['--server', NOWHERE] if self.uplink[i] == 0 else []
        return self.spawn_in(i, 'pricer-node', [*lonely, *more], prefix)

    def arrivals(self, after=0):
        """{round: {node: hops}}"""
        found = {r: {} for r, in self.query(
            'SELECT round FROM round WHERE round > ?', after)}
        for r, i, hops in self.query('SELECT round, node, hops FROM '
                                     'round_arrival WHERE round > ?', after):
            found.setdefault(r, {})[i] = hops
        return found

    def last(self):
        return self.query('SELECT coalesce(max(round), 0) FROM round')[0][0]

    def wait_for(self, condition, what, seconds=60):
        """Wait until the latest rounds are as they should be."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.rounds() and condition(self.arrivals(self.last() - 1)):
                return self.last()
            time.sleep(.1)
        raise SystemExit(f'FAILED: {what}: {self.arrivals(self.last() - 3)}\n' +
                         self.log('server'))


# ------------------------------------------------------------------- peer --
L = 2**252 + 27742317777372353535851937790883648493


class Identity:
    """An Ed25519 key of a file of pricer keygen, in Python's integers."""

    def __init__(self, path):
        with open(path) as file:
            text = file.read().split('-----')
        self.seed = base64.b64decode(text[2])[-32:]
        self.public = reference.public_key(self.seed)
        self.powers, point = [], reference.base_point()
        for _ in range(255):
            self.powers.append(point)
            point = reference.edwards_add(point, point)

    def times(self, k):
        total = (0, 1)
        for bit, point in enumerate(self.powers):
            if k >> bit & 1:
                total = reference.edwards_add(total, point)
        return (total[1] | (total[0] & 1) << 255).to_bytes(32, 'little')

    def sign(self, text):
        digest = hashlib.sha512(self.seed).digest()
        r = int.from_bytes(hashlib.sha512(digest[32:] + text).digest(),
                           'little') % L
        point = self.times(r)
        k = int.from_bytes(hashlib.sha512(point + self.public + text).digest(),
                           'little')
        s = (r + k * reference.scalar(self.seed)) % L
        return point + s.to_bytes(32, 'little')


def hashed(data, size, key=b''):
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


class Peer:
    """A node of the mesh; `take` may be replaced. What it hears is in `said`
    (bodies by kind) and `seen` ({(round, node): {(payload, tag)}})."""

    def __init__(self, mesh, node):
        self.mesh, self.node = mesh, node
        self.path = mesh.key(node)
        self.identity = Identity(self.path)
        self.server_key = public_key(mesh.key('server') + '.pub')
        self.study = hashed(self.server_key, 16)
        self.secret = reference.packet_key(
            self.identity.seed, self.server_key, self.identity.public,
            self.server_key)
        self.near = {}
        with open(mesh.folder(node, 'neighbours.csv')) as file:
            rows = [line.strip() for line in file if line.strip() and
                    line[0] != '#']
            for row in rows[1:]:
                other, key, address = row.split(',')[:3]
                self.near[int(other)] = (z85_bytes(key), address)
        self.listener = Listener(mesh.addresses[node], self.path)
        self.listener.admit([key for key, _ in self.near.values()])
        self.context, self.tried = context(False, self.path), {}
        self.greeted = set()
        self.channels, self.said, self.frames, self.seen = {}, {}, {}, {}
        self.digest, self.plan = None, None

    def connect(self, who):
        key, address = (self.server_key, self.mesh.addresses['server']) \
            if who == 'server' else self.near[who]
        raw = socket.create_connection(where(address), 5)
        self.channels[who] = Channel(raw, self.context, False)
        self.greeted.discard(who)
        return key

    def step(self):
        """Do what can be done without waiting; [(who, message)]."""
        found = []
        for who in ['server', *self.near]:
            try:
                if who not in self.channels:
                    if time.monotonic() < self.tried.get(who, 0) + .1:
                        continue
                    self.tried[who] = time.monotonic()
                    self.connect(who)
                frames = self.channels[who].step()
            except OSError:
                if who in self.channels:
                    self.channels.pop(who).close()
                continue
            if self.channels[who].open and who not in self.greeted:
                self.greeted.add(who)
                self.send(who, self.hello())
            found += [(who, frame) for frame in frames]
        keys = {key: who for who, (key, _) in self.near.items()}
        found += [(keys[channel.key], frame)
                  for channel, frame in self.listener.step()]
        messages = []
        for who, frame in found:
            message = msgpack.unpackb(frame)
            self.take(who, message, frame)
            messages.append((who, message))
        return messages

    def take(self, who, message, frame):
        if message[1] == ANNOUNCE:
            body = msgpack.unpackb(message[2])
            if body[0] > self.said.get(body[1], [0])[0]:
                self.said[body[1]], self.frames[body[1]] = body, frame
                if body[1] == FLEET:
                    self.digest = hashed(body[3], 16)
                    self.plan = msgpack.unpackb(body[3])
        elif message[1] == PACKETS:
            for node, kind, hops, payload, tag, signature in message[4]:
                self.seen.setdefault((message[2], node), set()).add(
                    (payload, tag, signature, kind))

    def run(self, seconds, until=lambda: False):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            self.step()
            time.sleep(.005)

    def send(self, who, message):
        frame = message if isinstance(message, bytes) else msgpack.packb(message)
        channel = self.channels.get(who)
        if channel is not None and channel.open:
            channel.send(frame)
            try:
                channel.flush()
            except OSError:
                self.channels.pop(who).close()

    def hello(self):
        counters = [self.said.get(kind, [0])[0] for kind in (FLEET, OPEN, RESULT)]
        return [3, HELLO, *counters, 0, 1000, False, False, False]

    def packet(self, round_, payload, hops, node=None, kind=1):
        """A packet of this node, as it would be of an honest one."""
        node = self.node if node is None else node
        low = lambda n: n.to_bytes(8, 'little')
        opened = self.said.get(OPEN)
        relative = opened[8] if opened and opened[3] == round_ else 0
        tag = reference.packet_tag(self.secret, self.study, self.digest, relative,
                                   node, round_, kind, payload)
        text = hashed(self.digest + low(round_) + low(node) + low(kind) + tag +
                      payload, 32)
        signature = self.identity.sign(
            hashed(text, 32, b'pricer: signature of packets'))
        return [node, kind, hops, payload, tag, signature]

    def close(self):
        for channel in self.channels.values():
            channel.close()
        for channel in list(self.listener.channels):
            self.listener.drop(channel)
        self.listener.socket.close()
