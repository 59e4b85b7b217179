"""Rounds of a mesh that are relative to the last estimate, by real daemons. With a
fixed seed they are the simulator's walk, bit for bit, though server and nodes are
killed in between; nodes behind relays take part, and after kills of the server no
node makes a second release of a round; a node whose only relay keeps RESULT back is
silent, and says so, until it comes; an enrolled liar moves the estimate as far as
docs/threats.md says, and honest nodes pull it back. Arguments: build folder."""
import os
import signal
import subprocess
import sys

import numpy as np

from fleet import expect
from mesh_fleet import (ANNOUNCE, FLEET, OPEN, PACKETS, RESULT, Mesh, Peer,
                        hashed)

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'release'))
from reference_expand import direction  # noqa: E402

build = sys.argv[1]
STEP = .2
KEYS = f'reference: last\nstep: {STEP}\n'


def alike(mesh, centre, spread=.02):
    """Vectors near each other, and far from zero."""
    rng = np.random.default_rng(3)
    mesh.data = np.array(centre) + spread * rng.normal(size=mesh.data.shape)
    np.save(mesh.path('mean.npy'), mesh.data.mean(axis=0))
    np.save(mesh.path('data.npy'), mesh.data)
    for i in range(mesh.nodes):
        np.save(mesh.folder(i, 'vector.npy'), mesh.data[i:i + 1])


def estimates(mesh):
    return {r: np.frombuffer(e) for r, e in mesh.query(
        'SELECT round, estimate FROM round WHERE estimate IS NOT NULL')}


def test_walk(name, keys, rounds=(25, 20)):
    """Links that fail; some rounds have no estimate, and keep the reference."""
    with Mesh(build, 6, [(i, j) for i in range(6) for j in range(i)
                         if (i + j) % 3], [.3, 0, .2, 0, 0, .1], dimension=5,
              rounds=8, eps=12, keys=KEYS + keys,
              p=lambda i, j: (3 + (i + 2 * j) % 4) / 10) as mesh:
        alike(mesh, [.6, .3, 0, 0, 0])
        start = lambda i: mesh.spawn_in(i, 'pricer-node', mesh.emulation())
        for i in range(6):
            start(i)
        for k, count in enumerate(rounds):
            if k > 0:
                for i in range(6):
                    mesh.stop(f'node{i}', signal.SIGKILL)
                    start(i)
            mesh.spawn_in('server', 'pricer-server', [
                '--early', '--period', '0', '--rounds', str(count), '--wait',
                '6', '--quorum', '1', '--emulate', '--seed', str(mesh.seed),
                '--share', '20000', '--uplink', '30000', '--truth',
                mesh.path('mean.npy')])
            expect(mesh.wait('server', 120) == 0, mesh.log('server'))
        done = subprocess.run(
            [build + '/tests/fleet_replay', mesh.study, mesh.path('data.npy'),
             str(mesh.seed), str(sum(rounds))], capture_output=True, text=True)
        print(f'{name}:', done.stdout, end='')
        expect(done.returncode == 0, 'the fleet differs from the walk')
        expect(len(estimates(mesh)) < sum(rounds), 'every round had an estimate')


