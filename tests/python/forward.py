#!/usr/bin/env python3
"""Releases and plans of forwarding: published values, the command line's numbers to
the bit, faults that name the argument, pickles.

    tests/python/forward.py BUILD
"""
import copy
import json
import os
import pickle
import subprocess
import tempfile
import unittest

import common
import numpy as np
import pricer

# d, eps, rounds, kind, variance at radius 1 and delta = 1e-5
VALUES = [(2, 4, 1, 'sphere', .4827078), (2, 4, 1, 'gaussian', 9.351288),
          (2, 8, 1, 'sphere', .05068122), (1, 1, 1, 'sphere', 4.76089),
          (1, 1, 1, 'gaussian', 55.67045), (16, 2, 1, 'sphere', 24.65707),
          (16, 2, 1, 'gaussian', 254.4184), (128, 8, 1, 'sphere', 16.45667),
          (10 ** 4, 4, 1, 'sphere', 4352.489), (2, 8, 5, 'sphere', 3.95131),
          (2, 8, 5, 'gaussian', 14.411), (16, 8, 10, 'sphere', 152.70)]

FOUR = dict(uplink=[.9, .2, 0, .1], from_=[1, 2, 3, 2, 3], to=[0, 1, 2, 0, 1],
            p=[.8, .7, .6, .3, .2], everyone_delta=1e-5, dimension=2,
            reciprocity=0)

SENSORS = """
dimension: 2
network: {generator: geometric, nodes: 60, density: 60, cutoff: 0.1,
  uplink: 0.05, good: {fraction: 0.15, uplink: 0.9}, reciprocity: 0.5}
trust: {everyone: {eps: 4}}
"""


def command(*words):
    out = subprocess.run([os.path.join(common.BUILD, 'pricer'), *words],
                         capture_output=True, text=True, check=True)
    return json.loads(out.stdout) if '--json' in words else None


class Faults(unittest.TestCase):
    def refused(self, words, function, *arguments, **more):
        with self.assertRaises((pricer.Fault, TypeError)) as caught:
            function(*arguments, **more)
        self.assertTrue(str(caught.exception).startswith(words),
                        f'{caught.exception} does not begin with {words}')


