"""What the tests of the Python package share: where things are."""
import os
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
BUILD = os.path.abspath(sys.argv.pop(1))
os.environ['PRICER_INCLUDE'] = os.path.join(ROOT, 'include')
os.environ['PRICER_LIBRARY'] = os.path.join(BUILD, 'libpricer.so')
sys.path.insert(0, os.path.join(ROOT, 'python'))
sys.dont_write_bytecode = True


def example(name):
    return os.path.join(ROOT, 'examples', name)