def test_line():
    """Only node 0 knows the server; 4, at the other end, is played by the test."""
    with Mesh(build, 5, [(0, 1), (1, 2), (2, 3), (3, 4)], [1, 0, 0, 0, 0],
              eps=8, keys=KEYS) as mesh:
        alike(mesh, [.6, .3])
        everyone = lambda found: any(set(heard) >= {0, 1, 2, 3}
                                     for heard in found.values())
        mesh.start_server('--ahead', '1000')
        for i in range(4):
            mesh.start_node(i)
        mesh.wait_for(everyone, 'nodes without a server take part')
        tap, opened = Peer(mesh, 4), {}
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            before = mesh.last()
            mesh.stop('server', how)
            known = max(estimates(mesh))
            tap.run(.5)
            mesh.start_server('--ahead', '1000')
            first = lambda: tap.said.get(OPEN, [0] * 4)[3] > before and \
                tap.said.get(RESULT, [0] * 3)[2] >= known
            tap.run(60, until=first)
            # The first round after a restart may have been heard late: all name
            # an estimate that the study has, and none before the last.
            body = tap.said[OPEN]
            expect(first() and body[8] >= known and body[6] == 0, f'{body}')
            opened[body[3]] = body[8:10]
            tap.run(60, until=lambda: everyone(mesh.arrivals(before + 1)))
            expect(everyone(mesh.arrivals(before + 1)), mesh.log('server'))
        for i in (2, 0, 3, 1):
            mesh.stop(f'node{i}', signal.SIGKILL)
            mesh.start_node(i)
            tap.run(.3)
        last = mesh.last()
        tap.run(60, until=lambda: everyone(mesh.arrivals(last + 1)))
        expect(everyone(mesh.arrivals(last + 1)), 'all come back')
        stored = estimates(mesh)
        for reference, digest in opened.values():
            expect(hashed(stored[reference].tobytes(), 16) == digest,
                   f'the estimate of round {reference} is another')
        expect(all(len(v) == 1 for v in tap.seen.values()),
               'a second release of a round')
        # No node opens a round by itself.
        mesh.stop('server', signal.SIGKILL)
        tap.run(1.5)
        last = max(r for r, _ in tap.seen)
        tap.run(2)
        expect(max(r for r, _ in tap.seen) == last, 'rounds by the clock')
        late = np.mean([stored[r] for r in sorted(stored)[-8:]], axis=0)
        off = np.linalg.norm(late - mesh.data.mean(axis=0))
        expect(off < .25, f'{off} from the mean')
        print(f'{len(tap.seen)} packets at the far end, one variant of each, '
              f'over three restarts of the server; {off:.2f} from the mean')
        tap.close()


class Hider(Peer):
    """A relay between nodes 0 and 2 that keeps back what `hidden` names."""

    def __init__(self, mesh):
        super().__init__(mesh, 1)
        self.hidden = set()

    def take(self, who, message, frame):
        before = dict(self.frames)
        super().take(who, message, frame)
        if message[1] == ANNOUNCE:
            for kind in set(self.frames) - self.hidden:
                if self.frames[kind] != before.get(kind):
                    self.send(2, frame)
        elif message[1] == PACKETS and who == 2:
            for packet in message[4]:
                packet[2] += 1
            self.send(0, message)

    def pass_on(self, until):
        """Until then, also what node 2 has missed: it may not have been connected."""
        for _ in range(120):
            for kind in (FLEET, RESULT, OPEN):
                if kind in self.frames and kind not in self.hidden:
                    self.send(2, self.frames[kind])
            self.run(.5, until)
            if until():
                return


def test_silent():
    with Mesh(build, 3, [(0, 1), (1, 2)], [1, 0, 0], eps=8, keys=KEYS) as mesh:
        relay = Hider(mesh)
        mesh.start_server(period=400)
        mesh.start_node(0)
        mesh.start_node(2)
        heard = lambda after: any(2 in h for h in mesh.arrivals(after).values())
        start = mesh.last()
        relay.pass_on(until=lambda: heard(start))
        expect(heard(start), 'node 2 takes part over the relay')
        relay.hidden = {RESULT}
        start = mesh.last() + 1
        relay.run(60, until=lambda: mesh.last() >= start + 6)
        # The round after the last RESULT that it had may still be its own.
        quiet = {r: h for r, h in mesh.arrivals(start).items() if 2 in h}
        expect(not quiet, f'node 2 released without a reference: {quiet}')
        expect('which is not here: nothing is released' in mesh.log('node2'),
               mesh.log('node2'))
        spent = mesh.query('SELECT max(round) FROM packet',
                           path=mesh.folder(2, 'node.ledger'))[0][0]
        expect(spent <= start, f'round {spent} was charged')
        relay.hidden = set()
        start = mesh.last()
        relay.pass_on(until=lambda: heard(start))
        expect(heard(start), 'node 2 goes on when RESULT comes')
        print('a node without the reference is silent, charges nothing, and goes '
              'on when it comes')
        relay.close()


N, LIAR, D = 5, 4, 2


