"""A node of a mesh written in Python from docs/protocol.md alone: it joins, its
releases arrive over its own uplink and over relays in C, what others release and
what the server announces passes through it, and estimates are what its seeds and
theirs give. Arguments: build folder."""
import json
import math
import os
import signal
import sys

import msgpack
import numpy as np

from fleet import expect
from mesh_fleet import NOWHERE, OPEN, PACKETS, Mesh, Peer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, '..', 'release'))
from reference_sample import Law, direction, lifted, sample, vector  # noqa: E402

build = sys.argv[1]
# 0, 2 and 3 are next to the node in Python and to nobody else. 2 knows no server; 3
# is played by the test.
PYTHON, TEST, N = 1, 3, 4
LINKS, UPLINK = [(0, PYTHON), (PYTHON, 2), (PYTHON, TEST)], [1, 1, 0, 0]


class PythonMesh(Mesh):
    def start_python(self, *more):
        return self.spawn('python', [
            '/usr/bin/python3', HERE + '/mesh_python_node.py',
            self.folder(PYTHON, 'node.conf'), *more])

    def events(self, name):
        """What the node in Python has said; the last line may be half of one."""
        with open(self.path('python.log')) as file:
            lines = file.read().split('\n')[:-1]
        found = [json.loads(line) for line in lines if line[:1] == '{']
        expect(len(found) == len(lines), self.log('python'))
        return [event for event in found if event['event'] == name]

    def law(self, node):
        return Law(self.dimension, *self.query(
            'SELECT threshold, loss FROM forward_plan_node WHERE node = ?',
            node)[0])

    def compute(self, payloads, radius=1.):
        """The estimate, or the change of one, from seeds, {node: payload}."""
        total = np.zeros(self.dimension)
        for node, payload in payloads.items():
            c, = self.query('SELECT coefficient FROM forward_plan_node WHERE '
                            'node = ?', node)[0]
            total += c / self.nodes * vector(payload, self.law(node), radius)
        return total

    def known(self):
        """Packets that the node in Python has held: {round: {node: payload}}."""
        return {event['round']: {int(node): bytes.fromhex(payload) for node,
                                 payload in event['packets'].items()}
                for event in self.events('round')}


class Tap(Peer):
    """Node 3: hears what the node in Python passes on, and can be made to send a
    false packet of node 2 before the true one can be there."""

    def __init__(self, mesh, lies=False):
        super().__init__(mesh, TEST)
        self.lies, self.sent, self.greeted, self.opens = lies, 0, set(), set()

    def step(self):
        """With HELLO when a connection opens, and never again."""
        messages = super().step()
        for who, channel in self.channels.items():
            if channel.open and channel not in self.greeted:
                self.greeted.add(channel)
                channel.send(msgpack.packb(self.hello()))
        return messages

    def connect(self, who):
        if who == 'server':
            raise ConnectionError('this node has no uplink')
        return super().connect(who)

    def take(self, who, message, frame):
        super().take(who, message, frame)
        opened = self.said.get(OPEN, [0] * 4)[3]
        self.opens.add(opened)
        if self.lies and opened > self.sent:
            self.sent = opened
            self.send(who, [3, PACKETS, opened + 1, 0, [
                [2, 1, 1, os.urandom(16), os.urandom(16), os.urandom(64)]]])


def check_estimates(mesh, after):
    """Estimates are those of the seeds that the node in Python has held or made; in
    how many rounds."""
    known, estimates, count = mesh.known(), mesh.estimates(), 0
    for r, heard in mesh.arrivals(after).items():
        if r not in estimates or PYTHON not in heard or \
                not set(heard) <= set(known.get(r, {})):
            continue
        right = mesh.compute({i: known[r][i] for i in sorted(heard)})
        off = np.abs(estimates[r] - right).max()
        expect(off < 1e-12, f'round {r} is off by {off}')
        count += 1
    return count