class Releases(Faults):
    def test_published_values(self):
        for d, eps, rounds, kind, variance in VALUES:
            made = pricer.Release.for_budget(eps, 1e-5, d, rounds=rounds,
                                             kind=kind)
            self.assertEqual((made.kind, made.dimension, made.rounds),
                             (kind, d, rounds))
            np.testing.assert_allclose(made.variance, variance, rtol=3e-5)
            self.assertLessEqual(made.delta(eps), 1e-5)
            self.assertLessEqual(made.epsilon(1e-5), eps)
            self.assertGreater(made.epsilon(1e-5), .999 * eps)
            best = pricer.Release.for_budget(eps, 1e-5, d, rounds=rounds)
            self.assertLessEqual(best.variance, made.variance)
            twice = pricer.Release.for_budget(eps, 1e-5, d, 2.0, rounds, kind)
            np.testing.assert_allclose(twice.variance, 4 * made.variance)
        one = pricer.Release.for_budget(4, 1e-5, 2)
        np.testing.assert_allclose((one.m, one.q, one.p, one.threshold, one.e0),
                                   (.76159416, .119203, .8807971, .76159416, 4),
                                   rtol=1e-6)
        self.assertLess(one.charge, 4e-9)

    def test_composition(self):
        e0 = np.floor(.8 * 2 ** 40) / 2 ** 40
        one = pricer.Release.of('sphere', 2, threshold=.3, e0=e0)
        np.testing.assert_allclose(one.delta(4, 10), .123935535504, rtol=1e-9)
        np.testing.assert_allclose(one.epsilon(one.delta(4, 10), 10), 4,
                                   rtol=1e-9)
        np.testing.assert_allclose(one.epsilon(0, 10), 10 * e0, rtol=1e-8)
        noisy = pricer.Release.of('gaussian', 3, noise=2.5, radius=.5)
        np.testing.assert_allclose(
            noisy.delta(1, 4), pricer.delta_gaussian(1, 2 * .5 / 2.5 * 2),
            rtol=1e-12)
        self.assertEqual(noisy.epsilon(0), np.inf)
        self.assertEqual(noisy.variance_at(.2), 3 * 2.5 ** 2)

    def test_diameter(self):
        """A Gaussian for data no further apart; a sphere is for any data."""
        make = pricer.Release.for_budget
        whole = make(4, 1e-5, 2, kind='gaussian')
        close = make(4, 1e-5, 2, radius=10, rounds=1, diameter=2)
        self.assertEqual((close.kind, close.diameter), ('gaussian', 2))
        np.testing.assert_allclose(close.noise, whole.noise, rtol=1e-4)
        self.assertLessEqual(close.epsilon(1e-5), 4)
        self.assertGreater(close.epsilon(1e-5), 3.999)
        same = pricer.Release.of('gaussian', 2, noise=close.noise, radius=10,
                                 diameter=2)
        self.assertEqual(same.epsilon(1e-5), close.epsilon(1e-5))
        ball = pricer.Release.of('gaussian', 2, noise=close.noise, radius=10)
        self.assertEqual(ball.diameter, 20)
        self.assertGreater(ball.epsilon(1e-5), 20)
        for kind, diameter in ('best', 1.0), ('sphere', .1):
            one = make(4, 1e-5, 2, kind=kind, diameter=diameter)
            self.assertEqual((one.kind, one.diameter), ('sphere', 2))
            self.assertEqual(one, make(4, 1e-5, 2))
        self.refused('diameter = 3', make, 4, 1e-5, 2, diameter=3)
        network = pricer.Network.from_arrays(
            everyone_eps=4, node_diameter=[2, .1, 1, .2], **FOUR)
        self.assertEqual(list(pricer.plan(network).release),
                         ['sphere', 'gaussian', 'sphere', 'gaussian'])

    def test_samples(self):
        """Unbiased and of the stated variance, within 6 standard errors (once in
        10^8); the same bytes for the same seed."""
        rng = np.random.default_rng(1)
        x = rng.normal(size=3)
        x *= .7 / np.linalg.norm(x)
        rows = np.tile(x, (20000, 1))
        for kind in ('sphere', 'gaussian'):
            one = pricer.Release.for_budget(2, 1e-5, 3, kind=kind)
            seeds = one.sample(rows, seed=5)
            self.assertEqual((seeds.shape, seeds.dtype),
                             ((len(rows), one.bytes), np.uint8))
            values = one.decode(seeds)
            v = one.variance_at(.7)
            self.assertTrue((abs(values.mean(0) - x)
                             < 6 * np.sqrt(v / len(rows))).all())
            squares = ((values - x) ** 2).sum(1)
            self.assertLess(abs(squares.mean() - v),
                            6 * squares.std() / np.sqrt(len(rows)))
            np.testing.assert_array_equal(one.sample(rows[:9], seed=5),
                                          seeds[:9])
            self.assertEqual(one.sample(x, seed=5), seeds[0].tobytes())
            np.testing.assert_array_equal(one.decode(seeds[0].tobytes()),
                                          values[0])
            self.assertTrue((one.sample(rows[:9], seed=5, round=1)
                             != seeds[:9]).any())
            self.assertNotEqual(one.sample(x), one.sample(x))
            self.assertEqual(len(one.sample(np.zeros((0, 3)))), 0)

    def test_long_vectors_are_clipped(self):
        one = pricer.Release.for_budget(8, 1e-5, 2)
        np.testing.assert_array_equal(one.sample([[3., 4.]], seed=1),
                                      one.sample([[.6, .8]], seed=1))

    def test_faults(self):
        make, one = pricer.Release.for_budget, pricer.Release.for_budget(1, 0, 2)
        for words, call in {
                'eps = -1': lambda: make(-1, 1e-5, 2),
                'delta = 2': lambda: make(1, 2, 2),
                'dimension = 0': lambda: make(1, 1e-5, 0),
                'dimension = 2.5': lambda: make(1, 1e-5, 2.5),
                'radius = -1': lambda: make(1, 1e-5, 2, -1),
                'rounds = 0': lambda: make(1, 1e-5, 2, rounds=0),
                'rounds = -3': lambda: make(1, 1e-5, 2, rounds=-3),
                "kind = 'laplace' is none of best": lambda: make(
                    1, 1e-5, 2, kind='laplace'),
                'a Gaussian release needs': lambda: make(1, 0, 2,
                                                         kind='gaussian'),
                'threshold = 2': lambda: pricer.Release.of(
                    'sphere', 2, threshold=2, e0=1),
                'e0 = ': lambda: pricer.Release.of('sphere', 2, threshold=.3,
                                                   e0=13),
                'noise = 0': lambda: pricer.Release.of('gaussian', 2),
                'data[1, 0] = nan': lambda: one.sample([[0, 0], [np.nan, 0]]),
                'data[1] = inf': lambda: one.sample([0, np.inf]),
                'data has shape (3,)': lambda: one.sample([1, 2, 3]),
                'data has shape ()': lambda: one.sample(.5),
                'seeds are uint8 of shape (3,)': lambda: one.decode(b'abc'),
                'length[1] = 1.5': lambda: one.variance_at([0, 1.5]),
                'eps = -2': lambda: one.delta(-2),
                'rounds = 0 is not between': lambda: one.delta(1, 0)}.items():
            self.refused(words, call)


