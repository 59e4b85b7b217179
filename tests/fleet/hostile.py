"""Hostile peers of every kind while honest nodes run rounds: all is refused or
dropped and counted, memory stays bounded, honest rounds are not affected.
Arguments: build folder, random frames to send (also from PRICER_FRAMES)."""
import os
import random
import socket
import struct
import sys
import time

import msgpack
import numpy as np
import zmq

from fleet import Fleet, expect

build = sys.argv[1]
frames = int(sys.argv[2] if len(sys.argv) > 2
             else os.environ.get('PRICER_FRAMES', 20000))
N, D, HOSTILE = 4, 256, 3
random.seed(5)
context = zmq.Context()


def keys(path):
    with open(path) as file:
        words = dict(line.split() for line in file)
    return words['public'].encode(), words.get('secret', '').encode()


def connect(kind, address, pair, server_key):
    s = context.socket(kind)
    s.setsockopt(zmq.LINGER, 0)
    s.setsockopt(zmq.SNDHWM, 1000)
    s.curve_publickey, s.curve_secretkey = pair
    s.curve_serverkey = server_key
    s.connect(address)
    return s


def memory(process):
    with open(f'/proc/{process.pid}/status') as file:
        for line in file:
            if line.startswith('VmRSS'):
                return int(line.split()[1]) // 1024


def nasty(round_number, d):
    """Messages that are wrong in one way each, and one that comes twice."""
    values = bytes(8 * d)
    huge = struct.pack('<q', 2**62) * d
    full, none = 2**62 - 1, bytes([0x01, 0x00])
    yield msgpack.packb([1, 1, b'', 0, False, 1.0])
    yield msgpack.packb([2, 99])
    yield msgpack.packb([2, 1, b'', 0, False, float('nan'), full, []])
    yield msgpack.packb([2, 1, b'', 0, False, full, full + 1, []])
    yield msgpack.packb([2, 1, b'', 0, False, full, full, [[0, 1]] * 9])
    yield msgpack.packb([2, 1, b'x' * 15, 0, False, full, full, []])
    yield msgpack.packb([2, 1, b'', -1, False, full, full, []])
    yield msgpack.packb([2, 1, b'', 2**63, False, full, full, []])
    yield msgpack.packb([2, 5, round_number, none, values + b'8'])
    yield msgpack.packb([2, 5, round_number, none, values[8:]])
    yield msgpack.packb([2, 5, round_number, b'\xff\xff', values])
    yield msgpack.packb([2, 5, round_number, b'\x11', values])
    yield msgpack.packb([2, 5, round_number, b'', values])
    yield msgpack.packb([2, 5, round_number, none, huge])
    yield msgpack.packb([2, 5, round_number, none, [float('nan')] * d])
    yield msgpack.packb([2, 5, round_number, none, [1e300] * d])
    yield msgpack.packb([2, 5, 2**61, none, values])
    yield msgpack.packb([2, 5, 1, none, values])
    if round_number % 2:    # a good one, said again
        yield msgpack.packb([2, 5, round_number, none, values])
        yield msgpack.packb([2, 5, round_number, none, values])
    yield msgpack.packb([2, 4, round_number, 1, values])
    yield msgpack.packb([2, 4, round_number, 1, huge])
    yield msgpack.packb([2, 4, round_number, 3, values])
    yield msgpack.packb([2, 4, round_number, 99, b''])
    yield msgpack.packb([2, 4, round_number, 1, [float('nan')] * d])
    yield msgpack.packb([2, 4, 2**61, 1, values])
    yield msgpack.packb([2, 7, 0, 1, 0, 'x' * 300])
    yield msgpack.packb([2, 7, 0, 1, 2**40])
    yield msgpack.packb([2, 7, round_number, 2**40, 1])
    yield msgpack.packb([2, 7, round_number, '\x1b[2J<script>', 1])
    yield b'\xdd\xff\xff\xff\xff\2\5'             # 2^32 elements
    yield b'\x95\2\5\1\xc4\1\1\xc6\x40\0\0\0'     # 1 GiB of bytes
    yield b'\x91' * 4000                          # deep nesting
    yield b''


def attack_with_key(fleet, deadline):
    """Node 3's key is enrolled, and in the wrong hands."""
    pair = keys(fleet.key(HOSTILE))
    server = connect(zmq.DEALER, fleet.addresses['server'], pair,
                     fleet.keys['server'].encode())
    victim = connect(zmq.PUSH, fleet.addresses[0], pair,
                     fleet.keys[0].encode())
    sent = 0
    begun = fleet.rounds()
    while time.monotonic() < deadline:
        now = fleet.rounds()
        if sent >= frames and now >= begun + 6:
            break
        batch = [m for r in (now, now + 1, now + 2) for m in nasty(r, D)]
        batch += [os.urandom(random.choice([0, 1, 7, 60, 8 * D]))
                  for _ in range(400)]
        random.shuffle(batch)
        for message in batch:
            for s in (server, victim):
                try:
                    if random.random() < .02:
                        s.send_multipart([message] * random.randint(2, 9),
                                         zmq.NOBLOCK)
                    else:
                        s.send(message, zmq.NOBLOCK)
                    sent += 1
                except zmq.Again:
                    time.sleep(.0005)
    # Far beyond ZMQ_MAXMSGSIZE: costs the connection, not our memory.
    for s in (server, victim):
        for _ in range(3):
            try:
                s.send(bytes(64 << 20), zmq.NOBLOCK)
            except zmq.Again:
                pass
    time.sleep(1)
    server.close()
    victim.close()
    return sent


