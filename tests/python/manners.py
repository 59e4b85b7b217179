#!/usr/bin/env python3
"""The package as a guest in a Python process: faults are exceptions with the
library's words, Ctrl-C stops, progress is told, other threads go on.

    tests/python/manners.py BUILD
"""
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import unittest

import common
import numpy as np
import pricer


def paper(**overrides):
    return pricer.plan(pricer.Network.from_scenario(
        common.example('paper.yaml'), overrides))


class Faults(unittest.TestCase):
    def test_words(self):
        with self.assertRaisesRegex(pricer.ValueFault,
                                    r'^p\[0\] = 1\.3 is') as caught:
            pricer.Network.from_arrays([0.5, 0.5], [0], [1], 1.3, 1, 1e-3)
        self.assertEqual(caught.exception.status, pricer.lib.PRICER_VALUE)
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaisesRegex(OSError, 'nowhere.yaml'):
            pricer.Network.from_scenario('nowhere.yaml')
        with tempfile.NamedTemporaryFile('w', suffix='.yaml') as file:
            file.write('dimension: 3\nflavour: mint\n')
            file.flush()
            with self.assertRaisesRegex(pricer.FormatFault, 'flavour'):
                pricer.Network.from_scenario(file.name)
        net = pricer.Network.from_arrays([0.0, 0.5], dimension=2)
        with self.assertRaises(pricer.InfeasibleFault):
            pricer.plan(net, bias='unbiased')
        with self.assertRaises(TypeError):
            pricer.plan(net, flavour='mint')
        with self.assertRaisesRegex(pricer.ValueFault, 'none of'):
            pricer.baseline(net, 'mint')

    def test_numbers_that_do_not_fit(self):
        for wrong in ([2 ** 40], [0.5], [np.nan]):
            with self.assertRaises((pricer.ValueFault, ValueError)):
                pricer.Network.from_arrays([0.5, 0.5], wrong, [1], 0.5, 1, 1e-3)
        with self.assertRaises(pricer.ValueFault):
            pricer.Network.from_arrays([0.5, 0.5], [0], [1], [0.5, 0.5])
        with self.assertRaises(pricer.ValueFault):
            pricer.Rounds(paper(dimension=2)).play(np.zeros((3, 2)))
        with self.assertRaises(pricer.ValueFault):
            pricer.Accountant(paper()).compose(-1)