class Plans(Faults):
    def test_four_nodes(self):
        known = {4: (.296581048, .262385278, .259830408),
                 1: (.832470472, .800371878, .793873266)}
        for eps, errors in known.items():
            network = pricer.Network.from_arrays(**FOUR, everyone_eps=eps)
            for hops, error in enumerate(errors, 1):
                plan = pricer.plan(network, hops=hops)
                self.assertIsInstance(plan, pricer.ForwardPlan)
                self.assertAlmostEqual(plan.mse_worst_case, error, places=9)
                self.assertEqual((plan.hops, plan.heard, plan.mse_stderr),
                                 (hops, 4, 0))
        plan = pricer.plan(network, hops=1, release='gaussian')
        np.testing.assert_allclose(plan.arrival, [.9, .776, .3722, .136])
        self.assertEqual(list(plan.relays), [0, 0, 1, 0])
        self.assertEqual(set(plan.release), {'gaussian'})
        self.assertEqual(pricer.plan(network, hops=0).relays[2], 1)

    def test_the_command_lines_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            study = os.path.join(folder, 'study.pricer')
            scenario = os.path.join(folder, 'sensors.yaml')
            with open(scenario, 'w') as file:
                file.write(SENSORS)
            for sets in ({}, {'rounds': 4, 'hops': 2, 'release': 'sphere'},
                         {'dimension': 12, 'rounds': 30, 'hops': 3, 'seed': 5,
                          'release': 'gaussian'}):
                words = [word for key, value in sets.items()
                         for word in ('--set', f'{key}={value}')]
                command('new', study, scenario, '--force', *words)
                said = command('plan', study, '--json')
                network = pricer.Network.from_scenario(scenario, sets)
                plan = pricer.plan(network)
                self.compare(said, plan)
                self.account(study, plan)
                with pricer.open_study(study, writable=True) as opened:
                    self.stored(opened, plan)

    def compare(self, said, plan):
        for key in ('hops', 'heard', 'gap', 'patterns', 'mse_worst_case',
                    'mse_stderr', 'mse_missing', 'mse_noise', 'mse_alone',
                    'mse_perfect', 'zero_mse'):
            self.assertEqual(said[key], getattr(plan, key), key)
        self.assertEqual(said['bytes_per_round'], plan.bytes)
        self.assertEqual(said['rounds'], plan.settings.rounds)
        self.assertEqual({said['release']}, set(plan.release))
        self.assertAlmostEqual(said['arrival_mean'], plan.arrival.mean())
        self.assertEqual(said['release_variance'], plan.variance.max())
        spent = pricer.Accountant(plan)
        self.assertEqual(spent.rounds, plan.settings.rounds)
        self.assertLessEqual(spent.get_epsilon(1e-5), 4)
        self.assertGreater(spent.get_epsilon(1e-5), 3.99)

    def account(self, study, plan):
        for words, asked in (([], {}), (['--delta', '1e-7', '--rounds', '3'],
                                        dict(delta=1e-7, rounds=3))):
            rows = command('privacy', study, '--json', *words)['statements']
            mine = pricer.privacy(plan, **asked)
            for name, key in (('eps', 'epsilon'), ('delta', 'delta'),
                              ('eps_lower', 'epsilon_lower')):
                self.assertEqual([row[key] for row in rows],
                                 list(getattr(mine, name)))
            self.assertEqual({row['observer'] for row in rows}, {'everyone'})
        said = command('simulate', study, '--json', '--trials', '2000')
        mine = pricer.simulate(plan, trials=2000)
        self.assertEqual((said['mse'], said['mse_stderr'], said['bar']),
                         (mine.mse, mine.mse_stderr, mine.outcomes[0].bar))
        self.assertEqual(pricer.simulate(plan).trials,
                         command('simulate', study, '--json')['trials'])

    def test_attempts(self):
        """Each is another chance to arrive, and costs no privacy."""
        network = pricer.Network.from_arrays(**FOUR, everyone_eps=4)
        one, three = (pricer.plan(network, repeat=k, hops=2) for k in (1, 3))
        self.assertEqual(three.repeat, 3)
        self.assertTrue((three.arrival >= one.arrival).all())
        self.assertLess(three.mse_worst_case, one.mse_worst_case)
        np.testing.assert_array_equal(three.loss, one.loss)
        self.assertTrue(three.verify().good)
        found = pricer.simulate(three, trials=20000)
        self.assertLess(found.mse, three.mse_worst_case + 5 * found.mse_stderr)
        self.refused('rounds of this plan have 3 attempts',
                     pricer.ForwardRounds, three)

    def test_verify(self):
        """A plan is good, and what does not keep a budget is found."""
        network = pricer.Network.from_arrays(**FOUR, everyone_eps=[4, 2, 1, 8])
        plan = pricer.plan(network, rounds=2)
        found = plan.verify()
        self.assertTrue(found.good, found.words)
        self.assertAlmostEqual(found.mse_one_sided, plan.mse_worst_case,
                               places=9)
        self.assertLessEqual(found.used, 1)
        made = copy.deepcopy(plan)
        table = made.table.copy()
        table['loss'][1] *= 1.01
        wrong = pricer.ForwardPlan._fill(
            network, plan.settings, {'nodes': 4, 'hops': plan.hops}, table)
        found = wrong.verify(releases_only=True)
        self.assertFalse(found.good)
        self.assertEqual(found.violations, 1)

    def stored(self, study, plan):
        self.assertEqual(study.scheme, 'forward')
        kept = study.plan()
        for name in pricer.FORWARD_NODE.names:
            np.testing.assert_array_equal(getattr(kept, name),
                                          getattr(plan, name), name)
        for name in ('hops', 'heard', 'mse_worst_case', 'mse_stderr', 'bytes',
                     'gap', 'zero_mse', 'patterns'):
            self.assertEqual(getattr(kept, name), getattr(plan, name), name)
        self.assertEqual(kept.settings.rounds, plan.settings.rounds)
        self.assertEqual(study.settings.hops, plan.settings.hops)
        number = study.add_plan(plan)
        self.assertEqual((number, plan.number), (kept.number + 1, number))
        np.testing.assert_array_equal(study.plan(number).table, plan.table)
        table = study.table('forward_plan')
        self.assertEqual(table['mse_worst_case'][0], table['mse_worst_case'][1])
        self.assertEqual(study.tables()['forward_plan_node'], 2 * plan.nodes)

    def test_budgets_of_nodes(self):
        network = pricer.Network.from_arrays(
            **dict(FOUR, everyone_delta=[0, 1e-5, 1e-6, 0]),
            everyone_eps=[1, 2, 3, 4], node_radius=[1, .5, np.nan, .1])
        plan = pricer.plan(network, rounds=3)
        for i, eps in enumerate(network.everyone_eps):
            one = plan.release_of(i)
            self.assertEqual(one.radius, network.node_radius[i])
            np.testing.assert_allclose(one.variance, plan.variance[i])
            self.assertLessEqual(one.epsilon(network.everyone_delta[i]), eps)
        spent = pricer.Accountant(plan)
        self.assertEqual(spent.get_epsilon(1e-5), max(
            plan.release_of(i).epsilon(1e-5) for i in range(4)))
        more = spent.get_epsilon(1e-5)
        self.assertGreater(spent.compose(2).get_epsilon(1e-5), more)
        self.assertEqual(spent.rounds, 5)
        self.assertEqual(spent.get_delta(4), max(
            plan.release_of(i).delta(4, 5) for i in range(4)))
        self.assertEqual(spent.get_epsilon(0), max(
            plan.release_of(i).epsilon(0, 5) for i in range(4)))
        none = pricer.Accountant(plan, rounds=0)
        self.assertEqual((none.get_epsilon(1e-5), none.get_delta(1)), (0, 0))

    def test_rounds_are_the_simulators_trials(self):
        network = pricer.Network.from_arrays(
            **dict(FOUR, reciprocity=.5), everyone_eps=[4, 2, 4, 8],
            node_radius=[1, .5, .5, .2])
        plan = pricer.plan(network, hops=2)
        data = np.random.default_rng(1).normal(size=(4, 2))
        data *= (network.node_radius / np.linalg.norm(data, axis=1))[:, None]
        rounds = pricer.ForwardRounds(plan, seed=4)
        played = [rounds.play(data, t) for t in range(60)]
        mine = [np.sum((one.estimate - data.mean(0)) ** 2) for one in played]
        theirs = pricer.simulate(plan, engine='faithful', trials=60, seed=4,
                                 data=data)
        np.testing.assert_allclose(np.mean(mine), theirs.mse, rtol=1e-12)
        np.testing.assert_allclose(np.mean([one.bar for one in played]),
                                   theirs.outcomes[0].bar, rtol=1e-12)
        np.testing.assert_array_equal(sum(one.uplink for one in played),
                                      theirs.uplink)
        np.testing.assert_array_equal(sum(one.link for one in played),
                                      theirs.link)
        self.assertTrue(all((one.arrived >= one.uplink).all()
                            for one in played))
        self.assertEqual(rounds.play(2 * data).clipped, 4)
        again = pickle.loads(pickle.dumps(rounds))
        np.testing.assert_array_equal(again.play(data, 7).estimate,
                                      played[7].estimate)
        self.assertIn('seed 4', repr(rounds))
        secret = pricer.ForwardRounds(plan, seed=4, secret=True)
        self.assertTrue((secret.play(data, 0).estimate
                         != played[0].estimate).any())

    def test_simulation(self):
        """Within 5 standard errors of the worst case, which these data have."""
        plan = pricer.plan(pricer.Network.from_arrays(**FOUR, everyone_eps=4))
        for engine, trials in (('fast', 10 ** 5), ('faithful', 4000)):
            found = pricer.simulate(plan, trials=trials, engine=engine)
            self.assertLess(abs(found.mse - plan.mse_worst_case),
                            5 * found.mse_stderr)
        one, two = (pricer.simulate(plan, trials=3000, threads=threads)
                    for threads in (1, 3))
        self.assertEqual(one.mse, two.mse)
        self.refused('a plan of forwarding is played alone', pricer.simulate,
                     plan, decoder='minimax')

    def test_faults(self):
        network = pricer.Network.from_arrays(**FOUR, everyone_eps=4)
        plan = pricer.plan(network)
        sums = pricer.Network.from_arrays([.5])
        for words, call in {
                "bias belongs to 'scheme: sum'": lambda: pricer.plan(
                    network, bias='l1'),
                "hops belongs to 'scheme: forward'": lambda: pricer.plan(
                    sums, hops=2),
                "release = 'laplace'": lambda: pricer.plan(network,
                                                           release='laplace'),
                'node 0 has no release': lambda: pricer.plan(
                    pricer.Network.from_arrays(
                        **dict(FOUR, everyone_delta=0), everyone_eps=4),
                    release='gaussian'),
                'node = 4 is no node': lambda: plan.release_of(4),
                "observer = 'link'": lambda: pricer.Accountant(plan, 'link'),
                "observer = 'server'": lambda: pricer.privacy(plan, 'server'),
                "protect = 'identity'": lambda: pricer.Accountant(
                    plan, protect='identity'),
                "relays = 'shares' belongs": lambda: pricer.privacy(
                    plan, relays='shares'),
                'the paper has no bounds': lambda:
                    pricer.privacy(plan).paper(0),
                'everyone_delta[0] is missing': lambda:
                    pricer.Network.from_arrays([.5], everyone_eps=1),
        }.items():
            self.refused(words, call)
        self.refused("the network is for 'scheme: forward'", pricer.baseline,
                     network, 'best')

    def test_pickles(self):
        network = pricer.Network.from_arrays(**FOUR, everyone_eps=4)
        plan = pricer.plan(network, rounds=2)
        for made in (pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)):
            np.testing.assert_array_equal(made.table, plan.table)
            self.assertEqual(repr(made), repr(plan))
            self.assertEqual(made.settings, plan.settings)
            self.assertEqual(made.bytes, plan.bytes)
            with self.assertRaises(ValueError):
                made.coefficient[0] = 7
        spent = pricer.Accountant(plan).compose(3)
        self.assertEqual(pickle.loads(pickle.dumps(spent)).get_epsilon(1e-6),
                         spent.get_epsilon(1e-6))
        for one in (plan.release_of(0),
                    pricer.Release.for_budget(1, 1e-5, 3, kind='gaussian')):
            self.assertEqual(pickle.loads(pickle.dumps(one)), one)
        for thing in (plan, spent, one):
            self.assertNotIn('object at 0x', repr(thing))


if __name__ == '__main__':
    unittest.main()
