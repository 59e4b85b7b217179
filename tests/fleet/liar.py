"""A relay with an enrolled key lies about what is in its sum: it claims every
mask in turn, with the longest vector that the server takes for it, up in one
round and down in the next. However it lies, its sum moves the estimate by no
more than the cap of its coefficient allows, and by no more than an honest mask
with all shares or the constant decoder would let it. The adaptive decoder, which
learns from the sums, keeps to four times the cap. Arguments: build folder."""
import math
import os
import sys

import numpy as np

from fleet import Fleet, expect

here = os.path.dirname(os.path.abspath(__file__))
N, D, LIAR = 4, 8, 3
MASKS = 2 ** N
OWN, WEIGHT, NOISE = .6, .4, .1     # of the fleet's plan


def longest(mask):
    """The length of an honest sum of these parts, the own part first."""
    count = bin(mask).count('1')
    weight = OWN * (mask & 1) + WEIGHT * (count - (mask & 1))
    return weight + NOISE * math.sqrt(
        count * (D + 2 * math.sqrt(21 * D) + 42))


def lie():
    """The relay, as a process of its own."""
    from python_node import DATA, DOWN, SPENT, SUM, Node, public_key

    class Liar(Node):
        def send(self, link, *elements):
            if elements[0] == SUM:
                _, number, digest, _, sent, _ = elements
                mask, sign = number // 2 % MASKS, 1 - 2 * (number % 2)
                parts = [DATA if mask >> k & 1 else DOWN if k else SPENT
                         for k in range(N)]
                most = int(longest(mask) / math.sqrt(D) / self.slice['step'])
                packed = bytes(parts[k] | parts[k + 1] << 4
                               for k in range(0, N, 2))
                elements = (SUM, number, digest, packed, sent,
                            np.full(D, sign * most, '<i8').tobytes())
            super().send(link, *elements)

    number, key, server, server_key, listen, data = sys.argv[2:8]
    Liar(int(number), key, server, public_key(server_key), listen,
         np.load(data)[int(number)]).run()


def run(build, decoder):
    """How far each mask moves the estimate, by its number, with its bound."""
    with Fleet(build, nodes=N, dimension=D, p=.6) as fleet:
        fleet.fit_decoder()
        for i in range(N):
            if i != LIAR:
                fleet.start_node(i)
        fleet.spawn('liar', ['/usr/bin/python3', os.path.abspath(__file__),
                             'lie', str(LIAR), fleet.key(LIAR),
                             fleet.addresses['server'],
                             fleet.key('server') + '.pub',
                             fleet.addresses[LIAR], fleet.path('data.npy')])
        fleet.start_server('--rounds', str(2 * MASKS + 2), '--quorum', str(N),
                           '--period', '0', '--early', '--share', '5000',
                           '--uplink', '8000', '--decoder', decoder)
        expect(fleet.wait('server') == 0, fleet.log('server'))
        expect(fleet.dropped() == {}, f'dropped: {fleet.dropped()}')
        arrived = fleet.query('SELECT min(arrived) FROM round')[0][0]
        expect(arrived == N, f'only {arrived} sums in a round')
        cap, = fleet.query('SELECT cap FROM decoder_node WHERE node = ?',
                           LIAR)[0]
        found = fleet.estimates()
        reach = {r // 2 % MASKS: np.abs(found[r] - found[r + 1]).mean() / 2
                 for r in range(2, 2 * MASKS + 2, 2)}
        bound = {m: cap * 1.001 * longest(m) / math.sqrt(D) for m in reach}
        return reach, bound


if sys.argv[1] == 'lie':
    lie()
else:
    noise = .15     # of the honest sums, in a mean of D differences

    def within(decoder, caps):
        reach, bound = run(sys.argv[1], decoder)
        for m in range(MASKS):
            expect(reach[m] < caps * bound[m] + noise,
                   f'{decoder}: mask {m:04b} moves the estimate by {reach[m]}, '
                   f'its cap allows {caps * bound[m]}')
        return reach

    constant, _ = run(sys.argv[1], 'constant')
    reach = within('minimax', 1)
    most = max(reach.values())
    print(f'the best lie moves the estimate by {most:.2f}, an honest mask by '
          f'{reach[MASKS - 1]:.2f}, with the constant decoder '
          f'{max(constant.values()):.2f}')
    expect(most < max(reach[MASKS - 1], max(constant.values())) + noise,
           f'a lie gains: {reach}, constant {constant}')
    adaptive = within('adaptive', 4)
    print(f'with the adaptive decoder by {max(adaptive.values()):.2f}')
