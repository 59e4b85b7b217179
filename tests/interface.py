#!/usr/bin/env python3
"""Check that the public headers are regular, and are what the library exports.

    tests/interface.py BUILD

  - what is declared is exported and what is exported is declared, in one place;
  - a function that returns a status ends with struct pricer_fault *fault;
  - no function takes more than six arguments.
"""
import glob
import os
import re
import subprocess
import sys

ARGUMENTS = 6


def declarations(path):
    """(name, what it returns, its parameters) of a header without comments."""
    text = re.sub(r'/\*.*?\*/', ' ', open(path).read(), flags=re.S)
    text = re.sub(r'^#.*$', '', text, flags=re.M)
    for found in re.finditer(r'\bPRICER_API\b([^;(]*?)(\w+)\(([^;]*)\);', text):
        parameters = [p.strip() for p in found.group(3).split(',')]
        if parameters == ['void']:
            parameters = []
        yield found.group(2), found.group(1).strip(), parameters


def exported(build):
    out = subprocess.run(['nm', '-D', '--defined-only',
                          os.path.join(build, 'libpricer.so')],
                         capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


def check(build):
    wrong, home = [], {}
    for path in sorted(glob.glob('include/*.h')):
        for name, returns, parameters in declarations(path):
            if name in home:
                wrong.append('%s is declared in %s and %s' %
                             (name, home[name], path))
            home[name] = path
            if not name.startswith('pricer_'):
                wrong.append('%s does not start with pricer_' % name)
            if len(parameters) > ARGUMENTS:
                wrong.append('%s takes %d arguments, limit %d' %
                             (name, len(parameters), ARGUMENTS))
            if returns.endswith('enum pricer_status') and (
                    not parameters or
                    parameters[-1] != 'struct pricer_fault *fault'):
                wrong.append('%s can fail and takes no fault' % name)
    symbols = exported(build)
    for name in sorted(symbols - home.keys()):
        wrong.append('%s is exported and in no public header' % name)
    for name in sorted(home.keys() - symbols):
        wrong.append('%s is declared in %s and not exported' %
                     (name, home[name]))
    return wrong


def main():
    build = os.path.abspath(sys.argv[1])
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
    wrong = check(build)
    for line in wrong:
        print('lint: ' + line)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
