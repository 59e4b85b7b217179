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
import budget  # noqa: E402
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
                self.assertEqual(len(file.readlines()), 1 + 2 * (2 + 2) * 2 * 3)
            if federated.draw(rows, os.path.join(folder, 'federated.svg')):
                self.assertGreater(
                    os.path.getsize(os.path.join(folder, 'federated.svg')), 1000)


class Budget(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = budget.synthetic_data()

    def test_shards(self):
        for kind, most in (('iid', 10), ('two classes', 4)):
            dealt = budget.deal(self.data, 50, kind, np.random.default_rng(1))
            self.assertEqual(dealt.rows.shape[:2], dealt.labels.shape)
            self.assertLessEqual(max(len(set(row)) for row in dealt.labels),
                                 most)
            rows = dealt.rows.reshape(-1, dealt.rows.shape[2])
            self.assertEqual(len(np.unique(rows, axis=0)), len(rows))

    def test_features_depend_on_the_image_alone(self):
        images = np.random.default_rng(2).integers(0, 256, (5, 28, 28))
        found = budget.features(images)
        self.assertEqual(found.shape, (5, 21))
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
        np.testing.assert_allclose(budget.features(images[3:]), found[3:])

    def test_budgets_are_for_all_rounds(self):
        for rounds in (1, 5):
            made = budget.Budget(30, 90, rounds)
            for law in made.laws.values():
                self.assertEqual(law.rounds, rounds)
                self.assertLessEqual(law.epsilon(budget.DELTA), budget.EPS)
            for plan in made.plans.values():
                spent = pricer.Accountant(plan)
                self.assertEqual(spent.rounds, rounds)
                self.assertLessEqual(spent.get_epsilon(budget.DELTA),
                                     budget.EPS)

    def test_more_clients_learn_more(self):
        """The sphere is ahead of the Gaussian, many clients of few, and without
        privacy every method learns."""
        rows = list(budget.run(self.data, [20, 400], ['iid'], 2))
        self.assertEqual(len(rows), 2 * 5 * len(budget.WAYS))
        found = {(row.clients, row.method, row.rounds, row.way):
                 np.mean(row.accuracy) for row in rows}
        for (clients, method, rounds, way), value in found.items():
            if way == 'no privacy':
                self.assertGreater(value, 0.8, (clients, method, rounds))
        means = {way: found[400, 'means', 1, way] for way in budget.WAYS}
        self.assertGreater(means['sphere'], means['gaussian'] + 0.2)
        self.assertGreater(means['sphere'],
                           found[20, 'means', 1, 'sphere'] + 0.1)
        self.assertGreater(means['mesh'], means['no relays'])
        self.assertEqual(len(list(budget.table(rows))), 2 + 10)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'budget.csv')
            budget.write_csv(rows, path)
            with open(path, encoding='utf-8') as file:
                self.assertEqual(len(file.readlines()), 1 + 2 * len(rows))


if __name__ == '__main__':
    unittest.main()
