"""The memory of server and node under enrolled peers who take all that they are
given: every one of them leaves its longest frame one byte short, stores a share
for a later round, asks for estimates and hardly reads them, and accepts shares in
the same way. It grows by what the protocol lets each of them have, which they do
take, and by no more. Arguments: build folder, nodes, dimension, most MiB; by default
a size for every check. The size that was asked for:

    tests/fleet/bound.py BUILD 100 100000 1024
"""
import hashlib
import select
import socket
import ssl
import struct
import sys
import time

import msgpack
import numpy as np

from channel import Channel, context, where
from fleet import Fleet, expect

build = sys.argv[1]
N, D, MOST = ([int(word) for word in sys.argv[2:5]] if len(sys.argv) > 4
              else [8, 150000, 120])
HONEST = 2
ROUNDS = 10     # whose estimates are more than the kernel takes
HELLO, SLICE, SHARE = 1, 2, 4
LARGEST = 8 * D + 4096
DRIP = 600      # bytes of the longest frame that come one a second
QUEUE = 1 << 20 # bytes that may wait for a peer before a frame is lost
WINDOW = 65536  # bytes that the kernel takes for a peer who does not read
# What a peer may hold of the server: a frame that is not whole, and a queue with
# one frame beyond its limit; of a node also a share for later. And what goes with
# a connection: TLS, and bytes on their way to it.
HELD = {'server': 2 * LARGEST + QUEUE + (256 << 10),
        'node0': 3 * LARGEST + QUEUE + (512 << 10)}


def memory(process, what='VmHWM'):
    with open(f'/proc/{process.pid}/status') as file:
        for line in file:
            if line.startswith(what):
                return int(line.split()[1]) // 1024


def persist(address, path, gluttons):
    """A channel, also to someone who draws noise for seconds; those that there
    are stay alive meanwhile."""
    end, made = time.monotonic() + 60, None
    while made is None or not made.open:
        expect(time.monotonic() < end, f'{address} lets nobody in')
        try:
            if made is None:
                raw = socket.socket()
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW)
                raw.settimeout(10)
                raw.connect(where(address))
                made = Channel(raw, context(False, path), False)
            made.step()
        except OSError:
            made = None
            time.sleep(.3)
        for glutton in gluttons:
            glutton.step()
    return made


def sip(channel):
    """Read a window a second: whoever reads nothing for five is cut off."""
    if time.monotonic() < getattr(channel, 'sipped', 0) + 1:
        return
    channel.sipped = time.monotonic()
    try:
        for _ in range(WINDOW // 16384):
            if not channel.socket.recv(16384):
                raise ConnectionError('closed')
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
        pass


class Mute:
    """Accepts connections, says that it is alive and hardly reads."""

    def __init__(self, address, path):
        self.socket = socket.create_server(where(address), backlog=20)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW)
        self.socket.setblocking(False)
        self.context = context(True, path)
        self.context.verify_mode = ssl.CERT_NONE
        self.channels = []

    def step(self):
        try:
            raw, _ = self.socket.accept()
            self.channels.append(Channel(raw, self.context, True))
        except BlockingIOError:
            pass
        for channel in list(self.channels):
            try:
                if not channel.open:
                    channel.socket.do_handshake()
                    channel.open = True
                    channel.send(b'')
                if time.monotonic() > channel.said + 1:
                    channel.send(b'')
                channel.flush()
                sip(channel)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
            except OSError:
                channel.close()
                self.channels.remove(channel)