class Arguments(unittest.TestCase):
    """A fault names the argument, and the index where it is an array."""

    def refused(self, words, function, *arguments, **more):
        with self.assertRaises((pricer.ValueFault, TypeError)) as caught:
            function(*arguments, **more)
        self.assertTrue(str(caught.exception).startswith(words),
                        f'{caught.exception} does not begin with {words}')

    def test_a_finite_eps_needs_its_delta(self):
        make = pricer.Network.from_arrays
        pair = dict(uplink=[0.5, 0.5], from_=[0, 1], to=[1, 0], p=0.5)
        self.refused('delta[0] is missing: eps[0] = 1 is finite', make, **pair,
                     eps=1.)
        self.refused('delta[1] is missing: eps[1] = 2 is finite', make, **pair,
                     eps=[np.inf, 2])
        self.refused('delta[1] is missing', make, **pair, eps=[2, 2],
                     delta=[1e-5, np.nan])
        full = dict(pair, eps=np.inf)
        self.refused('self_delta[1] is missing: self_eps[1] = 3', make, **full,
                     self_eps=[np.inf, 3])
        self.refused('server_delta[0] is missing: server_eps[0] = 4', make,
                     **full, server_eps=[4, np.inf])
        self.refused('server_eps is missing', make, **full, server_delta=1e-5)
        net = make(**full)
        self.refused('changes[(0, 1)] = 1: delta is missing', net.retrust,
                     {(0, 1): 1})
        other = net.retrust({(0, 1): (1, 1e-6), (1, 1): (2, 1e-7)})
        self.assertEqual((other.eps[0], other.delta[0]), (1, 1e-6))
        self.assertEqual((other.self_eps[1], other.self_delta[1]), (2, 1e-7))
        self.assertEqual(other.retrust({(0, 1): 3}).delta[0], 1e-6)
        links = np.zeros(1, pricer.LINK)
        links['to'], links['p'], links['eps'] = 1, 0.5, 1
        nodes = np.zeros(2, pricer.NODE)
        nodes['eps'], nodes['delta'] = np.inf, 1
        self.refused('links[0]: delta = 0', pricer.Network.from_records, nodes,
                     links)
        nodes['delta'] = 0
        self.refused('nodes[0]: delta = 0', pricer.Network.from_records, nodes,
                     links)

    def test_networks(self):
        good = dict(uplink=[0.5, 0.5, 0.5], from_=[0, 1], to=[1, 2], p=0.5,
                    eps=1, delta=1e-5)
        for words, change in {
                'uplink[2] = 1.5': dict(uplink=[0, 1, 1.5]),
                'from_[1] = 0.5 is not a whole': dict(from_=[0, 0.5]),
                'to has shape (1,)': dict(to=[1]),
                'from_[1], to[1]: there is no node 7': dict(to=[1, 7]),
                'from_[0], to[0]: a link from node 0': dict(to=[0, 2]),
                'from_[1], to[1]: the link 0,1': dict(from_=[0, 0], to=[1, 1]),
                'p[1] = -1': dict(p=[0.5, -1]),
                'p is missing': dict(p=None),
                'p: ': dict(p=['half', 1]),
                'eps[0] = 0': dict(eps=[0, 1]),
                'eps is missing': dict(eps=None),
                'delta[1] = 2': dict(delta=[1, 2]),
                'joint[0] = 0.7': dict(joint=[0.7, 0]),
                'self_eps[1] = -1': dict(self_eps=[1, -1, 1], self_delta=1e-5),
                'self_delta[2] = 3': dict(self_delta=[1, 1, 3]),
                'server_eps[1] = -2': dict(server_eps=[1, -2, 1],
                                           server_delta=1e-5),
                'server_delta[0] = 0': dict(server_eps=1,
                                            server_delta=[0, 1, 1]),
                'everyone_eps[1] = inf': dict(everyone_eps=[1, np.inf, 1],
                                              everyone_delta=1e-5),
                'everyone_delta[0] = 1': dict(everyone_eps=1,
                                              everyone_delta=[1, 0, 0]),
                'everyone_eps is missing': dict(everyone_delta=0.1),
                'x[1], y[1]: the position': dict(x=[0, np.inf, 0], y=0.),
                'names[1]: the name a': dict(names=['a', 'a', 'b']),
                'names[2] = ': dict(names=['a', 'b', 'c d']),
                'node_radius[1] = 2': dict(node_radius=[1, 2, 1]),
                'node_diameter[2] = 3': dict(node_diameter=[1, 1, 3]),
                'dimension = 2.5': dict(dimension=2.5),
                'radius = ': dict(radius=-1)}.items():
            self.refused(words, pricer.Network.from_arrays, **{**good, **change})

    def test_forward(self):
        """Links without budgets carry no sums, whatever a copy is made by; what they
        carry are releases."""
        net = pricer.Network.from_arrays([1, 0.5], [0], [1], 0.5, np.inf,
                                         everyone_eps=[4, 2], everyone_delta=0)
        for network in (net, pickle.loads(pickle.dumps(net)), net.retrust({})):
            np.testing.assert_array_equal(network.everyone_eps, [4, 2])
            np.testing.assert_array_equal(network.everyone_delta, [0, 0])
            self.assertIsInstance(pricer.plan(network), pricer.ForwardPlan)
            self.refused("the network is for 'scheme: forward'", pricer.baseline, network, 'best')

    def test_the_rest(self):
        plan = paper(dimension=2)
        net = plan.network
        for words, call in {
                "bias = 'l3' is none of": lambda: pricer.plan(net, bias='l3'),
                "rounds = 2.5": lambda: pricer.plan(net, rounds=2.5),
                "name = 'mint'": lambda: pricer.baseline(net, 'mint'),
                'noise[3] = -1.0': lambda: pricer.Plan.from_arrays(
                    net, plan.weight, np.where(np.arange(90) == 3, -1, 1), 1, 1),
                'self_weight has shape (3,)': lambda: pricer.Plan.from_arrays(
                    net, 1, 1, [1, 2, 3], 1),
                "observer = 'nobody'": lambda: pricer.privacy(plan, 'nobody'),
                'members[1] = 10 is no node': lambda: pricer.privacy(
                    plan, 'coalition', members=[2, 10]),
                'data[4, 1] = nan': lambda: pricer.simulate(
                    plan, trials=10, data=np.where(
                        np.arange(20).reshape(10, 2) == 9, np.nan, 0)),
                "decoder = 'best'": lambda: pricer.simulate(plan,
                                                            decoder='best'),
                'data[0, 0] = inf': lambda: pricer.Rounds(plan).play(
                    np.full((10, 2), np.inf)),
                'vector has shape (1,)': lambda: pricer.Rounds(plan).share(
                    6, 5, [0.], 0),
                'uplink has shape (3,)': lambda: pricer.decode(
                    plan, np.ones(3, bool), np.ones(90, bool)),
                'own has shape (11,)': lambda: pricer.Decoder.from_arrays(
                    plan, np.ones(11), np.ones((10, 1)), np.ones(10),
                    np.ones(10)),
                'changes[(0, 1)]: eps = -1': lambda: net.retrust({(0, 1): -1}),
        }.items():
            self.refused(words, call)

    def test_an_accountant_is_refused_at_once(self):
        plan = paper()
        for words, question in {
                "observer = 'nobody' is none of": dict(observer='nobody'),
                "protect = 'honour'": dict(protect='honour'),
                "relays = 'both'": dict(relays='both'),
                'members[0] = 99': dict(observer='coalition', members=[99]),
                'rounds = -1': dict(rounds=-1)}.items():
            self.refused(words, pricer.Accountant, plan, **question)
        for wrong in (dict(flavour='mint'), dict(delta=1e-5)):
            with self.assertRaises(TypeError):
                pricer.Accountant(plan, **wrong)


