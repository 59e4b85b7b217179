"""A node written in Python from docs/protocol.md alone joins a fleet, sends,
relays, and its contribution is right to the last grid step. Arguments: build
folder."""
import os
import sys

import numpy as np

from fleet import Fleet, expect

build = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
N, D, ROUNDS = 4, 50, 12
# No noise and full trust: what arrives can be computed exactly.
with Fleet(build, nodes=N, dimension=D, weight=.25, noise=0, own=.5,
           own_noise=0) as fleet:
    for i in range(N):
        fleet.write_trust(i, [f'{j},inf,1,inf,1' for j in range(N)])
    for i in range(N - 1):
        fleet.start_node(i)
    fleet.spawn('python', ['/usr/bin/python3', here + '/python_node.py',
                           str(N - 1), fleet.key(N - 1),
                           fleet.addresses['server'],
                           fleet.key('server') + '.pub',
                           fleet.addresses[N - 1], fleet.path('data.npy')])
    fleet.start_server('--rounds', str(ROUNDS), '--quorum', str(N), '--period',
                       '0', '--early', '--share', '5000', '--uplink', '8000')
    expect(fleet.wait('server') == 0, fleet.log('server'))
    expect(fleet.dropped() == {}, f'dropped: {fleet.dropped()}')
    arrived = fleet.query('SELECT min(arrived) FROM round')[0][0]
    expect(arrived == N, f'only {arrived} sums in a round:\n' +
           fleet.log('python'))
    shares = fleet.query('SELECT min(arrived), count(*) FROM delivery')[0]
    expect(shares == (1, ROUNDS * N * (N - 1)), f'shares: {shares}')
    expected = fleet.data.mean(axis=0) * (.5 + .25 * (N - 1))
    for number, estimate in fleet.estimates().items():
        off = np.abs(estimate - expected).max()
        expect(off < 1e-13, f'round {number} is off by {off}')
    print(f'{ROUNDS} rounds with a node in Python, every sum exact')
