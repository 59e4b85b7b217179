#!/usr/bin/env python3
"""The package's numbers are the command line's, to the bit, and its arrays are
the library's memory.

    tests/python/same_numbers.py BUILD
"""
import gc
import json
import math
import os
import subprocess
import tempfile
import unittest

import common
import numpy as np
import pricer


def command(*words):
    out = subprocess.run([os.path.join(common.BUILD, 'pricer'), *words],
                         capture_output=True, text=True, check=True)
    return json.loads(out.stdout) if '--json' in words else None


class CommandLine(unittest.TestCase):
    SCENARIOS = {'paper.yaml': {}, 'sole-good-node.yaml': {},
                 'scattered.yaml': {'objective.bias': 'l2',
                                    'objective.lambda': 0.2}}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'study.pricer')

    def study(self, name, overrides):
        words = [word for key, value in overrides.items()
                 for word in ('--set', f'{key}={value}')]
        command('new', self.path, common.example(name), '--force', *words)
        return pricer.Network.from_scenario(common.example(name), overrides)

    def test_plan(self):
        for name, overrides in self.SCENARIOS.items():
            network = self.study(name, overrides)
            said = command('plan', self.path, '--json')
            plan = pricer.plan(network)
            check = plan.verify()
            self.assertEqual(said['gap'], max(check.gap, 0))
            self.assertEqual(said['bound'], max(check.bound, 0))
            for key, value in plan.error._asdict().items():
                self.assertEqual(said[key], value, (name, key))
            for rival in ('naive', 'best', 'colrel'):
                if 'objective' in said['baselines'].get(rival, {}):
                    other = pricer.baseline(network, rival, tolerance=1e-6)
                    self.assertEqual(said['baselines'][rival]['objective'],
                                     other.error.objective, (name, rival))
            decoder = pricer.Decoder.fit(plan)
            self.assertEqual(said['decoder_mse_upper'], decoder.upper)
            self.assertEqual(said['mse_floor'], pricer.genie(network)[0])
            self.stored(plan, decoder)

    def stored(self, plan, decoder):
        with pricer.open_study(self.path, writable=True) as study:
            kept = study.plan()
            for name in ('weight', 'noise', 'self_weight', 'self_noise'):
                np.testing.assert_array_equal(getattr(kept, name),
                                              getattr(plan, name))
            same = study.decoder(kept)
            np.testing.assert_array_equal(same.shared, decoder.shared)
            self.assertEqual(kept.settings.bias, plan.settings.bias)
            number = study.add_plan(plan, decoder)
            self.assertEqual(number, kept.number + 1)
            again = study.plan(number)
            np.testing.assert_array_equal(again.noise, plan.noise)
            table = study.table('plan')
            self.assertEqual(table['objective'][0], table['objective'][1])
            self.assertEqual(study.tables()['node'], plan.network.nodes)
            self.assertIn('network', study.scenario)

    def test_names_radii_and_diameters(self):
        folder = os.path.dirname(self.path)
        for name, text in {
                'home.yaml': 'dimension: 4\ndiameter: 0.5\n'
                             'network: {files: {nodes: nodes.csv, links: links.csv}}\n'
                             'trust: {eps: 2, delta: 1e-3, self: {eps: 4}}\n',
                'nodes.csv': 'node,p,name,radius,diameter\n0,0.5,attic,,\n'
                             '1,0.9,,0.5,0.9\n2,0.6,roof,0.2,\n',
                'links.csv': 'from,to,p\n0,1,0.8\n2,1,0.8\n1,2,0.7\n'}.items():
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                file.write(text)
        scenario = os.path.join(folder, 'home.yaml')
        command('new', self.path, scenario)
        read = pricer.Network.from_scenario(scenario)
        made = pricer.Network.from_arrays(
            [0.5, 0.9, 0.6], [0, 1, 2], [1, 2, 1], [0.8, 0.7, 0.8], 2.0, 1e-3,
            self_eps=4.0, self_delta=1e-3, dimension=4, reciprocity=1.0,
            names=['attic', None, 'roof'], diameter=0.5,
            node_radius=[np.nan, 0.5, 0.2],
            node_diameter=[np.nan, 0.9, np.nan])
        said = command('plan', self.path, '--json')
        for network in (read, made):
            self.assertEqual(network.names, ['attic', None, 'roof'])
            np.testing.assert_array_equal(network.node_radius, [1, 0.5, 0.2])
            np.testing.assert_array_equal(network.node_diameter,
                                          [0.5, 0.9, 0.4])
            self.assertEqual(pricer.plan(network).error.mse_worst_case,
                             said['mse_worst_case'])
        decoder = pricer.Decoder.fit(pricer.plan(made))
        self.assertEqual(decoder.constant, said['mse_worst_case'])
        self.assertLessEqual(decoder.upper, decoder.constant)
        with self.assertRaisesRegex(ValueError, '1 names for 3 nodes'):
            pricer.Network.from_arrays([0.5] * 3, names=['a'])

    def test_privacy(self):
        network = self.study('paper.yaml', {'trust.ring.eps': 5, 'rounds': 3})
        command('plan', self.path)
        plan = pricer.plan(network)
        self.assertEqual(plan.settings.rounds, 3)
        asked = [('link', 'data', []), ('relay', 'data', []),
                 ('relay', 'identity', ['--rounds', '1']),
                 ('server', 'data', ['--rounds', '7', '--delta', '1e-6'])]
        for observer, protect, words in asked:
            said = command('privacy', self.path, '--json', '--observer',
                           observer, '--protect', protect, *words)
            extra = {'rounds': 1} if protect == 'identity' else {}
            if observer == 'server':
                extra = {'rounds': 7, 'delta': 1e-6}
            mine = pricer.privacy(plan, observer, protect, **extra)
            rows = said['statements']
            self.assertEqual(len(rows), len(mine))
            for name, key in (('eps', 'epsilon'), ('delta', 'delta'),
                              ('eps_lower', 'epsilon_lower')):
                np.testing.assert_array_equal(
                    getattr(mine, name),
                    [float(row[key]) for row in rows])
        accountant = pricer.Accountant(plan, 'server').compose(2).compose(2)
        self.assertEqual(accountant.rounds, 3 + 2 + 2)
        self.assertEqual(accountant.get_epsilon(1e-6), mine.worst)
        delta = accountant.get_delta(mine.worst)
        self.assertTrue(0.98e-6 < delta <= 1.02e-6, delta)
        self.assertLessEqual(accountant.get_epsilon(delta), mine.worst)

    def test_simulate(self):
        network = self.study('paper.yaml', {})
        command('plan', self.path)
        plan = pricer.plan(network)
        for engine, trials in (('fast', 5000), ('faithful', 50)):
            said = command('simulate', self.path, '--json', '--engine', engine,
                           '--trials', str(trials), '--seed', '9',
                           '--decoder', 'minimax', '--strategy', 'naive')
            mine = pricer.simulate(plan, pricer.baseline(network, 'naive'),
                                   engine=engine, trials=trials, seed=9,
                                   decoder='minimax')
            self.assertEqual(said['mse'], mine.mse)
            self.assertEqual(said['mse_stderr'], mine.mse_stderr)
            self.assertEqual(said['bar'], mine.outcomes[0].bar)
            other = next(row for row in said['strategies']
                         if row['strategy'] == 'naive')
            self.assertEqual(other['mse'], mine.outcomes[1].mse)
            self.assertEqual(other['difference'], mine.outcomes[1].difference)
            self.assertEqual(int(mine.outcomes[0].trials.sum()), trials)

    def test_walk(self):
        network = self.study('sensors.yaml', {
            'network.nodes': 30, 'reference': 'last', 'step': '.2'})
        self.assertEqual((network.radius, network.reach), (.2, 1))
        command('plan', self.path)
        said = command('simulate', self.path, '--rounds', '5', '--trials', '4',
                       '--data', 'random', '--json')
        plan = pricer.plan(network)
        made = pricer.walk(plan, 5, walks=4, data='random', threads=2)
        for key in ('error', 'error_stderr', 'cut', 'bar'):
            self.assertEqual(said[key], list(getattr(made, key)), key)
        self.assertEqual(made.estimate.shape, (5, 2))
        self.assertTrue((np.linalg.norm(made.estimate, axis=1) <= 1 + 1e-9)
                        .all())

    def test_gradient(self):
        network = self.study('paper.yaml', {})
        said = command('plan', self.path, '--json', '--method', 'gradient',
                       '--bias', 'l1', '--lambda', '0.1', '--iterations',
                       '200', '--seed', '3', '--decoder', 'constant')
        trace = []
        mine = pricer.descend(network, iterations=200, seed=3, bias='l1',
                              lambda_=0.1, trace=lambda *row: trace.append(row))
        self.assertEqual(said['objective'], mine.error.objective)
        self.assertEqual(len(trace), 4 * 201)