class Watching(unittest.TestCase):
    def test_progress_and_stop(self):
        seen = []
        pricer.simulate(paper(), trials=200000, progress=seen.append)
        self.assertTrue(seen and all(0 <= done <= 1 for done in seen))
        less = pricer.simulate(paper(), trials=10 ** 9,
                               progress=lambda done: done < 1e-3)
        self.assertLess(less.trials, 10 ** 9)

    def test_what_progress_raises_comes_out(self):
        def fail(done):
            raise RuntimeError('enough')
        with self.assertRaisesRegex(RuntimeError, 'enough'):
            pricer.simulate(paper(), trials=10 ** 9, progress=fail)

    def test_ctrl_c(self):
        plan = paper()
        timer = threading.Timer(
            0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            pricer.simulate(plan, trials=10 ** 11)

    def test_other_threads_go_on(self):
        plan = paper()
        done = threading.Event()

        def work():
            pricer.simulate(plan, trials=3 * 10 ** 6, threads=1)
            done.set()

        turns, switch = 0, sys.getswitchinterval()
        sys.setswitchinterval(60)  # nobody is made to hand the lock over
        try:
            threading.Thread(target=work).start()
            while not done.is_set():
                turns += 1
                time.sleep(0)
        finally:
            sys.setswitchinterval(switch)
        self.assertGreater(turns, 100)


if __name__ == '__main__':
    unittest.main()
