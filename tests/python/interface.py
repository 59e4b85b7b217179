#!/usr/bin/env python3
"""The package reaches all of the library, and says what it is.

    tests/python/interface.py BUILD
"""
import glob
import inspect
import os
import re
import tempfile
import unittest

import common
import numpy as np
import pricer
from pricer import _header

# NumPy makes and reads matrices itself.
BY_NUMPY = {'pricer_matrix_new', 'pricer_matrix_row'}


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def declared(name):
    return _header.functions(read(os.path.join(common.ROOT, 'include', name)))


class Reach(unittest.TestCase):
    def test_every_header_is_read(self):
        names = {os.path.basename(path) for path in
                 glob.glob(os.path.join(common.ROOT, 'include', '*.h'))}
        self.assertEqual(names, set(pricer._library.HEADERS))

    def test_every_function_can_be_called(self):
        count = 0
        for header in pricer._library.HEADERS:
            for name in declared(header):
                kind = pricer.ffi.typeof(getattr(pricer.lib, name)).kind
                self.assertEqual(kind, 'function', name)
                count += 1
        self.assertGreater(count, 80)

    def test_the_core_is_wrapped(self):
        text = ''.join(read(path) for path in glob.glob(
            os.path.join(common.ROOT, 'python', 'pricer', '*.py')))
        used = set(re.findall(r'\blib\.(pricer_\w+)', text))
        core = set(declared('pricer.h')) | set(declared('pricer_decode.h'))
        self.assertEqual(core - used, BY_NUMPY)
        for name in used:
            getattr(pricer.lib, name)

    def test_all_is_what_there_is(self):
        for name in pricer.__all__:
            self.assertTrue(hasattr(pricer, name), name)
        self.assertEqual(pricer.version, pricer.__version__)

    def test_everything_public_is_explained(self):
        for name in pricer.__all__:
            thing = getattr(pricer, name)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            self.assertTrue(inspect.getdoc(thing), name)
            for inner, member in vars(thing).items() if inspect.isclass(
                    thing) else ():
                if inspect.isfunction(member) and not inner.startswith('_'):
                    self.assertTrue(inspect.getdoc(member), inner)
                    for argument in inspect.signature(
                            member).parameters.values():
                        self.assertTrue(
                            argument.name in ('self', 'cls')
                            or argument.annotation is not argument.empty
                            or hasattr(thing, '_fields'),
                            (name, inner, argument))

    def test_the_headers_constants(self):
        self.assertEqual(pricer.lib.PRICER_SERVER, -1)
        self.assertEqual(pricer.lib.PRICER_BASELINES, 4)
        self.assertEqual(pricer.word('bias', 2), 'l1')
        with self.assertRaisesRegex(pricer.ValueFault, 'worst-case'):
            pricer.find_word('bias', 'l3')


class Readme(unittest.TestCase):
    def test_the_example_runs(self):
        blocks = re.findall(r'```python\n(.*?)```',
                            read(os.path.join(common.ROOT, 'README.md')), re.S)
        self.assertTrue(blocks)
        os.chdir(common.ROOT)
        for block in blocks:
            lines = []
            exec(block, {'print': lambda *words: lines.append(
                ' '.join(map(str, words)))})
            said = re.findall(r'# -> (.*)', block)
            self.assertEqual(lines, said)


    def test_the_page_runs(self):
        blocks = re.findall(r'```py\n(.*?)```', read(
            os.path.join(common.ROOT, 'docs', 'python.md')), re.S)
        self.assertEqual(len(blocks), 5)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            with pricer.new_study('ten.pricer',
                                  common.example('paper.yaml')) as study:
                study.add_plan(pricer.plan(study.network))
            names = {'vectors': np.full((3, 16), 0.1)}
            for block in blocks:
                exec(block, names)
            os.chdir(common.ROOT)
        self.assertEqual(names['played'].estimate.shape, (16,))


if __name__ == '__main__':
    unittest.main()