class Applications(unittest.TestCase):
    def test_power(self):
        rows = np.random.default_rng(5).normal(size=(200, 6)) * [5, 3, 1, 1, 1, 1]
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype('f4')
        with tempfile.TemporaryDirectory() as folder:
            study = os.path.join(folder, 'study.pricer')
            np.save(os.path.join(folder, 'rows.npy'), rows)
            command('new', study, common.example('paper.yaml'))
            said = command('power', study, '--data',
                           os.path.join(folder, 'rows.npy'), '--components',
                           '2', '--seeds', '1', '--json')
        network = pricer.Network.from_scenario(
            common.example('paper.yaml'),
            {'dimension': pricer.power_dimension(6, 2)})
        mine = pricer.power(rows, network, pricer.plan(network, rounds=20),
                            components=2)
        self.assertEqual(said['pricer']['error'], list(mine.error))
        self.assertEqual(said['predicted'], list(mine.predicted))
        plain = pricer.power(rows, network, components=2)
        self.assertEqual(said['one_place']['error'], list(plain.error))
        with self.assertRaises(pricer.ValueFault):
            pricer.power(rows, network, pricer.plan(network), components=1)


class Rounds(unittest.TestCase):
    def test_rounds_are_the_simulators_trials(self):
        network = pricer.Network.from_scenario(
            common.example('paper.yaml'), {'dimension': 5})
        plan = pricer.plan(network)
        data = np.random.default_rng(1).normal(size=(10, 5))
        data /= 2 * np.linalg.norm(data, axis=1, keepdims=True)
        for decoder in (None, pricer.Decoder.fit(plan)):
            rounds = pricer.Rounds(plan, seed=4, decoder=decoder)
            played = [rounds.play(data, t) for t in range(30)]
            mine = np.mean([np.sum((p.estimate - data.mean(0)) ** 2)
                            for p in played])
            theirs = pricer.simulate(plan, engine='faithful', trials=30, seed=4,
                                     data=data, decoder=decoder)
            self.assertAlmostEqual(mine, theirs.mse, delta=1e-12 * mine)
            np.testing.assert_array_equal(
                sum(p.uplink.astype(int) for p in played), theirs.uplink)
            np.testing.assert_array_equal(
                sum(p.link.astype(int) for p in played), theirs.link)

    def test_decode_is_the_receivers(self):
        network = pricer.Network.from_scenario(
            common.example('paper.yaml'), {'dimension': 5})
        plan = pricer.plan(network)
        decoder = pricer.Decoder.fit(plan)
        sums = np.random.default_rng(2).normal(size=(10, 5))
        up, link = np.ones(10, bool), np.ones(90, bool)
        found = pricer.decode(plan, up, link, sums, decoder=decoder)
        np.testing.assert_allclose(found.estimate, found.coefficient @ sums)
        self.assertGreater(found.bar, 0)
        adapted = pricer.decode(plan, up, link, sums, decoder=decoder,
                                adaptive=True)
        self.assertTrue(adapted.is_estimate)
        with self.assertRaises(pricer.ValueFault):
            pricer.decode(plan, up[:3], link, decoder=decoder)
        nothing = pricer.decode(plan, ~up, link, sums, decoder=decoder)
        self.assertFalse(nothing.is_estimate)

    def test_what_is_withheld_is_not_expected(self):
        plan = pricer.plan(pricer.Network.from_scenario(
            common.example('paper.yaml'), {'dimension': 5}))
        receiver = pricer.Receiver(plan, pricer.Decoder.fit(plan))
        up, link = np.ones(10, bool), np.zeros(90, bool)
        before = receiver.decode(up, link)
        receiver.withhold(np.arange(10) == 5)
        less = receiver.decode(up, link)
        self.assertLess(less.coefficient[5], before.coefficient[5] / 2)
        self.assertGreater(less.bar, before.bar)
        receiver.withhold(None)
        np.testing.assert_array_equal(receiver.decode(up, link).coefficient,
                                      before.coefficient)

    def test_a_better_link_costs_nothing(self):
        plan = pricer.plan(pricer.Network.from_scenario(
            common.example('paper.yaml')))
        price, uplink = plan.link_price()
        self.assertTrue((price <= 1e-12).all() and (uplink <= 1e-12).all())

    def test_secret_noise_differs_and_replays_agree(self):
        plan = pricer.plan(pricer.Network.from_scenario(
            common.example('paper.yaml'), {'dimension': 4}))
        data = np.full((10, 4), 0.1)
        one, two = pricer.Rounds(plan, 1), pricer.Rounds(plan, 1)
        np.testing.assert_array_equal(one.play(data, 3).estimate,
                                      two.play(data, 3).estimate)
        hidden = [pricer.Rounds(plan, 1, secret=True).share(6, 5, data[6], 0)
                  for _ in range(2)]
        self.assertTrue((hidden[0] != hidden[1]).any())
        self.assertTrue((abs(hidden[0]) <= one.limit(6, 5)).all())
        stream = pricer.Stream(7, 'other', 1, 2, 3)
        words = [stream.word(), stream.word()]
        self.assertEqual(words[0], pricer.Stream(7, 'other', 1, 2, 3).word())
        self.assertNotEqual(words[0], words[1])


