"""How far one enrolled relay that lies can move the estimate: as far as the
longest sum that honest parts could have, and no further; what is longer is
dropped and counted, though each of its elements is within its limit.
Arguments: build folder."""
import hashlib
import math
import select
import sys
import time

import msgpack
import numpy as np

from channel import connect, z85_bytes
from fleet import Fleet, expect

build = sys.argv[1]
N, D, LIAR, OWN, NOISE = 4, 128, 3, .6, .5
HELLO, SLICE, OPEN, SUM = 1, 2, 3, 5
FACTORS = [.999, 1.01, 3, 40]   # of the longest honest sum
ROUNDS = 8


def longest(step):
    """Of its own part alone; docs/protocol.md, section 4."""
    variance = max(NOISE, 2 * OWN / 1984) ** 2 / step ** 2 + 64
    return OWN / step + math.sqrt(
        variance * (D + 2 * math.sqrt(21 * D) + 42))


class Liar:
    def __init__(self, fleet):
        self.channel = connect(fleet.addresses['server'], fleet.key(LIAR),
                               z85_bytes(fleet.keys['server']))
        self.said = {}      # round: factor
        self.digest, self.greeted = b'', 0

    def step(self):
        if time.monotonic() > self.greeted + .5:
            self.greeted = time.monotonic()
            self.channel.send(msgpack.packb([2, HELLO, self.digest, 0, False,
                                             9, 9, [], 0]))
        for frame in self.channel.step():
            message = msgpack.unpackb(frame)
            if message[1] == SLICE:
                self.digest = hashlib.blake2b(frame, digest_size=16).digest()
                self.step_size, self.limit = 2.0 ** message[7], message[11][2]
                self.links, self.greeted = len(message[13]), 0
                # It gives nobody a share, and says so.
                sent = len(message[12])
                self.sent = bytes([0x66] * (sent // 2) + [6] * (sent % 2))
            elif message[1] == OPEN:
                self.lie(message[3])
        self.channel.flush()
        select.select([self.channel], [], [], .01)

    def lie(self, number):
        """Always the same direction, of every length in turn."""
        factor = FACTORS[len(self.said) % len(FACTORS)]
        length = factor * longest(self.step_size)
        values = np.full(D, round(length / math.sqrt(D)), '<i8')
        expect(values[0] <= self.limit, 'beyond the limit of an element')
        parts = bytes([1]) + bytes((self.links + 2) // 2 - 1)
        self.channel.send(msgpack.packb([2, SUM, number, self.digest, parts,
                                         self.sent, values.tobytes()]))
        self.said[number] = factor


with Fleet(build, nodes=N, dimension=D, weight=.1, noise=NOISE, own=OWN,
           own_noise=NOISE) as fleet:
    for i in range(N):
        if i != LIAR:
            fleet.start_node(i)
    fleet.start_server('--quorum', str(N), '--period', '250', '--send', '20',
                       '--share', '100', '--uplink', '230')
    fleet.wait_log('server', 'listening')
    liar = Liar(fleet)
    end = time.monotonic() + 60
    while len(liar.said) < ROUNDS * len(FACTORS) + 1:
        liar.step()
        expect(time.monotonic() < end, fleet.log('server'))
    expect(fleet.stop('server') == 0, fleet.log('server'))
    arrived = set(fleet.query('SELECT round FROM arrival WHERE node = ? AND '
                              'arrived', LIAR))
    direction = np.full(D, 1 / math.sqrt(D))
    reach, moved = longest(liar.step_size) * liar.step_size / N, []
    for number, estimate in fleet.estimates().items():
        factor = liar.said.get(number)
        if factor is None:
            continue
        expect(((number,) in arrived) == (factor < 1),
               f'round {number}: {factor} times the longest')
        if factor < 1:
            moved.append(direction @ (estimate - fleet.data.mean(axis=0)))
    # The honest noise along one direction has a deviation below .5 in all.
    expect(len(moved) >= 3 and abs(np.mean(moved) - reach) < .5,
           f'moved by {moved}, {reach} is expected')
    expect(fleet.dropped().get('range', 0) >= 3, f'{fleet.dropped()}')
    bare = liar.limit * math.sqrt(D) * liar.step_size / N
    print(f'one liar moves the estimate by {np.mean(moved):.2f} R; the limits '
          f'of elements alone would allow {bare:.1f} R')