class Glutton:
    """One key: its connections to server and node 0, and its own address."""

    def __init__(self, fleet, i):
        self.fleet, self.i, self.slice = fleet, i, None
        self.mute = Mute(fleet.addresses[i], fleet.key(i))
        self.server, self.node, self.lost = None, None, []

    def hello(self, digest):
        self.server.send(msgpack.packb([2, HELLO, digest, 0, True, 9, 9, [], 0]))

    def reach_server(self, others):
        """Take the slice, say so, and leave a frame that is not whole."""
        self.server = persist(self.fleet.addresses['server'],
                              self.fleet.key(self.i), others)
        self.hello(b'')
        end = time.monotonic() + 20
        while self.slice is None:
            expect(time.monotonic() < end, 'no slice')
            for glutton in others:
                if glutton is not self:
                    glutton.step()
            for frame in self.server.step():
                message = msgpack.unpackb(frame)
                if message[1] == SLICE:
                    self.slice = message
                    self.hello(hashlib.blake2b(frame, digest_size=16).digest())
            select.select([self.server], [], [], .01)
        self.server.output += self.unfinished(LARGEST + N // 2)

    def reach_node(self, others):
        """Shares for rounds to come, of which the node keeps the newest, and a
        frame that is not whole."""
        self.node = persist(self.fleet.addresses[0], self.fleet.key(self.i),
                            others)
        for number in range(10 ** 6, 10 ** 6 + 3):
            self.node.send(msgpack.packb([2, SHARE, number, self.slice[10], 1,
                                          bytes(8 * D)]))
        self.node.output += self.unfinished(LARGEST)

    @staticmethod
    def unfinished(size):
        return struct.pack('>I', size) + bytes(size - DRIP)

    def step(self):
        self.mute.step()
        for channel in self.server, self.node:
            if channel is None or channel in self.lost:
                continue
            if not channel.output and time.monotonic() > channel.said + 1:
                channel.output += b'\0'
            try:
                channel.flush()
                sip(channel)
            except OSError:     # on a busy machine it was silent for too long
                self.lost.append(channel)


# Without noise, which takes its time: what matters is how much is sent.
with Fleet(build, nodes=N, dimension=D, weight=.4 / N, noise=0,
           own_noise=0) as fleet:
    np.save(fleet.path('few.npy'), fleet.data[:HONEST])
    for i in range(HONEST):
        fleet.write_trust(i, [f'{j},inf,1e-3,inf,1' for j in range(N)])
        fleet.start_node(i, '--data', fleet.path('few.npy'), data=False)
    fleet.start_server('--quorum', '1', '--period', '800', '--send', '200',
                       '--share', '400', '--uplink', '700')
    gluttons = [Glutton(fleet, i) for i in range(HONEST, N)]
    fleet.wait_rounds(2)
    names = 'server', 'node0'
    before = {name: memory(fleet.processes[name]) for name in names}
    for step in Glutton.reach_server, Glutton.reach_node:
        for glutton in gluttons:
            step(glutton, gluttons)
    rounds = fleet.rounds()
    end = time.monotonic() + 30
    while fleet.rounds() < rounds + ROUNDS and time.monotonic() < end:
        for glutton in gluttons:
            glutton.step()
        time.sleep(.05)
    held = {name: memory(fleet.processes[name]) for name in names}
    now = {name: memory(fleet.processes[name], 'VmRSS') for name in names}
    expect(fleet.rounds() >= rounds + ROUNDS, fleet.log('server'))
    for name, process in fleet.processes.items():
        expect(process.poll() is None, f'{name} has gone:\n' + fleet.log(name))
    lost = sum(len(glutton.lost) for glutton in gluttons)
    print(f'{N} nodes, dimension {D}, {len(gluttons)} of them hostile: the server '
          f'held at most {held["server"]} MiB, the node {held["node0"]} (before '
          f'{before["server"]}, {before["node0"]}; now {now["server"]}, '
          f'{now["node0"]}); {lost} connections were lost')
    for name in names:
        grown = held[name] - before[name]
        most = len(gluttons) * HELD[name] / 2 ** 20
        # They did take it: otherwise the figures say nothing.
        expect(lost > 0 or grown > .5 * most,
               f'{name}: {grown} MiB of {most:.0f} were taken')
        # A frame of each honest one may come at the same time, which the first
        # rounds need not have seen; one frame more of each of the others shows.
        honest = HONEST * LARGEST / 2 ** 20
        expect(grown < most + honest + 2, f'{name} grew by {grown} MiB, and '
               f'{most:.0f} is all that its peers may have')
    expect(lost < len(gluttons), f'{lost} connections were lost')
    expect(max(held.values()) < MOST, f'more than {MOST} MiB')