def attack_with_parts(fleet):
    """One message of 600 MB in small parts: ZeroMQ keeps them until the last.
    Answers the most memory that the victims had meanwhile, in MiB."""
    pair = keys(fleet.key(HOSTILE))
    most = 0
    for kind, who, name in ((zmq.DEALER, 'server', 'server'),
                            (zmq.PUSH, 0, 'node0')):
        s = connect(kind, fleet.addresses[who], pair,
                    fleet.keys[who].encode())
        for _ in range(150000):
            s.send(bytes(4000), zmq.SNDMORE)
        s.send(b'')
        end = time.monotonic() + 3
        while time.monotonic() < end:
            most = max(most, memory(fleet.processes[name]))
            time.sleep(.02)
        s.close()
    return most


def sanitized():
    with open(build + '/pricer-server', 'rb') as file:
        return b'__asan_init' in file.read()


def attack_without_key(fleet):
    stranger = zmq.curve_keypair()
    held = []
    for address, key in ((fleet.addresses['server'], fleet.keys['server']),
                         (fleet.addresses[0], fleet.keys[0])):
        for pair, server_key in ((stranger, key.encode()),
                                 (keys(fleet.key(HOSTILE)), stranger[0])):
            s = connect(zmq.DEALER, address, pair, server_key)
            s.send(b'hello')
            held.append(s)
        host, port = address[6:].split(':')
        for k in range(100):     # half open: some say nothing, some garbage
            raw = socket.create_connection((host, int(port)), 5)
            raw.setblocking(False)
            try:
                if k % 4 == 1:
                    raw.send(os.urandom(200))
                if k % 4 == 2:   # a greeting, then a frame of 1 GiB
                    raw.send(b'\xff' + bytes(8) + b'\x7f\3\1CURVE' + bytes(48) +
                             b'\4' + struct.pack('>Q', 1 << 30) + bytes(100))
                if k % 4 == 3:   # NULL instead of CURVE
                    raw.send(b'\xff' + bytes(8) + b'\x7f\3\1NULL' + bytes(49))
            except OSError:
                pass
            held.append(raw)
    return held


with Fleet(build, nodes=N, dimension=D) as fleet:
    honest = [i for i in range(N) if i != HOSTILE]
    for i in honest:
        fleet.start_node(i)
    fleet.start_server('--quorum', '3', '--period', '300', '--send', '20',
                       '--share', '180', '--uplink', '280', '--ahead', '0')
    fleet.wait_rounds(5)
    before = {name: memory(p) for name, p in fleet.processes.items()}
    first = fleet.rounds() + 1  # one is in progress
    held = attack_without_key(fleet)
    sent = attack_with_key(fleet, time.monotonic() + frames / 1000 + 15)
    most = {name: memory(p) for name, p in fleet.processes.items()}
    last = fleet.rounds()
    for s in held:
        s.close()
    fleet.wait_rounds(last + 5)
    for name in ['server'] + [f'node{i}' for i in honest]:
        expect(fleet.processes[name].poll() is None, f'{name} died')
        expect(most[name] < before[name] + 100,
               f'{name} grew from {before[name]} to {most[name]} MiB')
    rows = fleet.query('SELECT node, avg(arrived), count(*) FROM arrival WHERE '
                       'round > ? AND round <= ? GROUP BY node', first, last)
    for node, share, count in rows:
        if node != HOSTILE:
            expect(share > .9, f'node {node} arrived in {share} of {count} '
                   'rounds under attack')
    links = fleet.query('SELECT avg(arrived) FROM delivery NATURAL JOIN link '
                        'WHERE round > ? AND round <= ? AND from_node <> ? AND '
                        'to_node <> ?', first, last, HOSTILE, HOSTILE)[0][0]
    expect(links > .9, f'{links} of the honest shares arrived')
    worst = max(np.abs(e).max() for e in fleet.estimates().values())
    expect(worst < 20, f'an estimate of {worst}')
    dropped = fleet.dropped()
    for kind in ('malformed', 'length', 'round', 'range', 'repeated',
                 'refused'):
        expect(dropped.get(kind, 0) > 0, f'nothing was {kind}: {dropped}')
    expect('\x1b' not in fleet.log('server'), 'a terminal escape in the log')
    if not sanitized():     # whose allocator keeps what is freed
        peak = attack_with_parts(fleet)
        expect(peak < 512, f'{peak} MiB under a message of endless parts')
        again = fleet.rounds()
        fleet.wait_rounds(again + 10)
        tail = fleet.query('SELECT arrived FROM round ORDER BY round DESC '
                           'LIMIT 3')
        expect(tail == [(3,)] * 3, f'the honest did not come back: {tail}')
        print(f'a message of 600 MB in parts: at most {peak} MiB')
    grown = max(most[n] - before[n] for n in before)
    print(f'{sent} hostile messages over {last - first} rounds, at most {grown} '
          f'MiB more memory, dropped {dropped}')
context.destroy(linger=0)