def check_paths():
    with PythonMesh(build, N, LINKS, UPLINK, dimension=5, rounds=5) as mesh:
        mesh.start_server('--ahead', '1000', period=400)
        tap = Tap(mesh)
        mesh.start_node(0)
        mesh.start_node(2)
        mesh.start_python()
        for server, want in ((), {0: 0, 1: 0, 2: 1}), \
                (('--server', NOWHERE), {0: 0, 1: 1, 2: 2}):
            # Dies in any state, and comes back with or without its uplink.
            for _ in range(3):
                tap.run(.6)
                mesh.stop('python', signal.SIGKILL)
                mesh.start_python(*server)
            first = mesh.last()
            tap.run(60, until=lambda: sum(
                heard == want for heard in mesh.arrivals(first).values()) >= 8
                and check_estimates(mesh, first) >= 5)
            count = check_estimates(mesh, first)
            expect(count >= 5, f'{count} rounds as {want}:\n' + mesh.log('python')
                   + f'{mesh.arrivals(first)}')
            print(f'{count} rounds with arrivals over {want} relays: each estimate '
                  'is that of the seeds')
            # Nodes 2 and 3 hear announcements through the node in Python alone.
            heard = {r for r in tap.opens if r > first}
            expect(tap.digest is not None and len(heard) >= 5,
                   f'node 3 has heard of {heard} only')
        last = mesh.last()
        mesh.stop('server', signal.SIGKILL)
        tap.run(60, until=lambda: {PYTHON, 2} <= {
            i for r, i in tap.seen if r >= last + 3})
        expect({PYTHON, 2} <= {i for r, i in tap.seen if r >= last + 3} and
               mesh.events('clock'), 'rounds by the clock')
        check_one_release(mesh, tap)
        tap.close()


def check_one_release(mesh, tap):
    """Never a second release of a round; each is charged."""
    expect(all(len(variants) == 1 for variants in tap.seen.values()),
           'a second release of a round')
    mesh.stop('python')
    made = [event['round'] for event in mesh.events('release')]
    expect(len(made) == len(set(made)), f'made twice: {made}')
    ledger = mesh.folder(PYTHON, 'python.ledger')
    stored = mesh.query('SELECT round, payload FROM release', path=ledger)
    entries = mesh.query('SELECT rounds, used FROM entry', path=ledger)
    expect(sum(used for _, used in entries) == len(stored) and
           all(used <= rounds == 5 for rounds, used in entries) and
           sum(used < rounds for rounds, used in entries) <= 1, entries)
    for r, i in tap.seen:
        if i == PYTHON:
            expect((r, next(iter(tap.seen[r, i]))[0]) in stored, f'round {r}')
    print(f'{len(stored)} releases of the node in Python, six kills: each charged, '
          f'stored and sent as one variant; {len(mesh.events("clock"))} rounds by '
          'the clock')


def check_restart():
    """Killed after its release and started again within the round, it sends the same
    bytes. A slow machine may need several tries to be back in time."""
    with PythonMesh(build, N, LINKS, UPLINK) as mesh:
        mesh.start_server(period=5000)
        tap = Tap(mesh)
        for _ in range(8):
            mesh.start_python()
            before = len(mesh.events('release'))
            tap.run(60, until=lambda: len(mesh.events('release')) > before)
            made = mesh.events('release')[-1]
            mesh.stop('python', signal.SIGKILL)
            tap.seen.clear()
            mesh.start_python()
            again = (made['round'], PYTHON)
            tap.run(60, until=lambda: any(i == PYTHON for _, i in tap.seen))
            if again in tap.seen:
                break
            mesh.stop('python', signal.SIGKILL)
        payloads = {payload.hex() for payload, *_ in tap.seen.get(again, ())}
        expect(payloads == {made['payload']}, f'{made}, then {payloads}')
        print('started again within a round it sends the same release')
        tap.close()


def check_forged():
    """The false copy is first, and the true one arrives; in several attempts."""
    with PythonMesh(build, N, LINKS, UPLINK, keys='repeat: 2\n') as mesh:
        mesh.start_server('--send', '100', '--share', '200', '--uplink', '300',
                          period=700)
        liar = Tap(mesh, lies=True)
        mesh.start_node(0)
        mesh.start_node(2)
        mesh.start_python()
        replaced = lambda: {event['round'] for event in mesh.events('forged')
                            if event['node'] == 2 and event['replaced']} & {
            r for r, heard in mesh.arrivals().items() if 2 in heard}
        liar.run(60, until=lambda: len(replaced()) >= 6 and
                 check_estimates(mesh, 0) >= 4)
        expect(len(replaced()) >= 6, mesh.log('python') + mesh.log('server'))
        expect(check_estimates(mesh, 0) >= 4, mesh.log('python'))
        print(f'in {len(replaced())} rounds a forged copy came first, and the true one '
              'arrived')
        liar.close()


def clip(x, length):
    return x * min(1, length / max(length, np.linalg.norm(x)))