class Pusher(Peer):
    """Always in one direction, as far as a release can."""

    def __init__(self, mesh, e):
        super().__init__(mesh, LIAR)
        self.pushing, self.sent, self.done = True, {}, set()
        rng = np.random.default_rng(5)
        pool = [rng.bytes(16) for _ in range(400)]
        self.seeds = sorted(pool, key=lambda s: -np.dot(direction(s, D + 1)[:D], e))

    def take(self, who, message, frame):
        super().take(who, message, frame)
        round_ = self.said.get(OPEN, [0] * 4)[3]
        if not self.digest and 'server' in self.channels:
            self.send('server', self.hello())
        if self.digest and round_ not in self.done:
            self.done.add(round_)
            self.send('server', self.hello())
            if self.pushing:
                seed = self.seeds[len(self.sent) % 3]
                self.sent[round_] = np.array(direction(seed, D + 1)[:D])
                self.send('server', [3, PACKETS, round_, 0,
                                     [self.packet(round_, seed, 0)]])


def test_liar():
    """Honest data are at one point and the liar pushes away from it. Noise of an
    honest release has the variance v, so the mean offset of k rounds is that of
    docs/threats.md within 5 sqrt(4 v / k) / (n w): a false alarm in 10^6 runs."""
    with Mesh(build, N, [(i, (i + 1) % N) for i in range(N)], [1] * N, eps=8,
              keys=KEYS + 'release: sphere\n') as mesh:
        centre, e = np.array([-.5, .2]), np.array([1, 0])
        alike(mesh, centre, spread=0)
        c, loss, v = np.array(mesh.query(
            'SELECT coefficient, threshold, variance FROM forward_plan_node')).T
        m = loss[0]  # the best threshold of one round is m itself
        push = c[LIAR] * STEP / (N * m)
        w = sum(c[:LIAR]) / N
        mesh.start_server('--wait', '4', period=250)
        for i in range(N - 1):
            mesh.start_node(i)
        liar = Pusher(mesh, e)
        liar.run(120, until=lambda: mesh.rounds() >= 60)
        liar.pushing = False
        stop = mesh.last() + 2
        liar.run(120, until=lambda: mesh.last() >= stop + 40)
        liar.close()
        stored = estimates(mesh)
        arrived = mesh.arrivals()
        expect(max(np.linalg.norm(x) for x in stored.values()) <= 1 + 1e-9,
               'an estimate longer than the radius')
        moves = [c[LIAR] * STEP / m / N * liar.sent[r] for r in liar.sent]
        expect(max(map(np.linalg.norm, moves)) <= push * (1 + 1e-9), 'a push')
        # What is left of a round without the push is what honest releases made.
        for r in sorted(stored)[1:]:
            if r - 1 not in stored or LIAR in arrived[r] and r not in liar.sent:
                continue
            pushed = LIAR in arrived[r]
            rest = stored[r] - stored[r - 1] - (
                c[LIAR] * STEP / m / N * liar.sent[r] if pushed else 0)
            honest = sum(c[i] for i in arrived[r] if i != LIAR) * STEP / (N * m)
            expect(np.linalg.norm(rest) <= honest * (1 + 1e-9), f'round {r}')
        full = lambda r, liar_too: set(arrived[r]) == set(range(N if liar_too
                                                                else N - 1))
        under = [r for r in stored if 20 < r < stop - 2 and full(r, True)]
        after = [r for r in stored if r > stop + 8 and full(r, False)]
        expect(len(under) > 20 and len(after) > 20, f'{len(under)}, {len(after)}')
        mean_push = np.mean([np.dot(x, e) for x in moves[20:]])
        for rounds, least, what in ((under, mean_push, 'under'), (after, 0, 'after')):
            offset = np.mean([np.dot(stored[r] - centre, e) for r in rounds])
            expected = least / w
            error = 5 * np.sqrt(4 * v[0] / len(rounds)) / (N * w)
            print(f'{what}: {offset:.4f} off, expected {expected:.4f} +- '
                  f'{error:.4f}; a push of {push:.4f}, w {w:.2f}')
            expect(abs(offset - expected) < error, what)


test_silent()
test_line()
test_liar()
test_walk('sphere', 'release: sphere\n')
test_walk('gaussian', 'release: gaussian\n')
test_walk('attempts', 'repeat: 2\n')