class Formulas(unittest.TestCase):
    def test_gaussian(self):
        def exact(eps, mu):
            def phi(x):
                return math.erfc(-x / math.sqrt(2)) / 2
            return phi(mu / 2 - eps / mu) - math.exp(eps) * phi(
                -mu / 2 - eps / mu)
        eps = np.array([0.1, 1.0, 4.0])
        np.testing.assert_allclose(pricer.delta_gaussian(eps, 1.5),
                                   [exact(e, 1.5) for e in eps], rtol=1e-12)
        found = pricer.calibrate(1.0, 1e-5)
        self.assertTrue(found.guaranteed)
        self.assertLessEqual(pricer.delta_gaussian(1.0, found.mu), 1e-5)
        self.assertGreater(pricer.delta_gaussian(1.0, found.mu * 1.000001),
                           1e-5)
        many = pricer.calibrate(1.0, 1e-5, rounds=16)
        self.assertAlmostEqual(many.mu * 4, found.mu, delta=1e-9)
        self.assertFalse(pricer.calibrate(
            50, 1e-3, calibration='classic').guaranteed)

    def test_closed_form(self):
        found = pricer.erdos_renyi(nodes=100, reaching=50, link=0.5, uplink=0.9,
                                   dimension=8, radius=1, slope=0.1,
                                   **{'lambda': math.inf})
        self.assertGreater(found['mse'], 0)


