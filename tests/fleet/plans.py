"""Messages are bound to the plan: while plans change under nodes that open
rounds by themselves, every estimate is exactly what the shares of its own plan
add up to. Without the seal, shares of the old plan enter sums of the new one in
other units. And rounds of a new plan do not wait for a node that was not there
with the old one. Arguments: build folder."""
import signal
import sys
import time

import numpy as np

from fleet import Fleet, expect

build = sys.argv[1]
N, D, CHANGES = 4, 8, 10


def check(fleet, plans):
    """How many rounds; each is the sum of what was delivered and not withheld,
    as nodes do that are late (link -1 is a node's own part)."""
    uplinks = set(fleet.query('SELECT round, node FROM arrival WHERE arrived'))
    withheld = set(fleet.query('SELECT round, node, link FROM withheld'))
    links = {}
    for r, l, a, b in fleet.query('SELECT round, link, from_node, to_node '
                                  'FROM delivery NATURAL JOIN link '
                                  'WHERE arrived'):
        if (r, a, l) not in withheld:
            links.setdefault((r, b), []).append(a)
    plan_of = dict(fleet.query('SELECT round, plan FROM round'))
    for r, estimate in fleet.estimates().items():
        weight, own = plans[plan_of[r]]
        weights = np.zeros(N)
        for j in range(N):
            if (r, j) in uplinks:
                weights[j] += own * ((r, j, -1) not in withheld)
                for a in links.get((r, j), []):
                    weights[a] += weight
        off = np.abs(weights @ fleet.data / N - estimate).max()
        expect(off < 1e-9, f'round {r} of plan {plan_of[r]} is off by {off}')
    return len(plan_of), len(set(plan_of.values()))


# Weights that differ much, so that the grids do too.
plans = {1: (.25, .5)}
with Fleet(build, nodes=N, dimension=D, weight=.25, noise=0, own=.5,
           own_noise=0) as fleet:
    for i in range(N):
        fleet.write_trust(i, [f'{j},inf,1,inf,1' for j in range(N)])
        fleet.start_node(i)
    fleet.start_server('--quorum', str(N), '--period', '60', '--send', '5',
                       '--share', '35', '--uplink', '50', '--ahead', '1000')
    fleet.wait_rounds(5)
    for k in range(2, CHANGES + 2):
        plans[k] = (.25, .5) if k % 2 else (200., 1000.)
        fleet.add_plan(plans[k][0], 0, plans[k][1], 0)
        time.sleep(.7)
    fleet.wait_rounds(fleet.rounds() + 5)
    fleet.stop('node3', signal.SIGKILL)
    time.sleep(1)
    plans[CHANGES + 2] = plans[1]
    began = time.monotonic()
    fleet.add_plan(plans[1][0], 0, plans[1][1], 0)
    while fleet.query('SELECT count(*) FROM round WHERE contributors = ? AND plan = ?',
                      N - 1, CHANGES + 2)[0][0] < 5:
        expect(time.monotonic() < began + 2.8, 'rounds wait for the dead')
        time.sleep(.02)
    expect(fleet.stop('server') == 0, fleet.log('server'))
    rounds, seen = check(fleet, plans)
    expect(seen == CHANGES + 2, f'only {seen} plans had rounds')
    print(f'{rounds} rounds over {seen} plans, every estimate exact; dropped '
          f'{fleet.dropped()}')
