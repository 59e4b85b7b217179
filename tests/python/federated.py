#!/usr/bin/env python3
"""Federated learning on small made-up data: where relaying helps, where a budget
leaves nothing to learn, and that budgets are kept over all rounds.

    tests/python/federated.py BUILD
"""
import os
import sys
import tempfile
import unittest

import common
import numpy as np

sys.path.insert(0, os.path.join(common.ROOT, 'examples', 'federated'))
import federated  # noqa: E402
import pricer  # noqa: E402


class Federated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = federated.synthetic_data(np.random.default_rng(3))
        cls.kind = federated.Softmax(cls.data.images.shape[1])

    def task(self, cut, rounds=15):
        parts = federated.shards(self.data, cut, np.random.default_rng(7))
        return federated.Task(self.data, self.kind, parts, rounds)

    def test_shards(self):
        for cut in ('iid', 'two classes'):
            parts = self.task(cut).parts
            every = np.sort(np.concatenate(parts))
            np.testing.assert_array_equal(every,
                                          np.arange(len(self.data.labels)))
            most = max(len(set(self.data.labels[p])) for p in parts)
            self.assertEqual(most, 10 if cut == 'iid' else 2)

    def test_gradients_are_derivatives(self):
        rng = np.random.default_rng(1)
        rows, labels = self.data.images[:40], self.data.labels[:40]
        for kind in (self.kind, federated.Network(rows.shape[1], 5)):
            model = kind.start(rng) + 0.1 * rng.normal(size=kind.size)
            step = rng.normal(size=kind.size)

            def loss(model):
                scores = kind.scores(model, rows)
                scores = scores - scores.max(1, keepdims=True)
                return np.mean(np.log(np.exp(scores).sum(1))
                               - scores[np.arange(40), labels])
            found = (loss(model + 1e-6 * step) - loss(model - 1e-6 * step)) / 2e-6
            self.assertAlmostEqual(
                found, kind.gradient(model, rows, labels) @ step, places=6)

    def test_where_it_helps_and_where_nothing_is_left(self):
        task = self.task('two classes')
        perfect = dict(federated.bounds(task))['perfect links'][0, -1]
        much = {way: found[0, -1] for way, found, _ in federated.ways(task, 1000)}
        little = {way: found[0, -1] for way, found, _ in federated.ways(task, 0.3)}
        self.assertGreater(perfect, 0.8)
        self.assertGreater(much['PriCER'], much['no collaboration'] + 0.2)
        self.assertGreater(much['PriCER, decoder'],
                           much['no collaboration'] + 0.2)
        self.assertLessEqual(much['PriCER'], perfect + 0.05)
        for value in little.values():
            self.assertLess(value, 0.3)

    def test_budgets_are_for_the_whole_run(self):
        task = self.task('iid')
        for _, _, plan in federated.ways(task, 20):
            spent = pricer.Accountant(plan, 'link')
            self.assertEqual(spent.rounds, task.rounds)
            self.assertLessEqual(spent.get_epsilon(federated.DELTA),
                                 20 * (1 + 1e-6))
            self.assertEqual(plan.verify().open_links, 0)

    def test_moves_are_cut(self):
        task = self.task('iid')._replace(rate=50)
        step = federated.moved(task, np.zeros(self.kind.size), task.parts[0], 0,
                               0)
        self.assertLessEqual(np.linalg.norm(step), 1 + 1e-12)

    def test_output(self):
        rows = federated.run(self.data, {'softmax': self.kind}, [5.0], 2,
                             repeat=3)
        lines = list(federated.table(rows))
        self.assertEqual(len(lines), 4)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'federated.csv')
            federated.write_csv(rows, path)
            with open(path, encoding='utf-8') as file:
                self.assertEqual(len(file.readlines()), 1 + 2 * (2 + 3) * 2 * 3)
            if federated.draw(rows, os.path.join(folder, 'federated.svg')):
                self.assertGreater(
                    os.path.getsize(os.path.join(folder, 'federated.svg')), 1000)


if __name__ == '__main__':
    unittest.main()