class Memory(unittest.TestCase):
    def arrays(self):
        rng = np.random.default_rng(3)
        return dict(uplink=rng.uniform(0.1, 0.9, 4), from_=[0, 1, 2, 3],
                    to=[1, 0, 3, 2], p=0.5, eps=[1, 2, 3, 4], delta=1e-5,
                    dimension=3, reciprocity=1)

    def test_arrays_and_records_make_one_network(self):
        one = pricer.Network.from_arrays(**self.arrays())
        nodes = np.zeros(4, pricer.NODE)
        nodes['uplink'], nodes['eps'] = one.uplink, np.inf
        nodes['delta'], nodes['x'], nodes['y'] = 1, np.nan, np.nan
        links = np.zeros(4, pricer.LINK)
        links['from'], links['to'] = [3, 0, 1, 2], [2, 1, 0, 3]
        links['p'], links['joint'] = 0.5, np.nan
        links['eps'], links['delta'] = [4, 1, 2, 3], 1e-5
        two = pricer.Network.from_records(nodes, links, dimension=3,
                                          reciprocity=1)
        for name in ('from_', 'to', 'p', 'joint', 'eps', 'delta', 'uplink',
                     'partner', 'out_start', 'in_start', 'in_link'):
            np.testing.assert_array_equal(getattr(one, name),
                                          getattr(two, name))
        other = one.retrust({(0, 1): 9.0})
        self.assertEqual(other.eps[other.find(0, 1)], 9)
        self.assertEqual(one.eps[one.find(0, 1)], 1)
        self.assertEqual(one.find(0, 3), -1)

    def test_arrays_are_not_copied(self):
        from pricer import _library
        mine = np.arange(5.0)
        self.assertIs(_library.given(mine, 'f8', 5), mine)
        net = pricer.Network.from_arrays(**self.arrays())
        address = int(pricer.ffi.cast('uintptr_t', net._c.eps))
        self.assertEqual(net.eps.__array_interface__['data'][0], address)
        with self.assertRaises(ValueError):
            net.eps[0] = 7
        with self.assertRaises(ValueError):
            net.eps.flags.writeable = True

    def test_a_view_keeps_its_memory(self):
        views = []
        for _ in range(50):
            net = pricer.Network.from_arrays(**self.arrays())
            plan = pricer.plan(net)
            views.append((plan.weight, plan.weight.copy(), net.eps,
                          net.eps.copy(), pricer.privacy(plan).table))
            del net, plan
            gc.collect()
        for weight, copy, eps, eps_copy, table in views:
            np.testing.assert_array_equal(weight, copy)
            np.testing.assert_array_equal(eps, eps_copy)
            self.assertEqual(len(table), 4)

    def test_given_plans(self):
        net = pricer.Network.from_arrays(**self.arrays())
        plan = pricer.plan(net)
        same = pricer.Plan.from_arrays(net, plan.weight, plan.noise,
                                       plan.self_weight, plan.self_noise)
        self.assertEqual(same.error, plan.error)
        np.testing.assert_allclose(
            np.abs(same.expected_weight - 1).sum(), plan.error.bias_l1,
            rtol=1e-12)
        price, own = plan.trust_price()
        self.assertEqual((price.shape, own.shape), ((4,), (4,)))
        self.assertTrue((price <= 0).all())
        self.assertTrue((plan.server_price() == 0).all())

    def test_vectors(self):
        sample = os.path.join(common.ROOT, 'data',
                              'shapes-1000-images-idx3-ubyte.gz')
        rows = pricer.read_vectors(sample)
        self.assertEqual((rows.shape, rows.dtype), ((1000, 784), np.float32))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'rows.npy')
            pricer.write_npy(rows, path)
            np.testing.assert_array_equal(np.load(path), rows)


if __name__ == '__main__':
    unittest.main()
