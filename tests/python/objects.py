#!/usr/bin/env python3
"""Objects of the package as Python has them: an accountant counts the plan's
rounds from the start, a played round counts what it clipped, everything has a
repr, and what was pickled gives the same numbers in another process.

    tests/python/objects.py BUILD
"""
import copy
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

import common
import numpy as np
import pricer


def scenario(name='paper.yaml', **overrides):
    return pricer.Network.from_scenario(common.example(name), overrides)


def facts(thing):
    """Everything that an object says, to compare two of them."""
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.tobytes()
    if isinstance(thing, float):
        return repr(thing)
    if isinstance(thing, tuple):
        return tuple(map(facts, thing))
    if isinstance(thing, list):
        return list(map(facts, thing))
    if isinstance(thing, pricer.Network):
        kept = [getattr(thing, name) for name in dir(thing) if isinstance(
            getattr(thing, name), (np.ndarray, int, float, list))]
        return facts([*kept, repr(thing.settings)])
    if isinstance(thing, pricer.Plan):
        return facts([thing.network, thing.weight, thing.noise,
                      thing.self_weight, thing.self_noise, thing.error,
                      thing.verify(), *thing.trust_price(),
                      thing.server_price(), thing.info])
    if isinstance(thing, pricer.ForwardPlan):
        return facts([thing.network, *(thing.table[name] for name in
                                       thing.table.dtype.names), thing.verify(),
                      thing.mse_worst_case, thing.mse_noise, thing.bytes])
    if isinstance(thing, pricer.ForwardRounds):
        net = thing.plan.network
        return facts(thing.play(np.full((net.nodes, net.dimension), 0.1), 3))
    if isinstance(thing, pricer.Decoder):
        return facts([getattr(thing, name) for name in (
            'nodes', 'rank', 'blind', 'unbiased', 'blend',
            'constant', 'lower', 'reached', 'upper', 'lower_stderr',
            'upper_stderr', 'patterns', 'exact', 'own', 'target', 'cap',
            'shared')])
    if isinstance(thing, pricer.Simulation):
        return facts(list(vars(thing).values()))
    if isinstance(thing, pricer.Statements):
        return facts([thing.table[name] for name in thing.table.dtype.names])
    if isinstance(thing, pricer.Accountant):
        return thing.rounds, thing.get_epsilon(1e-6)
    if isinstance(thing, pricer.Rounds):
        net = thing.plan.network
        return facts(thing.play(np.full((net.nodes, net.dimension), 0.1), 3))
    if isinstance(thing, pricer.Receiver):
        net = thing.plan.network
        return facts(thing.decode(np.arange(net.nodes) % 2 == 0,
                                  np.ones(net.links, bool)))
    if isinstance(thing, pricer.Scenario):
        return facts([thing.network(), thing.seed])
    return thing


