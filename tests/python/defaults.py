#!/usr/bin/env python3
"""Every default of the package is the command line's: what `--help` and
pricer-scenario(5) say is what the signatures have, and what is not said at all
gives the same numbers in both.

    tests/python/defaults.py BUILD
"""
import dataclasses
import inspect
import json
import os
import re
import subprocess
import tempfile
import unittest

import common
import numpy as np
import pricer

OWN = 'an option of files and tables, which Python does not have'
SCENARIO = "the scenario's"  # settings and seed go with the network

# Each option of a verb that the package has, too: the function, the argument and
# its default, None where it follows from the plan or network, 0 where the
# library chooses; or why it has none.
OPTIONS = {
    'plan': {
        'bias': SCENARIO, 'lambda': SCENARIO, 'calibration': SCENARIO,
        'method': 'plan() and descend() are two functions',
        'decoder': (pricer.simulate, 'decoder', None),
        'tolerance': (pricer.Settings, 'tolerance', 0.0),
        'weights': OWN, 'what-if': 'Network.retrust()', 'from-deliveries': OWN,
        'warm': (pricer.plan, 'warm', None),
        'iterations': (pricer.descend, 'iterations', 0),
        'step': (pricer.descend, 'step', 0.0),
        'noise-step': (pricer.descend, 'noise_step', 0.0),
        'starts': (pricer.descend, 'starts', 0),
        'seed': (pricer.descend, 'seed', None),
        'trace': OWN, 'trace-every': OWN, 'name': OWN,
        'threads': (pricer.Settings, 'threads', 0)},
    'simulate': {
        'trials': (pricer.simulate, 'trials', 0),
        'seed': (pricer.simulate, 'seed', None),
        'data': (pricer.simulate, 'data', 'worst-case'),
        'engine': (pricer.simulate, 'engine', 'fast'),
        'decoder': (pricer.simulate, 'decoder', None),
        'strategy': OWN, 'rounds': 'an argument without a default in walk()',
        'csv': OWN, 'plot': OWN, 'plan': OWN,
        'threads': (pricer.simulate, 'threads', 0)},
    'privacy': {
        'observer': (pricer.privacy, 'observer', None),
        'relays': (pricer.privacy, 'relays', 'sums'),
        'protect': (pricer.privacy, 'protect', 'data'),
        'delta': (pricer.privacy, 'delta', 0.0),
        'rounds': (pricer.privacy, 'rounds', None),
        'eavesdropper': (pricer.privacy, 'eavesdropper', 'radio'),
        'coalition': (pricer.privacy, 'members', ()),
        'mode': 'Statements.paper()', 'delta-prime': 'Statements.paper()',
        'plan': OWN, 'all': OWN,
        'threads': (pricer.privacy, 'threads', 0)},
    'power': {
        'data': OWN, 'unit-norm': OWN,
        'components': (pricer.power, 'components', 1),
        'iterations': (pricer.power, 'iterations', 20),
        'reach': (pricer.power, 'reach', 0.1),
        'carry': (pricer.power, 'carry', 0.8),
        'bias': SCENARIO, 'lambda': SCENARIO, 'calibration': SCENARIO,
        'in-order': (pricer.power, 'in_order', False),
        'seeds': 'power() is one run', 'seed': (pricer.power, 'seed', None),
        'vectors': OWN, 'threads': (pricer.power, 'threads', 0)},
}
COMMON = {'json', 'explain', 'help'}


def run(*words):
    return subprocess.run([os.path.join(common.BUILD, 'pricer'), *words],
                          capture_output=True, text=True, check=True).stdout


def said(*words):
    return json.loads(run(*words, '--json'))


def default(function, argument):
    return inspect.signature(function).parameters[argument].default


