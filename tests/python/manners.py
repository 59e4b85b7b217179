#!/usr/bin/env python3
"""The package as a guest in a Python process: faults are exceptions with the
library's words, Ctrl-C stops, progress is told, other threads go on.

    tests/python/manners.py BUILD
"""
import os
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
        with self.assertRaisesRegex(pricer.ValueFault, r'p = 1\.3') as caught:
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
