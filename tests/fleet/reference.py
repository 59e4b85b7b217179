"""Rounds relative to the last estimate, by real daemons. A fleet with a fixed
seed has the simulator's walk, bit for bit, though the server is restarted and
the nodes are killed in between; a node that comes late, or again, shares as soon
as it was handed the reference. At a node, a server written from docs/protocol.md
lies about the reference: without the one that OPEN names the node relays and shares
nothing, and whatever reference it has, what it shares is no longer than the step.
Arguments: build folder."""
import hashlib
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np

from fleet import Fleet, expect
from one_node import D, DATA, Server

build = sys.argv[1]
STEP = .3
KEYS = f'reference: last\nstep: {STEP}\n'
REFERENCE, WITHHELD, CODE = 9, 8, 12


def alike(nodes, dimension, seed=3):
    """Vectors near each other, and far from the centre."""
    rng = np.random.default_rng(seed)
    centre = np.zeros(dimension)
    centre[0] = .8
    return centre + .02 * rng.normal(size=(nodes, dimension))


def start(fleet, i):
    fleet.start_node(i, *fleet.emulation())


def serve(fleet, rounds, decoder):
    fleet.start_server('--early', '--period', '0', '--rounds', str(rounds),
                       '--quorum', str(fleet.nodes), '--emulate', '--seed',
                       str(fleet.seed), '--share', '20000', '--uplink',
                       '30000', '--decoder', decoder)
    expect(fleet.wait('server') == 0, 'the server failed:\n' +
           fleet.log('server'))


def test_walk(decoder, rounds=(9, 8)):
    with Fleet(build, nodes=5, dimension=6, keys=KEYS,
               data_given=alike(5, 6)) as fleet:
        if decoder != 'constant':
            fleet.fit_decoder()
        for i in range(5):
            start(fleet, i)
        serve(fleet, rounds[0], decoder)
        for i in range(5):
            fleet.stop(f'node{i}', signal.SIGKILL)
            start(fleet, i)
        serve(fleet, rounds[1], decoder)
        done = subprocess.run(
            [build + '/tests/fleet_replay', fleet.study, fleet.path('data.npy'),
             str(fleet.seed), str(sum(rounds)), decoder],
            capture_output=True, text=True)
        print(decoder + ':', done.stdout, end='')
        expect(done.returncode == 0, 'the fleet differs from the walk')
        expect(fleet.withheld() == {}, f'withheld: {fleet.withheld()}')
        expect(fleet.dropped() == {}, f'dropped: {fleet.dropped()}')
        errors = [e for e, in fleet.query('SELECT error FROM round WHERE '
                                          'estimate IS NOT NULL')]
        late = sum(errors[-8:]) / 8     # seeds are fixed: no chance
        print(f'squared error {errors[0]:.3f} at first, {late:.4f} in the end')
        expect(errors[0] > .2 and late < .04, f'no walk: {errors}')
        for i in range(5):
            expect(fleet.stop(f'node{i}') == 0, f'node {i} did not stop well')


def test_late():
    """The fourth node comes when the others have walked. Weights add up to 1 and
    there is next to no noise: once there, the walk stays at the mean, whoever is
    missing."""
    with Fleet(build, nodes=4, dimension=6, p=1, uplink=[1] * 4, keys=KEYS,
               weight=.1, own=.7, noise=.002, own_noise=.002,
               data_given=alike(4, 6)) as fleet:
        for i in range(3):
            fleet.start_node(i)
        fleet.start_server('--period', '300', '--send', '100', '--share',
                           '200', '--uplink', '280', '--quorum', '3',
                           '--ahead', '5', '--port', str(fleet.status_port))
        fleet.wait_rounds(6)
        fleet.start_node(3)
        before = fleet.rounds()
        end = time.monotonic() + 30
        while not fleet.query('SELECT 1 FROM round WHERE contributors = 4'):
            expect(time.monotonic() < end, 'the late node never took part:\n' +
                   fleet.log('node3'))
            time.sleep(.1)
        fleet.stop('node1', signal.SIGKILL)
        fleet.start_node(1)
        killed = fleet.rounds()
        while not fleet.query('SELECT 1 FROM round WHERE contributors = 4 AND '
                              'round > ?', killed + 3):
            expect(time.monotonic() < end, 'the killed node never came back:\n'
                   + fleet.log('node1'))
            time.sleep(.1)
        fleet.wait_rounds(before + 12)
        estimate = list(fleet.estimates().values())[-1]
        off = np.linalg.norm(estimate - fleet.data.mean(axis=0))
        expect(off < .1, f'{off} from the mean: relative to something else')
        page = fleet.get('/')[1]
        expect('R the step of 0.3' in page and 'radius of changes' in page,
               'the page does not say what the bar is of')
        # A round in which nobody's data arrives leaves the reference alone.
        for i in range(4):
            fleet.stop(f'node{i}')
        last = max(fleet.estimates())
        end = time.monotonic() + 20
        while fleet.query('SELECT max(round) FROM round')[0][0] < last + 3:
            if time.monotonic() > end:
                break   # nobody is there to be asked: no rounds either
            time.sleep(.1)
        for i in range(4):
            fleet.start_node(i)
        end = time.monotonic() + 30
        while max(fleet.estimates()) == last:
            expect(time.monotonic() < end, 'no estimates after a pause')
            time.sleep(.1)
        after = min(r for r in fleet.estimates() if r > last)
        off = np.linalg.norm(fleet.estimates()[after] - estimate)
        expect(off < .1, f'the walk began anew: {off} off in round {after}')
        expect(fleet.stop('server') == 0, 'the server did not stop well')