class Signatures(unittest.TestCase):
    def test_every_option_has_its_argument(self):
        for verb, known in OPTIONS.items():
            text = re.sub(r'\n {8,}', ' ', run(verb, '--help'))
            found = dict(re.findall(r'^  --([a-z-]+)(.*)$', text, re.M))
            self.assertEqual(set(known), set(found) - COMMON, verb)
            for option, words in found.items():
                entry = known.get(option)
                if isinstance(entry, tuple):
                    self.compare(f'{verb} --{option}', words, *entry)

    def compare(self, name, words, function, argument, expected):
        mine = default(function, argument)
        self.assertEqual(mine, expected, name)
        shown = re.findall(r'(?:default:? (?:as )?|; )(\S+)$', words)
        if not shown or mine is None or isinstance(mine, (bool, tuple)):
            return  # follows from plan or scenario, or is said in a sentence
        if mine == 0:
            return  # the library's own choice: compared in Numbers below
        self.assertEqual(str(mine), shown[0], name)


class Numbers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.study = os.path.join(self.folder, 'study.pricer')

    def write(self, name, text):
        with open(os.path.join(self.folder, name), 'w',
                  encoding='utf-8') as file:
            file.write(text)
        return os.path.join(self.folder, name)

    def test_a_scenario_that_says_no_more_than_it_has_to(self):
        self.write('nodes.csv', 'node,p\n0,0.5\n1,0.9\n2,0.6\n')
        self.write('links.csv', 'from,to,p\n0,1,0.8\n1,0,0.7\n2,1,0.6\n')
        files = 'network: {files: {nodes: nodes.csv, links: links.csv}}\n'
        arrays = ([0.5, 0.9, 0.6], [0, 1, 2], [1, 0, 1], [0.8, 0.7, 0.6])
        for eps, more in (('inf', {}), ('2', {'delta': 1e-5})):
            path = self.write('least.yaml', 'dimension: 1\n' + files
                              + f'trust: {{eps: {eps}}}\n')
            read = pricer.Network.from_scenario(path)
            made = pricer.Network.from_arrays(*arrays, float(eps), **more)
            self.assertEqual(read.settings, made.settings)
            self.assertEqual(read.settings, pricer.Settings())
            for name in ('uplink', 'self_eps', 'self_delta', 'server_eps',
                         'server_delta', 'node_radius', 'node_diameter', 'from_',
                         'to', 'p', 'joint', 'eps', 'delta', 'x', 'y', 'names',
                         'radius', 'dimension', 'reach', 'seed'):
                np.testing.assert_array_equal(getattr(read, name),
                                              getattr(made, name), name)
            run('new', self.study, path, '--force')
            self.assertEqual(said('plan', self.study)['mse_worst_case'],
                             pricer.plan(made).error.mse_worst_case)
        for name in ('radius', 'reciprocity', 'seed', 'dimension'):
            self.assertEqual(default(pricer.Network.from_arrays, name),
                             default(pricer.Network.from_records, name))
        with self.assertRaises(subprocess.CalledProcessError):
            run('new', self.study, self.write('none.yaml',
                                              'dimension: 1\n' + files))
        with self.assertRaisesRegex(pricer.ValueFault, 'eps is missing'):
            pricer.Network.from_arrays(*arrays)

    def test_verbs_without_options(self):
        example = common.example('paper.yaml')
        run('new', self.study, example)
        planned = said('plan', self.study)
        plan = pricer.plan(pricer.Network.from_scenario(example))
        self.assertEqual(planned['objective'], plan.error.objective)
        self.assertEqual(planned['decoder_mse_upper'], plan.decoder.upper)
        found = said('simulate', self.study)
        mine = pricer.simulate(plan)
        self.assertEqual((mine.decoder, mine.engine, mine.data),
                         ('minimax', 'fast', 'worst-case'))
        self.assertEqual((found['trials'], found['mse'], found['bar']),
                         (mine.trials, mine.mse, mine.outcomes[0].bar))
        rows = said('privacy', self.study)['statements']
        for observer in ('link', 'relay', 'server'):
            self.assertEqual([float(row['epsilon']) for row in rows
                              if row['observer'] == observer],
                             list(pricer.privacy(plan, observer).eps))
        self.assertEqual(*(list(pricer.privacy(plan, *observer).eps)
                           for observer in ((), ('link',))))
        for words, question in ((['--observer', 'reader'], ['reader']),
                                (['--protect', 'identity'], [None, 'identity'])):
            rows = said('privacy', self.study, *words)['statements']
            self.assertEqual([float(row['epsilon']) for row in rows],
                             list(pricer.privacy(plan, *question).eps))

    def test_descent(self):
        path = self.write('two.yaml', 'dimension: 1\nnetwork: {generator: ring, '
                          'nodes: 3, uplink: 0.5, p: 0.5}\ntrust: {eps: 2}\n')
        run('new', self.study, path)
        found = said('plan', self.study, '--method', 'gradient')
        mine = pricer.descend(pricer.Network.from_scenario(path))
        self.assertEqual(found['objective'], mine.error.objective)

    def test_large_networks_have_no_decoder(self):
        """Neither has the command line; readers are accounted for accordingly."""
        text = ('dimension: 1\nnetwork: {{generator: ring, nodes: {}, uplink: '
                '0.5, p: 0.5}}\ntrust: {{eps: 2, self: {{eps: 3}}}}\n')
        for nodes in (pricer.lib.PRICER_DECODER_NODES + 1, 4):
            path = self.write('ring.yaml', text.format(nodes))
            run('new', self.study, path, '--force')
            planned = said('plan', self.study)
            plan = pricer.plan(pricer.Network.from_scenario(path))
            self.assertEqual(planned['decoder'] == 'constant', nodes > 4)
            self.assertEqual(plan.decoder is None, nodes > 4)
            found = said('simulate', self.study, '--trials', '50')
            self.assertEqual(found['mse'], pricer.simulate(plan, trials=50).mse)
            rows = said('privacy', self.study, '--observer',
                        'reader')['statements']
            self.assertEqual([float(row['epsilon']) for row in rows],
                             list(pricer.privacy(plan, 'reader').eps))

    def test_stored_plans_keep_their_decoder(self):
        run('new', self.study, common.example('paper.yaml'))
        for words in (['--decoder', 'constant'], []):
            run('plan', self.study, *words)
            found = said('simulate', self.study, '--trials', '100')
            with pricer.open_study(self.study, writable=True) as study:
                plan = study.plan()
                mine = pricer.simulate(plan, trials=100)
                self.assertEqual(plan.decoder is None, bool(words))
                self.assertEqual(found['mse'], mine.mse)
                study.add_plan(plan)
                kept = study.plan()
                self.assertEqual(kept.decoder is None, bool(words))

    def test_rounds(self):
        """A fleet's server takes the plan's decoder; so does a played round."""
        plan = pricer.plan(pricer.Network.from_scenario(
            common.example('paper.yaml'), {'dimension': 2}))
        data = np.full((10, 2), 0.1)
        self.assertEqual(pricer.Rounds(plan, 1).play(data).bar,
                         pricer.Rounds(plan, 1, decoder=plan.decoder
                                       ).play(data).bar)
        self.assertIsNone(pricer.Rounds(plan, 1, decoder='constant'
                                        ).play(data).bar)

    def test_power(self):
        rows = np.random.default_rng(5).normal(size=(100, 4)) * [5, 3, 1, 1]
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype('f4')
        path = os.path.join(self.folder, 'rows.npy')
        np.save(path, rows)
        run('new', self.study, common.example('paper.yaml'))
        network = pricer.Network.from_scenario(
            common.example('paper.yaml'),
            {'dimension': pricer.power_dimension(4)})
        plan = pricer.plan(network, rounds=20)
        for words, more in (([], {}), (['--carry', '0'], {'carry': 0.0})):
            found = said('power', self.study, '--data', path, '--seeds', '1',
                         *words)
            mine = pricer.power(rows, network, plan, **more)
            self.assertEqual(found['pricer']['error'], list(mine.error))

    def test_attempts_belong_to_forwarding(self):
        network = pricer.Network.from_scenario(common.example('paper.yaml'))
        with self.assertRaisesRegex(pricer.ValueFault, "scheme: forward"):
            pricer.plan(network, repeat=3)
        with self.assertRaisesRegex(pricer.ValueFault, "scheme: forward"):
            pricer.walk(pricer.plan(network), 2)

    def test_settings_are_the_librarys(self):
        """Zeroes in C are the defaults; the words are those of zero."""
        zero = pricer.Settings._read(pricer.ffi.new('struct pricer_settings *'))
        self.assertEqual(dataclasses.asdict(zero),
                         dataclasses.asdict(pricer.Settings()))


if __name__ == '__main__':
    unittest.main()
