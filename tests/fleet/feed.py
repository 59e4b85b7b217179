"""A program beside a node: vectors in, estimates out, over a unix socket; and
whatever such a program does wrong costs it its part, never the node its rounds.
Arguments: build folder."""
import os
import socket
import stat
import struct
import subprocess
import sys
import time

import msgpack
import numpy as np

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 3, 20
EARLY = ['--early', '--period', '20', '--share', '400', '--uplink', '900']
PLAN, ROUND, VECTOR, TAKEN, RESULT, BYE = range(1, 7)


class Raw:
    """A program that says what it likes."""

    def __init__(self, path, timeout=10):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        for _ in range(100):
            try:
                self.socket.connect(path)
                return
            except OSError:
                time.sleep(.05)
        expect(False, f'nobody listens at {path}')

    def raw(self, data):
        self.socket.sendall(data)

    def send(self, *elements):
        body = msgpack.packb(list(elements))
        self.raw(struct.pack('>I', len(body)) + body)

    def vector(self, round, values):
        self.send(1, VECTOR, round, np.asarray(values, '<f8').tobytes())

    def exactly(self, size):
        data = b''
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError
            data += more
        return data

    def read(self):
        return msgpack.unpackb(self.exactly(
            struct.unpack('>I', self.exactly(4))[0]))

    def until(self, *types):
        """The next message of one of these types."""
        while True:
            message = self.read()
            if message[1] in types:
                return message

    def over(self):
        """Everything up to the end of the connection."""
        found = []
        try:
            while True:
                found.append(self.read())
        except ConnectionError:
            self.socket.close()
            return found


def start(fleet, *more):
    fleet.start_node(0, '--feed', 'unix:' + fleet.path('feed'), data=False)
    for i in range(1, N):
        fleet.start_node(i)
    fleet.start_server(*EARLY, '--quorum', '2', *more)


def charged(fleet):
    return {r for r, in fleet.ledger(0, 'SELECT DISTINCT round FROM release')}


def open_fleet(noise=0.):
    fleet = Fleet(build, nodes=N, dimension=D, weight=.25, noise=noise, own=.5,
                  own_noise=noise)
    if noise == 0:
        for i in range(N):
            fleet.write_trust(i, [f'{j},inf,1,inf,1' for j in range(N)])
    return fleet


def means(fleet):
    """The estimates with node 0 and without it."""
    weight = .5 + .25 * (N - 1)
    return (weight * fleet.data.mean(axis=0),
            weight * fleet.data[1:].sum(axis=0) / N)


def test_wrong():
    """Everything a program can do wrong; the rounds go on, uncharged."""
    with open_fleet() as fleet:
        start(fleet)
        full, without = means(fleet)
        path, good = fleet.path('feed'), fleet.data[0]
        fleet.wait_rounds(2)  # nobody is there
        expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, 'mode')
        program = Raw(path)
        plan = program.until(PLAN)
        expect(plan[2:8] == [0, N, 1, D, 1., 1], f'{plan}')
        second = Raw(path).over()
        expect(len(second) == 1 and second[0][1] == BYE and
               'another program' in second[0][3], f'{second}')
        nan, sent = good.copy(), []
        nan[7] = np.nan
        for values, part, text in (
                (good, 1, 'goes out'), (nan, 6, 'element 7 of the vector'),
                (good[1:], 6, 'has 19 elements'), ([], 6, 'no vector'),
                (good * 4, 1, 'goes out')):
            number = program.until(ROUND)[2]
            program.vector(number, values)
            taken = program.until(TAKEN)
            expect(taken[2:4] == [number, part] and text in taken[6],
                   f'{taken}')
            expect(taken[5] == (len(values) > 0 and part == 1 and
                                np.linalg.norm(values) > 1), f'{taken}')
            result = program.until(RESULT)
            expect(result[2] == number and result[7] == (part == 1) and
                   result[3] == N, f'{result[:8]}')
            got = np.frombuffer(result[8], '<f8')
            want = without
            if part == 1:
                sent.append(number)
                want = full if taken[4] <= 1 else (
                    without + (full - without) / np.linalg.norm(good))
            expect(np.abs(got - want).max() < 1e-9, f'{got - want}')
        number = program.until(ROUND)[2]  # says nothing: late
        late = program.until(RESULT)
        expect(late[2] == number and not late[7], f'{late[:8]}')
        program.vector(number, good)
        expect(program.until(TAKEN)[3] == 5, 'a late vector')
        program.vector(10 ** 9, good)
        expect(program.until(TAKEN)[3] == 5, 'a vector of no round')
        program.socket.close()  # dies
        for garbage in (b'\0\0\0\5hello', b'\xff\xff\xff\xff', os.urandom(4096),
                        b'GET / HTTP/1.1\r\n\r\n', b'\0\0\0\1\x94'):
            program = Raw(path)
            program.raw(garbage)
            end = program.over()[-1]
            expect(end[1] == BYE and end[2] in (2, 3), f'{garbage}: {end}')
        hung = Raw(path)  # reads nothing, writes half a frame
        hung.raw(struct.pack('>I', 100) + b'\x94')
        before = fleet.rounds()
        fleet.wait_rounds(before + 3)
        hung.socket.close()
        fleet.stop('server')
        expect(charged(fleet) == set(sent), f'{charged(fleet)}, sent {sent}')
        log = fleet.log('node0', 10 ** 6)
        expect(log.count('no program is connected') == 1 and
               log.count('(process ') == 1 and log.count(' is gone: ') == 1,
               log)
        expect(fleet.stop('node0') == 0 and not os.path.exists(path),
               'the socket is left behind')