def check_relative():
    """Rounds relative to the last estimate: each estimate is the one before and the
    change of the seeds. With a loss of nearly 12 a release of the node in Python is
    near the change that it should release: the median of its distances is below
    four times the deviation that the law has. A distance is above that with
    probability 1/16 at most, so half of 40 are less than once in 10^12 runs."""
    step = .4
    with PythonMesh(build, N, LINKS, UPLINK, eps=12,
                    keys=f'reference: last\nstep: {step}\n') as mesh:
        mesh.start_server(period=400)
        mesh.start_node(0)
        mesh.start_node(2)
        mesh.start_python()
        near, law, rounds = [], mesh.law(PYTHON), {}

        def complete(_):
            known = mesh.known()
            rounds.update({r: known[r] for r, heard in mesh.arrivals().items()
                           if r in known and {0, 1, 2} == set(heard) ==
                           set(known[r])})
            return len(rounds) >= 40
        mesh.wait_for(complete, 'all take part', 120)
        estimates = mesh.estimates()
        for r, payloads in rounds.items():
            before = estimates[max(k for k in estimates if k < r)] \
                if r > min(estimates) else np.zeros(2)
            right = clip(before + mesh.compute(payloads, step), 1)
            off = np.abs(estimates[r] - right).max()
            expect(off < 1e-12, f'round {r} is off by {off}')
            change = clip(mesh.data[PYTHON] - before, step)
            near.append(np.linalg.norm(
                vector(payloads[PYTHON], law, step) - change))
        limit = 4 * step * math.sqrt(max(law.variance(0), law.variance(1)))
        expect(np.median(near) < limit, f'{np.median(near)}, {limit}')
        print(f'{len(near)} relative rounds: estimates are those of the seeds; '
              f'half of the releases within {np.median(near):.3f} of the change')


def check_refusal():
    """A plan that costs more than the trust file allows: the node only relays."""
    with PythonMesh(build, N, LINKS, UPLINK) as mesh:
        mesh.write(f'fleet/node{PYTHON}/node.trust',
                   'to,eps,delta\neveryone,3.9,1e-5\n')
        mesh.start_server()
        mesh.start_node(0)
        mesh.start_node(2)
        mesh.start_python()
        mesh.wait_for(lambda found: {0: 0, 2: 1} in found.values(),
                      'the node in Python only relays')
        expect(mesh.events('refused') and not mesh.events('release'),
               mesh.log('python'))
        print('with a smaller trust file it releases nothing and relays')


def check_law():
    """What Python computes from the page is what the library plans with: variances,
    and the cost of T rounds, where plans use their budget up to a small part."""
    for d, eps, rounds in (2, 4, 1), (2, 4, 20), (16, 8, 5), (128, 4, 1):
        with PythonMesh(build, 2, [(0, 1)], [1, 1], dimension=d, eps=eps,
                        rounds=rounds) as mesh:
            law = mesh.law(0)
            variance, kind = mesh.query('SELECT variance, release FROM '
                                        'forward_plan_node WHERE node = 0')[0]
            expect(kind == 'sphere', kind)
            ours = max(law.variance(0), law.variance(1))
            expect(abs(ours / variance - 1) < 1e-9, f'{ours}, {variance}')
            pure = rounds * (law.e0 + law.charge)
            delta = law.delta(eps, rounds)
            expect(pure <= eps or .99e-5 < delta <= 1e-5, f'{pure}, {delta}')
            more = Law(d, law.t, law.e0 + 2 ** -10).delta(eps, rounds)
            expect(more > 1e-5, f'{more} with more loss')
    print('variances and costs of T rounds are those of the library')


def check_sampler(d, e0, count):
    """Releases by the sampler have the law of the page. Each of d + 3 numbers is
    within 5 standard errors: a right sampler fails in 6 (d + 3) of 10^7 runs."""
    t = 2.5 / math.sqrt(d + 1) if d > 2 else .7615941559557649
    law, rng = Law(d, t, e0), np.random.default_rng(3)
    x = rng.normal(size=d)
    x *= .8 / np.linalg.norm(x)
    u = lifted(x, 1.)
    seeds = [sample(law, x, 1.) for _ in range(count)]
    directions = np.array([direction(seed, d + 1) for seed in seeds])
    inside = directions @ u > t
    off = directions[:, :d] / law.m - x
    squares = (off ** 2).sum(axis=1)
    numbers = [(inside, law.p), (squares, law.variance(.8)),
               (off @ x, 0), *((column, 0) for column in off.T)]
    for drawn, mean in numbers:
        error = np.std(drawn) / math.sqrt(count)
        expect(abs(np.mean(drawn) - mean) < 5 * error,
               f'd = {d}: mean {np.mean(drawn)} instead of {mean}, {error}')
    print(f'd = {d}: share in the cap, mean and variance of {count} releases as '
          'they should be')


check_law()
check_sampler(2, 4., 10000)
check_sampler(16, 2., 3000)
check_paths()
check_restart()
check_forged()
check_relative()
check_refusal()