class Pickles(unittest.TestCase):
    def same(self, *things):
        for thing in things:
            before = facts(thing)
            self.assertEqual(before, facts(thing))
            for made in (pickle.loads(pickle.dumps(thing)),
                         copy.deepcopy(thing)):
                self.assertIs(type(made), type(thing))
                self.assertEqual(facts(made), before, repr(thing))
            text = repr(thing)
            self.assertNotIn('object at 0x', text)
            if not isinstance(thing, tuple):
                self.assertLess(len(text), 400, text)

    def test_networks(self):
        self.same(scenario(), scenario('sensors.yaml'),
                  scenario('scattered.yaml'),
                  scenario(os.path.join('following', 'following.yaml')),
                  pricer.Network.from_arrays([0.5]),
                  pricer.Network.from_arrays(
                      [0.5, 0.9, 0.6], [0, 1, 2], [1, 0, 1], [0.8, 0.7, 0.8],
                      2.0, 1e-3, self_eps=4.0, self_delta=1e-3, dimension=4,
                      reciprocity=0.3, names=['attic', None, 'roof'],
                      diameter=0.5, node_radius=[np.nan, 0.5, 0.2],
                      node_diameter=[np.nan, 0.9, np.nan], seed=7,
                      settings=pricer.Settings(bias='l1', lambda_=0.1)))

    def test_plans_and_what_is_made_of_them(self):
        plan = pricer.plan(scenario(dimension=3), rounds=2)
        self.same(pricer.Settings(rounds=3), plan,
                  pricer.baseline(plan.network, 'best'),
                  pricer.plan(scenario('scattered.yaml')),
                  plan.decoder, plan.error, plan.verify(),
                  pricer.privacy(plan, 'server'),
                  pricer.Accountant(plan, 'relay').compose(3),
                  pricer.simulate(plan, trials=100),
                  pricer.Rounds(plan, 4), pricer.Rounds(plan, 4,
                                                        decoder='constant'),
                  pricer.Rounds(plan, 4).play(np.zeros((10, 3))),
                  pricer.Scenario(common.example('paper.yaml'),
                                  {'dimension': 2}))
        forward = pricer.plan(scenario('sensors.yaml'))
        self.same(forward, forward.release_of(3), forward.verify(),
                  pricer.privacy(forward), pricer.Accountant(forward).compose(2),
                  pricer.simulate(forward, trials=100),
                  pricer.walk(forward, 3, walks=5),
                  pricer.ForwardRounds(forward, 4))
        receiver = pricer.Receiver(plan, plan.decoder)
        receiver.withhold(np.arange(10) == 2)
        self.same(receiver)
        both = pickle.loads(pickle.dumps((plan.decoder, plan)))
        self.assertIs(both[0].plan, both[1])
        fault = pickle.loads(pickle.dumps(pricer.SpentFault('no more', 7)))
        self.assertEqual((str(fault), fault.round), ('no more', 7))

    def test_another_process(self):
        """The numbers are there where none of the objects were made."""
        plan = pricer.plan(scenario())
        again = ('import pickle, sys, common, pricer\n'
                 'plan, spent = pickle.load(sys.stdin.buffer)\n'
                 'print(repr(plan.error.objective), repr(plan.verify().bound),\n'
                 '      repr(plan.decoder.upper), repr(spent.get_epsilon(1e-5)))')
        spent = pricer.Accountant(plan)
        said = subprocess.run(
            [sys.executable, '-c', again, common.BUILD], text=False, check=True,
            input=pickle.dumps((plan, spent)), capture_output=True,
            cwd=os.path.dirname(os.path.abspath(__file__))).stdout.decode()
        self.assertEqual(said.split(), [repr(float(value)) for value in (
            plan.error.objective, plan.verify().bound, plan.decoder.upper,
            spent.get_epsilon(1e-5))])

    def test_what_is_not_pickled_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'ten.pricer')
            study = pricer.new_study(path, common.example('paper.yaml'))
            self.assertIn('ten.pricer', repr(study))
            for thing in (study, pricer.Stream(1), pricer.Stream(),
                          pricer.Participant('/nowhere')):
                with self.assertRaisesRegex(TypeError, 'not pickled'):
                    pickle.dumps(thing)
                self.assertNotIn('object at 0x', repr(thing))
            study.close()
            self.assertIn('closed', repr(study))


class Accounts(unittest.TestCase):
    def test_it_starts_with_the_plans_rounds(self):
        for rounds in (1, 10):
            plan = pricer.plan(scenario(), rounds=rounds)
            for observer in ('link', 'server'):
                spent = pricer.Accountant(plan, observer)
                self.assertEqual(spent.rounds, rounds)
                asked = pricer.privacy(plan, observer, delta=1e-5).worst
                self.assertGreater(asked, 0)
                self.assertEqual(spent.get_epsilon(1e-5), asked)
                more = pricer.privacy(plan, observer, delta=1e-5,
                                      rounds=rounds + 5).worst
                self.assertEqual(spent.compose(5).get_epsilon(1e-5), more)
        none = pricer.Accountant(plan, rounds=0)
        self.assertEqual((none.get_epsilon(1e-5), none.get_delta(1)), (0, 0))

    def test_a_reader_of_decoded_sums_is_the_server(self):
        """The estimate is any function of the sums as soon as there is a decoder
        for the plan, whoever made it."""
        plan = pricer.plan(scenario())
        server = pricer.privacy(plan, 'server').eps
        np.testing.assert_array_equal(pricer.privacy(plan, 'reader').eps, server)
        plan = pricer.plan(scenario())
        plan.decoder = None
        less = pricer.privacy(plan, 'reader').eps
        self.assertTrue((less < server).any())
        pricer.Decoder.fit(plan, rank=1)
        np.testing.assert_array_equal(pricer.privacy(plan, 'reader').eps, server)


class Clipping(unittest.TestCase):
    def test_played_rounds_count_it(self):
        net = pricer.Network.from_arrays(
            [0.5, 0.9, 0.6], [0, 2], [1, 1], 0.8, 2.0, 1e-3, dimension=2,
            node_radius=[np.nan, 0.5, 0.2])
        plan = pricer.plan(net)
        rounds = pricer.Rounds(plan)
        for data, count in (([[1, 0], [0.3, 0.4], [0, 0.2]], 0),
                            ([[1.1, 0], [0.3, 0.4], [0, 0.2]], 1),
                            ([[0.8, 0.8], [0.6, 0], [0.3, 0]], 3)):
            self.assertEqual(rounds.play(data).clipped, count)
            self.assertEqual(pricer.simulate(plan, trials=10, data=data,
                                             engine='faithful').clipped, count)


if __name__ == '__main__':
    unittest.main()
