"""The sample files in data/ are what data/make_shapes.py draws.

Compressed bytes differ between versions of zlib, so contents are compared.
"""
import gzip
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, 'data'))
import make_shapes  # noqa: E402

for name, drawn in zip(('images-idx3', 'labels-idx1'), make_shapes.make()):
    path = os.path.join(ROOT, 'data', f'shapes-{make_shapes.COUNT}-{name}-ubyte.gz')
    with gzip.open(path) as file:
        assert file.read() == drawn, f'{path} is not what make_shapes.py draws'
