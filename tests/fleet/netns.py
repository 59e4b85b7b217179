"""A fleet in network namespaces whose links are really cut and restored: rounds
go on, what the study says was delivered is what was cut, and every estimate is
exactly the sum of what was delivered. Needs the right to make namespaces; else
it is skipped with a reason. Arguments: build folder."""
import os
import subprocess
import sys
import time

import numpy as np

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 4, 64
OWN, WEIGHT = .4, .3
TAG = f'pr{os.getpid() % 100000}'
HUB = TAG + 'h'
WHO = ['server'] + list(range(N))


def space(who):
    return f'{TAG}{"s" if who == "server" else who}'


def address(who):
    return f'10.77.0.{2 if who == "server" else 10 + who}'


def ip(*words, check=True):
    done = subprocess.run(['ip', *words], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise OSError(f'ip {" ".join(words)}: {done.stderr.strip()}')
    return done


def build_network():
    ip('netns', 'add', HUB)
    ip('-n', HUB, 'link', 'add', 'br0', 'type', 'bridge')
    ip('-n', HUB, 'link', 'set', 'br0', 'up')
    for who in WHO:
        ip('netns', 'add', space(who))
        ip('-n', HUB, 'link', 'add', space(who), 'type', 'veth', 'peer', 'name',
           'eth0', 'netns', space(who))
        ip('-n', HUB, 'link', 'set', space(who), 'master', 'br0', 'up')
        ip('-n', space(who), 'addr', 'add', address(who) + '/24', 'dev', 'eth0')
        ip('-n', space(who), 'link', 'set', 'eth0', 'up')
        ip('-n', space(who), 'link', 'set', 'lo', 'up')


def remove_network():
    for who in WHO:
        ip('netns', 'del', space(who), check=False)
    ip('netns', 'del', HUB, check=False)


def cut_pair(a, b, cut=True):
    for x, y in ((a, b), (b, a)):
        ip('-n', space(x), 'route', 'add' if cut else 'del', 'blackhole',
           address(y) + '/32')


class Watch:
    """What the study says about the rounds of one phase."""

    def __init__(self, fleet, phase, seconds):
        first = fleet.rounds_done()
        time.sleep(seconds)
        # The round in progress at either end belongs to no phase.
        self.range = (first + 1, fleet.rounds_done())
        self.fleet, self.phase = fleet, phase
        expect(self.range[1] > self.range[0] + 3, f'{phase}: no rounds')

    def uplink(self, node):
        return self.fleet.query(
            'SELECT avg(arrived) FROM arrival WHERE node = ? AND round > ? AND '
            'round <= ?', node, *self.range)[0][0]

    def link(self, a, b):
        return self.fleet.query(
            'SELECT avg(arrived) FROM delivery NATURAL JOIN link WHERE '
            'from_node = ? AND to_node = ? AND round > ? AND round <= ?',
            a, b, *self.range)[0][0]

    def check(self, down_uplinks=(), down_links=(), unknown=()):
        for i in range(N):
            want = 0 if i in down_uplinks else 1
            expect(abs(self.uplink(i) - want) <= .1,
                   f'{self.phase}: uplink {i} is {self.uplink(i)}, not {want}')
        for a in range(N):
            for b in range(N):
                if a == b or b in down_uplinks or a in unknown:
                    continue
                want = 0 if (a, b) in down_links else 1
                got = self.link(a, b)
                expect(got is not None and abs(got - want) <= .1,
                       f'{self.phase}: link {a} -> {b} is {got}, not {want}')
        print(f'{self.phase}: rounds {self.range[0] + 1} to {self.range[1]} '
              'as cut')


def check_estimates(fleet):
    """Without noise an estimate is the sum of what was delivered."""
    uplinks = set(fleet.query('SELECT round, node FROM arrival WHERE arrived'))
    # What a busy machine makes late is withheld: up, and not in the sum.
    own = set(fleet.query('SELECT round, node FROM withheld WHERE link < 0'))
    links = {}
    for r, a, b in fleet.query('SELECT d.round, from_node, to_node FROM '
                               'delivery d NATURAL JOIN link WHERE arrived AND '
                               'NOT EXISTS (SELECT 1 FROM withheld w WHERE '
                               'w.round = d.round AND w.link = link.link)'):
        links.setdefault((r, b), []).append(a)
    mean, worst = fleet.data.mean(axis=0), 0
    for r, estimate in fleet.estimates().items():
        total, weights = np.zeros(D), np.zeros(N)
        for j in range(N):
            if (r, j) in uplinks:
                weights[j] += 0 if (r, j) in own else OWN
                for a in links.get((r, j), []):
                    weights[a] += WEIGHT
        total = weights @ fleet.data / N
        expect(np.abs(total - estimate).max() < 1e-12,
               f'round {r}: the estimate is not what was delivered')
        bound = np.abs(weights - 1).sum() / N
        error = np.linalg.norm(estimate - mean)
        expect(error <= bound + 1e-12, f'round {r}: error {error} > {bound}')
        worst = max(worst, error)
    print(f'{len(fleet.estimates())} estimates exact, errors within their '
          f'bounds, at most {worst:.3f}')


def settle(fleet, seconds=20):
    """Wait until the last rounds are complete again."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        last = fleet.query('SELECT round, arrived FROM round ORDER BY round '
                           'DESC LIMIT 3')
        shares = fleet.query('SELECT sum(arrived) FROM delivery WHERE round >= '
                             '?', last[-1][0])[0][0] if last else 0
        if [n for _, n in last] == [N] * 3 and shares == 3 * N * (N - 1):
            return
        time.sleep(.1)
    expect(False, 'the fleet did not recover:\n' + fleet.log('server'))


def play(fleet):
    settle(fleet)
    Watch(fleet, 'all up', 1.5).check()
    cut_pair('server', 0)
    Watch(fleet, 'uplink 0 cut', 3).check(down_uplinks=[0])
    cut_pair('server', 0, False)
    settle(fleet)
    cut_pair(1, 2)
    Watch(fleet, 'pair 1, 2 cut', 1.5).check(down_links=[(1, 2), (2, 1)])
    cut_pair(1, 2, False)
    settle(fleet)
    ip('-n', HUB, 'link', 'set', space(3), 'down')
    Watch(fleet, 'node 3 without a network', 2).check(
        down_uplinks=[3], down_links=[(3, j) for j in range(3)])
    ip('-n', HUB, 'link', 'set', space(3), 'up')
    settle(fleet)
    loss = ['tc', '-n', HUB, 'qdisc', 'add', 'dev', space(2), 'root', 'netem',
            'loss', '100%']
    if subprocess.run(loss, capture_output=True).returncode == 0:
        Watch(fleet, 'node 2 hears nothing', 2)
        subprocess.run(['tc', '-n', HUB, 'qdisc', 'del', 'dev', space(2),
                        'root'], check=True)
        settle(fleet)
    else:
        print('no netem here: 100 % loss by blackhole routes only')


def main():
    try:
        build_network()
    except (OSError, FileNotFoundError) as error:
        remove_network()
        print(f'skipped: fleet_netns needs network namespaces ({error})')
        sys.exit(77)
    try:
        with Fleet(build, nodes=N, dimension=D, weight=WEIGHT, noise=0, own=OWN,
                   own_noise=0, host=address) as fleet:
            fleet.rounds_done = lambda: fleet.query(
                'SELECT coalesce(max(round), 0) FROM round')[0][0]
            for i in range(N):
                fleet.write_trust(i, [f'{j},inf,1,inf,1' for j in range(N)])
                fleet.start_node(i, prefix=('ip', 'netns', 'exec', space(i)))
            fleet.start_server('--quorum', str(N), '--period', '250', '--send',
                               '20', '--share', '100', '--uplink', '200',
                               '--ahead', '1000',
                               prefix=('ip', 'netns', 'exec', space('server')))
            play(fleet)
            for name in list(fleet.processes):
                how = fleet.stop(name)
                expect(how == 0, f'{name} stopped with {how}:' + fleet.log(name))
            check_estimates(fleet)
    finally:
        remove_network()


main()