WEIGHT, RADIUS, TRUST = .5, .2, 'to,eps,delta\n0,inf,1\n1,inf,1\n'
DATA_OF_NODE = .3, -.4, .1, 0


class Liar(Server):
    """A server that hands references out."""

    def begin(self, noise, *more):
        self.number = 0
        self.start_node(TRUST, *more, data=DATA_OF_NODE)
        self.slice(1, 9, noise, radius=RADIUS, reach=1.0)

    def hand_out(self, number, reference):
        values = np.asarray(reference, '<f8').tobytes()
        self.send(REFERENCE, number, values)
        return hashlib.blake2b(values, digest_size=16).digest()

    def ask(self, reference, digest):
        """What the node shares in the next round: None, or its values."""
        self.number += 10
        r = self.number
        part = self.run_round(1, r, 0, reference, digest)
        if part != DATA:
            expect(part == WITHHELD and (r, CODE, 0) in self.refusals,
                   f'part {part}, refusals {self.refusals}')
            return None
        sent = np.frombuffer(self.values[r, 0], '<i8') * 2.0 ** -30 / WEIGHT
        expect(np.linalg.norm(sent) <= RADIUS, f'{sent} is too long')
        return sent


def cut(vector):
    return vector * min(1, RADIUS / np.linalg.norm(vector))


def test_liar():
    data = np.array(DATA_OF_NODE)
    with Liar(build) as server:
        server.begin(0.0)
        near = lambda a, b: a is not None and np.allclose(a, b, atol=1e-8)
        expect(near(server.ask(0, bytes(16)), cut(data)), 'the zero reference')
        expect(server.ask(0, b'') is None, 'shared relative to nothing')
        expect(server.ask(5, bytes(16)) is None, 'a reference that never came')
        good = np.array([.2, -.3, .1, .05])
        digest = server.hand_out(11, good)
        expect(near(server.ask(11, digest), data - good), 'the right reference')
        expect(server.ask(11, bytes(16)) is None, 'another digest')
        expect(server.ask(12, digest) is None, 'another round')
        # What no honest server hands out is not taken; the last one stays.
        for bad in ([np.nan, 0, 0, 0], [np.inf, 0, 0, 0], [.9, .9, 0, 0],
                    [1e308] * 4, [0] * 3, [0] * 5, []):
            expect(server.ask(20, server.hand_out(20, bad)) is None, str(bad))
        expect(near(server.ask(11, digest), data - good), 'forgotten')
        server.send(REFERENCE, 0, bytes(8 * D))
        server.send(REFERENCE, 21)
        server.send(REFERENCE, 21, bytes(8 * D), 1)
        # Any reference that is taken: never more than the step, as ask() checks.
        rng = np.random.default_rng(1)
        for number in range(30, 42):
            lie = rng.normal(size=D)
            lie /= np.linalg.norm(lie) * rng.choice([1, 1.0001, 3])
            sent = server.ask(number, server.hand_out(number, lie))
            expect(near(sent, cut(data - lie)), f'{sent} for {lie}')
        server.stop()


def test_charge():
    """Two steps are what a release is charged for, whatever the node's own
    word about its data is."""
    with Liar(build) as server:
        server.begin(.25, '--diameter', '0.01')
        expect(server.run_round(1, 10, 0, 0, bytes(16)) == DATA,
               f'{server.shares}')
        server.stop()
        with sqlite3.connect(server.path('ledger')) as db:
            charged = db.execute('SELECT mu FROM release').fetchall()
        db.close()
    expected = 2 * RADIUS * WEIGHT / .25
    expect(len(charged) == 2 and all(abs(mu - expected) < 1e-9 for mu, in
                                     charged),
           f'charged {charged} instead of {expected}')


test_liar()
test_charge()
test_late()
test_walk('constant')
test_walk('minimax')