def test_not_finite():
    """A vector with NaN or infinity costs its round the vector and nothing else: the
    noise of the part that is withheld is in the node's sum, in this round and in
    those after the program has gone; and the next good vector is used."""
    with open_fleet(noise=.1) as fleet:
        start(fleet)
        path, good = fleet.path('feed'), fleet.data[0]

        def arrived(number):
            fleet.wait_rounds(number)
            return fleet.query('SELECT arrived FROM arrival WHERE round = ? AND '
                               'node = 0', number) == [(1,)]

        for value in np.nan, np.inf, -np.inf:
            program = Raw(path)
            bad = good.copy()
            bad[D - 1] = value
            number = program.until(ROUND)[2]
            program.vector(number, bad)
            taken = program.until(TAKEN)
            expect(taken[2:4] == [number, 6] and 'not finite' in taken[6],
                   f'{taken}')
            result = program.until(RESULT)
            expect(result[2] == number and not result[7] and arrived(number),
                   f'{value}: no sum of node 0 in round {number}')
            program.socket.close()
            last = number + 3
            expect(arrived(last), f'{value}: no sum in round {last} either')
            program = Raw(path)
            number = program.until(ROUND)[2]
            program.vector(number, good)
            expect(program.until(TAKEN)[3] == 1, 'a good vector is not taken')
            expect(program.until(RESULT)[7], 'and is in no round')
            program.socket.close()


def test_stranger():
    """Another user is not heard; a socket of another program is not taken."""
    if os.getuid() != 0:
        print('skipped: another user needs root')
        return
    with open_fleet() as fleet:
        os.chmod(fleet.dir, 0o711)
        start(fleet)
        fleet.wait_log('node0', 'refused')
        path = fleet.path('feed')
        os.chmod(path, 0o666)
        done = subprocess.run(
            [sys.executable, '-c', 'import os, socket, sys\n'
             's = socket.socket(socket.AF_UNIX)\nos.setuid(65534)\n'
             's.connect(sys.argv[1])\nassert s.recv(1) == b""', path])
        expect(done.returncode == 0, 'another user was heard')
        fleet.wait_log('node0', 'another user was turned away')
        fleet.spawn('second', fleet.node_arguments(
            1, '--feed', 'unix:' + path, '--ledger', fleet.path('x'),
            data=False))
        fleet.wait_log('second', 'another program listens')
        fleet.wait_log('second', 'waiting and trying again')
        expect(fleet.stop('second') == 0 and os.path.exists(path),
               fleet.log('second'))
        for feed, text in ((path, 'BAD   vector       another program listens'),
                           (path + '2', 'good  vector       unix:')):
            checked = fleet.run('pricer-node', *fleet.node_arguments(
                1, '--feed', 'unix:' + feed, '--check', data=False)[1:],
                check=False)
            expect(text in checked.stdout, checked.stdout)
        fleet.stop('node0', 9)  # leaves its socket: replaced
        expect(os.path.exists(path), 'no socket was left')
        fleet.start_node(0, '--feed', 'unix:' + path, data=False)
        expect(Raw(path).until(PLAN, BYE)[1] == PLAN, 'a stale socket')


def mutate(rng, frame):
    """A frame with bytes changed, cut, doubled or put in."""
    frame = bytearray(frame)
    for _ in range(rng.integers(1, 5)):
        at, kind = int(rng.integers(len(frame) + 1)), rng.integers(4)
        if kind == 0:
            frame[at:at + 1] = bytes([rng.integers(256)])
        elif kind == 1:
            del frame[at:]
        elif kind == 2:
            frame[at:at] = frame[:at]
        else:
            frame[at:at] = rng.bytes(int(rng.integers(1, 40)))
    return bytes(frame)


def test_garbage():
    """Frames of chance, each from a program of its own, and then a good one."""
    rng = np.random.default_rng(5)
    with open_fleet() as fleet:
        start(fleet)
        path = fleet.path('feed')
        fleet.wait_log('node0', 'refused')
        for k in range(300):
            values = rng.normal(size=int(rng.integers(0, 2 * D))).tobytes()
            body = msgpack.packb([1, int(rng.integers(1, 5)),
                                  int(rng.integers(50)), values])
            frame = mutate(rng, struct.pack('>I', len(body)) + body)
            program = Raw(path)
            try:
                program.raw(frame * int(rng.integers(1, 4)))
                if k % 50 == 0:
                    program.raw(b'\0' * 2 ** 18)  # heartbeats
            except OSError:
                pass  # it was shown the door before it was done
            program.socket.close()
        program = Raw(path)
        number = program.until(ROUND)[2]
        program.vector(number, fleet.data[0])
        expect(program.until(TAKEN)[3] == 1, 'a good one after garbage')
        program.socket.close()
        before = fleet.rounds()
        fleet.wait_rounds(before + 2)
        fleet.stop('server')
        expect(charged(fleet) >= {number}, f'{charged(fleet)}')
        expect(fleet.stop('node0') == 0, fleet.log('node0'))


for test in (test_wrong, test_not_finite, test_stranger, test_garbage):
    started = time.monotonic()
    test()
    print(f'{test.__name__}: good ({time.monotonic() - started:.1f} s)',
          flush=True)
